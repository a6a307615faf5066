"""What a call makes of a parameter and the function forgets, by the names: `out, new_state = model(x, state)`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.rules.analyses.changes.returning import returned_variables
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Call, Name, dotted, items_of
from jaxlint.syntax.names_read import reads
from jaxlint.syntax.statements import Assign, Return

#: The names of what takes the place of something: `new_state`, `state_new`.
_SUCCESSOR = re.compile(r"(?:(?:new|next|updated)_(?P<before>\w+)|(?P<after>\w+)_(?:new|next|updated))")
#: Functions that look at what they are given, and may hand it back as it was.
_LOOKING = re.compile(r"eval|test|valid|infer|predict")


class Forgotten(msgspec.Struct, frozen=True):
    """A variable that nothing reads, and the parameter that it was to take the place of, which is returned."""

    at: object
    name: str
    original: str


def may_forget(function: Function, rows: Iterable[str]) -> bool:
    """Whether a function returns a parameter, and its text names what takes the place of one."""
    if _LOOKING.search(function.name) is not None or not function.return_values:
        return False
    names = {found["before"] or found["after"] for row in rows for found in _SUCCESSOR.finditer(row)}
    return any(parameter.name in names for parameter in function.parameters)


def forgotten_successors(code: CodeRead) -> Iterator[Forgotten]:
    """The results of calls that are given a parameter and are named as its successor, where that is returned instead.

    The parameter stays what it is, and the call stands where it always runs.
    """
    function, last = code.function, code.body[-1] if code.body else None
    if function is None or not isinstance(last, Return) or _LOOKING.search(function.name) is not None:
        return
    returned = {read.id for read in returned_variables(last.value)}
    stays = returned & code.parameters.keys() - code.contents.bound
    for statement in code.body if stays else ():
        match statement:
            case Assign(targets=(target,), value=Call() as call):
                given = {dotted(argument.value) for argument in call.args}
            case _:
                continue
        for item in items_of(target):
            found = _SUCCESSOR.fullmatch(item.id) if isinstance(item, Name) else None
            original = "" if found is None else found["before"] or found["after"]
            if isinstance(item, Name) and original in stays & given and next(reads(code.body, item.id), None) is None:
                yield Forgotten(item.at, item.id, original)
