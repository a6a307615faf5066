"""What becomes of statements with a block, and of the block that a statement stands in."""

from __future__ import annotations

import libcst as cst

from jaxlint.cst.changes import BeginBody, EnterBlock, InsertLine, NameItem, ReplaceBody
from jaxlint.cst.declaring import declared_at
from jaxlint.cst.rewriting import CannotChange, Locate, New, Rewriter, count_comments, found, rewriters
from jaxlint.cst.trees import Tree


@rewriters.register
def _insert_line(change: InsertLine, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    line = _line(tree, locate, change.at)
    added = cst.parse_statement(change.code, tree.module.config_for_parsing)
    if change.is_behind and (not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1):
        raise CannotChange("it may not be run at all behind what else stands there")

    def inserted(old: cst.CSTNode) -> New:
        assert isinstance(old, (cst.SimpleStatementLine, cst.For, cst.While))
        if change.is_behind:
            return cst.FlattenSentinel([old, added])
        first = added.with_changes(leading_lines=old.leading_lines)
        return cst.FlattenSentinel([first, old.with_changes(leading_lines=())])

    return {line: inserted}


@rewriters.register
def _replace_body(change: ReplaceBody, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    function = declared_at(tree, locate(change.at))
    body = function.body
    if not isinstance(body, cst.IndentedBlock) or count_comments(body):
        raise CannotChange("a comment would be lost")
    docstring = body.body[:1] if function.get_docstring() is not None else ()
    lines = [cst.parse_statement(line, tree.module.config_for_parsing) for line in change.lines]
    return {body: lambda old: old.with_changes(body=[*docstring, *lines])}


@rewriters.register
def _begin_body(change: BeginBody, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    function = declared_at(tree, locate(change.at))
    body = function.body
    if not isinstance(body, cst.IndentedBlock):
        raise CannotChange("the body stands behind the colon")
    first = 0 if function.get_docstring() is None else 1
    added = cst.parse_statement(change.code, tree.module.config_for_parsing)

    def begun(old: cst.CSTNode) -> New:
        assert isinstance(old, cst.IndentedBlock)
        rest = [line for line in old.body[first:] if not _does_nothing(line)]
        return old.with_changes(body=[*old.body[:first], added, *rest])

    return {body: begun}


def _does_nothing(line: cst.BaseStatement) -> bool:
    """Whether a line is `pass` or `...`, without a comment."""
    if not isinstance(line, cst.SimpleStatementLine) or count_comments(line) or len(line.body) > 1:
        return False
    only = line.body[0]
    return isinstance(only, cst.Pass) or (isinstance(only, cst.Expr) and isinstance(only.value, cst.Ellipsis))


@rewriters.register
def _name_item(change: NameItem, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    value = tree.expression_at(locate(change.at))
    item = next(tree.around(value), None) if value is not None else None
    if not isinstance(item, cst.WithItem) or item.asname is not None:
        raise CannotChange("it is no item of a `with` statement, or has a name")
    name = cst.AsName(cst.Name(change.name), cst.SimpleWhitespace(" "), cst.SimpleWhitespace(" "))
    return {item: lambda old: old.with_changes(asname=name)}


@rewriters.register
def _enter_block(change: EnterBlock, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    line = _line(tree, locate, change.at)
    block = next(tree.around(line))
    value = found(tree, locate(change.at), cst.Call)
    if not isinstance(block, cst.IndentedBlock) or isinstance(line, (cst.For, cst.While)) or len(line.body) > 1:
        raise CannotChange("it is no line of a block")
    start = next(number for number, one in enumerate(block.body) if one is line)
    inside = [one for one in block.body[start + 1 :] if tree.place_of(one).row <= change.last_row]
    if not inside:
        raise CannotChange("nothing would be in the block")

    def entered(old: cst.CSTNode) -> New:
        assert isinstance(old, cst.IndentedBlock)
        held = old.body[start + 1 : start + 1 + len(inside)]
        name = cst.AsName(cst.Name(change.name))
        opened = cst.With([cst.WithItem(value, name)], cst.IndentedBlock(held), leading_lines=line.leading_lines)
        header = line.trailing_whitespace
        opened = opened.with_changes(body=cst.IndentedBlock(held, header=header))
        return old.with_changes(body=[*old.body[:start], opened, *old.body[start + 1 + len(inside) :]])

    return {block: entered}


def _line(tree: Tree, locate: Locate, at: object) -> cst.SimpleStatementLine | cst.For | cst.While:
    """The line of simple statements around a place, or the loop in whose first line it stands."""
    place = locate(at)
    node = tree.expression_at(place) or tree.node_at(place, cst.AugAssign) or tree.node_at(place, cst.Assign)
    around = tree.around(node) if node is not None else ()
    lines = (cst.SimpleStatementLine, cst.SimpleStatementSuite, cst.For, cst.While)
    line = next((one for one in around if isinstance(one, lines)), None)
    if line is None or isinstance(line, cst.SimpleStatementSuite):
        raise CannotChange("it stands in no line of its own")
    return line
