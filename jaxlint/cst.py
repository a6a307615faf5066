"""libcst, as far as jaxlint uses it: reading a unit, translating expressions, and positions on demand.

No libcst visitor, matcher or metadata provider is used: they cost many times the parse
(facts/perf.md). Positions are computed only for nodes that are reported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

import libcst as cst
from libcst._nodes.internal import CodegenState

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
_BRACKETS = re.compile(r"[\[\](){}]")
_WORDS = {"None": None, "True": True, "False": False}


#: Python's own limit for nested brackets; libcst's parser has none and overflows the stack.
_MAX_BRACKETS = 200
#: Beyond this depth of the syntax tree libcst takes seconds (its time grows with the square of the depth).
_MAX_TREE_DEPTH = 600
_LONG_UNIT = 4000


def nests_too_deep(text: str) -> bool:
    """Whether brackets nest deeper than Python allows (brackets inside strings are counted too)."""
    depth = 0
    for bracket in _BRACKETS.findall(text):
        depth += 1 if bracket in "([{" else -1
        if depth > _MAX_BRACKETS:
            return True
    return False


def _is_too_deep(text: str) -> bool:
    """Whether libcst should not be given the text. Only a long text can be that deep."""
    if len(text) < _LONG_UNIT:
        return False
    if nests_too_deep(text):
        return True
    try:
        level: list[ast.AST] = [ast.parse(text)]
    except SyntaxError:
        return False
    except (ValueError, RecursionError, MemoryError):
        return True
    for _ in range(_MAX_TREE_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


def parse_unit(text: str) -> cst.Module | None:
    """The libcst tree of some top-level statements, or None if libcst cannot (or should not) read them."""
    if _is_too_deep(text):
        return None
    try:
        return cst.parse_module(text)
    except (cst.ParserSyntaxError, RecursionError, MemoryError, ValueError, TypeError):
        return None
    except BaseException as error:  # the native parser reports its own failures as PanicException
        if type(error).__name__ == "PanicException":
            return None
        raise


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
            items.append(Other(node, "Slice", tuple(to_expr(b, d) for b in bounds if b is not None)))
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


class _Positions(CodegenState):
    """A code generation that notes where the wanted nodes start and end."""

    def __init__(self, module: cst.Module, wanted: set[int]) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.wanted = wanted
        self.row = 1
        self.column = 0
        self.starts: dict[int, tuple[int, int]] = {}
        self.found: dict[int, tuple[int, int, int, int]] = {}

    def add_token(self, value: str) -> None:
        super().add_token(value)
        self._advance(value)

    def add_indent_tokens(self) -> None:
        super().add_indent_tokens()
        for token in self.indent_tokens:
            self._advance(token)

    def _advance(self, value: str) -> None:
        if "\n" in value or "\r" in value:
            parts = value.replace("\r\n", "\n").replace("\r", "\n").split("\n")
            self.row += len(parts) - 1
            self.column = len(parts[-1])
        else:
            self.column += len(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self.wanted:
            self.starts[id(node)] = (self.row, self.column)

    def after_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self.wanted and id(node) not in self.found:
            self.found[id(node)] = (*self.starts[id(node)], self.row, self.column)

    def record_syntactic_position(  # type: ignore[override]
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> _Syntactic:
        return _Syntactic(self, node)


class _Syntactic:
    """Notes the range of a node without the parentheses and white space around it."""

    def __init__(self, state: _Positions, node: cst.CSTNode) -> None:
        self.state = state
        self.node = node
        self.start = (0, 0)

    def __enter__(self) -> None:
        self.start = (self.state.row, self.state.column)

    def __exit__(self, *error: object) -> None:
        if id(self.node) in self.state.wanted:
            self.state.found[id(self.node)] = (*self.start, self.state.row, self.state.column)


def positions(module: cst.Module, nodes: Iterable[cst.CSTNode]) -> dict[int, tuple[int, int, int, int]]:
    """Where `nodes` of `module` stand, by `id(node)`: rows from 1, columns from 0 in code points, end exclusive."""
    state = _Positions(module, {id(n) for n in nodes})
    module._codegen(state)
    return state.found
