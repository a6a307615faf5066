"""The modules with state over which a transformed function closes, and what it changes of them: that raises.

Measured with flax 0.12.8: a variable of flax.nnx, or an attribute of a module, that is written in a transformed
function which did not get the module as an argument raises TraceContextError, whichever transformation that is.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.evaluating.points import value_at
from jaxlint.infer.known.values import as_instance
from jaxlint.project.modules import Module
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.changes.evaluation_mode import may_be_evaluated, switches
from jaxlint.rules.analyses.changes.module_state import Code, ModuleState, StateChange
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Name

#: What sets the mode of modules, or makes them anew in one.
_SETTING_MODES = frozenset({"set_attributes", "view", "recursive_map"})


def changes_closed_over(
    function: Function, code: CodeRead, evaluator: Evaluator
) -> Iterator[tuple[Name, PytreeClass, StateChange]]:
    """The modules over which a function closes and whose state it certainly changes: where, of which class, and how."""
    module = code.place.module
    own = Code.of(function, code.body, module, {})
    for name in _free(function, code):
        instance = as_instance(value_at(name, code, evaluator))
        if instance is None or not instance.cls.framework.is_stateful or not instance.cls.framework.transformations:
            continue
        inner = replace(own, parameters=(*own.parameters, name.id))
        change = ModuleState(evaluator).change(name.id, instance.cls, inner)
        if change is not None and _may_be_evaluated(function, code, module, evaluator):
            change = ModuleState(evaluator, is_evaluated=True).change(name.id, instance.cls, inner)
        if change is not None:
            yield name, instance.cls, change


def _free(function: Function, code: CodeRead) -> Iterator[Name]:
    """The variables that a function reads and does not bind itself, each where it does so first."""
    seen = {*(p.name for p in function.parameters), *code.contents.bound}
    for part in code.contents.expected_to_work:
        if isinstance(part, Name) and part.id not in seen:
            seen.add(part.id)
            yield part


def _may_be_evaluated(function: Function, code: CodeRead, module: Module, evaluator: Evaluator) -> bool:
    if any(not unit.calls.isdisjoint(_SETTING_MODES) for unit in module.outline.units):
        return True
    return switches(code.body, function, module, evaluator) or may_be_evaluated(function, module, evaluator)
