"""The attributes of which a class holds a list of names: `tuple(getattr(self, name) for name in self.leaves)`."""

from __future__ import annotations

from jaxlint.pytrees.model import PytreeClass
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Call,
    Clause,
    Comprehension,
    Constant,
    Display,
    Expr,
    Name,
    Span,
    dotted,
)


def names_listed(expr: Expr, own: str, cls: PytreeClass) -> tuple[tuple[str, ...], Span | None] | None:
    """The attributes that an expression reads of an instance, by a list that its class holds.

    With them comes where the list stands, if it is in the class itself, and not in one above.
    """
    match expr:
        case Call(func=Name(id="tuple" | "list"), args=(Argument(value=Comprehension() as made, star=""),)):
            pass
        case Comprehension(kind="list") as made:
            pass
        case _:
            return None
    match made:
        case Comprehension(
            key=None,
            element=Call(
                func=Name(id="getattr"),
                args=(Argument(value=Name(id=instance)), Argument(value=Name(id=name))),
            ),
            clauses=(Clause(target=Name(id=target), iterable=Attribute(value=holder, attr=attr), conditions=()),),
        ) if instance == own and name == target and _is_instance_or_class(holder, own, cls):
            return _literal(attr, cls)
    return None


def _is_instance_or_class(expr: Expr, own: str, cls: PytreeClass) -> bool:
    """Whether an expression is the instance, or its class: `self`, `type(self)`, `self.__class__`."""
    match expr:
        case Call(func=Name(id="type"), args=(Argument(value=Name(id=name)),)):
            return name == own
    return dotted(expr) in (own, f"{own}.__class__")


def _literal(attr: str, cls: PytreeClass) -> tuple[tuple[str, ...], Span | None] | None:
    """The strings in the list or tuple that the nearest class binds an attribute to, if no method sets it."""
    for owner in cls.mro:
        declared = owner.symbol.declaration
        methods = (owner.module.outline.functions[q] for names in declared.methods.values() for q in names)
        if declared.conditional_body or any(a.attr == attr for m in methods for a in m.self_assignments):
            return None
        held = [one.value for one in declared.assignments if one.name == attr]
        held += [one.value for one in declared.fields if one.name == attr]
        if held:
            value = held[-1]
            if not isinstance(value, Display) or value.kind not in ("tuple", "list"):
                return None
            names = [item.value for item in value.items if isinstance(item, Constant) and isinstance(item.value, str)]
            if not names or len(names) != len(value.items):
                return None
            return tuple(names), place_of(value.at) if owner is cls else None
        if attr in declared.methods:
            return None
    return None
