"""Whether code puts arrays of numpy into a field, or gives them to a function, whatever an annotation says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TypeAlias

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.project.resolution import External, FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.given_literals import calls_giving
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, Subscript, dotted, last_name
from jaxlint.syntax.statements import Assign, parts, walk

#: A call, and the function and the module in which it stands.
_Call: TypeAlias = tuple[Call, Function | None, Module]

#: How many names are followed.
_FEW = 4


def is_made_with_numpy(classes: Sequence[PytreeClass], field: str, module: Module, evaluator: Evaluator) -> bool:
    """Whether a module, or what a function beside the first of the classes returns, puts such an array into a field."""
    names = {cls.name for cls in classes} | {"cls"}
    here = ((call, function, module) for call, function in calls_giving(field, names, module, evaluator))
    for call, function, around in chain(_returned(classes[0].module), here):
        constructs = last_name(call.func) in names
        given = (a.value for a in call.args if a.keyword == field or (constructs and a.keyword is None))
        if any(_is_numpy(value, function, around, evaluator) for value in given):
            return True
    return False


#: A docstring at the beginning of the body of a function.
_DOCSTRING = re.compile(r"""(?s)\s*[rRuU]?(\"{3}|'{3})(.*?)\1""")
#: What docstrings call an array of numpy.
_NUMPY = r"\b(?:np\.ndarray|(?i:numpy)(?:\.ndarray| array))\b"


def is_called_with_numpy(function: Function, parameter: str, module: Module, evaluator: Evaluator) -> bool:
    """Whether the module of a function, or one that imports it, gives such an array for a parameter."""
    names = [name for name in function.positional if name != function.self_name]
    if parameter not in names:
        return False
    for around in (module, *evaluator.model.importers(module)):
        for call, caller in calls_giving(parameter, {function.name}, around, evaluator):
            if last_name(call.func) == function.name:
                given = call.given_to(names).get(parameter)
                if given is not None and _is_numpy(given, caller, around, evaluator):
                    return True
    return False


def is_documented_as_numpy(function: Function, parameter: str, module: Module) -> bool:
    """Whether the docstring of a function says that a parameter is an array of numpy, whatever its annotation says."""
    first, last = function.body_rows
    found = _DOCSTRING.match(module.source.rows(first, last)) if last else None
    if found is None or parameter not in found[2]:
        return False
    return re.search(rf"^[ \t]*(?::param )?{re.escape(parameter)}\b.*{_NUMPY}", found[2], re.MULTILINE) is not None


def _returned(module: Module) -> Iterator[_Call]:
    """The calls in what the functions of a module return."""
    for function in module.outline.functions.values():
        for value in function.return_values:
            yield from ((part, function, module) for part in parts(value) if isinstance(part, Call))


def _is_numpy(expr: Expr, function: Function | None, module: Module, evaluator: Evaluator, most: int = _FEW) -> bool:
    """Whether numpy makes what an expression stands for, what it is an item of, or what a method is called on.

    A variable or an attribute of `self` is what the function or the methods of its class put there first.
    """
    while isinstance(expr, (Call, Subscript)):
        if isinstance(expr, Subscript):
            expr = expr.value
            continue
        symbol = evaluator.model.resolver.resolve(expr.func, module)
        if isinstance(symbol, External):
            return symbol.name.startswith("numpy.")
        expr = expr.func.value if isinstance(expr.func, Attribute) else expr.func
    if function is None or not most:
        return False
    sources = _values_of(expr, function, module, evaluator)
    return any(_is_numpy(value, within, module, evaluator, most - 1) for value, within in sources)


def _values_of(expr: Expr, function: Function, module: Module, evaluator: Evaluator) -> Iterator[tuple[Expr, Function]]:
    """What is assigned to a variable of a function, or to an attribute of its `self`, and by which function."""
    if isinstance(expr, Name):
        body = evaluator.calls.body_of(FunctionSymbol(module, function)) or ()
        for statement in walk(body, nested=False):
            if isinstance(statement, Assign) and expr.id in map(dotted, statement.targets):
                yield statement.value, function
    elif isinstance(expr, Attribute) and dotted(expr.value) == function.self_name and function.owner is not None:
        owner = module.outline.classes.get(function.owner)
        for numbers in () if owner is None else owner.methods.values():
            for method in (module.outline.functions[number] for number in numbers):
                for assigned in method.self_assignments:
                    if assigned.attr == expr.attr and assigned.value is not None:
                        yield assigned.value, method
