"""Attributes of a class that functions outside of it read of instances which jax has rebuilt, as far as names tell."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.transforms.applied import rebuilt_parameters
from jaxlint.libraries.transforms import Transform
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.methods import own_methods
from jaxlint.rules.analyses.under_trace.run_compiled import is_run_compiled
from jaxlint.syntax.expressions import Attribute, Name
from jaxlint.syntax.statements import all_parts, assigned_names


def read_when_rebuilt(cls: PytreeClass, names: Collection[str], evaluator: Evaluator) -> Iterator[str]:
    """Those of some attributes that a function reads of a parameter which a transformation rebuilds.

    The function stands where the class is known by its name, no other class there has such an attribute, and all that
    is read of the parameter is the class's.
    """
    for module in (cls.module, *evaluator.model.importers(cls.module)):
        if cls.name not in module.outline.module_scope.bindings:
            continue
        asked = {n for n in names if f".{n}" in module.source.text and not _others_have(n, cls, module, evaluator)}
        for function in module.outline.functions.values() if asked else ():
            if function.owner is None:
                yield from _read_by(FunctionSymbol(module, function), cls, asked, evaluator)


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
    known = {a.attr for one in cls.mro for method in own_methods(one) for a in method.self_assignments}
    known |= {name for one in cls.mro for name in one.symbol.declaration.methods}
    for parameter, attrs in read.items():
        if names.intersection(attrs) and known.issuperset(attrs) and _is_rebuilt(parameter, symbol, evaluator):
            yield from sorted(names.intersection(attrs))


def _is_rebuilt(name: str, symbol: FunctionSymbol, evaluator: Evaluator) -> bool:
    """Whether a function gets a copy for a parameter: it is transformed, or a function that is calls it."""
    applied = evaluator.calls.transformed.of(symbol.declaration, symbol.module)
    if applied:
        return name in rebuilt_parameters(symbol.declaration, [one for one in applied if one.transform.rebuilds])
    return is_run_compiled(symbol, _rebuilds, evaluator)


def _rebuilds(transform: Transform) -> bool:
    return transform.rebuilds
