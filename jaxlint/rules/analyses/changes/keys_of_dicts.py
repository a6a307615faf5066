"""Whether an item that is changed has a key of a dict, by where that comes from: `for k in layer: layer[k] = ...`."""

from __future__ import annotations

from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Constant,
    Display,
    Expr,
    Name,
    Other,
    Subscript,
    dotted,
    last_name,
)
from jaxlint.syntax.statements import For, bound_once, looked_up

#: Functions that go through the same keys.
_SAME = frozenset({"list", "tuple", "sorted", "reversed", "set"})


def is_key_of_dict(at: object, code: CodeRead) -> bool:
    """Whether the item that is changed at a place has a key that is text, or one of those that a dict is gone through.

    An array has no such items, and a list has none.
    """
    changed = next((part for part in code.parts if isinstance(part, Subscript) and part.at is at), None)
    if changed is None:
        return False
    index = looked_up(changed.index, bound_once(code.body))
    if _is_text(index):
        return True
    if not isinstance(index, Name):
        return False
    loops = [s for s in code.statements if isinstance(s, For)]
    found = [keys for loop in loops if (keys := _gone_through(loop, index.id, code)) is not None]
    return bool(found) and all(found)


def _gone_through(loop: For, name: str, code: CodeRead) -> bool | None:
    """Whether a loop goes through the keys of a dict by a variable; None if it has another variable."""
    expr = loop.iterable
    match loop.target:
        case Name(id=variable) if variable == name:
            pass
        case Display(items=(Name(id=first), *_)) if first == name:
            return isinstance(expr, Call) and isinstance(expr.func, Attribute) and expr.func.attr == "items"
        case _:
            return None
    while isinstance(expr, Call) and isinstance(expr.func, Name) and expr.func.id in _SAME and expr.positional:
        expr = expr.positional[0]
    if isinstance(expr, Call):
        return last_name(expr.func) == "keys"
    if isinstance(expr, Display):
        return bool(expr.items) and all(map(_is_text, expr.items))
    through = dotted(expr)
    return through is not None and any(
        isinstance(part, Subscript) and dotted(part.value) == through and dotted(part.index) == name
        for part in code.parts
    )


def _is_text(expr: Expr) -> bool:
    """Whether an expression is a string that is written out, or put together."""
    return (isinstance(expr, Constant) and expr.kind == "str") or (isinstance(expr, Other) and expr.kind == "JoinedStr")
