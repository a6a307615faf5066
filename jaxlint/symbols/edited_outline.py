"""The outline of a text that is being edited: only the units that an edit touches are parsed again.

It is put together from *parts*, one for each unit, and equals the outline that `build_outline` makes of the whole text.
A part depends on little of what stands before its unit (`jaxlint.symbols.collected.Context`). If an edit changes that,
or if a piece of the text has another meaning by itself than in its place, everything is read anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from jaxlint.libraries.transforms import LAST_NAMES
from jaxlint.suppression.comments import mentions_jaxlint
from jaxlint.symbols.collected import ROW_END, Context, parse_tree, referring, split_rows
from jaxlint.symbols.nodes import grouped
from jaxlint.symbols.outline import Binding, Outline, Scope, Unit
from jaxlint.symbols.outliner import OutlineBuilder
from jaxlint.symbols.shift import shifted
from jaxlint.syntax.expressions import Span

#: What is known of it depends on all that is done to it.
_EXPORTS = "__all__"

_QUOTES = ('"""', "'''")


class BrokenEdit(SyntaxError):
    """A text cannot be parsed any more; if that is because its grammar is newer, it is so in `piece`."""

    def __init__(self, error: SyntaxError, piece: str) -> None:
        super().__init__(*error.args)
        self.piece = piece


class _Part(msgspec.Struct, frozen=True):
    """What one unit adds to the outline."""

    #: The outline of the unit alone, which tells of all names in it as if they were functions.
    outline: Outline
    #: The unit as the outline of the module has it.
    unit: Unit
    #: The qualified names that it takes, and those of them that are functions of the module.
    keys: frozenset[str]
    functions: frozenset[str]
    #: What it adds to the context of the units behind it.
    transforms: frozenset[str]
    modules: frozenset[str]

    def shifted(self, rows: int) -> _Part:
        """The same some rows further down."""
        return replace(self, outline=shifted(self.outline, rows), unit=shifted(self.unit, rows))

    def referring(self, functions: frozenset[str]) -> _Part:
        """The same where these are the functions of the module."""
        return replace(self, unit=referring(self.outline.units[0], functions))


class EditedOutline:
    """The outline of a text, with what is needed to make that of the text after an edit."""

    def __init__(
        self, text: str, lines: list[str], parts: Sequence[_Part], functions: frozenset[str], context: Context
    ) -> None:
        self._lines = lines
        self._parts = tuple(parts)
        self._functions = functions
        self._all_names = context.all_names
        self.outline = _joined(self._parts, context.all_names, mentions_jaxlint(text))
        #: How many units were parsed to make it.
        self.parsed = len(parts)

    @classmethod
    def read(cls, text: str) -> EditedOutline:
        """Read all of a text. Raises SyntaxError, ValueError, RecursionError or MemoryError as `ast.parse` does."""
        lines = split_rows(text)
        parts, context = _read(parse_tree(text).body, lines, Context())
        functions = _functions(parts)
        return cls(text, lines, [part.referring(functions) for part in parts], functions, context)

    def after_edit(self, text: str) -> EditedOutline:
        """The outline of the text after an edit. Raises what `read` raises."""
        lines = split_rows(text)
        begins, ends = self._touched(lines)
        try:
            found = self._edited(text, lines, begins, ends)
        except SyntaxError:
            self._refuse(text, len(lines), begins, ends)
            found = None
        except (ValueError, RecursionError, MemoryError):
            found = None
        return EditedOutline.read(text) if found is None else found

    def _refuse(self, text: str, rows: int, begins: int, ends: int) -> None:
        """Raise what is wrong with a text of so many rows that an edit broke, unless all of it must be read to tell.

        The parser gets to the error by the unit before it, whatever comes before that.
        """
        first = self._parts[begins - 2].unit.last if begins > 1 else 0
        last = self._parts[ends].unit.first - 1 + rows - len(self._lines) if ends < len(self._parts) else rows
        starts = [0, *(end.end() for end in ROW_END.finditer(text)), len(text)]
        try:
            parse_tree("\n" * first + text[starts[first] :])
        except SyntaxError as error:
            piece = text[starts[first] : starts[last]]
            if any(piece.count(quotes) % 2 for quotes in _QUOTES):
                piece = text[starts[first] :]
            raise BrokenEdit(error, piece) from error

    def _edited(self, text: str, lines: list[str], begins: int, ends: int) -> EditedOutline | None:
        """The same from the units that the edit touches; None if the edit may change what other units mean.

        Raises what `ast.parse` raises if they cannot be parsed by themselves.
        """
        rows = len(lines) - len(self._lines)
        before, old, behind = self._parts[:begins], self._parts[begins:ends], self._parts[ends:]
        first = before[-1].unit.last if before else 0
        last = behind[0].unit.first - 1 if behind else len(self._lines)
        piece = lines[first : last + rows]
        if any(line.endswith("\\") for line in (*lines[first - 1 : first], *piece[-1:])):
            return None
        if any(_EXPORTS in line for line in (*piece, *self._lines[first:last])):
            return None
        tree = parse_tree("\n" * first + "\n".join([*piece, ""] if behind else piece))
        new, context = _read(tree.body, lines, _context(before, self._all_names))
        if _adds(old) != _adds(new) or _takes_names(old, new, behind):
            return None
        if rows:
            behind = tuple([part.shifted(rows) for part in behind])
        functions = self._functions
        if _functions(old) == _functions(new):
            parts = [*before, *[part.referring(functions) for part in new], *behind]
        else:
            functions = _functions([*before, *new, *behind])
            parts = [part.referring(functions) for part in (*before, *new, *behind)]
        found = EditedOutline(text, lines, parts, functions, context)
        found.parsed = len(new)
        return found

    def _touched(self, lines: list[str]) -> tuple[int, int]:
        """The range of the units that are others now that the text has these lines."""
        above, below = _alike(self._lines, lines)
        parts = self._parts
        begins = next((i for i, part in enumerate(parts) if part.unit.last > above), len(parts))
        ends = begins
        while ends < len(parts) and parts[ends].unit.first <= len(self._lines) - below:
            ends += 1
        first = parts[begins - 1].unit.last if begins else 0
        last = parts[ends].unit.first - 1 + len(lines) - len(self._lines) if ends < len(parts) else len(lines)
        code = [line for line in lines[first:last] if line.strip() and not line.lstrip().startswith("#")]
        if begins and code and code[0][0].isspace():
            begins -= 1  # what is indented belongs to the statement before it
        if ends < len(parts) and code and code[-1].startswith("@"):
            ends += 1
        return begins, ends


