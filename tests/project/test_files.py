"""Which files a run checks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jaxlint.project.files import PathError, Patterns, discover, matches
from jaxlint.syntax.paths import project_root, shown_path
from jaxlint.syntax.source import Source, Unreadable
from tests.patience import PATIENCE


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def make(*names: str) -> None:
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def found(*paths: str, exclude: Sequence[str] = (), base: str = "") -> list[str]:
    here = os.getcwd()
    patterns = Patterns(os.path.abspath(base), tuple(exclude))
    return [os.path.relpath(path, here) for path in discover(paths or (".",), lambda directory: [patterns])]


def test_walks_for_python_files_sorted() -> None:
    make(
        "b.py", "a.py", "a.pyi", "a/z.py", "a/deep/er/x.py", "note.txt", "py", ".hidden/c.py", "x.pyc", "X.PY", "a.py2"
    )
    assert found() == [".hidden/c.py", "a.py", "a.pyi", "a/deep/er/x.py", "a/z.py", "b.py"]
    assert all(os.path.isabs(path) for path in discover(["."]))


def test_given_files_are_always_taken() -> None:
    make("script", "build/a.py", "ignored.py")
    Path(".gitignore").write_text("ignored.py\n")
    assert found("script", "build/a.py", "ignored.py", exclude=["*"]) == ["build/a.py", "ignored.py", "script"]


def test_given_directories_are_always_walked() -> None:
    make("build/lib/a.py", "build/build/b.py", ".git/HEAD")
    Path(".gitignore").write_text("build/\n")
    assert found() == []
    assert found("build") == ["build/lib/a.py"]
    assert found("build/lib") == ["build/lib/a.py"]


def test_each_file_once() -> None:
    make("pkg/a.py")
    assert found("pkg", "./pkg/a.py", "pkg/../pkg", ".") == ["pkg/a.py"]


def test_default_excludes() -> None:
    make(
        "venv/a.py",
        ".git/hook.py",
        "src/node_modules/b.py",
        "src/build/c.py",
        "__pycache__/d.py",
        "src/site-packages/e.py",
        ".virtual_documents/nb.py",
    )
    make("my-env/pyvenv.cfg", "my-env/lib/f.py", "src/building/ok.py", "build.py")
    assert found() == ["build.py", "src/building/ok.py"]
    assert found("my-env") == ["my-env/lib/f.py"]


def test_templates_are_no_sources() -> None:
    make("{{ cookiecutter.name }}/src/a.py", "hooks/b.py", "src/{{name}}/c.py")
    assert found() == ["hooks/b.py"]
    assert found("src/{{name}}") == ["src/{{name}}/c.py"]
    assert found(exclude=["!{{*}}"]) == ["hooks/b.py", "src/{{name}}/c.py", "{{ cookiecutter.name }}/src/a.py"]


def test_exclude() -> None:
    make("a.py", "gen/a.py", "src/gen/b.py", "src/x_pb2.py", "src/keep_pb2.py", "build/c.py", "docs/conf.py")
    assert found(exclude=["gen"]) == ["a.py", "docs/conf.py", "src/keep_pb2.py", "src/x_pb2.py"]
    assert found(exclude=["/gen", "*_pb2.py", "!keep_pb2.py", "docs/"]) == ["a.py", "src/gen/b.py", "src/keep_pb2.py"]
    assert found(exclude=["!build", "src", "gen", "docs"]) == ["a.py", "build/c.py"]


def test_exclude_is_relative_to_the_base() -> None:
    make("a/gen/x.py", "gen/y.py", "other/gen/z.py")
    assert found(exclude=["/gen"], base="a") == ["gen/y.py", "other/gen/z.py"]
    assert found(exclude=["gen"], base="a") == ["gen/y.py", "other/gen/z.py"]


def test_excludes_of_directories_with_a_configuration() -> None:
    """They are asked for where a walk begins and where a configuration file stands; the last that speaks decides."""
    make("gen/a.py", "sub/jaxlint.toml", "sub/gen/b.py", "sub/old/c.py", "sub/x/gen/d.py", "other/gen/e.py")
    make("sub/x/pyproject.toml", "sub/x/deep/gen/f.py")
    asked: list[str] = []

    def excludes(directory: str) -> list[Patterns]:
        asked.append(os.path.relpath(directory))
        base = os.path.abspath("sub")
        return [Patterns(base, ("gen", "old")), Patterns(base, ("!gen",))] if "sub" in directory else []

    files = [os.path.relpath(path) for path in discover([".", "other"], excludes)]
    assert files == ["gen/a.py", "other/gen/e.py", "sub/gen/b.py", "sub/x/deep/gen/f.py", "sub/x/gen/d.py"]
    assert asked == [".", "sub", "sub/x", "other"]


@pytest.mark.parametrize(
    ("pattern", "path", "is_meant"),
    [
        ("gen", "/p/gen", True),
        ("gen/", "/p/gen", False),
        ("gen/", "/p/a/gen/b/c.py", True),
        ("/gen", "/p/a/gen/c.py", False),
        ("*.py", "/p/a.py", True),
        ("!*.py", "/p/a.py", False),
        ("!*.py", "/p/a.pyi", True),
        ("*", "/q/a.py", False),
        ("!*", "/q/a.py", False),
    ],
)
def test_matches(pattern: str, path: str, is_meant: bool) -> None:
    assert matches(pattern, "/p", path) is is_meant
    assert matches(pattern, "/p/", path) is is_meant


def test_matches_from_the_root() -> None:
    assert matches("/etc/", "/", "/etc/a.py")
    assert not matches("/etc/", "/", "/a/etc/a.py")


def test_exclude_wins_over_gitignore() -> None:
    make("a.py", "b.py")
    Path(".gitignore").write_text("!a.py\nb.py\n")
    assert found(exclude=["a.py", "!b.py"]) == ["b.py"]


def test_a_gitignore_that_is_a_pipe() -> None:
    make("a.py")
    os.mkfifo(".gitignore")
    program = "from jaxlint.project.files import discover; print(len(list(discover(['.'], lambda d: []))))"
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_gitignore_nested() -> None:
    make("a.py", "gen/a.py", "src/a.py", "src/gen/b.py", "src/deep/a.py", "src/deep/x.py")
    Path(".gitignore").write_text("/gen\na.py\n")
    Path("src/.gitignore").write_text("!a.py\n/deep/*\n!/deep/x.py\n")
    assert found() == ["src/a.py", "src/deep/x.py", "src/gen/b.py"]


def test_gitignore_above_the_walked_directory() -> None:
    make("repo/.git/HEAD", "repo/src/a.py", "repo/src/b.py", "repo/src/c.py")
    Path(".gitignore").write_text("a.py\n")  # not in the repository
    Path("repo/.gitignore").write_text("/src/b.py\n")
    assert found("repo/src") == ["repo/src/a.py", "repo/src/c.py"]
    Path("repo/.git/info").mkdir()
    Path("repo/.git/info/exclude").write_text("c.py\n")
    assert found("repo/src") == ["repo/src/a.py"]


def test_gitignore_that_git_would_not_take_whole() -> None:
    make("a.py", "b.py", "c.py")
    Path(".gitignore").write_bytes(b"\xff\xfe\n!\na.py\r\nfoo\\\n# c.py\n[b-a].py\n")
    assert found() == ["b.py", "c.py"]


def test_gitignore_that_is_a_directory() -> None:
    make(".gitignore/x", "a.py")
    assert found() == ["a.py"]


NAMES = st.sampled_from(["a", "b", "ab", "gen", "x.py", "y.py"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
PATTERNS = st.builds(
    lambda negate, start, body, end: negate + start + body + end,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/", "**/"]),
    st.sampled_from(
        [
            *("a", "b", "gen", "*.py", "x.*", "?", "a*", "[ab]", "a/b", "a/**", "a/*", "a/**/b", "gen/x.py", "*"),
            *("*.py[cod]", "*.p[xy]", "[!a]*", "x[.]py", "?en", "x.py  ", "\\gen", "# a"),
        ]
    ),
    st.sampled_from(["", "", "/"]),
).filter(lambda pattern: not pattern.endswith("/**/"))  # pathspec reads `a/**/` as `a/`


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
@given(
    paths=st.sets(PATHS, min_size=1, max_size=8),
    patterns=st.lists(PATTERNS, max_size=4),
    nested=st.lists(PATTERNS, max_size=3),
)
@example(paths={"x.py/a"}, patterns=["a", "!*.py"], nested=[])
@example(paths={"a", "gen/a"}, patterns=["*/", "!a"], nested=["*", "!/gen"])
@example(paths={"a/gen", "a/b"}, patterns=["a/**", "!a/gen/"], nested=[])
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_gitignore_as_git_does(tmp_path: Path, paths: set[str], patterns: list[str], nested: list[str]) -> None:
    with tempfile.TemporaryDirectory(dir=tmp_path) as name:
        root = Path(name)
        (root / "a").mkdir()
        (root / ".gitignore").write_text("\n".join(patterns))
        (root / "a/.gitignore").write_text("\n".join(nested))
        for path in sorted(paths):
            file = root / path / "m.py" if not path.endswith(".py") else root / path
            if not any(parent.is_file() for parent in file.parents) and not file.is_dir():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch()
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        listing = ["git", "-C", str(root), "ls-files", "--others", "--exclude-standard", "-z", "*.py"]
        expected = subprocess.run(listing, check=True, capture_output=True, text=True).stdout
        assert [os.path.relpath(path, root) for path in discover([name])] == sorted(expected.split("\0")[:-1])


def test_links_to_files_and_directories_are_followed_once() -> None:
    make("real/a.py", "outside/deep/b.py", "project/c.py")
    Path("project/linked").symlink_to("../outside")
    Path("project/again").symlink_to("../outside/deep")
    Path("project/a_link.py").symlink_to("../real/a.py")
    Path("project/c_link.py").symlink_to("c.py")
    assert found("project") == ["project/a_link.py", "project/again/b.py", "project/c.py"]
    assert found("project", "real") == ["project/again/b.py", "project/c.py", "real/a.py"]


def test_link_loops() -> None:
    make("project/a.py", "project/sub/b.py", "other.py")
    Path("project/loop").symlink_to(".")
    Path("project/sub/up").symlink_to("../..")
    Path("project/sub/self").symlink_to("self")
    assert found("project") == ["project/a.py", "project/sub/b.py"]


def test_given_link_is_followed() -> None:
    make("real/a.py")
    Path("link").symlink_to("real")
    assert found("link") == ["link/a.py"]
    assert found("link", "real") == ["real/a.py"]


def unreadable(path: str) -> str:
    with pytest.raises(Unreadable) as caught:
        Source.read(path)
    return str(caught.value)


def test_links_to_nowhere_are_kept_to_be_reported() -> None:
    make("a.py")
    Path("dangling.py").symlink_to("nowhere.py")
    Path("loop.py").symlink_to("loop.py")
    Path(".#a.py").symlink_to("user@host.1234")  # the lock of an editor
    Path("dangling").symlink_to("nowhere")
    assert found() == ["a.py", "dangling.py", "loop.py"]
    assert found("dangling.py", "loop.py") == ["dangling.py", "loop.py"]
    assert unreadable("loop.py") == "cannot be read: Too many levels of symbolic links"


def test_directory_named_like_a_file() -> None:
    make("pkg.py/a.py")
    assert found() == ["pkg.py/a.py"]


def test_missing_paths() -> None:
    make("a.py", "b.ipynb")
    for path, message in {
        "b.ipynb": "b.ipynb: is a notebook, of which no code is read; convert it with `jupytext --to py:percent`",
        "gone.py": "gone.py: No such file or directory",
        "gone/": "gone/: No such file or directory",
        "a.py/b.py": "a.py/b.py: Not a directory",
        "": "'': No such file or directory",
        "x\0y": r"'x\x00y': is not a path: ",
    }.items():
        with pytest.raises(PathError) as caught:
            discover(["a.py", path])
        assert str(caught.value).startswith(message)


def test_directory_that_vanishes_is_kept_to_be_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    make("a.py", "sub/b.py")
    scandir = os.scandir

    def scandir_without_sub(path: str) -> Iterator[os.DirEntry[str]]:
        if os.path.basename(path) == "sub":
            raise FileNotFoundError(2, "No such file or directory")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", scandir_without_sub)
    assert found() == ["a.py", "sub"]


DISCOVER_AS_NOBODY = """
import os, sys
sys.path.insert(0, sys.argv[1])
from jaxlint.project.files import PathError, discover
from jaxlint.syntax.source import Source, Unreadable
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
os.chdir(sys.argv[2])
for path in discover(["."]):
    try:
        Source.read(path)
        print(os.path.relpath(path))
    except Unreadable as error:
        print(os.path.relpath(path), error)
