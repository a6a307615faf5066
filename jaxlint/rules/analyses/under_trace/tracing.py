"""A function run on forms instead of arrays, as JAX traces it: what structure and types come out.

Nothing is guessed: what is not understood is unknown. Where a branch cannot be decided, only what both sides do counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from jaxlint.infer.known.values import UNKNOWN as UNKNOWN_VALUE
from jaxlint.infer.known.values import Array, Instance, Value, plain
from jaxlint.libraries.updates import MUTABLE_COPY
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.rules.analyses.under_trace.dicts import after_changes, changed_by, containers_in, where_changed, with_item
from jaxlint.rules.analyses.under_trace.forms import (
    MAYBE_NONE,
    NOTHING,
    SOMETHING,
    UNKNOWN,
    Form,
    Held,
    Leaf,
    State,
    Unknown,
)
from jaxlint.rules.analyses.under_trace.things import (
    Code,
    Frame,
    Thing,
    form_of,
    held_by,
    joined,
    of_tuple,
    one_of,
    roots,
    unpacked,
    without_containers,
)
from jaxlint.rules.analyses.under_trace.traced_expressions import Expressions
from jaxlint.symbols.outline import MUTATING, Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    BoolOp,
    Call,
    Comprehension,
    Conditional,
    Constant,
    Display,
    Expr,
    Lambda,
    Name,
    Starred,
    Subscript,
    children,
    last_name,
)
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
    assert_never,
    assigned_names,
    blocks,
    expressions,
    own_names,
    own_parts,
    targets_of,
    walk,
)

#: How many functions deep calls are followed.
MAX_DEPTH = 4
#: What `None` takes no part in; `%` may put it into a text, and `|` into a type.
_ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "**", "@"})


class Tracer(Expressions):
    """Runs functions on forms, statement by statement."""

    # -- functions --------------------------------------------------------------------------

    def result(self, code: Code, given: Sequence[Thing], keywords: Mapping[str, Thing], depth: int) -> Thing:
        """What a function returns, perhaps a function of its own."""
        positional = (*code.positional, *given)
        count = len(code.parameters)
        if depth > MAX_DEPTH or (len(positional) > count and not code.rest):
            self.changed += [held for thing in (*positional, *keywords.values()) for held in containers_in(thing)]
            return UNKNOWN
        own = own_names(code.body) if isinstance(code.body, tuple) else ()
        variables = {
            **code.around,
            **dict.fromkeys((*own, *code.parameters), UNKNOWN),
            **{name: self.placed(default, depth) for name, default in code.defaults.items()},
            **dict(zip(code.parameters, positional, strict=False)),
            **code.keywords,
            **keywords,
        }
        if code.rest:
            variables[code.rest] = of_tuple([form_of(thing) for thing in positional[count:]])
        frame = Frame(code.module, code.scope, variables, depth)
        if not isinstance(code.body, tuple):
            return self.value(code.body, frame)
        if self.execute(code.body, frame):
            frame.returned.append(NOTHING)
        return joined(frame.returned) if frame.returned else UNKNOWN

    # -- statements -------------------------------------------------------------------------

    def execute(self, body: Body, frame: Frame) -> bool:
        """Run statements; whether what follows them is reached."""
        return all(self._statement(statement, frame) for statement in body)

    def _statement(self, node: Statement, frame: Frame) -> bool:
        if self.met_none and isinstance(node, (Assign, Annotate, Augment, Return, Do)) and node.value is not None:
            self._compute(node.value, frame)
        match node:
            case Assign(targets=targets, value=value):
                thing = self.held(value, frame)
                for target in targets:
                    self.bind(target, thing, frame)
            case Annotate(target=target, value=given):
                self.bind(target, UNKNOWN if given is None else self.value(given, frame), frame)
            case Augment(target=target, op=op, value=value):
                self.bind(target, self.value(Binary(node.at, op, target, value), frame), frame)
            case Return(value=result):
                frame.returned.append(NOTHING if result is None else self.held(result, frame))
                return False
            case Raise() | Jump():
                return False
            case If(branches=branches, orelse=orelse):
                return self._if(branches, orelse, frame)
            case With(items=items, body=body):
                for expr, entered in items:
                    thing = self._entered(expr, frame)
                    if entered is not None:
                        self.bind(entered, thing, frame)
                return self.execute(body, frame)
            case FunctionDefinition():
                frame.variables[node.name] = self._defined(node, frame)
            case Try():
                return self._try(node, frame)
            case For() | While():
                self._uncertain(node, frame)
            case Delete(target=target):
                self.bind(target, UNKNOWN, frame)
            case Do(value=Call(func=Attribute(value=holder, attr=attr)) as call) if attr in MUTATING and isinstance(
                held_by(holder, frame.variables), Held
            ):
                self.value(call, frame)
            case Do() | Assert() | Match() | Importing() | Outer() | ClassDefinition():
                for expr in expressions(node):
                    self.value(expr, frame)
                self._forget((node,), frame)
            case _:
                assert_never(node)
        return True

    @staticmethod
    def _compute(expr: Expr, frame: Frame) -> None:
        """Learn that what an expression computes with, whatever is decided in it, is not None."""
        pending = [expr]
        while pending:
            part = pending.pop()
            if isinstance(part, Binary) and part.op in _ARITHMETIC:
                for operand in (part.left, part.right):
                    _assume_something(operand, frame)
            if not isinstance(part, (BoolOp, Conditional, Lambda, Comprehension)):
                pending += children(part)

    def _entered(self, manager: Expr, frame: Frame) -> Thing:
        """What a context manager gives: a copy that takes assignments, if nothing compares it afterwards."""
        if isinstance(manager, Call) and last_name(manager.func) == MUTABLE_COPY and manager.positional:
            validates = manager.keyword("validate")
            copied = self.value(manager.positional[0], frame)
            return copied if isinstance(validates, Constant) and validates.value is False else UNKNOWN
        self.value(manager, frame)
        return UNKNOWN

    def _if(self, branches: Sequence[tuple[Expr, Body]], orelse: Body, frame: Frame) -> bool:
        alive: list[Frame] = []
        rest = frame
        for test, body in branches:
            outcome = self._truth(test, rest)
            if outcome is False:
                continue
            branch = rest.branch(*self.known(test, True, rest))
            if self.execute(body, branch):
                alive.append(branch)
            if outcome is True:
                break
            rest = msgspec.structs.replace(rest, facts=(*rest.facts, *self.known(test, False, rest)))
        else:
            branch = rest.branch()
            if self.execute(orelse, branch):
                alive.append(branch)
        if alive:
            frame.meet(alive)
            frame.facts = alive[0].facts if len(alive) == 1 else frame.facts
        return bool(alive)

    def _try(self, node: Try, frame: Frame) -> bool:
        """All of the block that is tried, or any part of it and then a handler."""
        alive, before = [frame.branch()], len(self.changed)
        if not self.execute((*node.body, *node.orelse), alive[0]):
            alive.clear()
        for handler in node.handlers:
            branch = frame.branch()
            self._forget(node.body, branch, before)
            if handler.name is not None:
                branch.variables[handler.name] = UNKNOWN
            if self.execute(handler.body, branch):
                alive.append(branch)
        if alive:
            frame.meet(alive)
        return self.execute(node.final, frame) and bool(alive)

    def _uncertain(self, node: For | While, frame: Frame) -> None:
        """What may run, or several times: what it assigns is not known, but for the items of a loop in their turns."""
        if frame.depth == 0 and isinstance(node, For):
            self._first_turn(node, frame.branch())
        before = len(self.changed)
        self._forget((node,), frame)
        for block in blocks(node):
            branch = frame.branch()
            if isinstance(node, For) and block is node.body:
                self.bind(node.target, self._item_in_turn(node.iterable, branch), branch)
            self.execute(block, branch)
        self._forget((node,), frame, before)

    def _first_turn(self, node: For, frame: Frame) -> None:
        """What the first turn of a loop does to what was there before, as far as nothing in it is decided."""
        self.bind(node.target, self._item_in_turn(node.iterable, frame), frame)
        for statement in node.body:
            if any(blocks(statement)) or not self._statement(statement, frame):
                break

    def _item_in_turn(self, iterable: Expr, frame: Frame) -> Form:
        """What a loop binds its target to, whichever turn it is."""
        match iterable:
            case Call(func=Name(id="enumerate"), args=[given]):
                return of_tuple([UNKNOWN, self._item_in_turn(given.value, frame)])
            case Call(func=Name(id="zip"), args=args) if not iterable.has_star:
                return of_tuple([self._item_in_turn(argument.value, frame) for argument in args])
            case Call(func=Name(id="list" | "tuple" | "reversed"), args=[given]):
                return self._item_in_turn(given.value, frame)
            case Call(func=Attribute(value=held, attr="items" | "values" as attr), args=()):
                values = self.value(held, frame)
                if not isinstance(values, Held) or values.kind != "dict":
                    return UNKNOWN
                item = one_of(values)
                return item if attr == "values" else of_tuple([UNKNOWN, item])
        listed = self.value(iterable, frame)
        return one_of(listed) if isinstance(listed, Held) and listed.kind != "dict" else UNKNOWN

    def _forget(self, body: Body, frame: Frame, since: int | None = None) -> None:
        """Forget what some statements may bind, or change in place; `since` counts what was changed before they ran."""
        names, since = set(assigned_names(body)), len(self.changed) if since is None else since
        for statement in walk(body, nested=False):
            touched = list(targets_of(statement))
            for part in own_parts(statement):
                if isinstance(part, Call) and isinstance(part.func, Attribute) and part.func.attr in MUTATING:
                    touched.append(part.func)
            for target in touched:
                names.update(roots(target))
                held = held_by(target.value, frame.variables) if isinstance(target, (Attribute, Subscript)) else None
                self.changed += [held] if isinstance(held, Held) else []
        frame.variables = after_changes(frame.variables, self.changed[since:])
        for name in names & frame.variables.keys():
            frame.variables[name] = UNKNOWN

    def bind(self, target: Expr, thing: Thing, frame: Frame) -> None:
        """Assign to a target."""
        match target:
            case Name(id=name):
                frame.variables[name] = thing
            case Display(items=items):
                parts = unpacked(form_of(thing), len(items)) if not target.has_star else None
                for index, item in enumerate(items):
                    self.bind(item, UNKNOWN if parts is None else parts[index], frame)
            case Starred(value=value):
                self.bind(value, UNKNOWN, frame)
            case Attribute(value=Name(id=name), attr=attr):
                self._assign_field(name, attr, form_of(thing), frame)
            case Subscript(value=holder, index=index) if isinstance(held := held_by(holder, frame.variables), Held):
                self._change(held, with_item(held, index, form_of(thing)), frame)
            case _:
                for name in roots(target):
                    frame.variables[name] = UNKNOWN
                frame.variables = {name: without_containers(held) for name, held in frame.variables.items()}

    def of_container(self, held: Held, name: str, call: Call, values: Sequence[Thing], frame: Frame) -> Thing:
        """What the method `name` of a container returns, which may change it."""
        if name in MUTATING:
            self._change(held, changed_by(held, name, call, values), frame)
        return Held(held.kind, held.entries) if name == "copy" else UNKNOWN

    def _change(self, held: Held, after: Form, frame: Frame) -> None:
        """A container is changed in place, by whatever name."""
        self.changed.append(held)
        frame.variables = {name: where_changed(thing, held, after) for name, thing in frame.variables.items()}

    def _assign_field(self, name: str, field: str, form: Form, frame: Frame) -> None:
        """`state.field = form`, which every name of an instance that can change may see."""
        state = frame.variables.get(name)
        if not isinstance(state, State):
            return
        for other, thing in frame.variables.items():
            if isinstance(thing, State) and thing.cls is state.cls:
                frame.variables[other] = UNKNOWN
        frame.variables[name] = State(state.cls, {**state.fields, field: form}, state.exact)

    def _defined(self, node: FunctionDefinition, frame: Frame) -> Thing:
        """A function of the body."""
        row = place_of(node.at).row
        for function in frame.module.outline.functions.values():
            if function.name == node.name and function.scope == frame.scope and function.at.row == row:
                symbol = FunctionSymbol(frame.module, function)
                return self.code(symbol, node.body, frame.variables) or UNKNOWN
        return UNKNOWN


def _assume_something(operand: Expr, frame: Frame) -> None:
    """Take a variable, or a field of an instance in one, of which nothing was known for something."""
    match operand:
        case Name(id=name) if isinstance(frame.variables.get(name), Unknown):
            frame.variables[name] = SOMETHING
        case Attribute(value=Name(id=name), attr=attr):
            held = frame.variables.get(name)
            if isinstance(held, State) and isinstance(held.fields.get(attr, UNKNOWN), Unknown) and held.cls.field(attr):
                frame.variables[name] = State(held.cls, {**held.fields, attr: SOMETHING}, held.exact)


def known_as(value: Value) -> Form:
    """The form of what the inference knows of a parameter."""
    value = plain(value)
    if isinstance(value, Instance):
        return State(value.cls, {name: known_as(held) for name, held in value.held}, value.exact)
    return Leaf() if isinstance(value, Array) and not value.declared else UNKNOWN


def parameters_of(function: Function | None, values: Mapping[str, Value]) -> dict[str, Thing]:
    """The forms of the parameters of a function that is read for itself."""
    found: dict[str, Thing] = {}
    for parameter in function.parameters if function is not None else ():
        may_be_none = isinstance(parameter.default, Constant) and parameter.default.kind == "NoneType"
        found[parameter.name] = MAYBE_NONE if may_be_none else known_as(values.get(parameter.name, UNKNOWN_VALUE))
    return found
