"""What a name means: dotted-name resolution through scopes, imports, re-exports and aliases.

Every answer is a `Symbol`. `Unknown` is an answer too, and never leads to a finding.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TypeAlias

import msgspec

from jaxlint.libraries.packages import OTHER_SPELLINGS
from jaxlint.project.bindings import is_bound_by, is_later, is_placeholder
from jaxlint.project.modules import OPAQUE_PACKAGES, Module, Project
from jaxlint.symbols.links import HERE
from jaxlint.symbols.outline import Assignment, Binding, Class, Definition, Function, Import, Scope
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Expr, Name, dotted
from jaxlint.syntax.statements import parts

_BUILTINS = frozenset(dir(builtins))
_MAX_ALIASES = 12


class External(msgspec.Struct, frozen=True):
    """A thing outside of what jaxlint reads, known by its canonical dotted name."""

    name: str


class ModuleSymbol(msgspec.Struct, frozen=True):
    """A module that jaxlint reads, by its path, and who names it: what is asked of it is noted as theirs."""

    path: str
    start: str


class _Declared(msgspec.Struct, frozen=True, eq=False, dict=True):
    module: Module

    @property
    def key(self) -> tuple[str, str]:
        """What identifies the declaration: the path of its file and its qualified name."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, _Declared) and other.key == self.key

    def __ne__(self, other: object) -> bool:
        return not self == other  # what msgspec has would ask whether it is the same object

    def __hash__(self) -> int:
        return hash(self.key)


class _Defined(_Declared, frozen=True, eq=False):
    """What has a dotted name."""

    @property
    def full_name(self) -> str:
        """The dotted name with its module."""
        return f"{self.module.name}.{self.key[1]}"


class ClassSymbol(_Defined, frozen=True, eq=False):
    """A class declared in a module that jaxlint reads."""

    declaration: Class

    @cached_property
    def key(self) -> tuple[str, str]:
        """Path and qualified name."""
        return (self.module.path, self.declaration.qualname)


class FunctionSymbol(_Defined, frozen=True, eq=False):
    """A function declared in a module that jaxlint reads."""

    declaration: Function

    @cached_property
    def key(self) -> tuple[str, str]:
        """Path and qualified name."""
        return (self.module.path, self.declaration.qualname)


class ValueSymbol(_Declared, frozen=True, eq=False):
    """A variable: the assignment that gives its value, and the scope in which that is to be read."""

    scope: str
    name: str
    assignment: Assignment

    @cached_property
    def key(self) -> tuple[str, str]:
        """Path, and the name with its place, which no class or function has."""
        return (self.module.path, f"{self.scope}={self.name}@{self.assignment.at.row}:{self.assignment.at.column}")


class Unknown(msgspec.Struct, frozen=True):
    """A name whose meaning cannot be determined."""


UNKNOWN = Unknown()

Symbol: TypeAlias = External | ModuleSymbol | ClassSymbol | FunctionSymbol | ValueSymbol | Unknown

#: Of how many expressions it is stored what they mean.
_RESOLVED_STORED = 5_000


