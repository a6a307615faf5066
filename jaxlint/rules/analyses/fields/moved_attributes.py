"""Numbers in mutable objects that each turn of a loop moves, next to a compiled function that takes the object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Cross
from jaxlint.infer.known.values import Instance, plain
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.fields.stepped import MOVING
from jaxlint.syntax.expressions import Attribute, Binary, Call, Constant, Expr, Name, Subscript, dotted, is_number
from jaxlint.syntax.statements import Assign, Augment, Body, Do, For, Return, Statement, While, own_parts, walk


class Stepped(msgspec.Struct, frozen=True):
    """The attribute that a loop moves, its class, and the code that does it: `m.n += 1`, or the call of a method."""

    at: object
    cls: PytreeClass
    attr: str


def stepped_in_loop(code: CodeRead, crosses: Mapping[int, Cross], evaluator: Evaluator) -> Iterator[Stepped]:
    """The attributes that every turn of a loop moves, of objects that it passes to one of some compiled functions.

    `crosses` are what goes into them, by the places of the arguments.
    """
    for loop in (s for s in code.statements if isinstance(s, (For, While))) if crosses else ():
        passed = dict(_passed(loop.body, crosses))
        for statement in loop.body if passed else ():
            target = moved(statement)
            cls = None if target is None else passed.get(dotted(target.value) or "")
            if target is not None and cls is not None:
                yield Stepped(target.at, cls, target.attr)
            match statement:
                case Do(value=Call(func=Attribute(value=held, attr=name)) as call):
                    cls = passed.get(dotted(held) or "")
                    method = None if cls is None else cls.method(name)
                    if cls is not None and method is not None:
                        for attr in moved_by(FunctionSymbol(method[0].module, method[1]), evaluator):
                            yield Stepped(call.at, cls, attr)


def _passed(body: Body, crosses: Mapping[int, Cross]) -> Iterator[tuple[str, PytreeClass]]:
    """The objects that each turn of a loop passes, by how they are written, with their classes."""
    for statement in body:
        for part in own_parts(statement) if not isinstance(statement, (For, While)) else ():
            for argument in part.args if isinstance(part, Call) else ():
                cross, path = crosses.get(id(argument.at)), dotted(argument.value)
                held = None if cross is None else plain(cross.value)
                if path is not None and isinstance(held, Instance):
                    yield path, held.cls


def moved_by(symbol: FunctionSymbol, evaluator: Evaluator) -> Iterator[str]:
    """The attributes of `self` that a method certainly moves."""
    function = symbol.declaration
    if function.decorators or function.self_name is None or function.is_async or function.is_generator:
        return
    for statement in evaluator.calls.body_of(symbol) or ():
        if any(isinstance(inner, Return) for inner in walk((statement,), nested=False)):
            return
        target = moved(statement)
        if target is not None and dotted(target.value) == function.self_name:
            yield target.attr


def _is_extent(expr: Expr) -> bool:
    """Whether an expression is how long an array or a list is, which is known while tracing."""
    match expr:
        case Subscript(value=Attribute(attr="shape"), index=Constant(kind="int")):
            return True
        case Call(func=Name(id="len"), args=(_,)):
            return True
    return False


def moved(statement: Statement) -> Attribute | None:
    """The attribute that a statement gives another number: `x.n += 1`, `x.n = x.n * 0.9`."""
    match statement:
        case Augment(target=Attribute() as target, op=op, value=value):
            return target if op in MOVING and (is_number(value) or _is_extent(value)) else None
        case Assign(targets=(Attribute() as target,), value=Binary(op=op, left=left, right=right)):
            return target if op in MOVING and is_number(right) and dotted(left) == dotted(target) else None
    return None
