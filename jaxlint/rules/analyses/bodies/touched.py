"""What statements do to variables, found out once for all variables that are asked about."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

import msgspec

from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Call, NamedExpr
from jaxlint.syntax.names_read import names_captured, names_inside, names_read
from jaxlint.syntax.statements import (
    Body,
    Jump,
    Outer,
    Statement,
    assigned_names,
    blocks,
    bound_names,
    own_parts,
    target_names,
    targets_of,
    walk,
)


class Touched(msgspec.Struct, frozen=True):
    """What a statement and those below it do."""

    #: The variables that are bound or read.
    names: frozenset[str]
    #: The variables that are bound or changed in place, in functions inside too.
    changed: frozenset[str]
    #: The calls, in functions inside too.
    calls: tuple[Call, ...]
    #: Whether it leaves a loop or a turn of it.
    jumps: bool


class Variables:
    """What the statements of a body do to its variables."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._touched: dict[int, Touched] = {}

    @cached_property
    def captured(self) -> frozenset[str]:
        """The variables that functions and lambdas inside read; they may be called at any time."""
        return names_captured(self._body)

    @cached_property
    def read(self) -> frozenset[str]:
        """The variables that are read at all."""
        return names_read(self._body)

    @cached_property
    def bindings(self) -> Counter[str]:
        """How many statements without others below them bind each variable."""
        simple = (s for s in walk(self._body, nested=False) if not blocks(s))
        return Counter(name for statement in simple for name in assigned_names((statement,)))

    def read_elsewhere(self, function: Function | None) -> frozenset[str]:
        """The variables of functions around, and the first parameter if `super()` takes what it stands for now."""
        outer = {name for s in walk(self._body) if isinstance(s, Outer) for name in s.names}
        if function is not None and function.self_name is not None and "super" in self.read:
            outer.add(function.self_name)
        return frozenset(outer)

    def touched(self, statement: Statement) -> Touched:
        """What one of the statements does."""
        found = self._touched.get(id(statement))
        if found is None:
            found = self._touched[id(statement)] = _touched(statement)
        return found


def _touched(statement: Statement) -> Touched:
    changed: set[str] = set()
    calls: list[Call] = []
    for inner in walk((statement,)):
        changed.update(bound_names(inner))
        for target in targets_of(inner):
            changed |= names_inside(target)
        for part in own_parts(inner):
            if isinstance(part, Call):
                calls.append(part)
            elif isinstance(part, NamedExpr):
                changed.update(target_names(part.target))
    names = assigned_names((statement,)) | names_read((statement,))
    jumps = any(isinstance(inner, Jump) for inner in walk((statement,), nested=False))
    return Touched(names, frozenset(changed), tuple(calls), jumps)
