"""In which order the bases of a class are asked: its method resolution order."""

from __future__ import annotations

from typing import TypeVar

_Class = TypeVar("_Class")


def merge_mro(sequences: list[list[_Class]]) -> list[_Class]:
    """C3 linearisation; falls back to first-come order where the bases contradict each other."""
    result: list[_Class] = []
    pending = [s for s in sequences if s]
    while pending:
        for sequence in pending:
            head = sequence[0]
            if not any(head in other[1:] for other in pending):
                break
        else:
            head = pending[0][0]
        result.append(head)
        pending = [[c for c in s if c is not head] for s in pending]
        pending = [s for s in pending if s]
    return result
