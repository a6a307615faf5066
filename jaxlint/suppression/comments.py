"""Suppression comments: `# noqa`, `# flake8: noqa`, `# jaxlint: ignore[...]` and `# jaxlint: ignore-file`.

A comment holds for its line and for the whole logical line (the statement, or the header of a
compound statement) it stands in. An unreadable file (JAX001) was not checked: no comment hides that.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import Enum
from typing import Protocol

import msgspec

from jaxlint.finding import Finding
from jaxlint.syntax.source import Source

#: The code of the finding that no comment suppresses.
_UNREADABLE = "JAX001"

# Patterns that most runs do not need are texts: `re` compiles them when they are first used.
_NOQA_CODE = r"(?:[A-Z]+[0-9]+|JAX\b(?!-))"
#: Several of them; `JAX` for all rules stands first or behind a comma, or else it is a word of what is said.
_NOQA_CODES = rf"{_NOQA_CODE}(?:[,\s]*[A-Z]+[0-9]+|\s*,\s*JAX\b(?!-))*[,\s]*"
NOQA = rf"(?i)#\s*noqa(?![-\w])(?:\s*:\s*(?P<codes>{_NOQA_CODES})(?:--\s*(?P<reason>[^#]*))?)?"
#: For a whole file, alone on its line: as ruff reads it, for the codes behind a colon, without one for everything,
#: whatever is said behind it. (flake8 7.5 skips the file for codes, too.)
_NOQA_FILE = rf"(?i)#\s*(?:flake8|ruff)[:=]\s*noqa(?![-\w])(?:\s*:\s*(?P<codes>{_NOQA_CODES})|(?!\s*:))(?P<reason>)"
_IGNORE = (
    r"#\s*jaxlint:\s*(?P<word>ignore(?:-file)?)"
    r"(?:\s*\[(?P<codes>[^\]]*)\](?=[\s#]|$)|(?=\s*(?:--|#|$)))"
    r"(?:\s*--\s*(?P<reason>.*))?"
)
#: One of the words that make reading the comments of a file worthwhile.
_ANY = re.compile(r"#\s*(?:noqa|jaxlint:|(?:flake8|ruff)[:=]\s*noqa)", re.IGNORECASE)
#: What is about jaxlint among them.
_MENTION = re.compile(r"#\s*(?:(?:(?:flake8|ruff)[:=]\s*)?noqa\s*:[^\n]*JAX|jaxlint:)", re.IGNORECASE)
#: What looks like an attempt to suppress something.
_ATTEMPT = r"(?i)#\s*jaxlint:\s*(?P<word>[a-z]+(?:-[a-z]+)*)"
_ATTEMPTS = frozenset({"allow", "disable", "ignored", "ignores", "noqa", "off", "skip", "skip-file", "suppress"})
_CODES = f"(?i){_NOQA_CODE}"
_CODES_OR_NAMES = r"[^\s,]+"
_CODE_PREFIX = r"(?i)JAX[0-9]*"
_NO_STATEMENT = frozenset({tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})


class Kind(str, Enum):
    """The forms of a suppression comment."""

    NOQA = "noqa"
    NOQA_FILE = "noqa-file"
    IGNORE = "ignore"
    IGNORE_FILE = "ignore-file"


class Named(Protocol):
    """What has the code and the name of a rule, as the class of a rule has."""

    @property
    def code(self) -> str:
        """Like `JAX401`."""

    @property
    def name(self) -> str:
        """Like `frozen-assignment`."""


class Selector(msgspec.Struct, frozen=True):
    """A code, code prefix or rule name that a comment lists; columns from 1, the end exclusive."""

    text: str
    column: int
    end_column: int

    @property
    def is_code(self) -> bool:
        """Whether it is a code of ours, or a prefix of codes."""
        return re.fullmatch(_CODE_PREFIX, self.text) is not None

    def matches(self, rule: Finding | Named) -> bool:
        """Whether it means a rule (that of a finding): by name, or by code or code prefix in any case."""
        if self.is_code:
            return rule.code.startswith(self.text.upper())
        return self.text == rule.name or self.text.upper() == rule.code

    def names(self, rule: Finding | Named) -> bool:
        """Whether it means just this rule."""
        return self.text in (rule.name, rule.code) or self.text.upper() == rule.code


class Suppression(msgspec.Struct, frozen=True):
    """One suppression comment: where it stands, what it names and for which rows it holds.

    The columns of the comment count from 1, in code points, the end exclusive. `selectors` is None
    if it names nothing and so means every rule. It holds for the rows `first` to `last`.
    """

    kind: Kind
    row: int
    column: int
    end_column: int
    selectors: tuple[Selector, ...] | None
    reason: str
    first: int
    last: int
    #: False if the file could not be split into tokens there, so that it may be part of a string.
    is_certain: bool = True

    @property
    def is_for_file(self) -> bool:
        """Whether it holds for the whole file."""
        return self.kind in (Kind.IGNORE_FILE, Kind.NOQA_FILE)

    @property
    def is_noqa(self) -> bool:
        """Whether other tools read it too."""
        return self.kind in (Kind.NOQA, Kind.NOQA_FILE)

    def suppresses(self, finding: Finding) -> bool:
        """Whether `finding` is to be left out."""
        if finding.code == _UNREADABLE:
            return False
        if not self.is_for_file and not self.first <= finding.row <= self.last:
            return False
        return self.selectors is None or any(selector.matches(finding) for selector in self.selectors)


class _Comment(msgspec.Struct, frozen=True):
    """A comment (`column` from 0), whether it has its line to itself, and the rows of its statement."""

    text: str
    row: int
    column: int
    alone: bool
    first: int
    last: int
    is_certain: bool = True


class Malformed(msgspec.Struct, frozen=True):
    """A comment that is meant to suppress something and does not; columns from 1, the end exclusive."""

    text: str
    row: int
    column: int
    end_column: int
    #: Whether it would be right on a line of its own.
    misplaced: bool


class Usage(msgspec.Struct, frozen=True):
    """A suppression comment, whether it hides any finding, and which of its selectors do."""

    suppression: Suppression
    is_used: bool
    used: frozenset[Selector]


class Comments:
    """The suppression comments of a file and what they do to the findings there.

    `ran` are the rules whose findings in the file are all known.
    """

    def __init__(self, source: Source, findings: Iterable[Finding], ran: Collection[Named]) -> None:
        self.ran = ran
        self.source = source
        found = list(_comments(source)) if _ANY.search(source.text) else []
        self._suppressions = [one for comment in found for one in _suppressions_in(comment)]
        self.malformed = [one for comment in found for one in _malformed_in(comment)]
        self._findings = list(findings)

    def __bool__(self) -> bool:
        return bool(self._suppressions or self.malformed)

    def usages(self) -> Iterator[Usage]:
        """What each suppression comment is good for."""
        for one in self._suppressions:
            hidden = [f for f in self._findings if one.suppresses(f)]
            used = frozenset(s for s in one.selectors or () if any(s.matches(f) for f in hidden))
            yield Usage(one, bool(hidden), used)

    def hide(self, about: Iterable[Finding]) -> list[Finding]:
        """The findings of the file and those `about` its comments, each with the comment that hides it, if one does.

        A finding about a comment is hidden by that comment only if it names the rule.
        """
        shown = [self._hidden(f, self._suppressions) for f in self._findings]
        return shown + [self._hidden(f, [s for s in self._suppressions if _may_hide(s, f)]) for f in about]

    def _hidden(self, finding: Finding, suppressions: Sequence[Suppression]) -> Finding:
        for one in suppressions:
            if one.suppresses(finding):
                text = self.source.line(one.row)[one.column - 1 : one.end_column - 1]
                return msgspec.structs.replace(finding, suppressed=text)
        return finding


def _may_hide(suppression: Suppression, finding: Finding) -> bool:
    """Whether a comment may hide a finding about a comment."""
    is_own = finding.row == suppression.row and suppression.column <= finding.column < suppression.end_column
    return not is_own or any(selector.names(finding) for selector in suppression.selectors or ())


def mentions_jaxlint(text: str) -> bool:
    """Whether there may be a comment in `text` that suppresses findings of jaxlint by name."""
    return _MENTION.search(text) is not None


def suppressions(source: Source) -> list[Suppression]:
    """The suppression comments of `source`, in order. Malformed ones suppress nothing and are left out."""
    if not _ANY.search(source.text):
        return []
    return [one for comment in _comments(source) for one in _suppressions_in(comment)]


def _suppressions_in(comment: _Comment) -> Iterator[Suppression]:
    for match in re.finditer(NOQA, comment.text):
        yield _suppression(comment, match, Kind.NOQA)
    whole = re.match(_NOQA_FILE, comment.text) if comment.alone else None
    if whole is not None:
        yield _suppression(comment, whole, Kind.NOQA_FILE)
    for match in re.finditer(_IGNORE, comment.text):
        kind = Kind(match["word"])
        if kind is Kind.IGNORE or comment.alone:
            yield _suppression(comment, match, kind)


def _malformed_in(comment: _Comment) -> Iterator[Malformed]:
    """The attempts in a comment to suppress something that are not understood, or stand where they do not count."""
    for match in re.finditer(_ATTEMPT, comment.text):
        read = re.match(_IGNORE, comment.text[match.start() :])
        misplaced = read is not None and read["word"] == Kind.IGNORE_FILE.value and not comment.alone
        word = match["word"].lower()
        if not (misplaced if read else word in _ATTEMPTS or word.startswith(Kind.IGNORE.value)):
            continue
        text = "#" + comment.text[match.start() + 1 :].partition("#")[0].rstrip()
        column = comment.column + match.start() + 1
        yield Malformed(text, comment.row, column, column + len(text), misplaced)


def _suppression(comment: _Comment, match: re.Match[str], kind: Kind) -> Suppression:
    selectors = None
    if match["codes"] is not None:
        start = comment.column + match.start("codes") + 1
        words = re.finditer(_CODES if kind in (Kind.NOQA, Kind.NOQA_FILE) else _CODES_OR_NAMES, match["codes"])
        selectors = tuple(Selector(word[0], start + word.start(), start + word.end()) for word in words)
    return Suppression(
        kind=kind,
        row=comment.row,
        column=comment.column + match.start() + 1,
        end_column=comment.column + len(match[0].rstrip()) + match.start() + 1,
        selectors=selectors,
        reason=(match["reason"] or "").strip(),
        first=comment.first,
        last=comment.last,
        is_certain=comment.is_certain,
    )


def _comments(source: Source) -> Iterator[_Comment]:
    """The comments of `source`; behind a place that cannot be tokenised, whatever looks like a suppression."""
    lines = source.lines
    pending: list[tuple[str, int, int]] = []
    first = done = 0
    failed = False
    tokens = tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline)
    while True:
        try:
            token = next(tokens)
        except StopIteration:
            break
        except (tokenize.TokenError, SyntaxError, RecursionError, MemoryError, ValueError):
            failed = True
            break
        row, column = token.start
        if token.type == tokenize.COMMENT:
            pending.append((token.string, row, column))
        if token.type == tokenize.NEWLINE or (token.type == tokenize.NL and not first):
            for text, at_row, at_column in pending:
                alone = not lines[at_row - 1][:at_column].strip()
                yield _Comment(text, at_row, at_column, alone, first or at_row, row if first else at_row)
            pending.clear()
            first, done = 0, row
        elif not first and token.type not in _NO_STATEMENT:
            first = row
    if failed:
        for row, line in enumerate(lines[done:], start=done + 1):
            match = _ANY.search(line)
            if match:
                alone = not line[: match.start()].strip()
                yield _Comment(line[match.start() :], row, match.start(), alone, row, row, False)
