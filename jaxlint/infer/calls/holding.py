"""What calls hand on: to the attributes of ordinary classes, and through functions that say nothing of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from jaxlint.infer.bodies.expecting import swallows_what_it_runs
from jaxlint.infer.calls.passing import worth_passing
from jaxlint.infer.evaluating.events import KeywordValue
from jaxlint.infer.evaluating.notes import Notes
from jaxlint.infer.known.deferred import Values, known
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.values import (
    UNKNOWN,
    Container,
    FunctionValue,
    Instance,
    UnknownValue,
    Value,
    element_of,
    known_entries,
    plain,
)
from jaxlint.libraries.transforms import CONTEXT_MANAGER, TRANSFORMS, WRAPPERS, Returns
from jaxlint.project.index import Key
from jaxlint.project.resolution import External, FunctionSymbol, ValueSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.stubs import is_stub
from jaxlint.symbols.outline import Assignment, Binding, Function, Parameter, names_by_position
from jaxlint.syntax.expressions import Call, Constant, Expr, Name, Subscript, last_name
from jaxlint.syntax.statements import Body, FunctionDefinition, Return, assigned_names, bound_once, walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from jaxlint.infer.evaluating.evaluate import Evaluator

#: Decorators by which another function may run, by what it is given.
_DISPATCHING = frozenset({"functools.singledispatch", "functools.singledispatchmethod"})


class Holding:
    """Tells what calls hand on; an evaluator of calls does."""

    evaluator: Evaluator
    model: PytreeModel
    notes: Notes
    body_of: Callable[[FunctionSymbol], Body | None]
    note_call: Callable[[FunctionSymbol, dict[str, Value], Function | None], None]
    #: The functions of other modules whose calls are listened to.
    watched: frozenset[Key]
    #: Whether the names of modules leave open, as annotations, what something is.
    _open: dict[tuple[str, str], bool]

    def stored_parameters(self, cls: PytreeClass) -> Mapping[str, str]:
        """The fields that hold what the constructor of a class is given, as it is, by the names of its parameters."""
        raise NotImplementedError

    def returned(self, function: FunctionValue) -> Value:
        """What calling a function of the project returns."""
        raise NotImplementedError

    def note_passed(self, function: FunctionSymbol, bound: dict[str, Value], unclear: Sequence[Parameter]) -> None:
        """Note what a call passes to a function that is read; a star leaves unclear which parameters it fills."""
        place, notes = self.notes.place, self.notes
        if place is None or not notes.tells_calls:
            return
        if function.key in self.watched and not notes.expected:
            self.note_call(function, {p.name: UNKNOWN for p in unclear} or bound, place.function)
        elif bound and function.module is place.module:
            self.note_call(function, bound, place.function)

    def held(self, cls: PytreeClass, call: Call, values: Values) -> tuple[tuple[str, Value], ...]:
        """The attributes that a constructor call of an ordinary class sets from its arguments, with their values."""
        place = self.notes.place
        if cls.is_pytree or place is None or not call.args or call.has_star or is_stub(cls.module):
            return ()
        init = constructor_of(cls)
        is_watched = init is not None and init.key in self.watched and not self.notes.expected
        is_noted = is_watched or (self.notes.events is not None and cls.module is place.module)
        stored = self.stored_parameters(cls)
        given = {one.name: plain(one.value) for one in self._bind(cls, call, values) if is_noted or one.name in stored}
        if init is not None and is_noted and self.notes.tells_calls:
            self.note_call(init, given, place.function)
        in_fields = {name: value for name, value in given.items() if name in stored}
        return tuple((stored[name], value) for name, value in sorted(worth_passing(in_fields).items()))

    def _bind(self, cls: PytreeClass, call: Call, values: Values) -> list[KeywordValue]:
        """The arguments of a constructor call, by parameter name."""
        parameters = cls.constructor()
        if parameters is None or any(a.star == "*" for a in call.args):
            positional: list[str] = []
        else:
            positional = names_by_position(parameters)
        out: list[KeywordValue] = []
        index = 0
        for arg, held in zip(call.args, values.held, strict=True):
            if arg.keyword is not None:
                out.append(KeywordValue(arg.keyword, arg.at, held))
            elif not arg.star:
                if index < len(positional):
                    out.append(KeywordValue(positional[index], arg.at, held))
                index += 1
            elif arg.star == "**":
                out += [KeywordValue(k, arg.at, v) for k, v in (known_entries(known(held)) or {}).items()]
        return out

    def entered(self, expr: Expr, env: Environment) -> Value:
        """What `with expr as target` gives to the target, as far as functions of the project tell."""
        if not isinstance(expr, Call):
            return UNKNOWN
        with self.notes.muted():
            manager = plain(self.evaluator.evaluate(expr, env))
            if isinstance(manager, Instance):
                found = None if manager.cls.is_pytree else manager.cls.method("__enter__")
                if found is None or is_stub(found[0].module):
                    return UNKNOWN
                return self.returned(FunctionValue(FunctionSymbol(found[0].module, found[1]), manager))
            if not isinstance(manager, Container) or self._managing(expr, env) is None:
                return UNKNOWN
        return element_of(manager)

    def _managing(self, call: Call, env: Environment) -> FunctionSymbol | None:
        """The function of the project, with `@contextmanager`, that a call makes a context manager of."""
        func = plain(self.evaluator.evaluate(call.func, env))
        if not isinstance(func, FunctionValue):
            return None
        declaration, module = func.symbol.declaration, func.symbol.module
        names = [self.model.resolver.resolve(d, module, declaration.scope) for d in declaration.decorators]
        return func.symbol if External(CONTEXT_MANAGER) in names else None

    def swallows(self, expr: Expr, env: Environment) -> bool:
        """Whether `with expr:` goes on behind its body where that fails, as a class or function of the project says."""
        if not isinstance(expr, Call):
            return False
        with self.notes.muted():
            manager = plain(self.evaluator.evaluate(expr, env))
            if isinstance(manager, Instance):
                found = None if manager.cls.is_pytree else manager.cls.method("__exit__")
                returned = () if found is None or is_stub(found[0].module) else found[1].return_values
                return any(not isinstance(value, Constant) or value.value is True for value in returned)
            symbol = self._managing(expr, env)
        body = None if symbol is None else self.body_of(symbol)
        return body is not None and swallows_what_it_runs(body)

    def same_as_given(self, function: FunctionSymbol, parameters: Sequence[Parameter], given: Sequence[Value]) -> Value:
        """What a function is given for the parameter that is annotated like its result, with a `TypeVar`."""
        returns = function.declaration.returns
        if not isinstance(returns, Name):
            return UNKNOWN
        same = [
            value
            for parameter, value in zip(parameters, given, strict=False)
            if isinstance(parameter.annotation, Name) and parameter.annotation.id == returns.id
        ]
        symbol = self.model.resolver.resolve(returns, function.module, function.declaration.scope) if same else None
        made = symbol.assignment.value if isinstance(symbol, ValueSymbol) else None
        if len(same) != 1 or not isinstance(symbol, ValueSymbol) or not isinstance(made, Call):
            return UNKNOWN
        maker = self.model.resolver.resolve(made.func, symbol.module, symbol.scope)
        return same[0] if maker == External("typing.TypeVar") else UNKNOWN

    def says_nothing(self, parameter: Parameter, function: FunctionSymbol) -> bool:
        """Whether the annotation of a parameter leaves open what it is: `Any`, `Callable`, a free `TypeVar`."""
        annotation = parameter.annotation
        if type(annotation) is Subscript and last_name(annotation.value) == "Callable":
            return isinstance(
                self.evaluator.parameter(function.declaration, parameter.name, function.module), UnknownValue
            )
        if type(annotation) is not Name or parameter.default is not None:
            return False
        place = (function.module.path, annotation.id)
        is_open = self._open.get(place)
        if is_open is None:
            bindings = function.module.outline.module_scope.bindings.get(annotation.id, ())
            may_be = annotation.id in ("Any", "Callable") or any(map(_may_be_type_variable, bindings))
            declared = self.evaluator.own_parameter(function.declaration, parameter.name, function.module)
            is_open = self._open[place] = may_be and isinstance(declared, UnknownValue)
        return is_open

    def passes_on(self, decorator: Expr, function: FunctionSymbol) -> bool:
        """Whether a decorator of the project replaces a function by one that calls it with all that it is given."""
        if not isinstance(decorator, Name):
            return False
        symbol = self.model.resolver.resolve(decorator, function.module, function.declaration.scope)
        if not isinstance(symbol, FunctionSymbol) or len(symbol.declaration.parameters) != 1:
            return False
        if symbol.declaration.decorators or len(symbol.declaration.return_values) != 1:
            return False
        body, (returned,) = self.body_of(symbol) or (), symbol.declaration.return_values
        wrappers = [s for s in body if isinstance(s, FunctionDefinition)]
        if len(wrappers) != 1 or not isinstance(returned, Name) or returned.id != wrappers[0].name:
            return False
        return _calls_with_all(symbol.declaration.parameters[0].name, wrappers[0].body)


def constructor_of(cls: PytreeClass) -> FunctionSymbol | None:
    """The `__init__` that makes instances of a class; one that it inherits counts as its own, for who calls it."""
    init, owner = cls.custom_init(), cls.symbol.declaration.qualname
    if init is not None and "__init__" not in cls.symbol.declaration.methods:
        init = replace(init, qualname=f"{owner}.__init__", owner=owner)
    return None if init is None else FunctionSymbol(cls.module, init)


def _may_be_type_variable(binding: Binding) -> bool:
    """Whether a name may be that of a `TypeVar`."""
    return isinstance(binding, Assignment) and isinstance(binding.value, Call)


def keeps_return_value(name: str) -> bool:
    """Whether a decorator leaves what the function returns alone."""
    transform = TRANSFORMS.get(name)
    if transform is not None:
        return transform.returns is Returns.SAME
    return name in WRAPPERS or (name.startswith(("typing.", "functools.")) and name not in _DISPATCHING)


def _calls_with_all(name: str, body: Body) -> bool:
    """Whether the body of a function returns what `name(*args, **kwargs)` does, and changes neither."""
    bound = bound_once(body)
    results = [s.value for s in walk(body, nested=False) if isinstance(s, Return)]
    for result in results:
        call = bound.get(result.id) if isinstance(result, Name) else result
        if not isinstance(call, Call) or not isinstance(call.func, Name) or call.func.id != name:
            return False
        if [a.star for a in call.args] not in (["*"], ["*", "**"]):
            return False
        if any(not isinstance(a.value, Name) or a.value.id in assigned_names(body) for a in call.args):
            return False
    return bool(results)
