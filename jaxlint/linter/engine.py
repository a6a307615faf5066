"""From paths to findings: discover, outline, model, read, report."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING

import msgspec

from jaxlint.cache.store import Cache
from jaxlint.config.configuration import Configuration
from jaxlint.config.settings import Settings, is_sure_enough
from jaxlint.finding import Confidence, Finding
from jaxlint.linter.prefilter import mark_irrelevant_files
from jaxlint.linter.result import Result, add_found, ordered
from jaxlint.linter.runs import Run, findings_of
from jaxlint.linter.storage import Storage
from jaxlint.project.environment import in_use, site_packages
from jaxlint.project.files import Patterns, discover, is_excluded
from jaxlint.project.modules import Module, Project
from jaxlint.syntax.source import Source, Unreadable

if TYPE_CHECKING:
    from jaxlint.linter.checker import Checker
    from jaxlint.linter.parallel import Workers
    from jaxlint.linter.shards import Shard
    from jaxlint.project.index import ProjectIndex, StoredIndex
    from jaxlint.suppression.baseline import Entry


def make_checker(project: Project, settings: Settings) -> Checker:
    """What checks modules; the rules are only loaded where there is something to check."""
    from jaxlint.linter.checker import Checker

    return Checker(project, settings)


def make_project(
    files: Sequence[str],
    settings: Settings,
    texts: Mapping[str, Source | Unreadable] | None = None,
    asked: Iterable[str] = (),
) -> Project:
    """The project that the files belong to: their package roots, the configured roots, the environment.

    What was `asked` to be checked is a root as well if it is a folder and no package: in a tree without a project file,
    nothing else tells that imports start there.
    """
    python = in_use(settings.python)
    project = Project(settings.src, site_packages(python) if python else (), texts)
    by_folder: dict[str, str] = {}
    for path in files:
        folder = os.path.dirname(path)
        if folder not in by_folder and not os.path.isdir(path):
            by_folder[folder] = path
    folders = {os.path.abspath(path) for path in asked if os.path.isdir(path)}
    roots = {project.package_root(path) for path in by_folder.values()}
    roots |= {folder for folder in folders if project.package_root(os.path.join(folder, "module.py")) == folder}
    project.roots = tuple(dict.fromkeys([*project.roots, *sorted(roots)]))
    return project


def count_classes(checked: Iterable[tuple[Settings, Sequence[str]]]) -> int:
    """How many pytree classes are declared in files with these settings. Files that cannot be read declare none."""
    from jaxlint.linter.checker import Checker

    number = 0
    for settings, files in checked:
        project = make_project(files, settings)
        modules = [project.add_file(path) for path in files]
        mark_irrelevant_files(modules, project, settings, digests=False)
        model = Checker(project, settings).model
        for module in modules:
            if not module.is_irrelevant:
                number += sum(cls.is_pytree for cls in model.classes_in(module))
    return number


#: How many files beside those that were asked for are read to see subclasses, and how many bytes of them: in a package
#: that is larger, those that are closest.
_MAX_NEIGHBOURS = 1000
_MAX_NEIGHBOUR_BYTES = 2_500_000
#: So many files are no large project, of which anything is let go while it is checked.
_FEW_FILES = 100


def names_files(paths: Sequence[str]) -> bool:
    """Whether not only folders are asked for, but files as well, which need not be there yet."""
    return not all(map(os.path.isdir, paths))


def package_neighbours(files: Sequence[str], project: Project, excluded: Sequence[Patterns]) -> list[Module]:
    """The other modules of the packages that single files were asked for from: they may hold subclasses.

    What is `excluded` is none of them, as a walk through the package would not come to it.
    """
    folders = set()
    for path in files:
        folder, root = os.path.dirname(path), project.package_root(path)
        package = os.path.relpath(folder, root).partition(os.sep)[0]
        folders.add(root if package == os.curdir else os.path.join(root, package))
    asked = set(files)
    found: list[str] = []
    for folder in sorted(folders):
        is_package = os.path.exists(os.path.join(folder, "__init__.py"))
        names = discover([folder], lambda _: excluded) if is_package else _python_files(folder)
        found += [name for name in names if name not in asked and not is_excluded(name, excluded)]
    return [project.add_file(path) for path in _closest(found, files)]


def _closest(paths: Sequence[str], files: Sequence[str]) -> list[str]:
    """The regular files among `paths`; if they are too many or too large, those that are closest to `files`."""
    sizes = {path: os.path.getsize(path) for path in paths if os.path.isfile(path)}
    if len(sizes) <= _MAX_NEIGHBOURS and sum(sizes.values()) <= _MAX_NEIGHBOUR_BYTES:
        return list(sizes)
    asked = {os.path.dirname(path) for path in files}
    distances = {
        folder: 0 if folder in asked else min(len(os.path.relpath(folder, to).split(os.sep)) for to in asked)
        for folder in {os.path.dirname(path) for path in sizes}
    }
    chosen: list[str] = []
    room = _MAX_NEIGHBOUR_BYTES
    for path in sorted(sizes, key=lambda path: (distances[os.path.dirname(path)], path))[:_MAX_NEIGHBOURS]:
        room -= sizes[path]
        if room < 0:
            break
        chosen.append(path)
    return sorted(chosen)


def _python_files(folder: str) -> list[str]:
    try:
        return sorted(entry.path for entry in os.scandir(folder) if entry.name.endswith(".py"))
    except OSError:
        return []


def check_paths(
    paths: Sequence[str],
    settings: Settings | Configuration | None = None,
    *,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
    cache: Cache | None = None,
    force_exclude: bool = False,
    facts: Sequence[str] = (),
    shard: Shard | None = None,
    stored: list[object] | None = None,
) -> Result:
    """Check files and folders; with a `cache`, only what has changed since the last time.

    With `force_exclude`, files that are named are left out as well if the settings exclude them. `facts` names files
    that `jaxlint facts` has written: what they hold of a file need not be found out again. With a `shard`, only its
    files are checked; the findings of all shards are those of one run. What the run has built is put into `stored`: who
    is about to end need not wait until all of it is freed.

    The `settings` are the same for all files, or those that a configuration says for each. `progress(done, total)`
    hears how far it is. Raises `UserError` for a path that does not exist or settings that cannot be
    used; what cannot be read or parsed is a finding.
    """
    if isinstance(settings, Configuration):
        files = discover(paths, settings.excludes, force=force_exclude)
        groups = settings.groups(files)
    else:
        fixed = settings or Settings()
        files = discover(paths, lambda directory: fixed.exclude, force=force_exclude)
        groups = [(fixed, files)]
    baselines: dict[str | None, list[Entry]] = {}
    for group, _ in groups:
        if group.baseline is not None and group.baseline not in baselines:
            from jaxlint.suppression.baseline import read_baseline

            # whoever has misspelt its name hears of it before all is checked
            baselines[group.baseline] = read_baseline(group.baseline)
    advance = _Progress(len(files), progress)
    result = Result([], sum(shard is None or shard.holds(path) for path in files), [])
    with _own_garbage(len(files)), Storage(cache, facts, jobs) as storage:
        for group, own in groups:
            others = set(files).difference(own) if len(groups) > 1 else ()
            project = make_project(own, group, asked=paths)
            project.store = storage.store_for(own)
            neighbours = package_neighbours(own, project, group.exclude) if names_files(paths) else []
            neighbours += [project.add_file(path) for path in sorted(others)]
            neighbours = list({module.path: module for module in neighbours}.values())
            modules = [project.add_file(path) for path in own]
            mine = [m for m in modules if shard is None or shard.holds(m.path)]
            check = _Check(project, group, modules, neighbours, storage, advance)
            if stored is not None:
                stored.append(check)
            found = check.findings(mine)
            own_files = [module.path for module in mine]
            add_found(result, found, group, own_files, check.errors, known=baselines.get(group.baseline))
    result.findings.sort(key=lambda f: f.sort_key)
    result.errors = sorted(set(result.errors))
    result.stale = list(dict.fromkeys(result.stale))
    return result


@contextmanager
def _own_garbage(files: int) -> Iterator[None]:
    """Let the garbage collector run only when it is asked, and look at nothing then that was there before.

    Of few files it is not asked: what others have frozen is counted one by one, which takes longer than the check of a
    file in a process that holds much.
    """
    collecting = gc.isenabled()
    gc.disable()
    freezes = files > _FEW_FILES and not gc.get_freeze_count()
    if freezes:
        gc.freeze()
    try:
        yield
    finally:
        if freezes:
            gc.unfreeze()
        if collecting:
            gc.enable()


class _Check:
    """A check of some modules of a project; the checker and the other processes are there when they are needed."""

    def __init__(
        self,
        project: Project,
        settings: Settings,
        modules: Sequence[Module],
        neighbours: Sequence[Module],
        storage: Storage,
        advance: Callable[[], None],
    ) -> None:
        self.errors: list[str] = []
        self._project = project
        self._settings = settings
        self._modules = modules
        self._neighbours = neighbours
        self._storage = storage
        self._advance = advance
        self._is_marked = False
        self._run: Run | None = None
        self._checker_is_ready = self._workers_are_ready = False
        #: What this run has indexed of the project.
        self._fresh_index: ProjectIndex | None = None
        #: The parts of the modules in it, encoded, if they are to be stored.
        self._parts: dict[str, bytes] = {}

    @cached_property
    def _checker(self) -> Checker:
        checker = make_checker(self._project, self._settings)
        checker.errors = self.errors
        return checker

    @cached_property
    def _workers(self) -> Workers:
        from jaxlint.linter.parallel import Workers

        return Workers(self._project, self._settings, self._modules, self._neighbours, self._storage)

    def findings(self, mine: Sequence[Module]) -> list[Finding]:
        """The findings of the modules that are `mine`; those that comments hide among them."""
        try:
            find = self._check
            if self._storage.cache is not None:
                self._run = run = Run(
                    self._storage.cache, self._project, self._settings, self._modules, self._neighbours
                )
                self._take_index(run)
                find = partial(
                    findings_of, run, check=self._check, indexed=self._stored_index, failed=lambda: bool(self.errors)
                )
            found = find(mine)
            if len(mine) < len(self._modules) and any(f.confidence is Confidence.LOW for f in found):
                # what is a guess here may be known for certain from the files of other shards
                here = {module.path for module in mine}
                elsewhere = find([m for m in self._modules if m.path not in here])
                found = [f for f in ordered([*found, *elsewhere]) if f.path in here]
        except BaseException:
            self._end(failed=True)
            raise
        self._end(failed=False)
        if self._run is not None:
            self._storage.needed |= self._run.contents()
        return found

    def _end(self, *, failed: bool) -> None:
        if "_workers" in self.__dict__:
            self._workers.end(failed=failed)

    def _mark_irrelevant_files(self) -> None:
        if not self._is_marked:
            self._is_marked = True
            modules, is_stored = [*self._modules, *self._neighbours], self._storage.cache is not None
            mark_irrelevant_files(modules, self._project, self._settings, digests=is_stored)

    def _take_index(self, run: Run) -> None:
        """See whether the index is the same for the changes; if it is not, all is indexed and checked again."""
        if not run.dirty:
            return
        from jaxlint.linter.reindexing import indexed_again

        failures = len(self.errors)
        stored = run.stored_index
        run.stored_index = None if stored is None else indexed_again(self._checker, stored, run.changed, run.dirty)
        if run.stored_index is None:
            del self.errors[failures:]
            run.forget()
            self._checker.start_again()

    def _stored_index(self) -> StoredIndex | None:
        """What this run has indexed of the project, as it is stored."""
        if self._fresh_index is None:
            return None
        from jaxlint.linter.reindexing import stored_index

        seen = [m for m in (*self._modules, *self._neighbours) if not m.is_irrelevant]
        with suppress(msgspec.MsgspecError, OverflowError, RecursionError, UnicodeError):  # then nothing is stored
            return stored_index(self._fresh_index, seen, self._parts)
        return None

    def _check(self, missing: Sequence[Module]) -> list[Finding]:
        """The findings of some of the modules."""
        in_several = self._storage.jobs > 1 and self._workers.pay(missing)
        if in_several or not self._is_known(missing):
            self._mark_irrelevant_files()
        missing = [module for module in missing if not module.is_irrelevant]
        if not missing:
            return []
        if in_several and self._workers.pay(missing):
            self._workers.build_index([m for m in (*self._modules, *self._neighbours) if not m.is_irrelevant])
            if not self._workers_are_ready:
                known = self._workers.adopt(self._known)
                self._fresh_index = None if known is self._earlier_index else known
                self._parts = self._workers.parts
                self._workers_are_ready = True
            from jaxlint.linter.checker import failure_line

            found, errors = self._workers.check(missing, self._advance)
            self.errors += errors
            self.errors += [failure_line("reading", m, m.failure) for m in self._modules if m.failure is not None]
            return found
        self._adopt()
        findings: list[Finding] = []
        for module in missing:
            findings += self._checker.check(module)
            self._checker.evict()
            self._advance()
        return findings

    def _is_known(self, missing: Sequence[Module]) -> bool:
        """Whether the project is known from an earlier run, and the missing modules can all be parsed.

        Then it does not matter which modules are silent, which takes long to find out.
        """
        if self._earlier_index is None:
            return False
        for module in missing:
            _ = module.outline
            module.forget_source()
        return all(module.problem is None for module in missing)

    @cached_property
    def _earlier_index(self) -> ProjectIndex | None:
        """What an earlier run has indexed of the project, if that still holds."""
        stored = None if self._run is None else self._run.stored_index
        return None if stored is None else stored.index

    def _adopt(self) -> None:
        """See that the checker knows the project."""
        if self._checker_is_ready:
            return
        known = self._known
        if known is not None:
            self._checker.adopt(known)
        else:
            self._checker.keep_trees()
            self._checker.parts = None if self._run is None else {}
            self._checker.build_index(self._modules, self._advance, self._neighbours)
            self._fresh_index = self._checker.project_index
            self._parts = self._checker.parts or {}
        self._checker_is_ready = True

    @property
    def _known(self) -> ProjectIndex | None:
        """What is known of the project so far."""
        return self._fresh_index or self._earlier_index


class _Progress:
    """Tells how much of the work is done: each file is indexed, and then checked."""

    def __init__(self, files: int, tell: Callable[[int, int], None] | None) -> None:
        self._total = 2 * files
        self._done = 0
        self._tell = tell

    def __call__(self) -> None:
        self._done += 1
        if self._tell is not None:
            self._tell(self._done, self._total)


def check_content(raw: bytes, path: str, settings: Settings | Configuration | None = None) -> Result:
    """Check `raw` as if it were the content of the file `path`, which need not be there; its imports start there.

    Raises `UserError` for settings that cannot be used; what cannot be decoded or parsed is a finding.
    """
    path = os.path.abspath(path)
    own = settings.settings(path) if isinstance(settings, Configuration) else settings or Settings()
    checker = make_checker(make_project([path], own), own)
    lines: Sequence[str] = ()
    try:
        source = Source.from_bytes(path, raw)
    except Unreadable as problem:
        found = checker.unreadable(checker.project.add_file(path), problem)
    else:
        lines = source.lines
        module = checker.project.add_source(source)
        checker.build_index([module], neighbours=package_neighbours([path], checker.project, own.exclude))
        found = checker.check(module)
    result = Result([], 1, [])
    add_found(result, found, own, [path], checker.errors, lambda _: lines)
    return result


def check_source(text: str, path: str = "<string>.py", settings: Settings | None = None) -> list[Finding]:
    """Check one text as if it stood in the file `path`; imports are followed from there.

    Raises `Unreadable` if the text holds null bytes.
    """
    settings = settings or Settings()
    source = Source.from_text(path, text)
    checker = make_checker(make_project([source.path], settings), settings)
    found = checker.check_alone(checker.project.add_source(source))
    return [f for f in ordered(found) if not f.suppressed and is_sure_enough(f.confidence, settings)]
