"""Where the instance in a variable comes from: the constructor call that makes it, here or in a function."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import is_classmethod
from jaxlint.libraries.updates import TRAIN_STATE
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol, ValueSymbol
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.pytrees.updating import is_train_state
from jaxlint.rules.analyses.bodies.settled import is_fixed
from jaxlint.rules.analyses.instances.methods_called import held_method
from jaxlint.symbols.outline import Function, names_by_position
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, dotted
from jaxlint.syntax.statements import (
    Assign,
    Body,
    all_parts,
    assigned_names,
    bound_by,
    bound_once,
    looked_up,
    parts,
    walk,
)

#: How many functions that make an instance are followed.
_MAX_FACTORIES = 3


class Made(msgspec.Struct, frozen=True):
    """A constructor call, and the class that it makes an instance of."""

    cls: PytreeClass
    call: Call
    #: Where the call stands.
    module: Module
    scope: str
    #: The function that makes the call, if that is not the code which was asked about.
    function: FunctionSymbol | None = None
    #: The call of that function, if it stands in the code which was asked about.
    factory: Call | None = None


def given_by(call: Call, cls: PytreeClass) -> Iterator[tuple[Field, Expr]]:
    """The fields to which a constructor call gives a value, as it is written; none if the class has its own one."""
    parameters = cls.constructor()
    if call.has_star or parameters is None or cls.has_own_construction:
        return
    positional = names_by_position(parameters)
    pairs = list(zip(positional, call.positional, strict=False))
    pairs += [(argument.keyword, argument.value) for argument in call.args if argument.keyword is not None]
    for name, value in pairs:
        field = cls.field(name)
        if field is not None:
            yield field, value


def argument_at(at: object, body: Body) -> tuple[Call, Expr] | None:
    """The call in a body that is given the argument at a place, and what it is given.

    None for what comes out of `*values` or `**options`: an item of them is given, and not the whole.
    """
    for part in all_parts(body, nested=False):
        if isinstance(part, Call):
            for argument in part.args:
                if argument.at is at:
                    return None if argument.star else (part, argument.value)
    return None


def maker_of(path: str, taking: Call, code: CodeRead, evaluator: Evaluator) -> Made | None:
    """The call that makes the instance in a variable which `taking` is given; None if that is not the only one.

    What the variable is given of `taking` itself comes later. A constant of this module or another one counts, too.
    """
    made: list[Expr] = []
    for statement in walk(code.body, nested=False):
        if isinstance(statement, Assign) and any(part is taking for part in parts(statement.value)):
            continue
        if isinstance(statement, Assign) and any(dotted(target) == path for target in statement.targets):
            made.append(statement.value)
        elif any(path in map(dotted, parts(target)) for target in bound_by(statement)):
            return None
    module, scope = code.place.module, code.scope
    constant = None if made or "." in path else evaluator.model.resolver.resolve(Name(taking.at, path), module, scope)
    if isinstance(constant, ValueSymbol) and is_fixed(constant) and constant.assignment.value is not None:
        made, module, scope = [constant.assignment.value], constant.module, ""
    return _followed(made, module, scope, code if constant is None else None, evaluator)


def maker(making: Call, code: CodeRead, evaluator: Evaluator) -> Made | None:
    """The constructor call by which a call makes an instance: it is one, or one of a function that makes it."""
    return _followed([making], code.place.module, code.scope, code, evaluator)


def put_in(call: Call, code: CodeRead, evaluator: Evaluator) -> Iterator[tuple[Name, Field]]:
    """The variables that a call puts into the instance which it makes, as they are, with the fields that hold them.

    The call stands in the code, and constructs the instance itself or calls one function that does.
    """
    made = maker(call, code, evaluator)
    if made is None or made.factory is not (None if made.function is None else call):
        return
    for field, value in given_by(made.call, made.cls):
        given: Expr | None = value
        if made.function is not None and isinstance(value, Name):
            body = evaluator.calls.body_of(made.function) or ()
            is_parameter = value.id not in assigned_names(body)
            given = passed_to(made.function.declaration, call).get(value.id) if is_parameter else None
        if isinstance(given, Name) and isinstance(value, Name) and not field.is_converted:
            yield given, field


def passed_to(function: Function, call: Call) -> dict[str, Expr]:
    """What a call passes for the parameters of a function, or of a classmethod by its class."""
    if function.self_name is not None and not is_classmethod(function):
        return {}
    return {} if call.has_star else call.given_to(function.positional[is_classmethod(function) :])


def _followed(made: list[Expr], module: Module, scope: str, code: CodeRead | None, evaluator: Evaluator) -> Made | None:
    """The call that makes the one argument, seen through functions that only return the result of another one.

    Methods of variables are known where the thing stands in some code.
    """
    function: FunctionSymbol | None = None
    factory: Call | None = None
    owner: PytreeClass | None = None
    for _ in range(_MAX_FACTORIES):
        is_variable = function is not None and len(made) == 1 and isinstance(made[0], Name)
        if function is not None and is_variable:  # `state = State(...)`, `return state`
            made = [looked_up(made[0], bound_once(evaluator.calls.body_of(function) or ()))]
        if len(made) != 1 or not isinstance(made[0], Call):
            return None
        call = made[0]
        symbol = evaluator.model.resolver.follow(evaluator.model.resolver.resolve(call.func, module, scope))
        if function is None and code is not None:
            symbol = held_method(call.func, code, evaluator) or symbol
        cls = _own_class(call.func, function, owner) or evaluator.model.class_of_symbol(symbol)
        if cls is None and isinstance(call.func, Attribute) and call.func.attr == "create":
            cls = _train_state(call.func.value, module, scope, evaluator)
        if cls is not None:
            return None if is_variable and cls.frozen is not True else Made(cls, call, module, scope, function, factory)
        if not isinstance(symbol, FunctionSymbol):
            return None
        if symbol.declaration.decorators:
            if not is_classmethod(symbol.declaration) or not isinstance(call.func, Attribute):
                return None
            if len(symbol.declaration.decorators) > 1:
                return None  # what `jax.jit` returns has buffers of its own
            of = evaluator.model.resolver.follow(evaluator.model.resolver.resolve(call.func.value, module, scope))
            owner = evaluator.model.class_of_symbol(of)
        factory = call if function is None else None
        function, made = symbol, list(symbol.declaration.return_values)
        module, scope = symbol.module, symbol.declaration.inner_scope
    return None


def _own_class(func: Expr, method: FunctionSymbol | None, owner: PytreeClass | None) -> PytreeClass | None:
    """The class that a classmethod calls as its first parameter."""
    if method is None or owner is None or not is_classmethod(method.declaration):
        return None
    return owner if isinstance(func, Name) and func.id == method.declaration.self_name else None


def _train_state(expr: Expr, module: Module, scope: str, evaluator: Evaluator) -> PytreeClass | None:
    """The class of flax's `TrainState`, or one that inherits its `create`, which gives the fields what it is given."""
    cls = evaluator.model.class_of_symbol(evaluator.model.resolver.resolve(expr, module, scope))
    if cls is None or not is_train_state(cls):
        return None
    created = cls.method("create")
    return cls if created is None or created[0].symbol.full_name == TRAIN_STATE else None
