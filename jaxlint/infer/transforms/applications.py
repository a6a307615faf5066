"""What the calls of all modules apply to functions, as far as outlines tell: `step = jax.jit(physics.step)`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

import msgspec
from msgspec.structs import replace

from jaxlint.infer.transforms.applied import Applied
from jaxlint.infer.transforms.receivers import Receivers
from jaxlint.libraries.transforms import TRANSFORMS, Kind, Transform
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, External, FunctionSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.callee import PARTIAL, Callee
from jaxlint.symbols.outline import Applying, Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Display, Expr, Name


class Application(msgspec.Struct, frozen=True):
    """A transformation that a call in `module` applies to a function; `applied.at` is the call."""

    function: FunctionSymbol
    module: Module
    applied: Applied
    #: The row of the call.
    row: int


class ReadsOptions(Protocol):
    """Knows the options of a transformation (`infer.transforms.transformed.TransformedFunctions`)."""

    def from_callee(self, transform: Transform, callee: Callee, at: object) -> Applied:
        """A call that is seen from outside, with its options."""

    def applied_to(
        self, function: Function, module: Module, applied: Applied, bound: int, given: frozenset[str]
    ) -> Applied:
        """The same transformation as it is applied to a function, of which some parameters are given already."""


class Applications:
    """The functions of the project that are given to transformations by name."""

    def __init__(self, model: PytreeModel, transformed: ReadsOptions) -> None:
        self.model = model
        self.transformed = transformed
        self._receivers = Receivers(model)
        self._in_module: dict[str, tuple[Application, ...]] = {}

    def in_module(self, module: Module) -> tuple[Application, ...]:
        """The transformations that calls in a module apply to functions, in source order: `jax.jit(step)`."""
        if module.path not in self._in_module:
            self._in_module[module.path] = tuple(self.of(module.outline.applying, module))
        return self._in_module[module.path]

    def of(self, applying: Iterable[Applying], module: Module) -> Iterator[Application]:
        """The transformations that these calls in a module apply to functions."""
        for one in applying:
            yield from self._applied(one, module)

    def elsewhere(self, function: Function, module: Module) -> tuple[Applied, ...]:
        """The transformations that other modules apply to a function of `module`, placed where it is defined."""
        stored = self.model.project_index.applied.get((module.path, function.qualname), ())
        return tuple(Applied.decoded(one, function.at) for one in stored)

    def at_home(self, function: Function, module: Module) -> tuple[Applied, ...]:
        """What the calls in `module` apply to a function of it; as the place serves the function itself."""
        if not module.outline.applying:
            return ()
        key = (module.path, function.qualname)
        return tuple(replace(a.applied, at=function.at) for a in self.in_module(module) if a.function.key == key)

    def is_called_in_vain(self, applied: Applied, function: Function, module: Module) -> bool:
        """Whether what a transformation makes of a function is called at once, with too little."""
        at = place_of(applied.at)
        counts = [one.arguments for one in module.outline.applying if one.arguments is not None and one.call.at == at]
        return any(_fails(applied.transform, function, applied.bound + count, applied.given) for count in counts)

    def _applied(self, applying: Applying, module: Module) -> Iterator[Application]:
        call = applying.call
        callee = self.model.callees.of_call(call, module, applying.scope)
        transform = TRANSFORMS.get(callee.name) if callee is not None else None
        if callee is None or transform is None:
            return
        for given in _functions(transform, call):
            target = self._target(given, applying, module)
            if target is not None:
                function, bound, names = target
                given_now = applying.arguments
                if given_now is not None and _fails(transform, function.declaration, bound + given_now, names):
                    continue
                applied = self.transformed.from_callee(transform, callee, call.at)
                applied = self.transformed.applied_to(function.declaration, function.module, applied, bound, names)
                yield Application(function, module, applied, call.at.row)

    def _target(
        self, expr: Expr, applying: Applying, module: Module
    ) -> tuple[FunctionSymbol, int, frozenset[str]] | None:
        """The function that an argument names, and which of its parameters are given already."""
        bound = 0
        names: frozenset[str] = frozenset()
        while isinstance(expr, Call):
            positional = expr.positional
            if not positional:
                return None
            if self.model.resolver.resolve(expr.func, module, applying.scope) == External(PARTIAL):
                bound += len(positional) - 1
                names |= {a.keyword for a in expr.args if a.keyword is not None}
            else:
                callee = self.model.callees.of_call(expr, module, applying.scope)
                if callee is None or callee.name not in TRANSFORMS:
                    return None
            expr = positional[0]
        match expr:
            case Name(id=name) if name in applying.shadowed:
                return None
            case Attribute(value=Name(id=name), attr=attr) if name == applying.self_name and applying.owner:
                owner = self.model.build(ClassSymbol(module, module.outline.classes[applying.owner]))
                found = owner.method(attr)
                if found is None:
                    return None
                return FunctionSymbol(found[0].module, found[1]), bound + (found[1].self_name is not None), names
            case Name() | Attribute():
                symbol = self.model.resolver.resolve(expr, module, applying.scope)
                if isinstance(symbol, FunctionSymbol):
                    return symbol, bound, names
                method = self._receivers.method(expr, applying, module) if isinstance(expr, Attribute) else None
                return None if method is None else (method, bound + 1, names)
        return None


def _functions(transform: Transform, call: Call) -> Iterator[Expr]:
    """The functions among the arguments of a call."""
    positional = call.positional
    for index, keyword in transform.functions:
        given = positional[index] if index < len(positional) else call.keyword(keyword)
        if isinstance(given, Display):
            yield from given.items
        elif given is not None:
            yield given


def _fails(transform: Transform, function: Function, arguments: int, names: frozenset[str]) -> bool:
    """Whether a function that is given so many arguments, and those names, lacks one: nothing of it is traced then."""
    if transform.kind is Kind.KERNEL:
        return False  # a kernel gets references to what it writes, too
    needed = function.positional[arguments:]
    without = {p.name for p in function.parameters if p.default is None} - names
    return not without.isdisjoint(needed)
