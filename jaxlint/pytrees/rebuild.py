"""What user code runs again when an instance is rebuilt from its leaves, and what that code is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import msgspec

from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol, Resolver
from jaxlint.pytrees.framework import Role, Unflatten
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.symbols.outline import Assignment, Function, names_by_position
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Lambda,
    Name,
    Starred,
    Subscript,
    Unary,
    dotted,
    is_slice,
)

_MAX_DEPTH = 12


class Rebuild(msgspec.Struct, frozen=True):
    """The `__init__` or `__post_init__` that runs again at each unflatten, and how what was flattened gets there."""

    cls: PytreeClass
    function: Function
    #: The flattened attributes, and whether each is a leaf or static.
    roles: Mapping[str, Role]
    #: The flattened attribute that is passed for a parameter of the function.
    parameters: Mapping[str, str] = msgspec.field(default_factory=dict)
    #: The attributes that hold what was flattened when the function begins.
    preset: frozenset[str] = frozenset()
    #: The parameters for which something is passed; None if that cannot be determined. The others take their defaults.
    given: frozenset[str] | None = None
    #: Whether the instance stays as the constructor makes it.
    final: bool = True

    def of_parameter(self, name: str) -> str | None:
        """The leaf that is passed for a parameter."""
        attribute = self.parameters.get(name)
        return attribute if attribute is not None and self.roles.get(attribute) is Role.LEAF else None

    @property
    def leaves(self) -> frozenset[str]:
        """The attributes that are flattened as leaves."""
        return frozenset(name for name, role in self.roles.items() if role is Role.LEAF)


def rebuild_of(cls: PytreeClass, resolver: Resolver) -> Rebuild | None:
    """What runs again when an instance of `cls` is rebuilt; None if nothing does, or if it cannot be determined."""
    if not cls.is_pytree or cls.registered is not True or cls.unknown_decorator or cls.framework.is_tuple:
        return None
    match cls.framework.unflatten:
        case Unflatten.CONSTRUCTOR:
            return _by_constructor(cls)
        case Unflatten.POST_INIT:
            found = cls.method("__post_init__")
            roles = _roles(cls)
            return None if found is None else Rebuild(cls, found[1], roles, {}, frozenset(roles), frozenset())
        case Unflatten.CUSTOM:
            return _by_unflatten(cls, resolver)
    return None


def _roles(cls: PytreeClass) -> dict[str, Role]:
    lists = cls.lists
    if lists is not None and not lists.automatic:
        return {**dict.fromkeys(lists.data or (), Role.LEAF), **dict.fromkeys(lists.meta or (), Role.STATIC)}
    return {f.name: f.role for f in cls.fields if f.role in (Role.LEAF, Role.STATIC)}


def _by_constructor(cls: PytreeClass) -> Rebuild | None:
    """The constructor is called with the fields as keywords."""
    roles = _roles(cls)
    known = cls.fields_known and all(f.role is not Role.UNKNOWN for f in cls.fields)
    return _constructed(cls, roles, {name: name for name in roles}, frozenset(roles) if known else None, True)


def _constructed(
    cls: PytreeClass, roles: Mapping[str, Role], passed: Mapping[str, str], given: frozenset[str] | None, final: bool
) -> Rebuild | None:
    """What runs when the constructor is called with the flattened attributes `passed` for its parameters."""
    init = cls.custom_init()
    if init is not None:
        names = {p.name for p in init.parameters[1:]}
        parameters = {name: attr for name, attr in passed.items() if name in names}
        return Rebuild(cls, init, roles, parameters, frozenset(), given, final)
    found = cls.method("__post_init__")
    if found is None or not any(c.generated_init for c in cls.mro):
        return None
    preset = frozenset(name for name, attr in passed.items() if name == attr)
    return Rebuild(cls, found[1], roles, {}, preset, given, final)


# -- user-defined flattening -------------------------------------------------------------------

#: What is known of a value: the name of an attribute, the parts of a sequence, the entries of a dict, or nothing.
_Part: TypeAlias = "str | tuple[_Part, ...] | dict[str, _Part] | None"


class _Code(msgspec.Struct, frozen=True):
    """A function, method or lambda that flattens or unflattens, and the one expression that it returns."""

    parameters: tuple[str, ...]
    returned: Expr
    module: Module
    #: The scope of its own variables.
    scope: str
    is_lambda: bool = False
    only_returns: bool = True

    def local(self, name: str) -> Expr | None:
        """What the local variable `name` is, if it is assigned once."""
        scope = self.module.outline.scopes.get(self.scope)
        bindings = scope.bindings.get(name, []) if scope is not None and not self.is_lambda else []
        if len(bindings) != 1 or not isinstance(bindings[0], Assignment) or bindings[0].guard:
            return None
        return bindings[0].value


def _by_unflatten(cls: PytreeClass, resolver: Resolver) -> Rebuild | None:
    """A `tree_unflatten` (or the function of a registration) that calls the constructor."""
    flatten, unflatten = _flattening(cls, resolver)
    if flatten is None or unflatten is None or len(flatten.parameters) != 1 or len(unflatten.parameters) < 2:
        return None
    flattened = _Reader(flatten, {}, flatten.parameters[0]).part(flatten.returned)
    if not isinstance(flattened, tuple) or len(flattened) != 2:
        return None
    children, aux = flattened
    *first, aux_name, children_name = unflatten.parameters
    call = _constructor_call(cls, unflatten, first, resolver)
    if call is None:
        return None
    reader = _Reader(unflatten, {aux_name: aux, children_name: children})
    passed, given = _passed(cls, call, reader)
    roles = {**dict.fromkeys(_attributes(aux), Role.STATIC), **dict.fromkeys(_attributes(children), Role.LEAF)}
    final = isinstance(unflatten.returned, Call) or unflatten.only_returns
    return _constructed(cls, roles, passed, given, final)


def _flattening(cls: PytreeClass, resolver: Resolver) -> tuple[_Code | None, _Code | None]:
    """The code that flattens instances, and the code that rebuilds them."""
    for registration in cls.registrations:
        given = registration.positional
        if registration.is_call and (len(given) > 1 or "flatten_func" in registration.options):
            flatten = given[1] if len(given) > 1 else registration.options.get("flatten_func")
            unflatten = given[2] if len(given) > 2 else registration.options.get("unflatten_func")
            code = _given(flatten, resolver)
            if code is not None and "with_keys" in registration.function:
                code = _without_keys(code)
            return code, _given(unflatten, resolver)
    code = _method(cls, "tree_flatten")
    if code is None:
        keyed = _method(cls, "tree_flatten_with_keys")
        code = None if keyed is None else _without_keys(keyed)
    return code, _method(cls, "tree_unflatten")


def _method(cls: PytreeClass, name: str) -> _Code | None:
    found = cls.method(name)
    return None if found is None else _of_function(FunctionSymbol(found[0].module, found[1]))


def _given(placed: Placed | None, resolver: Resolver) -> _Code | None:
    """The function or lambda that a registration is given."""
    if placed is None:
        return None
    if isinstance(placed.expr, Lambda):
        return _Code(placed.expr.params, placed.expr.body, placed.module, placed.scope, is_lambda=True)
    symbol = resolver.resolve(placed.expr, placed.module, placed.scope)
    code = _of_function(symbol) if isinstance(symbol, FunctionSymbol) else None
    if code is not None and isinstance(symbol, FunctionSymbol) and _is(symbol.declaration, "classmethod"):
        return None if len(code.parameters) < 3 else code
    return code


def _of_function(symbol: FunctionSymbol) -> _Code | None:
    function = symbol.declaration
    if len(function.return_values) != 1 or function.is_generator:
        return None
    if any(dotted(d) not in ("classmethod", "staticmethod") for d in function.decorators):
        return None
    names = tuple(p.name for p in function.parameters)
    scope = function.inner_scope
    return _Code(names, function.return_values[0], symbol.module, scope, only_returns=function.only_returns)


def _is(function: Function, decorator: str) -> bool:
    return any(dotted(d) == decorator for d in function.decorators)


def _without_keys(code: _Code) -> _Code | None:
    """The same flattening with the children only, and not the pairs of key and child."""
    returned = code.returned
    if isinstance(returned, Name):
        returned = code.local(returned.id) or returned
    if not isinstance(returned, Display) or len(returned.items) != 2:
        return None
    pairs = returned.items[0]
    if isinstance(pairs, Name):
        pairs = code.local(pairs.id) or pairs
    if not isinstance(pairs, Display):
        return None
    children = []
    for pair in pairs.items:
        if not isinstance(pair, Display) or len(pair.items) != 2:
            return None
        children.append(pair.items[1])
    bare = Display(pairs.at, "tuple", tuple(children))
    display = Display(returned.at, "tuple", (bare, returned.items[1]))
    return _Code(code.parameters, display, code.module, code.scope, code.is_lambda, code.only_returns)


def _constructor_call(cls: PytreeClass, code: _Code, first: list[str], resolver: Resolver) -> Call | None:
    """The call of the constructor whose result is returned."""
    call: Expr | None = code.returned
    if isinstance(call, Name):
        call = code.local(call.id)
    if not isinstance(call, Call):
        return None
    if isinstance(call.func, Name) and call.func.id in first:
        return call
    symbol = resolver.resolve(call.func, code.module, code.scope)
    return call if isinstance(symbol, ClassSymbol) and symbol == cls.symbol else None


def _passed(cls: PytreeClass, call: Call, reader: _Reader) -> tuple[dict[str, str], frozenset[str] | None]:
    """The attribute that is passed for each parameter of the constructor, and all that something is passed for."""
    parameters = cls.constructor()
    if parameters is None:
        return {}, None
    positional = iter(names_by_position(parameters))
    passed: dict[str, _Part] = {}
    complete = True
    for argument in call.args:
        part = reader.part(argument.value)
        if argument.star == "*":
            if not isinstance(part, tuple):
                complete, positional = False, iter(())
                continue
            for item in part:
                name = next(positional, None)
                if name is not None:
                    passed[name] = item
        elif argument.star == "**":
            complete = complete and isinstance(part, dict)
            passed.update(part if isinstance(part, dict) else {})
        elif argument.keyword is not None:
            passed[argument.keyword] = part
        else:
            name = next(positional, None)
            if name is not None:
                passed[name] = part
    attributes = {name: part for name, part in passed.items() if isinstance(part, str)}
    return attributes, frozenset(passed) if complete else None


class _Reader(msgspec.Struct, frozen=True):
    """Tells what expressions are made of."""

    code: _Code
    #: Variables of which it is known.
    known: Mapping[str, _Part] = msgspec.field(default_factory=dict)
    #: The variable that holds the instance that is flattened.
    instance: str = ""

    def part(self, expr: Expr, depth: int = 0) -> _Part:
        """The attribute, the parts or the entries that an expression is; None if that cannot be determined."""
        if depth > _MAX_DEPTH:
            return None
        match expr:
            case Name(id=name):
                local = None if name in self.known else self.code.local(name)
                return self.known.get(name) if local is None else self.part(local, depth + 1)
            case Attribute(value=Name(id=name), attr=attr) if name == self.instance:
                return attr
            case Display(items=items):
                return self._items(items, depth)
            case DictDisplay(keys=keys, values=values):
                names = [k.value for k in keys if isinstance(k, Constant) and k.kind == "str"]
                parts = [self.part(v, depth + 1) for v in values]
                return dict(zip(names, parts, strict=True)) if len(names) == len(parts) else None
            case Subscript(value=value, index=index):
                return _item(self.part(value, depth + 1), index)
            case Call():
                return self._called(expr, depth)
        return None

    def _items(self, items: tuple[Expr, ...], depth: int) -> _Part:
        parts: list[_Part] = []
        for item in items:
            part = self.part(item.value if isinstance(item, Starred) else item, depth + 1)
            if not isinstance(item, Starred):
                parts.append(part)
            elif isinstance(part, tuple):
                parts += part
            else:
                return None
        return tuple(parts)

    def _called(self, call: Call, depth: int) -> _Part:
        """`tuple(x)`, `list(x)`, `dict(a=x)` and `dict(zip(("a", "b"), x))`."""
        name, given = dotted(call.func), call.positional
        if call.has_star:
            return None
        if name in ("tuple", "list", "dict") and len(given) == 1 == len(call.args):
            return self.part(given[0], depth + 1)
        if name == "dict" and not given:
            return {str(a.keyword): self.part(a.value, depth + 1) for a in call.args}
        if name == "zip" and len(given) == 2 and isinstance(given[0], Display):
            names = [i.value for i in given[0].items if isinstance(i, Constant) and i.kind == "str"]
            parts = self.part(given[1], depth + 1)
            if isinstance(parts, tuple) and len(names) == len(given[0].items) == len(parts):
                return dict(zip(names, parts, strict=True))
        return None


def _item(part: _Part, index: Expr) -> _Part:
    """An item of a sequence or a dict, or a slice of a sequence."""
    if is_slice(index):
        bounds = [_constant(bound) for bound in index.parts]
        known = all(b is None or isinstance(b, int) for b in bounds)
        return part[slice(*bounds)] if isinstance(part, tuple) and known and len(bounds) == 3 else None
    key = _constant(index)
    if isinstance(part, dict) and isinstance(key, str):
        return part.get(key)
    if isinstance(part, tuple) and isinstance(key, int) and -len(part) <= key < len(part):
        return part[key]
    return None


def _constant(expr: Expr) -> Any:
    """The value of a literal; an ellipsis if it is none."""
    if isinstance(expr, Unary) and expr.op == "-" and isinstance(expr.operand, Constant):
        return -expr.operand.value if isinstance(expr.operand.value, int) else ...
    return expr.value if isinstance(expr, Constant) else ...


def _attributes(part: _Part) -> Iterator[str]:
    """All attributes that a value holds."""
    if isinstance(part, str):
        yield part
    elif part is not None:
        for inner in part.values() if isinstance(part, dict) else part:
            yield from _attributes(inner)
