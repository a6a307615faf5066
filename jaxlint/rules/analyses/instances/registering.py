"""Classes that are registered elsewhere than beside their declaration: where they are imported, and in functions."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.registrations import REGISTERING
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Call, last_name
from jaxlint.syntax.statements import Do, Return, walk


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
        places = {place_of(call.at) for call in code.calls if _registers(call)}
        calls = [call for call in module.outline.module_calls if call.at in places]
        classes = [evaluator.model.registered_by(call, module) for call in calls]
        found = code.shared[_Imported] = [cls for cls in classes if cls is not None]
    return found


def classes_of_function(code: CodeRead, evaluator: Evaluator, always: bool = False) -> list[PytreeClass]:
    """The classes that a function of a module or class registers, or does always, each as the registration leaves it.

    What it only tries is not among them, and neither is what a function inside another one does: that may be handed
    on to something that expects an error.
    """
    if code.function is None or "<locals>" in code.function.qualname or code.contents.called.isdisjoint(REGISTERING):
        return []
    calls = [call for call in code.contents.expected_to_work if isinstance(call, Call)]
    if always:
        alone = {id(call) for call in always_called(code)}
        calls = [call for call in calls if id(call) in alone]
    found = [evaluator.model.registered_by(c, code.place.module, code.scope) for c in calls if _registers(c)]
    return [cls for cls in found if cls is not None]


def always_called(code: CodeRead) -> Iterator[Call]:
    """The calls that stand alone in a function and that each run of it makes: no branch, loop or `try` is around."""
    for statement in code.body:
        if isinstance(statement, Do) and isinstance(statement.value, Call):
            yield statement.value
        if any(isinstance(inner, Return) for inner in walk((statement,), nested=False)):
            return


def may_be_overtaken(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether what registers a class first does so late in a script, and finds that something else has done it.

    chex registers a class of `__main__` when its first instance is made, and leaves it as it is if it is registered
    by then (chex 0.1.92). A script is what nobody imports, and no part of a package.
    """
    late = [registration.framework.registers_late for registration in cls.registrations]
    is_overtaken = late[:1] == [True] and not all(late)
    return is_overtaken and "." not in cls.module.name and not evaluator.model.importers(cls.module)


def _registers(call: Call) -> bool:
    return last_name(call.func) in REGISTERING
