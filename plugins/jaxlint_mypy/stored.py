"""What is kept in mypy's cache folder: outlines, so that a module that is as it was need not be parsed again.

And by what mypy knows that what it has kept holds no more.
"""

from __future__ import annotations

import hashlib
import os

from mypy.options import Options

import jaxlint
from jaxlint.cache.packs import PackWriter, open_packs
from jaxlint.cache.store import Cache, code_digest
from jaxlint.symbols.facts import FactsStore

#: The folder below mypy's own, whose name no version of Python has.
_FOLDER = "jaxlint"


class StoredOutlines:
    """The outlines of earlier runs, and those of this one."""

    def __init__(self, folder: str) -> None:
        self._cache = Cache(folder)
        self.store = FactsStore(writer=self._writer(), later=lambda: open_packs(self._cache.places()))

    @classmethod
    def of(cls, options: Options) -> StoredOutlines | None:
        """Those of mypy's cache; None where mypy keeps nothing."""
        if not options.incremental or options.cache_dir == os.devnull:
            return None
        return cls(os.path.join(os.path.abspath(options.cache_dir), _FOLDER))

    def keep(self) -> None:
        """Write down the outlines that were made since the last time."""
        writer = self.store.writer
        if writer is not None and self._cache.keep_pack(writer):
            self.store.add_packs(open_packs([(writer.path, self._cache.version)]))
            self.store.writer = self._writer()
            self._cache.trim(())

    def _writer(self) -> PackWriter | None:
        path = self._cache.new_pack()
        return None if path is None else PackWriter(path, self._cache.version)


def fingerprint(*settings: object) -> str:
    """A hash of the sources of jaxlint and of this plugin, and of what they are set to."""
    code = [code_digest(os.path.dirname(file)) for file in (jaxlint.__file__, __file__)]
    return hashlib.sha1(repr((settings, code)).encode(), usedforsecurity=False).hexdigest()
