"""The keys of a dict that a function fills and passes on as `**changes`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import KeywordValue, Place
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Compare,
    Constant,
    DictDisplay,
    Expr,
    Name,
    Subscript,
    Unary,
)
from jaxlint.syntax.names_read import names_captured, reads
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    Augment,
    Body,
    Do,
    For,
    If,
    Jump,
    Raise,
    Return,
    Statement,
    blocks,
    bound_names,
    expressions,
    own_parts,
    parts,
    targets_of,
    walk,
)

#: Methods of a dict that only look at it, and functions of Python that do.
_LOOKING = frozenset({"get", "keys", "values", "items", "copy"})
_ASKING = frozenset({"len", "bool", "print", "sorted", "list", "set", "tuple", "dict", "repr", "str"})


def filled_keywords(call: Call, place: Place, evaluator: Evaluator) -> Iterator[tuple[str, object]]:
    """The keywords that a call passes by dicts that its function fills, each with the place of the dict in the call."""
    starred = [arg for arg in call.args if arg.star == "**" and isinstance(arg.value, Name)]
    if place.function is None or not starred:
        return
    body = evaluator.calls.body_of(FunctionSymbol(place.module, place.function)) or ()
    parameters = {parameter.name for parameter in place.function.parameters}
    passed = {arg.keyword for arg in call.args}
    for arg in starred:
        if isinstance(arg.value, Name) and arg.value.id not in parameters:
            yield from ((key, arg.at) for key in sorted(_filled_keys(arg.value.id, call, body) - passed))


def certain_keywords(
    keywords: Sequence[KeywordValue], call: Call, place: Place, evaluator: Evaluator
) -> list[KeywordValue]:
    """Those of the keywords that a call passes, but for what a dict may not hold any more that others may change."""
    starred = [argument for argument in call.args if argument.star == "**"]
    doubtful = [argument.at for argument in starred if _is_changed_elsewhere(argument.value, place, evaluator)]
    return [keyword for keyword in keywords if not any(keyword.at is at for at in doubtful)]


def _is_changed_elsewhere(expr: Expr, place: Place, evaluator: Evaluator) -> bool:
    """Whether another function may change a dict that one fills: `self.fields.pop("x")`, or one inside of it."""
    outline = place.module.outline
    match expr:
        case Attribute(attr=attr):
            return outline.changes_in_place(attr)
        case Name(id=name) if place.function is not None:
            body = evaluator.calls.body_of(FunctionSymbol(place.module, place.function)) or ()
            return name in names_captured(body)
        case Name(id=name):
            return any(name in unit.mutations for unit in outline.units if unit.kind == "definition")
    return False


def _filled_keys(name: str, call: Call, body: Body) -> frozenset[str]:
    """The literal keys that the local dict `name` may have where a call passes it as `**name`.

    None if something else may get hold of the dict, if there is more than one of that name, and none whose condition
    may decide on the call, too: `if kind == "a": changes["x"] = 1` and `if kind == "b": b.replace(**changes)`.
    """
    statements = list(walk(body, nested=False))
    passing = next((s for s in statements if any(part is call for part in own_parts(s))), None)
    first = _first_keys(name, statements)
    if passing is None or first is None:
        return frozenset()
    filling = [(s, keys) for s in statements if (keys := _put_by(s, name)) is not None]
    if any(s.at.lineno >= passing.at.lineno for s, _ in filling) or _escapes(name, body):
        return frozenset()
    deciding = _deciding(body, passing) - {name}
    found = (keys for statement, keys in filling if deciding.isdisjoint(_deciding(body, statement)))
    return first.union(*found)


def _first_keys(name: str, statements: list[Statement]) -> frozenset[str] | None:
    """The keys of the dict that a variable is given; None if it is assigned twice, or something else."""
    bound = [s for s in statements if isinstance(s, (Assign, Annotate)) and name in bound_names(s)]
    value = bound[0].value if len(bound) == 1 else None
    return None if value is None else _literal_keys(value)


def _literal_keys(value: Expr) -> frozenset[str] | None:
    """The keys of a dict that is written out: `{"a": 1}`, `dict(a=1)`."""
    match value:
        case DictDisplay(keys=keys):
            names = [key.value if isinstance(key, Constant) else None for key in keys]
            return frozenset(n for n in names if isinstance(n, str)) if None not in names else None
        case Call(func=Name(id="dict"), args=args) if all(a.keyword is not None for a in args):
            return frozenset(a.keyword for a in args if a.keyword is not None)
    return None


def _put_by(statement: Statement, name: str) -> frozenset[str] | None:
    """The keys that a statement puts into the dict `name`; None if it puts none, or others."""
    match statement:
        case Assign(targets=(Subscript(value=Name(id=held), index=Constant(value=str(key))),)) if held == name:
            return frozenset({key})
        case Augment(target=Name(id=held), op="|", value=value) if held == name:
            return _literal_keys(value)
        case Do(value=Call(func=Attribute(value=Name(id=held), attr="update"), args=args)) if held == name:
            given = [_literal_keys(a.value) if a.keyword is None else frozenset({a.keyword}) for a in args]
            return None if None in given else frozenset[str]().union(*(keys for keys in given if keys is not None))
    return None


def _escapes(name: str, body: Body) -> bool:
    """Whether something may be done with the dict `name` but to fill it, to look at it and to pass it as `**name`."""
    harmless: set[int] = set()
    for statement in walk(body, nested=False):
        if _put_by(statement, name) is not None:
            harmless |= {id(p) for e in expressions(statement)[:1] for p in parts(e) if isinstance(p, Name)}
        assigned = {id(target) for target in targets_of(statement)}
        harmless |= {id(n) for part in own_parts(statement) if id(part) not in assigned for n in _looked_at(part)}
        if isinstance(statement, If):
            harmless |= {id(test) for test, _ in statement.branches}
        elif isinstance(statement, For):
            harmless.add(id(statement.iterable))
    return any(id(read) not in harmless for read in reads(body, name))


def _looked_at(part: Expr) -> Iterator[Expr]:
    """The dicts that an expression looks at, and neither changes nor hands on."""
    match part:
        case Call(func=func, args=args):
            asks = isinstance(func, Name) and func.id in _ASKING
            yield from (a.value for a in args if a.star == "**" or asks)
            if isinstance(func, Attribute) and func.attr in _LOOKING:
                yield func.value
        case Unary(op="not", operand=held) | Compare(ops=("in" | "not in",), comparators=(held,)):
            yield held
        case Subscript(value=held):
            yield held


def _deciding(body: Body, statement: Statement) -> set[str]:
    """The names in the tests that decide whether a statement is reached, those of early exits before it too."""
    names: set[str] = set()
    for current in body:
        if current is statement:
            return names
        for block in blocks(current):
            if any(s is statement for s in walk(block, nested=False)):
                return names | _tested(current) | _deciding(block, statement)
        if any(isinstance(s, (Return, Raise, Jump)) for s in walk((current,), nested=False)):
            names |= _tested(current)
    return names


def _tested(statement: Statement) -> set[str]:
    """The names that a statement looks at to choose a block."""
    return {part.id for part in own_parts(statement) if isinstance(part, Name)}
