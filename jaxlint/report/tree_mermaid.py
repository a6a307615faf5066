"""`jaxlint tree` as a Mermaid flowchart, which GitHub, GitLab and most wikis draw.

Leaves are round and static fields are boxes with double sides, so that no colour is needed to tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TextIO

from jaxlint.report.drawing import Drawing, DrawnClass, DrawnField

#: The brackets of a node by role.
_SHAPES = {"leaf": ("([", "])"), "static": ("[[", "]]"), "dropped": ("[/", "/]"), "unknown": ("{{", "}}")}
_STYLES = (
    "classDef leaf fill:#d7f0e3,stroke:#1a7f4e,color:#10301f",
    "classDef static fill:#ffe8c2,stroke:#a15c00,color:#3d2300,stroke-dasharray:4 2",
    "classDef dropped fill:#eeeeee,stroke:#777777,color:#333333",
    "classDef unknown fill:#ffffff,stroke:#777777,color:#333333",
    "classDef found stroke:#c62828,stroke-width:3px",
)


def write(drawing: Drawing, stream: TextIO) -> None:
    """Write one flowchart with a tree for each class."""
    stream.writelines(f"{line}\n" for line in _lines(drawing))


def _lines(drawing: Drawing) -> Iterator[str]:
    yield "flowchart LR"
    numbers = count()
    for cls in drawing.drawn():
        yield from _class(cls, f"n{next(numbers)}", drawing, (cls.key,), numbers)
    yield from (f"  {style}" for style in _STYLES)


def _class(
    cls: DrawnClass, node: str, drawing: Drawing, path: tuple[str, ...], numbers: Iterator[int]
) -> Iterator[str]:
    """The node of a class and all below it."""
    title = f"{_quoted(cls.name)}<br/>{_quoted(cls.framework)}<br/>{_quoted(cls.facts()[0])}"
    yield f'  {node}["{title}"]{":::found" if cls.findings else ""}'
    for field in cls.fields:
        below = f"n{next(numbers)}"
        yield f"  {node} --- {below}{_field(field)}"
        if field.findings:
            yield f"  class {below} found"
        held = drawing.held(field, path)
        if held is not None:
            inner = f"n{next(numbers)}"
            yield f"  {below} --- {inner}"
            yield from _class(held, inner, drawing, (*path, held.key), numbers)


def _field(field: DrawnField) -> str:
    opening, closing = _SHAPES[field.role]
    codes = "".join(f"<br/>! {code}" for code in dict.fromkeys(f.code for f in field.findings))
    return f'{opening}"{field.kind} {_quoted(field.written)}{codes}"{closing}:::{field.role}'


def _quoted(text: str) -> str:
    """Text for a label between quotes: what would end it or mean markup there is written by its number."""
    return "".join(c if c.isalnum() or c in " .,:=_-" else f"#{ord(c)};" for c in text)
