"""From libcst's nodes to the language of `jaxlint.expr` and `jaxlint.statements`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

import libcst as cst

from jaxlint.expr import (
    MAX_DEPTH,
    Argument,
    Attribute,
    Binary,
    BoolOp,
    Call,
    Clause,
    Compare,
    Comprehension,
    Conditional,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Lambda,
    Name,
    NamedExpr,
    Other,
    Starred,
    Subscript,
    Unary,
    dotted,
)
from jaxlint.statements import (
    Annotate,
    Assert,
    Assign,
    Augment,
    Body,
    Case,
    ClassDefinition,
    Delete,
    Do,
    For,
    FunctionDefinition,
    Handler,
    If,
    Importing,
    Jump,
    Match,
    Outer,
    Raise,
    Return,
    Statement,
    Try,
    While,
    With,
)

_BINARY: dict[type[cst.BaseBinaryOp], str] = {
    cst.Add: "+",
    cst.Subtract: "-",
    cst.Multiply: "*",
    cst.Divide: "/",
    cst.FloorDivide: "//",
    cst.Modulo: "%",
    cst.Power: "**",
    cst.MatrixMultiply: "@",
    cst.BitOr: "|",
    cst.BitAnd: "&",
    cst.BitXor: "^",
    cst.LeftShift: "<<",
    cst.RightShift: ">>",
}
_UNARY: dict[type[cst.BaseUnaryOp], str] = {cst.Minus: "-", cst.Plus: "+", cst.BitInvert: "~", cst.Not: "not"}
_COMPARE: dict[type[cst.BaseCompOp], str] = {
    cst.Equal: "==",
    cst.NotEqual: "!=",
    cst.LessThan: "<",
    cst.LessThanEqual: "<=",
    cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=",
    cst.Is: "is",
    cst.IsNot: "is not",
    cst.In: "in",
    cst.NotIn: "not in",
}
_AUGMENT: dict[type[cst.BaseAugOp], str] = {
    cst.AddAssign: "+",
    cst.SubtractAssign: "-",
    cst.MultiplyAssign: "*",
    cst.DivideAssign: "/",
    cst.FloorDivideAssign: "//",
    cst.ModuloAssign: "%",
    cst.PowerAssign: "**",
    cst.MatrixMultiplyAssign: "@",
    cst.BitOrAssign: "|",
    cst.BitAndAssign: "&",
    cst.BitXorAssign: "^",
    cst.LeftShiftAssign: "<<",
    cst.RightShiftAssign: ">>",
}
_WORDS = {"None": None, "True": True, "False": False}


def to_expr(node: cst.BaseExpression, depth: int = 0) -> Expr:
    """Translate a libcst expression; `at` of each part is its libcst node."""
    if depth > MAX_DEPTH:
        return Other(node, "deep", ())
    d = depth + 1
    match node:
        case cst.Name(value=name):
            if name in _WORDS:
                value = _WORDS[name]
                return Constant(node, value, type(value).__name__)
            return Name(node, name)
        case cst.Attribute(value=value, attr=attr):
            return Attribute(node, to_expr(value, d), attr.value)
        case cst.Call(func=func, args=args):
            return Call(node, to_expr(func, d), tuple(_argument(a, d) for a in args))
        case cst.Integer() | cst.Float() | cst.SimpleString() | cst.ConcatenatedString() | cst.Imaginary():
            return _literal(node)
        case cst.Subscript(value=value, slice=elements):
            return Subscript(node, to_expr(value, d), _index(node, elements, d))
        case cst.Tuple(elements=elements) | cst.List(elements=elements) | cst.Set(elements=elements):
            return Display(node, type(node).__name__.lower(), tuple(_element(e, d) for e in elements))
        case cst.Dict(elements=elements):
            return DictDisplay(
                node,
                tuple(to_expr(e.key, d) if isinstance(e, cst.DictElement) else None for e in elements),
                tuple(to_expr(e.value, d) for e in elements),
            )
        case cst.BinaryOperation(left=left, operator=operator, right=right):
            return Binary(node, _BINARY[type(operator)], to_expr(left, d), to_expr(right, d))
        case cst.UnaryOperation(operator=operator, expression=operand):
            return Unary(node, _UNARY[type(operator)], to_expr(operand, d))
        case cst.BooleanOperation(left=left, operator=operator, right=right):
            word = "and" if isinstance(operator, cst.And) else "or"
            return BoolOp(node, word, to_expr(left, d), to_expr(right, d))
        case cst.Comparison(left=left, comparisons=comparisons):
            return Compare(
                node,
                to_expr(left, d),
                tuple(_COMPARE.get(type(c.operator), "!=") for c in comparisons),
                tuple(to_expr(c.comparator, d) for c in comparisons),
            )
        case cst.IfExp(test=test, body=body, orelse=orelse):
            return Conditional(node, to_expr(test, d), to_expr(body, d), to_expr(orelse, d))
        case cst.Lambda(params=params, body=body):
            names = tuple(p.name.value for p in [*params.posonly_params, *params.params])
            return Lambda(node, names, to_expr(body, d))
        case cst.ListComp(elt=element) | cst.SetComp(elt=element) | cst.GeneratorExp(elt=element):
            kind = {cst.ListComp: "list", cst.SetComp: "set", cst.GeneratorExp: "generator"}[type(node)]
            return Comprehension(node, kind, None, to_expr(element, d), _clauses(node.for_in, d))
        case cst.DictComp(key=key, value=value):
            return Comprehension(node, "dict", to_expr(key, d), to_expr(value, d), _clauses(node.for_in, d))
        case cst.NamedExpr(target=target, value=value):
            return NamedExpr(node, to_expr(target, d), to_expr(value, d))
    return Other(node, type(node).__name__, tuple(to_expr(p, d) for p in _expressions_in(node)))


def _argument(arg: cst.Arg, d: int) -> Argument:
    return Argument(arg, to_expr(arg.value, d), arg.keyword.value if arg.keyword is not None else None, arg.star)


def _element(element: cst.BaseElement, d: int) -> Expr:
    value = to_expr(element.value, d)
    return Starred(element, value) if isinstance(element, cst.StarredElement) else value


def _index(node: cst.Subscript, elements: Iterable[cst.SubscriptElement], d: int) -> Expr:
    items: list[Expr] = []
    for element in elements:
        if isinstance(element.slice, cst.Index):
            items.append(to_expr(element.slice.value, d))
        elif isinstance(element.slice, cst.Slice):
            bounds = (element.slice.lower, element.slice.upper, element.slice.step)
            parts = [Constant(node, None, "NoneType") if b is None else to_expr(b, d) for b in bounds]
            items.append(Other(node, "Slice", tuple(parts)))
    return items[0] if len(items) == 1 else Display(node, "tuple", tuple(items))


def _clauses(comp: cst.CompFor, d: int) -> tuple[Clause, ...]:
    out: list[Clause] = []
    current: cst.CompFor | None = comp
    while current is not None:
        conditions = tuple(to_expr(i.test, d) for i in current.ifs)
        out.append(Clause(current, to_expr(current.target, d), to_expr(current.iter, d), conditions))
        current = current.inner_for_in
    return tuple(out)


def _literal(node: cst.BaseExpression) -> Constant:
    """The value of a literal; f-strings inside a concatenation leave it unknown."""
    if isinstance(node, cst.SimpleString):
        text = node.value
        if text[0] in "'\"" and "\\" not in text and text[:3] not in ('"""', "'''"):
            return Constant(node, text[1:-1], "str")
    elif isinstance(node, cst.Integer) and node.value.isdecimal() and node.value[0] != "0":
        return Constant(node, int(node.value), "int")
    try:
        value = ast.literal_eval(cst.Module([]).code_for_node(node))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return Constant(node, None, "str")
    kept = value if isinstance(value, (bool, int, float, str)) else None
    return Constant(node, kept, type(value).__name__)


