"""How each framework spells what the cases of the corpus say.

@class S              a pytree class (`@class S(Base)` with a base class)
    n: static int     a static field
    y: T = factory E  a field with a default factory
REPLACE(s, x=1)       a copy with changes
FIELD(default=E)      the function that declares a field; `STATIC` among its arguments marks it static
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec

_CLASS = re.compile(r"^(?P<indent>\s*)@class (?P<name>\w+)(?:\((?P<base>[\w\[\], .]+)\))?$")
_FIELD = re.compile(
    r"^(?P<indent>\s+)(?P<name>\w+): (?P<static>static )?(?P<type>.+?)"
    r"(?: = (?P<factory>factory )?(?P<default>.+?))?(?P<mark>\s+# .*)?$"
)
_REPLACE = re.compile(r"REPLACE\((?P<base>[\w.\[\]()]+)(?:, )?")


@dataclass(frozen=True)
class Spelling:
    """One framework."""

    id: str
    imports: str
    #: The lines before `class`, and the base class.
    decorators: tuple[str, ...] = ()
    base: str = ""
    #: The lines before a class that inherits fields, where they are others.
    inheriting: tuple[str, ...] = ()
    #: A static field: its annotation, and the arguments of the field function.
    static_type: str = "{type}"
    static: str = ""
    field: str = "dataclasses.field"
    replace: str = "{base}.replace("
    #: Whether instances have `replace`.
    has_replace: bool = True
    keyword_only: bool = False
    #: Whether a subclass repeats the base class of the framework.
    repeats_base: bool = False

    def expand(self, text: str) -> str:
        """The program of a case."""
        header = [
            "import dataclasses",
            "import jax",
            "import jax.numpy as jnp",
            "import numpy as np",
            "import typing as t",
        ]
        lines = [*header, *self.imports.splitlines()]
        for line in text.splitlines():
            lines += self._line(line)
        return "\n".join(lines) + "\n"

    def _line(self, line: str) -> list[str]:
        declared = _CLASS.match(line)
        if declared:
            bases = [declared["base"]] if declared["base"] else []
            if self.base and (not bases or self.repeats_base or "Generic" in bases[0]):
                bases.append(self.base)
            decorators = (self.decorators if self.base in (*bases, "") else self.inheriting) or self.decorators
            head = f"class {declared['name']}({', '.join(bases)}):" if bases else f"class {declared['name']}:"
            return [f"{declared['indent']}{text}" for text in (*decorators, head)]
        field = _FIELD.match(line)
        if field and (field["static"] or field["factory"]):
            return [self._field(field)]
        line = line.replace("FIELD(", f"{self.field}(").replace("STATIC)", f"{self.static})")
        return [_REPLACE.sub(lambda m: self.replace.format(base=m["base"]), line)]

    def _field(self, field: re.Match[str]) -> str:
        arguments = [self.static] if field["static"] and self.static else []
        if field["default"]:
            value = f"default_factory=lambda: {field['default']}" if field["factory"] else f"default={field['default']}"
            arguments.append(value)
        kind = self.static_type.format(type=field["type"]) if field["static"] else field["type"]
        value = f" = {self.field}({', '.join(arguments)})" if arguments else ""
        return f"{field['indent']}{field['name']}: {kind}{value}{field['mark'] or ''}"


FLAX = Spelling(
    "flax",
    "from flax import struct",
    decorators=("@struct.dataclass",),
    static="pytree_node=False",
    field="struct.field",
)
NODE = Spelling(
    "node", "from flax import struct", base="struct.PyTreeNode", static="pytree_node=False", field="struct.field"
)
CHEX = Spelling("chex", "import chex", decorators=("@chex.dataclass(frozen=True)",), keyword_only=True)
JDC = Spelling(
    "jdc",
    "import jax_dataclasses as jdc",
    decorators=("@jdc.pytree_dataclass",),
    static_type="jdc.Static[{type}]",
    replace="jdc.replace({base}, ",
    has_replace=False,
)
JAX = Spelling(
    "jax",
    "",
    decorators=("@jax.tree_util.register_dataclass", "@dataclasses.dataclass(frozen=True)"),
    static="metadata=dict(static=True)",
    replace="dataclasses.replace({base}, ",
    has_replace=False,
)
EQUINOX = Spelling(
    "equinox",
    "import equinox as eqx",
    base="eqx.Module",
    static="static=True",
    field="eqx.field",
    replace="dataclasses.replace({base}, ",
    has_replace=False,
)
PENZAI = Spelling(
    "penzai",
    "from penzai import pz",
    decorators=("@pz.pytree_dataclass",),
    inheriting=("@pz.pytree_dataclass(has_implicitly_inherited_fields=True)",),
    base="pz.Struct",
    static='metadata={"pytree_node": False}',
    replace="dataclasses.replace({base}, ",
    has_replace=False,
    repeats_base=False,
)
#: pip installs it on Python 3.11 only.
HAS_SIMPLE_PYTREE = find_spec("simple_pytree") is not None
SIMPLE = Spelling(
    "simple_pytree",
    "from simple_pytree import Pytree",
    decorators=("@dataclasses.dataclass",),
    base="Pytree",
    static='metadata={"pytree_node": False}',
)
MJX = Spelling("mjx", "from mujoco.mjx._src.dataclasses import PyTreeNode", base="PyTreeNode")

SPELLINGS = {
    s.id: s for s in (FLAX, NODE, CHEX, JDC, JAX, EQUINOX, PENZAI, SIMPLE, MJX) if s is not SIMPLE or HAS_SIMPLE_PYTREE
}
#: Frameworks whose fields can be marked static.
WITH_STATIC = frozenset({"flax", "node", "jdc", "jax", "equinox", "penzai", "simple_pytree"})
