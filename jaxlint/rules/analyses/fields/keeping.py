"""Whether a field holds what a constructor is given for it, as far as the statements that assign it tell."""

from __future__ import annotations

from jaxlint.project.modules import Module
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Assignment, Function
from jaxlint.syntax.expressions import Call, Expr, Name, is_none

#: Conversions that keep a number what it is.
_NUMBERS = frozenset({"int", "float", "bool"})


def is_stored(name: str, cls: PytreeClass) -> bool:
    """Whether a field holds what is given under its name: `self.parity = parity % 2` keeps something else."""
    field = cls.field(name)
    if field is None or field.is_converted:
        return False
    init = cls.custom_init()
    found = cls.method("__post_init__" if init is None else "__init__")
    if found is None:
        return True
    owner, maker = found
    values = [a.value for a in maker.self_assignments if a.attr == name]
    is_assigned = not values or any(value is None or _is_as_given(value, name) for value in values)
    return is_assigned and not _is_remade(name, maker, owner.module)


def _is_remade(name: str, maker: Function, module: Module) -> bool:
    """Whether a parameter is bound again, to what is made of it or to something unknown: `if …: f = Wrap(f)`.

    One with the default None is filled in, which keeps what is given.
    """
    parameter = next((one for one in maker.parameters if one.name == name), None)
    scope = module.outline.scopes.get(maker.inner_scope)
    if parameter is None or scope is None or is_none(parameter.default):
        return False
    again = [one for one in scope.bindings.get(name, ()) if isinstance(one, Assignment) and one.guard != "parameter"]
    return any(one.value is None or not _is_as_given(one.value, name) for one in again)


def _is_as_given(value: Expr, name: str) -> bool:
    """Whether what is assigned is the parameter of that name, or the number that it is."""
    if isinstance(value, Call) and isinstance(value.func, Name) and value.func.id in _NUMBERS and len(value.args) == 1:
        value = value.args[0].value
    return isinstance(value, Name) and value.id == name
