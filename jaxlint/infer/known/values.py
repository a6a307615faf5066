"""What is known of the value of an expression. `UNKNOWN` is the usual answer, and never a finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, TypeGuard

import msgspec
from msgspec.structs import replace

from jaxlint.infer.transforms.applied import Applied
from jaxlint.libraries.arrays import TREE
from jaxlint.project.modules import Module
from jaxlint.project.resolution import External, FunctionSymbol, ModuleSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Argument, Expr, Lambda, dotted
from jaxlint.syntax.statements import FunctionDefinition


class UnknownValue(msgspec.Struct, frozen=True):
    """Nothing is known."""


UNKNOWN = UnknownValue()


class Possibly(UnknownValue, frozen=True):
    """Unknown, but for one of the ways that lead here: there it is this instance."""

    value: Instance


class Array(msgspec.Struct, frozen=True):
    """A jax or numpy array, or a tree of some. `single`: holds exactly one element (None: cannot be determined)."""

    library: str
    single: bool | None = None
    #: Whether only an annotation says so, which may be meant loosely.
    declared: bool = False


class Scalar(msgspec.Struct, frozen=True):
    """A Python value of a simple type; `kind` is the type's name. `varying`: changes from one loop turn to the next."""

    kind: str
    varying: bool = False
    #: Which of the two it is, where it is written as `True` or `False`.
    says: bool | None = None


NONE = Scalar("NoneType")
#: The types of Python's numbers.
NUMBERS = frozenset({"bool", "complex", "float", "int"})
#: What is written as `True` or as `False`.
WRITTEN = {says: Scalar("bool", says=says) for says in (True, False)}


class Instance(msgspec.Struct, frozen=True):
    """An instance of a class that jaxlint knows; `exact` if of no subclass of it."""

    cls: PytreeClass
    exact: bool = False
    #: Whether the code has put the leaves there, so that they need not be what annotations say.
    refilled: bool = False
    #: Whether only an annotation says so, which may be meant loosely.
    declared: bool = False
    #: Arguments of the constructor of an ordinary class, for attributes that the class does not declare.
    held: tuple[tuple[str, Value], ...] = ()
    #: Where the leaves are tracers, as a transformed function was given it, or what it is a part or a copy of: the
    #: fields that the copy was given something else for.
    traced: frozenset[str] | None = None
    #: Whether its arrays are arrays of jax: a compiled function has returned it, or it was made of such.
    holds_jax: bool = False
    #: Whether it only has the form of one: a map or a transformation has put something else into all its leaves.
    is_other_tree: bool = False
    #: Whether nothing tells so but the attributes that are read of it: something else may have them, too.
    by_fields: bool = False


class ClassObject(msgspec.Struct, frozen=True):
    """The class itself; `exact` if it is no subclass of it (as `cls` and `type(self)` may be)."""

    cls: PytreeClass
    exact: bool = True


class Container(msgspec.Struct, frozen=True):
    """A tuple, list, set or dict; `items` if their number is known, else `element` for all of them.

    `kind` is the type's name, or "sequence" and "mapping" where only that much is known.
    """

    kind: str
    items: tuple[Value, ...] | None = None
    element: Value = UNKNOWN
    #: For dicts whose keys are literal strings.
    keys: tuple[str, ...] | None = None
    #: Whether only an annotation says so, which may be meant loosely.
    declared: bool = False
    #: An array that it certainly holds somewhere, whatever else: `(*rows, array)`.
    among: Array | None = None


class Choice(msgspec.Struct, frozen=True):
    """One of several values."""

    options: tuple[Value, ...]


class FieldRead(msgspec.Struct, frozen=True):
    """A value read from the field `field` of `cls`; `stepped` once something was added to it, or it was multiplied.

    Where that is no number that the code states, or no sum, the value is `shifted`, too. `by_fields`: as in `Instance`.
    """

    value: Value
    cls: PytreeClass
    field: str
    stepped: bool = False
    shifted: bool = False
    by_fields: bool = False


class Symbolic(msgspec.Struct, frozen=True):
    """A module, or a thing known by its dotted name only."""

    symbol: External | ModuleSymbol


