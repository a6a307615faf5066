"""Whether what an annotation calls an array, or what is unknown, may be a reference that is written in place."""

from __future__ import annotations

from jaxlint.infer.evaluating.events import Place
from jaxlint.infer.known.values import Array, UnknownValue, Value
from jaxlint.libraries.pallas import MAKERS, SHARED_NAMES, imports_references, is_named_as_reference
from jaxlint.libraries.transforms import Kind
from jaxlint.project.modules import Module
from jaxlint.symbols.outline import Import
from jaxlint.syntax.expressions import Expr, dotted


def may_be_reference(value: Value, expr: Expr | None, place: Place) -> bool:
    """Whether an expression may stand for a reference, as far as its value is not known by how it was made."""
    if not isinstance(value, UnknownValue) and not (isinstance(value, Array) and value.declared):
        return False
    name = dotted(expr) if expr is not None else None
    if name is not None and any(map(is_named_as_reference, name.split("."))):
        return True
    return deals_in_references(place.module) or any(
        applied.transform.kind is Kind.KERNEL for function in place.functions for applied in place.applied(function)
    )


def deals_in_references(module: Module) -> bool:
    """Whether a module imports what hands out references, or makes them itself."""
    outline = module.outline
    if any(not unit.calls.isdisjoint(MAKERS) for unit in outline.units):
        return True
    if any(imports_references(name) for _, name in outline.imported_modules):
        return True
    bindings = outline.module_scope.bindings
    imported = (b for name in SHARED_NAMES & bindings.keys() for b in bindings[name] if isinstance(b, Import))
    return any(b.name is not None and imports_references(f"{b.module}.{b.name}") for b in imported)
