"""Which modules have to do with JAX at all: those that import a framework, directly or through other modules."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from jaxlint.project.index import ImportGraph
from jaxlint.project.modules import Module, Project


def import_graph(modules: Sequence[Module], project: Project, packages: Collection[str]) -> ImportGraph:
    """Who imports whom among `modules` and those that they import, checked or not.

    The modules that reach one of the `packages`, or an installed module, are relevant.
    """
    wanted = frozenset(packages)
    importers: dict[str, list[str]] = {}
    reached: list[str] = []
    pending = list(reversed(modules))
    given = {module.path for module in modules}
    seen = set(given)
    outward: set[str] = set()
    registering: dict[str, list[str]] = {}
    while pending:
        module = pending.pop()
        imports = module.imports
        for name in module.links.registers:
            registering.setdefault(name, []).append(module.path)
        tops = {name.partition(".")[0] for level, name in imports if level == 0} | {module.name.partition(".")[0]}
        direct = not wanted.isdisjoint(tops)
        if direct:
            reached.append(module.path)
        for level, name in imports:
            imported = _imported(level, name, module, project)
            if imported is None or imported is module:
                continue
            importers.setdefault(imported.path, []).append(module.path)
            if not (imported.path in given or imported.is_irrelevant or imported.is_namespace):
                outward.add(module.path)
            if _is_installed(imported, project):
                reached.append(module.path)
            elif not direct and imported.path not in seen:
                seen.add(imported.path)
                pending.append(imported)
                _ = imported.imports
                imported.forget_source()
                if project.store is not None and project.store.is_full:
                    imported.forget_outline()  # who imports all others would bring all outlines into memory
    graph = ImportGraph(set(), importers, outward, registering)
    graph.relevant = graph.importing(reached)
    return graph


def _imported(level: int, name: str, module: Module, project: Project) -> Module | None:
    """The module that an import means; if that cannot be found out, the importing module has failed."""
    try:
        return project.find(name, module, level)
    except Exception as error:
        module.failure = error
        return None


def _is_installed(module: Module, project: Project) -> bool:
    return any(module.path.startswith(root + os.sep) for root in project.site_packages)
