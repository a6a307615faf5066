"""Statements as jaxlint understands them: the bodies of units, functions and classes, over
`jaxlint.syntax.expressions`.

Readers of code (`infer/reading/flow.py`, body rules) see this small language and no parser's nodes. As in
`jaxlint.syntax.expressions`, `at` is what stands in the source: a node of the parser, whose range is computed only if
it is reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

import msgspec

from jaxlint.syntax.expressions import (
    Constant,
    Display,
    Expr,
    Name,
    NamedExpr,
    Starred,
    unpacked,
    with_parts,
)
from jaxlint.syntax.remembered import remembered


class _Base(msgspec.Struct, frozen=True, gc=False, eq=False):
    at: Any


class Do(_Base, frozen=True, gc=False, eq=False):
    """An expression that stands alone."""

    value: Expr


class Assign(_Base, frozen=True, gc=False, eq=False):
    """`target = target = value`."""

    targets: tuple[Expr, ...]
    value: Expr


class Annotate(_Base, frozen=True, gc=False, eq=False):
    """`target: annotation = value`; the value may be missing."""

    target: Expr
    annotation: Expr
    value: Expr | None


class Augment(_Base, frozen=True, gc=False, eq=False):
    """`target op= value`."""

    target: Expr
    op: str
    value: Expr


class Return(_Base, frozen=True, gc=False, eq=False):
    """`return value`."""

    value: Expr | None


class Raise(_Base, frozen=True, gc=False, eq=False):
    """`raise error`."""

    error: Expr | None


class Jump(_Base, frozen=True, gc=False, eq=False):
    """`break` or `continue`."""


class Break(Jump, frozen=True, gc=False, eq=False):
    """`break`."""


class Delete(_Base, frozen=True, gc=False, eq=False):
    """`del target`; several targets are a tuple display."""

    target: Expr


class Assert(_Base, frozen=True, gc=False, eq=False):
    """`assert test`."""

    test: Expr
    message: Expr | None


class Importing(_Base, frozen=True, gc=False, eq=False):
    """An import statement, or `type X = …`: the names that it binds, for which the outline says what they mean."""

    names: tuple[str, ...]


class Outer(_Base, frozen=True, gc=False, eq=False):
    """`global names` or `nonlocal names`."""

    names: tuple[str, ...]


class If(_Base, frozen=True, gc=False, eq=False):
    """A chain of `if` and `elif`: each test with its body, and what `else` does."""

    branches: tuple[tuple[Expr, Body], ...]
    orelse: Body


class For(_Base, frozen=True, gc=False, eq=False):
    """`for target in iterable`."""

    target: Expr
    iterable: Expr
    body: Body
    orelse: Body


class While(_Base, frozen=True, gc=False, eq=False):
    """`while test`."""

    test: Expr
    body: Body
    orelse: Body


class With(_Base, frozen=True, gc=False, eq=False):
    """`with value as target, …`."""

    items: tuple[tuple[Expr, Expr | None], ...]
    body: Body


class Handler(msgspec.Struct, frozen=True, gc=False, eq=False):
    """`except error as name`."""

    error: Expr | None
    name: str | None
    body: Body


class Try(_Base, frozen=True, gc=False, eq=False):
    """A try statement."""

    body: Body
    handlers: tuple[Handler, ...]
    orelse: Body
    final: Body


class Capture(msgspec.Struct, frozen=True, gc=False, eq=False):
    """A name that a class pattern binds to the instance, or to its attribute `part` if that is given.

    A part that is given by position is a number.
    """

    name: str
    cls: Expr
    part: str | int | None


class Case(msgspec.Struct, frozen=True, gc=False, eq=False):
    """One case of a match statement; `cls` is the class of a class pattern, `whole` the name of a bare capture."""

    cls: Expr | None
    whole: str | None
    #: The names that are bound to instances of known classes and to their parts.
    captures: tuple[Capture, ...]
    #: Whether the pattern is a bare capture or `_`, and so always matches.
    always: bool
    captured: frozenset[str]
    guard: Expr | None
    body: Body


class Match(_Base, frozen=True, gc=False, eq=False):
    """A match statement."""

    subject: Expr
    cases: tuple[Case, ...]


class FunctionDefinition:
    """A `def` statement; its annotations are in the outline, the body is translated when it is read."""

    __slots__ = ("_body", "_translate", "at", "decorators", "defaults", "name", "params")

    def __init__(
        self,
        at: Any,
        name: str,
        params: frozenset[str],
        decorators: tuple[Expr, ...],
        defaults: tuple[Expr, ...],
        translate: Callable[[], Body],
    ) -> None:
        self.at = at
        self.name = name
        #: The names of all parameters.
        self.params = params
        self.decorators = decorators
        self.defaults = defaults
        self._translate = translate
        self._body: Body | None = None

    @property
    def body(self) -> Body:
        """The statements of the function."""
        if self._body is None:
            self._body = self._translate()
        return self._body


class ClassDefinition(_Base, frozen=True, gc=False, eq=False):
    """A `class` statement."""

    name: str
    decorators: tuple[Expr, ...]
    #: The base classes, and the values of the keywords.
    bases: tuple[Expr, ...]
    body: Body


#: Statements that hold others.
Compound: TypeAlias = If | For | While | With | Try | Match | FunctionDefinition | ClassDefinition
Statement: TypeAlias = (
    Do | Assign | Annotate | Augment | Return | Raise | Jump | Delete | Assert | Importing | Outer | Compound
)
Body: TypeAlias = tuple[Statement, ...]


def assert_never(statement: NoReturn) -> NoReturn:
    """A reader has a case for each kind of statement: mypy refuses the call where one is left out."""
    raise AssertionError(f"no reader knows {type(statement).__name__}")


def blocks(statement: Statement) -> tuple[Body, ...]:
    """The statement lists directly below a statement, in source order."""
    kind = type(statement)
    return _BLOCKS[kind](statement) if kind in _BLOCKS else ()


def expressions(statement: Statement) -> tuple[Expr, ...]:
    """The expressions of a statement itself (not those of the statements below it), in source order."""
    kind = type(statement)
    return _EXPRESSIONS[kind](statement) if kind in _EXPRESSIONS else ()


def _given(*exprs: Expr | None) -> tuple[Expr, ...]:
    return tuple([expr for expr in exprs if expr is not None])


_BLOCKS: dict[type, Callable[[Any], tuple[Body, ...]]] = {
    If: lambda s: (*[body for _, body in s.branches], s.orelse),
    For: lambda s: (s.body, s.orelse),
    While: lambda s: (s.body, s.orelse),
    With: lambda s: (s.body,),
    FunctionDefinition: lambda s: (s.body,),
    ClassDefinition: lambda s: (s.body,),
    Try: lambda s: (s.body, *[h.body for h in s.handlers], s.orelse, s.final),
    Match: lambda s: tuple([c.body for c in s.cases]),
}
_EXPRESSIONS: dict[type, Callable[[Any], tuple[Expr, ...]]] = {
    Do: lambda s: (s.value,),
    Return: lambda s: _given(s.value),
    Assign: lambda s: (*s.targets, s.value),
    Annotate: lambda s: _given(s.target, s.annotation, s.value),
    Augment: lambda s: (s.target, s.value),
    Raise: lambda s: _given(s.error),
    Delete: lambda s: (s.target,),
    Assert: lambda s: _given(s.test, s.message),
    If: lambda s: tuple([test for test, _ in s.branches]),
    For: lambda s: (s.target, s.iterable),
    While: lambda s: (s.test,),
    With: lambda s: _given(*[expr for item in s.items for expr in item]),
    Try: lambda s: _given(*[h.error for h in s.handlers]),
    Match: lambda s: (s.subject, *_given(*[expr for c in s.cases for expr in (c.cls, c.guard)])),
    FunctionDefinition: lambda s: (*s.decorators, *s.defaults),
    ClassDefinition: lambda s: (*s.decorators, *s.bases),
}


def walk(body: Body, *, nested: bool = True) -> Iterator[Statement]:
    """All statements below a body in source order; those inside functions and classes only if `nested`."""
    pending = list(body[::-1])
    while pending:
        statement = pending.pop()
        yield statement
        kind = type(statement)
        if kind in _BLOCKS and (nested or (kind is not FunctionDefinition and kind is not ClassDefinition)):
            for block in _BLOCKS[kind](statement)[::-1]:
                pending += block[::-1]


def parts(expr: Expr, *, nested: bool = True) -> list[Expr]:
    """An expression and all expressions inside it; those inside lambdas only if `nested`."""
    return with_parts((expr,), nested=nested)


@remembered(2048)  # several ask for those of the same function
def own_parts(statement: Statement) -> Sequence[Expr]:
    """The expressions of a statement itself, with their parts; not those of the statements below it."""
    return with_parts(expressions(statement))


def all_parts(body: Body, *, nested: bool = True) -> Iterator[Expr]:
    """All expressions in the statements below a body; those of functions and classes inside only if `nested`."""
    return (part for statement in walk(body, nested=nested) for part in own_parts(statement))


@remembered(4096)  # of a long function, each statement alone
def assigned_names(body: Body) -> frozenset[str]:
    """The variables that some statements bind (not those of nested functions)."""
    names: set[str] = set()
    for statement in walk(body, nested=False):
        names.update(bound_names(statement))
        for part in own_parts(statement):
            if type(part) is NamedExpr:
                names.update(target_names(part.target))
    return frozenset(names)


def bound_names(statement: Statement) -> Iterable[str]:
    """The variables that a statement itself binds, but for those that its expressions do."""
    match statement:
        case FunctionDefinition(name=name) | ClassDefinition(name=name):
            return (name,)
        case Assign(targets=targets):
            return [name for target in targets for name in target_names(target)]
        case Annotate(target=target) | Augment(target=target) | For(target=target):
            return target_names(target)
        case With(items=items):
            return [name for _, target in items if target is not None for name in target_names(target)]
        case Importing(names=bound):
            return [name.partition(".")[0] for name in bound]
        case Match(cases=cases):
            return [name for case in cases for name in case.captured]
        case Try(handlers=handlers):
            return [handler.name for handler in handlers if handler.name is not None]
    return ()


def target_names(target: Expr) -> Iterable[str]:
    """The variables that an assignment target binds."""
    match target:
        case Name(id=name):
            yield name
        case Starred(value=value):
            yield from target_names(value)
        case Display(items=items):
            for item in items:
                yield from target_names(item)


@remembered(256)
def own_names(body: Body) -> frozenset[str]:
    """The variables that the body of a function binds and does not take from outside."""
    outer = {name for s in walk(body, nested=False) if isinstance(s, Outer) for name in s.names}
    return assigned_names(body) - outer


def is_own(name: str, params: Container[str], body: Body) -> bool:
    """Whether a function with these parameters and that body has a variable of that name of its own."""
    return name in params or name in own_names(body)


@remembered(256)
def bound_once(body: Body) -> Mapping[str, Expr]:
    """The variables that a body and the functions in it bind once, by an assignment of the body, to what."""
    bound = Counter(name for statement in walk(body) for name in bound_names(statement))
    assigned = [s for s in walk(body, nested=False) if isinstance(s, Assign) and len(s.targets) == 1]
    pairs = [pair for s in assigned for pair in assigned_pairs(s) if type(pair[1]) is not Starred]
    return {target.id: value for target, value in pairs if isinstance(target, Name) and bound[target.id] == 1}


def assigned_pairs(statement: Assign) -> list[tuple[Expr, Expr]]:
    """The targets of an assignment with what each is given: `a = b = x`, and `n, m = x.n, x.m` by its items."""
    return [pair for target in statement.targets for pair in unpacked(target, statement.value)]


def only_tries(body: Body) -> bool:
    """Whether a block evaluates one expression, and does no more than to note that it went well, or keep a variable."""
    others = [s for s in body if not isinstance(s, (Assign, Return, Jump))]
    if len(others) != 1 or not isinstance(others[0], Do):
        return False
    returned = (s.value for s in body if isinstance(s, Return))
    assigned_values = (s.value for s in body if isinstance(s, Assign))
    return all(v is None or isinstance(v, Constant) for v in returned) and all(
        isinstance(v, (Constant, Name)) for v in assigned_values
    )


def only_bound(body: Body) -> dict[str, Expr] | None:
    """The variables of a body that does nothing but bind each of them once, to what; None if it does something else."""
    bound: dict[str, Expr] = {}
    for statement in body:
        match statement:
            case Do(value=Constant()):
                continue
            case Assign(targets=(Name(id=name),), value=value) if name not in bound:
                bound[name] = value
            case _:
                return None
    return bound


def looked_up(expr: Expr, bound: Mapping[str, Expr]) -> Expr:
    """What a variable is bound to, by name, if an expression is one of these; else the expression itself."""
    return bound.get(expr.id, expr) if isinstance(expr, Name) else expr


def looked_into(expr: Expr, bound: Mapping[str, Expr]) -> tuple[Expr, Mapping[str, Expr]]:
    """What a variable is bound to, and what may be looked up in that: in `xs = list(xs)` it is what it was before."""
    if not isinstance(expr, Name) or expr.id not in bound:
        return expr, bound
    return bound[expr.id], {name: value for name, value in bound.items() if name != expr.id}


def has_variable(expr: Expr, name: str) -> bool:
    """Whether a name stands in an expression, whatever variable it means there."""
    return any(isinstance(part, Name) and part.id == name for part in parts(expr))


def bound_by(statement: Statement) -> tuple[Expr, ...]:
    """The targets that a statement binds without reading them."""
    match statement:
        case Assign(targets=targets):
            return targets
        case Annotate(target=target) | For(target=target):
            return (target,)
        case With(items=items):
            return tuple(target for _, target in items if target is not None)
    return ()


def targets_of(statement: Statement) -> tuple[Expr, ...]:
    """What a statement assigns to, or deletes."""
    match statement:
        case Augment(target=target) | Delete(target=target):
            return (target,)
    return bound_by(statement)
