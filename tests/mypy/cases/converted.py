"""Fields with converters, and fields that subclasses have to declare."""

from __future__ import annotations

CASES: dict[str, str] = {
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
}
