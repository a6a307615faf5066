"""The signatures of updates where they are called: mypy asks for that, unless the receiver is of a type variable.

They say what the methods that `methods.py` puts on the classes say, but look at what is given: an `int` where an array
is wanted is well, and where it is not, mypy's message names the type of the field and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable

from mypy import nodes
from mypy.checker import TypeChecker
from mypy.erasetype import erase_typevars
from mypy.maptype import map_instance_to_supertype
from mypy.nodes import CallExpr, TypeInfo
from mypy.plugin import FunctionSigContext, MethodSigContext
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Instance,
    ProperType,
    TupleType,
    Type,
    TypedDictType,
    TypeType,
    UnionType,
    get_proper_type,
)

from jaxlint.pytrees.model import PytreeClass
from jaxlint.syntax.expressions import dotted
from jaxlint_mypy.arrays_given import taking_arrays
from jaxlint_mypy.codes import STRICT_REPLACE
from jaxlint_mypy.events import EventFeeder
from jaxlint_mypy.exprs import to_expr
from jaxlint_mypy.internals import type_again
from jaxlint_mypy.methods import is_flax_method
from jaxlint_mypy.parameters import (
    ANY,
    Parameters,
    field_type,
    fits,
    instance_of,
    is_exact,
    is_loose,
    kind_replaced,
    of_create,
    of_gradients,
    replaced,
    with_asked,
)


class Signatures:
    """Gives calls of updates the signature that fits what they are given."""

    def __init__(self, feeder: EventFeeder) -> None:
        self.feeder = feeder
        self.front = feeder.front

    def replace(self, ctx: MethodSigContext) -> FunctionLike:
        """`x.replace(...)`: the fields, keyword-only."""
        receiver = instance_of(ctx.type)
        cls = self.front.class_of(receiver.type) if receiver is not None else None
        fields = None if cls is None or receiver is None else self._fields(ctx, cls, receiver)
        if fields is None or receiver is None:
            return ctx.default_signature
        return _signature(ctx, fields, ctx.type, receiver.type, "replace")

    def apply_gradients(self, ctx: MethodSigContext) -> FunctionLike:
        """`state.apply_gradients(grads=..., field=...)`."""
        receiver = instance_of(ctx.type)
        cls = self.front.class_of(receiver.type) if receiver is not None else None
        if cls is None or receiver is None or not is_flax_method(receiver.type, "apply_gradients"):
            return ctx.default_signature
        fields = self._fields(ctx, cls, receiver)
        if fields is None:
            return ctx.default_signature
        return _signature(ctx, of_gradients(fields), ctx.type, receiver.type, "apply_gradients")

    def create(self, ctx: MethodSigContext) -> FunctionLike:
        """`State.create(apply_fn=..., params=..., tx=..., field=...)`, which makes a `State`."""
        made = _made(get_proper_type(ctx.type))
        receiver = instance_of(made) if made is not None else None
        cls = self.front.class_of(receiver.type) if receiver is not None else None
        if made is None or cls is None or receiver is None or not is_flax_method(receiver.type, "create"):
            return ctx.default_signature
        fields = self._fields(ctx, cls, receiver)
        if fields is None:
            return ctx.default_signature
        return _signature(ctx, of_create(fields, cls), made, receiver.type, "create")

    def _fields(self, ctx: MethodSigContext, cls: PytreeClass, receiver: Instance) -> Parameters | None:
        """What may be replaced, with types; None if that cannot be determined."""
        if isinstance(ctx.api, TypeChecker):
            self.front.depend(ctx.api, *receiver.type.mro)
        names, given = replaced(cls), _given(ctx.context) if isinstance(ctx.context, CallExpr) else {}
        if names is None:
            return None
        known = [(n, kind_replaced(cls, n), self._type(ctx, cls, receiver, n, given.get(n))) for n in names]
        return known + [(n, nodes.ARG_NAMED_OPT, ANY) for n in given if n not in names and self._may_take(ctx, n)]

    def _may_take(self, ctx: MethodSigContext, name: str) -> bool:
        """Whether a keyword that is no field is well: an error is expected, or it is asked if the receiver has it.

        As subclasses may: `getattr(x, "f", None)`.
        """
        call, checker = ctx.context, ctx.api
        if not isinstance(checker, TypeChecker) or not isinstance(call, CallExpr):
            return False
        statements = self.feeder.code(checker)[1]
        if statements.around(call.line).expected:
            return True
        receiver = call.callee.expr if isinstance(call.callee, nodes.MemberExpr) else None
        path = dotted(to_expr(receiver)) if receiver is not None else None
        return path is not None and statements.asks_for(f"{path}.{name}")

    def _type(
        self, ctx: MethodSigContext, cls: PytreeClass, receiver: Instance, name: str, given: nodes.Expression | None
    ) -> Type:
        """The type that a field may be given; arrays and numbers stand for each other unless declared otherwise."""
        call = ctx.context
        if not isinstance(ctx.api, TypeChecker) or not isinstance(call, CallExpr):
            return field_type(receiver, name)
        if given is None and nodes.ARG_STAR2 not in call.arg_kinds:
            return ANY  # which nothing is compared with
        typ = field_type(receiver, name)
        if given is not None and is_exact(cls, name, typ):
            return typ
        return _type_taken(ctx.api, call, typ, given)


def _type_taken(checker: TypeChecker, call: CallExpr, typ: Type, given: nodes.Expression | None) -> Type:
    """What may be given for a field of a type, when `given` is."""
    if STRICT_REPLACE in checker.options.enabled_error_codes:
        return typ
    if given is None:  # mypy takes what `**changes` holds for the value of each field
        return ANY if nodes.ARG_STAR2 in call.arg_kinds else typ
    if not is_loose(typ):
        return typ
    return ANY if fits(typ, _type_given(checker, given)) else typ


def _type_given(checker: TypeChecker, given: nodes.Expression) -> Type:
    """The type of an expression; a list or dict that is written out holds one of what stands in it, and no `object`."""
    if isinstance(given, nodes.ListExpr) and not any(isinstance(item, nodes.StarExpr) for item in given.items):
        return checker.named_generic_type("builtins.list", [_one_of(checker, given.items)])
    if isinstance(given, nodes.DictExpr):
        keys, values = zip(*given.items, strict=True) if given.items else ((), ())
        if None not in keys:
            held = [_one_of(checker, keys), _one_of(checker, values)]
            return checker.named_generic_type("builtins.dict", held)
    return type_again(checker, given)


def _one_of(checker: TypeChecker, expressions: Iterable[nodes.Expression]) -> Type:
    return UnionType.make_union([_type_given(checker, one) for one in expressions])


def taking_any_keyword(signature: CallableType) -> CallableType:
    """A signature that takes any further keywords."""
    return signature.copy_modified(
        arg_names=[*signature.arg_names, "keywords"],
        arg_kinds=[*signature.arg_kinds, nodes.ARG_STAR2],
        arg_types=[*signature.arg_types, ANY],
    )


def _of_mapping(ctx: FunctionSigContext) -> FunctionLike:
    """The constructor of a class of mappings: it takes keywords, or one mapping of them, like that of `dict`.

    mypy alone does not know it, so that numbers and arrays stand for each other there, as in `replace`. What is
    splatted into it is not compared with the types of the fields, as its keys are not known.
    """
    call, checker, signature = ctx.context, ctx.api, ctx.default_signature
    if not isinstance(call, CallExpr) or not isinstance(checker, TypeChecker):
        return signature
    if any(kind.is_named(star=True) for kind in call.arg_kinds):
        given = _given(call)
        taken = [
            _type_taken(checker, call, typ, given.get(name or ""))
            for name, typ in zip(signature.arg_names, signature.arg_types, strict=True)
        ]
        return signature.copy_modified(arg_types=taken)
    if call.arg_kinds != [nodes.ARG_POS]:
        return signature
    if not _may_hold_keywords(get_proper_type(type_again(checker, call.args[0]))):
        return signature
    made = erase_typevars(signature.ret_type)
    return signature.copy_modified(
        arg_types=[ANY], arg_kinds=[nodes.ARG_POS], arg_names=[None], ret_type=made, variables=[]
    )


def of_constructor(cls: PytreeClass, ctx: FunctionSigContext) -> FunctionLike:
    """A constructor: a leaf that is declared as a number takes an array of jax, as under `jit` it is one."""
    if cls.is_mapping is not False:
        return _of_mapping(ctx)
    return taking_arrays(cls, ctx.default_signature, ctx.args, ctx.api)


def of_named_tuple(cls: PytreeClass, ctx: MethodSigContext) -> FunctionLike:
    """`_replace` of a named tuple, which takes what its constructor takes."""
    return taking_arrays(cls, ctx.default_signature, ctx.args, ctx.api)


def _may_hold_keywords(given: ProperType) -> bool:
    """Whether it may be a mapping, or pairs of which one is made."""
    if isinstance(given, (AnyType, TypedDictType)):
        return True
    if isinstance(given, UnionType):
        return all(_may_hold_keywords(get_proper_type(item)) for item in given.items)
    info = given.type if isinstance(given, Instance) else None
    if info is None or not isinstance(given, Instance):
        return False
    if info.has_readable_member("keys"):
        return True
    iterable = next((base for base in info.mro if base.fullname == "typing.Iterable"), None)
    item = get_proper_type(map_instance_to_supertype(given, iterable).args[0]) if iterable is not None else None
    return isinstance(item, (AnyType, TupleType))


def _given(call: CallExpr) -> dict[str, nodes.Expression]:
    return {name: value for name, value in zip(call.arg_names, call.args, strict=True) if name is not None}


def _signature(
    ctx: MethodSigContext, parameters: Parameters, returned: Type, info: TypeInfo, name: str
) -> CallableType:
    if isinstance(returned, Instance):
        returned = returned.copy_modified()  # in a union with others mypy may forget what this one was asked for
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
    return with_asked(signature, ctx.type)


def _made(proper: ProperType) -> Type | None:
    """What a class makes."""
    if isinstance(proper, CallableType) and proper.is_type_obj():
        return proper.ret_type
    if isinstance(proper, TypeType):
        return proper.item
    return None
