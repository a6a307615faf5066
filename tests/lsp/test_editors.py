"""The recipes of docs/editors.md, in the editors that are installed here."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.debian import libraries, unpacked
from tests.patience import PATIENCE
from tools.external import Unavailable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
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


@pytest.fixture
def nvim(project: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Neovim, from Debian if it is not installed."""
    installed = shutil.which("nvim")
    if installed is not None:
        return installed
    try:
        usr = unpacked("neovim") / "usr"
    except Unavailable as error:
        pytest.skip(f"nvim is not installed and cannot be downloaded: {error}")
    script = project / "tools" / "nvim"
    needed = f'VIMRUNTIME="{usr}/share/nvim/runtime" LD_LIBRARY_PATH="{libraries(usr)}"'
    script.write_text(f'#!/bin/sh\n{needed} exec "{usr}/bin/nvim" "$@"\n')
    script.chmod(0o755)
    return str(script)


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=PATIENCE)
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
    plugins = [path.parents[2] for path in Path("/usr/share").glob("**/plugin/ale.vim")]
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


@pytest.mark.editors
def test_neovim_make(project: Path, nvim: str) -> None:
    (project / "init.vim").write_text(recipe("vim", "makeprg"))
    listed = 'call writefile(map(getqflist(), {_, v -> v.lnum . ":" . v.col . ":" . v.text}), "out")'
    run(nvim, "-u", "init.vim", "--headless", "bad.py", "-c", "silent make!", "-c", listed, "-c", "qa!", cwd=project)
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


NEOVIM_SESSION = """
local function diagnostics(count)
  vim.wait(30000, function() return #vim.diagnostic.get(0) == count end, 20)
  return vim.diagnostic.get(0)
end

local seen = { before = diagnostics(1) }
vim.ui.select = function(actions, options, choose)
  for _, action in ipairs(actions) do
    if options.format_item(action):match("noqa") then
      choose(action)
    end
  end
end
vim.api.nvim_win_set_cursor(0, { ROW, COLUMN - 1 })
vim.lsp.buf.code_action()
seen.after = diagnostics(0)
seen.lines = vim.api.nvim_buf_get_lines(0, 0, -1, true)
vim.fn.writefile({ vim.json.encode(seen) }, "out")
"""


@pytest.mark.editors
def test_neovim_language_server(project: Path, nvim: str) -> None:
    (project / "init.lua").write_text("vim.cmd('filetype on')\n" + recipe("lua", "start_client"))
    (project / "session.lua").write_text(NEOVIM_SESSION.replace("ROW", str(ROW)).replace("COLUMN", str(COLUMN)))
    output = run(nvim, "-u", "init.lua", "--headless", "bad.py", "-c", "luafile session.lua", "-c", "qa!", cwd=project)
    assert (project / "out").exists(), output
    seen = json.loads((project / "out").read_text())
    (before,) = seen["before"]
    assert (before["lnum"], before["col"]) == (ROW - 1, COLUMN - 1)
    assert (before["code"], before["source"]) == ("JAX401", "jaxlint")
    assert before["message"].startswith("`State` is frozen")
    assert not seen["after"]
    assert seen["lines"][ROW - 1].startswith("    state.x = 1  # noqa: JAX401")
    assert [*seen["lines"][: ROW - 1], "    state.x = 1"] == BUG.splitlines()


EGLOT_SESSION = """
(require 'cl-lib)
(defun diagnostics (count)
  (cl-loop repeat 600 until (and (eglot-current-server) (= count (length (flymake-diagnostics))))
           do (accept-process-output nil 0.05) (flymake-start))
  (mapcar #'flymake-diagnostic-text (flymake-diagnostics)))

(setq eglot-send-changes-idle-time 0 eglot-confirm-server-initiated-edits nil)
(find-file "bad.py")
(run-hooks 'post-command-hook)
(setq before (diagnostics 1))
(goto-char (flymake-diagnostic-beg (car (flymake-diagnostics))))
(princ (format "before %d:%d %s\\n" (line-number-at-pos) (1+ (current-column)) before))
(setq last-nonmenu-event ?x)
(cl-letf (((symbol-function 'completing-read)
           (lambda (_prompt actions &rest _)
             (car (cl-find-if (lambda (action) (string-match "noqa" (car action))) actions)))))
  (eglot-code-actions (point) nil nil t))
(eglot--signal-textDocument/didChange)
(setq after (diagnostics 0))
(princ (format "line %s\\nafter %s\\n" (string-trim (thing-at-point 'line)) after))
(eglot-shutdown (eglot-current-server))
"""


def test_recipes_from_manuals() -> None:
    """No editor runs these here: they are well-formed, and start the server."""
    command, *arguments = ["jaxlint", "server"]
    helix = tomllib.loads(recipe("toml", "language-server"))
    assert helix["language-server"]["jaxlint"] == {"command": command, "args": arguments}
    assert "jaxlint" in helix["language"][0]["language-servers"]
    zed = json.loads(recipe("json", "language_servers"))
    assert zed["lsp"]["pylsp"]["binary"] == {"path": command, "arguments": arguments}
    assert "pylsp" in zed["languages"]["Python"]["language_servers"]
    sublime = json.loads(recipe("json", "selector"))
    assert sublime["clients"]["jaxlint"]["command"] == [command, *arguments]


def test_eglot(project: Path) -> None:
    needs("emacs")
    load: list[str] = []
    if "eglot" not in run("emacs", "-Q", "--batch", "--eval", '(princ (locate-library "eglot"))', cwd=project):
        try:
            packages = (unpacked("elpa-eglot") / "usr/share/emacs/site-lisp/elpa-src").iterdir()
        except Unavailable as error:
            pytest.skip(f"this Emacs has no Eglot, and it cannot be downloaded: {error}")
        load = [argument for folder in packages for argument in ("-L", str(folder))]
    (project / "session.el").write_text(recipe("elisp", "eglot-server-programs") + EGLOT_SESSION)
    output = run("emacs", "-Q", "--batch", *load, "-l", "session.el", cwd=project)
    assert f"before {ROW}:{COLUMN} " in output, output
    assert "`State` is frozen" in output
    assert "line state.x = 1  # noqa: JAX401" in output
    assert "after nil" in output
