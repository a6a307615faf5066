"""Files whose grammar is newer than the running Python.

libcst brings its own parser. What `ast` cannot read is rewritten into older grammar of the same
meaning (type parameters dropped, `type X = …` an assignment, template strings and
nested f-strings plain strings), line by line in the same place.
"""

from __future__ import annotations

import re

import libcst as cst

_BRACKETS = re.compile(r"[\[\](){}]")
#: Python's own limit for nested brackets; libcst's parser has none and overflows the stack.
_MAX_BRACKETS = 200


def rewrite(text: str) -> str | None:
    """`text` in Python 3.10 grammar, with all statements on their lines, or None if libcst cannot read it either."""
    module = None if _nests_too_deep(text) else _parse(text)
    if module is None:
        return None
    try:
        return module.visit(_Older()).code
    except (RecursionError, MemoryError, ValueError, TypeError):
        return None


def _nests_too_deep(text: str) -> bool:
    """Whether brackets nest deeper than Python allows (brackets inside strings are counted too)."""
    depth = 0
    for bracket in _BRACKETS.findall(text):
        depth += 1 if bracket in "([{" else -1
        if depth > _MAX_BRACKETS:
            return True
    return False


def _parse(text: str) -> cst.Module | None:
    try:
        return cst.parse_module(text)
    except (cst.ParserSyntaxError, RecursionError, MemoryError, ValueError, TypeError):
        return None
    except BaseException as error:  # the native parser reports its own failures as PanicException
        if type(error).__name__ == "PanicException":
            return None
        raise


class _Older(cst.CSTTransformer):
    """Drops the grammar of Python 3.11 and later."""

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        return updated_node.with_changes(type_parameters=None)

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        return updated_node.with_changes(type_parameters=None)

    def leave_Index(self, original_node: cst.Index, updated_node: cst.Index) -> cst.Index:
        return updated_node.with_changes(star=None, whitespace_after_star=None)

    def leave_Annotation(self, original_node: cst.Annotation, updated_node: cst.Annotation) -> cst.Annotation:
        annotation = updated_node.annotation
        if isinstance(annotation, cst.StarredElement):
            return updated_node.with_changes(annotation=annotation.value)
        return updated_node

    def leave_TypeAlias(self, original_node: cst.TypeAlias, updated_node: cst.TypeAlias) -> cst.Assign:
        return cst.Assign([cst.AssignTarget(updated_node.name)], updated_node.value)

    def leave_TryStar(self, original_node: cst.TryStar, updated_node: cst.TryStar) -> cst.Try:
        handlers = [
            cst.ExceptHandler(
                body=h.body,
                type=h.type,
                name=h.name,
                leading_lines=h.leading_lines,
                whitespace_after_except=cst.SimpleWhitespace(" "),
            )
            for h in updated_node.handlers
        ]
        return cst.Try(
            body=updated_node.body,
            handlers=handlers,
            orelse=updated_node.orelse,
            finalbody=updated_node.finalbody,
            leading_lines=updated_node.leading_lines,
        )

    def leave_ExceptHandler(
        self, original_node: cst.ExceptHandler, updated_node: cst.ExceptHandler
    ) -> cst.ExceptHandler:
        kind = updated_node.type
        if isinstance(kind, cst.Tuple) and not kind.lpar:
            kind = kind.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
            return updated_node.with_changes(type=kind)
        return updated_node

    def leave_FormattedString(
        self, original_node: cst.FormattedString, updated_node: cst.FormattedString
    ) -> cst.BaseExpression:
        return _same_lines(original_node)

    def leave_TemplatedString(
        self, original_node: cst.TemplatedString, updated_node: cst.TemplatedString
    ) -> cst.BaseExpression:
        return _same_lines(original_node)


def _same_lines(node: cst.BaseExpression) -> cst.BaseExpression:
    """A plain string that covers as many lines as `node`."""
    breaks = cst.Module([]).code_for_node(node).count("\n")
    return cst.SimpleString('""' if not breaks else '"""' + "\n" * breaks + '"""')
