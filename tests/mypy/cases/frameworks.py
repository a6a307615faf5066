"""What single frameworks do."""

from __future__ import annotations

from tests.mypy.cases.states import FROZEN, ONE

CASES: dict[str, str] = {
    "chex_options": "# only: chex"
    + """
@chex.dataclass
class A:
    x: jax.Array
    n: int = 0
@chex.dataclass(mappable_dataclass=False, frozen=True)
class B:
    x: jax.Array
    n: int = 0
a = A(x=jnp.zeros(3))
b = B(jnp.zeros(3), n=2)
b.n = 3  # E: frozen
a.n = 3
b.replace(n=b.n, m=2)  # E: unknown
""",
    "jdc_copy_and_mutate": "# only: jdc"
    + FROZEN
    + """
def f(s: S) -> S:
    with jdc.copy_and_mutate(s) as c:
        c.n = 1
        c.n += 1
        s.n = 2  # E: frozen
    c.n = 3  # E: frozen
    return c
""",
    "jdc_jit_ok": "# only: jdc"
    + """
@class S
    x: jax.Array
    n: static int
@jdc.jit
def f(s: S, k: jdc.Static[int]) -> jax.Array:
    return s.x * s.n * k
def g(s: S) -> jax.Array:
    return f(s, 3)
""",
    "equinox_init_ok": "# only: equinox"
    + """
class M(eqx.Module):
    w: jax.Array
    n: int
    def __init__(self, n: int) -> None:
        self.w = jnp.zeros(n)
        self._set(n)
    def _set(self, n: int) -> None:
        self.n = n
def f(m: M) -> None:
    m.n = 2  # E: frozen
""",
    "equinox_tree_at": "# only: equinox"
    + FROZEN
    + """
def f(s: S) -> S:
    eqx.tree_at(lambda m: m.n, s, 3)  # E: discard
    return eqx.tree_at(lambda m: m.n, s, 3)
""",
    "equinox_layers": "# only: equinox"
    + """
class M(eqx.Module):
    a: eqx.nn.Linear
def f(m: M) -> None:
    m.a = m.a  # E: frozen
    m.a.weight = m.a.weight  # E: frozen
""",
    "train_state": "# only: node"
    + """
from flax.training import train_state
class TS(train_state.TrainState):
    key: jax.Array
    stats: t.Any = None
def f(tx: t.Any) -> TS:
    s = TS.create(apply_fn=print, params={}, tx=tx, key=jnp.zeros(1))
    s.step = 1  # E: frozen
    s = s.apply_gradients(grads={})
    s = s.apply_gradients(grads={}, stats=1, key=s.key)
    s = s.replace(step=s.step + 1, params={"a": 1})
    s.apply_gradients(grads={})  # E: discard
    s.apply_gradients(grads={}, bogus=1)  # E: unknown
    s.apply_gradients({})  # E: positional
    s.replace(bogus=1)  # E: unknown
    TS.create(apply_fn=print, params={}, tx=tx)  # E: unknown
    TS.create(apply_fn=print, params={}, key=jnp.zeros(1))  # E: unknown
    TS.create(apply_fn=print, params={}, tx=tx, key=jnp.zeros(1), bogus=1)  # E: unknown
    TS.create(print, {}, tx)  # E: positional
    n: int = s  # E: assignment
    print(n)
    return s
""",
    "train_state_plain": "# only: node"
    + """
from flax.training.train_state import TrainState
def f(tx: t.Any) -> TrainState:
    s = TrainState.create(apply_fn=print, params={}, tx=tx)
    s.params = {}  # E: frozen
    TrainState.create(apply_fn=print, params={}, tx=tx, bogus=1)  # E: unknown
    s.replace(bogus=2)  # E: unknown
    return s.apply_gradients(grads={})
""",
    "train_state_override_ok": "# only: node"
    + """
from flax.training.train_state import TrainState
class TS(TrainState):
    extra: int = 0
    @classmethod
    def create(cls, *, extra: int, other: int) -> "TS":  # type: ignore[override]
        return super().create(apply_fn=print, params={}, tx=None, extra=extra)
    def apply_gradients(self, *, grads: t.Any, loss: float) -> "TS":  # type: ignore[override]
        return super().apply_gradients(grads=grads)
s = TS.create(extra=1, other=2).apply_gradients(grads={}, loss=1.0)
""",
    "named_tuple": "# only: flax"
    + """
class P(t.NamedTuple):
    x: jax.Array
    n: int = 0
def f(p: P) -> P:
    p.n = 2  # E: frozen
    p._replace(n=3)  # E: discard
    p._replace(bogus=3)  # E: unknown
    return p._replace(n=3)
def g(p: P, x: jax.Array) -> P:
    p = P(x, x)
    p = p._replace(n="a")  # E: type
    p = p._replace(x=0.5)  # E: type
    return p._replace(n=x, x=x)
""",
    "equinox_installed": "# only: equinox"
    + """
class Net(eqx.Module):
    layer: eqx.nn.Linear
    norm: eqx.nn.LayerNorm | None
    act: t.Callable[[jax.Array], jax.Array] = eqx.field(static=True)
    def __init__(self, key: jax.Array) -> None:
        self.layer = eqx.nn.Linear(2, 2, key=key)
        self.norm = None
        self.act = jax.nn.relu
    def __call__(self, x: jax.Array) -> jax.Array:
        self.norm = None  # E: frozen
        return self.act(self.layer(x))
def f(n: Net) -> None:
    n.layer.bias = None  # E: frozen
    n.layer.weight[0] = 1.0  # E: item
    n.replace(layer=n.layer)  # E: attribute
    dataclasses.replace(n, layer=n.layer)  # E: not-in-init
    dataclasses.replace(n, layer=eqx.nn.Linear(2, 3, key=jax.random.key(0)))  # E: discard
""",
    "equinox_post_init": "# only: equinox"
    + """
class M(eqx.Module):
    x: jax.Array
    y: jax.Array = eqx.field(init=False)
    def __post_init__(self) -> None:
        self.y = self.x * 2
        setattr(self, "y", self.x)
""",
    "flax_linen_ok": ONE
    + """
from flax import linen as nn
class Net(nn.Module):
    size: int = 3
    def setup(self) -> None:
        self.dense = nn.Dense(self.size)
    def __call__(self, x: jax.Array) -> jax.Array:
        return self.dense(x)
Net(size=3).clone(size=4)
""",
    "nnx_ok": ONE
    + """
from flax import nnx
class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.linear = nnx.Linear(2, 3, rngs=rngs)
        self.count = nnx.Variable(jnp.zeros(()))
    def __call__(self, x: jax.Array) -> jax.Array:
        self.count.value = self.count.value + 1
        return self.linear(x)
net = Net(nnx.Rngs(0))
net.count = nnx.Variable(jnp.ones(()))
""",
    "train_state_more": "# only: node"
    + """
from flax.training import train_state
import optax
class TS(train_state.TrainState):
    batch_stats: t.Any
    extra: int = 0
def make(tx: optax.GradientTransformation) -> TS:
    return TS.create(apply_fn=print, params={}, tx=tx, batch_stats={})
def f(s: TS, grads: t.Any) -> TS:
    s.apply_gradients(grads=grads)  # E: discard
    s = s.apply_gradients(grads=grads, batch_stats={})
    s = s.apply_gradients(grads=grads, batch_stat={})  # E: unknown
    s.step += 1  # E: frozen
    s.params["w"] = 1
    s.batch_stats = {}  # E: frozen
    s = s.apply_gradients(grads)  # E: positional
    t1 = TS.create(apply_fn=print, params={}, tx=optax.sgd(1.0), extra=3)  # E: unknown
    t2 = TS.create(apply_fn=print, params={}, batch_stats={})  # E: unknown
    return s.replace(step=0, extra=1)
make(optax.sgd(1.0)).replace(bogus=1)  # E: unknown
""",
    "train_state_holder_ok": "# only: node"
    + """
from flax.training.train_state import TrainState
import optax
def train(state: TrainState, n: int) -> TrainState:
    for _ in range(n):
        grads = jax.grad(lambda p: jnp.sum(p["w"]))(state.params)
        state = state.apply_gradients(grads=grads)
    return state.replace(params=state.params)
train(TrainState.create(apply_fn=lambda v, x: x, params={"w": 1.0}, tx=optax.adam(1e-3)), 3)
""",
    "named_tuple_more": ONE
    + """
class Carry(t.NamedTuple):
    x: jax.Array
    n: int = 0
def f(c: Carry) -> Carry:
    c.x[0] = 1.0  # E: item
    c.n += 1  # E: frozen
    x, n = c
    d = c._replace(m=1)  # E: unknown
    c._replace(n=c.n + 1)  # E: discard
    return c._replace(x=c.x.at[0].set(1.0))
""",
    "chex_mapping_ok": "# only: chex"
    + """
@chex.dataclass
class S:
    x: jax.Array
    n: int = 0
def f(s: S) -> None:
    s.n = 1
    s["x"]
    s.keys()
    dict(s)
    S(**s)
    s.to_tuple()
    S.from_tuple((jnp.zeros(1), 2))
    for k, v in s.items():
        print(k, v)
    len(s), "x" in s
""",
    "chex_frozen_and_not": "# only: chex"
    + """
@chex.dataclass(frozen=True)
class A:
    x: chex.Array
    key: chex.PRNGKey
@chex.dataclass
class B:
    x: chex.Array
def f(a: A, b: B) -> None:
    a.x = b.x  # E: frozen
    b.x = a.x
    b.x += 1
    a.replace(x=1)  # E: discard
    a.replace(y=1)  # E: unknown
    A(a.x, a.key)  # E: positional
    A(x=a.x)  # E: unknown
    A(x=a.x, key=a.key, z=1)  # E: unknown
""",
    "chex_functions_ok": "# only: chex"
    + """
@chex.dataclass(frozen=True, mappable_dataclass=False)
class A:
    x: chex.Array
    def __post_init__(self) -> None:
        chex.assert_rank(self.x, 1)
A(jnp.zeros(3))
a = A(x=jnp.zeros(3)).replace(x=jnp.ones(2))
""",
    "jdc_more": "# only: jdc"
    + """
@jdc.pytree_dataclass
class S:
    x: jax.Array
    name: jdc.Static[str] = "a"
    def scaled(self, k: float) -> "S":
        with jdc.copy_and_mutate(self) as out:
            out.x = out.x * k
            self.x = out.x  # E: frozen
        return out
@jdc.jit
def f(s: S, flag: jdc.Static[bool]) -> S:
    s.x = s.x  # E: frozen
    return s
def g(s: S) -> None:
    with jdc.copy_and_mutate(s, validate=False) as c, jdc.copy_and_mutate(s) as d:
        c.x = d.x
        d.name = "b"
    n: str = s.name
    s.replace(x=1)  # E: attribute
    jdc.replace(s, nam="b")  # E: unknown
    f(s, True)
""",
    "penzai_ok": "# only: penzai"
    + """
from penzai import pz
@pz.pytree_dataclass
class M(pz.Struct):
    x: jax.Array
    def __call__(self, y: jax.Array) -> jax.Array:
        return self.x + y
def f(m: M) -> M:
    m.x = m.x  # E: frozen
    dataclasses.replace(m, x=m.x)
    dataclasses.replace(m, x=m.x * 2)  # E: discard
    m = m.select().at(lambda m: m.x).set(jnp.zeros(1))
    return dataclasses.replace(m, x=m.x)
""",
    "simple_pytree_more": "# only: simple_pytree"
    + """
from simple_pytree import Pytree, static_field
class A(Pytree):
    x: jax.Array
    n: int = static_field()
    def __init__(self, x: jax.Array) -> None:
        self.x = x
        self.n = 1
class B(Pytree, mutable=True):
    x: jax.Array
    def __init__(self, x: jax.Array) -> None:
        self.x = x
def f(a: A, b: B) -> A:
    a.x = b.x  # E: frozen
    b.x = a.x
    b.x += 1
    return a.replace(x=b.x)
""",
}
