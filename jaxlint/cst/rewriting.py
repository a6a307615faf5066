"""What each kind of change makes of the libcst tree of the code that it is in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, singledispatch
from typing import TypeAlias, TypeVar

import libcst as cst

from jaxlint.cst.changes import AssignTo, CallSetattr, Change, Rename, Rewrite, SetItem, UpdateField
from jaxlint.cst.names import binds, is_label
from jaxlint.cst.trees import Tree
from jaxlint.cst.wanted import is_outer, is_own_array, is_wanted
from jaxlint.syntax.expressions import Span

Kind = TypeVar("Kind", bound=cst.CSTNode)
New: TypeAlias = cst.CSTNode | cst.RemovalSentinel | cst.FlattenSentinel[cst.CSTNode]
#: Makes the new node out of the old one, in which what is inside has been rewritten already.
Rewriter: TypeAlias = Callable[[cst.CSTNode], New]
#: What `at` means in code points.
Locate: TypeAlias = Callable[[object], Span]

_SIMPLE = (
    *(cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.BaseNumber, cst.BaseString),
    *(cst.List, cst.Dict, cst.Set, cst.ListComp, cst.DictComp, cst.SetComp),
)


#: How long a line may be in any file.
_WIDTH = 88


class CannotChange(Exception):
    """A change does not fit the code that it is meant for."""


class NewNodes(cst.CSTTransformer):
    """Puts other nodes into a tree."""

    def __init__(self, rewriters: dict[cst.CSTNode, Rewriter]) -> None:
        """Take what makes a new node of each that is to go."""
        super().__init__()
        self._rewriters = rewriters

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> New:  # type: ignore[override]
        """The new node."""
        rewriter = self._rewriters.get(original_node)
        return updated_node if rewriter is None else rewriter(updated_node)


def new_texts(tree: Tree, rewriters: dict[cst.CSTNode, Rewriter]) -> dict[tuple[int, int], str]:
    """The new text of each part of the source that gets one, by its start and end: whole statements, or the module."""
    transformer = NewNodes(rewriters)
    made: dict[cst.CSTNode, list[cst.CSTNode]] = {}
    pending = {tree.holder(node): None for node in rewriters}
    while pending:
        holder, _ = pending.popitem()
        if any(one in made or one in pending for one in tree.around(holder)):
            continue
        new = holder.visit(transformer)
        nodes = list(new) if isinstance(new, cst.FlattenSentinel) else [new] if isinstance(new, cst.CSTNode) else []
        if nodes and not any(isinstance(node, cst.SimpleStatementLine) and not node.body for node in nodes):
            made[holder] = nodes
        else:  # the block says what stands in it when a line has gone
            pending[tree.holder(next(tree.around(holder)))] = None
    inside = {one for one in made if any(around in made for around in tree.around(one))}
    return {tree.range_of(one): tree.text_of(one, nodes) for one, nodes in made.items() if one not in inside}


@singledispatch
def rewriters(change: Change, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    """What makes new nodes of those that a change concerns. Raises `CannotChange`."""
    raise CannotChange(type(change).__name__)


# -- statements ----------------------------------------------------------------------------------


@rewriters.register
def _assign_to(change: AssignTo, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    statement = found(tree, locate(change.at), cst.Expr)
    if not isinstance(statement.value, cst.Call) or statement.value.lpar:
        raise CannotChange("the call is no statement of its own")
    if not (change.is_returned or "." in change.target or is_wanted(change.target, statement, tree)):
        raise CannotChange("nobody would see the copy")

    def assigned(expr: cst.CSTNode) -> New:
        assert isinstance(expr, cst.Expr)
        if change.template == "{value}":
            return assignment(change.target, expr.value, expr.semicolon)
        made = expression(change.template, tree, value=expr.value)
        made = fitted(made, tree.place_of(statement).column + len(f"{change.target} = "), tree)
        return assignment(change.target, made, expr.semicolon)

    return {statement: assigned}


@rewriters.register
def _update_field(change: UpdateField, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    place = locate(change.at)
    target = tree.node_at(place, cst.Subscript) if change.array else tree.node_at(place, cst.Attribute)
    if target is None and not change.array:
        target = tree.node_at(place, cst.Subscript)
    statement = tree.node_at(place, cst.Expr) if target is None else tree.statement_of(target)
    block = next((one for one in tree.around(target or tree.module) if isinstance(one, (cst.For, cst.With))), None)
    around = statement or block
    if around is None:
        raise CannotChange("there is no statement")
    is_plain = target is None or _is_only_target(target, statement)
    others = [_plain_assignment(locate(at), tree) for at in change.also] if is_plain else []
    is_own = change.array == change.base and is_own_array(change.base, around, tree)
    if not (change.is_returned or is_own or "." in change.base or is_wanted(change.base, around, tree, others)):
        raise CannotChange("nobody would see the copy")
    if change.array and isinstance(target, cst.Subscript) and tree.module.code_for_node(target.value) != change.array:
        raise CannotChange("it is an item of an item")

    def updated(old: cst.CSTNode) -> New:
        assert isinstance(old, (cst.Assign, cst.AugAssign, cst.AnnAssign, cst.Expr))
        value = _item_set(old) if change.array else _assigned(old)
        copied = _copy(change, [value, *map(_assigned, others)], tree, _named_by(old))
        copied = fitted(copied, tree.place_of(around).column + len(f"{change.base} = "), tree)
        beside = [one for one in others if next(tree.around(one)) is next(tree.around(around))]
        return assignment(change.base, copied, beside[-1].semicolon if beside else old.semicolon)

    if target is None and (change.array or not _is_setattr(statement)):
        raise CannotChange("it is no plain assignment")
    if target is None or is_plain:
        return {around: updated, **{one: lambda old: cst.RemoveFromParent() for one in others}}
    also = [found(tree, locate(at), cst.Attribute) for at in change.also]
    return _through_variables(change, [target, *also], around, tree)


def _plain_assignment(place: Span, tree: Tree) -> cst.Assign | cst.AugAssign:
    """The statement that assigns to the attribute at a place, and to nothing else."""
    target = found(tree, place, cst.Attribute)
    statement = tree.statement_of(target)
    if not isinstance(statement, (cst.Assign, cst.AugAssign)) or not _is_only_target(target, statement):
        raise CannotChange("it is no plain assignment")
    return statement


def _copy(
    change: UpdateField, values: Sequence[cst.BaseExpression], tree: Tree, named_by: cst.BaseExpression | None = None
) -> cst.BaseExpression:
    """The updated copy with some values; of the attribute that an expression names, if the template asks for that."""
    named = {f"value{number or ''}": value for number, value in enumerate(values)}
    if named_by is not None:
        named["attr"] = named_by
    return expression(change.template.replace("{base}", change.base), tree, **named)


def _is_only_target(target: cst.CSTNode, statement: cst.CSTNode | None) -> bool:
    """Whether a statement assigns to one target and nothing else."""
    match statement:
        case cst.Assign(targets=[cst.AssignTarget(target=only)]):
            return only is target
        case cst.AugAssign(target=only):
            return only is target
        case cst.AnnAssign(target=only, value=cst.BaseExpression()):
            return only is target
    return False


def _through_variables(
    change: UpdateField, targets: Sequence[cst.CSTNode], around: cst.CSTNode, tree: Tree
) -> dict[cst.CSTNode, Rewriter]:
    """Variables are bound where the targets were, and a line behind makes the copy of them.

    They stand among others: in a tuple, in a `for` loop or in a `with` statement.
    """
    names: dict[cst.CSTNode, cst.Name] = {}
    values: list[cst.BaseExpression] = []
    for target in targets:
        assert isinstance(target, (cst.Attribute, cst.Subscript))
        wanted = "item" if isinstance(target, cst.Subscript) else target.attr.value
        names[target] = name = cst.Name(_new_name(wanted, target, tree, [one.value for one in names.values()]))
        if isinstance(target, cst.Subscript) and change.array:
            values.append(_with_item(target, "set", name))
        else:
            values.append(name)
    made = assignment(change.base, _copy(change, values, tree), cst.MaybeSentinel.DEFAULT)
    line = cst.SimpleStatementLine([made])
    holder = next(tree.around(around)) if isinstance(around, cst.Assign) else around
    if isinstance(around, cst.Assign) and any(binds(one.target, change.base) for one in around.targets):
        raise CannotChange("the variable is bound there, too")
    if isinstance(around, cst.Assign) and any(_asks_for(one.target, change.base, tree) for one in around.targets):
        raise CannotChange("what it is by then says where something else goes")
    if is_outer(change.base, around, tree):
        raise CannotChange("nobody knows what the variable is once it is bound, for the other targets")

    def followed(old: cst.CSTNode) -> New:
        if isinstance(old, cst.SimpleStatementLine) and len(old.body) == 1:
            return cst.FlattenSentinel([old, line])
        if isinstance(old, (cst.For, cst.With)) and isinstance(old.body, cst.IndentedBlock):
            return old.with_changes(body=old.body.with_changes(body=[line, *old.body.body]))
        raise CannotChange("there is no room for another line")

    if not isinstance(around, (cst.Assign, cst.For, cst.With)):
        raise CannotChange("it is no target")
    if not all(_is_target(target, around, tree) for target in targets):
        raise CannotChange("it is no target")
    if isinstance(around, cst.Assign) and _is_followed(targets[-1], around, tree):
        raise CannotChange("the line of what is assigned behind it comes first")
    return {holder: followed, **{target: partial(_put, name) for target, name in names.items()}}


def _asks_for(target: cst.BaseExpression, base: str, tree: Tree) -> bool:
    """Whether an index in a target, which is read after what stands before it is bound, asks for a variable."""
    indices = (one for item in tree.below(target, cst.Subscript) for one in item.slice)
    root = base.partition(".")[0]
    return any(name.value == root for index in indices for name in tree.below(index, cst.Name))


def _is_followed(target: cst.CSTNode, statement: cst.Assign, tree: Tree) -> bool:
    """Whether a target behind one may be the same item or attribute, or a part of it: the last one counts then.

    The line of each is put right behind the statement, so that the last one has to be put there first.
    """
    kinds, path = (cst.Attribute, cst.Subscript), _path(target)
    nodes = [node for one in statement.targets for kind in kinds for node in tree.below(one.target, kind)]
    behind = (node for node in nodes if tree.place_of(node) > tree.place_of(target))
    others = [_path(node) for node in behind if _is_target(node, statement, tree)]
    return any(path[: len(other)] == other[: len(path)] for other in others)


def _path(node: cst.CSTNode) -> list[str]:
    """The names of the attributes by which something is reached, which items of whatever index have none of."""
    names: list[str] = []
    while isinstance(node, (cst.Attribute, cst.Subscript)):
        names[:0] = [node.attr.value] if isinstance(node, cst.Attribute) else []
        node = node.value
    return [node.value if isinstance(node, cst.Name) else "", *names]


def _put(new: cst.CSTNode, old: cst.CSTNode) -> New:
    return new


def _is_target(node: cst.CSTNode, statement: cst.Assign | cst.For | cst.With, tree: Tree) -> bool:
    """Whether a statement binds a node: it is a target, or stands in a tuple or list that is one."""
    around = next(tree.around(node))
    while isinstance(around, (cst.Element, cst.StarredElement, cst.Tuple, cst.List)):
        node, around = around, next(tree.around(around))
    if isinstance(around, cst.For):
        return around is statement and around.target is node
    return isinstance(around, (cst.AssignTarget, cst.AsName)) and statement in tree.around(around)


def _new_name(name: str, target: cst.CSTNode, tree: Tree, others: Sequence[str]) -> str:
    """The name of a variable that a function does not know yet, like this one, and unlike others."""
    if tree.nearest(target, cst.FunctionDef) is None:
        raise CannotChange("others may see the variable")
    used = {one.value for one in tree.all(cst.Name) if not is_label(one, tree)}.union(others)
    for free in (name, f"new_{name}"):
        if free not in used:
            return free
    raise CannotChange("there is no name for the variable")


@rewriters.register
def _call_setattr(change: CallSetattr, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    place = locate(change.at)
    target = tree.node_at(place, cst.Attribute)
    statement = tree.node_at(place, cst.Expr) if target is None else tree.statement_of(target)
    if target is None and _is_setattr(statement):
        assert isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Call)
        named = statement.value.func
        return {named: lambda old: cst.parse_expression("object.__setattr__")}
    if target is None or not isinstance(statement, (cst.Assign, cst.AugAssign)):
        raise CannotChange("it is no plain assignment")
    targets = [one.target for one in statement.targets] if isinstance(statement, cst.Assign) else [statement.target]
    if targets != [target]:
        raise CannotChange("there are several targets")
    instance, attribute = tree.module.code_for_node(target.value), target.attr.value

    def called(old: cst.CSTNode) -> New:
        assert isinstance(old, (cst.Assign, cst.AugAssign))
        template = f'object.__setattr__({instance}, "{attribute}", {{value}})'
        return cst.Expr(expression(template, tree, value=_assigned(old)), old.semicolon)

    return {statement: called}


@rewriters.register
def _set_item(change: SetItem, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    target = found(tree, locate(change.at), cst.Subscript)
    statement = tree.statement_of(target)
    index = target.slice[0].slice if len(target.slice) == 1 else None
    if not isinstance(statement, (cst.Assign, cst.AugAssign)) or not isinstance(index, cst.Index):
        raise CannotChange("it is no plain assignment")
    if isinstance(statement, cst.Assign) and [one.target for one in statement.targets] != [target]:
        raise CannotChange("there are several targets")
    if tree.module.code_for_node(target.value) != change.held:
        raise CannotChange("it is an item of an item")
    if not (change.is_returned or "." in change.base or is_wanted(change.base, statement, tree)):
        raise CannotChange("nobody would see the copy")

    def updated(old: cst.CSTNode) -> New:
        assert isinstance(old, (cst.Assign, cst.AugAssign))
        made = expression(f"{{**{change.held}, {{key}}: {{value}}}}", tree, key=index.value, value=_assigned(old))
        return assignment(change.base, expression(change.template, tree, value=made), old.semicolon)

    return {statement: updated}


def _item_set(statement: cst.Assign | cst.AugAssign | cst.AnnAssign | cst.Expr) -> cst.BaseExpression:
    """`x.at[i].set(v)` for `x[i] = v`, and kin."""
    assert not isinstance(statement, cst.Expr)
    target = statement.targets[0].target if isinstance(statement, cst.Assign) else statement.target
    assert isinstance(target, cst.Subscript)
    method, value = "set", _assigned(statement)
    if isinstance(statement, cst.AugAssign) and isinstance(statement.operator, cst.AddAssign):
        method, value = "add", statement.value
    if isinstance(value, (cst.Tuple, cst.List)):
        raise CannotChange("an array takes no display")
    return _with_item(target, method, value)


def _with_item(item: cst.Subscript, method: str, value: cst.BaseExpression) -> cst.Call:
    """`x.at[i].set(value)` for `x[i]`."""
    place = item.with_changes(value=cst.Attribute(item.value, cst.Name("at")), lpar=(), rpar=())
    return cst.Call(cst.Attribute(place, cst.Name(method)), [cst.Arg(_argument(value))])


def _argument(value: cst.BaseExpression) -> cst.BaseExpression:
    """An expression as an argument."""
    return in_brackets(value) if isinstance(value, (cst.Tuple, cst.GeneratorExp, cst.Yield)) else value


def _is_setattr(statement: cst.CSTNode | None) -> bool:
    """Whether a statement is `setattr(x, "name", value)`."""
    if not isinstance(statement, cst.Expr) or not isinstance(statement.value, cst.Call) or statement.value.lpar:
        return False
    args = statement.value.args
    is_plain = len(args) == 3 and not any(arg.star or arg.keyword for arg in args)
    return is_plain and isinstance(statement.value.func, cst.Name) and statement.value.func.value == "setattr"


def _named_by(statement: cst.CSTNode) -> cst.BaseExpression | None:
    """What says which attribute a statement sets, if that is a call of `setattr`."""
    if isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Call):
        return statement.value.args[1].value
    return None


def _assigned(statement: cst.Assign | cst.AugAssign | cst.AnnAssign | cst.Expr) -> cst.BaseExpression:
    """The new value of an attribute."""
    if isinstance(statement, (cst.Assign, cst.AnnAssign)):
        assert statement.value is not None
        return statement.value
    if isinstance(statement, cst.Expr):
        assert isinstance(statement.value, cst.Call)
        return statement.value.args[2].value
    operators = {f"{name}Assign": getattr(cst, name) for name in _OPERATORS}
    operator = operators[type(statement.operator).__name__]()
    assert isinstance(statement.target, (cst.Attribute, cst.Subscript))
    return cst.BinaryOperation(statement.target, operator, in_brackets(statement.value))


_OPERATORS = (
    *("Add", "Subtract", "Multiply", "Divide", "FloorDivide", "Modulo", "Power", "MatrixMultiply"),
    *("BitAnd", "BitOr", "BitXor", "LeftShift", "RightShift"),
)


def assignment(target: str, value: cst.BaseExpression, semicolon: cst.Semicolon | cst.MaybeSentinel) -> cst.Assign:
    """`target = value`, in place of a statement with this semicolon."""
    return cst.Assign([cst.AssignTarget(cst.parse_expression(target))], value, semicolon)  # type: ignore[arg-type]


# -- expressions ---------------------------------------------------------------------------------


@rewriters.register
def _rename(change: Rename, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    place = locate(change.at)
    argument, attribute = tree.node_at(place, cst.Arg), tree.node_at(place, cst.Attribute)
    old: cst.CSTNode | None = tree.node_at(place, cst.Name)
    if argument is not None and argument.keyword is not None:
        old = argument.keyword
    elif attribute is not None:
        old = attribute.attr
    if old is None:
        raise CannotChange("there is no name")
    return {old: lambda node: node.with_changes(value=change.name)}


@rewriters.register
def _rewrite(change: Rewrite, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    old = _expression(tree, locate(change.at))
    values = {f"_{number}": _expression(tree, locate(part)) for number, part in enumerate(change.parts)}
    template = change.template
    for number in range(len(change.parts)):
        template = template.replace(f"{{{number}}}", f"{{_{number}}}")
    new = values["_0"] if change.template == "{0}" else expression(template, tree, **values)
    if count_comments(old) != count_comments(new):
        raise CannotChange("a comment would be lost")
    if old.lpar and not new.lpar and not isinstance(old, (cst.Tuple, cst.GeneratorExp)):
        new = new.with_changes(lpar=old.lpar, rpar=old.rpar)
    return {old: lambda node: new}


def count_comments(node: cst.CSTNode) -> int:
    """How many comments stand in a node."""
    return isinstance(node, cst.Comment) + sum(map(count_comments, node.children))


def fitted(value: cst.BaseExpression, column: int, tree: Tree) -> cst.BaseExpression:
    """An expression that begins in a column; a call that would make the longest line has a row for each argument."""
    text = tree.module.code_for_node(value)
    longest = max(_WIDTH, *map(len, tree.source.lines))
    if not isinstance(value, cst.Call) or "\n" in text or column + len(text) <= longest:
        return value
    within, behind = _new_row(tree.module.default_indent), _new_row("")
    *others, last = value.args
    args = [arg.with_changes(comma=cst.Comma(whitespace_after=within)) for arg in others]
    if others:
        args.append(last.with_changes(comma=cst.Comma(whitespace_after=behind)))
    else:
        args.append(last.with_changes(whitespace_after_arg=behind))
    return value.with_changes(whitespace_before_args=within, args=args)


def _new_row(indent: str) -> cst.ParenthesizedWhitespace:
    """The end of a row in brackets, and how much further in the next one begins."""
    return cst.ParenthesizedWhitespace(indent=True, last_line=cst.SimpleWhitespace(indent))


def keyword_argument(name: str, value: cst.BaseExpression) -> cst.Arg:
    """`name=value` without spaces."""
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    return cst.Arg(value, cst.Name(name), equal)


def expression(template: str, tree: Tree, **values: cst.BaseExpression) -> cst.BaseExpression:
    """The expression that a template makes; in it `{name}` stands for an expression that is there already."""
    names = {f"__{name}__": value for name, value in values.items()}
    for name in values:
        template = template.replace(f"{{{name}}}", f"__{name}__")
    parsed = cst.parse_expression(template, tree.module.config_for_parsing)
    filled = parsed.visit(_Filled(names))
    assert isinstance(filled, cst.BaseExpression)
    return filled


class _Filled(cst.CSTTransformer):
    """Puts expressions in the place of names; in brackets where they would not stay whole."""

    def __init__(self, values: dict[str, cst.BaseExpression]) -> None:
        super().__init__()
        self._values = values
        self._plain: set[cst.CSTNode] = set()

    def visit_Arg(self, node: cst.Arg) -> None:
        self._plain.add(node.value)

    def visit_Index(self, node: cst.Index) -> None:
        self._plain.add(node.value)

    def visit_Element(self, node: cst.Element) -> None:
        self._plain.add(node.value)

    def visit_DictElement(self, node: cst.DictElement) -> None:
        self._plain.add(node.value)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        value = self._values.get(original_node.value)
        if value is None:
            return updated_node
        if original_node in self._plain:
            return _argument(value)
        return in_brackets(value)


def in_brackets(value: cst.BaseExpression) -> cst.BaseExpression:
    """An expression that stays whole beside an operator."""
    if value.lpar or isinstance(value, _SIMPLE):
        return value
    return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def found(tree: Tree, place: Span, kind: type[Kind]) -> Kind:
    """The node of a kind at a place. Raises `CannotChange` if there is none."""
    node = tree.node_at(place, kind)
    if node is None:
        raise CannotChange(f"there is no {kind.__name__}")
    return node


def _expression(tree: Tree, place: Span) -> cst.BaseExpression:
    node = tree.expression_at(place)
    if node is None:
        raise CannotChange("there is no expression")
    return node
