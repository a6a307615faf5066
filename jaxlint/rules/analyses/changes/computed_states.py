"""Calls of functions that do nothing but compute another state of one that they are given: dropped, that is lost."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Discard, Replace
from jaxlint.infer.known.values import Container, Instance, Value, plain
from jaxlint.libraries.transforms import TRANSFORMS
from jaxlint.libraries.trees import TREE_MAPS
from jaxlint.libraries.updates import COPYING_NAMES, REPLACE_FUNCTIONS, UPDATE_FUNCTIONS, UPDATE_METHODS
from jaxlint.project.resolution import ClassSymbol, External, FunctionSymbol
from jaxlint.pytrees.stubs import is_stub
from jaxlint.rules.analyses.changes.only_run import is_measured_in
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.analyses.instances.methods import MAKING, is_overridden
from jaxlint.rules.analyses.instances.passed import given_by
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Conditional, Display, Expr, Name, dotted, last_name, root, same
from jaxlint.syntax.names_read import names_read
from jaxlint.syntax.statements import Assign, Body, Do, Return, assigned_names, bound_names, target_names, walk

#: Through how many functions that call each other it is followed what makes a state.
_DEEPEST = 4


def drops_states(candidate: Candidate) -> bool:
    """Whether code drops what a function of the project returns that is given something, or a method of a pytree."""
    resolver, index = candidate.given.model.resolver, candidate.given.model.project_index
    for name in candidate.unit.discards:
        if name in index.method_calls:
            return True
        if name in candidate.module.outline.module_scope.bindings:
            symbol = resolver.follow(resolver.resolve_name(name, candidate.module))
            if isinstance(symbol, FunctionSymbol) and symbol.declaration.return_values:
                return bool(symbol.declaration.parameters)
    return False


def computed_by(call: Call, code: CodeRead, evaluator: Evaluator) -> Replace | None:
    """The update that a call is, if its function does nothing but to compute another state of one that it is given.

    What it was computed of is read again after that, and the function is not called once more for its result.
    """
    if any(isinstance(event, Discard) and event.update.call is call for event in code.events):
        return None
    if code.function is not None and code.function.name in MAKING:
        return None  # what is being made is not put in another's place
    instances = LocalInstances.of(code, evaluator)
    symbol = _called(call.func, code, instances, evaluator)
    if symbol is None or is_stub(symbol.module):
        return None
    body = evaluator.calls.body_of(symbol)
    states = [] if body is None else list(_states(call, symbol.declaration, body, instances))
    if body is None or not states or not _goes_on(call, states[0][0], code):
        return None
    if code.function is None and is_measured_in(code.body, call, code.place, evaluator):
        return None
    made = instances.value(call)
    given, instance = next(((e, i) for e, i in states if _is_another(made, i)), (None, None))
    if given is None or instance is None or not _Makes(evaluator).function(symbol):
        return None
    if not evaluator.calls.effects.has_none(symbol):
        return None
    beside, name = isinstance(made, Container), symbol.declaration.name
    return Replace(call.at, code.place, call, given, instance, name, (), False, False, beside=beside, by=symbol)


def _called(func: Expr, code: CodeRead, instances: LocalInstances, evaluator: Evaluator) -> FunctionSymbol | None:
    """The function, or method of what a variable certainly is, that is called and returns what its body does."""
    symbol = evaluator.model.resolver.resolve(func, code.place.module, code.scope)
    if not isinstance(symbol, FunctionSymbol):
        receiver = plain(instances.value(func.value)) if isinstance(func, Attribute) else None
        found = (
            receiver.cls.method(func.attr) if isinstance(receiver, Instance) and isinstance(func, Attribute) else None
        )
        if found is None or not isinstance(receiver, Instance) or is_overridden(found[1].name, receiver, evaluator):
            return None
        symbol = FunctionSymbol(found[0].module, found[1])
        if symbol.declaration.self_name is None:
            return None
    elif symbol.declaration.owner is not None:
        return None
    function = symbol.declaration
    if function.is_generator or function.is_async or not function.return_values:
        return None
    plainly = evaluator.model.updating_methods.only_compiles_or_maps(function, symbol.module)
    return symbol if plainly and not evaluator.calls.transformed.is_wrapped(function, symbol.module) else None


def _states(call: Call, function: Function, body: Body, instances: LocalInstances) -> Iterator[tuple[Expr, Instance]]:
    """The variables and attributes that a call gives to a function which reads them, if they hold instances."""
    for name, expr in given_by(call, function).items():
        instance = plain(instances.value(expr)) if _is_read(name, body) and dotted(expr) is not None else None
        if isinstance(instance, Instance) and instance.cls.is_pytree:
            yield expr, instance


def _goes_on(call: Call, given: Expr, code: CodeRead) -> bool:
    """Whether code reads what a call is given after it, and takes no result of the same function then."""
    end, base = place_of(call.at).end_row, root(given)
    later = [part for part in code.parts if place_of(part.at).row > end]
    if not any(isinstance(part, Name) and same(part, base) for part in later):
        return False
    alone = {id(s.value) for s in code.statements if isinstance(s, Do)}
    return not any(isinstance(p, Call) and same(p.func, call.func) and id(p) not in alone for p in later)


def _is_another(made: Value, instance: Instance) -> bool:
    """Whether a value is an instance of the same class, or a tuple that has one."""
    if isinstance(made, Container):
        return made.kind == "tuple" and any(_is_another(plain(item), instance) for item in made.items or ())
    return isinstance(made, Instance) and made.cls.symbol.key == instance.cls.symbol.key


def _is_read(name: str, body: Body) -> bool:
    """Whether a parameter is read as it is given, and not bound to something else before."""
    first = next((s for s in body if name in names_read((s,)) or name in assigned_names((s,))), None)
    return first is not None and name in names_read((first,))


class _Makes:
    """Tells whether functions return something that is made there, or what they are given, and not that alone."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self._asked: list[FunctionSymbol] = []

    def function(self, symbol: FunctionSymbol) -> bool:
        """Whether it is so of a function."""
        if len(self._asked) >= _DEEPEST or any(one.key == symbol.key for one in self._asked):
            return False
        body = self.evaluator.calls.body_of(symbol)
        if body is None or not any(_is_read(parameter.name, body) for parameter in symbol.declaration.parameters):
            return False
        self._asked.append(symbol)
        try:
            returned = [s.value for s in walk(body, nested=False) if isinstance(s, Return)]
            items = [v.items if isinstance(v, Display) and v.kind == "tuple" else (v,) for v in returned]
            found = [[self._made(item, body, ()) for item in some if item is not None] for some in items]
        finally:
            self._asked.pop()
        return any(True in some for some in found) and all(True in some or None in some for some in found)

    def _made(self, expr: Expr, body: Body, within: tuple[str, ...]) -> bool | None:
        """Whether an expression of a body is made there; None if it is a parameter as it is given."""
        match expr:
            case Name(id=name):
                return self._variable(name, body, within)
            case Conditional(body=one, orelse=other):
                found = {self._made(one, body, within), self._made(other, body, within)}
                return False if False in found else True in found or None
            case Call(func=func):
                copied = _copied(expr)
                return self._by(func) and (copied is None or self._made(copied, body, within) is not False)
        return False

    def _variable(self, name: str, body: Body, within: tuple[str, ...]) -> bool | None:
        if name in within:
            return None
        found: set[bool | None] = {None} if self._asked[-1].declaration.takes(name) else set()
        for statement in walk(body, nested=False):
            match statement:
                case Assign(targets=targets, value=value) if name in bound_names(statement):
                    is_whole = all(isinstance(t, Name) or name not in target_names(t) for t in targets)
                    is_given = is_whole or isinstance(value, Call)  # of a call, a part is made there, too
                    found.add(is_given and self._made(value, body, (*within, name)))
                case _ if name in bound_names(statement):
                    return False
        return False if False in found or not found else True in found or None

    def _by(self, func: Expr) -> bool:
        """Whether what is called makes something: a class, an update, a map of a tree, or a function that does."""
        asked = self._asked[-1]
        symbol = self.evaluator.model.resolver.resolve(func, asked.module, asked.declaration.inner_scope)
        match symbol:
            case ClassSymbol():
                return True
            case FunctionSymbol():
                return self.function(symbol)
            case External(name=name):
                runs = name in TRANSFORMS and TRANSFORMS[name].runs
                return runs or name in TREE_MAPS or name in REPLACE_FUNCTIONS or name in UPDATE_FUNCTIONS
        if isinstance(func, Attribute):
            updating = self.evaluator.model.project_index.updating_method_names
            return func.attr == "__class__" or func.attr in UPDATE_METHODS or func.attr in updating
        return isinstance(func, Call) and dotted(func.func) == "type"


def _copied(call: Call) -> Name | None:
    """The variable of which a call makes a copy with changes."""
    if last_name(call.func) not in COPYING_NAMES:
        return None
    copied = call.positional[0] if call.positional else call.func.value if isinstance(call.func, Attribute) else None
    return copied if isinstance(copied, Name) else None
