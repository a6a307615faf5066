"""The recipes of docs/editors.md, in the editors that are installed here."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RECIPES = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
BUG = """\
import jax
from flax import struct


@struct.dataclass
class State:
    x: jax.Array


def step(state: State) -> None:
    state.x = 1
"""
ROW, COLUMN = 11, 5


def recipe(language: str, containing: str) -> str:
    (found,) = [t for t in re.findall(rf"```{language}\n(.*?)```", RECIPES, re.DOTALL) if containing in t]
    return str(found)


def needs(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one bug, and a `jaxlint` on the path that is this one."""
    (tmp_path / "bad.py").write_text(BUG)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("jaxlint", "flake8"):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {name} "$@"\n')
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout + done.stderr


def test_problem_matcher(project: Path) -> None:
    task = json.loads(recipe("json", "problemMatcher"))["tasks"][0]
    pattern = task["problemMatcher"]["pattern"]
    (line,) = run("sh", "-c", task["command"], cwd=project).splitlines()
    match = re.fullmatch(pattern["regexp"], line)
    assert match is not None
    found = [match[pattern[key]] for key in ("file", "line", "column", "code")]
    assert found == ["bad.py", str(ROW), str(COLUMN), "JAX401"]
    assert match[pattern["message"]].startswith("`State` is frozen")


def test_vim_make(project: Path) -> None:
    needs("vim")
    (project / "vimrc").write_text(recipe("vim", "makeprg"))
    shown = 'bufname(v.bufnr) . ":" . v.lnum . ":" . v.col . ":" . v.text'
    listed = f'call writefile(map(getqflist(), {{_, v -> {shown}}}), "out")'
    run("vim", "-Nu", "vimrc", "-es", "bad.py", "-c", "silent make!", "-c", listed, "-c", "qa!", cwd=project)
    (line,) = (project / "out").read_text().splitlines()
    assert line.startswith(f"bad.py:{ROW}:{COLUMN}:JAX401 `State` is frozen")


def test_vim_ale(project: Path) -> None:
    needs("vim")
    plugins = [path.parents[1] for path in Path("/usr/share").glob("**/plugin/ale.vim")]
    if not plugins:
        pytest.skip("ALE is not installed")
    plugin = plugins[0]
    (project / "vimrc").write_text(f"set rtp+={plugin}\nfiletype plugin on\n{recipe('vim', 'ale_linters')}")
    wait = (
        "call ale#Queue(0) | let g:n = 0 | while g:n < 200 && empty(ale#engine#GetLoclist(bufnr('%')))"
        " | sleep 100m | let g:n += 1 | endwhile"
    )
    shown = "v.lnum . ':' . v.col . ':' . v.code . ':' . v.text"
    listed = f"call writefile(map(copy(ale#engine#GetLoclist(bufnr('%'))), {{_, v -> {shown}}}), 'out')"
    command = ("vim", "-Nu", "vimrc", "-T", "dumb", "--not-a-term", "bad.py", "-c", wait, "-c", listed, "-c", "qa!")
    run(*command, cwd=project)
    lines = (project / "out").read_text().splitlines()
    assert any(line.startswith(f"{ROW}:{COLUMN}:JAX401:`State` is frozen") for line in lines), lines


def test_neovim_make(project: Path) -> None:
    needs("nvim")
    (project / "init.vim").write_text(recipe("vim", "makeprg"))
    listed = 'call writefile(map(getqflist(), {_, v -> v.lnum . ":" . v.col . ":" . v.text}), "out")'
    run("nvim", "-u", "init.vim", "--headless", "bad.py", "-c", "silent make!", "-c", listed, "-c", "qa!", cwd=project)
    (line,) = (project / "out").read_text().splitlines()
    assert line.startswith(f"{ROW}:{COLUMN}:JAX401 `State` is frozen")


def test_emacs_compile(project: Path) -> None:
    needs("emacs")
    (project / "compile.el").write_text(
        """
(require 'compile)
(let* ((buffer (compile "jaxlint check --output-format concise --quiet")) (process (get-buffer-process buffer)))
  (while (and process (process-live-p process)) (accept-process-output process 1))
  (with-current-buffer buffer
    (compilation--ensure-parse (point-max))
    (goto-char (point-min))
    (compilation-next-error 1)
    (let ((place (compilation--message->loc (get-text-property (point) 'compilation-message))))
      (princ (format "%s:%s\\n" (compilation--loc->line place) (compilation--loc->col place))))))
"""
    )
    output = run("emacs", "-Q", "--batch", "-l", "compile.el", cwd=project)
    assert f"{ROW}:" in output, output


def test_flycheck(project: Path) -> None:
    needs("emacs")
    if not list(Path("/usr/share/emacs").glob("**/flycheck.el")):
        pytest.skip("flycheck is not installed")
    (project / "check.el").write_text(
        f"""
(package-initialize)
(require 'flycheck)
{recipe("elisp", "flycheck-define-checker")}
(find-file "bad.py")
(python-mode)
(setq flycheck-checkers '(jaxlint))
(flycheck-mode 1)
(flycheck-buffer)
(while (flycheck-running-p) (accept-process-output nil 0.2))
(dolist (found flycheck-current-errors)
  (princ (format "%s:%s:%s:%s\\n" (flycheck-error-line found) (flycheck-error-column found) (flycheck-error-id found)
                 (flycheck-error-message found))))
"""
    )
    output = run("emacs", "--batch", "-l", "check.el", cwd=project)
    assert f"{ROW}:{COLUMN}:JAX401:`State` is frozen" in output, output
