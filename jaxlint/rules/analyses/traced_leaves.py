"""The leaves of instances that are certainly traced in a body: those of what a transformation has rebuilt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache

import msgspec

from jaxlint.infer.applied import Applied, rebuilt_parameters
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import CodeRead
from jaxlint.infer.values import UNKNOWN, Instance, Value, plain
from jaxlint.libraries.transforms import Kind
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.markers import static_marker
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.syntax.expressions import Attribute, Expr, Name, dotted
from jaxlint.syntax.statements import Assign, Augment, Body, Statement, assigned_names, bound_by, target_names, walk

#: Transformations in whose functions numbers are abstract, too: they have no value that Python could ask for.
ABSTRACTING = (Kind.JIT, Kind.LOOP, Kind.BRANCH, Kind.CHECKPOINT)


class Leaf(msgspec.Struct, frozen=True):
    """A leaf that an expression reads: the field, of which class, and what it is by its annotation."""

    cls: PytreeClass
    field: Field
    value: Value


def abstracting(applied: Iterable[Applied]) -> list[Applied]:
    """The transformations of JAX itself that trace numbers like arrays."""
    found = [a for a in applied if a.transform.kind in ABSTRACTING and not a.transform.filters]
    return [a for a in found if a.transform.name.startswith(("jax.", "jax_dataclasses."))]


def traced_parameters(code: CodeRead) -> Mapping[str, Value]:
    """The parameters of a function that are certainly traced, with what they are."""
    if traced_parameters not in code.shared:
        code.shared[traced_parameters] = _traced_parameters(code)
    found: Mapping[str, Value] = code.shared[traced_parameters]
    return found


def _traced_parameters(code: CodeRead) -> Mapping[str, Value]:
    function = code.function
    applied = abstracting(code.applied)
    if function is None or not applied:
        return {}
    rebuilt = rebuilt_parameters(function, applied)
    return {name: code.parameters.get(name, UNKNOWN) for name in rebuilt}


def mapped_parameters(code: CodeRead) -> dict[str, Value]:
    """The parameters of a function that `jax.vmap` certainly maps over: numbers in them are tracers, too."""
    function = code.function
    mapping = [a for a in code.applied if a.transform.name == "jax.vmap" and not a.options]
    if function is None or len(mapping) != len(code.applied) or not mapping:
        return {}
    rebuilt = rebuilt_parameters(function, mapping)
    return {name: code.parameters.get(name, UNKNOWN) for name in rebuilt}


class TracedLeaves:
    """Tells which expressions of a body read a leaf of a traced instance."""

    def __init__(self, instances: Mapping[str, Value], body: Body, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._body = body
        self._given = instances

    @cached_property
    def _instances(self) -> dict[str, Value]:
        """The instances that are given, but for variables that are bound anew."""
        assigned = assigned_names(self._body) if self._given else ()
        return {name: value for name, value in self._given.items() if name not in assigned}

    @cached_property
    def _aliases(self) -> dict[str, Expr]:
        """The other variables that are bound once, to what."""
        return {name: value for name, value in _bound_once(self._body).items() if name not in self._given}

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


@lru_cache(maxsize=16)
def _bound_once(body: Body) -> Mapping[str, Expr]:
    """The variables that a body and the functions in it bind once, by an assignment of the body, to what."""
    bound = Counter(name for statement in walk(body) for name in _bound(statement))
    assigned = [s for s in walk(body, nested=False) if isinstance(s, Assign) and len(s.targets) == 1]
    names = [(s.targets[0].id, s.value) for s in assigned if isinstance(s.targets[0], Name)]
    return {name: value for name, value in names if bound[name] == 1}


def _bound(statement: Statement) -> Iterator[str]:
    """The variables that a statement binds itself."""
    targets = (statement.target,) if isinstance(statement, Augment) else bound_by(statement)
    return (name for target in targets for name in target_names(target))
