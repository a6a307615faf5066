"""Suppression comments: `# noqa`, `# jaxlint: ignore[...]` and `# jaxlint: ignore-file`.

A comment holds for its line and for the whole logical line (the statement, or the header of a
compound statement) it stands in. An unreadable file (JAX001) was not checked: no comment hides that.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from enum import Enum

import msgspec

from jaxlint.finding import Finding
from jaxlint.source import Source

#: The code of the finding that no comment suppresses.
_UNREADABLE = "JAX001"

_NOQA_CODE = r"(?:[A-Z]+[0-9]+|JAX\b)"
_NOQA = re.compile(rf"#\s*noqa(?![-\w])(?:\s*:\s*(?P<codes>(?:{_NOQA_CODE}[,\s]*)+))?", re.IGNORECASE)
_IGNORE = re.compile(
    r"#\s*jaxlint:\s*(?P<word>ignore(?:-file)?)"
    r"(?:\s*\[(?P<codes>[^\]]*)\](?=[\s#]|$)|(?=\s*(?:--|#|$)))"
    r"(?:\s*--\s*(?P<reason>.*))?"
)
#: One of the words that make reading the comments of a file worthwhile.
_ANY = re.compile(r"#\s*(?:noqa|jaxlint:)", re.IGNORECASE)
_CODES = re.compile(_NOQA_CODE, re.IGNORECASE)
_CODES_OR_NAMES = re.compile(r"[^\s,]+")
_CODE_PREFIX = re.compile(r"JAX[0-9]*", re.IGNORECASE)
_NO_STATEMENT = frozenset({tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})


class Kind(str, Enum):
    """The three forms of a suppression comment."""

    NOQA = "noqa"
    IGNORE = "ignore"
    IGNORE_FILE = "ignore-file"


class Selector(msgspec.Struct, frozen=True):
    """A code, code prefix or rule name that a comment lists; columns from 1, the end exclusive."""

    text: str
    column: int
    end_column: int

    def matches(self, finding: Finding) -> bool:
        """Whether it means the rule of `finding`: by name, or by code or code prefix in any case."""
        if _CODE_PREFIX.fullmatch(self.text):
            return finding.code.startswith(self.text.upper())
        return self.text == finding.name


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

    def suppresses(self, finding: Finding) -> bool:
        """Whether `finding` is to be left out."""
        if finding.code == _UNREADABLE:
            return False
        if self.kind is not Kind.IGNORE_FILE and not self.first <= finding.row <= self.last:
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


def apply(source: Source, findings: list[Finding]) -> list[Finding]:
    """The `findings` of the file `source` that no comment in it suppresses, in the same order."""
    if not findings:
        return findings
    found = suppressions(source)
    return [finding for finding in findings if not any(one.suppresses(finding) for one in found)]


def suppressions(source: Source) -> list[Suppression]:
    """The suppression comments of `source`, in order. Malformed ones suppress nothing and are left out."""
    if not _ANY.search(source.text):
        return []
    return [one for comment in _comments(source) for one in _suppressions_in(comment)]


def _suppressions_in(comment: _Comment) -> Iterator[Suppression]:
    for match in _NOQA.finditer(comment.text):
        yield _suppression(comment, match, Kind.NOQA, "")
    for match in _IGNORE.finditer(comment.text):
        kind = Kind(match["word"])
        if kind is Kind.IGNORE or comment.alone:
            yield _suppression(comment, match, kind, (match["reason"] or "").strip())


def _suppression(comment: _Comment, match: re.Match[str], kind: Kind, reason: str) -> Suppression:
    selectors = None
    if match["codes"] is not None:
        start = comment.column + match.start("codes") + 1
        words = (_CODES if kind is Kind.NOQA else _CODES_OR_NAMES).finditer(match["codes"])
        selectors = tuple(Selector(word[0], start + word.start(), start + word.end()) for word in words)
    return Suppression(
        kind=kind,
        row=comment.row,
        column=comment.column + match.start() + 1,
        end_column=comment.column + len(match[0].rstrip()) + match.start() + 1,
        selectors=selectors,
        reason=reason,
        first=comment.first,
        last=comment.last,
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
                yield _Comment(line[match.start() :], row, match.start(), alone, row, row)
