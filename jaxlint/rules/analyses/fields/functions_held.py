"""Whether a value is a function that is no pytree, and which classes put such functions among others into a leaf."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Choice, Container, FunctionValue, LocalFunctionValue, Symbolic, Value, plain
from jaxlint.libraries.arrays import DTYPES, INDEXED, NUMBER_CONSTANTS
from jaxlint.project.resolution import External, FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Function

#: Modules whose functions are no pytrees.
_FUNCTION_MODULES = (
    *("jax.nn.", "jax.numpy.", "jax.lax.", "jax.random.", "jax.scipy.", "numpy.", "optax."),
    "flax.linen.Module.",
)
#: What else these modules hold.
_CONSTANTS = NUMBER_CONSTANTS | INDEXED | {"euler_gamma", "newaxis"}


def is_function(value: Value) -> bool:
    """Whether a value is certainly a function, and no pytree that can be called."""
    match plain(value):
        case FunctionValue(symbol=FunctionSymbol(declaration=Function(decorators=())), applied=applied):
            return not any(a.transform.filters for a in applied)
        case LocalFunctionValue(applied=applied):
            return not any(a.transform.filters for a in applied)
        case Container(items=items) if items:
            return all(is_function(item) for item in items)
        case Choice(options=options):
            return all(is_function(option) for option in options)
        case Symbolic(symbol=External(name=name)):
            last = name.rpartition(".")[2]
            return name.startswith(_FUNCTION_MODULES) and last.islower() and last not in _CONSTANTS | DTYPES
    return False


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
