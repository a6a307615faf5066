"""Evaluating calls: constructors, updates, methods, functions of the project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from jaxlint.infer.bodies.expecting import is_given_error
from jaxlint.infer.bodies.named_classes import NamedClasses
from jaxlint.infer.bodies.purity import Effects
from jaxlint.infer.calls.belied import BELYING, as_shown, takes_another, tells_of_default, with_belied
from jaxlint.infer.calls.changes_in_place import ChangesInPlace
from jaxlint.infer.calls.higher_order import HigherOrder
from jaxlint.infer.calls.holding import Holding, keeps_return_value
from jaxlint.infer.calls.known_builtins import means_itself
from jaxlint.infer.calls.known_functions import KnownFunctions
from jaxlint.infer.calls.local_calls import LocalCalls
from jaxlint.infer.calls.made_of_jax import is_made_of_jax
from jaxlint.infer.calls.method_calls import MethodCalls
from jaxlint.infer.calls.passing import (
    Passed,
    after_receiver,
    called_back,
    is_function,
    is_open,
    passed_by,
    switches,
    taking,
    worth_passing,
)
from jaxlint.infer.calls.stored_arguments import stored_parameters
from jaxlint.infer.calls.tracers import handed_on
from jaxlint.infer.evaluating.deferral import Deferral, forget_passed
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import KeywordValue
from jaxlint.infer.evaluating.interfaces import Bodies
from jaxlint.infer.evaluating.notes import Notes
from jaxlint.infer.known.counting import is_swept
from jaxlint.infer.known.deferred import Values, known
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.evidence import contradicts
from jaxlint.infer.known.transformed_values import traced
from jaxlint.infer.known.values import (
    UNKNOWN,
    AnyFunction,
    Array,
    Choice,
    ClassObject,
    Container,
    FunctionValue,
    Instance,
    LocalFunctionValue,
    Method,
    Partial,
    Possibly,
    Scalar,
    Symbolic,
    UnknownValue,
    Value,
    holds_given,
    holds_larger_array,
    is_informative,
    is_larger_array,
    join,
    joined,
    of_jax,
    plain,
)
from jaxlint.infer.transforms.applied import Applied
from jaxlint.infer.transforms.calling import CallingFunctions, calls_one_of
from jaxlint.libraries.optimizers import OF_FUNCTIONS, SCHEDULES
from jaxlint.libraries.transforms import TRANSFORMS
from jaxlint.libraries.updates import GIVE_SAME, LOADING, RESTORING
from jaxlint.project.index import Key
from jaxlint.project.modules import Module
from jaxlint.project.resolution import External, FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.pytrees.stubs import is_stub
from jaxlint.symbols.outline import EXPECTS_ERROR, Function
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Constant,
    Expr,
    Lambda,
    Name,
    dotted,
    last_name,
)
from jaxlint.syntax.statements import bound_once, looked_up

_MAX_OVERRIDES = 8
#: What class methods call the class that they make.
_OWN_CLASS = frozenset({"cls"})
#: Functions that are known by name where their source can be read, too.
_KNOWN_IN_SOURCE = LOADING | RESTORING | SCHEDULES


class CallEvaluator(MethodCalls, LocalCalls, Holding, ChangesInPlace):
    """Evaluates calls for an `Evaluator`, and notes what happens in them."""

    def __init__(self, evaluator: Evaluator, bodies: Bodies) -> None:
        self.evaluator = evaluator
        self.model = evaluator.model
        evaluator.calls = self
        self.notes = Notes()
        self.transformed = evaluator.transformed_type(self.model)
        self.higher_order = HigherOrder(self, evaluator)
        self.known_functions = KnownFunctions(evaluator, self.notes)
        self.deferral = Deferral(evaluator, self.notes)
        self.return_of, self.body_of, self.top_level = bodies.return_of, bodies.body_of, bodies.top_level
        self.effects = Effects(self.model, self.body_of)
        self.note_call, self.note_called = bodies.note_call, bodies.note_called
        self.named_classes = NamedClasses(self.model.resolver, self.body_of)
        self.calling = CallingFunctions()
        #: The functions of other modules whose calls are listened to.
        self.watched: frozenset[Key] = frozenset()
        self._shared: dict[str, frozenset[str]] = {}
        self._open = {}
        self._stored: dict[Key, Mapping[str, str]] = {}

    # -- calls ------------------------------------------------------------------------------

    def call(self, call: Call, env: Environment) -> Value:
        """What is known of the value of a call."""
        func, receiver = self._callee(call.func, env)
        if isinstance(func, Symbolic) and isinstance(func.symbol, External):
            transform = TRANSFORMS.get(func.symbol.name)
            if transform is not None and transform.runs:
                result = self.higher_order.run(transform, call, env)
                if result is not None:
                    return result
        if last_name(call.func) in EXPECTS_ERROR and dotted(call.func) is not None:
            return self.expecting_error(call, env)
        for arg in call.args:
            if type(arg.value) is Lambda and is_given_error(call):
                return self.expecting_error(call, env)
        outer, self.notes.into_jit = self.notes.into_jit, self.higher_order.is_jitted(func)
        values = Values([self.deferral.later(a.value, env) for a in call.args])
        self.notes.into_jit = outer
        if isinstance(call.func, Attribute):
            self.note_method(call, call.func, func, receiver, values, env)
        self.higher_order.note_traced(func, call, values, env)
        result = self._apply(func, call, values, env)
        forget_passed(call, env)
        return self._hoped(receiver, call) if isinstance(func, UnknownValue) else result

    def _callee(self, func: Expr, env: Environment) -> tuple[Value, Value]:
        """What is called, and the receiver if it is a method."""
        if isinstance(func, Attribute) and not (env.roots and dotted(func) in env.values):
            receiver = self.evaluator.evaluate(func.value, env)
            value = plain(self.evaluator.attribute_of(receiver, func.attr))
            if isinstance(value, FunctionValue) and isinstance(func.value, Call):
                value = self._inherited(value, func.value)
            return value, receiver
        return plain(self.evaluator.evaluate(func, env)), UNKNOWN

    def _inherited(self, function: FunctionValue, held: Call) -> FunctionValue:
        """A method that is found by `super()`: its receiver is the instance itself, of the class around the call."""
        place = self.notes.place
        owner, method = (None, None) if place is None else (place.owner, place.method)
        if owner is None or method is None or not isinstance(held.func, Name) or held.func.id != "super":
            return function
        if not means_itself(held, owner, method):
            return function
        own = self.evaluator.receiver(method, owner)
        if own is None:
            return function
        if any(cls.mro[cls.mro.index(owner) :] != owner.mro for cls in self.model.subclasses(owner)):
            return function  # another class may come next
        return replace(function, receiver=own, inherited=True)

    def _apply(self, func: Value, call: Call, values: Values, env: Environment) -> Value:
        match func:
            case ClassObject():
                return self._construct(func, call, values)
            case FunctionValue() if func.symbol.full_name in _KNOWN_IN_SOURCE:
                return self.known_functions.call(func.symbol.full_name, call, values, env)
            case FunctionValue():
                self._train_state(func, call, values)
                self._own_update(func, call, values)
                result = self.returned(func, passed_by(call, values, func.applied))
                if isinstance(plain(result), UnknownValue) and func.symbol.full_name in GIVE_SAME and values:
                    result = plain(values[0])  # what an installed library is read to do is less than what is known
                if func.receiver is None:
                    result = self._compiled(func, func.symbol.declaration, result, call, values)
                return self.higher_order.returned(func, result, values)
            case LocalFunctionValue(function=function, applied=applied):
                tells = any(is_informative(v) or is_larger_array(v) for v in values) and not call.has_star
                taken = passed_by(call, values, applied).in_order(function.declaration.parameters) if tells else None
                result = self.run(function, taken)
                if isinstance(function.node, Lambda):
                    result = self._compiled(func, function.declaration, result, call, values)
                return self.higher_order.returned(func, result, values)
            case Partial(function=function, args=args):
                merged = Call(call.at, call.func, (*args, *call.args))
                return self._apply(function, merged, Values([*func.values, *values.held]), env)
            case Method(receiver=receiver, name=name):
                returned = self._method(receiver, name, call, values, env)
                return handed_on(func, call, values, returned, self.evaluator)
            case Symbolic(symbol=External(name=name)):
                transform = TRANSFORMS.get(name)
                if transform is not None and not transform.runs:
                    return self.higher_order.apply(transform, call, values, env)
                if name in OF_FUNCTIONS:
                    return self.higher_order.optimizer(call, values)
                returned = self.known_functions.call(name, call, values, env)
                return handed_on(func, call, values, returned, self.evaluator)
            case AnyFunction(result=result):
                return result
            case Choice(options=several) if all(
                isinstance(one, (FunctionValue, LocalFunctionValue, ClassObject)) for one in several
            ):
                with self.notes.muted():  # which of them it is may depend on what it is given
                    return joined([self._apply(one, call, values, env) for one in several])
            case Instance():
                method = plain(self.evaluator.attribute_of(func, "__call__"))
                return self._apply(method, call, values, env) if isinstance(method, FunctionValue) else UNKNOWN
        return UNKNOWN

    def _compiled(
        self, func: FunctionValue | LocalFunctionValue, function: Function, result: Value, call: Call, values: Values
    ) -> Value:
        """The result of a function that `jax.jit` compiles: its arrays are arrays of jax, whoever only hopes so.

        If it is given arrays and numbers, all are arrays inside. Without that it is `result`.
        """
        if function.returns is not None:  # other modules see no more of it (`jaxlint.symbols.bodies`)
            certain = of_jax(result)
            return result if certain == result or not self._jitted(func, function) else certain
        if is_informative(result):
            return of_jax(result) if self._jitted(func, function) else result
        if not isinstance(result, (UnknownValue, Container)) or call.has_star or not values:
            return result
        applied = self._jitted(func, function)
        if not applied or any(a.static_argnums != () or a.static_argnames != () for a in applied):
            return result
        given = [traced(value) for value in values]
        if not all(isinstance(value, Array) for value in given):
            return result
        with self.notes.muted():
            if isinstance(func, LocalFunctionValue):
                return traced(self.run(func.function, given[: len(call.positional)]))
            if not all(self._keeps_return_value(d, func.symbol) for d in function.decorators):
                return result
            count = len(call.positional)
            names = function.positional[:count]
            keywords = [a.keyword or "" for a in call.args[count:]]
            passed = {**dict(zip(names, given, strict=False)), **dict(zip(keywords, given[count:], strict=True))}
            return traced(self.return_of(func.symbol, None, passed))

    def _jitted(self, func: FunctionValue | LocalFunctionValue, function: Function) -> tuple[Applied, ...]:
        """All that is applied to a function, if `jax.jit` is among it, else nothing."""
        target = self.higher_order.target(func)
        if target is None or function.is_generator or function.is_async:
            return ()
        return target.applied if any(a.transform.name == "jax.jit" for a in target.applied) else ()

    def _keeps_return_value(self, decorator: Expr, function: FunctionSymbol) -> bool:
        callee = self.model.callees.of_decorator(decorator, function.module, function.declaration.scope)
        if callee is not None and keeps_return_value(callee.name):
            return True
        return callee is None and self.passes_on(decorator, function)

    def _construct(self, cls: ClassObject, call: Call, values: Values) -> Value:
        model, holds_jax = cls.cls, False
        given = self._bind(model, call, values) if model.is_pytree else []
        if model.is_pytree:
            self.notes.construct(call, cls, given)
            self.notes.made = call, model, given
            holds_jax = is_made_of_jax(model, given, self.evaluator)
        if "__new__" in model.symbol.declaration.methods:
            return UNKNOWN
        if model.is_pytree:
            made = Instance(model, cls.exact, refilled=True, holds_jax=holds_jax)
            return with_belied(made, ((one.name, one.held) for one in given), self.evaluator.promises)
        return Instance(model, cls.exact, refilled=True, held=self.held(model, call, values))

    def shared_variables(self, module: Module) -> frozenset[str]:
        """The variables that functions of a module assign though they are not their own (`global`, `nonlocal`)."""
        if module.path not in self._shared:
            scopes = module.outline.scopes.values()
            self._shared[module.path] = frozenset([name for scope in scopes for name in scope.is_global])
        return self._shared[module.path]

    def stored_parameters(self, cls: PytreeClass) -> Mapping[str, str]:
        """The fields that hold what the constructor of a class is given, as it is, by the names of its parameters."""
        key = cls.symbol.key
        if key not in self._stored:
            self._stored[key] = stored_parameters(cls, self.evaluator)
        return self._stored[key]

    def arrays_given(self, call: Call, env: Environment | None) -> dict[str, Array]:
        """The arrays, known as such, that `call`, which was just evaluated, has put into leaves of an instance.

        With an `env`, functions of the project that make the instance are read for that, too.
        """
        if self.notes.made is None or self.notes.made[0] is not call:
            return {} if env is None else self._arrays_returned(call, env)
        _, cls, given = self.notes.made
        return self._arrays_in(cls, given)

    def _arrays_returned(self, call: Call, env: Environment) -> dict[str, Array]:
        """The arrays, known as such, in leaves of the instance that the function makes which is called."""
        with self.notes.muted():
            func = plain(self.evaluator.evaluate(call.func, env))
            if not isinstance(func, FunctionValue):
                return {}
            symbol, declaration = func.symbol, func.symbol.declaration
            if len(declaration.return_values) != 1 or declaration.is_async or declaration.is_generator:
                return {}
            made = declaration.return_values[0]
            if not isinstance(made, Call) or made.has_star:
                return {}
            decorators = declaration.decorators
            if self._overrides(func) != [] or not all(self._keeps_return_value(d, symbol) for d in decorators):
                return {}
            own = [] if func.receiver is None else [func.receiver]
            known_here = dict(zip(declaration.positional, own, strict=False))

            def value(expr: Expr) -> Value:
                return self.evaluator.static(Placed(expr, symbol.module, declaration.inner_scope), known_here)

            cls = plain(value(made.func))
            if not isinstance(cls, ClassObject) or not cls.exact or not cls.cls.is_pytree:
                return {}
            taken = {parameter.name for parameter in declaration.parameters}
            bound = {n: e for n, e in bound_once(self.body_of(symbol) or ()).items() if n not in taken}
            return self._arrays_in(
                cls.cls, self._bind(cls.cls, made, Values([value(looked_up(a.value, bound)) for a in made.args]))
            )

    def _arrays_in(self, cls: PytreeClass, given: Sequence[KeywordValue]) -> dict[str, Array]:
        """The arrays, known as such, among what a constructor or an update was given for leaves."""
        stored = self.stored_parameters(cls)
        found: dict[str, Array] = {}
        for one in given:
            field = cls.field(stored.get(one.name, ""))
            if field is not None and field.role is Role.LEAF:
                value = plain(one.value)
                if isinstance(value, Array) and not value.declared:
                    found[field.name] = value
        return found

    def made_with(self, call: Call, cls: PytreeClass, env: Environment) -> dict[str, Value] | None:
        """What a constructor call gives to the parameters; None if another function is called, or that is not seen."""
        with self.notes.muted():
            func = plain(self.evaluator.evaluate(call.func, env))
            if not isinstance(func, ClassObject) or func.cls is not cls or call.has_star:
                return None
            values = Values([self.evaluator.evaluate(a.value, env) for a in call.args])
            return {given.name: given.value for given in self._bind(cls, call, values)}

    def returned(self, function: FunctionValue, passed: Passed | None = None) -> Value:
        """What calling a function of the project returns, by its annotation or its body.

        What is `passed` for parameters without annotation is taken for them.
        """
        passed = passed or Passed([], {})
        result = self._returned(function, passed)
        overrides = self._overrides(function)
        if overrides is None:
            return UNKNOWN
        declared = not isinstance(plain(result), UnknownValue) and function.symbol.declaration.returns is not None
        others = [(override, self._returned(override, passed)) for override in overrides]
        for override, other in others:
            if declared and override.symbol.declaration.returns is None and isinstance(plain(other), UnknownValue):
                continue  # what the method that it overrides says holds for it, too
            result = join(result, other)
        if isinstance(result, Possibly) and any(isinstance(plain(other), UnknownValue) for _, other in others):
            result = UNKNOWN  # nothing is seen to make an instance of the one subclass that is understood
        return Container("awaitable", (result,)) if function.symbol.declaration.is_async else result

    def result(self, function: Value, positional: list[Value]) -> Value:
        """What something returns that may be a function and that something else calls with `positional`."""
        return self.higher_order.result(function, positional)

    def returned_for(self, function: FunctionValue, positional: list[Value]) -> Value:
        """What a function returns that is called with `positional`."""
        return self.returned(function, Passed(positional, {}))

    def _overrides(self, function: FunctionValue) -> list[FunctionValue] | None:
        """The methods of subclasses that may be called instead; None if they are many."""
        receiver = plain(function.receiver) if function.receiver is not None else None
        if not isinstance(receiver, (Instance, ClassObject)) or receiver.exact or function.inherited:
            return []
        name = function.symbol.declaration.name
        classes = self.model.overriding(receiver.cls, name, _MAX_OVERRIDES)
        if classes is None:
            return None
        found: list[FunctionValue] = []
        for cls in classes:
            declaration = cls.module.outline.functions[cls.symbol.declaration.methods[name][-1]]
            found.append(FunctionValue(FunctionSymbol(cls.module, declaration), type(receiver)(cls, False)))
        return found

    def _returned(self, function: FunctionValue, passed: Passed) -> Value:
        declaration = function.symbol.declaration
        module = function.symbol.module
        if not all(self._keeps_return_value(d, function.symbol) for d in declaration.decorators):
            return UNKNOWN
        owner = self._owner(function)
        if declaration.returns is not None:
            self._read_with(function, passed)
            value = self.evaluator.promises.returned(declaration, module, owner)
            receiver = plain(function.receiver) if function.receiver is not None else None
            if isinstance(receiver, ClassObject) and receiver.exact and is_stub(module):
                return Instance(receiver.cls, exact=True, refilled=True)  # TrainState.create
            if any(may_be(value, function.symbol) for may_be in BELYING):
                if contradicts(value, self.return_of(function.symbol, function.receiver, {})):
                    return UNKNOWN
            parameters = taking(function)
            if value is UNKNOWN and declaration.parameters:
                return self.same_as_given(function.symbol, parameters, passed.positional)
            if takes_another(value, function.symbol, parameters, passed.positional, self.evaluator):
                return UNKNOWN
            if tells_of_default(value, function.symbol, parameters, passed, self.evaluator):
                return UNKNOWN
            return self._swept(value, function, passed) if isinstance(value, Scalar) else as_shown(value, function)
        return self._read_with(function, passed)

    def _swept(self, declared: Scalar, function: FunctionValue, passed: Passed) -> Value:
        """The number that a function says it returns; whether it computes that from what a loop counts."""
        given = zip(taking(function), passed.positional, strict=False)
        numbers = {parameter.name: value for parameter, one in given if is_swept(value := plain(one))}
        if not numbers or not self.effects.has_none(function.symbol):
            return declared
        computed = self._computed(function, numbers, passed)
        return computed if is_swept(computed) else declared

    def _computed(self, function: FunctionValue, given: dict[str, Value], passed: Passed) -> Value:
        """What a function without effects makes of numbers, and of the defaults of what it is not given."""
        declaration, module = function.symbol.declaration, function.symbol.module
        clear = [n for n, v in given.items() if isinstance(v, Scalar) or is_larger_array(v) or is_informative(v)]
        bound = {name: given[name] for name in clear}
        for name, default in passed.left_out(after_receiver(function)):
            if isinstance(default, Constant):
                bound[name] = self.evaluator.static(Placed(default, module, declaration.scope))
        return self.return_of(function.symbol, function.receiver, bound)

    def _read_with(self, function: FunctionValue, passed: Passed) -> Value:
        """Read the body with what is passed for the parameters that have no annotation."""
        declaration = function.symbol.declaration
        parameters = after_receiver(function)
        bound: dict[str, Value] = {}
        positional = [p for p in parameters if p.kind == "positional"]
        for index, parameter in enumerate(positional[: len(passed.positional)]):
            if is_open(parameter) or self.says_nothing(parameter, function.symbol):
                bound[parameter.name] = plain(passed.positional[index])
        for parameter in parameters:
            if parameter.name in passed.keywords and is_open(parameter):
                bound[parameter.name] = plain(known(passed.keywords[parameter.name]))
            if parameter.kind in ("*", "**"):
                bound |= passed.beyond(parameters)
        left_out = dict(passed.left_out(parameters))
        bound |= switches(left_out) if bound else {}
        self.note_passed(function.symbol, bound, parameters if passed.has_star else ())
        if any(map(is_swept, bound.values())) and self.effects.has_none(function.symbol):
            return self._computed(function, bound, passed)
        larger = {name: value for name, value in bound.items() if holds_larger_array(value)}
        functions = [name for name, default in left_out.items() if type(default) is not Constant]
        given = worth_passing(bound)
        called = {} if given else {name: value for name, value in bound.items() if is_function(value)}
        makes = bool(larger or functions or called) and self._makes_pytrees(function.symbol)
        bound = given or (called if makes else called_back(called, function.symbol, self.calling))
        for name in functions if bound or makes else ():
            with self.notes.muted():
                value = plain(self.evaluator.static(Placed(left_out[name], function.symbol.module, declaration.scope)))
            bound |= {name: value} if is_function(value) else {}
        if larger and makes:
            bound |= larger  # one may go into a static field
        if declaration.returns is not None and not bound:
            if function.receiver is None or not holds_given(plain(function.receiver)):
                return UNKNOWN
        return self.return_of(function.symbol, function.receiver, bound)

    def _makes_pytrees(self, function: FunctionSymbol) -> bool:
        """Whether a function may put what it is given into a field: it calls a class by its name, or as `cls`."""
        return calls_one_of(self.model.project_index.pytree_class_names | _OWN_CLASS, function)

    def _owner(self, function: FunctionValue) -> PytreeClass | None:
        receiver = plain(function.receiver) if function.receiver is not None else None
        return receiver.cls if isinstance(receiver, (Instance, ClassObject)) else None
