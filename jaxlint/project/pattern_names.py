"""Which names patterns as in a .gitignore may mean, without compiling the patterns.

pathspec, which says what they do mean, takes as long to load as Python takes to start twice; and nearly all names are
meant by none. The answer errs on one side: a name that a pattern means is never missed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable


class PatternNames:
    """The names that some of the patterns may mean, of whole paths the last part."""

    def __init__(self, patterns: Iterable[str]) -> None:
        whole: set[str] = set()
        starts: set[str] = set()
        ends: set[str] = set()
        parts: set[str] = set()
        parts_before_more: set[str] = set()
        for pattern in patterns:
            segment = "" if "\\" in pattern else pattern.strip().removeprefix("!").rstrip("/").rpartition("/")[2]
            before, bracket, after = segment.partition("[")
            literals = re.split(r"[*?]", before)
            if pattern != pattern.strip():  # which spaces count is for pathspec to say
                parts.add(max(literals, key=len))
            elif bracket and literals[0]:
                starts.add(literals[0])
            elif bracket and not after.startswith(("!", "^")):
                parts_before_more.add(literals[-1])
            elif bracket:  # pathspec takes the slash behind a folder for one of the other letters
                parts.add(literals[-1])
            elif len(literals) == 1 and segment:
                whole.add(segment)
            elif literals[-1]:
                ends.add(literals[-1])
            elif literals[0]:
                starts.add(literals[0])
            else:
                parts.add(max(literals, key=len))
        self._whole = frozenset(whole)
        self._starts = tuple(starts)
        self._ends = tuple(ends)
        self._parts = tuple(parts)
        self._parts_before_more = tuple(parts_before_more)

    def may_mean(self, name: str) -> bool:
        """Whether one of the patterns may mean what has this name."""
        return (
            name in self._whole
            or name.endswith(self._ends)
            or name.startswith(self._starts)
            or any(part in name for part in self._parts)
            or any(part in name[:-1] for part in self._parts_before_more)
        )
