"""Whether anybody would see the copy that a variable is bound to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from jaxlint.cst.names import binds, called_name, is_label
from jaxlint.cst.shapes import parameters
from jaxlint.cst.trees import Tree

#: Functions and methods that return what others hold, too.
_CHOOSING = frozenset({"max", "min", "next", "getattr", "get", "pop", "setdefault", "popleft", "cast", "first"})


def is_wanted(name: str, statement: cst.CSTNode, tree: Tree, others: Sequence[cst.CSTNode] = ()) -> bool:
    """Whether a variable that is bound by a statement of a function is used later; a parameter has to be returned.

    What the function has just made, and nobody else holds, may be bound to a copy even if it is not used any more. What
    is asked for in `others`, statements that will be gone, does not count.
    """
    function = tree.nearest(statement, cst.FunctionDef)
    if function is None:
        return True
    if any(binds(loop.target, name) for loop in tree.all(cst.For)):
        return False  # what is collected is not the copy
    if is_outer(name, statement, tree):
        return True
    row = tree.place_of(statement).end_row
    loops = [one for one in tree.around(statement) if isinstance(one, (cst.For, cst.While))]
    start = min([row, *(tree.place_of(loop).row for loop in loops)])
    uses = list(_uses(name, function, tree))
    later = [use for use in uses if use is not statement and tree.place_of(use).row >= start]
    later = [use for use in later if {statement, *others}.isdisjoint(tree.around(use))]
    if name in parameters(function):
        return any(tree.nearest(use, cst.Return) or tree.nearest(use, cst.Yield) for use in later)
    return bool(later) or _is_own(name, function, uses, tree)


def is_outer(name: str, statement: cst.CSTNode, tree: Tree) -> bool:
    """Whether the function around a statement says that a variable is one of the module, or of the function around."""
    function = tree.nearest(statement, cst.FunctionDef)
    declared: list[cst.Global | cst.Nonlocal] = [*tree.all(cst.Global), *tree.all(cst.Nonlocal)]
    own = [one for one in declared if tree.nearest(one, cst.FunctionDef) is function]
    return any(item.name.value == name for one in own for item in one.names)


def is_own_array(name: str, statement: cst.CSTNode, tree: Tree) -> bool:
    """Whether a variable of a function is bound to nothing but arrays that calls have just made.

    An array of jax never changes, so that nobody can tell the copy from the array with another item.
    """
    function = tree.nearest(statement, cst.FunctionDef)
    if function is None or name in parameters(function):
        return False
    bound = [one for one in tree.all(cst.AssignTarget) if binds(one.target, name) and function in tree.around(one)]
    if not bound or _otherwise_bound(name, function, tree) or _annotated(name, function, tree):
        return False
    if any(binds(loop.target, name) for loop in tree.all(cst.For)):
        return False
    return all(_is_made(next(tree.around(one))) for one in bound)


def _is_made(assignment: cst.CSTNode) -> bool:
    """Whether a call has made what is assigned, or taken an item of what it made."""
    value = assignment.value if isinstance(assignment, cst.Assign) else None
    if isinstance(value, cst.Subscript):
        value = value.value
    return isinstance(value, cst.Call) and called_name(value) not in _CHOOSING


def _is_own(name: str, function: cst.FunctionDef, uses: list[cst.Name], tree: Tree) -> bool:
    """Whether a variable is bound only to what calls make, and never handed on."""
    if not all(isinstance(next(tree.around(use)), cst.Attribute) for use in uses):
        return False
    targets = [one for one in tree.all(cst.AssignTarget) if _is_name(one.target, name) and function in tree.around(one)]
    bound: list[cst.Assign | cst.AnnAssign] = [*_annotated(name, function, tree)]
    for one in targets:
        assigned = next(tree.around(one))
        if isinstance(assigned, cst.Assign) and len(assigned.targets) == 1:
            bound.append(assigned)
    elements = any(_is_name(one.value, name) and function in tree.around(one) for one in tree.all(cst.Element))
    if not bound or elements or _otherwise_bound(name, function, tree):
        return False
    made = [one.value for one in bound]
    return all(isinstance(value, cst.Call) and called_name(value) not in _CHOOSING for value in made)


def _is_name(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


def _annotated(name: str, function: cst.FunctionDef, tree: Tree) -> list[cst.AnnAssign]:
    """The assignments of a variable with an annotation."""
    return [one for one in tree.all(cst.AnnAssign) if _is_name(one.target, name) and function in tree.around(one)]


def _otherwise_bound(name: str, function: cst.FunctionDef, tree: Tree) -> bool:
    """Whether `:=` or `as` bind a variable."""
    others: list[cst.CSTNode] = [one.target for one in tree.all(cst.NamedExpr)]
    others += [one.name for one in tree.all(cst.AsName)]
    return any(_is_name(one, name) and function in tree.around(one) for one in others)


def _uses(name: str, function: cst.FunctionDef, tree: Tree) -> Iterator[cst.Name]:
    """Where the value of a variable is asked for, in a function."""
    for one in tree.all(cst.Name):
        if one.value != name or function not in tree.around(one):
            continue
        around = next(tree.around(one))
        is_bound = isinstance(around, (cst.AssignTarget, cst.Param))
        is_bound |= isinstance(around, cst.AnnAssign) and around.target is one
        if not (is_bound or is_label(one, tree)):
            yield one
