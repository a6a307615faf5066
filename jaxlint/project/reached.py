"""The one door from module to module: what a check asks of other modules than its own, noted while it asks.

Whatever the check of a file knows of another one, it got there from a module that it had already, by a method of
`Project` that wants to know where it starts. There are two ways. A module is *reached*: by an import, as a part of a
package, as who imports it, as who inherits from a class in it. It is read then, and what is found depends on its text,
whatever is read. Or it is *asked* something that its text alone answers (`ANSWERS`): the caller gets nothing but the
answer, and what is found depends on that. From where a module has a name that it hands on is such an answer: the name
stands for the module then, as what is reached. So what is found in a file, and what it adds to the index, depends on
the texts of the modules that it leads to, on what was answered about these, on the index, and on nothing else: a rule
may read what it likes of a module that it has.

What leads from a module leads there for all that reach it. Only what rules look for in the importers of a module is no
part of it: that concerns the findings of the module that is checked (`for_findings`), and nobody who reaches that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import compress
from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec

from jaxlint.symbols.links import HERE

if TYPE_CHECKING:
    from jaxlint.symbols.links import Imports
    from jaxlint.symbols.names_used import NamesUsed
    from jaxlint.symbols.outline import Outline


class Answering(Protocol):
    """What the text of a module alone tells: no answer can rest on anything else."""

    path: str

    @property
    def outline(self) -> Outline:
        """All that it declares."""

    @property
    def imports(self) -> Imports:
        """The modules that it imports."""

    @property
    def names_used(self) -> NamesUsed:
        """By which names it may know of what others declare."""

    def given_to(self, functions: str) -> tuple[frozenset[str] | None, ...]:
        """By statement that calls one of some functions: the names that calls are given in it."""


#: It calls something of that name, imports it from a module, gives it to `partial` or a transformation, imports a
#: module of that name, or sets an attribute of that name.
_HOW = CALLED, IMPORTED, GIVEN, MODULE, SET = "cigma"


def _mentions(module: Answering, word: str) -> str:
    """How a module knows of a name: `CALLED` and so on, each if it does."""
    used = module.names_used
    places = (used.called, used.imported, used.given, used.modules, used.attributes_set)
    return "".join([how for how, names in zip(_HOW, places, strict=True) if word in names])


def _has_method(module: Answering, word: str) -> str:
    """Whether a class has a method of its own: `Class.method`."""
    owner, _, method = word.rpartition(".")
    return "m" if method in module.names_used.methods.get(owner, ()) else ""


def _has_attribute(module: Answering, word: str) -> str:
    """Whether a class has a field or a method of its own: `Class.attribute`."""
    owner, _, attr = word.rpartition(".")
    known = (module.names_used.fields, module.names_used.methods)
    return "a" if any(attr in names.get(owner, ()) for names in known) else ""


def _gives(module: Answering, word: str) -> str:
    """Whether a statement that calls certain functions may give them a name: `name function function`."""
    name, _, functions = word.partition(" ")
    given = module.given_to(functions)
    return "g" if any(names is None or name in names for names in given) else ""


def _imports(module: Answering, beginnings: str) -> str:
    """Whether a module imports one whose name begins in one of some ways."""
    ways = tuple(beginnings.split())
    return "i" if any(name.startswith(ways) for _, name in module.imports) else ""


#: What a module can be asked about a word; the answer is empty where it has nothing to do with the word.
ANSWERS: Mapping[str, Callable[[Answering, str], str]] = {
    "mentions": _mentions,
    # whether it hands on all that it imports from another one
    "hands on": lambda module, _: "*" if module.names_used.has_star_imports else "",
    "has method": _has_method,
    "has attribute": _has_attribute,
    "gives": _gives,
    # whether it gives names to what it calls outside of functions
    "calls": lambda module, _: "c" if module.names_used.gives_outside else "",
    "imports": _imports,
    "leads": lambda module, name: module.outline.leads(name),
}

#: A kind of question, and about the module of which path it is asked.
Asking: TypeAlias = tuple[str, str]


_BITS = bytes.maketrans(b"01", b"\0\1")


class Asked(msgspec.Struct):
    """What was asked about a module, and of which modules: the bits of their numbers, a hundredth of a set of paths."""

    words: set[str] = msgspec.field(default_factory=set)
    of: int = 0


class Noted(msgspec.Struct):
    """What leads to what."""

    #: The paths of the modules that were reached from a module, by its path.
    by: dict[str, set[str]] = msgspec.field(default_factory=dict)
    asked: dict[Asking, Asked] = msgspec.field(default_factory=dict)
    #: The answers that are not empty, by the path of who gave them, the kind of question and the word.
    answers: dict[str, dict[Asking, str]] = msgspec.field(default_factory=dict)
    #: The numbers of the modules that were asked, by their paths.
    numbers: dict[str, int] = msgspec.field(default_factory=dict)
    #: The paths of the modules that were reached for what is found in a module, and not for what is in it, by its path.
    for_findings: dict[str, set[str]] = msgspec.field(default_factory=dict)

    def bits(self, paths: Iterable[str]) -> int:
        """Some modules as one number."""
        numbers, found = self.numbers, 0
        for path in paths:
            found |= 1 << numbers.setdefault(path, len(numbers))
        return found

    def paths(self, bits: int) -> list[str]:
        """The modules that are in a number."""
        return list(compress(self.numbers, bin(bits)[:1:-1].encode().translate(_BITS)))


class Stored(msgspec.Struct, frozen=True, array_like=True):
    """The same with numbers for all paths and words, as it is stored."""

    texts: list[str] = []
    by: list[tuple[int, list[int]]] = []
    asked: list[tuple[str, int, list[int], list[int]]] = []
    answers: list[tuple[int, str, int, str]] = []
    for_findings: list[tuple[int, list[int]]] = []

    @classmethod
    def of(cls, noted: Noted) -> Stored:
        """What is noted, in an order that does not depend on that in which it was."""
        numbers: dict[str, int] = {}

        def number(text: str) -> int:
            return numbers.setdefault(text, len(numbers))

        def several(texts: Iterable[str]) -> list[int]:
            return [number(text) for text in sorted(texts)]

        by = [(number(start), several(paths)) for start, paths in sorted(noted.by.items())]
        asked = [
            (question, number(start), several(one.words), several(noted.paths(one.of)))
            for (question, start), one in sorted(noted.asked.items(), key=lambda one: one[0])
        ]
        answers = [
            (number(path), question, number(word), said)
            for path, given in sorted(noted.answers.items())
            for (question, word), said in sorted(given.items())
        ]
        for_findings = [(number(start), several(paths)) for start, paths in sorted(noted.for_findings.items())]
        return cls(list(numbers), by, asked, answers, for_findings)

    def noted(self) -> Noted:
        """What was noted."""
        texts, noted = self.texts, Noted()
        noted.by = {texts[start]: {texts[path] for path in paths} for start, paths in self.by}
        noted.for_findings = {texts[start]: {texts[path] for path in paths} for start, paths in self.for_findings}
        for question, start, words, of in self.asked:
            bits = noted.bits(texts[path] for path in of)
            noted.asked[question, texts[start]] = Asked({texts[word] for word in words}, bits)
        for path, question, word, said in self.answers:
            noted.answers.setdefault(texts[path], {})[question, texts[word]] = said
        return noted


class Reached:
    """Which modules were reached from which others, and what they were asked."""

    def __init__(self, noted: Noted | None = None) -> None:
        self.noted = Noted() if noted is None else noted

    @property
    def by(self) -> dict[str, set[str]]:
        """The paths of the modules that were reached from a module, by its path."""
        return self.noted.by

    def note(self, start: str, path: str) -> None:
        """Note that one module was reached from another."""
        if start != path:
            self.noted.by.setdefault(start, set()).add(path)

    def note_for_findings(self, start: str, paths: Collection[str]) -> None:
        """Note that some modules were reached for what is found in another one."""
        if paths:
            self.noted.for_findings.setdefault(start, set()).update(paths)

    def ask(self, question: str, word: str, modules: Collection[Answering], start: str) -> dict[str, str]:
        """The answers of modules that are not empty, by their paths; `start` is whom it is asked about."""
        asked = self.noted.asked.setdefault((question, start), Asked())
        word = sys.intern(word)
        asking = (question, word)
        asked.words.add(word)
        asked.of |= self.noted.bits([module.path for module in modules])
        answer, found = ANSWERS[question], dict[str, str]()
        for module in modules:
            said = answer(module, word)
            if said:
                found[module.path] = self.noted.answers.setdefault(module.path, {})[asking] = sys.intern(said)
        return found

    def lead(self, module: Answering, name: str, start: str) -> tuple[str, str]:
        """Where a name of a module leads (`Outline.leads`), and what is reached: the module, or its name alone.

        Who imports a name from a module that has imported it need not look again whenever that module changes.
        """
        said, place = ANSWERS["leads"](module, name), module.path
        if said != HERE:
            place = f"{module.path}:{name}"
            if ("leads", place) not in self.noted.asked:
                self.ask("leads", name, [module], place)
        self.note(start, place)
        return said, place

    def add(self, other: Noted) -> None:
        """Add what was noted earlier, or in another process."""
        for known, more in ((self.noted.by, other.by), (self.noted.for_findings, other.for_findings)):
            for start, paths in more.items():
                known.setdefault(start, set()).update(paths)
        for asking, asked in other.asked.items():
            said = self.noted.asked.setdefault(asking, Asked())
            said.words |= asked.words
            said.of |= self.noted.bits(other.paths(asked.of))
        for path, answers in other.answers.items():
            self.noted.answers.setdefault(path, {}).update(answers)

    def change(self, changed: Mapping[str, Answering]) -> set[str]:
        """Take note that some modules have another text: the modules whose findings may differ for it.

        These are the changed ones, those about which they say something else now, and all that lead to one of them.
        """
        fired = set(changed)
        before = {path: self.noted.answers.pop(path, {}) for path in changed}
        numbers = self.noted.numbers
        known = [path for path in changed if path in numbers]
        for (question, start), asked in self.noted.asked.items():
            answer = ANSWERS[question]
            for path in [path for path in known if asked.of >> numbers[path] & 1] if start not in changed else ():
                for word in asked.words:
                    said = answer(changed[path], word)
                    if said != before[path].get((question, word), ""):
                        fired.add(start)
                    if said:
                        self.noted.answers.setdefault(path, {})[question, word] = said
        dirty = self.dependents(fired)
        # where these lead is noted anew when they are checked
        self.noted.by = {start: paths for start, paths in self.noted.by.items() if start not in changed}
        for path in changed:
            self.noted.for_findings.pop(path, None)
        self.noted.asked = {asking: asked for asking, asked in self.noted.asked.items() if asking[1] not in changed}
        return dirty

    def dependents(self, changed: Iterable[str]) -> set[str]:
        """Some modules, and those that lead to them, or whose findings do."""
        back: dict[str, list[str]] = {}
        for start, paths in self.noted.by.items():
            for path in paths:
                back.setdefault(path, []).append(start)
        found = closed_over(changed, back)
        return found.union([start for start, paths in self.noted.for_findings.items() if not found.isdisjoint(paths)])


def closed_over(paths: Iterable[str], leading: Mapping[str, Iterable[str]]) -> set[str]:
    """Some modules and those to which they lead, directly or through other modules."""
    found: set[str] = set()
    pending = list(paths)
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            pending += leading.get(path, ())
    return found
