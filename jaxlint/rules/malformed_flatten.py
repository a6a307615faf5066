"""JAX112 malformed-flatten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from jaxlint.cst.changes import Decorate, Proposal, Rename, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.frameworks.jax_register import BY_METHODS
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.registrations import WITH_FUNCTIONS
from jaxlint.rules.analyses.fixes.unflattening import (
    children_completed,
    children_in_order,
    children_ordered,
    completed,
    taken_in_order,
)
from jaxlint.rules.analyses.rebuilding.base_by_name import base_by_name, by_class
from jaxlint.rules.analyses.rebuilding.exchanged import (
    Mismatch,
    compared,
    first_exchanged,
    is_in_order,
    is_made_of_children_first,
    is_misnamed,
    is_only_shown,
    is_turned_round,
    made_without_arguments,
    takes_children_first,
    takes_children_last,
)
from jaxlint.rules.analyses.rebuilding.flattening import Routine, may_bind
from jaxlint.rules.analyses.rebuilding.registered_pairs import Registered, registered_pairs
from jaxlint.rules.analyses.rebuilding.reported import flattening_problem, not_taken
from jaxlint.rules.analyses.rebuilding.returned_pair import Flaw, flaw_of_pair
from jaxlint.rules.analyses.rebuilding.spread_children import aux_names, behind_children, keeps_names, unpacks_leaves
from jaxlint.rules.analyses.rebuilding.unpacked import miscounted
from jaxlint.rules.analyses.rebuilding.unset_reads import unset_read
from jaxlint.rules.base import BodyRule, ClassRule, Problem
from jaxlint.symbols.outline import Function, names_by_position
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Call, Expr, Span, dotted


class MalformedFlatten(ClassRule, BodyRule):
    """
    ## What it does

    Finds classes whose `tree_flatten` and `tree_unflatten` do not fit jax or each other.

    Each of these is a mistake:

    * one of them is missing;
    * `tree_unflatten` is no classmethod, or takes its arguments in the wrong order;
    * `tree_flatten` does not return two things, or its children are no tuple;
    * `tree_unflatten` makes the class above by its name, and not the one that inherits it;
    * `tree_unflatten` unpacks more or less than `tree_flatten` gives, or reads what is not there;
    * the children are too few, or in another order than the constructor takes them, also where `tree_unflatten` passes
      the aux data behind them.

    ## Why is this bad?

    jax takes an instance apart with `tree_flatten` and puts it together with `tree_unflatten`. Where they do not fit,
    each transformation fails, or, worse, exchanges attributes or resets them to their defaults.

    ## What you will see

    `AttributeError: type object 'Grid' has no attribute 'tree_unflatten'`, when the class is registered; `TypeError:
    Grid.tree_unflatten() missing 1 required positional argument: 'children'`, `ValueError: The to_iterable function for
    a custom PyTree node should return a (children, aux_data) tuple`, `AttributeError: 'Grid' object has no attribute
    'kind'` or `TypeError: Grid.__init__() missing 1 required positional argument: 'origin'`, in the first
    transformation. Nothing where attributes are exchanged or reset.

    ## Example

    ```python
    import jax

    @jax.tree_util.register_pytree_node_class
    class Grid:
        def __init__(self, origin: jax.Array, spacing: jax.Array) -> None:
            self.origin = origin
            self.spacing = spacing

        def tree_flatten(self):
            return (self.spacing, self.origin), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)
    ```

    ## Use instead

    ```python
    import jax

    @jax.tree_util.register_pytree_node_class
    class Grid:
        def __init__(self, origin: jax.Array, spacing: jax.Array) -> None:
            self.origin = origin
            self.spacing = spacing

        def tree_flatten(self):
            return (self.origin, self.spacing), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)
    ```

    ## Frameworks

    `jax.tree_util.register_pytree_node_class` and `register_pytree_with_keys_class`. Of the two functions that
    `register_pytree_node` and `register_pytree_with_keys` are given, it looks at what the first one returns, and
    whether attributes are exchanged or left out.
    Arrays in the aux data are reported as JAX201.

    ## Fix safety

    Safe, for the class could only raise: what is no pair becomes one, children and aux data change places, and
    `@classmethod` is added. Unsafe: the order of children and parameters, attributes that are left out, and missing
    commas are mended. There is no fix for a method that is missing.

    ## When not to use it

    Attributes that are left out are reported in three cases only: the constructor takes them, and `__repr__` is not all
    that reads them; `tree_unflatten` calls no constructor, and methods or transformed functions read them without
    asking; or they count what a transformed function does. So a cache that may be lost should be no parameter.

    ## References

    - [jax: extending pytrees](https://docs.jax.dev/en/latest/custom_pytrees.html)
    - [jax.tree_util.register_pytree_node_class](https://docs.jax.dev/en/latest/_autosummary/jax.tree_util.register_pytree_node_class.html)
    """

    code = "JAX112"
    name = "malformed-flatten"
    group = "declaring"
    since = "0.1.0"
    calls = WITH_FUNCTIONS

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Compare the functions that classes are registered with."""
        for one in registered_pairs(code, evaluator):
            for is_second, problem in _by_functions(one, evaluator):
                # what is found in another file is shown where the function is given
                yield problem if one.elsewhere is None else replace(problem, at=one.elsewhere[is_second], fix=None)

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Compare the two methods with what jax wants, and with each other."""
        if not cls.framework.flattens_itself or cls.unknown_decorator or not cls.bases_known:
            return
        names = [BY_METHODS[r.function][0] for r in cls.registrations if r.function in BY_METHODS]
        if len(names) != 1 or cls.symbol.declaration.conditional_body or cls.registrations[0].guarded:
            return
        flatten, unflatten = cls.method(names[0]), cls.method("tree_unflatten")
        for name, found in ((names[0], flatten), ("tree_unflatten", unflatten)):
            if found is None and not may_bind(cls, name):
                yield _missing(cls, name)
        own = cls.symbol.declaration.methods
        if flatten is not None and names[0] in own:
            flaw = _flaw_of_method(cls, flatten[1], unflatten, evaluator)
            if flaw is not None:
                yield _flawed(cls, f"`{names[0]}` of `{cls.name}`", flaw)
            routines = [
                Routine.of(FunctionSymbol(c.module, m), evaluator) for c, m in filter(None, (flatten, unflatten))
            ]
            yield from _unset(cls, f"`{names[0]}`", routines, evaluator)
        if unflatten is not None and "tree_unflatten" in own:
            problem = _signature(cls, unflatten[1], evaluator)
            if problem is not None:
                yield problem
                return
            if flatten is not None and names[0] == "tree_flatten":
                problems = list(_rebuilt(cls, unflatten[1], flatten[1], evaluator))
                yield from problems or _compared(cls, flatten, unflatten, evaluator)
                return
            elif flatten is not None and names[0] in own:
                yield from _compared(cls, flatten, unflatten, evaluator)
        elif unflatten is not None:
            yield from _made_above(cls, unflatten, evaluator)
        if flatten is not None and unflatten is not None and names[0] == "tree_flatten":
            yield from _compared(cls, flatten, unflatten, evaluator)


def _unset(cls: PytreeClass, by: str, routines: Sequence[Routine | None], evaluator: Evaluator) -> Iterator[Problem]:
    """What the routine that takes instances apart reads of them and no method sets."""
    first, *others = routines
    if first is None or None in others:
        return
    part = unset_read(cls, first, [one for one in others if one is not None], evaluator)
    if part is not None:
        yield flattening_problem(
            place_of(part.at),
            f"{by} reads `{part.attr}` of `{cls.name}`, which nothing sets: the first flattening fails"
            f" (AttributeError); set `{part.attr}` in the constructor, or leave it out",
            f"set `{part.attr}` wherever instances are made, or leave it out of {by}",
        )


def _flaw_of_method(
    cls: PytreeClass, method: Function, other: tuple[PytreeClass, Function] | None, evaluator: Evaluator
) -> Flaw | None:
    """What is wrong with what `tree_flatten` returns."""
    first = None if method.is_generator else Routine.of(FunctionSymbol(cls.module, method), evaluator)
    second = None if other is None else Routine.of(FunctionSymbol(other[0].module, other[1]), evaluator)
    return None if first is None or not first.parameters else flaw_of_pair(first, second, cls, evaluator)


def _flawed(cls: PytreeClass, which: str, flaw: Flaw) -> Problem:
    named = which if f"`{cls.name}`" in which else f"{which}, which flattens `{cls.name}`,"
    return flattening_problem(flaw.at, f"{named} {flaw.what}; {flaw.advice}", flaw.help, flaw.fix)


def _missing(cls: PytreeClass, name: str) -> Problem:
    when = "cannot be registered" if name == "tree_unflatten" else "cannot be flattened"
    return Problem(
        at=cls.symbol.declaration.name_at,
        message=f"`{cls.name}` has no `{name}`: it {when} (AttributeError); write it",
        reason="the decorator takes both methods from the class",
        help=f"write `{name}`, or use `jax.tree_util.register_dataclass`",
    )


# -- tree_unflatten -----------------------------------------------------------------------------


def _signature(cls: PytreeClass, method: Function, evaluator: Evaluator) -> Problem | None:
    """A decorator that is missing, or parameters that are exchanged."""
    decorators = {(dotted(d) or "").rpartition(".")[2] for d in method.decorators}
    positional = method.positional
    if not method.decorators and len(positional) == 3 and len(method.parameters) == 3:
        return flattening_problem(
            method,
            f"`tree_unflatten` of `{cls.name}` is no classmethod: the first transformation fails (TypeError);"
            " decorate it with `@classmethod`",
            "write `@classmethod` above it",
            Proposal("Make it a classmethod", Applicability.SAFE, (Decorate(method.at, ("classmethod",)),)),
        )
    own = positional[1:] if "classmethod" in decorators else positional if "staticmethod" in decorators else []
    if len(own) != 2:
        return None
    unpacked = unpacks_leaves(own[0], cls, method, evaluator)
    if unpacked is not None and takes_children_last(own):
        return flattening_problem(
            place_of(unpacked.at),
            f"`tree_unflatten` of `{cls.name}` takes the children out of `{own[0]}`, and jax passes them as `{own[1]}`:"
            f" the first transformation fails (ValueError); unpack `{own[1]}`",
            f"unpack `{own[1]}`",
            Proposal("Unpack the children", Applicability.UNSAFE, (Rewrite(unpacked.at, own[1]),)),
        )
    is_named_so = takes_children_first(own) and not is_misnamed(cls, method, evaluator)
    if unpacked is not None or is_named_so or is_turned_round(own, cls, method, evaluator):
        return flattening_problem(
            method,
            f"`tree_unflatten` of `{cls.name}` takes `{own[0]}` before `{own[1]}`, and jax passes the aux data first;"
            " exchange them",
            f"write `tree_unflatten(cls, {own[1]}, {own[0]})`",
            _exchanged(method, own),
        )
    return None


def _made_above(cls: PytreeClass, unflatten: tuple[PytreeClass, Function], evaluator: Evaluator) -> Iterator[Problem]:
    """An inherited method that makes the class above by its name."""
    found = base_by_name(cls, *unflatten, evaluator)
    if found is None:
        return
    base, name, fix = found.base.name, cls.name, by_class(found, unflatten[1], cls.module)
    what = (
        f"`tree_unflatten` of `{base}`, which `{name}` inherits, makes a `{base}` by name: the first transformation"
        f" turns a `{name}` into one, which has another `{found.lost}` or none; make a `cls` there"
    )
    at = cls.symbol.declaration.name_at
    yield flattening_problem(at, what, f"write `cls(...)` in `tree_unflatten` of `{base}`", fix)


@proposing
def _exchanged(method: Function, own: list[str]) -> Proposal | None:
    """The fix of two parameters that stand in each other's place."""
    first, second = (parameter for parameter in method.parameters if parameter.name in own)
    changes = (Rename(first.at, second.name), Rename(second.at, first.name))
    return Proposal("Exchange the parameters", Applicability.UNSAFE, changes)


def _rebuilt(cls: PytreeClass, method: Function, flatten: Function, evaluator: Evaluator) -> Iterator[Problem]:
    """`return cls(*children, *aux)`: whether the children are what the constructor takes, in its order."""
    behind, parameters, children = behind_children(method), cls.constructor(), cls.explicit_leaves
    if behind is None or parameters is None or not children or any(p.kind.startswith("*") for p in parameters):
        return
    if any("__new__" in c.symbol.declaration.methods for c in cls.mro) or not keeps_names(cls, flatten):
        return
    taken = names_by_position(parameters)
    stored = evaluator.calls.stored_parameters(cls)
    if any(stored.get(name, name) not in children for name in children):
        return
    expected = taken[: len(children)]
    exchanged = first_exchanged(children, expected, stored)
    if exchanged is not None:
        yield flattening_problem(
            flatten,
            f"`tree_flatten` of `{cls.name}` gives `{exchanged[0]}` where the constructor takes `{exchanged[1]}`:"
            " each transformation exchanges them; give the children in the order of the constructor",
            f"write the children in the order {', '.join(f'`{name}`' for name in expected)}",
            children_ordered(flatten, cls.module, children, expected),
        )
        return
    aux = aux_names(cls, flatten, behind)
    if aux is None or any(stored.get(name) != name for name in aux):
        return
    given, into = (*children, *aux), taken[: len(children) + len(aux)]
    exchanged = first_exchanged(given, into, stored)
    if exchanged is not None:
        yield _behind(cls, method.return_values[0], *exchanged)
    if tuple(into) == given:
        left = [p for p in parameters if p.name not in (*children, *aux)]
        required = next((p for p in left if p.default is None), None)
        lost = next((p for p in left if p.name in stored and not is_only_shown(stored[p.name], cls)), None)
        if required is not None:
            outcome = f"and the constructor requires `{required.name}`: the first transformation fails (TypeError)"
        elif lost is not None:
            outcome = f"and not `{stored[lost.name]}`, which each transformation resets to its default"
        else:
            return
        yield flattening_problem(
            flatten,
            f"`tree_flatten` of `{cls.name}` gives {', '.join(f'`{name}`' for name in (*children, *aux))} {outcome};"
            " add it to the children or to the aux data",
            "give all attributes, and pass them all in `tree_unflatten`",
            completed(cls, evaluator) if aux else children_completed(cls, flatten, [stored.get(p.name) for p in left]),
        )


def _behind(cls: PytreeClass, call: Expr, sent: str, into: str) -> Problem:
    what = (
        f"`tree_unflatten` of `{cls.name}` passes children and aux data in another order than the constructor takes"
        f" them, which gets `{sent}` for `{into}`: each transformation exchanges them; pass them by their names"
    )
    return flattening_problem(
        call, what, "pass children and aux data in the order of the constructor, or by their names"
    )


def _compared(
    cls: PytreeClass,
    flatten: tuple[PytreeClass, Function],
    unflatten: tuple[PytreeClass, Function],
    evaluator: Evaluator,
) -> Iterator[Problem]:
    """Compare child by child, where both methods spell them out: exchanged ones, and attributes that are left out."""
    first, second = (Routine.of(FunctionSymbol(c.module, method), evaluator) for c, method in (flatten, unflatten))
    if first is None or second is None or len(second.parameters) != 3:
        return
    makers = {second.parameters[0], cls.name}
    made = made_without_arguments(cls, second.body, makers)
    if made is not None:
        yield _new_without_arguments(cls, "tree_unflatten", *made)
    at, name = flatten[1].at if flatten[0] is cls else cls.symbol.declaration.name_at, flatten[1].name
    counted = miscounted(first, second)
    if counted is not None:
        yield counted.problem(at, f"`{name}` of `{cls.name}`", "`tree_unflatten`")
        return
    result = compared(cls, first, second, makers, evaluator)
    if result is None:
        from jaxlint.rules.analyses.changes.lost_counts import lost_count

        lost = lost_count(cls, flatten[1], unflatten[1], evaluator)
        if lost is not None:
            yield _uncounted(cls, at, evaluator, *lost)
        return
    found = result[2]
    if found.wrong is not None:
        yield flattening_problem(
            result[0].listed_at or at,
            f"`{name}` of `{cls.name}` gives `{found.sent[found.wrong]}` where `tree_unflatten` takes"
            f" `{found.into[found.wrong]}`: each transformation exchanges them; give the children in the order in which"
            " they are taken",
            f"write the children in the order {', '.join(f'`{found.into[i]}`' for i in sorted(found.into))}",
            children_in_order(flatten[1], cls.module, found) if flatten[0] is cls and not first.with_keys else None,
        )
        return
    if found.is_sent:
        yield not_taken(cls, result[1], "`tree_unflatten`", found)
        return
    by = f"`{name}` of `{flatten[0].name}`, which `{cls.name}` inherits," if flatten[0] is not cls else ""
    yield _left_out(cls, at, by or f"`{name}` of `{cls.name}`", found, evaluator)


def _uncounted(cls: PytreeClass, at: Span, evaluator: Evaluator, name: str, method: str) -> Problem:
    return flattening_problem(
        at,
        f"`tree_flatten` of `{cls.name}` leaves `{name}` out, which `{method}` counts up: each transformation"
        " resets it; add it to the children or to the aux data",
        f"give `{name}`, too, and set it in `tree_unflatten`",
        completed(cls, evaluator, name),
    )


def _left_out(cls: PytreeClass, at: Span, by: str, found: Mismatch, evaluator: Evaluator) -> Problem:
    lost = "an instance has none any more after the first transformation (AttributeError)"
    outcome = "each transformation resets it to its default" if found.is_reset else lost
    what = f"{by} leaves `{found.left}` out: {outcome}; add it to the children or to the aux data"
    fix = completed(cls, evaluator)
    problem = flattening_problem(at, what, f"give `{found.left}`, too, and set it in `tree_unflatten`", fix)
    return replace(problem, confidence=Confidence.MEDIUM) if found.by_name else problem


def _new_without_arguments(cls: PytreeClass, by: str, call: Call, required: str) -> Problem:
    return flattening_problem(
        call,
        f"`{by}` calls `__new__` of `{cls.name}`, which requires `{required}`: the first transformation fails"
        " (TypeError); make the instance with `object.__new__`",
        "write `object.__new__(...)`, and set the attributes",
        Proposal("Use `object.__new__`", Applicability.SAFE, (Rewrite(call.func.at, "object.__new__"),)),
    )


# -- what register_pytree_node is given -----------------------------------------------------------


def _by_functions(one: Registered, evaluator: Evaluator) -> Iterator[tuple[bool, Problem]]:
    """What is wrong with the functions, and whether it is in the second one."""
    cls, first, second, makers = one.cls, one.flattening, one.making, one.makers
    takes, gives = (f"`{routine.name}`" if routine.name else "the lambda" for routine in (second, first))
    flaw = flaw_of_pair(first, second, cls, evaluator)
    if flaw is not None:
        yield False, _flawed(cls, gives, flaw)
        return
    yield from ((False, problem) for problem in _unset(cls, gives, (first, second), evaluator))
    made = made_without_arguments(cls, second.body, makers)
    if made is not None:
        yield True, _new_without_arguments(cls, second.name or "the lambda", *made)
    if is_made_of_children_first(cls, first, second, makers, evaluator):
        yield True, _children_first(one, takes)
        return
    counted = miscounted(first, second)
    if counted is not None:
        yield False, counted.problem(first.at, f"{gives}, which flattens `{cls.name}`,", takes)
        return
    result = compared(cls, first, second, makers, evaluator)
    if result is None:
        return
    given, back, found = result
    if found.is_sent:
        yield True, not_taken(cls, back, takes, found)
        return
    if found.wrong is None:
        yield False, _left_out(cls, first.at, f"{gives}, which flattens `{cls.name}`,", found, evaluator)
        return
    sent, into = found.sent[found.wrong], found.into[found.wrong]
    blames_second = is_in_order(cls, given, evaluator)
    order = found.sent if blames_second else found.into
    names = ", ".join(f"`{order[i]}`" for i in sorted(order))
    way_out = f"{'take' if blames_second else 'give'} them in one order"
    at = (back.taken or back.last).at if blames_second else first.at
    yield (
        blames_second,
        flattening_problem(
            place_of(at),
            f"{gives} gives `{sent}` of `{cls.name}` where {takes} takes `{into}`: each transformation exchanges them;"
            f" {way_out}",
            f"write the children in the order {names}",
            taken_in_order(back, found) if blames_second else None,
        ),
    )


def _children_first(one: Registered, takes: str) -> Problem:
    children, aux = one.making.parameters
    return flattening_problem(
        one.making.at,
        f"{takes}, which makes a `{one.cls.name}` of its leaves, takes `{children}` before `{aux}`, and jax passes the"
        " aux data first; exchange them",
        f"take `({aux}, {children})`",
    )
