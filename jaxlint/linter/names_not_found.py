"""Whether the names that `extra-decorators` and kin give a meaning are those of something."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from jaxlint.config.settings import Settings
from jaxlint.linter.engine import make_project
from jaxlint.linter.extra_names import extra_names
from jaxlint.project.modules import Module, Project
from jaxlint.syntax.source import Unreadable


def names_not_found(checked: Iterable[tuple[Settings, Sequence[str]]], asked: Sequence[str]) -> Iterator[str]:
    """What is wrong with extra names of modules that are neither found nor named in a file that was checked."""
    for settings, files in checked:
        tables = extra_names(settings)
        if not files or not any(tables.values()):
            continue
        project = make_project(files, settings, asked=asked)
        modules = [project.add_file(path) for path in files]
        for key, names in tables.items():
            for name in names:
                problem = _problem(name, project, modules)
                if problem:
                    yield f"{key}: `{name}` stands for nothing: {problem}"


def _problem(name: str, project: Project, modules: Sequence[Module]) -> str:
    """What is wrong with a name as these modules would import it; nothing if they may have it."""
    parts = name.split(".")
    importers = {one.roots: one for one in modules}.values()
    if len(parts) == 1:
        return ""
    for end in range(len(parts) - 1, 0, -1):
        holder = ".".join(parts[:end])
        found = [one for i in importers if (one := project.find(holder, i)) is not None]
        if found:
            may_be_there = any(_may_have(module, parts[end]) for module in found)
            if may_be_there or (found[0].is_package and _is_mentioned(parts[end], modules)):
                return ""  # a package may have compiled modules
            return f"`{holder}` has no `{parts[end]}`"
    if _is_mentioned(parts[0], modules):
        return ""
    return f"no module `{parts[0]}` is found, and no file that was checked names one"


def _may_have(module: Module, name: str) -> bool:
    """Whether a module may have something of a name."""
    outline = module.outline
    is_open = bool(outline.star_imports) or "__getattr__" in outline.module_scope.bindings
    return is_open or module.problem is not None or name in outline.module_scope.bindings


def _is_mentioned(word: str, modules: Sequence[Module]) -> bool:
    """Whether a word stands in one of the modules."""
    pattern = re.compile(rf"\b{re.escape(word)}\b")
    return any(_mentions(module, pattern) for module in modules)


def _mentions(module: Module, word: re.Pattern[str]) -> bool:
    try:
        return word.search(module.source.text) is not None
    except Unreadable:
        return False
