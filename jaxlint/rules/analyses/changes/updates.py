"""What can be determined of an update: which of its keywords no field takes, and whether it fails."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlint.finding import Confidence
from jaxlint.infer.calls.known_functions import full_reduction
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import KeywordValue, Replace, Update
from jaxlint.infer.known.values import Array, Instance
from jaxlint.libraries.arrays import ARRAY_REDUCTIONS, is_question, is_reduction, is_verdict
from jaxlint.libraries.tables import TABLES
from jaxlint.libraries.updates import COPYING_NAMES, REPLACE_FUNCTIONS, TREE_AT, UPDATE_METHODS
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.updating import accepted_keywords, is_train_state, taken_by_method
from jaxlint.rules.analyses.changes.selections import paths_selected
from jaxlint.rules.analyses.instances.references import may_be_reference
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Constant,
    DictDisplay,
    Expr,
    Lambda,
    Name,
    Subscript,
    dotted,
    last_name,
)
from jaxlint.syntax.statements import Annotate, Assign, Augment, Body, For, Statement, parts, target_names, walk


def unknown_keywords(update: Replace) -> list[KeywordValue]:
    """The keywords that neither the class nor any visible subclass accepts."""
    cls = update.receiver.cls
    own = accepted_keywords(cls)
    if own is None or not cls.is_pytree or all(keyword.name in own for keyword in update.keywords):
        return []  # which is so nearly always, whatever inherits
    accepted = [accepted_keywords(c) for c in update.place.family(update.receiver)]
    known = frozenset().union(*(a for a in accepted if a is not None))
    if None in accepted:
        return []
    if not update.receiver.exact and not known:
        return []  # an annotation that stands for whatever state there is
    if update.function == "apply_gradients":
        known |= {"grads"}
    if not update.receiver.exact:
        known = known.union(*(taken_by_method(c, update.function) for c in update.place.subclasses(cls)))
    return [keyword for keyword in update.keywords if keyword.name not in known]


def puts_back(update: Update, evaluator: Evaluator) -> bool:
    """Whether an update puts into the copy only what the original holds already: `x.replace(info=x.info)`.

    `info` may be a variable that was given `x.info`, and what it is may have been changed in place since. Nor does
    anything differ where nothing is given: `x.tree_replace({})`.
    """
    if update.function in UPDATE_METHODS or update.function in REPLACE_FUNCTIONS:
        added = (a for a in update.call.args if a.value is not update.base)
        if all(a.keyword is None and isinstance(a.value, DictDisplay) and not a.value.keys for a in added):
            return True
    base, function = None if update.base is None else dotted(update.base), update.place.function
    if base is None or update.call.has_star or not update.keywords:
        return False
    given = [(keyword.name, update.call.keyword(keyword.name)) for keyword in update.keywords]
    variables = {value.id: f"{base}.{name}" for name, value in given if isinstance(value, Name)}
    others = [(name, value) for name, value in given if not isinstance(value, Name)]
    if any(value is None or dotted(value) != f"{base}.{name}" for name, value in others):
        return False
    if not variables:
        return True
    body = None
    if function is not None:
        body = evaluator.calls.body_of(FunctionSymbol(update.place.module, function))
    return body is not None and all(_was_given(name, held, update, body) for name, held in variables.items())


def _was_given(variable: str, held: str, update: Update, body: Body) -> bool:
    """Whether the last assignment to a variable before an update gave it what the original holds."""
    row = place_of(update.call.at).row
    base = held.rpartition(".")[0].partition(".")[0]
    bindings = [s for s in walk(body, nested=False) if s.at.lineno < row and not {variable, base}.isdisjoint(_bound(s))]
    last = max(bindings, key=lambda s: s.at.lineno, default=None)
    return isinstance(last, Assign) and variable in _bound(last) and dotted(last.value) == held


def _bound(statement: Statement) -> set[str]:
    """The variables that a statement itself assigns."""
    targets = statement.targets if isinstance(statement, Assign) else ()
    if isinstance(statement, (Annotate, Augment, For)):
        targets = (statement.target,)
    return {name for target in targets for name in target_names(target)}


def array_copy(update: Update) -> Confidence | None:
    """How certain it is that `x.at[i].set(v)` and kin copy an array; None if they may do something else.

    Jax arrays are never changed in place, but references are, and what a cell of a pandas table holds may be; numpy
    arrays have no `at`.
    """
    array = update.receiver
    if may_be_reference(array, update.base, update.place):
        return None
    if isinstance(array, Array):
        if array.library == "numpy":
            return Confidence.MEDIUM if array.declared else None
        return Confidence.HIGH
    imported = update.place.module.outline.imported_modules
    tables = any(level == 0 and name.partition(".")[0] in TABLES for level, name in imported)
    return None if tables else Confidence.MEDIUM


def is_copy(update: Update) -> bool:
    """Whether the update certainly makes a copy, and does not fail."""
    if update.function.startswith("at."):
        return array_copy(update) is not None
    known = isinstance(update, Replace) or update.function in (*REPLACE_FUNCTIONS, TREE_AT)
    return known and not is_refused(update)


def is_refused(update: Update) -> bool:
    """Whether the update certainly raises, whatever the values are."""
    if not isinstance(update, Replace):
        return False
    cls, function = update.receiver.cls, update.function
    if function == "apply_gradients" and is_train_state(cls):
        return misses_gradients(update.call)
    if function == cls.framework.replace_method and cls.has_framework_replace and update.call.positional:
        return True
    return bool(unknown_keywords(update)) or (function in REPLACE_FUNCTIONS and is_no_dataclass(update))


def misses_gradients(call: Call) -> bool:
    """Whether a call of `TrainState.apply_gradients` has no `grads=`, or positional arguments."""
    return bool(call.positional) or (call.keyword("grads") is None and not call.has_star)


def is_no_dataclass(update: Replace) -> bool:
    """Whether `dataclasses.replace` is given an instance that certainly is no dataclass."""
    cls = update.receiver.cls
    if update.function == "copy.replace" or not cls.is_pytree or not cls.bases_known or cls.unknown_decorator:
        return False
    if not update.receiver.exact and not cls.fields and cls.custom_init() is None:
        return False  # what dataclasses inherit from, which may stand anywhere
    family = (*cls.mro, *(() if update.receiver.exact else update.place.subclasses(cls)))
    return not any(c.is_dataclass and not c.framework.is_tuple for c in family)


def fields_set(
    update: Update, by_gradients: Sequence[str] | frozenset[str], evaluator: Evaluator
) -> frozenset[str] | None:
    """The dotted paths of the fields that an update of an instance sets; None if they cannot be determined."""
    call, function = update.call, update.function
    if function == TREE_AT:
        return paths_selected(next(iter(call.positional), None), update.place, evaluator)
    if function == "tree_replace":
        given = call.positional[0] if call.positional else None
        keys = given.keys if isinstance(given, DictDisplay) else (None,)
        names = [k.value for k in keys if isinstance(k, Constant) and isinstance(k.value, str)]
        return frozenset(names) if len(names) == len(keys) else None
    if call.has_star:
        return None
    given_names = frozenset(keyword.name for keyword in update.keywords)
    if function == "apply_gradients":
        return given_names.union(by_gradients)
    is_replace = function in REPLACE_FUNCTIONS or (
        isinstance(update.receiver, Instance) and function == update.receiver.cls.framework.replace_method
    )
    return (given_names or None) if is_replace else _set_by_own_function(update)


def index_updated(update: Update) -> Expr:
    """The index of `x.at[index].set(v)`."""
    func = update.call.func
    assert isinstance(func, Attribute) and isinstance(func.value, Subscript)
    return func.value.index


def _set_by_own_function(update: Update) -> frozenset[str] | None:
    """The fields that a function of the user's sets, which does nothing but return `x.replace(...)`."""
    copy = _own_copy(update)
    return None if copy is None else frozenset(a.keyword for a in copy.args if a.keyword is not None)


