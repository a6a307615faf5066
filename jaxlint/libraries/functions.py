"""Which names of libraries stand for functions that are no pytrees."""

from __future__ import annotations

from jaxlint.libraries.arrays import DTYPES, INDEXED, NUMBER_CONSTANTS

#: Modules whose functions are no pytrees.
_MODULES = (
    *("jax.nn.", "jax.numpy.", "jax.lax.", "jax.random.", "jax.scipy.", "numpy.", "optax."),
    "flax.linen.Module.",
)
#: What else these modules hold.
_CONSTANTS = NUMBER_CONSTANTS | INDEXED | DTYPES | {"euler_gamma", "newaxis"}


def is_plain_function(name: str) -> bool:
    """Whether a full name is that of a function, of which it is certain that it is no pytree."""
    last = name.rpartition(".")[2]
    return name.startswith(_MODULES) and last.islower() and last not in _CONSTANTS
