"""What a class is: its framework, whether it is registered, frozen, compared, and what constructs it."""

from __future__ import annotations

from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, External
from jaxlint.pytrees.class_members import ClassMembers, apply_lists, in_step, with_role
from jaxlint.pytrees.declared_class import ancestors_of
from jaxlint.pytrees.fields import Body
from jaxlint.pytrees.flatten import AttributeReader
from jaxlint.pytrees.framework import Framework, Role, Subclasses
from jaxlint.pytrees.frameworks import DATACLASS, PLAIN_CLASS
from jaxlint.pytrees.model import DataclassParams, Field, FieldLists, Kind, PytreeClass
from jaxlint.pytrees.project_decorators import with_wrapped_default
from jaxlint.pytrees.stubs import is_stub
from jaxlint.symbols.outline import (
    Function,
)

_METACLASSES = frozenset({"abc.ABCMeta", "enum.EnumMeta", "enum.EnumType", "builtins.type"})


class ClassBuilder(ClassMembers):
    """Builds the `PytreeClass` of one class."""

    def build(self) -> PytreeClass:
        """Read the declaration, then conclude what the class is."""
        self._read_bases()
        self._read_hook()
        self._read_decorators()
        framework, registered = self._framework()
        is_dataclass = self._is_dataclass(framework)
        params = self._params(framework, is_dataclass)
        body = self.model.bodies.read(self.symbol, self._option("kw_only", False) is True)
        members = self._merge_members(body, framework, is_dataclass)
        if self.wraps_defaults:
            members = [with_wrapped_default(m) if m.owner == self.symbol else m for m in members]
        if framework.marks_stay:
            members = self._marked(members, framework)
        generated_init = self._generated_init(framework, is_dataclass)
        init = None if generated_init else self._custom_init()
        members = [self._carried(f, framework, generated_init, init) for f in members]
        fields, explicit, lists, known = self._fields(members, body, framework, is_dataclass)
        frozen, names = self._frozen(framework, params)
        return PytreeClass(
            symbol=self.symbol,
            framework=framework,
            parents=tuple(self.parents),
            fields=tuple(fields),
            fields_known=known,
            bases_known=not self.unknown_base and all(p.bases_known for p in self.parents),
            base_constructs=self.constructing_base or any(p.base_constructs for p in self.parents),
            attributes_known=self._attributes_known(framework, fields, generated_init, init),
            frozen=frozen,
            is_dataclass=is_dataclass,
            registered=registered,
            generated_init=generated_init,
            eq=self._eq(framework, params),
            members=tuple(in_step(members, fields)),
            members_known=self._fields_known(is_dataclass),
            unknown_decorator=self.unknown_decorator,
            attributes_added=frozenset(self.attributes_set),
            frozen_names=names,
            explicit_leaves=explicit,
            root_first=self.before_root == [],
            options=self._options(),
            options_known=self._options_known(),
            params=params,
            registrations=tuple(self.registrations),
            made_by=tuple(self.made_by),
            registered_by_base=self._registered_by_base(framework),
            lists=lists,
        )

    def _fields(
        self, members: list[Field], body: Body, framework: Framework, is_dataclass: bool
    ) -> tuple[list[Field], tuple[str, ...] | None, FieldLists | None, bool]:
        """The fields with their roles, the leaves and the lists that say so if some do, and whether all are known."""
        fields = [f for f in members if f.kind is Kind.FIELD]
        explicit: tuple[str, ...] | None = None
        lists: FieldLists | None = None
        known = self._fields_known(is_dataclass)
        attributes = AttributeReader(self.symbol)
        if framework.flattens_itself:
            flattened = attributes.from_flatten(self._flatten_function())
            if flattened is not None:
                fields, explicit = flattened, tuple(f.name for f in flattened if f.role is Role.LEAF)
                if not explicit and not attributes.has_no_children(self._flatten_function()):
                    explicit = None  # what the children are is computed
            else:
                fields = [with_role(f, Role.UNKNOWN) for f in fields]
            known = False
        elif framework.by_lists and self.registering is not None:
            callee = self.registering[1]
            lists = self._lists(callee)
            fields, explicit = apply_lists(fields, lists)
            if lists is None and not callee.complete:  # `register_dataclass(Cls, **options)` may list them
                known, fields = False, [with_role(f, Role.UNKNOWN) for f in fields]
            fields = [with_role(f, Role.UNKNOWN) if f.name in self.unsure else f for f in fields]
        elif framework.is_tuple and self.registering is not None:
            fields = [with_role(f, Role.UNKNOWN) for f in fields]  # it is flattened as the registration says
        elif framework.is_opaque:
            fields = [with_role(f, Role.STATIC) for f in fields]
        elif framework.fields_in_init and not any(p.is_dataclass for p in self.parents) and not is_dataclass:
            fields = attributes.from_init(fields, self._marked_static(ancestors_of(self.parents)))
            known = False
        elif framework.fields_by_annotation and not is_dataclass:
            fields = [f for f in self._merge_members(body, framework, True) if f.kind is Kind.FIELD]
            known = False
        return fields, explicit, lists, known

    def _framework(self) -> tuple[Framework, bool | None]:
        """The framework of the class, and whether the class itself is registered as a pytree."""
        if self.roots:
            root = self.roots[0]
            if root.refuses_undecorated:
                return root, self.registering is not None or self._registered_otherwise()
            return root, self._registers(root)
        pytrees = [p for p in self.parents if p.is_pytree]
        # a base class that registers its subclasses does so whatever stands before it
        automatic = (p for p in pytrees if p.framework.subclasses is not Subclasses.OPAQUE)
        inherited = next(automatic, pytrees[0] if pytrees else None)
        if self.registering is not None:
            if inherited is not None and (
                inherited.framework.refuses_undecorated or inherited.framework.subclasses is not Subclasses.OPAQUE
            ):
                return inherited.framework, True
            return self.registering[0], True
        if inherited is not None:
            if inherited.framework.subclasses is Subclasses.OPAQUE:
                return inherited.framework, self._registered_otherwise()
            return inherited.framework, self._registers(inherited.framework)
        if self.dataclass_options is not None or any(p.framework is DATACLASS for p in self.parents):
            return DATACLASS, None if self.unknown_base or self.unknown_decorator else False
        return PLAIN_CLASS, None if self.unknown_base or self.unknown_decorator else False

    def _registered_otherwise(self) -> bool | None:
        """Whether a class without a decorator is registered: None if something else may do it, else False."""
        ancestors = [c.symbol for c in ancestors_of(self.parents)]
        hidden = (
            self.unknown_decorator
            or self.unknown_base
            or any("__init_subclass__" in a.declaration.methods or _hides_bodies(a.module) for a in ancestors)
            or any(self._has_metaclass(s) for s in (self.symbol, *ancestors))
            or self.model.registrations.may_register(self.symbol)
        )
        return None if hidden else False

    def _has_metaclass(self, symbol: ClassSymbol) -> bool:
        """Whether a class names a metaclass that is not known."""
        for argument in symbol.declaration.bases:
            if argument.keyword == "metaclass":
                named = self.model.resolver.resolve(argument.value, symbol.module, symbol.declaration.scope)
                return not (isinstance(named, External) and named.name in _METACLASSES)
        return False

    def _registered_by_base(self, framework: Framework) -> bool | None:
        """Whether a base class registers the class as soon as it is created."""
        if framework.subclasses is Subclasses.OPAQUE or framework.is_tuple or framework is PLAIN_CLASS:
            return False
        return self._class_keyword(framework.register_keyword, True)

    def _registers(self, framework: Framework) -> bool | None:
        """Whether a base class registers the class, which a class keyword may forbid."""
        if framework.is_tuple:
            return True
        return self._class_keyword(framework.register_keyword, True)

    def _is_dataclass(self, framework: Framework) -> bool:
        """Whether the class's own annotations become fields."""
        if framework.is_tuple:
            return bool(self.roots)
        if self.dataclass_options is not None:
            return True
        return framework.makes_dataclass and framework.subclasses is Subclasses.AUTO

    def _generated_init(self, framework: Framework, is_dataclass: bool) -> bool:
        if not is_dataclass or "__init__" in self.declaration.methods:
            return False
        if framework.keeps_inherited_init:
            for base in ancestors_of(self.parents if self.before_root is None else self.before_root):
                if base.framework is framework:
                    return base.generated_init
                if "__init__" in base.symbol.declaration.methods or base.generated_init:
                    return False
        return self._option("init", True) is True

    def _params(self, framework: Framework, is_dataclass: bool) -> DataclassParams | None:
        """The options of the dataclass machinery, with the framework's own defaults."""
        if not is_dataclass or framework.is_tuple:
            return None
        maker = self.maker or framework
        if maker.freezes_itself is not None:
            holds = self.model.target.holds(maker.freezes_itself)
            frozen = None if holds is None else not holds
            return DataclassParams(self._generated_init(framework, is_dataclass), False, frozen, False, False)
        frozen = self._option("frozen", maker.frozen) if maker.frozen_option else maker.frozen
        return DataclassParams(
            self._option("init", True),
            self._option("eq", True),
            frozen,
            self._option("order", False),
            self._option("unsafe_hash", False),
        )

    def _binds(self, name: str) -> bool:
        """Whether the class body has a method of that name, or assigns one."""
        return name in self.declaration.methods or any(a.name == name for a in self.declaration.assignments)

    def _eq(self, framework: Framework, params: DataclassParams | None) -> bool | None:
        """Whether `==` compares field by field; None if it cannot be determined."""
        if self._binds("__eq__") or self.unknown_decorator:
            return None
        if params is not None and params.eq is not False:
            return params.eq
        if framework.is_tuple and self.roots:
            return True
        for ancestor in [] if self.before_root == [] and framework.defines_eq else ancestors_of(self.parents):
            if ancestor.eq is not False or (ancestor.root_first and ancestor.framework.defines_eq):
                return ancestor.eq
        return None if self.unknown_base else False

    def _frozen(
        self, framework: Framework, params: DataclassParams | None
    ) -> tuple[bool | None, frozenset[str] | None]:
        """Whether assignment is refused, and for which names (None: all)."""
        if self._binds("__setattr__"):
            return None, None
        if f"{self.declaration.name}.__setattr__" in self.module.outline.attributes_set:
            return None, None
        if any(c.says_itself("__setattr__") for c in ancestors_of(self.parents)):
            return None, None
        if framework.mutability_switch and self._switches_mutability(framework.mutability_switch):
            return None, None
        by_base = framework.subclasses is Subclasses.AUTO or framework.refuses_undecorated
        if by_base and framework.is_pytree and framework.frozen is not None and not framework.frozen_option:
            return framework.frozen, None
        if framework.is_tuple and self.roots:
            return True, None
        if params is not None and params.frozen is not False:
            return params.frozen, None
        if framework.mutable_keyword:
            mutable = self._class_keyword(framework.mutable_keyword, False)
            if mutable is not False and any(
                c.params and c.params.frozen is not False for c in ancestors_of(self.parents)
            ):
                return None, None
            return (None if mutable is None else not mutable), None
        return (False, None) if params is not None else self._inherited_frozen()

    def _switches_mutability(self, switch: str) -> bool:
        """Whether a module of the family reaches for the function that makes instances mutable."""
        modules = {self.module, *(c.module for c in ancestors_of(self.parents))}
        return any(switch in unit.calls for module in modules for unit in module.outline.units)

    def _inherited_frozen(self) -> tuple[bool | None, frozenset[str] | None]:
        """An undecorated subclass of a frozen dataclass refuses only the names of its parents' fields."""
        for parent in self.parents:
            if parent.frozen is None:
                return None, None
            if parent.frozen:
                if parent.framework.freezes_subclasses:
                    return True, None
                names = frozenset(f.name for f in parent.fields)
                names = names if parent.frozen_names is None else parent.frozen_names
                return True, names - self._class_attributes() if parent.framework.is_tuple else names
        return (None, None) if self.unknown_base else (False, None)

    def _fields_known(self, is_dataclass: bool) -> bool:
        if self.unknown_base or any(not p.fields_known for p in self.parents):
            return False
        return not (is_dataclass and self.declaration.conditional_body)

    def _attributes_known(
        self, framework: Framework, fields: list[Field], generated: bool, init: Function | None
    ) -> bool:
        """Whether construction assigns no attributes but fields, where attributes are flattened too."""
        if not framework.reads_dict or framework.checks_fields:
            return True
        names = {f.name for f in fields}
        hook = init or self._post_init(generated)
        return hook is None or (not hook.self_calls and all(a.attr in names for a in hook.self_assignments))


def _hides_bodies(module: Module) -> bool:
    """Whether a module is a stub of others', which need not say what classes do to their subclasses."""
    return module.path.endswith(".pyi") and not is_stub(module)
