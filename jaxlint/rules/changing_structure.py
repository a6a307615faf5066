"""JAX510 changing-structure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jaxlint.cst.changes import Proposal
from jaxlint.cst.failing import proposing
from jaxlint.finding import Confidence, Severity
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Construct, Replace
from jaxlint.infer.known.values import Instance, plain
from jaxlint.infer.transforms.calling import piece_of
from jaxlint.libraries.transforms import CARRIED, LOOPS
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.fields.growing import Grown, grown_carry, grown_in_loops, made_longer
from jaxlint.rules.analyses.fixes.initial_carry import beginning_with_zeros
from jaxlint.rules.analyses.fixes.initial_floats import beginning_with_float
from jaxlint.rules.analyses.fixes.static_numbers import leaf_of_number, or_leaf
from jaxlint.rules.analyses.under_trace.carried import PARAMETERS, Change, changes
from jaxlint.rules.analyses.under_trace.cotangents import DEFINING, Cotangent, other_cotangents
from jaxlint.rules.analyses.under_trace.forms import (
    GRADIENT,
    NOTHING,
    Difference,
    Fixed,
    Form,
    Held,
    Leaf,
    Moved,
    State,
    described,
)
from jaxlint.rules.analyses.under_trace.traced_arguments import traced_parameters
from jaxlint.rules.analyses.under_trace.traced_leaves import TracedLeaves
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.syntax.expressions import Call, Name, items_of, last_name
from jaxlint.syntax.spelling import with_article
from jaxlint.syntax.statements import (
    Assign,
    Return,
    Statement,
    bound_once,
    looked_up,
)


class ChangingStructure(BodyRule):
    """
    ## What it does

    Finds states whose structure is another one after a step: a field that grows, by `jnp.concatenate` or a longer list,
    one that is None in the initial carry of a loop and an array afterwards, or an integer and then a float, and
    branches of `lax.cond` and `lax.switch` that return different structures; and containers that the backward function
    of a `jax.custom_vjp` returns in the place of an instance.

    ## Why is this bad?

    The carry of `lax.scan`, `while_loop` and `fori_loop` must go in and come out with the same structure and shapes,
    and all branches must return the same. Under `jit` alone each new shape is compiled anew, at every step.

    ## What you will see

    `TypeError: scan body function carry input and carry output must have the same pytree structure, but they differ`,
    `TypeError: scan body function carry input and carry output must have equal types`,
    `TypeError: cond branch outputs must have the same pytree structure`. Under `jit` only long compile times.

    ## Example

    ```python
    from typing import Optional

    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class Filter:
        mean: jax.Array
        last: Optional[jax.Array] = None

    def update(f: Filter, x):
        return f.replace(mean=0.9 * f.mean + 0.1 * x, last=x), f.mean

    def run(xs: jax.Array):
        return jax.lax.scan(update, Filter(mean=jnp.zeros(())), xs)
    ```

    ## Use instead

    ```python
    from typing import Optional

    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class Filter:
        mean: jax.Array
        last: Optional[jax.Array] = None

    def update(f: Filter, x):
        return f.replace(mean=0.9 * f.mean + 0.1 * x, last=x), f.mean

    def run(xs: jax.Array):
        return jax.lax.scan(update, Filter(mean=jnp.zeros(()), last=jnp.zeros(())), xs)
    ```

    ## Frameworks

    All.

    ## Fix safety

    A field that is None in the initial carry begins with zeros, where the function gives it another field of the carry,
    or the item that the scan is at. The fix is unsafe: None may have meant something. There is none where the function
    asks for it. A field that is an integer there begins with a float, and a static number that changes becomes a leaf.

    ## When not to use it

    A window of fixed size, which drops as much as it adds, is not reported. A Python number in the initial carry is
    weakly typed, and becomes a float if need be. What cannot be seen, such as a carry that the caller makes, is not
    guessed.

    ## References

    - [jax.lax.scan](https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html)
    - [equinox #238](https://github.com/patrick-kidger/equinox/issues/238), [flax #676](https://github.com/google/flax/issues/676)
    """

    code = "JAX510"
    name = "changing-structure"
    group = "transformations"
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    calls = LOOPS | {DEFINING}

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """What calls functions or methods of its module that run loops: it may make the states that these are given."""
        return not candidate.unit.calls.isdisjoint(candidate.calling(LOOPS))

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at a function that steps a state, and at the loops that a body runs."""
        yield from _growing(code, evaluator)
        yield from map(_grown_problem, grown_in_loops(code, evaluator))
        for call in code.calls:
            yield from map(_other_cotangent, other_cotangents(call, code, evaluator))
        called = (LOOPS & code.contents.called) if code.calls else ()
        has_loop = any(self._is_loop(call, code, evaluator) for call in code.calls if last_name(call.func) in called)
        if has_loop or self._hands_over(code, evaluator):
            yield from (_changed(one, code, evaluator) for one in changes(code, evaluator) if not one.is_of_branches)

    def _hands_over(self, code: CodeRead, evaluator: Evaluator) -> bool:
        """Whether a body calls a function that may run a loop; one of another module if it makes instances."""
        module, resolver = code.place.module, evaluator.model.resolver
        if not code.contents.called.isdisjoint(evaluator.calls.calling.names(module, LOOPS)):
            return True
        if not any(isinstance(event, (Construct, Replace)) for event in code.events):
            return False
        for name in code.contents.called & module.outline.module_scope.bindings.keys():
            symbol = resolver.follow(resolver.resolve_name(name, module))
            if isinstance(symbol, FunctionSymbol):
                if not piece_of(symbol.declaration, symbol.module.outline).calls.isdisjoint(LOOPS):
                    return True
        return False

    @staticmethod
    def _is_loop(call: Call, code: CodeRead, evaluator: Evaluator) -> bool:
        """Whether a call runs a loop of jax, or a function of the project of the same name, which may hand it on."""
        resolver, module = evaluator.model.resolver, code.place.module
        if resolver.library_name(call.func, module, code.scope) in PARAMETERS:
            return True
        symbol = resolver.resolve(call.func, module, code.scope)
        return isinstance(symbol, FunctionSymbol) and symbol.declaration.owner is None


# -- what grows ------------------------------------------------------------------------------


def _growing(code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
    """The fields of a traced argument that are given more than they had, in an instance that is returned."""
    function = code.function
    if function is None:
        return
    loops = [a for a in code.applied if a.carried_parameter(function) is not None]
    carried = {a.carried_parameter(function) for a in loops}
    if not carried:
        return
    given = {name: value for name, value in traced_parameters(code).items() if name in carried}
    updates = [e for e in code.events if isinstance(e, Replace) and e.base is not None]
    for name, value in given.items():
        if isinstance(instance := plain(value), Instance):
            for grown in grown_carry(code, name, instance.cls, evaluator):
                yield _carried(grown.at, grown.fields, grown.cls, grown.function, loops[0].transform.name)
    leaves, bound = TracedLeaves(given, code.body, evaluator), bound_once(code.body)
    for update in updates:
        if not _is_returned(update.call, code.statements):
            continue
        for keyword in update.keywords:
            expr = next((a.value for a in update.call.args if a.at is keyword.at), None)
            field = update.receiver.cls.field(keyword.name)
            shorter = None if expr is None else made_longer(looked_up(expr, bound))
            leaf = None if shorter is None else leaves.leaf(shorter)
            if leaf is not None and field is not None and leaf.field.name == field.name and field.role is Role.LEAF:
                yield _carried(keyword.at, (field.name,), leaf.cls, function.name, loops[0].transform.name)


def _carried(at: object, fields: tuple[str, ...], cls: PytreeClass, function: str, transform: str) -> Problem:
    """The problem of fields of a carry that get longer in a function."""
    names, way_out = " and ".join(f"`{name}`" for name in fields), "set items of arrays of a fixed size instead"
    what = f"fields {names} of `{cls.name}` grow" if len(fields) > 1 else f"field {names} of `{cls.name}` grows"
    if len(fields) == 1:
        way_out = "make it as large as it will be, and set its items with `.at[i].set(...)`"
    return Problem(
        at=at,
        message=(
            f"{what} in `{function}`, and `{transform}` carries it: the carry comes out with another structure or shape"
            f" (TypeError); {way_out}"
        ),
        reason="the carry of a loop must keep its structure and its shapes",
        help=way_out,
    )


def _grown_problem(grown: Grown) -> Problem:
    """The problem of fields that each call of a compiled function makes longer."""
    names, way_out = " and ".join(f"`{name}`" for name in grown.fields), "set items of arrays of a fixed size instead"
    return Problem(
        at=grown.at,
        message=(
            f"{names} of `{grown.cls.name}` {'grow' if len(grown.fields) > 1 else 'grows'} with each call of"
            f" `{grown.function}` in the loop, which is compiled again for each new shape; {way_out}"
        ),
        reason="a compiled function is for arguments of certain shapes",
        help="make it as large as it will be, and set its items with `.at[i].set(...)`",
        severity=Severity.WARNING,
    )


def _other_cotangent(found: Cotangent) -> Problem:
    """The problem of a cotangent that is no instance of the class of its argument."""
    way_out = f"return a `{found.cls.name}` that holds the cotangents"
    return Problem(
        at=found.at,
        message=(
            f"`{found.function}` returns a {found.kind} as the cotangent of `{found.parameter}`, which is"
            f" {with_article(found.cls.name)}: `jax.custom_vjp` refuses the other structure (TypeError); {way_out}"
        ),
        reason="a cotangent has the structure of the argument",
        help=way_out,
    )


def _is_returned(call: Call, statements: Iterable[Statement]) -> bool:
    """Whether what a call makes is returned, at once or as a variable."""
    names = {
        s.targets[0].id
        for s in statements
        if isinstance(s, Assign) and isinstance(s.targets[0], Name) and s.value is call
    }
    for statement in statements:
        if isinstance(statement, Return) and statement.value is not None:
            handed = items_of(statement.value)
            if any(e is call or (isinstance(e, Name) and e.id in names) for e in handed):
                return True
    return False


# -- what a loop changes ---------------------------------------------------------------------


def _changed(change: Change, code: CodeRead, evaluator: Evaluator) -> Problem:
    """The problem of a loop or of a choice of branches."""
    transform, function = f"`{change.transform}`", f"`{change.function}`"
    found = change.difference
    if found is not None and change.beside is not None:
        return _changed_beside(change, found, change.beside)
    if found is None or found.cls is None:
        name = "" if change.returned is None else change.returned.cls.name
        way_out = "return a pair: the next carry, and what is to be collected (or None)"
        return Problem(
            at=change.at,
            message=f"{function} returns `{name}` alone, and {transform} wants a pair (TypeError); {way_out}",
            reason="the function of a scan returns the next carry and an output",
            help=way_out,
        )
    if not found.field:
        before, after = described(found.before), described(found.after)
        way_out = f"return {before}" if isinstance(found.before, State) else "return the same structure"
        where = "after the first branch" if change.transform not in CARRIED else "in the initial carry"
        outcome = "it refuses the other structure (TypeError)"
        if isinstance(found.before, State) and isinstance(found.after, State):
            outcome += " or takes one class for the other"  # two that `jax.tree_util.register_dataclass` has registered
        return Problem(
            at=change.at,
            message=(f"{function} returns {after}, and {transform} has {before} {where}: {outcome}; {way_out}"),
            reason="a tuple or an instance of another class is another structure, whatever it holds",
            help=way_out,
        )
    field, owner = f"`{found.field}{found.item}`", f"`{found.cls.name}`"
    if change.transform not in CARRIED:
        way_out = f"give {field} the same structure and type in each branch"
        return Problem(
            at=change.at,
            message=(
                f"field {field} of {owner} is {_beside(found.after, found.before)} after {function}, and"
                f" {_beside(found.before, found.after)} after the first branch: {transform} refuses it (TypeError);"
                f" {way_out}"
            ),
            reason="all branches must return the same structure and types",
            help=way_out,
        )
    if isinstance(found.after, Moved):
        way_out = f"keep {field} as it is{_or_leaf(found, evaluator)}"
        return Problem(
            at=change.at,
            message=(
                f"{function} gives the static field {field} of {owner} another value than it had in the carry:"
                f" {transform} refuses the other structure (TypeError); {way_out}"
            ),
            reason="the values of static fields are part of the structure of a tree",
            help=way_out,
            fix=_leaf_instead(found, code, evaluator),
        )
    after, way_out = _after(found, evaluator)
    reason = "the carry of a loop must keep its structure and its types"
    if NOTHING in (found.before, found.after):
        reason = "`None` is part of the structure of a pytree, and an array is a leaf"
    elif isinstance(found.before, Fixed):
        reason = "the values of static fields are part of the structure of a tree"
    refused = (
        "the other type" if isinstance(found.before, Leaf) and isinstance(found.after, Leaf) else "the other structure"
    )
    return Problem(
        at=change.at,
        message=(
            f"field {field} of {owner} is {_before(found)} in the initial carry, and {function} {after}:"
            f" {transform} refuses {refused} (TypeError); {way_out}"
        ),
        reason=reason,
        help=way_out,
        fix=None if found.item else _beginning_otherwise(change, found, code, evaluator),
    )


@proposing
def _beginning_otherwise(change: Change, found: Difference, code: CodeRead, evaluator: Evaluator) -> Proposal | None:
    """The fix of a field that comes out of a loop as something else than it goes in."""
    return (
        beginning_with_zeros(change, code, evaluator)
        or beginning_with_float(change, code, evaluator)
        or _leaf_instead(found, code, evaluator)
    )


def _or_leaf(found: Difference, evaluator: Evaluator) -> str:
    """What else may be done about a static field that is changed, in words."""
    field = None if found.cls is None else found.cls.field(found.field)
    return "" if field is None or found.cls is None else or_leaf(field, found.cls, evaluator)


@proposing
def _leaf_instead(found: Difference, code: CodeRead, evaluator: Evaluator) -> Proposal | None:
    """The fix of a static field that is changed: it becomes a leaf."""
    field = None if found.cls is None else found.cls.field(found.field)
    if field is None or found.cls is None or field.role is not Role.STATIC:
        return None
    return leaf_of_number(field, found.cls, code.place.module, evaluator)


def _changed_beside(change: Change, found: Difference, state: State) -> Problem:
    """The problem of a difference beside an instance."""
    holder = f", which holds {with_article(state.cls.name)}"
    before, after = _beside(found.before, found.after), _beside(found.after, found.before)
    way_out, reason = "give both the same structure and types", "all branches must return the same structure and types"
    place = f"what the first branch returns{holder}, has {before}"
    if change.transform in CARRIED:
        reason = "the carry of a loop must keep its structure and its types"
        way_out, place = "keep the structure and the types", f"the initial carry{holder}, has {before}"
    return Problem(
        at=change.at,
        message=(
            f"{place}, where `{change.function}` returns {after}: `{change.transform}` refuses it (TypeError);"
            f" {way_out}"
        ),
        reason=reason,
        help=way_out,
    )


def _beside(form: Form, other: Form) -> str:
    """What a form is, in words; what kind of number matters beside another number only."""
    return "an array" if isinstance(form, Leaf) and not isinstance(other, Leaf) else described(form)


def _before(found: Difference) -> str:
    """What a field is in the initial carry, in words."""
    return "a dict" if _added(found) else _beside(found.before, found.after)


def _added(found: Difference) -> list[str]:
    """The keys that a dict has got."""
    if isinstance(found.before, Held) and isinstance(found.after, Held) and found.before.kind == "dict":
        return sorted(found.after.entries.keys() - found.before.entries.keys())
    return []


def _after(found: Difference, evaluator: Evaluator) -> tuple[str, str]:
    """What the function of the loop does to a field, and what to do about it."""
    field, before, after = f"`{found.field}{found.item}`", found.before, found.after
    added = _added(found)
    if added:
        return f"adds the key `{added[0]}` to it", f"give it `{added[0]}` from the beginning"
    if before == NOTHING:
        return f"gives it {_beside(after, before)}", f"give {field} {_alike(after)} from the beginning"
    if after == NOTHING:
        return "makes it None", f"keep {_alike(before)} in {field}, and a flag beside it"
    if isinstance(before, Fixed):
        return f"gives it {_beside(after, before)}", f"keep {field} as it is{_or_leaf(found, evaluator)}"
    if isinstance(before, Leaf) and isinstance(after, Leaf):
        if (before.kind, after.kind) == ("float", "int"):
            return "gives it an integer", f"convert what {field} is given to a float"
        return f"gives it {described(after)}", f"give it {described(after)} from the beginning"
    return f"gives it {_beside(after, before)}", f"give {field} one structure"


def _alike(form: Form) -> str:
    """What is to be put in the place of None."""
    if form == GRADIENT:
        return "zeros like what is differentiated"
    return described(form) if isinstance(form, (Held, State)) else "an array of the same shape and type"
