"""Words that are near to others, for messages that ask what was meant."""

from __future__ import annotations

from collections.abc import Iterable

#: Letters that are taken for digits, as in `JAX2O2`.
_LOOK_ALIKES = str.maketrans("OoIl", "0011")
_NO_DIGITS = str.maketrans("", "", "0123456789")
#: How much more alike than the names the words must be in which they differ: what is short is alike sooner.
_LIKENESS_OF_REST = 1.2
#: How much alike two names of one word each must be at least.
_LIKENESS_OF_ONE = 0.7
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

    A word that differs in its numbers alone is none: which of `JAX401` and `JAX509` was meant by `JAX9` is unknown.
    Of names made of several words, those that are not the same must be alike: `actuator_qid` is no `actuator_actadr`,
    and `rope_theta` no `mrope_section`; of one word each, `state` is no `step`.
    """
    known = list(known)
    meant = word.translate(_LOOK_ALIKES)
    if meant in known:
        return meant
    import difflib  # which loads slowly, and is seldom needed

    letters = word.translate(_NO_DIGITS)
    known = [name for name in known if name.translate(_NO_DIGITS) != letters]
    for name in difflib.get_close_matches(word, known, n=3, cutoff=likeness):
        own, other = _without_shared(word.split("_"), name.split("_"))
        pairs, least = [(other, own)], _LIKENESS_OF_REST * likeness
        if own == word and "_" not in word + name:
            least = _LIKENESS_OF_ONE
        elif own == word:
            pairs, least = _paired(other.split("_"), own.split("_")), likeness / _LIKENESS_OF_REST
        if not own or not other or all(difflib.SequenceMatcher(None, *pair).ratio() >= least for pair in pairs):
            return name
    return None


def _paired(others: list[str], words: list[str]) -> list[tuple[str, str]]:
    """The words of two names that share none, if both have as many, and more than one."""
    return list(zip(others, words, strict=True)) if len(others) == len(words) > 1 else []


def _without_shared(words: list[str], others: list[str]) -> tuple[str, str]:
    """Two names without the words that both begin or end with."""
    while words and others and words[0] == others[0]:
        words, others = words[1:], others[1:]
    while words and others and words[-1] == others[-1]:
        words, others = words[:-1], others[:-1]
    return "_".join(words), "_".join(others)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean ...?` with the nearest of `known`, or nothing if none is near."""
    by_lower = {name.lower(): name for name in known}
    if word.isdigit():  # of a code, the number alone
        ends = [name for name in by_lower.values() if name.endswith(word) and name[: -len(word)].isalpha()]
        return f"; did you mean `{ends[0]}`?" if len(ends) == 1 else ""
    near = nearest(word.lower(), by_lower, 0.7)
    return "" if near is None else f"; did you mean `{by_lower[near]}`?"
