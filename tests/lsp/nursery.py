"""Servers that are forked from a process which has imported them: that takes longer than most tests."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

#: How a process ends is only known to the one that has forked it, which tells it.
_MOTHER = f"""
import os, signal, socket, sys
import jaxlint_lsp.run
from jaxlint.cli.entry import run
from jaxlint.cli.main import main

asked = socket.socket(fileno=int(sys.argv[1]))
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    folder, (*standard, told), _, _ = socket.recv_fds(asked, {1 << 16}, 4)
    if not folder:
        break
    if not os.fork():
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        asked.close()
        server = os.fork()
        if not server:
            for number, one in enumerate(standard):
                os.dup2(one, number)
            os.closerange(3, told + 1)
            os.chdir(folder)
            sys.argv[:], sys.stdin, sys.stdout, sys.stderr = ["jaxlint", "server"], open(0), open(1, "w"), open(2, "w")
            run()
        os.closerange(0, 3)
        for one in standard:
            os.close(one)
        os.write(told, b"%d\\n" % server)
        os.write(told, b"%d\\n" % os.waitstatus_to_exitcode(os.waitpid(server, 0)[1]))
        os._exit(0)
    for one in (*standard, told):
        os.close(one)
"""


class Server:
    """A server, as `subprocess.Popen` would show it."""

    def __init__(self, asked: socket.socket, folder: Path) -> None:
        read, write = zip(*(os.pipe() for _ in range(4)), strict=True)
        theirs, ours = [read[0], *write[1:]], [write[0], *read[1:]]
        socket.send_fds(asked, [os.fsencode(folder)], theirs)
        for one in theirs:
            os.close(one)
        self.stdin: BinaryIO = os.fdopen(ours[0], "wb")
        self.stdout: BinaryIO = os.fdopen(ours[1], "rb")
        self.stderr: BinaryIO = os.fdopen(ours[2], "rb")
        self._told = os.fdopen(ours[3], "rb")
        self.pid = int(self._told.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """How it has ended; None if it runs."""
        if self.returncode is None and select.select([self._told], [], [], 0)[0]:
            self.returncode = int(self._told.readline())
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """How it ends."""
        if self.returncode is None and not select.select([self._told], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("jaxlint server", timeout or 0)
        code = self.poll()
        assert code is not None
        return code

    def kill(self) -> None:
        """End it, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


class Nursery:
    """The process that servers are forked from."""

    def __init__(self) -> None:
        self._asked, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-c", _MOTHER, str(theirs.fileno())]
        environment = {**os.environ, "JAXLINT_NO_CACHE": "1"}
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment)
        theirs.close()

    def start(self, folder: Path) -> Server:
        """A new server, in a folder."""
        return Server(self._asked, folder)

    def end(self) -> None:
        """End it; its servers go on."""
        self._asked.close()
        self._process.wait()
