"""Words that are near to others, for messages that ask what was meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The word among `known` that is most like `word`, from 0 (not at all) to 1; None if all are less like it."""
    import difflib  # which loads slowly, and is seldom needed

    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=likeness)), None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean ...?` with the nearest of `known`, or nothing if none is near."""
    by_lower = {name.lower(): name for name in known}
    near = nearest(word.lower(), by_lower, 0.7)
    return "" if near is None else f"; did you mean `{by_lower[near]}`?"
