"""Which attributes `tree_flatten` gives and `tree_unflatten` sets, child by child, where both are plain to see."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from jaxlint.infer.evaluate import Evaluator
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Call,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Name,
    Subscript,
    dotted,
)
from jaxlint.syntax.statements import Annotate, Assign, Body, Do, Return, looked_up


class Flattened(msgspec.Struct, frozen=True):
    """The attributes that are the children, in their order, and those in the aux data."""

    children: tuple[str, ...]
    aux: frozenset[str]


class Rebuilt(msgspec.Struct, frozen=True):
    """Where the children go, by their positions: parameters of the constructor, or attributes if it is bypassed."""

    targets: dict[int, str]
    bypasses: bool
    #: Whether all that is set is among the targets and `aux`.
    others: frozenset[str] = frozenset()


def flattened(cls: PytreeClass, method: Function, evaluator: Evaluator) -> Flattened | None:
    """What `tree_flatten` gives, if it returns attributes of `self` and nothing else."""
    body = evaluator.calls.body_of(FunctionSymbol(cls.module, method))
    bound = None if body is None else _bound_once(body[:-1])
    last = body[-1] if body else None
    if bound is None or not isinstance(last, Return) or last.value is None:
        return None
    pair = looked_up(last.value, bound)
    if not isinstance(pair, Display) or pair.kind != "tuple" or len(pair.items) != 2:
        return None
    children, aux = (looked_up(item, bound) for item in pair.items)
    if not isinstance(children, Display) or children.kind == "set":
        return None
    names = [_attribute(item, method.self_name, bound) for item in children.items]
    held = _attributes(aux, method.self_name, bound)
    if held is None or any(name is None for name in names):
        return None
    return Flattened(tuple(name for name in names if name is not None), held)


def rebuilt(cls: PytreeClass, method: Function, evaluator: Evaluator) -> Rebuilt | None:
    """What `tree_unflatten` does with the children, if it does nothing else but to make an instance of them."""
    body = evaluator.calls.body_of(FunctionSymbol(cls.module, method))
    if not body or len(method.parameters) != 3:
        return None
    own, aux, children = (parameter.name for parameter in method.parameters)
    return _Rebuilding(cls, own, aux, children).read(body)


class _Rebuilding:
    """Follows the children through the statements of `tree_unflatten`."""

    def __init__(self, cls: PytreeClass, own: str, aux: str, children: str) -> None:
        self._makers = {own, cls.name}
        self._own, self._aux, self._children = own, aux, children
        #: What local names stand for: the position of a child, or -1 for a part of the aux data.
        self._positions: dict[str, int] = {}
        self._made: str | None = None
        self._set: dict[int, str] = {}
        self._others: set[str] = set()

    def read(self, body: Body) -> Rebuilt | None:
        """The answer for a body, or None if something in it is not understood."""
        *statements, last = body
        if not all(map(self._statement, statements)) or not isinstance(last, Return) or last.value is None:
            return None
        if self._made is not None:
            return Rebuilt(self._set, True, frozenset(self._others)) if dotted(last.value) == self._made else None
        return self._constructed(last.value)

    def _statement(self, statement: object) -> bool:
        match statement:
            case Do(value=Constant()):
                return True
            case Do(value=Call(func=func, args=args)) if dotted(func) in ("object.__setattr__", "setattr"):
                return self._set_by_call(args)
            case Assign(targets=(Name(id=name),), value=Call() as call) if self._makes(call):
                self._made = name
                return True
            case Annotate(target=target, value=value) if value is not None:
                return self._bind(target, value)
            case Assign(targets=(target,), value=value):
                return self._bind(target, value)
        return False

    def _makes(self, call: Call) -> bool:
        """Whether a call makes an instance without its constructor."""
        if not isinstance(call.func, Attribute) or call.func.attr != "__new__" or len(call.args) != 1:
            return False
        return dotted(call.args[0].value) in self._makers

    def _set_by_call(self, args: Sequence[Argument]) -> bool:
        match args:
            case [Argument(value=Name(id=made)), Argument(value=Constant(value=str(name))), Argument(value=value)]:
                return made == self._made and self._attribute(name, value)
        return False

    def _bind(self, target: Expr, value: Expr) -> bool:
        """One assignment: the children are taken apart, or an attribute is set."""
        if isinstance(target, Display):
            of = dotted(value)
            if of not in (self._children, self._aux) or any(not isinstance(t, (Name, Attribute)) for t in target.items):
                return False
            parts = range(len(target.items))
            return all(
                self._part(t, i if of == self._children else -1) for i, t in zip(parts, target.items, strict=True)
            )
        position = self._position(value)
        if isinstance(target, Name):
            if position is None:
                return False
            self._positions[target.id] = position
            return True
        return (
            isinstance(target, Attribute) and dotted(target.value) == self._made and self._attribute(target.attr, value)
        )

    def _part(self, target: Expr, position: int) -> bool:
        if isinstance(target, Name):
            self._positions[target.id] = position
            return True
        assert isinstance(target, Attribute)
        return dotted(target.value) == self._made and self._put(target.attr, position)

    def _attribute(self, name: str, value: Expr) -> bool:
        position = self._position(value)
        return self._put(name, -1 if position is None else position)

    def _put(self, name: str, position: int) -> bool:
        if position < 0:
            self._others.add(name)
        else:
            self._set[position] = name
        return True

    def _position(self, expr: Expr) -> int | None:
        """The position of the child that an expression is; -1 for aux data, None for what is not understood."""
        match expr:
            case Name(id=name):
                return -1 if name == self._aux else self._positions.get(name)
            case Subscript(value=Name(id=name), index=Constant(value=int(index))) if name == self._children:
                return index if index >= 0 else None
            case Subscript(value=Name(id=name)) if name == self._aux:
                return -1
        return None

    def _constructed(self, expr: Expr) -> Rebuilt | None:
        """`cls(u, v)`: the parameters by position are written as numbers, and told apart by the caller."""
        if not isinstance(expr, Call) or dotted(expr.func) not in self._makers:
            return None
        targets: dict[int, str] = {}
        for index, argument in enumerate(expr.args):
            if argument.star:
                return None
            position = self._position(argument.value)
            if position is None:
                return None
            if position >= 0:
                targets[position] = argument.keyword or str(index)
        return Rebuilt(targets, False)


def _bound_once(body: Body) -> dict[str, Expr] | None:
    """The local names of a body that only assigns names; None if it does something else."""
    bound: dict[str, Expr] = {}
    for statement in body:
        match statement:
            case Do(value=Constant()):
                continue
            case Assign(targets=(Name(id=name),), value=value) if name not in bound:
                bound[name] = value
            case _:
                return None
    return bound


def _attribute(expr: Expr, own: str | None, bound: dict[str, Expr]) -> str | None:
    expr = looked_up(expr, bound)
    return expr.attr if isinstance(expr, Attribute) and dotted(expr.value) == own else None


def _attributes(expr: Expr, own: str | None, bound: dict[str, Expr]) -> frozenset[str] | None:
    """The attributes in the aux data; None if it may hold others."""
    match expr:
        case Constant():
            return frozenset()
        case Display(items=items) | DictDisplay(values=items):
            parts = [_attributes(looked_up(item, bound), own, bound) for item in items]
            return None if None in parts else frozenset().union(*(part for part in parts if part is not None))
    name = _attribute(expr, own, bound)
    return None if name is None else frozenset({name})
