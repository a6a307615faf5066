"""Whether a value is a function that is no pytree, and which classes put such functions among others into a leaf."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import (
    Choice,
    Container,
    FunctionValue,
    LocalFunctionValue,
    Partial,
    Symbolic,
    Value,
    plain,
)
from jaxlint.libraries.functions import is_plain_function
from jaxlint.project.index import TracedBy
from jaxlint.project.resolution import External, FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Function


def is_function(value: Value) -> bool:
    """Whether a value is certainly a function, and no pytree that can be called."""
    match plain(value):
        case FunctionValue(symbol=FunctionSymbol(declaration=Function(decorators=())), applied=applied):
            return not any(a.transform.filters for a in applied)
        case LocalFunctionValue(applied=applied):
            return not any(a.transform.filters for a in applied)
        case Partial():
            return True  # of functools: `jax.tree_util.Partial` is a pytree
        case Container(items=items) if items:
            return all(is_function(item) for item in items)
        case Choice(options=options):
            return all(is_function(option) for option in options)
        case Symbolic(symbol=External(name=name)):
            return is_plain_function(name)
    return False


def refusal(traced: TracedBy) -> str:
    """What becomes of an instance that holds a function, in words."""
    when = f" when `{traced.function}` is called" if traced.function else ""
    return f"`{traced.transform}` refuses it{when} (TypeError)"


def lists_function(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether the constructor puts a list into a leaf in which functions stand among other things.

    That is `self.layers = [Linear(2, 4), jax.nn.relu, Linear(4, 1)]`, and nothing else is assigned.
    """
    for field in cls.fields:
        placed = cls.assigned.get(field.name, ()) if field.role is Role.LEAF and not field.is_converted else ()
        if len(placed) == 1 and placed[0] is not None:
            value = plain(evaluator.static(placed[0]))
            if (
                isinstance(value, Container)
                and value.kind in ("list", "tuple")
                and any(map(is_function, value.items or ()))
            ):
                return True
    return False
