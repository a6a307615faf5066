"""The table of all rules in the README: `python -m jaxlint.report.rules_table README.md [--check]`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import click

from jaxlint.errors import UserError
from jaxlint.rules.base import Rule

BEGIN = "<!-- rules:begin -->"
END = "<!-- rules:end -->"


def render(rules: Iterable[type[Rule]]) -> str:
    """A Markdown table with one row per rule that is on by default, and the codes of the others below it.

    There is no final newline.
    """
    rows, off = ["| code | name | what it finds |", "|---|---|---|"], []
    for rule in rules:
        if rule.enabled:
            escaped = rule.in_short().replace("|", "\\|")
            rows.append(f"| {rule.code} | [{rule.name}]({rule.url()}) | {escaped} |")
        else:
            off.append(f"[{rule.code}]({rule.url()})")
    return "\n".join([*rows, *(["", f"Off unless selected: {', '.join(off)}."] if off else [])])


def insert(text: str, table: str, begin: str = BEGIN, end: str = END) -> str:
    """`text` with `table` between the markers. Raises `UserError` if they are missing."""
    before, found_begin, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise UserError(f"no place for the table: `{begin}` and then `{end}` must stand in the file")
    return f"{before}{begin}\n{table}\n{end}{after}"


@click.command()
@click.argument("path")
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 if the table is out of date.")
def main(path: str, check: bool) -> int:
    """Bring the table of rules in the file PATH up to date."""
    from jaxlint.rules import all_rules

    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    updated = insert(text, render(all_rules()))
    if updated == text:
        return 0
    if check:
        click.echo(
            f"{path}: the table of rules is out of date; run python -m jaxlint.report.rules_table {path}", err=True
        )
        return 1
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(updated)
    return 0


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code: 1 if `--check` finds the table out of date, 2 for an error."""
    try:
        return int(main.main(args=arguments, prog_name="rules_table", standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (UserError, OSError) as error:
        click.echo(f"rules_table: error: {error}", err=True)
        return 2


if __name__ == "__main__":
    sys.exit(run())
