"""JAX209 static-schedule."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.finding import Confidence, Severity
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import CodeRead, Construct, Replace
from jaxlint.infer.values import Scalar, plain
from jaxlint.pytrees.model import Field, PytreeClass, Role
from jaxlint.rules.analyses.loops import classes_compiled, outermost_loops
from jaxlint.rules.analyses.roles import make_leaf
from jaxlint.rules.analyses.traced import is_seen_to_cross
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.syntax.expressions import Attribute, Call, Constant, Expr, Name, dotted
from jaxlint.syntax.statements import (
    Assign,
    Augment,
    For,
    While,
    all_parts,
    parts,
    target_names,
    walk,
)


class StaticSchedule(BodyRule):
    """
    ## What it does

    Finds static fields that hold a number with a fraction (a rate, a temperature) and are given another one in each
    turn of a loop.

    ## Why is this bad?

    The value of a static field is a part of the key by which JAX finds what it has compiled. A schedule of a hundred
    rates makes a hundred programs.

    ## What you will see

    One compilation per value: five values, five traces.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class State:
        x: jax.Array
        rate: float = struct.field(pytree_node=False, default=0.1)

    @jax.jit
    def step(state: State) -> State:
        return state.replace(x=state.x * (1 - state.rate))

    def run(state: State, steps: int) -> State:
        for i in range(steps):
            state = state.replace(rate=0.1 * 0.99**i)
            state = step(state)
        return state
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class State:
        x: jax.Array
        rate: float = 0.1

    @jax.jit
    def step(state: State) -> State:
        return state.replace(x=state.x * (1 - state.rate))

    def run(state: State, steps: int) -> State:
        for i in range(steps):
            state = state.replace(rate=0.1 * 0.99**i)
            state = step(state)
        return state
    ```

    ## Frameworks

    All that have static fields.

    ## Fix safety

    The marker is dropped, if the class is in the same file. The fix is unsafe: the pytree has another structure then.

    ## When not to use it

    A loop over a few values, with each of which much is computed, is worth its compilations.

    ## References

    - [mbi #196](https://github.com/ryan112358/mbi/pull/196)
    """

    code = "JAX209"
    name = "static-schedule"
    group = "roles"
    severity = Severity.WARNING
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    enabled = False

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what the loops of a body put into static fields."""
        crossing = classes_compiled(code)
        for loop in outermost_loops(code.body):
            inside = {id(part) for part in all_parts((loop,), nested=False) if isinstance(part, Call)}
            varying = _varying(loop)
            for event in code.events:
                if isinstance(event, Replace) and (event.rebinds or event.into_jit):
                    cls, given, base = event.receiver.cls, event.keywords, event.base
                elif isinstance(event, Construct):
                    cls, given, base = event.cls.cls, event.arguments, None
                else:
                    continue
                if id(event.call) not in inside or not (cls in crossing or is_seen_to_cross(cls, evaluator)):
                    continue
                exprs = {id(a.at): a.value for a in event.call.args}
                for argument in given:
                    field, expr = cls.field(argument.name), exprs.get(id(argument.at))
                    if field is None or expr is None or not _is_float(field, cls, evaluator):
                        continue
                    path = None if base is None else f"{dotted(base)}.{field.name}"
                    if _changes(expr, varying, path):
                        yield _problem(argument.at, cls, field, code, evaluator)


def _varying(loop: For | While) -> set[str]:
    """The variables that certainly have another value in each turn: of the loop itself, and made of these."""
    names: set[str] = set()
    for statement in walk((loop,), nested=False):
        if isinstance(statement, (For, Augment)):
            names.update(target_names(statement.target))
    for statement in walk((loop,), nested=False):
        if isinstance(statement, Assign) and any(isinstance(p, Name) and p.id in names for p in parts(statement.value)):
            names.update(name for target in statement.targets for name in target_names(target))
    return names


def _is_float(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a field is static, and certainly holds a number with a fraction."""
    if field.role is not Role.STATIC or field.annotation is None:
        return False
    return plain(evaluator.annotations.read(field.annotation, cls)) == Scalar("float")


def _changes(expr: Expr, varying: set[str], path: str | None) -> bool:
    """Whether an expression is made of what varies, or of what the field itself holds."""
    if isinstance(expr, (Constant, Attribute)):
        return False
    for part in parts(expr):
        if isinstance(part, Name) and part.id in varying:
            return True
        if isinstance(part, Attribute) and path is not None and dotted(part) == path:
            return True
    return False


def _problem(at: object, cls: PytreeClass, field: Field, code: CodeRead, evaluator: Evaluator) -> Problem:
    return Problem(
        at=at,
        message=(
            f"field `{field.name}` of `{cls.name}` is static and gets another value in each turn of the loop: each one"
            " compiles again; make it a data field"
        ),
        reason="the value of a static field is part of the key of the compiled function",
        help="make it a data field",
        subject=f"{cls.module.path}::{field.owner.declaration.qualname}.{field.name}",
        fix=make_leaf(field, cls, code.place.module, evaluator.model),
    )
