"""Evaluating calls: constructors, updates, transformations, array functions, functions of the project."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jaxlint.expr import Argument, Attribute, Call, Constant, Expr, Lambda, Name, Starred, dotted
from jaxlint.infer import arrays
from jaxlint.infer.environment import Environment
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import AssignAttribute, Construct, Event, KeywordValue, Place, Replace
from jaxlint.infer.values import (
    UNKNOWN,
    Array,
    Choice,
    ClassObject,
    Container,
    FunctionValue,
    Indexed,
    Instance,
    LocalFunctionValue,
    Method,
    Scalar,
    Symbolic,
    Value,
    as_instance,
    dict_of,
    element_of,
    join,
    joined,
    known_entries,
    options,
    plain,
    without_none,
)
from jaxlint.names import External, FunctionSymbol
from jaxlint.outline import EXPECTS_ERROR
from jaxlint.pytrees.frameworks import BY_DECORATOR
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.pytrees.stubs import is_stub

if TYPE_CHECKING:
    from jaxlint.infer.flow import UnitReader
    from jaxlint.outline import Function
    from jaxlint.statements import FunctionDefinition

#: Functions that return their argument, or a copy of it, of the same class.
_SAME = frozenset(
    {
        "copy.copy",
        "copy.deepcopy",
        "jax.device_put",
        "jax.device_get",
        "jax.block_until_ready",
        "jax.lax.stop_gradient",
        "jax.lax.pmean",
        "jax.lax.psum",
        "jax.lax.with_sharding_constraint",
        "typing.cast",
    }
)
#: `(function, *trees)`: the result has the structure of the first tree.
_TREE_MAPS = frozenset({"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map"})
#: Transformations that return a function with the same return value.
TRANSPARENT = frozenset(
    {
        "jax.jit",
        "jax.pmap",
        "jax.vmap",
        "jax.checkpoint",
        "jax.remat",
        "jax.named_call",
        "equinox.filter_jit",
        "equinox.filter_vmap",
        "equinox.filter_pmap",
        "equinox.filter_checkpoint",
        "jax_dataclasses.jit",
        "functools.partial",
        "functools.lru_cache",
        "functools.cache",
        "functools.wraps",
        "functools.cached_property",
        "builtins.staticmethod",
        "builtins.classmethod",
        "builtins.property",
        "abc.abstractmethod",
        "typing.override",
        "typing.final",
        "typing.no_type_check",
        "jaxtyping.jaxtyped",
        "beartype.beartype",
        "typeguard.typechecked",
        "chex.assert_max_traces",
        "flax.linen.nowrap",
        "flax.linen.compact",
    }
)
#: Those of them that compile.
_JITS = frozenset({"jax.jit", "jax.pmap", "equinox.filter_jit", "equinox.filter_pmap", "jax_dataclasses.jit"})
_REPLACE_FUNCTIONS = frozenset({"dataclasses.replace", "jax_dataclasses.replace", "copy.replace"})
#: Functions that pass a carry to a function: where the carry stands, and which parameter of which argument it is.
_SCAN = frozenset({"jax.lax.scan"})
_WHILE = frozenset({"jax.lax.while_loop"})
_FORI = frozenset({"jax.lax.fori_loop"})
_COND = frozenset({"jax.lax.cond"})
_SWITCH = frozenset({"jax.lax.switch"})
_SEQUENCES = frozenset({"list", "tuple", "set", "frozenset", "sorted", "reversed"})
_SCALAR_CALLS = {
    **{kind: kind for kind in ("int", "float", "bool", "str")},
    **dict.fromkeys(("len", "hash"), "int"),
    "repr": "str",
}
_UNHASHABLE_CALLS = {"bytearray": "bytearray"}
_COLLECTIONS = {"collections.defaultdict": "dict", "collections.OrderedDict": "dict", "collections.Counter": "dict"}


#: By what names the errors are caught that an event may raise.
_ANY_ERROR = frozenset({"Exception", "BaseException"})
_RAISED: dict[type[Event], frozenset[str]] = {
    AssignAttribute: _ANY_ERROR | {"FrozenInstanceError", "AttributeError"},
    Replace: _ANY_ERROR | {"TypeError", "ValueError"},
    Construct: _ANY_ERROR | {"TypeError", "ValueError"},
}
_MAX_CALL_DEPTH = 6
_MAX_OVERRIDES = 8


@dataclass(frozen=True)
class Passed:
    """The arguments of a call, as far as they can be matched with parameters."""

    positional: list[Value]
    keywords: dict[str, Value]


@dataclass(eq=False)
class LocalFunction:
    """A function or lambda inside the code being read, with the variables around it."""

    node: FunctionDefinition | Lambda
    outer: Environment
    place: Place | None
    reader: UnitReader | None
    declaration: Function | None = None
    #: What the callers that are known pass for its parameters.
    hints: list[Value] = field(default_factory=list)
    result: Value | None = None
    running: bool = False
    read: bool = False


class CallEvaluator:
    """Evaluates calls for an `Evaluator`, and notes events in `events` unless that is None."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.model = evaluator.model
        evaluator.calls = self
        self.events: list[Event] | None = None
        self.place: Place | None = None
        self.loop_depth = 0
        #: Whether what is evaluated is an argument of a call of a jitted function.
        self.into_jit = False
        #: The errors that the code around expects.
        self.expected: frozenset[str] = frozenset()
        #: The targets of the assignment whose value is being evaluated.
        self.targets: frozenset[str | None] = frozenset()
        #: Reads the body of a function for what it returns.
        self.return_of: Callable[[FunctionSymbol, Value | None, dict[str, Value]], Value]
        #: Keeps what a call passes for parameters without annotation.
        self.note_call: Callable[[FunctionSymbol, dict[str, Value], Function | None], None]
        #: The reader of the statements around the expression; None outside of units.
        self.reader: UnitReader | None = None
        self.depth = 0

    # -- events -----------------------------------------------------------------------------

    def note(self, event: Event) -> None:
        """Keep an event, unless the code is being read only for its value, or the error it may raise is expected."""
        if self.events is not None and not self.expected & _RAISED[type(event)]:
            self.events.append(event)

    def assign_attribute(
        self, at: object, receiver_expr: Expr, receiver: Value, attr: str, how: str, value: Value, env: Environment
    ) -> None:
        """Note the assignment of an attribute, if the receiver is an instance of a known pytree class."""
        candidates = [as_instance(o) for o in options(plain(without_none(plain(receiver))))]
        instances = [i for i in candidates if i is not None and i.cls.is_pytree]
        if self.events is None or self.place is None or not instances or len(instances) < len(candidates):
            return
        text = dotted(receiver_expr)
        method = self.place.method
        self.note(
            AssignAttribute(
                at=at,
                place=self.place,
                receiver=instances[0],
                alternatives=tuple(instances[1:]),
                attr=attr,
                how=how,
                value=value,
                on_self=method is not None and text is not None and text == method.self_name,
                mutable_copy=text is not None and text.partition(".")[0] in env.mutable_copies,
                in_loop=self.loop_depth > 0,
                receiver_text=text,
            )
        )

    def _replace(
        self, call: Call, receiver: Instance, function: str, args: tuple[Argument, ...], values: list[Value]
    ) -> None:
        if self.events is not None and self.place is not None:
            keywords = tuple(_keywords(args, values))
            rebinds = self._receiver_text(call, function) in self.targets
            looping = self.loop_depth > 0
            self.note(Replace(call.at, self.place, receiver, function, keywords, looping, rebinds, self.into_jit))

    def _receiver_text(self, call: Call, function: str) -> str | None:
        """The name of what is copied."""
        if "." in function:
            return dotted(call.positional[0]) if call.positional else None
        return dotted(call.func.value) if isinstance(call.func, Attribute) else None

    # -- calls ------------------------------------------------------------------------------

    def call(self, call: Call, env: Environment) -> Value:
        """What is known of the value of a call."""
        func = self.evaluator.evaluate(call.func, env)
        func = plain(func)
        if isinstance(func, Symbolic) and isinstance(func.symbol, External):
            result = self._higher_order(func.symbol.name, call, env)
            if result is not None:
                return result
        name = (dotted(call.func) or "").rpartition(".")[2]
        if name in EXPECTS_ERROR:
            return self._expecting_error(call, env)
        outer, self.into_jit = self.into_jit, self._is_jitted(func)
        values = [self.evaluator.evaluate(a.value, env) for a in call.args]
        self.into_jit = outer
        result = self._apply(func, call, values, env)
        self._forget_passed(call, env)
        return result

    def _is_jitted(self, func: Value) -> bool:
        """Whether a function is compiled: called with another static value, it is compiled again."""
        if isinstance(func, LocalFunctionValue):
            declaration, module = func.function.declaration, func.function.outer.module
        elif isinstance(func, FunctionValue):
            if func.jitted:
                return True
            declaration, module = func.symbol.declaration, func.symbol.module
        else:
            return False
        decorators = declaration.decorators if declaration is not None else ()
        scope = declaration.scope if declaration is not None else ""
        callees = [self.model.callees.of_decorator(d, module, scope) for d in decorators]
        return any(c is not None and c.name in _JITS for c in callees)

    def _expecting_error(self, call: Call, env: Environment) -> Value:
        """`assertRaises(Error, function, ...)`: what the function does is meant to fail."""
        events, self.events = self.events, None
        try:
            for arg in call.args:
                value = self.evaluator.evaluate(arg.value, env)
                if isinstance(value, LocalFunctionValue):
                    value.function.read = True
        finally:
            self.events = events
        return UNKNOWN

    def _forget_passed(self, call: Call, env: Environment) -> None:
        """A call may change the attributes, and the keys, of what it is given."""
        for arg in call.args:
            if isinstance(arg.value, Name) and not arg.star and known_entries(env.values.get(arg.value.id, UNKNOWN)):
                if dotted(call.func) not in ("dict", "len", "print", "sorted", "list"):
                    env.values[arg.value.id] = Container("dict")
        if not any("." in key for key in env.values):
            return
        for expr in (call.func, *(a.value for a in call.args)):
            path = dotted(expr)
            if path is not None:
                env.forget(path.partition(".")[0])

    def _apply(self, func: Value, call: Call, values: list[Value], env: Environment) -> Value:
        match func:
            case ClassObject():
                return self._construct(func, call, values)
            case FunctionValue():
                self._train_state(func, call, values)
                return self.returned(func, _passed(call, values))
            case LocalFunctionValue(function=function):
                known = any(is_informative(v) for v in values) and not call.has_star
                return self.run(function, list(values[: len(call.positional)]) if known else None)
            case Method(receiver=receiver, name=name):
                return self._method(receiver, name, call, values, env)
            case Symbolic(symbol=External(name=name)):
                return self._external(name, call, values, env)
        return UNKNOWN

    def _train_state(self, func: FunctionValue, call: Call, values: list[Value]) -> None:
        """`TrainState.apply_gradients` and `create` hand their other keywords on to `replace` and the constructor."""
        name = func.symbol.declaration.name
        receiver = plain(func.receiver) if func.receiver is not None else None
        if not is_stub(func.symbol.module):
            return
        if name == "apply_gradients" and isinstance(receiver, Instance):
            pairs = [(a, v) for a, v in zip(call.args, values, strict=True) if a.keyword != "grads"]
            self._replace(call, receiver, name, tuple(a for a, _ in pairs), [v for _, v in pairs])
        elif name == "create" and isinstance(receiver, ClassObject) and self.place is not None:
            keywords = tuple(_keywords(call.args, values))
            self.note(Construct(call.at, self.place, receiver, keywords, self.loop_depth > 0))

    def _construct(self, cls: ClassObject, call: Call, values: list[Value]) -> Value:
        model = cls.cls
        if self.place is not None and model.is_pytree:
            arguments = tuple(self._bind(model, call, values))
            self.note(Construct(call.at, self.place, cls, arguments, self.loop_depth > 0, self.into_jit))
        if "__new__" in model.symbol.declaration.methods:
            return UNKNOWN
        return Instance(model, cls.exact)

    def _bind(self, cls: PytreeClass, call: Call, values: list[Value]) -> list[KeywordValue]:
        """The arguments of a constructor call, by parameter name."""
        parameters = cls.constructor()
        if parameters is None or any(a.star == "*" for a in call.args):
            positional: list[str] = []
        else:
            positional = [p.name for p in parameters if p.kind == "positional"]
        out: list[KeywordValue] = []
        index = 0
        for arg, value in zip(call.args, values, strict=True):
            if arg.keyword is not None:
                out.append(KeywordValue(arg.keyword, arg.at, value))
            elif not arg.star:
                if index < len(positional):
                    out.append(KeywordValue(positional[index], arg.at, value))
                index += 1
            elif arg.star == "**":
                out += [KeywordValue(k, arg.at, v) for k, v in (known_entries(value) or {}).items()]
        return out

    def returned(self, function: FunctionValue, passed: Passed | None = None) -> Value:
        """What calling a function of the project returns, by its annotation or its body.

        What is `passed` for parameters without annotation is taken for them.
        """
        passed = passed or Passed([], {})
        result = self._returned(function, passed)
        overrides = self._overrides(function)
        if len(overrides) > _MAX_OVERRIDES:
            return UNKNOWN
        for override in overrides:
            result = join(result, self._returned(override, passed))
        return Container("awaitable", (result,)) if function.symbol.declaration.is_async else result

    def _overrides(self, function: FunctionValue) -> list[FunctionValue]:
        """The methods of subclasses that may be called instead."""
        receiver = plain(function.receiver) if function.receiver is not None else None
        if not isinstance(receiver, (Instance, ClassObject)) or receiver.exact:
            return []
        name = function.symbol.declaration.name
        found: list[FunctionValue] = []
        for cls in self.model.subclasses(receiver.cls):
            qualnames = cls.symbol.declaration.methods.get(name)
            if qualnames:
                symbol = FunctionSymbol(cls.module, cls.module.outline.functions[qualnames[-1]])
                found.append(FunctionValue(symbol, type(receiver)(cls, False)))
        return found

    def _returned(self, function: FunctionValue, passed: Passed) -> Value:
        declaration = function.symbol.declaration
        module = function.symbol.module
        if declaration.is_generator and declaration.returns is None:
            return UNKNOWN
        for decorator in declaration.decorators:
            callee = self.model.callees.of_decorator(decorator, module, declaration.scope)
            if callee is None or callee.name not in TRANSPARENT:
                name = callee.name if callee is not None else ""
                if not name.startswith(("typing.", "functools.")):
                    return UNKNOWN
        owner = self._owner(function)
        if declaration.returns is not None:
            self._read_with(function, passed)
            value = self.evaluator.annotations.read(Placed(declaration.returns, module, declaration.scope), owner)
            receiver = plain(function.receiver) if function.receiver is not None else None
            if isinstance(receiver, ClassObject) and receiver.exact and is_stub(module):
                return Instance(receiver.cls, exact=True)  # TrainState.create
            return value
        return self._read_with(function, passed)

    def _read_with(self, function: FunctionValue, passed: Passed) -> Value:
        """Read the body with what is passed for the parameters that have no annotation."""
        declaration = function.symbol.declaration
        parameters = declaration.parameters[1:] if function.receiver is not None else declaration.parameters
        bound: dict[str, Value] = {}
        positional = [p for p in parameters if p.kind == "positional"]
        for parameter, value in zip(positional, passed.positional, strict=False):
            if parameter.annotation is None:
                bound[parameter.name] = plain(value)
        for parameter in parameters:
            if parameter.name in passed.keywords and parameter.annotation is None:
                bound[parameter.name] = plain(passed.keywords[parameter.name])
        if bound and self.place is not None and function.symbol.module is self.place.module:
            self.note_call(function.symbol, bound, self.place.functions[-1] if self.place.functions else None)
        bound = {name: value for name, value in bound.items() if is_informative(value)}
        if declaration.returns is not None and not bound:
            return UNKNOWN
        return self.return_of(function.symbol, function.receiver, bound)

    def _owner(self, function: FunctionValue) -> PytreeClass | None:
        receiver = plain(function.receiver) if function.receiver is not None else None
        return receiver.cls if isinstance(receiver, (Instance, ClassObject)) else None

    # -- methods ----------------------------------------------------------------------------

    def _method(self, receiver: Value, name: str, call: Call, values: list[Value], env: Environment) -> Value:
        if isinstance(receiver, Instance):
            if name in ("__setattr__", "__delattr__") and isinstance(call.func, Attribute):
                how = "setattr" if name == "__setattr__" else "delete"
                attr = call.args[0].value if call.args else None
                literal = attr.value if isinstance(attr, Constant) and isinstance(attr.value, str) else ""
                value = values[1] if len(values) > 1 else UNKNOWN
                self.assign_attribute(call.at, call.func.value, receiver, literal, how, value, env)
                return Scalar("NoneType")
            if name != receiver.cls.framework.replace_method:
                return receiver  # mjx: tree_replace
            self._replace(call, receiver, name, call.args, values)
            return Instance(receiver.cls, receiver.exact)
        if isinstance(receiver, Indexed):
            return receiver.array if receiver.applied and name in arrays.AT_METHODS else UNKNOWN
        if isinstance(receiver, Array):
            return self._array_method(receiver, name, call)
        if isinstance(receiver, Container):
            return self._container_method(receiver, name, call, values, env)
        return UNKNOWN

    def _container_method(
        self, container: Container, name: str, call: Call, values: list[Value], env: Environment
    ) -> Value:
        if name == "copy":
            return container
        if container.kind in ("dict", "mapping"):
            element = joined(list(container.items)) if container.items is not None else container.element
            if name in ("values", "items", "get", "pop", "setdefault"):
                if name in ("pop", "setdefault"):
                    self._rebind(call, Container(container.kind, None, element), env)
                pair = Container("tuple", (Scalar("str"), element))
                return {"values": Container("list", None, element), "items": Container("list", None, pair)}.get(
                    name, element if name != "get" else UNKNOWN
                )
            if name == "update":
                self._rebind(call, self._updated(container, call, values), env)
            elif name not in ("keys", "copy"):
                self._rebind(call, Container(container.kind), env)
        elif name == "append" and values:
            parts = [*(container.items if container.items is not None else (container.element,)), plain(values[0])]
            self._rebind(call, Container(container.kind, None, joined(parts)), env)
        elif name == "pop":
            return element_of(container)
        elif name in ("extend", "insert", "__iadd__", "add"):
            self._rebind(call, Container(container.kind), env)
        return UNKNOWN

    def _updated(self, container: Container, call: Call, values: list[Value]) -> Value:
        """A dict after `update(...)` with other dicts and keywords."""
        entries = known_entries(container)
        for arg, value in zip(call.args, values, strict=True):
            more = {arg.keyword: value} if arg.keyword is not None else known_entries(value)
            if entries is None or more is None:
                return Container(container.kind)
            entries = {**entries, **more}
        return Container(container.kind) if entries is None else dict_of(entries)

    def _rebind(self, call: Call, value: Value, env: Environment) -> None:
        """A method changed its receiver in place."""
        if isinstance(call.func, Attribute) and isinstance(call.func.value, Name):
            name = call.func.value.id
            if name in env.values:
                env.values[name] = value

    def _array_method(self, array: Array, name: str, call: Call) -> Value:
        if name in arrays.ARRAY_REDUCTIONS:
            if array.library != "jax" and not array.single:
                return UNKNOWN if array.library == "numpy" else Array(array.library, _full_reduction(call))
            return Array(array.library, _full_reduction(call))
        if name in arrays.ARRAY_METHODS:
            return Array(array.library, array.single)
        if name == "tolist":
            return Container("list") if array.single is not True else UNKNOWN
        return UNKNOWN

    # -- known functions --------------------------------------------------------------------

    def _external(self, name: str, call: Call, values: list[Value], env: Environment) -> Value:
        if name in _REPLACE_FUNCTIONS:
            receiver = as_instance(values[0]) if values else None
            if receiver is None:
                return values[0] if values else UNKNOWN
            self._replace(call, receiver, name, call.args[1:], values[1:])
            return receiver
        if name in _SAME and values:
            if name == "typing.cast" and len(values) == 2:
                return self.evaluator.annotations.read(Placed(call.args[0].value, env.module, env.scope))
            return plain(values[0])
        if name in _TREE_MAPS and len(values) > 1:
            value = plain(values[1])
            return value if isinstance(value, Instance) else UNKNOWN
        if name == "equinox.tree_at" and len(values) > 1:
            return plain(values[1])
        if name in TRANSPARENT and values:
            wrapped = plain(values[0])
            if name in _JITS and isinstance(wrapped, FunctionValue):
                return replace(wrapped, jitted=True)
            return wrapped
        if name in BY_DECORATOR and values and isinstance(plain(values[0]), ClassObject):
            return plain(values[0])
        if name.startswith("builtins."):
            return self._builtin(name.removeprefix("builtins."), call, values, env)
        if name in _COLLECTIONS:
            return Container(_COLLECTIONS[name])
        if name == "collections.deque":
            return Container("list")
        if name in ("numpy.random.default_rng", "numpy.random.RandomState"):
            return Symbolic(External("numpy.random"))  # its methods are called like the module's functions
        if name == "jax.random.split":
            return Container("sequence", None, Array("jax"))  # one key a row
        if name == "itertools.count":
            return Container("list", None, Scalar("int", varying=True))
        return self._array_function(name, call, values)

    def _array_function(self, name: str, call: Call, values: list[Value]) -> Value:
        library = arrays.returned_library(name)
        if library is None:
            return UNKNOWN
        if name.startswith("numpy.random.") and not arrays.numpy_random_is_array(name, len(call.positional), call):
            return UNKNOWN
        single: bool | None = None
        first = plain(values[0]) if values else UNKNOWN
        if arrays.is_shaped(name):
            shape = call.keyword("shape") if call.keyword("shape") is not None else _first(call)
            single = _shape_is_single(shape)
        elif arrays.is_conversion(name):
            if isinstance(first, Container):
                single = _elements_are_single(first)
            else:
                single = True if isinstance(first, Scalar) else first.single if isinstance(first, Array) else None
        elif arrays.is_reduction(name):
            single = _full_reduction(call, positional=1)
        elif arrays.is_elementwise(name) and values:
            operands = [plain(v) for v in values]
            single = (
                True if all(isinstance(v, Scalar) or (isinstance(v, Array) and v.single) for v in operands) else None
            )
        elif arrays.is_range(name):
            single = False
        return Array(library, single)

    def _builtin(self, name: str, call: Call, values: list[Value], env: Environment) -> Value:
        first = plain(values[0]) if values else UNKNOWN
        if name in _SCALAR_CALLS:
            varying = isinstance(first, Scalar) and first.varying
            return Scalar(_SCALAR_CALLS[name], varying)
        if name in _UNHASHABLE_CALLS:
            return Scalar(_UNHASHABLE_CALLS[name])
        if name in _SEQUENCES:
            kind = "list" if name in ("sorted", "reversed") else name
            if isinstance(first, Container) and first.kind not in ("dict", "mapping") and name in ("list", "tuple"):
                return Container(kind, first.items, first.element)
            return Container(kind, None, element_of(first) if values else UNKNOWN)
        if name == "dict":
            return self._updated(dict_of({}), call, values)
        if name == "range":
            return Container("list", None, Scalar("int", varying=True))
        if name == "enumerate" and values:
            return Container("list", None, Container("tuple", (Scalar("int", varying=True), element_of(first))))
        if name == "zip":
            return Container("list", None, Container("tuple", tuple(element_of(v) for v in values)))
        if name == "next" and values:
            return element_of(first)
        if name == "iter" and values:
            return first
        if name == "super" and not values and self.place is not None and self.place.owner is not None:
            parents = self.place.owner.parents
            return Instance(parents[0]) if parents else UNKNOWN
        if name == "type" and len(values) == 1:
            return ClassObject(first.cls, first.exact) if isinstance(first, Instance) else UNKNOWN
        if name in ("isinstance", "hasattr", "callable", "issubclass", "any", "all"):
            return Scalar("bool")
        if name in ("setattr", "delattr") and len(call.args) >= 2:
            attr = call.args[1].value
            literal = attr.value if isinstance(attr, Constant) and isinstance(attr.value, str) else ""
            how = "setattr" if name == "setattr" else "delete"
            value = values[2] if len(values) > 2 else UNKNOWN
            self.assign_attribute(call.at, call.args[0].value, values[0], literal, how, value, env)
            return Scalar("NoneType")
        if name == "getattr" and len(call.args) >= 2:
            attr = call.args[1].value
            if isinstance(attr, Constant) and isinstance(attr.value, str) and len(call.args) == 2:
                return self.evaluator.attribute_of(values[0], attr.value)
        return UNKNOWN

    # -- functions that call functions ------------------------------------------------------

    def lambda_value(self, expr: Lambda, env: Environment) -> Value:
        """A lambda whose caller is not known: its body is read with unknown parameters."""
        function = LocalFunction(expr, env, self.place, self.reader)
        self.run(function, [])
        return LocalFunctionValue(function)

    def _function(self, expr: Expr, env: Environment) -> Value:
        if isinstance(expr, Lambda):
            return LocalFunctionValue(LocalFunction(expr, env, self.place, self.reader))
        return plain(self.evaluator.evaluate(expr, env))

    def run(self, function: LocalFunction, arguments: list[Value] | None) -> Value:
        """Call a local function or lambda: what it returns. Arguments become known to its parameters."""
        if self.expected & _ANY_ERROR:
            function.read = True  # called where it is meant to fail
        if function.running or self.depth > _MAX_CALL_DEPTH:
            return UNKNOWN
        function.running = True
        self.depth += 1
        around, self.reader = self.reader, function.reader
        try:
            if isinstance(function.node, Lambda):
                return self._run_lambda(function, function.node, arguments or [])
            return UNKNOWN if function.reader is None else function.reader.call(function, arguments)
        finally:
            function.running = False
            self.depth -= 1
            self.reader = around

    def _run_lambda(self, function: LocalFunction, node: Lambda, arguments: list[Value]) -> Value:
        env = function.outer.copy()
        for index, name in enumerate(node.params):
            env.bind(name, arguments[index] if index < len(arguments) else UNKNOWN)
        return self.evaluator.evaluate(node.body, env)

    def _run(self, function: Value, arguments: list[Value]) -> Value:
        if isinstance(function, LocalFunctionValue):
            return self.run(function.function, arguments)
        if isinstance(function, FunctionValue):
            return self.returned(function, Passed(arguments, {}))
        return UNKNOWN

    def _higher_order(self, name: str, call: Call, env: Environment) -> Value | None:
        """`lax.scan` and kin: the carry goes into the function and comes back. None for any other function."""
        if name not in _SCAN | _WHILE | _FORI | _COND | _SWITCH:
            return None
        arguments: dict[str | int, Expr] = {}
        for index, arg in enumerate(call.args):
            if arg.star:
                return None
            arguments[arg.keyword if arg.keyword is not None else index] = arg.value

        def get(index: int, keyword: str) -> Expr | None:
            return arguments.get(index, arguments.get(keyword))

        def value(expr: Expr | None) -> Value:
            return UNKNOWN if expr is None else self.evaluator.evaluate(expr, env)

        handled: list[Expr | None]
        if name in _SCAN:
            body = get(0, "f")
            init, xs = value(get(1, "init")), value(get(2, "xs"))
            if body is not None:
                self._run(self._function(body, env), [plain(init), element_of(xs)])
            result: Value = Container("tuple", (plain(init), UNKNOWN))
            handled = [body, get(1, "init"), get(2, "xs")]
        elif name in _WHILE:
            test, body, start = get(0, "cond_fun"), get(1, "body_fun"), get(2, "init_val")
            result = plain(value(start))
            for function in (test, body):
                if function is not None:
                    self._run(self._function(function, env), [result])
            handled = [test, body, start]
        elif name in _FORI:
            lower, upper, body, start = get(0, "lower"), get(1, "upper"), get(2, "body_fun"), get(3, "init_val")
            value(lower)
            value(upper)
            result = plain(value(start))
            if body is not None:
                self._run(self._function(body, env), [Array("jax", True), result])
            handled = [lower, upper, body, start]
        else:
            return self._branches(name, call, env)
        for expr in arguments.values():
            if not any(expr is h for h in handled):
                self.evaluator.evaluate(expr, env)
        return result

    def _branches(self, name: str, call: Call, env: Environment) -> Value:
        """`lax.cond` and `lax.switch`: all branches get the operands, and return the same structure."""
        args = [a.value for a in call.args if a.keyword is None]
        for arg in call.args:
            if arg.keyword is not None:
                self.evaluator.evaluate(arg.value, env)
        if args:
            self.evaluator.evaluate(args[0], env)
        if name in _COND:
            branches, rest = args[1:3], args[3:]
        else:
            items = getattr(args[1], "items", ()) if len(args) > 1 else ()
            branches, rest = [i for i in items if not isinstance(i, Starred)], args[2:]
            if len(args) > 1 and not branches:
                self.evaluator.evaluate(args[1], env)
        operands = [plain(self.evaluator.evaluate(r, env)) for r in rest]
        result: Value | None = None
        for branch in branches:
            returned = self._run(self._function(branch, env), operands)
            result = returned if result is None else join(result, returned)
        return UNKNOWN if result is None else result


