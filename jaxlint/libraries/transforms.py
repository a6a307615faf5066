"""The transformations of JAX and of the frameworks around it: what each does to the functions it is given.

`TRANSFORMS` holds one declaration for each by dotted name. That a function is transformed, by what and with
which options, is an `Applied`; `jaxlint.infer.transforms.transformed` finds them. The facts were measured with jax
0.10.2, flax 0.12.8, equinox 0.13.8 and jax_dataclasses 1.6.3 (facts/semantics.md, sections 2, 6 and 7).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec


class Kind(Enum):
    """What a transformation does with a function. All of them run its body with tracers, and few times."""

    JIT = "compiles it"
    MAP = "maps it"
    GRAD = "differentiates it"
    LOOP = "loops over it"
    BRANCH = "chooses it"
    CHECKPOINT = "rematerialises it"
    CUSTOM = "gives it a derivative"
    ABSTRACT = "traces it for shapes"
    NAME = "names it"
    KERNEL = "runs it on references"


_REBUILDING = (Kind.JIT, Kind.MAP, Kind.GRAD, Kind.LOOP, Kind.BRANCH, Kind.CHECKPOINT)


class Returns(Enum):
    """What a transformed function returns, compared with the function itself."""

    SAME = "the same"
    GRADIENT = "something of the type of what is differentiated"
    VALUE_AND_GRADIENT = "the value, and something of the type of what is differentiated"
    UNKNOWN = "something else"


class Transform(msgspec.Struct, frozen=True, omit_defaults=True):
    """One transformation.

    `functions` says which of its arguments are the functions, by position and keyword.
    """

    name: str
    kind: Kind
    functions: tuple[tuple[int, str], ...] = ((0, "fun"),)
    returns: Returns = Returns.SAME
    #: Whether the call itself runs the functions (`lax.scan`), and does not return a transformed one (`jax.jit`).
    runs: bool = False
    #: Whether what the function changes in the modules that it is given reaches the caller (flax.nnx).
    propagates: bool = False
    #: Whether leaves that are no arrays are held static (equinox.filter_*).
    filters: bool = False
    #: Whether it takes `static_argnums` and `static_argnames`.
    takes_static: bool = False
    #: The option that numbers static arguments; another one raises TypeError before anything is called.
    static_argnums: str = "static_argnums"
    #: Whether `jdc.Static[...]` annotations of parameters count.
    reads_static_annotations: bool = False
    #: The options that may be given by position, after the functions.
    options: tuple[str, ...] = ()

    @property
    def rebuilds(self) -> bool:
        """Whether it takes the arguments of the function apart and hands it new instances made of tracers."""
        return self.kind in _REBUILDING

    @property
    def refuses_static(self) -> bool:
        """Whether `static_argnums` is no option of it: giving it raises TypeError before anything is called."""
        return self.kind in (Kind.MAP, Kind.GRAD)

    @property
    def is_of_jax(self) -> bool:
        """Whether it is a transformation of JAX itself; `jax_dataclasses.jit` is `jax.jit`."""
        return self.name.startswith(("jax.", "jax_dataclasses."))


_FUNCTION = ((0, "f"),)
_AXES = ("in_axes", "out_axes", "axis_name", "axis_size")
_SPECS = ("mesh", "in_specs", "out_specs")
_DIFFERENTIATED = ("argnums", "has_aux", "holomorphic", "allow_int")


def _declare(*transforms: Transform) -> Mapping[str, Transform]:
    return {t.name: t for t in transforms}


TRANSFORMS: Mapping[str, Transform] = _declare(
    Transform("jax.jit", Kind.JIT, takes_static=True),
    Transform("jax.pmap", Kind.JIT, takes_static=True, static_argnums="static_broadcasted_argnums"),
    Transform("jax.experimental.pjit.pjit", Kind.JIT, takes_static=True),
    Transform("jax.vmap", Kind.MAP, options=_AXES),
    Transform("jax.shard_map", Kind.MAP, _FUNCTION, options=_SPECS),
    Transform("jax.experimental.shard_map.shard_map", Kind.MAP, _FUNCTION, options=_SPECS),
    Transform("jax.grad", Kind.GRAD, returns=Returns.GRADIENT, options=_DIFFERENTIATED),
    Transform("jax.value_and_grad", Kind.GRAD, returns=Returns.VALUE_AND_GRADIENT, options=_DIFFERENTIATED),
    Transform("jax.jacfwd", Kind.GRAD, returns=Returns.UNKNOWN, options=_DIFFERENTIATED),
    Transform("jax.jacrev", Kind.GRAD, returns=Returns.UNKNOWN, options=_DIFFERENTIATED),
    Transform("jax.jacobian", Kind.GRAD, returns=Returns.UNKNOWN, options=_DIFFERENTIATED),
    Transform("jax.hessian", Kind.GRAD, returns=Returns.UNKNOWN, options=_DIFFERENTIATED),
    Transform("jax.vjp", Kind.GRAD, returns=Returns.UNKNOWN, runs=True),
    Transform("jax.jvp", Kind.GRAD, returns=Returns.UNKNOWN, runs=True),
    Transform("jax.linearize", Kind.GRAD, returns=Returns.UNKNOWN, runs=True),
    Transform("jax.checkpoint", Kind.CHECKPOINT),
    Transform("jax.remat", Kind.CHECKPOINT),
    Transform("jax.ad_checkpoint.checkpoint", Kind.CHECKPOINT),
    Transform("jax.named_call", Kind.NAME),
    Transform("jax.custom_vjp", Kind.CUSTOM),
    Transform("jax.custom_jvp", Kind.CUSTOM),
    Transform("jax.custom_gradient", Kind.CUSTOM),
    Transform("jax.eval_shape", Kind.ABSTRACT, returns=Returns.UNKNOWN, runs=True),
    Transform("jax.make_jaxpr", Kind.ABSTRACT, returns=Returns.UNKNOWN, takes_static=True),
    Transform("jax.lax.scan", Kind.LOOP, _FUNCTION, runs=True),
    Transform("jax.lax.map", Kind.LOOP, _FUNCTION, runs=True),
    Transform("jax.lax.associative_scan", Kind.LOOP, ((0, "fn"),), runs=True),
    Transform("jax.lax.while_loop", Kind.LOOP, ((0, "cond_fun"), (1, "body_fun")), runs=True),
    Transform("jax.lax.fori_loop", Kind.LOOP, ((2, "body_fun"),), runs=True),
    Transform("jax.lax.cond", Kind.BRANCH, ((1, "true_fun"), (2, "false_fun")), runs=True),
    Transform("jax.lax.switch", Kind.BRANCH, ((1, "branches"),), runs=True),
    Transform("jax.experimental.pallas.pallas_call", Kind.KERNEL, ((0, "kernel"),), returns=Returns.UNKNOWN),
    Transform("jax.experimental.pallas.tpu.emit_pipeline", Kind.KERNEL, ((0, "body"),), returns=Returns.UNKNOWN),
    Transform("equinox.filter_jit", Kind.JIT, filters=True),
    Transform("equinox.filter_pmap", Kind.JIT, filters=True),
    Transform("equinox.filter_vmap", Kind.MAP, filters=True),
    Transform("equinox.filter_grad", Kind.GRAD, returns=Returns.GRADIENT, filters=True),
    Transform("equinox.filter_value_and_grad", Kind.GRAD, returns=Returns.VALUE_AND_GRADIENT, filters=True),
    Transform("equinox.filter_jacfwd", Kind.GRAD, returns=Returns.UNKNOWN, filters=True),
    Transform("equinox.filter_jacrev", Kind.GRAD, returns=Returns.UNKNOWN, filters=True),
    Transform("equinox.filter_hessian", Kind.GRAD, returns=Returns.UNKNOWN, filters=True),
    Transform("equinox.filter_checkpoint", Kind.CHECKPOINT, filters=True),
    Transform("equinox.filter_custom_vjp", Kind.CUSTOM, filters=True),
    Transform("equinox.filter_custom_jvp", Kind.CUSTOM, filters=True),
    Transform("equinox.filter_eval_shape", Kind.ABSTRACT, returns=Returns.UNKNOWN, runs=True, filters=True),
    Transform("equinox.filter_make_jaxpr", Kind.ABSTRACT, returns=Returns.UNKNOWN, filters=True),
    Transform("jax_dataclasses.jit", Kind.JIT, reads_static_annotations=True),
    Transform("flax.nnx.jit", Kind.JIT, propagates=True, takes_static=True),
    Transform("flax.nnx.pmap", Kind.JIT, propagates=True, takes_static=True),
    Transform("flax.nnx.vmap", Kind.MAP, propagates=True),
    Transform("flax.nnx.shard_map", Kind.MAP, propagates=True),
    Transform("flax.nnx.grad", Kind.GRAD, returns=Returns.UNKNOWN, propagates=True),
    Transform("flax.nnx.value_and_grad", Kind.GRAD, returns=Returns.UNKNOWN, propagates=True),
    Transform("flax.nnx.custom_vjp", Kind.CUSTOM, propagates=True),
    Transform("flax.nnx.remat", Kind.CHECKPOINT, propagates=True),
    Transform("flax.nnx.scan", Kind.LOOP, propagates=True, returns=Returns.UNKNOWN),
    Transform("flax.nnx.while_loop", Kind.LOOP, ((0, "cond_fun"), (1, "body_fun")), runs=True, propagates=True),
    Transform("flax.nnx.fori_loop", Kind.LOOP, ((2, "body_fun"),), runs=True, propagates=True),
    Transform("flax.nnx.cond", Kind.BRANCH, ((1, "true_fun"), (2, "false_fun")), runs=True, propagates=True),
    Transform("flax.nnx.switch", Kind.BRANCH, ((1, "branches"),), runs=True, propagates=True),
    Transform("flax.nnx.eval_shape", Kind.ABSTRACT, returns=Returns.UNKNOWN, runs=True, propagates=True),
)
#: Loops whose function takes a carry and returns one of the same structure, and the index of that parameter.
CARRIED = {"jax.lax.scan": 0, "jax.lax.while_loop": 0, "jax.lax.fori_loop": 1}

#: The last parts of their names, by which code that may hold one is recognised; `map` is too common a word.
LAST_NAMES = frozenset(name.rpartition(".")[2] for name in TRANSFORMS) - {"map"}

#: The last parts of the names of the loops and branches of jax.lax that hand on what their function makes of a carry.
LOOPS = frozenset(
    name.rpartition(".")[2]
    for name, transform in TRANSFORMS.items()
    if name in CARRIED or (transform.kind is Kind.BRANCH and transform.is_of_jax)
)
#: The functions of jax that differentiate a function by the arguments with some numbers.
GRADIENTS = frozenset(
    name
    for name, transform in TRANSFORMS.items()
    if transform.kind is Kind.GRAD and transform.is_of_jax and "argnums" in transform.options
)
#: Those that refuse what `staticmethod`, `classmethod` and `property` make of a function: they are given no function.
REFUSING_WRAPPED = frozenset({"jax.jit", "jax.pmap", "jax.vmap"}) | GRADIENTS

#: Makes a context manager of a generator function; what that yields is what `with ... as` binds.
CONTEXT_MANAGER = "contextlib.contextmanager"
#: Functions that return a function with the same return value.
WRAPPERS = frozenset(
    {
        "functools.lru_cache",
        "functools.cache",
        "functools.wraps",
        "functools.cached_property",
        CONTEXT_MANAGER,
        "builtins.staticmethod",
        "builtins.classmethod",
        "builtins.property",
        "abc.abstractmethod",
        "typing.override",
        "typing.final",
        "typing.no_type_check",
        "jaxtyping.jaxtyped",
        "beartype.beartype",
        "typeguard.typechecked",
        "chex.assert_max_traces",
        "flax.linen.nowrap",
        "flax.linen.compact",
    }
)
#: What equinox has that does the same to the arrays of what it is given.
OF_EQUINOX = {
    "jax.jit": "equinox.filter_jit",
    "jax.grad": "equinox.filter_grad",
    "jax.value_and_grad": "equinox.filter_value_and_grad",
    "jax.checkpoint": "equinox.filter_checkpoint",
    "optax.apply_updates": "equinox.apply_updates",
}
#: Its transformations that take a module for a function, by those of jax that do not, or not always.
TAKING_MODULES = {
    "jax.jit": "equinox.filter_jit",
    "jax.checkpoint": "equinox.filter_checkpoint",
    "jax.vmap": "equinox.filter_vmap",
}
#: What picks the arrays of a module, and the test by which it does.
PICKING_ARRAYS = ("equinox.filter", "equinox.is_inexact_array")
