"""JAX411 tree-at."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.finding import Confidence
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import Event, Update
from jaxlint.infer.values import Array, Instance, Value, plain
from jaxlint.libraries.arrays import ARRAY_ATTRIBUTES, ARRAY_METHODS, ARRAY_REDUCTIONS
from jaxlint.pytrees.frameworks import EQUINOX
from jaxlint.pytrees.model import Role
from jaxlint.rules.analyses.missing_members import misses_attribute
from jaxlint.rules.base import EventRule, Problem
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Constant,
    Display,
    Expr,
    Lambda,
    Name,
    Subscript,
    Unary,
    same,
)

#: What the marker that stands for a leaf answers.
_OF_LEAF = {
    Attribute: "AttributeError ('_LeafWrapper' object has no such attribute)",
    Subscript: "TypeError ('_LeafWrapper' object is not subscriptable)",
}


class _Wrong(msgspec.Struct, frozen=True):
    """What is wrong with a call, what jax or equinox does then, and the way out."""

    at: object
    what: str
    outcome: str
    way_out: str


class TreeAt(EventRule):
    """
    ## What it does

    Finds calls of `eqx.tree_at` that cannot work: a `where` that selects a static field, a name that the module does
    not have, a part of an array or the result of a computation, or the same node twice; another number of replacements
    than of nodes; both `replace` and `replace_fn`, or neither.

    ## Why is this bad?

    `where` is called with a copy of the tree whose leaves are replaced by markers, and what it returns must be such
    nodes. A static field is no node, and a marker cannot be computed with.

    ## What you will see

    `TypeError: Operation undefined, 3 is not a leaf of the pytree.`, `AttributeError: 'Model' object has no attribute
    'wieght'`, `TypeError: unsupported operand type(s) for +: '_LeafWrapper' and 'int'`, `TypeError: object of type
    'float' has no len()`, `ValueError: Precisely one of `replace` and `replace_fn` must be specified.`

    ## Example

    ```python
    import equinox as eqx
    import jax

    class Model(eqx.Module):
        weight: jax.Array
        size: int = eqx.field(static=True)

    def widen(model: Model) -> Model:
        return eqx.tree_at(lambda m: m.size, model, 8)
    ```

    ## Use instead

    ```python
    import dataclasses

    import equinox as eqx
    import jax

    class Model(eqx.Module):
        weight: jax.Array
        size: int = eqx.field(static=True)

    def widen(model: Model) -> Model:
        return dataclasses.replace(model, size=8)
    ```

    ## Frameworks

    `equinox.tree_at`, whatever the tree is.

    ## Fix safety

    There is no automatic fix.

    ## When not to use it

    There is no reason to turn it off: the call cannot work. Of a node that is selected twice, the last replacement is
    taken.

    ## References

    - [equinox.tree_at](https://docs.kidger.site/equinox/api/manipulation/#equinox.tree_at)
    """

    code = "JAX411"
    name = "tree-at"
    group = "updates"
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    events = (Update,)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at one call."""
        assert isinstance(event, Update)
        if event.function != "equinox.tree_at" or event.call.has_star:
            return
        wrong = _wrong(event, evaluator)
        if wrong is not None:
            cls = plain(event.receiver)
            of = f" of the `{cls.cls.name}`" if isinstance(cls, Instance) else ""
            yield Problem(
                at=wrong.at,
                message=f"`eqx.tree_at`{of} {wrong.what}: {wrong.outcome}; {wrong.way_out}",
                reason="`where` must return nodes of the tree, as they are",
                help=wrong.way_out,
            )


def _wrong(event: Update, evaluator: Evaluator) -> _Wrong | None:
    call = event.call
    where = _argument(call, 0, "where")
    replacement, function = _argument(call, 2, "replace"), _argument(call, 3, "replace_fn")
    if isinstance(_argument(call, 1, "pytree"), Lambda) and not isinstance(where, Lambda):
        return _Wrong(call.func.at, "is given the tree before `where`", "TypeError", "swap the first two arguments")
    if (replacement is None) == (function is None):
        what = "is given neither `replace` nor `replace_fn`" if function is None else "is given both replacements"
        return _Wrong(
            call.func.at, what, "ValueError (Precisely one of `replace` and `replace_fn`)", "pass one of them"
        )
    if not isinstance(where, Lambda) or len(where.params) != 1:
        return None
    selected = where.body.items if isinstance(where.body, Display) else (where.body,)
    for expr in selected:
        found = _not_selected(expr, where.params[0], plain(event.receiver), evaluator)
        if found is not None:
            return found
    return _mismatched(where.body, replacement) if replacement is not None else None


def _argument(call: Call, index: int, name: str) -> Expr | None:
    positional = call.positional
    return positional[index] if index < len(positional) else call.keyword(name)


def _not_selected(expr: Expr, root: str, tree: Value, evaluator: Evaluator) -> _Wrong | None:
    """What is wrong with one thing that `where` returns."""
    if isinstance(expr, (Binary, Unary)):
        return _Wrong(expr.at, "computes something in `where`", "TypeError", "select nodes only, and use `replace_fn`")
    steps: list[Attribute | Subscript] = []
    inner = expr.func if isinstance(expr, Call) else expr
    while isinstance(inner, (Attribute, Subscript)):
        steps.append(inner)
        inner = inner.value
    if not isinstance(inner, Name) or inner.id != root:
        return None
    value = tree
    for step in reversed(steps):
        if isinstance(value, Array) and value.library != "numpy":
            if isinstance(step, Attribute) and step.attr not in ARRAY_ATTRIBUTES | ARRAY_METHODS | ARRAY_REDUCTIONS:
                return None  # an earlier call has put something else there
            return _Wrong(step.at, "selects a part of an array", _OF_LEAF[type(step)], "select the array itself")
        if not isinstance(value, Instance) or not value.cls.is_pytree or isinstance(step, Subscript):
            return None
        cls, attr = value.cls, step.attr
        field = cls.field(attr)
        if field is None:
            family = evaluator.model.family(cls, exact=value.exact)
            if all(one.fields_known and misses_attribute(one, attr, evaluator) for one in family):
                way_out = f"select a field of `{cls.name}`"
                return _Wrong(step.at, f"selects `{attr}`, which `{cls.name}` does not have", "AttributeError", way_out)
            return None
        if field.role is Role.STATIC and cls.framework is EQUINOX:
            what = f"selects `{attr}` of `{cls.name}`, which is static"
            return _Wrong(step.at, what, "TypeError (not a leaf of the pytree)", "use `dataclasses.replace`")
        value = plain(evaluator.promises.field(field, cls))
    return None


def _mismatched(selected: Expr, replacement: Expr) -> _Wrong | None:
    """What is wrong with the number of replacements."""
    if not isinstance(selected, Display) or selected.kind == "set":
        return None
    doubled = next((b for i, b in enumerate(selected.items) if any(same(a, b) for a in selected.items[:i])), None)
    if doubled is not None:
        return _Wrong(doubled.at, "selects the same node twice", "the first replacement is lost", "select it once")
    wanted = len(selected.items)
    if isinstance(replacement, Display) and len(replacement.items) != wanted:
        what = f"selects {wanted} nodes and is given {len(replacement.items)} replacements"
        return _Wrong(replacement.at, what, "ValueError", "give one for each")
    if isinstance(replacement, Constant) and replacement.kind in ("int", "float", "bool"):
        outcome = f"TypeError (object of type '{replacement.kind}' has no len())"
        return _Wrong(replacement.at, f"selects {wanted} nodes and is given one number", outcome, "give one for each")
    return None
