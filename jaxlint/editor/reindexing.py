"""Indexing again what a project tells after an edit: what it does not concern is taken over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from jaxlint.editor.edited_units import Difference, Edit, Units
from jaxlint.linter.checker import Checker
from jaxlint.project.index import ImportGraph, ProjectIndex
from jaxlint.project.modules import Module
from jaxlint.project.reachability import import_graph
from jaxlint.symbols.edited_outline import Mark

#: What a unit tells by what it declares, and by what it applies.
_IndexParts: TypeAlias = tuple[ProjectIndex, ProjectIndex]


class _ModulePart(msgspec.Struct):
    """What a module said: as a whole, and each unit if it is edited."""

    module: Module
    whole: ProjectIndex
    units: Units | None = None
    said: dict[Mark, _IndexParts] = msgspec.field(default_factory=dict)

    def project_index(self) -> ProjectIndex:
        """All of it, in the order in which a module tells it."""
        found = ProjectIndex()
        declared, applied = [one for one, _ in self.said.values()], [other for _, other in self.said.values()]
        for part in (self.whole, *declared, *applied):
            found.add(part)
        found.applying = {function: list(dict.fromkeys(paths)) for function, paths in found.applying.items()}
        return found


class _Changes(msgspec.Struct):
    """What to index again: all but the modules `unchanged` and, of the one with the units `edited`, what is `said`."""

    unchanged: set[str] = msgspec.field(default_factory=set)
    edited: Units | None = None
    said: dict[Mark, _IndexParts] = msgspec.field(default_factory=dict)


class ModuleParts:
    """What the modules of a project said last."""

    def __init__(self) -> None:
        self._module_parts: dict[str, _ModulePart] = {}
        self._project_index = ProjectIndex()

    def build_index(
        self, checker: Checker, modules: Sequence[Module], step: Callable[[], None], neighbours: Sequence[Module]
    ) -> None:
        """Let a checker index modules, as `Checker.build_index` does; what stays the same is not made anew."""
        seen = [*modules, *neighbours]
        for module in seen:
            _ = module.imports
            module.forget_source()
            step()
        if any(module.problem is not None and module.path in self._module_parts for module in seen):
            checker.build_index(modules, step, neighbours)  # what it said holds until it can be parsed again
            return
        graph = import_graph(seen, checker.project, checker.packages)
        telling = [module for module in seen if module.path in graph.relevant]
        changes = self._changes(telling, graph)
        checker.adopt(ProjectIndex(graph))
        module_parts: dict[str, _ModulePart] = {}
        project_index = ProjectIndex(graph)
        for module in telling:
            if module.path in changes.unchanged:
                module_part = self._module_parts[module.path]
            else:
                is_edited = changes.edited is not None and changes.edited.path == module.path
                module_part = _indexed_module(
                    checker, module, changes.edited if is_edited else Units.of(module), changes.said, step
                )
            module_parts[module.path] = module_part
            project_index.add(module_part.project_index())
            checker.evict()
        if project_index.cycles:
            checker.start_again(ProjectIndex())  # what becomes of classes in a cycle depends on the order
            checker.build_index(modules, step, neighbours)
            return
        project_index.close()
        self._module_parts = module_parts
        if project_index != self._project_index:
            self._project_index = project_index
        checker.adopt(self._project_index)

    def _changes(self, modules: Sequence[Module], graph: ImportGraph) -> _Changes:
        """What has changed since."""
        module_parts = self._module_parts
        if graph != self._project_index.imports or [module.path for module in modules] != list(module_parts):
            return _Changes()
        changed = [module for module in modules if module_parts[module.path].module is not module]
        if not changed:
            return _Changes(set(module_parts))
        module_part, after = module_parts[changed[0].path], Units.of(changed[0])
        before = module_part.units
        edit = Edit.between(before, after) if before is not None and after is not None else None
        again = None if edit is None else edit.concerned([ProjectIndex(graph)], Difference())
        if edit is None or again is None or len(changed) > 1:
            return _Changes()
        others = graph.importing([edit.after.path]) if edit.showing else {edit.after.path}
        again |= {new for _, new in edit.changed}
        said = {mark: module_part.said[mark] for index, mark in enumerate(edit.after.marks) if index not in again}
        return _Changes(module_parts.keys() - others, edit.after, said)


def _indexed_module(
    checker: Checker, module: Module, units: Units | None, said: Mapping[Mark, _IndexParts], step: Callable[[], None]
) -> _ModulePart:
    """What a module tells; some of its units have `said` it already."""
    if units is None:
        return _ModulePart(module, checker.part_of(module))
    module_part = _ModulePart(module, ProjectIndex(), units)
    checker.indexer(module_part.whole).index_module(module)
    for index, mark in enumerate(units.marks):
        if mark in said:
            module_part.said[mark] = said[mark]
            continue
        step()
        module_part.said[mark] = declared, applied = ProjectIndex(), ProjectIndex()
        checker.indexer(declared).index_declared(module, units.classes[index], units.functions[index])
        checker.indexer(applied).index_applied(module, units.applying[index])
    return module_part
