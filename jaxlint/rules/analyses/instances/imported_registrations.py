"""Classes that are registered where they are imported."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.registrations import REGISTERING
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import last_name


class _Imported:
    """The key of what was found out about a body."""


def imported_classes(code: CodeRead, evaluator: Evaluator) -> list[PytreeClass]:
    """The classes of other modules that top-level statements register, each as the registration leaves it.

    The registration is the last one of the class.
    """
    if code.function is not None or code.contents.called.isdisjoint(REGISTERING):
        return []
    found: list[PytreeClass] | None = code.shared.get(_Imported)
    if found is None:
        module = code.place.module
        places = {place_of(call.at) for call in code.calls if last_name(call.func) in REGISTERING}
        calls = [call for call in module.outline.module_calls if call.at in places]
        classes = [evaluator.model.registered_by(call, module) for call in calls]
        found = code.shared[_Imported] = [cls for cls in classes if cls is not None]
    return found
