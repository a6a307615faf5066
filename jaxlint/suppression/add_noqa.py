"""Writing suppression comments: `# noqa: JAX401` behind the lines in which something is found.

A comment goes where flake8, ruff and jaxlint all take it for the finding: behind the finding's own line, or, where
that ends inside of a string or in a backslash, behind the first line that can hold a comment. Nothing else in the
file changes.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from jaxlint.cache.atomic import write_atomically
from jaxlint.errors import UserError
from jaxlint.finding import Finding
from jaxlint.suppression.comments import NOQA, Comments
from jaxlint.syntax.paths import shown_path
from jaxlint.syntax.source import Source, Unreadable

#: The group of the rules about the checking itself: their findings are not for comments to hide.
_TOOL = re.compile(r"JAX00")
_STRING_STARTS = frozenset({"FSTRING_START", "TSTRING_START"})
_STRING_ENDS = frozenset({"FSTRING_END", "TSTRING_END"})


class Added(msgspec.Struct):
    """How many comments were written to how many files, which findings are left, and why, one line per file."""

    comments: int = 0
    files: int = 0
    left: list[Finding] = []
    refusals: list[str] = []


class Refused(Exception):
    """A file in which no comment can be written, and why."""


def add_noqa(findings: Sequence[Finding], reason: str = "") -> Added:
    """Write a comment for each of the findings to its file, with the `reason` behind ` -- `.

    Raises `UserError` for a reason that cannot stand in a comment.
    """
    reason = reason.strip()
    if len(reason.splitlines()) > 1 or "#" in reason:
        raise UserError("--reason: must be one line without `#`")
    by_path: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_path[finding.path].append(finding)
    added = Added()
    for path, found in by_path.items():
        hidden = [f for f in found if is_suppressible(f)]
        added.left += [f for f in found if not is_suppressible(f)]
        if not hidden:
            continue
        try:
            source = Source.read(path)
            text, count = with_comments(source, hidden, reason)
            write_atomically(path, source.encoded(text))
        except (Refused, Unreadable) as refusal:
            added.left += hidden
            added.refusals.append(f"{shown_path(path)}: no comments were added: {refusal}")
        except OSError as error:
            raise UserError(f"{shown_path(path)}: cannot be written: {error.strerror or error}") from error
        else:
            added.comments += count
            added.files += 1
    added.left.sort(key=lambda f: f.sort_key)
    return added


def is_suppressible(finding: Finding) -> bool:
    """Whether a comment may hide a finding: it is not about the checking itself."""
    return not _TOOL.match(finding.code)


def with_ignore(source: Source, finding: Finding, reason: str) -> str:
    """The text of `source` with a comment `# jaxlint: ignore[...]` that hides the finding. Raises `Refused`."""
    rows = _rows_for_comments(source)
    if finding.row not in rows:
        raise Refused(f"line {finding.row} cannot hold one")
    row = rows[finding.row][0]
    end = source.offset(row, len(source.line(row).rstrip()))
    comment = f"  # jaxlint: ignore[{finding.name}] -- {reason}"
    return _verified(source, source.text[:end] + comment + source.text[end:], [finding])


def with_comments(source: Source, findings: Sequence[Finding], reason: str = "") -> tuple[str, int]:
    """The text of `source` with comments that hide the findings, and in how many lines. Raises `Refused`."""
    lines = source.lines
    rows = _rows_for_comments(source)
    codes: dict[int, set[str]] = defaultdict(set)
    for finding in findings:
        if finding.row not in rows:
            raise Refused(f"line {finding.row} cannot hold one")
        codes[rows[finding.row][0]].add(finding.code)
    text = source.text
    for row in sorted(codes, reverse=True):
        comment_at = next(at for last, at in rows.values() if last == row)
        start = source.offset(row, 0)
        line = _with_codes(lines[row - 1], comment_at, sorted(codes[row]), reason)
        text = text[:start] + line + text[start + len(lines[row - 1]) :]
    return _verified(source, text, findings), len(codes)


def _verified(source: Source, text: str, findings: Sequence[Finding]) -> str:
    """The `text` if its comments, which `source` does not have, hide the findings. Raises `Refused`."""
    changed = Source.from_text(source.path, text)
    if _code(changed) != _code(source) or not all(f.suppressed for f in Comments(changed, findings, ()).hide(())):
        raise Refused("they would not be read as comments; write them by hand")
    return text


def _rows_for_comments(source: Source) -> Mapping[int, tuple[int, int | None]]:
    """For each row the one behind which a comment about it goes, and the column (from 0) of the comment there is."""
    comments: dict[int, int] = {}
    ended: set[int] = set()
    inside: set[int] = set()
    opened: list[int] = []
    for token in _tokens(source):
        name = tokenize.tok_name[token.type]
        if name == "COMMENT":
            comments[token.start[0]] = token.start[1]
        elif name in ("NEWLINE", "NL"):
            ended.add(token.start[0])
        elif name in _STRING_STARTS:
            opened.append(token.start[0])
        elif name == "STRING" or (name in _STRING_ENDS and opened):
            inside.update(range(token.start[0] if name == "STRING" else opened.pop(), token.end[0]))
    found: dict[int, tuple[int, int | None]] = {}
    place: tuple[int, int | None] | None = None
    for row in range(len(source.lines), 0, -1):
        if row in ended and row not in inside:
            place = (row, comments.get(row))
        if place is not None:
            found[row] = place
    return found


def _with_codes(line: str, comment_at: int | None, codes: Iterable[str], reason: str) -> str:
    """The line with a comment for the codes, or with them in the comment that it has. White space at its end stays."""
    why = f" -- {reason}" if reason else ""
    match = re.compile(NOQA).search(line, comment_at) if comment_at is not None else None
    if match is not None and match["codes"] is not None:
        end = match.start("codes") + len(match["codes"].rstrip(", \t\f"))
        had = {code.upper() for code in re.split(r"[,\s]+", match["codes"])}
        missing = [code for code in codes if code not in had]
        is_last = not line[end:].strip(", \t\f")
        return line[:end] + "".join(f", {code}" for code in missing) + (why if is_last else "") + line[end:]
    end = len(line.rstrip())
    return f"{line[:end]}  # noqa: {', '.join(codes)}{why}{line[end:]}"


def _tokens(source: Source) -> list[tokenize.TokenInfo]:
    """The tokens of a text. Raises `Refused` if this Python cannot tell them."""
    way_out = "this Python cannot split the file into tokens; write them by hand"
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO("\n".join(source.lines) + "\n").readline))
    except (tokenize.TokenError, SyntaxError, RecursionError, MemoryError, ValueError) as error:
        raise Refused(way_out) from error
    if any(token.type == tokenize.ERRORTOKEN for token in tokens):
        raise Refused(way_out)
    return tokens


def _code(source: Source) -> list[tuple[int, str]]:
    """The tokens that are not comments."""
    return [(token.type, token.string) for token in _tokens(source) if token.type != tokenize.COMMENT]
