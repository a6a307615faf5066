"""Which classes go into transformed functions, as far as declarations tell: decorators, annotations, methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Cross
from jaxlint.infer.known.values import NONE, Choice, Container, Instance, Value, options, plain
from jaxlint.infer.transforms.applications import Application
from jaxlint.infer.transforms.applied import Applied, rebuilt_parameters
from jaxlint.libraries.refused import FUNCTION
from jaxlint.project.index import Key, TracedBy
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Call, Conditional, DictDisplay, Display, Expr, is_none


class TracedClasses:
    """The classes of the project whose instances are taken apart by a transformation of JAX.

    equinox's filtered transformations do not count: they hold all that is no array static.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self._noted: dict[Key, TracedBy] = {}
        self._sending: dict[Key, set[str]] = {}
        self._replaced: set[Key] = set()
        self._emptied: set[Key] = set()
        self._stacked: dict[Key, str] = {}
        self._filtered: dict[str, bool] = {}
        #: What other modules are seen to pass to transformed functions, of a class that this one may not.
        self.elsewhere: Callable[[PytreeClass], TracedBy | None] = lambda cls: None
        #: Whether other modules are seen to replace the leaves of a class, and whether they do so by None.
        self.replaced_elsewhere: Callable[[PytreeClass], bool] = lambda cls: False
        self.emptied_elsewhere: Callable[[PytreeClass], bool] = lambda cls: False

    def start(self) -> None:
        """Forget what was seen before."""
        self._noted, self._sending = {}, {}
        self._replaced, self._emptied = set(), set()
        self._stacked = {}

    def note(self, value: Value, by: TracedBy, sender: str) -> None:
        """Note what the module being read passes to a transformed function, in one of its functions ("": in none)."""
        if any(sender not in self._sending.get(cls.symbol.key, ()) for cls in instances_in(value, other_trees=False)):
            for cls in self.taken_apart(value):
                self._noted.setdefault(cls.symbol.key, by)
                self._sending.setdefault(cls.symbol.key, set()).add(sender)

    def senders_here(self, cls: PytreeClass) -> frozenset[str]:
        """The outermost functions of the module being read that pass instances of a class ("": code outside of all)."""
        return frozenset(self._sending.get(cls.symbol.key, ()))

    def note_replaced(self, value: Value, by: Sequence[Expr]) -> None:
        """Note that the module being read replaces the leaves of a value by what is no array, with `jax.tree.map`."""
        keys = [cls.symbol.key for cls in self.taken_apart(value)]
        self._replaced.update(keys)
        self._emptied.update(keys if any(map(_may_be_none, by)) else ())

    def is_replaced(self, cls: PytreeClass) -> bool:
        """Whether the leaves of an instance of the class, or of one that inherits from it, are seen to be replaced."""
        return self._is_seen(cls, self._replaced, self.replaced_elsewhere)

    def is_emptied(self, cls: PytreeClass) -> bool:
        """Whether such leaves are seen to be replaced by None, some of them at least."""
        return self._is_seen(cls, self._emptied, self.emptied_elsewhere)

    def _is_seen(self, cls: PytreeClass, here: set[Key], elsewhere: Callable[[PytreeClass], bool]) -> bool:
        return any(one.symbol.key in here or elsewhere(one) for one in self.evaluator.model.family(cls))

    @property
    def replaced(self) -> frozenset[Key]:
        """The classes whose leaves the module being read replaces by what is no array."""
        return frozenset(self._replaced)

    @property
    def emptied(self) -> frozenset[Key]:
        """The classes whose leaves the module being read replaces by None."""
        return frozenset(self._emptied)

    def note_stacked(self, value: Value, joining: str) -> None:
        """Note that the module being read makes one instance of several: a function makes arrays of their leaves."""
        for cls in self.taken_apart(value):
            self._stacked.setdefault(cls.symbol.key, joining)

    def stacked(self, cls: PytreeClass) -> str | None:
        """The function that makes arrays of leaves of several instances of the class or of its subclasses."""
        return next((self._stacked[key] for key in self.evaluator.model.family(cls).keys if key in self._stacked), None)

    def of(self, cls: PytreeClass) -> TracedBy | None:
        """A transformed function that takes instances of the class or of its subclasses, or None if none is seen."""
        return self.declared.get(cls.symbol.key) or self._noted.get(cls.symbol.key) or self.elsewhere(cls)

    def is_sent_by(self, module: Module, cls: PytreeClass) -> bool:
        """Whether the module being read sends instances of a class into a transformation."""
        key = cls.symbol.key
        return key in self._noted or module.path in self.evaluator.model.project_index.sending.get(key, ())

    def senders(self, cls: PytreeClass, by: Iterable[TracedBy], module: Module) -> set[str]:
        """The other modules than one (by their paths) that send instances of a class into a transformation.

        `by` are transformed functions that take them; their own modules count.
        """
        known = self.evaluator.model.project_index.sending.get(cls.symbol.key, ())
        return {*(one.home for one in by), *known} - {"", module.path}

    @property
    def noted(self) -> Mapping[Key, TracedBy]:
        """The classes of what the module being read passes to transformed functions."""
        return self._noted

    def is_declared(self, symbol: ClassSymbol) -> bool:
        """Whether declarations tell that instances of the class cross, so that every module can know."""
        return symbol.key in self.declared

    @property
    def declared(self) -> Mapping[Key, TracedBy]:
        """The classes that declarations of the project send into transformed functions."""
        return self.evaluator.model.project_index.traced

    def declared_by(
        self, functions: Iterable[Function], applications: Iterable[Application], module: Module
    ) -> dict[Key, TracedBy]:
        """The classes that declarations of a module and calls in it send into transformed functions."""
        found: dict[Key, TracedBy] = {}
        through: list[tuple[Function, Module, tuple[Applied, ...]]] = []
        for function in functions:
            applied = self.evaluator.calls.transformed.decorating(function, module)
            if applied:
                through.append((function, module, applied))
        for application in applications:
            symbol = application.function
            through.append((symbol.declaration, symbol.module, (application.applied,)))
        for function, home, applied in through:
            for value, by in self._through(function, home, applied):
                if any(cls.framework.filters for cls in instances_in(value)) and self.is_filtered(home):
                    continue
                self._add(value, by, found)
        return found

    def is_filtered(self, module: Module) -> bool:
        """Whether a module takes the arrays out of modules, so that what is annotated as one need not hold the rest."""
        if module.path not in self._filtered:
            calls = {"partition", "filter", "combine"}
            self._filtered[module.path] = any(not unit.calls.isdisjoint(calls) for unit in module.outline.units)
        return self._filtered[module.path]

    def _add(self, value: Value, by: TracedBy, found: dict[Key, TracedBy]) -> None:
        """Add the classes of a value that crosses, with those that it inherits from and that its leaves hold."""
        pending = list(instances_in(value))
        while pending:
            cls = pending.pop()
            if not cls.is_pytree or cls.symbol.key in found or self._is_interface(cls):
                continue
            found[cls.symbol.key] = by
            pending += cls.parents
            pending += self._held_by(cls)

    def taken_apart(self, value: Value) -> Iterator[PytreeClass]:
        """The classes of the instances in a value that crosses, with those that their leaves hold."""
        pending = list(instances_in(value, other_trees=False))
        seen: set[Key] = set()
        while pending:
            cls = pending.pop()
            if cls.symbol.key not in seen:
                seen.add(cls.symbol.key)
                yield cls
                pending += self._held_by(cls) if cls.is_pytree else ()

    def _held_by(self, cls: PytreeClass) -> Iterator[PytreeClass]:
        """The classes of what the leaves of an instance certainly hold: nothing else may stand there."""
        for field in cls.fields:
            if field.role is Role.LEAF and field.annotation is not None:
                held = self.evaluator.promises.field(field, cls)
                if field.is_empty_by_default or (
                    field.default is not None and plain(self.evaluator.static(field.default)) == NONE
                ):
                    continue
                if all(isinstance(option, (Instance, Container)) for option in options(held)):
                    yield from instances_in(held)

    def _is_interface(self, cls: PytreeClass) -> bool:
        """Whether a class holds nothing but functions: annotations that send it in are wrong, for no call would run."""
        declared = [self.evaluator.promises.non_array(field) for field in cls.fields]
        return bool(declared) and all(what == FUNCTION for what in declared)

    def _through(
        self, function: Function, module: Module, applied: tuple[Applied, ...]
    ) -> Iterator[tuple[Value, TracedBy]]:
        """What goes into a transformed function, and what comes out of it, by its annotations and `return`s.

        No transformation sees the default of what it is not given.
        """
        refusing = tuple(a for a in applied if a.refuses_non_arrays)
        given = {p.name for p in function.parameters if p.default is None}
        values: list[tuple[Value, Applied]] = []
        if refusing:
            for name in sorted(rebuilt_parameters(function, refusing) & given):
                values.append((self.evaluator.own_parameter(function, name, module), refusing[0]))
        for one in applied:
            if one.mapped is not None:
                for name in sorted(one.mapped_parameters(function) & given):
                    values.append((self.evaluator.own_parameter(function, name, module), one))
        returning = next((a for a in applied if a.refuses_results), None)
        if returning is not None:
            values += [(value, returning) for value in self._returned(function, module)]
        for value, by in values:
            yield value, TracedBy(function.name, by.transform.name)

    def _returned(self, function: Function, module: Module) -> Iterator[Value]:
        """What a function returns: what it is annotated with, or an instance that a `return` makes."""
        if function.is_generator or function.is_async or self.evaluator.calls.transformed.is_wrapped(function, module):
            return
        if function.returns is not None:
            yield self.evaluator.promises.returned(function, module)
            return
        pending = list(function.return_values)
        while pending:
            expr = pending.pop()
            match expr:
                case Display(items=items):
                    pending += items
                case DictDisplay(values=items):
                    pending += items
                case Call(func=func, args=args) if not any(is_none(argument.value) for argument in args):
                    made = self.evaluator.model.resolver.resolve(func, module, function.inner_scope)
                    cls = self.evaluator.model.class_of_symbol(made)
                    if cls is not None and cls.is_pytree:
                        yield Instance(cls)


