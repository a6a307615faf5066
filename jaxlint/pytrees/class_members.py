"""The members of a class: what its body declares, merged with what bases bring, each with its role."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from jaxlint.pytrees.declared_class import DeclaredClass, ancestors_of
from jaxlint.pytrees.fields import Body, DeclaredField
from jaxlint.pytrees.framework import Framework, InitFalse, Role
from jaxlint.pytrees.model import Field, FieldLists, Kind, Placed, PytreeClass
from jaxlint.symbols.outline import (
    Function,
)
from jaxlint.syntax.expressions import (
    Expr,
)


class ClassMembers(DeclaredClass):
    """A declared class whose members can be collected, once its framework is known."""

    def _merge_members(self, body: Body, framework: Framework, is_dataclass: bool) -> list[Field]:
        """Fields and `InitVar`s, with those of the bases, as the dataclass machinery collects them."""
        merged: dict[str, Field] = {}
        if framework.is_tuple and self.roots:
            bases: list[PytreeClass] = []
        else:
            bases = ancestors_of(self.parents)
        if not is_dataclass:
            bases = next(([b] for b in bases if b.is_dataclass), [])
        merging = bases
        if len(self.parents) == 1 and self.parents[0].is_dataclass and not self.parents[0].framework.is_tuple:
            merging = bases[:1]  # it has merged the members of all others, of which there may be a thousand
        relisted = framework.by_lists and self.registering is not None
        for parent in reversed(merging):
            for field in parent.members:
                known = parent.framework is framework and not relisted and not framework.reads_dict
                merged[field.name] = field if known else with_role(field, self._role(field, framework))
        if not is_dataclass:
            return list(merged.values())
        for declared in body.members:
            field = self._field(self._with_inherited_value(declared, bases))
            merged[field.name] = with_role(field, self._role(field, framework))
        return list(merged.values())

    def _with_inherited_value(self, declared: DeclaredField, bases: list[PytreeClass]) -> DeclaredField:
        """A member that is declared without a value takes the class attribute of its name, if there is one."""
        name = declared.declaration.name
        if declared.declaration.value is not None or (self.roots and self.roots[0].is_tuple):
            return declared
        found = self._class_attribute(name, bases)
        if found is None:
            return declared
        value, owner = found
        made = next((f for f in owner.members if f.name == name and f.owner == owner.symbol), None) if owner else None
        if made is not None:  # the machinery has put the default itself there
            return replace(declared, default=made.default)
        declaration = msgspec.structs.replace(declared.declaration, value=value)
        place = self.symbol if owner is None else owner.symbol
        read = self.model.bodies.read_field(declaration, place.module, place.declaration.qualname, declared.kw_only)
        return replace(read, declaration=declared.declaration, kind=declared.kind)

    def _class_attribute(self, name: str, bases: list[PytreeClass]) -> tuple[Expr, PytreeClass | None] | None:
        """What the name is bound to in the class body (None) or in the nearest base that binds it."""
        for owner in (None, *bases):
            declaration = self.declaration if owner is None else owner.symbol.declaration
            for assignment in reversed(declaration.assignments):
                if assignment.name == name:
                    return None if assignment.value is None else (assignment.value, owner)
            if owner is None:
                continue
            for declared in declaration.fields:
                if declared.name == name and declared.value is not None:
                    made = next((f for f in owner.members if f.name == name and f.owner == owner.symbol), None)
                    if made is None or made.default is not None:
                        return declared.value, owner
        return None

    def _field(self, declared: DeclaredField) -> Field:
        declaration = declared.declaration
        return Field(
            name=declaration.name,
            role=Role.UNKNOWN,
            owner=self.symbol,
            at=declaration.name_at,
            annotation=Placed(declaration.annotation, self.module, self.declaration.qualname),
            default=declared.default,
            factory=declared.factory,
            init=declared.init,
            kw_only=declared.kw_only,
            metadata=declared.metadata,
            opaque=declared.opaque,
            call=declared.call,
            kind=declared.kind,
        )

    def _role(self, field: Field, framework: Framework) -> Role:
        if field.opaque:
            return Role.UNKNOWN
        if not field.init and framework.init_false is InitFalse.DROPPED:
            return Role.DROPPED
        if framework.static_metadata is not None:
            key, means_static = framework.static_metadata
            if key in field.metadata:
                value = field.metadata[key]
                if value is None:
                    return Role.UNKNOWN
                if value is means_static:
                    return Role.STATIC
                return Role.LEAF
        if framework.role is None or field.annotation is None:
            return Role.LEAF
        place = field.annotation
        return framework.role(self.model.context(place.expr, place.module, place.scope, field.metadata))

    def _marked(self, fields: list[Field], framework: Framework) -> list[Field]:
        """The fields with the marks that the bodies of all classes leave, decorated or not."""
        key, means_static = framework.static_metadata or ("", True)
        marks: dict[str, bool | None] = {}
        found_in: list[Mapping[str, bool | None]] = []
        for cls in reversed(ancestors_of(self.parents)):
            if cls.framework is framework:
                found_in.append(self.model.bodies.marks(cls.symbol, key))
            elif framework.counts_plain_marks and cls.params is not None:
                found_in.append({m.name: m.metadata[key] for m in cls.members if key in m.metadata})
        found_in.append(self.model.bodies.marks(self.symbol, key))
        for found in found_in:
            if framework.static_stays:
                found = {name: mark for name, mark in found.items() if marks.get(name) is not means_static}
            marks |= found
        marked = []
        for field in fields:
            metadata = {k: v for k, v in field.metadata.items() if k != key}
            if field.name in marks:
                metadata[key] = marks[field.name]
            marked.append(replace(field, metadata=metadata))
        return [with_role(f, self._role(f, framework)) for f in marked]

    def _marked_static(self, ancestors: list[PytreeClass]) -> set[str]:
        """The names that the bodies of the class and of those that it inherits from mark as static."""
        marks = [
            self.model.bodies.marks(owner, "pytree_node") for owner in (self.symbol, *(c.symbol for c in ancestors))
        ]
        return {name for found in marks for name, mark in found.items() if mark is False}

    def _custom_init(self) -> Function | None:
        """The user-written `__init__` that constructs instances, if a base does not generate one."""
        if "__init__" in self.declaration.methods:
            return self.module.outline.functions[self.declaration.methods["__init__"][-1]]
        return next((b.custom_init() for b in self._init_owner()), None)

    def _init_owner(self) -> list[PytreeClass]:
        """The base, if any, whose `__init__` constructs instances of a class that has none."""
        owners = (
            b for b in ancestors_of(self.parents) if b.generated_init or "__init__" in b.symbol.declaration.methods
        )
        return [owner for owner in [next(owners, None)] if owner is not None]

    def _post_init(self, generated: bool) -> Function | None:
        """The `__post_init__` that a generated `__init__` calls: it calls none if there was none when it was made."""
        if not generated and not any(b.method("__post_init__") for b in self._init_owner()):
            return None
        owners = [self.symbol, *(c.symbol for c in ancestors_of(self.parents))]
        found = next((o for o in owners if "__post_init__" in o.declaration.methods), None)
        return None if found is None else found.module.outline.functions[found.declaration.methods["__post_init__"][-1]]

    def _carried(self, field: Field, framework: Framework, generated: bool, init: Function | None) -> Field:
        """A leaf that instances do not carry is not in the pytree, if that is read from their `__dict__`.

        A plain default is a class attribute: the dataclass machinery assigns it to no `init=False` field,
        and a custom `__init__` assigns only what it says.
        """
        if not framework.reads_dict or field.role is not Role.LEAF or field.kind is not Kind.FIELD:
            return field
        if init is not None:
            if any(a.attr == field.name for a in init.self_assignments):
                return field
            must_be_set = framework.checks_fields and field.default is None
            return field if must_be_set else with_role(field, Role.UNKNOWN)
        hook = self._post_init(generated)
        if field.default is None:
            unset = not field.init and field.factory is None and hook is None
            return with_role(field, Role.DROPPED) if unset else field
        if not generated and not any(field.name in {m.name for m in b.members} for b in self._init_owner()):
            return with_role(field, Role.UNKNOWN)
        if field.init:
            return field
        return with_role(field, Role.DROPPED if hook is None else Role.UNKNOWN)

    def _class_attributes(self) -> frozenset[str]:
        """The names to which the class body binds a value."""
        names = [f.name for f in self.declaration.fields if f.value is not None]
        return frozenset([*names, *(a.name for a in self.declaration.assignments), *self.declaration.methods])


def with_role(field: Field, role: Role) -> Field:
    """The field in that role."""
    return field if field.role is role else replace(field, role=role)


def apply_lists(fields: list[Field], lists: FieldLists | None) -> tuple[list[Field], tuple[str, ...] | None]:
    """Roles from lists of fields, where they are given, and the order of the leaves."""
    if lists is None:
        return fields, None
    if lists.automatic and lists.dropped is not None:
        return [with_role(f, Role.DROPPED) if f.name in lists.dropped else f for f in fields], None
    if lists.data is None or lists.meta is None:
        return [with_role(f, Role.UNKNOWN) for f in fields], None
    roles = {**dict.fromkeys(lists.data, Role.LEAF), **dict.fromkeys(lists.meta, Role.STATIC)}
    return [with_role(f, roles.get(f.name, Role.DROPPED)) for f in fields], lists.data


def in_step(members: list[Field], fields: list[Field]) -> list[Field]:
    """The members, as they are declared, with the roles that the fields among them have by now."""
    roles = {f.name: f.role for f in fields}
    return [with_role(m, roles.get(m.name, m.role)) if m.kind is Kind.FIELD else m for m in members]
