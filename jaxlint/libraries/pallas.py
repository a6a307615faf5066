"""References (`jax.Ref`): what a kernel of pallas is given, and what `jax.new_ref` makes (jax 0.10.2).

`ref[...] = v` and `ref.at[i].set(v)` write in place, and a reference is annotated as `jax.Array` more often than not.
So what only an annotation calls an array may be one where a module deals in references.
"""

from __future__ import annotations

import re

#: Modules that whoever imports them has references of.
MODULES = ("jax.experimental.pallas", "jax.experimental.mosaic", "jax._src.pallas", "jax._src.state")
#: Modules of them that have kernels to be called with arrays: whoever imports these writes none.
_READY = "jax.experimental.pallas.ops"
#: How pallas and its backends are called where a module of the project hands them on.
ALIASES = frozenset({"pallas", "pl", "plgpu", "plmgpu", "plsc", "pltpu", "pltriton", "plm"})
#: Functions that make references, by the last part of their names: `jax.new_ref`, `jax.experimental.mutable_array`.
MAKERS = frozenset({"array_ref", "empty_ref", "empty_ref_like", "mutable_array", "new_ref"})
#: The types of references.
REFERENCES = frozenset(
    {
        "jax.ArrayRef",
        "jax.Ref",
        "jax.core.MutableArray",
        "jax.experimental.MutableArray",
        "jax.experimental.pallas.MemoryRef",
        "jax.ref.Ref",
    }
)

#: What a module may import by name from one that has it from jax.
SHARED_NAMES = ALIASES | MAKERS | {name.rpartition(".")[2] for name in REFERENCES}
#: How variables are called that hold references, as pallas' own documentation does.
_NAME = re.compile(r"(?:^|_)(?:refs?|vmem|smem|hbm|gmem|tmem|scratch)(?:_|\d*$)")


def is_named_as_reference(name: str) -> bool:
    """Whether a variable or an attribute is called like one that holds a reference."""
    return _NAME.search(name) is not None


def imports_references(name: str) -> bool:
    """Whether what is imported, by its dotted name, tells that a module deals in references."""
    if name == _READY or name.startswith(f"{_READY}."):
        return False
    return name.startswith(MODULES) or name.rpartition(".")[2] in SHARED_NAMES