def traced_by(event: Cross) -> TracedBy | None:
    """What an argument of a transformed function is refused by if one of its leaves is no array."""
    if event.static is not False:
        return None
    refusing = [a for a in event.applied if (a.refuses_non_arrays or a.mapped is not None) and _takes_apart(a, event)]
    if not refusing:
        return None
    return TracedBy(event.function.name if event.function is not None else "", refusing[0].transform.name)


def _takes_apart(applied: Applied, event: Cross) -> bool:
    """Whether a transformation takes the argument apart, and does not hand it on as it is."""
    if event.function is None or applied.transform.runs:
        return True
    if applied.mapped is not None:
        return event.parameter in applied.mapped_parameters(event.function)
    return event.parameter in applied.rebuilt_parameters(event.function)


def instances_in(value: Value, depth: int = 0, *, other_trees: bool = True) -> Iterator[PytreeClass]:
    """The classes of the instances that a value is, or holds in containers.

    Those that have the form of one only, such as gradients, count unless `other_trees` is False: nothing that their
    class says of its leaves holds for theirs.
    """
    value = plain(value)
    if depth > 4:
        return
    match value:
        case Instance(cls=cls, is_other_tree=is_other_tree):
            if other_trees or not is_other_tree:
                yield cls
        case Container(items=items, element=element):
            for item in items if items is not None else (element,):
                yield from instances_in(item, depth + 1, other_trees=other_trees)
        case Choice(options=options):
            for option in options:
                yield from instances_in(option, depth + 1, other_trees=other_trees)


def _may_be_none(expr: Expr) -> bool:
    """Whether an expression is None, or for some leaves: `0 if x.ndim else None`."""
    return is_none(expr) or (isinstance(expr, Conditional) and (_may_be_none(expr.body) or _may_be_none(expr.orelse)))
