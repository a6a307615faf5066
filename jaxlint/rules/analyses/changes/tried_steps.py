"""Steps and updates that are made to see that they work, or to compile them, and not to go on from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Cross, Update
from jaxlint.libraries.transforms import Kind
from jaxlint.project.modules import Module
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, DictDisplay, Display, Expr, dotted
from jaxlint.syntax.names_read import names_read
from jaxlint.syntax.statements import (
    Assert,
    Assign,
    Body,
    Break,
    For,
    Statement,
    While,
    assigned_names,
    bound_once,
    looked_into,
    parts,
    target_names,
    walk,
)

#: Functions that make arrays with nothing in them, of jax.numpy and numpy, and what stands for an array.
_BLANK = frozenset(
    f"{library}.{name}{ending}"
    for library in ("jax.numpy", "numpy")
    for name in ("zeros", "ones", "empty")
    for ending in ("", "_like")
) | {"jax.ShapeDtypeStruct"}


def is_tried(statement: Statement, call: Call, name: str, original: str, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a function or method that makes another state of the original, into a variable, is called to try it.

    Its data are blank; or it is compiled and only the first of many is taken, or nothing but the original, which the
    function has made itself; or asserts, outside of loops, are all that looks at the result, or they look at the
    original again.
    """
    bound = bound_once(code.body)
    stepped, data = _stepped(call, original)
    if data and all(_is_blank(expr, bound, code, evaluator) for expr in data):
        return True
    loops = [s for s in code.statements if isinstance(s, (For, While)) and _holds(s, statement)]
    is_read = name in names_read(code.body)
    if not is_read and _is_compiled(stepped, code):
        if loops and isinstance(loops[-1].body[-1], Break):
            return True
        if not loops and not data and original in assigned_names(code.body):
            return True
    asserts = [s for s in code.statements if isinstance(s, Assert)]
    if loops or not asserts:
        return False
    if is_read:
        return all(isinstance(s, Assert) for s in walk(code.body) if name in names_read((s,)))
    return any(original in names_read((s,)) and place_of(s.at) > place_of(statement.at) for s in asserts)


def stays_the_same(base: str, update: Update, body: Body, later: Sequence[Statement]) -> bool:
    """Whether an `assert` behind an update holds the original against what was taken of it before."""
    row = place_of(update.call.at).row
    before = (s for s in walk(body) if isinstance(s, Assign) and s.at.lineno < row)
    taken = {name for s in before if _reads(base, s.value) for target in s.targets for name in target_names(target)}
    tests = [s.test for s in later if isinstance(s, Assert)]
    return any(_reads(base, test) and any(_reads(name, test) for name in taken - {base}) for test in tests)


def _reads(path: str, expr: Expr) -> bool:
    return any(dotted(part) == path for part in parts(expr))


def is_carried(base: str, update: Update, body: Body) -> bool:
    """Whether a loop around an update gives a variable something made of it in each turn: it goes on with the copy."""
    row = place_of(update.call.at).row
    around = (s for s in walk(body) if isinstance(s, (For, While)) and s.at.lineno < row <= s.at.end_lineno)
    outermost = next(around, None)
    given = (s for s in walk(outermost.body if outermost is not None else ()) if isinstance(s, Assign))
    return any(any(base in target_names(target) for target in s.targets) and _reads(base, s.value) for s in given)


def _is_blank(expr: Expr, bound: Mapping[str, Expr], code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether an expression makes arrays of zeros or ones, or holds some and nothing else."""
    expr, bound = looked_into(expr, bound)
    match expr:
        case Call(func=func):
            return evaluator.model.resolver.library_name(func, code.place.module, code.scope) in _BLANK
        case Display(items=held) | DictDisplay(values=held):
            return bool(held) and all(_is_blank(item, bound, code, evaluator) for item in held)
    return False


def _stepped(call: Call, original: str) -> tuple[Expr | None, list[Expr]]:
    """What a call makes another state of, which is what its method belongs to or its first argument, and its data."""
    given = [argument.value for argument in call.args]
    if isinstance(call.func, Attribute) and dotted(call.func.value) == original:
        return call.func.value, given
    return (given[0], given[1:]) if given else (None, [])


def _is_compiled(stepped: Expr | None, code: CodeRead) -> bool:
    """Whether the function or method that makes another state of something is compiled."""
    place = None if stepped is None else place_of(stepped.at)
    crosses = (e for e in code.events if isinstance(e, Cross) and place_of(e.at) == place)
    return any(applied.transform.kind is Kind.JIT for cross in crosses for applied in cross.applied)


def _holds(loop: For | While, statement: Statement) -> bool:
    return any(inner is statement for inner in walk(loop.body, nested=False))


def is_only_looked_at(function: Function, module: Module, evaluator: Evaluator) -> bool:
    """Whether all that call a function look at parts of the state that it returns, and go on with the one before.

    That is seen where each mention of it in the module, and in those that import it, is a call. Of the result a part is
    read at once, or it goes into another variable than the argument came from, and only parts of that are read.
    """
    looked = False
    for home in (module, *evaluator.model.importers(module)):
        text = home.source.text
        for mention in re.finditer(rf"(?<![\w.\"'#]){re.escape(function.name)}\b", text):
            start = text.rfind("\n", 0, mention.start()) + 1
            before = text[start : mention.start()].strip()
            if before in ("def", "async def") or before.startswith(("from ", "import ", "#")):
                continue
            after = _after_call(text, mention.end())
            if after is None:
                return False
            bound = re.fullmatch(r"(\w+)\s*=", before)
            is_part = text[after : after + 1] == "."
            if not is_part and (bound is None or not _only_parts(bound[1], text)):
                return False
            if bound is not None and not is_part and re.match(rf"\s*\(\s*{bound[1]}\b", text[mention.end() :]):
                return False
            looked = True
    return looked


def _after_call(text: str, start: int) -> int | None:
    """Where the arguments that begin at a place end; None if none do."""
    if not text[start:].lstrip(" ").startswith("("):
        return None
    depth = 0
    for place in range(text.index("(", start), len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if not depth:
            return place + 1
    return None


def _only_parts(name: str, text: str) -> bool:
    """Whether all that a text does with a variable is to bind it and to read its attributes."""
    mentions = re.finditer(rf"(?<![\w.]){re.escape(name)}\b", text)
    return all(re.match(r"\.\w|\s*=[^=]", text[mention.end() :]) for mention in mentions)
