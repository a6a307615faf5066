"""The functions of flax that have no annotations: with `strict` mypy reports each call of one, and class statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mypy.nodes import ClassDef, Decorator, FuncDef, Statement
from mypy.plugin import ClassDefContext

from jaxlint_mypy.internals import take_for_typed

#: By a class in whose file they are: the functions that users call, and those of classes that they inherit from.
#: mypy asks about each class when it analyzes a file, whether that is new or comes out of a cache that is out of date.
_TYPED_HERE = {
    "flax.struct.PyTreeNode": frozenset({"field", "__init_subclass__"}),
    "flax.training.train_state.TrainState": frozenset({"create", "apply_gradients"}),
}
BESIDE_UNTYPED = frozenset(_TYPED_HERE)
IN_MODULES = frozenset(name.rpartition(".")[0] for name in _TYPED_HERE)


def is_beside_untyped(fullname: str) -> bool:
    """Whether functions in the file of a class are to be given types."""
    return fullname in _TYPED_HERE


def give_types(ctx: ClassDefContext) -> None:
    """Have a file say of its functions, before mypy looks at them, that they take and return anything."""
    names = _TYPED_HERE[ctx.cls.fullname]
    for function in _functions(ctx.api.modules[ctx.cls.info.module_name].defs):
        if function.name in names and function.type is None:
            take_for_typed(function)


def _functions(body: Sequence[Statement]) -> Iterator[FuncDef]:
    for node in body:
        if isinstance(node, Decorator):
            yield node.func
        elif isinstance(node, FuncDef):
            yield node
        elif isinstance(node, ClassDef):
            yield from _functions(node.defs.body)
