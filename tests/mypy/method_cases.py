"""Cases about methods that a framework generates, wherever they are reached from, and about what may be written to."""

from __future__ import annotations

_STATE = """
@class S
    x: jax.Array
    n: int = 0
    s: str = "a"
"""
_SELF = "from typing_extensions import Self\n"

METHOD_CASES: dict[str, str] = {
    # -- replace is a method ------------------------------------------------------------------
    "replace_in_self": "# only: replace\n"
    + _SELF
    + """
@class S
    x: jax.Array
    n: int = 0
    s: str = "a"
    def a(self) -> Self:
        return self.replace(nope=1)  # E: unknown
    def b(self) -> Self:
        return self.replace(s=2)  # E: type
    def c(self) -> Self:
        return self.replace(x=1.5, n=jnp.sum(self.x), s="b")
    def d(self) -> Self:
        return self.replace(self.x)  # E: positional
""",
    "replace_type_variable": "# only: replace"
    + _STATE
    + """
T = t.TypeVar("T", bound=S)
def f(s: T) -> T:
    return s.replace(nope=1)  # E: unknown
def g(s: T) -> T:
    return s.replace(n=jnp.sum(s.x), x=0.5)
def h(s: T) -> T:
    return s.replace(s=3)  # E: type
""",
    "of_type_variable": "# only: replace"
    + _STATE
    + _SELF
    + """
T = t.TypeVar("T", bound=S)
def f(s: T) -> T:
    s.replace(x=s.x * 2)  # E: discard
    return s
def g(s: t.Optional[T], o: T) -> bool:
    if s is None:
        o.replace(n=2)  # E: discard
        return False
    s.replace(n=1)  # E: discard
    return s == o  # E: equality
def h(s: T) -> t.Optional[T]:
    print(hash(s) if s.n else 0)  # E: unhashable
    s.x.at[0].set(1)  # E: discard
    return s.replace(n=2) if s.n else None
@class Own
    x: jax.Array
    def a(self) -> Self:
        self.replace(x=self.x * 2)  # E: discard
        return self
    def b(self, other: Self) -> Self:
        print(self != other)  # E: equality
        return self.replace(x=other.x)
    def c(self) -> None:
        self.replace(x=self.x * 2)  # E: discard
""",
    "asked_of_receiver": "# only: flax node chex"
    + _STATE
    + """
T = t.TypeVar("T", bound=S)
@t.runtime_checkable
class HasStats(t.Protocol):
    @property
    def stats(self) -> t.Any: ...
def narrowed(s: S, v: object) -> S:
    if hasattr(s, "stats"):
        s = s.replace(stats=v)
        return dataclasses.replace(s, stats=v)
    return s.replace(other=v)  # E: unknown
def ternary(s: S, v: object) -> S:
    a = s.replace(stats=v) if hasattr(s, "stats") else s
    b = s.replace(other=v) if hasattr(s, "stats") else s  # E: unknown
    return a if a.n else b
def early(s: T, v: object) -> T:
    if not hasattr(s, "stats"):
        return s
    update = s.replace
    return update(stats=v)
def comprehension(many: t.List[S], v: object) -> t.Any:
    return [s.replace(stats=v) for s in many if hasattr(s, "stats")]
def by_getattr(s: S) -> S:
    stats = getattr(s, "stats", None)
    return s if stats is None else s.replace(stats=stats)
def by_protocol(s: S, v: object) -> object:
    if isinstance(s, HasStats):
        return s.replace(stats=v)
    return s.replace(n=2)
def of_another(s: S, o: S, v: object) -> S:
    return s.replace(stats=v) if hasattr(o, "stats") else s  # E: unknown
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
    "abstract_then_class_variables": "# only: equinox"
    + """
class Base(eqx.Module):
    name: eqx.AbstractVar[str]
class Middle(Base):
    name: eqx.AbstractClassVar[str]
class Pole(Middle):
    name: t.ClassVar[str] = "pole"
    x: jax.Array
class Longer(Pole):
    name: t.ClassVar[str] = "longer"
print(Pole(jnp.zeros(1)).name, Longer(x=jnp.zeros(1)).name, Longer.name)
Pole("a", 2)  # E: unknown
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
    "expected_to_fail": "# only: flax node chex"
    + _STATE
    + """
import pytest
def f(s: S) -> S:
    with pytest.raises((TypeError, ValueError)):
        s.replace(nope=1)
    try:
        s = s.replace(nope=2)
    except (TypeError, ValueError):
        pass
    try:
        s = s.replace(nope=3)  # E: unknown
    except (TypeError, ValueError):
        raise
    return s.replace(nope=4)  # E: unknown
""",
    "asked_of_train_state": "# only: node"
    + """
from flax.training.train_state import TrainState
def f(s: TrainState, g: t.Any, v: t.Any) -> TrainState:
    if hasattr(s, "batch_stats"):
        s = s.replace(batch_stats=v)
    s2 = s.apply_gradients(grads=g, batch_stats=v) if hasattr(s, "batch_stats") else s.apply_gradients(grads=g)
    return s2
def h(s: TrainState, g: t.Any, v: t.Any) -> TrainState:
    variables = {"params": s.params, "batch_stats": getattr(s, "batch_stats", None)}
    s = s.apply_gradients(grads=g, others=variables)  # E: unknown
    return s.replace(batch_stats=v)
""",
    "asked_of_module": "# only: equinox"
    + """
@class M
    x: jax.Array
def f(m: M, v: jax.Array) -> M:
    if hasattr(m, "extra"):
        return eqx.tree_at(lambda m: m.extra, m, v)
    return eqx.tree_at(lambda m: m.other, m, v)  # E: tree-at
""",
    "one_of_several_types": "# only: flax node jdc equinox"
    + """
T = t.TypeVar("T", int, float)
@class S
    x: jax.Array
    n: int = 0
    def own(self, v: T) -> T:
        self.n = 2  # E: frozen
        return v
def f(s: S, v: T) -> T:
    s.n = 1  # E: frozen
    dataclasses.replace(s, n=2)  # E: discard
    s.x[0] = v  # E: item
    for s.n in range(2):  # E: frozen
        pass
    return v
""",
    "copied_variable": "# only: equinox\n"
    + _SELF
    + """
@class S
    x: jax.Array
    def a(self) -> Self:
        made = eqx.tree_at(lambda one: one.x, self, self.x * 2)
        made.x = made.x  # E: frozen
        eqx.tree_at(lambda one: one.x, self, self.x * 2)  # E: discard
        return made
""",
    "replace_taken": "# only: replace"
    + _STATE
    + """
import functools
def f(s: S) -> None:
    g = s.replace
    print(g(nope=1))  # E: unknown
    a: S = g(n=2)
    b = g(n=jnp.ones(()))
    b.x.at[0].set(1)  # E: discard
    print(g(s=4))  # E: type
    h = functools.partial(s.replace, nope=2)  # E: unknown
    i = functools.partial(s.replace, n=2)
    c: S = i(x=s.x)
    S.replace(s, nope=2)  # E: unknown
    d: S = S.replace(s, n=2)
    print(a, c, d, h)
""",
    "replace_protocol": "# only: flax node chex"
    + _STATE
    + """
class CanReplace(t.Protocol):
    def replace(self, *, n: int) -> "CanReplace": ...
class OtherReplace(t.Protocol):
    def replace(self, *, other: int) -> t.Any: ...
def f(c: CanReplace) -> None: ...
def g(c: OtherReplace) -> None: ...
def h(s: S) -> None:
    f(s)
    g(s)  # E: type
""",
    "replace_subclass": "# only: replace"
    + _STATE
    + """
@class D(S)
    m: float = 0.0
@class E(D)
    k: bool = False
def f(d: D, e: E) -> S:
    d.replace(k=True)  # E: unknown
    e2: E = e.replace(m=1.0, n=2, k=True)
    d2: D = d.replace(m=1.0, n=2)
    d3: D = e2.replace(x=d2.x)
    return d3.replace(k=False)  # E: unknown
""",
    "replace_generic": "# only: flax chex node"
    + """
T = t.TypeVar("T")
@class S(t.Generic[T])
    x: T
    n: int = 0
def f(a: S[str], b: S[int]) -> None:
    c: S[str] = a.replace(x="b")
    a.replace(x=1)  # E: type
    a.replace(y=1)  # E: unknown
    d = b.replace(x=2)
    e: S[int] = d
    g = a.replace
    print(g(x=2))  # E: type
    print(c, e)
""",
    "replace_forward": "# only: replace"
    + """
@class S
    x: "Later"
    n: t.Optional["S"] = None
    c: t.Callable[[int], "Later"] = print  # type: ignore[assignment]
    def f(self) -> "S":
        return self.replace(x=Later(y=1), n=None)
    def g(self) -> "S":
        h = self.replace
        return h(x=1)  # E: type
@class Later
    y: int = 0
    def g(self) -> "Later":
        return self.replace(z=1)  # E: unknown
""",
    "replace_own_ok": "# only: simple_pytree"
    + """
@class S
    x: jax.Array
    n: int = 0
    def replace(self, **changes: t.Any) -> "S":
        return self
def f(s: S) -> S:
    return s.replace(anything=1)
""",
    "replace_two_bases": "# only: flax chex"
    + """
@class A
    x: int
@class B
    y: int
@class C(A, B)
    z: int = 0
class D(A, B):  # E: undecorated
    pass
def f(c: C, d: D) -> None:
    c2: C = c.replace(x=1, y=2, z=3)
    d2 = d.replace(x=1)
    print(c2, d2)
""",
    "replace_revealed": "# only: flax node chex"
    + _STATE
    + """
def f(s: S) -> None:
    reveal_type(s.replace(n=2))
    good: t.Callable[..., S] = s.replace
    bad: t.Callable[..., int] = s.replace  # E: assignment
    print(good, bad)
""",
    "replace_local_class": "# only: flax chex"
    + """
def f() -> None:
    @class S
        x: int
        s: str = ""
    g = S(x=1).replace
    print(g(nope=2))  # E: unknown
    print(g(x=3))
""",
    "replace_init_var": "# only: flax"
    + """
@class S
    x: jax.Array
    scale: dataclasses.InitVar[float]  # E: repeated
def f(s: S) -> None:
    g = s.replace
    print(g(scale=2.0))
    print(g(y=2))  # E: unknown
""",
    "replace_wide_types_ok": "# only: replace"
    + """
@class S
    a: t.Tuple[int, jax.Array]
    b: t.Dict[str, jax.Array]
    c: t.List[float]
    d: t.Optional[int] = None
    e: t.Union[float, str] = 1.0
    def f(self: "S") -> "S":
        g = self.replace
        print(g(a=(jnp.ones(()), 1.0)))
        print(g(b={"a": np.ones(3)}))
        print(g(c=[jnp.ones(())]))
        print(g(d=jnp.ones(()), e=np.float32(3)))
        return g(d=None, e="a")
""",
    # -- chex ---------------------------------------------------------------------------------
    "chex_tuples": "# only: chex"
    + _STATE
    + """
def f(s: S) -> None:
    x, n, name = s.to_tuple()
    name.nope()  # E: attribute
    x.nope()  # E: attribute
    s2 = S.from_tuple((x, n, name))
    s2.n = 3  # E: frozen
    s2.nope  # E: attribute
    for key in s.keys():
        key.nope()  # E: attribute
    len(s)
    print(s["x"], "x" in s, dict(s), list(s.values()), s.get("x"), s.get("y", 1))
""",
    # -- TrainState ---------------------------------------------------------------------------
    "train_state_methods": "# only: node\nfrom flax.training.train_state import TrainState\n"
    + _SELF
    + """
class TS(TrainState):
    key: jax.Array
    metrics: t.Optional[int] = None
    def a(self, g: t.Any) -> Self:
        return self.apply_gradients(grads=g, nope=1)  # E: unknown
    def b(self, g: t.Any) -> Self:
        return self.apply_gradients(grads=g, metrics=jnp.ones(()))
    def c(self) -> Self:
        return self.replace(nope=1)  # E: unknown
    def d(self) -> Self:
        return self.replace(params={"a": 1}, step=self.step + 1)
    @classmethod
    def make(cls, tx: t.Any, key: jax.Array) -> Self:
        return cls.create(apply_fn=print, params={}, tx=tx, key=key)
    @classmethod
    def bad(cls, tx: t.Any) -> Self:
        return cls.create(apply_fn=print, params={}, tx=tx)  # E: unknown
def f(tx: t.Any, key: jax.Array) -> None:
    make = TS.create
    print(make(apply_fn=print, params={}, tx=tx))  # E: unknown
    s = make(apply_fn=print, params={}, tx=tx, key=key)
    s.step = 2  # E: frozen
    s.key.nope  # E: attribute
    step = s.apply_gradients
    print(step())  # E: unknown
    t2 = step(grads={}, metrics=2)
    t2.key = key  # E: frozen
""",
    # -- frozen is read-only ------------------------------------------------------------------
    "protocol_settable": "# only: seen"
    + _STATE
    + """
class HasN(t.Protocol):
    n: int
class ReadsN(t.Protocol):
    @property
    def n(self) -> int: ...
def writes(s: HasN) -> None:
    s.n = 1
def reads(s: ReadsN) -> int:
    return s.n
def f(s: S) -> None:
    reads(s)
    writes(s)  # E: type
    h: HasN = s  # E: assignment
    s.n = 2  # E: frozen
""",
    "protocol_only_read_ok": "# only: flax node chex jdc equinox"
    + """
class HasRate(t.Protocol):
    rate: float
    size: int
@class S
    rate: float = 1.0
    size: int = 0
def reads(s: HasRate) -> bool:
    return s.rate == 2.0 and s.size >= 1
def f(s: S) -> bool:
    conditions: t.Sequence[t.Callable[[S], bool]] = (reads,)
    return reads(s) and conditions[0](s)
""",
    "protocol_open_ok": "# only: flax node chex"
    + """
@dataclasses.dataclass
class S:
    n: int = 0
class HasN(t.Protocol):
    n: int
def writes(s: HasN) -> None:
    s.n = 1
writes(S())
""",
    "written_everywhere": _STATE
    + """
def f(s: S, pairs: t.List[t.Tuple[int, int]], c: t.ContextManager[int], name: str) -> None:
    (s.n, other) = 1, 2  # E: frozen
    [s.n, *rest] = [1, 2]  # E: frozen
    for s.n, k in pairs:  # E: frozen
        print(k)
    with c as s.n:  # E: frozen
        pass
    s.n += 1  # E: frozen
    s.n = other = 3  # E: frozen
    setattr(s, "n", 3)  # E: frozen
    s.n: int = 4  # E: frozen
    print(rest, other)
""",
    "expected_writes_ok": "# only: seen\nimport pytest"
    + _STATE
    + """
def test_frozen() -> None:
    s = S(x=jnp.zeros(2))
    with pytest.raises(dataclasses.FrozenInstanceError):
        s.n = 2  # type: ignore[misc,unused-ignore]
""",
    "narrowed_frozen_ok": "# only: seen"
    + """
@class S
    x: jax.Array
    n: t.Optional[int] = None
    f: t.Optional[t.Callable[[int], int]] = None
    g: t.Callable[[int], int] = abs
def f(s: S) -> int:
    if s.n is not None and s.f is not None:
        return s.n + s.f(s.n) + s.g(1)
    return s.n or 0
""",
    "subclass_narrows_ok": "# only: flax node chex equinox"
    + """
@class A
    x: object
    n: t.Optional[int] = None
@class B(A)
    x: jax.Array
    n: int = 0
def f(b: B) -> jax.Array:
    return b.x + b.n
""",
    # -- fields --------------------------------------------------------------------------------
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
    "converter": "# only: equinox"
    + """
def scale(v: t.Union[int, float]) -> jax.Array:
    return jnp.asarray(v)
class A(eqx.Module):
    x: jax.Array = eqx.field(converter=jnp.asarray)
    k: t.Tuple[int, ...] = eqx.field(converter=tuple, default=())
    s: jax.Array = eqx.field(converter=scale, default=1.0)
    n: int = 0
class B(A):
    y: jax.Array = eqx.field(converter=lambda v: jnp.asarray(v), kw_only=True, default=0)
class C(A):
    s: jax.Array = eqx.field(default_factory=lambda: jnp.zeros(2))
A(1.5)
A(x=[1, 2], k=[1], s=2)
A(np.zeros(3), (1,), s="a")  # E: type
A(1.5, n="a")  # E: type
A()  # E: unknown
A(1, nope=2)  # E: unknown
B(2.0, y=[1])
B(2.0, [1], "a")  # E: type
C(2.0, s=jnp.zeros(1))
C(2.0, s=2)  # E: type
""",
    "abstract_for_checkers": "# only: equinox"
    + """
if t.TYPE_CHECKING:
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar
class Path(eqx.Module):
    start: AbstractVar[float]
    stop: AbstractVar[float]
    def length(self) -> float:
        return self.stop - self.start
class Line(Path):
    start: float
    stop: float = 1.0
class Unit(Path):
    start: t.ClassVar[float] = 0.0
    @property
    def stop(self) -> float:
        return 1.0
print(Line(0.0).length(), Line(0.0, stop=2.0).length(), Unit().length())
Path()  # E: abstract
Line(0.0, end=2.0)  # E: unknown
Unit(0.0)  # E: unknown
""",
    "abstract_checked": "# only: equinox"
    + """
class Cut(eqx.Module):
    low: eqx.AbstractVar[float]
    high: eqx.AbstractVar[float]
    def __post_init__(self) -> None:
        self.low, self.high = eqx.error_if((self.low, self.high), self.low > self.high, "order")
class Half(Cut):
    low: float = 0.0
    high: float = 0.5
print(Half().high, Half(0.1).low)
Cut()  # E: abstract
Half(end=2.0)  # E: unknown
""",
    "abstract_variable": "# only: equinox"
    + """
class Abstract(eqx.Module):
    scale: jax.Array
    shape: eqx.AbstractVar[t.Tuple[int, ...]]
    kind: eqx.AbstractClassVar[str]
    def size(self) -> int:
        return len(self.shape) + len(self.kind)
class Half(Abstract):
    kind = "half"
class One(Half):
    loc: jax.Array
    shape: t.Tuple[int, ...]
class Two(Abstract):
    loc: jax.Array
    kind: t.ClassVar[str] = "two"
    @property
    def shape(self) -> t.Tuple[int, ...]:
        return self.loc.shape
class Three(Half):
    shape: t.Tuple[int, ...] = eqx.field(static=True)
    def __init__(self, n: int) -> None:
        self.shape, self.scale = (n,), jnp.ones(n)
class Four(Half):
    shape: t.ClassVar[t.Tuple[int, ...]] = (2,)
    _: dataclasses.KW_ONLY
    bias: float = 0.0
one = One(jnp.ones(1), jnp.zeros(2), (2,))
two = Two(jnp.ones(1), loc=jnp.zeros(2))
print(one.size() + two.size() + Three(3).size(), one.shape[0], two.shape[0], Four(jnp.ones(1), bias=1.0))
One(jnp.ones(1), (2,), jnp.zeros(2))  # E: type
Two(jnp.ones(1), jnp.zeros(2), (2,))  # E: unknown
Half(jnp.ones(1))  # E: abstract
one.shape = (3,)  # E: frozen
print(Four.shape[0], Four(jnp.ones(1)).shape[0])
Four(jnp.ones(1), 1.0)  # E: unknown
""",
    "tree_at_class": "# only: equinox"
    + """
class M(eqx.Module):
    w: jax.Array
    n: int = 0
class N(M):
    inner: t.Optional[M] = None
K = t.TypeVar("K", bound=M)
def zero(m: K) -> K:
    return eqx.tree_at(lambda t: t.w, m, replace_fn=jnp.zeros_like)
def f(n: N, pair: t.Tuple[M, M], any_: t.Any) -> N:
    p = eqx.tree_at(lambda t: t[0].w, pair, jnp.ones(2))
    a = eqx.tree_at(lambda t: t.nope, any_, 1)
    print(p[0].w, a.nope, zero(n).inner)
    q = eqx.tree_at(lambda t: t.w, n, jnp.ones(2))
    print(q.nope)  # E: attribute
    q.w = jnp.zeros(2)  # E: frozen
    same: M = eqx.tree_at(where=lambda t: t.w, pytree=n, replace=jnp.ones(2))
    return eqx.tree_at(lambda t: t.inner, n, same, is_leaf=lambda v: v is None)
""",
    "converter_of_replaced": "# only: equinox"
    + """
def pair(n: t.Union[int, t.Tuple[int, ...]]) -> t.Tuple[int, ...]:
    return (n, n) if isinstance(n, int) else n
@class A
    x: jax.Array = eqx.field(converter=jnp.asarray)
    kernel: t.Tuple[int, ...] = eqx.field(static=True, converter=pair, default=2)
    n: int = 0
class B(A):
    y: jax.Array = eqx.field(converter=jnp.asarray, default=0.0)
    def f(self) -> "B":
        return dataclasses.replace(self, x=1.0, y=2)
def f(a: A, b: B) -> None:
    print(dataclasses.replace(a, x=1.0, kernel=3), dataclasses.replace(b, x=[1.0], kernel=(1, 2), n=2))
    print(dataclasses.replace(a, kernel="a"))  # E: type
    print(dataclasses.replace(a, n="a"))  # E: type
    print(dataclasses.replace(b, z=1))  # E: unknown
""",
    "converter_of_tuples": "# only: equinox"
    + """
def pair(v: t.Union[int, t.Tuple[int, ...]]) -> t.Tuple[int, ...]:
    return (v, v) if isinstance(v, int) else v
class Pool(eqx.Module):
    x: jax.Array = eqx.field(converter=jnp.asarray)
    kernel: t.Tuple[int, ...] = eqx.field(static=True, converter=pair, default=2)
Pool(1.5)
Pool(1.5, 3)
Pool(1.5, kernel=(3, 4))
Pool(1.5, kernel="a")  # E: type
""",
    "only_static_field": "# only: static"
    + """
@class S
    n: static int = 0
def f(s: S) -> None:
    print(s.n)
    s.n = 2  # E: frozen
""",
    "plain_for_checkers": "# only: chex"
    + """
if t.TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from chex import dataclass
@dataclass
class S:
    x: jax.Array
    n: int = 0
def f(s: S) -> S:
    s.n = 2
    s.replace(n=3)  # E: discard
    s.replace(m=3)  # E: unknown
    return s.replace(n=s.x)
""",
    # -- what types alone say ------------------------------------------------------------------
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
    "compared_arrays": "# only: flax node chex jdc jax"
    + _STATE
    + """
@class Plain
    n: int = 0
def f(a: S, b: S, c: Plain, d: Plain, o: object) -> None:
    print(a == b)  # E: equality
    if a != b:  # E: equality
        print(c == d, a == o, a is b, a.n == b.n, hash(c))
    print({c: 1}, c in {d})
""",
    "hashed_arrays": "# only: flax node jdc jax equinox"
    + _STATE
    + """
def f(a: S, known: t.Set[S], named: t.Dict[S, int]) -> None:
    hash(a)  # E: unhashable
    known.add(a)  # E: unhashable
    named[a] = 1  # E: unhashable
""",
    "hashed_when_read": "# only: flax node jdc jax equinox"
    + _STATE
    + """
from collections import OrderedDict, defaultdict
def f(a: S, named: t.Dict[S, int], later: "defaultdict[S, int]", ordered: "OrderedDict[S, int]") -> None:
    print(named[a])  # E: unhashable
    later[a] += 1  # E: unhashable
    ordered[a] = 2  # E: unhashable
    print(named[a])  # noqa: JAX508
def g(a: S, by_n: t.Dict[int, S]) -> S:
    return by_n[a.n]
""",
    "mutable_has_no_hash": "# only: chex"
    + """
@chex.dataclass
class Layer:
    n: int
@chex.dataclass
class Named:
    n: int
    def __hash__(self) -> int:
        return self.n
@chex.dataclass(eq=False, mappable_dataclass=False)
class Same:
    n: int
def f(a: Layer, b: Named, c: Same, layers: t.List[Layer]) -> None:
    hash(a)  # E: unhashable
    print(hash(b), {c: 1})
    print({layer: 1 for layer in layers})  # E: unhashable
    print(set(layers))  # E: unhashable
    print({layer.n: layer for layer in layers})
""",
    "own_equality_ok": "# only: flax node jdc jax"
    + """
@class S
    x: jax.Array
    def __eq__(self, other: object) -> bool:
        return self is other
    def __hash__(self) -> int:
        return id(self)
def f(a: S, b: S) -> None:
    print(a == b, hash(a))
""",
    "frozen_bypassed": "# only: flax node jdc jax"
    + """
@class S
    x: jax.Array
    n: int = 0
    def __post_init__(self) -> None:
        object.__setattr__(self, "n", 1)
    def f(self) -> None:
        object.__setattr__(self, "n", 1)  # E: bypass
        object.__setattr__(self, "_cache", 1)
def g(s: S, name: str) -> S:
    object.__setattr__(s, "n", 1)  # E: bypass
    object.__setattr__(s, name, 1)
    s.__setattr__("n", 1)  # E: frozen
    new = object.__new__(S)
    object.__setattr__(new, "n", 2)
    return new
@class Holder
    held: S
def h(holder: Holder) -> None:
    object.__setattr__(holder.held, "n", 1)  # E: bypass
    made = Holder(held=S(x=jnp.zeros(1)))
    object.__setattr__(made.held, "n", 2)
""",
    "static_bypassed": "# only: flax node jdc jax"
    + """
@class S
    x: jax.Array
    name: static str = "a"
    key: static str = ""
    def keyed(self) -> str:
        object.__setattr__(self, "key", self.name * 2)
        return self.key
def f(s: S) -> None:
    object.__setattr__(s, "name", "b")  # E: bypass
""",
    "leaf_list_grows": "# only: flax node jdc jax equinox"
    + """
@class S
    many: t.List[jax.Array]
    n: int = 0
    def f(self, x: jax.Array) -> None:
        self.many.append(x)  # E: grows
        self.many[0] = x
def f(s: S, x: jax.Array) -> None:
    s.many.extend([x])  # E: grows
    list(s.many).append(x)
    made = S(many=[])
    made.many.append(x)
""",
    "leaf_list_of_its_own_constructor": "# only: equinox"
    + """
@class S
    many: t.List[jax.Array]
    def __init__(self, x: jax.Array) -> None:
        self.many = []
        self.add(x)
        for one in map(self.added, [x]):
            print(one)
    def add(self, x: jax.Array) -> None:
        self.many.append(x)
    def added(self, x: jax.Array) -> "S":
        self.many.append(x)
        return self
    def grow(self, x: jax.Array) -> None:
        self.many.append(x)  # E: grows
""",
    "leaf_list_lost": "# only: flax node jdc jax equinox"
    + """
# mypy: disable-error-code="jaxlint-mutated-leaf"
@class S
    x: jax.Array
    many: t.List[jax.Array]
    by_name: t.Dict[str, t.List[jax.Array]]
    def f(self, x: jax.Array) -> None:
        self.many.append(x)
@jax.jit
def lost(s: S) -> jax.Array:
    s.many.append(s.x)  # E: lost
    return s.x
@jax.jit
def returned(s: S) -> S:
    s.many.append(s.x)
    return s
def each(s: S, x: jax.Array) -> jax.Array:
    s.by_name["x"].append(x)  # E: lost
    s.by_name["y"] = []  # E: lost
    return x + s.x
def read(s: S, x: jax.Array) -> jax.Array:
    s.many.append(x)
    return sum(s.many, x)
def outside(s: S, xs: jax.Array) -> None:
    s.many.append(jax.vmap(each, in_axes=(None, 0))(s, xs))
    s.many.extend([jax.vmap(lambda x: read(s, x))(xs), lost(s)])
    s.by_name["z"] = returned(s).many
""",
    "never_taken": "# only: replace\n# not: chex mjx simple_pytree"
    + """
@class S
    x: jax.Array
    n: int = 0
def f(s: S, kind: str) -> S:
    if kind == "a":
        if kind == "b":
            s.n = 1
            s.replace(x=s.x)
        elif kind == "c":
            object.__setattr__(s, "n", 1)
            s.x[0] = 1
        s.n = 2  # E: frozen
    if kind != "a":
        return s
    if kind == "d":
        def g() -> None:
            s.n = 3
        g()
    while kind == "d":
        s.n = 4
    s.n = 5  # E: frozen
    if t.TYPE_CHECKING:
        s.n = 6
    return s
""",
    "replace_not_in_init": "# only: jdc chex"
    + """
@class S
    x: jax.Array
    n: int = dataclasses.field(init=False, default=0)
def f(s: S) -> S:
    return dataclasses.replace(s, x=s.x, n=2)  # E: not-in-init
""",
    "replace_own_init": "# only: equinox"
    + """
class S(eqx.Module):
    x: jax.Array
    n: int
    def __init__(self, size: int, n: int = 0) -> None:
        self.x = jnp.zeros(size)
        self.n = n
class Any(S):
    def __init__(self, **given: t.Any) -> None:
        self.x, self.n = given["x"], given["n"]
class Same(eqx.Module):
    x: jax.Array
    def __init__(self, x: jax.Array, scale: float = 1.0) -> None:
        self.x = x * scale
class Alone(eqx.Module):
    x: jax.Array
    def __init__(self, size: int) -> None:
        self.x = jnp.zeros(size)
    def grown(self) -> "Alone":
        return dataclasses.replace(self, x=jnp.ones(3))  # E: not-in-init
def f(a: Any, s: S, b: Same, c: Alone) -> None:
    print(dataclasses.replace(a, x=a.x + 1), dataclasses.replace(b, x=b.x + 1))
    print(dataclasses.replace(s, n=1))
    print(dataclasses.replace(c, x=c.x))  # E: not-in-init
""",
    "own_init_and_replace_ok": "# only: replace\n# not: chex mjx"
    + """
@class S
    x: jax.Array
    n: int = 0
    def __init__(self, x: jax.Array, n: int = 0) -> None:
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "n", n)
def f(s: S) -> S:
    return s.replace(n=2).replace(x=s.x)
""",
    "own_init_and_replace": "# only: flax node"
    + """
@class S
    x: jax.Array
    n: int = 0
    def __init__(self, size: int, n: int = 0) -> None:  # E: own-init
        object.__setattr__(self, "x", jnp.zeros(size))
        object.__setattr__(self, "n", n)
def f(s: S) -> S:
    s.replace(self=s)  # E: unknown
    return s.replace(n=2, size=3)
@jax.jit
def g(s: S) -> jax.Array:
    return s.x
""",
    "protocol_any_changes": "# only: flax node"
    + """
from typing_extensions import Self
class Any(t.Protocol):
    def replace(self, **changes: t.Any) -> Self: ...
class Untyped(t.Protocol):
    def replace(self, **changes): ...
class Anything(t.Protocol):
    def replace(self, *args: t.Any, **changes: t.Any) -> Self: ...
class Other(t.Protocol):
    def replace(self, *, nope: int) -> Self: ...
R = t.TypeVar("R", bound=Any)
def put(r: R, x: jax.Array) -> R:
    return r.replace(x=x)
@class S
    x: jax.Array
T = t.TypeVar("T", bound=S)
def many(s: T, **changes: jax.Array) -> T:
    s.replace(**changes).replace(nope=1)  # E: unknown
    return s.replace(**changes)
def f(s: S) -> None:
    a: t.List[t.Union[Any, Untyped, Anything]] = [put(s, s.x)]
    b: Any = s
    c: Untyped = s
    d: Anything = s
    e: Other = s  # E: assignment
    print(a, b, c, d, e)
""",
    "functions_given": "# only: flax node"
    + """
from functools import partial
@class S
    x: jax.Array
    fn: static t.Callable[[jax.Array], jax.Array]
    other: static t.Optional[t.Callable[[jax.Array], jax.Array]] = None
def two(x: jax.Array, k: t.Any) -> t.Union[str, jax.Array]:
    return x * k
def f(s: S) -> None:
    print(s.replace(fn=partial(two, k=2), other=jax.vmap(partial(two, k=3))))
    print(s.replace(fn="relu"))  # E: type
    update = s.replace
    print(update(fn=partial(two, k=2)))
    print(update(fn="relu"))  # E: type
""",
    "known_package_class": "# only: flax"
    + """
from flax.nnx.training.metrics import Statistics
one: t.Any = np.float32(1)
s = Statistics(mean=one, standard_error_of_mean=one, standard_deviation=one)
Statistics(means=one)  # E: unknown
""",
    "local_classes": "# only: decorated node equinox"
    + """
def make(n: int) -> t.Any:
    @class S
        x: jax.Array
        many: list = []  # E: mutable
    class Plain:
        many: list = []
    return S, Plain
class Maker:
    def make(self) -> t.Any:
        @class S
            x: jax.Array
            def f(self) -> None:
                self.x = self.x * 2  # E: frozen
        return S
""",
    "untyped_annotation": "# only: chex"
    + """
@chex.dataclass(frozen=True, mappable_dataclass=False)
class Key:
    data: chex.Array
@chex.dataclass(frozen=True, mappable_dataclass=False)
class Name:
    n: chex.Numeric
    other: t.Any
def f(a: Key, b: Key, named: t.Dict[Key, int], c: Name, d: Name) -> None:
    print(a == b)  # E: equality
    named[a] = 1  # E: unhashable
    print(hash(b))  # E: unhashable
    print(c == d)
""",
    "searched": "# only: flax node jax jdc"
    + """
from collections import deque
@class S
    x: jax.Array
@class Named
    name: str
    x: jax.Array = dataclasses.field(compare=False)
def f(s: S, many: list[S], seq: t.Sequence[S], d: "deque[S]", named: list[Named], one: Named, n: list[int]) -> None:
    seq.index(s)  # E: equality
    many.remove(s)  # E: equality
    many.count(s)  # E: equality
    d.remove(s)  # E: equality
    assert S(s.x) == S(s.x)  # E: equality
    print(s == s, one == named[0], hash(one), any(s is other for other in many))
    named.remove(one)
    n.remove(3)
    many.remove(s)  # noqa: JAX508
""",
    # -- bases that mypy cannot see -------------------------------------------------------------
    "constructor_of_unseen_base": "# only: mjx simple_pytree"
    + _STATE
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
    "replace_function_of_unseen_base": "# only: mjx simple_pytree"
    + _STATE
    + """
def f(s: S) -> S:
    s = dataclasses.replace(s, n=2)
    return dataclasses.replace(s, nope=2)  # E: unknown-to-mypy
""",
    "fields_of_untyped_function": "# only: simple_pytree\nfrom simple_pytree import field, static_field"
    + """
@class S
    x: jax.Array
    size: int = static_field()
    k: float = field(default=0.1)
    name: str = static_field(default="a")
S(jnp.zeros(2), 3)
S(jnp.zeros(2))  # E: unknown
S(jnp.zeros(2), 3, name="b", k=2)
""",
    "no_replace_of_unseen_base": "# only: penzai"
    + _STATE
    + """
@class Other
    def replace(self, x: int) -> int:
        return x
def f(s: S, o: Other) -> S:
    o.replace(3)
    s.select()
    return s.replace(n=1)  # E: no-replace
""",
    "asked_of_unseen_base": "# only: penzai"
    + _STATE
    + """
def ternary(s: S, v: object) -> t.Any:
    return s.replace(x=v) if hasattr(s, "replace") else s
def of_and(s: S, v: object) -> t.Any:
    return hasattr(s, "replace") and s.replace(x=v)
def of_or(s: S, v: object) -> t.Any:
    return not hasattr(s, "replace") or s.replace(x=v)
def comprehension(many: t.List[S], v: object) -> t.Any:
    return [s.replace(x=v) for s in many if hasattr(s, "replace")]
def asserted(s: S, v: object) -> t.Any:
    assert hasattr(s, "replace"), s
    return s.replace(x=v)
def loop(s: S, v: object) -> t.Any:
    while (n := s.n) > 3 and hasattr(s, "replace"):
        s = s.replace(x=v, n=n)
    return s
def named(s: S, v: object) -> t.Any:
    can = hasattr(s, "replace")
    return s.replace(x=v) if can else s
def got(s: S, v: object) -> t.Any:
    return s.replace(x=v) if callable(getattr(s, "replace", None)) else s
def nested(s: S, v: object) -> t.Any:
    return print(max([s.replace(x=v) if hasattr(s, "replace") else s], key=lambda one: one.n))
def in_lambda(v: object) -> t.Any:
    return lambda s: s.replace(x=v) if hasattr(s, "replace") else s
def outside(s: S, v: object) -> t.Any:
    if hasattr(s, "replace"):
        return lambda: s.replace(x=v)
    def inner() -> t.Any:
        return s.replace(x=v)
    return inner
def of_another(s: S, o: S, v: object) -> t.Any:
    return s.replace(x=v) if hasattr(o, "replace") else s  # E: no-replace
""",
    "converter_is_class": "# only: equinox"
    + """
@class S
    scale: float = FIELD(converter=float)
    axis: int = FIELD(converter=int, default=1)
    shape: tuple[int, ...] = FIELD(converter=tuple, default=())
S("1.5", "3", [1])
S(jnp.ones(()), np.float32(3))
S([1.0])  # E: type
S(1, axis=[2])  # E: type
""",
    "held_with_others": "# only: replace"
    + _STATE
    + """
def f(s: S, name: str) -> S:
    carry = {"state": s, "n": 1, "of": {"a": s.x}}
    print(carry["of"]["a"], carry.get("of", {})["a"])
    many = [s, 1, "a"]
    print(many[0].replace(x=s.x))
    alike = {"a": s, "b": s}
    print(alike["a"].replace(no=1))  # E: unknown
    others = {"a": 1, "b": "x"}
    print(others["a"].bit_length())  # E: attribute
    declared: t.Dict[str, object] = {"a": s, "n": 1}
    print(declared["n"].bit_length())  # E: attribute
    return carry["state"]
""",
    "compiled_for_subclasses": "# only: flax node chex jdc jax equinox"
    + """
import abc
from functools import partial
@class S
    x: jax.Array
@class D(S)
    m: float = 0.0
class Env:
    @partial(jax.jit, static_argnums=0)
    def step(self, s: S) -> S:
        return self.step_env(s)
    def step_env(self, s: S) -> S:
        "For subclasses."
        raise NotImplementedError
class Base(abc.ABC):
    @partial(jax.jit, static_argnums=0)
    def step(self, s: S) -> S:
        return self.step_env(s)
    @abc.abstractmethod
    def step_env(self, s: S) -> S: ...
class Whole:
    @partial(jax.jit, static_argnums=0)
    def step(self, s: S) -> S:
        if s is None:
            raise ValueError
        return s
def f(env: Env, base: Base, whole: Whole, s: S) -> None:
    print(env.step(s).m, base.step(s).m)
    print(whole.step(s).m)  # E: attribute
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
    "compiled_or_else": "# only: flax node chex jdc jax equinox"
    + """
@class S
    x: jax.Array
    n: int = 0
class Record:
    obs: jax.Array
@jax.jit
def split(s: t.Union[S, Record]) -> t.Union[S, Record]:
    return s
@jax.jit
def found(s: S) -> t.Optional[S]:
    return s if s.n else None
def f(s: S, r: Record) -> t.Tuple[S, Record]:
    s = split(s)
    r = split(r)
    one = found(s)
    assert one is not None
    print(one.nope)  # E: attribute
    return s, r
""",
    "made_by_a_metaclass": "# only: equinox\n"
    + """
from equinox._module._module import _ModuleMeta
def number(x: t.Union[float, jax.Array]) -> jax.Array:
    return jnp.asarray(x)
class Meta(_ModuleMeta):
    def __call__(cls, *args: t.Any, **kwargs: t.Any) -> t.Any:
        return super().__call__(*map(float, args), **kwargs)
class Named(_ModuleMeta):
    pass
class A(eqx.Module, metaclass=Meta):
    a: float
    b: jax.Array = eqx.field(converter=number)
class B(eqx.Module, metaclass=Named):
    a: float
    b: jax.Array = eqx.field(converter=number)
def f(s: A) -> A:
    print(s.nope)  # E: attribute
    return A(jnp.ones(()), "2")
def g() -> B:
    return B(1.0, "2")  # E: type
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
    "splatted_for_variable": "# only: replace\n"
    + _SELF
    + """
@class S
    x: jax.Array
    n: int = 0
    other: t.Optional[int] = None
    def a(self, **changes: str) -> Self:
        return self.replace(**changes)
    def b(self) -> Self:
        return self.replace(other="a")  # E: type
T = t.TypeVar("T", bound=S)
def f(s: T, name: str) -> T:
    for _ in range(2):
        s = s.replace(**{name: (s.x, "a")})
    return s if s.n else s.replace(nope=1)  # E: unknown
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
