"""Expressions as jaxlint understands them, whichever parser read them.

Trees of `ast` and of mypy are translated into the small language of this module, so that names, types and values
are understood in one place only.

Each expression knows where it stands: `at` is a `Span` in an outline, which lasts, and the node itself
in code that is read and dropped (its range is computed only if it is reported).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeGuard

import msgspec

#: Deeper expressions are cut off (`Other`): nobody reads them, and recursion stays bounded.
MAX_DEPTH = 120


class Span(NamedTuple):
    """A range of source: rows from 1, columns from 0 in UTF-8 bytes (as `ast` counts), end exclusive."""

    row: int
    column: int
    end_row: int
    end_column: int

    def holds(self, other: Span) -> bool:
        """Whether another range is this one or a part of it."""
        return self[:2] <= other[:2] and other[2:] <= self[2:]


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
        return bool([arg for arg in self.args if arg.star])

    def given_to(self, positional: Iterable[str]) -> dict[str, Expr]:
        """What parameters are given, by name: those of `positional` in their order, and all by keyword."""
        given = dict(zip(positional, self.positional, strict=False))
        return given | {arg.keyword: arg.value for arg in self.args if arg.keyword is not None}


class Subscript(_Base, frozen=True, tag=True, gc=False):
    """`value[index]`; several indices are a tuple display."""

    value: Expr
    index: Expr


class Display(_Base, frozen=True, tag=True, gc=False):
    """A tuple, list or set display; `kind` is "tuple", "list" or "set"."""

    kind: str
    items: tuple[Expr, ...]

    @property
    def has_star(self) -> bool:
        """Whether `*values` stands among the items, so that their number is not known."""
        return any(isinstance(item, Starred) for item in self.items)


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
    #: The parameters that are given by keyword only, and those with a star.
    other_params: tuple[str, ...] = ()


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


def constant(at: Any, value: object) -> Constant:
    """A literal; complex numbers and `...` keep only their kind, since no rule asks for more."""
    stored = value if value is None or isinstance(value, (bool, int, float, str)) else None
    return Constant(at, stored, type(value).__name__)


def dotted(expr: Expr) -> str | None:
    """`a.b.c` as text if the expression is a chain of names, else None."""
    name = ""
    while type(expr) is Attribute:
        name = f".{expr.attr}{name}"
        expr = expr.value
    return expr.id + name if type(expr) is Name else None


def without_call(expr: Expr) -> Expr:
    """The function of a call, else the expression itself: what `@f` and `@f(x)` both name."""
    return expr.func if isinstance(expr, Call) else expr


def first_given(expr: Expr | None) -> Expr | None:
    """What a call is given first, or what the call in its place is: `jit(vmap(f))` is given `f`."""
    while isinstance(expr, Call):
        expr = next(iter(expr.positional), None)
    return expr


def is_given(name: str, call: Call) -> bool:
    """Whether a call is given a variable as one of its arguments."""
    return any(type(argument.value) is Name and argument.value.id == name for argument in call.args)


def is_special(name: str) -> bool:
    """Whether a name is one of Python's own, as `__call__`."""
    return name.startswith("__") and name.endswith("__")


def last_name(expr: Expr) -> str:
    """The last part of a name: `b` of `a.b` and of `f().b`; empty for what has no name."""
    kind = type(expr)
    return expr.attr if kind is Attribute else expr.id if kind is Name else ""  # type: ignore[union-attr]


def root(expr: Expr) -> Expr:
    """What an expression of attributes and items starts from: `x` of `x.a[0].b`."""
    while type(expr) is Attribute or type(expr) is Subscript:
        expr = expr.value
    return expr


def is_variable(name: str | None, expr: object) -> bool:
    """Whether an expression is a variable of that name."""
    return isinstance(expr, Name) and expr.id == name


def container(expr: Expr) -> Expr:
    """What an expression is an item of, or the expression itself: `x.a` of `x.a[0]`."""
    while isinstance(expr, Subscript):
        expr = expr.value
    return expr


def items_of(expr: Expr) -> tuple[Expr, ...]:
    """What a tuple or a list that is written out holds; what is none stands for itself."""
    return expr.items if isinstance(expr, Display) else (expr,)


def unpacked(target: Expr, value: Expr) -> Iterable[tuple[Expr, Expr]]:
    """The targets of an assignment with what each is given, where both sides are written out: `n, m = x.n, x.m`."""
    if isinstance(target, Display) and isinstance(value, Display) and len(target.items) == len(value.items):
        return zip(target.items, value.items, strict=True)
    return ((target, value),)


