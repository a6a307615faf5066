"""The variables that are in sight at one point of a function, with what is known of their values."""

from __future__ import annotations

from jaxlint.infer.values import UNKNOWN, Value, join
from jaxlint.project import Module


class Environment:
    """Variables by name, and by dotted path (`self.state`) where an attribute was just assigned.

    `locals` are the names that belong to the function; a name that is not among them is looked up in the
    enclosing functions and then in the module.
    """

    def __init__(
        self, module: Module, scope: str, locals_: frozenset[str] = frozenset(), outer: Environment | None = None
    ) -> None:
        self.module = module
        self.scope = scope
        self.locals = locals_
        self.outer = outer
        self.values: dict[str, Value] = {}
        #: Whether there may be dotted paths among the values.
        self.has_paths = False
        #: Code after `return`, `raise`, `break` or `continue` is not reached.
        self.dead = False
        #: Names that are bound to the `as` target of `copy_and_mutate`, or that a context manager may make mutable.
        self.mutable_copies: frozenset[str] = frozenset()

    def copy(self) -> Environment:
        """An independent copy, for a branch."""
        other = Environment(self.module, self.scope, self.locals, self.outer)
        other.values = dict(self.values)
        other.has_paths = self.has_paths
        other.dead = self.dead
        other.mutable_copies = self.mutable_copies
        return other

    def become(self, other: Environment) -> None:
        """Take over the state of another environment of the same function."""
        self.values = other.values
        self.has_paths = other.has_paths
        self.dead = other.dead
        self.mutable_copies = other.mutable_copies

    def lookup(self, name: str) -> Value | None:
        """The value of a local or enclosing function's variable; None if the name is not one."""
        env: Environment | None = self
        while env is not None:
            if name in env.values:
                return env.values[name]
            if name in env.locals:
                return UNKNOWN
            env = env.outer
        return None

    def bind(self, name: str, value: Value) -> None:
        """Assign a variable (or a dotted path); what was known of its attributes is forgotten."""
        self.forget(name)
        if self.mutable_copies:
            self.mutable_copies -= {name}
        self.has_paths = self.has_paths or "." in name
        self.values[name] = value

    def forget(self, root: str) -> None:
        """Drop what is known of the attributes of `root`."""
        if not self.has_paths:
            return
        prefix = root + "."
        for key in [k for k in self.values if k.startswith(prefix)]:
            del self.values[key]


def merge(branches: list[Environment]) -> Environment:
    """The state after several branches meet; dead ones do not count."""
    alive = [b for b in branches if not b.dead]
    if not alive:
        return branches[0].copy()
    result = alive[0].copy()
    for other in alive[1:]:
        result.has_paths = result.has_paths or other.has_paths
        for name in set(result.values) | set(other.values):
            mine, theirs = result.values.get(name), other.values.get(name)
            if mine is None or theirs is None:
                if "." in name:
                    result.values.pop(name, None)
                else:
                    result.values[name] = UNKNOWN if mine is None and theirs is None else (mine or theirs)  # type: ignore[assignment]
            else:
                result.values[name] = join(mine, theirs)
        result.mutable_copies &= other.mutable_copies
    return result
