"""Which annotations may mean an array, by their words alone."""

from __future__ import annotations

from jaxlint.syntax.expressions import Expr, dotted
from jaxlint.syntax.statements import parts

#: What the names of array types have in them.
_ARRAYS = ("rray", "Key", "Float", "Int", "Bool", "Num", "Shaped", "Complex", "Inexact", "Tensor")


def names_array(annotation: Expr) -> bool:
    """Whether an annotation has a name in it that array types have."""
    return any(part in word for word in _words(annotation) for part in _ARRAYS)


def _words(annotation: Expr) -> list[str]:
    names = (dotted(part) for part in parts(annotation))
    return [name.rpartition(".")[2] for name in names if name is not None]
