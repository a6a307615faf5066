"""What flax.nnx makes of a value that stands in an attribute: data, or static."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import (
    Array,
    Container,
    FunctionValue,
    Instance,
    LocalFunctionValue,
    Scalar,
    Value,
    plain,
)
from jaxlint.libraries.nnx import DATA, NO_DATA, TREES
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.pytrees.stubs import is_stub
from jaxlint.syntax.expressions import Attribute, Call, Lambda, Name


def role_of_value(given: Placed, evaluator: Evaluator) -> Role:
    """The role of an attribute that is given a value: modules, variables and arrays of jax are leaves.

    Numbers, texts, functions and plain containers (whatever they hold) are static.
    """
    made = made_class(given, evaluator)
    if made is not None:
        return Role.LEAF if made.bases_known and is_pytree(made) else Role.UNKNOWN
    if isinstance(given.expr, Call):
        if evaluator.model.resolver.library_name(given.expr.func, given.module, given.scope) in DATA:
            return Role.LEAF
    if isinstance(given.expr, (Name, Attribute)):
        named = evaluator.model.resolver.library_name(given.expr, given.module, given.scope)
        if named.partition(".")[0] in NO_DATA:
            return Role.STATIC
    value = _value(given, evaluator)
    if isinstance(value, Array) and value.library == "jax" and not value.declared:
        return Role.LEAF
    if is_module(value):
        return Role.LEAF
    if isinstance(given.expr, Lambda) or isinstance(value, (Scalar, Container, FunctionValue, LocalFunctionValue)):
        return Role.STATIC
    return Role.UNKNOWN


def is_module(value: Value) -> bool:
    """Whether a value is an instance of an nnx class that is a pytree."""
    if not isinstance(value, Instance) or not value.cls.framework.data_by_value:
        return False
    return value.cls.bases_known and is_pytree(value.cls)


def held_module(given: Placed, evaluator: Evaluator) -> PytreeClass | None:
    """The nnx class of the project of which a value is an instance, made there or handed over."""
    made = made_class(given, evaluator)
    if made is None:
        value = _value(given, evaluator)
        made = value.cls if isinstance(value, Instance) and is_module(value) else None
    return None if made is None or is_stub(made.module) else made


def is_tree(given: Placed, evaluator: Evaluator) -> bool:
    """Whether a value certainly is a module, or holds modules, whoever declares its class."""
    if isinstance(given.expr, Call):
        if evaluator.model.resolver.library_name(given.expr.func, given.module, given.scope) in TREES:
            return True
    made = made_class(given, evaluator)
    return is_module(_value(given, evaluator)) if made is None else made.bases_known and is_pytree(made)


def _value(given: Placed, evaluator: Evaluator) -> Value:
    with evaluator.calls.notes.elsewhere(None, None):
        return plain(evaluator.static(given))


def is_array(given: Placed, evaluator: Evaluator) -> bool:
    """Whether a value is an array."""
    return isinstance(_value(given, evaluator), Array)


def made_class(given: Placed, evaluator: Evaluator) -> PytreeClass | None:
    """The nnx class of the project of which an expression makes an instance."""
    if not isinstance(given.expr, Call):
        return None
    model = evaluator.model
    made = model.class_of_symbol(model.resolver.resolve(given.expr.func, given.module, given.scope))
    return made if made is not None and made.framework.data_by_value else None


def is_pytree(cls: PytreeClass) -> bool:
    """Whether neither an nnx class nor a base of it has `pytree=False`, or decides that for its subclasses."""
    deciding = ("__init_subclass__" in c.symbol.declaration.methods for c in cls.mro[1:])
    return all(c.option("pytree", True) is True for c in cls.mro) and not any(deciding)
