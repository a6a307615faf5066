"""Which attributes a class is flattened into and rebuilt from, child by child, where both are plain to see.

The functions are methods (`tree_flatten`, `tree_unflatten`), or what `register_pytree_node` is given.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.rebuilding.listed_names import names_listed
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Call,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Lambda,
    Name,
    Span,
    Subscript,
    dotted,
    forced_assignment,
)
from jaxlint.syntax.statements import (
    Annotate,
    Assert,
    Assign,
    Body,
    Delete,
    Do,
    If,
    Raise,
    Return,
    looked_into,
    looked_up,
    only_bound,
)


class Flattened(msgspec.Struct, frozen=True):
    """The attributes that are the children, in their order, and those in the aux data: None if unknown."""

    children: tuple[str, ...]
    aux: frozenset[str] | None
    #: What the aux data passes to a function by `*aux`, so many arguments, or by `**aux`: None if unknown.
    aux_count: int | None = None
    aux_keys: frozenset[str] | None = None
    #: Where the class itself lists the children by their names.
    listed_at: Span | None = None
    #: Whether the items of the one attribute are the children, `tuple(self.layers)`, however many these are.
    is_spread: bool = False


class Rebuilt(msgspec.Struct, frozen=True):
    """Where the children go, by their positions: parameters of the constructor, or attributes if it is bypassed."""

    targets: dict[int, str]
    bypasses: bool
    #: The statement that returns the instance.
    last: Return
    #: What else is set; None if that may be anything.
    others: frozenset[str] | None = frozenset()
    #: Where the children are taken apart, if one assignment does that.
    taken: Display | None = None
    #: What the constructor is given, children and others; None if unknown.
    passed: frozenset[str] | None = None
    #: The attributes that are set behind the call of the constructor: those that are children, and all.
    set_behind: dict[int, str] = msgspec.field(default_factory=dict)
    names_behind: frozenset[str] = frozenset()


class Routine(msgspec.Struct, frozen=True):
    """A function that takes an instance apart, or makes one, with the names of its parameters."""

    name: str
    at: Span
    parameters: tuple[str, ...]
    body: Body
    #: Whether keys stand beside the children that it gives.
    with_keys: bool = False

    @classmethod
    def of(cls, symbol: FunctionSymbol, evaluator: Evaluator) -> Routine | None:
        """A function of the project; None if its body is not to be seen."""
        body = evaluator.calls.body_of(symbol)
        declaration = symbol.declaration
        if not body or any(p.kind != "positional" for p in declaration.parameters):
            return None
        parameters = tuple(p.name for p in declaration.parameters)
        return cls(declaration.name, declaration.at, parameters, body, declaration.name == "tree_flatten_with_keys")

    @classmethod
    def of_lambda(cls, function: Lambda) -> Routine:
        """A function without a name."""
        returned = Return(function.body.at, function.body)
        return cls("", place_of(function.at), (*function.params, *function.other_params), (returned,))


def flattened(routine: Routine, cls: PytreeClass | None = None) -> Flattened | None:
    """What taking an instance apart gives, if these are its attributes and nothing else.

    The class may list the names: `tuple(getattr(self, name) for name in self.leaves)`.
    """
    if not routine.parameters or not routine.body:
        return None
    own, last = routine.parameters[0], routine.body[-1]
    bound = only_bound(routine.body[:-1])
    if bound is None or not isinstance(last, Return) or last.value is None:
        return None
    pair = looked_up(last.value, bound)
    if not isinstance(pair, Display) or pair.kind != "tuple" or len(pair.items) != 2:
        return None
    children, aux = (looked_up(item, bound) for item in pair.items)
    listed = None if cls is None or routine.with_keys else names_listed(children, own, cls)
    if listed is not None:
        return Flattened(listed[0], _attributes(aux, bound, own), listed_at=listed[1])
    spread = None if routine.with_keys else _attribute(_listed(children), bound, own)
    if spread is not None and _listed(children) is not children:
        return Flattened((spread,), _attributes(aux, bound, own), is_spread=True)
    if not isinstance(children, Display) or children.kind == "set":
        return None
    items = [_without_key(item, bound) if routine.with_keys else item for item in children.items]
    names = [None if item is None else _attribute(item, bound, own) for item in items]
    held = _attributes(aux, bound, own)
    if any(name is None for name in names):
        return None
    count = len(aux.items) if isinstance(aux, Display) and not aux.has_star and aux.kind != "set" else None
    return Flattened(tuple(name for name in names if name is not None), held, count, _keys(aux))


def _keys(aux: Expr) -> frozenset[str] | None:
    """The keys of a dict that is written out."""
    keys = (
        [key.value if isinstance(key, Constant) else None for key in aux.keys] if isinstance(aux, DictDisplay) else []
    )
    names = frozenset(key for key in keys if isinstance(key, str))
    return names if keys and len(names) == len(keys) else None


def _without_key(item: Expr, bound: dict[str, Expr]) -> Expr | None:
    """The child beside its key."""
    item = looked_up(item, bound)
    return item.items[1] if isinstance(item, Display) and len(item.items) == 2 else None


def rebuilt(routine: Routine, makers: set[str], taken: Flattened) -> Rebuilt | None:
    """How `tree_unflatten` makes an instance of its children and aux data; None if it does anything else.

    These are the last two parameters of the function; `makers` are the names of the class.
    """
    aux, given = routine.parameters[-2:]
    return _Rebuilding(makers, aux, given, taken).read(routine.body)


class _Rebuilding:
    """Follows the children through the statements of `tree_unflatten`."""

    def __init__(self, makers: set[str], aux: str, children: str, flattened: Flattened) -> None:
        self._makers = makers
        self._aux, self._children, self._flattened = aux, children, flattened
        #: Where the children are taken apart.
        self._taken: Display | None = None
        #: What local names stand for: the position of a child, or -1 for a part of the aux data.
        self._positions: dict[str, int] = {}
        self._made: str | None = None
        #: The call of the constructor whose result is in the variable.
        self._call: Call | None = None
        self._set: dict[int, str] = {}
        self._others: set[str] | None = set()

    def read(self, body: Body) -> Rebuilt | None:
        """The answer for a body, or None if something in it is not understood."""
        *statements, last = body
        if not all(map(self._statement, statements)) or not isinstance(last, Return) or last.value is None:
            return None
        if self._call is not None:
            back = self._constructed(self._call, last) if dotted(last.value) == self._made else None
            if back is None or self._others is None:
                return None
            names = frozenset({*self._set.values(), *self._others})
            return msgspec.structs.replace(back, set_behind=self._set, names_behind=names)
        if self._made is not None:
            others = None if self._others is None else frozenset(self._others)
            return Rebuilt(self._set, True, last, others, self._taken) if dotted(last.value) == self._made else None
        return self._constructed(last.value, last)

    def _statement(self, statement: object) -> bool:
        match statement:
            case Do(value=Constant()):
                return True
            case Assert():
                return True
            case Delete(target=Name(id=name)):  # `del aux`: a way to say that it is not wanted
                return name == self._aux or (name == self._children and not self._flattened.children)
            case If(branches=branches, orelse=()):  # the data is looked at, and nothing is done with it
                return all(body and isinstance(body[-1], Raise) for _, body in branches)
            case Do(value=Call(func=Attribute(value=held, attr="update"), args=(argument,))) if self._is_dict(held):
                return self._update(argument)
            case Do(value=Call() as call):
                forced = forced_assignment(call)
                return forced is not None and self._is_made(forced[0]) and self._attribute(*forced[1:])
            case Assign(targets=(Name(id=name),), value=Call() as call) if self._makes(call):
                self._made = name
                return True
            case Assign(targets=(Name(id=name),), value=Call() as call) if self._constructs(call):
                self._made, self._call = name, call
                return True
            case Annotate(target=target, value=value) if value is not None:
                return self._bind(target, value)
            case Assign(targets=(target,), value=value):
                return self._bind(target, value)
        return False

    def _makes(self, call: Call) -> bool:
        """Whether a call makes an instance without its constructor."""
        if not isinstance(call.func, Attribute) or call.func.attr != "__new__" or len(call.args) != 1:
            return False
        return dotted(call.args[0].value) in self._makers

    def _constructs(self, call: Call) -> bool:
        """Whether a call makes the first instance, by the constructor."""
        return self._made is None and dotted(call.func) in self._makers

    def _is_made(self, expr: Expr) -> bool:
        """Whether an expression is the instance that was made, mostly without its constructor."""
        return self._made is not None and dotted(expr) == self._made

    def _is_dict(self, expr: Expr) -> bool:
        """Whether an expression is the dict of attributes of the instance that was made."""
        match expr:
            case Attribute(value=held, attr="__dict__") | Call(func=Name(id="vars"), args=(Argument(value=held),)):
                return self._is_made(held)
        return False

    def _update(self, argument: Argument) -> bool:
        """Attributes are set to what the aux data holds."""
        keys = self._flattened.aux_keys if dotted(argument.value) == self._aux else None
        self._others = None if keys is None or self._others is None else self._others | keys
        return dotted(argument.value) == self._aux

    def _bind(self, target: Expr, value: Expr) -> bool:
        """One assignment: the children are taken apart, or an attribute is set."""
        if isinstance(target, Display):
            of = dotted(value)
            if of not in (self._children, self._aux) or any(not isinstance(t, (Name, Attribute)) for t in target.items):
                return False
            if of == self._children and self._flattened.is_spread:
                return False
            if of == self._children:
                self._taken = target
            parts = range(len(target.items))
            return all(
                self._part(t, i if of == self._children else -1) for i, t in zip(parts, target.items, strict=True)
            )
        position = self._position(value)
        if isinstance(target, Name):
            if position is None:
                return False
            self._positions[target.id] = position
            return True
        return isinstance(target, Attribute) and self._is_made(target.value) and self._attribute(target.attr, value)

    def _part(self, target: Expr, position: int) -> bool:
        if isinstance(target, Name):
            self._positions[target.id] = position
            return True
        assert isinstance(target, Attribute)
        return dotted(target.value) == self._made and self._put(target.attr, position)

    def _attribute(self, name: str, value: Expr) -> bool:
        position = self._position(value)
        return self._put(name, -1 if position is None else position)

    def _put(self, name: str, position: int) -> bool:
        if position >= 0:
            self._set[position] = name
        elif self._others is not None:
            self._others.add(name)
        return True

    def _position(self, expr: Expr) -> int | None:
        """The position of the child that an expression is; -1 for aux data, None for what is not understood."""
        match _listed(expr):
            case Name(id=name) if name == self._children and self._flattened.is_spread:
                return 0
            case Name(id=name):
                return -1 if name == self._aux else self._positions.get(name)
            case Subscript(value=Name(id=name), index=Constant(value=int(index))) if name == self._children:
                return index if index >= 0 and not self._flattened.is_spread else None
            case Subscript(value=Name(id=name)) if name == self._aux:
                return -1
        return None

    def _constructed(self, expr: Expr, last: Return) -> Rebuilt | None:
        """`cls(u, v)`: the parameters by position are written as numbers; the caller gives them their names."""
        if not isinstance(expr, Call) or dotted(expr.func) not in self._makers:
            return None
        targets: dict[int, str] = {}
        passed: set[str] = set()
        takes_rest = False
        index = 0
        for argument in expr.args:
            if argument.star == "*" and dotted(argument.value) == self._children:
                if self._flattened.is_spread:
                    return None
                count = len(self._flattened.children)
                targets.update({position: str(index + position) for position in range(count)})
                index += count
                continue
            if argument.star and dotted(argument.value) == self._aux and argument is expr.args[-1]:
                more = self._passed_by_aux(argument.star, index)
                takes_rest = more is None
                passed |= more or set()
                continue
            position = None if argument.star else self._position(argument.value)
            if position is None:
                return None
            passed.add(argument.keyword or str(index))
            if position >= 0:
                targets[position] = argument.keyword or str(index)
            index += 1
        every = None if takes_rest else frozenset(passed | set(targets.values()))
        return Rebuilt(targets, False, last, taken=self._taken, passed=every)

    def _passed_by_aux(self, star: str, index: int) -> frozenset[str] | None:
        """The parameters that `*aux` or `**aux` gives behind so many arguments; None if unknown."""
        if star == "**":
            return self._flattened.aux_keys
        count = self._flattened.aux_count
        return None if count is None else frozenset(str(index + i) for i in range(count))


def _listed(expr: Expr) -> Expr:
    """What `tuple(...)` or `list(...)` is given: the same items."""
    match expr:
        case Call(func=Name(id="tuple" | "list"), args=(Argument(value=value, star="", keyword=None),)):
            return value
    return expr


def _attribute(expr: Expr, bound: Mapping[str, Expr], own: str | None) -> str | None:
    expr = looked_up(_listed(looked_up(expr, bound)), bound)
    return expr.attr if isinstance(expr, Attribute) and dotted(expr.value) == own else None


def _attributes(expr: Expr, bound: Mapping[str, Expr], own: str | None) -> frozenset[str] | None:
    """The attributes in the aux data; None if it may hold others."""
    match expr:
        case Constant():
            return frozenset()
        case Display(items=items) | DictDisplay(values=items):
            parts = [_attributes(*looked_into(item, bound), own) for item in items]
            return None if None in parts else frozenset().union(*(part for part in parts if part is not None))
    name = _attribute(expr, bound, own)
    return None if name is None else frozenset({name})


def may_bind(cls: PytreeClass, name: str) -> bool:
    """Whether a class is given a name other than by `def`, or metaclasses and hooks may give it."""
    declarations = [c.symbol.declaration for c in cls.mro]
    return cls.answers(name) or any(
        any(a.name == name for a in d.assignments)
        or d.conditional_body
        or "__init_subclass__" in d.methods
        or any(b.keyword == "metaclass" for b in d.bases)
        for d in declarations
    )
