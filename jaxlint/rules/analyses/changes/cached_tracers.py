"""Arrays that a `functools.cached_property` keeps while a method is traced: tracers, which the next one meets."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Place
from jaxlint.infer.known.values import Array, Instance, plain
from jaxlint.infer.transforms.applied import rebuilt_parameters
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.changes.leaked import TRACING
from jaxlint.rules.analyses.instances.methods import caching, own_methods, run_by, text_of
from jaxlint.rules.analyses.under_trace.traced import may_run_uncompiled
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Binary, Call
from jaxlint.syntax.statements import bound_once, looked_up

#: What lets a constant be computed at once inside of a trace.
_AT_ONCE = "ensure_compile_time_eval"


class CachedTracer(msgspec.Struct, frozen=True):
    """A property that keeps an array, and two compiled methods that ask for it."""

    function: Function
    first: Function
    second: Function


def cached_tracers(code: CodeRead, evaluator: Evaluator) -> Iterator[CachedTracer]:
    """The cached arrays of an object that no argument holds, for which it is asked while two methods are traced.

    All that asks for them is compiled: who does so before, outside of them, has an array that is one.
    """
    method, cls, module = code.function, code.place.owner, code.place.module
    if method is None or cls is None or method is not code.place.method or may_run_uncompiled(module.source):
        return
    if not _is_traced_with(method, code.place) or evaluator.model.subclasses(cls):
        return
    own = own_methods(cls)
    inside = run_by(method, cls)
    for cached in own:
        if cached.name not in inside or caching(cached, cls, evaluator) is None:
            continue
        value = plain(evaluator.attribute_of(Instance(cls), cached.name))
        if not isinstance(value, Array) or value.library != "jax" or not _is_computed(cached, cls, evaluator):
            continue
        compiled = [m for m in own if _is_traced_with(m, code.place) and cached.name in run_by(m, cls)]
        within = {name for m in compiled for name in run_by(m, cls)}
        entries = [m for m in compiled if not any(m.name in run_by(o, cls) for o in compiled if o is not m)]
        if len(entries) < 2 or entries[0] is not method:
            continue
        traced = {m.name for m in compiled}
        if any(_asks(m, cached.name, traced, cls) for m in own if m.name not in within):
            continue
        if not _is_named_outside(cached.name, cls, evaluator):
            yield CachedTracer(cached, entries[0], entries[1])


def _asks(method: Function, name: str, traced: Collection[str], cls: PytreeClass) -> bool:
    """Whether a method asks for an attribute, itself or by others that it runs, and not by what is compiled."""
    pending, seen = [method], {method.name}
    while pending:
        current = pending.pop()
        named = current.self_calls | current.self_reads
        if name in named:
            return True
        for other in named - seen - set(traced):
            seen.add(other)
            found = cls.method(other)
            pending += [] if found is None else [found[1]]
    return False


def _is_computed(cached: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a property computes what it returns, inside of the trace: an attribute that it hands on is no tracer."""
    if _AT_ONCE in text_of(cached, cls.module):
        return False
    bound = bound_once(evaluator.calls.body_of(FunctionSymbol(cls.module, cached)) or ())
    values = [looked_up(value, bound) for value in cached.return_values]
    return bool(values) and all(isinstance(value, (Call, Binary)) for value in values)


def _is_traced_with(method: Function, place: Place) -> bool:
    """Whether a method is compiled, while its object is none of the arguments that are traced."""
    applied = place.applied(method)
    if not applied or not all(one.transform.kind in TRACING for one in applied):
        return False
    return method.self_name is not None and method.self_name not in rebuilt_parameters(method, applied)


def _is_named_outside(name: str, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether something outside of the class asks an object for an attribute of that name, or names it in a text."""
    named = re.compile(rf"\.{re.escape(name)}\b|([\"']){re.escape(name)}\1")
    at = cls.symbol.declaration.at
    for module in (cls.module, *evaluator.model.importers(cls.module)):
        source = module.source
        texts = [source.text]
        if module is cls.module:
            texts = [source.rows(1, at.row - 1) if at.row > 1 else "", source.text[source.offset(at.end_row + 1, 0) :]]
        if any(named.search(text) for text in texts):
            return True
    return False
