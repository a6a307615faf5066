"""Named tuples that are unpacked into variables which have the names of their fields, in another order."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.analyses.instances.methods import text_of
from jaxlint.syntax.expressions import Display, Expr, Name
from jaxlint.syntax.statements import Assign


class Misplaced(msgspec.Struct, frozen=True):
    """A variable that has the name of one field and is given another one."""

    target: Name
    given: str
    cls: PytreeClass
    #: All variables that are, and what each is given.
    others: tuple[tuple[Name, str], ...]


def unpacks_given(candidate: Candidate) -> bool:
    """Whether the text of a function unpacks a named tuple that it is given: `mean, cov = belief`."""
    for function in candidate.functions:
        for name, cls in candidate.given.instances(function, candidate.module):
            unpacking = rf"^\s*\(?\w+(?:, *\w+)+,?\)? = {re.escape(name)}\s*(?:#.*)?$"
            if cls.framework.is_tuple and re.search(unpacking, text_of(function, candidate.module), re.MULTILINE):
                return True
    return False


def misplaced(code: CodeRead, evaluator: Evaluator) -> Iterator[Misplaced]:
    """The first variable of each unpacking that has the name of one field and is given another one."""
    for statement in code.statements:
        match statement:
            case Assign(targets=(Display(items=items) as target,), value=value) if not target.has_star:
                names = [item for item in items if isinstance(item, Name)]
                cls = _unpacked(value, code, evaluator) if len(names) == len(items) > 1 else None
                fields = [] if cls is None else [field.name for field in cls.fields]
                if cls is None or len(fields) != len(names):
                    continue
                named = [pair for pair in zip(names, fields, strict=True) if not pair[0].id.startswith("_")]
                wrong = [(name, field) for name, field in named if name.id != field]
                if len(wrong) > 1 and all(name.id in fields for name, _ in wrong):
                    yield Misplaced(*wrong[0], cls, tuple(wrong))


def _unpacked(value: Expr, code: CodeRead, evaluator: Evaluator) -> PytreeClass | None:
    """The class of the named tuple that an expression certainly is, if nobody says how it is gone through."""
    instance = LocalInstances.of(code, evaluator).instance(value)
    if instance is None or not instance.cls.framework.is_tuple or instance.is_other_tree:
        return None
    known = instance.exact or not evaluator.model.subclasses(instance.cls)
    return instance.cls if known and instance.cls.method("__iter__") is None else None
