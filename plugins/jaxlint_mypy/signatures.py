"""The exact signatures of `replace`, and of TrainState's `create` and `apply_gradients`."""

from __future__ import annotations

from mypy import nodes
from mypy.checker import TypeChecker
from mypy.expandtype import expand_type_by_instance
from mypy.maptype import map_instance_to_supertype
from mypy.nodes import ArgKind, CallExpr, TypeInfo
from mypy.plugin import MethodSigContext
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Instance,
    ProperType,
    TupleType,
    Type,
    TypeOfAny,
    TypeType,
    TypeVarType,
    UnionType,
    get_proper_type,
)

from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.updates import accepted_keywords
from jaxlint_mypy.codes import STRICT_REPLACE
from jaxlint_mypy.front import FrontEnd
from jaxlint_mypy.values import ARRAYS, SCALARS

_ANY = AnyType(TypeOfAny.explicit)
_TRAIN_STATE = "flax.training.train_state.TrainState"
#: What `TrainState.create` names itself, and what it sets by itself.
_CREATE_GIVEN = ("apply_fn", "params", "tx")
_CREATE_SET = ("step", "opt_state")
_NUMBERS = frozenset(f"builtins.{name}" for name in SCALARS - {"str", "bytes", "bytearray"})
_MAX_DEPTH = 4
_Parameters = list[tuple[str, ArgKind, Type]]


class Signatures:
    """Gives methods that take any keyword the signature that they have at run time."""

    def __init__(self, front: FrontEnd) -> None:
        self.front = front

    def replace(self, ctx: MethodSigContext) -> FunctionLike:
        """`x.replace(...)`: the fields, keyword-only."""
        receiver = _instance(ctx.type)
        cls = self.front.class_of(receiver.type) if receiver is not None else None
        fields = None if cls is None or receiver is None else self._fields(ctx, cls, receiver)
        if fields is None or receiver is None:
            return ctx.default_signature
        return _signature(ctx, fields, ctx.type, receiver.type, "replace")

    def apply_gradients(self, ctx: MethodSigContext) -> FunctionLike:
        """`state.apply_gradients(grads=..., field=...)`."""
        receiver = _instance(ctx.type)
        cls = self.front.class_of(receiver.type) if receiver is not None else None
        if cls is None or receiver is None or not _is_flax_method(receiver.type, "apply_gradients"):
            return ctx.default_signature
        fields = self._fields(ctx, cls, receiver)
        if fields is None:
            return ctx.default_signature
        fields = [f for f in fields if f[0] not in ("params", "opt_state", "step", "grads")]
        parameters: _Parameters = [("grads", nodes.ARG_NAMED, _ANY), *fields]
        return _signature(ctx, parameters, ctx.type, receiver.type, "apply_gradients")

    def create(self, ctx: MethodSigContext) -> FunctionLike:
        """`State.create(apply_fn=..., params=..., tx=..., field=...)`, which makes a `State`."""
        made = _made(get_proper_type(ctx.type))
        receiver = _instance(made) if made is not None else None
        cls = self.front.class_of(receiver.type) if receiver is not None else None
        if made is None or cls is None or receiver is None or not _is_flax_method(receiver.type, "create"):
            return ctx.default_signature
        fields = self._fields(ctx, cls, receiver)
        if fields is None:
            return ctx.default_signature
        parameters: _Parameters = [(name, nodes.ARG_NAMED, _ANY) for name in _CREATE_GIVEN]
        for name, _, typ in fields:
            if name not in (*_CREATE_GIVEN, *_CREATE_SET):
                field = cls.field(name)
                optional = field is None or field.has_default or field.opaque
                parameters.append((name, nodes.ARG_NAMED_OPT if optional else nodes.ARG_NAMED, typ))
        return _signature(ctx, parameters, made, receiver.type, "create")

    def _fields(self, ctx: MethodSigContext, cls: PytreeClass, receiver: Instance) -> _Parameters | None:
        """What may be replaced, with types; None if that cannot be told."""
        if isinstance(ctx.api, TypeChecker):
            self.front.depend(ctx.api, *receiver.type.mro)
        accepted = accepted_keywords(cls)
        if accepted is None:
            return None
        fixed = {field.name for field in cls.fields if not field.init}
        given = _given(ctx)
        order = [*(f.name for f in cls.fields), *cls.init_vars]
        order += sorted(accepted - set(order))
        names = [name for name in dict.fromkeys(order) if name in accepted and name not in fixed]
        return [(n, nodes.ARG_NAMED_OPT, self._type(ctx, receiver, n, given.get(n))) for n in names]

    def _type(self, ctx: MethodSigContext, receiver: Instance, name: str, given: nodes.Expression | None) -> Type:
        """The type that a field may be given; arrays and numbers stand for each other unless told otherwise."""
        owner = receiver.type.get_containing_type_info(name)
        symbol = owner.names.get(name) if owner is not None else None
        if owner is None or symbol is None or symbol.type is None or not isinstance(symbol.node, nodes.Var):
            return _ANY
        typ = expand_type_by_instance(symbol.type, map_instance_to_supertype(receiver, owner))
        checker = ctx.api
        if not isinstance(checker, TypeChecker):
            return typ
        if STRICT_REPLACE in checker.options.enabled_error_codes:
            return typ
        if given is None:
            return _ANY if _has_splat(ctx) else typ  # mypy takes what `**changes` holds for the value of each field
        if owner.fullname == _TRAIN_STATE:
            return _ANY  # `params` is annotated as a FrozenDict, and is a plain dict nearly everywhere
        if not _is_numeric(typ):
            return typ
        with checker.msg.filter_errors():
            actual = checker.get_expression_type(given)
        return _ANY if _fits(typ, actual) else typ


