"""Commands that are forked from a process which has imported what they import: that takes longer than most of them do.

Each is what `python -m NAME ARGUMENTS` is: a process with a folder, an environment and streams of its own. Where it
matters how a process starts or what it loads, tests start Python.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[1]

_JAXLINT = ("jaxlint.cli.main", "jaxlint.linter.engine", "jaxlint.report", "libcst", "libcst.metadata")
#: What the commands that can be forked import sooner or later.
_IMPORTED = {
    "jaxlint": _JAXLINT,
    "jaxlint server": ("jaxlint_lsp.run", *_JAXLINT),
    "flake8": ("flake8.main.cli", "flake8.plugins.pyflakes", "pycodestyle", "jaxlint_flake8.plugin", *_JAXLINT),
    "mypy": ("mypy.main", "mypy.build", "mypy.plugins.default", "jaxlint_mypy.plugin", "jaxlint_mypy.hooks", *_JAXLINT),
}
#: The longest that is asked for in one message, an environment in it.
_LONGEST = 1 << 18


class Forked:
    """A process, as `subprocess.Popen` would show it."""

    def __init__(self, asked: socket.socket, job: Mapping[str, Any]) -> None:
        read, write = zip(*(os.pipe() for _ in range(4)), strict=True)
        theirs, ours = [read[0], *write[1:]], [write[0], *read[1:]]
        socket.send_fds(asked, [json.dumps(job).encode()], theirs)
        for one in theirs:
            os.close(one)
        self.stdin: BinaryIO = os.fdopen(ours[0], "wb")
        self.stdout: BinaryIO = os.fdopen(ours[1], "rb")
        self.stderr: BinaryIO = os.fdopen(ours[2], "rb")
        self._status = os.fdopen(ours[3], "rb")
        self.pid = int(self._status.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """How it has ended; None if it runs."""
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self.returncode = int(self._status.readline())
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """How it ends."""
        if self.returncode is None and not select.select([self._status], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        code = self.poll()
        assert code is not None
        return code

    def kill(self) -> None:
        """End it, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Let go of its streams."""
        for stream in (self.stdin, self.stdout, self.stderr, self._status):
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def start(
    name: str, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str] | None = None, before: str = ""
) -> Forked:
    """Start `python -m NAME ARGUMENTS`, which does the statements of `before` first; on systems that can fork."""
    given = dict(os.environ if environment is None else environment)
    job = {"name": name, "arguments": list(arguments), "cwd": str(cwd), "environment": given, "before": before}
    return Forked(_mother(), job)


def run(
    name: str,
    arguments: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str] | None = None,
    text: str = "",
    before: str = "",
) -> subprocess.CompletedProcess[str]:
    """What such a process does, with a text on its standard input."""
    started = ["-c", f"{before}\nimport runpy; runpy.run_module({name!r}, run_name='__main__', alter_sys=True)"]
    command = [sys.executable, *(started if before else ["-m", name]), *arguments]
    if os.name != "posix":
        given = dict(os.environ if environment is None else environment)
        return subprocess.run(command, cwd=cwd, env=given, input=text, capture_output=True, text=True, timeout=PATIENCE)
    process = start(name, arguments, cwd, environment, before)
    try:
        with ThreadPoolExecutor() as pool:
            said = [pool.submit(stream.read) for stream in (process.stdout, process.stderr)]
            try:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.write(text.encode())
                    process.stdin.close()
                code = process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
            out, err = (one.result().decode().replace("\r\n", "\n") for one in said)
            return subprocess.CompletedProcess(command, code, out, err)
    finally:
        process.close()


@cache
def _mother() -> socket.socket:
    """Where the process is asked that commands are forked from; it ends with the one that has started it."""
    asked, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", __name__, str(theirs.fileno())]
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=ROOT, stdin=nothing, stdout=nothing, pass_fds=[theirs.fileno()])
    theirs.close()

    def end() -> None:
        asked.close()
        process.wait()

    atexit.register(end)
    return asked


def _serve(asked: socket.socket) -> None:
    """Fork what is asked for."""
    gc.disable()
    ready = set[str]()
    while True:
        message, given, _, _ = socket.recv_fds(asked, _LONGEST, 4)
        if not message:
            return
        job = json.loads(message)
        named = " ".join((job["name"], *job["arguments"][:1]))
        known = named if named in _IMPORTED else job["name"]
        if known not in ready:
            for module in _IMPORTED[known]:
                importlib.import_module(module)
            importlib.import_module("jaxlint.rules").all_rules()
            gc.freeze()
            ready.add(known)
        if not os.fork():
            asked.close()
            _watch(job, given)
        for one in given:
            os.close(one)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _watch(job: dict[str, Any], given: list[int]) -> NoReturn:
    """Fork a command and tell how it ends: only the one that has forked it knows."""
    *standard, status = given
    child = os.fork()
    if not child:
        for number, one in enumerate(standard):
            os.dup2(one, number)
        os.closerange(3, status + 1)
        _become(job)
    os.closerange(0, 3)
    for one in standard:
        os.close(one)
    os.write(status, b"%d\n" % child)
    os.write(status, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os._exit(0)


def _become(job: dict[str, Any]) -> NoReturn:
    """Be a command, to the end."""
    gc.enable()
    # those of the process before were made for other files, in which one can seek
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["environment"])
    named = [one for one in job["environment"].get("PYTHONPATH", "").split(os.pathsep) if one]
    sys.path[:] = [job["cwd"], *named, *(one for one in sys.path[1:] if one not in named)]
    sys.argv[1:] = job["arguments"]
    code: object = 0
    try:
        exec(job["before"], {})
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
    _serve(socket.socket(fileno=int(sys.argv[1])))
