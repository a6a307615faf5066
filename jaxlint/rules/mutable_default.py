"""JAX301 mutable-default."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import Proposal
from jaxlint.finding import Applicability, Confidence, Severity
from jaxlint.infer.calls.transformed_classes import instances_in
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.defaults import REFUSED_EVERYWHERE, mutable_kind
from jaxlint.infer.known.values import plain
from jaxlint.pytrees.frameworks.plain import UNHASHABLE_REFUSED
from jaxlint.pytrees.model import Field, Kind, PytreeClass
from jaxlint.rules.analyses.fields.linen_fields import own_defaults
from jaxlint.rules.analyses.fixes.defaults import made_anew, made_anew_in_module
from jaxlint.rules.analyses.under_trace.traced import is_array_field
from jaxlint.rules.base import ClassRule, Problem

#: How deep arrays are looked for in instances that instances hold.
_MAX_DEPTH = 2


class MutableDefault(ClassRule):
    """
    ## What it does

    Finds fields whose default value is mutable: a list, dict or set, a jax or numpy array, a PRNG key,
    or an instance of a class that cannot be hashed.

    ## Why is this bad?

    A dataclass evaluates a default once. The dataclass machinery refuses lists, dicts and sets, and since
    Python 3.11 everything that cannot be hashed, which includes arrays: the module cannot even be imported.
    On Python 3.10 arrays are accepted and shared by all instances. Where it is known on which Python the code runs
    (`target-version`), the rule says what holds there.

    ## What you will see

    `ValueError: mutable default <class 'jaxlib._jax.ArrayImpl'> for field best_return is not allowed: use
    default_factory`, when the class is created.

    ## Example

    ```python
    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class SearchState:
        population: jax.Array
        best_return: jax.Array = jnp.full((), -jnp.inf)
    ```

    ## Use instead

    ```python
    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class SearchState:
        population: jax.Array
        best_return: jax.Array = struct.field(default_factory=lambda: jnp.full((), -jnp.inf))
    ```

    ## Frameworks

    All that build on dataclasses: flax.struct, register_dataclass, jax_dataclasses, chex, tjax, equinox, mjx,
    simple_pytree, penzai and nnx (with their dataclass decorators). A `NamedTuple` accepts the default and shares
    it between all instances; lists, dicts and sets are reported there too, with medium confidence if the module
    changes in place what an attribute of that name holds, else with low confidence.
    So are arrays where only Python 3.10 is targeted, which accepts them. A module of flax.linen is no pytree, and a
    dataclass all the same: what it refuses is reported, too. `np.float32(0)`, tuples and frozen instances
    can be hashed and are no findings.

    ## Fix safety

    The default becomes a `default_factory`. The fix is safe: the class cannot be created as it is. Where Python 3.10
    accepts it, each instance has a default of its own then.

    ## When not to use it

    If the project runs on Python 3.10 only and never changes the shared default in place.

    ## References

    - [dataclasses: mutable default values](https://docs.python.org/3/library/dataclasses.html#mutable-default-values)
    - [gymnax #50](https://github.com/RobertTLange/gymnax/issues/50)
    """

    code = "JAX301"
    name = "mutable-default"
    group = "construction"
    since = "0.1.0"
    all_classes = True

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the defaults of the class's own fields."""
        if not cls.is_pytree:
            yield from _of_modules(cls, evaluator)
            return
        if not cls.is_dataclass or cls.unknown_decorator:
            return  # a decorator may have replaced the defaults before the dataclass machinery sees them
        for field in cls.members:
            if field.kind is not Kind.FIELD or field.owner != cls.symbol or field.default is None:
                continue
            value = plain(evaluator.static(field.default))
            kind = mutable_kind(value)
            if kind is None:
                continue
            if cls.framework.is_tuple:
                if kind[0] in REFUSED_EVERYWHERE and _holds_arrays(cls, evaluator):
                    yield self._shared(cls, field, kind[1])
                continue
            if kind[0] not in REFUSED_EVERYWHERE and evaluator.model.target.holds(UNHASHABLE_REFUSED) is False:
                yield _accepted(cls, field, kind, *made_anew(cls, field, Applicability.SAFE, evaluator))
                continue
            at = field.default.expr.at if field.default.module is cls.module else field.at
            advice, fix = made_anew(cls, field, Applicability.SAFE, evaluator)
            yield _refused(at, cls, field.name, kind, evaluator, help=advice, fix=fix)

    def _shared(self, cls: PytreeClass, field: Field, kind: str) -> Problem:
        return Problem(
            at=field.default.expr.at if field.default is not None else field.at,
            message=(
                f"default of field `{field.name}` of `{cls.name}` is {kind} that all instances share:"
                " a change through one is seen by all; pass a new one to each instance"
            ),
            reason="a NamedTuple evaluates its defaults once and never copies them",
            help=f"make `{field.name}` a required field, or use an immutable default",
            confidence=Confidence.MEDIUM if _is_changed(field, cls) else Confidence.LOW,
            severity=Severity.WARNING,
        )


def _refused(
    at: object,
    cls: PytreeClass,
    name: str,
    kind: tuple[str, str, str],
    evaluator: Evaluator,
    *,
    help: str,
    fix: Proposal | None,
) -> Problem:
    """The problem of a default with which the class cannot be created."""
    everywhere = kind[0] in REFUSED_EVERYWHERE or evaluator.model.target.holds(UNHASHABLE_REFUSED) is True
    when = "the class cannot be created" + ("" if everywhere else f" {UNHASHABLE_REFUSED.when}")
    return Problem(
        at=at,
        message=f"default of field `{name}` of `{cls.name}` is {kind[1]}: {when} (ValueError); use default_factory",
        reason=(
            f"`ValueError: mutable default <class '{kind[2]}'> for field {name} is not allowed: use"
            " default_factory` is raised when the class is created"
            + ("" if everywhere else "; Python 3.10 accepts it and shares it between all instances")
        ),
        help=help,
        fix=fix,
    )


def _of_modules(cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
    """The defaults of a module of flax.linen: it is no pytree, but a dataclass all the same."""
    if cls.symbol.declaration.decorators:
        return  # it may be another class then
    for field, default in own_defaults(cls, evaluator):
        kind = mutable_kind(plain(evaluator.static(default)))
        accepted = evaluator.model.target.holds(UNHASHABLE_REFUSED) is False
        if kind is not None and (kind[0] in REFUSED_EVERYWHERE or not accepted):
            advice, fix = made_anew_in_module(cls, field, default, evaluator)
            yield _refused(default.expr.at, cls, field.name, kind, evaluator, help=advice, fix=fix)


def _is_changed(field: Field, cls: PytreeClass) -> bool:
    """Whether the module of the class changes in place what an attribute of the field's name holds."""
    return cls.module.outline.changes_given(field.name)


def _accepted(cls: PytreeClass, field: Field, kind: tuple[str, str, str], advice: str, fix: Proposal | None) -> Problem:
    """What there is to say of a default that the targeted Python still accepts."""
    assert field.default is not None
    is_constant = kind[1] == "a jax array"
    is_changed = not is_constant and _is_changed(field, cls)
    harm = f"refused {UNHASHABLE_REFUSED.when} (ValueError)" if is_constant else "a change through one is seen by all"
    return Problem(
        at=field.default.expr.at if field.default.module is cls.module else field.at,
        message=(
            f"default of field `{field.name}` of `{cls.name}` is {kind[1]} that all instances share: {harm};"
            " use default_factory"
        ),
        reason="Python 3.10 evaluates the default once and hands the same object to every instance",
        help=advice,
        fix=fix,
        confidence=Confidence.MEDIUM if is_changed else Confidence.LOW,
        severity=Severity.WARNING,
    )


def _holds_arrays(cls: PytreeClass, evaluator: Evaluator, depth: int = 0) -> bool:
    """Whether instances hold arrays, or instances that do."""
    if any(is_array_field(field, cls, evaluator) for field in cls.fields):
        return True
    held = (evaluator.promises.field(f, cls) for f in cls.fields if f.annotation is not None and depth < _MAX_DEPTH)
    return any(_holds_arrays(inner, evaluator, depth + 1) for value in held for inner in instances_in(value))
