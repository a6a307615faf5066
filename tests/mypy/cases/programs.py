"""The cases, by what they are about: each is a program for every framework of which its header does not say otherwise.

A line that ends in `# E: word` must be reported for the reason that the word stands for (`REASONS`); any other line
must not be. A header says `# only: a b` or `# not: a b` (frameworks, or the words of `GROUPS`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.mypy.cases import (
    compared,
    constructed,
    converted,
    declared,
    discarded,
    frameworks,
    frozen,
    functions,
    hidden,
    items,
    methods,
    reached,
    replace_methods,
    replaced,
    static,
)
from tests.mypy.frameworks import SPELLINGS, WITH_STATIC

#: What a report must match, by the word of the mark.
REASONS = {
    "frozen": r"\[jaxlint-(frozen-assignment|assignment-in-init)\]|is read-only",
    "unknown": r"\[call-arg\]",
    "unknown-to-mypy": r"\[call-arg\]|\[jaxlint-replace-unknown-field\]",
    "no-replace": r"\[jaxlint-no-replace-method\]",
    "positional": r"\[call-arg\]|\[misc\]|\[jaxlint-field-order\]",
    "type": r"\[arg-type\]",
    "assignment": r"\[assignment\]",
    "discard": r"\[jaxlint-discarded-update\]",
    "static-array": r"\[jaxlint-static-array-field\]",
    "counter": r"\[jaxlint-static-counter\]",
    "mutable": r"\[jaxlint-mutable-default\]",
    "mutated": r"\[jaxlint-mutated-static-value\]",
    "static-mutable": r"\[jaxlint-mutable-static-field\]",
    "equality": r"\[jaxlint-array-equality\]",
    "unhashable": r"\[jaxlint-unhashable-instance\]",
    "bypass": r"\[jaxlint-frozen-bypass\]",
    "grows": r"\[jaxlint-mutated-leaf\]",
    "lost": r"\[jaxlint-lost-mutation\]",
    "not-in-init": r"\[jaxlint-replace-not-in-init\]",
    "repeated": r"\[jaxlint-repeated-init\]",
    "undecorated": r"\[jaxlint-undecorated-subclass\]",
    "fields": r"\[jaxlint-register-dataclass-fields\]",
    "init-false": r"\[jaxlint-init-false-field\]",
    "own-init": r"\[jaxlint-custom-init\]",
    "clash": r"\[jaxlint-field-name-clash\]",
    "marker": r"\[jaxlint-foreign-static-marker\]",
    "leaf": r"\[jaxlint-non-array-data-field\]",
    "attribute": r"\[attr-defined\]",
    "abstract": r"\[abstract\]",
    "splat": r"\[jaxlint-replace-unknown-field\]",
    "fields-later": r"\[jaxlint-register-dataclass-fields\]",
    "item-type": r"\[(list|dict)-item\]",
    "tree-at": r"\[jaxlint-tree-at\]",
    "item": r"\[jaxlint-item-assignment\]|\[index\]",
}
GROUPS = {
    "static": WITH_STATIC,
    "replace": frozenset(s.id for s in SPELLINGS.values() if s.has_replace),
    "no-replace": frozenset(s.id for s in SPELLINGS.values() if not s.has_replace),
    "ordered": frozenset(s.id for s in SPELLINGS.values() if not s.keyword_only),
    # the others inherit from a class that mypy cannot see, and so may be anything
    "seen": frozenset({"flax", "node", "chex", "jdc", "jax", "equinox"}),
    "decorated": frozenset({"flax", "chex", "jdc", "jax", "penzai"}),
}
_HEADER = re.compile(r"^# (only|not): (.*)$", re.MULTILINE)
_MARK = re.compile(r"# E: (.+)$")

#: What the cases of each file are about, its docstring says.
_FILES = (
    compared,
    constructed,
    converted,
    declared,
    discarded,
    frameworks,
    frozen,
    functions,
    hidden,
    items,
    methods,
    reached,
    replace_methods,
    replaced,
    static,
)


@dataclass(frozen=True)
class Program:
    """A case in the spelling of one framework."""

    name: str
    framework: str
    text: str

    @property
    def marks(self) -> dict[int, str]:
        """The words of the marked lines."""
        found = ((row, _MARK.search(line)) for row, line in enumerate(self.text.splitlines(), start=1))
        return {row: match[1].strip() for row, match in found if match}


def cases() -> dict[str, str]:
    """All cases; no two have one name."""
    found = {name: text for file in _FILES for name, text in file.CASES.items()}
    assert len(found) == sum(len(file.CASES) for file in _FILES)
    return found


def programs() -> Iterator[Program]:
    """All programs."""
    for case, text in cases().items():
        for framework in _frameworks(text):
            yield Program(f"{case}__{framework}", framework, SPELLINGS[framework].expand(_HEADER.sub("", text)))


def _frameworks(text: str) -> list[str]:
    wanted = set(SPELLINGS)
    for kind, words in _HEADER.findall(text):
        named = {name for word in words.split() for name in GROUPS.get(word, {word})}
        wanted = wanted & named if kind == "only" else wanted - named
    return [name for name in SPELLINGS if name in wanted]
