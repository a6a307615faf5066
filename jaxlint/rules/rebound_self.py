"""JAX405 rebound-self."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from jaxlint.cst import libcst as cst
from jaxlint.cst.changes import Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.reading import FunctionNode
from jaxlint.cst.shapes import is_bound, is_of_lambda, may_run_after, names, variables
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CallMethod, CodeRead, Construct, Replace, Update, rests_on_annotation
from jaxlint.infer.known.values import FunctionValue, Instance, options, plain
from jaxlint.libraries.transforms import TRANSFORMS
from jaxlint.libraries.trees import TREE_MAPS
from jaxlint.project.resolution import External, FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.bodies.behind import Behind
from jaxlint.rules.analyses.changes.dropped_steps import Drop, drop_of
from jaxlint.rules.analyses.changes.returning import returning, returning_also
from jaxlint.rules.analyses.changes.taken_out import holder_of
from jaxlint.rules.analyses.changes.updates import array_copy, is_copy, puts_back
from jaxlint.rules.analyses.instances.methods import CONSTRUCTORS
from jaxlint.rules.base import NodeRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Constant,
    Expr,
    Name,
    Span,
    Subscript,
    children,
    dotted,
    is_none,
    last_name,
    root,
)
from jaxlint.syntax.names_read import names_read
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    For,
    Return,
    all_parts,
    parts,
    target_names,
)

#: Functions that make another instance, besides updates and constructors.
_COPYING = TREE_MAPS | {"jax.lax.stop_gradient", "copy.copy", "copy.deepcopy"}


class ReboundSelf(NodeRule):
    """
    ## What it does

    Finds methods that rebind `self` to an updated copy and drop it; functions that do so with a parameter, or with a
    part that they have taken out of something (`inner = state.inner`), and loops with what they loop over
    (`for s in states: s = s.replace(...)`); and constructors that put the new value of a field
    into a local variable of the same name, or methods that do so and leave it out of the copy they return.

    ## Why is this bad?

    `self = self.replace(...)` makes the name `self` stand for the copy until the method ends. The object of the caller
    stays as it was, and the copy is thrown away. So do the object that a function was given and the elements of a list.
    A local variable is no attribute either.

    ## What you will see

    No error: the update has no effect.

    ## Example

    ```python
    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class Tally:
        votes: jax.Array

        def clear(self) -> None:
            self = self.replace(votes=jnp.zeros_like(self.votes))
    ```

    ## Use instead

    ```python
    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class Tally:
        votes: jax.Array

        def cleared(self) -> "Tally":
            return self.replace(votes=jnp.zeros_like(self.votes))
    ```

    ## Frameworks

    All. The constructor of an equinox module may put any value into the variable: the field is set by nothing else, and
    making an instance raises `TypeError`.

    ## Fix safety

    The function returns the copy, if it returned nothing, and callers in the file that take no result bind what they
    passed to it. The fix is unsafe: code that ran with the old values runs with the new ones. There is none for loop
    variables, and for functions that other modules call.

    ## When not to use it

    A `self` (or other variable) that is used in any way afterwards is not reported: returned, yielded, passed on,
    stored, or read by an inner function that may be called then, or by `super()`, which takes what `self` stands for.
    Nor is the method of a mutable class, which may change the object itself, nor an update that changes nothing. A loop
    that goes on from the copy of the turn before may be there to be timed, or to compile a function: with a clock,
    `block_until_ready` or a profiler beside it it is not reported, and with low confidence where each turn takes the
    same.

    ## References

    - [flax.struct](https://flax.readthedocs.io/en/latest/api_reference/flax.struct.html)
    - [Python: naming and binding](https://docs.python.org/3/reference/executionmodel.html#naming-and-binding)
    """

    code = "JAX405"
    name = "rebound-self"
    group = "updates"
    since = "0.1.0"

    everywhere = True

    def can_match(self, code: CodeRead) -> bool:
        """Ask for a variable that is assigned in a function."""
        return code.function is not None and next(_assignments(code), None) is not None

    def check_node(self, node: FunctionNode, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what is assigned to `self`, to parameters and variables of loops, and to the names of fields."""
        code = node.code
        cls, function = code.place.owner, code.function
        yield from _rebound_names(node, evaluator)
        if cls is None or function is None or function.self_name is None:
            return
        owners = _owners(function, cls, evaluator)
        for target, value in _assignments(code) if owners else ():
            if target.id == function.self_name:
                unchanged = frozenset.intersection(*(_unchanged(value, owner) for owner in owners))
                if _is_surely_used(target, code, unchanged):
                    continue
                if not all(_makes_copy(value, owner, code, evaluator) for owner in owners):
                    continue
                update = next((e for e in code.events if isinstance(e, Update) and e.at is value.at), None)
                drop = drop_of(target, update, code, evaluator)
                if drop is not Drop.RUN and not _is_used(target, node, evaluator, unchanged):
                    # an update that is written out in a method of what it updates is hardly there to be timed
                    is_sure = drop.is_certain or (isinstance(update, Replace) and update.by is None)
                    problem = _rebound(target, cls, function, drop, is_sure)
                    yield structs.replace(problem, fix=_returning(target.id, value, code, evaluator))
            elif function.name in CONSTRUCTORS and cls.field(target.id) is not None:
                if _is_stored(target.id, code, function) or _is_surely_used(target, code):
                    continue
                keeps_value = _is_made_from_field(target, value, function)
                fate = "keeps its value" if keeps_value else "is never set, which raises TypeError"
                shadows = keeps_value or _is_set_here(target.id, code, cls, function, evaluator)
                if shadows and not _is_used(target, node, evaluator):
                    yield _shadowed(target, cls, function, fate)
            elif cls.field(target.id) is not None and isinstance(value, (Binary, Call)):
                if _is_surely_used(target, code) or not _returns_without(target.id, code, function):
                    continue
                if _is_made_from_field(target, value, function) and not _is_used(target, node, evaluator):
                    yield _left_out(target, cls, function)


def _owners(function: Function, cls: PytreeClass, evaluator: Evaluator) -> list[PytreeClass]:
    """The pytree classes of which `self` is in a method; several if these inherit it from a mixin."""
    received = evaluator.receiver(function, cls)
    if cls.is_pytree:
        return [cls] if isinstance(received, Instance) else []
    found = [one.cls for one in options(plain(received)) if isinstance(one, Instance)] if received is not None else []
    return found if all(one.is_pytree for one in found) else []


def _returns_without(field: str, code: CodeRead, function: Function) -> bool:
    """Whether a method returns nothing but updated copies of `self` in which a field is as it was."""
    updates = {id(e.call): e for e in code.events if isinstance(e, Replace)}
    returned = [s.value for s in code.statements if isinstance(s, Return)]
    found = [None if value is None else updates.get(id(value)) for value in returned]
    return bool(found) and all(
        update is not None
        and update.base is not None
        and dotted(update.base) == function.self_name
        and not update.call.has_star
        and field not in {keyword.name for keyword in update.keywords}
        for update in found
    )


def _rebound_names(node: FunctionNode, evaluator: Evaluator) -> Iterator[Problem]:
    """Look for parameters, variables of loops and parts that are rebound to an update of theirs, which nobody reads."""
    code = node.code
    updates = {id(e.at): e for e in code.events if isinstance(e, Update)}
    if code.function is None or not updates:
        return
    parameters = {p.name for p in code.function.parameters if p.name != code.function.self_name}
    for target, value in _assignments(code):
        update = updates.get(id(value.at))
        if update is None or update.base is None:
            continue
        start = root(update.base)
        if not isinstance(start, Name) or start.id != target.id or not is_copy(update):
            continue
        if puts_back(update, evaluator) or _is_surely_used(target, code):
            continue
        looped = any(target.id in target_names(s.target) for s in code.statements if isinstance(s, For))
        holder = None
        if not looped and target.id not in parameters:
            holder = holder_of(target.id, updates, code, evaluator)
            if holder is None:
                continue
        elif update.function.startswith("at."):
            continue
        drop = drop_of(target, update, code, evaluator)
        if drop is Drop.RUN or _sees_all(code) or _is_used(target, node, evaluator):
            continue
        if holder is not None:
            yield _not_put_back(target, update, code.function, holder, drop)
        else:
            problem = _lost(target, update, code.function, looped, drop)
            yield problem if looped else structs.replace(problem, fix=_returning(target.id, value, code, evaluator))


@proposing
def _returning(name: str, value: Expr, code: CodeRead, evaluator: Evaluator) -> Proposal | None:
    """The fix: the copy is returned, alone or next to what the function returns already."""
    of = [value.func.value] if isinstance(value, Call) and isinstance(value.func, Attribute) else []
    if not isinstance(value, Call) or not any(dotted(part) == name for part in (*of, *value.positional)):
        return None  # a copy of something else
    fix = returning(None, name, code.place, evaluator)
    if fix is not None or code.function is None or code.applied:
        return fix
    if evaluator.calls.transformed.is_wrapped(code.function, code.place.module):
        return None
    return returning_also(name, code.place, code.function, code.body, evaluator, is_rebound=True)


def _sees_all(code: CodeRead) -> bool:
    """Whether a function asks for all its variables."""
    return any(isinstance(p, Name) and p.id in ("locals", "vars") for p in all_parts(code.body))


def _assignments(code: CodeRead) -> Iterator[tuple[Name, Expr]]:
    """The variables that are assigned, one at a time, outside of inner functions."""
    for statement in code.statements:
        match statement:
            case Assign(targets=(Name() as target,), value=value):
                yield target, value
            case Annotate(target=Name() as target, value=value) if value is not None:
                yield target, value


def _unchanged(value: Expr, cls: PytreeClass) -> frozenset[str]:
    """The fields that an update leaves as they are; none if it is not seen which it changes."""
    if not isinstance(value, Call) or value.has_star or len(value.positional) > 1 or last_name(value.func) != "replace":
        return frozenset()
    if cls.has_own_construction:
        return frozenset()
    changed = {argument.keyword for argument in value.args}
    return frozenset(f.name for f in cls.fields if f.name not in changed) if cls.fields_known else frozenset()


def _is_used(
    target: Name, function: FunctionNode, evaluator: Evaluator, unchanged: frozenset[str] = frozenset()
) -> bool:
    """Whether the variable is read once it is assigned, or by an inner function that somebody may call then.

    To read one of the fields that are `unchanged` is no use of it, nor to assert something of the last turn.
    """
    reads = _reads(target, function.code)
    node = function.node_at(target.at)
    around = list(function.around(node))
    statement = next(one for one in around if isinstance(one, cst.BaseSmallStatement))
    later = []
    for part in may_run_after(statement, around[around.index(statement) + 1 :]):
        for read in variables(part):
            holding = list(function.around(read))
            if statement in holding or is_bound(read, holding) or is_of_lambda(read, holding):
                continue
            is_checked = any(isinstance(one, cst.Assert) for one in holding)
            if not is_checked or function.place_of(read) > place_of(target.at):
                later.append((read.value, holding[0].attr.value if isinstance(holding[0], cst.Attribute) else ""))
    if any(name in reads and attr not in unchanged for name, attr in later):
        return True
    reading: list[cst.BaseExpression] = []
    for inner in function.all(cst.FunctionDef, function.body):
        if target.id in names([inner.body]):
            if inner.decorators or any(name == inner.name.value for name, _ in later):
                return True
            reading += [one for one in variables(function.body) if one.value == inner.name.value]
    reading += [one for one in function.all(cst.Lambda, function.body) if _reads_outside(target.id, one, function)]
    return bool(reading) and not set(map(function.place_of, reading)) <= _run_at_once(function.code, evaluator)


def _reads_outside(name: str, inner: cst.Lambda, function: FunctionNode) -> bool:
    """Whether a lambda reads a variable of the function around it, and no parameter of that name."""
    return any(one.value == name and not is_of_lambda(one, function.around(one)) for one in variables(inner.body))


def _run_at_once(code: CodeRead, evaluator: Evaluator) -> set[Span]:
    """The places of functions that are called where they stand, or given to one of jax, which keeps none of them.

    What such a call returns may be another function, which is called at once.
    """
    resolver = evaluator.model.resolver
    found: set[Span] = set()
    for call in (p for p in all_parts(code.body) if isinstance(p, Call)):
        func = call.func
        found.add(place_of(func.at))
        made = func.func if isinstance(func, Call) else func
        name = resolver.library_name(made, code.place.module, code.scope)
        given = (*call.args, *(func.args if isinstance(func, Call) else ()))
        transform = TRANSFORMS.get(name)
        if name in TREE_MAPS or (transform is not None and (transform.runs or isinstance(func, Call))):
            found |= {place_of(argument.value.at) for argument in given}
    return found


def _is_surely_used(target: Name, code: CodeRead, unchanged: frozenset[str] = frozenset()) -> bool:
    """Whether a statement behind that of a variable reads it, as is mostly so: then nothing has to be parsed."""
    behind = code.shared.get(Behind)
    if not isinstance(behind, Behind):
        behind = code.shared[Behind] = Behind(code.body)
    later, reads = behind.of(target), _reads(target, code)
    if not unchanged:
        return any(not reads.isdisjoint(names_read((statement,))) for statement in later)
    returned = (s.value for s in later if isinstance(s, Return) and s.value is not None)
    return any(isinstance(part, Name) and part.id in reads for r in returned for part in _outside(unchanged, r))


def _reads(target: Name, code: CodeRead) -> frozenset[str]:
    """The names that read a variable: `super()` takes what the first parameter stands for when it is called."""
    is_first = code.function is not None and target.id == code.function.self_name
    return frozenset({target.id, "super"} if is_first else {target.id})


def _outside(fields: frozenset[str], expr: Expr) -> Iterator[Expr]:
    """The parts of an expression, without those that read some fields."""
    if not (isinstance(expr, Attribute) and isinstance(expr.value, Name) and expr.attr in fields):
        yield expr
        for child in children(expr):
            yield from _outside(fields, child)


def _makes_copy(value: Expr, cls: PytreeClass, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether an expression makes another instance and changes none."""
    if not isinstance(value, Call):
        return False
    symbol = evaluator.model.resolver.resolve(value.func, code.place.module, code.scope)
    if isinstance(symbol, External) and symbol.name in _COPYING:
        return True
    for event in code.events:
        if event.at is not value.at:
            continue
        if isinstance(event, (Update, Construct)):
            return not (isinstance(event, Update) and puts_back(event, evaluator))
        if isinstance(event, CallMethod) and isinstance(event.receiver, Instance) and cls.frozen is True:
            method = event.receiver.cls.method(event.name)
            if method is not None:
                function = FunctionValue(FunctionSymbol(method[0].module, method[1]), event.receiver)
                return isinstance(plain(evaluator.calls.returned(function)), Instance)
    return False


def _is_made_from_field(target: Name, value: Expr, function: Function) -> bool:
    """Whether a variable is made from the value of the field of its name."""
    path = f"{function.self_name}.{target.id}"
    return any(isinstance(part, Attribute) and dotted(part) == path for part in parts(value))


def _is_set_here(name: str, code: CodeRead, cls: PytreeClass, function: Function, evaluator: Evaluator) -> bool:
    """Whether nobody but this constructor can set a field of an equinox module, and it hands `self` to nobody."""
    declared = [f for f in cls.symbol.declaration.fields if f.name == name]
    if not cls.framework.checks_fields or function.name != "__init__" or function.self_calls or not declared:
        return False
    annotation = declared[-1].annotation
    abstract = isinstance(annotation, Subscript) and "Abstract" in (dotted(annotation.value) or "")
    if abstract or isinstance(annotation, Constant) or declared[-1].value is not None:
        return False
    if evaluator.model.is_overridden(cls, "__init__"):
        return False
    held = list(all_parts(code.body))
    receivers = {
        id(p.value) for p in held if isinstance(p, Attribute) and not p.attr.startswith("__") and p.attr != name
    }
    return not any(
        isinstance(p, Name) and (p.id in ("locals", "vars") or (p.id == function.self_name and id(p) not in receivers))
        for p in held
    )


def _is_stored(name: str, code: CodeRead, function: Function) -> bool:
    """Whether the constructor assigns the attribute in some other way."""
    if any(a.attr == name for a in function.self_assignments):
        return True
    calls = (part for part in all_parts(code.body) if isinstance(part, Call))
    return any((dotted(c.func) or "").rpartition(".")[2] in ("__setattr__", "setattr", "update") for c in calls)


def _rebound(target: Name, cls: PytreeClass, function: Function, drop: Drop, is_sure: bool) -> Problem:
    returned = [v for v in function.return_values if not is_none(v) and dotted(v) != target.id]
    copy, call = ("the copy as well", "x, found =") if returned else ("the copy", "x =")
    return Problem(
        at=target.at,
        message=(
            f"`{target.id}` is only a name in `{function.name}` of `{cls.name}`: binding it to an updated copy changes"
            f" no instance, and {drop.value}; return it and let the caller rebind it"
        ),
        reason="a method gets a reference to its object; assigning to the variable makes it refer to another one",
        help=f"return {copy}, and write `{call} x.{function.name}(...)` where the method is called",
        confidence=None if is_sure else Confidence.LOW,
        subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{function.name}",
    )


def _lost(target: Name, update: Update, function: Function, looped: bool, drop: Drop) -> Problem:
    """What there is to say of a parameter or a variable of a loop."""
    thing = f"`{update.receiver.cls.name}`" if isinstance(update.receiver, Instance) else "object"
    where = f"in the loop for one {thing}" if looped else f"in `{function.name}` for the caller's {thing}"
    way_out = "collect the copies in a new list" if looped else "return it and let the caller rebind it"
    return Problem(
        at=target.at,
        message=(
            f"`{target.id}` is only a name {where}: binding it to an updated copy changes no instance, and"
            f" {drop.value}; {way_out}"
        ),
        reason="assigning to a variable makes it refer to another object, and changes nothing that held the one before",
        help=way_out,
        confidence=None if drop.is_certain else Confidence.LOW,
        declared=rests_on_annotation(update),
    )


def _not_put_back(target: Name, update: Update, function: Function, holder: Expr, drop: Drop) -> Problem:
    """What there is to say of a part that is taken out, updated and forgotten."""
    kind = f"`{update.receiver.cls.name}`" if isinstance(update.receiver, Instance) else "part"
    held = dotted(holder)
    way_out = f"put the copy back into {f'`{held}`' if held else 'what it was taken of'}"
    confidence = array_copy(update) if update.function.startswith("at.") else None
    return Problem(
        at=target.at,
        message=(
            f"`{target.id}` is only a name in `{function.name}` for the {kind} that it was given: binding it to an"
            f" updated copy changes nothing that holds that one, and {drop.value}; {way_out}"
        ),
        reason="assigning to a variable makes it refer to another object, and changes nothing that held the one before",
        help=way_out,
        confidence=confidence if drop.is_certain else Confidence.LOW,
        declared=rests_on_annotation(update),
    )


def _left_out(target: Name, cls: PytreeClass, function: Function) -> Problem:
    way_out = f"give `{target.id}={target.id}` to the update"
    return Problem(
        at=target.at,
        message=(
            f"`{target.id}` in `{function.name}` of `{cls.name}` is a local variable that is never used: the copy that"
            f" is returned has the old `{target.id}`; {way_out}"
        ),
        reason="assigning to a variable does not change the attribute of the same name",
        help=way_out,
        subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{function.name}.{target.id}",
    )


def _shadowed(target: Name, cls: PytreeClass, function: Function, fate: str) -> Problem:
    attribute = f"{function.self_name}.{target.id}"
    assignable = cls.frozen is False or function.name in cls.framework.assignable_in
    fix = Proposal(f"Assign `{attribute}`", Applicability.UNSAFE, (Rewrite(target.at, attribute),))
    way_out = f"assign `{attribute}`" if assignable else "compute it in a classmethod that hands it to the constructor"
    return Problem(
        at=target.at,
        message=(
            f"`{target.id}` in `{function.name}` of `{cls.name}` is a local variable that is never used: field"
            f" `{target.id}` {fate}; {way_out}"
        ),
        reason="assigning to a variable does not change the attribute of the same name",
        help=way_out,
        subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{target.id}",
        fix=fix if assignable else None,
    )
