"""The instances that a body makes by calls that state the values of static fields, and the lists that hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import msgspec

from jaxlint.infer.bodies.contents import contents_of
from jaxlint.infer.bodies.slots import is_bound
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Replace
from jaxlint.infer.known.values import is_classmethod
from jaxlint.libraries.trees import FILTER, TREE_MAPS
from jaxlint.libraries.updates import GIVE_SAME
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol, Symbol, ValueSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.pytrees.stubs import is_stub
from jaxlint.pytrees.updating import is_train_state
from jaxlint.rules.analyses.bodies.settled import settled
from jaxlint.rules.analyses.fields.freshness import Freshness
from jaxlint.rules.analyses.fields.turns_written import bound_in, counted, varies
from jaxlint.rules.analyses.instances.methods import own_methods
from jaxlint.symbols.outline import Function, names_by_position
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Call,
    Clause,
    Comprehension,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Name,
    Span,
    constant,
    last_name,
    same,
)
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    Body,
    Do,
    For,
    FunctionDefinition,
    Return,
    Statement,
    bound_by,
    target_names,
    walk,
)

#: So many variables, calls and lists are looked through.
_MAX_DEPTH = 6
#: Functions that make of a tree one with the same static values.
_KEEPING = GIVE_SAME | TREE_MAPS | {FILTER}
_KEEPING_NAMES = frozenset(name.rpartition(".")[2] for name in _KEEPING)
_LITERALS = frozenset({"int", "float", "str", "bool", "NoneType"})


class Made(msgspec.Struct, frozen=True):
    """An instance and the literals that its static fields were given, by name; those with a default take that."""

    cls: PytreeClass
    statics: dict[str, Expr]
    #: The static fields that differ between the items, if it is a list of instances.
    varying: str = ""
    #: The static fields for which the call that makes it makes an object that equals no other one: the identity of it.
    fresh: dict[str, int] = {}


class MadeInstances:
    """The instances that a body makes by calls that state the values of static fields."""

    def __init__(
        self,
        statements: Sequence[Statement],
        module: Module,
        scope: str,
        evaluator: Evaluator,
        updates: Mapping[int, Replace] | None = None,
    ) -> None:
        self._statements = statements
        self.module = module
        self._scope = scope
        self.evaluator = evaluator
        #: The copies with changes, by the identity of the calls that make them.
        self._updates = updates or {}

    @classmethod
    def of_code(cls, code: CodeRead, evaluator: Evaluator) -> MadeInstances:
        """Those of a body that is checked."""
        updates = {id(e.call): e for e in code.events if isinstance(e, Replace)}
        return cls(code.statements, code.place.module, code.scope, evaluator, updates)

    @cached_property
    def functions(self) -> dict[str, Body]:
        """The bodies of the functions inside."""
        return {s.name: s.body for s in self._statements if isinstance(s, FunctionDefinition)}

    @cached_property
    def _bound(self) -> dict[str, list[Statement]]:
        """The statements that bind a variable, in their order."""
        bound: dict[str, list[Statement]] = {}
        for statement in self._statements:
            for name in _names(statement):
                bound.setdefault(name, []).append(statement)
        return bound

    @cached_property
    def _variables(self) -> dict[str, Expr]:
        """What the variables hold that are bound once."""
        once = {name: found[0] for name, found in self._bound.items() if len(found) == 1}
        return {name: s.value for name, s in once.items() if isinstance(s, Assign)}

    def _held(self, name: Name) -> Expr | None:
        """What a variable holds where it is read: all that it is given, or what it is given before a loop.

        It holds that in the first turn, where it is read in each turn and bound anew afterwards.
        """
        found = self._bound_again.get(name.id)
        if found is None:
            return self._variables.get(name.id)
        read = place_of(name.at)
        is_first = read[:2] < place_of(found[1].at)[2:] and all(isinstance(s, For) for s in self._around(read))
        return found[0].value if is_first else None

    @cached_property
    def _bound_again(self) -> dict[str, tuple[Assign, Statement]]:
        """The variables that are certainly given what may be instances and then bound anew, and both places."""
        return {
            name: (found[0], found[1])
            for name, found in self._bound.items()
            if len(found) > 1
            and isinstance(found[0], Assign)
            and isinstance(found[0].value, (Call, Comprehension, Display))
            and not self._around(place_of(found[0].at))
        }

    def _around(self, place: Span) -> list[Statement]:
        """The statements with statements inside that are around a place."""
        return [statement for statement, whole in self._compound if whole.holds(place)]

    @cached_property
    def _compound(self) -> list[tuple[Statement, Span]]:
        return [(s, place_of(s.at)) for s in self._statements if not isinstance(s, (Assign, Do, Return))]

    def may_be_list(self, expr: Expr) -> bool:
        """Whether an expression is a comprehension or several things written out, or a variable that holds these.

        Or it is a variable that holds what a loop appends to it.
        """
        value = self._held(expr) if isinstance(expr, Name) else expr
        if value is None:
            return False
        is_written = isinstance(value, Display) and len(value.items) > 1 and value.kind != "set"
        if is_written or isinstance(value, Comprehension) or id(value) in self.appended:
            return True
        symbol = self.symbol(value.func) if isinstance(value, Call) else None
        return isinstance(symbol, FunctionSymbol) and _may_return_list(symbol.declaration)

    def listed(self, expr: Expr) -> list[Expr]:
        """The items of a display, or of a variable of the body or of the module that is given one."""
        if isinstance(expr, Name) and (value := self._held(expr)) is not None:
            expr = value
        elif isinstance(expr, Name):
            symbol = self.symbol(expr)
            if isinstance(symbol, ValueSymbol) and symbol.module is self.module and not symbol.scope:
                expr = symbol.assignment.value or expr
        return list(expr.items) if isinstance(expr, Display) and not expr.has_star else []

    def symbol(self, expr: Expr) -> Symbol:
        """What a name in the body stands for."""
        return self.evaluator.model.resolver.resolve(expr, self.module, self._scope)

    def elsewhere(self, expr: Expr, function: FunctionSymbol) -> Symbol:
        """What a name in a function of the project stands for."""
        scope = function.declaration.inner_scope
        return self.evaluator.model.resolver.resolve(expr, function.module, scope)

    def of(self, expr: Expr, depth: int = 0) -> Made | None:
        """The instance, or the list of instances, that an expression is."""
        if depth > _MAX_DEPTH:
            return None
        match expr:
            case Name():
                value = self._held(expr)
                return None if value is None else self.of(value, depth + 1)
            case Call() if id(expr) in self._updates:
                return self._updated(self._updates[id(expr)], depth)
            case Call() if (part := self._unwrapped(expr)) is not expr:
                return self.of(part, depth + 1)
            case Call():
                symbol = self.symbol(expr.func)
                if isinstance(symbol, FunctionSymbol):
                    return self._made_by(symbol, expr) or self._listed_by(symbol, depth + 1)
                return self.made(expr, symbol, self.module, self._scope, expr)
            case Comprehension(kind="list" | "generator", element=element, clauses=(clause,)):
                return self._items(element, clause, depth + 1)
            case Display(kind="list", items=()) if id(expr) in self.appended:
                loop, item = self.appended[id(expr)]
                return self._items(item, loop, depth + 1)
            case Display(kind="list" | "tuple", items=items):
                return _differing([self.of(item, depth + 1) for item in items])
        return None

    def made(self, call: Call, symbol: Symbol, module: Module, scope: str, by: Call, body: Body = ()) -> Made | None:
        """What a call of a class makes, which is written in a scope of a module, and run by another one.

        `body` is what is run by that, too: what variables hold there is as new.
        """
        cls = self.evaluator.model.class_of_symbol(symbol) or _class_created(call, module, scope, self.evaluator)
        if cls is None or not cls.is_pytree or call.has_star or cls.unknown_decorator or not cls.static_fields:
            return None
        parameters = cls.constructor()
        if parameters is None:
            return None
        given = call.given_to(names_by_position(parameters))
        if cls.has_own_construction:
            return self._stored(cls, {name: Placed(value, module, scope) for name, value in given.items()})
        statics: dict[str, Expr] = {}
        for field in cls.static_fields:
            placed = Placed(given[field.name], module, scope) if field.name in given else field.default
            if placed is not None and not field.is_converted:
                statics[field.name] = self._settled(placed)
        making = Freshness(module, scope, tuple(body), self.evaluator)
        fresh = [name for name in statics if name in given and making.of(given[name]) is not None]
        return Made(cls, statics, fresh=dict.fromkeys(fresh, id(by)))

    def _stored(self, cls: PytreeClass, given: Mapping[str, Placed]) -> Made | None:
        """What a constructor of its own makes, if it puts parameters into static fields as they are."""
        found = cls.method("__init__")
        if found is None or any(cls.method(name) for name in ("__post_init__", "__new__")):
            return None
        owner, init = found
        body = self.evaluator.calls.body_of(FunctionSymbol(owner.module, init)) or ()
        parameters = {p.name: p.default for p in init.parameters if p.kind in ("positional", "keyword")}
        assigned = [one.attr for c in cls.mro for method in own_methods(c) for one in method.self_assignments]
        statics: dict[str, Expr] = {}
        for attr, name in _assigned_variables(init, body):
            field, placed = cls.field(attr), given.get(name)
            if placed is None and (default := parameters.get(name)) is not None:
                placed = Placed(default, owner.module, init.scope)
            if placed is None or field is None or field.role is not Role.STATIC or field.is_converted:
                continue
            if name in parameters and assigned.count(attr) == 1 and not is_bound(name, body):
                statics[attr] = self._settled(placed)
        return Made(cls, statics) if statics else None

    def _settled(self, placed: Placed) -> Expr:
        return settled(placed.expr, self.evaluator.model.resolver, placed.module, placed.scope)

    def _here(self, expr: Expr) -> Expr:
        return self._settled(Placed(expr, self.module, self._scope))

    def _unwrapped(self, expr: Expr) -> Expr:
        """What a call makes a tree of the same structure of: `eqx.filter(model, eqx.is_array)`."""
        while isinstance(expr, Call) and last_name(expr.func) in _KEEPING_NAMES and not expr.has_star:
            name = self.evaluator.model.resolver.library_name(expr.func, self.module, self._scope)
            given = expr.positional
            if name in TREE_MAPS:  # of one tree
                given = given[1:] if len(given) == 2 else ()
            if not given or name not in _KEEPING:
                break
            expr = given[0]
        return expr

    def _updated(self, update: Replace, depth: int) -> Made:
        before = None if update.base is None else self.of(update.base, depth + 1)
        exprs = {id(a.at): a.value for a in update.call.args}
        given = {k.name: exprs.get(id(k.at)) for k in update.keywords}
        cls = update.receiver.cls
        names = {field.name for field in cls.static_fields}
        statics = {} if before is None else {n: v for n, v in before.statics.items() if n not in given}
        statics |= {name: self._here(value) for name, value in given.items() if name in names and value is not None}
        return Made(cls, statics, fresh={n: by for n, by in (before.fresh if before else {}).items() if n not in given})

    def _items(self, item: Expr, loop: Clause | For, depth: int) -> Made | None:
        """The instances that an expression makes turn by turn, by itself or by a function.

        The item of each turn, or what keeps all that is static in it, is as different as the items are.
        """
        item = self._unwrapped(item)
        is_new = isinstance(item, Call)
        if isinstance(loop, Clause) and isinstance(item, Name) and same(item, loop.target):
            return None if loop.conditions else self.of(loop.iterable, depth)
        if isinstance(item, Name) and item.id in self._variables:
            item = self._variables[item.id]
        if isinstance(item, Call) and isinstance(item.func, Name) and item.func.id in target_names(loop.target):
            makers = () if isinstance(loop, Clause) and loop.conditions else self._each(item.func.id, loop)
            return _differing([self.of(msgspec.structs.replace(item, func=maker), depth + 1) for maker in makers])
        symbol = self.symbol(item.func) if isinstance(item, Call) else None
        if isinstance(item, Call) and isinstance(symbol, FunctionSymbol):
            made = self._returned_by(symbol, item)
        else:
            made = self.of(item, depth)
        if made is None:
            return None
        varying = self._varying(loop.target, loop.iterable)
        if isinstance(symbol, FunctionSymbol) and isinstance(item, Call):  # its parameters, then
            if item.has_star:
                return None
            given = item.given_to(symbol.declaration.positional)
            varying = {name for name, held in given.items() if varies(held, varying)}
        name = next((n for n, v in made.statics.items() if varies(v, varying)), "")
        rows = self._rows(loop.iterable) if made.fresh and is_new and not name else ()
        name = next(iter(made.fresh)) if rows is None or len(rows) > 1 else name
        return msgspec.structs.replace(made, varying=name) if name else made

    def _each(self, name: str, loop: Clause | For) -> Sequence[Expr]:
        """What a variable of a loop stands for in each turn, where that is written out in this module."""
        match loop.target, loop.iterable:
            case Name(), iterable:
                return self.listed(iterable)
            case Display(items=items), Call(func=Name(id="zip"), args=args) if len(items) == len(args):
                columns = (a.value for i, a in zip(items, args, strict=True) if isinstance(i, Name) and i.id == name)
                return [maker for column in columns for maker in self.listed(column)]
            case Display(items=(_, Name(id=last))), Call(func=Name(id="enumerate"), args=(argument,)) if last == name:
                return self.listed(argument.value)
        return ()

    def _varying(self, target: Expr, iterable: Expr) -> set[str]:
        """The variables of a loop that differ between its turns: all but those that are seen to be alike in each."""
        names, rows = set(target_names(target)), self._rows(iterable)
        if rows is None:
            return names
        turns = [dict(bound_in(target, row)) for row in rows]
        return {n for n in names if any(n not in turn or not same(turn[n], turns[0].get(n)) for turn in turns)}

    def _rows(self, iterable: Expr) -> Sequence[Expr] | None:
        """What a loop goes through, where that is written out: a list, the items of a dict, several lists at a time."""
        match iterable:
            case Call(func=Attribute(value=held, attr="items" | "values" as method), args=()):
                written = self._written(held)
                if not isinstance(written, DictDisplay) or None in written.keys:
                    return None
                entries = zip(written.keys, written.values, strict=True)
                pairs = [Display(written.at, "tuple", (key, value)) for key, value in entries if key is not None]
                return pairs if method == "items" else written.values
            case Call(func=Name(id="enumerate"), args=(Argument(value=listed),)):
                rows = self._rows(listed) or ()
                return [Display(r.at, "tuple", (constant(r.at, n), r)) for n, r in enumerate(rows)] or None
            case Call(func=Name(id="zip"), args=args):
                columns = [self._rows(argument.value) for argument in args]
                known = [column for column in columns if column is not None]
                rows = [Display(iterable.at, "tuple", row) for row in zip(*known, strict=False)]
                return rows if len(known) == len(args) else None
            case Call(func=Name(id="range"), args=args):
                numbers = [self._here(argument.value) for argument in args]
                return counted(iterable, [n.value for n in numbers if isinstance(n, Constant)])
        written = self._written(iterable)
        return written.items if isinstance(written, Display) and not written.has_star else None

    def _written(self, expr: Expr) -> Expr | None:
        """An expression, or what a variable of the body or of a module is given, if that is one."""
        if not isinstance(expr, (Name, Attribute)):
            return expr
        symbol = None if isinstance(expr, Name) and expr.id in self._bound else self.symbol(expr)
        if isinstance(symbol, ValueSymbol) and not symbol.scope:
            return symbol.assignment.value
        return self._held(expr) if isinstance(expr, Name) else None

    def _made_by(self, symbol: FunctionSymbol, call: Call) -> Made | None:
        """What a function makes of one instance, with what the call gives to static fields."""
        function, bound = symbol.declaration, 1 if is_classmethod(symbol.declaration) else 0
        made = self._returned_by(symbol, call) if not call.has_star else None
        if made is None:
            return None
        given = {name: self._here(value) for name, value in call.given_to(function.positional[bound:]).items()}
        names = {p.name for p in symbol.declaration.parameters}
        statics = {
            name: given.get(value.id) if isinstance(value, Name) and value.id in names else value
            for name, value in made.statics.items()
        }
        known = {name: value for name, value in statics.items() if isinstance(value, (Constant, Name))}
        return msgspec.structs.replace(made, statics=known)

    def _listed_by(self, symbol: FunctionSymbol, depth: int) -> Made | None:
        """The list of instances that a function makes and returns, if they differ."""
        declaration = symbol.declaration
        if declaration.decorators or not _may_return_list(declaration):
            return None
        body = self.evaluator.calls.body_of(symbol)
        if body is None and not declaration.only_returns:
            return None
        statements = () if body is None else contents_of(body).statements
        returned = [s.value for s in statements if isinstance(s, Return) and s.value] or declaration.return_values
        inside = MadeInstances(statements, symbol.module, declaration.inner_scope, self.evaluator)
        made = inside.of(returned[0], depth) if inside.may_be_list(returned[0]) else None
        return None if made is None or not made.varying else msgspec.structs.replace(made, statics={})

    def _returned_by(self, symbol: FunctionSymbol, call: Call) -> Made | None:
        """The instance that a function returns, made by a call of its class; or a class method, by `cls(...)`."""
        function = symbol.declaration
        value = function.return_values[0] if len(function.return_values) == 1 else None
        if not isinstance(value, Call):
            return None
        if is_classmethod(function) and len(function.decorators) == 1 and isinstance(call.func, Attribute):
            by_cls = isinstance(value.func, Name) and value.func.id == function.self_name
            owner = self.symbol(call.func.value) if by_cls else None
            return None if owner is None else self.made(value, owner, symbol.module, function.inner_scope, call)
        if function.owner is not None or function.decorators:
            return None
        body = self.evaluator.calls.body_of(symbol) or ()
        return self.made(value, self.elsewhere(value.func, symbol), symbol.module, function.inner_scope, call, body)

    @cached_property
    def appended(self) -> dict[int, tuple[For, Expr]]:
        """What loops append to lists that are empty at first, if that is done in one place, by the display."""
        found: dict[str, list[tuple[For, Expr]]] = {}
        for loop in (s for s in self._statements if isinstance(s, For)):
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


def _class_created(call: Call, module: Module, scope: str, evaluator: Evaluator) -> PytreeClass | None:
    """The train state of which a call of its class method `create` makes an instance."""
    if not isinstance(call.func, Attribute) or call.func.attr != "create":
        return None
    cls = evaluator.model.class_of_symbol(evaluator.model.resolver.resolve(call.func.value, module, scope))
    found = None if cls is None or not is_train_state(cls) else cls.method("create")
    return cls if found is not None and is_stub(found[0].module) else None


def _may_return_list(function: Function) -> bool:
    """Whether all that a function returns is one comprehension, or one variable, which may hold a list."""
    values = function.return_values
    is_plain = len(values) == 1 and not (function.is_async or function.is_generator)
    return is_plain and isinstance(values[0], (Comprehension, Name))


def _assigned_variables(init: Function, body: Body) -> Iterator[tuple[str, str]]:
    """The attributes to which a constructor assigns a variable under no condition, and these variables."""
    for statement in body:
        match statement:
            case (
                Assign(targets=(Attribute(value=Name(id=receiver), attr=attr),), value=Name(id=name))
                | Annotate(target=Attribute(value=Name(id=receiver), attr=attr), value=Name(id=name))
            ) if receiver == init.self_name:
                yield attr, name


def _names(statement: Statement) -> Iterator[str]:
    return (name for target in bound_by(statement) for name in target_names(target))


def difference(one: Made, other: Made) -> str | None:
    """A static field in which two instances of a class hold different literals, or objects equal to no other one."""
    if one.cls is not other.cls:
        return None
    for name, value in one.statics.items():
        against = other.statics.get(name)
        if isinstance(value, Constant) and isinstance(against, Constant) and not same(value, against):
            are_alike = value.kind == against.kind or {value.kind, against.kind} <= _LITERALS
            if are_alike and value.value != against.value:
                return name
    return next((n for n, by in one.fresh.items() if other.fresh.get(n, by) != by), None)


def _differing(items: list[Made | None]) -> Made | None:
    """What a display of instances holds, with the static field in which two of them differ."""
    first = next((item for item in items if item is not None), None)
    for index, one in enumerate(items):
        for other in items[:index]:
            name = None if one is None or other is None else difference(one, other)
            if name is not None and first is not None:
                return msgspec.structs.replace(first, varying=name)
    return first if None not in items else None
