"""Fixes of Python numbers that a jit which filters holds static: an array is held, or passed, in their place."""

from __future__ import annotations

from jaxlint.cst.changes import EditField, Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Cross
from jaxlint.project.modules import Module
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.fields.needed_numbers import need_of
from jaxlint.rules.analyses.fields.python_numbers import stays_python_number
from jaxlint.syntax.expressions import is_number


@proposing
def passing_array(event: Cross, evaluator: Evaluator) -> Proposal | None:
    """The fix: an array is passed that is made of the number."""
    place = event.place
    written = spelled("jax.numpy.asarray", place.module, evaluator.model.resolver, place.scope)
    if written is None:
        return None
    change = Rewrite(event.at, f"{written[0]}({{0}})", (event.at,))
    return Proposal("Pass an array", Applicability.UNSAFE, (change,), written[1])


@proposing
def converting(field: Field, cls: PytreeClass, module: Module, evaluator: Evaluator) -> Proposal | None:
    """The fix: the field, which a field function declares, makes arrays of the numbers that it is given."""
    function = cls.framework.field_function
    resolver, call = evaluator.model.resolver, field.call
    if field.owner.module is not module or field.annotation is None or (call is None and field.opaque):
        return None
    if (call is not None and call.positional) or stays_python_number(field.name, cls, module, evaluator):
        return None
    written = [spelled(name, module, resolver) for name in (function, "jax.numpy.asarray", "jax.Array")]
    declared, converter, array = written
    if declared is None or converter is None or array is None:
        return None
    is_same = call is not None and call.function == function
    name = "" if is_same else declared[0]
    made = EditField(field.at, is_call=call is not None, function=name, given=(("converter", converter[0]),))
    imports = tuple(dict.fromkeys((*(() if is_same else declared[1]), *converter[1], *array[1])))
    changes = (Rewrite(field.annotation.expr.at, array[0]), made)
    return Proposal(f"Make `{field.name}` an array", Applicability.UNSAFE, changes, imports)


@proposing
def beginning_as_array(name: str, cls: PytreeClass, module: Module, evaluator: Evaluator) -> Proposal | None:
    """The fix of an attribute of an nnx object, which is data if its constructor gives it an array.

    There is none where a compiled function needs to know the number.
    """
    found, field = cls.method("__init__"), cls.field(name)
    if found is None or found[0].module is not module or (field is not None and field.annotation is not None):
        return None
    values = [one.value for one in found[1].self_assignments if one.attr == name]
    written = spelled("jax.numpy.array", module, evaluator.model.resolver)
    if len(values) != 1 or values[0] is None or not is_number(values[0]) or written is None:
        return None
    if need_of(name, cls, module, evaluator) is not None or stays_python_number(name, cls, module, evaluator):
        return None
    change = Rewrite(values[0].at, f"{written[0]}({{0}})", (values[0].at,))
    return Proposal(f"Make `{name}` an array", Applicability.UNSAFE, (change,), written[1])
