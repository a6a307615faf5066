"""Fixes that let a function return the copy that it makes of an argument, and its callers take it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxlint.cst.changes import Change, NeededImport, Proposal, ReturnLast, TakeResult
from jaxlint.finding import Applicability
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import Place
from jaxlint.project.modules import Module
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Span, last_name

#: Decorators under which a method is no longer called like one.
_ATTRIBUTES = frozenset({"property", "cached_property", "setter", "getter", "deleter", "overload", "abstractmethod"})


def returning(
    change: Change | None,
    name: str,
    place: Place,
    evaluator: Evaluator,
    imports: tuple[NeededImport, ...] = (),
) -> Proposal | None:
    """The unsafe fix of a copy of the parameter `name`, which `change` makes: it is returned.

    Where the file calls the function, and takes no result, what was passed is bound to it.
    """
    function = place.function
    if function is None or not _may_return(function, place.module, evaluator):
        return None
    names = [parameter.name for parameter in function.parameters if parameter.kind in ("positional", "keyword")]
    if name not in names:
        return None
    changes: list[Change] = [] if change is None else [change]
    changes.append(ReturnLast(function.at, name))
    is_method = function.owner is not None and function.self_name is not None
    position = names.index(name) - is_method
    changes += [TakeResult(at, name, position) for at in _mentions(function.name, place.module)]
    return Proposal(f"Return `{name}`, and let callers take it", Applicability.UNSAFE, tuple(changes), imports)


def _may_return(function: Function, module: Module, evaluator: Evaluator) -> bool:
    """Whether a function may return something else, as far as the module and those that import it tell."""
    if function.return_values or function.is_generator or function.is_async or function.name.startswith("__"):
        return False
    if any(last_name(decorator) in _ATTRIBUTES for decorator in function.decorators):
        return False
    if evaluator.calls.transformed.is_wrapped(function, module) or evaluator.calls.transformed.of(function, module):
        return False
    if _is_ambiguous(function.name, module):
        return False
    importers = evaluator.model.importers(module)
    return not any(function.name in unit.calls for other in importers for unit in other.outline.units)


def _is_ambiguous(name: str, module: Module) -> bool:
    """Whether several functions of a module have the same name, so that calls do not tell which one is meant."""
    return len([one for one in module.outline.functions.values() if one.name == name]) > 1


def _mentions(name: str, module: Module) -> Iterator[Span]:
    """Where a name stands in front of brackets."""
    source = module.source
    for match in re.finditer(rf"\b{re.escape(name)}(?=\s*\()", source.text):
        row, column = source.place(match.start())
        start = len(source.line(row)[:column].encode())
        yield Span(row, start, row, start + len(name.encode()))
