"""Rules of other packages: the examples of docs/own-rules.md as a real distribution, installed beside jaxlint."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "own-rules.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
PROJECT = re.findall(r"```toml title=\"pyproject.toml\"\n(.*?)```", PAGE, re.DOTALL)[0]
#: A distribution of one module, which tests write.
NOT_USABLE = PROJECT.replace('physics = "physics_rules"', 'broken = "broken"').replace("physics-rules", "broken")
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "CONDA", "JAXLINT"))}

STATE = '''\
"""States."""

import jax
from flax import struct


@struct.dataclass
class Body:
    mass: jax.Array
    inertia: jax.Array
    unit: int = 1


def change(body: Body) -> Body:
    größer = body.replace(mass=body.mass * 2)
    second = größer.replace(unit=2)
    return second.replace(unit=3)
'''


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=cwd, env=CLEAN, timeout=PATIENCE)


def packages(python: Path) -> Path:
    """Where an environment keeps what is installed in it."""
    (found,) = python.parent.parent.glob("lib/python*/site-packages")
    return found


def install(folder: Path, *distributions: tuple[str, dict[str, str]]) -> Path:
    """The Python of a new environment that sees what this one does, and distributions: a project and some modules."""
    sources, environment = [folder / f"source{number}" for number in range(len(distributions))], folder / "environment"
    for source, (project, modules) in zip(sources, distributions, strict=True):
        source.mkdir()
        (source / "pyproject.toml").write_text(project)
        for name, text in modules.items():
            (source / name).parent.mkdir(exist_ok=True)
            (source / name).write_text(text)
    done = run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=folder)
    assert done.returncode == 0, done.stderr
    python = environment / "bin" / "python"
    seen = [ROOT, ROOT / "plugins", *(path for path in sys.path if path.endswith("site-packages"))]
    (packages(python) / "seen.pth").write_text("".join(f"{path}\n" for path in seen))
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check")
    done = run(sys.executable, "-m", "pip", "--python", python, "install", *options, *sources, cwd=folder)
    assert done.returncode == 0, done.stderr
    return python


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    modules = {f"physics_rules/_part{number}.py": text for number, text in enumerate(EXAMPLES)}
    # the page shows one module; here each example is one, and their rules are declared in the package
    names = ["UnitField", "OldName", "ManyUpdates", "DoubledMass"]
    body = "".join(f"from physics_rules._part{number} import {name}\n" for number, name in enumerate(names))
    body += "".join(f"{name}.__module__ = __name__\n" for name in names)
    physics = PROJECT, {**modules, "physics_rules/__init__.py": body}
    return install(tmp_path_factory.mktemp("plugin"), physics, (NOT_USABLE, {"broken.py": ""}))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "state.py").write_text(STATE)
    (tmp_path / "jaxlint.toml").write_text('plugins = ["physics"]\n')
    return tmp_path


def check(python: Path, project: Path, *options: str) -> list[tuple[str, int]]:
    environment = {**CLEAN, "PYTHONPATH": str(packages(python))}
    done = forked.run("jaxlint", ("check", "--output-format=json", *options, "."), project, environment)
    assert not done.stderr
    return [(one["code"], one["location"]["row"]) for one in json.loads(done.stdout)]


EVERYTHING = [("PHY101", 11), ("PHY102", 15), ("PHY104", 15), ("PHY103", 17)]


def test_the_page_has_an_example_of_each_kind() -> None:
    kinds = [re.findall(r"class \w+\((\w+Rule)\)", text) for text in EXAMPLES]
    assert kinds == [["ClassRule"], ["EventRule"], ["BodyRule"], ["NodeRule"]]


def test_check(python: Path, project: Path) -> None:
    assert check(python, project) == EVERYTHING
    assert check(python, project) == EVERYTHING  # from the cache
    assert check(python, project, "--no-cache", "--jobs=2") == EVERYTHING
    assert check(python, project, "--select=PHY1,JAX4", "--ignore=unit-field") == EVERYTHING[1:]
    assert check(python, project, "--select=physics", "--ignore=PHY103") == EVERYTHING[:3]
    (project / "jaxlint.toml").write_text("")
    assert check(python, project) == []


def test_comments_hide_them(python: Path, project: Path) -> None:
    text = STATE.replace("unit: int = 1", "unit: int = 1  # jaxlint: ignore[unit-field]")
    (project / "state.py").write_text(text.replace("mass * 2)", "mass * 2)  # noqa: PHY102, PHY104"))
    assert check(python, project) == EVERYTHING[3:]


def test_fixes_and_pages(python: Path, project: Path) -> None:
    run(python, "-m", "jaxlint", "check", "--fix", ".", cwd=project)
    assert (project / "state.py").read_text() == STATE.replace("(mass=body.mass * 2", "(inertia=body.mass + body.mass")
    shown = run(python, "-m", "jaxlint", "rule", "PHY101", cwd=project).stdout
    assert "Finds fields that are called" in shown


def test_sarif_names_them(python: Path, project: Path) -> None:
    done = run(python, "-m", "jaxlint", "check", "--output-format=sarif", ".", cwd=project)
    driver = json.loads(done.stdout)["runs"][0]["tool"]["driver"]
    assert [rule["id"] for rule in driver["rules"]] == ["PHY101", "PHY102", "PHY103", "PHY104"]


def test_none_is_said_to_have_a_page_on_our_site(python: Path, project: Path) -> None:
    """Where our own findings say `see:` and lead to the site, theirs lead nowhere."""
    for name in ("full", "json", "rdjson", "sarif", "github"):
        done = run(python, "-m", "jaxlint", "check", f"--output-format={name}", ".", cwd=project)
        assert "PHY101" in done.stdout
        assert "/rules/" not in done.stdout, name
    shown = run(python, "-m", "jaxlint", "rule", "PHY101", "--output-format=json", cwd=project).stdout
    assert json.loads(shown)["url"] is None
    asked = run(python, "-c", IN_THE_PROTOCOL, cwd=project)
    assert asked.stdout == "None 0\n", asked.stderr


def test_flake8(python: Path, project: Path) -> None:
    done = run(python, "-m", "flake8", "--extend-select=JAX,PHY", "--extend-ignore=E,W,F", ".", cwd=project)
    assert re.findall(r"py:(\d+):\d+: (PHY\d+)", done.stdout) == [(str(row), code) for code, row in EVERYTHING]


IN_THE_EDITOR = """
import os
from jaxlint.editor.workspace import Workspace

