"""The functions and methods of Python, numpy and jax that the plugin is asked about, by what they do."""

from __future__ import annotations

#: What is changed in place.
CONTAINERS = frozenset(
    {
        "builtins.list",
        "builtins.dict",
        "builtins.set",
        "collections.deque",
        "collections.OrderedDict",
        "collections.defaultdict",
        "numpy.ndarray",
        "typing.MutableMapping",
        "typing.MutableSequence",
        "typing.MutableSet",
    }
)
#: What `x.at[i]` is, for arrays of jax.
INDEXED = "jax._src.basearray._IndexUpdateRef"
#: Constructors that hash what they are given.
HASHERS = {
    "builtins.set": "a member of a set needs a hash",
    "builtins.frozenset": "a member of a set needs a hash",
    "builtins.dict": "a key of a dict needs a hash",
}
#: Functions that are given the name of an attribute.
SET_BY_NAME = {"builtins.setattr": "setattr", "builtins.delattr": "delete"}
#: Methods that change the number of items.
RESIZING = frozenset({"append", "extend", "insert", "remove", "pop", "clear"})
#: The operators of the methods that compare.
COMPARING = {"__eq__": "==", "__ne__": "!="}
#: Methods that hash what they are given: how they change the container, and how to say it.
HASHING = {
    **{
        f"{owner}.{method}": (how, "a key of a dict needs a hash")
        for owner in ("builtins.dict", "collections.defaultdict", "collections.OrderedDict")
        for method, how in (
            ("__setitem__", "item"),
            ("__getitem__", "read"),
            ("get", "get"),
            ("setdefault", "setdefault"),
            ("pop", "pop"),
        )
    },
    "builtins.set.add": ("add", "a member of a set needs a hash"),
    "builtins.set.discard": ("discard", "a member of a set needs a hash"),
    "builtins.set.remove": ("remove", "a member of a set needs a hash"),
}
#: Methods that compare what they are given with what is there. What is said of `in` mypy drops.
SEARCHING = frozenset(
    f"{owner}.{name}"
    for owner in ("builtins.list", "builtins.tuple", "typing.Sequence", "collections.deque")
    for name in ("index", "count", "remove")
)
