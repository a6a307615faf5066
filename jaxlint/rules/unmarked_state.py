"""JAX214 unmarked-state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from jaxlint.cst.changes import Change, NeededImport, Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.frameworks import NNX
from jaxlint.pytrees.frameworks.nnx import REFUSES_CONTAINERS
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.methods import CONSTRUCTORS, is_written, own_methods, run_by
from jaxlint.rules.base import ClassRule, Problem
from jaxlint.symbols.outline import Function, SelfAssignment
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Binary,
    Call,
    Comprehension,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Name,
    Subscript,
    dotted,
    last_name,
)
from jaxlint.syntax.statements import Assign, Do, all_parts, walk

if TYPE_CHECKING:
    from jaxlint.rules.analyses.fields.nnx_data import Inside
    from jaxlint.rules.analyses.fields.variables_replaced import Replaced

_SEQUENCES = frozenset({"builtins.list", "builtins.tuple"})
#: Methods that take something out of a container.
_TAKING = frozenset({"pop", "popitem", "clear", "remove"})
_CONTAINERS = (Display, DictDisplay, Comprehension)


class UnmarkedState(ClassRule):
    """
    ## What it does

    Finds lists, tuples and dicts that an nnx module keeps as they are: those of modules, variables or arrays that it
    assigns to an attribute, and those that a method puts modules or variables into later; and arrays that a method
    assigns in the place of a variable: `self.count = self.count + 1`.

    ## Why is this bad?

    An attribute of an nnx object is static unless its value is data, and a list or a dict is none. What stands in a
    static attribute would never be trained nor moved, so flax refuses such containers from 0.12.1 on.

    ## What you will see

    `ValueError: Found data on value of type '<class 'list'>' assigned to static attribute 'layers' of Pytree type
    '<class 'Net'>'. Static attributes should not contain data values.` For what is put into the list later:
    `ValueError: Found unexpected data on value of type <class 'list'> in static attribute 'layers'`. Before flax 0.12.1
    there is no error. There is none either where an array takes the place of a variable: `nnx.state(net, nnx.Param)` is
    empty, and training changes nothing.

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

    flax.nnx, containers from flax 0.12.1 on. Array attributes of treex modules without a kind are not looked at.

    ## Fix safety

    `nnx.List(...)`, `nnx.Dict(...)` or, for a tuple, `nnx.data(...)` is written around the value. The fix is unsafe: an
    `nnx.List` is no list.

    ## When not to use it

    If the project must still run with flax 0.11, where `nnx.List` does not exist. Attributes that the class body
    annotates, and classes with `pytree=False`, are not reported, nor is an array that is assigned from outside of the
    class, or that is not computed from what the variable holds.

    ## References

    - [flax.nnx: Pytree](https://flax.readthedocs.io/en/latest/guides/pytree.html)
    """

    code = "JAX214"
    name = "unmarked-state"
    group = "roles"
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    raises_at_once = True

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what the methods of an nnx class assign to attributes."""
        if cls.framework is not NNX or not cls.bases_known:
            return
        from jaxlint.infer.calls.nnx_values import is_pytree

        if not is_pytree(cls) or cls.answers("__setattr__"):
            return
        yield from _replaced(cls, evaluator)
        if not evaluator.model.target.holds(REFUSES_CONTAINERS):
            return
        held = [one for method in own_methods(cls) for one in _containers(method, cls, evaluator)]
        held += _inherited(cls, evaluator)
        for attr in dict.fromkeys(one.attr for one in held):
            containers = [one for one in held if one.attr == attr]
            if _is_always_plain(attr, containers, cls):
                yield from _of_attribute(attr, containers, cls, evaluator)


def _replaced(cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
    """The variables in whose place a method puts an array."""
    from jaxlint.rules.analyses.fields.variables_replaced import replaced_variables

    for one in replaced_variables(cls, evaluator):
        way_out = f"write `{one.path}[...] = ...`"
        yield Problem(
            at=one.at,
            message=(
                f"`{one.attr}` of `{cls.name}` is an `nnx.{one.kind}`, and is given a bare array in its place: it is no"
                f" variable any more, which `nnx.state`, `nnx.split` and optimizers find by its type; {way_out}"
            ),
            reason="computing with a variable gives an array, and an assignment replaces the variable by it",
            help=way_out,
            fix=_put_into(one),
            subject=f"{cls.symbol.full_name}.{one.attr}",
        )


@proposing
def _put_into(one: Replaced) -> Proposal | None:
    """The fix: the variable is given the array."""
    return Proposal(f"Put it into `{one.path}`", Applicability.UNSAFE, (Rewrite(one.at, f"{one.path}[...]"),))


class _Container(NamedTuple):
    """A plain container that a method assigns to an attribute, at once or as a variable that is bound to one."""

    attr: str
    written: Expr
    #: The variable in which the container stands before.
    variable: str | None
    assignment: SelfAssignment
    inside: Inside


def _containers(method: Function, cls: PytreeClass, evaluator: Evaluator) -> Iterator[_Container]:
    if not any(isinstance(one.value, (Name, Call, *_CONTAINERS, Binary)) for one in method.self_assignments):
        return
    inside = _inside(method, cls, evaluator)
    for assignment in method.self_assignments:
        value = None if assignment.value is None else _copied(assignment.value, inside, evaluator)
        given = inside.given(value.id) if isinstance(value, Name) else ()
        written = value if len(given) != 1 else _copied(given[0], inside, evaluator)
        before = f"{method.self_name}.{assignment.attr}"
        if written is not None and all(isinstance(o, _CONTAINERS) or dotted(o) == before for o in _summands(written)):
            yield _Container(
                assignment.attr, written, value.id if isinstance(value, Name) else None, assignment, inside
            )


def _inherited(cls: PytreeClass, evaluator: Evaluator) -> Iterator[_Container]:
    """The containers that methods of bases assign to attributes which methods of the class change."""
    changed = {attr for method in own_methods(cls) for attr in method.self_mutations}
    for base in cls.mro[1:] if changed else ():
        for method in own_methods(base):
            if any(one.attr in changed for one in method.self_assignments):
                yield from (one for one in _containers(method, base, evaluator) if one.attr in changed)


def _inside(method: Function, cls: PytreeClass, evaluator: Evaluator) -> Inside:
    from jaxlint.rules.analyses.fields.nnx_data import Inside

    return Inside(method, cls.module, tuple(evaluator.calls.body_of(FunctionSymbol(cls.module, method)) or ()), cls)


def _copied(expr: Expr, inside: Inside, evaluator: Evaluator) -> Expr:
    """What a call of `list`, `tuple` or `dict` puts into the container that it makes, else the expression itself."""
    name = ""
    if isinstance(expr, Call) and not expr.has_star:
        name = evaluator.model.resolver.library_name(expr.func, inside.module, inside.function.inner_scope)
    match expr:
        case Call(args=(Argument(keyword=None, value=Comprehension(kind="generator") as made),)) if name in _SEQUENCES:
            return _listed(made)
        case Call(at=at, args=()) if name in _SEQUENCES:
            return Display(at, name.rpartition(".")[2], ())
        case Call(args=(Argument(keyword=None, value=copied),)) if name in _SEQUENCES:
            return copied
        case Call(at=at, args=args) if name == "builtins.dict" and all(a.keyword is not None for a in args):
            return DictDisplay(at, tuple(Constant(at, a.keyword, "str") for a in args), tuple(a.value for a in args))
    return expr


def _listed(expr: Expr) -> Expr:
    """What a generator expression gives, as a list of it."""
    return replace(expr, kind="list") if isinstance(expr, Comprehension) and expr.kind == "generator" else expr


def _is_always_plain(attr: str, containers: Sequence[_Container], cls: PytreeClass) -> bool:
    """Whether an attribute is given nothing but these containers: else it may be marked, before or afterwards."""
    bodies = [c.symbol.declaration for c in cls.mro]
    if any(field.name == attr for body in bodies for field in body.fields):
        return False
    if any(one.name == attr and isinstance(one.value, Call) for body in bodies for one in body.assignments):
        return False  # `layers = nnx.data()`
    known = {one.assignment.value.at for one in containers if one.assignment.value is not None}
    return all(given is not None and given.expr.at in known for given in cls.assigned.get(attr, ()))


def _of_attribute(
    attr: str, containers: Sequence[_Container], cls: PytreeClass, evaluator: Evaluator
) -> Iterator[Problem]:
    """The first data that each method puts into a container which is an attribute.

    What is put in once the instance is made is not refused, but no part of its state: modules, variables are reported.
    """
    from jaxlint.rules.analyses.fields.nnx_data import is_data

    made = [one for one in containers if one.inside.cls is cls]
    filling = {one.inside.function.name: one.inside for one in made}
    inits = [method for method in own_methods(cls) if method.name in CONSTRUCTORS]
    helpers = {name for method in inits for name in run_by(method, cls)}
    for method in own_methods(cls):
        if method.name not in filling and (method.name in helpers or attr in method.self_mutations | method.self_reads):
            filling[method.name] = _inside(method, cls, evaluator)
    for inside in filling.values():
        own = [one for one in made if one.inside is inside]
        puts = [(item, one.assignment.at) for one in own for item in _summands(one.written)]
        later = list(_put_later(attr, [one.variable for one in own], inside))
        is_late = not own and inside.function.name not in helpers
        if is_late:
            inside = inside._replace(arrays=False)
        puts += [(item, own[0].assignment.at if at is None else at) for item, at in later]
        at = next((at for item, at in puts if is_data(item, inside, evaluator)), None)
        if at is not None and not (is_late and _may_be_marked(attr, inside, cls, evaluator)):
            yield _problem(at, cls, attr, _wrapped(own or made, cls, evaluator), is_late=is_late)


def _may_be_marked(attr: str, inside: Inside, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether something else may mark an attribute in the end, or the method takes out what it puts in."""
    assigned = re.compile(rf"(?<!\bself)\.{attr}\s*=[^=]")
    if is_written(assigned, cls.module, evaluator):
        return True
    taken = (last_name(part.func) for part in all_parts(inside.body) if isinstance(part, Call))
    return not _TAKING.isdisjoint(taken)


def _put_later(attr: str, variables: Sequence[str | None], inside: Inside) -> Iterator[tuple[Expr, Any]]:
    """What is put into a container afterwards, by a method or by item, and where: while it is an attribute or before.

    What is put in before is reported where the attribute is assigned.
    """
    for statement in walk(inside.body, nested=False):
        match statement:
            case Do(
                value=Call(func=Attribute(value=held, attr="append" | "insert" | "extend" | "setdefault"), args=args)
            ) if args:
                puts = args[-1:]
            case Do(value=Call(func=Attribute(value=held, attr="update"), args=puts)):
                pass
            case Assign(targets=(Subscript(value=held),), value=put):
                puts = (Argument(put.at, put),)
            case _:
                continue
        while isinstance(held, Subscript):
            held = held.value
        if isinstance(held, Name) and len(given := inside.given(held.id)) == 1 and isinstance(given[0], Attribute):
            held = given[0]
        if isinstance(held, Attribute) and held.attr == attr and dotted(held.value) == inside.function.self_name:
            yield from ((_listed(put.value), statement.at) for put in puts)
        elif isinstance(held, Name) and held.id in variables:
            yield from ((_listed(put.value), None) for put in puts)


def _summands(expr: Expr) -> tuple[Expr, ...]:
    """The lists, or the tuples, that are put together to one or repeated, else the expression itself."""
    match expr:
        case Binary(op="+", left=left, right=right):
            return (*_summands(left), *_summands(right))
        case Binary(op="*", left=Display() as repeated) | Binary(op="*", right=Display() as repeated):
            return (repeated,)
    return (expr,)


@proposing
def _wrapped(containers: Sequence[_Container], cls: PytreeClass, evaluator: Evaluator) -> Proposal | None:
    """The fix: the containers that are assigned to an attribute become those of flax."""
    if not containers:
        return None  # it is assigned in a base
    changes: list[Change] = []
    needed = dict[NeededImport, None]()
    for one in containers:
        value, first = one.assignment.value, _summands(one.written)[0]
        kind = "dict" if isinstance(first, DictDisplay) else getattr(first, "kind", "")
        if isinstance(value, Call) and dotted(value.func) == "tuple":
            kind = "tuple"
        name = {"list": "List", "dict": "Dict", "tuple": "data"}.get(kind)
        if value is None or name is None:
            return None
        written = spelled(f"flax.nnx.{name}", cls.module, evaluator.model.resolver, one.inside.function.inner_scope)
        if written is None:
            return None
        changes.append(Rewrite(value.at, f"{written[0]}({{0}})", (value.at,)))
        needed |= dict.fromkeys(written[1])
    attr = containers[0].attr
    return Proposal(f"Make `{attr}` a container of flax", Applicability.UNSAFE, tuple(changes), tuple(needed))


def _problem(at: object, cls: PytreeClass, attr: str, fix: Proposal | None, *, is_late: bool) -> Problem:
    way_out = "wrap it in `nnx.List`, `nnx.Dict` or `nnx.data`"
    consequence = (
        "what is put into it later is no part of the state, so that no optimizer sees it"
        if is_late
        else "flax refuses it (ValueError: Found data)"
    )
    return Problem(
        at=at,
        message=(f"`{attr}` of `{cls.name}` is a plain container of data, and static: {consequence}; {way_out}"),
        reason="an attribute of an nnx object is static unless its value is data, and lists, tuples and dicts are not",
        help=way_out,
        fix=fix,
        subject=f"{cls.symbol.full_name}.{attr}",
    )
