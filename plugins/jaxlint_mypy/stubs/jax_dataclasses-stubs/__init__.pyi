# What pyright, pyrefly and ty must be told of jax_dataclasses: instances are frozen, but for the copies of
# `copy_and_mutate`, which may be anything.
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, astuple, field, fields, is_dataclass, replace
from typing import Annotated, Any, TypeVar, overload

from typing_extensions import dataclass_transform

_T = TypeVar("_T")
_Function = TypeVar("_Function", bound=Callable[..., Any])

__all__ = [
    "EnforcedAnnotationsMixin",
    "Static",
    "asdict",
    "astuple",
    "copy_and_mutate",
    "field",
    "fields",
    "is_dataclass",
    "jit",
    "pytree_dataclass",
    "replace",
]

Static = Annotated[_T, "__jax_dataclasses_static_field__"]

def copy_and_mutate(obj: Any, validate: bool = True) -> AbstractContextManager[Any]: ...
@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def pytree_dataclass(cls: type[_T]) -> type[_T]: ...
@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def pytree_dataclass(
    *,
    init: bool = True,
    repr: bool = True,
    eq: bool = True,
    order: bool = False,
    unsafe_hash: bool = False,
    frozen: bool = True,
    match_args: bool = True,
    kw_only: bool = False,
) -> Callable[[type[_T]], type[_T]]: ...
@overload
def jit(
    fun: _Function,
    *,
    device: Any = None,
    backend: str | None = None,
    donate_argnums: int | Sequence[int] = (),
    inline: bool = False,
    keep_unused: bool = False,
) -> _Function: ...
@overload
def jit(
    fun: None = None,
    *,
    device: Any = None,
    backend: str | None = None,
    donate_argnums: int | Sequence[int] = (),
    inline: bool = False,
    keep_unused: bool = False,
) -> Callable[[_Function], _Function]: ...

class EnforcedAnnotationsMixin:
    def get_batch_axes(self) -> tuple[int, ...]: ...
