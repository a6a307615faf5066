"""Which classes of a file may be pytrees, by the words of its text: most files are not worth more than a glance."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import msgspec
from mypy.nodes import Import, ImportAll, ImportFrom, MypyFile

from jaxlint.libraries.packages import DISTRIBUTION_OF
from jaxlint.libraries.transforms import LAST_NAMES, WRAPPERS
from jaxlint.pytrees.frameworks import BY_BASE, BY_DECORATOR

#: An installed module without any of these words has nothing to do with JAX.
_FRAMEWORKS = tuple(
    one for one in DISTRIBUTION_OF if not any(other in one and other != one for other in DISTRIBUTION_OF)
)
_FRAMEWORK = re.compile("|".join(map(re.escape, _FRAMEWORKS)))
#: A module without any of these words declares no pytree class, but by a decorator of the user's own; its classes may
#: still inherit from one.
_DECLARING = ("dataclass", "NamedTuple", "namedtuple", "register_", "ytree")
#: Words of calls that make a pytree of a class somewhere else than at its declaration.
_REGISTERING = ("register_dataclass", "register_pytree", "register_static")
#: What begins with a newline is found three times as fast as what begins a line.
_CLASS = re.compile(r"\n([ \t]*)class[ \t]+(\w+)([^:]*)")
_WORD = re.compile(r"\w+")
#: Words in class statements that name no class of a project.
_NO_OWN_BASES = frozenset(name.rpartition(".")[2] for name in BY_BASE) | {
    *("object", "ABC", "Enum", "Generic", "Protocol", "T", "abc", "enum", "metaclass", "ABCMeta", "typing"),
    *(name.partition(".")[0] for name in BY_BASE),
}
#: The decorator of the standard library, on one line, and the imports that tell that it is that one.
_PLAIN = re.compile(r"@(?:dataclasses\.)?dataclass(?:\([^()]*\))?$")
_IMPORT = re.compile(r"^from[ \t]+(\S+)[ \t]+import[ \t]+(?:[^\n(]*|\([^)]*)\bdataclass\b", re.MULTILINE)


#: What begins with letters is found several times as fast as what begins a word.
_DELETING = re.compile(r"del(?<!\wdel)[ (]")
#: The last part of the name of a decorator.
_DECORATOR = re.compile(r"^[ \t]*@(?:\w+\.)*(\w+)", re.MULTILINE)
#: Those of decorators that transform no function.
_HARMLESS = frozenset(name.rpartition(".")[2] for name in (*WRAPPERS, *BY_DECORATOR)) | {
    "compact",
    "setter",
    "overload",
}


class Declared(msgspec.Struct, frozen=True):
    """What a text may declare: classes with decorators, and classes with bases that are called like a framework's.

    `registers` says that any class may be made a pytree later, `makes_of_subclasses` that so may be those that inherit.
    """

    decorated: frozenset[str] = frozenset()
    inheriting: dict[str, frozenset[str]] = {}
    registers: bool = False
    makes_of_subclasses: bool = False


NOTHING = Declared()


class Reader:
    """Reads texts; `decorators` and `bases` are further dotted names that the user has configured."""

    def __init__(self, decorators: tuple[str, ...], bases: tuple[str, ...]) -> None:
        self._bases = frozenset(name.rpartition(".")[2] for name in (*BY_BASE, *bases))
        known = (*_DECLARING, *sorted(self._bases))
        lasts = {name.rpartition(".")[2] for name in (*BY_DECORATOR, *decorators)}
        self._words = (*known, *sorted(last for last in lasts if not any(word in last for word in known)))

    def read(self, text: str, installed: bool) -> Declared:
        """What a text may declare."""
        is_known = any(word in text for word in self._words)
        # a decorator of the user's own may be called as it likes
        may_be_own = not is_known and not installed and "\n@" in text
        if not is_known and not may_be_own:
            return NOTHING
        if (installed or may_be_own) and not any(word in text for word in _FRAMEWORKS):
            return NOTHING
        decorated: set[str] = set()
        inheriting: dict[str, frozenset[str]] = {}
        for indent, name, bases, start in ((m[1], m[2], m[3], m.start()) for m in _CLASS.finditer(f"\n{text}")):
            if _is_decorated(text, indent, start):
                decorated.add(name)
            inheriting[name] = self._bases.intersection(_WORD.findall(bases))
        if may_be_own and not decorated:
            return NOTHING
        registers = any(word in text for word in _REGISTERING)
        return Declared(frozenset(decorated), inheriting, registers, "__init_subclass__" in text)


class Inherited(NamedTuple):
    """Of which classes those of a text may inherit, by name; `others` of classes that are declared elsewhere, too."""

    names: frozenset[str] = frozenset()
    others: bool = False

    def may_hold(self, name: str) -> bool:
        """Whether classes of the text may inherit from the class of that name."""
        return self.others or name in self.names


def inherited_in(text: str) -> Inherited:
    """Of which classes those of a text may inherit."""
    found = [(match[2], match[3]) for match in _CLASS.finditer(f"\n{text}")]
    names = frozenset(word for _, bases in found for word in _WORD.findall(bases))
    return Inherited(names, not names <= _NO_OWN_BASES | {declared for declared, _ in found})


def may_delete(text: str) -> bool:
    """Whether there may be a `del` statement in a text."""
    return ("del " in text or "del(" in text) and _DELETING.search(text) is not None


def may_transform(text: str) -> bool:
    """Whether something in a text may apply a transformation of JAX to one of its functions."""
    words = (word for word in LAST_NAMES if word in text)
    if any(re.search(rf"\b{word}\b", text) for word in words):
        return True
    return any(name not in _HARMLESS for name in _DECORATOR.findall(text))


@cache
def passing_on(name: str) -> Callable[[str], bool]:
    """What says whether a text has the name of a function elsewhere than where that is declared or called."""
    passed = re.compile(rf"{name}(?<!\w{name})(?<!\bdef {name})(?![\w(])")
    return lambda text: passed.search(text) is not None


def imports_framework(tree: MypyFile) -> bool:
    """Whether a module that mypy has parsed names one of the frameworks, or of their modules, in an import."""
    names: list[str] = []
    for statement in tree.imports:
        if isinstance(statement, Import):
            names += [name for name, _ in statement.ids]
        elif isinstance(statement, (ImportFrom, ImportAll)):
            names.append(statement.id)
            if isinstance(statement, ImportFrom):
                names += [name for name, _ in statement.names]
    return _FRAMEWORK.search("\n".join(names)) is not None


def _is_decorated(text: str, indent: str, start: int) -> bool:
    """Whether a class statement has decorators, other than that of the standard library."""
    above = text[max(0, start - 2000) : start].splitlines()
    while above and not above[-1].strip():
        above.pop()
    if not above or not (above[-1].lstrip().startswith(("@", "#", ")")) or above[-1].rstrip().endswith(")")):
        return False
    found: list[str] = []
    for line in reversed(above):
        if not line.strip() or line.startswith((f"{indent}class ", f"{indent}def ")):
            break  # what is above belongs to something else
        if line.startswith(f"{indent}@"):
            found.append(line.strip())
    if len(found) == 1 and _PLAIN.match(found[0]):
        return not _is_plain(found[0], text)
    return bool(found)


def _is_plain(line: str, text: str) -> bool:
    """Whether a decorator that is called like that of the standard library is that one."""
    if "." in line.partition("(")[0]:
        return "\nimport dataclasses\n" in text
    return {match[1] for match in _IMPORT.finditer(text)} == {"dataclasses"}
