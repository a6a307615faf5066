"""Indexing what the check of one module asks of the project as a whole, module by module."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from jaxlint.infer.choosing.pieces import transformed_attributes
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.transforms.calling import may_change_given, piece_of
from jaxlint.infer.transforms.transformed import TransformedFunctions, names_static
from jaxlint.libraries.updates import COPYING_NAMES
from jaxlint.project.index import Key, ProjectIndex, TracedBy
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol
from jaxlint.pytrees.array_fields import names_array
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.stubs import ALWAYS_DESCRIBED, DESCRIBED
from jaxlint.pytrees.updating import see_updates
from jaxlint.symbols.outline import Applying, Assignment, Class, Function
from jaxlint.syntax.expressions import Call, Name, dotted


class Indexer:
    """Adds to `project_index` what modules tell. The model must know who imports whom already."""

    def __init__(self, evaluator: Evaluator, transformed: TransformedFunctions, project_index: ProjectIndex) -> None:
        self.project_index = project_index
        self._model = evaluator.model
        self._evaluator = evaluator
        self._transformed = transformed
        #: The classes that were looked at.
        self._seen: set[Key] = set()
        #: Those of them that are pytrees.
        self._seen_pytrees: set[Key] = set()

    def build_index(self, module: Module) -> None:
        """Add what a module tells, whose turn it is."""
        outline = module.outline
        self.index_module(module)
        self.index_declared(module, outline.classes.values(), outline.functions.values())
        self.index_applied(module, outline.applying)

    def index_module(self, module: Module) -> None:
        """Add what the module tells as a whole."""
        project_index = self.project_index
        project_index.indexed.add(module.path)
        if any(level == 0 and self._is_described(name, module) for level, name in module.outline.imported_modules):
            project_index.seeing.add(module.path)
        for name, bindings in module.outline.module_scope.bindings.items():
            values = [b.value for b in bindings if isinstance(b, Assignment) and isinstance(b.value, Call)]
            if any(names_static(value) or _makes_static(value, module) for value in values):
                project_index.names_with_static_arguments.add(name)

    def index_declared(self, module: Module, declared: Iterable[Class], functions: Collection[Function]) -> None:
        """Add what some classes and functions of a module tell."""
        project_index = self.project_index
        classes = [self._model.build(ClassSymbol(module, cls)) for cls in declared]
        for ancestor, keys in subclasses_among(classes).items():
            project_index.subclasses.setdefault(ancestor, []).extend(keys)
        for cls in classes:
            for one in cls.mro:
                if one.symbol.key not in self._seen:
                    self._seen.add(one.symbol.key)
                    self._see(one)
        updating = self._model.updating_methods
        for function in functions:
            if updating.may_copy_parameter(function, module, self._model.class_of_symbol):
                self._add_updating(function)
            if self._makes_of_keywords(function, module):
                project_index.handing_names.add(function.name)
            if function.acts and may_change_given(function, module.outline):
                project_index.changing_function_names.add(function.name)
        project_index.cycles += self._model.cycles
        self._model.cycles.clear()
        seen = [function for function in functions if "<locals>" not in function.scope]  # by other modules
        project_index.transformed_names.update(f.name for f in seen if self._transformed.decorating(f, module))
        project_index.names_with_static_arguments |= self._transformed.names_with_static_arguments(functions, module)
        for function in functions:
            held = (a for a in function.self_assignments if isinstance(a.value, Call) and names_static(a.value))
            project_index.names_with_static_arguments.update(a.attr for a in held)
            if function.owner is not None and transformed_attributes(function):
                project_index.transforming_class_names.add(function.owner.rpartition(".")[2])
        self._cross(self._evaluator.traced.declared_by(functions, (), module), module)

    def index_applied(self, module: Module, applying: Iterable[Applying]) -> None:
        """Add what some of the calls in a module apply to functions; declarations come first."""
        applications = list(self._transformed.applications.of(applying, module))
        for application in applications:
            if application.function.module is not module:
                known = self.project_index.applied.setdefault(application.function.key, [])
                applied = application.applied.encoded()
                known += [applied] if applied not in known else []
        self._cross(self._evaluator.traced.declared_by((), applications, module), module)

    def _cross(self, traced: Mapping[Key, TracedBy], module: Module) -> None:
        for key, by in traced.items():
            self.project_index.traced.setdefault(key, by)
            sending = self.project_index.sending.setdefault(key, [])
            if module.path not in sending:
                sending.append(module.path)

    def _add_updating(self, function: Function) -> None:
        """Add a method or a function that returns a copy with changes."""
        self.project_index.updating_method_names.add(function.name)
        if self._model.updating_methods.changes(function) is not None:
            self.project_index.handing_names.add(function.name)

    def _makes_of_keywords(self, function: Function, module: Module) -> bool:
        """Whether a function, or a class method, may return a new instance to which it hands its `**keywords` on."""
        rest, scope, returned = function.rest, function.inner_scope, function.return_values
        if rest is None:
            return False
        for value in returned:
            if isinstance(value, Call) and any(a.star == "**" and dotted(a.value) == rest for a in value.args):
                symbol = self._model.resolver.resolve(value.func, module, scope)
                return isinstance(symbol, ClassSymbol) or dotted(value.func) == function.self_name
        if not any(isinstance(value, Name) for value in returned):
            return False
        called = piece_of(function, module.outline).calls
        known = sorted(called & module.outline.module_scope.bindings.keys())
        symbols = (self._model.resolver.follow(self._model.resolver.resolve_name(name, module)) for name in known)
        return function.self_name in called or any(isinstance(symbol, ClassSymbol) for symbol in symbols)

    def _is_described(self, name: str, module: Module) -> bool:
        """Whether an import is of a package whose classes our stubs describe."""
        package = name.partition(".")[0]
        return package in DESCRIBED and (package in ALWAYS_DESCRIBED or self._model.project.find(name, module) is None)

    def _see(self, cls: PytreeClass) -> None:
        """Add what a class is called, has and does."""
        project_index = self.project_index
        see_updates(
            project_index.visible_updates,
            self._model.project.package_root(cls.module.path),
            cls,
            self._model.updating_methods,
        )
        if not cls.is_pytree:
            return
        project_index.seeing.update(one.module.path for one in cls.mro)
        project_index.pytree_class_names.add(cls.name)
        project_index.static_field_names.update(f.name for f in cls.static_fields)
        project_index.array_field_names.update(
            f.name
            for f in cls.fields
            if f.annotation and f.owner.key not in self._seen_pytrees and names_array(f.annotation.expr)
        )
        self._seen_pytrees.add(cls.symbol.key)
        project_index.updating_method_names |= cls.framework.copying_methods
        copying = cls.framework.replace_method
        if copying is not None and copying not in COPYING_NAMES:
            project_index.updating_method_names.add(copying)
            project_index.handing_names.add(copying)
        for name, qualnames in cls.symbol.declaration.methods.items():
            function = cls.module.outline.functions[qualnames[-1]]
            updating = self._model.updating_methods
            if updating.updates(cls, function, cls.module) or updating.constructs(cls, function, cls.module):
                self._add_updating(function)
            if not name.startswith("__"):
                project_index.method_calls.setdefault(function.name, set()).update(function.self_calls)
                # a frozen instance holds lists and dicts that change, too
                if function.self_mutations or (function.self_assignments and cls.frozen is not True):
                    project_index.changing_method_names.add(function.name)


def subclasses_among(classes: Iterable[PytreeClass]) -> dict[Key, list[Key]]:
    """Which of the classes inherit from a class, directly or not."""
    found: dict[Key, list[Key]] = {}
    for cls in classes:
        for ancestor in cls.mro[1:]:
            found.setdefault(ancestor.symbol.key, []).append(cls.symbol.key)
    return found


def _makes_static(call: Call, module: Module) -> bool:
    """Whether a call is of a function of the module that returns a function with static arguments: `make_step()`."""
    function = module.outline.functions.get(dotted(call.func) or "")
    returned = () if function is None else function.return_values
    return any(isinstance(value, Call) and names_static(value) for value in returned)
