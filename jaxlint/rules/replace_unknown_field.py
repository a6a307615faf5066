"""JAX402 replace-unknown-field."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from jaxlint.cst.changes import Proposal, Rename
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Event, KeywordValue, Replace
from jaxlint.infer.known.values import UNKNOWN
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.frameworks.namedtuple import REPLACE_RAISES_TYPE_ERROR
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.target import Target
from jaxlint.rules.analyses.bodies.lookups import is_looked_up, is_of_wider_tuple
from jaxlint.rules.analyses.changes.updates import accepted_keywords, unknown_keywords
from jaxlint.rules.analyses.fixes.new_fields import declaring
from jaxlint.rules.base import EventRule, Problem
from jaxlint.syntax.expressions import Attribute, Call, Compare, Constant, DictDisplay, Expr, Name, Subscript, Unary
from jaxlint.syntax.spelling import nearest
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    Augment,
    Body,
    Do,
    If,
    Jump,
    Raise,
    Return,
    Statement,
    blocks,
    expressions,
    own_parts,
    parts,
    reads,
    target_names,
    walk,
)


class ReplaceUnknownField(EventRule):
    """
    ## What it does

    Finds updates of a field that the class does not have: in `.replace`, `._replace`, `dataclasses.replace`,
    `jax_dataclasses.replace`, `copy.replace` and `TrainState.apply_gradients`, also through `**{...}`.

    ## Why is this bad?

    The keyword reaches the constructor, which does not know it. Type checkers do not see it: they either do not know
    `.replace` at all, or accept any keyword.

    ## What you will see

    `TypeError: Ball.__init__() got an unexpected keyword argument 'velocty'`; with chex `ValueError: __init__() got
    unexpected kwargs: {'velocty'}.`; with a NamedTuple `TypeError: Got unexpected field names:
    ['velocty']`.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Ball:
        velocity: jax.Array

    def bounce(ball: Ball) -> Ball:
        return ball.replace(velocty=-ball.velocity)
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Ball:
        velocity: jax.Array

    def bounce(ball: Ball) -> Ball:
        return ball.replace(velocity=-ball.velocity)
    ```

    ## Frameworks

    All. `.replace` exists in flax.struct, chex, simple_pytree and mjx; `dataclasses.replace` works on every class
    that builds on dataclasses. A method `replace` of your own is respected, except where the framework overwrites
    it (flax.struct, chex).

    ## Fix safety

    A keyword becomes the field whose name is nearest. The fix is unsafe: the line can only raise, but another field
    may be meant. Where none is near, a fix that declares the field is shown, and not applied.

    ## When not to use it

    A parameter annotated with a base class may be of a subclass: nothing is reported if any visible subclass has the
    field, if another NamedTuple has it and all fields of the annotated one, or if the code asks whether
    it is there (`getattr(state, "field", None)`, `"field" in vars(state)`).
    Fields of classes whose bases cannot be seen are never reported; `--python` makes installed ones visible.

    ## References

    - [flax #2041](https://github.com/google/flax/issues/2041)
    """

    code = "JAX402"
    name = "replace-unknown-field"
    group = "updates"
    since = "0.1.0"
    events = (Replace,)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the keywords of one update."""
        assert isinstance(event, Replace)
        cls = event.receiver.cls
        update = _with_filled(event, evaluator)
        meant = {keyword.name for keyword in update.keywords}  # no field is meant twice
        for keyword in unknown_keywords(update):
            if is_looked_up(event, keyword.name, evaluator) or is_of_wider_tuple(event, keyword.name, evaluator):
                continue
            close = nearest(keyword.name, sorted(set(accepted_keywords(cls) or ()) - meant))
            meant.add(close or keyword.name)
            hint = f"did you mean `{close}`?" if close else f"its fields are {_listed(cls)}"
            yield Problem(
                at=keyword.at,
                message=(
                    f"`{cls.name}` has no field `{keyword.name}`: `{_spelled(event.function)}` raises"
                    f" {_error(cls, event.function, evaluator.model.target)}; {hint}"
                ),
                reason="every keyword of an update is passed on to the constructor, which takes the fields only",
                help=f"replace `{keyword.name}` by `{close}`" if close else "name one of the fields of the class",
                subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{keyword.name}",
                fix=_renaming(event, keyword, close) or _declaring(event, keyword, evaluator),
            )


def _with_filled(event: Replace, evaluator: Evaluator) -> Replace:
    """The update with the keywords that a dict passed as `**changes` has on one path or another."""
    place, passed = event.place, {keyword.name for keyword in event.keywords}
    starred = [arg for arg in event.call.args if arg.star == "**" and isinstance(arg.value, Name)]
    if place.function is None or not starred:
        return event
    body = evaluator.calls.body_of(FunctionSymbol(place.module, place.function)) or ()
    parameters = {parameter.name for parameter in place.function.parameters}
    filled = tuple(
        KeywordValue(key, arg.at, UNKNOWN)
        for arg in starred
        if isinstance(arg.value, Name) and arg.value.id not in parameters
        for key in sorted(_filled_keys(arg.value.id, event.call, body) - passed)
    )
    return replace(event, keywords=(*event.keywords, *filled))


def _renaming(event: Replace, keyword: KeywordValue, close: str | None) -> Proposal | None:
    """The fix: the name of the field that is near."""
    if close is None or event.call.keyword(keyword.name) is None:
        return None
    return Proposal(f"Rename to `{close}`", Applicability.UNSAFE, (Rename(keyword.at, close),))


def _declaring(event: Replace, keyword: KeywordValue, evaluator: Evaluator) -> Proposal | None:
    """The fix that declares the field; in what is written for a dict, nobody knows its value."""
    if event.call.keyword(keyword.name) is None or not keyword.name.isidentifier():
        return None
    return declaring(event.receiver.cls, keyword.name, keyword.value, event.place.module, evaluator)


def _listed(cls: PytreeClass) -> str:
    names = [f"`{f.name}`" for f in cls.fields]
    return ", ".join(names[:6]) + (", …" if len(names) > 6 else "") if names else "none"


def _spelled(function: str) -> str:
    return function if "." in function else f".{function}"


def _error(cls: PytreeClass, function: str, target: Target) -> str:
    if function == "_replace":
        raises_type_error = target.holds(REPLACE_RAISES_TYPE_ERROR)
        if raises_type_error is None:
            return f"TypeError {REPLACE_RAISES_TYPE_ERROR.when}, ValueError before"
        return "TypeError" if raises_type_error else "ValueError"
    return "TypeError" if function == "apply_gradients" else cls.framework.unknown_name_error


# -- the keys of a dict that a function fills ------------------------------------------------------


def _filled_keys(name: str, call: Call, body: Body) -> frozenset[str]:
    """The literal keys that the local dict `name` may have where a call passes it as `**name`.

    None if something else may get hold of the dict, if there is more than one of that name, or if what decides on a
    key may decide on the call, too: `if kind == "a": changes["x"] = 1` and `if kind == "b": b.replace(**changes)`.
    """
    statements = list(walk(body, nested=False))
    passing = next((s for s in statements if any(part is call for part in own_parts(s))), None)
    first = _first_keys(name, statements)
    if passing is None or first is None:
        return frozenset()
    filling = [(s, keys) for s in statements if (keys := _put_by(s, name)) is not None]
    if any(s.at.lineno >= passing.at.lineno for s, _ in filling) or _escapes(name, body):
        return frozenset()
    deciding = _deciding(body, passing) - {name}
    found = (keys for statement, keys in filling if deciding.isdisjoint(_deciding(body, statement)))
    return first.union(*found)


def _first_keys(name: str, statements: list[Statement]) -> frozenset[str] | None:
    """The keys of the dict that a variable is given; None if it is assigned twice, or something else."""
    bound = [s for s in statements if isinstance(s, (Assign, Annotate)) and _binds(s, name)]
    value = bound[0].value if len(bound) == 1 else None
    return None if value is None else _literal_keys(value)


def _binds(statement: Assign | Annotate, name: str) -> bool:
    targets = statement.targets if isinstance(statement, Assign) else (statement.target,)
    return any(name in target_names(target) for target in targets)


def _literal_keys(value: Expr) -> frozenset[str] | None:
    """The keys of a dict that is written out: `{"a": 1}`, `dict(a=1)`."""
    match value:
        case DictDisplay(keys=keys):
            names = [key.value if isinstance(key, Constant) else None for key in keys]
            return frozenset(n for n in names if isinstance(n, str)) if None not in names else None
        case Call(func=Name(id="dict"), args=args) if all(a.keyword is not None for a in args):
            return frozenset(a.keyword for a in args if a.keyword is not None)
    return None


def _put_by(statement: Statement, name: str) -> frozenset[str] | None:
    """The keys that a statement puts into the dict `name`; None if it puts none, or others."""
    match statement:
        case Assign(targets=(Subscript(value=Name(id=held), index=Constant(value=str(key))),)) if held == name:
            return frozenset({key})
        case Augment(target=Name(id=held), op="|", value=value) if held == name:
            return _literal_keys(value)
        case Do(value=Call(func=Attribute(value=Name(id=held), attr="update"), args=args)) if held == name:
            given = [_literal_keys(a.value) if a.keyword is None else frozenset({a.keyword}) for a in args]
            return None if None in given else frozenset[str]().union(*(keys for keys in given if keys is not None))
    return None


def _escapes(name: str, body: Body) -> bool:
    """Whether something may be done with the dict `name` but to fill it, to ask for keys and to pass it as `**name`."""
    harmless: set[int] = set()
    for statement in walk(body, nested=False):
        if _put_by(statement, name) is not None:
            harmless |= {id(p) for e in expressions(statement)[:1] for p in parts(e) if isinstance(p, Name)}
        for part in own_parts(statement):
            match part:
                case Call(args=args):
                    harmless |= {id(a.value) for a in args if a.star == "**"}
                case Unary(op="not", operand=Name() as held):
                    harmless.add(id(held))
                case Compare(ops=("in" | "not in",), comparators=(Name() as held,)):
                    harmless.add(id(held))
        if isinstance(statement, If):
            harmless |= {id(test) for test, _ in statement.branches}
    return any(id(read) not in harmless for read in reads(body, name))


def _deciding(body: Body, statement: Statement) -> set[str]:
    """The names in the tests that decide whether a statement is reached, those of early exits before it too."""
    names: set[str] = set()
    for current in body:
        if current is statement:
            return names
        for block in blocks(current):
            if any(s is statement for s in walk(block, nested=False)):
                return names | _tested(current) | _deciding(block, statement)
        if any(isinstance(s, (Return, Raise, Jump)) for s in walk((current,), nested=False)):
            names |= _tested(current)
    return names


def _tested(statement: Statement) -> set[str]:
    """The names that a statement looks at to choose a block."""
    return {part.id for part in own_parts(statement) if isinstance(part, Name)}
