"""What the methods of a pytree class take: its fields by name, and mypy's types of them.

Under `jit` a field `n: int` holds an array, and a field of arrays is given plain numbers where it is made. So numbers
and arrays stand for each other, alone and in containers, unless `jaxlint-strict-replace` is enabled.
"""

from __future__ import annotations

from mypy import nodes
from mypy.expandtype import expand_type, expand_type_by_instance
from mypy.maptype import map_instance_to_supertype
from mypy.nodes import ArgKind, TypeInfo
from mypy.semanal_shared import has_placeholder
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Instance,
    TupleType,
    Type,
    TypeOfAny,
    TypeVarType,
    UninhabitedType,
    UnionType,
    get_proper_type,
)
from mypy.typevars import fill_typevars

from jaxlint.libraries.updates import TRAIN_STATE
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.updating import accepted_keywords
from jaxlint_mypy.front import FrontEnd
from jaxlint_mypy.internals import attributes_asked_for
from jaxlint_mypy.values import ARRAYS, SCALARS

ANY = AnyType(TypeOfAny.explicit)
#: What `TrainState.create` names itself, and what it sets by itself.
_CREATE_GIVEN = ("apply_fn", "params", "tx")
_CREATE_SET = ("step", "opt_state")
_SCALARS = {f"builtins.{name}" for name in SCALARS - {"str", "bytes", "bytearray"}}
_NUMERIC = {"numpy.generic", *ARRAYS, *_SCALARS}
_INIT_VAR = "dataclasses.InitVar"
_FROZEN_DICT = "flax.core.frozen_dict.FrozenDict"
_MAX_DEPTH = 4
Parameters = list[tuple[str, ArgKind, Type]]


def replaced(cls: PytreeClass) -> list[str] | None:
    """The names that `replace` takes, in the order of the fields; None if that cannot be determined."""
    accepted = accepted_keywords(cls)
    if accepted is None:
        return None
    fixed = {field.name for field in cls.fields if not field.init}
    order = [*(f.name for f in cls.fields), *cls.init_vars]
    order += sorted(accepted - set(order))
    return [name for name in dict.fromkeys(order) if name in accepted and name not in fixed]


def kind_replaced(cls: PytreeClass, name: str) -> ArgKind:
    """Whether `replace` must be given something: an `InitVar` without a default, which no instance has kept."""
    named = [one for one in cls.members if one.name == name and one.is_init_var]
    needed = any(not (one.has_default or one.opaque) for one in named)
    return nodes.ARG_NAMED if needed and cls.custom_init() is None else nodes.ARG_NAMED_OPT


def of_gradients(named: Parameters) -> Parameters:
    """The parameters of `apply_gradients`."""
    set_there = ("params", "opt_state", "step", "grads")
    return [("grads", nodes.ARG_NAMED, ANY), *(one for one in named if one[0] not in set_there)]


def of_create(named: Parameters, cls: PytreeClass) -> Parameters:
    """The parameters of `create`: fields that have no default must be given."""
    parameters: Parameters = [(name, nodes.ARG_NAMED, ANY) for name in _CREATE_GIVEN]
    for name, _, typ in named:
        if name not in (*_CREATE_GIVEN, *_CREATE_SET):
            field = cls.field(name)
            optional = field is None or field.has_default or field.opaque
            parameters.append((name, nodes.ARG_NAMED_OPT if optional else nodes.ARG_NAMED, typ))
    return parameters


def instance_of(typ: Type | None) -> Instance | None:
    """The instance that a type is; of a tuple, a named one too, the class behind it, of a type variable its bound."""
    proper = None if typ is None else get_proper_type(typ)
    if isinstance(proper, TypeVarType):
        proper = get_proper_type(proper.upper_bound)
    if isinstance(proper, TupleType):
        proper = proper.partial_fallback
    return proper if isinstance(proper, Instance) else None


