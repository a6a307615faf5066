"""`PytreeProvider`: what jaxlint knows of the nodes of a libcst tree, for codemods and for linters that read libcst."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import libcst as cst
import msgspec
from libcst.metadata import CodeRange, PositionProvider, VisitorMetadataProvider

from jaxlint.config.settings import Settings
from jaxlint.infer.choosing.rows import Rows, place
from jaxlint.infer.evaluating.deferral import Deferral
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.deferred import Held
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.values import ClassObject, Instance, Value, plain
from jaxlint.infer.reading.reader import ModuleReader
from jaxlint.linter.engine import make_checker, make_project
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Expr, Span


class Pytree(msgspec.Struct, frozen=True):
    """What a node has to do with a pytree class.

    The node is an instance of `cls`, or the class itself (`is_class`), declared or named there. If it is an attribute
    that is a `field` of an instance, `owner` is the class of the instance; `cls` is then the class of the value in the
    field, if that is a pytree class, too.
    """

    cls: PytreeClass | None = None
    is_class: bool = False
    owner: PytreeClass | None = None
    field: Field | None = None


#: What is known of the nodes of a file, by their places: rows from 1, columns from 0 in code points.
Known = Mapping[Span, Pytree]


class PytreeProvider(VisitorMetadataProvider[Pytree]):
    """Tells of expressions and of class statements what pytree class they are; nothing of all other nodes."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    @classmethod
    def gen_cache(cls, root_path: Path, paths: Sequence[str], **options: object) -> Mapping[str, Known]:
        """What is known of each file; the paths are relative to the root. Nothing is imported or run."""
        files = {path: os.path.abspath(os.path.join(root_path, path)) for path in paths}
        found = known_in(sorted(files.values()))
        return {path: found.get(file, {}) for path, file in files.items()}

    def __init__(self, cache: Known) -> None:
        """Take what `gen_cache` says of a file."""
        super().__init__(cache)
        self._known = cache

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Say what is known of a node."""
        if isinstance(node, (cst.BaseExpression, cst.ClassDef)):
            at: Any = self.get_metadata(PositionProvider, node.name if isinstance(node, cst.ClassDef) else node, None)
            if isinstance(at, CodeRange):
                place = Span(at.start.line, at.start.column, at.end.line, at.end.column)
                if place in self._known:
                    self.set_metadata(node, self._known[place])
        return True


def known_in(files: Sequence[str]) -> dict[str, Known]:
    """What is known of the nodes of some files."""
    checker = make_checker(make_project(files, Settings()), Settings())
    modules = [checker.project.add_file(file) for file in files]
    readable = [module for module in modules if module.problem is None]
    checker.build_index(readable)
    return {module.path: _known(module, checker.model) for module in readable}


def _known(module: Module, model: PytreeModel) -> Known:
    """What is known of the nodes of a module: all of it is read."""
    evaluator = _RecordingEvaluator(model, module)
    reader = ModuleReader(model, evaluator)
    reader.calls.deferral = _NoDeferral(evaluator, reader.calls.notes)
    reader.triggers.worth_reading(module)
    units = [unit for unit in module.outline.units if unit.kind != "import"]
    chosen = [(unit, Rows([place(piece) for piece in unit.pieces])) for unit in units]
    reader.start(module, chosen)
    env = Environment(module, "")
    for unit, rows in chosen:
        reader.read_unit(module, unit, rows, env)
    known = {at: found for at, found in evaluator.found.items() if found is not None}
    for declaration in module.outline.classes.values():
        cls = model.build(ClassSymbol(module, declaration))
        if cls.is_pytree:
            known[evaluator.place(declaration.name_at)] = Pytree(cls, is_class=True)
    return known


class _NoDeferral(Deferral):
    """Evaluates everything where it stands."""

    def later(self, expr: Expr, env: Environment) -> Held:
        """The value of an expression."""
        return self.evaluator.evaluate(expr, env)

    def skim(self, expr: Expr, env: Environment) -> None:
        """Evaluate an expression whose value nobody wants."""
        self.evaluator.evaluate(expr, env)


class _RecordingEvaluator(Evaluator):
    """Keeps what the expressions of one module are; None for those that are one thing here and another there."""

    def __init__(self, model: PytreeModel, module: Module) -> None:
        super().__init__(model)
        self._module = module
        self.found: dict[Span, Pytree | None] = {}

    def evaluate(self, expr: Expr, env: Environment) -> Value:
        """What is known of the value of an expression, which is kept."""
        value = super().evaluate(expr, env)
        if env.module is self._module:
            found = self._pytree(expr, plain(value), env)
            at = self.place(expr.at)
            self.found[at] = found if self.found.get(at, found) == found else None
        return value

    def place(self, at: object) -> Span:
        """A place with columns in code points."""
        return self._module.source.codepoints(place_of(at))

    def _pytree(self, expr: Expr, value: Value, env: Environment) -> Pytree | None:
        """What an expression has to do with a pytree class."""
        held = value.cls if isinstance(value, (Instance, ClassObject)) and value.cls.is_pytree else None
        owner = plain(super().evaluate(expr.value, env)) if isinstance(expr, Attribute) else None
        field = owner.cls.field(expr.attr) if isinstance(expr, Attribute) and isinstance(owner, Instance) else None
        if isinstance(owner, Instance) and owner.cls.is_pytree and field is not None:
            return Pytree(held, owner=owner.cls, field=field)
        return None if held is None else Pytree(held, is_class=isinstance(value, ClassObject))
