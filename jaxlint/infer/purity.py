"""Whether a function certainly does nothing but compute what it returns."""

from __future__ import annotations

from jaxlint.libraries import arrays
from jaxlint.libraries.transforms import TRANSFORMS
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, External
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.updating import REPLACE_FUNCTIONS, UPDATE_FUNCTIONS, UPDATE_METHODS
from jaxlint.syntax.expressions import Attribute, Call, Constant, Expr, Name, NamedExpr
from jaxlint.syntax.statements import Assign, Body, Do, Return, Statement, all_parts

#: Where the functions are declared that compute arrays and numbers.
_COMPUTING = ("jax.numpy.", "jax.lax.", "jax.nn.", "jax.random.", "math.", "operator.")
_BUILTINS = frozenset(
    "abs bool complex dict float int len list max min range round str sum super tuple type zip".split()
)
#: Methods that leave the array alone on which they are called.
_METHODS = UPDATE_METHODS | arrays.ARRAY_METHODS | arrays.ARRAY_REDUCTIONS
#: Of the expressions that are no calls, those that do something.
_ACTING = frozenset({"Await", "Yield", "YieldFrom"})


class Effects:
    """Tells of the bodies of functions whether they have effects."""

    def __init__(self, model: PytreeModel) -> None:
        self.model = model

    def has_none(self, body: Body, module: Module, scope: str) -> bool:
        """Whether the body of a function, whose variables are in `scope`, certainly has no effect; it may fail."""
        is_plain = all(map(self._is_plain, body))
        return is_plain and all(self._computes(part, module, scope) for part in all_parts(body))

    def _is_plain(self, statement: Statement) -> bool:
        match statement:
            case Return() | Do(value=Constant()):
                return True
            case Assign(targets=targets):
                return all(isinstance(target, Name) for target in targets)
        return False

    def _computes(self, expr: Expr, module: Module, scope: str) -> bool:
        """Whether an expression itself does nothing but compute a value."""
        if not isinstance(expr, Call):
            return not isinstance(expr, NamedExpr) and getattr(expr, "kind", "") not in _ACTING
        func = expr.func
        symbol = self.model.resolver.resolve(func, module, scope)
        if isinstance(symbol, External):
            return self._is_computing(symbol.name)
        if isinstance(symbol, ClassSymbol):
            cls = self.model.build(symbol)
            return cls.is_pytree and not any(map(cls.method, ("__init__", "__post_init__", "__new__")))
        match func:
            case Attribute(attr="__class__") | Call(func=Name(id="type")):
                return True
            case Attribute(attr=name):
                return name in _METHODS or arrays.is_at_update(func)
        return False

    def _is_computing(self, name: str) -> bool:
        if name in TRANSFORMS or name.startswith(("numpy.random.", "jax.numpy.save")):
            return False
        if name in REPLACE_FUNCTIONS or name in UPDATE_FUNCTIONS or arrays.returned_library(name) is not None:
            return True
        return name.startswith(_COMPUTING) or name.removeprefix("builtins.") in _BUILTINS
