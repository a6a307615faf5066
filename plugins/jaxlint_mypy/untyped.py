"""The functions of flax that have no annotations: with `strict` mypy reports each call of one, and class statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mypy.nodes import ClassDef, Decorator, FuncDef, MypyFile, Statement

from jaxlint_mypy.internals import take_for_typed

#: By their modules: the functions that users call, and those of classes that they inherit from.
TYPED_HERE = {
    "flax.struct": frozenset({"field", "__init_subclass__"}),
    "flax.training.train_state": frozenset({"create", "apply_gradients"}),
}


def give_types(file: MypyFile) -> None:
    """Have a file that has just been parsed say of its functions that they take and return anything."""
    names = TYPED_HERE.get(file.fullname, frozenset())
    for function in _functions(file.defs) if names else ():
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
