"""The front end: what jaxlint knows of the classes that mypy is looking at, and how rules are run over them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import TYPE_CHECKING

from msgspec.structs import replace
from mypy.checker import TypeChecker
from mypy.nodes import FuncDef, MypyFile, TypeInfo
from mypy.options import Options
from mypy.types import AnyType, Instance, Type, TypeOfAny

from jaxlint.config.configuration import Configuration
from jaxlint.config.settings import Settings, is_sure_enough, rule_enabled
from jaxlint.cst.failing import FAILED, failures
from jaxlint.errors import UserError
from jaxlint.infer.calls.calls import CallEvaluator
from jaxlint.infer.calls.transformed_classes import TracedClasses
from jaxlint.infer.evaluating.events import CodeRead, Event, Place, Replace
from jaxlint.infer.known.values import Array, Value, as_instance
from jaxlint.project.environment import site_packages
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, External, FunctionSymbol
from jaxlint.pytrees.frameworks import BY_BASE
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.stubs import DESCRIBED, is_stub
from jaxlint.pytrees.updating import is_train_state
from jaxlint.rules.base import BodyRule, EventRule, Problem, Rule
from jaxlint.suppression.comments import suppressions
from jaxlint.symbols.outline import Class, Function
from jaxlint.syntax.expressions import Span
from jaxlint.syntax.paths import stamp
from jaxlint.syntax.source import Source, Unreadable
from jaxlint_mypy.bodies import BodiesOnDemand
from jaxlint_mypy.declared import NOTHING, Declared, Reader, imports_framework, may_delete
from jaxlint_mypy.focused import FocusedModel, FocusedTraced, VisibleProject, holds_no_pytree, is_known_package
from jaxlint_mypy.glimpses import GlimpsedModule, by_row, shortened
from jaxlint_mypy.internals import class_within, depend, has_unseen_base, is_daemon, text_around, text_of
from jaxlint_mypy.running import BODY_RULES, RulesHere, describe
from jaxlint_mypy.stored import StoredOutlines
from jaxlint_mypy.typed import TypedEvaluator
from jaxlint_mypy.values import TypeReader

if TYPE_CHECKING:
    from jaxlint.infer.reading.reader import ModuleReader
    from jaxlint_mypy.readings import Readings

#: What any number or array is an instance of.
_NUMERIC = ("builtins.complex", "jax._src.basearray.Array", "numpy.ndarray", "numpy.generic")
#: The name of the attribute that tells the daemon what jaxlint knows of a class.
SIGNATURE = "__jaxlint__"
#: Packages of which some classes are known by name.
_TELLING = DESCRIBED | {name.partition(".")[0] for name in BY_BASE}
_LOCAL = re.compile(r"^(.+)@(\d+)$")


class FrontEnd:
    """jaxlint's model of the files that mypy checks. Forgets all once a file has changed (`stale`)."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.stale = False
        #: What went wrong first, for the user to read.
        self.failure = ""
        self._modules: dict[str, MypyFile] = {}
        self._stamps: dict[str, tuple[int, int]] = {}
        self._start()

    def _start(self) -> None:
        roots = [os.path.abspath(path) for path in (*self.options.mypy_path, os.curdir)]
        #: The texts of what is no file: `mypy -c`, and what is piped into mypy.
        self._texts: dict[str, Source | Unreadable] = {}
        self.project = VisibleProject((*self.settings.src, *roots), self._installed, self._texts)
        self.model = FocusedModel(self.project, self.settings)
        self.evaluator = TypedEvaluator(self.model, self)
        CallEvaluator(self.evaluator, BodiesOnDemand(lambda: self.reader))
        self.evaluator.traced = TracedClasses(self.evaluator)
        self._reader: ModuleReader | None = None
        self._readings: Readings | None = None
        #: The rules that run here; some keep what they have found out.
        self.rules = RulesHere(self.settings)
        self.types = TypeReader(self.class_of)
        self._infos: dict[tuple[str, str], TypeInfo] = {}
        self._names: dict[str, str] = {}
        self._said: dict[tuple[str, Callable[[str], bool]], bool] = {}
        self._declaring: dict[str, Declared] = {}
        self._dull: dict[str, bool] = {}
        self._classes: dict[str, PytreeClass | None] = {}
        #: The names of the fields of these classes; mypy shows a class before it shows what its fields hold.
        self.field_names: set[str] = set()
        #: The names of the modules in which the first assignment of an attribute may be wrong: they declare frozen
        #: classes, or some whose fields are what their constructor assigns.
        self.assigned_in: set[str] = set()
        self._numeric: list[Instance] = []
        self._by_row: dict[str, dict[tuple[str, int], Class | Function]] = {}
        self._stamps = {}

    @property
    def reader(self) -> ModuleReader:
        """What reads the bodies of functions; few need it."""
        if self._reader is None:
            from jaxlint.infer.reading.reader import ModuleReader

            traced = self.evaluator.traced
            self._reader = ModuleReader(self.model, self.evaluator)
            self._reader.checked = self.model.focused
            self.evaluator.traced = traced
        return self._reader

    @property
    def readings(self) -> Readings:
        """What jaxlint itself reads where a rule has found something."""
        if self._readings is None:
            from jaxlint_mypy.readings import Readings

            self._readings = Readings(self.reader)
        return self._readings

    # -- settings ---------------------------------------------------------------------------

    @cached_property
    def settings(self) -> Settings:
        """`[tool.jaxlint]` of the project that mypy's configuration belongs to; versions are those of mypy's Python."""
        folder = os.path.dirname(os.path.abspath(self.options.config_file)) if self.options.config_file else os.getcwd()
        try:
            return Configuration(environment=self.options.python_executable).settings(folder)
        except UserError as error:
            self.failure = f"jaxlint takes its default settings: {error}"
            return Settings()

    @cached_property
    def _installed(self) -> list[str]:
        python = self.settings.python or self.options.python_executable
        try:
            return site_packages(python) if python else []
        except UserError:
            return []

    # -- mypy's modules and classes -----------------------------------------------------------

    def see(self, modules: dict[str, MypyFile]) -> None:
        """Take mypy's modules, which mypy goes on to fill."""
        self._modules = modules

    def refresh(self) -> None:
        """Forget everything if a file that was read is another one by now."""
        if self.stale:
            self.stale = False
            if any(stamp(path) != before for path, before in self._stamps.items()):
                self._start()

    @cached_property
    def _stored(self) -> StoredOutlines | None:
        return None if self.is_daemon else StoredOutlines.of(self.options)

    def keep(self) -> None:
        """All that was read has been checked: keep the outlines for the next run."""
        if "_stored" in self.__dict__ and self._stored is not None:
            self._stored.keep()

    def tree(self, name: str) -> MypyFile | None:
        """mypy's module of a dotted name."""
        return self._modules.get(name)

    def is_users(self, fullname: str) -> bool:
        """Whether something of a dotted name stands in a module of the user's, and in none that is installed."""
        tree = self._modules.get(fullname.rpartition(".")[0])
        return tree is not None and not tree.is_stub and "site-packages" not in tree.path

    def module(self, tree: MypyFile) -> Module:
        """jaxlint's module of a file that mypy knows."""
        path = os.path.abspath(tree.path)
        if self.project.store is None and self._stored is not None:
            self.project.store = self._stored.store
        if path not in self._stamps:
            self._stamps[path] = stamp(path)
            self._names[path] = tree.fullname
            given = text_of(tree)
            if given is not None:
                self._texts[path] = Source.from_text(path, given)
            module = self.project.add_file(path)
            if isinstance(module, GlimpsedModule) and tree.defs:
                module.shorten = partial(shortened, tree.defs, self._declared(tree.fullname))
        return self.project.add_file(path)

    def info(self, fullname: str) -> TypeInfo | None:
        """The class of a dotted name (nested classes too), if mypy knows one."""
        module, _, name = fullname.rpartition(".")
        inner: list[str] = []
        while module:
            tree = self._modules.get(module)
            if tree is not None:
                return class_within(tree, name, inner)
            inner.append(name)
            module, _, name = module.rpartition(".")
        return None

    @property
    def numeric(self) -> list[Instance]:
        """What any number or array is an instance of, as far as the program knows these classes."""
        if len(self._numeric) < len(_NUMERIC):  # mypy may come to them later
            found = [info for name in _NUMERIC if (info := self.info(name)) is not None]
            self._numeric = [Instance(info, [AnyType(TypeOfAny.explicit)] * len(info.type_vars)) for info in found]
        return self._numeric

    def class_named(self, fullname: str) -> PytreeClass | None:
        """jaxlint's class of a dotted name that mypy knows."""
        info = None if holds_no_pytree(fullname) else self.info(fullname)
        return None if info is None else self.class_of(info)

    def info_of_class(self, cls: PytreeClass) -> TypeInfo | None:
        """mypy's class for one of jaxlint's."""
        return self.info_of(cls.module, cls.symbol.declaration.qualname)

    def may_be_pytree(self, info: TypeInfo) -> bool:
        """Whether classes that inherit from one of mypy's are pytrees, as far as its bases tell."""
        return not self._are_dull(info) and any(self.canonical(base.fullname) in BY_BASE for base in info.mro)

    def canonical(self, fullname: str) -> str:
        """The public name of something that mypy calls by the name of where it is defined."""
        return self.model.resolver.aliases.get(fullname, fullname).replace("jax._src.tree_util.", "jax.tree_util.")

    def own_update(self, receiver: Value, name: str) -> FunctionSymbol | None:
        """The method of one's own by which an instance is copied with changes, if it is none of the framework."""
        instance = as_instance(receiver)
        if instance is None or name in (instance.cls.framework.replace_method, *instance.cls.framework.copying_methods):
            return None
        found = instance.cls.method(name)
        return None if found is None or is_stub(found[0].module) else FunctionSymbol(found[0].module, found[1])

    def updates(self, cls: PytreeClass, name: str) -> bool:
        """Whether a method makes a copy with changes."""
        if name == cls.framework.replace_method:
            return cls.has_framework_replace
        if name in cls.framework.copying_methods or (name == "apply_gradients" and is_train_state(cls)):
            return True
        found = cls.method(name)
        return found is not None and self.model.updating_methods.updates(cls, found[1], found[0].module)

    def class_of(self, info: TypeInfo) -> PytreeClass | None:
        """jaxlint's class for one of mypy's, if it may be of interest to a rule."""
        key = info.fullname
        if self._classes.get(key) is None and (self.is_daemon or key not in self._classes):
            found = self._classes[key] = self._find_class(info)
            if found is not None:
                if found.is_pytree:
                    self.field_names.update(field.name for field in found.fields)
                if found.is_pytree and (found.frozen is not False or found.framework.flattens_itself):
                    self.assigned_in.add(info.module_name)
        return self._classes[key]

    def is_pytree(self, info: TypeInfo) -> bool:
        """Whether a class certainly is one of pytrees."""
        cls = self.class_of(info)
        return cls is not None and cls.is_pytree

    def _find_class(self, info: TypeInfo) -> PytreeClass | None:
        if info.is_newtype:
            return self.class_of(info.bases[0].type)
        if self._are_dull(info):
            return None
        if info.module_name.partition(".")[0] in DESCRIBED:
            for name in (info.fullname, ".".join(p for p in info.fullname.split(".") if not p.startswith("_"))):
                described = self.model.class_of_symbol(External(name))
                if described is not None:
                    return described
        tree = self._modules.get(info.module_name)
        if tree is None or not tree.path or is_known_package(info.module_name):
            return None
        if not self._may_be_pytree(info) and not any(self._may_make_pytrees(base) for base in info.mro[1:]):
            return None
        module = self.module(tree)
        declaration = self._declaration(info, module)
        if declaration is None:
            return None
        self._infos[module.path, declaration.qualname] = info
        return self.model.build(ClassSymbol(module, declaration))

    def _are_dull(self, info: TypeInfo) -> bool:
        """Whether neither a class nor what it inherits from can be a pytree, by the modules that hold them."""
        return all([self._is_dull(base.module_name) for base in info.mro])

    def _is_dull(self, module: str) -> bool:
        """Whether no class of a module is a pytree: it is installed, and names no framework."""
        known = self._dull.get(module)
        if known is None or self.is_daemon:
            top = module.partition(".")[0]
            known = self._dull[module] = top not in _TELLING and self._declared(module) is NOTHING
        return known

    def info_of(self, module: Module, qualname: str) -> TypeInfo | None:
        """mypy's class for one of a module of jaxlint's."""
        found = self._infos.get((module.path, qualname))
        if found is None and module.path in self._names:
            found = self.info(f"{self._names[module.path]}.{qualname}")
        return found

    def _declaration(self, info: TypeInfo, module: Module) -> Class | None:
        qualname = info.fullname[len(info.module_name) + 1 :]
        local = _LOCAL.match(qualname)
        if local is None:
            found = module.outline.classes.get(qualname)
            if found is None or info.defn.line in (-1, 0, found.name_at.row, found.at.row):
                return found
            by_row = self.by_row(module).get((info.name, info.defn.line))
            return by_row if isinstance(by_row, Class) else found
        name, row = local[1].rpartition(".")[2], int(local[2])
        by_row = self.by_row(module).get((name, row))
        return by_row if isinstance(by_row, Class) else None

    def by_row(self, module: Module) -> dict[tuple[str, int], Class | Function]:
        """The classes and functions of a module by name and the row of their name (or first decorator)."""
        if module.path not in self._by_row:
            self._by_row[module.path] = by_row(module)
        return self._by_row[module.path]

    def _may_be_pytree(self, info: TypeInfo) -> bool:
        """Whether a class may be made a pytree where it is declared, by the words around."""
        if self.canonical(info.fullname) in BY_BASE:
            return True
        declared = self._declared(info.module_name)
        if declared.registers or info.is_named_tuple:
            return declared is not NOTHING
        name = info.name.partition("@")[0]
        if name in declared.decorated:
            return True
        words = declared.inheriting.get(name, frozenset()) if has_unseen_base(info) else frozenset()
        return not words <= {base.name for base in info.mro[1:]}

    def _may_make_pytrees(self, info: TypeInfo) -> bool:
        """Whether classes that inherit from one may be pytrees by that."""
        if not self._may_be_pytree(info):
            return False
        declared = self._declaring.get(info.module_name)
        if declared is None or declared.makes_of_subclasses:
            return True
        cls = self.class_of(info)
        return cls is None or cls.is_pytree

    def _declared(self, module: str) -> Declared:
        """What a module may declare."""
        declared = self._declaring.get(module)
        if declared is None or self.is_daemon:
            declared = self._declaring[module] = self._declared_in(module)
        return declared

    def _declared_in(self, name: str) -> Declared:
        tree = self._modules.get(name)
        if tree is None or not tree.path or is_known_package(name):
            return NOTHING
        is_installed = "site-packages" in tree.path
        if is_installed and tree.defs and not imports_framework(tree):  # without reading the file again
            return NOTHING
        text = text_around(tree)
        self._said[tree.path, may_delete] = may_delete(text)
        return self._declarations.read(text, is_installed)

    def says(self, tree: MypyFile, what: Callable[[str], bool]) -> bool:
        """What a glance at the text of a file says: whether it may delete something, or transform a function."""
        known = self._said.get((tree.path, what))
        if known is None or self.is_daemon:
            known = self._said[tree.path, what] = what(text_around(tree))
        return known

    @cached_property
    def _declarations(self) -> Reader:
        return Reader(tuple(self.settings.extra_decorators), tuple(self.settings.extra_bases))

    # -- the daemon ---------------------------------------------------------------------------

    @cached_property
    def is_daemon(self) -> bool:
        """Whether mypy may check parts of files again."""
        return is_daemon(self.options)

    def depend(self, checker: TypeChecker, *infos: TypeInfo) -> None:
        """Have what is being checked looked at again when jaxlint's picture of one of the classes changes."""
        if self.is_daemon:
            for info in infos:
                depend(checker, f"{info.fullname}.{SIGNATURE}")

    # -- places -------------------------------------------------------------------------------

    def place(self, tree: MypyFile, functions: Iterable[FuncDef]) -> Place:
        """Where something happens, by the functions around it from the outermost to the innermost."""
        module = self.module(tree)
        self.focus(module)
        rows = self.by_row(module)
        found = [rows.get((f.name, f.line)) for f in functions]
        known = tuple(f for f in found if isinstance(f, Function))
        owner = None
        for function in known:
            declaration = module.outline.classes.get(function.owner) if function.owner else None
            if declaration is not None:
                owner = self.model.build(ClassSymbol(module, declaration))
        transformed = self.evaluator.calls.transformed
        return Place(module, known, owner, self.model.subclasses, lambda function: transformed.of(function, module))

    def focus(self, module: Module) -> None:
        """Look for subclasses and transformations in this module: what the rest of the project does is not known."""
        if self.model.focused is not module:
            self.model.focus(module)
            self.evaluator.traced = FocusedTraced(self.evaluator, module)
            if self._reader is not None:
                self._reader.checked = module

    #: What `x.at` is read from.
    array = Array("jax", declared=True)

    # -- rules --------------------------------------------------------------------------------

    def value(self, typ: Type | None, declared: bool = True) -> Value:
        """The value of a type of mypy's."""
        return self.types.read(typ, declared)

    def class_problems(self, cls: PytreeClass) -> list[tuple[Problem, Rule]]:
        """What the class rules say of a class."""
        if cls.symbol.declaration.expects_error:
            return []
        self.focus(cls.module)
        found: list[tuple[Problem, Rule]] = []
        for rule in self.rules.of_classes:
            if cls.is_pytree or rule.all_classes:
                found += self._problems(rule, partial(rule.check_class, cls, self.evaluator))
        return found

    def event_problems(self, events: Iterable[Event]) -> list[tuple[Problem, Rule]]:
        """What the event rules and the body rules say of events."""
        evaluator = self.evaluator
        found: list[tuple[Problem, Rule]] = []
        for event in events:
            for rule in self.rules.of_event(event):
                if isinstance(rule, EventRule) and isinstance(event, rule.events):
                    problems = self._problems(rule, partial(rule.check_event, event, evaluator))
                    if problems and (refined := self.readings.refined(event)) is not event:
                        problems = self._problems(rule, partial(rule.check_event, refined, evaluator))
                    found += problems
                if isinstance(rule, BodyRule) and rule.name in BODY_RULES and isinstance(event, CodeRead):
                    found += self._problems(rule, partial(rule.check_body, event, evaluator))
        return found

    def unknown_keywords(self, events: Iterable[Event], names: frozenset[str]) -> list[tuple[Problem, Rule]]:
        """What JAX402 says of those keywords of updates that mypy itself does not look at."""
        from jaxlint.rules.replace_unknown_field import ReplaceUnknownField

        updates = (event for event in events if isinstance(event, Replace))
        unseen = (replace(e, keywords=tuple(k for k in e.keywords if k.name in names)) for e in updates)
        return self._problems_of(ReplaceUnknownField(), unseen)

    def missing_methods(self, events: Iterable[Event]) -> list[tuple[Problem, Rule]]:
        """What JAX404 says of calls that mypy itself accepts."""
        from jaxlint.rules.no_replace_method import NoReplaceMethod

        return self._problems_of(NoReplaceMethod(), events)

    def _problems_of(self, rule: EventRule, events: Iterable[Event]) -> list[tuple[Problem, Rule]]:
        """What a rule that is left out elsewhere says of events."""
        found: list[tuple[Problem, Rule]] = []
        if rule_enabled(type(rule), self.settings):
            for event in events:
                found += self._problems(rule, partial(rule.check_event, event, self.evaluator))
        return found

    def _problems(self, rule: Rule, check: Callable[[], Iterable[Problem]]) -> list[tuple[Problem, Rule]]:
        found: list[tuple[Problem, Rule]] = []
        try:
            found += [(problem, rule) for problem in check()]
        except Unreadable:
            pass  # what was piped into mypy: a rule that reads the text says nothing
        except Exception as error:
            self.failed(rule.code, error)
        for failure in failures() if FAILED else ():
            self.failed(f"the fix of {rule.code}", failure)
        return found

    def failed(self, what: str, error: Exception) -> None:
        """Keep one line about a failure of ours; the rest goes on."""
        self.failure = self.failure or describe(what, error)

    def is_left_out(self, problem: Problem, rule: Rule, module: Module, span: Span) -> bool:
        """Whether a comment of jaxlint's own, or the settings, suppress the finding."""
        finding = rule.finding(problem, module.path, (span.row, span.column + 1, span.end_row, span.end_column + 1))
        if not is_sure_enough(finding.confidence, self.settings):
            return True
        if not rule_enabled(type(rule), self.settings, module.path):
            return True
        try:
            source = module.source
        except Unreadable:
            return False
        return any(comment.suppresses(finding) for comment in suppressions(source))
