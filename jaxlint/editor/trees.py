"""The files that are checked together, and what is known of them while some of them are being edited.

A `Tree` is all files below a folder, or one file of its own. Its files with the same settings are a `Group`: what one
run of `jaxlint check` checks with one `Checker`. A group hears which files change. When it is asked, it makes a new
checker, which shares everything that does not depend on these files. Findings in files that do not lead to a changed
one stay (`jaxlint.project.reached`).
"""

from __future__ import annotations

import os
import time
from collections import ChainMap
from collections.abc import Callable, Iterable, Sequence
from itertools import count

from msgspec import structs

from jaxlint.cache.packs import open_packs
from jaxlint.cache.store import Cache
from jaxlint.config.configuration import Configuration
from jaxlint.config.settings import Settings
from jaxlint.cst.anchors import StoredAnchors
from jaxlint.cst.writing import StoredEdits
from jaxlint.editor.glance import Edit, at_once
from jaxlint.errors import UserError
from jaxlint.finding import Confidence, Finding
from jaxlint.linter.checker import Checker
from jaxlint.linter.draw import Drawer, files_about
from jaxlint.linter.engine import make_project, names_files, package_neighbours
from jaxlint.linter.reindexing import IndexedModules
from jaxlint.linter.result import Result, add_found
from jaxlint.linter.runs import is_settled
from jaxlint.project.files import discover, is_excluded, would_discover
from jaxlint.project.index import ProjectIndex
from jaxlint.project.modules import Module, Project
from jaxlint.pytrees.model import PytreeClass
from jaxlint.report.drawing import Drawing
from jaxlint.suppression.fingerprint import file_lines
from jaxlint.symbols.facts import FactsStore
from jaxlint.syntax.by_text import ByText
from jaxlint.syntax.paths import stamp
from jaxlint.syntax.source import Source, Unreadable
from jaxlint.syntax.statements import Body

_UNSURE = (-1, -1)
#: Of a folder with more than that, each open file is checked with its package only.
_MOST_FILES = 3_000
_MOST_FOLDERS = 30_000


class Texts:
    """The texts that stand for files: unsaved buffers, and reasons not to read a file."""

    def __init__(self, largest: int, step: Callable[[], None]) -> None:
        self.largest = largest
        self.step = step
        self.open: dict[str, Source | Unreadable] = {}
        #: Stands for a file that is too large.
        self.refusal = Unreadable(f"is larger than {largest:,} bytes, the most that is checked in an editor")

    def too_large(self, paths: Iterable[str]) -> dict[str, Source | Unreadable]:
        """Why the files of `paths` that are too large on disk are not read."""
        return {path: self.refusal for path in paths if stamp(path)[1] > self.largest}


