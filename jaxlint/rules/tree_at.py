"""JAX411 tree-at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from jaxlint.cst.changes import EditCall, Proposal, Remove, Rename, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Event, Update
from jaxlint.infer.known.values import Array, Container, Instance, Scalar, Value, element_of, plain
from jaxlint.libraries.arrays import ARRAY_ATTRIBUTES, ARRAY_METHODS, ARRAY_REDUCTIONS, returned_library
from jaxlint.libraries.updates import GIVE_SAME, TREE_AT
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.frameworks import EQUINOX
from jaxlint.pytrees.frameworks.equinox import EMPTY_WITHOUT
from jaxlint.pytrees.missing_members import misses_attribute
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.rules.analyses.changes.selections import selection
from jaxlint.rules.analyses.fixes.copies import is_copied, made_anew_help
from jaxlint.rules.analyses.instances.empty_leaves import empty_leaves, is_made_without
from jaxlint.rules.analyses.instances.given_literals import is_given_tuple
from jaxlint.rules.base import EventRule, Problem
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Binary,
    Call,
    Clause,
    Comprehension,
    Constant,
    Display,
    Expr,
    Lambda,
    Name,
    Starred,
    Subscript,
    Unary,
    dotted,
    is_slice,
    same,
    without_call,
)
from jaxlint.syntax.spelling import nearest

_SEQUENCES = ("tuple", "list")
_PARAMETERS = ("where", "pytree", "replace", "replace_fn", "is_leaf")
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
    fix: Proposal | None = None


class TreeAt(EventRule):
    """
    ## What it does

    Finds calls of `eqx.tree_at` that cannot work: a `where` that selects a static field, a name that the module does
    not have, a part of an array or the result of a computation, a node of the tree itself instead of one of what it is
    given, a None beside which there is another one, or the same node twice; another number of replacements than of
    nodes; both `replace` and `replace_fn`, or neither.

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

    A static field is replaced with `dataclasses.replace`, the item of an array with `.at[i].set(v)`, the first two
    arguments are swapped, `is_leaf` is given, and what is selected twice is selected once: these are safe, for the call
    could only raise, or gives the same. There is no fix of a static field where `__init__` does not take the fields
    alone. A name becomes the nearest field, and one number is given for each node; these are unsafe.

    ## When not to use it

    There is no reason to turn it off: the call cannot work. Of a node that is selected twice, the last replacement is
    taken.

    ## References

    - [equinox.tree_at](https://docs.kidger.site/equinox/api/manipulation/#equinox.tree_at)
    """

    code = "JAX411"
    name = "tree-at"
    group = "updates"
    about_values = True
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    events = (Update,)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at one call."""
        assert isinstance(event, Update)
        if event.function != TREE_AT or event.call.has_star:
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
                subject=TREE_AT,  # whether the class of the tree is known or not
                fix=wrong.fix,
            )


def _wrong(event: Update, evaluator: Evaluator) -> _Wrong | None:
    call = event.call
    where = _argument(call, 0, "where")
    replacement, function = _argument(call, 2, "replace"), _argument(call, 3, "replace_fn")
    if isinstance(_argument(call, 1, "pytree"), Lambda) and not isinstance(where, Lambda):
        way_out = "swap the first two arguments"
        return _Wrong(call.func.at, "is given the tree before `where`", "TypeError", way_out, _swapped(call))
    foreign = next((a for a in call.args if a.keyword is not None and a.keyword not in _PARAMETERS), None)
    if foreign is not None:
        outcome, way_out = "TypeError (unexpected keyword argument)", "pass `replace` or `replace_fn`"
        return _Wrong(foreign.at, f"takes no `{foreign.keyword}`", outcome, way_out)
    if (replacement is None) == (function is None):
        what = "is given neither `replace` nor `replace_fn`" if function is None else "is given both replacements"
        return _Wrong(
            call.func.at, what, "ValueError (Precisely one of `replace` and `replace_fn`)", "pass one of them"
        )
    chosen = selection(where, event.place, evaluator)
    if chosen is None or chosen.module is not event.place.module:
        return None
    root, whole = chosen.root, chosen.body
    body = _copied(whole) or whole
    in_list = body is not whole and isinstance(body, Binary)
    selected = _selected(body, {root: plain(event.receiver)}, event, evaluator, in_list=in_list)
    wrong = (_not_selected(expr, values, event, evaluator) for expr, values in selected)
    found = next((one for one in wrong if one is not None), None)
    if found is None and replacement is not None:
        found = _mismatched(body, replacement)
    if found is not None and not isinstance(where, Lambda):
        return msgspec.structs.replace(found, fix=None)  # another call may use the function
    return found