class FunctionValue(msgspec.Struct, frozen=True):
    """A function of the project; `receiver` if it is a bound method."""

    symbol: FunctionSymbol
    receiver: Value | None = None
    #: What `jax.jit(f)` and kin did to it, besides its decorators.
    applied: tuple[Applied, ...] = ()
    #: Whether it is found by `super()`, so that it is called though subclasses override it.
    inherited: bool = False


class LocalFunction(msgspec.Struct, eq=False):
    """A function or lambda inside the code being read (`Closure`, which knows the variables around it)."""

    node: FunctionDefinition | Lambda
    declaration: Function
    module: Module
    #: Whether its body was read, or need not be.
    read: bool = False


class LocalFunctionValue(msgspec.Struct, frozen=True, eq=False):
    """A function or lambda that is defined inside the function being read."""

    function: LocalFunction
    applied: tuple[Applied, ...] = ()


class Partial(msgspec.Struct, frozen=True):
    """`functools.partial(function, ...)`: the arguments that are given already, with their values."""

    function: Value
    args: tuple[Argument, ...]
    values: tuple[Value, ...]


class Method(msgspec.Struct, frozen=True):
    """A method of a value that is known by name only: `array.sum`, `state.replace`."""

    receiver: Value
    name: str


class Indexed(msgspec.Struct, frozen=True):
    """`array.at` (index not yet applied) or `array.at[...]`, of what is an array or may be one."""

    array: Array | UnknownValue
    applied: bool = False


class Selection(msgspec.Struct, frozen=True):
    """A penzai selection: parts of `tree`, which is written `base`; its methods choose others or make a copy."""

    tree: Value
    base: Expr


class AnyFunction(msgspec.Struct, frozen=True):
    """A function that is not seen: its annotation says what it returns, or something is applied to it."""

    result: Value
    #: What is applied to it, outermost first.
    applied: tuple[Applied, ...] = ()


class Treedef(msgspec.Struct, frozen=True):
    """The structure of `tree`."""

    tree: Value


Value: TypeAlias = (
    UnknownValue
    | Array
    | Scalar
    | Instance
    | ClassObject
    | Container
    | Choice
    | FieldRead
    | Symbolic
    | FunctionValue
    | LocalFunctionValue
    | Partial
    | Method
    | Indexed
    | Selection
    | AnyFunction
    | Treedef
)


def plain(value: Value) -> Value:
    """The value without the note of where it was read."""
    return value.value if type(value) is FieldRead else value


def join(a: Value, b: Value) -> Value:
    """What is known of a value that is either `a` or `b`."""
    if a == b:
        return a
    if isinstance(a, FieldRead) and isinstance(b, FieldRead) and (a.cls, a.field) == (b.cls, b.field):
        if not a.stepped and not b.stepped:  # what the field holds, before and after it was changed in place
            return FieldRead(join(a.value, b.value), a.cls, a.field, by_fields=a.by_fields or b.by_fields)
    for read, other in ((a, b), (b, a)):
        if isinstance(read, FieldRead) and read.stepped and isinstance(plain(other), Scalar):
            return replace(read, value=join(plain(a), plain(b)))
    a, b = plain(a), plain(b)
    if a == b:
        return a
    if isinstance(a, UnknownValue) or isinstance(b, UnknownValue):
        return _possibly(a, b)
    if isinstance(a, Instance) and isinstance(b, Instance) and a.cls is b.cls:
        return _join_instances(a, b, a.cls, a.exact and b.exact)
    if isinstance(a, Instance) and isinstance(b, Instance):
        if a.cls in b.cls.mro:
            return _join_instances(a, b, a.cls)
        if b.cls in a.cls.mro:
            return _join_instances(a, b, b.cls)
    if isinstance(a, Container) and isinstance(b, Container) and a.kind == b.kind:
        return _join_containers(a, b)
    if isinstance(a, Array) and isinstance(b, Array):
        library = a.library if a.library == b.library else TREE if TREE in (a.library, b.library) else "array"
        return Array(library, a.single if a.single == b.single else None, a.declared or b.declared)
    if isinstance(a, FunctionValue) and isinstance(b, FunctionValue) and a.symbol == b.symbol:
        if a.receiver == b.receiver:  # `step = jax.jit(update) if compiles else update`
            return replace(a, applied=())
    if isinstance(a, Scalar) and isinstance(b, Scalar) and a.kind == b.kind:
        return Scalar(a.kind, a.varying or b.varying)
    return choice([*options(a), *options(b)])


