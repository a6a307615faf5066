"""How arguments stand in a call, or bases in a class, when some are added or taken out: each keeps its comments."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from jaxlint.cst.rewriting import CannotChange

_NOTHING = cst.SimpleWhitespace("")
_SPACE = cst.SimpleWhitespace(" ")


def arranged(
    old: Sequence[cst.Arg], new: Sequence[cst.Arg], start: cst.BaseParenthesizableWhitespace = _NOTHING
) -> list[cst.Arg]:
    """The arguments `new` with commas and white space between them, and behind the last, as the `old` ones had.

    Some of `new` are `old` ones, or made of them. `start` is the white space in front of the first.
    """
    last = old[-1] if old else cst.Arg(cst.Name("_"))
    between = separator(old, start)
    made = [
        one if isinstance(one.comma, cst.Comma) and one.comma is not last.comma else _followed(one, between)
        for one in new[:-1]
    ]
    return [*made, _ended(new[-1], last)] if new else []


def without(args: Sequence[cst.Arg], *gone: cst.Arg) -> list[cst.Arg]:
    """Arguments without some of them, and without the comments in their lines."""
    if any(one is not args[-1] and has_lines(behind(one)) for one in gone):
        raise CannotChange("a comment of another argument would be lost")
    return arranged(args, [one for one in args if one not in gone])


def separator(old: Sequence[cst.Arg], start: cst.BaseParenthesizableWhitespace) -> cst.BaseParenthesizableWhitespace:
    """The white space behind the commas between arguments, perhaps with a line end; comments are left out."""
    seen = behind(old[-2]) if len(old) > 1 else start if isinstance(start, cst.ParenthesizedWhitespace) else _SPACE
    return without_comments(seen)


def without_comments(white: cst.BaseParenthesizableWhitespace) -> cst.BaseParenthesizableWhitespace:
    """White space that begins the next line, if this does, and holds nothing else."""
    if not isinstance(white, cst.ParenthesizedWhitespace):
        return white
    return white.with_changes(first_line=cst.TrailingWhitespace(), empty_lines=())


def behind(one: cst.Arg) -> cst.BaseParenthesizableWhitespace:
    """What stands behind an argument and its comma."""
    return one.comma.whitespace_after if isinstance(one.comma, cst.Comma) else one.whitespace_after_arg


def _followed(one: cst.Arg, between: cst.BaseParenthesizableWhitespace) -> cst.Arg:
    """An argument behind which another one stands now."""
    own = behind(one)
    if isinstance(own, cst.ParenthesizedWhitespace) and own.first_line.comment is not None:
        line = between if isinstance(between, cst.ParenthesizedWhitespace) else own
        between = line.with_changes(first_line=own.first_line, empty_lines=())
    return one.with_changes(comma=cst.Comma(whitespace_after=between), whitespace_after_arg=_NOTHING)


def _ended(one: cst.Arg, last: cst.Arg) -> cst.Arg:
    """An argument that is the last one now, ended like the one that was."""
    own, end = behind(one), behind(last)
    if isinstance(end, cst.ParenthesizedWhitespace):
        end = end.with_changes(first_line=cst.TrailingWhitespace())
    if isinstance(own, cst.ParenthesizedWhitespace) and has_comments(own):
        lines = end.empty_lines if isinstance(end, cst.ParenthesizedWhitespace) and own is not behind(last) else ()
        end = end if isinstance(end, cst.ParenthesizedWhitespace) else own
        end = end.with_changes(first_line=own.first_line, empty_lines=[*own.empty_lines, *lines])
    if isinstance(last.comma, cst.Comma):
        return one.with_changes(comma=last.comma.with_changes(whitespace_after=end), whitespace_after_arg=_NOTHING)
    return one.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=end)


def has_comments(white: cst.BaseParenthesizableWhitespace) -> bool:
    """Whether there is a comment in white space."""
    if not isinstance(white, cst.ParenthesizedWhitespace):
        return False
    return white.first_line.comment is not None or has_lines(white)


def has_lines(white: cst.BaseParenthesizableWhitespace) -> bool:
    """Whether comments stand there on lines of their own: they are about what comes next."""
    lines = white.empty_lines if isinstance(white, cst.ParenthesizedWhitespace) else ()
    return any(line.comment is not None for line in lines)
