"""JAX406 forced-setattr."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.finding import Confidence, Severity
from jaxlint.infer.bodies.slots import bindings_of, slot_of
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import Instance, plain
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.rules.analyses.changes.purposes import is_cache
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.analyses.instances.methods import MAKING
from jaxlint.rules.analyses.rebuilding.frozen import is_called_only_by
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.syntax.expressions import Attribute, Call, Constant, Expr, Name, Subscript
from jaxlint.syntax.statements import Assign, Statement, own_parts

#: Where going past the class is what everybody does.
_FREE = MAKING | {"__check_init__", "__setattr__", "__init_subclass__", "__set__", "__set_name__"}
_WRITING = frozenset({"update", "setdefault", "pop", "clear", "popitem"})


class ForcedSetattr(BodyRule):
    """
    ## What it does

    Finds frozen instances that are changed all the same, by `object.__setattr__` or through their `__dict__`, outside
    of the code that makes them.

    ## Why is this bad?

    Frozen instances are shared: an update makes a copy that holds the same parts, a default is one object for all, and
    a compiled function keeps what it was given. Whoever holds the instance sees it change, and what was compiled does
    not. Under a transformation the change is made to a copy, which is lost.

    ## What you will see

    No error. Another state changes, too, or nothing does: `count 0` after three compiled steps. A tracer that leaks:
    `UnexpectedTracerError`.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class State:
        x: jax.Array
        count: int = 0

        def visit(self) -> jax.Array:
            object.__setattr__(self, "count", self.count + 1)
            return self.x
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class State:
        x: jax.Array
        count: int = 0

        def visit(self) -> "tuple[State, jax.Array]":
            return self.replace(count=self.count + 1), self.x
    ```

    ## Frameworks

    All whose instances are frozen.

    ## Fix safety

    There is no automatic fix.

    ## When not to use it

    What the function has made itself may be changed, and is not reported. Nor are values that are computed once and
    kept (`if self.table is None`): they are harmless as long as they depend on nothing that is traced.

    ## References

    - [dataclasses: frozen instances](https://docs.python.org/3/library/dataclasses.html#frozen-instances)
    - [zodiax #29](https://github.com/LouisDesdoigts/zodiax/issues/29)
    """

    code = "JAX406"
    name = "forced-setattr"
    group = "updates"
    severity = Severity.WARNING
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    enabled = False
    instance_calls = frozenset({"vars"})

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look for writes that go past the class."""
        function, owner = code.function, code.place.owner
        if function is None or function.name in _FREE:
            return
        written = [found for s in code.statements for found in _written(s)]
        if not written:
            return
        for at, base, what in written:
            instance = _shared(base, code, evaluator)
            if instance is None or instance.cls.frozen is not True:
                continue
            cls = instance.cls
            family = (*cls.mro, *evaluator.model.subclasses(cls))
            place = slot_of(base)
            if place is not None and is_cache(place.below(what.strip("`")), code.body):
                continue
            if owner is not None and owner in cls.mro and is_called_only_by(function.name, family, _FREE):
                continue
            yield _problem(at, cls, what)


def _shared(base: Expr, code: CodeRead, evaluator: Evaluator) -> Instance | None:
    """The instance that an expression stands for, if it was there before the function was called.

    It is what a parameter or a variable of the module holds, or a part of that, under a name of its own perhaps.
    """
    own, instance = code.contents.bound, LocalInstances.of(code, evaluator).instance(base)
    where = slot_of(base)
    if where is not None and where.root in own and not where.path:
        bound = [b for s in code.statements for b in bindings_of(s) if b.name == where.root]
        given = next((s.value for s in code.statements if isinstance(s, Assign) and _binds(s, where.root)), None)
        if given is None or len(bound) != 1:
            return None
        base, where = given, slot_of(given)
    if where is None or where.root in own:
        return None
    if where.root in code.parameters:
        return instance
    value = plain(evaluator.static(Placed(base, code.place.module, code.scope)))
    return value if isinstance(value, Instance) and value.cls.is_pytree else None


def _binds(statement: Assign, name: str) -> bool:
    """Whether a statement gives a variable all of its value."""
    return any(isinstance(target, Name) and target.id == name for target in statement.targets)


def _written(statement: Statement) -> Iterator[tuple[object, Expr, str]]:
    """A write past the class: its place, the instance, and the attribute."""
    for part in own_parts(statement):
        match part:
            case Call(
                func=Attribute(value=Name(id="object"), attr="__setattr__" | "__delattr__"), args=(base, name, *_)
            ):
                text = name.value
                yield part.at, base.value, f"`{text.value}`" if isinstance(text, Constant) else "an attribute"
            case Call(func=Attribute(value=held, attr=method)) if method in _WRITING and _holder(held) is not None:
                base_of = _holder(held)
                if base_of is not None:
                    yield part.at, base_of, "`__dict__`"
    for target in statement.targets if isinstance(statement, Assign) else ():
        base_of = _holder(target.value) if isinstance(target, Subscript) else None
        if base_of is not None and isinstance(target, Subscript):
            index = target.index
            yield target.at, base_of, f"`{index.value}`" if isinstance(index, Constant) else "`__dict__`"


def _holder(expr: Expr) -> Expr | None:
    """The instance whose `__dict__` an expression is."""
    match expr:
        case Attribute(value=value, attr="__dict__"):
            return value
        case Call(func=Name(id="vars"), args=(argument,)):
            return argument.value
    return None


def _problem(at: object, cls: PytreeClass, what: str) -> Problem:
    way_out = "return an updated copy"
    return Problem(
        at=at,
        message=(
            f"this changes {what} of a frozen `{cls.name}` in place: everybody who holds the instance sees it, compiled"
            f" functions do not; {way_out}"
        ),
        reason="frozen instances are shared by their copies, and under a transformation the change is lost",
        help=way_out,
    )
