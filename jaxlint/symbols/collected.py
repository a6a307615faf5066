"""What the walk over a file collects on its way: of a function, of a unit, and of the statements before a unit."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Set

import msgspec

from jaxlint.libraries.transforms import LAST_NAMES
from jaxlint.symbols.nodes import body_rows, copied_by, effects_of, only_returns, takes_class
from jaxlint.symbols.outline import Function, Parameter, Scope, SelfAssignment, Unit
from jaxlint.symbols.tables import LONG, without_tables
from jaxlint.syntax.ast_expressions import from_ast
from jaxlint.syntax.expressions import Expr, Span

#: Where rows end, as the Python tokenizer counts them.
ROW_END = re.compile(r"\r\n?|\n")

_NEW_CONTAINERS = frozenset({ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp})
_CONTAINER_TYPES = frozenset({"list", "dict", "set", "defaultdict", "deque", "OrderedDict", "Counter"})


def parse_tree(text: str) -> ast.Module:
    """`ast.parse` without the warnings that Python prints for the user's code, and without long tables of literals.

    Raises SyntaxError, ValueError, RecursionError or MemoryError as `ast.parse` does.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if len(text) > LONG:
            try:
                return ast.parse(without_tables(text))
            except SyntaxError:
                pass  # then the text has the error, or what looked like a table is none
        return ast.parse(text)


def split_rows(text: str) -> list[str]:
    """The rows of a text as the Python tokenizer counts them, without their ends."""
    return ROW_END.split(text) if "\r" in text else text.split("\n")


class FunctionContent:
    """What is collected while the body of one function is walked."""

    def __init__(self, scope: Scope, self_name: str | None, around: FunctionContent | None = None) -> None:
        self.scope = scope
        self.self_name = self_name
        self.returns: list[ast.expr] = []
        self.is_generator = False
        self.assignments: list[SelfAssignment] = []
        self.calls: set[str] = set()
        self.reads: set[str] = set()
        #: The attributes of `self` of which the dtype or the shape is read.
        self.traits: set[str] = set()
        self.mutations: set[str] = set()
        self.statements = 0
        self.acts = self.checks = self.asks = False
        #: The variables that have only been given new containers so far, and those that were given something else.
        self.fresh: set[str] = set()
        self.given: set[str] = set()
        #: The attributes that variables were given, and the updates.
        self.held: dict[str, set[str]] = {}
        self.updates: dict[str, list[ast.Call]] = {}
        #: What is called to make what a variable holds, here and in the functions around; None if that is not certain.
        self.made: dict[str, ast.expr | None] = {} if around is None else dict(around.made)

    def assign(self, name: str, value: ast.expr | None, *, is_certain: bool = False) -> None:
        """Note what a variable is given."""
        self.made[name] = value.func if type(value) is ast.Call and is_certain else None
        if type(value) is ast.Attribute:
            self.held.setdefault(name, set()).add(value.attr)
        elif type(value) is ast.Call and copied_by(value) is not None:
            self.updates.setdefault(name, []).append(value)
        is_fresh = type(value) in _NEW_CONTAINERS
        if type(value) is ast.Call and type(value.func) is ast.Name:
            is_fresh = value.func.id in _CONTAINER_TYPES
        if is_fresh and name not in self.given and name not in self.scope.bindings:
            self.fresh.add(name)
        elif not is_fresh:
            self.fresh.discard(name)
            self.given.add(name)

    def go_through(self, target: ast.expr, iterable: ast.expr) -> None:
        """Note what a loop gives to variables: `for v in state.layers`, `for k, v in state.params.items()`."""
        held = [iterable]
        if type(iterable) is ast.Call:
            held = [iterable.func.value] if type(iterable.func) is ast.Attribute else iterable.args
        attrs = {one.attr for one in held if type(one) is ast.Attribute}
        for part in (target.elts if isinstance(target, (ast.Tuple, ast.List)) else (target,)) if attrs else ():
            if type(part) is ast.Name:
                self.held.setdefault(part.id, set()).update(attrs)

    def _copies(self, parameters: tuple[Parameter, ...]) -> Iterator[tuple[str, Expr]]:
        """The updates that variables are given which are returned, or updated further, and are given nothing else."""
        own = {parameter.name for parameter in parameters}
        pending = [part for value in self.returns for part in _beside(value)]
        seen = set[str]()
        while pending:
            part: ast.expr | None = pending.pop()
            while type(part) is ast.Call:
                part = copied_by(part)
            if type(part) is not ast.Name or part.id in seen:
                continue
            seen.add(part.id)
            calls = self.updates.get(part.id, ())
            if len(self.scope.bindings.get(part.id, ())) == len(calls) + (part.id in own):
                yield from ((part.id, from_ast(call)) for call in calls)
                pending += calls

    def add(self, inner: FunctionContent) -> None:
        """Do what a function inside does to the same `self`, too."""
        self.assignments += inner.assignments
        self.calls |= inner.calls
        self.reads |= inner.reads
        self.traits |= inner.traits
        self.mutations |= inner.mutations

    def function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        qualname: str,
        scope: Scope,
        parameters: tuple[Parameter, ...],
        decorators: tuple[Expr, ...],
    ) -> Function:
        """The declaration, with what was collected of its body."""
        return Function(
            name=node.name,
            qualname=qualname,
            scope=scope.qualname,
            owner=scope.qualname if scope.kind == "class" else None,
            parameters=parameters,
            decorators=decorators,
            returns=from_ast(node.returns) if node.returns is not None else None,
            at=Span(node.lineno, node.col_offset, node.lineno, node.col_offset + len("def ") + len(node.name)),
            is_async=isinstance(node, ast.AsyncFunctionDef),
            is_generator=self.is_generator,
            return_values=tuple(from_ast(v) for v in self.returns),
            copies=tuple(self._copies(parameters)) if self.updates else (),
            self_assignments=tuple(self.assignments),
            self_calls=frozenset(self.calls),
            self_reads=frozenset(self.reads | self.traits),
            self_traits=frozenset(self.traits - self.reads),
            self_mutations=frozenset(self.mutations),
            statements=self.statements,
            body_rows=body_rows(node),
            only_returns=only_returns(node.body),
            acts=self.acts,
            checks=self.checks,
            asks=self.asks,
            effects=tuple(effects_of(node.body)) if self.scope.keeps_values and takes_class(node) else (),
        )


