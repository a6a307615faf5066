"""What functions return, and what becomes of it where they are called."""

from __future__ import annotations

import re

import libcst as cst

from jaxlint.cst.changes import ReturnAlso, ReturnLast, TakeAlso, TakeResult
from jaxlint.cst.declaring import declared_at
from jaxlint.cst.names import called_name, is_label
from jaxlint.cst.rewriting import CannotChange, Locate, New, Rewriter, assignment, in_brackets, rewriters
from jaxlint.cst.shapes import parameters
from jaxlint.cst.trees import Tree
from jaxlint.cst.wanted import is_wanted

#: What hands on what stands in it.
_HANDING = (
    *(cst.Arg, cst.Element, cst.DictElement, cst.Assign, cst.AnnAssign, cst.Return, cst.Yield, cst.NamedExpr),
    *(cst.IfExp, cst.BooleanOperation, cst.Lambda, cst.Param),
)
#: What may be assigned: names, attributes, items.
_TARGET = re.compile(r"\w+(\.\w+|\[[^\[\]]*\])*")


@rewriters.register
def _return_last(change: ReturnLast, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    function = declared_at(tree, locate(change.at))
    if not isinstance(function, cst.FunctionDef) or not isinstance(function.body, cst.IndentedBlock):
        raise CannotChange("it has no body of its own lines")
    returns, yields = (
        [one for one in tree.all(kind) if tree.nearest(one, cst.FunctionDef) is function]
        for kind in (cst.Return, cst.Yield)
    )
    if yields or any(isinstance(one, cst.Return) and not _is_nothing(one.value) for one in returns):
        raise CannotChange("it returns something")
    if not returns and _ends(function.body.body[-1]):
        raise CannotChange("it always raises")
    line = cst.parse_statement(f"return {change.value}")
    assert isinstance(line, cst.SimpleStatementLine)

    def returned(old: cst.CSTNode) -> New:
        return old.with_changes(
            value=cst.parse_expression(change.value), whitespace_after_return=cst.SimpleWhitespace(" ")
        )

    def extended(old: cst.CSTNode) -> New:
        assert isinstance(old, cst.IndentedBlock)
        ends = _ends(old.body[-1])
        return old if ends else old.with_changes(body=[*old.body, line])

    own = parameters(function).get(change.value)

    def declared(old: cst.CSTNode) -> New:
        annotation = None if own is None or own.annotation is None else cst.Annotation(own.annotation.annotation)
        return old.with_changes(returns=annotation)

    made: dict[cst.CSTNode, Rewriter] = {function.body: extended, **dict.fromkeys(returns, returned)}
    if function.returns is not None:
        made[function] = declared
    return made


@rewriters.register
def _return_also(change: ReturnAlso, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    function = declared_at(tree, locate(change.at))
    if not isinstance(function, cst.FunctionDef) or not isinstance(function.body, cst.IndentedBlock):
        raise CannotChange("it has no body of its own lines")
    returns = [one for one in tree.all(cst.Return) if tree.nearest(one, cst.FunctionDef) is function]
    if not _ends(function.body.body[-1]):
        raise CannotChange("it may end without a `return`")
    name = cst.Name(change.name)
    own = parameters(function).get(change.name)

    def returned(old: cst.CSTNode) -> New:
        assert isinstance(old, cst.Return)
        value = _element(old.value) if old.value is not None else cst.Name("None")
        return old.with_changes(value=_pair(value, name), whitespace_after_return=cst.SimpleWhitespace(" "))

    def declared(old: cst.CSTNode) -> New:
        assert isinstance(old, cst.FunctionDef)
        before, added = old.returns, own.annotation if own is not None else None
        if before is None or added is None or isinstance(before.annotation, cst.SimpleString):
            return old.with_changes(returns=None)
        pair = [cst.SubscriptElement(cst.Index(one)) for one in (before.annotation, added.annotation)]
        return old.with_changes(returns=before.with_changes(annotation=cst.Subscript(cst.Name("tuple"), pair)))

    return {**dict.fromkeys(returns, returned), function: declared}


def _pair(first: cst.BaseExpression, second: cst.BaseExpression) -> cst.Tuple:
    """Two expressions, without brackets around them."""
    return cst.Tuple([cst.Element(first), cst.Element(second)], lpar=(), rpar=())


def _element(value: cst.BaseExpression) -> cst.BaseExpression:
    """An expression that stays whole beside a comma."""
    return in_brackets(value) if isinstance(value, (cst.Tuple, cst.NamedExpr, cst.Yield)) else value


@rewriters.register
def _take_result(change: TakeResult, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    name = tree.node_at(locate(change.at), cst.Name)
    if name is None:
        return {}  # in a comment, or a string
    call = _own_call(name, change, tree)
    if call is None:
        return {}
    statement = next(tree.around(call))
    if not isinstance(statement, cst.Expr):
        raise CannotChange("what it returns is used already")
    taken = _argument(call, change)
    target = tree.module.code_for_node(taken) if taken is not None else ""
    if re.fullmatch(r"[\w.]+", target) is None or not _may_be_bound(target, change, statement, tree):
        raise CannotChange("there is no variable that could be bound to the result")

    def assigned(old: cst.CSTNode) -> New:
        assert isinstance(old, cst.Expr)
        return assignment(target, old.value, old.semicolon)

    return {statement: assigned}


def _own_call(name: cst.Name, change: TakeResult | TakeAlso, tree: Tree) -> cst.Call | None:
    """The call of a function that is named; None if the name is that of something else.

    Raises `CannotChange` if the function is handed on to what may call it.
    """
    around = next(tree.around(name))
    is_attribute = isinstance(around, cst.Attribute) and around.attr is name
    if is_attribute != bool(change.owners) or is_label(name, tree) != is_attribute:
        return None
    func = around if is_attribute else name
    user = next(tree.around(func))
    if isinstance(user, cst.Call) and user.func is func:
        if isinstance(around, cst.Attribute) and is_attribute and not _is_known(around.value, change):
            raise CannotChange("nobody knows what it is called on")
        return user
    if isinstance(user, _HANDING) or (not is_attribute and isinstance(user, cst.Decorator)):
        raise CannotChange("the function is handed on")
    return None


def _is_known(value: cst.BaseExpression, change: TakeResult | TakeAlso) -> bool:
    """Whether a method is called on what certainly has it, by its name."""
    if isinstance(value, cst.Call):
        return called_name(value) == "super" or f"{called_name(value)}()" in change.owners
    last = value.attr if isinstance(value, cst.Attribute) else value
    return isinstance(last, cst.Name) and last.value in change.owners


@rewriters.register
def _take_also(change: TakeAlso, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    name = tree.node_at(locate(change.at), cst.Name)
    if name is None:
        return {}  # in a comment, or a string
    around = next(tree.around(name))
    if isinstance(around, (cst.FunctionDef, cst.Param, cst.AssignTarget)):
        return {}
    if isinstance(around, cst.Arg) and around.keyword is name:
        return {}
    if (isinstance(around, cst.Attribute) and around.attr is name) != bool(change.owners):
        return {}  # of something else
    if isinstance(around, cst.Attribute) and not _is_known(around.value, change):
        raise CannotChange("nobody knows what it is called on")
    call = _call_of(name, tree)
    if call is None:
        return {}
    statement = next(tree.around(call))
    taken = _argument(call, change)
    target = tree.module.code_for_node(taken) if taken is not None else ""
    is_plain = isinstance(statement, cst.Assign) and len(statement.targets) == 1
    if _TARGET.fullmatch(target) is None or not (is_plain or isinstance(statement, cst.Expr)):
        raise CannotChange("there is no variable that could be bound to the result")
    if not (target.endswith("]") or _may_be_bound(target, change, statement, tree)):
        raise CannotChange("nobody would see the copy")
    if isinstance(statement, cst.Assign) and _binds(statement.targets[0].target, target, tree):
        raise CannotChange("what is returned goes there already")

    def assigned(old: cst.CSTNode) -> New:
        assert isinstance(old, (cst.Expr, cst.Assign))
        first = _element(old.targets[0].target) if isinstance(old, cst.Assign) else cst.Name("_")
        made = assignment(target, old.value, old.semicolon)
        return made.with_changes(targets=[cst.AssignTarget(_pair(first, made.targets[0].target))])

    return {statement: assigned}


def _binds(target: cst.BaseExpression, name: str, tree: Tree) -> bool:
    """Whether an assignment to a target binds a name, or an attribute or item of it, or what it is one of."""
    if isinstance(target, (cst.Tuple, cst.List)):
        return any(_binds(element.value, name, tree) for element in target.elements)
    bound = tree.module.code_for_node(target)
    return name == bound or any(a.startswith((f"{b}.", f"{b}[")) for a, b in ((name, bound), (bound, name)))


def _may_be_bound(target: str, change: TakeResult | TakeAlso, statement: cst.CSTNode, tree: Tree) -> bool:
    """Whether a target is a variable that is used later, or an attribute that may be assigned."""
    _, point, attribute = target.rpartition(".")
    return attribute in change.attributes if point else is_wanted(target, statement, tree)


def _call_of(name: cst.Name, tree: Tree) -> cst.Call | None:
    """The call of a function that is named: `f(x)`, `x.f()`, or `jit(f)(x)`; None if `jit(f)` is assigned to a name.

    Raises `CannotChange` if it goes elsewhere.
    """
    called: cst.CSTNode = next(tree.around(name))
    func: cst.CSTNode = called if isinstance(called, cst.Attribute) and called.attr is name else name
    around = next(tree.around(func))
    if isinstance(around, cst.Call) and around.func is func:
        return around
    compiled = next(tree.around(around))
    is_compiled = isinstance(around, cst.Arg) and isinstance(compiled, cst.Call) and compiled.args[0] is around
    if is_compiled and isinstance(compiled, cst.Call):
        outer = next(tree.around(compiled))
        if isinstance(outer, cst.Call) and outer.func is compiled:
            return outer
        if isinstance(outer, cst.Assign) and isinstance(outer.targets[0].target, cst.Name) and len(outer.targets) == 1:
            return None
    raise CannotChange("the function is handed on")


def _argument(call: cst.Call, change: TakeResult | TakeAlso) -> cst.BaseExpression | None:
    """What a call is given for a parameter."""
    if change.position < 0:
        return call.func.value if isinstance(call.func, cst.Attribute) else None
    named = next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == change.parameter), None)
    if named is not None:
        return named.value
    positional = [arg for arg in call.args if arg.keyword is None]
    if len(positional) <= change.position or any(arg.star for arg in call.args):
        return None
    return positional[change.position].value


def _is_nothing(value: cst.BaseExpression | None) -> bool:
    return value is None or (isinstance(value, cst.Name) and value.value == "None")


def _ends(statement: cst.BaseStatement | cst.BaseSmallStatement) -> bool:
    """Whether nothing behind a statement is run."""
    last = statement.body[-1] if isinstance(statement, cst.SimpleStatementLine) else None
    return isinstance(last, (cst.Return, cst.Raise))
