"""`jaxlint tree` as text: one line for each field, nested classes indented."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TextIO

from jaxlint.report.drawing import Drawing, DrawnClass, DrawnField, DrawnFinding

_WIDTH = len("unknown")


def write(drawing: Drawing, stream: TextIO) -> None:
    """Write all classes, and behind them what is found about none of them."""
    stream.write(text(drawing))


def text(drawing: Drawing) -> str:
    """All classes, and behind them what is found about none of them."""
    parts = ["\n".join(_class(cls, drawing)) for cls in drawing.drawn()]
    if drawing.elsewhere:
        parts.append("\n".join(["Found in other code", *(f"  {line}" for line in _findings(drawing.elsewhere, ""))]))
    return "\n\n".join(parts) + "\n"


def _class(cls: DrawnClass, drawing: Drawing) -> Iterator[str]:
    yield f"{cls.name}  {cls.framework}  {cls.at}"
    yield "  " + "; ".join(cls.facts())
    yield from ("  " + line for line in _findings(cls.findings, cls.at.path))
    yield from ("  " + line for line in _fields(cls, drawing, (cls.key,)))
    if cls.missing:
        yield f"  ({cls.missing})"


def _fields(cls: DrawnClass, drawing: Drawing, path: tuple[str, ...]) -> Iterator[str]:
    for field in cls.fields:
        last = field is cls.fields[-1]
        indent = "   " if last else "│  "
        yield f"{'└─' if last else '├─'} {_field(field)}"
        yield from (f"{indent}{line}" for line in _findings(field.findings, drawing.classes[path[0]].at.path))
        held = drawing.held(field, path)
        if held is not None:
            yield from (indent + line for line in _fields(held, drawing, (*path, held.key)))


def _field(field: DrawnField) -> str:
    inherited = f"  (from {field.owner}, {field.at})" if field.owner else ""
    return f"{field.kind:<{_WIDTH}}  {field.written}{inherited}"


def _findings(findings: Iterable[DrawnFinding], path: str) -> Iterator[str]:
    """A line for each finding; its place is that of a row alone if it is in the file `path`."""
    for finding in findings:
        place = f"line {finding.at.row}" if finding.at.path == path else str(finding.at)
        yield f"! {finding.code} {place}: {finding.message}"
