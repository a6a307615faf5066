"""What a generated class may say, framework by framework."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from jaxlint.pytrees.frameworks.equinox import NO_CONVERTER
from jaxlint.pytrees.frameworks.jax_register import HAS_TREE_STATIC, READS_FIELDS
from jaxlint.pytrees.frameworks.nnx import HAS_PYTREE
from tests.oracle.facts import is_declared
from tests.oracle.versions import here

#: pip installs it on Python 3.11 only.
HAS_SIMPLE_PYTREE = find_spec("simple_pytree") is not None

#: What every generated module starts with; names that the classes use are defined here.
HEADER = """
import dataclasses
from dataclasses import KW_ONLY, InitVar, dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar, Final, Generic, List, NamedTuple, Optional, Sequence, TypeVar, Union

import chex
import equinox as eqx
import jax
import jax.numpy as jnp
import jax_dataclasses as jdc
import jax_dataclasses
import numpy as np
from flax import nnx, struct
from flax.struct import PyTreeNode as Node
from flax.training.train_state import TrainState
from jax import tree_util as jtu
from jax.tree_util import register_dataclass
from penzai import pz

T = TypeVar("T")
S = jdc.Static
StaticInt = jdc.Static[int]
META = dict(static=True)
FLAX_META = {"pytree_node": False}
NOTED = []
struct_class = struct.dataclass
module_type = eqx.Module
chex_class = chex.dataclass
hidden = partial(struct.field, pytree_node=False)
fixed = partial(eqx.field, static=True)


def flax_static(**options):
    return struct.field(pytree_node=False, **options)


def jax_static(default=dataclasses.MISSING):
    return field(default=default, metadata={"static": True})


def node(cls):
    return struct.dataclass(cls)


def registered(cls):
    return jax.tree_util.register_dataclass(dataclasses.dataclass(frozen=True)(cls))


def frozen_chex(cls):
    return chex.dataclass(cls, frozen=True)


def kw_penzai(**options):
    def wrap(cls):
        return pz.pytree_dataclass(cls, kw_only=True, **options)

    return wrap


class Mixin:
    kernel = 3

    def described(self):
        return "mixin"


class NotedMixin:
    extra: float = 1.0

    def __init__(self, extra=2.0):
        self.extra = extra


@dataclass
class Record:
    theta: float = 1.0


@dataclass(frozen=True)
class FrozenRecord:
    theta: float = field(default=1.0, metadata={"static": True, "pytree_node": False})


@dataclass
class ArrayRecord:
    level: Optional[jax.Array] = None

