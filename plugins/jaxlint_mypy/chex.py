"""The methods that `chex.dataclass` generates, which mypy cannot know: chex ships no types."""

from __future__ import annotations

from mypy import nodes
from mypy.nodes import Argument, Var
from mypy.plugin import ClassDefContext
from mypy.plugins.common import add_method_to_class
from mypy.types import AnyType, Type, TypeOfAny
from mypy.typevars import fill_typevars_with_any

from jaxlint.pytrees.model import PytreeClass

_ANY = AnyType(TypeOfAny.explicit)
#: The methods of a mapping, with the number of their parameters.
_MAPPING = {"__getitem__": 1, "__iter__": 0, "__len__": 0, "__contains__": 1, "keys": 0, "values": 0, "items": 0}


def add_chex_methods(ctx: ClassDefContext, cls: PytreeClass) -> None:
    """`to_tuple` and `from_tuple`, and the methods of a mapping unless the decorator is told that it is none."""
    _add(ctx, "to_tuple", 0, _ANY)
    _add(ctx, "from_tuple", 1, fill_typevars_with_any(ctx.cls.info), is_classmethod=True)
    if cls.option("mappable_dataclass", True) is False:
        return
    for name, size in _MAPPING.items():
        returned = {"__len__": "builtins.int", "__contains__": "builtins.bool"}.get(name)
        _add(ctx, name, size, _ANY if returned is None else ctx.api.named_type(returned))
    if "get" not in ctx.cls.info.names:
        default = Argument(Var("default", _ANY), _ANY, None, nodes.ARG_OPT)
        add_method_to_class(ctx.api, ctx.cls, "get", [_argument("key"), default], _ANY)


def _add(ctx: ClassDefContext, name: str, size: int, returned: Type, *, is_classmethod: bool = False) -> None:
    if name not in ctx.cls.info.names:
        arguments = [_argument(f"a{index}") for index in range(size)]
        add_method_to_class(ctx.api, ctx.cls, name, arguments, returned, is_classmethod=is_classmethod)


def _argument(name: str) -> Argument:
    return Argument(Var(name, _ANY), _ANY, None, nodes.ARG_POS)
