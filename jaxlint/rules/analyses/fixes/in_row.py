"""Assignments in a row to attributes of one instance, which may go into one updated copy of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute
from jaxlint.pytrees.updating import update_function
from jaxlint.rules.analyses.bodies.around import body_around
from jaxlint.rules.analyses.bodies.binding import is_around
from jaxlint.rules.analyses.fixes.copies import is_copied
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Display, Expr, Lambda, Name, Starred, children, dotted
from jaxlint.syntax.statements import (
    Assign,
    Augment,
    Body,
    FunctionDefinition,
    Statement,
    Try,
    all_parts,
    blocks,
    has_variable,
    own_parts,
    targets_of,
    walk,
)

#: What stands between two statements in a row: a semicolon, or the end of a line without a comment.
_BETWEEN = re.compile(r"[ \t]*(?:;[ \t]*|(?:\r\n|\r|\n)[ \t]*)")
#: What stands behind a statement in its line, if it has no comment of its own.
_BEHIND = re.compile(r"[ \t]*(?:;.*)?")


def assigned_in_row(event: AssignAttribute, evaluator: Evaluator) -> list[Attribute]:
    """The targets of the assignments that may be made in one copy together with an assignment, its own among them.

    They follow each other, and none has a value that depends on what is assigned before; or they are targets of the
    same tuple. Empty if it stands alone.
    """
    if event.receiver_text is None or event.how not in ("assign", "augment", "unpack"):
        return []
    span, rows = place_of(event.at), _Rows(event, body_around(event.place, evaluator))
    if event.how == "unpack":
        return rows.of_tuple()
    found = next((row for row in rows.among(rows.block()) if any(place_of(one.at) == span for one in row)), [])
    return found if len(found) > 1 else []


def _bound_in(target: Expr) -> Iterator[Expr]:
    """The parts of a target that are bound, each to one thing."""
    match target:
        case Display(items=items):
            for item in items:
                yield from _bound_in(item)
        case Starred(value=value):
            yield value
        case _:
            yield target


class _Rows:
    """What may be assigned together in the code around an assignment."""

    def __init__(self, event: AssignAttribute, body: Body) -> None:
        self._cls = event.receiver.cls
        self._holder = event.receiver_text or ""
        self._place = event.place
        self._span = place_of(event.at)
        self._body = body

    def block(self) -> Body:
        """The statements among which the assignment stands; none in a `try`, whose handlers may look at it."""
        around = [one for one in walk(self._body, nested=False) if is_around(one, self._span)]
        if any(isinstance(one, Try) for one in around):
            return ()
        found = [self._body, *(block for one in around for block in blocks(one))]
        return next((block for block in found if any(map(self._is_it, block))), ())

    def of_tuple(self) -> list[Attribute]:
        """The targets beside the assignment in its statement, if there are several, and each is another field."""
        for statement in walk(self._body, nested=False):
            targets = [t for target in targets_of(statement) for t in _bound_in(target)]
            if not isinstance(statement, Assign) or all(place_of(one.at) != self._span for one in targets):
                continue
            found = [t for t in targets if isinstance(t, Attribute) and dotted(t.value) == self._holder]
            fields = {one.attr for one in found}
            is_one_copy = len({update_function(self._cls, attr) for attr in fields}) == 1
            is_each_once = len(fields) == len(found) and len(statement.targets) == 1
            return found if is_one_copy and is_each_once and all(is_copied(self._cls, f) for f in fields) else []
        return []

    def _is_it(self, statement: Statement) -> bool:
        return any(place_of(target.at) == self._span for target in targets_of(statement))

    def among(self, block: Body) -> list[list[Attribute]]:
        """The targets in a block that are assigned to together."""
        rows: list[list[Attribute]] = []
        last: Statement | None = None
        for statement in block:
            target = self._target(statement)
            if target is None:
                last = None
                continue
            if last is not None and self._may_follow(statement, target, last, rows[-1]):
                rows[-1].append(target)
            else:
                rows.append([target])
            last = statement
        return rows

    def _target(self, statement: Statement) -> Attribute | None:
        """The field that is all that a statement assigns to."""
        targets = targets_of(statement) if isinstance(statement, (Assign, Augment)) else ()
        only = targets[0] if len(targets) == 1 else None
        if not isinstance(only, Attribute) or dotted(only.value) != self._holder:
            return None
        return only if is_copied(self._cls, only.attr) else None

    def _may_follow(self, statement: Statement, target: Attribute, last: Statement, row: list[Attribute]) -> bool:
        """Whether an assignment may be made together with those in front of it."""
        assert isinstance(statement, (Assign, Augment))
        changed = [one.attr for one in row]
        functions = {update_function(self._cls, attr) for attr in (*changed, target.attr)}
        if target.attr in changed or len(functions) > 1 or not self._is_next(last, statement):
            return False
        if any(isinstance(part, Call) for part in own_parts(statement)) and self._is_seen_by_calls():
            return False
        return not self._reads(statement.value, changed)

    def _is_next(self, last: Statement, statement: Statement) -> bool:
        """Whether nothing but the end of a line or a semicolon stands between two statements, and no comment behind."""
        source = self._place.module.source
        first, second = place_of(last.at), place_of(statement.at)
        between = source.segment(first.end_row, first.end_column, second.row, second.column)
        line = source.line(second.end_row)
        behind = line[source.codepoint_column(second.end_row, second.end_column) :]
        stays = first.row == second.end_row  # the comment of a line that stays
        return bool(_BETWEEN.fullmatch(between) and (stays or _BEHIND.fullmatch(behind)))

    def _reads(self, value: Expr, changed: Collection[str]) -> bool:
        """Whether an expression may read what was changed of the holder: anything but other fields of it."""
        variable = self._holder.partition(".")[0]
        pending = [value]
        while pending:
            one = pending.pop()
            if isinstance(one, Attribute) and dotted(one.value) == self._holder:
                if one.attr in changed or self._cls.field(one.attr) is None:
                    return True
            elif isinstance(one, Name) and one.id == variable:
                return True
            else:
                pending += children(one)
        return False

    def _is_seen_by_calls(self) -> bool:
        """Whether what is called may see the holder without being given it: all but a variable of one function is."""
        scope = self._place.module.outline.scopes.get(self._place.scope)
        is_own = scope is not None and self._holder in scope.bindings and self._holder not in scope.is_global
        if self._place.function is None or not is_own:
            return True
        inner = [s for s in walk(self._body, nested=False) if isinstance(s, FunctionDefinition)]
        if any(isinstance(p, Name) and p.id == self._holder for one in inner for p in all_parts(one.body)):
            return True
        lambdas = (part for part in all_parts(self._body, nested=False) if isinstance(part, Lambda))
        return any(has_variable(one, self._holder) for one in lambdas)
