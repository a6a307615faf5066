"""JAX309 repeated-init."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.pytrees.framework import Unflatten
from jaxlint.pytrees.model import Field, Kind, PytreeClass
from jaxlint.rules.base import BodyRule, ClassRule, Problem

if TYPE_CHECKING:
    from jaxlint.pytrees.rebuild import Rebuild
    from jaxlint.rules.analyses.rebuilding.twice import Drift


class RepeatedInit(ClassRule, BodyRule):
    """
    ## What it does

    Finds constructors that make something else of what they have made: `__init__` or `__post_init__` scales, shifts or
    grows a field, or depends on an `InitVar`, and jax runs it again whenever it rebuilds an instance.

    ## Why is this bad?

    Each transformation rebuilds its arguments and its results, and each time the field is divided by 100 once more.
    The numbers are silently wrong, and differ between eager and compiled code. The value of an `InitVar` is not stored:
    the constructor is called without it, or with its default.

    ## What you will see

    No error for a field: 10 divided by 100 is 0.1, 0.001 inside of `jax.jit`, and 0.00001 in what that returns. For
    an `InitVar` without default `TypeError: Spring.__init__() missing 1 required positional argument: 'scale'`; with
    chex `TypeError: Spring.__post_init__() missing 1 required positional argument: 'scale'`, even with a default.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Share:
        fraction: jax.Array

        def __post_init__(self) -> None:
            object.__setattr__(self, "fraction", self.fraction / 100)
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Share:
        fraction: jax.Array

        @classmethod
        def from_percent(cls, percent: jax.Array) -> "Share":
            return cls(fraction=percent / 100)
    ```

    ## Frameworks

    Those whose unflatten calls the constructor: flax.struct, TrainState, register_dataclass, jax_dataclasses, tjax,
    mjx; chex, which runs `__post_init__`; `register_pytree_node_class` and `register_pytree_node` where unflatten hands
    what was flattened to the constructor (`cls(*children)`). equinox, simple_pytree, penzai, nnx and treex rebuild
    instances without running user code.

    ## Fix safety

    `tree_unflatten` is rewritten: it makes the instance with `object.__new__(cls)` and sets its attributes. That is
    done where `tree_flatten` gives all that the constructor sets. `__post_init__` becomes a classmethod `make`, which
    takes the fields, computes and returns an instance, and the module calls that instead of the class. There is no such
    fix where the class has subclasses or classmethods, or another module mentions it. The fixes are unsafe.

    ## When not to use it

    What makes no difference when it is done twice (`jnp.abs`, `jnp.clip`, a division by the norm) is not reported, nor
    is what depends on a function that is not known, or on a test of anything but a static field that the constructor
    leaves alone. If the instances never meet a transformation, not even `jax.tree.map`, the class needs no
    registration.

    ## References

    - [jax #14619](https://github.com/jax-ml/jax/issues/14619)
    - [jax: custom pytrees and initialization](https://docs.jax.dev/en/latest/custom_pytrees.html)
    """

    code = "JAX309"
    name = "repeated-init"
    group = "construction"
    since = "0.1.0"

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the `InitVar`s for which nothing can be passed when an instance is rebuilt."""
        if cls.registered is not True or cls.unknown_decorator:
            return
        own = [f for f in cls.members if f.kind is Kind.INIT_VAR and f.owner == cls.symbol and _is_missing(f, cls)]
        if not own:
            return
        from jaxlint.rules.analyses.under_trace.traced import stays_outside

        if not stays_outside(cls, evaluator):
            yield from (_missing(field, cls) for field in own)

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Try whether a second run of the constructor changes what the first one made."""
        from jaxlint.rules.analyses.rebuilding.construction import rebuilt_by
        from jaxlint.rules.analyses.rebuilding.twice import drifts

        rebuilt = rebuilt_by(code, evaluator)
        if rebuilt is not None:
            for drift in drifts(code, rebuilt, evaluator):
                yield _problem(drift, rebuilt, evaluator)


def _is_missing(field: Field, cls: PytreeClass) -> bool:
    """Whether rebuilding an instance fails because nothing is passed for an `InitVar`."""
    if cls.framework.unflatten is Unflatten.POST_INIT:
        found = cls.method("__post_init__")
        position = [f.name for f in cls.members if f.kind is Kind.INIT_VAR].index(field.name)
        parameters = found[1].parameters[1:] if found is not None else ()
        return position < len(parameters) and parameters[position].default is None
    constructed = cls.is_rebuilt_by_constructor
    return constructed and cls.custom_init() is None and field.has_default is False and not field.opaque


def _missing(field: Field, cls: PytreeClass) -> Problem:
    method = "__post_init__" if cls.framework.unflatten is Unflatten.POST_INIT else "__init__"
    return Problem(
        at=field.at,
        message=(
            f"`{field.name}` of `{cls.name}` is an `InitVar`, and jax rebuilds instances without it: `jax.jit` and"
            f" `jax.tree.map` fail (TypeError in `{method}`); compute with it in a classmethod"
        ),
        reason="an `InitVar` is not stored, so that there is nothing to pass when an instance is put together again",
        help=f"write a classmethod that takes `{field.name}` and returns `cls(...)`",
        subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{field.name}",
    )


def _problem(drift: Drift, rebuilt: Rebuild, evaluator: Evaluator) -> Problem:
    from jaxlint.rules.analyses.fixes.factory import computing_once
    from jaxlint.rules.analyses.fixes.unflattening import past_constructor

    method, cls = rebuilt.function.name, rebuilt.cls
    if drift.parameter is None:
        what = f"changes `{drift.field}` each time it runs, and jax runs it again to rebuild instances"
        outcome = "every `jax.jit` and `jax.tree.map` changes the value once more"
    else:
        what = (
            f"makes `{drift.field}` from `{drift.parameter}`, which is not passed again when jax rebuilds an instance"
        )
        outcome = "every `jax.jit` and `jax.tree.map` makes it from the default"
    custom = cls.framework.unflatten is Unflatten.CUSTOM
    way_out = "unflatten with `object.__new__(cls)`" if custom else "compute it in a classmethod"
    return Problem(
        at=drift.at,
        message=f"`{method}` of `{cls.name}` {what}: {outcome}; {way_out}",
        reason="unflatten passes the values that the constructor has made to the constructor again",
        help=(
            "let `tree_unflatten` make the instance with `object.__new__(cls)` and set its attributes"
            if custom
            else f"write a classmethod that computes `{drift.field}` and returns `cls(...)`"
        ),
        fix=past_constructor(rebuilt.cls) if custom else computing_once(cls, rebuilt.function, evaluator),
        subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{drift.field}",
    )