try:
    discover(["closed/a.py"])
except PathError as error:
    print(error)
"""


def test_directories_without_permission_are_kept_to_be_reported() -> None:
    with tempfile.TemporaryDirectory() as name:  # other users may not enter pytest's own directories
        os.chmod(name, 0o755)
        make(f"{name}/a.py", f"{name}/closed/a.py")
        os.chmod(f"{name}/closed", 0)
        try:
            project = str(Path(__file__).parents[2])
            arguments = [sys.executable, "-c", DISCOVER_AS_NOBODY, project, name]
            result = subprocess.run(arguments, capture_output=True, text=True)
        finally:
            os.chmod(f"{name}/closed", 0o755)
    assert (result.stdout.splitlines(), result.stderr) == (
        [
            "a.py",
            "closed the directory cannot be listed: Permission denied",
            "closed/a.py: Permission denied",
        ],
        "",
    )


def test_deep_directories() -> None:
    deep = "/".join(["d"] * 1200)
    os.makedirs("d")
    for start in range(1, 1200, 100):
        os.makedirs("/".join(["d"] * start + ["d"] * 99), exist_ok=True)
    make(f"{deep}/a.py")
    try:
        assert found() == [f"{deep}/a.py"]
    finally:
        os.unlink(f"{deep}/a.py")
        os.removedirs(deep)


def test_names_that_are_not_utf8() -> None:
    Path(os.fsdecode(b"\xff.py")).touch()
    assert discover(["."]) == [os.path.join(os.getcwd(), "\udcff.py")]


@pytest.mark.parametrize("marker", ["pyproject.toml", "jaxlint.toml", "setup.py", "setup.cfg", ".git/HEAD"])
def test_project_root(marker: str) -> None:
    make(f"project/{marker}", "project/src/pkg/a.py")
    root = os.path.abspath("project")
    assert project_root("project/src/pkg/a.py") == root
    assert project_root("project/src/pkg") == root
    assert project_root("project") == root
    make("project/src/setup.cfg")
    assert project_root("project/src/pkg/a.py") == os.path.join(root, "src")


def test_project_root_without_a_project() -> None:
    make("free/pkg/a.py")
    assert project_root("free/pkg/a.py") == os.path.abspath("free/pkg")
    assert project_root("free/pkg") == os.path.abspath("free/pkg")


def test_shown_path() -> None:
    here = os.getcwd()
    assert shown_path(f"{here}/pkg/a.py") == "pkg/a.py"
    assert shown_path("/elsewhere/a.py") == "/elsewhere/a.py"
    assert shown_path(f"{here}x/a.py") == f"{here}x/a.py"
    assert shown_path(here) == here
