"""What a loop gives to an instance at each turn whose result goes into the next one: the noise levels of a sampler."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Construct, KeywordValue, Replace
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Binary,
    Call,
    Constant,
    Expr,
    Name,
    Subscript,
    Unary,
    last_name,
)
from jaxlint.syntax.statements import (
    Assign,
    Body,
    ClassDefinition,
    For,
    FunctionDefinition,
    Statement,
    While,
    blocks,
    bound_names,
    has_variable,
    parts,
    target_names,
    walk,
)

_ARITHMETIC = frozenset({"+", "-", "*", "/", "**"})
#: Functions that make as many numbers as they are asked for.
_COUNTED = frozenset({"range", "arange", "linspace", "geomspace", "logspace"})


def swept_into(code: CodeRead, evaluator: Evaluator) -> Iterator[tuple[Construct | Replace, KeywordValue]]:
    """The arguments of constructions and updates that the variable of the loop around gives: itself, or a float of it.

    A call takes the instance together with what it has made at the turn before: the turns are one computation, and no
    trials of several settings. A schedule may make the float of the variable.
    """
    made = {id(e.call): e for e in code.events if isinstance(e, (Construct, Replace)) and e.in_loop}
    for loop in (s for s in code.statements if isinstance(s, For)) if made else ():
        names = set(target_names(loop.target))
        for statement in _once_a_turn(loop.body):
            if isinstance(statement, Assign) and is_float_of(statement.value, names):
                names.update(name for target in statement.targets for name in target_names(target))
        for event in _fed_back(loop, made, code, evaluator):
            exprs = {id(a.at): a.value for a in event.call.args}
            for given in event.keywords if isinstance(event, Replace) else event.arguments:
                expr = exprs.get(id(given.at))
                if expr is not None and (_is_one_of(expr, names) or is_float_of(expr, names)):
                    yield event, given


def _fed_back(
    loop: For, made: dict[int, Construct | Replace], code: CodeRead, evaluator: Evaluator
) -> Iterator[Construct | Replace]:
    """Instances that a loop passes to a call beside the variable that takes the result, or as that variable.

    What an inner loop calls again and again with the same instance is worth its compilation, in a function that is
    called as well, unless that goes through all epochs: then it is trained on while the value changes.
    """
    assigned = [s for s in _once_a_turn(loop.body) if isinstance(s, Assign) and isinstance(s.value, Call)]
    held = defaultdict[str, list[Construct | Replace]](list)
    for statement in assigned:
        if id(statement.value) in made:
            for name in bound_names(statement):
                held[name].append(made[id(statement.value)])
    counts = is_counted(loop.iterable, code.place.module, code.scope, evaluator)
    trained = _trained_on(loop, assigned, made) if counts else ()
    found: dict[int, Construct | Replace] = {id(event): event for event in trained}
    for statement in assigned:
        call = statement.value
        assert isinstance(call, Call)
        bound = set(bound_names(statement))
        taken = [argument.value for argument in call.args]
        taken += [call.func.value] if isinstance(call.func, Attribute) else []
        is_beside = any(isinstance(value, Name) and value.id in bound for value in taken)
        for value in taken:
            if not counts and runs_a_loop(call, code.place.module, code.scope, evaluator):
                continue
            events = held[value.id] if isinstance(value, Name) else [made[id(value)]] if id(value) in made else []
            for event in events:
                if event.call is not call and (is_beside or _goes_on(event, bound, assigned)):
                    found[id(event)] = event
    yield from found.values()


def runs_a_loop(call: Call, module: Module, scope: str, evaluator: Evaluator) -> bool:
    """Whether a call is of a function of the project that runs a loop on the host."""
    symbol = evaluator.model.resolver.resolve(call.func, module, scope)
    if not isinstance(symbol, FunctionSymbol) or evaluator.calls.transformed.of(symbol.declaration, symbol.module):
        return False
    body = evaluator.calls.body_of(symbol) or ()
    return any(isinstance(s, (For, While)) for s in walk(body, nested=False))


def _trained_on(loop: For, assigned: Sequence[Assign], made: dict[int, Construct | Replace]) -> Iterator[Replace]:
    """The updates of a variable that an inner loop binds to what a call makes of it, and that nothing resets."""
    once = set(map(id, assigned))
    for statement in assigned:
        event = made.get(id(statement.value))
        if not isinstance(event, Replace) or not isinstance(event.base, Name) or not event.rebinds:
            continue
        bound = [s for s in walk(loop.body, nested=False) if isinstance(s, Assign) and event.base.id in bound_names(s)]
        steps = (s for s in bound if isinstance(s.value, Call) and id(s) not in once)
        if next(steps, None) is not None and all(has_variable(s.value, event.base.id) for s in bound):
            yield event


def is_counted(iterable: Expr, module: Module, scope: str, evaluator: Evaluator) -> bool:
    """Whether a loop goes through as many numbers as somebody asked for: a list may hold a few stages.

    A function of the project may make them.
    """
    if not isinstance(iterable, Call):
        return False
    if last_name(iterable.func) in _COUNTED:
        return True
    if any(is_counted(given, module, scope, evaluator) for given in iterable.positional):
        return True
    symbol = evaluator.model.resolver.resolve(iterable.func, module, scope)
    returned = symbol.declaration.return_values if isinstance(symbol, FunctionSymbol) else ()
    return bool(returned) and all(isinstance(v, Call) and last_name(v.func) in _COUNTED for v in returned)


def _goes_on(event: Construct | Replace, bound: set[str], assigned: Sequence[Assign]) -> bool:
    """Whether an update goes into a compiled function, and its variable is bound to the result, and to nothing else."""
    base = event.base if isinstance(event, Replace) and event.into_jit else None
    if not isinstance(base, Name) or base.id not in bound:
        return False
    return all(has_variable(s.value, base.id) for s in assigned if base.id in bound_names(s))


def _once_a_turn(body: Body) -> Iterator[Statement]:
    """The statements of a loop, those of inner loops and functions left out."""
    for statement in body:
        if not isinstance(statement, (For, While, FunctionDefinition, ClassDefinition)):
            yield statement
            for block in blocks(statement):
                yield from _once_a_turn(block)


def _is_one_of(expr: Expr, names: set[str]) -> bool:
    return isinstance(expr, Name) and expr.id in names


def is_float_of(expr: Expr, names: set[str]) -> bool:
    """Whether an expression is `float(...)` of a variable, or of what a function or an item makes of it.

    Or what arithmetic makes of it that gives floats: `hot ** (1 - stage / stages)`.
    """
    match expr:
        case Binary(op=op) if op in _ARITHMETIC:
            return _is_computed(expr, names) and any(_gives_float(part) for part in parts(expr))
        case Call(func=Name(id="float"), args=(Argument(value=Subscript(index=index), star=""),)):
            return _is_computed(index, names)
        case Call(func=Name(id="float"), args=(Argument(value=Name() as value, star=""),)):
            return _is_one_of(value, names)
        case Call(func=Name(id="float"), args=(Argument(value=Call() as value, star=""),)):
            return any(_is_one_of(argument, names) for argument in value.positional)
    return False


def _is_computed(expr: Expr, names: set[str]) -> bool:
    """Whether an expression is made of a variable, other ones and numbers, by nothing but arithmetic."""
    match expr:
        case Binary(op=op, left=left, right=right) if op in _ARITHMETIC:
            return any(_is_computed(side, names) for side in (left, right)) and all(map(_is_arithmetic, (left, right)))
        case Unary(operand=operand):
            return _is_computed(operand, names)
    return _is_one_of(expr, names)


def _is_arithmetic(expr: Expr) -> bool:
    return all(isinstance(part, (Binary, Unary, Name, Constant, Attribute)) for part in parts(expr))


def _gives_float(part: Expr) -> bool:
    """Whether an operand or operator makes what is computed a float."""
    if isinstance(part, Binary):
        return part.op == "/"
    return isinstance(part, Constant) and isinstance(part.value, float)
