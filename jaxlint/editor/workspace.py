"""The files of an editor: what `jaxlint check` would find in them if all buffers were saved.

A `Workspace` is not safe to use from several threads at a time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence

from jaxlint.cache.store import Cache
from jaxlint.config.configuration import Configuration
from jaxlint.editor.trees import Group, Texts, TooMany, Tree
from jaxlint.finding import Finding
from jaxlint.linter.draw import Drawer
from jaxlint.project.files import would_discover
from jaxlint.pytrees.model import PytreeClass
from jaxlint.report.tree_text import text
from jaxlint.syntax.expressions import Expr
from jaxlint.syntax.paths import CONFIG_NAMES, ancestors, stamp
from jaxlint.syntax.source import Source, Unreadable

#: Larger files are not read: parsing them would keep an editor waiting.
LARGEST_FILE = 1_000_000


def _no_cache(folder: str) -> Cache | None:
    return None


class Workspace:
    """The `folders` that an editor shows, and the unsaved texts of the files that are open in it.

    Files below a folder are checked like `jaxlint check FOLDER` checks them, others like `jaxlint check FILE`, each
    with the settings of the nearest configuration; excluded files have no findings. All paths are absolute.
    `configure` reads the configuration afresh, `cache` tells where the outlines of a folder are stored, and `step` is
    called often while something is worked out: what it raises, a `BaseException`, ends that.
    """

    def __init__(
        self,
        folders: Sequence[str] = (),
        configure: Callable[[], Configuration] = Configuration,
        *,
        cache: Callable[[str], Cache | None] = _no_cache,
        step: Callable[[], None] = lambda: None,
        largest_file: int = LARGEST_FILE,
    ) -> None:
        self._folders = tuple(folders)
        self._configure = configure
        self._cache = cache
        self._texts = Texts(largest_file, step)
        self._configuration: Configuration | None = None
        self._config_stamps: dict[str, tuple[int, int]] = {}
        self._trees: dict[str, Tree] = {}
        self._large_folders: set[str] = set()

    # -- what the editor does ---------------------------------------------------------------

    def set_text(self, path: str, text: str) -> None:
        """The editor shows `text` for the file `path`, which need not be there."""
        is_new = path not in self._texts.open
        try:
            source = self._texts.refusal if len(text) > self._texts.largest else Source.from_text(path, text)
        except Unreadable as problem:
            source = problem
        self._texts.open[path] = source
        self._changed(path)
        if is_new:
            self._look_for(path)

    def drop_text(self, path: str) -> None:
        """The editor does not show the file `path` any more: its content on disk counts."""
        if self._texts.open.pop(path, None) is None:
            return
        self._trees.pop(path, None)
        self._changed(path)
        if not os.path.exists(path):
            self._forget_trees()

    def set_folders(self, folders: Sequence[str]) -> None:
        """The editor shows other folders."""
        self._folders = tuple(folders)
        self._forget_trees()

    def refresh(self) -> None:
        """Look at the disk again: files, and the configuration. Raises `ConfigError` like `reload`."""
        stamps = self._stamps_of_configs()
        if any(stamps.get(path, now) != now for path, now in self._config_stamps.items()):
            self.reload()
            return
        self._config_stamps = stamps
        for key, tree in list(self._trees.items()):
            try:
                is_current = tree.is_current()
            except TooMany:
                is_current = False
            if not is_current:
                del self._trees[key]

    def reload(self) -> None:
        """Read the configuration again. Raises `ConfigError` if it cannot be used; the one before holds on then."""
        self._config_stamps = self._stamps_of_configs()
        configuration = self._configure()
        for path in (*self._folders, *self._texts.open):
            configuration.settings(path)
        self._configuration = configuration
        self._forget_trees()

    # -- what it hears -----------------------------------------------------------------------

    def findings(self, path: str, *, is_complete: bool = True) -> list[Finding]:
        """What is found in a file, but for what comments and baselines hide. Raises `UserError`.

        Without `is_complete`, there may be guesses too many, which a look at all other files would make obsolete.
        """
        if self.refusal(path) is not None:
            return []
        group = self._group(path)
        return [] if group is None else group.findings(path, is_complete)

    def glance(self, path: str) -> list[Finding] | None:
        """What can be said of a file at once after an edit; None if there is only `findings` to tell it.

        It is what was found before, where it stands now, and what is seen around the edited rows, without fixes: what
        the edit mends or causes elsewhere is still missing. Raises `UserError`.
        """
        group = self._group(path) if self.refusal(path) is None else None
        return None if group is None else group.glance(path)

    def dependents(self, path: str) -> list[str]:
        """The other open files whose findings may have changed since they were last asked for. Raises `UserError`."""
        asked = [other for other in self._texts.open if other != path and self.refusal(other) is None]
        groups = [(other, self._group(other)) for other in asked]
        return [other for other, group in groups if group is not None and not group.is_settled(other)]

    def files(self) -> list[str]:
        """The files below the folders that are checked, and the open files. Raises `UserError`."""
        trees = [tree for tree in (self._folder_tree(folder) for folder in self._folders) if tree is not None]
        found = {path for tree in trees for group in tree.groups for path in group.files}
        return sorted(found | self._texts.open.keys())

    def refusal(self, path: str) -> str | None:
        """Why a file is not checked: it is too large."""
        text = self._texts.open.get(path)
        is_large = stamp(path)[1] > self._texts.largest if text is None else text is self._texts.refusal
        return self._texts.refusal.message if is_large else None

    def source(self, path: str) -> Source:
        """The text of a file as it is now. Raises `Unreadable`."""
        text = self._texts.open.get(path)
        if isinstance(text, Unreadable):
            raise text
        return text or Source.read(path)

    def classes(self, path: str) -> list[PytreeClass]:
        """The pytree classes of a file. Raises `UserError`."""
        group = self._group(path) if self.refusal(path) is None else None
        if group is None:
            return []
        found = group.checker().model.classes_in(group.module(path))
        return [cls for cls in found if cls.is_pytree]

    def statement_rows(self, path: str, row: int) -> tuple[int, int]:
        """The first and last row of the top-level statements around a row; the row itself if there are none."""
        group = self._group(path) if self.refusal(path) is None else None
        units = group.module(path).outline.units if group is not None else ()
        return next(((unit.first, unit.last) for unit in units if unit.first <= row <= unit.last), (row, row))

    def class_named(self, path: str, name: Expr, locals_: Collection[str]) -> PytreeClass | None:
        """The pytree class that a chain of names means in a file. Raises `UserError`.

        Nothing is known of it if a function of the file has a variable of one of the names `locals_`.
        """
        group = self._group(path) if self.refusal(path) is None else None
        if group is None:
            return None
        module, model = group.module(path), group.checker().model
        scopes = module.outline.scopes.values()
        if any(scope.kind == "function" and not scope.bindings.keys().isdisjoint(locals_) for scope in scopes):
            return None
        cls = model.class_of_symbol(model.resolver.resolve(name, module))
        return cls if cls is not None and cls.is_pytree else None

    def shape(self, cls: PytreeClass) -> str:
        """The pytree of a class as text, without what is found about it. Raises `UserError`."""
        group = self._group(cls.module.path)
        return "" if group is None else text(Drawer(group.checker().reader.evaluator).drawing([cls])).rstrip()

    def draw(self, cls: PytreeClass) -> str:
        """The pytree of a class as `jaxlint tree` shows it, which checks what may speak of it. Raises `UserError`."""
        group = self._group(cls.module.path)
        return "" if group is None else text(group.drawing(cls)).rstrip()

    def take_errors(self) -> list[str]:
        """The internal errors since the last call, one line each."""
        found: dict[str, None] = {}
        for tree in self._trees.values():
            for group in tree.groups:
                found |= dict.fromkeys(group.errors)
                group.errors.clear()
        return list(found)

    # -- trees ------------------------------------------------------------------------------

    def _group(self, path: str) -> Group | None:
        """The group that a file belongs to; None if it is excluded."""
        folder = self._folder_of(path)
        tree = None if folder is None else self._folder_tree(folder)
        if folder is not None:
            found = tree.group(path) if tree is not None else None
            if found is not None:
                return found
            if not would_discover(folder, path, self._configured().excludes):
                return None
        if path not in self._trees:
            self._trees[path] = Tree(path, self._configured(), self._texts, is_named=True)
        return self._trees[path].group(path)

    def _folder_tree(self, folder: str) -> Tree | None:
        """All files below a folder; None if they are too many."""
        if folder in self._large_folders:
            return None
        if folder not in self._trees:
            cache = self._cache(folder)
            try:
                self._trees[folder] = Tree(folder, self._configured(), self._texts, is_named=False, cache=cache)
            except TooMany:
                self._large_folders.add(folder)
                return None
        return self._trees[folder]

    def _folder_of(self, path: str) -> str | None:
        """The innermost of the folders that holds a file."""
        above = [folder for folder in self._folders if path.startswith(folder.rstrip(os.sep) + os.sep)]
        return max(above, key=len, default=None)

    def _configured(self) -> Configuration:
        if self._configuration is None:
            self.reload()
        assert self._configuration is not None
        return self._configuration

    def _changed(self, path: str) -> None:
        for tree in self._trees.values():
            for group in tree.groups:
                group.change(path)

    def _look_for(self, path: str) -> None:
        """Make room for a file that was just opened and was not there before."""
        folder = self._folder_of(path)
        if not os.path.exists(path):
            self._forget_trees()
        elif folder is not None and folder in self._trees and self._trees[folder].group(path) is None:
            if would_discover(folder, path, self._configured().excludes):
                del self._trees[folder]

    def _forget_trees(self) -> None:
        self._trees.clear()
        self._large_folders.clear()

    def _stamps_of_configs(self) -> dict[str, tuple[int, int]]:
        """When the files were changed that may hold the configuration."""
        starts = {*self._folders, *(os.path.dirname(path) for path in self._texts.open)}
        folders: Iterable[str] = {above for start in starts for above in ancestors(start)}
        return {path: stamp(path) for path in (os.path.join(f, name) for f in folders for name in CONFIG_NAMES)}
