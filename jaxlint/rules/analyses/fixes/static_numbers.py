"""What is said of a static field that gets another number at each step."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.rules.analyses.fields.needed_numbers import need_of
from jaxlint.rules.analyses.fields.static_numbers import StaticNumber, is_meant
from jaxlint.rules.analyses.fixes.roles import make_leaf, unmarking_help
from jaxlint.rules.base import Problem


def problems_of(number: StaticNumber, module: Module, evaluator: Evaluator) -> Iterator[Problem]:
    """The problem that a static number is, with the fix that makes a leaf of it where a module declares the class.

    There is no fix where a compiled function needs to know the number, and no problem where few numbers are meant then.
    """
    field, cls = number.field, number.cls
    need = need_of(field, cls, module, evaluator)
    if need is not None and is_meant(number, need):
        return
    consequence = "every new value recompiles"
    reason = "the value of a static field is part of the key under which jit keeps a compiled function"
    if number.carried:
        consequence = "a loop of jax that carries it raises TypeError (another pytree structure)"
        reason = "the value of a static field is part of the structure of the pytree, which such a loop must keep"
    # a jit that filters takes nothing but arrays for data
    with_arrays = " and give it arrays" if cls.framework.filters else ""
    way_out = f"make it a data field{with_arrays}" + (f", {need.way_out}" if need is not None else "")
    yield Problem(
        at=number.at,
        message=f"field `{field.name}` of `{cls.name}` {number.what}: {consequence}; {way_out}",
        reason=reason,
        help=f"{unmarking_help(field, cls)}{with_arrays}: then the function is compiled once",
        confidence=number.confidence,
        subject=f"{cls.module.path}::{field.owner.declaration.qualname}.{field.name}",
        fix=make_leaf(field, cls, module, evaluator.model) if need is None else None,
    )
