"""Numbers in static fields that change from step to step: each value is another compilation."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import msgspec

from jaxlint.finding import Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import (
    AssignAttribute,
    CodeRead,
    Construct,
    Event,
    FieldEvent,
    KeywordValue,
    Replace,
)
from jaxlint.infer.known.counting import is_swept
from jaxlint.infer.known.values import UNKNOWN, Container, FieldRead, Scalar, Value, plain
from jaxlint.libraries.transforms import CARRIED, Kind
from jaxlint.libraries.updates import COPYING_NAMES
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.bodies.around import outermost_body
from jaxlint.rules.analyses.bodies.loops import classes_compiled, made_for_each_turn
from jaxlint.rules.analyses.bodies.stages import counts
from jaxlint.rules.analyses.fields.begun_here import begins_here
from jaxlint.rules.analyses.fields.counting_inside import (
    ends_with_its_call,
    ends_with_the_call,
    stays_in_variable,
)
from jaxlint.rules.analyses.fields.keeping import is_stored
from jaxlint.rules.analyses.fields.needed_numbers import Need
from jaxlint.rules.analyses.fields.put_back import is_put_back
from jaxlint.rules.analyses.fields.rebuilt import counts_on
from jaxlint.rules.analyses.fields.resized import grows, is_resized
from jaxlint.rules.analyses.fields.seldom_moved import (
    holds,
    is_of_stage,
    is_put_for_stage,
    is_seldom_moved,
    is_stage,
    tries_again,
)
from jaxlint.rules.analyses.fields.stepped import SCALING, Moved, moved_at_each_turn
from jaxlint.rules.analyses.fields.swept import swept_into
from jaxlint.rules.analyses.fields.swept_by_loops import swept_by_loops
from jaxlint.rules.analyses.under_trace.traced import carries_arrays, is_seen_to_cross
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Lambda,
    dotted,
    last_name,
)
from jaxlint.syntax.statements import (
    For,
    If,
    While,
    all_parts,
    parts,
    walk,
)

#: Words in names of what goes up now and then, while things are set up or changed on the host: an axis as in
#: neural-tangents (JAX202 in the ledger), and its kin (static-counter/good_axes, good_stages).
_RARELY = frozenset(
    """depth level levels layer layers version revision exponent power order degree rank dim dims ndim size sizes width
    height capacity resolution stage phase axis axes""".split()
)
#: Names of sizes, limits and seeds, which are raised when something begins anew: my_little_optimizer of batch 80 makes
#: its sampler again with twice the `n_steps` of its scan.
_SIZES = re.compile(r"^(max|min|total)_|^(num|n)_(steps|epochs|iterations|layers)$|^seed$|_limit$")
_CHANGES, _COUNTS = "is static and changes from step to step", "is static and counts up"


class StaticNumber(msgspec.Struct, frozen=True):
    """A static field that gets another number at each step, and where."""

    at: object
    cls: PytreeClass
    field: Field
    #: What the field does, as a part of the message.
    what: str
    confidence: Confidence
    #: Whether a loop of jax carries it.
    carried: bool = False
    #: Whether it is a float that a copy has instead of the one before (JAX209), and no counter (JAX202).
    is_scheduled: bool = False
    #: Whether it happens in a loop.
    in_loop: bool = True
    #: Whether a compiled function does it.
    is_compiled: bool = False
    #: Whether the loop has another one for each number.
    is_stage: bool = False
    #: Whether there are few of these, which are written out, and the name of the field does not say that it counts.
    is_of_few: bool = False


def numbers_put(event: Event, evaluator: Evaluator, compiled: Collection[PytreeClass] = ()) -> Iterator[StaticNumber]:
    """The numbers that a construction, an update or an assignment puts into static fields at each step.

    Instances of the `compiled` classes are passed to compiled functions, equinox's too, by the body around.
    """
    loops = False
    if isinstance(event, Construct):
        cls, values, loops = event.cls.cls, event.arguments, event.in_loop and event.into_jit
    elif isinstance(event, Replace):
        loops = event.in_loop and (event.rebinds or event.into_jit)
        cls, values = event.receiver.cls, event.keywords
        if event.stays or (event.in_loop and event.stays_until_returned and not _is_compiled(event)):
            return
    else:
        assert isinstance(event, AssignAttribute)
        cls, values = event.receiver.cls, (KeywordValue(event.attr, event.at, event.value),)
        if event.how not in ("assign", "augment") or not event.may_take_effect:
            return
        loops = event.in_loop
    for value in values:
        field = _static_field(value.name, cls)
        if field is None:
            continue
        if not isinstance(event, AssignAttribute) and not is_stored(field.name, cls):
            continue
        is_rebuilt = isinstance(event, Construct) and _is_compiled(event) and counts_on(event, value)
        goes_up = (is_rebuilt or _counts_up(value.value, field, cls)) and _is_number(field, cls, evaluator)
        goes_up = goes_up and _is_repeated(event, field, value.value, evaluator)
        if isinstance(event, Construct) and isinstance(value.value, FieldRead) and value.value.by_fields:
            continue  # what is made of something that has the same names is no copy of it, perhaps
        if not goes_up and not (loops and is_swept(plain(value.value))):
            continue
        if not isinstance(event, AssignAttribute) and event.in_comprehension and not _is_counter(field):
            continue  # trials, each of which gives a result of its own
        if goes_up and (is_put_back(event, field.name, evaluator) or begins_here(event, field.name, evaluator)):
            continue
        if not ends_with_its_call(event, field.name, evaluator) and not is_seldom_moved(event, field.name, evaluator):
            meets = cls in compiled or _meets_jax(event, cls, evaluator)
            sure = Confidence.MEDIUM if is_rebuilt else Confidence.HIGH
            confidence = sure if meets else Confidence.LOW
            is_scheduled = _is_float(value.value) and (goes_up or not isinstance(event, Construct))
            what = _CHANGES if _is_float(value.value) else _COUNTS
            is_compiled = _is_compiled(event) or _is_called_compiled(event, evaluator)
            yield StaticNumber(
                value.at,
                cls,
                field,
                what,
                confidence,
                _is_carried(event, evaluator),
                is_scheduled,
                event.in_loop,
                is_compiled,
                is_stage(event, evaluator),
                not is_compiled and _is_of_few(event, value.at, field, evaluator),
            )


def numbers_made(code: CodeRead, evaluator: Evaluator) -> Iterator[StaticNumber]:
    """The numbers in static fields of what a loop makes anew at each turn, and a compiled function takes."""
    for construct, cross in made_for_each_turn(code):
        if not any(applied.transform.kind is Kind.JIT for applied in cross.applied):
            continue
        cls = construct.cls.cls
        for given in construct.arguments:
            field = _static_field(given.name, cls)
            if field is not None and is_swept(plain(given.value)) and is_stored(field.name, cls):
                what = _CHANGES if _is_float(given.value) else _COUNTS
                yield StaticNumber(given.at, cls, field, what, Confidence.HIGH)


def numbers_moved(code: CodeRead, evaluator: Evaluator) -> Iterator[StaticNumber]:
    """The numbers in static fields that a loop moves at each turn, or goes through, and a compiled function takes."""
    if not code.events:
        return
    yield from _swept(code, evaluator)
    for moved in moved_at_each_turn(code, evaluator, SCALING, sets=True):
        field = _static_field(moved.field, moved.cls)
        if field is None or _is_put(moved, code, evaluator) or tries_again(moved.copy.at, moved.field, code.body):
            continue
        if any(applied.transform.kind is Kind.JIT for applied in moved.applied):
            is_scheduled = plain(evaluator.promises.field(field, moved.cls)) != Scalar("int")
            at, cls = moved.copy.at, moved.cls
            yield StaticNumber(at, cls, field, _CHANGES, Confidence.HIGH, False, is_scheduled, moved.in_loop)


def is_meant(number: StaticNumber, need: Need) -> bool:
    """Whether few numbers are meant, each of which is worth a compilation, as a compiled function needs to know it.

    That is how much there is of something, unless it counts steps or a compiled function moves it; and what no loop
    moves, or one that has another loop for each number.
    """
    if number.is_compiled or _is_counter(number.field):
        return False
    return need.is_for_structure or not number.in_loop or number.is_stage


def _is_counter(field: Field) -> bool:
    """Whether the name of a field says that it counts."""
    return counts(field.name)


def _is_of_few(event: FieldEvent, at: object, field: Field, evaluator: Evaluator) -> bool:
    """Whether a field is set for each of a few stages, each of which has a loop of its own."""
    is_named = not _RARELY.isdisjoint(field.name.lower().split("_"))
    return not _is_counter(field) and is_put_for_stage(event, at, evaluator, is_named=is_named)


def is_seldom(number: StaticNumber, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a loop changes a number now and then, which is worth the compilation.

    So it is where the change stands under a condition, where a loop goes through a few values that are written out and
    makes an instance for each, and where a comprehension tries values.
    """
    place = place_of(number.at)
    loops = [s for s in code.statements if isinstance(s, (For, While)) and holds(s.body, place)]
    if not loops:
        return number.in_loop
    inside = list(walk(loops[-1].body, nested=False))
    if any(isinstance(s, If) and place_of(s.at).holds(place) for s in inside):
        return True
    return is_of_stage(number.at, code.body, code.place, evaluator)


