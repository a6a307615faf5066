"""Copies with changes: what `replace` is given, and what it returns."""

from __future__ import annotations

from tests.mypy.cases.states import FROZEN, NOTED

CASES: dict[str, str] = {
    "replace_ok": FROZEN
    + """
def f(s: S) -> S:
    s = REPLACE(s, x=s.x + 1)
    s = REPLACE(s, x=s.x, n=2)
    return REPLACE(s, n=s.n)
""",
    "replace_chain_ok": "# only: replace"
    + FROZEN
    + """
def f(s: S) -> S:
    return s.replace(n=1).replace(x=jnp.zeros(3))
""",
    "replace_kwargs_ok": "# only: replace"
    + FROZEN
    + """
def f(s: S, changes: dict[str, t.Any]) -> S:
    return s.replace(**changes)
""",
    "replace_lenient_ok": "# only: flax node chex simple_pytree"
    + """
@class S
    x: jax.Array
    n: int = 0
    r: float = 0.0
    b: bool = False
    xy: t.Optional[jax.Array] = None
    pair: tuple[jax.Array, jax.Array] = (1, 2)  # type: ignore
    d: t.Optional[dict[str, jax.Array]] = None
def f(s: S) -> S:
    s = s.replace(x=1.0, n=jnp.sum(s.x), r=1, b=s.x.any())
    s = s.replace(xy=None, pair=(1.0, s.x), d={"a": np.zeros(3)})
    return s.replace(x=np.zeros(3), n=s.n + s.x)
""",
    "replace_static_number": "# only: flax node"
    + """
@class S
    x: jax.Array
    n: static int
    rate: static t.Optional[float] = None
    on: static bool = False
    many: static tuple[int, ...] = ()
    act: static t.Callable[[jax.Array], jax.Array] = jnp.tanh
def f(s: S, changes: dict[str, t.Any]) -> list[S]:
    return [
        s.replace(n=s.n // 2, rate=1, on=True, many=(1, s.n), act=t.cast(t.Any, jnp.sin)),
        s.replace(rate=None, x=1.0, **changes),
        s.replace(n=s.n / 2),  # E: type
        s.replace(n=s.x.sum()),  # E: type
        s.replace(rate=s.x),  # E: type
        s.replace(on=s.x > 0),  # E: type
    ]
""",
    "replace_assigned_by_init": "# only: simple_pytree"
    + """
class Conv(Pytree):
    def __init__(self, key: jax.Array) -> None:
        self.kernel = jax.random.normal(key, (3,))
        self._rest()
    def _rest(self) -> None:
        self.shift = jnp.zeros(3)
    def flipped(self) -> "Conv":
        return self.replace(kernal=-self.kernel)  # E: unknown
class Open(Pytree):
    def __init__(self, **given: t.Any) -> None:
        self.__dict__.update(given)
def f(conv: Conv, held: Open) -> list[t.Any]:
    return [conv.replace(kernel=conv.kernel, shift=conv.shift), held.replace(x=1), conv.replace(scale=2)]  # E: unknown
""",
    "replace_unknown": FROZEN
    + """
def f(s: S) -> S:
    return REPLACE(s, bogus=1)  # E: unknown
""",
    "replace_wrong_type": FROZEN
    + """
def f(s: S) -> S:
    return REPLACE(s, n="one")  # E: type
""",
    "replace_wrong_container": "# only: replace"
    + FROZEN
    + """
def f(s: S) -> S:
    return s.replace(x={"a": 1})  # E: type
""",
    "replace_positional": "# only: replace"
    + FROZEN
    + """
def f(s: S) -> S:
    return s.replace(s.x)  # E: positional
""",
    "replace_self": """
@class S
    x: jax.Array
    n: int = 0
    def f(self) -> "S":
        return REPLACE(self, bogus=1)  # E: unknown
    def g(self) -> "S":
        return REPLACE(self, n=1)
""",
    "replace_returned": FROZEN
    + """
def make() -> S:
    return S(x=jnp.zeros(3), n=1)
def f() -> S:
    return REPLACE(make(), bogus=1)  # E: unknown
""",
    "replace_optional": FROZEN
    + """
def f(s: t.Optional[S]) -> t.Optional[S]:
    return REPLACE(s, bogus=1) if s else None  # E: unknown
""",
    "replace_inherited": FROZEN
    + """
@class D(S)
    m: int = 0
def f(s: D) -> D:
    s = REPLACE(s, m=1, n=2)
    return REPLACE(s, bogus=1)  # E: unknown
""",
    "replace_element": FROZEN
    + """
def f(many: list[S]) -> S:
    return REPLACE(many[0], bogus=1)  # E: unknown
""",
    "replace_init_false": "# only: chex"
    + """
@class S
    x: jax.Array
    n: int = dataclasses.field(default=0, init=False)
def f(s: S) -> S:
    return s.replace(n=1)  # E: unknown
""",
    "replace_generic": "# only: flax chex node"
    + """
T = t.TypeVar("T")
@class S(t.Generic[T])
    x: T
    n: int = 0
def f(s: S[str]) -> S[str]:
    s = s.replace(x="a")
    return s.replace(x=b"a")  # E: type
""",
    "replace_type_variable_ok": "# only: replace"
    + FROZEN
    + """
T = t.TypeVar("T", bound=S)
def f(s: T) -> T:
    return s.replace(n=1)
""",
    "replace_union_ok": "# only: replace"
    + FROZEN
    + """
@class R
    n: int = 0
def f(s: t.Union[S, R]) -> t.Union[S, R]:
    return s.replace(n=1)
""",
    "replace_own_method_overwritten": "# only: node"
    + """
@class S
    x: jax.Array
    n: int = 0
    def replace(self, bogus: int) -> "S":  # E: clash
        return self
def f(s: S) -> S:
    return s.replace(bogus=1)  # E: unknown
""",
    "replace_result": "# only: flax node chex"
    + FROZEN
    + """
def f(s: S) -> None:
    r = s.replace(n=1)
    r.n = 2  # E: frozen
    a: int = s.replace(n=1)  # E: assignment
    print(a)
""",
    "replace_missing_method": "# only: jdc jax equinox"
    + FROZEN
    + """
def f(s: S) -> None:
    s.replace(n=1)  # E: attribute
""",
    "chained": "# only: replace"
    + NOTED
    + """
def f(s: S) -> S:
    return s.replace(n=1).replace(x=s.x).replace(n=2)
def g(s: S) -> S:
    return s.replace(n=1).replace(bogus=s.x)  # E: unknown
""",
    "replace_in_expressions": "# only: replace"
    + NOTED
    + """
def f(states: list[S]) -> list[S]:
    made = [s.replace(n=i) for i, s in enumerate(states)]
    bad = [s.replace(m=1) for s in states]  # E: unknown
    best = max(made, key=lambda s: s.replace(n=1).n)
    return [best, *bad, made[0] if made else states[0].replace(n=2)]
""",
    "replace_types_ok": "# only: replace"
    + NOTED
    + """
def f(s: S, flag: bool) -> S:
    changes = {"n": 1} if flag else {}
    s = s.replace(**changes)
    s = s.replace(n=jnp.int32(1), x=1.0)
    s = s.replace(n=np.int32(1), x=np.zeros(3), note=None)
    return s.replace()
""",
    "replace_result_type": "# only: replace"
    + NOTED
    + """
def f(s: S) -> int:
    return s.replace(n=1).n
def g(s: S) -> str:
    s2: S = s.replace(n=1)
    s2.replace(n=3).n = 2  # E: frozen
    return s2.note
""",
    "replace_wrong": "# only: replace"
    + NOTED
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
    + NOTED
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
    + NOTED
    + """
def f(s: S) -> S:
    s = REPLACE(s, m=1)  # E: unknown
    s = REPLACE(s, n=1)
    return REPLACE(s, note=2)
""",
    "standard_replace": "# only: flax node jdc jax equinox chex"
    + NOTED
    + """
def f(s: S) -> S:
    s = dataclasses.replace(s, n=1)
    return dataclasses.replace(s, bogus=1)  # E: unknown
""",
    "literal_splat": "# only: replace"
    + NOTED
    + """
def f(s: S) -> S:
    s = s.replace(**{"n": 1})
    return s.replace(**{"bogus": 1})  # E: splat
""",
}
