"""JAX215 static-mismatch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import msgspec

from jaxlint.finding import Confidence
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import CodeRead, Replace
from jaxlint.project.resolution import FunctionSymbol, Symbol, ValueSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.branch_updates import differing_update
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.symbols.outline import Parameter
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Binary,
    Call,
    Comprehension,
    Constant,
    Display,
    Expr,
    Lambda,
    Name,
    Other,
    Starred,
    last_name,
    same,
)
from jaxlint.syntax.statements import (
    Assign,
    Body,
    Do,
    For,
    FunctionDefinition,
    Return,
    Statement,
    all_parts,
    bound_by,
    own_names,
    parts,
    target_names,
    walk,
)

#: Functions that take several trees apart together, and how many of their arguments are no trees.
_TOGETHER = {
    "jax.tree.map": 1,
    "jax.tree_util.tree_map": 1,
    "jax.tree_map": 1,
    "jax.tree_multimap": 1,
    "jax.tree_util.tree_multimap": 1,
    "optax.incremental_update": 0,
    "optax.apply_updates": 0,
}
_BRANCHES = {"jax.lax.cond": slice(1, 3), "jax.lax.switch": slice(1, 2)}
_LAST_NAMES = frozenset(name.rpartition(".")[2] for name in (*_TOGETHER, *_BRANCHES))
_OTHER_BRANCH = "TypeError (branch outputs must have the same pytree structure)"
_LITERALS = frozenset({"int", "float", "str", "bool", "NoneType"})


class _Made(msgspec.Struct, frozen=True):
    """An instance and the literals that its static fields were given, by name; those with a default take that."""

    cls: PytreeClass
    statics: dict[str, Expr]
    #: The static fields that differ between the items, if it is a list of instances.
    varying: str = ""


class StaticMismatch(BodyRule):
    """
    ## What it does

    Finds instances that are made with different values of a static field and then meet: in one `jax.tree.map`, in a
    list whose items are stacked, or as the results of the branches of `lax.cond` and `lax.switch`.

    ## Why is this bad?

    The values of static fields are part of the structure of a tree. Trees of different structure cannot be mapped or
    stacked together, and branches must return trees of the same.

    ## What you will see

    `ValueError: pytree structure error: different pytree metadata at key path`; from `lax.cond`, `TypeError: cond
    branch outputs must have the same pytree structure, but they differ`.

    ## Example

    ```python
    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class Agent:
        weights: jax.Array
        index: int = struct.field(pytree_node=False, default=0)

    def population(size: int) -> Agent:
        agents = [Agent(weights=jnp.zeros(3), index=i) for i in range(size)]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *agents)
    ```

    ## Use instead

    ```python
    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class Agent:
        weights: jax.Array
        index: int = 0

    def population(size: int) -> Agent:
        agents = [Agent(weights=jnp.zeros(3), index=i) for i in range(size)]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *agents)
    ```

    ## Frameworks

    All that have static fields.

    ## Fix safety

    There is no automatic fix: make the field a leaf, or give it one value.

    ## When not to use it

    There is no reason to turn it off: the call fails. Only literals and the variable of a comprehension are compared.

    ## References

    - [treeo #23](https://github.com/cgarciae/treeo/issues/23), [jax #19729](https://github.com/jax-ml/jax/issues/19729)
    """

    code = "JAX215"
    name = "static-mismatch"
    group = "roles"
    since = "0.1.0"
    confidence = Confidence.MEDIUM

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a body makes, and at what it brings together."""
        contents = code.contents
        makes_lists = contents.of(Comprehension) or "append" in contents.called
        if not makes_lists and _LAST_NAMES.isdisjoint(contents.called):
            return
        instances = _Instances(code, evaluator)
        for call in code.calls:
            if last_name(call.func) not in _LAST_NAMES:
                yield from _handed_over(call, instances)
                continue
            name = evaluator.model.resolver.library_name(call.func, code.place.module, code.scope)
            if name in _TOGETHER:
                yield from _mapped(call, name, instances)
            elif name in _BRANCHES:
                yield from _chosen(call, name, instances)


class _Instances:
    """The instances that a body makes by calls that state the values of static fields."""

    def __init__(self, code: CodeRead, evaluator: Evaluator) -> None:
        self.code = code
        self._module = code.place.module
        self._scope = code.scope
        self.evaluator = evaluator

    @cached_property
    def functions(self) -> dict[str, Body]:
        """The bodies of the functions inside."""
        return {s.name: s.body for s in self.code.statements if isinstance(s, FunctionDefinition)}

    @cached_property
    def _variables(self) -> dict[str, Expr]:
        bound: dict[str, list[Expr | None]] = {}
        for statement in self.code.statements:
            for name in _names(statement):
                bound.setdefault(name, []).append(statement.value if isinstance(statement, Assign) else None)
        return {name: values[0] for name, values in bound.items() if len(values) == 1 and values[0]}

    @cached_property
    def _updates(self) -> dict[int, Replace]:
        return {id(e.call): e for e in self.code.events if isinstance(e, Replace)}

    def may_be_list(self, expr: Expr) -> bool:
        """Whether an expression is a comprehension, or a variable that holds one or what a loop appends to it."""
        value = self._variables.get(expr.id) if isinstance(expr, Name) else expr
        return isinstance(value, Comprehension) or id(value) in self.appended

    def listed(self, expr: Expr) -> list[Expr]:
        """The items of a display, or of a variable of the body or of the module that is given one."""
        if isinstance(expr, Name) and expr.id in self._variables:
            expr = self._variables[expr.id]
        elif isinstance(expr, Name):
            symbol = self.symbol(expr)
            if isinstance(symbol, ValueSymbol) and symbol.module is self.code.place.module and not symbol.scope:
                expr = symbol.assignment.value or expr
        return list(expr.items) if isinstance(expr, Display) and not expr.has_star else []

    def symbol(self, expr: Expr) -> Symbol:
        """What a name in the body stands for."""
        return self.evaluator.model.resolver.resolve(expr, self._module, self._scope)

    def elsewhere(self, expr: Expr, function: FunctionSymbol) -> Symbol:
        """What a name in a function of the project stands for."""
        scope = f"{function.declaration.qualname}.<locals>"
        return self.evaluator.model.resolver.resolve(expr, function.module, scope)

    def of(self, expr: Expr, depth: int = 0) -> _Made | None:
        """The instance, or the list of instances, that an expression is."""
        if depth > 4:
            return None
        match expr:
            case Name(id=name):
                value = self._variables.get(name)
                return None if value is None else self.of(value, depth + 1)
            case Call() if id(expr) in self._updates:
                return self._updated(self._updates[id(expr)], depth)
            case Call():
                symbol = self.symbol(expr.func)
                return self._made_by(symbol, expr) if isinstance(symbol, FunctionSymbol) else self.made(expr, symbol)
            case Comprehension(kind="list" | "generator", element=element, clauses=(clause,)):
                return self._items(element, set(target_names(clause.target)), depth + 1)
            case Display(kind="list", items=()) if id(expr) in self.appended:
                loop, item = self.appended[id(expr)]
                return self._items(item, set(target_names(loop.target)), depth + 1)
            case Display(kind="list" | "tuple", items=items):
                return _differing([self.of(item, depth + 1) for item in items])
        return None

    def made(self, call: Call, symbol: Symbol) -> _Made | None:
        """What a call of a class makes."""
        cls = self.evaluator.model.class_of_symbol(symbol)
        if cls is None or not cls.is_pytree or call.has_star or cls.unknown_decorator or not cls.static_fields:
            return None
        parameters = cls.constructor()
        if parameters is None or cls.custom_init() is not None or cls.method("__post_init__") is not None:
            return None
        given = _given(parameters, call)
        statics: dict[str, Expr] = {}
        for field in cls.static_fields:
            expr = given.get(field.name)
            if expr is None and field.default is not None:
                expr = field.default.expr
            if expr is not None and not field.is_converted:
                statics[field.name] = expr
        return _Made(cls, statics)

    def _updated(self, update: Replace, depth: int) -> _Made:
        before = None if update.base is None else self.of(update.base, depth + 1)
        exprs = {id(a.at): a.value for a in update.call.args}
        given = {k.name: exprs.get(id(k.at)) for k in update.keywords}
        cls = update.receiver.cls
        names = {field.name for field in cls.static_fields}
        statics = {**({} if before is None else before.statics), **{n: v for n, v in given.items() if n in names}}
        return _Made(cls, {name: value for name, value in statics.items() if value is not None})

    def _items(self, item: Expr, varying: set[str], depth: int) -> _Made | None:
        """The instances that an expression makes turn by turn."""
        made = self.of(item, depth)
        if isinstance(item, Name) and item.id in self._variables:
            item = self._variables[item.id]
        if isinstance(item, Call) and isinstance(self.symbol(item.func), FunctionSymbol):
            made, varying = self._by_function(item, varying)
        if made is None:
            return None
        name = next((n for n, v in made.statics.items() if _varies(v, varying)), "")
        return msgspec.structs.replace(made, varying=name) if name else made

    def _by_function(self, call: Call, varying: set[str]) -> tuple[_Made | None, set[str]]:
        """What a function makes of one instance, and those of its parameters that are given something that varies."""
        symbol = self.symbol(call.func)
        if not isinstance(symbol, FunctionSymbol) or call.has_star:
            return None, set()
        given = _given(symbol.declaration.parameters, call)
        return self._returned_by(symbol), {name for name, held in given.items() if _varies(held, varying)}

    def _made_by(self, symbol: FunctionSymbol, call: Call) -> _Made | None:
        """What a function makes of one instance, with what the call gives to static fields."""
        made = self._returned_by(symbol) if not call.has_star else None
        if made is None:
            return None
        given = _given(symbol.declaration.parameters, call)
        names = {p.name for p in symbol.declaration.parameters}
        statics = {
            name: given.get(value.id) if isinstance(value, Name) and value.id in names else value
            for name, value in made.statics.items()
        }
        known = {name: value for name, value in statics.items() if isinstance(value, (Constant, Name))}
        return msgspec.structs.replace(made, statics=known)

    def _returned_by(self, symbol: FunctionSymbol) -> _Made | None:
        """The instance that a function returns, made by a call of its class."""
        values = symbol.declaration.return_values
        value = values[0] if len(values) == 1 else None
        if not isinstance(value, Call) or symbol.declaration.owner is not None or symbol.declaration.decorators:
            return None
        return self.made(value, self.elsewhere(value.func, symbol))

    @cached_property
    def appended(self) -> dict[int, tuple[For, Expr]]:
        """What loops append to lists that are empty at first, if that is done in one place, by the display."""
        found: dict[str, list[tuple[For, Expr]]] = {}
        for loop in (s for s in self.code.statements if isinstance(s, For)):
            inside = list(walk(loop.body, nested=False))
            bound = {name for statement in inside for name in _names(statement)}
            for statement in inside:
                match statement:
                    case Do(value=Call(func=Attribute(value=Name(id=name), attr="append"), args=(argument,))) if (
                        name not in bound
                    ):
                        found.setdefault(name, []).append((loop, argument.value))
        return {
            id(self._variables[name]): places[0]
            for name, places in found.items()
            if len(places) == 1 and name in self._variables
        }


def _given(parameters: Sequence[Parameter], call: Call) -> dict[str, Expr]:
    """What a call gives to the parameters of a function."""
    positional = (p.name for p in parameters if p.kind == "positional")
    given = dict(zip(positional, call.positional, strict=False))
    return given | {a.keyword: a.value for a in call.args if a.keyword is not None}


def _varies(expr: Expr, varying: set[str]) -> bool:
    """Whether an expression is a variable of a comprehension, that in a string, or a number added to it."""
    match expr:
        case Name(id=name):
            return name in varying
        case Other(kind="JoinedStr"):
            return any(isinstance(part, Name) and part.id in varying for part in parts(expr))
        case Binary(op="+" | "-" | "*", left=left, right=right):
            sides = (left, right)
            return any(_varies(s, varying) for s in sides) and any(isinstance(s, Constant) for s in sides)
    return False


def _names(statement: Statement) -> Iterator[str]:
    return (name for target in bound_by(statement) for name in target_names(target))


def _difference(one: _Made, other: _Made) -> str | None:
    """A static field that two instances of a class hold different literals in."""
    if one.cls is not other.cls:
        return None
    for name, value in one.statics.items():
        against = other.statics.get(name)
        if isinstance(value, Constant) and isinstance(against, Constant) and not same(value, against):
            if {value.kind, against.kind} <= _LITERALS and value.value != against.value:
                return name
    return None


def _differing(items: list[_Made | None]) -> _Made | None:
    """What a display of instances holds, with the static field in which two of them differ."""
    first = next((item for item in items if item is not None), None)
    for index, one in enumerate(items):
        for other in items[:index]:
            name = None if one is None or other is None else _difference(one, other)
            if name is not None and first is not None:
                return msgspec.structs.replace(first, varying=name)
    return first if None not in items else None


def _mapped(call: Call, name: str, instances: _Instances) -> Iterator[Problem]:
    """The problem of trees that are mapped together."""
    trees = [a for a in call.args if a.keyword is None][_TOGETHER[name] :]
    found: list[_Made] = []
    for argument in trees:
        expr = argument.value.value if isinstance(argument.value, Starred) else argument.value
        made = instances.of(expr)
        if made is None:
            continue
        if argument.star == "*" and made.varying:
            yield _problem(argument.at, made.cls, made.varying, name, "ValueError (different pytree metadata)")
            return
        for other in found if not argument.star else ():
            field = _difference(made, other)
            if field is not None:
                yield _problem(argument.at, made.cls, field, name, "ValueError (different pytree metadata)")
                return
        if not argument.star:
            found.append(made)


def _handed_over(call: Call, instances: _Instances) -> Iterator[Problem]:
    """The problem of a list of instances that is given to a function which maps them together."""
    for argument in call.args:
        if not isinstance(argument.value, (Name, Comprehension)) or argument.star:
            continue
        made = instances.of(argument.value) if instances.may_be_list(argument.value) else None
        if made is None or not made.varying:
            continue
        symbol = instances.evaluator.model.resolver.follow(instances.symbol(call.func))
        mapped = _mapped_together(symbol, call, argument, instances) if isinstance(symbol, FunctionSymbol) else None
        if mapped is not None and isinstance(symbol, FunctionSymbol):
            at, name = mapped
            here = symbol.module is instances.code.place.module
            error = "ValueError (different pytree metadata)"
            yield _problem(at if here else argument.at, made.cls, made.varying, name, error)
            return


def _mapped_together(
    symbol: FunctionSymbol, call: Call, argument: Argument, instances: _Instances
) -> tuple[object, str] | None:
    """Where a function maps the items of an argument together, and by what."""
    body = instances.evaluator.calls.body_of(symbol)
    parameters = symbol.declaration.parameters
    bound = 1 if symbol.declaration.self_name is not None else 0
    positional = [p.name for p in parameters if p.kind == "positional"][bound:]
    given = [a for a in call.args if a.keyword is None]
    name = argument.keyword or next(
        (n for n, one in zip(positional, given, strict=False) if one.at is argument.at), None
    )
    if body is None or name is None or name in own_names(body) or call.has_star:
        return None
    for part in all_parts(body):
        if isinstance(part, Call) and last_name(part.func) in _LAST_NAMES:
            scope = f"{symbol.declaration.qualname}.<locals>"
            library = instances.evaluator.model.resolver.library_name(part.func, symbol.module, scope)
            for one in part.args if library in _TOGETHER and part.keyword("is_leaf") is None else ():
                expr = one.value.value if isinstance(one.value, Starred) else one.value
                if one.star == "*" and isinstance(expr, Name) and expr.id == name:
                    return one.at, library
    return None


def _chosen(call: Call, name: str, instances: _Instances) -> Iterator[Problem]:
    """The problem of branches that return instances with different static values."""
    branches = list(call.positional[_BRANCHES[name]])
    places: dict[int, object] = {}
    if name.endswith("switch"):
        whole, branches = branches[:1], instances.listed(branches[0]) if branches else []
        places = {id(branch): one.at for one in whole if isinstance(one, Name) for branch in branches}
    made = [_returned(branch, instances) for branch in branches]
    for index, one in enumerate(made):
        for other in made[:index]:
            field = None if one is None or other is None else _difference(one, other)
            if field is not None and one is not None:
                at = places.get(id(branches[index]), branches[index].at)
                yield _problem(at, one.cls, field, name, _OTHER_BRANCH)
                return
    operands = call.positional[_BRANCHES[name].stop :] if call.keyword("operand") is None and not call.has_star else ()
    for branch, cls, changed in differing_update(call, branches, operands, instances.code, instances.evaluator):
        yield _problem(places.get(id(branch), branch.at), cls, changed, name, _OTHER_BRANCH)


def _returned(branch: Expr, instances: _Instances) -> _Made | None:
    """The instance that a lambda, a function of the body or one of the project returns."""
    if isinstance(branch, Lambda):
        return instances.of(branch.body)
    if isinstance(branch, Name) and branch.id in instances.functions:
        values = [s.value for s in walk(instances.functions[branch.id], nested=False) if isinstance(s, Return)]
        return instances.of(values[0]) if len(values) == 1 and values[0] is not None else None
    symbol = instances.symbol(branch)
    if not isinstance(symbol, FunctionSymbol) or len(symbol.declaration.return_values) != 1:
        return None
    value = symbol.declaration.return_values[0]
    if not isinstance(value, Call):
        return None
    return instances.made(value, instances.elsewhere(value.func, symbol))


def _problem(at: object, cls: PytreeClass, field: str, function: str, error: str) -> Problem:
    declared = cls.field(field)
    assert declared is not None and declared.role is Role.STATIC
    way_out = f"give `{field}` one value, or make it a leaf"
    return Problem(
        at=at,
        message=(
            f"`{function}` is given `{cls.name}` instances with different values of the static field `{field}`:"
            f" {error}; {way_out}"
        ),
        reason="the values of static fields are part of the structure of a tree",
        help=way_out,
    )
