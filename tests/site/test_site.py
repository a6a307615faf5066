"""The site: every link leads somewhere, every rule has its page, and what pages say was run is what fixtures say."""

from __future__ import annotations

import html
import json
import re
import textwrap
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from jaxlint.config.versions import normalised
from jaxlint.finding import DOCS_URL
from jaxlint.pytrees.framework import Subclasses, Unflatten
from jaxlint.pytrees.versions import version
from jaxlint.rules import all_rules
from tests.fixes.test_fixed_fixtures import shown as still_shown
from tests.oracle import cases
from tests.oracle.environments import Runners
from tests.oracle.frameworks import FRAMEWORKS, MAIN
from tests.rules.test_fixtures_run import readings
from tools.ecosystem.ledger import Place
from tools.site.__main__ import REPOSITORY, ROOT
from tools.site.errors_page import errors
from tools.site.executed import frameworks, shown_of
from tools.site.framework_page import model_of
from tools.site.mending import Mending
from tools.site.rule_pages import mended, repositories, rule_page, spelled, wild_verdicts


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value is not None and tag != "base":
                self.links.append(value)
            elif name in ("id", "name") and value is not None:
                self.anchors.add(value)


@pytest.mark.comparisons
def test_no_link_inside_is_dead(site: Path) -> None:
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    followed, dead = 0, []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            followed += 1
            anchors = pages[target].anchors if target in pages else set()
            if not target.exists() or (parts.fragment and unquote(parts.fragment) not in anchors):
                dead.append(f"{path.relative_to(site)}: {link}")
    print(f"{followed} links of {len(pages)} pages")
    assert dead == [] and followed > 3000


@pytest.mark.comparisons
def test_every_rule_has_its_page_where_findings_say(site: Path) -> None:
    address = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["site_url"]
    assert f"{address}rules" == DOCS_URL
    for rule in all_rules():
        page = site / rule.url().removeprefix(address) / "index.html"
        assert f"{rule.name} ({rule.code})" in page.read_text(encoding="utf-8")


@pytest.mark.comparisons
def test_addresses_in_texts_of_ours_are_pages(site: Path) -> None:
    address = DOCS_URL.removesuffix("rules")
    names = ["README.md", "CONTRIBUTING.md", "plugins/vscode/README.md", *map(str, (ROOT / "docs").rglob("*.md"))]
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in names]
    found = {link.rstrip(".") for text in texts for link in re.findall(re.escape(address) + r"[\w/.-]*", text)}
    dead = [link for link in found if not (site / link.removeprefix(address)).exists()]
    assert dead == []


@pytest.mark.comparisons
def test_links_to_the_repository_lead_to_its_files(site: Path) -> None:
    links = {link for path in site.rglob("*.html") for link in Page(path.read_text(encoding="utf-8")).links}
    named = [link.removeprefix(f"{REPOSITORY}/") for link in links if link.startswith(f"{REPOSITORY}/")]
    assert "CONTRIBUTING.md" in named
    assert [name for name in named if not (ROOT / name.partition("#")[0]).exists()] == []


def test_an_error_that_many_rules_explain_names_the_one_that_is_about_it_first() -> None:
    found = {text.partition(" '")[0]: [rule.name for rule in rules] for text, rules in errors().items()}
    assert found["FrozenInstanceError: cannot assign to field"][0] == "frozen-assignment"
    assert found["TypeError: cannot inherit frozen dataclass from a non-frozen one"][0] == "frozen-inheritance"


def test_an_error_can_be_read_alone() -> None:
    fragments = [text for text in errors() if not re.match(r"\w+(?:Error|Exception|Warning): |[A-Z]", text)]
    assert fragments == []


def unmended(program: cases.Program) -> Mending:
    return Mending(None)


def test_a_page_shows_what_is_wrong_and_how_to_write_it_before_all_else() -> None:
    for rule in all_rules():
        headings = re.findall("^## (.*)$", rule_page(rule, [], has_pictures=False, mend=unmended), re.MULTILINE)
        wanted = [one for one in ("What it does", "Example", "Use instead") if one in headings]
        assert headings[: len(wanted)] == wanted, rule.name
        assert {"Why is this bad?", "What it does"} <= {*headings}
        assert len(headings) == len(set(headings))


def test_every_framework_of_fixtures_has_a_name_to_read() -> None:
    assert [name for name in FRAMEWORKS if spelled(name) == name] == []


@pytest.mark.comparisons
def test_results_of_a_search_name_their_rule(site: Path) -> None:
    items = json.loads((site / "search.json").read_text(encoding="utf-8"))["items"]
    sections = [item for item in items if item["location"].startswith("rules/") and item["level"] > 1]
    pages = [item for item in sections if re.search(r"\(JAX\d+\): ", item["title"])]
    assert len(pages) > 5 * len(list(all_rules()))
    assert [item["title"] for item in sections if item["title"] in ("What you will see", "Example")] == []


@pytest.mark.parametrize("rule", [rule.name for rule in all_rules() if (ROOT / "fixtures" / rule.name).is_dir()])
def test_what_was_run_is_what_its_fixture_states(rule: str) -> None:
    shown = shown_of(rule)
    assert shown is not None, f"run its fixture for its page: python -m tools.site.executed {rule}"
    recorded_with = {normalised(name): version(text) for name, text in shown.versions.items()}
    programs = [program for program in cases.programs() if (program.rule, program.case) == (rule, shown.case)]
    assert programs, f"there is no fixture {shown.case} any more: python -m tools.site.executed {rule}"
    assert shown.frameworks.keys() <= {program.framework for program in programs}
    for program in programs:
        text = shown.frameworks.get(program.framework)
        raises = cases.consequence(program.source.headers, program.framework, program.id, recorded_with).raises
        if text is not None and raises is not None and not text.endswith("..."):
            stated = readings(raises, recorded_with)
            assert any(re.search(one.text, text, re.DOTALL) for one in stated), program.id


