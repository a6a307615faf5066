"""What one turn of a loop does with an instance that it makes, or with a list of such."""

from __future__ import annotations

from collections.abc import Iterable

from jaxlint.libraries.standard import PUTTING
from jaxlint.pytrees.model import PytreeClass
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Comprehension, Display, Expr, Name, Subscript, last_name, root
from jaxlint.syntax.statements import Assign, Do, For, Statement, While, bound_names, target_names, walk

#: Methods that only keep what they are given.
_COLLECTING = PUTTING | {"setdefault", "put"}


class Turn:
    """The statements `around`, and all expressions `inside`, of a turn with the call that makes the instance.

    `in_list` if the call makes a list of instances.
    """

    def __init__(self, made: Call | None, in_list: bool, around: tuple[Statement, ...], inside: Iterable[Expr]) -> None:
        self._made = made
        self._in_list = in_list
        self._around = around
        self._inside = inside
        self._instances = set[str]()
        self._lists = set[str]()
        #: The loops that go through such a list.
        self._through: list[For] = []
        for statement in walk(around, nested=False):
            self._read(statement)
        for part in inside:
            for clause in part.clauses if isinstance(part, Comprehension) else ():
                if self._is_list(clause.iterable):
                    self._instances.update(target_names(clause.target))

    def _read(self, statement: Statement) -> None:
        match statement:
            case Assign(value=value):
                names = set(bound_names(statement))
                if self._is_instance(value):
                    self._instances |= names
                elif self._is_list(value):
                    self._lists |= names
            case Do(value=Call(func=Attribute(value=Name(id=name), attr="append"), args=(argument,))):
                if self._is_instance(argument.value):
                    self._lists.add(name)
            case For(target=target, iterable=iterable) if self._is_list(iterable):
                self._instances.update(target_names(target))
                self._through.append(statement)

    def _is_instance(self, expr: Expr) -> bool:
        made = expr is self._made and not self._in_list
        return made or (isinstance(expr, Name) and expr.id in self._instances)

    def _is_list(self, expr: Expr) -> bool:
        match expr:
            case Name(id=name):
                return name in self._lists
            case Comprehension(element=element):
                return self._is_instance(element)
            case Display(items=items):
                return any(map(self._is_instance, items))
        return expr is self._made and self._in_list

    def runs_long(self, at: object) -> bool:
        """Whether there is a loop in the turn beside what is made `at` a place: that may be worth a compilation."""
        own = (*self._around, *self._through)
        at = at if self._made is None else self._made.at  # what a function makes stands elsewhere
        inner = (s for s in walk(self._around, nested=False) if isinstance(s, (For, While)) and s not in own)
        return any(not place_of(one.at).holds(place_of(at)) for one in inner)

    def is_used(self, cls: PytreeClass) -> bool:
        """Whether the turn calls something with an instance of a class: else it may be one of those made first.

        To put it into a list is no use of it, but what is called while the list is gone through is; nor is it one to
        read or call what a field holds.
        """
        for call in self._inside:
            if isinstance(call, Call) and call is not self._made and last_name(call.func) not in _COLLECTING:
                given = [e for e in (*(a.value for a in call.args), call.func) if not self._is_of_field(e, cls)]
                starts = (root(expr) for expr in given)
                if any(map(self._is_instance, (*given, *(s for s in starts if isinstance(s, Name))))):
                    return True
        return False

    def _is_of_field(self, expr: Expr, cls: PytreeClass) -> bool:
        """Whether an expression reads a field of an instance, or a part of what that holds."""
        while isinstance(expr, (Attribute, Subscript)):
            if isinstance(expr, Attribute) and self._is_instance(expr.value):
                return cls.field(expr.attr) is not None
            expr = expr.value
        return False
