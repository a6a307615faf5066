"""JAX314 uninitialised-field."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import BeginBody, Proposal
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, CodeRead
from jaxlint.pytrees.frameworks.equinox import RAISES_TYPE_ERROR, REFUSES_AS_FROZEN
from jaxlint.pytrees.model import Field, Kind, PytreeClass
from jaxlint.rules.analyses.fixes.new_fields import declaring
from jaxlint.rules.analyses.rebuilding.attributes_set import Ways, escapes, sees_all
from jaxlint.rules.base import BodyRule, ClassRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Constant
from jaxlint.syntax.statements import Do, Statement

#: Where so many statements set an attribute, the branches that they stand on may belong together.
_MANY = 2


class UninitialisedField(ClassRule, BodyRule):
    """
    ## What it does

    Finds fields of equinox and penzai classes that a handwritten `__init__` leaves unset: at all, on one branch of an
    `if`, because it does not call that of the base class, or because a subclass has fields that the inherited
    `__init__` does not know; also attributes of equinox modules that it sets though they are no fields.

    ## Why is this bad?

    A class that writes its own `__init__` sets all fields itself. equinox and penzai look whether it did once it has
    returned, and refuse the instance.

    ## What you will see

    `TypeError: Field 'bias' was not initialized.` with equinox, `AttributeError: A value for field "bias" was not set
    during __init__!` with penzai, when an instance is made. For what is no field, `FrozenInstanceError: cannot assign
    to field 'scale'`.

    ## Example

    ```python
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    class Linear(eqx.Module):
        weight: jax.Array
        bias: jax.Array

        def __init__(self, size: int) -> None:
            self.weight = jnp.ones((size, size))
    ```

    ## Use instead

    ```python
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    class Linear(eqx.Module):
        weight: jax.Array
        bias: jax.Array

        def __init__(self, size: int) -> None:
            self.weight = jnp.ones((size, size))
            self.bias = jnp.zeros(size)
    ```

    ## Frameworks

    equinox and penzai. Other frameworks say nothing when an instance is made; there the attribute is missing when it is
    read or flattened, and nothing is reported.

    ## Fix safety

    A fix that declares what `__init__` sets is shown, and not applied; so is one that begins with None in what it
    forgets, for something else may be meant to be there.

    ## When not to use it

    A class whose subclasses set the rest is left alone, and so is an `__init__` that hands `self` to a function or sets
    attributes by name, as what it sets cannot be seen. The methods of the class that it calls are followed, and
    `super().__init__` where that only assigns attributes.

    ## References

    - [equinox.Module](https://docs.kidger.site/equinox/api/module/module/)
    - [equinox #95](https://github.com/patrick-kidger/equinox/issues/95)
    """

    code = "JAX314"
    name = "uninitialised-field"
    group = "construction"
    since = "0.1.0"

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Constructors that leave all to others, or forget it; those that assign to `self` are read anyway."""
        inits = [f for f in candidate.functions if f.name == "__init__" and not f.self_assignments]
        return any(f.owner is not None and _has_checked_fields(candidate.cls(f.owner)) for f in inits)

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the fields that a subclass adds to a base class with a handwritten `__init__`."""
        declaration = cls.symbol.declaration
        if not _is_checked(cls) or not cls.framework.checks_fields or not declaration.fields or cls.generated_init:
            return
        if {"__init__", "__post_init__"} & set(declaration.methods) or evaluator.model.subclasses(cls):
            return
        found = cls.method("__init__")
        if found is None or found[0] is cls or not found[0].bases_known:
            return
        base, init = found
        if not sees_all(init, base):
            return
        assigned = {a.attr for a in init.self_assignments}
        for field in _required(cls):
            if field.owner == cls.symbol and field.name not in assigned:
                yield Problem(
                    at=field.at,
                    message=(
                        f"field `{field.name}` of `{cls.name}` is never set: the `__init__` that is inherited from"
                        f" `{base.name}` does not know it ({_error(cls, evaluator)}); write an `__init__` here, too"
                    ),
                    reason="a module that inherits a handwritten `__init__` is given no other",
                    help="write an `__init__` that calls `super().__init__` and sets the fields that are added",
                )

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a handwritten `__init__` sets on each of its ways."""
        cls, function = code.place.owner, code.function
        if cls is not None and cls.framework.checks_fields:
            yield from _undeclared(cls, code, evaluator)
        if cls is None or function is None or function.name != "__init__" or not function.owner:
            return
        if function.owner != cls.symbol.declaration.qualname or not _is_checked(cls) or function.decorators:
            return
        if cls.framework.refuses_undecorated and cls.registered is not True:
            return
        if code.place.subclasses(cls):
            return  # they may set the rest
        own = function.self_name
        if own is None or escapes(code.body, own) or all(map(_is_said, code.body)):
            return
        ways = Ways(own, function, cls, evaluator)
        always = ways.to_all_ends(code.body)
        if always is None or ways.hidden:
            return
        variables = code.contents.bound  # `bias = ...` for `self.bias = ...`: JAX405 is about those
        missing = [f for f in _required(cls) if f.name not in always and f.name not in variables]
        never = [f for f in missing if f.name not in ways.anywhere]
        if never:
            yield _problem(cls, function, never, evaluator, somewhere=False)
        said = {f.name for f in never}
        for field in missing:
            if ways.anywhere.get(field.name, 0) < _MANY and field.name not in said:
                missed = [f for f in missing if f is field or f.name in ways.unset_with(field.name)]
                said.update(f.name for f in missed)
                yield _problem(cls, function, missed, evaluator, somewhere=True)


def _has_checked_fields(cls: PytreeClass) -> bool:
    """Whether the framework looks for all fields once an instance is made."""
    return cls.framework.wants_all_fields


def _is_checked(cls: PytreeClass) -> bool:
    """Whether instances of the class are made, and refused if a field is missing."""
    if not _has_checked_fields(cls) or cls.unknown_decorator or not cls.bases_known:
        return False
    declarations = [c.symbol.declaration for c in cls.mro]
    strange = any({"__new__", "__getattr__", "__getattribute__"} & set(d.methods) for d in declarations)
    return not strange and not any(d.conditional_body for d in declarations) and not cls.abstract_methods


def _undeclared(cls: PytreeClass, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
    """The attributes that the constructor of a module sets, and that no class declares as fields."""
    if code.function is None or code.function.name not in ("__init__", "__post_init__"):
        return
    family = evaluator.model.family(cls)
    if not all(_is_checked(one) and one.fields_known for one in family):
        return
    scopes = [one.module.outline.scopes.get(one.symbol.declaration.qualname) for f in family for one in f.mro]
    known = {f.name for one in family for f in one.fields} | {
        name for scope in scopes if scope is not None for name in scope.bindings
    }
    is_frozen = evaluator.model.target.holds(REFUSES_AS_FROZEN)
    for event in code.events:
        if isinstance(event, AssignAttribute) and event.on_self and event.how == "assign" and event.attr not in known:
            way_out = f"declare `{event.attr}` in the class"
            if code.function.name != "__init__":  # the constructor that is generated would ask for it
                way_out = f"make `{event.attr}` a property, or write an `__init__` and declare it in the class"
            yield Problem(
                at=event.at,
                message=(
                    f"`{event.attr}` is no field of `{cls.name}`: equinox refuses the assignment"
                    f" ({'FrozenInstanceError' if is_frozen else 'AttributeError'}); {way_out}"
                ),
                reason="while a module is made, its fields may be assigned, and nothing else",
                help=way_out,
                subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{event.attr}",
                fix=_declared(event, cls, code.function, evaluator),
            )
            return


@proposing
def _declared(event: AssignAttribute, cls: PytreeClass, function: Function, evaluator: Evaluator) -> Proposal | None:
    """The fix that declares what the constructor sets."""
    if function.name != "__init__":
        return None  # the constructor that is generated would ask for it
    return declaring(cls, event.attr, event.value, event.place.module, evaluator, is_set=True)


def _required(cls: PytreeClass) -> list[Field]:
    """The fields that are attributes of an instance only if they are set."""
    bound = {name for c in cls.mro for name in c.symbol.declaration.methods}
    bound |= {a.name for c in cls.mro for a in c.symbol.declaration.assignments}
    return [
        f for f in cls.fields if f.kind is Kind.FIELD and f.default is None and not f.opaque and f.name not in bound
    ]


def _is_said(statement: Statement) -> bool:
    """Whether a statement does nothing, in a body that is still to be written: a text or `...`."""
    return isinstance(statement, Do) and isinstance(statement.value, Constant)


def _error(cls: PytreeClass, evaluator: Evaluator) -> str:
    """What is raised for a field that is not set."""
    if not cls.framework.checks_fields:
        return "AttributeError"
    is_type_error = evaluator.model.target.holds(RAISES_TYPE_ERROR)
    return {True: "TypeError", False: "ValueError", None: "TypeError or ValueError"}[is_type_error]


def _problem(
    cls: PytreeClass, function: Function, fields: list[Field], evaluator: Evaluator, *, somewhere: bool
) -> Problem:
    names = " and ".join(
        f"`{f.name}`" + (f" (of `{f.owner.declaration.name}`)" if f.owner != cls.symbol else "") for f in fields
    )
    noun, set_them = ("field", "set it") if len(fields) == 1 else ("fields", "set them")
    where = "on one branch" if somewhere else ""
    return Problem(
        at=function.at,
        message=(
            f"`__init__` of `{cls.name}` does not set {noun} {names}{' ' if where else ''}{where}: the"
            f" instance is refused ({_error(cls, evaluator)}); {set_them}"
        ),
        reason=f"{cls.framework.title} looks for all fields once `__init__` has returned",
        help=f"assign {', '.join(f'`self.{f.name}`' for f in fields)}, to None if there is nothing to hold",
        confidence=Confidence.MEDIUM if somewhere else None,
        subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{fields[0].name}",
        fix=_holding_nothing(function, fields),
    )


@proposing
def _holding_nothing(function: Function, fields: list[Field]) -> Proposal | None:
    """The fix: the fields hold nothing until something is assigned to them."""
    if function.self_name is None:
        return None
    code = " = ".join([*(f"{function.self_name}.{field.name}" for field in fields), "None"])
    return Proposal("Begin with nothing", Applicability.DISPLAY, (BeginBody(function.at, code),))
