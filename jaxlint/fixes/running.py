"""Fixing what is on disk, a text, or the standard input."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from jaxlint.cache.atomic import write_atomically
from jaxlint.cache.store import Cache
from jaxlint.config.configuration import Configuration
from jaxlint.config.settings import Settings
from jaxlint.finding import Finding
from jaxlint.fixes.rounds import Fixed, Fixer, is_applicable
from jaxlint.linter.engine import check_content, check_paths
from jaxlint.linter.result import Result
from jaxlint.syntax.paths import shown_path
from jaxlint.syntax.source import Source, Unreadable

#: How a folder refuses a new file, or another one in the place of one that is mounted there.
_NO_ROOM_BESIDE = frozenset({errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV})


class FixedFiles(msgspec.Struct):
    """What became of some files.

    `result` is what is found in them afterwards, `files` those in which something was fixed (with `write`, all of them
    written), and `problems` says, one line each, what was not.
    """

    result: Result
    #: Which fixes are made in a file: safe ones (False), all (True), or none (None).
    unsafe: Callable[[str], bool | None]
    files: list[Fixed] = []
    problems: list[str] = []

    @property
    def more(self) -> int:
        """How many of the findings that are left could be fixed if unsafe fixes were wanted."""
        left = [f for f in self.result.findings if self.unsafe(f.path) is False]
        return sum(is_applicable(f, unsafe=True) and not is_applicable(f, unsafe=False) for f in left)

    @property
    def fixed(self) -> list[Finding]:
        """What was fixed."""
        return [finding for one in self.files for finding in one.fixed]


def fix_paths(
    paths: Sequence[str],
    settings: Settings | Configuration | None = None,
    *,
    unsafe: bool | None = None,
    write: bool = True,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
    cache: Cache | None = None,
    force_exclude: bool = False,
) -> FixedFiles:
    """Fix what can be fixed in files and folders, and write them; without `write` nothing is written.

    With `unsafe`, fixes that may change what a program does are made, too; None leaves that to the settings. The
    findings that are left are those of `check_paths`, with the same arguments.
    """

    def check() -> Result:
        return check_paths(paths, settings, jobs=jobs, progress=progress, cache=cache, force_exclude=force_exclude)

    return fix_found(check(), paths, check, lambda own: own.unsafe_fixes if unsafe is None else unsafe, write=write)


def fix_found(
    result: Result,
    paths: Sequence[str],
    check: Callable[[], Result],
    unsafe: Callable[[Settings], bool | None],
    *,
    write: bool = True,
) -> FixedFiles:
    """Fix what a check of `paths` has found, and `check` again.

    `unsafe` says which fixes are made where some settings hold: safe ones (False), all (True), or none (None).
    """
    ways = {path: unsafe(own) for own, files in result.checked for path in files}
    wanted = {f.path for f in result.findings if _is_wanted(f, ways.get(f.path))}
    fixed = FixedFiles(result, ways.get)
    if not wanted or result.errors:
        fixed.problems += [f"nothing was fixed: {error}" for error in result.errors[:1] if wanted]
        return fixed
    fixer = Fixer(result.checked, paths)
    tried = fixer.fix_all({path: bool(ways[path]) for path in sorted(wanted)})
    changed = [_keep(one, fixed, write=write) for one in tried]
    if write and fixed.files:
        fixed.result = check()
    for one, is_other in zip(tried, changed, strict=True):
        _note_refused(one, fixed, is_after=write and is_other)
    return fixed


def _is_wanted(finding: Finding, unsafe: bool | None) -> bool:
    return unsafe is not None and is_applicable(finding, unsafe=unsafe)


def _keep(one: Fixed | None, fixed: FixedFiles, *, write: bool) -> bool:
    """Write a file, and note what became of it; whether it is another one then."""
    if one is None or not one.fixed:
        return False
    try:
        if write:
            _write(one)
    except (OSError, Unreadable) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else error.message
        fixed.problems.append(f"{shown_path(one.before.path)}: nothing was fixed: {reason}")
        return False
    fixed.files.append(one)
    return True


def _note_refused(one: Fixed, fixed: FixedFiles, *, is_after: bool) -> None:
    """Say what was not fixed in a file, and why; what is left of it has no fix any more.

    What is found stands in its text before the fixes, or in that after them.
    """
    source = Source.from_text(one.before.path, one.text if is_after else one.before.text)
    found, path = fixed.result.findings, one.before.path
    places = {(f.row, f.column - 1, f.code): number for number, f in enumerate(found) if f.path == path}
    for refusal in one.refused:
        code = refusal.finding.code
        number = places.get((*source.place(refusal.after if is_after else refusal.before), code))
        if number is not None and found[number].fix is not None:
            found[number] = finding = replace(found[number], fix=None)
            fixed.problems.append(f"{shown_path(path)}:{finding.row}: {code} was not fixed: {refusal.reason}")


def _write(one: Fixed) -> None:
    """Write a file that is still as it was read. Raises OSError and `Unreadable`."""
    with suppress(FileNotFoundError), open(one.before.path, "rb") as file:
        if file.read() != one.before.raw:
            raise Unreadable("it has been changed in the meantime")
    content = one.content
    try:
        is_linked = os.stat(one.before.path).st_nlink > 1
        if not is_linked:
            return write_atomically(one.before.path, content)
    except OSError as error:
        if error.errno not in _NO_ROOM_BESIDE or not os.access(one.before.path, os.W_OK):
            raise
    with open(one.before.path, "r+b") as file:  # another name of it stays one; or no file can be made beside it
        file.write(content)
        file.truncate()


def fix_content(
    raw: bytes, path: str, settings: Settings | Configuration | None = None, *, unsafe: bool | None = None
) -> tuple[Fixed | None, FixedFiles]:
    """Fix what would be the content of the file `path`, as `check_content` checks it; nothing is written.

    The first is None if nothing is to be fixed.
    """
    path = os.path.abspath(path)
    own = settings.settings(path) if isinstance(settings, Configuration) else settings or Settings()
    may = own.unsafe_fixes if unsafe is None else unsafe
    fixed = FixedFiles(check_content(raw, path, own), lambda _: may)
    if fixed.result.errors or not any(is_applicable(f, unsafe=may) for f in fixed.result.findings):
        return None, fixed
    fixer = Fixer([(own, [path])], [path])
    fixer.give(Source.from_bytes(path, raw))
    one = fixer.fix(path, unsafe=may)
    is_other = _keep(one, fixed, write=False)
    if one is not None and is_other:
        fixed.result = check_content(one.content, path, own)
    if one is not None:
        _note_refused(one, fixed, is_after=is_other)
    return one, fixed


def fix_source(
    text: str, path: str = "<string>.py", settings: Settings | None = None, *, unsafe: bool = False
) -> tuple[str, list[Finding]]:
    """The text after all fixes, and the findings that are left in it, as if it stood in the file `path`.

    Raises `Unreadable` if the text holds null bytes.
    """
    source = Source.from_text(path, text)
    one, fixed = fix_content(source.raw, path, settings, unsafe=unsafe)
    return (text if one is None else one.text), fixed.result.findings
