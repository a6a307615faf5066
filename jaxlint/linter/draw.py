"""From pytree classes to what is drawn of them: leaves, static fields, how instances are rebuilt, what is found."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec import structs

from jaxlint.config.configuration import Configuration
from jaxlint.config.settings import Settings
from jaxlint.errors import UserError
from jaxlint.finding import Finding, page_url
from jaxlint.infer.calls.nnx_values import held_module, is_tree, role_of_value
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Container, as_instance, plain, without_none
from jaxlint.libraries.trees import TREE_TYPES
from jaxlint.linter.checker import Checker
from jaxlint.linter.engine import make_project, package_neighbours
from jaxlint.linter.prefilter import mark_irrelevant_files
from jaxlint.linter.result import Result, add_found
from jaxlint.project.files import discover, is_excluded
from jaxlint.project.modules import Module
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.pytrees.stubs import is_collective, is_stub
from jaxlint.report.drawing import (
    ASSIGNED,
    FLATTENED,
    UNSEEN,
    Drawing,
    DrawnClass,
    DrawnField,
    DrawnFinding,
    Place,
)
from jaxlint.syntax.expressions import Lambda, Span, Subscript
from jaxlint.syntax.paths import shown_path
from jaxlint.syntax.source import Unreadable
from jaxlint.syntax.spelling import did_you_mean

#: How many rows a page may show around a finding.
_CONTEXT = 3
#: The containers that jax flattens.
_TREES = frozenset({"tuple", "list", "dict"})
_ROLES = [Role.LEAF.value, Role.UNKNOWN.value, Role.STATIC.value]


class Target(NamedTuple):
    """What is to be drawn: the pytree classes of a file or folder, or one class of a file."""

    path: str
    class_name: str | None = None


def draw(targets: Sequence[Target], configuration: Configuration, *, sources: bool = False) -> Drawing:
    """The classes of `targets` with what is found about them; with their rows if `sources` are wanted.

    Raises `UserError` if there is no such class or no pytree class, or if a file that was named cannot be read.
    """
    files = discover([target.path for target in targets], configuration.excludes)
    groups = [_Group(settings, own, targets, configuration) for settings, own in configuration.groups(files)]
    drawings = [group.drawn(sources) for group in groups]
    drawing = Drawing(
        chosen=tuple(key for one in drawings for key in one.chosen),
        classes={key: cls for one in drawings for key, cls in one.classes.items()},
        elsewhere=tuple(finding for one in drawings for finding in one.elsewhere),
        sources={path: rows for one in drawings for path, rows in one.sources.items()},
        errors=tuple(line for one in drawings for line in one.errors),
    )
    if not drawing.chosen:
        shown = ", ".join(shown_path(os.path.abspath(target.path)) or os.curdir for target in targets)
        raise UserError(f"{shown}: there is no pytree class here")
    return drawing


def package_path(name: str, settings: Settings) -> str | None:
    """The file or folder that `import name` means for a module in the current folder, or None if it is not seen."""
    if not all(part.isidentifier() for part in name.split(".")):
        return None
    here = os.path.join(os.getcwd(), "__main__.py")
    project = make_project([here], settings)
    module = project.find(name, project.add_file(here))
    if module is None:
        return None
    return os.path.dirname(module.path) if module.is_package and os.path.isfile(module.path) else module.path


class _Group:
    """Files with the same settings."""

    def __init__(
        self, settings: Settings, files: Sequence[str], targets: Sequence[Target], configuration: Configuration
    ) -> None:
        self._settings = settings
        self._project = make_project(files, settings, asked=[target.path for target in targets])
        self._modules = [self._project.add_file(path) for path in files]
        self._named = {os.path.abspath(t.path): t for t in targets if not os.path.isdir(t.path)}
        neighbours = package_neighbours(files, self._project, settings.exclude) if self._named else []
        self._neighbours = [
            module.path
            for module in neighbours
            if not is_excluded(module.path, configuration.excludes(os.path.dirname(module.path)))
        ]
        self._checker = Checker(self._project, settings)
        if not self._named:
            mark_irrelevant_files(self._modules, self._project, settings, digests=False)
        self._checker.build_index(self._modules, neighbours=neighbours)

    def drawn(self, sources: bool) -> Drawing:
        """What is drawn of these files."""
        chosen = [cls for module in self._modules if not module.is_irrelevant for cls in self._chosen(module)]
        asked = [module.path for module in self._modules]
        about = files_about(chosen, self._checker) if self._named else set()
        paths = [*asked, *(path for path in self._neighbours if path in about)]
        drawer = Drawer(self._checker.reader.evaluator, self._findings(paths))
        drawing = drawer.drawing(chosen)
        rows = drawer.rows(drawing) if sources else {}
        shown = {shown_path(path): self._rows(path, wanted) for path, wanted in rows.items()}
        # of a file of which one class is asked for, and of those that were not asked for, the rest is not
        parts = {path for path, target in self._named.items() if target.class_name is not None}
        whole = {shown_path(path) for path in asked if path not in parts}
        elsewhere = tuple(finding for finding in drawing.elsewhere if finding.at.path in whole)
        return Drawing(drawing.chosen, drawing.classes, elsewhere, shown, tuple(sorted(set(self._checker.errors))))

    def _findings(self, paths: Sequence[str]) -> list[Finding]:
        result = Result([], len(paths), [])
        found = [finding for path in paths for finding in self._checker.check(self._project.add_file(path))]
        add_found(result, found, self._settings, paths, ())
        return result.findings

    def _chosen(self, module: Module) -> list[PytreeClass]:
        target = self._named.get(module.path)
        _ = module.outline
        if target is not None and module.problem is not None:
            raise _unreadable(target.path, module.problem)
        classes = self._checker.model.classes_in(module)
        if target is None or target.class_name is None:
            return [cls for cls in classes if cls.is_pytree]
        chosen = [cls for cls in classes if cls.symbol.declaration.qualname == target.class_name]
        if not chosen:
            hint = did_you_mean(target.class_name, [cls.symbol.declaration.qualname for cls in classes])
            raise UserError(f"{target.path}: there is no class `{target.class_name}`{hint}")
        return chosen

    def _rows(self, path: str, rows: Iterable[int]) -> dict[int, str]:
        """Rows of a file that there are."""
        try:
            lines = self._project.add_file(path).source.lines
        except Unreadable:
            return {}
        return {row: lines[row - 1].rstrip("\n") for row in sorted(rows) if 0 < row <= len(lines)}


def files_about(chosen: Sequence[PytreeClass], checker: Checker) -> set[str]:
    """The files in which something may be found about classes: those of all that is drawn, and what imports these."""
    drawer = Drawer(checker.reader.evaluator)
    drawer.drawing(chosen)
    return checker.project_index.imports.importing(drawer.files())


class Drawer:
    """Draws classes; `evaluator` reads the annotations of their fields, `findings` are pinned on them."""

    def __init__(self, evaluator: Evaluator, findings: Iterable[Finding] = ()) -> None:
        self._evaluator = evaluator
        self._findings = list(findings)
        self._about: defaultdict[str, list[Finding]] = defaultdict(list)
        for finding in self._findings:
            self._about[finding.subject].append(finding)
        self._pinned: set[Finding] = set()
        #: What was drawn of the fields that a file declares: the key of the class, and the name of the field.
        self._places: defaultdict[str, defaultdict[Span, list[tuple[str, str]]]]
        self._places = defaultdict(lambda: defaultdict(list))
        self._declared: dict[str, PytreeClass] = {}

    def drawing(self, chosen: Sequence[PytreeClass]) -> Drawing:
        """These classes, and those that their leaves hold."""
        classes: dict[str, DrawnClass] = {}
        pending = list(reversed(chosen))
        while pending:
            cls = pending.pop()
            if _key(cls) not in classes:
                self._declared[_key(cls)] = cls
                fields = [(field, self._held(field, cls)) for field in _ordered(cls)]
                fields_drawn = [self._field(field, cls, held) for field, held in fields]
                attributes = self._attributes(cls)
                classes[_key(cls)] = self._class(cls, [*fields_drawn, *(drawn for drawn, _ in attributes)])
                held_classes = [held for _, held in reversed([*fields, *attributes]) if held is not None]
                pending += [held for held in held_classes if not is_collective(held.symbol)]
        for finding in self._findings:
            if finding not in self._pinned:
                self._pin_by_place(finding, classes)
        elsewhere = tuple(_drawn_finding(f) for f in self._findings if f not in self._pinned)
        return Drawing(tuple(dict.fromkeys(map(_key, chosen))), classes, elsewhere)

    def files(self) -> set[str]:
        """The files that declare what was drawn."""
        declaring = {owner for cls in self._declared.values() for owner in (cls, *cls.mro)}
        return {cls.module.path for cls in declaring if not is_stub(cls.module)}

    def rows(self, drawing: Drawing) -> dict[str, set[int]]:
        """The rows of each file (its whole path) that hold what is drawn, and those around findings."""
        rows: defaultdict[str, set[int]] = defaultdict(set)
        for key in drawing.classes:
            cls = self._declared[key]
            if not is_stub(cls.module):
                first, last = _extent(cls)
                rows[cls.module.path].update(range(first, last + 1))
            for field in cls.fields:
                if not is_stub(field.owner.module):
                    rows[field.owner.module.path].update(_around_row(field.at.row))
        for finding in self._findings:
            rows[finding.path].update(_around_row(finding.row))
        return rows

    def _class(self, cls: PytreeClass, fields: Sequence[DrawnField]) -> DrawnClass:
        return DrawnClass(
            key=_key(cls),
            name=cls.name,
            framework=cls.framework.title,
            at=_place(cls.module, cls.symbol.declaration.name_at),
            is_pytree=cls.is_pytree,
            registered=cls.registered,
            frozen=cls.frozen,
            rebuilt=cls.framework.unflatten.value,
            leaf_order=cls.framework.leaf_order.value,
            replace=(cls.framework.replace_method or "") if cls.has_framework_replace else "",
            complete=cls.fields_known,
            missing=may_miss(cls),
            fields=tuple(fields),
            findings=self._pin(_subjects(cls)),
        )

    def _field(self, field: Field, cls: PytreeClass, held: PytreeClass | None) -> DrawnField:
        default = ""
        if field.default is not None:
            default = _written(field.default)
        elif field.factory is not None:
            made_by = _written(field.factory)
            default = f"({made_by})()" if isinstance(field.factory.expr, Lambda) else f"{made_by}()"
        return self._drawn(
            cls,
            self._evaluator.model.build(field.owner),
            field.name,
            field.at,
            role=field.role,
            annotation="" if field.annotation is None else _written(field.annotation),
            default=default,
            held=held,
            is_tree=held is not None or self._is_container(field, cls),
        )

    def _drawn(
        self,
        cls: PytreeClass,
        owner: PytreeClass,
        name: str,
        at: Span,
        *,
        role: Role,
        annotation: str = "",
        default: str,
        held: PytreeClass | None,
        is_tree: bool,
    ) -> DrawnField:
        subjects = [f"{subject}.{name}" for one in (cls, owner) for subject in _subjects(one)]
        if at != owner.symbol.declaration.name_at:  # the place of what is declared nowhere
            self._places[owner.module.path][owner.module.source.codepoints(at)].append((_key(cls), name))
        return DrawnField(
            name=name,
            role=role.value,
            kind="subtree" if is_tree and role is Role.LEAF else role.value,
            annotation=annotation,
            default=default,
            at=_place(owner.module, at),
            owner=owner.name if owner is not cls else "",
            holds="" if held is None or is_collective(held.symbol) else _key(held),
            findings=self._pin(subjects),
        )

    def _attributes(self, cls: PytreeClass) -> list[tuple[DrawnField, PytreeClass | None]]:
        """What methods assign where the value decides whether an attribute is a leaf, and the classes that it holds."""
        found: dict[str, tuple[DrawnField, PytreeClass | None]] = {}
        if not (cls.framework.reads_dict and cls.framework.static_by_value):
            return []
        for owner in cls.mro:
            for scope, assignment in owner.own_assignments:
                if assignment.attr in found or cls.field(assignment.attr) is not None:
                    continue
                given = None if assignment.value is None else Placed(assignment.value, owner.module, scope)
                held = None if given is None else held_module(given, self._evaluator)
                drawn = self._drawn(
                    cls,
                    owner,
                    assignment.attr,
                    assignment.at,
                    role=Role.UNKNOWN if given is None else role_of_value(given, self._evaluator),
                    default="" if given is None else _written(given),
                    held=held,
                    is_tree=given is not None and is_tree(given, self._evaluator),
                )
                found[assignment.attr] = drawn, held
        return sorted(found.values(), key=lambda one: (_ROLES.index(one[0].role), one[0].name))

    def _held(self, field: Field, cls: PytreeClass) -> PytreeClass | None:
        """The pytree class that a leaf field holds."""
        if field.role is not Role.LEAF or field.annotation is None:
            return None
        instance = as_instance(self._evaluator.annotations.read(field.annotation, cls))
        return instance.cls if instance is not None and instance.cls.is_pytree else None

    def _is_container(self, field: Field, cls: PytreeClass) -> bool:
        """Whether a field holds a container or another tree, whose items are the leaves, or what is in them."""
        if field.annotation is None:
            return False
        value = without_none(plain(self._evaluator.annotations.read(field.annotation, cls)))
        if isinstance(value, Container) and value.kind in _TREES:
            return True
        written = field.annotation.expr
        named = written.value if isinstance(written, Subscript) else written
        resolver = self._evaluator.model.resolver
        return resolver.library_name(named, field.annotation.module, field.annotation.scope) in TREE_TYPES

    def _pin(self, subjects: Iterable[str]) -> tuple[DrawnFinding, ...]:
        found = dict.fromkeys(f for subject in subjects for f in self._about[subject])
        self._pinned.update(found)
        return tuple(_drawn_finding(finding) for finding in sorted(found, key=lambda f: f.sort_key))

    def _pin_by_place(self, finding: Finding, classes: dict[str, DrawnClass]) -> None:
        """Pin what is about nothing that is drawn on the field in whose row it is, else on the class around it."""
        around = self._around(finding)
        holders = self._at_place(finding) or ([] if around is None else [(around, "")])
        found = (_drawn_finding(finding),)
        for key, name in holders:
            self._pinned.add(finding)
            cls = classes[key]
            if not name:
                classes[key] = structs.replace(cls, findings=cls.findings + found)
                continue
            fields = (structs.replace(f, findings=f.findings + found) if f.name == name else f for f in cls.fields)
            classes[key] = structs.replace(cls, fields=tuple(fields))

    def _at_place(self, finding: Finding) -> list[tuple[str, str]]:
        """The field in whose row something is found, in all classes that are drawn with it.

        Of several fields in a row it is the one whose name is there; else the one that the message names; else the last
        that begins before it.
        """
        places = self._places[finding.path]
        begin = (finding.row, finding.column - 1)

        def nearness(at: Span) -> tuple[bool, bool, bool, Span]:
            named = any(f"`{name}`" in finding.message for _, name in places[at])
            return at[:2] <= begin < at[2:], named, at[:2] <= begin, at

        inside = [at for at in places if at.row <= finding.row <= at.end_row]
        return places[max(inside, key=nearness)] if inside else []

    def _around(self, finding: Finding) -> str | None:
        """The key of the innermost class that is drawn around the place of a finding."""
        holding = [
            (last - first, key)
            for key, cls in self._declared.items()
            for first, last in [_extent(cls)]
            if cls.module.path == finding.path and first <= finding.row <= last
        ]
        return min(holding)[1] if holding else None


def _subjects(cls: PytreeClass) -> Iterator[str]:
    """What rules call a class in the subject of a finding."""
    yield f"{cls.module.path}::{cls.symbol.declaration.qualname}"
    yield cls.symbol.full_name


def may_miss(cls: PytreeClass) -> str:
    """What of a class may not be drawn, and why; empty if nothing is missing."""
    if cls.fields_known:
        return ""
    if not cls.bases_known or any(c.is_dataclass and c.symbol.declaration.conditional_body for c in cls.mro):
        return UNSEEN
    if cls.framework.flattens_itself:
        return "" if cls.registered is False else FLATTENED  # nothing flattens what is one leaf
    return ASSIGNED


def _key(cls: PytreeClass) -> str:
    place = cls.module.name if is_stub(cls.module) else shown_path(cls.module.path)
    return f"{place}::{cls.symbol.declaration.qualname}"


def _drawn_finding(finding: Finding) -> DrawnFinding:
    at = Place(shown_path(finding.path), finding.row, finding.end_row)
    message = " ".join(finding.message.split())
    return DrawnFinding(
        finding.code, finding.name, message, finding.severity.value, page_url(finding.code, finding.name), at
    )


def _ordered(cls: PytreeClass) -> list[Field]:
    """Leaves in the order of flattening, then what is no leaf; the order of declaration if some role is unknown.

    What only the description of many classes says is left out.
    """
    leaves = cls.leaves
    ordered = cls.fields if leaves is None else [*leaves, *(f for f in cls.fields if f not in leaves)]
    return [field for field in ordered if not is_collective(field.owner)]


def _written(placed: Placed) -> str:
    """An expression as it stands in its file."""
    at = placed.expr.at
    if not isinstance(at, tuple):
        return "..."
    return " ".join(placed.module.source.segment(*at).split())


def _extent(cls: PytreeClass) -> tuple[int, int]:
    """The first and the last row of a class with its decorators."""
    declaration = cls.symbol.declaration
    first = min([declaration.at.row, *(decorator.at.row for decorator in declaration.decorators)])
    return first, declaration.at.end_row


def _around_row(row: int) -> range:
    return range(row - _CONTEXT, row + _CONTEXT + 1)


def _place(module: Module, at: Span) -> Place:
    if is_stub(module):
        return Place(module.name, 0, 0)
    return Place(shown_path(module.path), at.row, at.end_row)


def _unreadable(path: str, problem: Unreadable) -> UserError:
    place = ":".join(str(part) for part in (path, problem.row, problem.column) if part is not None)
    return UserError(f"{place}: {problem}")
