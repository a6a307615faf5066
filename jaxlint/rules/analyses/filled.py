"""The keys that a function puts into a dict of its own, on one path or another, before it passes it as `**changes`."""

from __future__ import annotations

from jaxlint.syntax.expressions import Attribute, Call, Compare, Constant, DictDisplay, Expr, Name, Subscript, Unary
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    Augment,
    Body,
    Do,
    If,
    Jump,
    Raise,
    Return,
    Statement,
    blocks,
    expressions,
    own_parts,
    parts,
    reads,
    target_names,
    walk,
)


def filled_keys(name: str, call: Call, body: Body) -> frozenset[str]:
    """The literal keys that the local dict `name` may have where a call passes it as `**name`.

    None if something else may get hold of the dict, if there is more than one of that name, or if what decides on a
    key may decide on the call, too: `if kind == "a": changes["x"] = 1` and `if kind == "b": b.replace(**changes)`.
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
    bound = [s for s in statements if isinstance(s, (Assign, Annotate)) and _binds(s, name)]
    value = bound[0].value if len(bound) == 1 else None
    return None if value is None else _literal_keys(value)


def _binds(statement: Assign | Annotate, name: str) -> bool:
    targets = statement.targets if isinstance(statement, Assign) else (statement.target,)
    return any(name in target_names(target) for target in targets)


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
    """Whether something may be done with the dict `name` but to fill it, to ask for keys and to pass it as `**name`."""
    harmless: set[int] = set()
    for statement in walk(body, nested=False):
        if _put_by(statement, name) is not None:
            harmless |= {id(p) for e in expressions(statement)[:1] for p in parts(e) if isinstance(p, Name)}
        for part in own_parts(statement):
            match part:
                case Call(args=args):
                    harmless |= {id(a.value) for a in args if a.star == "**"}
                case Unary(op="not", operand=Name() as held):
                    harmless.add(id(held))
                case Compare(ops=("in" | "not in",), comparators=(Name() as held,)):
                    harmless.add(id(held))
        if isinstance(statement, If):
            harmless |= {id(test) for test, _ in statement.branches}
    return any(id(read) not in harmless for read in reads(body, name))


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
