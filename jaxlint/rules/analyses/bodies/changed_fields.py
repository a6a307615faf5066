"""Which fields of a state a statement changes that binds it anew."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import Scalar, plain
from jaxlint.libraries.updates import APPLYING_UPDATES, BY_GRADIENTS, COPYING_NAMES, TREE_AT
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.syntax.expressions import Call, Name, last_name, root
from jaxlint.syntax.statements import Annotate, Assign, Body, FunctionDefinition, Statement, all_parts, own_parts

#: What adds the updates of an optimizer, and what may replace any field, by the last parts of their names.
_APPLYING = frozenset(name.rpartition(".")[2] for name in APPLYING_UPDATES)
_SELECTING = TREE_AT.rpartition(".")[2]
#: What an optimizer leaves as it is: the sizes of a module.
_NEVER_UPDATED = frozenset({"int", "bool", "str"})


def changed_fields(statement: Statement, cls: PytreeClass, code: CodeRead, evaluator: Evaluator) -> set[str] | None:
    """The fields of `cls` that a statement gives other values; None if that cannot be seen."""
    value = statement.value if isinstance(statement, (Assign, Annotate)) else None
    if not isinstance(value, Call):
        return None
    calls = [part for part in own_parts(statement) if isinstance(part, Call)]
    if isinstance(value.func, Name):
        body = _body_of(value.func.id, code, evaluator)
        calls = [] if body is None else [part for part in all_parts(body) if isinstance(part, Call)]
    calls = list(_with_methods(calls, cls, evaluator))
    copied = {name for call in calls if last_name(call.func) in COPYING_NAMES for name in _copied(call)}
    changed: set[str] = set()
    for call in calls:
        name = last_name(call.func)
        given = {one.id for one in call.positional if isinstance(one, Name)} if name not in COPYING_NAMES else set()
        if (
            not copied.isdisjoint(given)
            or name == cls.symbol.declaration.name
            or (name in COPYING_NAMES and call.has_star)
        ):
            return None  # all of it may be another one
        if name in COPYING_NAMES:
            changed |= {argument.keyword for argument in call.args if argument.keyword is not None}
        elif name == "apply_gradients":
            changed |= BY_GRADIENTS
    names = {last_name(call.func) for call in calls}
    if not names.isdisjoint(_APPLYING) and names.isdisjoint({_SELECTING, *COPYING_NAMES}):
        return {field.name for field in cls.fields if not _is_never_updated(field, cls, evaluator)}
    return changed or None


def _is_never_updated(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a field holds a whole number, a flag or a text: there is no gradient for it."""
    value = plain(evaluator.promises.field(field, cls))
    return isinstance(value, Scalar) and value.kind in _NEVER_UPDATED


def _copied(call: Call) -> list[str]:
    """The variables that a copy may be of: what the method belongs to, and what the function is given."""
    return [one.id for one in (root(call.func), *call.positional) if isinstance(one, Name)]


def _body_of(name: str, code: CodeRead, evaluator: Evaluator) -> Body | None:
    """The body of a function inside of the code, or of one of the module."""
    inner = [s.body for s in code.statements if isinstance(s, FunctionDefinition) and s.name == name]
    if inner:
        return inner[-1]
    function = code.place.module.outline.functions.get(name)
    return None if function is None else evaluator.calls.body_of(FunctionSymbol(code.place.module, function))


def _with_methods(calls: list[Call], cls: PytreeClass, evaluator: Evaluator) -> Iterator[Call]:
    """Calls, and those in the methods of the class that they call."""
    pending, seen = list(calls), set[str]()
    while pending:
        call = pending.pop()
        yield call
        name = last_name(call.func)
        found = None if name in seen else cls.method(name)
        if found is not None:
            seen.add(name)
            body = evaluator.calls.body_of(FunctionSymbol(found[0].module, found[1]))
            pending += [part for part in all_parts(body or ()) if isinstance(part, Call)]
