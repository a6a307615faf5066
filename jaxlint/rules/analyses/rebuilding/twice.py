"""Whether a constructor that runs again on what it has made makes the same of it: it is run twice, on numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias
from zlib import crc32

import msgspec

from jaxlint.infer.calls.straight_line import StraightLine
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import (
    Array,
    Container,
    FunctionValue,
    Instance,
    Scalar,
    UnknownValue,
    plain,
    without_none,
)
from jaxlint.libraries.standard import PUTTING
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol, ValueSymbol
from jaxlint.pytrees.framework import Role, Unflatten
from jaxlint.pytrees.model import Kind, PytreeClass
from jaxlint.pytrees.rebuild import Rebuild
from jaxlint.rules.analyses.instances.callees import callee_of
from jaxlint.rules.analyses.rebuilding.arithmetic import (
    CONSTANTS,
    Items,
    Number,
    apply,
    axes,
    differ,
    elementwise,
    new_keys,
    operate,
    transposed,
)
from jaxlint.symbols.outline import Function, names_by_position
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Compare,
    Constant,
    Display,
    Expr,
    Lambda,
    Name,
    NamedExpr,
    Other,
    Starred,
    Subscript,
    Unary,
    children,
    dotted,
    is_everything,
    is_none,
    is_slice,
    items_of,
)
from jaxlint.syntax.statements import (
    Assign,
    Augment,
    Body,
    Return,
    Statement,
    assigned_names,
    bound_by,
    own_parts,
    parts,
    walk,
)

#: Modules whose functions are tried on numbers.
_LIBRARIES = frozenset({"jax.numpy", "numpy", "math", "builtins", "jax.nn", "jax", "jax.lax", "numpy.linalg"}) | {
    "jax.numpy.linalg",
    "jax.scipy.linalg",
    "jax.scipy.special",
}
#: The bounds of a slice.
_Bounds: TypeAlias = "tuple[int | None, int | None, int | None]"
_MAX_DEPTH = 3
_NONE: frozenset[str] = frozenset()
#: How many elements the arrays have that constructors are tried on, along each axis.
_SIZE = 3


class Drift(msgspec.Struct, frozen=True):
    """The flattened attribute `field` changes at each rebuild; `at` is where it is last assigned."""

    field: str
    at: object
    #: The parameter that falls back to its default, if that is why.
    parameter: str | None = None


def drifts(code: CodeRead, rebuilt: Rebuild, evaluator: Evaluator) -> list[Drift]:
    """The flattened attributes that a second run certainly makes something else of."""
    assert code.function is not None
    if not rebuilt.final:
        return []
    trial = _Trial(code.body, code.function, code.place.module, rebuilt, evaluator)
    return trial.alone() or trial.with_defaults()


class _Trial:
    """Runs a constructor on several sets of numbers."""

    def __init__(self, body: Body, function: Function, module: Module, rebuilt: Rebuild, evaluator: Evaluator) -> None:
        self.body = body
        self.function = function
        self.module = module
        self.rebuilt = rebuilt
        self.evaluator = evaluator
        self.inputs = {**{name: name for name in rebuilt.preset}, **rebuilt.parameters}
        self.defaults = self._defaults()
        self.kinds = {name: self._kind(name) for name in rebuilt.roles}
        self.stored = _stored_statics(body, function, rebuilt)

    def alone(self) -> list[Drift]:
        """Attributes that change though all else stays as it was."""
        found = []
        for field in dict.fromkeys(self.inputs.values()):
            if self.kinds[field] == "" or field not in self._run(self._sample(1, ""), {}).assigned_at:
                continue
            for matrices in (False, True):
                worlds = [self._changes(field, self._sample(world, field, matrices)) for world in (1, 2)]
                at = next((at for at in worlds if at is not None), None)
                if at is not None and self._changes(field, self._sample(0, field, matrices)) is not None:
                    found.append(Drift(field, at))
                    break
        return found

    def with_defaults(self) -> list[Drift]:
        """Attributes that change because a parameter is not passed again."""
        for name, default in self.defaults.items():
            if default is None:
                continue
            for field in dict.fromkeys(self.inputs.values()):
                sample = self._sample(1, field)
                first = self._run(sample, {name: default * 1.7 + 0.6})
                again = self._run({f: first.attributes.get(f, v) for f, v in sample.items()}, {name: default})
                if field in first.assigned_at and differ(first.attributes.get(field), again.attributes.get(field)):
                    return [Drift(field, first.assigned_at[field], name)]
        return []

    def _changes(self, field: str, sample: dict[str, Number]) -> object:
        """Where the attribute is assigned, if a second run changes it."""
        first = self._run(sample, self.defaults)
        made = first.attributes.get(field)
        if made is None or field not in first.assigned_at:
            return None
        again = self._run({**sample, field: made}, self.defaults)
        return first.assigned_at[field] if differ(made, again.attributes.get(field)) else None

    def _run(self, sample: Mapping[str, Number], others: Mapping[str, float | None]) -> _Run:
        preset = {name: sample[name] for name in self.rebuilt.preset}
        run = _Run(self.evaluator, self.module, self.function, preset, self.stored, self.rebuilt.cls)
        for parameter in self.function.parameters[1:]:
            attribute = self.rebuilt.parameters.get(parameter.name)
            run.variables[parameter.name] = others.get(parameter.name) if attribute is None else sample.get(attribute)
        run.read(self.body)
        return run

    def _defaults(self) -> dict[str, float | None]:
        """The parameters that take their defaults when an instance is rebuilt, as far as those are numbers."""
        cls, given = self.rebuilt.cls, self.rebuilt.given
        if given is None:
            return {}
        parameters = [(p.name, p.name, p.default) for p in self.function.parameters[1:]]
        if self.function.name == "__post_init__" and cls.framework.unflatten is not Unflatten.POST_INIT:
            variables = [f for f in cls.members if f.kind is Kind.INIT_VAR]
            parameters = [
                (p.name, f.name, None if f.default is None else f.default.expr)
                for p, f in zip(self.function.parameters[1:], variables, strict=False)
            ]
        return {name: _number(default) for name, passed_as, default in parameters if passed_as not in given}

    def _kind(self, name: str) -> str:
        """What stands for an attribute: "array", "number", "items", or nothing."""
        value = plain(without_none(plain(self.evaluator.attribute_of(Instance(self.rebuilt.cls), name))))
        match value:
            case Array() | UnknownValue():
                return "array"
            case Scalar(kind="int" | "float"):
                return "number"
            case Container(kind="list" | "tuple" | "sequence"):
                return "items"
        return ""

    def _sample(self, world: int, field: str, matrices: bool = False) -> dict[str, Number]:
        """Numbers for all attributes; in world 0 all arrays but `field` are masks, which may undo what is done."""
        return {
            name: _value(name, kind, 0 if world == 0 and name != field else max(world, 1), matrices)
            for name, kind in self.kinds.items()
        }


def _value(name: str, kind: str, world: int, matrices: bool) -> Number:
    base = 0.4 + crc32(name.encode()) % 1000 / 700
    scales = {0: (0.0, 1 / base, 1 / base), 1: (1.0, -1.7, 2.3), 2: (0.1, 0.45, 0.8)}[world]
    match kind:
        case "array":
            vector = tuple(base * s for s in scales)
            rows = (1.0, 0.0, 1.0) if world == 0 else (1.0, 0.3, -0.7)
            return tuple(tuple(v * row for v in vector) for row in rows) if matrices else vector
        case "number":
            return base + 6 + world
        case "items":
            return Items((base, base + 1))
    return None


def _number(expr: Expr | None) -> float | None:
    """The number that an expression literally is."""
    if isinstance(expr, Unary) and expr.op == "-":
        value = _number(expr.operand)
        return None if value is None else -value
    known = isinstance(expr, Constant) and expr.kind in ("int", "float") and expr.value is not None
    return float(expr.value) if known and isinstance(expr, Constant) else None


def _stored_statics(body: Body, function: Function, rebuilt: Rebuild) -> frozenset[str]:
    """The parameters, and the attributes (`self.x`), that hold the same static value whenever the constructor runs."""
    static = {name for name, role in rebuilt.roles.items() if role is Role.STATIC}
    own = function.self_name or ""
    for statement in walk(body):
        for part in own_parts(statement):
            match part:
                case Constant(kind="str", value=str(name)):
                    static.discard(name)  # `object.__setattr__(self, "x", ...)`
                case Name(id="setattr" | "vars" | "locals") | Attribute(attr="__dict__"):
                    return frozenset()
        for target in bound_by(statement) if not isinstance(statement, Augment) else (statement.target,):
            static -= {
                p.attr for p in parts(target) if isinstance(p, Attribute) and not _keeps(statement, p, own, rebuilt)
            }
    assigned = assigned_names(body)
    given = {name for name, attr in rebuilt.parameters.items() if attr in static and name not in assigned}
    return frozenset({*given, *(f"{own}.{name}" for name in static & rebuilt.preset)})


def _keeps(statement: Statement, target: Attribute, own: str, rebuilt: Rebuild) -> bool:
    """Whether a statement only puts a parameter into the attribute that is passed for it again."""
    if not isinstance(statement, Assign) or not isinstance(statement.value, Name):
        return False
    return dotted(target) == f"{own}.{rebuilt.parameters.get(statement.value.id)}"


class _Run(StraightLine[Number]):
    """One run of a constructor on numbers."""

    def __init__(
        self,
        evaluator: Evaluator,
        module: Module,
        function: Function,
        attributes: dict[str, Number],
        stored: frozenset[str],
        cls: PytreeClass,
    ) -> None:
        super().__init__(evaluator, module, function.inner_scope, function.self_name, attributes)
        self.assigned_at: dict[str, object] = {}
        #: The call in the constructor through which this is run, and how many calls lie between.
        self.called_at: object = None
        self.depth = 0
        self._stored = stored
        self._cls = cls

    def class_value(self, name: str) -> Expr | None:
        """What the class of `self` binds a name to."""
        return self._cls.class_value(name)

    def taken(self, test: Expr) -> bool:
        """A test of what is static has the same outcome in each run: whatever it guards is tried."""
        match test:
            case Unary(op="not", operand=operand):
                return self.taken(operand)
            case Compare(left=left, comparators=compared) if all(isinstance(c, Constant) for c in compared):
                return self.taken(left)
        return dotted(test) in self._stored

    def unknown(self) -> Number:
        """What cannot be computed."""
        return None

    def part(self, whole: Number, index: int) -> Number:
        """An item of a list or tuple."""
        return whole.items[index] if isinstance(whole, Items) and index < len(whole.items) else None

    def augmented(self, node: Augment) -> Number:
        """`x += 1`."""
        return operate(node.op, self.evaluate(node.target), self.evaluate(node.value))

    def stored(self, attr: str, value: Number, at: object) -> None:
        """Keep the place."""
        self.assigned_at[attr] = at if self.called_at is None else self.called_at

    def escaped(self) -> None:
        """What is not seen may assign anything."""
        self.attributes.clear()

    def evaluate(self, expr: Expr) -> Number:
        """The number that an expression is."""
        match expr:
            case Name(id=name):
                return self.variables[name] if name in self.variables else self._constant(expr)
            case Constant():
                return _number(expr)
            case Attribute(value=value, attr=attr):
                if self.is_self(value):
                    return self.attributes.get(attr)
                if attr in ("T", "mT"):
                    return transposed(self.evaluate(value))
                constant = CONSTANTS.get(self.resolved(expr) or "")
                return self._constant(expr) if constant is None else constant
            case Binary(op=op, left=left, right=right):
                return operate(op, self.evaluate(left), self.evaluate(right))
            case Unary(op=op, operand=operand):
                operated = self.evaluate(operand)
                return elementwise(lambda a: -a, operated) if op == "-" else operated if op == "+" else None
            case Display(kind=kind, items=items) if kind != "set" and not any(isinstance(i, Starred) for i in items):
                return Items(tuple(self.evaluate(i) for i in items))
            case Subscript(value=value, index=index):
                return _indexed(self.evaluate(value), index)
            case NamedExpr(target=target, value=value):
                result = self.evaluate(value)
                self.bind(target, result)
                return result
            case Call():
                return self._call(expr)
            case Lambda():
                return None
        for child in children(expr):
            self.evaluate(child)
        return None

    def _constant(self, expr: Expr) -> Number:
        """A number that a module calls by a name."""
        symbol = self.symbol(expr)
        return _number(symbol.assignment.value) if isinstance(symbol, ValueSymbol) and not symbol.scope else None

    def _call(self, call: Call) -> Number:
        keywords = {a.keyword: self.evaluate(a.value) for a in call.args if a.keyword is not None}
        values = [self.evaluate(a.value) for a in call.args if a.keyword is None]
        name = self.resolved(call.func)
        library, _, last = (name or "").rpartition(".")
        if name == "builtins.getattr" and len(values) == 2 and self.is_self(call.args[0].value):
            return self.attributes.get(self.text(call.args[1].value) or "")
        if library == "jax.random" and not call.has_star:
            return new_keys(last, values)
        if library in _LIBRARIES and not call.has_star:
            if name in ("builtins.max", "builtins.min") and len(values) == 2:
                last = f"{last}imum"
            return apply(last, values, keywords)
        symbol = self._function(call.func)
        if symbol is not None and not call.has_star and self.depth < _MAX_DEPTH:
            return self._called(symbol, call, values, keywords)
        if self.passes_self(call):
            self.escaped()
            return None
        if isinstance(call.func, Attribute):
            receiver = self.evaluate(call.func.value)
            if isinstance(receiver, Items):
                if call.func.attr in PUTTING:
                    self.bind(call.func.value, Items((*receiver.items, None)))
                return None
            return apply(call.func.attr, [receiver, *values], keywords)
        return None

    def _function(self, func: Expr) -> FunctionSymbol | None:
        """The function of the project that is called, or the method of `self`."""
        if isinstance(func, Attribute) and self.is_self(func.value):
            method = self._cls.method(func.attr)
            return None if method is None else FunctionSymbol(method[0].module, method[1])
        symbol = self.symbol(func)
        return symbol if isinstance(symbol, FunctionSymbol) and symbol.declaration.owner is None else None

    def _handed_on(self, call: Call) -> int:
        """How often the arguments of a call hold `self`, and not what an attribute of it holds."""
        inside = [part for argument in call.args for part in parts(argument.value)]
        owners = [part for part in inside if isinstance(part, Attribute) and self.is_self(part.value)]
        return sum(map(self.is_self, inside)) - len(owners)

    def _called(self, symbol: FunctionSymbol, call: Call, values: list[Number], keywords: dict[str, Number]) -> Number:
        """What a function makes of numbers, and of the attributes of `self` if it is its method or is given it."""
        function = symbol.declaration
        parameters = function.parameters if function.self_name is None else function.parameters[1:]
        given = {
            **dict(zip(names_by_position(parameters), zip(call.positional, values, strict=False), strict=False)),
            **{a.keyword: (a.value, keywords[a.keyword]) for a in call.args if a.keyword is not None},
        }
        holding = [p.name for p in parameters if p.name in given and self.is_self(given[p.name][0])]
        own = function.self_name or next(iter(holding), None)
        handed_on = (function.self_name is not None) + self._handed_on(call)
        callee = callee_of(FunctionValue(symbol), self.evaluator, plainly=False)
        is_one = handed_on == (own is not None)  # not by two names, nor inside of something
        if callee is None or not is_one or (own is not None and (function.decorators or _may_end_early(callee.body))):
            if handed_on:
                self.escaped()
            return None
        run = _Run(self.evaluator, symbol.module, function, {} if own is None else self.attributes, _NONE, self._cls)
        run.assigned_at, run.depth, run.self_name = self.assigned_at, self.depth + 1, own
        run.called_at = call.at if self.called_at is None else self.called_at
        run.variables = {p.name: None if p.default is None else run.evaluate(p.default) for p in parameters}
        for name, (expr, value) in given.items():
            run.receive(name, expr, value, self)
        run.read(callee.body)
        return run.returned


def _may_end_early(body: Body) -> bool:
    """Whether a method may return before its last statement."""
    return any(isinstance(s, Return) and s is not body[-1] for s in walk(body, nested=False))


def _indexed(value: Number, index: Expr) -> Number:
    """`x[1:]` is an array with fewer elements, `x[None]` and `x[:, None]` one with one more axis."""
    if isinstance(value, Items):
        place = _number(index)
        return value.items[int(place)] if place is not None and -len(value.items) <= place < len(value.items) else None
    if not isinstance(value, tuple):
        return None
    items = items_of(index)
    last = items[-1] if items else None
    if is_slice(last) and all(map(is_everything, items[:-1])):
        bounds = _bounds(last)
        inside = axes(value) - 1 if any(isinstance(item, Constant) for item in items) else len(items) - 1
        return None if bounds is None else _sliced(value, bounds, inside)
    added = [is_none(item) for item in items]
    if added.count(True) != 1 or not all(new or is_everything(i) for i, new in zip(items, added, strict=True)):
        return None
    return (value,) if added[0] else tuple((v,) for v in value)


def _sliced(value: Number, bounds: _Bounds, inside: int) -> Number:
    """A slice of an array, or of all arrays `inside` of it; None if the sample is smaller than what the code is for."""
    if not isinstance(value, tuple) or any(b is not None and abs(b) > max(len(value), _SIZE) for b in bounds):
        return None
    if not inside:
        return value[slice(*bounds)]
    rows = tuple(_sliced(row, bounds, inside - 1) for row in value)
    return None if None in rows else rows


def _bounds(index: Other) -> _Bounds | None:
    """The bounds of a slice, if they are literals."""
    bounds = [None if is_none(part) else _number(part) for part in index.parts]
    if len(bounds) != 3 or any(b is None and not is_none(p) for b, p in zip(bounds, index.parts, strict=True)):
        return None
    low, high, step = (None if b is None else int(b) for b in bounds)
    return low, high, step
