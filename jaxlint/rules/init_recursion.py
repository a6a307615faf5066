"""JAX312 init-recursion."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import Instance
from jaxlint.libraries.arrays import ARRAY_TYPES
from jaxlint.libraries.trees import TREE_MAPS
from jaxlint.libraries.updates import REPLACE_FUNCTIONS
from jaxlint.project.modules import Module
from jaxlint.project.resolution import External, FunctionSymbol
from jaxlint.pytrees.framework import Unflatten
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.rebuild import rebuild_of
from jaxlint.rules.analyses.instances.methods import is_overridden, text_of
from jaxlint.rules.analyses.rebuilding.leaf_traits import alternatives
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    BoolOp,
    Call,
    Comprehension,
    Conditional,
    Expr,
    Lambda,
    Name,
    children,
    dotted,
    is_variable,
)
from jaxlint.syntax.statements import (
    Annotate,
    Assert,
    Assign,
    Body,
    ClassDefinition,
    Do,
    FunctionDefinition,
    If,
    Jump,
    Raise,
    Return,
    Statement,
    expressions,
    walk,
)

_HOOK = "__post_init__"
_MAX_DEPTH = 2
#: Expressions that need not evaluate what is inside of them.
_CONDITIONAL = (BoolOp, Comprehension, Conditional, Lambda)


class InitRecursion(BodyRule):
    """
    ## What it does

    Finds a `__post_init__` that makes another instance of its own class: by `replace`, by calling the class, or, where
    unflatten runs the constructor, by mapping over `self`.

    The same is found of an `__init__` that maps over `self` where `tree_unflatten` calls the class. Functions that are
    given `self` and always do so count, too. So does any method that always calls itself, as a `replace` does that was
    written in the style of another framework: `return self.replace(**changes)`.

    ## Why is this bad?

    The other instance is made by the constructor, which runs `__post_init__`, which makes another instance. And what
    `__post_init__` returns is thrown away.

    ## What you will see

    `RecursionError: maximum recursion depth exceeded`, whenever an instance is made.

    ## Example

    ```python
    import dataclasses

    import jax
    from flax import struct

    @struct.dataclass
    class Direction:
        vector: jax.Array

        def __post_init__(self) -> None:
            unit = dataclasses.replace(self, vector=self.vector / 2)
            print(unit)
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Direction:
        vector: jax.Array

        @classmethod
        def halved(cls, vector: jax.Array) -> "Direction":
            return cls(vector=vector / 2)
    ```

    ## Frameworks

    All that run `__post_init__`. Mapping over `self` recurs with flax.struct, register_dataclass, jax_dataclasses,
    chex, tjax and mjx, and with a `tree_unflatten` that calls `cls(...)`.

    ## Fix safety

    There is no automatic fix yet.

    ## When not to use it

    Only what runs whenever an instance is made is reported: nothing below an `if`, a loop or a `try`.

    ## References

    - [dataclasses: post-init processing](https://docs.python.org/3/library/dataclasses.html#post-init-processing)
    """

    code = "JAX312"
    name = "init-recursion"
    group = "construction"
    since = "0.1.0"

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """What runs in or after the constructor and calls methods of its class, or gives the instance to something."""
        calls, module = candidate.unit.calls, candidate.module
        for function in candidate.functions:
            if function.owner is None:
                continue
            if function.name not in (_HOOK, "__init__"):
                if function.name in calls and _names_itself(function, module):
                    return True
                continue
            if function.name == _HOOK and not calls.isdisjoint(module.outline.classes[function.owner].methods):
                return True
            if _hands_self_on(function, module):
                return True
        return False

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look for the call among what always runs."""
        cls, function = code.place.owner, code.function
        if cls is None or function is None or function.owner is None or function.self_name is None:
            return
        if not cls.is_pytree:
            return
        if function.name not in (_HOOK, "__init__"):
            yield from _calling_itself(code, cls, function, evaluator)
        if not _runs_always(function, cls, evaluator):
            return
        for at, what in _making(code.body, cls, _Taking.by(function, code.place.module), evaluator):
            again = f"runs `{function.name}` again" if function.name == _HOOK else "calls the class again"
            yield Problem(
                at=at,
                message=(
                    f"`{function.name}` of `{cls.name}` {what}, which {again}: no instance can be made"
                    " (RecursionError); compute the fields in a classmethod"
                ),
                reason=f"each instance is made by the constructor, which runs `{function.name}`",
                help="write a classmethod that computes the fields and returns `cls(...)`",
            )
            return


def _names_itself(function: Function, module: Module) -> bool:
    """Whether the text of a method calls the method of its name of `self`."""
    call = rf"\b{function.self_name}\.{function.name}\("
    return function.self_name is not None and re.search(call, text_of(function, module)) is not None


def _calling_itself(code: CodeRead, cls: PytreeClass, function: Function, evaluator: Evaluator) -> Iterator[Problem]:
    """The call by which a method always calls itself: a `replace` that means the one of another framework, mostly."""
    name = function.name
    if function.decorators or function.is_generator or function.is_async or not _names_itself(function, cls.module):
        return
    if cls.has_framework_replace and name == cls.framework.replace_method:
        return  # the decorator puts its own in the place of this one
    taking = _Taking.by(function, code.place.module)
    if taking.own in code.contents.bound:
        return
    for statement, _ in _always_run(code.body, taking, evaluator):
        for part in _always_evaluated(statement):
            method = _own_method(part, cls, taking, evaluator) if isinstance(part, Call) else None
            if method is not None and method.declaration is function and cls.field(name) is None:
                is_copy = name == "replace" and cls.is_dataclass
                way_out = "write `dataclasses.replace(self, ...)`" if is_copy else "let it end"
                yield Problem(
                    at=part.at,
                    message=f"`{name}` of `{cls.name}` always calls itself: no call ends (RecursionError); {way_out}",
                    reason=f"`self.{name}` is the method that is being run",
                    help=way_out,
                )
                return


class _Taking(msgspec.Struct, frozen=True):
    """A function, and the parameter by which it gets the instance that is being made."""

    symbol: FunctionSymbol
    own: str

    @classmethod
    def by(cls, method: Function, module: Module) -> _Taking:
        """A method and its `self`."""
        return cls(FunctionSymbol(module, method), method.self_name or "")


def _hands_self_on(function: Function, module: Module) -> bool:
    """Whether the text of a method gives `self` to something as an argument."""
    return re.search(rf"[(,=]\s*{function.self_name}\s*[,)]", text_of(function, module)) is not None


def _runs_always(function: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether making an instance runs a method; an `__init__` only counts where unflattening runs it, too."""
    if function.name == _HOOK:
        return cls.custom_init() is None and cls.params is not None
    if function.name != "__init__" or cls.framework.unflatten is not Unflatten.CUSTOM:
        return False
    rebuilt = rebuild_of(cls, evaluator.model.resolver)
    return rebuilt is not None and rebuilt.function is function


def _making(
    body: Body,
    cls: PytreeClass,
    taking: _Taking,
    evaluator: Evaluator,
    depth: int = 0,
    guarding: frozenset[str] = frozenset(),
) -> Iterator[tuple[object, str]]:
    """Where a function always makes another instance of the class, or another one that it always calls; and how.

    `guarding` are the fields that must hold arrays for it: so they do in the next instance if it is given one.
    """
    for statement, fields in _always_run(body, taking, evaluator):
        needed = guarding | fields
        for part in _always_evaluated(statement):
            what = _makes_another(part, cls, taking, evaluator)
            if what and all(_stays_array(part, field) for field in needed):
                yield part.at, what
                continue
            called = _called(part, cls, taking, evaluator) if depth < _MAX_DEPTH else None
            inner = None if called is None else evaluator.calls.body_of(called.symbol)
            if called is not None and inner is not None:
                for at, how in _making(inner, cls, called, evaluator, depth + 1, needed):
                    through = f"calls `{called.symbol.declaration.name}`, which {how}"
                    is_near = called.symbol.declaration.owner is not None and called.symbol.module is cls.module
                    yield at if is_near else part.at, through


def _called(expr: Expr, cls: PytreeClass, taking: _Taking, evaluator: Evaluator) -> _Taking | None:
    """The method of the instance that an expression calls, or the function that it gives the instance to."""
    if not isinstance(expr, Call):
        return None
    method = _own_method(expr, cls, taking, evaluator)
    if method is not None:
        return _Taking.by(method.declaration, method.module)
    if not any(is_variable(taking.own, argument.value) and not argument.star for argument in expr.args):
        return None
    within = taking.symbol
    symbol = evaluator.model.resolver.resolve(expr.func, within.module, within.declaration.inner_scope)
    if not isinstance(symbol, FunctionSymbol) or symbol.declaration.owner is not None:
        return None
    function = symbol.declaration
    if function.decorators or function.is_generator or function.is_async or expr.has_star:
        return None
    given = expr.given_to(function.positional)
    own = next((name for name, value in given.items() if is_variable(taking.own, value)), None)
    return None if own is None else _Taking(symbol, own)


def _own_method(expr: Call, cls: PytreeClass, taking: _Taking, evaluator: Evaluator) -> FunctionSymbol | None:
    """The method that `self.method(...)` calls, of whatever subclass `self` is."""
    if not (isinstance(expr.func, Attribute) and is_variable(taking.own, expr.func.value)):
        return None
    found = cls.method(expr.func.attr)
    if found is None or found[1].decorators or found[1].is_generator or found[1].is_async:
        return None
    if is_overridden(expr.func.attr, Instance(cls), evaluator):
        return None
    return FunctionSymbol(found[0].module, found[1])


def _always_run(body: Body, taking: _Taking, evaluator: Evaluator) -> Iterator[tuple[Statement, frozenset[str]]]:
    """The statements that run one after the other, up to the first that may leave the function.

    With each come the fields of which it is asked before whether they hold arrays, as they do on the host.
    """
    for statement in body:
        if isinstance(statement, (Do, Assign, Annotate, Return)):
            yield statement, frozenset()
            continue
        if isinstance(statement, If):
            test, inside = statement.branches[0]
            fields = _asked_for_arrays(test, taking, evaluator)
            if fields:
                yield from ((one, more | fields) for one, more in _always_run(inside, taking, evaluator))
        if not isinstance(statement, (Assert, FunctionDefinition, ClassDefinition)):
            if any(isinstance(inner, (Return, Raise, Jump)) for inner in walk((statement,), nested=False)):
                return


def _asked_for_arrays(test: Expr, taking: _Taking, evaluator: Evaluator) -> frozenset[str]:
    """The fields of `self` that hold arrays if a test passes that asks nothing else: `isinstance(self.x, Array)`."""
    first = f"{taking.own}."
    match test:
        case BoolOp(op="and", left=left, right=right):
            one, other = (_asked_for_arrays(part, taking, evaluator) for part in (left, right))
            return one | other if one and other else frozenset()
        case Call(func=Name(id="isinstance")) if len(test.positional) == 2:
            held, resolver = dotted(test.positional[0]) or "", evaluator.model.resolver
            types = (resolver.library_name(one, taking.symbol.module, "") for one in alternatives(test.positional[1]))
            if any(ARRAY_TYPES.get(name) == "jax" for name in types) and held.startswith(first):
                return frozenset({held.removeprefix(first)})
    return frozenset()


def _stays_array(making: Expr, field: str) -> bool:
    """Whether the instance that a call makes has an array in a field, in which the one before has one."""
    if not isinstance(making, Call) or making.has_star:
        return False
    given = making.keyword(field)
    return isinstance(given, (Binary, Attribute)) or (given is None and len(making.positional) < 2)


def _always_evaluated(statement: Statement) -> Iterator[Expr]:
    """The parts of its expressions, without those that need not be evaluated."""
    stack = list(expressions(statement))
    while stack:
        current = stack.pop()
        if not isinstance(current, _CONDITIONAL):
            yield current
            stack.extend(children(current))


def _makes_another(expr: Expr, cls: PytreeClass, taking: _Taking, evaluator: Evaluator) -> str:
    """What a call does if it makes another instance of the class, in words."""
    if not isinstance(expr, Call):
        return ""
    first, func, within = taking.own, expr.func, taking.symbol
    if isinstance(func, Attribute) and is_variable(first, func.value) and func.attr == cls.framework.replace_method:
        return f"calls `self.{func.attr}`" if cls.has_framework_replace else ""
    if (
        isinstance(func, Call)
        and dotted(func.func) == "type"
        and len(func.args) == 1
        and is_variable(first, func.args[0].value)
    ):
        return "calls its own class"
    if isinstance(func, Attribute) and func.attr == "__class__" and is_variable(first, func.value):
        return "calls its own class"
    symbol = evaluator.model.resolver.resolve(func, within.module, within.declaration.inner_scope)
    if symbol == cls.symbol:
        return "calls its own class"
    given = expr.positional
    if not isinstance(symbol, External):
        return ""
    if symbol.name in REPLACE_FUNCTIONS and given and is_variable(first, given[0]):
        return f"calls `{dotted(func) or 'replace'}` for itself"
    is_mapped = symbol.name in TREE_MAPS and len(given) > 1 and is_variable(first, given[1])
    if is_mapped and expr.keyword("is_leaf") is None and _is_rebuilt_by_constructor(cls, evaluator):
        return f"maps over itself with `{dotted(func) or 'map'}`"
    return ""


def _is_rebuilt_by_constructor(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether unflattening runs what makes an instance."""
    if cls.framework.unflatten is Unflatten.CUSTOM:
        return rebuild_of(cls, evaluator.model.resolver) is not None
    return cls.framework.unflatten in (Unflatten.CONSTRUCTOR, Unflatten.POST_INIT) and cls.registered is True
