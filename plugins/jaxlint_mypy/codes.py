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
_BY_NAME = {
    name: ErrorCode(f"jaxlint-{name}", f"jaxlint's rule {name}", _CATEGORY, sub_code_of=PARENT)
    for name in rules.rule_names()
}


def code_of(rule: Rule) -> ErrorCode:
    """The error code of a rule."""
    return _BY_NAME[rule.name]
