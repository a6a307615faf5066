"""What the Tab key completes where a rule is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem


def rules(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The codes and names of rules that begin like what was typed."""
    from click.shell_completion import CompletionItem

    from jaxlint.rules import all_rules

    words = {word: one for one in all_rules() for word in (one.code, one.name)}
    chosen = {word: one for word, one in words.items() if _begins(word, incomplete)}
    return [CompletionItem(word, help=one.in_short()) for word, one in chosen.items()]


def selectors(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What begins like the last word of a list and names rules: codes and names, groups, ALL."""
    from click.shell_completion import CompletionItem

    from jaxlint.rules import all_rules

    before, comma, typed = incomplete.rpartition(",")
    groups = sorted({rule.group for rule in all_rules()})
    items = [CompletionItem(word) for word in ("ALL", *groups) if _begins(word, typed)]
    items += rules(context, parameter, typed)
    for item in items:
        item.value = f"{before}{comma}{item.value}"
    return items


def _begins(word: str, typed: str) -> bool:
    return word.lower().startswith(typed.lower())
