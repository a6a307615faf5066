"""Layers of flax.nnx and treex that keep state, and what writes it."""

from __future__ import annotations

#: Layers that keep state: the argument without which, and the option with which, they keep none.
STATEFUL_LAYERS: dict[str, tuple[str, str]] = {
    "flax.nnx.BatchNorm": ("", "use_running_average"),
    "flax.nnx.Dropout": ("rngs", "deterministic"),
    "flax.nnx.SpectralNorm": ("", ""),
    "treex.BatchNorm": ("", "use_running_average"),
    "treex.Dropout": ("", "deterministic"),
}
#: Modules that call the layers they are given.
COMBINING_LAYERS = frozenset({"flax.nnx.Sequential", "flax.nnx.List", "treex.Sequential"})
RANDOM_STREAMS = frozenset({"flax.nnx.Rngs", "flax.nnx.RngStream"})
#: What writes a state into a module.
STATE_UPDATE = "flax.nnx.update"
