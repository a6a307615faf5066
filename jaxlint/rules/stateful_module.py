"""JAX502 stateful-module."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial

from jaxlint.cst import libcst as cst
from jaxlint.cst.changes import Proposal, RenameFunction
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.cst.reading import FunctionNode
from jaxlint.cst.shapes import dotted
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import UNKNOWN, as_instance
from jaxlint.infer.transforms.applied import Applied, rebuilt_parameters
from jaxlint.libraries.packages import usual_name
from jaxlint.libraries.transforms import TRANSFORMS, Kind
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.changes.closed_over import changes_closed_over
from jaxlint.rules.analyses.changes.evaluation_mode import may_be_evaluated, switches
from jaxlint.rules.analyses.changes.merged_modules import states_lost, updates_lost
from jaxlint.rules.analyses.changes.module_state import Code, ModuleState, StateChange
from jaxlint.rules.analyses.changes.run_for_time import is_run_for_time
from jaxlint.rules.base import NodeRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Call, Expr, Name
from jaxlint.syntax.statements import all_parts

#: Functions with which variables are made that JAX itself knows as mutable ("hijax").
_SHARING = frozenset(
    "var_defaults with_vars use_hijax use_refs to_refs as_refs as_hijax_vars as_mutable_vars as_immutable_vars".split()
)
#: Functions that are called where something is trained.
_TRAINING = frozenset({"grad", "value_and_grad", "update", "apply_updates", "apply_gradients"})


#: Transformations that a framework calls otherwise.
_OTHER_NAMES = {"checkpoint": "remat"}


class StatefulModule(NodeRule):
    """
    ## What it does

    Finds flax.nnx and treex modules that lose a change of their state: a transformed function (by `jax.jit`,
    `jax.grad`, `jax.vmap` or `lax.scan`) changes it (running statistics, random streams, variables, counters) and does
    not return it; or, in flax.nnx, the function merges it from its state and drops the new one, or does not get it as
    an argument and closes over it.

    ## Why is this bad?

    The transformations of JAX take the module apart and hand the function a copy. What the module writes into that copy
    is gone afterwards: batch statistics stay at their first value, and dropout draws the same mask at every call.
    The transformations of `flax.nnx` carry the changes back; those of JAX do not, and `jax.jit(nnx.grad(loss))` loses
    them, too.

    ## What you will see

    No error. `BatchNorm` evaluates with mean 0 and variance 1 after training, every call drops out the same units,
    counters stay where they were. A module of flax.nnx over which the function closes raises
    `flax.errors.TraceContextError: Cannot mutate BatchStat from a different trace level`.

    ## Example

    ```python
    import jax
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs: nnx.Rngs):
            self.norm = nnx.BatchNorm(2, rngs=rngs)

        def __call__(self, x: jax.Array) -> jax.Array:
            return self.norm(x)

    @jax.jit
    def loss(model: Net, x: jax.Array) -> jax.Array:
        return (model(x) ** 2).mean()
    ```

    ## Use instead

    ```python
    import jax
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs: nnx.Rngs):
            self.norm = nnx.BatchNorm(2, rngs=rngs)

        def __call__(self, x: jax.Array) -> jax.Array:
            return self.norm(x)

    @nnx.jit
    def loss(model: Net, x: jax.Array) -> jax.Array:
        return (model(x) ** 2).mean()
    ```

    ## Frameworks

    flax.nnx (use `nnx.jit`, `nnx.grad`, …, or return `nnx.state(model)`), treex (return the module). Other frameworks
    have no modules with state: see JAX501 for mutable pytrees.

    ## Fix safety

    `jax.jit` becomes `nnx.jit`, where it is the only transformation of the function. The fix is unsafe: what was lost
    is kept.

    ## When not to use it

    If a test only tries whether a function inside of it can be compiled, and makes nothing else of the module
    afterwards, nothing is reported. In evaluation mode (`model.eval()`) dropout and batch statistics stay as they
    are: where a file, or one that imports it, switches to it what it may give to the function afterwards, they are
    reported only if the function trains something; whatever else is written is reported. Calls with
    `deterministic=True`, `train=False` and the like are not, nor is what a module does below a condition, unless the
    call shows that it holds. Where variables of flax.nnx are made that write through all transformations
    (`nnx.var_defaults(hijax=True)`), nothing is reported.

    ## References

    - [Why Flax NNX: transformations](https://flax.readthedocs.io/en/latest/guides/transforms.html)
    - [treex: state management](https://github.com/cgarciae/treex)
    """

    code = "JAX502"
    name = "stateful-module"
    group = "transformations"
    since = "0.1.0"
    confidence = Confidence.MEDIUM

    everywhere = True

    def can_match(self, code: CodeRead) -> bool:
        """Ask for a function that is transformed by something that does not write the state back."""
        return code.function is not None and any(one.transform.rebuilds for one in code.applied)

    def check_node(self, node: FunctionNode, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a transformed function does with the modules that it is given, or over which it closes."""
        code = node.code
        function, module = code.function, code.place.module
        assert function is not None
        if not (_shares_variables((module,), evaluator) or evaluator.calls.transformed.is_wrapped(function, module)):
            yield from _closed_over(function, code, evaluator)
        rebuilt = rebuilt_parameters(function, _losing(code.applied))
        if not rebuilt or evaluator.calls.transformed.is_wrapped(function, module):
            return
        yield from _merged(node, rebuilt, evaluator)
        passed = {name: as_instance(code.parameters.get(name, UNKNOWN)) for name in rebuilt}
        stateful = {n: i for n, i in passed.items() if i is not None and i.cls.framework.is_stateful}
        if not stateful:
            return
        bound = code.contents.bound
        own = Code.of(function, code.body, module, {})
        state, evaluated = ModuleState(evaluator), ModuleState(evaluator, is_evaluated=True)
        importers = evaluator.model.importers(module)
        changes: dict[str, tuple[PytreeClass, StateChange]] = {}
        for name in (p.name for p in function.parameters if p.name in stateful and p.name not in bound):
            instance = stateful[name]
            if _shares_variables((module, instance.cls.module, *importers), evaluator):
                continue
            change = state.change(name, instance.cls, own)
            if change is not None and _may_be_evaluated(node, evaluator):
                change = evaluated.change(name, instance.cls, own)
            if change is not None and not state.comes_back(name, instance.cls, change, own):
                changes[name] = (instance.cls, change)
        if changes and not _is_tried(tuple(changes), function, code, evaluator):
            yield _problem(changes, function, code, evaluator)


def _losing(applied: Sequence[Applied]) -> list[Applied]:
    """The transformations that do not write the state of a module back.

    That those of flax.nnx do it is no help where they are within one of JAX, or around it: `jax.jit(nnx.grad(f))`. If
    one is used elsewhere, this function may well be meant for it, and there is none.
    """
    losing = [one for one in applied if not one.transform.propagates]
    keeping = [one for one in applied if one.transform.propagates]
    # what is kept in an attribute is listed twice: by its node, which says what is around what, and by its place alone
    together = {
        (k.transform.name, place_of(k.at)) for k in keeping if any(k.is_around(o) or o.is_around(k) for o in losing)
    }
    return losing if all((k.transform.name, place_of(k.at)) in together for k in keeping) else []


def _problem(
    changes: dict[str, tuple[PytreeClass, StateChange]], function: Function, code: CodeRead, evaluator: Evaluator
) -> Problem:
    first, (cls, change) = next(iter(changes.items()))
    applied = next(a for a in reversed(_losing(code.applied)) if first in a.rebuilt_parameters(function))
    transform = applied.transform.name
    names = " and ".join(f"`{name}`" for name in changes)
    way_out, fix = f"return {names} as well", None
    if cls.framework.transformations:
        last = transform.rpartition(".")[2]
        own = f"{cls.framework.transformations}.{_OTHER_NAMES.get(last, last)}"
        way_out = "return the new state"
        if own in TRANSFORMS:
            way_out = f"use `{usual_name(own)}`, or return the new state"
            fix = _writing_back(applied, own, code, evaluator)
    return Problem(
        at=applied.at,
        message=(
            f"`{function.name}` changes the state of {names} (`{cls.name}`: {change.what}) under `{transform}` and does"
            f" not return it: the change is lost; {way_out}"
        ),
        reason="the function gets a copy of the module, rebuilt from its leaves",
        help=way_out,
        fix=fix,
    )


def _closed_over(function: Function, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
    """The problems of modules that a function changes and is not given."""
    transform = next(one.transform for one in code.applied if one.transform.rebuilds).name
    for name, cls, change in changes_closed_over(function, code, evaluator):
        yield Problem(
            at=name.at,
            raises_at_once=True,
            message=(
                f"`{function.name}` changes the state of `{name.id}` (`{cls.name}`: {change.what}), over which it"
                f" closes, under `{transform}`: that raises TraceContextError; make `{name.id}` an argument of it"
            ),
            reason="variables of flax.nnx are written only at the level of tracing at which they came in",
            help=f"make `{name.id}` a parameter, and use the transformation of `nnx`",
        )


def _merged(node: FunctionNode, rebuilt: Collection[str], evaluator: Evaluator) -> Iterator[Problem]:
    """The problems of modules that a function merges from their states, and whose new states it drops."""
    code, module = node.code, node.code.place.module
    function = code.function
    assert function is not None
    if "merge" not in code.contents.called or code.place.functions[0].name.startswith("test"):
        return
    importers = evaluator.model.importers(module)
    if _may_be_evaluated(node, evaluator) or _shares_variables((module, *importers), evaluator):
        return
    if is_run_for_time(function, code, evaluator):
        return
    transform = next(one.transform for one in _losing(code.applied) if one.transform.rebuilds).name
    for lost in (*states_lost(code, rebuilt, evaluator), *updates_lost(code, rebuilt, evaluator)):
        if not _shares_variables((lost.cls.module,), evaluator):
            way_out = f"return `nnx.state({lost.name})` as well"
            yield Problem(
                at=lost.call.at,
                message=(
                    f"`{function.name}` changes the state of `{lost.name}` (`{lost.cls.name}`: {lost.change.what}),"
                    f" which it merges under `{transform}`, and does not return it: the change is lost; {way_out}"
                ),
                reason="the module is a new one, made from copies of the states",
                help=way_out,
            )


def _is_tried(changed: tuple[str, ...], function: Function, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a test only sees that a function inside of it can be compiled: it makes nothing else of the modules."""
    outer = code.place.functions[0]
    if outer is function or not outer.name.startswith("test"):
        return False
    body = evaluator.calls.body_of(FunctionSymbol(code.place.module, outer)) or ()
    named = [part for part in all_parts(body) if isinstance(part, Name)]
    calls = [
        p for p in all_parts(body) if isinstance(p, Call) and isinstance(p.func, Name) and p.func.id == function.name
    ]
    given = [_argument(call, name, function) for call in calls for name in changed]
    if not calls or not all(isinstance(expr, Name) for expr in given):
        return False
    names, passed = {expr.id for expr in given if isinstance(expr, Name)}, set(map(id, given))
    first, last = function.body_rows
    rows = (place_of(name.at).row for name in named if name.id in names and id(name) not in passed)
    return all(row < place_of(calls[0].at).row or first <= row <= last for row in rows)


def _argument(call: Call, name: str, function: Function) -> Expr | None:
    """What a call passes for a parameter."""
    index = [parameter.name for parameter in function.parameters].index(name)
    return call.positional[index] if index < len(call.positional) else call.keyword(name)


@proposing
def _writing_back(applied: Applied, own: str, code: CodeRead, evaluator: Evaluator) -> Proposal | None:
    """The fix: the transformation of the framework, which writes the state back, if it is the only one."""
    written = spelled(own, code.place.module, evaluator.model.resolver)
    if written is None or len(_losing(code.applied)) > 1 or not applied.transform.name.startswith("jax."):
        return None
    change = RenameFunction(applied.at, applied.transform.name.rpartition(".")[2], written[0])
    return Proposal(f"Use `{usual_name(own)}`", Applicability.UNSAFE, (change,), written[1])


def _may_be_evaluated(node: FunctionNode, evaluator: Evaluator) -> bool:
    """Whether the modules that a function is given may be in evaluation mode where it calls them."""
    function, module = node.code.function, node.code.place.module
    assert function is not None
    if switches(node.code.body, function, module, evaluator):
        return True
    return may_be_evaluated(function, module, evaluator) and not _trains(node)


def _trains(node: FunctionNode) -> bool:
    """Whether a function differentiates or updates something, or is differentiated: that is no evaluation.

    What is differentiated with respect to another argument than the first one, an input, trains nothing.
    """
    if any(a.transform.kind is Kind.GRAD for a in node.code.applied):
        return True
    calls = (call for call in node.all(cst.Call, node.body) if not _is_of_input(call))
    return any(dotted(call.func).rpartition(".")[2] in _TRAINING for call in calls)


def _is_of_input(call: cst.Call) -> bool:
    given = (arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == "argnums")
    return any(isinstance(value, cst.Integer) and value.evaluated_value > 0 for value in given)


def _shares_variables(modules: Iterable[Module], evaluator: Evaluator) -> bool:
    """Whether variables of flax.nnx are made that write through all transformations; each function asks for it."""

    def shares(module: Module) -> bool:
        return any(not unit.calls.isdisjoint(_SHARING) for unit in module.outline.units)

    return any(evaluator.model.once((_shares_variables, m.path), partial(shares, m)) for m in modules)
