"""The cache never makes a wrong result or a traceback, whatever happens to it, and does not grow without bound."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import jaxlint.cache.store
from jaxlint.cache.packs import NoPack, Pack, PackWriter
from jaxlint.cache.store import Cache
from jaxlint.cli import main as cli
from tests import forked
from tests.patience import PATIENCE
from tests.small_project import BOTH, STATE, STEP, found, write_project

pytestmark = pytest.mark.comparisons

ROOT = Path(__file__).resolve().parents[2]

#: Checks the project in the current directory with its cache in `cache`; before that, `{before}` happens.
CHECK = """
import os, sys
sys.path.insert(0, {root!r})
import tempfile, jaxlint.cli.main, jaxlint.linter.engine, jaxlint.rules, jaxlint.report.text
jaxlint.rules.all_rules()
{before}
from jaxlint.cli.main import main
sys.exit(main(["check", "--isolated", "--output-format", "concise", "-j1", "--cache-dir", {cache!r}, "."]))
"""
LINES = ["step.py:5:27: JAX402", "used.py:4:1: JAX401"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("JAXLINT_NO_CACHE")
    return write_project(tmp_path / "project")


def check(project: Path, cache: Path, before: str = "") -> subprocess.CompletedProcess[str]:
    program = CHECK.format(root=str(ROOT), before=before, cache=str(cache))
    return subprocess.run(
        [sys.executable, "-c", program], cwd=project, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def assert_right(done: subprocess.CompletedProcess[str]) -> None:
    assert [line[: len(known)] for line, known in zip(done.stdout.splitlines(), LINES, strict=False)] == LINES
    assert (done.returncode, done.stderr) == (1, "")


def forked_check(project: Path, cache: Path, before: str = "") -> subprocess.CompletedProcess[str]:
    """The same, where it does not matter what the process has loaded."""
    options = ("--isolated", "--output-format", "concise", "-j1", "--cache-dir", str(cache))
    return forked.run("jaxlint", ("check", *options, "."), project, before=before)


KILL = """
import os, signal
calls = 0
def kill(*args, real={call}, **kwargs):
    global calls
    calls += 1
    if calls == {number}:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **kwargs)
{call} = kill
"""


@pytest.mark.parametrize("call", ["os.replace", "os.fdopen", "os.makedirs"])
def test_killed_while_writing(project: Path, tmp_path: Path, call: str) -> None:
    """Whenever `kill -9` hits it, the next run is right, and cleans up later."""
    cache = tmp_path / "cache"
    killed = 0
    for number in range(1, 8):
        shutil.rmtree(cache, ignore_errors=True)
        done = forked_check(project, cache, KILL.format(call=call, number=number))
        if done.returncode == 1:
            break
        killed += 1
        assert done.returncode == -9
        assert_right(forked_check(project, cache))
        assert_right(forked_check(project, cache))
        assert jaxlint.cache.store.remove(str(cache))
    assert killed >= 2


def test_what_a_killed_run_left_is_removed(project: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    found(project, cache)
    (pack,) = cache.glob("*/facts/*")
    left = [pack.with_name(".jaxlint-abc"), cache / ".jaxlint-def"]
    for path in left:
        path.write_bytes(b"half")
    (project / "more.py").write_text(STATE)
    found(project, cache)
    assert all(path.exists() for path in left)
    for path in left:
        os.utime(path, (time.time() - 7200,) * 2)
    (project / "more.py").write_text(STATE + "\n")
    found(project, cache)
    assert not any(path.exists() for path in left)


@pytest.mark.parametrize("limit", [0, 100, 3000, 8000])
def test_files_that_cannot_grow(project: Path, tmp_path: Path, limit: int) -> None:
    """As on a disk that is full, at different moments."""
    cache = tmp_path / "cache"
    before = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"
    for _ in range(2):
        assert_right(check(project, cache, before))
    assert not list(cache.rglob(".jaxlint-*"))
    assert_right(forked_check(project, cache))
    assert_right(forked_check(project, cache))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16k", "none", str(disk)]
    if os.getuid() != 0 or shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("cannot mount a small disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_full_disk(project: Path, small_disk: Path) -> None:
    for full in (False, True):
        if full:
            with pytest.raises(OSError, match="No space left"):
                (small_disk / "big").write_bytes(b"x" * 64_000)
        for _ in range(2):
            assert_right(forked_check(project, small_disk / "cache"))
    (project / "more.py").write_text(STATE)
    assert_right(forked_check(project, small_disk / "cache"))


def test_read_only_folder_of_somebody_else() -> None:
    with tempfile.TemporaryDirectory() as name:  # other users may not enter pytest's own directories
        os.chmod(name, 0o755)
        project, cache = write_project(Path(name) / "project"), Path(name) / "cache"
        # what is loaded late is loaded before
        as_nobody = "jaxlint.linter.engine.check_paths(['.']); os.getuid() or (os.setgid(65534), os.setuid(65534))"
        assert_right(check(project, cache, "os.environ.pop('JAXLINT_NO_CACHE', ''); " + as_nobody))
        assert not cache.exists()
        assert found(project, cache) == BOTH
        (project / "more.py").write_text(STEP.format(field="q"))
        before = sorted((path, path.stat().st_mtime_ns) for path in cache.rglob("*"))
        done = check(project, cache, "os.environ.pop('JAXLINT_NO_CACHE', ''); " + as_nobody)
        assert (done.stdout.count("JAX402"), done.stderr) == (2, "")
        assert sorted((path, path.stat().st_mtime_ns) for path in cache.rglob("*")) == before


def test_garbage_everywhere(project: Path, tmp_path: Path) -> None:
    """Any byte of any file may be wrong: what is read is right, or is made anew."""
    cache = tmp_path / "cache"
    assert found(project, cache) == BOTH
    for path in [p for p in cache.rglob("*") if p.is_file()]:
        content = path.read_bytes()
        for position in range(0, len(content), max(len(content) // 12, 1)):
            path.write_bytes(content[:position] + bytes([content[position] ^ 255]) + content[position + 1 :])
            os.utime(project / "step.py")  # so that facts are looked up
            assert found(project, cache) == BOTH, (path, position)
        path.unlink(missing_ok=True)
        path.mkdir()
        assert found(project, cache) == BOTH
        shutil.rmtree(path)
        path.write_bytes(content)
    assert found(project, cache) == BOTH


def test_another_version(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    with monkeypatch.context() as patch:
        patch.setattr(jaxlint.cache.store, "__version__", "9.9.9")
        assert found(project, cache) == BOTH
    (other,) = [path for path in cache.iterdir() if path.is_dir()]
    other.rename(cache / Path(Cache(str(cache)).folder).name)
    for path in cache.glob("*/runs/*"):
        path.write_bytes(b"of another version")
    assert found(project, cache) == BOTH


def test_it_does_not_grow_without_bound(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setattr(jaxlint.cache.store, "_UNUSED_BYTES", 60_000)
    sizes = []
    for number in range(60):
        (project / "state.py").write_text(STATE + f"    y{number}: int = {number}\n" * 10)
        name = f"9.9.{number}"
        (cache / name).mkdir(parents=True) if number < 9 else None
        assert found(project, cache) == BOTH
        assert found(project / "state.py", cache) == []
        sizes.append(sum(path.stat().st_size for path in cache.rglob("*")))
        assert len(list(cache.glob("*/facts/*"))) <= 13
    assert len([path for path in cache.iterdir() if path.is_dir()]) <= 4
    assert max(sizes) < 150_000
    for number in range(80):
        (project / f"more{number}.py").write_text("")
        found(project, cache)
    assert len(list(cache.glob("*/runs/*"))) == 64


def test_a_module_that_appears_where_it_was_looked_for(tmp_path: Path) -> None:
    """What is found depends on which files there are, not only on those that were read."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "app").mkdir()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "app" / "step.py").write_text(STEP.format(field="y"))
    app, cache = tmp_path / "app", tmp_path / "cache"
    assert found(app, cache) == found(app, cache) == []
    (tmp_path / "lib" / "state.py").write_text(STATE)
    assert found(app, cache) == found(app, None) == [("step.py", 5, "JAX402")]


