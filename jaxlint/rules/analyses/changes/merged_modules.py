"""Modules of flax.nnx that a transformed function merges from their states, and whose new state it drops."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import msgspec
from msgspec.structs import replace

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import Instance, plain
from jaxlint.libraries.nnx import COUNTING, LASTING, MERGING, SPLITTING, TAKING_STATE, UPDATING
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.rules.analyses.changes.module_state import Code, ModuleState, StateChange
from jaxlint.rules.analyses.instances.methods import may_have
from jaxlint.rules.analyses.instances.passed import calls_as_written
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Comprehension,
    Display,
    Expr,
    Lambda,
    Name,
    Subscript,
    dotted,
    is_variable,
    last_name,
)
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    Body,
    Do,
    Return,
    Statement,
    all_parts,
    assigned_names,
    bound_by,
    bound_once,
    own_parts,
    parts,
    walk,
)

#: A module is merged, and behind that a state is taken out of one.
_TAKING = re.compile(r"\bmerge\((?:.|\n)*\b(?:state|split)\(")
#: The last names of the functions that take a state out of a module.
_TAKEN_OUT = frozenset(name.rpartition(".")[2] for name in (SPLITTING, TAKING_STATE))
#: How many methods that return what others do are followed.
_MAX_DEPTH = 4


class LostState(msgspec.Struct, frozen=True):
    """A module in a variable whose state a call changes, and that is not seen afterwards."""

    name: str
    cls: PytreeClass
    change: StateChange
    call: Call


def states_lost(code: CodeRead, rebuilt: Collection[str], evaluator: Evaluator) -> Iterator[LostState]:
    """The modules that a function merges and only calls, where a call certainly writes to variables that last.

    The states are parameters that are rebuilt, which are read for nothing else: a module shares its variables with the
    state of which it is merged, so that one that is returned carries the change, and one of outside cannot be written.
    """
    for index, name, graph in _merged(code, rebuilt, evaluator):
        calls = _only_called(name, code.body)
        cls = _class_of(graph, code, evaluator) if calls else None
        # where another function keeps the state, this one may do without on purpose
        if cls is not None and not _takes_state_out(code.place.module):
            yield from _changed(name, cls, calls, code, code.body[index + 1 :], evaluator)


def updates_lost(code: CodeRead, rebuilt: Collection[str], evaluator: Evaluator) -> Iterator[LostState]:
    """The modules that a function merges and puts new values into, and that nothing is done with behind that.

    Neither the new values nor a state that is taken out of the module before are returned.
    """
    for index, name, graph in _merged(code, rebuilt, evaluator):
        behind = code.body[index + 1 :]
        updates = [
            (n, call) for n, s in enumerate(behind) if (call := _update_of(name, s, code, evaluator)) is not None
        ]
        if not updates:
            continue
        last, call = updates[-1]
        is_used = any(is_variable(name, part) for part in all_parts(behind[last + 1 :]))
        if is_used or not _only_read(name, behind, code, evaluator):
            continue
        carrying = {p.id for a in call.args[1:] for p in parts(a.value) if isinstance(p, Name)}
        carrying |= {one for s in walk(behind) if _names_any(s, name, _TAKEN_OUT) for one in assigned_names((s,))}
        returned = [p for s in walk(behind) if isinstance(s, Return) and s.value is not None for p in parts(s.value)]
        is_returned = any(isinstance(p, Name) and p.id in carrying for p in returned)
        cls = None if is_returned else _class_of(graph, code, evaluator)
        if cls is not None:
            yield LostState(name, cls, StateChange(f"`{dotted(call.func)}` writes to it"), call)


def _update_of(name: str, statement: Statement, code: CodeRead, evaluator: Evaluator) -> Call | None:
    """The call of a statement `nnx.update(model, state)`."""
    match statement:
        case Do(value=Call(func=func, positional=(Name(id=given), _, *_)) as call) if given == name:
            library = evaluator.model.resolver.library_name(func, code.place.module, code.scope)
            return call if library == UPDATING else None
    return None


def _only_read(name: str, body: Body, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a module is called, differentiated, or given to functions of the library, and else nothing."""
    harmless: set[int] = set()
    for part in all_parts(body):
        if isinstance(part, Call):
            library = evaluator.model.resolver.library_name(part.func, code.place.module, code.scope)
            if isinstance(part.func, Call) or library in (UPDATING, SPLITTING, TAKING_STATE):
                harmless.update(id(argument.value) for argument in part.args)
            receiver = part.func
            while isinstance(receiver, (Attribute, Subscript)):
                receiver = receiver.value
            harmless.add(id(receiver))
    return all(id(part) in harmless for part in all_parts(body) if is_variable(name, part))


