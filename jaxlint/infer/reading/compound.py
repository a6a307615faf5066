"""Reading compound statements: branches, loops, `with`, `try` and `match`."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from jaxlint.infer.bodies.declarations import Declarations
from jaxlint.infer.bodies.expecting import expects_error, names_of_errors, suppresses_unrelated
from jaxlint.infer.calls.calls import CallEvaluator
from jaxlint.infer.evaluating.closures import Closure
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Event
from jaxlint.infer.evaluating.notes import TRIED
from jaxlint.infer.known.counting import counted_names, settled, swept
from jaxlint.infer.known.deferred import Deferred, Held
from jaxlint.infer.known.environment import Environment, merge
from jaxlint.infer.known.values import (
    UNKNOWN,
    ClassObject,
    Instance,
    Scalar,
    Symbolic,
    UnknownValue,
    Value,
    as_instance,
    element_of,
    is_informative,
    plain,
)
from jaxlint.infer.reading.at_each_call import always_run, at_each_call, changed_in
from jaxlint.libraries.updates import COPY_AND_MUTATE
from jaxlint.project.modules import Module
from jaxlint.project.resolution import External
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import names_by_position
from jaxlint.syntax.expressions import Attribute, Call, Constant, Expr, Name, Unary, dotted, last_name
from jaxlint.syntax.statements import (
    Body,
    Capture,
    ClassDefinition,
    Compound,
    For,
    FunctionDefinition,
    Handler,
    If,
    Jump,
    Match,
    Outer,
    Raise,
    Try,
    While,
    With,
    all_parts,
    assert_never,
    assigned_names,
    only_tries,
    target_names,
    walk,
)

_MAX_LOOPS_READ_TWICE = 3


class CompoundStatements:
    """Reads compound statements; a reader of units does."""

    def __init__(self, evaluator: Evaluator, calls: CallEvaluator, module: Module, declarations: Declarations) -> None:
        self.evaluator = evaluator
        self.calls = calls
        self.deferral = calls.deferral
        self.notes = calls.notes
        self.module = module
        self.declarations = declarations
        self.shared = calls.shared_variables(module)
        self.deferred: list[Closure] = []
        self.returned: list[Held] = []
        self.yielded: list[Held] = []
        self.muted_loops = 0
        #: Whether items are assigned in the unit, so that it matters which arrays are in an instance.
        self.stores_items = False

    def _define(self, node: FunctionDefinition, env: Environment, owner: PytreeClass | None) -> None:
        raise NotImplementedError

    def _class(self, node: ClassDefinition, env: Environment) -> None:
        raise NotImplementedError

    def _assign(self, target: Expr, value: Held, env: Environment, how: str) -> None:
        raise NotImplementedError

    def _block(self, body: Body, env: Environment) -> None:
        raise NotImplementedError

    def _compound(self, node: Compound | Outer, env: Environment) -> None:
        match node:
            case FunctionDefinition():
                self._define(node, env, None)
            case ClassDefinition():
                self._class(node, env)
            case If():
                self._if(node, env)
            case For(target=target, iterable=iterable):
                element = swept(_element(self.deferral.later(iterable, env)))
                _count_to(iterable, env)
                mutable = frozenset(target_names(target)) if env.may_be_mutable(iterable) else frozenset[str]()
                self._loop(node, env, target, element, mutable)
                self._block(node.orelse, env)
            case While(test=test, body=body):
                self._loop(node, env, None, UNKNOWN)
                if _asks_for_class(test) and not any(isinstance(s, Jump) for s in walk(body, nested=False)):
                    self.evaluator.narrow(test, env, False)
                self._block(node.orelse, env)
            case With():
                self._with(node, env)
            case Try():
                self._try(node, env)
            case Match():
                self._match(node, env)
            case Outer():
                pass
            case _:
                assert_never(node)

    def _if(self, node: If, env: Environment) -> None:
        """An if statement with its chain of elif: every branch starts where the tests before it failed."""
        ends: list[Environment] = []
        no = env
        for test, body in node.branches:
            if last_name(test) == "TYPE_CHECKING" or (isinstance(test, Constant) and not test.value):
                continue  # never runs
            self.deferral.skim(test, no)
            yes, no = no.copy(), no.copy()
            self.evaluator.narrow(test, yes, True)
            self.evaluator.narrow(test, no, False)
            self._block(body, yes)
            ends.append(yes)
        self._block(node.orelse, no)
        ends.append(no)
        merged = merge(ends)
        merged.dead = all(e.dead for e in ends)
        env.become(merged)

    def _loop(
        self,
        node: For | While,
        env: Environment,
        target: Expr | None,
        element: Held,
        mutable: frozenset[str] = frozenset(),
    ) -> None:
        """A loop; some variables of the target may hold parts of a mutable copy."""
        body, test = node.body, node.test if isinstance(node, While) else None

        def turn(start: Environment) -> Environment:
            inner = start.copy()
            if target is not None:
                self._assign(target, element, inner, "loop")
                inner.mutable_parts |= mutable
            if test is not None:
                self.notes.point(node, inner)
                self.deferral.skim(test, inner)
                self.evaluator.narrow(test, inner, True)
            self._block(body, inner)
            inner.dead = False
            return inner

        first: list[Event] = []
        self.notes.loop_depth += 1
        try:
            if self.muted_loops < _MAX_LOOPS_READ_TWICE:
                self.muted_loops += 1
                returned, yielded = list(self.returned), list(self.yielded)
                with self.notes.muted(), self.notes.first_turn():
                    before = merge([env, turn(env)])
                if self.notes.events is not None and self._loses(body, env, before):
                    first = self._of_first_turn(turn, env, body)
                self.returned, self.yielded = returned, yielded
                self.muted_loops -= 1
            else:
                before = env.copy()
                for name in assigned_names(body):
                    before.bind(name, UNKNOWN)
            since = len(self.notes.events or ())
            after = turn(before)
            if first and self.notes.events is not None:
                noted = {id(event.at) for event in self.notes.events[since:]}
                self.notes.events[since:since] = [event for event in first if id(event.at) not in noted]
        finally:
            self.notes.loop_depth -= 1
        env.become(merge([before, after]))
        for name in counted_names(body):
            held = env.values.get(name)
            if held is not None:
                env.values[name] = settled(held)

    def _loses(self, body: Body, env: Environment, before: Environment) -> bool:
        """Whether of an instance nothing is known any more once a body has run, or nothing of what its leaves hold.

        That is `state = step(state)`, and `params = jax.tree.map(move, params, gradients)`.
        """
        carried = {name: env.get(name) or UNKNOWN for name in assigned_names(body) if name in env.values}
        for name, value in carried.items():
            later = before.get(name)
            if is_informative(value) and (isinstance(later, UnknownValue) or _is_remade(value, later)):
                return True
        return False

    def _of_first_turn(self, turn: Callable[[Environment], Environment], env: Environment, body: Body) -> list[Event]:
        """What happens in the first turn of a loop, whatever all of its turns have in common."""
        events, self.notes.events = self.notes.events, []
        try:
            with self.notes.first_turn():
                turn(env)
            return at_each_call(self.notes.events, body)
        finally:
            self.notes.events = events

    def _on_some_way(self, body: Body) -> None:
        """Note what happens at each call to what a variable holds if it came there on one of several ways."""
        place = self.notes.place
        if place is None or not self.notes.possible:
            return
        self.notes.place = replace(place, is_one_way=True)
        for statement in always_run(body):
            changed, point = changed_in(statement), self.notes.points.get(id(statement))
            value = self.notes.possible.get(id(changed))
            if changed is not None and point is not None and value is not None and (path := dotted(changed)):
                env = point.env.copy()
                env.bind(path, value)
                self._block((statement,), env)
        self.notes.place = place

    def _with(self, node: With, env: Environment) -> None:
        fails = any(expects_error(expr) or self.calls.swallows(expr, env) for expr, _ in node.items)
        unlocked: frozenset[str] = frozenset()
        for expr, target in node.items:
            self.deferral.skim(expr, env)
            entered: Value = UNKNOWN
            copied = None
            if isinstance(expr, Call):
                copied = self._copied(expr, env)
                if copied is not None:
                    entered = copied
                else:
                    unlocked |= self._handed_over(expr, env)
            if target is not None:
                if copied is None:
                    entered = self.calls.entered(expr, env)
                self._assign(target, entered, env, "with")
                if copied is not None and isinstance(target, Name):
                    unlocked |= {target.id}
        outer = env.mutable_copies
        env.mutable_copies |= unlocked
        outside = self.notes.runs_untransformed
        self.notes.runs_untransformed = outside or _disables_jit(node)
        before = env.copy() if any(suppresses_unrelated(expr) for expr, _ in node.items) else None
        self._block_expecting(node.body, env, frozenset({"Exception", TRIED}) if fails else frozenset())
        if before is not None:  # the body may have ended anywhere
            env.become(merge([before, env.copy()]))
            env.dead = False
        self.notes.runs_untransformed = outside
        env.mutable_copies -= unlocked - outer
        if not outer:
            env.mutable_parts = frozenset()

    def _copied(self, call: Call, env: Environment) -> Instance | None:
        """The instance that `with copy_and_mutate(x) as y` makes mutable."""
        func = plain(self.evaluator.evaluate(call.func, env))
        if isinstance(func, Symbolic) and isinstance(func.symbol, External):
            if func.symbol.name == COPY_AND_MUTATE and call.positional:
                with self.notes.muted():
                    return as_instance(self.evaluator.evaluate(call.positional[0], env))
        return None

    def _handed_over(self, call: Call, env: Environment) -> frozenset[str]:
        """The variables that a context manager of the user's gets hold of; it may make their instances mutable."""
        func = plain(self.evaluator.evaluate(call.func, env))
        if isinstance(func, (Symbolic, ClassObject)):
            return frozenset()
        receiver = call.func.value if isinstance(call.func, Attribute) else call.func
        paths = [dotted(expr) for expr in (receiver, *(a.value for a in call.args))]
        return frozenset(path.partition(".")[0] for path in paths if path is not None)

    def _block_expecting(self, body: Body, env: Environment, expected: frozenset[str]) -> None:
        """Read a block; events that raise one of the expected errors are not reported."""
        outer, self.notes.expected = self.notes.expected, self.notes.expected | expected
        try:
            self._block(body, env)
        finally:
            self.notes.expected = outer
        if expected:
            env.dead = False

    def _try(self, node: Try, env: Environment) -> None:
        expected = frozenset(name for h in node.handlers for name in _swallowed(h))
        if node.handlers and only_tries(node.body):
            expected |= {TRIED}
        start = env.copy()
        body = env.copy()
        self._block_expecting(node.body, body, expected)
        middle = merge([start, body])
        middle.dead = False
        ends: list[Environment] = []
        for handler in node.handlers:
            branch = middle.copy()
            if handler.name is not None:
                branch.bind(handler.name, UNKNOWN)
            for name in _mistaken(handler, node.body):
                branch.bind(name, UNKNOWN)
            self._block(handler.body, branch)
            ends.append(branch)
        self._block(node.orelse, body)
        ends.insert(0, body)
        merged = merge(ends)
        merged.dead = all(e.dead for e in ends)
        env.become(merged)
        dead, env.dead = env.dead, False
        self._block(node.final, env)
        env.dead = env.dead or dead

    def _match(self, node: Match, env: Environment) -> None:
        subject = dotted(node.subject)
        value = self.evaluator.evaluate(node.subject, env)
        if env.is_given and subject is None:
            self.evaluator.doubt_asked(node.subject, env)
        ends = [env.copy()]
        rest = env.copy()
        for case in node.cases:
            branch = rest.copy()
            for name in case.captured:
                branch.bind(name, UNKNOWN)
            if subject is not None and subject in branch.values:
                if case.cls is not None:
                    cls = self.evaluator.evaluate(case.cls, branch)
                    before = as_instance(branch.get(subject) or UNKNOWN)
                    if before is not None and isinstance(cls, ClassObject) and cls.cls in before.cls.mro:
                        rest.values[subject] = UNKNOWN  # the cases below see it only if this one does not match
                    branch.values[subject] = Instance(cls.cls) if isinstance(cls, ClassObject) else UNKNOWN
                elif case.whole is not None:
                    branch.bind(case.whole, branch.values[subject])
                elif not case.always:
                    branch.values[subject] = UNKNOWN
            elif case.whole is not None:
                branch.bind(case.whole, value)
            for capture in case.captures:
                branch.bind(capture.name, self._captured(capture, branch))
            if case.guard is not None:
                self.evaluator.evaluate(case.guard, branch)
            self._block(case.body, branch)
            ends.append(branch)
        env.become(merge(ends))

    def _captured(self, capture: Capture, env: Environment) -> Value:
        """What a class pattern binds a name to."""
        cls = self.evaluator.evaluate(capture.cls, env)
        if not isinstance(cls, ClassObject):
            return UNKNOWN
        part = capture.part
        if isinstance(part, int):
            part = self._positional_field(cls.cls, part)
            if part is None:
                return UNKNOWN
        matched = Instance(cls.cls, refilled=True)  # whoever has made it
        return matched if part is None else self.evaluator.attribute_of(matched, part)

    def _positional_field(self, cls: PytreeClass, index: int) -> str | None:
        """The field that a class pattern means by its position, if the class does not say so itself."""
        own = any(a.name == "__match_args__" for c in cls.mro for a in c.symbol.declaration.assignments)
        parameters = cls.constructor()
        if own or parameters is None or cls.custom_init() is not None:
            return None
        names = [name for name in names_by_position(parameters) if cls.field(name) is not None]
        return names[index] if index < len(names) else None


