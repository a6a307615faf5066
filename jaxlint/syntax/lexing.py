"""Source as tokens, by the rules of Python 3.14, with the fields of f-strings and template strings.

`tokenize` knows the grammar of the Python that runs, which is what newer files do not follow.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<space>[ \t\f]+|\\(?:\r\n|\r|\n))
    |(?P<comment>\#[^\r\n]*)
    |(?P<newline>\r\n|\r|\n)
    |(?P<string>[rRbBuUfFtT]{0,2}(?:'''|\"\"\"|'|\"))
    |(?P<name>[^\W\d]\w*)
    |(?P<number>\.?\d(?:[eE][+-]\d|[\w.])*)
    |(?P<op>:=|[=!<>]=|\*\*|.)""",
    re.VERBOSE,
)
_QUOTES = ("'", '"', "'''", '"""')


def _parts(quote: str, special: str) -> re.Pattern[str]:
    """What matters between quotes: escapes, what is `special`, the closing quote, the end of the row if that is one."""
    ends = "" if len(quote) == 3 else r"|[\r\n]"
    return re.compile(rf"{special}|{quote}{ends}", re.DOTALL)


_PLAIN = {quote: _parts(quote, r"\\(?:\r\n|.)") for quote in _QUOTES}
_FORMATTED = {quote: _parts(quote, r"\\(?:\r\n|[^{}])|\{\{|\}\}|[{}]") for quote in _QUOTES}
_FORMATTED_NAMED = {quote: _parts(quote, r"\\N\{[^}\r\n]*\}|\\(?:\r\n|[^{}])|\{\{|\}\}|[{}]") for quote in _QUOTES}
_SPECIFICATION = {quote: _parts(quote, r"[{}]") for quote in _QUOTES}
_MAX_DEPTH = 60


class Unlexable(Exception):
    """A text that is no sequence of tokens: a string or a field does not end, or they nest too deeply."""


class Token(NamedTuple):
    """A token: "comment", "newline", "string", "name", "number" or "op", and where it stands.

    `fields` are the expressions in a string, in source order, with those in format specifications. `is_new` says
    whether versions of Python before 3.12 do not read the string.
    """

    kind: str
    start: int
    end: int
    fields: tuple[Field, ...] = ()
    is_new: bool = False


class Field(NamedTuple):
    """The expression of a replacement field, without what is said of how to show it, and its tokens."""

    start: int
    end: int
    tokens: list[Token]


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text. Raises `Unlexable`."""
    lexer, found, position = _Lexer(text), list[Token](), 0
    while position < len(text):
        token, position = lexer.next(position)
        if token is not None:
            found.append(token)
    return found


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.depth = 0

    def next(self, position: int) -> tuple[Token | None, int]:
        """The token at a position, None for white space, and where the next one starts."""
        match = _TOKEN.match(self.text, position)
        if match is None:
            raise Unlexable
        kind, end = match.lastgroup or "", match.end()
        if kind == "space":
            return None, end
        if kind != "string":
            return Token(kind, position, end), end
        token = self._string(match[0], position, end)
        return token, token.end

    def _string(self, opening: str, start: int, position: int) -> Token:
        prefix = opening.rstrip("'\"").lower()
        quote = opening[len(prefix) :]
        if "f" not in prefix and "t" not in prefix:
            return Token("string", start, self._end_of_plain(position, quote))
        fields: list[Field] = []
        end, is_new = self._formatted(position, quote, fields, is_raw="r" in prefix)
        return Token("string", start, end, tuple(sorted(fields)), is_new or "t" in prefix)

    def _end_of_plain(self, position: int, quote: str) -> int:
        for match in _PLAIN[quote].finditer(self.text, position):
            if match[0] == quote:
                return match.end()
            if match[0] in "\r\n":
                break
        raise Unlexable

    def _formatted(self, position: int, quote: str, fields: list[Field], *, is_raw: bool) -> tuple[int, bool]:
        """Where a string with fields ends, and whether it is new."""
        parts, is_new = (_FORMATTED if is_raw else _FORMATTED_NAMED)[quote], False
        while (match := parts.search(self.text, position)) is not None:
            position = match.end()
            if match[0] == "{":
                position, found = self._field(position, quote, fields, 0)
                is_new = is_new or found
            elif match[0] == quote:
                return position, is_new
            elif match[0] in ("}", "\r", "\n"):
                break
        raise Unlexable

    def _field(self, start: int, quote: str, fields: list[Field], nesting: int) -> tuple[int, bool]:
        """Where the field ends whose expression starts here, and whether the string is new for what it holds."""
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise Unlexable
        tokens, depth, position = list[Token](), 0, start
        while True:
            token, after = self.next(position)
            if token is not None:
                written = self.text[token.start : token.end] if token.kind == "op" else ""
                if not depth and written in _ENDS and (written != "=" or self._ends_field(after)):
                    break
                depth += (written in ("(", "[", "{")) - (written in (")", "]", "}"))
                tokens.append(token)
            position = after
            if position >= len(self.text):
                raise Unlexable
        fields.append(Field(start, position, tokens))
        end, is_new = self._shown(position, quote, fields, nesting)
        held = self.text[start:end]
        is_new = is_new or "\\" in held or "#" in held or quote in held or (len(quote) == 1 and "\n" in held)
        self.depth -= 1
        return end, is_new or nesting > 1

    def _ends_field(self, position: int) -> bool:
        return self.text[position : position + 40].lstrip()[:1] in ("}", "!", ":")

    def _shown(self, position: int, quote: str, fields: list[Field], nesting: int) -> tuple[int, bool]:
        """Where a field ends of which an expression ends here, and whether its format specification is new."""
        closing = _CLOSING.match(self.text, position)
        if closing is None:
            raise Unlexable
        position, is_new = closing.end(), False
        if closing["end"] == "}":
            return position, False
        while (match := _SPECIFICATION[quote].search(self.text, position)) is not None:
            position = match.end()
            if match[0] == "{":
                position, found = self._field(position, quote, fields, nesting + 1)
                is_new = is_new or found
            elif match[0] == "}":
                return position, is_new
            else:
                break
        raise Unlexable


#: What ends the expression of a field; `=` only if nothing but the way to show it follows.
_ENDS = frozenset({"}", "!", ":", ":=", "="})
_CLOSING = re.compile(r"\s*=?\s*(?:!\s*\w+\s*)?(?P<end>[:}])")
