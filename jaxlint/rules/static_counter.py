"""JAX202 static-counter."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import FIELD_EVENTS, AssignAttribute, CodeRead, Event
from jaxlint.rules.base import BodyRule, EventRule, Problem


class StaticCounter(EventRule, BodyRule):
    """
    ## What it does

    Finds counters in static fields: a static field that is replaced by itself plus something, by the index of a loop,
    or by the numbers that a loop goes through.

    Floats that a loop replaces are static-schedule's (JAX209).

    ## Why is this bad?

    The value of a static field is part of the compiled function's key. Every new value traces and compiles the
    function again, so that every step pays for a compilation, and the compiled functions pile up.

    ## What you will see

    No error. Four steps make four traces (`jax.log_compiles(True)` shows them); a data field makes one. In the carry of
    `jax.lax.scan`, `while_loop` or `fori_loop` it is a TypeError: the pytree that comes back has another structure.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Loop:
        params: jax.Array
        step: int = struct.field(pytree_node=False, default=0)

    @jax.jit
    def train(loop: Loop) -> Loop:
        return loop.replace(params=loop.params * 0.9, step=loop.step + 1)
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Loop:
        params: jax.Array
        step: int = 0

    @jax.jit
    def train(loop: Loop) -> Loop:
        return loop.replace(params=loop.params * 0.9, step=loop.step + 1)
    ```

    ## Frameworks

    All that have static fields: flax.struct, TrainState, register_dataclass, jax_dataclasses, tjax, equinox,
    simple_pytree, penzai, nnx and treex (with an explicit marker). A Python int in a data field is a leaf, and the
    function is traced once; under `eqx.filter_jit` it must be an array for that.

    ## Fix safety

    The marker is dropped, or the name goes from `meta_fields` to `data_fields`, if the class is in the same file. The
    fix is unsafe: the pytree has another structure then. There is none where a compiled function needs the number.

    ## When not to use it

    The confidence is low for a class that is not seen to go into a transformation, if it may hold no arrays, or if the
    code around gives a field of it to a compiled function.

    Not reported are

    * outside of loops, a field whose name says that it goes up rarely (`depth`, `version`), or that changes by an
      argument (`z=self.z + dz`), unless a compiled function is seen to change it;
    * an update that makes an array or tuple of another field longer or shorter as well, which compiles again anyway;
    * outside of loops, what counts in an instance that the same function has made: each call begins from the start;
    * stages that are written out (`for stage in range(3)`, `for stage, n in enumerate([10, 20])`), each with a loop of
      its own, unless the name of the field counts;
    * what a loop counts and only returns, and trials in a comprehension;
    * what repeats (`i % 2`, `i // 10`), and what the same function sets back (`if count == every: count = 0`).

    A number that a compiled function needs as a size (a shape, a `range`, a slice) must stay static, for a leaf is
    traced. If a compiled function changes it, or its name counts steps, it is reported, and the finding says what has
    to be written in another way first. If code outside of compiled functions changes it, as refinements and searches
    do, it is not. A number that an `if` of a compiled function asks for is reported if each turn of a loop changes it.

    ## References

    - [jax #33043](https://github.com/jax-ml/jax/issues/33043)
    - [jaxsim #179](https://github.com/gbionics/jaxsim/pull/179)
    """

    code = "JAX202"
    name = "static-counter"
    group = "roles"
    since = "0.1.0"
    events = FIELD_EVENTS

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what is put into static fields."""
        if isinstance(event, AssignAttribute) and not event.may_take_effect:
            return
        from jaxlint.rules.analyses.fields.static_numbers import numbers_put
        from jaxlint.rules.analyses.fixes.static_numbers import problems_of

        for one in numbers_put(event, evaluator):
            if not one.is_scheduled and not one.is_of_few:
                yield from problems_of(one, event.place.module, evaluator)

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a loop makes anew at each turn, and passes to a compiled function under a name."""
        from jaxlint.rules.analyses.fields.static_numbers import numbers_made, numbers_moved
        from jaxlint.rules.analyses.fixes.static_numbers import problems_of

        for one in numbers_made(code, evaluator):
            yield from problems_of(one, code.place.module, evaluator)
        for one in numbers_moved(code, evaluator):
            if not one.is_scheduled:
                yield from problems_of(one, code.place.module, evaluator)
