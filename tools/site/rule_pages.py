"""A page for each rule: its docstring, what a fixture shows in each framework, the pytree, verdicts on real code."""

from __future__ import annotations

import difflib
import io
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import structs

from jaxlint.config.configuration import Configuration
from jaxlint.config.settings import Settings
from jaxlint.config.versions import normalised
from jaxlint.errors import UserError
from jaxlint.finding import Confidence
from jaxlint.fixes.running import fix_source
from jaxlint.linter.draw import Target, draw
from jaxlint.pytrees.versions import version
from jaxlint.report import drawer
from jaxlint.report.drawing import Drawing
from jaxlint.rules import all_rules
from jaxlint.rules.base import Rule
from tests.oracle.cases import HEADER, MARK, Program
from tests.oracle.versions import target_versions
from tools.ecosystem.ledger import read_ledger
from tools.site.executed import chosen, shown_of

GROUPS = {
    "declaring": "Declaring and registering classes",
    "roles": "Leaves and static fields",
    "construction": "Construction and rebuilding",
    "updates": "Updates",
    "transformations": "Transformations",
    "frameworks": "Single frameworks",
    "tool": "Files and suppressions",
}
#: What stands before all else of a page: what is wrong, and how it is written instead.
_FIRST = ("What it does", "Example", "Use instead")
_NEXT = ("Why is this bad?", "What you will see")
#: What else tells the classes of one library apart.
_SPELLED = {
    "register-dataclass-mutable": "register_dataclass (not frozen)",
    "register-dataclass-fields": "register_dataclass (with data_fields)",
    "simple-pytree-mutable": "simple_pytree.Pytree (mutable)",
    "chex-frozen": "chex.dataclass (frozen)",
    "flax-dataclass": "flax.struct.dataclass",
    "flax-node": "flax.struct.PyTreeNode",
    "train-state": "flax TrainState",
    "register-dataclass": "register_dataclass",
    "jax-dataclasses": "jax_dataclasses",
    "chex": "chex.dataclass",
    "equinox": "equinox.Module",
    "simple-pytree": "simple_pytree.Pytree",
    "penzai": "penzai.pz.Struct",
    "nnx": "flax.nnx",
    "mjx": "mujoco.mjx",
    "namedtuple": "NamedTuple",
    "tjax": "tjax.dataclass",
    "treex": "treex.Module",
}
_CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)


def rule_pages() -> dict[str, str]:
    """The files below `rules/`, by name."""
    verdicts = wild_verdicts()
    files = {"index.md": index_page()}
    for rule in all_rules():
        pictures = pytree_pictures(rule)
        files[f"{rule.name}.md"] = rule_page(rule, verdicts.get(rule.code, []), bool(pictures), mended)
        files |= {f"{rule.name}-{state}.svg": picture for state, picture in pictures.items()}
    return files


def index_page() -> str:
    """The page of all rules, by group."""
    groups: defaultdict[str, list[type[Rule]]] = defaultdict(list)
    for rule in all_rules():
        groups[rule.group].append(rule)
    lines = [
        "# Rules",
        "",
        f"{len(all_rules())} rules. `jaxlint rule` prints the same pages without a network: `jaxlint rule JAX202`, "
        "or `jaxlint rule static-counter`.",
    ]
    for group in sorted(groups, key=list(GROUPS).index):
        lines += ["", f"## {GROUPS[group]}", "", "| code | name | what it finds | on |", "|---|---|---|---|"]
        for rule in groups[group]:
            short = rule.in_short().replace("|", "\\|")
            lines.append(
                f"| {rule.code} | [{rule.name}]({rule.name}.md) | {short} | {'yes' if rule.enabled else 'no'} |"
            )
    return "\n".join(lines) + "\n"


def rule_page(
    rule: type[Rule], verdicts: Sequence[tuple[str, str]], has_pictures: bool, mend: Callable[[Program], str | None]
) -> str:
    """The page of one rule; `mend` says what jaxlint's fixes make of a program."""
    parts = [f"# {rule.name} ({rule.code})", _facts(rule)]
    sections = dict(_sections(rule))
    parts += [f"## {heading}\n\n{sections.pop(heading)}" for heading in _FIRST if heading in sections]
    if has_pictures:
        parts.append(_pictures(rule))
    for heading in [*_NEXT, *(other for other in sections if other not in _NEXT)]:
        if heading in sections:
            parts.append(f"## {heading}\n\n{sections[heading]}")
        if heading == "What you will see":
            parts += _seen(rule, mend)
    parts.append(_wild(rule, verdicts))
    return "\n\n".join(part for part in parts if part) + "\n"


def _facts(rule: type[Rule]) -> str:
    state = "on by default" if rule.enabled else "off by default"
    preview = ", in preview" if rule.preview else ""
    return (
        f"{rule.severity.value.capitalize()}, {rule.confidence.value} confidence, {state}{preview}, since {rule.since}."
    )


def _sections(rule: type[Rule]) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^## ", rule.page(), flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        yield heading.strip(), body.strip()


# -- what was run ---------------------------------------------------------------------------


def _seen(rule: type[Rule], mend: Callable[[Program], str | None]) -> Iterator[str]:
    """What the fixture of a rule shows in each framework, and the programs themselves, before and after their fix."""
    shown = shown_of(rule.name)
    if shown is None or not shown.frameworks:
        return
    programs = {one.framework: one for one in chosen(rule.name, shown.case) if one.framework in shown.frameworks}
    together: defaultdict[str, list[str]] = defaultdict(list)
    for framework, text in shown.frameworks.items():
        together[text].append(framework)
    versions = ", ".join(f"{name} {version}" for name, version in shown.versions.items())
    yield f"### Seen in each framework\n\nThe program below was run with {versions}."
    for text, frameworks in together.items():
        yield f"{', '.join(map(spelled, frameworks))}:\n\n```text\n{text}\n```"
    yield "### The program, as each framework spells it"
    yield "\n\n".join(_tab(program, mend(program)) for program in programs.values())


