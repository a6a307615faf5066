"""Files and folders that are missing, linked, forbidden, or change while they are checked."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from jaxlint import check_paths
from jaxlint.project.files import PathError, Patterns, discover
from tests.linter.one_file import HEAD, NEXT, ROOT, STEP, rows, run
from tests.patience import PATIENCE


def test_missing_path(tmp_path: Path) -> None:
    with pytest.raises(PathError, match="No such file or directory"):
        check_paths([str(tmp_path / "gone.py")])
    (tmp_path / "good.py").write_text(HEAD + STEP)
    done = run("good.py", "gone.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "jaxlint: error: gone.py: No such file or directory\n"


def test_links(tmp_path: Path) -> None:
    """Loops of links, links to nowhere and links to themselves."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "main.py").write_text(HEAD + STEP)
    (folder / "again.py").symlink_to("main.py")
    (folder / "loop").symlink_to(folder)
    (folder / "up").symlink_to("..")
    assert rows(folder) == [("JAX401", NEXT + 1, 5)]
    (folder / "nowhere.py").symlink_to("gone.py")
    (folder / "self.py").symlink_to("self.py")
    result = check_paths([str(folder)])
    assert [(Path(f.path).name, f.code, f.message) for f in result.findings] == [
        ("main.py", "JAX401", result.findings[0].message),
        ("nowhere.py", "JAX001", "cannot be read: No such file or directory"),
        ("self.py", "JAX001", "cannot be read: Too many levels of symbolic links"),
    ]
    assert run(".", cwd=folder).returncode == 1


def test_not_a_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "good.py").write_text(HEAD + STEP)
    (tmp_path / "folder.py").mkdir()
    result = check_paths([str(tmp_path)])
    assert [(f.code, f.row) for f in result.findings] == [("JAX401", NEXT + 1), ("JAX001", 1)]
    assert result.findings[1].message == "is a named pipe, not a regular file"


CHECK_AS_NOBODY = """
import difflib, importlib, os, pkgutil, sys
sys.path.insert(0, sys.argv[1])
# what is imported later cannot be read by then, in the home of another user
import jaxlint.cli.main
for module in pkgutil.walk_packages(jaxlint.__path__, "jaxlint."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
from jaxlint.linter.engine import check_source
assert check_source(open(os.path.join(sys.argv[2], "good.py")).read())
os.chdir(sys.argv[2])
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
sys.exit(jaxlint.cli.main.main(["check", "--output-format", "concise", "-j1", "--isolated", "."]))
"""


def test_without_permission() -> None:
    with tempfile.TemporaryDirectory() as name:  # other users may not enter pytest's own directories
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "closed").mkdir()
        for path in ("closed/a.py", "good.py", "secret.py"):
            (folder / path).write_text(HEAD + STEP)
        (folder / "closed").chmod(0)
        (folder / "secret.py").chmod(0)
        try:
            command = [sys.executable, "-c", CHECK_AS_NOBODY, str(ROOT), name]
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        finally:
            (folder / "closed").chmod(0o755)
    lines = done.stdout.splitlines()
    assert done.returncode == 1, done.stderr
    assert [line for line in lines if "JAX001" in line] == [
        "closed:1:1: JAX001 the directory cannot be listed: Permission denied",
        "secret.py:1:1: JAX001 cannot be read: Permission denied",
    ]
    assert [line.split(" ")[:2] for line in lines if "JAX001" not in line] == [
        ["good.py:10:5:", "JAX401"],
        ["Found", "3"],
        ["1", "unsafe"],
    ]
    assert done.stderr == ""


@pytest.mark.parametrize("content", [HEAD + STEP, HEAD + "@struct.dataclass\nclass Other:\n    y: list = []\n"])
@pytest.mark.parametrize("change", ["vanish", "grow", "become a folder", "become unreadable"])
def test_files_that_change_while_they_are_checked(
    tmp_path: Path, content: str, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After discovery, and between the two times a file is read."""
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    says = {
        "vanish": "cannot be read: No such file or directory",
        "grow": "changed while it was being checked; check it again",
        "become a folder": "is a directory, not a file",
        "become unreadable": "contains a null byte: this is not Python source",
    }

    def change_it() -> None:
        if change == "vanish":
            bad.unlink(missing_ok=True)
        elif change == "become a folder":
            if bad.is_file():
                bad.unlink()
                bad.mkdir()
        else:
            bad.write_text("\n" + content if change == "grow" else "\0")

    def after(done: int, _: int) -> None:
        if done == 2:
            change_it()

    def discover_and_change(
        paths: Sequence[str], excludes: Callable[[str], Sequence[Patterns]], *, force: bool
    ) -> list[str]:
        found = discover(paths, excludes, force=force)
        change_it()
        return found

    good.write_text(HEAD + STEP)
    bad.write_text(content)
    assert len(check_paths([str(tmp_path)]).findings) == 2
    result = check_paths([str(tmp_path)], progress=after)
    assert result.errors == []
    assert [(Path(f.path).name, f.code) for f in result.findings] == [("bad.py", "JAX001"), ("good.py", "JAX401")]
    assert result.findings[0].message == says[change]

    if bad.is_dir():
        bad.rmdir()
    bad.write_text(content)
    monkeypatch.setattr("jaxlint.linter.engine.discover", discover_and_change)
    result = check_paths([str(tmp_path)])
    assert result.errors == []
    assert (result.files, len(result.findings)) == (2, 2)
    if change != "grow":
        assert (result.findings[0].code, result.findings[0].message) == ("JAX001", says[change])
