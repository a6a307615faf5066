"""`return cls(*children, *aux)`: what the shortest `tree_unflatten` hands on, and what of `tree_flatten` names it."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Assignment, Function
from jaxlint.syntax.expressions import Argument, Attribute, Call, Display, Expr, Name, dotted
from jaxlint.syntax.statements import Assign, target_names


def behind_children(method: Function) -> Sequence[Argument] | None:
    """What `return cls(*children, …)` passes behind the children: nothing, or the aux data."""
    values = method.return_values
    if len(values) != 1 or not isinstance(values[0], Call) or len(method.parameters) != 3 or method.statements > 2:
        return None
    call, (first, aux, children) = values[0], method.parameters
    if not isinstance(call.func, Name) or call.func.id != first.name or len(call.args) not in (1, 2):
        return None
    given, *behind = call.args
    if given.star != "*" or dotted(given.value) != children.name:
        return None
    named = all(a.keyword is None and a.star != "**" and dotted(a.value) == aux.name for a in behind)
    return behind if named else None


def aux_names(cls: PytreeClass, flatten: Function, behind: Sequence[Argument]) -> tuple[str, ...] | None:
    """The attributes in the aux data that are passed behind the children; None if some are unknown."""
    if not behind:
        return None if any(f.role is Role.STATIC for f in cls.fields) else ()
    pair = pair_given(cls, flatten)
    aux = None if pair is None else pair[1]
    if behind[0].star:
        items = aux.items if isinstance(aux, Display) and aux.kind in ("tuple", "list") else None
    else:
        items = None if aux is None else (aux,)
    names = [
        item.attr
        for item in items or ()
        if isinstance(item, Attribute) and dotted(item.value) == flatten.self_name is not None
    ]
    return tuple(names) if items is not None and len(names) == len(items) else None


def keeps_names(cls: PytreeClass, flatten: Function) -> bool:
    """Whether the children are attributes as they are, so that their names can be compared."""
    pair = pair_given(cls, flatten)
    children = None if pair is None else pair[0]
    if not isinstance(children, Display) or len(children.items) != len(cls.explicit_leaves or ()):
        return False
    return all(isinstance(item, Attribute) for item in children.items)


def pair_given(cls: PytreeClass, flatten: Function) -> tuple[Expr, Expr] | None:
    """The children and the aux data that a method of a class returns, which may have been given names before."""
    found, returned = cls.method(flatten.name), flatten.return_values
    if found is None or len(returned) != 1:
        return None
    module = found[0].module
    value = local_value(returned[0], flatten, module)
    if not isinstance(value, Display) or len(value.items) != 2:
        return None
    return local_value(value.items[0], flatten, module), local_value(value.items[1], flatten, module)


def local_value(expr: Expr, method: Function, module: Module) -> Expr:
    """The value of a variable that is assigned once, else the expression itself."""
    if isinstance(expr, Name):
        bindings = module.outline.scopes[method.inner_scope].bindings.get(expr.id, [])
        if len(bindings) == 1 and isinstance(bindings[0], Assignment) and bindings[0].value is not None:
            return bindings[0].value
    return expr


def unpacks_leaves(name: str, cls: PytreeClass, method: Function, evaluator: Evaluator) -> Name | None:
    """Where a parameter is unpacked into variables that are named like the children, each of them."""
    for statement in evaluator.calls.body_of(FunctionSymbol(cls.module, method)) or ():
        match statement:
            case Assign(targets=(Display() as target,), value=Name() as unpacked) if unpacked.id == name:
                named = bool(cls.explicit_leaves) and set(target_names(target)) == set(cls.explicit_leaves or ())
                return unpacked if named else None
    return None
