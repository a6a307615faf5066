"""The fixtures: found, their headers and expectations read, expanded for every framework they hold for.

The format is described in `fixtures/README.md`.
"""

from __future__ import annotations

import io
import re
import tokenize
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from tests.oracle import frameworks, spelling
from tests.oracle.frameworks import FRAMEWORKS, MAIN
from tests.oracle.versions import Condition, Versions, conditions, here, locked

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"

#: Folders in `fixtures/` that do not hold cases of one rule.
OTHER_FOLDERS = {"demo", "facts"}

HEADER = re.compile(
    r"^# (?P<key>frameworks|raises|prints|warns|clean|requires|calling|confidence)"
    r"(?:\[(?P<filter>[^\]]*)\])?(?::[ ]?|[ ]|$)(?P<value>.*)$"
)
#: What looks like a header and is none, and no comment for another tool either.
SLIP = re.compile(r"^# (?!jaxlint:|ruff:)[a-z-]+(?:\[[^\]]*\])?:(?: |$)")
MARK = re.compile(
    r"# (?P<kind>expect-missing|expect|maybe|false-alarm)(?:\[(?P<filter>[^\]]*)\])?: "
    r"(?P<codes>JAX\d{3}(?:\|JAX\d{3})*(?:, *JAX\d{3}(?:\|JAX\d{3})*)*)(?= *$|  #)"
)
ANY_MARK = re.compile(r"#[^#]*\b(?:expect|expect-missing|maybe|false-alarm)\b *[\[:]")
#: What stands in a line of a fixture that holds for some versions only.
_VERSIONS = re.compile(r"# [a-z-]+\[([^\]]*)\]|# requires: (.*)")


class FixtureError(Exception):
    """A fixture does not keep to the format."""


@dataclass(frozen=True)
class Raised:
    """An exception that is to be seen: its type's name, and a regular expression for its text."""

    type: str
    text: str


@dataclass(frozen=True)
class Call:
    """What an expression, evaluated after the program, shows: an exception, or a value's `repr` (a regex)."""

    expression: str
    raises: Raised | None
    gives: str | None


@dataclass(frozen=True)
class Consequence:
    """What a run of one program is to show."""

    raises: Raised | None
    prints: tuple[str, ...]
    warns: tuple[str, ...]
    calls: tuple[Call, ...]
    clean: bool


@dataclass(frozen=True)
class Mark:
    """One expectation in one line: any one of `codes`."""

    path: str
    row: int
    kind: str
    codes: frozenset[str]

    @property
    def place(self) -> tuple[str, int]:
        """The line."""
        return self.path, self.row


@dataclass(frozen=True)
class Filter:
    """What stands in brackets: the frameworks, and the versions, for which a line holds."""

    frameworks: frozenset[str] | None
    conditions: tuple[Condition, ...]

    @classmethod
    def read(cls, text: str | None) -> Filter:
        """`chex jax>=0.6`; nothing is for all."""
        found, rest = conditions(text or "")
        return cls(frameworks.select(rest) if rest.strip(", ") or (text is not None and not found) else None, found)

    def passes(self, framework: str, versions: Versions) -> bool:
        """Whether a line holds for a framework among these versions."""
        return (self.frameworks is None or framework in self.frameworks) and self.holds(versions)

    def holds(self, versions: Versions) -> bool:
        """Whether a line holds for some framework among these versions."""
        return all(condition.holds(versions) for condition in self.conditions)

    @property
    def breadth(self) -> tuple[int, int]:
        """How many frameworks a line is for; what holds for some versions only is narrower."""
        return (
            len(FRAMEWORKS) + 1 if self.frameworks is None else len(self.frameworks),
            -len(self.conditions),
        )


@dataclass(frozen=True)
class Header:
    """One header line."""

    key: str
    filter: Filter
    value: str


@dataclass(frozen=True)
class Case:
    """One fixture as it is written, for all the frameworks that it holds for."""

    rule: str
    name: str
    #: Relative path -> text; the program is `main.py`.
    files: Mapping[str, str]

    @cached_property
    def headers(self) -> list[Header]:
        """The header lines."""
        return headers(self.files["main.py"], "main.py")

    @property
    def is_neutral(self) -> bool:
        """Whether one of its modules seems to be in the neutral spelling: none is parsed to be asked."""
        return any(spelling.IMPORTED.search(text) for text in self.files.values())

    @cached_property
    def neutral(self) -> spelling.Neutral:
        """Its modules, parsed."""
        return spelling.Neutral(self.files)


