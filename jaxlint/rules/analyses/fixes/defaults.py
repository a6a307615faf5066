"""The fix of a default that all instances share: each gets its own."""

from __future__ import annotations

import re

from jaxlint.cst.changes import EditField, Proposal
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Instance, plain
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.rules.analyses.fixes.roles import field_function
from jaxlint.rules.analyses.instances.methods import is_written
from jaxlint.symbols.outline import FieldDeclaration
from jaxlint.syntax.expressions import Name
from jaxlint.syntax.statements import parts


def made_anew(
    cls: PytreeClass, field: Field, applicability: Applicability, evaluator: Evaluator
) -> tuple[str, Proposal | None]:
    """What makes a new default for each instance, in words, and the fix."""
    function = field_function(cls)
    written = spelled(function, cls.module, evaluator.model.resolver)
    usual = function if written is None else written[0]
    advice = f"write `{field.name}: ... = {usual}(default_factory=lambda: ...)`"
    call = field.call
    if written is None or field.default is None or field.default.module is not cls.module or (call and call.positional):
        return advice, None
    if not _keeps_meaning(field.default) or is_read_of_class(field.name, cls, evaluator):
        return advice, None
    if call is None and field.opaque and not isinstance(plain(evaluator.static(field.default)), Instance):
        return advice, None  # a call may be a field function of one's own
    name, imports = ("", ()) if call is not None else written
    change = EditField(field.at, is_call=call is not None, function=name, factory=True)
    return advice, Proposal(f"Make a new `{field.name}` for each instance", applicability, (change,), imports)


def made_anew_in_module(
    cls: PytreeClass, field: FieldDeclaration, default: Placed, evaluator: Evaluator
) -> tuple[str, Proposal | None]:
    """What makes a new default for each module of flax.linen, in words, and the fix."""
    function = "dataclasses.field"
    written = spelled(function, cls.module, evaluator.model.resolver)
    name = function if written is None else written[0]
    advice = f"write `{field.name}: ... = {name}(default_factory=lambda: ...)`"
    if written is None or not _keeps_meaning(default) or is_read_of_class(field.name, cls, evaluator):
        return advice, None
    change = EditField(field.name_at, is_call=False, function=name, factory=True)
    return advice, Proposal(f"Make a new `{field.name}` for each module", Applicability.SAFE, (change,), written[1])


def is_read_of_class(name: str, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether an attribute seems to be read of the class itself, which has none where each instance makes its own."""
    names = "|".join({re.escape(one.name) for one in evaluator.model.family(cls)})
    read = re.compile(rf"(?:\b(?:{names}|cls|__class__)|\btype\(\w+\))\s*\.\s*{re.escape(name)}\b")
    return is_written(read, cls.module, evaluator)


def _keeps_meaning(default: Placed) -> bool:
    """Whether a default means the same in a function: no names of the class body."""
    scope = default.module.outline.scopes.get(default.scope)
    names = scope.bindings if scope is not None and scope.kind == "class" else {}
    return not any(isinstance(part, Name) and part.id in names for part in parts(default.expr))