def _selected(
    body: Expr, values: Mapping[str, Value], event: Update, evaluator: Evaluator, *, in_list: bool = False
) -> Iterator[tuple[Expr, Mapping[str, Value]]]:
    """The things that `where` returns, each with what its variables stand for; lists may be put together of others.

    A list of which nothing else is known, `in_list`, says nothing.
    """
    match body:
        case Starred(value=held):
            yield from _selected(held, values, event, evaluator, in_list=True)
        case Display(items=items):
            for item in items:
                yield from _selected(item, values, event, evaluator)
        case Binary(left=left, right=right) if _joins(body):
            yield from _selected(left, values, event, evaluator, in_list=True)
            yield from _selected(right, values, event, evaluator, in_list=True)
        case Comprehension(clauses=(Clause(target=Name(id=name), iterable=iterable),), element=element):
            of_element = {**values, name: element_of(_value(iterable, values, event, evaluator))}
            yield from _selected(element, of_element, event, evaluator)
        case _ if in_list:
            copied = _copied(body)
            yield from () if copied is None else _selected(copied, values, event, evaluator, in_list=True)
        case _:
            yield body, values


def _copied(expr: Expr) -> Expr | None:
    """What a tuple or list is made of, if an expression makes one of something else."""
    match expr:
        case Call(func=func, args=(Argument(value=copied),)) if dotted(func) in _SEQUENCES:
            return copied
    return None


def _argument(call: Call, index: int, name: str) -> Expr | None:
    positional = call.positional
    return positional[index] if index < len(positional) else call.keyword(name)


def _not_selected(expr: Expr, values: Mapping[str, Value], event: Update, evaluator: Evaluator) -> _Wrong | None:
    """What is wrong with one thing that `where` returns; `values` are what its variables stand for."""
    if isinstance(expr, (Binary, Unary)):
        if isinstance(expr, Binary) and expr.op == "+" and not _adds(expr, values, event, evaluator):
            return None
        return _Wrong(expr.at, "computes something in `where`", "TypeError", "select nodes only, and use `replace_fn`")
    steps: list[Attribute | Subscript] = []
    inner = without_call(expr)
    while isinstance(inner, (Attribute, Subscript)):
        steps.append(inner)
        inner = inner.value
    if not isinstance(inner, Name):
        return None
    if inner.id not in values:
        return _of_tree_itself(inner, event.call) if steps else None
    value = plain(values[inner.id])
    holder: tuple[Field, PytreeClass] | None = None
    for step in reversed(steps):
        if isinstance(value, Array) and value.library != "numpy":
            if isinstance(step, Attribute) and step.attr not in ARRAY_ATTRIBUTES | ARRAY_METHODS | ARRAY_REDUCTIONS:
                return None  # an earlier call has put something else there
            fix = _whole_array(expr, event.call)
            return _Wrong(step.at, "selects a part of an array", _OF_LEAF[type(step)], "select the array itself", fix)
        if isinstance(value, Container) and isinstance(step, Subscript) and not is_slice(step.index):
            value = plain(element_of(value))
            continue
        if not isinstance(value, Instance) or not value.cls.is_pytree or isinstance(step, Subscript):
            return None
        cls, attr = value.cls, step.attr
        field = cls.field(attr)
        if field is None:
            if not value.exact and (not cls.fields or cls.abstract_methods):
                return None  # an annotation that stands for whatever subclass there is
            family = evaluator.model.family(cls, exact=value.exact)
            if all(one.fields_known and misses_attribute(one, attr, evaluator.model) for one in family):
                return _misspelt(step, cls)
            if all(_is_computed(one, attr, evaluator) for one in family):
                what, way_out = f"selects the property `{attr}` of `{cls.name}`", "select what it is computed from"
                return _Wrong(step.at, f"{what}, which is computed", "TypeError", way_out)
            return None
        if field.role is Role.STATIC and cls.framework is EQUINOX:
            what = f"selects `{attr}` of `{cls.name}`, which is static"
            fix = _replaced(expr, event, evaluator) if inner is step.value else None
            way_out = made_anew_help(cls, attr) or "use `dataclasses.replace`"
            return _Wrong(step.at, what, "TypeError (not a leaf of the pytree)", way_out, fix)
        if step is steps[0] and _is_one_of_many_empty(attr, holder, event, evaluator):
            what, way_out = f"selects `{attr}`, one of several None in the tree", "pass `is_leaf=lambda x: x is None`"
            given = EditCall(event.call.at, (("is_leaf", "lambda x: x is None"),))
            fix = Proposal("Pass `is_leaf`", Applicability.SAFE, (given,))
            return _Wrong(step.at, what, "ValueError (does not uniquely identify a single element)", way_out, fix)
        holder, value = (field, cls), plain(evaluator.promises.field(field, cls))
        if isinstance(value, Array) and is_given_tuple(field, cls, evaluator):
            return None
    return None


