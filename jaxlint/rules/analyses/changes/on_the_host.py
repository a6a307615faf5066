"""What a compiled function reads for the host alone: what it prints, and what functions need that jax calls there."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.libraries.standard import HOST_CALLS, REPORTING
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.methods import run_by
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, dotted, last_name
from jaxlint.syntax.statements import Body, Do, FunctionDefinition, If, Statement, all_parts, parts, walk


def traced_with(method: Function, cls: PytreeClass, evaluator: Evaluator) -> dict[str, Function]:
    """A compiled method and those of its `self` that are traced with it, by name.

    A method that is only handed to a callback runs on the host, with each call, and reads what is there then.
    """
    found = run_by(method, cls)
    modules = {one.module.path: one.module for one in cls.mro}.values()
    if all(HOST_CALLS.isdisjoint(unit.calls) for module in modules for unit in module.outline.units):
        return found
    traced, pending = {method.name: method}, [method]
    while pending:
        current = pending.pop()
        for name in (current.self_calls | current.self_reads) - traced.keys():
            if name in found and not _runs_on_host(name, current, cls, evaluator):
                traced[name] = found[name]
                pending.append(found[name])
    return traced


def _runs_on_host(name: str, caller: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a method is named in another one only where that hands it to a callback."""
    found = cls.method(caller.name)
    body = None if found is None else evaluator.calls.body_of(FunctionSymbol(found[0].module, caller))
    path = f"{caller.self_name}.{name}"
    return body is not None and _stands_only(path, [part for call in _host_calls(body) for part in parts(call)], body)


def is_only_reported(path: str, body: Body) -> bool:
    """Whether a body reads something only to print it, to choose what is printed, or on the host."""
    apart = [part for call in _host_calls(body) for part in parts(call)]
    handed = {a.value.id for call in _host_calls(body) for a in call.args if isinstance(a.value, Name)}
    for statement in walk(body):
        if isinstance(statement, Do) and _is_report(statement):
            apart += parts(statement.value)
        elif isinstance(statement, If) and all(_only_reports(block) for _, block in statement.branches):
            if _only_reports(statement.orelse):
                apart += [part for test, _ in statement.branches for part in parts(test)]
        elif isinstance(statement, FunctionDefinition) and statement.name in handed:
            apart += all_parts(statement.body)
    return _stands_only(path, apart, body)


def _host_calls(body: Body) -> Iterator[Call]:
    return (part for part in all_parts(body) if isinstance(part, Call) and last_name(part.func) in HOST_CALLS)


def _stands_only(path: str, apart: list[Expr], body: Body) -> bool:
    """Whether a path is written in some parts of a body, and nowhere else in it."""
    inside = {id(part) for part in apart}
    written = [part for part in all_parts(body) if dotted(part) == path]
    return bool(written) and all(id(part) in inside for part in written)


def _only_reports(body: Body) -> bool:
    return all(_is_report(statement) for statement in body)


def _is_report(statement: Statement) -> bool:
    """Whether a statement does nothing but print something, or tell it to a logger."""
    if not isinstance(statement, Do) or not isinstance(statement.value, Call):
        return False
    func = statement.value.func
    return dotted(func) == "print" or (isinstance(func, Attribute) and func.attr in REPORTING)
