"""From mypy's hooks to the events that jaxlint's rules read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace
from mypy import nodes
from mypy.checker import TypeChecker
from mypy.nodes import CallExpr, Context, Expression, FuncDef, MemberExpr, MypyFile
from mypy.plugin import AttributeContext, FunctionContext, MethodContext
from mypy.subtypes import is_subtype
from mypy.types import Instance, Type, get_proper_type

from jaxlint.infer.bodies.slots import changed_by
from jaxlint.infer.evaluating.events import CodeRead, Event, KeywordValue, MutateField
from jaxlint.infer.evaluating.notes import Notes
from jaxlint.infer.known.deferred import Values
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.stand_ins import has_stand_ins
from jaxlint.infer.known.values import (
    UNKNOWN,
    ClassObject,
    FieldRead,
    Scalar,
    Value,
    as_instance,
    dict_of,
    options,
    plain,
    without_none,
)
from jaxlint.libraries.updates import REPLACE_FUNCTIONS, TREE_AT
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.base import Problem, Rule
from jaxlint.symbols.outline import EXPECTED_FAILURE, Function, names_by_position
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Argument, Call, Name, dotted
from jaxlint.syntax.statements import walk
from jaxlint_mypy.declared import may_delete, may_transform, passing_on
from jaxlint_mypy.exprs import span_of, to_call, to_expr
from jaxlint_mypy.front import FrontEnd
from jaxlint_mypy.internals import attributes_asked_for, functions_around, has_unseen_base, type_of
from jaxlint_mypy.parameters import instance_of
from jaxlint_mypy.report import report
from jaxlint_mypy.statements import Around, Statements, last_name, statements_of

_MOST = 8
_STEPS = frozenset({"+", "-"})
#: Methods whose results are not what their types say.
_UNTOLD = frozenset({"__new__", "enter_context", "enter_async_context"})


class EventFeeder:
    """Makes events of what mypy's checker shows, and lets the rules look at them."""

    def __init__(self, front: FrontEnd) -> None:
        self.front = front
        self._statements: dict[int, tuple[object, Statements]] = {}

    # -- circumstances ------------------------------------------------------------------------

    def code(self, checker: TypeChecker) -> tuple[list[FuncDef], Statements]:
        """The functions around what is being checked, and the statements of the innermost."""
        functions = functions_around(checker)
        return functions, self._statements_of(functions[-1] if functions else checker.tree)

    def _statements_of(self, node: FuncDef | MypyFile) -> Statements:
        body = node.body if isinstance(node, FuncDef) else node.defs
        stored = self._statements.get(id(node))
        if stored is None or stored[0] is not body:  # the daemon puts another body into the same node
            if len(self._statements) >= _MOST:
                self._statements.pop(next(iter(self._statements)))
            stored = self._statements[id(node)] = (body, statements_of(node))
        return stored[1]

    def notes(self, checker: TypeChecker, functions: Sequence[FuncDef], around: Around) -> tuple[Notes, Environment]:
        """Where something happens, to note events in."""
        place = self.front.place(checker.tree, functions)
        notes = Notes()
        notes.events = []
        notes.place = place
        notes.loop_depth = int(around.in_loop)
        notes.expected = around.expected
        notes.targets = frozenset(around.targets)
        if any(map(_is_to_fail, place.functions)) or self._is_passed_to_fail(checker, functions):
            notes.events = None
        env = Environment(place.module, "")
        env.mutable_copies = around.copies
        for name, outcome in around.tests:
            self.front.evaluator.narrow(Name(None, name), env, outcome)
        if env.dead:  # a switch of the module turns it off
            notes.events = None
        return notes, env

    def _is_passed_to_fail(self, checker: TypeChecker, functions: Sequence[FuncDef]) -> bool:
        """Whether one of the functions is passed to what expects an error, by the code around it."""
        outer: FuncDef | MypyFile = checker.tree
        for function in functions:
            if self._statements_of(outer).is_to_fail(function.name):
                return True
            outer = function
        return False

    def run(self, checker: TypeChecker, notes: Notes, doubts: Callable[[], bool] = lambda: False) -> None:
        """Let the rules look at the events, and report what they say, unless there are doubts about the types."""
        problems = self.front.event_problems(notes.events or ())
        if not problems or doubts():
            return
        assert notes.place is not None
        self._report(checker, problems, notes.place.module)

    def _report(self, checker: TypeChecker, problems: Iterable[tuple[Problem, Rule]], module: Module) -> None:
        """Report what was found in code that may run."""
        for problem, rule in problems:
            if problem.at is not None and not self.front.readings.never_runs(module, problem.at):
                report(self.front, checker, problem, rule, module)

    def _depend(self, checker: TypeChecker, typ: Type) -> None:
        proper = get_proper_type(typ)
        if self.front.is_daemon and isinstance(proper, Instance):
            self.front.depend(checker, *proper.type.mro)

    # -- values -------------------------------------------------------------------------------

    def value(self, checker: TypeChecker, node: Expression, depth: int = 0) -> Value:
        """What is known of an expression: its type, and whether it was read from a static field."""
        if isinstance(node, MemberExpr):
            owner = as_instance(self._type_value(checker, node.expr))
            field = owner.cls.field(node.name) if owner is not None else None
            value = self._type_value(checker, node)
            if owner is not None and field is not None and field.role is Role.STATIC:
                return FieldRead(value, owner.cls, node.name)
            return value
        if isinstance(node, nodes.OpExpr) and node.op in _STEPS and depth < 4:
            for side in (node.left, node.right):
                read = self.value(checker, side, depth + 1)
                if isinstance(read, FieldRead):
                    return FieldRead(self._type_value(checker, node), read.cls, read.field, stepped=True)
        if isinstance(node, (nodes.IntExpr, nodes.StrExpr, nodes.FloatExpr)):
            return Scalar(type(node.value).__name__)
        return self._type_value(checker, node)

    def _type_value(self, checker: TypeChecker, node: Expression) -> Value:
        return self.front.value(type_of(checker, node), declared=False)

    # -- attributes ---------------------------------------------------------------------------

    def attribute(self, ctx: AttributeContext) -> None:
        """An attribute that is assigned or deleted."""
        checker, node = ctx.api, ctx.context
        if not isinstance(checker, TypeChecker) or not isinstance(node, MemberExpr):
            return
        self._depend(checker, ctx.type)
        if ctx.is_lvalue or self.front.says(checker.tree, may_delete):
            self.assign(checker, node, is_lvalue=ctx.is_lvalue)

    def assign(self, checker: TypeChecker, node: MemberExpr, *, is_lvalue: bool) -> None:
        """An attribute that may be assigned or deleted; mypy does not say which attributes are deleted."""
        functions, statements = self.code(checker)
        store = statements.store(node)
        if store is None or (store.how != "delete" and not is_lvalue):
            return
        receiver = self._type_value(checker, node.expr)
        if not any(as_instance(one) for one in options(plain(without_none(plain(receiver))))):
            return  # most attributes are those of ordinary classes
        if has_stand_ins(self.front.module(checker.tree)):
            return  # which mypy takes for instances, as `isinstance` does
        if store.how != "delete" and self._is_read_only(receiver, node.name):
            return  # mypy says so itself
        if store.how == "assign" and self._sets_own_leaf(receiver, node, functions):
            return
        around = statements.around(node.line)
        is_asked_for = bool(around.copies) or _is_static(receiver, node.name)  # mypy has to look at it once more
        value = self.value(checker, store.value) if store.value is not None and is_asked_for else UNKNOWN
        notes, env = self.notes(checker, functions, around)
        at = span_of(node)
        notes.assign_attribute(at, to_expr(node.expr), receiver, node.name, store.how, value, env)
        self.run(
            checker,
            notes,
            lambda: _may_be_open(receiver, notes) or self._may_be_another(checker, node.expr, statements),
        )

    def _sets_own_leaf(self, receiver: Value, node: MemberExpr, functions: Sequence[FuncDef]) -> bool:
        """Whether a method sets a leaf of its own instance in which the framework allows that: no rule is about it."""
        instance, method = as_instance(receiver), functions[-1] if functions else None
        if instance is None or method is None or method.name not in instance.cls.framework.assignable_in:
            return False
        is_self = isinstance(node.expr, nodes.NameExpr) and method.arg_names[:1] == [node.expr.name]
        field = instance.cls.field(node.name)
        is_leaf = field is not None and field.role is Role.LEAF
        return is_self and is_leaf and bool(method.info) and self.front.class_of(method.info) is instance.cls

    def _may_be_another(self, checker: TypeChecker, node: Expression, statements: Statements) -> bool:
        """Whether a variable is given something that its type does not tell.

        mypy goes on with the declared type after an assignment that it refuses; what `__new__` returns can still be
        written to, and what an exit stack has entered may be a copy that can.
        """
        if not isinstance(node, nodes.NameExpr) or not isinstance(node.node, nodes.Var) or node.node.type is None:
            return False
        for given in statements.given(node.name):
            if isinstance(given, CallExpr) and last_name(given) in _UNTOLD:
                return True
            if not is_subtype(type_of(checker, given), node.node.type):
                return True
        return False

    def _is_read_only(self, receiver: Value, name: str) -> bool:
        """Whether mypy takes the attribute for a property without a setter."""
        for option in options(plain(without_none(plain(receiver)))):
            instance = as_instance(option)
            info = None if instance is None else self.front.info_of_class(instance.cls)
            symbol = info.get(name) if info is not None else None
            node = symbol.node if symbol is not None else None
            if not (isinstance(node, nodes.Var) and node.is_property and not node.is_settable_property):
                return False
        return True

    def set_by_name(self, ctx: FunctionContext, how: str) -> None:
        """`setattr(x, "name", value)` and `delattr(x, "name")`; a name that is computed is no name."""
        checker, call = ctx.api, ctx.context
        if not isinstance(checker, TypeChecker) or not isinstance(call, CallExpr) or len(call.args) < 2:
            return
        receiver = self.front.value(ctx.arg_types[0][0] if ctx.arg_types and ctx.arg_types[0] else None)
        self._set_named(checker, call, receiver, call.args, how)

    def set_by_method(self, ctx: MethodContext) -> None:
        """`x.__setattr__("name", value)`."""
        checker, call = ctx.api, ctx.context
        if not isinstance(checker, TypeChecker) or not isinstance(call, CallExpr) or len(call.args) != 2:
            return
        if isinstance(call.callee, MemberExpr):
            given = [call.callee.expr, *call.args]
            self._set_named(checker, call, self._type_value(checker, given[0]), given, "setattr")

    def _set_named(
        self, checker: TypeChecker, call: CallExpr, receiver: Value, given: Sequence[Expression], how: str
    ) -> None:
        """An attribute by its name; `given` is the instance, the name, and the value if there is one."""
        if as_instance(receiver) is None:
            return
        functions, statements = self.code(checker)
        notes, env = self.notes(checker, functions, statements.around(call.line))
        value = self.value(checker, given[2]) if len(given) > 2 else UNKNOWN
        attr = given[1].value if isinstance(given[1], nodes.StrExpr) else ""
        held, name = map(to_expr, given[:2])
        notes.assign_attribute(span_of(call), held, receiver, attr, how, value, env, named_by=name)
        self.run(checker, notes)

    # -- updates ------------------------------------------------------------------------------

    def method_update(self, ctx: MethodContext, function: str) -> None:
        """`x.replace(...)` and kin; `function` as in `Update`."""
        call = ctx.context
        if not isinstance(call, CallExpr) or not isinstance(call.callee, MemberExpr):
            return
        if isinstance(ctx.api, TypeChecker):
            self._depend(ctx.api, ctx.type)
        receiver = self.front.value(ctx.type)
        base: Expression = call.callee.expr
        fields = True
        if function.startswith("at."):
            receiver = plain(without_none(plain(receiver)))
            base = _indexed(base)
            receiver, fields = UNKNOWN if base is call.callee.expr else self.front.array, False
        by = self.front.own_update(receiver, function)
        self._update(ctx, call, base, receiver, function, call.args if fields else (), by)

    def function_update(self, ctx: FunctionContext, function: str, position: int) -> None:
        """`dataclasses.replace(x, ...)`, `eqx.tree_at(..., x, ...)` and kin."""
        call = ctx.context
        if not isinstance(call, CallExpr) or len(call.args) <= position:
            return
        if any(kind != nodes.ARG_POS for kind in call.arg_kinds[: position + 1]):
            return
        base = call.args[position]
        checker = ctx.api
        assert isinstance(checker, TypeChecker)
        receiver = self._type_value(checker, base)
        instance = instance_of(type_of(checker, base))
        if function == TREE_AT and instance is not None and attributes_asked_for(instance):
            return  # what is selected may be what it was asked for
        self._update(ctx, call, base, receiver, function, call.args[1:] if function in REPLACE_FUNCTIONS else ())

    def _update(
        self,
        ctx: MethodContext | FunctionContext,
        call: CallExpr,
        base: Expression,
        receiver: Value,
        function: str,
        given: Sequence[Expression],
        by: FunctionSymbol | None = None,
    ) -> None:
        checker = ctx.api
        if not isinstance(checker, TypeChecker):
            return
        functions, statements = self.code(checker)
        known = as_instance(receiver)
        compares = function not in REPLACE_FUNCTIONS or (
            function != "copy.replace" and (known is None or self._is_dataclass(known.cls))
        )
        unseen = _unseen_keywords(call, compares=compares)
        selects = function == TREE_AT
        if not (statements.stands_alone(call) or unseen or selects or (known is not None and known.cls.static_fields)):
            return  # what rules say of an update that is taken is about static fields, or about what is selected
        notes, _ = self.notes(checker, functions, statements.around(call.line))
        translated = to_call(call)
        args: list[Argument] = []
        values: list[Value] = []
        wanted = {id(node) for node in given}
        for node, argument in zip(call.args, translated.args, strict=True):
            if id(node) in wanted and argument.keyword != "grads" and (argument.keyword or argument.star == "**"):
                args.append(argument)
                values.append(self._splat(checker, node) if argument.star else self.value(checker, node))
        notes.update(translated, to_expr(base), receiver, function, args, Values(values), by=by)
        if unseen:
            found = self.front.unknown_keywords(notes.events or (), unseen)
            self._report(checker, found, self.front.module(checker.tree))
        if statements.stands_alone(call):
            notes.discard(translated, 0, is_alone=True)
        self.run(checker, notes)

    def _is_dataclass(self, cls: PytreeClass) -> bool:
        """Whether mypy itself compares what `dataclasses.replace` is given with the fields."""
        info = self.front.info_of_class(cls)
        return info is None or not has_unseen_base(info) or any("dataclass" in one.metadata for one in info.mro)

    def _splat(self, checker: TypeChecker, node: Expression) -> Value:
        """What `**node` passes, if it is a display of a dict whose keys are literal strings."""
        if not isinstance(node, nodes.DictExpr):
            return UNKNOWN
        entries = {key.value: self.value(checker, value) for key, value in node.items if isinstance(key, nodes.StrExpr)}
        return dict_of(entries) if len(entries) == len(node.items) else UNKNOWN

    def call_unseen(self, checker: TypeChecker, call: CallExpr, receiver: Instance) -> None:
        """`x.replace(...)` where mypy cannot tell whether there is such a method."""
        value = self.front.value(receiver, declared=False)
        if as_instance(value) is None:
            return
        functions, statements = self.code(checker)
        translated = to_call(call)
        if statements.asks_for(dotted(translated.func) or ""):
            return
        notes, _ = self.notes(checker, functions, statements.around(call.line))
        notes.call_method(translated, value)
        self._report(checker, self.front.missing_methods(notes.events or ()), self.front.module(checker.tree))

    # -- construction -------------------------------------------------------------------------

    def construct(self, ctx: FunctionContext, cls: PytreeClass) -> None:
        """`Cls(...)`."""
        checker, call = ctx.api, ctx.context
        if not isinstance(checker, TypeChecker) or not isinstance(call, CallExpr):
            return
        self._depend(checker, ctx.default_return_type)
        functions, statements = self.code(checker)
        notes, _ = self.notes(checker, functions, statements.around(call.line))
        translated = to_call(call)
        notes.construct(translated, ClassObject(cls), self.bound(checker, cls, call, translated))
        self.run(checker, notes)

    def bound(self, checker: TypeChecker, cls: PytreeClass, call: CallExpr, translated: Call) -> list[KeywordValue]:
        """The arguments by the names of the parameters that they are for."""
        parameters = cls.constructor() or ()
        positional = names_by_position(parameters)
        bound: list[KeywordValue] = []
        for index, (node, argument) in enumerate(zip(call.args, translated.args, strict=True)):
            if argument.star == "*":
                positional = []
            name = argument.keyword
            if name is None and not argument.star and index < len(positional):
                name = positional[index]
            if name is not None:
                bound.append(KeywordValue(name, argument.at, self.value(checker, node)))
        return bound

    # -- changes in place ---------------------------------------------------------------------

    def mutate(self, ctx: MethodContext, how: str) -> None:
        """`x.f.append(v)`, `x.f[k] = v` where `x.f` is a field of a pytree."""
        checker, node = ctx.api, ctx.context
        held = held_by(node)
        if not isinstance(checker, TypeChecker) or not isinstance(held, MemberExpr):
            return
        if held.name not in self.front.field_names:  # to ask the checker for the type of the owner takes time
            return
        owner = as_instance(self._type_value(checker, held.expr))
        field = owner.cls.field(held.name) if owner is not None else None
        if owner is None or field is None or not owner.cls.is_pytree:
            return
        functions, statements = self.code(checker)
        if field.role is not Role.STATIC:
            self._lose(checker, node, functions, statements.around(node.line))
            return
        if how == "item" and isinstance(node, nodes.IndexExpr):
            store = statements.store(node)
            how = {"augment": "augment", "delete": "delete"}.get(store.how, "item") if store is not None else "item"
        around = statements.around(node.line)
        notes, env = self.notes(checker, functions, around)
        notes.mutate(span_of(node), to_expr(held), self.front.value(ctx.type, False), how, UNKNOWN, owner, env)
        notes.events = [e for event in notes.events or () for e in self._with_code(event, notes)]
        self.run(checker, notes)

    def _lose(self, checker: TypeChecker, node: Context, functions: Sequence[FuncDef], around: Around) -> None:
        """A container among the leaves is changed: in a function that a transformation gives a copy, that is lost."""
        if not functions or not self.front.says(checker.tree, may_transform):
            return
        innermost = functions[-1]  # is it transformed by a decorator, or is its name given to something?
        if not innermost.is_decorated and not self.front.says(checker.tree, passing_on(innermost.name)):
            return
        notes, _ = self.notes(checker, functions, around)
        place = notes.place
        function = place.function if place is not None and notes.events is not None else None
        if place is None or function is None:
            return
        code = self.front.readings.transformed_body(place.module, function)
        problems = self.front.event_problems([code] if code is not None else ())
        self._report(checker, [one for one in problems if _is_at(one[0].at, node.line)], place.module)

    def _with_code(self, event: Event, notes: Notes) -> list[Event]:
        """The event, and the body that it stands in for the rules that read bodies."""
        place = event.place
        function = place.function
        body = self.front.reader.body_of(FunctionSymbol(place.module, function)) if function is not None else None
        if body is None or not isinstance(event, MutateField) or not isinstance(event.at, tuple):
            return [event]
        changed = [at for statement in walk(body, nested=False) for at, _ in changed_by(statement)]
        here = next((at for at in changed if place_of(at)[:2] == event.at[:2]), event.at)
        return [event, CodeRead(function, place, body, function, {}, (replace(event, at=here),))]


