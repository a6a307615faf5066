"""Indexing a project again after an edit: what modules told that do not import what has changed is taken over."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxlint.linter.checker import Checker
from jaxlint.project.index import ImportGraph, ProjectIndex
from jaxlint.project.modules import Module
from jaxlint.project.reachability import import_graph


class IndexedModules:
    """What the modules of a project told when they were indexed last, by path."""

    def __init__(self) -> None:
        self._graph = ImportGraph()
        self._told: dict[str, tuple[Module, ProjectIndex]] = {}

    def build_index(
        self, checker: Checker, modules: Sequence[Module], step: Callable[[], None], neighbours: Sequence[Module]
    ) -> None:
        """Let a checker index modules, as `Checker.build_index` does; what stays the same is not made anew."""
        seen = [*modules, *neighbours]
        for module in seen:
            _ = module.imports
            module.forget_source()
            step()
        if any(module.problem is not None and module.path in self._told for module in seen):
            checker.build_index(modules, step, neighbours)  # what it told holds until it can be parsed again
            return
        graph = import_graph(seen, checker.project, checker.packages)
        telling = [module for module in seen if module.path in graph.relevant]
        if graph != self._graph or [module.path for module in telling] != list(self._told):
            self._told = {}
        changed = [module.path for module in telling if self._told.get(module.path, (None,))[0] is not module]
        again = graph.importing(changed)
        checker.adopt(ProjectIndex(graph))
        told: dict[str, tuple[Module, ProjectIndex]] = {}
        project_index = ProjectIndex(graph)
        for module in telling:
            step()
            is_known = module.path not in again
            told[module.path] = self._told[module.path] if is_known else (module, checker.part_of(module))
            project_index.add(told[module.path][1])
            checker.evict()
        if project_index.cycles:
            checker.start_again(ProjectIndex())  # what becomes of classes in a cycle depends on the order
            checker.build_index(modules, step, neighbours)
            return
        self._graph, self._told = graph, told
        project_index.close()
        checker.adopt(project_index)
