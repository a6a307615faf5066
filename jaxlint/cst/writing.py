"""From what a rule proposes to the edits of a fix, and to the words that show it."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from jaxlint.cst.changes import (
    CallFactory,
    Change,
    EditText,
    PassAttribute,
    Proposal,
    TakeAlso,
    TakeResult,
    UpdateField,
)
from jaxlint.cst.edits import applied, edits_between, new_lines
from jaxlint.cst.imports import import_edit
from jaxlint.cst.parsed import ParsedRows
from jaxlint.cst.places import Rows
from jaxlint.finding import Edit, Fix
from jaxlint.symbols.outline import Outline
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.by_text import ByText
from jaxlint.syntax.expressions import Span

#: The edits of changes in some rows, by the text of the rows; None where a change does not fit.
StoredEdits: TypeAlias = ByText["tuple[Edit, ...] | None"]

#: How many letters are rewritten for the fixes of one function, for some print the whole of it: some six seconds in
#: all. Of such fixes in a function of 2,000 rows the first 16 are made; `--fix` makes the others in later rounds.
_MOST_LETTERS = 1_000_000

#: Changes of names in a text, which may stand in a comment.
_IF_NAMED = (TakeResult, TakeAlso, CallFactory, PassAttribute)

#: How many lines a help shows.
_MOST_LINES = 3


class Writer:
    """Writes fixes for one file, of the trees that its findings are anchored on."""

    def __init__(self, parsed: ParsedRows, outline: Outline, stored: StoredEdits | None = None) -> None:
        self.parsed = parsed
        self.source = parsed.source
        self._outline = outline
        self._stored = stored
        #: How many letters were rewritten, by the function.
        self._rewritten: Counter[Rows] = Counter()

    def fix(self, proposal: Proposal) -> Fix | None:
        """The fix that a rule proposes; None if the code does not fit it."""
        edits: list[Edit] = []
        code: dict[Rows, list[Change]] = {}
        for change in proposal.changes:
            if isinstance(change, EditText):
                edits += change.edits
                continue
            rows = self._rows_of(change)
            if rows is None and isinstance(change, _IF_NAMED):
                continue  # in a comment
            if rows is None:
                return None
            code.setdefault(rows, []).append(change)
        for rows, changes in code.items():
            if self._rewritten[rows] > _MOST_LETTERS:
                return None
            made = self._edits_of(rows, changes) if self._stored is None else self._edits_once(rows, changes)
            if made is None:
                return None
            edits += made
        if not edits and not proposal.imports:
            return None
        below, _ = self.source.place(min((edit.start for edit in edits), default=len(self.source.text)))
        edits += [import_edit(needed, self.source, self._outline, below) for needed in proposal.imports]
        return Fix(proposal.title, proposal.applicability, tuple(sorted(edits, key=lambda edit: edit.start)))

    def _rows_of(self, change: Change) -> Rows | None:
        """The rows that have to be parsed to make a change: all statements that it concerns; None outside of code."""
        assert not isinstance(change, EditText)
        places = (change.at, *change.also) if isinstance(change, UpdateField) else (change.at,)
        around = [self.parsed.rows_around(self.locate(at)) for at in places]
        known = [rows for rows in around if rows is not None]
        return (min(known)[0], max(last for _, last in known)) if len(known) == len(around) else None

    def _edits_once(self, rows: Rows, changes: Sequence[Change]) -> tuple[Edit, ...] | None:
        """The same, made once for a text, wherever that is."""
        assert self._stored is not None
        start = self.source.offset(rows[0], 0)
        key = self.parsed.text_of(rows), tuple([_raised(change, rows[0]) for change in changes])
        if key not in self._stored:
            made = self._edits_of(rows, changes)
            self._stored[key] = None if made is None else tuple([_moved(edit, -start) for edit in made])
        edits = self._stored[key]
        return None if edits is None else tuple([_moved(edit, start) for edit in edits])

    def _edits_of(self, rows: Rows, changes: Sequence[Change]) -> tuple[Edit, ...] | None:
        """The edits in some rows; None if a change does not fit."""
        # these know more kinds of changes
        import jaxlint.cst.blocks
        import jaxlint.cst.calling
        import jaxlint.cst.choosing
        import jaxlint.cst.converting
        import jaxlint.cst.declaring
        import jaxlint.cst.factories
        import jaxlint.cst.passing
        import jaxlint.cst.returning  # noqa: F401
        from jaxlint.cst.rewriting import CannotChange, new_texts, rewriters

        tree = self.parsed.tree(rows)
        if tree is None:
            return None
        try:
            made = [rewriters(change, tree, self.locate) for change in changes]
            together = {node: make for one in made for node, make in one.items()}
            if len(together) < sum(map(len, made)):
                return None  # two changes make something else of the same node: one of them would be lost
            texts = new_texts(tree, together)
        except CannotChange:
            return None
        except RecursionError:
            self.parsed.forget(rows)  # libcst prints and walks by recursion: what nests too deeply for it has no fix
            return None
        edits: list[Edit] = []
        for (start, end), text in texts.items():
            self._rewritten[rows] += len(text)
            edits += edits_between(self.source.text[start:end], text, start)
        return tuple(edits)

    def help_of(self, fix: Fix, proposal: Proposal) -> str:
        """The lines of code as they stand after the fix, and what has to be imported; nothing if no code is written."""
        imported = [str(needed) for needed in proposal.imports]
        lines = [_code(line) for line in new_lines(self.source.text, fix.edits)]
        lines = _whole([line for line in lines if line and line not in imported], self.source.text, fix.edits)
        if not lines or all(isinstance(change, EditText) for change in proposal.changes):
            return ""
        shown = " and ".join(f"`{line}`" for line in lines[:_MOST_LINES])
        more = ", …" if len(lines) > _MOST_LINES else ""
        needed = f"; it needs {' and '.join(f'`{one}`' for one in imported)}" if imported else ""
        return f"write {shown}{more}{needed}"

    def locate(self, at: object) -> Span:
        """The range of a place, with columns in code points."""
        return self.source.codepoints(place_of(at))


def _raised(change: Change, rows: int) -> tuple[object, ...]:
    """What a change says, with places as they are some rows further up."""
    return type(change), *[_raised_value(getattr(change, name), rows) for name in change.__struct_fields__]


def _raised_value(value: object, rows: int) -> object:
    if isinstance(value, (Span, ast.AST)):
        place = place_of(value)
        return Span(place.row - rows, place.column, place.end_row - rows, place.end_column)
    if isinstance(value, tuple):
        return tuple([_raised_value(one, rows) for one in value])
    return (value, rows) if type(value) is int else value  # it may be a row


def _moved(edit: Edit, by: int) -> Edit:
    return Edit(edit.start + by, edit.end + by, edit.text)


def _whole(lines: list[str], text: str, edits: Sequence[Edit]) -> list[str]:
    """Lines of which each can be written as it stands: those of one long statement are one, if none is left out."""
    if all(map(_is_closed, lines)):
        return lines
    rows = r"\s*[\r\n]\s*".join(map(re.escape, lines))
    together = " ".join(lines)
    return [together] if _is_closed(together) and re.search(rows, applied(text, edits)) else []


@lru_cache(maxsize=256)
def _is_closed(line: str) -> bool:
    """Whether a line opens as many brackets as it closes, and ends all its texts."""
    depth = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(line).readline):
            if token.type == tokenize.OP:
                depth += (token.string in "([{") - (token.string in ")]}")
            if depth < 0:
                return False
    except (tokenize.TokenError, SyntaxError):
        return False
    return depth == 0


@lru_cache(maxsize=256)
def _code(line: str) -> str:
    """A line without the comment behind it."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(line).readline):
            if token.type == tokenize.COMMENT:
                return line[: token.start[1]].rstrip()
    except (tokenize.TokenError, SyntaxError):
        pass  # a part of a longer statement
    return line
