"""JAX002 unused-suppression."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec.structs import replace

from jaxlint.cst.changes import EditText, Proposal
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability, Confidence, Severity
from jaxlint.rules.base import Problem, Rule, SuppressionRule
from jaxlint.suppression.comments import Comments, Selector, Suppression, Usage
from jaxlint.suppression.removal import removal


class UnusedSuppression(SuppressionRule):
    """
    ## What it does

    Reports comments, and rules listed in comments, that suppress nothing: `# noqa: JAX401`,
    `# jaxlint: ignore[frozen-assignment]` and `# jaxlint: ignore-file[...]` where no such finding is.

    ## Why is this bad?

    The comment says that there is a known bug where there is none (any more), and it hides the next real one in its
    line.

    ## What you will see

    Nothing at run time. The bug that comes back one day is not reported.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class State:
        count: jax.Array

    def advance(state: State) -> State:
        return state.replace(count=state.count + 1)  # noqa: JAX402
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

    All files, whatever they import. Codes of other tools, as in `# noqa: E501`, and a bare `# noqa` are never
    reported, nor are suppressions of rules that do not run: one for JAX109 is reported only where JAX109 is
    on. A bare `# jaxlint: ignore` or a prefix such as `JAX4` is reported only if all of the rules it means that are on
    by default run.

    ## Fix safety

    The fix is safe: it removes the codes that suppress nothing, or the comment if it names no others. Text that
    follows the comment is left alone, and then there is no fix.

    ## When not to use it

    If parts of a project are checked in runs of their own: what is found in a file may depend on modules that such
    a run does not see. A comment is kept with `# noqa: JAX401, JAX002`.

    ## References

    - [Ruff: unused-noqa (RUF100)](https://docs.astral.sh/ruff/rules/unused-noqa/)
    """

    code = "JAX002"
    name = "unused-suppression"
    group = "tool"
    severity = Severity.WARNING
    confidence = Confidence.MEDIUM
    since = "0.1.0"

    def check_suppressions(self, comments: Comments) -> Iterator[Problem]:
        """Look at what each comment, and each of the rules that it names, is good for."""
        from jaxlint.rules.plugins import known_rules

        rules = [rule for rule in known_rules() if not issubclass(rule, SuppressionRule)]
        for usage in comments.usages():
            suppression = usage.suppression
            if suppression.selectors is None:
                if not suppression.is_noqa and not usage.is_used and _all_ran(rules, comments):
                    yield replace(_unused(suppression), fix=_fix(comments, suppression, ()))
                continue
            unused: dict[Selector, list[type[Rule]]] = {}
            for selector in suppression.selectors:
                meant = [rule for rule in rules if selector.matches(rule)]
                if selector not in usage.used and _all_ran(meant, comments):
                    unused[selector] = meant
            fix = _fix(comments, suppression, unused) if unused else None
            for selector, meant in unused.items():
                yield replace(_unused_selector(usage, selector, meant), fix=fix)


def _all_ran(meant: list[type[Rule]], comments: Comments) -> bool:
    """Whether it is known that there is no finding of the rules that are meant, as far as they are wanted at all."""
    wanted = meant if len(meant) == 1 else [rule for rule in meant if rule.enabled]
    return any(rule in comments.ran for rule in meant) and all(rule in comments.ran for rule in wanted)


@proposing
def _fix(comments: Comments, suppression: Suppression, unused: Collection[Selector]) -> Proposal | None:
    """The removal of all that is unused in a comment, the same for each part of it."""
    edits = removal(comments.source, suppression, unused)
    names = ", ".join(f"`{selector.text}`" for selector in unused)
    is_all = len(unused) == len(suppression.selectors or ())
    title = "Remove the comment, which suppresses nothing" if is_all else f"Remove {names} from the comment"
    return Proposal(title, Applicability.SAFE, (EditText(edits),)) if edits else None


def _unused(suppression: Suppression) -> Problem:
    return Problem(
        at=(suppression.row, suppression.column, suppression.row, suppression.end_column),
        message=(
            f"`# jaxlint: {suppression.kind.value}` suppresses nothing: {_place(suppression)} has no findings;"
            " remove it"
        ),
        reason=_reason(suppression),
        help="delete the comment",
    )


def _unused_selector(usage: Usage, selector: Selector, meant: list[type[Rule]]) -> Problem:
    suppression = usage.suppression
    shown = f"`{selector.text}`"
    if len(meant) == 1:
        shown += f" ({meant[0].code if selector.text == meant[0].name else meant[0].name})"
    is_alone = len(suppression.selectors or ()) == 1
    return Problem(
        at=(suppression.row, selector.column, suppression.row, selector.end_column),
        message=f"suppressing {shown} has no effect: {_place(suppression)} has no such finding; remove it",
        reason=_reason(suppression),
        help="delete the comment" if is_alone else f"delete `{selector.text}` from the comment",
    )


def _place(suppression: Suppression) -> str:
    if suppression.is_for_file:
        return "this file"
    return "this line" if suppression.first == suppression.last else "this statement"


def _reason(suppression: Suppression) -> str:
    place = "file" if suppression.is_for_file else "line"
    return f"a suppression that is not needed hides the next real finding in its {place}"
