"""JAX110 unannotated-field."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from jaxlint.cst.changes import Annotate, NeededImport, Proposal
from jaxlint.cst.failing import advising, proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, Construct, Event, Replace
from jaxlint.infer.known.values import Array, Choice, Container, Instance, Scalar, Value, arrays_in, plain
from jaxlint.infer.reading.creation import unannotated_field_calls
from jaxlint.libraries.arrays import is_shaped
from jaxlint.project.resolution import External
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.pytrees.stubs import is_collective
from jaxlint.rules.analyses.fixes.defaults import is_read_of_class
from jaxlint.rules.analyses.fixes.roles import field_function, list_for
from jaxlint.rules.analyses.instances.methods import CONSTRUCTORS
from jaxlint.rules.base import ClassRule, EventRule, Problem
from jaxlint.symbols.outline import ClassAssignment
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Binary,
    Call,
    DictDisplay,
    Display,
    Expr,
    Lambda,
    Name,
    Unary,
    is_number,
    last_name,
)

#: numpy functions whose result is there to be filled or updated; the others make tables of constants as well.
_NUMPY_BUFFERS = frozenset(
    {f"numpy.{name}" for name in ("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "full_like")}
)
#: Layers of equinox.nn that have arrays, by how their names begin or end.
_LAYERS = ("Linear", "MLP", "Embedding", "Conv", "MultiheadAttention", "PReLU")
_LAYER_ENDINGS = ("Cell", "Norm")
#: Functions that make a grid of some numbers, or compute with each of them.
_COMPUTED = frozenset(
    """linspace arange logspace geomspace exp log log2 log10 log1p expm1 sqrt square sin cos tan sinh cosh tanh abs
    reciprocal deg2rad rad2deg power""".split()
)
_REASON = "dataclasses make fields of annotated names only; a name without annotation is an attribute of the class"


class UnannotatedField(ClassRule, EventRule):
    """
    ## What it does

    Finds names in a pytree dataclass that lack an annotation: arrays, calls of field functions, and values that the
    same file passes to the constructor or assigns on an instance.

    ## Why is this bad?

    Only annotated names are fields. A name without annotation is an attribute of the class: it is no parameter of the
    constructor and no leaf, transformations and gradients do not see it, checkpoints do not hold it, and all instances
    share one value, which is baked into compiled functions.

    ## What you will see

    `TypeError: Sampler.__init__() got an unexpected keyword argument 'temperature'`; with chex `ValueError: __init__()
    got unexpected kwargs: {'temperature'}.`; for a field function `TypeError: 'temperature' is a field but has no type
    annotation`. For an array that is never passed nothing is seen: it is not trained and not saved.

    ## Example

    ```python
    import jax
    import numpy as np
    from flax import struct

    @struct.dataclass
    class Filter:
        gain: jax.Array
        history = np.zeros(8)
    ```

    ## Use instead

    ```python
    import jax
    import numpy as np
    from flax import struct

    @struct.dataclass
    class Filter:
        gain: jax.Array
        history: np.ndarray = struct.field(default_factory=lambda: np.zeros(8))
    ```

    ## Frameworks

    All that build on dataclasses, and NamedTuple. In simple_pytree, nnx and treex classes without a dataclass
    decorator, attributes are what `__init__` assigns, and nothing is reported.

    ## Fix safety

    The name is annotated with the type of its value, which is made anew for each instance if it is an array, a
    container or an instance. The fix is unsafe: the class gets one more field.

    ## When not to use it

    A constant of the class is best written in capitals, with a leading underscore or as a `ClassVar`; none of these is
    reported unless the constructor is given one. Numbers, strings, tables of literals (`np.array([...])`, numbers that
    `jnp.array` is given one by one, also in rows), grids (`jnp.linspace(0.0, 1.0, 50)`), and what is computed from
    them, are only reported if the file passes them to the constructor, or assigns them on an instance.

    ## References

    - [dataclasses](https://docs.python.org/3/library/dataclasses.html)
    """

    code = "JAX110"
    name = "unannotated-field"
    group = "declaring"
    since = "0.1.0"
    events = (Construct, Replace, AssignAttribute)

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what the class body assigns."""
        for assignment in unannotated_field_calls(cls, evaluator):
            yield replace(_field_call(cls, assignment), fix=_annotating(cls, assignment, evaluator))
        if cls.unknown_decorator or cls.symbol.declaration.conditional_body:
            return
        for owner, assignment in cls.class_attributes.values():
            if owner is cls and _holds_state(cls, assignment, evaluator):
                yield replace(_array(cls, assignment, evaluator), fix=_annotating(cls, assignment, evaluator))

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at constructor arguments, updates and assignments that show what was meant."""
        if isinstance(event, Construct):
            cls, exact, names = event.cls.cls, event.cls.exact, [a.name for a in event.arguments]
        elif isinstance(event, Replace):
            cls, exact, names = event.receiver.cls, event.receiver.exact, [k.name for k in event.keywords]
        else:
            assert isinstance(event, AssignAttribute)
            cls, exact, names = event.receiver.cls, event.receiver.exact, [event.attr]
            if not _is_lost(event):
                return
        for name in names:
            owner, assignment = cls.class_attributes.get(name, (None, None))
            if owner is None or assignment is None or owner.module is not event.place.module:
                continue
            if _holds_state(owner, assignment, evaluator) or not _is_plain_value(owner, assignment, evaluator):
                continue  # reported at the class, or no value that could be a field's
            if any(_may_have(c, name) for c in ((cls,) if exact else (cls, *event.place.subclasses(cls)))):
                continue
            problem = _assigned(owner, assignment) if isinstance(event, AssignAttribute) else _passed(owner, assignment)
            help_ = _annotating_help(owner, assignment, evaluator) or problem.help
            yield replace(problem, help=help_, fix=_annotating(owner, assignment, evaluator))


def _holds_state(cls: PytreeClass, assignment: ClassAssignment, evaluator: Evaluator) -> bool:
    """Whether the name is bound to an array, or to modules with arrays, that look like state."""
    name, expr = assignment.name, assignment.value
    if expr is None or name.startswith("_") or name.isupper() or cls.framework.flattens_itself:
        return False
    value = plain(evaluator.static(Placed(expr, cls.module, cls.symbol.declaration.qualname)))
    if not isinstance(expr, Name) and _is_written_out(expr, cls):
        return False
    libraries = {a.library for a in arrays_in(value)}
    if libraries == {"numpy"}:
        symbol = evaluator.model.resolver.resolve(expr.func, cls.module) if isinstance(expr, Call) else None
        return isinstance(symbol, External) and symbol.name in _NUMPY_BUFFERS
    return bool(libraries) or _is_trainable(value, evaluator)


def _is_written_out(expr: Expr, cls: PytreeClass | None) -> bool:
    """Whether a value is written out, number by number, or computed from such values and from what has a capital name.

    It is a constant then: data of the problem that the class describes, or the grid on which that is solved.
    """
    match expr:
        case Name(id=name):
            value = None if cls is None else cls.class_value(name)  # of the same body, which names no others
            return name.isupper() or (value is not None and _is_written_out(value, None))
        case Unary(operand=operand):
            return _is_written_out(operand, cls)
        case Binary(left=left, right=right):
            return _is_written_out(left, cls) and _is_written_out(right, cls)
        case Display(kind="list" | "tuple", items=items):
            return bool(items) and all(_is_written_out(item, cls) for item in items)
        case Call(func=func, args=(Argument(value=Display() as table), *_)):
            return not is_shaped(last_name(func) or "") and _is_written_out(table, cls)
        case Call(func=func, positional=(_, *_) as given) if last_name(func) in _COMPUTED:
            return all(_is_written_out(one, cls) for one in given)
    return is_number(expr)


def _is_trainable(value: Value, evaluator: Evaluator) -> bool:
    """Whether the value is an instance that certainly has arrays as leaves."""
    if not isinstance(value, Instance) or not value.cls.is_pytree:
        return False
    if is_collective(value.cls.symbol):
        return value.cls.name.startswith(_LAYERS) or value.cls.name.endswith(_LAYER_ENDINGS)
    read = evaluator.annotations.read
    return any(arrays_in(read(f.annotation, value.cls)) for f in value.cls.leaves or () if f.annotation is not None)


def _is_plain_value(cls: PytreeClass, assignment: ClassAssignment, evaluator: Evaluator) -> bool:
    """Whether the name is bound to data, and not to a function, a class or a descriptor."""
    expr = assignment.value
    if isinstance(expr, Lambda):
        return False
    if not isinstance(expr, (Name, Attribute, Call)):
        return True
    value = plain(evaluator.static(Placed(expr, cls.module, cls.symbol.declaration.qualname)))
    return isinstance(value, (Scalar, Array, Container, Choice, Instance))


def _may_have(cls: PytreeClass, name: str) -> bool:
    """Whether the constructor may take a parameter of that name after all."""
    parameters = cls.constructor()
    if parameters is None or cls.unknown_decorator or not cls.bases_known:
        return True
    return any(p.name == name or p.kind == "**" for p in parameters) or name not in cls.class_attributes


def _is_lost(event: AssignAttribute) -> bool:
    """Whether the assignment succeeds, and an attribute that is no field is lost when the instance is rebuilt."""
    cls, method = event.receiver.cls, event.place.method
    if event.how not in ("assign", "augment") or event.alternatives or (method and method.name in CONSTRUCTORS):
        return False
    return cls.frozen is False and not cls.framework.reads_dict and not cls.framework.is_tuple


def _problem(cls: PytreeClass, assignment: ClassAssignment, consequence: str, advice: str) -> Problem:
    return Problem(
        at=assignment.name_at,
        message=f"`{assignment.name}` of `{cls.name}` has no annotation and is no field: {consequence}",
        reason=_REASON,
        help=advice,
    )


def _field_call(cls: PytreeClass, assignment: ClassAssignment) -> Problem:
    name = assignment.name
    return Problem(
        at=assignment.name_at,
        message=(
            f"`{name}` of `{cls.name}` is given a field function and has no annotation: the class cannot be created"
            f" (TypeError); write `{name}: ... = ...`"
        ),
        reason=f"`TypeError: '{name}' is a field but has no type annotation` is raised when the class is created",
        help=f"annotate `{name}` with its type",
    )


def _array(cls: PytreeClass, assignment: ClassAssignment, evaluator: Evaluator) -> Problem:
    name, function = assignment.name, field_function(cls)
    usual = spelled(function, cls.module, evaluator.model.resolver)
    by_factory = "" if cls.framework.is_tuple else " and use default_factory"
    made = "..." if cls.framework.is_tuple else f"{usual[0] if usual else function}(default_factory=lambda: ...)"
    return Problem(
        at=assignment.name_at,
        message=(
            f"`{name}` of `{cls.name}` has no annotation and is no field: all instances share it, and it is no leaf"
            f" (no gradient, no update, not saved); annotate it{by_factory}"
        ),
        reason=_REASON,
        help=f"write `{name}: ... = {made}`, or mark a constant of the class as `ClassVar`",
        confidence=Confidence.MEDIUM,
    )


def _passed(cls: PytreeClass, assignment: ClassAssignment) -> Problem:
    error = cls.framework.unknown_name_error
    return _problem(
        cls,
        assignment,
        f"the constructor refuses it ({error}); annotate it",
        f"write `{assignment.name}: ... = ...`, with the type of its values",
    )


def _assigned(cls: PytreeClass, assignment: ClassAssignment) -> Problem:
    return _problem(
        cls,
        assignment,
        "what is assigned on an instance is lost at the next transformation; annotate it",
        f"write `{assignment.name}: ... = ...`, with the type of its values",
    )


@advising
def _annotating_help(cls: PytreeClass, assignment: ClassAssignment, evaluator: Evaluator) -> str:
    """What to write, where else the field has to be named, and what has to have a default then, too."""
    name, value, made = assignment.name, assignment.value, "..."
    if isinstance(value, DictDisplay) or (isinstance(value, Display) and value.kind != "tuple"):
        usual = spelled(field_function(cls), cls.module, evaluator.model.resolver)
        made = f"{usual[0] if usual else field_function(cls)}(default_factory=lambda: ...)"
    family = (cls, *evaluator.model.subclasses(cls))
    listed = [f"`{one.name}`" for one in family if one.lists is not None and not one.lists.automatic]
    whose = f" of {' and '.join(listed)}" if len(listed) > 1 else ""
    also = f", and add `{name}` to data_fields or meta_fields{whose}" if listed else ""
    for sub, field in _fields_below(cls, evaluator):
        if not (field.has_default or field.kw_only):
            also += f", and give `{field.name}` of `{sub.name}` a default"
            break
    return f"write `{name}: ... = {made}`, with the type of its values{also}"


def _fields_below(cls: PytreeClass, evaluator: Evaluator) -> Iterator[tuple[PytreeClass, Field]]:
    """The fields that visible subclasses declare: they come after those of the class."""
    return ((sub, f) for sub in evaluator.model.subclasses(cls) for f in sub.fields if f.owner != cls.symbol)


@proposing
def _annotating(cls: PytreeClass, assignment: ClassAssignment, evaluator: Evaluator) -> Proposal | None:
    """The fix: the name is annotated with the type of its value, and so becomes a field."""
    expr, scope = assignment.value, cls.symbol.declaration.qualname
    if expr is None or any(not (f.has_default or f.kw_only) for _, f in _fields_below(cls, evaluator)):
        return None  # what has no default may not come after what has one
    given = expr.keyword("default") if isinstance(expr, Call) else None
    is_call = any(assignment is one for one in unannotated_field_calls(cls, evaluator))
    if is_call and given is None:
        return None
    value = plain(evaluator.static(Placed(given or expr, cls.module, scope)))
    annotation = _type_of(value, cls, evaluator)
    if annotation is None or (isinstance(value, Container) and cls.framework.static_by_value):
        return None  # a container is static there, and may hold no arrays
    if cls.lists is not None and not cls.lists.automatic and not list_for(value):
        return None  # which of the lists it belongs in is not for us to say
    written, imports = annotation
    function = ""
    if not is_call and not isinstance(value, Scalar) and not (isinstance(value, Container) and value.kind == "tuple"):
        factory = spelled(field_function(cls), cls.module, evaluator.model.resolver)
        if factory is None or cls.framework.is_tuple or is_read_of_class(assignment.name, cls, evaluator):
            return None
        function, imports = factory[0], (*imports, *factory[1])
    change = Annotate(assignment.name_at, written, function)
    return Proposal(f"Annotate `{assignment.name}`", Applicability.UNSAFE, (change,), imports)


def _type_of(value: Value, cls: PytreeClass, evaluator: Evaluator) -> tuple[str, tuple[NeededImport, ...]] | None:
    """How the type of a value is written, and the imports that this needs."""
    match value:
        case Scalar(kind="int" | "float" | "bool" | "str" | "bytes" | "complex" as kind):
            return kind, ()
        case Container(kind="tuple" | "list" | "dict" | "set" as kind):
            return kind, ()
        case Array(library="jax" | "numpy" as library):
            name = "jax.Array" if library == "jax" else "numpy.ndarray"
            return spelled(name, cls.module, evaluator.model.resolver)
        case Instance(cls=held) if held.module is cls.module and not held.symbol.declaration.scope:
            return held.name, ()
    return None
