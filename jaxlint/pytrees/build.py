"""Building `PytreeClass` from declarations: decorators, bases, options, inheritance."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property

from jaxlint.config import ExtraField, Settings
from jaxlint.expr import Attribute, Call, Constant, Display, Expr, Name, Subscript, dotted
from jaxlint.names import ClassSymbol, External, Resolver, Symbol
from jaxlint.project import Module, Project
from jaxlint.pytrees.callee import Callee, CalleeFinder, truth
from jaxlint.pytrees.context import FieldContext
from jaxlint.pytrees.fields import BodyReader, DeclaredField
from jaxlint.pytrees.flatten import AttributeReader
from jaxlint.pytrees.frameworks import (
    ALIASES,
    BY_BASE,
    BY_DECORATOR,
    DATACLASS,
    FIELD_FUNCTIONS,
    NAMED_TUPLE,
    PENZAI,
    PLAIN_CLASS,
    PYTREE_NODE_CLASS,
    REGISTER_DATACLASS,
    REGISTER_STATIC,
    SIMPLE_PYTREE,
)
from jaxlint.pytrees.model import Field, FieldFunction, Framework, Placed, PytreeClass, Role, Subclasses, merge_mro

#: Classes of frameworks that are described by a stub of ours instead of by their own source.
_STUBS = {"flax.training.train_state.TrainState": ("train_state.pyi", "TrainState")}
#: Further names at which resolution stops, because inference or a rule knows them.
_KNOWN = frozenset(
    {
        "jax_dataclasses.Static",
        "jax_dataclasses.copy_and_mutate",
        "jax_dataclasses.replace",
        "jax_dataclasses.jit",
        "equinox.tree_at",
        "chex.Array",
        "chex.ArrayTree",
        "chex.PRNGKey",
        "chex.Numeric",
        "flax.core.FrozenDict",
    }
)
#: Bases and decorators from these packages neither add fields nor change assignment.
_NEUTRAL_PACKAGES = frozenset({"builtins", "typing", "abc", "collections", "functools", "enum", "types", "contextlib"})
_NEUTRAL_DECORATORS = frozenset(
    {"jaxtyping.jaxtyped", "beartype.beartype", "typeguard.typechecked", "flax.serialization.register_serialization_state"}
)
_MAX_BASES_DEPTH = 30


class PytreeModel:
    """The classes of a project, built on demand, each once.

    `settings` may name things of the user's own that stand for known ones (`extra-decorators`, …).
    """

    def __init__(self, project: Project, settings: Settings | None = None) -> None:
        settings = settings or Settings()
        aliases = {**ALIASES, **settings.extra_decorators, **settings.extra_bases}
        functions = {**FIELD_FUNCTIONS, **{n: _extra_field(f) for n, f in settings.extra_fields.items()}}
        known = frozenset({*BY_DECORATOR, *BY_BASE, *functions, *_STUBS, *_KNOWN, *aliases.values()})
        self.project = project
        self.resolver = Resolver(project, known, aliases)
        self.callees = CalleeFinder(self.resolver)
        self.bodies = BodyReader(self.resolver, self.callees, functions)
        self._classes: dict[tuple[str, str], PytreeClass] = {}
        self._building: set[tuple[str, str]] = set()
        self._registrations: dict[str, dict[str, list[Callee]]] = {}
        self._subclasses: dict[tuple[str, str], list[PytreeClass]] | None = None

    # -- looking up -------------------------------------------------------------------------

    def class_named(self, expr: Expr, module: Module, scope: str) -> PytreeClass | None:
        """The class that an expression names, or None if it names none that can be seen."""
        return self.class_of_symbol(self.resolver.resolve(expr, module, scope))

    def class_of_symbol(self, symbol: Symbol) -> PytreeClass | None:
        """The class that a resolved name stands for."""
        if isinstance(symbol, External) and symbol.name in _STUBS:
            return self.build(self._stub(symbol.name))
        if isinstance(symbol, ClassSymbol):
            return self.build(symbol)
        return None

    def classes_in(self, module: Module) -> list[PytreeClass]:
        """All classes a module declares, in source order (nested ones too)."""
        return [self.build(ClassSymbol(module, c)) for c in module.outline.classes.values()]

    @cached_property
    def _stub_module(self) -> Module:
        return Module(os.path.join(os.path.dirname(__file__), "stubs", "train_state.pyi"), "train_state", False, ())

    def is_stub(self, module: Module) -> bool:
        """Whether the module is a description of ours instead of a file of the user's."""
        return module is self._stub_module

    def _stub(self, name: str) -> ClassSymbol:
        return ClassSymbol(self._stub_module, self._stub_module.outline.classes[_STUBS[name][1]])

    # -- building ---------------------------------------------------------------------------

    def build(self, symbol: ClassSymbol) -> PytreeClass:
        """The model of one class; a class that inherits from itself is an unknown plain class."""
        known = self._classes.get(symbol.key)
        if known is not None:
            return known
        if symbol.key in self._building or len(self._building) > _MAX_BASES_DEPTH:
            return _opaque_class(symbol)
        self._building.add(symbol.key)
        try:
            built = _ClassBuilder(self, symbol).build()
        finally:
            self._building.discard(symbol.key)
        self._classes[symbol.key] = built
        return built

    def registrations(self, symbol: ClassSymbol) -> list[Callee]:
        """The registering calls that a module makes for one of its classes after declaring it."""
        path = symbol.module.path
        if path not in self._registrations:
            found: dict[str, list[Callee]] = {}
            outline = symbol.module.outline
            calls = list(outline.module_calls)
            for bindings in outline.module_scope.bindings.values():
                calls += [
                    b.value for b in bindings if isinstance(getattr(b, "value", None), Call)  # type: ignore[union-attr,misc]
                ]
            for call in calls:
                if not call.args or not isinstance(call.args[0].value, (Name, Attribute)):
                    continue
                target = dotted(call.args[0].value)
                if target is None or target not in outline.classes:
                    continue
                callee = self.callees.of_call(call, symbol.module, "")
                if callee is not None and callee.name in BY_DECORATOR:
                    found.setdefault(target, []).append(callee)
            self._registrations[path] = found
        return self._registrations[path].get(symbol.declaration.qualname, [])

    def context(self, expr: Expr | None, module: Module, scope: str, metadata: dict[str, bool | None]) -> FieldContext:
        """What a framework may ask about a field declared in `scope`."""
        return FieldContext(expr, module, scope, metadata, self.resolver, self.build)

    # -- subclasses -------------------------------------------------------------------------

    def index_subclasses(self, modules: list[Module]) -> None:
        """Learn which classes of `modules` inherit from which, for `subclasses`."""
        index: dict[tuple[str, str], list[PytreeClass]] = {}
        for module in modules:
            if not module.outline.classes:
                continue
            for cls in self.classes_in(module):
                for ancestor in cls.mro[1:]:
                    index.setdefault(ancestor.symbol.key, []).append(cls)
        self._subclasses = index

    @cached_property
    def static_class_names(self) -> frozenset[str]:
        """The simple names of all classes built so far that have static fields."""
        return frozenset(c.name for c in self._classes.values() if c.is_pytree and c.static_fields)

    def subclasses(self, cls: PytreeClass) -> list[PytreeClass]:
        """The visible classes that inherit from `cls`, directly or not."""
        return (self._subclasses or {}).get(cls.symbol.key, [])


