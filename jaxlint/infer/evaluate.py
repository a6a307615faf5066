"""Evaluating expressions to what is known of them, and noting the events on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxlint.infer.annotations import AnnotationReader
from jaxlint.infer.deferred import Deferred, known
from jaxlint.infer.environment import Environment
from jaxlint.infer.interfaces import Calls, ClassesInTransformations
from jaxlint.infer.promises import Promises
from jaxlint.infer.values import (
    NONE,
    UNKNOWN,
    Array,
    Choice,
    ClassObject,
    Container,
    FieldRead,
    FunctionValue,
    Indexed,
    Instance,
    Method,
    Scalar,
    Selection,
    Symbolic,
    UnknownValue,
    Value,
    as_instance,
    dict_of,
    element_of,
    join,
    joined,
    known_entries,
    of_any_library,
    plain,
    without_none,
)
from jaxlint.libraries.arrays import ARRAY_ATTRIBUTES
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, External, FunctionSymbol, ModuleSymbol, Symbol, ValueSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.frameworks import PENZAI
from jaxlint.pytrees.model import Placed, PytreeClass, Role
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
)

_ARITHMETIC = frozenset({"+", "-"})
_MAX_STATIC_DEPTH = 8
#: Methods of strings that return a list.
_SPLITTING = frozenset({"split", "rsplit", "splitlines"})
#: The methods of a flax.linen module that are handed on as functions.
_LINEN_METHODS = frozenset({"apply", "init"})
#: Comparisons that are no array, whatever is compared.
_TESTS = frozenset({"is", "is not", "in", "not in"})
#: How functions are called that tell one class from another.
_GUARDS = ("hasattr", "is_", "has_", "_is_", "_has_", "issubclass")


class Evaluator:
    """Evaluates expressions in an environment. `calls` evaluates the calls among them."""

    def __init__(self, model: PytreeModel) -> None:
        self.model = model
        self.annotations = AnnotationReader(model)
        self.promises = Promises(self.annotations, self._seen)
        self.calls: Calls
        #: The classes that declarations send into transformations.
        self.crossings: ClassesInTransformations
        self._attributes: dict[tuple[tuple[str, str], str], Value] = {}
        self._variables: dict[tuple[str, str], Value] = {}
        #: What names stand for that are no variables, by module and scope.
        self._names: dict[tuple[str, str, str], Value] = {}
        #: The attributes of things outside of the project.
        self._externals: dict[tuple[str, str], Value] = {}
        self._static_depth = 0

    # -- outside of functions ---------------------------------------------------------------

    def static(self, placed: Placed) -> Value:
        """What an expression of a class body, a default or a module variable evaluates to."""
        if self._static_depth > _MAX_STATIC_DEPTH:
            return UNKNOWN
        self._static_depth += 1
        try:
            return self.evaluate(placed.expr, Environment(placed.module, placed.scope))
        finally:
            self._static_depth -= 1

    def _seen(self, placed: Placed) -> Value:
        """What an expression evaluates to that is not part of the code being read."""
        with self.calls.notes.elsewhere(None, None):
            return self.static(placed)

    def of_symbol(self, symbol: Symbol) -> Value:
        """The value that a resolved name stands for."""
        cls = self.model.class_of_symbol(symbol)
        if cls is not None:
            return ClassObject(cls)
        match symbol:
            case External(name=name):
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
            value = self.static(Placed(assignment.value, symbol.module, symbol.scope))
        if isinstance(value, UnknownValue) and assignment.annotation is not None:
            value = self.annotations.read(Placed(assignment.annotation, symbol.module, symbol.scope))
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
        return Scalar(expr.kind)

    def _display(self, expr: Display, env: Environment) -> Value:
        if any(isinstance(i, Starred) for i in expr.items):
            for item in expr.items:
                self.evaluate(item.value if isinstance(item, Starred) else item, env)
            return Container(expr.kind)
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
            return Array(arrays[0].library, True if all(_is_single(o) for o in operands) else None)
        return Scalar("bool") if all(isinstance(o, Scalar) for o in operands) else UNKNOWN

    def _conditional(self, expr: Conditional, env: Environment) -> Value:
        self.evaluate(expr.test, env)
        yes, no = env.copy(), env.copy()
        self.narrow(expr.test, yes, True)
        self.narrow(expr.test, no, False)
        return joined([self.evaluate(part, at) for part, at in ((expr.body, yes), (expr.orelse, no)) if not at.dead])

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
        key = (env.module.path, env.scope, expr.id)
        known = self._names.get(key)
        if known is not None:
            return known
        resolver = self.model.resolver
        symbol = resolver.follow(resolver.resolve_name(expr.id, env.module, env.scope))
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
                    function = env.module.outline.functions.get(scope.qualname.removesuffix(".<locals>"))
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

    def receiver(self, function: Function, owner: PytreeClass) -> Value | None:
        """The value of `self` or `cls` in a method of `owner`; None in a static method."""
        names = {dotted(d) for d in function.decorators}
        if "staticmethod" in names:
            return None
        if "classmethod" in names or function.name in ("__init_subclass__", "__new__", "__class_getitem__"):
            return ClassObject(owner, False)
        return Instance(owner)

    def _attribute(self, expr: Attribute, env: Environment) -> Value:
        path = dotted(expr) if env.roots else None
        value = env.get(path) if path is not None else None
        if value is not None:
            return value
        return self.attribute_of(self.evaluate(expr.value, env), expr.attr)

    def attribute_of(self, receiver: Value, attr: str) -> Value:
        """`receiver.attr`."""
        receiver = plain(without_none(plain(receiver)))
        match receiver:
            case UnknownValue():
                return Indexed(UNKNOWN) if attr == "at" else UNKNOWN
            case Instance(cls=cls):
                return self._instance_attribute(receiver, cls, attr)
            case ClassObject(cls=cls):
                found = cls.method(attr)
                if found is not None:
                    symbol = FunctionSymbol(found[0].module, found[1])
                    return FunctionValue(symbol, receiver)
                member = self.model.resolver.member(cls.symbol, attr)
                return self.of_symbol(member) if isinstance(member, (ClassSymbol, ValueSymbol)) else UNKNOWN
            case Symbolic(symbol=symbol):
                return self._member(symbol, attr)
            case Array(library=library, single=single):
                if attr == "at":
                    return Indexed(receiver)
                if attr in ARRAY_ATTRIBUTES:
                    return Array(library, single)
                if attr == "shape":
                    return Container("tuple", None, Scalar("int"))
                if attr in ("ndim", "size"):
                    return Scalar("int")
                return Method(receiver, attr)
            case Container() | Indexed() | Selection():
                return Method(receiver, attr)
            case Scalar(kind="str") if attr in _SPLITTING:
                return Method(receiver, attr)
            case Choice(options=options):
                values = [self.attribute_of(o, attr) for o in options]
                result = values[0]
                for value in values[1:]:
                    result = join(result, value)
                return result
        return UNKNOWN

    def _member(self, symbol: Symbol, attr: str) -> Value:
        """The attribute of a module, or of something outside of the project."""
        resolver = self.model.resolver
        if not isinstance(symbol, External):
            return self.of_symbol(resolver.follow(resolver.member(symbol, attr)))
        key = (symbol.name, attr)
        known = self._externals.get(key)
        if known is None:
            known = self._externals[key] = self.of_symbol(resolver.member(symbol, attr))
        return known

    def _instance_attribute(self, receiver: Instance, cls: PytreeClass, attr: str) -> Value:
        if attr == "__class__":
            return ClassObject(cls, receiver.exact)
        if attr == cls.framework.replace_method and cls.has_framework_replace:
            return Method(receiver, attr)
        if attr in ("__setattr__", "__delattr__") and cls.method(attr) is None:
            return Method(receiver, attr)
        if has_framework_method(cls, attr):
            return Method(receiver, attr)
        field = cls.field(attr)
        if field is not None:
            value = self.promises.field(field, cls)
            if isinstance(value, UnknownValue) and field.assigned is not None:
                value = self.static(field.assigned)
            if receiver.refilled:  # with a numpy array, perhaps
                value = of_any_library(value)
            return FieldRead(value, cls, attr) if field.role is Role.STATIC else value
        getter = self.getter(cls, attr)
        if getter is not None:
            return self.calls.returned(FunctionValue(getter, receiver))
        found = cls.method(attr)
        if found is not None:
            return FunctionValue(FunctionSymbol(found[0].module, found[1]), receiver)
        value = self.attribute_type(cls, attr)
        if attr in _LINEN_METHODS and isinstance(value, UnknownValue) and self._inherits(cls, "flax.linen.Module"):
            return Symbolic(External(f"flax.linen.Module.{attr}"))
        return value

    def _inherits(self, cls: PytreeClass, name: str) -> bool:
        """Whether a class inherits from one outside of the project, by its dotted name."""
        for one in cls.mro:
            declaration = one.symbol.declaration
            for base in declaration.bases:
                symbol = self.model.resolver.resolve(base.value, one.module, declaration.scope)
                if base.keyword is None and symbol == External(name):
                    return True
        return False

    def getter(self, cls: PytreeClass, attr: str) -> FunctionSymbol | None:
        """The function that computes a property."""
        found = cls.method(attr)
        if found is not None:
            owner = found[0]
            for qualname in owner.symbol.declaration.methods[attr]:  # the getter comes before the setter
                function = owner.module.outline.functions[qualname]
                if any(self._is_property(d, owner.module, function.scope) for d in function.decorators):
                    return FunctionSymbol(owner.module, function)
        return None

    def fields_of(self, instance: Instance) -> Container:
        """The values of a NamedTuple, in order."""
        return Container("tuple", tuple(self.promises.field(field, instance.cls) for field in instance.cls.fields))

    def _is_property(self, decorator: Expr, module: Module, scope: str) -> bool:
        symbol = self.model.resolver.resolve(decorator, module, scope)
        return isinstance(symbol, External) and symbol.name in (
            "builtins.property",
            "functools.cached_property",
        )

    def attribute_type(self, cls: PytreeClass, attr: str) -> Value:
        """What the methods of an ordinary class assign to `self.attr`, if they all agree."""
        key = (cls.symbol.key, attr)
        if key in self._attributes:
            return self._attributes[key]
        self._attributes[key] = UNKNOWN  # stops cycles
        self._attributes[key] = result = self._attribute_type(cls, attr)
        return result

    def _attribute_type(self, cls: PytreeClass, attr: str) -> Value:
        found: list[Placed] = []
        for ancestor in cls.mro:
            outline, declared = ancestor.module.outline, ancestor.symbol.declaration
            for declaration in declared.fields:
                if declaration.name == attr:
                    return self.annotations.read(
                        Placed(declaration.annotation, ancestor.module, declared.qualname), cls
                    )
            for qualname in (q for qualnames in declared.methods.values() for q in qualnames):
                for assignment in outline.functions[qualname].self_assignments:
                    if assignment.attr != attr:
                        continue
                    scope = f"{qualname}.<locals>"
                    if assignment.annotation is not None:
                        return self.annotations.read(Placed(assignment.annotation, ancestor.module, scope), cls)
                    if assignment.value is None:
                        return UNKNOWN
                    found.append(Placed(assignment.value, ancestor.module, scope))
        # what is updated from itself (`self.x = self.x.replace(...)`) is read once the rest is known
        found.sort(key=lambda p: _mentions(p.expr, attr))
        result: Value = UNKNOWN
        for index, placed in enumerate(found):
            value = plain(self.static(placed))
            result = value if index == 0 else join(result, value)
            self._attributes[(cls.symbol.key, attr)] = result
        return result

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
                sliced = getattr(expr.index, "kind", "") == "Slice"
                return Container(kind, None, element_of(value)) if sliced else element_of(value)
            case Array(library=library):
                sliced = any(getattr(p, "kind", "") == "Slice" for p in (expr.index, *children(expr.index)))
                return Array(library) if sliced else element_of(value)
            case Indexed(array=array):
                return Indexed(array, True)
            case ClassObject() | Symbolic() | FunctionValue():
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
        return self.binary(expr.op, left, right)

    def binary(self, op: str, left: Value, right: Value) -> Value:
        """`left op right`."""
        a, b = plain(left), plain(right)
        result: Value = UNKNOWN
        if isinstance(a, Array) or isinstance(b, Array):
            if all(isinstance(v, (Array, Scalar)) for v in (a, b)):
                arrays = [v for v in (a, b) if isinstance(v, Array)]
                library = arrays[0].library if len({v.library for v in arrays}) == 1 else "jax"
                result = Array(library, True if all(_is_single(v) for v in (a, b)) else None)
                if library == "numpy" and (result.single or op == "@"):
                    result = UNKNOWN  # a number, and no array, or perhaps one
            elif any(isinstance(v, Array) and v.library == "jax" for v in (a, b)):
                result = Array("jax")
        elif isinstance(a, Scalar) and isinstance(b, Scalar):
            kind = a.kind if a.kind == b.kind else "float" if "float" in (a.kind, b.kind) else "int"
            result = Scalar("float" if op == "/" else kind, a.varying or b.varying)
        elif isinstance(a, Container) or isinstance(b, Container):
            return _combined(op, a, b)
        if op == "%" and isinstance(left, FieldRead) and left.stepped:
            return left
        if op in _ARITHMETIC and not (isinstance(result, Scalar) and result.kind not in ("int", "float")):
            for read, other in ((left, b), (right, a)):
                if isinstance(read, FieldRead) and isinstance(other, (Scalar, UnknownValue)):
                    return FieldRead(result, read.cls, read.field, True)
        return result

    def _comprehension(self, expr: Comprehension, env: Environment) -> Value:
        inner = env.copy()
        for clause in expr.clauses:
            self.bind_pattern(clause.target, element_of(self.evaluate(clause.iterable, inner)), inner)
            for condition in clause.conditions:
                self.evaluate(condition, inner)
                self.narrow(condition, inner, True)
        self.calls.notes.loop_depth += 1
        if expr.key is not None:
            self.evaluate(expr.key, inner)
        element = self.evaluate(expr.element, inner)
        self.calls.notes.loop_depth -= 1
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

    def narrow(self, test: Expr, env: Environment, truthy: bool) -> None:
        """Learn from the outcome of a test what it says of the variables in it."""
        match test:
            case Unary(op="not", operand=operand):
                self.narrow(operand, env, not truthy)
            case BoolOp(op=op, left=left, right=right):
                if (op == "and") == truthy:
                    self.narrow(left, env, truthy)
                    self.narrow(right, env, truthy)
                else:
                    self._forget_tested(test, env)
            case NamedExpr(target=target):
                self.narrow(target, env, truthy)
            case Name() | Attribute():
                path = dotted(test)
                if path is not None and truthy:
                    self._update(path, without_none, env)
                if isinstance(test, Name) and self._switch(test.id, env) is (not truthy):
                    env.dead = True
            case Compare(left=left, ops=(op,), comparators=(right,)):
                self._narrow_comparison(left, op, right, env, truthy)
            case Call():
                self._narrow_call(test, env, truthy)

    def _switch(self, name: str, env: Environment) -> bool | None:
        """What a variable of a module is that is `True` or `False` once and for all (`JAX_MODE = True`)."""
        if env.is_variable(name):
            return None
        symbol = self.model.resolver.follow(self.model.resolver.resolve_name(name, env.module, env.scope))
        if not isinstance(symbol, ValueSymbol) or symbol.scope:
            return None
        outline, value = symbol.module.outline, symbol.assignment.value
        if len(outline.module_scope.bindings[symbol.name]) > 1:
            return None
        if any(symbol.name in scope.is_global for scope in outline.scopes.values()):
            return None
        return value.value if isinstance(value, Constant) and isinstance(value.value, bool) else None

    def _update(self, path: str, change: Callable[[Value], Value], env: Environment) -> None:
        root = path.partition(".")[0]
        held = env.values.get(path)
        if isinstance(held, Deferred) and held.is_open:
            env.values[path] = Deferred(lambda: change(held.value), (held,))
        elif held is not None:
            env.values[path] = change(known(held))
        elif "." in path and env.roots and env.lookup(root) is not None:
            expr: Expr = Name(None, root)
            for part in path.split(".")[1:]:
                expr = Attribute(None, expr, part)
            value = change(self.evaluate(expr, env))
            if not isinstance(value, UnknownValue):
                env.roots |= {root}
                env.values[path] = value

    def _narrow_comparison(self, left: Expr, op: str, right: Expr, env: Environment, truthy: bool) -> None:
        path = dotted(left)
        is_none = isinstance(right, Constant) and right.kind == "NoneType"
        if path is not None and is_none and op in ("is", "is not", "==", "!="):
            if (op in ("is", "==")) == truthy:
                return
            if env.get(path) == NONE:
                env.dead = True
            self._update(path, without_none, env)
        elif isinstance(left, Call) and op in ("is", "==") and truthy and len(left.positional) == 1:
            target = dotted(left.positional[0])
            if target is not None and dotted(left.func) == "type":
                cls = self.evaluate(right, env)
                value = Instance(cls.cls, True) if isinstance(cls, ClassObject) else UNKNOWN
                self._update(target, lambda _: value, env)

    def _narrow_call(self, test: Call, env: Environment, truthy: bool) -> None:
        if not test.positional:
            return
        path = dotted(test.positional[0])
        if path is None:
            return
        name = dotted(test.func)
        if name == "isinstance" and len(test.positional) == 2:
            if truthy:
                cls = self.evaluate(test.positional[1], env)
                value = Instance(cls.cls) if isinstance(cls, ClassObject) else UNKNOWN
                self._update(path, lambda before: _narrowed(before, value), env)
            else:
                cls = self.evaluate(test.positional[1], env)
                known = as_instance(self.evaluate(test.positional[0], env))
                if known is not None and isinstance(cls, ClassObject) and cls.cls in known.cls.mro:
                    env.dead = True
                self._update(path, lambda before: before if isinstance(plain(before), Instance) else UNKNOWN, env)
        elif truthy and (name or "").rpartition(".")[2].startswith(_GUARDS):
            # hasattr, TypeGuard functions and the like: the value may be of any subclass
            self._update(path, lambda before: before if _is_exact(before) else UNKNOWN, env)

    def _forget_tested(self, test: Expr, env: Environment) -> None:
        """After `a or b` held, what it said of either is not known."""
        for part in children(test):
            if isinstance(part, Call) and part.positional:
                path = dotted(part.positional[0])
                if path is not None and path in env.values and dotted(part.func) in ("isinstance", "hasattr"):
                    env.values[path] = UNKNOWN
            elif isinstance(part, BoolOp):
                self._forget_tested(part, env)


def has_framework_method(cls: PytreeClass, name: str) -> bool:
    """Whether `name` is a method of the framework's base class that copies or selects, and is none of the user's."""
    framework = cls.framework
    if name not in framework.copying_methods and (name != "select" or framework is not PENZAI):
        return False
    return cls.bases_known and cls.field(name) is None and cls.method(name) is None


def _narrowed(before: Value, tested: Value) -> Value:
    """The value after a successful `isinstance`: the more specific of both."""
    known = plain(without_none(plain(before)))
    if isinstance(known, Instance) and isinstance(tested, Instance) and tested.cls in known.cls.mro:
        return known
    return tested


def _is_exact(value: Value) -> bool:
    known = plain(value)
    return isinstance(known, Instance) and known.exact


def _is_single(value: Value) -> bool:
    """Whether an operand adds no elements: a Python number, or an array of one."""
    return isinstance(value, Scalar) or (isinstance(value, Array) and value.single is True)


def _combined(op: str, a: Value, b: Value) -> Value:
    """A list or tuple that is made of two, or of one several times over; a dict or set that is made of two."""
    if isinstance(a, Container) and isinstance(b, Container):
        if a.kind != b.kind or op != {"list": "+", "tuple": "+", "dict": "|", "set": "|"}.get(a.kind):
            return UNKNOWN
        if a.kind in ("dict", "set"):
            return Container(a.kind)
        if a.items is not None and b.items is not None:
            return Container(a.kind, (*a.items, *b.items))
        return Container(a.kind, None, join(element_of(a), element_of(b)))
    held, times = (a, b) if isinstance(a, Container) else (b, a)
    assert isinstance(held, Container)
    if op != "*" or held.kind not in ("list", "tuple") or not isinstance(times, Scalar):
        return UNKNOWN
    return Container(held.kind, None, element_of(held))


def _mentions(expr: Expr, attr: str) -> bool:
    """Whether an expression reads an attribute of that name."""
    stack = [expr]
    while stack:
        current = stack.pop()
        if isinstance(current, Attribute) and current.attr == attr:
            return True
        stack.extend(children(current))
    return False


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
