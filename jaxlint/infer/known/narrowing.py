"""What the outcome of a test says of the variables in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from jaxlint.infer.known.deferred import Deferred, known
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.guards import TypeGuard, type_guard
from jaxlint.infer.known.stand_ins import has_stand_ins
from jaxlint.infer.known.values import (
    NONE,
    UNKNOWN,
    Choice,
    ClassObject,
    Container,
    Instance,
    UnknownValue,
    Value,
    as_instance,
    choice,
    options,
    plain,
    without_none,
)
from jaxlint.project.resolution import FunctionSymbol, ValueSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.missing_members import misses_attribute
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    BoolOp,
    Call,
    Compare,
    Constant,
    Expr,
    Name,
    NamedExpr,
    Unary,
    children,
    dotted,
    is_special,
    last_name,
    same,
)
from jaxlint.syntax.statements import parts, target_names

#: Functions that tell instances of some class from others.
_TESTS = ("hasattr", "isinstance", "is_dataclass")
#: How functions are called that tell one class from another.
_GUARDS = ("hasattr", "is_", "has_", "_is_", "_has_", "issubclass")

#: Functions that tell of what kind something is, or what it has.
_ASKING = frozenset(
    """type isinstance hasattr callable is_dataclass fields vars leaves tree_leaves flatten tree_flatten structure
    tree_structure""".split()
)
#: Constants that are equal to one another or not, whatever is compared with them.
_COMPARED = ("str", "int", "float", "bool", "bytes")
#: Functions of Python that give the same for the same number or string.
_PURE = ("abs", "chr", "float", "int", "ord", "str")


class Narrowing:
    """Narrows what is known of variables by tests; an evaluator is one."""

    model: PytreeModel

    def evaluate(self, expr: Expr, env: Environment) -> Value:
        """What is known of an expression."""
        raise NotImplementedError

    def narrow(self, test: Expr, env: Environment, truthy: bool) -> None:
        """Index from the outcome of a test what it says of the variables in it."""
        if env.is_given:
            self.doubt_asked(test, env)
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
                if isinstance(test, Name) and self._switch(test, env) is (not truthy):
                    env.dead = True
            case Compare(left=left, ops=(op,), comparators=(right,)):
                self._narrow_comparison(left, op, right, env, truthy)
            case Call():
                self._narrow_call(test, env, truthy)

    def _switch(self, name: Name, env: Environment) -> bool | None:
        """What a variable is that a call gives `True` or `False`, or a module once and for all (`JAX_MODE = True`)."""
        if env.is_variable(name.id):
            return next((bool(value) for expr, value in env.equal if same(expr, name)), None)
        symbol = self.model.resolver.follow(self.model.resolver.resolve_name(name.id, env.module, env.scope))
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
        if op in ("==", "!=") and isinstance(right, Constant) and right.kind in _COMPARED:
            self._narrow_equality(left, right.value, env, (op == "==") == truthy)
        path = dotted(left)
        is_none = isinstance(right, Constant) and right.kind == "NoneType"
        if path is not None and is_none and op in ("is", "is not", "==", "!="):
            if (op in ("is", "==")) == truthy:
                return
            if env.get(path) == NONE:
                env.dead = True
            self._update(path, without_none, env)
        elif isinstance(left, Call) and not (op in ("is", "==") and truthy):
            self._doubt(left, env)
        elif isinstance(left, Call) and len(left.positional) == 1:
            target = dotted(left.positional[0])
            if target is not None and dotted(left.func) == "type":
                cls = self.evaluate(right, env)
                value = Instance(cls.cls, True) if isinstance(cls, ClassObject) else UNKNOWN
                self._update(target, lambda _: value, env)

    def _narrow_equality(self, left: Expr, value: object, env: Environment, equal: bool) -> None:
        """What is one constant is no other: below `if key == "a"` no test of `key == "b"` holds."""
        before = next((known for expr, known in env.equal if same(expr, left)), None)
        if before is not None:
            env.dead = env.dead or (before == value) is not equal
        elif equal and _is_steady(left, env):
            env.equal += ((left, value),)

    def _narrow_call(self, test: Call, env: Environment, truthy: bool) -> None:
        if not test.positional:
            return
        path = dotted(test.positional[0])
        if path is None:
            self._doubt(test, env)
            return
        name = dotted(test.func)
        guard = self._guard(test, env)
        if name == "isinstance" and len(test.positional) == 2:
            self._narrow_to(test.positional[0], path, self.evaluate(test.positional[1], env), env, truthy)
        elif guard is not None and (truthy or guard.is_strict):
            at = Environment(guard.module, guard.scope)
            self._narrow_to(test.positional[0], path, self.evaluate(guard.asked, at), env, truthy)
        elif truthy and name == "hasattr" and len(test.positional) == 2 and self._misses(*test.positional, env):
            env.dead = True
        elif not truthy and (name == "hasattr" or last_name(test.func) == "is_dataclass"):
            self._narrow_missing(test, path, env)
        elif truthy and (name or "").rpartition(".")[2].startswith(_GUARDS):
            # hasattr, TypeGuard functions and the like: the value may be of any subclass
            self._update(path, lambda before: before if _is_exact(before) and not env.is_given else UNKNOWN, env)
        else:
            self._doubt(test, env)

    def _doubt(self, test: Call, env: Environment) -> None:
        """What calls pass may all be turned away by a test, or all pass it: who asks expects others as well."""
        if env.is_given:
            for name in {name for asked in test.positional for name in _asked_about(asked)} & env.locals:
                self._update(name, lambda _: UNKNOWN, env)

    def doubt_asked(self, asking: Expr, env: Environment) -> None:
        """The same where something asks of what kind a variable is in other words, or did so before."""
        for name in asked_about(asking, env):
            self._update(name, lambda _: UNKNOWN, env)

    def _narrow_to(self, asked: Expr, path: str, tested: Value, env: Environment, truthy: bool) -> None:
        """Something is an instance of a class that was asked for, or is none."""
        classes = _classes(tested)
        if truthy:
            is_certain = bool(classes) and not has_stand_ins(env.module)
            value = choice([Instance(cls.cls) for cls in classes]) if is_certain else UNKNOWN
            self._update(path, lambda before: _narrowed(before, value), env)
        else:
            known = as_instance(self.evaluate(asked, env))
            if known is not None and any(cls.cls in known.cls.mro for cls in classes):
                env.dead = True
            self._update(path, lambda before: _without(before, classes), env)

    def _guard(self, test: Call, env: Environment) -> TypeGuard | None:
        """The function of the project that is asked, if it tells the instances of a class from all else."""
        if len(test.args) != 1 or not isinstance(test.func, (Name, Attribute)) or last_name(test.func) in _TESTS:
            return None
        if env.is_variable((dotted(test.func) or "").partition(".")[0]):
            return None
        symbol = self.model.resolver.follow(self.model.resolver.resolve(test.func, env.module, env.scope))
        return type_guard(symbol) if isinstance(symbol, FunctionSymbol) else None

    def _narrow_missing(self, test: Call, path: str, env: Environment) -> None:
        """Something lacks an attribute, or is no dataclass: it is not what it seems, unless its class lacks that."""
        value = plain(self.evaluate(test.positional[0], env))
        holder = value if isinstance(value, ClassObject) else as_instance(value)
        if holder is None:
            return
        cls, is_instance = holder.cls, isinstance(holder, Instance)
        if last_name(test.func) == "is_dataclass":
            env.dead = env.dead or (is_instance and cls.is_dataclass)
            return
        attr = test.positional[1] if len(test.positional) == 2 else None
        if isinstance(attr, Constant) and isinstance(attr.value, str):
            is_copying = cls.has_framework_replace and attr.value == cls.framework.replace_method
            is_field = is_instance and cls.field(attr.value) is not None
            if is_field or is_copying or cls.method(attr.value) is not None:
                env.dead = True
            if env.dead or misses_attribute(cls, attr.value, self.model):
                return
        if is_instance:
            self._update(path, lambda _: UNKNOWN, env)

    def _misses(self, asked: Expr, attr: Expr, env: Environment) -> bool:
        """Whether `hasattr` certainly says no."""
        value = plain(self.evaluate(asked, env))
        if not isinstance(value, Instance) or not isinstance(attr, Constant) or not isinstance(attr.value, str):
            return False
        return value.exact and misses_attribute(value.cls, attr.value, self.model)

    def _forget_tested(self, test: Expr, env: Environment) -> None:
        """After `a or b` held, what it said of either is not known."""
        for part in children(test):
            if isinstance(part, Call) and part.positional:
                path = dotted(part.positional[0])
                if path is not None and path in env.values and last_name(part.func) in _TESTS:
                    env.values[path] = UNKNOWN
                self._doubt(part, env)
            elif isinstance(part, BoolOp):
                self._forget_tested(part, env)


def asked_about(expr: Expr, env: Environment) -> frozenset[str]:
    """The variables of which an expression tells of what kind they are; `isinstance(x, State)` itself is read closer.

    So do `type(x).__name__ == "State"`, `handlers.get(type(x))`, `x in known`, `len(leaves)`.
    """
    found = set[str]()
    for part in parts(expr):
        match part:
            case Name(id=name):
                found |= env.telling.get(name, frozenset())
            case Call(func=Name(id="type"), args=(Argument(value=Name(id=name)),)) if not _is_exact_type(expr):
                found.add(name)
            case Attribute(value=Name(id=name), attr=attr) if is_special(attr):
                found.add(name)
            case Compare(left=Name(id=name), ops=("in" | "not in",)):
                found.add(name)
    return frozenset(found & env.locals)


def _is_exact_type(test: Expr) -> bool:
    """Whether a test is `type(x) is State`, which is read closer."""
    return isinstance(test, Compare) and isinstance(test.left, Call) and test.ops in (("is",), ("==",))


def note_answers(targets: Sequence[Expr], expr: Expr, env: Environment) -> None:
    """Keep in mind what variables tell, to which something is assigned that tells of what kind another one is."""
    calls = (part for part in parts(expr) if isinstance(part, Call) and _asks(part))
    asked = {a.value.id for call in calls for a in call.args if isinstance(a.value, Name)} & env.locals
    asked |= asked_about(expr, env)
    names = [name for target in targets for name in target_names(target)] if asked else []
    for name in names:
        env.telling = {**env.telling, name: frozenset(asked - {name})}


def _asks(call: Call) -> bool:
    """Whether a call tells of what kind its argument is; `getattr` does, where the attribute may be missing."""
    name = last_name(call.func)
    return name in _ASKING or (name == "getattr" and len(call.args) > 2)


def _asked_about(expr: Expr) -> Iterator[str]:
    """The variables of which a test asks something themselves, or each of which they hold; not their attributes."""
    if isinstance(expr, Name):
        yield expr.id
    elif not isinstance(expr, Attribute):
        for part in children(expr):
            yield from _asked_about(part)


def _is_steady(expr: Expr, env: Environment) -> bool:
    """Whether an expression gives the same as long as no variable of it is assigned."""
    match expr:
        case Name(id=name):
            return name in env.locals
        case Call(func=Name(id=name), args=(_,), positional=(argument,)) if name in _PURE:
            is_builtin = not env.is_variable(name) and name not in env.module.outline.module_scope.bindings
            return is_builtin and _is_steady(argument, env)
    return False


def _classes(tested: Value) -> tuple[ClassObject, ...]:
    """The classes about which `isinstance` asks, if all of them are known."""
    value = plain(tested)
    asked = (value.items or ()) if isinstance(value, Container) and value.kind == "tuple" else (value,)
    known = tuple(one for one in map(plain, asked) if isinstance(one, ClassObject))
    return known if len(known) == len(asked) else ()


def _narrowed(before: Value, tested: Value) -> Value:
    """The value after a successful `isinstance`: the more specific of both."""
    asked = [one.cls for one in map(plain, options(tested)) if isinstance(one, Instance)]
    known = [plain(one) for one in options(plain(without_none(plain(before))))]
    left = [one for one in known if isinstance(one, Instance) and any(cls in one.cls.mro for cls in asked)]
    if len(asked) == 1 and len(known) > 1:
        return tested
    are_known = all(isinstance(one, Instance) for one in known)
    return choice(list[Value](left)) if left and are_known else tested


def _without(before: Value, tested: Sequence[ClassObject]) -> Value:
    """The value after an `isinstance` that failed: of several instances, those that are of no tested class."""
    known = plain(before)
    if isinstance(known, Instance):
        return before
    if not isinstance(known, Choice) or not tested:
        return UNKNOWN
    others: list[Value] = [one for one in map(plain, known.options) if one == NONE or isinstance(one, Instance)]
    asked = [one.cls for one in tested]
    left = [one for one in others if not isinstance(one, Instance) or not any(cls in one.cls.mro for cls in asked)]
    return choice(left) if left and len(others) == len(known.options) else UNKNOWN


def _is_exact(value: Value) -> bool:
    known = plain(value)
    return isinstance(known, Instance) and known.exact
