"""Where what a variable is bound to was taken from, so that a copy of it can be put back there."""

from __future__ import annotations

import re

import msgspec

from jaxlint.cst.changes import Change, Rewrite
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Place
from jaxlint.rules.analyses.bodies.around import body_around
from jaxlint.rules.analyses.bodies.binding import binds, free_name, is_around
from jaxlint.rules.analyses.fixes.held import escapes
from jaxlint.symbols.outline import UPDATING
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Call,
    Constant,
    Display,
    Expr,
    Name,
    Subscript,
    Unary,
    dotted,
    kind_written,
    last_name,
    root,
)
from jaxlint.syntax.statements import Annotate, Assign, Body, For, Statement, parts, walk

_LISTS = frozenset({"list", "List", "MutableSequence"})
_DICTS = frozenset({"dict", "Dict", "defaultdict", "OrderedDict", "MutableMapping"})
#: What the variable of a loop is called that counts its turns, or has a key.
_INDICES, _KEYS = ("i", "j", "index"), ("key", "name_of")


class Origin(msgspec.Struct, frozen=True):
    """The item or attribute that something was taken from, as it is written, and what has to change to name it."""

    path: str
    changes: tuple[Change, ...] = ()


def origin_of(name: str, at: object, place: Place, evaluator: Evaluator) -> Origin | None:
    """Where a copy of what a variable is bound to may be put back; None if that is not known, or not all."""
    finder = _Finder(at, place, evaluator)
    taking = [s for s in finder.statements if binds(s, name) and not _renews(s, name)]
    found: Origin | None = None
    match taking:
        case [Assign(targets=(Name(),), value=value) as once] if finder.may_assign(value):
            found = finder.taken_once(once, value)
        case [For() as loop] if is_around(loop, place_of(at)):
            found = finder.of_loop(name, loop)
    if found is None:
        return None
    holder = re.split(r"\W", found.path)[0]
    if finder.is_new(name, holder) or escapes(name, at, place, evaluator, holder):
        return None
    return found


def is_item_to_assign(expr: Expr, at: object, place: Place, evaluator: Evaluator) -> bool:
    """Whether an expression is an item of a list or dict, which may be read and assigned again."""
    return _Finder(at, place, evaluator).may_assign(expr)


