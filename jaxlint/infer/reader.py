"""Reading modules: which units are worth parsing, and what happens in them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict

import libcst as cst

from jaxlint.cst import parse_unit
from jaxlint.infer.calls import CallEvaluator
from jaxlint.infer.environment import Environment
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import Event, Place
from jaxlint.infer.flow import Declarations, UnitReader
from jaxlint.infer.values import UNKNOWN, ClassObject, Instance, Scalar, Value, plain
from jaxlint.names import ClassSymbol, FunctionSymbol
from jaxlint.outline import Class, Function, Unit
from jaxlint.project import Module
from jaxlint.pytrees.build import PytreeModel
from jaxlint.source import Unreadable

#: Calls that may be an update or a write, by the last part of what is called.
_UPDATES = frozenset({"replace", "_replace", "setattr", "delattr", "apply_gradients"})
#: Calls that make another instance of a class from inside of it.
_SELF_CONSTRUCTION = frozenset({"cls", "__class__", "type", ""})
_TREES_KEPT = 24
_MAX_RETURN_DEPTH = 5


class ModuleReader:
    """Reads the units of modules; keeps the last few libcst trees."""

    def __init__(self, model: PytreeModel) -> None:
        self.model = model
        self.evaluator = Evaluator(model)
        self.calls = CallEvaluator(self.evaluator)
        self.calls.return_of = self.return_of
        self._trees: OrderedDict[tuple[str, int], cst.Module | None] = OrderedDict()
        self._returns: dict[tuple[tuple[str, str], object], Value] = {}
        self._return_depth = 0
        self._order: tuple[str, list[int], list[Function | Class]] = ("", [], [])
        #: How many units were parsed with libcst.
        self.parsed = 0
        #: The units (path, first row) that nest too deeply to be read.
        self.unread: list[tuple[str, int]] = []

    # -- units ------------------------------------------------------------------------------

    def tree(self, module: Module, unit: Unit) -> cst.Module | None:
        """The libcst tree of a unit, or None if libcst cannot read it."""
        key = (module.path, unit.first)
        if key in self._trees:
            self._trees.move_to_end(key)
            return self._trees[key]
        try:
            source = module.source
        except Unreadable:
            return None
        text = source.text[source.offset(unit.first, 0) : source.offset(unit.last + 1, 0)]
        tree = parse_unit(text)
        self.parsed += 1
        self._trees[key] = tree
        if len(self._trees) > _TREES_KEPT:
            self._trees.popitem(last=False)
        return tree

    def events(self, module: Module) -> list[tuple[Unit, cst.Module, list[Event]]]:
        """What happens in each unit of a module that is worth reading."""
        found: list[tuple[Unit, cst.Module, list[Event]]] = []
        env = Environment(module, "")
        for unit in self._worth_reading(module):
            tree = self.tree(module, unit)
            if tree is None:
                self.unread.append((module.path, unit.first))
                continue
            events: list[Event] = []
            reader = UnitReader(self.evaluator, self.calls, module, self._declarations(module, unit, tree))
            place = Place(module, subclasses=self.model.subclasses)
            try:
                reader.read(tree, env, events, place)
            except RecursionError:
                self.unread.append((module.path, unit.first))
            if events:
                found.append((unit, tree, events))
        return found

    def _worth_reading(self, module: Module) -> list[Unit]:
        units = module.outline.units
        wanted = [u for u in units if u.kind != "import" and self._triggers(u, module)]
        if any(u.kind == "code" for u in wanted):
            # a script: what a statement does depends on the statements before it
            chosen = {id(u) for u in wanted}
            wanted = [u for u in units if u.kind == "code" or id(u) in chosen]
        return wanted

    def _triggers(self, unit: Unit, module: Module) -> bool:
        if unit.stores or unit.calls & _UPDATES:
            return True
        outline = module.outline
        for qualname in unit.self_stores:
            cls = self.model.build(ClassSymbol(module, outline.classes[qualname]))
            if cls.is_pytree and (cls.frozen is not False or cls.static_fields):
                return True
        if unit.calls & _SELF_CONSTRUCTION:
            for qualname in unit.classes:
                if self.model.build(ClassSymbol(module, outline.classes[qualname])).static_fields:
                    return True
        return any(self._constructs_static(name, module) for name in unit.calls)

    def _constructs_static(self, name: str, module: Module) -> bool:
        """Whether a call of `name` may construct a class that has static fields."""
        if name in module.outline.module_scope.bindings:
            symbol = self.model.resolver.follow(self.model.resolver.resolve_name(name, module))
            cls = self.model.class_of_symbol(symbol)
            if cls is not None:
                return bool(cls.static_fields)
        return name in self.model.static_class_names

    def _declarations(self, module: Module, unit: Unit, tree: cst.Module) -> Declarations:
        """The functions and classes that a unit declares."""
        path, rows, ordered = self._order
        if path != module.path:
            outline = module.outline
            ordered = sorted(
                (*outline.functions.values(), *outline.classes.values()), key=lambda d: (d.at.row, d.at.column)
            )
            rows = [d.at.row for d in ordered]
            self._order = (module.path, rows, ordered)
        return Declarations(ordered[bisect_left(rows, unit.first) : bisect_right(rows, unit.last)], tree)

    # -- return values ----------------------------------------------------------------------

    def return_of(self, symbol: FunctionSymbol, receiver: Value | None) -> Value:
        """What a function without a return annotation returns, read from its body."""
        declaration = symbol.declaration
        if not declaration.return_values:
            return Scalar("NoneType") if declaration.statements else UNKNOWN
        known = plain(receiver) if receiver is not None else None
        receiver_key = (type(known).__name__, known.cls.symbol.key) if isinstance(known, (Instance, ClassObject)) else ""
        key = (symbol.key, receiver_key)
        if key in self._returns:
            return self._returns[key]
        if self._return_depth >= _MAX_RETURN_DEPTH:
            return UNKNOWN
        self._returns[key] = UNKNOWN  # a recursive function tells nothing
        self._return_depth += 1
        try:
            self._returns[key] = result = self._read_return(symbol, known)
        finally:
            self._return_depth -= 1
        return result

    def _read_return(self, symbol: FunctionSymbol, receiver: Value | None) -> Value:
        module, declaration = symbol.module, symbol.declaration
        units = module.outline.units
        unit = units[bisect_right(units, declaration.at.row, key=lambda u: u.first) - 1]
        tree = self.tree(module, unit)
        if tree is None:
            return UNKNOWN
        declarations = self._declarations(module, unit, tree)
        node = declarations.node_of(declaration)
        if node is None:
            return UNKNOWN
        owner = receiver.cls if isinstance(receiver, (Instance, ClassObject)) else None
        place = Place(module, (declaration,), owner)
        if declaration.owner is not None and receiver is None:
            return UNKNOWN
        reader = UnitReader(self.evaluator, self.calls, module, declarations)
        return reader.value_returned(node, declaration, receiver, place)
