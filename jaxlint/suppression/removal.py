"""Taking suppression comments back: the edits that remove a comment, or some of the codes that it lists."""

from __future__ import annotations

from collections.abc import Collection

from jaxlint.finding import Edit
from jaxlint.suppression.comments import Selector, Suppression
from jaxlint.syntax.source import Source


def removal(source: Source, suppression: Suppression, unused: Collection[Selector]) -> tuple[Edit, ...]:
    """The edits that remove the `unused` selectors, or the whole comment if it has no others.

    There are none if the comment is not certain to be one, or if text follows that would be left standing.
    """
    if not suppression.is_certain:
        return ()
    selectors = suppression.selectors or ()
    if len(unused) < len(selectors):
        return tuple(_without_selector(source, suppression.row, selectors, one) for one in selectors if one in unused)
    return _without_comment(source, suppression)


def _without_selector(source: Source, row: int, selectors: tuple[Selector, ...], one: Selector) -> Edit:
    """Remove a selector with the separator before it; with the one behind it, if only unused ones stand before."""
    at = selectors.index(one)
    start = selectors[at - 1].end_column if at else one.column
    end = one.end_column if at else selectors[1].column
    return Edit(source.offset(row, start - 1), source.offset(row, end - 1), "")


def _without_comment(source: Source, suppression: Suppression) -> tuple[Edit, ...]:
    row, line = suppression.row, source.line(suppression.row)
    before, after = line[: suppression.column - 1], line[suppression.end_column - 1 :]
    if after.strip() and not after.lstrip().startswith("#"):
        return ()
    if not before.strip() and not after.strip():
        return (Edit(source.offset(row, 0), source.offset(row + 1, 0), ""),)
    start, end = len(before), len(line)
    if after.strip():
        end -= len(after.lstrip())
    else:
        start = len(before.rstrip())
    return (Edit(source.offset(row, start), source.offset(row, end), ""),)
