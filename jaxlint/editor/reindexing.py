"""Indexing a project again after an edit: the part of a module that does not import what has changed is taken over."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxlint.linter.checker import Checker
from jaxlint.project.index import ImportGraph, ProjectIndex
from jaxlint.project.modules import Module
from jaxlint.project.reachability import import_graph


class IndexedModules:
    """The parts that the modules of a project had in the index when it was made last, by path."""

    def __init__(self) -> None:
        self._graph = ImportGraph()
        self._parts: dict[str, tuple[Module, ProjectIndex]] = {}

    def build_index(
        self, checker: Checker, modules: Sequence[Module], step: Callable[[], None], neighbours: Sequence[Module]
    ) -> None:
        """Let a checker index modules, as `Checker.build_index` does; what stays the same is not made anew."""
        seen = [*modules, *neighbours]
        for module in seen:
            _ = module.imports
            module.forget_source()
            step()
        if any(module.problem is not None and module.path in self._parts for module in seen):
            checker.build_index(modules, step, neighbours)  # its part holds until it can be parsed again
            return
        graph = import_graph(seen, checker.project, checker.packages)
        relevant = [module for module in seen if module.path in graph.relevant]
        if graph != self._graph or [module.path for module in relevant] != list(self._parts):
            self._parts = {}
        changed = [module.path for module in relevant if self._parts.get(module.path, (None,))[0] is not module]
        again = graph.importing(changed)
        checker.adopt(ProjectIndex(graph))
        parts: dict[str, tuple[Module, ProjectIndex]] = {}
        project_index = ProjectIndex(graph)
        for module in relevant:
            step()
            is_known = module.path not in again
            parts[module.path] = self._parts[module.path] if is_known else (module, checker.part_of(module))
            project_index.add(parts[module.path][1])
            checker.evict()
        if project_index.cycles:
            checker.start_again(ProjectIndex())  # what becomes of classes in a cycle depends on the order
            checker.build_index(modules, step, neighbours)
            return
        self._graph, self._parts = graph, parts
        project_index.close()
        checker.adopt(project_index)
