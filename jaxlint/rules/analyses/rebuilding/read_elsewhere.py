"""Attributes of a class that functions outside of it read of instances which jax has rebuilt, as far as names tell."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.transforms.applied import rebuilt_parameters
from jaxlint.libraries.arrays import OF_ARRAYS
from jaxlint.libraries.transforms import Kind, Transform
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.methods import own_methods
from jaxlint.rules.analyses.under_trace.run_compiled import is_run_compiled
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, dotted
from jaxlint.syntax.statements import all_parts, assigned_names, bound_once, looked_up

#: So many calls of compiled functions around each other are gone through.
_FAR = 4


def read_when_rebuilt(cls: PytreeClass, names: Collection[str], evaluator: Evaluator) -> Iterator[str]:
    """Those of some attributes that a function reads of a parameter which a transformation rebuilds.

    Or it reads them of what a compiled function makes of an instance, or gives that to a function which does. The
    function stands where the class is known by its name, no other class there has such an attribute, and all that is
    read of the parameter or the result is the class's.
    """
    if any(cls.method(hook) is not None for hook in ("__getattr__", "__getattribute__")):
        return
    for module in (cls.module, *evaluator.model.importers(cls.module)):
        if cls.name not in module.outline.module_scope.bindings:
            continue
        asked = {n for n in names if f".{n}" in module.source.text and not _others_have(n, cls, module, evaluator)}
        for function in module.outline.functions.values() if asked else ():
            if function.owner is None:
                yield from _read_by(FunctionSymbol(module, function), cls, asked, evaluator)
        if asked:
            yield from _read_of_results(module, cls, asked, evaluator)


def _others_have(name: str, cls: PytreeClass, module: Module, evaluator: Evaluator) -> bool:
    """Whether a class in the module, or in that of the class, has an attribute of that name, too."""
    homes = {one.path: one for one in (cls.module, module)}.values()
    for home in homes:
        for declaration in home.outline.classes.values():
            if declaration is cls.symbol.declaration:
                continue
            methods = [home.outline.functions[q] for qs in declaration.methods.values() for q in qs]
            fields = {f.name for f in declaration.fields} | {a.name for a in declaration.assignments}
            if name in fields or name in declaration.methods:
                return True
            if any(a.attr == name for method in methods for a in method.self_assignments):
                return True
    return False


def _read_by(symbol: FunctionSymbol, cls: PytreeClass, names: set[str], evaluator: Evaluator) -> Iterator[str]:
    body = evaluator.calls.body_of(symbol) or ()
    parameters = {parameter.name for parameter in symbol.declaration.parameters} - set(assigned_names(body))
    read: dict[str, list[str]] = {}
    for part in all_parts(body):
        if isinstance(part, Attribute) and isinstance(part.value, Name) and part.value.id in parameters:
            read.setdefault(part.value.id, []).append(part.attr)
    known = _attributes(cls)
    for parameter, attrs in read.items():
        if names.intersection(attrs) and _tells(attrs, known) and _is_rebuilt(parameter, symbol, evaluator):
            yield from sorted(names.intersection(attrs))


def _tells(attrs: Collection[str], known: set[str]) -> bool:
    """Whether attributes that are read of something are those of a class, and not what any array has: `shape`."""
    return known.issuperset(attrs) and not OF_ARRAYS.issuperset(attrs)


def _attributes(cls: PytreeClass) -> set[str]:
    """The names of what instances have."""
    known = {a.attr for one in cls.mro for method in own_methods(one) for a in method.self_assignments}
    return known | {name for one in cls.mro for name in one.symbol.declaration.methods}


def _read_of_results(module: Module, cls: PytreeClass, names: set[str], evaluator: Evaluator) -> Iterator[str]:
    """Those of some attributes that are read of what compiled functions make of instances which the module makes."""
    bodies = [(evaluator.calls.top_level(module), "")]
    for function in module.outline.functions.values():
        bodies.append((evaluator.calls.body_of(FunctionSymbol(module, function)) or (), function.inner_scope))
    known = _attributes(cls)
    for body, scope in bodies:
        made = _Made(cls, module, scope, bound_once(body), evaluator)
        read: dict[int, list[str]] = {}
        for part in all_parts(body, nested=False):
            match part:
                case Attribute(value=held, attr=attr) if made.is_result(held):
                    read.setdefault(id(made.looked_up(held)), []).append(attr)
                case Call(args=args) if any(made.is_result(one.value) for one in args):
                    yield from made.read_by(part, names, known)
        for attrs in read.values():
            if _tells(attrs, known):
                yield from sorted(names.intersection(attrs))


class _Made:
    """Tells what compiled functions make of instances of a class, in one body."""

    def __init__(
        self, cls: PytreeClass, module: Module, scope: str, bound: Mapping[str, Expr], evaluator: Evaluator
    ) -> None:
        self._cls, self._module, self._scope, self._bound = cls, module, scope, bound
        self._evaluator = evaluator

    def looked_up(self, expr: Expr) -> Expr:
        """What a variable that is bound once holds, or the expression itself."""
        return looked_up(expr, self._bound)

    def is_result(self, expr: Expr, depth: int = 0) -> bool:
        """Whether an expression is what a compiled function returns that was given an instance of the class."""
        call = self.looked_up(expr)
        symbol = self._function(call)
        if symbol is None or not isinstance(call, Call) or depth == _FAR:
            return False
        applied = self._evaluator.calls.transformed.of(symbol.declaration, symbol.module)
        if not any(one.transform.kind is Kind.JIT and one.transform.rebuilds for one in applied):
            return False
        return any(self.is_result(one.value, depth + 1) or self._is_made(one.value) for one in call.args)

    def read_by(self, call: Call, names: set[str], known: set[str]) -> Iterator[str]:
        """Those of some attributes that a function of the module reads of a parameter which a call gives a result."""
        symbol = self._function(call)
        if symbol is None or symbol.module is not self._module or call.has_star:
            return
        body = self._evaluator.calls.body_of(symbol) or ()
        for name, value in call.given_to(symbol.declaration.positional).items():
            if self.is_result(value) and name not in assigned_names(body):
                reads = [p for p in all_parts(body) if isinstance(p, Attribute) and dotted(p.value) == name]
                attrs = {part.attr for part in reads}
                if _tells(attrs, known):
                    yield from sorted(names & attrs)

    def _function(self, call: Expr) -> FunctionSymbol | None:
        if not isinstance(call, Call):
            return None
        symbol = self._evaluator.model.resolver.resolve(call.func, self._module, self._scope)
        return symbol if isinstance(symbol, FunctionSymbol) else None

    def _is_made(self, expr: Expr) -> bool:
        """Whether an expression is an instance of the class that is made there."""
        call = self.looked_up(expr)
        if not isinstance(call, Call):
            return False
        symbol = self._evaluator.model.resolver.resolve(call.func, self._module, self._scope)
        return self._evaluator.model.class_of_symbol(symbol) is self._cls


def _is_rebuilt(name: str, symbol: FunctionSymbol, evaluator: Evaluator) -> bool:
    """Whether a function gets a copy for a parameter: it is transformed, or a function that is calls it."""
    applied = evaluator.calls.transformed.of(symbol.declaration, symbol.module)
    if applied:
        return name in rebuilt_parameters(symbol.declaration, [one for one in applied if one.transform.rebuilds])
    return is_run_compiled(symbol, _rebuilds, evaluator)


def _rebuilds(transform: Transform) -> bool:
    return transform.rebuilds
