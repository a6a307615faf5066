"""What code that unflatten runs again does with leaves: converting them, and asking for what placeholders lack."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from msgspec.structs import replace

from jaxlint.infer.calls.straight_line import StraightLine
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, CodeRead
from jaxlint.infer.known.values import (
    NONE,
    Array,
    Choice,
    Instance,
    UnknownValue,
    Value,
    is_python_number,
    plain,
    without_none,
)
from jaxlint.libraries.arrays import ARRAY_ASSERTIONS, ARRAY_REDUCTIONS, ARRAY_TYPES, ASKING_KIND, is_conversion
from jaxlint.project.modules import Module
from jaxlint.project.resolution import External, FunctionSymbol
from jaxlint.pytrees.rebuild import Rebuild, rebuild_of
from jaxlint.rules.analyses.instances.instantiated import is_left_to_subclasses
from jaxlint.rules.analyses.rebuilding.frozen import in_construction, refuses_assignment
from jaxlint.rules.analyses.rebuilding.leaf_traits import (
    Check,
    Conversion,
    Held,
    Leaf,
    Trait,
    alternatives,
    attribute_of,
    computed_from,
    first_held,
    may_raise,
    raises,
)
from jaxlint.rules.analyses.under_trace.traced import stays_outside
from jaxlint.symbols.outline import Function, Parameter, names_by_position
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Binary,
    BoolOp,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Lambda,
    Name,
    NamedExpr,
    Starred,
    Subscript,
    Unary,
    children,
    dotted,
)
from jaxlint.syntax.statements import Augment, Statement

_MAX_DEPTH = 3
#: Functions of jax.numpy that give their first argument another shape.
_RESHAPING = frozenset(
    f"jax.numpy.{name}" for name in "atleast_1d atleast_2d atleast_3d ravel reshape broadcast_to squeeze".split()
)
_CONVERTING_METHODS = frozenset({"astype", "reshape", "ravel", "flatten", "squeeze"})
#: Functions that want a concrete value, which a tracer has not.
_CONCRETE = frozenset(
    {f"builtins.{name}" for name in ("float", "int", "complex", "bool")}
    | {f"numpy.{name}" for name in ("array", "asarray", "ascontiguousarray", "float32", "float64", "int32", "int64")}
)
_CONCRETE_METHODS = frozenset({"item", "tolist"})
_TRAIT_FUNCTIONS = {f"{m}.{n}": "shape" for m in ("jax.numpy", "numpy") for n in ("shape", "ndim", "size")}
#: Types that a tracer is no instance of.
_UNTRACED_TYPES = frozenset(
    {f"builtins.{name}" for name in ("float", "int", "complex", "bool", "str", "list", "tuple")}
    | {f"numpy.{name}" for name in ("ndarray", "generic", "number", "floating", "integer", "float32", "float64")}
    | {f"numbers.{name}" for name in ("Number", "Real", "Integral", "Complex")}
)
_CONTAINERS = frozenset({"builtins.list", "builtins.tuple"})
_ORDER = frozenset({"<", "<=", ">", ">="})
#: Functions whose result says of their arguments what these say of a leaf.
_PASSING = frozenset(
    [f"builtins.{name}" for name in "all any abs int len max min round sum tuple list sorted".split()]
    + [f"{module}.issubdtype" for module in ("jax.numpy", "numpy", "jax.dtypes")]
)


def rebuilt_by(code: CodeRead, evaluator: Evaluator) -> Rebuild | None:
    """The class whose unflatten runs the code again: that of the method, or a subclass that inherits it.

    None, too, if the code assigns what it may not (then there are no instances), or if the class stays out of
    transformations.
    """
    owner, function = code.place.owner, code.function
    if owner is None or function is None or function.name not in ("__init__", "__post_init__") or not function.owner:
        return None
    if any(isinstance(e, AssignAttribute) and refuses_assignment(e) and in_construction(e) for e in code.events):
        return None
    for cls in evaluator.model.pytree_family(owner):
        found = rebuild_of(cls, evaluator.model.resolver)
        if found is not None and found.function is function and not stays_outside(cls, evaluator):
            return None if is_left_to_subclasses(cls, evaluator) else found
    return None


def leaf_uses(code: CodeRead, rebuilt: Rebuild, evaluator: Evaluator) -> list[Conversion | Check]:
    """What the code does with leaves whenever it runs, the first of each kind for each leaf."""
    assert code.function is not None
    reader = _Reader(rebuilt, code.function, evaluator, code.place.module)
    reader.read(code.body)
    return list(reader.found.values())


class _Reader(StraightLine[Held]):
    """Follows the leaves through one method, and through the functions of the project that it calls."""

    def __init__(
        self, rebuilt: Rebuild, function: Function, evaluator: Evaluator, module: Module, around: _Reader | None = None
    ) -> None:
        scope = function.inner_scope
        attributes = {} if around is None else around.attributes
        super().__init__(evaluator, module, scope, function.self_name, attributes)
        self.rebuilt = rebuilt
        self.depth: int = 0 if around is None else around.depth + 1
        self.found: dict[tuple[str, str], Conversion | Check] = {} if around is None else around.found
        #: The call through which the code is reached, if it is not the method itself.
        self.called_at: object = None
        if around is None:
            for name in sorted(rebuilt.preset & rebuilt.leaves):
                attributes[name] = Leaf(name, self._kind_of_attribute(name), None)
            for parameter in function.parameters[1:]:
                leaf = rebuilt.of_parameter(parameter.name)
                if leaf is not None:
                    self.variables[parameter.name] = Leaf(
                        leaf, self._kind_of_parameter(function, parameter, leaf), None
                    )

    # -- kinds of leaves --------------------------------------------------------------------

    def class_value(self, name: str) -> Expr | None:
        """What the class of `self` binds a name to."""
        return self.rebuilt.cls.class_value(name)

    def _kind_of_parameter(self, function: Function, parameter: Parameter, leaf: str) -> str:
        if parameter.annotation is None:
            return self._kind_of_attribute(leaf)
        return _kind(self.evaluator.parameter(function, parameter.name, self.module), True)

    def _kind_of_attribute(self, name: str) -> str:
        cls = self.rebuilt.cls
        field = cls.field(name)
        annotated = field is not None and field.annotation is not None
        return _kind(self.evaluator.attribute_of(Instance(cls), name), annotated)

    @cached_property
    def _traced(self) -> bool:
        """Whether instances are seen to meet transformations, or hold arrays, and so are meant to."""
        cls = self.rebuilt.cls
        if cls.framework.registered_by_hand or self.evaluator.traced.of(cls) is not None:
            return True
        return any(self._kind_of_attribute(name) == "array" for name in self.rebuilt.leaves)

    # -- findings ---------------------------------------------------------------------------

    def _note(self, use: Conversion | Check, kind: str) -> None:
        """Keep what is done with a leaf, if that fails where leaves are replaced."""
        if kind == "other" or (kind == "number" and not self._traced):
            return
        key = (use.field, use.what if isinstance(use, Check) else "")
        self.found.setdefault(key, replace(use, at=self.called_at) if self.called_at is not None else use)

    def _converted(self, held: Leaf, at: object, function: str, needs: str) -> Held:
        self._note(Conversion(held.field, at, function, needs), held.kind)
        return None if needs == "value" else replace(held, at=at)

    def _truth(self, held: Held) -> None:
        """It is asked whether a value is true."""
        match held:
            case Leaf(kind="array" | "number"):
                self._note(Check(held.field, held.at, "value"), held.kind)
            case Trait(what=what, soft=False) if what != "type":
                self._note(Check(held.field, held.at, what), held.kind)

    # -- statements -------------------------------------------------------------------------

    def unknown(self) -> Held:
        """Nothing is known."""
        return None

    def part(self, whole: Held, index: int) -> Held:
        """A part of a shape is one."""
        return replace(whole, axes=False) if isinstance(whole, Trait) else None

    def augmented(self, node: Augment) -> Held:
        """`x += 1`."""
        held = self.evaluate(node.target)
        self.evaluate(node.value)
        return computed_from(held, node.target)

    def tested(self, test: Expr, statement: Statement) -> None:
        """A test that decides; one of the type is a guard unless it leads to an error."""
        held = self.evaluate(test)
        self._truth(held)
        if isinstance(held, Trait) and (held.soft or held.what == "type"):
            if may_raise(statement) if held.soft else raises(statement, held.negated):
                self._note(Check(held.field, held.at, held.what, held.traced, held.soft), held.kind)

    def bind(self, target: Expr, value: Held) -> None:
        """Assign to a target: `b, c = x.shape` fails unless there are two axes."""
        if isinstance(target, Display) and isinstance(value, Trait) and value.axes:
            if not any(isinstance(item, Starred) for item in target.items):
                self._note(Check(value.field, value.at, value.what), value.kind)
        super().bind(target, value)

    # -- expressions ------------------------------------------------------------------------

    def evaluate(self, expr: Expr) -> Held:
        """The leaf, or the trait of one, that an expression is."""
        match expr:
            case Name(id=name):
                return self._placed(self.variables.get(name), expr)
            case Attribute(value=value, attr=attr):
                if self.is_self(value):
                    return self._placed(self._own_attribute(attr, expr), expr)
                return attribute_of(self.evaluate(value), attr, expr)
            case Call():
                return self._call(expr)
            case Compare():
                return self._compare(expr)
            case Binary():
                return first_held([computed_from(self.evaluate(e), expr) for e in (expr.left, expr.right)])
            case Unary(op=op, operand=operand):
                held = self.evaluate(operand)
                if op != "not":
                    return computed_from(held, expr)
                if isinstance(held, Trait):
                    return replace(held, negated=not held.negated, at=expr.at)
                return held
            case BoolOp(op=op, left=left, right=right):
                return self._either(left, right, op)
            case Subscript():
                held = self.evaluate(expr.value)
                self.evaluate(expr.index)
                return replace(held, axes=False) if isinstance(held, Trait) else computed_from(held, expr)
            case NamedExpr(target=target, value=value):
                held = self.evaluate(value)
                self.bind(target, held)
                return held
            case Conditional(test=test):
                self._truth(self.evaluate(test))
                return None
            case Comprehension():
                return self._comprehension(expr)
            case Lambda():
                return None
        for child in children(expr):
            self.evaluate(child)
        return None

    def _placed(self, held: Held, expr: Expr) -> Held:
        return None if held is None else replace(held, at=expr.at)

    def _compare(self, expr: Compare) -> Held:
        """A comparison of a leaf tells something of its value; of its shape, something of that."""
        sides = (expr.left, *expr.comparators)
        held = [self.evaluate(side) for side in sides]
        if {"is", "is not"} & set(expr.ops):
            return None
        traits = [h for h in held if isinstance(h, Trait) and h.what != "type"]
        if traits:
            return replace(traits[0], at=expr.at)
        constants = [side.kind for side in sides if isinstance(side, Constant)]
        if {"in", "not in"} & set(expr.ops) or {"NoneType", "str"} & set(constants):
            return None
        found = computed_from(first_held(held), expr)
        if isinstance(found, Leaf) and found.kind == "bare":
            numeric = _ORDER.issuperset(expr.ops) and bool({"int", "float"} & set(constants))
            return replace(found, kind="array") if numeric else None
        return found

    def _either(self, left: Expr, right: Expr, op: str) -> Held:
        """`and` and `or`: the second operand counts unless the first is a guard."""
        first = self.evaluate(left)
        if isinstance(first, Trait) and first.what == "type":
            if (op == "and") != first.negated:
                return first
            second = self.evaluate(right) if isinstance(right, (Call, Unary)) else None
            if not isinstance(second, Trait) or second.what != "type" or second.field != first.field:
                return None
            return replace(first, traced=first.traced or second.traced) if second.negated == first.negated else None
        self._truth(first)
        return None if first is None else self.evaluate(right) or first

    def _comprehension(self, expr: Comprehension) -> Held:
        """`x.ndim == 1 for x in (self.a, self.b)`."""
        clause = expr.clauses[0]
        if len(expr.clauses) > 1 or clause.conditions:
            return None
        variables, texts, held = dict(self.variables), dict(self.texts), []
        for item in self.items(clause.iterable):
            self.bind_turn(clause.target, item)
            held.append(self.evaluate(expr.element))
        self.variables, self.texts = variables, texts
        return first_held(held)

    # -- calls ------------------------------------------------------------------------------

    def _call(self, call: Call) -> Held:
        values = [self.evaluate(a.value) for a in call.args]
        func = call.func
        if isinstance(func, Attribute):
            method = self._own_method(func)
            if method is not None:
                return self._read_called(method, call, values)
            receiver = self.evaluate(func.value)
            if receiver is not None:
                return self._method(receiver, func.attr, call)
        symbol = self.symbol(func)
        if isinstance(symbol, FunctionSymbol):
            if any(values) or self.passes_self(call):
                return self._read_called(symbol, call, values)
        elif isinstance(symbol, External):
            return self._function(symbol.name, call, values)
        return None

    def _method(self, receiver: Held, name: str, call: Call) -> Held:
        """A method of a leaf."""
        if not isinstance(receiver, Leaf):
            return None
        if name in _CONCRETE_METHODS:
            return self._converted(receiver, call.at, f".{name}", "value")
        if name in _CONVERTING_METHODS and receiver.whole:
            return self._converted(receiver, call.at, f".{name}", "array" if name == "astype" else "shape")
        return computed_from(receiver, call) if name in ARRAY_REDUCTIONS else None

    def _function(self, name: str, call: Call, values: list[Held]) -> Held:
        """A function that is known by name."""
        first = values[0] if values else None
        if name in ARRAY_ASSERTIONS:
            self._asserted(ARRAY_ASSERTIONS[name], call, first)
        elif name == "builtins.getattr" and len(values) == 2 and self.is_self(call.args[0].value):
            return self._placed(self.attributes.get(self.text(call.args[1].value) or ""), call)
        elif name == "builtins.isinstance" and isinstance(first, Leaf) and len(values) == 2:
            return self._instance_of(first, call)
        elif isinstance(first, Trait):
            return first if name in _PASSING else None
        if isinstance(first, Leaf):
            converts = name.startswith("jax.numpy.") and is_conversion(name)
            if converts or name in _RESHAPING:
                written, needs = dotted(call.func) or name, "array" if converts else "shape"
                return self._converted(first, call.at, written, needs) if first.whole else computed_from(first, call)
            if name in _CONCRETE and (name != "builtins.bool" or first.kind in ("array", "number")):
                return self._converted(first, call.at, dotted(call.func) or name, "value")
            if name == "builtins.len":  # a tracer has a length, too
                return Trait(first.field, "length", first.kind, call.at) if first.kind == "array" else None
            if name in _TRAIT_FUNCTIONS and first.kind != "other":
                return Trait(first.field, "shape", "array", call.at, soft=True)
        computes = name.startswith(("jax.numpy.", "numpy.", "math.")) and name.rpartition(".")[2] not in ASKING_KIND
        return computed_from(first_held(values), call) if computes or name in _PASSING else None

    def _asserted(self, what: str, call: Call, first: Held) -> None:
        """`chex.assert_rank(x, 2)`, `chex.assert_equal_shape([x, y])`."""
        given = call.args[0].value if call.args else None
        leaves = [first] if not isinstance(given, Display) else [self.evaluate(i) for i in given.items]
        for leaf in leaves:
            if isinstance(leaf, Leaf) and leaf.kind != "number":
                self._note(Check(leaf.field, call.at, what), leaf.kind)

    def _instance_of(self, leaf: Leaf, call: Call) -> Held:
        """`isinstance(leaf, ...)`: a test if it is known what a tracer answers, otherwise a guard."""
        names = [self.resolved(t) for t in alternatives(call.args[1].value)]
        if leaf.kind == "other" or not leaf.whole or not names:
            return None
        arrays = [n for n in names if n is not None and ARRAY_TYPES.get(n) in ("jax", "array")]
        if any(n not in arrays and n not in _UNTRACED_TYPES for n in names):
            return None
        if leaf.kind == "bare" and not _CONTAINERS.isdisjoint(names):
            return None  # it may be one, and is then rebuilt as one
        return Trait(leaf.field, "type", leaf.kind, call.at, traced=bool(arrays))

    def _own_method(self, func: Attribute) -> FunctionSymbol | None:
        """The method that `self.name` or `super().name` is, if its body is to be read here."""
        mro = self.rebuilt.cls.mro
        if isinstance(func.value, Call) and dotted(func.value.func) == "super":
            place = (self.module.path, self.scope.removesuffix(".<locals>").rpartition(".")[0])
            here = next((i for i, c in enumerate(mro) if c.symbol.key == place), len(mro))
            parent = next((c for c in mro[here + 1 :] if func.attr in c.symbol.declaration.methods), None)
            if parent is None or rebuild_of(parent, self.evaluator.model.resolver) is not None:
                return None
            method = parent.method(func.attr)
        else:
            method = self.rebuilt.cls.method(func.attr) if self.is_self(func.value) else None
        return None if method is None else FunctionSymbol(method[0].module, method[1])

    def _own_attribute(self, name: str, expr: Expr) -> Held:
        """An attribute of `self`, or what a property of it computes."""
        getter = None if name in self.attributes else self.evaluator.getter(self.rebuilt.cls, name)
        return (
            self.attributes.get(name)
            if getter is None
            else self._result(getter, expr, getter.declaration.self_name, ())
        )

    def _read_called(self, symbol: FunctionSymbol, call: Call, values: list[Held]) -> Held:
        """Read a function of the project for what it does with the leaves that it is given; what it returns."""
        function = symbol.declaration
        if function.decorators or function.is_async or function.is_generator or call.has_star:
            return None
        self_name = function.self_name
        parameters = function.parameters[1:] if function.owner is not None else function.parameters
        named = {parameter.name: parameter.kind for parameter in parameters}
        stars = {kind: name for name, kind in named.items() if kind in ("*", "**")}
        positional = iter(names_by_position(parameters))
        given: list[tuple[str, Expr, Held]] = []
        beyond: dict[str, list[Argument]] = {"*": [], "**": []}
        for argument, value in zip(call.args, values, strict=True):
            name = argument.keyword or next(positional, None)
            if name is None or name not in named:
                beyond["*" if name is None else "**"].append(argument)
            elif self.is_self(argument.value):
                self_name = name
            else:
                given.append((name, argument.value, value))
        rest, others = beyond["*"], beyond["**"]
        if rest and "*" in stars:
            given.append((stars["*"], Display(call.at, "tuple", tuple(a.value for a in rest)), None))
        if others and "**" in stars:
            keys = tuple(Constant(a.value.at, a.keyword, "str") for a in others)
            given.append((stars["**"], DictDisplay(call.at, keys, tuple(a.value for a in others)), None))
        return self._result(symbol, call, self_name, given)

    def _result(
        self, symbol: FunctionSymbol, expr: Expr, self_name: str | None, given: Iterable[tuple[str, Expr, Held]]
    ) -> Held:
        """What a function returns that an expression calls; its body is read for what it does with leaves."""
        body = self.evaluator.calls.body_of(symbol) if self.depth < _MAX_DEPTH else None
        if body is None:
            return None
        reader = _Reader(self.rebuilt, symbol.declaration, self.evaluator, symbol.module, self)
        reader.called_at = self.called_at if self.called_at is not None else expr.at
        reader.self_name = self_name
        for name, written, value in given:
            reader.receive(name, written, value, self)
        reader.read(body)
        return self._placed(reader.returned, expr)


def _kind(value: Value, annotated: bool) -> str:
    """What is known of the type of a leaf."""
    value = plain(without_none(plain(value)))
    options = [o for o in value.options if o != NONE] if isinstance(value, Choice) else [value]
    if all(isinstance(o, Array) or is_python_number(o) for o in options):
        traceable = any(isinstance(o, Array) and o.library != "numpy" for o in options)
        return "array" if traceable else "number"
    return "bare" if isinstance(value, UnknownValue) and not annotated else "other"
