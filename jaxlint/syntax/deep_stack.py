"""Running a function on a stack that is deep enough for expressions of many thousand terms."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_STACK_BYTES = 512 * 1024 * 1024
_RECURSION_LIMIT = 200_000


def with_deep_stack(function: Callable[[], T]) -> T:
    """What `function` returns (or raises), called in a thread of its own with a deep stack."""
    result: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            result.append(function())
        except BaseException as error:
            errors.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size(_STACK_BYTES)
    sys.setrecursionlimit(_RECURSION_LIMIT)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    if errors:
        raise errors[0]
    return result[0]
