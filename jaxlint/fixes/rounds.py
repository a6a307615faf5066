"""Fixing files: the fixes of one round are made together if they do not touch each other, until there are none left.

What a file would be after them is looked at first. It has to be code in which what was fixed is not found any more,
nothing else is found, here and in the other files, and every name is bound; else the fixes are tried one by one.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from jaxlint.config.settings import Settings
from jaxlint.cst.edits import applied, made_together, moved, moved_back
from jaxlint.editor.trees import Group, Texts
from jaxlint.finding import Applicability, Edit, Finding
from jaxlint.fixes.imports import takes, unused_imports
from jaxlint.fixes.names import lost_names
from jaxlint.rules.unreadable_file import UnreadableFile
from jaxlint.syntax.source import Source, Unreadable

_MOST_ROUNDS = 100
#: How often something may come to light behind what was fixed.
_MOST_LAYERS = 3
#: Files that are larger than this are fixed all the same: nobody waits at a key.
_LARGEST = 1 << 62


class Refusal(msgspec.Struct, frozen=True):
    """A fix that was tried and not made, why, and the offset of its finding before and after all that was fixed."""

    finding: Finding
    reason: str
    before: int
    after: int


class Fixed(msgspec.Struct):
    """What became of one file: its text, what was fixed in it, and which fixes were not made, and why."""

    before: Source
    text: str
    fixed: list[Finding] = []
    refused: list[Refusal] = []

    @property
    def content(self) -> bytes:
        """The bytes of the file after the fixes. Raises `Unreadable` if they cannot be written in its encoding."""
        return self.before.encoded(self.text)


def is_applicable(finding: Finding, *, unsafe: bool) -> bool:
    """Whether a finding has a fix that is to be applied."""
    fix = finding.fix
    if fix is None or fix.applicability is Applicability.DISPLAY:
        return False
    return unsafe or fix.applicability is Applicability.SAFE


class Fixer:
    """Fixes files that are checked together: each entry of `checked` are files with the same settings.

    `asked` are the paths on the command line.
    """

    def __init__(self, checked: Sequence[tuple[Settings, Sequence[str]]], asked: Sequence[str]) -> None:
        everything = {path for _, files in checked for path in files}
        self._texts = Texts(_LARGEST, lambda: None)
        self._groups = [
            Group(settings, files, everything.difference(files), self._texts, asked=asked, cache=None)
            for settings, files in checked
        ]
        #: Whether other files are looked at after each fix.
        self._is_careful = False

    def give(self, source: Source) -> None:
        """Take a text for the content of its file, whatever is on disk."""
        self._set(source.path, source)

    def fix_all(self, unsafe: Mapping[str, bool]) -> list[Fixed]:
        """Fix files, and say for each which fixes are to be made. Nothing is written.

        The other files are looked at once, at the end; only if one of them is worse then, after each fix.
        """
        before = {path: text for path, text in self._texts.open.items() if isinstance(text, Source)}
        fixed = [one for path in unsafe if (one := self.fix(path, unsafe=unsafe[path])) is not None]
        paths = {one.before.path for one in fixed}
        after = self.found_outside(paths)
        for one in fixed:
            self.give(before.get(one.before.path, one.before))
        if not after - self.found_outside(paths):
            for one in fixed:
                self.give(_source(one.before, one.text))
            return fixed
        self._is_careful = True
        return [one for path in unsafe if (one := self.fix(path, unsafe=unsafe[path])) is not None]

    def fix(self, path: str, *, unsafe: bool) -> Fixed | None:
        """Fix a file as far as that goes; None if nothing is to be fixed in it. Nothing is written."""
        group = next(group for group in self._groups if path in group.files)
        if group.module(path).problem is not None:
            return None
        found = group.findings(path, is_complete=True)
        if not any(is_applicable(finding, unsafe=unsafe) for finding in found):
            return None
        one = _File(self, group, group.module(path).source, found, is_careful=self._is_careful)
        for _ in range(_MOST_ROUNDS):
            if not one.round(unsafe=unsafe):
                break
        return one.outcome()

    def _set(self, path: str, source: Source) -> None:
        self._texts.open[path] = source
        for group in self._groups:
            group.change(path)

    def look(self, path: str, source: Source, group: Group) -> list[Finding]:
        """What is found in a file with another text."""
        self._set(path, source)
        return group.findings(path, is_complete=True)

    def found_outside(self, left_out: Collection[str]) -> Counter[tuple[str, str, str]]:
        """What is found in all files but some."""
        paths = [(group, path) for group in self._groups for path in sorted(group.files.difference(left_out))]
        return Counter(identity(f) for group, path in paths for f in group.findings(path, is_complete=True))


class _File:
    """One file that is being fixed."""

    def __init__(self, fixer: Fixer, group: Group, source: Source, found: list[Finding], *, is_careful: bool) -> None:
        self.result = Fixed(source, source.text)
        self._fixer = fixer
        self._group = group
        self._found = found
        self._elsewhere = fixer.found_outside({source.path}) if is_careful else None
        #: The edits that were made, one set after the other.
        self._made: list[list[Edit]] = []
        #: By offset and code, which fixes were refused, and why.
        self._refused: dict[tuple[int, str], tuple[Finding, str]] = {}
        #: Whether something was fixed since one of them was refused.
        self._is_another = False

    def outcome(self) -> Fixed:
        """What became of the file."""
        self._drop_imports()
        for (offset, _), (finding, reason) in self._refused.items():
            before = offset
            for edits in reversed(self._made):
                before = moved_back(before, edits)
            self.result.refused.append(Refusal(finding, reason, before, offset))
        return self.result

    def _drop_imports(self) -> None:
        """Take out what was imported for that alone which is fixed now, unless something else is found then."""
        path, before = self.result.before.path, self._text
        importers = self._group.importers(path)

        def is_taken(name: str) -> bool:
            return takes(importers, self._group.module(path), name)

        edits = unused_imports(self.result.before.text, before, is_taken) if self.result.fixed else []
        if not edits:
            return
        source = _source(self.result.before, applied(before, edits))
        found = self._fixer.look(path, source, self._group)
        if Counter(map(identity, found)) != Counter(map(identity, self._found)):
            self._fixer.give(_source(self.result.before, before))
            return
        self.result.text = source.text
        self._made.append(edits)
        self._refused = {(moved(offset, edits), code): why for (offset, code), why in self._refused.items()}

    def round(self, *, unsafe: bool) -> bool:
        """Make the fixes that can be made together; whether there may be more."""
        places = {id(f): self._place(f) for f in self._found if is_applicable(f, unsafe=unsafe)}
        if self._is_another and all(place in self._refused for place in places.values()):
            self._refused, self._is_another = {}, False  # what stood in the way may be mended
        wanted = [f for f in self._found if id(f) in places and places[id(f)] not in self._refused]
        chosen, _ = made_together(wanted)
        if not chosen:
            return False
        if self._try(chosen, unsafe=unsafe) is None:
            return True
        for finding in chosen:
            reason = self._try([finding], unsafe=unsafe)
            if reason is None:
                break
            self._refused[places[id(finding)]] = finding, reason
        return True

    def _place(self, finding: Finding) -> tuple[int, str]:
        source = self._group.module(finding.path).source
        return source.offset(finding.row, finding.column - 1), finding.code

    def _try(self, chosen: Sequence[Finding], *, unsafe: bool) -> str | None:
        """Make some fixes; why that cannot be, and then nothing has changed.

        What was hidden by what they fix is fixed together with them, if it can be.
        """
        before = self._text
        mended, edits = list(chosen), made_together(chosen)[1]
        made = [edits]
        text = applied(before, edits)
        known = Counter(map(identity, self._found))
        for _ in range(_MOST_LAYERS):
            try:
                source = _source(self.result.before, text)
            except Unreadable as problem:
                self._fixer.give(_source(self.result.before, before))
                return problem.message
            found = self._fixer.look(source.path, source, self._group)
            more = Counter(map(identity, found)) - known
            hidden = [finding for finding in found if identity(finding) in more]
            if not hidden or not all(is_applicable(finding, unsafe=unsafe) for finding in hidden):
                break
            more_mended, edits = made_together(hidden)
            mended += more_mended
            made.append(edits)
            text = applied(text, edits)
        reason = _regression(self._found, found, chosen)
        lost = lost_names(before, text)
        if reason is None and lost:
            reason = f"`{lost[0]}` would mean nothing"
        refused = why_not_compiled(text) if reason is None else None
        if refused is not None and why_not_compiled(before) is None:
            reason = refused
        elsewhere = self._elsewhere
        if reason is None and elsewhere is not None:
            elsewhere = self._fixer.found_outside({source.path})
            new = elsewhere - (self._elsewhere or Counter())
            reason = next((f"{os.path.basename(path)} would have {code}" for path, code, _ in new), None)
        if reason is not None:
            self._fixer.give(_source(self.result.before, before))
            return reason
        self._elsewhere, self._found = elsewhere, found
        self.result.text = text
        self.result.fixed += mended
        self._made += made
        self._is_another = bool(self._refused)
        for edits in made:
            self._refused = {(moved(offset, edits), code): why for (offset, code), why in self._refused.items()}
        return None

    @property
    def _text(self) -> str:
        return self.result.text


def _source(like: Source, text: str) -> Source:
    """A source with another text."""
    return Source(like.path, like.encoded(text), text, like.encoding, like.bom)


def identity(finding: Finding) -> tuple[str, str, str]:
    """What tells a finding from others, wherever its line has moved to."""
    return finding.path, finding.code, finding.message


def why_not_compiled(text: str) -> str | None:
    """What Python says of a text that it parses and yet does not compile: `f(x=1, x=2)`, `return` outside of functions.

    It is nothing, too, where Python has no room to compile what is nested deeply.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "fixed.py", "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            return f"Python would not compile it: {error.args[0]}"
        except (RecursionError, MemoryError):
            return None
    return None


def _regression(before: Iterable[Finding], after: Iterable[Finding], fixed: Sequence[Finding]) -> str | None:
    """Why findings are not what they should be after some were fixed."""
    old, new, gone = (Counter(map(identity, some)) for some in (before, after, fixed))
    for one in new:
        if one[1] == UnreadableFile.code:
            return "the file could not be read any more"
        if new[one] > old[one]:
            return f"there would be {one[1]}: {one[2]}"
        if one in gone and new[one] > old[one] - gone[one]:
            return "it would still be found"
    return None
