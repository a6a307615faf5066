"""The packages that make pytrees out of classes, by the names that are imported, and how libraries are imported."""

from __future__ import annotations

#: By the package that is imported, the distribution that it comes with.
DISTRIBUTION_OF = {
    "chex": "chex",
    "equinox": "equinox",
    "flax": "flax",
    "jax": "jax",
    "jax_dataclasses": "jax-dataclasses",
    "mujoco": "mujoco-mjx",
    "penzai": "penzai",
    "simple_pytree": "simple-pytree",
    "tjax": "tjax",
    "treeo": "treex",
    "treex": "treex",
}
#: Packages whose modules change in place, so that functions may change those that they are given.
STATEFUL = ("flax.nnx", "treex")
#: Packages whose decorators compile a function from its source: Python runs nothing of it, and jax is unknown to them.
OTHER_COMPILERS = frozenset({"numba", "taichi", "triton", "warp"})
#: Packages that compile nothing but the functions that they are given.
COMPILING_WHAT_IS_GIVEN = frozenset(
    "jax jaxlib numpy scipy flax chex equinox jax_dataclasses simple_pytree optax".split()
)
#: Other spellings of the same objects, by how they begin.
OTHER_SPELLINGS = (
    ("typing_extensions.", "typing."),
    ("beartype.typing.", "typing."),
    ("jax._src.tree_util.", "jax.tree_util."),
    ("flax.experimental.nnx.", "flax.nnx."),
    ("flax.nnx.training.metrics.", "flax.nnx.metrics."),
)
#: How packages are usually imported: the module, the name that is imported from it, and the name that it gets.
USUAL_IMPORTS: dict[str, tuple[str, str | None, str | None]] = {
    "equinox": ("equinox", None, "eqx"),
    "jax_dataclasses": ("jax_dataclasses", None, "jdc"),
    "flax.struct": ("flax", "struct", None),
    "flax.nnx": ("flax", "nnx", None),
    "jax.numpy": ("jax.numpy", None, "jnp"),
    "numpy": ("numpy", None, "np"),
}


def usual_name(full: str) -> str:
    """How a dotted name is written where its package is imported as it usually is."""
    package, _, last = full.rpartition(".")
    module, name, alias = USUAL_IMPORTS.get(package, (package, None, None))
    return f"{alias or name or module}.{last}" if package else full
