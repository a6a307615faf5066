"""What is costly is made once for all processes of pytest."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock


def once(folder: Path, name: str, make: Callable[[], Any]) -> Any:
    """What `make` returns, as JSON keeps it; one of the processes with the same folder makes it.

    Another pytest, which was started after a change of the sources, may take the folder away at any time.
    """
    path = folder / f"{name}.json"
    with FileLock(folder / f"{name}.lock"):
        with contextlib.suppress(FileNotFoundError):
            return json.loads(path.read_text(encoding="utf-8"))
        text = json.dumps(make())
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")  # where one is killed while it writes, nothing is left of it
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    return json.loads(text)
