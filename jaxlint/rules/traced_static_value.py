"""JAX208 traced-static-value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

import msgspec

from jaxlint.cst.changes import Proposal
from jaxlint.finding import Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Construct, KeywordValue, Replace
from jaxlint.infer.known.values import UNKNOWN, Array, Scalar, UnknownValue, Value, options, plain
from jaxlint.infer.transforms.applied import Applied, abstracting, rebuilt_parameters
from jaxlint.infer.transforms.calling import piece_of
from jaxlint.libraries.arrays import ARRAY_REDUCTIONS
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.pytrees.updating import COPYING_NAMES
from jaxlint.rules.analyses.fields.keeping import is_kept
from jaxlint.rules.analyses.fixes.roles import make_leaf
from jaxlint.rules.analyses.under_trace.traced_leaves import TracedLeaves, mapped_parameters, traced_parameters
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Binary, Call, Expr, Name, Subscript, Unary, last_name
from jaxlint.syntax.statements import (
    Assign,
    Body,
    Return,
    With,
    all_parts,
    bound_by,
    bound_once,
    looked_up,
    own_parts,
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
    leaf.

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
        given = list(_static_values(code))
        if function is None or not given:
            return
        if traced:
            computed = _Computed(function, traced, code, evaluator)
            inside = abstracting(code.applied)
            transform = (inside or code.applied)[0].transform.name
            found = [
                one
                for one in given
                if computed.is_traced(one.expr, one.value, one.field, one.cls)
                or (inside and _is_reduced(one, code.body))
            ]
            where = f"`{function.name}` (`{transform}`)"
        else:
            caller = _calling(function, {one.field.name for one in given}, code, evaluator)
            where = "" if caller is None else f"`{function.name}`, which {caller.name} calls"
            numbers = _Numbers(() if caller is None else caller.given, code.body)
            found = [
                one
                for one in (given if caller is not None else ())
                if _is_reduced(one, code.body) or numbers.are_put(one.expr, one.field, one.cls, evaluator)
            ]
        for one in found:
            fix = make_leaf(one.field, one.cls, code.place.module, evaluator.model)
            yield _problem(one.value.at, one.cls, one.field, where, fix)


class _Static(msgspec.Struct, frozen=True):
    """What an instance that a function returns is given for a static field."""

    cls: PytreeClass
    field: Field
    value: KeywordValue
    expr: Expr


def _static_values(code: CodeRead) -> Iterator[_Static]:
    """What the instances that a body makes and returns are given for static fields."""
    for event in code.events:
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
            expr = _given(value, event.call)
            if expr is not None and is_kept(field.name, cls) and _is_returned(event.call, code.body, {field.name}):
                yield _Static(cls, field, value, expr)


def _is_reduced(given: _Static, body: Body) -> bool:
    """Whether a value is what jax makes of many numbers: under `jax.jit` that is a tracer, whatever they are."""
    found = plain(given.value.value)
    if not isinstance(found, Array) or found.library != "jax" or found.single is not True or found.declared:
        return False
    expr = looked_up(given.expr, bound_once(body)) if isinstance(given.expr, Name) else given.expr
    return isinstance(expr, Call) and last_name(expr.func) in ARRAY_REDUCTIONS and not _is_computed_at_once(body)


def _is_computed_at_once(body: Body) -> bool:
    """Whether a body has jax compute something while it traces: `with jax.ensure_compile_time_eval():`."""
    opened = (expr for s in walk(body, nested=False) if isinstance(s, With) for expr, _ in s.items)
    return any(isinstance(expr, Call) and last_name(expr.func) == "ensure_compile_time_eval" for expr in opened)


class _Caller(msgspec.Struct, frozen=True):
    """A compiled function, in words, that returns what another one returns, and what parameters it gives tracers."""

    name: str
    given: set[str]


def _calling(function: Function, fields: set[str], code: CodeRead, evaluator: Evaluator) -> _Caller | None:
    """The compiled function of the module that returns what a helper returns, with its fields; None if none is seen."""
    module = code.place.module
    if function.owner is not None or function.scope or code.applied or function.decorators:
        return None
    for other in module.outline.functions.values():
        if other is function or function.name not in piece_of(other, module.outline).calls:
            continue
        applied = abstracting(evaluator.calls.transformed.of(other, module))
        body = evaluator.calls.body_of(FunctionSymbol(module, other)) or () if applied else ()
        for part in all_parts(body, nested=False):
            if isinstance(part, Call) and isinstance(part.func, Name) and part.func.id == function.name:
                if _is_returned(part, body, fields):
                    numbers = _Numbers(_rebuilt_numbers(other, applied, module, evaluator), body)
                    passed = {} if part.has_star else part.given_to(function.positional)
                    traced = {name for name, expr in passed.items() if numbers.computes(expr)}
                    traced = _bare(function, dict.fromkeys(traced, UNKNOWN))
                    return _Caller(f"`{other.name}` (`{applied[0].transform.name}`)", traced)
    return None


def _rebuilt_numbers(function: Function, applied: list[Applied], module: Module, evaluator: Evaluator) -> set[str]:
    """The parameters of a compiled function that are tracers: those that say nothing, or that they are arrays."""
    rebuilt = rebuilt_parameters(function, applied)
    arrays = {
        p.name
        for p in function.parameters
        if p.name in rebuilt
        and p.annotation is not None
        and isinstance(plain(evaluator.annotations.read(Placed(p.annotation, module, function.scope))), Array)
    }
    return arrays | _bare(function, dict.fromkeys(rebuilt, UNKNOWN))


def _given(value: KeywordValue, call: Call) -> Expr | None:
    """What is given for a field, as it is written."""
    return next((a.value for a in call.args if a.at is value.at and not a.star), None)


class _Computed:
    """Tells what is computed from the traced parameters of a function."""

    def __init__(self, function: Function, traced: Mapping[str, Value], code: CodeRead, evaluator: Evaluator) -> None:
        self._names = _depending(frozenset(traced), code.body)
        self._leaves = TracedLeaves(traced, code.body, evaluator)
        self._numbers = _Numbers(_bare(function, traced), code.body)
        self._made = {id(event.call): event for event in code.events if isinstance(event, Construct)}
        self._code = code
        self._evaluator = evaluator

    def is_traced(self, expr: Expr, value: KeywordValue, field: Field, cls: PytreeClass) -> bool:
        """Whether an expression is certainly computed from traced numbers, and is one itself."""
        if _computes_with(expr, self._leaves):
            return True
        found = plain(value.value)
        is_single = isinstance(found, Array) and found.library == "jax" and found.single is True and not found.declared
        if is_single and any(isinstance(part, Name) and part.id in self._names for part in parts(expr)):
            return True
        return self._numbers.are_put(expr, field, cls, self._evaluator) or self._holds_traced(expr)

    def _holds_traced(self, expr: Expr) -> bool:
        """Whether an expression is an instance that is made of traced numbers: settings that are the same for none."""
        if len(self._made) < 2:
            return False
        made = self._made.get(id(looked_up(expr, bound_once(self._code.body)) if isinstance(expr, Name) else expr))
        if made is None:
            return False
        for value in made.arguments:
            field, given = made.cls.cls.field(value.name), _given(value, made.call)
            if field is not None and given is not None and field.role is Role.LEAF:
                if self.is_traced(given, value, field, made.cls.cls):
                    return True
        return False


class _Numbers:
    """Tells what is certainly computed from parameters of which nothing else is known than that they are traced."""

    def __init__(self, parameters: Collection[str], body: Body) -> None:
        bound = Counter(name for s in walk(body, nested=False) for t in bound_by(s) for name in target_names(t))
        self._parameters = set(parameters) - bound.keys()
        self._variables = {
            s.targets[0].id: s.value
            for s in walk(body, nested=False)
            if isinstance(s, Assign) and isinstance(s.targets[0], Name) and bound[s.targets[0].id] == 1
        }

    def are_put(self, expr: Expr, field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
        """Whether an expression is computed so; a bare parameter may be a pytree without leaves, but no number.

        Nor may an item of one.
        """
        if isinstance(expr, Subscript) and isinstance(expr.value, Name):
            return self.are_put(expr.value, field, cls, evaluator)
        if isinstance(expr, Name):
            declared = UNKNOWN if field.annotation is None else plain(evaluator.promises.field(field, cls))
            if not isinstance(declared, Scalar) or declared.kind not in ("int", "float", "bool"):
                return False
        return self.computes(expr)

    def computes(self, expr: Expr, depth: int = 0) -> bool:
        """Whether an expression is such a parameter, a sum with one, or the largest of its elements and the like."""
        match expr:
            case Name(id=name):
                if name in self._parameters:
                    return True
                value = self._variables.get(name)
                return value is not None and depth < _MAX_DEPTH and self.computes(value, depth + 1)
            case Binary(left=left, right=right):
                return self.computes(left, depth) or self.computes(right, depth)
            case Call(func=Attribute(value=held, attr=attr), args=()) if attr in ARRAY_REDUCTIONS:
                return self.computes(held, depth)
            case Call(func=Attribute(value=Name(id="jnp"), attr=attr), args=(given, *_)) if attr in ARRAY_REDUCTIONS:
                return self.computes(given.value, depth)
        return False


def _bare(function: Function, traced: Mapping[str, Value]) -> set[str]:
    """The parameters that are traced and of which nothing else is known."""
    bare = {p.name for p in function.parameters if p.annotation is None and p.default is None}
    return {name for name, value in traced.items() if name in bare and isinstance(value, UnknownValue)}


def _computes_with(expr: Expr, leaves: TracedLeaves) -> bool:
    """Whether an expression is a leaf that is a number, or a sum of such."""
    leaf = leaves.leaf(expr)
    if leaf is not None:
        kinds = options(plain(leaf.value))
        return all(isinstance(k, Scalar) and k.kind in ("int", "float", "bool") for k in kinds)
    match expr:
        case Binary(left=left, right=right):
            return _computes_with(left, leaves) or _computes_with(right, leaves)
        case Unary(op="-" | "+", operand=operand):
            return _computes_with(operand, leaves)
        case Subscript(value=held):
            inner = leaves.leaf(held)
            return inner is not None and isinstance(plain(inner.value), Array)
    return False


def _depending(names: frozenset[str], body: Body) -> frozenset[str]:
    """The variables that are computed from some parameters, with these."""
    found = set(names)
    for statement in walk(body, nested=False):
        match statement:
            case Assign(targets=(Name(id=name),), value=value):
                if any(isinstance(part, Name) and part.id in found for part in parts(value)):
                    found.add(name)
    return frozenset(found)


def _is_returned(call: Call, body: Body, fields: Collection[str]) -> bool:
    """Whether what a call makes is returned, at once, as a variable, or in a copy that keeps some fields."""
    names: set[str] = set()

    def is_it(expr: Expr) -> bool:
        if expr is call or (isinstance(expr, Name) and expr.id in names):
            return True
        return isinstance(expr, Call) and (base := _copied(expr, fields)) is not None and is_it(base)

    for statement in walk(body, nested=False):
        match statement:
            case Assign(targets=(Name(id=name),), value=value) if is_it(value):
                names.add(name)
            case Return(value=value) if value is not None:
                if any(part is call for part in own_parts(statement)) or any(map(is_it, _handed(value))):
                    return True
    return False


def _copied(call: Call, fields: Collection[str]) -> Expr | None:
    """The instance of which a call makes a copy that has the same values in some fields."""
    if last_name(call.func) not in COPYING_NAMES or any(a.star or a.keyword in fields for a in call.args):
        return None
    if call.positional:
        return call.positional[0]
    return call.func.value if isinstance(call.func, Attribute) else None


def _handed(value: Expr) -> Iterator[Expr]:
    """What is handed back as it is: the value itself, and the items of a tuple."""
    yield value
    for item in getattr(value, "items", ()):
        yield from _handed(item)


def _problem(at: object, cls: PytreeClass, field: Field, where: str, fix: Proposal | None) -> Problem:
    way_out = f"make `{field.name}` a data field"
    return Problem(
        at=at,
        message=(
            f"static field `{field.name}` of `{cls.name}` is given a traced value in {where},"
            " and the instance is returned: it holds a tracer, which fails where it is used"
            f" (UnexpectedTracerError); {way_out}"
        ),
        reason="a static field is part of the structure, which a transformation hands to the caller as it is",
        help=way_out,
        confidence=Confidence.MEDIUM,
        subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{field.name}",
        fix=fix,
    )
