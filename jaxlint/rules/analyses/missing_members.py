"""What instances of a class certainly do not have: a method, or the operators that a method stands for."""

from __future__ import annotations

import builtins

from jaxlint.infer.evaluate import Evaluator
from jaxlint.project.resolution import External, Symbol
from jaxlint.pytrees.frameworks import BY_BASE
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.stubs import is_stub
from jaxlint.syntax.expressions import Call, Constant, dotted

#: What gives instances attributes that no class declares.
_ANY_ATTRIBUTE = ("__getattr__", "__getattribute__")
#: Modules of the standard library whose classes say what others are like, and have few methods of their own.
_ABSTRACT = frozenset({"typing", "typing_extensions", "abc", "enum", "collections.abc", "dataclasses"})
#: Classes of these modules that are like a dict or a list.
_CONTAINERS = frozenset({"Dict", "List", "DefaultDict", "OrderedDict", "Deque", "Counter", "ChainMap"})


def lacks_attribute(cls: PytreeClass, name: str, evaluator: Evaluator) -> bool:
    """Whether instances of a class certainly have no attribute of that name."""
    framework = cls.framework
    if not cls.bases_known or cls.unknown_decorator or cls.field(name) is not None:
        return False
    if framework.replace_method == name or name in framework.copying_methods:
        return False
    return not any(_may_have(c, name, evaluator) for c in cls.mro)


def _may_have(cls: PytreeClass, name: str, evaluator: Evaluator) -> bool:
    """Whether a class of the MRO gives its instances the attribute, as far as its own body goes."""
    declaration, outline = cls.symbol.declaration, cls.module.outline
    if cls.unknown_decorator or (declaration.conditional_body and not is_stub(cls.module)):
        return True
    if f"{cls.name}.{name}" in outline.attributes_set or any(_sets(call, name) for call in outline.module_calls):
        return True
    scope = outline.scopes.get(declaration.qualname)
    wanted = (name,) if name.startswith("__") else (name, *_ANY_ATTRIBUTE)  # operators are not asked of `__getattr__`
    if scope is not None and not scope.bindings.keys().isdisjoint(wanted):
        return True
    functions = [outline.functions[q] for qualnames in declaration.methods.values() for q in qualnames]
    if any(a.attr == name for f in functions for a in f.self_assignments):
        return True
    bases = (a.value for a in declaration.bases if a.keyword is None)
    symbols = [evaluator.model.resolver.resolve(base, cls.module, declaration.scope) for base in bases]
    return any(_gives(s, name) for s in symbols if evaluator.model.class_of_symbol(s) is None)


def _gives(base: Symbol, name: str) -> bool:
    """Whether a base class that is not read may have the attribute."""
    if not isinstance(base, External) or base.name in BY_BASE:
        return False
    module, _, last = base.name.rpartition(".")
    if module == "builtins":
        return hasattr(getattr(builtins, last, None), name)
    return not (module in _ABSTRACT and last not in _CONTAINERS and not last.startswith("Mutable"))


def _sets(call: Call, name: str) -> bool:
    """Whether a call is `setattr(cls, "name", ...)`."""
    given = call.positional[1] if len(call.positional) > 1 else None
    return dotted(call.func) == "setattr" and isinstance(given, Constant) and given.value == name
