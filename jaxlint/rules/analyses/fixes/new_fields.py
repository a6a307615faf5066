"""Fixes that declare a field which code already speaks of."""

from __future__ import annotations

from jaxlint.cst.changes import InsertLine, NeededImport, Proposal
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Array, Scalar, Value, plain
from jaxlint.project.modules import Module
from jaxlint.pytrees.model import PytreeClass

#: What a field may be that holds a number, and the number that it holds at first.
_NUMBERS = {"int": "0", "float": "0.0", "bool": "False"}


@proposing
def declaring(
    cls: PytreeClass, name: str, value: Value, module: Module, evaluator: Evaluator, *, is_set: bool = False
) -> Proposal | None:
    """The fix that declares a field for such a value, if the class stands in the module; to be looked at first.

    A number is 0 until it gets a value, unless the constructor always sets it (`is_set`); an array has to be set.
    """
    own = [field for field in cls.fields if field.owner == cls.symbol]
    if cls.module is not module or not cls.fields_known or not own or (cls.lists and not cls.lists.automatic):
        return None
    written = _annotation(plain(value), module, evaluator)
    if written is None or (cls.custom_init() is not None and not is_set):
        return None
    last = max(own, key=lambda field: field.at.row)
    start = _NUMBERS.get(written[0])
    if start is None and not is_set:
        return None
    default = "" if is_set else f" = {start}"
    change = InsertLine(last.at, f"{name}: {written[0]}{default}", is_behind=True)
    return Proposal(f"Declare `{name}`", Applicability.DISPLAY, (change,), written[1])


def _annotation(value: Value, module: Module, evaluator: Evaluator) -> tuple[str, tuple[NeededImport, ...]] | None:
    """How the type of a value is written in a module."""
    if isinstance(value, Scalar) and value.kind in _NUMBERS:
        return value.kind, ()
    if isinstance(value, Array) and value.library == "jax":
        return spelled("jax.Array", module, evaluator.model.resolver)
    return None
