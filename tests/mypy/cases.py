"""The cases: each is a program for every framework of which its header does not say otherwise.

A line that ends in `# E: word` must be reported for the reason that the word stands for (`REASONS`); any other line
must not be. A header says `# only: a b` or `# not: a b` (frameworks, or the words of `GROUPS`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.mypy.frameworks import SPELLINGS, WITH_STATIC
from tests.mypy.method_cases import METHOD_CASES
from tests.mypy.more_cases import MORE_CASES

#: What a report must match, by the word of the mark.
REASONS = {
    "frozen": r"\[jaxlint-(frozen-assignment|assignment-in-init)\]|is read-only",
    "unknown": r"\[call-arg\]",
    "unknown-to-mypy": r"\[call-arg\]|\[jaxlint-replace-unknown-field\]",
    "no-replace": r"\[jaxlint-no-replace-method\]",
    "positional": r"\[call-arg\]|\[misc\]|\[jaxlint-field-order\]",
    "type": r"\[arg-type\]",
    "assignment": r"\[assignment\]",
    "discard": r"\[jaxlint-discarded-update\]",
    "static-array": r"\[jaxlint-static-array-field\]",
    "counter": r"\[jaxlint-static-counter\]",
    "mutable": r"\[jaxlint-mutable-default\]",
    "mutated": r"\[jaxlint-mutated-static-value\]",
    "static-mutable": r"\[jaxlint-mutable-static-field\]",
    "equality": r"\[jaxlint-array-equality\]",
    "unhashable": r"\[jaxlint-unhashable-instance\]",
    "bypass": r"\[jaxlint-frozen-bypass\]",
    "grows": r"\[jaxlint-mutated-leaf\]",
    "lost": r"\[jaxlint-lost-mutation\]",
    "not-in-init": r"\[jaxlint-replace-not-in-init\]",
    "repeated": r"\[jaxlint-repeated-init\]",
    "undecorated": r"\[jaxlint-undecorated-subclass\]",
    "fields": r"\[jaxlint-register-dataclass-fields\]",
    "init-false": r"\[jaxlint-init-false-field\]",
    "own-init": r"\[jaxlint-custom-init\]",
    "clash": r"\[jaxlint-field-name-clash\]",
    "marker": r"\[jaxlint-foreign-static-marker\]",
    "leaf": r"\[jaxlint-non-array-data-field\]",
    "attribute": r"\[attr-defined\]",
    "abstract": r"\[abstract\]",
    "splat": r"\[jaxlint-replace-unknown-field\]",
    "fields-later": r"\[jaxlint-register-dataclass-fields\]",
    "item-type": r"\[(list|dict)-item\]",
    "tree-at": r"\[jaxlint-tree-at\]",
    "item": r"\[jaxlint-item-assignment\]|\[index\]",
}
GROUPS = {
    "static": WITH_STATIC,
    "replace": frozenset(s.id for s in SPELLINGS.values() if s.has_replace),
    "no-replace": frozenset(s.id for s in SPELLINGS.values() if not s.has_replace),
    "ordered": frozenset(s.id for s in SPELLINGS.values() if not s.keyword_only),
    # the others inherit from a class that mypy cannot see, and so may be anything
    "seen": frozenset({"flax", "node", "chex", "jdc", "jax", "equinox"}),
    "decorated": frozenset({"flax", "chex", "jdc", "jax", "penzai"}),
}
_HEADER = re.compile(r"^# (only|not): (.*)$", re.MULTILINE)
_MARK = re.compile(r"# E: (.+)$")

_FROZEN = """
@class S
    x: jax.Array
    n: int = 0
"""

CASES: dict[str, str] = {
    # -- frozen ------------------------------------------------------------------------------
    "frozen_parameter": _FROZEN
    + """
def f(s: S) -> None:
    s.x = s.x * 2  # E: frozen
""",
    "frozen_constructed": _FROZEN
    + """
