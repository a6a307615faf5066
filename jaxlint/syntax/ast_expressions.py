"""From the expressions of `ast` to the language of `jaxlint.syntax.expressions`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from jaxlint.syntax.expressions import (
    MAX_DEPTH,
    Argument,
    Attribute,
    Binary,
    BoolOp,
    Call,
    Clause,
    Compare,
    Comprehension,
    Conditional,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Lambda,
    Name,
    NamedExpr,
    Other,
    Span,
    Starred,
    Subscript,
    Unary,
    constant,
)

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


def operator(op: ast.operator) -> str:
    """How a binary operator is written."""
    return _BINARY[type(op)]


#: Half the time of a call of the named tuple.
_new = tuple.__new__


def span_of(node: Any) -> Span:
    """The source range of an `ast` node that has one."""
    return _new(Span, (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset))


def place_of(at: Any) -> Span:
    """The source range that `at` stands for: itself, or that of the `ast` node that it is."""
    return Span(*at) if isinstance(at, tuple) else span_of(at)


def from_ast(node: ast.expr, as_node: bool = False, depth: int = 0) -> Expr:
    """Translate an `ast` expression; what is nested deeper than `MAX_DEPTH` becomes `Other`.

    The `at` of each part is its range, or with `as_node` the node itself.
    """
    place = node if as_node else span_of(node)
    if depth > MAX_DEPTH:
        return Other(place, "deep", ())
    kind = type(node)
    if kind is ast.Name:  # half of all
        return Name(place, node.id)  # type: ignore[attr-defined]
    return _TRANSLATIONS.get(kind, _other)(node, place, as_node, depth + 1)


def _other(node: Any, place: Any, n: bool, d: int) -> Expr:
    parts = tuple(from_ast(c, n, d) for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr))
    return Other(place, type(node).__name__, parts)


def _at(node: Any, as_node: bool) -> Any:
    return node if as_node else span_of(node)


def _attribute(node: Any, place: Any, n: bool, d: int) -> Expr:
    return Attribute(place, from_ast(node.value, n, d), node.attr)


def _constant(node: Any, place: Any, n: bool, d: int) -> Expr:
    return constant(place, node.value)


def _call(node: Any, place: Any, n: bool, d: int) -> Expr:
    arguments = [
        Argument(_at(a, n), from_ast(a.value, n, d), None, "*")
        if type(a) is ast.Starred
        else Argument(_at(a, n), from_ast(a, n, d))
        for a in node.args
    ]
    for keyword in node.keywords:
        value = from_ast(keyword.value, n, d)
        arguments.append(Argument(_at(keyword, n), value, keyword.arg, "**" if keyword.arg is None else ""))
    return Call(place, from_ast(node.func, n, d), tuple(arguments))


def _subscript(node: Any, place: Any, n: bool, d: int) -> Expr:
    return Subscript(place, from_ast(node.value, n, d), from_ast(node.slice, n, d))


def _display(node: Any, place: Any, n: bool, d: int) -> Expr:
    return Display(place, _DISPLAYS[type(node)], tuple([from_ast(e, n, d) for e in node.elts]))


def _dict(node: Any, place: Any, n: bool, d: int) -> Expr:
    keys = tuple([None if k is None else from_ast(k, n, d) for k in node.keys])
    return DictDisplay(place, keys, tuple([from_ast(v, n, d) for v in node.values]))


def _binary(node: Any, place: Any, n: bool, d: int) -> Expr:
    return Binary(place, _BINARY[type(node.op)], from_ast(node.left, n, d), from_ast(node.right, n, d))


def _unary(node: Any, place: Any, n: bool, d: int) -> Expr:
    return Unary(place, _UNARY[type(node.op)], from_ast(node.operand, n, d))


def _bool_op(node: Any, place: Any, n: bool, d: int) -> Expr:
    word = "and" if type(node.op) is ast.And else "or"
    result = from_ast(node.values[0], n, d)
    for value in node.values[1:]:
        result = BoolOp(place, word, result, from_ast(value, n, d))
    return result


def _compare(node: Any, place: Any, n: bool, d: int) -> Expr:
    ops = tuple([_COMPARE[type(op)] for op in node.ops])
    return Compare(place, from_ast(node.left, n, d), ops, tuple([from_ast(c, n, d) for c in node.comparators]))


def _conditional(node: Any, place: Any, n: bool, d: int) -> Expr:
    return Conditional(place, from_ast(node.test, n, d), from_ast(node.body, n, d), from_ast(node.orelse, n, d))


def _lambda(node: Any, place: Any, n: bool, d: int) -> Expr:
    args = node.args
    params = tuple([a.arg for a in (*args.posonlyargs, *args.args)])
    other_params = tuple([a.arg for a in (*args.kwonlyargs, args.vararg, args.kwarg) if a is not None])
    defaults = tuple([from_ast(v, n, d) for v in (*args.defaults, *args.kw_defaults) if v is not None])
    return Lambda(place, params, from_ast(node.body, n, d), defaults, other_params)


def _comprehension(node: Any, place: Any, n: bool, d: int) -> Expr:
    clauses = tuple(
        [
            Clause(
                place,
                from_ast(g.target, n, d),
                from_ast(g.iter, n, d),
                tuple([from_ast(i, n, d) for i in g.ifs]),
            )
            for g in node.generators
        ]
    )
    kind = _COMPREHENSIONS[type(node)]
    if kind == "dict":
        return Comprehension(place, kind, from_ast(node.key, n, d), from_ast(node.value, n, d), clauses)
    return Comprehension(place, kind, None, from_ast(node.elt, n, d), clauses)


def _named(node: Any, place: Any, n: bool, d: int) -> Expr:
    return NamedExpr(place, from_ast(node.target, n, d), from_ast(node.value, n, d))


def _starred(node: Any, place: Any, n: bool, d: int) -> Expr:
    return Starred(place, from_ast(node.value, n, d))


def _slice(node: Any, place: Any, n: bool, d: int) -> Expr:
    bounds = (node.lower, node.upper, node.step)
    parts = [Constant(place, None, "NoneType") if b is None else from_ast(b, n, d) for b in bounds]
    return Other(place, "Slice", tuple(parts))


_DISPLAYS: dict[type[ast.expr], str] = {ast.Tuple: "tuple", ast.List: "list", ast.Set: "set"}
_COMPREHENSIONS: dict[type[ast.expr], str] = {
    ast.ListComp: "list",
    ast.SetComp: "set",
    ast.GeneratorExp: "generator",
    ast.DictComp: "dict",
}
_TRANSLATIONS: dict[type[ast.expr], Callable[[Any, Any, bool, int], Expr]] = {
    ast.Attribute: _attribute,
    ast.Constant: _constant,
    ast.Call: _call,
    ast.Subscript: _subscript,
    **dict.fromkeys(_DISPLAYS, _display),
    ast.Dict: _dict,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _bool_op,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.Lambda: _lambda,
    **dict.fromkeys(_COMPREHENSIONS, _comprehension),
    ast.NamedExpr: _named,
    ast.Starred: _starred,
    ast.Slice: _slice,
}


def parse_annotation(text: str, at: Any) -> Expr | None:
    """Read a quoted annotation; its parts all stand at `at`. None if it is no expression."""
    parsed = _parse_quoted(text.strip())
    return None if parsed is None else _replaced_at(parsed, at)


@lru_cache(maxsize=4096)
def _parse_quoted(text: str) -> Expr | None:
    try:
        return from_ast(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _replaced_at(value: Any, at: Any) -> Any:
    """`value` with every position inside it set to `at`."""
    if isinstance(value, msgspec.Struct):
        fields = {name: _replaced_at(getattr(value, name), at) for name in value.__struct_fields__ if name != "at"}
        return type(value)(at=at, **fields)
    if isinstance(value, tuple):
        return tuple(_replaced_at(v, at) for v in value)
    return value
