"""Words that are near to others, for messages that ask what was meant."""

from __future__ import annotations

from collections.abc import Iterable

#: Letters that are taken for digits, as in `JAX2O2`.
_LOOK_ALIKES = str.maketrans("OoIl", "0011")
_NO_DIGITS = str.maketrans("", "", "0123456789")
#: The letters whose names begin with a vowel, and how words begin whose first U is none.
_SPOKEN_AS_VOWELS = "AEFHILMNORSX"
_NO_VOWELS = ("uni", "us", "uti", "eu", "one")


def with_article(name: str) -> str:
    """A name in backquotes behind "a" or "an": an `Agent`, an `S`, an `MLP`, a `User`."""
    if len(name) == 1 or name[:2].isupper():
        is_vowel = name[:1] in _SPOKEN_AS_VOWELS
    else:
        is_vowel = name[:1].lower() in "aeiou" and not name.lower().startswith(_NO_VOWELS)
    return f"{'an' if is_vowel else 'a'} `{name}`"


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The word among `known` that is most like `word`, from 0 (not at all) to 1; None if all are less like it.

    A word that differs in its numbers alone is none: which of `JAX401` and `JAX509` was meant by `JAX9` cannot be told.
    """
    known = list(known)
    meant = word.translate(_LOOK_ALIKES)
    if meant in known:
        return meant
    import difflib  # which loads slowly, and is seldom needed

    letters = word.translate(_NO_DIGITS)
    known = [name for name in known if name.translate(_NO_DIGITS) != letters]
    return next(iter(difflib.get_close_matches(word, known, n=1, cutoff=likeness)), None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean ...?` with the nearest of `known`, or nothing if none is near."""
    by_lower = {name.lower(): name for name in known}
    near = nearest(word.lower(), by_lower, 0.7)
    return "" if near is None else f"; did you mean `{by_lower[near]}`?"
