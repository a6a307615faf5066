"""JAX501 lost-mutation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxlint.cst.changes import Proposal
from jaxlint.finding import Confidence
from jaxlint.infer.bodies.slots import ANY_ITEM, Slot, changed_by, origin, slot_of
from jaxlint.infer.bodies.usage import Changed
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import UNKNOWN, Container, UnknownValue, as_instance, element_of, plain
from jaxlint.infer.transforms.applied import Applied, rebuilt_parameters
from jaxlint.libraries.transforms import Kind
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.changes.followed import Followed
from jaxlint.rules.analyses.changes.keys_of_dicts import is_key_of_dict
from jaxlint.rules.analyses.changes.leaked import giving_containers
from jaxlint.rules.analyses.changes.leaked_attributes import left_in_containers
from jaxlint.rules.analyses.changes.missed_by_callers import is_missed
from jaxlint.rules.analyses.changes.mutations import CONTAINERS, Mutation, mutations
from jaxlint.rules.analyses.changes.purposes import is_cache
from jaxlint.rules.analyses.changes.put_back import is_emptied, is_put_back
from jaxlint.rules.analyses.changes.returning import returning_also
from jaxlint.rules.analyses.changes.stale import begins_anew, is_own_alone, is_used_at_once
from jaxlint.rules.analyses.instances.methods import own_methods, run_by
from jaxlint.rules.analyses.under_trace.traced import may_run_uncompiled
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Name, dotted, last_name
from jaxlint.syntax.statements import (
    Assign,
    Body,
    FunctionDefinition,
    If,
    Return,
    all_parts,
    assigned_names,
    own_parts,
    parts,
    walk,
)

#: Attributes that are meant to be written while tracing: the structure of what is traced is the same at every call
#: (lost-mutation/good_structure, good_trace_counters).
_ABOUT_TRACING = ("trac", "compil", "jitted", "treedef", "tree_def", "unravel", "unflatten")
#: Transformations that trace a function less often than it runs.
_TRACED_RARELY = (Kind.JIT, Kind.LOOP, Kind.BRANCH)


class LostMutation(BodyRule):
    """
    ## What it does

    Finds transformed functions that lose a change in place: of `self`, of an argument or of a dict inside of it, which
    they do not return.

    A function inside of them may be the one that does so. Also found are arrays that a compiled function, or the update
    of an optimizer, puts into a dict or list around it, itself or by a helper, which is read afterwards.

    ## Why is this bad?

    `jax.jit`, `jax.vmap`, `jax.grad`, `lax.scan` and kin take their arguments apart and hand the function new
    instances that hold tracers. What the function writes into those is gone when it returns, unless it returns them.
    Only a `self` that is static, or that an inner function refers to, is the caller's own: then the assignment runs
    while the function is traced, once per compilation, and leaves a tracer behind.

    ## What you will see

    No error: the object of the caller keeps its old value (a counter stays 0, or 1 after any number of
    calls). Where a tracer was left behind, `UnexpectedTracerError` at its next use.

    ## Example

    ```python
    import chex
    import jax
    import jax.numpy as jnp

    @chex.dataclass
    class Meter:
        total: chex.Array

        @jax.jit
        def add(self, x: chex.Array) -> chex.Array:
            self.total = self.total + jnp.sum(x)
            return x * 2.0
    ```

    ## Use instead

    ```python
    import chex
    import jax
    import jax.numpy as jnp

    @chex.dataclass
    class Meter:
        total: chex.Array

        @jax.jit
        def add(self, x: chex.Array) -> tuple["Meter", chex.Array]:
            return self.replace(total=self.total + jnp.sum(x)), x * 2.0
    ```

    ## Frameworks

    Mutable instances: chex, register_dataclass over a dataclass that is not frozen, flax.struct and tjax with
    `frozen=False`, simple_pytree with `mutable=True`, register_pytree_node_class; ordinary classes whose `self` is
    static or closed over; and dicts and lists inside of any pytree. flax.nnx and treex modules are JAX502's.

    ## Fix safety

    A compiled function returns what it changes next to its result, and callers put that into the variable that they
    passed. The fix is unsafe. There is none where the function is handed on, called in other modules or inside of
    expressions, or where something else than `jax.jit` transforms it.

    ## When not to use it

    Some changes are taken to be meant, and are not reported:

    * what is returned or handed on, unless all that gets it are methods and functions of the project that only read it,
      or what a method returns at the end (`return self.pop_state()`);
    * what is changed and then used in the same function (but see below);
    * names that speak of tracing (`self.traces += 1`), and values that do not depend on the arguments;
    * attributes that are made once (`if self.grid is None`, `if key not in self.table`) and not added to, or that
      only the compiled method and what it calls make and use.

    What is used in the same function is reported all the same in three cases: it is counted up, a method updates its
    own attribute, or something is added to an attribute that a caller needs. Such a caller gives the function the same
    object in each turn of a loop, does not change it otherwise, and then reads the attribute, or one that is changed
    with it.

    ## References

    - [JAX: pure functions](https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html#pure-functions)
    - [jax #12773](https://github.com/jax-ml/jax/issues/12773), [jax #18910](https://github.com/jax-ml/jax/issues/18910)
    """

    code = "JAX501"
    name = "lost-mutation"
    group = "transformations"
    about_values = True
    since = "0.1.0"
    confidence = Confidence.MEDIUM

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Functions that give a container of their module to a function, which may fill it."""
        module, unit = candidate.module, candidate.unit
        giving = giving_containers(module.source)
        if giving is None:
            return False
        return giving.search(module.source.rows(unit.first, unit.last)) is not None

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a transformed function changes."""
        function = code.function
        if function is None or function.is_generator or function.is_async:
            return
        if function.acts and len(code.place.functions) > 1:
            yield from self._closed_over(code, evaluator)
        applied = [a for a in code.applied if a.transform.rebuilds]
        for at, name, why in left_in_containers(function, applied, code, evaluator):
            yield _left_behind(at, name, why, function)
        if not applied or _is_spared(function, code.applied, code, evaluator):
            return
        changes = mutations(code, evaluator)
        if not changes:
            return
        rebuilt = rebuilt_parameters(function, applied)
        parameters = frozenset(p.name for p in function.parameters)
        found: list[tuple[Mutation, Slot]] = []
        watched = set(_where_tracing_is_tested(code.body))
        for mutation in changes:
            if place_of(mutation.at).row in watched:
                continue  # it is left out where it would be lost
            if mutation.owner is not None and mutation.owner.framework.is_stateful:
                continue
            slot = origin(mutation.slot, code.body, parameters)
            if slot is not None and slot.root in rebuilt and not _passes_as_it_is(mutation, function, code):
                if ANY_ITEM not in slot.path and is_put_back(mutation.slot, function, code.body):
                    continue  # bound for what is called meanwhile
                if _is_rebuilt(mutation, slot, code, evaluator):
                    found.append((mutation, _stored_at(slot, mutation, evaluator)))
            elif mutation.owner is not None and mutation.of_attribute and mutation.slot.root not in code.contents.bound:
                if not (_is_returned_by_method(mutation, code, evaluator) or _is_made_once(mutation, code, evaluator)):
                    yield from _while_tracing(mutation, mutation.owner, code, function, evaluator)
        lost = list(_unused(found, code, evaluator))
        shown = {id(mutation.at) for mutation, _ in lost}
        rest = [one for one in found if id(one[0].at) not in shown]
        lost += [one for one in rest if _is_looked_for(*one, found, code, evaluator)]
        for mutation, slot in lost:
            first = next(a for a in applied if slot.root in a.rebuilt_parameters(function))
            fix = None
            one_of_many = any(p.kind == "*" and p.name == slot.root for p in function.parameters)
            if all(one.transform.kind is Kind.JIT for one in code.applied) and not one_of_many:
                fix = returning_also(slot.root, code.place, function, code.body, evaluator)
            yield _lost(mutation, slot.root, function, first, fix)

    def _closed_over(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a function changes of an argument of the transformed function in which it stands."""
        *_, outer, function = code.place.functions
        if any(a.transform.kind in _TRACED_RARELY for a in code.applied):
            return  # it runs once for many turns, which is said
        around = code.place.applied(outer)
        applied = [a for a in around if a.transform.rebuilds]
        rebuilt = rebuilt_parameters(outer, applied) - {p.name for p in function.parameters} - code.contents.bound
        changes = mutations(code, evaluator) if rebuilt else []
        for mutation in changes:
            owner, slot = mutation.owner, mutation.slot
            if slot.root not in rebuilt or owner is None or not owner.is_pytree or owner.framework.is_stateful:
                continue
            body = evaluator.calls.body_of(FunctionSymbol(code.place.module, outer)) or ()
            if slot.root in assigned_names(body) or _is_spared(outer, around, code, evaluator):
                continue
            rest = tuple(s for s in body if not (isinstance(s, FunctionDefinition) and s.name == function.name))
            uses = [Changed(slot, mutation.at, one) for one in (code.body, rest)]
            if not any(c.is_read() or c.is_handed_on() for c in uses) and not is_put_back(slot, function, code.body):
                yield _lost(mutation, slot.root, outer, applied[0], None, inside=function)


def _is_spared(function: Function, applied: Sequence[Applied], code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a function need not get copies after all: something unknown is around it, or it may run uncompiled."""
    is_compiled = True
    for one in applied:
        transform = one.transform
        if transform.propagates:
            return True
        is_compiled = is_compiled and (transform.kind is Kind.JIT or not transform.rebuilds)
    module = code.place.module
    return evaluator.calls.transformed.is_wrapped(function, module) or (
        is_compiled and may_run_uncompiled(module.source)
    )


def _where_tracing_is_tested(body: Body) -> Iterator[int]:
    """The rows of the branches whose tests ask whether something is a tracer."""
    for statement in walk(body):
        if isinstance(statement, If):
            for test, branch in statement.branches:
                if branch and any(last_name(part).endswith("Tracer") for part in parts(test)):
                    yield from range(branch[0].at.lineno, branch[-1].at.end_lineno + 1)


# -- arguments ---------------------------------------------------------------------------------


def _passes_as_it_is(mutation: Mutation, function: Function, code: CodeRead) -> bool:
    """Whether what is changed is no pytree, one leaf to `vmap` outside, and static to the transformation inside."""
    if (owner := mutation.owner) is None or owner.is_pytree or not owner.bases_known:
        return False
    return mutation.of_attribute and _is_static(mutation.slot.root, function, code)


def _is_rebuilt(mutation: Mutation, slot: Slot, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether what is changed is known to be a part of a copy."""
    value = plain(code.parameters.get(slot.root, UNKNOWN))
    is_item = False
    for step in slot.path[:-1]:
        is_item = isinstance(value, Container) and value.kind in CONTAINERS
        instance = as_instance(value)
        field = instance.cls.field(step) if instance is not None else None
        if field is not None and field.role in (Role.STATIC, Role.DROPPED):
            return False
        value = element_of(value) if step.startswith("[") else plain(evaluator.attribute_of(value, step))
    if mutation.of_attribute and mutation.owner is None:  # jit takes nothing but pytrees, and makes them anew
        return all(a.transform.kind is Kind.JIT and not a.transform.filters for a in code.applied)
    if mutation.of_attribute and mutation.owner is not None:
        return mutation.owner.is_pytree
    # what is no array in a container has been rebuilt with it, and an array would refuse the change
    if isinstance(value, UnknownValue):
        return is_item or slot.path[-1].startswith(("['", '["')) or is_key_of_dict(mutation.at, code)
    return isinstance(value, Container) and value.kind in CONTAINERS


def _stored_at(slot: Slot, mutation: Mutation, evaluator: Evaluator) -> Slot:
    """Where a change ends up: what a property sets is kept in other attributes of the same object."""
    owner = mutation.owner
    is_property = owner is not None and mutation.of_attribute and evaluator.getter(owner, slot.path[-1]) is not None
    return Slot(slot.root, slot.path[:-1]) if is_property else slot


def _unused(
    found: list[tuple[Mutation, Slot]], code: CodeRead, evaluator: Evaluator
) -> Iterator[tuple[Mutation, Slot]]:
    """The changes that the function neither makes use of nor hands on.

    An object that loses one of its changes is a state: to read what another one has updated does not save that. What
    one call changes is lost together, or not at all, and so are items that one function makes of the old ones: all of
    them are prepared.
    """
    changed = [Followed.of(slot, mutation.at, code, evaluator) for mutation, slot in found]
    unused = [
        not (c.is_handed_on() if mutation.purpose.lasts else c.is_read())
        for c, (mutation, _) in zip(changed, found, strict=True)
    ]
    makers = _makers(code.body)
    used = {makers.get(id(m.at), id(m.at)) for lost, (m, _) in zip(unused, found, strict=True) if not lost}
    unused = [makers.get(id(m.at), id(m.at)) not in used for m, _ in found]
    states = {slot.root for lost, (m, slot) in zip(unused, found, strict=True) if lost and m.of_attribute}
    reported: set[int] = set()
    for lost, c, one in zip(unused, changed, found, strict=True):
        mutation, slot = one
        is_update = mutation.purpose.updates and slot.root in states and not c.is_handed_on()
        if id(mutation.at) not in reported and (lost or is_update):
            reported.add(id(mutation.at))
            yield one


def _makers(body: Body) -> dict[int, tuple[str, str]]:
    """The container whose item gets what a function makes of the old one, and that function, for each such change."""
    makers: dict[int, tuple[str, str]] = {}
    for statement in walk(body):
        match statement:
            case Assign(value=Call(func=func, args=args)):
                for at, slot in changed_by(statement):
                    if slot.path[-1:] and slot.path[-1].startswith("[") and slot in (slot_of(a.value) for a in args):
                        makers[id(at)] = (slot.root, dotted(func) or "")
    return makers


def _is_looked_for(
    mutation: Mutation, slot: Slot, found: list[tuple[Mutation, Slot]], code: CodeRead, evaluator: Evaluator
) -> bool:
    """Whether something is added up in an attribute, and a caller keeps the object and reads one that is changed."""
    if code.function is None or not mutation.purpose.adds or not mutation.of_attribute:
        return False
    read = {id(p.value) for p in all_parts(code.body) if isinstance(p, Attribute)}
    taking = (s for s in walk(code.body) if all(stored.root != slot.root for _, stored in changed_by(s)))
    values = [s.value for s in taking if isinstance(s, (Assign, Return)) and s.value is not None]
    if any(isinstance(p, Name) and p.id == slot.root and id(p) not in read for value in values for p in parts(value)):
        return False  # it goes into something, perhaps into what is returned
    is_there = slot.path[-1:] == mutation.slot.path[-1:]
    holder, part = (slot.path[:-1], mutation.purpose.part) if is_there else (slot.path, ())
    beside = [Slot(slot.root, (*holder, attr)) for attr in mutation.beside]
    beside += [other.below(*m.purpose.part) for m, other in found if m is not mutation and other.root == slot.root]
    return is_missed(code.function, [slot.below(*part), *beside], code.place, evaluator)


def _lost(
    mutation: Mutation,
    root: str,
    function: Function,
    applied: Applied,
    fix: Proposal | None,
    inside: Function | None = None,
) -> Problem:
    """The problem of an argument that is changed, perhaps by a function `inside`, and not returned."""
    where = f"`{function.name}`" if inside is None else f"`{inside.name}`, a function of `{function.name}`"
    return Problem(
        at=mutation.at,
        message=(
            f"{mutation.text} is changed in {where}, which `{applied.transform.name}` transforms, and"
            f" `{root}` is not returned: the change is lost; return `{root}` and let the caller rebind it"
        ),
        reason="the function gets a copy of its arguments, rebuilt from their leaves; only what it returns comes back",
        help=f"return `{root}`, or the new value",
        fix=fix,
    )


# -- what the transformation does not see --------------------------------------------------------


def _left_behind(at: object, name: str, why: str, function: Function) -> Problem:
    """The problem of a container around the function that gets what it computes."""
    return Problem(
        at=at,
        raises_at_once=True,
        message=(
            f"`{function.name}`, {why}, puts a tracer into `{name}` while it is traced: using that afterwards fails"
            " (UnexpectedTracerError, or ConcretizationTypeError); return it"
        ),
        reason="what a function computes while it is traced is no array, and means nothing outside of it",
        help="return the value, and let the caller keep it",
    )


def _while_tracing(
    mutation: Mutation, cls: PytreeClass, code: CodeRead, function: Function, evaluator: Evaluator
) -> Iterator[Problem]:
    """The problem of a static or closed-over object, which is changed whenever the function is traced."""
    root, attr, method = mutation.slot.root, mutation.slot.path[-1], code.place.method
    on_self = method is not None and root == method.self_name
    own = method if on_self else None
    is_parameter = function.takes(root)
    if is_parameter and not (on_self and _is_static(root, function, code)):
        return
    applied = next((a for a in code.applied if a.transform.kind in _TRACED_RARELY), None)
    if applied is None or not (on_self or cls.is_pytree):
        return
    if not (mutation.purpose.updates or mutation.purpose.computed):
        return  # something that is the same whenever it is set
    is_made = is_cache(mutation.slot, code.body) and not mutation.purpose.adds  # what is added to goes on from there
    if is_made or any(word in attr for word in _ABOUT_TRACING):
        return
    begins = not mutation.purpose.updates or (function is method and begins_anew(attr, function, code.body, cls))
    if own is not None and begins and is_own_alone(attr, own, cls, evaluator):
        return  # a variable of this method and of those that it calls
    if own is not None and not mutation.purpose.updates and _is_assigned_behind(attr, function, own):
        return  # a variable of the functions inside, while they are traced
    if own is not None and not mutation.purpose.updates and _is_set_anew(mutation, own, cls, code.body):
        return  # a variable of this method, which another one gives the value that stays
    changed = Changed(mutation.slot, mutation.at, code.body)
    if not on_self and not mutation.purpose.updates and (changed.is_read() or changed.is_handed_on()):
        return  # filled at each trace, for what comes behind
    if is_put_back(Slot(root, (attr,)), function, code.body) or is_emptied(f"{root}.{attr}", code.body):
        return  # bound for what is called meanwhile
    is_scratch = (
        own is not None and not mutation.purpose.updates and is_used_at_once(mutation.at, attr, own, code.body, cls)
    )
    every = "turn" if applied.transform.kind is Kind.LOOP else "call"
    yield Problem(
        at=mutation.at,
        message=(
            f"{mutation.text} is changed in `{function.name}`, which `{applied.transform.name}` transforms: the"
            f" statement runs only while it is traced, and not at every {every}; pass `{attr}` in and return the new"
            " value"
        ),
        reason=f"`{root}` is no traced argument: its attributes are read and written while tracing",
        help=f"make `{attr}` an argument and a result of `{function.name}`",
        confidence=Confidence.LOW if is_scratch else None,
    )


def _is_assigned_behind(attr: str, function: Function, method: Function) -> bool:
    """Whether a method gives an attribute its value after a function inside of it, which assigns it too."""
    _, last = function.body_rows
    return function is not method and any(a.attr == attr and a.at.row > last for a in method.self_assignments)


def _is_set_anew(mutation: Mutation, method: Function, cls: PytreeClass, body: Body) -> bool:
    """Whether another method sets the attribute, too, and nothing reads it but this one, once it has set it."""
    attr, row = mutation.slot.path[-1], place_of(mutation.at).row
    inside = run_by(method, cls)
    others = [m for one in cls.mro for m in own_methods(one) if m.name not in inside]
    is_set = any(a.attr == attr for m in others if m.name != "__init__" for a in m.self_assignments)
    if not is_set or any(attr in m.self_reads for m in (*others, *inside.values()) if m.name != method.name):
        return False
    path = f"{method.self_name}.{attr}"
    return all(place_of(part.at).row >= row for part in all_parts(body) if dotted(part) == path)


def _is_returned_by_method(mutation: Mutation, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether the function returns what a method makes of the attribute: `return self.pop_state()`."""
    method, owner = code.place.method, code.place.owner
    if method is None or owner is None or mutation.slot.root != method.self_name:
        return False
    returned = [part for s in code.statements if isinstance(s, Return) for part in own_parts(s)]
    calls = [part for part in returned if isinstance(part, Call) and part.at is not mutation.at]
    funcs = [call.func for call in calls if isinstance(call.func, Attribute)]
    names = {func.attr for func in funcs if dotted(func.value) == method.self_name}
    return any(_may_read(owner, name, mutation.slot.path[0], evaluator) for name in names)


def _is_made_once(mutation: Mutation, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether another method makes the attribute only if it is not there yet: then any trace may leave it behind."""
    method, owner = code.place.method, code.place.owner
    if method is None or owner is None or mutation.slot.root != method.self_name:
        return False
    attr = mutation.slot.path[0]
    for cls in owner.mro:
        for other in own_methods(cls):
            if other is not method and attr in other.self_reads and other.self_name is not None:
                body = evaluator.calls.body_of(FunctionSymbol(cls.module, other)) or ()
                if is_cache(Slot(other.self_name, (attr,)), body):
                    return True
    return False


def _may_read(cls: PytreeClass, name: str, attr: str, evaluator: Evaluator) -> bool:
    """Whether a method, or one that it calls, reads an attribute, if only by a name that is computed."""
    found = cls.method(name)
    if found is None:
        return True
    methods = run_by(found[1], cls)
    if any(attr in one.self_reads for one in methods.values()):
        return True
    bodies = [
        evaluator.calls.body_of(FunctionSymbol(at[0].module, at[1])) for one in methods if (at := cls.method(one))
    ]
    return any(
        body is None or any(isinstance(part, Name) and part.id in ("getattr", "vars") for part in all_parts(body))
        for body in bodies
    )


def _is_static(root: str, function: Function, code: CodeRead) -> bool:
    """Whether a parameter is certainly static, or given before the function is transformed."""
    for applied in code.applied:
        static = applied.static_parameters(function)
        if root in applied.given_parameters(function) or (static is not None and root in static):
            return True
    return False
