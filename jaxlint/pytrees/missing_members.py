"""What instances of a class certainly do not have: a method, or the operators that a method stands for."""

from __future__ import annotations

import re

from jaxlint.libraries.standard import may_give
from jaxlint.project.resolution import External, Symbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.frameworks import BY_BASE
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.stubs import is_stub
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Subscript

#: What gives instances attributes that no class declares.
_ANY_ATTRIBUTE = ("__getattr__", "__getattribute__")
_MAPPING = "collections.abc.Mapping"
#: What every instance has; orderings are no part of it, although `object` has methods for them.
_OF_OBJECTS = frozenset(
    """__annotations__ __class__ __delattr__ __dict__ __dir__ __doc__ __eq__ __format__ __getattribute__ __getstate__
    __hash__ __init__ __init_subclass__ __module__ __ne__ __new__ __reduce__ __reduce_ex__ __repr__ __setattr__
    __sizeof__ __str__ __subclasshook__ __weakref__ __dataclass_fields__ __dataclass_params__ __match_args__""".split()
)
#: What named tuples have besides.
_OF_TUPLES = frozenset({"count", "index", "_fields", "_field_defaults", "_asdict", "_make", "_replace"})

#: An attribute that is set by its name: `object.__setattr__(self, "x", 1)`.
_SET_BY_NAME = re.compile(r"setattr(?:__)?\(\s*(?:[\w.]+\s*,\s*)?['\"](\w+)['\"]")


def misses_attribute(cls: PytreeClass, name: str, model: PytreeModel) -> bool:
    """Whether instances of a class certainly have no attribute of that name."""
    framework = cls.framework
    if name in _OF_OBJECTS or (framework.is_tuple and name in _OF_TUPLES):
        return False
    if not cls.bases_known or cls.unknown_decorator or _declares(cls, name):
        return False
    if framework.replace_method == name or name in framework.copying_methods:
        return False
    return not any(_may_have(c, name, model) for c in cls.mro)


def _declares(cls: PytreeClass, name: str) -> bool:
    """Whether a class has a field of that name, and `tree_flatten` is not the only place that mentions it."""
    field = cls.field(name)
    if field is None or not cls.framework.flattens_itself:
        return field is not None
    return any(part is not None for part in (field.annotation, field.default, field.factory, field.assigned))


def _may_have(cls: PytreeClass, name: str, model: PytreeModel) -> bool:
    """Whether a class of the MRO gives its instances the attribute, as far as its own body goes."""
    declaration, outline = cls.symbol.declaration, cls.module.outline
    if cls.unknown_decorator or (declaration.conditional_body and not is_stub(cls.module)):
        return True
    if name in cls.attributes_added or name in cls.framework.added_methods or name in cls.framework.base_methods:
        return True
    if cls.is_mapping is not False and may_give(_MAPPING, name):
        return True
    if name in cls.attributes_given:
        return True
    scope = outline.scopes.get(declaration.qualname)
    wanted = (name,) if name.startswith("__") else (name, *_ANY_ATTRIBUTE)  # operators are not asked of `__getattr__`
    if scope is not None and not scope.bindings.keys().isdisjoint(wanted):
        return True
    functions = [outline.functions[q] for qualnames in declaration.methods.values() for q in qualnames]
    if any(a.attr == name for f in functions for a in f.self_assignments):
        return True
    if not name.startswith("__") and any(_sets_by_name(f, name, cls) for f in functions):
        return True
    bases = (a.value for a in declaration.bases if a.keyword is None)
    heads = (base.value if isinstance(base, Subscript) else base for base in bases)
    symbols = [model.resolver.resolve(head, cls.module, declaration.scope) for head in heads]
    return any(_gives(s, name) for s in symbols if model.class_of_symbol(s) is None)


def _sets_by_name(method: Function, name: str, cls: PytreeClass) -> bool:
    """Whether a method may set an attribute by its name."""
    named = set_by_name(cls.module.source.rows(*method.body_rows))
    return named is None or name in named


def set_by_name(text: str) -> frozenset[str] | None:
    """The attributes that a text sets by their names; None if it may be any."""
    named = _SET_BY_NAME.findall(text)
    is_any = len(named) < text.count("setattr") or "__dict__" in text or "vars(" in text
    return None if is_any else frozenset(named)


def _gives(base: Symbol, name: str) -> bool:
    """Whether a base class that is not read may have the attribute."""
    if not isinstance(base, External):
        return True
    return base.name not in BY_BASE and may_give(base.name, name)
