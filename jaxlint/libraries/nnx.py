"""What of flax.nnx, and of the libraries that its modules are made of, is data of a module (0.12.8)."""

from __future__ import annotations

#: The classes of modules, and of what holds them.
TREES = frozenset(
    f"flax.nnx.{name}"
    for name in (
        "BatchNorm Bidirectional Conv ConvTranspose Dict Dropout EMA Einsum Embed GRUCell GroupNorm InstanceNorm"
        " LSTMCell LayerNorm Linear LinearGeneral List LoRA LoRALinear Metric ModelAndOptimizer MultiHeadAttention"
        " MultiMetric OptimizedLSTMCell Optimizer PReLU RMSNorm RNN RngStream Rngs Sequential SimpleCell SpectralNorm"
        " WeightNorm"
    ).split()
)
#: The classes of variables, which hold one array as a rule; their instances, and these, are data.
VARIABLES = frozenset(
    f"flax.nnx.{name}"
    for name in (
        "BatchStat Cache Intermediate LoRAParam OptArray OptState OptVariable Param Perturbation RngCount RngKey"
        " RngState Variable"
    ).split()
)
DATA = TREES | VARIABLES
#: Packages of which no public module holds data by a name of its own: what `nnx.relu`, `jnp.pi` or `jnp.float32` names
#: in an attribute is static.
NO_DATA = frozenset({"flax", "jax", "numpy", "optax"})
#: The function that takes a module apart, into its structure and copies of its states.
SPLITTING = "flax.nnx.split"
#: The function that makes a module of its structure and states.
MERGING = "flax.nnx.merge"
#: The function that takes a state out of a module, and the one that puts one into it.
TAKING_STATE = "flax.nnx.state"
UPDATING = "flax.nnx.update"
#: Variables that are of use from call to call: others hold what one call has computed, or are trained.
LASTING = frozenset({"flax.nnx.BatchStat", "flax.nnx.Variable"})
#: Layers that write what lasts to themselves.
COUNTING = frozenset({"flax.nnx.BatchNorm", "flax.nnx.SpectralNorm"})