def goes_on_from(update: Update) -> frozenset[str]:
    """The fields that a function of the user's sets to something that is made of what the original holds there."""
    copy = _own_copy(update)
    base = None if copy is None else dotted(_copied(copy) or copy)
    given = [] if copy is None else [(a.keyword, a.value) for a in copy.args if a.keyword is not None]
    return frozenset(name for name, value in given if any(dotted(part) == f"{base}.{name}" for part in parts(value)))


def _own_copy(update: Update) -> Call | None:
    """The copy of its parameter that the function of the user's returns, in each case, which an update calls."""
    function = update.by.declaration if isinstance(update, Replace) and update.by is not None else None
    if function is None or function.decorators or len(function.return_values) != 1:
        return None
    copy = function.return_values[0]
    if not isinstance(copy, Call) or copy.has_star or last_name(copy.func) not in COPYING_NAMES:
        return None
    base = _copied(copy)
    if not isinstance(base, Name) or any(name == base.id for name, _ in function.copies):
        return None  # a copy of a copy
    return copy if any(base.id == p.name for p in function.parameters) else None


def _copied(copy: Call) -> Expr | None:
    return copy.positional[0] if copy.positional else copy.func.value if isinstance(copy.func, Attribute) else None


def only_measures(update: Update, model: PytreeModel) -> bool:
    """Whether a map makes one number of each leaf to look at: how far two trees are apart, how long the leaves are.

    Of one tree inside of a function, they may be means that somebody wants; shapes are nothing to go on with.
    """
    mapped, *trees = update.call.positional
    asked = mapped.body.func if isinstance(mapped, Lambda) and isinstance(mapped.body, Call) else mapped
    if is_question(model.resolver.library_name(asked, update.place.module, update.place.scope)):
        return True
    if len(trees) < 2 and update.place.functions:
        return False
    is_whole: bool | None = True
    if isinstance(mapped, Lambda):
        match mapped.body:
            case Call(func=Name(id="float" | "bool" | "int")):
                return True
            case Call(func=Attribute(attr=attr)) as reduced if attr in ARRAY_REDUCTIONS and full_reduction(reduced):
                return True
            case Call(func=func) as reduced:
                mapped, is_whole = func, full_reduction(reduced, positional=1)
            case _:
                return False
    name = model.resolver.library_name(mapped, update.place.module, update.place.scope)
    return is_verdict(name) or (bool(is_whole) and is_reduction(name))
