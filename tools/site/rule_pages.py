"""A page for each rule: its docstring, what a fixture shows in each framework, the pytree, verdicts on real code."""

from __future__ import annotations

import difflib
import io
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from msgspec import structs

from jaxlint.config.configuration import Configuration
from jaxlint.errors import UserError
from jaxlint.linter.draw import Target, draw
from jaxlint.report import drawer
from jaxlint.report.drawing import Drawing
from jaxlint.rules import all_rules
from jaxlint.rules.base import Rule
from tests.oracle.cases import Program
from tools.ecosystem.ledger import Place, read_ledger
from tools.ecosystem.sources import REPOSITORIES
from tools.site.executed import Shown, chosen, shown_of
from tools.site.mending import Mending, mending
from tools.site.program_text import program_text

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
#: What somebody who uses it calls each framework of fixtures, and the distribution that has it besides jax and Python.
_NAMES = {
    "register-dataclass-mutable": ("register_dataclass (not frozen)", ""),
    "register-dataclass-fields": ("register_dataclass (with data_fields)", ""),
    "simple-pytree-mutable": ("simple_pytree.Pytree (mutable)", "simple-pytree"),
    "chex-frozen": ("chex.dataclass (frozen)", "chex"),
    "flax-dataclass": ("flax.struct.dataclass", "flax"),
    "flax-node": ("flax.struct.PyTreeNode", "flax"),
    "train-state": ("flax TrainState", "flax"),
    "register-dataclass": ("register_dataclass", ""),
    "jax-dataclasses": ("jax_dataclasses", "jax_dataclasses"),
    "chex": ("chex.dataclass", "chex"),
    "equinox": ("equinox.Module", "equinox"),
    "simple-pytree": ("simple_pytree.Pytree", "simple-pytree"),
    "penzai": ("penzai.pz.Struct", "penzai"),
    "nnx": ("flax.nnx", "flax"),
    "mjx": ("mujoco.mjx", "mujoco-mjx"),
    "namedtuple": ("NamedTuple", ""),
    "tjax": ("tjax.dataclass", "tjax"),
    "treex": ("treex.Module", "treex"),
}
#: How many places in real code a page links to.
_MOST_BUGS = 3
_CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)


def rule_pages(mend: Callable[[Program], Mending]) -> dict[str, str]:
    """The files below `rules/`, by name; `mend` says how a program is mended."""
    verdicts = wild_verdicts()
    files = {"index.md": index_page()}
    for rule in all_rules():
        pictures = pytree_pictures(rule)
        files[f"{rule.name}.md"] = rule_page(rule, verdicts.get(rule.code, []), bool(pictures), mend)
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
    rule: type[Rule], verdicts: Sequence[tuple[Place, str]], has_pictures: bool, mend: Callable[[Program], Mending]
) -> str:
    """The page of one rule; `mend` says how a program is mended."""
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


def _seen(rule: type[Rule], mend: Callable[[Program], Mending]) -> Iterator[str]:
    """What the fixture of a rule shows in each framework side by side, and each program with its fix."""
    shown = shown_of(rule.name)
    if shown is None or not shown.frameworks:
        return
    programs = {one.framework: one for one in chosen(rule.name, shown.case) if one.framework in shown.frameworks}
    yield f"### Seen in each framework\n\n{_side_by_side(shown)}"
    yield "### The program and its fix, as each framework spells them"
    yield "\n\n".join(_tab(program, shown, mend(program)) for program in programs.values())


def _side_by_side(shown: Shown) -> str:
    """A table of what was seen, with the version of each framework; what shows the same stands together."""
    together: defaultdict[str, list[str]] = defaultdict(list)
    for framework, text in shown.frameworks.items():
        together[text].append(_with_version(framework, shown))
    rows = [
        f"<tr><td>{'<br>'.join(map(escape, names))}</td><td><pre><code>{_in_cell(text)}</code></pre></td></tr>"
        for text, names in together.items()
    ]
    others = ", ".join(f"{name} {shown.versions[name]}" for name in ("python", "jax") if name in shown.versions)
    head = f"<thead><tr><th>with {others}</th><th>the program below shows</th></tr></thead>"
    return f'<div class="seen">\n<table>{head}<tbody>{"".join(rows)}</tbody></table>\n</div>'


