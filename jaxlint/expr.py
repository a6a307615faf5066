"""Expressions as jaxlint understands them, whichever parser read them.

The outline reads annotations, defaults and decorators with `ast`; function bodies are read with
libcst. Both are translated into the small, picklable language of this module, so that names,
types and values are understood in one place only.

Each expression knows where it stands: `at` is a `Span` when it came from `ast`, and the libcst
node itself when it came from libcst (its position is computed only if it is reported).
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

#: Deeper expressions are cut off (`Other`): nobody reads them, and recursion stays bounded.
MAX_DEPTH = 120


class Span(NamedTuple):
    """A range of source: rows from 1, columns from 0 in UTF-8 bytes (as `ast` counts), end exclusive."""

    row: int
    column: int
    end_row: int
    end_column: int


class _Base(msgspec.Struct, frozen=True, tag=True, gc=False):
    if TYPE_CHECKING:
        at: Any
    else:
        at: Span  # what is read back from a cache; msgspec checks nothing when an instance is made


class Name(_Base, frozen=True, tag=True, gc=False):
    """An identifier."""

    id: str


class Attribute(_Base, frozen=True, tag=True, gc=False):
    """`value.attr`."""

    value: Expr
    attr: str


class Constant(_Base, frozen=True, tag=True, gc=False):
    """A literal: None, bool, number, string, bytes or `...`; `kind` is the name of its type."""

    value: Any
    kind: str


class Argument(_Base, frozen=True, tag=True, gc=False):
    """One argument of a call; `star` is "", "*" or "**"."""

    value: Expr
    keyword: str | None = None
    star: str = ""


class Call(_Base, frozen=True, tag=True, gc=False):
    """`func(args)`."""

    func: Expr
    args: tuple[Argument, ...]

    def keyword(self, name: str) -> Expr | None:
        """The value of the keyword argument `name`, or None."""
        for arg in self.args:
            if arg.keyword == name:
                return arg.value
        return None

    @property
    def positional(self) -> tuple[Expr, ...]:
        """The positional arguments before any `*args`."""
        out = []
        for arg in self.args:
            if arg.star == "*":
                break
            if arg.keyword is None and not arg.star:
                out.append(arg.value)
        return tuple(out)

    @property
    def has_star(self) -> bool:
        """Whether `*args` or `**kwargs` are unpacked into the call."""
        return any(arg.star for arg in self.args)


class Subscript(_Base, frozen=True, tag=True, gc=False):
    """`value[index]`; several indices are a tuple display."""

    value: Expr
    index: Expr


class Display(_Base, frozen=True, tag=True, gc=False):
    """A tuple, list or set display; `kind` is "tuple", "list" or "set"."""

    kind: str
    items: tuple[Expr, ...]


class DictDisplay(_Base, frozen=True, tag=True, gc=False):
    """A dict display; a key of None stands for `**value`."""

    keys: tuple[Expr | None, ...]
    values: tuple[Expr, ...]


class Binary(_Base, frozen=True, tag=True, gc=False):
    """`left op right`; `op` is the operator's text."""

    op: str
    left: Expr
    right: Expr


class Unary(_Base, frozen=True, tag=True, gc=False):
    """`op operand`; `op` is "-", "+", "~" or "not"."""

    op: str
    operand: Expr


class BoolOp(_Base, frozen=True, tag=True, gc=False):
    """`left and right`, `left or right` (longer chains nest)."""

    op: str
    left: Expr
    right: Expr


class Compare(_Base, frozen=True, tag=True, gc=False):
    """A comparison chain; `ops` holds the operators' texts."""

    left: Expr
    ops: tuple[str, ...]
    comparators: tuple[Expr, ...]


class Conditional(_Base, frozen=True, tag=True, gc=False):
    """`body if test else orelse`."""

    test: Expr
    body: Expr
    orelse: Expr


class Lambda(_Base, frozen=True, tag=True, gc=False):
    """`lambda params: body`; `params` are the plain positional parameter names."""

    params: tuple[str, ...]
    body: Expr


class Clause(_Base, frozen=True, tag=True, gc=False):
    """One `for target in iterable if …` of a comprehension."""

    target: Expr
    iterable: Expr
    conditions: tuple[Expr, ...]


class Comprehension(_Base, frozen=True, tag=True, gc=False):
    """A comprehension; `kind` is "list", "set", "dict" or "generator"; `key` only for dicts."""

    kind: str
    key: Expr | None
    element: Expr
    clauses: tuple[Clause, ...]


class NamedExpr(_Base, frozen=True, tag=True, gc=False):
    """`target := value`."""

    target: Expr
    value: Expr


class Starred(_Base, frozen=True, tag=True, gc=False):
    """`*value` in a display or target."""

    value: Expr


class Other(_Base, frozen=True, tag=True, gc=False):
    """Anything else (await, yield, f-string, slice, …); `parts` are its sub-expressions."""

    kind: str
    parts: tuple[Expr, ...]


Expr: TypeAlias = (
    Name
    | Attribute
    | Constant
    | Call
    | Subscript
    | Display
    | DictDisplay
    | Binary
    | Unary
    | BoolOp
    | Compare
    | Conditional
    | Lambda
    | Comprehension
    | NamedExpr
    | Starred
    | Other
)

