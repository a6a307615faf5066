"""Instances that are compared, hashed, and looked for."""

from __future__ import annotations

from tests.mypy.cases.states import NAMED

CASES: dict[str, str] = {
    "compared_arrays": "# only: flax node chex jdc jax"
    + NAMED
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
    + NAMED
    + """
def f(a: S, known: t.Set[S], named: t.Dict[S, int]) -> None:
    hash(a)  # E: unhashable
    known.add(a)  # E: unhashable
    named[a] = 1  # E: unhashable
""",
    "hashed_when_read": "# only: flax node jdc jax equinox"
    + NAMED
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
    "hashed_arrays_within": "# only: flax node jdc jax equinox"
    + NAMED
    + """
@class Outer
    inner: S
    n: int = 0
@class Many
    n: int
    parts: t.Tuple[S, ...] = ()
@class Maybe
    n: int
    part: t.Optional[S] = None
@class Names
    n: int
    names: t.Tuple[str, ...] = ()
@class Held
    names: Names
def f(a: Outer, b: Maybe, c: Held, d: t.Dict[Outer, int], e: Many) -> None:
    print(hash(a))  # E: unhashable
    print({a: 1})  # E: unhashable
    d[a] = 2  # E: unhashable
    print(hash(b), {c: 1}, hash(c), {a.n: 1}, hash(e.n))
""",
    "flattened_by_hand": "# only: jax"
    + """
@jax.tree_util.register_pytree_node_class
@dataclasses.dataclass(frozen=True)
class Hit:
    place: jax.Array
    def tree_flatten(self) -> tuple[tuple[jax.Array], None]:
        return (self.place,), None
    @classmethod
    def tree_unflatten(cls, aux: None, children: tuple[jax.Array]) -> "Hit":
        return cls(*children)
@jax.tree_util.register_pytree_node_class
class Plain:
    def __init__(self, place: jax.Array) -> None:
        self.place = place
    def tree_flatten(self) -> tuple[tuple[jax.Array], None]:
        return (self.place,), None
    @classmethod
    def tree_unflatten(cls, aux: None, children: tuple[jax.Array]) -> "Plain":
        return cls(*children)
def f(a: Hit, b: Hit, many: list[Hit]) -> bool:
    if a != b:  # E: equality
        return True
    return a in many  # E: equality
def g(a: Plain, b: Plain) -> bool:
    return a == b or a in [b]
""",
    "hashed_converted": "# only: equinox"
    + """
class Rate(eqx.Module):
    value: jax.Array = eqx.field(converter=jnp.asarray)
class Rates(eqx.Module):
    many: list[Rate]
    def __init__(self, n: int) -> None:
        self.many = [Rate(0.5) for _ in range(n)]
def f(rates: Rates, known: dict[Rate, int]) -> None:
    print({rates: 1})  # E: unhashable
    print(known[rates.many[0]])  # E: unhashable
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
    assert S(s.x) == S(s.x + 1)  # E: equality
    print(s == s, one == named[0], hash(one), any(s is other for other in many))
    named.remove(one)
    n.remove(3)
    many.remove(s)  # noqa: JAX508
""",
}
