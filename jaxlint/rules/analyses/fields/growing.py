"""Fields that a step makes longer: `jnp.append(state.xs, x)`, `[*state.rows, row]`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Cross
from jaxlint.infer.known.values import Instance, plain
from jaxlint.libraries.transforms import Kind
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.fields.moving import binds
from jaxlint.rules.analyses.fields.stepped import Copies
from jaxlint.syntax.expressions import Attribute, Binary, Call, Display, Expr, Name, Starred, dotted, last_name
from jaxlint.syntax.statements import Assign, For, Return, While, bound_once, looked_up, target_names, walk

#: Functions that join arrays, with what is to be joined as the first argument or as several.
_JOINING = frozenset({"concatenate", "append", "vstack", "hstack", "column_stack"})
#: How many functions are followed that make the copy.
_MAX_DEPTH = 3


class Grown(msgspec.Struct, frozen=True):
    """The fields that grow in each turn of a loop, and the call of a compiled function that makes them do so."""

    at: object
    cls: PytreeClass
    fields: tuple[str, ...]
    function: str


def made_longer(expr: Expr) -> Expr | None:
    """What an expression makes longer."""
    match expr:
        case Binary(op="+", left=left, right=Display(kind="list" | "tuple", items=items)) if items:
            return left
        case Display(kind="list" | "tuple", items=(Starred(value=held), *rest)) if rest:
            return held
        case Display(kind="list" | "tuple", items=(*rest, Starred(value=held))) if rest:
            return held
        case Call(func=func) if last_name(func) in _JOINING and dotted(func) is not None:
            positional = expr.positional
            first = positional[0] if positional else None
            if last_name(func) == "append":
                return first if len(positional) > 1 else None
            items = first.items if isinstance(first, Display) else ()
            return next((i for i in items if not isinstance(i, Starred)), None) if len(items) > 1 else None
    return None


def grown_in_loops(code: CodeRead, evaluator: Evaluator) -> Iterator[Grown]:
    """The fields that each turn of a loop makes longer, in a state that goes through a compiled function.

    The state is bound to what the function returns, so that it is given a longer one the next time.
    """
    crosses = {id(e.at): e for e in code.events if isinstance(e, Cross) and _is_compiled(e)}
    for loop in (s for s in code.statements if isinstance(s, (For, While))) if crosses else ():
        for statement in loop.body:
            match statement:
                case Assign(targets=(target,), value=Call() as call):
                    bound = set(target_names(target))
                case _:
                    continue
            for given, name in _given(call):
                cross = crosses.get(id(given))
                held = None if cross is None or name not in bound else plain(cross.value)
                if cross is None or not isinstance(held, Instance):
                    continue
                if cross.function is not None and cross.module is not None and cross.parameter is not None:
                    function = FunctionSymbol(cross.module, cross.function)
                    fields = tuple(sorted(_Growth(held.cls, evaluator).of(function, cross.parameter)))
                    if fields:
                        yield Grown(call.at, held.cls, fields, cross.function.name)


def grown_carry(code: CodeRead, parameter: str, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Grown]:
    """The fields of the carry of a loop that a function makes longer which the function of the loop calls for it.

    The carry comes first in what a scan's function returns, and is all that others return.
    """
    bound, growth = bound_once(code.body), _Growth(cls, evaluator)
    found: list[tuple[Call, set[str]]] = []
    for value in (s.value for s in walk(code.body, nested=False) if isinstance(s, Return)):
        first = value.items[0] if isinstance(value, Display) and value.kind == "tuple" and value.items else value
        call = None if first is None else looked_up(first, bound)
        if not isinstance(call, Call) or (call is not bound.get(parameter) and binds(code.body, {parameter})):
            return
        found.append((call, growth.made_by(call, parameter, code.place.module, code.scope)))
    fields = set[str].intersection(*(grown for _, grown in found)) if found else ()
    if fields:
        call = found[0][0]
        yield Grown(call.at, cls, tuple(sorted(fields)), last_name(call.func) or "")


def _is_compiled(cross: Cross) -> bool:
    """Whether a value goes into a function that is compiled, and is not held static there."""
    return cross.static is False and any(a.transform.kind is Kind.JIT for a in cross.applied)


def _given(call: Call) -> Iterator[tuple[object, str]]:
    """The variables that a call gets, with the places of what they are given as."""
    yield from ((a.at, a.value.id) for a in call.args if isinstance(a.value, Name))
    if isinstance(call.func, Attribute) and isinstance(call.func.value, Name):
        yield call.func.value.at, call.func.value.id


class _Growth:
    """Tells which fields of the instances of one class a function makes longer."""

    def __init__(self, cls: PytreeClass, evaluator: Evaluator) -> None:
        self._cls = cls
        self._copies = Copies(cls, evaluator)
        self._evaluator = evaluator

    def of(self, function: FunctionSymbol, parameter: str, depth: int = 0) -> set[str]:
        """The leaves that every returned instance has longer than the instance passed as `parameter`."""
        body = self._evaluator.calls.body_of(function) if depth < _MAX_DEPTH else None
        if body is None or function.declaration.is_generator or function.declaration.is_async:
            return set()
        bound = bound_once(body)
        again = bound.get(parameter)
        if binds(body, {parameter}) and not any(isinstance(s, Assign) and s.value is again for s in body):
            return set()  # bound again, perhaps
        returned = [s.value for s in walk(body, nested=False) if isinstance(s, Return)]
        found = []
        for value in returned:
            items = value.items if isinstance(value, Display) and value.kind == "tuple" else (value,)
            calls = [made for item in items if item is not None and isinstance(made := looked_up(item, bound), Call)]
            grown = {field for call in calls for field in self._of_call(call, parameter, function, bound, depth)}
            if isinstance(again, Call):
                before = set(self._of_call(again, parameter, function, bound, depth))
                grown |= before & self._unchanged(calls, parameter, function)
            found.append(grown)
        return set.intersection(*found) if found else set()

    def made_by(self, call: Call, base: str, module: Module, scope: str, depth: int = 0) -> set[str]:
        """The leaves that a function or method makes longer that is called with the instance in a variable."""
        called = self._copies.copying(call, base, module, scope)
        if called is None or called[1].decorators:
            return set()
        home, inner, own, _ = called
        return self.of(FunctionSymbol(home, inner), own, depth + 1)

    def _unchanged(self, calls: Iterable[Call], base: str, function: FunctionSymbol) -> set[str]:
        """The leaves that updates of the instance in a variable leave as they are."""
        module, scope = function.module, function.declaration.inner_scope
        unchanged: set[str] = set()
        for call in calls:
            given = {name for name, _ in self._copies.given(call, base, module, scope)}
            if given:
                unchanged |= {field.name for field in self._cls.fields} - given
        return unchanged

    def _of_call(
        self, call: Call, base: str, function: FunctionSymbol, bound: Mapping[str, Expr], depth: int
    ) -> Iterator[str]:
        module, scope = function.module, function.declaration.inner_scope
        for name, value in self._copies.given(call, base, module, scope):
            field, longer = self._cls.field(name), made_longer(looked_up(value, bound))
            if field is not None and field.role is Role.LEAF and longer is not None:
                if dotted(longer) == f"{base}.{name}":
                    yield name
        yield from self.made_by(call, base, module, scope, depth)
