"""Updates whose result nobody wants: they are made to see that they work, to compile a function, or to be watched."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Place, Replace, Update
from jaxlint.infer.known.values import UNKNOWN, Value
from jaxlint.libraries.packages import DISTRIBUTION_OF
from jaxlint.libraries.standard import CLOCKS
from jaxlint.libraries.updates import UPDATE_METHODS
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, External, FunctionSymbol
from jaxlint.rules.analyses.bodies.around import outermost_body
from jaxlint.rules.analyses.changes.renewed import decorated
from jaxlint.rules.analyses.changes.tried_steps import is_carried, stays_the_same
from jaxlint.rules.analyses.changes.unused_copies import WATCHING
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Comprehension, Expr, Name, dotted, last_name, same
from jaxlint.syntax.names_read import names_read
from jaxlint.syntax.statements import (
    Assert,
    Assign,
    Body,
    Do,
    For,
    Jump,
    Return,
    Statement,
    While,
    With,
    all_parts,
    own_parts,
    parts,
    target_names,
    walk,
)


def is_tried_update(update: Update, evaluator: Evaluator) -> bool:
    """Whether a test sees that the update works, or that it leaves the original as it is, or whether a clock times it.

    Nothing is made of the original after that: at most, it is looked at, or handed to calls that stand alone.
    """
    base, function = base_text(update), update.place.function
    if base is None or function is None:
        return False
    body = evaluator.calls.body_of(FunctionSymbol(update.place.module, function))
    if body is None:
        return False
    if is_carried(base, update, body):
        return False
    end = place_of(update.call.at).end_row
    later = [s for s in walk(body) if s.at.lineno > end]
    is_test = any(f.name.startswith("test") for f in update.place.functions)
    if stays_the_same(base, update, body, later) or (is_test and _is_asserted_next(base, later)):
        return True
    for statement in later:
        if not isinstance(statement, (Do, Assert)) and any(dotted(part) == base for part in own_parts(statement)):
            return False
    if is_test:
        return True
    clocks = [s for s in walk(body) if reads_clock(own_parts(s), update.place.module, update.place.scope, evaluator)]
    return len(clocks) > 1 and any(s is clocks[-1] for s in later)


def _is_asserted_next(base: str, later: Sequence[Statement]) -> bool:
    """Whether the next statement that reads a variable asserts something of it, or takes an attribute that is asserted.

    What a function makes of the original is another matter: the update may have been meant for that.
    """
    reading = next((s for s in later if any(dotted(part) == base for part in own_parts(s))), None)
    if not isinstance(reading, Assign):
        return isinstance(reading, Assert)
    if any(dotted(argument.value) == base for call in _calls((reading,)) for argument in call.args):
        return False
    names = {name for target in reading.targets for name in target_names(target)}
    return any(isinstance(s, Assert) and not names.isdisjoint(names_read((s,))) for s in later)


def is_only_run(update: Update, evaluator: Evaluator) -> bool:
    """Whether a function of one's own is called on what is made for the call, or to be watched while it runs."""
    if not isinstance(update, Replace) or update.by is None:
        return False
    place, named = update.place, evaluator.model.resolver.library_name
    if isinstance(update.base, Call) and _is_made_here(update.base, place, evaluator):
        return True
    calls = _calls(outermost_body(place, evaluator))
    return any(named(call.func, place.module, place.scope).startswith(WATCHING) for call in calls)


def is_measured(update: Update, evaluator: Evaluator) -> bool:
    """Whether an update in a function is repeated for nothing, or all that runs in a `with` statement that watches."""
    body = outermost_body(update.place, evaluator)
    return bool(body) and is_measured_in(body, update.call, update.place, evaluator)


def is_measured_in(body: Body, call: Call, place: Place, evaluator: Evaluator) -> bool:
    """The same of a call in some statements: `with Timer("step"): step(s)`, or `[step(s) for _ in range(9)]` alone."""
    row = place_of(call.at).row
    for statement in walk(body):
        match statement:
            case Do(value=Comprehension(element=Call(at=at) as element, clauses=clauses)) if at == call.at:
                turning = {name for clause in clauses for name in target_names(clause.target)}
                return not any(isinstance(part, Name) and part.id in turning for part in parts(element))
            case With(body=inside) if _watches(statement, row, place, evaluator):
                if all(isinstance(s, (Do, For, Jump)) for s in walk(inside)):
                    return True
    return False


