"""The classes of flax.nnx whose instances are data: modules, variables and what holds them (0.12.8)."""

from __future__ import annotations

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
