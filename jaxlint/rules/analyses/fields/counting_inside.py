"""What counts inside of one call of a compiled function and does not come out: each call counts from the same value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, Construct, FieldEvent, Replace
from jaxlint.libraries import linen
from jaxlint.libraries.transforms import Kind
from jaxlint.libraries.updates import COPYING_NAMES
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    BoolOp,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Constant,
    Display,
    Expr,
    Name,
    Span,
    Starred,
    Subscript,
    Unary,
    dotted,
    is_given,
    last_name,
)
from jaxlint.syntax.statements import (
    Assign,
    Body,
    Do,
    Outer,
    Return,
    Statement,
    all_parts,
    assigned_names,
    bound_by,
    bound_names,
    expressions,
    parts,
    target_names,
    walk,
)

#: How many methods that call each other are looked into.
_FAR = 3


class Counting(msgspec.Struct, frozen=True):
    """What counts in a function: the calls that do, and the field."""

    counts: Callable[[Call], bool]
    field: str
    #: The items that count of the tuple which such a call gives; None for all that it gives.
    items: frozenset[int] | None = None
    #: A variable that is changed in place.
    changed: str = ""
    #: Whether such a call changes what it is given.
    in_place: bool = False
    #: Which methods of what counts certainly return something else that is computed.
    computes: Callable[[str], bool] = lambda _: False


def ends_with_its_call(event: FieldEvent, field: str, evaluator: Evaluator) -> bool:
    """Whether a function that is compiled, or a method of a module of flax.linen, does not return what counts in it.

    Then each call counts from the same value: the layers that it goes through, say.
    """
    module, functions = event.place.module, event.place.functions
    if not functions:
        return False
    is_alone = len(functions) == 1
    if isinstance(event, AssignAttribute) and not is_alone:
        return False  # what is changed may be a variable of the function around
    owner = event.place.owner
    is_of_linen = is_alone and owner is not None and evaluator.inherits(owner, linen.MODULE)
    if not is_of_linen and not _is_compiled(functions[-1], module, evaluator):
        return False
    return keeps_inside(functions[-1], _counting(event, field, evaluator), module, evaluator)


def ends_with_the_call(event: FieldEvent, field: str, evaluator: Evaluator) -> bool:
    """Whether only compiled functions of the module call the one that counts, and none of them returns what counts."""
    module, function = event.place.module, event.place.functions[0]
    if any(event.place.applied(one) for one in event.place.functions):
        return False
    callers = _callers(function, module, evaluator)
    if not callers:
        return False
    inside = _counting(event, field, evaluator)
    counting = Counting(
        lambda call: last_name(call.func) == function.name,
        field,
        _items(function, inside, module, evaluator),
        in_place=isinstance(event, AssignAttribute),
        computes=inside.computes,
    )
    return all(
        _is_compiled(caller, module, evaluator) and keeps_inside(caller, counting, module, evaluator)
        for caller in callers
    )


def stays_in_variable(event: FieldEvent, field: str, evaluator: Evaluator) -> bool:
    """Whether a function keeps the copy that counts in a variable of its own, and neither stores nor returns it.

    Each call begins with what it is given, and counts to the same value. So it does where the copy is not even kept,
    but a method of it called on the spot.
    """
    if isinstance(event, AssignAttribute) or len(event.place.functions) != 1:
        return False
    module, function = event.place.module, event.place.functions[0]
    body = evaluator.calls.body_of(FunctionSymbol(module, function)) or ()
    at = place_of(event.call.at)
    made = [s for s in walk(body) if isinstance(s, Assign) and place_of(s.value.at) == at]
    if function.is_generator or not (len(made) == 1 or _is_returned_from(at, body)):
        return False
    if isinstance(event, Replace) and (event.base is None or not _is_another_variable(event.base, made)):
        return False
    counting = _counting(event, field, evaluator)
    names = _counting_names(body, counting)
    if any(_may_store(statement, names) for statement in walk(body)):
        return False
    return not function.return_values or keeps_inside(function, counting, module, evaluator)


def _is_another_variable(base: Expr, made: list[Assign]) -> bool:
    """Whether a copy is bound to another variable than the one that it is a copy of."""
    name = dotted(base)
    return name is not None and "." not in name and not any(name in bound_names(one) for one in made)


def _is_returned_from(at: Span, body: Body) -> bool:
    """Whether a `return` holds a place."""
    return any(isinstance(s, Return) and place_of(s.at).holds(at) for s in walk(body))


def _may_store(statement: Statement, names: Collection[str]) -> bool:
    """Whether a statement may put what some variables hold where it outlasts a call."""
    match statement:
        case Outer():
            return True
        case Do(value=value):
            return any(isinstance(part, Name) and part.id in names for part in parts(value))
        case Assign(targets=targets, value=value):
            is_inside = all(isinstance(target, (Name, Display)) for target in targets)
            return not is_inside and any(isinstance(part, Name) and part.id in names for part in parts(value))
    return False


def keeps_inside(function: Function, counting: Counting, module: Module, evaluator: Evaluator) -> bool:
    """Whether a function returns nothing that the calls which count in it go into or come out of."""
    if not function.return_values:
        return False
    body = evaluator.calls.body_of(FunctionSymbol(module, function)) or ()
    names = _counting_names(body, counting)
    if len(function.return_values) == 1 and body and isinstance(body[-1], Return):
        names -= _set_back(body, counting)
    return all(
        _is_computed(value, counting, names) or _is_array(value, function, module, evaluator)
        for value in function.return_values
    )


def _is_array(value: Expr, function: Function, module: Module, evaluator: Evaluator) -> bool:
    """Whether a function of jax.numpy computes what a function returns."""
    if not isinstance(value, Call):
        return False
    name = evaluator.model.resolver.library_name(value.func, module, function.inner_scope)
    return name.startswith("jax.numpy.")


def _counting(event: FieldEvent, field: str, evaluator: Evaluator) -> Counting:
    """What an event counts where it stands."""
    computes = _methods_that_compute(event, field, evaluator)
    if isinstance(event, AssignAttribute):
        changed = (event.receiver_text or "").partition(".")[0]
        return Counting(lambda _: False, field, changed=changed, computes=computes)
    at = place_of(event.call.at)
    return Counting(lambda call: place_of(call.at) == at, field, computes=computes)


def _methods_that_compute(
    event: FieldEvent, field: str, evaluator: Evaluator, far: int = _FAR
) -> Callable[[str], bool]:
    """Which methods of an instance certainly return nothing that holds it, but what is computed from its parts."""
    cls = event.cls.cls if isinstance(event, Construct) else event.receiver.cls

    def computes(name: str) -> bool:
        found = cls.method(name) if far else None
        if found is None or found[1].self_name is None:
            return False
        inner = _methods_that_compute(event, field, evaluator, far - 1)
        counting = Counting(lambda _: False, field, changed=found[1].self_name, computes=inner)
        return keeps_inside(found[1], counting, found[0].module, evaluator)

    return computes


def _callers(function: Function, module: Module, evaluator: Evaluator) -> list[Function]:
    """The functions that call one, as far as names tell; none if something else may do so, or may be handed it."""
    others = evaluator.model.importers(module)
    if any(function.name in unit.calls for other in others for unit in other.outline.units):
        return []
    applying = (part for one in module.outline.applying for part in parts(one.call))
    outside = (part for call in module.outline.module_calls for part in parts(call))
    if any(last_name(part) == function.name for some in (applying, outside) for part in some):
        return []
    callers: list[Function] = []
    for caller in module.outline.functions.values():
        body = evaluator.calls.body_of(FunctionSymbol(module, caller)) or ()
        every = list(all_parts(body))
        named = [part for part in every if last_name(part) == function.name]
        called = [part for part in every if isinstance(part, Call) and last_name(part.func) == function.name]
        if len(named) > len(called):
            return []
        if called:
            callers.append(caller)
    return callers


def _is_compiled(function: Function, module: Module, evaluator: Evaluator) -> bool:
    """Whether a function runs compiled: it is transformed by `jit` and by nothing else, or one around it is."""
    around: Function | None = function
    while around is not None:
        applied = evaluator.calls.transformed.of(around, module)
        if applied and all(one.transform.kind is Kind.JIT for one in applied):
            return True
        around = module.outline.function_of(around.scope)
    return False


def _items(function: Function, counting: Counting, module: Module, evaluator: Evaluator) -> frozenset[int] | None:
    """The items that count of the tuples which a function returns; None if it returns something else as well."""
    body = evaluator.calls.body_of(FunctionSymbol(module, function)) or ()
    names, found = _counting_names(body, counting), set[int]()
    for value in function.return_values:
        if not isinstance(value, Display) or any(isinstance(item, Starred) for item in value.items):
            return None
        found |= {n for n, item in enumerate(value.items) if not _is_computed(item, counting, names)}
    return frozenset(found)


def _counting_names(body: Body, counting: Counting) -> set[str]:
    """The variables of a function that may hold what counts."""
    calls = [part for part in all_parts(body) if isinstance(part, Call) and counting.counts(part)]
    names = {counting.changed}
    if counting.in_place:
        names |= {a.value.id for call in calls for a in call.args if isinstance(a.value, Name)}
    known = 0
    while known < len(names):
        known = len(names)
        for statement in walk(body):
            if not _is_another(statement, counting, names):
                names.update(_bound_to_it(statement, counting, names))
    return names


def _bound_to_it(statement: Statement, counting: Counting, names: Collection[str]) -> Iterator[str]:
    """The variables that a statement binds to what counts, or to something that may hold it."""
    match statement:
        case Assign(targets=(Display(items=items),), value=Call() as call) if counting.items and counting.counts(call):
            if not any(isinstance(item, Starred) for item in items):
                for number, item in enumerate(items):
                    yield from target_names(item) if number in counting.items else ()
                return
    targets = bound_by(statement)
    given = (expr for expr in expressions(statement) if not any(expr is target for target in targets))
    if targets and not all(_is_computed(expr, counting, names) for expr in given):
        yield from (name for target in targets for name in target_names(target))


def _set_back(body: Body, counting: Counting) -> set[str]:
    """The variables that hold, in the end, a copy in which the field has been set to something else."""
    found: set[str] = set()
    for statement in body:
        found -= assigned_names((statement,))
        match statement:
            case Assign(targets=(Name(id=name),), value=Call() as call) if _sets(call, counting):
                found.add(name)
    return found


def _sets(call: Call, counting: Counting) -> bool:
    """Whether a call makes a copy with another value of the field, and does not count itself."""
    is_copy = last_name(call.func) in COPYING_NAMES and call.keyword(counting.field) is not None
    return is_copy and not counting.counts(call)


def _is_another(statement: Statement, counting: Counting, names: Collection[str]) -> bool:
    """Whether a variable that does not count is bound to what a function makes of it and of what counts."""
    match statement:
        case Assign(targets=(Name(id=name),), value=Call() as call) if name not in names:
            return is_given(name, call) and not counting.counts(call)
    return False


def _is_computed(value: Expr, counting: Counting, names: Collection[str]) -> bool:
    """Whether an expression certainly holds no counting instance, at most values computed from its attributes."""
    match value:
        case Name(id=name):
            return name not in names
        case Attribute():
            return dotted(value) is not None
        case Binary(left=left, right=right):
            return _is_computed(left, counting, names) and _is_computed(right, counting, names)
        case Unary(operand=operand):
            return _is_computed(operand, counting, names)
        case BoolOp(left=one, right=other) | Conditional(body=one, orelse=other):
            return _is_computed(one, counting, names) and _is_computed(other, counting, names)
        case Comprehension(key=key, element=element, clauses=clauses):
            made = (element, *(() if key is None else (key,)), *(clause.iterable for clause in clauses))
            return all(_is_computed(one, counting, names) for one in made)
        case Display(items=items):
            return all(_is_computed(item, counting, names) for item in items)
        case Subscript(value=held):
            return _is_computed(held, counting, names)
        case Call(func=func, args=args):
            if counting.counts(value):
                return False
            if _sets(value, counting):
                return True
            if isinstance(func, Attribute) and not _is_computed(func.value, counting, names):
                if not counting.computes(func.attr):
                    return False  # a method may return its instance
            return all(_is_computed(argument.value, counting, names) for argument in args)
    return isinstance(value, (Constant, Compare))