def f() -> None:
    s = S(x=jnp.zeros(3), n=1)
    s.n = 2  # E: frozen
""",
    "frozen_returned": _FROZEN
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
    "frozen_type_variable": _FROZEN
    + """
T = t.TypeVar("T", bound=S)
def f(s: T) -> T:
    s.n = 2  # E: frozen
    return s
""",
    "frozen_optional": _FROZEN
    + """
def f(s: t.Optional[S]) -> None:
    if s is not None:
        s.n = 2  # E: frozen
""",
    "frozen_augmented": _FROZEN
    + """
def f(s: S) -> None:
    s.n += 1  # E: frozen
    s.x += 1  # E: frozen
""",
    "frozen_delete": "# not: equinox simple_pytree"
    + _FROZEN
    + """
def f(s: S) -> None:
    del s.n  # E: frozen
""",
    "frozen_unpacked": _FROZEN
    + """
def f(s: S) -> None:
    s.n, other = 1, 2  # E: frozen
""",
    "frozen_loop": _FROZEN
    + """
def f(s: S) -> None:
    for s.n in range(3):  # E: frozen
        pass
""",
    "frozen_with": _FROZEN
    + """
def f(s: S, c: t.ContextManager[int]) -> None:
    with c as s.n:  # E: frozen
        pass
""",
    "frozen_setattr": _FROZEN
    + """
def f(s: S) -> None:
    setattr(s, "n", 1)  # E: frozen
""",
    "frozen_named_like_a_field": _FROZEN
    + """
n = S(x=jnp.zeros(3))
n.n = 2  # E: frozen
n.n += 1  # E: frozen
for n.n in range(3):  # E: frozen
    pass
""",
    "frozen_element": _FROZEN
    + """
def f(many: list[S], named: dict[str, S]) -> None:
    many[0].n = 1  # E: frozen
    named["a"].n = 1  # E: frozen
    for one in many:
        one.n = 2  # E: frozen
    for _, one in named.items():
        one.n = 2  # E: frozen
""",
    "frozen_isinstance": _FROZEN
    + """
def f(s: object) -> None:
    if isinstance(s, S):
        s.n = 2  # E: frozen
""",
    "frozen_inherited": _FROZEN
    + """
@class D(S)
    m: int = 0
def f(s: D) -> None:
    s.n = 2  # E: frozen
    s.m = 2  # E: frozen
""",
    "frozen_nested": _FROZEN
    + """
@class O
    inner: S
def f(o: O) -> None:
    o.inner.n = 2  # E: frozen
""",
    "frozen_alias": _FROZEN
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
    "frozen_in_lambda_argument": _FROZEN
    + """
def f(s: S) -> None:
    def inner() -> None:
        s.n = 2  # E: frozen
    inner()
""",
    "frozen_union": _FROZEN
    + """
@class R
    n: int = 0
def f(s: t.Union[S, R]) -> None:
    s.n = 2  # E: frozen
""",
    "frozen_async": _FROZEN
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
    + _FROZEN
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
    "frozen_unpack_read_ok": _FROZEN
    + """
def f(s: S) -> int:
    n = s.n
    n += 1
    values = [s.n for _ in range(3)]
    values[0] = s.n
    return n
""",
    # -- replace ------------------------------------------------------------------------------
    "replace_ok": _FROZEN
    + """
def f(s: S) -> S:
    s = REPLACE(s, x=s.x + 1)
    s = REPLACE(s, x=s.x, n=2)
    return REPLACE(s, n=s.n)
""",
    "replace_chain_ok": "# only: replace"
    + _FROZEN
    + """
def f(s: S) -> S:
    return s.replace(n=1).replace(x=jnp.zeros(3))
""",
    "replace_kwargs_ok": "# only: replace"
    + _FROZEN
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
    "replace_unknown": _FROZEN
    + """
def f(s: S) -> S:
    return REPLACE(s, bogus=1)  # E: unknown
""",
    "replace_wrong_type": _FROZEN
    + """
