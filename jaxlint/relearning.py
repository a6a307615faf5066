"""Learning again what a project tells after an edit: what modules and units tell that it does not concern is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from jaxlint.checker import Checker
from jaxlint.edited_units import Difference, Edit, Units
from jaxlint.knowledge import ImportGraph, Knowledge
from jaxlint.project import Module
from jaxlint.reach import import_graph


class _Lesson(msgspec.Struct):
    """What a module told: as a whole, and, if it is edited, what each unit declares and applies."""

    module: Module
    whole: Knowledge
    units: Units | None = None
    declared: list[Knowledge] = msgspec.field(default_factory=list)
    applied: list[Knowledge] = msgspec.field(default_factory=list)

    def knowledge(self) -> Knowledge:
        """All of it, in the order in which a module tells it."""
        found = Knowledge()
        for part in (self.whole, *self.declared, *self.applied):
            found.add(part)
        found.applying = {function: list(dict.fromkeys(paths)) for function, paths in found.applying.items()}
        return found


class _Changes(msgspec.Struct):
    """What has to be learnt again: all but the modules `kept`, and of the edited one only the units `again`."""

    kept: set[str] = msgspec.field(default_factory=set)
    edit: Edit | None = None
    again: set[int] = msgspec.field(default_factory=set)


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
            elif changes.edit is not None and module.path == changes.edit.after.path:
                lesson = _learnt(checker, module, changes.edit.after, step, self._lessons[module.path], changes)
            else:
                lesson = _learnt(checker, module, Units.of(module), step)
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
        before, after = lessons[changed[0].path].units, Units.of(changed[0])
        edit = Edit.between(before, after) if before is not None and after is not None else None
        again = None if edit is None else edit.concerned([Knowledge(graph)], Difference())
        if edit is None or again is None or len(changed) > 1:
            return _Changes()
        others = graph.importing([edit.after.path]) if edit.showing else {edit.after.path}
        return _Changes(lessons.keys() - others, edit, again | {new for _, new in edit.changed})


def _learnt(
    checker: Checker,
    module: Module,
    units: Units | None,
    step: Callable[[], None],
    before: _Lesson | None = None,
    changes: _Changes | None = None,
) -> _Lesson:
    """What a module tells; the units that did not change tell what they told `before`."""
    if units is None:
        return _Lesson(module, checker.told_by(module))
    lesson = _Lesson(module, Knowledge(), units)
    checker.learner(lesson.whole).learn_module(module)
    for index, mark in enumerate(units.marks):
        if before is not None and before.units is not None and changes is not None and index not in changes.again:
            known = before.units.index[mark]
            lesson.declared.append(before.declared[known])
            lesson.applied.append(before.applied[known])
            continue
        step()
        lesson.declared.append(Knowledge())
        checker.learner(lesson.declared[-1]).learn_declared(module, units.classes[index], units.functions[index])
        lesson.applied.append(Knowledge())
        checker.learner(lesson.applied[-1]).learn_applied(module, units.applying[index])
    return lesson
