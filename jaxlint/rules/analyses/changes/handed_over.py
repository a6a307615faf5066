"""What static fields hold that is handed to a function which changes it in place: `anneal(model.weights)`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, MutateField
from jaxlint.infer.evaluating.points import value_at
from jaxlint.infer.known.values import UNKNOWN, Container, as_instance, plain
from jaxlint.pytrees.framework import Role
from jaxlint.rules.analyses.changes.given_changes import changes_of, given_for
from jaxlint.rules.analyses.instances.callees import called_by
from jaxlint.syntax.expressions import Attribute, Call, dotted


def changed_where_handed(code: CodeRead, evaluator: Evaluator) -> Iterator[MutateField]:
    """The changes of containers in static fields by functions of the project that a body hands these to.

    What only fills in what is not there yet, as a cache does, is none.
    """
    names = evaluator.model.project_index.static_field_names
    for call in code.calls:
        for argument in call.args:
            given = argument.value
            if type(given) is Attribute and given.attr in names and not argument.star:
                instance = as_instance(value_at(given.value, code, evaluator))
                field = None if instance is None else instance.cls.field(given.attr)
                if instance is None or field is None or field.role is not Role.STATIC:
                    continue
                held = plain(evaluator.attribute_of(instance, given.attr))
                if isinstance(held, Container) and _is_changed_by(call, given, code, evaluator):
                    receiver = dotted(given.value)
                    yield MutateField(call.at, code.place, instance, given.attr, "item", held, UNKNOWN, receiver, False)


def _is_changed_by(call: Call, given: Attribute, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether the function that is called puts something into what it is given, or an item of it, or takes one out."""
    callee = called_by(call, code, evaluator)
    if callee is None:
        return False
    for change in changes_of(callee, evaluator):
        found = None if change.is_cached or change.method else given_for(call, callee, change.slot)
        if found is not None and found[0] is given and found[1] and all(step.startswith("[") for step in found[1]):
            return True
    return False