def _keywords(args: tuple[Argument, ...], values: list[Value]) -> list[KeywordValue]:
    """The keywords of a call, those inside `**{...}` and `**dict(...)` too."""
    out: list[KeywordValue] = []
    for arg, value in zip(args, values, strict=True):
        if arg.keyword is not None:
            out.append(KeywordValue(arg.keyword, arg.at, value))
        elif arg.star == "**":
            out += [KeywordValue(k, arg.at, v) for k, v in (known_entries(value) or {}).items()]
    return out


def _passed(call: Call, values: list[Value]) -> Passed:
    positional: list[Value] = []
    keywords: dict[str, Value] = {}
    for arg, value in zip(call.args, values, strict=True):
        if arg.star:
            break
        if arg.keyword is None:
            positional.append(value)
        else:
            keywords[arg.keyword] = value
    return Passed(positional, keywords)


def is_informative(value: Value) -> bool:
    """Whether a parameter is worth reading a function for: an instance of a pytree class, or a container of such."""
    value = plain(value)
    match value:
        case Instance(cls=cls):
            return cls.is_pytree
        case ClassObject(cls=cls):
            return cls.is_pytree
        case Container(items=items, element=element):
            return any(is_informative(v) for v in items or ()) or is_informative(element)
        case Choice(options=options):
            return any(is_informative(v) for v in options)
    return False