def _in_cell(text: str) -> str:
    """Text as HTML without a line that is empty, which would end the block."""
    return "\n".join(escape(line, quote=False) or " " for line in text.splitlines())


def _with_version(framework: str, shown: Shown) -> str:
    name, package = _NAMES[framework]
    known = shown.versions.get(package)
    return name if known is None else f"{name} {known}" if name == package else f"{name}, {package} {known}"


def spelled(framework: str) -> str:
    """A framework of fixtures as somebody who uses it calls it."""
    return _NAMES[framework][0]


def _tab(program: Program, shown: Shown, mend: Mending) -> str:
    """A program in one framework: what it shows, how it is mended, and what it shows then."""
    parts = [f"```python\n{program_text(program)}```"]
    parts.append(f"It shows:\n\n```text\n{shown.frameworks[program.framework]}\n```")
    if mend.after is not None:
        before = program_text(program, marked=False).splitlines()
        rows = list(difflib.unified_diff(before, mend.after.splitlines(), n=1, lineterm=""))[2:]
        changed = "\n".join(row if not row.startswith("@@") else "" for row in rows).strip("\n")
        command = "jaxlint check --fix" if mend.safe else "jaxlint check --fix --unsafe-fixes"
        how = "hand, as the finding says" if mend.by_hand else f"`{command}`"
        parts.append(f"Mended by {how}:\n\n```diff\n{changed}\n```")
        after = shown.mended.get(program.framework, "")
        parts.append(f"Then it shows:\n\n```text\n{after}\n```" if after else "")
    else:
        parts += [f"jaxlint advises: {advice}." for advice in mend.advice]
    text = "\n\n".join(part for part in parts if part)
    return f'=== "{spelled(program.framework)}"\n\n' + textwrap.indent(text, "    ")


def mended(program: Program) -> Mending:
    """How a program is mended with the versions with which it was run for its page."""
    shown = shown_of(program.rule)
    return mending(program, {} if shown is None else shown.versions)


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


def wild_verdicts() -> dict[str, list[tuple[Place, str]]]:
    """The verdicts on findings in real code by the code of their rule."""
    found: defaultdict[str, list[tuple[Place, str]]] = defaultdict(list)
    for place, verdict in read_ledger().items():
        found[place.code].append((place, verdict))
    return found


@cache
def sources() -> int:
    """How many packages and repositories are looked at."""
    folder = Path(__file__).resolve().parents[1] / "ecosystem"
    tables = [(folder / name).read_text(encoding="utf-8") for name in ("packages.tsv", "repositories.tsv")]
    return sum(1 for text in tables for line in text.splitlines() if line and not line.startswith("#"))


def _wild(rule: type[Rule], verdicts: Sequence[tuple[Place, str]]) -> str:
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
    places = len({place.source for place, _ in verdicts})
    where = f"{len(verdicts)} places in {places} of the {looked}"
    judged = f"{where} were judged by reading the code, over all versions: {', '.join(said)}."
    bugs = real_bugs([place for place, verdict in verdicts if verdict == "TRUE"])
    seen = f"\n\nAmong those that are true, as the code stood when it was read: {', '.join(bugs)}." if bugs else ""
    return f"## In real code\n\n{judged}{seen}"


def real_bugs(places: Sequence[Place]) -> list[str]:
    """Links to a few of the places in real code, each in another repository, and rather not in tests."""
    commits = repositories()
    first: dict[str, Place] = {}
    for place in sorted(places, key=lambda place: ("test" in place.path.lower(), place)):
        if place.source in commits:
            first.setdefault(place.source, place)
    return [_link(place, *commits[source]) for source, place in [*first.items()][:_MOST_BUGS]]


def _link(place: Place, repository: str, commit: str) -> str:
    address = f"https://github.com/{repository}/blob/{commit}/{quote(place.path)}#L{place.row}"
    return f"[{repository}]({address})"


@cache
def repositories() -> dict[str, tuple[str, str]]:
    """The repositories by their names in the ledger: the name on GitHub, and the commit that was read."""
    rows = (line.split("\t")[:2] for line in REPOSITORIES.read_text(encoding="utf-8").splitlines() if line)
    return {name.replace("/", "+"): (name, commit) for name, commit in rows}
