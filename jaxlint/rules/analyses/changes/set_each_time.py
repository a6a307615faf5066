"""Whether a method gives an attribute a new value, and runs what is compiled with it, again and again."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.methods import body_of_method, own_methods, run_by
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Display, Expr, Name, dotted
from jaxlint.syntax.statements import (
    Assign,
    Augment,
    Body,
    For,
    If,
    While,
    all_parts,
    blocks,
    bound_names,
    own_parts,
    parts,
    walk,
)


def set_each_time(attr: str, writer: Function, method: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a method sets an attribute to what it has just computed, and then runs a compiled one that reads it.

    And a method of the same instance calls it in a loop: only the first round compiles. What it is given itself may be
    the same in all rounds, and is not taken for a new value. Or it does both in a loop of its own: `self.rate *= 0.5`.
    """
    every = {one.name: one for ancestor in reversed(cls.mro) for one in own_methods(ancestor)}
    body, own = body_of_method(writer, cls, evaluator) or (), f"{writer.self_name}.{attr}"
    running = {f"{writer.self_name}.{name}" for name, one in every.items() if method.name in run_by(one, cls)}
    if _moves_in_loop(own, running, body):
        return True
    if not any(_loops_over(writer.name, one, body_of_method(one, cls, evaluator) or ()) for one in every.values()):
        return False
    varying = {p.name for p in writer.parameters if p.name != writer.self_name}
    for statement in walk(body, nested=False):
        if any(_varies(part, varying, writer) for part in own_parts(statement)):
            varying.update(bound_names(statement))
    return _sets_and_runs(own, running, varying, writer, body)


def _moves_in_loop(own: str, running: Collection[str], body: Body) -> bool:
    """Whether a loop runs some methods and moves what stands at a path on, where no round begins with a value anew."""
    for loop in (one for one in walk(body, nested=False) if isinstance(one, (For, While))):
        inside = [s for block in blocks(loop) for s in walk(block, nested=False)]
        moved = any(isinstance(s, Augment) and dotted(s.target) == own for s in inside)
        called = (p for s in inside for p in own_parts(s) if isinstance(p, Call) and dotted(p.func) in running)
        anew = (value for s in inside for path, value in _assigned(s) if path == own)
        if moved and any(True for _ in called) and all(own in map(dotted, parts(value)) for value in anew):
            return True
    return False


def _sets_and_runs(own: str, running: Collection[str], varying: Collection[str], writer: Function, body: Body) -> bool:
    """Whether a path is given what varies in a block, and methods are called or handed on after that.

    What is done only as long as an attribute says so, which the same block changes, is done once.
    """
    given = {p.name for p in writer.parameters}
    for index, statement in enumerate(body):
        values = (value for path, value in _assigned(statement) if path == own and dotted(value) not in given)
        if any(_varies(part, varying, writer) for value in values for part in parts(value)):
            after = all_parts(body[index + 1 :], nested=False)
            if any(isinstance(part, Attribute) and dotted(part) in running for part in after):
                return True
        if isinstance(statement, If):
            inner = [block for test, block in statement.branches if not _is_done_once(test, block)]
            inner.append(statement.orelse)
        else:
            inner = list(blocks(statement))
        if any(_sets_and_runs(own, running, varying, writer, block) for block in inner):
            return True
    return False


def _varies(part: Expr, varying: Collection[str], writer: Function) -> bool:
    """Whether an expression has a variable that varies, or asks the instance for something: `self.buffer.sample()`.

    What a method without arguments gives may be the same each time.
    """
    if isinstance(part, Name):
        return part.id in varying
    path = (isinstance(part, Call) and dotted(part.func)) or ""
    depth = path.count(".") if path.startswith(f"{writer.self_name}.") else 0
    return isinstance(part, Call) and (depth > 1 or (depth == 1 and bool(part.args)))


def _is_done_once(test: Expr, block: Body) -> bool:
    asked = {path for part in parts(test) if isinstance(part, Attribute) and (path := dotted(part)) is not None}
    return any(path in asked for statement in walk(block, nested=False) for path, _ in _assigned(statement))


def _assigned(statement: object) -> Iterator[tuple[str | None, Expr]]:
    """The paths that an assignment binds, each with its value as far as that stands there."""
    if not isinstance(statement, Assign):
        return
    for target in statement.targets:
        if not isinstance(target, Display):
            yield dotted(target), statement.value
        elif isinstance(statement.value, Display) and len(target.items) == len(statement.value.items):
            yield from zip(map(dotted, target.items), statement.value.items, strict=True)
        elif isinstance(statement.value, Call):
            yield from ((dotted(item), statement.value) for item in target.items)


def _loops_over(name: str, caller: Function, body: Body) -> bool:
    """Whether a method calls another one of its `self` in a loop."""
    path = f"{caller.self_name}.{name}"
    return any(
        isinstance(part, Call) and dotted(part.func) == path
        for statement in walk(body, nested=False)
        if isinstance(statement, (For, While))
        for block in blocks(statement)
        for part in all_parts(block, nested=False)
    )
