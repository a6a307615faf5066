"""Trees that a body only takes a norm of, or sums up leaf by leaf, as for weight decay."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.syntax.expressions import Attribute, Call, Comprehension, Expr, Name, dotted, last_name
from jaxlint.syntax.names_read import reads
from jaxlint.syntax.statements import Body, all_parts, parts

#: What gives one number for a tree, by the last parts of the names.
_NORMS = frozenset({"global_norm", "tree_l2_norm", "tree_l1_norm", "tree_norm", "tree_sum"})
_LEAVES = frozenset({"leaves", "tree_leaves"})
_MAPS = frozenset({"map", "tree_map", "tree_multimap"})
_REDUCTIONS = ("tree.reduce", "tree_reduce")
_BY_LIBRARIES = _NORMS | {"sum", "tree_reduce"}


def penalised(body: Body, module: Module, scope: str, evaluator: Evaluator) -> Iterator[int]:
    """The parts of a body, by identity, that are such trees: given to a library, or to a function of the project."""
    resolver = evaluator.model.resolver
    for call in _calls(body):
        yield from map(id, _weighed(call))
        if isinstance(call.func, Name) and last_name(call.func) not in _BY_LIBRARIES:
            symbol = resolver.follow(resolver.resolve(call.func, module, scope))
            if isinstance(symbol, FunctionSymbol) and _only_weighs(symbol, evaluator):
                yield from map(id, _trees(call.positional[0]))


def _calls(body: Body) -> Iterator[Call]:
    return (part for part in all_parts(body) if isinstance(part, Call) and part.positional)


def _weighed(call: Call) -> Iterator[Expr]:
    """The trees of which a call of a library makes a number, leaf by leaf."""
    name, given = last_name(call.func), call.positional
    if name == "sum":
        inner = given[0]
        if isinstance(inner, Comprehension) and len(inner.clauses) == 1:
            inner = inner.clauses[0].iterable
        if isinstance(inner, Call) and last_name(inner.func) in _LEAVES and inner.positional:
            yield from _trees(inner.positional[0])
    elif name in _NORMS:
        yield from _trees(given[0])
    elif (dotted(call.func) or "").endswith(_REDUCTIONS) and len(given) > 1:
        yield from _trees(given[1])


def _only_weighs(function: FunctionSymbol, evaluator: Evaluator) -> bool:
    """Whether a function does nothing else with its first parameter."""
    first, body = next(iter(function.declaration.positional), None), evaluator.calls.body_of(function)
    if first is None or body is None:
        return False
    read = [id(part) for part in reads(body, first)]
    return bool(read) and {id(tree) for call in _calls(body) for tree in _weighed(call)}.issuperset(read)


def _trees(tree: Expr) -> Iterator[Expr]:
    """A tree, or those of which arithmetic on the leaves makes it: of `jax.tree.map(f, a, b)`, `a` and `b`."""
    if isinstance(tree, Call) and last_name(tree.func) in _MAPS:
        for argument in tree.positional[1:]:
            yield from _trees(argument)
    elif isinstance(tree, (Attribute, Name)):
        yield from parts(tree)
