"""Dicts in fields whose keys are read like attributes: `self.config.rate`."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import Container, plain
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.instances.given_literals import calls_giving, giving
from jaxlint.rules.analyses.instances.linen_params import holds_linen_params
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.syntax.expressions import Attribute, Call, DictDisplay, Expr, Name, dotted
from jaxlint.syntax.statements import bound_once

_OF_DICTS = frozenset(dir(dict))
#: What flax's `FrozenDict` has besides, which older versions give.
_OF_FROZEN = frozenset({"unfreeze", "pretty_repr", "tree_flatten_with_keys"})


class DictRead(msgspec.Struct, frozen=True):
    """An attribute that is read of what a field holds, which is a dict."""

    part: Attribute
    held: Expr
    field: Field
    cls: PytreeClass
    #: Whether some code is seen to put a dict there that is written out, and not only an annotation says so.
    is_seen: bool


def read_of_dicts(code: CodeRead, instances: LocalInstances, evaluator: Evaluator) -> Iterator[DictRead]:
    """The attributes that a body reads of fields which hold dicts, and that dicts do not have."""
    for part in code.contents.of(Attribute):
        held = part.value
        if not isinstance(held, Attribute) or part.attr in _OF_DICTS:
            continue
        instance = instances.instance(held.value)
        field = None if instance is None else instance.cls.field(held.attr)
        if instance is None or field is None or field.annotation is None:
            continue
        if holds_linen_params(field, instance.cls, evaluator):
            if part.attr not in _OF_FROZEN:
                yield DictRead(part, held, field, instance.cls, True)
            continue
        value = plain(evaluator.promises.field(field, instance.cls))
        if isinstance(value, Container) and value.kind == "dict":
            given = [_is_dict(expr) for expr in _given(field, instance.cls, evaluator)]
            if False not in given:
                yield DictRead(part, held, field, instance.cls, True in given)


def _given(field: Field, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Expr]:
    """What constructions that are seen give to a field; for a variable that is bound once, what that is given."""
    names = frozenset({cls.name})
    for module in {one.path: one for one in (cls.module, *evaluator.model.importers(cls.module))}.values():
        for call, function in calls_giving(field.name, names, module, evaluator):
            value = giving(field, cls, call, names)
            if isinstance(value, Name) and function is not None:
                body = evaluator.calls.body_of(FunctionSymbol(module, function)) or ()
                value = bound_once(body).get(value.id, value)
            if value is not None:
                yield value


def _is_dict(expr: Expr) -> bool | None:
    """Whether an expression is a dict that is written out; None if unknown."""
    if isinstance(expr, DictDisplay) or (isinstance(expr, Call) and dotted(expr.func) == "dict"):
        return True
    return None if isinstance(expr, (Name, Attribute, Call)) else False
