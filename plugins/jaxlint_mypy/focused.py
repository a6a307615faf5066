"""The model as mypy needs it: what one module sees, while it is checked."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cached_property

from jaxlint.infer.calls.transformed_classes import TracedClasses
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.reading.indexing import subclasses_among
from jaxlint.infer.transforms.applied import Applied
from jaxlint.infer.transforms.transformed import TransformedFunctions
from jaxlint.project.index import Key, TracedBy, VisibleUpdates
from jaxlint.project.modules import OPAQUE_PACKAGES, Module, Project
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.families import Family
from jaxlint.pytrees.frameworks import BY_BASE, BY_DECORATOR
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.stubs import DESCRIBED
from jaxlint.pytrees.updating import see_updates
from jaxlint.symbols.outline import Function
from jaxlint.syntax.source import Unreadable
from jaxlint_mypy.declared import Inherited, inherited_in, may_transform
from jaxlint_mypy.glimpses import GlimpsedModule

#: Packages that are known by name: what of them jaxlint knows is declared in jaxlint itself.
_KNOWN_PACKAGES = OPAQUE_PACKAGES | {
    *(name.partition(".")[0] for name in (*BY_BASE, *BY_DECORATOR)),
    *("absl", "optax", "typing_extensions", "_typeshed"),
}


class FocusedModel(PytreeModel):
    """The model of which one module at a time is looked at for subclasses, once one is asked for."""

    sees_importers = False
    focused: Module | None = None
    _indexed: Module | None = None

    @cached_property
    def _inherited(self) -> dict[str, Inherited]:
        """What the classes of a module may inherit from, by its path."""
        return {}

    def focus(self, module: Module) -> None:
        """Look at this module from now on."""
        self.focused = module
        self.project_index.indexed = {module.path}

    def subclasses(self, cls: PytreeClass) -> Family:
        """The classes of the module that inherit from `cls`, directly or not."""
        module = self.focused
        if module is None or not self._inherited_in(module).may_hold(cls.name):
            return Family()
        if module is not self._indexed:
            self._indexed = module
            self.project_index.subclasses = subclasses_among(self.classes_in(module))
        return super().subclasses(cls)

    def _inherited_in(self, module: Module) -> Inherited:
        if module.path not in self._inherited:
            self._inherited[module.path] = inherited_in(_text_of(module))
        return self._inherited[module.path]

    def overriding(self, cls: PytreeClass, method: str, most: int) -> list[PytreeClass] | None:
        """Those of them that have a method of that name of their own."""
        return super().overriding(cls, method, most) if self.subclasses(cls) else []

    @cached_property
    def visible_updates(self) -> VisibleUpdates:
        """What the methods of the classes that were asked for so far make of `replace(...)` and kin."""
        found = VisibleUpdates()
        for cls in self.classes_built():
            see_updates(found, self.project.package_root(cls.module.path), cls, self.updating_methods)
        return found


class FocusedTraced(TracedClasses):
    """The classes that one module sends into transformations, once that is asked for."""

    def __init__(self, evaluator: Evaluator, module: Module) -> None:
        super().__init__(evaluator)
        self._module = module

    @cached_property
    def declared(self) -> Mapping[Key, TracedBy]:
        """The classes that the module sends into transformed functions."""
        if not may_transform(_text_of(self._module)):
            return {}
        module, applications = self._module, self.evaluator.calls.transformed.applications
        return self.declared_by(module.outline.functions.values(), applications.in_module(module), module)


class DeclaredTransformed(TransformedFunctions):
    """The functions that are transformed, as far as outlines tell: here, most calls are never read."""

    def of(self, function: Function, module: Module) -> tuple[Applied, ...]:
        """All that decorators, and calls in the module of the function, apply to it."""
        calls = self.applications.in_module(module)
        given = (call.applied for call in calls if call.function.declaration is function)
        return tuple(dict.fromkeys((*super().of(function, module), *given)))


class VisibleProject(Project):
    """The modules of the user, and of installed packages but those that are known by name."""

    module_type = GlimpsedModule

    def find(self, name: str, importer: Module, level: int = 0) -> Module | None:
        """The module that `import name` means, or None if it cannot be seen."""
        return None if not level and is_known_package(name) else super().find(name, importer, level)


def _text_of(module: Module) -> str:
    try:
        return module.source.text
    except Unreadable:  # as what comes by standard input, which mypy has read
        return ""


def holds_no_pytree(name: str) -> bool:
    """Whether no class of a module, or no class by a dotted name, is a pytree that is known: by the package alone."""
    return is_known_package(name) and name.partition(".")[0] not in DESCRIBED


def is_known_package(name: str) -> bool:
    """Whether a module belongs to the standard library or to a package that jaxlint knows by name."""
    top = name.partition(".")[0]
    return top in _KNOWN_PACKAGES or top in sys.stdlib_module_names
