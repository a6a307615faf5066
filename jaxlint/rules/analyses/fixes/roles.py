"""Fixes that change what flattening does with a field: each is unsafe, for the treedef becomes another one."""

from __future__ import annotations

from msgspec.structs import replace

from jaxlint.cst.changes import Change, DropMarker, EditField, MoveItem, NeededImport, Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.known.values import Array, Instance, Scalar, Value, plain
from jaxlint.libraries.packages import usual_name
from jaxlint.project.modules import Module
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.framework import Framework, Unflatten
from jaxlint.pytrees.frameworks import FIELD_FUNCTIONS
from jaxlint.pytrees.markers import Marker, static_marker
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.syntax.expressions import Display, Expr, Subscript, last_name
from jaxlint.syntax.statements import parts

#: Containers with keys, and what keys jax can sort.
_MAPPINGS = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "DefaultDict"})
_CONTAINERS = _MAPPINGS | {"list", "List", "tuple", "Tuple", "Sequence", "Iterable"}
_SORTED = frozenset({"str", "int", "float", "bytes", "Any", "Hashable"})


def field_function(cls: PytreeClass) -> str:
    """The dotted name of the function that usually declares the fields of a class."""
    return cls.framework.field_function


def list_for(value: Value) -> str:
    """The list of `register_dataclass` in which a field belongs that holds such a value; empty if nobody knows."""
    match plain(value):
        case Array():
            return "data_fields"
        case Instance(cls=held) if held.is_pytree:
            return "data_fields"
        case Scalar(kind="str" | "bytes"):
            return "meta_fields"
    return ""


def _has_markers(framework: Framework) -> bool:
    """Whether a field is a leaf as soon as nothing marks it static."""
    functions = framework.field_functions.values()
    return bool(framework.static_marking or framework.static_annotation) or any(f.unmarked for f in functions)


@proposing
def make_leaf(field: Field, cls: PytreeClass, module: Module, model: PytreeModel) -> Proposal | None:
    """The fix that takes the static marker from a field, if `module` declares it."""
    if field.owner.module is not module or not _has_markers(cls.framework):
        return None  # what other frameworks take for a leaf is not for markers alone to say
    if field.annotation is not None and any(map(_cannot_be_sorted, parts(field.annotation.expr))):
        return None
    unmarked = unmark(field, model) or _moved(field, cls, model)
    if unmarked is None:
        return None
    change, imports = unmarked
    return Proposal(f"Make `{field.name}` a data field", Applicability.UNSAFE, (change,), imports)


def _cannot_be_sorted(annotation: Expr) -> bool:
    """Whether an annotation is that of a dict that jax cannot flatten, as its keys may have no order."""
    if not isinstance(annotation, Subscript) or last_name(annotation.value) not in _MAPPINGS:
        return False
    key = annotation.index.items[0] if isinstance(annotation.index, Display) and annotation.index.items else None
    return key is not None and last_name(key) not in _SORTED


def unmarking_help(field: Field, cls: PytreeClass) -> str:
    """How a static field becomes a leaf, where no fix can be made of it: it depends on what says that it is static."""
    name = field.name
    if cls.framework.unflatten is Unflatten.CUSTOM:
        return f"move `{name}` from the aux data to the children in `tree_flatten`, and take it from there to rebuild"
    if cls.lists is not None and not cls.lists.automatic:
        if _is_computed(cls.lists.meta_given):
            return f"take away what makes `{name}` static where it is declared, and keep its default"
        return f"move `{name}` from `meta_fields` to `data_fields`"
    if cls.framework.static_by_annotation:
        return f"annotate `{name}` with `jax.Array` alone where it is declared, and keep its default"
    if leaf_function := _leaf_function(cls.framework):
        return f"declare `{name}` with {usual_name(leaf_function)}(), and keep its default"
    return f"drop {cls.framework.static_spelling} where `{name}` is declared, and keep its default"


