"""Which functions do something to what they are given without annotation, that is of interest if it is an instance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from jaxlint.infer.choosing.given import GivenClasses
from jaxlint.infer.evaluating.events import CodeRead, Construct
from jaxlint.infer.known.values import UNKNOWN, UnknownValue
from jaxlint.libraries.arrays import AT_METHODS
from jaxlint.libraries.transforms import LAST_NAMES
from jaxlint.libraries.updates import REPLACE_FUNCTIONS, UPDATE_METHODS
from jaxlint.pytrees.framework import Role
from jaxlint.symbols.outline import MUTATING
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Call,
    Compare,
    Display,
    Expr,
    Name,
    Subscript,
    container,
    dotted,
    items_of,
    last_name,
)
from jaxlint.syntax.statements import Assign, Augment, Delete, Do, For, If, Statement, While, parts, target_names

#: Functions that choose between arrays.
_CHOOSING = frozenset({"where", "select"})
#: How a field is annotated that may hold a function.
_OPEN = frozenset({"Any", "Callable", "object"})
#: Functions that give the leaves of a tree.
_TAKING_APART = frozenset({"leaves", "tree_leaves"})
_COMPARING = frozenset({"==", "!=", "in", "not in"})
_REPLACING = frozenset(name.rpartition(".")[2] for name in REPLACE_FUNCTIONS)


def handled(code: CodeRead, is_updating: Callable[[str], bool]) -> Iterator[str]:
    """The variables of a body that stand for its parameters, or come from around it, and are handled like instances.

    An attribute is assigned or changed in place, a copy with changes is made or thrown away, a test asks for an
    attribute, the leaves are unpacked, a key is taken from one twice, or one is compared with something else that has a
    name; the same is done to what one holds, or to what a method of one makes, or it is chosen where arrays are. A
    method or attribute of one is transformed, perhaps by a name that it has got. Or it is put into a leaf, as functions
    are that should not be there. `is_updating` knows the names of the methods that make such copies.
    """
    made = _made(code)
    for name in _handled(code, is_updating):
        yield name
        yield from made.get(name, ())
    if not made:
        return
    for target in (target for statement in code.statements for target in _targets(statement)):
        if isinstance(target, Subscript):
            yield from made.get(dotted(container(target)) or "", ())
    for call in code.calls:
        if last_name(call.func) in _CHOOSING:
            for argument in call.positional:
                yield from made.get(dotted(argument) or "", ())
        elif isinstance(call.func, Attribute) and call.func.attr in MUTATING:
            yield from made.get(dotted(container(call.func.value)) or "", ())
        elif call.args and last_name(call.func) in LAST_NAMES and isinstance(call.args[0].value, Name):
            yield from made.get(call.args[0].value.id, ())


def _made(code: CodeRead) -> Mapping[str, Sequence[str]]:
    """The variables that hold attributes or their items, or what methods return, and what these are attributes of."""
    made: dict[str, list[str]] = {}
    for statement in code.statements:
        match statement:
            case (
                Assign(targets=(target, *_), value=Call(func=Attribute(value=held)))
                | Assign(targets=(target, *_), value=(Attribute() | Subscript()) as held)
                | For(target=target, iterable=(Attribute() | Subscript()) as held)
                | For(target=target, iterable=Call(func=Attribute(value=(Attribute() | Subscript()) as held)))
            ):
                for name in target_names(target):
                    made.setdefault(name, []).extend(_variable(held))
    return made


def _handled(code: CodeRead, is_updating: Callable[[str], bool]) -> Iterator[str]:
    for statement in code.statements:
        for target in _targets(statement):
            yield from _holder(target)
        match statement:
            case Assign(targets=(Display(),), value=Call(func=func, args=(Argument(value=tree),))):
                if last_name(func) in _TAKING_APART:
                    yield from _variable(tree)
            case Do(value=Call(func=Attribute(value=held, attr=attr))) if attr in UPDATE_METHODS or is_updating(attr):
                yield from _variable(held)
        if isinstance(statement, (If, While)) and code.applied:
            tests = [test for test, _ in statement.branches] if isinstance(statement, If) else [statement.test]
            yield from (name for test in tests for part in parts(test) for name in _holder(part))
    yield from _compared(code)
    yield from _put_into_leaves(code)
    keys: set[str] = set()
    for call in code.calls:
        func = call.func
        if isinstance(func, Attribute):
            if (func.attr in UPDATE_METHODS or is_updating(func.attr)) and call.args and not call.positional:
                yield from _variable(func.value)
            elif func.attr in MUTATING:
                yield from _holder(func.value)
        if call.args and not call.args[0].star:
            given = call.args[0].value
            if last_name(func) in _REPLACING:
                yield from _variable(given)
            elif last_name(func) == "tree_at" and len(call.positional) > 1:
                yield from _variable(call.positional[1])
            elif isinstance(given, Attribute) and last_name(func) in LAST_NAMES:
                yield from _variable(given)
            elif isinstance(given, Attribute) and last_name(func) not in AT_METHODS:
                path = f"{dotted(given)}"
                if path in keys and "random" in (dotted(func) or ""):
                    yield from _variable(given)
                keys.add(path)


def _compared(code: CodeRead) -> Iterator[str]:
    """The variables that are compared with others, or with attributes of `self`, or looked for in such.

    Functions inside of others are left out: what they compare is at hand.
    """
    if code.function is None or code.function.scope.endswith("<locals>"):
        return
    for compared in code.contents.of(Compare):
        sides = (compared.left, *compared.comparators)
        if compared.ops[0] in _COMPARING and all(_is_whole(side, code) for side in sides):
            needles = sides[:1] if "in" in compared.ops[0] else sides  # what something is looked for in is a container
            yield from (side.id for side in needles if isinstance(side, Name))


def _is_whole(expr: Expr, code: CodeRead) -> bool:
    """Whether an expression is a variable of the function, or an attribute of `self`."""
    if isinstance(expr, Attribute):
        method = code.place.method
        return method is not None and isinstance(expr.value, Name) and expr.value.id == method.self_name
    return isinstance(expr, Name) and (expr.id in code.parameters or expr.id in code.contents.bound)


def _put_into_leaves(code: CodeRead) -> Iterator[str]:
    """The variables that constructors put into leaves which may hold functions, by their annotations."""
    for event in code.events:
        if isinstance(event, Construct):
            exprs = {id(argument.at): argument.value for argument in event.call.args}
            for one in event.arguments:
                field, expr = event.cls.cls.field(one.name), exprs.get(id(one.at))
                if isinstance(expr, Name) and field is not None and field.role is Role.LEAF and field.annotation:
                    if any(last_name(part) in _OPEN for part in parts(field.annotation.expr)):
                        yield expr.id


def unknown_names(code: CodeRead, given: GivenClasses) -> frozenset[str]:
    """What a function and those around it are given without annotation: parameters, and attributes of `self`."""
    around = {function.qualname: function for function in code.place.functions}
    names = {p.name for f in around.values() for p in f.parameters if p.annotation is None and "*" not in p.kind}
    method = code.place.method
    if method is not None and method.owner is not None:
        names.discard(method.self_name or "")
        if method.self_reads:
            given_to = given.from_outside(method.owner, code.place.module)
            names.update(f"{method.self_name}.{attr}" for attr in method.self_reads & given_to)
    return frozenset(n for n in names if isinstance(code.parameters.get(n, UNKNOWN), UnknownValue))


def _targets(statement: Statement) -> Iterator[Expr]:
    """What a statement assigns or deletes."""
    match statement:
        case Assign(targets=targets):
            for target in targets:
                yield from items_of(target)
        case Augment(target=target) | Delete(target=target):
            yield target


def _holder(expr: Expr) -> Iterator[str]:
    """What holds the attribute that an expression is, or is an item of: `x` of `x.a` and `x.a[0]`."""
    held = container(expr)
    if isinstance(held, Attribute):
        yield from _variable(held.value)


def _variable(expr: Expr) -> Iterator[str]:
    """The variable that an expression of attributes and items starts from, and that with its first attribute."""
    attr = ""
    while isinstance(expr, (Attribute, Subscript)):
        attr = f".{expr.attr}" if isinstance(expr, Attribute) else ""
        expr = expr.value
    if isinstance(expr, Name):
        yield expr.id
        yield f"{expr.id}{attr}"
