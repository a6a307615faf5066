"""The fix of a field that is an integer in the initial carry of a loop, and a float afterwards: it begins as one."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import Change, EditCall, Proposal, Remove, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.under_trace import carried
from jaxlint.rules.analyses.under_trace.forms import Leaf
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Call, Constant, DictDisplay, Display, Expr, Name, children, last_name
from jaxlint.syntax.names_read import reads
from jaxlint.syntax.statements import Body, bound_once

#: How many functions are followed to where the initial carry is made.
_MOST_STEPS = 3
#: Functions that make arrays of floats unless another type is passed, and the position of that argument.
_MAKING = {"zeros": 1, "ones": 1}
#: Functions that make arrays of what they are given.
_TAKING = frozenset({"array", "asarray"})
_INTEGERS = frozenset({"int32", "int64"})


@proposing
def beginning_with_float(change: carried.Change, code: CodeRead, evaluator: Evaluator) -> Proposal | None:
    """The unsafe fix, where one call of the constructor is seen to make the initial carry, or the part of it."""
    found = change.difference
    if found is None or found.cls is None or not isinstance(found.before, Leaf) or not isinstance(found.after, Leaf):
        return None
    if found.before.kind != "int" or found.after.kind not in ("float", "inexact"):
        return None
    initial = next((part for part in code.parts if part.at is change.at), None)
    making = _Making(found.cls, code, evaluator)
    made = {id(call): (call, body) for call, body in making.calls(initial, code.body, _MOST_STEPS)} if initial else {}
    if len(made) != 1:
        return None
    call, body = next(iter(made.values()))
    given = call.given_to([field.name for field in found.cls.fields]).get(found.field)
    edit = None if given is None or call.has_star else making.as_float(given, body)
    return None if edit is None else Proposal(f"Begin with a float in `{found.field}`", Applicability.UNSAFE, (edit,))


class _Making:
    """Follows the initial carry to the calls that make instances of a class, in one module."""

    def __init__(self, cls: PytreeClass, code: CodeRead, evaluator: Evaluator) -> None:
        self._cls = cls
        self._module = code.place.module
        self._evaluator = evaluator

    def calls(self, expr: Expr, body: Body, steps: int) -> Iterator[tuple[Call, Body]]:
        """The calls of the constructor in what an expression is made of, and the bodies in which they stand."""
        bound = bound_once(body)
        match expr:
            case Name(id=name) if name in bound and steps:
                yield from self.calls(bound[name], body, steps - 1)
            case Call() if last_name(expr.func) == self._cls.name:
                yield expr, body
            case Call() | Display() | DictDisplay():
                for value, inside in self._returned(expr) if isinstance(expr, Call) and steps else ():
                    yield from self.calls(value, inside, steps - 1)
                for part in children(expr):
                    yield from self.calls(part, body, steps)

    def _returned(self, call: Call) -> Iterator[tuple[Expr, Body]]:
        """What the functions of the module return that have the name of what is called, and their bodies."""
        for function in self._module.outline.functions.values():
            if function.name == last_name(call.func):
                body = self._evaluator.calls.body_of(FunctionSymbol(self._module, function)) or ()
                yield from ((value, body) for value in function.return_values)

    def as_float(self, value: Expr, body: Body) -> Change | None:
        """The change of an integer that is written out, or of the call that makes an array of integers."""
        bound = bound_once(body)
        if isinstance(value, Name):
            if value.id not in bound or len(list(reads(body, value.id))) != 1:
                return None
            value = bound[value.id]
        if isinstance(value, Call):
            return None if value.has_star else self._floats(value)
        return self._literal(value, value)

    def _floats(self, call: Call) -> Change | None:
        """The change of a call of `jax.numpy`."""
        package, _, name = self._evaluator.model.resolver.library_name(call.func, self._module).rpartition(".")
        if package != "jax.numpy":
            return None
        if name in _TAKING and len(call.args) == 1:
            return self._literal(call.args[0].value, call.args[0].value)
        if name in _INTEGERS and len(call.args) == 1:
            return self._literal(call.args[0].value, call)
        position = _MAKING.get(name)
        if position is None:
            return None
        if call.keyword("dtype") is not None:
            return EditCall(call.at, without=("dtype",))
        dtype = next(iter(call.positional[position:]), None)
        return None if dtype is None else Remove(dtype.at)

    def _literal(self, number: Expr, whole: Expr) -> Change | None:
        """The change of an integer that is written out, alone or in a call that goes with it."""
        text = self._module.source.segment(*place_of(number.at)) if isinstance(number, Constant) else ""
        return Rewrite(whole.at, f"{text}.0") if text.isdigit() else None
