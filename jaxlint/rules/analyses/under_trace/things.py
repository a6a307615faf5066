"""What names stand for while a function is traced: forms of trees, functions, classes, and what libraries define."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from jaxlint.project.modules import Module
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.rules.analyses.under_trace.forms import (
    DECLARED_ARRAY,
    GRADIENT,
    MAYBE_NONE,
    SOMETHING,
    UNKNOWN,
    Form,
    Held,
    Leaf,
    Nothing,
    Something,
    State,
    Unknown,
    is_surely_number,
    join,
    promoted,
)
from jaxlint.rules.analyses.under_trace.held_values import Fact, seen_by
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, BoolOp, Call, Compare, Constant, Display, Expr, Name, Unary, root
from jaxlint.syntax.statements import Body


class Code(msgspec.Struct, frozen=True, eq=False):
    """A function whose body is at hand: a `def`, a lambda or a method, with what is given already."""

    name: str
    parameters: tuple[str, ...]
    body: Body | Expr
    module: Module
    scope: str
    #: The variables of the functions around it.
    around: Mapping[str, Thing] = msgspec.field(default_factory=dict)
    defaults: Mapping[str, Placed] = msgspec.field(default_factory=dict)
    positional: tuple[Thing, ...] = ()
    keywords: Mapping[str, Thing] = msgspec.field(default_factory=dict)
    #: The parameter `*args`.
    rest: str = ""
    #: What is declared; a lambda is not.
    function: Function | None = None


class ClassThing(msgspec.Struct, frozen=True, eq=False):
    """A class of the project."""

    cls: PytreeClass


class Library(msgspec.Struct, frozen=True):
    """Something that a library defines, by its dotted name."""

    name: str


class Member(msgspec.Struct, frozen=True, eq=False):
    """An attribute of a form or a class, which may be called."""

    owner: Form | ClassThing
    name: str


class Differentiated(msgspec.Struct, frozen=True):
    """What returns the gradient of a function, perhaps behind its value, which may be a pair."""

    with_value: bool
    has_aux: bool

    def called(self) -> Form:
        """What a call returns: a gradient has the structure of what is differentiated, which is never None."""
        value = of_tuple([SOMETHING, UNKNOWN]) if self.has_aux else SOMETHING
        if self.with_value:
            return of_tuple([value, GRADIENT])
        return of_tuple([GRADIENT, UNKNOWN]) if self.has_aux else GRADIENT


Thing: TypeAlias = "Form | Code | ClassThing | Library | Member | Differentiated"


class Frame(msgspec.Struct):
    """The variables of a function that is traced, and what it returned so far."""

    module: Module
    scope: str
    variables: dict[str, Thing]
    depth: int = 0
    returned: list[Thing] = msgspec.field(default_factory=list)
    #: What is known of the values of static fields, by the tests around.
    facts: tuple[Fact, ...] = ()

    def branch(self, *facts: Fact) -> Frame:
        """The same function, in a branch of its own, in which more is known; what is returned there counts for both."""
        known = (*self.facts, *facts)
        return Frame(self.module, self.scope, dict(self.variables), self.depth, self.returned, known)

    def meet(self, branches: list[Frame]) -> None:
        """Go on after some branches, in none of which it is known to be."""
        names = {name for branch in branches for name in branch.variables}
        self.variables = {name: joined([branch.ends_with(name) for branch in branches]) for name in names}

    def ends_with(self, name: str) -> Thing:
        """What a variable holds at the end of a branch."""
        held = self.variables.get(name, MAYBE_NONE)
        return seen_by(held, self.facts) if self.facts else held


def differentiated(call: Call, *, with_value: bool) -> Thing:
    """What `jax.grad(f, …)` makes, where it is told whether the function returns a pair."""
    has_aux = call.keyword("has_aux")
    if call.has_star or not (has_aux is None or (isinstance(has_aux, Constant) and has_aux.kind == "bool")):
        return UNKNOWN
    return Differentiated(with_value, isinstance(has_aux, Constant) and bool(has_aux.value))


def item_at(form: Form, index: Expr) -> Form:
    """What `form[index]` is."""
    if isinstance(form, Leaf) or form == DECLARED_ARRAY:
        return form
    if isinstance(form, Held) and isinstance(index, Constant):
        return form.entries.get(str(index.value), UNKNOWN)
    if isinstance(form, State) and form.cls.framework.is_tuple and isinstance(index, Constant):
        names = [field.name for field in form.cls.fields]
        if isinstance(index.value, int) and 0 <= index.value < len(names):
            return form.fields.get(names[index.value], UNKNOWN)
    return UNKNOWN


def callable_of(thing: Thing) -> Thing:
    """What is called where a thing is: of an instance, its method for that."""
    return Member(thing, "__call__") if isinstance(thing, State) else thing


def held_by(expr: Expr, variables: Mapping[str, Thing]) -> Thing | None:
    """What a variable, or a field of an instance in one, holds."""
    match expr:
        case Name(id=name):
            return variables.get(name)
        case Attribute(value=value, attr=attr):
            owner = held_by(value, variables)
            return owner.fields.get(attr) if isinstance(owner, State) else None
    return None


def form_of(thing: Thing) -> Form:
    """A thing as a part of a tree."""
    return UNKNOWN if isinstance(thing, (Code, ClassThing, Library, Member, Differentiated)) else thing


def joined(things: list[Thing]) -> Thing:
    """What is one of some things."""
    first = things[0]
    if all([thing is first for thing in things]):
        return first
    form = form_of(first)
    for thing in things[1:]:
        form = join(form, form_of(thing))
    return form


def truth_of(test: Expr, value: Mapping[int, Thing]) -> bool | None:
    """Whether a test of flags, or for None, is true, by what its parts were evaluated to; None if that is not known."""
    match test:
        case Constant(value=constant, kind="bool"):
            return bool(constant)
        case Name():
            flag = value.get(id(test), UNKNOWN)
            return flag.truth if isinstance(flag, Leaf) else None
        case Unary(op="not", operand=operand):
            inner = truth_of(operand, value)
            return None if inner is None else not inner
        case BoolOp(op=op, left=left, right=right):
            sides = (truth_of(left, value), truth_of(right, value))
            decisive = op == "or"
            return decisive if decisive in sides else None if None in sides else not decisive
        case Compare(left=left, ops=("is" | "is not" as op,), comparators=(Constant(kind="NoneType"),)):
            thing = value.get(id(left), UNKNOWN)
            if isinstance(thing, Unknown):
                return None
            return isinstance(thing, Nothing) == (op == "is")
    return None


def operands_of(test: Expr) -> Iterator[Expr]:
    """The parts of a test that are values of their own."""
    match test:
        case Unary(op="not", operand=operand):
            yield from operands_of(operand)
        case BoolOp(left=left, right=right):
            yield from operands_of(left)
            yield from operands_of(right)
        case Compare(left=left, comparators=others):
            yield from (left, *others)
        case _:
            yield test


def one_of(held: Held) -> Form:
    """Any of the items of a tuple, a list or a dict."""
    return form_of(joined(list(held.entries.values()))) if held.entries else UNKNOWN


def without_containers(thing: Thing) -> Thing:
    """What is certain of a thing once some list or dict was changed in place."""
    if isinstance(thing, Held):
        return thing if thing.kind == "tuple" else UNKNOWN
    if isinstance(thing, State):
        changed = {n: f for n, f in thing.fields.items() if isinstance(f, (Leaf, Nothing))}
        return msgspec.structs.replace(thing, fields=changed)
    return thing


def of_tuple(items: list[Form], kind: str = "tuple") -> Held:
    """A tuple or list."""
    return Held(kind, {str(index): item for index, item in enumerate(items)})


def arithmetic(op: str, left: Form, right: Form) -> Form:
    """What an operator makes of two forms."""
    if isinstance(left, Held) and isinstance(right, Held) and left.kind == right.kind:
        if op == "|" and left.kind == "dict":
            return Held("dict", {**left.entries, **right.entries})
        if op == "+":
            return of_tuple([*left.entries.values(), *right.entries.values()], left.kind)
    numbers = promoted((left, right))
    if op in ("+", "-", "*", "//", "%"):
        return numbers
    if op == "/" and isinstance(numbers, Leaf):
        is_real = numbers.kind in ("bool", "int", "float")
        return Leaf("float", numbers.weak, numbers.sure) if is_real else Leaf("inexact", sure=numbers.sure)
    if op == "/" and all(isinstance(form, (Leaf, Unknown, Something)) for form in (left, right)):
        sure = is_surely_number(left) and is_surely_number(right)
        return Leaf("inexact", sure=sure) if isinstance(left, Leaf) or isinstance(right, Leaf) else SOMETHING
    if isinstance(numbers, Leaf) and ((op == "**" and numbers.kind in ("float", "inexact")) or op in "&|^"):
        return numbers
    return Leaf(sure=numbers.sure) if isinstance(numbers, Leaf) else SOMETHING


def compared(forms: Sequence[Form]) -> Form:
    """What comparing some forms gives."""
    return Leaf("bool", False, all(map(is_surely_number, forms))) if Leaf in map(type, forms) else SOMETHING


def parts_of(trees: Sequence[Form]) -> dict[str, list[Form]] | None:
    """The parts that are known of all of some trees, by the names of fields or keys; None unless they are alike."""
    first = trees[0]
    if isinstance(first, State):
        states = [tree for tree in trees if isinstance(tree, State) and tree.cls is first.cls]
        leaves = {field.name for field in first.cls.fields if field.role is Role.LEAF}
        held = [state.fields for state in states]
    elif isinstance(first, Held):
        alike = [tree for tree in trees if isinstance(tree, Held) and tree.kind == first.kind]
        held = [tree.entries for tree in alike if tree.entries.keys() == first.entries.keys()]
        leaves = set(first.entries)
    else:
        return None
    if len(held) < len(trees):
        return None
    return {
        name: [one[name] for one in held] for name in held[0] if name in leaves and all(name in one for one in held)
    }


def with_parts(tree: Form, parts: Mapping[str, Form]) -> Form:
    """A tree of the structure of another one, with other leaves; static fields are those of the first."""
    if isinstance(tree, Held):
        return Held(tree.kind, parts)
    if isinstance(tree, State):
        static = {name: form for name, form in tree.fields.items() if name in {f.name for f in tree.cls.static_fields}}
        return msgspec.structs.replace(tree, fields={**static, **parts})
    return UNKNOWN


def item_of(form: Form) -> Form:
    """What a loop gives to its function in a turn, of the tree that it goes over."""
    match form:
        case Leaf(kind=kind, sure=sure):
            return Leaf(kind, False, sure)
        case Held(kind=kind, entries=entries):
            return Held(kind, {key: item_of(entry) for key, entry in entries.items()})
        case State(cls=cls, fields=fields, exact=exact):
            return State(cls, {name: item_of(held) for name, held in fields.items()}, exact)
    return form


def after_loop(form: Form) -> Form:
    """What a loop returns for a carry: weak types may have become others."""
    match form:
        case Leaf(kind=kind, weak=weak, sure=sure):
            if weak is False:
                return msgspec.structs.replace(form, truth=None)
            return Leaf("bool" if kind == "bool" else "", sure=sure)
        case Held(kind=kind, entries=entries):
            return Held(kind, {key: after_loop(entry) for key, entry in entries.items()})
        case State(cls=cls, fields=fields, exact=exact):
            return State(cls, {name: after_loop(held) for name, held in fields.items()}, exact)
    return form


def code_of(function: Function, body: Body, module: Module, around: Mapping[str, Thing] | None = None) -> Code:
    """The code of a declared function."""
    return Code(
        function.name,
        tuple(function.positional),
        body,
        module,
        function.inner_scope,
        around or {},
        {p.name: Placed(p.default, module, function.scope) for p in function.parameters if p.default is not None},
        rest=next((p.name for p in function.parameters if p.kind == "*"), ""),
        function=function,
    )


def roots(target: Expr) -> Iterable[str]:
    """The variables that hold what an assignment target is a part of."""
    if isinstance(target, Display):
        return [name for item in target.items for name in roots(item)]
    start = root(target)
    return (start.id,) if isinstance(start, Name) else ()


def unpacked(form: Form, count: int) -> list[Form] | None:
    """What a form is unpacked to."""
    if isinstance(form, Held) and form.kind != "dict" and len(form.entries) == count:
        return list(form.entries.values())
    if isinstance(form, State) and form.cls.framework.is_tuple and len(form.cls.fields) == count:
        return [form.fields.get(field.name, UNKNOWN) for field in form.cls.fields]
    return [form] * count if isinstance(form, Leaf) else None


def may_change(thing: Thing | None) -> bool:
    """Whether attributes of an instance may be assigned; of one that is no pytree nothing is known."""
    return isinstance(thing, State) and thing.cls.frozen is not True and thing.cls.is_pytree


def spread(call: Call, values: Sequence[Thing]) -> list[Thing] | None:
    """The positional arguments of a call; None if it is not known what a star stands for."""
    given: list[Thing] = []
    for argument, value in zip(call.args, values, strict=True):
        if not argument.star:
            given += [value] if argument.keyword is None else []
        elif argument.star == "*" and isinstance(value, Held) and value.kind != "dict":
            given += value.entries.values()
        else:
            return None
    return given
