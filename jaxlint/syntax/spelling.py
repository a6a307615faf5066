"""Words that are near to others, for messages that ask what was meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The word among `known` that is most like `word`, from 0 (not at all) to 1; None if all are less like it."""
    import difflib  # which loads slowly, and is seldom needed

    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=likeness)), None)
