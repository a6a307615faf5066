"""Where a body asks Python for the value of an expression: a traced one has none, and an error is raised."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from jaxlint.infer.bodies.contents import contents_of
from jaxlint.libraries.static_arguments import (
    AXIS,
    CHECK,
    CONVERSION,
    COUNT,
    INDEX,
    KEY,
    LEAST,
    LENGTH,
    LOGICAL,
    LOOP,
    NEEDED_NUMBERS,
    NUMBER,
    NUMPY,
    NUMPY_SHAPE,
    RANDOM,
    SHAPE,
    SHAPED,
    SHAPED_BY_NUMPY,
    SLICE,
    TAKING_ARRAYS,
    TRUTH,
    WITH_AXIS,
)
from jaxlint.libraries.trees import TREE_MAPS
from jaxlint.rules.analyses.under_trace.computed_from import Origins, is_behind
from jaxlint.rules.analyses.under_trace.library_forms import number_kind
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Binary,
    BoolOp,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Constant,
    Display,
    Expr,
    Lambda,
    Name,
    NamedExpr,
    Starred,
    Subscript,
    Unary,
    children,
    dotted,
    is_slice,
    items_of,
    last_name,
)
from jaxlint.syntax.remembered import remembered
from jaxlint.syntax.statements import (
    Assert,
    Body,
    ClassDefinition,
    For,
    FunctionDefinition,
    If,
    Statement,
    Try,
    While,
    blocks,
    expressions,
    looked_up,
    parts,
)

#: What does the same with a value that changes all the time.
INSTEAD = {
    TRUTH: "use `jnp.where` or `jax.lax.cond`",
    **{how: f"use `jnp.logical_{operator}`" for operator, how in LOGICAL.items()},
    LOOP: "use `jax.lax.while_loop`",
    CHECK: "check it before the call, or use `jax.experimental.checkify`",
    COUNT: "use `jax.lax.fori_loop`",
    SLICE: "use `jax.lax.dynamic_slice`, or a mask where the length changes",
    INDEX: "make an array of the list, or use `jax.lax.switch`",
    KEY: "use `jax.lax.switch`",
    CONVERSION: "compute with the array itself",
    LEAST: "use `jnp.minimum` or `jnp.maximum`",
    NUMPY: "use `jax.numpy`",
}
#: The functions of jax that run what they are given, at once.
_RUNNING = ("jax.lax.", *TREE_MAPS)
_CONVERSIONS = frozenset({"int", "float", "bool"})
#: What makes the same shape of a list or a tuple.
_COPYING = frozenset({"builtins.tuple", "builtins.list"})
#: The last parts of the names of all these functions, and those of methods that do the same.
_TAKING_SHAPES = frozenset({*SHAPED, "reshape", "iota"})
_ASKING = (
    _TAKING_SHAPES | _CONVERSIONS | {"range", "min", "max", "item", *(n.rpartition(".")[2] for n in NEEDED_NUMBERS)}
)


class Use(msgspec.Struct, frozen=True):
    """A traced expression whose value is asked for, as what, and where: something may be computed from it first."""

    expr: Expr
    how: str
    at: object
    #: Whether an array may stand there as well, which is not asked for anything.
    takes_arrays: bool = False
    #: The other operand of a comparison, if that is traced as well.
    other: Use | None = None


#: Says whether an expression is a traced number, and whether something is a list, a tuple or a dict of Python.
IsTraced = Callable[[Expr], bool]
KindOf = Callable[[Expr], str]


@remembered(256)
def names_asked_in(body: Body) -> frozenset[str]:
    """The variables that stand where something in a body, functions inside left out, may ask for a value.

    That is in tests, in items and in what is given to some functions.
    """
    contents = contents_of(body)
    asking = [expr for s in contents.statements if isinstance(s, (If, While, Assert)) for expr in expressions(s)]
    for part in contents.parts:
        match part:
            case Conditional() | BoolOp() | Subscript() | Unary(op="not") | Binary(op="*", left=Display()):
                asking.append(part)
            case Comprehension(clauses=clauses) if any(clause.conditions for clause in clauses):
                asking.append(part)
            case Call(func=func) if last_name(func) in _ASKING or part.keyword("axis") is not None:
                asking.append(part)
    return frozenset(part.id for expr in asking for part in parts(expr) if isinstance(part, Name))


def asks_for_shapes_in(body: Body) -> bool:
    """Whether a body, functions inside it left out, calls something that takes a shape."""
    return any(last_name(call.func) in _TAKING_SHAPES for call in contents_of(body).of(Call))


class StaticUses:
    """Finds the uses in a body; `is_traced` tells of the expressions that are traced themselves."""

    def __init__(
        self,
        is_traced: IsTraced,
        kind_of: KindOf,
        name_of: Callable[[Expr], str],
        bound: Mapping[str, Expr] | None = None,
    ) -> None:
        #: What variables stand for that are bound once.
        self._bound = bound or {}
        self._origins = Origins(is_traced, name_of, self._bound)
        self._kind_of = kind_of
        #: The dotted name of a function that is called, "" if it is not known.
        self._name_of = name_of
        self._found: list[Use] = []

    def of(self, body: Body) -> list[Use]:
        """The uses in a body, functions inside it left out; what stands below a check of types is left out, too."""
        self._found = []
        self._block(body)
        return self._found

    def _block(self, body: Body) -> None:
        for statement in body:
            if isinstance(statement, (FunctionDefinition, ClassDefinition)):
                continue
            if isinstance(statement, If) and any(_asks_for_type(test) for test, _ in statement.branches):
                return
            self._own(statement)
            for block in blocks(statement):
                if not _is_tried(block, statement):
                    self._block(block)

    def _own(self, statement: Statement) -> None:
        match statement:
            case If(branches=branches):
                for test, _ in branches:
                    self._truth(test)
            case While(test=test):
                self._truth(test, LOOP)
            case Assert(test=test):
                self._truth(test, CHECK)
            case For(iterable=Call() as call):
                self._inside(call)
            case _:
                for expr in expressions(statement):
                    self._inside(expr)

    def _truth(self, test: Expr, how: str = TRUTH) -> None:
        """The uses in an expression whose truth value is asked for."""
        match test:
            case Unary(op="not", operand=operand):
                self._truth(operand, LOGICAL["not"] if how in LOGICAL.values() else how)
            case BoolOp(op=op, left=left, right=right):
                how = LOGICAL[op] if how in LOGICAL.values() else how
                self._truth(left, how)
                self._truth(right, how)
            case NamedExpr(value=value):
                self._truth(value, how)
            case _:
                if not self._use(test, how):
                    self._inside(test)

    def _inside(self, expr: Expr) -> None:
        """The uses in an expression whose own value is not asked for."""
        match expr:
            case Name() | Constant() | Lambda():
                return
            case Conditional(test=test, body=body, orelse=orelse):
                if _asks_for_type(test):
                    return
                self._truth(test)
                self._inside(body)
                self._inside(orelse)
                return
            case Unary(op="not", operand=operand):
                self._truth(operand, LOGICAL["not"])
                return
            case BoolOp(op=op, left=left, right=right):
                if _asks_for_type(left):
                    return
                self._truth(left, LOGICAL[op] if self._is_condition(left) or self._is_condition(right) else TRUTH)
                self._inside(right)
                return
            case Comprehension(clauses=clauses):
                for clause in clauses:
                    self._inside(clause.iterable)
                    for condition in clause.conditions:
                        self._truth(condition)
                self._inside(expr.element)
                return
            case Call():
                self._call(expr)
            case Subscript(value=held, index=index):
                self._item(held, index)
            case Binary(op="*", left=Display(kind="list" | "tuple"), right=right):
                self._use(right, LENGTH)
        for child in children(expr):
            self._inside(child)

    def _is_condition(self, expr: Expr) -> bool:
        """Whether an expression, or what a variable is bound to, certainly makes a truth value, or an array of them."""
        expr = looked_up(expr, self._bound)
        sides = (expr.left, expr.right) if isinstance(expr, BoolOp) else (expr,)
        return any(map(_makes_truth, sides))

    def _use(self, expr: Expr, how: str, *, takes_arrays: bool = False) -> bool:
        """Note the use of an expression, if it is traced."""
        found = self._origins.of(expr)
        if found is not None:
            right = self._origins.of(expr.comparators[-1]) if isinstance(expr, Compare) else None
            other = None if right is None or right is found else Use(right, how, _place(right, expr))
            self._found.append(Use(found, how, _place(found, expr), takes_arrays, other))
        return found is not None

    def _run(self, function: Lambda) -> None:
        """The uses in the body of a lambda that runs where it stands, if its parameters hide no other variable."""
        own = (*function.params, *function.other_params)
        if any(name in self._bound or self._origins.of(Name(function.at, name)) is not None for name in own):
            return
        self._inside(function.body)

    def _call(self, call: Call) -> None:
        name = self._name_of(call.func)
        module, _, last = name.rpartition(".")
        positional = call.positional
        if name.startswith(_RUNNING):
            for function in (part for part in positional if isinstance(part, Lambda)):
                self._run(function)
        if name == "builtins.range":
            for argument in positional:
                self._use(argument, COUNT)
        elif module == "builtins" and last in _CONVERSIONS and len(positional) == 1:
            self._use(positional[0], CONVERSION)
        elif name in ("builtins.min", "builtins.max") and len(positional) > 1:
            self._least(positional)
        elif name in NEEDED_NUMBERS:
            place, keyword, how = NEEDED_NUMBERS[name]
            number = positional[place] if place < len(positional) else call.keyword(keyword)
            if number is not None and call.keyword("total_repeat_length") is None:
                for part in (part for item in items_of(number) for part in items_of(item)):
                    self._use(part, how, takes_arrays=name in TAKING_ARRAYS)
        elif last in SHAPED and module in ("jax.numpy", "jax.random", "jax.nn", "jax.lax"):
            index, keyword = SHAPED[last]
            if (last in RANDOM) is (module == "jax.random"):
                shape = positional[index] if index < len(positional) else call.keyword(keyword)
                if last == "arange":  # whose error is that of a conversion
                    for part in positional:
                        self._use(part, NUMBER)
                elif shape is not None:
                    self._shape(shape, SHAPE)
        elif module == "numpy" and last in SHAPED_BY_NUMPY:
            self._shape(positional[0] if positional else call.keyword(SHAPED[last][1]), NUMPY_SHAPE)
        elif isinstance(call.func, Attribute) and call.func.attr == "reshape" and not name:
            for size in (a.value for a in call.args if a.keyword in (None, "shape")):
                self._shape(size, SHAPE)
        elif isinstance(call.func, Attribute) and call.func.attr == "item" and not positional:
            self._use(call.func.value, CONVERSION)
        axis = call.keyword("axis") if module in WITH_AXIS else None
        if axis is not None:
            self._use(axis, AXIS)

    def _least(self, numbers: Sequence[Expr]) -> None:
        """The use of the first traced number of those of which Python looks for the least or greatest."""
        any(self._use(number, LEAST) for number in numbers)

    def _shape(self, shape: Expr | None, how: str) -> None:
        """The uses in what is given for a shape."""
        match shape:
            case Name(id=name) if name in self._bound and self._holds_items(self._bound[name], shape):
                self._shape(self._bound[name], how)
            case Call(args=(Argument(value=items, star=""),)) if self._name_of(shape.func) in _COPYING:
                self._shape(items, how)
            case Display(items=items):
                for part in items:
                    if isinstance(part, Starred):
                        self._shape(part.value, how)
                    else:
                        self._use(part, how)
            case Binary(op="+", left=left, right=right) if isinstance(left, Display) or isinstance(right, Display):
                self._shape(left, how)
                self._shape(right, how)
            case _ if shape is not None:
                self._use(shape, how)

    def _holds_items(self, value: Expr, name: Expr) -> bool:
        """Whether what a variable is bound to before it is read may be a tuple or a list that is written out."""
        if not is_behind(name, value):
            return False
        return isinstance(value, (Display, Binary)) or (
            isinstance(value, Call) and self._name_of(value.func) in _COPYING
        )

    def _item(self, held: Expr, index: Expr) -> None:
        parts = index.items if isinstance(index, Display) and index.kind == "tuple" else (index,)
        for part in parts:
            if is_slice(part):
                for bound in part.parts:
                    self._use(bound, SLICE)
        kind = self._kind_of(held)
        if kind in ("list", "tuple"):
            self._use(index, INDEX)
        elif kind == "dict":
            self._use(index, KEY)


def _makes_truth(expr: Expr) -> bool:
    """Whether the outermost operator, or function of jax.numpy, of an expression makes truth values."""
    return isinstance(expr, Compare) or (isinstance(expr, Unary) and expr.op == "not") or number_kind(expr) == "bool"


def _is_tried(block: Body, statement: Statement) -> bool:
    """Whether the code of a block may be meant to fail: something else is done then."""
    return isinstance(statement, Try) and bool(statement.handlers) and block is statement.body


def _place(traced: Expr, used: Expr) -> object:
    """Where to report the use of something that is computed from a traced expression: at that, if it stands there."""
    return traced.at if place_of(used.at).holds(place_of(traced.at)) else used.at


def _asks_for_type(expr: Expr) -> bool:
    """Whether an expression asks what something is, so that what follows may hold for some kinds of it only."""
    pending = [expr]
    while pending:
        current = pending.pop()
        if isinstance(current, Call):
            last = (dotted(current.func) or "").rpartition(".")[2].lower()
            if last in ("isinstance", "hasattr", "callable", "type") or "trac" in last or "concrete" in last:
                return True
        pending += children(current)
    return False
