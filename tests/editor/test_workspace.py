"""`jaxlint.editor.workspace`: buffers, dependents, folders, settings and what is too much."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jaxlint import check_paths
from jaxlint.config.configuration import Configuration
from jaxlint.config.layers import ConfigError
from jaxlint.editor import trees
from jaxlint.editor.workspace import Workspace
from jaxlint.linter.engine import check_content
from tests.editor.projects import FILES, write
from tests.editor.stopping import Stop, Stopper


@pytest.fixture
def workspace(folder: Path) -> Workspace:
    return Workspace([str(folder)])


def codes(workspace: Workspace, path: Path) -> list[str]:
    return [f.code for f in workspace.findings(str(path))]


def show(workspace: Workspace, folder: Path, *names: str) -> None:
    for name in names:
        workspace.set_text(str(folder / name), FILES[name])
        workspace.findings(str(folder / name))


def test_what_leads_to_a_change_depends_on_it(workspace: Workspace, folder: Path) -> None:
    states, train, derived = (str(folder / f"app/{name}.py") for name in ("states", "train", "derived"))
    alone = str(folder / "alone.py")
    workspace.set_text(alone, "import jax\n")
    show(workspace, folder, "app/states.py", "app/train.py", "app/derived.py")
    workspace.findings(alone)
    assert workspace.dependents(states) == []
    workspace.set_text(alone, "import jax\n\nprint(jax)\n")
    workspace.findings(alone)
    assert workspace.dependents(alone) == []
    workspace.findings(states)
    workspace.set_text(states, FILES["app/states.py"].replace("self.step + 1", "self.step + 2"))
    workspace.findings(states)
    assert workspace.dependents(states) == [train, derived]
    workspace.set_text(states, FILES["app/states.py"].replace("step:", "stop:"))  # a name that is in the index
    workspace.findings(states)
    assert set(workspace.dependents(states)) == {train, derived, alone}
    for path in workspace.dependents(states):
        workspace.findings(path)
    assert workspace.dependents(states) == []


def test_a_guess_that_another_file_makes_obsolete(tmp_path: Path) -> None:
    (tmp_path / "state.py").write_text(
        "from flax import struct\n\n@struct.dataclass\nclass State:\n"
        "    weights: object = struct.field(pytree_node=False)\n"
    )
    (tmp_path / "use.py").write_text(
        "import jax.numpy as jnp\nfrom state import State\n\ndef make():\n    return State(weights=jnp.zeros(3))\n"
    )
    workspace = Workspace([str(tmp_path)])
    expected = check_paths([str(tmp_path)], Configuration()).findings
    found = [f for path in workspace.files() for f in workspace.findings(path)]
    assert [(f.path, f.code, f.confidence) for f in found] == [(f.path, f.code, f.confidence) for f in expected]


def test_a_text_that_comes_before_anything_was_read(workspace: Workspace, folder: Path) -> None:
    states, train = folder / "app/states.py", folder / "app/train.py"
    assert str(train) in workspace.files()
    workspace.set_text(
        str(states), FILES["app/states.py"].replace("@struct.dataclass", "@struct.dataclass(frozen=False)")
    )
    assert codes(workspace, train) == ["JAX403", "JAX402", "JAX002"]


def test_unsaved_new_files_are_seen_by_others(workspace: Workspace, folder: Path) -> None:
    new, train = folder / "app/new.py", folder / "app/train.py"
    text = "from app.new import Fresh\n\ndef f(fresh: Fresh):\n    fresh.x = 1\n"
    workspace.set_text(str(train), text)
    assert codes(workspace, train) == []
    workspace.set_text(str(new), "from flax import struct\n\n@struct.dataclass\nclass Fresh:\n    x: int\n")
    assert workspace.dependents(str(new)) == [str(train)]
    assert codes(workspace, train) == ["JAX401"]
    workspace.drop_text(str(new))
    assert codes(workspace, train) == []


def test_files_that_are_excluded_have_no_findings(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.jaxlint]\nexclude = ["app/train.py"]\n')
    (folder / ".gitignore").write_text("scripts/\n")
    workspace = Workspace([str(folder)])
    for name in ("app/train.py", "scripts/run.py"):
        workspace.set_text(str(folder / name), FILES[name])
        assert codes(workspace, folder / name) == []
    assert str(folder / "app/train.py") not in {f.path for f in check_paths([str(folder)], Configuration()).findings}


def test_a_file_outside_of_the_folders_is_checked_as_if_it_was_named(tmp_path: Path, folder: Path) -> None:
    outside = tmp_path / "outside"
    write(outside)
    workspace = Workspace([str(folder)])
    path = outside / "app/train.py"
    text = FILES["app/train.py"] + "\n\ndef more(state: State):\n    state.weight = 2\n"
    workspace.set_text(str(path), text)
    expected = check_content(text.encode(), str(path), Configuration()).findings
    assert workspace.findings(str(path)) == expected
    assert [f.code for f in expected] == ["JAX401", "JAX403", "JAX402", "JAX401"]


def test_a_configuration_that_cannot_be_used(workspace: Workspace, folder: Path) -> None:
    train = folder / "app/train.py"
    before = codes(workspace, train)
    (folder / "pyproject.toml").write_text('[tool.jaxlint]\nselect = ["NONE"]\n')
    with pytest.raises(ConfigError, match="unknown rule"):
        workspace.refresh()
    assert codes(workspace, train) == before
    (folder / "pyproject.toml").write_text('[tool.jaxlint]\nselect = ["JAX402"]\n')
    workspace.refresh()
    assert codes(workspace, train) == ["JAX402"]
    (folder / "pyproject.toml").write_text('[tool.jaxlint]\nselect = ["NONE"]\n')
    with pytest.raises(ConfigError):
        Workspace([str(folder)]).findings(str(train))


def test_baselines_count(folder: Path) -> None:
    from jaxlint.suppression.baseline import write_baseline

    result = check_paths([str(folder)], Configuration())
    write_baseline(str(folder / "known.json"), [f for f in result.findings if f.code == "JAX401"], {})
    (folder / "pyproject.toml").write_text('[tool.jaxlint]\nbaseline = "known.json"\n')
    workspace = Workspace([str(folder)])
    train = folder / "app/train.py"
    workspace.set_text(str(train), "# moved\n" + FILES["app/train.py"])
    assert codes(workspace, train) == ["JAX403", "JAX402"]
    workspace.set_text(str(train), FILES["app/train.py"].replace("state.step = 1", "state.step = 2"))
    assert codes(workspace, train) == ["JAX401", "JAX403", "JAX402"]


def test_files_that_are_too_large_are_not_read(folder: Path) -> None:
    workspace = Workspace([str(folder)], largest_file=2000)
    train = folder / "app/train.py"
    (folder / "app/states.py").write_text(FILES["app/states.py"] + "#" * 2000)
    workspace.set_text(str(train), FILES["app/train.py"])
    assert "JAX401" not in codes(workspace, train)
    assert workspace.refusal(str(train)) is None
    for path in (str(folder / "app/states.py"), str(folder / "app/derived.py")):
        workspace.set_text(path, FILES["app/train.py"] + "#" * 2000)
        assert workspace.findings(path) == []
        assert "larger than 2,000 bytes" in (workspace.refusal(path) or "")
    workspace.set_text(str(folder / "app/states.py"), FILES["app/states.py"])
    assert codes(workspace, train) == ["JAX401", "JAX403", "JAX402"]


@pytest.mark.parametrize("limit", ["_MOST_FILES", "_MOST_FOLDERS"])
def test_of_a_folder_with_too_much_each_file_is_checked_with_its_package(
    folder: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(trees, limit, 1)
    workspace = Workspace([str(folder)])
    train = folder / "app/train.py"
    workspace.set_text(str(train), FILES["app/train.py"])
    assert codes(workspace, train) == ["JAX401", "JAX403", "JAX402"]
    assert workspace.files() == [str(train)]


def test_a_check_can_be_stopped_at_any_step(folder: Path) -> None:
    stopper = Stopper()
    workspace = Workspace([str(folder)], step=stopper.step)
    expected = [f for f in check_paths([str(folder)], Configuration()).findings if "train" in f.path]
    train = str(folder / "app/train.py")
    stopped = 0
    for number in range(1, 60):
        stopper.left = number
        try:
            workspace.set_text(train, FILES["app/train.py"] + "\n" * number)
            workspace.findings(train)
        except Stop:
            stopped += 1
        stopper.left = 0
        assert workspace.findings(train) == expected
    assert stopped >= 5


def test_files_that_come_and_go(workspace: Workspace, folder: Path) -> None:
    train, states = folder / "app/train.py", folder / "app/states.py"
    before = codes(workspace, train)
    states.rename(folder / "app/other.py")
    workspace.refresh()
    assert codes(workspace, train) != before
    os.rename(folder / "app/other.py", states)
    workspace.refresh()
    assert codes(workspace, train) == before


def test_a_closed_file_that_changes_on_disk(workspace: Workspace, folder: Path) -> None:
    train = folder / "app/train.py"
    before = codes(workspace, train)
    show(workspace, folder, "app/train.py")  # the buffer holds what the file holds
    workspace.drop_text(str(train))
    assert codes(workspace, train) == before
    train.write_text(train.read_text() + "# noqa: JAX401\n")
    workspace.refresh()
    assert codes(workspace, train) == [*before, "JAX002"]
