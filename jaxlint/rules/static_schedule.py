"""JAX209 static-schedule."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import FIELD_EVENTS, CodeRead
from jaxlint.rules.analyses.bodies.loops import classes_compiled
from jaxlint.rules.analyses.fields.static_numbers import is_seldom, numbers_moved, numbers_put
from jaxlint.rules.analyses.fixes.static_numbers import problems_of
from jaxlint.rules.base import BodyRule, Problem


class StaticSchedule(BodyRule):
    """
    ## What it does

    Finds static floats that each turn of a loop replaces: a rate that decays, a temperature that is annealed.

    Counters, and what is constructed anew for each number, are static-counter's (JAX202).

    ## Why is this bad?

    The value of a static field is part of the compiled function's key. A schedule of a hundred rates makes a hundred
    compiled functions, which all stay in memory.

    ## What you will see

    No error. Five rates make five traces (`jax.log_compiles(True)` shows them); a data field makes one.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class State:
        x: jax.Array
        rate: float = struct.field(pytree_node=False, default=0.1)

    @jax.jit
    def step(state: State) -> State:
        return state.replace(x=state.x * (1 - state.rate))

    def run(state: State, steps: int) -> State:
        for _ in range(steps):
            state = step(state)
            state = state.replace(rate=state.rate * 0.99)
        return state
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class State:
        x: jax.Array
        rate: float = 0.1

    @jax.jit
    def step(state: State) -> State:
        return state.replace(x=state.x * (1 - state.rate))

    def run(state: State, steps: int) -> State:
        for _ in range(steps):
            state = step(state)
            state = state.replace(rate=state.rate * 0.99)
        return state
    ```

    ## Frameworks

    All that have static fields: flax.struct, TrainState, register_dataclass, jax_dataclasses, tjax, equinox,
    simple_pytree, penzai and nnx (with an explicit marker). A Python float in a data field is a leaf and makes
    one trace; under `eqx.filter_jit` it must be an array for that.

    ## Fix safety

    The marker is dropped, or the name goes from `meta_fields` to `data_fields`, if the class is in the same file. The
    fix is unsafe: the pytree has another structure then. There is none where a compiled function needs to know the
    float, in an `if` or for numpy: the finding says what has to be written in another way first.

    ## When not to use it

    A float that is set once in a while, and for many steps, is worth the compilation: what changes under a condition
    (`if epoch % 10 == 0`) is not reported, nor is a rate that is halved where a step has failed, nor are stages that
    are written out (`for rate in (0.1, 0.01)`, `for stage, rate in enumerate(RATES)`) and trained in a loop of their
    own, nor trials of several settings, each from the beginning. A counted loop of epochs is reported, for there are as
    many compilations as epochs.

    ## References

    - [static arguments of jax.jit](https://docs.jax.dev/en/latest/jit-compilation.html#marking-arguments-as-static)
    """

    code = "JAX209"
    name = "static-schedule"
    group = "roles"
    since = "0.1.0"

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what is put into static fields, and at what a loop moves and gives to a compiled function."""
        events = [event for event in code.events if type(event) in FIELD_EVENTS]
        compiled = classes_compiled(code) if events else set()
        put = (number for event in events for number in numbers_put(event, evaluator, compiled))
        for number in (*put, *numbers_moved(code, evaluator)):
            if number.is_scheduled and not is_seldom(number, code, evaluator):
                yield from problems_of(number, code.place.module, evaluator)
