"""What can be done about findings: fix them, suppress them, read about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from lsprotocol import types
from msgspec import structs

from jaxlint.cst.edits import made_together, trimmed
from jaxlint.finding import Applicability, Edit, Finding
from jaxlint.rules import rules_by_selector
from jaxlint.suppression.add_noqa import Refused, is_suppressible, with_comments, with_ignore
from jaxlint.syntax.source import Source
from jaxlint_lsp.diagnostics import diagnostic
from jaxlint_lsp.documents import Document
from jaxlint_lsp.positions import Positions

FIX_ALL = "source.fixAll.jaxlint"
OPEN_RULE = "jaxlint.openRule"
#: What stands for the reason that only the user knows.
_REASON = "explain why"


class Actions:
    """The code actions for `findings` in a document.

    `statement_rows` gives the rows of the top-level statement around a row; `versioned` edits name the version that
    they are for.
    """

    def __init__(
        self,
        document: Document,
        findings: Sequence[Finding],
        positions: Positions,
        statement_rows: Callable[[int], tuple[int, int]],
        *,
        versioned: bool,
    ) -> None:
        self._versioned = versioned
        self._statement_rows = statement_rows
        self._document = document
        self._findings = findings
        self._positions = positions

    def at(self, where: types.Range, wanted: Sequence[types.CodeActionKind | str] | None) -> list[types.CodeAction]:
        """The actions for a range, of the kinds that are wanted."""
        here = [f for f in self._findings if _touch(self._positions.range(f), where)]
        found: list[types.CodeAction] = []
        if _is_wanted(types.CodeActionKind.QuickFix, wanted):
            for finding in here:
                found += self._fixes(finding)
            for finding in here:
                found += [*self._suppressions(finding), *self._page(finding)]
        if wanted is not None and _is_wanted(FIX_ALL, wanted):
            found += self._fix_all()
        return found

    def _fixes(self, finding: Finding) -> Iterator[types.CodeAction]:
        fix = finding.fix
        if fix is None or fix.applicability is Applicability.DISPLAY:
            return
        is_safe = fix.applicability is Applicability.SAFE
        title = fix.title if is_safe else f"{fix.title} (changes what the program does)"
        yield self._action(title, fix.edits, finding, is_preferred=is_safe or None)
        alike = [f for f in self._findings if f.code == finding.code and _level(f) is fix.applicability]
        together, edits = made_together(alike)
        if len(together) > 1:
            title = f"Fix all {finding.code} ({finding.name}) in this file"
            yield self._action(title if is_safe else f"{title} (changes what the program does)", edits, finding)

    def _suppressions(self, finding: Finding) -> Iterator[types.CodeAction]:
        if not is_suppressible(finding):
            return
        first, last = self._statement_rows(finding.row)
        start = self._positions.source.offset(first, 0)
        end = self._positions.source.offset(last + 1, 0)
        # a file of thousands of lines takes too long to be split into tokens while the cursor moves
        source = Source.from_text(finding.path, self._positions.source.text[start:end])
        here = structs.replace(finding, row=finding.row - first + 1, end_row=finding.end_row - first + 1)
        ways: tuple[tuple[str, Callable[[], str]], ...] = (
            (f"Suppress {finding.code} here (noqa)", lambda: with_comments(source, [here])[0]),
            (f"Suppress {finding.name} here, with a reason", lambda: with_ignore(source, here, _REASON)),
        )
        for title, write in ways:
            try:
                edit = trimmed(source.text, write(), start)
            except Refused:
                continue
            yield self._action(title, (edit,), finding)

    def _page(self, finding: Finding) -> Iterator[types.CodeAction]:
        if rule_url(finding.code) is None:
            return
        title = f"Read about {finding.name} ({finding.code})"
        yield types.CodeAction(
            title=title,
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[diagnostic(finding, self._positions)],
            command=types.Command(title, OPEN_RULE, arguments=[finding.code]),
        )

    def _fix_all(self) -> Iterator[types.CodeAction]:
        edits = safe_edits(self._findings)
        if edits:
            title = "Fix all that jaxlint can fix safely"
            yield types.CodeAction(title=title, kind=FIX_ALL, edit=self._workspace_edit(edits))

    def _action(
        self, title: str, edits: Sequence[Edit], finding: Finding, is_preferred: bool | None = None
    ) -> types.CodeAction:
        return types.CodeAction(
            title=title,
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[diagnostic(finding, self._positions)],
            is_preferred=is_preferred,
            edit=self._workspace_edit(edits),
        )

    def _workspace_edit(self, edits: Sequence[Edit]) -> types.WorkspaceEdit:
        changes = [self._positions.edit(edit.start, edit.end, edit.text) for edit in edits]
        if not self._versioned:
            return types.WorkspaceEdit(changes={self._document.uri: changes})
        document = types.OptionalVersionedTextDocumentIdentifier(self._document.uri, self._document.version)
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, changes)])


def safe_edits(findings: Sequence[Finding]) -> list[Edit]:
    """The edits of all safe fixes, in order; of two that overlap the second waits for the next time."""
    return made_together(f for f in findings if _level(f) is Applicability.SAFE)[1]


def _level(finding: Finding) -> Applicability | None:
    """Who may apply the fix of a finding."""
    return None if finding.fix is None else finding.fix.applicability


def rule_url(code: str) -> str | None:
    """Where the page of a rule is, if it has one."""
    rule = rules_by_selector().get(code)
    return None if rule is None else rule.url() or None


def _touch(one: types.Range, other: types.Range) -> bool:
    ends = ((r.start.line, r.start.character, r.end.line, r.end.character) for r in (one, other))
    first, second = ends
    return first[:2] <= second[2:] and second[:2] <= first[2:]


def _is_wanted(kind: str, wanted: Sequence[types.CodeActionKind | str] | None) -> bool:
    """Whether a kind is one of those that are wanted, or below one."""
    names = [getattr(one, "value", one) for one in wanted or ()]
    kind = getattr(kind, "value", kind)
    return wanted is None or any(not name or kind == name or kind.startswith(name + ".") for name in names)
