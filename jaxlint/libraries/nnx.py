"""What of flax.nnx, and of the libraries that its modules are made of, is data of a module (0.12.8)."""

from __future__ import annotations

#: The classes whose instances are data: modules, variables and what holds them.
DATA = frozenset(
    f"flax.nnx.{name}"
    for name in (
        "BatchNorm BatchStat Bidirectional Cache Conv ConvTranspose Dict Dropout EMA Einsum Embed GRUCell GroupNorm"
        " InstanceNorm Intermediate LSTMCell LayerNorm Linear LinearGeneral List LoRA LoRALinear LoRAParam Metric"
        " ModelAndOptimizer MultiHeadAttention MultiMetric OptArray OptState OptVariable OptimizedLSTMCell Optimizer"
        " PReLU Param Perturbation RMSNorm RNN RngCount RngKey RngState RngStream Rngs Sequential SimpleCell"
        " SpectralNorm Variable WeightNorm"
    ).split()
)
#: Packages of which no public module holds data by a name of its own: what `nnx.relu`, `jnp.pi` or `jnp.float32` names
#: in an attribute is static.
NO_DATA = frozenset({"flax", "jax", "numpy", "optax"})
