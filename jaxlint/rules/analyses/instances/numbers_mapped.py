"""Instances with numbers among their leaves that `jax.vmap` maps along an axis, which a number has none of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import is_python_number, plain
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ValueSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.rules.analyses.bodies.settled import is_fixed
from jaxlint.symbols.outline import names_by_position
from jaxlint.syntax.expressions import Argument, Call, Constant, Display, Expr, Name
from jaxlint.syntax.statements import bound_once, looked_up

_VMAP = "jax.vmap"
#: Transformations that leave the axes to the one inside.
_AROUND = frozenset({"jax.jit", "jax.checkpoint", "jax.remat"})
_MAX_DEPTH = 3


class NumberMapped(msgspec.Struct, frozen=True):
    """An argument of what `jax.vmap` returns, and a leaf of the instance that is a number."""

    argument: Argument
    cls: PytreeClass
    field: Field


def numbers_mapped(code: CodeRead, evaluator: Evaluator) -> Iterator[NumberMapped]:
    """What a body gives to `jax.vmap(f)(...)` for an axis to map along, and is seen to make with numbers.

    Whatever is given by keyword is mapped along the first axis.
    """
    bound = bound_once(code.body)
    for call in code.contents.expected_to_work:
        mapping = _mapping(call.func, bound, code, evaluator) if isinstance(call, Call) and not call.has_star else None
        if mapping is None or not isinstance(call, Call):
            continue
        axes = mapping.keyword("in_axes") or next(iter(mapping.positional[1:]), None)
        for index, argument in enumerate(call.args):
            if argument.keyword is None and not _is_first(axes, index):
                continue
            made = made_anew(looked_up(argument.value, bound), code.place.module, code.scope, evaluator)
            field = None if made is None else _number(made, evaluator)
            if made is not None and field is not None:
                yield NumberMapped(argument, made.cls, field)


def _mapping(
    func: Expr, bound: Mapping[str, Expr], code: CodeRead, evaluator: Evaluator, depth: int = 0
) -> Call | None:
    """The call of `jax.vmap` that makes a function: `jax.jit(jax.vmap(step))`."""
    made = looked_up(func, bound)
    if not isinstance(made, Call) or made.has_star or not made.positional or depth > _MAX_DEPTH:
        return None
    name = evaluator.model.resolver.library_name(made.func, code.place.module, code.scope)
    if name in _AROUND:
        return _mapping(made.positional[0], bound, code, evaluator, depth + 1)
    return made if name == _VMAP else None


def _is_first(axes: Expr | None, index: int) -> bool:
    """Whether an argument is mapped along its first axis: that is so unless something else is said."""
    if isinstance(axes, Display) and not axes.has_star and index < len(axes.items):
        axes = axes.items[index]
    return axes is None or (isinstance(axes, Constant) and axes.kind == "int")


class MadeAnew(msgspec.Struct, frozen=True):
    """An instance of a pytree class that a call makes, and where that is written."""

    cls: PytreeClass
    call: Call
    module: Module
    scope: str


def made_anew(expr: Expr, module: Module, scope: str, evaluator: Evaluator) -> MadeAnew | None:
    """The instance that an expression makes, or a constant that it names."""
    resolver = evaluator.model.resolver
    if isinstance(expr, Name):
        constant = resolver.resolve(expr, module, scope)
        if not isinstance(constant, ValueSymbol) or not is_fixed(constant) or constant.assignment.value is None:
            return None
        expr, module, scope = constant.assignment.value, constant.module, ""
    if not isinstance(expr, Call):
        return None
    cls = evaluator.model.class_of_symbol(resolver.resolve(expr.func, module, scope))
    return MadeAnew(cls, expr, module, scope) if cls is not None and cls.is_pytree else None


def _number(made: MadeAnew, evaluator: Evaluator) -> Field | None:
    """A leaf that is given a number, or has one by default, in an instance that nothing else makes anything of."""
    cls, parameters = made.cls, made.cls.constructor()
    if parameters is None or made.call.has_star or cls.unknown_decorator:
        return None
    if cls.has_own_construction or cls.framework.flattens_itself or cls.framework.is_stateful:
        return None
    given = made.call.given_to(names_by_position(parameters))
    for field in cls.fields:
        placed = Placed(given[field.name], made.module, made.scope) if field.name in given else field.default
        if field.role is Role.LEAF and placed is not None and not field.is_converted:
            if is_python_number(plain(evaluator.static(placed))):
                return field
    return None
