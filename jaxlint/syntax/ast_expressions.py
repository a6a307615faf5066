"""From the expressions of `ast` to the language of `jaxlint.syntax.expressions`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

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


#: Says where a node stands: its range, or the node itself.
Locate: TypeAlias = Callable[[Any], Any]


def from_ast(node: ast.expr, at: Locate = span_of, depth: int = 0) -> Expr:
    """Translate an `ast` expression; what is nested deeper than `MAX_DEPTH` becomes `Other`."""
    if depth > MAX_DEPTH:
        return Other(at(node), "deep", ())
    return _TRANSLATIONS.get(type(node), _other)(node, at, depth + 1)


def _other(node: Any, at: Locate, d: int) -> Expr:
    parts = tuple(from_ast(c, at, d) for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr))
    return Other(at(node), type(node).__name__, parts)


def _name(node: Any, at: Locate, d: int) -> Expr:
    return Name(at(node), node.id)


def _attribute(node: Any, at: Locate, d: int) -> Expr:
    return Attribute(at(node), from_ast(node.value, at, d), node.attr)


def _constant(node: Any, at: Locate, d: int) -> Expr:
    return constant(at(node), node.value)


def _call(node: Any, at: Locate, d: int) -> Expr:
    arguments = [
        Argument(at(a), from_ast(a.value, at, d), None, "*")
        if type(a) is ast.Starred
        else Argument(at(a), from_ast(a, at, d))
        for a in node.args
    ]
    for keyword in node.keywords:
        value = from_ast(keyword.value, at, d)
        arguments.append(Argument(at(keyword), value, keyword.arg, "**" if keyword.arg is None else ""))
    return Call(at(node), from_ast(node.func, at, d), tuple(arguments))


def _subscript(node: Any, at: Locate, d: int) -> Expr:
    return Subscript(at(node), from_ast(node.value, at, d), from_ast(node.slice, at, d))


def _display(node: Any, at: Locate, d: int) -> Expr:
    return Display(at(node), _DISPLAYS[type(node)], tuple([from_ast(e, at, d) for e in node.elts]))


def _dict(node: Any, at: Locate, d: int) -> Expr:
    keys = tuple([None if k is None else from_ast(k, at, d) for k in node.keys])
    return DictDisplay(at(node), keys, tuple([from_ast(v, at, d) for v in node.values]))


def _binary(node: Any, at: Locate, d: int) -> Expr:
    return Binary(at(node), _BINARY[type(node.op)], from_ast(node.left, at, d), from_ast(node.right, at, d))


def _unary(node: Any, at: Locate, d: int) -> Expr:
    return Unary(at(node), _UNARY[type(node.op)], from_ast(node.operand, at, d))


def _bool_op(node: Any, at: Locate, d: int) -> Expr:
    place, word = at(node), "and" if type(node.op) is ast.And else "or"
    result = from_ast(node.values[0], at, d)
    for value in node.values[1:]:
        result = BoolOp(place, word, result, from_ast(value, at, d))
    return result


def _compare(node: Any, at: Locate, d: int) -> Expr:
    ops = tuple([_COMPARE[type(op)] for op in node.ops])
    return Compare(at(node), from_ast(node.left, at, d), ops, tuple([from_ast(c, at, d) for c in node.comparators]))


def _conditional(node: Any, at: Locate, d: int) -> Expr:
    return Conditional(at(node), from_ast(node.test, at, d), from_ast(node.body, at, d), from_ast(node.orelse, at, d))


def _lambda(node: Any, at: Locate, d: int) -> Expr:
    args = node.args
    params = tuple([a.arg for a in (*args.posonlyargs, *args.args)])
    other_params = tuple([a.arg for a in (*args.kwonlyargs, args.vararg, args.kwarg) if a is not None])
    defaults = tuple([from_ast(v, at, d) for v in (*args.defaults, *args.kw_defaults) if v is not None])
    return Lambda(at(node), params, from_ast(node.body, at, d), defaults, other_params)


def _comprehension(node: Any, at: Locate, d: int) -> Expr:
    place = at(node)
    clauses = tuple(
        [
            Clause(
                place,
                from_ast(g.target, at, d),
                from_ast(g.iter, at, d),
                tuple([from_ast(i, at, d) for i in g.ifs]),
            )
            for g in node.generators
        ]
    )
    kind = _COMPREHENSIONS[type(node)]
    if kind == "dict":
        return Comprehension(place, kind, from_ast(node.key, at, d), from_ast(node.value, at, d), clauses)
    return Comprehension(place, kind, None, from_ast(node.elt, at, d), clauses)


def _named(node: Any, at: Locate, d: int) -> Expr:
    return NamedExpr(at(node), from_ast(node.target, at, d), from_ast(node.value, at, d))


def _starred(node: Any, at: Locate, d: int) -> Expr:
    return Starred(at(node), from_ast(node.value, at, d))


def _slice(node: Any, at: Locate, d: int) -> Expr:
    place = at(node)
    bounds = (node.lower, node.upper, node.step)
    parts = [Constant(place, None, "NoneType") if b is None else from_ast(b, at, d) for b in bounds]
    return Other(place, "Slice", tuple(parts))


_DISPLAYS: dict[type[ast.expr], str] = {ast.Tuple: "tuple", ast.List: "list", ast.Set: "set"}
_COMPREHENSIONS: dict[type[ast.expr], str] = {
    ast.ListComp: "list",
    ast.SetComp: "set",
    ast.GeneratorExp: "generator",
    ast.DictComp: "dict",
}
_TRANSLATIONS: dict[type[ast.expr], Callable[[Any, Locate, int], Expr]] = {
    ast.Name: _name,
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
