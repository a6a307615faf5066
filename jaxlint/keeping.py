"""What one run keeps the facts of files in: the cache, files of facts, or a folder that it removes at the end."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType

from jaxlint.cache import Cache
from jaxlint.facts import FactsStore, facts_writer, open_facts
from jaxlint.packs import PackWriter, Place, open_packs


class Keeping:
    """The facts that a run can use, from the `cache` and the files `facts`, and where it keeps those it finds.

    `store` is None where nothing is kept. Raises `UserError` if one of the files holds no facts.
    """

    def __init__(self, cache: Cache | None, facts: Sequence[str] = (), jobs: int = 1) -> None:
        self.cache = cache
        self.jobs = jobs
        #: The keys of the records that the run, or the next, needs.
        self.needed: set[bytes] = set()
        self.store: FactsStore | None = None
        self._folder: str | None = None
        packs = open_facts(facts)
        kept = [] if cache is None else cache.places()
        #: The packs that were there before.
        self.known: list[Place] = [*((pack.path, facts_writer()) for pack in packs), *kept]
        if cache is not None or packs:
            place = self.new_place() if cache is not None else None
            writer = None if place is None else PackWriter(*place)
            self.store = FactsStore(packs, writer, later=lambda: open_packs(kept))

    def new_place(self) -> Place | None:
        """Where a process of this run can write a pack; None if there is no such place."""
        if self.cache is not None:
            path = self.cache.new_pack()
            return None if path is None else (path, self.cache.version)
        import tempfile

        try:
            if self._folder is None:
                self._folder = tempfile.mkdtemp(prefix="jaxlint-")
            handle, path = tempfile.mkstemp(dir=self._folder)
        except OSError:
            return None
        os.close(handle)
        return path, "one run"

    def __enter__(self) -> Keeping:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.store is not None and self.store.writer is not None:
            self.store.writer.close()
        if self.cache is not None:
            self.cache.trim(self.needed)
        if self._folder is not None:
            import shutil

            shutil.rmtree(self._folder, ignore_errors=True)
