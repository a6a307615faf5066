"""Fixes of arrays that are made while a module is imported: the function makes them, or they are made of numpy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from jaxlint.cst.changes import BeginBody, Change, NeededImport, Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.project.resolution import External, FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.given_literals import around
from jaxlint.rules.analyses.instances.methods import may_have, text_of
from jaxlint.symbols.outline import Function, Parameter
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Compare,
    Display,
    Expr,
    Name,
    Unary,
    children,
    last_name,
)
from jaxlint.syntax.names_read import reads
from jaxlint.syntax.statements import all_parts, parts

#: Decorators that give the function what its caller gives, and nothing for what that leaves out.
_PLAIN = frozenset({"jit", "filter_jit", "staticmethod", "classmethod"})
#: Functions of jax.numpy that make the same arrays as those of numpy, in an expression of jax: none of them is weak.
_FILLED = frozenset({"zeros", "ones", "eye", "identity", "arange", "linspace"})
_TAKING = frozenset({"array", "asarray"})
#: Words of code that may ask for the values of an array.
_DECIDING = re.compile(r"\b(?:if|while|for|assert|range|int|float|bool|np|numpy)\b")
_CONSTANTS = frozenset(
    """pi e inf nan float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool_""".split()
)


@proposing
def making_inside(parameter: Parameter, function: Function, module: Module, evaluator: Evaluator) -> Proposal | None:
    """The fix of a default: it becomes None, and the function begins with making the array.

    It is safe where the default is made of nothing but what libraries have, and is computed with: made while the
    function is traced, the array has no values that Python could ask for.
    """
    default, name = parameter.default, parameter.name
    if default is None or not all(_last(decorator) in _PLAIN for decorator in function.decorators):
        return None  # another decorator may pass the defaults itself
    text = module.source.segment(*place_of(default.at))
    asked = re.compile(rf"\b{name}\s+(?:is|or|and|if)\b|\b{name}\s*[!=]=|\b(?:if|not|and|or|while)\s+{name}\b")
    annotation = parameter.annotation
    if "\n" in text or asked.search(text_of(function, module)) is not None:
        return None  # None may mean something already
    names = {part.id for part in parts(default) if isinstance(part, Name)}
    scopes = [module.outline.scopes.get(scope) for scope in (function.inner_scope, function.scope)]
    if any(function.takes(one) for one in names) or any(
        s is not None and names & s.bindings.keys() for s in scopes[:1]
    ):
        return None
    own = scopes[1]
    if own is not None and own.kind == "class" and names & own.bindings.keys():
        return None
    meant = (evaluator.model.resolver.resolve(Name(default.at, one), module, function.scope) for one in sorted(names))
    body = evaluator.calls.body_of(FunctionSymbol(module, function)) or ()
    is_read, read = partial(_is_name, name), len(list(reads(body, name)))
    computed = sum(_computed(part, is_read, module, function, evaluator) for part in all_parts(body))
    is_computed = computed == read and _DECIDING.search(text_of(function, module)) is None
    is_safe = is_computed and all(isinstance(symbol, External) for symbol in meant)
    changes: list[Change] = [Rewrite(default.at, "None")]
    if annotation is not None:
        declared = module.source.segment(*place_of(annotation.at))
        if "None" in declared or "Optional" in declared or declared.startswith(("'", '"')):
            return None
        changes.append(Rewrite(annotation.at, "{0} | None", (annotation.at,)))
    if read:
        changes.append(BeginBody(function.at, f"if {name} is None:\n    {name} = {text}"))
    level = Applicability.SAFE if is_safe else Applicability.UNSAFE
    return Proposal(f"Make `{name}` in the function", level, tuple(changes))


def _last(decorator: Expr) -> str:
    """The last name of what decorates a function, or of what `partial` is given."""
    if not isinstance(decorator, Call):
        return last_name(decorator)
    is_partial = last_name(decorator.func) == "partial" and decorator.positional
    return last_name(decorator.positional[0] if is_partial else decorator.func)


@proposing
def of_numpy(
    name: str, value: Expr, annotation: Expr | None, cls: PytreeClass, evaluator: Evaluator
) -> Proposal | None:
    """The unsafe fix of what a class body binds, if all that is done with it is to compute with it."""
    changes, imports = list[Change](), list[NeededImport]()
    for at, full in _of_jax(value, cls, evaluator):
        written = spelled(f"numpy.{full}", cls.module, evaluator.model.resolver) if full else None
        if written is None:
            return None
        changes.append(Rewrite(at, written[0]))
        imports += written[1]
    for part in () if annotation is None else parts(annotation):
        if evaluator.model.resolver.library_name(part, cls.module) in ("jax.Array", "jax.numpy.ndarray"):
            written = spelled("numpy.ndarray", cls.module, evaluator.model.resolver)
            if written is None:
                return None
            changes.append(Rewrite(part.at, written[0]))
            imports += written[1]
    if not changes or not _is_only_computed_with(name, cls, evaluator):
        return None
    return Proposal(f"Make `{name}` of numpy", Applicability.UNSAFE, tuple(changes), tuple(dict.fromkeys(imports)))


def _of_jax(value: Expr, cls: PytreeClass, evaluator: Evaluator) -> Iterator[tuple[object, str]]:
    """Where an expression names something of jax.numpy, and what; nothing for what is not the same in numpy."""
    match value:
        case Call(func=func):
            head, _, last = _library(func, cls, evaluator).rpartition(".")
            first = next(iter(value.positional), None)
            is_same = last in _FILLED or (last in _TAKING and isinstance(first, (Display, Call)))
            if head == "jax.numpy" or head != "numpy":
                yield func.at, last if head == "jax.numpy" and is_same and not value.has_star else ""
            for argument in value.args:
                yield from _of_jax(argument.value, cls, evaluator)
        case Name() | Attribute():
            head, _, last = _library(value, cls, evaluator).rpartition(".")
            if head != "numpy":
                yield value.at, last if head == "jax.numpy" and last in _CONSTANTS else ""
        case _:
            for part in children(value):
                yield from _of_jax(part, cls, evaluator)


def _library(expr: Expr, cls: PytreeClass, evaluator: Evaluator) -> str:
    return evaluator.model.resolver.library_name(expr, cls.module, cls.symbol.declaration.qualname) or ""


def _is_only_computed_with(name: str, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether all that is seen of an attribute is an operand, or given to functions of jax.

    An item of an array of numpy cannot be taken with what is traced, and it has no `at`.
    """
    written, mentioned, computed = re.compile(rf"\b{re.escape(name)}\b"), -1, 0
    for home in around(cls, evaluator):
        found = len(written.findall(home.source.text))
        mentioned += found
        functions = home.outline.functions.values() if found else ()
        for function in functions:
            if "<locals>" not in function.scope and may_have(written, function, home):
                body = evaluator.calls.body_of(FunctionSymbol(home, function)) or ()
                is_read = partial(_is_attribute, name)
                computed += sum(_computed(part, is_read, home, function, evaluator) for part in all_parts(body))
    return computed == mentioned


def _is_name(name: str, expr: Expr) -> bool:
    return isinstance(expr, Name) and expr.id == name


def _is_attribute(name: str, expr: Expr) -> bool:
    return isinstance(expr, Attribute) and expr.attr == name


def _computed(
    part: Expr, is_read: Callable[[Expr], bool], home: Module, function: Function, evaluator: Evaluator
) -> int:
    """How often a part of a body computes with what is read."""
    match part:
        case Binary(left=left, right=right):
            inside = [left, right]
        case Unary(operand=operand):
            inside = [operand]
        case Compare(left=left, comparators=comparators):
            inside = [left, *comparators]
        case Call(func=func):
            called = evaluator.model.resolver.library_name(func, home, function.inner_scope)
            inside = [argument.value for argument in part.args] if (called or "").startswith("jax.numpy.") else []
        case _:
            return 0
    return sum(map(is_read, inside))
