"""How classes are declared: decorators, subclasses, registrations, attributes."""

from __future__ import annotations

from tests.mypy.cases.states import FROZEN, ONE

CASES: dict[str, str] = {
    "init_false": "# only: flax node jax"
    + """
@class S
    x: jax.Array
    n: int = dataclasses.field(default=0, init=False)  # E: init-false
""",
    "attribute_unknown": "# only: seen"
    + FROZEN
    + """
def f(s: S) -> object:
    return s.bogus  # E: attribute
""",
    "undecorated_subclass": "# only: decorated"
    + FROZEN
    + """
class D(S):  # E: undecorated
    y: jax.Array
""",
    "decorated_subclass_ok": FROZEN
    + """
@class D(S)
    y: t.Optional[jax.Array] = None
""",
    "mutable_ok": "# only: flax"
    + """
import chex
@struct.dataclass(frozen=False)
class A:
    x: int
@chex.dataclass
class B:
    x: int
@dataclasses.dataclass
class C:
    x: int
jax.tree_util.register_dataclass(C, ["x"], [])
def f(a: A, b: B, c: C) -> None:
    a.x = 1
    b.x = 2
    c.x = 3
    b = b.replace(x=2)
    a = a.replace(x=3)
""",
    "from_import": "# only: chex"
    + """
from chex import dataclass
@dataclass(frozen=True)
class A:
    x: jax.Array
    n: int = 0
def f(a: A) -> A:
    a.n = 2  # E: frozen
    return a.replace(n=1)
""",
    "flax_aliases": "# only: flax"
    + """
import flax
import flax.struct as st
from flax.struct import dataclass as dc, field
from functools import partial
state = struct.dataclass
keyword = partial(struct.dataclass, kw_only=True)
@flax.struct.dataclass
class A:
    x: int
@st.dataclass
class B:
    x: int
@dc
class C:
    x: jax.Array
    w: jax.Array = field(pytree_node=False)  # E: static-array
@state
class D:
    x: int
@keyword
class E:
    y: int = 0
    x: int
def f(a: A, b: B, c: C, d: D, e: E) -> None:
    a.x = 1  # E: frozen
    b.x = 1  # E: frozen
    c.x = c.w  # E: frozen
    d.x = 1  # E: frozen
    e.x = 1  # E: frozen
    a = a.replace(x=2)
    d = d.replace(x=2)
    e = e.replace(x=2)
    d.replace(y=2)  # E: unknown
    D(x=1)
    E(x=1)
    D(z=1)  # E: unknown
""",
    "register_call": "# only: jax"
    + """
@dataclasses.dataclass(frozen=True)
class A:
    x: jax.Array
    n: int
jax.tree_util.register_dataclass(A, ["x"], ["n"])
def f(a: A) -> None:
    a.x = a.x  # E: frozen
""",
    "register_partial": "# only: jax"
    + """
from functools import partial
@partial(jax.tree_util.register_dataclass, data_fields=["x"], meta_fields=["n", "bogus"])  # E: fields
@dataclasses.dataclass(frozen=True)
class A:
    x: jax.Array
    n: int
""",
    "register_missing": "# only: jax"
    + """
from functools import partial
@partial(jax.tree_util.register_dataclass, data_fields=["x"], meta_fields=[])  # E: fields
@dataclasses.dataclass
class A:
    x: jax.Array
    n: int
""",
    "register_array": "# only: jax"
    + """
from functools import partial
@partial(jax.tree_util.register_dataclass, data_fields=["x"], meta_fields=["n"])
@dataclasses.dataclass
class A:
    x: jax.Array
    n: jax.Array  # E: static-array
""",
    "register_ok": "# only: jax"
    + """
from functools import partial
@partial(jax.tree_util.register_dataclass, data_fields=["x"], meta_fields=["n"])
@dataclasses.dataclass
class A:
    x: jax.Array
    n: int
def f(a: A) -> A:
    a.n = 2
    return dataclasses.replace(a, n=3)
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class B:
    n: int
    m: int = dataclasses.field(default=0, metadata={"static": True})
def g(b: B, x: jax.Array) -> B:
    b = B(x)
    b = dataclasses.replace(b, n=x, m=1)
    b = dataclasses.replace(b, n="a")  # E: type
    return dataclasses.replace(b, m=x)  # E: type
""",
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
    "register_lists": ONE
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
    "register_unfrozen_ok": ONE
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
    "register_node_class_ok": ONE
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
}
