"""The method `replace` that a framework puts on classes: in subclasses, of type variables, in protocols."""

from __future__ import annotations

from tests.mypy.cases.states import NAMED, SELF

CASES: dict[str, str] = {
    "replace_in_self": "# only: replace\n"
    + SELF
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
    + NAMED
    + """
T = t.TypeVar("T", bound=S)
def f(s: T) -> T:
    return s.replace(nope=1)  # E: unknown
def g(s: T) -> T:
    return s.replace(n=jnp.sum(s.x), x=0.5)
def h(s: T) -> T:
    return s.replace(s=3)  # E: type
""",
    "replace_taken": "# only: replace"
    + NAMED
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
    + NAMED
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
    + NAMED
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
    "replace_method_generic": "# only: flax chex node"
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
    + NAMED
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
    "replace_function_of_unseen_base": "# only: mjx simple_pytree"
    + NAMED
    + """
def f(s: S) -> S:
    s = dataclasses.replace(s, n=2)
    return dataclasses.replace(s, nope=2)  # E: unknown-to-mypy
""",
    "no_replace_of_unseen_base": "# only: penzai"
    + NAMED
    + """
@class Other
    def replace(self, x: int) -> int:
        return x
def f(s: S, o: Other) -> S:
    o.replace(3)
    s.select()
    return s.replace(n=1)  # E: no-replace
""",
    "held_with_others": "# only: replace"
    + NAMED
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
    "splatted_for_variable": "# only: replace\n"
    + SELF
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
}
