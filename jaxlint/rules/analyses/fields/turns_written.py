"""What the turns of a loop give its variables, where that is written out, and which expressions differ with these."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.syntax.expressions import Binary, Call, Constant, Expr, Name, Other, children, constant, unpacked

#: So many turns of a loop are looked at one by one.
_MAX_TURNS = 8


def bound_in(target: Expr, row: Expr) -> Iterator[tuple[str, Expr]]:
    """What a turn of a loop gives its variables, where that is written out."""
    for one, value in unpacked(target, row):
        if isinstance(one, Name):
            yield one.id, value
        elif one is not target:
            yield from bound_in(one, value)


def counted(call: Call, numbers: list[object]) -> list[Expr] | None:
    """The numbers that a `range` of some literals counts, if these are few."""
    given = [number for number in numbers if isinstance(number, int)]
    if not 0 < len(given) == len(call.args) <= 3 or given[2:] == [0]:
        return None
    counted = range(*given)
    return [constant(call.at, number) for number in counted] if len(counted) <= _MAX_TURNS else None


def varies(expr: Expr, varying: set[str]) -> bool:
    """Whether an expression is a variable of a comprehension, that in a string, or a number added to it."""
    match expr:
        case Name(id=name):
            return name in varying
        case Other(kind="JoinedStr" | "FormattedValue"):
            return any(varies(part, varying) for part in children(expr))
        case Binary(op="+" | "-" | "*" as op, left=left, right=right):
            sides = (left, right)
            constants = [s.value for s in sides if isinstance(s, Constant)]
            return any(varies(s, varying) for s in sides) and bool(constants) and (op != "*" or all(constants))
    return False