def _leaf_function(framework: Framework) -> str:
    """The function that declares a leaf where a field without a marker is none; empty if it is one."""
    key, is_static = framework.static_metadata or ("", None)
    functions = framework.field_functions.items()
    return next((name for name, spec in functions if is_static is False and spec.fixed.get(key) is True), "")


def _is_computed(given: Placed | None) -> bool:
    """Whether a decorator of the project makes the list, so that no name stands in it."""
    listed = given.expr if given is not None else None
    return isinstance(listed, Display) and any(item.at == listed.at for item in listed.items)


def marking_help(field: Field, cls: PytreeClass) -> str:
    """How a leaf becomes static; nothing if there are no static fields."""
    if cls.lists is not None and cls.lists.data_given is not None and not _is_computed(cls.lists.data_given):
        return f"move `{field.name}` from `data_fields` to `meta_fields`"
    if cls.framework.static_by_annotation:
        return f"annotate `{field.name}` without jax.Array"
    return f"mark it static ({cls.framework.static_spelling})" if cls.framework.static_spelling else ""


def _moved(field: Field, cls: PytreeClass, model: PytreeModel) -> tuple[Change, tuple[NeededImport, ...]] | None:
    """The change that moves the name of a field from `meta_fields` to `data_fields`."""
    lists = cls.lists
    if field.owner != cls.symbol or any(sub.lists is not None for sub in model.subclasses(cls)):
        return None  # there are more lists
    if lists is None or lists.meta_given is None or lists.data_given is None or field.name not in (lists.meta or ()):
        return None
    if not lists.meta_given.module is lists.data_given.module is field.owner.module:
        return None
    return MoveItem(lists.meta_given.expr.at, lists.data_given.expr.at, field.name), ()


@proposing
def move_to_meta(field: Field, cls: PytreeClass, model: PytreeModel) -> Proposal | None:
    """The fix that moves the name of a field from `data_fields` to `meta_fields`."""
    lists = cls.lists
    if field.owner != cls.symbol or any(sub.lists is not None for sub in model.subclasses(cls)):
        return None  # there are more lists
    if lists is None or lists.meta_given is None or lists.data_given is None or field.name not in (lists.data or ()):
        return None
    if not lists.meta_given.module is lists.data_given.module is field.owner.module:
        return None
    change = MoveItem(lists.data_given.expr.at, lists.meta_given.expr.at, field.name)
    return Proposal(f"Make `{field.name}` static", Applicability.UNSAFE, (change,))


@proposing
def drop_marker(field: Field, module: Module, model: PytreeModel) -> Proposal | None:
    """The fix that takes a marker that does nothing from a field that is a leaf."""
    unmarked = unmark(field, model) if field.owner.module is module else None
    if unmarked is None:
        return None
    return Proposal(f"Drop the marker of `{field.name}`", Applicability.SAFE, unmarked[:1], unmarked[1])


def unmark(field: Field, model: PytreeModel) -> tuple[Change, tuple[NeededImport, ...]] | None:
    """The change that takes from a field what marks it static, and the imports that it needs."""
    marker = static_marker(field, model)
    if marker is None:
        return None
    if marker.annotation is not None:
        return DropMarker(marker.annotation.at), ()
    call = field.call
    if call is None or call.positional:
        return None
    spec = FIELD_FUNCTIONS.get(call.function)
    if spec is not None and marker.key in spec.fixed:
        return _with_plain_function(field, spec.unmarked, model)
    for parameter, set_key in spec.keywords.items() if spec is not None else ():
        if set_key == marker.key and parameter in call.keywords:
            return EditField(field.at, is_call=True, without=(parameter,)), ()
    return (EditField(field.at, is_call=True, metadata=marker.key), ()) if "metadata" in call.keywords else None


def _with_plain_function(
    field: Field, plain: str, model: PytreeModel
) -> tuple[Change, tuple[NeededImport, ...]] | None:
    assert field.call is not None
    said = FIELD_FUNCTIONS.get(plain)
    says_role = said is not None and bool(said.fixed) and _is_container(field)
    if not field.call.keywords and not says_role:
        return EditField(field.at, is_call=True), ()
    written = spelled(plain, field.owner.module, model.resolver) if plain else None
    if written is None:
        return None
    return EditField(field.at, is_call=True, function=written[0], says_role=says_role), written[1]


