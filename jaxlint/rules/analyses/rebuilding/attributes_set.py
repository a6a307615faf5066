"""Which attributes a handwritten constructor sets on each way through it."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import TypeGuard

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import Field, Kind, PytreeClass, truth
from jaxlint.rules.analyses.bodies.ending import is_end
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, Unary, children, dotted
from jaxlint.syntax.statements import (
    Body,
    Do,
    For,
    FunctionDefinition,
    If,
    Match,
    Return,
    Statement,
    While,
    blocks,
    bound_by,
    expressions,
    own_parts,
    parts,
    walk,
)


def sees_all(init: Function, base: PytreeClass) -> bool:
    """Whether an `__init__` of another class only assigns attributes, and calls no other `__init__`, and no method."""
    row = init.at.row
    unit = next((u for u in base.module.outline.units if u.first <= row <= u.last), None)
    if unit is None or init.self_calls:
        return False
    piece = next((p for p in unit.pieces if p.first <= row <= p.last and p.kind == "function"), unit)
    return piece.calls.isdisjoint({"super", "setattr", "__setattr__", "__init__", "vars", "update"})


def _is_base_constructor(expr: Expr) -> TypeGuard[Call]:
    """Whether an expression is a call of `super().__init__`."""
    match expr:
        case Call(func=Attribute(value=Call(func=Name(id="super"), args=()), attr="__init__")):
            return True
    return False


def _fields_of_bases(cls: PytreeClass) -> set[str] | None:
    """The fields that the constructor of the bases sets; None if it may set others, those of the class among them."""
    inherited = {field.name for base in cls.mro[1:] for field in base.fields}  # the class may declare one again
    for base in cls.mro[1:]:
        found = base.symbol.declaration.methods
        if "__post_init__" in found:
            return None
        if "__init__" in found:
            method = base.method("__init__")
            if method is None or not sees_all(method[1], base):
                return None
            return inherited | {assignment.attr for assignment in method[1].self_assignments}
    return inherited


def escapes(body: Body, own: str) -> bool:
    """Whether `self` is used as anything but the owner of an attribute, or attributes are set by name."""
    for statement in walk(body):
        for expr in expressions(statement):
            stack = [argument.value for argument in expr.args] if _is_base_constructor(expr) else [expr]
            while stack:
                current = stack.pop()
                if isinstance(current, Name) and current.id in (own, "super"):
                    return True
                if isinstance(current, Attribute) and isinstance(current.value, Name) and current.value.id == own:
                    if current.attr in ("__dict__", "__init__", "__setattr__"):
                        return True
                    continue
                stack.extend(children(current))
    return False


class Ways:
    """What a body sets on each way through it, and the methods of the instance that it calls."""

    def __init__(self, own: str, function: Function, cls: PytreeClass, evaluator: Evaluator) -> None:
        self.own = own
        #: The function that is read: the constructor, or a method that it calls.
        self._function = FunctionSymbol(cls.module, function)
        self._cls = cls
        self._evaluator = evaluator
        self.methods = {name for c in cls.mro for name in c.symbol.declaration.methods}
        #: In how many places an attribute is set; the branches of an `if` with an `else` are one, as one is taken.
        self.anywhere: dict[str, int] = {}
        #: What one branch of an `if` does not set and another one does.
        self.missing: list[set[str]] = []
        #: Whether something is called, or handed on, that may set anything.
        self.hidden = False
        #: The methods that are being followed.
        self._inside: list[str] = []
        #: What is set where the constructor returns before its end.
        self._returns: list[set[str]] = []

    def to_all_ends(self, body: Body) -> set[str] | None:
        """What is certainly set wherever the constructor ends; None if that is nowhere."""
        last = self.through(body)
        ends = self._returns + ([] if last is None else [last])
        self._part(ends)
        return set.intersection(*ends) if ends else None

    def _part(self, ways: list[set[str]]) -> None:
        """Keep in mind what each of several ways leaves out that another one sets."""
        self.missing.extend(set[str]().union(*ways) - one for one in ways)

    def through(self, body: Body, before: Set[str] = frozenset()) -> set[str] | None:
        """What is certainly set when the end of a body is reached; None if it is not reached."""
        done = set(before)
        for statement in body:
            done |= self._set_by_methods(statement) | self._set_by_bases(statement)
            if isinstance(statement, Return):
                self.hidden |= bool(self._inside)  # an early end of a method is not followed
                self._returns.append(done)
                return None
            if self._is_end(statement):
                return None
            done |= self._set_by(statement)
            if isinstance(statement, (If, Match)):
                reached = self._branches(statement, done)
                if not reached:
                    return None
                self._part(reached)
                done |= set.intersection(*reached)
            elif isinstance(statement, FunctionDefinition):
                inside = (part for inner in walk(statement.body) for part in own_parts(inner))
                self.hidden |= any(isinstance(part, Name) and part.id == self.own for part in inside)
            else:
                returned = len(self._returns)
                for inner in blocks(statement):
                    done |= self.through(inner, done) or set()
                if isinstance(statement, (For, While)):  # one of its turns may take any branch, and leave it then
                    done |= {name for inner in walk(statement.body) for name in self._bound_by(inner)}
                self.hidden |= len(self._returns) > returned  # an early end of a loop, or below a `with`
        return done

    def _is_end(self, statement: Statement) -> bool:
        """Whether nothing behind a statement runs, as it raises, or calls what does."""
        module, function = self._function.module, self._function.declaration
        return is_end(statement, module, function.inner_scope, self._evaluator, self._cls)

    def _branches(self, statement: If | Match, done: Set[str]) -> list[set[str]]:
        """What is set behind each branch that goes on; of cases, one is taken to match."""
        counted = dict(self.anywhere)
        outcomes = [self.through(inner, done) for inner in self._taken(statement)]
        if isinstance(statement, Match) or statement.orelse:
            self.anywhere = {n: min(count, counted.get(n, 0) + 1) for n, count in self.anywhere.items()}
        return [outcome for outcome in outcomes if outcome is not None]

    def _taken(self, statement: If | Match) -> tuple[Body, ...]:
        """The branches that may be taken; a field that keeps its default decides for all instances."""
        if isinstance(statement, Match):
            return blocks(statement)
        taken: list[Body] = []
        for test, block in statement.branches:
            outcome = self._decided(test)
            self.hidden |= outcome is None and any(map(self._keeping_default, parts(test)))  # always the same
            taken += [block] if outcome is not False else []
            if outcome:
                return tuple(taken)
        return (*taken, statement.orelse)

    def _decided(self, test: Expr) -> bool | None:
        """What a test says of a field that nothing but the class gives a value."""
        if isinstance(test, Unary) and test.op == "not":
            outcome = self._decided(test.operand)
            return None if outcome is None else not outcome
        return truth(field.default, None) if (field := self._keeping_default(test)) is not None else None

    def _keeping_default(self, expr: Expr) -> Field | None:
        """The field of the instance that is read, if nothing but the class gives it a value."""
        if not isinstance(expr, Attribute) or dotted(expr.value) != self.own or expr.attr in self._cls.assigned:
            return None
        field = self._cls.field(expr.attr)
        return field if field is not None and field.kind is Kind.FIELD and field.default is not None else None

    def unset_with(self, name: str) -> set[str]:
        """What is not set only where the attribute `name` is not set, either."""
        together = {other for missing in self.missing if name in missing for other in missing}
        return together.difference(*(missing for missing in self.missing if name not in missing))

    def _set_by(self, statement: Statement) -> set[str]:
        found = self._bound_by(statement)
        for name in found:
            self.anywhere[name] = self.anywhere.get(name, 0) + 1
        return found

    def _bound_by(self, statement: Statement) -> set[str]:
        return {name for target in bound_by(statement) for name in self._attributes(target)}

    def _attributes(self, target: Expr) -> Iterator[str]:
        if isinstance(target, Attribute):
            if isinstance(target.value, Name) and target.value.id == self.own:
                yield target.attr
            return
        for part in children(target):
            yield from self._attributes(part)

    def _set_by_bases(self, statement: Statement) -> set[str]:
        """What the constructor of the bases sets that a statement calls, in the constructor itself."""
        if not any(_is_base_constructor(part) for part in own_parts(statement)):
            return set()
        alone = isinstance(statement, Do) and _is_base_constructor(statement.value) and not self._inside
        found = _fields_of_bases(self._cls) if alone else None
        self.hidden |= found is None
        return found or set()

    def _set_by_methods(self, statement: Statement) -> set[str]:
        """What the methods of the instance set that a statement calls; those that are handed on may set anything."""
        done: set[str] = set()
        always = getattr(statement, "value", None)
        called = {id(part.func): part for part in own_parts(statement) if isinstance(part, Call)}
        for part in own_parts(statement):
            if isinstance(part, Attribute) and isinstance(part.value, Name) and part.value.id == self.own:
                call = called.get(id(part))
                found = self._followed(part.attr) if call is not None else None
                if part.attr in self.methods:
                    self.hidden |= found is None or bool(found and call is not always)
                    done |= found or set()
        return done

    def _followed(self, name: str) -> set[str] | None:
        """What is certainly set once a method has returned; None if that cannot be seen."""
        found = self._cls.method(name)
        if found is not None and _takes_no_instance(found[1]):
            return set()  # nor is it given the instance: a body that hands `self` on is not read at all
        if found is None or found[1].decorators or found[1].is_generator or found[1].is_async or name in self._inside:
            return None
        owner, function = found
        symbol = FunctionSymbol(owner.module, function)
        body, own = self._evaluator.calls.body_of(symbol), function.self_name
        if body is None or own is None or escapes(body, own):
            return None
        if not function.self_assignments and not function.self_calls:
            return set()
        around, self.own, self._function = (self.own, self._function), own, symbol
        self._inside.append(name)
        result = body[-1] if isinstance(body[-1], Return) else None
        last = self._set_by_methods(result) if result is not None else set[str]()
        done = self.through(body if result is None else body[:-1])
        self.own, self._function = around
        self._inside.pop()
        return None if done is None else done | last


def _takes_no_instance(function: Function) -> bool:
    """Whether a method is a static one."""
    return len(function.decorators) == 1 and dotted(function.decorators[0]) == "staticmethod"
