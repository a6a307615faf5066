"""Whether a project writes new values of a collection of flax, such as batch statistics, into its state anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.given_literals import around, calls_in
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Constant, Expr, last_name
from jaxlint.syntax.statements import bound_once, looked_up, parts

_APPLYING = re.compile(r"\bapply(_fn)?\s*\(")
#: Sets fields of which no name is written.
_UNNAMED = re.compile(r"\b(replace|apply_gradients)\([^()]*\*\*")


def is_never_renewed(
    collection: str, cls: PytreeClass, function: Function, module: Module, evaluator: Evaluator
) -> bool:
    """Whether only `create` gives a state the collection, and a model is applied to that without updating it.

    The function is the only one that updates it. What is computed elsewhere rests on what `create` was given; where
    all calls update, none of them reads what was kept.
    """
    if may_be_renewed(collection, cls, module, evaluator):
        return False
    is_read = False
    for call, caller, home in (a for one in _homes(cls, module, evaluator) for a in _applied(one, evaluator)):
        if _is_updating(call) and caller is not function:
            return False
        body = None if caller is None else evaluator.calls.body_of(FunctionSymbol(home, caller))
        variables = looked_up(call.positional[0], bound_once(body or ())) if call.positional else None
        if variables is not None and not _is_updating(call):
            is_read = is_read or any(_is_of(part, collection) for part in parts(variables))
    return is_read


def may_be_renewed(collection: str, cls: PytreeClass, module: Module, evaluator: Evaluator) -> bool:
    """Whether something that is seen may give a state the collection once it is made."""
    return not all(_only_creates(collection, cls, home, evaluator) for home in _homes(cls, module, evaluator))


def _homes(cls: PytreeClass, module: Module, evaluator: Evaluator) -> Iterable[Module]:
    """The modules in which a state of a class may be renewed that is used in another one."""
    return dict.fromkeys((module, *evaluator.model.importers(module), *around(cls, evaluator)))


def _only_creates(collection: str, cls: PytreeClass, home: Module, evaluator: Evaluator) -> bool:
    """Whether all that is called like the collection and given anything is an argument of `create`, or a variable."""
    name, text = re.escape(collection), home.source.text
    if _UNNAMED.search(text) or re.search(rf"(?:\.{name}|\[['\"]{name}['\"]\])\s*=(?!=)", text):
        return False
    written = re.compile(rf"\b{name}\s*=(?!=)")
    given = [call for call, _ in calls_in(home, written, evaluator) if call.keyword(collection) is not None]
    if any(last_name(call.func) not in ("create", cls.name) for call in given):
        return False
    variables = re.findall(rf"^[ \t]*{name} =(?!=)", text, re.MULTILINE)
    return len(written.findall(text)) <= len(given) + len(variables)  # else in code that is not looked into


def _applied(home: Module, evaluator: Evaluator) -> Iterator[tuple[Call, Function | None, Module]]:
    """The calls that apply a model, in the functions of a module."""
    for call, caller in calls_in(home, _APPLYING, evaluator):
        if last_name(call.func) in ("apply", "apply_fn"):
            yield call, caller, home


def _is_updating(call: Call) -> bool:
    mutable = call.keyword("mutable")
    return call.has_star or not (mutable is None or (isinstance(mutable, Constant) and mutable.value is False))


def _is_of(expr: Expr, collection: str) -> bool:
    match expr:
        case Constant(value=value) | Attribute(attr=value):
            return value == collection
    return False