class Group:
    """The `files` that have the same settings; `others` are only looked at.

    They are checked as if `asked` were the paths on the command line: the other modules of the packages of single
    files are looked at as well.
    """

    def __init__(
        self,
        settings: Settings,
        files: Sequence[str],
        others: Iterable[str],
        texts: Texts,
        *,
        asked: Sequence[str],
        cache: Cache | None,
    ) -> None:
        self.settings = settings
        self.files = frozenset(files)
        self.errors: list[str] = []
        self._texts = texts
        self._order = sorted(files)
        self._large = texts.too_large([*files, *others])
        project = make_project(files, settings, ChainMap(texts.open, self._large), asked)
        project.store = None if cache is None else FactsStore(open_packs(cache.places()))
        found = package_neighbours(files, project, settings.exclude) if names_files(asked) else []
        neighbours = [module.path for module in found]
        self._neighbours = list(dict.fromkeys([*neighbours, *sorted(others)]))
        self._project: Project = project
        self._checker: Checker | None = None
        #: What is known of all files together, and whether it is of the files as they are now; what has to be indexed.
        self._project_index = ProjectIndex()
        self._is_indexed = False
        self._unindexed: set[str] = set()
        #: Whether the checker knows that, and the part that each file had in the index last.
        self._has_index = False
        self._indexed = IndexedModules()
        self._stored_units: ByText[Body | None] = ByText()
        self._stored_edits: StoredEdits = ByText()
        self._stored_anchors: StoredAnchors = ByText()
        self._changed: set[str] = set()
        self._raw: dict[str, list[Finding]] = {}
        self._stamps: dict[str, tuple[int, int]] = {}
        #: How often anything changed; what was found, and how often that was, when each file was last asked for.
        self._edition = 0
        self._answered: dict[str, tuple[list[Finding], int]] = {}
        #: The lines of each open file when it was last checked and could be parsed, and all that was found in them.
        self._said: dict[str, tuple[list[str], list[Finding]]] = {}

    # -- changes ----------------------------------------------------------------------------

    def change(self, path: str) -> None:
        """The text of the file `path` is another one now."""
        self._changed.add(path)

    def is_settled(self, path: str) -> bool:
        """Whether what was last said about the file still holds."""
        self._renew()
        found, edition = self._answered.get(path, (None, -1))
        if found is None or self._raw.get(path) is not found or not self._is_indexed:
            return False
        return edition == self._edition or not any(map(_yields, found))

    def _renew(self) -> None:
        """Take note of the changes: drop what is no longer known."""
        changed = {path for path in self._changed if self._project.module(path) is not None}
        if not changed:
            self._changed.clear()
            return
        for path in changed:
            self._large.pop(path, None)
        self._large |= self._texts.too_large(changed)
        project = self._project.renewed(changed)
        other: set[str] = set()
        for path in sorted(changed):
            before, after = self._project.module(path), project.add_file(path)
            assert before is not None
            after.follow(before)
            self._texts.step()
            if _content(before) != _content(after):
                other.add(path)
            self._stamps.pop(path, None)
            self._note_stamps([path])
        if other:
            dirty = project.reached.change({path: project.add_file(path) for path in other})
            self._raw = {p: found for p, found in self._raw.items() if p not in dirty}
            self._unindexed |= dirty
            self._is_indexed = False
            self._edition += 1
        self._project = project
        self._drop_checker()
        self._changed.clear()

    def is_same_on_disk(self) -> bool:
        """Whether the same files are in the folders that were looked into; notes the files that have changed."""
        if not self._project.folders.are_same_on_disk(self._texts.open):
            return False
        for path, before_stamp in self._stamps.items():
            if path not in self._texts.open and stamp(path) != before_stamp:
                self.change(path)
        return True

    # -- answers ----------------------------------------------------------------------------

    def findings(self, path: str, is_complete: bool) -> list[Finding]:
        """The findings of one of the files, as the command reports them.

        A guess may be left out because another file tells the same for certain; unless `is_complete` is asked for,
        only what is known of the other files counts.
        """
        own = self._raw_of(path)
        found = list(own)
        if any(map(_yields, own)):
            for other in self._order:
                if other != path and (is_complete or other in self._raw):
                    found += [f for f in self._raw_of(other) if f.subject and f.confidence is not Confidence.LOW]
        self._answered[path] = (own, self._edition if is_complete else -1)
        self._note_said(path, own)
        return self._visible(path, found)

    def drawing(self, cls: PytreeClass) -> Drawing:
        """A class of one of the files, with what is found about it in all of them."""
        about = files_about([cls], self.checker())
        paths = [path for path in self._order if path in about]
        found = self._shown([finding for path in paths for finding in self._raw_of(path)], paths)
        drawing = Drawer(self.checker().reader.evaluator, found).drawing([cls])
        return structs.replace(drawing, elsewhere=())

    def glance(self, path: str) -> list[Finding] | None:
        """The findings of a file that are certain at once after an edit; None if only a complete check finds them."""
        self._renew()
        module = self._project.add_file(path)
        if path not in self._said or path in self._raw or not _can_be_parsed(module):
            return None
        lines, before = self._said[path]
        edit = Edit.between(lines, module.source.lines)
        if not edit.is_small:
            return None
        checker = Checker(self._project, self.settings)
        checker.adopt(self.checker().project_index)
        checker.reader.stored_units, checker.reader.step = self._stored_units, self._texts.step
        try:
            found = at_once(before, edit, checker.glance(module, edit.rows))
        finally:
            checker.release()
        return self._visible(path, found)

    def _note_said(self, path: str, found: list[Finding]) -> None:
        """Keep what was found in an open file, for what is said at once after the next edit."""
        module = self._project.add_file(path)
        if path not in self._texts.open:
            self._said.pop(path, None)
        elif _can_be_parsed(module):
            self._said[path] = (module.source.lines, found)

    def _visible(self, path: str, found: list[Finding]) -> list[Finding]:
        """What of all that is found a file shows: without what comments and the baseline hide, or who is less sure."""
        return [f for f in self._shown(found, [path]) if f.path == path]

    def _shown(self, found: list[Finding], paths: Sequence[str]) -> list[Finding]:
        """What of all that is found in some files is reported."""
        result = Result([], len(paths), [])
        add_found(result, found, self.settings, paths, self._made().errors, self._lines)
        return result.findings

    def _drop_checker(self) -> None:
        if self._checker is not None:
            self._checker.release()
            self._checker = None

    def _made(self) -> Checker:
        """A checker for the files as they are now; it need not have read any of them yet."""
        self._renew()
        if self._checker is None:
            self._checker = Checker(self._project, self.settings)
            self._has_index = False
        return self._checker

    def checker(self) -> Checker:
        """What checks the files as they are now."""
        checker = self._made()
        if not self._has_index:
            self._texts.step()
            if self._is_indexed:
                checker.adopt(self._project_index)
            else:
                modules = [self._project.add_file(path) for path in self._order]
                neighbours = [self._project.add_file(path) for path in self._neighbours]
                try:
                    self._build_index(checker, modules, neighbours)
                except BaseException:
                    self._drop_checker()
                    raise
                if checker.project_index != self._project_index:
                    self._project_index = checker.project_index
                    self._raw.clear()
                self._is_indexed = True
                self._unindexed.clear()
            checker.reader.stored_units, checker.reader.step = self._stored_units, self._texts.step
            checker.stored_edits, checker.stored_anchors = self._stored_edits, self._stored_anchors
            self._has_index = True
            self._note_stamps(self._project.paths_read())
        return checker

    def _build_index(self, checker: Checker, modules: Sequence[Module], neighbours: Sequence[Module]) -> None:
        """Index what has changed; if that fails, all of it, where a failure costs no more than its module."""
        try:
            self._indexed.build_index(checker, modules, self._texts.step, neighbours, self._unindexed)
        except (UserError, TooMany):
            raise
        except Exception:
            self._indexed = IndexedModules()
            checker.start_again()
            checker.build_index(modules, self._texts.step, neighbours)

    def module(self, path: str) -> Module:
        """The module of a file as it is now."""
        return self.checker().project.add_file(path)

    def importers(self, path: str) -> list[Module]:
        """The modules that import a file."""
        return self.checker().model.importers(self.module(path))

    def _raw_of(self, path: str) -> list[Finding]:
        """All that is found in a file, whatever hides it."""
        checker = self._made()
        if path in self._raw and not self._is_indexed:
            checker = self.checker()
        found = self._raw.get(path)
        if found is None:
            module = checker.project.add_file(path)
            try:
                if _can_be_parsed(module):
                    checker = self.checker()
                found = checker.check(module)
            except BaseException:
                self._drop_checker()  # it has read something by half
                raise
            self._note_stamps(self._project.paths_read())
            if checker.errors:
                self.errors += checker.errors
                checker.errors.clear()
            else:
                self._raw[path] = found
        return found

    def _lines(self, path: str) -> Sequence[str]:
        module = self._project.add_file(path)
        return file_lines(path, lambda _: module.source)

    def _note_stamps(self, paths: Iterable[str]) -> None:
        """Note when files that were read were changed, to see when they change again."""
        now = time.time_ns()
        for path in paths:
            if path not in self._stamps and path not in self._texts.open:
                mtime, size = stamp(path)
                self._stamps[path] = (mtime, size) if is_settled(mtime, now) else _UNSURE