def _is_at(at: object, row: int) -> bool:
    span = None if at is None else place_of(at)
    return span is not None and span.row <= row <= span.end_row


def _is_static(receiver: Value, name: str) -> bool:
    """Whether an attribute is a static field of one of the classes that an instance may be of."""
    instances = [as_instance(option) for option in options(plain(without_none(plain(receiver))))]
    fields = [instance.cls.field(name) for instance in instances if instance is not None]
    return any(field is not None and field.role is Role.STATIC for field in fields)


def _may_be_open(receiver: Value, notes: Notes) -> bool:
    """Whether the function makes copies by `copy`, and those of the instance may be assigned to."""
    instance, place = as_instance(receiver), notes.place
    if instance is None or place is None or place.function is None or not instance.cls.framework.copies_are_open:
        return False
    first, last = place.function.body_rows
    return any("copy(" in line for line in place.module.source.lines[first - 1 : last])


def _is_to_fail(function: Function) -> bool:
    heads = [d.func if isinstance(d, Call) else d for d in function.decorators]
    return any((dotted(head) or "").rpartition(".")[2] in EXPECTED_FAILURE for head in heads)


def _unseen_keywords(call: CallExpr, *, compares: bool) -> frozenset[str]:
    """The keywords of an update that mypy does not compare with the fields: those in `**{...}`, or all of them."""
    displays = [a for a, kind in zip(call.args, call.arg_kinds, strict=True) if kind == nodes.ARG_STAR2]
    keys = [key for display in displays if isinstance(display, nodes.DictExpr) for key, _ in display.items]
    names = {key.value for key in keys if isinstance(key, nodes.StrExpr)}
    if not compares:
        names |= {name for name in call.arg_names if name is not None}
    return frozenset(names)


def _indexed(base: Expression) -> Expression:
    """The array `x` of `x.at[i]`."""
    if isinstance(base, nodes.IndexExpr) and isinstance(base.base, MemberExpr) and base.base.name == "at":
        return base.base.expr
    return base


def held_by(node: Context) -> Expression | None:
    """What is changed by a call of a method, or an assignment to an item."""
    if isinstance(node, CallExpr) and isinstance(node.callee, MemberExpr):
        held: Expression = node.callee.expr
    elif isinstance(node, nodes.IndexExpr):
        held = node.base
    else:
        return None
    while isinstance(held, nodes.IndexExpr):
        held = held.base
    return held
