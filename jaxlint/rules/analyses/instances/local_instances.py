"""Which expressions of a body are certainly instances of pytree classes, wherever they stand in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import NamedTuple

from msgspec.structs import replace

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Construct, Replace
from jaxlint.infer.evaluating.points import value_at
from jaxlint.infer.known.evidence import contradicts
from jaxlint.infer.known.values import (
    UNKNOWN,
    ClassObject,
    Container,
    FunctionValue,
    Instance,
    UnknownValue,
    Value,
    are_of_one_class,
    as_instance,
    element_of,
    plain,
)
from jaxlint.libraries.standard import PUTTING
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import Placed
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Compare,
    Comprehension,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Lambda,
    Name,
    Subscript,
    dotted,
)
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    Augment,
    ClassDefinition,
    For,
    FunctionDefinition,
    Statement,
    assigned_pairs,
    bound_by,
    parts,
    target_names,
)

#: Methods that take one of the items of a list out.
_TAKING = frozenset({"pop", "popleft"})

#: What is never an instance of a class, as far as is known: not what operators make of some either.
_NO_INSTANCES = frozenset({Constant, Binary, Compare, Display, DictDisplay, Comprehension, Lambda})


class _Asked(NamedTuple):
    """The parameters that a body asks whether they are instances: it expects others, too. What one is depends on where.

    So do those beside them of which only callers tell what they are: another caller gives another lot.
    """

    themselves: frozenset[str]
    beside: frozenset[str]


_NOT_ASKED = _Asked(frozenset(), frozenset())


class LocalInstances:
    """Parameters, and variables of which every assignment gives an instance of the same class."""

    @classmethod
    def of(cls, code: CodeRead, evaluator: Evaluator) -> LocalInstances:
        """Those of a body, found out once for all rules that ask."""
        if cls not in code.shared:
            code.shared[cls] = cls(code, evaluator)
        found: LocalInstances = code.shared[cls]
        return found

    def __init__(self, code: CodeRead, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._code = code
        self._made: dict[int, Value] = {}
        #: The functions that are called, by their names.
        self._called: dict[str, FunctionSymbol | None] = {}
        for event in code.events:
            if isinstance(event, Construct):
                self._made[id(event.call)] = Instance(event.cls.cls, event.cls.exact)
            elif isinstance(event, Replace):
                self._made[id(event.call)] = event.receiver
        #: What variables are, once that is asked for.
        self._known: dict[str, Value] | None = None
        self._is_settled = False
        #: What expressions are that were asked for, by their identity.
        self._values: dict[int, tuple[Expr, Value]] = {}

    @property
    def _names(self) -> dict[str, Value]:
        """The parameters that are not bound anew, and the variables that are certainly instances."""
        if self._known is None:
            self._read_names()
        assert self._known is not None
        return self._known

    def _named(self, name: str) -> Value:
        """What a variable is; for a parameter that is bound nowhere else, the body need not be read."""
        if name in self._code.contents.bound:
            return self._names.get(name, UNKNOWN)
        return plain(self._code.parameters[name])

    def _read_names(self) -> None:
        code = self._code
        assigned = code.contents.bound
        self._known = {n: plain(v) for n, v in code.parameters.items() if n not in assigned}
        given: dict[str, list[Callable[[], Value]]] = {}
        for name, value in code.parameters.items():
            if name in assigned:
                given[name] = [partial(plain, value)]
        for statement in code.statements:
            for name, read in self._bindings(statement):
                given.setdefault(name, []).append(read)
        self._settle(given, self._known)
        self._is_settled = True

    def _bindings(self, statement: Statement) -> Iterator[tuple[str, Callable[[], Value]]]:
        """The names that a statement binds, and what tells what they are given."""
        match statement:
            case Assign(targets=(Name(id=name),), value=value):
                yield name, partial(self.value, value)
            case Assign(targets=(Display(items=targets),), value=Display(items=values)) if len(targets) == len(values):
                for target, value in zip(targets, values, strict=True):
                    for name in target_names(target):
                        yield name, partial(self.value, value) if isinstance(target, Name) else _nothing
            case Annotate(target=Name(id=name), annotation=annotation, value=value):
                yield name, partial(self._annotated, annotation, value)
            case Assign(targets=(Display(items=targets),), value=Call() as call) if all(
                isinstance(target, Name) for target in targets
            ):
                for index, target in enumerate(targets):
                    for name in target_names(target):
                        yield name, partial(self._part, call, index, len(targets))
            case For(target=Name(id=name), iterable=iterable):
                yield name, partial(self.element, iterable)
            case FunctionDefinition(name=name) | ClassDefinition(name=name):
                yield name, _nothing
            case _:
                targets = (statement.target,) if isinstance(statement, Augment) else bound_by(statement)
                for name in (name for target in targets for name in target_names(target)):
                    yield name, _nothing

    def _part(self, call: Call, index: int, count: int) -> Value:
        """One of the values of the tuple that a call returns."""
        made = self.value(call)
        items = made.items if isinstance(made, Container) and made.kind == "tuple" else None
        return plain(items[index]) if items is not None and len(items) == count else UNKNOWN

    def _annotated(self, annotation: Expr, value: Expr | None) -> Value:
        """What an annotation says, unless what is assigned is certainly something else."""
        module, scope = self._code.place.module, self._code.scope
        declared = plain(self._evaluator.annotations.read(Placed(annotation, module, scope)))
        if value is None or isinstance(declared, UnknownValue):
            return declared
        seen = (self.value(value), self._evaluator.promises.seen(Placed(value, module, scope)))
        return UNKNOWN if any(contradicts(declared, one) for one in seen) else declared

    def _settle(self, given: dict[str, list[Callable[[], Value]]], known: dict[str, Value]) -> None:
        """Find the variables that are given nothing but instances of one class, or one list.

        What is assigned to a name may depend on other names: what is not borne out in the end is taken back.
        """
        for name, reads in given.items():
            found = (read() for read in reads)
            first = next((v for v in found if isinstance(v, (Instance, Container))), None)
            if first is not None and (isinstance(first, Instance) or len(reads) == 1):
                known[name] = first
        wrong = [name for name in given if name in known]
        while wrong:
            wrong = [n for n in given if n in known and not self._holds(n, [read() for read in given[n]])]
            for name in wrong:
                del known[name]

    def _holds(self, name: str, values: list[Value]) -> bool:
        """Whether a variable is what it is taken for after each of its assignments."""
        first = self._names[name]
        if isinstance(first, Container):
            element = plain(element_of(first))
            put = () if first.declared or not isinstance(element, Instance) else self._put.get(name, ())
            return all(are_of_one_class(self.value(expr), element) for expr in put)
        return all(are_of_one_class(v, first) for v in values)

    @cached_property
    def _inside(self) -> frozenset[int]:
        """The names (by identity) that are those of a comprehension or a lambda, whatever the body calls so, too."""
        found: set[int] = set()
        contents = self._code.contents
        inner: list[tuple[Expr, set[str]]] = [(e, {*e.params, *e.other_params}) for e in contents.of(Lambda)]
        inner += [(e, {n for c in e.clauses for n in target_names(c.target)}) for e in contents.of(Comprehension)]
        outside = contents.bound | self._code.parameters.keys() if inner else frozenset()
        for part, bound in inner:
            if not bound.isdisjoint(outside):
                found.update(id(name) for name in parts(part) if isinstance(name, Name) and name.id in bound)
        return frozenset(found)

    @cached_property
    def _asked(self) -> _Asked:
        function = self._code.function
        if function is None or "isinstance" not in self._code.contents.called:
            return _NOT_ASKED
        calls = (call for call in self._code.calls if dotted(call.func) == "isinstance" and call.positional)
        names = {dotted(call.positional[0]) for call in calls} & self._code.parameters.keys()
        taken = function.parameters if names else ()
        return _Asked(
            frozenset(parameter.name for parameter in taken if parameter.name in names),
            frozenset(p.name for p in taken if p.annotation is None and p.name not in names),
        )

    @cached_property
    def _put(self) -> dict[str, list[Expr]]:
        """What is put into the lists of the body, by their names."""
        found: dict[str, list[Expr]] = {}
        for call in self._code.calls:
            if isinstance(call.func, Attribute) and call.func.attr in PUTTING and isinstance(call.func.value, Name):
                if call.args:
                    found.setdefault(call.func.value.id, []).append(call.args[-1].value)
        for statement in self._code.statements:
            if isinstance(statement, Assign):
                for target, value in assigned_pairs(statement):
                    if isinstance(target, Subscript) and isinstance(target.value, Name):
                        found.setdefault(target.value.id, []).append(value)
        return found

    def is_list_of(self, name: str, instance: Instance) -> bool:
        """Whether the body appends such instances to what a variable holds, and puts nothing else into it."""
        put = self._put.get(name, ())
        is_list = any(dotted(call.func) == f"{name}.append" for call in (self._code.calls if put else ()))
        return is_list and all(are_of_one_class(self.value(expr), instance) for expr in put)

    def element(self, expr: Expr) -> Value:
        """What a loop over an expression, or one of its items, gives."""
        held = self.value(expr)
        return plain(element_of(held)) if isinstance(held, Container) else UNKNOWN

    def instance(self, expr: Expr) -> Instance | None:
        """The instance of a pytree class that an expression certainly is."""
        if not may_be_instance(expr):
            return None
        value = self.value(expr)
        return value if isinstance(value, Instance) and value.cls.is_pytree else None

    def value(self, expr: Expr) -> Value:
        """What is known of an expression: by all assignments of its variables, or by those that lead to it."""
        known = self._values.get(id(expr))
        if known is not None and known[0] is expr:
            return known[1]
        found = self._found_out(expr)
        if self._is_settled or self._known is None:
            if isinstance(found, UnknownValue) and not (isinstance(expr, Name) and expr.id in self._asked.beside):
                found = value_at(expr, self._code, self._evaluator)
            self._values[id(expr)] = expr, found
        return found

    def _found_out(self, expr: Expr) -> Value:
        match expr:
            case Name(id=name):
                if name not in self._code.contents.bound and name not in self._code.parameters:
                    return UNKNOWN
                if name in self._asked.themselves or name in self._asked.beside:
                    return UNKNOWN
                return UNKNOWN if id(expr) in self._inside else self._named(name)
            case Attribute(value=held, attr=attr):
                owner = as_instance(self.value(held))
                if owner is not None:
                    field = owner.cls.field(attr)
                    if field is not None and field.annotation is not None:
                        held_there = plain(self._evaluator.promises.field(field, owner.cls))
                        return other_tree(held_there) if owner.is_other_tree else held_there
                    is_property = field is None and self._evaluator.getter(owner.cls, attr) is not None
                    if is_property or (not owner.cls.is_pytree and field is None):
                        with self._evaluator.calls.notes.muted():
                            return plain(self._evaluator.attribute_of(owner, attr))
            case Display(kind="list", items=items) if items:
                return Container("list", tuple(map(self.value, items)))
            case DictDisplay():
                return Container("dict")
            case Call(func=Name(id="dict" | "set" as kind)):
                return Container(kind)
            case Call(func=Attribute(value=Name() as held, attr=attr)) if attr in _TAKING:
                return self.element(held)
            case Call():
                return self._made.get(id(expr)) or self._returned(expr)
        return UNKNOWN

    def _returned(self, call: Call) -> Value:
        """What a method returns, or a function that no variable of the body stands for."""
        if isinstance(call.func, Attribute):
            receiver = self.value(call.func.value)
            if isinstance(receiver, Instance):
                return self._returned_by_method(receiver, call.func.attr)
        name = dotted(call.func)
        if name is None or name.partition(".")[0] in self._names:
            return UNKNOWN
        if name not in self._called:
            self._called[name] = self._function(call.func)
        function = self._called[name]
        if function is None:
            return UNKNOWN
        if function.declaration.owner and isinstance(call.func, Attribute):
            return self._returned_by_method(self._given(call.func.value), call.func.attr)
        if function.declaration.returns is not None:
            return plain(self._evaluator.promises.returned(function.declaration, function.module))
        given = [] if call.has_star else [self._given(argument) for argument in call.positional]
        with self._evaluator.calls.notes.muted():
            made = plain(self._evaluator.calls.returned_for(FunctionValue(function), given))
        if isinstance(made, Container) and made.kind == "list" and isinstance(plain(element_of(made)), Instance):
            return made
        pair = made.items or () if isinstance(made, Container) and made.kind == "tuple" else ()
        return made if isinstance(made, Instance) or any(isinstance(plain(v), Instance) for v in pair) else UNKNOWN

    def _returned_by_method(self, receiver: Value, name: str) -> Value:
        """What a method returns, if its annotation and those of the methods that override it say so."""
        with self._evaluator.calls.notes.muted():
            method = plain(self._evaluator.attribute_of(receiver, name))
            if not isinstance(method, FunctionValue) or method.symbol.declaration.returns is None:
                return UNKNOWN
            return plain(self._evaluator.calls.returned(method))

    def _given(self, argument: Expr) -> Value:
        """What a function is given: an instance, or a class to make one of."""
        value = self.value(argument)
        if isinstance(value, UnknownValue) and isinstance(argument, (Name, Attribute)):
            symbol = self._evaluator.model.resolver.resolve(argument, self._code.place.module, self._code.scope)
            cls = self._evaluator.model.class_of_symbol(symbol)
            return value if cls is None else ClassObject(cls)
        return value

    def _function(self, func: Expr) -> FunctionSymbol | None:
        """The function of the project that a name stands for, if what it returns is what its caller gets."""
        symbol = self._evaluator.model.resolver.resolve(func, self._code.place.module, self._code.scope)
        if not isinstance(symbol, FunctionSymbol) or symbol.declaration.is_async:
            return None
        wrapped = self._evaluator.calls.transformed.is_wrapped(symbol.declaration, symbol.module)
        return None if wrapped or symbol.declaration.is_generator else symbol


def other_tree(part: Value) -> Value:
    """What a part of an instance is that holds something else in the place of its leaves, as gradients do."""
    return replace(part, is_other_tree=True) if isinstance(part, Instance) else part


def may_be_instance(expr: Expr) -> bool:
    """Whether an expression is of a kind that an instance may be: a name, an item, what a call returns or a choice."""
    return type(expr) not in _NO_INSTANCES


def _nothing() -> Value:
    return UNKNOWN
