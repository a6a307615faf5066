"""Learning what the check of one module asks of the project as a whole, module by module."""

from __future__ import annotations

from collections.abc import Iterable

from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.transformed import TransformedFunctions
from jaxlint.knowledge import Key, Knowledge
from jaxlint.project import Module
from jaxlint.pytrees.array_fields import names_array
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.stubs import ALWAYS_DESCRIBED, DESCRIBED


class Learner:
    """Adds to `knowledge` what modules tell. The model must know who imports whom already."""

    def __init__(self, evaluator: Evaluator, transformed: TransformedFunctions, knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self._model = evaluator.model
        self._evaluator = evaluator
        self._transformed = transformed
        #: The classes that were looked at.
        self._seen: set[Key] = set()

    def learn(self, module: Module) -> None:
        """Add what a module tells, whose turn it is."""
        knowledge = self.knowledge
        knowledge.indexed.add(module.path)
        classes = self._model.classes_in(module)
        for ancestor, keys in subclasses_among(classes).items():
            knowledge.subclasses.setdefault(ancestor, []).extend(keys)
        for cls in classes:
            for one in cls.mro:
                if one.symbol.key not in self._seen:
                    self._seen.add(one.symbol.key)
                    self._see(one)
        knowledge.cycles += self._model.cycles
        self._model.cycles.clear()
        if any(level == 0 and self._is_described(name, module) for level, name in module.outline.imported_modules):
            knowledge.seeing.add(module.path)
        knowledge.transformed_names |= self._transformed.names(module)
        knowledge.names_with_static_arguments |= self._transformed.names_with_static_arguments(module)
        for application in self._transformed.applications.in_module(module):
            if application.function.module is not module:
                modules = knowledge.applying.setdefault(application.function.key, [])
                if module.path not in modules:
                    modules.append(module.path)
        for key, crossing in self._evaluator.crossings.declared_in(module).items():
            knowledge.crossings.setdefault(key, crossing)

    def _is_described(self, name: str, module: Module) -> bool:
        """Whether what is imported is of a package of which we describe classes."""
        package = name.partition(".")[0]
        return package in DESCRIBED and (package in ALWAYS_DESCRIBED or self._model.project.find(name, module) is None)

    def _see(self, cls: PytreeClass) -> None:
        """Add what a class is called, has and does."""
        knowledge = self.knowledge
        knowledge.visible_updates.see(
            self._model.project.package_root(cls.module.path), cls, self._model.updating_methods
        )
        if not cls.is_pytree:
            return
        knowledge.seeing.update(one.module.path for one in cls.mro)
        knowledge.pytree_class_names.add(cls.name)
        if cls.tells_when_constructed:
            knowledge.telling_class_names.add(cls.name)
        knowledge.static_field_names.update(f.name for f in cls.static_fields)
        knowledge.array_field_names.update(
            f.name for f in cls.fields if f.annotation and names_array(f.annotation.expr)
        )
        knowledge.updating_method_names |= cls.framework.copying_methods
        for name, qualnames in cls.symbol.declaration.methods.items():
            function = cls.module.outline.functions[qualnames[-1]]
            if self._model.updating_methods.updates(cls, function, cls.module):
                knowledge.updating_method_names.add(name)
            if cls.frozen is not True and not name.startswith("__"):
                knowledge.method_calls.setdefault(function.name, set()).update(function.self_calls)
                if function.self_assignments or function.self_mutations:
                    knowledge.changing_method_names.add(function.name)


def subclasses_among(classes: Iterable[PytreeClass]) -> dict[Key, list[Key]]:
    """Which of the classes inherit from a class, directly or not."""
    found: dict[Key, list[Key]] = {}
    for cls in classes:
        for ancestor in cls.mro[1:]:
            found.setdefault(ancestor.symbol.key, []).append(cls.symbol.key)
    return found
