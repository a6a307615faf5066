"""What the walk over a file collects on its way: of a function, of a unit, and of the statements before a unit."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Set

import msgspec

from jaxlint.libraries.transforms import LAST_NAMES
from jaxlint.symbols.outline import (
    Scope,
    SelfAssignment,
    Unit,
)
from jaxlint.symbols.tables import LONG, without_tables

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

    def __init__(self, scope: Scope, self_name: str | None) -> None:
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
        self.acts = self.checks = False
        #: The variables that have only been given new containers so far, and those that were given something else.
        self.fresh: set[str] = set()
        self.given: set[str] = set()
        #: The attributes that variables were given.
        self.held: dict[str, set[str]] = {}

    def assign(self, name: str, value: ast.expr | None) -> None:
        """Note what a variable is given."""
        if type(value) is ast.Attribute:
            self.held.setdefault(name, set()).add(value.attr)
        is_fresh = type(value) in _NEW_CONTAINERS
        if type(value) is ast.Call and type(value.func) is ast.Name:
            is_fresh = value.func.id in _CONTAINER_TYPES
        if is_fresh and name not in self.given and name not in self.scope.bindings:
            self.fresh.add(name)
        elif not is_fresh:
            self.fresh.discard(name)
            self.given.add(name)


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
