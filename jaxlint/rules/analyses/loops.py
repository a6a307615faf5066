"""The loops of a body, and the classes whose instances go into compiled functions there."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.events import CodeRead, Cross
from jaxlint.infer.values import Instance, plain
from jaxlint.libraries.transforms import Kind
from jaxlint.pytrees.model import PytreeClass
from jaxlint.syntax.statements import Body, ClassDefinition, For, FunctionDefinition, While, blocks


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
