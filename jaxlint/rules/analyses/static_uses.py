"""Where a body asks Python for the value of an expression: a traced one has none, and an error is raised."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from jaxlint.syntax.expressions import (
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
    NamedExpr,
    Other,
    Subscript,
    Unary,
    children,
    dotted,
)
from jaxlint.syntax.statements import (
    Assert,
    Body,
    ClassDefinition,
    For,
    FunctionDefinition,
    If,
    Statement,
    While,
    blocks,
    expressions,
)

TRUTH, COUNT, SHAPE, SLICE, INDEX, KEY, CONVERSION = (
    "in a condition",
    "for the number of turns",
    "in a shape",
    "in a slice",
    "as an index",
    "as a key",
    "as a Python number",
)
#: What is raised for each (jax 0.10.2).
ERRORS = {
    TRUTH: "TracerBoolConversionError",
    COUNT: "TracerIntegerConversionError",
    SHAPE: "TypeError (Shapes must be 1D sequences of concrete values of integer type)",
    SLICE: "IndexError (Slice entries must be static integers)",
    INDEX: "TracerIntegerConversionError",
    KEY: "TypeError (unhashable type)",
    CONVERSION: "ConcretizationTypeError",
}
#: Functions of `jax.numpy` and `jax.random` that take a shape or a number of elements: where, and by which keywords.
_SHAPED = {
    **dict.fromkeys(("zeros", "ones", "empty", "full"), (0, "shape")),
    **dict.fromkeys(("eye", "identity", "arange"), (0, "N")),
    **dict.fromkeys(("reshape", "broadcast_to"), (1, "shape")),
    "tile": (1, "reps"),
    **dict.fromkeys(("normal", "uniform", "exponential", "gumbel", "laplace"), (1, "shape")),
    "one_hot": (1, "num_classes"),
    "top_k": (1, "k"),
}
#: Functions of `jax.numpy` that make so many numbers: where, and by which keyword.
_COUNTED = dict.fromkeys(("linspace", "logspace", "geomspace"), (2, "num"))
_RANDOM = frozenset({"normal", "uniform", "exponential", "gumbel", "laplace"})
_CONVERSIONS = frozenset({"int", "float", "bool"})


class Use(msgspec.Struct, frozen=True):
    """An expression whose value is asked for, and as what."""

    expr: Expr
    how: str


#: Says whether an expression is a traced number, and whether something is a list, a tuple or a dict of Python.
IsTraced = Callable[[Expr], bool]
KindOf = Callable[[Expr], str]


class StaticUses:
    """Finds the uses in a body; `is_traced` tells of the expressions that are traced themselves."""

    def __init__(self, is_traced: IsTraced, kind_of: KindOf, name_of: Callable[[Expr], str]) -> None:
        self._is_traced = is_traced
        self._kind_of = kind_of
        #: The dotted name of a function that is called, "" if it is not known.
        self._name_of = name_of

    def of(self, body: Body) -> Iterator[Use]:
        """The uses in a body, functions inside it left out; what stands below a check of types is left out, too."""
        for statement in body:
            if isinstance(statement, (FunctionDefinition, ClassDefinition)):
                continue
            if isinstance(statement, If) and any(_asks_for_type(test) for test, _ in statement.branches):
                return
            yield from self._own(statement)
            for block in blocks(statement):
                yield from self.of(block)

    def _own(self, statement: Statement) -> Iterator[Use]:
        match statement:
            case If(branches=branches):
                for test, _ in branches:
                    yield from self._truth(test)
            case While(test=test) | Assert(test=test):
                yield from self._truth(test)
            case For(iterable=Call() as call):
                yield from self._inside(call)
            case _:
                for expr in expressions(statement):
                    yield from self._inside(expr)

    def _truth(self, test: Expr) -> Iterator[Use]:
        """The uses in an expression whose truth value is asked for."""
        match test:
            case Unary(op="not", operand=operand):
                yield from self._truth(operand)
            case BoolOp(left=left, right=right):
                yield from self._truth(left)
                yield from self._truth(right)
            case NamedExpr(value=value):
                yield from self._truth(value)
            case _:
                found = self._traced_in(test)
                if found is not None:
                    yield Use(found, TRUTH)
                else:
                    yield from self._inside(test)

    def _traced_in(self, expr: Expr) -> Expr | None:
        """The traced number that an expression is, or is computed from."""
        if self._is_traced(expr):
            return expr
        match expr:
            case Binary(left=left, right=right):
                return self._traced_in(left) or self._traced_in(right)
            case Unary(op="-" | "+" | "~", operand=operand):
                return self._traced_in(operand)
            case Compare(left=left, ops=(op,), comparators=(right,)) if op in ("<", ">", "<=", ">=", "==", "!="):
                if any(isinstance(e, Constant) and e.kind in ("str", "NoneType") for e in (left, right)):
                    return None
                return self._traced_in(left) or self._traced_in(right)
        return None

    def _inside(self, expr: Expr) -> Iterator[Use]:
        """The uses in an expression whose own value is not asked for."""
        match expr:
            case Lambda():
                return
            case Conditional(test=test, body=body, orelse=orelse):
                if _asks_for_type(test):
                    return
                yield from self._truth(test)
                yield from self._inside(body)
                yield from self._inside(orelse)
                return
            case Unary(op="not", operand=operand):
                yield from self._truth(operand)
                return
            case BoolOp(left=left, right=right):
                if _asks_for_type(left):
                    return
                yield from self._truth(left)
                yield from self._inside(right)
                return
            case Comprehension(clauses=clauses):
                for clause in clauses:
                    yield from self._inside(clause.iterable)
                    for condition in clause.conditions:
                        yield from self._truth(condition)
                yield from self._inside(expr.element)
                return
            case Call():
                yield from self._call(expr)
            case Subscript(value=held, index=index):
                yield from self._item(held, index)
            case Binary(op="*", left=Display(kind="list" | "tuple"), right=right):
                yield from self._use(right, INDEX)
        for child in children(expr):
            yield from self._inside(child)

    def _use(self, expr: Expr, how: str) -> Iterator[Use]:
        found = self._traced_in(expr)
        if found is not None:
            yield Use(found, how)

    def _call(self, call: Call) -> Iterator[Use]:
        name = self._name_of(call.func)
        module, _, last = name.rpartition(".")
        positional = call.positional
        if name == "builtins.range":
            for argument in positional:
                yield from self._use(argument, COUNT)
        elif module == "builtins" and last in _CONVERSIONS and len(positional) == 1:
            yield from self._use(positional[0], CONVERSION)
        elif name == "jax.lax.scan":
            length = positional[3] if len(positional) > 3 else call.keyword("length")
            if length is not None:
                yield from self._use(length, COUNT)
        elif last in _SHAPED and module in ("jax.numpy", "jax.random", "jax.nn", "jax.lax"):
            index, keyword = _SHAPED[last]
            if (last in _RANDOM) is (module == "jax.random"):
                shape = positional[index] if index < len(positional) else call.keyword(keyword)
                if last == "arange":  # whose error is that of a conversion
                    for part in positional:
                        yield from self._use(part, CONVERSION)
                elif shape is not None:
                    yield from self._shape(shape)
        elif last in _COUNTED and module == "jax.numpy":
            index, keyword = _COUNTED[last]
            number = positional[index] if index < len(positional) else call.keyword(keyword)
            if number is not None:
                yield from self._use(number, CONVERSION)
        elif isinstance(call.func, Attribute) and call.func.attr == "reshape" and not name:
            for part in positional:
                yield from self._shape(part)
        elif isinstance(call.func, Attribute) and call.func.attr == "item" and not positional:
            yield from self._use(call.func.value, CONVERSION)

    def _shape(self, shape: Expr) -> Iterator[Use]:
        for part in shape.items if isinstance(shape, Display) else (shape,):
            yield from self._use(part, SHAPE)

    def _item(self, held: Expr, index: Expr) -> Iterator[Use]:
        parts = index.items if isinstance(index, Display) and index.kind == "tuple" else (index,)
        for part in parts:
            if isinstance(part, Other) and part.kind == "Slice":
                for bound in part.parts:
                    yield from self._use(bound, SLICE)
        kind = self._kind_of(held)
        if kind in ("list", "tuple"):
            yield from self._use(index, INDEX)
        elif kind == "dict":
            yield from self._use(index, KEY)


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
