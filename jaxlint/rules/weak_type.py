"""JAX511 weak-type."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from jaxlint.cst.changes import Proposal
from jaxlint.cst.reading import FunctionNode
from jaxlint.cst.shapes import own, returned
from jaxlint.finding import Confidence, Severity
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Replace
from jaxlint.infer.known.values import Array, plain
from jaxlint.infer.transforms.applied import abstracting
from jaxlint.libraries.arrays import ARRAY_REDUCTIONS, is_reduction
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.rules.analyses.fixes.strong_numbers import NumbersGiven, beginning_strongly
from jaxlint.rules.analyses.instances.given_literals import is_given_number, is_made_with_array, is_made_with_number
from jaxlint.rules.analyses.instances.passed import calls_as_written
from jaxlint.rules.analyses.under_trace.traced_arguments import traced_parameters
from jaxlint.rules.analyses.under_trace.traced_leaves import TracedLeaves
from jaxlint.rules.base import NodeRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Binary, Call, Constant, Expr, Name, Unary, dotted
from jaxlint.syntax.source import Source
from jaxlint.syntax.statements import Assign, parts

#: Finds what gives a variable the result of a function.
_GIVING = re.compile(r"=\s*(?:\w+\.)*(\w+)\(")
_ARITHMETIC = frozenset({"+", "-", "*", "/"})


class WeakType(NodeRule):
    """
    ## What it does

    Finds leaves that begin as a Python number and become an array: their default is the number, or every construction
    that is seen gives one, and a compiled function replaces it by an array of fixed type, or by its sum with one.

    ## Why is this bad?

    A Python number is weakly typed under `jax.jit`, the mean of an array is not. The second call is given another type
    than the first, and compiles the function once more.

    ## What you will see

    Two compilations of the step instead of one, and no error.

    ## Example

    ```python
    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class State:
        x: jax.Array
        loss: float = 0.0

    @jax.jit
    def step(state: State) -> State:
        return state.replace(loss=jnp.mean(state.x))
    ```

    ## Use instead

    ```python
    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class State:
        x: jax.Array
        loss: jax.Array = struct.field(default_factory=lambda: jnp.array(0.0, dtype=float))

    @jax.jit
    def step(state: State) -> State:
        return state.replace(loss=jnp.mean(state.x))
    ```

    ## Frameworks

    All. Counters (`step + 1`) stay weakly typed, and cost nothing. `jnp.array(0.0)` is weakly typed, too, as long as it
    is given no `dtype`.

    ## Fix safety

    The default, and the numbers that constructions in the module give, become arrays of the type that the leaf gets:
    `jnp.array(0.0, dtype=float)`. There is a fix where it is known whether that is a type of integers or of floats. It
    is unsafe: what asks for a number of Python, or computes with other types, sees another one.

    ## When not to use it

    Fields without a default are looked at where the module gives the function again what it has returned
    (`state = step(state)`). One more compilation is cheap for many programs. Some instances may be given an array in
    place of the default, and do not have the problem.

    ## References

    - [JAX: weakly typed values](https://docs.jax.dev/en/latest/type_promotion.html#weakly-typed-values-in-jax)
    """

    code = "JAX511"
    name = "weak-type"
    group = "transformations"
    severity = Severity.INFO
    since = "0.1.0"
    confidence = Confidence.MEDIUM

    everywhere = True

    def can_match(self, code: CodeRead) -> bool:
        """Ask for an update in a compiled function."""
        is_updating = any(isinstance(e, Replace) and e.base is not None for e in code.events)
        return is_updating and any(a.transform.name == "jax.jit" for a in abstracting(code.applied))

    def check_node(self, function: FunctionNode, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a compiled function puts into leaves."""
        code = function.code
        updates = [e for e in code.events if isinstance(e, Replace) and e.base is not None]
        traced = traced_parameters(code)
        leaves = TracedLeaves(traced, code.body, evaluator)
        variables = _variables(code)
        for update in updates:
            base = None if update.base is None else dotted(update.base)
            if base is None or base not in traced:
                continue
            exprs = {id(a.at): a.value for a in update.call.args}
            for keyword in update.keywords:
                field, expr = update.receiver.cls.field(keyword.name), exprs.get(id(keyword.at))
                cls = update.receiver.cls
                if field is None or expr is None:
                    continue
                made = variables.get(expr.id, expr) if isinstance(expr, Name) else expr
                if not _is_strong(made, leaves, code, evaluator) or not _begins_as_number(field, cls, code, evaluator):
                    continue
                if _is_returned(update.call, function):
                    kind = NumbersGiven(field, cls, leaves, code, evaluator).kind(made)
                    fix = beginning_strongly(field, cls, kind, code.place.module, evaluator)
                    yield _problem(keyword.at, cls, field, kind, fix)


def _variables(code: CodeRead) -> dict[str, Expr]:
    """The variables of a body that are assigned once, and what."""
    found: dict[str, list[Expr]] = {}
    for statement in code.statements:
        if isinstance(statement, Assign) and isinstance(statement.targets[0], Name):
            found.setdefault(statement.targets[0].id, []).append(statement.value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _is_returned(call: Call, function: FunctionNode) -> bool:
    """Whether an update is returned as it is, or in a tuple."""
    made = function.node_at(call.at)
    return any(part is made for value in returned(function.body) for part in own(value, type(made)))


def _begins_as_number(field: Field, cls: PytreeClass, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a leaf has a Python number for its default; or has none, is always made with one, and comes back.

    A default does not count if all constructions that are seen give an array in its place.
    """
    if field.role is not Role.LEAF or field.is_converted:
        return False
    if field.default is not None:
        return bool(_literal(field.default.expr)) and not is_made_with_array(field, cls, evaluator)
    return not field.has_default and is_made_with_number(field, cls, evaluator) and _comes_back(code)


def _literal(expr: Expr) -> str:
    """A Python number that is written out, with its sign; empty if an expression is none."""
    match expr:
        case Constant(value=value, kind="int" | "float"):
            return repr(value)
        case Unary(op="-", operand=Constant(kind="int" | "float") as number):
            return f"-{number.value!r}"
    return ""


def _comes_back(code: CodeRead) -> bool:
    """Whether the module gives the function again what it has returned: `state = step(state)`."""
    if code.function is None:
        return False
    source, name = code.place.module.source, code.function.name
    rows = _rows_giving(source).get(name, ())
    again = rf"(?<![\w.])([\w.]+)\b[^=\n]*=\s*(?:\w+\.)*{re.escape(name)}\([^\n]*?(?<![\w.])\1\b" if rows else ""
    return any(re.search(again, source.text[start:end]) for start, end in rows)


def _rows_giving(source: Source) -> Mapping[str, list[tuple[int, int]]]:
    """Where rows begin and end that give a variable what a function returns, by its name: thousands may ask."""
    found: dict[str, list[tuple[int, int]]] | None = source.shared.get(_GIVING)
    if found is None:
        found, text = {}, source.text
        for match in _GIVING.finditer(text):
            end = text.find("\n", match.end())
            row = text.rfind("\n", 0, match.start()) + 1, len(text) if end < 0 else end
            found.setdefault(match[1], []).append(row)
        source.shared[_GIVING] = found
    return found


def _is_strong(expr: Expr, leaves: TracedLeaves, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether an expression is a number that is made of a leaf that certainly is an array, or a sum with one."""
    if isinstance(expr, Binary) and expr.op in _ARITHMETIC:
        sides = (expr.left, expr.right)
        return any(
            _is_array(side, leaves, code, evaluator) or _is_strong(side, leaves, code, evaluator) for side in sides
        )
    if not isinstance(expr, Call):
        return False
    name = evaluator.model.resolver.library_name(expr.func, code.place.module, code.scope)
    is_method = not name and isinstance(expr.func, Attribute) and expr.func.attr in ARRAY_REDUCTIONS
    if not is_method and not is_reduction(name):
        return False
    read = [leaf for part in parts(expr) if isinstance(part, Attribute) and (leaf := leaves.leaf(part)) is not None]
    return bool(read) and all(isinstance(plain(leaf.value), Array) for leaf in read)


def _is_array(expr: Expr, leaves: TracedLeaves, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether an expression is a leaf that is annotated as an array, and that nobody is seen to give a number.

    Or it is a parameter that all calls give an array.
    """
    if isinstance(expr, Name) and code.function is not None and expr.id in traced_parameters(code):
        return _is_given_arrays(expr.id, code.function, code, evaluator)
    leaf = leaves.leaf(expr) if isinstance(expr, Attribute) else None
    if leaf is None or leaf.field.has_default or not isinstance(plain(leaf.value), Array):
        return False
    return not is_given_number(leaf.field, leaf.cls, evaluator)


def _is_given_arrays(parameter: str, function: Function, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether calls in the module of a compiled function are seen, and each gives the parameter an array."""
    module = code.place.module
    calls = list(calls_as_written(function, module, (module,), evaluator))
    given = [
        evaluator.static(Placed(call.given[parameter], module, call.scope)) for call in calls if parameter in call.given
    ]
    return 0 < len(given) == len(calls) and all(isinstance(value, Array) and not value.declared for value in given)


def _problem(at: object, cls: PytreeClass, field: Field, kind: str, fix: Proposal | None) -> Problem:
    number = "..." if field.default is None else _literal(field.default.expr)
    made = f"jnp.array({number}, dtype={kind or '...'})"
    begin = f"`default_factory=lambda: {made}`" if field.has_default else f"`{made}`"
    if field.has_default and cls.framework.is_tuple:
        begin = f"give `{made}` where instances are made"  # the tuple would share a default, and make it when imported
    way_out = f"let `{field.name}` begin as an array: {begin}"
    return Problem(
        at=at,
        message=(
            f"`{field.name}` of `{cls.name}` begins as a Python number, which is weakly typed, and is replaced by an"
            f" array here: the second call compiles once more; {way_out}"
        ),
        reason="the weak type of a leaf is part of the key of the compiled function",
        help=way_out,
        fix=fix,
    )
