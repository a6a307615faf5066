"""Baselines: findings that were there when jaxlint came to a project, stored by content in a file of JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Annotated

import msgspec

from jaxlint.cache.atomic import write_atomically
from jaxlint.errors import UserError
from jaxlint.finding import Finding
from jaxlint.suppression.fingerprint import Identity, file_lines, identities
from jaxlint.syntax.paths import shown_path
from jaxlint.syntax.regular import read_regular

#: The finding that no baseline takes.
UNREADABLE = "JAX001"


class BaselineError(UserError):
    """A baseline that cannot be used."""


class Entry(msgspec.Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """One finding: its file, its rule, the text of its line, and its number among equal ones."""

    #: Relative to the directory of the baseline, with slashes.
    path: str
    #: The text of the line, without regard to white space.
    line: str
    rule: str
    occurrence: Annotated[int, msgspec.Meta(ge=1)] = 1

    @property
    def identity(self) -> Identity:
        """What `jaxlint.suppression.fingerprint` knows the finding by."""
        return Identity(self.rule, self.path, self.line, self.occurrence - 1)


class Stale(msgspec.Struct, frozen=True):
    """An entry of the file `baseline` that no finding stands behind any more."""

    baseline: str
    entry: Entry


class _File(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    findings: list[Entry]


def read_baseline(path: str, *, to_write: bool = False) -> list[Entry]:
    """The entries of a baseline, which may be read because it is written anew. Raises `BaselineError`."""
    shown = shown_path(path)
    try:
        raw = read_regular(path)
    except FileNotFoundError as error:
        way_out = f"make it with `--write-baseline {shown}`"
        raise BaselineError(f"{shown}: there is no such baseline; {way_out}") from error
    except OSError as error:
        raise BaselineError(f"{shown}: cannot be read: {error.strerror or error}") from error
    way_out = f"correct it, or delete it and make it anew with `--write-baseline {shown}`"
    if to_write:
        way_out = "it is left as it is; name another file, or correct or delete this one"
    try:
        content = msgspec.convert(json.loads(raw), _File)
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        raise BaselineError(f"{shown}: is no baseline of jaxlint: {error}; {way_out}") from error
    if content.version != 1:
        raise BaselineError(f"{shown}: has version {content.version}, and this jaxlint knows 1 only")
    return content.findings


def without_known(
    path: str,
    entries: Sequence[Entry],
    findings: Sequence[Finding],
    checked: Mapping[str, Collection[str]],
    lines: Callable[[str], Sequence[str]] = file_lines,
) -> tuple[list[Finding], list[Stale]]:
    """The findings that the baseline in `path` does not hold, and its entries that stand for nothing any more.

    `entries` are what was read of it, `checked` says for each file which rules ran in it: of all else nothing is
    known; `lines` gives the lines of a file.
    """
    known = {entry.identity for entry in entries}
    base = os.path.dirname(path)
    found = identities(findings, lines, base)
    before = _before_renaming(found, known, base)
    found = [one._replace(path=before.get(one.path, one.path)) for one in found]
    new = [f for f, identity in zip(findings, found, strict=True) if identity not in known or f.code == UNREADABLE]
    left = known.difference(found)
    stale = [e for e in entries if e.identity in left and checked and _is_settled(e, base, checked)]
    return new, [Stale(path, entry) for entry in stale]


def _before_renaming(found: Sequence[Identity], known: Collection[Identity], base: str) -> dict[str, str]:
    """For files that the baseline does not name, the file that is gone and had most of their findings."""
    paths = {one.path for one in known}
    missed = {one for one in found if one.path not in paths}
    gone = sorted(path for path in paths if missed and not os.path.exists(os.path.join(base, path)))
    before: dict[str, str] = {}
    for path in sorted({one.path for one in missed}):
        own = [one for one in missed if one.path == path]
        same = {old: sum(one._replace(path=old) in known for one in own) for old in gone}
        old = max(same, key=lambda one: same[one], default="")
        if old and same[old]:
            before[path] = old
            gone.remove(old)
    return before


def write_baseline(path: str, findings: Sequence[Finding], checked: Mapping[str, Collection[str]]) -> int:
    """Write the findings to the baseline in `path`, and return how many entries it now has.

    Entries of an earlier one stay where the run cannot know better. Raises `BaselineError`.
    """
    base = os.path.dirname(os.path.abspath(path))
    earlier = read_baseline(path, to_write=True) if os.path.exists(path) else []
    stored = {entry for entry in earlier if not _is_settled(entry, base, checked)}
    found = identities([f for f in findings if f.code != UNREADABLE], file_lines, base)
    stored |= {Entry(one.path, one.line, one.code, one.occurrence + 1) for one in found}
    try:
        write_atomically(path, _rendered(sorted(stored)))
    except OSError as error:
        raise BaselineError(f"{shown_path(path)}: cannot be written: {error.strerror or error}") from error
    return len(stored)


def _is_settled(entry: Entry, base: str, checked: Mapping[str, Collection[str]]) -> bool:
    """Whether a run that checked these files with these rules knows if there is such a finding."""
    path = os.path.normpath(os.path.join(base, entry.path))
    return entry.rule in checked[path] if path in checked else not os.path.exists(path)


def _rendered(entries: Iterable[Entry]) -> bytes:
    """The file with these entries, one to a line: easy to read, to merge and to compare."""
    body = ",\n".join(f"    {_rendered_entry(entry)}" for entry in entries)
    findings = f"[\n{body}\n  ]" if body else "[]"
    return f'{{\n  "version": 1,\n  "findings": {findings}\n}}\n'.encode()


def _rendered_entry(entry: Entry) -> str:
    content = {"path": entry.path, "rule": entry.rule, "line": entry.line, "occurrence": entry.occurrence}
    text = json.dumps(content, ensure_ascii=False)
    # names of files that are not UTF-8 can be written in escapes only
    return text if text.isprintable() else json.dumps(content)