def _is_put(moved: Moved, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether the number is put into the field where the loop stands, which is an event."""
    events = (e for e in code.events if isinstance(e, (Construct, Replace)) and e.call.at is moved.copy.at)
    return any(number.field.name == moved.field for event in events for number in numbers_put(event, evaluator))


def _swept(code: CodeRead, evaluator: Evaluator) -> Iterator[StaticNumber]:
    """The floats that a loop over something unknown gives to what it computes with from turn to turn."""
    made = {
        id(construct)
        for construct, cross in made_for_each_turn(code)
        if any(applied.transform.kind is Kind.JIT for applied in cross.applied)
    }
    compiled = classes_compiled(code)
    for event, given in swept_into(code, evaluator):
        cls = event.cls.cls if isinstance(event, Construct) else event.receiver.cls
        field = _static_field(given.name, cls)
        if field is None or is_swept(plain(given.value)):
            continue
        if plain(evaluator.promises.field(field, cls)) == Scalar("float") and is_stored(field.name, cls):
            passed = event.into_jit or id(event) in made or (isinstance(event, Replace) and cls in compiled)
            if passed or is_seen_to_cross(cls, evaluator):
                is_scheduled = isinstance(event, Replace)
                yield StaticNumber(given.at, cls, field, _CHANGES, Confidence.MEDIUM, is_scheduled=is_scheduled)
    for construct, given in swept_by_loops(code, evaluator):
        cls, number = construct.cls.cls, plain(given.value)
        field = _static_field(given.name, cls)
        if field is None or is_swept(number) or not is_stored(field.name, cls):
            continue
        if plain(evaluator.promises.field(field, cls)) == Scalar("float"):
            yield StaticNumber(given.at, cls, field, _CHANGES, Confidence.MEDIUM)


def _is_float(value: Value) -> bool:
    number = plain(value)
    return isinstance(number, Scalar) and number.kind == "float"


def _static_field(name: str, cls: PytreeClass) -> Field | None:
    """A field that is static, not only by its value, in a framework whose objects also live outside of jit."""
    field = cls.field(name)
    if field is None or field.role is not Role.STATIC or (cls.framework.is_stateful and not field.metadata):
        return None
    return field


def _counts_up(value: Value, field: Field, cls: PytreeClass) -> bool:
    """Whether the value is the field's own value plus or minus something."""
    return (
        isinstance(value, FieldRead)
        and value.stepped
        and value.field == field.name
        and (value.cls in cls.mro or cls in value.cls.mro)
    )


def _is_number(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether the field may hold a number: a string or a tuple that grows is no counter."""
    value = plain(evaluator.annotations.read(field.annotation, cls)) if field.annotation is not None else UNKNOWN
    return not isinstance(value, Container) and not (isinstance(value, Scalar) and value.kind in ("str", "bytes"))


def _is_repeated(event: FieldEvent, field: Field, value: Value, evaluator: Evaluator) -> bool:
    """Whether the update may run at each step: in a loop, or in a function, if it is not said to go up rarely.

    What is no counter by its name and changes by no stated number may be moved once: `z=self.z + dz`.
    """
    if isinstance(event, Construct) and field.name in ("depth", "level", "layer", "index"):
        return False  # a child of a tree
    words = field.name.lower().split("_")
    is_counter = _is_counter(field) and not _is_scaled(event, field)
    is_moved = isinstance(value, FieldRead) and value.shifted and not is_counter
    is_size = _SIZES.search(field.name) is not None or not _RARELY.isdisjoint(words)
    if event.in_loop and not _is_of_another(event) and not (is_moved and is_size):
        return not is_resized(event, evaluator)
    if not (event.in_loop or event.place.functions) or _SIZES.search(field.name) or grows(event):
        return False
    if ends_with_the_call(event, field.name, evaluator) or stays_in_variable(event, field.name, evaluator):
        return False
    if not is_moved and _RARELY.isdisjoint(words):
        return True
    if _is_handed_down(event, evaluator):
        return False
    return _is_compiled(event) or _is_called_compiled(event, evaluator)


def _is_handed_down(event: FieldEvent, evaluator: Evaluator) -> bool:
    """Whether the changed copy is an argument of another call and goes nowhere else: settings for a part of a model.

    An update that puts it into the object that holds it goes on with it.
    """
    if not isinstance(event, Replace) or event.rebinds or event.into_jit or not event.place.functions:
        return False
    body = outermost_body(event.place, evaluator)
    at = place_of(event.call.at)
    calls = (part for part in all_parts(body) if isinstance(part, Call) and last_name(part.func) not in COPYING_NAMES)
    return any(isinstance(a.value, Call) and place_of(a.value.at) == at for call in calls for a in call.args)


def _is_of_another(event: FieldEvent) -> bool:
    """Whether each turn of a loop copies another instance, or the same one as before: the variable is not renewed."""
    if not isinstance(event, Replace) or event.base is None or event.rebinds or event.into_jit:
        return False
    return dotted(event.base) is not None


def _is_scaled(event: FieldEvent, field: Field) -> bool:
    """Whether a copy has a multiple of the number: that of a counter is the width of a step, and not their number."""
    value = None if isinstance(event, AssignAttribute) else event.call.keyword(field.name)
    return isinstance(value, Binary) and value.op in ("*", "/", "//")


def _is_compiled(event: Event) -> bool:
    """Whether a function around the update is transformed."""
    return any(event.place.applied(function) for function in event.place.functions)


def _is_carried(event: FieldEvent, evaluator: Evaluator) -> bool:
    """Whether a loop of jax that has a carry calls a function around the update, or a lambda, at each of its turns."""
    place = event.place
    if any(one.transform.name in CARRIED for function in place.functions for one in place.applied(function)):
        return True
    if isinstance(event, AssignAttribute) or not place.functions:
        return False
    body, at = evaluator.calls.body_of(FunctionSymbol(place.module, place.functions[-1])), place_of(event.call.at)
    resolver = evaluator.model.resolver
    return any(
        any(isinstance(a.value, Lambda) and place_of(a.value.at).holds(at) for a in part.args)
        and resolver.library_name(part.func, place.module, place.scope) in CARRIED
        for part in all_parts(body or ())
        if isinstance(part, Call)
    )


def _meets_jax(event: Event, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether instances are seen to go into a transformation, or must hold arrays: records of the host stay there."""
    return (
        _is_compiled(event)
        or is_seen_to_cross(cls, evaluator)
        or (carries_arrays(cls, evaluator) and not _hands_over_parts(event, cls, evaluator))
        or _is_called_compiled(event, evaluator)
    )


def _hands_over_parts(event: Event, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether the code around the update gives a leaf to a compiled function, as do those that keep the rest outside.

    equinox's filtered transformations take instances as a whole, which is not all seen.
    """
    if cls.framework.filters or not event.place.functions:
        return False
    module, function = event.place.module, event.place.functions[0]
    scope, leaves = function.inner_scope, {leaf.name for leaf in cls.leaves or ()}
    for part in all_parts(evaluator.calls.body_of(FunctionSymbol(module, function)) or ()):
        if isinstance(part, Call) and any(isinstance(a, Attribute) and a.attr in leaves for a in part.positional):
            symbol = evaluator.model.resolver.resolve(part.func, module, scope)
            if isinstance(symbol, FunctionSymbol):
                applied = evaluator.calls.transformed.of(symbol.declaration, symbol.module)
                if any(one.transform.kind is Kind.JIT for one in applied):
                    return True
    return False


def _is_called_compiled(event: Event, evaluator: Evaluator) -> bool:
    """Whether a transformed function calls the one around the update, as far as names tell.

    It stands in the same module, or in one that imports it and names the class whose method the update stands in.
    """
    place = event.place
    names = {function.name for function in place.functions}
    owner = place.owner
    others = evaluator.model.importers(place.module) if owner is not None and place.functions else ()
    naming = [
        home
        for home in others
        if owner is not None and owner.name in home.source.text and any(name in home.source.text for name in names)
    ]
    return any(_calls_compiled(names, home, evaluator) for home in (place.module, *naming))


def _calls_compiled(names: set[str], module: Module, evaluator: Evaluator) -> bool:
    """Whether a transformed function of a module calls something of one of the names."""
    if any(last_name(part) in names for applying in module.outline.applying for part in parts(applying.call)):
        return True
    for function in module.outline.functions.values():
        body = evaluator.calls.body_of(FunctionSymbol(module, function)) or ()
        is_calling = any(last_name(part) in names for part in all_parts(body))
        if is_calling and evaluator.calls.transformed.of(function, module):
            return True
    return False