def _of_tree_itself(name: Name, call: Call) -> _Wrong | None:
    """What is wrong with a node of the tree that is updated, where `where` is given another one to select of."""
    where, tree = _argument(call, 0, "where"), _argument(call, 1, "pytree")
    if not isinstance(where, Lambda) or not isinstance(tree, Name) or tree.id != name.id or len(where.params) != 1:
        return None
    given = where.params[0]
    fix = Proposal(f"Select of `{given}`", Applicability.SAFE, (Rewrite(name.at, given),))
    what = f"selects of `{name.id}` itself, and not of `{given}`, which `where` is given"
    return _Wrong(name.at, what, "TypeError (not a leaf of the pytree)", f"select a node of `{given}`", fix)


def _is_computed(cls: PytreeClass, attr: str, evaluator: Evaluator) -> bool:
    """Whether an attribute is a property that computes an array: with operators, or by functions of jax."""
    getter = evaluator.getter(cls, attr)
    if getter is None or not getter.declaration.return_values:
        return False

    def computes(value: Expr) -> bool:
        if not isinstance(value, Call) or not value.positional:
            return isinstance(value, (Binary, Unary))
        name = evaluator.model.resolver.library_name(value.func, getter.module, getter.declaration.inner_scope)
        is_of_jax = returned_library(name) == "jax" or (name in GIVE_SAME and name.startswith("jax.lax."))
        return is_of_jax and _reads_field(value.positional[0], cls, getter.declaration.self_name)

    is_array = isinstance(plain(evaluator.attribute_of(Instance(cls), attr)), Array)
    return is_array and all(map(computes, getter.declaration.return_values))


def _reads_field(expr: Expr, cls: PytreeClass, self_name: str | None) -> bool:
    """Whether an expression is a leaf of `self`, or is computed from nothing else by a function."""
    if isinstance(expr, Call) and expr.positional:
        return _reads_field(expr.positional[0], cls, self_name)
    if not isinstance(expr, Attribute) or dotted(expr.value) != self_name:
        return False
    field = cls.field(expr.attr)
    return field is not None and field.role is Role.LEAF


def _is_one_of_many_empty(
    attr: str, holder: tuple[Field, PytreeClass] | None, event: Update, evaluator: Evaluator
) -> bool:
    """Whether a node, of the field `holder` of some class, is None, and not the only one in the tree."""
    if _argument(event.call, 4, "is_leaf") is not None or "is_leaf" in event.place.module.source.text:
        return False  # another call may have put something there
    tree = plain(event.receiver)
    if holder is None or attr not in EMPTY_WITHOUT or not isinstance(tree, Instance):
        return False
    return is_made_without(attr, *holder, evaluator) and empty_leaves(tree.cls, evaluator) > 1


def _adds(expr: Binary, values: Mapping[str, Value], event: Update, evaluator: Evaluator) -> bool:
    """Whether numbers or arrays are added: fields may hold lists, which `+` puts together."""
    sides = (expr.left, expr.right)
    known = (plain(_value(side, values, event, evaluator)) for side in sides)
    return any(isinstance(value, (Array, Scalar)) for value in known)


def _value(expr: Expr, values: Mapping[str, Value], event: Update, evaluator: Evaluator) -> Value:
    """What an expression in `where` stands for."""
    with evaluator.calls.notes.muted():
        return evaluator.static(Placed(expr, event.place.module, event.place.scope), values)


def _joins(expr: Expr) -> bool:
    """Whether lists or tuples are put together."""
    if isinstance(expr, Binary):
        return expr.op == "+" and (_joins(expr.left) or _joins(expr.right))
    return isinstance(expr, (Display, Comprehension)) or (isinstance(expr, Call) and dotted(expr.func) in _SEQUENCES)


