"""What taking an instance apart reads of it and nothing gives it: the first flattening fails."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.pytrees.missing_members import misses_attribute
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.rebuilding.flattening import Routine
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Name, last_name
from jaxlint.syntax.statements import Body, Try, all_parts, bound_names, walk

#: What asks whether an instance has an attribute, or takes whatever it has.
_ASKING = frozenset({"hasattr", "getattr", "vars", "setattr", "__dict__", "__slots__", "__setattr__"})
#: What sets attributes whose names are not written out.
_BY_NAME = re.compile(r"setattr(?:__)?\(\s*[\w.]+\s*,\s*[^'\"\s]|\b__dict__\b|\bvars\(")
#: What makes the class give attributes that no method names.
_HOOKS = ("__getattr__", "__getattribute__", "__init_subclass__", "__set_name__")


def unset_read(cls: PytreeClass, first: Routine, others: Sequence[Routine], evaluator: Evaluator) -> Attribute | None:
    """The first attribute that a routine reads of the instance, and that nothing in sight is seen to set.

    `others` are routines that make instances again: what they alone write comes too late.
    """
    if not first.parameters or not _is_open(cls) or not _reads_plainly(first.body):
        return None
    family = (cls, *evaluator.model.subclasses(cls))
    if not all(map(_is_open, family)):
        return None
    modules = {c.module.path: c.module for one in family for c in one.mro}.values()
    if any(_BY_NAME.search(module.source.text) for module in modules):
        return None
    own, apart = first.parameters[0], (first, *others)
    for part in _read_of(own, first.body):
        if all(misses_attribute(c, part.attr, evaluator.model) for c in family):
            homes = (m for module in modules for m in (module, *evaluator.model.importers(module)))
            if not any(_may_set(part.attr, module, apart if module is cls.module else ()) for module in homes):
                return part
    return None


def _is_open(cls: PytreeClass) -> bool:
    """Whether all that gives instances attributes is to be seen."""
    if cls.unknown_decorator or not cls.bases_known or cls.framework.is_tuple:
        return False
    declarations = [c.symbol.declaration for c in cls.mro]
    return not any(
        d.conditional_body or any(b.keyword is not None for b in d.bases) or any(h in d.methods for h in _HOOKS)
        for d in declarations
    )


def _reads_plainly(body: Body) -> bool:
    """Whether a body neither asks what there is nor expects that it is not there."""
    if any(isinstance(s, Try) for s in walk(body)):
        return False
    parts = all_parts(body)
    return not any(isinstance(part, (Name, Attribute)) and last_name(part) in _ASKING for part in parts)


def _read_of(own: str, body: Body) -> Iterator[Attribute]:
    if any(own in bound_names(statement) for statement in walk(body)):
        return
    for part in all_parts(body):
        if isinstance(part, Attribute) and isinstance(part.value, Name) and part.value.id == own:
            yield part


def _may_set(attr: str, module: Module, apart: Sequence[Routine]) -> bool:
    """Whether the text of a module may give something an attribute of that name, elsewhere than in some routines."""
    text = module.source.text
    if attr not in text:
        return False
    rows = [(place_of(s.at).row, place_of(s.at).end_row) for routine in apart for s in routine.body]
    for found in _written(attr).finditer(text):
        row = text.count("\n", 0, found.start()) + 1
        if not any(first <= row <= last for first, last in rows):
            return True
    return False


def _written(attr: str) -> re.Pattern[str]:
    """Finds assignments to such an attribute, also among others, and texts that are its name."""
    name = re.escape(attr)
    assigned = rf"\.{name}\b[ \t\w.,)\]*]*(?::[^=\n]*)?[-+*/@|&%^]*=(?!=)"
    return re.compile(rf"{assigned}|['\"]{name}['\"]|\b(?:for|as) \w+\.{name}\b")