def spelled(framework: str) -> str:
    """A framework of fixtures as somebody who uses it calls it."""
    return _SPELLED[framework]


def _tab(program: Program, after: str | None) -> str:
    text = f"```python\n{program_text(program)}```"
    if after is not None:
        before = program_text(program, marked=False).splitlines()
        rows = list(difflib.unified_diff(before, after.splitlines(), n=1, lineterm=""))[2:]
        changed = "\n".join(row if not row.startswith("@@") else "" for row in rows).strip("\n")
        text += f"\n\nMended by `jaxlint check --fix --unsafe-fixes`:\n\n```diff\n{changed}\n```"
    return f'=== "{spelled(program.framework)}"\n\n' + textwrap.indent(text, "    ")


def mended(program: Program) -> str | None:
    """What jaxlint's fixes make of a program that a page shows; None if they leave something that is found."""
    shown = shown_of(program.rule)
    known = {} if shown is None else {normalised(name): version(text) for name, text in shown.versions.items()}
    settings = Settings(
        select=tuple(rule.code for rule in all_rules() if rule.enabled or rule.name == program.rule),
        min_confidence=Confidence.LOW if program.confidence == "low" else Confidence.MEDIUM,
        target_versions=target_versions(known),
    )
    before = program_text(program, marked=False)
    after, left = fix_source(before, "main.py", settings, unsafe=True)
    return None if left or after == before else after


def program_text(program: Program, marked: bool = True) -> str:
    """A fixture as it is run, without its header; `marked`, the lines that are reported say so."""
    rows = [row for row in program.files["main.py"].splitlines() if not HEADER.match(row)]
    text = "\n".join(MARK.sub(_mark if marked else "", row).rstrip() for row in rows).strip()
    return re.sub(r"\n{4,}", "\n\n\n", text) + "\n"


def _mark(match: re.Match[str]) -> str:
    return f"# {match['codes']}" if match["kind"] == "expect" else ""


# -- pictures -------------------------------------------------------------------------------


def pytree_pictures(rule: type[Rule]) -> dict[str, str]:
    """Drawings of the classes of a rule's example before and after, if what changes is the pytree itself."""
    sections = dict(_sections(rule))
    texts = [_CODE.search(sections.get(heading, "")) for heading in ("Example", "Use instead")]
    if not all(texts):
        return {}
    before, after = [_drawn(match[1], rule) for match in texts if match]
    if before is None or after is None or _shape(before) == _shape(after):
        return {}
    return {"before": _svg(before), "after": _svg(after)}


def _drawn(text: str, rule: type[Rule]) -> Drawing | None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "example.py"
        path.write_text(text, encoding="utf-8")
        try:
            drawing = draw([Target(str(path))], Configuration(isolated=True, options={"select": [rule.code]}))
        except UserError:
            return None
    return structs.replace(drawing, elsewhere=())


def _shape(drawing: Drawing) -> list[tuple[object, ...]]:
    """What of a drawing is the pytree."""
    return [
        (cls.name, cls.framework, cls.registered, [(field.name, field.role, bool(field.holds)) for field in cls.fields])
        for cls in drawing.drawn()
    ]


def _svg(drawing: Drawing) -> str:
    stream = io.StringIO()
    drawer("svg")(drawing, stream)
    return stream.getvalue()


def _pictures(rule: type[Rule]) -> str:
    return (
        "## The pytree\n\n"
        f'=== "Example"\n\n    ![The pytree of the example]({rule.name}-before.svg)\n\n'
        f'=== "Use instead"\n\n    ![The pytree of the code to use instead]({rule.name}-after.svg)'
    )


# -- real code ------------------------------------------------------------------------------


def wild_verdicts() -> dict[str, list[tuple[str, str]]]:
    """The verdicts on findings in real code by code: source and verdict."""
    found: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for place, verdict in read_ledger().items():
        found[place.code].append((place.source, verdict))
    return found


def sources() -> int:
    """How many packages and repositories are looked at."""
    folder = Path(__file__).resolve().parents[1] / "ecosystem"
    tables = [(folder / name).read_text(encoding="utf-8") for name in ("packages.tsv", "repositories.tsv")]
    return sum(1 for text in tables for line in text.splitlines() if line and not line.startswith("#"))


def _wild(rule: type[Rule], verdicts: Sequence[tuple[str, str]]) -> str:
    if rule.group == "tool":
        return ""
    looked = f"{sources()} packages and repositories that others wrote"
    if not verdicts:
        return f"## In real code\n\nNothing of this rule has been judged in the {looked}."
    counts: Mapping[str, int] = Counter(verdict for _, verdict in verdicts)
    words = {
        "TRUE": "true",
        "DEBATABLE": "debatable (it happens, and harms nobody)",
        "FALSE": "false when an earlier version reported them",
        "MISS": "missed",
    }
    said = [f"{counts[verdict]} {word}" for verdict, word in words.items() if counts.get(verdict)]
    places = len({source for source, _ in verdicts})
    where = f"{len(verdicts)} places in {places} of the {looked}"
    return f"## In real code\n\n{where} were judged by reading the code, over all versions: {', '.join(said)}."
