"""What becomes of the arguments of calls, and of the field functions that declare fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst

from jaxlint.cst.arguments import arranged, has_comments, has_lines, separator, without
from jaxlint.cst.changes import AddItems, Annotate, CallFunction, EditCall, EditField, MoveField, MoveItem, NameArgument
from jaxlint.cst.rewriting import (
    CannotChange,
    Locate,
    New,
    Rewriter,
    found,
    in_brackets,
    keyword_argument,
    rewriters,
)
from jaxlint.cst.shapes import is_bound, names
from jaxlint.cst.trees import Tree
from jaxlint.syntax.expressions import Span

_PLAIN_EQUAL = cst.AssignEqual(cst.SimpleWhitespace(" "), cst.SimpleWhitespace(" "))
#: What makes an empty one of these.
_EMPTY: Mapping[type[cst.CSTNode], str] = {cst.List: "list", cst.Dict: "dict"}


@rewriters.register
def _edit_call(change: EditCall, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    call = found(tree, locate(change.at), cst.Call)
    return {call: lambda node: _with_keywords(node, change)}


def _with_keywords(call: cst.CSTNode, change: EditCall) -> cst.Call:
    assert isinstance(call, cst.Call)
    return edited(call, {name: cst.parse_expression(value) for name, value in change.given}, change.without)


def edited(call: cst.Call, given: Mapping[str, cst.BaseExpression], dropped: Sequence[str] = ()) -> cst.Call:
    """A call with some keyword arguments more, or with other values, and without others."""
    given = dict(given)
    named = {arg.keyword.value: arg for arg in call.args if arg.keyword is not None}
    stored = without(call.args, *(named[name] for name in dropped if name in named))
    stored = [
        arg.with_changes(value=given.pop(arg.keyword.value)) if arg.keyword and arg.keyword.value in given else arg
        for arg in stored
    ]
    every = [*stored, *(keyword_argument(name, value) for name, value in given.items())]
    start = call.whitespace_before_args
    if not (every and call.args) and not has_comments(start):
        start = cst.SimpleWhitespace("")
    return call.with_changes(args=arranged(stored or call.args, every, start), whitespace_before_args=start)


@rewriters.register
def _name_argument(change: NameArgument, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    argument = found(tree, locate(change.at), cst.Arg)
    if argument.keyword is not None or argument.star:
        raise CannotChange("the argument is not positional")
    call = next(tree.around(argument))
    if isinstance(call, cst.Call) and any(arg.star == "*" for arg in call.args):
        raise CannotChange("there are positional arguments that cannot be named")
    is_alone = not change.is_one_of_many
    if is_alone and isinstance(call, cst.Call) and any(arg.keyword is None for arg in call.args if arg is not argument):
        raise CannotChange("there are other positional arguments")
    named = keyword_argument(change.keyword, argument.value)
    return {argument: lambda old: old.with_changes(keyword=named.keyword, equal=named.equal)}


@rewriters.register
def _call_function(change: CallFunction, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    call = found(tree, locate(change.at), cst.Call)
    if not isinstance(call.func, cst.Attribute):
        raise CannotChange("no method is called")

    def called(old: cst.CSTNode) -> New:
        assert isinstance(old, cst.Call)
        assert isinstance(old.func, cst.Attribute)
        start = old.whitespace_before_args
        between: cst.BaseParenthesizableWhitespace = cst.SimpleWhitespace(" ")
        if isinstance(start, cst.ParenthesizedWhitespace):
            between = separator(old.args, start)
            if has_lines(start):  # which are about what is the first argument now
                between = start.with_changes(first_line=cst.TrailingWhitespace())
                start = start.with_changes(empty_lines=())
        comma = cst.Comma(whitespace_after=between) if old.args else cst.MaybeSentinel.DEFAULT
        args = [cst.Arg(old.func.value, comma=comma), *old.args]
        return old.with_changes(func=cst.parse_expression(change.function), args=args, whitespace_before_args=start)

    return {call: called}


@rewriters.register
def _move_field(change: MoveField, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    moved, other = (next(tree.around(_declaration(tree, locate(at)))) for at in (change.at, change.before))
    block = next(tree.around(moved))
    if not isinstance(block, cst.IndentedBlock) or other not in block.body or moved is other:
        raise CannotChange("they are not declared in the same block")
    if not all(isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 for line in (moved, other)):
        raise CannotChange("other statements stand in the line")
    start, end = (list(block.body).index(line) for line in (other, moved))  # type: ignore[arg-type]
    if names([moved]) & {name for line in block.body[start:end] for name in _bound(line, tree)} or start > end:
        raise CannotChange("it needs what is declared in between")
    is_described = end + 1 < len(block.body) and _describes(block.body[end + 1])
    taken = block.body[end : end + 1 + is_described]
    order = [*block.body[:start], *taken, *block.body[start:end], *block.body[end + len(taken) :]]
    return {block: lambda old: old.with_changes(body=order)}


def _bound(line: cst.CSTNode, tree: Tree) -> set[str]:
    """The names that a line of a class binds."""
    if isinstance(line, (cst.ClassDef, cst.FunctionDef)):
        return {line.name.value}
    return {name.value for name in tree.below(line, cst.Name) if is_bound(name, tree.around(name))}


def _describes(line: cst.CSTNode) -> bool:
    """Whether a line is nothing but a string: what stands so below a field describes it."""
    only = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
    return isinstance(only, cst.Expr) and isinstance(only.value, (cst.SimpleString, cst.ConcatenatedString))


@rewriters.register
def _annotate(change: Annotate, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    name = found(tree, locate(change.at), cst.Name)
    statement = tree.statement_of(name)
    if not isinstance(statement, cst.Assign) or [one.target for one in statement.targets] != [name]:
        raise CannotChange("the name is not assigned alone")

    def annotated(old: cst.CSTNode) -> New:
        assert isinstance(old, cst.Assign)
        value = old.value
        if change.function:
            factory = keyword_argument("default_factory", _factory(value))
            value = cst.Call(cst.parse_expression(change.function), [factory])
        annotation = cst.Annotation(cst.parse_expression(change.annotation))
        return cst.AnnAssign(name, annotation, value, _PLAIN_EQUAL, old.semicolon)

    return {statement: annotated}


@rewriters.register
def _edit_field(change: EditField, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    declaration = _declaration(tree, locate(change.at))
    if change.is_call and not isinstance(declaration.value, cst.Call):
        raise CannotChange("the field has no field function")
    new = _field_value(declaration.value, change, tree)

    def declared(old: cst.CSTNode) -> New:
        assert isinstance(old, cst.AnnAssign)
        if new is None:
            return old.with_changes(value=None, equal=cst.MaybeSentinel.DEFAULT)
        equal = old.equal if isinstance(old.equal, cst.AssignEqual) else _PLAIN_EQUAL
        return old.with_changes(value=new, equal=equal)

    return {declaration: declared}


def _declaration(tree: Tree, place: Span) -> cst.AnnAssign:
    """The declaration of the field whose name (or which itself) stands at a place."""
    declaration = tree.node_at(place, cst.AnnAssign)
    if declaration is None:
        declaration = tree.nearest(found(tree, place, cst.Name), cst.AnnAssign)
    if declaration is None:
        raise CannotChange("there is no declaration")
    return declaration


def _field_value(value: cst.BaseExpression | None, change: EditField, tree: Tree) -> cst.BaseExpression | None:
    """The value with which a field is declared."""
    given = {name: cst.parse_expression(code) for name, code in change.given}
    without = list(change.without)
    if change.is_call:
        assert isinstance(value, cst.Call)
        call = value if not change.function else value.with_changes(func=cst.parse_expression(change.function))
        if change.metadata:
            left = _without_key(_keyword(call, "metadata"), change.metadata)
            if left is None:
                without.append("metadata")
            else:
                given["metadata"] = left
    else:
        call = cst.Call(cst.parse_expression(change.function))
        if value is not None:
            given = {"default": value, **given}
    if change.factory:
        default = given.pop("default", None) or _keyword(call, "default")
        given = {"default_factory": _factory(default), **given}
        if change.is_call:
            return _renamed(call, "default", "default_factory", given)
    made = edited(call, given, without)
    return made if made.args or change.says_role else None


def _keyword(call: cst.Call, name: str) -> cst.BaseExpression:
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == name:
            return arg.value
    raise CannotChange(f"there is no {name}")


def _renamed(call: cst.Call, old: str, new: str, values: Mapping[str, cst.BaseExpression]) -> cst.Call:
    """A call in which a keyword has another name and another value."""
    args = [
        arg.with_changes(keyword=cst.Name(new), value=values[new])
        if arg.keyword is not None and arg.keyword.value == old
        else arg
        for arg in call.args
    ]
    return call.with_changes(args=args)


def _factory(default: cst.BaseExpression) -> cst.BaseExpression:
    """What makes a new default each time."""
    empty = _EMPTY.get(type(default))
    if empty is not None and not getattr(default, "elements", None):
        return cst.Name(empty)
    if isinstance(default, cst.Call) and not default.args and isinstance(default.func, (cst.Name, cst.Attribute)):
        return default.func
    return cst.Lambda(
        cst.Parameters(),
        in_brackets(default) if isinstance(default, (cst.Tuple, cst.NamedExpr)) else default,
        whitespace_after_lambda=cst.MaybeSentinel.DEFAULT,
    )


def _without_key(metadata: cst.BaseExpression, key: str) -> cst.BaseExpression | None:
    """A dict display (or a call of `dict`) without a key; None if it has no other."""
    if isinstance(metadata, cst.Call) and isinstance(metadata.func, cst.Name) and metadata.func.value == "dict":
        made = edited(metadata, {}, [key])
        return made if made.args else None
    if not isinstance(metadata, cst.Dict):
        raise CannotChange("the metadata is no display")
    stored = [one for one in metadata.elements if not _is_key(one, key)]
    if stored:
        stored[-1] = stored[-1].with_changes(comma=metadata.elements[-1].comma)
    return metadata.with_changes(elements=stored) if stored else None


def _is_key(element: cst.BaseDictElement, key: str) -> bool:
    if not isinstance(element, cst.DictElement) or not isinstance(element.key, cst.SimpleString):
        return False
    return element.key.evaluated_value == key


@rewriters.register
def _move_item(change: MoveItem, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    source, target = _display(tree, locate(change.at)), _display(tree, locate(change.to))
    moved = next((one for one in source.elements if _is_text(one, change.item)), None)
    if moved is None:
        raise CannotChange("there is no such item")

    def without(old: cst.CSTNode) -> New:
        assert isinstance(old, (cst.List, cst.Tuple))
        stored = [one for one in old.elements if not _is_text(one, change.item)]
        if stored and old.elements[-1] is not stored[-1]:
            stored[-1] = stored[-1].with_changes(comma=_last_comma(stored, old))
        return old.with_changes(elements=stored)

    def extended(old: cst.CSTNode) -> New:
        assert isinstance(old, (cst.List, cst.Tuple))
        assert moved is not None
        return _appended(old, moved.value)

    return {source: without, target: extended}


@rewriters.register
def _add_items(change: AddItems, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    def extended(old: cst.CSTNode) -> New:
        assert isinstance(old, (cst.List, cst.Tuple))
        for item in change.items:
            old = _appended(old, cst.SimpleString(f'"{item}"'))
        return old

    return {_display(tree, locate(change.at)): extended}


def _appended(display: cst.List | cst.Tuple, value: cst.BaseExpression) -> cst.List | cst.Tuple:
    """A display with one more element; the comment behind the last one stays with it."""
    is_list = isinstance(display, cst.List)
    opening = display.lbracket if isinstance(display, cst.List) else display.lpar[0] if display.lpar else None
    closing = display.rbracket if isinstance(display, cst.List) else display.rpar[0] if display.rpar else None
    if not display.elements or opening is None or closing is None:
        return display.with_changes(elements=[cst.Element(value, _last_comma([cst.Element(value)], display))])
    *others, last = display.elements
    end, start = closing.whitespace_before, opening.whitespace_after
    new = cst.Element(value, last.comma if len(display.elements) > 1 or is_list else cst.MaybeSentinel.DEFAULT)
    if not isinstance(end, cst.ParenthesizedWhitespace):
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        return display.with_changes(elements=[*others, last.with_changes(comma=comma), new])
    indent = start.last_line if isinstance(start, cst.ParenthesizedWhitespace) else cst.SimpleWhitespace("    ")
    comma = cst.Comma(whitespace_after=end.with_changes(empty_lines=(), last_line=indent))
    ended = closing.with_changes(whitespace_before=end.with_changes(first_line=cst.TrailingWhitespace()))
    elements = [*others, last.with_changes(comma=comma), new]
    return display.with_changes(elements=elements, **({"rbracket": ended} if is_list else {"rpar": [ended]}))


def _display(tree: Tree, place: Span) -> cst.List | cst.Tuple:
    node = tree.expression_at(place)
    if not isinstance(node, (cst.List, cst.Tuple)):
        raise CannotChange("there is no display")
    return node


def _last_comma(elements: Sequence[cst.BaseElement], display: cst.List | cst.Tuple) -> cst.Comma | cst.MaybeSentinel:
    """What stands behind the last element: a tuple of one needs a comma."""
    if isinstance(display, cst.Tuple) and len(elements) == 1:
        return cst.Comma()
    last = display.elements[-1].comma if display.elements else cst.MaybeSentinel.DEFAULT
    return last if isinstance(last, cst.Comma) else cst.MaybeSentinel.DEFAULT


def _is_text(element: cst.BaseElement, text: str) -> bool:
    return isinstance(element.value, cst.SimpleString) and element.value.evaluated_value == text
