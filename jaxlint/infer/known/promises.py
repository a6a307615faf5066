"""What declarations promise of values, where nothing that is seen contradicts it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from jaxlint.infer.known.annotations import AnnotationReader
from jaxlint.infer.known.evidence import confirmed, contradicts
from jaxlint.infer.known.stand_ins import is_given_stand_ins
from jaxlint.infer.known.values import (
    UNKNOWN,
    Array,
    Container,
    Instance,
    UnknownValue,
    Value,
    is_one_number,
    plain,
)
from jaxlint.infer.transforms.calling import piece_of
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ValueSymbol
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.pytrees.non_arrays import non_array
from jaxlint.symbols.outline import Function, Parameter
from jaxlint.syntax.expressions import Call, DictDisplay, Lambda, Subscript, last_name

#: The place of a declaration, and the class that `Self` stands for.
_Key = tuple[str, str, tuple[str, str] | None]

#: Functions of equinox that leave some leaves of an instance out.
_PARTING = frozenset({"partition", "filter"})
#: The kinds of containers that a list, and a dict, may be declared as.
_LISTS = frozenset({"list", "tuple", "sequence"})
_DICTS = frozenset({"dict", "mapping"})


class Promises:
    """Reads annotations of parameters, results and fields; a default, a `return` or a method may contradict them."""

    def __init__(
        self,
        annotations: AnnotationReader,
        seen: Callable[[Placed], Value],
        put_there: Callable[[PytreeClass, str], Value],
    ) -> None:
        self.annotations = annotations
        #: What an expression outside of the code being read evaluates to.
        self.seen = seen
        #: What all is that methods of a class put into the list of an attribute.
        self.put_there = put_there
        self._returned: dict[_Key, Value] = {}
        self._fields: dict[tuple[str, str, str, tuple[str, str]], Value] = {}
        self._non_arrays: dict[tuple[str, str, str], str | None] = {}

    def parameter(self, parameter: Parameter, function: Function, module: Module) -> Value:
        """What a parameter with an annotation is."""
        if parameter.annotation is None or is_given_stand_ins(function, module):
            return UNKNOWN
        value = self.annotations.read(Placed(parameter.annotation, module, function.scope))
        if parameter.kind == "**":
            return UNKNOWN
        if parameter.kind == "*":
            return Container("tuple", None, value)
        if parameter.default is None or isinstance(value, UnknownValue):
            return value
        return _unless(value, [self.seen(Placed(parameter.default, module, function.scope))], sizes=True)

    def returned(self, function: Function, module: Module, owner: PytreeClass | None = None) -> Value:
        """What a function with an annotated result returns; `owner` is what `Self` stands for."""
        if function.returns is None:
            return UNKNOWN
        key = (module.path, function.qualname, None if owner is None else owner.symbol.key)
        if key not in self._returned:
            value = self.annotations.read(Placed(function.returns, module, function.scope), owner)
            self._returned[key] = value  # what a function returns that calls itself
            if not isinstance(value, UnknownValue) and not function.is_generator:
                scope = function.inner_scope
                values = [Placed(v, module, scope) for v in function.return_values]
                if any(self._calls_one(value, placed) for placed in values):
                    self._returned[key] = UNKNOWN
                    return UNKNOWN
                seen = [self.seen(placed) for placed in values]
                self._returned[key] = _with_keys(confirmed(_unless(value, seen), seen), values, seen)
        return self._returned[key]

    def _calls_one(self, declared: Value, returned: Placed) -> bool:
        """Whether a variable is called for an instance of a class that can be called itself.

        Who declares what a generator of keys returns may write the generator's class.
        """
        if not isinstance(returned.expr, Call) or not isinstance(declared, Instance):
            return False
        symbol = self.annotations.model.resolver.resolve(returned.expr.func, returned.module, returned.scope)
        return isinstance(symbol, ValueSymbol) and declared.cls.method("__call__") is not None

    def field(self, field: Field, cls: PytreeClass) -> Value:
        """What a field with an annotation holds in an instance of `cls`."""
        if field.annotation is None:
            return UNKNOWN
        key = (*field.owner.key, field.name, cls.symbol.key)
        if key not in self._fields:
            self._fields[key] = value = self.annotations.read(field.annotation, cls)
            if not isinstance(value, UnknownValue):
                made = [self.seen(placed) for placed in made_by_defaults(field)]
                self._fields[key] = self._assigned(_unless(value, made, sizes=True), field, cls)
        return self._fields[key]

    def non_array(self, field: Field) -> str | None:
        """What a field with an annotation holds if that is certainly no array: see `pytrees.non_arrays`."""
        if field.annotation is None:
            return None
        key = (*field.owner.key, field.name)
        if key not in self._non_arrays:
            self._non_arrays[key] = non_array(field.annotation, self.annotations.model.resolver)
        return self._non_arrays[key]

    def no_large_array(self, field: Field, cls: PytreeClass) -> bool:
        """Whether an annotation says that a field holds no array, or a number: of an array of one element it may."""
        if field.annotation is None:
            return False
        return self.non_array(field) is not None or is_one_number(self.annotations.read(field.annotation, cls))

    def _assigned(self, declared: Value, field: Field, cls: PytreeClass) -> Value:
        """What is declared of a field, unless methods put something else there; arrays of either library are arrays."""
        if isinstance(declared, UnknownValue) or field.is_converted:
            return declared
        given = cls.assigned.get(field.name)
        if not given:
            return declared
        if isinstance(declared, Instance) and _is_parted(given, field.name, cls):
            return UNKNOWN
        seen = [self.seen(placed) for placed in given if placed is not None]
        others = [one for one in seen if not (isinstance(declared, Array) and isinstance(plain(one), Array))]
        if any(contradicts(declared, one) for one in others):
            return UNKNOWN
        if isinstance(declared, Array) and declared.single is None and seen and all(map(is_one_number, seen)):
            return Array(declared.library, True, declared.declared)
        return self._filled(declared, field, cls)

    def _filled(self, declared: Value, field: Field, cls: PytreeClass) -> Value:
        """What is declared; of a list of anything (`layers: list`), the class of which all are that are put there."""
        if not isinstance(declared, Container) or declared.kind not in _LISTS or declared.items is not None:
            return declared
        element = plain(self.put_there(cls, field.name)) if declared.element == UNKNOWN else UNKNOWN
        if not isinstance(element, Instance):
            return declared
        held = Instance(element.cls, declared=True)  # others may be put there from outside
        return msgspec.structs.replace(declared, element=held)


def _is_parted(given: list[Placed | None], name: str, cls: PytreeClass) -> bool:
    """Whether an attribute is assigned a part of an instance, as `eqx.partition` makes two: leaves are None in it."""
    for placed in given:
        value = None if placed is None else placed.expr
        value = value.value if isinstance(value, Subscript) else value
        if isinstance(value, Call) and last_name(value.func) in _PARTING:
            return True
    if None not in given:
        return False
    for one in cls.mro:
        for scope, assignment in one.own_assignments:
            if assignment.attr == name and assignment.value is None:
                outline = one.module.outline
                if "partition" in piece_of(outline.functions[scope.removesuffix(".<locals>")], outline).calls:
                    return True
    return False


def _unless(declared: Value, seen: list[Value], *, sizes: bool = False) -> Value:
    """What is declared, unless one of the values that are seen is something else.

    With `sizes`, an array in whose place a number is seen has one element.
    """
    if any(contradicts(declared, one) for one in seen):
        return UNKNOWN
    if sizes and isinstance(declared, Array) and declared.single is None and any(map(is_one_number, seen)):
        return Array(declared.library, True, declared.declared)
    return declared


def _with_keys(declared: Value, places: list[Placed], seen: list[Value]) -> Value:
    """What is declared of a result, with the keys of a dict that each `return` writes out."""
    if not isinstance(declared, Container) or declared.kind not in _DICTS or declared.items is not None:
        return declared
    if not places or not all(isinstance(placed.expr, DictDisplay) for placed in places):
        return declared
    shown = [plain(one) for one in seen]
    first = shown[0]
    if not isinstance(first, Container) or first.items is None or first.keys is None:
        return declared
    if any(not isinstance(one, Container) or one.keys != first.keys for one in shown):
        return declared
    return Container("dict", (declared.element,) * len(first.items), UNKNOWN, first.keys, declared.declared)


def made_by_defaults(field: Field) -> list[Placed]:
    """The default of a field, or what its factory makes: what a lambda returns, or a call of what has a name."""
    found = [] if field.default is None else [field.default]
    if field.factory is not None:
        factory = field.factory.expr
        made = factory.body if isinstance(factory, Lambda) else Call(factory.at, factory, ())
        found.append(msgspec.structs.replace(field.factory, expr=made))
    return found
