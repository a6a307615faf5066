"""JAX517 reused-key."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxlint.cst import libcst as cst
from jaxlint.cst.reading import FunctionNode
from jaxlint.cst.shapes import names, own, returned
from jaxlint.finding import Confidence, Severity
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import AssignAttribute, CodeRead, Replace, Update
from jaxlint.infer.values import Instance, plain
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.updating import REPLACE_FUNCTIONS
from jaxlint.rules.analyses.local_instances import LocalInstances
from jaxlint.rules.base import NodeRule, Problem
from jaxlint.syntax.expressions import Attribute, Expr, Name, dotted

_KEY = re.compile(r"(^|_)(key|rng|prng|seed_key|random_key|prng_key|rng_key)s?$", re.IGNORECASE)
#: Functions of `jax.random` that make keys of other things, or of a key and a number.
_NOT_USING = frozenset({"fold_in", "key_data", "wrap_key_data", "key_impl", "clone", "PRNGKey", "key"})


class ReusedKey(NodeRule):
    """
    ## What it does

    Finds functions that draw random numbers with the key of a state and return an updated copy of the state in which
    the key is still the same.

    ## Why is this bad?

    A key gives the same numbers each time. The next step draws with the same key: the same noise, the same dropout, the
    same actions in every step.

    ## What you will see

    No error. The random numbers repeat.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class State:
        x: jax.Array
        key: jax.Array

    def step(state: State) -> State:
        noise = jax.random.normal(state.key, state.x.shape)
        return state.replace(x=state.x + noise)
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class State:
        x: jax.Array
        key: jax.Array

    def step(state: State) -> State:
        key, subkey = jax.random.split(state.key)
        noise = jax.random.normal(subkey, state.x.shape)
        return state.replace(x=state.x + noise, key=key)
    ```

    ## Frameworks

    All.

    ## Fix safety

    There is no automatic fix.

    ## When not to use it

    `jax.random.fold_in(state.key, state.step)` makes another key in each step, and is not reported. Noise that is meant
    to be the same in all steps is.

    ## References

    - [JAX: pseudorandom numbers](https://docs.jax.dev/en/latest/random-numbers.html)
    - [omega #14](https://github.com/hr0nix/omega/pull/14), [maxtext #276](https://github.com/AI-Hypercomputer/maxtext/issues/276)
    """

    code = "JAX517"
    name = "reused-key"
    group = "transformations"
    severity = Severity.WARNING
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    enabled = False

    everywhere = True

    def can_match(self, code: CodeRead) -> bool:
        """Ask for an update of a variable."""
        return code.function is not None and bool(_updates(code))

    def check_node(self, function: FunctionNode, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the keys that a function uses, and at the states that it returns."""
        code = function.code
        instances = LocalInstances.of(code, evaluator)
        for call in code.calls:
            if not call.positional:
                continue
            name = evaluator.model.resolver.library_name(call.func, code.place.module, code.scope)
            if not name.startswith("jax.random.") or name.rpartition(".")[2] in _NOT_USING:
                continue
            key = call.positional[0]
            held = _key_of(key, instances)
            own = _kept(key, code) if held is not None else []
            if held is not None and own and _comes_back(own, function):
                yield _problem(key, held, name)


def _updates(code: CodeRead) -> list[Replace]:
    return [e for e in code.events if isinstance(e, Replace) and isinstance(e.base, Name)]


def _key_of(expr: Expr, instances: LocalInstances) -> PytreeClass | None:
    """The class of the state whose key an expression reads."""
    match expr:
        case Attribute(value=Name() as base, attr=attr) if _KEY.search(attr):
            instance = instances.instance(base)
            field = None if instance is None else instance.cls.field(attr)
            if instance is not None and field is not None and field.role is Role.LEAF:
                return instance.cls
    return None


def _kept(key: Expr, code: CodeRead) -> list[Replace]:
    """The updates of the state that holds a key, if they are all that happens to it and none gives it another key."""
    assert isinstance(key, Attribute)
    updates = _updates(code)
    base, attr = dotted(key.value), key.attr
    own = [u for u in updates if isinstance(u.base, Name) and u.base.id == base]
    if any(u.call.has_star for u in updates) or len(own) != len(updates):
        return []
    if any(u.function not in (*REPLACE_FUNCTIONS, u.receiver.cls.framework.replace_method) for u in own):
        return []  # a method of the class, which may do more
    if any(k.name == attr for u in updates for k in u.keywords):
        return []
    if any(isinstance(e, AssignAttribute) and e.attr == attr for e in code.events):
        return []
    if any(isinstance(e, Update) and not isinstance(e, Replace) and _is_instance(e) for e in code.events):
        return []
    return own


def _is_instance(update: Update) -> bool:
    return isinstance(plain(update.receiver), Instance)


def _comes_back(updates: list[Replace], function: FunctionNode) -> bool:
    """Whether a function returns one of the updates, and the state is given nothing else."""
    made = [function.node_at(update.call.at) for update in updates]
    base = {update.base.id for update in updates if isinstance(update.base, Name)}
    body, kept = function.body, set()
    for assigned in own(body, cst.Assign):
        targets = [one.target for one in assigned.targets]
        if assigned.value in made:
            kept |= {one.value for one in targets[:1] if isinstance(one, cst.Name)}
        elif not base.isdisjoint(names(targets)):
            return False
    values = list(returned(body))
    return not kept.isdisjoint(names(values)) or any(part in made for v in values for part in own(v, cst.Call))


def _problem(key: Expr, cls: PytreeClass, function: str) -> Problem:
    assert isinstance(key, Attribute)
    way_out = f"split it, and put the new key back: `key, subkey = jax.random.split({dotted(key)})`"
    return Problem(
        at=key.at,
        message=(
            f"`{function}` uses `{key.attr}` of the `{cls.name}`, and the state that is returned still has the same"
            f" key: the next step draws the same numbers; {way_out}"
        ),
        reason="a key gives the same random numbers each time it is used",
        help=way_out,
    )
