"""Whether somebody else holds what a variable is bound to, and would not see the copy that it is bound to instead.

Code that assigns to `state.x` means that whoever has this state sees the new value. Where the variable is bound to an
updated copy instead, nobody does who got hold of the original before: a list of which it is an item, the object that it
is an attribute of, another variable, the caller. What raises would lose the update silently then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Place
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.rules.analyses.bodies.around import body_around, functions_around
from jaxlint.rules.analyses.bodies.binding import binds, end_of, is_around
from jaxlint.rules.analyses.changes.returning import mentions
from jaxlint.symbols.outline import MUTATING, UPDATING, Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    BoolOp,
    Call,
    Comprehension,
    Conditional,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Lambda,
    Name,
    NamedExpr,
    Other,
    Span,
    Starred,
    Subscript,
    dotted,
    forced_assignment,
    is_variable,
    items_of,
    last_name,
    root,
    without_call,
)
from jaxlint.syntax.names_read import reads
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    Body,
    Do,
    For,
    FunctionDefinition,
    Match,
    Return,
    Statement,
    While,
    With,
    assigned_pairs,
    blocks,
    bound_by,
    own_parts,
    target_names,
    walk,
)

#: Functions and methods that return what they are given, or something out of it.
_HANDING = frozenset(
    {"max", "min", "next", "iter", "getattr", "get", "setdefault", "cast", "first", "sorted", "reversed"}
)
#: Functions and classes that keep what they are given.
_KEEPING = frozenset(
    {"partial", "list", "tuple", "dict", "set", "deque", "zip", "enumerate", "repeat", "SimpleNamespace"}
)
_CACHES = frozenset({"cache", "lru_cache", "cached_property"})
#: How often a variable is followed to another one.
_MOST_STEPS = 8


#: The place of a change that happens whenever a function is called: behind all that is written, and before it.
ANYTIME = Span(1 << 30, 0, 1 << 30, 0)


def is_lost(name: str, at: object, place: Place, evaluator: Evaluator, *, is_array: bool = False) -> bool:
    """Whether somebody who holds what a variable is bound to would not see the copy that it is bound to at a place.

    A parameter has to be returned, as a whole; False if nothing is known of somebody. What `is_array`, and was taken
    out of another array by more than one index, nobody else holds.
    """
    return _Holders(place_of(at), place, evaluator, is_array=is_array).lose(name)


def is_returned_alias(name: str, at: object, place: Place, evaluator: Evaluator) -> bool:
    """Whether a variable is another name for what a variable is bound to, and the function returns it as a whole."""
    return _Holders(place_of(at), place, evaluator).return_alias(name)


def escapes(name: str, at: object, place: Place, evaluator: Evaluator, holder: str) -> bool:
    """Whether something else was given what a variable is bound to before a place, and may be asked for it later.

    What is put into the variable `holder` does not count.
    """
    return _Holders(place_of(at), place, evaluator).escapes(name, holder)


def is_read_later(name: str, at: object, place: Place, evaluator: Evaluator) -> bool:
    """Whether a variable is asked for behind a place, in the next turn of a loop, or by a function around."""
    return _Holders(place_of(at), place, evaluator).is_read_behind(name)


class _Holders:
    """Who holds what the variables of a body are bound to."""

    def __init__(self, at: Span, place: Place, evaluator: Evaluator, *, is_array: bool = False) -> None:
        """Take where a variable of the body around a place would be bound to a copy."""
        self._body = body = body_around(place, evaluator)
        self._at = at
        self._function = place.function
        self._place = place
        self._evaluator = evaluator
        self._statements = list(walk(body, nested=False))
        loops = [s for s in self._statements if isinstance(s, (For, While)) and is_around(s, at)]
        #: From there on, what is read is read after the change.
        self._is_repeated = bool(loops) or at == ANYTIME
        self._behind = (0, 0) if at == ANYTIME else min([at[2:], *((s.at.lineno, 0) for s in loops)])
        self._copied = ""
        self._is_array = is_array

    def lose(self, name: str) -> bool:
        """Whether one of them would not see the copy."""
        self._copied = name
        is_global = self._at == ANYTIME and self._function is None
        return self._is_held(name, _MOST_STEPS) or self.escapes(name) or (is_global and self._is_taken_over(name))

    def _is_taken_over(self, name: str) -> bool:
        """Whether a variable of the module is a default, is in the body of a class, or is imported elsewhere."""
        module = self._place.module
        own = [(s.at.lineno, s.at.end_lineno) for s in self._body]
        beside = [f for f in module.outline.functions.values() if f.body_rows[0] > f.at.row]  # else in a default, too
        own += [function.body_rows for function in beside]
        rows = [at.row for at in mentions(name, module, r"\b")]
        if not all(any(first <= row <= last for first, last in own) for row in rows):
            return True
        return any(any(mentions(name, other, r"\b")) for other in self._evaluator.model.importers(module))

    def return_alias(self, name: str) -> bool:
        """Whether the variable is bound to what another one is, and is returned."""
        self._copied = name
        is_alias = any(isinstance(value, Name) and value.id != name for value in self._bound_to(name))
        return is_alias and self._returns_it()

    def _is_held(self, name: str, steps: int) -> bool:
        """Whether what a variable is bound to is held by somebody else, who would see a change of it."""
        if any(binds(s, name) for s in self._statements if isinstance(s, (For, With))):
            return True
        if any(name in case.captured for s in self._statements if isinstance(s, Match) for case in s.cases):
            return True
        if self._function is not None and self._is_parameter(name):
            return self._has_default(name) or not self._is_handed_back(self._function)
        return steps > 0 and any(self._is_of_others(value, name, steps) for value in self._bound_to(name))

    def _has_default(self, name: str) -> bool:
        """Whether a parameter may be bound to its default, which all calls share."""
        parameters = self._function.parameters if self._function is not None else ()
        default = next((one.default for one in parameters if one.name == name), None)
        return default is not None and not isinstance(default, Constant)

    def _is_handed_back(self, function: Function) -> bool:
        """Whether a function returns the variable, as a whole, or callers keep nothing of what they pass to it."""
        return self._returns_it() or bool(self._evaluator.calls.transformed.of(function, self._place.module))

    def _returns_it(self) -> bool:
        returned = [s.value for s in self._statements if isinstance(s, Return) and s.value is not None]
        returned += [part for part in self._parts() if isinstance(part, Other) and "Yield" in part.kind]
        return any(map(self._has_whole, returned))

    def _has_whole(self, value: Expr) -> bool:
        """Whether the variable goes into what an expression makes, as it is."""
        match value:
            case Name(id=name):
                return name == self._copied
            case Display(items=items) | DictDisplay(values=items):
                return any(map(self._has_whole, items))
            case Starred(value=one):
                return self._has_whole(one)
            case Conditional(body=body, orelse=orelse):
                return self._has_whole(body) or self._has_whole(orelse)
            case BoolOp(left=left, right=right):
                return self._has_whole(left) or self._has_whole(right)
            case Other(parts=parts) if value.kind in ("Yield", "YieldFrom", "Await"):
                return any(map(self._has_whole, parts))
            case Call(func=func, args=args):
                is_copied = last_name(func) in UPDATING and self._has_whole(root(func))
                is_given = any(self._has_whole(argument.value) for argument in args)
                return is_copied or (is_given and self._may_return_it(func))
        return False

    def _may_return_it(self, func: Expr) -> bool:
        """Whether what is called may return, or keep, what it is given; functions of the module tell."""
        functions = [f for f in self._place.module.outline.functions.values() if f.name == last_name(func)]
        if not functions:
            return True
        values = [value for function in functions for value in function.return_values]
        return any(isinstance(part, (Name, Call)) for value in values for part in items_of(value))

    def _bound_to(self, name: str) -> Iterator[Expr]:
        """What assignments that may come before the change bind a variable to."""
        for statement in self._statements:
            if statement.at.lineno > self._at.end_row and not self._is_repeated:
                continue
            match statement:
                case Assign():
                    pairs = assigned_pairs(statement)
                case Annotate(target=target, value=value) if value is not None:
                    pairs = [(target, value)]
                case _:
                    pairs = []
            for target, value in pairs:
                if isinstance(target, Name):
                    if target.id == name:
                        yield value
                elif name in target_names(target):
                    yield Subscript(value.at, value, value)  # one of several
        for part in self._parts():
            if isinstance(part, NamedExpr) and name in target_names(part.target):
                yield part.value

    def _is_of_others(self, value: Expr, name: str, steps: int) -> bool:
        """Whether the value of a variable is what others hold, too."""
        match value:
            case Name(id=other):
                return other != name and self._is_shared_with(other, steps)
            case NamedExpr(value=inner):
                return self._is_of_others(inner, name, steps)
            case Conditional(body=body, orelse=orelse):
                return any(self._is_of_others(one, name, steps) for one in (body, orelse))
            case BoolOp(left=left, right=right):
                return any(self._is_of_others(one, name, steps) for one in (left, right))
            case Attribute() | Subscript():
                return self._is_taken_out(value, steps)
            case Call():
                return self._gives_away(value, name, steps)
        return False

    def _is_shared_with(self, other: str, steps: int) -> bool:
        """Whether another variable has the same instance, and somebody asks for it after the change."""
        if not self._is_known(other) or self.is_read_behind(other):
            return True
        return self._is_held(other, steps - 1)

    def _is_taken_out(self, value: Attribute | Subscript, steps: int) -> bool:
        """Whether something was taken out of what goes on to hold it, and is not put back."""
        if self._is_put_back(value):
            return False
        if self._is_array and isinstance(value, Subscript) and isinstance(value.index, Display):
            return False
        holder = root(value)
        if isinstance(holder, Call):
            return self._hands_on(holder, steps)
        is_other = isinstance(holder, Name) and holder.id != self._copied
        return isinstance(holder, Name) and is_other and self._is_shared_with(holder.id, steps)

    def _is_put_back(self, value: Attribute | Subscript) -> bool:
        """Whether the copy is assigned to where the original came from, or given to what has its name."""
        label = value.attr if isinstance(value, Attribute) else None
        holder, path = dotted(value.value), dotted(value)
        for statement in self._statements:
            if statement.at.end_lineno < self._at.end_row:
                continue
            if isinstance(statement, Assign) and self._has_whole(statement.value):
                for target in statement.targets:
                    is_item = isinstance(target, Subscript) and isinstance(value, Subscript)
                    if (path is not None and dotted(target) == path) or (
                        is_item and holder is not None and dotted(target.value) == holder  # type: ignore[union-attr]
                    ):
                        return True
            for part in own_parts(statement):
                if isinstance(part, Call) and any(
                    self._has_whole(a.value) and (a.keyword == label if label else a.keyword is not None)
                    for a in part.args
                ):
                    return True
        return False

    def _gives_away(self, call: Call, name: str, steps: int) -> bool:
        """Whether a call returns what others hold."""
        if self._hands_on(call, steps):
            return True
        found = [f for f in self._place.module.outline.functions.values() if f.name == last_name(call.func)]
        for function in found:
            if any(last_name(without_call(decorator)) in _CACHES for decorator in function.decorators):
                return True
            parameters = [p.name for p in function.parameters]
            for value in function.return_values:
                holder = root(value)
                if not isinstance(holder, Name):
                    continue
                if isinstance(value, Name) and value.id in parameters:
                    given = call.given_to([p for p in function.positional if p != function.self_name]).get(value.id)
                    if isinstance(given, Name) and given.id != name and self._is_shared_with(given.id, steps):
                        return True
                elif isinstance(value, Name):
                    scope = self._place.module.outline.scopes.get(function.inner_scope)
                    if scope is not None and value.id not in scope.bindings:
                        return True
                elif isinstance(value, Attribute) and holder.id == function.self_name:
                    return True
        return False

    def _hands_on(self, call: Call, steps: int) -> bool:
        """Whether a call returns a part of what it is given, and somebody else has that."""
        if last_name(call.func) not in _HANDING:
            return False
        given = [*call.positional, *([call.func.value] if isinstance(call.func, Attribute) else [])]
        for one in given:
            holder = root(one)
            if isinstance(holder, Call) and self._hands_on(holder, steps):
                return True
            if isinstance(holder, Name) and self._is_known(holder.id) and self._is_shared_with(holder.id, steps):
                return True
        return False

    def _is_known(self, name: str) -> bool:
        """Whether a name is a variable, and not that of a module or of a class."""
        return self._is_parameter(name) or any(binds(s, name) for s in self._statements)

    def _is_parameter(self, name: str) -> bool:
        return self._function is not None and self._function.takes(name)

    def escapes(self, name: str, holder: str = "") -> bool:
        """Whether something else was given the instance before the change, and may be asked for it after that."""
        before = [s for s in self._statements if end_of(s) <= self._at[:2]]
        certain = self._certainly_before(self._body)
        start = max((end_of(s) for s in certain if binds(s, name) and end_of(s) <= self._at[:2]), default=(0, 0))
        for statement in before:
            if binds(statement, name):
                others = [t for t in bound_by(statement) if name not in target_names(t)]
                if end_of(statement) == start and any(self._is_read_later(target) for target in others):
                    return True
            if end_of(statement) <= start:
                continue
            match statement:
                case Assign(targets=targets, value=value) if self._is_in(value, name):
                    others = [t for t in targets if isinstance(t, Name) or not is_variable(holder, root(t))]
                    if any(map(self._is_read_later, others)):
                        return True
                case Do(value=Call(func=Attribute(value=owner, attr=attr), args=args)) if attr in MUTATING:
                    if dotted(owner) != name and any(self._is_in(argument.value, name) for argument in args):
                        return True
                case Do(value=value) if (forced := forced_assignment(value)) is not None and self._is_in(
                    forced[2], name
                ):
                    return dotted(forced[0]) != name
                case FunctionDefinition(defaults=defaults) if any(self._is_in(item, name) for item in defaults):
                    return True
            for part in own_parts(statement):
                if isinstance(part, Other) and part.kind == "Yield" and any(self._is_in(p, name) for p in part.parts):
                    return True
                if isinstance(part, Call) and self._is_stored_by(part, name):
                    return True
        return False

    def _is_stored_by(self, call: Call, name: str) -> bool:
        """Whether a function of the module puts the variable that it is given where it is found later."""
        module = self._place.module
        for function in module.outline.functions.values():
            if function.name == last_name(call.func) and function is not self._function:
                given = call.given_to([p for p in function.positional if p != function.self_name])
                own = [parameter for parameter, value in given.items() if self._is_in(value, name)]
                body = (self._evaluator.calls.body_of(FunctionSymbol(module, function)) or ()) if own else ()
                if any(_keeps(statement, own, function, module) for statement in walk(body, nested=False)):
                    return True
        return False

    def _certainly_before(self, body: Body) -> Iterator[Statement]:
        """The statements that are run before the change whichever way leads there, and what holds the change."""
        for statement in body:
            yield statement
            if is_around(statement, self._at):
                for block in blocks(statement):
                    if any(is_around(inner, self._at) for inner in block):
                        yield from self._certainly_before(block)

    def _is_read_later(self, target: Expr) -> bool:
        """Whether what is assigned to a target is asked for after the change, as far as can be seen."""
        return not isinstance(target, Name) or self.is_read_behind(target.id)

    def _is_in(self, value: Expr, name: str) -> bool:
        """Whether a value is, or keeps, what a variable is bound to."""
        match value:
            case Name(id=found):
                return found == name
            case Display(items=items) | DictDisplay(values=items):
                return any(self._is_in(item, name) for item in items)
            case Lambda(defaults=defaults):
                return any(self._is_in(item, name) for item in defaults)
            case Comprehension(element=element):
                return self._is_in(element, name)
            case Binary(left=left, right=right):
                return any(isinstance(one, Display) and self._is_in(one, name) for one in (left, right))
            case Conditional(body=body, orelse=orelse):
                return self._is_in(body, name) or self._is_in(orelse, name)
            case Call(func=func, args=args) if self._makes_instance(func):
                return any(self._is_in(argument.value, name) for argument in args)
        return False

    def _makes_instance(self, func: Expr) -> bool:
        """Whether what is called keeps its arguments: a class of the module, `partial`, `list`."""
        classes = {one.name for one in self._place.module.outline.classes.values()}
        return last_name(func) in _KEEPING or last_name(func) in classes

    def is_read_behind(self, name: str) -> bool:
        """Whether a variable is read after the change, or in the next turn of a loop around it."""
        places = [place_of(read.at) for read in reads(self._body, name)]
        inner = [s for s in self._statements if isinstance(s, FunctionDefinition)]
        is_called_later = any(is_around(s, place) for s in inner for place in places)
        if is_called_later or any(place[:2] >= self._behind for place in places):
            return True
        return self._function is None and self._is_read_in_functions(name)

    def _is_read_in_functions(self, name: str) -> bool:
        """Whether a function asks for a variable of the module, in which nothing else is called so."""
        module = self._place.module
        scopes = module.outline.scopes
        around = [functions_around(at, module) for at in mentions(name, module, r"\b")]
        inner = [[scopes[function.inner_scope] for function in some] for some in around if some]
        return any(all(name not in s.bindings or name in s.is_global for s in some) for some in inner)

    def _parts(self) -> Sequence[Expr]:
        return [part for statement in self._statements for part in own_parts(statement)]


def _keeps(statement: Statement, parameters: Sequence[str], function: Function, module: Module) -> bool:
    """Whether a statement of a function puts a parameter where it is found when the function has returned."""
    scope, given = module.outline.scopes[function.inner_scope], {p.name for p in function.parameters}
    own = set(scope.bindings) - scope.is_global - given
    owners: list[Expr] = []
    match statement:
        case Assign(targets=targets, value=value) if _holds(value, parameters):
            owners = [target for target in targets if not isinstance(target, Name) or target.id in scope.is_global]
        case Do(value=Call(func=Attribute(value=owner, attr=attr), args=args)) if attr in MUTATING:
            owners = [owner] if any(_holds(argument.value, parameters) for argument in args) else []
    return any(not any(is_variable(name, root(owner)) for name in own) for owner in owners)


def _holds(value: Expr, names: Sequence[str]) -> bool:
    """Whether a value is one of some variables, or a display with one of them."""
    return any(isinstance(item, Name) and item.id in names for item in items_of(value))


def are_dropped(name: str, function: Function, module: Module) -> bool:
    """Whether a call in a module stands alone on its line, so that the parameter that a function returns is dropped."""
    if not function.takes(name):
        return False
    alone = re.compile(rf"(?:^|[;:])[ \t]*(?:await[ \t]+)?(?:\w+\.)*{re.escape(function.name)}[ \t]*\(", re.MULTILINE)
    return alone.search(module.source.text) is not None


def are_dropped_elsewhere(name: str, place: Place, evaluator: Evaluator) -> bool:
    """Whether a module that imports this one drops what the function around a place returns of its parameter."""
    function, importers = place.function, evaluator.model.importers(place.module)
    return function is not None and any(are_dropped(name, function, other) for other in importers)
