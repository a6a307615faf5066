"""What stays the same about a finding while other lines of its file change."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from jaxlint.finding import Finding
from jaxlint.syntax.source import Source, Unreadable

_DIGITS = 32


class Identity(NamedTuple):
    """What tells a finding from all others: no two are the same.

    `path` is relative, with slashes; `line` is the text of the finding's line without regard to white space, and
    `occurrence` how many findings with the same three stand before it.
    """

    code: str
    path: str
    line: str
    occurrence: int


def fingerprints(
    findings: Sequence[Finding], lines: Callable[[str], Sequence[str]], base: str | None = None
) -> list[str]:
    """A hex digest for each of `findings`, in order; it is that of their `identities`."""
    return [_digest(*one[:3], str(one.occurrence)) for one in identities(findings, lines, base)]


def identities(
    findings: Sequence[Finding], lines: Callable[[str], Sequence[str]], base: str | None = None
) -> list[Identity]:
    """What each of `findings` is known by, in order, seen from the directory `base` (default: the current one).

    `lines(path)` gives the lines of a file; a line that is not there counts as empty.
    """
    base = base or os.getcwd()
    lines = lru_cache(maxsize=1)(lines)
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for finding in findings:
        key = (finding.code, _relative(finding.path, base), _line(lines(finding.path), finding.row))
        found.append(Identity(*key, seen[key]))
        seen[key] += 1
    return found


def file_lines(path: str, read: Callable[[str], Source] = Source.read) -> list[str]:
    """The lines of the file `path`, for `fingerprints`; none if it cannot be had from `read`."""
    try:
        return read(path).lines
    except Unreadable:
        return []


def _relative(path: str, base: str) -> str:
    """`path` as seen from `base`, with slashes; as it is if no way leads from one to the other."""
    with suppress(ValueError):  # different drives
        path = os.path.relpath(path, base)
    return path.replace(os.sep, "/")


def _line(lines: Sequence[str], row: int) -> str:
    return " ".join(lines[row - 1].split()) if 0 < row <= len(lines) else ""


def _digest(*parts: str) -> str:
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
