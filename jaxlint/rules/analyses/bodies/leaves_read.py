"""Which leaves of an instance a function reads that it does not take: by a variable from around it."""

from __future__ import annotations

from collections.abc import Container, Iterator

from jaxlint.libraries.arrays import ARRAY_TRAITS, OF_TRAITS
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, Subscript, last_name
from jaxlint.syntax.names_read import of_around
from jaxlint.syntax.statements import Body, FunctionDefinition, expressions, is_own, walk


def leaves_read(params: Container[str], body: Body, name: str, cls: PytreeClass) -> Iterator[tuple[str, object]]:
    """The leaves that a function reads of an instance in a variable from around it, and the functions inside of it.

    With each comes the place.
    """
    if is_own(name, params, body):
        return
    for statement in walk(body, nested=False):
        for expr in expressions(statement):
            yield from _read_in(expr, name, cls)
        if isinstance(statement, FunctionDefinition):
            yield from leaves_read(statement.params, statement.body, name, cls)


def _read_in(expr: Expr, name: str, cls: PytreeClass) -> Iterator[tuple[str, object]]:
    match expr:
        case Name(id=id_):
            yield from ((field.name, expr.at) for field in cls.fields if id_ == name and field.role is not Role.STATIC)
            return
        case Attribute(value=Name(id=id_), attr=attr) if id_ == name:
            method = cls.method(attr)
            fields = [cls.field(read) for read in ([attr] if method is None else sorted(method[1].self_reads))]
            read = (field for field in fields if field is not None and field.role is Role.LEAF)
            yield from ((field.name, expr.at) for field in read if not _is_function(field))
            return
        case Attribute(attr=attr) if attr in ARRAY_TRAITS:
            return  # an update keeps the shapes and dtypes
    traits = _asked_for_traits(expr)
    for child in of_around(expr, name):
        if child is not traits:
            yield from _read_in(child, name, cls)


def _is_function(field: Field) -> bool:
    """Whether a field is annotated as a function, which is the same in all copies."""
    annotation = None if field.annotation is None else field.annotation.expr
    if isinstance(annotation, Subscript):
        annotation = annotation.value
    return annotation is not None and last_name(annotation) == "Callable"


def _asked_for_traits(expr: Expr) -> Expr | None:
    """The argument of a call that reads no values of it: `jnp.zeros_like(x)`, `jax.tree.map(jnp.zeros_like, tree)`."""
    positional = expr.positional if isinstance(expr, Call) else ()
    function, given = (expr.func if isinstance(expr, Call) else None), positional[:1]
    if len(positional) == 2 and function is not None and last_name(function) in ("map", "tree_map"):
        function, given = positional[0], positional[1:]
    return given[0] if given and function is not None and last_name(function) in OF_TRAITS else None
