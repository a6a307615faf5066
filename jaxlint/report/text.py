"""The formats for people: `concise`, one line each, and `full`, with the source and what to do about it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TextIO

import msgspec

from jaxlint.finding import Applicability, Finding, Severity
from jaxlint.report.base import Report, message, notes, url
from jaxlint.syntax.paths import shown_path
from jaxlint.syntax.source import Source, Unreadable

#: Pieces of text with their styles, in the terms of rich.
Line = list[tuple[str, str]]

STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}
_FRAME = "bold blue"
_CONTEXT = 2
_UNSAFE = "`--fix --unsafe-fixes` fixes this, and may change what the program does"
#: A range of more rows is shown without its middle; a longer line without its far ends (in code points).
_MOST_ROWS = 9
_MOST_COLUMNS = 160
_TAB = 4

#: What would move the cursor, reorder the line or colour the terminal is shown as a symbol.
_SYMBOLS = {code: 0x2400 + code for code in range(0x20) if code != 0x09} | {0x7F: 0x2421}
_SYMBOLS |= dict.fromkeys(
    [*range(0x80, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)], 0xFFFD
)


def write_full(report: Report, stream: TextIO) -> None:
    """Write each finding with the source and what to do about it."""
    write_lines(full_lines(report), report, stream)


def write_concise(report: Report, stream: TextIO) -> None:
    """Write one line per finding: `path:row:column: CODE message`."""
    write_lines(concise_lines(report), report, stream)


def write_lines(lines: Iterable[Line], report: Report, stream: TextIO) -> None:
    """Write styled lines, and behind them how many findings the report holds if it is to have a summary."""
    if report.color:
        _write_colored(lines, stream)
    else:
        for line in lines:
            stream.write("".join(text for text, _ in line) + "\n")
    if report.summary:
        stream.writelines(f"{line}\n" for line in summary_lines(report))


def wants_color(stream: TextIO, environ: Mapping[str, str] = os.environ, choice: str = "auto") -> bool:
    """Whether to colour what goes to `stream`.

    The `choice` always or never decides; else NO_COLOR forbids, FORCE_COLOR demands, and then a terminal decides.
    """
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and environ.get("TERM") != "dumb"


def summary_lines(report: Report) -> Iterator[str]:
    """How many findings there are, and how many of them can be fixed."""
    if report.fixed:
        found = by_severity([*report.findings, *report.fixed])
        yield f"Found {found} ({len(report.fixed)} fixed, {len(report.findings)} remaining)."
    else:
        yield summary_line(report.findings)
    fixable = sum(map(report.is_fixable, report.findings))
    every = Report(report.findings, unsafe_fixes=True)
    more = sum(map(every.is_fixable, report.findings)) - fixable
    hidden = f"{more} unsafe fix{'es' * (more != 1)} available with `--fix --unsafe-fixes`"
    if fixable:
        yield f"[*] {fixable} fixable with `--fix`" + (f" ({hidden})." if more else ".")
    elif more:
        yield f"{hidden}."


def summary_line(findings: Iterable[Finding]) -> str:
    """How many findings there are of each severity, as a sentence."""
    found = by_severity(findings)
    return f"Found {found}." if found else "All checks passed!"


def by_severity(findings: Iterable[Finding]) -> str:
    """How many findings there are of each severity; nothing if there are none."""
    counts = Counter(finding.severity for finding in findings)
    words = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "hint"}
    parts = [f"{counts[level]} {word}{'s' * (counts[level] != 1)}" for level, word in words.items() if counts[level]]
    return ", ".join(parts)


def concise_lines(report: Report) -> Iterator[Line]:
    """One line per finding: `path:row:column: CODE message`."""
    for finding in report.findings:
        yield [(f"{_place(finding)}: ", "bold"), *headline(finding, report)]


def full_lines(report: Report) -> Iterator[Line]:
    """Per finding the message, the place, the source with the range underlined, the reason, the way out, the page."""
    read = lru_cache(maxsize=1)(report.read)
    for finding in report.findings:
        try:
            frame = _Frame.of(finding, read(finding.path))
        except Unreadable:
            frame = None
        margin = " " * len(str(frame.rows[-1] if frame else finding.row))
        yield headline(finding, report)
        yield [(f"{margin}--> ", _FRAME), (_place(finding), "")]
        if frame:
            yield from frame.lines(margin, STYLES[finding.severity])
        unsafe = finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
        for title, text in (*notes(finding), *([("note", _UNSAFE)] if unsafe else [])):
            yield [(f"{margin} = ", _FRAME), (f"{title}: ", "bold"), (clean(text), "")]
        yield []


def headline(finding: Finding, report: Report) -> Line:
    """`CODE message`, where the code leads to the page of the rule; `[*]` marks what `--fix` would fix."""
    style = STYLES[finding.severity]
    link = f"{style} link {url(finding)}" if url(finding) else style
    mark: Line = [(" [", ""), ("*", "cyan"), ("]", "")] if report.is_fixable(finding) else []
    return [(finding.code, link), *mark, (f" {clean(message(finding))}", "")]


def _place(finding: Finding) -> str:
    return f"{clean(shown_path(finding.path))}:{finding.row}:{finding.column}"


class _Frame(msgspec.Struct):
    """The rows around a finding, and its range: columns in code points from 0, the end exclusive.

    `rows` may have gaps. Of every line the code points from `left` on are shown.
    """

    source: Source
    rows: list[int]
    row: int
    column: int
    end_row: int
    end_column: int
    left: int

    @classmethod
    def of(cls, finding: Finding, source: Source) -> _Frame | None:
        """The frame of `finding`, or None if its row is not (or no longer) in `source`."""
        last = len(source.lines)
        row, end_row, end_column = finding.row, finding.end_row, finding.end_column - 1
        if not 1 <= row <= last:
            return None
        while end_row > row and (end_column <= 0 or end_row > last):
            end_row -= 1
            end_column = len(source.line(end_row))
        before = range(max(1, row - _CONTEXT), row)
        after = range(end_row + 1, min(last, end_row + _CONTEXT) + 1)
        body = list(range(row, end_row + 1))
        if len(body) > _MOST_ROWS:
            body = body[: _MOST_ROWS // 2] + body[-(_MOST_ROWS // 2) :]
        blank_before = next((i for i, r in enumerate(before) if source.line(r).strip()), len(before))
        blank_after = next((i for i, r in enumerate(reversed(after)) if source.line(r).strip()), len(after))
        rows = [*before[blank_before:], *body, *after[: len(after) - blank_after]]
        column = min(finding.column - 1, len(source.line(row)))
        is_far = row == end_row and end_column > _MOST_COLUMNS
        left = max(0, column - _MOST_COLUMNS // 4) if is_far else 0
        return cls(source, rows, row, column, end_row, end_column, left)

    def lines(self, margin: str, style: str) -> Iterator[Line]:
        """The lines of the frame behind a margin for the row numbers; the range is drawn in `style`."""
        bar: Line = [(f"{margin} |", _FRAME)]
        previous = self.rows[0] - 1
        yield bar
        for row in self.rows:
            if row != previous + 1:
                yield [("...".ljust(len(margin) + 3), _FRAME), ("|", style)]
            previous = row
            text = self._shown(row)
            mark = f" {self._mark(row)}"
            yield [(f"{row:>{len(margin)}} |", _FRAME), (mark if text else mark.rstrip(), style), (text, "")]
            underline = self._underline(row)
            if underline:
                yield [*bar, (f" {underline}", style)]
        yield bar

    def _starts_late(self) -> bool:
        """Whether there is something before the range in its first row."""
        return bool(self.source.line(self.row)[: self.column].strip())

    def _mark(self, row: int) -> str:
        """What stands to the left of the row: the side of a range of several rows, in two cells."""
        if self.row == self.end_row:
            return ""
        if row == self.row:
            return "  " if self._starts_late() else "/ "
        return "| " if self.row < row <= self.end_row else "  "

    def _underline(self, row: int) -> str:
        """What stands below the row: carets, or where a range of several rows starts or ends."""
        if self.row == self.end_row == row:
            start = self._cells(row, self.column)
            return " " * start + "^" * max(self._cells(row, self.end_column) - start, 1)
        if row == self.row and self._starts_late():
            return " " + "_" * (self._cells(row, self.column) + 1) + "^"
        if row == self.end_row:
            return "|" + "_" * (self._cells(row, max(self.end_column - 1, 0)) + 1) + "^"
        return ""

    def _shown(self, row: int) -> str:
        """The part of the line that is shown, with symbols for what a terminal would act on."""
        line = self.source.line(row)
        end = self.left + _MOST_COLUMNS
        return ("…" if self.left else "") + _expanded(line[self.left : end]) + ("…" if len(line) > end else "")

    def _cells(self, row: int, column: int) -> int:
        """How many terminal cells the shown part of the line takes up to `column`."""
        part = self.source.line(row)[self.left : min(column, self.left + _MOST_COLUMNS)]
        return bool(self.left) + _width(_expanded(part))


def _expanded(text: str) -> str:
    """`text` with spaces for tabs and symbols for control characters."""
    first, *others = (clean(piece) for piece in text.split("\t"))
    for piece in others:
        first += " " * (_TAB - _width(first) % _TAB) + piece
    return first


def clean(text: str) -> str:
    """`text` with symbols for what a terminal would act on."""
    return text if text.isascii() and text.isprintable() else text.translate(_SYMBOLS)


def _width(text: str) -> int:
    """How many terminal cells `text` takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _write_colored(lines: Iterable[Line], stream: TextIO) -> None:
    from rich.console import Console
    from rich.text import Text

    # whether there are colours at all was decided: rich is not to ask NO_COLOR and TERM again
    console = Console(
        file=stream,
        force_terminal=True,
        color_system="standard",
        no_color=False,
        soft_wrap=True,
        highlight=False,
        markup=False,
        emoji=False,
    )
    for line in lines:
        console.print(Text.assemble(*line))
