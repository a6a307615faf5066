"""From the statements of `ast` to the language of `jaxlint.syntax.statements`.

`at` of each statement and expression is its node. The bodies of functions are translated when they are first read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from jaxlint.syntax.ast_expressions import from_ast, operator
from jaxlint.syntax.expressions import Expr, Other
from jaxlint.syntax.statements import (
    Annotate,
    Assert,
    Assign,
    Augment,
    Body,
    Break,
    Capture,
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


def to_body(nodes: Iterable[ast.stmt]) -> Body:
    """Translate the statements of a block; `pass` is left out."""
    return tuple([_STATEMENTS.get(kind, _unknown)(node) for node in nodes if (kind := type(node)) is not ast.Pass])


def to_expr(node: ast.expr) -> Expr:
    """Translate an expression; `at` of each part is its node."""
    return from_ast(node, as_node=True)


def _optional(node: ast.expr | None) -> Expr | None:
    return None if node is None else from_ast(node, as_node=True)


def _all(nodes: Iterable[ast.expr]) -> tuple[Expr, ...]:
    return tuple([from_ast(node, as_node=True) for node in nodes])


def _do(node: Any) -> Statement:
    return Do(node, to_expr(node.value))


def _assign(node: Any) -> Statement:
    return Assign(node, _all(node.targets), to_expr(node.value))


def _annotate(node: Any) -> Statement:
    return Annotate(node, to_expr(node.target), to_expr(node.annotation), _optional(node.value))


def _augment(node: Any) -> Statement:
    return Augment(node, to_expr(node.target), operator(node.op), to_expr(node.value))


def _return(node: Any) -> Statement:
    return Return(node, _optional(node.value))


def _raise(node: Any) -> Statement:
    return Raise(node, _optional(node.exc))


def _delete(node: Any) -> Statement:
    targets = node.targets
    whole = targets[0] if len(targets) == 1 else ast.copy_location(ast.Tuple(targets, ast.Del()), node)
    return Delete(node, to_expr(whole))


def _assert(node: Any) -> Statement:
    return Assert(node, to_expr(node.test), _optional(node.msg))


def _import(node: Any) -> Statement:
    return Importing(node, tuple([a.asname or a.name for a in node.names if a.name != "*"]))


def _alias(node: Any) -> Statement:
    return Importing(node, (node.name.id,))


def _unknown(node: ast.stmt) -> Statement:
    """A statement of a newer Python: the names that it binds are nobody knows what."""
    stored = (n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return Assign(node, tuple(map(to_expr, stored)), Other(node, type(node).__name__, ()))


def _outer(node: Any) -> Statement:
    return Outer(node, tuple(node.names))


def _function(node: Any) -> Statement:
    args = node.args
    defaults = [*args.defaults, *(d for d in args.kw_defaults if d is not None)]
    all_args = (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg)
    params = frozenset([a.arg for a in all_args if a is not None])
    return FunctionDefinition(
        node, node.name, params, _all(node.decorator_list), _all(defaults), lambda: to_body(node.body)
    )


def _class(node: Any) -> Statement:
    bases = (*node.bases, *(keyword.value for keyword in node.keywords))
    return ClassDefinition(node, node.name, _all(node.decorator_list), _all(bases), to_body(node.body))


def _if(node: Any) -> Statement:
    """An if statement; its chain of elif is walked without recursion."""
    branches: list[tuple[Expr, Body]] = [(to_expr(node.test), to_body(node.body))]
    rest = node.orelse
    while len(rest) == 1 and type(rest[0]) is ast.If:
        branches.append((to_expr(rest[0].test), to_body(rest[0].body)))
        rest = rest[0].orelse
    return If(node, tuple(branches), to_body(rest))


def _for(node: Any) -> Statement:
    return For(node, to_expr(node.target), to_expr(node.iter), to_body(node.body), to_body(node.orelse))


def _while(node: Any) -> Statement:
    return While(node, to_expr(node.test), to_body(node.body), to_body(node.orelse))


def _with(node: Any) -> Statement:
    items = tuple([(to_expr(item.context_expr), _optional(item.optional_vars)) for item in node.items])
    return With(node, items, to_body(node.body))


def _try(node: Any) -> Statement:
    handlers = tuple([Handler(_optional(h.type), h.name, to_body(h.body)) for h in node.handlers])
    return Try(node, to_body(node.body), handlers, to_body(node.orelse), to_body(node.finalbody))


def _match(node: Any) -> Statement:
    return Match(node, to_expr(node.subject), tuple([_case(case) for case in node.cases]))


def _case(node: ast.match_case) -> Case:
    pattern = node.pattern
    bare = isinstance(pattern, ast.MatchAs) and pattern.pattern is None
    inner = pattern.pattern if isinstance(pattern, ast.MatchAs) else pattern
    return Case(
        cls=to_expr(inner.cls) if isinstance(inner, ast.MatchClass) else None,
        whole=pattern.name if isinstance(pattern, ast.MatchAs) and bare else None,
        captures=tuple(_captures(pattern)),
        always=bare,
        captured=frozenset(_captured(pattern)),
        guard=_optional(node.guard),
        body=to_body(node.body),
    )


def _captured(pattern: ast.pattern) -> Iterable[str]:
    """The names that a `match` pattern binds."""
    for node in ast.walk(pattern):
        if isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name is not None:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest is not None:
            yield node.rest


def _captures(pattern: ast.pattern) -> Iterable[Capture]:
    """The names that class patterns bind; those of alternatives are left out."""
    match pattern:
        case ast.MatchAs(pattern=ast.MatchClass(cls=cls) as inner, name=str(name)):
            yield Capture(name, to_expr(cls), None)
            yield from _captures(inner)
        case ast.MatchClass(cls=cls):
            named = zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True)
            parts: list[tuple[str | int, ast.pattern]] = [*enumerate(pattern.patterns), *named]
            for part, inner in parts:
                if isinstance(inner, ast.MatchAs) and inner.pattern is None and inner.name is not None:
                    yield Capture(inner.name, to_expr(cls), part)
                else:
                    yield from _captures(inner)
        case ast.MatchSequence(patterns=patterns) | ast.MatchMapping(patterns=patterns):
            for inner in patterns:
                yield from _captures(inner)
        case ast.MatchAs(pattern=inner) if inner is not None:
            yield from _captures(inner)


_STATEMENTS: dict[type[ast.stmt], Any] = {
    ast.Expr: _do,
    ast.Assign: _assign,
    ast.AnnAssign: _annotate,
    ast.AugAssign: _augment,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: Break,
    ast.Continue: Jump,
    ast.Delete: _delete,
    ast.Assert: _assert,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.Global: _outer,
    ast.Nonlocal: _outer,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    **({ast.TryStar: _try} if hasattr(ast, "TryStar") else {}),
    **({ast.TypeAlias: _alias} if hasattr(ast, "TypeAlias") else {}),
    ast.Match: _match,
}
