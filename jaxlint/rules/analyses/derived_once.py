"""Fields that a `__post_init__` computes where they are None, so that each copy keeps what the first instance had."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from jaxlint.infer.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Compare,
    Expr,
    Name,
    dotted,
    forced_assignment,
    is_none,
    last_name,
)
from jaxlint.syntax.statements import Assign, Body, Do, If, parts

#: Calls that make the same of a value in another form, or the beginning of something that goes its own way.
_CONVERSIONS = frozenset({"asarray", "array", "astype", "float32", "device_put", "copy", "tuple", "list", "init"})
#: What makes a tree or an array that only looks like what it is given, or begins as that and goes its own way.
_BEGINNING = frozenset({"zeros_like", "ones_like", "full_like", "empty_like", "map", "tree_map", "deepcopy"})
#: Traits of an array that stay the same when its values change.
_TRAITS = frozenset({"shape", "dtype", "ndim", "size"})
_NOTHING: Mapping[str, str] = {}


def derived_once(
    cls: PytreeClass, replaced: Collection[str], evaluator: Evaluator
) -> Iterator[tuple[str, frozenset[str]]]:
    """The fields that are computed of some that are `replaced` where they are None, each with those.

    Whoever gives the field a value anywhere else may let it go its own way.
    """
    found = cls.method("__post_init__")
    if found is None or found[1].self_name is None:
        return
    owner, function = found
    own = function.self_name or ""
    for statement in evaluator.calls.body_of(FunctionSymbol(owner.module, function)) or ():
        if not isinstance(statement, If) or statement.orelse or len(statement.branches) != 1:
            continue
        test, body = statement.branches[0]
        field = _asked(test, own)
        value = None if field is None else _given(field, own, body)
        if field is None or value is None:
            continue
        changed = sources_of(value, own).intersection(replaced)
        if changed and field not in replaced and not _is_given(field, cls, evaluator):
            yield field, changed


def sources_of(value: Expr, own: str | None, kept: Mapping[str, str] = _NOTHING) -> frozenset[str]:
    """The fields of whose values something is computed: attributes of `own`, and variables that are `kept` in a field.

    Empty where it may only be as large as one of them.
    """
    if not _is_computation(value):
        return frozenset()
    read: dict[int, str] = {}
    traits: set[int] = set()
    for part in parts(value):
        if isinstance(part, Name) and part.id in kept:
            read[id(part)] = kept[part.id]
        elif isinstance(part, Attribute):
            if own is not None and dotted(part.value) == own:
                read[id(part)] = part.attr
            if part.attr in _TRAITS:
                traits.add(id(part.value))
    return frozenset() if traits & read.keys() else frozenset(read.values())


def _is_computation(value: Expr) -> bool:
    """Whether a value is worked out, and is not just another form of something or the beginning of something else."""
    if isinstance(value, Call):
        return last_name(value.func) not in _CONVERSIONS | _BEGINNING
    return isinstance(value, Binary)


def _asked(test: Expr, own: str) -> str | None:
    """The field for which `self.field is None` asks."""
    match test:
        case Compare(left=Attribute(value=held, attr=attr), ops=("is",), comparators=(other,)):
            return attr if dotted(held) == own and is_none(other) else None
    return None


def _given(field: str, own: str, body: Body) -> Expr | None:
    """What a field is given by the one statement of a block, whether the class is frozen or not."""
    match body:
        case (Assign(targets=(Attribute(attr=attr) as target,), value=value),):
            return value if dotted(target) == f"{own}.{attr}" and attr == field else None
        case (Do(value=call),):
            forced = forced_assignment(call)
            return forced[2] if forced is not None and (dotted(forced[0]), forced[1]) == (own, field) else None
    return None


def _is_given(field: str, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a call or an assignment anywhere gives the field a value: `chol=...`."""
    gives = re.compile(rf"(?<![\w.]){re.escape(field)}\s*=(?!=)|\.{re.escape(field)}\s*=(?!=)")
    home = cls.module
    return any(_gives(gives, module, cls) for module in (home, *evaluator.model.importers(home)))


def _gives(gives: re.Pattern[str], module: Module, cls: PytreeClass) -> bool:
    """Whether a module matches outside of the class itself."""
    text = module.source.text
    if module is not cls.module:
        return gives.search(text) is not None
    at = cls.symbol.declaration.at
    start, end = module.source.offset(at.row, 0), module.source.offset(at.end_row, 0)
    return any(not start <= match.start() < end for match in gives.finditer(text))