def is_watched(place: Place, row: int, body: Body, evaluator: Evaluator) -> bool:
    """Whether what stands in a row runs in a `with` statement that may take the time of it, and gives nothing else."""
    return any(isinstance(s, With) and _watches(s, row, place, evaluator) for s in walk(body, nested=False))


def _watches(statement: With, row: int, place: Place, evaluator: Evaluator) -> bool:
    """Whether a `with` statement around a row may take the time of what runs there, and is asked for nothing inside."""
    if not statement.at.lineno <= row <= statement.at.end_lineno:
        return False
    read = names_read(statement.body)
    managers = (manager for manager, entered in statement.items if entered is None or dotted(entered) not in read)
    return any(_may_watch(manager, place, evaluator) for manager in managers)


def _may_watch(manager: Expr, place: Place, evaluator: Evaluator) -> bool:
    """Whether what a call makes for a `with` statement may take the time of what runs there: a library's may not."""
    if not isinstance(manager, Call):
        return False
    symbol = evaluator.model.resolver.resolve(manager.func, place.module, place.scope)
    package = symbol.name.partition(".")[0] if isinstance(symbol, External) else ""
    return package not in ("numpy", *DISTRIBUTION_OF, *sys.stdlib_module_names)


def _is_made_here(call: Call, place: Place, evaluator: Evaluator) -> bool:
    """Whether a call makes something anew, by a class or a function, and is none of what a variable holds."""
    maker: Expr = call
    while isinstance(maker, (Call, Attribute)):
        maker = maker.func if isinstance(maker, Call) else maker.value
    symbol = evaluator.model.resolver.resolve(maker, place.module, place.scope)
    return isinstance(symbol, (ClassSymbol, FunctionSymbol, External))


def compiles_first(update: Update, evaluator: Evaluator) -> bool:
    """Whether a call may be there to compile its function.

    It is not if the same code takes no result of that function, does not ask for the time, calls it in a loop, and
    returns what is copied as it was.
    """
    place, func = update.place, update.call.func
    if not is_compiled(update, evaluator):
        return False
    body = outermost_body(place, evaluator)
    if not body:
        return True
    base, alone = base_text(update), {id(s.value) for s in walk(body) if isinstance(s, Do)}
    loops = (s for s in walk(body) if isinstance(s, (For, While)))
    looped = any(call.at is update.call.at for loop in loops for call in _calls(loop.body))
    returned = (part for s in walk(body) if isinstance(s, Return) for part in own_parts(s))
    if base is None or not looped or not any(dotted(expr) == base for expr in returned):
        return True
    taken = any(same(call.func, func) for call in _calls(body) if id(call) not in alone)
    return taken or reads_clock(all_parts(body), place.module, place.scope, evaluator)


def is_compiled(update: Update, evaluator: Evaluator) -> bool:
    """Whether a decorated function is called, a compiled method, or a decorated one of what could be changed.

    What is only mapped, as by `@jax.vmap`, is not compiled.
    """
    receiver: Value = UNKNOWN
    place, updating = update.place, evaluator.model.updating_methods
    if isinstance(update, Replace):
        by = update.by
        if by is not None and updating.is_compiled(by.declaration, by.module):
            return True
        if by is not None and by.declaration.decorators and updating.only_compiles_or_maps(by.declaration, by.module):
            return False
        receiver = update.receiver if update.receiver.cls.frozen is False else UNKNOWN
    return decorated(update.call.func, place.module, place.scope, lambda _: receiver, evaluator) is not None


def _calls(body: Body) -> list[Call]:
    return [part for part in all_parts(body) if isinstance(part, Call)]


def reads_clock(every: Iterable[Expr], module: Module, scope: str, evaluator: Evaluator) -> bool:
    """Whether some of the expressions ask what time it is."""
    named, calls = evaluator.model.resolver.library_name, (part for part in every if isinstance(part, Call))
    return any(not call.args and named(call.func, module, scope) in CLOCKS for call in calls)


def base_text(update: Update) -> str | None:
    """What is copied, as it is written, if that is a dotted name; of `x.replace(...).replace(...)` it is `x`."""
    base: Expr | None = update.base
    while isinstance(base, Call):
        if last_name(base.func) in UPDATE_METHODS and base.positional:
            base = base.positional[0]
        elif isinstance(base.func, Attribute) and last_name(base.func) in UPDATE_METHODS:
            base = base.func.value
        else:
            return None
    return None if base is None else dotted(base)