class _ClassBuilder:
    """Builds one class."""

    def __init__(self, model: PytreeModel, symbol: ClassSymbol) -> None:
        self.model = model
        self.symbol = symbol
        self.declaration = symbol.declaration
        self.module = symbol.module
        self.scope = symbol.declaration.scope
        self.parents: list[PytreeClass] = []
        self.roots: list[Framework] = []
        self.unknown_base = False
        self.unknown_decorator = False
        self.dataclass_options: Callee | None = None
        self.registering: tuple[Framework, Callee] | None = None
        self.keywords = {a.keyword: a.value for a in self.declaration.bases if a.keyword is not None}

    def build(self) -> PytreeClass:
        self._read_bases()
        self._read_decorators()
        framework, registered = self._framework()
        is_dataclass = self._is_dataclass(framework)
        body = self.model.bodies.read(self.symbol, self._option("kw_only", False) is True)
        own = body.fields if is_dataclass else ()
        fields = self._merge_fields(own, framework)
        explicit: tuple[str, ...] | None = None
        known = self._fields_known(is_dataclass, own)
        attributes = AttributeReader(self.model, self.symbol)
        if framework is PYTREE_NODE_CLASS:
            flattened = attributes.from_flatten()
            if flattened is not None:
                fields, explicit = flattened, tuple(f.name for f in flattened if f.role is Role.LEAF)
            else:
                fields = [_with_role(f, Role.UNKNOWN) for f in fields]
            known = False
        elif framework is REGISTER_DATACLASS and self.registering is not None:
            fields, explicit, listed = self._apply_lists(fields, self.registering[1])
            known = known and listed
        elif framework is REGISTER_STATIC:
            fields = [_with_role(f, Role.STATIC) for f in fields]
        elif framework is SIMPLE_PYTREE and not any(p.is_dataclass for p in self.parents) and not is_dataclass:
            fields = attributes.from_init(fields)
            known = False
        frozen, names = self._frozen(framework, is_dataclass)
        return PytreeClass(
            symbol=self.symbol,
            framework=framework,
            parents=tuple(self.parents),
            fields=tuple(fields),
            fields_known=known,
            frozen=frozen,
            is_dataclass=is_dataclass,
            registered=registered,
            generated_init=self._generated_init(framework, is_dataclass),
            eq=self._eq(framework, is_dataclass),
            init_vars=tuple(dict.fromkeys([v for p in self.parents for v in p.init_vars] + list(body.init_vars))),
            unknown_decorator=self.unknown_decorator,
            frozen_names=names,
            explicit_leaves=explicit,
            unsafe_hash=self._option("unsafe_hash", False),
        )

    # -- what is written --------------------------------------------------------------------

    def _read_bases(self) -> None:
        for argument in self.declaration.bases:
            if argument.keyword is not None:
                continue
            expr = argument.value.value if isinstance(argument.value, Subscript) else argument.value
            symbol = self.model.resolver.resolve(expr, self.module, self.scope)
            parent = self.model.class_of_symbol(symbol)
            if parent is not None:
                self.parents.append(parent)
                self.unknown_base |= parent.framework is PLAIN_CLASS and not parent.fields_known
            elif isinstance(symbol, External):
                framework = BY_BASE.get(symbol.name)
                if framework is not None:
                    self.roots.append(framework)
                elif symbol.name.partition(".")[0] not in _NEUTRAL_PACKAGES:
                    self.unknown_base = True
            else:
                self.unknown_base = True

    def _read_decorators(self) -> None:
        callees = [
            self.model.callees.of_decorator(d, self.module, self.scope) for d in reversed(self.declaration.decorators)
        ]
        for callee in [*callees, *self.model.registrations(self.symbol)]:
            if callee is None:
                self.unknown_decorator = True
                continue
            framework = BY_DECORATOR.get(callee.name)
            if framework is None:
                neutral = callee.name in _NEUTRAL_DECORATORS or callee.name.partition(".")[0] in _NEUTRAL_PACKAGES
                self.unknown_decorator |= not neutral
            elif framework is DATACLASS:
                self.dataclass_options = callee
            else:
                if framework.makes_dataclass:
                    self.dataclass_options = callee
                self.registering = self.registering or (framework, callee)

    def _option(self, name: str, default: bool | None) -> bool | None:
        if self.dataclass_options is not None:
            return truth(self.dataclass_options.keyword(name), default)
        if name in self.keywords:
            return truth(Placed(self.keywords[name], self.module, self.scope), default)
        return default

    # -- what it means ----------------------------------------------------------------------

    def _framework(self) -> tuple[Framework, bool | None]:
        """The framework of the class, and whether the class itself is registered as a pytree."""
        if self.roots:
            root = self.roots[0]
            if root is PENZAI:
                return root, self.registering is not None
            return root, True
        inherited = next((p for p in self.parents if p.is_pytree), None)
        if self.registering is not None:
            if inherited is not None and inherited.framework.subclasses is Subclasses.AUTO:
                return inherited.framework, True
            return self.registering[0], True
        if inherited is not None:
            if inherited.framework.subclasses is Subclasses.OPAQUE:
                return inherited.framework, None if self.unknown_decorator else False
            return inherited.framework, inherited.registered
        if self.dataclass_options is not None or any(p.framework is DATACLASS for p in self.parents):
            return DATACLASS, False
        return PLAIN_CLASS, None if self.unknown_base or self.unknown_decorator else False

    def _is_dataclass(self, framework: Framework) -> bool:
        """Whether the class's own annotations become fields."""
        if framework is NAMED_TUPLE:
            return bool(self.roots)
        if self.dataclass_options is not None:
            return True
        return framework.makes_dataclass and framework.subclasses is Subclasses.AUTO

    def _generated_init(self, framework: Framework, is_dataclass: bool) -> bool:
        if not is_dataclass or "__init__" in self.declaration.methods:
            return False
        if framework.id == "equinox":
            # equinox: a subclass without fields of its own keeps its parent's custom __init__
            parent = next((p for p in self.parents if p.framework is framework), None)
            if parent is not None and parent.custom_init() is not None:
                return False
        return self._option("init", True) is True

    def _eq(self, framework: Framework, is_dataclass: bool) -> bool | None:
        """Whether `==` compares field by field; None if it cannot be told."""
        if "__eq__" in self.declaration.methods:
            return None
        if framework is NAMED_TUPLE:
            return True
        if framework.id == "equinox" and self.dataclass_options is None:
            return False
        if is_dataclass:
            return self._option("eq", True)
        return self.parents[0].eq if self.parents else False

    def _frozen(self, framework: Framework, is_dataclass: bool) -> tuple[bool | None, frozenset[str] | None]:
        """Whether assignment is refused, and for which names (None: all)."""
        if any("__setattr__" in c.symbol.declaration.methods for c in _ancestors(self.parents)):
            return None, None
        if "__setattr__" in self.declaration.methods:
            return None, None
        if framework is SIMPLE_PYTREE:
            mutable = truth(self._placed_keyword("mutable"), False)
            return (None if mutable is None else not mutable), None
        if framework is NAMED_TUPLE:
            return (True, None) if self.roots else self._inherited_frozen()
        if framework.is_pytree and framework.subclasses is Subclasses.AUTO and framework.frozen is not None:
            if framework.frozen_option or not framework.frozen:
                return self._frozen_option(framework.frozen), None
            return framework.frozen, None
        if framework is PENZAI or framework.id == "flax.nnx":
            return framework.frozen, None
        if is_dataclass:
            registering = self.registering[0] if self.registering is not None else None
            if registering is None or registering.frozen is None:
                return self._frozen_option(False), None
            if registering.frozen_option:
                return self._frozen_option(registering.frozen), None
            return registering.frozen, None
        return self._inherited_frozen()

    def _placed_keyword(self, name: str) -> Placed | None:
        value = self.keywords.get(name)
        return None if value is None else Placed(value, self.module, self.scope)

    def _frozen_option(self, default: bool | None) -> bool | None:
        return self._option("frozen", default)

    def _inherited_frozen(self) -> tuple[bool | None, frozenset[str] | None]:
        """An undecorated subclass of a frozen dataclass refuses only the names of its parents' fields."""
        for parent in self.parents:
            if parent.frozen is None:
                return None, None
            if parent.frozen:
                names = frozenset(f.name for f in parent.fields)
                return True, names if parent.frozen_names is None else parent.frozen_names
        return (None, None) if self.unknown_base else (False, None)

    def _fields_known(self, is_dataclass: bool, own: tuple[DeclaredField, ...]) -> bool:
        if self.unknown_base or any(not p.fields_known for p in self.parents):
            return False
        return not (is_dataclass and self.declaration.conditional_body)

    def _merge_fields(self, own: tuple[DeclaredField, ...], framework: Framework) -> list[Field]:
        merged: dict[str, Field] = {}
        bases = _ancestors(self.parents)
        for parent in reversed(bases):
            if parent.is_dataclass:
                for field in parent.fields:
                    same = parent.framework is framework
                    merged[field.name] = field if same else _with_role(field, self._role(field, framework))
        for declared in own:
            field = self._field(declared)
            role = self._role(field, framework)
            before = merged.get(field.name)
            if framework is SIMPLE_PYTREE and before is not None and before.role is Role.STATIC:
                role = Role.STATIC  # static once, static for ever (simple_pytree 0.2.2)
            merged[field.name] = _with_role(field, role)
        return list(merged.values())

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
            declared_by_call=declared.declared_by_call,
        )

    def _role(self, field: Field, framework: Framework) -> Role:
        if field.opaque:
            return Role.UNKNOWN
        if framework.static_metadata is not None:
            key, means_static = framework.static_metadata
            if key in field.metadata:
                value = field.metadata[key]
                if value is None:
                    return Role.UNKNOWN
                if value is means_static:
                    return Role.STATIC
                if framework.role is None:
                    return Role.LEAF
        if framework.role is not None and field.annotation is not None:
            place = field.annotation
            role = framework.role(self.model.context(place.expr, place.module, place.scope, field.metadata))
        else:
            role = Role.LEAF
        if not field.init and role is Role.LEAF and framework.id in _DROPS_INIT_FALSE:
            return Role.DROPPED
        return role

    def _apply_lists(
        self, fields: list[Field], callee: Callee
    ) -> tuple[list[Field], tuple[str, ...] | None, bool]:
        """Roles from `data_fields`, `meta_fields` and `drop_fields`, where they are given."""
        data = callee.keyword("data_fields") or _item(callee.positional, 1)
        meta = callee.keyword("meta_fields") or _item(callee.positional, 2)
        if callee.positional and isinstance(callee.positional[0].expr, Display):
            data, meta = callee.positional[0], _item(callee.positional, 1)
        if data is None and meta is None:
            return fields, None, True
        data_names, meta_names = self._names(data), self._names(meta)
        dropped = self._names(callee.keyword("drop_fields")) or ()
        if data_names is None or meta_names is None:
            return [_with_role(f, Role.UNKNOWN) for f in fields], None, True
        roles = {
            **dict.fromkeys(dropped, Role.DROPPED),
            **dict.fromkeys(data_names, Role.LEAF),
            **dict.fromkeys(meta_names, Role.STATIC),
        }
        return [_with_role(f, roles.get(f.name, Role.DROPPED)) for f in fields], data_names, True

    def _names(self, placed: Placed | None) -> tuple[str, ...] | None:
        """The strings of a literal list or tuple, directly or through a constant."""
        if placed is None:
            return None
        expr, module, scope = placed.expr, placed.module, placed.scope
        if isinstance(expr, (Name, Attribute)):
            symbol = self.model.resolver.resolve(expr, module, scope)
            assignment = getattr(symbol, "assignment", None)
            if assignment is None or assignment.value is None:
                return None
            expr = assignment.value
        if isinstance(expr, Display) and all(isinstance(i, Constant) and i.kind == "str" for i in expr.items):
            return tuple(i.value for i in expr.items if isinstance(i, Constant))
        return None


