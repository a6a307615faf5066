"""JAX512 filtered-scalar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from jaxlint.cst.changes import Proposal
from jaxlint.finding import Confidence, Severity
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, CodeRead, Construct, Cross, Place, Replace, Update
from jaxlint.infer.known.counting import is_swept
from jaxlint.infer.known.values import ClassObject, FieldRead, Instance, Scalar, plain
from jaxlint.libraries.transforms import Kind
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.frameworks import EQUINOX, NNX
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.bodies.loops import made_for_each_turn
from jaxlint.rules.analyses.bodies.stages import is_set_for_stage
from jaxlint.rules.analyses.fields.computing_with import only_computes_with
from jaxlint.rules.analyses.fields.counting_inside import Counting, keeps_inside
from jaxlint.rules.analyses.fields.keeping import is_stored
from jaxlint.rules.analyses.fields.moved_attributes import moved_by, stepped_in_loop
from jaxlint.rules.analyses.fields.needed_numbers import need_of
from jaxlint.rules.analyses.fields.stepped import Copies, Moved, moved_at_each_turn, selected
from jaxlint.rules.analyses.fixes.arrays_of_numbers import beginning_as_array, converting, passing_array
from jaxlint.rules.analyses.instances.given_literals import is_given_array
from jaxlint.rules.analyses.under_trace.inside_loops import may_count_arrays
from jaxlint.rules.analyses.under_trace.run_compiled import is_run_compiled
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Binary, Call, Expr, dotted
from jaxlint.syntax.statements import Assign, Do, Return, bound_once, looked_up, own_parts, walk

_NUMBERS = frozenset({"int", "float"})
_COUNTING = frozenset({"+", "-"})
#: How many parts that call each other are gone through.
_FAR = 3
#: What a body does with a number.
_COUNTED, _MOVED = "counts up", "is another one at each turn"
_REASON = "what is no array is part of the key of the compiled function"


#: The call of a method of a parameter, the class and the method.
_MethodCall = tuple[Call, PytreeClass, FunctionSymbol]


class FilteredScalar(BodyRule):
    """
    ## What it does

    Finds Python numbers in equinox modules that a function with `eqx.filter_jit` counts up, or that a loop makes anew
    at each turn for such a function, numbers that a loop passes to one itself, another one at each turn, and numbers in
    nnx objects that a function with `nnx.jit` counts up, or what it calls or differentiates, or that a loop counts up
    between the calls of one.

    ## Why is this bad?

    `eqx.filter_jit` holds everything static that is no array, and a Python number is none. nnx takes it for a part of
    the object's structure. Each new value is a new structure: the function is compiled again in every step.

    ## What you will see

    One compilation per step: five steps, five traces. An `int` leaf under `jax.jit` makes one.

    ## Example

    ```python
    import equinox as eqx
    import jax

    class Counter(eqx.Module):
        total: jax.Array
        count: int = 0

    @eqx.filter_jit
    def step(counter: Counter, x: jax.Array) -> Counter:
        return eqx.tree_at(lambda c: (c.total, c.count), counter, (counter.total + x, counter.count + 1))
    ```

    ## Use instead

    ```python
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    class Counter(eqx.Module):
        total: jax.Array
        count: jax.Array = eqx.field(converter=jnp.asarray, default=0)

    @eqx.filter_jit
    def step(counter: Counter, x: jax.Array) -> Counter:
        return eqx.tree_at(lambda c: (c.total, c.count), counter, (counter.total + x, counter.count + 1))
    ```

    ## Frameworks

    equinox, and flax.nnx. `jax.jit` traces Python numbers.

    ## Fix safety

    The field of an equinox module gets a converter that makes an array of what it is given, and is annotated so. What
    `eqx.tree_at` puts into it is not converted, but is an array where it is computed from that. A number that is passed
    itself becomes an array there, and so does the number that the constructor of an nnx object sets. The fix is unsafe:
    code that decides by the number while it is traced fails.

    ## When not to use it

    A field that is annotated `int` and always holds an array is traced: change its annotation. A field that a compiled
    function needs for a shape or a number of turns is not reported, for it has to be static. A number that is passed
    itself is reported only where the function is seen to do nothing but compute with it: what it takes for a shape, an
    index or a condition has to be static. A loop over a few stages, each with a loop of its own, is worth its few
    compilations: what is set for each stage is not reported.

    ## References

    - [equinox #1062](https://github.com/patrick-kidger/equinox/issues/1062)
    - [equinox.filter_jit](https://docs.kidger.site/equinox/api/transformations/#equinox.filter_jit)
    """

    code = "JAX512"
    about_values = True
    name = "filtered-scalar"
    group = "transformations"
    severity = Severity.WARNING
    since = "0.1.0"
    confidence = Confidence.MEDIUM

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a body counts up, unless its function only runs where numbers are arrays."""
        problems = list(self._counted_in(code, evaluator))
        if problems and not _may_count_arrays(code, evaluator):
            yield from (p for p in problems if not is_set_for_stage(p.at, code, evaluator))

    def _counted_in(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """What a body counts up."""
        module = code.place.module
        for event in code.events:
            match event:
                case AssignAttribute(receiver=receiver, attr=attr, value=value) if receiver.cls.framework is NNX:
                    counts = event.how == "augment" or (event.how == "assign" and _counts(value, attr))
                    if (
                        counts
                        and _is_compiled(event.place, NNX.id)
                        and _starts_as_number(receiver.cls, attr, evaluator)
                    ):
                        yield _of_nnx(event.at, receiver.cls, attr, code, evaluator)
                case Construct(cls=ClassObject(cls=cls), into_jit=True, in_loop=True) if cls.framework is EQUINOX:
                    if _goes_into_filtered(event, code):
                        yield from _swept(event, evaluator, module)
        for event in code.events:
            if isinstance(event, Cross) and isinstance(event.value, Scalar) and _is_filtered(event):
                yield from _given_itself(event, evaluator)
        for construct, cross in made_for_each_turn(code):
            if construct.cls.cls.framework is EQUINOX and _is_filtered(cross):
                yield from _swept(construct, evaluator, module)
        for moved in moved_at_each_turn(code, evaluator, sets=True):
            if moved.cls.framework is EQUINOX and _is_filtered(moved):
                yield from _scalar(moved.copy.at, moved.cls, moved.field, evaluator, module, _MOVED)
        called = list(_methods_called(code, evaluator))
        for at, cls, name, how in _counted_in_copies(code, called, evaluator):
            if _is_compiled_code(code, EQUINOX.id) and not _stays_inside(at, name, code, evaluator):
                yield from _scalar(at, cls, name, evaluator, module, how)
        for call, cls, method in called:
            counted = list(_counted_by(cls, method, evaluator)) if cls.framework is NNX else ()
            if counted and (_is_compiled_code(code, NNX.id) or _is_run_compiled(code, evaluator)):
                yield from (_of_nnx(call.at, owner, name, code, evaluator, how) for owner, name, how in counted)
        crosses = {id(e.at): e for e in code.events if isinstance(e, Cross) and _is_filtered(e, "flax.nnx.")}
        for stepped in stepped_in_loop(code, crosses, evaluator):
            if stepped.cls.framework is NNX and _starts_as_number(stepped.cls, stepped.attr, evaluator):
                yield _of_nnx(stepped.at, stepped.cls, stepped.attr, code, evaluator, _MOVED)


def _counted_in_copies(
    code: CodeRead, called: Iterable[_MethodCall], evaluator: Evaluator
) -> Iterator[tuple[object, PytreeClass, str, str]]:
    """The counters that a body moves in copies of equinox modules: place, class, field, and way."""
    for event in code.events:
        match event:
            case Replace(receiver=Instance(cls=cls), keywords=keywords) if cls.framework is EQUINOX:
                exprs = _given(event.call, code)
                base = None if event.base is None else dotted(event.base)
                for keyword in keywords:
                    if _is_stepped(exprs.get(id(keyword.at)), f"{base}.{keyword.name}"):
                        yield keyword.at, cls, keyword.name, _COUNTED
            case Update(function="equinox.tree_at", receiver=Instance(cls=cls)) if cls.framework is EQUINOX:
                yield from ((at, cls, name, _COUNTED) for at, name in _counted(event.call, code))
            case Construct(cls=ClassObject(cls=cls), into_jit=False) if cls.framework is EQUINOX:
                yield from ((at, cls, name, _COUNTED) for at, name in _made_again(event, code))
    for call, cls, method in called:
        if cls.framework is EQUINOX:
            how = _counted_up_by(method)
            yield from ((call.at, cls, name, how) for name in Copies(cls, evaluator, _COUNTING).moved_in(method))


def _counted_up_by(method: FunctionSymbol) -> str:
    """What the method does that counts, for a finding at its call, where nothing is seen to count."""
    return f"`{method.declaration.name}` {_COUNTED}"


def _stays_inside(at: object, name: str, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a function does not return what it counts, so that each call counts from the same number."""
    place = place_of(at)
    counting = Counting(lambda call: place_of(call.at).holds(place), name)
    return code.function is not None and keeps_inside(code.function, counting, code.place.module, evaluator)


def _is_compiled(place: Place, framework: str) -> bool:
    """Whether a function around is compiled by the framework's own `jit`."""
    prefix = "equinox." if framework == EQUINOX.id else "flax.nnx."
    applied = (a.transform for function in place.functions for a in place.applied(function))
    return any(t.kind is Kind.JIT and t.name.startswith(prefix) for t in applied)


def _is_compiled_code(code: CodeRead, framework: str) -> bool:
    """Whether a body, or one around it, is that of a function which the framework's own `jit` compiles."""
    return _is_compiled(replace(code.place, functions=_functions_of(code)), framework)


def _counted_by(
    cls: PytreeClass, method: FunctionSymbol, evaluator: Evaluator, depth: int = 0
) -> Iterator[tuple[PytreeClass, str, str]]:
    """The numbers that a method of an nnx object, or of a part that it calls, counts up in a call: whose, and how."""
    how = _counted_up_by(method)
    yield from ((cls, name, how) for name in moved_by(method, evaluator) if _starts_as_number(cls, name, evaluator))
    if depth == _FAR:
        return
    for statement in evaluator.calls.body_of(method) or ():
        is_simple = isinstance(statement, (Assign, Do, Return))
        if not is_simple and any(isinstance(inner, Return) for inner in walk((statement,), nested=False)):
            return
        for part in own_parts(statement) if is_simple else ():
            start, path = _path(part.func) if isinstance(part, Call) else ("", ())
            called = _method_at(path, cls, evaluator) if path and start == method.declaration.self_name else None
            if called is not None and called[0] is not cls:
                yield from _counted_by(*called, evaluator, depth + 1)


def _path(func: Expr) -> tuple[str, tuple[str, ...]]:
    """The variable at the root of `a.b.c()`, and the path behind it; nothing if it is none."""
    start, *path = (dotted(func) or "").split(".")
    return start, tuple(path)


def _method_at(
    path: Sequence[str], cls: PytreeClass, evaluator: Evaluator
) -> tuple[PytreeClass, FunctionSymbol] | None:
    """The method that is called by a path through the parts of an nnx object, and whose it is."""
    *parts, last = path or ("__call__",)
    for attr in parts:
        held = _part(cls, attr, evaluator)
        if held is None:
            return None
        cls = held
    called = None if cls.method(last) is not None else _part(cls, last, evaluator)
    cls, last = (cls, last) if called is None else (called, "__call__")
    found = cls.method(last)
    return None if found is None or found[1].decorators else (cls, FunctionSymbol(found[0].module, found[1]))


def _part(cls: PytreeClass, attr: str, evaluator: Evaluator) -> PytreeClass | None:
    """The class of the object that an attribute always holds, as far as methods are seen to assign it."""
    given = cls.assigned.get(attr) or ()
    held = [None if one is None else plain(evaluator.static(one)) for one in given]
    classes = [one.cls for one in held if isinstance(one, Instance) and one.cls.framework is NNX]
    return classes[0] if len(classes) == 1 == len(given) else None


def _is_run_compiled(code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a function that `nnx.jit` compiles calls the one that is read, or differentiates it."""
    if code.function is None:
        return False
    symbol = FunctionSymbol(code.place.module, code.function)
    return is_run_compiled(symbol, lambda one: one.kind is Kind.JIT and one.name.startswith("flax.nnx."), evaluator)


def _functions_of(code: CodeRead) -> tuple[Function, ...]:
    """The functions around a body, and its own."""
    return code.place.functions if code.function is None else (*code.place.functions, code.function)


def _may_count_arrays(code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether the function that equinox compiles, here or around a body, only runs in loops and branches of jax."""
    compiled = [one for one in _functions_of(code) if _is_compiled(replace(code.place, functions=(one,)), EQUINOX.id)]
    return any(may_count_arrays(one, code.place.module, code.place.owner, evaluator) for one in compiled)


def _methods_called(code: CodeRead, evaluator: Evaluator) -> Iterator[_MethodCall]:
    """The methods of its parameters that a function calls, each once: `model(x)`, `model.norm.update(x)`."""
    seen: set[tuple[str, tuple[str, ...]]] = set()
    given = {name: value for name, value in code.parameters.items() if isinstance(plain(value), Instance)}
    for call in code.calls if given else ():
        name, path = _path(call.func)
        if name not in given or (name, path) in seen:
            continue
        seen.add((name, path))
        held = plain(given[name])
        found = _method_at(path, held.cls, evaluator) if isinstance(held, Instance) else None
        if found is not None:
            yield call, *found


def _is_filtered(cross: Cross | Moved, prefix: str = "equinox.") -> bool:
    return any(a.transform.kind is Kind.JIT and a.transform.name.startswith(prefix) for a in cross.applied)


def _goes_into_filtered(event: Construct, code: CodeRead) -> bool:
    """Whether the instance is an argument of a function that `eqx.filter_jit` compiles."""
    crosses = {id(cross.at) for cross in code.events if isinstance(cross, Cross) and _is_filtered(cross)}
    calls = (part for part in code.parts if isinstance(part, Call))
    return any(a.value is event.call and id(a.at) in crosses for call in calls for a in call.args)


def _swept(event: Construct, evaluator: Evaluator, module: Module) -> Iterator[Problem]:
    """The leaves of an instance that a loop gives another Python number at each turn."""
    for given in event.arguments:
        value = plain(given.value)
        is_number = isinstance(value, Scalar) and value.varying and value.kind in _NUMBERS
        if is_number and is_stored(given.name, event.cls.cls):
            yield from _scalar(given.at, event.cls.cls, given.name, evaluator, module, _MOVED)


def _given_itself(event: Cross, evaluator: Evaluator) -> Iterator[Problem]:
    """The problem of a Python number that a loop gives to a compiled function, which only computes with it."""
    value, function, name = event.value, event.function, event.parameter
    if not isinstance(value, Scalar) or not is_swept(value) or any(map(event.place.applied, event.place.functions)):
        return  # what is compiled goes through its loops once
    if function is None or name is None or event.module is None:
        return
    symbol = FunctionSymbol(event.module, function)
    if only_computes_with(name, symbol, evaluator, is_float=value.kind == "float"):
        way_out = "pass an array, `jnp.asarray(...)`"
        yield Problem(
            at=event.at,
            message=(
                f"`{name}` of `{function.name}` is a Python number that {_MOVED}: `eqx.filter_jit` holds it static,"
                f" and every new value compiles again; {way_out}"
            ),
            reason=_REASON,
            help=way_out,
            fix=passing_array(event, evaluator),
        )


def _counts(value: object, name: str) -> bool:
    """Whether a value is that of the field itself, plus or minus something."""
    return isinstance(value, FieldRead) and value.stepped and not value.shifted and value.field == name


def _scalar(
    at: object, cls: PytreeClass, name: str, evaluator: Evaluator, module: Module, how: str = _COUNTED
) -> Iterator[Problem]:
    """The problem of a leaf that certainly is a Python number.

    There is none where a compiled function needs to know it for a shape or a number of turns: that is compiled anyway.
    """
    field = cls.field(name)
    if field is None or field.role is not Role.LEAF or field.is_converted or not _is_number(field, cls, evaluator):
        return
    if is_given_array(field, cls, evaluator):
        return  # whatever the annotation says
    need = need_of(name, cls, module, evaluator)
    if need is not None and need.is_for_structure:
        return
    fix = converting(field, cls, module, evaluator) if need is None else None
    yield _problem(at, cls, name, "eqx.filter_jit", how, fix, "" if need is None else f", {need.way_out}")


def _is_number(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    if field.annotation is None:
        return False
    value = plain(evaluator.promises.field(field, cls))
    return isinstance(value, Scalar) and value.kind in _NUMBERS


def _starts_as_number(cls: PytreeClass, attr: str, evaluator: Evaluator) -> bool:
    """Whether the attribute of an nnx object is a Python number in the beginning."""
    field, init = cls.field(attr), cls.method("__init__")
    if field is not None and field.metadata:
        return False
    if init is None:
        return field is not None and _is_number(field, cls, evaluator)
    values = [a.value for a in init[1].self_assignments if a.attr == attr]
    return bool(values) and all(getattr(v, "kind", "") in _NUMBERS for v in values)


def _is_stepped(value: Expr | None, path: str) -> bool:
    """Whether an expression is what a path holds, plus or minus a number that is stated."""
    if not isinstance(value, Binary) or value.op not in ("+", "-"):
        return False
    return dotted(value.left) == path and getattr(value.right, "kind", "") in _NUMBERS


def _made_again(event: Construct, code: CodeRead) -> Iterator[tuple[object, str]]:
    """The fields that a copy has counted up: `Model(model.w, model.n + 1)`, of a parameter of the same class."""
    exprs = _given(event.call, code)
    for given in event.arguments:
        expr = exprs.get(id(given.at))
        for name, value in code.parameters.items():
            held = plain(value)
            if _is_stepped(expr, f"{name}.{given.name}") and isinstance(held, Instance) and held.cls is event.cls.cls:
                yield given.at, given.name


def _given(call: Call, code: CodeRead) -> dict[int, Expr]:
    """What a call is given, by the identity of the places; what a variable is bound to, if that is done once."""
    bound = bound_once(code.body)
    return {id(a.at): looked_up(a.value, bound) for a in call.args}


def _counted(call: Call, code: CodeRead) -> Iterator[tuple[object, str]]:
    """The fields that `tree_at` counts up: `tree_at(lambda m: m.n, model, model.n + 1)`."""
    tree = dotted(call.positional[1]) if len(call.positional) > 1 else None
    bound = bound_once(code.body)
    for name, value in selected(call, tree) if tree is not None else ():
        if _is_stepped(looked_up(value, bound), f"{tree}.{name}"):
            yield value.at, name


def _of_nnx(
    at: object, cls: PytreeClass, name: str, code: CodeRead, evaluator: Evaluator, how: str = _COUNTED
) -> Problem:
    """The problem of an attribute of an nnx object."""
    return _problem(at, cls, name, "nnx.jit", how, beginning_as_array(name, cls, code.place.module, evaluator))


def _problem(
    at: object,
    cls: PytreeClass,
    name: str,
    function: str,
    how: str = _COUNTED,
    fix: Proposal | None = None,
    rewriting: str = "",
) -> Problem:
    way_out = f"make `{name}` an array{rewriting}"
    return Problem(
        at=at,
        message=(
            f"`{name}` of `{cls.name}` is a Python number that {how}: `{function}` holds it static, and every new"
            f" value compiles again; {way_out}"
        ),
        reason=_REASON,
        help=way_out,
        fix=fix,
    )
