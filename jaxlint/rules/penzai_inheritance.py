"""JAX604 penzai-inheritance."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import Change, Decorate, EditClass, Proposal, Remove, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.reading.creation import creation_error, frozen_conflict
from jaxlint.project.resolution import External
from jaxlint.pytrees.frameworks import DATACLASS, PENZAI
from jaxlint.pytrees.frameworks.penzai import REFUSES
from jaxlint.pytrees.model import PytreeClass, Registration
from jaxlint.rules.analyses.fixes.decorating import give_decorator
from jaxlint.rules.analyses.instances.instantiated import constructing_units, looks_abstract
from jaxlint.rules.base import ClassRule, Problem
from jaxlint.symbols.outline import EXPECTS_ERROR
from jaxlint.syntax.expressions import Subscript

#: What a class without `pz.Struct` must define itself.
_REQUIRED = frozenset({"tree_flatten_with_keys", "tree_unflatten"})
#: What lifts the rule that each class lists all of its fields.
_OPTION = "has_implicitly_inherited_fields"


class PenzaiInheritance(ClassRule):
    """
    ## What it does

    Finds penzai classes that penzai refuses to make: subclasses that do not list the inherited fields again, that
    inherit an `__init__` written by hand, that are decorated with another decorator or with none though instances are
    made, or that have no `pz.Struct` base.

    ## Why is this bad?

    penzai wants every field of a class to be seen in its body, and its own decorator on every class. The module cannot
    be imported, or no instance can be made.

    ## What you will see

    `PyTreeDataclassSafetyError: Scaled has missing or badly-ordered dataclass attributes: the explicit field
    annotations ['scale'] don't match the inferred dataclass fields ['weight', 'scale'].`, `PyTreeDataclassSafetyError:
    @pytree_dataclass decorator for Scaled is about to overwrite an inherited custom __init__`, `AttributeError: Layer
    must define both `tree_flatten_with_keys` and `tree_unflatten``; `TypeError: Can't instantiate abstract Struct
    subclass`, when an instance is made.

    ## Example

    ```python
    import jax
    from penzai import pz

    @pz.pytree_dataclass
    class Layer(pz.Struct):
        weight: jax.Array

    @pz.pytree_dataclass
    class Scaled(Layer):
        scale: jax.Array
    ```

    ## Use instead

    ```python
    import jax
    from penzai import pz

    @pz.pytree_dataclass
    class Layer(pz.Struct):
        weight: jax.Array

    @pz.pytree_dataclass
    class Scaled(Layer):
        weight: jax.Array
        scale: jax.Array
    ```

    ## Frameworks

    penzai only. `has_implicitly_inherited_fields=True` lifts the first rule, and is refused where nothing is inherited;
    `overwrite_parent_init=True` lifts the second.

    ## Fix safety

    `pz.Struct` becomes a base class, `@pz.pytree_dataclass` is added, or takes the place of the decorator of the
    standard library, and `has_implicitly_inherited_fields=True` is passed or removed. These fixes are safe: the class
    could not be used.
    There is none for an inherited `__init__`, and for fields in another order.

    ## When not to use it

    There is no reason: the class or its instances cannot be made.

    ## References

    - [penzai.core.struct](https://penzai.readthedocs.io/en/stable/api/penzai.core.struct.html)
    """

    code = "JAX604"
    name = "penzai-inheritance"
    group = "frameworks"
    since = "0.1.0"

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Compare the class with what penzai wants."""
        if cls.framework is not PENZAI or cls.unknown_decorator or not cls.bases_known:
            return
        standard = next((r for r in cls.made_by if r.framework is DATACLASS and not r.guarded), None)
        if cls.registered and not any(_has_struct(c, evaluator) for c in cls.mro):
            if _REQUIRED.isdisjoint(name for c in cls.mro for name in c.symbol.declaration.methods):
                what = "has no `pz.Struct` among its bases: the class cannot be created (AttributeError)"
                fix = _inheriting(cls, evaluator)
                yield _problem(cls, f"{what}; inherit from it", f"write `class {cls.name}(pz.Struct)`", fix)
        elif cls.registered is False and standard is not None and frozen_conflict(cls, all_bases_count=False) is None:
            what = f"is decorated with `@{standard.name}` and not by penzai: no instance can be made (TypeError)"
            advice = "decorate it with `@pz.pytree_dataclass`"
            yield _problem(cls, f"{what}; {advice}", advice, _decorating(standard, cls, evaluator))
        elif cls.registered is False and _is_left_bare(cls, evaluator):
            what = "is not decorated by penzai: no instance can be made (TypeError)"
            advice = "decorate it with `@pz.pytree_dataclass`"
            yield _problem(cls, f"{what}; {advice}", advice, _decorated(cls, evaluator))
        elif cls.registered:
            error = creation_error(cls, evaluator)
            if error is not None and error.exception == REFUSES:
                yield _refused(cls, error.text)


def _is_left_bare(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a class has fields and no decorator, and instances of it are made; JAX101 looks at its subclasses."""
    declared = cls.symbol.declaration
    if declared.decorators or not declared.fields or looks_abstract(cls):
        return False
    if any(base.symbol.declaration.decorators or base.symbol.declaration.fields for base in cls.mro[1:]):
        return False
    uses = constructing_units(cls, evaluator)
    return bool(uses) and not all(unit.calls & EXPECTS_ERROR for unit in uses)


def _refused(cls: PytreeClass, text: str) -> Problem:
    """What penzai's own check says of the fields and the constructor."""
    fix: Proposal | None = None
    if "__init__" in text:
        what, advice = "inherits an `__init__` that penzai does not overwrite", "write an `__init__` here, too"
    elif "implicitly" in text:
        what = "is given has_implicitly_inherited_fields=True and inherits no field that it does not list"
        advice = "remove the option"
        fix = _option(cls, is_given=True)
    else:
        listed = {d.name for d in cls.symbol.declaration.fields}
        missing = ", ".join(f"`{f.name}`" for f in cls.fields if f.name not in listed)
        what = f"does not list the inherited {missing} again" if missing else "lists its fields in another order"
        advice = "list all fields in their order, or pass has_implicitly_inherited_fields=True"
        fix = _option(cls, is_given=False) if missing else None
    return _problem(cls, f"{what}: the class cannot be created ({REFUSES}); {advice}", advice, fix)


@proposing
def _option(cls: PytreeClass, *, is_given: bool) -> Proposal | None:
    """The fix that takes the option for inherited fields away, or gives it."""
    decorator = next((one for one in cls.registrations if one.framework is PENZAI and not one.is_call), None)
    if decorator is None:
        return None
    if not is_given:
        change: Change = give_decorator(decorator, ((_OPTION, "True"),))
        return Proposal(f"Pass `{_OPTION}=True`", Applicability.SAFE, (change,))
    placed = decorator.options.get(_OPTION)
    if placed is None or placed.module is not cls.module:
        return None
    return Proposal(f"Remove `{_OPTION}`", Applicability.SAFE, (Remove(placed.expr.at),))


@proposing
def _inheriting(cls: PytreeClass, evaluator: Evaluator) -> Proposal | None:
    """The fix that makes the class a `pz.Struct`."""
    written = spelled("penzai.pz.Struct", cls.module, evaluator.model.resolver)
    if written is None:
        return None
    change = EditClass(cls.symbol.declaration.name_at, bases=(written[0],))
    return Proposal("Inherit from `pz.Struct`", Applicability.SAFE, (change,), written[1])


@proposing
def _decorating(standard: Registration, cls: PytreeClass, evaluator: Evaluator) -> Proposal | None:
    """The fix that puts the decorator of penzai in the place of that of the standard library."""
    written = spelled("penzai.pz.pytree_dataclass", cls.module, evaluator.model.resolver)
    if written is None or standard.is_call:
        return None
    change = Rewrite(standard.at, written[0])
    return Proposal("Decorate it with `pz.pytree_dataclass`", Applicability.SAFE, (change,), written[1])


@proposing
def _decorated(cls: PytreeClass, evaluator: Evaluator) -> Proposal | None:
    """The fix that decorates the class."""
    written = spelled("penzai.pz.pytree_dataclass", cls.module, evaluator.model.resolver)
    if written is None:
        return None
    change = Decorate(cls.symbol.declaration.at, (written[0],))
    return Proposal("Decorate it with `pz.pytree_dataclass`", Applicability.SAFE, (change,), written[1])


def _has_struct(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether `pz.Struct` is among the bases that are written."""
    for argument in cls.symbol.declaration.bases:
        expr = argument.value.value if isinstance(argument.value, Subscript) else argument.value
        symbol = evaluator.model.resolver.resolve(expr, cls.module, cls.symbol.declaration.scope)
        if argument.keyword is None and isinstance(symbol, External) and symbol.name in PENZAI.bases:
            return True
    return False


def _problem(cls: PytreeClass, what: str, advice: str, fix: Proposal | None) -> Problem:
    return Problem(
        at=cls.symbol.declaration.name_at,
        message=f"`{cls.name}` {what}",
        reason="penzai checks each class when it is decorated, and each `Struct` when an instance is made",
        help=advice,
        fix=fix,
    )
