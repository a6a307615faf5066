"""What is costly is made once for all processes of pytest."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock


def once(folder: Path, name: str, make: Callable[[], Any]) -> Any:
    """What `make` returns, as JSON keeps it; one of the processes with the same folder makes it."""
    path = folder / f"{name}.json"
    with FileLock(folder / f"{name}.lock"):
        if not path.exists():
            text = json.dumps(make())
            path.write_text(text, encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))