def _expressions_in(node: cst.CSTNode) -> list[cst.BaseExpression]:
    """The nearest expressions below a node of any other kind (await, yield, f-string, …)."""
    found: list[cst.BaseExpression] = []
    for child in node.children:
        if isinstance(child, cst.BaseExpression):
            found.append(child)
        elif not isinstance(child, cst.BaseParenthesizableWhitespace):
            found += _expressions_in(child)
    return found


def to_body(nodes: Sequence[cst.CSTNode]) -> Body:
    """Translate the statements of a block; `at` of each is its libcst node."""
    out: list[Statement] = []
    for node in nodes:
        if isinstance(node, cst.SimpleStatementLine):
            out += [s for small in node.body if (s := _simple(small)) is not None]
        elif isinstance(node, cst.BaseSmallStatement):
            small_statement = _simple(node)
            if small_statement is not None:
                out.append(small_statement)
        else:
            compound = _compound(node)
            if compound is not None:
                out.append(compound)
    return tuple(out)


def _block(node: cst.BaseSuite | cst.Else | cst.Finally | None) -> Body:
    if node is None:
        return ()
    return to_body((node if isinstance(node, cst.BaseSuite) else node.body).body)


def _optional(node: cst.BaseExpression | None) -> Expr | None:
    return None if node is None else to_expr(node)


