"""The one door from module to module: which modules lead to which others, noted while a project is checked.

Whatever the check of a file knows of another one, it got there from a module that it had already: by an import, as a
part of a package, as who imports it, as who inherits from a class in it, or as who applies something to a function in
it. Each of these ways is a method of `Project` that wants to know where it starts, and notes both ends here. What is
found in a file, and what it adds to the index, then depends on the texts of the modules that it leads to, on the index,
and on nothing else: a rule may ask what it likes of a module that it has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping


class Reached:
    """The paths of the modules that were reached from a module, by its path."""

    def __init__(self, known: Mapping[str, Iterable[str]] | None = None) -> None:
        self.by: dict[str, set[str]] = {path: set(reached) for path, reached in (known or {}).items()}

    def note(self, start: str, path: str) -> None:
        """Note that one module was reached from another."""
        if start != path:
            self.by.setdefault(start, set()).add(path)

    def add(self, other: Mapping[str, Iterable[str]]) -> None:
        """Add what was noted earlier, or in another process."""
        for start, paths in other.items():
            self.by.setdefault(start, set()).update(paths)

    def without(self, changed: Collection[str]) -> dict[str, set[str]]:
        """What holds when the texts of some modules have changed: where these lead is asked again."""
        return {start: paths for start, paths in self.by.items() if start not in changed}

    def dependents(self, changed: Iterable[str]) -> set[str]:
        """The modules whose findings depend on the texts of some modules: these, and those that lead to them."""
        back: dict[str, list[str]] = {}
        for start, paths in self.by.items():
            for path in paths:
                back.setdefault(path, []).append(start)
        return closed_over(changed, back)


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
