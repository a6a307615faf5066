"""What the branches of `lax.cond` and `lax.switch` do to the static fields of the operands that they return."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import Instance, plain
from jaxlint.libraries.updates import COPY_AND_MUTATE, REPLACE_FUNCTIONS, TREE_AT
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.bodies.settled import settled
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Call,
    Constant,
    Display,
    Expr,
    Lambda,
    Name,
    dotted,
    items_of,
)
from jaxlint.syntax.statements import (
    Assign,
    Augment,
    Body,
    Do,
    FunctionDefinition,
    Return,
    Statement,
    With,
    all_parts,
    bound_by,
    parts,
    walk,
)

#: How many methods that call each other are looked into.
_FAR = 3


class _Branch(msgspec.Struct, frozen=True):
    """A function that only binds variables and sets attributes of them, and returns something at its end."""

    params: tuple[str, ...]
    returned: Expr
    module: Module
    scope: str
    body: Body = ()
    #: What is declared; a lambda is not.
    function: Function | None = None


class _Update(msgspec.Struct, frozen=True):
    """An operand, by its number, and what its fields are given."""

    operand: int
    given: Mapping[str, Expr]
    #: Whether a method of the operand does it, and not a function of a library.
    by_method: bool = False
    #: Whether the operand itself is changed, and not a copy.
    in_place: bool = False
    #: Whether it is what `copy_and_mutate` has made, whose attributes may be set.
    is_copy: bool = False
    #: The class that the branch is annotated to take.
    cls: PytreeClass | None = None


def differing_update(
    call: Call, branches: Sequence[Expr], operands: Sequence[Expr], code: CodeRead, evaluator: Evaluator
) -> Iterator[tuple[Expr, PytreeClass, str]]:
    """The first branch of which the static field of an operand is another one than after the first of all.

    One of the two gives it a constant, and the other returns it as it was. With it come the class and the field.
    """
    instances = LocalInstances.of(code, evaluator)
    held = [instances.instance(operand) for operand in operands]
    results = [_returned(branch, held, code, evaluator) for branch in branches]
    first = results[0] if results else None
    for branch, result in zip(branches[1:], results[1:], strict=True):
        if first is None or result is None or len(first) != len(result):
            continue
        for one, other in zip(first, result, strict=True):
            if one is None or other is None or one.operand != other.operand or one.operand >= len(operands):
                continue
            instance = held[one.operand]
            cls = (one.cls or other.cls) if instance is None else instance.cls
            if cls is None or cls.has_own_construction:
                continue
            if (one.by_method or other.by_method) and not cls.has_framework_replace:
                continue
            if (one.in_place or other.in_place) and cls.frozen is not False:
                continue
            field = _changed_by_one(one, other, cls)
            if field is not None and not _is_given_before(field, cls, call, code, evaluator):
                yield branch, cls, field
                return


def _changed_by_one(one: _Update, other: _Update, cls: PytreeClass) -> str | None:
    """A static field that one of two updates gives a constant, and the other another one or none."""
    for field in cls.static_fields:
        values = [update.given.get(field.name) for update in (one, other)]
        constants = [value for value in values if isinstance(value, Constant)]
        if constants and (None in values or len({(c.kind, c.value) for c in constants}) > 1):
            return field.name
    return None


def _is_given_before(field: str, cls: PytreeClass, call: Call, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether the body gives a field of that name a value outside of the branches, or a function that it calls does."""
    inside = {id(part) for part in parts(call)}
    others = [other for other in code.calls if id(other) not in inside]
    if _gives(field, others, code.statements):
        return True
    resolver = evaluator.model.resolver
    for other in others:
        symbol = resolver.follow(resolver.resolve(other.func, code.place.module, code.scope))
        if isinstance(other.func, Attribute) and (found := cls.method(other.func.attr)) is not None:
            symbol = FunctionSymbol(found[0].module, found[1])
        body = evaluator.calls.body_of(symbol) if isinstance(symbol, FunctionSymbol) else None
        if body and _gives(field, (part for part in all_parts(body) if isinstance(part, Call)), walk(body)):
            return True
    return False