def _is_container(field: Field) -> bool:
    """Whether a field is annotated with a container, which some frameworks take for static unless that is said."""
    annotated = [] if field.annotation is None else parts(field.annotation.expr)
    return any(last_name(part) in _CONTAINERS for part in annotated)


@proposing
def make_static(field: Field, cls: PytreeClass, module: Module, model: PytreeModel) -> Proposal | None:
    """The fix that makes a field static in the words of its framework, if `module` declares it."""
    if field.owner.module is not module or field.annotation is None:
        return None
    if cls.lists is not None and not cls.lists.automatic:
        return move_to_meta(field, cls, model)
    marked = mark(field, cls, model)
    if marked is None:
        return None
    change, imports = marked
    return Proposal(f"Make `{field.name}` static", Applicability.UNSAFE, (change,), imports)


@proposing
def remark(field: Field, cls: PytreeClass, model: PytreeModel) -> Proposal | None:
    """The fix that puts the marker of the framework in the place of another one."""
    marker = static_marker(field, model)
    if marker is None or field.annotation is None:
        return None
    marked = _other_annotation(marker, field, cls, model)
    if marked is None:
        marked = mark(field, cls, model)
        if marked is None:
            return None
        changes = _remarked(marked[0], marker, field, model)
    else:
        changes = (marked[0],)
    if changes is None:
        return None
    return Proposal(f"Make `{field.name}` static", Applicability.UNSAFE, changes, marked[1])


def _other_annotation(
    marker: Marker, field: Field, cls: PytreeClass, model: PytreeModel
) -> tuple[Change, tuple[NeededImport, ...]] | None:
    """The change of the name of an annotation into that of jax_dataclasses."""
    part = marker.annotation
    if part is None or not cls.framework.static_annotation:
        return None
    written = spelled(cls.framework.static_annotation, field.owner.module, model.resolver)
    return None if written is None else (Rewrite(part.at, written[0]), written[1])


def _remarked(change: Change, marker: Marker, field: Field, model: PytreeModel) -> tuple[Change, ...] | None:
    """The changes that mark a field and take away what marked it before."""
    call = field.call
    spec = FIELD_FUNCTIONS.get(call.function) if call is not None else None
    if call is not None and not call.positional and spec is not None and marker.key in spec.fixed:
        return (change,) if isinstance(change, EditField) and change.function else None
    unmarked = unmark(field, model)
    if unmarked is None:
        return None
    before = unmarked[0]
    if not isinstance(change, EditField) or not isinstance(before, EditField):
        return (before, change)
    merged = replace(change, without=before.without, metadata=before.metadata)
    if merged.metadata and any(name == "metadata" for name, _ in merged.given):
        merged = replace(merged, metadata="")  # the new one takes the place of all of it
    return (merged,)


def mark(field: Field, cls: PytreeClass, model: PytreeModel) -> tuple[Change, tuple[NeededImport, ...]] | None:
    """The change that marks a field static, and the imports that it needs."""
    module = field.owner.module
    assert field.annotation is not None
    if cls.framework.static_annotation:
        written = spelled(cls.framework.static_annotation, module, model.resolver)
        at = field.annotation.expr.at
        return None if written is None else (Rewrite(at, written[0] + "[{0}]", (at,)), written[1])
    if cls.framework.static_marking is None or (field.call is None and field.opaque):
        return None
    if cls.lists is not None and not cls.lists.automatic:
        return None
    function, keyword, value = cls.framework.static_marking
    if field.call is not None and field.call.positional:
        return None
    written = spelled(function, module, model.resolver)
    if written is None:
        return None
    is_same = field.call is not None and field.call.function == function
    name, imports = ("", ()) if is_same else written
    change = EditField(field.at, is_call=field.call is not None, function=name, given=((keyword, value),))
    return change, imports
