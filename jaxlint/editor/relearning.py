"""Learning again what a project tells after an edit: what modules and units tell that it does not concern is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from jaxlint.editor.edited_units import Difference, Edit, Units
from jaxlint.linter.checker import Checker
from jaxlint.project.index import ImportGraph, Knowledge
from jaxlint.project.modules import Module
from jaxlint.project.reachability import import_graph
from jaxlint.symbols.edited_outline import Mark

#: What a unit tells by what it declares, and by what it applies.
_Told: TypeAlias = tuple[Knowledge, Knowledge]


class _Lesson(msgspec.Struct):
    """What a module told: as a whole, and each unit if it is edited."""

    module: Module
    whole: Knowledge
    units: Units | None = None
    told: dict[Mark, _Told] = msgspec.field(default_factory=dict)

    def knowledge(self) -> Knowledge:
        """All of it, in the order in which a module tells it."""
        found = Knowledge()
        declared, applied = [one for one, _ in self.told.values()], [other for _, other in self.told.values()]
        for part in (self.whole, *declared, *applied):
            found.add(part)
        found.applying = {function: list(dict.fromkeys(paths)) for function, paths in found.applying.items()}
        return found


class _Changes(msgspec.Struct):
    """What to learn again: all but the modules `kept` and, of the one with the units `edited`, what is `told`."""

    kept: set[str] = msgspec.field(default_factory=set)
    edited: Units | None = None
    told: dict[Mark, _Told] = msgspec.field(default_factory=dict)


class Lessons:
    """What the modules of a project told last."""

    def __init__(self) -> None:
        self._lessons: dict[str, _Lesson] = {}
        self._knowledge = Knowledge()

    def learn(
        self, checker: Checker, modules: Sequence[Module], step: Callable[[], None], neighbours: Sequence[Module]
    ) -> None:
        """Let a checker learn from modules, as `Checker.learn` does; nothing is made anew of what stays the same."""
        seen = [*modules, *neighbours]
        for module in seen:
            _ = module.imports
            module.forget_source()
            step()
        if any(module.problem is not None and module.path in self._lessons for module in seen):
            checker.learn(modules, step, neighbours)  # what it told is kept until it can be parsed again
            return
        graph = import_graph(seen, checker.project, checker.packages)
        telling = [module for module in seen if module.path in graph.relevant]
        changes = self._changes(telling, graph)
        checker.know(Knowledge(graph))
        lessons: dict[str, _Lesson] = {}
        knowledge = Knowledge(graph)
        for module in telling:
            if module.path in changes.kept:
                lesson = self._lessons[module.path]
            else:
                is_edited = changes.edited is not None and changes.edited.path == module.path
                lesson = _learnt(checker, module, changes.edited if is_edited else Units.of(module), changes.told, step)
            lessons[module.path] = lesson
            knowledge.add(lesson.knowledge())
            checker.make_room()
        if knowledge.cycles:
            checker.start_again(Knowledge())  # what becomes of classes in a cycle depends on the order
            checker.learn(modules, step, neighbours)
            return
        knowledge.close()
        self._lessons = lessons
        if knowledge != self._knowledge:
            self._knowledge = knowledge
        checker.know(self._knowledge)

    def _changes(self, modules: Sequence[Module], graph: ImportGraph) -> _Changes:
        """What has changed since."""
        lessons = self._lessons
        if graph != self._knowledge.imports or [module.path for module in modules] != list(lessons):
            return _Changes()
        changed = [module for module in modules if lessons[module.path].module is not module]
        if not changed:
            return _Changes(set(lessons))
        lesson, after = lessons[changed[0].path], Units.of(changed[0])
        before = lesson.units
        edit = Edit.between(before, after) if before is not None and after is not None else None
        again = None if edit is None else edit.concerned([Knowledge(graph)], Difference())
        if edit is None or again is None or len(changed) > 1:
            return _Changes()
        others = graph.importing([edit.after.path]) if edit.showing else {edit.after.path}
        again |= {new for _, new in edit.changed}
        told = {mark: lesson.told[mark] for index, mark in enumerate(edit.after.marks) if index not in again}
        return _Changes(lessons.keys() - others, edit.after, told)


def _learnt(
    checker: Checker, module: Module, units: Units | None, told: Mapping[Mark, _Told], step: Callable[[], None]
) -> _Lesson:
    """What a module tells; some of its units have `told` it already."""
    if units is None:
        return _Lesson(module, checker.told_by(module))
    lesson = _Lesson(module, Knowledge(), units)
    checker.learner(lesson.whole).learn_module(module)
    for index, mark in enumerate(units.marks):
        if mark in told:
            lesson.told[mark] = told[mark]
            continue
        step()
        lesson.told[mark] = declared, applied = Knowledge(), Knowledge()
        checker.learner(declared).learn_declared(module, units.classes[index], units.functions[index])
        checker.learner(applied).learn_applied(module, units.applying[index])
    return lesson
