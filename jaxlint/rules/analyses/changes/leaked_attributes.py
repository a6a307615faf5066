"""What a compiled method puts into a dict or list of its own object: tracers, which another method reads afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from jaxlint.infer.bodies.slots import changed_by
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.transforms.applied import Applied, rebuilt_parameters
from jaxlint.libraries.transforms import Kind
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.bodies.binding import is_around
from jaxlint.rules.analyses.changes.leaked import (
    TRACING,
    Traced,
    empties,
    harmless,
    is_container,
    leaked,
    stages,
    stored,
)
from jaxlint.rules.analyses.changes.leaked_to_objects import handed_to_objects
from jaxlint.rules.analyses.instances.methods import own_methods, run_by
from jaxlint.rules.analyses.under_trace.traced import may_run_uncompiled
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Call, Name, Subscript, dotted
from jaxlint.syntax.statements import Assign, Body, If, all_parts, assigned_names, parts, walk


def left_in_containers(
    function: Function, applied: Sequence[Applied], code: CodeRead, evaluator: Evaluator
) -> Iterator[tuple[object, str, str]]:
    """The changes by which a function leaves tracers in a container, of any scope: where, the name of it, and why."""
    for finds in (leaked, _stored, handed_to_objects):
        for found in finds(function, applied, code, evaluator):
            if not (_is_conditional(found[0], code.body) and _is_compiled_on_one_way(function, code)):
                yield found


def _is_compiled_on_one_way(function: Function, code: CodeRead) -> bool:
    """Whether what is kept is the function as it is on one way, compiled on another: `f if records else jax.jit(f)`."""
    text = code.place.module.source.text
    name = rf"(?:\w+\.)?{re.escape(function.name)}\b"
    if re.search(rf"\bjit\(\s*{name}", text) is None:
        return False
    as_it_is = rf"[=(]\s*{name}\s+if\b|\belse\s+{name}\s*(?:\)|$)|=\s*{name}\s*$"
    return re.search(as_it_is, text, re.MULTILINE) is not None


def _is_conditional(at: object, body: Body) -> bool:
    """Whether something is done in a branch of an `if` statement: perhaps not where the function is compiled."""
    return any(isinstance(s, If) and is_around(s, place_of(at)) for s in walk(body))


def _stored(
    function: Function, applied: Sequence[Applied], code: CodeRead, evaluator: Evaluator
) -> Iterator[tuple[object, str, str]]:
    """The changes by which a method leaves tracers in a container of `self`, which others read: where, and why."""
    method, owner, module = code.place.method, code.place.owner, code.place.module
    if method is not function or owner is None or method.self_name is None or not method.self_mutations:
        return
    names, why, all_put_off = _traced_parameters(method, applied, code, evaluator)
    if not names or method.self_name in names or may_run_uncompiled(module.source):
        return
    if owner.framework.is_stateful or evaluator.calls.transformed.is_wrapped(function, module):
        return
    traced = Traced(set(names), code, evaluator, stages=all_put_off)
    for statement in code.statements:
        for at, slot in changed_by(statement):
            if slot.root != method.self_name or len(slot.path) != 2 or not slot.path[1].startswith("["):
                continue
            if any(map(traced.is_traced, stored(statement))) and _is_read_later(slot.path[0], code, owner, evaluator):
                yield at, f"{slot.root}.{slot.path[0]}", why


def _traced_parameters(
    method: Function, applied: Sequence[Applied], code: CodeRead, evaluator: Evaluator
) -> tuple[frozenset[str], str, bool]:
    """The parameters of a method that are tracers in what is compiled, what compiles it, and whether all is put off."""
    owner, module = code.place.owner, code.place.module
    if applied and all(one.transform.kind in TRACING for one in applied):
        why = f"which `{applied[0].transform.name}` transforms"
        return frozenset(rebuilt_parameters(method, applied)), why, stages(applied)
    slopes = [one for one in applied if one.transform.kind is Kind.GRAD]
    for other in own_methods(owner) if owner is not None and len(slopes) == len(applied) else ():
        compiled = [one for one in code.place.applied(other) if one.transform.kind in TRACING]
        within = range(other.body_rows[0], other.body_rows[1] + 1)
        taken = next((one for one in slopes if place_of(one.at).row in within), None) if compiled else None
        if taken is not None and taken.argnums:
            free = method.positional[taken.bound :]
            body = evaluator.calls.body_of(FunctionSymbol(module, other)) or ()
            tracers = rebuilt_parameters(other, compiled).difference(assigned_names(body))
            calls = [p for p in all_parts(body) if isinstance(p, Call) and p.func.at is taken.at and not p.has_star]
            given = calls[0].given_to(free) if len(calls) == 1 else {}
            named = {name for name, value in given.items() if isinstance(value, Name) and value.id in tracers}
            named |= {free[n] for n in taken.argnums if 0 <= n < len(free)}
            return (
                frozenset(named),
                f"which `{compiled[0].transform.name}` compiles in `{other.name}`",
                stages(compiled),
            )
    return frozenset(), "", False


def _is_read_later(attr: str, code: CodeRead, owner: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether the constructor makes the container, and a method reads what is in there that runs when all is traced.

    Nothing takes anything out of it, asks first what it holds, or puts another one in its place.
    """
    every = [(cls, one) for cls in owner.mro for one in own_methods(cls)]
    traced = {
        name
        for cls, one in every
        if any(a.transform.rebuilds for a in code.place.applied(one))
        for name in run_by(one, cls)
    }
    is_made = is_read = False
    for cls, one in every:
        body = evaluator.calls.body_of(FunctionSymbol(cls.module, one))
        if body is None or one.self_name is None:
            return False
        assigned = [a.value for a in one.self_assignments if a.attr == attr]
        if assigned and (one.name != "__init__" or not all(v is not None and is_container(v) for v in assigned)):
            return False
        is_made = is_made or bool(assigned)
        path = f"{one.self_name}.{attr}"
        if _is_asked_or_emptied(path, body):
            return False
        is_read = is_read or (one.name not in traced and one.name != "__init__" and _reads(path, body))
    return is_made and is_read


def _is_asked_or_emptied(path: str, body: Body) -> bool:
    """Whether a body takes something out of what is at a path, or decides by what it holds before it changes it."""
    changed = [at for s in walk(body) for at, slot in changed_by(s) if f"{slot.root}.{'.'.join(slot.path[:1])}" == path]
    if empties(path, body):
        return True
    tests = [test for s in walk(body) if isinstance(s, If) for test, _ in s.branches] if changed else []
    return any(dotted(part) == path for test in tests for part in parts(test))


def _reads(path: str, body: Body) -> bool:
    """Whether a body uses what is in the container at a path, and not only how much there is."""
    looking = harmless(body, is_dict=False)
    for statement in walk(body):
        targets = statement.targets if isinstance(statement, Assign) else ()
        looking.update(id(t.value if isinstance(t, Subscript) else t) for t in targets)
    return any(dotted(part) == path and id(part) not in looking for part in all_parts(body))
