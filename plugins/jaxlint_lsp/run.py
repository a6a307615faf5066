"""Running the server on the standard streams."""

from __future__ import annotations

import logging
import os
import sys

from jaxlint_lsp import features
from jaxlint_lsp.lifetime import end_now
from jaxlint_lsp.server import Server


def run() -> None:
    """Serve one client until it leaves; the process ends with that.

    Whatever else is written to the standard output goes to the standard error: the protocol has the former alone.
    """
    logging.getLogger("pygls").addHandler(logging.NullHandler())
    logging.getLogger("pygls").propagate = False
    sys.setswitchinterval(0.001)  # the event loop is to answer while something is worked out
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    server = Server()
    features.register(server)
    server.worker.start()
    code = 1
    try:
        server.start_io(sys.stdin.buffer, output)
        code = 0 if server.was_shut_down else 1
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        end_now(code)
