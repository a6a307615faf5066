"""JAX504 jitted-bound-method."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import Proposal, RenameFunction
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import AssignAttribute, CodeRead, Transformed
from jaxlint.infer.values import Instance, is_classmethod, plain
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.bound_part import changed_part, held_part
from jaxlint.rules.analyses.hashing import unhashable_instance
from jaxlint.rules.analyses.methods import run_by
from jaxlint.rules.analyses.rebinding import scope_of
from jaxlint.rules.analyses.stale import changing_method, forgets, initialised, reads
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.symbols.outline import Function, SelfAssignment
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Name, dotted
from jaxlint.syntax.spelling import with_article
from jaxlint.syntax.statements import (
    Assign,
    Augment,
    Body,
    For,
    If,
    Jump,
    Raise,
    Return,
    While,
    all_parts,
    bound_names,
    parts,
    walk,
)

#: The transformations that look up what they have compiled by the hash of the function.
_HASHING = frozenset({"jax.jit", "jax.pmap", "jax.checkpoint", "jax.remat"})

#: The transformations of equinox that take modules.
_FILTERED = {"jax.jit": "filter_jit", "jax.checkpoint": "filter_checkpoint", "jax.vmap": "filter_vmap"}


class JittedBoundMethod(BodyRule):
    """
    ## What it does

    Finds `jax.jit(self.method)` and `jax.jit(model.method)` of an instance that changes later, and `jax.jit` of a bound
    method or an instance that cannot be hashed.

    ## Why is this bad?

    The instance is no argument of the compiled function: what the method reads of it is built in when it is compiled.
    An attribute that is assigned later is not seen. An equinox module is hashed by its fields, and arrays have no
    hash; nor has a pytree dataclass that is given to `jax.jit` itself because it can be called.

    ## What you will see

    No error, and the results of the old value; or `TypeError: unhashable type: 'jaxlib._jax.ArrayImpl'`.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Batch:
        x: jax.Array

    class Model:
        def __init__(self, scale: float):
            self.scale = scale
            self.apply = jax.jit(self._apply)

        def set_scale(self, scale: float):
            self.scale = scale

        def _apply(self, batch: Batch) -> jax.Array:
            return batch.x * self.scale
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Batch:
        x: jax.Array

    class Model:
        def __init__(self, scale: float):
            self.scale = scale
            self._jitted = jax.jit(self._apply)

        def set_scale(self, scale: float):
            self.scale = scale

        def apply(self, batch: Batch) -> jax.Array:
            return self._jitted(batch, self.scale)

        def _apply(self, batch: Batch, scale: float) -> jax.Array:
            return batch.x * scale
    ```

    ## Frameworks

    Ordinary classes and pytrees that can be assigned to; equinox modules and instances that can be called, for what
    cannot be hashed. `eqx.filter_jit` takes a bound method as the pytree that it is.

    ## Fix safety

    `jax.jit(module)` becomes `eqx.filter_jit(module)`, which is safe: the call could only raise. There is none for
    attributes that change.

    ## When not to use it

    Attributes that only change before the first call are not reported where that can be seen (in `__init__`, `setup`
    and the like), nor are classes that compile anew after the change.

    ## References

    - [JAX FAQ: how to use jit with methods](https://docs.jax.dev/en/latest/faq.html#how-to-use-jit-with-methods)
    - [jax #9023](https://github.com/jax-ml/jax/issues/9023), [equinox #1131](https://github.com/patrick-kidger/equinox/issues/1131)
    """

    code = "JAX504"
    name = "jitted-bound-method"
    group = "transformations"
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    instance_calls = frozenset({"jit", "pmap", "checkpoint", "remat"})

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the bound methods that a body compiles."""
        for event in code.events:
            if not isinstance(event, Transformed) or event.applied.is_decorator or event.receiver is None:
                continue
            receiver = plain(event.receiver)
            if event.applied.transform.name not in _HASHING or not isinstance(receiver, Instance):
                continue
            unhashable = _unhashable(event, receiver, evaluator)
            if unhashable is not None:
                yield unhashable
            elif event.function is not None and event.applied.transform.name == "jax.jit":
                yield from _stale(event, event.function, receiver.cls, code, evaluator)


def _unhashable(event: Transformed, receiver: Instance, evaluator: Evaluator) -> Problem | None:
    """The problem of an instance that is hashed with the function, and cannot be."""
    cls = receiver.cls
    is_module = cls.framework.filters
    if not event.is_given_itself or (event.function is not None and is_classmethod(event.function)):
        return None  # hashed is a function that is made for the call, or a class
    if not cls.is_pytree or (event.function is not None and not is_module):
        return None
    why = unhashable_instance(cls, evaluator)
    if why is None:
        return None
    what = "itself" if event.function is None else f"with its method `{event.function.name}`"
    way_out = "use `eqx.filter_jit`" if is_module else "make the instance an argument of the function"
    return Problem(
        at=event.at,
        message=(
            f"`{event.applied.transform.name}` is given {with_article(cls.name)} {what}, and {why.what}: TypeError"
            f" (unhashable type); {way_out}"
        ),
        reason="what is compiled is found again by the hash of the function",
        help=way_out,
        fix=_filtering(event, evaluator) if is_module else None,
    )


def _filtering(event: Transformed, evaluator: Evaluator) -> Proposal | None:
    """The fix: the transformation of equinox, which traces the arrays of the module."""
    name = _FILTERED.get(event.applied.transform.name, "")
    written = spelled(f"equinox.{name}", event.place.module, evaluator.model.resolver, scope_of(event.place))
    if not name or written is None or event.applied.options:
        return None
    change = RenameFunction(event.at, event.applied.transform.name.rpartition(".")[2], written[0])
    return Proposal(f"Use `{written[0]}`", Applicability.SAFE, (change,), written[1])


def _stale(
    event: Transformed, method: Function, cls: PytreeClass, code: CodeRead, evaluator: Evaluator
) -> Iterator[Problem]:
    """The attributes that the compiled method reads, and that change afterwards."""
    kept, owner = _kept(event), event.place.owner
    part = None if kept is None or event.place.method is None else held_part(kept.value, event.place.method)
    if kept is not None and part is not None and owner is not None:
        found = None if forgets(owner) else changed_part(part, method, cls, kept.attr, owner, evaluator)
        if found is not None:
            yield _problem_of_part(event, method, cls, *found)
        return
    if cls.frozen is True or forgets(cls):
        return
    inside = run_by(method, cls)
    read = reads(inside.values(), cls)
    if kept is not None:
        holder = kept.attr
        for attr in sorted(read - {holder}):
            changing = changing_method(attr, inside, cls, evaluator)
            if changing is None or not initialised(attr, cls) or _compiles_again(changing, holder, cls):
                continue
            yield _problem(event, method, cls, attr, f"after `{changing.name}` changes it")
            return
        return
    for assignment in code.events:
        if isinstance(assignment, AssignAttribute) and assignment.attr in read and assignment.receiver.cls is cls:
            if _is_called_around(event, assignment, code.body):
                yield _problem(event, method, cls, assignment.attr, "after it was assigned")
                return


def _kept(event: Transformed) -> SelfAssignment | None:
    """What gives the compiled method to an attribute of `self`."""
    method = event.place.method
    if method is None:
        return None
    place = place_of(event.at)
    for assignment in method.self_assignments:
        value = assignment.value
        if value is not None and value.at[:2] <= place[:2] and place[2:] <= value.at[2:]:
            return assignment
    return None


def _compiles_again(changing: Function, holder: str, cls: PytreeClass) -> bool:
    """Whether the method that changes the attribute (or one that it calls) compiles the other one anew."""
    return any(a.attr == holder for function in run_by(changing, cls).values() for a in function.self_assignments)


def _is_called_around(event: Transformed, assignment: AssignAttribute, body: Body) -> bool:
    """Whether the compiled function is called before and after an attribute of its instance is assigned."""
    made = next((s for s in walk(body, nested=False) if isinstance(s, Assign) and s.value.at is event.at), None)
    if made is None or not isinstance(made.targets[0], Name):
        return False
    given = made.value.positional[:1] if isinstance(made.value, Call) else ()
    of = dotted(given[0].value) if given and isinstance(given[0], Attribute) else None
    if of is not None and assignment.receiver_text not in (of, None):
        return False
    name, changed = made.targets[0].id, place_of(assignment.at).row
    rows = _called_in(body, name)
    if any(made.at.lineno < row < changed for row in rows) and any(row > changed for row in rows):
        return True
    loops = (s for s in walk(body, nested=False) if isinstance(s, (For, While)) and made.at.lineno < s.at.lineno)
    return of is not None and any(_calls_after(loop, name, of, changed) for loop in loops)


def _calls_after(loop: For | While, name: str, instance: str, row: int) -> bool:
    """Whether a loop calls a function again after a row of it has given an attribute of the instance another value."""
    inside = list(walk(loop.body, nested=False))
    changing = next(
        (s for s in inside if s.at.lineno <= row <= s.at.end_lineno and isinstance(s, (Assign, Augment))), None
    )
    bound = {one for statement in (loop, *inside) for one in bound_names(statement)}
    if changing is None or not bound.isdisjoint((name, instance.partition(".")[0])):
        return False
    if any(isinstance(s, (Jump, Return, Raise)) for s in loop.body):
        return False
    called = _called_in(tuple(s for s in loop.body if not isinstance(s, If)), name)
    differs = isinstance(changing, Augment) or any(isinstance(p, Name) and p.id in bound for p in parts(changing.value))
    return bool(called) and (differs or min(called) < row)


def _called_in(body: Body, name: str) -> list[int]:
    """The rows in which a function is called by its name."""
    return [
        place_of(part.at).row
        for part in all_parts(body, nested=False)
        if isinstance(part, Call) and isinstance(part.func, Name) and part.func.id == name
    ]


def _problem(event: Transformed, method: Function, cls: PytreeClass, attr: str, when: str) -> Problem:
    way_out = f"pass `{attr}` as an argument"
    return Problem(
        at=event.at,
        message=(
            f"the compiled `{method.name}` of `{cls.name}` reads `{attr}` when it is compiled: {when}, it still"
            f" computes with the old value; {way_out}"
        ),
        reason="the instance is no argument of the compiled function, and its attributes are constants in it",
        help=way_out,
    )


def _problem_of_part(
    event: Transformed, compiled: Function, cls: PytreeClass, changed: str, changing: Function
) -> Problem:
    """The problem of a method of an instance that `self` holds: it is bound to that instance, and to its values."""
    part = changed.partition(".")[0]
    way_out = f"compile a function that is given `{part}` as an argument"
    return Problem(
        at=event.at,
        message=(
            f"`{compiled.name}` of `{cls.name}` is compiled with the instance that `{part}` holds now: after"
            f" `{changing.name}` changes `{changed}`, it still computes with the old values; {way_out}"
        ),
        reason="the instance is no argument of the compiled function, and its leaves are constants in it",
        help=way_out,
    )
