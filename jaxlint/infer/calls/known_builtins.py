"""What Python's own functions make: `len`, `zip`, `max`, `getattr`, …"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from jaxlint.infer.known.counting import is_few, is_swept, settled
from jaxlint.infer.known.deferred import Values
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.values import (
    UNKNOWN,
    ClassObject,
    Container,
    FieldRead,
    Instance,
    Scalar,
    Value,
    as_instance,
    dict_of,
    element_of,
    joined,
    known_entries,
    plain,
)
from jaxlint.syntax.expressions import Attribute, Call, Constant, Name, last_name

if TYPE_CHECKING:
    from jaxlint.infer.evaluating.evaluate import Evaluator
    from jaxlint.infer.evaluating.notes import Notes
    from jaxlint.pytrees.model import PytreeClass
    from jaxlint.symbols.outline import Function

#: The scalars that functions return, whatever they are given.
_SCALARS = {
    **dict.fromkeys(("isinstance", "hasattr", "callable", "issubclass", "any", "all"), "bool"),
    "bytearray": "bytearray",
}
#: The scalars that functions make of others, which change where those do.
_CONVERTED = {
    **{kind: kind for kind in ("int", "float", "bool", "str")},
    **dict.fromkeys(("len", "hash"), "int"),
    "repr": "str",
}
#: The kinds of containers that functions make of the elements of others.
_SEQUENCES = {
    **{kind: kind for kind in ("list", "tuple", "set", "frozenset")},
    "sorted": "list",
    "reversed": "sequence",
}
_REAL = frozenset({"int", "float"})
_COUNT = Scalar("int", varying=True)


class BuiltinFunctions:
    """Evaluates calls of the functions of the module `builtins`."""

    def __init__(self, evaluator: Evaluator, notes: Notes) -> None:
        self.evaluator = evaluator
        self.notes = notes

    def call(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        """What the call of the function `name` is; unknown for most."""
        if name in _CONVERTED:
            first = _first(values)
            return Scalar(_CONVERTED[name], isinstance(first, Scalar) and first.varying)
        if name in _SCALARS:
            return Scalar(_SCALARS[name])
        if name in _SEQUENCES:
            return _sequence(name, values)
        return _BY_NAME[name](self, call, values, env) if name in _BY_NAME else UNKNOWN

    def _dict(self, call: Call, values: Values, env: Environment) -> Value:
        return updated(dict_of({}), call, values)

    def _range(self, call: Call, values: Values, env: Environment) -> Value:
        return Container("sequence", None, _COUNT)

    def _enumerate(self, call: Call, values: Values, env: Environment) -> Value:
        if not values:
            return UNKNOWN
        return Container("sequence", None, Container("tuple", (_COUNT, element_of(_first(values)))))

    def _zip(self, call: Call, values: Values, env: Environment) -> Value:
        if call.has_star:
            return _unzipped(_first(values)) if len([a for a in call.args if a.keyword is None]) == 1 else UNKNOWN
        given = [value for arg, value in zip(call.args, values, strict=True) if arg.keyword is None]
        return Container("sequence", None, Container("tuple", tuple(map(element_of, given))))

    def _next(self, call: Call, values: Values, env: Environment) -> Value:
        return element_of(_first(values)) if values else UNKNOWN

    def _bound(self, call: Call, values: Values, env: Environment) -> Value:
        return (_bounded(call, values) or _extreme(call, values)) if call.positional else UNKNOWN

    def _map(self, call: Call, values: Values, env: Environment) -> Value:
        if len(values) < 2 or call.has_star:
            return UNKNOWN
        given = [element_of(value) for value in values[1:]]
        return Container("sequence", None, plain(self.evaluator.calls.result(_first(values), given)))

    def _filter(self, call: Call, values: Values, env: Environment) -> Value:
        return Container("sequence", None, element_of(values[1])) if len(values) == 2 else UNKNOWN

    def _iter(self, call: Call, values: Values, env: Environment) -> Value:
        return Container("sequence", None, element_of(_first(values))) if len(values) == 1 else UNKNOWN

    def _super(self, call: Call, values: Values, env: Environment) -> Value:
        place = self.notes.place
        owner, method = (None, None) if place is None else (place.owner, place.method)
        if owner is None or not owner.parents or not means_itself(call, owner, method):
            return UNKNOWN
        return Instance(owner.parents[0])

    def _type(self, call: Call, values: Values, env: Environment) -> Value:
        first = _first(values)
        return ClassObject(first.cls, first.exact) if len(values) == 1 and isinstance(first, Instance) else UNKNOWN

    def _setattr(self, call: Call, values: Values, env: Environment) -> Value:
        return self._changed("setattr", call, values, env)

    def _delattr(self, call: Call, values: Values, env: Environment) -> Value:
        return self._changed("delete", call, values, env)

    def _changed(self, how: str, call: Call, values: Values, env: Environment) -> Value:
        if len(call.args) < 2:
            return UNKNOWN
        value = values[2] if len(values) > 2 else UNKNOWN
        held = call.args[0].value
        name, named_by = _literal_name(call) or "", None if call.args[1].star else call.args[1].value
        self.notes.assign_attribute(call.at, held, values[0], name, how, value, env, named_by=named_by)
        if isinstance(held, Attribute):
            self.evaluator.calls.mutate(call.at, held, values[0], "attribute", value, env)
        return Scalar("NoneType")

    def _getattr(self, call: Call, values: Values, env: Environment) -> Value:
        name = _literal_name(call) if len(call.args) == 2 else None
        return UNKNOWN if name is None else self.evaluator.attribute_of(values[0], name)


_Handler: TypeAlias = Callable[[BuiltinFunctions, Call, Values, Environment], Value]
#: What evaluates the call of a function, by its name.
_BY_NAME: dict[str, _Handler] = {
    "dict": BuiltinFunctions._dict,
    "range": BuiltinFunctions._range,
    "enumerate": BuiltinFunctions._enumerate,
    "zip": BuiltinFunctions._zip,
    "next": BuiltinFunctions._next,
    "max": BuiltinFunctions._bound,
    "min": BuiltinFunctions._bound,
    "map": BuiltinFunctions._map,
    "filter": BuiltinFunctions._filter,
    "iter": BuiltinFunctions._iter,
    "super": BuiltinFunctions._super,
    "type": BuiltinFunctions._type,
    "setattr": BuiltinFunctions._setattr,
    "delattr": BuiltinFunctions._delattr,
    "getattr": BuiltinFunctions._getattr,
}


def _first(values: Values) -> Value:
    return plain(values[0]) if values else UNKNOWN


def means_itself(call: Call, owner: PytreeClass | None, method: Function | None) -> bool:
    """Whether a call of `super` in a method is `super()`, or `super(Class, self)`, which says the same there."""
    if not call.args:
        return True
    if owner is None or method is None or len(call.positional) != 2 or call.has_star:
        return False
    named, held = call.positional
    return isinstance(held, Name) and held.id == method.self_name and last_name(named) == owner.name


def _literal_name(call: Call) -> str | None:
    """The attribute that `setattr`, `getattr` and `delattr` name, if it is written down."""
    name = call.args[1].value
    return name.value if isinstance(name, Constant) and isinstance(name.value, str) else None


def _sequence(name: str, values: Values) -> Value:
    """What `list`, `sorted` and their like make of the elements of a container."""
    first, kind = _first(values), _SEQUENCES[name]
    if isinstance(first, Container) and first.kind not in ("dict", "mapping") and name in ("list", "tuple"):
        return Container(kind, first.items, first.element)
    return Container(kind, None, element_of(first) if values else UNKNOWN)


def _unzipped(rows: Value) -> Value:
    """What `zip(*rows)` makes: a tuple of all first items, one of all second ones, and so on."""
    row = plain(element_of(rows))
    if not isinstance(row, Container) or row.kind != "tuple" or row.items is None:
        return UNKNOWN
    return Container("sequence", tuple([Container("tuple", None, item) for item in row.items]))


def _bounded(call: Call, values: Values) -> FieldRead | None:
    """What was computed from a field and is held within bounds: `max(0.1, s.rate * 0.9)`; not what soon stays there."""
    computed = [value for value in values if isinstance(value, FieldRead) and value.stepped]
    limits = [value for value in values if isinstance(value, Scalar) or (computed and _is_limit(value, computed[0]))]
    if len(computed) != 1 or len(limits) != len(values) - 1 or not limits:
        return None
    stays = last_name(call.func) == "min" and plain(computed[0]) == Scalar("int")
    few = any(is_few(argument.value) for argument in call.args) or any(map(_is_few_by_default, limits))
    return None if stays and few else computed[0]


def _is_limit(value: Value, computed: FieldRead) -> bool:
    """Whether a value is a number that another field holds than the one from which something was computed."""
    if not isinstance(value, FieldRead) or value.stepped or value.field == computed.field:
        return False
    return isinstance(plain(value), Scalar)


def _is_few_by_default(limit: Value) -> bool:
    """Whether a field holds a small number unless it is given another one."""
    field = limit.cls.field(limit.field) if isinstance(limit, FieldRead) else None
    return field is not None and field.default is not None and is_few(field.default.expr)


def updated(container: Container, call: Call, values: Values) -> Value:
    """A dict after `update(...)` with other dicts and keywords."""
    entries = known_entries(container)
    for arg, value in zip(call.args, values, strict=True):
        more = {arg.keyword: value} if arg.keyword is not None else known_entries(value)
        if entries is None or more is None:
            return Container(container.kind)
        entries = {**entries, **more}
    return Container(container.kind) if entries is None else dict_of(entries)


def _extreme(call: Call, values: Values) -> Value:
    """The instance that `max` or `min` chooses, or a number; which of the integers that change is not followed."""
    compared = [value for arg, value in zip(call.args, values, strict=True) if arg.keyword is None]
    numbers = [plain(value) for value in compared]
    if len(compared) > 1 and not call.has_star and all(isinstance(v, Scalar) and v.kind in _REAL for v in numbers):
        is_moving = any(map(is_swept, numbers))
        if Scalar("float") in map(settled, numbers):
            return Scalar("float", is_moving)
        return UNKNOWN if is_moving else Scalar("int")
    chosen = element_of(compared[0]) if len(compared) == 1 else joined(compared)
    if call.has_star or as_instance(chosen) is None:
        return UNKNOWN
    default = [value for arg, value in zip(call.args, values, strict=True) if arg.keyword == "default"]
    return joined([plain(chosen), *default])