def selected_by(where: Expr | None) -> tuple[str, tuple[Expr, ...]] | None:
    """The parameter of the `where` in `eqx.tree_at(where, tree, value)`, and the places that it selects."""
    if not isinstance(where, Lambda) or len(where.params) != 1:
        return None
    return where.params[0], items_of(where.body)


def paths_in(target: Expr) -> Iterator[str]:
    """The variables and attributes that a target binds, as dotted names, those in its tuples among them."""
    name = dotted(target)
    if name is not None:
        yield name
    else:
        for child in children(target):
            yield from paths_in(child)


def is_within(path: str, names: Iterable[str]) -> bool:
    """Whether a dotted name, or what it is a part of, is among some names."""
    return any(path == name or path.startswith(f"{name}.") for name in names)


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


def is_number(expr: Expr | None) -> bool:
    """Whether an expression is an int or a float that is written out, without a sign."""
    return isinstance(expr, Constant) and expr.kind in ("int", "float")


#: Builtins that return a bool or a str, whatever they are given.
_TELLING = frozenset({"isinstance", "issubclass", "hasattr", "callable", "repr", "str"})


def has_no_shape(expr: Expr) -> bool:
    """Whether the value of an expression certainly is no array: a constant, a test of identity, a str, a shape."""
    match expr:
        case Constant() | Other(kind="JoinedStr") | Unary(op="not"):
            return True
        case Compare(ops=ops):
            return all(op in ("is", "is not") for op in ops)
        case Attribute(attr=attr):
            return attr in ("shape", "dtype", "ndim")
        case Call(func=Name(id=name)):
            return name in _TELLING
        case Conditional(body=body, orelse=orelse):
            return has_no_shape(body) and has_no_shape(orelse)
    return False


def is_ellipsis(expr: Expr) -> bool:
    """Whether an expression is `...`."""
    return isinstance(expr, Constant) and expr.kind == "ellipsis"


def is_slice(expr: Expr | None) -> TypeGuard[Other]:
    """Whether an index is a slice; its `parts` are the bounds."""
    return isinstance(expr, Other) and expr.kind == "Slice"


def is_everything(index: Expr) -> bool:
    """Whether an index is `:` or `...`, which takes all that there is."""
    return all(map(is_none, index.parts)) if is_slice(index) else is_ellipsis(index)


def attribute_of(name: str | None, expr: Expr) -> str | None:
    """The attribute that an expression reads of what a variable holds: `name.attr`; None if it is something else."""
    is_one = isinstance(expr, Attribute) and isinstance(expr.value, Name) and expr.value.id == name
    return expr.attr if is_one and isinstance(expr, Attribute) else None


def item_of(returned: Expr | None, part: int) -> Expr | None:
    """One of the values of a tuple that is written out."""
    items = returned.items if isinstance(returned, Display) and not returned.has_star else ()
    return items[part] if part < len(items) else None


def kind_written(expr: Expr | None) -> str:
    """The kind of container that a display or a comprehension makes: "list", "tuple", "dict", …; "" of others."""
    match expr:
        case Display(kind=kind) | Comprehension(kind=kind):
            return kind
        case DictDisplay():
            return "dict"
    return ""


def forced_assignment(expr: Expr) -> tuple[Expr, str, Expr] | None:
    """What `object.__setattr__(x, "field", value)` sets, or `setattr` does: the instance, the name, and the value."""
    match expr:
        case Call(
            func=Name(id="setattr") | Attribute(value=Name(id="object"), attr="__setattr__"),
            args=(Argument(value=base), Argument(value=Constant(value=str(name))), Argument(value=value)),
        ):
            return base, name, value
    return None


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct sub-expressions, in source order."""
    kind = type(expr)
    return CHILDREN[kind](expr) if kind in CHILDREN else ()


def _of_comprehension(expr: Comprehension) -> tuple[Expr, ...]:
    clauses = tuple([e for c in expr.clauses for e in (c.iterable, c.target, *c.conditions)])
    return (*clauses, *(() if expr.key is None else (expr.key,)), expr.element)


#: How the direct sub-expressions are found, by the kind of the expression; what is not there has none.
CHILDREN: dict[type, Callable[[Any], tuple[Expr, ...]]] = {
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


def with_parts(exprs: tuple[Expr, ...], *, nested: bool = True) -> list[Expr]:
    """Some expressions, each followed by all expressions inside it; those inside lambdas only if `nested`."""
    found: list[Expr] = []
    pending = list(exprs[::-1])
    while pending:
        current = pending.pop()
        while True:  # down to what holds nothing
            found.append(current)
            kind = type(current)
            if kind is Name or kind is Constant or kind not in CHILDREN:
                break
            inner = CHILDREN[kind](current) if nested or not isinstance(current, Lambda) else current.defaults
            if not inner:
                break
            current = inner[0]
            pending += inner[:0:-1]
    return found
