"""JAX201 static-array-field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from jaxlint.cst.changes import Proposal
from jaxlint.cst.failing import proposing
from jaxlint.finding import Confidence
from jaxlint.infer.calls.transformed_classes import instances_in, traced_by
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, Construct, Cross, Event, KeywordValue, Replace
from jaxlint.infer.known.promises import made_by_defaults
from jaxlint.infer.known.values import (
    Array,
    Choice,
    Instance,
    Scalar,
    Value,
    arrays_in,
    is_one_number,
    plain,
)
from jaxlint.libraries.transforms import Kind
from jaxlint.project.modules import Module
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.pytrees.stubs import is_stub
from jaxlint.rules.analyses.fields.arrays_held import declared_value, holds_array
from jaxlint.rules.base import ClassRule, EventRule, Problem
from jaxlint.syntax.expressions import Constant

if TYPE_CHECKING:
    from jaxlint.rules.analyses.fields.needed_numbers import Need

#: What Python needs the values of, as `range`, a slice or `if` do. Beside a float, an int is a number to compute with.
_PYTHONS_OWN = frozenset({"int", "bool", "str", "bytes"})


class StaticArrayField(ClassRule, EventRule):
    """
    ## What it does

    Finds arrays in static fields (meta fields, aux data): by the field's annotation, its default, a constructor or
    `replace` argument, or an assignment in `__init__`; also arrays inside tuples, lists, dicts and nested classes.

    ## Why is this bad?

    Static fields are part of the treedef and are compared with `==`. The first call works. As soon as a second,
    distinct array meets the first, the comparison of two arrays of more than one element has no truth value.
    Until then the values are baked into the compiled function.

    ## What you will see

    `ValueError: Exception raised while checking equality of metadata fields of pytree. Make sure that metadata fields
    are hashable and have simple equality semantics. (Note: arrays cannot be passed as metadata fields!)`, on the
    second instance. Equinox warns `A JAX array is being set as static!`; nnx refuses the instance: `Found unexpected
    data on value of type …`.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Probe:
        gain: jax.Array
        weights: jax.Array = struct.field(pytree_node=False)
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Probe:
        gain: jax.Array
        weights: jax.Array
    ```

    ## Frameworks

    All that have static fields: flax.struct, TrainState, register_dataclass (`meta_fields`,
    `metadata=dict(static=True)`), register_static, register_pytree_node_class (aux data), jax_dataclasses
    (`Static[...]`), tjax, equinox, simple_pytree, penzai, nnx (`nnx.static()`), treex (`tx.static()`). In mjx,
    `np.ndarray` fields are static by design and no finding, but `jax.Array | None` is silently static and is one.
    chex and NamedTuple have no static fields.

    ## Fix safety

    The marker is dropped, or the name goes from `meta_fields` to `data_fields`, if the class is in the same file. The
    fix is unsafe: the pytree has another structure then. There is no fix for a field that may hold an `int`,
    `bool` or `str` instead, as in `int | Array`: code that asks for its value could not do so any more;
    nor for a number that a compiled function needs for a shape or a `range`.

    ## When not to use it

    An array of one element compares without error (and recompiles for every value). Where that is certain, as for
    `Float[Array, ""]` or `jnp.max(x)`, nothing is reported. If the field must stay static, hold a hashable value
    instead: a tuple, `bytes`, or a wrapper class with `__eq__` and `__hash__`. A class without array leaves, such as a
    bundle of constants, may be meant for the host alone, and so may tables of numpy in an equinox module: unless the
    class is seen to go into a transformation, such fields are reported with low confidence only. An instance that
    stands in the place of a function is not reported then.

    ## References

    - [jax #24204](https://github.com/jax-ml/jax/issues/24204)
    - [jax #7826](https://github.com/jax-ml/jax/issues/7826)
    - [equinox #746](https://github.com/patrick-kidger/equinox/issues/746)
    """

    code = "JAX201"
    name = "static-array-field"
    group = "roles"
    since = "0.1.0"
    events = (Construct, Replace, AssignAttribute, Cross)

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the annotations and defaults of the class's own static fields."""
        for field in cls.static_fields:
            if field.owner == cls.symbol:
                yield from _declared(field, field.at, cls, cls.module, evaluator)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the values that are put into static fields, and at bundles of constants that cross."""
        from jaxlint.rules.analyses.rebuilding.frozen import refuses_assignment
        from jaxlint.rules.analyses.under_trace.tracers_given import hands_out_tracer

        if isinstance(event, Cross):
            yield from _traced(event, evaluator)
            return
        if isinstance(event, Construct):
            cls, values = event.cls.cls, _stored(event.arguments, event.cls.cls, evaluator)
        elif isinstance(event, Replace):
            cls, values = event.receiver.cls, event.keywords
            if cls.custom_init() is None:
                values = _stored(values, cls, evaluator)
        else:
            assert isinstance(event, AssignAttribute)
            cls, values = event.receiver.cls, (KeywordValue(event.attr, event.at, event.value),)
            if event.how not in ("assign", "setattr", "unpack") or refuses_assignment(event):
                return
        if _compares_itself(cls) or cls.symbol.declaration.expects_error:
            return
        for value in values:
            field = cls.field(value.name)
            if field is None or field.role is not Role.STATIC or _static_by_omission(field, cls):
                continue
            if field.is_converted:
                continue  # after `__init__`, too
            sure = gives_array(value.value, cls, evaluator)
            if sure is None or _says_array(field, cls, evaluator) is not None:
                continue  # no array, or reported at the field
            if not isinstance(event, AssignAttribute) and hands_out_tracer(event, value, field, cls, evaluator):
                continue  # what comes out of the function holds a tracer, as JAX208 tells
            contradicts = holds_array(declared_value(field, cls, evaluator), cls, evaluator) is not None
            if not sure and (contradicts or evaluator.promises.no_large_array(field, cls)):
                continue  # two annotations contradict each other, or it may be an array of one element
            confidence = _confidence(sure, _crosses(cls, evaluator), arrays_in(value.value), cls)
            if _can_be_called(value.value) and not _may_cross_from(event.place.module, cls, evaluator):
                continue  # it stands in the place of a function, in settings that go nowhere
            # aux data is put right in tree_flatten, wherever the instance is made
            flattens = any(cls.method(name) is not None for name in ("tree_flatten", "tree_flatten_with_keys"))
            in_flatten = flattens and field.owner.module is event.place.module
            at, how = field.at if in_flatten else value.at, "is static and is given an array"
            need = None if in_flatten else _needed(field, cls, event.place.module, evaluator)
            fix = _as_leaf(field, cls, event.place.module, evaluator) if need is None else None
            yield _problem(at, cls, field, how, confidence, fix, need)


def _needed(field: Field, cls: PytreeClass, module: Module, evaluator: Evaluator) -> Need | None:
    """What a compiled function needs a field for that is declared as a number, and that must be static for it."""
    from jaxlint.rules.analyses.fields.needed_numbers import need_of

    if not isinstance(plain(declared_value(field, cls, evaluator)), Scalar):
        return None
    need = need_of(field.name, cls, module, evaluator)
    return need if need is not None and need.is_for_structure else None


def _may_cross_from(module: Module, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether instances go into a transformation, as is seen, which has to do with what a module makes."""
    traced = [found for one in evaluator.model.family(cls) if (found := evaluator.traced.of(one)) is not None]
    senders = evaluator.traced.senders(cls, traced, module)
    imports = evaluator.model.project_index.imports
    return bool(traced) and not (bool(senders) and imports.are_apart(module.path, senders))


def _can_be_called(value: Value) -> bool:
    """Whether a value is an instance that stands in the place of a function."""
    held = plain(value)
    return isinstance(held, Instance) and held.cls.method("__call__") is not None


def _crosses(cls: PytreeClass, evaluator: Evaluator) -> Confidence:
    """How sure it is that instances go into a transformation: that is seen, or they are made for it."""
    from jaxlint.rules.analyses.instances.taken_by_filters import is_declared_for_filters
    from jaxlint.rules.analyses.under_trace.traced import is_seen_to_cross

    if is_seen_to_cross(cls, evaluator):
        return Confidence.HIGH
    if _is_made_to_cross(cls, evaluator) or is_declared_for_filters(cls, evaluator):
        return Confidence.MEDIUM
    return Confidence.LOW


def _is_made_to_cross(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a class like this one is written in order to be transformed.

    So are modules, what says how to flatten it, and what must be given an array for a leaf. equinox's filtered
    transformations take everything, so that what is traced is not all seen.
    """
    from jaxlint.rules.analyses.under_trace.traced import carries_arrays

    if cls.answers("__hash__"):
        return False  # static values and keys of dicts say how they are hashed
    if cls.framework.filters:
        return cls.leaves != () or any(one.symbol.declaration.methods for one in cls.mro)  # else a record of the host
    if cls.leaves == () or cls.explicit_leaves == ():
        return False  # nothing in it is traced: it may be registered so that it can go along, and never do
    if not cls.framework.for_records or any(is_stub(one.module) for one in cls.mro):
        return True
    return carries_arrays(cls, evaluator)


def _compares_itself(cls: PytreeClass) -> bool:
    """Whether instances are compared as a whole, by a method that may know arrays."""
    return cls.framework.is_opaque and cls.eq is not True


def _traced(event: Cross, evaluator: Evaluator) -> Iterator[Problem]:
    """The static fields with arrays of the instances that are passed to a transformed function."""
    if traced_by(event) is None and not _is_filtered(event):
        return
    for cls in instances_in(event.value):
        if cls.symbol.declaration.expects_error:
            continue
        if evaluator.traced.declared.get(cls.symbol.key) is None and not _is_made_to_cross(cls, evaluator):
            for field in cls.static_fields:
                is_here = field.owner.module is event.place.module
                yield from _declared(
                    field, field.at if is_here else event.at, cls, event.place.module, evaluator, Confidence.HIGH
                )


def _is_filtered(event: Cross) -> bool:
    """Whether an argument is given to a function that equinox compiles: what is static in it is compared."""
    jits = (applied.transform for applied in event.applied if applied.transform.kind is Kind.JIT)
    return event.static is False and any(transform.filters for transform in jits)


def _declared(
    field: Field, at: object, cls: PytreeClass, module: Module, evaluator: Evaluator, crosses: Confidence | None = None
) -> Iterator[Problem]:
    """What annotation and default of a static field say that it holds; it is said in `module`."""
    from jaxlint.rules.analyses.fixes.roles import make_leaf

    if _static_by_omission(field, cls) or _compares_itself(cls):
        return
    value = declared_value(field, cls, evaluator)
    sure = _says_array(field, cls, evaluator)
    if sure is None and holds_module(value, evaluator):
        yield _module_problem(at, cls, field, make_leaf(field, cls, module, evaluator.model))
    if sure is not None:
        fix = _as_leaf(field, cls, module, evaluator)
        confidence = _confidence(sure, crosses or _crosses(cls, evaluator), arrays_in(value), cls)
        yield _problem(at, cls, field, "is declared static and holds an array", confidence, fix)


def _says_array(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool | None:
    """True if annotation and default say that a field holds an array, False if it may, None if code knows better."""
    from jaxlint.rules.analyses.instances.given_literals import (
        is_given_number,
        is_given_one_element,
        is_number_by_default,
    )

    value = declared_value(field, cls, evaluator)
    sure = holds_array(value, cls, evaluator)
    for default in made_by_defaults(field):
        if sure is None:
            sure = gives_array(evaluator.static(default), cls, evaluator) or None
    if sure is True and (is_given_number(field, cls, evaluator) or is_number_by_default(field, cls, evaluator)):
        return None  # or a tuple of some, whatever the annotation says
    if isinstance(plain(value), Array) and _is_assigned_numbers(field, cls, evaluator):
        return None
    if isinstance(value := plain(value), Array) and value.single is None:
        sure = None if is_given_one_element(field, cls, evaluator) else sure
    return None if sure is not None and _is_called(field, cls) else sure


def _is_called(field: Field, cls: PytreeClass) -> bool:
    """Whether a method calls what the field holds: `Mapping[Array, Array]` is meant to be `Callable`."""
    return re.search(rf"\bself\.{field.name}\s*\(", cls.module.source.text) is not None


def _is_assigned_numbers(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether all that methods assign to a field are numbers or arrays of one element, by way of variables, too."""
    given = cls.assigned.get(field.name, ())
    return bool(given) and all(one is not None and is_one_number(evaluator.assigned_value(one)) for one in given)


@proposing
def _as_leaf(field: Field, cls: PytreeClass, module: Module, evaluator: Evaluator) -> Proposal | None:
    """The fix. None for a field that may hold a size or a name instead: as leaves these could not be used as such."""
    from jaxlint.rules.analyses.fixes.roles import make_leaf

    value = plain(declared_value(field, cls, evaluator))
    options = map(plain, value.options) if isinstance(value, Choice) else ()
    kinds = {option.kind for option in options if isinstance(option, Scalar)}
    if kinds & _PYTHONS_OWN and "float" not in kinds:
        return None
    return make_leaf(field, cls, module, evaluator.model)


def _confidence(sure: bool, crosses: Confidence, arrays: list[Array], cls: PytreeClass) -> Confidence:
    """Arrays of numpy may stay on the host with a module of equinox: until that is seen to cross, they are tables."""
    are_tables = bool(arrays) and all(array.library == "numpy" for array in arrays)
    if are_tables and cls.framework.filters and crosses is not Confidence.HIGH:
        return Confidence.LOW
    return crosses if sure or crosses is Confidence.LOW else Confidence.MEDIUM


def _stored(given: tuple[KeywordValue, ...], cls: PytreeClass, evaluator: Evaluator) -> tuple[KeywordValue, ...]:
    """The arrays that a constructor is given and the fields hold, and nothing of what it makes something else of."""
    arrays = [one for one in given if gives_array(one.value, cls, evaluator) is not None]
    stored = evaluator.calls.stored_parameters(cls) if arrays else {}
    return tuple(msgspec.structs.replace(one, name=stored[one.name]) for one in arrays if one.name in stored)


def _static_by_omission(field: Field, cls: PytreeClass) -> bool:
    """Whether the field is static only because treex found no kind (JAX214), or mjx no array in a string (JAX213)."""
    place = field.annotation
    if cls.framework.static_by_annotation and place is not None:
        is_text = isinstance(place.expr, Constant) and place.expr.kind == "str"
        return is_text or place.module.outline.future_annotations
    return cls.framework.is_stateful and not field.metadata


def holds_module(value: Value, evaluator: Evaluator) -> bool:
    """Whether values of this description are equinox modules with arrays: those are compared by value."""
    value = plain(value)
    if not isinstance(value, Instance) or not value.cls.framework.defines_eq:
        return False
    leaves = value.cls.leaves or ()
    return any(isinstance(evaluator.promises.field(leaf, value.cls), Array) for leaf in leaves)


def _module_problem(at: object, cls: PytreeClass, field: Field, fix: Proposal | None) -> Problem:
    from jaxlint.rules.analyses.fixes.roles import unmarking_help

    return Problem(
        at=at,
        message=(
            f"field `{field.name}` of `{cls.name}` is declared static and holds a module with arrays:"
            " its arrays are no leaves, and every new value recompiles; make it a data field"
        ),
        reason="a static module is part of the treedef: it is not differentiated, and its arrays are compared by value",
        help=f"{unmarking_help(field, cls)}: its arrays become leaves",
        confidence=Confidence.HIGH,
        subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{field.name}",
        fix=fix,
    )


def gives_array(value: Value, cls: PytreeClass, evaluator: Evaluator) -> bool | None:
    """True if a value for a static field holds an array of several elements, False if one of unknown size."""
    value = plain(value)
    if isinstance(value, Instance):
        return holds_array(value, cls, evaluator)
    found = arrays_in(value)
    if cls.framework.compares_numpy:
        found = [a for a in found if a.library != "numpy"]
    if any(a.single is False for a in found):
        return True
    return False if any(a.single is None for a in found) else None


def _problem(
    at: object,
    cls: PytreeClass,
    field: Field,
    how: str,
    confidence: Confidence,
    fix: Proposal | None,
    need: Need | None = None,
) -> Problem:
    from jaxlint.rules.analyses.fixes.roles import unmarking_help

    way_out = "make it a data field" if need is None else need.way_out_if_static
    return Problem(
        at=at,
        message=f"field `{field.name}` of `{cls.name}` {how}: {cls.framework.static_array}; {way_out}",
        reason=(
            "static fields are compared with ==, which two arrays of more than one element do not answer;"
            " until then the values of the first instance are baked into the compiled function"
        ),
        help=f"{unmarking_help(field, cls)}, or hold a hashable value (a tuple, bytes)" if need is None else way_out,
        confidence=confidence,
        subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{field.name}",
        fix=fix,
    )
