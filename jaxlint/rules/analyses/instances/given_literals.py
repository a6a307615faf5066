"""What code that is seen puts into a field, where it is written out: an annotation may say something else."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache, wraps
from typing import TypeAlias

from msgspec.structs import replace

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.promises import made_by_defaults
from jaxlint.infer.known.values import NUMBERS, Array, Value, is_larger_array, plain
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol, ValueSymbol
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.rules.analyses.instances.methods import may_have
from jaxlint.symbols.outline import Assignment, Function
from jaxlint.syntax.expressions import Call, Constant, DictDisplay, Display, Expr, Unary, is_none, last_name
from jaxlint.syntax.statements import all_parts, parts

#: A call, and the function in which it stands, if that is one.
_Call: TypeAlias = tuple[Call, Function | None]

#: A question about a field of a class.
_Question: TypeAlias = Callable[[Field, PytreeClass, Evaluator], bool]

_UPDATES = frozenset({"replace", "_replace", "evolve"})


def _once(question: _Question) -> _Question:
    """The same question, which is answered once for each field: it is asked of each function that updates it."""

    @wraps(question)
    def asked(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
        key = question, id(field), id(cls)
        return evaluator.model.once(key, lambda: (field, cls, question(field, cls, evaluator)))[2]

    return asked


def calls_giving(field: str, names: Collection[str], module: Module, evaluator: Evaluator) -> Iterator[_Call]:
    """The calls of some functions in a module, and those with a keyword that is called like a field.

    They stand in its functions, or make what its variables hold, or stand alone in it. With each comes its function.
    """
    written = _written(field, frozenset(names))
    if written.search(module.source.text) is None:
        return
    for call, function in calls_in(module, written, evaluator):
        if last_name(call.func) in names or call.keyword(field) is not None:
            yield call, function


@lru_cache(maxsize=256)
def _making(name: str) -> re.Pattern[str]:
    """Finds calls of a class in a text."""
    return re.compile(rf"\b{re.escape(name)}\s*[(\[]")


@lru_cache(maxsize=256)
def _written(field: str, names: frozenset[str]) -> re.Pattern[str]:
    """Finds such calls in a text, and perhaps more."""
    called = "".join(f"{_making(name).pattern}|" for name in sorted(names))
    return re.compile(rf"{called}\b{re.escape(field)}\s*=")


def calls_in(module: Module, written: re.Pattern[str], evaluator: Evaluator) -> Iterator[_Call]:
    """The calls in the functions of a module in which something is written, and those outside of functions."""
    outline = module.outline
    bound = (binding for bindings in outline.module_scope.bindings.values() for binding in bindings)
    values = [binding.value for binding in bound if isinstance(binding, Assignment) and binding.value is not None]
    for expr in (*values, *outline.module_calls):
        yield from ((part, None) for part in parts(expr) if isinstance(part, Call))
    for function in outline.functions.values():
        if "<locals>" not in function.scope and may_have(written, function, module):
            body = evaluator.calls.body_of(FunctionSymbol(module, function))
            shown = (
                all_parts(body) if body is not None else (p for value in function.return_values for p in parts(value))
            )
            yield from ((part, function) for part in shown if isinstance(part, Call))


@_once
def is_given_number(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a construction or update gives the field a number, or a tuple of some."""
    return any(map(_is_number, _given(field, cls, evaluator)))


