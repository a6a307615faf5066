"""Whether frameworks are at hand whose rules look at every transformed function."""

from __future__ import annotations

from jaxlint.project.modules import Module, Project
from jaxlint.pytrees.frameworks import FRAMEWORKS

#: The modules of these frameworks.
_MODULES = " ".join(
    name.rpartition(".")[0]
    for framework in FRAMEWORKS
    if framework.is_stateful or framework.static_annotation
    for name in sorted((*framework.decorators, *framework.bases))
)


def reaches_function_framework(module: Module, project: Project) -> bool:
    """Whether a module, or one that it imports, imports such a framework."""
    imported = [project.find(name, module, level) for level, name in module.outline.imported_modules]
    near = [module.path, *(m.path for m in imported if m is not None)]
    return bool(project.ask("imports", _MODULES, near, module))