def _possibly(a: Value, b: Value) -> UnknownValue:
    """What is known of a value that is unknown on one way through the code."""
    either = [one.value if isinstance(one, Possibly) else one for one in (a, b)]
    made = [one for one in either if isinstance(one, Instance) and one.exact and not one.declared]
    return Possibly(made[0]) if made and all(one.cls is made[0].cls for one in made) else UNKNOWN


def _join_instances(a: Instance, b: Instance, cls: PytreeClass, exact: bool = False) -> Instance:
    held = a.held if a.held == b.held else ()
    traced = None if a.traced is None or b.traced is None else a.traced | b.traced
    holds_jax, is_other_tree = a.holds_jax and b.holds_jax, a.is_other_tree or b.is_other_tree
    declared, by_fields = a.declared or b.declared, a.by_fields or b.by_fields
    return Instance(cls, exact, a.refilled or b.refilled, declared, held, traced, holds_jax, is_other_tree, by_fields)


def _join_containers(a: Container, b: Container) -> Value:
    declared = a.declared or b.declared
    if a.items is not None and b.items is not None and len(a.items) == len(b.items) and a.keys == b.keys:
        items = tuple(join(x, y) for x, y in zip(a.items, b.items, strict=True))
        return Container(a.kind, items, UNKNOWN, a.keys, declared)
    parts = [p for c in (a, b) for p in (c.items if c.items is not None else (c.element,))]
    return Container(a.kind, None, joined(list(parts)), declared=declared)


def choice(values: list[Value]) -> Value:
    """One of `values`; unknown if any of them is, or if there are many."""
    distinct: list[Value] = []
    for value in values:
        for one in options(value):
            if isinstance(one, UnknownValue):
                return UNKNOWN
            at = next((i for i, other in enumerate(distinct) if are_of_one_class(one, other)), None)
            if at is not None:
                distinct[at] = join(one, distinct[at])
            elif one not in distinct:
                distinct.append(one)
    if len(distinct) == 1:
        return distinct[0]
    return Choice(tuple(distinct)) if 0 < len(distinct) <= 6 else UNKNOWN


def are_of_one_class(a: Value, b: Value) -> bool:
    """Whether both are instances of the same class."""
    return isinstance(a, Instance) and isinstance(b, Instance) and a.cls is b.cls


def is_declared(value: Value) -> bool:
    """Whether only an annotation says what a value is."""
    value = plain(value)
    if isinstance(value, Choice):
        return any(map(is_declared, value.options))
    return isinstance(value, (Array, Instance, Container)) and value.declared


def options(value: Value) -> tuple[Value, ...]:
    """The possible values, one by one."""
    return value.options if isinstance(value, Choice) else (value,)


def without_none(value: Value) -> Value:
    """The value once it is known not to be None."""
    if isinstance(value, Choice):
        rest = [o for o in value.options if o != NONE]
        return choice(rest) if rest else UNKNOWN
    return value


def as_instance(value: Value) -> Instance | None:
    """The instance that a value certainly is (unless it is None), or None."""
    value = plain(without_none(plain(value)))
    return value if isinstance(value, Instance) else None


def joined(values: list[Value]) -> Value:
    """What is known of a value that is any of `values`; unknown if there is none."""
    if not values:
        return UNKNOWN
    result = values[0]
    for value in values[1:]:
        result = join(result, value)
    return result


def inside(value: Value, change: Callable[[Value], Value]) -> Value:
    """The value where what a container holds, or each of several possible values, is changed; else the value."""
    match value:
        case Container(items=items, element=element):
            return replace(value, items=None if items is None else tuple(map(change, items)), element=change(element))
        case Choice(options=options):
            return joined(list(map(change, options)))
    return value


def of_any_library(value: Value) -> Value:
    """The value where an array of numpy may be in the place of one of jax."""
    match value:
        case Array(library="jax", single=single, declared=declared):
            return Array("array", single, declared)
        case Instance(holds_jax=True):
            return replace(value, holds_jax=False)
    return inside(value, of_any_library)


def of_jax(value: Value) -> Value:
    """The value where the arrays that are declared are arrays of jax for certain."""
    match value:
        case Array(single=single, declared=True):
            return Array("jax", single)
        case Instance(cls=cls):
            return replace(value, holds_jax=cls.is_pytree)
    return inside(value, of_jax)


