"""The compiled functions that hand out what their helpers return."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from typing import TypeAlias

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import (
    UNKNOWN,
    Array,
    FunctionValue,
    Instance,
    Scalar,
    UnknownValue,
    Value,
    is_one_number,
    plain,
)
from jaxlint.infer.transforms.applied import Applied, abstracting, rebuilt_parameters, tracing_arrays
from jaxlint.infer.transforms.calling import piece_of
from jaxlint.libraries.arrays import ARRAY_REDUCTIONS
from jaxlint.libraries.updates import COPYING_NAMES
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.rules.analyses.bodies.binding import binds
from jaxlint.rules.analyses.instances.methods import is_overridden
from jaxlint.rules.analyses.under_trace.traced import is_array_field
from jaxlint.symbols.outline import Function, Parameter
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Conditional,
    DictDisplay,
    Display,
    Expr,
    Lambda,
    Name,
    Starred,
    Subscript,
    dotted,
    last_name,
)
from jaxlint.syntax.statements import Assign, Body, Return, all_parts, bound_by, has_variable, parts, target_names, walk

_MAX_DEPTH = 4
#: What returns what the functions return that it is given, by their last names.
_RUNNING = frozenset({"cond", "switch"})

#: A module, and the scope of a function in it.
FunctionScope: TypeAlias = tuple[Module, str]


class Caller(msgspec.Struct, frozen=True):
    """A compiled function, in words, that returns the result of another function, and what it passes to that one.

    These are the parameters that get tracers, and the parameters that get an instance which the compiled function was
    given itself, with the fields of the instance that hold tracers.
    """

    name: str
    given: set[str]
    instances: Mapping[str, Container[str]]


def compiled_callers(
    symbol: FunctionSymbol, fields: Collection[str], evaluator: Evaluator, depth: int = 0
) -> Iterator[Caller]:
    """The compiled functions that hand out what a helper or method returns, with some of its fields as they are.

    They call that themselves, or other helpers that do.
    """
    function, module = symbol.declaration, symbol.module
    if "<locals>" in function.scope or function.decorators or evaluator.calls.transformed.of(function, module):
        return
    for home in (module, *evaluator.model.importers(module)):
        for other in home.outline.functions.values():
            if other is function or function.name not in piece_of(other, home.outline).calls:
                continue
            body = evaluator.calls.body_of(FunctionSymbol(home, other)) or ()
            for call in (part for part in all_parts(body, nested=False) if isinstance(part, Call)):
                scope = home, other.inner_scope
                if _calls(call, symbol, other, home, body, evaluator) and is_returned(
                    call, body, fields, scope, evaluator
                ):
                    around = _compiled(FunctionSymbol(home, other), fields, evaluator, depth)
                    if around is not None:
                        numbers = Numbers(around.given, body, around.instances)
                        yield Caller(around.name, _passed(call, function, numbers), numbers.handed_on(call, function))


def _compiled(symbol: FunctionSymbol, fields: Collection[str], evaluator: Evaluator, depth: int) -> Caller | None:
    """A function itself, if it is compiled, or the one that hands out what it returns."""
    function, module = symbol.declaration, symbol.module
    applied = evaluator.calls.transformed.of(function, module)
    tracing = abstracting(applied) or tracing_arrays(applied)
    if tracing:
        given = _rebuilt_numbers(function, abstracting(applied), module, evaluator)
        instances = _rebuilt_instances(function, tracing, module, evaluator)
        return Caller(f"`{function.name}` (`{tracing[0].transform.name}`)", given, instances)
    return next(compiled_callers(symbol, fields, evaluator, depth + 1), None) if depth < _MAX_DEPTH else None


def _passed(call: Call, function: Function, numbers: Numbers) -> set[str]:
    """The parameters of a helper that get tracers from a call, and whose values are not known otherwise."""
    passed = _arguments(call, function)
    return bare(
        function, {name: UNKNOWN for name, expr in passed.items() if numbers.computes(expr) or is_reduction(expr)}
    )


def _arguments(call: Call, function: Function) -> dict[str, Expr]:
    """What a call gives to the parameters of a function or method."""
    return {} if call.has_star else call.given_to(function.positional[1 if function.self_name is not None else 0 :])


def _calls(
    call: Call, symbol: FunctionSymbol, caller: Function, home: Module, body: Body, evaluator: Evaluator
) -> bool:
    """Whether a call in a function certainly is one of a helper, or of a method by an instance."""
    function, resolver = symbol.declaration, evaluator.model.resolver
    if last_name(call.func) != function.name:
        return False
    if function.self_name is None:
        found = resolver.follow(resolver.resolve(call.func, home, caller.inner_scope))
        return isinstance(found, FunctionSymbol) and found.declaration is function
    instance = _held(call.func.value, caller, home, body, evaluator) if isinstance(call.func, Attribute) else None
    if instance is None or is_overridden(function.name, instance, evaluator):
        return False
    method = instance.cls.method(function.name)
    return method is not None and method[1] is function


def _held(
    expr: Expr, caller: Function, home: Module, body: Body, evaluator: Evaluator, depth: int = 0
) -> Instance | None:
    """The instance that a parameter holds, or a copy of it that is bound to its name, or what methods make of it.

    Or one that such an instance holds.
    """
    match expr:
        case Name(id=name) if all(has_variable(value, name) for value in _bound_to(name, body)):
            value = plain(evaluator.given_parameter(caller, name, home))
        case Attribute(value=inner, attr=attr) if depth < _MAX_DEPTH:
            holder = _held(inner, caller, home, body, evaluator, depth + 1)
            value = UNKNOWN if holder is None else plain(evaluator.attribute_of(holder, attr))
        case Call(func=Attribute(value=inner, attr=attr)) if depth < _MAX_DEPTH:
            held = _held(inner, caller, home, body, evaluator, depth + 1)
            found = None if held is None else held.cls.method(attr)
            if found is None:
                return None
            method = FunctionSymbol(found[0].module, found[1])
            value = plain(evaluator.calls.returned(FunctionValue(method, held)))
        case _:
            return None
    return value if isinstance(value, Instance) else None


def _bound_to(name: str, body: Body) -> Iterator[Expr]:
    """What a body binds a variable to; that itself, if it is no assignment."""
    for statement in walk(body, nested=False):
        if binds(statement, name):
            yield statement.value if isinstance(statement, Assign) else Name(statement.at, "")


def _rebuilt_numbers(function: Function, applied: list[Applied], module: Module, evaluator: Evaluator) -> set[str]:
    """The parameters of a compiled function that are tracers: those that say nothing, or that they are arrays."""
    rebuilt = rebuilt_parameters(function, applied)
    arrays = {
        p.name
        for p in function.parameters
        if p.name in rebuilt
        and p.annotation is not None
        and isinstance(plain(evaluator.annotations.read(Placed(p.annotation, module, function.scope))), Array)
    }
    return arrays | bare(function, dict.fromkeys(rebuilt, UNKNOWN))


def _rebuilt_instances(
    function: Function, applied: list[Applied], module: Module, evaluator: Evaluator
) -> dict[str, frozenset[str]]:
    """The parameters of a compiled function that are instances, with their leaves: these are tracers."""
    found = {}
    for name in rebuilt_parameters(function, applied):
        value = plain(evaluator.given_parameter(function, name, module))
        if isinstance(value, Instance) and value.cls.is_pytree:
            leaves = (field for field in value.cls.fields if field.role is Role.LEAF)
            found[name] = frozenset(
                f.name for f in leaves if abstracting(applied) or is_array_field(f, value.cls, evaluator)
            )
    return found


class EveryName:
    """Contains all names."""

    def __contains__(self, name: object) -> bool:
        return True


class Numbers:
    """Finds expressions that are certainly computed from traced parameters, whatever those hold.

    Fields of `instances`, which are other parameters, count as well.
    """

    def __init__(self, parameters: Collection[str], body: Body, instances: Mapping[str, Container[str]]) -> None:
        bound = Counter(name for s in walk(body, nested=False) for t in bound_by(s) for name in target_names(t))
        self._parameters = set(parameters) - bound.keys()
        self._instances = {name: fields for name, fields in instances.items() if name not in bound}
        self._variables = {
            s.targets[0].id: s.value
            for s in walk(body, nested=False)
            if isinstance(s, Assign) and isinstance(s.targets[0], Name) and bound[s.targets[0].id] == 1
        }

    def are_put(self, expr: Expr, field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
        """Whether an expression is computed so; a bare parameter may be a pytree without leaves, but no number.

        Nor may an item of one.
        """
        if isinstance(expr, Subscript) and isinstance(expr.value, Name):
            return self.are_put(expr.value, field, cls, evaluator)
        if isinstance(expr, Name):
            declared = UNKNOWN if field.annotation is None else plain(evaluator.promises.field(field, cls))
            if not isinstance(declared, Scalar) or declared.kind not in ("int", "float", "bool"):
                return False
        return self.computes(expr)

    def computes(self, expr: Expr, depth: int = 0) -> bool:
        """Whether an expression is such a parameter, a sum with one, or the largest of its elements and the like."""
        match expr:
            case Name(id=name):
                if name in self._parameters:
                    return True
                value = self._variables.get(name)
                return value is not None and depth < _MAX_DEPTH and self.computes(value, depth + 1)
            case Binary(left=left, right=right):
                return any(self._is_number(side, depth) for side in (left, right))
            case Call(func=Name(id="abs"), args=(given,)):
                return self._is_number(given.value, depth)
            case Call(func=Attribute(value=held, attr=attr), args=()) if attr in ARRAY_REDUCTIONS:
                return self._is_number(held, depth)
            case Call(func=Attribute(value=Name(id="jnp"), attr=attr), args=(given, *_)) if attr in ARRAY_REDUCTIONS:
                return self._is_number(given.value, depth)
        return False

    def _is_number(self, expr: Expr, depth: int) -> bool:
        """Whether something that is computed with is such a number, or a field of such an instance."""
        if isinstance(expr, Attribute) and isinstance(expr.value, Name):
            return self._is_held(expr.value, expr.attr, depth)
        return self.computes(expr, depth)

    def _is_held(self, name: Name, attr: str, depth: int) -> bool:
        """Whether the attribute of a variable is such a field, of the instance itself or of a copy with changes."""
        if name.id in self._instances:
            return attr in self._instances[name.id]
        copy = self._variables.get(name.id)
        if not isinstance(copy, Call) or last_name(copy.func) not in COPYING_NAMES or depth >= _MAX_DEPTH:
            return False
        given, original = copy.keyword(attr), _copied(copy, ())
        if not isinstance(original, Name):
            return False
        return self._is_held(original, attr, depth + 1) if given is None else self.computes(given, depth + 1)

    def handed_on(self, call: Call, function: Function) -> dict[str, Container[str]]:
        """The parameters of a function to which a call gives such instances, with their fields."""
        passed = _arguments(call, function).items()
        names = {name: expr.id for name, expr in passed if isinstance(expr, Name)}
        if function.self_name is not None and isinstance(call.func, Attribute) and isinstance(call.func.value, Name):
            names[function.self_name] = call.func.value.id
        return {name: self._instances[held] for name, held in names.items() if held in self._instances}


def bare(function: Function, traced: Mapping[str, Value]) -> set[str]:
    """The traced parameters whose values are not known otherwise, or are said to be numbers: those are traced, too."""
    bare = {p.name for p in function.parameters if p.default is None and (p.annotation is None or _is_number_type(p))}
    return {
        name
        for name, value in traced.items()
        if name in bare and (isinstance(value, UnknownValue) or (isinstance(value, Scalar) and is_one_number(value)))
    }


def _is_number_type(parameter: Parameter) -> bool:
    """Whether a parameter is annotated as a number of Python, which a tracer takes the place of."""
    return dotted(parameter.annotation) in ("int", "float", "bool") if parameter.annotation is not None else False


def is_reduction(expr: Expr) -> bool:
    """Whether an expression is what a function of `jnp` makes of many numbers: while jax traces, that is a tracer."""
    match expr:
        case Call(func=Attribute(value=Name(id="jnp"), attr=attr)):
            return attr in ARRAY_REDUCTIONS
    return False


def is_returned(call: Call, body: Body, fields: Collection[str], scope: FunctionScope, evaluator: Evaluator) -> bool:
    """Whether what a call makes is returned, at once, as a variable, or in a copy that keeps some fields.

    So it is where another function of the project makes the copy.
    """
    return _hands_out(lambda expr: expr is call, set(), body, fields, scope, evaluator)


def is_variable_returned(
    name: str, body: Body, fields: Collection[str], scope: FunctionScope, evaluator: Evaluator
) -> bool:
    """Whether what a variable holds is returned, in the same ways."""
    return _hands_out(lambda _: False, {name}, body, fields, scope, evaluator)


def _hands_out(
    starts: Callable[[Expr], bool],
    names: set[str],
    body: Body,
    fields: Collection[str],
    scope: FunctionScope,
    evaluator: Evaluator,
    depth: int = 0,
) -> bool:
    """Whether a body returns what an expression starts with, or what a variable of some names holds."""

    def is_it(expr: Expr) -> bool:
        if starts(expr) or (isinstance(expr, Name) and expr.id in names):
            return True
        if not isinstance(expr, Call):
            return False
        base = _copied(expr, fields)
        return (base is not None and is_it(base)) or is_handed_on(expr)

    def is_handed_on(call: Call) -> bool:
        if depth >= _MAX_DEPTH or call.has_star or not any(is_it(a.value) for a in call.args):
            return False
        symbol = evaluator.model.resolver.resolve(call.func, *scope)
        if not isinstance(symbol, FunctionSymbol) or symbol.declaration.decorators:
            return False
        function, inside = symbol.declaration, evaluator.calls.body_of(symbol) or ()
        given = {name for name, expr in call.given_to(function.positional).items() if is_it(expr)}
        inner = (symbol.module, function.inner_scope)
        return _hands_out(lambda _: False, given, inside, fields, inner, evaluator, depth + 1)

    holders: dict[str, str] = {}
    for statement in walk(body, nested=False):
        match statement:
            case Assign(targets=(Name(id=name),), value=value):
                field = _field_with(value, is_it, holders)
                if is_it(value):
                    names.add(name)
                elif field is not None:
                    holders[name] = field
                else:
                    holders.pop(name, None)
            case Return(value=value) if value is not None:
                if any(is_it(one) or _field_with(one, is_it, holders) is not None for one in _handed(value)):
                    return True
    return False


def _field_with(expr: Expr, is_it: Callable[[Expr], bool], holders: Mapping[str, str]) -> str | None:
    """The field that `copy.replace(field=it)` gives the value that `is_it` recognises, also through later copies.

    `holders` are the variables with such copies, and the field of each.
    """
    if isinstance(expr, Name):
        return holders.get(expr.id)
    if not isinstance(expr, Call) or last_name(expr.func) not in COPYING_NAMES or expr.has_star:
        return None
    put = next((a.keyword for a in expr.args if a.keyword is not None and is_it(a.value)), None)
    base = expr.positional[0] if expr.positional else expr.func.value if isinstance(expr.func, Attribute) else None
    if put is not None or base is None:
        return put
    before = _field_with(base, is_it, holders)
    return None if expr.keyword(before or "") is not None else before


def _copied(call: Call, fields: Collection[str]) -> Expr | None:
    """The instance that a call copies, with the same values in some fields."""
    if last_name(call.func) == "tree_at" and len(call.positional) > 1:
        where = call.positional[0]
        is_given = any(isinstance(part, Attribute) and part.attr in fields for part in parts(where))
        return None if is_given else call.positional[1]
    if last_name(call.func) not in COPYING_NAMES or any(a.star or a.keyword in fields for a in call.args):
        return None
    if call.positional:
        return call.positional[0]
    return call.func.value if isinstance(call.func, Attribute) else None


def _handed(value: Expr) -> Iterator[Expr]:
    """What is handed back as it is: the value itself, what it holds, is made of, or what a branch returns."""
    yield value
    match value:
        case Display(items=items):
            held: Iterable[Expr] = items
        case DictDisplay(values=values):
            held = values
        case Starred(value=inner):
            held = (inner,)
        case Conditional(body=body, orelse=orelse):
            held = (body, orelse)
        case Lambda(body=body):
            held = (body,)
        case Call(func=func, args=args) if (name := last_name(func) or "") in _RUNNING or name[:1].isupper():
            held = [argument.value for argument in args]
        case _:
            held = ()
    for one in held:
        yield from _handed(one)
