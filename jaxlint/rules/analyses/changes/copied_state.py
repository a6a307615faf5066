"""Methods that copy their instance with all that is in its `__dict__`, and change the copy."""

from __future__ import annotations

from jaxlint.infer.bodies.contents import contents_of
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Constant, Expr, Name, dotted
from jaxlint.syntax.statements import Assign, Body

#: Functions that make a copy with the same `__dict__`.
_COPIES = frozenset({"copy.copy", "copy.deepcopy"})
_SETTING = frozenset({"setattr", "object.__setattr__"})


def changed_in_copy(method: Function, module: Module, evaluator: Evaluator) -> frozenset[str] | None:
    """The attributes that a method sets of a copy of its instance, none if it may be any; None if it makes no such.

    One that takes something out of the `__dict__` of the copy, or asks what is in it, knows what it does.
    """
    own = method.self_name
    if own is None or method.is_generator:
        return None
    body = evaluator.calls.body_of(FunctionSymbol(module, method)) or ()
    copy = _copy_of(own, body, module, method, evaluator)
    if copy is None:
        return None
    changed: set[str] = set()
    of_copy: list[Expr] = [t for s in contents_of(body).statements if isinstance(s, Assign) for t in s.targets]
    changed.update(t.attr for t in of_copy if isinstance(t, Attribute) and dotted(t.value) == copy)
    for part in contents_of(body).parts:
        match part:
            case Call(func=func, positional=(Name(id=name), named, _)) if name == copy and dotted(func) in _SETTING:
                if not isinstance(named, Constant):
                    return frozenset()
                changed.add(str(named.value))
            case Call(func=func) if dotted(func) == f"{copy}.__dict__.update":
                return frozenset()
            case Attribute(value=Name(id=name), attr="__dict__") if name == copy and not _is_updated(part, body):
                return None
    return frozenset(changed) or None


def _copy_of(own: str, body: Body, module: Module, method: Function, evaluator: Evaluator) -> str | None:
    """The variable that a body gives a copy of the instance, once."""
    copies: list[str] = []
    for statement in contents_of(body).statements:
        match statement:
            case Assign(targets=(Name(id=name), *_), value=Call(func=func, positional=(Name(id=copied),))):
                made_by = evaluator.model.resolver.library_name(func, module, method.inner_scope)
                copies += [name] if copied == own and made_by in _COPIES else []
    return copies[0] if len(copies) == 1 else None


def _is_updated(held: Expr, body: Body) -> bool:
    """Whether a `__dict__` is only given more: `new.__dict__.update(changes)`."""
    calls = (part.func for part in contents_of(body).parts if isinstance(part, Call))
    return any(isinstance(func, Attribute) and func.attr == "update" and func.value is held for func in calls)
