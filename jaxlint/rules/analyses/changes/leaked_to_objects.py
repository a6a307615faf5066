"""What a compiled function hands to a method of an object of a module, which keeps it: tracers, read on the host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxlint.infer.bodies.slots import is_bound
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import Instance, plain
from jaxlint.infer.transforms.applied import Applied, rebuilt_parameters
from jaxlint.project.resolution import FunctionSymbol, ValueSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.changes.leaked import (
    TRACING,
    Traced,
    empties,
    filled,
    harmless,
    is_container,
    is_tested,
    stages,
)
from jaxlint.rules.analyses.instances.methods import own_methods
from jaxlint.rules.analyses.under_trace.traced import may_run_uncompiled
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Name, dotted, last_name
from jaxlint.syntax.statements import Body, Do, all_parts

#: What only works with numbers of the host.
_ON_HOST = frozenset({"float", "int", "print", "item", "tolist", "device_get", "format", "write"})


def handed_to_objects(
    function: Function, applied: Sequence[Applied], code: CodeRead, evaluator: Evaluator
) -> Iterator[tuple[object, str, str]]:
    """The calls by which a function leaves tracers in an object of a module: where, in what, and why they are some."""
    module = code.place.module
    if not applied or not all(one.transform.kind in TRACING for one in applied):
        return
    calls = [s.value for s in code.statements if isinstance(s, Do) and isinstance(s.value, Call)]
    methods = [call for call in calls if isinstance(call.func, Attribute) and isinstance(call.func.value, Name)]
    if not methods or may_run_uncompiled(module.source) or evaluator.calls.transformed.is_wrapped(function, module):
        return
    names = set(rebuilt_parameters(function, applied))
    traced = Traced(names, code, evaluator, stages=stages(applied))
    own = code.contents.bound | {parameter.name for parameter in function.parameters}
    why = f"which `{applied[0].transform.name}` transforms"
    for call in methods:
        match call.func:
            case Attribute(value=Name(id=name) as held, attr=attr) if name not in own:
                symbol = evaluator.model.resolver.resolve(held, module, code.scope)
                if isinstance(symbol, ValueSymbol) and not symbol.scope:
                    instance = plain(evaluator.of_symbol(symbol))
                    if isinstance(instance, Instance) and not instance.cls.is_pytree:
                        if _keeps(attr, call, instance.cls, traced, evaluator):
                            yield call.at, name, why


def _keeps(name: str, call: Call, cls: PytreeClass, traced: Traced, evaluator: Evaluator) -> bool:
    """Whether a method puts a tracer that it is given into a container of its object, which another one reads."""
    found = cls.method(name)
    if found is None or call.has_star or found[1].decorators or found[1].self_name is None or not cls.bases_known:
        return False
    method, own = found[1], found[1].self_name
    body = evaluator.calls.body_of(FunctionSymbol(found[0].module, method)) or ()
    rest = method.rest
    given = call.given_to(method.positional[1:])
    tracers = {
        name if method.takes(name) or rest is None else rest for name, value in given.items() if traced.is_traced(value)
    }
    tracers = {one for one in tracers if not is_bound(one, body) and not is_tested(one, body)}
    every = [(owner, one) for owner in cls.mro for one in own_methods(owner)]
    made = {
        f"{own}.{a.attr}"
        for _, one in every
        if one.name == "__init__"
        for a in one.self_assignments
        if a.value is not None and is_container(a.value)
    }
    paths = set(filled(body, made, tracers)) if tracers else set()
    others = [(owner, one) for owner, one in every if one is not method]
    bodies = [evaluator.calls.body_of(FunctionSymbol(owner.module, one)) or () for owner, one in others]
    return any(
        not any(empties(path, one) for one in bodies) and any(_reads_on_host(path, one) for one in bodies)
        for path in paths
    )


def _reads_on_host(path: str, body: Body) -> bool:
    """Whether a body reads what is in a container, and does with something what no tracer allows."""
    asked = harmless(body, is_dict=False)
    parts = list(all_parts(body))
    calls = [part.func for part in parts if isinstance(part, Call)]
    on_host = any(last_name(func) in _ON_HOST or (dotted(func) or "").startswith("np.") for func in calls)
    return on_host and any(dotted(part) == path and id(part) not in asked for part in parts)
