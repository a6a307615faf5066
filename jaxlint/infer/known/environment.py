"""The variables that are in sight at one point of a function, with what is known of their values."""

from __future__ import annotations

from collections.abc import Iterable

from jaxlint.infer.known.by_fields import VariablesByFields
from jaxlint.infer.known.deferred import Deferred, Held, known
from jaxlint.infer.known.values import UNKNOWN, Container, FieldRead, UnknownValue, Value, join
from jaxlint.project.modules import Module
from jaxlint.syntax.expressions import Expr, Name
from jaxlint.syntax.statements import parts


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
        self.values: dict[str, Held] = {}
        #: The variables that there may be dotted paths of among the values.
        self.roots: frozenset[str] = frozenset()
        #: Code after `return`, `raise`, `break` or `continue` is not reached.
        self.dead = False
        #: Names that are bound to the `as` target of `copy_and_mutate`, or that a context manager may make mutable.
        self.mutable_copies: frozenset[str] = frozenset()
        #: Variables that may hold parts of these.
        self.mutable_parts: frozenset[str] = frozenset()
        #: Expressions of variables that were found equal to a constant, with its value.
        self.equal: tuple[tuple[Expr, object], ...] = ()
        #: Whether something is known of parameters because calls that were seen pass it, and nothing else says so.
        self.is_given = False
        #: Variables that tell of what kind other ones are: `is_state = isinstance(x, State)`.
        self.telling: dict[str, frozenset[str]] = {}
        #: What variables are of which nothing else tells.
        self.by_fields: VariablesByFields | None = None

    def copy(self) -> Environment:
        """An independent copy, for a branch."""
        other = Environment(self.module, self.scope, self.locals, self.outer)
        other.values = dict(self.values)
        other.roots, other.by_fields = self.roots, self.by_fields
        other.dead = self.dead
        other.mutable_copies, other.mutable_parts = self.mutable_copies, self.mutable_parts
        other.equal, other.is_given, other.telling = self.equal, self.is_given, self.telling
        return other

    def part(self, names: Iterable[str]) -> Environment:
        """A copy in which only these variables are known, with their attributes."""
        other = Environment(self.module, self.scope, self.locals, self.outer)
        values, other.by_fields = self.values, self.by_fields
        other.values = {name: values[name] for name in names if name in values}
        roots = self.roots.intersection(names) if self.roots else None
        if roots:
            other.roots = frozenset(roots)
            other.values |= {path: held for path, held in values.items() if path.partition(".")[0] in roots}
        other.mutable_copies, other.mutable_parts = self.mutable_copies, self.mutable_parts
        return other

    def become(self, other: Environment) -> None:
        """Take over the state of another environment of the same function."""
        self.values = other.values
        self.roots = other.roots
        self.dead = other.dead
        self.mutable_copies, self.mutable_parts = other.mutable_copies, other.mutable_parts
        self.equal, self.telling = other.equal, other.telling

    def lookup(self, name: str) -> Value | None:
        """The value of a local or enclosing function's variable; None if the name is not one."""
        env: Environment | None = self
        while env is not None:
            held = env.values.get(name)
            if held is not None:
                value = known(held)
                if type(value) is UnknownValue and env.by_fields is not None:
                    return env.by_fields.get(name) or value
                return value
            if name in env.locals:
                return UNKNOWN
            env = env.outer
        return None

    def get(self, path: str) -> Value | None:
        """What this environment itself knows of a variable or a dotted path."""
        held = self.values.get(path)
        return None if held is None else known(held)

    def is_variable(self, name: str) -> bool:
        """Whether a name is a variable of this function or of one around it."""
        env: Environment | None = self
        while env is not None:
            if name in env.values or name in env.locals:
                return True
            env = env.outer
        return False

    def bind(self, name: str, value: Held) -> None:
        """Assign a variable (or a dotted path); what was known of its attributes is forgotten."""
        self.forget(name)
        if self.mutable_copies:
            self.mutable_copies -= {name}
            self.mutable_parts -= {name}
        if self.equal:
            changed = name.partition(".")[0]
            self.equal = tuple(
                fact for fact in self.equal if all(not isinstance(p, Name) or p.id != changed for p in parts(fact[0]))
            )
        if "." in name:
            self.roots |= {name.partition(".")[0]}
        self.values[name] = value

    def may_be_mutable(self, expr: Expr) -> bool:
        """Whether an expression may stand for a mutable copy or for a part of one."""
        if not (self.mutable_copies or self.mutable_parts):
            return False
        mutable = self.mutable_copies | self.mutable_parts
        return any(isinstance(part, Name) and part.id in mutable for part in parts(expr))

    def forget(self, path: str) -> None:
        """Drop what is known of the attributes of a variable or a dotted path."""
        if not self.roots or path.partition(".")[0] not in self.roots:
            return
        self.roots -= {path}
        prefix = path + "."
        for key in [k for k in self.values if k.startswith(prefix)]:
            del self.values[key]


def merge(branches: list[Environment]) -> Environment:
    """The state after several branches meet; dead ones do not count."""
    alive = [b for b in branches if not b.dead]
    if not alive:
        return branches[0].copy()
    result = alive[0].copy()
    for other in alive[1:]:
        result.roots |= other.roots
        _merge(result.values, other.values)
        result.mutable_copies &= other.mutable_copies
        result.mutable_parts |= other.mutable_parts
        result.equal = tuple(fact for fact in result.equal if fact in other.equal)
        if other.telling is not result.telling:
            result.telling = result.telling | other.telling
    return result


def _merge(mine: dict[str, Held], theirs: dict[str, Held]) -> None:
    """Make of what one branch knows what both know."""
    for name, held in theirs.items():
        before = mine.get(name)
        if before is held:
            continue
        if before is not None:
            mine[name] = either(before, held)
        elif "." not in name:
            mine[name] = held
    for name in [name for name in mine if name not in theirs and "." in name]:
        del mine[name]


def either(a: Held, b: Held) -> Held:
    """What is one of two."""
    if isinstance(a, Deferred) or isinstance(b, Deferred):
        return Deferred(lambda: join(known(a), known(b)), (a, b))
    return join(a, b)


def set_contents(name: str, contents: Container, env: Environment) -> None:
    """A variable holds the same container with other items: what a field of an instance holds, if it did before."""
    before = env.get(name)
    if isinstance(before, FieldRead):
        env.values[name] = FieldRead(contents, before.cls, before.field, by_fields=before.by_fields)
    else:
        env.values[name] = contents
