"""`jaxlint tree` as an SVG picture: a box for each class, and in it those that its leaves hold.

Leaves have a disc, pytrees of their own a ring, static fields a square with a bar, so that no colour is needed to tell
them apart. The colours follow the light or dark mode of whoever looks at it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import TextIO
from xml.sax.saxutils import escape

from jaxlint.report.drawing import MEANING, Drawing, DrawnClass, DrawnField, DrawnFinding

_CHARACTER = 7.3
_ROW = 20
_PAD = 12
_MARK = 18
_MOST_COLUMNS = 92
_STYLE = """
svg { --ink: #1b1f24; --soft: #59636e; --page: #ffffff; --box: #f6f8fa; --line: #d1d9e0;
  --leaf: #1a7f4e; --static: #a15c00; --found: #c62828; }
@media (prefers-color-scheme: dark) { svg { --ink: #f0f6fc; --soft: #9198a1; --page: #0d1117; --box: #151b23;
  --line: #3d444d; --leaf: #4cc38a; --static: #f0a94a; --found: #ff8078; } }
text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: var(--ink); }
.soft { fill: var(--soft); }
.name { font-weight: bold; }
.found { fill: var(--found); }
.box { fill: var(--box); stroke: var(--line); }
.page { fill: var(--page); }
.leaf { fill: var(--leaf); }
.subtree { fill: none; stroke: var(--leaf); stroke-width: 2; }
.static { fill: none; stroke: var(--static); stroke-width: 2; }
.dropped, .unknown { fill: none; stroke: var(--soft); stroke-width: 2; }
"""


def write(drawing: Drawing, stream: TextIO) -> None:
    """Write all classes below each other, with a legend."""
    picture = _Picture(drawing)
    for cls in drawing.drawn():
        picture.box(cls, (cls.key,), _PAD)
        picture.y += _PAD
    kinds = {field.kind for cls in drawing.classes.values() for field in cls.fields}
    picture.legend([(kind, f"{kind}: {text}") for kind, text in MEANING.items() if kind in kinds])
    names = ", ".join(cls.name for cls in drawing.drawn())
    width, height = round(picture.width + _PAD), round(picture.y + _PAD)
    stream.write(
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}">\n<title>{escape(f"Pytree of {names}")}</title>\n'
        f'<style>{_STYLE}</style>\n<rect class="page" width="{width}" height="{height}"/>\n'
    )
    stream.writelines(f"{element}\n" for element in picture.elements())
    stream.write("</svg>\n")


class _Picture:
    """Elements from the top down; `y` is where the next begins."""

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing
        self._texts: list[str] = []
        #: Left, top and bottom of each box, the outer before the inner; they all end at the right side.
        self._boxes: list[tuple[float, float, float, int]] = []
        self.y: float = _PAD
        self.width: float = 0

    def elements(self) -> list[str]:
        """The boxes, and above them the rest."""
        boxes = [
            f'<rect class="box" x="{x:g}" y="{top:g}" width="{self.width - x - depth * _PAD / 2:g}"'
            f' height="{bottom - top:g}" rx="6"/>'
            for x, top, bottom, depth in self._boxes
        ]
        return boxes + self._texts

    def box(self, cls: DrawnClass, path: tuple[str, ...], x: float) -> None:
        """A class with its fields."""
        number, top = len(self._boxes), self.y
        self._boxes.append((x, top, top, len(path) - 1))
        self.y += _PAD / 2
        self._line(x + _PAD, [("name", cls.name), ("soft", f"  {cls.framework}")])
        for row in textwrap.wrap("; ".join(cls.facts()), _MOST_COLUMNS):
            self._line(x + _PAD, [("soft", row)])
        self._findings(cls.findings, x + _PAD)
        for field in cls.fields:
            self._field(field, path, x + _PAD)
        if cls.missing:
            self._line(x + _PAD, [("soft", cls.missing)])
        self.y += _PAD / 2
        self._boxes[number] = (x, top, self.y, len(path) - 1)

    def legend(self, marks: Iterable[tuple[str, str]]) -> None:
        """What the marks mean, in rows as wide as the picture."""
        x: float = _PAD
        for kind, text in marks:
            width = _MARK + (len(text) + 3) * _CHARACTER
            if x > _PAD and x + width > self.width + 3 * _CHARACTER:
                x, self.y = _PAD, self.y + _ROW
            self._mark(kind, x)
            self._text(x + _MARK, [("soft", text)])
            x += width
        self.y += _ROW

    def _field(self, field: DrawnField, path: tuple[str, ...], x: float) -> None:
        self._mark(field.kind, x)
        rest = f": {field.annotation}" if field.annotation else ""
        rest += f" = {field.default}" if field.default else ""
        inherited = f"  from {field.owner}" if field.owner else ""
        self._line(x + _MARK, [("name", field.name), ("", _short(rest)), ("soft", inherited)])
        self._findings(field.findings, x + _MARK)
        held = self._drawing.held(field, path)
        if held is not None:
            self.box(held, (*path, held.key), x + _MARK)
            self.y += _PAD / 2

    def _findings(self, findings: Iterable[DrawnFinding], x: float) -> None:
        for finding in findings:
            rows = textwrap.wrap(f"{finding.code}: {finding.message}", _MOST_COLUMNS)
            for number, row in enumerate(rows):
                self._line(x, [("found", f"{'  ' if number else '! '}{row}")])

    def _line(self, x: float, pieces: list[tuple[str, str]]) -> None:
        self._text(x, pieces)
        self.y += _ROW

    def _text(self, x: float, pieces: list[tuple[str, str]]) -> None:
        spans = "".join(f'<tspan class="{style}">{escape(text)}</tspan>' for style, text in pieces if text)
        self._texts.append(f'<text xml:space="preserve" x="{x:g}" y="{self.y + 14:g}">{spans}</text>')
        columns = sum(len(text) for _, text in pieces)
        self.width = max(self.width, x + columns * _CHARACTER + 2 * _PAD)

    def _mark(self, kind: str, x: float) -> None:
        y = self.y + 10
        shape = {
            "leaf": f'<circle class="leaf" cx="{x + 5:g}" cy="{y:g}" r="5"/>',
            "subtree": f'<circle class="subtree" cx="{x + 5:g}" cy="{y:g}" r="4"/>',
            "static": f'<path class="static" d="M{x:g} {y - 5:g}h10v10h-10zm0 5h10"/>',
        }.get(kind, f'<path class="{kind}" d="M{x:g} {y - 5:g}l10 10m-10 0l10 -10"/>')
        self._texts.append(shape)


def _short(text: str) -> str:
    return text if len(text) <= _MOST_COLUMNS else f"{text[: _MOST_COLUMNS - 1]}…"
