"""Whether somebody else holds, too, what is changed in place: a caller, or a variable that is read afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Construct
from jaxlint.libraries.updates import SHALLOW_COPIES
from jaxlint.project.resolution import External
from jaxlint.rules.analyses.bodies.binding import binds, end_of
from jaxlint.symbols.outline import MUTATING
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Conditional,
    Expr,
    Name,
    Span,
    Subscript,
    dotted,
    is_within,
    items_of,
    root,
)
from jaxlint.syntax.names_read import reads
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    Do,
    For,
    Statement,
    While,
    With,
    assigned_pairs,
    expressions,
    parts,
    walk,
)


class Change(msgspec.Struct, frozen=True):
    """A place of a body that changes something in place."""

    at: Span
    code: CodeRead
    evaluator: Evaluator


def is_held(expr: Expr, path: tuple[str, ...], change: Change) -> bool:
    """Whether somebody else holds what a path of attributes of `expr` leads to; False if that is not known.

    What a call returns is held by nobody else, unless the call certainly puts in what others hold.
    """
    match expr:
        case Attribute(value=value, attr=attr):
            return is_held(value, (attr, *path), change)
        case Subscript(value=value):
            return is_held(value, (), change)
        case Conditional(body=body, orelse=orelse):
            return is_held(body, path, change) or is_held(orelse, path, change)
        case Name():
            return _variable_is_held(expr, path, change)
        case Call():
            return any(is_held(part, below, change) for part, below in _put_in(expr, path, change))
    return False


def _put_in(call: Call, path: tuple[str, ...], change: Change) -> Iterator[tuple[Expr, tuple[str, ...]]]:
    """What a call puts, as it is, into the place of its result that a path leads to, and the path from there on."""
    if not path:
        return
    given = call.keyword(path[0])
    if given is not None:
        yield given, path[1:]
        return
    events = (e for e in change.code.events if isinstance(e, Construct) and e.call is call)
    made = next(events, None)
    if made is not None:
        parameters = made.cls.cls.constructor() or ()
        for parameter, positional in zip(parameters, call.positional, strict=False):
            if parameter.name == path[0]:
                yield positional, path[1:]
    elif call.positional:
        symbol = change.evaluator.model.resolver.resolve(call.func, change.code.place.module, change.code.scope)
        if isinstance(symbol, External) and symbol.name in SHALLOW_COPIES:
            yield call.positional[0], path


def _variable_is_held(read: Name, path: tuple[str, ...], change: Change) -> bool:
    """Whether a variable comes from outside, is read after the change, or holds what others hold."""
    binding = _binding(read, change)
    if binding is None:
        return True
    text = ".".join((read.id, *path))
    if _is_read_later(text, binding, change) or _is_stored(text, binding, change):
        return True
    match binding:
        case Assign():
            pairs = assigned_pairs(binding)
        case Annotate(target=target, value=value) if value is not None:
            pairs = [(target, value)]
        case For(target=target, iterable=iterable):
            pairs, path = [(target, iterable)], ()
        case With(items=items):
            pairs = [(target, value) for value, target in items if target is not None]
        case _:
            pairs = []
    return any(isinstance(t, Name) and t.id == read.id and is_held(given, path, change) for t, given in pairs)


def _binding(read: Name, change: Change) -> Statement | None:
    """The last statement before a read that binds the variable, which may be one of several that can."""
    start = place_of(read.at)[:2]
    before = [s for s in _bindings(read.id, change.code) if end_of(s) <= start]
    return max(before, key=end_of, default=None)


def _bindings(name: str, code: CodeRead) -> list[Statement]:
    return [s for s in code.statements if binds(s, name)]


def _is_read_later(text: str, binding: Statement, change: Change) -> bool:
    """Whether what a variable was given is read after the change, or in the next turn of a loop around it."""
    name = text.partition(".")[0]
    others = [s for s in _bindings(name, change.code) if s is not binding]
    turns = [span for span in _loops(change) if not _holds(span, binding) and not any(_holds(span, o) for o in others)]
    inside = (part for s in walk(change.code.body) for expr in expressions(s) for part in parts(expr))
    owners = {id(part.value): part for part in inside if isinstance(part, Attribute)}
    for read in reads(change.code.body, name):
        place = place_of(read.at)
        path: Expr = read
        while id(path) in owners:
            path = owners[id(path)]
        found = dotted(path) or name
        if not is_within(found, (text,)) and not is_within(text, (found,)):
            continue
        again = place[:2] >= change.at[2:] and not any(end_of(binding) < end_of(o) <= place[:2] for o in others)
        if again or any(span.holds(place) for span in turns):
            return True
    return False


def _loops(change: Change) -> Iterator[Span]:
    """The ranges that are run again and again, with the change in them."""
    for statement in change.code.statements:
        if isinstance(statement, (For, While)) and statement.body:
            first = statement.test if isinstance(statement, While) else statement.body[0]
            span = Span(*place_of(first.at)[:2], *place_of(statement.body[-1].at)[2:])
            if span.holds(change.at):
                yield span


def _holds(span: Span, statement: Statement) -> bool:
    return span[:2] <= end_of(statement) <= span[2:]


def _is_stored(text: str, binding: Statement, change: Change) -> bool:
    """Whether something else was given the variable, or what is changed of it, before the change."""
    for statement in change.code.statements:
        if statement is binding or not end_of(binding) <= end_of(statement) <= change.at[:2]:
            continue
        match statement:
            case Assign(targets=targets, value=value):
                if any(_is_part(text, item) for item in items_of(value)):
                    if any(not isinstance(t, Name) or _is_read_later(t.id, statement, change) for t in targets):
                        return True
            case Do(value=Call(func=Attribute(value=owner, attr=attr), args=args)) if attr in MUTATING:
                if not _is_part(text, root(owner)) and any(_is_part(text, argument.value) for argument in args):
                    return True
    return False


def _is_part(text: str, expr: Expr) -> bool:
    path = dotted(expr)
    return path is not None and (is_within(path, (text,)) or is_within(text, (path,)))
