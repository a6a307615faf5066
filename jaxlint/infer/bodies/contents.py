"""What a body holds: its statements, its expressions by their kinds, and the variables that it binds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from jaxlint.infer.bodies.expecting import is_meant_to_fail
from jaxlint.syntax.expressions import (
    BoolOp,
    Call,
    Comprehension,
    Conditional,
    Expr,
    Lambda,
    Name,
    NamedExpr,
    last_name,
)
from jaxlint.syntax.remembered import remembered
from jaxlint.syntax.statements import (
    Body,
    ClassDefinition,
    For,
    FunctionDefinition,
    Statement,
    Try,
    While,
    blocks,
    bound_names,
    expressions,
    own_parts,
    parts,
    target_names,
)

_E = TypeVar("_E")


class Contents:
    """What a body holds, listed once for all who ask; functions and classes inside it keep theirs to themselves."""

    def __init__(self, body: Body) -> None:
        self.statements: list[Statement] = []
        #: All expressions of the statements, and those of them that are expected to work.
        self.parts: list[Expr] = []
        self.expected_to_work: list[Expr] = []
        #: How many of the expressions are those of a statement and of what stands before it.
        self._ends: list[tuple[Statement, int]] = []
        #: Where the expressions of each loop, by its identity, and of what it holds begin and end.
        self._loops: dict[int, tuple[int, int]] = {}
        self._read(body, works=True)

    def _read(self, body: Body, *, works: bool) -> None:
        for statement in body:
            self.statements.append(statement)
            kind, start = type(statement), len(self.parts)
            if expressions(statement):
                found = own_parts(statement)
                self.parts += found
                self._ends.append((statement, len(self.parts)))
                if works and kind not in (FunctionDefinition, ClassDefinition, Try):
                    self.expected_to_work += found
                if kind is For:
                    start = len(self.parts)
            if kind is not FunctionDefinition and kind is not ClassDefinition:
                for block in blocks(statement):
                    self._read(block, works=works and kind is not Try and not is_meant_to_fail(statement))
            if kind is For or kind is While:
                self._loops[id(statement)] = (start, len(self.parts))

    @cached_property
    def _by_kind(self) -> dict[type, list[Expr]]:
        found: dict[type, list[Expr]] = {}
        for part in self.parts:
            kind = type(part)
            if kind in found:
                found[kind].append(part)
            else:
                found[kind] = [part]
        return found

    def of(self, kind: type[_E]) -> Sequence[_E]:
        """The expressions of a kind, in source order."""
        return self._by_kind.get(kind, ())  # type: ignore[return-value]

    def in_loop(self, loop: For | While) -> Sequence[Expr]:
        """The expressions that a loop evaluates at each turn: not what a `for` goes through."""
        start, end = self._loops[id(loop)]
        return self.parts[start:end]

    @cached_property
    def statement_of(self) -> Mapping[int, Statement]:
        """The statement that each expression, by its identity, stands in."""
        found: dict[int, Statement] = {}
        start = 0
        for statement, end in self._ends:
            found.update(dict.fromkeys(map(id, self.parts[start:end]), statement))
            start = end
        return found

    @cached_property
    def conditional(self) -> frozenset[int]:
        """The expressions, by identity, that are not simply evaluated once where their statement stands."""
        kinds = (self.of(Comprehension), self.of(Lambda), self.of(BoolOp), self.of(Conditional))
        return frozenset([id(inner) for found in kinds for part in found for inner in parts(part)])

    @cached_property
    def called(self) -> frozenset[str]:
        """The last parts of the names that are called."""
        return frozenset([last_name(call.func) for call in self.of(Call)])

    @cached_property
    def names(self) -> frozenset[str]:
        """The variables that the expressions name."""
        return frozenset([name.id for name in self.of(Name)])

    @cached_property
    def bound(self) -> frozenset[str]:
        """The variables that the statements bind."""
        names: set[str] = set()
        for statement in self.statements:
            names.update(bound_names(statement))
        for part in self.of(NamedExpr):
            names.update(target_names(part.target))
        return frozenset(names)


@remembered(512)  # of a long file that is edited, where most bodies stay as they are
def contents_of(body: Body) -> Contents:
    """What a body holds."""
    return Contents(body)