def _is_remade(value: Value, later: Value | None) -> bool:
    """Whether the leaves of an instance may be others later."""
    if not isinstance(value, Instance) or not isinstance(later, Instance):
        return False
    return later.is_other_tree and not value.is_other_tree


def _asks_for_class(test: Expr) -> bool:
    """Whether a test is `not isinstance(...)`: behind a loop that goes on as long as it holds, that is an instance."""
    match test:
        case Unary(op="not", operand=Call(func=Name(id="isinstance"))):
            return True
    return False


def _element(held: Held) -> Held:
    """What iterating over a value yields."""
    return Deferred(lambda: element_of(held.value), (held,)) if isinstance(held, Deferred) else element_of(held)


def _disables_jit(node: With) -> bool:
    """Whether `with jax.disable_jit():` lets the calls of compiled functions inside run like any others."""
    return any(
        isinstance(expr, Call) and last_name(expr.func) == "disable_jit" and not expr.args for expr, _ in node.items
    )


def _mistaken(handler: Handler, body: Body) -> set[str]:
    """The variables that are not what they seem where a handler runs: they lack what `body` asks them for."""
    if "AttributeError" not in names_of_errors(handler):
        return set()
    asked = (part.value for part in all_parts(body) if isinstance(part, Attribute))
    return {held.id for held in asked if isinstance(held, Name)}


def _swallowed(handler: Handler) -> list[str]:
    """The names of the errors that a handler swallows."""
    if any(isinstance(statement, Raise) for statement in handler.body):
        return []
    return ["Exception"] if handler.error is None else names_of_errors(handler)


def _count_to(iterable: Expr, env: Environment) -> None:
    """Note that the variables are integers, as a loop counts up to them: `for i in range(steps)`."""
    match iterable:
        case Call(func=Name(id="range"), args=args):
            for argument in args:
                name = argument.value.id if isinstance(argument.value, Name) else ""
                if isinstance(env.values.get(name), UnknownValue):
                    env.values[name] = Scalar("int")
