"""Fixtures as pages show them."""

from __future__ import annotations

import re

from tests.oracle.cases import HEADER, MARK, Program


def program_text(program: Program, marked: bool = True, text: str | None = None) -> str:
    """A fixture as it is run, without its header; `marked`, the lines that are reported say so.

    `text` is what has become of it.
    """
    rows = [row for row in (program.files["main.py"] if text is None else text).splitlines() if not HEADER.match(row)]
    written = "\n".join(MARK.sub(_mark if marked else "", row).rstrip() for row in rows).strip()
    return re.sub(r"\n{4,}", "\n\n\n", written) + "\n"


def _mark(match: re.Match[str]) -> str:
    return f"# {match['codes']}" if match["kind"] == "expect" else ""
