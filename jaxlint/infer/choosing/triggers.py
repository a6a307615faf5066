"""Which units of a module, and which functions in them, are worth reading: those that hold what some rule looks for."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from operator import attrgetter

from jaxlint.infer.choosing.function_frameworks import reaches_function_framework
from jaxlint.infer.choosing.given import GivenClasses, is_pytree, may_take_no_items
from jaxlint.infer.choosing.handed_on import handed_on
from jaxlint.infer.choosing.making import singles_out_arguments
from jaxlint.infer.choosing.pieces import (
    applying_pieces,
    binds_field,
    called_names,
    has_bare_parameters,
    held_as,
    imports_jax,
    is_made,
    pieces_of,
    rebinds_self,
    transformed_attributes,
)
from jaxlint.infer.choosing.renamed import UPDATES, fills_parameter, renamed_updates
from jaxlint.infer.choosing.rows import Place, Rows, place
from jaxlint.infer.choosing.waiting import Candidate, Waiting
from jaxlint.infer.known.annotations import AnnotationReader
from jaxlint.infer.transforms.calling import CallingFunctions, is_transformed
from jaxlint.infer.transforms.transformed import TransformedFunctions, names_static
from jaxlint.libraries import linen
from jaxlint.libraries.arrays import AT_METHODS
from jaxlint.libraries.optimizers import OF_FUNCTIONS
from jaxlint.libraries.transforms import LAST_NAMES, TRANSFORMS
from jaxlint.libraries.trees import TREE_MAPS
from jaxlint.libraries.updates import (
    REPLACE_FUNCTIONS,
    RESTORING,
    SELECT,
    SELECTION_COPIES,
    UPDATE_FUNCTIONS,
    UPDATE_METHODS,
)
from jaxlint.project.modules import Module
from jaxlint.project.resolution import External, FunctionSymbol, ValueSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.callee import PARTIAL
from jaxlint.pytrees.framework import Unflatten
from jaxlint.pytrees.model import Placed
from jaxlint.pytrees.registrations import REGISTERING
from jaxlint.pytrees.stubs import is_stub
from jaxlint.symbols.outline import CHOOSES, MUTATING, Assignment, Class, Function, Unit
from jaxlint.syntax.expressions import Call

#: Updates that are noticed where their result is thrown away.
_DISCARDED = (
    UPDATE_METHODS
    | {"at[]"}
    | {name.rpartition(".")[2] for names in (UPDATE_FUNCTIONS, RESTORING, TREE_MAPS) for name in names}
)
#: Methods that change their receivers, and the storing of items.
_CHANGING = MUTATING | {"[]"}
#: Calls that make another instance of a class from inside of it.
_SELF_CONSTRUCTION = frozenset({"cls", "__class__", "type", ""})
#: What runs whenever an instance is made, and again when it is rebuilt.
_CONSTRUCTION = frozenset({"__init__", "__post_init__", "tree_unflatten"})

#: Functions whose calls are noted, or run what they are given, whatever is changed.
_EXTERNAL = REPLACE_FUNCTIONS | RESTORING | frozenset(UPDATE_FUNCTIONS) | {SELECT, PARTIAL} | OF_FUNCTIONS
_RUNNING = _EXTERNAL | TREE_MAPS
_EVENTFUL = LAST_NAMES | AT_METHODS | SELECTION_COPIES | {name.rpartition(".")[2] for name in _RUNNING} | {""}

#: Where something is declared.
_AT = attrgetter("at")
_ORDERS_STORED = 32  # modules whose declarations are stored in source order
_PIECES_STORED = 1_000  # pieces whose functions are stored


class Triggers:
    """Chooses the units of a module that are read, and their functions."""

    def __init__(
        self,
        model: PytreeModel,
        transformed: TransformedFunctions,
        annotations: AnnotationReader,
        calling: CallingFunctions,
    ) -> None:
        self.model = model
        self.calling = calling
        self.annotations = annotations
        self.transformed = transformed
        self.given = GivenClasses(model, annotations)
        #: What modules declare in source order, with the rows.
        self._order: dict[str, tuple[list[int], list[Function | Class]]] = {}
        self._functions_in: dict[tuple[str, Place], list[Function]] = {}
        self._renamed: tuple[str, frozenset[str]] = ("", frozenset())
        #: The names whose calls are of interest in the module that was asked for last, and the rows of the calls in it
        #: that name static arguments.
        self._interesting: frozenset[str] = frozenset()
        self._static_rows: list[int] = []
        #: What the rules wait for.
        self.waiting = Waiting()
        self._reaching: dict[str, bool] = {}
        self._given: dict[str, bool] = {}
        #: The names of the classes that are certainly no pytrees, in the module that was asked for last.
        self._unregistered: frozenset[str] = frozenset()
        #: Whether it names a class whose instances may hold what a transformation made of a method.
        self._names_transforming = self._may_be_linen = False

    def worth_reading(self, module: Module) -> list[tuple[Unit, Rows]]:
        """The units of a module that are worth reading, in source order, and the rows of their functions that are."""
        pieces = pieces_of(module)
        called = frozenset().union(*(piece.calls for piece in pieces))
        self._interesting = frozenset(name for name in called if self._is_of_interest(name, module))
        self._unregistered = frozenset(name for name in called if self.given.names_unregistered(name, module))
        named = module.outline.module_scope.bindings.keys() | called
        self._names_transforming = not named.isdisjoint(self.model.project_index.transforming_class_names)
        self._may_be_linen = linen.is_imported(name for _, name in module.outline.imported_modules)
        self._static_rows = [a.call.at.row for a in module.outline.applying if names_static(a.call)]
        wanted = {place(piece) for piece in pieces if self._triggers(piece, module)}
        wanted |= self._transformed(pieces, module)
        wanted |= self._transforming_others(pieces, module)
        wanted |= self._given_unregistered(wanted, pieces, module)
        return self._with_callers(wanted, pieces, module)

    def holding(self, rows: Collection[int], module: Module) -> list[tuple[Unit, Rows]]:
        """The units around some rows of a module, and those that call the functions there."""
        pieces = pieces_of(module)
        wanted = {place(piece) for piece in pieces if any(piece.first <= row <= piece.last for row in rows)}
        return self._with_callers(wanted, pieces, module)

    def passing(self, module: Module) -> list[tuple[Unit, Rows]]:
        """The units of a module that may pass something to transformed functions, and those that tell what."""
        pieces = pieces_of(module)
        wanted = {place(piece) for piece in pieces if self._may_pass(piece, self._functions(module, piece), module)}
        return self._with_callers(wanted, pieces, module)

    def _with_callers(self, wanted: set[Place], pieces: list[Unit], module: Module) -> list[tuple[Unit, Rows]]:
        """The units that hold some pieces, or those that tell what their functions are given, and the rows of them."""
        units = module.outline.units
        wanted |= self._callers([piece for piece in pieces if place(piece) in wanted], pieces, module)
        chosen = [(unit, [place(p) for p in unit.pieces or (unit,) if place(p) in wanted]) for unit in units]
        # a script: what a statement does depends on the statements before it
        is_script = any(places and unit.kind == "code" for unit, places in chosen)
        return [(unit, Rows(places)) for unit, places in chosen if places or (is_script and unit.kind == "code")]

    def eventful_names(self, module: Module, functions: list[Function]) -> Callable[[str], bool]:
        """Says whether something may happen when a name is called in the units of a module that declare `functions`."""
        project_index = self.model.project_index
        eventful = UPDATES.union(
            _EVENTFUL,
            self.waiting.calls,
            project_index.updating_method_names,
            project_index.handing_names,
            project_index.changing_method_names,
            project_index.pytree_class_names,
            project_index.transformed_names,
        )
        own = {name for function in functions if has_bare_parameters(function) for name in called_names(function)}
        own |= {name for function in functions for name in transformed_attributes(function)}
        for function in functions:
            maker = self.given.maker(function, module)
            own |= {maker.rpartition(".")[2], function.name} if maker else set()
        own |= self._renamed_updates(module)
        bindings = module.outline.module_scope.bindings

        def is_eventful(name: str) -> bool:
            if name in own or name in eventful or self._is_of_interest(name, module):
                return True
            return name in bindings and self._may_transform(name, module)

        return is_eventful

    def _may_transform(self, name: str, module: Module) -> bool:
        """Whether calling what a name of the module stands for may construct a pytree, or run a transformation."""
        symbol = self.model.resolver.follow(self.model.resolver.resolve_name(name, module))
        cls = self.model.class_of_symbol(symbol)
        if cls is not None:
            return cls.is_pytree
        if isinstance(symbol, External):
            return symbol.name in TRANSFORMS or symbol.name in _EXTERNAL
        if isinstance(symbol, FunctionSymbol):
            return bool(self.transformed.decorating(symbol.declaration, symbol.module))
        return isinstance(symbol, ValueSymbol)

    def declared(self, module: Module, unit: Unit) -> list[Function | Class]:
        """The functions and classes that a unit declares, in source order."""
        if module.path not in self._order:
            if len(self._order) >= _ORDERS_STORED:
                self._order.clear()
            outline = module.outline
            every: list[Function | Class] = [*outline.functions.values(), *outline.classes.values()]
            every.sort(key=_AT)
            self._order[module.path] = ([d.at.row for d in every], every)
        rows, ordered = self._order[module.path]
        return ordered[bisect_left(rows, unit.first) : bisect_right(rows, unit.last)]

    def _functions(self, module: Module, piece: Unit) -> list[Function]:
        """The functions of a piece; its rest has none."""
        if piece.kind == "rest":
            return []
        key = (module.path, place(piece))
        if key not in self._functions_in:
            if len(self._functions_in) >= _PIECES_STORED:
                self._functions_in.clear()
            self._functions_in[key] = [d for d in self.declared(module, piece) if isinstance(d, Function)]
        return self._functions_in[key]

    def _transformed(self, pieces: list[Unit], module: Module) -> set[Place]:
        """The pieces that declare functions which are transformed, and those that transform them."""
        applying = applying_pieces(pieces, module)
        found: set[Place] = set()
        for piece in pieces:
            functions = self._functions(module, piece)
            names = [f".{f.name}" if f.owner else f.qualname for f in functions]
            users = set[Place]().union(*[applying.get(name, ()) for name in names])
            if users or any(self.transformed.applications.elsewhere(f, module) for f in functions):
                numbers = (self.given.takes(f, module, self.given.holds_numbers) for f in functions)
                if self._changes(piece, module) or any(numbers):
                    found |= {place(piece), *users}
                elif any(self.given.takes_unregistered(f, module) for f in functions):
                    found |= users
        return found

    def _transforming_others(self, pieces: list[Unit], module: Module) -> set[Place]:
        """The pieces that transform a function of another module which takes what an event speaks of."""
        rows = [
            application.row
            for application in self.transformed.applications.in_module(module)
            if application.function.module is not module
            and self.given.takes_what_matters(application.function.declaration, application.function.module)
        ]
        return {place(piece) for piece in pieces if any(piece.first <= row <= piece.last for row in rows)}

    def _given_unregistered(self, wanted: set[Place], pieces: list[Unit], module: Module) -> set[Place]:
        """The pieces that may pass to a transformed function what others give them: instances of no pytree class."""
        making = [piece for piece in pieces if not piece.calls.isdisjoint(self._unregistered)]
        if not making:
            return set()
        functions = [(piece, self._functions(module, piece)) for piece in pieces]
        found = handed_on(making, functions) - wanted
        return {
            place(piece) for piece, own in functions if place(piece) in found and self._may_pass(piece, own, module)
        }

    def _callers(self, wanted: list[Unit], pieces: list[Unit], module: Module) -> set[Place]:
        """The pieces that tell what the functions of the wanted ones are given and what is applied to them."""
        naming, calling, held = dict[str, list[Unit]](), dict[str, list[Unit]](), held_as(module)
        for piece in pieces:
            for name in piece.references:
                naming.setdefault(name, []).append(piece)
            for name in piece.calls:
                calling.setdefault(name, []).append(piece)
        chosen = {place(piece) for piece in wanted}
        pending = list(wanted)
        while pending:
            for declared in self._functions(module, pending.pop()):
                users = naming.get(declared.qualname, []) if not declared.scope else []
                if has_bare_parameters(declared):
                    callers = users + (calling.pop(declared.name, []) if declared.owner is not None else [])
                    callers += [piece for attr in held.get(declared.name, ()) for piece in calling.get(attr, ())]
                else:
                    callers = [u for u in users if u.calls & LAST_NAMES]
                maker = self.given.maker(declared, module)
                callers += calling.get(maker.rpartition(".")[2], []) if maker else []
                pending += [u for u in callers if place(u) not in chosen]
                chosen |= {place(u) for u in callers}
        return chosen

    # -- what a unit or a piece of one holds ----------------------------------------------------

    def _triggers(self, unit: Unit, module: Module) -> bool:
        if self._triggers_anywhere(unit, module):
            return True
        if self._sees_pytrees(module):
            return self._triggers_with_pytrees(unit, module)
        return self.may_be_given_pytrees(module) and self._handles_parameters(unit, module)

    def _sees_pytrees(self, module: Module) -> bool:
        """Whether there may be an instance of a pytree class in a module."""
        return module.path in self.model.project_index.seeing or self._reaches_function_framework(module)

    def may_be_given_pytrees(self, module: Module) -> bool:
        """Whether another module that may have instances of pytree classes imports a module."""
        index = self.model.project_index
        if module.path not in self._given:
            around = index.imports.importing(index.imports.importers.get(module.path, ()))
            self._given[module.path] = not index.seeing.isdisjoint(around)
        return self._given[module.path]

    def _handles_parameters(self, unit: Unit, module: Module) -> bool:
        """Whether a unit may do something to instances that others pass to its functions."""
        functions = self._functions(module, unit)
        if not any(has_bare_parameters(f) or self.given.maker(f, module) for f in functions):
            return False
        return (
            unit.stores
            or "[]" in unit.methods
            or not unit.calls.isdisjoint(UPDATES)
            or not unit.calls.isdisjoint(LAST_NAMES)
            or not unit.discards.isdisjoint(self.model.project_index.updating_method_names)
            or any(f.decorators and self.transformed.decorating(f, module) for f in functions)
            or (CHOOSES in unit.calls and CHOOSES in self.waiting.instance_calls)
            or self.waiting.wants(Candidate(unit, functions, module, self.given, self.calling))
        )

    def _triggers_anywhere(self, unit: Unit, module: Module) -> bool:
        """Whether a unit holds what may be found without any pytree class in sight."""
        return (
            unit.repeats
            or not unit.calls.isdisjoint(REGISTERING)
            or not unit.discards.isdisjoint(_DISCARDED)
            or ("select" in unit.calls and not unit.discards.isdisjoint(SELECTION_COPIES))
            or ("[]" in unit.methods and self._stores_in_array(unit, module))
            or self._holds_transformed_function(unit, module)
            or (unit.stores and self._names_transforming)
            or (self._may_be_linen and bool(unit.self_stores or unit.mutations))
            or not unit.calls.isdisjoint(self._interesting)
        )

    def _triggers_with_pytrees(self, unit: Unit, module: Module) -> bool:
        """Whether a unit may do something to an instance of a pytree class."""
        project_index = self.model.project_index
        return (
            unit.stores
            or not unit.discards.isdisjoint(project_index.updating_method_names)
            or not unit.calls.isdisjoint(UPDATES)
            or not unit.calls.isdisjoint(project_index.handing_names)
            or not (
                unit.calls.isdisjoint(project_index.updating_method_names)
                or unit.calls.isdisjoint(project_index.transformed_names)
            )
            or not unit.calls.isdisjoint(self.waiting.calls)
            or not unit.calls.isdisjoint(self._renamed_updates(module))
            or not unit.mutations.isdisjoint(project_index.static_field_names)
            or "__dict__" in unit.mutations
            or ("[]" in unit.methods and self._stores_in_field(unit))
            or (not unit.calls.isdisjoint(self.waiting.instance_calls) and self._may_hold_pytrees(unit, module))
            or self.waiting.wants(Candidate(unit, self._functions(module, unit), module, self.given, self.calling))
            or self._holds_class_of_interest(unit, module)
        )

    def _may_hold_pytrees(self, unit: Unit, module: Module) -> bool:
        """Whether a unit makes instances of pytree classes, or is given some: by annotations, or as attributes."""
        around = (u for u in module.outline.units if u.kind == "code") if unit.kind == "code" else (unit,)
        if any(not one.calls.isdisjoint(self.model.project_index.pytree_class_names) for one in around):
            return True
        functions = self._functions(module, unit)
        if any(self.given.takes(f, module, is_pytree) or self.given.reads(f, module, is_pytree) for f in functions):
            return True
        if CHOOSES in unit.calls and any(self.given.maker(f, module) for f in functions if f.owner is not None):
            return True
        return self.given.gets(unit, module, is_pytree) or self.given.chooses_made(unit, module)

    def _stores_in_field(self, unit: Unit) -> bool:
        """Whether an item is assigned of what has the name of an array field, or where an instance is made."""
        project_index = self.model.project_index
        if not unit.mutations.isdisjoint(project_index.array_field_names):
            return True
        return not unit.calls.isdisjoint(project_index.pytree_class_names)

    def _stores_in_array(self, unit: Unit, module: Module) -> bool:
        """Whether the item that is assigned may be one of an array, as it may in every module that imports jax."""
        if imports_jax(module) or (unit.kind == "code" and any(is_made(name, module) for name in unit.mutations)):
            return True
        for function in self._functions(module, unit):
            for parameter in function.parameters:
                if parameter.name in unit.mutations and parameter.annotation is not None:
                    placed = Placed(parameter.annotation, module, function.scope)
                    if may_take_no_items(self.annotations.read(placed)):
                        return True
        return False

    def _holds_class_of_interest(self, unit: Unit, module: Module) -> bool:
        """Whether a class writes to its own instances, constructs them, or runs code when they are rebuilt."""
        for qualname in unit.self_stores:
            for cls in self.model.pytree_family(self.given.cls(qualname, module)):
                tells = cls.frozen is not False or cls.tells_when_constructed or cls.is_opaque_key
                if cls.is_pytree and tells:
                    return True
        functions = self._functions(module, unit)
        if unit.calls & _SELF_CONSTRUCTION:
            owners = {f.owner for f in functions if f.owner is not None}
            if any(self.given.cls(qualname, module).tells_when_constructed for qualname in owners | unit.classes):
                return True
        for function in functions:
            if function.owner is not None and function.name in _CONSTRUCTION:
                cls = self.given.cls(function.owner, module)
                family = self.model.pytree_family(cls)
                if any(c.is_pytree and c.framework.unflatten is not Unflatten.BYPASS for c in family):
                    return True
                if function.name == "__post_init__" and not unit.calls.isdisjoint((cls.name, "type", "__class__")):
                    return True
                if cls.is_pytree and binds_field(cls):
                    return True
        return any(rebinds_self(function, module) for function in functions)

    def _holds_transformed_function(self, unit: Unit, module: Module) -> bool:
        """Whether a function is transformed that may change what it is given, or that holds something static."""
        changes, functions = self._changes(unit, module), self._functions(module, unit)
        transforms = not unit.calls.isdisjoint(LAST_NAMES)
        if transforms and (changes or any(self.given.takes_what_matters(function, module) for function in functions)):
            return True
        if (transforms or self._calls_transformed(unit, functions, module)) and self.given.takes_non_arrays(
            functions, module
        ):
            return True
        if any(unit.first <= row <= unit.last for row in self._static_rows):
            return True
        if self._may_pass(unit, functions, module) and self._names_unregistered(unit, module):
            return True
        for function in functions:
            applied = self.transformed.decorating(function, module)
            if applied and (
                changes
                or any(one.singles_out_arguments for one in applied)
                or self.given.takes_what_matters(function, module)
                or self._closes_over_self(function, functions)
            ):
                return True
        return False

    @staticmethod
    def _closes_over_self(function: Function, functions: Sequence[Function]) -> bool:
        """Whether a function inside of a method, or one beside it, reads what other methods may change of `self`."""
        return "<locals>" in function.scope and any(one.self_reads for one in functions if one.scope == function.scope)

    def _names_unregistered(self, unit: Unit, module: Module) -> bool:
        """Whether a unit makes instances of a class that is no pytree, calls what does, or reads what holds some."""
        if not unit.calls.isdisjoint(self._unregistered):
            return True
        called = unit.calls & module.outline.module_scope.bindings.keys()
        if any(self.given.makes_unregistered(name, module) for name in sorted(called)):
            return True
        held = self.given.variables_unregistered(module)
        rows = module.source.lines[unit.first - 1 : unit.last] if held else ()
        return any(not held.isdisjoint(re.findall(r"\w+", row)) for row in rows)

    def _may_pass(self, unit: Unit, functions: list[Function], module: Module) -> bool:
        """Whether a unit may pass something to a transformed function: it transforms one, or calls one."""
        return (
            not unit.calls.isdisjoint(LAST_NAMES)
            or not unit.calls.isdisjoint(self.model.project_index.transformed_names)
            or self._calls_transformed(unit, functions, module)
        )

    def _calls_transformed(self, unit: Unit, functions: list[Function], module: Module) -> bool:
        """Whether a variable of the module, or an attribute, is called that is given what a transformation returns."""
        bindings = module.outline.module_scope.bindings
        for name in unit.calls:
            if any(isinstance(b, Assignment) and is_transformed(b.value) for b in bindings.get(name, ())):
                return True
        for owner in {f.owner for f in functions if f.owner is not None}:
            for qualname in module.outline.classes[owner].methods.get("__init__", ()):
                if not unit.calls.isdisjoint(transformed_attributes(module.outline.functions[qualname])):
                    return True
        return False

    def _changes(self, unit: Unit, module: Module) -> bool:
        """Whether something other than a local variable may be changed in it, or rules look at functions here."""
        index, resolver = self.model.project_index, self.model.resolver
        if unit.stores or unit.self_stores or not unit.methods.isdisjoint(_CHANGING):
            return True
        functions = unit.calls & index.changing_function_names  # unless a method of the same name is called
        if not (unit.methods.isdisjoint(index.changing_method_names) and functions <= unit.methods):
            return True
        reaches = self._reaches_function_framework(module)
        changing = index.changing_method_names
        return reaches or any(fills_parameter(name, module, resolver, changing) for name in unit.discards)

    def _reaches_function_framework(self, module: Module) -> bool:
        """Whether a module, or one that it imports, imports a framework whose rules look at functions."""
        if module.path not in self._reaching:
            self._reaching[module.path] = reaches_function_framework(module, self.model.project)
        return self._reaching[module.path]

    def _renamed_updates(self, module: Module) -> frozenset[str]:
        """The names of functions that update or write in a module."""
        if self._renamed[0] != module.path:
            self._renamed = (module.path, renamed_updates(module.outline.scopes.values()))
        return self._renamed[1]

    def _is_of_interest(self, name: str, module: Module) -> bool:
        """Whether a call of `name` may construct a pytree, or pass a static argument."""
        if name not in module.outline.module_scope.bindings:
            project_index = self.model.project_index
            return name in project_index.pytree_class_names or name in project_index.names_with_static_arguments
        symbol = self.model.resolver.follow(self.model.resolver.resolve_name(name, module))
        cls = self.model.class_of_symbol(symbol)
        if cls is not None:
            return cls.is_pytree and not is_stub(cls.module)
        if isinstance(symbol, FunctionSymbol):
            applied = self.transformed.decorating(symbol.declaration, symbol.module)
            return any(one.singles_out_arguments for one in applied)
        if isinstance(symbol, ValueSymbol) and isinstance(symbol.assignment.value, Call):
            return singles_out_arguments(symbol, self.model)
        return False
