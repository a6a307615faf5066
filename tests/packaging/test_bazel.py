"""The Bazel rules, with a real Bazel: facts per target, shards, and what is made anew after a change."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.small_project import MADE, STATE, STEP, USED

ROOT = Path(__file__).resolve().parents[2]
BAZEL = shutil.which("bazel")

LIBRARY = 'py_library(name = "{name}", srcs = glob(["*.py"]), deps = {deps}, visibility = ["//visibility:public"])\n'
TESTS = """
load("//tools:jaxlint.bzl", "jaxlint_test")
OPTIONS = ["-q", "--output-format=concise"]
jaxlint_test(name = "lint", targets = ["//app"], config = ["pyproject.toml"], shard_count = 2, options = OPTIONS)
jaxlint_test(name = "lint_lib", targets = ["//lib"], config = ["pyproject.toml"])
"""
TOOL = """#!/bin/bash
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH={root} NO_COLOR=1
exec {python} -m jaxlint "$@"
"""
#: Repositories that Bazel would download, though nothing here needs them, with what stands for each.
STUBS = {
    "remote_coverage_tools": {
        "BUILD": "filegroup(name = 'coverage_report_generator', visibility = ['//visibility:public'])",
    },
    "rules_cc": {"cc": "library binary test toolchain toolchain_suite import proto_library libc_top_alias"},
    "rules_java": {"java": "library binary import test toolchain runtime package_configuration plugin"},
}  # fmt: skip


class Workspace:
    """A workspace with two libraries."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "workspace"
        self.output = folder / "output"
        self.options = []
        for name, content in STUBS.items():
            stub = folder / name
            write(stub, {"WORKSPACE": "", "BUILD": content.get("BUILD", "")})
            for language, rules in content.items():
                if language != "BUILD":
                    lines = [f"{language}_{rule} = native.{language}_{rule}\n" for rule in rules.split()]
                    write(stub / language, {"BUILD": "", "defs.bzl": "".join(lines)})
            self.options.append(f"--override_repository={name}={stub}")
        files = {
            "WORKSPACE": "",
            "BUILD": TESTS,
            "pyproject.toml": "",
            "tools/BUILD": 'sh_binary(name = "jaxlint", srcs = ["jaxlint.sh"], visibility = ["//visibility:public"])\n',
            "tools/jaxlint.sh": TOOL.format(root=ROOT, python=sys.executable),
            "tools/jaxlint.bzl": (ROOT / "integrations" / "bazel" / "jaxlint.bzl").read_text(),
            "lib/BUILD": LIBRARY.format(name="lib", deps="[]"),
            "lib/__init__.py": "",
            "lib/state.py": STATE,
            "app/BUILD": LIBRARY.format(name="app", deps='["//lib"]'),
            "app/__init__.py": "",
            "app/step.py": STEP.format(field="y").replace("from state", "from lib.state"),
            "app/made.py": MADE.replace("from state", "from lib.state"),
            "app/used.py": USED.replace("from made", "from app.made"),
        }
        write(self.folder, files)
        (self.folder / "tools" / "jaxlint.sh").chmod(0o755)

    def bazel(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        assert BAZEL is not None
        return subprocess.run(
            [BAZEL, f"--output_user_root={self.output}", "--max_idle_secs=60", *arguments],
            cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip

    def test(self) -> tuple[int, list[str], list[str]]:
        """The exit code, which actions were run, and what was found."""
        done = self.bazel("test", "//...", "--subcommands", *self.options)
        if "Analysis of target" in done.stderr and "Unknown host" in done.stderr:
            pytest.skip("this Bazel needs repositories that cannot be downloaded here")
        run = {
            line.partition("[action '")[2].partition("'")[0] for line in done.stderr.splitlines() if "[action" in line
        }
        logs = (self.folder / "bazel-testlogs").rglob("test.log")
        found = sorted(line for log in logs for line in log.read_text().splitlines() if " JAX" in line)
        return done.returncode, sorted(r for r in run if r.startswith(("Finding", "Testing"))), found


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace(tmp_path)
    yield made
    made.bazel("shutdown")
    subprocess.run(["chmod", "-R", "u+w", str(made.output)], check=False)


@pytest.mark.skipif(BAZEL is None, reason="needs Bazel")
def test_bazel(workspace: Workspace) -> None:
    facts = ["Finding out the facts of //app:app", "Finding out the facts of //lib:lib"]
    shards = ["Testing //:lint (shard 1 of 2)", "Testing //:lint (shard 2 of 2)"]
    code, run, found = workspace.test()
    assert (code, run) == (3, [*facts, *shards, "Testing //:lint_lib"])
    command = [sys.executable, "-m", "jaxlint", "check", "-q", "--no-cache", "--output-format=concise", "app", "lib"]
    alone = subprocess.run(
        command, cwd=workspace.folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert found == sorted(line for line in alone.stdout.splitlines() if " JAX" in line)
    assert len(found) == 2

    # what depends on nothing that has changed is not run again
    for name, old, new in (("step", "y=1", "x=1"), ("used", "made.x = 2\n", "")):
        path = workspace.folder / "app" / f"{name}.py"
        path.write_text(path.read_text().replace(old, new))
    assert workspace.test()[:2] == (0, [facts[0], *shards])
    assert workspace.test()[:2] == (0, [])