def _alike(some: Sequence[str], others: Sequence[str]) -> tuple[int, int]:
    """How many lines are the same at the start, and how many of those behind them at the end."""
    above = _alike_at_start(some, others)
    return above, _alike_at_start(some[above:][::-1], others[above:][::-1])


def _alike_at_start(some: Sequence[str], others: Sequence[str]) -> int:
    found = 0
    for one, other in zip(some, others, strict=False):
        if one != other:
            break
        found += 1
    return found


def _read(body: list[ast.stmt], lines: list[str], context: Context) -> tuple[list[_Part], Context]:
    """The parts of some statements, of which those before them say `context`, and what all of them say."""
    parts: list[_Part] = []
    taken = set(context.taken)
    for group in grouped(body, lines):
        builder = OutlineBuilder(lines, replace(context, taken=taken))
        said = builder.read_unit(*group)
        outline = builder.outline([said], has_suppressions=False)
        keys = frozenset([*outline.scopes, *outline.classes, *outline.functions]) - {""}
        functions = frozenset([q for q, function in outline.functions.items() if function.scope == ""])
        transforms = frozenset(builder.transforms - context.transforms)
        modules = frozenset(builder.modules - context.modules)
        parts.append(_Part(outline, said, keys, functions, transforms, modules))
        taken |= keys
        context = Context(builder.transforms, builder.modules, taken, outline.all_names)
    return parts, context


def _context(parts: Sequence[_Part], all_names: tuple[str, ...] | None) -> Context:
    """What some units at the start of a module say that matters to the next one."""
    return Context(
        LAST_NAMES.union(*[part.transforms for part in parts]),
        frozenset[str]().union(*[part.modules for part in parts]),
        frozenset[str]().union(*[part.keys for part in parts]),
        all_names,
    )


def _adds(parts: Iterable[_Part]) -> tuple[frozenset[str], frozenset[str]]:
    """What some units add to the context of those behind them, but for the names that they take."""
    transforms = frozenset[str]().union(*[part.transforms for part in parts])
    return transforms, frozenset[str]().union(*[part.modules for part in parts])


def _takes_names(old: Iterable[_Part], new: Iterable[_Part], behind: Iterable[_Part]) -> bool:
    """Whether an edit takes or frees a name that units behind it would take (and number, if it is taken)."""
    changed = frozenset[str]().union(*[p.keys for p in old]) ^ frozenset[str]().union(*[p.keys for p in new])
    if not changed:
        return False
    roots = {_root(key) for key in changed}
    return any(_root(key) in roots for part in behind for key in part.keys)


def _root(key: str) -> str:
    """The outermost name of a qualified name, without its number."""
    return key.partition(".")[0].partition("#")[0]


def _functions(parts: Iterable[_Part]) -> frozenset[str]:
    return frozenset[str]().union(*[part.functions for part in parts])


def _joined(parts: Sequence[_Part], all_names: tuple[str, ...] | None, has_suppressions: bool) -> Outline:
    """The outline of a module that is made up of these parts."""
    bindings: dict[str, list[Binding]] = {}
    is_global: set[str] = set()
    module = Scope("module", "", None, bindings, is_global)
    outline = Outline(
        scopes={"": module},
        classes={},
        functions={},
        units=tuple([part.unit for part in parts]),
        module_calls=tuple([call for part in parts for call in part.outline.module_calls]),
        guarded_calls=frozenset[Span]().union(*[part.outline.guarded_calls for part in parts]),
        star_imports=tuple([star for part in parts for star in part.outline.star_imports]),
        all_names=all_names,
        future_annotations=any(part.outline.future_annotations for part in parts),
        imported_modules=tuple(dict.fromkeys([name for part in parts for name in part.outline.imported_modules])),
        applying=tuple([applying for part in parts for applying in part.outline.applying]),
        has_suppressions=has_suppressions,
        attributes_set=frozenset[str]().union(*[part.outline.attributes_set for part in parts]),
    )
    for part in parts:
        for name, bound in part.outline.module_scope.bindings.items():
            bindings.setdefault(name, []).extend(bound)
        is_global |= part.outline.module_scope.is_global
        outline.scopes.update(part.outline.scopes)
        outline.classes.update(part.outline.classes)
        outline.functions.update(part.outline.functions)
    outline.scopes[""] = module
    return outline
