"""Whether a class statement and its decorators succeed, and with what error they fail if not.

Judged are the fields, their defaults, the options, inheritance and the lists of fields. Field functions that
are called with arguments they do not have are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from jaxlint.infer.known.defaults import is_refused
from jaxlint.infer.known.values import plain
from jaxlint.pytrees.framework import InitFalse
from jaxlint.pytrees.frameworks.jax_register import (
    DROPS_ALONE,
    DROPS_BY_NAME,
    NEEDS_BOTH_LISTS,
    READS_FIELDS,
    REFUSES_OVERLAP,
)
from jaxlint.pytrees.frameworks.plain import ALL_BASES_COUNT, UNHASHABLE_REFUSED
from jaxlint.pytrees.model import Field, Kind, PytreeClass
from jaxlint.pytrees.options import unsupported_options
from jaxlint.pytrees.registration import fails_by_form, list_problems, lists_nothing, registration_clash
from jaxlint.pytrees.remaking import Outcome, remakes
from jaxlint.symbols.outline import ClassAssignment
from jaxlint.syntax.expressions import Call

if TYPE_CHECKING:
    from jaxlint.infer.evaluating.evaluate import Evaluator

#: Methods that `typing.NamedTuple` refuses to see overwritten.
_NAMED_TUPLE_METHODS = frozenset({"__new__", "__init__", "__slots__", "__getnewargs__", "_fields", "_asdict", "_make"})


class CreationError(msgspec.Struct, frozen=True):
    """The exception that creating a class raises: the name of its type, and a part of its text."""

    exception: str
    text: str


#: What penzai raises for a class that it does not want.
#: The answer where it cannot be determined whether a class can be created.
UNSURE: Final = CreationError("", "")


def creation_error(cls: PytreeClass, evaluator: Evaluator) -> CreationError | None:
    """The first error of a class declaration with the targeted versions: None if there is none, or `UNSURE`."""
    hidden = cls.params is not None and (not cls.members_known or cls.symbol.declaration.conditional_body)
    if cls.unknown_decorator or not cls.bases_known or hidden:
        return UNSURE
    return next(_Creation(cls, evaluator).errors(), None)


def unannotated_field_calls(cls: PytreeClass, evaluator: Evaluator) -> Iterator[ClassAssignment]:
    """The names that the body of a dataclass binds to calls of field functions without an annotation."""
    if cls.params is None:
        return
    declaration, model = cls.symbol.declaration, evaluator.model
    annotated = {f.name for f in declaration.fields}
    for assignment in declaration.assignments:
        if assignment.name not in annotated and isinstance(assignment.value, Call):
            callee = model.callees.of_call(assignment.value, cls.module, declaration.qualname)
            if callee is not None and callee.name in model.bodies.functions:
                yield assignment


def frozen_conflict(cls: PytreeClass, all_bases_count: bool | None) -> PytreeClass | None:
    """The base class that a dataclass may not inherit from, because one is frozen and the other is not.

    `all_bases_count` tells whether the fact `ALL_BASES_COUNT` holds.
    """
    if cls.params is None or cls.params.frozen is None:
        return None
    bases = [c for c in cls.mro[1:] if c.params is not None]
    other = next((c for c in bases if c.params is not None and c.params.frozen is not cls.params.frozen), None)
    if other is None or any(c.params is not None and c.params.frozen is None for c in bases):
        return None
    mixed = any(c.params is not None and c.params.frozen for c in bases)
    return None if cls.params.frozen and mixed and not all_bases_count else other


def misplaced_field(cls: PytreeClass) -> tuple[Field, Field] | None:
    """A field with a default, and one after it that has none, though both are positional parameters."""
    if not cls.framework.is_tuple and (cls.params is None or cls.params.init is not True):
        return None
    defaulted: Field | None = None
    methods = {name for c in cls.mro for name in c.symbol.declaration.methods}
    for field in cls.members:
        if not field.init or field.kw_only or field.opaque or field.kind is Kind.CLASS_VAR:
            continue
        if field.name in methods and _has_method(cls, field):
            continue
        if field.has_default:
            defaulted = defaulted or field
        elif defaulted is not None:
            return defaulted, field
    return None


def _has_method(cls: PytreeClass, field: Field) -> bool:
    """Whether the class that declares a field has a method of its name, which is the default then."""
    owner = next((c for c in cls.mro if c.symbol == field.owner), cls)
    return any(field.name in c.symbol.declaration.methods for c in owner.mro)


class _Creation:
    """Walks through what happens when a class is created, in that order."""

    def __init__(self, cls: PytreeClass, evaluator: Evaluator) -> None:
        self.cls = cls
        self.declaration = cls.symbol.declaration
        self.evaluator = evaluator
        self.holds = evaluator.model.target.holds

    def errors(self) -> Iterator[CreationError]:
        """All errors; only the first is ever seen."""
        cls = self.cls
        framework = cls.framework
        for field in self._own_members():
            if field.default is not None and field.factory is not None:
                yield CreationError("ValueError", "cannot specify both default and default_factory")
        if not _is_consistent(cls):
            yield CreationError("TypeError", "Cannot create a consistent method resolution")
        if framework.is_tuple:
            yield from self._named_tuple()
            return
        yield from self._options()
        if framework.refuses_other_marks:
            yield from self._conflicting_markers()
        for keyword, fact in framework.young_keywords.items():
            if not self.holds(fact) and any(argument.keyword == keyword for argument in self.declaration.bases):
                yield UNSURE
        for registration in cls.registrations:
            if registration.framework.must_be_frozen and registration.option("frozen", True) is None:
                yield UNSURE
        if framework.checks_each_base and cls.registered:
            yield from self._each_base()
        if framework.refuses_inherited_init and cls.registered:
            yield from self._inherited_init()
        if cls.params is not None:
            yield from self._dataclass()
        if cls.registered:
            yield from self._registration()

    def _own_members(self) -> list[Field]:
        """What the body itself declares, in the order of the body."""
        order = {d.name: i for i, d in reversed(list(enumerate(self.declaration.fields)))}
        own = [f for f in self.cls.members if f.owner == self.cls.symbol]
        return sorted(own, key=lambda f: order.get(f.name, len(order)))

    # -- the class statement ------------------------------------------------------------------

    def _options(self) -> Iterator[CreationError]:
        for unsupported in unsupported_options(self.cls):
            yield CreationError(unsupported.exception, unsupported.text)

    def _named_tuple(self) -> Iterator[CreationError]:
        cls = self.cls
        if cls.parents or not cls.is_dataclass:
            return
        for name in self.declaration.methods:
            if name in _NAMED_TUPLE_METHODS:
                yield CreationError("AttributeError", f"Cannot overwrite NamedTuple attribute {name}")
        for field in cls.fields:
            if field.name.startswith("_"):
                yield CreationError("ValueError", "Field names cannot start with an underscore")
        misplaced = misplaced_field(cls)
        if misplaced is not None:
            name = misplaced[1].name
            yield CreationError("TypeError", f"-default namedtuple field {name} cannot follow default")

    def _conflicting_markers(self) -> Iterator[CreationError]:
        """nnx: a field that is data in a parent cannot be static here, nor the other way round."""
        classes = [cls for cls in self.cls.mro if cls.framework.refuses_other_marks]
        marks = [self.evaluator.model.bodies.marks(cls.symbol, "static") for cls in classes]
        for name, own in marks[0].items():
            before = next((m[name] for m in marks[1:] if name in m), own)
            if before is not own:
                yield CreationError("ValueError", "Conflicting pytree annotation for attribute")

    # -- the dataclass machinery --------------------------------------------------------------

    def _dataclass(self) -> Iterator[CreationError]:
        cls, params = self.cls, self.cls.params
        assert params is not None
        for field in self._own_members():
            if field.kind is not Kind.FIELD and field.call is not None:
                yield UNSURE
            if field.default is None or field.kind is not Kind.FIELD:
                continue
            refused = is_refused(plain(self.evaluator.static(field.default)), self.holds(UNHASHABLE_REFUSED))
            if refused is None:
                yield UNSURE
            if refused:
                yield CreationError("ValueError", f"for field {field.name} is not allowed: use default_factory")
        # a `Field` object without a default is deleted, which fails if only an undecorated base has it
        bound = {f.name for f in self.declaration.fields if f.value is not None}
        bound |= {a.name for a in self.declaration.assignments}
        for field in self._own_members():
            if field.call is not None and field.default is None and field.name not in bound:
                yield CreationError("AttributeError", field.name)
        for assignment in unannotated_field_calls(cls, self.evaluator):
            yield CreationError("TypeError", f"'{assignment.name}' is a field but has no type annotation")
        for remake in remakes(cls, self.evaluator.model.target):
            if not self.holds(READS_FIELDS) and any(map(lists_nothing, cls.registrations)):
                yield UNSURE
            if remake.outcome is Outcome.NO_CLASS and "are required" not in remake.text:
                yield CreationError(remake.exception, remake.text)
        yield from self._frozen_bases()
        if params.order and params.eq is False:
            yield CreationError("ValueError", "eq must be true if order is true")
        yield from self._order_of_defaults()
        if params.frozen:
            for name in ("__setattr__", "__delattr__"):
                if name in self.declaration.methods:
                    yield CreationError("TypeError", f"Cannot overwrite attribute {name} in class")
        if params.unsafe_hash and "__hash__" in self.declaration.methods:
            yield CreationError("TypeError", "Cannot overwrite attribute __hash__ in class")

    def _frozen_bases(self) -> Iterator[CreationError]:
        params = self.cls.params
        bases = [c.params.frozen for c in self.cls.mro[1:] if c.params is not None]
        if params is None or not bases:
            return
        if params.frozen is None or None in bases:
            yield UNSURE
        elif frozen_conflict(self.cls, self.holds(ALL_BASES_COUNT)) is not None:
            first, second = ("frozen", "a non-frozen") if params.frozen else ("non-frozen", "a frozen")
            yield CreationError("TypeError", f"cannot inherit {first} dataclass from {second} one")

    def _order_of_defaults(self) -> Iterator[CreationError]:
        misplaced = misplaced_field(self.cls)
        if misplaced is not None:
            name = misplaced[1].name
            yield CreationError("TypeError", f"non-default argument '{name}' follows default argument")

    # -- what the frameworks add --------------------------------------------------------------

    def _each_base(self) -> Iterator[CreationError]:
        params = self.cls.params
        if params is not None and not params.frozen:
            for parent in self.cls.parents:
                machinery = next((c.params for c in parent.mro if c.params is not None), None)
                if machinery is not None and machinery.frozen:
                    yield CreationError("TypeError", "cannot inherit non-frozen dataclass from a frozen one")

    def _inherited_init(self) -> Iterator[CreationError]:
        """penzai does not overwrite an inherited `__init__` that it did not make."""
        cls = self.cls
        if "__init__" in self.declaration.methods or cls.option("init", True) is False:
            return
        if cls.option("overwrite_parent_init", False) is not False:
            return
        bases = cls.mro[1:]
        used = next((c for c in bases if "__init__" in c.symbol.declaration.methods or c.generated_init), None)
        made = next((c for c in bases if c.framework.refuses_inherited_init and c.registered), None)
        if used is not None and (used is not made or not used.generated_init):
            yield CreationError(self.cls.framework.class_error, "about to overwrite an inherited custom __init__")

    def _listed_again(self) -> Iterator[CreationError]:
        """penzai wants inherited fields listed again, unless declared otherwise."""
        annotated = dict.fromkeys(f.name for f in self.declaration.fields)
        names = [f.name for f in self.cls.fields]
        implicit = self.cls.option("has_implicitly_inherited_fields", False)
        if implicit is None:
            yield UNSURE
        elif implicit and not set(names) - set(annotated):
            yield CreationError(self.cls.framework.class_error, "does not have any implicitly inherited fields")
        elif not implicit and [n for n in annotated if n in names] != names:
            yield CreationError(self.cls.framework.class_error, "has missing or badly-ordered dataclass attributes")

    def _registration(self) -> Iterator[CreationError]:
        cls = self.cls
        reads_fields = self.holds(READS_FIELDS)
        if any(fails_by_form(r) for r in cls.registrations):
            text = "missing 1 required positional argument: 'nodetype'" if reads_fields else ""
            yield CreationError("TypeError", text)
        dropped_alone = cls.lists is not None and cls.lists.automatic
        if not reads_fields and (dropped_alone or any(map(lists_nothing, cls.registrations))):
            yield UNSURE if reads_fields is None else CreationError("TypeError", "")
        clash = registration_clash(cls, self.evaluator.model.target)
        if clash is not None:
            yield CreationError(clash.exception, clash.text) if clash.exception else UNSURE
        made = [r for r in cls.registrations if not r.ignored]
        if clash is None and (len(made) > 1 or (made and cls.registered_by_base is not False)):
            yield UNSURE
        if cls.framework.lists_fields:
            yield from self._register_dataclass()
        elif cls.framework.init_false is InitFalse.REFUSED and cls.lists is None:
            yield from self._without_init()
        elif any(f.name in cls.framework.refused_names for f in cls.fields):
            yield CreationError("ValueError", "The following dataclass fields are disallowed")
        elif cls.framework.relists_fields:
            yield from self._listed_again()

    def _without_init(self) -> Iterator[CreationError]:
        if any(not f.init for f in self.cls.fields):
            yield CreationError("ValueError", "Unexpected fields")

    def _register_dataclass(self) -> Iterator[CreationError]:
        cls, lists = self.cls, self.cls.lists
        if lists is None or lists.automatic:
            if not any(r.of_dataclass for r in cls.registrations):
                yield CreationError("TypeError", "are required when nodetype is not a dataclass")
            if lists is not None and (lists.dropped is None or set(lists.dropped) & {f.name for f in cls.fields}):
                if lists.dropped is None or self.holds(DROPS_ALONE) is None:
                    yield UNSURE
                elif not self.holds(DROPS_ALONE):
                    yield CreationError("ValueError", "Unexpected fields")
            yield from self._without_init()
            return
        problems = list_problems(cls)
        if problems is None:
            yield UNSURE
            return
        if problems.absent_list:
            asks = self.holds(NEEDS_BOTH_LISTS)
            text = "data_fields and meta_fields must both be specified when either is" if asks else ""
            yield UNSURE if asks is None else CreationError("TypeError", text)
        if lists is not None and lists.dropped and self.holds(DROPS_BY_NAME) is None:
            yield UNSURE
        if problems.missing:
            yield CreationError("ValueError", "Missing fields")
        if problems.unexpected or problems.dropped_too:
            yield CreationError("ValueError", "Unexpected fields")
        if problems.overlapping:
            refuses = self.holds(REFUSES_OVERLAP)
            if refuses is not False:
                yield UNSURE if refuses is None else CreationError("ValueError", "must not overlap")


def _is_consistent(cls: PytreeClass) -> bool:
    """Whether the visible bases have a method resolution order."""
    pending = [s for s in [*(list(p.mro) for p in cls.parents), list(cls.parents)] if s]
    while pending:
        head = next((s[0] for s in pending if not any(s[0] in other[1:] for other in pending)), None)
        if head is None:
            return False
        pending = [s for s in ([c for c in s if c is not head] for s in pending) if s]
    return True
