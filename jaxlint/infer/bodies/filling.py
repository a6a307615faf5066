"""What a method puts into the list or dict that an attribute of its instance holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jaxlint.infer.bodies.contents import contents_of
from jaxlint.libraries.standard import PUTTING
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, Subscript
from jaxlint.syntax.statements import Assign, Body


def put_into(is_it: Callable[[Expr], bool], body: Body) -> Iterator[Expr | None]:
    """The things that a body puts into a list or dict, by `append` and kin or as items; None for all of another."""
    contents = contents_of(body)
    for call in contents.of(Call):
        if isinstance(call.func, Attribute) and call.func.attr in PUTTING and is_it(call.func.value):
            put = call.positional[-1] if call.positional and not call.has_star else None
            yield None if call.func.attr.startswith("extend") else put
    for statement in contents.statements:
        match statement:
            case Assign(targets=(Subscript(value=held),), value=value) if is_it(held):
                yield value


def is_attribute_of(attr: str, instance: str, expr: Expr) -> bool:
    """Whether an expression is that attribute of that variable."""
    match expr:
        case Attribute(value=Name(id=name), attr=named):
            return named == attr and name == instance
    return False
