"""The fixes that let `tree_unflatten` rebuild an instance past its constructor, with all of its attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jaxlint.cst.changes import Change, Proposal, ReplaceBody, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.given_literals import calls_giving
from jaxlint.rules.analyses.rebuilding.exchanged import Mismatch
from jaxlint.rules.analyses.rebuilding.flattening import Rebuilt
from jaxlint.rules.analyses.rebuilding.spread_children import local_value, pair_given
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import (
    Attribute,
    Constant,
    DictDisplay,
    Display,
    Expr,
    attribute_of,
    is_none,
    items_of,
    last_name,
)


class _Parts(NamedTuple):
    """What a class that flattens itself gives, and to what it is given back."""

    flatten: Function
    unflatten: Function
    children: Expr
    aux: Expr
    #: The attributes that the constructor sets.
    every: list[str]


@proposing
def past_constructor(cls: PytreeClass) -> Proposal | None:
    """The fix, if flattening takes apart all that the constructor sets, and the class itself declares both."""
    parts = _parts(cls)
    if parts is None:
        return None
    first = _names(parts.children, parts.flatten)
    second = _assigned(parts.aux, parts.flatten, "", "")
    if not first or second is None or {*first, *second[1]} != {*parts.every}:
        return None
    change = _rebuilding(parts, first, [])
    return None if change is None else Proposal("Rebuild past the constructor", Applicability.UNSAFE, (change,))


@proposing
def completed(cls: PytreeClass, evaluator: Evaluator, counted: str = "") -> Proposal | None:
    """The fix of a `tree_flatten` that leaves attributes out: both methods have all of them then.

    What the constructor takes by default as a number or a text goes into the aux data, unless it is `counted` up, and
    so does what some call gives it as a text.
    """
    parts = _parts(cls)
    if parts is None or parts.flatten.name != "tree_flatten" or not isinstance(parts.children, Display):
        return None
    first = _names(parts.children, parts.flatten)
    second = _assigned(parts.aux, parts.flatten, "", "")
    if not first or second is None or not {*first, *second[1]} < {*parts.every}:
        return None
    init = _method(cls, "__init__")
    fixed = (
        {p.name for p in init.parameters if isinstance(p.default, Constant) and not is_none(p.default)} - {counted}
        if init is not None
        else set()
    )
    fixed |= set() if init is None else _given_texts(init, cls, evaluator)
    left = [name for name in parts.every if name not in (*first, *second[1])]
    added, own = [name for name in left if name in fixed], parts.flatten.self_name
    traced = [name for name in left if name not in fixed]
    changes: list[Change] = []
    if traced:
        changes.append(_extended(parts.children, [f"{own}.{name}" for name in traced]))
    if added and isinstance(parts.aux, DictDisplay):
        changes.append(_with_keys(parts.aux, {name: f"{own}.{name}" for name in added}))
    elif added:
        changes.append(_extended(parts.aux, [f"{own}.{name}" for name in added]))
    change = _rebuilding(parts, [*first, *traced], added)
    if change is None:
        return None
    return Proposal("Give all attributes, and set them", Applicability.UNSAFE, (*changes, change))


def _given_texts(init: Function, cls: PytreeClass, evaluator: Evaluator) -> set[str]:
    """The parameters of a constructor that some call gives a text, or a tuple with one: jax takes no text."""
    names, found = init.positional[1:], set[str]()
    for module in (cls.module, *evaluator.model.importers(cls.module)):
        for call, _ in calls_giving(cls.name, {cls.name}, module, evaluator):
            if last_name(call.func) == cls.name and not call.has_star:
                given = call.given_to(names).items()
                found |= {name for name, value in given if _holds_text(value)}
    return found


def _holds_text(expr: Expr) -> bool:
    is_tuple = isinstance(expr, Display) and expr.kind == "tuple"
    return any(isinstance(item, Constant) and item.kind == "str" for item in (items_of(expr) if is_tuple else (expr,)))


@proposing
def children_ordered(
    flatten: Function, module: Module, children: Sequence[str], expected: Sequence[str]
) -> Proposal | None:
    """The fix: the children stand in the order of the constructor."""
    returned = flatten.return_values[0]
    display = returned.items[0] if isinstance(returned, Display) else None
    display = None if display is None else local_value(display, flatten, module)
    if not isinstance(display, Display):
        return None
    items = dict(zip(children, display.items, strict=False))
    changes = tuple(
        Rewrite(items[there].at, "{0}", (items[wanted].at,))
        for there, wanted in zip(children, expected, strict=False)
        if there != wanted
    )
    return Proposal("Order the children", Applicability.UNSAFE, changes)


@proposing
def children_in_order(flatten: Function, module: Module, found: Mismatch) -> Proposal | None:
    """The fix: the children are given in the order in which they are taken."""
    places = sorted(found.sent)
    returned = flatten.return_values[0] if len(flatten.return_values) == 1 else None
    display = returned.items[0] if isinstance(returned, Display) and returned.items else None
    display = None if display is None else local_value(display, flatten, module)
    if not isinstance(display, Display) or places != list(range(len(display.items))) or places != sorted(found.into):
        return None
    sent, into = ([names[place] for place in places] for names in (found.sent, found.into))
    return children_ordered(flatten, module, sent, into) if sorted(sent) == sorted(into) else None


@proposing
def children_completed(cls: PytreeClass, flatten: Function, left: Sequence[str | None]) -> Proposal | None:
    """The fix: what is left out becomes a child, behind the others, as the constructor takes them."""
    pair = pair_given(cls, flatten)
    display = None if pair is None else pair[0]
    names = [name for name in left if name is not None]
    if not isinstance(display, Display) or len(names) < len(left) or flatten.self_name is None:
        return None
    change = _extended(display, [f"{flatten.self_name}.{name}" for name in names])
    return Proposal("Give all attributes", Applicability.UNSAFE, (change,))


def _extended(expr: Expr, more: Sequence[str]) -> Rewrite:
    """A tuple or list with more items, one of what stands alone, or one in the place of None."""
    items = expr.items if isinstance(expr, Display) else () if is_none(expr) else (expr,)
    every = [*(f"{{{number}}}" for number in range(len(items))), *more]
    if isinstance(expr, Display) and expr.kind == "list":
        return Rewrite(expr.at, f"[{', '.join(every)}]", tuple(item.at for item in items))
    return Rewrite(expr.at, f"({', '.join(every)}{',' * (len(every) == 1)})", tuple(item.at for item in items))


def _with_keys(expr: DictDisplay, more: Mapping[str, str]) -> Rewrite:
    """A dict display with more entries."""
    some = [one for pair in zip(expr.keys, expr.values, strict=True) for one in pair if one is not None]
    pairs = [f"{{{2 * number}}}: {{{2 * number + 1}}}" for number in range(len(expr.keys))]
    pairs += [f'"{name}": {value}' for name, value in more.items()]
    return Rewrite(expr.at, f"{{{', '.join(pairs)}}}", tuple(one.at for one in some))


def _rebuilding(parts: _Parts, children: Sequence[str], added: Sequence[str]) -> ReplaceBody | None:
    """`tree_unflatten` that sets all attributes, some of which have been added to the aux data."""
    own, aux, given = (parameter.name for parameter in parts.unflatten.parameters)
    new = "new" if "new" not in (own, aux, given) else "instance"
    second = _assigned(parts.aux, parts.flatten, new, aux)
    if second is None:
        return None
    lines, names = second
    if added and isinstance(parts.aux, DictDisplay):
        lines = [*lines, *(f'{new}.{name} = {aux}["{name}"]' for name in added)]
    elif added:
        lines = [f"{_unpacked([*names, *added], new)} = {aux}"]
    lines = [f"{new} = object.__new__({own})", f"{_unpacked(children, new)} = {given}", *lines, f"return {new}"]
    return ReplaceBody(parts.unflatten.at, tuple(lines))


def _parts(cls: PytreeClass) -> _Parts | None:
    flatten = _method(cls, "tree_flatten") or _method(cls, "tree_flatten_with_keys")
    unflatten, init = _method(cls, "tree_unflatten"), _method(cls, "__init__")
    if flatten is None or unflatten is None or init is None or cls.is_dataclass or len(cls.mro) != 1:
        return None
    if len(unflatten.parameters) != 3 or len(flatten.return_values) != 1 or not flatten.parameters:
        return None
    returned = local_value(flatten.return_values[0], flatten, cls.module)
    if not isinstance(returned, Display) or len(returned.items) != 2:
        return None
    children, aux = (local_value(item, flatten, cls.module) for item in returned.items)
    every = list(dict.fromkeys(assignment.attr for assignment in init.self_assignments))
    return _Parts(flatten, unflatten, children, aux, every)


def _method(cls: PytreeClass, name: str) -> Function | None:
    """The method that a class declares itself, once."""
    names = cls.symbol.declaration.methods.get(name, ())
    return cls.module.outline.functions[names[0]] if len(names) == 1 else None


def _attribute(expr: Expr, method: Function) -> str | None:
    """The attribute of `self` that an expression is, if with its key in front."""
    if isinstance(expr, Display) and len(expr.items) == 2 and method.name.endswith("_with_keys"):
        expr = expr.items[1]
    return attribute_of(method.self_name, expr)


def _names(expr: Expr, method: Function) -> list[str] | None:
    """The attributes that stand in a display; None if something else does, or one of them twice."""
    if not isinstance(expr, Display):
        return None
    attributes = [_attribute(item, method) for item in expr.items]
    names = [name for name in attributes if name is not None]
    return names if len(names) == len(attributes) == len(set(names)) else None


def _unpacked(names: Sequence[str], new: str) -> str:
    """The targets to which attributes are unpacked."""
    targets = [f"{new}.{name}" for name in names]
    return f"({targets[0]},)" if len(targets) == 1 else ", ".join(targets)


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
    names = _names(expr, method)
    return None if not names else ([f"{_unpacked(names, new)} = {aux}"], names)


@proposing
def taken_in_order(back: Rebuilt, found: Mismatch) -> Proposal | None:
    """The fix: the children are unpacked in the order in which they are given."""
    if back.taken is None or len(found.into) != len(back.taken.items):
        return None
    items = back.taken.items
    wanted = {name: position for position, name in found.into.items()}
    moved = [(position, wanted[name]) for position, name in found.sent.items() if wanted[name] != position]
    changes = tuple(Rewrite(items[position].at, "{0}", (items[taken].at,)) for position, taken in moved)
    return Proposal("Take the children in their order", Applicability.UNSAFE, changes)
