"""What is said of a static field that gets another number at each step, or has several: it becomes a leaf."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import Proposal
from jaxlint.cst.failing import proposing
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Scalar, plain
from jaxlint.project.modules import Module
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.fields.needed_numbers import need_of
from jaxlint.rules.analyses.fields.python_numbers import stays_python_number
from jaxlint.rules.analyses.fields.static_numbers import StaticNumber, is_meant
from jaxlint.rules.analyses.fixes.roles import make_leaf, unmarking_help
from jaxlint.rules.base import Problem

_NUMBERS = frozenset({"int", "float", "bool"})


def problems_of(number: StaticNumber, module: Module, evaluator: Evaluator) -> Iterator[Problem]:
    """The problem that a static number is, with the fix that makes a leaf of it where a module declares the class.

    There is no fix where a compiled function needs to know the number, and no problem where few numbers are meant then.
    """
    field, cls = number.field, number.cls
    need = need_of(field.name, cls, module, evaluator)
    if need is not None and is_meant(number, need):
        return
    consequence = "every new value recompiles"
    reason = "the value of a static field is part of the key under which jit keeps a compiled function"
    if number.carried:
        consequence = "a loop of jax that carries it raises TypeError (another pytree structure)"
        reason = "the value of a static field is part of the structure of the pytree, which such a loop must keep"
    # a jit that filters takes nothing but arrays for data
    with_arrays = " and give it arrays" if cls.framework.filters else ""
    rewriting = f", {need.way_out}" if need is not None else ""
    way_out = f"make it a data field{with_arrays}{rewriting}"
    yield Problem(
        at=number.at,
        message=f"field `{field.name}` of `{cls.name}` {number.what}: {consequence}; {way_out}",
        reason=reason,
        help=f"{unmarking_help(field, cls)}{with_arrays}{rewriting}: then the function is compiled once",
        confidence=number.confidence,
        subject=f"{cls.module.path}::{field.owner.declaration.qualname}.{field.name}",
        fix=leaf_of(field, cls, module, evaluator) if need is None else None,
    )


def or_leaf(field: Field, cls: PytreeClass, evaluator: Evaluator) -> str:
    """What else may be done about a static field, in words: text, or a member of an enum, cannot be a leaf."""
    return ", or make it a leaf" if _kind(field, cls, evaluator) in _NUMBERS else ""


@proposing
def leaf_of_number(field: Field, cls: PytreeClass, module: Module, evaluator: Evaluator) -> Proposal | None:
    """The fix that makes a leaf of a static field with a number, where no compiled function needs to know that."""
    if _kind(field, cls, evaluator) not in _NUMBERS:
        return None
    if need_of(field.name, cls, module, evaluator) is not None:
        return None
    return leaf_of(field, cls, module, evaluator)


@proposing
def leaf_of(field: Field, cls: PytreeClass, module: Module, evaluator: Evaluator) -> Proposal | None:
    """The fix, unless what comes out of a compiled function, an array then, has to be a number elsewhere."""
    if stays_python_number(field.name, cls, module, evaluator):
        return None
    return make_leaf(field, cls, module, evaluator.model)


def _kind(field: Field, cls: PytreeClass, evaluator: Evaluator) -> str:
    """The name of the simple type that a field is said to hold; empty if that is none."""
    value = plain(evaluator.promises.field(field, cls))
    return value.kind if isinstance(value, Scalar) else ""
