"""JAX208 traced-static-value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from jaxlint.cst.changes import Proposal
from jaxlint.finding import Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, CodeRead, Construct, KeywordValue, Replace
from jaxlint.infer.known.values import Array, Scalar, Value, options, plain
from jaxlint.infer.transforms.applied import abstracting, tracing_arrays
from jaxlint.libraries.arrays import ARRAY_REDUCTIONS
from jaxlint.libraries.transforms import LOOPS
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.fields.keeping import is_stored
from jaxlint.rules.analyses.fields.needed_numbers import Need, need_of
from jaxlint.rules.analyses.fixes.static_numbers import leaf_of
from jaxlint.rules.analyses.under_trace.compiled_callers import (
    EveryName,
    Numbers,
    bare,
    compiled_callers,
    is_returned,
    is_variable_returned,
)
from jaxlint.rules.analyses.under_trace.traced_arguments import (
    filtered_parameters,
    mapped_parameters,
    traced_parameters,
)
from jaxlint.rules.analyses.under_trace.traced_leaves import Leaf, TracedLeaves, is_number
from jaxlint.rules.analyses.under_trace.tracers_given import as_written
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Display,
    Expr,
    Name,
    Subscript,
    Unary,
    last_name,
    unpacked,
)
from jaxlint.syntax.statements import (
    Assign,
    Body,
    With,
    assigned_names,
    bound_once,
    looked_up,
    parts,
    target_names,
    walk,
)

_MAX_DEPTH = 4


class TracedStaticValue(BodyRule):
    """
    ## What it does

    Finds static fields that a transformed function gives a traced value, in an instance that it returns.

    ## Why is this bad?

    A static field is part of the structure of the result, which JAX hands to the caller as it is: the instance that
    comes out of `jit` holds a tracer instead of a number. It fails where somebody uses it.

    ## What you will see

    `UnexpectedTracerError: Encountered an unexpected tracer. A function transformed by JAX had a side effect,
    allowing for a reference to an intermediate value to escape`, at the first use of the field; in `lax.scan`
    and when the instance is passed on, `ValueError: Exception raised while checking equality of metadata fields of
    pytree`.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Batch:
        tokens: jax.Array
        length: int = struct.field(pytree_node=False, default=0)

    @jax.jit
    def trim(batch: Batch) -> Batch:
        return batch.replace(length=(batch.tokens > 0).sum())
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Batch:
        tokens: jax.Array
        length: jax.Array

    @jax.jit
    def trim(batch: Batch) -> Batch:
        return batch.replace(length=(batch.tokens > 0).sum())
    ```

    ## Frameworks

    All that have static fields. nnx makes an array a leaf, whatever the field was before.

    ## Fix safety

    The marker is taken from the field, if it is declared in the same file. The fix is unsafe: what was static becomes a
    leaf. There is none where a compiled function needs the number, for a shape or a `range`: a leaf would be traced.

    ## When not to use it

    Instances that stay inside of the function are not reported, nor are values that are known while tracing: shapes,
    lengths, other static fields. Arrays of several elements in static fields are JAX201's.

    ## References

    - [UnexpectedTracerError](https://docs.jax.dev/en/latest/errors.html#jax.errors.UnexpectedTracerError)
    - [haliax #28](https://github.com/marin-community/haliax/issues/28)
    """

    code = "JAX208"
    name = "traced-static-value"
    group = "roles"
    since = "0.1.0"

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a transformed function puts into static fields."""
        function = code.function
        traced = traced_parameters(code) or mapped_parameters(code)
        given = list(_static_values(code, evaluator))
        if function is None or not given:
            return
        filtering = tracing_arrays(code.applied)
        if traced or filtering:
            computed = _Computed(function, traced, code, evaluator)
            inside = abstracting(code.applied) or filtering
            transform = (inside or code.applied)[0].transform.name
            found = [
                one
                for one in given
                if computed.is_traced(one.expr, one.value, one.field, one.cls)
                or (inside and _is_reduced(one, code.body))
            ]
            where = f"`{function.name}` (`{transform}`)"
        else:
            names = {p.name for p in function.parameters}
            every = Numbers(names, code.body, dict.fromkeys(names, EveryName()))
            given = [
                one
                for one in given
                if _is_staged(one, code.body, evaluator) or every.are_put(one.expr, one.field, one.cls, evaluator)
            ]
            fields = frozenset(one.field.name for one in given)
            symbol = FunctionSymbol(code.place.module, function)
            found, where = [], ""
            for caller in compiled_callers(symbol, fields, evaluator) if given else ():
                numbers = Numbers(caller.given, code.body, caller.instances)
                found = [
                    one
                    for one in given
                    if _is_staged(one, code.body, evaluator) or numbers.are_put(one.expr, one.field, one.cls, evaluator)
                ]
                if found:
                    where = f"`{function.name}`, which {caller.name} calls"
                    break
        for one in found:
            need = need_of(one.field.name, one.cls, code.place.module, evaluator)
            fix = leaf_of(one.field, one.cls, code.place.module, evaluator) if need is None else None
            yield _problem(one.value.at, one.cls, one.field, where, _compares(code), need, fix)


class _Static(msgspec.Struct, frozen=True):
    """What an instance that a function returns is given for a static field."""

    cls: PytreeClass
    field: Field
    value: KeywordValue
    expr: Expr


def _static_values(code: CodeRead, evaluator: Evaluator) -> Iterator[_Static]:
    """What the instances that a body makes, or changes, and returns are given for static fields."""
    for event in code.events:
        if isinstance(event, AssignAttribute):
            assigned = _assigned(event, code, evaluator)
            if assigned is not None:
                yield assigned
            continue
        if isinstance(event, Construct):
            cls, given = event.cls.cls, event.arguments
        elif isinstance(event, Replace):
            cls, given = event.receiver.cls, event.keywords
        else:
            continue
        statics = [(v, f) for v in given if (f := cls.field(v.name)) is not None and f.role is Role.STATIC]
        if not statics or cls.framework.is_stateful:
            continue
        for value, field in statics:
            expr = as_written(value, event.call)
            if expr is None or not is_stored(field.name, cls):
                continue
            if is_returned(event.call, code.body, {field.name}, (code.place.module, code.scope), evaluator):
                yield _Static(cls, field, value, expr)


def _assigned(event: AssignAttribute, code: CodeRead, evaluator: Evaluator) -> _Static | None:
    """What an assignment gives to a static field of an instance that may be changed, and that the body returns."""
    cls, name, field = event.receiver.cls, event.receiver_text, event.receiver.cls.field(event.attr)
    if event.how != "assign" or (cls.frozen is not False and not event.mutable_copy) or cls.framework.is_stateful:
        return None
    if name is None or field is None or field.role is not Role.STATIC:
        return None
    for statement in walk(code.body, nested=False):
        match statement:
            case Assign(targets=(Attribute(value=Name(id=base), attr=attr),), value=expr):
                if (base, attr) == (name, event.attr) and place_of(statement.at).holds(place_of(event.at)):
                    scope = (code.place.module, code.scope)
                    if is_variable_returned(name, code.body, {attr}, scope, evaluator):
                        return _Static(cls, field, KeywordValue(attr, event.at, event.value), expr)
    return None


def _is_reduced(given: _Static, body: Body) -> bool:
    """Whether a value is what jax makes of many numbers: under `jax.jit` that is a tracer, whatever they are."""
    found = plain(given.value.value)
    if not isinstance(found, Array) or found.library != "jax" or found.single is not True or found.declared:
        return False
    expr = looked_up(given.expr, bound_once(body)) if isinstance(given.expr, Name) else given.expr
    return isinstance(expr, Call) and last_name(expr.func) in ARRAY_REDUCTIONS and not _is_computed_at_once(body)


def _is_staged(given: _Static, body: Body, evaluator: Evaluator) -> bool:
    """Whether a number is what the body, a function of jax or a helper has just made: under `jit` that is a tracer."""
    if _is_reduced(given, body):
        return True
    found, made = plain(given.value.value), given.expr
    if not isinstance(made, (Name, Call)) or not _is_number(found, given.field, given.cls, evaluator):
        return False
    if isinstance(made, Name):
        bound = [s for s in walk(body, nested=False) if made.id in assigned_names((s,))]
        made = bound[0].value if len(bound) == 1 and isinstance(bound[0], Assign) else made
    return isinstance(made, (Call, Display, Subscript)) and not _is_computed_at_once(body)


def _is_number(value: Value, field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a value is an array of jax of one element, or one that JAX201 takes for such.

    The field says so, or is given one elsewhere.
    """
    from jaxlint.rules.analyses.instances.given_literals import is_given_one_element

    if not isinstance(value, Array) or value.library != "jax" or value.declared:
        return False
    if value.single is not None:
        return value.single
    return evaluator.promises.no_large_array(field, cls) or is_given_one_element(field, cls, evaluator)


def _is_computed_at_once(body: Body) -> bool:
    """Whether a body has jax compute something while it traces: `with jax.ensure_compile_time_eval():`."""
    opened = (expr for s in walk(body, nested=False) if isinstance(s, With) for expr, _ in s.items)
    return any(isinstance(expr, Call) and last_name(expr.func) == "ensure_compile_time_eval" for expr in opened)


class _Computed:
    """Tells what is computed from the traced parameters of a function."""

    def __init__(self, function: Function, traced: Mapping[str, Value], code: CodeRead, evaluator: Evaluator) -> None:
        self._names = _depending(frozenset(traced), code.body)
        self._leaves = TracedLeaves(traced, code.body, evaluator)
        #: The leaves of parameters of which the arrays are traced, and not the numbers.
        self._filtered = TracedLeaves({} if traced else filtered_parameters(code), code.body, evaluator)
        self._numbers = Numbers(bare(function, traced), code.body, {})
        self._made = {id(event.call): event for event in code.events if isinstance(event, Construct)}
        self._code = code
        self._evaluator = evaluator

    def is_traced(self, expr: Expr, value: KeywordValue, field: Field, cls: PytreeClass) -> bool:
        """Whether an expression is certainly computed from traced numbers, and is one itself."""
        written = looked_up(expr, bound_once(self._code.body)) if isinstance(expr, Name) else expr
        is_for_number = self._evaluator.promises.no_large_array(field, cls)
        if _computes_with(written, self._leaves, is_number if is_for_number else _is_scalar):
            return True
        if is_for_number and _computes_with(written, self._filtered, _is_array):
            return True
        held = self._computed(plain(value.value), expr)
        if _is_number(held, field, cls, self._evaluator) and not _is_computed_at_once(self._code.body):
            for part in parts(written):
                leaf = self._filtered.leaf(part)
                if (isinstance(part, Name) and part.id in self._names) or (leaf is not None and _is_array(leaf)):
                    return True
        return self._numbers.are_put(expr, field, cls, self._evaluator) or self._holds_traced(expr)

    def _computed(self, value: Value, expr: Expr) -> Value:
        """A value as the body of the helper has it that returns it, where only the annotation of that was believed."""
        call = looked_up(expr, bound_once(self._code.body)) if isinstance(expr, Name) else expr
        if not isinstance(value, Array) or not value.declared or not isinstance(call, Call):
            return value
        resolver, calls = self._evaluator.model.resolver, self._evaluator.calls
        found = resolver.follow(resolver.resolve(call.func, self._code.place.module, self._code.scope))
        return plain(calls.return_of(found, None, {})) if isinstance(found, FunctionSymbol) else value

    def _holds_traced(self, expr: Expr) -> bool:
        """Whether an expression is an instance that is made of traced numbers: settings that are the same for none."""
        if len(self._made) < 2:
            return False
        made = self._made.get(id(looked_up(expr, bound_once(self._code.body)) if isinstance(expr, Name) else expr))
        if made is None:
            return False
        for value in made.arguments:
            field, given = made.cls.cls.field(value.name), as_written(value, made.call)
            if field is not None and given is not None and field.role is Role.LEAF:
                if self.is_traced(given, value, field, made.cls.cls):
                    return True
        return False


def _computes_with(expr: Expr, leaves: TracedLeaves, counts: Callable[[Leaf], bool]) -> bool:
    """Whether an expression is a leaf that counts, or is computed from such.

    So does an array, where what is given for a field that is annotated as a number can only be of one element.
    """
    leaf = leaves.leaf(expr)
    if leaf is not None:
        return counts(leaf)
    match expr:
        case Binary(left=left, right=right):
            return _computes_with(left, leaves, counts) or _computes_with(right, leaves, counts)
        case Unary(op="-" | "+", operand=operand):
            return _computes_with(operand, leaves, counts)
        case Subscript(value=held):
            inner = leaves.leaf(held)
            return inner is not None and isinstance(plain(inner.value), Array)
    return False


def _is_scalar(leaf: Leaf) -> bool:
    """Whether a leaf is a number of Python before it is traced."""
    return all(isinstance(k, Scalar) and k.kind in ("int", "float", "bool") for k in options(plain(leaf.value)))


def _is_array(leaf: Leaf) -> bool:
    """Whether a leaf certainly is an array."""
    kinds = list(options(plain(leaf.value)))
    return is_number(leaf) and bool(kinds) and all(isinstance(kind, Array) for kind in kinds)


def _depending(names: frozenset[str], body: Body) -> frozenset[str]:
    """The variables that are computed from some parameters, with these."""
    found = set(names)
    for statement in walk(body, nested=False):
        match statement:
            case Assign(targets=(target,), value=value):
                for one, given in unpacked(target, value):
                    if any(isinstance(part, Name) and part.id in found for part in parts(given)):
                        found.update(target_names(one))
    return frozenset(found)


def _compares(code: CodeRead) -> bool:
    """Whether what runs a body compares the structure of what it returns with another one."""
    transforms = (one.transform for one in code.applied)
    return any(one.is_of_jax and one.name.rpartition(".")[2] in LOOPS for one in transforms)


def _problem(
    at: object, cls: PytreeClass, field: Field, where: str, is_compared: bool, need: Need | None, fix: Proposal | None
) -> Problem:
    way_out = f"make `{field.name}` a data field"
    if need is not None:
        way_out = need.way_out_if_static if need.is_for_structure else f"{way_out}, {need.way_out}"
    fails = "where it is used (UnexpectedTracerError)"
    if is_compared:
        fails = "as soon as the structures are compared, or where it is used"
    return Problem(
        at=at,
        message=(
            f"static field `{field.name}` of `{cls.name}` is given a traced value in {where},"
            f" and the instance is returned: it holds a tracer, which fails {fails}; {way_out}"
        ),
        reason="a static field is part of the structure, which a transformation hands to the caller as it is",
        help=way_out,
        confidence=Confidence.MEDIUM,
        subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{field.name}",
        fix=fix,
    )
