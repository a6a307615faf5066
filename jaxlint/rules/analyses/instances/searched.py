"""What an instance is compared with that is looked for in a list or tuple whose items are written out."""

from __future__ import annotations

from collections.abc import Callable

from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import Instance
from jaxlint.symbols.outline import SEARCHES
from jaxlint.syntax.expressions import Attribute, Call, Constant, Display, Expr, Name, Starred, Subscript, dotted
from jaxlint.syntax.statements import bound_by, bound_once, looked_up, walk


def items_of(container: Expr, code: CodeRead) -> tuple[Expr, ...] | None:
    """The items that a list or tuple is written out with, in the order in which they are looked at; None if unknown.

    So are those of a variable to which that is given, once, and in which one thing is looked for.
    """
    written = looked_up(container, bound_once(code.body))
    if not isinstance(written, Display) or written.kind not in ("list", "tuple"):
        return None
    if any(isinstance(item, Starred) for item in written.items):
        return None
    return None if isinstance(container, Name) and _may_change(container.id, code) else written.items


def _may_change(name: str, code: CodeRead) -> bool:
    """Whether more is done with a list than to look for one thing in it, or to ask how long it is."""
    searches = 0
    for call in code.calls:
        match call:
            case Call(func=Attribute(value=Name(id=held), attr=attr)) if held == name:
                searches += 1
                if attr not in SEARCHES or searches > 1:
                    return True
            case Call(func=func, args=args) if any(dotted(argument.value) == name for argument in args):
                if dotted(func) != "len":
                    return True
    targets = (target for statement in walk(code.body) for target in bound_by(statement))
    return any(isinstance(t, Subscript) and dotted(t.value) == name for t in targets)


def may_be_compared(
    looked_for: Expr, items: tuple[Expr, ...] | None, instance: Callable[[Expr], Instance | None]
) -> bool:
    """Whether an instance is compared with another one of its class, as far as the items are known.

    It is found where the same object stands, without a look at its fields, and a constant is no instance of the class.
    What else an item is may be that object, too.
    """
    for item in items or ():
        if isinstance(item, Constant):
            continue
        return instance(item) is not None and not (dotted(looked_for) == dotted(item) is not None)
    return items is None
