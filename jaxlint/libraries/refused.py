"""Types whose values JAX refuses as leaves of a transformed argument (facts/semantics.md, 6.1; jax 0.10.2)."""

from __future__ import annotations

from collections.abc import Mapping

from jaxlint.libraries.linen import MODULE

FUNCTION = "a function"
#: What the values of a type are called in a message.
REFUSED_TYPES: Mapping[str, str] = {
    "builtins.str": "a str",
    "builtins.bytes": "bytes",
    "builtins.slice": "a slice",
    "builtins.range": "a range",
    "builtins.set": "a set",
    "builtins.frozenset": "a set",
    "typing.Set": "a set",
    "typing.FrozenSet": "a set",
    "typing.AbstractSet": "a set",
    "collections.abc.Set": "a set",
    "builtins.callable": FUNCTION,  # written by many who mean `Callable`
    "builtins.type": "a class",
    "typing.Type": "a class",
    "typing.Callable": FUNCTION,
    "collections.abc.Callable": FUNCTION,
    "typing.Iterator": "an iterator",
    "typing.Generator": "a generator",
    "collections.abc.Iterator": "an iterator",
    "collections.abc.Generator": "a generator",
    "types.FunctionType": FUNCTION,
    "functools.partial": "a partial",
    "optax.Schedule": FUNCTION,
    "optax.GradientTransformation": "an optimizer",
    "optax.GradientTransformationExtraArgs": "an optimizer",
    "numpy.dtype": "a dtype",
    "jax.numpy.dtype": "a dtype",
    "pathlib.Path": "a path",
    "pathlib.PurePath": "a path",
    "pathlib.PosixPath": "a path",
    "logging.Logger": "a logger",
    "jax.sharding.PartitionSpec": "a PartitionSpec",
    "jax.sharding.Mesh": "a mesh",
    "jax.sharding.NamedSharding": "a sharding",
    "jax.sharding.Sharding": "a sharding",
    MODULE: "a linen module",
    "datetime.datetime": "a datetime",
    "datetime.date": "a date",
    "datetime.timedelta": "a timedelta",
    "decimal.Decimal": "a Decimal",
    "fractions.Fraction": "a Fraction",
    "re.Pattern": "a pattern",
    "types.ModuleType": "a module",
}
