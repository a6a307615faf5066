"""The classes that inherit from a class, each of which is built (and its module read) when somebody comes to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from jaxlint.project.index import Key
from jaxlint.pytrees.model import PytreeClass


class Family:
    """Some classes that are known already, and those that inherit from one; who asks for the first builds no other."""

    def __init__(
        self,
        known: Iterable[PytreeClass] = (),
        inheriting: Sequence[Key] = (),
        built: Callable[[Key], PytreeClass | None] = lambda _: None,
    ) -> None:
        self._known = tuple(known)
        self._inheriting = inheriting
        self._built = built

    def __bool__(self) -> bool:
        return bool(self._known or self._inheriting)

    def __iter__(self) -> Iterator[PytreeClass]:
        yield from self._known
        for key in self._inheriting:
            cls = self._built(key)
            if cls is not None:  # None if its file can no longer be read
                yield cls

    def named(self, names: Collection[str]) -> Family:
        """The same without those that inherit, but are not called by one of some names."""
        inheriting = [key for key in self._inheriting if key[1].rpartition(".")[2] in names]
        return Family(self._known, inheriting, self._built)

    def below(self, *classes: PytreeClass) -> Family:
        """The same with more classes, from which they inherit."""
        return Family((*classes, *self._known), self._inheriting, self._built)

    @property
    def keys(self) -> list[Key]:
        """What identifies them: no class is built for that."""
        return [*(cls.symbol.key for cls in self._known), *self._inheriting]
