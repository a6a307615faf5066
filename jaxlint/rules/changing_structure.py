"""JAX510 changing-structure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from jaxlint.finding import Confidence
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import CodeRead, Construct, Cross, Replace, Transformed
from jaxlint.libraries.transforms import Kind
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.carried import Carry, changes
from jaxlint.rules.analyses.traced_leaves import TracedLeaves, traced_parameters
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import (
    Binary,
    Call,
    Display,
    Expr,
    Name,
    Starred,
    dotted,
    is_none,
    last_name,
)
from jaxlint.syntax.statements import (
    Assign,
    Body,
    FunctionDefinition,
    Return,
    Statement,
    all_parts,
    own_parts,
    parts,
    walk,
)

#: Functions that join arrays, with what is to be joined as the first argument or as several.
_JOINING = frozenset({"concatenate", "append", "vstack", "hstack", "column_stack"})
#: Which parameter of the function of a loop is the carry.
_CARRIES = {"jax.lax.scan": 0, "jax.lax.while_loop": 0, "jax.lax.fori_loop": 1}


class ChangingStructure(BodyRule):
    """
    ## What it does

    Finds states whose structure is another one after a step: a field that grows, by `jnp.concatenate` or a longer list,
    and a field that is None in the initial carry of a loop and an array afterwards.

    ## Why is this bad?

    The carry of `lax.scan`, `while_loop` and `fori_loop` must go in and come out with the same structure and shapes.
    Under `jit` alone each new shape is compiled anew, at every step.

    ## What you will see

    `TypeError: scan body function carry input and carry output must have the same pytree structure, but they differ`,
    `TypeError: scan body function carry input and carry output must have equal types`. Under `jit` only long compile
    times.

    ## Example

    ```python
    from typing import Optional

    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class Filter:
        mean: jax.Array
        last: Optional[jax.Array] = None

    def update(f: Filter, x):
        return f.replace(mean=0.9 * f.mean + 0.1 * x, last=x), f.mean

    def run(xs: jax.Array):
        return jax.lax.scan(update, Filter(mean=jnp.zeros(())), xs)
    ```

    ## Use instead

    ```python
    from typing import Optional

    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class Filter:
        mean: jax.Array
        last: Optional[jax.Array] = None

    def update(f: Filter, x):
        return f.replace(mean=0.9 * f.mean + 0.1 * x, last=x), f.mean

    def run(xs: jax.Array):
        return jax.lax.scan(update, Filter(mean=jnp.zeros(()), last=jnp.zeros(())), xs)
    ```

    ## Frameworks

    All.

    ## Fix safety

    There is no automatic fix yet.

    ## When not to use it

    A window of fixed size, which drops as much as it adds, is not reported, nor is what is put in by another function.

    ## References

    - [jax.lax.scan](https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html)
    - [equinox #238](https://github.com/patrick-kidger/equinox/issues/238), [flax #676](https://github.com/google/flax/issues/676)
    """

    code = "JAX510"
    name = "changing-structure"
    group = "transformations"
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    instance_calls = frozenset({"scan", "while_loop", "fori_loop"})

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at a function that steps a state, and at the loops that a body runs."""
        yield from _growing(code, evaluator)
        applied = [e for e in code.events if isinstance(e, Transformed)]
        loops = {id(e.at): e for e in applied if e.applied.transform.name in _CARRIES}
        for event in code.events:
            if isinstance(event, Cross) and event.function is None and event.applied[0].transform.name in _CARRIES:
                loop = loops.get(id(event.applied[0].at))
                if loop is not None and loop.function is not None:
                    yield from _filled(event, loop, loop.function, code, evaluator)


# -- what grows ------------------------------------------------------------------------------


def _growing(code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
    """The fields of a traced argument that are given more than they had, in an instance that is returned."""
    function = code.function
    updates = [e for e in code.events if isinstance(e, Replace) and e.base is not None]
    if function is None or not updates:
        return
    loops = [a for a in code.applied if a.transform.kind is Kind.LOOP and a.transform.name in _CARRIES]
    positional = [p.name for p in function.parameters if p.kind == "positional"]
    carried = {positional[_CARRIES[a.transform.name]] for a in loops if len(positional) > _CARRIES[a.transform.name]}
    if not carried:
        return
    traced = traced_parameters(code)
    leaves = TracedLeaves({name: value for name, value in traced.items() if name in carried}, code.body, evaluator)
    for update in updates:
        if not _is_returned(update.call, code.statements):
            continue
        for keyword in update.keywords:
            expr = next((a.value for a in update.call.args if a.at is keyword.at), None)
            field = update.receiver.cls.field(keyword.name)
            grown = None if expr is None else _grown(expr)
            leaf = None if grown is None else leaves.leaf(grown)
            if leaf is not None and field is not None and leaf.field.name == field.name and field.role is Role.LEAF:
                way_out = "make it as large as it will be, and set its items with `.at[i].set(...)`"
                yield Problem(
                    at=keyword.at,
                    message=(
                        f"field `{field.name}` of `{leaf.cls.name}` grows in `{function.name}`, and"
                        f" `{loops[0].transform.name}` carries it: the carry comes out with another structure or shape"
                        f" (TypeError); {way_out}"
                    ),
                    reason="the carry of a loop must keep its structure and its shapes",
                    help=way_out,
                )


def _grown(expr: Expr) -> Expr | None:
    """What an expression makes longer."""
    match expr:
        case Binary(op="+", left=left, right=Display(kind="list" | "tuple", items=items)) if items:
            return left
        case Display(kind="list" | "tuple", items=(Starred(value=held), *rest)) if rest:
            return held
        case Display(kind="list" | "tuple", items=(*rest, Starred(value=held))) if rest:
            return held
        case Call(func=func) if last_name(func) in _JOINING and dotted(func) is not None:
            positional = expr.positional
            first = positional[0] if positional else None
            if last_name(func) == "append":
                return first if len(positional) > 1 else None
            items = first.items if isinstance(first, Display) else ()
            return next((i for i in items if not isinstance(i, Starred)), None) if len(items) > 1 else None
    return None


def _is_returned(call: Call, statements: Iterable[Statement]) -> bool:
    """Whether what a call makes is returned, at once or as a variable."""
    names = {
        s.targets[0].id
        for s in statements
        if isinstance(s, Assign) and isinstance(s.targets[0], Name) and s.value is call
    }
    for statement in statements:
        if isinstance(statement, Return) and statement.value is not None:
            handed = statement.value.items if isinstance(statement.value, Display) else (statement.value,)
            if any(e is call or (isinstance(e, Name) and e.id in names) for e in handed):
                return True
    return False


# -- what is None at first -----------------------------------------------------------------------


class _Initial(msgspec.Struct, frozen=True):
    """How the initial carry is made."""

    cls: PytreeClass
    construct: Construct


def _filled(
    event: Cross, loop: Transformed, function: Function, code: CodeRead, evaluator: Evaluator
) -> Iterator[Problem]:
    """The fields that are None in the initial carry, and that the function of the loop gives an array."""
    initial = _initial(event, code)
    body = _body(loop, function, code, evaluator)
    index = _CARRIES[loop.applied.transform.name]
    positional = [p.name for p in function.parameters if p.kind == "positional"]
    if initial is None or body is None or index >= len(positional):
        return
    carry = positional[index]
    if any(isinstance(s, Assign) and any(dotted(t) == carry for t in s.targets) for s in walk(body, nested=False)):
        return
    given = {argument.name for argument in initial.construct.arguments}
    yield from _changed(event, loop, function, Carry(initial.cls, carry, initial.construct, body))
    others = frozenset() if _loops_over_nothing(loop, code.body) else frozenset(positional) - {carry}
    for field in initial.cls.fields:
        if field.role is not Role.LEAF or field.name in given or field.default is None or field.is_converted:
            continue
        if not is_none(field.default.expr) or initial.construct.call.has_star or initial.cls.custom_init() is not None:
            continue
        if initial.cls.method("__post_init__") is None and _gives(field.name, carry, body, others):
            yield _filled_problem(event, initial.cls, field, function, loop.applied.transform.name)


def _changed(event: Cross, loop: Transformed, function: Function, carry: Carry) -> Iterator[Problem]:
    """The fields of the initial carry to which the function of the loop gives another dtype, or more keys."""
    for change in changes(carry):
        transform = loop.applied.transform.name
        yield Problem(
            at=event.at,
            message=(
                f"field `{change.field}` of `{carry.cls.name}` {change.before} in the initial carry, and"
                f" `{function.name}` {change.after}: `{transform}` refuses it (TypeError); {change.way_out}"
            ),
            reason="the carry of a loop must keep its structure and its types",
            help=change.way_out,
        )


def _initial(event: Cross, code: CodeRead) -> _Initial | None:
    """The constructor call that makes the initial carry."""
    made = {id(e.call): e for e in code.events if isinstance(e, Construct)}
    exprs: dict[str, list[Expr]] = {}
    for statement in code.statements:
        if isinstance(statement, Assign) and isinstance(statement.targets[0], Name):
            exprs.setdefault(statement.targets[0].id, []).append(statement.value)
    for construct in made.values():
        if construct.call.at is event.at:
            return _Initial(construct.cls.cls, construct)
    for statement in code.statements:
        for part in own_parts(statement):
            if part.at is event.at and isinstance(part, Name) and len(exprs.get(part.id, ())) == 1:
                found = made.get(id(exprs[part.id][0]))
                return None if found is None else _Initial(found.cls.cls, found)
    return None


def _body(loop: Transformed, function: Function, code: CodeRead, evaluator: Evaluator) -> Body | None:
    """The statements of the function of a loop: of one here, or of one of a module."""
    for statement in walk(code.body):
        if isinstance(statement, FunctionDefinition) and statement.name == function.name:
            return statement.body
    if function.scope or loop.module is None or function.name == "<lambda>":
        return None
    return evaluator.calls.body_of(FunctionSymbol(loop.module, function))


def _loops_over_nothing(loop: Transformed, body: Body) -> bool:
    """Whether `lax.scan` is given no array to loop over, so that the function is given None for its items."""
    for part in all_parts(body):
        if isinstance(part, Call) and part.at is loop.at and last_name(part.func) == "scan":
            xs = part.positional[2] if len(part.positional) > 2 else part.keyword("xs")
            return xs is None or is_none(xs)
    return False


def _gives(field: str, carry: str, body: Body, arrays: frozenset[str]) -> bool:
    """Whether each `return` of a body gives the field of the carry an array."""
    returns = [s.value for s in walk(body, nested=False) if isinstance(s, Return)]
    assigned = {
        s.targets[0].id: s.value
        for s in walk(body, nested=False)
        if isinstance(s, Assign) and isinstance(s.targets[0], Name)
    }

    def is_array(expr: Expr) -> bool:
        if isinstance(expr, Name):
            return expr.id in arrays or (expr.id in assigned and _is_made(assigned[expr.id]))
        return _is_made(expr)

    return bool(returns) and all(value is not None and _updates(value, field, carry, is_array) for value in returns)


def _is_made(expr: Expr) -> bool:
    """Whether an expression is a sum, or the call of a function of jax that makes an array."""
    if isinstance(expr, Binary):
        return True
    return isinstance(expr, Call) and (dotted(expr.func) or "").partition(".")[0] in ("jnp", "jax", "lax", "np")


def _updates(value: Expr, field: str, carry: str, is_array: Callable[[Expr], bool]) -> bool:
    """Whether a returned value is the carry with an array in the field."""
    first = value.items[0] if isinstance(value, Display) and value.items else value
    if not isinstance(first, Call) or last_name(first.func) not in ("replace", "_replace"):
        return False
    base = first.positional[0] if first.positional else getattr(first.func, "value", None)
    given = first.keyword(field)
    if given is None or base is None or dotted(base) != carry:
        return False
    return is_array(given) and not any(dotted(part) == f"{carry}.{field}" for part in parts(given))


def _filled_problem(event: Cross, cls: PytreeClass, field: Field, function: Function, transform: str) -> Problem:
    way_out = f"give `{field.name}` an array of the same shape and type from the beginning"
    return Problem(
        at=event.at,
        message=(
            f"field `{field.name}` of `{cls.name}` is None in the initial carry, and `{function.name}` gives it an"
            f" array: `{transform}` refuses the other structure (TypeError); {way_out}"
        ),
        reason="`None` is part of the structure of a pytree, and an array is a leaf",
        help=way_out,
    )
