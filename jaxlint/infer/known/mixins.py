"""What `self` is in the methods of a class that is no pytree, but that pytree classes inherit from."""

from __future__ import annotations

from jaxlint.infer.known.values import Instance, Value, joined
from jaxlint.project.reached import CALLED
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Function


def inheriting(function: Function, owner: PytreeClass, model: PytreeModel) -> Value | None:
    """An instance of the pytree classes that inherit a method of a mixin; None if `self` may be of another class."""
    index = model.project_index
    if owner.is_pytree or owner.is_dataclass or owner.symbol.key not in index.subclasses:
        return None
    if not index.imports.is_complete:
        return None
    if "__init__" in owner.symbol.declaration.methods:
        return None
    names = {qualname.rpartition(".")[2] for _, qualname in index.subclasses[owner.symbol.key]}
    if model.sees_importers and names.isdisjoint(index.pytree_class_names):
        return None
    inherits = [cls for cls in model.subclasses(owner) if _has(cls, function)]
    if not inherits or not all(cls.is_pytree or _is_base(cls, inherits) for cls in inherits):
        return None
    return joined([Instance(cls) for cls in inherits if cls.is_pytree]) if _is_never_made(owner, model) else None


def _has(cls: PytreeClass, function: Function) -> bool:
    method = cls.method(function.name)
    return method is not None and method[1] is function


def _is_base(cls: PytreeClass, others: list[PytreeClass]) -> bool:
    """Whether a class is one that others inherit from, as a mixin is."""
    return any(other is not cls and cls in other.mro for other in others)


def _is_never_made(owner: PytreeClass, model: PytreeModel) -> bool:
    modules = (owner.module.path, *model.importing(owner.module.path))
    knowing = model.project.ask("mentions", owner.name, modules, owner.module)
    return not any(CALLED in how for how in knowing.values())
