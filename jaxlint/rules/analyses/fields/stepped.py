"""Numbers that each turn of a loop moves in a copy of an instance: `opt = opt.decayed(0.9)`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Cross
from jaxlint.infer.evaluating.points import value_at
from jaxlint.infer.known.counting import is_swept
from jaxlint.infer.known.values import UNKNOWN, Instance, Scalar, UnknownValue, Value, plain
from jaxlint.infer.transforms.applied import Applied
from jaxlint.libraries.updates import REPLACE_FUNCTIONS, TREE_AT
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol, ValueSymbol
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.rules.analyses.fields.moving import binds, is_straight, may_move, moving
from jaxlint.rules.analyses.instances.callers_in_loops import is_repeated
from jaxlint.rules.analyses.instances.origins import given_by
from jaxlint.symbols.outline import Function, Parameter, names_by_position
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Expr,
    Lambda,
    Name,
    Subscript,
    dotted,
    is_number,
    items_of,
    last_name,
)
from jaxlint.syntax.statements import (
    Assign,
    Body,
    For,
    Return,
    Statement,
    While,
    all_parts,
    assigned_names,
    bound_names,
    bound_once,
    has_variable,
    looked_up,
    own_parts,
    parts,
    target_names,
    walk,
)

#: Operations that make another number of a number.
MOVING = frozenset({"+", "-", "*", "/", "//", "**"})
#: Those that do not count.
SCALING = MOVING - {"+", "-"}


#: The functions and methods that give instances other fields, by their last names.
_UPDATING = frozenset({"tree_at", "replace"})
#: The transformations of the function that takes a variable, and the value in the variable.
_Taken = tuple[tuple[Applied, ...], Value]
#: A variable or a path of attributes, and a call that makes a copy of what it holds.
_Copied = tuple[str, Call]
#: A body that runs again and again, and the copies that it binds.
_Turn = tuple[Body, list[_Copied]]


class Moved(msgspec.Struct, frozen=True):
    """The number of a field that each turn of a loop moves: the copy, what transforms the function that it goes to."""

    copy: Call
    applied: tuple[Applied, ...]
    cls: PytreeClass
    field: str
    #: Whether the loop stands in the same body, and not where the function is called.
    in_loop: bool


def moved_at_each_turn(
    code: CodeRead, evaluator: Evaluator, operations: frozenset[str] = MOVING, *, sets: bool = False
) -> Iterator[Moved]:
    """The fields whose number each turn of a loop moves, in an instance that it passes to a transformed function.

    The variable, or the attribute of an object, is bound to a copy of what it holds, at every turn: by a constructor,
    `replace` or `tree_at`, or by a method or function that does nothing but return such a copy. What a function does to
    an attribute of what it is given counts, too, if a loop calls it with the same object at each turn. With `sets`, a
    copy counts that is given a number which is another one in each turn, whatever it was before.
    """
    crosses = {id(e.at): e for e in code.events if isinstance(e, Cross)}
    turns: list[_Turn] | None = code.shared.get(Moved)
    if turns is None:
        turns = code.shared[Moved] = list(_turns(code, evaluator)) if crosses else []
    for turn, copied in turns:
        taking = _passed(turn, copied, crosses)
        updated = {name for name, call in copied if sets and last_name(call.func) in _UPDATING}
        if updated:
            taking = _said(turn, updated, code, evaluator) | taking
        for name, copy in copied:
            applied, value = taking.get(name, ((), UNKNOWN))
            held = plain(value)
            if applied and isinstance(held, UnknownValue):
                held = _taken_by(copy, name, code, evaluator)
            if isinstance(held, Instance):
                copies = Copies(held.cls, evaluator, operations)
                fields = {
                    *copies.moved_in_turn(copy, name, code),
                    *(copies.set_in_turn(copy, name, code) if sets else ()),
                }
                for field in sorted(fields):
                    yield Moved(copy, applied, held.cls, field, turn is not code.body)
    if sets and crosses:
        yield from _given_at_each_turn(code, crosses, evaluator)


def _taken_by(copy: Call, name: str, code: CodeRead, evaluator: Evaluator) -> Value:
    """The class that the annotations of a copying function name, where nothing else says what a variable holds."""
    if name not in map(dotted, copy.positional[:1]):
        return UNKNOWN
    resolver = evaluator.model.resolver
    symbol = resolver.follow(resolver.resolve(copy.func, code.place.module, code.scope))
    if not isinstance(symbol, FunctionSymbol) or not symbol.declaration.parameters:
        return UNKNOWN
    function = symbol.declaration
    return plain(evaluator.given_parameter(function, function.parameters[0].name, symbol.module))


def _given_at_each_turn(code: CodeRead, crosses: dict[int, Cross], evaluator: Evaluator) -> Iterator[Moved]:
    """The fields that a copy has set which a loop makes where it passes it on: `step(annealed(agent, i), x)`."""
    for loop in (s for s in code.statements if isinstance(s, (For, While))):
        for call in (part for s in walk(loop.body, nested=False) for part in own_parts(s) if isinstance(part, Call)):
            for copy, cross in ((a.value, crosses.get(id(a.at))) for a in call.args if isinstance(a.value, Call)):
                held = None if cross is None else plain(cross.value)
                if cross is None or not isinstance(held, Instance):
                    continue
                of = copy.func.value if isinstance(copy.func, Attribute) else None
                copies = Copies(held.cls, evaluator)
                for base in filter(None, map(dotted, (*(() if of is None else (of,)), *copy.positional[:2]))):
                    for field in copies.set_in_turn(copy, base, code):
                        yield Moved(copy, cross.applied, held.cls, field, True)


def _turns(code: CodeRead, evaluator: Evaluator) -> Iterator[_Turn]:
    """The bodies that run again and again, those of loops and that of the function, with the copies that they bind."""
    for loop in (s for s in code.statements if isinstance(s, (For, While))):
        copied = [(path, call) for path, call in _copied(loop.body) if _is_shared_by_turns(path, loop)]
        if copied:
            yield loop.body, copied
    function = code.function
    if function is None or not [s for s in code.body if type(s) is Assign and type(s.targets[0]) is Attribute]:
        return
    always = tuple(_before_returns(code.body))
    copied = [(path, c) for path, c in _copied(always) if "." in path and not _is_renewed(path, code.body)]
    for given in function.parameters if copied else ():
        held = [(path, call) for path, call in copied if path.startswith(f"{given.name}.")]
        if held and given.name not in assigned_names(code.body):
            if is_repeated(function, given.name, code.place.module, evaluator):
                yield code.body, held


def _before_returns(body: Body) -> Iterator[Statement]:
    """The statements of a body that always run."""
    for statement in body:
        if any(isinstance(inner, Return) for inner in walk((statement,), nested=False)):
            return
        yield statement


def _copied(body: Body) -> Iterator[_Copied]:
    """What some statements bind to what a call gives, and nothing else, with the calls that make a copy of it."""
    once = None
    for statement in body:
        match statement:
            case Assign(targets=(Name() | Attribute() as target,), value=Call() as call):
                path = target.id if type(target) is Name else dotted(target)
                once = bound_once(body) if once is None else once
                if path is not None:
                    yield from ((path, step) for step in _in_steps(call, path, once))


def _is_renewed(path: str, turn: Body) -> bool:
    """Whether a turn binds a path to what has nothing to do with what it held before."""
    statements, names, before = list(walk(turn, nested=False)), {path}, 0
    while len(names) > before:  # a turn may go on with what the one before has left
        before = len(names)
        for statement in statements:
            if any(dotted(part) in names for part in own_parts(statement)):
                names.update(bound_names(statement))
    values = (s.value for s in statements if isinstance(s, Assign) and path in map(dotted, s.targets))
    return not all(any(dotted(part) in names for part in parts(value)) for value in values)


def _is_shared_by_turns(path: str, loop: For | While) -> bool:
    """Whether the turns of a loop share what a path begins with, or the variable that it is."""
    root = path.partition(".")[0]
    if _is_renewed(path, loop.body):
        return False
    if root == path:
        return not isinstance(loop, For) or root not in target_names(loop.target)
    return root not in assigned_names((loop,))


def _in_steps(call: Call, name: str, once: Mapping[str, Expr]) -> Iterator[Call]:
    """A call of what others make of a variable, as if that were bound to it: `cool(step(s))` is `step(s)`, `cool(s)`.

    What has another name in between, or is an item of what a call gives, is looked up.
    """
    for operand in (call.func.value if isinstance(call.func, Attribute) else None, *call.positional[:1]):
        made = bound = None if operand is None or dotted(operand) == name else looked_up(operand, once)
        while isinstance(made, Subscript):
            made = made.value
        others = {one: value for one, value in once.items() if value is not bound}  # a turn may go round
        steps = list(_in_steps(made, name, others)) if isinstance(made, Call) else []
        if steps and operand is not None:
            yield from steps
            yield _with_operand(call, operand, Name(operand.at, name))
            return
    if has_variable(call, name.partition(".")[0]) and any(dotted(part) == name for part in parts(call)):
        yield call


def _with_operand(call: Call, operand: Expr, given: Expr) -> Call:
    """A call with something else in the place of what it is called on, or of its first argument."""
    if isinstance(call.func, Attribute) and call.func.value is operand:
        return replace(call, func=replace(call.func, value=given))
    return replace(call, args=tuple(replace(a, value=given) if a.value is operand else a for a in call.args))


def _passed(turn: Body, copied: Sequence[_Copied], crosses: dict[int, Cross]) -> dict[str, _Taken]:
    """What transforms the functions that a turn passes some variables to, and what these hold."""
    found: dict[str, _Taken] = {}
    names = {name for name, _ in copied}
    calls = [part for s in walk(turn, nested=False) for part in own_parts(s) if isinstance(part, Call)]
    for call in (*calls, *(step for _, step in copied)):
        for argument in call.args:
            cross = crosses.get(id(argument.at))
            path = None if cross is None else dotted(argument.value)
            if cross is not None and path is not None and path in names:
                found.setdefault(path, (cross.applied, cross.value))
    return found


def _said(turn: Body, names: set[str], code: CodeRead, evaluator: Evaluator) -> dict[str, _Taken]:
    """The same for unknown variables, such as the result of a training step: what the step says it takes.

    Only decorators count: who calls a function by its name may call what is not transformed.
    """
    found: dict[str, _Taken] = {}
    resolver = evaluator.model.resolver
    for call in (part for s in walk(turn, nested=False) for part in own_parts(s) if isinstance(part, Call)):
        if names.isdisjoint(filter(None, map(dotted, call.positional))):
            continue
        symbol = resolver.follow(resolver.resolve(call.func, code.place.module, code.scope))
        if isinstance(symbol, FunctionSymbol):
            applied = evaluator.calls.transformed.decorating(symbol.declaration, symbol.module)
            given = call.given_to(names_by_position(symbol.declaration.parameters)) if applied else {}
            for parameter, value in given.items():
                path = dotted(value)
                if path is not None and path in names:
                    held = evaluator.given_parameter(symbol.declaration, parameter, symbol.module)
                    found.setdefault(path, (applied, held))
    return found


class _Copying(msgspec.Struct, frozen=True):
    """A function that returns copies of an instance: its names for that and for what it is given, and the calls."""

    module: Module
    scope: str
    base: str
    given: Mapping[str, Expr]
    body: Body
    bound: Mapping[str, Expr]
    returned: tuple[Call, ...]


class Copies:
    """Tells which numbers the copies of an instance of one class move."""

    def __init__(self, cls: PytreeClass, evaluator: Evaluator, operations: frozenset[str] = MOVING) -> None:
        self.cls = cls
        self.evaluator = evaluator
        self.operations = operations

    def moved_in_turn(self, copy: Call, name: str, code: CodeRead) -> Iterator[str]:
        """The fields that a copy of the instance in a variable moves, here or in what is called to make it."""
        module = code.place.module
        yield from self._moved(copy, name, module, code.scope, frozenset())
        made = self._made_by(copy, name, code)
        if made is not None:
            numbers = frozenset(name for name, value in made.given.items() if self._is_number(value, code))
            if binds(made.body, {made.base, *numbers}):
                return
            returned = [
                set(self._moved(value, made.base, made.module, made.scope, numbers, made.bound))
                for value in made.returned
            ]
            yield from sorted(set.intersection(*returned) if returned else ())

    def _is_number(self, expr: Expr, code: CodeRead) -> bool:
        """Whether an expression certainly is a number: written out, what is said to be one, or is one by default."""
        if is_number(expr):
            return True
        for parameter in code.function.parameters if code.function is not None and isinstance(expr, Name) else ():
            if parameter.name == dotted(expr) and parameter.default is not None and is_number(parameter.default):
                return parameter.name not in code.contents.bound
        return isinstance(expr, (Name, Attribute)) and _is_scalar(value_at(expr, code, self.evaluator))

    def set_in_turn(self, copy: Call, name: str, code: CodeRead) -> Iterator[str]:
        """The fields that such a copy is given another number for in each turn of the loop around."""
        for field, value in self.given(copy, name, code.place.module, code.scope):
            if is_swept(value_at(value, code, self.evaluator)):
                yield field
        made = self._made_by(copy, name, code)
        if made is None or len(made.returned) != 1:
            return
        passed = {parameter: value_at(given, code, self.evaluator) for parameter, given in made.given.items()}
        numbers = {parameter: value for parameter, value in passed.items() if isinstance(plain(value), Scalar)}
        if any(map(is_swept, numbers.values())) and not binds(made.body, {made.base, *numbers}):
            given = self.given(made.returned[0], made.base, made.module, made.scope)
            for field, value in (*given, *self._given_anew(made.returned[0], made)):
                computed = Placed(looked_up(value, made.bound), made.module, made.scope)
                if is_swept(plain(self.evaluator.static(computed, numbers))):
                    yield field

    def _given_anew(self, copy: Call, made: _Copying) -> Iterator[tuple[str, Expr]]:
        """The fields that a new instance is given, which `tree_at` fills with what the instance before holds."""
        resolver = self.evaluator.model.resolver
        if resolver.library_name(copy.func, made.module, made.scope) != TREE_AT or len(copy.positional) < 3:
            return
        variable = copy.positional[1]
        new = looked_up(variable, made.bound)
        symbol = resolver.follow(resolver.resolve(new.func, made.module, made.scope)) if isinstance(new, Call) else None
        parameters = self.cls.constructor()
        if not isinstance(new, Call) or symbol is None or parameters is None or new.has_star:
            return
        if self.evaluator.model.class_of_symbol(symbol) is self.cls:
            selected_names = {name for name, _ in selected(copy, dotted(variable) or "")}
            given = new.given_to(names_by_position(parameters))
            if self.cls.has_own_construction:
                stored = self.evaluator.calls.stored_parameters(self.cls)
                given = {stored[name]: value for name, value in given.items() if name in stored}
            yield from ((name, value) for name, value in given.items() if name not in selected_names)

    def _made_by(self, copy: Call, name: str, code: CodeRead) -> _Copying | None:
        """The method or function that does nothing but return a copy of the instance in a variable."""
        found = self.copying(copy, name, code.place.module, code.scope)
        if found is None:
            return None
        home, function, base, parameters = found
        if function.decorators or function.is_async or copy.has_star:
            return None
        body = self.evaluator.calls.body_of(FunctionSymbol(home, function)) or ()
        if not (function.only_returns or is_straight(body)):
            return None
        bound = bound_once(body)
        returned = tuple(looked_up(value, bound) for value in function.return_values)
        calls = tuple(value for value in returned if isinstance(value, Call))
        if len(calls) != len(returned):
            return None
        given = copy.given_to(names_by_position(parameters))
        left = (p for p in parameters if p.name not in given)
        given |= {p.name: p.default for p in left if p.default is not None and may_move(p.default)}
        return _Copying(home, function.inner_scope, base, given, body, bound, calls)

    def moved_in(self, method: FunctionSymbol) -> Iterator[str]:
        """The fields that a copy of `self` moves, wherever a method makes one."""
        own, body = method.declaration.self_name, self.evaluator.calls.body_of(method) or ()
        if own is None or binds(body, {own}):
            return
        scope, bound = method.declaration.inner_scope, bound_once(body)
        for part in all_parts(body):
            if isinstance(part, Call):
                yield from self._moved(part, own, method.module, scope, frozenset(), bound)

    def copying(
        self, copy: Call, name: str, module: Module, scope: str
    ) -> tuple[Module, Function, str, tuple[Parameter, ...]] | None:
        """The method or function of the project that is called with the instance in a variable.

        With it come its module, its name for the instance, and the parameters that the arguments are for.
        """
        if isinstance(copy.func, Attribute) and dotted(copy.func.value) == name:
            made = self.cls.method(copy.func.attr)
            if made is None or made[1].self_name is None:
                return None
            return made[0].module, made[1], made[1].self_name, made[1].parameters[1:]
        if name not in map(dotted, copy.positional[:1]):
            return None
        resolver = self.evaluator.model.resolver
        symbol = resolver.follow(resolver.resolve(copy.func, module, scope))
        if not isinstance(symbol, FunctionSymbol) or not symbol.declaration.parameters:
            return None
        function = symbol.declaration
        return symbol.module, function, function.parameters[0].name, function.parameters

    def _moved(
        self,
        copy: Call,
        base: str,
        module: Module,
        scope: str,
        numbers: frozenset[str],
        bound: Mapping[str, Expr] | None = None,
    ) -> Iterator[str]:
        """The fields for which a copy of `base` gets the number that `base` has, moved by a number.

        `numbers` are the names that stand for numbers, `bound` variables with what they are bound to.
        """
        for name, given in self.given(copy, base, module, scope):
            known = numbers.union(self._numbers_in((given, *(bound or {}).values()), base, module, scope))
            operation = moving(given, f"{base}.{name}", known, bound or {})
            if operation in self.operations and (operation not in SCALING or self._is_float(name)):
                yield name

    def _numbers_in(self, exprs: Iterable[Expr], base: str, module: Module, scope: str) -> Iterator[str]:
        """What stands for numbers in some expressions: fields of the instance, and constants of a module."""
        for part in (part for expr in exprs for part in parts(expr)):
            match part:
                case Attribute(value=held, attr=attr) if dotted(held) == base:
                    field = self.cls.field(attr)
                    if field is None or not _is_scalar(self.evaluator.promises.field(field, self.cls)):
                        continue
                    if field.default is None or may_move(field.default.expr):
                        yield f"{base}.{attr}"
                case Name(id=name):
                    symbol = self.evaluator.model.resolver.resolve(part, module, scope)
                    held_by = symbol.assignment.value if isinstance(symbol, ValueSymbol) else None
                    if held_by is not None and may_move(held_by):
                        yield name

    def _is_float(self, name: str) -> bool:
        """Whether a field certainly holds a float: an integer that is doubled is a size, and meant to be static."""
        field = self.cls.field(name)
        held = None if field is None else plain(self.evaluator.promises.field(field, self.cls))
        return isinstance(held, Scalar) and held.kind == "float"

    def given(self, copy: Call, base: str, module: Module, scope: str) -> Iterator[tuple[str, Expr]]:
        """The fields that a copy of `base` is given, and what."""
        resolver, cls = self.evaluator.model.resolver, self.cls
        function, of = resolver.library_name(copy.func, module, scope), copy.positional[:1]
        if isinstance(copy.func, Attribute) and copy.func.attr == cls.framework.replace_method:
            of = (copy.func.value,) if cls.has_framework_replace else ()
        if base in map(dotted, of) and (function in REPLACE_FUNCTIONS or of != copy.positional[:1]):
            yield from ((a.keyword, a.value) for a in copy.args if a.keyword is not None)
        elif function == TREE_AT:
            yield from selected(copy, base)
        elif self.evaluator.model.class_of_symbol(resolver.follow(resolver.resolve(copy.func, module, scope))) is cls:
            yield from ((field.name, value) for field, value in given_by(copy, cls))


def _is_scalar(value: Value) -> bool:
    """Whether a value is a number of Python."""
    value = plain(value)
    return isinstance(value, Scalar) and value.kind in ("int", "float")


def selected(call: Call, base: str) -> Iterator[tuple[str, Expr]]:
    """The fields that `tree_at(lambda m: m.n, base, value)` replaces, and what they are given."""
    match call.positional:
        case (Lambda(params=(_,), body=body), tree, given) if dotted(tree) == base:
            nodes, values = items_of(body), items_of(given)
            for node, value in zip(nodes, values, strict=False) if len(nodes) == len(values) else ():
                if isinstance(node, Attribute) and isinstance(node.value, Name):
                    yield node.attr, value
