"""The leaves of instances that are certainly traced in a body: those of what a transformation has rebuilt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from jaxlint.infer.applied import Applied, rebuilt_parameters
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import CodeRead
from jaxlint.infer.values import UNKNOWN, Instance, Value, plain
from jaxlint.libraries.transforms import Kind
from jaxlint.pytrees.markers import static_marker
from jaxlint.pytrees.model import Field, PytreeClass, Role
from jaxlint.syntax.expressions import Attribute, Expr, Name, dotted
from jaxlint.syntax.statements import Assign, Augment, Body, Statement, assigned_names, bound_by, target_names, walk

#: Transformations in whose functions numbers are abstract, too: they have no value that Python could ask for.
ABSTRACTING = frozenset({Kind.JIT, Kind.LOOP, Kind.BRANCH, Kind.CHECKPOINT})


class Leaf(msgspec.Struct, frozen=True):
    """A leaf that an expression reads: the field, of which class, and what it is by its annotation."""

    cls: PytreeClass
    field: Field
    value: Value


def abstracting(applied: Iterable[Applied]) -> list[Applied]:
    """The transformations of JAX itself that trace numbers like arrays."""
    found = [a for a in applied if a.transform.kind in ABSTRACTING and not a.transform.filters]
    return [a for a in found if a.transform.name.startswith(("jax.", "jax_dataclasses."))]


def traced_parameters(code: CodeRead) -> dict[str, Value]:
    """The parameters of a function that are certainly traced, with what they are."""
    function = code.function
    applied = abstracting(code.applied)
    if function is None or not applied:
        return {}
    rebuilt = rebuilt_parameters(function, applied)
    return {name: code.parameters.get(name, UNKNOWN) for name in rebuilt}


class TracedLeaves:
    """Tells which expressions of a body read a leaf of a traced instance."""

    def __init__(self, instances: Mapping[str, Value], body: Body, evaluator: Evaluator) -> None:
        assigned = assigned_names(body)
        self._evaluator = evaluator
        self._instances = {name: value for name, value in instances.items() if name not in assigned}
        #: The variables that are bound once, to what.
        self._aliases: dict[str, Expr] = {}
        bound = Counter(name for statement in walk(body) for name in _bound(statement))
        for statement in walk(body, nested=False):
            match statement:
                case Assign(targets=(Name(id=name),), value=value) if bound[name] == 1 and name not in instances:
                    self._aliases[name] = value

    def instance(self, expr: Expr) -> Instance | None:
        """The traced instance that an expression is."""
        value = plain(self._value(expr, 0)[0])
        return value if isinstance(value, Instance) and value.cls.is_pytree else None

    def leaf(self, expr: Expr) -> Leaf | None:
        """The leaf that an expression is."""
        return self._value(expr, 0)[1]

    def _value(self, expr: Expr, depth: int) -> tuple[Value, Leaf | None]:
        if depth > 6:
            return UNKNOWN, None
        match expr:
            case Name(id=name) if name in self._instances:
                return self._instances[name], None
            case Name(id=name) if name in self._aliases and dotted(self._aliases[name]) is not None:
                return self._value(self._aliases[name], depth + 1)
            case Attribute(value=held, attr=attr):
                owner = plain(self._value(held, depth + 1)[0])
                if not isinstance(owner, Instance) or not owner.cls.is_pytree:
                    return UNKNOWN, None
                field = owner.cls.field(attr)
                if field is None or field.role is not Role.LEAF or field.annotation is None:
                    return UNKNOWN, None
                if static_marker(field, self._evaluator.model) is not None or owner.cls.binds(attr):
                    return UNKNOWN, None  # JAX203's, or an attribute of the class
                value = self._evaluator.annotations.read(field.annotation, owner.cls)
                return value, Leaf(owner.cls, field, value)
        return UNKNOWN, None


def _bound(statement: Statement) -> Iterator[str]:
    """The variables that a statement binds itself."""
    targets = (statement.target,) if isinstance(statement, Augment) else bound_by(statement)
    return (name for target in targets for name in target_names(target))