def _simple(node: cst.BaseSmallStatement) -> Statement | None:
    match node:
        case cst.Expr(value=value):
            return Do(node, to_expr(value))
        case cst.Assign(targets=targets, value=value):
            return Assign(node, tuple(to_expr(t.target) for t in targets), to_expr(value))
        case cst.AnnAssign(target=target, annotation=annotation, value=value):
            return Annotate(node, to_expr(target), to_expr(annotation.annotation), _optional(value))
        case cst.AugAssign(target=target, operator=operator, value=value):
            return Augment(node, to_expr(target), _AUGMENT[type(operator)], to_expr(value))
        case cst.Return(value=value):
            return Return(node, _optional(value))
        case cst.Raise(exc=error):
            return Raise(node, _optional(error))
        case cst.Break() | cst.Continue():
            return Jump(node)
        case cst.Del(target=target):
            return Delete(node, to_expr(target))
        case cst.Assert(test=test, msg=message):
            return Assert(node, to_expr(test), _optional(message))
        case cst.Import() | cst.ImportFrom():
            return Importing(node, _imported(node))
        case cst.Global(names=names) | cst.Nonlocal(names=names):
            return Outer(node, tuple(n.name.value for n in names))
    return None


def _imported(node: cst.Import | cst.ImportFrom) -> tuple[str, ...]:
    """The dotted names as they are bound (`a.b` for `import a.b`)."""
    if isinstance(node.names, cst.ImportStar):
        return ()
    names: list[str] = []
    for alias in node.names:
        bound = alias.asname.name if alias.asname is not None else alias.name
        name = dotted(to_expr(bound)) if isinstance(bound, cst.BaseExpression) else None
        if name is not None:
            names.append(name)
    return tuple(names)


def _compound(node: cst.CSTNode) -> Statement | None:
    match node:
        case cst.FunctionDef(name=name, decorators=decorators, params=params, body=body):
            parameters = (*params.params, *params.kwonly_params, *params.posonly_params)
            return FunctionDefinition(
                node,
                name.value,
                tuple(to_expr(d.decorator) for d in decorators),
                tuple(to_expr(p.default) for p in parameters if p.default is not None),
                to_body(body.body),
            )
        case cst.ClassDef(name=name, decorators=decorators, body=body):
            return ClassDefinition(
                node, name.value, tuple(to_expr(d.decorator) for d in decorators), to_body(body.body)
            )
        case cst.If():
            return _if(node)
        case cst.For(target=target, iter=iterable, body=body, orelse=orelse):
            return For(node, to_expr(target), to_expr(iterable), _block(body), _block(orelse))
        case cst.While(test=test, body=body, orelse=orelse):
            return While(node, to_expr(test), _block(body), _block(orelse))
        case cst.With(items=items, body=body):
            return With(
                node,
                tuple((to_expr(i.item), None if i.asname is None else _as_target(i.asname)) for i in items),
                _block(body),
            )
        case cst.Try() | cst.TryStar():
            return Try(
                node,
                _block(node.body),
                tuple(_handler(h) for h in node.handlers),
                _block(node.orelse),
                _block(node.finalbody),
            )
        case cst.Match(subject=subject, cases=cases):
            return Match(node, to_expr(subject), tuple(_case(c) for c in cases))
    return None


def _if(node: cst.If) -> If:
    branches: list[tuple[Expr, Body]] = []
    branch: cst.If | cst.Else | None = node
    while isinstance(branch, cst.If):
        branches.append((to_expr(branch.test), _block(branch.body)))
        branch = branch.orelse
    return If(node, tuple(branches), _block(branch))


def _as_target(node: cst.AsName) -> Expr:
    return to_expr(node.name)


def _handler(node: cst.ExceptHandler | cst.ExceptStarHandler) -> Handler:
    name = node.name.name if node.name is not None else None
    return Handler(_optional(node.type), name.value if isinstance(name, cst.Name) else None, _block(node.body))


def _case(node: cst.MatchCase) -> Case:
    pattern = node.pattern
    bare = isinstance(pattern, cst.MatchAs) and pattern.pattern is None
    return Case(
        cls=to_expr(pattern.cls) if isinstance(pattern, cst.MatchClass) else None,
        whole=pattern.name.value if isinstance(pattern, cst.MatchAs) and bare and pattern.name is not None else None,
        always=bare,
        captured=frozenset(_captured(pattern)),
        guard=_optional(node.guard),
        body=_block(node.body),
    )


def _captured(pattern: cst.CSTNode) -> set[str]:
    """The names that a `match` pattern binds."""
    names: set[str] = set()
    stack: list[cst.CSTNode] = [pattern]
    while stack:
        node = stack.pop()
        if isinstance(node, (cst.MatchAs, cst.MatchStar)) and node.name is not None:
            names.add(node.name.value)
        elif isinstance(node, cst.MatchMapping) and node.rest is not None:
            names.add(node.rest.value)
        stack.extend(node.children)
    return names
