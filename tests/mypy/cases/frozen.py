"""Writes to frozen instances."""

from __future__ import annotations

from tests.mypy.cases.states import FROZEN, NAMED

CASES: dict[str, str] = {
    "frozen_parameter": FROZEN
    + """
def f(s: S) -> None:
    s.x = s.x * 2  # E: frozen
""",
    "frozen_constructed": FROZEN
    + """
def f() -> None:
    s = S(x=jnp.zeros(3), n=1)
    s.n = 2  # E: frozen
""",
    "frozen_returned": FROZEN
    + """
def make() -> S:
    return S(x=jnp.zeros(3), n=1)
def f() -> None:
    make().n = 2  # E: frozen
    s = make()
    s.n = 2  # E: frozen
""",
    "frozen_self": """
@class S
    x: jax.Array
    n: int = 0
    def f(self) -> None:
        self.n = 3  # E: frozen
""",
    "frozen_type_variable": FROZEN
    + """
T = t.TypeVar("T", bound=S)
def f(s: T) -> T:
    s.n = 2  # E: frozen
    return s
""",
    "frozen_optional": FROZEN
    + """
def f(s: t.Optional[S]) -> None:
    if s is not None:
        s.n = 2  # E: frozen
""",
    "frozen_augmented": FROZEN
    + """
def f(s: S) -> None:
    s.n += 1  # E: frozen
    s.x += 1  # E: frozen
""",
    "frozen_delete": "# not: equinox simple_pytree"
    + FROZEN
    + """
def f(s: S) -> None:
    del s.n  # E: frozen
""",
    "frozen_unpacked": FROZEN
    + """
def f(s: S) -> None:
    s.n, other = 1, 2  # E: frozen
""",
    "frozen_loop": FROZEN
    + """
def f(s: S) -> None:
    for s.n in range(3):  # E: frozen
        pass
""",
    "frozen_with": FROZEN
    + """
def f(s: S, c: t.ContextManager[int]) -> None:
    with c as s.n:  # E: frozen
        pass
""",
    "frozen_setattr": FROZEN
    + """
def f(s: S) -> None:
    setattr(s, "n", 1)  # E: frozen
""",
    "frozen_named_like_a_field": FROZEN
    + """
n = S(x=jnp.zeros(3))
n.n = 2  # E: frozen
n.n += 1  # E: frozen
for n.n in range(3):  # E: frozen
    pass
""",
    "frozen_element": FROZEN
    + """
def f(many: list[S], named: dict[str, S]) -> None:
    many[0].n = 1  # E: frozen
    named["a"].n = 1  # E: frozen
    for one in many:
        one.n = 2  # E: frozen
    for _, one in named.items():
        one.n = 2  # E: frozen
""",
    "frozen_isinstance": FROZEN
    + """
def f(s: object) -> None:
    if isinstance(s, S):
        s.n = 2  # E: frozen
""",
    "frozen_inherited": FROZEN
    + """
@class D(S)
    m: int = 0
def f(s: D) -> None:
    s.n = 2  # E: frozen
    s.m = 2  # E: frozen
""",
    "frozen_nested": FROZEN
    + """
@class O
    inner: S
def f(o: O) -> None:
    o.inner.n = 2  # E: frozen
""",
    "frozen_alias": FROZEN
    + """
Alias = S
def f(s: Alias) -> None:
    if (other := s) is not None:
        other.n = 2  # E: frozen
""",
    "frozen_generic": """
T = t.TypeVar("T")
@class S(t.Generic[T])
    x: T
    n: int = 0
def f(s: S[jax.Array]) -> None:
    s.n = 2  # E: frozen
""",
    "frozen_forward": """
def f(s: "S") -> None:
    s.n = 2  # E: frozen
@class S
    x: jax.Array
    n: int = 0
""",
    "frozen_local": """
def f() -> None:
    @class S
        x: jax.Array
        n: int = 0
    s = S(x=jnp.zeros(3), n=1)
    s.n = 2  # E: frozen
""",
    "frozen_nested_class": """
class Outer:
    @class S
        x: jax.Array
        n: int = 0
def f(s: Outer.S) -> None:
    s.n = 2  # E: frozen
""",
    "frozen_in_lambda_argument": FROZEN
    + """
def f(s: S) -> None:
    def inner() -> None:
        s.n = 2  # E: frozen
    inner()
""",
    "frozen_union": FROZEN
    + """
@class R
    n: int = 0
def f(s: t.Union[S, R]) -> None:
    s.n = 2  # E: frozen
""",
    "frozen_async": FROZEN
    + """
async def make() -> S:
    return S(x=jnp.zeros(3), n=1)
async def f() -> None:
    s = await make()
    s.n = 2  # E: frozen
""",
    "frozen_post_init": "# not: equinox simple_pytree"
    + """
@class S
    x: jax.Array
    n: int = 0
    def __post_init__(self) -> None:
        self.n = 3  # E: frozen
""",
    "frozen_expected_ok": "# not: jax"
    + FROZEN
    + """
import pytest
def test() -> None:
    s = S(x=jnp.zeros(3), n=1)
    with pytest.raises(AttributeError):
        s.n = 2
    try:
        s.n = 3
    except AttributeError:
        pass
""",
    "frozen_plain_ok": """
class S:
    x: int = 0
@dataclasses.dataclass
class P:
    x: int = 0
def f(s: S, p: P) -> None:
    s.x = 1
    p.x = 1
    p.x += 1
    del p.x
""",
    "frozen_unpack_read_ok": FROZEN
    + """
def f(s: S) -> int:
    n = s.n
    n += 1
    values = [s.n for _ in range(3)]
    values[0] = s.n
    return n
""",
    "written_everywhere": NAMED
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
    + NAMED
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
    "only_static_field": "# only: static"
    + """
@class S
    n: static int = 0
def f(s: S) -> None:
    print(s.n)
    s.n = 2  # E: frozen
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
}
