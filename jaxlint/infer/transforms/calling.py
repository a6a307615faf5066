"""Which functions of a module call something of some name, themselves or by way of others, and what it transforms."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection

from jaxlint.libraries.transforms import LAST_NAMES
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.symbols.outline import Function, Outline, Unit
from jaxlint.syntax.expressions import Call, Expr, dotted, last_name, without_call

#: Through how many functions of a module a call is followed.
_MOST = 2


class CallingFunctions:
    """Answers for modules, once for each."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, frozenset[str]], frozenset[str]] = {}
        self._applied: dict[str, frozenset[str]] = {}
        self._acting: dict[str, frozenset[str]] = {}

    def names(self, module: Module, called: frozenset[str]) -> frozenset[str]:
        """The functions and methods, by their last names, that may call something in `called`, directly or not."""
        key = (module.path, called)
        if key not in self._found:
            self._found[key] = _calling(module.outline, called)
        return self._found[key]

    def acting(self, module: Module) -> frozenset[str]:
        """The names of the functions of a module that may change what they are given, or return what does."""
        if module.path not in self._acting:
            functions = module.outline.functions.values()
            own = {f.name for f in functions if f.acts and f.name != "__init__" and _takes(f)}
            handing = {f.name for f in functions if any(last_name(without_call(v)) in own for v in f.return_values)}
            self._acting[module.path] = frozenset(own | handing)
        return self._acting[module.path]

    def applying(self, module: Module) -> frozenset[str]:
        """The names that a module gives to what may be a transformation."""
        if module.path not in self._applied:
            given = (argument.value for one in module.outline.applying for argument in one.call.args)
            self._applied[module.path] = frozenset(last_name(value) for value in given)
        return self._applied[module.path]


def _takes(function: Function) -> bool:
    return len(function.parameters) > (function.self_name is not None)


def _calling(outline: Outline, called: frozenset[str]) -> frozenset[str]:
    if all(unit.calls.isdisjoint(called) for unit in outline.units):
        return frozenset()
    calls = [(function.name, piece_of(function, outline).calls) for function in outline.functions.values()]
    found = {name for name, own in calls if not own.isdisjoint(called)}
    for _ in range(_MOST):
        found |= {name for name, own in calls if not own.isdisjoint(found)}
    return frozenset(found)


def led_to(senders: Collection[str], outline: Outline) -> set[str]:
    """The functions (by qualified names) of a module that may run when some do: what they call or name, and so on."""
    found, pending = set[str](), set(senders)
    while pending:
        name = pending.pop()
        function = outline.functions.get(name)
        if function is not None and name not in found:
            found.add(name)
            piece = piece_of(function, outline)
            pending |= _named(piece.calls | piece.references, outline)
    return found


def _named(names: frozenset[str], outline: Outline) -> set[str]:
    """The functions of a module with one of these names, and the methods of its classes with one of them."""
    functions = outline.functions.items()
    return {
        key for key, one in functions if not names.isdisjoint({one.name, (one.owner or one.name).rpartition(".")[2]})
    }


def calls_one_of(names: Collection[str], symbol: FunctionSymbol) -> bool:
    """Whether a function, or what stands in one piece of its module with it, calls something of one of the names."""
    return not piece_of(symbol.declaration, symbol.module.outline).calls.isdisjoint(names)


def may_change_given(function: Function, outline: Outline) -> bool:
    """Whether a function, no method, may assign attributes or items of what it is given; calls are not followed."""
    if not function.acts or function.owner is not None or not function.parameters:
        return False
    piece = piece_of(function, outline)
    return piece.stores or bool(piece.mutations)


def piece_of(function: Function, outline: Outline) -> Unit:
    """The piece of a module that a function stands in."""
    row, units = function.at.row, outline.units
    unit = units[bisect_right(units, row, key=lambda one: one.first) - 1]
    return next((piece for piece in unit.pieces if piece.kind == "function" and piece.first <= row <= piece.last), unit)


def is_transformed(value: Expr | None) -> bool:
    """Whether an expression is the call of what may be a transformation."""
    return isinstance(value, Call) and (dotted(value.func) or "").rpartition(".")[2] in LAST_NAMES
