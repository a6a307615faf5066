"""Files as text: bytes are decoded once, and columns in bytes become columns in code points."""

from __future__ import annotations

import codecs
import os
import re
import stat
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate

from jaxlint.syntax.regular import no_regular_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jaxlint.syntax.expressions import Span

#: What the Python tokenizer takes for the end of a line; form feeds and Unicode separators are not.
_LINE_END = re.compile(r"\r\n|\r|\n")
_TWO_LINES = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)?[^\r\n]*")
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_NO_CODE = re.compile(rb"^[ \t\f]*(?:#.*)?$")


class Unreadable(Exception):
    """A file that cannot be read, decoded or parsed; `row` and `column` count from 1, None where unknown."""

    def __init__(self, message: str, row: int | None = None, column: int | None = None) -> None:
        """Say what is wrong as a phrase without a final stop, and where."""
        super().__init__(message)
        self.message = message
        self.row = row
        self.column = column


class Source:
    """The text of one file, with what is needed to write the same bytes back.

    `path` is absolute. `text` has no byte order mark (`bom` tells whether there was one) and keeps its
    line ends. For every encoding that keeps all bytes apart, `raw` is the mark, if any, and `text` encoded.
    """

    def __init__(self, path: str, raw: bytes, text: str, encoding: str, bom: bool) -> None:
        """Take what the constructors `read`, `from_bytes` and `from_text` found."""
        self.path = path
        self.raw = raw
        self.text = text
        self.encoding = encoding
        self.bom = bom
        #: What was found out about the text, by what finds it out; whoever forgets the source empties it.
        self.shared: dict[object, Any] = {}

    @classmethod
    def read(cls, path: str) -> Source:
        """The source in the regular file `path`. Raises `Unreadable` if it cannot be read or decoded."""
        try:
            kind = os.stat(path).st_mode
            if not stat.S_ISREG(kind):
                raise Unreadable(_not_a_file(path, kind))
            with open(path, "rb") as file:
                raw = file.read()
        except OSError as error:
            raise Unreadable(f"cannot be read: {error.strerror or error}") from error
        except ValueError as error:
            raise Unreadable(f"cannot be read: {error}") from error
        except MemoryError as error:
            raise Unreadable("cannot be read: it is larger than the memory") from error
        return cls.from_bytes(path, raw)

    @classmethod
    def from_bytes(cls, path: str, raw: bytes) -> Source:
        """The source in `raw`, decoded as Python decodes a file. Raises `Unreadable` if that fails."""
        bom = raw.startswith(codecs.BOM_UTF8)
        body = raw[len(codecs.BOM_UTF8) :] if bom else raw
        encoding = _encoding(body, bom)
        try:
            text = body.decode(encoding)
        except UnicodeDecodeError as error:
            row, column = _place_behind(body[: error.start].decode(encoding, "replace"))
            bad = f"byte 0x{body[error.start]:02x} is not valid {encoding}"
            message = f"{bad}: save the file as UTF-8 or declare its encoding"
            raise Unreadable(message, row, column) from error
        except (UnicodeError, LookupError, ValueError) as error:
            raise Unreadable(f"cannot be decoded as {encoding}: {error}") from error
        _refuse_null_bytes(text)
        return cls(os.path.abspath(path), raw, text, encoding, bom)

    @classmethod
    def from_text(cls, path: str, text: str) -> Source:
        """The source of a text that is not on disk; it counts as UTF-8. Raises `Unreadable` for null bytes."""
        bom = text.startswith("\ufeff")
        text = text.removeprefix("\ufeff")
        _refuse_null_bytes(text)
        raw = (codecs.BOM_UTF8 if bom else b"") + text.encode("utf-8", "surrogatepass")
        return cls(os.path.abspath(path), raw, text, "utf-8", bom)

    def encoded(self, text: str) -> bytes:
        """The bytes of another text in the encoding of this file. Raises `Unreadable` if they would not be the same."""
        mark = codecs.BOM_UTF8 if self.bom else b""
        if mark + self.text.encode(self.encoding, "surrogatepass") != self.raw:
            raise Unreadable(f"its encoding {self.encoding} does not keep all bytes; write them by hand")
        try:
            return mark + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise Unreadable(f"some of it cannot be written in its encoding {self.encoding}") from error

    @cached_property
    def _ends(self) -> list[int]:
        """The offset behind each line end, and behind the last line if it has none."""
        text = self.text
        if "\r" in text:
            ends = [match.end() for match in _LINE_END.finditer(text)]
        else:
            ends = list(accumulate(len(line) + 1 for line in text.split("\n")[:-1]))
        if text and (not ends or ends[-1] < len(text)):
            ends.append(len(text))
        return ends

    @cached_property
    def line_offsets(self) -> list[int]:
        """The offset in `text` at which each line starts."""
        return [0, *self._ends[:-1]] if self._ends else []

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends, split as the Python tokenizer does (not at form feeds)."""
        lines = _LINE_END.split(self.text) if "\r" in self.text else self.text.split("\n")
        if not lines[-1]:
            del lines[-1]
        return lines

    def line(self, row: int) -> str:
        """The line `row`, counted from 1, without its end; empty behind the last line."""
        return self.lines[row - 1] if 0 < row <= len(self.lines) else ""

    def codepoint_column(self, row: int, utf8_column: int) -> int:
        """The column in code points of a column in UTF-8 bytes, as `ast` counts; columns from 0, `row` from 1."""
        if self.text.isascii():
            return utf8_column
        line = self.line(row)
        if line.isascii():
            return utf8_column
        return len(line.encode("utf-8", "surrogatepass")[:utf8_column].decode("utf-8", "ignore"))

    def codepoints(self, place: Span) -> Span:
        """A range of which the columns are in UTF-8 bytes, with columns in code points."""
        columns = self.codepoint_column
        return place._replace(
            column=columns(place.row, place.column), end_column=columns(place.end_row, place.end_column)
        )

    def utf8_column(self, row: int, column: int) -> int:
        """The column in UTF-8 bytes of a column in code points; columns from 0, `row` from 1."""
        return len(self.line(row)[:column].encode("utf-8", "surrogatepass"))

    def offset(self, row: int, column: int) -> int:
        """The offset in `text` of a place; `row` from 1, `column` in code points from 0."""
        offsets = self.line_offsets
        return offsets[row - 1] + column if row <= len(offsets) else len(self.text)

    def rows(self, first: int, last: int) -> str:
        """The text of some rows, counted from 1, the last one with its end."""
        return self.text[self.offset(first, 0) : self.offset(last + 1, 0)]

    def segment(self, row: int, column: int, end_row: int, end_column: int) -> str:
        """The text of a range as `ast` gives it: rows from 1, columns from 0 in UTF-8 bytes."""
        start = self.offset(row, self.codepoint_column(row, column))
        return self.text[start : self.offset(end_row, self.codepoint_column(end_row, end_column))]

    def place(self, offset: int) -> tuple[int, int]:
        """The row, from 1, and the column, in code points from 0, of an offset in `text`."""
        if offset >= len(self.text) and self.text.endswith(("\n", "\r")):
            return len(self.lines) + 1, 0
        row = max(bisect_right(self.line_offsets, offset), 1)
        return row, offset - self.offset(row, 0)


def _encoding(body: bytes, bom: bool) -> str:
    """The encoding that the first two lines declare (PEP 263), else UTF-8. Raises `Unreadable`."""
    head = _TWO_LINES.match(body)
    assert head is not None
    if b"coding" not in head[0]:
        return "utf-8"
    for row, line in enumerate(re.split(rb"\r\n|\r|\n", head[0]), start=1):
        cookie = _COOKIE.match(line)
        if cookie:
            declared = cookie[1].decode("latin-1")
            encoding = _known_encoding(declared, row, cookie.start(1) + 1)
            if bom and encoding != "utf-8":
                message = f"declares the encoding `{declared}` but has a UTF-8 byte order mark: remove one of them"
                raise Unreadable(message, row, cookie.start(1) + 1)
            return encoding
        if not _NO_CODE.match(line):
            break
    return "utf-8"


def _known_encoding(declared: str, row: int, column: int) -> str:
    """The name of the text codec that Python reads the cookie `declared` as. Raises `Unreadable` if there is none."""
    name = declared[:12].lower().replace("_", "-")
    if name == "utf-8" or name.startswith("utf-8-"):
        return "utf-8"
    if re.match(r"(?:latin-1|iso-8859-1|iso-latin-1)(?:-|$)", name):
        return "iso-8859-1"
    try:
        codec = codecs.lookup(declared)
        "".encode(codec.name)
    except (LookupError, ValueError) as error:
        raise Unreadable(f"declares `{declared}`, which is no text encoding that Python knows", row, column) from error
    return codec.name


def _refuse_null_bytes(text: str) -> None:
    """Raise `Unreadable` if `text` holds a null byte, which no Python parser accepts."""
    null = text.find("\0")
    if null >= 0:
        raise Unreadable("contains a null byte: this is not Python source", *_place_behind(text[:null]))


def _place_behind(text: str) -> tuple[int, int]:
    """The row and column, from 1, of what follows `text`."""
    lines = _LINE_END.split(text)
    return len(lines), len(lines[-1]) + 1


def _not_a_file(path: str, kind: int) -> str:
    """Why `path`, of the mode `kind`, is not read."""
    if stat.S_ISDIR(kind):
        try:
            os.scandir(path).close()
        except OSError as error:
            return f"the directory cannot be listed: {error.strerror or error}"
        return "is a directory, not a file"
    return no_regular_file(kind)
