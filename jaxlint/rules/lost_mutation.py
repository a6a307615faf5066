"""JAX501 lost-mutation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxlint.expr import Attribute, Binary, Call, Constant, Expr, Name
from jaxlint.finding import Confidence
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import AssignAttribute, CallMethod, CodeRead, MutateField
from jaxlint.infer.usage import Changed, Slot, changed_by, origin, slot_of
from jaxlint.infer.values import UNKNOWN, Container, Instance, UnknownValue, Value, as_instance, element_of, plain
from jaxlint.outline import Function
from jaxlint.pytrees.model import PytreeClass, Role
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.statements import (
    Assign,
    Augment,
    Body,
    Delete,
    Do,
    If,
    Statement,
    assigned_names,
    blocks,
    parts,
    walk,
)
from jaxlint.transforms import Applied, Kind, rebuilt_parameters

#: Frameworks whose modules have a rule of their own.
_MODULES = frozenset({"flax.nnx", "treex"})
#: Attributes that are meant to be written while tracing.
_ABOUT_TRACING = ("trac", "compil", "jitted")
#: Transformations that trace a function less often than it runs.
_TRACED_RARELY = frozenset({Kind.JIT, Kind.LOOP, Kind.BRANCH})
_CONTAINERS = ("dict", "list", "mapping", "set")
_MAX_DEPTH = 4


@dataclass(frozen=True)
class _Mutation:
    """A change in place of what is at a slot."""

    at: object
    slot: Slot
    #: The class whose attribute is assigned; None where an item of a container is.
    cls: PytreeClass | None = None
    #: The class of the instance that holds what is changed, if it is known.
    owner: PytreeClass | None = None
    #: Whether the new value is made from the old one.
    updates: bool = False
    #: Whether it is certainly meant to last: to count is of no use in a single call.
    lasting: bool = False

    @property
    def text(self) -> str:
        """What is changed: the attribute, or the container of the item, with the class that it belongs to."""
        path = self.slot.path
        items = [i for i, step in enumerate(path) if step.startswith("[")]
        text = ".".join((self.slot.root, *path[: items[0] if items else None]))
        return f"`{text}`" if self.owner is None else f"`{text}` of `{self.owner.name}`"


class LostMutation(BodyRule):
    """
    ## What it does

    Finds transformed functions that change `self`, an argument or a dict inside of it in place and do not return it.

    ## Why is this bad?

    `jax.jit`, `jax.vmap`, `jax.grad`, `lax.scan` and kin take their arguments apart and hand the function new
    instances that hold tracers. What the function writes into those is gone when it returns, unless it returns them. A
    `self` that is static, or that an inner function refers to, is not rebuilt: then the assignment runs while the
    function is traced, once per compilation, and leaves a tracer behind.

    ## What you will see

    No error: the object of the caller keeps its old value (a counter stays 0, or 1 after any number of
    calls). Where a tracer was left behind, `UnexpectedTracerError` at its next use.

    ## Example

    ```python
    import chex
    import jax
    import jax.numpy as jnp

    @chex.dataclass
    class Meter:
        total: chex.Array

        @jax.jit
        def add(self, x: chex.Array) -> chex.Array:
            self.total = self.total + jnp.sum(x)
            return x * 2.0
    ```

    ## Use instead

    ```python
    import chex
    import jax
    import jax.numpy as jnp

    @chex.dataclass
    class Meter:
        total: chex.Array

        @jax.jit
        def add(self, x: chex.Array) -> tuple["Meter", chex.Array]:
            return self.replace(total=self.total + jnp.sum(x)), x * 2.0
    ```

    ## Frameworks

    Mutable instances: chex, register_dataclass over a dataclass that is not frozen, flax.struct and tjax with
    `frozen=False`, simple_pytree with `mutable=True`, register_pytree_node_class; ordinary classes whose `self` is
    static or closed over; and dicts and lists inside of any pytree. flax.nnx and treex modules are JAX502's.

    ## Fix safety

    There is no automatic fix.

    ## When not to use it

    An object that is changed and then used in the same function is not reported, nor is one that is returned. Names
    that speak of tracing (`self.traces += 1`) are taken to be meant.

    ## References

    - [JAX: pure functions](https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html#pure-functions)
    - [jax #12773](https://github.com/jax-ml/jax/issues/12773), [jax #18910](https://github.com/jax-ml/jax/issues/18910)
    """

    code = "JAX501"
    name = "lost-mutation"
    group = "transformations"
    since = "0.1.0"

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a transformed function changes."""
        function = code.function
        if function is None or function.is_generator or function.is_async:
            return
        applied = [a for a in code.applied if a.transform.rebuilds]
        if not applied or any(a.transform.propagates for a in code.applied):
            return
        rebuilt = rebuilt_parameters(function, applied)
        parameters = frozenset(p.name for p in function.parameters)
        own = assigned_names(code.body)
        found: list[tuple[_Mutation, Slot, bool]] = []
        for mutation in _mutations(code):
            slot = origin(mutation.slot, code.body, parameters)
            if slot is not None and slot.root in rebuilt:
                certain = _is_rebuilt(mutation, slot, code, evaluator)
                if certain is not None:
                    found.append((mutation, slot, certain))
            elif mutation.cls is not None and mutation.slot.root not in own:
                yield from _while_tracing(mutation, mutation.cls, code, function)
        for mutation, slot, certain in _unused(found, code.body):
            first = next(a for a in applied if slot.root in a.rebuilt_parameters(function))
            yield _lost(mutation, slot.root, function, first, certain)


# -- what is changed --------------------------------------------------------------------------


def _mutations(code: CodeRead) -> Iterator[_Mutation]:
    """The changes in place, each once."""
    changes = {id(at): (at, s, slot) for s in walk(code.body, nested=False) for at, slot in changed_by(s)}
    for event in code.events:
        match event:
            case AssignAttribute(at=at, receiver=receiver, receiver_text=str(text), attr=attr):
                _, statement, slot = changes.pop(id(at), (at, None, Slot(*_split(text)).below(attr)))
                if attr and not event.alternatives and _may_change(receiver.cls):
                    yield _Mutation(at, slot, receiver.cls, receiver.cls, *_purpose(statement, slot, event.on_self))
            case MutateField(at=at) if id(at) in changes:
                _, statement, slot = changes.pop(id(at))
                if _is_container_field(event):
                    yield _Mutation(at, slot, None, event.receiver.cls, *_purpose(statement, slot, False))
            case CallMethod(call=Call(func=Attribute() as func)):
                yield from _by_method(event, func, code)
    for at, statement, slot in changes.values():
        if all(step.startswith("[") for step in slot.path) and not _removes(statement):
            yield _Mutation(at, slot, None, None, *_purpose(statement, slot, False))


def _removes(statement: Statement) -> bool:
    """Whether a statement only removes something, which is often meant for this call alone."""
    match statement:
        case Delete() | Do(value=Call(func=Attribute(attr="pop" | "popitem" | "clear" | "remove" | "discard"))):
            return True
    return False


def _split(text: str) -> tuple[str, tuple[str, ...]]:
    root, *path = text.split(".")
    return root, tuple(path)


def _may_change(cls: PytreeClass) -> bool:
    """Whether the instances of a class are changed here: those of mutable pytrees and of ordinary classes."""
    if cls.framework.id in _MODULES:
        return False
    return not cls.is_pytree or (cls.frozen is False and cls.registered is not False)


def _is_container_field(event: MutateField) -> bool:
    """Whether a leaf is changed that is a list, a dict or the like."""
    field, held = event.receiver.cls.field(event.field), plain(event.held)
    if event.receiver.cls.framework.id in _MODULES or field is None or field.role is not Role.LEAF:
        return False
    return event.how != "attribute" and isinstance(held, Container) and held.kind in _CONTAINERS


def _by_method(event: CallMethod, func: Attribute, code: CodeRead) -> Iterator[_Mutation]:
    """`receiver.method()`, where the method assigns an attribute of a mutable pytree and does not return it."""
    receiver, slot = event.receiver, slot_of(func.value)
    if (
        not isinstance(receiver, Instance)
        or slot is None
        or not receiver.cls.is_pytree
        or not _may_change(receiver.cls)
    ):
        return
    attr = _assigned_in(receiver.cls, event.name)
    if attr is not None:
        on_self = code.place.method is not None and slot == Slot(code.place.method.self_name or "")
        yield _Mutation(event.at, slot.below(attr), receiver.cls, receiver.cls, True, on_self)


def _assigned_in(cls: PytreeClass, name: str, depth: int = 0) -> str | None:
    """The first attribute that a method assigns on its `self`, unless it returns that."""
    found = cls.method(name)
    if found is None or depth > _MAX_DEPTH or found[1].self_name is None:
        return None
    method = found[1]
    for value in method.return_values:
        if any(isinstance(p, Name) and p.id == method.self_name for p in (value, *getattr(value, "items", ()))):
            return None
    if method.self_assignments:
        return method.self_assignments[0].attr
    inner = (_assigned_in(cls, called, depth + 1) for called in sorted(method.self_calls - {name}))
    return next((attr for attr in inner if attr is not None), None)


def _purpose(statement: Statement | None, slot: Slot, on_self: bool) -> tuple[bool, bool]:
    """Whether the new value is made from the old one, and whether that is certainly meant to last.

    It is where something is counted, and where a method updates an attribute of its own.
    """
    match statement:
        case Augment(op=op, value=value):
            return True, on_self or (op in ("+", "-") and _is_number(value))
        case Assign(value=value):
            updates = any(slot_of(part) == slot for part in parts(value))
            return updates, updates and (on_self or _counts(value, slot))
    return False, False


def _counts(value: Expr, slot: Slot) -> bool:
    """Whether a value is that of the slot plus a number."""
    if not isinstance(value, Binary) or value.op not in ("+", "-"):
        return False
    pairs = ((value.left, value.right), (value.right, value.left))
    return any(slot_of(one) == slot and _is_number(other) for one, other in pairs)


def _is_number(expr: Expr) -> bool:
    return isinstance(expr, Constant) and expr.kind in ("int", "float")


# -- arguments ---------------------------------------------------------------------------------


def _is_rebuilt(mutation: _Mutation, slot: Slot, code: CodeRead, evaluator: Evaluator) -> bool | None:
    """Whether what is changed is a part of a copy; None if it is not, or not known to be."""
    value = plain(code.parameters.get(slot.root, UNKNOWN))
    for step in slot.path[:-1]:
        instance = as_instance(value)
        field = instance.cls.field(step) if instance is not None else None
        if field is not None and field.role in (Role.STATIC, Role.DROPPED):
            return None
        value = element_of(value) if step.startswith("[") else plain(evaluator.attribute_of(value, step))
    if mutation.cls is not None:
        return True if mutation.cls.is_pytree else None
    return _is_changed_container(value, slot)


def _is_changed_container(value: Value, slot: Slot) -> bool | None:
    """Whether a value whose item is changed is a container; None if it is not, False if that only seems so."""
    if isinstance(value, Container) and value.kind in _CONTAINERS:
        return True
    is_text = slot.path[-1].startswith(("['", '["'))
    return False if isinstance(value, UnknownValue) and is_text else None


def _unused(mutations: list[tuple[_Mutation, Slot, bool]], body: Body) -> Iterator[tuple[_Mutation, Slot, bool]]:
    """The changes that the function neither makes use of nor hands on.

    An object that loses one of its changes is a state: to read what another one has updated does not save that.
    """
    changed = [Changed(slot, mutation.at, body) for mutation, slot, _ in mutations]
    unused = [
        not (c.is_handed_on() if mutation.lasting else c.is_read())
        for c, (mutation, _, _) in zip(changed, mutations, strict=True)
    ]
    states = {slot.root for lost, (m, slot, _) in zip(unused, mutations, strict=True) if lost and m.cls is not None}
    for lost, c, one in zip(unused, changed, mutations, strict=True):
        mutation, slot, _ = one
        if lost or (mutation.updates and slot.root in states and not c.is_handed_on()):
            yield one


def _lost(mutation: _Mutation, root: str, function: Function, applied: Applied, certain: bool) -> Problem:
    """The problem of an argument that is changed and not returned."""
    return Problem(
        at=mutation.at,
        message=(
            f"{mutation.text} is changed in `{function.name}`, which `{applied.transform.name}` transforms, and"
            f" `{root}` is not returned: the change is lost; return `{root}` and let the caller rebind it"
        ),
        reason="the function gets a copy of its arguments, rebuilt from their leaves; only what it returns comes back",
        help=f"return `{root}`, or the new value",
        confidence=None if certain else Confidence.MEDIUM,
    )


# -- what the transformation does not see --------------------------------------------------------


def _while_tracing(mutation: _Mutation, cls: PytreeClass, code: CodeRead, function: Function) -> Iterator[Problem]:
    """The problem of a static or closed-over object, which is changed whenever the function is traced."""
    root, text, attr = mutation.slot.root, mutation.text, mutation.slot.path[-1]
    method = code.place.method
    on_self = method is not None and root == method.self_name
    is_parameter = any(p.name == root for p in function.parameters)
    if is_parameter and not (on_self and _is_static(root, function, code)):
        return
    applied = next((a for a in code.applied if a.transform.kind in _TRACED_RARELY), None)
    if applied is None or not (on_self or cls.is_pytree):
        return
    if any(word in attr for word in _ABOUT_TRACING) or _is_cache(mutation, code.body):
        return
    every = "turn" if applied.transform.kind is Kind.LOOP else "call"
    yield Problem(
        at=mutation.at,
        message=(
            f"{text} is changed in `{function.name}`, which `{applied.transform.name}` transforms: the statement runs"
            f" only while it is traced, and not at every {every}; pass `{attr}` in and return the new value"
        ),
        reason=f"`{root}` is no traced argument: its attributes are read and written while tracing",
        help=f"make `{attr}` an argument and a result of `{function.name}`",
    )


def _is_static(root: str, function: Function, code: CodeRead) -> bool:
    """Whether a parameter is certainly static, or given before the function is transformed."""
    for applied in code.applied:
        static = applied.static_parameters(function)
        if root in applied.given_parameters(function) or (static is not None and root in static):
            return True
    return False


def _is_cache(mutation: _Mutation, body: Body) -> bool:
    """Whether an attribute is assigned below a test of itself: it is made once, which is what is wanted."""
    for statement in walk(body, nested=False):
        if isinstance(statement, If) and any(_asks_for(test, mutation.slot) for test, _ in statement.branches):
            inside = (s for block in blocks(statement) for s in walk(block, nested=False))
            if any(at is mutation.at for s in inside for at, _ in changed_by(s)):
                return True
    return False


def _asks_for(test: Expr, slot: Slot) -> bool:
    """Whether a test asks whether an attribute is there."""
    names = [repr(slot.path[-1])]
    for part in parts(test):
        if slot_of(part) == slot or (isinstance(part, Constant) and repr(part.value) in names):
            return True
    return False
