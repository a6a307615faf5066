"""`jaxlint rule`: the list of rules, and the page of each."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

import click

from jaxlint.cli import completion
from jaxlint.cli.output import standard_output
from jaxlint.errors import UserError

if TYPE_CHECKING:
    from jaxlint.rules.base import Rule


@click.command()
@click.argument("rule", required=False, metavar="[CODE|NAME|PART]", shell_complete=completion.rules)
@click.option("--all", "all_", is_flag=True, help="Explain every rule.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def rule(rule: str | None, all_: bool, output_format: str) -> None:
    """List the rules, or explain one.

    A page says what the rule finds, why that is bad, what you see at run time and how to write it instead.
    A prefix of codes (JAX4), the name of a group or a part of names (frozen) lists the rules that it means.
    """
    from jaxlint.config.configuration import Configuration
    from jaxlint.rules.plugins import rules_with

    rules: Sequence[type[Rule]] = rules_with(Configuration().settings(os.getcwd()).plugins)
    if all_ and rule is not None:
        raise click.UsageError("Give the code or the name of one rule, or --all.")
    chosen = rules if rule is None else _chosen(rule, rules)
    is_page = all_ or (rule is not None and _is_named(rule, chosen[0]))
    with standard_output() as stream:
        if output_format == "json":
            _write_json(chosen, stream, is_single=is_page and not all_)
        elif is_page:
            _write_pages(chosen, stream)
        else:
            _write_list(chosen, stream)


def _is_named(wanted: str, one: type[Rule]) -> bool:
    return wanted.lower() in (one.code.lower(), one.name)


def _chosen(wanted: str, rules: Sequence[type[Rule]]) -> Sequence[type[Rule]]:
    """The rule with the code or name `wanted`, or those with this prefix, group or part of a name, in any case."""
    low = wanted.lower()
    ways: tuple[Callable[[type[Rule]], bool], ...] = (
        lambda one: _is_named(wanted, one),
        lambda one: one.code.lower().startswith(low) or one.group == low,
        lambda one: low in one.name,
    )
    for is_meant in ways if wanted else ():
        meant = [one for one in rules if is_meant(one)]
        if meant:
            return meant
    from jaxlint.syntax.spelling import did_you_mean

    known = [word for one in rules for word in (one.code, one.name)]
    hint = did_you_mean(wanted, known) or "; `jaxlint rule` lists all rules"
    raise UserError(f"unknown rule `{wanted}`{hint}")


def _write_json(rules: Sequence[type[Rule]], stream: TextIO, *, is_single: bool) -> None:
    import json

    objects = [_as_object(one) for one in rules]
    stream.write(json.dumps(objects[0] if is_single else objects, indent=2) + "\n")


def _write_pages(rules: Sequence[type[Rule]], stream: TextIO) -> None:
    from jaxlint.report.text import wants_color

    text = "\n\n".join(_page(one) for one in rules)
    if wants_color(stream):
        from rich.console import Console
        from rich.markdown import Markdown

        Console(file=stream, force_terminal=True).print(Markdown(text))
    else:
        stream.write(text + "\n")


def _write_list(rules: Sequence[type[Rule]], stream: TextIO) -> None:
    """One line per rule; those that are off by default are marked."""
    width = max(len(one.name) for one in rules)
    for one in rules:
        state = "" if one.enabled else "  (off by default)"
        stream.write(f"{one.code}  {one.name:<{width}}  {one.in_short()}{state}\n")


def _page(one: type[Rule]) -> str:
    """The page of a rule with its title, in Markdown."""
    state = "on by default" if one.enabled else "off by default"
    facts = [one.severity.value, f"{one.confidence.value} confidence", state, f"since {one.since}"]
    preview = ["preview"] if one.preview else []
    return f"# {one.name} ({one.code})\n\n{', '.join(facts + preview)}\n\n{one.page()}"


def _as_object(one: type[Rule]) -> dict[str, Any]:
    """All that is known about a rule, for JSON."""
    return {
        "code": one.code,
        "name": one.name,
        "group": one.group,
        "severity": one.severity.value,
        "confidence": one.confidence.value,
        "enabled": one.enabled,
        "preview": one.preview,
        "since": one.since,
        "summary": one.summary(),
        "explanation": one.page(),
        "url": one.url() or None,
    }
