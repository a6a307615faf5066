"""What becomes of a function that gets another parameter, and of the calls that pass an argument for it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from jaxlint.cst.arguments import arranged
from jaxlint.cst.changes import AddParameter, PassAttribute
from jaxlint.cst.declaring import declared_at
from jaxlint.cst.names import binds, called_name
from jaxlint.cst.rewriting import CannotChange, Locate, New, Rewriter, rewriters
from jaxlint.cst.trees import Tree
from jaxlint.syntax.expressions import Span

#: What something is called on that may be written twice.
_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_COMPILER = "jit"


@rewriters.register
def _add_parameter(change: AddParameter, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    function = _function_at(tree, locate(change.at))
    if any(param.name.value == change.name for param in tree.all(cst.Param)):
        raise CannotChange("a parameter has that name")

    def extended(old: cst.CSTNode) -> New:
        assert isinstance(old, (cst.FunctionDef, cst.Lambda))
        return old.with_changes(params=_with_parameter(old.params, cst.Param(cst.Name(change.name))))

    return {function: extended}


def _function_at(tree: Tree, place: Span) -> cst.FunctionDef | cst.Lambda:
    """The function or lambda that stands at a place."""
    node = tree.node_at(place, cst.Lambda)
    if node is not None:
        return node
    declared = declared_at(tree, place)
    if not isinstance(declared, cst.FunctionDef):
        raise CannotChange("it is no function")
    return declared


def _with_parameter(params: cst.Parameters, new: cst.Param) -> cst.Parameters:
    """Parameters with another one, behind those that have no default, else one that is given by name alone."""
    if isinstance(params.star_arg, cst.Param) or params.kwonly_params:
        return params.with_changes(kwonly_params=_followed(params.kwonly_params, new))
    if any(param.default is not None for param in params.params):
        return params.with_changes(star_arg=cst.ParamStar(), kwonly_params=[new])
    return params.with_changes(params=_followed(params.params, new))


def _followed(params: Sequence[cst.Param], new: cst.Param) -> list[cst.Param]:
    """Parameters with another one at their end, set apart and ended as those were."""
    if not params:
        return [new]
    *others, last = params
    between = others[-1].comma if others else cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    ended = new.with_changes(comma=last.comma, whitespace_after_param=last.whitespace_after_param)
    return [*others, last.with_changes(comma=between, whitespace_after_param=cst.SimpleWhitespace("")), ended]


@rewriters.register
def _pass_attribute(change: PassAttribute, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    name = tree.node_at(locate(change.at), cst.Name)
    if name is None:
        return {}  # in a comment, or a string
    around = next(tree.around(name))
    if isinstance(around, (cst.FunctionDef, cst.AnnAssign)) or (isinstance(around, cst.Arg) and around.keyword is name):
        return {}
    is_attribute = isinstance(around, cst.Attribute) and around.attr is name
    named = around if is_attribute else name
    user = next(tree.around(named))
    if (
        isinstance(user, (cst.AssignTarget, cst.AnnAssign))
        or _is_compiled(user, tree)
        or _is_followed(user, named, change)
    ):
        return {}
    if not (isinstance(user, cst.Call) and user.func is named):
        raise CannotChange("the function is handed on")
    is_method = isinstance(around, cst.Attribute) and is_attribute
    receiver = around.value if isinstance(around, cst.Attribute) and is_method else _receiver(name.value, change, tree)
    held = tree.module.code_for_node(receiver)
    if _PATH.fullmatch(held) is None or any(arg.star == "**" for arg in user.args):
        raise CannotChange("nobody knows what it is called on, or what it is given")
    value = cst.parse_expression(f"{held}.{change.attribute}")
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    given = cst.Arg(value, keyword=cst.Name(change.keyword), equal=equal) if change.keyword else cst.Arg(value)

    def passed(old: cst.CSTNode) -> New:
        assert isinstance(old, cst.Call)
        args = [*old.args, given] if change.keyword else [given, *old.args]
        return old.with_changes(args=arranged(old.args, args, old.whitespace_before_args))

    return {user: passed}


def _receiver(variable: str, change: PassAttribute, tree: Tree) -> cst.BaseExpression:
    """What the compiled method belongs to that a variable holds, which is bound once."""
    bound = [one for one in tree.all(cst.Assign) if any(binds(target.target, variable) for target in one.targets)]
    value = bound[0].value if len(bound) == 1 else None
    if isinstance(value, cst.Call) and called_name(value) == _COMPILER:
        method = value.args[0].value
        if isinstance(method, cst.Name) and method.value != variable:
            return _receiver(method.value, change, tree)
        value = method
    if isinstance(value, cst.Attribute) and value.attr.value == change.method:
        return value.value
    raise CannotChange("nobody knows what a variable holds")


def _is_followed(user: cst.CSTNode, named: cst.CSTNode, change: PassAttribute) -> bool:
    """Whether a function is assigned to what has one of the names."""
    if not isinstance(user, cst.Assign) or user.value is not named or len(user.targets) > 1:
        return False
    target = user.targets[0].target
    last = target.attr if isinstance(target, cst.Attribute) else target
    return isinstance(last, cst.Name) and last.value in change.names


def _is_compiled(user: cst.CSTNode, tree: Tree) -> bool:
    """Whether a function is given to `jit`, as the first argument."""
    call = next(tree.around(user)) if isinstance(user, cst.Arg) else None
    return isinstance(call, cst.Call) and call.args[0] is user and called_name(call) == _COMPILER
