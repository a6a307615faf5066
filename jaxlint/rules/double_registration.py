"""JAX103 double-registration."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import Proposal, Remove
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability, Confidence, Severity
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.pytrees.frameworks import BY_DECORATOR
from jaxlint.pytrees.model import PytreeClass, Registration
from jaxlint.pytrees.registration import Clash, registration_clash
from jaxlint.pytrees.registrations import REGISTERING
from jaxlint.rules.analyses.instances.registering import (
    always_called,
    classes_of_function,
    imported_classes,
    may_be_overtaken,
)
from jaxlint.rules.base import BodyRule, ClassRule, Problem
from jaxlint.syntax.expressions import Argument, Attribute, Call, Name

#: The methods that run for each instance that is made.
_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__"})


class DoubleRegistration(ClassRule, BodyRule):
    """
    ## What it does

    Finds classes that are registered as a pytree twice: by two decorators, by a decorator on a subclass of a class that
    registers its subclasses, or by a call after the class statement, which may stand in another module or in a
    function, or by its own constructor, for each instance.

    ## Why is this bad?

    JAX knows one way to flatten a class. The second registration is refused, and the module cannot be imported, or the
    second instance cannot be made.

    ## What you will see

    `ValueError: Duplicate custom dataclass PyTreeDef type registration for <class 'Track'>.` or `ValueError: Duplicate
    custom PyTreeDef type registration for <class 'Track'>.`; from decorators that make a frozen dataclass once more
    `TypeError: Cannot overwrite attribute __setattr__ in class Track` or `TypeError: cannot inherit frozen dataclass
    from a non-frozen one`; from chex `TypeError: duplicate base class Mapping`.

    ## Example

    ```python
    import jax
    from flax import struct

    @jax.tree_util.register_dataclass
    @struct.dataclass
    class Track:
        hits: jax.Array
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Track:
        hits: jax.Array
    ```

    ## Frameworks

    All but NamedTuple, whose own way of flattening may be replaced. `@struct.dataclass` on a PyTreeNode, a TrainState
    or a class that it has decorated already does nothing; its options are ignored then, which is a warning.
    `@chex.dataclass` above another decorator makes a class of its own, and is no finding.

    ## Fix safety

    The second registration is removed, or the first one if only the second one makes a dataclass. The fix is safe if
    both do the same, or if the base class has registered the class, and unsafe otherwise: which of them is meant is a
    guess. A decorator whose options are ignored is removed; that is unsafe, as the options may have been meant.

    ## When not to use it

    Calls under `if`, `try` or `with suppress(...)` are left alone: they may be there for that error.

    ## References

    - [jax.tree_util.register_dataclass](https://docs.jax.dev/en/latest/_autosummary/jax.tree_util.register_dataclass.html)
    """

    code = "JAX103"
    name = "double-registration"
    group = "declaring"
    since = "0.1.0"
    calls = REGISTERING

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what registers classes that are imported, and at constructors that register their own."""
        owner = code.place.owner
        if owner is not None and _is_constructor(code):
            for call in always_called(code):
                if _registers_own(call, owner, code, evaluator):
                    yield _at_each_instance(call, owner)
            return
        in_function = classes_of_function(code, evaluator, always=True)
        for cls in (*imported_classes(code, evaluator), *in_function):
            clash = registration_clash(cls, evaluator.model.target)
            if clash is not None and clash.second.elsewhere is not None and not _is_same_call(clash):
                yield _refused(cls, clash, None if code.function is None else Confidence.MEDIUM)

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what registers the class, in the order in which it happens."""
        clash = registration_clash(cls, evaluator.model.target)
        if clash is not None and not may_be_overtaken(cls, evaluator):
            yield _refused(cls, clash)
            return
        for registration in cls.registrations:
            if registration.ignored and registration.options and not registration.guarded:
                yield _ignored(cls, registration)


def _is_constructor(code: CodeRead) -> bool:
    """Whether a function is a method that runs for each instance that is made."""
    return code.place.method is not None and code.place.method is code.function and code.function.name in _CONSTRUCTORS


def _is_same_call(clash: Clash) -> bool:
    """Whether what has registered the class is the call itself, which the module runs."""
    first, second = clash.first, clash.second
    return first is not None and first.is_call and first.at == second.at


def _registers_own(call: Call, owner: PytreeClass, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a call registers the class in whose constructor it stands."""
    resolver, module = evaluator.model.resolver, code.place.module
    name = resolver.library_name(call.func, module, code.scope)
    if not name.startswith("jax.tree_util.") or name not in BY_DECORATOR or not call.positional:
        return False
    given, method = call.positional[0], code.place.method
    own = None if method is None else method.self_name
    match given:
        case Call(func=Name(id="type"), args=(Argument(value=Name(id=of)),)):
            return of == own
        case Attribute(value=Name(id=of), attr="__class__"):
            return of == own
    return resolver.resolve(given, module, code.scope) == owner.symbol


def _at_each_instance(call: Call, cls: PytreeClass) -> Problem:
    return Problem(
        at=call.at,
        confidence=Confidence.MEDIUM,
        message=(
            f"the constructor of `{cls.name}` registers it each time: the second instance raises ValueError; register"
            " it once, behind the class"
        ),
        reason="a class is registered once: the next registration is refused",
        help="move the registration behind the class statement",
    )


def _refused(cls: PytreeClass, clash: Clash, confidence: Confidence | None = None) -> Problem:
    first, second = clash.first, clash.second
    error = clash.exception or "TypeError or ValueError"
    if first is None:
        before = f"is registered by its base class {cls.framework.title} already"
    elif first.name == second.name:
        before = "is registered already"
    else:
        before = f"is registered by `{first.name}` already"
    # chex registers what is run as a script when the first instance is made, and minds no other registration then
    when = " as soon as the module is imported" if first is not None and first.framework.registers_late else ""
    return Problem(
        at=second.at,
        confidence=confidence,
        message=f"`{cls.name}` {before}: `{_written(second)}` raises {error}{when}; remove {_one(first)}",
        reason=(
            f"`{error}: {clash.text} …` is raised: a class is registered once"
            if clash.text
            else "a class is registered once: the next registration is refused"
        ),
        help=_advice(cls, clash),
        fix=_removal(clash),
    )


def _advice(cls: PytreeClass, clash: Clash) -> str:
    first, second = clash.first, clash.second
    if second.elsewhere is not None:
        return f"drop `{_written(second)}`"
    if first is not None and first.at == second.at:
        return f"let `{first.name}` register `{cls.name}` once: take one of the two decorators or calls out of it"
    return f"drop `{_written(second)}`" + (f", or `{_written(first)}`" if first is not None else "")


@proposing
def _removal(clash: Clash) -> Proposal | None:
    """The fix: the second registration goes, or the first one if the second one is what makes a dataclass."""
    first, second = clash.first, clash.second
    if second.elsewhere is not None:
        return None if second.in_loop else Proposal(_title(second), Applicability.SAFE, (Remove(second.at),))
    if first is not None and first.at == second.at:
        return None  # a decorator of the project does both
    if second.in_loop:
        if first is None or first.in_loop or first.function != second.function:
            return None
        return Proposal(_title(first), Applicability.SAFE, (Remove(first.at),))
    is_sure = first is None or first.function == second.function
    gone = second
    if first is not None and second.framework.makes_dataclass and not first.framework.makes_dataclass:
        gone = first
    level = Applicability.SAFE if is_sure else Applicability.UNSAFE
    return Proposal(_title(gone), level, (Remove(gone.at),))


def _title(gone: Registration) -> str:
    return f"Remove `{_written(gone)}`"


def _ignored(cls: PytreeClass, registration: Registration) -> Problem:
    options = ", ".join(f"`{name}`" for name in registration.options)
    plural = len(registration.options) > 1
    by_base = cls.framework.class_keywords is not None
    place = "the class keywords" if by_base else "the decorator that is applied first"
    return Problem(
        at=registration.at,
        message=(
            f"`{cls.name}` is a pytree dataclass already: `@{registration.name}` returns it as it is and ignores"
            f" {options}; give {'them' if plural else 'it'} as {'class keywords' if by_base else 'options once'}"
        ),
        reason="flax makes a dataclass of a class once; a second decorator has no effect, and says nothing",
        help=f"move {options} to {place} and remove `@{registration.name}`",
        severity=Severity.WARNING,
        fix=Proposal(f"Remove `@{registration.name}`", Applicability.UNSAFE, (Remove(registration.at),)),
    )


def _written(registration: Registration) -> str:
    return f"{registration.name}(...)" if registration.is_call else f"@{registration.name}"


def _one(first: Registration | None) -> str:
    return "it" if first is None else "one of the two"
