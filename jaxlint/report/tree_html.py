"""`jaxlint tree` as one page that needs nothing else: data and `tree.html`, which draws it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TextIO

import msgspec

from jaxlint.report.drawing import DEPTH, MEANING, Drawing

_PAGE = Path(__file__).with_name("tree.html")


def write(drawing: Drawing, stream: TextIO) -> None:
    """Write the page."""
    data: dict[str, Any] = msgspec.to_builtins(drawing, str_keys=True)
    for key, cls in drawing.classes.items():
        data["classes"][key]["facts"] = "; ".join(cls.facts())
    data["depth"] = DEPTH
    data["meaning"] = MEANING
    # whatever stands in a program must not end the element that holds it
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    stream.write(_PAGE.read_text(encoding="utf-8").replace("@DATA@", text))
