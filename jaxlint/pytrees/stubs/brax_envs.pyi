"""brax.envs (0.14.2): the state of an environment."""

from typing import Any

from flax import struct

@struct.dataclass
class State:
    pipeline_state: Any
    obs: Any
    reward: Any
    done: Any
    metrics: dict = struct.field(default_factory=dict)
    info: dict = struct.field(default_factory=dict)
