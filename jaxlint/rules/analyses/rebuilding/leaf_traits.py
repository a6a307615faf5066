"""What a value in a constructor has to do with a leaf, and which statements raise."""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from jaxlint.libraries.arrays import ARRAY_ATTRIBUTES
from jaxlint.syntax.expressions import (
    Binary,
    Display,
    Expr,
)
from jaxlint.syntax.statements import Assert, Body, If, Raise, Statement, blocks

_TRAITS = {"shape": "shape", "ndim": "shape", "size": "shape", "dtype": "dtype", "weak_type": "dtype"}


class Leaf(msgspec.Struct, frozen=True):
    """The value of a leaf, or (if not `whole`) one that is computed from it.

    `kind` is "array", "number" (by its annotation a Python number or a numpy array, which need not meet jax), "bare"
    (nothing is said of it), or "other".
    """

    field: str
    kind: str
    at: object
    whole: bool = True


class Trait(msgspec.Struct, frozen=True):
    """What a leaf is like: its `what` is "shape", "dtype" or "length"; or "type", the outcome of an `isinstance`."""

    field: str
    what: str
    kind: str
    at: object
    negated: bool = False
    #: For "type": whether a tracer passes the test.
    traced: bool = True
    #: Whether asking for it fails for nothing, so that only a check that raises an error does.
    soft: bool = False
    #: Whether it is `x.shape` itself, so that to unpack it asks for the number of axes.
    axes: bool = False


Held: TypeAlias = "Leaf | Trait | None"


class Conversion(msgspec.Struct, frozen=True):
    """A leaf is converted with `function`, as it is written.

    `needs` is "array" if that takes tracers, "shape" if it gives them another shape, "value" if it fails for tracers.
    """

    field: str
    at: object
    function: str
    needs: str


class Check(msgspec.Struct, frozen=True):
    """It is asked what a leaf is like: `what` is "shape", "dtype", "length", "value" or "type"."""

    field: str
    at: object
    what: str
    #: For "type": whether a tracer passes the test.
    traced: bool = True
    #: Whether placeholders have what is asked for, too.
    soft: bool = False


def attribute_of(held: Held, attr: str, expr: Expr) -> Held:
    """An attribute of a leaf, or of a shape."""
    if isinstance(held, Leaf) and held.kind != "other":
        if attr in _TRAITS:
            return Trait(held.field, _TRAITS[attr], "array", expr.at, axes=attr == "shape")
        return replace(held, at=expr.at, whole=False) if attr in ARRAY_ATTRIBUTES else None
    return replace(held, at=expr.at) if isinstance(held, Trait) else None


def computed_from(held: Held, expr: Expr) -> Held:
    """What an operation makes of a leaf or a trait."""
    match held:
        case Leaf():
            return replace(held, at=expr.at, whole=False)
        case Trait(what=what) if what != "type":
            return replace(held, at=expr.at)
    return None


def first_held(held: list[Held]) -> Held:
    """The first of several values that has to do with a leaf."""
    return next((h for h in held if h is not None), None)


def alternatives(expr: Expr) -> list[Expr]:
    """The types that the second argument of `isinstance` names."""
    if isinstance(expr, Display):
        return [t for item in expr.items for t in alternatives(item)]
    if isinstance(expr, Binary) and expr.op == "|":
        return [*alternatives(expr.left), *alternatives(expr.right)]
    return [expr]


def raises(statement: Statement, negated: bool) -> bool:
    """Whether a statement raises an error if a test of it fails (if it holds, where the test is negated)."""
    if isinstance(statement, If):
        return len(statement.branches) == 1 and _holds_raise(statement.branches[0][1] if negated else statement.orelse)
    return isinstance(statement, Assert) and not negated


def may_raise(statement: Statement) -> bool:
    """Whether a statement raises an error for one of the outcomes of its test."""
    return isinstance(statement, Assert) or any(map(_holds_raise, blocks(statement)))


def _holds_raise(body: Body) -> bool:
    return any(isinstance(s, Raise) for s in body)
