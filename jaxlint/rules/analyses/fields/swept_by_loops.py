"""Floats, one of many that a loop goes through, which an instance is made of that goes into a compiled function."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Construct, Cross, KeywordValue
from jaxlint.libraries.transforms import Kind
from jaxlint.project.modules import Module
from jaxlint.rules.analyses.fields.swept import is_counted, is_float_of
from jaxlint.rules.analyses.instances.callers_in_loops import callers_in_loops
from jaxlint.rules.analyses.instances.passed import given_by
from jaxlint.syntax.expressions import Argument, Call, Constant, Expr, Name, dotted, last_name
from jaxlint.syntax.statements import (
    Body,
    For,
    While,
    all_parts,
    assigned_names,
    bound_once,
    looked_up,
    target_names,
    walk,
)

#: A loop that goes through so many numbers is a short one: each is worth a compilation.
_SHORT = 5
#: The functions that make numbers between two, and take how many.
_BETWEEN = frozenset({"linspace", "geomspace", "logspace"})


def swept_by_loops(code: CodeRead, evaluator: Evaluator) -> Iterator[tuple[Construct, KeywordValue]]:
    """The arguments of what is made and passed to a compiled function, which are one of many floats of a loop.

    The loop stands around, or in a caller, which passes the float on. Where an inner loop calls the compiled function
    again and again, one compilation for each float is little.
    """
    for event, call in _passed(code):
        exprs = {id(a.at): a.value for a in event.call.args}
        for given in event.arguments:
            expr = exprs.get(id(given.at))
            if expr is not None and (
                _is_of_loop(expr, event.call, call, code, evaluator) or _is_of_callers(expr, call, code, evaluator)
            ):
                yield event, given


def _passed(code: CodeRead) -> Iterator[tuple[Construct, Call]]:
    """What a body makes and passes to a compiled function, by itself or by a variable that is bound once."""
    made = {id(event.call): event for event in code.events if isinstance(event, Construct) and event.arguments}
    compiled = {
        id(event.at)
        for event in (code.events if made else ())
        if isinstance(event, Cross) and any(one.transform.kind is Kind.JIT for one in event.applied)
    }
    bound = bound_once(code.body) if compiled else {}
    for call in code.calls if compiled else ():
        for argument in call.args:
            event = made.get(id(looked_up(argument.value, bound)))
            if event is not None and id(argument.at) in compiled:
                yield event, call


def _is_of_loop(expr: Expr, made: Call, used: Call, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether an expression is a float that the variable of the loop around gives, which goes through many."""
    for loop in (s for s in code.statements if isinstance(s, For)):
        if _holds(loop.body, made) and _holds(loop.body, used) and not _is_in_loop(loop.body, used):
            if _is_many(loop.iterable, code.body, code.place.module, code.scope, evaluator):
                return _is_given(expr, loop)
    return False


def _is_of_callers(expr: Expr, used: Call, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether an expression is a parameter that a caller gives one of many floats of a loop."""
    function, module = code.function, code.place.module
    if isinstance(expr, Call) and dotted(expr.func) == "float" and len(expr.args) == 1:
        expr = expr.args[0].value
    if function is None or not isinstance(expr, Name) or not function.takes(expr.id):
        return False
    if expr.id in assigned_names(code.body) or _is_in_loop(code.body, used):
        return False
    for home in (module, *evaluator.model.importers(module)):
        for caller in callers_in_loops(function, home, module, evaluator):
            given, loop = given_by(caller.call, function).get(expr.id), caller.loop
            if given is None or not isinstance(loop, For) or _is_in_loop(loop.body, caller.call):
                continue
            if _is_given(given, loop) and _is_many(loop.iterable, caller.body, home, caller.scope, evaluator):
                return True
    return False


def _is_given(expr: Expr, loop: For) -> bool:
    """Whether an expression is the variable of a loop, or a float of it."""
    names = set(target_names(loop.target))
    match expr:
        case Name(id=name):
            return name in names
        case Call(args=(Argument(value=Name(id=name), star=""),)) if last_name(expr.func) in ("float", "item"):
            return name in names
    return is_float_of(expr, names)


def _is_many(iterable: Expr, body: Body, module: Module, scope: str, evaluator: Evaluator) -> bool:
    """Whether a loop goes through as many numbers as it is told to, and not through a few."""
    made = looked_up(iterable, bound_once(body))
    while isinstance(made, Call) and last_name(made.func) in ("enumerate", "tqdm", "list", "trange") and made.args:
        made = looked_up(made.args[0].value, bound_once(body))
    if isinstance(made, Call) and last_name(made.func) == "zip":
        return False
    if not is_counted(made, module, scope, evaluator) or not isinstance(made, Call):
        return False
    number = _how_many(made)
    return not (isinstance(number, Constant) and isinstance(number.value, int) and number.value <= _SHORT)


def _how_many(call: Call) -> Expr | None:
    """How many numbers a call is told to make: `linspace` takes it third, `range` as its last bound."""
    if last_name(call.func) not in _BETWEEN:
        return call.positional[-1] if call.positional else None
    return call.given_to(("start", "stop", "num")).get("num")


def _holds(body: Body, call: Call) -> bool:
    """Whether a call stands in a body."""
    return any(part is call for part in all_parts(body, nested=False))


def _is_in_loop(body: Body, call: Call) -> bool:
    """Whether a call stands in a loop of a body."""
    loops = (s for s in walk(body, nested=False) if isinstance(s, (For, While)))
    return any(_holds(loop.body, call) for loop in loops)
