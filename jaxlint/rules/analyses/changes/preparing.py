"""Whether a method that changes an instance only prepares it: what is compiled is not called before."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.methods import CONSTRUCTORS, names_called, own_methods, run_by
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import dotted
from jaxlint.syntax.statements import If, Raise, parts

_LOOP = re.compile(r"(async )?for |while ")
_FUNCTION = re.compile(r"(async )?def ")


def refuses_again(attr: str, writer: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a method raises where the attribute that it assigns has a value: it is given one once, before its use."""
    found = cls.method(writer.name)
    if found is None or not writer.checks:
        return False
    path = f"{writer.self_name}.{attr}"
    for statement in evaluator.calls.body_of(FunctionSymbol(found[0].module, writer)) or ():
        if isinstance(statement, If):
            for test, body in statement.branches:
                if isinstance(body[-1], Raise) and any(dotted(part) == path for part in parts(test)):
                    return True
    return False


def only_prepares(writer: Function, method: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether the module of a class calls a method that changes its instances, always before a compiled one.

    That is, both are called in the same functions, none of them in a loop around both; no method of the class runs
    both, and no other module calls the one that changes. A private one that no method calls on `self` is there for
    instances that methods make (`new = type(self)(); new._set(...)`).
    """
    changing, using = _running(writer.name, cls), _running(method.name, cls)
    if changing & using - CONSTRUCTORS:
        return False
    module = cls.module
    for other in evaluator.model.importers(module):
        if any(changing & (unit.calls | unit.methods) for unit in other.outline.units):
            return False
    inside = [function.body_rows for function in own_methods(cls)]
    changes = list(_called(changing, inside, module))
    if not changes and len(changing) == 1 and writer.name.startswith("_") and writer.name in _own_calls(cls):
        return True
    uses = list(_called(using, inside, module))
    if not changes or not uses or not {place.function for place in uses} <= {place.function for place in changes}:
        return False
    return all(
        change.function != use.function or (change.row < use.row and not change.loops & use.loops)
        for change in changes
        for use in uses
    )


def _own_calls(cls: PytreeClass) -> frozenset[str]:
    """What the methods of a class call, or others in the statements at module level in which these stand."""
    return frozenset().union(*(names_called(method, cls.module) for method in own_methods(cls)))


def _running(name: str, cls: PytreeClass) -> frozenset[str]:
    """The methods of a class that come to run a method, and that one."""
    every = {method.name: method for ancestor in cls.mro for method in own_methods(ancestor)}
    return frozenset({name, *(one for one, method in every.items() if name in run_by(method, cls))})


class _Place:
    """A row of a module, with the first rows of the function and of the loops around it."""

    def __init__(self, row: int, lines: list[str]) -> None:
        self.row = row
        self.function = 0
        loops = set()
        indent = _indent(lines[row - 1])
        for above in range(row - 1, 0, -1):
            line = lines[above - 1]
            text = line.strip()
            if not text or text.startswith("#") or _indent(line) >= indent:
                continue
            indent = _indent(line)
            if _FUNCTION.match(text):
                self.function = above
                break
            if _LOOP.match(text):
                loops.add(above)
        self.loops = frozenset(loops)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _called(names: frozenset[str], inside: list[tuple[int, int]], module: Module) -> Iterator[_Place]:
    """Where methods with some names are called in a module, outside of some rows."""
    call = re.compile(rf"\.({'|'.join(map(re.escape, sorted(names)))})\(")
    lines = module.source.text.split("\n")
    for row, line in enumerate(lines, 1):
        if call.search(line.partition("#")[0]) and not any(first <= row <= last for first, last in inside):
            yield _Place(row, lines)
