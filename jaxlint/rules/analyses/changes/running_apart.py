"""Whether a method that changes an instance never runs between two calls of a compiled one, as far as calls tell."""

from __future__ import annotations

import re

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.given_literals import calls_in
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, dotted, last_name
from jaxlint.syntax.statements import Body, If, Return, all_parts, walk

#: How many callers of callers are looked at.
_FAR = 3


def run_apart(writer: Function, method: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether nothing calls a private method that changes the instance, or construction alone calls the compiled one.

    Or the one function that calls both, the compiled one perhaps by way of others, chooses between them.
    """
    writing = _callers(writer.name, cls, evaluator)
    if not writing and writer.name.startswith("_") and not writer.name.startswith("__"):
        return True
    name = method.name
    for _ in range(_FAR):
        running = _callers(name, cls, evaluator)
        caller = running[0] if len(running) == 1 else None
        if caller is not None and caller.inner_scope == method.scope:
            return False  # it is called by a function beside it, which is kept
        if caller is None or caller.name == "__init__":
            return caller is not None
        if writing == running:
            body = evaluator.calls.body_of(FunctionSymbol(cls.module, caller)) or ()
            choices = (statement for statement in walk(body, nested=False) if isinstance(statement, If))
            return any(_chooses(choice, writer.name, name, body) for choice in choices)
        name = caller.name
    return False


def _callers(name: str, cls: PytreeClass, evaluator: Evaluator) -> list[Function | None]:
    """The functions that call something by the name of a method; None for code outside of them.

    What another module calls on `self` is a method of its own class, unless that inherits this one.
    """
    written = re.compile(rf"\b{re.escape(name)}\s*\(")
    found: list[Function | None] = []
    inheriting = {one.module for one in (cls, *evaluator.model.subclasses(cls))}
    for home in (cls.module, *evaluator.model.importers(cls.module)):
        for call, caller in calls_in(home, written, evaluator) if written.search(home.source.text) else ():
            on_self = isinstance(call.func, Attribute) and dotted(call.func.value) == "self"
            is_meant = last_name(call.func) == name and (home in inheriting or not on_self)
            if is_meant and not any(caller is one for one in found):
                found.append(caller)
    return found


def _chooses(choice: If, writer: str, method: str, body: Body) -> bool:
    """Whether all calls of the one stand in branches that do not call the compiled method, which others do, or none."""
    branches = [*(branch for _, branch in choice.branches), choice.orelse]
    writing = [branch for branch in branches if _calls(writer, branch)]
    if sum(_calls(writer, branch) for branch in writing) < _calls(writer, body):
        return False
    if any(_calls(method, branch) for branch in writing):
        return False
    inside = sum(_calls(method, branch) for branch in branches)
    return inside == _calls(method, body) or all(isinstance(branch[-1], Return) for branch in writing)


def _calls(name: str, body: Body) -> int:
    """How often a body calls something of a name."""
    return sum(isinstance(part, Call) and last_name(part.func) == name for part in all_parts(body))
