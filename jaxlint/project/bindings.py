"""Where a name is bound: by what stands above a place, or below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxlint.symbols.outline import Assignment, Binding, Definition
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Span, is_none

if TYPE_CHECKING:
    from jaxlint.project.modules import Module


def is_bound_by(binding: Binding, place: Span) -> bool:
    """Whether a place is in the value that a name is given: `dt = field(default=dt)`."""
    return isinstance(binding, Assignment) and binding.value is not None and place_of(binding.value.at).holds(place)


def is_later(binding: Binding, place: Span, module: Module) -> bool:
    """Whether a name is bound at a place, or below it; of imports that is not known."""
    at: Span | None = None
    if isinstance(binding, Assignment):
        at = binding.at
    elif isinstance(binding, Definition):
        found = module.outline.classes.get(binding.qualname) or module.outline.functions.get(binding.qualname)
        at = None if found is None else found.at
    return at is not None and (at.row, at.column) >= (place.row, place.column)


def is_placeholder(binding: Binding) -> bool:
    """`name = None`, `name: T`, or a name bound by a statement that says nothing of its value."""
    return isinstance(binding, Assignment) and (
        is_none(binding.value) or (binding.value is None and binding.annotation is not None)
    )
