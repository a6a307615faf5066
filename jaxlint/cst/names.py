"""What names are in a tree: variables, or what attributes, keywords and functions are called."""

from __future__ import annotations

import libcst as cst

from jaxlint.cst.trees import Tree


def is_label(name: cst.Name, tree: Tree) -> bool:
    """Whether a name is that of an attribute or of a keyword, and no variable."""
    around = next(tree.around(name))
    is_keyword = isinstance(around, cst.Arg) and around.keyword is name
    return is_keyword or (isinstance(around, cst.Attribute) and around.attr is name)


def binds(target: cst.BaseExpression, name: str) -> bool:
    """Whether an assignment target is a variable of that name, or a tuple or list that has it in it."""
    if isinstance(target, (cst.Tuple, cst.List)):
        return any(binds(element.value, name) for element in target.elements)
    return isinstance(target, cst.Name) and target.value == name


def called_name(call: cst.Call) -> str:
    """The last name of the function that is called; empty if it has none."""
    function = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    return function.value if isinstance(function, cst.Name) else ""
