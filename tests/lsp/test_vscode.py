"""The VS Code extension: built from what git tracks, and what is in its package."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from xml.etree import ElementTree

import msgspec
import pytest
from jaxlint_lsp.options import Options

from jaxlint import __version__
from tests import browser, debian
from tests.patience import PATIENCE
from tools import web_vscode
from tools.external import Unavailable

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "plugins" / "vscode"
NEEDED = ("LICENSE", "README.md", "pyproject.toml", "jaxlint", "plugins")
PROGRAM = """\
import jax
from flax import struct


@struct.dataclass
class State:
    params: jax.Array
    step: int = struct.field(pytree_node=False, default=0)


def update(state: State) -> State:
    state.params = state.params * 0.9
    return state.replace(step=state.step + 1)
"""
#: What is bundled serves Python 3.11 and later: see plugins/vscode/bundle.py.
is_bundled_for = pytest.mark.skipif(sys.version_info < (3, 11), reason="nothing is bundled for Python 3.10")
TARGETS = {("linux", "x86_64"): "linux-x64", ("linux", "aarch64"): "linux-arm64", ("darwin", "arm64"): "darwin-arm64"}


def run(*command: str, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def clean_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that git tracks, and the npm packages that the lock file names."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("npm and node are not installed")
    copy = tmp_path_factory.mktemp("copy")
    for name in run("git", "ls-files", "-z", *NEEDED, cwd=ROOT).split("\0"):
        if name and (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
    run("npm", "ci", "--no-audit", "--no-fund", cwd=copy / "plugins" / "vscode")
    return copy / "plugins" / "vscode"


@pytest.fixture(scope="module")
def package(clean_copy: Path) -> Path:
    # `python3` is the Python that runs the tests: it has pip
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run("npm", "run", "package", cwd=clean_copy, env={**os.environ, "PATH": path})
    (vsix,) = clean_copy.glob("*.vsix")
    return vsix


@pytest.fixture
def chromium() -> tuple[str, dict[str, str]]:
    """Chromium and the environment in which it runs."""
    try:
        return browser.chromium()
    except Unavailable as error:
        pytest.skip(f"chromium is not installed and cannot be downloaded: {error}")


@pytest.fixture
def unpacked(package: Path, tmp_path: Path) -> Iterator[Path]:
    with zipfile.ZipFile(package) as archive:
        archive.extractall(tmp_path)
    yield tmp_path / "extension"
    shutil.rmtree(tmp_path)


@pytest.mark.npm
def test_unit_tests(clean_copy: Path) -> None:
    output = run("npm", "test", cwd=clean_copy)
    passed = re.search(r"pass (\d+)", output)
    assert passed is not None and int(passed[1]) > 20, output


def test_lock_file_names_no_other_registry() -> None:
    lock = json.loads((EXTENSION / "package-lock.json").read_text(encoding="utf-8"))
    assert lock["lockfileVersion"] == 3
    for name, package in lock["packages"].items():
        if name:
            assert package.get("resolved", "https://registry.npmjs.org/").startswith("https://registry.npmjs.org/"), (
                name
            )
            assert package["integrity"].startswith("sha512-"), name


@pytest.mark.npm
def test_manifest(unpacked: Path) -> None:
    root = ElementTree.parse(unpacked.parent / "extension.vsixmanifest").getroot()
    identity = next(node for node in root.iter() if node.tag.endswith("Identity"))
    assert (identity.get("Publisher"), identity.get("Id"), identity.get("Version")) == (
        "jaxlint",
        "jaxlint",
        __version__,
    )
    assert identity.get("TargetPlatform") == TARGETS[(sys.platform, platform.machine())]
    manifest = json.loads((unpacked / "package.json").read_text(encoding="utf-8"))
    assert (unpacked / manifest["main"]).is_file()
    assert manifest["version"] == __version__


@pytest.mark.npm
def test_contents(unpacked: Path) -> None:
    files = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    own = {name for name in files if not name.startswith("bundled/libs/")}
    assert own == {"LICENSE.txt", "out/extension.js", "out/licences.txt", "package.json", "readme.md"}
    assert (unpacked / "LICENSE.txt").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert (unpacked / "readme.md").read_bytes() == (EXTENSION / "README.md").read_bytes()
    assert "vscode-languageclient" in (unpacked / "out" / "licences.txt").read_text(encoding="utf-8")
    junk = ("node_modules", "__pycache__", "/tests/", ".map", ".pyc", ".ts")
    assert not [name for name in files if any(part in name for part in junk)]
    assert {"jaxlint", "jaxlint_lsp", "libcst", "msgspec", "pygls"} <= {
        path.name for path in unpacked.glob("bundled/libs/*")
    }


@pytest.mark.npm
@is_bundled_for
def test_bundle_runs_in_an_interpreter_without_jaxlint(unpacked: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "--without-pip", "bare", cwd=tmp_path)
    env = {**os.environ, "PYTHONPATH": str(unpacked / "bundled" / "libs")}
    python = str(tmp_path / "bare" / "bin" / "python")
    assert run(python, "-m", "jaxlint", "--version", cwd=unpacked, env=env).split()[-1] == __version__
    (tmp_path / "empty.py").touch()
    run(python, "-m", "jaxlint", "check", str(tmp_path / "empty.py"), cwd=unpacked, env=env)
    command = (python, "-m", "jaxlint", "server")
    server = subprocess.Popen(
        command, cwd=unpacked, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert server.stdin is not None and server.stdout is not None
    with server:
        server.stdin.write(_framed(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}'))
        server.stdin.flush()
        answer = _answer(server.stdout)
        _, complaints = server.communicate(_framed(b'{"jsonrpc":"2.0","method":"exit"}'), timeout=PATIENCE)
    assert b'"serverInfo"' in answer, complaints


def _framed(message: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(message), message)


def _answer(stream: IO[bytes]) -> bytes:
    """The first message; empty if there is none."""
    length = 0
    while line := stream.readline().strip():
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
    return stream.read(length)


@pytest.mark.browser
@is_bundled_for
def test_in_a_web_vscode(package: Path, chromium: tuple[str, dict[str, str]], tmp_path: Path) -> None:
    """The project's own interpreter runs the bundled server; its picture is stored as `web_vscode.png`."""
    (tmp_path / "train.py").write_text(PROGRAM)
    run(sys.executable, "-m", "venv", "--without-pip", ".venv", cwd=tmp_path)
    try:
        web_vscode.install()
    except Unavailable as error:
        pytest.skip(f"code-server does not install: {error}")
    picture = debian.CACHE.parent / "web_vscode.png"
    seen = web_vscode.look(package, tmp_path, "train.py", picture, *chromium)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert seen["squiggles"] == 2
    assert [line.strip() for line in seen["lines"] if line.endswith(("leaf", "static"))] == [
        "params: jax.Array leaf",
        "step: int = struct.field(pytree_node=False, default=0) static",
    ]
    assert seen["lenses"] == ["pytree: 1 leaf, 1 static"]
    assert "`State` is frozen" in seen["problems"][1] and "JAX202" in seen["problems"][2]
    assert any("leaf     params: jax.Array" in line for line in seen["drawing"])
    assert "    state.params = state.params * 0.9  # noqa: JAX401" in seen["suppressed"]
    assert (
        f"jaxlint {__version__}, {tmp_path}/.venv/bin/python (.venv of the workspace) with the bundled jaxlint"
        in seen["log"]
    )


def test_settings_are_those_of_the_server() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    properties = manifest["contributes"]["configuration"]["properties"]
    options = msgspec.to_builtins(Options())
    del options["treeInMessage"]  # the extension shows the drawing itself
    assert {name: properties[f"jaxlint.{name}"]["default"] for name in options} == options


def test_readme_lists_every_setting_and_command() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    readme = (EXTENSION / "README.md").read_text(encoding="utf-8")
    for name in manifest["contributes"]["configuration"]["properties"]:
        assert f"| `{name}` |" in readme
    for command in manifest["contributes"]["commands"]:
        assert f"{command['category']}: {command['title']}*" in readme
