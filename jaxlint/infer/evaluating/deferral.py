"""Which expressions are evaluated where they stand, and which only when somebody asks for their value.

An expression is eventful if something may happen in it that a rule wants to know, or that changes what is known of
variables; it is evaluated at once. All others are uneventful.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jaxlint.infer.known.deferred import Deferred, Held, known
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.values import Container, Value, known_entries
from jaxlint.symbols.outline import EXPECTS_ERROR, MUTATING
from jaxlint.syntax.expressions import CHILDREN, Attribute, Call, Constant, Expr, Lambda, Name, NamedExpr, dotted

if TYPE_CHECKING:
    from jaxlint.infer.evaluating.evaluate import Evaluator
    from jaxlint.infer.evaluating.notes import Notes

#: Methods that change a container, so that less is known of it, and calls that are meant to fail.
_ALWAYS_EVENTFUL = MUTATING | EXPECTS_ERROR | {"__iadd__"}
#: Functions that leave the dicts alone that they are given.
_READERS = frozenset({"dict", "len", "print", "sorted", "list"})


class Deferral:
    """Evaluates expressions now or later."""

    def __init__(self, evaluator: Evaluator, notes: Notes) -> None:
        self.evaluator = evaluator
        self.notes = notes
        #: Whether the call of a name is eventful in the module being read.
        self.is_eventful: Callable[[str], bool] = lambda name: True
        self._eventful: dict[str, bool] = {}
        #: The functions that are eventful where they are handed on: somebody may call them.
        self._handed_on: frozenset[str] = frozenset()

    def start(self, is_eventful: Callable[[str], bool], handed_on: frozenset[str] = frozenset()) -> None:
        """Begin with a module in which these names are eventful where they are called, or handed on to a function."""
        self.is_eventful = is_eventful
        self._eventful = {}
        self._handed_on = handed_on

    def later(self, expr: Expr, env: Environment) -> Held:
        """The value of an expression, which may be found out later."""
        match expr:
            case Name(id=name):
                held = env.values.get(name)
                return self.evaluator.evaluate(expr, env) if held is None else held
            case Constant() | Lambda():
                return self.evaluator.evaluate(expr, env)
        uneventful = self._uneventful_parts(expr, env)
        if uneventful is None:
            return self.evaluator.evaluate(expr, env)
        calls, names = uneventful
        then, place, reader = env.part(names), self.notes.place, self.notes.reader
        tells_calls = self.notes.tells_calls
        needed = tuple(then.values.values())

        def find() -> Value:
            with self.notes.elsewhere(place, reader, tells_calls=tells_calls):
                return self.evaluator.evaluate(expr, then)

        for call in calls:
            forget_passed(call, env)
        return Deferred(find, needed)

    def skim(self, expr: Expr, env: Environment) -> None:
        """Evaluate an expression whose value nobody wants."""
        uneventful = self._uneventful_parts(expr, env)
        if uneventful is None:
            self.evaluator.evaluate(expr, env)
        else:
            for call in uneventful[0]:
                forget_passed(call, env)

    def _uneventful_parts(self, expr: Expr, env: Environment) -> tuple[list[Call], list[str]] | None:
        """The calls and the names in an expression; None if one of its parts is eventful."""
        calls: list[Call] = []
        names: list[str] = []
        pending = [expr]
        for current in pending:  # which grows meanwhile
            kind = type(current)
            while kind is Attribute:
                current = current.value  # type: ignore[union-attr]
                kind = type(current)
            if kind is Name:
                names.append(current.id)  # type: ignore[union-attr]
                continue
            if kind is Constant:
                continue
            if kind is Call:
                if self._may_note_events(current, env):  # type: ignore[arg-type]
                    return None
                calls.append(current)  # type: ignore[arg-type]
            elif kind is NamedExpr:
                return None
            if kind in CHILDREN:
                pending += CHILDREN[kind](current)
        return calls, names

    def _may_note_events(self, call: Call, env: Environment) -> bool:
        func = call.func
        if type(func) is Name:
            name = func.id
            if env.is_variable(name):
                return True
        elif type(func) is Attribute:
            name = func.attr
        else:
            name = ""
        if name in _ALWAYS_EVENTFUL:
            return True
        if self.notes.events is None:
            return False
        for argument in call.args if self._handed_on else ():
            if type(argument.value) is Name and argument.value.id in self._handed_on:
                return True
        eventful = self._eventful.get(name)
        if eventful is None:
            eventful = self._eventful[name] = self.is_eventful(name)
        return eventful


def forget_passed(call: Call, env: Environment) -> None:
    """A call may change the attributes, and the keys, of what it is given."""
    for arg in call.args:
        if type(arg.value) is Name and not arg.star:
            held = env.values.get(arg.value.id)
            if held is None:
                continue
            if isinstance(held, Deferred) and held.is_open:
                if dotted(call.func) not in _READERS:
                    env.values[arg.value.id] = _with_unknown_keys(held)
            elif known_entries(known(held)) and dotted(call.func) not in _READERS:
                env.values[arg.value.id] = Container("dict")
    if not env.roots:
        return
    for expr in (call.func, *(a.value for a in call.args)):
        path = dotted(expr)
        if path is not None:
            env.forget(path.partition(".")[0])


def _with_unknown_keys(held: Deferred) -> Deferred:
    def find() -> Value:
        return Container("dict") if known_entries(held.value) else held.value

    return Deferred(find, (held,))
