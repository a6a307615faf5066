"""The fields of modules of flax.linen, which the dataclass machinery makes of the annotated names of a class."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.libraries import linen
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.symbols.outline import FieldDeclaration
from jaxlint.syntax.expressions import Call, Subscript, last_name

#: What an annotation names that declares no field, or none that instances keep.
_NO_FIELDS = frozenset({"ClassVar", "InitVar"})


def is_taken(field: FieldDeclaration) -> bool:
    """Whether the constructor of a module takes a field."""
    annotation = field.annotation.value if isinstance(field.annotation, Subscript) else field.annotation
    made = field.value.keyword("init") if isinstance(field.value, Call) else None
    return last_name(annotation) not in _NO_FIELDS and made is None


def own_defaults(cls: PytreeClass, evaluator: Evaluator) -> Iterator[tuple[FieldDeclaration, Placed]]:
    """The fields that a module declares itself with a value, and that as an expression of the class body."""
    if not evaluator.inherits(cls, linen.MODULE):
        return
    declaration = cls.symbol.declaration
    for field in declaration.fields:
        if field.value is not None and is_taken(field):
            yield field, Placed(field.value, cls.module, declaration.qualname)
