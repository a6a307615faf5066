"""JAX402 replace-unknown-field."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from jaxlint.cst.changes import Proposal, Rename
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Event, KeywordValue, Replace
from jaxlint.infer.known.values import UNKNOWN
from jaxlint.pytrees.frameworks.namedtuple import REPLACE_RAISES_TYPE_ERROR
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.target import Target
from jaxlint.pytrees.updating import accepted_keywords
from jaxlint.rules.analyses.bodies.filled_dicts import certain_keywords, filled_keywords
from jaxlint.rules.analyses.bodies.lookups import is_looked_up, is_of_other_state, is_of_own_state, is_of_wider_tuple
from jaxlint.rules.analyses.changes.updates import unknown_keywords
from jaxlint.rules.analyses.fixes.new_fields import declaring
from jaxlint.rules.analyses.fixes.renamed_keys import renaming_key
from jaxlint.rules.analyses.instances.hopes import has_namesake
from jaxlint.rules.base import EventRule, Problem
from jaxlint.syntax.expressions import Attribute
from jaxlint.syntax.spelling import nearest

#: What tells that the instance is of another class, or is asked for the field.
_OTHERWISE = (is_looked_up, is_of_wider_tuple, is_of_other_state)


class ReplaceUnknownField(EventRule):
    """
    ## What it does

    Finds updates of a field that the class does not have: in `.replace`, `._replace`, `dataclasses.replace`,
    `jax_dataclasses.replace`, `copy.replace` and `TrainState.apply_gradients`, also through `**{...}` and through a
    function or method of your own that hands its `**changes` on.

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

    A keyword becomes the field whose name is nearest, also as the key of a dict that is written in the function, or in
    one of the module that it calls. The fix is unsafe: the line can only raise, but another field may be meant.
    Where none is near, a fix that declares the field is shown, and not applied.

    ## When not to use it

    A parameter annotated with a base class may be of a subclass: nothing is reported if any visible subclass has the
    field, or a method of its own that takes the keyword, if another NamedTuple has it and all fields of the annotated
    one, or if the code asks whether it is there (`getattr(state, "field", None)`, `"field" in vars(state)`).
    Where only an annotation names the class, no field is spelled like the keyword, and another class of the same name
    has it (each environment has a `State` of its own), the finding is of low confidence.
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
        unknown = unknown_keywords(update)
        if unknown and is_of_own_state(event, {keyword.name for keyword in unknown}, evaluator):
            return
        meant = {keyword.name for keyword in event.keywords}  # no field is meant twice
        for keyword in unknown:
            if any(asks(event, keyword.name, evaluator) for asks in _OTHERWISE):
                continue
            close = nearest(keyword.name, sorted(set(accepted_keywords(cls) or ()) - meant))
            meant.add(close or keyword.name)
            is_hoped = close is None and _may_be_namesake(event, keyword.name, evaluator)
            hint = f"did you mean `{close}`?" if close else f"its fields are {_listed(cls)}"
            yield Problem(
                at=keyword.at,
                message=(
                    f"`{cls.name}` has no field `{keyword.name}`: `{_spelled(event)}` raises"
                    f" {_error(cls, event.function, evaluator.model.target)}; {hint}"
                ),
                reason="an update takes the names of fields only, and raises for all others",
                help=f"replace `{keyword.name}` by `{close}`" if close else "name one of the fields of the class",
                confidence=Confidence.LOW if is_hoped else None,
                subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}.{keyword.name}",
                fix=_renaming(event, keyword, close, evaluator) or _declaring(event, keyword, evaluator),
            )


def _may_be_namesake(event: Replace, name: str, evaluator: Evaluator) -> bool:
    """Whether only an annotation names the class, and another one that is called like it has the field."""
    receiver = event.receiver
    return receiver.declared and has_namesake(receiver.cls, name, event.place.module, evaluator)


def _with_filled(event: Replace, evaluator: Evaluator) -> Replace:
    """The update with the keywords that a dict passed as `**changes` has on one path or another, as far as is known."""
    certain = certain_keywords(event.keywords, event.call, event.place, evaluator)
    filled = [KeywordValue(key, at, UNKNOWN) for key, at in filled_keywords(event.call, event.place, evaluator)]
    return replace(event, keywords=(*certain, *filled)) if len(certain) < len(event.keywords) or filled else event


@proposing
def _renaming(event: Replace, keyword: KeywordValue, close: str | None, evaluator: Evaluator) -> Proposal | None:
    """The fix: the name of the field that is near."""
    if close is None:
        return None
    if event.call.keyword(keyword.name) is None:
        return renaming_key(keyword.name, close, event.place, evaluator)
    return Proposal(f"Rename to `{close}`", Applicability.UNSAFE, (Rename(keyword.at, close),))


@proposing
def _declaring(event: Replace, keyword: KeywordValue, evaluator: Evaluator) -> Proposal | None:
    """The fix that declares the field; in what is written for a dict, nobody knows its value."""
    if event.call.keyword(keyword.name) is None or not keyword.name.isidentifier():
        return None
    if _is_assigned(event.receiver.cls):
        return None  # its constructor would have to assign it
    return declaring(event.receiver.cls, keyword.name, keyword.value, event.place.module, evaluator)


def _listed(cls: PytreeClass) -> str:
    assigned = sorted(accepted_keywords(cls) or ()) if _is_assigned(cls) else None
    names = [f"`{name}`" for name in assigned or (f.name for f in cls.fields)]
    return ", ".join(names[:6]) + (", …" if len(names) > 6 else "") if names else "none"


def _is_assigned(cls: PytreeClass) -> bool:
    """Whether fields are what the constructor assigns, as nothing makes a dataclass of the class."""
    return not cls.framework.is_tuple and not any(one.is_dataclass for one in cls.mro)


def _spelled(event: Replace) -> str:
    """What makes the copy: a function by its name, a method with a point before it."""
    func = event.call.func
    is_method = isinstance(func, Attribute) and func.value == event.base
    return f".{event.function}" if is_method else event.function


def _error(cls: PytreeClass, function: str, target: Target) -> str:
    if cls.framework.is_tuple:
        raises_type_error = target.holds(REPLACE_RAISES_TYPE_ERROR)
        if raises_type_error is None:
            return f"TypeError {REPLACE_RAISES_TYPE_ERROR.when}, ValueError before"
        return "TypeError" if raises_type_error else "ValueError"
    if _is_assigned(cls):
        return "ValueError"
    return "TypeError" if function == "apply_gradients" else cls.framework.unknown_name_error