def with_keyword(signature: CallableType, name: str, typ: Type) -> CallableType:
    """A signature that takes a keyword of a type, whether it did before or not."""
    known = zip(signature.arg_names, signature.arg_kinds, signature.arg_types, strict=True)
    others = [one for one in known if one[0] != name]
    return signature.copy_modified(
        arg_names=[*(text for text, _, _ in others), name],
        arg_kinds=[*(kind for _, kind, _ in others), nodes.ARG_NAMED_OPT],
        arg_types=[*(one for _, _, one in others), typ],
    )


def with_asked(signature: CallableType, receiver: Type) -> CallableType:
    """A signature that takes by keyword, too, what its receiver has besides what its class says."""
    instance = instance_of(receiver)
    for name in [] if instance is None else attributes_asked_for(instance):
        if name not in signature.arg_names:
            signature = with_keyword(signature, name, ANY)
    return signature


def field_type(receiver: Instance, name: str) -> Type:
    """mypy's type of a field, as far as it is known by now."""
    owner = receiver.type.get_containing_type_info(name)
    if owner is None:
        return _init_var_type(receiver, name)
    symbol = owner.names.get(name)
    if symbol is None or not isinstance(symbol.node, nodes.Var) or symbol.type is None:
        return ANY
    if owner.fullname == TRAIN_STATE or has_placeholder(symbol.type) or is_frozen_dict(symbol.type):
        return ANY
    typ = expand_type_by_instance(symbol.type, map_instance_to_supertype(receiver, owner))
    if owner.self_type is not None:
        typ = expand_type(typ, {owner.self_type.id: receiver})
    proper = get_proper_type(typ)
    if isinstance(proper, Instance) and proper.type.fullname == _INIT_VAR:
        return proper.args[0] if proper.args else ANY
    return typ


def is_frozen_dict(typ: Type) -> bool:
    """Whether a field is annotated as flax's FrozenDict: that is what `init` returned once, and returns no more."""
    proper = get_proper_type(typ)
    items = map(get_proper_type, proper.items) if isinstance(proper, UnionType) else [proper]
    return any(isinstance(item, Instance) and item.type.fullname == _FROZEN_DICT for item in items)


def _init_var_type(receiver: Instance, name: str) -> Type:
    """The type of an `InitVar`, which mypy's dataclasses keep nowhere but in the constructor that they make."""
    owner = receiver.type.get_containing_type_info("__init__")
    symbol = owner.names["__init__"] if owner is not None else None
    typ = get_proper_type(symbol.type) if symbol is not None and symbol.plugin_generated else None
    if owner is None or not isinstance(typ, CallableType) or name not in typ.arg_names:
        return ANY
    return expand_type_by_instance(typ.arg_types[typ.arg_names.index(name)], map_instance_to_supertype(receiver, owner))


def filled(info: TypeInfo) -> Instance | None:
    """The instance of a class within itself."""
    found = fill_typevars(info)
    return found if isinstance(found, Instance) else None


# -- numbers and arrays stand for each other ---------------------------------------------------------


def widened(front: FrontEnd, typ: Type, depth: int = 0) -> Type:
    """A type that takes any number or array where `typ` takes one."""
    proper = get_proper_type(typ)
    if isinstance(proper, CallableType):
        return _any_function(proper)
    if depth > _MAX_DEPTH or not is_loose(proper):
        return typ
    if isinstance(proper, UnionType):
        return UnionType.make_union([widened(front, item, depth + 1) for item in proper.items])
    if isinstance(proper, TupleType):
        return proper.copy_modified(items=[widened(front, item, depth + 1) for item in proper.items])
    if not isinstance(proper, Instance):
        return typ
    if _is_number(proper.type):
        return UnionType.make_union([proper, *[one for one in front.numeric if one.type is not proper.type]])
    # many containers are invariant, so that an argument cannot be made wider
    return proper.copy_modified(args=[ANY if is_numeric(argument) else argument for argument in proper.args])


def _any_function(typ: CallableType) -> CallableType:
    """A function of any parameters and result: what `partial` and transformations leave of one is rarely typed well."""
    return typ.copy_modified(
        arg_types=[ANY, ANY],
        arg_kinds=[nodes.ARG_STAR, nodes.ARG_STAR2],
        arg_names=[None, None],
        ret_type=ANY,
        variables=[],
        is_ellipsis_args=True,
    )