def _gives(field: str, calls: Iterable[Call], statements: Iterable[Statement]) -> bool:
    """Whether some calls give a value for a field, or some statements assign it."""
    targets = (target for statement in statements for target in bound_by(statement))
    return any(call.keyword(field) is not None for call in calls) or any(
        isinstance(target, Attribute) and target.attr == field for target in targets
    )


def _returned(
    branch: Expr, operands: Sequence[Instance | None], code: CodeRead, evaluator: Evaluator
) -> list[_Update | None] | None:
    """What a branch returns, item by item; None for an item that is no operand or update of one."""
    found = _branch(branch, code, evaluator)
    if found is None:
        return None
    held = dict(zip(found.params, operands, strict=False))
    known: dict[str, _Update | None] = {}
    for index, name in enumerate(found.params):
        instance = held.get(name)
        cls = _annotated(name, found, evaluator) if instance is None else instance.cls
        known[name] = _Update(index, {}, cls=cls)
    return _Updates(found, known, evaluator).returned()


def _branch(branch: Expr, code: CodeRead, evaluator: Evaluator) -> _Branch | None:
    module, scope = code.place.module, code.scope
    if isinstance(branch, Lambda):
        return _Branch(branch.params, branch.body, module, scope)
    inside = [s for s in code.statements if isinstance(s, FunctionDefinition)]
    local = [s for s in inside if isinstance(branch, Name) and s.name == branch.id]
    if local and isinstance(branch, Name):
        function = module.outline.functions.get(f"{scope}.{branch.id}" if scope else branch.id)
        return None if function is None or len(local) > 1 else _straight(function, local[0].body, module)
    symbol = _own_method(branch, code, evaluator)
    bound = 1 if symbol is not None and symbol.declaration.self_name is not None else 0
    if symbol is None:
        found = evaluator.model.resolver.follow(evaluator.model.resolver.resolve(branch, module, scope))
        symbol = found if isinstance(found, FunctionSymbol) and found.declaration.owner is None else None
    if symbol is None:
        return None
    body = evaluator.calls.body_of(symbol)
    return None if body is None else _straight(symbol.declaration, body, symbol.module, bound)


def _own_method(branch: Expr, code: CodeRead, evaluator: Evaluator) -> FunctionSymbol | None:
    """The method of the class around that `self.branch` names, if no visible class below has another one."""
    method, owner = code.place.method, code.place.owner
    if owner is None or method is None or not isinstance(branch, Attribute) or method.self_name is None:
        return None
    if dotted(branch.value) != method.self_name:
        return None
    found = owner.method(branch.attr)
    if found is None or evaluator.model.is_overridden(owner, branch.attr):
        return None
    return FunctionSymbol(found[0].module, found[1])


def _straight(function: Function, body: Body, module: Module, bound: int = 0) -> _Branch | None:
    """A function without decorators that returns something at its end."""
    last = body[-1] if body else None
    if not isinstance(last, Return) or last.value is None or function.decorators:
        return None
    params = tuple(function.positional)[bound:]
    return _Branch(params, last.value, module, function.inner_scope, body[:-1], function)


