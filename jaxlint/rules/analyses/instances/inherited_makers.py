"""Class methods of a base that make `cls(...)`: called for a subclass, they make that with the same arguments."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import is_classmethod
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name
from jaxlint.syntax.statements import Body, Return, all_parts, assigned_names


def made_by(
    name: str, cls: PytreeClass, evaluator: Evaluator, *, above: bool = False
) -> tuple[PytreeClass, Call] | None:
    """The base whose class method of a name makes `cls(...)` in the end, and that call; `above`, past that of `cls`."""
    for base in cls.mro[1:]:
        qualnames = base.symbol.declaration.methods.get(name, ())
        if qualnames:
            if (name in cls.symbol.declaration.methods and not above) or len(qualnames) != 1:
                return None
            made = _made(base.module.outline.functions[qualnames[-1]], base, evaluator)
            return None if made is None else (base, made)
    return None


def _made(function: Function, base: PytreeClass, evaluator: Evaluator) -> Call | None:
    """The only thing that a class method returns, if that is `cls(...)` whose arguments are all written out."""
    if not is_classmethod(function) or len(function.decorators) != 1 or len(function.return_values) != 1:
        return None
    body = evaluator.calls.body_of(FunctionSymbol(base.module, function)) or ()
    match body[-1] if body else None:
        case Return(value=Call(func=Name(id=name)) as call) if name == function.self_name and not call.has_star:
            return None if name in assigned_names(body) else call
    return None


def handed_up(function: Function, body: Body) -> Call | None:
    """What a class method hands on to the method of its own name of a base: `super().create(...)`."""
    if not is_classmethod(function):
        return None
    calls = [part for part in all_parts(body) if isinstance(part, Call) and _is_super(part.func, function.name)]
    return calls[0] if len(calls) == 1 else None


def _is_super(func: Expr, name: str) -> bool:
    match func:
        case Attribute(value=Call(func=Name(id="super")), attr=attr):
            return attr == name
    return False
