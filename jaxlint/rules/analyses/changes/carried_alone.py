"""Variables that begin as what a function hands back, and that only their own updates read."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.syntax.expressions import Call, Name
from jaxlint.syntax.statements import Assign, all_parts, bound_names, parts


def carried_alone(returned: frozenset[str], code: CodeRead) -> Iterator[tuple[str, str, list[Assign]]]:
    """Variables that begin as a parameter which a body returns as it was, and that go on from nothing but themselves.

    `new = state`, and `new = step(new, x)` in a loop: with each, the parameter and these assignments.
    """
    given = code.parameters.keys() & returned - code.contents.bound
    for start in code.statements if given else ():
        match start:
            case Assign(targets=(Name(id=name),), value=Name(id=original)) if original in given:
                others = [s for s in code.statements if s is not start and name in bound_names(s)]
                steps = [s for s in others if isinstance(s, Assign) and _goes_on(s, name)]
                if steps and len(steps) == len(others) and _reads_all(name, steps, code):
                    yield name, original, steps


def _goes_on(statement: Assign, name: str) -> bool:
    """Whether a statement gives a variable alone what a call makes of it."""
    is_alone = all(isinstance(target, Name) and target.id == name for target in statement.targets)
    return is_alone and isinstance(statement.value, Call)


def _reads_all(name: str, steps: list[Assign], code: CodeRead) -> bool:
    """Whether some assignments are all that reads a variable, in a body and the functions in it."""
    targets = {id(target) for s in code.statements if isinstance(s, Assign) for target in s.targets}
    inside = {id(part) for step in steps for part in parts(step.value)}
    read = (p for p in all_parts(code.body) if isinstance(p, Name) and p.id == name and id(p) not in targets)
    return all(id(part) in inside for part in read)