def is_loose(typ: Type) -> bool:
    """Whether something else than a type says may be given for it: for numbers, arrays and functions."""
    proper = get_proper_type(typ)
    items = proper.items if isinstance(proper, UnionType) else [proper]
    return is_numeric(proper) or any(isinstance(get_proper_type(item), CallableType) for item in items)


def is_numeric(typ: Type, depth: int = 0) -> bool:
    """Whether values of the type are numbers or arrays, or hold some."""
    proper = get_proper_type(typ)
    if depth > _MAX_DEPTH:
        return False
    if isinstance(proper, UnionType):
        return any(is_numeric(item, depth + 1) for item in proper.items)
    if isinstance(proper, TupleType):
        return any(is_numeric(item, depth + 1) for item in proper.items)
    if isinstance(proper, Instance):
        if _is_number(proper.type):
            return True
        return any(is_numeric(argument, depth + 1) for argument in proper.args)
    return False


def _is_number(info: TypeInfo) -> bool:
    """Whether instances of a class are numbers or arrays; an `IntEnum` is a number, and so is a `NewType` of `int`."""
    return not _NUMERIC.isdisjoint(base.fullname for base in info.mro)


def may_be_scalar(typ: Type) -> bool:
    """Whether a type names a number of Python's, alone or among others."""
    proper = get_proper_type(typ)
    items = map(get_proper_type, proper.items) if isinstance(proper, UnionType) else [proper]
    return any(isinstance(item, Instance) and item.type.fullname in _SCALARS for item in items)


def is_exact(cls: PytreeClass, name: str, typ: Type) -> bool:
    """Whether nothing may stand for what a field is declared as: a number in a static field, which is never traced."""
    field, proper = cls.field(name), get_proper_type(typ)
    items = map(get_proper_type, proper.items) if isinstance(proper, UnionType) else [proper]
    plain = (isinstance(item, Instance) and item.type.fullname in _SCALARS for item in items if is_loose(item))
    is_static = field is not None and field.role is Role.STATIC and not cls.framework.static_by_annotation
    return is_static and all(plain)


def is_jax_array(typ: Type) -> bool:
    """Whether values of a type are arrays of jax."""
    proper = get_proper_type(typ)
    return isinstance(proper, Instance) and any(ARRAYS.get(base.fullname) == "jax" for base in proper.type.mro)


def fits(wanted: Type, actual: Type, depth: int = 0) -> bool:
    """Whether a number or array is given where a number or array is wanted, alone or in a like container."""
    formal, given = get_proper_type(wanted), get_proper_type(actual)
    if depth > _MAX_DEPTH:
        return False
    if isinstance(given, (AnyType, UninhabitedType)) or isinstance(formal, AnyType):
        return True
    if isinstance(formal, UnionType):
        return any(fits(item, given, depth + 1) for item in formal.items)
    if isinstance(given, UnionType):
        return any(fits(formal, item, depth + 1) for item in given.items)
    if isinstance(formal, TupleType) and isinstance(given, TupleType):
        if len(formal.items) != len(given.items):
            return False
        return all(fits(f, g, depth + 1) for f, g in zip(formal.items, given.items, strict=True))
    if isinstance(formal, Instance) and isinstance(given, TupleType) and formal.args:
        is_held = formal.type in given.partial_fallback.type.mro
        return is_held and all(fits(formal.args[0], item, depth + 1) for item in given.items)
    if isinstance(formal, CallableType):
        return isinstance(given, FunctionLike) or (
            isinstance(given, Instance) and given.type.has_readable_member("__call__")
        )
    if not isinstance(formal, Instance) or not isinstance(given, Instance):
        return formal == given
    if _is_number(formal.type):
        return _is_number(given.type)
    if formal.type not in given.type.mro:
        return False
    given = map_instance_to_supertype(given, formal.type)
    return all(fits(f, g, depth + 1) for f, g in zip(formal.args, given.args, strict=True))
