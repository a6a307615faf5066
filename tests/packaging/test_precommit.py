"""The hook, run by the real pre-commit in a repository made for it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.comparisons

ROOT = Path(__file__).resolve().parents[2]

STATE = """\
import jax
from flax import struct


@struct.dataclass
class State:
    position: jax.Array
"""
STEP = """\
from state import State


def step(state: State) -> State:
    return state.replace({field}=state.{field} + 1.0)
"""


def run(*command: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def git(*arguments: str, cwd: Path) -> str:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    done = run("git", *identity, *arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This repository as it is on disk, committed, for pre-commit to clone and install."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs a clone of the repository")
    copy = tmp_path_factory.mktemp("jaxlint")
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    for name in filter(None, listed.split("\0")):
        source = ROOT / name
        if source.is_file() and name.split("/")[0] not in ("fixtures", "tests", "benchmarks"):
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    git("init", "-q", cwd=copy)
    git("add", "-A", cwd=copy)
    git("commit", "-qm", "jaxlint", cwd=copy)
    return copy


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {**os.environ, "PRE_COMMIT_HOME": str(tmp_path_factory.mktemp("pre-commit")), "NO_COLOR": "1"}


@pytest.fixture
def repository(hooks: Path, environment: dict[str, str], tmp_path: Path) -> Iterator[Path]:
    """A repository with the hook installed and one good commit."""
    revision = git("rev-parse", "HEAD", cwd=hooks).strip()
    (tmp_path / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {hooks}\n    rev: {revision}\n    hooks:\n      - id: jaxlint\n"
    )
    (tmp_path / "state.py").write_text(STATE)
    (tmp_path / "step.py").write_text(STEP.format(field="position"))
    git("init", "-q", cwd=tmp_path)
    git("add", "-A", cwd=tmp_path)
    yield tmp_path


def pre_commit(repository: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "-m", "pre_commit", "run", cwd=repository, env=environment)


@pytest.mark.pypi
def test_commits(repository: Path, environment: dict[str, str]) -> None:
    done = pre_commit(repository, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout
    git("commit", "-qm", "good", cwd=repository)

    (repository / "step.py").write_text(STEP.format(field="positon"))
    git("add", "-A", cwd=repository)
    done = pre_commit(repository, environment)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "step.py:5:26" in done.stdout and "JAX402" in done.stdout

    # one of two files changes, and the other one is wrong because of it
    git("reset", "-q", "--hard", cwd=repository)
    (repository / "step.py").write_text(STEP.format(field="velocity"))
    (repository / "state.py").write_text(STATE + "    velocity: jax.Array\n")
    git("add", "-A", cwd=repository)
    assert pre_commit(repository, environment).returncode == 0
    git("commit", "-qm", "both", cwd=repository)
    (repository / "step.py").write_text(
        STEP.format(field="velocity") + "\n\ndef use(state: State) -> State:\n    return state.replace(velocty=1.0)\n"
    )
    git("add", "step.py", cwd=repository)
    done = pre_commit(repository, environment)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "did you mean `velocity`?" in done.stdout

    # nothing but other files: the hook has nothing to do
    git("reset", "-q", "--hard", cwd=repository)
    (repository / "notes.txt").write_text("text\n")
    git("add", "-A", cwd=repository)
    done = pre_commit(repository, environment)
    assert done.returncode == 0
    assert "Skipped" in done.stdout


def test_fixes(repository: Path, environment: dict[str, str]) -> None:
    config = repository / ".pre-commit-config.yaml"
    config.write_text(config.read_text().replace("id: jaxlint", "id: jaxlint-fix"))
    assigning = "from state import State\n\n\ndef step(state: State) -> State:\n    {}\n    return state\n"
    (repository / "step.py").write_text(assigning.format("state.position = 1.0"))
    git("add", "-A", cwd=repository)
    done = pre_commit(repository, environment)
    assert done.returncode == 1 and "1 fixed" in done.stdout, done.stdout + done.stderr
    assert (repository / "step.py").read_text() == assigning.format("state = state.replace(position=1.0)")