def _beside(value: ast.expr) -> list[ast.expr]:
    """What is returned, or the items of the tuple that it is."""
    return value.elts if type(value) is ast.Tuple else [value]


class UnitContent:
    """What a unit, or a piece of one, does."""

    def __init__(self) -> None:
        self.calls: set[str] = set()
        self.stores = False
        self.self_stores: set[str] = set()
        self.classes: set[str] = set()
        self.names: set[str] = set()
        self.discards: set[str] = set()
        self.mutations: set[str] = set()
        self.methods: set[str] = set()
        self.repeats = False
        self.updated: set[tuple[str, str]] = set()

    def unit(self, first: int, last: int, kind: str, pieces: tuple[Unit, ...] = ()) -> Unit:
        """The unit (or piece) in these rows that holds what was collected."""
        return Unit(
            first,
            last,
            frozenset(self.calls),
            self.stores,
            frozenset(self.self_stores),
            frozenset(self.classes),
            kind,
            frozenset(self.names),
            frozenset(self.discards),
            frozenset(self.mutations),
            frozenset(self.methods),
            self.repeats,
            pieces,
        )

    def add(self, piece: Unit) -> None:
        """Do what a piece does, too."""
        self.calls |= piece.calls
        self.stores = self.stores or piece.stores
        self.self_stores |= piece.self_stores
        self.classes |= piece.classes
        self.names |= piece.references
        self.discards |= piece.discards
        self.mutations |= piece.mutations
        self.methods |= piece.methods
        self.repeats = self.repeats or piece.repeats


def referring(unit: Unit, functions: Set[str]) -> Unit:
    """The unit with those of the names in it that are functions of the module."""
    pieces = tuple([referring(piece, functions) for piece in unit.pieces])
    return msgspec.structs.replace(unit, references=unit.references & functions, pieces=pieces)


class Context(msgspec.Struct, frozen=True):
    """What the statements before a unit say that matters to its part of the outline."""

    #: The last parts of the names of transformations, and what they are called here.
    transforms: Set[str] = LAST_NAMES
    #: The names that stand for modules, or for parts of libraries.
    modules: Set[str] = frozenset()
    #: The qualified names that are taken.
    taken: Set[str] = frozenset()
    all_names: tuple[str, ...] | None = None


START = Context()
