# What pyright must be told of chex.dataclass, as chex ships no types: that the decorator makes a dataclass, and which.
# Constructors of mappings take keywords only; that cannot be said, as it depends on an option.
import dataclasses as _dataclasses
from collections.abc import Callable
from typing import Any, TypeVar, overload

from typing_extensions import dataclass_transform

_T = TypeVar("_T")

FrozenInstanceError = _dataclasses.FrozenInstanceError

@overload
@dataclass_transform(field_specifiers=(_dataclasses.field,))
def dataclass(cls: type[_T]) -> type[_T]: ...
@overload
@dataclass_transform(field_specifiers=(_dataclasses.field,))
def dataclass(
    *,
    init: bool = True,
    repr: bool = True,
    eq: bool = True,
    order: bool = False,
    unsafe_hash: bool = False,
    frozen: bool = False,
    kw_only: bool = False,
    mappable_dataclass: bool = True,
) -> Callable[[type[_T]], type[_T]]: ...
def mappable_dataclass(cls: type[_T]) -> type[_T]: ...
def register_dataclass_type_with_jax_tree_util(data_class: Any) -> None: ...
