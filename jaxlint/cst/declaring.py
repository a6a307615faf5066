"""What becomes of decorators, of the bases and keywords of classes, and of what is taken out."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from jaxlint.cst.arguments import arranged, has_comments, without
from jaxlint.cst.changes import Decorate, EditClass, MoveDecorator, Remove
from jaxlint.cst.rewriting import CannotChange, Locate, New, Rewriter, keyword_argument, rewriters
from jaxlint.cst.trees import Tree
from jaxlint.syntax.expressions import Span


@rewriters.register
def _decorate(change: Decorate, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    added = [cst.Decorator(cst.parse_expression(code)) for code in change.decorators]

    def decorated(old: cst.CSTNode) -> New:
        assert isinstance(old, (cst.ClassDef, cst.FunctionDef))
        return old.with_changes(decorators=[*added, *old.decorators])

    return {declared_at(tree, locate(change.at)): decorated}


@rewriters.register
def _move_decorator(change: MoveDecorator, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    moved, other = _decorator(tree, locate(change.at)), _decorator(tree, locate(change.below))
    if moved is None or other is None:
        raise CannotChange("there are no decorators")
    declaration = next(tree.around(moved))
    if not isinstance(declaration, (cst.ClassDef, cst.FunctionDef)) or other not in declaration.decorators:
        raise CannotChange("they are those of something else")
    order = [one for one in declaration.decorators if one is not moved]
    order.insert(order.index(other) + 1, moved)

    def decorated(old: cst.CSTNode) -> New:
        assert isinstance(old, (cst.ClassDef, cst.FunctionDef))
        return old.with_changes(decorators=order)

    return {declaration: decorated}


@rewriters.register
def _edit_class(change: EditClass, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    bases = [cst.Arg(cst.parse_expression(base)) for base in change.bases]
    keywords = [keyword_argument(name, cst.parse_expression(value)) for name, value in change.given]

    def declared(old: cst.CSTNode) -> New:
        assert isinstance(old, cst.ClassDef)
        stored = (k for k in old.keywords if _name(k) not in dict(change.given))
        every = [*old.bases, *bases, *stored, *keywords]
        start = old.lpar.whitespace_after if isinstance(old.lpar, cst.LeftParen) else cst.SimpleWhitespace("")
        every = arranged((*old.bases, *old.keywords), every, start)
        count = len(old.bases) + len(bases)
        return old.with_changes(bases=every[:count], keywords=every[count:])

    declaration = declared_at(tree, locate(change.at))
    if not isinstance(declaration, cst.ClassDef):
        raise CannotChange("it is no class")
    return {declaration: declared}


def _name(argument: cst.Arg) -> str:
    return argument.keyword.value if argument.keyword is not None else ""


def declared_at(tree: Tree, place: Span) -> cst.ClassDef | cst.FunctionDef:
    """The class or function that is declared at a place.

    The place may be that of its name or of all of the statement, in which libcst and `ast` do not agree where there are
    decorators.
    """
    named: list[cst.ClassDef | cst.FunctionDef] = [*tree.all(cst.ClassDef), *tree.all(cst.FunctionDef)]
    declaration = next((one for one in named if tree.place_of(one.name).row == place.row), None)
    if declaration is None:
        raise CannotChange("there is no declaration")
    return declaration


def _decorator(tree: Tree, place: Span) -> cst.Decorator | None:
    """The decorator whose expression stands at a place."""
    node = tree.expression_at(place)
    return next((one for one in tree.all(cst.Decorator) if one.decorator is node), None) if node is not None else None


@rewriters.register
def _remove(change: Remove, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    place = locate(change.at)
    decorator = _decorator(tree, place)
    if decorator is not None:
        if any(line.comment is not None for line in decorator.leading_lines):
            raise CannotChange("there is a comment of its own above it")
        return {decorator: lambda old: cst.RemoveFromParent()}
    statement = tree.node_at(place, cst.Expr)
    if statement is not None:
        return _without_statement(statement, tree)
    node = tree.expression_at(place)
    around = next(tree.around(node), None) if node is not None else None
    listed = around if isinstance(around, (cst.Arg, cst.Element)) else tree.node_at(place, cst.Arg)
    if listed is None:
        raise CannotChange("it is no part that can be taken out")
    return _without_item(listed, tree)


def _without_statement(statement: cst.Expr, tree: Tree) -> dict[cst.CSTNode, Rewriter]:
    """A block without one of its statements."""
    line = next(tree.around(statement))
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
        raise CannotChange("other statements stand in its line")
    block = next(tree.around(line))
    if isinstance(block, cst.IndentedBlock) and len(block.body) == 1:
        return {statement: lambda old: cst.Pass()}
    return {line: lambda old: cst.RemoveFromParent()}


def _without_item(listed: cst.Arg | cst.Element, tree: Tree) -> dict[cst.CSTNode, Rewriter]:
    """A call, a class or a display without one of its parts."""
    holder = next(tree.around(listed))

    def changed(old: cst.CSTNode) -> New:
        # what is inside is as it was: nothing else is rewritten there
        if isinstance(old, cst.Call) and isinstance(holder, cst.Call) and isinstance(listed, cst.Arg):
            args = without(holder.args, listed)
            is_decorator = isinstance(next(tree.around(holder)), cst.Decorator)
            return old.with_changes(args=args) if args or not is_decorator else old.func
        if isinstance(old, cst.ClassDef) and isinstance(holder, cst.ClassDef) and isinstance(listed, cst.Arg):
            every = without((*holder.bases, *holder.keywords), listed)
            count = len([one for one in holder.bases if one is not listed])
            none = cst.MaybeSentinel.DEFAULT
            brackets = {} if every else {"lpar": none, "rpar": none}
            return old.with_changes(bases=every[:count], keywords=every[count:], **brackets)
        if isinstance(old, (cst.List, cst.Set, cst.Tuple)) and isinstance(listed, cst.Element):
            assert isinstance(holder, (cst.List, cst.Set, cst.Tuple))
            elements = left_out([one for one in holder.elements if isinstance(one, cst.Element)], listed)
            if isinstance(old, cst.Tuple) and len(elements) == 1:
                elements = [elements[0].with_changes(comma=cst.Comma())]
            return old.with_changes(elements=elements)
        raise CannotChange("it stands in something else")

    return {holder: changed}


def left_out(elements: Sequence[cst.Element], gone: cst.Element) -> list[cst.Element]:
    """What stands in a display, without one."""
    remaining = [one for one in elements if one is not gone]
    if _has_comments(gone) or (remaining and elements[-1] is gone and _has_comments(remaining[-1])):
        raise CannotChange("a comment would be lost")
    if remaining and elements[-1] is gone:
        remaining[-1] = remaining[-1].with_changes(comma=gone.comma)
    return remaining


def _has_comments(element: cst.Element) -> bool:
    return isinstance(element.comma, cst.Comma) and has_comments(element.comma.whitespace_after)
