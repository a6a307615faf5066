"""JAX305 custom-init."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.finding import Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.made_of_fields import own_init
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.instantiated import is_left_to_subclasses
from jaxlint.rules.analyses.under_trace.traced import is_seen_to_cross
from jaxlint.rules.base import ClassRule, Problem
from jaxlint.symbols.outline import Function, Parameter

#: So many arguments of the call that rebuilds an instance are shown.
_MAX_SHOWN = 3


class CustomInit(ClassRule):
    """
    ## What it does

    Finds classes whose `__init__` cannot be called with their fields, though that is how jax rebuilds their instances.

    ## Why is this bad?

    Every transformation takes an instance apart and puts it together again. Where that is done with
    `Class(field=..., ...)`, the constructor must accept all fields by name and need nothing else. An `__init__`
    with other parameters makes instances that work until the first `jax.jit`, `jax.tree.map` or `replace`.

    ## What you will see

    `TypeError: Affine.__init__() got an unexpected keyword argument 'weight'` or
    `TypeError: Affine.__init__() missing 1 required positional argument: 'size'`, in the first transformation. With
    chex, when an instance is made: `ValueError: __init__() got unexpected kwargs: {'size'}.`

    ## Example

    ```python
    from functools import partial

    import jax
    import jax.numpy as jnp

    @partial(jax.tree_util.register_dataclass, data_fields=["weight"], meta_fields=[])
    class Affine:
        def __init__(self, size: int) -> None:
            self.weight = jnp.ones(size)

    @jax.jit
    def double(affine: Affine) -> Affine:
        return jax.tree.map(lambda leaf: 2 * leaf, affine)
    ```

    ## Use instead

    ```python
    from dataclasses import dataclass

    import jax
    import jax.numpy as jnp

    @jax.tree_util.register_dataclass
    @dataclass
    class Affine:
        weight: jax.Array

        @classmethod
        def create(cls, size: int) -> "Affine":
            return cls(weight=jnp.ones(size))
    ```

    ## Frameworks

    flax.struct, TrainState, register_dataclass, jax_dataclasses, tjax and mjx, which call the constructor with the
    fields. chex does not, but its constructor accepts fields only (unless `mappable_dataclass=False`). equinox,
    simple_pytree, penzai, nnx and treex rebuild instances without the constructor, and
    `register_pytree_node_class` as its `tree_unflatten` says.

    ## Fix safety

    There is no automatic fix yet.

    ## When not to use it

    If the instances never meet a transformation; but then the class needs no registration. Classes that are not seen
    to go into one are reported with low confidence only, unless no instance can be made at all.

    ## References

    - [flax.struct: smart constructors](https://flax.readthedocs.io/en/latest/api_reference/flax.struct.html)
    - [jax: custom pytrees and initialization](https://docs.jax.dev/en/latest/custom_pytrees.html)
    """

    code = "JAX305"
    name = "custom-init"
    group = "construction"
    since = "0.1.0"

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Compare the parameters of `__init__` with what it is called with."""
        is_mapping = cls.is_mapping is True
        rebuilt = cls.is_rebuilt_by_constructor
        init = own_init(cls)
        if not (is_mapping or rebuilt) or cls.registered is not True or cls.unknown_decorator or init is None:
            return
        given = _given(cls)
        if given is None or cls.abstract_methods or _cannot_be_made(cls, init) or is_left_to_subclasses(cls, evaluator):
            return
        parameters = {p.name: p for p in init.parameters[1:] if p.kind in ("positional", "keyword")}
        missing = [name for name in given.names if name not in parameters]
        needless = [p for p in parameters.values() if p.default is None and p.name not in given.names]
        fails = is_mapping or is_seen_to_cross(cls, evaluator)
        confidence = Confidence.HIGH if fails else Confidence.LOW
        if missing and rebuilt and not any(p.kind == "**" for p in init.parameters):
            yield _problem(cls, init, None, f"has no parameter for field `{missing[0]}`", given, confidence)
        elif needless and given.complete:
            what = f"requires `{needless[0].name}`, which is no field"
            yield _problem(cls, init, needless[0], what, given, confidence)


class _Given(msgspec.Struct, frozen=True):
    """The names of the fields that a constructor is given; `complete` if those are all."""

    names: tuple[str, ...]
    complete: bool


def _cannot_be_made(cls: PytreeClass, init: Function) -> bool:
    """Whether the constructor assigns to a frozen `self`, which is said elsewhere: there is nothing to rebuild."""
    return cls.frozen is True and "__init__" not in cls.framework.assignable_in and bool(init.self_assignments)


def _given(cls: PytreeClass) -> _Given | None:
    """What unflatten (or, with chex, the user) can give the constructor; None if that cannot be determined."""
    lists = cls.lists
    if lists is not None and not any(c.params is not None for c in cls.mro):
        return None if lists.data is None or lists.meta is None else _Given((*lists.data, *lists.meta), True)
    if cls.framework.mapping_option:
        return _Given(tuple(f.name for f in cls.fields if f.init), cls.fields_known)
    fields = [f for f in cls.fields if f.role in (Role.LEAF, Role.STATIC)]
    if any(not f.init for f in fields):
        return None  # the class cannot be registered
    known = cls.fields_known and not any(f.role is Role.UNKNOWN for f in cls.fields)
    return _Given(tuple(f.name for f in fields), known)


def _problem(
    cls: PytreeClass, init: Function, parameter: Parameter | None, what: str, given: _Given, confidence: Confidence
) -> Problem:
    declaration = cls.symbol.declaration
    arguments = [f"{name}=..." for name in given.names[:_MAX_SHOWN]]
    arguments += ["..."] if len(given.names) > _MAX_SHOWN else []
    if cls.framework.mapping_option:
        outcome = "chex hands over nothing but fields, so no instance can be made"
    else:
        outcome = (
            f"jax rebuilds instances with `{cls.name}({', '.join(arguments)})`, so jit and tree_map fail (TypeError)"
        )
    at = parameter.at if parameter is not None else init.at
    return Problem(
        at=at if init.owner == declaration.qualname else declaration.name_at,
        message=f"`__init__` of `{cls.name}` {what}: {outcome}; write a classmethod instead",
        reason=(
            "the constructor of a chex dataclass is that of a dict, and refuses other keywords than fields"
            if cls.framework.mapping_option
            else "an instance that a transformation has taken apart is put together with the fields as keywords"
        ),
        confidence=confidence,
        help="keep the generated `__init__`, and write a classmethod that computes the fields and returns `cls(...)`",
    )
