"""Where code that is not compiled needs a number of Python, and an array would not do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.methods import may_have
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Compare,
    Conditional,
    DictDisplay,
    Display,
    Expr,
    Subscript,
    last_name,
)
from jaxlint.syntax.statements import Body, all_parts, bound_once, looked_up

#: Functions that ask what something is, or write it in a format that knows no arrays.
_ASKING = frozenset({"isinstance", "type", "hash", "dumps", "dump", "safe_dump"})
_WRITING = re.compile(r"\b(?:json|yaml|toml\w*|msgpack|orjson)\b")


def stays_python_number(name: str, cls: PytreeClass, module: Module, evaluator: Evaluator) -> bool:
    """Whether what a field holds is a key, is asked for its type, or may be written to a file of text, as it is."""
    written = re.compile(rf"\.\s*{re.escape(name)}\b")
    homes = {one.path: one for one in (cls.module, module, *evaluator.model.importers(cls.module))}
    for home in homes.values():
        if not written.search(home.source.text):
            continue
        may_write = _WRITING.search(home.source.text) is not None
        functions = [f for f in home.outline.functions.values() if may_have(written, f, home)]
        bodies = [evaluator.calls.body_of(FunctionSymbol(home, function)) or () for function in functions]
        for body in (*bodies, evaluator.calls.top_level(home)):
            if any(_has(expr, name) for expr in _asked(body, may_write=may_write)):
                return True
    return False


def _asked(body: Body, *, may_write: bool) -> Iterator[Expr]:
    """The expressions of a body that have to be what they are."""
    bound = bound_once(body)
    for part in all_parts(body):
        match part:
            case Call(func=func) if last_name(func) in _ASKING:
                yield from (argument.value for argument in part.args)
            case DictDisplay(keys=keys, values=values):
                yield from (key for key in keys if key is not None)
                yield from values if may_write else ()
            case Subscript(value=held, index=index) if isinstance(looked_up(held, bound), DictDisplay):
                yield index
            case Compare(left=left, ops=("is" | "is not",)):
                yield left


def _has(expr: Expr, name: str) -> bool:
    """Whether an attribute of a name stands in an expression as it is."""
    match expr:
        case Attribute(attr=attr):
            return attr == name
        case Display(items=items) | DictDisplay(values=items):
            return any(_has(item, name) for item in items)
        case Conditional(body=body, orelse=orelse):
            return _has(body, name) or _has(orelse, name)
    return False
