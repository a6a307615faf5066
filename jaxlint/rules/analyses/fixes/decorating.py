"""Fixes of the decorators of classes."""

from __future__ import annotations

import re

from jaxlint.cst.changes import Change, EditCall, Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.pytrees.model import PytreeClass, Registration
from jaxlint.rules.analyses.instances.methods import is_written

#: A row that assigns an attribute of one of some names, perhaps as one of several, or that may assign any.
_ASSIGNED = r"\.(?:NAMES)\b(?:[ \t]*,[^\n()=]*)?[ \t]*(?:[-+*/%&|^@]|//|\*\*|<<|>>)?=(?!=)|\bsetattr\("


@proposing
def freezing(cls: PytreeClass, module: Module, evaluator: Evaluator) -> Proposal | None:
    """The fix that makes a class frozen, if it stands in the module, and nothing seems to assign its fields."""
    takes = [one for one in cls.made_by if "frozen" in one.framework.options.get(one.function, ())]
    if cls.module is not module or len(takes) != 1 or takes[0].is_call or not takes[0].arguments_known:
        return None
    names = "|".join(re.escape(field.name) for field in cls.fields)
    assigned = re.compile(_ASSIGNED.replace("NAMES", names))
    if names and is_written(assigned, module, evaluator):
        return None
    change = give_decorator(takes[0], (("frozen", "True"),))
    return Proposal(f"Make `{cls.name}` frozen", Applicability.UNSAFE, (change,))


def give_decorator(decorator: Registration, given: tuple[tuple[str, str], ...]) -> Change:
    """The change that gives a decorator options, which is called for that if it is not yet."""
    if decorator.options or decorator.has_lists or decorator.positional:
        return EditCall(decorator.at, given)
    options = ", ".join(f"{name}={value}" for name, value in given)
    return Rewrite(decorator.at, f"{decorator.name}({options})")
