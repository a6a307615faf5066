"""Attributes that a method compiled with its instance reads, and the methods that change them later."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from jaxlint.infer.bodies.slots import Slot, changed_by
from jaxlint.infer.choosing.given import is_plain
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.changes.constant_attributes import is_constant
from jaxlint.rules.analyses.changes.harmless_reads import is_only_reshaping, is_size_of_given, returned_by_property
from jaxlint.rules.analyses.changes.items_changed import items_changed, items_read
from jaxlint.rules.analyses.changes.on_the_host import is_only_reported
from jaxlint.rules.analyses.changes.preparing import only_prepares, refuses_again
from jaxlint.rules.analyses.changes.put_back import is_put_back
from jaxlint.rules.analyses.changes.running_apart import run_apart
from jaxlint.rules.analyses.instances.methods import CONSTRUCTORS, MAKING, own_methods, run_by
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Compare,
    Conditional,
    Constant,
    Display,
    Expr,
    Name,
    Subscript,
    dotted,
    is_none,
    last_name,
    root,
)
from jaxlint.syntax.statements import (
    Assign,
    Body,
    If,
    Return,
    all_parts,
    blocks,
    bound_names,
    own_parts,
    parts,
    targets_of,
    walk,
)

#: Words with which the names of methods begin that run before an instance is used: `compile_production_model` and
#: `load_data` of ticktack in batch 76 (JAX505), jitted-bound-method/good_part_changes_itself.
_PREPARING = tuple("init setup build load restore create compile prepare configure make register".split())
#: Operators, by which instances are put together before they are used (`2.0 * loss`).
_COMPOSING = frozenset(
    f"__{prefix}{name}__"
    for prefix in ("", "r", "i")
    for name in ("add", "sub", "mul", "matmul", "truediv", "or", "and")
)
#: Calls that throw compiled programs away.
FORGETTING = frozenset({"clear_cache", "_clear_cache", "clear_caches", "clear_backends"})
#: Calls that put an array elsewhere: on another device, or into another library.
_MOVING = frozenset({"device_put", "asarray", "ascontiguousarray"})


def reads(inside: Iterable[Function], cls: PytreeClass) -> set[str]:
    """The attributes whose values some methods read, other methods left out.

    A dtype or a shape is none: what is put in the place of an array has the same.
    """
    attrs = {attr for function in inside for attr in function.self_reads - function.self_traits}
    return {attr for attr in attrs if cls.method(attr) is None}


def reading(
    attr: str, inside: Mapping[str, Function], cls: PytreeClass, evaluator: Evaluator
) -> Iterator[tuple[Function, str, Body]]:
    """Those of some methods (or functions inside of one) that read an attribute, with its path, and their bodies."""
    for name, function in inside.items():
        found = cls.method(name) if function.owner is not None else _around(function, cls)
        if found is None or attr not in (function.self_reads if function.owner is None else found[1].self_reads):
            continue
        path = f"{found[1].self_name}.{attr}"
        if function.owner is None and not function.statements:
            yield function, path, tuple(Return(value.at, value) for value in function.return_values)  # a lambda
            continue
        symbol = FunctionSymbol(found[0].module, found[1] if function.owner is not None else function)
        body = evaluator.calls.body_of(symbol)
        if body is not None:
            yield symbol.declaration, path, body


def _around(function: Function, cls: PytreeClass) -> tuple[PytreeClass, Function] | None:
    """The method of a class in which a function stands."""
    around = function.scope.removesuffix(".<locals>")
    for ancestor in cls.mro:
        method = ancestor.module.outline.functions.get(around)
        if method is not None and method.owner == ancestor.symbol.declaration.qualname:
            return ancestor, method
    return None


def _may_stand_in(attr: str, inside: Mapping[str, Function], cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether methods may read an attribute only where an argument is not given.

    That is `x if x is not None else self.x`, or `if x is None: x = self.x`, also by a property that returns it.
    """
    by = returned_by_property(attr, inside)
    others = {name: function for name, function in inside.items() if name != by}
    read = [one for name in (attr, by) if name is not None for one in reading(name, others, cls, evaluator)]
    for method, path, body in read:
        every = list(all_parts(body))
        missing = [p.orelse for p in every if isinstance(p, Conditional) and _asks(p.test, "is not", method)]
        fallback = [part for expr in missing for part in parts(expr)]
        for branch in (one for s in walk(body) if isinstance(s, If) for one in s.branches):
            fallback += all_parts(branch[1]) if _asks(branch[0], "is", method) else ()
        if sum(dotted(part) == path for part in every) > sum(dotted(part) == path for part in fallback):
            return False
    return True


