"""Whether a class inherits a `tree_unflatten` that makes an instance of the class above, and of no other."""

from __future__ import annotations

from typing import NamedTuple

from jaxlint.cst.changes import Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.methods import MAKING, own_methods
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Call, Expr, Name, dotted
from jaxlint.syntax.statements import bound_once, looked_up

#: Methods that say nothing of what an instance can do.
_SHOWN = frozenset({"tree_flatten", "tree_flatten_with_keys", "__repr__", "__str__"})


class BaseByName(NamedTuple):
    """What names the class above in its `tree_unflatten`, and a method of the subclass that is lost with it."""

    base: PytreeClass
    names: tuple[Expr, ...]
    lost: str


def base_by_name(cls: PytreeClass, owner: PytreeClass, method: Function, evaluator: Evaluator) -> BaseByName | None:
    """The base that a method of `owner` makes, whatever class it is called on; None if the subclass loses nothing."""
    lost = next((one.name for one in own_methods(cls) if one.name not in MAKING | _SHOWN), None)
    body = evaluator.calls.body_of(FunctionSymbol(owner.module, method))
    if owner is cls or lost is None or body is None or not method.return_values:
        return None
    if any("__new__" in one.symbol.declaration.methods for one in cls.mro):
        return None
    bound, names = bound_once(body), list[Expr]()
    for value in method.return_values:
        made = looked_up(value, bound)
        name = _made_by(made) if isinstance(made, Call) else None
        symbol = None if name is None else evaluator.model.resolver.resolve(name, owner.module, method.inner_scope)
        if name is None or not isinstance(symbol, ClassSymbol) or symbol.key != owner.symbol.key:
            return None
        names.append(name)
    return BaseByName(owner, tuple(names), lost)


@proposing
def by_class(found: BaseByName, method: Function, module: Module) -> Proposal | None:
    """The fix: the class on which the classmethod is called is made; it stands in the same module."""
    own = method.parameters[0].name if len(method.parameters) == 3 else None
    if own is None or found.base.module is not module or "classmethod" not in map(dotted, method.decorators):
        return None
    changes = tuple(Rewrite(name.at, own) for name in found.names)
    return Proposal(f"Make a `{own}`", Applicability.UNSAFE, changes)


def _made_by(call: Call) -> Name | None:
    """The name of the class in `Base(...)`, or in `object.__new__(Base)`."""
    given = call.positional
    made = given[0] if dotted(call.func) == "object.__new__" and len(given) == 1 else call.func
    return made if isinstance(made, Name) else None
