"""JAX105 register-dataclass-form."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import NeededImport, Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability, Severity
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.resolution import Resolver
from jaxlint.pytrees.frameworks.jax_register import MISSING_FUNCTION, READS_FIELDS
from jaxlint.pytrees.model import PytreeClass, Registration
from jaxlint.pytrees.registration import lists_nothing
from jaxlint.rules.base import ClassRule, Problem
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Call, Expr, dotted
from jaxlint.syntax.statements import parts

#: What `register_dataclass` takes besides the class, in this order.
_LISTS = ("data_fields", "meta_fields", "drop_fields")


class RegisterDataclassForm(ClassRule):
    """
    ## What it does

    Finds `register_dataclass` in a form that does not exist: called with options for a decorator, as in
    `@register_dataclass(data_fields=..., meta_fields=...)` and `@register_dataclass()`, taken from `jax.tree`, or
    without lists of fields where the code also runs with a jax before 0.4.36 (see `target-jax`).

    ## Why is this bad?

    The function takes the class as its first argument and returns it; it never makes a decorator. It is in
    `jax.tree_util`, and not among the short names of `jax.tree`. The module cannot be imported.

    ## What you will see

    `TypeError: register_dataclass() missing 1 required positional argument: 'nodetype'`, or `AttributeError: module
    'jax.tree' has no attribute 'register_dataclass'` (`ImportError: cannot import name 'register_dataclass' from
    'jax.tree'`).

    ## Example

    ```python
    from dataclasses import dataclass
    import jax
    from jax.tree_util import register_dataclass

    @register_dataclass(data_fields=["weights"], meta_fields=["depth"])
    @dataclass
    class Tree:
        weights: jax.Array
        depth: int
    ```

    ## Use instead

    ```python
    from dataclasses import dataclass
    from functools import partial
    import jax
    from jax.tree_util import register_dataclass

    @partial(register_dataclass, data_fields=["weights"], meta_fields=["depth"])
    @dataclass
    class Tree:
        weights: jax.Array
        depth: int
    ```

    ## Frameworks

    jax only.

    ## Fix safety

    `functools.partial` is put around, the parentheses go, the class is given, or the function is taken from
    `jax.tree_util`. The fixes are safe: the line could only raise.

    ## When not to use it

    A name that is imported in different ways under `try` or `if` is left alone.

    ## References

    - [jax.tree_util.register_dataclass](https://docs.jax.dev/en/latest/_autosummary/jax.tree_util.register_dataclass.html)
    """

    code = "JAX105"
    name = "register-dataclass-form"
    group = "declaring"
    since = "0.1.0"

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the form of each registration."""
        for registration in cls.registrations:
            if registration.guarded or _is_imported_with_care(cls, registration):
                continue
            if registration.function == MISSING_FUNCTION:
                yield _missing(cls, registration, evaluator.model.resolver)
            elif registration.is_factory:
                yield _factory(cls, registration, evaluator.model.resolver)
            elif lists_nothing(registration) and not (holds := evaluator.model.target.holds(READS_FIELDS)):
                yield _too_old(cls, registration, Severity.ERROR if holds is False else Severity.WARNING)


def _missing(cls: PytreeClass, registration: Registration, resolver: Resolver) -> Problem:
    error = "AttributeError" if "." in registration.name else "ImportError"
    return Problem(
        at=registration.at,
        message=(
            f"`{cls.name}` cannot be registered by `{registration.name}`: `jax.tree` has no `register_dataclass`"
            f" ({error}); take it from `jax.tree_util`"
        ),
        reason="`register_dataclass` is in `jax.tree_util` only, in all versions of jax",
        help="write `jax.tree_util.register_dataclass`",
        fix=_from_tree_util(cls, registration, resolver),
    )


def _too_old(cls: PytreeClass, registration: Registration, severity: Severity) -> Problem:
    return Problem(
        at=registration.at,
        message=(
            f"`{registration.name}` does not read the fields of `{cls.name}` itself {READS_FIELDS.before}: it raises"
            " TypeError; list them in data_fields and meta_fields"
        ),
        reason=f"`{READS_FIELDS.otherwise[0]}` is raised {READS_FIELDS.before}, and such a jax is targeted",
        severity=severity,
        help=f"write `@functools.partial({registration.name}, data_fields=[...], meta_fields=[...])`",
    )


def _factory(cls: PytreeClass, registration: Registration, resolver: Resolver) -> Problem:
    name = registration.name
    if registration.is_call:
        way_out, advice = "give it the class", f"write `{name}({cls.name}, ...)`"
    elif registration.has_lists:
        way_out, advice = f"write `@partial({name}, ...)`", f"write `@functools.partial({name}, ...)`"
    else:
        way_out, advice = "drop the parentheses", f"write `@{name}`"
    return Problem(
        at=registration.at,
        message=(f"`{name}` makes no decorator: called without the class `{cls.name}` it raises TypeError; {way_out}"),
        reason="`register_dataclass` takes the class as its first argument and returns it, whatever else it is given",
        help=advice,
        fix=_with_class(cls, registration, resolver),
    )


def _written_at(cls: PytreeClass, registration: Registration) -> Expr | None:
    """The decorator, or the call, of a registration."""
    places = (*cls.symbol.declaration.decorators, *cls.module.outline.module_calls)
    return next((one for one in places if place_of(one.at) == place_of(registration.at)), None)


@proposing
def _from_tree_util(cls: PytreeClass, registration: Registration, resolver: Resolver) -> Proposal | None:
    """The fix that takes the function from where it is."""
    written = spelled("jax.tree_util.register_dataclass", cls.module, resolver)
    expr = _written_at(cls, registration)
    if written is None or expr is None or "." not in registration.name:
        return None
    named = next((part for part in parts(expr) if dotted(part) == registration.name), None)
    if named is None:
        return None
    return Proposal(f"Write `{written[0]}`", Applicability.SAFE, (Rewrite(named.at, written[0]),), written[1])


@proposing
def _with_class(cls: PytreeClass, registration: Registration, resolver: Resolver) -> Proposal | None:
    """The fix of a call without the class: the class is given, or `partial` waits for it."""
    expr = _written_at(cls, registration)
    call = expr.func if isinstance(expr, Call) and registration.is_call else expr
    if not isinstance(call, Call) or expr is None or call.has_star:
        return None
    names = [argument.keyword or name for argument, name in zip(call.args, _LISTS, strict=False)]
    if "drop_fields" in names and not {"data_fields", "meta_fields"} <= set(names):
        return None  # the lists are to be completed first
    given = [f"{name}={{{number}}}" for number, name in enumerate(names, 1)]
    inside = (call.func.at, *(argument.value.at for argument in call.args))
    imports: tuple[NeededImport, ...] = ()
    if registration.is_call:
        template = f"{{0}}({', '.join([cls.name, *given])})"
    elif registration.has_lists:
        written = spelled("functools.partial", cls.module, resolver)
        if written is None:
            return None
        template, imports = f"{written[0]}({', '.join(['{0}', *given])})", written[1]
    else:
        template = "{0}"
    change = Rewrite(expr.at, template, inside)
    return Proposal("Give it the class", Applicability.SAFE, (change,), imports)


def _is_imported_with_care(cls: PytreeClass, registration: Registration) -> bool:
    """Whether the name that is used is bound under `try` or `if`."""
    root = registration.name.partition(".")[0]
    bindings = cls.module.outline.module_scope.bindings.get(root, [])
    return any(b.guard for b in bindings)
