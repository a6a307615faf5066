"""What a loop gives to an instance at each turn whose result goes into the next one: the noise levels of a sampler."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.events import CodeRead, Construct, KeywordValue, Replace
from jaxlint.syntax.expressions import Argument, Attribute, Call, Expr, Name
from jaxlint.syntax.statements import (
    Assign,
    Body,
    ClassDefinition,
    For,
    FunctionDefinition,
    Statement,
    While,
    blocks,
    target_names,
)


def swept_into(code: CodeRead) -> Iterator[tuple[Construct | Replace, KeywordValue]]:
    """The arguments of constructions and updates that are the variable of the loop around, as it is or as a float.

    A call takes the instance together with what it has made at the turn before: the turns are one computation, and no
    trials of several settings.
    """
    made = {id(e.call): e for e in code.events if isinstance(e, (Construct, Replace)) and e.in_loop}
    for loop in (s for s in code.statements if isinstance(s, For)) if made else ():
        names = set(target_names(loop.target))
        for event in _fed_back(loop, made):
            exprs = {id(a.at): a.value for a in event.call.args}
            for given in event.keywords if isinstance(event, Replace) else event.arguments:
                if _is_one_of(exprs.get(id(given.at)), names):
                    yield event, given


def _fed_back(loop: For, made: dict[int, Construct | Replace]) -> Iterator[Construct | Replace]:
    """What a loop makes and gives to a call beside, or as, the variable to which the result is bound.

    What an inner loop calls again and again with the same instance is worth its compilation.
    """
    assigned = [s for s in _once_a_turn(loop.body) if isinstance(s, Assign) and isinstance(s.value, Call)]
    held = {
        name: made[id(s.value)] for s in assigned if id(s.value) in made for t in s.targets for name in target_names(t)
    }
    found: dict[int, Construct | Replace] = {}
    for statement in assigned:
        call = statement.value
        if not isinstance(call, Call) or id(call) in made:
            continue
        bound = {name for target in statement.targets for name in target_names(target)}
        taken = [argument.value for argument in call.args]
        taken += [call.func.value] if isinstance(call.func, Attribute) else []
        if any(isinstance(value, Name) and value.id in bound for value in taken):
            events = (made.get(id(v)) or (held.get(v.id) if isinstance(v, Name) else None) for v in taken)
            found.update({id(event): event for event in events if event is not None})
    yield from found.values()


def _once_a_turn(body: Body) -> Iterator[Statement]:
    """The statements of a loop, those of inner loops and functions left out."""
    for statement in body:
        if not isinstance(statement, (For, While, FunctionDefinition, ClassDefinition)):
            yield statement
            for block in blocks(statement):
                yield from _once_a_turn(block)


def _is_one_of(expr: Expr | None, names: set[str]) -> bool:
    match expr:
        case Name(id=name):
            return name in names
        case Call(func=Name(id="float"), args=(Argument(value=Name(id=name), star=""),)):
            return name in names
    return False
