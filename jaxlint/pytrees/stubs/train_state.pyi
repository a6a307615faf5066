"""flax.training.train_state (0.12.8), as far as its pytree goes."""

from collections.abc import Callable
from typing import Any, Self

import jax
import optax
from flax import struct

class TrainState(struct.PyTreeNode):
    step: int | jax.Array
    apply_fn: Callable = struct.field(pytree_node=False)
    params: Any = struct.field(pytree_node=True)
    tx: optax.GradientTransformation = struct.field(pytree_node=False)
    opt_state: Any = struct.field(pytree_node=True)

    def apply_gradients(self, *, grads: Any, **kwargs: Any) -> Self: ...
    @classmethod
    def create(cls, *, apply_fn: Callable, params: Any, tx: Any, **kwargs: Any) -> Self: ...
