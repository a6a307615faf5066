"""Whether a variable, or an attribute of one, is read after a call without having been assigned again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jaxlint.infer.bodies.expecting import is_meant_to_fail
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Call,
    Compare,
    Constant,
    Display,
    Expr,
    Name,
    NamedExpr,
    Starred,
    Unary,
    children,
    dotted,
    is_within,
    paths_in,
)
from jaxlint.syntax.statements import (
    Assign,
    Augment,
    Body,
    ClassDefinition,
    Delete,
    For,
    FunctionDefinition,
    If,
    Jump,
    Raise,
    Return,
    Statement,
    Try,
    While,
    blocks,
    bound_by,
    expressions,
    own_parts,
    parts,
    target_names,
    targets_of,
    walk,
)

#: Finds a read that matters in an expression.
FindRead = Callable[[Expr], Expr | None]
_ENDED = "ended"


class ReadAfter:
    """Follows the statements after a call that gets hold of what a path (`state`, `self.state`) stands for."""

    def __init__(self, path: str, find: FindRead) -> None:
        self._path = path
        self._find = find
        #: The variables whose values come from what the call returns.
        self._news: set[str] = set()

    def of(self, at: object, body: Body) -> Expr | None:
        """The first read after the call whose argument stands at `at`; None if there is none, or it is not certain."""
        found = self._after(at, body)
        return None if found is None or isinstance(found, str) else found

    def _after(self, at: object, body: Body) -> Expr | str | None:
        """What comes first after the call: a read, or the end ("ended"); None if the body is read to its end."""
        for index, statement in enumerate(body):
            if isinstance(statement, (FunctionDefinition, ClassDefinition)):
                continue
            if any(part.at is at for part in own_parts(statement)):
                if isinstance(statement, (Return, Raise)) or self._binds(statement):
                    return _ENDED
                self._news = _computed_from(statement, body[index + 1 :])
                return self._sequence(body[index + 1 :])
            for block in blocks(statement):
                if not _is_below(at, block):
                    continue
                found = self._after(at, block)
                if found is None and isinstance(statement, (For, While)):
                    found = self._turn_again(at, statement, block)
                return found if found is not None else self._sequence(body[index + 1 :])
        return None

    def _turn_again(self, at: object, loop: For | While, block: Body) -> Expr | str | None:
        """What comes first in the next turn of a loop, up to the call."""
        if self._binds(loop):
            return _ENDED
        tested = self._own(loop) if isinstance(loop, While) else None
        if tested is not None:
            return tested
        for statement in block:
            holds = any(part.at is at for part in own_parts(statement))
            if isinstance(statement, If) and isinstance(loop, For) and _is_first_turn(statement.branches[0][0], loop):
                continue
            found = self._own(statement) if holds else self._statement(statement)
            if found is not None or holds:
                return found
            if any(_is_below(at, inner) for inner in blocks(statement)):
                return None
        return None

    def _sequence(self, body: Body) -> Expr | str | None:
        for statement in body:
            found = self._statement(statement)
            if found is not None:
                return found
        return None

    def _statement(self, statement: Statement) -> Expr | str | None:
        if isinstance(statement, (FunctionDefinition, ClassDefinition)):
            return None
        if isinstance(statement, Jump):
            return _ENDED
        found: Expr | str | None = self._own(statement)
        if found is not None:
            return found
        if isinstance(statement, (Return, Raise)) or self._binds(statement):
            return _ENDED
        if is_meant_to_fail(statement):
            return _ENDED
        if isinstance(statement, Try):
            return _ENDED if self._mentions(statement) else None
        ends = [self._sequence(block) for block in blocks(statement)]
        read = next((end for end in ends if end is not None and not isinstance(end, str)), None)
        if read is not None:
            return read
        if isinstance(statement, If):
            may_go_on = None in ends or not statement.orelse
            return _ENDED if _ENDED in ends and not (may_go_on and self._asks_for_news(statement)) else None
        return _ENDED if _ENDED in ends and self._rebinds(statement) else None

    def _own(self, statement: Statement) -> Expr | None:
        """The read in the expressions of a statement itself."""
        if isinstance(statement, Delete):
            return None
        targets = bound_by(statement)
        read = (e for target in targets for e in _read_by(target))
        for expr in (*(e for e in expressions(statement) if not any(e is t for t in targets)), *read):
            if isinstance(statement, For) and expr is statement.iterable:
                expr = Call(expr.at, Name(expr.at, "iter"), (Argument(None, expr),))
            found = self._find(expr)
            if found is not None:
                return found
        return None

    def _binds(self, statement: Statement) -> bool:
        """Whether a statement assigns (or deletes) the path, or what it is a part of."""
        match statement:
            case Delete(target=target) | Augment(target=target):
                targets: tuple[Expr, ...] = (target,)
            case _:
                targets = bound_by(statement)
        names = {name for target in targets for name in paths_in(target)}
        names |= {dotted(p.target) or "" for p in own_parts(statement) if isinstance(p, NamedExpr)}
        return is_within(self._path, names)

    def _asks_for_news(self, statement: If) -> bool:
        """Whether an `if` asks for what the call returned: earlier turns do not tell which branch runs.

        `if loss < best: best, kept = loss, state` leaves `kept` as it is in some turn.
        """
        asked = {part.id for test, _ in statement.branches for part in parts(test) if isinstance(part, Name)}
        return not asked.isdisjoint(self._news)

    def _rebinds(self, statement: Statement) -> bool:
        return any(self._binds(s) or self._rebinds(s) for block in blocks(statement) for s in block)

    def _mentions(self, statement: Statement) -> bool:
        return any(dotted(p) == self._path for p in own_parts(statement)) or any(
            self._binds(s) or self._mentions(s) for block in blocks(statement) for s in block
        )


def _is_first_turn(test: Expr, loop: For) -> bool:
    """Whether a test holds in the first turn of a loop at most: `i == 0`, `not i`."""
    match test:
        case Compare(left=Name(id=name), ops=("==",), comparators=(Constant(value=0),)):
            return name in target_names(loop.target)
        case Unary(op="not", operand=Name(id=name)):
            return name in target_names(loop.target)
    return False


def _computed_from(statement: Statement, following: Body) -> set[str]:
    """The variables that a statement binds, and those that statements after it compute from them.

    So are those that a branch binds which asks for one of them (`else: bad += 1`).
    """
    names = _bound(statement)
    for after in following:
        read = {part.id for part in own_parts(after) if isinstance(part, Name)}
        if names.isdisjoint(read):
            continue
        if isinstance(after, Assign):
            names |= _bound(after)
        elif isinstance(after, If):
            names |= {name for block in blocks(after) for inner in walk(block, nested=False) for name in _bound(inner)}
    return names


def _bound(statement: Statement) -> set[str]:
    """The names that a statement assigns."""
    return {name for target in targets_of(statement) for name in paths_in(target)}


def _read_by(target: Expr) -> Iterator[Expr]:
    """What a target reads: `x[i] = v` reads `x` and `i`."""
    match target:
        case Name() | Attribute():
            return
        case Display() | Starred():
            for child in children(target):
                yield from _read_by(child)
        case _:
            yield from children(target)


def _is_below(at: object, block: Body) -> bool:
    return any(
        any(part.at is at for part in own_parts(s)) or any(_is_below(at, inner) for inner in blocks(s)) for s in block
    )
