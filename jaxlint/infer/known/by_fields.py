"""Of which class a variable is that nothing else tells of: the only one in sight that has all that is read of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cached_property

from jaxlint.infer.known.values import Instance
from jaxlint.libraries.arrays import OF_ARRAYS
from jaxlint.project.modules import Module
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.missing_members import misses_attribute
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Definition, Function, Import

#: A variable and an attribute of it, and whether that is assigned.
_READ = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\.([A-Za-z_]\w*)(\s*(?:[-+*/|&@%^]|//|\*\*)?=(?!=))?")
#: A variable of which code asks what it is, or what it has: it may be something else.
_ASKED = re.compile(r"\b(?:isinstance|hasattr|getattr|type|callable|is_dataclass)\(\s*([A-Za-z_]\w*)\b")
#: What a program was started with, which often has the names of what is made of it.
_SETTINGS = re.compile(
    r"^_?(?:args|opts?|options|flags|namespace|ns|parsed|cli|cfg|conf|configs?|hparams|hps?|settings)$", re.I
)
#: How many fields must be read of a variable.
_FEWEST = 2


class ByFields:
    """Finds such variables in the functions of a project."""

    def __init__(self, model: PytreeModel) -> None:
        self.model = model
        self._functions: dict[tuple[str, str], VariablesByFields] = {}
        self._classes: dict[str, list[PytreeClass]] = {}

    def variables(self, function: Function, module: Module) -> VariablesByFields | None:
        """Those of a function; None if no pytree class is in sight."""
        if not self._in_sight(module):
            return None
        key = module.path, function.qualname
        if key not in self._functions:
            self._functions[key] = VariablesByFields(function, module, self)
        return self._functions[key]

    def only(self, attrs: Collection[str], module: Module) -> PytreeClass | None:
        """The one class in sight of which an instance may have some attributes, and has two fields among them."""
        telling = [attr for attr in attrs if attr not in OF_ARRAYS]
        classes = [c for c in self._in_sight(module) if len([a for a in telling if c.field(a)]) >= _FEWEST]
        fitting = [cls for cls in classes if self._may_have(cls, attrs)]
        base = next((cls for cls in fitting if all(cls in other.mro for other in fitting)), None)
        if base is None or any(self._may_have(c, attrs) for c in self._others(module) if base not in c.mro):
            return None
        return base

    def _may_have(self, cls: PytreeClass, attrs: Collection[str]) -> bool:
        return not any(misses_attribute(cls, attr, self.model) for attr in attrs)

    def _in_sight(self, module: Module) -> list[PytreeClass]:
        """The pytree classes that names of a module stand for."""
        if module.path not in self._classes:
            named = self.model.project_index.pytree_class_names & module.outline.module_scope.bindings.keys()
            found = (self._class(name, module) for name in sorted(named))
            self._classes[module.path] = [cls for cls in found if cls is not None and cls.is_pytree]
        return self._classes[module.path]

    def _others(self, module: Module) -> Iterator[PytreeClass]:
        """All classes that names of a module stand for."""
        for name, bindings in module.outline.module_scope.bindings.items():
            if isinstance(bindings[-1], (Definition, Import)) and name.lstrip("_")[:1].isupper():
                cls = self._class(name, module)
                if cls is not None:
                    yield cls

    def _class(self, name: str, module: Module) -> PytreeClass | None:
        resolver = self.model.resolver
        return self.model.class_of_symbol(resolver.follow(resolver.resolve_name(name, module)))


class VariablesByFields:
    """Those of one function."""

    def __init__(self, function: Function, module: Module, within: ByFields) -> None:
        self._function, self._module, self._within = function, module, within
        self._found: dict[str, Instance | None] = {}

    def get(self, name: str) -> Instance | None:
        """What a variable is an instance of, if its attributes tell."""
        if name not in self._found:
            attrs = self._read.get(name, ())
            cls = self._within.only(attrs, self._module) if len(attrs) >= _FEWEST else None
            self._found[name] = None if cls is None else Instance(cls, declared=True, by_fields=True)
        return self._found[name]

    @cached_property
    def _read(self) -> dict[str, set[str]]:
        """The attributes of each variable that are read; not of settings, nor where one is assigned or asked for."""
        function, scopes = self._function, self._module.outline.scopes
        text = self._module.source.rows(*function.body_rows)
        unsure = {*_ASKED.findall(text), function.self_name}
        own = scopes[function.inner_scope].bindings.keys()
        read = dict[str, set[str]]()
        for name, attr, is_assigned in _READ.findall(text):
            if is_assigned or _SETTINGS.match(name):
                unsure.add(name)
            elif name in own:
                read.setdefault(name, set()).add(attr)
        return {name: attrs for name, attrs in read.items() if name not in unsure}
