"""Fixes of the options of transformations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jaxlint.cst.changes import Change, DropOption, EditCall, Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.transforms.applied import Applied
from jaxlint.project.modules import Module
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Span


def is_written_in(applied: Applied, function_module: Module | None, module: Module) -> bool:
    """Whether the decorator or the call of a transformation certainly stands in a module."""
    return function_module is module and (applied.is_decorator or not isinstance(applied.at, Span))


@proposing
def not_donating(parameter: str, function: Function, every: Iterable[Applied]) -> Proposal | None:
    """The fix that lets a transformation, which stands in the module, keep the buffers of an argument."""
    changes = [
        change
        for applied in every
        for change in _dropped(parameter, function, applied, "donate", applied.donate_argnums, applied.donate_argnames)
    ]
    return _alone(f"Do not donate `{parameter}`", changes)


@proposing
def tracing(parameter: str, function: Function, every: Iterable[Applied]) -> Proposal | None:
    """The fix that lets a transformation, which stands in the module, trace an argument that is static."""
    changes = [
        change
        for applied in every
        for change in _dropped(parameter, function, applied, "static", applied.static_argnums, applied.static_argnames)
    ]
    return _alone(f"Trace `{parameter}`", changes)


def _dropped(
    parameter: str,
    function: Function,
    applied: Applied,
    option: str,
    numbers: Sequence[int] | None,
    names: Sequence[str] | None,
) -> Iterator[Change]:
    """The changes that take a parameter out of what an option lists, by number and by name."""
    positional = function.positional
    chosen = tuple(n for n in numbers or () if positional[n : n + 1] == [parameter])
    if chosen and not applied.bound:
        yield DropOption(applied.at, f"{option}_argnums", chosen)
    if parameter in (names or ()):
        yield DropOption(applied.at, f"{option}_argnames", (parameter,))


@proposing
def _alone(title: str, changes: Sequence[Change]) -> Proposal | None:
    """The unsafe fix that one change makes."""
    return Proposal(title, Applicability.UNSAFE, tuple(changes)) if len(changes) == 1 else None


@proposing
def allowing_integers(applied: Applied, module: Module, scope: str, evaluator: Evaluator) -> Proposal | None:
    """The fix that lets a derivative, which stands in the module, take integers: their part of it has no numbers."""
    if applied.transform.name not in ("jax.grad", "jax.value_and_grad"):
        return None  # jax.jacrev fails with what it gets
    title, level = "Allow integers, which have no derivative", Applicability.DISPLAY
    given = (("allow_int", "True"),)
    called = Proposal(title, level, (EditCall(applied.at, given),))
    if not applied.is_decorator:
        return called
    partial = spelled("functools.partial", module, evaluator.model.resolver)
    name = applied.transform.name
    written = spelled(name, module, evaluator.model.resolver, scope)
    if partial is None or written is None or written[1]:
        return called
    change = Rewrite(applied.at, f"{partial[0]}({written[0]}, allow_int=True)")
    return Proposal(title, level, (change,), partial[1]) if not applied.options else called
