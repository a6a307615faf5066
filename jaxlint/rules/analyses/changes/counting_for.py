"""How much speaks for it that a change of what a compiled method reads is a change of what it computes."""

from __future__ import annotations

from collections.abc import Mapping

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.changes.stale import reading
from jaxlint.rules.analyses.instances.methods import own_methods, run_by
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Binary, Call, Compare, Expr, Name, Subscript, Unary, dotted, last_name
from jaxlint.syntax.statements import Body, all_parts

#: The comparisons of numbers: what is equal, or is one of some, may be the name of a way to compute.
_ORDER = frozenset({"<", "<=", ">", ">="})
#: Through how many methods what is handed on is followed.
_MOST_STEPS = 3


def is_computed_with(attr: str, inside: Mapping[str, Function], cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether methods are seen to compute with the value of an attribute or with parts of it, or to return them.

    So is a method of the class to which they hand it. Of what they only call, or hand on elsewhere, they may need what
    never changes: the structure of a model, a setting.
    """
    found = reading(attr, inside, cls, evaluator)
    return any(_computes(path, function, body, cls, evaluator) for function, path, body in found)


def _computes(
    path: str, function: Function, body: Body, cls: PytreeClass, evaluator: Evaluator, steps: int = _MOST_STEPS
) -> bool:
    """Whether a function computes with what is at a path, or returns it, or a method of the class does for it."""
    if any(_is_at(value, path) for value in function.return_values):
        return True
    for part in all_parts(body):
        match part:
            case Binary(left=left, right=right) if _is_at(left, path) or _is_at(right, path):
                return True
            case Unary(operand=operand) if _is_at(operand, path):
                return True
            case Compare(left=left, ops=ops, comparators=comparators) if _ORDER.issuperset(ops):
                if any(_is_at(one, path) for one in (left, *comparators)):
                    return True
            case Call(func=Attribute(attr=name)) if steps and any(dotted(a.value) == path for a in part.args):
                found = cls.method(name) if _is_own(part, path, function) else None
                if found is not None and _is_handed(part, path, *found, cls, evaluator, steps - 1):
                    return True
    return False


def _is_own(call: Call, path: str, function: Function) -> bool:
    """Whether a method of `self` is called, where that is the first part of the path, or the function has one."""
    held = call.func.value if isinstance(call.func, Attribute) else None
    return isinstance(held, Name) and held.id in (path.partition(".")[0], function.self_name)


def _is_handed(
    call: Call,
    path: str,
    ancestor: PytreeClass,
    method: Function,
    cls: PytreeClass,
    evaluator: Evaluator,
    steps: int,
) -> bool:
    """Whether a method computes with what a call hands to it."""
    body = evaluator.calls.body_of(FunctionSymbol(ancestor.module, method)) or ()
    given = call.given_to(method.positional[1:] if method.self_name else method.positional)
    taken = [name for name, value in given.items() if dotted(value) == path and method.takes(name)]
    return not call.has_star and any(_computes(name, method, body, cls, evaluator, steps) for name in taken)


def is_given_anew(attr: str, changing: Function) -> bool:
    """Whether a method is seen to give an attribute something new.

    `[self.options, self.rates] = self._saved.pop()` may put back what was there.
    """
    given = [a.value for a in changing.self_assignments if a.attr == attr and a.value is not None]
    return any(not _is_taken_back(value) for value in given)


def _is_taken_back(value: Expr) -> bool:
    """Whether a value, or what it is an item of, is taken out of a container."""
    held = value.value if isinstance(value, Subscript) else value
    return isinstance(held, Call) and last_name(held.func) == "pop"


def is_changed_in_use(changing: Function, holder: str, cls: PytreeClass) -> bool:
    """Whether a method of the class both runs the one that changes something and calls what is kept in `holder`."""
    for ancestor in cls.mro:
        for method in own_methods(ancestor):
            run = run_by(method, cls)
            if changing.name in run and any(holder in f.self_reads | f.self_calls for f in run.values()):
                return True
    return False


def _is_at(expr: Expr, path: str) -> bool:
    """Whether an expression stands for what is at a path, or for an attribute or an item of it."""
    while dotted(expr) != path:
        if not isinstance(expr, (Attribute, Subscript)):
            return False
        expr = expr.value
    return True
