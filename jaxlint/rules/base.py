"""What a rule is: its identity, its page (the docstring), and how it reports a problem."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import msgspec

from jaxlint.cst.changes import Proposal
from jaxlint.cst.reading import FunctionNode, NotRead
from jaxlint.finding import Confidence, Finding, Severity, page_url
from jaxlint.syntax.paths import is_of_tests

if TYPE_CHECKING:
    from jaxlint.infer.choosing.waiting import Candidate
    from jaxlint.infer.evaluating.evaluate import Evaluator
    from jaxlint.infer.evaluating.events import CodeRead, Event
    from jaxlint.pytrees.model import PytreeClass
    from jaxlint.suppression.comments import Comments

#: The headings of a rule's page, in the order in which they must stand in the docstring.
HEADINGS = (
    "What it does",
    "Why is this bad?",
    "What you will see",
    "Example",
    "Use instead",
    "Frameworks",
    "Fix safety",
    "When not to use it",
    "References",
)


#: How short a summary may get where it is cut at a comma.
_FEW_WORDS = 7


#: Under this heading stands what a run shows.
_SEEN = "## What you will see\n"
_REFERENCES = "## References\n"
#: What the page of a rule says if it finds what each run shows (`Rule.raises_at_once`). Of what seven such rules said
#: of tests as they met them, two findings of two sources were true and 63 of eleven false (tools/ecosystem).
_IN_TESTS = "In tests it has low confidence: whoever wrote one has seen it run."


def _seen_otherwise(shown: str) -> str:
    """What other versions show instead of what is `shown`, as the facts of the frameworks say."""
    from jaxlint.pytrees.frameworks import FACTS

    words = " ".join(shown.split())
    lines = []
    for fact in FACTS.values():
        text = fact.now.partition(": ")[2]
        if fact.otherwise and text and all(part.strip() in words for part in text.split("…")):
            lines.append(f"* {fact.not_when}: " + " or ".join(map(_as_seen, fact.otherwise)))
    return "\n".join(["\n\nOther versions show something else instead:\n", *lines]) if lines else ""


def _as_seen(text: str) -> str:
    """What a program shows, in Markdown."""
    return "no error" if text == "nothing" else f"`{text}`"


class Problem(msgspec.Struct, frozen=True):
    """What a rule yields: a place (a span of the outline or a node), a sentence, its reason, the way out.

    `confidence` and `severity` default to those of the rule.
    """

    at: object
    message: str
    reason: str = ""
    help: str = ""
    confidence: Confidence | None = None
    #: Whether only an annotation says what it is about; so it is where that holds for the event (`Rule.finding`).
    declared: bool = False
    #: Whether it is an error of each run, where not all that the rule finds is (`Rule.raises_at_once`).
    raises_at_once: bool = False
    severity: Severity | None = None
    #: What the problem is about (`Finding.subject`); a low-confidence finding yields to a better one about the same.
    subject: str = ""
    fix: Proposal | None = None


#: The version of what rules of other packages may rely on: see docs/own-rules.md.
API = 1


class Rule:
    """Base of all rules. A rule is one module in `jaxlint/rules/`, named like the rule; or one of another package."""

    code: ClassVar[str]
    name: ClassVar[str]
    group: ClassVar[str]
    severity: ClassVar[Severity] = Severity.ERROR
    confidence: ClassVar[Confidence] = Confidence.HIGH
    enabled: ClassVar[bool] = True
    preview: ClassVar[bool] = False
    since: ClassVar[str]
    #: Whether it may also be about an array, a function or something of unknown class, and its messages name no class.
    about_values: ClassVar[bool] = False
    #: Whether what it finds is an error of each run: in a test it has low confidence, for who wrote that has run it.
    raises_at_once: ClassVar[bool] = False
    #: The version of the API that a rule of another package was written for.
    api: ClassVar[int] = API
    #: What the rule waits for, besides its events: code that calls one of these (the last part of the name, as in
    #: `tree_at` for `eqx.tree_at`) is read where a pytree class can be seen.
    calls: ClassVar[frozenset[str]] = frozenset()
    #: The same for code that makes instances of pytree classes, or is given some; also `COMPARES` and `CHOOSES` of
    #: `jaxlint.symbols.outline`.
    instance_calls: ClassVar[frozenset[str]] = frozenset()

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Whether the rule wants code to be read in which a pytree class can be seen, by its outline alone."""
        return False

    @classmethod
    def page(cls) -> str:
        """The rule's documentation in Markdown: its docstring, dedented, with what other versions show."""
        page = inspect.cleandoc(cls.__doc__ or "")
        if cls.raises_at_once:
            page = page.replace(_REFERENCES, f"{_IN_TESTS}\n\n{_REFERENCES}")
        before, heading, rest = page.partition(_SEEN)
        shown, next_heading, after = rest.partition("\n\n## ")
        return before + heading + shown + _seen_otherwise(shown) + next_heading + after

    @classmethod
    def summary(cls) -> str:
        """The first sentence of the section *What it does*, on one line."""
        text = cls.page().split("## What it does", 1)[-1].split("\n## ", 1)[0].strip()
        return " ".join(text.split("\n\n", 1)[0].split()).removesuffix(".")

    @classmethod
    def in_short(cls) -> str:
        """What it finds, in some ten words: the summary without its verb and parentheses, up to where a clause ends."""
        words = re.sub(r" \([^)]*\)", "", re.split(r"[:;] ", cls.summary())[0]).split()[1:]
        ends = [i for i in range(len(words) + 1) if i == len(words) or words[i - 1].endswith(",")]
        return " ".join(words[: next(i for i in ends if i >= _FEW_WORDS or i == len(words))]).removesuffix(",")

    @classmethod
    def url(cls) -> str:
        """Where the page is published; stable per rule name. Empty for rules of plugins, which are not."""
        return page_url(cls.code, cls.name)

    @classmethod
    def finding(cls, problem: Problem, path: str, place: tuple[int, int, int, int]) -> Finding:
        """A problem that the rule has found, with its place (rows and columns from 1, the end exclusive).

        What only an annotation says is never certain, and hardly true in a test is what its author would have seen.
        """
        row, column, end_row, end_column = place
        confidence = problem.confidence or cls.confidence
        if problem.declared and confidence is Confidence.HIGH:
            confidence = Confidence.MEDIUM
        if (cls.raises_at_once or problem.raises_at_once) and is_of_tests(path):
            confidence = Confidence.LOW
        return Finding(
            path=path,
            row=row,
            column=column,
            end_row=end_row,
            end_column=end_column,
            code=cls.code,
            name=cls.name,
            message=problem.message,
            severity=problem.severity or cls.severity,
            confidence=confidence,
            reason=problem.reason,
            help=problem.help,
            subject=problem.subject,
        )


