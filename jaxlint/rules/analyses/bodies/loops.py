"""The loops of a body, and the classes whose instances go into compiled functions there."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.events import CodeRead, Construct, Cross
from jaxlint.infer.known.values import Instance, plain
from jaxlint.libraries.transforms import Kind
from jaxlint.pytrees.model import PytreeClass
from jaxlint.syntax.expressions import Call, dotted
from jaxlint.syntax.statements import (
    Assign,
    Body,
    ClassDefinition,
    For,
    FunctionDefinition,
    While,
    blocks,
    own_parts,
    walk,
)


def outermost_loops(body: Body) -> Iterator[For | While]:
    """The loops of a body that are in no other one; those of functions inside are left out."""
    for statement in body:
        if isinstance(statement, (For, While)):
            yield statement
        elif not isinstance(statement, (FunctionDefinition, ClassDefinition)):
            for block in blocks(statement):
                yield from outermost_loops(block)


def classes_compiled(code: CodeRead) -> set[PytreeClass]:
    """The classes of the instances that a body passes to compiled functions."""
    crosses = (event for event in code.events if isinstance(event, Cross))
    values = (plain(e.value) for e in crosses if any(a.transform.kind is Kind.JIT for a in e.applied))
    return {value.cls for value in values if isinstance(value, Instance)}


def made_for_each_turn(code: CodeRead) -> Iterator[tuple[Construct, Cross]]:
    """The instances that a loop binds to a variable and passes to a transformed function in the same turn."""
    made = {id(e.call): e for e in code.events if isinstance(e, Construct) and e.in_loop and not e.into_jit}
    crosses = {id(e.at): e for e in code.events if isinstance(e, Cross)} if made else {}
    for loop in (s for s in walk(code.body, nested=False) if isinstance(s, (For, While))) if crosses else ():
        bound = {
            name: made[id(s.value)]
            for s in loop.body
            if isinstance(s, Assign) and id(s.value) in made and len(s.targets) == 1 and (name := dotted(s.targets[0]))
        }
        for statement in loop.body if bound else ():
            for part in own_parts(statement) if not isinstance(statement, (For, While)) else ():
                for argument in part.args if isinstance(part, Call) else ():
                    construct, cross = bound.get(dotted(argument.value) or ""), crosses.get(id(argument.at))
                    if construct is not None and cross is not None:
                        yield construct, cross
