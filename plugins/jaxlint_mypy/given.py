"""Types where jax says `Any`: the arguments of lambdas that its functions call, and the results of these functions."""

from __future__ import annotations

from mypy import nodes
from mypy.checker import TypeChecker
from mypy.nodes import Expression, LambdaExpr
from mypy.plugin import FunctionContext, FunctionSigContext
from mypy.subtypes import is_same_type
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    NoneType,
    TupleType,
    Type,
    UnionType,
    get_proper_type,
)

from jaxlint_mypy.front import FrontEnd
from jaxlint_mypy.internals import type_again
from jaxlint_mypy.parameters import ANY
from jaxlint_mypy.returned import pytrees_in, result_of

_PACKAGE = "jax._src.lax.control_flow."
#: By the last part of their names: the parameters that are functions, and those whose values these are given.
_CALLING: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "fori_loop": (("body_fun",), ("lower", "init_val")),
    "cond": (("true_fun", "false_fun"), ("operands",)),
    "switch": (("branches",), ("operands",)),
    "map": (("f",), ("xs",)),
}


#: Those that return what one of their branches does.
_BRANCHING = frozenset({"cond", "switch"})


def calls_lambdas(fullname: str) -> bool:
    """Whether it is a function that calls what it is given with pytrees that it is given."""
    return fullname.startswith(_PACKAGE) and fullname.rpartition(".")[2] in _CALLING


def has_branches(fullname: str) -> bool:
    """Whether it is a function that returns what one of the functions returns that it is given."""
    return calls_lambdas(fullname) and fullname.rpartition(".")[2] in _BRANCHING


def of_branches(front: FrontEnd, name: str, ctx: FunctionContext) -> Type:
    """The pytree classes that all branches return, if these return the same."""
    checker, given = ctx.api, dict(zip(ctx.callee_arg_names, ctx.args, strict=True))
    functions, _ = _CALLING[name]
    if not isinstance(checker, TypeChecker) or not given.keys() >= {*functions}:
        return ctx.default_return_type
    branches = [one for function in functions for expression in given[function] for one in _items(expression)]
    first, *others = [result_of(front, checker, one) for one in branches] or [ANY]
    is_certain = not isinstance(get_proper_type(first), (AnyType, NoneType, UnionType))
    return first if is_certain and all(is_same_type(first, one) for one in others) else ctx.default_return_type


def of_calling(front: FrontEnd, name: str, ctx: FunctionSigContext) -> FunctionLike:
    """The signature in which lambdas take the pytree classes that they are given, which a loop returns, too."""
    signature, checker = ctx.default_signature, ctx.api
    functions, values = _CALLING[name]
    given = dict(zip(signature.arg_names, ctx.args, strict=True))
    if not isinstance(checker, TypeChecker) or not given.keys() >= {*functions, *values}:
        return signature
    passed = [value for parameter in values for value in given[parameter]]
    taken = [_certain(pytrees_in(front, type_again(checker, value))) for value in passed]
    if not taken or all(isinstance(get_proper_type(one), AnyType) for one in taken):
        return signature
    if name == "fori_loop":
        signature = signature.copy_modified(ret_type=taken[-1])
    lambdas = [one for function in functions for expression in given[function] for one in _lambdas(expression)]
    if not lambdas or any(len(one.arguments) != len(passed) for one in lambdas):
        return signature
    wanted = CallableType(
        taken, [nodes.ARG_POS] * len(taken), [None] * len(taken), ANY, checker.named_type("builtins.function")
    )
    types: dict[str | None, Type] = {one: wanted for one in functions if any(map(_is_lambda, given[one]))}
    if name == "switch" and all(map(_is_lambda, _items(given["branches"][0]))):
        types["branches"] = checker.named_generic_type("typing.Sequence", [wanted])
    known = zip(signature.arg_names, signature.arg_types, strict=True)
    return signature.copy_modified(arg_types=[types.get(text, typ) for text, typ in known])


def _certain(typ: Type) -> Type:
    """A type in which all that may be one thing or another, or None, is open: the code around knows which it is."""
    proper = get_proper_type(typ)
    if isinstance(proper, TupleType):
        return proper.copy_modified(items=[_certain(item) for item in proper.items])
    return ANY if isinstance(proper, (UnionType, NoneType)) else proper


def _items(node: Expression) -> list[Expression]:
    return node.items if isinstance(node, (nodes.ListExpr, nodes.TupleExpr)) else [node]


def _is_lambda(node: Expression) -> bool:
    """Whether it is a lambda whose parameters are all positional and must be given."""
    return isinstance(node, LambdaExpr) and all(kind == nodes.ARG_POS for kind in node.arg_kinds)


def _lambdas(node: Expression) -> list[LambdaExpr]:
    return [one for one in _items(node) if isinstance(one, LambdaExpr) and _is_lambda(one)]
