"""mypy's types as the values that jaxlint's rules know."""

from __future__ import annotations

from collections.abc import Callable

from mypy import types
from mypy.nodes import TypeInfo
from mypy.types import ProperType, Type, get_proper_type

from jaxlint.infer.known.values import (
    NONE,
    UNKNOWN,
    Array,
    ClassObject,
    Container,
    Instance,
    Scalar,
    Value,
    choice,
)
from jaxlint.pytrees.model import PytreeClass

_MAX_DEPTH = 6
#: The classes behind `jax.Array` and `numpy.ndarray`.
ARRAYS = {
    "jax._src.basearray.Array": "jax",
    "jaxlib._jax.ArrayImpl": "jax",
    "jax.Array": "jax",
    "numpy.ndarray": "numpy",
    "numpy.typing.TypedNDArray": "numpy",
}
SCALARS = frozenset({"int", "float", "bool", "str", "bytes", "complex", "bytearray"})
_CONTAINERS = {
    "builtins.list": "list",
    "builtins.set": "set",
    "builtins.frozenset": "frozenset",
    "builtins.tuple": "tuple",
    "builtins.dict": "dict",
    "collections.deque": "list",
    "collections.OrderedDict": "dict",
    "collections.defaultdict": "dict",
    "typing.Sequence": "sequence",
    "typing.Iterable": "sequence",
    "typing.Collection": "sequence",
    "typing.MutableSequence": "sequence",
    "typing.Mapping": "mapping",
    "typing.MutableMapping": "mapping",
}


class TypeReader:
    """Reads types; `class_of` finds the pytree class of a class that mypy knows."""

    def __init__(self, class_of: Callable[[TypeInfo], PytreeClass | None]) -> None:
        self._class_of = class_of

    def read(self, typ: Type | None, declared: bool = True, depth: int = 0) -> Value:
        """The value of a type. `declared`: an annotation says so, which may be meant loosely."""
        if typ is None or depth > _MAX_DEPTH:
            return UNKNOWN
        proper = get_proper_type(typ)
        if isinstance(proper, types.NoneType):
            return NONE
        if isinstance(proper, types.UnionType):
            return choice([self.read(item, declared, depth + 1) for item in proper.items])
        if isinstance(proper, types.TupleType):
            named = self._named(proper.partial_fallback.type)
            items = tuple(self.read(item, declared, depth + 1) for item in proper.items)
            return Container("tuple", items) if named is None else Instance(named)
        if isinstance(proper, types.LiteralType):
            return self.read(proper.fallback, declared, depth + 1)
        if isinstance(proper, types.TypeVarType):
            return self.read(proper.upper_bound, declared, depth + 1)
        if isinstance(proper, types.Instance):
            return self._instance(proper, declared, depth)
        return self._class_object(proper)

    def _named(self, info: TypeInfo) -> PytreeClass | None:
        return self._class_of(info) if info.is_named_tuple else None

    def _class_object(self, proper: ProperType) -> Value:
        """The class that a type of a class is about."""
        exact = isinstance(proper, types.CallableType) and proper.is_type_obj()
        made: Type | None = None
        if isinstance(proper, types.CallableType) and exact:
            made = proper.ret_type
        elif isinstance(proper, types.TypeType):
            made = proper.item
        instance = get_proper_type(made) if made is not None else None
        if isinstance(instance, types.TupleType):
            instance = instance.partial_fallback
        if isinstance(instance, types.TypeVarType):
            instance = get_proper_type(instance.upper_bound)
        cls = self._class_of(instance.type) if isinstance(instance, types.Instance) else None
        return UNKNOWN if cls is None else ClassObject(cls, exact)

    def _instance(self, instance: types.Instance, declared: bool, depth: int) -> Value:
        info = instance.type
        for base in info.mro[:3]:
            if base.fullname in ARRAYS:
                return Array(ARRAYS[base.fullname], declared=declared)
        package, _, name = info.fullname.rpartition(".")
        if package == "builtins" and name in SCALARS:
            return Scalar(name)
        kind = _CONTAINERS.get(info.fullname)
        if kind is not None:
            element = self.read(instance.args[-1], declared, depth + 1) if instance.args else UNKNOWN
            return Container(kind, None, element)
        cls = self._class_of(info)
        return UNKNOWN if cls is None else Instance(cls)
