"""Bases and decorators that neither add fields nor change assignment."""

#: Bases and decorators from these packages neither add fields nor change assignment.
NEUTRAL_PACKAGES = frozenset({"builtins", "typing", "abc", "collections", "functools", "enum", "types", "contextlib"})
NEUTRAL_DECORATORS = frozenset(
    {
        "jaxtyping.jaxtyped",
        "beartype.beartype",
        "typeguard.typechecked",
        "flax.serialization.register_serialization_state",
    }
)
