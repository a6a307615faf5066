"""The keys of a state that a helper draws random numbers with: a function that is given the state, or a method."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import TypeGuard

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.libraries.sampling import SAMPLERS
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, dotted, items_of, last_name
from jaxlint.syntax.names_read import reads
from jaxlint.syntax.statements import Assign, Body, all_parts, assigned_names, blocks, bound_names, own_parts

KEY = re.compile(r"(^|_)(key|rng|prng|seed_key|random_key|prng_key|rng_key)s?$", re.IGNORECASE)
#: Functions of `jax.random` that make keys of other things, or of a key and a number.
NOT_USING = frozenset({"fold_in", "key_data", "wrap_key_data", "key_impl", "clone", "PRNGKey", "key"})


class Drawn(msgspec.Struct, frozen=True):
    """The keys that a call draws with, as the caller would write them, and the function that does so."""

    keys: tuple[Attribute, ...]
    function: FunctionSymbol
    #: Whether it returns the next key, alone or in a copy of the state, and the caller drops that.
    drops_next: bool = False


def taken_from(key: Expr, call: Call, code: CodeRead) -> Expr:
    """The attribute that a variable still holds where a call stands, which a body gave it first: `key = state.key`."""
    if not isinstance(key, Name):
        return key
    row = place_of(call.at).row
    bound = [s for s in code.statements if key.id in bound_names(s)]
    first = bound[0] if bound else None
    if not isinstance(first, Assign) or not isinstance(first.value, Attribute) or len(first.targets) != 1:
        return key
    names = {key.id, (dotted(first.value.value) or "").partition(".")[0]}
    between = [s for s in code.statements if first.at.end_lineno < s.at.lineno and s.at.end_lineno < row]
    is_straight = first.at.end_lineno < row and all(any(s is one for one in code.body) for s in bound)
    return first.value if is_straight and all(names.isdisjoint(bound_names(s)) for s in between) else key


def given_key(call: Call, module: Module, scope: str, evaluator: Evaluator) -> Expr | None:
    """What a sampler of `jax.random` is given as its key."""
    if last_name(call.func) not in SAMPLERS or not call.positional:
        return None
    name = evaluator.model.resolver.library_name(call.func, module, scope)
    return call.positional[0] if name.startswith("jax.random.") else None


def is_key(expr: Expr | None) -> TypeGuard[Attribute]:
    """Whether an expression is an attribute of a variable, by the name of a key."""
    return isinstance(expr, Attribute) and isinstance(expr.value, Name) and KEY.search(expr.attr) is not None


def drawn_by_helper(call: Call, code: CodeRead, instances: LocalInstances, evaluator: Evaluator) -> Drawn | None:
    """The keys of a state with which a called function draws, while its caller loses the next key.

    What it returns of the next key, alone or in a copy of the state, the caller drops: it binds no such thing, or only
    variables that begin with an underscore or that nobody reads.
    """
    found = _called(call, code, instances, evaluator)
    if found is None:
        return None
    function, base, parameter = found
    body = evaluator.calls.body_of(function) or ()
    if parameter in assigned_names(body):
        return None
    keys = [k for k in drawn_by(body, function, evaluator) if dotted(k.value) == parameter]
    statement = code.contents.statement_of.get(id(call)) if keys else None
    if not isinstance(statement, Assign) or statement.value is not call or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    names = items_of(target)
    values = [items_of(v) for v in function.declaration.return_values]
    if any(len(items) != len(names) for items in values):
        return None
    drops_next = False
    for position, name in enumerate(names):
        is_next = any(_may_be_next(items[position], parameter, keys) for items in values)
        drops_next |= is_next
        if not isinstance(name, Name) or (is_next and not is_dropped(name.id, code.body)):
            return None
    if not any(isinstance(part, Name) for part in names):
        return None
    held = tuple(Attribute(call.func.at, Name(call.func.at, base), key.attr) for key in keys)
    return Drawn(held, function, drops_next)


def drawn_again(code: CodeRead, instances: LocalInstances, evaluator: Evaluator) -> Iterator[tuple[Call, Name, Drawn]]:
    """The calls that draw with the key of a state once more, for the one before has dropped the next key.

    With each the variable that holds the state, in the call before.
    """
    for block in (code.body, *(block for statement in code.statements for block in blocks(statement))):
        for index, statement in enumerate(block):
            if not isinstance(statement, Assign) or not isinstance(call := statement.value, Call):
                continue
            first = drawn_by_helper(call, code, instances, evaluator)
            if first is None or not first.drops_next:
                continue
            held = _given(call, dotted(first.keys[0].value))
            again = None if held is None else _again(block[index + 1 :], call, held.id)
            if held is not None and again is not None:
                yield again, held, first


def _again(following: Body, call: Call, base: str) -> Call | None:
    """The next call of the same function that is given the same state, if nothing else is bound to its variable."""
    for statement in following:
        if any(blocks(statement)):
            return None
        for part in own_parts(statement):
            if isinstance(part, Call) and dotted(part.func) == dotted(call.func) and _given(part, base) is not None:
                return part
        if base in bound_names(statement):
            return None
    return None


def _given(call: Call, name: str | None) -> Name | None:
    """Where a call is given a variable, or is that of a method of what the variable holds."""
    of = (call.func.value,) if isinstance(call.func, Attribute) else ()
    return next((one for one in (*of, *call.positional) if isinstance(one, Name) and one.id == name), None)


def _called(
    call: Call, code: CodeRead, instances: LocalInstances, evaluator: Evaluator
) -> tuple[FunctionSymbol, str, str] | None:
    """The function that is called, the variable with a state that it is given, and the parameter for it."""
    func, resolver = call.func, evaluator.model.resolver
    if isinstance(func, Attribute) and isinstance(func.value, Name):
        instance = instances.instance(func.value)
        method = None if instance is None else instance.cls.method(func.attr)
        if method is not None:
            owner, function = method
            own = function.self_name
            is_plain = not function.decorators and own is not None
            return (FunctionSymbol(owner.module, function), func.value.id, own or "") if is_plain else None
    if call.has_star:
        return None
    given = [(a, value.id) for a, value in enumerate(call.positional) if isinstance(value, Name)]
    states = [(a, name) for a, name in given if _has_key(call.positional[a], instances)]
    symbol = resolver.follow(resolver.resolve(func, code.place.module, code.scope)) if len(states) == 1 else None
    if not isinstance(symbol, FunctionSymbol) or symbol.declaration.decorators or symbol.declaration.owner:
        return None
    positional = symbol.declaration.positional
    index, name = states[0]
    return (symbol, name, positional[index]) if index < len(positional) else None


def _has_key(expr: Expr, instances: LocalInstances) -> bool:
    """Whether an expression is an instance whose class has a field for a key: settings are handed on beside a state."""
    instance = instances.instance(expr)
    return instance is not None and any(KEY.search(field.name) for field in instance.cls.fields)


def drawn_by(body: Body, function: FunctionSymbol, evaluator: Evaluator) -> list[Attribute]:
    """The attributes that a body passes to functions of `jax.random` that draw with them, or split them."""
    found: dict[str, Attribute] = {}
    scope = function.declaration.inner_scope
    for part in all_parts(body, nested=False):
        if isinstance(part, Call) and part.positional and isinstance(key := part.positional[0], Attribute):
            name = evaluator.model.resolver.library_name(part.func, function.module, scope)
            if name.startswith("jax.random.") and last_name(part.func) not in NOT_USING and KEY.search(key.attr):
                found.setdefault(dotted(key) or "", key)
    return list(found.values())


def _may_be_next(value: Expr, parameter: str, keys: Collection[Attribute]) -> bool:
    """Whether a value that a helper returns may be the next key, or a state that has it."""
    match value:
        case Name(id=name):
            return name == parameter or KEY.search(name) is not None or any(name == key.attr for key in keys)
        case Call():
            return any(value.keyword(key.attr) is not None for key in keys) or value.has_star
    return False


def is_dropped(name: str, body: Body) -> bool:
    """Whether a variable says that nobody wants what it holds, or nobody reads it."""
    return name.startswith("_") or next(reads(body, name), None) is None


def is_given_by_others(gives: re.Pattern[str], helper: FunctionSymbol, modules: Iterable[Module]) -> bool:
    """Whether a text matches outside of a helper, or the helper gives what matches and is called more than once."""
    first, last = helper.declaration.body_rows
    calls, by_helper = 0, False
    for module in modules:
        source = module.source
        calls += len(re.findall(rf"(?<!def ){re.escape(helper.declaration.name)}\s*\(", source.text))
        start, end = (source.offset(first, 0), source.offset(last + 1, 0)) if module is helper.module else (-1, -1)
        for match in gives.finditer(source.text):
            if not start <= match.start() < end:
                return True
            by_helper = True
    return by_helper and calls > 1