def _first(call: Call) -> Expr | None:
    return call.positional[0] if call.positional else None


def _elements_are_single(container: Container, depth: int = 0) -> bool | None:
    """Whether a (nested) literal list makes an array of one element."""
    if container.items is None or not container.items or depth > 4:
        return None
    if len(container.items) > 1:
        return False
    inner = plain(container.items[0])
    if isinstance(inner, Container):
        return _elements_are_single(inner, depth + 1)
    return True if isinstance(inner, Scalar) else inner.single if isinstance(inner, Array) else None


def _shape_is_single(shape: Expr | None) -> bool | None:
    """Whether a literal shape holds one element."""
    if isinstance(shape, Constant):
        return shape.value == 1 if isinstance(shape.value, int) else None
    items = getattr(shape, "items", None)
    if items is None:
        return None
    if all(isinstance(i, Constant) and i.value == 1 for i in items):
        return True
    if any(isinstance(i, Constant) and isinstance(i.value, int) and i.value > 1 for i in items):
        return False
    return None


def _full_reduction(call: Call, positional: int = 0) -> bool | None:
    """A reduction without an axis leaves one element."""
    if call.keyword("axis") is not None or call.keyword("keepdims") is not None:
        return None
    return True if len(call.positional) <= positional and not call.has_star else None