class _Finder:
    """Looks for the object that holds the value of a variable, at a place where the value changes."""

    def __init__(self, at: object, place: Place, evaluator: Evaluator) -> None:
        self._body = body_around(place, evaluator)
        self._at = place_of(at)
        self._place = place
        self._evaluator = evaluator
        self.statements = list(walk(self._body, nested=False))

    def is_new(self, name: str, holder: str) -> bool:
        """Whether a variable was bound to a copy that was not put into its holder before something changes."""
        is_new = False
        for statement in self.statements:
            if statement.at.lineno < self._at.row and _renews(statement, name):
                is_new = True
            elif is_new and statement.at.lineno < self._at.row and isinstance(statement, Assign):
                starts = [root(target) for target in statement.targets if not isinstance(target, Name)]
                is_put = any(isinstance(start, Name) and start.id == holder for start in starts)
                is_new = not (is_put and dotted(statement.value) == name)
        return is_new

    def taken_once(self, taking: Statement, value: Expr) -> Origin | None:
        """The item or attribute that an assignment takes, if it has the same name where something changes."""
        asked = {part.id for part in parts(value) if isinstance(part, Name)}
        rows = range(taking.at.lineno, self._at.end_row + 1)
        between = [s for s in self.statements if s.at.lineno in rows or is_around(s, self._at)]
        loops = [s for s in between if isinstance(s, For) and is_around(s, place_of(taking.at))]
        if any(binds(s, one) for s in between if s not in loops for one in asked):
            return None
        text = self._text_of(value)
        return None if text is None else Origin(text)

    def of_loop(self, name: str, loop: For) -> Origin | None:
        """The item of a list or dict that a loop goes through; its variable may have to be counted."""
        target, iterable = loop.target, loop.iterable
        changes: list[Change] = []
        match target, iterable:
            case Name(), Name(id=held):
                kind, index, changes = "list", self._free(_INDICES), [Rewrite(iterable.at, f"enumerate({held})")]
            case Name(), Call(func=Attribute(value=Name(id=held), attr="values"), args=()):
                kind, index, changes = "dict", self._free(_KEYS), [Rewrite(iterable.at, f"{held}.items()")]
            case (
                Display(items=(Name(id=index), Name(id=second))),
                Call(func=Name(id="enumerate"), args=(Argument(value=Name(id=held), star=""),)),
            ) if second == name:
                kind = "list"
            case (
                Display(items=(Name(id=index), Name(id=second))),
                Call(func=Attribute(value=Name(id=held), attr="items"), args=()),
            ) if second == name:
                kind = "dict"
            case _:
                return None
        inside = [s for s in walk(loop.body, nested=False) if binds(s, held) or binds(s, index)]
        if not index or inside or self._kind_of(held) != kind:
            return None
        if changes:
            changes.append(Rewrite(target.at, f"{index}, {name}"))
        return Origin(f"{held}[{index}]", tuple(changes))

    def may_assign(self, expr: Expr) -> bool:
        """Whether an expression is an item of a list or dict, or an attribute that methods of its class assign, too."""
        match expr:
            case Subscript(value=Name(id=name), index=Constant() | Name() | Attribute() | Unary(operand=Constant())):
                return bool(self._kind_of(name))
            case Attribute(value=Name(id=name), attr=attr):
                method, owner = self._place.method, self._place.owner
                if method is None or name != method.self_name or (owner is not None and owner.frozen is not False):
                    return False
                functions = self._place.module.outline.functions.values()
                setting = [one for one in functions if one.owner == method.owner]
                return any(one.attr == attr for method in setting for one in method.self_assignments)
        return False

    def _kind_of(self, name: str) -> str:
        """Whether a variable is a "list" or a "dict", as an annotation or what it is bound to says; else empty."""
        function, is_bound = self._place.function, any(binds(s, name) for s in self.statements)
        for parameter in function.parameters if function is not None else ():
            if parameter.name == name:
                annotation = parameter.annotation
                kind = annotation.value if isinstance(annotation, Subscript) else annotation
                return "" if kind is None or is_bound else _kind_named(last_name(kind))
        if is_bound:
            values = _values(name, self._body)
        else:
            scope = self._place.module.outline.scopes.get(self._place.scope)
            if function is None or scope is None or name in scope.bindings:
                return ""
            values = _values(name, self._evaluator.calls.top_level(self._place.module))
        kinds = set(map(_kind_made, values))
        return kinds.pop() if len(kinds) == 1 else ""

    def _free(self, names: tuple[str, ...]) -> str:
        return free_name(names, self._body, self._place)

    def _text_of(self, expr: Expr) -> str | None:
        """An expression as it is written, on one line."""
        text = self._place.module.source.segment(*place_of(expr.at))
        return None if "\n" in text or "#" in text else text


def _kind_named(name: str) -> str:
    return "list" if name in _LISTS else "dict" if name in _DICTS else ""


def _kind_made(value: Expr | None) -> str:
    """What an expression makes: a "list", a "dict" or, for all that is known, something else."""
    if isinstance(value, Call):
        return _kind_named(last_name(value.func))
    kind = kind_written(value)
    return kind if kind in ("list", "dict") else ""


def _renews(statement: Statement, name: str) -> bool:
    """Whether a variable is bound to a copy of what it is bound to."""
    value = statement.value if isinstance(statement, Assign) else None
    if not isinstance(value, Call):
        return False
    if isinstance(value.func, Attribute) and dotted(value.func.value) == name and last_name(value.func) in UPDATING:
        return True
    is_given = any(dotted(argument.value) == name for argument in value.args)
    start, is_set = root(value.func), last_name(value.func) in ("set", "add")
    is_item = is_set and isinstance(start, Name) and start.id == name
    return is_item or (is_given and last_name(value.func) in UPDATING)


def _values(name: str, body: Body) -> list[Expr | None]:
    """What a variable of a body is bound to each time; None for what is no assignment to it alone."""
    binding = [s for s in walk(body, nested=False) if binds(s, name)]
    return [_value_of(statement) for statement in binding]


def _value_of(statement: Statement) -> Expr | None:
    if isinstance(statement, Assign) and not all(isinstance(target, Name) for target in statement.targets):
        return None
    return statement.value if isinstance(statement, (Assign, Annotate)) else None