def dict_of(entries: dict[str, Value]) -> Container:
    """A dict whose keys are all known."""
    return Container("dict", tuple(entries.values()), UNKNOWN, tuple(entries))


def known_entries(value: Value) -> dict[str, Value] | None:
    """The entries of a dict whose keys are all known, else None."""
    value = plain(value)
    if isinstance(value, Container) and value.keys is not None and value.items is not None:
        return dict(zip(value.keys, value.items, strict=True))
    return None


def element_of(value: Value) -> Value:
    """What iterating over the value yields."""
    value = plain(without_none(plain(value)))
    if isinstance(value, Container) and value.kind not in ("dict", "mapping"):
        if value.items is not None:
            return choice(list(value.items)) if value.items else UNKNOWN
        return value.element
    if isinstance(value, Array) and value.library == "jax" and not value.declared:
        return Array("jax")
    return UNKNOWN


def holds_pytrees(value: Value) -> bool:
    """Whether a value is an instance of a pytree class, or a tuple, list or dict that holds some."""
    match value:
        case Instance(cls=cls):
            return cls.is_pytree
        case Container(items=items, element=element):
            return any(map(holds_pytrees, items or (element,)))
    return False


def arrays_in(value: Value, depth: int = 0) -> list[Array]:
    """The arrays that a value is, or certainly holds in tuples, lists and dicts."""
    value = plain(value)
    if depth > 6:
        return []
    match value:
        case Array():
            return [value]
        case Container(items=items, element=element):
            parts: Any = items if items is not None else (element,)
            held = [a for part in parts for a in arrays_in(part, depth + 1)]
            return held if value.among is None else [*held, value.among]
        case Choice():
            found = [arrays_in(o, depth + 1) for o in value.options if o != NONE]
            return [a for part in found for a in part] if found and all(found) else []
    return []


def array_among(values: Iterable[Value]) -> Array | None:
    """The first array among some values."""
    return next((held for held in map(plain, values) if isinstance(held, Array)), None)


def is_classmethod(function: Function) -> bool:
    """Whether a function gets the class of its receiver."""
    return bool(function.decorators) and any(dotted(d) == "classmethod" for d in function.decorators)


def binds_receiver(function: Function, receiver: Value | None) -> int:
    """How many parameters a receiver takes: 1 for a bound method, 0 for a static method or `Class.method`."""
    if receiver is None or function.self_name is None:
        return 0
    return 1 if is_classmethod(function) or not isinstance(plain(receiver), ClassObject) else 0


def holds_given(value: Value | None) -> TypeGuard[Instance]:
    """Whether a value is an instance that is known to hold what its constructor was given."""
    return isinstance(value, Instance) and bool(value.held)


def is_larger_array(value: Value) -> bool:
    """Whether a value is an array that certainly does not hold exactly one element."""
    value = plain(value)
    return isinstance(value, Array) and value.single is False


def holds_larger_array(value: Value) -> bool:
    """Whether a value is such an array, or keywords that are handed on, and one of them is."""
    value = plain(value)
    if isinstance(value, Container) and value.kind == "dict" and value.items is not None:
        return any(map(is_larger_array, value.items))
    return is_larger_array(value)


def is_python_number(value: Value) -> bool:
    """Whether a value is a Python number, and no array."""
    return isinstance(value, Scalar) and value.kind in NUMBERS


def is_one_number(value: Value) -> bool:
    """Whether a value is a Python number, or an array of one element."""
    value = plain(value)
    if isinstance(value, Array):
        return value.single is True
    return is_python_number(value)


def is_broadcast_single(values: Sequence[Value]) -> bool | None:
    """Whether what is computed element by element of some values has one element; None if nobody knows."""
    if all(map(is_one_number, values)):
        return True
    return False if any(isinstance(v, Array) and v.single is False for v in values) else None


def is_informative(value: Value) -> bool:
    """Whether a parameter is worth reading a function for: an instance of a class of the project, or several.

    One that is no pytree may make or hold such: an environment, an agent.
    """
    value = plain(value)
    match value:
        case Instance():
            return True
        case ClassObject(cls=cls):
            return cls.is_pytree
        case Container(items=items, element=element):
            return any(is_informative(v) for v in items or ()) or is_informative(element)
        case Choice(options=options):
            return any(is_informative(v) for v in options)
    return False
