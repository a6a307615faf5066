"""What the body of a function does with its variables, as its libcst tree shows it.

Functions and classes inside keep their statements to themselves; lambdas belong to the statement that they stand in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from jaxlint.cst import libcst as cst

_Node = TypeVar("_Node", bound="cst.CSTNode")


def children_of(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes directly below a node; libcst's own `children` makes all of them anew to tell."""
    from dataclasses import fields  # which libcst has loaded by now

    for one in fields(node):
        value = getattr(node, one.name)
        yield from (
            child
            for child in (value if isinstance(value, (list, tuple)) else (value,))
            if isinstance(child, cst.CSTNode)
        )


def own(body: cst.CSTNode, kind: type[_Node]) -> Iterator[_Node]:
    """The nodes of a kind in the body of a function or in another node, in source order."""
    pending = [body]
    while pending:
        node = pending.pop()
        if isinstance(node, kind):
            yield node
        if not isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            pending += reversed(list(children_of(node)))


def returned(body: cst.BaseSuite | cst.BaseExpression | cst.Module) -> Iterator[cst.BaseExpression]:
    """What a function returns; a lambda returns what it is."""
    if isinstance(body, cst.BaseExpression):
        yield body
        return
    for statement in own(body, cst.Return):
        if statement.value is not None:
            yield statement.value


def variables(node: cst.CSTNode) -> Iterator[cst.Name]:
    """The names in a node that stand for variables; those of attributes, keywords and declarations do not."""
    pending = [node]
    while pending:
        one = pending.pop()
        if isinstance(one, cst.Name):
            yield one
        elif isinstance(one, (cst.Attribute, cst.Arg)):
            pending.append(one.value)
        else:
            declared = one.name if isinstance(one, (cst.FunctionDef, cst.ClassDef, cst.Param)) else None
            pending += [child for child in reversed(list(children_of(one))) if child is not declared]


def names(nodes: Iterable[cst.CSTNode]) -> set[str]:
    """The variables that stand in some nodes."""
    return {name.value for node in nodes for name in variables(node)}


def dotted(node: cst.CSTNode) -> str:
    """The name that a node is, as `a.b.c`; empty if it is something else."""
    match node:
        case cst.Name(value=name):
            return name
        case cst.Attribute(value=value, attr=attr) if dotted(value):
            return f"{dotted(value)}.{attr.value}"
    return ""


def is_bound(name: cst.Name, around: Iterable[cst.CSTNode]) -> bool:
    """Whether a name is given a value where it stands: alone, or in a tuple or list of targets."""
    child: cst.CSTNode = name
    for one in around:
        match one:
            case cst.AssignTarget() | cst.AsName():
                return True
            case (
                cst.AnnAssign(target=target)
                | cst.For(target=target)
                | cst.NamedExpr(target=target)
                | cst.CompFor(target=target)
            ):
                return target is child
            case cst.Tuple() | cst.List() | cst.Element() | cst.StarredElement():
                child = one
            case _:
                return False
    return False


def is_of_lambda(name: cst.Name, around: Iterable[cst.CSTNode]) -> bool:
    """Whether a name is that of a parameter of a lambda around it: `lambda m: m.weight`."""
    return any(isinstance(one, cst.Lambda) and _takes(one, name.value) for one in around)


def _takes(function: cst.Lambda, name: str) -> bool:
    stars = (function.params.star_arg, function.params.star_kwarg)
    return name in parameters(function) or any(isinstance(p, cst.Param) and p.name.value == name for p in stars)


def parameters(function: cst.FunctionDef | cst.Lambda) -> dict[str, cst.Param]:
    """The parameters of a function by name, without `*args` and `**kwargs`."""
    given = function.params
    return {p.name.value: p for p in (*given.posonly_params, *given.params, *given.kwonly_params)}


def may_run_after(statement: cst.CSTNode, around: Iterable[cst.CSTNode]) -> Iterator[cst.CSTNode]:
    """What may run once a statement has: what stands behind it in the blocks around it, and all else in its loops."""
    child = statement
    for one in around:
        match one:
            case cst.FunctionDef() | cst.Lambda():
                return
            case cst.IndentedBlock() | cst.SimpleStatementSuite() | cst.SimpleStatementLine() | cst.Module():
                yield from one.body[list(one.body).index(child) + 1 :]
            case cst.For(body=body, orelse=orelse):
                yield body
                if orelse is not None:
                    yield orelse
            case cst.While() | cst.Try():
                yield one
        child = one
