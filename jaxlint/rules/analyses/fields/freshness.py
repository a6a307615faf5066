"""Which expressions make an object that equals no other one, so that a compiled function sees another each time."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.libraries.standard import NEVER_TWICE
from jaxlint.libraries.transforms import TRANSFORMS
from jaxlint.libraries.updates import REPLACE_FUNCTIONS
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Binary,
    Call,
    Conditional,
    Constant,
    Expr,
    Lambda,
    Name,
    Other,
    Subscript,
    dotted,
)
from jaxlint.syntax.statements import Assign, FunctionDefinition, Statement, parts, walk

_MAX_DEPTH = 3
#: What Python takes for equal to itself only where it is the very same object.
_NAN = "a new nan"
#: What makes a `GradientTransformation`, which is a tuple of new functions.
_OPTIMIZERS = frozenset(
    """adabelief adadelta adafactor adagrad adam adamax adamaxw adamw amsgrad chain clip clip_by_global_norm
    exponential_decay fromage inject_hyperparams lamb lars lion masked multi_transform nadam nadamw noisy_sgd novograd
    optimistic_gradient_descent radam rmsprop scale scale_by_adam sgd sm3 yogi linear_schedule cosine_decay_schedule
    warmup_cosine_decay_schedule piecewise_constant_schedule constant_schedule""".split()
)


def is_held(field: Field, cls: PytreeClass, what: str) -> bool:
    """Whether a field that is given something of that kind is static, or is a function where those are held static."""
    is_function = what in ("a lambda", "a partial", "a function", "an optimizer") or what.endswith("(...)`")
    return field.role is Role.STATIC or (field.role is Role.LEAF and cls.framework.filters and is_function)


class Freshness:
    """Tells which expressions make an object that equals no other one."""

    def __init__(
        self,
        module: Module,
        scope: str,
        around: tuple[Statement, ...],
        evaluator: Evaluator,
        code: CodeRead | None = None,
    ) -> None:
        self._module = module
        self._scope = scope
        self._around = around
        self._evaluator = evaluator
        #: What was read of the body that is checked, if the expressions are of that.
        self._code = code

    def of(self, expr: Expr, depth: int = 0) -> str | None:
        """What an expression makes, if that is new each time."""
        match expr:
            case Lambda():
                return "a lambda"
            case Call(func=Name(id="float"), args=(Argument(value=Constant(value=str(text))),)):
                return _NAN if text.strip().lower().lstrip("+-") == "nan" else None
            case Conditional(body=body, orelse=orelse):  # what is no number in some turns is a new nan in each of these
                return _NAN if _NAN in (self.of(body, depth + 1), self.of(orelse, depth + 1)) else None
            case Call(func=Name(id="str" | "repr" | "int" | "hash"), args=(argument,)):
                return self.of(argument.value, depth + 1) and "a value"
            case Attribute(value=held) | Subscript(value=held):
                return "a value" if self.of(held, depth + 1) == "a value" else None
            case Binary(op="+", left=left, right=right):  # "run-" + uuid4().hex
                return "a value" if "a value" in (self.of(left, depth + 1), self.of(right, depth + 1)) else None
            case Other(kind="JoinedStr"):
                made = (part for part in parts(expr) if isinstance(part, (Call, Attribute)))
                return "a value" if any(self.of(part, depth + 1) == "a value" for part in made) else None
            case Call(func=func):
                return self._called(func, depth)
            case Name(id=name) if depth < _MAX_DEPTH:
                return self._variable(name, depth)
        return None

    def named(self, factory: Expr) -> str | None:
        """What a function that is given by its name makes, if that is new each time."""
        name = self._name(factory)
        return "a value" if name in NEVER_TWICE else self._made_by(factory, 0)

    def of_constructor(self, cls: PytreeClass) -> Iterator[tuple[Field, str]]:
        """The fields held static to which the constructor of a class gives such an object, and nothing else does."""
        found = cls.method("__init__")
        if found is None or cls.framework.is_stateful:
            return
        owner, init = found
        symbol = FunctionSymbol(owner.module, init)
        body = tuple(self._evaluator.calls.body_of(symbol) or ())
        inside = Freshness(owner.module, init.inner_scope, body, self._evaluator)
        for field in cls.fields:
            given = [a.value for a in init.self_assignments if a.attr == field.name]
            if len(given) == 1 == len(cls.assigned.get(field.name, ())) and given[0] is not None:
                what = inside.of(given[0])
                if what is not None and is_held(field, cls, what):
                    yield field, what

    def _called(self, func: Expr, depth: int) -> str | None:
        from jaxlint.rules.analyses.fields.hashing import lacks_equality

        name = self._name(func)
        if name in NEVER_TWICE:
            return "a value"
        if name == "functools.partial":
            return "a partial"
        transform = TRANSFORMS.get(name)
        if transform is not None and not transform.runs:
            return f"a new `{dotted(func)}(...)`"
        model = self._evaluator.model
        cls = model.class_of_symbol(model.resolver.resolve(func, self._module, self._scope))
        if cls is not None and lacks_equality(cls):
            return f"a new `{cls.name}`"
        last = name.rpartition(".")[2]
        if isinstance(func, Attribute) and isinstance(func.value, Call):
            return self._copied(func.value, func.attr, depth)
        if name.startswith("optax."):
            return "an optimizer" if last in _OPTIMIZERS else None
        return None if cls is not None or depth >= _MAX_DEPTH else self._made_by(func, depth)

    def _copied(self, made: Call, method: str, depth: int) -> str | None:
        """What a method of a new object returns, if that is only a copy of it with changes."""
        model = self._evaluator.model
        cls = model.class_of_symbol(model.resolver.resolve(made.func, self._module, self._scope))
        found = None if cls is None else cls.method(method)
        what = None if cls is None or found is None else self._called(made.func, depth)
        if cls is None or found is None or what != f"a new `{cls.name}`" or len(found[1].return_values) != 1:
            return None
        match found[1].return_values[0]:
            case Call(func=func, positional=(Name(id=own), *_)) if own == found[1].self_name:
                name = model.resolver.library_name(func, found[0].module, found[1].inner_scope)
                return what if name in REPLACE_FUNCTIONS and not found[1].decorators else None
        return None

    def _made_by(self, func: Expr, depth: int) -> str | None:
        """What a function of the project makes, which does nothing but return it."""
        from jaxlint.rules.analyses.instances.methods_called import held_method, own_method

        symbol: object = self._evaluator.model.resolver.resolve(func, self._module, self._scope)
        if not isinstance(symbol, FunctionSymbol):
            symbol = own_method(func, self._module, self._scope, self._evaluator)
            if symbol is None and self._code is not None:
                symbol = held_method(func, self._code, self._evaluator)
        elif symbol.declaration.owner:
            return None
        if not isinstance(symbol, FunctionSymbol) or symbol.declaration.decorators:
            return None
        function = symbol.declaration
        values = function.return_values
        if len(values) != 1 or function.is_async or function.is_generator:
            return None
        body = tuple(self._evaluator.calls.body_of(symbol) or ())
        return Freshness(symbol.module, function.inner_scope, body, self._evaluator).of(values[0], depth + 1)

    def _variable(self, name: str, depth: int) -> str | None:
        """What the loop around has given to a variable."""
        found: list[str | None] = []
        for statement in walk(self._around, nested=False):
            if isinstance(statement, FunctionDefinition) and statement.name == name:
                found.append("a function")
            elif isinstance(statement, Assign) and any(dotted(t) == name for t in statement.targets):
                found.append(self.of(statement.value, depth + 1))
        return found[0] if found and None not in found else None

    def _name(self, expr: Expr) -> str:
        return self._evaluator.model.resolver.library_name(expr, self._module, self._scope)
