"""What known functions, methods and operators do with the values of the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxlint.libraries.neutral import NEUTRAL_DECORATORS
from jaxlint.pytrees.interpreted import (
    UNKNOWN,
    ADeclaration,
    AField,
    AnInstance,
    Annotations,
    Application,
    Attributes,
    Closure,
    FieldValue,
    Given,
    Known,
    Metadata,
    Method,
    Partial,
    Run,
    TheClass,
    Undecided,
    Value,
    truth_of,
)
from jaxlint.syntax.expressions import Attribute, Conditional, Name, Subscript

#: Functions that do nothing to a class that they are given.
_HARMLESS_PACKAGES = frozenset({"builtins", "typing", "functools", "inspect", "abc", "types", "collections", "logging"})
_HARMLESS = NEUTRAL_DECORATORS | {"dataclasses.fields"}
_KEY = "a key of a path"


def call_known(run: Run, name: str, given: list[Value], keywords: dict[str, Value]) -> Value:
    """What a function returns that is known by its name."""
    first = given[0] if given else None
    if name in run.decorators:
        if isinstance(first, TheClass):
            first.applied.append(Application(name, tuple(given[1:]), keywords))
            first.is_dataclass = first.is_dataclass or name.rpartition(".")[2].endswith("dataclass")
            return first
        nodetype = keywords.get("nodetype", keywords.get("cls"))
        if isinstance(nodetype, TheClass):
            return call_known(run, name, [nodetype, *given], {k: v for k, v in keywords.items() if v is not nodetype})
        return Partial(Known(name), tuple(value for value in given if value is not None), keywords)
    if name in run.field_functions:
        return ADeclaration(name, tuple(given), keywords)
    if name == "functools.partial" and given:
        return Partial(first, tuple(given[1:]), keywords)
    known = _FUNCTIONS.get(name)
    if known is not None:
        try:
            return known(run, *given, **keywords)
        except TypeError:
            raise Undecided from None
    if name.startswith("jax.tree_util.") and name.endswith("Key"):
        return _KEY
    harmless = name in _HARMLESS or name.partition(".")[0] in _HARMLESS_PACKAGES
    for value in (*given, *keywords.values()):
        if isinstance(value, TheClass) and not harmless:
            value.escaped = True
    return UNKNOWN


# -- functions ----------------------------------------------------------------------------------


def _fields(run: Run, cls: Value) -> Value:
    owner = cls.cls if isinstance(cls, AnInstance) else cls
    if not isinstance(owner, TheClass):
        raise Undecided
    return tuple(owner.fields)


def _is_dataclass(run: Run, cls: Value) -> Value:
    return cls.is_dataclass if isinstance(cls, TheClass) else UNKNOWN


def _getattr(run: Run, value: Value, name: Value, *default: Value) -> Value:
    if not isinstance(name, str):
        return UNKNOWN
    if isinstance(value, TheClass) and default:
        return attribute(value, name) if name in value.taken or name in value.attributes else default[0]
    return attribute(value, name)


def _setattr(run: Run, value: Value, name: Value, new: Value) -> Value:
    if isinstance(value, TheClass):
        if not isinstance(name, str):
            raise Undecided
        value.attributes[name] = new
    return None


def _hasattr(run: Run, value: Value, name: Value) -> Value:
    if isinstance(value, TheClass) and isinstance(name, str):
        if name == "__dataclass_fields__":
            return value.is_dataclass
        return name in value.taken or name in value.attributes
    if isinstance(value, Known) and f"{value.name}.{name}" in run.decorators:
        return True
    return UNKNOWN


def _dict(run: Run, *given: Value, **keywords: Value) -> Value:
    if not given:
        return keywords
    found = given[0]
    if isinstance(found, dict):
        return {**found, **keywords}
    if isinstance(found, (list, tuple)) and all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in found):
        pairs: dict[Value, Value] = {}
        for key, value in found:
            store_item(pairs, key, value)
        return {**pairs, **keywords}
    return UNKNOWN


def _collection(kind: Callable[[Any], Any]) -> Callable[..., Value]:
    def make(run: Run, *given: Value) -> Value:
        if not given:
            return kind(())
        if not isinstance(given[0], (list, tuple, set, frozenset, dict, str)):
            return UNKNOWN
        try:
            return kind(given[0])
        except TypeError:
            return UNKNOWN

    return make


def _map(run: Run, function: Value, *given: Value) -> Value:
    if not all(isinstance(one, (list, tuple)) for one in given):
        return UNKNOWN
    return [run.call(function, list(items), {}) for items in zip(*given, strict=False)]


def _filter(run: Run, function: Value, given: Value) -> Value:
    if not isinstance(given, (list, tuple)):
        return UNKNOWN
    return [one for one in given if truth_of(one if function is None else run.call(function, [one], {}))]


def _zip(run: Run, *given: Value, **keywords: Value) -> Value:
    if not all(isinstance(one, (list, tuple)) for one in given):
        return UNKNOWN
    return list(zip(*given, strict=False))


def _enumerate(run: Run, given: Value) -> Value:
    return list(enumerate(given)) if isinstance(given, (list, tuple)) else UNKNOWN


def _len(run: Run, given: Value) -> Value:
    return len(given) if isinstance(given, (list, tuple, set, dict, str)) else UNKNOWN


def _any(run: Run, given: Value) -> Value:
    return any(map(truth_of, given)) if isinstance(given, (list, tuple)) else UNKNOWN


def _all(run: Run, given: Value) -> Value:
    return all(map(truth_of, given)) if isinstance(given, (list, tuple)) else UNKNOWN


def _sorted(run: Run, given: Value, **keywords: Value) -> Value:
    if keywords or not isinstance(given, (list, tuple, set)) or not all(isinstance(one, str) for one in given):
        return UNKNOWN
    return sorted(given)


def _callable(run: Run, value: Value) -> Value:
    if isinstance(value, (TheClass, Closure, Known, Partial)):
        return True
    return False if value is None or isinstance(value, (str, bool, int, list, dict)) else UNKNOWN


def _isinstance(run: Run, value: Value, kinds: Value) -> Value:
    names = {kind.name for kind in (kinds if isinstance(kinds, tuple) else (kinds,)) if isinstance(kind, Known)}
    if isinstance(value, TheClass) and "builtins.type" in names:
        return True
    if value is None or isinstance(value, (str, bool, int, list, dict, tuple, set)):
        known = {f"builtins.{base.__name__}" for base in type(value).__mro__}
        return bool(known & names)
    return UNKNOWN


def _bool(run: Run, *given: Value) -> Value:
    return truth_of(given[0]) if given else False


def _type(run: Run, *given: Value) -> Value:
    return given[0].cls if len(given) == 1 and isinstance(given[0], AnInstance) else UNKNOWN


def _second(run: Run, _: Value, value: Value) -> Value:
    return value


def _first(run: Run, value: Value, *_: Value) -> Value:
    return value


def _vars(run: Run, value: Value) -> Value:
    return attribute(value, "__dict__")


def _annotations(run: Run, value: Value, **_: Value) -> Value:
    return attribute(value, "__annotations__")


def _nothing(run: Run, *_: Value, **__: Value) -> Value:
    return None


def _replace(run: Run, instance: Value, **_: Value) -> Value:
    return AnInstance(instance.cls, is_made=True) if isinstance(instance, AnInstance) else UNKNOWN


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "dataclasses.fields": _fields,
    "dataclasses.is_dataclass": _is_dataclass,
    "builtins.getattr": _getattr,
    "builtins.setattr": _setattr,
    "builtins.hasattr": _hasattr,
    "builtins.dict": _dict,
    "types.MappingProxyType": _dict,
    "builtins.list": _collection(list),
    "builtins.tuple": _collection(tuple),
    "builtins.set": _collection(set),
    "builtins.frozenset": _collection(frozenset),
    "builtins.map": _map,
    "builtins.filter": _filter,
    "builtins.zip": _zip,
    "builtins.enumerate": _enumerate,
    "builtins.len": _len,
    "builtins.any": _any,
    "builtins.all": _all,
    "builtins.sorted": _sorted,
    "builtins.callable": _callable,
    "builtins.isinstance": _isinstance,
    "builtins.bool": _bool,
    "builtins.type": _type,
    "builtins.vars": _vars,
    "builtins.print": _nothing,
    "inspect.get_annotations": _annotations,
    "typing.get_type_hints": _annotations,
    "dataclasses.replace": _replace,
    "typing.cast": _second,
    "copy.copy": _first,
    "copy.deepcopy": _first,
}


# -- attributes, items, methods -----------------------------------------------------------------


def attribute(held: Value, name: str) -> Value:
    """`held.name`."""
    match held:
        case Known(name=known):
            return Known(f"{known}.{name}")
        case AField():
            return {"name": held.name, "metadata": Metadata(held), "init": held.init}.get(name, UNKNOWN)
        case AnInstance(cls=cls) if name == "__class__":
            return cls
        case AnInstance(cls=cls) if name == "__dict__":
            return {field.name: FieldValue(field.name) for field in cls.fields}
        case AnInstance(cls=cls):
            return FieldValue(name) if any(field.name == name for field in cls.fields) else Method(held, name)
        case TheClass():
            return _class_attribute(held, name)
        case list() | dict() | set() | str() | tuple() | Metadata() | Attributes():
            return Method(held, name)
    return UNKNOWN


def _class_attribute(cls: TheClass, name: str) -> Value:
    if name in cls.attributes:
        return cls.attributes[name]
    if name in ("__name__", "__qualname__"):
        return cls.name
    if name == "__dict__":
        return Attributes(cls)
    if name == "__dataclass_fields__" and cls.is_dataclass:
        return {field.name: field for field in cls.fields}
    if name == "__annotations__":
        return Annotations({field.name: UNKNOWN for field in cls.fields})
    return UNKNOWN


#: What the namespace of each class holds that has fields.
_OF_EACH_CLASS = frozenset({"__annotations__", "__dict__", "__doc__", "__module__", "__weakref__"})


def metadata_item(run: Run, metadata: Metadata, key: Value, default: Value) -> Value:
    """The value of a key in the metadata of a field."""
    field = metadata.field
    if isinstance(key, str):
        run.asked.add(key)
    if not isinstance(key, str):
        return UNKNOWN
    if key not in field.metadata:
        return default
    value = field.metadata[key]
    return UNKNOWN if value is None else value


def item(run: Run, held: Value, index: Value) -> Value:
    """`held[index]`."""
    if isinstance(held, Metadata):
        return metadata_item(run, held, index, UNKNOWN)
    if isinstance(held, Attributes) and isinstance(index, str):
        return _class_attribute(held.cls, index)
    found: Any = held
    if isinstance(held, (dict, list, tuple)) and isinstance(index, (str, int)):
        try:
            return found[index]
        except (KeyError, IndexError, TypeError):
            raise Undecided from None
    return UNKNOWN


def store_item(held: Value, index: Value, value: Value) -> None:
    """`held[index] = value`. Raises `Undecided` where that changes what is known."""
    if isinstance(held, dict):
        if isinstance(held, Annotations) or not isinstance(index, (str, int, bool, type(None))):
            raise Undecided
        held[index] = value
    elif isinstance(held, list):
        raise Undecided


def call_method(run: Run, method: Method, given: list[Value], keywords: dict[str, Value]) -> Value:
    """What a method of a value returns."""
    held, name = method.value, method.name
    if isinstance(held, Metadata) and name == "get" and given:
        return metadata_item(run, held, given[0], given[1] if len(given) > 1 else keywords.get("default"))
    if isinstance(held, Attributes) and name == "get" and given:
        if _contains(held, given[0]) is not False:
            return item(run, held, given[0])
        return given[1] if len(given) > 1 else None
    if isinstance(held, Annotations) and name in ("pop", "setdefault", "update"):
        raise Undecided
    if isinstance(held, (list, dict, set, str)) and name in _METHODS:
        made = getattr(held, name, None)
        if made is not None:
            try:
                result = made(*given, **keywords)
            except (TypeError, KeyError, ValueError, IndexError):
                raise Undecided from None
            return list(result) if name in ("keys", "values", "items") else result
    if isinstance(held, (list, dict, set)):
        raise Undecided
    return UNKNOWN


_METHODS = frozenset(
    "append extend insert get setdefault pop keys values items update copy add startswith endswith lower upper strip"
    " split union difference".split()
)


def compared(op: str, left: Value, right: Value) -> Value:
    """`left op right`."""
    if op in ("in", "not in"):
        found = _contains(right, left)
        return found if found is UNKNOWN or op == "in" else not found
    if op in ("is", "is not"):
        if any(isinstance(side, Known) and side.is_sentinel for side in (left, right)):
            either_may_be = any(side is UNKNOWN or _may_be_named(side) for side in (left, right))
            return UNKNOWN if either_may_be else (left == right) is (op == "is")
        if left is UNKNOWN or right is UNKNOWN or isinstance(left, Given) or isinstance(right, Given):
            return UNKNOWN
        if left is None or right is None or isinstance(left, (bool, TheClass)):
            return (left is right) is (op == "is")
        return UNKNOWN
    plain = (str, int, bool, type(None))
    if isinstance(left, plain) and isinstance(right, plain) and op in ("==", "!="):
        return (left == right) is (op == "==")
    return UNKNOWN


def _may_be_named(value: Value) -> bool:
    """Whether a value is an expression that may be another name of something."""
    return isinstance(value, Given) and isinstance(value.expr, (Name, Attribute, Conditional, Subscript))


def _contains(held: Value, key: Value) -> Value:
    if isinstance(held, Attributes) and isinstance(key, str):
        return key in held.cls.attributes or key in held.cls.taken or key in _OF_EACH_CLASS
    if isinstance(held, Metadata) and isinstance(key, str):
        return key in held.field.metadata
    if isinstance(held, (list, tuple, set, frozenset, dict, str)) and isinstance(key, (str, int, bool, type(None))):
        if isinstance(held, (list, tuple)) and UNKNOWN in held:
            return UNKNOWN
        try:
            return key in held
        except TypeError:
            return UNKNOWN
    return UNKNOWN
