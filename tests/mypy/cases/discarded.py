"""Copies that nobody keeps, and changes that get lost."""

from __future__ import annotations

from tests.mypy.cases.states import FROZEN, NOTED, ONE, SELF

CASES: dict[str, str] = {
    "discard_replace": FROZEN
    + """
def f(s: S) -> S:
    REPLACE(s, n=1)  # E: discard
    return s
""",
    "discard_self": """
@class S
    x: jax.Array
    n: int = 0
    def f(self) -> None:
        REPLACE(self, n=1)  # E: discard
""",
    "discard_branch": FROZEN
    + """
def f(s: S, yes: bool) -> S:
    if yes:
        REPLACE(s, n=1)  # E: discard
    else:
        for _ in range(3):
            REPLACE(s, n=2)  # E: discard
    return s
""",
    "discard_at": FROZEN
    + """
def f(s: S) -> S:
    s.x.at[0].set(1.0)  # E: discard
    y = s.x
    y.at[0].add(1.0)  # E: discard
    return s
""",
    "discard_taken_ok": FROZEN
    + """
def f(s: S) -> S:
    y = s.x.at[0].set(1.0)
    z = REPLACE(s, x=y)
    print(REPLACE(s, x=y))
    return z
""",
    "discard_other_replace_ok": """
import pathlib
def f(p: pathlib.Path, s: str) -> None:
    p.replace("other")
    s.replace("a", "b")
""",
    "discard_own_update": FROZEN.rstrip()
    + """
    def moved(self) -> "S":
        return REPLACE(self, n=1)
def f(s: S) -> S:
    s.moved()  # E: discard
    return s.moved()
""",
    "lost": NOTED
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
    "lost_at": NOTED
    + """
def f(s: S, x: jax.Array) -> jax.Array:
    s.x.at[0].set(1.0)  # E: discard
    x.at[0].add(1.0)  # E: discard
    x.at[0, 1].mul(2)  # E: discard
    x = x.at[0].max(3.0)
    x.at[0].get()
    return x
""",
    "lost_library": ONE
    + """
import equinox as eqx
def f(m: eqx.nn.Linear) -> None:
    eqx.tree_at(lambda m: m.weight, m, jnp.zeros(1))  # E: discard
    m = eqx.tree_at(lambda m: m.weight, m, jnp.zeros(1))
""",
    "text_replace_ok": ONE
    + """
import datetime, pathlib
def f(a: str, d: datetime.datetime, p: pathlib.Path) -> None:
    a.replace("a", "b")
    d.replace(hour=1)
    p.replace("b")
    " x ".replace(" ", "").strip()
""",
    "copied_variable": "# only: equinox\n"
    + SELF
    + """
@class S
    x: jax.Array
    def a(self) -> Self:
        made = eqx.tree_at(lambda one: one.x, self, self.x * 2)
        made.x = made.x  # E: frozen
        eqx.tree_at(lambda one: one.x, self, self.x * 2)  # E: discard
        return made
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
}
