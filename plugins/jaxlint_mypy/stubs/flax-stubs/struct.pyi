# What pyright, pyrefly and ty must be told of flax.struct: fields are frozen unless `frozen=False` is given.
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from typing_extensions import Self, dataclass_transform

_T = TypeVar("_T")

@overload
def field(
    pytree_node: bool = True,
    *,
    metadata: Mapping[str, Any] | None = None,
    default: _T,
    init: bool = True,
    repr: bool = True,
    hash: bool | None = None,
    compare: bool = True,
    kw_only: bool = ...,
) -> _T: ...
@overload
def field(
    pytree_node: bool = True,
    *,
    metadata: Mapping[str, Any] | None = None,
    default_factory: Callable[[], _T],
    init: bool = True,
    repr: bool = True,
    hash: bool | None = None,
    compare: bool = True,
    kw_only: bool = ...,
) -> _T: ...
@overload
def field(
    pytree_node: bool = True,
    *,
    metadata: Mapping[str, Any] | None = None,
    init: bool = True,
    repr: bool = True,
    hash: bool | None = None,
    compare: bool = True,
    kw_only: bool = ...,
) -> Any: ...
@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field, dataclasses.field))
def dataclass(clz: type[_T], **kwargs: Any) -> type[_T]: ...
@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field, dataclasses.field))
def dataclass(**kwargs: Any) -> Callable[[type[_T]], type[_T]]: ...

@dataclass_transform(frozen_default=True, field_specifiers=(field, dataclasses.field))
class PyTreeNode:
    def __init_subclass__(cls, **kwargs: Any) -> None: ...
    def replace(self, **overrides: Any) -> Self: ...
