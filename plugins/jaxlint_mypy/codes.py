"""mypy's error codes for jaxlint: the parent `jaxlint`, and one code below it for each rule."""

from __future__ import annotations

from mypy.errorcodes import ErrorCode

from jaxlint import rules
from jaxlint.rules.base import Rule

_CATEGORY = "jaxlint"

#: Silences every rule: `# type: ignore[jaxlint]`.
PARENT = ErrorCode("jaxlint", "Report what JAX pytree dataclasses hide", _CATEGORY)
#: Off unless enabled: `enable_error_code = jaxlint-strict-replace`.
STRICT_REPLACE = ErrorCode(
    "jaxlint-strict-replace",
    "Check the values given to `replace` as strictly as any other argument",
    _CATEGORY,
    default_enabled=False,
    sub_code_of=PARENT,
)


def _of_types(name: str, text: str, *, default: bool = True) -> ErrorCode:
    """The code of something that only types tell, so that no rule of `jaxlint check` reports it."""
    return ErrorCode(f"jaxlint-{name}", text, _CATEGORY, default_enabled=default, sub_code_of=PARENT)


#: Off unless enabled: nearly all such fields are never changed, and then all is well.
MUTABLE_STATIC = _of_types(
    "mutable-static-field", "A static field holds a list, a dict, a set or a mutable dataclass", default=False
)
UNHASHABLE = _of_types("unhashable-instance", "An instance that holds arrays is hashed, or is a key")
MUTATED_LEAF = _of_types("mutated-leaf", "A list among the leaves of a frozen instance is changed in place")
FROZEN_BYPASS = _of_types("frozen-bypass", "`object.__setattr__` on a frozen instance")
NOT_IN_INIT = _of_types("replace-not-in-init", "`dataclasses.replace` of a field that the constructor does not take")
_BY_NAME = {
    name: ErrorCode(f"jaxlint-{name}", f"jaxlint's rule {name}", _CATEGORY, sub_code_of=PARENT)
    for name in rules.rule_names()
}


def code_of(rule: Rule | type[Rule]) -> ErrorCode:
    """The error code of a rule."""
    return _BY_NAME[rule.name]