def is_number_by_default(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether the constructor of a class puts a parameter into the field as it is, whose default is such a number."""
    constructor, stored = cls.custom_init(), evaluator.calls.stored_parameters(cls)
    parameters = () if constructor is None else constructor.parameters
    return any(
        parameter.default is not None and stored.get(parameter.name) == field.name and _is_number(parameter.default)
        for parameter in parameters
    )


@_once
def is_given_one_element(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether the default, a construction or an update gives the field an array of one element, and none a larger one.

    `Probe(x, jnp.zeros(()))` does.
    """
    given = [_with_numbers(one, evaluator) for one in (*made_by_defaults(field), *_placed(field, cls, evaluator))]
    return any(isinstance(one, Array) and one.single for one in given) and not any(map(is_larger_array, given))


def _with_numbers(placed: Placed, evaluator: Evaluator) -> Value:
    """What an expression evaluates to; a function that is given numbers alone is read with them: `scalar(0.1)`."""
    found, call = plain(evaluator.static(placed)), placed.expr
    if not isinstance(found, Array) or found.single is not None or not isinstance(call, Call):
        return found
    symbol = evaluator.model.resolver.resolve(call.func, placed.module, placed.scope)
    if call.has_star or not isinstance(symbol, FunctionSymbol) or not all(_is_number(a.value) for a in call.args):
        return found
    named = zip((p.name for p in symbol.declaration.parameters), call.positional, strict=False)
    given = {**dict(named), **{a.keyword: a.value for a in call.args if a.keyword is not None}}
    bound = {name: evaluator.static(replace(placed, expr=expr)) for name, expr in given.items()}
    return plain(evaluator.calls.return_of(symbol, None, bound))


def is_given_no_array(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a construction or update gives the field what is no array: a number, a text, an instance of a class."""
    return any(_is_number(one.expr) or _is_object(one, evaluator) for one in _placed(field, cls, evaluator))


@_once
def is_given_array(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a construction, an update or the constructor gives the field an array that is made there.

    `Counter(count=jnp.zeros(()))` does.
    """
    assigned = (one for one in cls.assigned.get(field.name) or () if one is not None)
    calls = (one for one in (*_placed(field, cls, evaluator), *assigned) if isinstance(one.expr, Call))
    return any(isinstance(plain(evaluator.static(one)), Array) for one in calls)


def is_given_object(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a construction or update gives the field a text or an instance of a class.

    So do trees of the same class that say where arrays live, or which shapes they have.
    """
    return any(_is_object(one, evaluator) for one in _placed(field, cls, evaluator))


def _is_object(given: Placed, evaluator: Evaluator) -> bool:
    """Whether an expression is a text, or makes an instance of some class, which is called like one in a library."""
    expr = given.expr
    if not isinstance(expr, Call):
        return isinstance(expr, Constant) and expr.kind == "str"
    resolver = evaluator.model.resolver
    symbol = resolver.resolve(expr.func, given.module, given.scope)
    if isinstance(symbol, ClassSymbol):
        return True
    if isinstance(symbol, ValueSymbol) and symbol.scope:
        return symbol.name[:1].isupper()  # a class that has got a short name in a function: `P = PartitionSpec`
    return resolver.library_name(expr.func, given.module, given.scope).rpartition(".")[2][:1].isupper()


def is_given_container_of_objects(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a construction or update gives the field a container in which texts or instances are written out."""
    for one in _placed(field, cls, evaluator):
        match one.expr:
            case Display(items=items) | DictDisplay(values=items):
                if any(_is_object(replace(one, expr=item), evaluator) for item in items):
                    return True
    return False


def is_given(kinds: frozenset[str], field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a construction or update gives the field a constant of one of some kinds (`NoneType`, `float`, …)."""
    return any(isinstance(expr, Constant) and expr.kind in kinds for expr in _given(field, cls, evaluator))


def is_given_tuple(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a construction or update gives the field a tuple."""
    return any(isinstance(expr, Display) and expr.kind == "tuple" for expr in _given(field, cls, evaluator))


def is_given_only(fits: Callable[[Placed], bool], field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether constructions are seen, and all that they and updates give the field is of a kind."""
    names, placed = {cls.name}, list[Placed | None]()
    for module in around(cls, evaluator):
        for call, function in calls_giving(field.name, names, module, evaluator):
            value = giving(field, cls, call, names)
            if value is not None or last_name(call.func) in names:
                scope = "" if function is None else function.inner_scope
                placed.append(None if value is None else Placed(value, module, scope))
    return bool(placed) and all(one is not None and fits(one) for one in placed)


@_once
def is_made_with_number(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether constructions are seen, and each of them gives the field a number that is written out."""
    return _is_made_with(lambda given: _is_number(given.expr), field, cls, evaluator)


@_once
def is_made_with_array(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether constructions are seen, and each of them gives the field an array."""
    return _is_made_with(lambda given: isinstance(plain(evaluator.static(given)), Array), field, cls, evaluator)


def _is_made_with(fits: Callable[[Placed], bool], field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether constructions are seen, and what each of them gives the field is of a kind."""
    written = _making(cls.name)
    made = [
        (giving(field, cls, call, {cls.name}), module, "" if function is None else function.inner_scope)
        for module in around(cls, evaluator)
        if written.search(module.source.text) is not None
        for call, function in calls_in(module, written, evaluator)
        if last_name(call.func) == cls.name
    ]
    return bool(made) and all(value is not None and fits(Placed(value, home, scope)) for value, home, scope in made)


def stays_none(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a field with the default None stays so wherever an instance is made, and is assigned at most once."""
    if cls.custom_init() is not None or evaluator.model.subclasses(cls):
        return False
    names, assigned, is_made = {cls.name, "cls"}, re.compile(rf"\.{field.name}\s*=(?!=)|['\"]{field.name}['\"]"), False
    homes = around(cls, evaluator)
    for module in homes:
        for call, function in calls_giving(field.name, names, module, evaluator):
            value = giving(field, cls, call, names)
            if makes_another(call, function, cls):
                continue
            if call.has_star or (value is not None and not is_none(value)):
                return False
            is_made = is_made or last_name(call.func) in names
    return is_made and sum(len(assigned.findall(module.source.text)) for module in homes) <= 1


def is_updated(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether an update is seen that gives the field another value than a constant."""
    for module in around(cls, evaluator):
        for call, _ in calls_giving(field.name, (), module, evaluator):
            if last_name(call.func) in _UPDATES and not isinstance(call.keyword(field.name), Constant):
                return True
    return False


def around(cls: PytreeClass, evaluator: Evaluator) -> tuple[Module, ...]:
    """The module of the class, and those that import it."""
    return (cls.module, *evaluator.model.importers(cls.module))


def _is_number(expr: Expr) -> bool:
    match expr:
        case Constant(kind=kind):
            return kind in NUMBERS
        case Unary(operand=operand):
            return _is_number(operand)
        case Display(kind="tuple", items=items):
            return bool(items) and all(map(_is_number, items))
    return False


def _given(field: Field, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Expr]:
    """What the module of the class, and those that import it, are seen to put into a field."""
    return (placed.expr for placed in _placed(field, cls, evaluator))


def _placed(field: Field, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Placed]:
    """The same, with where it stands. What a converter is given is not what the field holds."""
    if field.is_converted:
        return
    names = {cls.name, *({"cls"} if cls.custom_init() is None else ())}
    for module in around(cls, evaluator):
        for call, function in calls_giving(field.name, names, module, evaluator):
            value = None if makes_another(call, function, cls) else giving(field, cls, call, names)
            if value is not None:
                yield Placed(value, module, "" if function is None else function.inner_scope)


def makes_another(call: Call, function: Function | None, cls: PytreeClass) -> bool:
    """Whether a call of `cls` stands elsewhere than in a method of the class, or of one that it inherits from."""
    if last_name(call.func) != "cls":
        return False
    return function is None or all(function.owner != one.symbol.declaration.qualname for one in cls.mro)


def giving(field: Field, cls: PytreeClass, call: Call, names: Collection[str]) -> Expr | None:
    """What a construction (a call of one of the names) or an update gives a field."""
    name = last_name(call.func)
    if name not in names and name not in _UPDATES:
        return None
    value = call.keyword(field.name)
    if value is None and name in names and cls.custom_init() is None and not call.has_star:
        taken = [one.name for one in cls.declared_fields if one.init]
        index = taken.index(field.name) if field.name in taken else None
        value = call.positional[index] if index is not None and index < len(call.positional) else None
    return value
