"""Building `PytreeClass` from declarations: decorators, bases, options, inheritance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import msgspec
from msgspec.structs import replace

from jaxlint.libraries.arrays import ARRAY_ASSERTIONS, ARRAY_TYPES, JAXTYPING_DTYPES
from jaxlint.libraries.standard import may_construct
from jaxlint.libraries.transforms import TRANSFORMS
from jaxlint.project.index import Key, NotIndexedYet, ProjectIndex, VisibleUpdates
from jaxlint.project.modules import Module, Project
from jaxlint.project.resolution import ClassSymbol, External, FunctionSymbol, Resolver, Symbol, Unknown, ValueSymbol
from jaxlint.pytrees.callee import Callee, CalleeFinder
from jaxlint.pytrees.context import Annotations, FieldContext
from jaxlint.pytrees.fields import Body, BodyReader, DeclaredField
from jaxlint.pytrees.flatten import AttributeReader
from jaxlint.pytrees.frameworks import (
    ALIASES,
    BY_BASE,
    BY_DECORATOR,
    DATACLASS,
    FIELD_FUNCTIONS,
    FLAX_DATACLASS,
    FLAX_NODE,
    JAX_DATACLASSES,
    NAMED_TUPLE,
    NNX,
    PENZAI,
    PLAIN_CLASS,
    PYTREE_NODE_CLASS,
    REGISTER_DATACLASS,
    REGISTER_STATIC,
    SIMPLE_PYTREE,
    TREEX,
)
from jaxlint.pytrees.frameworks.jax_dataclasses import ENFORCED
from jaxlint.pytrees.interpreted import TheClass
from jaxlint.pytrees.interpreter import Interpreter
from jaxlint.pytrees.model import (
    DataclassParams,
    Field,
    FieldFunction,
    FieldLists,
    Framework,
    Kind,
    Placed,
    PytreeClass,
    Registration,
    Role,
    Subclasses,
    merge_mro,
    truth,
)
from jaxlint.pytrees.non_arrays import REFUSED_TYPES
from jaxlint.pytrees.project_decorators import PROJECT, a_field, decorate, is_unsure, with_wrapped_default
from jaxlint.pytrees.stubs import ALWAYS, described, is_stub
from jaxlint.pytrees.target import ExtraField, Target
from jaxlint.pytrees.updating import SELECT, UPDATE_FUNCTIONS, UpdatingMethods
from jaxlint.symbols.outline import (
    CLASS_PARAMETERS,
    Assignment,
    Class,
    FieldDeclaration,
    Function,
    Import,
    Outline,
    Unit,
)
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Call,
    Constant,
    Display,
    Expr,
    Name,
    Subscript,
    dotted,
    is_none,
)

#: Further names at which resolution stops, because inference or a rule knows them.
_KNOWN = frozenset(
    {
        "jax_dataclasses.Static",
        "jax_dataclasses.copy_and_mutate",
        "jax_dataclasses.replace",
        "jax_dataclasses.jit",
        ENFORCED,
        *UPDATE_FUNCTIONS,
        SELECT,
        "flax.nnx.Static",
        "chex.Numeric",
        "flax.core.FrozenDict",
        # whatever an installed package makes of them
        *ARRAY_TYPES,
        *ARRAY_ASSERTIONS,
        *(f"jaxtyping.{dtype}" for dtype in JAXTYPING_DTYPES),
        *REFUSED_TYPES,
    }
)
#: The function of jax_dataclasses that makes instances mutable.
_MARKS_MUTABLE = "_mark_mutable"
#: Bases and decorators from these packages neither add fields nor change assignment.
_NEUTRAL_PACKAGES = frozenset({"builtins", "typing", "abc", "collections", "functools", "enum", "types", "contextlib"})
_NEUTRAL_DECORATORS = frozenset(
    {
        "jaxtyping.jaxtyped",
        "beartype.beartype",
        "typeguard.typechecked",
        "flax.serialization.register_serialization_state",
    }
)
#: The functions that register a class, by the last part of their names.
REGISTERING = frozenset(n.rpartition(".")[2] for n in BY_DECORATOR if n.startswith("jax.tree_util."))
#: Methods that run when a subclass, or a class with that metaclass, is created.
_CLASS_HOOKS = frozenset({"__init_subclass__", "__init__", "__new__"})
#: How functions of a project are called that may register a class.
_TELLING_WORDS = ("register", "pytree", "dataclass")
_METACLASSES = frozenset({"abc.ABCMeta", "enum.EnumMeta", "enum.EnumType", "builtins.type"})
_MAX_BASES_DEPTH = 30


class PytreeModel:
    """The classes of a project, built on demand, each once.

    `target` may name things of the user's own that stand for known ones (`extra-decorators`, …).
    """

    def __init__(self, project: Project, target: Target | None = None) -> None:
        target = target or Target()
        aliases = {**ALIASES, **target.extra_decorators, **target.extra_bases}
        functions = {**FIELD_FUNCTIONS, **{n: _extra_field(f) for n, f in target.extra_fields.items()}}
        known = frozenset({*BY_DECORATOR, *BY_BASE, *functions, *ALWAYS, *_KNOWN, *TRANSFORMS, *aliases.values()})
        self.project = project
        self.target = target
        self.resolver = Resolver(project, known, aliases)
        self.callees = CalleeFinder(self.resolver)
        self.interpreter = Interpreter(self.resolver, BY_DECORATOR, functions)
        self.bodies = BodyReader(self.resolver, self.callees, functions, self.interpreter)
        self._classes: dict[Key, PytreeClass] = {}
        #: The classes that are being built, from the outermost.
        self._building: dict[Key, None] = {}
        self._registrations: dict[str, dict[str, list[tuple[Callee, Call, bool]]]] = {}
        #: What was indexed of the project as a whole.
        self.project_index = ProjectIndex()
        #: The outermost classes that were being built when a class was asked for that was being built already.
        self.cycles: list[Key] = []
        #: The classes of `project_index.cycles` that are not built yet.
        self._cycles: list[Key] = []

    # -- looking up -------------------------------------------------------------------------

    def class_of_symbol(self, symbol: Symbol) -> PytreeClass | None:
        """The class that a resolved name stands for."""
        if isinstance(symbol, External):
            found = described(symbol.name)
            return self.build(found) if isinstance(found, ClassSymbol) else None
        if isinstance(symbol, ValueSymbol):
            symbol = self._named_tuple(symbol) or self._registered(symbol)
        return self.build(symbol) if isinstance(symbol, ClassSymbol) else None

    def _named_tuple(self, symbol: ValueSymbol) -> ClassSymbol | None:
        """The class that `Point = namedtuple("Point", "x y")` makes."""
        call = symbol.assignment.value
        if not isinstance(call, Call) or len(call.positional) < 2:
            return None
        func = self.resolver.resolve(call.func, symbol.module, symbol.scope)
        names = field_names(call.positional[1])
        if not isinstance(func, External) or func.name not in NAMED_TUPLE.bases or names is None:
            return None
        at = symbol.assignment.at
        declaration = Class(
            name=symbol.name,
            qualname=symbol.name,
            scope=symbol.scope,
            bases=(Argument(at, call.func),),
            decorators=(),
            fields=tuple(FieldDeclaration(n, Constant(at, None, "ellipsis"), None, at, at) for n in names),
            assignments=(),
            methods={},
            at=at,
            name_at=at,
        )
        return ClassSymbol(symbol.module, declaration)

    def _registered(self, symbol: ValueSymbol) -> Symbol:
        """The class `State` in `State = register_dataclass(State)`."""
        call = symbol.assignment.value
        if isinstance(call, Call) and call.args and isinstance(call.args[0].value, (Name, Attribute)):
            declaration = symbol.module.outline.classes.get(dotted(call.args[0].value) or "")
            if declaration is not None:
                callee = self.callees.of_call(call, symbol.module, symbol.scope)
                if callee is not None and callee.name in BY_DECORATOR:
                    return ClassSymbol(symbol.module, declaration)
        return symbol

    def classes_in(self, module: Module) -> list[PytreeClass]:
        """All classes a module declares, in source order (nested ones too)."""
        return [self.build(ClassSymbol(module, c)) for c in module.outline.classes.values()]

    # -- building ---------------------------------------------------------------------------

    def build(self, symbol: ClassSymbol) -> PytreeClass:
        """The model of one class; a class that inherits from itself is an unknown plain class."""
        known = self._classes.get(symbol.key)
        if known is not None:
            return known
        if self._cycles:
            self._build_cycles()
            return self.build(symbol)
        if symbol.key in self._building or len(self._building) > _MAX_BASES_DEPTH:
            if symbol.key != next(reversed(self._building)):  # else it happens whoever asks first
                self.cycles.append(next(iter(self._building)))
            return _opaque_class(symbol)
        self._building[symbol.key] = None
        try:
            built = _ClassBuilder(self, symbol).build()
        finally:
            del self._building[symbol.key]
        self._classes[symbol.key] = built
        return built

    def adopt(self, project_index: ProjectIndex) -> None:
        """Take what was indexed of the project as a whole; no class may have been built before."""
        self.project_index = project_index
        self._cycles = list(dict.fromkeys(project_index.cycles))

    def _build_cycles(self) -> None:
        """Build the classes that depend on themselves in the order in which they were built first."""
        pending, self._cycles = self._cycles, []
        for key in pending:
            self._class_of(key)

    def classes_built(self) -> list[PytreeClass]:
        """The classes that were asked for so far."""
        return list(self._classes.values())

    @property
    def is_building(self) -> bool:
        """Whether some class is being built, so that classes in a cycle with it are not known yet."""
        return bool(self._building)

    def registrations(self, symbol: ClassSymbol) -> list[tuple[Callee, Call, bool]]:
        """The registering calls that a module makes for one of its classes after declaring it.

        With each: the call itself, and whether it is guarded (need not happen, or may fail).
        """
        path = symbol.module.path
        if path not in self._registrations:
            found: dict[str, list[tuple[Callee, Call, bool]]] = {}
            for call, guarded in _calls(symbol.module):
                if not call.args or not isinstance(call.args[0].value, (Name, Attribute)):
                    continue
                declared = _named_class(symbol.module, dotted(call.args[0].value) or "", call)
                callee = self.callees.of_call(call, symbol.module, "") if declared is not None else None
                if declared is not None and callee is not None and callee.name in BY_DECORATOR:
                    found.setdefault(declared.qualname, []).append((callee, call, guarded))
            self._registrations[path] = found
        return self._registrations[path].get(symbol.declaration.qualname, [])

    def registering_calls(self, path: str) -> tuple[frozenset[str] | None, ...]:
        """The names that each statement which may register classes gives to calls; None if that is not seen."""
        module = self.project.add_file(path)
        if module.registering_calls is None:
            outline = module.outline
            module.registering_calls = tuple(
                _given_names(unit, outline) for unit in outline.units if not unit.calls.isdisjoint(REGISTERING)
            )
        return module.registering_calls

    def may_be_registered(self, symbol: ClassSymbol) -> bool:
        """Whether code that is neither a decorator of the class nor a plain call after it may register it.

        That is a call in a loop, in a function or in a module that imports the class.
        """
        wrappers = _registering_functions(symbol.module)
        if wrappers is None:
            return True
        modules = [symbol.module, *self.importers(symbol.module)]
        return any(self._may_register(m, symbol, wrappers) for m in modules)

    def _may_register(self, module: Module, symbol: ClassSymbol, wrappers: frozenset[str]) -> bool:
        """Whether a call outside of functions registers the class, or something that cannot be determined."""
        for call, _ in _calls(module):
            name = (dotted(call.func) or "").rpartition(".")[2]
            callee = self.callees.of_call(call, module, "")
            registers = callee is not None and callee.name in BY_DECORATOR
            neutral = callee is not None and callee.name in _NEUTRAL_DECORATORS
            said = registers or name in wrappers or any(word in name for word in _TELLING_WORDS)
            if neutral or not said:
                continue
            given = [self.resolver.resolve(a, module) for a in call.positional if not isinstance(a, (Constant, Call))]
            if symbol in given or any(isinstance(g, (Unknown, ValueSymbol)) for g in given[:1]):
                return True
        return False

    def context(
        self, expr: Expr | None, module: Module, scope: str, metadata: Mapping[str, bool | None]
    ) -> FieldContext:
        """What a framework may ask about a field declared in `scope`."""
        return FieldContext(expr, module, scope, metadata, self.resolver, self._annotations_of)

    def _annotations_of(self, symbol: ClassSymbol) -> Annotations:
        cls = self.build(symbol)
        placed = [f.annotation for f in cls.fields if f.annotation is not None]
        return [(p.expr, p.module, p.scope) for p in placed], cls.fields_known

    # -- the whole project ------------------------------------------------------------------

    @cached_property
    def updating_methods(self) -> UpdatingMethods:
        """Which methods of the user's return a copy with changes."""
        return UpdatingMethods(self.resolver)

    @property
    def visible_updates(self) -> VisibleUpdates:
        """What the methods of the classes of the project make of `replace(...)` and kin."""
        return self.project_index.visible_updates

    def roots_seen(self, module: Module) -> frozenset[str]:
        """The roots of a module and of those that it imports."""
        imported = [
            self.project.find(name, module) if level == 0 else self.project.find_relative(level, name, module)
            for level, name in module.outline.imported_modules
        ]
        return frozenset(self.project.package_root(m.path) for m in (module, *imported) if m is not None)

    def importers(self, module: Module) -> list[Module]:
        """The modules that import a module. Raises `NotIndexedYet` while the project is being read."""
        graph = self.project_index.imports
        if not graph.is_complete:
            raise NotIndexedYet
        return [self.project.add_file(path) for path in graph.importers.get(module.path, ())]

    def subclasses(self, cls: PytreeClass) -> list[PytreeClass]:
        """The visible classes that inherit from `cls`, directly or not."""
        found = map(self._class_of, self.project_index.subclasses.get(cls.symbol.key, ()))
        return [subclass for subclass in found if subclass is not None]

    def _class_of(self, key: Key) -> PytreeClass | None:
        """The class of a key; None if its file can no longer be read."""
        known = self._classes.get(key)
        if known is not None:
            return known
        module = self.project.add_file(key[0])
        declaration = module.outline.classes.get(key[1])
        return None if declaration is None else self.build(ClassSymbol(module, declaration))


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
        #: The visible bases that stand before the framework's base class, if that is a base.
        self.before_root: list[PytreeClass] | None = None
        self.unknown_base = False
        #: Whether a base of the standard library, as `dict`, brings a constructor and more.
        self.constructing_base = False
        self.unknown_decorator = False
        self.dataclass_options: Callee | None = None
        #: The framework whose decorator runs the dataclass machinery.
        self.maker: Framework | None = None
        self.registering: tuple[Framework, Callee] | None = None
        #: The fields of which it is not known what a decorator of the project makes of them.
        self.unsure: set[str] = set()
        #: The attributes that such decorators set.
        self.attributes_set: set[str] = set()
        #: Whether such a decorator makes a factory of each default that cannot be hashed.
        self.wraps_defaults = False
        self.registrations: list[Registration] = []
        self.made_by: list[Registration] = []
        self.keywords = {a.keyword: a.value for a in self.declaration.bases if a.keyword is not None}

    def build(self) -> PytreeClass:
        self._read_bases()
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
        fields = [f for f in members if f.kind is Kind.FIELD]
        explicit: tuple[str, ...] | None = None
        lists: FieldLists | None = None
        known = self._fields_known(is_dataclass)
        attributes = AttributeReader(self.symbol)
        if framework is PYTREE_NODE_CLASS:
            flattened = attributes.from_flatten(self._flatten_function())
            if flattened is not None:
                fields, explicit = flattened, tuple(f.name for f in flattened if f.role is Role.LEAF)
            else:
                fields = [_with_role(f, Role.UNKNOWN) for f in fields]
            known = False
        elif (framework is REGISTER_DATACLASS or framework.id == PROJECT) and self.registering is not None:
            lists = self._lists(self.registering[1])
            fields, explicit = _apply_lists(fields, lists)
            fields = [_with_role(f, Role.UNKNOWN) if f.name in self.unsure else f for f in fields]
        elif framework is NAMED_TUPLE and self.registering is not None:
            fields = [_with_role(f, Role.UNKNOWN) for f in fields]  # it is flattened as the registration says
        elif framework is REGISTER_STATIC:
            fields = [_with_role(f, Role.STATIC) for f in fields]
        elif framework is SIMPLE_PYTREE and not any(p.is_dataclass for p in self.parents) and not is_dataclass:
            fields = attributes.from_init(fields, self._marked_static(_ancestors(self.parents)))
            known = False
        elif framework is TREEX and not is_dataclass:
            fields = [f for f in self._merge_members(body, framework, True) if f.kind is Kind.FIELD]
            known = False
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
            members=tuple(_in_step(members, fields)),
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

    # -- what is written --------------------------------------------------------------------

    def _marked_static(self, ancestors: list[PytreeClass]) -> set[str]:
        """The names that the bodies of the class and of those that it inherits from mark as static."""
        marks = [
            self.model.bodies.marks(owner, "pytree_node") for owner in (self.symbol, *(c.symbol for c in ancestors))
        ]
        return {name for found in marks for name, mark in found.items() if mark is False}

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
                    self.before_root = list(self.parents) if self.before_root is None else self.before_root
                    self.roots.append(framework)
                elif symbol.name != ENFORCED and symbol.name.partition(".")[0] not in _NEUTRAL_PACKAGES:
                    self.unknown_base = True
                else:
                    self.constructing_base |= may_construct(symbol.name)
            else:
                self.unknown_base = True

    def _flatten_function(self) -> Function | None:
        """The function of this module that `register_pytree_node` is given to flatten the class."""
        placed = _item(self.registering[1].positional, 1) if self.registering is not None else None
        if placed is None:
            return None
        symbol = self.model.resolver.resolve(placed.expr, placed.module, placed.scope)
        same = isinstance(symbol, FunctionSymbol) and symbol.module is self.module
        return symbol.declaration if isinstance(symbol, FunctionSymbol) and same else None

    def _read_decorators(self) -> None:
        for decorator in reversed(self.declaration.decorators):
            callee = self.model.callees.of_decorator(decorator, self.module, self.scope)
            place = Registration(
                PLAIN_CLASS, decorator.at, _function_name(decorator), is_factory=self._is_factory(decorator)
            )
            if (callee is None or not callee.transparent) and self._apply_interpreted(decorator, place):
                continue
            self._apply(callee, place)
        for callee, call, guarded in self.model.registrations(self.symbol):
            place = Registration(
                PLAIN_CLASS,
                call.at,
                _function_name(call),
                is_call=True,
                guarded=guarded,
                is_factory=self._is_factory(call.func),
            )
            self._apply(callee, place)

    def _apply_interpreted(self, decorator: Expr, place: Registration) -> bool:
        """Note what a decorator of the project does to the class; False if that cannot be determined."""
        called = decorator.func if isinstance(decorator, Call) else decorator
        if not isinstance(self.model.resolver.resolve(called, self.module, self.scope), (FunctionSymbol, ValueSymbol)):
            return False
        seen = self._decorated()
        made = decorate(self.model.interpreter, decorator, self.module, self.scope, seen)
        self.attributes_set |= seen.attributes.keys()
        if made is None:
            return False
        self.unknown_decorator |= not made.is_known
        self.wraps_defaults |= made.may_wrap_defaults
        for callee, framework in made.applied:
            if framework is None:
                self._apply(callee, place)
            else:
                self._register(callee, framework, replace(place, framework=framework, function=callee.name))
        return True

    def _decorated(self) -> TheClass:
        """The class as its decorators see it."""
        members: dict[str, Field | DeclaredField] = {}
        for parent in reversed(_ancestors(self.parents)):
            members |= {member.name: member for member in parent.members}
        members |= {m.declaration.name: m for m in self.model.bodies.read(self.symbol, False).members}
        fields = [a_field(name, member) for name, member in members.items() if member.kind is Kind.FIELD]
        self.unsure |= {name for name, member in members.items() if is_unsure(member)}
        declaration = self.declaration
        bound = [a.name for a in declaration.assignments] + [f.name for f in declaration.fields if f.value]
        is_dataclass = self.dataclass_options is not None or any(p.is_dataclass for p in self.parents)
        taken = frozenset((*declaration.methods, *bound, *self.attributes_set))
        return TheClass(declaration.name, fields, taken, is_dataclass=is_dataclass)

    def _is_factory(self, expr: Expr) -> bool:
        """Whether `register_dataclass(...)` itself is called for what is then applied to the class."""
        if not isinstance(expr, Call):
            return False
        symbol = self.model.resolver.resolve(expr.func, self.module, self.scope)
        return isinstance(symbol, External) and symbol.name in REGISTER_DATACLASS.decorators

    def _apply(self, callee: Callee | None, place: Registration) -> None:
        """Note what one decorator (or registering call) does to the class; `place` says where it stands."""
        if callee is None:
            self.unknown_decorator = True
            return
        self.unknown_decorator |= not callee.transparent
        for registering in callee.also:
            self._apply(registering, place)
        inner = _item(callee.positional, 0)
        if inner is not None and isinstance(inner.expr, Call):  # a wrapper: register(dataclass(cls))
            self._apply(self.model.callees.of_call(inner.expr, inner.module, inner.scope), place)
        framework = BY_DECORATOR.get(callee.name)
        if framework is None:
            neutral = callee.name in _NEUTRAL_DECORATORS or callee.name.partition(".")[0] in _NEUTRAL_PACKAGES
            self.unknown_decorator |= not neutral
            return
        # flax returns a class that its base, or its own decorator, has made a pytree already
        ignored = framework is FLAX_DATACLASS and (
            FLAX_NODE in self.roots
            or any(p.framework is FLAX_NODE for p in self.parents)
            or any(r.framework is FLAX_DATACLASS for r in self.registrations)
        )
        if framework.makes_dataclass and not ignored:
            self.dataclass_options, self.maker = callee, framework
        registration = replace(
            place, framework=framework, function=callee.name, ignored=ignored, options=dict(callee.keywords)
        )
        if framework.makes_dataclass:
            self.made_by.append(registration)
        if framework is not DATACLASS:
            self._register(callee, framework, registration)

    def _register(self, callee: Callee, framework: Framework, place: Registration) -> None:
        """Note what registers the class."""
        if not place.ignored:
            self.registering = self.registering or (framework, callee)
        of_dataclass = self.dataclass_options is not None or any(c.params for c in _ancestors(self.parents))
        of_dataclass |= any(r.makes_dataclass for r in self.roots)
        self.registrations.append(
            replace(
                place,
                of_dataclass=of_dataclass,
                options=dict(callee.keywords),
                positional=callee.positional,
                has_lists=framework is REGISTER_DATACLASS and self._lists(callee) is not None,
                arguments_known=callee.complete,
            )
        )

    def _options(self) -> dict[str, Placed]:
        """The options that the class is made with, by name."""
        if self.dataclass_options is not None:
            return dict(self.dataclass_options.keywords)
        return {name: Placed(value, self.module, self.scope) for name, value in self.keywords.items()}

    def _options_known(self) -> bool:
        """Whether all options can be seen: some may be in `**options`."""
        if self.dataclass_options is not None:
            return self.dataclass_options.complete
        return not self._has_more_keywords()

    def _has_more_keywords(self) -> bool:
        return any(argument.star == "**" for argument in self.declaration.bases)

    def _option(self, name: str, default: bool | None) -> bool | None:
        return truth(self._options().get(name), default if self._options_known() else None)

    # -- what it means ----------------------------------------------------------------------

    def _framework(self) -> tuple[Framework, bool | None]:
        """The framework of the class, and whether the class itself is registered as a pytree."""
        if self.roots:
            root = self.roots[0]
            if root is PENZAI:
                return root, self.registering is not None or self._registered_otherwise()
            return root, self._registers(root)
        pytrees = [p for p in self.parents if p.is_pytree]
        # a base class that registers its subclasses does so whatever stands before it
        automatic = (p for p in pytrees if p.framework.subclasses is not Subclasses.OPAQUE)
        inherited = next(automatic, pytrees[0] if pytrees else None)
        if self.registering is not None:
            if inherited is not None and (
                inherited.framework is PENZAI or inherited.framework.subclasses is not Subclasses.OPAQUE
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
        ancestors = [c.symbol for c in _ancestors(self.parents)]
        hidden = (
            self.unknown_decorator
            or self.unknown_base
            or any("__init_subclass__" in a.declaration.methods or _hides_bodies(a.module) for a in ancestors)
            or any(self._has_metaclass(s) for s in (self.symbol, *ancestors))
            or self.model.may_be_registered(self.symbol)
        )
        return None if hidden else False

    def _has_metaclass(self, symbol: ClassSymbol) -> bool:
        """Whether a class names a metaclass of which it is not known what it does."""
        for argument in symbol.declaration.bases:
            if argument.keyword == "metaclass":
                named = self.model.resolver.resolve(argument.value, symbol.module, symbol.declaration.scope)
                return not (isinstance(named, External) and named.name in _METACLASSES)
        return False

    def _registered_by_base(self, framework: Framework) -> bool | None:
        """Whether a base class registers the class as soon as it is created."""
        if framework.subclasses is Subclasses.OPAQUE or framework in (NAMED_TUPLE, PLAIN_CLASS):
            return False
        return self._class_keyword(framework.register_keyword, True)

    def _registers(self, framework: Framework) -> bool | None:
        """Whether a base class registers the class, which a class keyword may forbid."""
        if framework is NAMED_TUPLE:
            return True
        return self._class_keyword(framework.register_keyword, True)

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
            # equinox: a subclass without an `__init__` of its own keeps the custom one of a base
            for base in _ancestors(self.parents if self.before_root is None else self.before_root):
                if base.framework is framework:
                    return base.generated_init
                if "__init__" in base.symbol.declaration.methods or base.generated_init:
                    return False
        return self._option("init", True) is True

    def _params(self, framework: Framework, is_dataclass: bool) -> DataclassParams | None:
        """The options of the dataclass machinery, with the framework's own defaults."""
        if not is_dataclass or framework is NAMED_TUPLE:
            return None
        maker = self.maker or framework
        if maker.id == "equinox":
            return DataclassParams(self._generated_init(framework, is_dataclass), False, False, False, False)
        frozen = self._option("frozen", maker.frozen) if maker.frozen_option else maker.frozen
        return DataclassParams(
            self._option("init", True),
            self._option("eq", True),
            frozen,
            self._option("order", False),
            self._option("unsafe_hash", False),
        )

    def _eq(self, framework: Framework, params: DataclassParams | None) -> bool | None:
        """Whether `==` compares field by field; None if it cannot be determined."""
        if "__eq__" in self.declaration.methods or self.unknown_decorator:
            return None
        if params is not None and params.eq is not False:
            return params.eq
        if framework is NAMED_TUPLE and self.roots:
            return True
        for ancestor in [] if self.before_root == [] and framework.defines_eq else _ancestors(self.parents):
            if ancestor.eq is not False or (ancestor.root_first and ancestor.framework.defines_eq):
                return ancestor.eq
        return None if self.unknown_base else False

    def _frozen(
        self, framework: Framework, params: DataclassParams | None
    ) -> tuple[bool | None, frozenset[str] | None]:
        """Whether assignment is refused, and for which names (None: all)."""
        if "__setattr__" in self.declaration.methods:
            return None, None
        if any("__setattr__" in c.symbol.declaration.methods for c in _ancestors(self.parents)):
            return None, None
        if framework is JAX_DATACLASSES and self._switches_mutability():
            return None, None
        if framework.is_pytree and framework.frozen is not None and framework.subclasses is Subclasses.AUTO:
            if not framework.frozen_option:
                return framework.frozen, None
        if framework is PENZAI:
            return True, None
        if framework is NAMED_TUPLE and self.roots:
            return True, None
        if params is not None and params.frozen is not False:
            return params.frozen, None
        if framework is SIMPLE_PYTREE:
            mutable = self._class_keyword("mutable", False)
            if mutable is not False and any(
                c.params and c.params.frozen is not False for c in _ancestors(self.parents)
            ):
                return None, None
            return (None if mutable is None else not mutable), None
        return (False, None) if params is not None else self._inherited_frozen()

    def _switches_mutability(self) -> bool:
        """Whether a module of the family reaches for what `copy_and_mutate` does behind the scenes."""
        modules = {self.module, *(c.module for c in _ancestors(self.parents))}
        return any(_MARKS_MUTABLE in unit.calls for module in modules for unit in module.outline.units)

    def _class_keyword(self, name: str, default: bool) -> bool | None:
        """The truth value of a class keyword; None if it is no literal, or may be in `**keywords`."""
        value = self.keywords.get(name)
        if value is None:
            return None if name and self._has_more_keywords() else default
        return truth(Placed(value, self.module, self.scope), default)

    def _inherited_frozen(self) -> tuple[bool | None, frozenset[str] | None]:
        """An undecorated subclass of a frozen dataclass refuses only the names of its parents' fields."""
        for parent in self.parents:
            if parent.frozen is None:
                return None, None
            if parent.frozen:
                if parent.framework is JAX_DATACLASSES:
                    return True, None
                names = frozenset(f.name for f in parent.fields)
                names = names if parent.frozen_names is None else parent.frozen_names
                return True, names - self._class_attributes() if parent.framework is NAMED_TUPLE else names
        return (None, None) if self.unknown_base else (False, None)

    def _fields_known(self, is_dataclass: bool) -> bool:
        if self.unknown_base or any(not p.fields_known for p in self.parents):
            return False
        return not (is_dataclass and self.declaration.conditional_body)

    def _merge_members(self, body: Body, framework: Framework, is_dataclass: bool) -> list[Field]:
        """Fields and `InitVar`s, with those of the bases, as the dataclass machinery collects them."""
        merged: dict[str, Field] = {}
        if framework is NAMED_TUPLE and self.roots:
            bases: list[PytreeClass] = []
        else:
            bases = _ancestors(self.parents)
        if not is_dataclass:
            bases = next(([b] for b in bases if b.is_dataclass), [])
        relisted = (framework is REGISTER_DATACLASS or framework.id == PROJECT) and self.registering is not None
        for parent in reversed(bases):
            for field in parent.members:
                known = parent.framework is framework and not relisted and not framework.reads_dict
                merged[field.name] = field if known else _with_role(field, self._role(field, framework))
        if not is_dataclass:
            return list(merged.values())
        for declared in body.members:
            field = self._field(self._with_inherited_value(declared, bases))
            merged[field.name] = _with_role(field, self._role(field, framework))
        return list(merged.values())

    def _marked(self, fields: list[Field], framework: Framework) -> list[Field]:
        """The fields with the marks that the bodies of all classes leave, decorated or not.

        simple_pytree: static once, static for ever; nnx: the nearest class counts, and plain dataclasses do not.
        """
        key, means_static = framework.static_metadata or ("", True)
        marks: dict[str, bool | None] = {}
        for cls in reversed(_ancestors(self.parents)):
            if cls.framework is framework:
                found = self.model.bodies.marks(cls.symbol, key)
            elif framework is SIMPLE_PYTREE and cls.params is not None:
                found = {m.name: m.metadata[key] for m in cls.members if key in m.metadata}
            else:
                continue
            marks.update({n: v for n, v in found.items() if marks.get(n) is not means_static or framework is NNX})
        own = self.model.bodies.marks(self.symbol, key)
        marks.update({n: v for n, v in own.items() if marks.get(n) is not means_static or framework is NNX})
        marked = []
        for field in fields:
            metadata = {k: v for k, v in field.metadata.items() if k != key}
            if field.name in marks:
                metadata[key] = marks[field.name]
            marked.append(replace(field, metadata=metadata))
        return [_with_role(f, self._role(f, framework)) for f in marked]

    def _custom_init(self) -> Function | None:
        """The user-written `__init__` that constructs instances, if a base does not generate one."""
        if "__init__" in self.declaration.methods:
            return self.module.outline.functions[self.declaration.methods["__init__"][-1]]
        return next((b.custom_init() for b in self._init_owner()), None)

    def _init_owner(self) -> list[PytreeClass]:
        """The base, if any, whose `__init__` constructs instances of a class that has none."""
        owners = (b for b in _ancestors(self.parents) if b.generated_init or "__init__" in b.symbol.declaration.methods)
        return [owner for owner in [next(owners, None)] if owner is not None]

    def _post_init(self, generated: bool) -> Function | None:
        """The `__post_init__` that a generated `__init__` calls: it calls none if there was none when it was made."""
        if not generated and not any(b.method("__post_init__") for b in self._init_owner()):
            return None
        owners = [self.symbol, *(c.symbol for c in _ancestors(self.parents))]
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
            must_be_set = framework.id == "equinox" and field.default is None
            return field if must_be_set else _with_role(field, Role.UNKNOWN)
        hook = self._post_init(generated)
        if field.default is None:
            unset = not field.init and field.factory is None and hook is None
            return _with_role(field, Role.DROPPED) if unset else field
        if not generated and not any(field.name in {m.name for m in b.members} for b in self._init_owner()):
            return _with_role(field, Role.UNKNOWN)
        if field.init:
            return field
        return _with_role(field, Role.DROPPED if hook is None else Role.UNKNOWN)

    def _attributes_known(
        self, framework: Framework, fields: list[Field], generated: bool, init: Function | None
    ) -> bool:
        """Whether construction assigns no attributes but fields, where attributes are flattened too."""
        if not framework.reads_dict or framework.id == "equinox":
            return True
        names = {f.name for f in fields}
        hook = init or self._post_init(generated)
        return hook is None or (not hook.self_calls and all(a.attr in names for a in hook.self_assignments))

    def _class_attributes(self) -> frozenset[str]:
        """The names to which the class body binds a value."""
        names = [f.name for f in self.declaration.fields if f.value is not None]
        return frozenset([*names, *(a.name for a in self.declaration.assignments), *self.declaration.methods])

    def _with_inherited_value(self, declared: DeclaredField, bases: list[PytreeClass]) -> DeclaredField:
        """A member that is declared without a value takes the class attribute of its name, if there is one."""
        name = declared.declaration.name
        if declared.declaration.value is not None or (self.roots and self.roots[0] is NAMED_TUPLE):
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
        if not field.init and framework.id in _DROPS_INIT_FALSE:
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

    def _lists(self, callee: Callee) -> FieldLists | None:
        """`data_fields`, `meta_fields` and `drop_fields`, if any are given."""
        data = callee.keyword("data_fields") or _item(callee.positional, 1)
        meta = callee.keyword("meta_fields") or _item(callee.positional, 2)
        if callee.positional and isinstance(callee.positional[0].expr, Display):
            data, meta = callee.positional[0], _item(callee.positional, 1)
        dropped = callee.keyword("drop_fields") or _item(callee.positional, 3)
        data, meta = (None if _is_none(given) else given for given in (data, meta))
        if data is None and meta is None and dropped is None:
            return None
        names = () if dropped is None else self._names(dropped)
        return FieldLists(self._names(data), self._names(meta), names, data, meta, dropped)

    def _names(self, placed: Placed | None) -> tuple[str, ...] | None:
        """The strings of a literal list or tuple, or the letters of a string, directly or through a constant."""
        if placed is None:
            return None
        expr, module, scope = placed.expr, placed.module, placed.scope
        if isinstance(expr, (Name, Attribute)):
            symbol = self.model.resolver.resolve(expr, module, scope)
            assignment = getattr(symbol, "assignment", None)
            if assignment is None or assignment.value is None:
                return None
            expr = assignment.value
        if isinstance(expr, Constant) and isinstance(expr.value, str):
            return tuple(expr.value)
        if isinstance(expr, Display) and all(isinstance(i, Constant) and i.kind == "str" for i in expr.items):
            return tuple(i.value for i in expr.items if isinstance(i, Constant))
        return None


#: Frameworks whose pytree leaves out `init=False` fields.
_DROPS_INIT_FALSE = frozenset({"jax_dataclasses", "tjax"})


def _with_role(field: Field, role: Role) -> Field:
    return field if field.role is role else replace(field, role=role)


def _apply_lists(fields: list[Field], lists: FieldLists | None) -> tuple[list[Field], tuple[str, ...] | None]:
    """Roles from lists of fields, where they are given, and the order of the leaves."""
    if lists is None:
        return fields, None
    if lists.automatic and lists.dropped is not None:
        return [_with_role(f, Role.DROPPED) if f.name in lists.dropped else f for f in fields], None
    if lists.data is None or lists.meta is None:
        return [_with_role(f, Role.UNKNOWN) for f in fields], None
    roles = {**dict.fromkeys(lists.data, Role.LEAF), **dict.fromkeys(lists.meta, Role.STATIC)}
    return [_with_role(f, roles.get(f.name, Role.DROPPED)) for f in fields], lists.data


def _calls(module: Module) -> Iterator[tuple[Call, bool]]:
    """The calls that a module makes outside of functions, and whether each of them is guarded."""
    outline = module.outline
    for call in outline.module_calls:
        yield call, call.at in outline.guarded_calls
    for bindings in outline.module_scope.bindings.values():
        for binding in bindings:
            if isinstance(binding, Assignment) and isinstance(binding.value, Call):
                yield binding.value, binding.guard != ""


def _hides_bodies(module: Module) -> bool:
    """Whether a module is a stub of others', which need not say what classes do to their subclasses."""
    return module.path.endswith(".pyi") and not is_stub(module)


def _registering_functions(module: Module) -> frozenset[str] | None:
    """The functions of a module that register a class that they are given; None if one registers something else."""
    outline = module.outline
    renamed = {
        name
        for name, bindings in outline.module_scope.bindings.items()
        if any(isinstance(b, Import) and b.name in REGISTERING for b in bindings)
    }
    found: set[str] = set()
    for unit in outline.units:
        if unit.kind != "definition" or unit.calls.isdisjoint(REGISTERING | renamed):
            continue
        inside = [f for f in outline.functions.values() if unit.first <= f.at.row <= unit.last]
        own = [f for f in inside if f.owner is not None]
        if own and any(f.name in _CLASS_HOOKS for f in own):
            continue  # that is for the subclasses, and known from them
        takes_class = any(f.parameters and f.parameters[0].name in CLASS_PARAMETERS for f in inside)
        if unit.classes or not takes_class:
            return None
        found.update(f.name for f in inside if not f.scope)
    callers = (u for u in outline.units if u.kind == "definition" and not u.classes and u.calls & found)
    return None if any(not u.calls & REGISTERING for u in callers) else frozenset(found)


def _named_class(module: Module, name: str, call: Call) -> Class | None:
    """The class of a module that a name means in a call: the last of that name before it."""
    classes = module.outline.classes
    found = [c for c in classes.values() if c.name == name and not c.scope and c.at.row < call.at.row]
    return found[-1] if found else classes.get(name) if "." in name else None


def _function_name(expr: Expr) -> str:
    """The function that a decorator or a call applies, as it is written, `partial` aside."""
    while isinstance(expr, Call):
        inner = expr.positional[0] if expr.positional else None
        is_partial = (dotted(expr.func) or "").rpartition(".")[2] == "partial"
        expr = inner if is_partial and inner is not None else expr.func
    return dotted(expr) or "its decorator"


def _is_none(placed: Placed | None) -> bool:
    return placed is not None and is_none(placed.expr)


def _in_step(members: list[Field], fields: list[Field]) -> list[Field]:
    """The members, with the fields among them as they are by now."""
    by_name = {f.name: f for f in fields}
    return [by_name.get(m.name, m) if m.kind is Kind.FIELD else m for m in members]


def _ancestors(parents: list[PytreeClass]) -> list[PytreeClass]:
    """All classes that the parents bring along, most derived first."""
    return merge_mro([list(p.mro) for p in parents] + [list(parents)])


def _extra_field(extra: ExtraField) -> FieldFunction:
    """A field function of the user's: like a known one, static always, never, or as that one says."""
    like = FIELD_FUNCTIONS.get(extra.like, FieldFunction())
    if extra.static is None:
        return like
    return replace(like, fixed={**like.fixed, "static": extra.static, "pytree_node": not extra.static})


def _given_names(unit: Unit, outline: Outline) -> frozenset[str] | None:
    """The last parts of the names that the calls of a statement at module level are given; None if it has none."""
    calls = [call for call in outline.module_calls if unit.first <= call.at.row <= unit.last]
    return frozenset((dotted(a.value) or "").rpartition(".")[2] for call in calls for a in call.args) if calls else None


def field_names(expr: Expr) -> list[str] | None:
    """The field names that `namedtuple("P", "x y")` or `NamedTuple("P", [("x", int)])` lists."""
    if isinstance(expr, Constant) and isinstance(expr.value, str):
        return expr.value.replace(",", " ").split()
    names: list[str] = []
    for item in expr.items if isinstance(expr, Display) else ():
        first = item.items[0] if isinstance(item, Display) and item.items else item
        if not (isinstance(first, Constant) and isinstance(first.value, str)):
            return None
        names.append(first.value)
    return names or None


def _opaque_class(symbol: ClassSymbol) -> PytreeClass:
    """A class of which nothing is known."""
    return PytreeClass(
        symbol=symbol,
        framework=PLAIN_CLASS,
        parents=(),
        fields=(),
        fields_known=False,
        bases_known=False,
        frozen=None,
        is_dataclass=False,
        registered=None,
        generated_init=False,
        eq=None,
    )


def _item(values: tuple[Placed, ...], index: int) -> Placed | None:
    return values[index] if index < len(values) else None
