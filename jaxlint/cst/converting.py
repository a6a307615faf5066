"""What becomes of values and options that a transformation refuses, and of annotations that mark nothing."""

from __future__ import annotations

import libcst as cst

from jaxlint.cst.arguments import without
from jaxlint.cst.changes import DropMarker, DropOption, HoistMarker, MakeHashable, RenameFunction
from jaxlint.cst.declaring import left_out
from jaxlint.cst.rewriting import CannotChange, Locate, New, Rewriter, expression, found, rewriters
from jaxlint.cst.trees import Tree
from jaxlint.syntax.expressions import Span

#: What has to stand outside of an annotation.
_OUTERMOST = frozenset({"Final", "ClassVar", "InitVar"})


@rewriters.register
def _make_hashable(change: MakeHashable, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    place = locate(change.at)
    argument = tree.node_at(place, cst.Arg)
    node = argument.value if argument is not None else tree.expression_at(place)
    if node is None or (argument is not None and argument.star):
        raise CannotChange("there is no expression")

    def hashable(old: cst.CSTNode) -> New:
        assert isinstance(old, cst.BaseExpression)
        if isinstance(old, (cst.List, cst.Tuple)) and change.function == "tuple":
            return _as_tuple(old)
        if isinstance(old, cst.ListComp) and not old.lpar:
            return cst.Call(cst.Name(change.function), [cst.Arg(cst.GeneratorExp(old.elt, old.for_in, (), ()))])
        return expression(f"{change.function}({{value}})", tree, value=old)

    return {node: hashable}


def _as_tuple(display: cst.List | cst.Tuple) -> cst.Tuple:
    """A tuple of what a list or a tuple holds, with tuples instead of the lists in it."""
    elements = [
        one.with_changes(value=_as_tuple(one.value)) if isinstance(one.value, (cst.List, cst.Tuple)) else one
        for one in display.elements
    ]
    if len(elements) == 1 and not isinstance(elements[0].comma, cst.Comma):
        elements = [elements[0].with_changes(comma=cst.Comma())]
    if isinstance(display, cst.Tuple):
        return display.with_changes(elements=elements)
    left = cst.LeftParen(display.lbracket.whitespace_after)
    right = cst.RightParen(display.rbracket.whitespace_before)
    return cst.Tuple(elements, lpar=[*display.lpar, left], rpar=[right, *display.rpar])


@rewriters.register
def _drop_option(change: DropOption, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    call = found(tree, locate(change.at), cst.Call)
    option = next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == change.name), None)
    if option is None:
        raise CannotChange("the option is not given here")
    left = _left(option.value, change.items) if change.items else None

    def dropped(old: cst.CSTNode) -> New:
        assert isinstance(old, cst.Call)
        if left is not None:
            args = [arg.with_changes(value=left) if arg is option else arg for arg in call.args]
            return old.with_changes(args=args)
        args = without(call.args, option)
        if isinstance(next(tree.around(call)), cst.Decorator) and len(args) < 2:
            if not args:
                return old.func
            if args[0].keyword is None and not args[0].star:
                return args[0].value  # of a partial
        return old.with_changes(args=args)

    return {call: dropped}


def _left(value: cst.BaseExpression, items: tuple[str | int, ...]) -> cst.BaseExpression | None:
    """What is left of an option without some of its items; None if that is nothing."""
    if not isinstance(value, (cst.List, cst.Tuple)):
        if _literal(value) not in items:
            raise CannotChange("it is no literal")
        return None
    elements: list[cst.Element] = []
    for one in value.elements:
        if not isinstance(one, cst.Element):
            raise CannotChange("more is unpacked")
        elements.append(one)
    remaining = elements
    for one in elements:
        if _literal(one.value) in items:
            remaining = left_out(remaining, one)
    if len(remaining) == len(elements):
        raise CannotChange("it is not among them")
    if isinstance(value, cst.Tuple) and len(remaining) == 1:
        remaining = [remaining[0].with_changes(comma=cst.Comma())]
    return value.with_changes(elements=remaining) if remaining else None


def _literal(value: cst.BaseExpression) -> object:
    if isinstance(value, cst.UnaryOperation) and isinstance(value.operator, cst.Minus):
        number = _literal(value.expression)
        return -number if isinstance(number, int) else None
    return value.evaluated_value if isinstance(value, (cst.Integer, cst.SimpleString)) else None


@rewriters.register
def _rename_function(change: RenameFunction, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    node = tree.expression_at(locate(change.at))
    candidates = [node]
    if isinstance(node, cst.Call):
        candidates = [node.func, *(arg.value for arg in node.args[:1])]
    chosen = [one for one in candidates if one is not None and last_word(one) == change.last]
    if len(chosen) != 1:
        raise CannotChange("its name does not tell what it is")
    new = cst.parse_expression(change.code)
    return {chosen[0]: lambda old: new}


def last_word(node: cst.BaseExpression) -> str:
    """The last word of a dotted name; empty for what is none."""
    name = node.attr if isinstance(node, cst.Attribute) else node
    return name.value if isinstance(name, cst.Name) else ""


@rewriters.register
def _drop_marker(change: DropMarker, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    marker, inside = _marker(tree, locate(change.at))
    return {marker: lambda old: inside}


@rewriters.register
def _hoist_marker(change: HoistMarker, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    annotation = tree.expression_at(locate(change.at))
    marker, inside = _marker(tree, locate(change.marker))
    if annotation is None or annotation not in tree.around(marker):
        raise CannotChange("the marker does not stand in the annotation")
    if isinstance(annotation, cst.Subscript) and last_word(annotation.value) in _OUTERMOST:
        raise CannotChange("nothing may stand around it")

    def hoisted(old: cst.CSTNode) -> New:
        assert isinstance(old, cst.BaseExpression)
        return marker.with_changes(slice=[cst.SubscriptElement(cst.Index(old))])

    return {annotation: hoisted, marker: lambda old: inside}


def _marker(tree: Tree, place: Span) -> tuple[cst.Subscript, cst.BaseExpression]:
    """The subscript with a name in front, and what stands in its brackets."""
    name = tree.expression_at(place)
    around = next(tree.around(name), None) if name is not None else None
    if not isinstance(around, cst.Subscript) or around.value is not name or len(around.slice) != 1:
        raise CannotChange("there is no marker")
    inside = around.slice[0].slice
    if not isinstance(inside, cst.Index):
        raise CannotChange("it marks no type")
    return around, inside.value
