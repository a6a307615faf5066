"""Instances, wherever they are reached from: other names of their class, functions, containers, protocols."""

from __future__ import annotations

from tests.mypy.cases.states import NAMED, NOTED, ONE

CASES: dict[str, str] = {
    # mypy itself crashes on a NewType of a class whose base carries `dataclass_transform`
    "newtype": "# not: node equinox"
    + NOTED
    + """
Fast = t.NewType("Fast", S)
def f(s: Fast) -> None:
    s.n = 2  # E: frozen
def g(s: S) -> Fast:
    return Fast(s)
g(S(x=jnp.zeros(2))).n += 1  # E: frozen
""",
    "alias_of_class": NOTED
    + """
State: t.TypeAlias = S
Maybe = t.Optional[State]
def f(s: Maybe, u: State) -> None:
    u.n = 2  # E: frozen
    if s is None:
        return
    s.n = 2  # E: frozen
""",
    "walrus": NOTED
    + """
def find() -> t.Optional[S]:
    raise NotImplementedError
def f() -> int:
    if (s := find()) is not None:
        s.n = 1  # E: frozen
        return s.n
    return 0
""",
    "narrowed_object": NOTED
    + """
def f(o: object, m: t.Any) -> None:
    if isinstance(o, S):
        o.n = 1  # E: frozen
    if not isinstance(o, S):
        return
    o.n = 3  # E: frozen
    m.n = 2
""",
    "match_statement": NOTED
    + """
def f(o: object) -> None:
    match o:
        case S() as s:
            s.n = 1  # E: frozen
        case int():
            pass
""",
    "type_guard": NOTED
    + """
def is_state(o: object) -> t.TypeGuard[S]:
    raise NotImplementedError
def f(o: object) -> None:
    if is_state(o):
        o.n = 1  # E: frozen
""",
    "cast_and_assert": NOTED
    + """
def f(o: t.Any) -> None:
    t.cast(S, o).n = 1  # E: frozen
    assert isinstance(o, S)
    o.n = 2  # E: frozen
""",
    "loops": NOTED
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
    "unpacked": NOTED
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
    "generator": NOTED
    + """
def states() -> t.Iterator[S]:
    yield S(x=jnp.zeros(1))
def f() -> None:
    for s in states():
        s.n = 1  # E: frozen
    next(states()).n = 1  # E: frozen
""",
    "asynchronous": NOTED
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
    "overloaded": NOTED
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
    "decorated_function": NOTED
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
    "held_by_ordinary_class": NOTED
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
    "held_by_dataclass": NOTED
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
    "nested_function": NOTED
    + """
def f(s: S) -> t.Callable[[], None]:
    def g() -> None:
        s.n = 1  # E: frozen
    return g
""",
    "conditional_receiver": NOTED
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
    "other_classes_ok": NOTED
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
    "protocol_ok": NOTED
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
    "set_by_name": NOTED
    + """
def f(s: S, name: str) -> None:
    setattr(s, "n", 1)  # E: frozen
    setattr(s, name, 1)  # E: frozen
    getattr(s, name)
    delattr(s, name)  # E: frozen
""",
    "jitted": "# not: mjx"  # whose numbers are static
    + NOTED
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
    + NOTED
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
    "own_setattr_ok": ONE
    + """
class S:
    n: int = 0
    def __setattr__(self, k: str, v: t.Any) -> None: ...
s = S()
s.n = 1
""",
    "local_class": ONE
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
    "protocol_settable": "# only: seen"
    + NAMED
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
}
