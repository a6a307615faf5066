"""JAX518 select-on-state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from jaxlint.cst import libcst as cst
from jaxlint.cst.changes import Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.cst.reading import FunctionNode
from jaxlint.finding import Applicability
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import Container, Instance, Value, element_of, is_one_number, plain
from jaxlint.libraries.arrays import ARRAY_PROTOCOLS, JOINING
from jaxlint.libraries.trees import TREE_MAPS
from jaxlint.project.resolution import ValueSymbol
from jaxlint.pytrees.updating import is_train_state
from jaxlint.rules.analyses.bodies.refilled import is_refilled
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.analyses.instances.trees_of_axes import is_made_of_axes
from jaxlint.rules.analyses.under_trace.scanned_lists import SCAN, scanned_list
from jaxlint.rules.base import NodeRule, Problem
from jaxlint.symbols.outline import CHOOSES, Function
from jaxlint.syntax.expressions import (
    Call,
    Comprehension,
    Display,
    Expr,
    Name,
    Subscript,
    Unary,
    dotted,
    is_number,
    items_of,
    last_name,
)
from jaxlint.syntax.statements import bound_once, parts

#: The functions, and from which argument on they take arrays; None: the first is a list of them.
_FUNCTIONS = {
    "jax.numpy.where": 1,
    "jax.lax.select": 1,
    "jax.lax.select_n": 1,
    "jax.numpy.stack": None,
    "jax.numpy.concatenate": None,
}
_OF_LISTS = frozenset(name.rpartition(".")[2] for name, first in _FUNCTIONS.items() if first is None)
#: How annotations name lists and tuples.
_LISTS = frozenset({"list", "List", "tuple", "Tuple"})
#: Functions that join a list of arrays; those that only convert one are mapped over single trees everywhere.
_JOINING_NAMES = frozenset(name.rpartition(".")[2] for name in JOINING) - {"array", "asarray"}
_MAPPING = frozenset(name.rpartition(".")[2] for name in TREE_MAPS)
_LAST_NAMES = frozenset(name.rpartition(".")[2] for name in _FUNCTIONS)
#: A function that joins arrays is the first argument of a call.
_MAPPED_JOIN = re.compile(rf"map\(\s*[\w.]*\b(?:{'|'.join(sorted(_JOINING_NAMES))})\s*,")


class SelectOnState(NodeRule):
    """
    ## What it does

    Finds `jnp.where`, `lax.select`, `jnp.stack` and `jnp.concatenate` of whole instances of pytree classes, or of
    a list of some, `jax.tree.map(jnp.stack, *states)`, which gives it the leaves one by one, and `lax.scan` over a list
    of instances, whose function takes one of them.

    ## Why is this bad?

    These functions take arrays. A choice between two states, as in the automatic reset of an environment, has
    to be made leaf by leaf, and so has a stack of states.

    ## What you will see

    `TypeError: where requires ndarray or scalar arguments, got <class 'State'> at position 1.`, `TypeError: Error
    interpreting argument to select_n as a JAX value. The problematic value is of type <class 'State'>`.

    ## Example

    ```python
    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class State:
        position: jax.Array
        reward: jax.Array

    def step(state: State, start: State, done: jax.Array) -> State:
        return jnp.where(done, start, state)
    ```

    ## Use instead

    ```python
    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class State:
        position: jax.Array
        reward: jax.Array

    def step(state: State, start: State, done: jax.Array) -> State:
        return jax.tree.map(lambda a, b: jnp.where(done, a, b), start, state)
    ```

    ## Frameworks

    All, named tuples too.

    ## Fix safety

    A choice between two states of one class is made for each of their leaves, with `jax.tree.map`, and so is the stack
    of a list of states, or of states in brackets. That is safe: the call could only raise. A function that is mapped
    over several trees is given their leaves in a list, which is unsafe: numbers in the second tree would have been
    axes.

    ## When not to use it

    There is no reason to turn it off: the call cannot work. Classes with `__jax_array__` are left alone, and so are
    functions with a decorator that is not known: `quax.quaxify` has `jnp.where` choose between what it likes.

    ## References

    - [jax.tree.map](https://docs.jax.dev/en/latest/_autosummary/jax.tree.map.html)
    - [brax #233](https://github.com/google/brax/issues/233), [jax #9349](https://github.com/jax-ml/jax/issues/9349)
    """

    code = "JAX518"
    name = "select-on-state"
    group = "transformations"
    about_values = True
    since = "0.1.0"
    instance_calls = frozenset({CHOOSES, "scan"})

    everywhere = True

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Code that maps a function over trees and names one that joins arrays, or is given a list and joins some."""
        unit = candidate.unit
        if not unit.calls.isdisjoint(_OF_LISTS) and any(_takes_list(f, candidate) for f in candidate.functions):
            return True
        if unit.calls.isdisjoint(_MAPPING):
            return False
        return any(_MAPPED_JOIN.search(row) for row in candidate.module.source.lines[unit.first - 1 : unit.last])

    def can_match(self, code: CodeRead) -> bool:
        """Ask for a call of a function that takes arrays, or of one that maps."""
        return not (_LAST_NAMES | _MAPPING | {"scan"}).isdisjoint(code.contents.called)

    def check_node(self, function: FunctionNode, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the calls in a body that take arrays."""
        code = function.code
        around = (f for f in (code.function, *code.place.functions) if f is not None)
        if any(evaluator.calls.transformed.is_wrapped(f, code.place.module) for f in around):
            return  # a decorator that is not known may put other functions in the place of those of JAX
        working = code.contents.expected_to_work
        for call in (part for part in working if isinstance(part, Call) and last_name(part.func) in _MAPPING):
            joining = _mapped_join(call, code, evaluator)
            if joining is not None and not _may_tell_axes(call, code, evaluator):
                yield _problem_of_map(call, joining, code, evaluator)
        calls = [part for part in working if isinstance(part, Call) and last_name(part.func) in _LAST_NAMES]
        instances = LocalInstances.of(code, evaluator)
        for call in (part for part in working if isinstance(part, Call) and last_name(part.func) == "scan"):
            scanned = scanned_list(call, instances, code, evaluator)
            if scanned is not None and not is_refilled(scanned[0], code, evaluator):
                yield _problem_of_scan(*scanned)
        for call in calls:
            held = [(expr, one) for expr in _given(call) if (one := instances.instance(expr)) is not None]
            listed = _listed(call, instances) if last_name(call.func) in _OF_LISTS else None
            asks = held or listed is not None
            name = evaluator.model.resolver.library_name(call.func, code.place.module, code.scope) if asks else ""
            if name not in _FUNCTIONS:
                continue
            if listed is not None and _FUNCTIONS[name] is None and _is_no_array(listed[1]):
                if not is_refilled(listed[0], code, evaluator):
                    yield _problem_of_list(*listed, call, name, code, evaluator)
                continue
            if not held:
                continue
            arrays = _arrays(function.node_at(call.at))
            found = next((one for one in held if function.node_at(one[0].at) in arrays), None)
            if found is not None and _is_no_array(found[1]):
                cannot = _cannot_be_joined(found[1], name, evaluator)
                items = None if cannot else _mapping_items(call, instances, code, evaluator)
                fix = _mapping(call, instances, code, evaluator) or items
                yield _problem(found[0], found[1], "jax.numpy.stack" if cannot else name, name, fix)


def _takes_list(function: Function, candidate: Candidate) -> bool:
    """Whether a function is annotated to take a list of instances."""
    annotations = (parameter.annotation for parameter in function.parameters)
    is_list = any(isinstance(one, Subscript) and last_name(one.value) in _LISTS for one in annotations)
    return is_list and candidate.takes(function, lambda cls: cls.is_pytree)


def _mapped_join(call: Call, code: CodeRead, evaluator: Evaluator) -> str | None:
    """The function that joins a list of arrays and is mapped over several trees, which gives it each leaf by itself."""
    if not call.args:
        return None
    first, *trees = call.args
    if first.star or first.keyword is not None or last_name(first.value) not in _JOINING_NAMES:
        return None
    if any(argument.keyword is not None for argument in trees):
        return None
    if len(trees) < 2 and not any(argument.star == "*" for argument in trees):
        return None  # of one tree each leaf is a list of arrays already
    named = evaluator.model.resolver.library_name
    maps = named(call.func, code.place.module, code.scope) in TREE_MAPS
    joining = named(first.value, code.place.module, code.scope) if maps else ""
    return joining if joining in JOINING or f"jax.{joining}" in JOINING else None  # numpy's are alike


def _problem_of_scan(expr: Expr, instance: Instance) -> Problem:
    items = expr.id if isinstance(expr, Name) else "items"
    way_out = f"stack the leaves: `jax.tree.map(lambda *leaves: jnp.stack(leaves), *{items})`"
    return Problem(
        at=expr.at,
        message=(
            f"`{SCAN}` goes through the leaves of a list of `{instance.cls.name}` ({instance.cls.framework.title}),"
            f" each along its own first axis, and not through the list: its function gets a list; {way_out}"
        ),
        reason="a list is a pytree, and a scan takes slices of all leaves of one",
        help=way_out,
        declared=instance.declared,
    )


def _may_tell_axes(call: Call, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether the second of two trees may say along which axis each leaf of the first is joined, which is one array.

    It says no such thing where it is an instance that is not seen to be made of numbers.
    """
    if len(call.args) != 3 or any(argument.star for argument in call.args):
        return False
    second = call.args[2].value
    instance = LocalInstances.of(code, evaluator).instance(second)
    if instance is None or is_made_of_axes(instance.cls, evaluator):
        return True
    made: Expr | None = second
    if isinstance(second, Name):
        taken = code.function.parameters if code.function is not None else ()
        if any(parameter.name == second.id and parameter.annotation is None for parameter in taken):
            return True  # callers may give it such a tree
        symbol = evaluator.model.resolver.resolve(second, code.place.module, code.scope)
        assigned = symbol.assignment.value if isinstance(symbol, ValueSymbol) else None
        made = bound_once(code.body).get(second.id, assigned)
    given = [argument.value for argument in made.args] if isinstance(made, Call) else []
    return any(is_number(value.operand if isinstance(value, Unary) else value) for value in given)


def _problem_of_map(call: Call, name: str, code: CodeRead, evaluator: Evaluator) -> Problem:
    written = dotted(call.args[0].value) or name
    way_out = f"give it a list: `lambda *leaves: {written}(leaves)`"
    return Problem(
        at=call.args[0].value.at,
        message=(
            f"`{name}` takes one list of arrays, and `{dotted(call.func)}` gives it the leaves of several trees one by"
            f" one: it raises, or joins along a wrong axis; {way_out}"
        ),
        reason="a function that is mapped over several trees gets one argument for each",
        help=way_out,
        fix=_in_list(call, written),
    )


@proposing
def _in_list(call: Call, written: str) -> Proposal | None:
    """The fix: the leaves are given in a list."""
    if written.partition(".")[0] == "leaves":
        return None
    mapped = call.args[0].value
    change = Rewrite(mapped.at, "lambda *leaves: {0}(leaves)", (mapped.at,))
    return Proposal("Give it a list of leaves", Applicability.UNSAFE, (change,))


def _is_no_array(instance: Instance) -> bool:
    """Whether jax certainly does not take an instance for an array."""
    return not any(map(instance.cls.answers, ARRAY_PROTOCOLS))


def _listed(call: Call, instances: LocalInstances) -> tuple[Expr, Instance] | None:
    """The list (a variable or a comprehension) of instances that a call is given first, and one of its items."""
    given = call.positional[0] if call.positional and not call.has_star else None
    if isinstance(given, Comprehension):
        held: Value | None = instances.instance(given.element) if isinstance(given.element, Call) else None
    else:
        listed = plain(instances.value(given)) if isinstance(given, Name) else None
        held = plain(element_of(listed)) if isinstance(listed, Container) and listed.kind in ("list", "tuple") else None
    if given is None or not isinstance(held, Instance) or not held.cls.is_pytree:
        return None
    return given, held


def _given(call: Call) -> Iterator[Expr]:
    """What a call is given by position, and the items of lists."""
    for expr in call.positional:
        yield from items_of(expr)


def _arrays(call: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The arguments in the places of arrays."""
    match call:
        case cst.Call(cst.Attribute(attr=cst.Name("stack" | "concatenate")) | cst.Name("stack" | "concatenate")):
            match call.args:
                case [cst.Arg(cst.List(elements) | cst.Tuple(elements), keyword=None), *_]:
                    return [element.value for element in elements]
        case cst.Call(args=args):
            return [arg.value for arg in args if arg.keyword is None][1:]
    return []


@proposing
def _mapping(call: Call, instances: LocalInstances, code: CodeRead, evaluator: Evaluator) -> Proposal | None:
    """The fix of a choice between two states of one class: it is made for each leaf."""
    given = call.positional
    if len(given) != 3 or len(call.args) != 3 or last_name(call.func) not in ("where", "select"):
        return None
    one, other = instances.instance(given[1]), instances.instance(given[2])
    written = spelled("jax.tree.map", code.place.module, evaluator.model.resolver, code.scope)
    if one is None or other is None or one.cls is not other.cls or written is None:
        return None
    if any(isinstance(part, Name) and part.id in ("a", "b") for part in parts(given[0])):
        return None
    template = f"{written[0]}(lambda a, b: {{0}}({{1}}, a, b), {{2}}, {{3}})"
    change = Rewrite(call.at, template, (call.func.at, *(expr.at for expr in given)))
    return Proposal("Choose for each leaf", Applicability.SAFE, (change,), written[1])


def _problem_of_list(
    expr: Expr, instance: Instance, call: Call, name: str, code: CodeRead, evaluator: Evaluator
) -> Problem:
    last, cannot = name.rpartition(".")[2], _cannot_be_joined(instance, name, evaluator)
    items = expr.id if isinstance(expr, Name) else "items"
    joining = "stack" if cannot else last
    way_out = f"stack the leaves: `jax.tree.map(lambda *leaves: jnp.{joining}(leaves), *{items})`"
    return Problem(
        at=expr.at,
        message=(
            f"`{name}` is given a list of `{instance.cls.name}` ({instance.cls.framework.title}) and takes arrays only:"
            f" TypeError; {way_out}"
        ),
        reason="functions of arrays do not look inside of pytrees",
        help=way_out,
        declared=instance.declared,
        fix=None if cannot else _mapping_list(call, code, evaluator),
    )


@proposing
def _mapping_list(call: Call, code: CodeRead, evaluator: Evaluator) -> Proposal | None:
    """The fix of a list of states of one class: it is joined leaf by leaf."""
    return _joining(call, (call.positional[0],), "*", code, evaluator)


@proposing
def _mapping_items(call: Call, instances: LocalInstances, code: CodeRead, evaluator: Evaluator) -> Proposal | None:
    """The fix of states of one class that are given in brackets: they are joined leaf by leaf."""
    given = call.positional[0] if call.positional else None
    if not isinstance(given, Display) or given.kind not in ("list", "tuple") or last_name(call.func) not in _OF_LISTS:
        return None
    held = [instances.instance(item) for item in given.items]
    if any(one is None or held[0] is None or one.cls is not held[0].cls for one in held):
        return None
    return _joining(call, given.items, "", code, evaluator)


@proposing
def _joining(call: Call, states: Sequence[Expr], star: str, code: CodeRead, evaluator: Evaluator) -> Proposal | None:
    """The fix that joins states leaf by leaf, along the axis that is named."""
    written = spelled("jax.tree.map", code.place.module, evaluator.model.resolver, code.scope)
    axis = call.args[1:]
    if written is None or any(isinstance(p, Name) and p.id == "leaves" for p in parts(call)):
        return None
    if len(axis) > 1 or any(one.keyword != "axis" for one in axis):
        return None
    along = "".join(f", axis={{{number}}}" for number, _ in enumerate(axis, 1 + len(states)))
    given = ", ".join(f"{star}{{{number}}}" for number, _ in enumerate(states, 1))
    template = f"{written[0]}(lambda *leaves: {{0}}(leaves{along}), {given})"
    shown = (call.func.at, *(one.at for one in states), *(one.value.at for one in axis))
    return Proposal("Join each leaf", Applicability.SAFE, (Rewrite(call.at, template, shown),), written[1])


def _cannot_be_joined(instance: Instance, name: str, evaluator: Evaluator) -> bool:
    """Whether leaves of instances seem to be numbers, which have no axis to be concatenated along."""
    cls = instance.cls
    return name.endswith("concatenate") and (
        is_train_state(cls) or any(is_one_number(evaluator.promises.field(leaf, cls)) for leaf in cls.leaves or ())
    )


def _problem(expr: Expr, instance: Instance, leafwise: str, name: str, fix: Proposal | None) -> Problem:
    """The problem of an instance that a function is given; `leafwise` is that which takes its leaves."""
    last = leafwise.rpartition(".")[2]
    way_out = f"map over the leaves: `jax.tree.map(lambda a, b: {_leafwise(last)}, one, other)`"
    return Problem(
        at=expr.at,
        message=(
            f"`{name}` is given a whole `{instance.cls.name}` ({instance.cls.framework.title}) and takes arrays only:"
            f" TypeError; {way_out}"
        ),
        reason="functions of arrays do not look inside of pytrees",
        help=way_out,
        declared=instance.declared,
        fix=fix,
    )


def _leafwise(function: str) -> str:
    if function in ("stack", "concatenate"):
        return f"jnp.{function}([a, b])"
    return "jnp.where(condition, a, b)"
