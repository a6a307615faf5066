"""Defaults, and what constructors take."""

from __future__ import annotations

from tests.mypy.cases.states import FROZEN, NAMED

CASES: dict[str, str] = {
    "default_list": """
@class S
    x: jax.Array
    y: list[int] = []  # E: mutable
""",
    "default_dict": """
@class S
    x: jax.Array
    y: dict[str, int] = {}  # E: mutable
    z: set[int] = set()  # E: mutable
""",
    "default_numpy": """
@class S
    x: jax.Array
    y: np.ndarray = np.zeros(3)  # E: mutable
""",
    "default_jax": """
@class S
    x: jax.Array
    y: jax.Array = jnp.zeros(3)  # E: mutable
""",
    "default_function": """
def make(n: int) -> jax.Array:
    return jnp.zeros(n)
@class S
    x: jax.Array
    y: jax.Array = make(3)  # E: mutable
""",
    "default_library": """
from jax.scipy.stats import norm
@class S
    x: jax.Array
    y: jax.Array = norm.pdf(3.0)  # E: mutable
""",
    "default_ok": """
@class S
    x: jax.Array
    y: jax.Array = factory jnp.zeros(3)
    z: list[int] = factory []
    n: int = 0
    p: tuple[int, ...] = ()
    q: t.Optional[jax.Array] = None
""",
    "construct_ok": FROZEN
    + """
s = S(x=jnp.zeros(3))
u = S(x=jnp.zeros(3), n=1)
""",
    "construct_positional_ok": "# only: ordered"
    + FROZEN
    + """
s = S(jnp.zeros(3), 1)
""",
    "construct_positional_chex": "# only: chex"
    + FROZEN
    + """
s = S(jnp.zeros(3))  # E: positional
""",
    "construct_unknown": FROZEN
    + """
s = S(x=jnp.zeros(3), bogus=1)  # E: unknown
""",
    "construct_missing": FROZEN
    + """
s = S(n=1)  # E: unknown
""",
    "construct_wrong_type": FROZEN
    + """
s = S(x=jnp.zeros(3), n="a")  # E: type
""",
    "construct_inherited": FROZEN
    + """
@class D(S)
    m: int = 0
d = D(x=jnp.zeros(3), m=1)
e = D(x=jnp.zeros(3), k=1)  # E: unknown
""",
    "construct_order": "# only: ordered chex"
    + """
@class S
    n: int = 0
    x: jax.Array  # E: positional
""",
    "construct_factory_ok": """
@class S
    x: jax.Array = factory jnp.zeros(3)
    n: int = 0
s = S()
""",
    "defaults": "# only: flax node chex jdc jax equinox"
    + """
ZEROS = np.zeros(3)
NAMES = ["a"]
@class S
    a: t.Any = []  # E: mutable
    b: t.Any = {"k": 1}  # E: mutable
    c: t.Any = np.ones(3)  # E: mutable
    d: t.Any = jnp.zeros(3)  # E: mutable
    e: t.Any = ZEROS  # E: mutable
    f: t.Any = NAMES  # E: mutable
    g: t.Any = set()  # E: mutable
""",
    "defaults_ok": """
LIMIT = 3
NAMES = ("a", "b")
@class S
    a: int = LIMIT
    b: tuple[str, ...] = NAMES
    c: list[int] = factory []
    d: jax.Array = factory jnp.zeros(3)
    e: t.Any = None
    f: tuple[()] = ()
    g: frozenset[int] = frozenset()
    h: float = 1e-3
""",
    "containers_given": "# only: flax node chex"
    + """
@class S
    xs: t.List[jax.Array]
    ts: t.Tuple[jax.Array, ...]
    seq: t.Sequence[jax.Array]
    by: t.Mapping[str, jax.Array]
    deep: t.Dict[str, t.List[float]]
    names: t.List[str]
def f(s: S, many: t.List[np.ndarray], some: t.Dict[str, np.ndarray]) -> S:
    s = s.replace(xs=[np.zeros(2), 1.0, jnp.ones(1)], ts=(np.zeros(2), 1.0), seq=[1.0, np.zeros(1)])
    s = s.replace(seq=many, by=some, deep={"a": [jnp.ones(1), 2], "b": []})
    s = s.replace(seq=(1.0, s.ts[0]), by={"a": 1.0, "b": np.zeros(1)}, ts=tuple(many))
    s = s.replace(xs=[*s.xs, s.ts[0]], deep={**s.deep, "c": [1.0]}, names=["a"])
    s = s.replace(xs=[], ts=(), by={}, deep={})
    s = s.replace(names=[1])  # E: item-type
    s = s.replace(xs=["a"])  # E: item-type
    s = s.replace(ts=("a",))  # E: type
    s = s.replace(by={"a": "b"})  # E: item-type
    return s.replace(seq=3)  # E: type
""",
    "kinds_of_numbers": "# only: flax node chex"
    + """
import enum
class Turn(enum.IntEnum):
    LEFT = 0
    RIGHT = 1
class Word(enum.Enum):
    A = "a"
Index = t.NewType("Index", int)
@class S
    x: jax.Array
    turn: Turn
    at: Index
    on: bool
    word: Word
def f(s: S) -> S:
    s = s.replace(turn=jnp.sum(s.x), at=s.at + 1, on=s.x.any(), word=Word.A)
    s = s.replace(turn=Turn.LEFT, at=Index(3), on=True)
    s = s.replace(at="a")  # E: type
    s = s.replace(turn="LEFT")  # E: type
    return s.replace(word=s.x)  # E: type
""",
    "default_type": "# only: flax node equinox"
    + """
@class A
    x: int = FIELD(default="a")  # E: assignment
    y: t.List[int] = FIELD(default_factory=dict)  # E: assignment
    z: str = FIELD(default_factory=lambda: 1)  # E: assignment
    s: str = FIELD(default=1, STATIC)  # E: assignment
    n: int = FIELD(unknown=1, default=2)  # E: unknown
    i: int = FIELD(default=1.5)  # E: assignment
    p: t.Tuple[int, int] = FIELD(default=(1, 2, 3))  # E: assignment
""",
    "default_type_ok": "# only: flax node equinox"
    + """
T = t.TypeVar("T")
def make() -> jax.Array:
    return jnp.zeros(3)
@class A
    x: jax.Array = FIELD(default=0.0)
    y: jax.Array = FIELD(default_factory=lambda: np.zeros(3))
    m: t.Mapping[str, jax.Array] = FIELD(default_factory=dict)
    q: t.Sequence[int] = FIELD(default_factory=list)
    p: t.Optional[int] = FIELD(default=None)
    later: jax.Array = FIELD(default=None)
    f: t.Callable[[int], int] = FIELD(default=abs, STATIC)
    g: t.Tuple[int, ...] = FIELD(default=(), STATIC)
    d: float = FIELD(default=0, repr=False, compare=False, kw_only=True)
    k: jax.Array = FIELD(default_factory=make, init=True, hash=None)
    e: t.Any = FIELD(default=object())
    u: t.Union[str, jax.Array] = FIELD(default=1.0)
    b: float = FIELD(default=True)
    c: complex = FIELD(default=1)
    w: t.Tuple[float, jax.Array] = FIELD(default=(1, 2.0))
    v: t.Tuple[int, ...] = FIELD(default=(1, 2, 3))
""",
    "constructor_of_unseen_base": "# only: mjx simple_pytree"
    + NAMED
    + """
@class Sub(S)
    many: dict[str, jax.Array] = dataclasses.field(default_factory=dict)
    f: t.Optional[t.Callable[[int], int]] = None
def make(x: np.ndarray) -> Sub:
    S(x, jnp.sum(x), s="b")
    S(1.0, n=x.sum())
    S(x, s=1)  # E: type
    S(x, 1, "b", 2)  # E: unknown
    Sub(x, f=lambda one: one)
    Sub(x, man={})  # E: unknown
    return Sub(x, 1, "b", {"a": jnp.zeros(2)})
""",
    "splatted_chex": "# only: chex"
    + """
@class S
    x: jax.Array
    n: int = 0
    kind: str = "a"
def f(given: t.Dict[str, t.Union[str, int, None]], x: jax.Array) -> None:
    S(x=x, **given)
    S(**given)
    S(n="a", **given)  # E: type
""",
    "made_of_arrays": "# only: chex\n"
    + """
@class S
    over: jax.Array
    n: t.Optional[int] = None
    many: t.List[float] = FIELD(default_factory=list)
    kind: str = "a"
def f(x: jax.Array) -> None:
    S(n=x, over=False, many=[x, 1])
    S(n=x.sum(), over=1.0, kind=x)  # E: type
    S(n="1", over=x)  # E: type
    S(over=x, no=1)  # E: unknown
    S(over=x, many=["a"])  # E: item-type
""",
    "described_default": "# only: equinox flax"
    + """
class Constant:
    def __init__(self, value: float) -> None:
        self.value = value
    def __get__(self, instance: object, owner: object = None) -> float:
        return self.value
class Other:
    pass
@class S
    x: jax.Array
    c: float = FIELD(default=Constant(3.0))
    d: float = FIELD(default=Other())  # E: assignment
""",
    "constructed_under_jit": "# not: penzai simple_pytree mjx chex"
    + """
@class S
    x: jax.Array
    n: int = 0
    done: t.Optional[bool] = None
    k: static int = 3
@class D(S)
    of: t.Tuple[int, int] = (1, 2)
@jax.jit
def f(x: jax.Array) -> S:
    return S(x=x, n=x.sum(), done=x > 0)
def g(x: jax.Array) -> t.Tuple[S, ...]:
    return S(x=x, n="a"), S(x=x, n=None)  # E: type
def h(x: jax.Array) -> S:
    return S(x=x, k=x)  # E: type
def i(x: jax.Array) -> D:
    return D(x=x, n=jnp.argmax(x), of=(1, 2))
def j(x: jax.Array) -> D:
    return D(x=x, of="a")  # E: type
""",
}
