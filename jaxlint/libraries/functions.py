"""Which names of libraries stand for functions that are no pytrees."""

from __future__ import annotations

from jaxlint.libraries import linen
from jaxlint.libraries.arrays import DTYPES, INDEXED, NUMBER_CONSTANTS

#: Modules whose functions are no pytrees.
_MODULES = (
    *("jax.nn.", "jax.numpy.", "jax.lax.", "jax.random.", "jax.scipy.", "numpy.", "optax."),
    f"{linen.MODULE}.",
)
#: Modules that have functions and no arrays.
WITHOUT_ARRAYS = frozenset({"flax.linen", "jax.lax", "jax.nn", "jax.nn.initializers", "jax.random", "optax"})
#: Packages in which a dotted name that is used as a default is a type or a function.
WITHOUT_FLAGS = ("builtins.", "jax.numpy.", "jax.nn.", "numpy.", "flax.linen.")
#: Functions that print or check something, and those that begin so.
_LOOKING = ("builtins.print", "jax.debug.print")
_ASSERTING = "chex.assert_"
#: What else these modules hold.
_CONSTANTS = NUMBER_CONSTANTS | INDEXED | DTYPES | {"euler_gamma", "newaxis"}


def is_plain_function(name: str) -> bool:
    """Whether a full name is certainly that of a function, which is no pytree."""
    last = name.rpartition(".")[2]
    return name.startswith(_MODULES) and last.islower() and last not in _CONSTANTS


def only_looks(name: str) -> bool:
    """Whether a full name is that of a function that does nothing but check or print something."""
    return name in _LOOKING or name.startswith(_ASSERTING)
