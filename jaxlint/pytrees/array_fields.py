"""Which annotations may mean an array, by their words alone."""

from __future__ import annotations

from jaxlint.expr import Expr, dotted
from jaxlint.statements import parts

#: Words that mean no array: scalars and containers, if they hold nothing else.
_NO_ARRAYS = frozenset(
    """int float bool str bytes complex object None Any Optional Union Callable Literal dict Dict list List tuple Tuple
    set Set frozenset FrozenSet Mapping MutableMapping Sequence Iterable""".split()
)
#: What the names of array types have in them.
_ARRAYS = ("rray", "Key", "Float", "Int", "Bool", "Num", "Shaped", "Complex", "Inexact", "Tensor")


def may_be_array(annotation: Expr) -> bool:
    """Whether an annotation may mean an array, perhaps by a name that the user has given to the type."""
    return any(word not in _NO_ARRAYS for word in _words(annotation))


def names_array(annotation: Expr) -> bool:
    """Whether an annotation has a name in it that array types have."""
    return any(part in word for word in _words(annotation) for part in _ARRAYS)


def _words(annotation: Expr) -> list[str]:
    names = (dotted(part) for part in parts(annotation))
    return [name.rpartition(".")[2] for name in names if name is not None]
