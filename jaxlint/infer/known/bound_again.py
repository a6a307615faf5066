"""What attributes and variables are that are bound again to what a call makes of them: they keep their class."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from jaxlint.infer.bodies.contents import contents_of
from jaxlint.infer.known.values import UnknownValue, Value, as_instance, join, plain
from jaxlint.project.resolution import ClassSymbol, External, Resolver
from jaxlint.pytrees.model import Placed
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Constant,
    Display,
    Expr,
    Name,
    Other,
    Subscript,
    is_variable,
    last_name,
)
from jaxlint.syntax.statements import Annotate, Assign, Body, bound_names


def after(before: Value, given: Value, placed: Placed, is_it: Callable[[Expr], bool], resolver: Resolver) -> Value:
    """What something is that was `before`, or is now what an expression evaluates to: `given`.

    `self.state, loss = self.step(self.state, batch)` leaves an instance what it is, for all that is known: a step that
    is not seen returns the state that it is given.
    """
    given = plain(given)
    if not isinstance(given, UnknownValue):
        return join(before, given)
    instance = as_instance(before)
    if instance is None or not instance.cls.is_pytree or not _is_handed_on(placed, is_it, resolver):
        return given
    return replace(instance, exact=False, refilled=True, declared=True, traced=None, holds_jax=False)


def _is_handed_on(placed: Placed, is_it: Callable[[Expr], bool], resolver: Resolver) -> bool:
    """Whether an expression is what a function of the user's returns that is given something, or an item of that."""
    match placed.expr:
        case Subscript(value=value, index=Constant(kind="int")) | Other(kind="Await", parts=(value,)):
            return _is_handed_on(Placed(value, placed.module, placed.scope), is_it, resolver)
        case Call(func=Name() | Attribute() as func, args=args):
            if not any(is_it(argument.value) and not argument.star for argument in args):
                return False
            is_class = last_name(func)[:1].isupper()
            symbol = resolver.resolve(func, placed.module, placed.scope)
            return not is_class and not isinstance(symbol, (ClassSymbol, External))
    return False


def is_attribute(attr: str, expr: Expr) -> bool:
    """Whether an expression is an attribute of that name of a variable."""
    return isinstance(expr, Attribute) and expr.attr == attr and isinstance(expr.value, Name)


def bindings_of(name: str, body: Body) -> Iterator[tuple[Expr, int | None] | None]:
    """The expressions that a body binds to a variable, with the item if unpacked; None where that is no assignment."""
    for statement in contents_of(body).statements:
        if name not in bound_names(statement):
            continue
        match statement:
            case Assign(targets=(Name(),), value=value):
                yield value, None
            case Annotate(target=Name(), value=assigned) if assigned is not None:
                yield assigned, None
            case Assign(targets=(Display(items=items, has_star=False),), value=value):
                yield value, next((n for n, item in enumerate(items) if is_variable(name, item)), -1)
            case _:
                yield None
