"""Reads of an attribute in which it does not matter that its value is the one of the first call."""

from __future__ import annotations

from collections.abc import Mapping

from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.methods import MAKING, own_methods
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Expr, Subscript, dotted, last_name
from jaxlint.syntax.statements import Body, all_parts, parts

#: What tells how large something is.
_SIZES = frozenset({"shape", "size", "ndim"})


def returned_by_property(attr: str, inside: Mapping[str, Function]) -> str | None:
    """The one property among some methods that returns an attribute, or a part of it, and does nothing else."""
    found = [name for name, function in inside.items() if _returns_part(attr, function)]
    return found[0] if len(found) == 1 else None


def _returns_part(attr: str, function: Function) -> bool:
    if not function.only_returns or all(last_name(one) != "property" for one in function.decorators):
        return False
    path = f"{function.self_name}.{attr}."
    return all(f"{dotted(value) or ''}.".startswith(path) for value in function.return_values)


def is_size_of_given(attr: str, cls: PytreeClass) -> bool:
    """Whether all that methods set an attribute to, once the instance is made, is the size of something."""
    functions = [function for one in cls.mro for function in own_methods(one) if function.name not in MAKING]
    assigned = [one.value for function in functions for one in function.self_assignments if one.attr == attr]
    return bool(assigned) and all(value is not None and _is_size(value) for value in assigned)


def _is_size(value: Expr) -> bool:
    if isinstance(value, Call):
        return dotted(value.func) == "len"
    held = value.value if isinstance(value, Subscript) else value
    return isinstance(held, Attribute) and held.attr in _SIZES


def is_only_reshaping(path: str, body: Body) -> bool:
    """Whether code reads a size only to give an array another shape: one of another size is of another shape."""
    every = list(all_parts(body))
    calls = (part for part in every if isinstance(part, Call) and last_name(part.func) == "reshape")
    shaping = [part for call in calls for argument in call.args for part in parts(argument.value)]
    return sum(dotted(part) == path for part in every) == sum(dotted(part) == path for part in shaping)
