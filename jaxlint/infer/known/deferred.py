"""Values that are found out when somebody asks for them: most are never asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, overload

from jaxlint.infer.known.values import UNKNOWN, Value


class Deferred:
    """A value that is found out when it is first asked for.

    `needs` says which others it is made of; they are found out before, one after the other, so that a long chain of
    assignments needs no deep stack.
    """

    __slots__ = ("_find", "_needs", "_value")

    def __init__(self, find: Callable[[], Value], needs: Sequence[Held]) -> None:
        self._find: Callable[[], Value] | None = find
        self._needs = needs
        self._value: Value = UNKNOWN

    @property
    def value(self) -> Value:
        """The value."""
        if self._find is not None:
            pending = [self]
            while pending:
                current = pending[-1]
                needs, current._needs = current._needs, ()
                waiting = [held for held in needs if isinstance(held, Deferred) and held._find is not None]
                if waiting:
                    pending += waiting
                else:
                    pending.pop()._find_out()
        return self._value

    @property
    def is_open(self) -> bool:
        """Whether nobody has asked for it yet."""
        return self._find is not None

    def _find_out(self) -> None:
        find, self._find = self._find, None
        if find is not None:
            self._value = find()


#: What a variable or an argument holds: a value, or one that nobody has asked for yet.
Held: TypeAlias = Value | Deferred


def known(held: Held) -> Value:
    """The value, which is found out now if nobody has asked for it before."""
    return held.value if isinstance(held, Deferred) else held


class Values(Sequence[Value]):
    """The values of arguments, each found out when it is asked for."""

    __slots__ = ("held",)

    def __init__(self, held: Sequence[Held]) -> None:
        self.held = held

    @overload
    def __getitem__(self, index: int) -> Value: ...

    @overload
    def __getitem__(self, index: slice) -> Values: ...

    def __getitem__(self, index: int | slice) -> Value | Values:
        if isinstance(index, slice):
            return Values(self.held[index])
        return known(self.held[index])

    def __len__(self) -> int:
        return len(self.held)
