"""Modules and paths: which file an import means, and what each file declares.

A `Project` reads files on demand, once. A module is identified by its path; its dotted name is
what the package it lies in calls it. Nothing is ever imported or executed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from jaxlint.cache.digests import digest
from jaxlint.project.folders import Folders
from jaxlint.project.reached import Reached
from jaxlint.symbols.facts import Facts, FactsStore
from jaxlint.symbols.links import Imports, Links
from jaxlint.syntax.paths import ROOT_MARKERS
from jaxlint.syntax.source import Source, Unreadable

if TYPE_CHECKING:
    from jaxlint.symbols.edited_outline import EditedOutline
    from jaxlint.symbols.names_used import NamesUsed
    from jaxlint.symbols.outline import Outline
    from jaxlint.symbols.trees import Trees

Answer = TypeVar("Answer")

#: Packages that are known by name and never opened: what they do is declared in jaxlint itself.
OPAQUE_PACKAGES = frozenset({"jax", "jaxlib", "numpy", "scipy", "torch", "tensorflow", "pandas"})


class Module:
    """One module: its path, its dotted name, and, once asked for, its source and outline."""

    def __init__(self, path: str, name: str, is_package: bool, roots: tuple[str, ...]) -> None:
        self.path = path
        self.name = name
        self.is_package = is_package
        self.roots = roots
        #: A folder without `__init__.py` that is imported as a package.
        self.is_namespace = False
        self._source: Source | None = None
        self._is_given = False
        #: Whether it has been edited since it was first read, and what is known of its last text that could be parsed.
        self._is_edited = False
        self._edited: EditedOutline | None = None
        #: What `given_to` has found, by the functions.
        self._given: dict[str, tuple[frozenset[str] | None, ...]] = {}
        #: What ties it to other modules, if that is known already.
        self.known_links: Links | None = None
        #: How many bytes of the outline the store has.
        self._stored = 0
        #: Whether anything of its content was asked for.
        self.was_read = False
        #: The digest of the content, once it was read.
        self.content: bytes | None = None
        #: Where facts of modules are found and stored.
        self.store: FactsStore | None = None
        #: What keeps its statements until it is checked, if something does.
        self.trees: Trees | None = None
        self.problem: Unreadable | None = None
        #: What failed in jaxlint when the outline was made; it is empty then.
        self.failure: Exception | None = None
        #: Whether nothing can be found in it, as its bytes tell; other modules may import it nevertheless.
        self.is_irrelevant = False

    def __repr__(self) -> str:
        return f"Module({self.name!r})"

    @property
    def source(self) -> Source:
        """The decoded file. Raises `Unreadable` if it cannot be read or decoded, or is another one than before."""
        if self._source is None:
            if self._is_given and self.problem is not None:
                raise self.problem
            source = Source.read(self.path)
            content = digest(source.raw)
            if self.content not in (None, content):
                raise Unreadable("changed while it was being checked; check it again")
            self._source, self.content = source, content
        return self._source

    def forget_source(self) -> None:
        """Drop what was found out of the text, and the text if it can be read again; the outline stays."""
        if self._source is not None:
            self._source.shared.clear()
        if not self._is_given:
            self._source = None

    def forget_tree(self) -> None:
        """Drop its statements: it was checked, or is not going to be."""
        if self.trees is not None:
            self.trees.forget(self.path)

    @cached_property
    def outline(self) -> Outline:
        """The outline; empty (and `problem` set) if the file cannot be read or parsed."""
        outline = self._read_outline()
        self.known_links = outline.links
        return outline

    @property
    def links(self) -> Links:
        """What ties it to other modules; nothing (and `problem` set) if it cannot be read or parsed."""
        if self.known_links is None:
            facts = self._known_facts()
            if facts is None:
                self.known_links = self.outline.links
                return self.known_links
            self.problem, self.known_links = facts.unreadable, facts.links
        return self.known_links

    @property
    def imports(self) -> Imports:
        """The modules that it imports."""
        return self.links.imports

    @cached_property
    def names_used(self) -> NamesUsed:
        """By which names it may know of functions of other modules, who ask for that again and again."""
        from jaxlint.symbols.names_used import names_used

        return self._answer(lambda outline: names_used(outline, lambda: self.source.text))

    def given_to(self, functions: str) -> tuple[frozenset[str] | None, ...]:
        """By statement that calls one of some functions: the names that calls are given in it, as in `names_used`."""
        if functions not in self._given:
            from jaxlint.symbols.names_used import given_to

            self._given[functions] = self._answer(lambda outline: given_to(functions.split(), outline))
        return self._given[functions]

    def _answer(self, answer: Callable[[Outline], Answer]) -> Answer:
        """What the outline says to a question; in a large project, nothing comes to stay in memory for that."""
        has_source, has_outline = self._source is not None, "outline" in vars(self)
        found = answer(self.outline)
        if self.store is not None and self.store.lets_go:
            if not has_source:
                self.forget_source()
            if not has_outline:
                self.forget_outline()
        return found

    def forget_outline(self) -> None:
        """Drop the outline if the store can give it again; what it imports, and the names it uses, are still known."""
        if self._stored and not self._is_given and vars(self).pop("outline", None) is not None:
            assert self.store is not None
            self.store.let_go(self._stored)

    def _known_facts(self) -> Facts | None:
        """The facts of the file, if the store has them and it can be read."""
        if self.is_namespace or self.problem is not None or "outline" in vars(self):
            return None
        self.was_read = True
        try:
            return self._facts()
        except Unreadable as problem:
            self.problem = problem
            return None

    def _read_outline(self) -> Outline:
        self.was_read = True
        if not self.is_namespace and self.problem is None:
            try:
                outline = self._known_outline()
                return outline if outline is not None else self._parsed()
            except Unreadable as problem:
                self.problem = problem
            except Exception as error:
                self.failure = error
        from jaxlint.symbols.parsing import EMPTY

        return EMPTY

    def follow(self, before: Module) -> None:
        """Take over what is known of the text `before` an edit, so that only what the edit touches is parsed."""
        self._is_edited, self._edited = self._is_given, before._edited

    def adopt(self, content: bytes | None, problem: Unreadable | None, links: Links | None) -> None:
        """Take from another process what is known of the file, so that it need not be read."""
        self.content, self.problem, self.known_links = content, problem, links

    def mark_irrelevant(self, content: bytes | None) -> None:
        """Nothing can be found in it. `content` is None where nobody is going to ask for it."""
        self.is_irrelevant = True
        self.content = content

    def _facts(self) -> Facts | None:
        """The facts of the file as it is, if the store has them. Raises `Unreadable`."""
        if self.store is None:
            return None
        if self.content is None:
            _ = self.source
        assert self.content is not None
        return self.store.get(self.content)

    def _known_outline(self) -> Outline | None:
        """The outline, if the store has it. Raises `Unreadable`."""
        facts = self._facts()
        outline = self.store.outline(facts) if facts is not None and self.store is not None else None
        if facts is not None and outline is not None:
            self.problem, self._stored = facts.unreadable, facts.size
        return outline

    def _parsed(self) -> Outline:
        """The outline as the text says, which the store takes. Raises `Unreadable` if there is no text."""
        from jaxlint.symbols.parsing import parse

        source = self.source
        read = self._outline_after_edit if self._is_edited else None
        outline, self.problem = parse(source, read, self.trees)
        if self.store is not None:
            assert self.content is not None
            self._stored = self.store.add(self.content, self.problem, outline)
        return outline

    def _outline_after_edit(self, text: str) -> Outline:
        """The outline of a text that is another one than before. Raises what `ast.parse` raises."""
        from jaxlint.symbols.edited_outline import EditedOutline

        self._edited = EditedOutline.read(text) if self._edited is None else self._edited.after_edit(text)
        return self._edited.outline


def _distance(root: str, start: str) -> tuple[bool, int]:
    """How far a folder is from another one. Those around it are nearer than all others."""
    shared = os.path.commonpath((root, start))
    return shared != root, -len(shared)


class Project:
    """All modules that can be seen from the checked files.

    `roots` are folders from which absolute imports start (source roots, package roots of the
    checked files); `site_packages` are searched last. `texts` stand for the files of these paths, as the unsaved
    buffers of an editor do: sources, or why there is none. They count when a module is seen first.
    """

    #: What the modules of files are made of.
    module_type: type[Module] = Module

    def __init__(
        self,
        roots: Iterable[str] = (),
        site_packages: Sequence[str] = (),
        texts: Mapping[str, Source | Unreadable] | None = None,
    ) -> None:
        self.roots: tuple[str, ...] = tuple(dict.fromkeys(roots))
        self.site_packages = tuple(site_packages)
        self._texts = {} if texts is None else texts
        self._modules: dict[str, Module] = {}
        #: What is there in the folders that were looked into, here and in other processes.
        self.folders = Folders(self._texts)
        self._packages: dict[str, tuple[str, str]] = {}
        self._roots_of: dict[str, tuple[str, ...]] = {}
        self._found: dict[tuple[tuple[str, ...], str], Module | None] = {}
        #: Where the facts of the modules are stored, if they are.
        self.store: FactsStore | None = None
        #: The paths of modules that other processes have read.
        self.read_elsewhere: set[str] = set()
        #: Which modules were reached from which others.
        self.reached = Reached()

    # -- files ------------------------------------------------------------------------------

    def add_file(self, path: str) -> Module:
        """The module of the file `path` (absolute)."""
        module = self._modules.get(path)
        if module is None:
            folder, base = os.path.split(path)
            root, package = self._package_at(folder)
            stem = os.path.splitext(base)[0]
            is_package = stem == "__init__"
            name = package if is_package else f"{package}.{stem}" if package else stem
            module = self.module_type(path, name, is_package, self._roots(root, folder))
            text = self._texts.get(path)
            if isinstance(text, Source):
                module._source, module._is_given, module._is_edited = text, True, True
            elif text is not None:
                module.problem, module._is_given = text, True
            else:
                module.store = self.store
            self._modules[path] = module
        return module

    def module(self, path: str) -> Module | None:
        """The module of the file `path`, if it was seen."""
        return self._modules.get(path)

    def renewed(self, changed: Collection[str]) -> Project:
        """A project that knows what this one knows but for the modules of the files `changed`.

        That is right while the same files are there; nobody may use this project from then on.
        """
        project = Project(self.roots, self.site_packages, self._texts)
        project.store = self.store
        project.folders.take(self.folders)
        project._modules = {path: module for path, module in self._modules.items() if path not in changed}
        project._found = {k: m for k, m in self._found.items() if m is None or m.path not in changed}
        project.reached = self.reached
        return project

    def paths_read(self) -> set[str]:
        """The paths of the modules whose outlines were asked for, here or in other processes."""
        read = {m.path for m in self._modules.values() if m.was_read and not m.is_namespace}
        return read | self.read_elsewhere

    def forget_outlines(self) -> None:
        """Let go of the outlines and texts that can be had again."""
        for module in self._modules.values():
            module.forget_outline()
            module.forget_source()

    def add_source(self, source: Source) -> Module:
        """The module of a text that need not be on disk."""
        module = self.add_file(source.path)
        module._source, module._is_given = source, True
        return module

    def package_root(self, path: str) -> str:
        """The folder above the outermost package that holds the file."""
        return self._package_at(os.path.dirname(path))[0]

    def _package_at(self, folder: str) -> tuple[str, str]:
        """The folder above the outermost package that a folder is part of, and the dotted name of that part."""
        known = self._packages.get(folder)
        if known is None:
            known = self._packages[folder] = self._find_package(folder)
        return known

    def _find_package(self, folder: str) -> tuple[str, str]:
        parts: list[str] = []
        while "__init__.py" in self.folders.names(folder) or "__init__.pyi" in self.folders.names(folder):
            parent, name = os.path.split(folder)
            if parent == folder or not name.isidentifier():
                break  # nothing can import a folder of that name
            parts.insert(0, name)
            folder = parent
        return folder, ".".join(parts)

    def _roots(self, root: str, folder: str) -> tuple[str, ...]:
        """Where the imports of a file in `folder` start: as `_own_roots`, and in a project that is a package itself.

        A stray `__init__.py` beside `train.py` makes a package of a repository whose scripts run in it.
        """
        roots = self._own_roots(root)
        while folder not in (root, os.path.dirname(folder)):
            if not self.folders.names(folder).isdisjoint(ROOT_MARKERS):
                return (*roots, folder)
            folder = os.path.dirname(folder)
        return roots

    def _own_roots(self, root: str) -> tuple[str, ...]:
        """Where the imports of a file start: its package root and, for namespace packages, the folders above."""
        known = self._roots_of.get(root)
        if known is None:
            known = self._roots_of[root] = self._find_roots(root)
        return known

    def _find_roots(self, root: str) -> tuple[str, ...]:
        roots = [root]
        folder = root
        for _ in range(8):
            if self.folders.begins_project(folder):
                inside = self.folders.names(folder)
                roots += [os.path.join(folder, name) for name in ("src", "lib") if name in inside]
                return tuple(dict.fromkeys(roots))
            parent = os.path.dirname(folder)
            if parent == folder:
                break
            folder = parent
            roots.append(folder)
        return (root,)

    # -- imports ----------------------------------------------------------------------------

    def find(self, name: str, importer: Module, level: int = 0) -> Module | None:
        """The module that `import name` means in `importer`, or None if it cannot be seen; `level` counts the dots.

        It is not reached by that: who reads it says so (`reach`).
        """
        if level:
            folder = importer.path
            for _ in range(level):
                folder = os.path.dirname(folder)
            return self._descend(folder, name.split(".") if name else [], importer)
        top = name.partition(".")[0]
        if top in OPAQUE_PACKAGES or top in sys.stdlib_module_names:
            return None
        key = (importer.roots, name)
        if key not in self._found:
            parts = name.split(".")
            others = self.roots if len(self.roots) < 2 else self._nearest(parts, importer)
            self._found[key] = self._search(parts, (*importer.roots, *others, *self.site_packages))
        return self._found[key]

    def _nearest(self, parts: list[str], importer: Module) -> list[str]:
        """The roots of checked files that hold what is imported: first those around the file that imports it.

        Programs that lie side by side may each have a `src`. What runs in one of them finds its own. Of a file around
        or beside them nobody knows in which it runs, if both have the module.
        """
        top = parts[0]
        holding = [root for root in self.roots if self.folders.names(root) & {top, f"{top}.py", f"{top}.pyi"}]
        if len(holding) > 1 and importer.roots:
            distances = {root: _distance(root, importer.roots[0]) for root in holding}
            holding.sort(key=distances.__getitem__)
            near = [root for root in holding if distances[root] == distances[holding[0]]]
            if len(near) > 1 and sum(self._search(parts, (root,)) is not None for root in near) > 1:
                return []
        return holding

    def submodule(self, package: Module, name: str) -> Module | None:
        """The module `name` inside a package (or namespace folder)."""
        if not package.is_package:
            return None
        folder = package.path if os.path.isdir(package.path) else os.path.dirname(package.path)
        return self._descend(folder, [name], package)

    def reach(self, path: str, start: Module) -> Module:
        """The module of a file that the index or an import names, asked about `start`."""
        self.reached.note(self.start(start), path)
        return self.add_file(path)

    def reach_for_findings(self, paths: Collection[str], checked: Module) -> list[Module]:
        """Modules of files that the index names, looked at for what is found in the module that is checked."""
        self.reached.note_for_findings(checked.path, paths)
        return [self.add_file(path) for path in paths]

    def ask(self, question: str, word: str, paths: Iterable[str], start: Module) -> dict[str, str]:
        """What modules answer about a word that are not led to by that (`reached.ANSWERS`), as far as they know it.

        `start` is the module about which they are asked.
        """
        return self.reached.ask(question, word, [self.add_file(path) for path in paths], self.start(start))

    def name_package(self, name: str, start: str) -> None:
        """Note that a module names something of a package that our stubs may describe."""
        self.reached.note(start, name.partition(".")[0])

    def start(self, module: Module) -> str:
        """What stands for a module where it leads to others: its path; of a description of ours, its package."""
        return module.path if module.path in self._modules else module.name.partition(".")[0]

    def _search(self, parts: list[str], roots: Iterable[str]) -> Module | None:
        namespace: Module | None = None
        for root in dict.fromkeys(roots):
            if not (self.folders.names(root) & {parts[0], f"{parts[0]}.py", f"{parts[0]}.pyi"}):
                continue
            module = self._descend(root, parts, None)
            if module is not None and (module.path in self._texts or os.path.isfile(module.path)):
                return module
            namespace = namespace or module
        return namespace

    def _descend(self, folder: str, parts: list[str], importer: Module | None) -> Module | None:
        for index, part in enumerate(parts):
            names = self.folders.names(folder)
            last = index == len(parts) - 1
            if last:
                for suffix in (".py", ".pyi"):
                    if part + suffix in names and not (part in names and self._is_package(os.path.join(folder, part))):
                        return self.add_file(os.path.join(folder, part + suffix))
            if part not in names:
                return None
            folder = os.path.join(folder, part)
        for init in ("__init__.py", "__init__.pyi"):
            if init in self.folders.names(folder):
                return self.add_file(os.path.join(folder, init))
        if not os.path.isdir(folder):
            return None
        module = self._modules.get(folder)
        if module is None:
            name = ".".join(parts) if importer is None else f"{importer.name}.{'.'.join(parts)}"
            module = Module(folder, name, True, importer.roots if importer else (os.path.dirname(folder),))
            module.is_namespace = True
            self._modules[folder] = module
        return module

    def _is_package(self, folder: str) -> bool:
        return bool(self.folders.names(folder) & {"__init__.py", "__init__.pyi"})
