"""What keeps a field that flattening drops: it becomes data or aux data, as what it holds wants."""

from __future__ import annotations

from jaxlint.cst.changes import AddItems, Change, EditField, MoveItem, Proposal
from jaxlint.cst.failing import advising, proposing
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import UNKNOWN, Container, Scalar, plain, without_none
from jaxlint.project.modules import Module
from jaxlint.pytrees.markers import static_marker
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.pytrees.non_arrays import CONTAINER
from jaxlint.rules.analyses.fixes.roles import list_for
from jaxlint.syntax.expressions import Constant

#: Where a field belongs of which it is not known what it holds.
_EITHER = "`data_fields`, or in `meta_fields` if it holds no array"


@advising
def keeping_help(field: Field, cls: PytreeClass, evaluator: Evaluator) -> str:
    """How a field that is no part of the pytree becomes one, in words."""
    name, fitting = field.name, _list_for(field, cls, evaluator)
    into = f"`{fitting}`" if fitting else _EITHER
    if cls.lists is not None and name in (cls.lists.dropped or ()) and field.init:
        return f"move `{name}` from `drop_fields` to {into.replace(', or in', ', or to')}"
    steps = [f"leave out `init=False` of `{name}`"]
    if _is_set_after_init(field, cls):
        steps.append("give it a default instead of setting it in `__post_init__`")
    elif not field.has_default:
        steps.append("give it a default")
    if _is_followed(field, cls):
        steps.append("declare it behind the other fields")
    if cls.lists is not None:
        steps.append(f"list it in {into}")
    elif fitting == "meta_fields" and static_marker(field, evaluator.model) is None and cls.framework.static_spelling:
        steps.append(f"mark it static ({cls.framework.static_spelling})")
    *others, last = steps
    return f"{', '.join(others)}{',' if len(others) > 1 else ''} and {last}" if others else last


@proposing
def keep_dropped(field: Field, cls: PytreeClass, module: Module, evaluator: Evaluator) -> Proposal | None:
    """The unsafe fix, for a field that has a number or a text by default and is declared in a module."""
    model, fitting = evaluator.model, _list_for(field, cls, evaluator)
    default = None if field.default is None else field.default.expr
    if field.owner.module is not module or not isinstance(default, Constant):
        return None
    if field.owner != cls.symbol or model.subclasses(cls) or cls.method("__post_init__") is not None:
        return None
    is_number = default.kind in ("int", "float")
    if fitting != ("data_fields" if is_number else "meta_fields") or not (is_number or default.kind == "str"):
        return None
    changes, call = list[Change](), field.call
    if not field.init:
        if call is None or call.positional or "init" not in call.keywords or _is_followed(field, cls):
            return None  # what is passed by position would be taken for another field
        changes.append(EditField(field.at, is_call=True, without=("init",)))
    if cls.lists is not None:
        into = cls.lists.data_given if is_number else cls.lists.meta_given
        dropped = cls.lists.drop_given
        listed = _listing(field.name, dropped if field.name in (cls.lists.dropped or ()) else None, into, module)
        if listed is None:
            return None
        changes.append(listed)
    elif not is_number and static_marker(field, model) is None:
        return None
    title = f"Make `{field.name}` a data field" if is_number else f"Make `{field.name}` static"
    return Proposal(title, Applicability.UNSAFE, tuple(changes))


def _listing(name: str, out_of: Placed | None, into: Placed | None, module: Module) -> Change | None:
    """The change of the lists of a registration: a name goes from one to another, or is added."""
    if into is None or into.module is not module or (out_of is not None and out_of.module is not module):
        return None
    return AddItems(into.expr.at, (name,)) if out_of is None else MoveItem(out_of.expr.at, into.expr.at, name)


def _list_for(field: Field, cls: PytreeClass, evaluator: Evaluator) -> str:
    """The list in which a field belongs, by what it is annotated with and has by default; empty if nobody knows."""
    what, declared = evaluator.promises.non_array(field), evaluator.promises.field(field, cls)
    if what is not None:
        held = without_none(plain(declared))
        is_hashable = not what.startswith(CONTAINER) or (isinstance(held, Container) and held.kind == "tuple")
        return "meta_fields" if is_hashable else ""
    default = UNKNOWN if field.default is None else evaluator.static(field.default)
    for value in (declared, default):
        held = plain(without_none(plain(value)))
        found = "data_fields" if isinstance(held, Scalar) and held.kind in ("int", "float") else list_for(held)
        if found:
            return found
    return ""


def _is_set_after_init(field: Field, cls: PytreeClass) -> bool:
    """Whether `__post_init__` sets a field."""
    found = cls.method("__post_init__")
    return found is not None and any(one.attr == field.name for one in found[1].self_assignments)


def _is_followed(field: Field, cls: PytreeClass) -> bool:
    """Whether the constructor takes fields by position that are declared behind a field."""
    names = [one.name for one in cls.fields]
    behind = cls.fields[names.index(field.name) + 1 :] if field.name in names else ()
    return not field.kw_only and any(one.init and not one.kw_only for one in behind)
