"""Whether the class that an annotation names is more than its author's hope."""

from __future__ import annotations

from jaxlint.project.modules import Module
from jaxlint.pytrees.model import PytreeClass

#: What makes an instance without the name of its class.
_MAKING = frozenset({"cls", "_make"})


def is_made_in(cls: PytreeClass, *modules: Module | None) -> bool:
    """Whether some module, or that of the class, may make an instance of it."""
    makers = {cls.symbol.declaration.name, *_MAKING}
    units = (unit for module in (*modules, cls.module) if module is not None for unit in module.outline.units)
    return not all(makers.isdisjoint(unit.calls) for unit in units)
