"""Whether a class is instantiated, as far as names tell, or made to be inherited from."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.pytrees.framework import Subclasses
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Unit
from jaxlint.syntax.expressions import Subscript, dotted

_ABSTRACT_METHODS = frozenset({"abstractmethod", "abstractproperty", "abstractclassmethod", "abstractstaticmethod"})
_ABSTRACT_BASES = frozenset({"ABC", "Protocol"})
#: How classes are named that are there to be inherited from.
_ABSTRACT_PREFIXES = ("Abstract", "Base")
_ABSTRACT_SUFFIXES = ("Base", "Mixin", "Interface", "Protocol", "ABC")


def looks_abstract(cls: PytreeClass) -> bool:
    """Whether the class is made to be inherited from."""
    name = cls.name.lstrip("_")
    if name.startswith(_ABSTRACT_PREFIXES) or name.endswith(_ABSTRACT_SUFFIXES):
        return True
    bases = [a.value.value if isinstance(a.value, Subscript) else a.value for a in cls.symbol.declaration.bases]
    if any((dotted(base) or "").rpartition(".")[2] in _ABSTRACT_BASES for base in bases):
        return True
    names = {name for c in cls.mro for name in c.symbol.declaration.methods}
    found = (cls.method(name) for name in names)
    return any(
        (dotted(d) or "").rpartition(".")[2] in _ABSTRACT_METHODS
        for method in found
        if method is not None
        for d in method[1].decorators
    )


def is_left_to_subclasses(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a private class has subclasses, which are no pytrees as it is one, and is never instantiated.

    Where the modules that import this one are not seen, those may have them.
    """
    if not cls.name.startswith("_") or cls.framework.subclasses is not Subclasses.OPAQUE:
        return False
    model = evaluator.model
    return not (model.sees_importers and not model.subclasses(cls)) and not constructing_units(cls, evaluator)


def constructing_units(cls: PytreeClass, evaluator: Evaluator) -> list[Unit]:
    """The statements, here and in the modules that import this one, that call something of the name of the class."""
    modules = [cls.module, *evaluator.model.importers(cls.module)]
    return [unit for module in modules for unit in module.outline.units if cls.name in unit.calls]
