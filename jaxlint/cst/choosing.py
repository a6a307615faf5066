"""What becomes of a choice that Python makes by a truth value: jax makes it, by the value of an array."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import libcst as cst

from jaxlint.cst.changes import CallLogical, ChooseByCall
from jaxlint.cst.names import binds
from jaxlint.cst.rewriting import (
    CannotChange,
    Locate,
    New,
    Rewriter,
    count_comments,
    rewriters,
)
from jaxlint.cst.trees import Tree

_OPERATORS = {"or": cst.Or, "and": cst.And, "not": cst.Not}


@rewriters.register
def _call_logical(change: CallLogical, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    inner = tree.expression_at(locate(change.at))
    around = [inner, *tree.around(inner)] if inner is not None else []
    kinds = (cst.BooleanOperation, cst.UnaryOperation)
    found = (n for n in around if isinstance(n, kinds) and isinstance(n.operator, _OPERATORS[change.operator]))
    node = next(found, None)
    if node is None or count_comments(node):
        raise CannotChange("there is no such operator")

    def called(old: cst.CSTNode) -> New:
        assert isinstance(old, (cst.BooleanOperation, cst.UnaryOperation))
        parts = [old.left, old.right] if isinstance(old, cst.BooleanOperation) else [old.expression]
        return cst.Call(cst.parse_expression(change.function), [cst.Arg(_bare(part)) for part in parts])

    return {node: called}


def _bare(value: cst.BaseExpression) -> cst.BaseExpression:
    """An expression as an argument, which needs no brackets around it."""
    if isinstance(value, cst.GeneratorExp) or len(value.lpar) != 1:
        return value
    return value if isinstance(value, cst.Tuple) else value.with_changes(lpar=(), rpar=())


@rewriters.register
def _choose_by_call(change: ChooseByCall, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    inner = tree.expression_at(locate(change.at))
    around = [inner, *tree.around(inner)] if inner is not None else []
    for part, node in pairwise(around):
        if isinstance(node, cst.IfExp) and node.test is part:
            return {node: lambda old: _chosen_expression(old, change)}
        if isinstance(node, cst.If) and node.test is part:
            return _chosen_statement(node, change, tree)
        if isinstance(node, (cst.BaseStatement, cst.BaseSmallStatement, cst.BooleanOperation)):
            break
    raise CannotChange("it is no test that stands alone")


def _chosen_expression(old: cst.CSTNode, change: ChooseByCall) -> New:
    assert isinstance(old, cst.IfExp)
    made = _choice(old.test, old.body, old.orelse, change)
    return made.with_changes(lpar=old.lpar, rpar=old.rpar)


def _choice(
    test: cst.BaseExpression, one: cst.BaseExpression, other: cst.BaseExpression, change: ChooseByCall
) -> cst.BaseExpression:
    """The call that chooses between two expressions, each of which may be a function there."""
    if count_comments(test) or count_comments(one) or count_comments(other):
        raise CannotChange("a comment would be lost")
    if any(_has_own_flow(value) for value in (test, one, other)):
        raise CannotChange("it may not stand in a function of its own")
    while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test, one, other = test.expression, other, one
    function = cst.parse_expression(change.function)
    given = _bare if change.takes_values else _function
    return cst.Call(function, [cst.Arg(one) for one in (_bare(test), given(one), given(other))])


def _function(value: cst.BaseExpression) -> cst.BaseExpression:
    """A function without parameters that returns a value."""
    if isinstance(value, cst.Tuple) and not value.lpar:
        value = value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return cst.Lambda(cst.Parameters(), _bare(value))


def _has_own_flow(node: cst.CSTNode) -> bool:
    kinds = (cst.Yield, cst.Await, cst.NamedExpr, cst.BooleanOperation)
    return isinstance(node, kinds) or any(map(_has_own_flow, node.children))


def _chosen_statement(node: cst.If, change: ChooseByCall, tree: Tree) -> dict[cst.CSTNode, Rewriter]:
    """A row that returns, or assigns, what one of two rows did; what stands behind the first one if need be."""
    first, header = _only(node.body), node.body.header if isinstance(node.body, cst.IndentedBlock) else None
    second, gone = (_only(node.orelse.body), None) if isinstance(node.orelse, cst.Else) else _behind(node, tree)
    match first, second:
        case cst.Return(value=cst.BaseExpression() as one), cst.Return(value=cst.BaseExpression() as other):
            made: cst.BaseSmallStatement = cst.Return(_choice(node.test, one, other, change))
        case (
            cst.Assign(targets=[cst.AssignTarget(cst.Name(name))], value=one),
            cst.Assign(targets=[cst.AssignTarget(cst.Name(same))], value=other),
        ) if name == same and gone is None:
            made = cst.Assign([cst.AssignTarget(cst.Name(name))], _choice(node.test, one, other, change))
        case cst.Assign(targets=[cst.AssignTarget(cst.Name(name))], value=one), _ if node.orelse is None:
            if not _is_bound_before(name, node, tree):
                raise CannotChange("it may not be bound to anything yet")
            value, gone = _choice(node.test, one, cst.Name(name), change), None
            made = cst.Assign([cst.AssignTarget(cst.Name(name))], value)
        case _:
            raise CannotChange("it does more than to return or to assign something")
    if node.orelse is not None and count_comments(node.orelse):
        raise CannotChange("a comment would be lost")
    if count_comments(node) - count_comments(first) > (header is not None and header.comment is not None) + sum(
        line.comment is not None for line in node.leading_lines
    ):
        raise CannotChange("a comment would be lost")
    line = cst.SimpleStatementLine([made], node.leading_lines, header or cst.TrailingWhitespace())
    return {node: lambda old: line, **({} if gone is None else {gone: lambda old: cst.RemoveFromParent()})}


def _only(body: cst.BaseSuite) -> cst.BaseSmallStatement | None:
    """The only statement of a block."""
    lines: Sequence[cst.CSTNode] = body.body
    line = lines[0] if len(lines) == 1 else None
    if isinstance(line, cst.SimpleStatementLine):
        return line.body[0] if len(line.body) == 1 else None
    return line if isinstance(line, cst.BaseSmallStatement) else None


def _behind(node: cst.If, tree: Tree) -> tuple[cst.BaseSmallStatement | None, cst.CSTNode | None]:
    """What stands behind a branch in the same block, if nothing says anything about it, and its row."""
    block = next(tree.around(node))
    lines = list(block.body) if isinstance(block, (cst.IndentedBlock, cst.Module)) else []
    index = next((number for number, line in enumerate(lines) if line is node), len(lines))
    line = lines[index + 1] if index + 1 < len(lines) else None
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 or node.orelse is not None:
        return None, None
    return (None, None) if count_comments(line) else (line.body[0], line)


def _is_bound_before(name: str, node: cst.If, tree: Tree) -> bool:
    """Whether a variable is a parameter, or is assigned further up in one of the blocks around a branch."""
    before: cst.CSTNode = node
    for around in tree.around(node):
        if isinstance(around, cst.IndentedBlock):
            for line in around.body:
                if line is before:
                    break
                small = line.body if isinstance(line, cst.SimpleStatementLine) else ()
                if any(isinstance(s, cst.Assign) and any(binds(t.target, name) for t in s.targets) for s in small):
                    return True
        if isinstance(around, cst.FunctionDef):
            return any(param.name.value == name for param in around.params.params)
        before = around
    return False
