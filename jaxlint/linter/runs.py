"""One run over the files of a project, with what an earlier run left in the cache.

What is found in a file depends on its text, on the settings, and on what the other modules show of themselves
(`jaxlint.symbols.interface`). While the latter stay the same, only files whose text has changed are checked again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from jaxlint.cache.digests import digest
from jaxlint.cache.store import Cache, FileRecord, RunRecord
from jaxlint.config.settings import Settings
from jaxlint.finding import Finding
from jaxlint.project.modules import Module, Project, listing_digest
from jaxlint.syntax.paths import stamp
from jaxlint.syntax.source import Unreadable

if TYPE_CHECKING:
    from jaxlint.project.index import ProjectIndex

#: So long (ns) a file may be changed again without another time of its last change.
_TICK = 2_000_000_000


def is_settled(mtime: int, seen: int) -> bool:
    """Whether a file last changed at `mtime` cannot have been changed with the same time after it was `seen` (ns)."""
    return mtime < seen - _TICK


class Run:
    """A run over `modules`, which it checks, and `neighbours`, which they can see.

    `index` is called with the modules that have to be read, before they are.
    """

    def __init__(
        self,
        cache: Cache,
        project: Project,
        settings: Settings,
        modules: Sequence[Module],
        neighbours: Sequence[Module],
        index: Callable[[Sequence[Module]], None] = lambda modules: None,
    ) -> None:
        self._cache = cache
        self._project = project
        self._seen = sorted({m.path: m for m in (*modules, *neighbours)}.values(), key=lambda m: m.path)
        self._modules = modules
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
        self._previous = cache.run(self._key)
        unchanged = {m.path: self._unchanged(m) for m in self._seen}
        unread = [m for m in self._seen if unchanged[m.path] is None]
        self._has_read = bool(unread)
        index(unread)
        for module in self._seen:
            before = unchanged[module.path]
            if before is not None and before.interface:
                module.content = before.content
        self._files = {m.path: unchanged[m.path] or self._record(m) for m in self._seen}
        self._state = self._state_without(self._previous.leaves if self._previous is not None else ())

    @cached_property
    def _still(self) -> RunRecord | None:
        """What the earlier run left, if what the modules show of themselves is still the same."""
        previous = self._previous
        if previous is None or previous.state != self._state:
            return None
        if any(stamp(path) != before for path, before in previous.others.items()):
            return None
        seen = self._project.folders_seen()
        if any(listing_digest(path, seen.get(path)) != known for path, known in previous.folders.items()):
            return None
        return previous

    def known(self) -> dict[str, list[Finding]]:
        """The findings of the modules that need not be checked, by path."""
        still = self._still
        if still is None:
            return {}
        found: dict[str, list[Finding]] = {}
        for module in self._modules:
            stored = still.findings.get(module.path)
            if stored is not None and stored[0] == self._files[module.path].content:
                found[module.path] = stored[1]
        return found

    def project_index(self) -> ProjectIndex | None:
        """What is known of the project as a whole, if it need not be indexed."""
        if not self._encoded_index:
            return None
        from jaxlint.project.index import ProjectIndex

        with suppress(msgspec.MsgspecError, RecursionError):
            return msgspec.msgpack.decode(self._encoded_index, type=ProjectIndex)
        return None

    @cached_property
    def _encoded_index(self) -> bytes:
        """What the earlier run has indexed, as it was stored, if that still holds; nothing if it cannot be had."""
        still = self._still
        return b"" if still is None else self._cache.indexed(self._key, still.project_index) or b""

    def keep(self, found: dict[str, list[Finding]], indexed: ProjectIndex | None) -> None:
        """Keep what was `found` and `indexed`, beside what was known before; nothing is written if nothing is new.

        That files were read which are the same is new: the next run need not read them.
        """
        previous = self._previous
        if not found and not self._has_read and previous is not None and previous.files == self._files:
            return
        still = self._still
        others = {path: stamp(path) for path in self._project.paths_read() if path not in self._files}
        folders = self._project.folders_searched()
        findings = {path: (self._files[path].content, list(f)) for path, f in found.items()}
        encoded = b"" if indexed is None else _encoded(indexed)
        project_index = digest(encoded)
        if still is not None:
            others = still.others | others
            folders = still.folders | folders
            findings = still.findings | findings
            if not encoded and self._encoded_index:
                encoded, project_index = self._encoded_index, still.project_index
        leaves = (self._files.keys() if still is None else still.leaves) - self._project.imported
        if previous is None or leaves != previous.leaves:
            self._state = self._state_without(leaves)
        record = RunRecord(self._started, self._state, self._files, others, folders, findings, project_index, leaves)
        self._cache.keep_run(self._key, record, encoded)
        self._previous = self._still = record
        self._encoded_index = encoded

    def _state_without(self, leaves: Collection[str]) -> bytes:
        """The digest of what the modules show; of the `leaves`, which nobody imports, without what that would show."""
        shown = [(p, shown_without_import(r.interface) if p in leaves else r.interface) for p, r in self._files.items()]
        return digest(repr(shown).encode("utf-8", "surrogatepass"))

    def contents(self) -> set[bytes]:
        """The digests of the files."""
        return {record.content for record in self._files.values()}

    def _unchanged(self, module: Module) -> FileRecord | None:
        """The file as it was, if its time and size say that it still is."""
        before = self._previous.files.get(module.path) if self._previous is not None else None
        if before is None or self._previous is None or not is_settled(before.mtime, self._previous.written):
            return None
        return before if (before.mtime, before.size) == stamp(module.path) else None

    def _record(self, module: Module) -> FileRecord:
        """The file as it is now."""
        mtime, size = stamp(module.path)
        try:
            interface = module.interface
        except Unreadable as problem:
            return FileRecord(mtime, size, digest(repr((problem.message, problem.row)).encode()), b"")
        assert module.content is not None
        module.forget_source()
        return FileRecord(mtime, size, module.content, interface)


def _encoded(project_index: ProjectIndex) -> bytes:
    """What is known of a project as it is stored; nothing if it cannot be stored."""
    with suppress(msgspec.MsgspecError, OverflowError, RecursionError, UnicodeError):
        return msgspec.msgpack.encode(project_index)
    return b""


def findings_of(
    run: Run | None,
    modules: Sequence[Module],
    check: Callable[[Sequence[Module]], list[Finding]],
    indexed: Callable[[], ProjectIndex | None],
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


def shown_without_import(interface: bytes) -> bytes:
    """The part of the digest of an interface (`symbols.interface`) for modules that do not import the module."""
    return interface[: len(interface) // 2]


def _plugin_versions(settings: Settings) -> object:
    """What tells the code of the rules of other packages from other code; most runs have none."""
    if not settings.plugins:
        return None
    from jaxlint.rules.plugins import plugin_versions

    return plugin_versions(settings.plugins)
