"""What can be said at once of a file that is being edited: what was said before, and what its edited rows show.

A complete check of a long file takes longer than a key. Meanwhile the findings of before are shown where they stand
now, but for those of the rows that were edited, and what the classes and functions around these rows show is added.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import structs

from jaxlint.finding import Finding

#: An edit of more rows than that (a file that is formatted, a block that is pasted) is checked as a whole.
_MOST_ROWS = 50


class Edit(msgspec.Struct, frozen=True):
    """The rows `first` to `last` stand where `first` to `before` stood; `last` < `first` if they were only removed."""

    first: int
    before: int
    last: int

    @classmethod
    def between(cls, before: Sequence[str], now: Sequence[str]) -> Edit:
        """The least edit that makes the lines of a file, as they were before, those of now."""
        least = min(len(before), len(now))
        same = next((i for i in range(least) if before[i] != now[i]), least)
        behind = next((i for i in range(least - same) if before[-1 - i] != now[-1 - i]), least - same)
        return cls(same + 1, len(before) - behind, len(now) - behind)

    @property
    def is_small(self) -> bool:
        """Whether it is one of those that people type."""
        return max(self.before, self.last) - self.first < _MOST_ROWS

    @property
    def rows(self) -> range:
        """The edited rows as they are now; those around, if there are none."""
        return range(self.first, self.last + 1) if self.first <= self.last else range(self.first - 1, self.first + 1)

    def moved(self, finding: Finding) -> Finding | None:
        """A finding of before where it stands now, without its fix; None if it stood in what was edited."""
        if finding.end_row < self.first:
            return structs.replace(finding, fix=None)
        if finding.row <= self.before:
            return None
        by = self.last - self.before
        return structs.replace(finding, row=finding.row + by, end_row=finding.end_row + by, fix=None)


def at_once(before: Sequence[Finding], edit: Edit, seen: Sequence[Finding]) -> list[Finding]:
    """The findings of before, where they stand after an edit, and those that are seen around it now."""
    places = {(one.code, one.row) for one in seen}
    moved = filter(None, map(edit.moved, before))
    return [*seen, *(one for one in moved if (one.code, one.row) not in places)]
