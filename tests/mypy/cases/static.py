"""Static fields: what they hold, and how it changes."""

from __future__ import annotations

CASES: dict[str, str] = {
    "static_array": "# only: static"
    + """
@class S
    x: jax.Array
    w: static jax.Array  # E: static-array
""",
    "static_given_by_init": "# only: jax"
    + """
def key_or(key: t.Optional[jax.Array]) -> jax.Array:
    return jax.random.key(0) if key is None else key
@jax.tree_util.register_pytree_node_class
class Sampler:
    def __init__(self, x: t.Any, key: t.Optional[jax.Array] = None, n: int = 0) -> None:
        self.x = x
        self.key = key_or(key)
        self.n = n
    def tree_flatten(self) -> t.Any:
        return [self.x], {"key": self.key, "n": self.n}  # E: static-array
    @classmethod
    def tree_unflatten(cls, aux: t.Any, children: t.Any) -> "Sampler":
        return cls(*children, **aux)
class Plain:
    def __init__(self, key: jax.Array) -> None:
        self.key = key
""",
    "static_numpy": "# only: static"
    + """
@class S
    x: jax.Array
    w: static np.ndarray  # E: static-array
@jax.jit
def f(s: S) -> jax.Array:
    return s.x
""",
    "static_optional_array": "# only: static"
    + """
@class S
    x: jax.Array
    w: static t.Optional[jax.Array]  # E: static-array
    v: static jax.Array | None  # E: static-array
""",
    "static_tuple_of_arrays": "# only: static"
    + """
@class S
    x: jax.Array
    w: static tuple[jax.Array, ...]  # E: static-array
    v: static t.Sequence[jax.Array]  # E: static-array
    u: static dict[str, jax.Array]  # E: static-array
""",
    "static_alias": "# only: static"
    + """
Weights = jax.Array
Many = t.Union[jax.Array, np.ndarray]
@class S
    x: jax.Array
    w: static Weights  # E: static-array
    v: static Many  # E: static-array
""",
    "static_generic_alias": "# only: static"
    + """
T = t.TypeVar("T")
Pair = tuple[T, T]
@class S
    x: jax.Array
    w: static Pair[jax.Array]  # E: static-array
    v: static Pair[int]
""",
    "static_jaxtyping": "# only: static"
    + """
from jaxtyping import Array, Float
@class S
    x: jax.Array
    w: static Float[Array, "n 3"]  # E: static-array
""",
    "static_pytree": "# only: static"
    + """
@class I
    y: jax.Array
@class S
    x: jax.Array
    w: static I  # E: static-array
""",
    "static_inherited": "# only: static"
    + """
@class B
    x: jax.Array
    w: static jax.Array  # E: static-array
@class S(B)
    z: jax.Array
""",
    "static_given_array": "# only: static"
    + """
@class S
    x: jax.Array
    w: static t.Any
def make(n: int) -> jax.Array:
    return jnp.zeros(n)
s = S(x=jnp.zeros(3), w=make(3))  # E: static-array
""",
    "static_replaced_with_array": "# only: static"
    + """
@class S
    x: jax.Array
    w: static t.Any = None
def f(s: S, y: jax.Array) -> S:
    return REPLACE(s, w=y)  # E: static-array
""",
    "static_counter": "# only: static"
    + """
@class S
    x: jax.Array
    ticks: static int = 0
def f(s: S) -> S:
    return REPLACE(s, ticks=s.ticks + 1)  # E: counter
""",
    "static_mutated": "# only: static"
    + """
@class S
    x: jax.Array
    log: static list[int]
def f(s: S) -> None:
    s.log.append(1)  # E: mutated
    s.log[0] = 2  # E: mutated
""",
    "static_ok": "# only: static"
    + """
import enum
class Mode(enum.Enum):
    A = 1
@class S
    x: jax.Array
    a: static int
    b: static str
    c: static t.Callable[[jax.Array], jax.Array]
    d: static tuple[int, ...]
    e: static Mode
    f: static t.Optional[float]
    g: static t.Literal["a", "b"]
    h: static frozenset[str]
    i: static type
def g(s: S) -> S:
    return REPLACE(s, a=3, b="x", d=(1, 2))
""",
    "static_read_ok": "# only: static"
    + """
@class S
    x: jax.Array
    n: static int
def f(s: S) -> jax.Array:
    total = 0
    for i in range(s.n):
        total += i
    return s.x * total + s.n
""",
    "foreign_marker": "# only: flax node jax penzai"
    + """
import equinox
import jax_dataclasses
@class S
    x: jax.Array
    n: jax_dataclasses.Static[int]  # E: marker
""",
    "leaf_string": "# not: mjx"
    + """
@class S
    name: str  # E: leaf
    x: jax.Array
@jax.jit
def f(s: S) -> jax.Array:
    return s.x
""",
    "static_kinds": "# only: static"
    + """
Vec = jax.Array
Pair: t.TypeAlias = tuple[np.ndarray, int]
@class S
    x: jax.Array
    a: static Vec  # E: static-array
    b: static Pair  # E: static-array
    c: static t.Optional[jnp.ndarray]  # E: static-array
    d: static "jax.Array"  # E: static-array
    e: static jax.Array | int
@jax.jit
def f(s: S) -> jax.Array:
    return s.x
""",
    "static_fine_ok": "# only: static"
    + """
import enum
class Mode(enum.Enum):
    A = 1
@dataclasses.dataclass(frozen=True)
class Config:
    size: int = 1
@class S
    x: jax.Array
    a: static t.Callable[[jax.Array], jax.Array]
    b: static str
    c: static tuple[int, ...]
    d: static Mode
    e: static Config
    f: static t.Any
    g: static type[int]
    h: static t.Literal["a", "b"]
    i: static np.dtype
    j: static jax.sharding.Mesh
    k: static int | None
    l: static bool
""",
    "static_from_function": "# only: flax node equinox"
    + """
@class S
    x: jax.Array
    fn: static t.Any
def f() -> None:
    S(x=jnp.zeros(1), fn=jnp.zeros(2))  # E: static-array
    S(x=jnp.zeros(1), fn=jnp.tanh)
    S(x=jnp.zeros(1), fn="relu")
""",
    "counting": "# only: static"
    + """
@class S
    x: jax.Array
    step: static int
def f(s: S) -> S:
    s = REPLACE(s, step=s.step + 1)  # E: counter
    return REPLACE(s, x=s.x + s.step)
""",
    "counting_data_ok": "# not: mjx"
    + """
@class S
    x: jax.Array
    step: int = 0
def f(s: S) -> S:
    return REPLACE(s, step=s.step + 1)
""",
    "static_container": "# only: flax node jdc jax equinox"
    + """
@class S
    x: jax.Array
    names: static t.Any
    table: dict[str, int]
def f(s: S) -> None:
    s.table["a"] = 1
    s.table.update(a=2)
    for name in s.names:
        print(name)
""",
    "read_static_numbers_ok": "# only: flax"
    + """
@class S
    x: jax.Array
    scale: t.Any = struct.field(pytree_node=False)
xs = np.linspace(0.0, 1.0, 5)
def f(x: jax.Array) -> list[S]:
    product, root = xs @ xs, jnp.sqrt(2.0)
    return [S(x, product), S(x, root), S(x, np.dot(xs, xs)), S(x, jnp.zeros(())), S(x, x.sum()), S(x, np.ones(1))]
def g(x: jax.Array) -> list[S]:
    made = jnp.zeros(3)
    return [S(x, made), S(x, xs)]  # E: static-array
""",
    "read_static_tuple_ok": "# only: flax"
    + """
@class S
    x: jax.Array
    sizes: t.Any = struct.field(pytree_node=False)
    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(np.asarray(self.sizes).tolist()))
def f(x: jax.Array) -> S:
    return S(x, jnp.arange(3))
""",
    "read_laps_ok": "# only: static"
    + """
@class S
    x: jax.Array
    laps: static int
def f(s: S) -> int:
    for _ in range(4):
        s = REPLACE(s, laps=s.laps + 1)
    return s.laps
def g(s: S) -> S:
    s = REPLACE(s, laps=s.laps + 1)  # E: counter
    return s
""",
    "static_mutable": "# only: static"
    + """
# mypy: enable-error-code="jaxlint-mutable-static-field"
@dataclasses.dataclass
class Options:
    a: int = 0
@dataclasses.dataclass(frozen=True)
class Fixed:
    a: int = 0
@class S
    a: static t.List[int]  # E: static-mutable
    b: static t.Dict[str, int]  # E: static-mutable
    c: static t.Optional[t.Set[int]]  # E: static-mutable
    d: static t.Tuple[t.List[int], ...]  # E: static-mutable
    e: static Options  # E: static-mutable
    f: static Fixed
    g: static t.Tuple[int, ...]
    h: static t.FrozenSet[str]
    i: static t.Sequence[int]
    j: static t.Callable[[t.List[int]], int]
    k: static t.Type[Options]
    x: jax.Array
""",
}
