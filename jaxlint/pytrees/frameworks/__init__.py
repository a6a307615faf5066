"""The frameworks that make pytrees out of classes: one declaration each, one small file each."""

from jaxlint.pytrees.framework import FieldFunction, Framework
from jaxlint.pytrees.frameworks.chex import CHEX
from jaxlint.pytrees.frameworks.equinox import EQUINOX
from jaxlint.pytrees.frameworks.flax_struct import FLAX_DATACLASS, FLAX_NODE
from jaxlint.pytrees.frameworks.jax_dataclasses import JAX_DATACLASSES
from jaxlint.pytrees.frameworks.jax_register import PYTREE_NODE_CLASS, REGISTER_DATACLASS, REGISTER_STATIC
from jaxlint.pytrees.frameworks.mjx import MJX
from jaxlint.pytrees.frameworks.namedtuple import NAMED_TUPLE
from jaxlint.pytrees.frameworks.nnx import NNX
from jaxlint.pytrees.frameworks.penzai import PENZAI
from jaxlint.pytrees.frameworks.plain import DATACLASS, PLAIN_CLASS
from jaxlint.pytrees.frameworks.simple_pytree import SIMPLE_PYTREE
from jaxlint.pytrees.frameworks.tjax import TJAX
from jaxlint.pytrees.frameworks.treex import TREEX
from jaxlint.pytrees.versions import Fact

FRAMEWORKS: tuple[Framework, ...] = (
    FLAX_DATACLASS,
    FLAX_NODE,
    REGISTER_DATACLASS,
    PYTREE_NODE_CLASS,
    REGISTER_STATIC,
    JAX_DATACLASSES,
    CHEX,
    TJAX,
    EQUINOX,
    SIMPLE_PYTREE,
    PENZAI,
    NNX,
    MJX,
    TREEX,
    NAMED_TUPLE,
    DATACLASS,
)

#: Which framework a class decorator (canonical dotted name) belongs to.
BY_DECORATOR: dict[str, Framework] = {name: f for f in FRAMEWORKS for name in f.decorators}
#: Which framework a base class belongs to.
BY_BASE: dict[str, Framework] = {name: f for f in FRAMEWORKS for name in f.bases}
#: The field functions of all frameworks.
FIELD_FUNCTIONS: dict[str, FieldFunction] = {n: spec for f in FRAMEWORKS for n, spec in f.field_functions.items()}
#: Base classes of theirs that neither add fields nor change assignment.
NEUTRAL_BASES = frozenset(name for f in FRAMEWORKS for name in f.neutral_bases)
#: Other spellings of all these names.
ALIASES: dict[str, str] = {alias: name for f in FRAMEWORKS for alias, name in f.aliases.items()}

__all__ = [
    "ALIASES",
    "BY_BASE",
    "BY_DECORATOR",
    "CHEX",
    "DATACLASS",
    "EQUINOX",
    "FIELD_FUNCTIONS",
    "FLAX_DATACLASS",
    "FLAX_NODE",
    "FRAMEWORKS",
    "JAX_DATACLASSES",
    "MJX",
    "NAMED_TUPLE",
    "NEUTRAL_BASES",
    "NNX",
    "PENZAI",
    "PLAIN_CLASS",
    "PYTREE_NODE_CLASS",
    "REGISTER_DATACLASS",
    "REGISTER_STATIC",
    "SIMPLE_PYTREE",
    "TJAX",
    "TREEX",
]
#: What holds for some versions only, by name.
FACTS: dict[str, Fact] = {fact.name: fact for f in FRAMEWORKS for fact in f.facts}