class ClassRule(Rule):
    """A rule that looks at one class; a pure function over the model."""

    #: Whether it wants to see classes that are no pytrees, too.
    all_classes: ClassVar[bool] = False

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Yield the problems of the class declaration `cls`; `evaluator` tells what annotations and defaults are."""
        raise NotImplementedError


class EventRule(Rule):
    """A rule that looks at one thing that is done to an instance."""

    #: The event types that `check_event` wants to see.
    events: ClassVar[tuple[type[Event], ...]]

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Yield the problems of `event`, an instance of one of `events`; `evaluator` reads annotations."""
        raise NotImplementedError


class BodyRule(Rule):
    """A rule that reads the body of a function, or the top-level statements of a file."""

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Yield the problems of one body; `code.events` is what happens in it, `code.applied` what transforms it."""
        raise NotImplementedError


class NodeRule(BodyRule):
    """A body rule that reads the libcst nodes of a function: `ast` finds the place, libcst reads it.

    To load libcst takes as long as to check a small project, and nothing is parsed before `check_node` asks for the
    first node. Ask for one last, when events and types have left a suspicion: what is parsed then mostly has a finding.
    """

    #: Whether it looks at lambdas and top-level statements as well, which have no `node`, but nodes for `node_at`.
    everywhere: ClassVar[bool] = False

    def can_match(self, code: CodeRead) -> bool:
        """Whether a function may hold what the rule looks for, by its events, calls and transformations."""
        raise NotImplementedError

    def check_node(self, function: FunctionNode, evaluator: Evaluator) -> Iterator[Problem]:
        """Yield the problems of one function; `function.node` is a `libcst.FunctionDef`."""
        raise NotImplementedError

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the function, if it can match and libcst can read it."""
        is_defined = code.function is not None and code.function.name != "<lambda>"
        if not (is_defined or self.everywhere) or not self.can_match(code):
            return
        try:
            yield from self.check_node(FunctionNode(code), evaluator)
        except NotRead:
            return


class SuppressionRule(Rule):
    """A rule that looks at the suppression comments of a file, after all other rules."""

    def check_suppressions(self, comments: Comments) -> Iterator[Problem]:
        """Yield the problems of the comments; `at` is a range with rows and columns from 1, the end exclusive."""
        raise NotImplementedError
