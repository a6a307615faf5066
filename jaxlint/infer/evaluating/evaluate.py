"""Evaluating expressions to what is known of them, and noting the events on the way."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

from jaxlint.infer.evaluating.attributes import Attributes
from jaxlint.infer.evaluating.interfaces import ClassesInTransformations
from jaxlint.infer.known.counting import is_few, swept_value
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.mixins import inheriting
from jaxlint.infer.known.narrowing import Narrowing
from jaxlint.infer.known.values import (
    UNKNOWN,
    WRITTEN,
    Array,
    ClassObject,
    Container,
    FieldRead,
    FunctionValue,
    Indexed,
    Instance,
    Scalar,
    Symbolic,
    UnknownValue,
    Value,
    array_among,
    as_instance,
    dict_of,
    element_of,
    is_broadcast_single,
    join,
    joined,
    known_entries,
    plain,
    without_none,
)
from jaxlint.infer.transforms.transformed import TransformedFunctions
from jaxlint.libraries.arrays import NUMBER_CONSTANTS, indexed_library
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, External, FunctionSymbol, ModuleSymbol, Symbol, ValueSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.pytrees.stubs import described
from jaxlint.symbols.outline import Assignment, Function
from jaxlint.syntax.expressions import (
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
    Other,
    Starred,
    Subscript,
    Unary,
    children,
    dotted,
    is_slice,
)

_ARITHMETIC = frozenset({"+", "-", "*", "/"})
#: What makes the same few numbers of many, or another one now and then.
_REPEATING = frozenset({"%", "//", "&"})
_BOUNDING = frozenset({"<", "<=", ">", ">=", "==", "!="})
#: Constants of modules that are Python numbers.
_FLOATS = frozenset(f"{m}.{n}" for m in ("math", "numpy", "jax.numpy") for n in NUMBER_CONSTANTS)
_MAX_STATIC_DEPTH = 8
#: Comparisons that are no array, whatever is compared.
_TESTS = frozenset({"is", "is not", "in", "not in"})


class Evaluator(Narrowing, Attributes):
    """Evaluates expressions in an environment. `calls` evaluates the calls among them."""

    #: What knows which functions are transformed.
    transformed_type: type[TransformedFunctions] = TransformedFunctions

    def __init__(self, model: PytreeModel) -> None:
        super().__init__(model)
        #: The classes that declarations send into transformations.
        self.traced: ClassesInTransformations
        #: What the calls in the module that was read pass for a parameter of one of its functions, if they agree.
        self.passed_by_calls: Callable[[FunctionSymbol, str], Value] = lambda function, name: UNKNOWN
        self._variables: dict[tuple[str, str], Value] = {}
        #: What names stand for that are no variables, by module and scope.
        self._names: dict[tuple[str, str, str], Value] = {}
        self._static_depth = 0

    # -- outside of functions ---------------------------------------------------------------

    def static(self, placed: Placed, variables: Mapping[str, Value] | None = None) -> Value:
        """What an expression of a class body, a default or a module variable evaluates to; or one with `variables`."""
        if self._static_depth > _MAX_STATIC_DEPTH:
            return UNKNOWN
        self._static_depth += 1
        env = Environment(placed.module, placed.scope)
        env.values |= variables or {}
        try:
            return self.evaluate(placed.expr, env)
        finally:
            self._static_depth -= 1

    def _seen(self, placed: Placed, variables: Mapping[str, Value] | None = None) -> Value:
        """What an expression evaluates to that is not part of the code being read."""
        with self.calls.notes.elsewhere(None, None):
            return self.static(placed, variables)

    def of_symbol(self, symbol: Symbol) -> Value:
        """The value that a resolved name stands for."""
        cls = self.model.class_of_symbol(symbol)
        if cls is not None:
            return ClassObject(cls)
        match symbol:
            case External(name=name):
                if name in _FLOATS:
                    return Scalar("float")
                found = described(name)
                return FunctionValue(found) if isinstance(found, FunctionSymbol) else Symbolic(symbol)
            case ModuleSymbol():
                return Symbolic(symbol)
            case FunctionSymbol():
                return FunctionValue(symbol)
            case ValueSymbol():
                if symbol.key not in self._variables:
                    self._variables[symbol.key] = UNKNOWN  # stops cycles
                    self._variables[symbol.key] = self._variable(symbol)
                return self._variables[symbol.key]
        return UNKNOWN

    def _variable(self, symbol: ValueSymbol) -> Value:
        """The value of a variable outside of functions: what it is assigned, else what its annotation says."""
        assignment = symbol.assignment
        value: Value = UNKNOWN
        if assignment.value is not None:
            variables = {name: self.of_symbol(found) for name, found in self.model.resolver.meant_above(symbol)}
            value = self._seen(Placed(assignment.value, symbol.module, symbol.scope), variables)
        if isinstance(value, UnknownValue) and assignment.annotation is not None:
            value = self.annotations.read(Placed(assignment.annotation, symbol.module, symbol.scope))
        if known_entries(value) and symbol.module.outline.may_change(symbol.name):
            return Container("dict")  # what it holds then, and what no more, is not known
        return value

    def parameter(self, function: Function, name: str, module: Module) -> Value:
        """What the annotation of a parameter says."""
        for parameter in function.parameters:
            if parameter.name == name:
                return self.promises.parameter(parameter, function, module)
        return UNKNOWN

    # -- expressions ------------------------------------------------------------------------

    def evaluate(self, expr: Expr, env: Environment) -> Value:
        """What is known of the value of `expr`; the events in it are noted."""
        return _READERS[type(expr)](self, expr, env)

    def _call(self, expr: Call, env: Environment) -> Value:
        return self.calls.call(expr, env)

    def _constant(self, expr: Constant, env: Environment) -> Value:
        return WRITTEN[bool(expr.value)] if expr.kind == "bool" else Scalar(expr.kind)

    def _display(self, expr: Display, env: Environment) -> Value:
        if expr.has_star:
            known = [self.evaluate(i.value if isinstance(i, Starred) else i, env) for i in expr.items]
            alone = (v for i, v in zip(expr.items, known, strict=True) if not isinstance(i, Starred))
            return Container(expr.kind, among=array_among(alone))
        return Container(expr.kind, tuple([self.evaluate(i, env) for i in expr.items]))

    def _unary(self, expr: Unary, env: Environment) -> Value:
        value = plain(self.evaluate(expr.operand, env))
        return Scalar("bool") if expr.op == "not" else value if isinstance(value, (Array, Scalar)) else UNKNOWN

    def _bool_op(self, expr: BoolOp, env: Environment) -> Value:
        first = self.evaluate(expr.left, env)
        branch = env.copy()
        self.narrow(expr.left, branch, expr.op == "and")
        second = self.evaluate(expr.right, branch)
        return join(without_none(first) if expr.op == "or" else first, second)

    def _compare(self, expr: Compare, env: Environment) -> Value:
        operands = [plain(self.evaluate(e, env)) for e in (expr.left, *expr.comparators)]
        if not _TESTS.isdisjoint(expr.ops):
            return Scalar("bool")
        arrays = [o for o in operands if isinstance(o, Array)]
        if arrays:
            single = is_broadcast_single(operands)
            return Array(arrays[0].library, single, _is_declared(arrays))
        return Scalar("bool") if all(isinstance(o, Scalar) for o in operands) else UNKNOWN

    def _conditional(self, expr: Conditional, env: Environment) -> Value:
        self.evaluate(expr.test, env)
        yes, no = env.copy(), env.copy()
        self.narrow(expr.test, yes, True)
        self.narrow(expr.test, no, False)
        value = joined([self.evaluate(part, at) for part, at in ((expr.body, yes), (expr.orelse, no)) if not at.dead])
        return plain(value) if _is_bound(expr.test) else value

    def _lambda(self, expr: Lambda, env: Environment) -> Value:
        return self.calls.lambda_value(expr, env)

    def _named(self, expr: NamedExpr, env: Environment) -> Value:
        result = self.evaluate(expr.value, env)
        if isinstance(expr.target, Name):
            env.bind(expr.target.id, result)
        return result

    def _starred(self, expr: Starred, env: Environment) -> Value:
        self.evaluate(expr.value, env)
        return UNKNOWN

    def _other(self, expr: Other, env: Environment) -> Value:
        parts = [self.evaluate(part, env) for part in expr.parts]
        if expr.kind == "Await" and parts:
            awaited = plain(parts[0])
            return element_of(awaited) if isinstance(awaited, Container) and awaited.kind == "awaitable" else UNKNOWN
        return Scalar("str") if expr.kind == "JoinedStr" else UNKNOWN

    def _name(self, expr: Name, env: Environment) -> Value:
        value = env.lookup(expr.id)
        if value is not None:
            return value
        resolver = self.model.resolver
        scope = resolver.scope_of(expr, env.module, env.scope)
        key = (env.module.path, scope, expr.id)
        known = self._names.get(key)
        if known is not None:
            return known
        symbol = resolver.follow(resolver.resolve_name(expr.id, env.module, scope))
        result = self.of_symbol(symbol)
        if isinstance(result, UnknownValue):
            return self._enclosing_parameter(expr.id, env)
        if not isinstance(symbol, ValueSymbol):  # the value of a variable may be known later only
            self._names[key] = result
        return result

    def _enclosing_parameter(self, name: str, env: Environment) -> Value:
        """The annotated parameter that a name is, when an expression inside a function is read on its own."""
        scopes = env.module.outline.scopes
        scope = scopes.get(env.scope)
        while scope is not None and scope.kind == "function":
            bindings = scope.bindings.get(name)
            if bindings:
                only = bindings[0]
                if len(bindings) == 1 and isinstance(only, Assignment) and only.guard == "parameter":
                    function = env.module.outline.function_of(scope.qualname)
                    return UNKNOWN if function is None else self.own_parameter(function, name, env.module)
                return UNKNOWN
            scope = scopes.get(scope.parent) if scope.parent is not None else None
        return UNKNOWN

    def own_parameter(self, function: Function, name: str, module: Module) -> Value:
        """What a parameter is by its annotation; `self` and `cls` by the class around."""
        if function.owner is not None and name == function.self_name:
            declaration = module.outline.classes.get(function.owner)
            if declaration is not None:
                owner = self.model.build(ClassSymbol(module, declaration))
                return self.receiver(function, owner) or UNKNOWN
        return self.parameter(function, name, module)

    def given_parameter(self, function: Function, name: str, module: Module) -> Value:
        """What a parameter is by its annotation, or by all calls of the function, once the module was read."""
        value = self.own_parameter(function, name, module)
        if isinstance(plain(value), UnknownValue):
            return self.passed_by_calls(FunctionSymbol(module, function), name)
        return value

    def receiver(self, function: Function, owner: PytreeClass) -> Value | None:
        """The value of `self` or `cls` in a method of `owner`; None in a static method."""
        names = {dotted(d) for d in function.decorators}
        if "staticmethod" in names or any(a.name == function.name for a in owner.symbol.declaration.assignments):
            return None  # `pad = staticmethod(pad)`
        if "classmethod" in names or function.name in ("__init_subclass__", "__new__", "__class_getitem__"):
            return ClassObject(owner, False)
        if function.self_name != "self" and (owner.unknown_decorator or _is_called_on_class(function, owner)):
            return None
        return inheriting(function, owner, self.model) or Instance(owner)

    def _attribute(self, expr: Attribute, env: Environment) -> Value:
        path = dotted(expr) if env.roots else None
        value = env.get(path) if path is not None else None
        if value is None:
            return self.attribute_of(self.evaluate(expr.value, env), expr.attr)
        return self._own_attribute(expr.value, expr.attr, env) if isinstance(value, UnknownValue) else value

    def _own_attribute(self, held: Expr, attr: str, env: Environment) -> Value:
        """The value of an attribute of `self` after an assignment that says nothing: what all methods assign to it."""
        place = self.calls.notes.place
        method = place.method if place is not None else None
        if method is None or not isinstance(held, Name) or held.id != method.self_name:
            return UNKNOWN
        owner = as_instance(self.evaluate(held, env))
        return UNKNOWN if owner is None or owner.cls.is_pytree else self.attribute_of(owner, attr)

    def _subscript(self, expr: Subscript, env: Environment) -> Value:
        value = plain(without_none(plain(self.evaluate(expr.value, env))))
        self.evaluate(expr.index, env)
        match value:
            case Container(items=items, kind=kind):
                if kind in ("dict", "mapping"):
                    entries = known_entries(value)
                    if entries is None:
                        return value.element
                    if isinstance(expr.index, Constant):
                        return entries.get(expr.index.value, UNKNOWN)
                    return joined(list(entries.values()))
                if items is not None and isinstance(expr.index, Constant) and isinstance(expr.index.value, int):
                    position = expr.index.value
                    if -len(items) <= position < len(items):
                        return items[position]
                sliced = is_slice(expr.index)
                return Container(kind, None, element_of(value)) if sliced else element_of(value)
            case Array(library=library, declared=declared):
                sliced = any(map(is_slice, (expr.index, *children(expr.index))))
                return Array(library, None, declared) if sliced or _is_mask(expr.index) else element_of(value)
            case Indexed(array=array):
                return Indexed(array, True)
            case Symbolic(symbol=External(name=name)) if (made := indexed_library(name)) is not None:
                return Array(made)
            case Symbolic(symbol=External(name=name)):
                return value if _may_be_generic(name) else UNKNOWN
            case ClassObject() | FunctionValue():
                return value  # Generic[int]
        return UNKNOWN

    def _dict(self, expr: DictDisplay, env: Environment) -> Value:
        known: dict[str, Value] | None = {}
        evaluated: list[Value] = []
        for key, value in zip(expr.keys, expr.values, strict=True):
            if key is not None:
                self.evaluate(key, env)
            result = self.evaluate(value, env)
            evaluated.append(result)
            if known is None:
                continue
            if key is None:
                entries = known_entries(result)
                known = None if entries is None else {**known, **entries}
            elif isinstance(key, Constant) and isinstance(key.value, str):
                known[key.value] = result
            else:
                known = None
        if known is not None:
            return dict_of(known)
        return Container("dict", None, joined(evaluated) if None not in expr.keys else UNKNOWN)

    def _binary(self, expr: Binary, env: Environment) -> Value:
        left, right = self.evaluate(expr.left, env), self.evaluate(expr.right, env)
        added = expr.left if isinstance(right, FieldRead) and not isinstance(left, FieldRead) else expr.right
        return self.binary(expr.op, left, right, added)

    def binary(self, op: str, left: Value, right: Value, added: Expr) -> Value:
        """`left op right`, where `added` is what a static field would be changed by."""
        a, b = plain(left), plain(right)
        result: Value = UNKNOWN
        if isinstance(a, Array) or isinstance(b, Array):
            if all(isinstance(v, (Array, Scalar)) for v in (a, b)):
                arrays = [v for v in (a, b) if isinstance(v, Array)]
                library = arrays[0].library if len({v.library for v in arrays}) == 1 else "jax"
                single = is_broadcast_single((a, b)) if op != "@" else None
                result = Array(library, single, _is_declared(arrays))
                if library == "numpy" and (result.single or op == "@"):
                    result = UNKNOWN  # a number, and no array, or perhaps one
            elif any(isinstance(v, Array) and v.library == "jax" for v in (a, b)):
                # jax refuses lists: what stands beside one is a size, whatever is annotated
                result = UNKNOWN if isinstance(a, Container) or isinstance(b, Container) else Array("jax")
        elif isinstance(a, Scalar) and isinstance(b, Scalar):
            kind = a.kind if a.kind == b.kind else "float" if "float" in (a.kind, b.kind) else "int"
            varying = (a.varying or b.varying) and op not in _REPEATING
            result = Scalar("float" if op == "/" else kind, varying)
        elif isinstance(a, Container) or isinstance(b, Container):
            return _combined(op, a, b)
        if op == "%" and isinstance(left, FieldRead) and left.stepped:
            return result if is_few(added) else left
        if op == "-" and isinstance(right, FieldRead) and isinstance(a, Scalar):
            return result  # twice that is what it was
        if op in _ARITHMETIC and not (isinstance(result, Scalar) and result.kind not in ("int", "float")):
            for read, other in ((left, b), (right, a)):
                if isinstance(read, FieldRead) and isinstance(other, (Scalar, UnknownValue)):
                    shifted = read.shifted or op in ("*", "/") or not _is_stated_number(added)
                    return FieldRead(result, read.cls, read.field, True, shifted, read.by_fields)
        return result

    def _comprehension(self, expr: Comprehension, env: Environment) -> Value:
        inner = env.copy()
        for clause in expr.clauses:
            self.bind_pattern(clause.target, swept_value(element_of(self.evaluate(clause.iterable, inner))), inner)
            for condition in clause.conditions:
                self.evaluate(condition, inner)
                self.narrow(condition, inner, True)
        self.calls.notes.loop_depth += 1
        self.calls.notes.comprehensions += 1
        if expr.key is not None:
            self.evaluate(expr.key, inner)
        element = self.evaluate(expr.element, inner)
        self.calls.notes.loop_depth -= 1
        self.calls.notes.comprehensions -= 1
        kind = "sequence" if expr.kind == "generator" else expr.kind
        return Container(kind, None, plain(element))

    def bind_pattern(self, target: Expr, value: Value, env: Environment) -> None:
        """Bind the names of a comprehension target."""
        if isinstance(target, Name):
            env.bind(target.id, value)
        elif isinstance(target, Display):
            value = plain(value)
            items = value.items if isinstance(value, Container) and value.items is not None else ()
            for index, item in enumerate(target.items):
                known = items[index] if len(items) == len(target.items) else element_of(value)
                self.bind_pattern(item, known, env)

    # -- narrowing --------------------------------------------------------------------------


def _is_called_on_class(function: Function, owner: PytreeClass) -> bool:
    """Whether a module speaks of a function of a class as `Cls.pad`, which may be inherited: it is no method."""
    names = "|".join(map(re.escape, (declared.name for declared in owner.module.outline.classes.values())))
    spoken_of = rf"(?:\b(?:{names}|__class__)|\btype\(self\))\.{re.escape(function.name)}\b"
    return re.search(spoken_of, owner.module.source.text) is not None


def _may_be_generic(name: str) -> bool:
    """Whether a thing of a library that is subscripted may be a class (`deque[int]`), and no object with items."""
    return name.rpartition(".")[2][:1].isupper() or name.partition(".")[0] in sys.stdlib_module_names


def _is_mask(index: Expr) -> bool:
    """Whether an index chooses items by what holds for them: `x[~seen]`, `x[y > 0]`."""
    return isinstance(index, Compare) or (isinstance(index, Unary) and index.op == "~")


def _is_declared(arrays: list[Array]) -> bool:
    """Whether annotations alone name the library of an array that is computed from others."""
    return any(a.declared for a in arrays) and all(a.declared or a.library != "jax" for a in arrays)


def _combined(op: str, a: Value, b: Value) -> Value:
    """A list or tuple that is made of two, or of one several times over; a dict or set that is made of two."""
    if isinstance(a, Container) and isinstance(b, Container):
        if a.kind != b.kind or op != {"list": "+", "tuple": "+", "dict": "|", "set": "|"}.get(a.kind):
            return UNKNOWN
        if a.kind in ("dict", "set"):
            return Container(a.kind)
        if a.items is not None and b.items is not None:
            return Container(a.kind, (*a.items, *b.items))
        among = array_among([*(a.items or ()), *(b.items or ())]) or a.among or b.among
        return Container(a.kind, None, join(element_of(a), element_of(b)), among=among)
    held, times = (a, b) if isinstance(a, Container) else (b, a)
    assert isinstance(held, Container)
    if op != "*" or held.kind not in ("list", "tuple") or not isinstance(times, Scalar):
        return UNKNOWN
    return Container(held.kind, None, element_of(held))


def _is_bound(test: Expr) -> bool:
    """Whether a test holds an attribute against a small number: `s.phase < 2`."""
    if not isinstance(test, Compare) or len(test.ops) != 1 or test.ops[0] not in _BOUNDING:
        return False
    return isinstance(test.left, Attribute) and is_few(test.comparators[0])


def _is_stated_number(expr: Expr) -> bool:
    """Whether an expression is a number, or the name of a constant."""
    if isinstance(expr, Unary):
        return _is_stated_number(expr.operand)
    name = (dotted(expr) or "").rpartition(".")[2]
    return name.isupper() or (isinstance(expr, Constant) and expr.kind in ("int", "float", "bool"))


_READERS: dict[type[Any], Callable[[Evaluator, Any, Environment], Value]] = {
    Name: Evaluator._name,
    Constant: Evaluator._constant,
    Attribute: Evaluator._attribute,
    Call: Evaluator._call,
    Subscript: Evaluator._subscript,
    Display: Evaluator._display,
    DictDisplay: Evaluator._dict,
    Binary: Evaluator._binary,
    Unary: Evaluator._unary,
    BoolOp: Evaluator._bool_op,
    Compare: Evaluator._compare,
    Conditional: Evaluator._conditional,
    Lambda: Evaluator._lambda,
    Comprehension: Evaluator._comprehension,
    NamedExpr: Evaluator._named,
    Starred: Evaluator._starred,
    Other: Evaluator._other,
}
