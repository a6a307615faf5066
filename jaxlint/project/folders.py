"""The folders that a project has looked into: what is there, and how much of that says anything."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from jaxlint.cache.digests import digest
from jaxlint.project.files import SUFFIXES
from jaxlint.syntax.paths import INSTALLED, ROOT_MARKERS


class Folders:
    """What is there in folders, each listed once, and beside it the files of `unsaved` (paths).

    Of a folder above a program may be known only whether a project begins there. What else comes and goes in it, as
    in a home or in `/tmp`, then says nothing of the program.
    """

    def __init__(self, unsaved: Iterable[str] = ()) -> None:
        self._unsaved = _by_folder(unsaved)
        self._names: dict[str, frozenset[str]] = {}
        self._begins: dict[str, bool] = {}
        #: The folders that other processes have listed.
        self._listed_elsewhere: set[str] = set()

    def names(self, folder: str) -> frozenset[str]:
        """What is there."""
        names = self._names.get(folder)
        if names is None:
            names = self._names[folder] = self._now(folder)
        return names

    def begins_project(self, folder: str) -> bool:
        """Whether imports begin there: it holds the file of a project, or what an installer writes."""
        begins = self._begins.get(folder)
        if begins is None:
            begins = self._begins[folder] = _begins_project(self._seen(folder))
        return begins

    def take(self, others: Folders) -> None:
        """Go on with what others know, while the same files are there."""
        self._names, self._begins = others._names, others._begins

    def note_elsewhere(self, listed: Iterable[str], begins: Mapping[str, bool]) -> None:
        """Take note of what is `listed` in another process, and of its `beginnings`."""
        self._listed_elsewhere.update(listed)
        self._begins |= begins

    def listed(self) -> set[str]:
        """The folders that were listed, here or elsewhere."""
        return self._listed_elsewhere.union(self._names)

    def digests(self) -> dict[str, bytes]:
        """The folders that were listed, with a digest of what is there and could say something."""
        return {folder: self._digest(folder) for folder in self.listed()}

    def beginnings(self) -> dict[str, bool]:
        """The folders of which it was asked whether a project begins there."""
        return dict(self._begins)

    def are_as(self, digests: Mapping[str, bytes], beginnings: Mapping[str, bool]) -> bool:
        """Whether folders are as they were when `digests` and `beginnings` were taken."""
        return all(self._digest(folder) == known for folder, known in digests.items()) and all(
            _begins_project(self._seen(folder)) == begins for folder, begins in beginnings.items()
        )

    def are_same_on_disk(self, unsaved: Iterable[str]) -> bool:
        """Whether nothing that says something has come or gone, if the files of `unsaved` (paths) are there."""
        now = Folders(unsaved)
        return now.are_as({folder: self._digest(folder) for folder in self._names}, self._begins)

    def _seen(self, folder: str) -> frozenset[str]:
        """What was there when it was listed; what is there now if it was not, which is not kept."""
        names = self._names.get(folder)
        return self._now(folder) if names is None else names

    def _now(self, folder: str) -> frozenset[str]:
        try:
            found = frozenset(os.listdir(folder))
        except OSError:
            found = frozenset()
        return found | self._unsaved.get(folder, frozenset())

    def _digest(self, folder: str) -> bytes:
        return digest("\0".join(sorted(_telling(self._seen(folder)))).encode("utf-8", "surrogateescape"))


def _by_folder(paths: Iterable[str]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for path in paths:
        folder, name = os.path.split(path)
        found[folder] = found.get(folder, frozenset()) | {name}
    return found


def _telling(names: Iterable[str]) -> set[str]:
    """What could be a module or a package, or marks where imports begin."""
    endings = (*SUFFIXES, *INSTALLED)
    return {n for n in names if n.endswith(endings) or n in ROOT_MARKERS or ("." not in n and n != "__pycache__")}


def _begins_project(names: frozenset[str]) -> bool:
    return not names.isdisjoint(ROOT_MARKERS) or any(name.endswith(INSTALLED) for name in names)
