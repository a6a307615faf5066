"""JAX003 unknown-suppression."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxlint.cst.changes import EditText, Proposal
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability, Edit, Severity
from jaxlint.rules.base import Problem, SuppressionRule
from jaxlint.suppression.comments import Comments, Malformed, Selector, Suppression
from jaxlint.suppression.removal import removal
from jaxlint.syntax.spelling import did_you_mean, nearest


class UnknownSuppression(SuppressionRule):
    """
    ## What it does

    Reports suppression comments that name no rule of jaxlint, or that jaxlint cannot read: `# noqa: JAX999`,
    `# jaxlint: ignore[frozen-asignment]`, `# jaxlint: ignore[]`, `# jaxlint: disable=JAX401`.

    ## Why is this bad?

    The comment suppresses nothing. What it was meant to hide is reported, or it stays behind as a wrong remark.

    ## What you will see

    Nothing at run time.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class State:
        count: jax.Array

    def advance(state: State) -> State:
        return state.replace(count=state.count + 1)  # jaxlint: ignore[frozen-asignment]
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class State:
        count: jax.Array

    def advance(state: State) -> State:
        return state.replace(count=state.count + 1)
    ```

    ## Frameworks

    All files, whatever they import. In `# noqa` only codes that begin with `JAX` are looked at: all others belong to
    other tools. Prefixes such as `JAX4` are known.

    ## Fix safety

    The name of the rule that is meant is written, which is unsafe, as findings may be hidden then. What is like no rule
    is removed, which is safe.

    ## When not to use it

    If the code is also checked with a newer jaxlint, which has rules that this one does not know.

    ## References

    - [Ruff: invalid-rule-code (RUF102)](https://docs.astral.sh/ruff/rules/invalid-rule-code/)
    """

    code = "JAX003"
    name = "unknown-suppression"
    group = "tool"
    severity = Severity.WARNING
    since = "0.1.0"

    def check_suppressions(self, comments: Comments) -> Iterator[Problem]:
        """Look at what each comment names."""
        from jaxlint.rules.plugins import known_rules

        rules = known_rules()
        known = [word for rule in rules for word in (rule.code, rule.name)]
        for usage in comments.usages():
            suppression = usage.suppression
            if suppression.selectors is not None and not suppression.selectors:
                yield _empty(suppression, comments)
            for selector in suppression.selectors or ():
                is_ours = not suppression.is_noqa or selector.is_code
                if is_ours and not any(selector.matches(rule) for rule in rules):
                    yield _unknown(suppression, selector, known, comments)
        for malformed in comments.malformed:
            yield _malformed(malformed, known)


def _unknown(suppression: Suppression, selector: Selector, known: list[str], comments: Comments) -> Problem:
    hint = did_you_mean(selector.text, known) or "; `jaxlint rule` lists those that there are"
    return Problem(
        at=(suppression.row, selector.column, suppression.row, selector.end_column),
        message=f"`{selector.text}` is no rule of jaxlint, so that naming it suppresses nothing{hint}",
        reason="a comment suppresses the rules that it names by code, by prefix of a code, or by name",
        help=f"write the code or the name of a rule instead of `{selector.text}`",
        fix=_fix(suppression, selector, known, comments),
    )


@proposing
def _fix(suppression: Suppression, selector: Selector, known: list[str], comments: Comments) -> Proposal | None:
    """The fix: the rule that is meant is named, or none."""
    meant = nearest(selector.text.lower(), [word.lower() for word in known], 0.7)
    source, row = comments.source, suppression.row
    if meant is None:
        edits = removal(source, suppression, (selector,))
        return Proposal("Remove it", Applicability.SAFE, (EditText(edits),)) if edits else None
    name = next(word for word in known if word.lower() == meant)
    edit = Edit(source.offset(row, selector.column - 1), source.offset(row, selector.end_column - 1), name)
    return Proposal(f"Name `{name}`", Applicability.UNSAFE, (EditText((edit,)),))


def _empty(suppression: Suppression, comments: Comments) -> Problem:
    edits = removal(comments.source, suppression, ())
    return Problem(
        at=(suppression.row, suppression.column, suppression.row, suppression.end_column),
        message=f"`# jaxlint: {suppression.kind.value}[]` names no rule and suppresses nothing; name one",
        reason="only a comment without brackets means all rules",
        help=f"write `# jaxlint: {suppression.kind.value}[frozen-assignment] -- why`, with the rule that is meant",
        fix=Proposal("Remove the comment", Applicability.SAFE, (EditText(edits),)) if edits else None,
    )


def _malformed(comment: Malformed, known: list[str]) -> Problem:
    if comment.misplaced:
        message = "`# jaxlint: ignore-file` suppresses nothing beside code; give it a line of its own"
        way_out = "move the comment to a line of its own, best at the top of the file"
    else:
        named = ", ".join(word for word in re.findall(r"[\w-]+", comment.text) if word in known)
        ways = f"`# jaxlint: ignore[{named}]`" if named else "`# jaxlint: ignore[...]` or `# jaxlint: ignore-file`"
        message = f"`{comment.text}` suppresses nothing; write {ways}"
        meant = "" if named else ", with the rule that is meant"
        way_out = f"write `# jaxlint: ignore[{named or 'frozen-assignment'}] -- why`{meant}, or delete the comment"
    return Problem(
        at=(comment.row, comment.column, comment.row, comment.end_column),
        message=message,
        reason="a suppression that is not understood is left alone, and hides nothing",
        help=way_out,
    )
