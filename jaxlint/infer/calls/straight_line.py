"""Reading the statements of a method that run at each call, in order.

What stands in a branch, in a loop whose turns cannot be determined, or behind a return that depends on something may
not run: what it assigns is forgotten, and nothing else is said of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from jaxlint.infer.bodies.expecting import expects_error, suppresses_unrelated
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.project.resolution import External, Symbol
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Name,
    Starred,
    Subscript,
    dotted,
)
from jaxlint.syntax.statements import (
    Annotate,
    Assert,
    Assign,
    Augment,
    Body,
    ClassDefinition,
    Compound,
    Delete,
    Do,
    For,
    FunctionDefinition,
    If,
    Importing,
    Jump,
    Match,
    Outer,
    Raise,
    Return,
    Statement,
    Try,
    While,
    With,
    assert_never,
    assigned_names,
    expressions,
    parts,
    targets_of,
    walk,
)

V = TypeVar("V")

#: Functions that assign an attribute, by the name that resolution gives them.
_SETTERS = frozenset({"builtins.object.__setattr__", "builtins.setattr"})


class StraightLine(Generic[V]):
    """Reads one method: what is known of its variables and of the attributes of `self`, one statement at a time."""

    def __init__(
        self, evaluator: Evaluator, module: Module, scope: str, self_name: str | None, attributes: dict[str, V]
    ) -> None:
        self.evaluator = evaluator
        self.module = module
        self.scope = scope
        self.self_name = self_name
        self.attributes = attributes
        self.variables: dict[str, V] = {}
        #: Variables (and `field.name`) that are known to hold a string.
        self.texts: dict[str, str] = {}
        #: Parameters that are given what is written out in the call: `*values`, or a display of names.
        self.collections: dict[str, Display | DictDisplay] = {}
        #: What is known of the value that the method returns in any case.
        self.returned: V = self.unknown()

    # -- what a reader says -----------------------------------------------------------------

    def evaluate(self, expr: Expr) -> V:
        """What is known of an expression."""
        raise NotImplementedError

    def unknown(self) -> V:
        """The value of something unknown."""
        raise NotImplementedError

    def part(self, whole: V, index: int) -> V:
        """What unpacking assigns to the target at `index`."""
        return self.unknown()

    def augmented(self, node: Augment) -> V:
        """What `target op= value` makes of the target."""
        self.evaluate(node.target)
        self.evaluate(node.value)
        return self.unknown()

    def tested(self, test: Expr, statement: Statement) -> None:
        """The outcome of a test decides what happens next, or whether an error is raised."""
        self.evaluate(test)

    def taken(self, test: Expr) -> bool:
        """Whether what stands below `if test` is to be read as if it ran at each call."""
        return False

    def stored(self, attr: str, value: V, at: object) -> None:
        """An attribute of `self` is assigned."""

    def escaped(self) -> None:
        """Code that is not seen gets hold of `self`."""

    def class_value(self, name: str) -> Expr | None:
        """What the class of `self` binds a name to, if that is known."""
        return None

    # -- statements -------------------------------------------------------------------------

    def read(self, body: Body) -> bool:
        """Read statements that run; whether those after them do, too."""
        return all(self._statement(statement) for statement in body)

    def _statement(self, node: Statement) -> bool:
        match node:
            case Do(value=value):
                self._do(value)
            case Assign(targets=(Display(items=targets),), value=Display(items=values)) if _are_pairs(targets, values):
                for target, given in zip(targets, [self.evaluate(value) for value in values], strict=True):
                    self.bind(target, given)
            case Assign(targets=targets, value=value):
                result = self.evaluate(value)
                for target in targets:
                    self.bind(target, result)
            case Annotate(target=target, value=value):
                if value is not None:
                    self.bind(target, self.evaluate(value))
            case Augment(target=target):
                self.bind(target, self.augmented(node))
            case Delete(target=target):
                self.bind(target, self.unknown())
            case Assert(test=test):
                self.tested(test, node)
            case Return(value=last):
                if last is not None:
                    self.returned = self.evaluate(last)
                return False
            case Raise(error=error):
                if error is not None:
                    self.evaluate(error)
                return False
            case _:
                return self._compound(node)
        return True

    def _compound(self, node: Compound | Importing | Jump | Outer) -> bool:
        match node:
            case If():
                test, body = node.branches[0]
                self.tested(test, node)
                if self.taken(test):
                    return self.read(body)
            case While(test=test):
                self.tested(test, node)
            case Match(subject=subject):
                self.tested(subject, node)
            case For(target=target, iterable=iterable, body=body):
                turns = self._turns(target, iterable)
                if turns is not None and not any(isinstance(s, (Return, Jump)) for s in walk(body, nested=False)):
                    texts = dict(self.texts)
                    for turn in turns:
                        self.bind_turn(target, turn)
                        self.read(body)
                    self.texts = texts
                    return True
                self.evaluate(iterable)
            case With(items=items, body=body):
                for expr, entered in items:
                    self.evaluate(expr)
                    if entered is not None:
                        self.bind(entered, self.unknown())
                if not any(expects_error(expr) or suppresses_unrelated(expr) for expr, _ in items):
                    return self.read(body)
            case Try(body=body, handlers=handlers, final=final) if not handlers:
                return self.read(body) and self.read(final)
            case Try() | FunctionDefinition() | ClassDefinition() | Importing() | Jump() | Outer():
                pass
            case _:
                assert_never(node)
        return self._skip(node)

    def _skip(self, node: Statement) -> bool:
        """Forget what a statement may do; whether what follows it runs in any case."""
        for name in assigned_names((node,)):
            self._forget(name)
        for inner in walk((node,), nested=False):
            for expr in expressions(inner):
                for part in parts(expr):
                    if isinstance(part, Attribute) and self.is_self(part.value) and _is_target(part, inner):
                        self.attributes.pop(part.attr, None)
                    elif isinstance(part, Call):
                        self._forget_stores(part)
        return not any(isinstance(s, Return) for s in walk((node,), nested=False))

    def _forget(self, variable: str) -> None:
        self.variables.pop(variable, None)
        self.texts.pop(variable, None)
        self.collections.pop(variable, None)

    def _forget_stores(self, call: Call) -> None:
        stores = self.stores(call)
        if stores is None:
            if self.passes_self(call):
                self.escaped()
            return
        for attr, _ in stores:
            if attr is None:
                self.attributes.clear()
            else:
                self.attributes.pop(attr, None)

    def _do(self, value: Expr) -> None:
        stores = self.stores(value) if isinstance(value, Call) else None
        if stores is None:
            self.evaluate(value)
            return
        for attr, assigned in stores:
            result = self.evaluate(assigned)
            if attr is None:
                self.attributes.clear()
            else:
                self._store(attr, result, value.at)

    def _turns(self, target: Expr, iterable: Expr) -> list[Expr | str] | None:
        """What the target of a loop is in each turn: an expression, or the name of a field; None if it is not known."""
        items = self.items(iterable)
        if items:
            return list(items)
        if isinstance(iterable, Call) and isinstance(target, Name) and len(iterable.positional) == 1:
            if self.resolved(iterable.func) == "dataclasses.fields" and self.is_self(iterable.positional[0]):
                return list(self.attributes)
        return None

    def items(self, iterable: Expr) -> tuple[Expr, ...]:
        """What an expression that is gone through holds, item by item, if that is written out; else nothing."""
        if isinstance(iterable, Attribute) and self.is_self(iterable.value):
            iterable = self.class_value(iterable.attr) or iterable
        match iterable:
            case Call(func=Attribute(value=held, attr="items"), args=()):
                whole = self._collection(held)
                if isinstance(whole, DictDisplay) and None not in whole.keys:
                    pairs = zip(whole.keys, whole.values, strict=True)
                    return tuple(Display(iterable.at, "tuple", (key, value)) for key, value in pairs if key is not None)
            case Call(func=Attribute(value=held, attr="values"), args=()):
                whole = self._collection(held)
                return whole.values if isinstance(whole, DictDisplay) and None not in whole.keys else ()
            case _:
                whole = self._collection(iterable)
                return whole.items if isinstance(whole, Display) and not whole.has_star else ()
        return ()

    def _collection(self, expr: Expr) -> Display | DictDisplay | None:
        return expr if isinstance(expr, (Display, DictDisplay)) else self.collections.get(dotted(expr) or "")

    def receive(self, name: str, given: Expr, value: V, caller: StraightLine[V]) -> None:
        """A parameter stands for an expression of the caller, whose value the caller knows."""
        self.variables[name] = value
        text, whole = caller.text(given), caller._collection(given)
        if text is not None:
            self.texts[name] = text
        if isinstance(whole, DictDisplay):
            self.collections[name] = DictDisplay(whole.at, whole.keys, self._received(name, whole.values, caller))
        elif whole is not None:
            self.collections[name] = Display(whole.at, whole.kind, self._received(name, whole.items, caller))

    def _received(self, name: str, items: Sequence[Expr], caller: StraightLine[V]) -> tuple[Expr, ...]:
        """Names for what a collection holds: what is written out there means something in the caller only."""
        names: list[Expr] = []
        for number, item in enumerate(items):
            names.append(Starred(item.at, item) if isinstance(item, Starred) else Name(item.at, f"{name}.{number}"))
            self.receive(f"{name}.{number}", item, caller.evaluate(item), caller)
        return tuple(names)

    def bind_turn(self, target: Expr, turn: Expr | str) -> None:
        """The target of a loop is given what it is in one turn: an expression, or the name of a field."""
        text = None if isinstance(turn, str) else self.text(turn)
        if isinstance(turn, str):
            self.texts[f"{dotted(target)}.name"] = turn
        elif isinstance(turn, Display) and isinstance(target, Display) and len(turn.items) == len(target.items):
            for inner, item in zip(target.items, turn.items, strict=True):
                self.bind_turn(inner, item)
        else:
            self.bind(target, self.evaluate(turn))
            if text is not None and isinstance(target, Name):
                self.texts[target.id] = text

    # -- targets ----------------------------------------------------------------------------

    def bind(self, target: Expr, value: V) -> None:
        """Assign to a target."""
        match target:
            case Name(id=name):
                self._forget(name)
                self.variables[name] = value
            case Attribute(value=receiver, attr=attr) if self.is_self(receiver):
                self._store(attr, value, target.at)
            case Display(items=items):
                whole = not any(isinstance(i, Starred) for i in items)
                for index, item in enumerate(items):
                    self.bind(item, self.part(value, index) if whole else self.unknown())
            case Starred(value=inner):
                self.bind(inner, self.unknown())
            case Subscript(value=held, index=index):
                key = self.text(index)
                if key is not None and self._is_dict(held):
                    self._store(key, value, target.at)
                elif isinstance(held, (Name, Attribute)):
                    self.bind(held, self.unknown())

    def _store(self, attr: str, value: V, at: object) -> None:
        self.attributes[attr] = value
        self.stored(attr, value, at)

    # -- expressions ------------------------------------------------------------------------

    def is_self(self, expr: Expr) -> bool:
        """Whether an expression is the instance that the method is called on."""
        return isinstance(expr, Name) and expr.id == self.self_name

    def symbol(self, expr: Expr) -> Symbol:
        """What a chain of names means where the method stands."""
        return self.evaluator.model.resolver.resolve(expr, self.module, self.scope)

    def resolved(self, expr: Expr) -> str | None:
        """The dotted name of a function (or type) that is known by name."""
        symbol = self.symbol(expr)
        return symbol.name if isinstance(symbol, External) else None

    def text(self, expr: Expr) -> str | None:
        """The string that an expression certainly is."""
        if isinstance(expr, Constant):
            return expr.value if isinstance(expr.value, str) else None
        return self.texts.get(dotted(expr) or "")

    def passes_self(self, call: Call) -> bool:
        """Whether a call hands `self` to a function, or calls one of its methods."""
        receiver = call.func.value if isinstance(call.func, Attribute) else call.func
        if isinstance(receiver, Call) and dotted(receiver.func) == "super":
            return True
        return self.is_self(receiver) or any(self.is_self(a.value) for a in call.args)

    def stores(self, call: Call) -> list[tuple[str | None, Expr]] | None:
        """The attributes of `self` that a call assigns (None for one that is not known); None if that is not its job.

        `object.__setattr__(self, "x", v)`, `setattr(self, "x", v)`, `super().__setattr__("x", v)`,
        `self.__dict__.update(x=v)`.
        """
        func, given = call.func, call.positional
        if isinstance(func, Attribute) and func.attr == "update" and self._is_dict(func.value):
            if given or call.has_star:
                return [(None, a.value) for a in call.args]
            return [(a.keyword, a.value) for a in call.args]
        if isinstance(func, Attribute) and func.attr == "__setattr__" and len(given) == 2:
            receiver = func.value
            if self.is_self(receiver) or (isinstance(receiver, Call) and dotted(receiver.func) == "super"):
                return [(self.text(given[0]), given[1])]
        if len(given) == 3 and self.is_self(given[0]) and self.resolved(func) in _SETTERS:
            return [(self.text(given[1]), given[2])]
        return None

    def _is_dict(self, expr: Expr) -> bool:
        """Whether an expression is `self.__dict__` or `vars(self)`."""
        if isinstance(expr, Call):
            return dotted(expr.func) == "vars" and len(expr.args) == 1 and self.is_self(expr.args[0].value)
        return isinstance(expr, Attribute) and expr.attr == "__dict__" and self.is_self(expr.value)


def _are_pairs(targets: Sequence[Expr], values: Sequence[Expr]) -> bool:
    """Whether each target of `a, b = x, y` is given one of the values."""
    return len(targets) == len(values) and not any(isinstance(one, Starred) for one in (*targets, *values))


def _is_target(part: Attribute, statement: Statement) -> bool:
    """Whether a statement assigns to an attribute, or to something inside of it."""
    return any(part is inner for target in targets_of(statement) for inner in parts(target))