class _Updates:
    """Goes through a branch, and tells what its variables are: operands, or updates of them."""

    def __init__(
        self, branch: _Branch, known: Mapping[str, _Update | None], evaluator: Evaluator, depth: int = 0
    ) -> None:
        self._branch = branch
        self._known = dict(known)
        self._evaluator = evaluator
        self._depth = depth

    def returned(self) -> list[_Update | None] | None:
        """What is returned, item by item; None if the branch does something else on its way."""
        if not all(map(self._follow, self._branch.body)):
            return None
        return [self._update(item) for item in items_of(self._branch.returned)]

    def _follow(self, statement: Statement) -> bool:
        """Note what a statement binds or sets; whether it does nothing else."""
        match statement:
            case Do(value=Constant()):
                return True
            case Assign(targets=(Name(id=name),), value=value):
                self._known[name] = self._update(value)
                return True
            case Assign(targets=(Display(items=targets),), value=value) if all(isinstance(t, Name) for t in targets):
                items = value.items if isinstance(value, Display) and len(value.items) == len(targets) else ()
                given = [self._update(item) for item in items] or [None] * len(targets)
                self._known.update(zip((dotted(t) or "" for t in targets), given, strict=True))
                return True
            case FunctionDefinition(name=name):
                self._known[name] = None
                return True
            case Assign(targets=(Attribute(value=Name(id=name), attr=attr),), value=value):
                self._set(name, attr, self._settled(value))
                return True
            case Augment(target=Attribute(value=Name(id=name), attr=attr) as target):
                self._set(name, attr, target)
                return True
            case With(items=((Call(func=func, args=(Argument(value=original),)), Name(id=name)),), body=body):
                if self._library_name(func) != COPY_AND_MUTATE:
                    return False
                before = self._update(original)
                self._known[name] = None if before is None else replace(before, is_copy=True)
                return all(map(self._follow, body))
        return False

    def _set(self, name: str, attr: str, value: Expr) -> None:
        """Note that an attribute is set, of all variables that are one object."""
        before = self._known.get(name)
        if before is None:
            return
        after = replace(before, given={**before.given, attr: value}, in_place=before.in_place or not before.is_copy)
        self._known = {one: after if held is before else held for one, held in self._known.items()}

    def _update(self, expr: Expr) -> _Update | None:
        """The operand, or what is updated of it."""
        match expr:
            case Name(id=name):
                return self._known.get(name)
            case Call(func=func, args=(Argument(value=first), *_)) if not expr.has_star and (
                self._library_name(func) in REPLACE_FUNCTIONS
            ):
                before, by_method = self._update(first), False
            case Call(func=Attribute(value=base, attr="replace" | "_replace")) if not expr.has_star:
                before, by_method = self._update(base), True
            case Call(func=func, args=(_, Argument(value=second), *_)) if self._library_name(func) == TREE_AT:
                before = self._update(second)  # which changes leaves alone
                return None if before is None else replace(before, is_copy=False)
            case Call(func=Attribute(value=base, attr=attr)):
                before = self._update(base)
                return None if before is None else self._by_method(before, attr)
            case _:
                return None
        if before is None:
            return None
        given = {a.keyword: self._settled(a.value) for a in expr.args if a.keyword is not None}
        return replace(before, given={**before.given, **given}, by_method=by_method or before.by_method)

    def _by_method(self, before: _Update, name: str) -> _Update | None:
        """What a method returns of its instance, if no visible class below has another one."""
        cls, evaluator = before.cls, self._evaluator
        found = None if cls is None else cls.method(name)
        if cls is None or found is None or self._depth == _FAR:
            return None
        if evaluator.model.is_overridden(cls, name):
            return None
        symbol = FunctionSymbol(found[0].module, found[1])
        body = evaluator.calls.body_of(symbol)
        branch = None if body is None else _straight(symbol.declaration, body, symbol.module)
        if branch is None or not branch.params:
            return None
        results = _Updates(branch, {branch.params[0]: before}, evaluator, self._depth + 1).returned()
        return results[0] if results is not None and len(results) == 1 else None

    def _settled(self, value: Expr) -> Expr:
        branch = self._branch
        return settled(value, self._evaluator.model.resolver, branch.module, branch.scope)

    def _library_name(self, func: Expr) -> str:
        return self._evaluator.model.resolver.library_name(func, self._branch.module, self._branch.scope)


def _annotated(name: str, branch: _Branch, evaluator: Evaluator) -> PytreeClass | None:
    """The pytree class that a parameter of a branch is annotated with, as far as that is borne out."""
    value = None if branch.function is None else plain(evaluator.parameter(branch.function, name, branch.module))
    return value.cls if isinstance(value, Instance) and value.cls.is_pytree else None
