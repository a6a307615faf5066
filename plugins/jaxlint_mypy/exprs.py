"""mypy's expressions in the language that jaxlint's rules read."""

from __future__ import annotations

from mypy import nodes
from mypy.nodes import ArgKind, Context, Expression

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
)

_STARS = {nodes.ARG_STAR: "*", nodes.ARG_STAR2: "**"}
_LITERALS = {"True": True, "False": False, "None": None}


def span_of(node: Context) -> Span:
    """Where a node stands."""
    end_row = node.end_line if node.end_line is not None else node.line
    end_column = node.end_column if node.end_column is not None else node.column
    return Span(node.line, node.column, end_row, end_column)


def to_call(call: nodes.CallExpr) -> Call:
    """A call."""
    return _call(call, 0)


def to_expr(node: Expression, depth: int = 0) -> Expr:
    """Translate an expression; what is nested too deeply or not of interest becomes `Other`."""
    at = span_of(node)
    d = depth + 1
    if depth > MAX_DEPTH:
        return Other(at, "deep", ())
    if isinstance(node, nodes.NameExpr):
        if node.name in _LITERALS:
            value = _LITERALS[node.name]
            return Constant(at, value, type(value).__name__)
        return Name(at, node.name)
    if isinstance(node, nodes.MemberExpr):
        return Attribute(at, to_expr(node.expr, d), node.name)
    if isinstance(node, nodes.CallExpr):
        return _call(node, depth)
    if isinstance(node, (nodes.IntExpr, nodes.FloatExpr, nodes.ComplexExpr, nodes.StrExpr)):
        return Constant(at, node.value, type(node.value).__name__)
    if isinstance(node, nodes.BytesExpr):
        return Constant(at, node.value, "bytes")
    if isinstance(node, nodes.EllipsisExpr):
        return Constant(at, ..., "ellipsis")
    if isinstance(node, (nodes.TupleExpr, nodes.ListExpr, nodes.SetExpr)):
        kind = {nodes.TupleExpr: "tuple", nodes.ListExpr: "list", nodes.SetExpr: "set"}[type(node)]
        return Display(at, kind, tuple(to_expr(item, d) for item in node.items))
    if isinstance(node, nodes.DictExpr):
        keys = tuple(None if key is None else to_expr(key, d) for key, _ in node.items)
        return DictDisplay(at, keys, tuple(to_expr(value, d) for _, value in node.items))
    if isinstance(node, nodes.OpExpr):
        left, right = to_expr(node.left, d), to_expr(node.right, d)
        return BoolOp(at, node.op, left, right) if node.op in ("and", "or") else Binary(at, node.op, left, right)
    if isinstance(node, nodes.UnaryExpr):
        return Unary(at, node.op, to_expr(node.expr, d))
    if isinstance(node, nodes.ComparisonExpr):
        first, *rest = (to_expr(operand, d) for operand in node.operands)
        return Compare(at, first, tuple(node.operators), tuple(rest))
    if isinstance(node, nodes.ConditionalExpr):
        return Conditional(at, to_expr(node.cond, d), to_expr(node.if_expr, d), to_expr(node.else_expr, d))
    if isinstance(node, nodes.IndexExpr):
        return Subscript(at, to_expr(node.base, d), to_expr(node.index, d))
    if isinstance(node, nodes.SliceExpr):
        bounds = (node.begin_index, node.end_index, node.stride)
        return Other(at, "Slice", tuple(Constant(at, None, "NoneType") if b is None else to_expr(b, d) for b in bounds))
    if isinstance(node, nodes.AssignmentExpr):
        return NamedExpr(at, to_expr(node.target, d), to_expr(node.value, d))
    if isinstance(node, nodes.StarExpr):
        return Starred(at, to_expr(node.expr, d))
    if isinstance(node, nodes.LambdaExpr):
        body = node.expr()
        if body is not None:
            return Lambda(at, tuple(name for name in node.arg_names if name), to_expr(body, d))
    if isinstance(node, (nodes.ListComprehension, nodes.SetComprehension)):
        kind = "list" if isinstance(node, nodes.ListComprehension) else "set"
        return Comprehension(at, kind, None, to_expr(node.generator.left_expr, d), _clauses(node.generator, d))
    if isinstance(node, nodes.GeneratorExpr):
        return Comprehension(at, "generator", None, to_expr(node.left_expr, d), _clauses(node, d))
    if isinstance(node, nodes.DictionaryComprehension):
        key = None if node.key is None else to_expr(node.key, d)
        return Comprehension(at, "dict", key, to_expr(node.value, d), _clauses(node, d))
    if isinstance(node, (nodes.AwaitExpr, nodes.YieldExpr, nodes.YieldFromExpr)):
        return Other(at, type(node).__name__, () if node.expr is None else (to_expr(node.expr, d),))
    return Other(at, type(node).__name__, ())


def _clauses(node: nodes.GeneratorExpr | nodes.DictionaryComprehension, depth: int) -> tuple[Clause, ...]:
    loops = zip(node.indices, node.sequences, node.condlists, strict=True)
    return tuple(
        Clause(span_of(target), to_expr(target, depth), to_expr(held, depth), tuple(to_expr(t, depth) for t in tests))
        for target, held, tests in loops
    )


def _call(call: nodes.CallExpr, depth: int) -> Call:
    return Call(
        span_of(call),
        to_expr(call.callee, depth + 1),
        tuple(
            Argument(span_of(value), to_expr(value, depth + 1), _keyword(name, kind), _STARS.get(kind, ""))
            for value, name, kind in zip(call.args, call.arg_names, call.arg_kinds, strict=True)
        ),
    )


def _keyword(name: str | None, kind: ArgKind) -> str | None:
    return name if kind == nodes.ARG_NAMED else None
