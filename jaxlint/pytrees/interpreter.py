"""Running the functions of a project that are given a class, or declare a field, as far as their text tells.

`dataclasses.fields(cls)` are the fields that the class has, so that loops, comprehensions and branches over them and
their metadata run as they would. Where something decides that is not known, `Undecided` is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from jaxlint.project.modules import Module
from jaxlint.project.resolution import External, FunctionSymbol, Resolver, ValueSymbol
from jaxlint.pytrees.interpreted import (
    UNKNOWN,
    AnInstance,
    Closure,
    Env,
    Known,
    Method,
    Partial,
    TheClass,
    Undecided,
    Value,
    truth_of,
)
from jaxlint.pytrees.interpreted_calls import attribute, call_known, call_method, compared, item, store_item
from jaxlint.symbols.outline import Function
from jaxlint.symbols.parsing import read_statements
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    BoolOp,
    Call,
    Clause,
    Compare,
    Comprehension,
    Conditional,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Lambda,
    Name,
    NamedExpr,
    Starred,
    Subscript,
    Unary,
    last_name,
    without_call,
)
from jaxlint.syntax.from_ast import to_body
from jaxlint.syntax.source import Unreadable
from jaxlint.syntax.statements import (
    Annotate,
    Assert,
    Assign,
    Augment,
    Body,
    ClassDefinition,
    Delete,
    Do,
    For,
    FunctionDefinition,
    If,
    Importing,
    Jump,
    Match,
    Outer,
    Raise,
    Return,
    Statement,
    Try,
    While,
    With,
    all_parts,
    assert_never,
    assigned_names,
    bound_names,
)

_MOST_STEPS = 20_000
_MAX_DEPTH = 12
#: Decorators of nested functions that leave what they do as it is.
_LEAVE_ALONE = frozenset({"functools.wraps", "typing.overload", "builtins.staticmethod"})


class _Returned(Exception):
    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class Interpreter:
    """Calls functions; `known` are the names of the functions that are applied to classes, and that declare fields."""

    def __init__(self, resolver: Resolver, decorators: Collection[str], field_functions: Collection[str]) -> None:
        self.resolver = resolver
        self.decorators = decorators
        self.field_functions = field_functions
        self._steps = 0
        self._depth = 0
        #: The keys of metadata that were asked for.
        self.asked: set[str] = set()
        #: What was read already: each subclass asks for the `__init_subclass__` of its base.
        self._definitions: dict[tuple[str, int], FunctionDefinition | None] = {}

    def start(self) -> None:
        """Begin with something else: the time that it may take counts from now."""
        self._steps = self._depth = 0
        self.asked.clear()

    # -- functions --------------------------------------------------------------------------

    def closure_of(self, symbol: FunctionSymbol) -> Closure:
        """A function of a module, or what runs for each subclass. Raises `Undecided` if its body cannot be read."""
        module, function = symbol.module, symbol.declaration
        scope = function.owner if function.name == "__init_subclass__" else ""
        if function.scope != scope or function.is_async or function.is_generator:
            raise Undecided
        definition = self._definition_of(function, module)
        if definition is None:
            raise Undecided
        return self._closure(definition, function, module, {})

    def _definition_of(self, function: Function, module: Module) -> FunctionDefinition | None:
        """The statement that defines a function; None if it cannot be read."""
        key = module.path, function.at.row
        if key not in self._definitions:
            try:
                self._definitions[key] = _read_definition(function, module)
            except Unreadable:
                return None
        return self._definitions[key]

    def _closure(self, node: FunctionDefinition, function: Function, module: Module, env: Env) -> Closure:
        def names(kind: str) -> tuple[str, ...]:
            return tuple(p.name for p in function.parameters if p.kind == kind)

        defaults = {
            p.name: self.value(p.default, env, module, function.scope)
            for p in function.parameters
            if p.default is not None
        }
        return Closure(
            names("positional"),
            names("keyword"),
            "".join(names("*")),
            "".join(names("**")),
            defaults,
            node.body,
            env,
            module,
            function.inner_scope,
        )

    def call(self, function: Value, positional: Iterable[Value], keywords: dict[str, Value]) -> Value:
        """What a call returns; what it does to a class is noted there."""
        given = list(positional)
        if isinstance(function, Partial):
            return self.call(function.function, [*function.positional, *given], {**function.keywords, **keywords})
        if isinstance(function, Closure):
            return self._call_closure(function, given, keywords)
        if isinstance(function, TheClass):
            return AnInstance(function, is_made=True)
        if isinstance(function, Known):
            return call_known(self, function.name, given, keywords)
        if isinstance(function, Method):
            return call_method(self, function, given, keywords)
        for value in (*given, *keywords.values()):
            if isinstance(value, TheClass):
                value.escaped = True
        return UNKNOWN

    def _call_closure(self, function: Closure, given: list[Value], keywords: dict[str, Value]) -> Value:
        env: Env = dict(function.env)
        env.update(function.defaults)
        env.update(zip(function.positional, given, strict=False))
        taken = {*function.positional, *function.keyword_only}
        env.update({name: value for name, value in keywords.items() if name in taken})
        more = {name: value for name, value in keywords.items() if name not in taken}
        if (len(given) > len(function.positional) and not function.rest) or (more and not function.rest_keywords):
            raise Undecided
        if function.rest:
            env[function.rest] = tuple(given[len(function.positional) :])
        if function.rest_keywords:
            env[function.rest_keywords] = more
        if any(name not in env for name in taken) or self._depth >= _MAX_DEPTH:
            raise Undecided
        self._depth += 1
        try:
            if not isinstance(function.body, tuple):
                return self.value(function.body, env, function.module, function.scope)
            self._run(function.body, env, function.module, function.scope)
        except _Returned as returned:
            return returned.value
        finally:
            self._depth -= 1
        return None

    # -- statements -------------------------------------------------------------------------

    def _run(self, body: Body, env: Env, module: Module, scope: str) -> None:
        for statement in body:
            self._step()
            self._statement(statement, env, module, scope)

    def _step(self) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise Undecided

    def _statement(self, node: Statement, env: Env, module: Module, scope: str) -> None:
        match node:
            case Do(value=value):
                self.value(value, env, module, scope)
            case Assign(targets=targets, value=value):
                found = self.value(value, env, module, scope)
                for target in targets:
                    self._bind(target, found, env, module, scope)
            case Annotate(target=target, value=value) if value is not None:
                self._bind(target, self.value(value, env, module, scope), env, module, scope)
            case Augment(target=target, op=op, value=value):
                before = self.value(target, env, module, scope)
                added = self.value(value, env, module, scope)
                self._bind(target, _binary(op, before, added), env, module, scope)
            case Return(value=value):
                raise _Returned(None if value is None else self.value(value, env, module, scope))
            case If(branches=branches, orelse=orelse):
                try:
                    chosen = next((b for t, b in branches if truth_of(self.value(t, env, module, scope))), orelse)
                except Undecided:
                    if not all(map(_only_checks, (*(body for _, body in branches), orelse))):
                        raise
                    for held in env.values():
                        if isinstance(held, TheClass) and not all(map(_sets_nothing, (b for _, b in branches))):
                            held.may_wrap_defaults = True
                    return
                self._run(chosen, env, module, scope)
            case For(target=target, iterable=iterable, body=body, orelse=orelse):
                for value in _iterated(self.value(iterable, env, module, scope)):
                    self._bind(target, value, env, module, scope)
                    self._run(body, env, module, scope)
                self._run(orelse, env, module, scope)
            case FunctionDefinition():
                env[node.name] = self._nested(node, env, module, scope)
            case With(body=body):
                env.update(dict.fromkeys(bound_names(node), UNKNOWN))
                self._run(body, env, module, scope)
            case Try(body=body, orelse=orelse, final=final):
                self._run((*body, *orelse, *final), env, module, scope)
            case Importing(names=names):
                for name in names:
                    env.pop(name.partition(".")[0], None)
            case Assert():
                env.update(dict.fromkeys(assigned_names((node,)), UNKNOWN))
            case Delete() | Annotate() | Outer():
                pass
            case While() | Match() | Raise() | Jump() | ClassDefinition():
                raise Undecided
            case _:
                assert_never(node)

    def _nested(self, node: FunctionDefinition, env: Env, module: Module, scope: str) -> Value:
        function = next((f for f in module.outline.functions.values() if f.at.row == node.at.lineno), None)
        decorators = [without_call(d) for d in node.decorators]
        meant = [self.resolver.resolve(d, module, scope) for d in decorators]
        if function is None or not all(isinstance(m, External) and m.name in _LEAVE_ALONE for m in meant):
            return UNKNOWN
        return self._closure(node, function, module, env)

    def _bind(self, target: Expr, value: Value, env: Env, module: Module, scope: str) -> None:
        match target:
            case Name(id=name):
                env[name] = value
            case Attribute(value=receiver, attr=attr):
                held = self.value(receiver, env, module, scope)
                if isinstance(held, TheClass):
                    held.attributes[attr] = value
            case Subscript(value=receiver, index=index):
                store_item(self.value(receiver, env, module, scope), self.value(index, env, module, scope), value)
            case Display(items=items):
                values = list(_iterated(value))
                if len(values) != len(items) or any(isinstance(i, Starred) for i in items):
                    raise Undecided
                for part, one in zip(items, values, strict=True):
                    self._bind(part, one, env, module, scope)
            case _:
                raise Undecided

    # -- expressions ------------------------------------------------------------------------

    def value(self, expr: Expr, env: Env, module: Module, scope: str) -> Value:
        """The value of an expression."""
        self._step()

        def value(part: Expr) -> Value:
            return self.value(part, env, module, scope)

        match expr:
            case Constant(value=known, kind=kind):
                return known if known is not None or kind == "NoneType" else UNKNOWN
            case Name(id=name):
                return env[name] if name in env else self._global(expr, module, scope)
            case Attribute(value=receiver, attr=attr):
                held = value(receiver)
                return self._global(expr, module, scope) if held is UNKNOWN else attribute(held, attr)
            case Call(func=func, args=args):
                positional, keywords = list[Value](), dict[str, Value]()
                for argument in args:
                    given = value(argument.value)
                    if argument.star == "*":
                        positional += _iterated(given)
                    elif argument.star == "**":
                        keywords.update(_mapping(given))
                    elif argument.keyword is not None:
                        keywords[argument.keyword] = given
                    else:
                        positional.append(given)
                return self.call(value(func), positional, keywords)
            case Subscript(value=receiver, index=index):
                return item(self, value(receiver), value(index))
            case Display(kind=kind, items=items):
                return _COLLECTIONS[kind](self._items(items, value))
            case DictDisplay(keys=keys, values=values):
                return self._dict(keys, values, value)
            case Conditional(test=test, body=body, orelse=orelse):
                return value(body if truth_of(value(test)) else orelse)
            case BoolOp(op=op, left=left, right=right):
                first = value(left)
                return first if truth_of(first) is (op == "or") else value(right)
            case Unary(op="not", operand=operand):
                return not truth_of(value(operand))
            case Binary(op=op, left=left, right=right):
                return _binary(op, value(left), value(right))
            case Compare(left=left, ops=(op,), comparators=(right,)):
                return compared(op, value(left), value(right))
            case Lambda(params=params, body=body, defaults=()):
                return Closure(params, (), "", _keywords_of(expr, env), {}, body, env, module, scope)
            case NamedExpr(target=target, value=inner):
                found = value(inner)
                self._bind(target, found, env, module, scope)
                return found
            case Comprehension(kind=kind, clauses=clauses):
                return self._comprehension(expr, kind, clauses, env, module, scope)
        return UNKNOWN

    def _items(self, items: Iterable[Expr], value: Callable[[Expr], Value]) -> list[Value]:
        found: list[Value] = []
        for one in items:
            found += _iterated(value(one.value)) if isinstance(one, Starred) else [value(one)]
        return found

    def _dict(
        self, keys: Iterable[Expr | None], values: Iterable[Expr], value: Callable[[Expr], Value]
    ) -> dict[Value, Value]:
        found: dict[Value, Value] = {}
        for key, one in zip(keys, values, strict=True):
            if key is None:
                found.update(_mapping(value(one)))
            else:
                store_item(found, value(key), value(one))
        return found

    def _comprehension(
        self, expr: Comprehension, kind: str, clauses: tuple[Clause, ...], env: Env, module: Module, scope: str
    ) -> Value:
        inner, found, pairs = dict(env), list[Value](), dict[Value, Value]()

        def turn(rest: tuple[Clause, ...]) -> None:
            if rest:
                for one in _iterated(self.value(rest[0].iterable, inner, module, scope)):
                    self._bind(rest[0].target, one, inner, module, scope)
                    if all(truth_of(self.value(c, inner, module, scope)) for c in rest[0].conditions):
                        turn(rest[1:])
            elif expr.key is not None:
                key = self.value(expr.key, inner, module, scope)
                store_item(pairs, key, self.value(expr.element, inner, module, scope))
            else:
                found.append(self.value(expr.element, inner, module, scope))

        turn(clauses)
        return pairs if kind == "dict" else _COLLECTIONS[kind](found)

    def _global(self, expr: Expr, module: Module, scope: str) -> Value:
        """What a name means that is no variable of the functions that are run."""
        match self.resolver.resolve(expr, module, scope):
            case External(name=name):
                return Known(name)
            case FunctionSymbol() as function:
                return self.closure_of(function)
            case ValueSymbol(module=home, scope=home_scope, name=name, assignment=assignment):
                grows = home.outline.changes_in_place(name)
                if not home_scope and assignment.value is not None and not grows:
                    if self._is_object(assignment.value, home):
                        return Known(f"{home.name}.{name}", is_object=True)
                    return self.value(assignment.value, {}, home, home_scope)
        return UNKNOWN

    def _is_object(self, expr: Expr, module: Module) -> bool:
        """Whether an expression is `object()`, which makes something that is the same as nothing else."""
        is_call = isinstance(expr, Call) and not expr.args
        return is_call and self.resolver.library_name(without_call(expr), module, "") == "builtins.object"


def _only_checks(body: Body) -> bool:
    """Whether statements raise errors, warn, or set attributes of names that are computed, and no more."""
    for statement in body:
        match statement:
            case Raise():
                continue
            case Do(value=Call(func=func)) if last_name(func) in ("setattr", "warn", "warning", "info", "print"):
                continue
            case If(branches=branches, orelse=orelse) if all(map(_only_checks, (*(b for _, b in branches), orelse))):
                continue
        return False
    return True


def _sets_nothing(body: Body) -> bool:
    """Whether statements set no attributes."""
    return not any(isinstance(part, Call) and last_name(part.func) == "setattr" for part in all_parts(body))


def _keywords_of(expr: Lambda, env: Env) -> str:
    """The `**keywords` of a lambda, which are seen where they are passed on."""
    if not isinstance(expr.body, Call):
        return ""
    starred = [a.value.id for a in expr.body.args if a.star == "**" and isinstance(a.value, Name)]
    return starred[0] if starred and starred[0] not in (*expr.params, *env) else ""


def _iterated(value: Value) -> Iterable[Value]:
    """The items of a value. Raises `Undecided`."""
    if isinstance(value, (list, tuple, set, frozenset, str)):
        return list(value)
    if isinstance(value, dict):
        return list(value)
    raise Undecided


def _read_definition(function: Function, module: Module) -> FunctionDefinition | None:
    """The statement that defines a function, from the text of its module. Raises `Unreadable`."""
    lines = module.source.lines
    unit = next((u for u in module.outline.units if u.first <= function.at.row <= u.last), None)
    if unit is None:
        return None
    statements = read_statements("\n".join(lines[unit.first - 1 : unit.last]) + "\n", unit.first)
    body = to_body(statements or ())
    methods = [s for one in body if function.owner and isinstance(one, ClassDefinition) for s in one.body]
    for statement in methods or body:
        if isinstance(statement, FunctionDefinition) and statement.name == function.name:
            if statement.at.lineno == function.at.row:
                return statement
    return None


def _mapping(value: Value) -> dict[str, Value]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise Undecided
    return value


def _binary(op: str, left: Value, right: Value) -> Value:
    held: Any = left
    if type(left) is not type(right):
        return UNKNOWN
    if op == "+" and isinstance(held, (list, tuple, str)):
        return held + right
    if (op == "|" and isinstance(held, (set, frozenset, dict))) or (op == "-" and isinstance(held, (set, frozenset))):
        return held | right if op == "|" else held - right
    return UNKNOWN


def _list(values: list[Value]) -> Value:
    return list(values)


def _set(values: list[Value]) -> Value:
    if not all(isinstance(value, (str, int, bool, type(None))) for value in values):
        raise Undecided
    return set(values)


_COLLECTIONS: dict[str, Callable[[list[Value]], Value]] = {
    "list": _list,
    "tuple": tuple,
    "set": _set,
    "generator": _list,
}
