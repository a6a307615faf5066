"""The fix that lets `tree_unflatten` rebuild an instance past its constructor."""

from __future__ import annotations

from jaxlint.cst.changes import Proposal, ReplaceBody
from jaxlint.finding import Applicability
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Assignment, Function
from jaxlint.syntax.expressions import Attribute, Constant, DictDisplay, Display, Expr, Name, is_none


def past_constructor(cls: PytreeClass) -> Proposal | None:
    """The fix, if flattening takes apart all that the constructor sets, and the class itself declares both."""
    flatten = _method(cls, "tree_flatten") or _method(cls, "tree_flatten_with_keys")
    unflatten, init = _method(cls, "tree_unflatten"), _method(cls, "__init__")
    if flatten is None or unflatten is None or init is None or cls.is_dataclass or len(cls.mro) != 1:
        return None
    if len(unflatten.parameters) != 3 or len(flatten.return_values) != 1 or not flatten.parameters:
        return None
    returned = _local(flatten.return_values[0], flatten, cls)
    if not isinstance(returned, Display) or len(returned.items) != 2:
        return None
    own, aux, children = (parameter.name for parameter in unflatten.parameters)
    new = "new" if "new" not in (own, aux, children) else "instance"
    first = _target(_local(returned.items[0], flatten, cls), flatten, new, is_children=True)
    second = _assigned(_local(returned.items[1], flatten, cls), flatten, new, aux)
    if first is None or second is None:
        return None
    names = {*first[1], *second[1]}
    if names != {assignment.attr for assignment in init.self_assignments}:
        return None
    lines = (f"{new} = object.__new__({own})", f"{first[0]} = {children}", *second[0], f"return {new}")
    change = ReplaceBody(unflatten.at, lines)
    return Proposal("Rebuild past the constructor", Applicability.UNSAFE, (change,))


def _method(cls: PytreeClass, name: str) -> Function | None:
    """The method that a class declares itself, once."""
    names = cls.symbol.declaration.methods.get(name, ())
    return cls.module.outline.functions[names[0]] if len(names) == 1 else None


def _local(expr: Expr, method: Function, cls: PytreeClass) -> Expr:
    """The value of a variable that is assigned once, else the expression itself."""
    if isinstance(expr, Name):
        bindings = cls.module.outline.scopes[f"{method.qualname}.<locals>"].bindings.get(expr.id, [])
        if len(bindings) == 1 and isinstance(bindings[0], Assignment) and bindings[0].value is not None:
            return bindings[0].value
    return expr


def _attribute(expr: Expr, method: Function) -> str | None:
    """The attribute of `self` that an expression is, if with its key in front."""
    if isinstance(expr, Display) and len(expr.items) == 2 and method.name.endswith("_with_keys"):
        expr = expr.items[1]
    is_own = isinstance(expr, Attribute) and isinstance(expr.value, Name) and expr.value.id == method.self_name
    return expr.attr if is_own and isinstance(expr, Attribute) else None


def _target(expr: Expr, method: Function, new: str, *, is_children: bool = False) -> tuple[str, list[str]] | None:
    """What a display of attributes is unpacked to, and these attributes."""
    if not isinstance(expr, Display) or (is_children and not expr.items):
        return None
    attributes = [_attribute(item, method) for item in expr.items]
    names = [name for name in attributes if name is not None]
    if len(names) < len(attributes) or len(set(names)) < len(names):
        return None
    targets = [f"{new}.{name}" for name in names]
    return (f"({targets[0]},)" if len(targets) == 1 else ", ".join(targets)), names


def _assigned(expr: Expr, method: Function, new: str, aux: str) -> tuple[list[str], list[str]] | None:
    """The lines that set attributes from the aux data, and these attributes."""
    if is_none(expr) or (isinstance(expr, Display) and not expr.items):
        return [], []
    if isinstance(expr, DictDisplay):
        pairs = [
            (key.value, _attribute(value, method))
            for key, value in zip(expr.keys, expr.values, strict=True)
            if isinstance(key, Constant) and isinstance(key.value, str)
        ]
        if len(pairs) < len(expr.keys) or any(name is None for _, name in pairs):
            return None
        return [f'{new}.{name} = {aux}["{key}"]' for key, name in pairs], [name for _, name in pairs if name]
    alone = _attribute(expr, method) if isinstance(expr, Attribute) else None
    if alone is not None:
        return [f"{new}.{alone} = {aux}"], [alone]
    unpacked = _target(expr, method, new)
    return None if unpacked is None else ([f"{unpacked[0]} = {aux}"], unpacked[1])
