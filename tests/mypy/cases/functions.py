"""Functions of the user's: compiled ones, those without annotations, and those that are handed on."""

from __future__ import annotations

CASES: dict[str, str] = {
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
    "looped": "# only: flax node chex jdc jax equinox"
    + """
@class S
    x: jax.Array
    n: int = 0
def body(i: int, s: S) -> S:
    return s
def f(s: S, x: jax.Array) -> S:
    out = jax.lax.fori_loop(0, 3, body, s)
    out.n = 2  # E: frozen
    number = jax.lax.fori_loop(0, 3, lambda i, k: k + i, 0)
    number.anything()
    pair = jax.lax.fori_loop(0, 3, lambda i, p: p, (s, x))
    pair[0].n = 3  # E: frozen
    return out
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
}
