"""The facts of a file: what a run has to know of it, a pure function of its content.

They are stored under the digest of the content, so that facts from wherever (the cache, another process, another
machine) are those of the file that is there, or of no file of the project.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, cached_property
from typing import TYPE_CHECKING

import msgspec

from jaxlint.cache.digests import blake2b
from jaxlint.cache.packs import NoPack, Pack, PackWriter
from jaxlint.cache.version import __version__
from jaxlint.errors import UserError
from jaxlint.symbols.links import Links
from jaxlint.syntax.paths import shown_path
from jaxlint.syntax.source import Unreadable

if TYPE_CHECKING:
    from jaxlint.symbols.outline import Outline


class Facts(msgspec.Struct, frozen=True, array_like=True):
    """What is known of a file; `problem` (message, row, column) says why it cannot be parsed."""

    problem: tuple[str, int | None, int | None] | None
    #: What ties it to other modules, as in the outline.
    links: Links
    #: An encoded `Outline`.
    raw: msgspec.Raw

    @property
    def unreadable(self) -> Unreadable | None:
        """The problem as it is raised, if there is one."""
        return None if self.problem is None else Unreadable(*self.problem)

    @property
    def size(self) -> int:
        """How many bytes the outline has, encoded."""
        return len(memoryview(self.raw))


#: How many bytes of outlines, as they are stored, may be in memory at a time: those of some 75,000 lines.
_OUTLINES_IN_MEMORY = 5_000_000
_FACTS = msgspec.msgpack.Decoder(Facts)
_ENCODER = msgspec.msgpack.Encoder()
# the same bytes whatever the hash seed
_REPRODUCIBLE = msgspec.msgpack.Encoder(order="deterministic")


@cache
def _outlines() -> msgspec.msgpack.Decoder[Outline]:
    """Decodes outlines, which a run in which nothing has changed does not."""
    from jaxlint.symbols.outline import Outline

    return msgspec.msgpack.Decoder(Outline)


class FactsStore:
    """Facts by the digest of the content: those in packs, and those that are added, which `writer` keeps.

    In a project that `is_large` (asked once, and only if it matters), outlines that can be had again are let go when
    there are more of them in memory than those of some 75,000 lines, and at once if they were read for one question.

    Packs that `later` opens are opened when facts are first asked for: most runs need none.
    `reproducible` says whether the same facts are to be the same bytes, for build systems that compare them.
    """

    def __init__(
        self,
        packs: Iterable[Pack] = (),
        writer: PackWriter | None = None,
        *,
        later: Callable[[], Iterable[Pack]] | None = None,
        reproducible: bool = False,
        is_large: Callable[[], bool] = lambda: False,
    ) -> None:
        self._packs = list(packs)
        self._later = later
        self._encode = (_REPRODUCIBLE if reproducible else _ENCODER).encode
        self.writer = writer
        self.is_large = is_large
        #: How many bytes of outlines were given or taken, and how many of them were not yet let go.
        self._had = self._in_memory = 0

    def get(self, content: bytes) -> Facts | None:
        """The facts of a file with this digest, if they are known."""
        for record in self.records(content):
            with suppress(msgspec.MsgspecError, RecursionError):
                return _FACTS.decode(record)
        return None

    def outline(self, facts: Facts) -> Outline | None:
        """The outline that is part of facts; None if they are damaged."""
        with suppress(msgspec.MsgspecError, RecursionError):
            outline = _outlines().decode(facts.raw)
            self._take(facts.size)
            return outline
        return None

    @property
    def is_full(self) -> bool:
        """Whether there are more outlines in memory than there should be."""
        return self._in_memory > _OUTLINES_IN_MEMORY and self.is_bounded

    @property
    def lets_go(self) -> bool:
        """Whether what is no longer needed is to be let go of: so much was had that it matters."""
        return self._had > _OUTLINES_IN_MEMORY // 4 and self.is_bounded

    @cached_property
    def is_bounded(self) -> bool:
        """Whether there is a bound of how many outlines are in memory."""
        return self.is_large()

    def _take(self, size: int) -> None:
        self._had += size
        self._in_memory += size

    def let_go(self, size: int) -> None:
        """Note that an outline of so many bytes was let go, which can be had again."""
        self._in_memory -= size

    def records(self, key: bytes) -> Iterator[bytes]:
        """What the packs hold under a key."""
        if self._later is not None:
            self._packs += self._later()
            self._later = None
        for pack in self._packs:
            record = pack.get(key)
            if record is not None:
                yield record
        written = self.writer.get(key) if self.writer is not None else None
        if written is not None:
            yield written

    def add(self, content: bytes, problem: Unreadable | None, outline: Outline) -> int:
        """Keep the facts of a file, if that is possible; how many bytes can be had again."""
        if self.writer is None:
            return 0
        said = None if problem is None else (problem.message, problem.row, problem.column)
        try:
            raw = msgspec.Raw(self._encode(outline))
            record = self._encode(Facts(said, outline.links, raw))
        except (msgspec.MsgspecError, OverflowError, RecursionError, UnicodeError, ValueError):
            return 0
        self.writer.add(content, record)
        if self.writer.failure:
            return 0
        self._take(len(record))
        return len(record)

    def add_packs(self, packs: Iterable[Pack]) -> None:
        """Look into these packs too."""
        self._packs += packs


@cache
def facts_writer() -> str:
    """What facts for other machines depend on: the version and the code of jaxlint, and the grammar of Python."""
    found = blake2b(digest_size=8)
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for directory, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".py", ".pyi")):
                with open(os.path.join(directory, name), "rb") as file:
                    found.update(name.encode() + b"\0" + file.read())
    return f"{__version__}-{sys.version_info[0]}.{sys.version_info[1]}-{found.hexdigest()}"


def open_facts(paths: Sequence[str]) -> list[Pack]:
    """The packs in these files. Raises `UserError` if one of them holds no facts of this jaxlint."""
    packs = []
    for path in paths:
        try:
            packs.append(Pack(path, facts_writer()))
        except NoPack as problem:
            message = f"--facts: {shown_path(path)}: {problem}; make it with `jaxlint facts`"
            raise UserError(message) from problem
    return packs
