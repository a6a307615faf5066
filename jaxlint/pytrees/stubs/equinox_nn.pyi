"""equinox.nn (0.13.8): every layer is a module; fields that hold arrays in each layer that has them."""

import equinox as eqx
import jax

class Layer(eqx.Module):
    weight: jax.Array
    bias: jax.Array | None
    weight_ih: jax.Array
    weight_hh: jax.Array
    if ...: ...
