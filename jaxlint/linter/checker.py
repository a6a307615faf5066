"""Checking the modules of one project with the rules that the settings enable."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import structs

from jaxlint.cache.version import __version__
from jaxlint.config.settings import EnabledRules, FixSettings, Settings, is_sure_enough
from jaxlint.cst.changes import Proposal
from jaxlint.cst.failing import FAILED, failures
from jaxlint.cst.parsed import ParsedRows
from jaxlint.errors import UserError
from jaxlint.finding import Finding
from jaxlint.infer.choosing.waiting import Waiting
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Event, rests_on_annotation
from jaxlint.infer.reading.indexing import Indexer
from jaxlint.infer.reading.reader import ModuleReader
from jaxlint.linter.extra_names import check_extra_names
from jaxlint.linter.prefilter import framework_packages
from jaxlint.project.index import ImportGraph, NotIndexedYet, ProjectIndex
from jaxlint.project.modules import Module, Project
from jaxlint.project.reachability import import_graph
from jaxlint.project.resolution import ClassSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.base import BodyRule, ClassRule, EventRule, Problem, Rule, SuppressionRule
from jaxlint.rules.plugins import own_place, rules_with
from jaxlint.rules.unreadable_file import UnreadableFile
from jaxlint.suppression.comments import Comments
from jaxlint.symbols.trees import Trees
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Span
from jaxlint.syntax.remembered import forget_statements
from jaxlint.syntax.source import Unreadable

if TYPE_CHECKING:
    from jaxlint.cst.anchors import Anchors, StoredAnchors
    from jaxlint.cst.writing import StoredEdits, Writer

#: The rules whose findings stand in code, and not in a comment.
_ABOUT_CODE = (ClassRule, EventRule, BodyRule)

#: In a large project, so many objects are made before those among them are looked for that only know each other.
_YOUNG = 60000

_Checks: TypeAlias = list[tuple[Rule, Callable[[Any, Evaluator], Iterator[Problem]]]]


class Checker:
    """Checks the modules of one project with the rules that the settings enable."""

    def __init__(self, project: Project, settings: Settings) -> None:
        check_extra_names(settings)
        self.project = project
        self.settings = settings
        self.enabled = EnabledRules(rules_with(settings.plugins), settings)
        self.fixes = FixSettings(settings)
        self._writer: Writer | None = None
        self._anchors: Anchors | None = None
        #: The edits of fixes that other checkers wrote, and where their findings stand, if that is stored.
        self.stored_edits: StoredEdits | None = None
        self.stored_anchors: StoredAnchors | None = None
        #: The rules of the findings of a module, and the fixes that they propose for each.
        self._proposed: dict[Finding, tuple[Rule, list[Proposal]]] = {}
        self.packages = framework_packages(settings)
        self.errors: list[str] = []
        #: What keeps the statements of the modules that are indexed until they are checked, if something does.
        self._trees: Trees | None = None
        #: What each module adds to the index, encoded, if that is wanted.
        self.parts: dict[str, bytes] | None = None
        self._start(ProjectIndex())

    def _start(self, project_index: ProjectIndex) -> None:
        """Begin with nothing but what is known of the project."""
        self.model = PytreeModel(self.project, self.settings)
        self.model.adopt(project_index)
        self.reader = ModuleReader(self.model)
        enabled = self.enabled.rules
        self.reader.triggers.waiting = Waiting(
            frozenset[str]().union(*(rule.calls for rule in enabled)),
            frozenset[str]().union(*(rule.instance_calls for rule in enabled)),
            tuple(rule.wants for rule in enabled if rule.wants is not Rule.wants),
        )
        self.class_rules = [rule() for rule in enabled if issubclass(rule, ClassRule)]
        self.event_rules = [rule() for rule in enabled if issubclass(rule, EventRule)]
        self.body_rules = [rule() for rule in enabled if issubclass(rule, BodyRule)]
        self.suppression_rules = [rule() for rule in enabled if issubclass(rule, SuppressionRule)]
        self._checks: dict[type[Event], _Checks] = {}

    # -- the whole project ------------------------------------------------------------------

    @property
    def project_index(self) -> ProjectIndex:
        """What is known of the project as a whole."""
        return self.model.project_index

    def adopt(self, project_index: ProjectIndex) -> None:
        """Take what was indexed of the project earlier, instead of indexing it again."""
        self.model.adopt(project_index)

    def keep_trees(self) -> None:
        """Keep what is parsed of the modules that are indexed until they are checked, if that is soon."""
        store = self.project.store
        if store is None or not store.is_bounded:
            self._trees = Trees()

    def build_index(
        self,
        modules: Sequence[Module],
        progress: Callable[[], None] = lambda: None,
        neighbours: Sequence[Module] = (),
    ) -> None:
        """Read the outlines of `modules`, and index who inherits from whom (in `neighbours` too)."""
        said: list[bytes | Module] = []
        together: list[Module] = []
        looked_at: set[str] = set()
        for module in modules:
            if not module.is_irrelevant:
                module.trees = self._trees
                _ = module.imports
                module.forget_source()
                together.append(module)
                if self._is_full:
                    said += self._index_early(together, looked_at)
                    together = []
                    self.evict()
            progress()
        others = [module for module in neighbours if not module.is_irrelevant]
        seen = [module for module in modules if not module.is_irrelevant] + others
        graph = import_graph(seen, self.project, self.packages)
        for module in together:
            if module.path not in graph.relevant:
                module.forget_tree()
        self._index_from([*said, *together, *others], graph)
        in_order = self.project_index.cycles and said  # what becomes of classes in a cycle depends on the order
        if in_order or not looked_at.isdisjoint(graph.registering):
            self.start_again()
            self._index_from(seen, graph)

    def _index_early(self, modules: Sequence[Module], names: set[str]) -> Iterator[bytes | Module]:
        """What modules tell while they are in memory, encoded, before all are read; those that cannot tell it yet.

        The `names` of the classes that were looked at are added: others may register these.
        """
        graph = import_graph(modules, self.project, self.packages)
        unknown = ProjectIndex(ImportGraph(is_complete=False, seen_early=names))
        self.model.adopt(unknown)
        for module in modules:
            if module.path not in graph.relevant:
                yield module
                continue
            try:
                yield msgspec.msgpack.encode(self.part_of(module))
            except (NotIndexedYet, UnicodeError):  # or a path that cannot be encoded
                self.start_again(unknown)
                yield module

    def part_of(self, module: Module) -> ProjectIndex:
        """What one module tells, which is worth a look; who imports whom must be known."""
        part = ProjectIndex()
        with self.guard("indexing", module):
            self.indexer(part).build_index(module)
        return part

    def _index_from(self, said: Sequence[bytes | Module], graph: ImportGraph) -> None:
        """Index what the modules tell that are worth a look; some have `said` it already."""
        project_index = ProjectIndex(graph)
        self.model.adopt(project_index)
        for one in said:
            if isinstance(one, Module) and one.path not in graph.relevant:
                continue
            part = msgspec.msgpack.decode(one, type=ProjectIndex) if isinstance(one, bytes) else self.part_of(one)
            project_index.add(part)
            if self.parts is not None:
                self.parts |= dict.fromkeys(part.indexed, msgspec.msgpack.encode(part))
            self.evict()
        project_index.close()

    def indexer(self, project_index: ProjectIndex) -> Indexer:
        """What adds to an index what modules tell; who imports whom must be known."""
        return Indexer(self.reader.evaluator, self.reader.calls.transformed, project_index)

    @property
    def _is_full(self) -> bool:
        """Whether there is more in memory than there should be."""
        return self.project.store is not None and self.project.store.is_full

    def evict(self) -> None:
        """Let go of all that was built and of the outlines, if there is too much of it.

        It is made again when it is asked for, so that a large project needs no more memory than a small one. What was
        found out about the statements of the last module, and what knows itself, goes in any case.
        """
        store = self.project.store
        if store is None or not store.lets_go:
            return
        forget_statements()
        if store.is_full:
            self.project.forget_outlines()
            self.start_again(self.project_index)
            gc.collect()
        elif gc.get_count()[0] > _YOUNG:
            gc.collect(0)

    def start_again(self, project_index: ProjectIndex | None = None) -> None:
        """Let go of all that was built, but for what is known of the project."""
        self.release()
        self._start(project_index or ProjectIndex())

    def release(self) -> None:
        """Let go of all that was built, now: its parts know each other, and would wait for the garbage collector."""
        reader: ModuleReader | None = self.reader
        while reader is not None:
            calls, listening = reader.calls, reader.listening
            functions = (calls.transformed.applications, calls.transformed, calls.higher_order, calls.known_functions)
            for part in (*functions, calls, reader.elsewhere, reader.evaluator, reader):
                vars(part).clear()
            reader = listening
        for built in (*self.model.classes_built(), self.model):
            vars(built).clear()

    # -- one module -------------------------------------------------------------------------

    def check(self, module: Module) -> list[Finding]:
        """The findings of one module, sorted; those that comments hide say so."""
        if module.is_irrelevant:
            return []
        _ = module.outline
        if module.problem is not None:
            return self.unreadable(module, module.problem)
        if module.failure is not None:
            self._failed("reading", module, module.failure)
        try:
            with self.guard("checking", module):
                if module.path in self.project_index.imports.relevant:
                    return self._findings(module)
                if module.outline.has_suppressions:
                    return self._hidden_by_comments(module, [], is_complete=True)
            return []
        except Unreadable as problem:  # it vanished or changed since its outline was made
            return self.unreadable(module, problem)
        finally:
            module.forget_source()
            module.forget_tree()

    def glance(self, module: Module, rows: Collection[int]) -> list[Finding]:
        """What is found in the classes and functions in which some rows are, if only they and their callers are read.

        Nothing where the file cannot be parsed. The findings stand where `ast` found them, and have no fixes; there may
        be fewer than `check` finds there, which also tells of what fails.
        """
        _ = module.outline
        findings: list[Finding] = []
        if module.problem is not None or module.path not in self.project_index.imports.relevant:
            return findings
        with suppress(Unreadable), self.guard("checking", module):
            findings = self._enabled(self._find_all(module, rows), module)
            findings = self._with_comments(module, findings, self.enabled.at(module.path), is_complete=False)
        self._proposed.clear()
        return findings

    def check_alone(self, module: Module) -> list[Finding]:
        """The findings of a module that is only looked at for its imports, whether or not it imports a framework."""
        _ = module.outline
        graph = import_graph([module], self.project, self.packages)
        graph.relevant.add(module.path)
        self._index_from([module], graph)
        return self.check(module)

    def _findings(self, module: Module) -> list[Finding]:
        """What the rules find in a module. Raises `Unreadable` if its text can no longer be had."""
        failures = len(self.errors)
        found = dict.fromkeys(self._find_all(module))
        unread = [row for path, row in self.reader.unread if path == module.path]
        self.reader.unread.clear()
        if unread:
            _ = module.source
        for row in unread:
            message = "this statement nests too deeply to be checked; split it"
            for finding in self.unreadable(module, Unreadable(message, row, 1)):
                found[finding] = None
        findings = self._enabled(found, module)
        is_complete = failures == len(self.errors) and not any(f.code == UnreadableFile.code for f in found)
        return self._hidden_by_comments(module, findings, is_complete)

    def _enabled(self, found: Iterable[Finding], module: Module) -> list[Finding]:
        """The findings of rules that are enabled for the file, once each, sorted."""
        codes = self.enabled.codes_at(module.path)
        return sorted((f for f in dict.fromkeys(found) if f.code in codes), key=lambda f: f.sort_key)

    def _find_all(self, module: Module, rows: Collection[int] | None = None) -> Iterator[Finding]:
        """The findings in a module, or only around some rows, unsorted; comments hide none of them yet."""
        self.reader.begin(module)
        self.model.checked = module
        yield from self._find_in_classes(module, self._classes_in(module, rows) if self.class_rules else ())
        if (self.event_rules or self.body_rules) and module.outline.units:
            events: list[list[Event]] = []
            with self.guard("following values", module):
                events = self.reader.events(module, rows)
            for in_unit in events:
                yield from self._find_in_events(module, in_unit)

    def _classes_in(self, module: Module, rows: Collection[int] | None) -> Iterator[PytreeClass]:
        """The classes that a module declares, or those around some rows; those that cannot be built are left out."""
        for declaration in module.outline.classes.values():
            if rows is not None and not any(declaration.at.row <= row <= declaration.at.end_row for row in rows):
                continue
            with self.guard(f"the model of `{declaration.name}`", module):
                yield self.model.build(ClassSymbol(module, declaration))

    def _hidden_by_comments(self, module: Module, findings: list[Finding], is_complete: bool) -> list[Finding]:
        """`findings` as they are reported: with what comments do to them, and what is to be said of the comments."""
        if not findings and not module.outline.has_suppressions:
            return []
        enabled = self.enabled.at(module.path)
        with self.guard("reading comments", module):
            findings = self._with_comments(module, findings, enabled, is_complete)
        return self._finished(findings, module)

    def _with_comments(
        self, module: Module, findings: list[Finding], enabled: frozenset[type[Rule]], is_complete: bool
    ) -> list[Finding]:
        comments = Comments(module.source, findings, enabled if is_complete else frozenset())
        if not comments:
            return findings
        about: list[Finding] = []
        for rule in self.suppression_rules:
            if type(rule) in enabled:
                for problem in rule.check_suppressions(comments):
                    assert isinstance(problem.at, tuple)
                    about.append(self._finding(problem, rule, module, problem.at))
                self._note_failures(rule, module)
        return sorted(comments.hide(about), key=lambda f: f.sort_key)

    def unreadable(self, module: Module, problem: Unreadable) -> list[Finding]:
        """The finding for a file that is not checked."""
        if UnreadableFile not in self.enabled.at(module.path):
            return []
        row, column = problem.row or 1, problem.column or 1
        return [UnreadableFile.finding(Problem(None, problem.message), module.path, (row, column, row, column))]

    def _find_in_classes(self, module: Module, classes: Iterable[PytreeClass]) -> Iterator[Finding]:
        """What the rules find in the declarations of some classes of a module."""
        of_pytrees: _Checks = [(rule, rule.check_class) for rule in self.class_rules]
        of_others: _Checks = [(rule, rule.check_class) for rule in self.class_rules if rule.all_classes]
        for cls in classes:
            if not cls.symbol.declaration.expects_error:
                yield from self._found_by(of_pytrees if cls.is_pytree else of_others, module, cls)

    def _find_in_events(self, module: Module, events: Iterable[Event]) -> Iterator[Finding]:
        """What the rules find in what happens in a unit of a module."""
        self.reader.step()
        for event in events:
            kind = type(event)
            if kind not in self._checks:
                self._checks[kind] = self._checks_of(kind)
            yield from self._found_by(self._checks[kind], module, event)
            if isinstance(event, CodeRead):
                event.forget()

    def _found_by(self, checks: _Checks, module: Module, at: object) -> Iterator[Finding]:
        """What rules find in one place: in a class or an event."""
        evaluator = self.reader.evaluator
        for rule, check in checks:
            try:
                problems = list(check(at, evaluator))
                if problems:
                    yield from self._as_findings(problems, rule, module, at)
            except Unreadable:
                raise
            except Exception as error:
                self._failed(rule.code, module, error, rule)
            finally:
                if FAILED:  # also where nothing is found after all
                    self._note_failures(rule, module)

    def _as_findings(self, problems: list[Problem], rule: Rule, module: Module, at: object) -> list[Finding]:
        if isinstance(at, Event) and rests_on_annotation(at):
            problems = [structs.replace(problem, declared=True) for problem in problems]
        if isinstance(at, Event) and at.place.is_one_way:
            problems = [
                structs.replace(p, declared=True, fix=None if p.fix is None else p.fix.as_unsafe()) for p in problems
            ]
        return [self._finding(p, rule, module, self._place(p, module)) for p in problems]

    def _checks_of(self, kind: type[Event]) -> _Checks:
        """The rules that look at events of a kind, and their methods for it."""
        checks: _Checks = [(rule, rule.check_event) for rule in self.event_rules if issubclass(kind, rule.events)]
        if issubclass(kind, CodeRead):
            checks += [(rule, rule.check_body) for rule in self.body_rules]
        return checks

    def _place(self, problem: Problem, module: Module) -> tuple[int, int, int, int]:
        """The range of a problem with columns from 1 in code points."""
        row, column, end_row, end_column = module.source.codepoints(place_of(problem.at))
        return row, column + 1, end_row, end_column + 1

    def _finding(self, problem: Problem, rule: Rule, module: Module, place: tuple[int, int, int, int]) -> Finding:
        finding = rule.finding(problem, module.path, place)
        _, proposals = self._proposed.setdefault(finding, (rule, []))
        if problem.fix is not None and problem.fix not in proposals:
            proposals.append(problem.fix)
        return finding

    def _finished(self, findings: Sequence[Finding], module: Module) -> list[Finding]:
        """Findings as they are reported: on their nodes of libcst, with their fixes.

        Those that nobody is shown stay as they are, for libcst takes as long to load as a small project to check.
        """
        done: dict[Finding, None] = {}
        for finding in findings:
            if finding.suppressed or not is_sure_enough(finding.confidence, self.settings):
                done[finding] = None
                continue
            rule, proposals = self._proposed.get(finding, (None, []))
            anchored = self._anchored(finding, module) if isinstance(rule, _ABOUT_CODE) else finding
            fixed = (self._fixed(anchored, one, rule, module) for one in proposals) if rule is not None else ()
            done[next((one for one in fixed if one.fix is not None), anchored)] = None
        self._proposed.clear()
        return sorted(done, key=lambda f: f.sort_key)

    def _anchored(self, finding: Finding, module: Module) -> Finding:
        """A finding on the node of libcst at its place; where libcst cannot say, it stays where `ast` found it."""
        from jaxlint.cst.anchors import Anchors

        parsed = ParsedRows.of(module)
        if self._anchors is None or self._anchors.parsed is not parsed:
            self._anchors = Anchors(parsed, self.stored_anchors)
        with self.guard(f"the place of {finding.code}", module):
            at = self._anchors.of(Span(finding.row, finding.column - 1, finding.end_row, finding.end_column - 1))
            if at is not None:
                return structs.replace(
                    finding, row=at.row, column=at.column + 1, end_row=at.end_row, end_column=at.end_column + 1
                )
        return finding

    def _note_failures(self, rule: Rule, module: Module) -> None:
        """Say which fixes of a rule have failed; their findings are there without."""
        for error in failures():
            self._failed(f"the fix of {rule.code}", module, error, rule)

    def _fixed(self, finding: Finding, proposal: Proposal, rule: Rule, module: Module) -> Finding:
        """A finding with the fix that its rule proposes."""
        try:
            return self._with_fix(finding, proposal, rule, module)
        except RecursionError:
            return finding  # what nests too deeply for libcst has no fix
        except Exception as error:
            self._failed(f"the fix of {rule.code}", module, error, rule)
            return finding

    def _with_fix(self, finding: Finding, proposal: Proposal, rule: Rule, module: Module) -> Finding:
        """A finding with the fix that its rule proposes, if the settings let it and the code fits it."""
        from jaxlint.cst.writing import Writer

        parsed = ParsedRows.of(module)
        if self._writer is None or self._writer.parsed is not parsed:
            self._writer = Writer(parsed, module.outline, self.stored_edits)
        proposed: Proposal | None = proposal
        while proposed is not None:
            applicability = self.fixes.applicability(type(rule), proposed.applicability)
            fix = None
            if applicability is not None:
                fix = self._writer.fix(structs.replace(proposed, applicability=applicability))
            if fix is not None:
                shown = self._writer.help_of(fix, proposed)
                return structs.replace(finding, fix=fix, help=shown or finding.help)
            proposed = proposed.otherwise
        return finding

    @contextmanager
    def guard(self, what: str, module: Module) -> Iterator[None]:
        """Whatever fails meanwhile is one line about a module; all others are checked."""
        try:
            yield
        except (Unreadable, UserError, NotIndexedYet):
            raise
        except Exception as error:
            self._failed(what, module, error)

    def _failed(self, what: str, module: Module, error: Exception, rule: Rule | None = None) -> None:
        """Keep one line about a failure, which may be one of a rule of one's own; the rest goes on."""
        self.errors.append(failure_line(what, module, error, rule))


def failure_line(what: str, module: Module, error: Exception, rule: Rule | None = None) -> str:
    """One line about a failure in a module, of ours or of a rule of another package."""
    text = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    place = None if rule is None else own_place(type(rule), error)
    if place is not None:
        return f"{module.path}: {what} failed: {text}{place}"
    return f"{module.path}: {what} failed in jaxlint {__version__}: {text}"
