"""Edits of a text: the smallest that make another one of it, and which of them can be made at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from jaxlint.finding import Edit, Finding

#: A line with its end.
LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
#: How long the end of a line may be.
_LINE_END = 2


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text after some edits, no two of which overlap."""
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def moved(offset: int, edits: Iterable[Edit]) -> int:
    """Where a place of a text is after some edits; of one that is replaced, the start of what takes its place."""
    by = 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        if edit.end > offset:
            return min(offset, edit.start) + by
        by += len(edit.text) - (edit.end - edit.start)
    return offset + by


def moved_back(offset: int, edits: Iterable[Edit]) -> int:
    """Where a place was before some edits; of one that they made, the start of what was there."""
    by = 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        if edit.start + by + len(edit.text) > offset:
            return min(offset - by, edit.start)
        by += len(edit.text) - (edit.end - edit.start)
    return offset - by


def made_together(findings: Iterable[Finding]) -> tuple[list[Finding], list[Edit]]:
    """The findings whose fixes do not touch each other, and their edits; of two that do, the later one is left out.

    What is fixed by the same edits is fixed together.
    """
    chosen: list[Finding] = []
    edits: list[Edit] = []
    for finding in findings:
        own = [edit for edit in finding.fix.edits if edit not in edits] if finding.fix is not None else []
        if finding.fix is not None and not _overlap(own, edits):
            chosen.append(finding)
            edits += own
    return chosen, sorted(edits, key=lambda edit: edit.start)


def _overlap(some: Iterable[Edit], others: Iterable[Edit]) -> bool:
    """Whether edits overlap or touch; a line that one adds touches the line before it whose end another changes."""
    return any(
        a.start <= b.end + _LINE_END * _adds(a) and b.start <= a.end + _LINE_END * _adds(b)
        for a in some
        for b in others
    )


def _adds(edit: Edit) -> bool:
    return edit.start == edit.end


def edits_between(before: str, after: str, start: int = 0) -> tuple[Edit, ...]:
    """The edits that make `after` of `before`, which stands at the offset `start`: no line that stays is touched."""
    old, new = LINES.findall(before), LINES.findall(after)
    found: list[Edit] = []
    offsets = [start]
    for line in old:
        offsets.append(offsets[-1] + len(line))
    import difflib

    for kind, first, last, new_first, new_last in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if kind == "equal":
            continue
        if last - first == new_last - new_first:
            pairs = zip(range(first, last), new[new_first:new_last], strict=True)
            found += [trimmed(old[index], line, offsets[index]) for index, line in pairs]
        else:
            replaced, by = "".join(old[first:last]), "".join(new[new_first:new_last])
            found.append(trimmed(replaced, by, offsets[first]))
    return tuple(found)


def trimmed(before: str, after: str, start: int) -> Edit:
    """The edit that makes `after` of `before` without the words that are the same at both ends of them."""
    shortest, head, tail = min(len(before), len(after)), 0, 0
    while tail < shortest and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    while _in_word(before, len(before) - tail) or _in_word(after, len(after) - tail):
        tail -= 1
    while head < shortest - tail and before[head] == after[head]:
        head += 1
    while _in_word(before, head) or _in_word(after, head):
        head -= 1
    while head + tail == len(before) and tail and after[head].isspace() and before[head] == after[head]:
        head, tail = head + 1, tail - 1  # what is inserted begins with a word
    return Edit(start + head, start + len(before) - tail, after[head : len(after) - tail])


def _in_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1].isidentifier() and (text[at].isidentifier() or text[at].isdigit())


def new_lines(text: str, edits: Sequence[Edit]) -> Iterator[str]:
    """The lines of a text that edits change or add, as they are afterwards, without white space around them."""
    moved = 0
    after = applied(text, edits)
    shown = -1
    for edit in sorted(edits, key=lambda edit: edit.start):
        start = edit.start + moved
        end = start + len(edit.text)
        moved += len(edit.text) - (edit.end - edit.start)
        for match in LINES.finditer(after, max(after.rfind("\n", 0, start), after.rfind("\r", 0, start)) + 1):
            if match.start() > end or (match.start() == end and match.start() > start):
                break
            if match.start() > shown and match[0].strip():
                shown = match.start()
                yield match[0].strip()
