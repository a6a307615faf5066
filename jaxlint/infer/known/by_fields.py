"""Of which class a variable is that nothing else tells of: the only one in sight that has all that is read of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from jaxlint.infer.known.values import Instance
from jaxlint.libraries.arrays import OF_ARRAYS
from jaxlint.project.modules import Module
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.missing_members import misses_attribute
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Definition, Function, Import

#: A variable and an attribute of it, and whether that is assigned.
_READ = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\.([A-Za-z_]\w*)(\s*(?:[-+*/|&@%^]|//|\*\*)?=(?!=))?")
#: How many fields must be read of a variable.
_FEWEST = 2


class ByFields:
    """Finds such variables in functions."""

    def __init__(self, model: PytreeModel) -> None:
        self.model = model
        self._found: dict[tuple[str, str], Mapping[str, Instance]] = {}

    def variables(self, function: Function, module: Module) -> Mapping[str, Instance]:
        """The variables of a function by name, each with an instance of the only class that it can be of."""
        key = module.path, function.qualname
        if key not in self._found:
            self._found[key] = self._variables(function, module)
        return self._found[key]

    def _variables(self, function: Function, module: Module) -> Mapping[str, Instance]:
        bound = module.outline.module_scope.bindings
        named = sorted(self.model.project_index.pytree_class_names & bound.keys())
        first, last = function.body_rows
        if not named or not last:
            return {}
        text = module.source.rows(first, last)
        own = module.outline.scopes[function.inner_scope].bindings.keys() - {function.self_name}
        read: dict[str, set[str]] = {}
        stored = set[str]()
        for name, attr, is_set in _READ.findall(text):
            if name in own:
                read.setdefault(name, set()).add(attr)
                if is_set:
                    stored.add(name)
        wanted = {n: attrs for n, attrs in read.items() if n not in stored and len(attrs - OF_ARRAYS) >= _FEWEST}
        if not wanted:
            return {}
        classes = [cls for cls in (self._named(name, module) for name in named) if cls is not None]
        found = {}
        for name, attrs in wanted.items():
            cls = self._only(attrs, classes)
            if cls is not None and not self._fits_another(attrs, classes, module):
                found[name] = Instance(cls, declared=True)
        return found

    def _named(self, name: str, module: Module) -> PytreeClass | None:
        """The pytree class that a name of a module stands for."""
        resolver = self.model.resolver
        cls = self.model.class_of_symbol(resolver.follow(resolver.resolve_name(name, module)))
        return cls if cls is not None and cls.is_pytree else None

    def _only(self, attrs: Collection[str], classes: Collection[PytreeClass]) -> PytreeClass | None:
        """The one class that may have some attributes, or that from which all others inherit that do."""
        may_have = [cls for cls in classes if not any(misses_attribute(cls, attr, self.model) for attr in attrs)]
        for cls in may_have:
            if all(cls in other.mro for other in may_have):
                fields = [attr for attr in attrs if attr not in OF_ARRAYS and cls.field(attr) is not None]
                return cls if len(fields) >= _FEWEST else None
        return None

    def _fits_another(self, attrs: Collection[str], classes: Collection[PytreeClass], module: Module) -> bool:
        """Whether a class in sight that is no pytree may have the attributes, too."""
        for name, bindings in module.outline.module_scope.bindings.items():
            binding = bindings[-1]
            if not isinstance(binding, (Definition, Import)) or not name.lstrip("_")[:1].isupper():
                continue
            resolver = self.model.resolver
            other = self.model.class_of_symbol(resolver.follow(resolver.resolve_name(name, module)))
            if other is not None and other not in classes:
                if not any(misses_attribute(other, attr, self.model) for attr in attrs):
                    return True
        return False
