"""Expressions as jaxlint understands them, whichever parser read them.

Trees of `ast` and of mypy are translated into the small language of this module, so that names, types and values
are understood in one place only.

Each expression knows where it stands: `at` is a `Span` in an outline, which is kept, and the node itself
in code that is read and dropped (its range is computed only if it is reported).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
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


class _Base(msgspec.Struct, frozen=True, tag=True, gc=False, array_like=True):
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
    """`lambda params: body`; `params` are the plain positional parameter names, `defaults` those of all parameters."""

    params: tuple[str, ...]
    body: Expr
    defaults: tuple[Expr, ...] = ()


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
    defaults = tuple([from_ast(v, at, d) for v in (*args.defaults, *args.kw_defaults) if v is not None])
    return Lambda(at(node), params, from_ast(node.body, at, d), defaults)


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


def last_name(expr: Expr) -> str:
    """The last part of a name: `b` of `a.b` and of `f().b`; empty for what has no name."""
    return expr.attr if isinstance(expr, Attribute) else expr.id if isinstance(expr, Name) else ""


def root(expr: Expr) -> Expr:
    """What an expression of attributes and items starts from: `x` of `x.a[0].b`."""
    while isinstance(expr, (Attribute, Subscript)):
        expr = expr.value
    return expr


def same(a: Any, b: Any) -> bool:
    """Whether two expressions are written alike, wherever they stand."""
    if isinstance(a, _Base) and type(a) is type(b):
        return all(same(getattr(a, name), getattr(b, name)) for name in a.__struct_fields__ if name != "at")
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and bool(a == b)


def is_none(expr: Expr | None) -> bool:
    """Whether an expression is a literal `None`."""
    return isinstance(expr, Constant) and expr.kind == "NoneType"


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct sub-expressions, in source order."""
    find = _CHILDREN.get(type(expr))
    return () if find is None else find(expr)


def _of_comprehension(expr: Comprehension) -> tuple[Expr, ...]:
    clauses = tuple([e for c in expr.clauses for e in (c.iterable, c.target, *c.conditions)])
    return (*clauses, *(() if expr.key is None else (expr.key,)), expr.element)


_CHILDREN: dict[type, Callable[[Any], tuple[Expr, ...]]] = {
    Attribute: lambda e: (e.value,),
    Starred: lambda e: (e.value,),
    Subscript: lambda e: (e.value, e.index),
    Call: lambda e: (e.func, *[a.value for a in e.args]),
    Display: lambda e: e.items,
    DictDisplay: lambda e: (*[k for k in e.keys if k is not None], *e.values),
    Binary: lambda e: (e.left, e.right),
    BoolOp: lambda e: (e.left, e.right),
    Unary: lambda e: (e.operand,),
    Compare: lambda e: (e.left, *e.comparators),
    Conditional: lambda e: (e.body, e.test, e.orelse),
    Lambda: lambda e: (*e.defaults, e.body),
    NamedExpr: lambda e: (e.target, e.value),
    Comprehension: _of_comprehension,
    Other: lambda e: e.parts,
}
