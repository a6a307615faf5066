"""What is certain of a value beside the one that a static field held: that it is another one, or the same again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import TypeAlias, TypeVar

import msgspec

from jaxlint.rules.analyses.under_trace.forms import UNKNOWN, Fixed, Form, Held, Moved, State, Static, Unknown, Written
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Binary,
    BoolOp,
    Call,
    Compare,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Name,
    Unary,
    same,
)

#: Comparisons, as they are written, and as they are with the sides exchanged.
_MIRRORED = {"==": "==", "!=": "!=", "is": "is", "is not": "is not", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_NUMBERS = frozenset({"int", "float", "bool"})
_LITERALS = _NUMBERS | {"str", "NoneType"}
#: What an expression is that is computed from the value of a static field.
OF_STATIC = (Static, Fixed, Moved)
_T = TypeVar("_T")
#: The expression that another one stands for: a literal, a member of an enum, what a constant of a module is bound to.
Settle: TypeAlias = Callable[[Expr], Expr]


class Fact(msgspec.Struct, frozen=True):
    """How a test of the value of a static field came out: of the value itself (`op` is ""), or beside some others."""

    of: Static | Fixed
    op: str
    against: tuple[Constant, ...]
    outcome: bool

    def is_refuted_by(self, value: Written) -> bool:
        """Whether the test would certainly come out otherwise, if the field held another value: it does not hold it."""
        return self._outcome_of(value) is (not self.outcome)

    def _outcome_of(self, value: Written) -> bool | None:
        if not self.op:
            return bool(value.value) if value.kind in _LITERALS else None
        if any(other.kind != value.kind for other in self.against):
            return None
        among = [other.value for other in self.against]
        match self.op:
            case "==" | "is" | "in":
                return value.value in among
            case "!=" | "is not" | "not in":
                return value.value not in among
        if value.kind not in _NUMBERS:
            return None
        one, other = value.value, among[0]
        return bool({"<": one < other, ">": one > other, "<=": one <= other, ">=": one >= other}[self.op])


def facts(test: Expr, outcome: bool, held_by: Callable[[Expr], object], settle: Settle) -> Iterator[Fact]:
    """What is known of the values of static fields where a test came out in some way."""
    match test:
        case Unary(op="not", operand=operand):
            yield from facts(operand, not outcome, held_by, settle)
        case BoolOp(op=op, left=left, right=right) if (op == "and") is outcome:
            yield from facts(left, outcome, held_by, settle)
            yield from facts(right, outcome, held_by, settle)
        case Compare(left=left, ops=("in" | "not in" as op,), comparators=(Display(items=items),)):
            yield from _fact(left, op, items, outcome, held_by, settle)
        case Compare(left=left, ops=(op,), comparators=(right,)) if op in _MIRRORED:
            yield from _fact(left, op, (right,), outcome, held_by, settle)
            yield from _fact(right, _MIRRORED[op], (left,), outcome, held_by, settle)
        case Name() | Attribute():
            yield from _fact(test, "", (), outcome, held_by, settle)


def _fact(
    expr: Expr, op: str, others: Sequence[Expr], outcome: bool, held_by: Callable[[Expr], object], settle: Settle
) -> Iterator[Fact]:
    held = held_by(expr)
    if isinstance(held, (Static, Fixed)):
        against = tuple(other for other in map(settle, others) if isinstance(other, Constant))
        if len(against) == len(others):
            yield Fact(held, op, against, outcome)


def seen_by(thing: _T, known: Iterable[Fact]) -> _T | Moved:
    """The same; a literal that a field certainly did not hold, where something is known of it, as another value."""
    if not isinstance(thing, Written):
        return thing
    return next((Moved(of=fact.of) for fact in known if fact.is_refuted_by(thing)), thing)


def put(value: Expr, is_written_so: bool, form: Form, known: Iterable[Fact]) -> Form:
    """What a static field holds that is given a value; a float counts only if it has a name."""
    if isinstance(value, Constant) and (value.kind in ("str", "int", "bool") or not is_written_so):
        form = Written(value=value.value, kind=value.kind)
    form = seen_by(form, known)
    if isinstance(form, Written):
        return Fixed(form.kind, repr(form.value) if form.kind == "str" else str(form.value))
    return form if isinstance(form, OF_STATIC) else UNKNOWN


def stepped(expr: Binary, left: Form, right: Form, settle: Settle) -> Form | None:
    """What arithmetic with a whole number that is written down makes of the value of a static field."""
    is_right = not isinstance(left, OF_STATIC)
    held, other = (right, expr.left) if is_right else (left, expr.right)
    number = _whole(other, settle)
    if number is None or not isinstance(held, OF_STATIC):
        return None
    if expr.op == "+" or (expr.op == "-" and not is_right):
        return _by(held, number if expr.op == "+" else -number)
    if isinstance(held, Moved):
        goes_round = expr.op == "%" and not is_right and number and held.step and held.step % number
        return Moved(of=held.of) if goes_round else None
    if (expr.op == "-" and number % 2) or (expr.op == "^" and number):
        return Moved(of=held)
    return None


def _by(held: Static | Fixed | Moved, number: int) -> Form | None:
    if isinstance(held, Moved):
        if held.step is None:
            return None
        return Moved(of=held.of, step=held.step + number) if held.step + number else held.of
    return Moved(of=held, step=number) if number else held


def _whole(expr: Expr, settle: Settle) -> int | None:
    """A whole number that is written down, or the number of items of what is."""
    match settled := settle(expr):
        case Constant(kind="int"):
            return int(settled.value)
        case Call(func=Name(id="len"), args=(Argument(value=given),)):
            listed = settle(given)
            return len(listed.items) if isinstance(listed, Display) and not listed.has_star else None
    return None


def inverted(op: str, form: Form) -> Moved | None:
    """What `not` and `~` make of the value of a static field."""
    return Moved(of=form) if op in ("not", "~") and isinstance(form, (Static, Fixed)) else None


def in_table(table: Expr, index: Form, settle: Settle) -> Moved | None:
    """What a dict that is written down has for the value of a static field, if it has another one for each."""
    written = settle(table)
    if not isinstance(index, (Static, Fixed)) or not isinstance(written, DictDisplay):
        return None
    pairs = [
        (None if key is None else settle(key), settle(value))
        for key, value in zip(written.keys, written.values, strict=True)
    ]
    others = all(
        isinstance(key, Constant) and isinstance(value, Constant) and key.kind == value.kind and not same(key, value)
        for key, value in pairs
    )
    return Moved(of=index) if others else None


def with_numbers(form: Form, numbers: count[int]) -> Form:
    """The same, with a number for each value of a static field of which nothing is known."""
    match form:
        case State(cls=cls, fields=fields):
            numbered = {name: with_numbers(held, numbers) for name, held in fields.items()}
            for field in cls.static_fields:
                if type(numbered.get(field.name, Unknown())) is Unknown:
                    numbered[field.name] = Static(number=next(numbers))
            return State(cls, numbered, form.exact)
        case Held(entries=entries):
            return Held(form.kind, {key: with_numbers(entry, numbers) for key, entry in entries.items()})
    return form
