"""The parameters of a body that a transformation gives tracers, or instances of which it has made tracers."""

from __future__ import annotations

from collections.abc import Mapping

from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import UNKNOWN, Value
from jaxlint.infer.transforms.applied import abstracting, rebuilt_parameters, tracing_arrays


def traced_parameters(code: CodeRead) -> Mapping[str, Value]:
    """The parameters of a function that are certainly traced, with what they are."""
    if traced_parameters not in code.shared:
        code.shared[traced_parameters] = _traced_parameters(code)
    found: Mapping[str, Value] = code.shared[traced_parameters]
    return found


def _traced_parameters(code: CodeRead) -> Mapping[str, Value]:
    function = code.function
    applied = abstracting(code.applied)
    if function is None or not applied:
        return {}
    rebuilt = rebuilt_parameters(function, applied)
    return {name: code.parameters.get(name, UNKNOWN) for name in rebuilt}


def mapped_parameters(code: CodeRead) -> dict[str, Value]:
    """The parameters of a function that is certainly mapped over: numbers in them are tracers, too."""
    function, applied = code.function, code.applied
    if function is None or not applied:
        return {}
    if all(a.transform.name == "jax.vmap" and not a.options for a in applied):
        rebuilt = rebuilt_parameters(function, applied)
    else:
        rebuilt = applied[0].mapped_parameters(function) if len(applied) == 1 else frozenset()
    return {name: code.parameters.get(name, UNKNOWN) for name in rebuilt}


def filtered_parameters(code: CodeRead) -> dict[str, Value]:
    """The parameters of a function that is compiled so that the arrays in them are tracers, and nothing else."""
    function, applied = code.function, tracing_arrays(code.applied)
    rebuilt = rebuilt_parameters(function, applied) if function is not None and applied else ()
    return {name: code.parameters.get(name, UNKNOWN) for name in rebuilt}
