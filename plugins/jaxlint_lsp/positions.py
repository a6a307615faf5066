"""Places in a text as the client counts them: in UTF-8, UTF-16 or UTF-32 units from 0."""

from __future__ import annotations

from lsprotocol import types

from jaxlint.finding import Finding
from jaxlint.syntax.expressions import Span
from jaxlint.syntax.source import Source

_CODECS = {
    types.PositionEncodingKind.Utf8: ("utf-8", 1),
    types.PositionEncodingKind.Utf16: ("utf-16-le", 2),
}


class Positions:
    """Converts places in the text of `source`, of which rows count from 1 and columns, in code points, from 0."""

    def __init__(self, source: Source, encoding: str) -> None:
        self.source = source
        self._codec = _CODECS.get(types.PositionEncodingKind(encoding))

    def position(self, row: int, column: int) -> types.Position:
        """A place as the client counts it."""
        line = self.source.line(row)
        if self._codec is None or line.isascii():
            return types.Position(row - 1, column)
        codec, size = self._codec
        return types.Position(row - 1, len(line[:column].encode(codec, "surrogatepass")) // size)

    def place(self, position: types.Position) -> tuple[int, int]:
        """The row and column of what the client means; a place behind the end of a line is the end of the line."""
        row = position.line + 1
        line = self.source.line(row)
        column = position.character
        if self._codec is not None and not line.isascii():
            codec, size = self._codec
            before = line.encode(codec, "surrogatepass")[: position.character * size]
            column = len(before.decode(codec, "ignore"))
        return row, min(column, len(line))

    def offset(self, position: types.Position) -> int:
        """The offset in the text of what the client means."""
        return self.source.offset(*self.place(position))

    def at_offset(self, offset: int) -> types.Position:
        """The place of an offset in the text."""
        return self.position(*self.source.place(offset))

    def range(self, finding: Finding) -> types.Range:
        """The range of a finding."""
        start = self.position(finding.row, finding.column - 1)
        return types.Range(start, self.position(finding.end_row, finding.end_column - 1))

    def of_span(self, span: Span) -> types.Range:
        """A range of the outline."""
        row, column, end_row, end_column = self.source.codepoints(span)
        return types.Range(self.position(row, column), self.position(end_row, end_column))

    def edit(self, start: int, end: int, text: str) -> types.TextEdit:
        """Replace what stands between two offsets."""
        return types.TextEdit(types.Range(self.at_offset(start), self.at_offset(end)), text)
