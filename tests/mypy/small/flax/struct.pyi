"""Pytree dataclasses."""

from collections.abc import Callable
from typing import Any, TypeVar, overload

from typing_extensions import dataclass_transform

_T = TypeVar("_T")

def field(pytree_node: bool = True, **options: Any) -> Any: ...
@dataclass_transform(field_specifiers=(field,))
@overload
def dataclass(clz: _T, **options: Any) -> _T: ...
@overload
def dataclass(**options: Any) -> Callable[[_T], _T]: ...
