"""JAX314 uninitialised-field."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import TypeGuard

from jaxlint.cst.changes import BeginBody, Proposal
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, CodeRead
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.frameworks.equinox import RAISES_TYPE_ERROR, REFUSES_AS_FROZEN
from jaxlint.pytrees.model import Field, Kind, PytreeClass, truth
from jaxlint.rules.analyses.fixes.new_fields import declaring
from jaxlint.rules.base import BodyRule, ClassRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Constant, Expr, Name, Unary, children, dotted
from jaxlint.syntax.statements import (
    Body,
    Do,
    FunctionDefinition,
    If,
    Jump,
    Match,
    Raise,
    Return,
    Statement,
    blocks,
    bound_by,
    expressions,
    own_parts,
    parts,
    walk,
)

#: Where so many statements set an attribute, the branches that they stand on may belong together.
_MANY = 2


class UninitialisedField(ClassRule, BodyRule):
    """
    ## What it does

    Finds fields of equinox and penzai classes that a handwritten `__init__` leaves unset: at all, on one branch of an
    `if`, because it does not call that of the base class, or because a subclass has fields that the inherited
    `__init__` does not know; also attributes of equinox modules that it sets though they are no fields.

    ## Why is this bad?

    A class that writes its own `__init__` sets all fields itself. equinox and penzai look whether it did once it has
    returned, and refuse the instance.

    ## What you will see

    `TypeError: Field 'bias' was not initialized.` with equinox, `AttributeError: A value for field "bias" was not set
    during __init__!` with penzai, when an instance is made. For what is no field, `FrozenInstanceError: cannot assign
    to field 'scale'`.

    ## Example

    ```python
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    class Linear(eqx.Module):
        weight: jax.Array
        bias: jax.Array

        def __init__(self, size: int) -> None:
            self.weight = jnp.ones((size, size))
    ```

    ## Use instead

    ```python
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    class Linear(eqx.Module):
        weight: jax.Array
        bias: jax.Array

        def __init__(self, size: int) -> None:
            self.weight = jnp.ones((size, size))
            self.bias = jnp.zeros(size)
    ```

    ## Frameworks

    equinox and penzai. Other frameworks say nothing when an instance is made; there the attribute is missing when it is
    read or flattened, and nothing is reported.

    ## Fix safety

    A fix that declares what `__init__` sets is shown, and not applied; so is one that begins with None in what it
    forgets, for something else may be meant to be there.

    ## When not to use it

    A class whose subclasses set the rest is left alone, and so is an `__init__` that hands `self` to a function or sets
    attributes by name, as what it sets cannot be seen. The methods of the class that it calls are followed, and
    `super().__init__` where that only assigns attributes.

    ## References

    - [equinox.Module](https://docs.kidger.site/equinox/api/module/module/)
    - [equinox #95](https://github.com/patrick-kidger/equinox/issues/95)
    """

    code = "JAX314"
    name = "uninitialised-field"
    group = "construction"
    since = "0.1.0"

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Constructors that leave all to others, or forget it; those that assign to `self` are read anyway."""
        inits = [f for f in candidate.functions if f.name == "__init__" and not f.self_assignments]
        return any(f.owner is not None and _has_checked_fields(candidate.cls(f.owner)) for f in inits)

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the fields that a subclass adds to a base class with a handwritten `__init__`."""
        declaration = cls.symbol.declaration
        if not _is_checked(cls) or not cls.framework.checks_fields or not declaration.fields or cls.generated_init:
            return
        if {"__init__", "__post_init__"} & set(declaration.methods) or evaluator.model.subclasses(cls):
            return
        found = cls.method("__init__")
        if found is None or found[0] is cls or not found[0].bases_known:
            return
        base, init = found
        if not _sees_all(init, base):
            return
        assigned = {a.attr for a in init.self_assignments}
        for field in _required(cls):
            if field.owner == cls.symbol and field.name not in assigned:
                yield Problem(
                    at=field.at,
                    message=(
                        f"field `{field.name}` of `{cls.name}` is never set: the `__init__` that is inherited from"
                        f" `{base.name}` does not know it ({_error(cls, evaluator)}); write an `__init__` here, too"
                    ),
                    reason="a module that inherits a handwritten `__init__` is given no other",
                    help="write an `__init__` that calls `super().__init__` and sets the fields that are added",
                )

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a handwritten `__init__` sets on each of its ways."""
        cls, function = code.place.owner, code.function
        if cls is not None and cls.framework.checks_fields:
            yield from _undeclared(cls, code, evaluator)
        if cls is None or function is None or function.name != "__init__" or not function.owner:
            return
        if function.owner != cls.symbol.declaration.qualname or not _is_checked(cls) or function.decorators:
            return
        if cls.framework.refuses_undecorated and cls.registered is not True:
            return
        if code.place.subclasses(cls):
            return  # they may set the rest
        own = function.self_name
        if own is None or _escapes(code.body, own) or all(map(_is_said, code.body)):
            return
        ways = _Ways(own, cls, evaluator)
        always = ways.to_all_ends(code.body)
        if always is None or ways.hidden:
            return
        variables = code.contents.bound  # `bias = ...` for `self.bias = ...`: JAX405 is about those
        missing = [f for f in _required(cls) if f.name not in always and f.name not in variables]
        never = [f for f in missing if f.name not in ways.anywhere]
        if never:
            yield _problem(cls, function, never, evaluator, somewhere=False)
        said = {f.name for f in never}
        for field in missing:
            if ways.anywhere.get(field.name, 0) < _MANY and field.name not in said:
                missed = [f for f in missing if f is field or f.name in ways.unset_with(field.name)]
                said.update(f.name for f in missed)
                yield _problem(cls, function, missed, evaluator, somewhere=True)


def _has_checked_fields(cls: PytreeClass) -> bool:
    """Whether the framework looks for all fields once an instance is made."""
    return cls.framework.wants_all_fields


def _is_checked(cls: PytreeClass) -> bool:
    """Whether instances of the class are made, and refused if a field is missing."""
    if not _has_checked_fields(cls) or cls.unknown_decorator or not cls.bases_known:
        return False
    declarations = [c.symbol.declaration for c in cls.mro]
    strange = any({"__new__", "__getattr__", "__getattribute__"} & set(d.methods) for d in declarations)
    return not strange and not any(d.conditional_body for d in declarations) and not cls.abstract_methods


def _undeclared(cls: PytreeClass, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
    """The attributes that the constructor of a module sets, and that no class declares as fields."""
    if code.function is None or code.function.name not in ("__init__", "__post_init__"):
        return
    family = evaluator.model.family(cls)
    if not all(_is_checked(one) and one.fields_known for one in family):
        return
    scopes = [one.module.outline.scopes.get(one.symbol.declaration.qualname) for f in family for one in f.mro]
    known = {f.name for one in family for f in one.fields} | {
        name for scope in scopes if scope is not None for name in scope.bindings
    }
    is_frozen = evaluator.model.target.holds(REFUSES_AS_FROZEN)
    for event in code.events:
        if isinstance(event, AssignAttribute) and event.on_self and event.how == "assign" and event.attr not in known:
            way_out = f"declare `{event.attr}` in the class"
            if code.function.name != "__init__":  # the constructor that is generated would ask for it
                way_out = f"make `{event.attr}` a property, or write an `__init__` and declare it in the class"
            yield Problem(
                at=event.at,
                message=(
                    f"`{event.attr}` is no field of `{cls.name}`: equinox refuses the assignment"
                    f" ({'FrozenInstanceError' if is_frozen else 'AttributeError'}); {way_out}"
                ),
                reason="while a module is made, its fields may be assigned, and nothing else",
                help=way_out,
                subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{event.attr}",
                fix=_declared(event, cls, code.function, evaluator),
            )
            return


@proposing
def _declared(event: AssignAttribute, cls: PytreeClass, function: Function, evaluator: Evaluator) -> Proposal | None:
    """The fix that declares what the constructor sets."""
    if function.name != "__init__":
        return None  # the constructor that is generated would ask for it
    return declaring(cls, event.attr, event.value, event.place.module, evaluator, is_set=True)


def _required(cls: PytreeClass) -> list[Field]:
    """The fields that are attributes of an instance only if they are set."""
    bound = {name for c in cls.mro for name in c.symbol.declaration.methods}
    bound |= {a.name for c in cls.mro for a in c.symbol.declaration.assignments}
    return [
        f for f in cls.fields if f.kind is Kind.FIELD and f.default is None and not f.opaque and f.name not in bound
    ]


def _sees_all(init: Function, base: PytreeClass) -> bool:
    """Whether an `__init__` of another class only assigns attributes, and calls no other `__init__`, and no method."""
    row = init.at.row
    unit = next((u for u in base.module.outline.units if u.first <= row <= u.last), None)
    if unit is None or init.self_calls:
        return False
    piece = next((p for p in unit.pieces if p.first <= row <= p.last and p.kind == "function"), unit)
    return piece.calls.isdisjoint({"super", "setattr", "__setattr__", "__init__", "vars", "update"})


def _is_said(statement: Statement) -> bool:
    """Whether a statement does nothing, in a body that is still to be written: a text or `...`."""
    return isinstance(statement, Do) and isinstance(statement.value, Constant)


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
            return inherited if method is not None and _sees_all(method[1], base) else None
    return inherited


def _escapes(body: Body, own: str) -> bool:
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


class _Ways:
    """What a body sets on each way through it, and the methods of the instance that it calls."""

    def __init__(self, own: str, cls: PytreeClass, evaluator: Evaluator) -> None:
        self.own = own
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
            if isinstance(statement, (Raise, Jump)):
                return None
            if isinstance(statement, Return):
                self.hidden |= bool(self._inside)  # an early end of a method is not followed
                self._returns.append(done)
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
                self.hidden |= len(self._returns) > returned  # an early end of a loop, or below a `with`
        return done

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
        found = {name for target in bound_by(statement) for name in self._attributes(target)}
        for name in found:
            self.anywhere[name] = self.anywhere.get(name, 0) + 1
        return found

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
        body, own = self._evaluator.calls.body_of(FunctionSymbol(owner.module, function)), function.self_name
        if body is None or own is None or _escapes(body, own):
            return None
        if not function.self_assignments and not function.self_calls:
            return set()
        around, self.own = self.own, own
        self._inside.append(name)
        result = body[-1] if isinstance(body[-1], Return) else None
        last = self._set_by_methods(result) if result is not None else set[str]()
        done = self.through(body if result is None else body[:-1])
        self.own = around
        self._inside.pop()
        return None if done is None else done | last


def _takes_no_instance(function: Function) -> bool:
    """Whether a method is a static one."""
    return len(function.decorators) == 1 and dotted(function.decorators[0]) == "staticmethod"


def _error(cls: PytreeClass, evaluator: Evaluator) -> str:
    """What is raised for a field that is not set."""
    if not cls.framework.checks_fields:
        return "AttributeError"
    is_type_error = evaluator.model.target.holds(RAISES_TYPE_ERROR)
    return {True: "TypeError", False: "ValueError", None: "TypeError or ValueError"}[is_type_error]


def _problem(
    cls: PytreeClass, function: Function, fields: list[Field], evaluator: Evaluator, *, somewhere: bool
) -> Problem:
    names = " and ".join(
        f"`{f.name}`" + (f" (of `{f.owner.declaration.name}`)" if f.owner != cls.symbol else "") for f in fields
    )
    noun, set_them = ("field", "set it") if len(fields) == 1 else ("fields", "set them")
    where = "on one branch" if somewhere else ""
    return Problem(
        at=function.at,
        message=(
            f"`__init__` of `{cls.name}` does not set {noun} {names}{' ' if where else ''}{where}: the"
            f" instance is refused ({_error(cls, evaluator)}); {set_them}"
        ),
        reason=f"{cls.framework.title} looks for all fields once `__init__` has returned",
        help=f"assign {', '.join(f'`self.{f.name}`' for f in fields)}, to None if there is nothing to hold",
        confidence=Confidence.MEDIUM if somewhere else None,
        subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{fields[0].name}",
        fix=_holding_nothing(function, fields),
    )


@proposing
def _holding_nothing(function: Function, fields: list[Field]) -> Proposal | None:
    """The fix: the fields hold nothing until something is assigned to them."""
    if function.self_name is None:
        return None
    code = " = ".join([*(f"{function.self_name}.{field.name}" for field in fields), "None"])
    return Proposal("Begin with nothing", Applicability.DISPLAY, (BeginBody(function.at, code),))
