"""Files whose grammar is newer than the running Python.

What `ast` cannot read is written in older grammar of the same meaning: type parameters are dropped, `type X = …` is an
assignment, template strings and f-strings of the new kind are what is computed in them. Every name stays in its place.
Only if `ast` reads the result then, it counts.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable

from jaxlint.syntax.lexing import Field, Token, Unlexable, tokens_of

_HAS_EXCEPT_STAR = hasattr(ast, "TryStar")
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")
_ROW_END = re.compile(r"\r\n|\r|\n")


def rewrite(text: str) -> str | None:
    """`text` in the grammar of Python 3.10 with all names in their places, or None if it has no tokens."""
    try:
        tokens = tokens_of(text)
        edits = _Edits(text)
        _rewrite_strings(tokens, edits)
        _rewrite_tokens(_of_one_row(tokens, text), edits)
    except Unlexable:
        return None
    return edits.result()


def class_parameters(text: str) -> dict[int, tuple[str, ...]]:
    """The type parameters of the classes in a text that `rewrite` reads, by the rows of their names.

    There are none if one of them stands for several types.
    """
    found: dict[int, tuple[str, ...]] = {}
    tokens = _of_one_row(tokens_of(text), text)
    words = [text[t.start : t.end] if t.kind in ("op", "name") else t.kind for t in tokens]
    row, counted = 1, 0
    for index in range(2, len(words)):
        if words[index] == "[" and words[index - 2] == "class":
            row, counted = row + len(_ROW_END.findall(text, counted, tokens[index].start)), tokens[index].start
            found[row] = _parameters(words[index : _closing(words, index)])
    return found


def _parameters(words: list[str]) -> tuple[str, ...]:
    """The names behind the opening bracket and the commas."""
    names, depth = list[str](), 0
    for index, word in enumerate(words):
        depth += (word in _OPENING) - (word in _CLOSING)
        if depth == 1 and word in ("[", ",") and index + 1 < len(words):
            if words[index + 1] in ("*", "**"):
                return ()
            names.append(words[index + 1])
    return tuple(names)


class _Edits:
    """Replacements in a text, each as long in UTF-8 as what it replaces."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._edits: dict[int, tuple[int, str]] = {}

    def put(self, start: int, end: int, new: str) -> None:
        """Write something else, filled up with spaces."""
        width = len(self.text[start:end].encode("utf-8", "surrogatepass"))
        self._edits[start] = end, new.ljust(width)

    def insert(self, at: int, new: str) -> None:
        """Write something that is not there, which moves what follows in the row."""
        self._edits[at] = at, new

    def blank(self, start: int, end: int, *, in_brackets: bool = False) -> None:
        """Put spaces in place of what is written; the rows it takes stay one."""
        for match in _ROW_END.finditer(self.text, start, end):
            if match.start() > start:
                self.put(start, match.start(), "")
            if not in_brackets:
                self._edits[match.start()] = match.end(), "\\" + match[0]
            start = match.end()
        if end > start:
            self.put(start, end, "")

    def result(self) -> str:
        """The text with all replacements."""
        parts, position = [], 0
        for start, (end, new) in sorted(self._edits.items()):
            parts += [self.text[position:start], new]
            position = end
        parts.append(self.text[position:])
        return "".join(parts)


# -- strings ------------------------------------------------------------------------------------


def _rewrite_strings(tokens: Iterable[Token], edits: _Edits) -> None:
    """Write the strings that are new, and those that stand beside them, as what is computed in them."""
    group: list[Token] = []
    for token in tokens:
        if token.kind == "string":
            group.append(token)
            for field in token.fields:
                _rewrite_field(field, edits)
        elif token.kind not in ("comment", "newline"):
            _rewrite_group(group, edits)
            group = []
    _rewrite_group(group, edits)


def _rewrite_field(field: Field, edits: _Edits) -> None:
    _rewrite_strings(field.tokens, edits)
    _rewrite_tokens([t for t in field.tokens if t.kind not in ("comment", "newline")], edits)


def _rewrite_group(group: list[Token], edits: _Edits) -> None:
    """Write adjacent strings as `(~(x, y))`, which nobody takes for a value that is known, if one of them is new."""
    if not any(token.is_new for token in group):
        return
    fields = [field for token in group for field in token.fields]
    holding = [token for token in group if token.fields]
    if not fields:
        for token in group:
            edits.blank(token.start, token.end)
        edits.put(group[0].start, group[0].start + 2, '""')
        rest = group[0].start + 2
        edits.blank(rest, group[0].end)
        return
    first, last = holding[0], holding[-1]
    opening = "(~(" if first is group[0] else "~("
    for token in group:
        position = token.start
        if token is first:
            edits.put(position, position + len(opening), opening)
            position += len(opening)
        elif token is group[0]:
            edits.put(position, position + 1, "(")
            position += 1
        for field in token.fields:
            edits.blank(position, field.start, in_brackets=True)
            position = field.end
            if field is not fields[-1]:
                edits.put(position, position + 1, ",")
                position += 1
        end = token.end - 2 if token is last else token.end
        edits.blank(position, end, in_brackets=token.start <= last.start)
        if token is last:
            edits.put(end, token.end, "))")