"""
if HAS_SIMPLE_PYTREE:
    HEADER += "import simple_pytree as sp\n\nTree = sp.Pytree\n"

#: Other names of the same things.
ALIASES = {
    "struct.dataclass": "struct_class",
    "struct.PyTreeNode": "Node",
    "jax.tree_util.register_dataclass": "register_dataclass",
    "jax.tree_util.": "jtu.",
    "jdc.": "jax_dataclasses.",
    "sp.Pytree": "Tree",
    "eqx.Module": "module_type",
    "@chex.dataclass": "@chex_class",
}

#: Annotations that are as good for one framework as for another.
ANNOTATIONS = (
    "jax.Array",
    "jax.Array",
    "jnp.ndarray",
    "float",
    "int",
    "str",
    "Any",
    "Optional[jax.Array]",
    "jax.Array | None",
    "tuple[jax.Array, ...]",
    "List[int]",
    "Sequence[jax.Array]",
    "Annotated[int, 'unit']",
    "Record",
    "ArrayRecord",
)


def _there(*some: str) -> tuple[str, ...]:
    """Those of some texts that these versions know."""
    unknown = {"jax.tree.static": HAS_TREE_STATIC, "nnx.": HAS_PYTREE, "eqx.field(converter=None": NO_CONVERTER}
    gone = tuple(name for name, fact in unknown.items() if not is_declared(fact, here()))
    gone += () if HAS_SIMPLE_PYTREE else ("sp.",)
    return tuple(text for text in some if not text.startswith(gone))


#: Calls that declare a field, without the closing parenthesis.
FIELD_CALLS = _there(
    "struct.field(pytree_node=False",
    "struct.field(pytree_node=True",
    "struct.field(",
    "struct.field(False",
    "field(",
    "dataclasses.field(metadata=dict(static=True)",
    "field(metadata={'static': True}",
    "field(metadata={'static': False}",
    "field(metadata={'pytree_node': False}",
    "field(metadata=META",
    "field(metadata=FLAX_META",
    "field(metadata={'Static': True}",
    "jax.tree.static(",
    "jax.tree.static(metadata={'static': False}",
    "jdc.static_field(",
    "jdc.field(",
    "eqx.field(static=True",
    "eqx.field(static=False",
    "eqx.field(converter=None",
    "sp.static_field(",
    "sp.field(pytree_node=False",
    "sp.field(",
    "nnx.static(",
    "nnx.data(",
    "hidden(",
    "fixed(",
    "flax_static(",
    "jax_static(",
)


@dataclass(frozen=True)
class Spelling:
    """One way to declare a pytree class."""

    id: str
    #: Decorators, outermost first; `{options}` stands for the options in parentheses, if any, `{call}` for them
    #: in any case.
    decorators: tuple[str, ...] = ()
    base: str = ""
    options: tuple[str, ...] = ()
    class_keywords: tuple[str, ...] = ()
    own_calls: tuple[str, ...] = ("field(",)
    own_annotations: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ANNOTATIONS
    #: What stands before the classes, after the common header.
    preamble: str = ""
    #: How a custom `__init__` sets an attribute.
    assigns: bool = False
    #: "lists", "call" or "namedtuple": what `programs.py` has to do.
    style: str = ""
    custom_init: bool = True
    #: Whether values decide what is a leaf.
    by_value: bool = False

    def decorated(self, options: list[str]) -> list[str]:
        """The decorator lines with their options."""
        text = f"({', '.join(options)})" if options else ""
        call = text or "()"
        return [d.replace("{options}", text).replace("{call}", call) for d in self.decorators]


_FLAX_CALLS = ("struct.field(pytree_node=False", "struct.field(", "hidden(", "flax_static(")
_DATACLASS_OPTIONS = ("kw_only=True", "eq=False", "frozen=False", "unsafe_hash=True", "order=True", "init=False")
_JAX_CALLS = _there("field(metadata={'static': True}", "field(metadata=META", "jax.tree.static(", "jax_static(")
_JDC = ("jdc.Static[int]", "S[int]", "StaticInt", "Optional[jdc.Static[int]]", "Annotated[jdc.Static[int], 'u']")
_NNX_ANNOTATIONS = ("jax.Array", "jax.Array", "int", "float", "str", "np.ndarray", "Optional[jax.Array]")

#: What versions without some fact do not have at all.
_MISSING = {
    *(
        ()
        if is_declared(READS_FIELDS, here())
        else ("register", "register-frozen", "register-wrapper", "register-call")
    ),
    *(() if is_declared(HAS_PYTREE, here()) else ("nnx",)),
    *(() if HAS_SIMPLE_PYTREE else ("simple-pytree", "simple-pytree-mutable", "simple-pytree-plain")),
}

SPELLINGS = {
    spelling.id: spelling
    for spelling in (
        Spelling("flax-dataclass", ("@struct.dataclass{options}",), "", _DATACLASS_OPTIONS, own_calls=_FLAX_CALLS),
        Spelling("flax-wrapper", ("@node",), own_calls=_FLAX_CALLS),
        Spelling(
            "flax-node",
            (),
            "struct.PyTreeNode",
            (),
            ("kw_only=True", "frozen=False", "eq=False"),
            own_calls=_FLAX_CALLS,
        ),
        Spelling("flax-node-decorated", ("@struct.dataclass{options}",), "struct.PyTreeNode", ("kw_only=True",)),
        Spelling("train-state", (), "TrainState", own_calls=_FLAX_CALLS),
        Spelling(
            "register",
            ("@jax.tree_util.register_dataclass", "@dataclass{options}"),
            "",
            ("frozen=True", "kw_only=True", "eq=False", "unsafe_hash=True", "init=False"),
            own_calls=_JAX_CALLS,
            assigns=True,
        ),
        Spelling(
            "register-frozen",
            ("@jax.tree_util.register_dataclass", "@dataclasses.dataclass(frozen=True)"),
            own_calls=_JAX_CALLS,
        ),
        Spelling("register-wrapper", ("@registered",), own_calls=_JAX_CALLS),
        Spelling(
            "register-lists",
            ("@partial(jax.tree_util.register_dataclass{lists})", "@dataclass(frozen=True)"),
            own_calls=_JAX_CALLS,
            style="lists",
        ),
        Spelling("register-call", ("@dataclass{options}",), "", ("frozen=True",), assigns=True, style="call"),
        Spelling(
            "jax-dataclasses",
            ("@jdc.pytree_dataclass{options}",),
            "",
            ("kw_only=True", "eq=False", "frozen=True", "frozen=False"),
            own_calls=("jdc.field(", "jdc.static_field("),
            own_annotations=_JDC,
        ),
        Spelling(
            "chex",
            ("@chex.dataclass{options}",),
            "",
            ("frozen=True", "kw_only=True", "eq=False", "mappable_dataclass=False", "unsafe_hash=True"),
            assigns=True,
        ),
        Spelling("chex-frozen", ("@frozen_chex",)),
        Spelling(
            "equinox",
            (),
            "eqx.Module",
            (),
            ("strict=True", "kw_only=True"),
            own_calls=("eqx.field(static=True", "eqx.field(", "fixed("),
            assigns=True,
        ),
        Spelling(
            "simple-pytree",
            ("@sp.dataclass{options}",),
            "sp.Pytree",
            ("eq=False", "frozen=True", "unsafe_hash=True"),
            ("mutable=True",),
            own_calls=("sp.field(", "sp.static_field(", "sp.field(pytree_node=False"),
            assigns=True,
        ),
        Spelling(
            "simple-pytree-mutable", ("@dataclass",), "sp.Pytree", (), ("mutable=True", "mutable=True"), assigns=True
        ),
        Spelling("simple-pytree-plain", (), "sp.Pytree", (), ("mutable=True",), assigns=True),
        Spelling(
            "penzai",
            ("@pz.pytree_dataclass{options}",),
            "pz.Struct",
            ("kw_only=True", "eq=False", "has_implicitly_inherited_fields=True", "overwrite_parent_init=True"),
            own_calls=("field(metadata={'pytree_node': False}", "field(metadata=FLAX_META"),
            assigns=True,
        ),
        Spelling("penzai-wrapper", ("@kw_penzai{call}",), "pz.Struct", ("eq=True", "eq=False"), assigns=True),
        Spelling(
            "nnx",
            ("@nnx.dataclass{options}",),
            "nnx.Pytree",
            ("kw_only=True", "eq=False", "unsafe_hash=True"),
            own_calls=("nnx.data(", "nnx.static("),
            annotations=_NNX_ANNOTATIONS,
            assigns=True,
            by_value=True,
        ),
        Spelling(
            "mjx",
            (),
            "PyTreeNode",
            (),
            ("kw_only=True", "register_as_pytree=False"),
            preamble="from mujoco.mjx._src.dataclasses import PyTreeNode\n",
        ),
        Spelling("namedtuple", (), "NamedTuple", style="namedtuple", custom_init=False),
    )
    if spelling.id not in _MISSING
}
