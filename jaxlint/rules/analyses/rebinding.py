"""Fixes that bind a variable to an updated copy."""

from __future__ import annotations

from jaxlint.cst.changes import NeededImport, Proposal, UpdateField
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import AssignAttribute, Place
from jaxlint.pytrees.frameworks import EQUINOX
from jaxlint.pytrees.model import PytreeClass, Role
from jaxlint.pytrees.updating import update_function, update_template

#: The ways of assigning that one statement does alone.
_ALONE = frozenset({"assign", "augment", "setattr"})


def rebinding(event: AssignAttribute, evaluator: Evaluator) -> Proposal | None:
    """The fix of an assignment that is refused: the variable is bound to a copy with the new value."""
    cls, base = event.receiver.cls, event.receiver_text
    if base is None or event.how not in _ALONE or event.on_self or event.alternatives:
        return None
    if "." in base or not is_own_variable(base, event.place) or not _is_updatable(cls, event.attr):
        return None
    function = _update_function(cls, event.attr)
    imports: tuple[NeededImport, ...] = ()
    if not function.startswith("."):
        written = spelled(function, event.place.module, evaluator.model.resolver, scope_of(event.place))
        if written is None:
            return None
        function, imports = written
    change = UpdateField(event.at, base, update_template(function, event.attr))
    return Proposal(f"Bind `{base}` to an updated copy", Applicability.SAFE, (change,), imports)


def scope_of(place: Place) -> str:
    """The scope of the code at a place, as the outline names it."""
    return "" if place.function is None else f"{place.function.qualname}.<locals>"


def is_own_variable(name: str, place: Place) -> bool:
    """Whether a variable belongs to the code at a place, so that it may be assigned there."""
    scope = place.module.outline.scopes.get(scope_of(place))
    return scope is not None and (name in scope.bindings or name in scope.is_global)


def _is_updatable(cls: PytreeClass, attr: str) -> bool:
    """Whether a copy with another value of the attribute can certainly be made."""
    field = cls.field(attr)
    if field is None or not cls.fields_known or cls.unknown_decorator:
        return False
    return cls.framework is EQUINOX or cls.framework.replace_method is not None or cls.custom_init() is None


def _update_function(cls: PytreeClass, attr: str) -> str:
    """What makes the copy: `equinox.tree_at` replaces nothing but leaves."""
    field = cls.field(attr)
    if cls.framework is EQUINOX and field is not None and field.role is Role.STATIC:
        return "dataclasses.replace"
    return update_function(cls)
