"""The script that lays out a rule makes what the engine and the fixtures' readers take."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from jaxlint.rules.base import HEADINGS, BodyRule, ClassRule, EventRule, NodeRule
from tests.oracle.cases import Case, expand_case

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "tools" / "new_rule.py"), *arguments], capture_output=True, text=True, check=False
    )


KINDS = [("class", ClassRule), ("event", EventRule), ("body", BodyRule), ("node", NodeRule)]


@pytest.mark.parametrize(("kind", "base"), KINDS)
def test_layout(kind: str, base: type, tmp_path: Path) -> None:
    done = run("JAX999", "a-new-rule", "--kind", kind, "--root", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 6
    path = tmp_path / "jaxlint" / "rules" / "a_new_rule.py"
    spec = importlib.util.spec_from_file_location("a_new_rule", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rule = module.ANewRule
    assert issubclass(rule, base)
    assert (rule.code, rule.name) == ("JAX999", "a-new-rule")
    assert [line[3:] for line in rule.page().splitlines() if line.startswith("## ")] == list(HEADINGS)
    folder = tmp_path / "fixtures" / "a-new-rule"
    made = [Case(folder.name, path.stem, {"main.py": path.read_text()}) for path in folder.glob("*.py")]
    expanded = {case.name: list(expand_case(case)) for case in made}
    assert sorted(expanded) == ["good_one", "good_three", "good_two", "mistake"]
    assert all(len(programs) > 10 for programs in expanded.values())
    for style in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *style, "--config", str(ROOT / "pyproject.toml"), "."]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("JAX401", "something-else"), "there is such a rule already; JAX4"),
        (("JAX999", "frozen-assignment"), "there is such a rule already"),
        (("X1", "name"), "a code is JAX and three digits"),
        (("JAX999", "Not_Kebab"), "a name is in kebab case"),
    ],
)
def test_refused(arguments: tuple[str, str], message: str, tmp_path: Path) -> None:
    done = run(*arguments, "--root", str(tmp_path))
    assert done.returncode == 2
    assert message in done.stderr
    assert not list(tmp_path.iterdir())
