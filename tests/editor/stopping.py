"""Checks that are stopped, as when a key is typed meanwhile."""

from __future__ import annotations


class Stop(BaseException):
    """Ends a check."""


class Stopper:
    """Ends a check at its step number `left`; 0 is never."""

    def __init__(self) -> None:
        self.left = 0

    def step(self) -> None:
        """What a check calls at each step."""
        self.left -= 1
        if self.left == 0:
            raise Stop