def _names_any(statement: Statement, name: str, functions: Collection[str]) -> bool:
    """Whether a statement calls a function of one of the names with a variable."""
    calls = [part for part in own_parts(statement) if isinstance(part, Call) and last_name(part.func) in functions]
    return any(is_variable(name, argument.value) for call in calls for argument in call.args)


def _merged(code: CodeRead, rebuilt: Collection[str], evaluator: Evaluator) -> Iterator[tuple[int, str, Name]]:
    """The modules that a function merges of states that it is given and reads for nothing else.

    Each with the index of the statement, and the graph.
    """
    bound = bound_once(code.body)
    for index, statement in enumerate(code.body):
        match statement:
            case Assign(
                targets=(Name(id=name),), value=Call(func=func, positional=(Name() as graph, _, *_)) as merging
            ):
                pass
            case Annotate(target=Name(id=name), value=Call(func=func, positional=(Name() as graph, _, *_)) as merging):
                pass
            case _:
                continue
        if merging.has_star or bound.get(name) is not merging or last_name(func) != "merge":
            continue
        if evaluator.model.resolver.library_name(func, code.place.module, code.scope) != MERGING:
            continue
        states = merging.positional[1:]
        if all(isinstance(one, Name) and one.id in rebuilt and _is_read_once(one, code.body) for one in states):
            yield index, name, graph


def _takes_state_out(module: Module) -> bool:
    """Whether a function of a file merges a module, and takes the state out of one behind that."""
    return any(may_have(_TAKING, function, module) for function in module.outline.functions.values())


def _changed(
    name: str,
    cls: PytreeClass,
    calls: list[Call],
    code: CodeRead,
    behind: Body,
    evaluator: Evaluator,
) -> Iterator[LostState]:
    """The first change of a module, by one of the calls of it or of its methods."""
    function = code.function
    assert function is not None
    own = Code.of(function, behind, code.place.module, {})
    own = replace(own, parameters=(*own.parameters, name))
    state = ModuleState(evaluator)
    for statement in behind:
        change = state.change(name, cls, replace(own, body=(statement,)))
        if change is None:
            continue
        # what is called several times may well need its state in between, and no longer
        if len(calls) == 1 and _is_run_once(calls[0], statement) and _lasts(change, cls, evaluator):
            method = calls[0].func.attr if isinstance(calls[0].func, Attribute) else "__call__"
            if not _hands_out(method, cls, change, state):
                yield LostState(name, cls, change, calls[0])
        return


def _is_run_once(call: Call, statement: Statement) -> bool:
    """Whether a call stands in a statement itself, and in no loop or function in it."""
    inside = own_parts(statement)
    repeated = [part for whole in inside if isinstance(whole, (Lambda, Comprehension)) for part in parts(whole)]
    return any(part is call for part in inside) and not any(part is call for part in repeated)


def _is_read_once(name: Name, body: Body) -> bool:
    named = [part for part in all_parts(body) if isinstance(part, Name) and part.id == name.id]
    return len(named) == 1 and name.id not in assigned_names(body)


