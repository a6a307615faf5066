"""Results of functions, and fields, whose annotation the body, or what a call passes, may show to be wrong."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from msgspec.structs import replace

from jaxlint.infer.known.deferred import Held, Values, known
from jaxlint.infer.known.evidence import contradicts
from jaxlint.infer.known.values import (
    Array,
    ClassObject,
    Container,
    FunctionValue,
    Instance,
    UnknownValue,
    Value,
    plain,
)
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol
from jaxlint.symbols.outline import Import
from jaxlint.syntax.expressions import Attribute, Call, Display, Name, items_of, kind_written
from jaxlint.syntax.statements import bound_once, looked_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jaxlint.infer.calls.passing import Passed
    from jaxlint.infer.evaluating.evaluate import Evaluator
    from jaxlint.infer.known.promises import Promises
    from jaxlint.project.resolution import Symbol
    from jaxlint.pytrees.model import PytreeClass
    from jaxlint.symbols.outline import Parameter, Scope

#: The containers that code can write out, and that cannot be hashed.
_DISPLAYED = frozenset({"list", "dict", "set"})


def with_belied(made: Instance, given: Iterable[tuple[str, Held]], promises: Promises) -> Instance:
    """An instance of a pytree that knows which fields are given an instance of another class than is annotated."""
    cls = made.cls
    if cls.frozen is not True or cls.custom_init() is not None:
        return made
    held = dict(made.held)
    for name, value in given:
        field = cls.field(name)
        promised = None if field is None else plain(promises.field(field, cls))
        if isinstance(promised, Instance) and promised.cls.is_pytree:
            held.pop(name, None)
            if _is_of_another(put := plain(known(value)), promised.cls):
                held[name] = put
    return made if held == dict(made.held) else replace(made, held=tuple((name, held[name]) for name in sorted(held)))


def copy_of(original: Instance, call: Call, values: Values, promises: Promises) -> Instance:
    """The copy of an instance that `replace` makes with the keywords of a call."""
    if not original.cls.is_pytree:
        return original
    if call.has_star:
        return replace(original, held=())
    given = zip((argument.keyword for argument in call.args), values.held, strict=True)
    return with_belied(original, ((name, value) for name, value in given if name is not None), promises)


def _is_of_another(value: Value, cls: PytreeClass) -> bool:
    """Whether a value is certainly an instance of a pytree that has nothing to do with a class."""
    if not isinstance(value, Instance) or not value.exact or value.declared or not value.cls.is_pytree:
        return False
    return cls not in value.cls.mro and value.cls not in cls.mro


def _names_plain_class(declared: Value, function: FunctionSymbol) -> bool:
    """Whether an ordinary class is declared of a result or of an item of it: a class that says little of a state."""
    declared = plain(declared)
    if isinstance(declared, Container) and declared.items is not None:
        return any(_names_plain_class(item, function) for item in declared.items)
    return isinstance(declared, Instance) and not declared.cls.is_pytree


def _may_be_list(declared: Value, function: FunctionSymbol) -> bool:
    """Whether a function that is declared to return an array may return a list that it fills."""
    if not isinstance(plain(declared), Array):
        return False
    row, units = function.declaration.at.row, function.module.outline.units
    unit = units[bisect_right(units, row, key=lambda one: one.first) - 1]
    return unit.first <= row <= unit.last and "append" in unit.calls


def _may_be_of_numpy(declared: Value, function: FunctionSymbol) -> bool:
    """Whether a function that is declared to return arrays of jax may return variables that numpy has filled."""
    if not _holds_jax_array(declared):
        return False
    outline = function.module.outline
    bound = (one for scope in ("", function.declaration.inner_scope) for one in _imported(outline.scopes.get(scope)))
    if not any(name == "numpy" for name in bound):
        return False
    returned = [item for v in function.declaration.return_values for item in (v.items if type(v) is Display else (v,))]
    return any(type(item) is Name and not function.declaration.takes(item.id) for item in returned)


def _holds_jax_array(declared: Value) -> bool:
    declared = plain(declared)
    if isinstance(declared, Container) and declared.items is not None:
        return any(_holds_jax_array(item) for item in declared.items)
    return isinstance(declared, Array) and declared.library == "jax"


def _imported(scope: Scope | None) -> Iterator[str]:
    """The modules that imports in a scope bind."""
    for bindings in () if scope is None else scope.bindings.values():
        yield from (one.module for one in bindings if type(one) is Import and one.name is None)


#: Where the body of a function is asked whether it returns what is declared, for its variables may be something else.
BELYING = (_names_plain_class, _may_be_list, _may_be_of_numpy)


def as_shown(declared: Value, function: FunctionValue) -> Value:
    """The list, dict or set that is declared of a result; certainly one, where each `return` displays such a thing.

    A method may be another one in a subclass.
    """
    if not isinstance(declared, Container) or not declared.declared or declared.kind not in _DISPLAYED:
        return declared
    if function.receiver is not None:
        return declared
    shown = [kind_written(value) for value in function.symbol.declaration.return_values]
    is_certain = bool(shown) and all(kind == declared.kind for kind in shown)
    return replace(declared, declared=False) if is_certain else declared


def takes_another(
    declared: Value, function: FunctionSymbol, parameters: Sequence[Parameter], given: Sequence[Value], of: Evaluator
) -> bool:
    """Whether a call gives an instance of another class than is annotated to a function that declares an instance.

    Such a function takes all classes of a kind (train states of several scripts), and returns what it was given. What
    is given may be another if that is unknown, and the module that calls has a class of the same name.
    """
    if not _holds_instance(declared):
        return False
    place = of.calls.notes.place
    own = {} if place is None or place.module is function.module else place.module.outline.classes
    for parameter, value in zip(parameters, given, strict=False):
        if parameter.annotation is not None and isinstance(plain(value), (Instance, UnknownValue)):
            expected = plain(of.own_parameter(function.declaration, parameter.name, function.module))
            if isinstance(expected, Instance):
                if contradicts(expected, value) or (
                    isinstance(plain(value), UnknownValue) and expected.cls.name in own
                ):
                    return True
    return False


def tells_of_default(
    declared: Value,
    function: FunctionSymbol,
    parameters: Sequence[Parameter],
    passed: Passed,
    evaluator: Evaluator,
) -> bool:
    """Whether a function returns what one that it is given makes, and a call gives another one than the default.

    What is declared is what the default makes: `def energy(r, neighbors: Callable = neighbor_list) -> NeighborList`
    over `return neighbors(r)`.
    """
    if not _holds_instance(declared):
        return False
    resolver, scope = evaluator.model.resolver, function.declaration.scope
    named = {p.name: p.default for p in function.declaration.parameters if isinstance(p.default, (Name, Attribute))}
    defaults = {name: named[name] for name in passed.given_to(parameters) & named.keys()} if named else {}
    symbols = {name: resolver.resolve(default, function.module, scope) for name, default in defaults.items()}
    others = {name for name, symbol in symbols.items() if not _is(symbol, passed.value(name, parameters))}
    if not others:
        return False
    bound = bound_once(evaluator.calls.body_of(function) or ())
    made = [looked_up(item, bound) for value in function.declaration.return_values for item in items_of(value)]
    return any(isinstance(one, Call) and isinstance(one.func, Name) and one.func.id in others for one in made)


def _is(symbol: Symbol, value: Value) -> bool:
    """Whether a value is the function, or the class, that a name stands for."""
    match plain(value):
        case FunctionValue(symbol=function, receiver=None, applied=()):
            return isinstance(symbol, FunctionSymbol) and function.declaration is symbol.declaration
        case ClassObject(cls=cls):
            return isinstance(symbol, ClassSymbol) and cls.symbol.key == symbol.key
    return False


def _holds_instance(value: Value) -> bool:
    value = plain(value)
    if isinstance(value, Container):
        return any(map(_holds_instance, value.items if value.items is not None else (value.element,)))
    return isinstance(value, Instance)
