"""Variables of a module that hold functions which are compiled for some of their arguments."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.transforms.transformed import names_static
from jaxlint.libraries.transforms import TRANSFORMS
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol, ValueSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.syntax.expressions import Call, Expr
from jaxlint.syntax.statements import parts


def singles_out_arguments(variable: ValueSymbol, model: PytreeModel) -> bool:
    """Whether a call that makes the value of a variable names static or donated arguments, or reads which are."""
    for call, module, scope in _calls_making(variable, model):
        callee = model.callees.of_call(call, module, scope)
        transform = None if callee is None else TRANSFORMS.get(callee.name)
        if names_static(call) or (transform is not None and transform.reads_static_annotations):
            return True
    return False


def _calls_making(variable: ValueSymbol, model: PytreeModel) -> Iterator[tuple[Call, Module, str]]:
    """The calls in the expression that a variable is assigned, and in what functions called there return.

    Each comes with the module and the scope in which it is read: `step = make_step()`.
    """
    for call in _calls(variable.assignment.value):
        yield call, variable.module, variable.scope
        symbol = model.resolver.resolve(call.func, variable.module, variable.scope)
        if isinstance(symbol, FunctionSymbol):
            for returned in symbol.declaration.return_values:
                yield from ((inner, symbol.module, symbol.declaration.inner_scope) for inner in _calls(returned))


def _calls(expr: Expr | None) -> list[Call]:
    return [] if expr is None else [part for part in parts(expr) if isinstance(part, Call)]
