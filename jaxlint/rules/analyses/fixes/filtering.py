"""The fixes that give jax and optax the arrays of a module of equinox alone."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlint.cst.changes import Proposal, RenameFunction, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Cross
from jaxlint.infer.transforms.applied import Applied
from jaxlint.libraries.transforms import OF_EQUINOX, PICKING_ARRAYS
from jaxlint.project.index import TracedBy
from jaxlint.project.modules import Module
from jaxlint.syntax.expressions import Expr


@proposing
def filtered_ones(taken: Sequence[Applied], event: Cross, evaluator: Evaluator) -> Proposal | None:
    """The fix: the transformations of equinox that do the same, where these have no options that they do not know."""
    module = event.place.module
    if event.function is None or event.module is not module:
        return None
    proposals = [
        None
        if one.bound or one.given or one.options - {"has_aux"}
        else using(one.transform.name, one.at, module, evaluator)
        for one in taken
    ]
    if None in proposals:
        return None
    first, *others = made = [one for one in proposals if one is not None]
    changes = tuple(dict.fromkeys(change for one in made for change in one.changes))
    return Proposal(first.title if not others else "Use equinox's", Applicability.UNSAFE, changes, first.imports)


def filtering(name: str) -> str:
    """The way out of a transformation that takes arrays only."""
    if name == "jax.vmap":
        return "use `eqx.filter_vmap`, with `eqx.if_array(0)` in `in_axes`"
    own = OF_EQUINOX.get(name)
    return "pass its arrays alone, by `eqx.partition`" if own is None else f"use `eqx.{own.partition('.')[2]}`"


def has_filtering(traced: TracedBy) -> bool:
    """Whether equinox has what does the same as what takes instances apart."""
    return traced.transform in OF_EQUINOX


@proposing
def of_function(traced: TracedBy, module: Module, evaluator: Evaluator) -> Proposal | None:
    """The fix: the transformation of equinox, where the module applies that of jax to one function of that name."""
    functions = [f for f in module.outline.functions.values() if f.name == traced.function]
    applied = evaluator.calls.transformed.of(functions[0], module) if len(functions) == 1 else ()
    taken = [one for one in applied if one.transform.name == traced.transform]
    if len(taken) != 1 or taken[0].bound or taken[0].given or taken[0].options:
        return None
    return using(traced.transform, taken[0].at, module, evaluator)


@proposing
def using(name: str, at: object, module: Module, evaluator: Evaluator) -> Proposal | None:
    """The fix: what is called or applied there is equinox's, which does the same to arrays only."""
    written = spelled(OF_EQUINOX[name], module, evaluator.model.resolver) if name in OF_EQUINOX else None
    if written is None:
        return None
    change = RenameFunction(at, name.rpartition(".")[2], written[0])
    return Proposal(f"Use `{written[0]}`", Applicability.UNSAFE, (change,), written[1])


@proposing
def of_arrays(given: Expr, code: CodeRead, evaluator: Evaluator) -> Proposal | None:
    """The fix: what the optimizer is given is what of the module are arrays."""
    module, resolver = code.place.module, evaluator.model.resolver
    names = [spelled(name, module, resolver, code.scope) for name in PICKING_ARRAYS]
    made = [written for written in names if written is not None]
    if len(made) < len(names):
        return None
    (picked, imports), (is_array, _) = made
    change = Rewrite(given.at, f"{picked}({{0}}, {is_array})", (given.at,))
    return Proposal("Give it the arrays of the module", Applicability.UNSAFE, (change,), imports)