def _only_called(name: str, body: Body) -> list[Call]:
    """The calls of a module and of its methods, if nothing else is done with the variable."""
    calls: list[Call] = []
    called: set[int] = set()
    for part in all_parts(body):
        if isinstance(part, Call):
            receiver = part.func
            while isinstance(receiver, (Attribute, Subscript)):
                receiver = receiver.value
            if isinstance(receiver, Name) and receiver.id == name:
                calls.append(part)
                called.add(id(receiver))
    targets = {id(p) for s in walk(body) for target in bound_by(s) for p in parts(target)}
    named = [p for p in all_parts(body) if isinstance(p, Name) and p.id == name]
    others = [p for p in named if id(p) not in called and id(p) not in targets]
    return [] if others else calls


# -- what the graph is one of ------------------------------------------------------------------------


def _class_of(graph: Name, code: CodeRead, evaluator: Evaluator) -> PytreeClass | None:
    """The class of the module of which a graph was split, by all that the variable may be given."""
    module = code.place.module
    around = [f for f in code.place.functions if f is not code.function]
    for function in (f for f in (code.function, *reversed(around)) if f is not None):
        body = code.body if function is code.function else evaluator.calls.body_of(FunctionSymbol(module, function))
        if graph.id in assigned_names(body or ()):
            return _split_in(body or (), graph.id, function, module, evaluator)
        if function.takes(graph.id):
            return _given(graph.id, function, module, evaluator)
    return _split_in(evaluator.calls.top_level(module), graph.id, None, module, evaluator)


def _given(name: str, function: Function, module: Module, evaluator: Evaluator) -> PytreeClass | None:
    """The class that all callers of a function agree on."""
    found: set[PytreeClass | None] = set()
    for called in calls_as_written(function, module, (module, *evaluator.model.importers(module)), evaluator):
        given = called.given.get(name)
        if not isinstance(given, Name):
            return None
        caller = called.caller
        body = None if caller is None else evaluator.calls.body_of(FunctionSymbol(called.module, caller))
        if body is None or given.id not in assigned_names(body):
            caller, body = None, evaluator.calls.top_level(called.module)
        found.add(_split_in(body, given.id, caller, called.module, evaluator))
    return found.pop() if len(found) == 1 else None


def _split_in(
    body: Body, graph: str, function: Function | None, module: Module, evaluator: Evaluator
) -> PytreeClass | None:
    """The class of the modules of which `graph, state = nnx.split(model)` takes a graph, wherever a body binds it."""
    scope = "" if function is None else function.inner_scope
    found: set[PytreeClass | None] = set()
    for statement in walk(body, nested=False):
        if not any(isinstance(p, Name) and p.id == graph for target in bound_by(statement) for p in parts(target)):
            continue
        match statement:
            case Assign(
                targets=(Display(items=(Name(id=first), *_)),), value=Call(func=func, positional=(model, *_))
            ) if first == graph and evaluator.model.resolver.library_name(func, module, scope) == SPLITTING:
                found.add(_class_in(model, graph, body, function, module, evaluator))
            case _:
                return None
    return found.pop() if len(found) == 1 else None


def _class_in(
    model: Expr, graph: str, body: Body, function: Function | None, module: Module, evaluator: Evaluator
) -> PytreeClass | None:
    """The class of a module: of what makes it, if it is made once and otherwise merged from its own graph."""
    scope = "" if function is None else function.inner_scope
    made = [model]
    if isinstance(model, Name):
        bound = [
            s
            for s in walk(body, nested=False)
            if any(isinstance(p, Name) and p.id == model.id for target in bound_by(s) for p in parts(target))
        ]
        if not bound and function is not None and function.takes(model.id):
            held = plain(evaluator.parameter(function, model.id, module))
            return held.cls if isinstance(held, Instance) else None
        if not all(isinstance(s, Assign) and isinstance(s.targets[0], Name) for s in bound):
            return None
        made = [s.value for s in bound if isinstance(s, Assign) and not _is_merged(s.value, graph)]
    if len(made) != 1 or not isinstance(made[0], Call):
        return None
    cls = evaluator.model.class_of_symbol(evaluator.model.resolver.resolve(made[0].func, module, scope))
    return cls if cls is not None and cls.framework.is_stateful else None


