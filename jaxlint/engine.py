"""From paths to findings: discover, outline, model, read, report."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import msgspec

from jaxlint import __version__
from jaxlint.baseline import Stale, without_known
from jaxlint.cache import Cache
from jaxlint.config import Configuration, Settings, rule_enabled, unknown_target
from jaxlint.environment import activated, site_packages
from jaxlint.errors import UserError
from jaxlint.expr import span_of
from jaxlint.files import DEFAULT_EXCLUDES, SUFFIXES, discover
from jaxlint.finding import Confidence, Edit, Finding, Fix
from jaxlint.fingerprint import file_lines
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import CodeRead, Event
from jaxlint.infer.reader import ModuleReader
from jaxlint.keeping import Keeping
from jaxlint.parallel import Workers
from jaxlint.project import Module, Project
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.frameworks import FRAMEWORKS
from jaxlint.rules import all_rules
from jaxlint.rules.base import BodyRule, ClassRule, EventRule, Insertion, Problem, Rule, SuppressionRule
from jaxlint.rules.unreadable_file import UnreadableFile
from jaxlint.runs import Run, findings_of
from jaxlint.shards import Shard
from jaxlint.source import Source, Unreadable
from jaxlint.suppress import Comments

#: Importing one of these packages, directly or through other modules, makes a module worth a look.
_FRAMEWORK_PACKAGES = frozenset(
    {"jax"} | {name.partition(".")[0] for f in FRAMEWORKS for name in (*f.decorators, *f.bases) if f.is_pytree}
) - {"typing", "dataclasses", "collections"}


def _framework_packages(settings: Settings) -> frozenset[str]:
    """The packages of the built-in frameworks and of those that the settings name."""
    extra = (*settings.extra_decorators, *settings.extra_bases, *settings.extra_fields)
    return _FRAMEWORK_PACKAGES | {name.partition(".")[0] for name in extra}


class Result(msgspec.Struct):
    """What a run found. `errors` are internal errors, one line each.

    `suppressed` are the findings that comments hide, `stale` the entries of baselines that nothing stands behind;
    `checked` says for each file the codes of the rules that ran.
    """

    findings: list[Finding]
    files: int
    errors: list[str]
    suppressed: list[Finding] = []
    stale: list[Stale] = []
    checked: dict[str, frozenset[str]] = {}


_Check: TypeAlias = Callable[[Any, Evaluator], Iterator[Problem]]


class Checker:
    """Checks the modules of one project with the rules that the settings enable."""

    def __init__(self, project: Project, settings: Settings) -> None:
        _check_extra_names(settings)
        self.project = project
        self.settings = settings
        self.model = PytreeModel(project, settings)
        self.reader = ModuleReader(self.model)
        enabled = [rule for rule in all_rules() if rule_enabled(rule, settings)]
        self.enabled = frozenset(enabled)
        self.class_rules = [rule() for rule in enabled if issubclass(rule, ClassRule)]
        self.event_rules = [rule() for rule in enabled if issubclass(rule, EventRule)]
        self.body_rules = [rule() for rule in enabled if issubclass(rule, BodyRule)]
        self.suppression_rules = [rule() for rule in enabled if issubclass(rule, SuppressionRule)]
        self.packages = _framework_packages(settings)
        self.errors: list[str] = []
        self._checks: dict[type[Event], list[tuple[Rule, _Check]]] = {}
        self._relevant: set[str] = set()

    # -- the whole project ------------------------------------------------------------------

    def learn(
        self,
        modules: Sequence[Module],
        progress: Callable[[], None] = lambda: None,
        neighbours: Sequence[Module] = (),
    ) -> None:
        """Read the outlines of `modules`, and learn who inherits from whom (in `neighbours` too)."""
        for module in modules:
            _ = module.outline
            module.forget_source()
            progress()
        seen = [*modules, *neighbours]
        self._relevant = self._reaching_frameworks(seen)
        self.model.index_subclasses([m for m in seen if m.path in self._relevant])

    def _reaching_frameworks(self, modules: Sequence[Module]) -> set[str]:
        """The paths of the modules that import a framework, directly or through other modules (checked or not)."""
        importers = self.project.importers
        reached: list[str] = []
        pending = list(reversed(modules))
        seen = {module.path for module in modules}
        while pending:
            module = pending.pop()
            imports = module.outline.imported_modules
            tops = {name.partition(".")[0] for level, name in imports if level == 0} | {module.name.partition(".")[0]}
            direct = not self.packages.isdisjoint(tops)
            if direct:
                reached.append(module.path)
            for level, name in imports:
                imported = (
                    self.project.find(name, module) if level == 0 else self.project.find_relative(level, name, module)
                )
                if imported is None or imported is module:
                    continue
                importers.setdefault(imported.path, []).append(module)
                if self._is_installed(imported):
                    reached.append(module.path)
                elif not direct and imported.path not in seen:
                    seen.add(imported.path)
                    pending.append(imported)
                    _ = imported.outline
                    imported.forget_source()
        relevant: set[str] = set()
        while reached:
            path = reached.pop()
            if path not in relevant:
                relevant.add(path)
                reached += [m.path for m in importers.get(path, [])]
        return relevant

    def _is_installed(self, module: Module) -> bool:
        return any(module.path.startswith(root + os.sep) for root in self.project.site_packages)

    # -- one module -------------------------------------------------------------------------

    def check(self, module: Module) -> list[Finding]:
        """The findings of one module, sorted; those that comments hide say so."""
        _ = module.outline
        if module.problem is not None:
            return self._unreadable(module, module.problem)
        try:
            if module.path in self._relevant:
                return self._findings(module)
            if module.outline.has_suppressions:
                return self._hidden_by_comments(module, [], is_complete=True)
            return []
        except Unreadable as problem:  # it vanished or changed since its outline was made
            return self._unreadable(module, problem)
        finally:
            module.forget_source()

    def _findings(self, module: Module) -> list[Finding]:
        """What the rules find in a module. Raises `Unreadable` if its text can no longer be had."""
        found: dict[Finding, None] = {}
        failures = len(self.errors)
        for problem, rule in self._class_problems(module):
            found[self._finding(problem, rule, module, self._place(problem, module))] = None
        if (self.event_rules or self.body_rules) and module.outline.units:
            for finding in self._event_findings(module, self._guarded_events(module)):
                found[finding] = None
            unread = [row for path, row in self.reader.unread if path == module.path]
            self.reader.unread.clear()
            if unread:
                _ = module.source
            for row in unread:
                message = "this statement nests too deeply to be checked; split it"
                for finding in self._unreadable(module, Unreadable(message, row, 1)):
                    found[finding] = None
        enabled = {rule.code for rule in self.enabled_at(module.path)}
        findings = sorted((f for f in found if f.code in enabled), key=lambda f: f.sort_key)
        is_complete = failures == len(self.errors) and not any(f.code == UnreadableFile.code for f in found)
        return self._hidden_by_comments(module, findings, is_complete)

    def _hidden_by_comments(self, module: Module, findings: list[Finding], is_complete: bool) -> list[Finding]:
        """`findings` with what comments do to them, and what is to be said of the comments."""
        if not findings and not module.outline.has_suppressions:
            return []
        enabled = self.enabled_at(module.path)
        comments = Comments(module.source, findings, enabled if is_complete else frozenset())
        if not comments:
            return findings
        about: list[Finding] = []
        for rule in self.suppression_rules:
            if type(rule) in enabled:
                for problem in rule.check_suppressions(comments):
                    assert isinstance(problem.at, tuple)
                    about.append(self._finding(problem, rule, module, problem.at))
        return sorted(comments.hide(about), key=lambda f: f.sort_key)

    def enabled_at(self, path: str) -> frozenset[type[Rule]]:
        """The rules that run in a file."""
        if not self.settings.per_file_ignores:
            return self.enabled
        return frozenset(rule for rule in self.enabled if rule_enabled(rule, self.settings, path))

    def _unreadable(self, module: Module, problem: Unreadable) -> list[Finding]:
        if UnreadableFile not in self.enabled_at(module.path):
            return []
        row, column = problem.row or 1, problem.column or 1
        return [self._finding(Problem(None, problem.message), UnreadableFile(), module, (row, column, row, column))]

    def _class_problems(self, module: Module) -> Iterable[tuple[Problem, Rule]]:
        if not self.class_rules:
            return
        for cls in self.model.classes_in(module):
            if cls.symbol.declaration.expects_error:
                continue
            for rule in self.class_rules:
                if not cls.is_pytree and not rule.all_classes:
                    continue
                try:
                    problems = list(rule.check_class(cls, self.reader.evaluator))
                except Exception as error:
                    self._failed(rule.code, module, error)
                    continue
                for problem in problems:
                    yield problem, rule

    def _guarded_events(self, module: Module) -> list[list[Event]]:
        try:
            return self.reader.events(module)
        except Exception as error:
            self._failed("the reader", module, error)
            return []

    def _event_findings(self, module: Module, read: list[list[Event]]) -> Iterator[Finding]:
        """What the rules find in what happens in the units of a module."""
        for events in read:
            for event in events:
                for problem, rule in self._problems_of(event, module):
                    yield self._finding(problem, rule, module, self._place(problem, module))

    def _problems_of(self, event: Event, module: Module) -> Iterator[tuple[Problem, Rule]]:
        """What the event rules and body rules say of an event."""
        kind, evaluator = type(event), self.reader.evaluator
        if kind not in self._checks:
            self._checks[kind] = self._checks_of(kind)
        for rule, check in self._checks[kind]:
            try:
                problems = list(check(event, evaluator))
            except Exception as error:
                self._failed(rule.code, module, error)
                continue
            for problem in problems:
                yield problem, rule

    def _checks_of(self, kind: type[Event]) -> list[tuple[Rule, _Check]]:
        """The rules that look at events of a kind, and their methods for it."""
        checks: list[tuple[Rule, _Check]] = [
            (rule, rule.check_event) for rule in self.event_rules if issubclass(kind, rule.events)
        ]
        if issubclass(kind, CodeRead):
            checks += [(rule, rule.check_body) for rule in self.body_rules]
        return checks

    def _place(self, problem: Problem, module: Module) -> tuple[int, int, int, int]:
        """The range of a problem with columns from 1 in code points."""
        span = problem.at if isinstance(problem.at, tuple) else span_of(problem.at)
        row, column, end_row, end_column = span
        source = module.source
        return (
            row,
            source.codepoint_column(row, column) + 1,
            end_row,
            source.codepoint_column(end_row, end_column) + 1,
        )

    def _finding(self, problem: Problem, rule: Rule, module: Module, place: tuple[int, int, int, int]) -> Finding:
        return Finding(
            path=module.path,
            row=place[0],
            column=place[1],
            end_row=place[2],
            end_column=place[3],
            code=rule.code,
            name=rule.name,
            message=problem.message,
            severity=problem.severity or rule.severity,
            confidence=problem.confidence or rule.confidence,
            reason=problem.reason,
            help=problem.help,
            subject=problem.subject,
            fix=_fix(problem, module, place),
        )

    def _failed(self, what: str, module: Module, error: Exception) -> None:
        """Keep one line about a failure of ours; the rest goes on."""
        text = " ".join(str(error).split())
        self.errors.append(
            f"{module.path}: {what} failed in jaxlint {__version__}: {type(error).__name__}: {text[:200]}"
        )


def _fix(problem: Problem, module: Module, place: tuple[int, int, int, int]) -> Fix | None:
    """The edits that a problem proposes."""
    fix = problem.fix
    if isinstance(fix, Insertion):
        start = module.source.offset(place[0], place[1] - 1)
        return Fix(fix.title, fix.applicability, (Edit(start, start, fix.text),))
    return fix


def _check_extra_names(settings: Settings) -> None:
    """Raise `UserError` if an extra name is said to stand for something that jaxlint does not know."""
    extra: dict[str, dict[str, str]] = {
        "extra-decorators": settings.extra_decorators,
        "extra-bases": settings.extra_bases,
        "extra-fields": {name: field.like for name, field in settings.extra_fields.items()},
    }
    for key, names in extra.items():
        for name, target in names.items():
            problem = unknown_target(key, name, target)
            if problem is not None:
                raise UserError(f"{key}: {problem}")


def make_project(
    files: Sequence[str], settings: Settings, texts: Mapping[str, Source | Unreadable] | None = None
) -> Project:
    """The project that the files belong to: their package roots, the configured roots, the environment."""
    python = settings.python or activated(os.environ)
    project = Project(settings.src, site_packages(python) if python else (), texts)
    roots = {project.package_root(path) for path in files if not os.path.isdir(path)}
    project.roots = tuple(dict.fromkeys([*project.roots, *sorted(roots)]))
    return project


#: In a larger folder it is not looked whether any file has to do with JAX.
_MAX_FOLDERS_SEARCHED = 4000


def has_no_framework(files: Sequence[str], settings: Settings) -> bool:
    """Whether no file that the files could import names a framework, so that nothing can be found in them.

    Where packages of an environment are seen, that is not known.
    """
    project = make_project(files, settings)
    names = sorted(_framework_packages(settings))
    mention = re.compile(rb"\b(?:%s)\b" % b"|".join(re.escape(name).encode() for name in names))
    below = [_python_files_below(root) for root in project.roots]
    if project.site_packages or None in below:
        return False
    for path in sorted({*files, *(path for found in below if found is not None for path in found)}):
        try:
            with open(path, "rb") as file:
                if mention.search(file.read()):
                    return False
        except OSError:
            return False
    return True


def _python_files_below(root: str) -> list[str] | None:
    """The Python files below a folder; None if there are very many folders."""
    found: list[str] = []
    for number, (folder, folders, names) in enumerate(os.walk(root)):
        if number > _MAX_FOLDERS_SEARCHED:
            return None
        folders[:] = [name for name in folders if name not in DEFAULT_EXCLUDES]
        found += [os.path.join(folder, name) for name in names if name.endswith(SUFFIXES)]
    return found


#: How many files beside those that were asked for are read to see subclasses.
_MAX_NEIGHBOURS = 1000


def _names_files(paths: Sequence[str]) -> bool:
    return any(os.path.isfile(path) for path in paths)


def package_neighbours(files: Sequence[str], project: Project) -> list[Module]:
    """The other modules of the packages that single files were asked for from: they may hold subclasses."""
    folders = set()
    for path in files:
        folder, root = os.path.dirname(path), project.package_root(path)
        package = os.path.relpath(folder, root).partition(os.sep)[0]
        folders.add(root if package == os.curdir else os.path.join(root, package))
    asked = set(files)
    found: list[str] = []
    for folder in sorted(folders):
        names = discover([folder]) if os.path.exists(os.path.join(folder, "__init__.py")) else _python_files(folder)
        found += [name for name in names if name not in asked]
    return [project.add_file(path) for path in found[:_MAX_NEIGHBOURS] if os.path.isfile(path)]


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
    kept: list[object] | None = None,
) -> Result:
    """Check files and folders; with a `cache`, only what has changed since the last time.

    With `force_exclude`, files that are named are left out as well if the settings exclude them. `facts` names files
    that `jaxlint facts` has written: what they hold of a file need not be found out again. With a `shard`, only its
    files are checked; the findings of all shards are those of one run. What the run has built is put into `kept`: who
    is about to end need not wait until all of it is freed.

    The `settings` are the same for all files, or those that a configuration says for each. `progress(done, total)`
    is told about the advance. Raises `UserError` for a path that does not exist or settings that cannot be
    used; what cannot be read or parsed is a finding.
    """
    if isinstance(settings, Configuration):
        files = discover(paths, settings.excludes, force=force_exclude)
        groups = settings.groups(files)
    else:
        fixed = settings or Settings()
        files = discover(paths, lambda directory: fixed.exclude, force=force_exclude)
        groups = [(fixed, files)]
    advance = _Progress(len(files), progress)
    result = Result([], sum(shard is None or shard.holds(path) for path in files), [])
    collecting = gc.isenabled()
    gc.disable()
    try:
        with Keeping(cache, facts, jobs) as keeping:
            for group, own in groups:
                others = set(files).difference(own) if len(groups) > 1 else ()
                checker = Checker(make_project(own, group), group)
                checker.project.store = keeping.store
                if kept is not None:
                    kept.append(checker)
                neighbours = package_neighbours(own, checker.project) if _names_files(paths) else []
                neighbours += [checker.project.add_file(path) for path in sorted(others)]
                neighbours = list({module.path: module for module in neighbours}.values())
                modules = [checker.project.add_file(path) for path in own]
                mine = [m for m in modules if shard is None or shard.holds(m.path)]
                found = _check_modules(checker, mine, modules, neighbours, keeping, advance)
                add_found(result, found, checker, [module.path for module in mine])
    finally:
        if collecting:
            gc.enable()
    result.findings.sort(key=lambda f: f.sort_key)
    result.errors = sorted(set(result.errors))
    result.stale = list(dict.fromkeys(result.stale))
    return result


def _check_modules(
    checker: Checker,
    mine: Sequence[Module],
    modules: Sequence[Module],
    neighbours: Sequence[Module],
    keeping: Keeping,
    advance: Callable[[], None],
) -> list[Finding]:
    """The findings of the modules that are `mine`, among `modules`; those that comments hide among them."""
    with Workers(checker, modules, neighbours, keeping) as workers:

        def check(missing: Sequence[Module]) -> list[Finding]:
            if workers.pay(missing):
                workers.learn([*modules, *neighbours])
                return workers.check(missing, advance)
            checker.learn(modules, advance, neighbours)
            findings: list[Finding] = []
            for module in missing:
                findings += checker.check(module)
                advance()
            return findings

        find = check
        if keeping.cache is not None:
            run = Run(keeping.cache, checker.project, checker.settings, modules, neighbours, workers.learn)
            keeping.needed |= run.contents()
            find = partial(findings_of, run, check=check, failed=lambda: bool(checker.errors))
        found = find(mine)
        if len(mine) < len(modules) and any(f.confidence is Confidence.LOW for f in found):
            # what is a guess here may be known for certain from the files of other shards
            here = {module.path for module in mine}
            elsewhere = find([m for m in modules if m.path not in here])
            found = [f for f in ordered([*found, *elsewhere]) if f.path in here]
        return found


def add_found(
    result: Result,
    found: list[Finding],
    checker: Checker,
    files: Sequence[str],
    lines: Callable[[str], Sequence[str]] = file_lines,
) -> None:
    """Add what was found in some of the files to the result: by comments, the baseline and confidence."""
    settings = checker.settings
    findings = ordered(found)
    result.suppressed += [f for f in findings if f.suppressed]
    findings = [f for f in findings if not f.suppressed]
    codes: dict[frozenset[type[Rule]], frozenset[str]] = {}
    for path in files:
        rules = checker.enabled_at(path)
        result.checked[path] = codes.setdefault(rules, frozenset(rule.code for rule in rules))
    if settings.baseline is not None:
        checked = {} if checker.errors else {path: result.checked[path] for path in files}
        findings, stale = without_known(settings.baseline, findings, checked, lines)
        result.stale += stale
    result.findings += [f for f in findings if _is_sure_enough(f, settings)]
    result.errors += checker.errors


def _is_sure_enough(finding: Finding, settings: Settings) -> bool:
    order = tuple(Confidence)
    return order.index(finding.confidence) <= order.index(settings.min_confidence)


class _Progress:
    """Tells how much of the work is done: each file is learnt, and then checked."""

    def __init__(self, files: int, tell: Callable[[int, int], None] | None) -> None:
        self._total = 2 * files
        self._done = 0
        self._tell = tell

    def __call__(self) -> None:
        self._done += 1
        if self._tell is not None:
            self._tell(self._done, self._total)


def ordered(findings: list[Finding]) -> list[Finding]:
    """Findings in the order of their report, guesses left out where the same thing is known for certain."""
    certain = {(f.code, f.subject) for f in findings if f.confidence is not Confidence.LOW}
    known = {_place(f) for f in findings if f.confidence is Confidence.HIGH}
    kept = [
        f
        for f in findings
        if f.confidence is Confidence.HIGH
        or (_place(f) not in known and (f.confidence is not Confidence.LOW or (f.code, f.subject) not in certain))
    ]
    return sorted(kept, key=lambda f: f.sort_key)


def _place(finding: Finding) -> tuple[str, str, int, int]:
    """What is found, and where; a function that is read once for each caller may be told more of by one of them."""
    return finding.code, finding.path, finding.row, finding.column


def check_content(raw: bytes, path: str, settings: Settings | Configuration | None = None) -> Result:
    """Check `raw` as if it were the content of the file `path`, which need not be there; its imports start there.

    Raises `UserError` for settings that cannot be used; what cannot be decoded or parsed is a finding.
    """
    path = os.path.abspath(path)
    own = settings.settings(path) if isinstance(settings, Configuration) else settings or Settings()
    checker = Checker(make_project([path], own), own)
    lines: Sequence[str] = ()
    try:
        source = Source.from_bytes(path, raw)
    except Unreadable as problem:
        found = checker._unreadable(checker.project.add_file(path), problem)
    else:
        lines = source.lines
        module = checker.project.add_source(source)
        checker.learn([module], neighbours=package_neighbours([path], checker.project))
        found = checker.check(module)
    result = Result([], 1, [])
    add_found(result, found, checker, [path], lambda _: lines)
    return result


def check_source(text: str, path: str = "<string>.py", settings: Settings | None = None) -> list[Finding]:
    """Check one text as if it stood in the file `path`; imports are followed from there.

    Raises `Unreadable` if the text holds null bytes.
    """
    settings = settings or Settings()
    source = Source.from_text(path, text)
    checker = Checker(make_project([source.path], settings), settings)
    module = checker.project.add_source(source)
    _ = module.outline
    checker._relevant = checker._reaching_frameworks([module]) | {module.path}
    checker.model.index_subclasses([module])
    return [f for f in ordered(checker.check(module)) if not f.suppressed and _is_sure_enough(f, settings)]
