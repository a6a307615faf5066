"""Reading statements: what each variable is at each point, and what happens to instances on the way.

One `UnitReader` reads one unit (some top-level statements of a file). Branches are
read with their own copy of the environment and merged; loop bodies are read twice, the first time
silently, so that what they rebind is known at their start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from jaxlint.infer.bodies.usage import discarded, only_yields_alone
from jaxlint.infer.calls.holding import keeps_return_value
from jaxlint.infer.calls.passing import is_switch
from jaxlint.infer.calls.tracers import as_tracers
from jaxlint.infer.evaluating.closed_over import surroundings
from jaxlint.infer.evaluating.closures import Closure
from jaxlint.infer.evaluating.events import Event, Place, Transformed
from jaxlint.infer.known.counting import counted_name, counting
from jaxlint.infer.known.deferred import Deferred, Held, known
from jaxlint.infer.known.environment import Environment, set_contents
from jaxlint.infer.known.narrowing import note_answers
from jaxlint.infer.known.transformed_values import marked
from jaxlint.infer.known.values import (
    NONE,
    UNKNOWN,
    ClassObject,
    Container,
    FieldRead,
    FunctionValue,
    Instance,
    LocalFunctionValue,
    Scalar,
    UnknownValue,
    Value,
    binds_receiver,
    dict_of,
    element_of,
    is_informative,
    join,
    joined,
    known_entries,
    of_any_library,
    plain,
)
from jaxlint.infer.reading.compound import CompoundStatements
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.symbols.outline import EXPECTED_FAILURE, Definition, Function
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Constant,
    Display,
    Expr,
    Name,
    Other,
    Starred,
    Subscript,
    dotted,
    without_call,
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
    FunctionDefinition,
    Importing,
    Jump,
    Raise,
    Return,
    Statement,
    target_names,
)


class UnitReader(CompoundStatements):
    """Reads the statements of one unit with one `Evaluator`."""

    # -- entry points -----------------------------------------------------------------------

    def read(self, body: Body, env: Environment, events: list[Event], place: Place) -> None:
        """Read the unit at module level; what happens is appended to `events`."""
        self.notes.points = {}
        with self._reading(events, place):
            self._block(body, env)
            self.notes.code(body, None, {}, 0, self.shared)
            self._read_deferred(body)

    def value_returned(
        self,
        node: FunctionDefinition,
        declaration: Function,
        receiver: Value | None,
        place: Place,
        passed: dict[str, Value],
        events: list[Event] | None,
    ) -> Value:
        """What a function returns for what is `passed`; what happens is appended to `events` unless that is None."""
        outer = Environment(self.module, declaration.scope)
        with self._reading(events, place):
            return known(self._function_body(node, declaration, outer, receiver, passed))

    @contextmanager
    def _reading(self, events: list[Event] | None, place: Place) -> Iterator[None]:
        """Be the reader of what is evaluated; readers nest when a return value is looked up."""
        notes = self.notes
        saved = (notes.events, notes.place, notes.reader, notes.loop_depth, notes.targets, notes.expected)
        notes.events, notes.place, notes.reader, notes.loop_depth, notes.expected = events, place, self, 0, frozenset()
        try:
            yield
        finally:
            notes.events, notes.place, notes.reader, notes.loop_depth, notes.targets, notes.expected = saved

    # -- functions --------------------------------------------------------------------------

    def _function_body(
        self,
        node: FunctionDefinition,
        declaration: Function,
        outer: Environment,
        receiver: Value | None,
        passed: dict[str, Value],
    ) -> Held:
        """Read a function's body with its own variables; the value is what it returns.

        What is `passed` counts for the parameters whose annotation says nothing.
        """
        scope = self.module.outline.scopes[declaration.inner_scope]
        env = Environment(self.module, scope.qualname, frozenset(scope.bindings) - scope.is_global, outer)
        env.by_fields = self.evaluator.by_fields.variables(declaration, self.module)
        parameters: dict[str, Value] = {}
        taken = binds_receiver(declaration, receiver)
        for index, parameter in enumerate(declaration.parameters):
            value: Value = UNKNOWN
            if index < taken and receiver is not None:
                value = receiver
            else:
                value = self.evaluator.parameter(declaration, parameter.name, self.module)
                if isinstance(value, (UnknownValue, Scalar)):  # a number may be another one in each turn of a loop
                    value = passed.get(parameter.name, value)
                    env.is_given = env.is_given or parameter.name in passed
                if type(value) is UnknownValue and env.by_fields is not None:
                    value = env.by_fields.get(parameter.name) or value
            parameters[parameter.name] = value
        given, parameters = parameters, as_tracers(parameters, declaration, self.module, self.calls.transformed)
        env.values = dict(parameters)
        env.equal = tuple((Name(None, n), v.says) for n, v in passed.items() if isinstance(v, Scalar) and is_switch(v))
        saved = self.returned, self.yielded, self.deferred, self.notes.loop_depth, self.muted_loops
        possible, self.notes.possible = self.notes.possible, {}
        self.returned, self.yielded, self.deferred, self.notes.loop_depth, self.muted_loops = [], [], [], 0, 0
        since = len(self.notes.events or ())
        try:
            self._block(node.body, env)
            self._on_some_way(node.body)
            self.notes.code(node.body, declaration, parameters, since, self.shared)
            self._read_deferred(node.body)
            values, yielded = self.returned, self.yielded
        finally:
            self.returned, self.yielded, self.deferred, self.notes.loop_depth, self.muted_loops = saved
            self.notes.possible = possible
        if declaration.is_generator:
            if declaration.is_async or not only_yields_alone(node.body):
                return UNKNOWN
            return Deferred(lambda: Container("sequence", None, joined([plain(known(y)) for y in yielded])), yielded)
        ends = [*values, *(() if values and env.dead else (NONE,))]
        if parameters != given:  # the caller of what is transformed gets no tracers
            return Deferred(lambda: marked(joined([plain(known(end)) for end in ends]), traced=False), ends)
        return Deferred(lambda: joined([plain(known(end)) for end in ends]), ends)

    def _define(self, node: FunctionDefinition, env: Environment, owner: PytreeClass | None) -> None:
        """A `def` statement: bind the name, and read the body once the function around it is read."""
        for expr in (*node.decorators, *node.defaults):
            self.evaluator.evaluate(expr, env)
        declaration = self.declarations.function(node)
        if declaration is None or self.notes.place is None:
            return
        place = Place(
            self.module,
            (*self.notes.place.functions, declaration),
            owner or self.notes.place.owner,
            self.notes.place.subclasses,
            self.notes.place.applied,
        )
        for applied in self.calls.transformed.decorating(declaration, self.module):
            self.notes.add(Transformed(applied.at, place, applied, declaration, self.module, None))
        outer = env if env.scope else Environment(self.module, "")
        function = Closure(
            node=node, declaration=declaration, module=self.module, outer=outer, place=place, reader=self
        )
        function.is_made_elsewhere = self.notes.events is None
        if declaration.owner is None and env.scope:
            env.bind(node.name, LocalFunctionValue(function))
        elif declaration.owner is None and self._is_bound_again(node.name):  # `step = jax.jit(step)` follows
            env.bind(node.name, FunctionValue(FunctionSymbol(self.module, declaration)))
        heads = [dotted(without_call(d)) or "" for d in declaration.decorators]
        expected_failure = EXPECTED_FAILURE & {head.rpartition(".")[2] for head in heads}
        if self.notes.events is not None and not expected_failure:
            self.deferred.append(function)

    def _read_deferred(self, body: Body) -> None:
        """Read the functions that the `body` just read defines, with what their callers pass."""
        while self.deferred:
            function = self.deferred.pop(0)
            if not function.read:
                function.read = True
                function.outer = surroundings(function, body, self.notes.points)
                self._read_function(function, function.hints)

    def _read_function(self, function: Closure, arguments: list[Value]) -> Held:
        node, declaration = function.node, function.declaration
        if not isinstance(node, FunctionDefinition):
            return UNKNOWN
        saved, self.notes.place = self.notes.place, function.place
        try:
            inside = function.place is not None and declaration.owner is not None
            owner = function.place.owner if function.place is not None and inside else None
            receiver = self.evaluator.receiver(declaration, owner) if owner is not None else None
            names = declaration.positional
            passed = dict(zip(names[1:] if receiver is not None else names, arguments, strict=False))
            return self._function_body(node, declaration, function.outer, receiver, passed)
        finally:
            self.notes.place = saved

    def call(self, function: Closure, arguments: list[Value] | None) -> Value:
        """Call a local function: what it returns. Arguments become known to its parameters."""
        if arguments:
            hints = function.hints
            function.hints = [join(a, b) for a, b in zip(hints, arguments, strict=False)] if hints else list(arguments)
        declaration = function.declaration
        if arguments and self.notes.events is not None and function.is_given_to(self.notes.place):
            self._tell(function, arguments)
        if declaration.is_async:
            return UNKNOWN
        if declaration.returns is not None:
            return self.evaluator.promises.returned(declaration, self.module)
        if not self._keeps_return_value(declaration):
            return UNKNOWN
        if function.result is None or arguments:
            with self.notes.muted():
                function.result = known(self._read_function(function, function.hints))
        return function.result

    def _tell(self, function: Closure, arguments: list[Value]) -> None:
        """Note what happens in a function that another one has returned, when it is called with `arguments`."""
        caller, declaration = self.notes.place, function.declaration
        if caller is None or caller.module is not function.module or tuple(arguments) in function.noted_for:
            return
        function.noted_for.add(tuple(arguments))
        symbol, events = FunctionSymbol(function.module, declaration), list[Event]()
        names = declaration.positional
        self.calls.note_call(symbol, dict(zip(names, arguments, strict=False)), caller.function)
        if function.place is not None and any(map(is_informative, arguments)):
            with self._reading(events, function.place):
                self._read_function(function, arguments)
            self.calls.note_called(symbol, events)

    def _keeps_return_value(self, declaration: Function) -> bool:
        """Whether all decorators leave what the function returns alone."""
        callees = self.evaluator.model.callees
        for decorator in declaration.decorators:
            callee = callees.of_decorator(decorator, self.module, declaration.scope)
            if callee is None or not keeps_return_value(callee.name):
                return False
        return True

    # -- classes ----------------------------------------------------------------------------

    def _class(self, node: ClassDefinition, env: Environment) -> None:
        for decorator in node.decorators:
            self.evaluator.evaluate(decorator, env)
        declaration = self.declarations.cls(node)
        if declaration is None:
            return
        owner = self.evaluator.model.build(ClassSymbol(self.module, declaration))
        if env.scope:
            env.bind(node.name, ClassObject(owner))
        inner = Environment(self.module, declaration.qualname, frozenset(), env if env.scope else None)
        for statement in node.body:
            if isinstance(statement, FunctionDefinition):
                self._define(statement, env, owner)
            elif isinstance(statement, ClassDefinition):
                self._class(statement, Environment(self.module, declaration.qualname, frozenset(), inner.outer))
            else:
                self._block((statement,), inner)

    # -- statements -------------------------------------------------------------------------

    def _block(self, body: Body, env: Environment) -> None:
        for statement in body:
            if env.dead:
                return
            self._statement(statement, env)

    def _statement(self, node: Statement, env: Environment) -> None:
        self.notes.point(node, env)
        match node:
            case Do():
                self._do(node, env)
            case Assign(targets=targets, value=value):
                self.notes.targets = frozenset(dotted(p) for t in targets for p in getattr(t, "items", (t,)))
                result = self._later(value, env)
                self.notes.targets = frozenset()
                mutable = env.may_be_mutable(value)
                if env.is_given:
                    note_answers(targets, value, env)
                if self.notes.loop_depth and counted_name(node) is not None:
                    result = counting(result)
                for target in targets:
                    self._assign(target, result, env, "assign")
                if mutable:
                    env.mutable_parts |= {name for target in targets for name in target_names(target)}
                if len(targets) == 1 and type(targets[0]) is Name and type(value) is Call:
                    self._note_arrays(targets[0].id, value, env)
            case Annotate():
                self._annotated(node, env)
            case Augment():
                self._augmented(node, env)
            case Return(value=returned):
                self.returned.append(Scalar("NoneType") if returned is None else self.deferral.later(returned, env))
                env.dead = True
            case Raise(error=error):
                if error is not None:
                    self.deferral.skim(error, env)
                env.dead = True
            case Jump():
                env.dead = True
            case Delete(target=target):
                self._delete(target, env)
            case Assert(test=test):
                self.deferral.skim(test, env)
                self.evaluator.narrow(test, env, True)
            case Importing(names=names):
                self._import(names, env)
            case _:
                self._compound(node, env)

    def _do(self, node: Do, env: Environment) -> None:
        """An expression that stands alone."""
        value, since = node.value, len(self.notes.events or ())
        has_parentheses = (node.at.lineno, node.at.col_offset) != (value.at.lineno, value.at.col_offset)
        if isinstance(value, Other) and value.kind in ("Yield", "YieldFrom") and value.parts:
            given = self.deferral.later(value.parts[0], env)
            if value.kind == "YieldFrom":
                self.yielded.append(Deferred(lambda: element_of(known(given)), (given,)))
            else:
                self.yielded.append(given)
        else:
            self.deferral.skim(value, env)
        for call in discarded(value):
            is_alone = call is value and not has_parentheses
            self.notes.discard(call, since, is_alone=is_alone, holders=lambda base: self.calls.holders(base, env))

    def _import(self, names: tuple[str, ...], env: Environment) -> None:
        """An import inside a function binds what the outline's scope says."""
        for root in (name.partition(".")[0] for name in names):
            if not env.scope:
                env.forget(root)
                env.values.pop(root, None)
                continue
            symbol = self.evaluator.model.resolver.resolve_name(root, self.module, env.scope)
            env.values[root] = self.evaluator.of_symbol(self.evaluator.model.resolver.follow(symbol))

    def _annotated(self, node: Annotate, env: Environment) -> None:
        result = self.evaluator.annotations.read(Placed(node.annotation, self.module, env.scope))
        if node.value is not None:
            value = self.evaluator.evaluate(node.value, env)
            if not isinstance(value, UnknownValue):
                result = value
        if node.value is not None or isinstance(node.target, Name):
            self._assign(node.target, result, env, "assign")

    def _augmented(self, node: Augment, env: Environment) -> None:
        right = self.evaluator.evaluate(node.value, env)
        left = self.evaluator.evaluate(node.target, env)
        op = node.op if node.op in ("+", "-", "*", "/", "**") else ""
        result = self.evaluator.binary(op, left, right, node.value)
        if isinstance(plain(left), Container):
            result = plain(left)
        self._assign(node.target, counting(result) if self.notes.loop_depth else result, env, "augment")

    def _note_arrays(self, name: str, call: Call, env: Environment) -> None:
        """Note which arrays a variable holds that was just given a new instance, unless others may assign it, too."""
        if name not in self.shared:
            for attr, array in self.calls.arrays_given(call, env if self.stores_items else None).items():
                env.bind(f"{name}.{attr}", array)

    def _later(self, value: Expr, env: Environment) -> Held:
        """The value that is assigned, unless a method binds its own `self`: then what happens is of interest."""
        method = self.notes.place.method if self.notes.place is not None else None
        if method is not None and method.self_name in self.notes.targets:
            return self.evaluator.evaluate(value, env)
        return self.deferral.later(value, env)

    def _assign(self, target: Expr, value: Held, env: Environment, how: str) -> None:
        match target:
            case Name(id=name):
                env.bind(name, of_any_library(known(value)) if name in self.shared else value)
                if not env.scope and self._bound_once(name) and isinstance(known(value), UnknownValue):
                    del env.values[name]  # what the module says of the name holds here too
            case Attribute(value=receiver_expr, attr=attr):
                receiver = self.evaluator.evaluate(receiver_expr, env)
                holders = self.calls.holders(receiver_expr, env) if isinstance(receiver, Instance) else ()
                self.notes.assign_attribute(target.at, receiver_expr, receiver, attr, how, value, env, holders)
                if isinstance(receiver_expr, (Attribute, Subscript)) or isinstance(receiver, FieldRead):
                    self.calls.mutate(target.at, receiver_expr, receiver, "attribute", value, env)
                path = dotted(target)
                if path is not None:
                    env.bind(path, value)
            case Display(items=items):
                parts = self._parts(value, items)
                inner = "unpack" if how == "assign" else how
                for item, part in zip(items, parts, strict=True):
                    self._assign(item, part, env, inner)
            case Starred(value=inner_target):
                self._assign(inner_target, value, env, how)
            case Subscript(value=held, index=index):
                self.deferral.skim(target, env)
                stored = "augment" if how == "augment" else "item"
                self.calls.assign_item(target, stored, env)
                self.calls.mutate(target.at, held, UNKNOWN, stored, value, env)
                if isinstance(held, Name):
                    self._set_item(held.id, index, value, env)
            case _:
                self.evaluator.evaluate(target, env)

    def _is_bound_again(self, name: str) -> bool:
        """Whether the module binds a name to one function, and to something that is none."""
        bindings = self.module.outline.module_scope.bindings.get(name, ())
        return len(bindings) > 1 and sum(isinstance(one, Definition) for one in bindings) == 1

    def _bound_once(self, name: str) -> bool:
        return len(self.module.outline.module_scope.bindings.get(name, ())) == 1

    def _set_item(self, name: str, index: Expr, value: Held, env: Environment) -> None:
        """`name[index] = value`: a dict whose keys are known gets one more, or is no longer known."""
        before = plain(env.get(name) or UNKNOWN)
        if not isinstance(before, Container):
            return
        entries = known_entries(before)
        if entries is not None and isinstance(index, Constant) and isinstance(index.value, str):
            set_contents(name, dict_of({**entries, index.value: known(value)}), env)
        else:
            parts = before.items if before.items is not None else (before.element,)
            set_contents(name, Container(before.kind, None, joined([*parts, plain(known(value))])), env)

    def _parts(self, value: Held, items: tuple[Expr, ...]) -> Sequence[Held]:
        """What each of some targets is assigned."""
        if not isinstance(value, Deferred):
            return self._unpacked(value, items)

        def part(index: int) -> Deferred:
            return Deferred(lambda: self._unpacked(value.value, items)[index], (value,))

        return [part(index) for index in range(len(items))]

    def _unpacked(self, value: Value, items: tuple[Expr, ...]) -> list[Value]:
        value = plain(value)
        if isinstance(value, Instance) and value.cls.framework.is_tuple:
            value = self.evaluator.fields_of(value)
        star = next((index for index, item in enumerate(items) if isinstance(item, Starred)), None)
        if isinstance(value, Container) and value.items is not None:
            held, rest = list(value.items), len(value.items) - len(items)
            if rest < -1 if star is not None else rest != 0:
                return [UNKNOWN] * len(items)  # it is something else: its annotation tells of another tuple
            if star is not None:
                held[star : star + rest + 1] = [Container("list", tuple(held[star : star + rest + 1]))]
            return held
        element = element_of(value)
        return [Container("list", None, element) if index == star else element for index in range(len(items))]

    def _delete(self, target: Expr, env: Environment) -> None:
        if isinstance(target, Attribute):
            receiver = self.evaluator.evaluate(target.value, env)
            self.notes.assign_attribute(target.at, target.value, receiver, target.attr, "delete", UNKNOWN, env)
        elif isinstance(target, Name):
            env.bind(target.id, UNKNOWN)
        elif isinstance(target, Subscript):
            self.calls.assign_item(target, "delete", env)
            self.calls.mutate(target.at, target.value, UNKNOWN, "delete", UNKNOWN, env)
            name = dotted(target.value) or ""
            before = plain(env.get(name) or UNKNOWN)
            if isinstance(before, Container):
                set_contents(name, Container(before.kind, None, before.element), env)
        elif isinstance(target, Display):
            for item in target.items:
                self._delete(item, env)