@dataclass(frozen=True)
class Program:
    """One complete, ordinary program: a fixture in the spelling of one framework, expanded when it is asked for."""

    source: Case
    framework: str
    #: The column of the matrix whose versions count instead of those with which it would run here.
    column: str = ""

    @property
    def versions(self) -> Versions:
        """What it runs with."""
        name = self.column or self.environment
        return here() if name == MAIN else locked(name)

    @property
    def id(self) -> str:
        """Like `frozen-assignment/method/flax-node`; also its folder."""
        return f"{self.source.rule}/{self.source.name}/{self.framework}"

    @property
    def rule(self) -> str:
        """The name of the rule in whose folder it is."""
        return self.source.rule

    @property
    def case(self) -> str:
        """The name of the fixture."""
        return self.source.name

    @property
    def environment(self) -> str:
        """Where its framework is installed; see `environments.py`."""
        return FRAMEWORKS[self.framework].environment

    @property
    def requires(self) -> str:
        """Like `python>=3.11`, or nothing."""
        return " ".join(applying(self.source.headers, "requires", self.framework, self.versions))

    @property
    def missing(self) -> str:
        """What it needs that is not there, if anything is: versions, or the framework."""
        needs = f"{FRAMEWORKS[self.framework].needs} {self.requires}"
        return ", ".join(str(one) for one in conditions(needs)[0] if not one.holds(self.versions))

    @property
    def confidence(self) -> str:
        """How sure a finding in it must be to count, if that is said."""
        return "".join(applying(self.source.headers, "confidence", self.framework, self.versions))

    @cached_property
    def files(self) -> Mapping[str, str]:
        """Relative path -> text; the program is `main.py`."""
        try:
            return self.source.neutral.expand(FRAMEWORKS[self.framework])
        except (spelling.SpellingError, SyntaxError) as error:
            raise FixtureError(f"{self.id}: {error}") from error

    @cached_property
    def consequence(self) -> Consequence:
        """What its run is to show."""
        return consequence(self.source.headers, self.framework, self.id, self.versions)

    @cached_property
    def marks(self) -> tuple[Mark, ...]:
        """The expectations in its lines."""
        return tuple(
            mark for path, text in self.files.items() for mark in marks(path, text, self.framework, self.versions)
        )

    @cached_property
    def is_bad(self) -> bool:
        """Whether the program has a bug (reported or, as a debt, missed), as its fixture says; see `check`."""
        texts = self.source.files.items()
        return has_bug(mark for path, text in texts for mark in marks(path, text, self.framework, self.versions))

    def check(self) -> None:
        """A bad program shows its consequence; a good one runs clean; nothing is left unsaid."""
        shown = self.consequence
        if has_bug(self.marks) is not self.is_bad:
            raise FixtureError(f"{self.id}: the spelling loses a mark")
        harm = shown.raises or shown.prints or shown.warns or shown.calls
        if self.is_bad and (shown.clean or not harm):
            raise FixtureError(f"{self.id}: a bad program needs its consequence, not `# clean`")
        if not self.is_bad and (not shown.clean or shown.raises or shown.warns):
            raise FixtureError(f"{self.id}: a good program is `# clean`")

    @property
    def is_well_formed(self) -> bool:
        """Whether `check` finds nothing."""
        try:
            self.check()
        except FixtureError:
            return False
        return True

    @property
    def speaks_of_versions(self) -> bool:
        """Whether its fixture says that something holds for some versions only."""
        texts = self.source.files.values()
        return any(conditions(match[1] or match[2] or "")[0] for text in texts for match in _VERSIONS.finditer(text))

    def write(self, root: Path) -> Path:
        """Write the program under `root` and return its folder."""
        folder = root / self.id
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return folder


def has_bug(some: Iterable[Mark]) -> bool:
    """Whether one of the marks is that of a bug."""
    return any(mark.kind in ("expect", "expect-missing") for mark in some)


def first_statement(text: str) -> int:
    """The row of the first statement below the docstring, without the rest of the text being read."""
    outside = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE}
    tokens = (token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in outside)
    first = next(tokens)
    return (next(tokens) if first.type == tokenize.STRING else first).start[0]


def headers(text: str, path: str) -> list[Header]:
    """The header lines of a fixture: comments above its first statement, around the docstring.

    A key that there is not is an error: what it states would not be checked.
    """
    last = first_statement(text)
    found: list[Header] = []
    for row, line in enumerate(text.splitlines(), 1):
        if row < last and (match := HEADER.match(line)):
            found.append(Header(match["key"], Filter.read(match["filter"]), match["value"].strip()))
        elif row < last and SLIP.match(line):
            raise FixtureError(f"{path}:{row}: no header is called so: {line!r}; see fixtures/README.md")
    return found


