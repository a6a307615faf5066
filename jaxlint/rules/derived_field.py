"""JAX310 derived-field."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from jaxlint.finding import Confidence, Severity
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Event, Replace, Update
from jaxlint.infer.known.values import Instance, plain
from jaxlint.libraries.arrays import ARRAY_TRAITS
from jaxlint.libraries.updates import REPLACE_FUNCTIONS, TREE_AT
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role, Unflatten
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.fields.made_from import goes_alone, made_from
from jaxlint.rules.base import EventRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Compare,
    Expr,
    Name,
    Subscript,
    dotted,
    forced_assignment,
    is_none,
    last_name,
    selected_by,
)
from jaxlint.syntax.statements import Assign, Body, Do, If, all_parts, parts


class DerivedField(EventRule):
    """
    ## What it does

    Finds updates of a leaf from which another leaf was computed, where that other leaf stays as it was.

    ## Why is this bad?

    A leaf that is computed from others (a norm, a count, an inverse) is data like any other. Whoever replaces the one
    must compute the other again. An optimizer changes both as if they had nothing to do with each other.

    ## What you will see

    No error. The two contradict each other: the norm of the old vector next to the new vector.

    ## Example

    ```python
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    class Direction(eqx.Module):
        vector: jax.Array
        norm: jax.Array

        def __init__(self, vector: jax.Array):
            self.vector = vector
            self.norm = jnp.linalg.norm(vector)

    def turned(direction: Direction, vector: jax.Array) -> Direction:
        return eqx.tree_at(lambda d: d.vector, direction, vector)
    ```

    ## Use instead

    ```python
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    class Direction(eqx.Module):
        vector: jax.Array

        @property
        def norm(self) -> jax.Array:
            return jnp.linalg.norm(self.vector)

    def turned(direction: Direction, vector: jax.Array) -> Direction:
        return eqx.tree_at(lambda d: d.vector, direction, vector)
    ```

    ## Frameworks

    All. An update calls the constructor in many frameworks. A leaf that the constructor computes is then computed
    again. A leaf that a classmethod has computed is not, nor one that `__post_init__` computes only where it is None.

    ## Fix safety

    There is no automatic fix.

    ## When not to use it

    A leaf that only begins as a function of the other (a running mean, a target network) may go its own way. It is left
    to itself, too, if it is computed from one item of the other, as an update may change the other items. What only a
    classmethod or one construction computes may be meant to begin like that, and is reported with low confidence, as is
    what some update replaces alone: it goes its own way, or is computed again afterwards. So is what the new value is
    computed with: data that are standardized with their mean keep it in order to go back.

    ## References

    - [equinox #1034](https://github.com/patrick-kidger/equinox/issues/1034)
    """

    code = "JAX310"
    name = "derived-field"
    group = "construction"
    severity = Severity.WARNING
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    events = (Update,)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what one update replaces, and at what is computed from it."""
        assert isinstance(event, Update)
        receiver = plain(event.receiver)
        if not isinstance(receiver, Instance) or not receiver.cls.is_pytree or event.call.has_star:
            return
        if receiver.is_other_tree or (receiver.refilled and receiver.declared):
            return  # a tree of other things, as of what is trained
        for cls, replaced in _replaced(event, receiver.cls, evaluator):
            if event.place.owner is None or event.place.owner not in cls.mro or not _is_making(event):
                yield from self._stale(cls, replaced, event, evaluator)

    def _stale(
        self, cls: PytreeClass, replaced: Collection[str], event: Update, evaluator: Evaluator
    ) -> Iterator[Problem]:
        """The first leaf of a class that is computed of others which are replaced, and stays."""
        found = dict(_derived(cls, event, evaluator))
        for once, changed in _derived_once(cls, replaced, evaluator):
            if _is_leaf(cls, once):
                found[once] = (min(changed), True)
        for derived, source, count in _made_from(cls, event.place.module, evaluator):
            if derived not in found and derived not in replaced and source in replaced:
                if _is_leaf(cls, derived) and _is_leaf(cls, source) and cls.method("__post_init__") is None:
                    found[derived] = (source, count > 1)
        for derived, (source, is_always) in found.items():
            if source in replaced and derived not in replaced and not _is_updated_too(derived, event, evaluator):
                way_out = f"compute `{derived}` again, or make it a property"
                yield Problem(
                    at=event.at,
                    message=(
                        f"`{derived}` of `{cls.name}` is computed from `{source}`, which is replaced here alone:"
                        f" `{derived}` stays that of the old `{source}`; {way_out}"
                    ),
                    reason="a leaf that was computed once is data like any other",
                    help=way_out,
                    confidence=None
                    if is_always
                    and not _is_computed_with(derived, event)
                    and not _is_renewed(derived, source, cls, event, evaluator)
                    else Confidence.LOW,
                )
                return


def _made_from(cls: PytreeClass, module: Module, evaluator: Evaluator) -> list[tuple[str, str, int]]:
    """What constructions compute of another leaf, which is found out once."""
    key = _made_from, cls.symbol.key, module.path
    return evaluator.model.once(key, lambda: list(made_from(cls, module, _source_of_variables, evaluator)))


def _is_computed_with(derived: str, event: Update) -> bool:
    """Whether the new value is made with the leaf that stays: `(s.data - s.mean) / s.std` goes back by it, too."""
    given = (argument.value for argument in event.call.args)
    return any(isinstance(part, Attribute) and part.attr == derived for value in given for part in parts(value))


def _is_renewed(derived: str, source: str, cls: PytreeClass, event: Update, evaluator: Evaluator) -> bool:
    """Whether some update replaces a leaf alone, as what computes it again does, perhaps after this one."""
    homes = (cls.module, event.place.module, *evaluator.model.importers(cls.module))
    return goes_alone(derived, source, {home.path: home for home in homes}.values(), evaluator)


def _is_making(event: Update) -> bool:
    method = event.place.method
    return method is not None and method.name in ("__init__", "__post_init__")


def _is_updated_too(field: str, event: Update, evaluator: Evaluator) -> bool:
    """Whether the function around gives the field a value elsewhere, or may: not every `where` can be read."""
    functions = event.place.functions
    body = evaluator.calls.body_of(FunctionSymbol(event.place.module, functions[0])) if functions else ()
    calls = [part for part in all_parts(body or ()) if isinstance(part, Call)]
    return any(call.keyword(field) is not None or _may_select(field, call, event) for call in calls)


def _may_select(field: str, call: Call, event: Update) -> bool:
    """Whether another `tree_at` than that of an update may replace a field."""
    if event.function != TREE_AT or last_name(call.func) != last_name(event.call.func) or call.at == event.call.at:
        return False
    selected = selected_by(next(iter(call.positional), None) or call.keyword("where"))
    places = None if selected is None else selected[1]
    return places is None or any(not isinstance(one, Attribute) or one.attr == field for one in places)


def _replaced(event: Update, cls: PytreeClass, evaluator: Evaluator) -> Iterator[tuple[PytreeClass, set[str]]]:
    """The fields that an update of an instance replaces, of its own and of instances that it holds, by class."""
    if event.function != TREE_AT:
        if isinstance(event, Replace) and event.keywords:
            yield cls, {keyword.name for keyword in event.keywords}
        return
    root, places = selected_by(next(iter(event.call.positional), None)) or ("", ())
    by_holder: dict[str, set[str]] = {}
    for place in places:
        holder = dotted(place.value) if isinstance(place, Attribute) else None
        if holder is not None and isinstance(place, Attribute):
            by_holder.setdefault(holder, set()).add(place.attr)
    for holder, names in by_holder.items():
        first, *path = holder.split(".")
        held = _held(cls, path, evaluator) if first == root else None
        if held is not None:
            yield held, names


def _held(cls: PytreeClass, path: Sequence[str], evaluator: Evaluator) -> PytreeClass | None:
    """The class of what stands at the end of a path of fields, if instances stand along all of it."""
    for name in path:
        field = cls.field(name)
        value = None if field is None else plain(evaluator.promises.field(field, cls))
        if not isinstance(value, Instance) or not value.cls.is_pytree:
            return None
        cls = value.cls
    return cls


def _derived(cls: PytreeClass, event: Update, evaluator: Evaluator) -> Mapping[str, tuple[str, bool]]:
    """The leaves that are computed from another one and not again by the update: which, from which.

    With each, whether the constructor itself does so: one way to make an instance says less of what its leaves are.
    """
    found: dict[str, tuple[str, bool]] = {}
    calls_constructor = event.function in REPLACE_FUNCTIONS or cls.framework.unflatten is not Unflatten.BYPASS
    for owner in cls.mro:
        methods = owner.symbol.declaration.methods
        for name, qualnames in methods.items():
            function = owner.module.outline.functions[qualnames[-1]]
            if name in ("__init__", "__post_init__") and not calls_constructor:
                found.update((y, (x, True)) for y, x in _assigned(function, owner, evaluator))
            elif function.return_values:
                for value in function.return_values:
                    if isinstance(value, Call) and last_name(value.func) in ("cls", owner.name):
                        found.update((y, (x, False)) for y, x in _constructed(value) if y not in found)
    if calls_constructor and cls.method("__post_init__") is not None:
        return {}
    return {y: of for y, of in found.items() if _is_leaf(cls, y) and _is_leaf(cls, of[0])}


def _is_leaf(cls: PytreeClass, name: str) -> bool:
    field = cls.field(name)
    return field is not None and field.role is Role.LEAF


def _assigned(function: Function, owner: PytreeClass, evaluator: Evaluator) -> Iterator[tuple[str, str]]:
    """What a constructor computes from another attribute, or from the parameter that becomes one."""
    body = evaluator.calls.body_of(FunctionSymbol(owner.module, function))
    own = function.self_name
    stored: dict[str, str] = {p.name: p.name for p in function.parameters} if function.name == "__post_init__" else {}
    for statement in body or ():
        match statement:
            case Assign(targets=(Attribute(value=Name(id=name), attr=attr),), value=value) if name == own:
                if isinstance(value, Name):
                    stored[value.id] = attr
                elif (source := _source(value, own, stored)) is not None and source != attr:
                    yield attr, source


def _constructed(call: Call) -> Iterator[tuple[str, str]]:
    """What a call of the constructor computes from another argument of it."""
    stored = {a.value.id: a.keyword for a in call.args if a.keyword is not None and isinstance(a.value, Name)}
    for argument in call.args:
        if argument.keyword is not None and not isinstance(argument.value, Name):
            source = _source(argument.value, None, stored)
            if source is not None:
                yield argument.keyword, source


def _source(value: Expr, own: str | None, stored: Mapping[str, str]) -> str | None:
    """The one attribute of which a value is computed, if it is computed of one."""
    found = _sources_of(value, own, stored)
    return next(iter(found)) if len(found) == 1 else None


def _source_of_variables(value: Expr, stored: Mapping[str, str]) -> str | None:
    return _source(value, None, stored)


# -- fields that __post_init__ computes where they are None ----------------------------------------

#: Calls that make the same of a value in another form, or the beginning of something that goes its own way.
_CONVERSIONS = frozenset({"asarray", "array", "astype", "float32", "device_put", "copy", "tuple", "list", "init"})
#: Functions whose result only has the shape of the argument, or starts as a copy and changes by itself later.
_BEGINNING = frozenset({"zeros_like", "ones_like", "full_like", "empty_like", "map", "tree_map", "deepcopy"})
_NOTHING: Mapping[str, str] = {}


def _derived_once(
    cls: PytreeClass, replaced: Collection[str], evaluator: Evaluator
) -> Iterator[tuple[str, frozenset[str]]]:
    """The fields that are computed of some that are `replaced` where they are None, each with those.

    Whoever gives the field a value anywhere else may let it go its own way.
    """
    found = cls.method("__post_init__")
    if found is None or found[1].self_name is None:
        return
    owner, function = found
    own = function.self_name or ""
    for statement in evaluator.calls.body_of(FunctionSymbol(owner.module, function)) or ():
        if not isinstance(statement, If) or statement.orelse or len(statement.branches) != 1:
            continue
        test, body = statement.branches[0]
        field = _asked(test, own)
        value = None if field is None else _given(field, own, body)
        if field is None or value is None:
            continue
        changed = _sources_of(value, own).intersection(replaced)
        if changed and field not in replaced and not _is_given(field, cls, evaluator):
            yield field, changed


def _sources_of(value: Expr, own: str | None, stored: Mapping[str, str] = _NOTHING) -> frozenset[str]:
    """The fields from whose values something is computed: attributes of `own`, and variables `stored` in a field.

    Empty where it may only be as large as one of them, or is computed of an item: an update may change others.
    """
    if not _is_computation(value):
        return frozenset()
    read: dict[int, str] = {}
    in_part: set[int] = set()
    for part in parts(value):
        if isinstance(part, Name) and part.id in stored:
            read[id(part)] = stored[part.id]
        elif isinstance(part, Attribute):
            if own is not None and dotted(part.value) == own:
                read[id(part)] = part.attr
            if part.attr in ARRAY_TRAITS:
                in_part.add(id(part.value))
        elif isinstance(part, Subscript):
            in_part.add(id(part.value))
        elif isinstance(part, Call) and last_name(part.func) == "len":
            in_part.update(id(argument.value) for argument in part.args)
    return frozenset() if in_part & read.keys() else frozenset(read.values())


def _is_computation(value: Expr) -> bool:
    """Whether a value is worked out, and is not just another form of something or the beginning of something else."""
    if isinstance(value, Call):
        return last_name(value.func) not in _CONVERSIONS | _BEGINNING
    return isinstance(value, Binary)


def _asked(test: Expr, own: str) -> str | None:
    """The field for which `self.field is None` asks."""
    match test:
        case Compare(left=Attribute(value=held, attr=attr), ops=("is",), comparators=(other,)):
            return attr if dotted(held) == own and is_none(other) else None
    return None


def _given(field: str, own: str, body: Body) -> Expr | None:
    """What a field is given by the one statement of a block, whether the class is frozen or not."""
    match body:
        case (Assign(targets=(Attribute(attr=attr) as target,), value=value),):
            return value if dotted(target) == f"{own}.{attr}" and attr == field else None
        case (Do(value=call),):
            forced = forced_assignment(call)
            return forced[2] if forced is not None and (dotted(forced[0]), forced[1]) == (own, field) else None
    return None


def _is_given(field: str, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a call or an assignment anywhere gives the field a value: `chol=...`."""
    gives = re.compile(rf"(?<![\w.]){re.escape(field)}\s*=(?!=)|\.{re.escape(field)}\s*=(?!=)")
    home = cls.module
    return any(_gives(gives, module, cls) for module in (home, *evaluator.model.importers(home)))


def _gives(gives: re.Pattern[str], module: Module, cls: PytreeClass) -> bool:
    """Whether a module matches outside of the class itself."""
    text = module.source.text
    if module is not cls.module:
        return gives.search(text) is not None
    at = cls.symbol.declaration.at
    start, end = module.source.offset(at.row, 0), module.source.offset(at.end_row, 0)
    return any(not start <= match.start() < end for match in gives.finditer(text))