class TooMany(Exception):
    """A folder holds so much that its files are not checked together."""


class Tree:
    """All files below a folder, or (with `is_named`) the one file `path` as if it was named on the command line.

    Raises `TooMany`.
    """

    def __init__(
        self, path: str, configuration: Configuration, texts: Texts, *, is_named: bool, cache: Cache | None = None
    ) -> None:
        self._path = path
        self._configuration = configuration
        self._is_named = is_named
        self._texts = texts
        files = self._files()
        if len(files) > _MOST_FILES:
            raise TooMany
        groups = configuration.groups(files)
        self.groups = [
            Group(
                settings,
                own,
                set(files).difference(own) if len(groups) > 1 else (),
                texts,
                asked=(path,),
                cache=cache,
            )
            for settings, own in groups
        ]
        self._found = files

    def _files(self) -> list[str]:
        excludes = self._configuration.excludes
        if self._is_named:
            return [] if is_excluded(self._path, excludes(os.path.dirname(self._path))) else [self._path]
        files = discover([self._path], excludes, visit=self._visit()) if os.path.isdir(self._path) else []
        below = self._path.rstrip(os.sep) + os.sep
        unsaved = [p for p in self._texts.open if p.startswith(below) and not os.path.exists(p)]
        return sorted({*files, *(p for p in unsaved if would_discover(self._path, p, excludes))})

    def _visit(self) -> Callable[[str], None]:
        """Counts folders; raises `TooMany`."""
        folders = count(1)

        def visit(folder: str) -> None:
            self._texts.step()
            if next(folders) > _MOST_FOLDERS:
                raise TooMany

        return visit

    def group(self, path: str) -> Group | None:
        """The group of a file; None if it is not one of the files."""
        return next((group for group in self.groups if path in group.files), None)

    def is_current(self) -> bool:
        """Whether it still holds the same files; its groups note those that have changed on disk."""
        return self._files() == self._found and all([group.is_same_on_disk() for group in self.groups])


def _can_be_parsed(module: Module) -> bool:
    """Whether the text of a module can be had and is Python."""
    _ = module.outline
    return module.problem is None


def _content(module: Module) -> bytes | str:
    """The bytes of a module, or why there are none."""
    try:
        return module.source.raw
    except Unreadable as problem:
        return problem.message


def _yields(finding: Finding) -> bool:
    """Whether a finding gives way to one that says the same of the same thing for certain."""
    return finding.confidence is Confidence.LOW and bool(finding.subject)
