"""What calls pass to the parameters of functions, as far as it can be matched: `*args` and `**kwargs` as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from jaxlint.infer.known.deferred import Held, Values, known
from jaxlint.infer.known.transformed_values import slice_of
from jaxlint.infer.known.values import (
    UNKNOWN,
    WRITTEN,
    Container,
    FunctionValue,
    LocalFunctionValue,
    Partial,
    Scalar,
    Symbolic,
    Value,
    binds_receiver,
    dict_of,
    is_informative,
    is_larger_array,
    known_entries,
    plain,
)
from jaxlint.infer.transforms.applied import Applied
from jaxlint.infer.transforms.calling import CallingFunctions, calls_one_of
from jaxlint.libraries.functions import is_plain_function
from jaxlint.libraries.transforms import Kind
from jaxlint.project.resolution import External, FunctionSymbol
from jaxlint.symbols.outline import Parameter, names_by_position
from jaxlint.syntax.expressions import Call, Constant, Expr, Name
from jaxlint.syntax.statements import FunctionDefinition


class Passed(msgspec.Struct, frozen=True):
    """The arguments of a call, as far as they can be matched with parameters."""

    positional: Sequence[Value]
    keywords: dict[str, Held]
    #: Whether there is more that is not known: `*args`, `**kwargs`.
    has_star: bool = False

    def in_order(self, parameters: Sequence[Parameter]) -> list[Value]:
        """What is passed for the positional ones of some parameters, up to the last one that is given something."""
        names = names_by_position(parameters)
        found = list(self.positional)
        last = max((n for n, name in enumerate(names) if name in self.keywords), default=-1)
        return found + [known(self.keywords.get(name, UNKNOWN)) for name in names[len(found) : last + 1]]

    def beyond(self, parameters: Sequence[Parameter]) -> dict[str, Value]:
        """What `*args` and `**kwargs` among some parameters are given, where all of it is known."""
        found: dict[str, Value] = {}
        for parameter in parameters if not self.has_star else ():
            if parameter.annotation is None and parameter.kind == "*":
                taken = sum(p.kind == "positional" for p in parameters)
                found[parameter.name] = Container("tuple", tuple(map(plain, self.positional[taken:])))
            elif parameter.annotation is None and parameter.kind == "**":
                names = {p.name for p in parameters if p.kind in ("positional", "keyword")}
                rest = {name: plain(known(held)) for name, held in self.keywords.items() if name not in names}
                found[parameter.name] = dict_of(rest)
        return found

    def given_to(self, parameters: Sequence[Parameter]) -> set[str]:
        """The names of those of some parameters to which the call gives something."""
        return {*self.keywords, *names_by_position(parameters)[: len(self.positional)]}

    def value(self, name: str, parameters: Sequence[Parameter]) -> Value:
        """What the call gives to the one of some parameters that has a name; unknown if it gives nothing."""
        by_position = dict(zip(names_by_position(parameters), self.positional, strict=False))
        return by_position[name] if name in by_position else known(self.keywords.get(name, UNKNOWN))

    def left_out(self, parameters: Sequence[Parameter]) -> Iterator[tuple[str, Expr]]:
        """The defaults of those of some parameters that the call leaves out."""
        given = self.given_to(parameters)
        for parameter in parameters if not self.has_star else ():
            if parameter.default is not None and parameter.name not in given:
                yield parameter.name, parameter.default


def passed_by(call: Call, values: Values, applied: Sequence[Applied] = ()) -> Passed:
    """What a call passes to a function after what is `applied` to it: `jax.vmap` passes rows of arrays."""
    passed = _given_to(call, values)
    if any(one.transform.kind is Kind.MAP for one in applied):
        rows: dict[str, Held] = {name: slice_of(known(held)) for name, held in passed.keywords.items()}
        return Passed([slice_of(value) for value in passed.positional], rows, passed.has_star)
    return passed


def _given_to(call: Call, values: Values) -> Passed:
    """The arguments of a call; what is unpacked counts where it is known item by item."""
    positional: list[Held] = []
    keywords: dict[str, Held] = {}
    for arg, held in zip(call.args, values.held, strict=True):
        if arg.star == "*":
            items = _items(known(held))
            if items is None:
                return Passed(Values(positional), keywords, has_star=True)
            positional += items
        elif arg.star:
            entries = known_entries(known(held))
            if entries is None:
                return Passed(Values(positional), keywords, has_star=True)
            keywords |= entries
        elif arg.keyword is None:
            positional.append(held)
        else:
            keywords[arg.keyword] = held
    return Passed(Values(positional), keywords)


def _items(value: Value) -> tuple[Value, ...] | None:
    """The items of a tuple or list whose number is known."""
    value = plain(value)
    return value.items if isinstance(value, Container) and value.kind in ("tuple", "list") else None


def after_receiver(function: FunctionValue) -> Sequence[Parameter]:
    """The parameters of a function without the one that is its receiver."""
    declaration = function.symbol.declaration
    return declaration.parameters[binds_receiver(declaration, function.receiver) :]


def taking(function: FunctionValue) -> list[Parameter]:
    """The parameters that take the positional arguments of a call."""
    return [p for p in after_receiver(function) if p.kind == "positional"]


def switches(defaults: Mapping[str, Expr]) -> dict[str, Value]:
    """Those of some defaults that are written as `True` or as `False`."""
    constants = [(name, one.value) for name, one in defaults.items() if type(one) is Constant and one.kind == "bool"]
    return {name: WRITTEN[bool(value)] for name, value in constants}


def is_open(parameter: Parameter) -> bool:
    """Whether what is passed for a parameter says more than its annotation: there is none, or it is `bool`."""
    annotation = parameter.annotation
    return annotation is None or (type(annotation) is Name and annotation.id == "bool")


def worth_passing(passed: Mapping[str, Value]) -> dict[str, Value]:
    """What of the arguments of a call a function is read for, and the functions and switches that are passed beside it.

    What those functions return is of interest where they are given the instances: `train(state, step)`.
    """
    found = {name: value for name, value in passed.items() if is_informative(value)}
    if found and len(found) < len(passed):
        beside = {name: plain(value) for name, value in passed.items()}
        found |= {name: value for name, value in beside.items() if is_function(value) or is_switch(value)}
    return found


def worth_telling(passed: Mapping[str, Value]) -> dict[str, Value]:
    """What other modules pass to a function for which that is read: instances and what is beside, or else functions."""
    return worth_passing(passed) or {name: value for name, value in passed.items() if is_function(value)}


def decides(value: Value) -> bool:
    """Whether a function is read for what it is given: what is neither instance, function nor array changes little."""
    return acts(value) or is_larger_array(value)


def acts(value: Value) -> bool:
    """Whether a value is an instance or a function, or holds one: something may happen with it."""
    return is_informative(value) or is_function(value)


def is_switch(value: Value) -> bool:
    """Whether a value is known to be `True`, or to be `False`: it decides which branches of a function run."""
    return isinstance(value, Scalar) and value.says is not None


def is_function(value: Value) -> bool:
    """Whether a value is a function that has a name, of the project or of a library, or what `partial` makes of one."""
    match value:
        case Partial(function=function):
            return is_function(function)
        case LocalFunctionValue(function=function):
            return isinstance(function.node, FunctionDefinition)
        case Symbolic(symbol=External(name=name)):
            return is_plain_function(name)
    return isinstance(value, FunctionValue)


def called_back(given: Mapping[str, Value], function: FunctionSymbol, calling: CallingFunctions) -> dict[str, Value]:
    """The functions among the arguments of a call that the called function may call, or pass to a transformation."""
    applying = calling.applying(function.module) if given else ()
    return {name: value for name, value in given.items() if name in applying or calls_one_of((name,), function)}
