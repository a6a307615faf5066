"""One run over the files of a project, with what an earlier run left in the cache.

What is found in a file depends on its text, on the settings, and on what the other modules show of themselves
(`jaxlint.interface`). While the latter stay the same, only files whose text has changed are checked again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from jaxlint.cache import Cache, FileRecord, RunRecord
from jaxlint.config import Settings
from jaxlint.files import stamp
from jaxlint.finding import Finding
from jaxlint.packs import digest
from jaxlint.project import Module, Project, listing_digest
from jaxlint.source import Unreadable

#: A file that was changed so shortly before the record was written may have been changed again in the same tick.
_TICK = 2_000_000_000


class Run:
    """A run over `modules`, which it checks, and `neighbours`, which they can see.

    `learn` is called with the modules that have to be read, before they are.
    """

    def __init__(
        self,
        cache: Cache,
        project: Project,
        settings: Settings,
        modules: Sequence[Module],
        neighbours: Sequence[Module],
        learn: Callable[[Sequence[Module]], None] = lambda modules: None,
    ) -> None:
        self._cache = cache
        self._project = project
        self._seen = sorted({m.path: m for m in (*modules, *neighbours)}.values(), key=lambda m: m.path)
        self._modules = modules
        known = ([m.path for m in self._seen], project.roots, project.site_packages, settings)
        self._key = digest(repr(known).encode("utf-8", "surrogatepass"))
        self._started = time.time_ns()
        self._previous = cache.run(self._key)
        unchanged = {m.path: self._unchanged(m) for m in self._seen}
        unread = [m for m in self._seen if unchanged[m.path] is None]
        self._has_read = bool(unread)
        learn(unread)
        self._files = {m.path: unchanged[m.path] or self._record(m) for m in self._seen}
        self._state = digest(repr([(p, r.interface) for p, r in self._files.items()]).encode("utf-8", "surrogatepass"))

    def known(self) -> dict[str, list[Finding]]:
        """The findings of the modules that need not be checked, by path."""
        previous = self._previous
        if previous is None or previous.state != self._state:
            return {}
        if any(stamp(path) != before for path, before in previous.others.items()):
            return {}
        seen = self._project.folders_seen()
        if any(listing_digest(path, seen.get(path)) != known for path, known in previous.folders.items()):
            return {}
        found: dict[str, list[Finding]] = {}
        for module in self._modules:
            kept = previous.findings.get(module.path)
            if kept is not None and kept[0] == self._files[module.path].content:
                found[module.path] = kept[1]
        return found

    def keep(self, known: dict[str, list[Finding]], found: dict[str, list[Finding]]) -> None:
        """Keep what was found, with what was `known` before; nothing is written if nothing is new.

        That files were read which are the same is new: the next run need not read them.
        """
        previous = self._previous
        if not found and not self._has_read and previous is not None and previous.files == self._files:
            return
        still = previous is not None and previous.state == self._state and bool(known)
        others = dict(previous.others) if still and previous is not None else {}
        others |= {path: stamp(path) for path in self._project.paths_read() if path not in self._files}
        folders = dict(previous.folders) if still and previous is not None else {}
        folders |= self._project.folders_searched()
        findings = dict(previous.findings) if still and previous is not None else {}
        findings |= {path: (self._files[path].content, list(f)) for path, f in found.items()}
        self._cache.keep_run(self._key, RunRecord(self._started, self._state, self._files, others, folders, findings))

    def contents(self) -> set[bytes]:
        """The digests of the files."""
        return {record.content for record in self._files.values()}

    def _unchanged(self, module: Module) -> FileRecord | None:
        """The file as it was, if its time and size say that it still is."""
        before = self._previous.files.get(module.path) if self._previous is not None else None
        if before is None or self._previous is None or before.mtime >= self._previous.written - _TICK:
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


def findings_of(
    run: Run | None,
    modules: Sequence[Module],
    check: Callable[[Sequence[Module]], list[Finding]],
    failed: Callable[[], bool],
) -> list[Finding]:
    """The findings of all modules: `check` is called with those that are not known from an earlier run."""
    known = run.known() if run is not None else {}
    missing = [m for m in modules if m.path not in known]
    fresh: dict[str, list[Finding]] = {m.path: [] for m in missing}
    for finding in check(missing) if missing else ():
        fresh.setdefault(finding.path, []).append(finding)
    if run is not None and not failed():
        run.keep(known, fresh)
    return [finding for m in modules for finding in (known.get(m.path) or fresh.get(m.path, []))]