_BINARY = {
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
_UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
_COMPARE = {
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


def span_of(node: ast.AST) -> Span:
    """The source range of an `ast` node that has one."""
    return Span(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


def from_ast(node: ast.expr, depth: int = 0) -> Expr:
    """Translate an `ast` expression; what is nested deeper than `MAX_DEPTH` becomes `Other`."""
    at = span_of(node)
    if depth > MAX_DEPTH:
        return Other(at, "deep", ())
    d = depth + 1
    match node:
        case ast.Name(id=name):
            return Name(at, name)
        case ast.Attribute(value=value, attr=attr):
            return Attribute(at, from_ast(value, d), attr)
        case ast.Constant(value=value):
            return constant(at, value)
        case ast.Call(func=func, args=args, keywords=keywords):
            arguments = [
                Argument(span_of(a), from_ast(a.value, d), None, "*")
                if isinstance(a, ast.Starred)
                else Argument(span_of(a), from_ast(a, d))
                for a in args
            ]
            arguments += [
                Argument(span_of(k), from_ast(k.value, d), k.arg, "" if k.arg is not None else "**") for k in keywords
            ]
            return Call(at, from_ast(func, d), tuple(arguments))
        case ast.Subscript(value=value, slice=index):
            return Subscript(at, from_ast(value, d), from_ast(index, d))
        case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
            return Display(at, type(node).__name__.lower(), tuple(from_ast(e, d) for e in elts))
        case ast.Dict(keys=keys, values=values):
            return DictDisplay(
                at,
                tuple(None if k is None else from_ast(k, d) for k in keys),
                tuple(from_ast(v, d) for v in values),
            )
        case ast.BinOp(left=left, op=op, right=right):
            return Binary(at, _BINARY[type(op)], from_ast(left, d), from_ast(right, d))
        case ast.UnaryOp(op=op, operand=operand):
            return Unary(at, _UNARY[type(op)], from_ast(operand, d))
        case ast.BoolOp(op=op, values=values):
            word = "and" if isinstance(op, ast.And) else "or"
            result = from_ast(values[0], d)
            for value in values[1:]:
                result = BoolOp(at, word, result, from_ast(value, d))
            return result
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            return Compare(
                at,
                from_ast(left, d),
                tuple(_COMPARE[type(op)] for op in ops),
                tuple(from_ast(c, d) for c in comparators),
            )
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return Conditional(at, from_ast(test, d), from_ast(body, d), from_ast(orelse, d))
        case ast.Lambda(args=args, body=body):
            return Lambda(at, tuple(a.arg for a in [*args.posonlyargs, *args.args]), from_ast(body, d))
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            return _comprehension(node, at, d)
        case ast.NamedExpr(target=target, value=value):
            return NamedExpr(at, from_ast(target, d), from_ast(value, d))
        case ast.Starred(value=value):
            return Starred(at, from_ast(value, d))
        case ast.Slice(lower=lower, upper=upper, step=step):
            bounds = (Constant(at, None, "NoneType") if b is None else from_ast(b, d) for b in (lower, upper, step))
            return Other(at, "Slice", tuple(bounds))
    parts = tuple(from_ast(c, d) for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr))
    return Other(at, type(node).__name__, parts)


def _comprehension(node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, at: Span, d: int) -> Expr:
    clauses = tuple(
        Clause(at, from_ast(g.target, d), from_ast(g.iter, d), tuple(from_ast(i, d) for i in g.ifs))
        for g in node.generators
    )
    if isinstance(node, ast.DictComp):
        return Comprehension(at, "dict", from_ast(node.key, d), from_ast(node.value, d), clauses)
    kind = {ast.ListComp: "list", ast.SetComp: "set", ast.GeneratorExp: "generator"}[type(node)]
    return Comprehension(at, kind, None, from_ast(node.elt, d), clauses)


def constant(at: Any, value: object) -> Constant:
    """A literal; complex numbers and `...` keep only their kind, since no rule asks for more."""
    kept = value if value is None or isinstance(value, (bool, int, float, str)) else None
    return Constant(at, kept, type(value).__name__)


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
    if isinstance(value, _Base):
        fields = {name: _replaced_at(getattr(value, name), at) for name in value.__struct_fields__ if name != "at"}
        return type(value)(at=at, **fields)
    if isinstance(value, tuple):
        return tuple(_replaced_at(v, at) for v in value)
    return value


def dotted(expr: Expr) -> str | None:
    """`a.b.c` as text if the expression is a chain of names, else None."""
    parts: list[str] = []
    while isinstance(expr, Attribute):
        parts.append(expr.attr)
        expr = expr.value
    if not isinstance(expr, Name):
        return None
    parts.append(expr.id)
    return ".".join(reversed(parts))


def same(a: Any, b: Any) -> bool:
    """Whether two expressions are written alike, wherever they stand."""
    if isinstance(a, _Base) and type(a) is type(b):
        return all(same(getattr(a, name), getattr(b, name)) for name in a.__struct_fields__ if name != "at")
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and bool(a == b)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct sub-expressions, in source order."""
    match expr:
        case Attribute(value=value) | Starred(value=value):
            return (value,)
        case Subscript():
            return (expr.value, expr.index)
        case Call():
            return (expr.func, *(a.value for a in expr.args))
        case Display():
            return expr.items
        case DictDisplay():
            return (*(k for k in expr.keys if k is not None), *expr.values)
        case Binary() | BoolOp():
            return (expr.left, expr.right)
        case Unary():
            return (expr.operand,)
        case Compare():
            return (expr.left, *expr.comparators)
        case Conditional():
            return (expr.body, expr.test, expr.orelse)
        case Lambda():
            return (expr.body,)
        case NamedExpr():
            return (expr.target, expr.value)
        case Comprehension():
            clauses = tuple(e for c in expr.clauses for e in (c.iterable, c.target, *c.conditions))
            return (*clauses, *(() if expr.key is None else (expr.key,)), expr.element)
        case Other():
            return expr.parts
    return ()
