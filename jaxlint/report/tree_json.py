"""`jaxlint tree` as one JSON document."""

from __future__ import annotations

import json
from typing import TextIO

import msgspec

from jaxlint.report.drawing import Drawing


def write(drawing: Drawing, stream: TextIO) -> None:
    """Write the classes by their keys, which of them were asked for, and what is found about none of them."""
    parts = {
        "chosen": drawing.chosen,
        "classes": drawing.classes,
        "elsewhere": drawing.elsewhere,
    }
    stream.write(json.dumps(msgspec.to_builtins(parts), indent=2) + "\n")
