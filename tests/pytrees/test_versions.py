"""Facts that hold for some versions, and the versions that are meant."""

from __future__ import annotations

import re

import pytest

from jaxlint.pytrees.frameworks import FACTS, FRAMEWORKS
from jaxlint.pytrees.target import DISTRIBUTIONS, Target
from jaxlint.pytrees.versions import Fact, VersionRange, version
from tests.oracle import cases, versions
from tests.oracle.frameworks import FRAMEWORKS as SPELLINGS

SINCE = Fact("since", of="jax", says="", since=(0, 6))
UNTIL = Fact("until", of="jax", says="", until=(0, 8))
BOTH = Fact("both", of="jax", says="", since=(0, 6), until=(0, 8))


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("0.5.3", (False, True, False)),
        ("0.6", (True, True, True)),
        ("0.6.0", (True, True, True)),
        ("==0.7.2", (True, True, True)),
        ("0.8", (True, False, False)),
        (">=0.5", (None, None, None)),
        (">=0.6", (True, None, None)),
        (">=0.6,<0.8", (True, True, True)),
        ("<0.6", (False, True, False)),
        ("<=0.6", (None, True, None)),
        (">0.5.3, <=0.7.2", (None, True, None)),
        ("~=0.6.1", (True, True, True)),
        ("==0.5.*", (False, True, False)),
        (">=0.9", (True, False, False)),
        ("!=0.7", (None, None, None)),
    ],
)
def test_ranges(text: str, holds: tuple[bool | None, ...]) -> None:
    found = VersionRange.read(text)
    assert found is not None
    assert tuple(found.holds(fact) for fact in (SINCE, UNTIL, BOTH)) == holds


@pytest.mark.parametrize("text", ["", "^0.6", "new", ">= ", "0.6 or later", "git+https://example.org/jax"])
def test_no_ranges(text: str) -> None:
    assert VersionRange.read(text) is None


def test_spelt_ranges() -> None:
    texts = ("0.4.35", ">=0.4.35", "<0.7", ">=0.4.35,<0.7")
    assert [str(VersionRange.read(text)) for text in texts] == list(texts)
    assert str(VersionRange()) == "any"


def test_without_versions() -> None:
    """The newest of everything is meant, and any Python that jaxlint knows."""
    python = Fact("python", of="python", says="", since=(3, 11))
    assert [Target().holds(fact) for fact in (SINCE, UNTIL, BOTH, python)] == [True, False, False, None]
    assert Target().holds(Fact("python", of="python", says="", since=(3, 10))) is True


def test_facts_say_when() -> None:
    assert (SINCE.when, UNTIL.when) == ("from jax 0.6 on", "before jax 0.8")
    assert BOTH.when == "from jax 0.6 on before jax 0.8"
    assert SINCE.not_when == "before jax 0.6"
    assert version("0.12.0.1") == (0, 12, 0, 1) and version("1.0.0rc1") == (1,) and version("3.10") == (3, 10)


def test_declared_facts() -> None:
    """Each has a name of its own, a bound, a sentence, and is about something whose version is looked for."""
    assert len(FACTS) == sum(len(framework.facts) for framework in FRAMEWORKS)
    for fact in FACTS.values():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", fact.name)
        assert fact.of in {"python", *DISTRIBUTIONS} and (fact.since or fact.until)
        assert fact.says and not fact.says.endswith(".")
        assert not fact.now or fact.otherwise


def test_fixtures_name_declared_versions() -> None:
    """What a fixture says of versions is a bound of a fact, so that it stands in one place; `>=0` is any version.

    Or it is that of its grammar: `class Runner[S]`.
    """
    declared = {(fact.of, bound) for fact in FACTS.values() for bound in (fact.since, fact.until) if bound}
    declared.add(("python", (3, 12)))
    said = [(f"{p.source.rule}/{p.source.name}", p.requires) for p in cases.programs()]
    said += [(name, framework.needs) for name, framework in SPELLINGS.items()]
    said += [
        (f"{p.source.rule}/{p.source.name}", bracket)
        for p in cases.one_of_each(cases.programs())
        for text in p.source.files.values()
        for bracket in re.findall(r"# [a-z-]+\[([^\]]*)\]", text)
    ]
    wrong = {
        f"{name}: {condition}"
        for name, text in said
        for condition in versions.conditions(text)[0]
        if condition.bound and (condition.name, condition.bound) not in declared
    }
    assert not wrong, f"no fact has this bound: {sorted(wrong)}"
