"""The plugin: which of mypy's questions are answered, and by whom."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, ParamSpec, TypeVar

from mypy.checker import TypeChecker
from mypy.nodes import Decorator, Expression, FuncDef, MemberExpr, MypyFile, OverloadedFuncDef, Var
from mypy.plugin import (
    AttributeContext,
    CheckerPluginInterface,
    ClassDefContext,
    FunctionContext,
    FunctionSigContext,
    MethodContext,
    MethodSigContext,
    Plugin,
    ReportConfigContext,
    SemanticAnalyzerPluginInterface,
)
from mypy.semanal_shared import find_dataclass_transform_spec
from mypy.types import CallableType, FunctionLike, Instance, Type, TypeVarType, get_proper_type

import jaxlint
from jaxlint.libraries.arrays import AT_METHODS
from jaxlint.libraries.updates import REPLACE_FUNCTIONS, TRAIN_STATE, TREE_AT, UPDATE_FUNCTIONS
from jaxlint.pytrees.frameworks import BY_DECORATOR, FIELD_FUNCTIONS
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.updating import is_train_state
from jaxlint.symbols.outline import MUTATING
from jaxlint_mypy.abstract import of_copy, of_replace
from jaxlint_mypy.classes import ClassTeller
from jaxlint_mypy.declared import may_delete
from jaxlint_mypy.displays import Displays
from jaxlint_mypy.enumerations import ENUMERATIONS, is_enumeration, of_item
from jaxlint_mypy.events import EventFeeder, held_by
from jaxlint_mypy.fields import FIELD_NAMES, default_type, with_keywords
from jaxlint_mypy.focused import is_known_package
from jaxlint_mypy.front import FrontEnd
from jaxlint_mypy.given import calls_lambdas, has_branches, of_branches, of_calling
from jaxlint_mypy.internals import class_statement, classes_of, has_unseen_base
from jaxlint_mypy.items import ItemFeeder
from jaxlint_mypy.methods import without_others
from jaxlint_mypy.names import COMPARING, CONTAINERS, HASHERS, HASHING, INDEXED, RESIZING, SEARCHING, SET_BY_NAME
from jaxlint_mypy.parameters import ANY, is_frozen_dict, with_asked
from jaxlint_mypy.report import report
from jaxlint_mypy.returned import COMPILED_CALL, of_compiled, of_create, of_tree_at
from jaxlint_mypy.signatures import Signatures, of_constructor, of_named_tuple, taking_any_keyword
from jaxlint_mypy.stored import fingerprint
from jaxlint_mypy.types_only import TypesOnly
from jaxlint_mypy.untyped import IN_MODULES, give_types, is_beside_untyped
from jaxlint_mypy.values import ARRAYS

_T = TypeVar("_T")
_P = ParamSpec("_P")

#: The last part of the names of decorators that make dataclasses.
_DECORATORS = frozenset(n.rpartition(".")[2] for n, f in BY_DECORATOR.items() if f.is_pytree and f.makes_dataclass)
#: The names of methods that `MethodMaker` shows.
GENERATED = frozenset({"replace", "tree_replace"})
_SIGNATURES = (".replace", "._replace", ".tree_replace", ".create", ".apply_gradients")
#: Where there are no bases of pytree classes, but for named tuples.
_BARE = sys.stdlib_module_names
#: Packages that hold nothing which is asked for here, but for these functions.
_OF_OTHERS = frozenset({"builtins", "typing", "collections", "functools", "itertools", "math", "re", "os", "abc"})
_OF_STANDARD = frozenset({"builtins.hash", *HASHERS, *SET_BY_NAME})
_ABOUT_FUNCTIONS = frozenset({"function", "function_signature"})
_ABOUT_DECORATORS = frozenset({"class_decorator", "class_decorator_2"})
_REPLACING = frozenset({"dataclasses.replace", "copy.replace"})
_SUBCLASSED = "__init_subclass__"
_OBJECT_SUBCLASSED = "builtins.object.__init_subclass__"


class Hooks:
    """What mypy may ask, and who answers. What fails here is caught by the plugin, which goes on without it."""

    def __init__(self, front: FrontEnd, plugin: Plugin) -> None:
        self.front = front
        self._plugin = plugin
        self.classes = ClassTeller(front)
        self.feeder = EventFeeder(front)
        self.signatures = Signatures(self.feeder)
        self.items = ItemFeeder(self.feeder)
        self.types_only = TypesOnly(self.feeder)
        self._displays = Displays(self.types_only, lambda name: self.answer("method", name)[0])
        self._classes: dict[str, PytreeClass | None] = {}
        #: By the names of decorators: whether they make dataclasses; by those of bases: what is to be done.
        self._makers: dict[str, bool] = {}
        self._bases: dict[str, Callable[[ClassDefContext], None] | None] = {}

    # -- mypy's life ---------------------------------------------------------------------------

    def see(self, modules: dict[str, MypyFile]) -> None:
        """Take the modules that mypy knows."""
        self.front.see(modules)

    def forget(self) -> None:
        """A file is read: what was known of it may be out of date."""
        self.front.stale = True

    def config_data(self, ctx: ReportConfigContext) -> Any:
        """What results depend on besides the files."""
        if ctx.id in IN_MODULES:
            return jaxlint.__version__, "typed"
        if "site-packages" in ctx.path or is_known_package(ctx.id):
            return jaxlint.__version__  # nothing is reported there, and reading jax again takes its time
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint(self.front.settings, self.front.failure)

    def answer(self, question: str, fullname: str) -> tuple[Callable[[Any], Any] | None, bool]:
        """Who answers a question about a name, and whether that stays so."""
        if self.front.stale or self.front.is_daemon:
            self._refresh()
        if question in _ABOUT_FUNCTIONS and fullname.partition(".")[0] in _OF_OTHERS and fullname not in _OF_STANDARD:
            return None, not self.front.is_daemon
        callback: Callable[[Any], Any] | None = getattr(self, question)(fullname)
        return callback, self._is_settled(question, fullname)

    def _is_settled(self, question: str, fullname: str) -> bool:
        """Whether what is known of a name by a question stays true.

        The daemon may ask for a class that is still being put together, and names of classes and decorators are asked
        for before mypy knows them.
        """
        if self.front.stale or self.front.is_daemon:
            return False
        if question == "base_class":
            return fullname in self._bases or fullname.partition(".")[0] in _BARE
        return question not in _ABOUT_DECORATORS or fullname in self._makers

    def _refresh(self) -> None:
        if self.front.stale or self.front.is_daemon:
            for known in (self._classes, self._makers, self._bases):
                known.clear()
            self.front.refresh()

    def _class(self, fullname: str) -> PytreeClass | None:
        """jaxlint's class of a name, about which mypy asks several questions."""
        if fullname not in self._classes:
            self._classes[fullname] = self.front.class_named(fullname)
        return self._classes[fullname]

    # -- classes -------------------------------------------------------------------------------

    def class_decorator(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        """In the main pass: decorators that make dataclasses, and that mypy does not see through."""
        return partial(self._on_class, self.classes.tag) if self._is_maker(fullname) else None

    def class_decorator_2(self, fullname: str) -> Callable[[ClassDefContext], bool] | None:
        """After the main pass: the generated methods."""
        if fullname == "dataclasses.dataclass":  # frameworks say so under `TYPE_CHECKING`, or leave it to the user
            return partial(self._on_class, self.classes.transform_plain)
        if self._is_maker(fullname):
            return partial(self._on_class, self.classes.transform)
        found = self._plugin.lookup_fully_qualified(fullname)
        if found is None or find_dataclass_transform_spec(found.node) is None:
            return None
        return partial(self._on_class, self.classes.transform_seen)

    def _is_maker(self, fullname: str) -> bool:
        """Whether a decorator makes a pytree dataclass, or may: a variable, a function of the user, what is unknown."""
        if fullname not in self._makers:
            known = self._makes_dataclass(fullname)
            if self._plugin.lookup_fully_qualified(fullname) is None:
                return known  # it may be known later
            self._makers[fullname] = known
        return self._makers[fullname]

    def _makes_dataclass(self, fullname: str) -> bool:
        last = fullname.rpartition(".")[2]
        canonical = self.front.canonical(fullname)
        if canonical in BY_DECORATOR:
            framework = BY_DECORATOR[canonical]
            return framework.is_pytree and framework.makes_dataclass and canonical != "dataclasses.dataclass"
        if canonical in self.front.settings.extra_decorators or canonical == "functools.partial":
            return True  # what it was given is seen at each class
        found = self._plugin.lookup_fully_qualified(fullname)
        if found is None or found.node is None:
            return last in _DECORATORS
        if isinstance(found.node, (FuncDef, Decorator, OverloadedFuncDef)):
            return self.front.is_users(fullname) and find_dataclass_transform_spec(found.node) is None
        return isinstance(found.node, Var) and not fullname.startswith("typing.")

    def class_mro(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        """Types of functions beside the class; in the daemon, what depends on it may have to be looked at again."""
        if is_beside_untyped(fullname):
            return give_types
        if not self.front.is_daemon or is_known_package(fullname):
            return None
        return partial(self._on_class, self.classes.sign)

    def base_class(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        """Bases of frameworks: their metaclasses keep mypy from showing the class later on."""
        if fullname.partition(".")[0] in _BARE and fullname != "typing.NamedTuple":
            return None
        if fullname in self._bases:
            return self._bases[fullname]
        hook = self._base_hook(fullname)
        if self.front.info(fullname) is not None:
            self._bases[fullname] = hook
        return hook

    def _base_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        if fullname == "typing.NamedTuple":
            return partial(self._on_class, self._check_named_tuple)
        info = self.front.info(fullname)
        if info is not None and not self.front.may_be_pytree(info):
            cls = self.front.class_of(info)
            if cls is None or not cls.is_pytree:
                return None
        return partial(self._on_class, self._inherits)

    def _inherits(self, ctx: ClassDefContext) -> None:
        self.classes.complete(ctx)
        self._check_class_early(ctx)

    def _on_class(self, do: Callable[[ClassDefContext], _T], ctx: ClassDefContext) -> _T:
        self._refresh()
        return do(ctx)

    def _check_named_tuple(self, ctx: ClassDefContext) -> None:
        self._check_class(self.front.class_of(ctx.cls.info), ctx.api)

    def _check_class_early(self, ctx: ClassDefContext) -> None:
        info = ctx.cls.info
        if info.metaclass_type is None or info.metaclass_type.type.fullname in ("builtins.type", "abc.ABCMeta"):
            return
        cls = self.front.class_of(info)
        self._check_class(cls, ctx.api)
        if cls is not None:
            self.types_only.check_class(ctx.api, info, cls)

    def _check_class(
        self, cls: PytreeClass | None, api: CheckerPluginInterface | SemanticAnalyzerPluginInterface
    ) -> None:
        if cls is not None:
            for problem, rule in self.front.class_problems(cls):
                report(self.front, api, problem, rule, cls.module)

    def _subclassed(self, ctx: MethodContext) -> Type:
        """The checker looks at a class statement."""
        info = class_statement(ctx.api, ctx.context)
        if info is not None and isinstance(ctx.api, TypeChecker):
            self.front.depend(ctx.api, *classes_of(info))
            cls = self.front.class_of(info)
            self._check_class(cls, ctx.api)
            if cls is not None:
                self.types_only.check_class(ctx.api, info, cls)
        return ctx.default_return_type

    def checked(self, checker: TypeChecker) -> None:
        """A file has been checked. The daemon does not say so of the parts that it checks again."""
        if not self.front.is_daemon:
            self._displays.look(checker)

    def keep(self) -> None:
        """All files that were read have been checked."""
        self.front.keep()

    # -- calls ---------------------------------------------------------------------------------

    def method_signature(self, fullname: str) -> Callable[[MethodSigContext], FunctionLike] | None:
        """`replace`, `create`, `apply_gradients` of pytree classes."""
        if fullname == _OBJECT_SUBCLASSED:
            return self._class_keywords
        if not fullname.endswith(_SIGNATURES):
            return None
        owner, _, name = fullname.rpartition(".")
        return self._signature_hook(owner, name)

    def _signature_hook(self, owner: str, name: str) -> Callable[[MethodSigContext], FunctionLike] | None:
        cls = self._class(owner)
        if cls is None or not cls.is_pytree:
            return None
        if name in ("replace", "tree_replace"):
            if name != cls.framework.replace_method or not cls.has_framework_replace:
                return None
            return self.signatures.replace
        if name == "_replace":
            return partial(of_named_tuple, cls) if cls.framework.is_tuple else None
        if not is_train_state(cls):
            return None
        return self.signatures.create if name == "create" else self.signatures.apply_gradients

    def _class_keywords(self, ctx: MethodSigContext) -> FunctionLike:
        """`class A(Base, mutable=True)`: mypy asks `object` where it cannot see the base class."""
        info = class_statement(ctx.api, ctx.context)
        if info is None or not has_unseen_base(info) or self.front.class_of(info) is None:
            return ctx.default_signature
        return taking_any_keyword(ctx.default_signature)

    def method(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        """Methods that copy with changes, methods that change a container, and class statements."""
        owner, _, name = fullname.rpartition(".")
        if name == _SUBCLASSED:
            return self._subclassed
        if fullname == COMPILED_CALL:
            return partial(of_compiled, self.front)
        if owner == INDEXED:
            update = partial(self._method_update, f"at.{name}")
            return partial(self._on_method, update) if name in AT_METHODS - {"get"} else None
        if owner in ARRAYS and owner not in CONTAINERS and name == "__setitem__":
            return partial(self._on_method, self.items.assign)
        if fullname == "builtins.object.__setattr__":
            return partial(self._on_method, self.types_only.bypassed)
        if fullname in HASHING:
            return partial(self._hash, *HASHING[fullname])
        if fullname == "builtins.list.__getitem__":
            return self.items.read
        if fullname in SEARCHING:
            return partial(self._on_method, partial(self._search, name))
        if owner in CONTAINERS:
            how = "item" if name in ("__setitem__", "__delitem__") else name
            if how != "item" and name not in MUTATING:
                return None
            return partial(self._on_method, partial(self._mutate, how))
        if name in COMPARING:
            if self._class(owner) is None:
                return None
            return partial(self._on_method, partial(self.types_only.compared, operator=COMPARING[name]))
        is_setter = name == "__setattr__"
        cls = None if name.startswith("__") and not is_setter else self._class(owner)
        if cls is None or not cls.is_pytree:
            return None
        if is_setter:
            return partial(self._on_method, self.feeder.set_by_method)
        if not self.front.updates(cls, name):
            return None
        return partial(self._on_method, partial(self._method_update, name))

    def _on_method(self, do: Callable[[MethodContext], None], ctx: MethodContext) -> Type:
        do(ctx)
        return ctx.default_return_type

    def _method_update(self, name: str, ctx: MethodContext) -> None:
        self.feeder.method_update(ctx, name)

    def _mutate(self, how: str, ctx: MethodContext) -> None:
        self.feeder.mutate(ctx, how)
        held = held_by(ctx.context)
        if isinstance(held, MemberExpr) and how in RESIZING:
            self.types_only.mutated(ctx, held)

    def _hash(self, how: str, what: str, ctx: MethodContext) -> Type:
        if how == "item" or how in MUTATING:
            self._mutate(how, ctx)
        self.types_only.hashed(ctx, what)
        return self.items.read(ctx)

    def _search(self, name: str, ctx: MethodContext) -> None:
        if name in MUTATING:
            self._mutate(name, ctx)
        self.types_only.searched(ctx, name)

    def _make_hashed(self, what: str, ctx: FunctionContext) -> None:
        made = get_proper_type(ctx.default_return_type)
        given = get_proper_type(ctx.arg_types[0][0]) if ctx.arg_types and ctx.arg_types[0] else None
        is_copy = isinstance(given, Instance) and given.type.has_readable_member("keys")
        if isinstance(made, Instance) and made.args and given is not None and not is_copy:
            self.types_only.hash(ctx, made.args[0], what)

    def function(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        """Functions that copy with changes, `setattr`, and constructors."""
        if fullname == "builtins.hash":
            return partial(self._on_function, lambda ctx: self.types_only.hashed(ctx, "`hash` fails"))
        if fullname in HASHERS:
            return partial(self._on_function, partial(self._make_hashed, HASHERS[fullname]))
        if fullname in SET_BY_NAME:
            return partial(self._on_function, partial(self._set_by_name, SET_BY_NAME[fullname]))
        if has_branches(fullname):
            return partial(of_branches, self.front, fullname.rpartition(".")[2])
        name = self.front.canonical(fullname)
        if name in REPLACE_FUNCTIONS or name in UPDATE_FUNCTIONS:
            position = UPDATE_FUNCTIONS.get(name, 0)
            if name == TREE_AT:
                return partial(self._tree_at, name, position)
            return partial(self._on_function, partial(self._function_update, name, position))
        if name in FIELD_FUNCTIONS and name != "dataclasses.field":
            return self._default_of_field
        cls = self._class(fullname)
        if cls is None or not cls.is_pytree or not (cls.tells_when_constructed or self.front.is_daemon):
            return None
        return partial(self._on_function, partial(self._construct, cls))

    def _on_function(self, do: Callable[[FunctionContext], None], ctx: FunctionContext) -> Type:
        do(ctx)
        return ctx.default_return_type

    def _default_of_field(self, ctx: FunctionContext) -> Type:
        self.types_only.check_field(ctx)
        return default_type(ctx)

    def function_signature(self, fullname: str) -> Callable[[FunctionSigContext], FunctionLike] | None:
        """The functions that declare fields or copy, and constructors that take a mapping."""
        if fullname in _REPLACING:
            return partial(of_replace if fullname == "dataclasses.replace" else of_copy, self.front)
        if calls_lambdas(fullname):
            return partial(of_calling, self.front, fullname.rpartition(".")[2])
        if fullname.rpartition(".")[2] in FIELD_NAMES:
            name = self.front.canonical(fullname)
            return with_keywords if name in FIELD_FUNCTIONS and name != "dataclasses.field" else None
        cls = self._class(fullname)
        return partial(of_constructor, cls) if cls is not None and cls.is_pytree else None

    def _set_by_name(self, how: str, ctx: FunctionContext) -> None:
        self.feeder.set_by_name(ctx, how)

    def _function_update(self, name: str, position: int, ctx: FunctionContext) -> None:
        self.feeder.function_update(ctx, name, position)
        if name in REPLACE_FUNCTIONS:
            self.types_only.replaced(ctx, name)

    def _tree_at(self, name: str, position: int, ctx: FunctionContext) -> Type:
        self._function_update(name, position, ctx)
        return of_tree_at(self.front, ctx, position)

    def _construct(self, cls: PytreeClass, ctx: FunctionContext) -> None:
        self.feeder.construct(ctx, cls)

    # -- attributes ----------------------------------------------------------------------------

    def attribute(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        """Attributes of classes that refuse assignment, or that have static fields."""
        owner, _, name = fullname.rpartition(".")
        if name in GENERATED:
            return self._on_generated
        if owner == TRAIN_STATE:
            return self._on_train_state
        return self._on_attribute if self._is_telling(owner) else None

    def class_attribute(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        """Generated methods that are taken from a class, and the items of an enumeration of equinox."""
        owner, _, name = fullname.rpartition(".")
        if name in GENERATED:
            return self._on_generated
        if name == "create" and owner == TRAIN_STATE:  # on subclasses a method of their own is put
            return of_create
        info = self.front.info(owner) if self.front.tree(ENUMERATIONS) is not None else None
        return of_item if info is not None and is_enumeration(info) else None

    def _on_generated(self, ctx: AttributeContext) -> Type:
        """`x.replace` in the code; where protocols are compared mypy asks about no place in it."""
        if not isinstance(ctx.context, Expression):
            return ctx.default_attr_type
        self.feeder.attribute(ctx)
        method = get_proper_type(without_others(ctx.default_attr_type))
        if not isinstance(method, CallableType):
            return method
        if isinstance(ctx.api, TypeChecker) and isinstance(ctx.type, TypeVarType):  # of others `signatures` is asked
            if self.feeder.code(ctx.api)[1].takes_splat(ctx.context):
                method = method.copy_modified(arg_types=[ANY] * len(method.arg_types))
        return with_asked(method, ctx.type)

    def _is_telling(self, owner: str) -> bool:
        cls = self._class(owner)
        if cls is None or not cls.is_pytree:
            return False
        return cls.frozen is not False or cls.tells_when_constructed or self.front.is_daemon

    def _on_attribute(self, ctx: AttributeContext) -> Type:
        """`x.a`, which most code only reads, in files that delete nothing: there is nothing to be said of it then."""
        api, front = ctx.api, self.front
        if ctx.is_lvalue or front.is_daemon or not isinstance(api, TypeChecker) or front.says(api.tree, may_delete):
            self.feeder.attribute(ctx)
        return ctx.default_attr_type

    def _on_train_state(self, ctx: AttributeContext) -> Type:
        """`state.params` is what the state was made with: a plain dict, though flax says that it is a `FrozenDict`."""
        held = self._on_attribute(ctx)
        return ANY if is_frozen_dict(held) and not ctx.is_lvalue else held
