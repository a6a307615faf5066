"""Other methods that a framework puts on classes, and what is asked of their receivers."""

from __future__ import annotations

from tests.mypy.cases.states import NAMED, SELF

CASES: dict[str, str] = {
    "of_type_variable": "# only: replace"
    + NAMED
    + SELF
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
    + NAMED
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
    "expected_to_fail": "# only: flax node chex"
    + NAMED
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
    "chex_tuples": "# only: chex"
    + NAMED
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
    "train_state_methods": "# only: node\nfrom flax.training.train_state import TrainState\n"
    + SELF
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
    "known_package_class": "# only: flax"
    + """
from flax.nnx.training.metrics import Statistics
one: t.Any = np.float32(1)
s = Statistics(mean=one, standard_error_of_mean=one, standard_deviation=one)
Statistics(means=one)  # E: unknown
""",
    "asked_of_unseen_base": "# only: penzai"
    + NAMED
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
}