def test_each_program_of_a_page_stands_in_a_tab_with_what_it_shows_and_its_fix() -> None:
    """Of one rule that jaxlint fixes, one that is mended by hand, and one for which it has advice only."""
    hows = {}
    for code in ("JAX401", "JAX518", "JAX111"):
        rule = next(rule for rule in all_rules() if rule.code == code)
        shown = shown_of(rule.name)
        assert shown is not None
        page = rule_page(rule, [], has_pictures=False, mend=mended)
        _, *tabs = re.split(r'^=== "', page.partition("### The program and its fix")[2], flags=re.MULTILINE)
        assert len(tabs) == len(shown.frameworks)
        for (framework, text), tab in zip(shown.frameworks.items(), tabs, strict=True):
            assert tab.startswith(spelled(framework))
            said = [block.strip() for block in re.split(r"^ {4}```.*$", tab, flags=re.MULTILINE)]
            assert textwrap.dedent("    " + said[3]).split() == text.split()
            after = shown.mended.get(framework)
            assert after is None or said[7].split() == after.split()
        ways = ("Mended by `jaxlint", "Mended by hand", "jaxlint advises")
        hows[code] = {way for way in ways for tab in tabs if way in tab}
        table = page.partition('<div class="seen">')[2].partition("</div>")[0]
        assert all(spelled(framework) in table for framework in shown.frameworks)
        cells = [html.unescape(cell) for cell in re.findall("<code>(.*?)</code>", table, re.DOTALL)]
        assert sorted(cells) == sorted(set(shown.frameworks.values()))
    assert hows == {"JAX401": {"Mended by `jaxlint"}, "JAX518": {"Mended by hand"}, "JAX111": {"jaxlint advises"}}


def test_a_page_links_to_real_bugs_as_they_were_read() -> None:
    verdicts = wild_verdicts()
    linked = 0
    for rule in all_rules():
        judged = dict(verdicts.get(rule.code, []))
        page = rule_page(rule, list(judged.items()), has_pictures=False, mend=unmended)
        bugs = re.findall(r"\(https://github.com/([^/]+/[^/]+)/blob/([0-9a-f]{40})/(\S+)#L(\d+)\)", page)
        names = [name.replace("/", "+") for name, *_ in bugs]
        assert len(set(names)) == len(names) <= 3
        for name, (_, commit, path, row) in zip(names, bugs, strict=True):
            assert judged[Place(name, unquote(path), int(row), rule.code)] == "TRUE"
            assert repositories()[name][1] == commit
        linked += len(bugs)
    assert linked > 100


@pytest.mark.parametrize(
    ("code", "command"), [("JAX301", "jaxlint check --fix"), ("JAX202", "jaxlint check --fix --unsafe-fixes")]
)
def test_a_page_names_the_command_that_is_enough(code: str, command: str) -> None:
    rule = next(rule for rule in all_rules() if rule.code == code)
    page = rule_page(rule, [], has_pictures=False, mend=mended)
    assert set(re.findall("Mended by `(.*)`:", page)) == {command}


@pytest.mark.parametrize("rule", [rule.name for rule in all_rules() if shown_of(rule.name) is not None])
def test_what_is_mended_names_nothing_that_is_not_there(rule: str) -> None:
    shown = shown_of(rule)
    assert shown is not None and shown.mended.keys() <= shown.frameworks.keys()
    assert [text for text in shown.mended.values() if "NameError" in text] == []


@pytest.mark.comparisons
def test_what_a_page_shows_as_mended_runs(mendings: dict[str, Mending], runners: Runners, tmp_path: Path) -> None:
    """In one framework of each rule, another one from rule to rule; with `--thorough`, in all."""
    known = {program.id: program for program in cases.programs() if program.id in mendings and not program.missing}
    jobs = []
    for id_, program in known.items():
        mend = mendings[id_]
        if (
            mend.after is not None and program.rule != "unused-suppression"
        ):  # what a comment hid for good reason goes on
            folder = tmp_path / id_
            folder.mkdir(parents=True)
            (folder / "main.py").write_text(mend.after, encoding="utf-8")
            calls = [mend.call(call.expression) for call in program.consequence.calls]
            jobs.append({"id": id_, "folder": str(folder), "calls": calls})
    assert len(jobs) > len(known) / 3
    wrong = {id_: still_shown(known[id_], outcome) for id_, outcome in runners.run(MAIN, jobs).items()}
    assert {id_: said for id_, said in wrong.items() if said} == {}


def test_the_table_of_frameworks_is_what_the_model_says() -> None:
    assert FRAMEWORKS.keys() - frameworks().frameworks.keys() == {"train-state"}
    for name, seen in frameworks().frameworks.items():
        model = model_of(name)
        assert seen.leaves == "[1.0]", name
        assert (seen.assigning != "None") == FRAMEWORKS[name].frozen, name
        reruns = model.unflatten in (Unflatten.CONSTRUCTOR, Unflatten.POST_INIT) and name != "namedtuple"
        assert (seen.rebuilding == "post") == reruns, name
        subclasses = {"one opaque leaf": Subclasses.OPAQUE, "[1.0, 3.0]": Subclasses.AUTO, "[]": Subclasses.AUTO}
        assert name == "penzai" or subclasses.get(seen.subclass, Subclasses.FIELDS_IGNORED) is model.subclasses, name
