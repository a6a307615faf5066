"""What the decorators and field helpers of a project do, found out by running them (`jaxlint.pytrees.interpreter`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec
from msgspec.structs import replace

from jaxlint.libraries.updates import OTHER_COPYING_NAMES
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.callee import Callee
from jaxlint.pytrees.framework import Framework, Unflatten
from jaxlint.pytrees.frameworks import BY_DECORATOR
from jaxlint.pytrees.frameworks.jax_register import BY_METHODS, FLATTENING
from jaxlint.pytrees.frameworks.project import project_framework
from jaxlint.pytrees.interpreted import (
    MISSING,
    UNKNOWN,
    ADeclaration,
    AField,
    AnInstance,
    Application,
    FieldValue,
    Given,
    TheClass,
    Undecided,
    Value,
)
from jaxlint.pytrees.interpreter import Interpreter
from jaxlint.pytrees.model import Field, Placed
from jaxlint.syntax.expressions import (
    Call,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Lambda,
    Name,
    Other,
    constant,
    dotted,
)

#: Attributes that change what is known of a class, if a decorator sets them.
_TELLING = frozenset(
    "__init__ __new__ __eq__ __hash__ __setattr__ __delattr__ __getattr__ __getattribute__ __post_init__".split()
)


def with_wrapped_default(field: Field) -> Field:
    """A field with a factory of its default, if that is no constant."""
    default = field.default
    if default is None or isinstance(default.expr, Constant):
        return field
    made = Lambda(default.expr.at, (), default.expr)
    return replace(field, default=None, factory=Placed(made, default.module, default.scope))


class Declared(Protocol):
    """A field as a class body declares it, or as the class has it."""

    @property
    def metadata(self) -> Mapping[str, bool | None]:
        """What is known of its metadata."""

    @property
    def init(self) -> bool:
        """Whether the constructor takes it."""

    @property
    def opaque(self) -> bool:
        """Whether its value is a call that cannot be seen through."""


class Made(msgspec.Struct, frozen=True):
    """What a decorator of a project makes of a class: the known functions that it applies, in order.

    Of a registration that is determined by how instances are flattened, `framework` says what it makes of the class.
    """

    applied: tuple[tuple[Callee, Framework | None], ...]
    is_known: bool
    may_wrap_defaults: bool = False


def a_field(name: str, field: Declared) -> AField:
    """A field as `dataclasses.fields` shows it; what is not known of its metadata is not there."""
    return AField(name, {key: value for key, value in field.metadata.items() if value is not None}, field.init)


def is_unsure(field: Declared) -> bool:
    """Whether not all is known of the metadata of a field, so that something else may become of it."""
    return field.opaque or None in field.metadata.values()


def decorate(run: Interpreter, decorator: Expr, module: Module, scope: str, cls: TheClass, title: str) -> Made | None:
    """What a decorator of this title does to a class; None if that cannot be determined."""
    run.start()
    try:
        function = run.value(decorator, {}, module, scope)
        result = run.call(function, [cls], {})
    except (Undecided, RecursionError):
        return None
    if result is not cls or (cls.escaped and not cls.applied):
        return None
    return _Reader(run, decorator, f"@{title}", module, scope, cls).made()


def decorate_by_call(run: Interpreter, call: Call, module: Module, cls: TheClass) -> Made | None:
    """What a call at module level does to the class that it is given first: `register(State, static=("step",))`."""
    run.start()
    try:
        positional, keywords = _arguments(run, call, module)
        run.call(run.value(call.func, {}, module, ""), [cls, *positional[1:]], keywords)
    except (Undecided, RecursionError):
        return None
    return _Reader(run, call, f"{dotted(call.func)}({cls.name})", module, "", cls).made()


def registers_subclass(
    run: Interpreter, hook: FunctionSymbol, keywords: Mapping[str, Expr], module: Module, cls: TheClass, title: str
) -> Made | None:
    """What an `__init_subclass__` does to a class with some keywords; None if that cannot be determined."""
    run.start()
    at = hook.declaration.at
    try:
        given = {name: run.value(value, {}, module, "") for name, value in keywords.items()}
        run.call(run.closure_of(hook), [cls], given)
    except (Undecided, RecursionError):
        return None
    if cls.escaped:
        return None
    applied = cls.applied[0] if len(cls.applied) == 1 else None
    if applied is not None and not cls.attributes and applied.name in BY_METHODS:
        callee = Callee(applied.name, (Placed(Name(at, cls.name), hook.module, ""),), ())
        return Made(((callee, None),), True)
    made = _Reader(run, Name(at, title), title, hook.module, "", cls).made()
    return made if made.is_known and made.applied else None


def _arguments(run: Interpreter, call: Call, module: Module) -> tuple[list[Value], dict[str, Value]]:
    """What a call passes. Raises `Undecided`."""
    if call.has_star:
        raise Undecided
    positional = [run.value(value, {}, module, "") for value in call.positional]
    return positional, {a.keyword: run.value(a.value, {}, module, "") for a in call.args if a.keyword is not None}


class _Reader:
    """Reads off the class what was done to it; `title` says in messages what has done it."""

    def __init__(self, run: Interpreter, applied: Expr, title: str, module: Module, scope: str, cls: TheClass) -> None:
        self.run = run
        self.at = applied.at
        self.title = title
        self.module = module
        self.scope = scope
        self.cls = cls

    def made(self) -> Made:
        cls = self.cls
        applied = tuple([self._application(one) for one in cls.applied])
        is_known = not cls.escaped and _TELLING.isdisjoint(cls.attributes)
        return Made(applied, is_known, cls.may_wrap_defaults)

    def _application(self, one: Application) -> tuple[Callee, Framework | None]:
        name, keywords = one.name, dict(one.keywords)
        flatten: Value = UNKNOWN
        unflatten: Value = UNKNOWN
        with_keys = False
        if name in FLATTENING:
            given = [*one.positional, UNKNOWN, UNKNOWN]
            flatten = keywords.get("flatten_func", keywords.get("flatten_with_keys", given[0]))
            unflatten, with_keys = keywords.get("unflatten_func", given[1]), FLATTENING[name]
        elif name in BY_METHODS and not self.cls.attributes.keys().isdisjoint((BY_METHODS[name][0], "tree_unflatten")):
            # the class has what the decorator has set, whether that can be read or not
            method, name = BY_METHODS[name]
            flatten, with_keys = self.cls.attributes.get(method, UNKNOWN), FLATTENING[name]
        elif not (name in BY_DECORATOR and BY_DECORATOR[name].lists_fields and self._replace_method() is not None):
            return self._callee(name, one.positional, keywords), None
        else:
            lists = self._callee(name, one.positional, keywords)
            return lists, self._framework("static", Unflatten.CONSTRUCTOR)
        try:
            result = self.run.call(flatten, [AnInstance(self.cls)], {})
            data, meta = _flattened(result, with_keys=with_keys)
        except (Undecided, RecursionError):
            return self._callee(name, (), {}), None
        keys = self.run.asked
        framework = self._framework(next(iter(keys)) if len(keys) == 1 else "", self._rebuilds(unflatten, result))
        return self._callee(name, (), {"data_fields": list(data), "meta_fields": list(meta)}), framework

    def _framework(self, key: str, unflatten: Unflatten) -> Framework:
        return project_framework(self.title, key, self._replace_method(), unflatten)

    def _replace_method(self) -> str | None:
        """The method that copies an instance with changes: `replace`, or another one that takes any field."""
        if self._copies("replace", {}):
            return "replace"
        given: dict[str, Value] = {field.name: UNKNOWN for field in self.cls.fields[:1]}
        names = [name for name in self.cls.attributes if name in OTHER_COPYING_NAMES and self._copies(name, given)]
        return names[0] if given and len(names) == 1 else None

    def _copies(self, name: str, given: dict[str, Value]) -> bool:
        function = self.cls.attributes.get(name)
        if function is None:
            return False
        try:
            return isinstance(self.run.call(function, [AnInstance(self.cls)], given), AnInstance)
        except (Undecided, RecursionError):
            return False

    def _rebuilds(self, unflatten: Value, flattened: Value) -> Unflatten:
        try:
            made = self.run.call(unflatten, [flattened[1], flattened[0]], {})
        except (Undecided, RecursionError):
            return Unflatten.CUSTOM
        return Unflatten.CONSTRUCTOR if isinstance(made, AnInstance) and made.is_made else Unflatten.CUSTOM

    def _callee(self, name: str, positional: Iterable[Value], keywords: dict[str, Value]) -> Callee:
        at = self.at
        own = Placed(Name(at, self.cls.name), self.module, self.scope)
        return Callee(
            name,
            (own, *[placed(value, at, self.module) for value in positional]),
            tuple([(key, placed(value, at, self.module)) for key, value in keywords.items()]),
        )


def _flattened(result: Value, *, with_keys: bool) -> tuple[dict[str, None], dict[str, None]]:
    """The fields among the children, and those in what is static. Raises `Undecided`."""
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[0], (list, tuple)):
        raise Undecided
    data: dict[str, None] = {}
    for child in result[0]:
        if with_keys and isinstance(child, tuple) and len(child) == 2:
            child = child[1]
        if not isinstance(child, FieldValue):
            raise Undecided
        data[child.name] = None
    meta: dict[str, None] = {}
    pending = [result[1]]
    while pending:
        value = pending.pop()
        if isinstance(value, FieldValue):
            meta[value.name] = None
        elif isinstance(value, (list, tuple)):
            pending += value
        elif isinstance(value, dict):
            pending += value.values()
        elif not (value is None or isinstance(value, (str, bool, int))):
            raise Undecided
    return data, meta


def declared_by(run: Interpreter, call: Call, module: Module, scope: str) -> Callee | None:
    """The known field function that a field helper of the project calls, and what with; None if it is none."""
    run.start()
    try:
        function = run.value(call.func, {}, module, scope)
        positional: list[Value] = []
        keywords: dict[str, Value] = {}
        for argument in call.args:
            if argument.star:
                return None
            given = _given(run, argument.value, module, scope)
            if argument.keyword is None:
                positional.append(given)
            else:
                keywords[argument.keyword] = given
        result = run.call(function, positional, keywords)
    except (Undecided, RecursionError):
        return None
    if not isinstance(result, ADeclaration):
        return None
    return Callee(
        result.name,
        tuple([placed(value, call.at, module) for value in result.positional]),
        tuple([(key, placed(v, call.at, module)) for key, v in result.keywords.items() if v != MISSING]),
    )


def _given(run: Interpreter, expr: Expr, module: Module, scope: str) -> Value:
    """What the user gives: a value if it is a plain one, else the expression."""
    if isinstance(expr, (Constant, Display, DictDisplay)):
        try:
            value = run.value(expr, {}, module, scope)
        except Undecided:
            return Given(expr, module, scope)
        if _is_plain(value):
            return value
    return Given(expr, module, scope)


def _is_plain(value: Value) -> bool:
    if isinstance(value, dict):
        return all(map(_is_plain, (*value, *value.values())))
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (str, bool, int, float))


def placed(value: Value, at: object, module: Module) -> Placed:
    """An expression that says what a value is, for those who read expressions."""
    if isinstance(value, Given):
        return Placed(value.expr, value.module, value.scope)
    return Placed(_expression(value, at), module, "")


def _expression(value: Value, at: object) -> Expr:
    if isinstance(value, dict):
        keys, values = [_expression(k, at) for k in value], [_expression(v, at) for v in value.values()]
        return DictDisplay(at, tuple(keys), tuple(values))
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return Display(at, kind, tuple([_expression(one, at) for one in value]))
    if isinstance(value, Given):
        return value.expr
    if value is None or isinstance(value, (str, bool, int, float)):
        return constant(at, value)
    return Other(at, "unknown", ())
