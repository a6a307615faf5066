"""Transformations at work: what `jax.jit(f)` is, and how `lax.scan` and kin call the functions they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias

import msgspec
from msgspec.structs import replace

from jaxlint.infer.calls.transformed_classes import traced_by
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Cross, Place, Transformed
from jaxlint.infer.evaluating.notes import Notes
from jaxlint.infer.known.deferred import Values
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.transformed_values import filled, slice_of
from jaxlint.infer.known.values import (
    UNKNOWN,
    AnyFunction,
    Array,
    ClassObject,
    Container,
    FunctionValue,
    Instance,
    LocalFunction,
    LocalFunctionValue,
    Partial,
    Symbolic,
    UnknownValue,
    Value,
    binds_receiver,
    join,
    known_entries,
    plain,
)
from jaxlint.infer.transforms.applied import Applied
from jaxlint.infer.transforms.transformed import TransformedFunctions
from jaxlint.libraries.transforms import Kind, Returns, Transform
from jaxlint.project.modules import Module
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Argument, Call, Display, Expr, Lambda, Starred


class Target(msgspec.Struct, frozen=True):
    """The function behind a value: its declaration, what is applied to it, and what it is bound to."""

    function: Function
    module: Module
    applied: tuple[Applied, ...]
    receiver: Value | None
    #: How many positional parameters are given already.
    bound: int
    #: The parameters that are given by keyword.
    given: frozenset[str] = frozenset()


#: Tells what an instance was given.
_Made: TypeAlias = Callable[[], dict[str, Value] | None]


def _nothing() -> None:
    return None


class Caller(Protocol):
    """Calls functions (`infer.calls.calls.CallEvaluator`)."""

    notes: Notes
    transformed: TransformedFunctions

    def local_function(self, expr: Lambda, env: Environment) -> LocalFunctionValue:
        """A lambda as a value."""

    def run(self, function: LocalFunction, arguments: list[Value] | None) -> Value:
        """Call a local function or lambda: what it returns."""

    def returned_for(self, function: FunctionValue, positional: list[Value]) -> Value:
        """What a function of the project returns that is called with `positional`."""

    def made_with(self, call: Call, cls: PytreeClass, env: Environment) -> dict[str, Value] | None:
        """What a constructor call gives to the parameters; None if that is not seen."""


class HigherOrder:
    """Evaluates calls of transformations, and notes what they are applied to and what goes into them."""

    def __init__(self, calls: Caller, evaluator: Evaluator) -> None:
        self.calls = calls
        self.evaluator = evaluator
        self.notes = calls.notes
        self.transformed = calls.transformed

    # -- the function behind a value --------------------------------------------------------

    def target(self, func: Value) -> Target | None:
        """The function that a value stands for, or None if it is no function that is seen."""
        match func:
            case Partial(function=function, args=args):
                inner = self.target(function)
                names = frozenset(a.keyword for a in args if a.keyword is not None)
                if inner is None:
                    return None
                return replace(inner, bound=inner.bound + sum(not a.keyword for a in args), given=inner.given | names)
            case FunctionValue(symbol=symbol, receiver=receiver, applied=applied):
                declaration = symbol.declaration
                decorators = self.transformed.decorating(declaration, symbol.module)
                bound = binds_receiver(declaration, receiver)
                return Target(declaration, symbol.module, (*applied, *decorators), receiver if bound else None, bound)
            case LocalFunctionValue(function=local, applied=applied):
                module = local.module
                decorators = self.transformed.decorating(local.declaration, module)
                return Target(local.declaration, module, (*applied, *decorators), None, 0)
        return None

    def is_jitted(self, func: Value) -> bool:
        """Whether a function is compiled: called with another static value, it is compiled again."""
        target = self.target(func)
        applied = target.applied if target is not None else _applied_to_unseen(func)
        return any(a.transform.kind is Kind.JIT for a in applied)

    # -- transformations that return a function -----------------------------------------------

    def apply(self, transform: Transform, call: Call, values: Values, env: Environment) -> Value:
        """`jax.jit(f)`: the function with what is now applied to it."""
        index = next((i for i, a in enumerate(call.args) if a.keyword is None and not a.star), None)
        if index is None or any(a.star for a in call.args[:index]):
            return UNKNOWN
        func = plain(values[index])
        target = self.target(func)
        applied = self._applied(transform, call, (*call.args[:index], *call.args[index + 1 :]), target, env)
        self._note(applied, call.at, target, func)
        if transform.kind is Kind.KERNEL:
            return UNKNOWN  # what is called gives the kernel references to its arguments, and to what it writes
        return _with_applied(func, applied)

    def _applied(
        self, transform: Transform, call: Call, args: tuple[Argument, ...], target: Target | None, env: Environment
    ) -> Applied:
        applied = self.transformed.from_call(transform, call.at, args, env.module, env.scope)
        if target is None:
            return applied
        return self.transformed.applied_to(target.function, target.module, applied, target.bound, target.given)

    def returned(self, func: Value, result: Value, values: Values) -> Value:
        """What calling a function returns whose own result is `result`, after what is applied to the value."""
        for applied in reversed(getattr(func, "applied", ())):
            kind = applied.transform.returns
            if kind is Returns.SAME:
                continue
            numbers = applied.argnums
            gradient: Value = UNKNOWN
            if numbers is not None and len(numbers) == 1 and 0 <= numbers[0] < len(values):
                gradient = plain(values[numbers[0]])
                if isinstance(gradient, Instance):  # of the same structure, but what has no derivative is gone
                    gradient = replace(gradient, exact=False, is_other_tree=True)
            if kind is Returns.UNKNOWN or applied.has_aux is None or not isinstance(gradient, (Instance, Array)):
                result = UNKNOWN
            elif kind is Returns.VALUE_AND_GRADIENT:
                result = Container("tuple", (result, gradient))
            else:
                result = Container("tuple", (gradient, UNKNOWN)) if applied.has_aux else gradient
        return result

    def _note(self, applied: Applied, at: object, target: Target | None, given: Value = UNKNOWN) -> None:
        if target is not None:
            self.transformed.note(target.function, target.module, (applied,))
        place = self.notes.active
        if place is not None:
            function, module = None, None
            receiver: Value | None = given if isinstance(given, Instance) else None
            if target is not None:
                function, module, receiver = target.function, target.module, target.receiver
            itself = isinstance(given, Instance) or (isinstance(given, FunctionValue) and not given.applied)
            self.notes.add(Transformed(at, place, applied, function, module, receiver, itself))

    # -- what goes into a transformed function --------------------------------------------------

    def note_traced(self, func: Value, call: Call, values: Values, env: Environment) -> None:
        """Note the arguments of a call of a transformed function."""
        place = self.notes.active
        if place is None or self.notes.runs_untransformed:
            return
        self._note_given(func, call, values, place)
        target = self.target(func)
        if target is None or not target.applied:
            return
        positional = target.function.positional
        index = target.bound
        if target.receiver is not None and any(a.is_decorator for a in target.applied):
            self._cross(target, getattr(call.func, "value", call).at, target.receiver, positional[0], 0)
        for arg, value in zip(call.args, values, strict=True):
            if arg.star == "**":
                for name, entry in (known_entries(value) or {}).items():
                    self._cross(target, arg.at, entry, name, None)
            elif arg.star:
                return
            elif arg.keyword is not None:
                self._cross(target, arg.at, value, arg.keyword, None, self._made(arg.value, value, env))
            else:
                parameter = positional[index] if index < len(positional) else None
                self._cross(target, arg.at, value, parameter, index, self._made(arg.value, value, env))
                index += 1

    def _note_given(self, func: Value, call: Call, values: Values, place: Place) -> None:
        """Note what goes into a function that is not seen: all of it, where no option sets arguments apart."""
        outermost = next(iter(_applied_to_unseen(func)), None)
        if outermost is None or outermost.transform.kind not in (Kind.JIT, Kind.MAP) or outermost.holds_some_static:
            return
        for arg, value in zip(call.args, values, strict=True):
            if not arg.star and not isinstance(value, UnknownValue):
                self._note_cross(Cross(arg.at, place, value, None, None, (outermost,), False))

    def _made(self, expr: Expr, value: Value, env: Environment) -> _Made:
        """Tells what the instance was given that an argument makes; None if it makes none."""
        if not isinstance(expr, Call) or not isinstance(value, Instance):
            return _nothing
        cls = value.cls
        return lambda: self.calls.made_with(expr, cls, env)

    def _cross(
        self, target: Target, at: object, value: Value, parameter: str | None, index: int | None, made: _Made = _nothing
    ) -> None:
        place = self.notes.active
        if place is None:
            return
        function, module = target.function, target.module
        outermost = target.applied[0]  # what is inside of it donates nothing
        donated = parameter in outermost.donated_parameters(function)
        if donated and self.transformed.is_wrapped(function, module):
            donated = False  # a decorator that is not known may take other parameters, or hand others on
        is_unknown = isinstance(value, UnknownValue) and not donated
        if is_unknown and not any(a.static_argnums or a.static_argnames for a in target.applied):
            return
        static: bool | None = False
        for applied in target.applied:
            names = applied.static_parameters(function)
            if names is None:
                static = static or None
            elif parameter is not None:
                static = static or parameter in names
            elif index is not None:  # one of `*args`
                static = static or index - applied.bound in (applied.static_argnums or ())
        if static and self.transformed.is_wrapped(function, module):
            static = None
        if is_unknown and static is not True:
            return
        given = made() if static else None
        self._note_cross(Cross(at, place, value, function, parameter, target.applied, static, given, module, donated))

    def _note_cross(self, event: Cross) -> None:
        self.notes.add(event)
        by = traced_by(event)
        if by is not None:
            around = event.place.functions
            self.evaluator.traced.note(event.value, by, around[0].qualname if around else "")

    # -- transformations that run their functions -------------------------------------------------

    def run(self, transform: Transform, call: Call, env: Environment) -> Value | None:
        """`lax.scan` and kin: the carry goes into the function and comes back. None if arguments are unpacked."""
        arguments: dict[str | int, Expr] = {}
        for index, arg in enumerate(call.args):
            if arg.star:
                return None
            arguments[arg.keyword if arg.keyword is not None else index] = arg.value
        last = transform.name.rpartition(".")[2]
        match last:
            case "scan":
                return self._scan(transform, call, arguments, env)
            case "while_loop":
                return self._loop(transform, call, arguments, (2, "init_val"), env)
            case "fori_loop":
                return self._loop(transform, call, arguments, (3, "init_val"), env)
            case "cond" | "switch":
                return self._branches(transform, call, arguments, env)
        return self._other(transform, call, arguments, env)

    def _scan(self, transform: Transform, call: Call, arguments: dict[str | int, Expr], env: Environment) -> Value:
        init = self._argument(arguments, 1, "init", env)
        xs = self._argument(arguments, 2, "xs", env)
        result = plain(self._run_functions(transform, call, arguments, [plain(init), slice_of(xs)], env))
        self._cross_operands(transform, call, arguments, [((1, "init"), init), ((2, "xs"), xs)])
        self._evaluate_rest(transform, arguments, {1, "init", 2, "xs"}, env)
        match result:
            case Container(kind="tuple", items=(_, collected)):
                return Container("tuple", (plain(init), slice_of(collected)))
        return Container("tuple", (plain(init), UNKNOWN))

    def _loop(
        self,
        transform: Transform,
        call: Call,
        arguments: dict[str | int, Expr],
        carry: tuple[int, str],
        env: Environment,
    ) -> Value:
        """`while_loop` and `fori_loop`; the functions of the latter take the index first."""
        self._evaluate_rest(transform, arguments, set(carry), env)
        start = self._argument(arguments, *carry, env)
        counted: list[Value] = [Array("jax", True)] if carry[0] == 3 else []
        self._run_functions(transform, call, arguments, [*counted, plain(start)], env)
        self._cross_operands(transform, call, arguments, [(carry, start)])
        return plain(start)

    def _branches(self, transform: Transform, call: Call, arguments: dict[str | int, Expr], env: Environment) -> Value:
        """`lax.cond` and `lax.switch`: all branches get the operands, and return the same structure."""
        operands: list[tuple[tuple[int, str], Value]] = []
        first = 1 + len(transform.functions)
        if 0 in arguments:
            self.evaluator.evaluate(arguments[0], env)
        for key, expr in arguments.items():
            if isinstance(key, int) and key >= first:
                operands.append(((key, ""), self.evaluator.evaluate(expr, env)))
            elif isinstance(key, str) and not self._is_function(transform, key):
                self.evaluator.evaluate(expr, env)
        result = self._run_functions(transform, call, arguments, [plain(v) for _, v in operands], env)
        self._cross_operands(transform, call, arguments, operands)
        return result

    def _other(self, transform: Transform, call: Call, arguments: dict[str | int, Expr], env: Environment) -> Value:
        """`lax.map`, `eval_shape`, `vjp` and kin: the arguments after the function go into it."""
        keys = [k for k in arguments if not self._is_function(transform, k)]
        values = [self.evaluator.evaluate(arguments[k], env) for k in keys]
        positional = [plain(v) for k, v in zip(keys, values, strict=True) if isinstance(k, int)]
        if transform.kind is Kind.LOOP:
            positional = [slice_of(v) for v in positional]
        result = self._run_functions(transform, call, arguments, positional, env)
        pairs = [((k, ""), v) for k, v in zip(keys, values, strict=True) if isinstance(k, int)]
        self._cross_operands(transform, call, arguments, pairs)
        if transform.kind is Kind.ABSTRACT:  # the leaves have shapes and no values
            return filled(result)
        return slice_of(result) if transform.name == "jax.lax.map" else UNKNOWN

    def _is_function(self, transform: Transform, key: str | int) -> bool:
        return any(key in pair for pair in transform.functions)

    def _argument(self, arguments: dict[str | int, Expr], index: int, keyword: str, env: Environment) -> Value:
        expr = arguments.get(index, arguments.get(keyword))
        return UNKNOWN if expr is None else self.evaluator.evaluate(expr, env)

    def _evaluate_rest(
        self, transform: Transform, arguments: dict[str | int, Expr], handled: set[str | int], env: Environment
    ) -> None:
        for key, expr in arguments.items():
            if key not in handled and not self._is_function(transform, key):
                self.evaluator.evaluate(expr, env)

    def _run_functions(
        self,
        transform: Transform,
        call: Call,
        arguments: dict[str | int, Expr],
        passed: list[Value],
        env: Environment,
    ) -> Value:
        """Run the functions that are given with what the transformation passes; what they return together."""
        result: Value | None = None
        for index, keyword in transform.functions:
            expr = arguments.get(index, arguments.get(keyword))
            if expr is None:
                continue
            if keyword == "branches" and not isinstance(expr, Display):
                self.evaluator.evaluate(expr, env)
                continue
            given = expr.items if keyword == "branches" and isinstance(expr, Display) else (expr,)
            for item in given:
                if isinstance(item, Starred):
                    self.evaluator.evaluate(item.value, env)
                    continue
                func = self._function(item, env)
                target = self.target(func)
                self._note(self._applied(transform, call, (), target, env), call.at, target, func)
                returned = self.result(func, passed)
                result = returned if result is None else join(result, returned)
        return UNKNOWN if result is None else result

    def _function(self, expr: Expr, env: Environment) -> Value:
        if isinstance(expr, Lambda):
            return self.calls.local_function(expr, env)
        return plain(self.evaluator.evaluate(expr, env))

    def result(self, func: Value, passed: list[Value]) -> Value:
        """What a function returns that something else calls with `passed`."""
        if isinstance(func, Partial):
            given = [v for a, v in zip(func.args, func.values, strict=True) if a.keyword is None]
            return self.result(func.function, [*given, *passed])
        if isinstance(func, LocalFunctionValue):
            return self.calls.run(func.function, passed)
        if isinstance(func, FunctionValue):
            return self.calls.returned_for(func, passed)
        return func.result if isinstance(func, AnyFunction) else UNKNOWN

    def optimizer(self, call: Call, values: Values) -> Value:
        """`optax.GradientTransformation(init, update)`: what `init` returns is the state that `update` is given.

        As surely as an annotation says so: what the `init` of a distributed Shampoo returns only makes the state.
        """
        given = call.given_to(("init", "update"))
        at = {id(argument.value): value for argument, value in zip(call.args, values, strict=True)}
        if len(given) == 2 and not call.has_star:
            init, update = (plain(at[id(given[name])]) for name in ("init", "update"))
            state = plain(self.result(init, [UNKNOWN]))
            if isinstance(state, Instance):
                self.result(update, [UNKNOWN, replace(state, declared=True)])
        return UNKNOWN

    def _cross_operands(
        self,
        transform: Transform,
        call: Call,
        arguments: dict[str | int, Expr],
        operands: Iterable[tuple[tuple[int, str], Value]],
    ) -> None:
        """Note the values that go into a transformation that runs its functions."""
        place = self.notes.active
        if place is None:
            return
        applied = (Applied(transform, call.at),)
        for (index, keyword), value in operands:
            expr = arguments.get(index, arguments.get(keyword))
            if expr is not None and not isinstance(value, UnknownValue):
                self._note_cross(Cross(expr.at, place, value, None, None, applied, False))


def _applied_to_unseen(func: Value) -> tuple[Applied, ...]:
    """What is applied to a function that is not seen, outermost first; nothing to another one."""
    while isinstance(func, Partial):
        func = func.function
    return func.applied if isinstance(func, AnyFunction) else ()


def _with_applied(func: Value, applied: Applied) -> Value:
    """A function value with one more transformation applied."""
    match func:
        case FunctionValue() | LocalFunctionValue():
            return replace(func, applied=(applied, *func.applied))
        case Partial(function=function):
            return replace(func, function=_with_applied(function, applied))
        case ClassObject() if applied.transform.returns is Returns.SAME:
            return Partial(func, (), ())
        case AnyFunction():
            return AnyFunction(UNKNOWN, (applied, *func.applied))
        case UnknownValue() | Symbolic():
            return AnyFunction(UNKNOWN, (applied,))
    return UNKNOWN
