"""What the evaluator asks of the parts that are built on it, and that it is given when they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from jaxlint.infer.bodies.named_classes import NamedClasses
from jaxlint.infer.bodies.purity import Effects
from jaxlint.infer.evaluating.events import Event
from jaxlint.infer.evaluating.notes import Notes
from jaxlint.infer.known.deferred import Held
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.values import FunctionValue, Value
from jaxlint.infer.transforms.applications import Application
from jaxlint.infer.transforms.calling import CallingFunctions
from jaxlint.infer.transforms.transformed import TransformedFunctions
from jaxlint.project.index import Key, TracedBy
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Call, Expr, Lambda
from jaxlint.syntax.statements import Body


class Bodies(Protocol):
    """Reads the bodies of functions, and takes note of their calls (`infer.reading.reader.ModuleReader`)."""

    def return_of(self, symbol: FunctionSymbol, receiver: Value | None, passed: dict[str, Value], /) -> Value:
        """What a function returns, read from its body, whatever its annotation says."""

    def body_of(self, symbol: FunctionSymbol, /) -> Body | None:
        """The statements of a function, or None if they cannot be read."""

    def top_level(self, module: Module, /) -> Body:
        """The statements of a module outside of functions and classes."""

    def note_call(self, symbol: FunctionSymbol, passed: dict[str, Value], caller: Function | None, /) -> None:
        """Keep what a call passes for parameters without annotation."""

    def note_called(self, symbol: FunctionSymbol, events: list[Event], /) -> None:
        """Keep what happens in a function that another one has returned, when it is called."""


class Calls(Protocol):
    """Evaluates calls, and knows the functions of the project (`infer.calls.calls.CallEvaluator`)."""

    notes: Notes
    transformed: TransformedFunctions
    calling: CallingFunctions
    named_classes: NamedClasses
    effects: Effects
    #: The statements of a function, or None if they cannot be read.
    body_of: Callable[[FunctionSymbol], Body | None]
    #: The statements of a module outside of functions and classes.
    top_level: Callable[[Module], Body]

    def call(self, call: Call, env: Environment) -> Value:
        """What is known of the value of a call."""

    def lambda_value(self, expr: Lambda, env: Environment) -> Value:
        """A lambda whose caller is not known."""

    def returned(self, function: FunctionValue) -> Value:
        """What calling a function of the project returns."""

    def returned_for(self, function: FunctionValue, positional: list[Value]) -> Value:
        """What a function returns that is called with `positional`."""

    def return_of(self, symbol: FunctionSymbol, receiver: Value | None, passed: dict[str, Value]) -> Value:
        """What a function returns, read from its body, whatever its annotation says."""

    def result(self, function: Value, positional: list[Value]) -> Value:
        """What something returns that may be a function and that something else calls with `positional`."""

    def mutate(self, at: object, held_expr: Expr, held: Value, how: str, value: Held, env: Environment) -> None:
        """Note that what `held_expr` stands for is changed in place."""

    def passes_on(self, decorator: Expr, function: FunctionSymbol) -> bool:
        """Whether a decorator of the project replaces a function by one that calls it with all that it is given."""

    def stored_parameters(self, cls: PytreeClass) -> Mapping[str, str]:
        """The fields that hold what the constructor of a class is given, as it is, by the names of its parameters."""


class ClassesInTransformations(Protocol):
    """Which classes go into transformed functions (`infer.calls.transformed_classes.TracedClasses`)."""

    def of(self, cls: PytreeClass) -> TracedBy | None:
        """A transformed function that takes instances of the class or of its subclasses, or None if none is seen."""

    def is_declared(self, symbol: ClassSymbol) -> bool:
        """Whether declarations tell that instances of the class go in, so that every module can know."""

    def is_sent_by(self, module: Module, cls: PytreeClass) -> bool:
        """Whether the module being read sends instances of a class into a transformation."""

    def senders(self, cls: PytreeClass, by: Iterable[TracedBy], module: Module) -> set[str]:
        """The other modules than one (by their paths) that send instances of a class into a transformation."""

    @property
    def declared(self) -> Mapping[Key, TracedBy]:
        """The classes that declarations of the project send into transformed functions."""

    def note(self, value: Value, by: TracedBy, sender: str) -> None:
        """Note what the module being read passes to a transformed function, in one of its functions ("": in none)."""

    def senders_here(self, cls: PytreeClass) -> frozenset[str]:
        """The outermost functions of the module being read that pass instances of a class ("": code outside of all)."""

    def note_replaced(self, value: Value, by: Sequence[Expr]) -> None:
        """Note that the module being read replaces the leaves of a value by what is no array."""

    def is_replaced(self, cls: PytreeClass) -> bool:
        """Whether the leaves of an instance of the class or of its subclasses are seen to be replaced so."""

    def is_emptied(self, cls: PytreeClass) -> bool:
        """Whether such leaves are seen to be replaced by None."""

    def note_stacked(self, value: Value, joining: str) -> None:
        """Note that the module being read makes one instance of several: a function makes arrays of their leaves."""

    def stacked(self, cls: PytreeClass) -> str | None:
        """The function that makes arrays of leaves of several instances of the class or of its subclasses."""

    def declared_by(
        self, functions: Iterable[Function], applications: Iterable[Application], module: Module
    ) -> dict[Key, TracedBy]:
        """The classes that declarations of a module and calls in it send into transformed functions."""

    def is_filtered(self, module: Module) -> bool:
        """Whether a module takes the arrays out of modules, so that what is annotated as one need not hold the rest."""

    def taken_apart(self, value: Value) -> Iterator[PytreeClass]:
        """The classes of the instances in a value that goes in, with those that their leaves hold."""
