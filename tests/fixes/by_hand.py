"""What somebody writes who follows the advice of findings that have no fix: `advice/` has it."""

from __future__ import annotations

from pathlib import Path

import msgspec


class Applied(msgspec.Struct, forbid_unknown_fields=True):
    """What a program's findings advise, what is written for what, and how it is called then."""

    program: str
    advice: list[str]
    write: list[tuple[str, str]]
    calls: dict[str, str] = {}


APPLIED = [
    one
    for path in sorted((Path(__file__).parent / "advice").glob("*.toml"))
    for one in msgspec.toml.decode(path.read_bytes(), type=dict[str, list[Applied]])["by_hand"]
]
