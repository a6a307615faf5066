"""Which versions code is taken to run with, and who says so."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxlint.config.configuration import Configuration
from jaxlint.config.layers import ConfigError
from tests.command import run

BARE = """\
import jax
from dataclasses import dataclass

@jax.tree_util.register_dataclass
@dataclass
class A:
    x: jax.Array
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty current directory, and no activated environment."""
    monkeypatch.chdir(tmp_path)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path


def environment(*names: str, folder: str = "env") -> str:
    """An environment of Python 3.12 with metadata of distributions."""
    site = Path(folder, "lib", "python3.12", "site-packages")
    for name in names:
        (site / f"{name}.dist-info").mkdir(parents=True)
    return str(Path(folder).absolute())


def taken(path: str = ".", *, isolated: bool = False, **options: object) -> dict[str, tuple[str, str]]:
    """The versions for a path, each with who says so."""
    given = {name.replace("_", "-"): value for name, value in options.items()}
    known = Configuration(options=given, isolated=isolated).versions(path)
    return {name: (str(one.versions), one.origin) for name, one in known.items()}


def test_nobody_says() -> None:
    assert taken() == {}


def test_the_activated_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    python = environment("jax-0.6.2", "jax_dataclasses-1.6.1", "jaxlib-0.6.2", "flax-0.10.6+local", "numpy-2.0.0")
    monkeypatch.setenv("VIRTUAL_ENV", python)
    assert taken() == {
        "python": ("3.12", python),
        "jax": ("0.6.2", python),
        "jax-dataclasses": ("1.6.1", python),
        "flax": ("0.10.6", python),
    }
    other = environment("jax-0.4.35", folder="other")
    assert taken(python="other")["jax"] == ("0.4.35", other)


def test_the_environment_of_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """`.venv` beside the configuration, or in the current directory; one that is activated or named comes first."""
    own = environment("jax-0.6.2", folder="project/.venv")
    Path("project/pyproject.toml").write_text("[tool.jaxlint]\n")
    assert taken("project/code/use.py")["jax"] == ("0.6.2", own)
    assert taken() == {}
    here = environment("jax-0.5.3", folder=".venv")
    assert taken()["jax"] == ("0.5.3", here)
    assert taken(isolated=True)["jax"] == ("0.5.3", here)
    assert taken("project/code/use.py")["jax"] == ("0.6.2", own)
    shown = {one.key: (one.value, str(one.origins[-1])) for one in Configuration().explain("project/use.py")}
    assert shown["python"] == (own, "default")

    activated = environment("jax-0.4.35", folder="activated")
    monkeypatch.setenv("VIRTUAL_ENV", activated)
    assert taken("project/code/use.py")["jax"] == ("0.4.35", activated)
    monkeypatch.delenv("VIRTUAL_ENV")
    assert taken("project/code/use.py", python="activated")["jax"] == ("0.4.35", activated)
    of_mypy = Configuration(environment=activated)
    assert of_mypy.settings("project/code/use.py").python is None
    assert str(of_mypy.versions("project/code/use.py")["jax"].versions) == "0.4.35"


def test_dependencies_of_the_project(folder: Path) -> None:
    Path("pyproject.toml").write_text(
        "[project]\nrequires-python = '>=3.11'\n"
        "dependencies = ['jax[cuda] >=0.4.35,<0.7; sys_platform == \"linux\"', 'numpy>=2', 'chex', 'flax @ file:///x']\n"
        "[project.optional-dependencies]\nall = ['equinox~=0.11.3', 'jax>=0.1', 'tjax>=1']\n"
    )
    Path("package").mkdir()
    asked = str(folder / "pyproject.toml")
    expected = {
        "python": (">=3.11", asked),
        "jax": (">=0.4.35,<0.7", asked),
        "equinox": (">=0.11.3,<0.12", asked),
    }
    assert taken() == taken("package") == expected
    Path("package/jaxlint.toml").write_text("preview = true\n")
    assert taken("package") == expected
    with Path("pyproject.toml").open("a") as file:
        file.write("[tool.jaxlint]\ntarget-versions = { jax = '0.5.3' }\n")
    assert taken() == expected | {"jax": ("0.5.3", "pyproject.toml:7")}


def test_dependencies_as_poetry_has_them(folder: Path) -> None:
    """Poetry has bounds of its own; `[project]` counts more."""
    asked = str(folder / "pyproject.toml")
    text = (
        "[tool.poetry.dependencies]\npython = '^3.10,<3.11'\njax = { version = '^0.4.28', extras = ['cuda'] }\n"
        "flax = '~0.8.2'\nchex = '^0.0.7'\nequinox = '0.11.3'\nnumpy = '^1.26'\npenzai = { git = 'https://x' }\n"
        "jax_dataclasses = '~1'\nsimple-pytree = { version = '^0.1', markers = \"sys_platform == 'linux'\" }\n"
        "tjax = '^0.0'\ntreex = [{ version = '^0.6' }]\n"
    )
    Path("pyproject.toml").write_text(text)
    expected = {
        "python": (">=3.10,<3.11", asked),
        "jax": (">=0.4.28,<0.5", asked),
        "flax": (">=0.8.2,<0.9", asked),
        "chex": (">=0.0.7,<0.0.8", asked),
        "equinox": ("0.11.3", asked),
        "jax-dataclasses": (">=1.0,<2.0", asked),
        "tjax": ("<0.1", asked),
    }
    assert taken() == expected
    Path("pyproject.toml").write_text(f"[project]\ndependencies = ['jax<0.6']\n{text}")
    assert taken()["jax"] == ("<0.6", asked)


@pytest.mark.parametrize("said", ["= 3", ".dependencies = 3", ".dependencies = { jax = '^0.4 || ^0.5', flax = '*' }"])
def test_poetry_that_says_nothing(said: str) -> None:
    Path("pyproject.toml").write_text(f"tool.poetry{said if said[0] == '.' else ' ' + said}\n")
    assert taken() == {}


def test_what_counts_first(folder: Path) -> None:
    """Settings before the environment, the environment before the dependencies."""
    Path("pyproject.toml").write_text("[project]\ndependencies = ['jax<0.5', 'flax<0.9', 'chex<0.1.80']\n")
    python = environment("jax-0.6.2", "flax-0.10.6")
    assert taken(python="env", target_jax="0.7") == {
        "python": ("3.12", python),
        "jax": ("0.7", "--target-jax"),
        "flax": ("0.10.6", python),
        "chex": ("<0.1.80", str(folder / "pyproject.toml")),
    }


def test_requirements_of_a_project_without_a_package(folder: Path) -> None:
    """`requirements.txt` counts where `pyproject.toml` sets no bound."""
    Path("requirements.txt").write_text(
        "# what it was run with\n-r more.txt\njax[cpu]==0.4.35  # not newer\nflax>=0.10,<0.11\nchex\n./vendored\n"
    )
    listed = str(folder / "requirements.txt")
    expected = {"jax": ("0.4.35", listed), "flax": (">=0.10,<0.11", listed)}
    Path("source").mkdir()
    assert taken() == taken("source") == taken("source", isolated=True) == expected
    Path("pyproject.toml").write_text("[project]\ndependencies = ['jax>=0.4.30', 'flax']\n")
    assert taken("source") == taken("source", isolated=True) == {"flax": expected["flax"]}


def test_a_folder_with_requirements_of_its_own(folder: Path) -> None:
    """A part of a repository may be run with other versions: what it does not bound is that of the project."""
    Path("requirements.txt").write_text("jax<0.8\nflax==0.12.0\n")
    for name in ("models/old/src", "models/new", "docs"):
        Path(name).mkdir(parents=True)
    Path("models/old/requirements.txt").write_text("flax==0.10.6\n")
    Path("models/new/pyproject.toml").write_text(
        "[project]\nrequires-python = '>=3.13'\ndependencies = ['flax>=0.12']\n"
    )
    Path("docs/requirements.txt").write_text("sphinx<9\n")
    whole = {"jax": ("<0.8", str(folder / "requirements.txt")), "flax": ("0.12", str(folder / "requirements.txt"))}
    old = {**whole, "flax": ("0.10.6", str(folder / "models/old/requirements.txt"))}
    assert taken() == taken("models") == whole
    configuration = Configuration(isolated=True)
    assert configuration.versions(".")["flax"].origin == whole["flax"][1]
    for path in ("models/old", "models/old/src/model.py"):
        known = configuration.versions(path)
        assert {name: (str(one.versions), one.origin) for name, one in known.items()} == old
    files = ["docs/conf.py", "models/new/a.py", "models/old/a.py", "models/old/src/b.py", "main.py"]
    groups = [own for _, own in configuration.groups(files)]
    assert groups == [["docs/conf.py", "models/new/a.py", "main.py"], ["models/old/a.py", "models/old/src/b.py"]]
    pinned = Configuration(isolated=True, options={"target-versions": {"flax": "0.12"}})
    assert [own for _, own in pinned.groups(files)] == [files]


def test_a_lower_bound_alone(folder: Path) -> None:
    """What is bounded below is installed as new as it can be; of Python any that is allowed may be there."""
    Path("pyproject.toml").write_text(
        "[project]\nrequires-python = '>=3.9'\ndependencies = ['jax>=0.4.1', 'flax!=0.9']"
    )
    Path("requirements.txt").write_text("chex>0.1\nequinox>=0.11,<0.13\n")
    equinox = (">=0.11,<0.13", str(folder / "requirements.txt"))
    assert taken() == {"python": (">=3.9", str(folder / "pyproject.toml")), "equinox": equinox}
    assert taken(isolated=True) == {"equinox": equinox}


def test_requirements_that_name_other_files(folder: Path) -> None:
    """They are read from beside the file that names them, each once; what is missing or no file is left out."""
    for name, text in {
        "requirements.txt": "-r more/base.txt  # first\n-c more/pins.txt\n-r missing.txt\nflax>=0.8\njax>=0.4.1\n",
        "more/base.txt": "--requirement=../requirements.txt\n-rdeep.txt\njax<0.7\n"
        "chex[all]==0.1.88 \\\n  --hash=sha256:b2\n",
        "more/deep.txt": "-r https://example.org/jax.txt\nequinox==0.11.0\n-r base.txt\n",
        "more/pins.txt": "-r 'frozen pins.txt'\nflax==0.10.2\njax>=0.5\n-c fifo\n",
        "more/frozen pins.txt": "penzai==0.2.3; python_version<'3.11'\npenzai==0.2.4\ntreex==0.6.10\n",
    }.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    if hasattr(os, "mkfifo"):
        os.mkfifo("more/fifo")
    more = folder / "more"
    assert taken() == {
        "jax": (">=0.5,<0.7", str(more / "pins.txt")),
        "chex": ("0.1.88", str(more / "base.txt")),
        "equinox": ("0.11", str(more / "deep.txt")),
        "flax": ("0.10.2", str(more / "pins.txt")),
        "treex": ("0.6.10", str(more / "frozen pins.txt")),
    }


def test_requirements_that_nothing_meets() -> None:
    Path("requirements.txt").write_text("jax==0.4.30\njax==0.6.0\nflax<0.9\n")
    assert set(taken()) == {"flax"}


def test_requirements_by_system(folder: Path) -> None:
    """What is asked for otherwise elsewhere is not known; hashes of pip-compile are no part of a version."""
    Path("requirements.txt").write_text(
        "jax==0.4.30; python_version<'3.11'\njax==0.6.0\nflax==0.10.2 --hash=sha256:a1\n"
        "chex==0.1.88 \\\n    --hash=sha256:b2\n"
    )
    listed = str(folder / "requirements.txt")
    assert taken() == {"flax": ("0.10.2", listed), "chex": ("0.1.88", listed)}


SETUP = """
from setuptools import find_packages, setup

