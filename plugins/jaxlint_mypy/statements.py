"""What surrounds an expression: hooks of mypy see a call or an attribute, and not the statement that it stands in.

mypy's own visitors are compiled and cannot be inherited from, so the statements are walked by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import msgspec
from msgspec.structs import replace
from mypy import nodes
from mypy.nodes import Block, Expression, FuncDef, MemberExpr, MypyFile, Statement
from mypy.traverser import all_return_statements

from jaxlint.infer.evaluating.notes import TRIED
from jaxlint.symbols.outline import EXPECTED_FAILURE, EXPECTS_ERROR, UNRELATED_ERRORS
from jaxlint.syntax.expressions import (
    Argument,
    BoolOp,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Constant,
    Expr,
    Name,
    Span,
    Unary,
    children,
    dotted,
)
from jaxlint_mypy.exprs import span_of, to_expr

#: Statements that ask for the truth value of an expression.
_TESTING = (nodes.IfStmt, nodes.WhileStmt, nodes.AssertStmt)
#: Where statements keep the expressions that they evaluate.
_EVALUATED = ("expr", "rvalue", "subject", "guards")


class Around(msgspec.Struct, frozen=True):
    """The circumstances of a statement."""

    in_loop: bool = False
    #: The errors that are expected, by the last part of their names.
    expected: frozenset[str] = frozenset()
    #: The variables that `with copy_and_mutate(x) as y` has opened for changes, and those that may hold parts of them.
    copies: frozenset[str] = frozenset()
    #: What is assigned, as text.
    targets: frozenset[str] = frozenset()
    #: The variables that are tested by `if`, and how the tests came out.
    tests: tuple[tuple[str, bool], ...] = ()


class Store(msgspec.Struct, frozen=True):
    """An attribute as the target of an assignment (`how` as in `AssignAttribute`), with the value if it is one."""

    how: str
    value: Expression | None


class Statements:
    """The statements of one function, or those of a module and its classes outside of functions.

    Expressions are known by their places: where a type variable stands for one of several types, mypy checks a copy of
    the function for each of them.
    """

    def __init__(self, body: Sequence[Statement]) -> None:
        self._stores: dict[Span, Store] = {}
        self._alone: set[Span] = set()
        self._given: dict[str, list[Expression]] = {}
        self._to_fail: set[str] = set()
        self._rows: list[tuple[int, int, Around, tuple[Expression, ...]]] = []
        self._noted: list[Statement] = []
        self._in_class = False
        self._read(body, Around())

    def store(self, target: Expression) -> Store | None:
        """How an attribute (or an item) is assigned, if it is a target."""
        return self._stores.get(span_of(target))

    def stands_alone(self, call: Expression) -> bool:
        """Whether an expression is a statement of its own."""
        return span_of(call) in self._alone

    def is_asked(self, test: Expression) -> bool:
        """Whether something asks for the truth value of an expression."""
        return span_of(test) in self._questions[0]

    def asks_for(self, path: str) -> bool:
        """Whether something asks if `path` is None, or is there at all, as code does that makes something once."""
        return path in self._questions[1]

    def takes_splat(self, called: Expression) -> bool:
        """Whether an expression is called with keywords that are not written there (`**changes`)."""
        return span_of(called) in self._questions[2]

    @cached_property
    def _questions(self) -> tuple[frozenset[Span], frozenset[str | None], frozenset[Span]]:
        """Expressions asked for their truth value, paths tested for presence, and functions called with `**`."""
        tests: set[Span] = set()
        paths: set[str | None] = set()
        splatting: set[Span] = set()
        for statement in self._noted:
            for expr, is_asked in _evaluated(statement):
                for part, is_test in _parts(to_expr(expr), is_asked):
                    if is_test:
                        tests.add(part.at)
                    paths.add(_sought(part, is_test))
                    if isinstance(part, Call) and any(argument.star == "**" for argument in part.args):
                        splatting.add(part.func.at)
        return frozenset(tests), frozenset(paths), frozenset(splatting)

    def given(self, name: str) -> list[Expression]:
        """What is assigned to a variable."""
        return self._given.get(name, [])

    def is_to_fail(self, name: str) -> bool:
        """Whether a function of that name is passed to what expects an error (`assertRaises(TypeError, f)`)."""
        return name in self._to_fail

    def around(self, row: int) -> Around:
        """The circumstances of the statement in a row; of several that are nested the innermost."""
        best: tuple[int, int, Around, tuple[Expression, ...]] | None = None
        for one in self._rows:
            if one[0] <= row <= one[1] and (best is None or one[1] - one[0] <= best[1] - best[0]):
                best = one
        if best is None:
            return Around()
        texts = (dotted(to_expr(target)) for target in best[3])
        return replace(best[2], targets=frozenset(text for text in texts if text is not None))

    # -- reading ----------------------------------------------------------------------------

    def _read(self, body: Sequence[Statement], around: Around) -> None:
        for statement in body:
            self._statement(statement, around)

    def _note(self, node: Statement, around: Around, *targets: Expression) -> None:
        self._rows.append((node.line, node.end_line or node.line, around, targets))
        self._noted.append(node)

    def _statement(self, node: Statement, around: Around) -> None:
        if isinstance(node, nodes.ExpressionStmt):
            if isinstance(node.expr, nodes.CallExpr) and _expects_error(node.expr):
                around = _expecting(around)
                self._to_fail |= {given.name for given in node.expr.args if isinstance(given, nodes.NameExpr)}
            self._note(node, around)
            self._alone.add(span_of(node.expr))
        elif isinstance(node, nodes.AssignmentStmt):
            self._note(node, around, *node.lvalues)
            for target in node.lvalues:
                self._target(target, "assign", node.rvalue)
        elif isinstance(node, nodes.OperatorAssignmentStmt):
            self._note(node, around, node.lvalue)
            self._target(node.lvalue, "augment", None)
        elif isinstance(node, nodes.DelStmt):
            self._note(node, around)
            self._target(node.expr, "delete", None)
        elif isinstance(node, Block):
            self._read(node.body, around)
        elif isinstance(node, nodes.ClassDef):
            outside, self._in_class = self._in_class, True
            self._read(node.defs.body, Around(expected=around.expected))
            self._in_class = outside
        elif isinstance(node, nodes.IfStmt):
            self._note(node, around)
            for test, block in zip(node.expr, node.body, strict=True):
                self._block(block, _tested(around, test, True))
                around = _tested(around, test, False)
            self._block(node.else_body, around)
        elif isinstance(node, nodes.ForStmt):
            self._note(node, around)
            self._target(node.index, "loop", None)
            self._block(node.body, replace(around, in_loop=True))
            self._block(node.else_body, around)
        elif isinstance(node, nodes.WhileStmt):
            self._note(node, around)
            self._block(node.body, replace(around, in_loop=True))
            self._block(node.else_body, around)
        elif isinstance(node, nodes.WithStmt):
            self._with(node, around)
        elif isinstance(node, nodes.TryStmt):
            self._try(node, around)
        elif isinstance(node, nodes.MatchStmt):
            self._note(node, around)
            for block in node.bodies:
                self._block(block, around)
        elif not isinstance(node, (nodes.FuncBase, nodes.Decorator, nodes.OverloadedFuncDef)):
            self._note(node, around)

    def _block(self, block: Block | None, around: Around) -> None:
        if block is not None:
            self._read(block.body, around)

    def _target(self, target: Expression, how: str, value: Expression | None) -> None:
        if isinstance(target, (MemberExpr, nodes.IndexExpr)):
            self._stores[span_of(target)] = Store(how, value)
        elif isinstance(target, nodes.NameExpr):
            if value is not None and not self._in_class:  # what a class has goes by the same names
                self._given.setdefault(target.name, []).append(value)
        elif isinstance(target, nodes.StarExpr):
            self._target(target.expr, how, None)
        elif isinstance(target, (nodes.TupleExpr, nodes.ListExpr)):
            values: Sequence[Expression | None] = [None] * len(target.items)
            if isinstance(value, (nodes.TupleExpr, nodes.ListExpr)) and len(value.items) == len(target.items):
                values = value.items
            for item, part in zip(target.items, values, strict=True):
                self._target(item, "unpack" if how == "assign" else how, part)

    def _with(self, node: nodes.WithStmt, around: Around) -> None:
        self._note(node, around)
        for context, target in zip(node.expr, node.target, strict=True):
            if target is not None:
                self._target(target, "with", None)
            if _expects_error(context) or _swallows(context):
                around = _expecting(around)
            if isinstance(target, nodes.NameExpr) and self._makes_copy(context):
                around = replace(around, copies=around.copies | {target.name, *_bound(node.body)})
        self._block(node.body, around)

    def _makes_copy(self, context: Expression) -> bool:
        """Whether it is `copy_and_mutate(x)`, or a variable that holds that."""
        given = self.given(context.name) if isinstance(context, nodes.NameExpr) else [context]
        return any(last_name(one) == "copy_and_mutate" for one in given)

    def _try(self, node: nodes.TryStmt, around: Around) -> None:
        self._note(node, around)
        expected = {
            name for kind, handler in zip(node.types, node.handlers, strict=True) for name in _swallowed(kind, handler)
        }
        if node.handlers and _only_tries(node.body.body):
            expected.add(TRIED)
        self._block(node.body, replace(around, expected=around.expected | expected))
        for block in (*node.handlers, node.else_body, node.finally_body):
            self._block(block, around)


def _evaluated(statement: Statement) -> Iterator[tuple[Expression, bool]]:
    """The expressions that a statement evaluates outside of its blocks, and whether it asks for their truth values."""
    for name in _EVALUATED:
        found = getattr(statement, name, None)
        is_asked = name == "guards" or isinstance(statement, _TESTING)
        yield from ((one, is_asked) for one in (found if isinstance(found, list) else [found]) if one is not None)


def _parts(expr: Expr, is_test: bool) -> Iterator[tuple[Expr, bool]]:
    """An expression and all that is in it, and whether it is asked for its truth value."""
    yield expr, is_test
    match expr:
        case BoolOp(left=left, right=right):
            parts = [(left, True), (right, is_test)]
        case Conditional(test=test, body=body, orelse=orelse):
            parts = [(test, True), (body, is_test), (orelse, is_test)]
        case Comprehension(clauses=clauses):
            tests = {id(condition) for clause in clauses for condition in clause.conditions}
            parts = [(child, id(child) in tests) for child in children(expr)]
        case _:
            parts = [(child, isinstance(expr, Unary) and expr.op == "not") for child in children(expr)]
    for part, is_asked in parts:
        yield from _parts(part, is_asked)


def _sought(expr: Expr, is_test: bool) -> str | None:
    """The path of which an expression asks whether something is there: `x.f` of `x.f is None`, `hasattr(x, "f")`."""
    match expr:
        case Compare(left=left, ops=("is",)) if is_test:
            return dotted(left)
        case Call(
            func=Name(id="hasattr" | "getattr"), args=(Argument(value=held), Argument(value=Constant(value=name)), *_)
        ):
            return f"{dotted(held)}.{name}"
    return None


def statements_of(node: FuncDef | MypyFile) -> Statements:
    """The statements of a function or module; those of a test that is to fail expect every error."""
    if isinstance(node, MypyFile):
        return Statements(node.defs)
    return Statements(node.body.body)


def functions_at(body: Sequence[Statement], row: int) -> list[FuncDef]:
    """The functions around a row, from the outermost to the innermost."""
    for statement in body:
        if not statement.line <= row <= (statement.end_line or statement.line):
            continue
        if isinstance(statement, nodes.Decorator):
            statement = statement.func
        if isinstance(statement, FuncDef):
            return [statement, *functions_at(statement.body.body, row)]
        inner: list[Sequence[Statement]] = [block.body for block in _all_blocks(statement)]
        if isinstance(statement, nodes.OverloadedFuncDef):
            inner.append(statement.items)
        return next((found for part in inner if (found := functions_at(part, row))), [])
    return []


def _all_blocks(statement: Statement) -> Iterator[Block]:
    """All blocks of a statement that is no function."""
    if isinstance(statement, Block):
        yield statement
    elif isinstance(statement, nodes.ClassDef):
        yield statement.defs
    elif isinstance(statement, nodes.MatchStmt):
        yield from statement.bodies
    else:
        yield from _blocks(statement)
        if isinstance(statement, nodes.TryStmt):
            yield from (b for b in (*statement.handlers, statement.else_body, statement.finally_body) if b is not None)


def is_expected_to_fail(decorators: Sequence[Expression]) -> bool:
    """Whether a decorator says that the function is to fail."""
    return any(last_name(decorator) in EXPECTED_FAILURE for decorator in decorators)


def _expects_error(node: Expression) -> bool:
    """Whether it is a call that expects an error: of what is in its `with` block, or of a function that it is given."""
    return isinstance(node, nodes.CallExpr) and last_name(node) in EXPECTS_ERROR


def _swallows(context: Expression) -> bool:
    """Whether a context manager of the program goes on after an error in its body, as its own body says."""
    callee = context.callee if isinstance(context, nodes.CallExpr) else None
    made = callee.node if isinstance(callee, nodes.RefExpr) else None
    if isinstance(made, nodes.TypeInfo):
        left = made.get_method("__exit__")
        body = left.body.body if isinstance(left, FuncDef) else []
        returned = (one.expr for one in all_return_statements(nodes.Block(body)) if one.expr is not None)
        return any(not isinstance(one, nodes.NameExpr) or one.name not in ("False", "None") for one in returned)
    if not isinstance(made, nodes.Decorator) or all(last_name(d) != "contextmanager" for d in made.original_decorators):
        return False
    tried = (one for one in _within(made.func.body) if isinstance(one, nodes.TryStmt) and _yields(one.body))
    return any(
        name not in UNRELATED_ERRORS
        for one in tried
        for kind, handler in zip(one.types, one.handlers, strict=True)
        for name in _swallowed(kind, handler)
    )


def _yields(block: Block) -> bool:
    return any(isinstance(s, nodes.ExpressionStmt) and isinstance(s.expr, nodes.YieldExpr) for s in _within(block))


def _within(block: Block) -> Iterator[Statement]:
    """The statements of a block and of those inside of it."""
    for statement in block.body:
        yield statement
        for inner in _all_blocks(statement):
            yield from _within(inner)


def _expecting(around: Around) -> Around:
    return replace(around, expected=around.expected | {"Exception"})


def _tested(around: Around, test: Expression, outcome: bool) -> Around:
    while isinstance(test, nodes.UnaryExpr) and test.op == "not":
        test, outcome = test.expr, not outcome
    return replace(around, tests=(*around.tests, (test.name, outcome))) if isinstance(test, nodes.NameExpr) else around


def last_name(node: Expression) -> str:
    """The last part of the name of what is called, or of what stands there."""
    while isinstance(node, nodes.CallExpr):
        node = node.callee
    return node.name if isinstance(node, (nodes.NameExpr, MemberExpr)) else ""


def _bound(block: Block) -> Iterator[str]:
    """The variables that a block binds: what is reached through a copy goes by such names."""
    for statement in block.body:
        if isinstance(statement, nodes.AssignmentStmt):
            yield from (name for target in statement.lvalues for name in _names(target))
        elif isinstance(statement, nodes.ForStmt):
            yield from _names(statement.index)
        for inner in _blocks(statement):
            yield from _bound(inner)


def _blocks(statement: Statement) -> Iterator[Block]:
    """The blocks of a statement that does not begin a scope."""
    if isinstance(statement, nodes.IfStmt):
        yield from statement.body
    elif isinstance(statement, (nodes.ForStmt, nodes.WhileStmt, nodes.WithStmt, nodes.TryStmt)):
        yield statement.body
    if isinstance(statement, (nodes.IfStmt, nodes.ForStmt, nodes.WhileStmt)) and statement.else_body is not None:
        yield statement.else_body


def _only_tries(body: Sequence[Statement]) -> bool:
    """Whether a block evaluates one expression and does no more than to keep in mind that it went well."""
    stored = [s.rvalue for s in body if isinstance(s, nodes.AssignmentStmt)]
    stored += [s.expr for s in body if isinstance(s, nodes.ReturnStmt) and s.expr is not None]
    uneventful = (nodes.AssignmentStmt, nodes.ReturnStmt, nodes.PassStmt, nodes.BreakStmt, nodes.ContinueStmt)
    others = [s for s in body if not isinstance(s, uneventful)]
    is_alone = len(others) == 1 and isinstance(others[0], nodes.ExpressionStmt)
    return is_alone and all(isinstance(to_expr(value), Constant) for value in stored)


def _names(node: Expression | None) -> Iterator[str]:
    if isinstance(node, (nodes.TupleExpr, nodes.ListExpr)):
        for item in node.items:
            yield from _names(item)
    elif isinstance(node, nodes.StarExpr):
        yield from _names(node.expr)
    elif isinstance(node, (nodes.NameExpr, MemberExpr)):
        yield node.name


def _swallowed(kind: Expression | None, handler: Block) -> Iterator[str]:
    """The names of the errors that a handler swallows."""
    if any(isinstance(statement, nodes.RaiseStmt) for statement in handler.body):
        return
    if kind is None:
        yield "Exception"
    else:
        yield from _names(kind)
