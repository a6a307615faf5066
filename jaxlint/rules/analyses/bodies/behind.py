"""What stands behind the assignments of a body."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from jaxlint.syntax.expressions import Name
from jaxlint.syntax.statements import Annotate, Assign, Body, Statement, blocks


class Behind:
    """What stands behind each assignment of a body, in its block and in the blocks around it: listed once."""

    def __init__(self, body: Body) -> None:
        self._places: dict[int, tuple[tuple[Body, int], ...]] = {}
        self._list(body, ())

    def of(self, target: Name) -> Iterator[Statement]:
        """The statements behind that which assigns to a variable, the nearest first."""
        for block, index in reversed(self._places[id(target)]):
            yield from islice(block, index, None)

    def _list(self, body: Body, around: tuple[tuple[Body, int], ...]) -> None:
        for index, statement in enumerate(body, 1):
            here = (*around, (body, index))
            match statement:
                case Assign(targets=(Name() as target,)) | Annotate(target=Name() as target):
                    self._places[id(target)] = here
            for block in blocks(statement):
                self._list(block, here)
