"""Statements that keep an update in a variable, or return it: of what, and what may change that in between."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from jaxlint.infer.evaluating.events import Replace, Update
from jaxlint.infer.known.values import Instance
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.rules.analyses.changes.looped_updates import copy_beside
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, dotted
from jaxlint.syntax.statements import Annotate, Assign, Return, Statement


class BoundUpdate(msgspec.Struct, frozen=True):
    """A statement that keeps or returns an update: `name = base.replace(...)`; `name` is None if it returns."""

    update: Update
    base: str
    name: str | None

    @property
    def root(self) -> str:
        """The variable that holds the original."""
        return self.base.partition(".")[0]

    @property
    def keys(self) -> tuple[object, object]:
        """What it starts from, and what it is kept in."""
        return ("base", self.base), ("name", self.name)

    @property
    def is_array(self) -> bool:
        """Whether an array is copied, and not an instance."""
        return self.update.function.startswith("at.")


def bound_or_returned(statement: Statement) -> tuple[str | None, Expr | None]:
    """What a statement keeps in which variable, or returns; None if it does neither."""
    match statement:
        case Assign(targets=(Name(id=name),), value=value) | Annotate(target=Name(id=name), value=value):
            return name, value
        case Return(value=value):
            return None, value
    return None, None


def bound_update(statement: Statement, updates: dict[int, Update]) -> BoundUpdate | None:
    """The update that a statement keeps in a variable, or returns."""
    name, value = bound_or_returned(statement)
    update = updates.get(id(value.at)) if isinstance(value, Call) else None
    if update is None or update.base is None:
        return None
    base = dotted(update.base)
    return None if base is None else BoundUpdate(update, base, name)


def bound_beside(statement: Statement, beside: Mapping[int, Update]) -> BoundUpdate | None:
    """The update that a statement keeps in one of several variables."""
    found = copy_beside(statement, beside)
    base = None if found is None or found[1].base is None else dotted(found[1].base)
    return None if found is None or base is None else BoundUpdate(found[1], base, found[0])


def copying_function(update: Update) -> FunctionSymbol | None:
    """The function of the user's that makes the copy."""
    return update.by if isinstance(update, Replace) else None


def may_change(call: Call, made: BoundUpdate) -> bool:
    """Whether a call is given the original or what holds it, and so may change it in place."""
    frozen = made.is_array or (isinstance(held := made.update.receiver, Instance) and held.cls.frozen is True)
    given = (*(a.value for a in call.args), *((call.func.value,) if isinstance(call.func, Attribute) else ()))
    paths = [path for expr in given if (path := dotted(expr)) is not None]
    return any(made.base.startswith(f"{path}.") or (path == made.base and not frozen) for path in paths)
