"""What calls return of which their packages say `Any`: `eqx.tree_at`, what `jax.jit` compiles, `TrainState.create`."""

from __future__ import annotations

import re

from mypy.checker import TypeChecker
from mypy.nodes import (
    CallExpr,
    Decorator,
    Expression,
    FuncDef,
    MemberExpr,
    RefExpr,
    TypeInfo,
)
from mypy.plugin import AttributeContext, FunctionContext, MethodContext
from mypy.typeops import make_simplified_union
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    NoneType,
    TupleType,
    Type,
    TypeOfAny,
    TypeType,
    TypeVarType,
    UnionType,
    get_proper_type,
    has_type_vars,
)

from jaxlint_mypy.front import FrontEnd
from jaxlint_mypy.internals import known_type, text_around
from jaxlint_mypy.parameters import instance_of

#: The method by which mypy knows a call of what `jax.jit` returns.
COMPILED_CALL = "jax._src.pjit.JitWrapped.__call__"
#: Functions that return one that takes and returns the same classes, by their names in jax.
_KEEPING = frozenset({"jax.jit", "jax.vmap", "jax.pmap", "jax.checkpoint", "jax.remat"})
#: The text of a class of that name.
_CLASS = r"^class[ \t]+{}\b[^\n]*(?:\n(?:[ \t)#][^\n]*)?)*"
_UNSAID = AnyType(TypeOfAny.special_form)


def of_tree_at(front: FrontEnd, ctx: FunctionContext, position: int) -> Type:
    """A copy of a module with other leaves is one of the same class."""
    typ = ctx.arg_types[position][0] if len(ctx.arg_types) > position and ctx.arg_types[position] else None
    copied = get_proper_type(typ)
    made = instance_of(copied) if isinstance(copied, (Instance, TypeVarType)) else None
    if copied is None or made is None or not isinstance(get_proper_type(ctx.default_return_type), AnyType):
        return ctx.default_return_type
    return copied if not made.args and front.is_pytree(made.type) else ctx.default_return_type


def of_create(ctx: AttributeContext) -> Type:
    """`TrainState.create` that is not called at once but given to `partial`, or a name: what it makes is a state."""
    method, asked = get_proper_type(ctx.default_attr_type), ctx.type
    if not isinstance(method, CallableType) or not isinstance(get_proper_type(method.ret_type), AnyType):
        return ctx.default_attr_type
    if isinstance(asked, TypeType):
        return method.copy_modified(ret_type=asked.item)
    return method.copy_modified(ret_type=asked.ret_type) if isinstance(asked, CallableType) else method


def of_compiled(front: FrontEnd, ctx: MethodContext) -> Type:
    """The pytrees that a compiled function is declared to return. Numbers in its annotations are arrays by then."""
    call = ctx.context
    if not isinstance(call, CallExpr) or not isinstance(get_proper_type(ctx.default_return_type), AnyType):
        return ctx.default_return_type
    function = _function(ctx.api, call.callee) if isinstance(ctx.api, TypeChecker) else None
    return ctx.default_return_type if function is None else _result(front, function.type, function)


def result_of(front: FrontEnd, checker: TypeChecker, function: Expression) -> Type:
    """The pytrees that a function returns, or a lambda, which mypy has looked at."""
    return _result(front, known_type(checker, function), _function(checker, function))


def _result(front: FrontEnd, typ: Type | None, function: FuncDef | None) -> Type:
    called = get_proper_type(typ)
    if not isinstance(called, CallableType) or has_type_vars(called.ret_type):
        return _UNSAID
    if function is not None and function.info and _leaves_methods(front, function.info):
        return _UNSAID  # an environment that is chosen by its name: its states are of subclasses, too
    return pytrees_in(front, called.ret_type)


def _leaves_methods(front: FrontEnd, info: TypeInfo) -> bool:
    """Whether a class leaves methods to those that inherit from it: abstract ones, and those that only raise."""
    tree = front.tree(info.module_name)
    if info.is_abstract or tree is None or not tree.path:
        return info.is_abstract
    written = re.search(_CLASS.format(info.name), text_around(tree), re.MULTILINE)
    return written is not None and "raise NotImplementedError" in written[0]


def _function(checker: TypeChecker, called: Expression) -> FuncDef | None:
    """The function behind an expression that is called: decorated, or given to a transformation just there."""
    if isinstance(called, CallExpr):
        named = called.callee
        goes_through = isinstance(named, RefExpr) and named.fullname.replace("._src.api", "") in _KEEPING
        return _function(checker, called.args[0]) if goes_through and called.args else None
    node = called.node if isinstance(called, RefExpr) else None
    if node is None and isinstance(called, MemberExpr):
        owner = get_proper_type(known_type(checker, called.expr))
        symbol = owner.type.get(called.name) if isinstance(owner, Instance) else None
        node = symbol.node if symbol is not None else None
    if isinstance(node, Decorator):
        return node.func
    return node if isinstance(node, FuncDef) else None


def pytrees_in(front: FrontEnd, typ: Type) -> Type:
    """A type in which all but pytree classes, and tuples of them, is left open; what may be something open is, too."""
    proper = get_proper_type(typ)
    if isinstance(proper, NoneType) or (isinstance(proper, Instance) and front.is_pytree(proper.type)):
        return proper
    if isinstance(proper, UnionType):
        options = [pytrees_in(front, item) for item in proper.items]
        return (
            _UNSAID
            if any(isinstance(get_proper_type(one), AnyType) for one in options)
            else make_simplified_union(options)
        )
    if isinstance(proper, TupleType) and proper.partial_fallback.type.fullname == "builtins.tuple":
        items = [pytrees_in(front, item) for item in proper.items]
        return (
            _UNSAID
            if all(isinstance(get_proper_type(item), AnyType) for item in items)
            else proper.copy_modified(items=items)
        )
    return _UNSAID
