"""What was found out last about statements: several ask for the same, and whoever lets go of statements forgets it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, update_wrapper
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])

_FORGETTING: list[Callable[[], None]] = []


def remembered(most: int) -> Callable[[F], F]:
    """A function of statements that remembers what it answered last, for so many of them."""

    def remembering(function: F) -> F:
        cached = lru_cache(maxsize=most)(function)
        _FORGETTING.append(cached.cache_clear)
        return update_wrapper(cached, function)  # type: ignore[return-value]

    return remembering


def forget_statements() -> None:
    """Forget all answers, which hold the statements that they are about."""
    for forget in _FORGETTING:
        forget()
