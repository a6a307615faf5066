"""The fields that `==` and `<` of instances compare, and what arrays do to that."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import NONE, Array, Scalar, options, plain
from jaxlint.pytrees.frameworks.plain import EQ_GIVES_LAST
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.instances.given_literals import is_given_no_array
from jaxlint.syntax.spelling import with_article

#: The names of fields by which instances are told apart.
_IDENTIFYING = frozenset("id uid uuid ident identifier key name label index idx number serial".split())
COMPARE_LEAVES = "compare its leaves with `chex.assert_trees_all_equal` or `jnp.array_equal`"


def unequal_message(how: str, cls: str, field: str, when: str = "") -> str:
    """What comparing (`how`: an operator or a method, in backticks) does to a class with a field that is an array."""
    return (
        f"{how} compares {with_article(cls)} field by field, and `{field}` holds an array: ValueError"
        f"{f' {when}' if when else ''} (the truth value of an array is ambiguous); {COMPARE_LEAVES}"
    )


def compared_fields(cls: PytreeClass) -> list[Field]:
    """The fields that are compared, in their order: all that a dataclass declares, however it is flattened."""
    return [f for f in cls.declared_fields if f.call is None or "compare" not in f.call.keywords]


def last_compared(cls: PytreeClass) -> Field | None:
    """The last field that `==` compares."""
    compared = compared_fields(cls)
    return compared[-1] if compared else None


def has_identifier(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether the first field that `==` compares is a number or text that instances have of their own, by its name.

    What stands in a list beside an instance is unequal by that, without a look at the arrays.
    """
    first = next(iter(compared_fields(cls)), None)
    if first is None or not (first.name in _IDENTIFYING or first.name.endswith("_id")):
        return False
    value = plain(evaluator.promises.field(first, cls))
    return isinstance(value, Scalar) and value.kind in ("int", "str")


def compares_as_tuples(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether `==` compares tuples of the fields, which takes one object in both for equal: up to Python 3.12."""
    return cls.framework.is_tuple or not evaluator.model.target.holds(EQ_GIVES_LAST)


def may_hold_several(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a field certainly holds an array, which may have several elements."""
    if field.annotation is None:
        return False
    kinds = options(plain(evaluator.promises.field(field, cls)))
    if set(kinds) == {NONE} or not all(isinstance(k, Array) and k.single is not True for k in kinds if k != NONE):
        return False
    if is_given_no_array(field, cls, evaluator):  # whatever the annotation says
        return False
    return field.default is None or NONE not in (*kinds, plain(evaluator.static(field.default)))
