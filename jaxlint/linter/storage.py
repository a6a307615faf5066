"""What one run keeps the facts of files in: the cache, files of facts, or a folder that it removes at the end."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import partial
from types import TracebackType

from jaxlint.cache.packs import PackWriter, Place, open_packs
from jaxlint.cache.store import Cache
from jaxlint.symbols.facts import FactsStore, facts_writer, open_facts
from jaxlint.syntax.paths import stamp

#: Up to so many bytes of source, some 470,000 lines, all outlines stay in memory, which is less than 400 MB then: to
#: let go of them and to read them again takes a quarter more time.
_ALL_IN_MEMORY = 17_000_000


def is_large(files: Iterable[str]) -> bool:
    """Whether the outlines of these files are too much to be in memory together."""
    return sum(stamp(path)[1] for path in files) > _ALL_IN_MEMORY


class Storage:
    """The facts that a run can use, from the `cache` and the files `facts`, and where it keeps those it finds.

    `store` is None where nothing is stored. Raises `UserError` if one of the files holds no facts.
    """

    def __init__(self, cache: Cache | None, facts: Sequence[str] = (), jobs: int = 1) -> None:
        self.cache = cache
        self.jobs = jobs
        #: The digests of the contents that the run needs facts of.
        self.needed: set[bytes] = set()
        self.store: FactsStore | None = None
        self._folder: str | None = None
        packs = open_facts(facts)
        stored = [] if cache is None else cache.places()
        #: The packs that were there before.
        self.known: list[Place] = [*((pack.path, facts_writer()) for pack in packs), *stored]
        if cache is not None or packs:
            place = self.new_place() if cache is not None else None
            writer = None if place is None else PackWriter(*place)
            self.store = FactsStore(packs, writer, later=lambda: open_packs(stored))

    def store_for(self, files: Sequence[str]) -> FactsStore | None:
        """Where the facts of the files are found and stored: in a large project there is always such a place."""
        large = partial(is_large, files)
        if self.store is not None and self.store.writer is not None:
            self.store.is_large = large
            return self.store
        place = self.new_place() if large() else None
        if place is None:
            return self.store
        writer = PackWriter(*place)
        if self.store is None:
            self.store = FactsStore((), writer, is_large=large)
        else:
            self.store.writer, self.store.is_large = writer, large
        return self.store

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

    def __enter__(self) -> Storage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.store is not None and self.store.writer is not None:
            if self.cache is None:
                self.store.writer.discard()
            else:
                self.cache.keep_pack(self.store.writer)
        if self.cache is not None:
            self.cache.trim(self.needed)
        if self._folder is not None:
            import shutil

            shutil.rmtree(self._folder, ignore_errors=True)
