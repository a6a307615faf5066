"""JAX102 decorator-order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from jaxlint.cst.changes import MoveDecorator, Proposal, Remove
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability, Severity
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.libraries.transforms import REFUSING_WRAPPED
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.registration import registration_clash
from jaxlint.pytrees.remaking import Outcome, Remake, remakes
from jaxlint.rules.analyses.instances.methods import own_methods
from jaxlint.rules.base import ClassRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Expr

#: What makes something else of a function than a function, by its full name.
_WRAPPERS = {f"builtins.{name}": name for name in ("staticmethod", "classmethod", "property")}


class DecoratorOrder(ClassRule):
    """
    ## What it does

    Finds `@dataclass` where a framework makes the class a dataclass itself, `@dataclass` above
    `@register_dataclass`, which wants it below, and `@dataclass(slots=True)` above any decorator that registers the
    class (it returns another class); and methods on which `@jax.jit`, or another transformation, stands above
    `@staticmethod`, `@classmethod` or `@property`.

    ## Why is this bad?

    The dataclass machinery runs twice. The second run finds the `__init__` of the first one and keeps it, freezes what
    is frozen already, or returns another class than the one that is registered. What comes of it depends on the order,
    the framework and the options; at best it is nothing. What `@staticmethod` and its kind return is no function that
    jax could transform.

    ## What you will see

    `TypeError: register_dataclass: data_fields and meta_fields are required when nodetype is not a dataclass`,
    `TypeError: Cannot overwrite attribute __setattr__ in class Body` or
    `TypeError: staticmethod arguments are not supported`, when the class is created;
    `dataclasses.FrozenInstanceError: cannot assign to field 'mass'`, whenever an instance is made. Nothing where the
    result is no pytree any more (`slots=True`), or where `==` of an equinox module compares arrays as truth values.

    ## Example

    ```python
    from dataclasses import dataclass

    import jax
    from flax import struct

    @struct.dataclass
    @dataclass
    class Body:
        mass: jax.Array
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Body:
        mass: jax.Array
    ```

    ## Frameworks

    flax.struct, jax_dataclasses, tjax, chex, mjx, equinox and penzai make dataclasses and need no `@dataclass`.
    `jax.tree_util.register_dataclass` needs one, below it. `register_pytree_node_class` and
    `register_pytree_with_keys_class` may have one on either side, but with `slots=True` it has to be below.
    simple_pytree and nnx need one, too, and treex may have one: nothing is reported there. The methods may be those of
    any class.

    ## Fix safety

    The decorator goes, or goes below the other one. The fix is safe where the class or its instances could not be made
    and the decorator has no options, and unsafe otherwise. There is none for a classmethod, whose class has to be
    static, nor for a property of a class that is no pytree.

    ## When not to use it

    A `@dataclass` that does nothing is a matter of taste, and shown as information.

    ## References

    - [jax.tree_util.register_dataclass](https://docs.jax.dev/en/latest/_autosummary/jax.tree_util.register_dataclass.html)
    - [flax.struct](https://flax.readthedocs.io/en/latest/api_reference/flax.struct.html)
    """

    code = "JAX102"
    name = "decorator-order"
    group = "declaring"
    since = "0.1.0"
    all_classes = True

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the standard `@dataclass` beside what a framework does, and at the decorators of methods."""
        yield from _on_methods(cls, evaluator)
        if not cls.is_pytree:
            return
        clash = registration_clash(cls, evaluator.model.target)
        if not cls.unknown_decorator and clash is None:  # else JAX103 tells which one to remove
            for remake in remakes(cls, evaluator.model.target):
                yield _problem(cls, remake)


def _on_methods(cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
    """The methods that a decorator has turned into something else before a transformation gets them."""
    resolver, callees = evaluator.model.resolver, evaluator.model.callees
    for method in own_methods(cls):
        for upper, lower in pairwise(method.decorators):
            wrapper = _WRAPPERS.get(resolver.library_name(lower, cls.module, method.scope))
            applied = None if wrapper is None else callees.of_decorator(upper, cls.module, method.scope)
            if wrapper is not None and applied is not None and applied.name in REFUSING_WRAPPED:
                yield _refused(cls, method, (upper, applied.name), (lower, wrapper))


def _refused(cls: PytreeClass, method: Function, upper: tuple[Expr, str], lower: tuple[Expr, str]) -> Problem:
    (at, transformation), (below, wrapper) = upper, lower
    way_out = f"put it below `@{wrapper}`"
    if wrapper == "classmethod":
        way_out += ", with the class as a static argument"
    can_move = wrapper == "staticmethod" or (wrapper == "property" and cls.is_pytree)
    change = MoveDecorator(at.at, below.at)
    return Problem(
        at=at.at,
        message=(
            f"`{transformation}` stands above `@{wrapper}` on `{method.name}` of `{cls.name}`, and is given no"
            f" function: the class cannot be created (TypeError); {way_out}"
        ),
        reason=f"what `{wrapper}` returns is turned into a function only when it is read from the class",
        help=way_out,
        fix=Proposal(f"Put it below `@{wrapper}`", Applicability.SAFE, (change,)) if can_move else None,
    )


def _problem(cls: PytreeClass, remake: Remake) -> Problem:
    other = remake.other
    by = f"`@{other.name}`" if other is not None else cls.framework.title
    above = other is not None and remake.standard.at.row < other.at.row
    place = "on" if other is None else "above" if above else "below"
    consequence, reason, severity = _consequence(cls, remake)
    swap = "are required" in remake.text or (remake.outcome is Outcome.UNREGISTERED and "register" in by)
    way_out = "put it below" if swap else "remove it"
    subject = f"`{cls.name}`" if other is None else by
    start = f"`@{remake.standard.name}` stands {place} {subject}"
    if other is None:
        start += f", which {cls.framework.title} has made a dataclass already"
    else:
        start += f" of `{cls.name}`"
    return Problem(
        at=remake.standard.at,
        message=f"{start}: {consequence}; {way_out}",
        reason=reason,
        help=f"put `@{remake.standard.name}` below {by}" if swap else f"remove `@{remake.standard.name}`",
        severity=severity,
        fix=_fix(remake, swap=swap),
    )


@proposing
def _fix(remake: Remake, *, swap: bool) -> Proposal | None:
    """The fix: the decorator goes, or goes below the other one."""
    name, at = remake.standard.name, remake.standard.at
    keeps_all = remake.outcome in (Outcome.NO_CLASS, Outcome.NO_INSTANCE, Outcome.NOTHING)
    if swap and remake.other is not None:
        level = Applicability.SAFE if keeps_all else Applicability.UNSAFE
        return Proposal(f"Put `@{name}` below `@{remake.other.name}`", level, (MoveDecorator(at, remake.other.at),))
    level = Applicability.SAFE if keeps_all and not remake.standard.options else Applicability.UNSAFE
    return Proposal(f"Remove `@{name}`", level, (Remove(at),))


def _consequence(cls: PytreeClass, remake: Remake) -> tuple[str, str, Severity]:
    """What happens, why, and how bad that is."""
    match remake.outcome:
        case Outcome.NO_CLASS:
            reason = f"`{remake.exception}: {remake.text} …` is raised when the class is created"
            return f"the class cannot be created ({remake.exception})", reason, Severity.ERROR
        case Outcome.NO_INSTANCE:
            reason = "the `__init__` of the first dataclass is kept, and assigns; the second one refuses assignment"
            return "no instance can be made (FrozenInstanceError)", reason, Severity.ERROR
        case Outcome.UNREGISTERED:
            reason = "`slots=True` returns a new class, and it is the old one that is registered"
            return "the class that `slots=True` returns is no pytree, but one opaque leaf", reason, Severity.ERROR
        case Outcome.LEAFLESS:
            reason = "equinox flattens what is in the `__dict__` of an instance, where slots are not"
            return "slots are not flattened, and instances have no leaves", reason, Severity.ERROR
        case Outcome.OTHER_EQUALITY:
            reason = "`@dataclass` compares fields as a tuple, so that `==` asks arrays for their truth (ValueError)"
            return "it replaces `==` and `hash` of the module by ones that fail on arrays", reason, Severity.WARNING
    return "it does nothing", "the framework runs the dataclass machinery itself", Severity.INFO
