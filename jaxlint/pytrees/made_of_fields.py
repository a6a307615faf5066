"""Whether the constructor of a class takes its fields, as `dataclasses.replace` passes them."""

from __future__ import annotations

from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Definition, Function


def own_init(cls: PytreeClass) -> Function | None:
    """The written `__init__` that constructs instances, if its parameters are those of the constructor."""
    init = cls.custom_init()
    found = cls.method("__init__")
    if init is None or found is None or init.decorators or not init.parameters:
        return None
    if has_metaclass(cls) or any("__new__" in c.symbol.declaration.methods for c in cls.mro):
        return None
    if found[0] is not cls and not cls.bases_known:
        return None
    return None if is_init_guarded(cls) else init


def has_metaclass(cls: PytreeClass) -> bool:
    """Whether a class, or one above it, names a metaclass."""
    return any(argument.keyword == "metaclass" for c in cls.mro for argument in c.symbol.declaration.bases)


def is_init_guarded(cls: PytreeClass) -> bool:
    """Whether the written `__init__` need not be there, or is there for type checkers only."""
    found = cls.method("__init__")
    if found is None:
        return False
    owner = found[0]
    binding = owner.module.outline.scopes[owner.symbol.declaration.qualname].bindings["__init__"][-1]
    return not isinstance(binding, Definition) or bool(binding.guard)


def takes_fields(cls: PytreeClass) -> bool | None:
    """Whether the constructor can be called with the fields by name and with nothing else; None if nobody knows."""
    if cls.custom_init() is None:
        return True if cls.fields_known and not cls.unknown_decorator else None
    init = own_init(cls)
    if init is None or cls.unknown_decorator:
        return None
    passed = {f.name for f in cls.fields if f.init}
    named = {p.name: p for p in init.parameters[1:] if p.kind in ("positional", "keyword")}
    if not passed <= named.keys():
        takes_more = any(p.kind == "**" for p in init.parameters)
        return None if takes_more or not cls.fields_known else False
    required = {p.name for p in named.values() if p.default is None}
    if not cls.fields_known:
        return None
    return required <= passed