def _is_merged(value: Expr, graph: str) -> bool:
    match value:
        case Call(func=func, positional=(Name(id=name), *_)):
            return name == graph and last_name(func) == "merge"
    return False


# -- what is written -----------------------------------------------------------------------------------


def _lasts(change: StateChange, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether what is written is a variable that is kept from call to call, or a layer that has such ones."""
    if change.held is not None and cls.framework.is_stateful:
        inner, _, changed = change.held
        return _lasts(changed, inner, evaluator)
    found = cls.method("__init__")
    if found is None or not change.attr:
        return False
    owner, init = found
    values = [a.value for a in init.self_assignments if a.attr == change.attr]
    return bool(values) and all(
        isinstance(value, Call) and _makes_lasting(Placed(value.func, owner.module, init.inner_scope), evaluator)
        for value in values
    )


def _makes_lasting(placed: Placed, evaluator: Evaluator) -> bool:
    resolver = evaluator.model.resolver
    name = resolver.library_name(placed.expr, placed.module, placed.scope)
    if name in LASTING or name in COUNTING:
        return True
    symbol = resolver.follow(resolver.resolve(placed.expr, placed.module, placed.scope))
    if name or not isinstance(symbol, ClassSymbol):
        return False
    scope = symbol.declaration.scope
    return any(resolver.library_name(base.value, symbol.module, scope) in LASTING for base in symbol.declaration.bases)


def _hands_out(name: str, cls: PytreeClass, change: StateChange, state: ModuleState, depth: int = 0) -> bool:
    """Whether a method may return the state that is written, what another one returns of it, or no more than that."""
    found = cls.method(name)
    if found is None or depth > _MAX_DEPTH:
        return True
    if change.held is not None and _hands_out(change.held[1], change.held[0], change.held[2], state, depth + 1):
        return True
    owner, method = found
    own = method.self_name
    body = state.evaluator.calls.body_of(FunctionSymbol(owner.module, method)) or ()
    if own is None or state.comes_back(own, cls, change, Code.of(method, body, owner.module, {})):
        return True
    given = {p.name for p in method.parameters if p.name != own} | assigned_names(body)
    pending, seen = list(method.return_values), set[str]()
    while pending:
        value = pending.pop()
        held = list(parts(value))
        if isinstance(value, Display):
            pending += value.items
        elif isinstance(value, Name) and value.id not in seen:
            seen.add(value.id)
            pending += _values_of(value.id, body)
        elif _reads(value, change.attr):
            return True
        elif any(_reads(part, change.attr) for part in held):
            if not any(isinstance(part, Name) and part.id in given for part in held):
                return True
        called = (_own_method(part, own, cls) for part in held)
        if any(_hands_out(one, cls, change, state, depth + 1) for one in called if one is not None):
            return True
    return False


def _values_of(name: str, body: Body) -> list[Expr]:
    """All that a variable may be given in a body, as a whole or as a part of it."""
    return [
        statement.value
        for statement in walk(body)
        if isinstance(statement, Assign) and name in assigned_names((statement,))
    ]


def _own_method(expr: Expr, own: str, cls: PytreeClass) -> str | None:
    """The method of the module itself that an expression calls."""
    match expr:
        case Call(func=Name(id=name)) if name == own:
            return "__call__"
        case Call(func=Attribute(value=Name(id=name), attr=attr)) if name == own and cls.method(attr) is not None:
            return attr
    return None


def _reads(value: Expr, attr: str) -> bool:
    """Whether an expression is an attribute or what it holds: `self.count`, `self.count.value`, `self.count[...]`."""
    while isinstance(value, (Attribute, Subscript)):
        if isinstance(value, Attribute) and value.attr == attr:
            return True
        value = value.value
    return isinstance(value, Call) and isinstance(value.func, Attribute) and _reads(value.func.value, attr)