def _may_only_apply(attr: str, inside: Mapping[str, Function], cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether methods may read nothing of a state but functions that no update changes.

    That is the one of its model (`apply_fn`), and what is called by the name of a static field.
    """
    static = evaluator.model.project_index.static_field_names
    for _, path, body in reading(attr, inside, cls, evaluator):
        every = list(all_parts(body))
        read = [dotted(part) for part in every]
        called = [p.func for p in every if isinstance(p, Call) and isinstance(p.func, Attribute)]
        applied = read.count(f"{path}.apply_fn")
        applied += sum(f.attr != "apply_fn" and f.attr in static and dotted(f.value) == path for f in called)
        if read.count(path) > applied:
            return False
    return True


def _may_only_fold(attr: str, inside: Mapping[str, Function], cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether methods may only fold an argument into an attribute: a key that is the first one still gives new ones."""
    for function, path, body in reading(attr, inside, cls, evaluator):
        every = list(all_parts(body))
        calls = (p for p in every if isinstance(p, Call) and last_name(p.func) == "fold_in" and len(p.positional) == 2)
        folded = [c for c in calls if dotted(c.positional[0]) == path and _takes_part(c.positional[1], function)]
        if sum(dotted(part) == path for part in every) > len(folded):
            return False
    return True


def _takes_part(expr: Expr, method: Function) -> bool:
    """Whether an argument of a method stands in an expression."""
    return any(isinstance(p, Name) and p.id != method.self_name and method.takes(p.id) for p in parts(expr))


def _reads_other_items(
    attr: str,
    changed: Sequence[set[str] | None],
    inside: Mapping[str, Function],
    cls: PytreeClass,
    evaluator: Evaluator,
) -> bool:
    """Whether it is seen what items are changed of an attribute, and methods are seen to read none of them."""
    every = set[str]()
    for items in changed:
        if items is None:
            return False
        every |= items
    return all(every.isdisjoint(items_read(path, body)) for _, path, body in reading(attr, inside, cls, evaluator))


def is_given(attr: str, holder: str, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether the compiled method, which an attribute of `self` holds, is given another one where it is called.

    Then it has the value of today, and reads the attribute itself for what does not change: a mask, a structure.
    """
    for ancestor in cls.mro:
        for function in own_methods(ancestor):
            if not {attr, holder} <= function.self_reads | function.self_calls:
                continue
            body = evaluator.calls.body_of(FunctionSymbol(ancestor.module, function)) or ()
            for call in (part for part in all_parts(body) if isinstance(part, Call)):
                if dotted(call.func) == f"{function.self_name}.{holder}":
                    if any(dotted(a.value) == f"{function.self_name}.{attr}" for a in call.args):
                        return True
    return False


def _asks(test: Expr, op: str, method: Function) -> bool:
    """Whether a test is that of `parameter is None`, or `is not`."""
    if not isinstance(test, Compare) or test.ops != (op,) or not is_none(test.comparators[0]):
        return False
    return isinstance(test.left, Name) and method.takes(test.left.id)


def _may_only_report(attr: str, inside: Mapping[str, Function], cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether methods may read an attribute only for what they print, or on the host, where it is the one of today."""
    return all(is_only_reported(path, body) for _, path, body in reading(attr, inside, cls, evaluator))


def _may_only_reshape(attr: str, inside: Mapping[str, Function], cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether an attribute is the size of what is given, and methods may only reshape by it: then they compile anew."""
    if not is_size_of_given(attr, cls):
        return False
    return all(is_only_reshaping(path, body) for _, path, body in reading(attr, inside, cls, evaluator))


#: Ways to read an attribute in which it does not matter that it is the one of the first call.
_HARMLESS = (_may_stand_in, _may_only_apply, _may_only_fold, _may_only_report, _may_only_reshape)


def is_read_harmlessly(attr: str, inside: Mapping[str, Function], cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether methods read an attribute in ways only in which the value of the first call will do."""
    return any(is_same(attr, inside, cls, evaluator) for is_same in _HARMLESS)


def is_preparing(name: str) -> bool:
    """Whether a method is named as if it ran before an instance is used."""
    return name.strip("_").startswith(_PREPARING)


def changing_method(
    attr: str, inside: Mapping[str, Function], cls: PytreeClass, evaluator: Evaluator
) -> Function | None:
    """A method (no operator) that assigns the attribute after construction, and not while the other one is traced.

    These are no changes: `self.attr = None`, which lets go of a value; `self.w, self.grid = self.train()`, where the
    traced method returns the attribute as it is; a move to a device; a change of items that the traced methods never
    read; a change of an attribute that they read only as the default of an argument, or fold into a key; a change that
    is made only before the compiled method (the first of `inside`) is called, or instead of calling it; and the
    constant that the constructor assigns as well. An attribute that the traced methods assign before they read it is
    fresh, and so is one that a method assigns for a while, for the methods that it runs.
    """
    compiled = next(iter(inside.values()))
    passing = {*inside, *called_in_construction(cls), *_COMPOSING}
    for ancestor in cls.mro:
        for function in own_methods(ancestor):
            name = function.name
            if name not in passing and not is_preparing(name):
                own = f"{function.self_name}.{attr}"
                assigned = [a.value for a in function.self_assignments if a.attr == attr and not is_none(a.value)]
                given = [v for v in assigned if v is None or not _is_moved(v, own, ancestor.module, evaluator)]
                if not given or _puts_back(given, attr, function):
                    continue
                changed = [None if v is None else items_changed(v, own, ancestor.module, evaluator) for v in given]
                if _reads_other_items(attr, changed, inside, cls, evaluator):
                    continue
                if any(_gives_back(value, attr, inside) for value in given):
                    continue
                if not (
                    refuses_again(attr, function, cls, evaluator)
                    or only_prepares(function, compiled, cls, evaluator)
                    or run_apart(function, compiled, cls, evaluator)
                ):
                    same = is_read_harmlessly(attr, inside, cls, evaluator)
                    renewed = any(_renews(attr, one, inside, cls, evaluator) for one in inside.values())
                    return None if same or renewed or is_constant(attr, cls, evaluator) else function
    return None


def _renews(
    attr: str, function: Function, inside: Mapping[str, Function], cls: PytreeClass, evaluator: Evaluator
) -> bool:
    """Whether a method assigns an attribute before it reads it, or may do so where its body is not to be seen.

    One that keeps the value in a variable, and puts it back in the end, does so for what it runs itself alone.
    """
    found = cls.method(function.name)
    if found is None or all(assignment.attr != attr for assignment in function.self_assignments):
        return False
    body = evaluator.calls.body_of(FunctionSymbol(found[0].module, function)) or ()
    puts_back = is_put_back(Slot(function.self_name or "", (attr,)), function, body)
    if puts_back:
        within = run_by(function, cls)
        if any(attr in one.self_reads and name not in within for name, one in inside.items()):
            return False
    own = f"{function.self_name}.{attr}"
    for statement in walk(body):
        targets = [item for t in targets_of(statement) for item in (t.items if isinstance(t, Display) else (t,))]
        if any(dotted(target) == own for target in targets):
            return True
        keeps = puts_back and isinstance(statement, Assign) and dotted(statement.value) == own
        if not keeps and any(dotted(part) == own for part in own_parts(statement)):
            return False
    return True


def _is_moved(value: Expr, own: str, module: Module, evaluator: Evaluator) -> bool:
    """Whether a value is the one at `own`, or the same numbers moved to a device or to another library.

    A function of the project may do the move: it returns its argument, and assigns to it nothing but the moved numbers.
    """
    if not isinstance(value, Call):
        return dotted(value) == own
    if last_name(value.func) in _MOVING:
        return bool(value.positional) and dotted(value.positional[0]) == own
    if value.has_star or all(dotted(argument.value) != own for argument in value.args):
        return False
    symbol = evaluator.model.resolver.resolve(value.func, module)
    if not isinstance(symbol, FunctionSymbol) or not is_plain(symbol.declaration):
        return False
    given, returned = value.given_to(symbol.declaration.positional), symbol.declaration.return_values[0]
    if not isinstance(returned, Name) or returned.id not in given or dotted(given[returned.id]) != own:
        return False
    name = returned.id
    for statement in walk(evaluator.calls.body_of(symbol) or ()):
        if any(not isinstance(target, Name) and dotted(root(target)) == name for target in targets_of(statement)):
            return False
        if name in bound_names(statement):
            if not isinstance(statement, Assign) or not _is_moved(statement.value, name, symbol.module, evaluator):
                return False
    return True


def is_given_again(attr: str, writer: Function, cls: PytreeClass) -> bool:
    """Whether a method takes what the constructor has taken under the same name, and works with the instance then.

    A caller that passes the same object again changes nothing. What only sets attributes is there to change them.
    """
    found = cls.method("__init__")
    if found is None or not (writer.self_calls or writer.self_reads):
        return False
    taken = {p.name for p in writer.parameters} & {p.name for p in found[1].parameters}
    stored = [a.value for one in (found[1], writer) for a in one.self_assignments if a.attr == attr]
    names = {value.id if isinstance(value, Name) else "" for value in stored}
    return len(stored) == 2 and len(names) == 1 and names <= taken


def sets_option(attr: str, function: Function) -> bool:
    """Whether a method gives an attribute nothing but literals and functions of its own: a way to compute is chosen."""
    parameters = {p.name for p in function.parameters}
    given = [assignment.value for assignment in function.self_assignments if assignment.attr == attr]
    return all(isinstance(v, Constant) or (isinstance(v, Name) and v.id not in parameters) for v in given)


def _puts_back(given: list[Expr | None], attr: str, function: Function) -> bool:
    """Whether a method gives an attribute another value for a while, and in the end what a variable has kept."""
    last = given[-1]
    parameters = {p.name for p in function.parameters}
    is_saved = isinstance(last, Name) and last.id not in parameters
    return len(given) > 1 and is_saved and attr in function.self_reads


def _gives_back(value: Expr | None, attr: str, inside: Mapping[str, Function]) -> bool:
    """Whether what is assigned is a result of one of the methods, which is the attribute of `self` as it is."""
    index = value.index if isinstance(value, Subscript) else None
    call = value.value if isinstance(value, Subscript) else value
    function = inside.get(call.func.attr) if isinstance(call, Call) and isinstance(call.func, Attribute) else None
    if function is None or len(function.return_values) != 1:
        return False
    returned: Expr | None = function.return_values[0]
    if isinstance(index, Constant) and isinstance(index.value, int):
        items = returned.items if isinstance(returned, Display) else ()
        returned = items[index.value] if index.value < len(items) else None
    return returned is not None and dotted(returned) == f"{function.self_name}.{attr}"


def begins_anew(attr: str, method: Function, body: Body, cls: PytreeClass) -> bool:
    """Whether a method gives an attribute a value of its own before it does anything else with it, by itself alone.

    What it runs may be run by another method, too, which goes on with the value.
    """
    path = f"{method.self_name}.{attr}"
    helpers = (one for one in run_by(method, cls).values() if one is not method)
    if any(attr in one.self_reads or any(a.attr == attr for a in one.self_assignments) for one in helpers):
        return False
    for statement in body:
        targets = [dotted(target) for target in targets_of(statement)]
        if blocks(statement) or path in targets or any(dotted(part) == path for part in own_parts(statement)):
            if not isinstance(statement, Assign) or targets != [path]:
                return False
            return all(dotted(part) != path for part in parts(statement.value))
    return False


def is_used_at_once(at: object, attr: str, method: Function, body: Body, cls: PytreeClass) -> bool:
    """Whether an attribute is set and then read in one block, and no method but this one reads it."""
    if any(attr in one.self_reads for c in cls.mro for one in own_methods(c) if one.name != method.name):
        return False
    path = f"{method.self_name}.{attr}"
    for index, statement in enumerate(body):
        if any(place is at for place, _ in changed_by(statement)):
            return any(dotted(part) == path for part in all_parts(body[index + 1 :]))
    return any(is_used_at_once(at, attr, method, block, cls) for statement in body for block in blocks(statement))


def is_own_alone(attr: str, method: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a method and what it runs assign an attribute and read it, and nothing else in their modules does.

    What the methods of another class call so of their own instance is another attribute.
    """
    inside = run_by(method, cls).values()
    if cls.method(attr) is not None or all(attr not in function.self_reads for function in inside):
        return False
    related = {(c.module.path, c.symbol.declaration.qualname) for c in (*cls.mro, *evaluator.model.subclasses(cls))}
    modules = {ancestor.module.path: ancestor.module for ancestor in cls.mro}
    return not any(_uses(attr, module, inside, related, evaluator) for module in modules.values())


def _uses(
    attr: str,
    module: Module,
    inside: Collection[Function],
    related: Collection[tuple[str, str]],
    evaluator: Evaluator,
) -> bool:
    """Whether a module uses an attribute of that name of anything, outside of some functions."""
    own = [function.body_rows for function in inside]
    others = [
        function
        for function in module.outline.functions.values()
        if not any(function is one for one in inside)
        and not any(first <= function.at.row <= last for first, last in own)
    ]
    read = [(evaluator.calls.top_level(module), "")]
    for one in others:
        is_apart = one.owner is not None and (module.path, one.owner) not in related
        if not is_apart and (attr in one.self_reads or any(a.attr == attr for a in one.self_assignments)):
            return True
        body = evaluator.calls.body_of(FunctionSymbol(module, one)) or ()
        read.append((body, f"{one.self_name}.{attr}" if is_apart else ""))
    every = ((part, left_out) for body, left_out in read for part in all_parts(body))
    return any(isinstance(p, Attribute) and p.attr == attr and dotted(p) != left_out for p, left_out in every)


def forgets(cls: PytreeClass) -> bool:
    """Whether a module of the class throws compiled programs away, which may be done after each change."""
    modules = {ancestor.module.path: ancestor.module for ancestor in cls.mro}
    return any(not unit.calls.isdisjoint(FORGETTING) for module in modules.values() for unit in module.outline.units)


def called_in_construction(cls: PytreeClass) -> set[str]:
    """The constructors, those of base classes too, and the methods that they call."""
    names = {*MAKING, "__setattr__"}
    for ancestor in cls.mro:
        for method in own_methods(ancestor):
            if method.name in CONSTRUCTORS:
                names |= method.self_calls
    return names


def initialised(attr: str, cls: PytreeClass) -> bool:
    """Whether the constructor, or that of a base, gives the attribute a value, and not `None` for a later one."""
    constructors = [m for ancestor in cls.mro for m in own_methods(ancestor) if m.name == "__init__"]
    if not constructors:
        return cls.field(attr) is not None
    assigned = ([a.value for a in one.self_assignments if a.attr == attr] for one in constructors)
    values = next(filter(None, assigned), [])
    return any(v is not None and not is_none(v) for v in values)