def test_pack(tmp_path: Path) -> None:
    path = tmp_path / "pack"
    writer = PackWriter(str(path), "me")
    writer.add(b"a", b"1" * 100)
    assert not path.exists()
    assert writer.close()
    pack = Pack(str(path), "me")
    assert (list(pack), pack.get(b"a"), pack.get(b"b")) == ([b"a"], b"1" * 100, None)
    with pytest.raises(NoPack, match="another"):
        Pack(str(path), "you")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(NoPack, match="incomplete"):
        Pack(str(path), "me")
    path.write_bytes(b"x = 1\n")
    with pytest.raises(NoPack, match="no facts"):
        Pack(str(path), "me")
    with pytest.raises(NoPack, match="No such file"):
        Pack(str(tmp_path / "nowhere"), "me")


# -- jaxlint clean ------------------------------------------------------------------------------


def clean(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    code = cli.main(["clean", *options])
    out, err = capsys.readouterr()
    return code, out, err


def test_clean(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(project)
    (project / "pyproject.toml").touch()
    assert clean(capsys) == (0, "nothing to remove: there is no .jaxlint_cache\n", "")
    assert cli.main(["check", "-q"]) == 1
    assert (project / ".jaxlint_cache").is_dir()
    capsys.readouterr()
    assert clean(capsys) == (0, "removed .jaxlint_cache (4 files, 0.0 MB)\n", "")
    assert not (project / ".jaxlint_cache").exists()
    assert cli.main(["check", "-q", "--cache-dir", "deep/stored"]) == 1
    capsys.readouterr()
    assert clean(capsys, "--cache-dir", "deep/stored") == (0, "removed deep/stored (4 files, 0.0 MB)\n", "")


@pytest.mark.parametrize("kind", ["folder", "other tag", "file", "link"])
def test_clean_refuses(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    monkeypatch.chdir(project)
    folder = project / "mine"
    match kind:
        case "folder" | "other tag":
            folder.mkdir()
            (folder / "thesis.tex").touch()
            if kind == "other tag":
                (folder / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55\n# of ruff\n")
        case "file":
            folder.touch()
        case "link":
            found(project, project / "real")
            folder.symlink_to("real")
    assert cli.main(["check", "-q", "--cache-dir", "mine"]) == 1
    capsys.readouterr()
    code, out, err = clean(capsys, "--cache-dir", "mine")
    assert (code, out) == (2, "")
    assert err == "jaxlint: error: mine: is no cache of jaxlint (it has no CACHEDIR.TAG of jaxlint); not removed\n"
    assert folder.exists()
    assert kind != "folder" or (folder / "thesis.tex").exists()


@pytest.mark.parametrize(("target", "is_used"), [("../outside", False), ("inside", True)])
def test_a_link_does_not_lead_out_of_the_project(project: Path, target: str, is_used: bool) -> None:
    """A repository that is checked has no say in where on the disk something is written."""
    (project / ".git").mkdir()
    folder = project / target
    folder.mkdir()
    (project / ".jaxlint_cache").symlink_to(target)
    done = subprocess.run(
        [sys.executable, "-m", "jaxlint", "check", "--isolated", "--output-format", "concise", "-q", "."],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert_right(done)
    assert bool(list(folder.iterdir())) == is_used
