"""`eqx.Enumeration`: its metaclass makes an item of each text in the class body, for which mypy sees the text."""

from __future__ import annotations

from mypy.nodes import TypeInfo
from mypy.plugin import AttributeContext
from mypy.types import CallableType, Instance, Type, TypeType, get_proper_type

#: The module in which it is.
ENUMERATIONS = "equinox._enum"
_ENUMERATION = f"{ENUMERATIONS}.Enumeration"


def is_enumeration(info: TypeInfo) -> bool:
    """Whether a class inherits from the enumeration of equinox."""
    return any(base.fullname == _ENUMERATION for base in info.mro[1:])


def of_item(ctx: AttributeContext) -> Type:
    """`RESULTS.successful` is an item of the class that is asked, also where that inherits the text."""
    text, asked = get_proper_type(ctx.default_attr_type), ctx.type
    if ctx.is_lvalue or not isinstance(text, Instance) or text.type.fullname != "builtins.str":
        return ctx.default_attr_type
    if isinstance(asked, TypeType):
        return asked.item
    return asked.ret_type if isinstance(asked, CallableType) else ctx.default_attr_type
