"""JAX506 grad-over-int."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from jaxlint.finding import Confidence
from jaxlint.infer.calls.transformed_classes import instances_in
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Cross, Event, Transformed
from jaxlint.infer.known.values import Array, Scalar, Value, options, plain
from jaxlint.infer.transforms.applied import Applied
from jaxlint.libraries.arrays import KEY_TYPES
from jaxlint.libraries.transforms import GRADIENTS
from jaxlint.libraries.updates import TRAIN_STATE
from jaxlint.project.modules import Module
from jaxlint.project.resolution import External, FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.rules.analyses.fixes.options import allowing_integers, is_written_in
from jaxlint.rules.analyses.instances.given_literals import calls_giving, giving, is_given, makes_another
from jaxlint.rules.analyses.instances.origins import argument_at, given_by, maker_of
from jaxlint.rules.analyses.under_trace.library_forms import is_integer, is_key, number_kind
from jaxlint.rules.base import BodyRule, EventRule, Problem
from jaxlint.symbols.outline import Function, Import
from jaxlint.syntax.expressions import Attribute, Binary, Call, Constant, Expr, Name, Subscript, dotted, last_name
from jaxlint.syntax.spelling import with_article
from jaxlint.syntax.statements import assigned_names, bound_once, looked_up

#: Constants that can be differentiated.
_INEXACT = frozenset({"float", "complex"})
#: Annotations that mean arrays of integers.
_INTEGERS = ("jaxtyping.Int", "jaxtyping.UInt", "jaxtyping.Bool", "jaxtyping.Integer", "jaxtyping.Key")


class GradOverInt(EventRule, BodyRule):
    """
    ## What it does

    Finds `jax.grad`, `jax.value_and_grad` and kin over a state that has an integer, a boolean or a PRNG key as a leaf:
    a step counter, a flag, a `TrainState` as a whole.

    ## Why is this bad?

    All leaves of the argument are differentiated. A derivative with respect to an integer does not exist, and JAX
    refuses the whole argument for it.

    ## What you will see

    `TypeError: grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got
    int32. If you want to use Boolean- or integer-valued inputs, use vjp or set allow_int to True.`

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Model:
        weights: jax.Array
        step: int = 0

    def loss(model: Model, x: jax.Array) -> jax.Array:
        return (model.weights * x).sum()

    def gradient(model: Model, x: jax.Array) -> Model:
        return jax.grad(loss)(model, x)
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Model:
        weights: jax.Array
        step: int = 0

    def loss(weights: jax.Array, x: jax.Array) -> jax.Array:
        return (weights * x).sum()

    def gradient(model: Model, x: jax.Array) -> jax.Array:
        return jax.grad(loss)(model.weights, x)
    ```

    ## Frameworks

    All. `equinox.filter_grad` differentiates floating-point arrays only, and `nnx.grad` parameters only.

    ## Fix safety

    `allow_int=True` is shown, and not applied: the part of the gradient that belongs to integers has no numbers, which
    what comes behind has to know.

    ## When not to use it

    A leaf that is annotated with `int` and always holds a float need not be reported: change its annotation.
    `allow_int=True` is respected.

    ## References

    - [jax.grad](https://docs.jax.dev/en/latest/_autosummary/jax.grad.html)
    - [deluca #42](https://github.com/google/deluca/issues/42)
    """

    code = "JAX506"
    name = "grad-over-int"
    group = "transformations"
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    events = (Cross, Transformed)
    calls = frozenset(name.rpartition(".")[2] for name in GRADIENTS)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what is differentiated: by the annotations of the function, or by what is passed."""
        if isinstance(event, Transformed):
            yield from _declared(event, evaluator)
            return
        assert isinstance(event, Cross)
        function = event.function
        if function is None or event.parameter is None:
            return
        if any(p.name == event.parameter and p.annotation is not None for p in function.parameters):
            return  # reported where the function is differentiated
        for applied in event.applied:
            if _refuses(applied) and event.parameter in applied.rebuilt_parameters(function):
                found = _integers(event.value, event.at, applied, function.name, evaluator)
                yield from _fixed(found, applied, event, evaluator)
                return

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what an instance is made of that a body differentiates."""
        for event in code.events:
            function = event.function if isinstance(event, Cross) else None
            if not isinstance(event, Cross) or function is None or event.parameter is None:
                continue
            applied = next((a for a in event.applied if _refuses(a)), None)
            if applied is None or event.parameter not in applied.rebuilt_parameters(function):
                continue
            given = argument_at(event.at, code.body)
            path = None if given is None else dotted(given[1])
            made = None if given is None or path is None else maker_of(path, given[0], code, evaluator)
            for field, value in given_by(made.call, made.cls) if made is not None and made.cls.is_pytree else ():
                declared = made is not None and _integer(field, made.cls, evaluator) is not None
                if field.role is Role.LEAF and not field.is_converted and not declared and is_integer(value):
                    assert made is not None
                    yield _problem(event.at, made.cls, field, "an array of integers", applied, function.name)
                    break


def _declared(event: Transformed, evaluator: Evaluator) -> Iterator[Problem]:
    """The parameters that are differentiated, as they are annotated."""
    function, applied = event.function, event.applied
    if function is None or event.module is None or not _refuses(applied):
        return
    for name in sorted(applied.rebuilt_parameters(function)):
        if name == function.self_name:
            continue
        value = evaluator.parameter(function, name, event.module)
        if evaluator.traced.is_filtered(event.module) and any(c.framework.filters for c in instances_in(value)):
            continue  # the part that holds the arrays is annotated like the whole
        yield from _fixed(_integers(value, event.at, applied, function.name, evaluator), applied, event, evaluator)


def _fixed(
    problems: Iterator[Problem], applied: Applied, event: Cross | Transformed, evaluator: Evaluator
) -> Iterator[Problem]:
    """Problems with the fix that allows integers, if the derivative is taken in the module."""
    place = event.place
    is_here = is_written_in(applied, event.module, place.module)
    fix = allowing_integers(applied, place.module, place.scope, evaluator) if is_here else None
    for problem in problems:
        yield structs.replace(problem, fix=fix)


def _refuses(applied: Applied) -> bool:
    is_gradient = applied.transform.name in GRADIENTS
    return is_gradient and "allow_int" not in applied.options


def _integers(value: Value, at: object, applied: Applied, name: str, evaluator: Evaluator) -> Iterator[Problem]:
    """The problem of the first leaf of an instance that is no inexact number."""
    for cls in evaluator.traced.taken_apart(value):
        for field in cls.fields if cls.is_pytree else ():
            what = _integer(field, cls, evaluator)
            if what is not None:
                yield _problem(at, cls, field, what, applied, name)
                return


def _integer(field: Field, cls: PytreeClass, evaluator: Evaluator) -> str | None:
    """What a leaf is if it certainly is no inexact number."""
    if field.role is not Role.LEAF or field.annotation is None or field.is_converted or cls.binds(field.name):
        return None
    if field.owner.full_name == TRAIN_STATE:
        return "an int" if field.name == "step" else None
    if field.default is not None and not _fits(evaluator.static(field.default)):
        return None
    if is_given(_INEXACT, field, cls, evaluator):
        return None
    if _names_integers(field.annotation, evaluator):
        return "an array of integers"
    kinds = options(plain(evaluator.promises.field(field, cls)))
    if all(isinstance(k, Scalar) and k.kind in ("int", "bool") for k in kinds):
        return f"{'an int' if kinds[0] == Scalar('int') else 'a bool'}"
    if all(isinstance(k, Array) for k in kinds):
        return _refused_leaf(field, cls, evaluator)
    return None


def _fits(default: Value) -> bool:
    """Whether a default does not say that there may be something else than integers."""
    default = plain(default)
    return not isinstance(default, Scalar) or default.kind in ("int", "bool")


def _names_integers(annotation: Placed, evaluator: Evaluator) -> bool:
    expr: Expr = annotation.expr
    head = expr.value if isinstance(expr, Subscript) else expr
    symbol = evaluator.model.resolver.resolve(head, annotation.module, annotation.scope)
    if not isinstance(symbol, External):
        return False
    return symbol.name in KEY_TYPES or (isinstance(expr, Subscript) and symbol.name.startswith(_INTEGERS))


def _problem(at: object, cls: PytreeClass, field: Field, what: str, applied: Applied, function: str) -> Problem:
    way_out = "differentiate with respect to the parameters only"
    return Problem(
        at=at,
        message=(
            f"`{applied.transform.name}` differentiates `{function}` with respect to {with_article(cls.name)}, whose"
            f" leaf `{field.name}` is {what}: TypeError (grad requires real- or complex-valued inputs); {way_out}"
        ),
        reason="all leaves of the argument are differentiated, and those of integer type cannot be",
        help=way_out,
        subject=f"{field.owner.full_name}.{field.name}",
    )


# -- what numbers a leaf is made of ----------------------------------------------------------------

#: Arrays of these cannot be differentiated.
_WHAT = {"int": "an array of integers", "bool": "an array of booleans", "key": "a PRNG key"}


def _refused_leaf(field: Field, cls: PytreeClass, evaluator: Evaluator) -> str | None:
    """What a leaf holds, if no construction and no update that is seen gives it an inexact number."""
    if evaluator.model.subclasses(cls):
        return None
    kinds: set[str] = set()
    for module in _users(cls, evaluator):
        names = {cls.name, "cls"}
        seen = 0
        for call, function in calls_giving(field.name, names, module, evaluator):
            if makes_another(call, function, cls):
                continue
            seen += last_name(call.func) == cls.name
            value = giving(field, cls, call, names)
            if value is not None and not _steps(value, field, function, module, evaluator):
                kinds.add(_kind(value, function, module, evaluator))
            elif last_name(call.func) in names and value is None and field.default is None:
                return None  # it is not seen what is given
        if seen < sum(cls.name in piece.calls for unit in module.outline.units for piece in unit.pieces or (unit,)):
            return None  # a construction is not seen
    if field.default is not None:
        kinds.add(number_kind(field.default.expr))
    return _WHAT.get(next(iter(kinds))) if len(kinds) == 1 else None


def _users(cls: PytreeClass, evaluator: Evaluator) -> Iterator[Module]:
    """The module of a class, and those that import it from there or from a module that imports it."""
    pending, seen = [cls.module], set[str]()
    while pending:
        module = pending.pop()
        if module.path in seen:
            continue
        seen.add(module.path)
        yield module
        bindings = module.outline.module_scope.bindings.get(cls.name, ())
        if module is cls.module or any(isinstance(binding, Import) for binding in bindings):
            pending += evaluator.model.importers(module)


def _steps(value: Expr, field: Field, function: Function | None, module: Module, evaluator: Evaluator) -> bool:
    """Whether a value is what the field held, and a whole number more or less."""
    match value:
        case Attribute(attr=attr):
            return attr == field.name
        case Binary(op="+" | "-" | "*" | "//" | "%", left=Attribute(attr=attr), right=right):
            return attr == field.name and (
                number_kind(right) in ("int", "bool") or _is_whole(right, function, module, evaluator)
            )
    return False


def _is_whole(expr: Expr, function: Function | None, module: Module, evaluator: Evaluator) -> bool:
    """Whether an expression is a length, or a parameter that is annotated with `int` and not bound anew."""
    match expr:
        case Call(func=Name(id="len")) | Subscript(value=Attribute(attr="shape"), index=Constant()):
            return True
        case Name(id=name) if function is not None and function.takes(name):
            body = evaluator.calls.body_of(FunctionSymbol(module, function)) or ()
            declared = plain(evaluator.parameter(function, name, module))
            return isinstance(declared, Scalar) and declared.kind == "int" and name not in assigned_names(body)
    return False


def _kind(value: Expr, function: Function | None, module: Module, evaluator: Evaluator) -> str:
    """The kind of numbers that a value is: "int", "float", "bool" or "key"; empty if that is not known."""
    if isinstance(value, Name) and function is not None:
        value = looked_up(value, bound_once(evaluator.calls.body_of(FunctionSymbol(module, function)) or ()))
    return "key" if is_key(value) else number_kind(value)