def f(s: S) -> S:
    return REPLACE(s, n="one")  # E: type
""",
    "replace_wrong_container": "# only: replace"
    + _FROZEN
    + """
def f(s: S) -> S:
    return s.replace(x={"a": 1})  # E: type
""",
    "replace_positional": "# only: replace"
    + _FROZEN
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
    "replace_returned": _FROZEN
    + """
def make() -> S:
    return S(x=jnp.zeros(3), n=1)
def f() -> S:
    return REPLACE(make(), bogus=1)  # E: unknown
""",
    "replace_optional": _FROZEN
    + """
def f(s: t.Optional[S]) -> t.Optional[S]:
    return REPLACE(s, bogus=1) if s else None  # E: unknown
""",
    "replace_inherited": _FROZEN
    + """
@class D(S)
    m: int = 0
def f(s: D) -> D:
    s = REPLACE(s, m=1, n=2)
    return REPLACE(s, bogus=1)  # E: unknown
""",
    "replace_element": _FROZEN
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
    "init_false": "# only: flax node jax"
    + """
@class S
    x: jax.Array
    n: int = dataclasses.field(default=0, init=False)  # E: init-false
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
    + _FROZEN
    + """
T = t.TypeVar("T", bound=S)
def f(s: T) -> T:
    return s.replace(n=1)
""",
    "replace_union_ok": "# only: replace"
    + _FROZEN
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
    + _FROZEN
    + """
def f(s: S) -> None:
    r = s.replace(n=1)
    r.n = 2  # E: frozen
    a: int = s.replace(n=1)  # E: assignment
    print(a)
""",
    "replace_missing_method": "# only: jdc jax equinox"
    + _FROZEN
    + """
def f(s: S) -> None:
    s.replace(n=1)  # E: attribute
""",
    # -- discarded updates ----------------------------------------------------------------------
    "discard_replace": _FROZEN
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
    "discard_branch": _FROZEN
    + """
def f(s: S, yes: bool) -> S:
    if yes:
        REPLACE(s, n=1)  # E: discard
    else:
        for _ in range(3):
            REPLACE(s, n=2)  # E: discard
    return s
""",
    "discard_at": _FROZEN
    + """
def f(s: S) -> S:
    s.x.at[0].set(1.0)  # E: discard
    y = s.x
    y.at[0].add(1.0)  # E: discard
    return s
""",
    "discard_taken_ok": _FROZEN
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
    "discard_own_update": _FROZEN.rstrip()
    + """
    def moved(self) -> "S":
        return REPLACE(self, n=1)
def f(s: S) -> S:
    s.moved()  # E: discard
    return s.moved()
""",
    # -- static fields --------------------------------------------------------------------------
    "static_array": "# only: static"
    + """
@class S
    x: jax.Array
    w: static jax.Array  # E: static-array
""",
    "static_numpy": "# only: static"
    + """
@class S
    x: jax.Array
    w: static np.ndarray  # E: static-array
@jax.jit
def f(s: S) -> jax.Array:
    return s.x
""",
    "static_optional_array": "# only: static"
    + """
@class S
    x: jax.Array
    w: static t.Optional[jax.Array]  # E: static-array
    v: static jax.Array | None  # E: static-array
""",
    "static_tuple_of_arrays": "# only: static"
    + """
@class S
    x: jax.Array
    w: static tuple[jax.Array, ...]  # E: static-array
    v: static t.Sequence[jax.Array]  # E: static-array
    u: static dict[str, jax.Array]  # E: static-array
""",
    "static_alias": "# only: static"
    + """
Weights = jax.Array
Many = t.Union[jax.Array, np.ndarray]
@class S
    x: jax.Array
    w: static Weights  # E: static-array
    v: static Many  # E: static-array
""",
    "static_generic_alias": "# only: static"
    + """
T = t.TypeVar("T")
Pair = tuple[T, T]
@class S
    x: jax.Array
    w: static Pair[jax.Array]  # E: static-array
    v: static Pair[int]
""",
    "static_jaxtyping": "# only: static"
    + """
from jaxtyping import Array, Float
@class S
    x: jax.Array
    w: static Float[Array, "n 3"]  # E: static-array
""",
    "static_pytree": "# only: static"
    + """
@class I
    y: jax.Array
@class S
    x: jax.Array
    w: static I  # E: static-array
""",
    "static_inherited": "# only: static"
    + """
@class B
    x: jax.Array
    w: static jax.Array  # E: static-array
@class S(B)
    z: jax.Array
""",
    "static_given_array": "# only: static"
    + """
@class S
    x: jax.Array
    w: static t.Any
def make(n: int) -> jax.Array:
    return jnp.zeros(n)
s = S(x=jnp.zeros(3), w=make(3))  # E: static-array
""",
    "static_replaced_with_array": "# only: static"
    + """
@class S
    x: jax.Array
    w: static t.Any = None
def f(s: S, y: jax.Array) -> S:
    return REPLACE(s, w=y)  # E: static-array
""",
    "static_counter": "# only: static"
    + """
@class S
    x: jax.Array
    ticks: static int = 0
def f(s: S) -> S:
    return REPLACE(s, ticks=s.ticks + 1)  # E: counter
""",
    "static_mutated": "# only: static"
    + """
@class S
    x: jax.Array
    log: static list[int]
def f(s: S) -> None:
    s.log.append(1)  # E: mutated
    s.log[0] = 2  # E: mutated
""",
    "static_ok": "# only: static"
    + """
import enum
class Mode(enum.Enum):
    A = 1
@class S
    x: jax.Array
    a: static int
    b: static str
    c: static t.Callable[[jax.Array], jax.Array]
    d: static tuple[int, ...]
    e: static Mode
    f: static t.Optional[float]
    g: static t.Literal["a", "b"]
    h: static frozenset[str]
    i: static type
def g(s: S) -> S:
    return REPLACE(s, a=3, b="x", d=(1, 2))
""",
    "static_read_ok": "# only: static"
    + """
@class S
    x: jax.Array
    n: static int
def f(s: S) -> jax.Array:
    total = 0
    for i in range(s.n):
        total += i
    return s.x * total + s.n
""",
    # -- defaults -------------------------------------------------------------------------------
    "default_list": """
@class S
    x: jax.Array
    y: list[int] = []  # E: mutable
""",
    "default_dict": """
@class S
    x: jax.Array
    y: dict[str, int] = {}  # E: mutable
    z: set[int] = set()  # E: mutable
""",
    "default_numpy": """
@class S
    x: jax.Array
    y: np.ndarray = np.zeros(3)  # E: mutable
""",
    "default_jax": """
@class S
    x: jax.Array
    y: jax.Array = jnp.zeros(3)  # E: mutable
""",
    "default_function": """
def make(n: int) -> jax.Array:
    return jnp.zeros(n)
@class S
    x: jax.Array
    y: jax.Array = make(3)  # E: mutable
""",
    "default_library": """
from jax.scipy.stats import norm
@class S
    x: jax.Array
    y: jax.Array = norm.pdf(3.0)  # E: mutable
""",
    "default_ok": """
@class S
    x: jax.Array
    y: jax.Array = factory jnp.zeros(3)
    z: list[int] = factory []
    n: int = 0
    p: tuple[int, ...] = ()
    q: t.Optional[jax.Array] = None
""",
    # -- construction ---------------------------------------------------------------------------
    "construct_ok": _FROZEN
    + """
s = S(x=jnp.zeros(3))
u = S(x=jnp.zeros(3), n=1)
""",
    "construct_positional_ok": "# only: ordered"
    + _FROZEN
    + """
s = S(jnp.zeros(3), 1)
""",
    "construct_positional_chex": "# only: chex"
    + _FROZEN
    + """
s = S(jnp.zeros(3))  # E: positional
""",
    "construct_unknown": _FROZEN
    + """
s = S(x=jnp.zeros(3), bogus=1)  # E: unknown
""",
    "construct_missing": _FROZEN
    + """
s = S(n=1)  # E: unknown
""",
    "construct_wrong_type": _FROZEN
    + """
s = S(x=jnp.zeros(3), n="a")  # E: type
""",
    "construct_inherited": _FROZEN
    + """
@class D(S)
    m: int = 0
d = D(x=jnp.zeros(3), m=1)
e = D(x=jnp.zeros(3), k=1)  # E: unknown
""",
    "construct_order": "# only: ordered chex"
    + """
@class S
    n: int = 0
    x: jax.Array  # E: positional
""",
    "construct_factory_ok": """
@class S
    x: jax.Array = factory jnp.zeros(3)
    n: int = 0
s = S()
""",
    "attribute_unknown": "# only: seen"
    + _FROZEN
    + """
def f(s: S) -> object:
    return s.bogus  # E: attribute
""",
    # -- declarations ---------------------------------------------------------------------------
    "undecorated_subclass": "# only: decorated"
    + _FROZEN
    + """
class D(S):  # E: undecorated
    y: jax.Array
""",
    "decorated_subclass_ok": _FROZEN
    + """
@class D(S)
    y: t.Optional[jax.Array] = None
""",
    "foreign_marker": "# only: flax node jax penzai"
    + """
import equinox
import jax_dataclasses
@class S
    x: jax.Array
    n: jax_dataclasses.Static[int]  # E: marker
""",
    "leaf_string": "# not: mjx"
    + """
@class S
    name: str  # E: leaf
    x: jax.Array
@jax.jit
def f(s: S) -> jax.Array:
    return s.x
""",
    # -- one framework --------------------------------------------------------------------------
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
    "chex_options": "# only: chex"
    + """
@chex.dataclass
class A:
    x: jax.Array
    n: int = 0
@chex.dataclass(mappable_dataclass=False, frozen=True)
class B:
    x: jax.Array
    n: int = 0
a = A(x=jnp.zeros(3))
b = B(jnp.zeros(3), n=2)
b.n = 3  # E: frozen
a.n = 3
b.replace(n=b.n, m=2)  # E: unknown
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
    "jdc_copy_and_mutate": "# only: jdc"
    + _FROZEN
    + """
