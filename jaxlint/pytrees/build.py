"""The model: the pytree classes of a project, by name, by symbol, and with what the index tells of all modules."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, TypeVar

from msgspec.structs import replace

from jaxlint.libraries.arrays import ARRAY_ASSERTIONS, ARRAY_TYPES, JAXTYPING_DTYPES
from jaxlint.libraries.refused import REFUSED_TYPES
from jaxlint.libraries.transforms import TRANSFORMS
from jaxlint.libraries.trees import FROZEN_DICT
from jaxlint.libraries.updates import GIVE_SAME, LOADING, MOVED_COPIES, RESTORING, SELECT, UPDATE_FUNCTIONS
from jaxlint.project.index import Key, NotIndexedYet, ProjectIndex, VisibleUpdates
from jaxlint.project.modules import Module, Project
from jaxlint.project.resolution import ClassSymbol, External, Resolver, Symbol, ValueSymbol
from jaxlint.pytrees.callee import CalleeFinder
from jaxlint.pytrees.class_builder import ClassBuilder
from jaxlint.pytrees.context import Annotations, FieldContext
from jaxlint.pytrees.declared_class import by_call
from jaxlint.pytrees.families import Family
from jaxlint.pytrees.fields import BodyReader
from jaxlint.pytrees.framework import FieldFunction
from jaxlint.pytrees.frameworks import (
    ALIASES,
    BY_BASE,
    BY_DECORATOR,
    FIELD_FUNCTIONS,
    FRAMEWORKS,
    PLAIN_CLASS,
)
from jaxlint.pytrees.interpreter import Interpreter
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.registrations import Registrations
from jaxlint.pytrees.stubs import ALWAYS, described, is_stub
from jaxlint.pytrees.target import ExtraField, Target
from jaxlint.pytrees.updating import UpdatingMethods
from jaxlint.symbols.outline import (
    Class,
    FieldDeclaration,
)
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Call,
    Constant,
    Display,
    Expr,
    Name,
    dotted,
)

#: Further names at which resolution stops, because inference or a rule knows them.
_KNOWN = frozenset(
    {
        *(name for framework in FRAMEWORKS for name in framework.known_names),
        *UPDATE_FUNCTIONS,
        *GIVE_SAME,
        *MOVED_COPIES,
        *RESTORING,
        *LOADING,
        SELECT,
        FROZEN_DICT,
        # whatever an installed package makes of them
        *ARRAY_TYPES,
        *ARRAY_ASSERTIONS,
        *(f"jaxtyping.{dtype}" for dtype in JAXTYPING_DTYPES),
        *REFUSED_TYPES,
    }
)
_MAX_BASES_DEPTH = 30
_T = TypeVar("_T")


class PytreeModel:
    """The classes of a project, built on demand, each once.

    `target` may name things of the user's own that stand for known ones (`extra-decorators`, …).
    """

    #: Whether the modules that import a module are known; if not, nothing follows from it that none is.
    sees_importers = True

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
        #: The module that is checked.
        self.checked: Module | None = None
        #: What was found out once, by who asked what, with the paths of the importers in which it was looked for; and
        #: those of what is being found out now.
        self._known: dict[Hashable, tuple[Any, set[str]]] = {}
        self._leading: list[set[str]] = []
        #: The classes that are being built, from the outermost.
        self._building: dict[Key, None] = {}
        self.registrations = Registrations(project, self.resolver, self.callees, self.importing, self._registering)
        #: What was indexed of the project as a whole.
        self.project_index = ProjectIndex()
        #: The outermost classes that were being built when a class was asked for that was being built already.
        self.cycles: list[Key] = []
        #: The classes of `project_index.cycles` that are not built yet.
        self._cycles: list[Key] = []

    # -- looking up -------------------------------------------------------------------------

    def class_of_symbol(self, symbol: Symbol) -> PytreeClass | None:
        """The class that a resolved name stands for."""
        if type(symbol) is External:
            found = described(symbol.name)
            return self.build(found) if type(found) is ClassSymbol else None
        if type(symbol) is ValueSymbol:
            symbol = self._named_tuple(symbol) or self._registered(symbol)
        return self.build(symbol) if type(symbol) is ClassSymbol else None

    def _named_tuple(self, symbol: ValueSymbol) -> ClassSymbol | None:
        """The class that `Point = namedtuple("Point", "x y")` makes."""
        call = symbol.assignment.value
        if not isinstance(call, Call) or len(call.positional) < 2:
            return None
        func = self.resolver.resolve(call.func, symbol.module, symbol.scope)
        names = field_names(call.positional[1])
        framework = BY_BASE.get(func.name) if isinstance(func, External) else None
        if framework is None or not framework.is_tuple or names is None:
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
            built = ClassBuilder(self, symbol).build()
        finally:
            del self._building[symbol.key]
        self._classes[symbol.key] = built
        return built

    def registered_by(self, call: Call, module: Module, scope: str = "") -> PytreeClass | None:
        """A class as a call in a function leaves it, or one of another module as a call of this one does.

        The call registers it if nothing prevents that.
        """
        given = call.positional[0] if call.positional else None
        symbol = None if given is None else self.resolver.resolve(given, module, scope)
        callee = self.callees.of_call(call, module, scope)
        if not isinstance(symbol, ClassSymbol) or (symbol.module is module and not scope) or is_stub(symbol.module):
            return None
        if callee is None or callee.name not in BY_DECORATOR:
            return None
        place = replace(by_call(call, module, call.at in module.outline.guarded_calls), elsewhere=module)
        return ClassBuilder(self, symbol, (callee, place)).build()

    def adopt(self, project_index: ProjectIndex) -> None:
        """Take what was indexed of the project as a whole; no class may have been built before."""
        self.project_index = project_index
        self._cycles = list(dict.fromkeys(project_index.cycles))

    def _build_cycles(self) -> None:
        """Build the classes that depend on themselves in the order in which they were built first."""
        pending, self._cycles = self._cycles, []
        for key in pending:
            self._class_of(key, self.project.add_file(key[0]))

    def classes_built(self) -> list[PytreeClass]:
        """The classes that were asked for so far."""
        return list(self._classes.values())

    @property
    def is_building(self) -> bool:
        """Whether some class is being built, so that classes in a cycle with it are not known yet."""
        return bool(self._building)

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
        imported = [self.project.find(name, module, level) for level, name in module.outline.imported_modules]
        return frozenset(self.project.package_root(m.path) for m in (module, *imported) if m is not None)

    def sees_other(self, module: Module, method: str) -> bool:
        """Whether a class that a module may see has a method of that name which may do anything but an update."""
        roots = self.visible_updates.roots_of_others(method)
        return bool(roots) and not roots.isdisjoint(self.roots_seen(module))

    def importing(self, path: str) -> Sequence[str]:
        """The paths of the modules that import a module. Raises `NotIndexedYet` while the project is being read."""
        graph = self.project_index.imports
        if not graph.is_complete:
            raise NotIndexedYet
        return graph.importers.get(path, ())

    def _registering(self, name: str, module: Module) -> list[Module]:
        """The other modules that may register an imported class of a name, which a module declares."""
        graph = self.project_index.imports
        if not graph.is_complete:
            graph.seen_early.add(name)
        paths = graph.registering.get(name, ())
        return [self.project.reach(path, module) for path in paths if path != module.path]

    def importers(self, module: Module) -> list[Module]:
        """The modules that import a module, as rules ask. Raises `NotIndexedYet` while the project is being read.

        They are reached for what is found in the module that is checked. What is kept for others is asked `once`.
        """
        paths = self.importing(module.path)
        checked = self.checked
        if checked is None:
            return [self.project.reach(path, module) for path in paths]
        for leading in self._leading:
            leading.update(paths)
        return self.project.reach_for_findings(paths, checked)

    def once(self, key: Hashable, find: Callable[[], _T]) -> _T:
        """What is found out about declarations, once for all modules: several rules ask for the same.

        Who asks again leads to the importers in which it was looked for.
        """
        if key not in self._known:
            leading = set[str]()
            self._leading.append(leading)
            try:
                self._known[key] = find(), leading
            finally:
                self._leading.pop()
        found: _T
        found, leading = self._known[key]
        if self.checked is not None:
            self.project.reached.note_for_findings(self.checked.path, leading)
        for outer in self._leading:
            outer.update(leading)
        return found

    def subclasses(self, cls: PytreeClass) -> Family:
        """The visible classes that inherit from `cls`, directly or not."""
        return Family((), self.project_index.subclasses.get(cls.symbol.key, ()), partial(self._below, cls))

    def _below(self, cls: PytreeClass, key: Key) -> PytreeClass | None:
        """A class that inherits from another one; None if its file can no longer be read."""
        return self._class_of(key, self.project.reach(key[0], cls.module))

    def overriding(self, cls: PytreeClass, method: str, most: int) -> list[PytreeClass] | None:
        """Those of them that have a method of that name of their own; None if there are more than `most`."""
        keys, ask = self.project_index.subclasses.get(cls.symbol.key, ()), self.project.ask
        having = self.once(
            ("overriding", cls.symbol.key, method, len(keys)),  # more of them are known while the project is indexed
            lambda: [key for key in keys if ask("has method", f"{key[1]}.{method}", key[:1], cls.module)],
        )
        if len(having) > most:
            return None
        return [found for key in having if (found := self._below(cls, key)) is not None]

    def is_overridden(self, cls: PytreeClass, method: str) -> bool:
        """Whether one of them has a method of that name of its own."""
        return self.overriding(cls, method, 0) is None

    def family(self, cls: PytreeClass, *, exact: bool = False) -> Family:
        """The classes that an instance may be of: `cls` and, unless it is exact, the visible ones that inherit it."""
        return Family((cls,)) if exact else self.subclasses(cls).below(cls)

    def pytree_family(self, cls: PytreeClass) -> Family:
        """Those classes of the family that may be pytrees: of the others, whose names tell, no module is reached."""
        family = self.family(cls)
        return family.named(self.project_index.pytree_class_names) if self.sees_importers else family

    def _class_of(self, key: Key, module: Module) -> PytreeClass | None:
        """The class of a key in its module; None if its file can no longer be read."""
        known = self._classes.get(key)
        if known is not None:
            return known
        declaration = module.outline.classes.get(key[1])
        return None if declaration is None else self.build(ClassSymbol(module, declaration))


def _extra_field(extra: ExtraField) -> FieldFunction:
    """A field function of the user's: like a known one, static always, never, or as that one says."""
    like = FIELD_FUNCTIONS.get(extra.like, FieldFunction())
    if extra.static is None:
        return like
    return replace(like, fixed={**like.fixed, "static": extra.static, "pytree_node": not extra.static})


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
