"""Whether a field holds what a constructor is given for it, as far as the statements that assign it tell."""

from __future__ import annotations

from jaxlint.pytrees.model import PytreeClass
from jaxlint.syntax.expressions import Call, Expr, Name

#: Conversions that keep a number what it is.
_NUMBERS = frozenset({"int", "float", "bool"})


def is_kept(name: str, cls: PytreeClass) -> bool:
    """Whether a field holds what is given under its name: `self.parity = parity % 2` keeps something else."""
    field = cls.field(name)
    if field is None or field.is_converted:
        return False
    init = cls.custom_init()
    found = cls.method("__post_init__") if init is None else None
    maker = init if found is None else found[1]
    values = [a.value for a in maker.self_assignments if a.attr == name] if maker is not None else []
    return not values or any(value is None or _is_as_given(value, name) for value in values)


def _is_as_given(value: Expr, name: str) -> bool:
    """Whether what is assigned is the parameter of that name, or the number that it is."""
    if isinstance(value, Call) and isinstance(value.func, Name) and value.func.id in _NUMBERS and len(value.args) == 1:
        value = value.args[0].value
    return isinstance(value, Name) and value.id == name