def _mismatched(selected: Expr, replacement: Expr) -> _Wrong | None:
    """What is wrong with the number of replacements."""
    if not isinstance(selected, Display) or selected.kind == "set":
        return None
    doubled = next((b for i, b in enumerate(selected.items) if any(same(a, b) for a in selected.items[:i])), None)
    if doubled is not None:
        fix = _selected_once(selected, doubled, replacement)
        return _Wrong(doubled.at, "selects the same node twice", "the first replacement is lost", "select it once", fix)
    if selected.has_star or (isinstance(replacement, Display) and replacement.has_star):
        return None
    wanted = len(selected.items)
    if isinstance(replacement, Display) and len(replacement.items) != wanted:
        given = len(replacement.items)
        what = f"selects {wanted} nodes and is given {given} replacement{'' if given == 1 else 's'}"
        return _Wrong(replacement.at, what, "ValueError", "give one for each")
    if isinstance(replacement, Constant) and replacement.kind in ("int", "float", "bool"):
        outcome = f"TypeError (object of type '{replacement.kind}' has no len())"
        each = Rewrite(replacement.at, "(" + ", ".join(["{0}"] * wanted) + ")", (replacement.at,))
        fix = Proposal("Give one for each", Applicability.UNSAFE, (each,))
        what = f"selects {wanted} nodes and is given one number"
        return _Wrong(replacement.at, what, outcome, "give one for each", fix)
    return None


# -- fixes ---------------------------------------------------------------------------------------


@proposing
def _swapped(call: Call) -> Proposal | None:
    """The fix of the first two arguments, which stand in each other's place."""
    if len(call.positional) < 2:
        return None
    first, second = call.positional[0].at, call.positional[1].at
    changes = (Rewrite(first, "{0}", (second,)), Rewrite(second, "{0}", (first,)))
    return Proposal("Swap the first two arguments", Applicability.SAFE, changes)


@proposing
def _whole_array(expr: Expr, call: Call) -> Proposal | None:
    """The fix of an item that is selected alone: the array gets an updated copy."""
    where, tree, value = _argument(call, 0, "where"), _argument(call, 1, "pytree"), _argument(call, 2, "replace")
    name = dotted(tree) if tree is not None else None
    is_alone = isinstance(where, Lambda) and where.body is expr and isinstance(expr, Subscript)
    if not is_alone or name is None or value is None or not isinstance(expr, Subscript):
        return None
    path = (dotted(expr.value) or "").partition(".")[2]
    if not path or not isinstance(expr.index, (Constant, Name, Attribute)):
        return None
    updated = Rewrite(value.at, f"{name}.{path}.at[{{0}}].set({{1}})", (expr.index.at, value.at))
    changes = (Rewrite(expr.at, "{0}", (expr.value.at,)), updated)
    return Proposal("Select the array, and update it", Applicability.SAFE, changes)


def _misspelt(step: Attribute, cls: PytreeClass) -> _Wrong:
    """What is wrong with a name that the class does not have."""
    close = nearest(step.attr, [field.name for field in cls.fields if field.role is not Role.STATIC])
    way_out = f"did you mean `{close}`?" if close else f"select a field of `{cls.name}`"
    change = Rename(step.at, close or "")
    fix = Proposal(f"Select `{close}`", Applicability.UNSAFE, (change,)) if close else None
    what = f"selects `{step.attr}`, which `{cls.name}` does not have"
    return _Wrong(step.at, what, "AttributeError", way_out, fix)


@proposing
def _replaced(expr: Expr, event: Update, evaluator: Evaluator) -> Proposal | None:
    """The fix of a static field of the tree itself, which is selected alone."""
    call = event.call
    where, tree, value = _argument(call, 0, "where"), _argument(call, 1, "pytree"), _argument(call, 2, "replace")
    instance = plain(event.receiver)
    if not isinstance(where, Lambda) or where.body is not expr or not isinstance(expr, Attribute):
        return None
    if tree is None or value is None or not isinstance(instance, Instance) or not is_copied(instance.cls, expr.attr):
        return None
    place = event.place
    written = spelled("dataclasses.replace", place.module, evaluator.model.resolver, place.scope)
    if written is None:
        return None
    change = Rewrite(call.at, f"{written[0]}({{0}}, {expr.attr}={{1}})", (tree.at, value.at))
    return Proposal(f"Call `{written[0]}`", Applicability.SAFE, (change,), written[1])


@proposing
def _selected_once(selected: Display, doubled: Expr, replacement: Expr) -> Proposal | None:
    """The fix of a node that is selected twice: the first is left out, whose replacement is lost."""
    first = next(index for index, item in enumerate(selected.items) if same(item, doubled))
    if not isinstance(replacement, Display) or len(replacement.items) != len(selected.items):
        return None
    changes = (Remove(selected.items[first].at), Remove(replacement.items[first].at))
    return Proposal("Select it once", Applicability.SAFE, changes)