#: Frameworks whose pytree leaves out `init=False` fields.
_DROPS_INIT_FALSE = frozenset({"jax_dataclasses", "tjax"})


def _with_role(field: Field, role: Role) -> Field:
    return field if field.role is role else replace(field, role=role)


def _ancestors(parents: list[PytreeClass]) -> list[PytreeClass]:
    """All classes that the parents bring along, most derived first."""
    return merge_mro([list(p.mro) for p in parents] + [list(parents)])


def _extra_field(extra: ExtraField) -> FieldFunction:
    """A field function of the user's: like a known one, static always, never, or as that one says."""
    like = FIELD_FUNCTIONS.get(extra.like, FieldFunction())
    if extra.static is None:
        return like
    return replace(like, fixed={**like.fixed, "static": extra.static, "pytree_node": not extra.static})


def _opaque_class(symbol: ClassSymbol) -> PytreeClass:
    """A class of which nothing is known."""
    return PytreeClass(
        symbol=symbol,
        framework=PLAIN_CLASS,
        parents=(),
        fields=(),
        fields_known=False,
        frozen=None,
        is_dataclass=False,
        registered=None,
        generated_init=False,
        eq=None,
    )


def _item(values: tuple[Placed, ...], index: int) -> Placed | None:
    return values[index] if index < len(values) else None