path = os.path.abspath("state.py")
workspace = Workspace([os.getcwd()])
workspace.set_text(path, open(path).read() + "\\n# a comment\\n")
print([(finding.code, finding.row) for finding in workspace.findings(path)])
"""


IN_THE_PROTOCOL = """
from jaxlint.rules.plugins import plugin_rules
from jaxlint_lsp.actions import rule_url
from jaxlint_lsp.hovers import rule_text

(rule, *_) = plugin_rules("physics")
print(rule_url(rule.code), rule_text(rule).count("]("))
"""


def test_in_the_editor(python: Path, project: Path) -> None:
    assert run(python, "-c", IN_THE_EDITOR, cwd=project).stdout == f"{EVERYTHING}\n"


def test_what_is_checked_is_never_imported(python: Path, project: Path) -> None:
    """A project cannot offer rules to the run that checks it: neither a distribution nor a module of it is found."""
    (project / "evil.py").write_text("open('ran', 'w').close()\n")
    metadata = project / "evil-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[jaxlint.rules]\nevil = evil\nphysics = evil\n")
    (project / "physics_rules").mkdir()
    (project / "physics_rules" / "__init__.py").write_text("open('ran', 'w').close()\n")
    (project / "jaxlint.toml").write_text('plugins = ["evil"]\n')
    done = run(python, "-m", "jaxlint", "check", ".", cwd=project)
    assert done.returncode == 2
    assert done.stderr == (
        "jaxlint: error: plugin `evil` is not installed beside jaxlint; those that are: `broken`, `physics`\n"
    )
    (project / "jaxlint.toml").write_text('plugins = ["physics"]\n')
    assert run(python, "-m", "jaxlint", "check", "--no-cache", "state.py", cwd=project).returncode == 1
    assert not (project / "ran").exists()


#: A rule of one's own that says who it is, of a kind that is not shown above.
OF_A_KIND = (
    "from jaxlint.rules.base import {0}\nclass Mine({0}): code, name, group, since = 'ABC999', 'mine', 'own', '1'\n"
)

BROKEN = {
    "raise OSError('no disk')": "broken cannot be loaded: OSError: no disk",
    "": "broken holds no rule",
    "code = 'JAX999'": "the rule Mine has the code JAX999: it needs a prefix of its own",
    "code = 'ABC999'; api = 0": "the rule Mine was written for version 0 of the rules' API; this jaxlint has 1",
    "code = 'ABC999'; since = None": "the rule Mine does not say its `since`",
    "code = 'ABC999'; check_class = ClassRule.check_class": "the rule Mine has no method `check_class`",
    OF_A_KIND.format("EventRule"): "the rule Mine does not say its `events`: a tuple of classes, like (Replace,)",
    OF_A_KIND.format("NodeRule"): "the rule Mine has no method `can_match`",
    "code = 'ABC999'; name = 'frozen-assignment'": "ABC999 (frozen-assignment) is JAX401 (frozen-assignment) already",
}


def test_what_cannot_be_used(python: Path, tmp_path: Path) -> None:
    (tmp_path / "jaxlint.toml").write_text('plugins = ["broken"]\n')
    (tmp_path / "a.py").write_text("import jax\n")
    installed = packages(python) / "broken.py"
    for body, error in BROKEN.items():
        text = body
        if body.startswith("code"):
            words = "name = 'mine'; group = 'own'; since = '1'; check_class = print; "
            text = f"from jaxlint.rules.base import ClassRule\nclass Mine(ClassRule):\n    {words}{body}\n"
        installed.write_text(text)
        done = run(python, "-B", "-m", "jaxlint", "check", "a.py", cwd=tmp_path)
        assert done.returncode == 2
        assert error in done.stderr
        assert "Traceback" not in done.stderr


def test_a_rule_that_fails_says_where_it_is_written(python: Path, tmp_path: Path) -> None:
    """And not that jaxlint has failed, to whom nobody could report it."""
    (tmp_path / "jaxlint.toml").write_text('plugins = ["broken"]\n')
    (tmp_path / "a.py").write_text(STATE)
    rule = OF_A_KIND.format("ClassRule").strip().replace("Mine(ClassRule): ", "Mine(ClassRule):\n    ")
    for body, error in {
        "return {}[cls.name]": "KeyError: 'Body' (broken.py, line 5)",
        "return ['a text']": "'str' object has no attribute 'at'",
        "return evaluator.no_such(cls)": "has no attribute 'no_such' (broken.py, line 5)",
    }.items():
        text = f"{rule}\n    def check_class(self, cls, evaluator):\n        {body}\n"
        (packages(python) / "broken.py").write_text(text)
        done = run(python, "-B", "-m", "jaxlint", "check", "--no-cache", "--ignore=JAX", "a.py", cwd=tmp_path)
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert "a.py: ABC999 failed: " in line and error in line
