"""More cases, written without a look at the plugin: what people's programs look like around pytree classes."""

from __future__ import annotations

_STATE = """
@class S
    x: jax.Array
    n: int = 0
    note: t.Any = None
"""
_ONE = "# only: flax"

MORE_CASES: dict[str, str] = {
    # -- whose instance it is -----------------------------------------------------------------
    # mypy itself crashes on a NewType of a class whose base carries `dataclass_transform`
    "newtype": "# not: node equinox"
    + _STATE
    + """
Fast = t.NewType("Fast", S)
def f(s: Fast) -> None:
    s.n = 2  # E: frozen
def g(s: S) -> Fast:
    return Fast(s)
g(S(x=jnp.zeros(2))).n += 1  # E: frozen
""",
    "alias_of_class": _STATE
    + """
State: t.TypeAlias = S
Maybe = t.Optional[State]
def f(s: Maybe, u: State) -> None:
    u.n = 2  # E: frozen
    if s is None:
        return
    s.n = 2  # E: frozen
""",
    "walrus": _STATE
    + """
def find() -> t.Optional[S]:
    raise NotImplementedError
def f() -> int:
    if (s := find()) is not None:
        s.n = 1  # E: frozen
        return s.n
    return 0
""",
    "narrowed_object": _STATE
    + """
def f(o: object, m: t.Any) -> None:
    if isinstance(o, S):
        o.n = 1  # E: frozen
    if not isinstance(o, S):
        return
    o.n = 3  # E: frozen
    m.n = 2
""",
    "match_statement": _STATE
    + """
def f(o: object) -> None:
    match o:
        case S() as s:
            s.n = 1  # E: frozen
        case int():
            pass
""",
    "type_guard": _STATE
    + """
def is_state(o: object) -> t.TypeGuard[S]:
    raise NotImplementedError
def f(o: object) -> None:
    if is_state(o):
        o.n = 1  # E: frozen
""",
    "cast_and_assert": _STATE
    + """
def f(o: t.Any) -> None:
    t.cast(S, o).n = 1  # E: frozen
    assert isinstance(o, S)
    o.n = 2  # E: frozen
""",
    "loops": _STATE
    + """
def f(states: t.Sequence[S], table: dict[str, S]) -> None:
    for i, s in enumerate(states):
        s.n = i  # E: frozen
    for a, b in zip(states, states):
        b.n = a.n  # E: frozen
    for value in table.values():
        value.n = 1  # E: frozen
    for _, value in table.items():
        value.n += 1  # E: frozen
    table["a"].n = 1  # E: frozen
    table["a"] = states[0]
""",
    "unpacked": _STATE
    + """
def pair() -> tuple[S, int]:
    raise NotImplementedError
def f() -> None:
    s, m = pair()
    s.n = m  # E: frozen
    pair()[0].n = m  # E: frozen
    first, *rest = [s, s]
    rest[0].n = 1  # E: frozen
""",
    "generator": _STATE
    + """
def states() -> t.Iterator[S]:
    yield S(x=jnp.zeros(1))
def f() -> None:
    for s in states():
        s.n = 1  # E: frozen
    next(states()).n = 1  # E: frozen
""",
    "asynchronous": _STATE
    + """
async def load() -> S:
    raise NotImplementedError
async def f(s: S) -> S:
    s.n = 1  # E: frozen
    t = await load()
    t.n = 2  # E: frozen
    (await load()).n = 3  # E: frozen
    return t
""",
    "overloaded": _STATE
    + """
@t.overload
def get(k: int) -> S: ...
@t.overload
def get(k: str) -> int: ...
def get(k: t.Any) -> t.Any:
    raise NotImplementedError
get(1).n = 1  # E: frozen
z = get("a")
""",
    "decorated_function": _STATE
    + """
P = t.ParamSpec("P")
R = t.TypeVar("R")
def logged(f: t.Callable[P, R]) -> t.Callable[P, R]:
    return f
@logged
def make(n: int) -> S:
    raise NotImplementedError
make(1).n = 2  # E: frozen
""",
    "held_by_ordinary_class": _STATE
    + """
class Trainer:
    def __init__(self, state: S) -> None:
        self.state = state
        self.best: S | None = None
    def run(self) -> None:
        self.state.n = 1  # E: frozen
        self.state = REPLACE(self.state, n=2)
        if self.best is not None:
            self.best.n = 1  # E: frozen
        self.best = self.state
""",
    "held_by_dataclass": _STATE
    + """
@dataclasses.dataclass
class Holder:
    state: S
    count: int = 0
def f(h: Holder) -> None:
    h.count += 1
    h.state.n = 1  # E: frozen
    h.state = REPLACE(h.state, n=1)
""",
    "nested_function": _STATE
    + """
def f(s: S) -> t.Callable[[], None]:
    def g() -> None:
        s.n = 1  # E: frozen
    return g
""",
    "conditional_receiver": _STATE
    + """
def f(a: S, b: S, c: bool) -> None:
    (a if c else b).n = 1  # E: frozen
    (a or b).n = 2  # E: frozen
""",
    "classmethod_maker": """
@class S
    x: jax.Array
    n: int = 0
    @classmethod
    def make(cls) -> "S":
        s = cls(x=jnp.zeros(1))
        s.n = 1  # E: frozen
        return s
    @staticmethod
    def other(s: "S") -> None:
        s.n = 3  # E: frozen
S.make().n = 2  # E: frozen
""",
    "property_ok": """
@class S
    x: jax.Array
    n: int = 0
    @property
    def double(self) -> int:
        return self.n * 2
    def get(self) -> int:
        n = self.n
        n += 1
        return n + self.double
def f(s: S) -> int:
    return s.double + s.get()
""",
    "class_variable_ok": """
@class S
    x: jax.Array
    total: t.ClassVar[int] = 0
def f() -> None:
    S.total = 3
    S.total += 1
""",
    "other_classes_ok": _STATE
    + """
class Log:
    n = 0
    def replace(self, **kwargs: int) -> None: ...
@dataclasses.dataclass
class Box:
    n: int = 0
def f(log: Log, box: Box) -> None:
    log.n = 1
    log.replace(n=1)
    box.n = 2
    setattr(box, "n", 3)
    del box.n
""",
    "protocol_ok": _STATE
    + """
class HasN(t.Protocol):
    n: int
def f(p: HasN) -> None:
    p.n = 1
class Named(t.Protocol):
    @property
    def n(self) -> int: ...
def g(p: Named) -> int:
    return p.n
g(S(x=jnp.zeros(1)))
""",
    "inherited_field": """
@class A
    x: jax.Array
@class B(A)
    y: int = 0
@class C(B)
    z: int = 0
def f(c: C) -> C:
    c.x = c.x + 1  # E: frozen
    c.y = 1  # E: frozen
    c.z = 2  # E: frozen
    return REPLACE(c, x=c.x, y=1, z=2)
""",
    "mixin": "# only: flax chex jdc jax"
    + """
class Mixin:
    def norm(self) -> float:
        return 1.0
@class S(Mixin)
    x: jax.Array
    n: int = 0
def f(s: S) -> float:
    s.n = 1  # E: frozen
    return s.norm()
""",
    "set_by_name": _STATE
    + """
def f(s: S, name: str) -> None:
    setattr(s, "n", 1)  # E: frozen
    setattr(s, name, 1)  # E: frozen
    getattr(s, name)
    delattr(s, name)  # E: frozen
""",
    "jitted": "# not: mjx"  # whose numbers are static
    + _STATE
    + """
@jax.jit
def step(s: S) -> S:
    s.n = 1  # E: frozen
    return REPLACE(s, n=s.n + 1)
def body(c: S, _: None) -> tuple[S, None]:
    c.x = c.x + 1  # E: frozen
    return c, None
jax.lax.scan(body, S(x=jnp.zeros(1)), None, length=3)
""",
    "expected_ok": "# not: jax"  # mypy itself knows that those are read-only
    + _STATE
    + """
import pytest, contextlib
def test_it(s: S) -> None:
    with pytest.raises(Exception):
        s.n = 1
    with contextlib.suppress(AttributeError):
        s.n = 2
    try:
        s.n = 3
    except (AttributeError, TypeError):
        pass
""",
    "own_setattr_ok": _ONE
    + """
class S:
    n: int = 0
    def __setattr__(self, k: str, v: t.Any) -> None: ...
s = S()
s.n = 1
""",
    # -- copies with changes ------------------------------------------------------------------
    "chained": "# only: replace"
    + _STATE
    + """
def f(s: S) -> S:
    return s.replace(n=1).replace(x=s.x).replace(n=2)
def g(s: S) -> S:
    return s.replace(n=1).replace(bogus=s.x)  # E: unknown
""",
    "replace_in_expressions": "# only: replace"
    + _STATE
    + """
def f(states: list[S]) -> list[S]:
    made = [s.replace(n=i) for i, s in enumerate(states)]
    bad = [s.replace(m=1) for s in states]  # E: unknown
    best = max(made, key=lambda s: s.replace(n=1).n)
    return [best, *bad, made[0] if made else states[0].replace(n=2)]
""",
    "replace_types_ok": "# only: replace"
    + _STATE
    + """
def f(s: S, flag: bool) -> S:
    changes = {"n": 1} if flag else {}
    s = s.replace(**changes)
    s = s.replace(n=jnp.int32(1), x=1.0)
    s = s.replace(n=np.int32(1), x=np.zeros(3), note=None)
    return s.replace()
""",
    "replace_result_type": "# only: replace"
    + _STATE
    + """
def f(s: S) -> int:
    return s.replace(n=1).n
def g(s: S) -> str:
    s2: S = s.replace(n=1)
    s2.replace(n=3).n = 2  # E: frozen
    return s2.note
""",
    "replace_wrong": "# only: replace"
    + _STATE
    + """
def f(s: S) -> None:
    a = s.replace(n="a")  # E: type
    b = s.replace(x="a")  # E: type
    c = s.replace(1)  # E: positional
    d = s.replace(s)  # E: positional
    e = s.replace(N=1)  # E: unknown
""",
    "replace_of_inner": "# only: replace"
    + """
@class Inner
    x: jax.Array
@class Outer
    inner: Inner
    n: int = 0
def f(o: Outer) -> Outer:
    o = o.replace(inner=o.inner.replace(x=o.inner.x + 1))
    o = o.replace(inner=o.inner.replace(n=1))  # E: unknown
    o.replace(inner=3)  # E: type
    o.inner.x = o.inner.x + 1  # E: frozen
    return o
""",
    "replace_generic_alias": "# only: replace"
    + """
T = t.TypeVar("T")
@class Box(t.Generic[T])
    value: T
    n: int = 0
IntBox = Box[int]
def f(b: IntBox, c: Box[str]) -> None:
    d = b.replace(value=2)
    e = c.replace(value="a")
    g = c.replace(value=1.5)  # E: type
    h = c.replace(valu="a")  # E: unknown
""",
    "replace_callback_ok": "# only: replace"
    + _STATE
    + """
def apply(f: t.Callable[[S], S], s: S) -> S:
    return f(s)
def run(s: S) -> S:
    s = apply(lambda s: s.replace(n=1), s)
    update = s.replace
    return update(n=2)
""",
    "replace_union": "# only: replace"
    + """
@class A
    x: int
    n: int = 0
@class B
    y: int
    n: int = 0
def f(s: A | B) -> A | B:
    s.n = 1  # E: frozen
    s = s.replace(n=1)
    return s.replace(y=1)  # E: unknown
""",
    "unknown_with_function": "# not: replace"
    + _STATE
    + """
def f(s: S) -> S:
    s = REPLACE(s, m=1)  # E: unknown
    s = REPLACE(s, n=1)
    return REPLACE(s, note=2)
""",
    "standard_replace": "# only: flax node jdc jax equinox chex"
    + _STATE
    + """
def f(s: S) -> S:
    s = dataclasses.replace(s, n=1)
    return dataclasses.replace(s, bogus=1)  # E: unknown
""",
    "literal_splat": "# only: replace"
    + _STATE
    + """
def f(s: S) -> S:
    s = s.replace(**{"n": 1})
    return s.replace(**{"bogus": 1})  # E: splat
""",
    # -- lost updates -------------------------------------------------------------------------
    "lost": _STATE
    + """
def f(s: S, c: bool) -> S:
    REPLACE(s, n=1)  # E: discard
    if c:
        REPLACE(s, x=s.x + 1)  # E: discard
    for _ in range(3):
        REPLACE(s, n=s.n + 1)  # E: discard
    _ = REPLACE(s, n=4)
    return s
class Agent:
    state: S
    def run(self) -> None:
        REPLACE(self.state, n=1)  # E: discard
        self.state = REPLACE(self.state, n=2)
""",
    "lost_at": _STATE
    + """
def f(s: S, x: jax.Array) -> jax.Array:
    s.x.at[0].set(1.0)  # E: discard
    x.at[0].add(1.0)  # E: discard
    x.at[0, 1].mul(2)  # E: discard
    x = x.at[0].max(3.0)
    x.at[0].get()
    return x
""",
    "lost_library": _ONE
    + """
import equinox as eqx
def f(m: eqx.nn.Linear) -> None:
    eqx.tree_at(lambda m: m.weight, m, jnp.zeros(1))  # E: discard
    m = eqx.tree_at(lambda m: m.weight, m, jnp.zeros(1))
""",
    "text_replace_ok": _ONE
    + """
import datetime, pathlib
def f(a: str, d: datetime.datetime, p: pathlib.Path) -> None:
    a.replace("a", "b")
    d.replace(hour=1)
    p.replace("b")
    " x ".replace(" ", "").strip()
""",
    # -- items --------------------------------------------------------------------------------
    "items": _STATE
    + """
def f(s: S, x: jax.Array, i: int) -> None:
    s.x[0] = 1.0  # E: item
    s.x[i, 1:] += 1.0  # E: item
    x[x > 0] = 0.0  # E: item
    y = s.x + 1
    y[0] = 2.0  # E: item
    z = jnp.zeros(3)
    z[0], w = 1.0, 2.0  # E: item
""",
    "items_of_instance": "# only: seen"
    + _STATE
    + """
def f(s: S) -> None:
    s["x"] = 1  # E: item
""",
    "items_ok": "# not: mjx"  # where numpy arrays are static
    + """
@class S
    table: dict[str, jax.Array]
    host: np.ndarray
    stack: list[jax.Array]
    any: t.Any
def f(s: S, x: jax.Array, either: jax.Array | np.ndarray) -> jax.Array:
    s.table["a"] = x
    s.host[0] = 1.0
    s.stack[0] = x
    s.any[0] = x
    either[0] = 1
    h = np.asarray(x)
    h[0] = 1.0
    if isinstance(either, np.ndarray):
        either[1] = 2
    return x[0] + s.stack[0][1]
""",
    "items_by_name_ok": _ONE
    + """
def f(cache: dict[str, jax.Array], names: list[str]) -> None:
    for name in names:
        cache[name][f"{name}_factor"] = jnp.zeros(1)
""",
    "items_expected_ok": _STATE
    + """
import pytest
def test_it(s: S) -> None:
    with pytest.raises(TypeError):
        s.x[0] = 1.0
""",
    "items_numpy_put_there_ok": _STATE
    + """
def f(raw: t.Any) -> S:
    s = S(x=raw)
    s.x[0] = 1.0
    return s
""",
    # -- roles --------------------------------------------------------------------------------
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
    # -- defaults -----------------------------------------------------------------------------
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
    # -- declarations -------------------------------------------------------------------------
    "undecorated": "# only: flax jdc jax chex"
    + """
@class A
    x: jax.Array
class B(A):  # E: undecorated
    y: int = 0
@class C(A)
    z: int = 0
""",
    "undecorated_grandchild": "# only: flax jdc jax"
    + """
@class A
    x: jax.Array
@class B(A)
    y: int = 0
class C(B):  # E: undecorated
    z: int = 0
""",
    "register_lists": _ONE
    + """
@dataclasses.dataclass
class A:
    x: jax.Array
    n: int = 0
jax.tree_util.register_dataclass(A, data_fields=["x"], meta_fields=["m"])  # E: fields-later
@dataclasses.dataclass
class B:
    x: jax.Array
    n: int = 0
jax.tree_util.register_dataclass(B, data_fields=["x"], meta_fields=["n"])
""",
    "register_unfrozen_ok": _ONE
    + """
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class A:
    x: jax.Array
    n: int = 0
def f(a: A) -> None:
    a.n = 1
    a.x = a.x + 1
    a.bogus = 1  # E: attribute
""",
    "register_node_class_ok": _ONE
    + """
@jax.tree_util.register_pytree_node_class
class A:
    def __init__(self, x: jax.Array) -> None:
        self.x = x
    def tree_flatten(self) -> tuple[tuple[jax.Array], None]:
        return (self.x,), None
    @classmethod
    def tree_unflatten(cls, aux: None, children: tuple[jax.Array]) -> "A":
        return cls(*children)
def f(a: A) -> None:
    a.x = a.x + 1
    a.x.at[0].set(1)  # E: discard
""",
    "local_class": _ONE
    + """
def f() -> None:
    from flax import struct
    @struct.dataclass
    class S:
        x: jax.Array
        n: int = 0
    s = S(x=jnp.zeros(1))
    s.n = 1  # E: frozen
    s = s.replace(n=2)
    s.replace(m=2)  # E: unknown
""",
    "own_decorators": "# only: flax"
    + """
C = t.TypeVar("C", bound=type)
@t.dataclass_transform(frozen_default=True)
def seen(cls: C) -> C:
    return struct.dataclass(cls)
def unseen(cls: C) -> C:
    return struct.dataclass(cls)
def same(cls: C) -> C:
    return cls
@t.dataclass_transform(frozen_default=True)
def registered(cls: t.Any) -> t.Any:
    made = dataclasses.dataclass(frozen=True)(cls)
    names = [field.name for field in dataclasses.fields(made)]
    def replace(self: t.Any, **changes: t.Any) -> t.Any:
        return dataclasses.replace(self, **changes)
    made.replace = replace
    return jax.tree_util.register_dataclass(made, data_fields=names, meta_fields=[])
@seen
class A:
    x: jax.Array
    n: int = 0
@unseen
class B:
    x: jax.Array
    n: int = 0
@registered
class D:
    x: jax.Array
    n: int = 0
@same
class P:
    n: int = 0
def f(a: A, b: B, d: D, x: jax.Array) -> None:
    a = a.replace(x=x, n=2)
    a = a.replace(m=2)  # E: unknown
    b = b.replace(n=3)
    b = b.replace(m=2)  # E: unknown
    b = B(x, 1)
    b.n = 2  # E: frozen
    d = d.replace(n=3)
    d = d.replace(m=3)  # E: unknown
    P().n = 2
""",
    "own_transform": "# only: equinox"
    + """
@t.dataclass_transform(field_specifiers=(eqx.field, dataclasses.field))
class Base(eqx.Module):
    pass
class M(Base):
    x: jax.Array
    n: int = eqx.field(static=True, default=1)
def f(m: M) -> M:
    m.n = 2  # E: frozen
    return eqx.tree_at(lambda m: m.x, m, m.x + 1)
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
    "equinox_abstract_ok": "# only: equinox"
    + """
import abc
class Base(eqx.Module):
    x: eqx.AbstractVar[jax.Array]
    @abc.abstractmethod
    def f(self) -> jax.Array: ...
class M(Base):
    x: jax.Array
    def __check_init__(self) -> None:
        if self.x is None:
            raise ValueError
    def f(self) -> jax.Array:
        return self.x
    @eqx.filter_jit
    def g(self, y: jax.Array) -> jax.Array:
        return self.x + y
M(jnp.zeros(1)).g(jnp.ones(1))
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
    "flax_linen_ok": _ONE
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
    "nnx_ok": _ONE
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
    "named_tuple_more": _ONE
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
    # -- what only reading tells: the types are the same in programs that are wrong ----------------
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
    "read_items_ok": "# only: flax"
    + """
@class S
    x: jax.Array
def f(s: S) -> S:
    s = jax.tree.map(lambda leaf: np.array(leaf), s)
    s.x[0] = 1.0
    return s
def g(s: S) -> S:
    s = jax.tree.map(lambda leaf: leaf * 2, s)
    s.x.at[0].set(1.0)  # E: discard
    return s
""",
    "read_copies_ok": "# only: jdc"
    + """
from jax_dataclasses import copy_and_mutate as mutate
@class S
    x: jax.Array
def f(s: S) -> S:
    with mutate(s) as out, mutate(s) as other:
        out.x = other.x
    out.x = s.x  # E: frozen
    return out
""",
    "read_expected_ok": _STATE
    + """
import unittest
class Test(unittest.TestCase):
    def test(self) -> None:
        s = S(x=jnp.zeros(1))
        self.assertRaises(AttributeError, lambda: setattr(s, "n", 2))
        setattr(s, "n", 2)  # E: frozen
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
    "ignored_ok": _STATE
    + """
def f(s: S) -> None:
    s.n = 1  # type: ignore[jaxlint]
    s.x[0] = 1.0  # type: ignore[jaxlint-item-assignment]
    s.x.at[0].set(1.0)  # type: ignore[jaxlint]
    s.x.at[0].set(2.0)  # jaxlint: ignore
    REPLACE(s, n=1)  # type: ignore[jaxlint-discarded-update]
""".replace("    s.n = 1  # type: ignore[jaxlint]\n", ""),
}
