"""Whether the class that an annotation names is more than its author's hope."""

from __future__ import annotations

from jaxlint.infer.choosing.unregistered import refused_class
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.promises import made_by_defaults
from jaxlint.infer.known.values import Instance, plain
from jaxlint.project.modules import Module
from jaxlint.project.reached import CALLED
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.pytrees.updating import is_train_state

#: What makes an instance without the name of its class.
_MAKING = frozenset({"cls", "_make"})


def _makers(cls: PytreeClass) -> set[str]:
    """What is called where an instance is made."""
    return {cls.symbol.declaration.name, *_MAKING, *(("create",) if is_train_state(cls) else ())}


def is_made_in(cls: PytreeClass, *modules: Module | None) -> bool:
    """Whether some module, or that of the class, may make an instance of it."""
    makers = _makers(cls)
    units = (unit for module in (*modules, cls.module) if module is not None for unit in module.outline.units)
    return not all(makers.isdisjoint(unit.calls) for unit in units)


def _is_made_by_importers(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a module that imports that of the class may make an instance of it."""
    model = evaluator.model
    importing = model.importing(cls.module.path)
    answers = [model.project.ask("mentions", name, importing, cls.module) for name in sorted(_makers(cls))]
    return any(CALLED in how for given in answers for how in given.values())


def unregistered_class(field: Field, cls: PytreeClass, evaluator: Evaluator) -> PytreeClass | None:
    """The class that the annotation of a field names, if nobody registers it and something makes instances of it."""
    if field.annotation is None:
        return None
    held = refused_class(evaluator.annotations.read(field.annotation, cls), evaluator.model)
    if held is None or is_made_by_default(field, held, evaluator):
        return held
    return held if is_made_in(held, held.module) or _is_made_by_importers(held, evaluator) else None


def is_made_by_default(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether the default of a field is an instance of a class, or what its factory makes."""
    made = (plain(evaluator.static(default)) for default in made_by_defaults(field))
    return any(isinstance(value, Instance) and value.cls is cls for value in made)


def has_namesake(cls: PytreeClass, attr: str, module: Module, evaluator: Evaluator) -> bool:
    """Whether another class of the name that a module imports for a class has a field or method.

    Each environment has a `State` of its own, and a wrapper names that of the base.
    """
    if cls.module.path == module.path:
        return False
    model, name = evaluator.model, cls.symbol.declaration.name
    homes = sorted(model.project_index.indexed)
    return bool(model.project.ask("has attribute", f"{name}.{attr}", homes, module))