needed = ["jax>=0.4.1", "flax==0.10.4", "chex", make("equinox<0.12")]
extras = {"all": ["penzai==0.2.3"], "cpu": ("treex<0.7",)}
setup(name="lynx", packages=find_packages(), install_requires=needed, extras_require=extras)
"""


def test_a_setup_script(folder: Path) -> None:
    """It is read and not run; what it does not write down is not known."""
    Path("setup.py").write_text(SETUP)
    asked = str(folder / "setup.py")
    expected = {"flax": ("0.10.4", asked), "penzai": ("0.2.3", asked), "treex": ("<0.7", asked)}
    Path("source").mkdir()
    assert taken() == taken("source") == taken("source", isolated=True) == expected
    Path("requirements.txt").write_text("flax<0.10\n")
    assert taken()["flax"] == ("<0.10", str(folder / "requirements.txt"))
    assert taken()["penzai"] == expected["penzai"]


def test_a_setup_file(folder: Path) -> None:
    Path("setup.cfg").write_text(
        "[options]\ninstall_requires =\n    jax>=0.4.1\n    flax<0.12\n[options.extras_require]\nall = chex==0.1.88\n"
    )
    asked = str(folder / "setup.cfg")
    assert taken() == {"flax": ("<0.12", asked), "chex": ("0.1.88", asked)}


def test_an_environment_of_conda(folder: Path) -> None:
    Path("environment.yml").write_text(
        "name: jax==0.1\ndependencies:\n  - python=3.10.11=he550d4f_0\n  - conda-forge::equinox=0.11  # pinned\n"
        "  - chex>=0.1.80\n  - pip:\n    - jax==0.4.30\n    - 'flax<0.12'\n"
    )
    asked = str(folder / "environment.yml")
    assert taken() == {"jax": ("0.4.30", asked), "flax": ("<0.12", asked), "equinox": (">=0.11,<0.12", asked)}
    Path("requirements.txt").write_text("jax==0.4.31\n")
    assert taken()["jax"] == ("0.4.31", str(folder / "requirements.txt"))


@pytest.mark.parametrize(
    "text",
    [
        "setup(install_requires=['flax==0.10.4'",
        "setup(install_requires=lines('flax==0.10.4'))",
        "needed = ['flax==0.10.4']\nneeded = []\nsetup(install_requires=needed)",
        "needed = needed\nsetup(install_requires=needed, python_requires='==3.11')",
        "setup(install_requires=['flax>=0.10.4'])",
        "configure(install_requires=['flax==0.10.4'])",
    ],
)
def test_setup_scripts_that_say_nothing(folder: Path, text: str) -> None:
    """A project above counts then."""
    Path("requirements.txt").write_text("jax<0.7\n")
    Path("part").mkdir()
    Path("part/setup.py").write_text(text)
    assert taken("part") == {"jax": ("<0.7", str(folder / "requirements.txt"))}


@pytest.mark.parametrize("raw", [b"[options\ninstall_requires = flax<1", b"[options]\ninstall_requires = flax<1 \xff"])
def test_setup_files_that_cannot_be_read(raw: bytes) -> None:
    Path("setup.cfg").write_bytes(raw)
    assert taken() == {}


def test_an_unpacked_wheel(folder: Path) -> None:
    Path("lynx-0.1.dist-info").mkdir()
    Path("lynx-0.1.dist-info/METADATA").write_text(
        "Name: lynx\nRequires-Dist: jax>=0.6.2\nRequires-Dist: flax==0.10.7\n"
    )
    metadata = str(folder / "lynx-0.1.dist-info" / "METADATA")
    assert taken(isolated=True) == {"flax": ("0.10.7", metadata)}
    Path("other-0.1.dist-info").mkdir()  # an environment, and not one wheel
    assert taken() == {}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_of_requirements(folder: Path, encoding: str) -> None:
    """As pip reads them: PowerShell writes `pip freeze > requirements.txt` as UTF-16."""
    Path("requirements.txt").write_text("jax==0.4.35\nflax==0.10.7  # ä\n", encoding=encoding)
    listed = str(folder / "requirements.txt")
    assert taken() == {"jax": ("0.4.35", listed), "flax": ("0.10.7", listed)}


@pytest.mark.parametrize("raw", ["jax==0.4.35  # ä\n".encode("latin-1"), "jax==0.4.35".encode("utf-16")[:-1]])
def test_requirements_that_cannot_be_read(folder: Path, raw: bytes) -> None:
    Path("requirements.txt").write_bytes(raw)
    assert taken() == {}


@pytest.mark.parametrize("text", ["[project", "project = 3\n", "[project]\ndependencies = 'jax'\n", "[tool.poetry]\n"])
def test_project_files_that_say_nothing(text: str) -> None:
    Path("pyproject.toml").write_text(text)
    assert taken() == {}


@pytest.mark.parametrize(
    ("versions", "message"),
    [
        ({"equinax": "0.6"}, "names `equinax`, of which no version matters; did you mean `equinox`?"),
        ({"jax": "new"}, 'must be like "0.4.35" or ">=0.4.35,<0.7", not "new"'),
    ],
)
def test_mistakes(versions: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Configuration(options={"target-versions": versions}).versions(".")
    assert message in str(caught.value)


def test_findings_for_some_of_the_versions(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.py").write_text(BARE)
    assert run(capsys, "check", "a.py")[0] == 0
    Path("pyproject.toml").write_text("[project]\ndependencies = ['jax>=0.4.30']\n")
    assert run(capsys, "check", "a.py")[0] == 0
    Path("pyproject.toml").write_text("[project]\ndependencies = ['jax>=0.4.30,<0.5']\n")
    code, out, err = run(capsys, "check", "a.py", "--verbose")
    assert code == 1 and "does not read the fields of `A` itself before jax 0.4.36: it raises TypeError" in out
    assert "jaxlint: 1 file with 1 pytree class checked in " in err
    assert "jaxlint: the code runs with jax >=0.4.30,<0.5 (pyproject.toml)\n" in err
    assert run(capsys, "check", "a.py", "--target-jax", "0.6.2")[0] == 0


def test_they_are_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", environment("jax-0.6.2"))
    _, out, _ = run(capsys, "config")
    assert "# The versions that the code runs with:\n#   jax 0.6.2 (env)\n#   python 3.12 (env)\n#   the newest" in out
    _, out, _ = run(capsys, "config", "--output-format", "json")
    assert json.loads(out)["versions"]["jax"] == {"versions": "0.6.2", "origin": str(Path("env").absolute())}


@pytest.mark.parametrize("text", ["<=0.4.30", ">0.4.3", ">=0.4,<=0.6", ">=0.4,<0.7", "0.4.35", "<0.5"])
def test_bounds_are_shown_as_they_are_written(folder: Path, text: str) -> None:
    assert taken(target_jax=text)["jax"][0] == text
