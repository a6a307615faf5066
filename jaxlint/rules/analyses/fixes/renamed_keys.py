"""The fix of a key of a dict that is meant for another one: it is renamed where the dict is written."""

from __future__ import annotations

from jaxlint.cst.changes import Change, Proposal, Rename, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Place
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.rules.analyses.bodies.around import body_around
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Call, Constant, DictDisplay, Name, Subscript, last_name
from jaxlint.syntax.statements import Body, all_parts, targets_of, walk

#: Calls whose keywords are keys of a dict.
_FILLING = frozenset({"dict", "update"})


@proposing
def renaming_key(key: str, close: str, place: Place, evaluator: Evaluator) -> Proposal | None:
    """The unsafe fix of a key that the code at a place puts into a dict, or a function of the module that it calls."""
    module, body = place.module, body_around(place, evaluator)
    changes = _renamed(key, close, body, module)
    if changes == []:
        called = {last_name(part.func) for part in all_parts(body) if isinstance(part, Call)}
        functions = [one for one in module.outline.functions.values() if one.name in called]
        bodies = (evaluator.calls.body_of(FunctionSymbol(module, one)) or () for one in functions)
        found = [renamed for one in bodies if (renamed := _renamed(key, close, one, module)) != []]
        changes = found[0] if len(found) == 1 else None
    if not changes:
        return None
    return Proposal(f"Rename to `{close}`", Applicability.UNSAFE, tuple(changes))


def _renamed(key: str, close: str, body: Body, module: Module) -> list[Change] | None:
    """What renames a key in all dicts of a body; None if its text stands for something else there, too."""
    found: list[Change] = []
    items = [target for statement in walk(body) for target in targets_of(statement) if isinstance(target, Subscript)]
    parts = [*all_parts(body), *items]
    keys: list[Constant] = []
    for part in parts:
        match part:
            case DictDisplay(keys=given):
                keys += [one for one in given if isinstance(one, Constant) and _is(one, key)]
            case Subscript(value=Name(), index=Constant() as index) if index.value == key:
                keys.append(index)
            case Call(func=func, args=args) if last_name(func) in _FILLING:
                found += [Rename(argument.at, close) for argument in args if argument.keyword == key]
    places = {place_of(one.at) for one in keys}
    if any(_is(part, key) and place_of(part.at) not in places for part in parts):
        return None
    texts = {place: module.source.segment(*place) for place in sorted(places)}
    return [*found, *(Rewrite(place, text.replace(key, close)) for place, text in texts.items())]


def _is(part: object, key: str) -> bool:
    return isinstance(part, Constant) and part.value == key
