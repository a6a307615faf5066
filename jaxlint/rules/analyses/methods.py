"""What the table of contents of a module tells of one method."""

from __future__ import annotations

from jaxlint.project.modules import Module
from jaxlint.symbols.outline import Function


def names_called(function: Function, module: Module) -> frozenset[str]:
    """The names that are called in a function, or in the outermost function around it."""
    row = function.at.row
    unit = next(unit for unit in module.outline.units if unit.first <= row <= unit.last)
    piece = next((p for p in unit.pieces if p.first <= row <= p.last and p.kind != "rest"), unit)
    return piece.calls
