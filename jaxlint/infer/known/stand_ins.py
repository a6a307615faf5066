"""Objects of `unittest.mock` that pass for instances of a class: they take every assignment, and have what is asked."""

from __future__ import annotations

from jaxlint.project.modules import Module
from jaxlint.symbols.outline import Function, Import
from jaxlint.syntax.expressions import Call, Expr, children, last_name

_MODULES = frozenset({"unittest.mock", "mock"})
#: What makes an object that `isinstance` takes for one of the class that is given.
_MAKERS = frozenset({"Mock", "MagicMock", "NonCallableMock", "NonCallableMagicMock", "AsyncMock", "create_autospec"})


def has_stand_ins(module: Module) -> bool:
    """Whether a module imports what makes stand-ins, so that `isinstance` tells nothing for certain there."""
    every = (binding for found in module.outline.module_scope.bindings.values() for binding in found)
    return any(isinstance(binding, Import) and not binding.level and _of_mock(binding) for binding in every)


def is_given_stand_ins(function: Function, module: Module) -> bool:
    """Whether a decorator hands stand-ins to a function, as `pytest.mark.parametrize` does."""
    return any(map(_makes_one, function.decorators)) and has_stand_ins(module)


def _of_mock(binding: Import) -> bool:
    full = binding.module if binding.name is None else f"{binding.module}.{binding.name}"
    return binding.module in _MODULES or full in _MODULES


def _makes_one(expr: Expr) -> bool:
    return (isinstance(expr, Call) and last_name(expr.func) in _MAKERS) or any(map(_makes_one, children(expr)))
