"""One run over the files of a project, with what an earlier run left in the cache.

What is found in a file depends on its text, on those of the modules that it leads to (`jaxlint.project.reached`), on
the settings, and on the index of the project. What an earlier run found in files that lead to nothing that has changed
still holds, if the index is still the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from jaxlint.cache.digests import digest
from jaxlint.cache.store import Cache, FileRecord, RunRecord
from jaxlint.config.settings import Settings
from jaxlint.finding import Finding
from jaxlint.project.modules import Module, Project
from jaxlint.project.reached import Noted, Reached, Stored
from jaxlint.syntax.paths import stamp
from jaxlint.syntax.source import Unreadable

if TYPE_CHECKING:
    from jaxlint.project.index import StoredIndex

#: So long (ns) a file may be changed again without another time of its last change.
_TICK = 2_000_000_000


def is_settled(mtime: int, seen: int) -> bool:
    """Whether a file last changed at `mtime` cannot have been changed with the same time after it was `seen` (ns)."""
    return mtime < seen - _TICK


class Run:
    """A run over `modules`, which it checks, and `neighbours`, which they can see."""

    def __init__(
        self,
        cache: Cache,
        project: Project,
        settings: Settings,
        modules: Sequence[Module],
        neighbours: Sequence[Module],
    ) -> None:
        self._cache = cache
        self._project = project
        self._seen = sorted({m.path: m for m in (*modules, *neighbours)}.values(), key=lambda m: m.path)
        settings = replace(settings, fix=False, unsafe_fixes=False)  # which change nothing that is found
        known = (
            [m.path for m in self._seen],
            project.roots,
            project.site_packages,
            settings,
            _plugin_versions(settings),
        )
        self._key = digest(repr(known).encode("utf-8", "surrogatepass"))
        self._started = time.time_ns()
        self._stamps = {m.path: stamp(m.path) for m in self._seen}
        #: What an earlier run left, as far as it still holds.
        self._previous = cache.run(self._key)
        if self._previous is not None and not self._sees_the_same(self._previous):
            self._previous = None
        #: The modules that have to be read, as far as these are not all.
        self.changed: list[Module] = []
        self._files: dict[str, FileRecord] = {}
        self._has_read = self._previous is None
        if self._previous is not None:
            for module in self._seen:
                self._look(module, self._previous.files.get(module.path), self._previous.written)
        #: What leads to what, as far as it is known from the earlier run.
        self._reached: Reached | None = None
        #: The files whose findings do not hold any more.
        self.dirty: set[str] = set()
        if self.changed:
            self._reached = Reached(None if self.stored_index is None else self.stored_index.leading.noted())
            self.dirty = self._reached.change({m.path: m for m in self.changed}).intersection(self._stamps)

    def _sees_the_same(self, previous: RunRecord) -> bool:
        """Whether the same modules are there as in an earlier run, and those outside of the project are unchanged."""
        if any(stamp(path) != before for path, before in previous.others.items()):
            return False
        return self._project.folders.are_as(previous.folders, previous.beginnings)

    def _look(self, module: Module, before: FileRecord | None, written: int) -> None:
        """See whether a file has changed since it was seen `before`."""
        mtime, size = self._stamps[module.path]
        if before is None or (before.mtime, before.size) != (mtime, size) or not is_settled(before.mtime, written):
            self._has_read = True
            record = self._record(module)
            if before is None or record.content != before.content:
                self.changed.append(module)
            before = record
        elif before.is_readable:
            module.content = before.content
        self._files[module.path] = before

    def _record(self, module: Module) -> FileRecord:
        """The file as it is now."""
        mtime, size = self._stamps[module.path]
        try:
            if module.content is None:
                _ = module.source
                module.forget_source()
        except Unreadable as problem:
            return FileRecord(mtime, size, digest(repr((problem.message, problem.row)).encode()), is_readable=False)
        assert module.content is not None
        return FileRecord(mtime, size, module.content)

    def known(self) -> dict[str, list[Finding]]:
        """The findings of the files that need not be checked, by path; that holds if the index is the same."""
        found = {} if self._previous is None else self._previous.findings
        return {path: findings for path, findings in found.items() if path not in self.dirty}

    def forget(self) -> None:
        """Forget what the earlier run has found: the index is another one."""
        self._previous = self.stored_index = None

    @cached_property
    def stored_index(self) -> StoredIndex | None:
        """What the earlier run has indexed of the project, if it can be had."""
        if self._previous is None:
            return None
        from jaxlint.project.index import StoredIndex

        encoded = self._cache.indexed(self._key, self._previous.project_index)
        with suppress(msgspec.MsgspecError, RecursionError):
            return None if not encoded else msgspec.msgpack.decode(encoded, type=StoredIndex)
        return None

    def keep(self, found: dict[str, list[Finding]], indexed: StoredIndex | None) -> None:
        """Keep what was `found` and `indexed`, beside what was known before; nothing is written if nothing is new.

        That files were read which are the same is new: the next run need not read them.
        """
        previous = self._previous
        if not found and not self._has_read and previous is not None:
            return
        self._files = {m.path: self._files.get(m.path) or self._record(m) for m in self._seen}
        others = {path: stamp(path) for path in self._project.paths_read() if path not in self._files}
        folders, beginnings = self._project.folders.digests(), self._project.folders.beginnings()
        if previous is not None:
            others = previous.others | others
            folders = previous.folders | folders
            beginnings = previous.beginnings | beginnings
        if indexed is None and self.stored_index is not None:
            indexed = replace(self.stored_index, leading=Stored.of(self._leading(self.stored_index)))
        elif indexed is not None:
            indexed = replace(indexed, leading=Stored.of(self._project.reached.noted))
        encoded = b"" if indexed is None else _encoded(indexed)
        findings = {**self.known(), **found}
        record = RunRecord(self._started, self._files, others, folders, beginnings, findings, digest(encoded))
        self._cache.keep_run(self._key, record, encoded)
        self._previous, self._has_read, self.stored_index = record, False, indexed
        self.changed, self.dirty = [], set()

    def _leading(self, stored: StoredIndex) -> Noted:
        """What leads to what now and, where nothing has changed, did before."""
        reached = self._reached or Reached(stored.leading.noted())
        reached.add(self._project.reached.noted)
        return reached.noted

    def contents(self) -> set[bytes]:
        """The digests of the files that were read."""
        records = (self._files.get(module.path) for module in self._seen)
        return {r.content for r in records if r is not None} | {m.content for m in self._seen if m.content is not None}


def _encoded(indexed: StoredIndex) -> bytes:
    """What is known of a project as it is stored; nothing if it cannot be stored."""
    with suppress(msgspec.MsgspecError, OverflowError, RecursionError, UnicodeError):
        return msgspec.msgpack.encode(indexed)
    return b""


def findings_of(
    run: Run | None,
    modules: Sequence[Module],
    check: Callable[[Sequence[Module]], list[Finding]],
    indexed: Callable[[], StoredIndex | None],
    failed: Callable[[], bool],
) -> list[Finding]:
    """The findings of all modules: `check` is called with those that are not known from an earlier run.

    `indexed` tells what it has found out about the project as a whole, and `failed` whether something went wrong.
    """
    known = run.known() if run is not None else {}
    missing = [m for m in modules if m.path not in known]
    fresh: dict[str, list[Finding]] = {m.path: [] for m in missing}
    for finding in check(missing) if missing else ():
        fresh.setdefault(finding.path, []).append(finding)
    if run is not None and not failed():
        run.keep(fresh, indexed())
    return [finding for m in modules for finding in (known.get(m.path) or fresh.get(m.path, []))]


def _plugin_versions(settings: Settings) -> object:
    """What tells the code of the rules of other packages from other code; most runs have none."""
    if not settings.plugins:
        return None
    from jaxlint.rules.plugins import plugin_versions

    return plugin_versions(settings.plugins)
