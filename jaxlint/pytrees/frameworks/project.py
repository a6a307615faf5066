"""What a decorator of a project's own makes of classes, as far as running it tells."""

from __future__ import annotations

from functools import lru_cache

from msgspec.structs import replace

from jaxlint.pytrees.framework import Framework, Unflatten
from jaxlint.pytrees.frameworks.jax_register import REGISTER_DATACLASS

#: How the framework of such a class is called.
PROJECT = "a decorator of the project"


@lru_cache(maxsize=256)
def project_framework(title: str, key: str, replace_method: str | None, unflatten: Unflatten) -> Framework:
    """What a decorator of this name makes of classes; `key` is the metadata that it looks at, if that is one.

    `replace_method` copies instances with changes.
    """
    static = key not in ("pytree_node", "is_leaf", "node", "leaf", "data")
    return replace(
        REGISTER_DATACLASS,
        id=PROJECT,
        title=title,
        decorators=frozenset(),
        static_metadata=(key, static) if key else None,
        field_functions={},
        static_marking=None,
        for_records=False,
        registered_by_hand=False,
        lists_fields=False,
        replace_method=replace_method,
        replace_overwrites=replace_method is not None,
        unflatten=unflatten,
        static_spelling=f"field(metadata=dict({key}={static}))" if key else "it from the static fields",
    )
