"""JAX214 unmarked-state."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import Change, NeededImport, Proposal, Rewrite
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.calls.nnx_values import is_pytree, role_of_value
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.frameworks import NNX
from jaxlint.pytrees.frameworks.nnx import REFUSES_CONTAINERS
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.rules.analyses.instances.methods import own_methods
from jaxlint.rules.base import ClassRule, Problem
from jaxlint.symbols.outline import Function, SelfAssignment
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Comprehension,
    DictDisplay,
    Display,
    Expr,
    Name,
    Subscript,
    dotted,
)
from jaxlint.syntax.statements import Assign, Body, Do, walk

_CONTAINERS = (Display, DictDisplay, Comprehension)


class UnmarkedState(ClassRule):
    """
    ## What it does

    Finds lists, tuples and dicts of modules, variables or arrays that an nnx module assigns to an attribute as they
    are.

    ## Why is this bad?

    An attribute of an nnx object is static unless its value is data, and a list or a dict is none. What stands in a
    static attribute would never be trained nor moved, so flax refuses such containers from 0.12.1 on.

    ## What you will see

    `ValueError: Found data on value of type '<class 'list'>' assigned to static attribute 'layers' of Pytree type
    '<class 'Net'>'. Static attributes should not contain data values.` For what is put into the list later:
    `ValueError: Found unexpected data on value of type <class 'list'> in static attribute 'layers'`. Before flax 0.12.1
    there is no error.

    ## Example

    ```python
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs: nnx.Rngs):
            self.layers = [nnx.Linear(2, 2, rngs=rngs) for _ in range(2)]
    ```

    ## Use instead

    ```python
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs: nnx.Rngs):
            self.layers = nnx.List([nnx.Linear(2, 2, rngs=rngs) for _ in range(2)])
    ```

    ## Frameworks

    flax.nnx from flax 0.12.1 on. Array attributes of treex modules without a kind are not looked at.

    ## Fix safety

    `nnx.List(...)`, `nnx.Dict(...)` or, for a tuple, `nnx.data(...)` is written around the value. The fix is unsafe: an
    `nnx.List` is no list.

    ## When not to use it

    If the project must still run with flax 0.11, where `nnx.List` does not exist. Attributes that the class body
    annotates, and classes with `pytree=False`, are not reported.

    ## References

    - [flax.nnx: Pytree](https://flax.readthedocs.io/en/latest/guides/pytree.html)
    """

    code = "JAX214"
    name = "unmarked-state"
    group = "roles"
    since = "0.1.0"
    confidence = Confidence.MEDIUM

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what the methods of an nnx class assign to attributes."""
        if cls.framework is not NNX or not cls.bases_known or not evaluator.model.target.holds(REFUSES_CONTAINERS):
            return
        if not is_pytree(cls) or cls.method("__setattr__") is not None:
            return
        declared = {field.name for c in cls.mro for field in c.symbol.declaration.fields}
        methods = own_methods(cls)
        held = {one.value.at for m in methods for _, _, one in _containers(m, cls, evaluator) if one.value is not None}
        declared |= {
            attr
            for attr, given in cls.assigned.items()
            if not all(_is_container(one) or (one is not None and one.expr.at in held) for one in given)
        }
        for method in methods:
            seen: set[str] = set()
            for attr, value, at in _assigned(method, cls, evaluator):
                given = Placed(value, cls.module, method.inner_scope)
                if attr not in declared | seen and _is_data(given, evaluator):
                    seen.add(attr)
                    yield _problem(at, cls, attr, _wrapped(method, cls, attr, evaluator))


def _is_container(given: Placed | None) -> bool:
    """Whether an attribute is given a plain container: what else it is given may mark it, before or afterwards."""
    return given is not None and _is_plain(given.expr)


def _is_plain(expr: Expr) -> bool:
    """Whether an expression makes a plain container: a display, a comprehension, or a sum of such."""
    return all(isinstance(one, _CONTAINERS) for one in _summands(expr))


def _summands(expr: Expr) -> tuple[Expr, ...]:
    """The lists, or the tuples, that are put together to one or repeated, else the expression itself."""
    match expr:
        case Binary(op="+", left=left, right=right):
            return (*_summands(left), *_summands(right))
        case Binary(op="*", left=Display() as repeated) | Binary(op="*", right=Display() as repeated):
            return (repeated,)
    return (expr,)


def _assigned(method: Function, cls: PytreeClass, evaluator: Evaluator) -> Iterator[tuple[str, Expr, object]]:
    """What a method puts into containers that are attributes: at once, and by `append` or by item afterwards."""
    given = list(_containers(method, cls, evaluator))
    containers = {attr for attr, _, _ in given}
    body = (evaluator.calls.body_of(FunctionSymbol(cls.module, method)) if containers else None) or ()
    for attr, container, assignment in given:
        for summand in _summands(container):
            # what a comprehension makes may be named like a variable, and is none
            is_own = isinstance(summand, Comprehension)
            for item in _items(summand):
                yield attr, item if is_own else _behind(item, method, cls, body), assignment.at
        for put in _appended(assignment.value, body):
            yield attr, _behind(put, method, cls, body), assignment.at
    for statement in walk(body, nested=False):
        match statement:
            case Do(value=Call(func=Attribute(value=Attribute() as held, attr="append"), args=(argument,))):
                put = argument.value
            case Assign(targets=(Subscript(value=Attribute() as held),), value=put):
                pass
            case _:
                continue
        if held.attr in containers and dotted(held.value) == method.self_name:
            yield held.attr, _behind(put, method, cls, body), statement.at


def _containers(method: Function, cls: PytreeClass, evaluator: Evaluator) -> Iterator[tuple[str, Expr, SelfAssignment]]:
    """The plain containers that a method assigns to attributes, at once or as a variable that is bound to one."""
    named = [one for one in method.self_assignments if isinstance(one.value, Name)]
    body = (evaluator.calls.body_of(FunctionSymbol(cls.module, method)) if named else None) or ()
    for assignment in method.self_assignments:
        value = assignment.value
        container = _behind(value, method, cls, body) if isinstance(value, Name) else value
        if container is not None and _is_plain(container):
            yield assignment.attr, container, assignment


def _appended(container: Expr | None, body: Body) -> Iterator[Expr]:
    """What is appended to a list that stands in a variable."""
    for statement in walk(body, nested=False) if isinstance(container, Name) else ():
        match statement:
            case Do(value=Call(func=Attribute(value=Name(id=name), attr="append"), args=(argument,))):
                if isinstance(container, Name) and name == container.id:
                    yield argument.value


def _behind(expr: Expr, method: Function, cls: PytreeClass, body: Body) -> Expr:
    """The value of a variable that a method assigns once, else the expression itself."""
    if isinstance(expr, Name):
        bound = cls.module.outline.scopes[method.inner_scope].bindings.get(expr.id, ())
        for statement in walk(body, nested=False) if len(bound) == 1 else ():
            match statement:
                case Assign(targets=(Name(id=name),), value=value) if name == expr.id:
                    return value
    return expr


def _items(expr: Expr) -> tuple[Expr, ...]:
    """What a display or a comprehension certainly holds."""
    match expr:
        case Display(items=items):
            return items
        case DictDisplay(values=values):
            return values
        case Comprehension(kind="list" | "dict", element=element):
            return (element,)
    return ()


def _is_data(given: Placed, evaluator: Evaluator) -> bool:
    """Whether an expression certainly makes, or holds, a module, a variable or an array of jax."""
    if not isinstance(given.expr, Call):
        return any(
            _is_data(Placed(item, given.module, given.scope), evaluator)
            for summand in _summands(given.expr)
            for item in _items(summand)
        )
    return role_of_value(given, evaluator) is Role.LEAF


def _wrapped(method: Function, cls: PytreeClass, attr: str, evaluator: Evaluator) -> Proposal | None:
    """The fix: the containers that a method assigns to an attribute become those of flax."""
    containers = {id(one): container for _, container, one in _containers(method, cls, evaluator)}
    changes: list[Change] = []
    needed = dict[NeededImport, None]()
    for assignment in (one for one in method.self_assignments if one.attr == attr):
        value, container = assignment.value, containers.get(id(assignment))
        first = None if container is None else _summands(container)[0]
        kind = "dict" if isinstance(first, DictDisplay) else getattr(first, "kind", "")
        name = {"list": "List", "dict": "Dict", "tuple": "data"}.get(kind)
        if value is None or name is None:
            return None
        scope = method.inner_scope
        written = spelled(f"flax.nnx.{name}", cls.module, evaluator.model.resolver, scope)
        if written is None:
            return None
        changes.append(Rewrite(value.at, f"{written[0]}({{0}})", (value.at,)))
        needed |= dict.fromkeys(written[1])
    return Proposal(f"Make `{attr}` a container of flax", Applicability.UNSAFE, tuple(changes), tuple(needed))


def _problem(at: object, cls: PytreeClass, attr: str, fix: Proposal | None) -> Problem:
    way_out = "wrap it in `nnx.List`, `nnx.Dict` or `nnx.data`"
    return Problem(
        at=at,
        message=(
            f"`{attr}` of `{cls.name}` is a plain container of data, and static: flax refuses it (ValueError: Found"
            f" data); {way_out}"
        ),
        reason="an attribute of an nnx object is static unless its value is data, and lists, tuples and dicts are not",
        help=way_out,
        fix=fix,
        subject=f"{cls.symbol.full_name}.{attr}",
    )
