"""The fix of a field that is None in the initial carry of a loop, and an array afterwards: it begins with zeros."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from jaxlint.cst.changes import EditCall, InsertLine, NeededImport, Proposal
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import Instance
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.array_fields import names_array
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.fixes.rebinding import copy_written, is_own_variable
from jaxlint.rules.analyses.under_trace.carried import Change
from jaxlint.rules.analyses.under_trace.forms import NOTHING, Leaf, Something
from jaxlint.rules.analyses.under_trace.things import Code
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Compare, Constant, Expr, Name, dotted, is_none, last_name
from jaxlint.syntax.statements import Body, all_parts, bound_once, parts

#: How many functions are followed to what they give to the field.
_MOST_STEPS = 3
#: Functions that make zeros.
_ZEROS = frozenset({"zeros", "zeros_like"})


class _Like(msgspec.Struct, frozen=True):
    """What an array is like: another field of the carry, what is `written` in the code with the loop, or `zeros`."""

    field: str = ""
    written: str = ""
    zeros: str = ""


@proposing
def beginning_with_zeros(change: Change, code: CodeRead, evaluator: Evaluator) -> Proposal | None:
    """The unsafe fix, where the function gives the field another one of the carry, or what the loop goes over."""
    found, stepped = change.difference, change.code
    if found is None or found.cls is None or stepped is None or found.before != NOTHING:
        return None
    if not isinstance(found.after, (Leaf, Something)) or stepped.module is not code.place.module:
        return None
    like = _like(found.field, stepped, change, evaluator)
    if like is None or not (isinstance(found.after, Leaf) or _is_array(like, found.cls, code)):
        return None
    if like.field and not _is_leaf(like.field, found.cls):
        return None
    zeros = spelled("jax.numpy.zeros_like", code.place.module, evaluator.model.resolver, code.place.scope)
    edited = None if zeros is None else _Beginning(found.cls, found.field, like, zeros[0], code, evaluator).edit(change)
    if zeros is None or edited is None:
        return None
    title = f"Begin with zeros in `{found.field}`"
    return Proposal(title, Applicability.UNSAFE, (edited[0],), tuple(dict.fromkeys((*zeros[1], *edited[1]))))


def _is_leaf(name: str, cls: PytreeClass) -> bool:
    field = cls.field(name)
    return field is not None and field.role is Role.LEAF


def _is_array(like: _Like, cls: PytreeClass, code: CodeRead) -> bool:
    """Whether what an array would be like is declared as one."""
    if like.zeros:
        return True
    field = cls.field(like.field) if like.field else None
    annotation = field.annotation.expr if field is not None and field.annotation is not None else None
    for parameter in code.function.parameters if code.function is not None else ():
        if like.written == f"{parameter.name}[0]":
            annotation = parameter.annotation
    return annotation is not None and dotted(annotation) is not None and names_array(annotation)


def _like(field: str, code: Code, change: Change, evaluator: Evaluator) -> _Like | None:
    """What the function of a loop gives to a field, wherever it does so; None if that is not one plain thing."""
    found: set[_Like | None] = set()
    for value in _given(field, code.body, code, evaluator, _MOST_STEPS):
        bound = bound_once(code.body) if isinstance(code.body, tuple) else {}
        value = bound.get(value.id, value) if isinstance(value, Name) else value
        found.add(_other_field(value, field) or _item(value, code, change) or _made(value, code))
    return found.pop() if len(found) == 1 else None


def _given(field: str, body: Body | Expr, code: Code, evaluator: Evaluator, steps: int) -> list[Expr]:
    """What some code, or a function that it calls, gives to a field; nothing if it asks whether that is None."""
    found = list(all_parts(body)) if isinstance(body, tuple) else parts(body)
    if any(isinstance(one, Compare) and last_name(one.left) == field and is_none(one.comparators[0]) for one in found):
        return []
    calls = [one for one in found if isinstance(one, Call)]
    values = [argument.value for call in calls for argument in call.args if argument.keyword == field]
    if values or not steps:
        return values
    called = {last_name(call.func) for call in calls}
    functions = [one for one in code.module.outline.functions.values() if one.name in called]
    bodies = [evaluator.calls.body_of(FunctionSymbol(code.module, one)) or () for one in functions]
    inner = [value for one in bodies for value in _given(field, one, code, evaluator, steps - 1)]
    return [value for value in inner if isinstance(value, Attribute)]  # variables are those of other functions


def _other_field(value: Expr, field: str) -> _Like | None:
    """Another field of an instance, if a value is one."""
    is_field = isinstance(value, Attribute) and isinstance(value.value, Name) and value.attr != field
    return _Like(value.attr) if is_field and isinstance(value, Attribute) else None


def _item(value: Expr, code: Code, change: Change) -> _Like | None:
    """An item of what a scan goes over, if a value is one."""
    names, over = code.parameters[len(code.positional) :], change.given.get("xs")
    text = None if over is None else dotted(over)
    is_item = len(names) == 2 and isinstance(value, Name) and value.id == names[1]
    return _Like(written=f"{text}[0]") if is_item and text is not None and change.transform.endswith("scan") else None


def _made(value: Expr, code: Code) -> _Like | None:
    """Zeros that depend on no variable, if a value is such."""
    if not isinstance(value, Call) or last_name(value.func) not in _ZEROS:
        return None
    text = code.module.source.segment(*place_of(value.at))
    is_free = not any(isinstance(one, Name) for given in value.positional for one in parts(given))
    return _Like(zeros=text) if is_free and not value.has_star and "\n" not in text else None


class _Beginning:
    """Writes zeros into the initial carry."""

    def __init__(
        self, cls: PytreeClass, field: str, like: _Like, zeros: str, code: CodeRead, evaluator: Evaluator
    ) -> None:
        self._cls = cls
        self._field = field
        self._like = like
        self._zeros = zeros
        self._code = code
        self._evaluator = evaluator

    def edit(self, change: Change) -> tuple[EditCall | InsertLine, Sequence[NeededImport]] | None:
        """What makes the zeros, and the imports that it needs."""
        initial = change.given.get("init", change.given.get("init_val"))
        made = bound_once(self._code.body).get(initial.id) if isinstance(initial, Name) else initial
        constructed = self._constructed(made, is_here=True)
        if constructed is None and isinstance(initial, Call):
            constructed = self._constructed(self._returned(initial), is_here=False)
        if constructed is not None:
            return constructed, ()
        return self._copied(initial) if isinstance(initial, Name) else None

    def _returned(self, call: Call) -> Expr | None:
        """What a function of the module, which is called, returns."""
        functions = self._code.place.module.outline.functions.values()
        values = [one.return_values for one in functions if one.name == last_name(call.func)]
        return values[0][0] if len(values) == 1 and len(values[0]) == 1 else None

    def _constructed(self, made: Expr | None, *, is_here: bool) -> EditCall | None:
        """The change of a call of the constructor."""
        if not isinstance(made, Call) or last_name(made.func) != self._cls.name or made.has_star:
            return None
        given = made.given_to([field.name for field in self._cls.fields])
        known = self._cls.field(self._field)
        if known is None or not known.init or (self._like.written and not is_here):
            return None
        if self._field in given and not any(a.keyword == self._field and is_none(a.value) for a in made.args):
            return None
        value = self._like.zeros or f"{self._zeros}({self._like.written})"
        if self._like.field:
            value = self._zeros_for(given.get(self._like.field))
        return EditCall(made.at, ((self._field, value),)) if value else None

    def _zeros_for(self, value: Expr | None) -> str:
        """Zeros like what the constructor is given for another field; nothing if that may not be asked for again."""
        if value is None:
            return ""
        module, scope = self._code.place.module, self._code.place.scope
        text = module.source.segment(*place_of(value.at))
        if isinstance(value, Call):
            name = self._evaluator.model.resolver.library_name(value.func, module, scope) or ""
            if not name.startswith("jax.numpy."):
                return ""
        elif not isinstance(value, Constant) and dotted(value) is None:
            return ""
        is_zeros = isinstance(value, Call) and last_name(value.func) in _ZEROS
        return "" if "\n" in text else text if is_zeros else f"{self._zeros}({text})"

    def _copied(self, initial: Name) -> tuple[InsertLine, Sequence[NeededImport]] | None:
        """The line that binds the variable with the carry to a copy, in front of the loop."""
        place = self._code.place
        if not is_own_variable(initial.id, place):
            return None
        made = copy_written(initial.id, [self._field], [Instance(self._cls)], place, self._evaluator)
        if made is None:
            return None
        of = f"{initial.id}.{self._like.field}" if self._like.field else self._like.written
        line = made[0].replace("{value}", self._like.zeros or f"{self._zeros}({of})")
        return InsertLine(initial.at, f"{initial.id} = {line}"), made[1]
