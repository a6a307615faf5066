"""Drawing the pytree of a class: leaves, static fields, where each comes from, how instances are rebuilt."""

from __future__ import annotations

import os

from jaxlint.config.settings import Settings
from jaxlint.errors import UserError
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.values import as_instance
from jaxlint.linter.checker import Checker
from jaxlint.linter.engine import make_project
from jaxlint.project.modules import Module
from jaxlint.pytrees.model import Field, Placed, PytreeClass, Role
from jaxlint.pytrees.stubs import is_stub
from jaxlint.syntax.expressions import Span
from jaxlint.syntax.paths import shown_path
from jaxlint.syntax.spelling import did_you_mean

_FROZEN = {True: "frozen", False: "mutable", None: "frozen or not: unknown"}
_WIDTH = len("unknown")


def draw_tree(path: str, class_name: str | None, settings: Settings) -> str:
    """The pytree of the class `class_name` of the file `path`, or of all its pytree classes, as text.

    Raises `UserError` if the file has no such class or no pytree class, `Unreadable` if it cannot be read.
    """
    if os.path.isdir(path):
        raise UserError(f"{path}: is a folder; name a file")
    file = os.path.abspath(path)
    checker = Checker(make_project([file], settings), settings)
    module = checker.project.add_file(file)
    checker.build_index([module])
    if module.problem is not None:
        raise module.problem
    classes = checker.model.classes_in(module)
    if class_name is not None:
        chosen = [c for c in classes if c.symbol.declaration.qualname == class_name]
        if not chosen:
            hint = did_you_mean(class_name, [c.symbol.declaration.qualname for c in classes])
            raise UserError(f"{path}: there is no class `{class_name}`{hint}")
    else:
        chosen = [c for c in classes if c.is_pytree]
        if not chosen:
            raise UserError(f"{path}: there is no pytree class in this file")
    drawer = Drawer(checker.reader.evaluator)
    return "\n\n".join(drawer.draw(cls) for cls in chosen) + "\n"


class Drawer:
    """Draws classes; `evaluator` reads the annotations of their fields."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    def draw(self, cls: PytreeClass) -> str:
        """One class with its fields, and the fields of the classes that its leaves hold."""
        lines = [f"{cls.name}  {cls.framework.title}  {_place(cls.module, cls.symbol.declaration.name_at)}"]
        lines.append("  " + "; ".join(_facts(cls)))
        lines += ["  " + line for line in self._fields(cls, (cls,))]
        if not cls.fields_known:
            lines.append("  (there may be more fields: a base class or a part of the class cannot be seen)")
        return "\n".join(lines)

    def _fields(self, cls: PytreeClass, path: tuple[PytreeClass, ...]) -> list[str]:
        lines: list[str] = []
        fields = _ordered(cls)
        for field in fields:
            last = field is fields[-1]
            lines.append(f"{'└─' if last else '├─'} {self._field(field, cls)}")
            nested = self._nested(field, cls)
            if nested is not None and nested not in path and len(path) < 6:
                indent = "   " if last else "│  "
                lines += [indent + line for line in self._fields(nested, (*path, nested))]
        return lines

    def _field(self, field: Field, cls: PytreeClass) -> str:
        text = f"{field.role.value:<{_WIDTH}}  {field.name}"
        if field.annotation is not None:
            text += f": {_written(field.annotation)}"
        if field.default is not None:
            text += f" = {_written(field.default)}"
        elif field.factory is not None:
            text += f" = {_written(field.factory)}()"
        if field.owner != cls.symbol:
            text += f"  (from {field.owner.declaration.name}, {_place(field.owner.module, field.at)})"
        return text

    def _nested(self, field: Field, cls: PytreeClass) -> PytreeClass | None:
        """The pytree class that a leaf field holds."""
        if field.role is not Role.LEAF or field.annotation is None:
            return None
        instance = as_instance(self.evaluator.annotations.read(field.annotation, cls))
        return instance.cls if instance is not None and instance.cls.is_pytree else None


def _facts(cls: PytreeClass) -> list[str]:
    facts = [_FROZEN[cls.frozen]]
    if not cls.is_pytree:
        return [*facts, "no pytree: jax takes an instance for one opaque leaf"]
    if cls.registered is False:
        facts.append("not registered: one opaque leaf (decorate the class too)")
    elif cls.registered is None:
        facts.append("registered or not: unknown")
    facts.append(f"rebuilding {cls.framework.unflatten.value}")
    facts.append(f"leaves in {cls.framework.leaf_order.value} order")
    if cls.has_framework_replace:
        facts.append(f"copied with changes by .{cls.framework.replace_method}()")
    return facts


def _ordered(cls: PytreeClass) -> list[Field]:
    """Leaves in the order of flattening, then what is no leaf; the order of declaration if some role is unknown."""
    leaves = cls.leaves
    if leaves is None:
        return list(cls.fields)
    return [*leaves, *(f for f in cls.fields if f not in leaves)]


def _written(placed: Placed) -> str:
    """An expression as it stands in its file."""
    at = placed.expr.at
    if not isinstance(at, tuple):
        return "..."
    row, column, end_row, end_column = at
    source = placed.module.source
    start = source.offset(row, source.codepoint_column(row, column))
    end = source.offset(end_row, source.codepoint_column(end_row, end_column))
    return " ".join(source.text[start:end].split())


def _place(module: Module, at: Span) -> str:
    return module.name if is_stub(module) else f"{shown_path(module.path)}:{at.row}"
