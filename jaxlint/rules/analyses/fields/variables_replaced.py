"""Variables of an nnx module in whose place a method puts a bare array, computed from what the variable holds."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.libraries.arrays import is_at_update
from jaxlint.libraries.nnx import VARIABLES
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.methods import CONSTRUCTORS, own_methods, run_by
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Binary, Call, Expr, Span, Subscript, Unary, dotted

#: Where the functions stand that give arrays.
_GIVING_ARRAYS = ("jax.numpy.", "jax.lax.", "jax.nn.")


class Replaced(msgspec.Struct, frozen=True):
    """An attribute that is given an array, its path there, and the kind of variable that it was: `Param`."""

    at: Span
    attr: str
    path: str
    kind: str


def replaced_variables(cls: PytreeClass, evaluator: Evaluator) -> Iterator[Replaced]:
    """The variables that the constructor makes, and that other methods of the class replace by arrays."""
    methods = own_methods(cls)
    inits = [method for method in methods if method.name in CONSTRUCTORS]
    kinds = {attr: kind for attr, kind in _made(inits, cls, evaluator).items() if cls.method(attr) is None}
    helpers = {name for method in inits for name in run_by(method, cls)} if kinds else set()
    others = [m for m in methods if kinds and m.name not in CONSTRUCTORS and m.name not in helpers]
    for attr, kind in kinds.items():
        found: list[Replaced] = []
        for method in others:
            path = f"{method.self_name}.{attr}"
            given = [one for one in method.self_assignments if one.attr == attr]
            if not all(one.value is not None and _is_array(one.value, path, method, cls, evaluator) for one in given):
                break  # a variable is put back, so that the array is meant, as where weights are frozen and thawed
            found += [Replaced(given[0].at, attr, path, kind)] if given else []
        else:
            yield from found


def _made(inits: list[Function], cls: PytreeClass, evaluator: Evaluator) -> dict[str, str]:
    """The attributes that the constructor gives nothing but variables of one kind."""
    found: dict[str, set[str]] = {}
    for init in inits:
        for one in init.self_assignments:
            made = one.value
            name = ""
            if isinstance(made, Call):
                name = evaluator.model.resolver.library_name(made.func, cls.module, init.inner_scope)
            found.setdefault(one.attr, set()).add(name)
    return {
        attr: next(iter(names)).rpartition(".")[2]
        for attr, names in found.items()
        if len(names) == 1 and names <= VARIABLES
    }


def _is_array(value: Expr, path: str, method: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether an expression computes with what a variable holds: operators and functions of jax give an array then."""
    match value:
        case Binary(left=left, right=right):
            return any(_is_held(one, path) or _is_array(one, path, method, cls, evaluator) for one in (left, right))
        case Unary(op="-" | "+" | "~", operand=operand):
            return _is_held(operand, path) or _is_array(operand, path, method, cls, evaluator)
        case Call(func=Attribute(value=Subscript(value=Attribute(value=held))) as func) if is_at_update(func):
            return _is_held(held, path)
        case Call(func=func):
            name = evaluator.model.resolver.library_name(func, cls.module, method.inner_scope)
            if name.endswith(".stop_gradient"):
                return False  # it is not to be trained any more
            given = any(_is_held(a, path) or _is_array(a, path, method, cls, evaluator) for a in value.positional)
            return name.startswith(_GIVING_ARRAYS) and given
    return False


def _is_held(expr: Expr, path: str) -> bool:
    """Whether an expression is a variable at a path, or what it holds: `self.w`, `self.w[...]`, `self.w.value`."""
    held = expr.value if isinstance(expr, Subscript) else expr
    return dotted(held) in (path, f"{path}.value")
