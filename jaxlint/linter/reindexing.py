"""Indexing a project again after a change: who does not lead to what has changed adds to the index what it did."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec
from msgspec import structs

from jaxlint.linter.checker import Checker
from jaxlint.project.index import ImportGraph, IndexedModule, ProjectIndex, StoredIndex
from jaxlint.project.modules import Module
from jaxlint.project.reachability import import_graph


def stored_index(project_index: ProjectIndex, modules: Iterable[Module], parts: Mapping[str, bytes]) -> StoredIndex:
    """An index as a run stores it, with the parts of its modules."""
    encode = msgspec.msgpack.encode
    stored = {m.path: msgspec.Raw(encode(IndexedModule(m.links, parts.get(m.path, b"")))) for m in modules}
    return StoredIndex(msgspec.Raw(encode(project_index)), stored)


def indexed_again(
    checker: Checker, stored: StoredIndex, changed: Iterable[Module], dirty: Collection[str]
) -> StoredIndex | None:
    """What is stored after some modules have `changed`, if the index is the same; None if it is not.

    Asked are those modules and all that are `dirty` for them. If something fails meanwhile, it counts as another one.
    """
    index = stored.index
    if index.cycles:
        return None  # what becomes of classes in a cycle depends on which is built first
    for module in changed:
        known = stored.module(module.path)
        if known is None or known.links != module.links:
            return None
    checker.adopt(ProjectIndex(index.imports))
    other: dict[str, ProjectIndex] = {}
    for path in sorted(dirty):
        known = stored.module(path)
        if known is not None and known.part:
            part, before = checker.part_of(checker.project.add_file(path)), _part(known)
            if checker.errors or part.cycles or part.seeing != before.seeing:
                return None
            if part != before:
                other[path] = part
            checker.evict()
    return _with_parts(stored, index, other) if other else stored


def _with_parts(stored: StoredIndex, index: ProjectIndex, other: Mapping[str, ProjectIndex]) -> StoredIndex | None:
    """What is stored, with other parts of some modules; None if the sum of all parts is another one then.

    What has to do with JAX at all must not have changed: it is part of who imports whom.
    """
    again, modules = ProjectIndex(index.imports), dict(stored.modules)
    for path in stored.modules:
        known = stored.module(path)
        assert known is not None
        if path in other:
            encoded = msgspec.msgpack.encode(other[path])
            modules[path] = msgspec.Raw(msgspec.msgpack.encode(IndexedModule(known.links, encoded)))
        if known.part:
            again.add(other[path] if path in other else _part(known))
    again.close()
    return structs.replace(stored, modules=modules) if again == index else None


def _part(known: IndexedModule) -> ProjectIndex:
    """The part of a module in the index."""
    return msgspec.msgpack.decode(known.part, type=ProjectIndex)


class IndexedModules:
    """The parts that the modules of a project had in the index when it was made last, by path."""

    def __init__(self) -> None:
        self._graph = ImportGraph()
        self._parts: dict[str, ProjectIndex] = {}
        #: Those whose part has to be made anew.
        self._dirty: set[str] = set()

    def build_index(
        self,
        checker: Checker,
        modules: Sequence[Module],
        step: Callable[[], None],
        neighbours: Sequence[Module],
        dirty: Collection[str],
    ) -> None:
        """Let a checker index modules, as `Checker.build_index` does; the parts of those that are not `dirty` hold."""
        self._dirty.update(dirty)
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
        checker.adopt(ProjectIndex(graph))
        parts: dict[str, ProjectIndex] = {}
        project_index = ProjectIndex(graph)
        for module in relevant:
            step()
            is_known = module.path in self._parts and module.path not in self._dirty
            part = parts[module.path] = self._parts[module.path] if is_known else checker.part_of(module)
            project_index.add(part)
            checker.evict()
        if project_index.cycles:
            checker.start_again()  # what becomes of classes in a cycle depends on the order
            checker.build_index(modules, step, neighbours)
            return
        self._graph, self._parts = graph, parts
        self._dirty.clear()
        project_index.close()
        checker.adopt(project_index)