# -- everything else ----------------------------------------------------------------------------


def _rewrite_tokens(tokens: list[Token], edits: _Edits) -> None:
    """Write type parameters, type aliases, `except` and stars in older grammar."""
    text = edits.text
    words = [text[t.start : t.end] if t.kind in ("op", "name") else t.kind for t in tokens]
    brackets: list[tuple[str, bool]] = []
    skipped = 0
    for index, word in enumerate(words):
        before = words[index - 1] if index else "newline"
        if index < skipped:
            continue
        if word == "[" and index > 1 and words[index - 2] in ("def", "class"):
            skipped = _closing(words, index) + 1
            edits.blank(tokens[index].start, tokens[skipped - 1].end)
        elif word in _OPENING:
            is_subscript = word == "[" and index > 0 and _is_value(tokens[index - 1], before, tokens[index].start)
            brackets.append((word, is_subscript))
        elif word in _CLOSING and brackets:
            brackets.pop()
        elif word == "*" and (before == ":" or (brackets and brackets[-1][1] and before in ("[", ","))):
            edits.put(tokens[index].start, tokens[index].end, "")
        elif not brackets and before in ("newline", ";"):
            if word == "type":
                skipped = _rewrite_alias(tokens, words, index, edits)
            elif word == "except":
                _rewrite_except(tokens, words, index, edits)


def _of_one_row(tokens: Iterable[Token], text: str) -> list[Token]:
    """The tokens without comments, and without the ends of rows that end no statement."""
    found, depth = list[Token](), 0
    for token in tokens:
        if token.kind == "op":
            written = text[token.start : token.end]
            depth += (written in _OPENING) - (written in _CLOSING)
        if token.kind != "comment" and not (depth and token.kind == "newline"):
            found.append(token)
    return found


def _is_value(token: Token, word: str, bracket: int) -> bool:
    """Whether a bracket behind a token is a subscript."""
    if word in ("case", "match"):
        return token.end == bracket
    return word in _CLOSING or token.kind == "string" or (token.kind == "name" and not keyword.iskeyword(word))


def _closing(words: list[str], opening: int) -> int:
    """The place of the bracket that closes another one. Raises `Unlexable`."""
    depth = 0
    for index in range(opening, len(words)):
        depth += (words[index] in _OPENING) - (words[index] in _CLOSING)
        if not depth:
            return index
    raise Unlexable


def _rewrite_alias(tokens: list[Token], words: list[str], index: int, edits: _Edits) -> int:
    """`type X[T] = …` is `_ = X = …`; below the top level, where an assignment may mean something else, it is gone.

    Returns the place up to which everything is rewritten.
    """
    equals = index + 2
    if equals >= len(words) or tokens[index + 1].kind != "name" or words[equals] not in ("=", "["):
        return index
    if words[equals] == "[":
        equals = _closing(words, equals) + 1
        if equals >= len(words) or words[equals] != "=":
            return index
    start = tokens[index].start
    if start and edits.text[start - 1] not in "\r\n":
        end = _end_of_statement(words, equals)
        edits.put(start, tokens[index].end, "pass")
        edits.blank(tokens[index].end, tokens[end - 1].end)
        return end
    edits.put(start, tokens[index].end, "_  =")
    if equals > index + 2:
        edits.blank(tokens[index + 2].start, tokens[equals - 1].end)
    return equals


def _end_of_statement(words: list[str], index: int) -> int:
    """The place of what ends a simple statement."""
    depth = 0
    while index < len(words):
        depth += (words[index] in _OPENING) - (words[index] in _CLOSING)
        if not depth and words[index] in ("newline", ";"):
            break
        index += 1
    return index


def _rewrite_except(tokens: list[Token], words: list[str], index: int, edits: _Edits) -> None:
    """`except*` is `except`, and the errors behind it stand in parentheses if there are several."""
    text, after = edits.text, tokens[index].end
    if index + 1 < len(words) and words[index + 1] == "*":
        star = tokens[index + 1]
        after = star.end
        if not _HAS_EXCEPT_STAR:
            edits.put(star.start, star.end, "")
            after = star.start
    depth, commas, colon = 0, 0, index
    while colon < len(words) and (depth or words[colon] != ":"):
        depth += (words[colon] in _OPENING) - (words[colon] in _CLOSING)
        commas += not depth and words[colon] == ","
        if words[colon] in ("newline", "as") and not depth:
            return
        colon += 1
    if not commas or colon == len(words):
        return
    if text[after] in " \t":
        edits.put(after, after + 1, "(")
    else:
        edits.insert(after, "(")
    end = tokens[colon].end
    edits.put(end - 1, end, ")")
    if text[end : end + 1] in (" ", "\t"):
        edits.put(end, end + 1, ":")
    else:
        edits.insert(end, ":")
