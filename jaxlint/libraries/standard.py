"""What the classes of the standard library give to those that extend them, and which functions never answer twice."""

from __future__ import annotations

import importlib
from functools import lru_cache
from types import FunctionType

#: Modules whose classes are looked at; nothing is known of those of others.
_MODULES = frozenset({"abc", "builtins", "collections", "collections.abc", "contextlib", "enum", "typing"})
#: Classes that only tell what others are like, and whose constructors make way for those of others.
_NEUTRAL = frozenset({"builtins.object", "typing.Generic", "typing.Protocol"})
#: What tells the time.
CLOCKS = frozenset(
    """time.time time.time_ns time.perf_counter time.perf_counter_ns time.monotonic time.monotonic_ns time.process_time
    timeit.default_timer""".split()
)
#: Functions that return another value with each call.
NEVER_TWICE = CLOCKS | frozenset(
    """uuid.uuid1 uuid.uuid4 datetime.datetime.now datetime.datetime.utcnow builtins.object random.random
    secrets.token_hex""".split()
)
#: Functions that make a float of numbers.
FLOATS_OF_FLOATS = frozenset(
    f"math.{name}"
    for name in """acos acosh asin asinh atan atan2 atanh cbrt cos cosh degrees exp exp2 expm1 fabs fmod hypot ldexp log
    log10 log1p log2 pow radians sin sinh sqrt tan tanh""".split()
)
#: Modules, of the standard library and beside it, with a class whose `replace` takes keywords and makes a copy.
WITH_REPLACE = frozenset({"datetime", "inspect", "pendulum"})
#: Methods that put what they are given into a list, a deque or a set.
PUTTING = frozenset({"append", "appendleft", "insert", "add", "extend", "extendleft"})

#: Methods of loggers and of modules that tell somebody something, and give nothing back.
REPORTING = frozenset("print debug info warning warn error exception critical".split())
#: The last names of functions that have jax call a function on the host, each time that what is compiled runs.
HOST_CALLS = frozenset({"callback", "io_callback", "pure_callback"})


def standard_class(name: str) -> type | None:
    """The class of the standard library with a dotted name; of `typing.Dict` it is `dict`."""
    module, _, last = name.rpartition(".")
    found = getattr(importlib.import_module(module), last, None) if module in _MODULES else None
    origin = getattr(found, "__origin__", found)
    return origin if isinstance(origin, type) else None


def may_give(name: str, *attrs: str) -> bool:
    """Whether a class of that dotted name may give one of some attributes to those that extend it."""
    found = standard_class(name)
    if found is None:
        return True
    ancestors = found.__mro__[:-1]
    return any(attr in vars(ancestor) or attr in _set_by(ancestor) for ancestor in ancestors for attr in attrs)


@lru_cache(maxsize=64)
def _set_by(cls: type) -> frozenset[str]:
    """What methods of a class that is written in Python name, and may so give to instances: `data` of a `UserDict`."""
    named = (m.__code__.co_names for m in vars(cls).values() if isinstance(m, FunctionType))
    return frozenset(name for names in named for name in names if not name.startswith("__"))


def may_construct(name: str) -> bool:
    """Whether a class of that dotted name may have a constructor of its own."""
    return name not in _NEUTRAL and may_give(name, "__init__", "__new__")
