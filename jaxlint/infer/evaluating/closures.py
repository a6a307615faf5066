"""Functions and lambdas inside the code that is being read, with the variables around them."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import msgspec

from jaxlint.infer.evaluating.events import Place
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.values import LocalFunction, Value


class FunctionReader(Protocol):
    """Reads the body of a function that is defined inside the code which it has read."""

    def call(self, function: Closure, arguments: list[Value] | None) -> Value:
        """What calling the function returns. The arguments become known to its parameters."""


class Closure(LocalFunction, eq=False, kw_only=True):
    """A local function with the variables around it, the place where it stands, and who reads its body."""

    outer: Environment
    place: Place | None
    reader: FunctionReader | None
    #: What the callers that are known pass for its parameters.
    hints: list[Value] = msgspec.field(default_factory=list)
    result: Value | None = None
    #: Whether the code around it was read only for its value; and with what it has been called from elsewhere since.
    is_made_elsewhere: bool = False
    noted_for: set[tuple[Value, ...]] = msgspec.field(default_factory=set)
    running: bool = False

    def is_given_to(self, caller: Place | None) -> bool:
        """Whether code calls it that has got it from the function around it, and that was read before."""
        around = () if self.place is None else self.place.functions[:-1]
        is_outside = caller is not None and bool(around) and around[-1] not in caller.functions
        return self.is_made_elsewhere or (self.read and is_outside)


class Point(NamedTuple):
    """What is known before a statement runs (before the test of a `while`, each time), and who read it where."""

    env: Environment
    place: Place | None
    reader: FunctionReader | None