def f(s: S) -> S:
    with jdc.copy_and_mutate(s) as c:
        c.n = 1
        c.n += 1
        s.n = 2  # E: frozen
    c.n = 3  # E: frozen
    return c
""",
    "jdc_jit_ok": "# only: jdc"
    + """
@class S
    x: jax.Array
    n: static int
@jdc.jit
def f(s: S, k: jdc.Static[int]) -> jax.Array:
    return s.x * s.n * k
def g(s: S) -> jax.Array:
    return f(s, 3)
""",
    "equinox_init_ok": "# only: equinox"
    + """
class M(eqx.Module):
    w: jax.Array
    n: int
    def __init__(self, n: int) -> None:
        self.w = jnp.zeros(n)
        self._set(n)
    def _set(self, n: int) -> None:
        self.n = n
def f(m: M) -> None:
    m.n = 2  # E: frozen
""",
    "equinox_tree_at": "# only: equinox"
    + _FROZEN
    + """
def f(s: S) -> S:
    eqx.tree_at(lambda m: m.n, s, 3)  # E: discard
    return eqx.tree_at(lambda m: m.n, s, 3)
""",
    "equinox_layers": "# only: equinox"
    + """
class M(eqx.Module):
    a: eqx.nn.Linear
def f(m: M) -> None:
    m.a = m.a  # E: frozen
    m.a.weight = m.a.weight  # E: frozen
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
    "train_state": "# only: node"
    + """
from flax.training import train_state
class TS(train_state.TrainState):
    key: jax.Array
    stats: t.Any = None
def f(tx: t.Any) -> TS:
    s = TS.create(apply_fn=print, params={}, tx=tx, key=jnp.zeros(1))
    s.step = 1  # E: frozen
    s = s.apply_gradients(grads={})
    s = s.apply_gradients(grads={}, stats=1, key=s.key)
    s = s.replace(step=s.step + 1, params={"a": 1})
    s.apply_gradients(grads={})  # E: discard
    s.apply_gradients(grads={}, bogus=1)  # E: unknown
    s.apply_gradients({})  # E: positional
    s.replace(bogus=1)  # E: unknown
    TS.create(apply_fn=print, params={}, tx=tx)  # E: unknown
    TS.create(apply_fn=print, params={}, key=jnp.zeros(1))  # E: unknown
    TS.create(apply_fn=print, params={}, tx=tx, key=jnp.zeros(1), bogus=1)  # E: unknown
    TS.create(print, {}, tx)  # E: positional
    n: int = s  # E: assignment
    print(n)
    return s
""",
    "train_state_plain": "# only: node"
    + """
from flax.training.train_state import TrainState
def f(tx: t.Any) -> TrainState:
    s = TrainState.create(apply_fn=print, params={}, tx=tx)
    s.params = {}  # E: frozen
    TrainState.create(apply_fn=print, params={}, tx=tx, bogus=1)  # E: unknown
    s.replace(bogus=2)  # E: unknown
    return s.apply_gradients(grads={})
""",
    "train_state_override_ok": "# only: node"
    + """
from flax.training.train_state import TrainState
class TS(TrainState):
    extra: int = 0
    @classmethod
    def create(cls, *, extra: int, other: int) -> "TS":  # type: ignore[override]
        return super().create(apply_fn=print, params={}, tx=None, extra=extra)
    def apply_gradients(self, *, grads: t.Any, loss: float) -> "TS":  # type: ignore[override]
        return super().apply_gradients(grads=grads)
s = TS.create(extra=1, other=2).apply_gradients(grads={}, loss=1.0)
""",
    "named_tuple": "# only: flax"
    + """
class P(t.NamedTuple):
    x: jax.Array
    n: int = 0
def f(p: P) -> P:
    p.n = 2  # E: frozen
    p._replace(n=3)  # E: discard
    p._replace(bogus=3)  # E: unknown
    return p._replace(n=3)
def g(p: P, x: jax.Array) -> P:
    p = P(x, x)
    p = p._replace(n="a")  # E: type
    p = p._replace(x=0.5)  # E: type
    return p._replace(n=x, x=x)
""",
    "suppressed_ok": "# only: flax"
    + """
@class S
    x: jax.Array
    n: int = 0
def f(s: S) -> None:
    s.n = 1  # type: ignore[jaxlint]
    s.n = 1  # type: ignore[jaxlint-frozen-assignment]
    s.n = 1  # type: ignore
    s.n = 1  # noqa: JAX401
    s.n = 1  # jaxlint: ignore[frozen-assignment]
""",
}


@dataclass(frozen=True)
class Program:
    """A case in the spelling of one framework."""

    name: str
    framework: str
    text: str

    @property
    def marks(self) -> dict[int, str]:
        """The words of the marked lines."""
        found = ((row, _MARK.search(line)) for row, line in enumerate(self.text.splitlines(), start=1))
        return {row: match[1].strip() for row, match in found if match}


def programs() -> Iterator[Program]:
    """All programs."""
    for case, text in {**CASES, **MORE_CASES, **METHOD_CASES}.items():
        for framework in _frameworks(text):
            yield Program(f"{case}__{framework}", framework, SPELLINGS[framework].expand(_HEADER.sub("", text)))


def _frameworks(text: str) -> list[str]:
    wanted = set(SPELLINGS)
    for kind, words in _HEADER.findall(text):
        named = {name for word in words.split() for name in GROUPS.get(word, {word})}
        wanted = wanted & named if kind == "only" else wanted - named
    return [name for name in SPELLINGS if name in wanted]
