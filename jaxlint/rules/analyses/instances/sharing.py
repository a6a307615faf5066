"""Who else holds what a variable stands for where a call gets hold of it: other variables, lists, updated copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from jaxlint.libraries.updates import COPYING_NAMES
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Expr,
    Name,
    dotted,
    is_within,
    last_name,
    paths_in,
)
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    Body,
    ClassDefinition,
    Do,
    For,
    FunctionDefinition,
    If,
    Jump,
    Raise,
    Return,
    Statement,
    While,
    With,
    assigned_pairs,
    blocks,
    own_parts,
    targets_of,
    walk,
)


class Sharing(msgspec.Struct, frozen=True):
    """What holds the object that a path stands for, on some way through the code before."""

    #: The path itself, and the variables that are the same object.
    same: frozenset[str]
    #: The lists to which it was appended, with the arguments of these calls.
    lists: Mapping[str, Expr] = {}
    #: The copies that `replace` made of it, with the calls: what these do not name is shared.
    copies: Mapping[str, Call] = {}
    #: The variables that hold what one of its attributes is, with the names of these.
    parts: Mapping[str, str] = {}
    #: The variables that were put into an attribute when it was made, with the names of these.
    put_in: Mapping[str, str] = {}

    def joined(self, other: Sharing) -> Sharing:
        """What holds it on one way or the other."""
        return Sharing(
            self.same | other.same,
            {**self.lists, **other.lists},
            {**self.copies, **other.copies},
            {**self.parts, **other.parts},
            {**self.put_in, **other.put_in},
        )

    def met_by(self, other: Sharing) -> Sharing:
        """What holds it where two branches meet; only what both put in is believed, as one of them may copy."""
        put_in = {name: attr for name, attr in self.put_in.items() if other.put_in.get(name) == attr}
        return replace(self.joined(other), put_in=put_in)

    def without(self, names: set[str]) -> Sharing:
        """What is left once some variables were bound anew."""
        lists = {name: at for name, at in self.lists.items() if name not in names}
        copies = {name: call for name, call in self.copies.items() if name not in names}
        again = {one.rpartition(".")[2] for one in names if one.rpartition(".")[0] in self.same}
        parts = {name: attr for name, attr in self.parts.items() if name not in names and attr not in again}
        put_in = {name: attr for name, attr in self.put_in.items() if name not in names and attr not in again}
        return Sharing(frozenset(n for n in self.same if not is_within(n, names)), lists, copies, parts, put_in)


#: The variables that a call puts into what it makes, with the attributes that hold them.
PutIn = Callable[[Call], Mapping[str, str]]


def sharing_at(path: str, at: object, body: Body, put_in: PutIn = lambda call: {}) -> Sharing:
    """The variables and attributes that hold the same object as `path` when a call receives the argument at `at`."""
    start = Sharing(frozenset({path}))
    return _Way(path, at, put_in).to(body, start) or start


class _Way:
    """Follows the statements up to a call."""

    def __init__(self, path: str, at: object, put_in: PutIn) -> None:
        self._path = path
        self._at = at
        self._put_in = put_in

    def to(self, body: Body, before: Sharing) -> Sharing | None:
        """What holds it where the call is made; None if a body does not get there."""
        held: Sharing | None = before
        for statement in body:
            if held is None or any(part.at is self._at for part in own_parts(statement)):
                return held
            inner = next((block for block in blocks(statement) if self._is_in(block)), None)
            if inner is None:
                held = self._through((statement,), held)
                continue
            if isinstance(statement, (For, While)):
                held = self._bound(statement, held)
                turn = self._through(inner, held)
                first, again = self.to(inner, held), None if turn is None else self.to(inner, _next_turn(turn, inner))
                return again if first is None else first if again is None else first.joined(again)
            return self.to(inner, held)
        return held

    def _is_in(self, block: Body) -> bool:
        return any(part.at is self._at for statement in walk(block) for part in own_parts(statement))

    def _through(self, body: Body, held: Sharing) -> Sharing | None:
        """What holds it when the end of a body is reached; None if that is not reached."""
        for statement in body:
            if isinstance(statement, (Return, Raise, Jump)):
                return None
            after: Sharing | None = held
            if isinstance(statement, If):
                ways = [self._through(block, held) for block in blocks(statement)]
                reached = [way for way in ways if way is not None]
                after = reached[0] if reached else None
                for way in reached[1:]:
                    after = way if after is None else after.met_by(way)
            elif isinstance(statement, With):
                after = self._through(statement.body, self._bound(statement, held))
            elif not isinstance(statement, (FunctionDefinition, ClassDefinition)):
                inside = [s for block in blocks(statement) for s in walk(block, nested=False)]
                after = self._after(statement, held)
                for one in inside:  # of a loop or a `try` is only believed what it takes away
                    after = self._bound(one, after)
            if after is None:
                return None
            held = after
        return held

    def _after(self, statement: Statement, held: Sharing) -> Sharing:
        """What holds it after a simple statement."""
        match statement:
            case Do(value=Call(func=Attribute(value=Name(id=container), attr="append"), args=(given,))):
                is_same = dotted(given.value) in held.same
                return replace(held, lists={**held.lists, container: given.value}) if is_same else held
            case Assign() | Annotate():
                pairs = list(_pairs(statement))
                same = {name for name, value in pairs if dotted(value) in held.same}
                copies = {
                    name: value for name, value in pairs if isinstance(value, Call) and copied_by(value) in held.same
                }
                if self._path in same:
                    held = held.without({name for name, _ in pairs} - held.same)
                else:
                    held = self._bound(statement, held)
                    if not is_within(self._path, [name for name, _ in pairs]):
                        parts = {name: attr for name, value in pairs if (attr := _attribute(value, held.same))}
                        held = replace(held, copies={**held.copies, **copies}, parts={**held.parts, **parts})
                        held = replace(held, same=held.same | same)
                    made = next((value for name, value in pairs if name == self._path), None)
                    if isinstance(made, Call):
                        held = replace(held, put_in=self._put_in(made))
                return held
        return self._bound(statement, held)

    def _bound(self, statement: Statement, held: Sharing) -> Sharing:
        """What still holds it once a statement has bound its variables."""
        names = {name for target in targets_of(statement) for name in paths_in(target)}
        if is_within(self._path, names):
            return Sharing(frozenset({self._path}))
        return held.without(names)


def _next_turn(turn: Sharing, body: Body) -> Sharing:
    """What holds it when a turn of a loop begins again; a list of which that was appended in the last turn, perhaps."""
    always = {id(part) for statement in body if isinstance(statement, Do) for part in own_parts(statement)}
    return replace(turn, lists={name: at for name, at in turn.lists.items() if id(at) in always})


def _pairs(statement: Assign | Annotate) -> Iterator[tuple[str, Expr]]:
    """The variables and attributes that an assignment binds, with what they are given."""
    pairs = assigned_pairs(statement) if isinstance(statement, Assign) else [(statement.target, statement.value)]
    for target, value in pairs:
        name = dotted(target)
        if name is not None and value is not None:
            yield name, value


def _attribute(value: Expr, same: frozenset[str]) -> str:
    """The attribute that an expression reads of something that some names stand for."""
    return value.attr if isinstance(value, Attribute) and dotted(value.value) in same else ""


def copied_by(call: Call) -> str | None:
    """What a call of `replace` makes a copy of."""
    if call.has_star or last_name(call.func) not in COPYING_NAMES:
        return None
    if call.positional:
        return dotted(call.positional[0])
    return dotted(call.func.value) if isinstance(call.func, Attribute) else None
