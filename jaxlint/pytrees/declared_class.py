"""What is written of a class: its bases, decorators and registrations, and the options they give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec.structs import replace

from jaxlint.libraries.neutral import NEUTRAL_DECORATORS, NEUTRAL_PACKAGES
from jaxlint.libraries.standard import may_construct
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, External, FunctionSymbol, Resolver, Symbol, ValueSymbol
from jaxlint.pytrees.callee import Callee, CalleeFinder
from jaxlint.pytrees.context import FieldContext
from jaxlint.pytrees.fields import BodyReader, DeclaredField
from jaxlint.pytrees.flatten import spelled_out
from jaxlint.pytrees.framework import Framework, Subclasses
from jaxlint.pytrees.frameworks import (
    BY_BASE,
    BY_DECORATOR,
    DATACLASS,
    NEUTRAL_BASES,
    PLAIN_CLASS,
)
from jaxlint.pytrees.frameworks.jax_register import DROPS_BY_NAME
from jaxlint.pytrees.interpreted import Env, TheClass, Undecided
from jaxlint.pytrees.interpreter import Interpreter
from jaxlint.pytrees.linearisation import merge_mro
from jaxlint.pytrees.model import Field, FieldLists, Kind, Placed, PytreeClass, Registration, truth
from jaxlint.pytrees.project_decorators import Made, a_field, decorate, decorate_by_call, is_unsure, registers_subclass
from jaxlint.pytrees.registrations import Registrations
from jaxlint.pytrees.target import Target
from jaxlint.symbols.outline import (
    Function,
)
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Call,
    Display,
    Expr,
    Lambda,
    Subscript,
    dotted,
    is_none,
    without_call,
)
from jaxlint.syntax.names_read import names_inside


class ModelParts(Protocol):
    """What is asked of the model of the whole project while one class is built."""

    resolver: Resolver
    callees: CalleeFinder
    interpreter: Interpreter
    bodies: BodyReader
    registrations: Registrations
    target: Target

    def class_of_symbol(self, symbol: Symbol) -> PytreeClass | None:
        """The class that a resolved name stands for."""

    def context(
        self, expr: Expr | None, module: Module, scope: str, metadata: Mapping[str, bool | None]
    ) -> FieldContext:
        """What a framework may ask about a field declared in `scope`."""


class DeclaredClass:
    """What the text of one class says, and what decorators and calls are applied to it."""

    def __init__(
        self, model: ModelParts, symbol: ClassSymbol, elsewhere: tuple[Callee, Registration] | None = None
    ) -> None:
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
        #: The fields that a decorator of the project turns into something unknown.
        self.unsure: set[str] = set()
        #: The attributes that such decorators set.
        self.attributes_set: set[str] = set()
        #: Whether such a decorator makes a factory of each default that cannot be hashed.
        self.wraps_defaults = False
        self.registrations: list[Registration] = []
        self.made_by: list[Registration] = []
        #: What a module that imports the class registers it with.
        self.elsewhere = elsewhere
        self.keywords = {a.keyword: a.value for a in self.declaration.bases if a.keyword is not None}

    def _read_bases(self) -> None:
        for argument in self.declaration.bases:
            if argument.keyword is not None:
                continue
            expr = argument.value.value if isinstance(argument.value, Subscript) else argument.value
            symbol = self.model.resolver.base(expr, self.declaration, self.module)
            parent = self.model.class_of_symbol(symbol)
            if parent is not None:
                self.parents.append(parent)
                self.unknown_base |= parent.framework is PLAIN_CLASS and not parent.fields_known
            elif isinstance(symbol, External):
                framework = BY_BASE.get(symbol.name)
                if framework is not None:
                    self.before_root = list(self.parents) if self.before_root is None else self.before_root
                    self.roots.append(framework)
                elif symbol.name not in NEUTRAL_BASES and symbol.name.partition(".")[0] not in NEUTRAL_PACKAGES:
                    self.unknown_base = True
                else:
                    self.constructing_base |= may_construct(symbol.name)
            else:
                self.unknown_base = True

    def _read_hook(self) -> None:
        """Note how the `__init_subclass__` of a base class registers the class."""
        hook = "__init_subclass__"
        bases = [c for c in ancestors_of(self.parents) if hook in c.symbol.declaration.methods]
        if len(bases) != 1 or self.unknown_base or "metaclass" in self.keywords:
            return  # one hook calls the next, or does not
        base = bases[0]
        function = base.module.outline.functions[base.symbol.declaration.methods[hook][-1]]
        if function.decorators:
            return
        symbol, seen, title = FunctionSymbol(base.module, function), self._decorated(), f"{base.name}.{hook}"
        made = registers_subclass(self.model.interpreter, symbol, self.keywords, self.module, seen, title)
        if made is not None:
            self._apply_made(made, seen, Registration(PLAIN_CLASS, self.declaration.name_at, title))

    def _read_decorators(self) -> None:
        for decorator in reversed(self.declaration.decorators):
            callee = self.model.callees.of_decorator(decorator, self.module, self.scope)
            place = Registration(
                PLAIN_CLASS, decorator.at, _function_name(decorator), is_factory=self._is_factory(decorator)
            )
            if (callee is None or not callee.transparent) and self._apply_interpreted(decorator, place):
                continue
            self._apply(callee, place)
        for callee, call, guarded in self.model.registrations.of_class(self.symbol):
            place = by_call(call, self.module, guarded)
            place = replace(place, is_factory=self._is_factory(call.func))
            if callee is not None:
                self._apply(callee, place)
            else:
                seen = self._decorated()
                made = decorate_by_call(self.model.interpreter, call, self.module, seen)
                if made is not None and made.applied:
                    self._apply_made(made, seen, place)
        if self.elsewhere is not None:
            self._apply(*self.elsewhere)
        elif self.registering is None:
            self._read_importer()

    def _read_importer(self) -> None:
        """Note what a module that imports the class registers it with; the call itself is looked at there."""
        found = self.model.registrations.of_importer(self.symbol)
        if found is not None and not self.registrations and not self.roots and not self.unknown_base:
            callee, call, module = found
            self._apply(callee, by_call(call, module, guarded=False))
            self.registrations.clear()

    def _apply_interpreted(self, decorator: Expr, place: Registration) -> bool:
        """Note what a decorator of the project does to the class; False if that cannot be determined."""
        called, callees = without_call(decorator), self.model.callees
        if isinstance(decorator, Call) and callees.is_partial(called, self.module, self.scope) and decorator.positional:
            called = decorator.positional[0]
        if not isinstance(self.model.resolver.resolve(called, self.module, self.scope), (FunctionSymbol, ValueSymbol)):
            return False
        seen = self._decorated()
        made = decorate(self.model.interpreter, decorator, self.module, self.scope, seen, place.name)
        if made is None:
            self.attributes_set |= seen.attributes.keys()
            return False
        self._apply_made(made, seen, place)
        return True

    def _apply_made(self, made: Made, seen: TheClass, place: Registration) -> None:
        """Note what a function of the project has made of the class."""
        self.attributes_set |= seen.attributes.keys()
        self.unknown_decorator |= not made.is_known
        self.wraps_defaults |= made.may_wrap_defaults
        for callee, framework in made.applied:
            if framework is None:
                self._apply(callee, place)
            else:
                self._register(callee, framework, replace(place, framework=framework, function=callee.name))

    def _decorated(self) -> TheClass:
        """The class as its decorators see it."""
        members: dict[str, Field | DeclaredField] = {}
        for parent in reversed(ancestors_of(self.parents)):
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
        framework = BY_DECORATOR.get(symbol.name) if isinstance(symbol, External) else None
        return framework is not None and framework.lists_fields

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
            neutral = callee.name in NEUTRAL_DECORATORS or callee.name.partition(".")[0] in NEUTRAL_PACKAGES
            self.unknown_decorator |= not neutral
            return
        ignored = framework.ignores_repeats and self._is_made_already(framework)
        if framework.makes_dataclass and not ignored:
            self.dataclass_options, self.maker = callee, framework
        registration = replace(
            place, framework=framework, function=callee.name, ignored=ignored, options=dict(callee.keywords)
        )
        if framework.makes_dataclass:
            self.made_by.append(registration)
        if framework is not DATACLASS:
            self._register(callee, framework, registration)

    def _is_made_already(self, framework: Framework) -> bool:
        """Whether the base class of a framework, or its decorator, has made the class a pytree already."""
        automatic = [p.framework for p in self.parents if p.framework.subclasses is Subclasses.AUTO]
        by_base = any(base.ignores_repeats for base in (*self.roots, *automatic))
        return by_base or any(r.framework is framework for r in self.registrations)

    def _register(self, callee: Callee, framework: Framework, place: Registration) -> None:
        """Note what registers the class."""
        if not place.ignored:
            self.registering = self.registering or (framework, callee)
        of_dataclass = self.dataclass_options is not None or any(c.params for c in ancestors_of(self.parents))
        of_dataclass |= any(r.makes_dataclass for r in self.roots)
        self.registrations.append(
            replace(
                place,
                of_dataclass=of_dataclass,
                options=dict(callee.keywords),
                positional=callee.positional,
                has_lists=framework.lists_fields and self._lists(callee) is not None,
                arguments_known=callee.complete,
            )
        )

    def _flatten_function(self) -> Function | None:
        """The function of this module, or the lambda, that `register_pytree_node` is given to flatten the class."""
        if self.registering is None:
            return None
        callee = self.registering[1]
        placed = _item(callee.positional, 1) or callee.keyword("flatten_func")
        if placed is None:
            return None
        if isinstance(placed.expr, Lambda):
            return spelled_out(placed.expr, placed.scope) if placed.module is self.module else None
        symbol = self.model.resolver.resolve(placed.expr, placed.module, placed.scope)
        same = isinstance(symbol, FunctionSymbol) and symbol.module is self.module
        return symbol.declaration if isinstance(symbol, FunctionSymbol) and same else None

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

    def _class_keyword(self, name: str, default: bool) -> bool | None:
        """The truth value of a class keyword; None if it is no literal, or may be in `**keywords`."""
        value = self.keywords.get(name)
        if value is None:
            return None if name and self._has_more_keywords() else default
        return truth(Placed(value, self.module, self.scope), default)

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
        if names and self.model.target.holds(DROPS_BY_NAME) is False:
            names = tuple("".join(names))
        return FieldLists(self._names(data), self._names(meta), names, data, meta, dropped)

    def _names(self, placed: Placed | None) -> tuple[str, ...] | None:
        """The strings of a list, or the letters of a string, as far as running the expression tells."""
        if placed is None:
            return None
        symbol = self.model.resolver.resolve(placed.expr, placed.module, placed.scope)
        if isinstance(symbol, ValueSymbol) and symbol.scope and symbol.assignment.value is not None:
            if symbol.module.outline.changes_in_place(symbol.name):
                return None
            placed = Placed(symbol.assignment.value, symbol.module, symbol.scope)
        run = self.model.interpreter
        run.start()
        try:
            found = run.value(placed.expr, self._itself(placed), placed.module, placed.scope)
        except (Undecided, RecursionError):
            return None
        by_unsure = run.asked and self.unsure
        is_known = isinstance(found, (list, tuple, dict, str)) and all(isinstance(name, str) for name in found)
        return tuple(found) if is_known and not by_unsure else None

    def _itself(self, placed: Placed) -> Env:
        """The class by its name, for an expression that asks it for its fields."""
        name = self.declaration.name
        asks = placed.module is self.module and not self.unknown_base and name in names_inside(placed.expr)
        return {name: self._decorated()} if asks else {}


def by_call(call: Call, module: Module, guarded: bool) -> Registration:
    """A call of a module that registers a class; for which framework, and with what, is unknown."""
    return Registration(
        PLAIN_CLASS,
        place_of(call.at),
        _function_name(call),
        is_call=True,
        guarded=guarded,
        in_loop=sum(other.at == call.at for other in module.outline.module_calls) > 1,
    )


def _function_name(expr: Expr) -> str:
    """The function that a decorator or a call applies, as it is written, `partial` aside."""
    while isinstance(expr, Call):
        inner = expr.positional[0] if expr.positional else None
        is_partial = (dotted(expr.func) or "").rpartition(".")[2] == "partial"
        expr = inner if is_partial and inner is not None else expr.func
    return dotted(expr) or "its decorator"


def _is_none(placed: Placed | None) -> bool:
    return placed is not None and is_none(placed.expr)


def ancestors_of(parents: list[PytreeClass]) -> list[PytreeClass]:
    """All classes that the parents bring along, most derived first."""
    if len(parents) == 1:
        return list(parents[0].mro)
    return merge_mro([list(p.mro) for p in parents] + [list(parents)])


def _item(values: tuple[Placed, ...], index: int) -> Placed | None:
    return values[index] if index < len(values) else None
