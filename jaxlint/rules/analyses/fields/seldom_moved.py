"""Loops on the host in which a number does not cost a compilation at each turn: searches, and what happens once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import FieldEvent, Place
from jaxlint.libraries.updates import COPYING_NAMES
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol
from jaxlint.rules.analyses.bodies.around import outermost_body
from jaxlint.rules.analyses.bodies.stages import goes_through_few, moving_loop
from jaxlint.rules.analyses.fields.swept import is_counted, runs_a_loop
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    BoolOp,
    Call,
    Compare,
    Constant,
    Display,
    Expr,
    Name,
    Span,
    Unary,
    dotted,
    last_name,
)
from jaxlint.syntax.statements import (
    Assign,
    Augment,
    Body,
    Break,
    For,
    If,
    Jump,
    Return,
    Try,
    While,
    all_parts,
    expressions,
    parts,
    target_names,
    walk,
)

#: Where functions compile nothing anew for another number: those of jax.numpy take it as an argument.
_ON_THE_HOST = ("builtins.", "math.", "numpy.", "jax.numpy.", "jax.random.", "time.", "logging.")
#: How many functions that call each other are looked into.
_FAR = 3


def is_seldom_moved(event: FieldEvent, field: str, evaluator: Evaluator) -> bool:
    """Whether a loop of the host moves a number once, or searches it with functions that compile nothing.

    It may also try again with half of it, or twice as much, where it has not got through: few of such steps are made.
    A search ends by what it finds: a `while`, or a `for` with a `break`. A counted loop may be a part of each step.
    """
    module, functions = event.place.module, event.place.functions
    if not functions:
        return False
    body = outermost_body(event.place, evaluator)
    if happens_seldom(event.at, body) or tries_again(event.at, field, body):
        return True
    loops = _loops_around(place_of(event.at), body)
    if not loops or not _is_search(loops[-1]):
        return False
    asked = (part for expr in expressions(loops[0]) for part in parts(expr))
    scope = functions[-1].inner_scope
    return _stays_on_host((*asked, *all_parts(loops[0].body)), module, scope, evaluator)


def tries_again(at: object, field: str, body: Body) -> bool:
    """Whether a loop comes to a copy where a turn has not got through, and tries half of a number, or twice as much."""
    place = place_of(at)
    loop = next(reversed(_loops_around(place, body)), None)
    if loop is None:
        return False
    calls = (part for part in all_parts(loop.body) if isinstance(part, Call) and place_of(part.at).holds(place))
    if not any(_is_far(call.keyword(field)) for call in calls):
        return False
    return (isinstance(loop, While) and len(loop.body) == 1) or _is_after_failure(place, loop.body)


def is_stage(event: FieldEvent, evaluator: Evaluator) -> bool:
    """Whether the loop around an event has another loop for each number that it goes through, itself or in a call."""
    loops = _loops_around(place_of(event.at), _code_around(event.place, evaluator))
    return bool(loops) and _has_own_loop(loops[-1], event.place, evaluator)


def is_of_stage(at: object, body: Body, place: Place, evaluator: Evaluator, *, is_named: bool = False) -> bool:
    """Whether what stands at a place in a body is another one for each of a few stages with a loop of their own.

    The stages are written out, or a loop makes a few numbers of them. A longer list that stands in the loop is meant
    as well, and one of unknown length if the name of what is set says so.
    """
    moving = moving_loop(at, body)
    if moving is None:
        return False
    loop, holds_another = moving
    if not isinstance(loop, For):
        return False
    is_listed = isinstance(loop.iterable, Display)
    is_listed = is_listed or (is_named and not is_counted(loop.iterable, place.module, place.scope, evaluator))
    if not is_listed and not goes_through_few(loop, at, body, place, evaluator):
        return False
    return holds_another or _has_own_loop(loop, place, evaluator)


def is_put_for_stage(event: FieldEvent, at: object, evaluator: Evaluator, *, is_named: bool) -> bool:
    """The same of something that is put into a field."""
    return is_of_stage(at, _code_around(event.place, evaluator), event.place, evaluator, is_named=is_named)


def _code_around(place: Place, evaluator: Evaluator) -> Body:
    """The statements of the outermost function around a place, or of the module."""
    return outermost_body(place, evaluator) if place.functions else evaluator.calls.top_level(place.module)


def _has_own_loop(loop: For | While, place: Place, evaluator: Evaluator) -> bool:
    """Whether each turn of a loop runs another one, itself or in a function of the project."""
    if any(isinstance(s, (For, While)) for s in walk(loop.body, nested=False)):
        return True
    calls = (part for part in all_parts(loop.body, nested=False) if isinstance(part, Call))
    return any(runs_a_loop(call, place.module, place.scope, evaluator) for call in calls)


def _is_far(value: Expr | None) -> bool:
    """Whether a number is at least twice another one, or at most half of it."""
    match value:
        case (
            Binary(op="*", right=Constant(value=int() | float() as factor))
            | Binary(op="*", left=Constant(value=int() | float() as factor))
        ):
            return factor >= 2 or factor <= 0.5
        case Binary(op="/" | "//", right=Constant(value=int() | float() as factor)):
            return factor >= 2
    return False


def _is_after_failure(place: Span, body: Body) -> bool:
    """Whether a turn of a loop comes to a place only if it was not left before, or where an exception was met."""
    for statement in body:
        if place_of(statement.at).holds(place):
            return isinstance(statement, Try) and any(holds(one.body, place) for one in statement.handlers)
        for _, branch in statement.branches if isinstance(statement, If) else ():
            if isinstance(branch[-1], (Return, Jump)):
                return True
    return False


def happens_seldom(at: object, body: Body) -> bool:
    """Whether something in a body stands in a loop which comes to it at one turn, or at some that are listed."""
    place = place_of(at)
    loops = _loops_around(place, body)
    return len(loops) == 1 and any(_is_once(branch, loops[0]) for branch in _branches(loops[0].body, place))


def _loops_around(place: Span, body: Body) -> list[For | While]:
    return [s for s in walk(body) if isinstance(s, (For, While)) and holds(s.body, place)]


def holds(body: Body, place: Span) -> bool:
    """Whether a place is in one of the statements of a body, or below them."""
    return any(place_of(s.at).holds(place) for s in body)


def _branches(body: Body, place: Span) -> Iterator[tuple[Expr, Body]]:
    """The branches of conditions in which something stands, with their tests."""
    for statement in walk(body, nested=False):
        for test, branch in statement.branches if isinstance(statement, If) else ():
            if holds(branch, place):
                yield test, branch


def _is_once(condition: tuple[Expr, Body], loop: For | While) -> bool:
    """Whether a branch is taken at one turn of a loop, or a few, as its test or its own end tells."""
    test, branch = condition
    if isinstance(branch[-1], (Return, Break)):
        return True
    counted = set(target_names(loop.target)) if isinstance(loop, For) else set[str]()
    counted.update(dotted(s.target) or "" for s in walk(loop.body, nested=False) if isinstance(s, Augment))
    return any(_is_met_once(part, counted, branch) for part in _conjoined(test))


def _conjoined(test: Expr) -> Iterator[Expr]:
    """The conditions that hold together."""
    if isinstance(test, BoolOp) and test.op == "and":
        yield from _conjoined(test.left)
        yield from _conjoined(test.right)
    else:
        yield test


def _is_met_once(test: Expr, counted: set[str], branch: Body) -> bool:
    """Whether a condition is that the loop is at one turn or at listed ones, or a flag that the branch turns over."""
    match test:
        case Compare(left=left, ops=("==",), comparators=(right,)):
            return any(dotted(side) in counted for side in (left, right))
        case Compare(left=left, ops=("in",)):
            return dotted(left) in counted
        case Unary(op="not", operand=Name(id=flag)):
            return _sets(flag, True, branch)
        case Name(id=flag):
            return _sets(flag, False, branch)
    return False


def _sets(flag: str, value: bool, branch: Body) -> bool:
    return any(
        isinstance(s, Assign)
        and isinstance(s.value, Constant)
        and s.value.value is value
        and any(isinstance(target, Name) and target.id == flag for target in s.targets)
        for s in branch
    )


def _is_search(loop: For | While) -> bool:
    """Whether a loop ends by what it has found."""
    return isinstance(loop, While) or any(isinstance(s, (Return, Break)) for s in walk(loop.body, nested=False))


def _stays_on_host(exprs: Iterable[Expr], module: Module, scope: str, evaluator: Evaluator, far: int = _FAR) -> bool:
    """Whether all calls among expressions are known to compile nothing."""
    return all(_is_of_host(part, module, scope, evaluator, far) for part in exprs if isinstance(part, Call))


def _is_of_host(call: Call, module: Module, scope: str, evaluator: Evaluator, far: int) -> bool:
    if last_name(call.func) in COPYING_NAMES:
        return True
    name = evaluator.model.resolver.library_name(call.func, module, scope)
    if name:
        return name.startswith(_ON_THE_HOST)
    symbol = evaluator.model.resolver.resolve(call.func, module, scope)
    if isinstance(symbol, ClassSymbol):
        return True
    if isinstance(call.func, Attribute) and not isinstance(symbol, FunctionSymbol):
        named = [f for f in module.outline.functions.values() if f.name == call.func.attr and f.owner is not None]
        symbol = FunctionSymbol(module, named[0]) if len(named) == 1 else symbol
    if not isinstance(symbol, FunctionSymbol) or not far:
        return False
    function, home = symbol.declaration, symbol.module
    body = evaluator.calls.body_of(symbol)
    if body is None or function.decorators or evaluator.calls.transformed.of(function, home):
        return False
    return _stays_on_host(all_parts(body), home, function.inner_scope, evaluator, far - 1)
