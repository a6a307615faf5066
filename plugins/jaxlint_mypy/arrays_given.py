"""What makes an instance takes arrays of jax for leaves that are declared as numbers: under `jit` they are that."""

from __future__ import annotations

from collections.abc import Sequence

from mypy.checker import TypeChecker
from mypy.nodes import Expression
from mypy.types import CallableType

from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint_mypy.codes import STRICT_REPLACE
from jaxlint_mypy.internals import type_again
from jaxlint_mypy.parameters import ANY, is_jax_array, may_be_scalar


def taking_arrays(
    cls: PytreeClass, signature: CallableType, given: Sequence[Sequence[Expression]], checker: object
) -> CallableType:
    """A signature whose parameters, but for others, are fields, with what a call gives them."""
    if not isinstance(checker, TypeChecker) or STRICT_REPLACE in checker.options.enabled_error_codes:
        return signature
    taken = list(signature.arg_types)
    for index, (name, values) in enumerate(zip(signature.arg_names, given, strict=True)):
        field = cls.field(name) if name is not None and may_be_scalar(taken[index]) else None
        if (
            field is not None
            and field.role is Role.LEAF
            and values
            and all(is_jax_array(type_again(checker, one)) for one in values)
        ):
            taken[index] = ANY
    return signature.copy_modified(arg_types=taken)