class Resolver:
    """Resolves names in the modules of one project.

    `known` are canonical dotted names that the pytree frameworks declare (or that the user
    configured): resolution stops there even if the module that defines them can be read.
    `aliases` maps other spellings of such names to the canonical one.
    """

    def __init__(self, project: Project, known: frozenset[str], aliases: dict[str, str]) -> None:
        self.project = project
        self.known = known
        self.aliases = aliases
        #: What the names of modules mean, and those that a module hands on: by what stands for them where they lead.
        self._module_names: dict[tuple[str, str], Symbol | None] = {}
        #: What names mean, by module and scope.
        self._looked_up: dict[tuple[str, str, str], Symbol] = {}
        #: What expressions mean that were asked for last, by their identity: several rules ask for the same.
        self._resolved: dict[int, tuple[Expr, Module, str, Symbol]] = {}
        #: How many module names are being looked up; what is found meanwhile may be cut off by a cycle.
        self._depth = 0
        #: The canonical spelling of the names that were asked for.
        self._spellings: dict[str, str] = {}
        #: The aliases that are being followed.
        self._following: set[tuple[str, str]] = set()

    # -- public -----------------------------------------------------------------------------

    def resolve(self, expr: Expr, module: Module, scope: str = "", follow: bool = True) -> Symbol:
        """What a chain of names means, read in `scope` of `module`; aliases are followed unless asked not to."""
        if not follow:
            return self._resolve(expr, module, scope)
        known = self._resolved.get(id(expr))
        if known is not None and known[0] is expr and known[1] is module and known[2] == scope:
            return known[3]
        symbol = self.follow(self._resolve(expr, module, scope))
        if not self._depth and not self._following:
            if len(self._resolved) >= _RESOLVED_STORED:
                self._resolved.clear()
            self._resolved[id(expr)] = expr, module, scope, symbol
        return symbol

    def library_name(self, expr: Expr, module: Module, scope: str = "") -> str:
        """The full name of what an expression names in a library, whether its source can be read or not.

        Of a function or class that can be read it is the name by which it is imported. Empty if it names something
        else.
        """
        symbol = self.resolve(expr, module, scope)
        if isinstance(symbol, (FunctionSymbol, ClassSymbol)) and symbol.module is not module:
            return self._written(expr, module, scope)
        return symbol.name if isinstance(symbol, External) else ""

    def _written(self, expr: Expr, module: Module, scope: str) -> str:
        """The dotted name of an expression by the import of its first part; empty if that is not imported."""
        head, _, rest = (dotted(expr) or "").partition(".")
        scopes = module.outline.scopes
        for inner in (scopes.get(scope), module.outline.module_scope):
            found = inner.bindings.get(head, ()) if inner is not None else ()
            if found:
                binding = found[-1]
                if not isinstance(binding, Import) or binding.level:
                    return ""
                return self._canonical(".".join(filter(None, (binding.module, binding.name, rest))))
        return ""

    def resolve_name(self, name: str, module: Module, scope: str = "") -> Symbol:
        """What a single name means in `scope` of `module`, looking outwards; aliases are not followed."""
        return self._lookup(name, module, scope)

    def scope_of(self, name: Name, module: Module, scope: str) -> str:
        """From where a name is looked up: what a class body binds there or further down only, it means outside."""
        inner = module.outline.scopes.get(scope)
        if inner is None or inner.kind != "class" or inner.parent is None:
            return scope
        bindings, at = inner.bindings.get(name.id, []), place_of(name.at)
        is_outside = bindings and all(is_bound_by(b, at) or is_later(b, at, module) for b in bindings)
        return inner.parent if is_outside else scope

    def follow(self, symbol: Symbol) -> Symbol:
        """Follow `A = b.C` aliases to what they stand for; those that lead back to themselves stand for nothing."""
        if type(symbol) is not ValueSymbol:
            return symbol
        followed: list[tuple[str, str]] = []
        try:
            while isinstance(symbol, ValueSymbol):
                value = symbol.assignment.value
                if value is None or dotted(value) is None:
                    return symbol
                if symbol.key in self._following or len(self._following) > _MAX_ALIASES:
                    return UNKNOWN
                self._following.add(symbol.key)
                followed.append(symbol.key)
                symbol = self._aliased(value, symbol)
            return symbol
        finally:
            self._following.difference_update(followed)

    def meant_above(self, symbol: ValueSymbol) -> Iterator[tuple[str, Symbol]]:
        """What names in the value of a variable mean there that are bound again by it or further down.

        Its own name does if it was that of a function: `step = jax.jit(step)`.
        """
        scope, before = self._bound_before(symbol)
        value = symbol.assignment.value
        if scope is None or value is None:
            return
        itself = self._choose(before, symbol.name, symbol.module, scope) if before else UNKNOWN
        if isinstance(itself, FunctionSymbol):
            yield symbol.name, itself
        for part in parts(value, nested=False):
            if type(part) is not Name or part.id == symbol.name:
                continue
            bindings = scope.bindings.get(part.id, [])
            above = [b for b in bindings if not is_later(b, symbol.assignment.at, symbol.module)]
            if len(above) < len(bindings) > 1:
                yield part.id, self._choose(above, part.id, symbol.module, scope) if above else UNKNOWN

    def _bound_before(self, symbol: ValueSymbol) -> tuple[Scope | None, list[Binding]]:
        """The scope of a variable and what bound its name before the assignment; no scope if that is not known."""
        scope = symbol.module.outline.scopes.get(symbol.scope)
        bindings = scope.bindings.get(symbol.name, []) if scope is not None else []
        if symbol.assignment not in bindings:
            return None, []
        return scope, bindings[: bindings.index(symbol.assignment)]

    def _aliased(self, value: Expr, symbol: ValueSymbol) -> Symbol:
        """What the value of an alias means where it is assigned: in `f = f.g`, `f` is what it was before."""
        scope, before = self._bound_before(symbol) if _head(value) == symbol.name else (None, [])
        if scope is None:
            return self._resolve(value, symbol.module, symbol.scope)
        return self._meant_by(before, value, symbol.module, scope)

    def base(self, expr: Expr, declaration: Class, module: Module) -> Symbol:
        """What the base of a class means: what its name is bound to before the class, which may bind it anew.

        Where imports stand is not known: they are taken to come before.
        """
        scope = module.outline.scopes.get(declaration.scope)
        head = expr.id if type(expr) is Name else _head(expr)  # asked of all bases
        bindings = scope.bindings.get(head, []) if scope is not None else []
        later = [b for b in bindings if type(b) is not Import and is_later(b, declaration.at, module)]
        if scope is None or not later:
            return self.resolve(expr, module, declaration.scope)
        is_repeated = any(later.count(b) > 1 for b in later)  # of two classes of one name, the first is not kept
        before = [] if is_repeated else [b for b in bindings if b not in later]
        return self.follow(self._meant_by(before, expr, module, scope))

    def _meant_by(self, before: list[Binding], expr: Expr, module: Module, scope: Scope) -> Symbol:
        """What an expression means where its first name has been bound that often only."""
        head, *attrs = (dotted(expr) or "").split(".")
        found = self._choose(before, head, module, scope) if before else UNKNOWN
        for attr in attrs:
            found = self.member(self.follow(found), attr)
        return found

    def member(self, symbol: Symbol, attr: str) -> Symbol:
        """The attribute `attr` of what `symbol` stands for."""
        match symbol:
            case External(name=name):
                return self._external(f"{name}.{attr}")
            case ModuleSymbol(path=path, start=start):
                found = self._module_member(self.project.add_file(path), attr, start)
                return UNKNOWN if found is None else found
            case ClassSymbol(module=module, declaration=declaration):
                scope = module.outline.scopes.get(declaration.qualname)
                if scope is not None and attr in scope.bindings:
                    return self._choose(scope.bindings[attr], attr, module, scope)
        return UNKNOWN

    # -- scopes -----------------------------------------------------------------------------

    def _resolve(self, expr: Expr, module: Module, scope: str) -> Symbol:
        match expr:
            case Name(id=name):
                return self._lookup(name, module, self.scope_of(expr, module, scope))
            case Attribute(value=value, attr=attr):
                return self.member(self.follow(self._resolve(value, module, scope)), attr)
        return UNKNOWN

    def _lookup(self, name: str, module: Module, start: str) -> Symbol:
        key = (module.path, start, name)
        known = self._looked_up.get(key)
        if known is None:
            known = self._look_outwards(name, module, start)
            if not self._depth:
                self._looked_up[key] = known
        return known

    def _look_outwards(self, name: str, module: Module, start: str) -> Symbol:
        scopes = module.outline.scopes
        scope = scopes.get(start)
        first = True
        while scope is not None and scope.kind != "module":
            if (scope.kind == "function" or first) and name in scope.bindings and name not in scope.is_global:
                return self._choose(scope.bindings[name], name, module, scope)
            first = False
            scope = scopes.get(scope.parent) if scope.parent is not None else None
        found = self._module_name(module, name)
        if found is not None:
            return found
        return External(f"builtins.{name}") if name in _BUILTINS else UNKNOWN

    def _module_name(self, module: Module, name: str) -> Symbol | None:
        """A name in a module's own namespace, with star imports; None if it has none."""
        return self._once((module.path, name), lambda: self._own_name(module, name))

    def _once(self, key: tuple[str, str], find: Callable[[], Symbol | None]) -> Symbol | None:
        """What a name of a module means, found out once."""
        if key in self._module_names:
            return self._module_names[key]
        self._module_names[key] = UNKNOWN  # stops import cycles
        self._depth += 1
        try:
            found = find()
        finally:
            self._depth -= 1
        self._module_names[key] = found
        return found

    def _own_name(self, module: Module, name: str) -> Symbol | None:
        scope = module.outline.module_scope
        if name in scope.bindings:
            return self._choose(scope.bindings[name], name, module, scope)
        for star in reversed(module.outline.star_imports):
            found = self._starred(star, name, module)
            if found is not None:
                return found
        return None

    def _module_member(self, module: Module, name: str, start: str) -> Symbol | None:
        """What a module has of that name, which is asked for at `start`; None if it has nothing.

        A folder without `__init__.py` that has no module of that name is not what is imported: Python prefers a package
        of its name wherever that is (`examples/flax` beside the library).
        """
        full = self._canonical(f"{module.name}.{name}")
        if full in self.known:
            return External(full)
        found = self._name_elsewhere(module, name, start)
        if found is None:
            submodule = self.project.submodule(module, name)
            if submodule is not None:
                return ModuleSymbol(submodule.path, start)
            if module.is_namespace:
                return External(full)
        return found

    def _name_elsewhere(self, module: Module, name: str, start: str) -> Symbol | None:
        """A name in the namespace of a module that need not be the one in which it is asked for."""
        leads, place = self.project.reached.lead(module, name, start)
        if not leads:
            return None
        if leads == HERE:
            found = self._module_name(module, name)
        else:
            level, source, imported = leads.split(" ")
            binding = Import(source, imported or None, int(level))
            found = self._once((place, ""), lambda: self._imported(binding, module, place))
        return ModuleSymbol(found.path, start) if isinstance(found, ModuleSymbol) else found

    def _starred(self, star: Import, name: str, module: Module) -> Symbol | None:
        start = self.project.start(module)
        self.project.name_package(module.name if star.level else star.module, start)
        source = self._import_module(star, module)
        if not isinstance(source, Module):
            full = self._canonical(f"{source}.{name}")
            return External(full) if full in self.known or (name not in _BUILTINS and _is_opaque(full)) else None
        exported = self.project.reach(source.path, module).outline.all_names
        if source.path == module.path or (name not in exported if exported is not None else name.startswith("_")):
            return None
        return self._module_member(source, name, start)

    # -- bindings ---------------------------------------------------------------------------

    def _choose(self, bindings: list[Binding], name: str, module: Module, scope: Scope) -> Symbol:
        """What a name with several bindings means at the end of its scope, if that can be determined.

        A script may import a name anew between its functions, which then mean one or the other.
        """
        if len(bindings) == 1:
            return self._symbol(bindings[0], name, module, scope)
        candidates = [b for b in bindings if b.guard != "except"] or bindings
        if any(b.guard == "type_checking" for b in candidates):
            running = [b for b in candidates if b.guard == "runtime" and not isinstance(b, Assignment)]
            dropped = "type_checking" if running else "runtime"
            candidates = [b for b in candidates if b.guard != dropped]
        if len(candidates) > 1:
            real = [b for b in candidates if not is_placeholder(b)]
            candidates = real or candidates
        anew = scope.kind == "module" and all(isinstance(b, Import) and not b.guard for b in candidates)
        if scope.kind != "function" and candidates[-1].guard in ("", "try") and not anew:
            candidates = candidates[-1:]
        symbols = [self._symbol(b, name, module, scope) for b in candidates]
        first = symbols[0]
        return first if all(s == first for s in symbols[1:]) else UNKNOWN

    def _symbol(self, binding: Binding, name: str, module: Module, scope: Scope) -> Symbol:
        match binding:
            case Import():
                return self._imported(binding, module, self.project.start(module))
            case Definition(kind=kind, qualname=qualname):
                full = self._canonical(f"{module.name}.{qualname}")
                if full in self.known:
                    return External(full)
                if kind == "class":
                    return ClassSymbol(module, module.outline.classes[qualname])
                return FunctionSymbol(module, module.outline.functions[qualname])
            case Assignment():
                full = self._canonical(f"{module.name}.{name}")
                if scope.kind == "module" and full in self.known:
                    return External(full)
                if binding.guard in ("opaque", "parameter"):
                    return UNKNOWN
                return ValueSymbol(module, scope.qualname, name, binding)

    def _imported(self, binding: Import, module: Module, start: str) -> Symbol:
        """What a statement in a module imports, which is asked for at `start`."""
        self.project.name_package(module.name if binding.level else binding.module, start)
        if binding.level == 0 and binding.name is not None:
            written = self._canonical(f"{binding.module}.{binding.name}")
            if written in self.known:
                return External(written)
        source = self._import_module(binding, module)
        if binding.name is None:
            if isinstance(source, Module):
                return ModuleSymbol(source.path, start)
            return External(self._canonical(source))
        if not isinstance(source, Module):
            return self._external(f"{source}.{binding.name}")
        if source.path == module.path:
            submodule = self.project.submodule(source, binding.name)
            return UNKNOWN if submodule is None else ModuleSymbol(submodule.path, start)
        found = self._module_member(source, binding.name, start)
        return UNKNOWN if found is None else found

    def is_missing(self, binding: Import, module: Module) -> bool:
        """Whether a statement imports a name that a module of the project certainly has not: it raises ImportError."""
        source = self._import_module(binding, module) if binding.name is not None else ""
        if not isinstance(source, Module) or source.is_package or source.path == module.path or binding.name is None:
            return False
        outline = self.project.reach(source.path, module).outline
        is_open = bool(outline.star_imports) or "__getattr__" in outline.module_scope.bindings
        return not is_open and self._module_member(source, binding.name, self.project.start(module)) is None

    def _import_module(self, binding: Import, module: Module) -> Module | str:
        """The module an import reads, or its dotted name if it cannot be seen."""
        found = self.project.find(binding.module, module, binding.level)
        if found is not None or binding.level == 0:
            return found or binding.module
        package = module.name.split(".")
        if not module.is_package:
            package = package[:-1]
        package = package[: len(package) - (binding.level - 1)]
        return ".".join([*package, *([binding.module] if binding.module else [])])

    # -- canonical names --------------------------------------------------------------------

    def _external(self, name: str) -> Symbol:
        return External(self._canonical(name))

    def _canonical(self, name: str) -> str:
        known = self._spellings.get(name)
        if known is None:
            known = self._spellings[name] = self._canonical_spelling(name)
        return known

    def _canonical_spelling(self, name: str) -> str:
        for prefix, replacement in OTHER_SPELLINGS:
            if name.startswith(prefix):
                name = replacement + name[len(prefix) :]
        return self.aliases.get(name, name)


def _is_opaque(name: str) -> bool:
    return name.partition(".")[0] in OPAQUE_PACKAGES


def _head(expr: Expr) -> str:
    return (dotted(expr) or "").partition(".")[0]
