"""Whether an instance that has counted inside a transformed function leaves it, and so is taken apart and rebuilt."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.libraries.transforms import TRANSFORMS
from jaxlint.libraries.updates import COPYING_NAMES
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Conditional,
    DictDisplay,
    Display,
    Expr,
    Lambda,
    Name,
    dotted,
    items_of,
    last_name,
    root,
)
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    Augment,
    Body,
    FunctionDefinition,
    Return,
    all_parts,
    bound_once,
    looked_up,
    target_names,
    walk,
)


class Counter(msgspec.Struct, frozen=True):
    """A method that counts: the name of it and of its `self`, whether that is what it changes, and its body."""

    name: str
    own: str
    changes_self: bool
    body: Body

    def places(self, cls: PytreeClass) -> frozenset[int | None]:
        """Where it returns an instance of its class: in which places of a tuple, or (None) as the whole."""
        bound, found = bound_once(self.body), set[int | None]()
        for statement in walk(self.body, nested=False):
            if isinstance(statement, Return) and statement.value is not None:
                for index, item in enumerate(items_of(statement.value)):
                    maker = looked_up(item, bound)
                    is_own = dotted(item) == self.own and self.changes_self
                    if is_own or (isinstance(maker, Call) and makes(maker, self.own, cls)):
                        found.add(index if isinstance(statement.value, Display) else None)
        return frozenset(found)


def makes(call: Call, own: str, cls: PytreeClass) -> bool:
    """Whether a method makes an instance of its class by a call."""
    match call.func:
        case Call(func=Name(id="type"), args=(argument,)):
            return dotted(argument.value) == own
    return dotted(call.func) in (cls.name, f"{own}.__class__")


def is_returned_counted(counter: Counter, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a function that is transformed has an instance count, and returns it, or what holds it.

    An instance that is made inside, and of which only a result leaves, is never taken apart: it keeps its number.
    """
    modules = (cls.module, *evaluator.model.importers(cls.module))
    return any(_leaves(counter, cls, module, evaluator) for module in modules)


def _leaves(counter: Counter, cls: PytreeClass, module: Module, evaluator: Evaluator) -> bool:
    if not any(counter.name in unit.calls for unit in module.outline.units):
        return False
    for function in module.outline.functions.values():
        if function.owner is None and evaluator.calls.transformed.of(function, module):
            body = evaluator.calls.body_of(FunctionSymbol(module, function)) or ()
            if any(_is_call(part, counter) for part in all_parts(body)):
                for one in _transformed(body, function, module, evaluator):
                    if _Held(counter, cls, function, module, evaluator).is_returned(one):
                        return True
    return False


def _transformed(body: Body, function: Function, module: Module, evaluator: Evaluator) -> Iterator[Body]:
    """The body of a transformed function, and those of functions in it that it gives to a transformation by a call."""
    yield body
    inner = {s.name: s for s in walk(body) if isinstance(s, FunctionDefinition)}
    for part in all_parts(body):
        if isinstance(part, Call):
            name = evaluator.model.resolver.library_name(part.func, module, function.inner_scope)
            for argument in part.args if name in TRANSFORMS else ():
                match argument.value:
                    case Lambda(body=result):
                        yield (Return(result.at, result),)
                    case Name(id=given) if given in inner:
                        yield inner[given].body


def _is_call(part: Expr, counter: Counter) -> bool:
    return isinstance(part, Call) and isinstance(part.func, Attribute) and part.func.attr == counter.name


class _Held:
    """What holds the instance that has counted, in the body of a function."""

    def __init__(
        self, counter: Counter, cls: PytreeClass, function: Function, module: Module, evaluator: Evaluator
    ) -> None:
        self._counter, self._places = counter, counter.places(cls)
        self._cls, self._function, self._module = cls, function, module
        self._resolver = evaluator.model.resolver
        self._names: set[str] = set()

    def is_returned(self, body: Body) -> bool:
        """Whether the body returns the instance, or what holds it."""
        others: set[str] = set()
        aliases: dict[str, str] = {}
        if self._counter.changes_self:
            calls = (p for p in all_parts(body, nested=False) if isinstance(p, Call) and _is_call(p, self._counter))
            starts = (root(call.func.value) for call in calls if isinstance(call.func, Attribute))
            self._names |= {start.id for start in starts if isinstance(start, Name)}
        for statement in walk(body, nested=False):
            match statement:
                case Assign(targets=targets, value=value):
                    for target in targets:
                        self._assigned(target, value, others, aliases)
                case Annotate(target=target, value=value) if value is not None:
                    self._assigned(target, value, others, aliases)
                case Augment(target=Name(id=name)):
                    others.add(name)
        self._names |= {start for name, start in aliases.items() if name in self._names}
        self._names -= others
        returned = (s.value for s in walk(body, nested=False) if isinstance(s, Return) and s.value is not None)
        return any(map(self._holds, returned))

    def _assigned(self, target: Expr, value: Expr, others: set[str], aliases: dict[str, str]) -> None:
        """Note what a variable is given: the instance, what holds it, or anything else (`others`)."""
        if isinstance(target, Display) and _is_call(value, self._counter):
            for index, item in enumerate(target.items):
                start = root(item)
                if isinstance(start, Name):
                    (self._names if index in self._places else others).add(start.id)
            return
        start = root(target)
        if not isinstance(start, Name):
            others.update(target_names(target))
        elif self._holds(value):
            self._names.add(start.id)
        elif isinstance(target, Name):
            source = root(value)
            if isinstance(source, Name) and source.id != target.id:
                aliases[target.id] = source.id
            elif not (isinstance(value, Call) and self._is_class(value.func)):
                others.add(target.id)

    def _holds(self, value: Expr) -> bool:
        """Whether a value is the instance that has counted, or holds it."""
        match value:
            case Name(id=name):
                return name in self._names
            case Display(items=items):
                return any(map(self._holds, items))
            case DictDisplay(values=values):
                return any(map(self._holds, values))
            case Conditional(body=body, orelse=orelse):
                return self._holds(body) or self._holds(orelse)
            case Call(func=func, args=args):
                if _is_call(value, self._counter):
                    return bool(self._places)
                if last_name(func) in COPYING_NAMES or self._is_class(func):
                    return any(self._holds(argument.value) for argument in args)
        return False

    def _is_class(self, func: Expr) -> bool:
        symbol = self._resolver.resolve(func, self._module, self._function.inner_scope)
        return isinstance(symbol, ClassSymbol)
