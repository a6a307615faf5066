"""What calls pass for the parameters of a function that have no annotations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Construct, KeywordValue
from jaxlint.infer.known.values import UNKNOWN, AnyFunction, Instance, UnknownValue, Value, is_classmethod, plain
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.rules.analyses.instances.given_literals import calls_in
from jaxlint.rules.analyses.instances.methods import is_overridden
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, dotted, last_name
from jaxlint.syntax.statements import Assign, all_parts, assigned_names, bound_once, looked_up


class Called(msgspec.Struct, frozen=True):
    """A call of a function: where it stands, and what it gives the parameters, as it is written there."""

    call: Call
    #: The function in which it stands, if that is one.
    caller: Function | None
    module: Module
    scope: str
    given: Mapping[str, Expr]


def given_by(call: Call, function: Function) -> dict[str, Expr]:
    """What a call gives to the parameters of a function, its receiver to the first one of a method.

    Nothing where something is unpacked into the call.
    """
    names = function.positional
    if call.has_star:
        return {}
    if function.self_name is not None and isinstance(call.func, Attribute):
        return call.given_to(names[1:]) | {function.self_name: call.func.value}
    return call.given_to(names)


def parameter_of(expr: Expr, code: CodeRead) -> str | None:
    """The parameter without annotation that an expression is: by itself, or as an attribute that was given it."""
    function = code.function
    if function is None:
        return None
    if isinstance(expr, Attribute):
        path = dotted(expr)
        given = [s for s in code.statements if isinstance(s, Assign) and any(dotted(t) == path for t in s.targets)]
        if path is None or len(given) != 1 or not any(s is given[0] for s in code.body):
            return None
        expr = given[0].value
    if not isinstance(expr, Name) or expr.id in assigned_names(code.body) or expr.id == function.self_name:
        return None
    return next((p.name for p in function.parameters if p.name == expr.id and p.annotation is None), None)


def calls_of(function: Function, module: Module, homes: Iterable[Module], evaluator: Evaluator) -> Iterator[Called]:
    """The calls in some modules of a function of a module, or of the class whose constructor it is.

    None of a function that something is made of, or that stands in another one; and none with a star.
    """
    if not function.decorators:
        yield from calls_as_written(function, module, homes, evaluator)


def calls_as_written(
    function: Function, module: Module, homes: Iterable[Module], evaluator: Evaluator
) -> Iterator[Called]:
    """The same, where what decorates the function is known to leave its parameters as they are."""
    owner = function.owner
    if "<locals>" in function.scope or (owner is not None and function.name != "__init__"):
        return
    name = function.name if owner is None else module.outline.classes[owner].name
    positional = function.positional[owner is not None :]
    resolver, written = evaluator.model.resolver, re.compile(rf"\b{re.escape(name)}\s*\(")
    for home in homes:
        # a word is found far sooner than what stands around it
        if home is not module and not (name in home.source.text and written.search(home.source.text)):
            continue
        for call, caller in calls_in(home, written, evaluator):
            if last_name(call.func) != name or call.has_star:
                continue
            scope = "" if caller is None else caller.inner_scope
            symbol = resolver.follow(resolver.resolve(call.func, home, scope))
            cls = None if owner is None else evaluator.model.class_of_symbol(symbol)
            is_made = cls is not None and cls.symbol.key == (module.path, owner)
            if is_made or (isinstance(symbol, FunctionSymbol) and symbol.declaration is function):
                yield Called(call, caller, home, scope, call.given_to(positional))


def handed_on(argument: KeywordValue, event: Construct, evaluator: Evaluator) -> Iterator[Value]:
    """What callers pass for the parameter that a function, or class method, hands on to the instance that it makes.

    One that leaves it out passes its default.
    """
    place, method = event.place, event.place.function
    if method is None or not (method.owner is None or is_classmethod(method)):
        return
    if not isinstance(argument.value, (UnknownValue, AnyFunction)):
        return
    name = next((a.value.id for a in event.call.args if a.at is argument.at and isinstance(a.value, Name)), None)
    body = evaluator.calls.body_of(FunctionSymbol(place.module, method)) or ()
    if name is None or not method.takes(name) or name in assigned_names(body):
        return
    homes = (place.module, *evaluator.model.importers(place.module))
    default = next((p.default for p in method.parameters if p.name == name), None)
    for called in (
        calls_of(method, place.module, homes, evaluator)
        if method.owner is None
        else calls_of_classmethod(method, event.cls.cls, homes, evaluator)
    ):
        if name in called.given:
            yield _value_given(name, called, evaluator)
        elif default is not None:
            yield evaluator.static(Placed(default, place.module, method.scope))


def handed_on_by_name(event: Construct, evaluator: Evaluator) -> Iterator[tuple[str, Value]]:
    """What callers pass by keyword to a class method that hands on all that it does not take itself: `cls(x, **rest)`.

    None if the method does more with the dict than that.
    """
    place, method = event.place, event.place.function
    if method is None or method.owner is None or method.rest is None or not is_classmethod(method):
        return
    if not any(a.star == "**" and isinstance(a.value, Name) and a.value.id == method.rest for a in event.call.args):
        return
    body = evaluator.calls.body_of(FunctionSymbol(place.module, method)) or ()
    if [part.id for part in all_parts(body) if isinstance(part, Name)].count(method.rest) != 1:
        return
    homes = (place.module, *evaluator.model.importers(place.module))
    for called in calls_of_classmethod(method, event.cls.cls, homes, evaluator):
        for name in called.given:
            if not method.takes(name):
                yield name, _value_given(name, called, evaluator)


def _value_given(name: str, called: Called, evaluator: Evaluator) -> Value:
    """What a call gives a parameter, by itself or by a variable that is bound once."""
    body = () if called.caller is None else evaluator.calls.body_of(FunctionSymbol(called.module, called.caller)) or ()
    return evaluator.static(Placed(looked_up(called.given[name], bound_once(body)), called.module, called.scope))


def calls_of_classmethod(
    method: Function, cls: PytreeClass, homes: Iterable[Module], evaluator: Evaluator
) -> Iterator[Called]:
    """The calls in some modules of a class method of a class, by the name of that class; none with a star."""
    resolver = evaluator.model.resolver
    for call, receiver, caller, home in _calls_by_name(method.name, homes, evaluator):
        scope = "" if caller is None else caller.inner_scope
        symbol = resolver.follow(resolver.resolve(receiver, home, scope))
        if isinstance(symbol, ClassSymbol) and symbol.key == cls.symbol.key:
            yield Called(call, caller, home, scope, call.given_to(method.positional[1:]))


def calls_of_method(
    method: Function, cls: PytreeClass, homes: Iterable[Module], evaluator: Evaluator
) -> Iterator[Called]:
    """The calls in some modules of a method of a class, where the receiver is seen to be an instance of it.

    That is `self` in another method of the class, a parameter with an annotation, or what a constructor has made. None
    of a method that something is made of, nor of one that takes no instance, nor where a subclass may have another.
    """
    if method.decorators or method.self_name is None or "<locals>" in method.scope:
        return
    for call, receiver, caller, home in _calls_by_name(method.name, homes, evaluator):
        held = _held(receiver, caller, home, evaluator)
        if not isinstance(held, Instance) or cls not in held.cls.mro:
            continue
        found = held.cls.method(method.name)
        if found is not None and found[1] is method and not is_overridden(method.name, held, evaluator):
            scope = "" if caller is None else caller.inner_scope
            yield Called(call, caller, home, scope, given_by(call, method))


def _calls_by_name(
    name: str, homes: Iterable[Module], evaluator: Evaluator
) -> Iterator[tuple[Call, Expr, Function | None, Module]]:
    """The calls in some modules of a method of a name without a star: with its receiver, and where it stands."""
    written = re.compile(rf"\.\s*{re.escape(name)}\s*\(")
    for home in homes:
        if written.search(home.source.text) is not None:
            for call, caller in calls_in(home, written, evaluator):
                if isinstance(call.func, Attribute) and call.func.attr == name and not call.has_star:
                    yield call, call.func.value, caller, home


def _held(receiver: Expr, caller: Function | None, home: Module, evaluator: Evaluator) -> Value:
    """The value of the receiver of a method call, as the calling function knows it."""
    if caller is None:
        return plain(evaluator.static(Placed(receiver, home, "")))
    body = evaluator.calls.body_of(FunctionSymbol(home, caller)) or ()
    if isinstance(receiver, Name) and caller.takes(receiver.id):
        if receiver.id in assigned_names(body):
            return UNKNOWN
        if receiver.id == caller.self_name and caller.owner is not None:
            return Instance(evaluator.model.build(ClassSymbol(home, home.outline.classes[caller.owner])))
        return plain(evaluator.parameter(caller, receiver.id, home))
    return plain(evaluator.static(Placed(looked_up(receiver, bound_once(body)), home, caller.inner_scope)))