def applying(found: list[Header], key: str, framework: str, versions: Versions) -> list[str]:
    """The values of the headers `key` for `framework`: those with the narrowest filter that it passes."""
    passed = [h for h in found if h.key == key and h.filter.passes(framework, versions)]
    narrowest = min((h.filter.breadth for h in passed), default=None)
    return [h.value for h in passed if h.filter.breadth == narrowest]


def raised(value: str, path: str) -> Raised:
    """Read `Type: regex`."""
    name, colon, text = value.partition(":")
    if not colon or not name.isidentifier() or not text.strip():
        raise FixtureError(f"{path}: expected `Type: regex`, got {value!r}")
    re.compile(text.strip())
    return Raised(name, text.strip())


def read_call(value: str, path: str) -> Call:
    """Read `expression raises Type: regex` or `expression gives regex`."""
    if match := re.match(r"(.+?) raises (\w+: .+)$", value):
        return Call(match[1], raised(match[2], path), None)
    if match := re.match(r"(.+?) gives (.+)$", value):
        re.compile(match[2])
        return Call(match[1], None, match[2])
    raise FixtureError(f"{path}: expected `calling expression raises|gives ..`, got {value!r}")


def consequence(found: list[Header], framework: str, path: str, versions: Versions | None = None) -> Consequence:
    """What the headers say a run shows, with the versions that are here if no others are named."""
    versions = here() if versions is None else versions

    def values(key: str) -> list[str]:
        return applying(found, key, framework, versions)

    raises = [raised(value, path) for value in values("raises") if value != "nothing"]
    if len(raises) > 1:
        raise FixtureError(f"{path}: two exceptions for {framework}")
    # calls are replaced one by one, each by the narrowest header for the same expression
    calls: dict[str, Call] = {}
    for header in sorted((h for h in found if h.key == "calling"), key=lambda h: h.filter.breadth, reverse=True):
        if header.filter.passes(framework, versions):
            call = read_call(header.value, path)
            calls[call.expression] = call
    return Consequence(
        raises=raises[0] if raises else None,
        prints=tuple(value for value in values("prints") if value != "nothing"),
        warns=tuple(value for value in values("warns") if value != "nothing"),
        calls=tuple(calls.values()),
        clean=bool(values("clean")),
    )


def marks(path: str, text: str, framework: str, versions: Versions | None = None) -> Iterator[Mark]:
    """The expectations in the (expanded) module `path`, with the versions that are here if no others are named."""
    versions = here() if versions is None else versions
    for row, line in enumerate(text.splitlines(), 1):
        if "#" not in line:
            continue
        found = list(MARK.finditer(line))
        if len(found) != len(ANY_MARK.findall(line)) and not HEADER.match(line):
            raise FixtureError(f"{path}:{row}: not a well-formed expectation: {line.strip()}")
        for match in found:
            if not Filter.read(match["filter"]).passes(framework, versions):
                continue
            for codes in match["codes"].split(","):
                yield Mark(path, row, match["kind"], frozenset(codes.strip().split("|")))


def expand_case(case: Case) -> Iterator[Program]:
    """All programs of one case."""
    chosen = [header.value for header in case.headers if header.key == "frameworks"]
    where = f"{case.rule}/{case.name}"
    if len(chosen) != 1:
        raise FixtureError(f"{where}: needs one `# frameworks:` header")
    ids = frameworks.select(chosen[0])
    if len(ids) > 1 and not case.is_neutral:
        raise FixtureError(f"{where}: an ordinary program holds for one framework")
    return (Program(case, framework) for framework in sorted(ids))


def by_case(some: Iterable[Program]) -> dict[str, list[Program]]:
    """Programs by rule and case, as in `frozen-assignment/method`."""
    found: dict[str, list[Program]] = {}
    for program in some:
        found.setdefault(f"{program.rule}/{program.case}", []).append(program)
    return found


def one_of_each(some: Iterable[Program]) -> list[Program]:
    """The last one of the programs of each case."""
    return [of_case[-1] for of_case in by_case(some).values()]


def rotated(some: Iterable[Program]) -> list[Program]:
    """One of the programs of each case, of another framework from case to case."""
    return [first for first, _ in first_and_others(some).values()]