def taking_any_keyword(signature: CallableType) -> CallableType:
    """A signature that takes any further keywords."""
    return signature.copy_modified(
        arg_names=[*signature.arg_names, "keywords"],
        arg_kinds=[*signature.arg_kinds, nodes.ARG_STAR2],
        arg_types=[*signature.arg_types, _ANY],
    )


def _given(ctx: MethodSigContext) -> dict[str, nodes.Expression]:
    call = ctx.context
    if not isinstance(call, CallExpr):
        return {}
    return {name: value for name, value in zip(call.arg_names, call.args, strict=True) if name is not None}


def _has_splat(ctx: MethodSigContext) -> bool:
    return isinstance(ctx.context, CallExpr) and nodes.ARG_STAR2 in ctx.context.arg_kinds


def _signature(
    ctx: MethodSigContext, parameters: _Parameters, returned: Type, info: TypeInfo, name: str
) -> CallableType:
    signature = ctx.default_signature.copy_modified(
        arg_names=[name for name, _, _ in parameters],
        arg_kinds=[kind for _, kind, _ in parameters],
        arg_types=[typ for _, _, typ in parameters],
        ret_type=returned,
        variables=[],
        name=f"{name} of {info.name}",
        implicit=False,
    )
    signature.definition = None
    return signature


def _instance(typ: Type) -> Instance | None:
    proper = get_proper_type(typ)
    if isinstance(proper, TypeVarType):
        proper = get_proper_type(proper.upper_bound)
    if isinstance(proper, TupleType):
        proper = proper.partial_fallback
    return proper if isinstance(proper, Instance) else None


def _made(proper: ProperType) -> Type | None:
    """What a class makes."""
    if isinstance(proper, CallableType) and proper.is_type_obj():
        return proper.ret_type
    if isinstance(proper, TypeType):
        return proper.item
    return None


def _is_flax_method(info: TypeInfo, name: str) -> bool:
    """Whether flax's own method is called, and no override of the user's."""
    owner = info.get_containing_type_info(name)
    return owner is not None and owner.fullname == _TRAIN_STATE


# -- values that stand for each other ----------------------------------------------------------------


def _is_numeric(typ: Type, depth: int = 0) -> bool:
    """Whether values of the type are numbers or arrays, or hold some."""
    proper = get_proper_type(typ)
    if depth > _MAX_DEPTH:
        return False
    if isinstance(proper, UnionType):
        return any(_is_numeric(item, depth + 1) for item in proper.items)
    if isinstance(proper, TupleType):
        return any(_is_numeric(item, depth + 1) for item in proper.items)
    if isinstance(proper, Instance):
        if _is_number(proper.type):
            return True
        return any(_is_numeric(argument, depth + 1) for argument in proper.args)
    return False


def _is_number(info: TypeInfo) -> bool:
    if info.fullname in _NUMBERS:
        return True
    return any(base.fullname in ARRAYS or base.fullname == "numpy.generic" for base in info.mro)


def _fits(wanted: Type, actual: Type, depth: int = 0) -> bool:
    """Whether a number or array is given where a number or array is wanted, alone or in a like container."""
    formal, given = get_proper_type(wanted), get_proper_type(actual)
    if depth > _MAX_DEPTH:
        return False
    if isinstance(given, AnyType) or isinstance(formal, AnyType):
        return True
    if isinstance(formal, UnionType):
        return any(_fits(item, given, depth + 1) for item in formal.items)
    if isinstance(given, UnionType):
        return any(_fits(formal, item, depth + 1) for item in given.items)
    if isinstance(formal, TupleType) and isinstance(given, TupleType):
        if len(formal.items) != len(given.items):
            return False
        return all(_fits(f, g, depth + 1) for f, g in zip(formal.items, given.items, strict=True))
    if not isinstance(formal, Instance) or not isinstance(given, Instance):
        return formal == given
    if _is_number(formal.type):
        return _is_number(given.type)
    if formal.type is not given.type or len(formal.args) != len(given.args):
        return False
    return all(_fits(f, g, depth + 1) for f, g in zip(formal.args, given.args, strict=True))
