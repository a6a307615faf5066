"""Commands that are forked from a process which has imported what they import: that takes longer than most of them do.

Each is what `python -m NAME ARGUMENTS` is: a process with a folder, an environment and streams of its own. Where it
matters how a process starts or what it loads, tests start Python.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any, NoReturn

from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[1]

_JAXLINT = ("jaxlint.cli.main", "jaxlint.linter.engine", "jaxlint.report", "libcst", "libcst.metadata")
#: What the commands that can be forked import sooner or later.
_IMPORTED = {
    "jaxlint": _JAXLINT,
    "flake8": ("flake8.main.cli", "flake8.plugins.pyflakes", "pycodestyle", "jaxlint_flake8.plugin", *_JAXLINT),
    "mypy": ("mypy.main", "mypy.build", "mypy.plugins.default", "jaxlint_mypy.plugin", "jaxlint_mypy.hooks", *_JAXLINT),
}


def run(
    name: str, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str] | None = None, text: str = ""
) -> subprocess.CompletedProcess[str]:
    """What `python -m NAME ARGUMENTS` does, with a text on its standard input."""
    command = [sys.executable, "-m", name, *arguments]
    given = dict(os.environ if environment is None else environment)
    if os.name != "posix":
        return subprocess.run(command, cwd=cwd, env=given, input=text, capture_output=True, text=True, timeout=PATIENCE)
    with tempfile.TemporaryDirectory() as folder:
        streams = [Path(folder, stream) for stream in ("in", "out", "err")]
        streams[0].write_text(text)
        job = {"name": name, "arguments": list(arguments), "cwd": str(cwd), "environment": given}
        code = _mother().run(job | {"streams": list(map(str, streams))})
        return subprocess.CompletedProcess(command, code, *(stream.read_text() for stream in streams[1:]))


class _Mother:
    """The process that commands are forked from, one after the other; it ends with the one that has started it."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", __name__]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        atexit.register(self._end)

    def run(self, job: dict[str, Any]) -> int:
        """How a command ends."""
        jobs, codes = self._process.stdin, self._process.stdout
        assert jobs is not None and codes is not None
        jobs.write(json.dumps(job).encode() + b"\n")
        jobs.flush()
        if not select.select([codes], [], [], PATIENCE)[0]:
            raise subprocess.TimeoutExpired([job["name"], *job["arguments"]], PATIENCE)
        return int(codes.readline())

    def _end(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


@cache
def _mother() -> _Mother:
    return _Mother()


def _serve() -> None:
    """Fork what each line of the standard input asks for, and write how it has ended."""
    with os.fdopen(os.dup(0), encoding="utf-8") as jobs, os.fdopen(os.dup(1), "w", encoding="utf-8") as codes:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        gc.disable()
        for line in jobs:
            job = json.loads(line)
            for module in _IMPORTED[job["name"]]:
                importlib.import_module(module)
            if job["name"] not in _READY:
                importlib.import_module("jaxlint.rules").all_rules()
                gc.freeze()
                _READY.add(job["name"])
            child = os.fork()
            if not child:
                _become(job, jobs, codes)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=codes, flush=True)


#: The commands whose modules are imported.
_READY = set[str]()


def _become(job: dict[str, Any], *ours: IO[str]) -> NoReturn:
    """Be a command, to the end."""
    for stream in ours:
        os.close(stream.fileno())
    modes = (os.O_RDONLY, *[os.O_WRONLY | os.O_CREAT | os.O_TRUNC] * 2)
    for number, (path, mode) in enumerate(zip(job["streams"], modes, strict=True)):
        os.dup2(os.open(path, mode, 0o600), number)
    gc.enable()
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["environment"])
    named = [one for one in job["environment"].get("PYTHONPATH", "").split(os.pathsep) if one]
    sys.path[:] = [job["cwd"], *named, *(one for one in sys.path[1:] if one not in named)]
    sys.argv[1:] = job["arguments"]
    code: object = 0
    try:
        runpy.run_module(job["name"], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    _serve()