def first_and_others(some: Iterable[Program]) -> dict[str, tuple[Program, list[Program]]]:
    """Of each case the program of one framework, of another from case to case, and those of all other frameworks.

    `pytest` lints and runs the first, and the others if `--frameworks` or `-m` asks for them. It is one that runs here,
    if any does.
    """
    found = {}
    for name, of_case in by_case(some).items():
        here = [program for program in of_case if program.environment == MAIN] or of_case
        first = here[zlib.crc32(name.encode()) % len(here)]
        found[name] = first, [program for program in of_case if program is not first]
    return found


@cache
def programs() -> tuple[Program, ...]:
    """Every program of every fixture, in a stable order."""
    found: list[Program] = []
    for folder in sorted(path for path in FIXTURES.iterdir() if path.is_dir()):
        if folder.name in OTHER_FOLDERS or folder.name.startswith((".", "__")):
            continue
        for path in sorted(folder.iterdir()):
            if path.is_dir() and path.name != "__pycache__":
                files = {
                    str(module.relative_to(path)): module.read_text(encoding="utf-8")
                    for module in sorted(path.rglob("*.py"))
                }
                if "main.py" not in files:
                    raise FixtureError(f"{folder.name}/{path.name}: no main.py")
                found += expand_case(Case(folder.name, path.name, files))
            elif path.suffix == ".py":
                text = path.read_text(encoding="utf-8")
                found += expand_case(Case(folder.name, path.stem, {"main.py": text}))
    return tuple(found)


def moved(some: Iterable[Program], column: str) -> Iterator[Program]:
    """The programs of the environment of this Python, with the versions of a column; some of them may need others."""
    return (replace(program, column=column) for program in some if program.environment == MAIN)


def holds_for() -> dict[str, str]:
    """The frameworks that each rule holds for, as in a header: what `frameworks.txt` in its folder says."""
    return {path.parent.name: path.read_text(encoding="utf-8").strip() for path in FIXTURES.glob("*/frameworks.txt")}


def table(chosen: tuple[Program, ...]) -> str:
    """Counts of programs, rule by framework, bad/good."""
    bad = Counter((p.rule, p.framework) for p in chosen if p.is_bad)
    good = Counter((p.rule, p.framework) for p in chosen if not p.is_bad)
    rules = sorted({p.rule for p in chosen})
    width = max(map(len, FRAMEWORKS))
    lines = [" " * width + "  " + "  ".join(rules)]
    for framework in FRAMEWORKS:
        cells = [f"{bad[rule, framework]}/{good[rule, framework]}".ljust(len(rule)) for rule in rules]
        lines.append(framework.ljust(width) + "  " + "  ".join(cells))
    totals = []
    for rule in rules:
        of_rule = [p.is_bad for p in chosen if p.rule == rule]
        totals.append(f"{sum(of_rule)}/{len(of_rule) - sum(of_rule)}".ljust(len(rule)))
    return "\n".join([*lines, "total".ljust(width) + "  " + "  ".join(totals)])


def differences(expected: Iterable[Mark], found: Iterable[tuple[str, int, str]]) -> list[str]:
    """What is wrong with the findings `(path, row, code)` of one program, in sentences; nothing if all is well.

    Every `expect` is found; a `maybe` of the same code may stand for those of its code that are not. Nothing else
    is found. A known debt (`expect-missing`, `false-alarm`) is still one.
    """
    expected, wrong = list(expected), list[str]()
    left = set(found)
    stood_in: set[str] = set()
    missing: list[Mark] = []
    for mark in sorted(
        expected, key=lambda mark: ("expect", "false-alarm", "expect-missing", "maybe").index(mark.kind)
    ):
        hits = {(path, row, code) for path, row, code in left if (path, row) == mark.place and code in mark.codes}
        codes, place = "|".join(sorted(mark.codes)), f"{mark.path}:{mark.row}"
        if mark.kind == "expect":
            missing += [] if hits else [mark]
        elif mark.kind == "maybe":
            # one of several lines: right only where the line that is meant is not reported as well
            hits = {hit for hit in hits if any(hit[2] in lost.codes for lost in missing)}
            stood_in |= {code for _, _, code in hits}
        elif mark.kind == "expect-missing" and hits:
            wrong.append(f"{place}: {codes} is found now: turn `expect-missing` into `expect`")
        elif mark.kind == "false-alarm" and not hits:
            wrong.append(f"{place}: {codes} is no longer reported: remove `false-alarm`")
        left -= hits
    wrong += [
        f"{mark.path}:{mark.row}: {'|'.join(sorted(mark.codes))} is not reported"
        for mark in missing
        if not mark.codes & stood_in
    ]
    return wrong + [f"{path}:{row}: {code} is reported and should not be" for path, row, code in sorted(left)]
