"""The packages that are measured, with their versions."""

#: Packages that use JAX; the first twenty are those of the cold run.
JAX = {
    "brax": "0.14.2", "chex": "0.1.92", "craftax": "1.6.1", "diffrax": "0.7.2", "distrax": "0.1.9",
    "dynamiqs": "0.3.7", "equinox": "0.13.8", "evosax": "0.3.2", "flashbax": "0.1.3", "flax": "0.12.8",
    "gymnax": "1.0.1", "jax_dataclasses": "1.6.3", "jumanji": "1.1.2", "kfac_jax": "0.0.8", "levanter": "1.1",
    "mujoco_mjx": "3.17.0", "penzai": "0.2.5", "pgx": "2.6.0", "rlax": "0.1.9", "xminigrid": "0.9.3",
    "blackjax": "1.7.1", "coreax": "1.0.0", "dm_haiku": "0.0.17", "evojax": "0.2.17", "flowjax": "19.1.2",
    "gpjax": "1.0.0", "haliax": "1.3", "jax_md": "0.2.29", "jaxmarl": "0.2.0", "jaxopt": "0.8.5",
    "jaxsim": "0.9.0", "jraph": "0.0.6.dev0", "kauldron": "1.4.2", "lineax": "0.1.1", "matfree": "0.6.3",
    "mava": "0.1.3", "mctx": "0.0.71", "navix": "0.7.4", "netket": "3.23.0", "numpyro": "0.22.0",
    "optax": "0.2.8", "optimistix": "0.1.0", "orbax_checkpoint": "0.12.8", "ott_jax": "0.6.0", "probdiffeq": "0.9.2",
    "qdax": "0.5.0", "quax": "0.4.6", "rejax": "0.1.3", "scenic": "3.1.1", "tensorflow_probability": "0.25.0",
}  # fmt: skip
TWENTY = dict(list(JAX.items())[:20])
#: Packages without JAX.
PLAIN = {"django": "5.2.8", "pandas": "2.3.3"}
#: A project of about 300 files.
PROJECT = {"jumanji": JAX["jumanji"]}
#: What all peers are run on, some of which are slow.
FOR_PEERS = {"brax": JAX["brax"]}
#: The peers, in an environment of their own.
PEERS = {
    "libcst": "1.9.0", "ruff": "0.17.6", "pyflakes": "4.1.0", "flake8": "7.5.0", "pylint": "4.1.4", "fixit": "2.2.1",
    "mypy": "2.4.1",
}  # fmt: skip
