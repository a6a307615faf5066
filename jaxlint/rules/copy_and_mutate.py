"""JAX410 copy-and-mutate."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import Proposal, Rename
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.bodies.expecting import expected_to_work
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, CodeRead, MutateField, rests_on_annotation
from jaxlint.infer.known.values import (
    NONE,
    UNKNOWN,
    Array,
    Container,
    Instance,
    Scalar,
    Value,
    as_instance,
    is_declared,
    plain,
)
from jaxlint.libraries.updates import COPY_AND_MUTATE, MUTABLE_COPY
from jaxlint.project.resolution import External
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.frameworks import JAX_DATACLASSES
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.changes.other_shapes import gets_other_shape
from jaxlint.rules.analyses.fixes.mutable_copies import (
    Block,
    Written,
    all_expressions,
    bindings,
    changing_copy,
    entering,
    is_certain,
    naming,
    not_validating,
    renewing,
    returned_parts,
    returning_copy,
    variable_of,
    written_through_variables,
)
from jaxlint.rules.analyses.instances.given_literals import stays_none
from jaxlint.rules.analyses.instances.held_elsewhere import Change, is_held
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.symbols.outline import MUTATING
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Constant, Expr, Name, dotted, is_none, is_within
from jaxlint.syntax.names_read import names_in, reads
from jaxlint.syntax.spelling import nearest
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    Augment,
    Body,
    Do,
    Outer,
    Statement,
    With,
    bound_by,
    expressions,
    parts,
    walk,
)

#: What changes, and what the assertion says of it, by whether it is no more than a shape.
_REFUSED = {False: ("structure", "Mismatched tree structure!"), True: ("shape", "Shape error")}

#: What a copy raises that has got another structure.
_MISMATCH = "AssertionError"


class CopyAndMutate(BodyRule):
    """
    ## What it does

    Finds wrong uses of `jax_dataclasses.copy_and_mutate`: without `with` or without `as`, the copy never used or the
    original returned in its place, the original changed through what both share, and changes that are refused.

    ## Why is this bad?

    `copy_and_mutate(x)` is a context manager that makes a copy whose attributes may be assigned until the block ends.
    Without `with` there is no copy, and an attribute is set on the context manager. Without `as` the copy cannot be
    reached. The original stays as it is, so whoever returns it returns the old values. The copy shares its numpy
    arrays, and the lists and dicts in static fields, with the original: what is written into them in place changes
    both. Assignments are compared with what was there: a leaf that becomes None, a tuple or a list is refused, and so
    is an array of another shape.

    ## What you will see

    Mostly no error: old values, or an original that has changed. `AssertionError: Mismatched tree structure!` where
    the structure changes, `AssertionError: Shape error` where a shape does, `AttributeError: 'Pose' object has no
    attribute 'positon'` for a name that is no field.

    ## Example

    ```python
    import jax
    import jax_dataclasses as jdc

    @jdc.pytree_dataclass
    class Pose:
        position: jax.Array

    def move(pose: Pose, by: jax.Array) -> Pose:
        with jdc.copy_and_mutate(pose) as moved:
            moved.position = pose.position + by
        return pose
    ```

    ## Use instead

    ```python
    import jax
    import jax_dataclasses as jdc

    @jdc.pytree_dataclass
    class Pose:
        position: jax.Array

    def move(pose: Pose, by: jax.Array) -> Pose:
        with jdc.copy_and_mutate(pose) as moved:
            moved.position = pose.position + by
        return moved
    ```

    ## Frameworks

    jax_dataclasses. Assigning an attribute of the original, or of the copy after the block, raises and is
    frozen-assignment (JAX401).

    ## Fix safety

    The copy is returned in place of the original where it certainly is there, an array of numpy is copied before the
    copy is written to, `with` and `as` are put where they are missing and attributes are assigned, a block in which the
    structure changes gets `validate=False`, and a name that is nearly that of a field becomes that. All of them are
    unsafe.

    ## When not to use it

    A function that hands the context manager on (`return jdc.copy_and_mutate(x)`,
    `stack.enter_context(jdc.copy_and_mutate(x))`) is not reported. Numpy arrays are determined by the annotation of the
    field; `x.points += …` of a field that holds jax arrays in truth is harmless.

    ## References

    - [jax_dataclasses: mutations](https://github.com/brentyi/jax_dataclasses#mutations)
    """

    code = "JAX410"
    name = "copy-and-mutate"
    group = "updates"
    about_values = True
    since = "0.1.0"

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the calls of `copy_and_mutate` in one body."""
        for statement in expected_to_work(code.body, _MISMATCH):
            match statement:
                case With(items=items, body=body):
                    for value, target in items:
                        if isinstance(value, Call) and _is_copy(value, code, evaluator):
                            yield from _entered(value, target, body, code, evaluator)
                case Do(value=Call() as value) | Assign(targets=(_,), value=Call() as value):
                    if _is_copy(value, code, evaluator):
                        yield from _not_entered(value, statement, code)


def _is_copy(call: Call, code: CodeRead, evaluator: Evaluator) -> bool:
    if isinstance(call.func, Attribute) and call.func.attr != MUTABLE_COPY:
        return False
    symbol = evaluator.model.resolver.resolve(call.func, code.place.module, code.scope)
    return isinstance(symbol, External) and symbol.name == COPY_AND_MUTATE and bool(call.positional)


# -- without `with`, without `as` ------------------------------------------------------------------


def _not_entered(call: Call, statement: Statement, code: CodeRead) -> Iterator[Problem]:
    """A call that is no item of a `with` statement, unless its result is entered or handed on."""
    name = "copy"
    if isinstance(statement, Assign):
        target = statement.targets[0]
        if not isinstance(target, Name) or code.function is None:
            return
        name = target.id
        if bindings(name, code.body) > 1 or (_is_handed_on(name, code.body) and not _is_assigned_to(name, code.body)):
            return
    way_out = f"write `with {_shown(call)} as {name}:`"
    yield Problem(
        at=call.at,
        message=(
            f"`{_shown(call)}` without `with` makes no copy{_of_class(call, code)}: it is a context manager, and"
            f" attributes set on it change nothing; {way_out}"
        ),
        reason="the copy is made when the context manager is entered",
        help=way_out,
        fix=entering(call, name, code.body) if isinstance(statement, Assign) else None,
    )


def _is_handed_on(name: str, body: Body) -> bool:
    """Whether a variable is read as a whole: entered by a `with` statement, passed on, returned."""
    owners = {id(part.value) for e in all_expressions(body) for part in parts(e) if isinstance(part, Attribute)}
    return any(id(read) not in owners for read in reads(body, name))


def _is_assigned_to(name: str, body: Body) -> bool:
    """Whether attributes of a variable are assigned, as if it were the copy."""
    targets = (target for statement in walk(body) for target in bound_by(statement))
    return any(isinstance(target, Attribute) and variable_of(target) == name for target in targets)


def _entered(call: Call, target: Expr | None, body: Body, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
    """An item of a `with` statement."""
    if target is None:
        way_out, of_class = f"write `with {_shown(call)} as copy:`", _of_class(call, code)
        yield Problem(
            at=call.at,
            message=f"`with {_shown(call)}` without `as` makes a copy{of_class} that nobody can reach; {way_out}",
            reason="only the copy may be changed; the original stays frozen inside the block",
            help=way_out,
            fix=naming(call, body, code),
        )
    elif isinstance(target, Name):
        option = call.keyword("validate") or (call.positional[1] if len(call.positional) > 1 else None)
        validates = True if option is None else bool(option.value) if isinstance(option, Constant) else None
        block = Block(call, dotted(call.positional[0]), target.id, validates, body)
        yield from _unused_copy(block, code)
        yield from _changes(block, code, evaluator)
        yield from _changed_through_variables(block, code, evaluator)


# -- a copy that is never used ---------------------------------------------------------------------


def _unused_copy(block: Block, code: CodeRead) -> Iterator[Problem]:
    """The copy is changed, and nobody reads it."""
    if code.function is None or _is_used(block.copy, code.body):
        return
    returned = returned_parts(block.original, code)
    if returned:
        way_out = f"return `{block.copy}`"
        message = (
            f"`{block.original}` is returned unchanged: the changes were made to `{block.copy}`, the"
            f" copy{_of_class(block.call, code)}; {way_out}"
        )
    else:
        way_out = f"return or assign `{block.copy}`"
        message = (
            f"the changes made to `{block.copy}`, the copy{_of_class(block.call, code)}, are lost, because nobody uses"
            f" it; {way_out}"
        )
    yield Problem(
        at=returned[0].at if returned else block.call.at,
        message=message,
        reason="`copy_and_mutate` leaves the original as it is",
        help=way_out,
        fix=returning_copy(block, returned) if is_certain(block, code.body) else None,
    )


def _is_used(name: str, body: Body) -> bool:
    """Whether the variable is read for anything but to write to it."""
    if any(isinstance(s, Outer) and name in s.names for s in walk(body)):
        return True
    inner = {
        id(read) for statement in walk(body) for expr in _own_writes(statement, name) for read in names_in(expr, name)
    }
    return any(id(read) not in inner for read in reads(body, name))


def _own_writes(statement: Statement, name: str) -> tuple[Expr, ...]:
    """The expressions of a statement that does no more than to change what the variable `name` holds."""
    match statement:
        case Assign(targets=targets, value=value) if all(variable_of(t) == name for t in targets):
            return (*targets, value)
        case Augment(target=target, value=value) if variable_of(target) == name:
            return (target, value)
        case Annotate(target=target) if variable_of(target) == name:
            return expressions(statement)
        case Do(value=Call(func=Attribute(value=held, attr=attr)) as call) if attr in MUTATING:
            return (call,) if variable_of(held) == name else ()
    return ()


# -- what happens inside the block -----------------------------------------------------------------


def _changes(block: Block, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
    """Look at what the block changes, in source order."""
    inside = {id(part.at) for e in all_expressions(block.body) for part in parts(e)}
    renewed: set[str] = set()
    for event in code.events:
        if id(event.at) not in inside or not isinstance(event, (AssignAttribute, MutateField)):
            continue
        if isinstance(event, MutateField):
            yield from _written(event, block, renewed, code, evaluator)
        elif event.receiver_text is not None and event.receiver_text.partition(".")[0] == block.copy:
            path = f"{event.receiver_text}.{event.attr}"
            if event.how == "augment" and not is_within(path, renewed):
                yield from _augmented(event, path, block, code, evaluator)
            elif event.how == "assign":
                renewed.add(path)
                yield from _assigned(event, path, block, code, evaluator)


def _written(
    event: MutateField, block: Block, renewed: set[str], code: CodeRead, evaluator: Evaluator
) -> Iterator[Problem]:
    """What a field holds is changed in place."""
    text, field = event.receiver_text, event.receiver.cls.field(event.field)
    if text is None or field is None:
        return
    path = f"{text}.{event.field}"
    held = event.held
    if text.partition(".")[0] == block.copy:
        what = _shared_with_original(held, field.role) if event.how != "attribute" else None
        if what is not None and not is_within(path, renewed) and _is_held(path, event.at, block, code, evaluator):
            yield _shared(event, event.receiver, path, block, what)
    elif block.original is not None and f"{text}.".startswith(f"{block.original}."):
        if isinstance(held, (Array, Container)) and event.how != "attribute" and field.role is not Role.STATIC:
            way_out = f"change `{block.copy}{path.removeprefix(block.original)}`"
            yield Problem(
                at=event.at,
                message=(
                    f"`{path}` is changed in place and belongs to the original `{event.receiver.cls.name}`, not to the"
                    f" copy; {way_out}"
                ),
                reason="`copy_and_mutate` makes a copy so that the original may stay as it is",
                help=way_out,
                declared=rests_on_annotation(event),
                fix=changing_copy(event, path, block, renewed),
            )


def _augmented(
    event: AssignAttribute, path: str, block: Block, code: CodeRead, evaluator: Evaluator
) -> Iterator[Problem]:
    """`copy.x += 1`: numpy arrays and lists add in place, jax arrays do not."""
    field = event.receiver.cls.field(event.attr)
    if field is None or field.annotation is None:
        return
    held = plain(evaluator.promises.field(field, event.receiver.cls))
    what = _shared_with_original(held, field.role)
    if what is not None and _is_held(path, event.at, block, code, evaluator):
        yield _shared(event, event.receiver, path, block, what, Confidence.MEDIUM)


def _changed_through_variables(block: Block, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
    """`points = copy.points; points[0] = 1`: the variable holds the very array that the original has."""
    for written in written_through_variables(block, code):
        attribute, instances = written.attribute, LocalInstances.of(code, evaluator)
        receiver = instances.instance(attribute.value)
        field = None if receiver is None else receiver.cls.field(attribute.attr)
        if receiver is None or field is None or field.annotation is None:
            continue
        what = _shared_with_original(plain(evaluator.promises.field(field, receiver.cls)), field.role)
        if what is not None and _is_held(written.path, written.at, block, code, evaluator):
            yield _shared(written, receiver, written.path, block, what, Confidence.MEDIUM)


def _is_held(path: str, at: object, block: Block, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether somebody holds what the original has there, so that a change of it is to his harm."""
    change = Change(place_of(at), code, evaluator)
    return is_held(block.call.positional[0], tuple(path.split(".")[1:]), change)


def _shared_with_original(held: Value, role: Role) -> str | None:
    """What the copy holds the very same of as the original does: arrays, and what static fields hold."""
    if isinstance(held, Array) and held.library == "numpy":
        return "numpy array"
    if isinstance(held, Container) and held.kind in ("list", "dict", "set") and role is Role.STATIC:
        return held.kind
    return None


def _shared(
    event: AssignAttribute | MutateField | Written,
    receiver: Instance,
    path: str,
    block: Block,
    what: str,
    confidence: Confidence | None = None,
) -> Problem:
    original = f"`{block.original}`" if block.original is not None else "the original"
    through = f" through `{event.variable}`" if isinstance(event, Written) else ""
    if what == "numpy array":
        way_out = f"assign a new array first: `{path} = {path}.copy()`"
    else:
        way_out = f"make an instance with another {what} with `jdc.replace`"
    first = event.attribute.at if isinstance(event, Written) else event.at
    return Problem(
        at=event.at,
        message=(
            f"`{path}` of the copied `{receiver.cls.name}` is changed in place{through}, and {original} holds the same"
            f" {what}; {way_out}"
        ),
        reason="`copy_and_mutate` copies instances and data containers, not the arrays and static values in them",
        help=way_out,
        confidence=confidence,
        declared=is_declared(receiver),
        fix=renewing(first, path) if what == "numpy array" else None,
    )


def _assigned(
    event: AssignAttribute, path: str, block: Block, code: CodeRead, evaluator: Evaluator
) -> Iterator[Problem]:
    """An attribute of the copy is assigned: jax_dataclasses compares it with what was there."""
    cls = event.receiver.cls
    if cls.framework is not JAX_DATACLASSES or event.alternatives or block.validates is None:
        return
    field = cls.field(event.attr)
    if field is None:
        if all(_has_no(c, event.attr) for c in event.place.family(event.receiver)):
            yield _unknown_attribute(event, block)
    elif block.validates and field.annotation is not None:
        was_none = field.default is not None and is_none(field.default.expr)
        before, after = plain(evaluator.promises.field(field, cls)), plain(event.value)
        if was_none and field.role is Role.LEAF and (isinstance(after, Array) or _is_tree(after)):
            changes = stays_none(field, cls, evaluator)
        else:
            is_leaf = not was_none and isinstance(before, (Array, Scalar)) and before != NONE
            changes = is_leaf and (after == NONE or _is_tree(after))
        is_array = isinstance(before, Array) and field.role is Role.LEAF and not was_none
        reshaped = is_array and gets_other_shape(path, block.original, block.copy, block.body, code, evaluator)
        what, error = _REFUSED[reshaped]
        if changes or reshaped:
            way_out = "assign an array of the same shape and type, or pass `validate=False`"
            if was_none:
                way_out = "give the field an array where the instance is made, or pass `validate=False`"
            yield Problem(
                at=event.at,
                message=(
                    f"`{path}` of the copied `{cls.name}` changes its {what}, which `copy_and_mutate` refuses"
                    f" (AssertionError); {way_out}"
                ),
                reason=f"`AssertionError: {error}` is raised by the assignment",
                help=way_out,
                confidence=Confidence.MEDIUM if was_none else None,
                fix=not_validating(block),
            )


def _unknown_attribute(event: AssignAttribute, block: Block) -> Problem:
    cls = event.receiver.cls
    consequence = "the assignment raises AttributeError" if block.validates else "it is lost when the copy is rebuilt"
    close = nearest(event.attr, [f.name for f in cls.fields])
    way_out = f"did you mean `{close}`?" if close is not None else "name one of the fields of the class"
    change = Rename(event.at, close or "")
    return Problem(
        at=event.at,
        message=f"`{cls.name}` has no field `{event.attr}`: {consequence}; {way_out}",
        reason="`copy_and_mutate` reads the old value of an attribute before it sets the new one",
        help=way_out,
        subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{event.attr}",
        fix=None if close is None else Proposal(f"Name `{close}`", Applicability.UNSAFE, (change,)),
    )


def _has_no(cls: PytreeClass, name: str) -> bool:
    """Whether a class certainly has no attribute of that name."""
    if not cls.fields_known or not cls.bases_known or cls.unknown_decorator or cls.field(name) is not None:
        return False
    scopes = [c.module.outline.scopes.get(c.symbol.declaration.qualname) for c in cls.mro]
    return not any(scope is not None and name in scope.bindings for scope in scopes)


def _is_tree(value: Value) -> bool:
    """Whether a value is a container of leaves and so no leaf itself."""
    return isinstance(value, Container) and value.kind in ("list", "tuple", "dict")


def _of_class(call: Call, code: CodeRead) -> str:
    """The class of what is copied, for a message; empty if it is not a parameter of known type."""
    known = as_instance(code.parameters.get(dotted(call.positional[0]) or "", UNKNOWN))
    return "" if known is None else f" of the `{known.cls.name}`"


def _shown(call: Call) -> str:
    """The call as it is written, as far as its first argument can be shown."""
    return f"{dotted(call.func) or 'copy_and_mutate'}({dotted(call.positional[0]) or '...'})"
