"""JAX205 non-array-data-field."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import Proposal
from jaxlint.cst.failing import proposing
from jaxlint.finding import Confidence, Severity
from jaxlint.infer.calls.transformed_classes import traced_by
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Construct, Cross, Event, KeywordValue, Replace
from jaxlint.infer.known.values import NONE, UNKNOWN, Choice, Container, Scalar, Value, plain, without_none
from jaxlint.infer.transforms.calling import led_to
from jaxlint.libraries.refused import FUNCTION
from jaxlint.project.index import TracedBy
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.markers import static_marker
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.pytrees.non_arrays import CONTAINER
from jaxlint.rules.base import ClassRule, EventRule, Problem
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Call, Conditional, Expr, Name

#: What `init` of these returns has a name of its own, which says more than an annotation that names the whole.
_INITIALIZED = {"an optimizer": "state", "a linen module": "params"}
#: What is said of a class of the project that is no pytree.
_ORDINARY = "an ordinary class"
#: What JAX takes in the place of what an annotation names.
_OTHERS = frozenset({"NoneType", "int", "float", "bool", "complex"})


class NonArrayDataField(ClassRule, EventRule):
    """
    ## What it does

    Finds data fields (leaves) whose type is none that JAX accepts: strings, functions, optimizers, dtypes, enums, sets,
    paths and the like, and methods given to a data field without their call, in classes whose instances go into a
    transformation of JAX, come out of one, or are stacked.

    ## Why is this bad?

    Every leaf of an argument of `jax.jit`, `jax.grad`, `jax.vmap` or `lax.scan`, and of what their functions return,
    must be an array or a number. Anything else is refused as soon as the function is called, and so it is by
    `jax.tree.map(lambda *xs: jnp.stack(xs), *instances)`. Marked static, it becomes a part of the compiled program.

    ## What you will see

    `TypeError: Error interpreting argument to <function …> as an abstract array. The problematic value is of type
    <class 'str'> and was passed to the function at path sensor.name`; from `jax.grad`, `jax.vmap` and `lax.scan`:
    `TypeError: Argument 'imu' of type <class 'str'> is not a valid JAX type`.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Sensor:
        name: str
        reading: jax.Array

    @jax.jit
    def calibrate(sensor: Sensor) -> Sensor:
        return sensor.replace(reading=sensor.reading - 1.0)
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Sensor:
        reading: jax.Array
        name: str = struct.field(pytree_node=False)

    @jax.jit
    def calibrate(sensor: Sensor) -> Sensor:
        return sensor.replace(reading=sensor.reading - 1.0)
    ```

    ## Frameworks

    All but mjx, flax.nnx and treex, where such values are static by themselves. chex and NamedTuple have no static
    fields: keep the value elsewhere. In equinox a field for functions is usual: `eqx.filter_jit` and kin hold it
    static, so that only classes are reported that go into a transformation of JAX itself. What a field for functions
    holds may be a pytree that can be called (a module, a `jax.tree_util.Partial`): such a field is reported if its
    default is a plain function, or one is put into it, by a constructor that is written by hand, too. So is a field for
    a string or None if a string is put into it.

    ## Fix safety

    The fix marks the field static, where the framework has a marker: that is unsafe. There is none where branches of
    `cond` or `switch` return instances, which have to agree in what is static. A function in a leaf of equinox stays
    where it is: the transformation becomes equinox's, such as `eqx.filter_jit`, if it is given no options.

    ## When not to use it

    Classes that are not seen to go into a transformation, such as bundles of functions and settings, are not reported,
    nor is what a script or a test puts into its own instances, if others transform those of the class. An instance that
    its maker gives only to what filters (`eqx.filter_jit`), or of which parts are read, is left alone. What is put into
    an instance has low confidence if no function that sends others into a transformation is seen to make it, or if it
    is made in a module that none of those imports which send some in. So has what only an annotation says: that a
    container holds strings, or that a class which nobody registers is held. If all instances that go in hold something
    else in the field, suppress the finding.

    ## References

    - [jax #3045](https://github.com/jax-ml/jax/issues/3045), [equinox #1127](https://github.com/patrick-kidger/equinox/issues/1127)
    """

    code = "JAX205"
    name = "non-array-data-field"
    group = "roles"
    since = "0.1.0"
    severity = Severity.WARNING
    confidence = Confidence.MEDIUM
    raises_at_once = True
    events = (Cross, Construct, Replace)

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the class's own fields."""
        if not any(field.owner == cls.symbol and _annotated(field, cls, evaluator) for field in cls.fields):
            return  # else it is read how the class is made, and used
        traced = evaluator.traced.of(cls)
        if traced is None:
            return
        for field, what in _refused_fields(cls, evaluator):
            if field.owner == cls.symbol:
                fix = _marking(field, cls, what, cls.module, traced, evaluator)
                yield _problem(field.at, cls, field, what, traced, fix, _sureness(field, what, cls, evaluator))

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at an argument of a transformed function, or at what a constructor is given."""
        from jaxlint.rules.analyses.fields.uncalled import uncalled

        if isinstance(event, Replace):
            yield from uncalled(event, evaluator)
            return
        if isinstance(event, Construct):
            forgotten = list(uncalled(event, evaluator))
            yield from forgotten or _plain_functions(event, evaluator)
            yield from _given_text(event, evaluator)
            yield from self._stacked_fields(event, evaluator)
            return
        assert isinstance(event, Cross)
        traced = traced_by(event)
        if traced is None:
            return
        for cls in evaluator.traced.taken_apart(event.value):
            for field, what in _refused_fields(cls, evaluator):
                place = _place_of(field, event, evaluator)
                if place is not None:
                    fix = _marking(field, cls, what, event.place.module, traced, evaluator)
                    yield _problem(place, cls, field, what, traced, fix, _sureness(field, what, cls, evaluator))

    def _stacked_fields(self, event: Construct, evaluator: Evaluator) -> Iterator[Problem]:
        """What the leaves hold of an instance that is made where instances of the class are stacked."""
        from jaxlint.rules.analyses.fixes.roles import make_static

        cls, module = event.cls.cls, event.place.module
        stacking = _stacking(cls, evaluator)
        if stacking is not None and evaluator.traced.of(cls) is None:
            for field, what in _refused_fields(cls, evaluator):
                at = field.at if field.owner.module is module else event.at
                fix = make_static(field, cls, module, evaluator.model)
                yield _problem(at, cls, field, what, stacking, fix, _sureness(field, what, cls, evaluator))


def _refused_fields(cls: PytreeClass, evaluator: Evaluator) -> list[tuple[Field, str]]:
    """The leaves of a class that certainly hold something that JAX refuses, and what it is."""

    def find() -> list[tuple[Field, str]]:
        found = [(field, _refused(field, cls, evaluator)) for field in cls.fields]
        return [(field, what) for field, what in found if what is not None]

    return evaluator.model.once((_refused_fields, cls.symbol.key), find)


def _sureness(field: Field, what: str, cls: PytreeClass, evaluator: Evaluator) -> Confidence | None:
    """Low if only an annotation says what is in a container, or that a class of the project is held.

    None of 14 such findings in five sources was true (tools/ecosystem): annotations were wrong, or others cross.
    """
    from jaxlint.rules.analyses.instances.given_literals import is_given_container_of_objects, is_given_object
    from jaxlint.rules.analyses.instances.hopes import is_made_by_default, unregistered_class

    if what.endswith(_ORDINARY):
        held = unregistered_class(field, cls, evaluator)
        by_default = held is not None and is_made_by_default(field, held, evaluator)
        is_seen = by_default or is_given_object(field, cls, evaluator)
    elif what.startswith(CONTAINER):
        is_seen = is_given_container_of_objects(field, cls, evaluator)
    else:
        return None
    return None if is_seen else Confidence.LOW


def _place_of(field: Field, event: Event, evaluator: Evaluator) -> object | None:
    """Where to point at: the field, or the event in another module; None if the field's own module says so already."""
    owner = field.owner
    if owner.module is event.place.module:
        return field.at
    said = owner.module.path in evaluator.model.project_index.indexed and evaluator.traced.is_declared(owner)
    return None if said else event.at


def _stacking(cls: PytreeClass, evaluator: Evaluator) -> TracedBy | None:
    """What makes one instance of several of a class when `jax.tree.map` is called, in words of transformations."""
    joining = evaluator.traced.stacked(cls)
    return None if joining is None else TracedBy("jax.tree.map", joining)


def _plain_functions(event: Construct, evaluator: Evaluator) -> Iterator[Problem]:
    """The callable fields of an instance that goes into a transformation, if they get a function that is no pytree."""
    from jaxlint.rules.analyses.fields.functions_held import is_function
    from jaxlint.rules.analyses.fields.keeping import is_stored
    from jaxlint.rules.analyses.instances.passed import handed_on
    from jaxlint.rules.analyses.instances.taken_by_filters import leaves_behind

    cls = event.cls.cls
    leaves = ((argument, cls.field(argument.name)) for argument in event.arguments)
    held = [(argument, field) for argument, field in leaves if field is not None and field.role is Role.LEAF]
    given = [(a, f) for a, f in held if is_function(a.value) or any(map(is_function, handed_on(a, event, evaluator)))]
    given += _functions_by_name(event, evaluator)
    traced = (evaluator.traced.of(cls) or _stacking(cls, evaluator)) if given else None
    if traced is None or _is_no_leaf(event, evaluator) or _is_out_of_reach(traced, event, evaluator):
        return
    for argument, field in given:
        if not is_stored(field.name, cls) or _others_hold_pytrees(field, event, evaluator):
            continue
        if leaves_behind(event, field.name, evaluator):
            continue
        here = field.owner.module is event.place.module
        what = f"a {argument.value.kind} of functions" if isinstance(argument.value, Container) else FUNCTION
        fix = _marking(field, cls, what, event.place.module, traced, evaluator)
        at = field.at if here else argument.at
        yield _problem(at, cls, field, what, traced, fix, _confidence(event, evaluator))


def _functions_by_name(event: Construct, evaluator: Evaluator) -> list[tuple[KeywordValue, Field]]:
    """The functions that callers pass by keyword to the class method that makes an instance, with the leaves."""
    from jaxlint.rules.analyses.fields.functions_held import is_function
    from jaxlint.rules.analyses.instances.passed import handed_on_by_name

    passed = dict(pair for pair in handed_on_by_name(event, evaluator) if is_function(pair[1]))
    leaves = ((name, value, event.cls.cls.field(name)) for name, value in passed.items())
    return [
        (KeywordValue(name, event.at, value), field)
        for name, value, field in leaves
        if field is not None and field.role is Role.LEAF
    ]


def _given_text(event: Construct, evaluator: Evaluator) -> Iterator[Problem]:
    """Optional text fields that are given a text, in an instance that goes into a transformation."""
    from jaxlint.rules.analyses.fields.keeping import is_stored
    from jaxlint.rules.analyses.instances.given_literals import is_given

    cls = event.cls.cls
    leaves = ((argument, cls.field(argument.name)) for argument in event.arguments if _is_text(argument.value))
    given = [(argument, field) for argument, field in leaves if field is not None and field.role is Role.LEAF]
    traced = (evaluator.traced.of(cls) or _stacking(cls, evaluator)) if given else None
    if traced is None or _is_no_leaf(event, evaluator) or _is_out_of_reach(traced, event, evaluator):
        return
    exprs = {id(a.at): a.value for a in event.call.args}
    for argument, field in given:
        if not _may_be_text_or_none(field, cls, evaluator) or is_given(_OTHERS, field, cls, evaluator):
            continue
        if _is_text_by_default(field, cls, evaluator):
            continue  # whatever it is given
        if not is_stored(field.name, cls) or static_marker(field, evaluator.model) is not None:
            continue
        if isinstance(plain(argument.value), Choice) and _is_passed_on(exprs.get(id(argument.at)), event):
            continue  # perhaps everybody passes None
        here = field.owner.module is event.place.module
        fix = _marking(field, cls, "a str", event.place.module, traced, evaluator)
        at = field.at if here else argument.at
        yield _problem(at, cls, field, "a str", traced, fix, _confidence(event, evaluator))


def _may_be_text_or_none(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a field is for a text or None: by its annotation, or by the default that an annotation leaves out."""
    declared = UNKNOWN if field.annotation is None else plain(evaluator.annotations.read(field.annotation, cls))
    default = UNKNOWN if field.default is None else evaluator.static(field.default)
    return _is_text(declared) and (isinstance(declared, Choice) or default == NONE)


def _is_text_by_default(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a field for a text or None holds a text unless somebody gives it None."""
    if field.default is None or evaluator.static(field.default) != Scalar("str"):
        return False
    return field.annotation is not None and _is_text(evaluator.annotations.read(field.annotation, cls))


def _is_text(value: Value) -> bool:
    """Whether a value is a text, or one or None."""
    return without_none(plain(value)) == Scalar("str")


def _is_passed_on(expr: Expr | None, event: Construct) -> bool:
    """Whether an expression is a parameter, or an attribute of something."""
    parameters = {parameter.name for function in event.place.functions for parameter in function.parameters}
    return not isinstance(expr, (Name, Conditional)) or (isinstance(expr, Name) and expr.id in parameters)


def _others_hold_pytrees(field: Field, event: Construct, evaluator: Evaluator) -> bool:
    """Whether the module gives other instances a pytree that can be called: then these may be the ones that cross.

    Where declarations send the class into a transformation, all instances may come.
    """
    from jaxlint.rules.analyses.instances.given_literals import calls_giving, giving

    cls, module = event.cls.cls, event.place.module
    if evaluator.traced.is_declared(cls.symbol):
        return False
    names = frozenset({cls.name})
    for call, _ in calls_giving(field.name, names, module, evaluator):
        value = giving(field, cls, call, names)
        if isinstance(value, Call):
            made = evaluator.model.class_of_symbol(evaluator.model.resolver.resolve(value.func, module))
            if made is not None and made.is_pytree and made.method("__call__") is not None:
                return True
    return False


def _is_no_leaf(event: Construct, evaluator: Evaluator) -> bool:
    """Whether a class body puts the instance that is made into what is no leaf of a class that crosses."""
    module, at = event.place.module, place_of(event.call.at)
    if event.place.functions:
        return False
    for declaration in module.outline.classes.values():
        statements = {a.name: a.at for a in declaration.assignments} | {f.name: f.at for f in declaration.fields}
        for name, statement in statements.items():
            if statement.holds(at):
                cls = evaluator.model.build(ClassSymbol(module, declaration))
                field = cls.field(name)
                is_leaf = field is not None and field.role is Role.LEAF
                return not is_leaf or evaluator.traced.of(cls) is None
    return False


def _is_out_of_reach(traced: TracedBy, event: Construct, evaluator: Evaluator) -> bool:
    """Whether an instance cannot come to what takes instances apart.

    That stands in modules which have nothing to do with this one (scripts, tests), or it is a function inside of
    another one, and the instance stays in a third (tests).
    """
    module, cls = event.place.module, event.cls.cls
    senders = evaluator.traced.senders(cls, (traced,), module)
    if senders:
        if not evaluator.model.project_index.imports.are_apart(module.path, senders):
            return False
        if not evaluator.traced.is_sent_by(module, cls):
            return True
    outline, around = module.outline, event.place.functions[:1]
    takers = [f.scope.partition(".<locals>")[0] for f in outline.functions.values() if f.name == traced.function]
    if not around or not all(takers) or around[0].qualname in takers or not takers:
        return False
    return not any(around[0].name in unit.calls for unit in outline.units)


def _confidence(event: Construct, evaluator: Evaluator) -> Confidence | None:
    """Low where nobody sees this very instance go in: perhaps only others do, which hold something else in the field.

    That is the case if the functions of this module that send instances in never call the function that makes this
    one, or if the only modules that send some in do not import this module.
    """
    cls, module, functions = event.cls.cls, event.place.module, event.place.functions
    traced, outline = evaluator.traced.of(cls), module.outline
    if traced is None or evaluator.traced.is_declared(cls.symbol):
        return None
    senders = evaluator.traced.senders_here(cls)
    if not senders:
        importing = evaluator.model.project_index.imports.importing({module.path})
        return None if importing & evaluator.traced.senders(cls, (traced,), module) else Confidence.LOW
    if not functions or "" in senders:
        return None
    maker = functions[0]
    running = (outline.functions[name] for name in led_to(senders, outline))
    is_maker = any(f is maker or (maker.owner is not None and f.owner == maker.owner) for f in running)
    return None if is_maker else Confidence.LOW


def _is_set_to_function(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a handwritten constructor puts a plain function into a field, or a parameter that defaults to one."""
    from jaxlint.rules.analyses.fields.functions_held import is_function

    found = cls.method("__init__")
    if found is None:
        return False
    owner, init = found
    given = [assignment.value for assignment in init.self_assignments if assignment.attr == field.name]
    defaults = {p.name: p.default for p in init.parameters if p.default is not None}
    values = [defaults.get(value.id, value) if isinstance(value, Name) else value for value in given]
    scope = init.inner_scope
    return bool(values) and all(
        value is not None and is_function(evaluator.static(Placed(value, owner.module, scope))) for value in values
    )


def _annotated(field: Field, cls: PytreeClass, evaluator: Evaluator) -> str | None:
    """What a leaf holds that JAX refuses, by its annotation and default."""
    if not cls.is_pytree or field.role is not Role.LEAF or field.annotation is None:
        return None
    what = evaluator.promises.non_array(field) or _unregistered(field, cls, evaluator)
    return "a str" if what is None and _is_text_by_default(field, cls, evaluator) else what


def _refused(field: Field, cls: PytreeClass, evaluator: Evaluator) -> str | None:
    """What a leaf certainly holds that JAX refuses."""
    from jaxlint.rules.analyses.fields.functions_held import is_function
    from jaxlint.rules.analyses.instances.given_literals import is_given

    what = _annotated(field, cls, evaluator)
    if what is None or static_marker(field, evaluator.model) is not None:
        return None  # what is marked static is JAX203's
    default = evaluator.static(field.default) if field.default is not None else UNKNOWN
    if what.endswith(FUNCTION) and not (is_function(default) or _is_set_to_function(field, cls, evaluator)):
        return None
    if any(what.endswith(kind) and name in field.name for kind, name in _INITIALIZED.items()):
        return None
    if any(field.name in {f.name for f in one.static_fields} for one in evaluator.model.subclasses(cls)):
        return None  # which may be what comes
    if default == NONE or is_given(_OTHERS, field, cls, evaluator):
        return None  # and perhaps nothing else, whatever the annotation says
    return what


def _unregistered(field: Field, cls: PytreeClass, evaluator: Evaluator) -> str | None:
    """What a leaf holds that is annotated with a class of the project which nobody registers."""
    from jaxlint.rules.analyses.instances.hopes import unregistered_class

    held = unregistered_class(field, cls, evaluator)
    return None if held is None else f"`{held.name}`, {_ORDINARY}"


def _is_filtered(cls: PytreeClass, what: str, traced: TracedBy) -> bool:
    """Whether the framework has a transformation of its own that holds the functions in such a leaf static."""
    from jaxlint.rules.analyses.fixes.filtering import has_filtering

    return cls.framework.filters and what.rstrip("s").endswith(FUNCTION.partition(" ")[2]) and has_filtering(traced)


@proposing
def _marking(
    field: Field, cls: PytreeClass, what: str, module: Module, traced: TracedBy, evaluator: Evaluator
) -> Proposal | None:
    """The fix that marks the field static, or lets the framework filter the functions out, as it does by default.

    What branches return may differ in it, and then none of both will do.
    """
    from jaxlint.rules.analyses.fixes.filtering import of_function
    from jaxlint.rules.analyses.fixes.roles import make_static

    if _is_filtered(cls, what, traced):
        return of_function(traced, module, evaluator)
    if traced.transform.rpartition(".")[2] in ("cond", "switch"):
        return None
    return make_static(field, cls, module, evaluator.model)


def _problem(
    at: object,
    cls: PytreeClass,
    field: Field,
    what: str,
    traced: TracedBy,
    fix: Proposal | None,
    confidence: Confidence | None,
) -> Problem:
    from jaxlint.rules.analyses.fields.functions_held import refusal
    from jaxlint.rules.analyses.fixes.filtering import filtering
    from jaxlint.rules.analyses.fixes.roles import marking_help

    way_out = marking_help(field, cls) or "keep it outside of the instance"
    if _is_filtered(cls, what, traced):
        way_out = f"{filtering(traced.transform)}, which holds functions static"
    elif what.endswith(_ORDINARY):
        way_out, fix = f"register it with `jax.tree_util`, or {way_out}", None
    return Problem(
        at=at,
        message=f"field `{field.name}` of `{cls.name}` is a leaf and holds {what}: {refusal(traced)}; {way_out}",
        reason="the leaves of what goes into a transformation must be arrays or numbers",
        help=way_out,
        subject=f"{field.owner.full_name}.{field.name}",
        confidence=confidence,
        fix=fix,
    )
