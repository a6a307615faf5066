"""What is said about the configuration: its JSON schema, and the keys in the documentation.

`python -m jaxlint.report.configuration docs/configuration.md [--check]` brings the page up to date. The schema names
all rules; it is made when it is asked for, by `jaxlint config --schema` and by the site.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from jaxlint.config.table import SELECTING, Key, Table, all_keys
from jaxlint.errors import UserError
from jaxlint.finding import Confidence
from jaxlint.report.rules_table import insert
from jaxlint.rules import all_rules

BEGIN = "<!-- keys:begin -->"
END = "<!-- keys:end -->"


def schema() -> dict[str, Any]:
    """The JSON schema of `[tool.jaxlint]` and jaxlint.toml."""
    generated = msgspec.json.schema(Table)
    definitions = generated["$defs"]
    table = definitions.pop("Table")
    properties = table["properties"]
    for key in SELECTING:
        properties[key]["items"] = {"$ref": "#/$defs/Selector"}
    properties["per-file-ignores"]["additionalProperties"]["items"] = {"$ref": "#/$defs/Selector"}
    properties["min-confidence"]["enum"] = [one.value for one in reversed(Confidence)]
    for name, one in properties.items():
        if all_keys()[name].default is not None:
            one["default"] = all_keys()[name].default
    definitions["Selector"] = _selector()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "jaxlint",
        "description": table["description"],
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "$defs": definitions,
    }


def keys() -> str:
    """All keys with what they mean, in Markdown, without a final newline."""
    return "\n\n".join(_section(key) for key in all_keys().values())


def _section(key: Key) -> str:
    default = "none" if key.default is None else f"`{json.dumps(key.default)}`"
    kind = key.must.partition(" like ")[0]
    example = key.example if key.example.startswith("[") else f"[tool.jaxlint]\n{key.example}"
    return f"### `{key.name}`\n\n{key.description}\n\nValue: {kind}. Default: {default}.\n\n```toml\n{example}\n```"


def _selector() -> dict[str, Any]:
    """What names rules: the codes, names and groups that there are, and prefixes of codes."""
    rules = all_rules()
    groups = sorted({rule.group for rule in rules})
    known = ["ALL", *groups, *(word for rule in rules for word in (rule.code, rule.name))]
    return {
        "description": "A code, a prefix of codes, the name or the group of rules, or `ALL`.",
        "anyOf": [{"enum": known}, {"type": "string", "pattern": "^(?:JAX|jax)[0-9]{0,3}$"}],
    }


@click.command()
@click.argument("page")
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 if the page is out of date.")
def main(page: str, check: bool) -> int:
    """Bring the keys in the file PAGE up to date."""
    with open(page, encoding="utf-8", newline="") as file:
        text = file.read()
    updated = insert(text, f"\n{keys()}\n", BEGIN, END)
    if updated == text:
        return 0
    if check:
        click.echo(f"{page}: is out of date; run python -m jaxlint.report.configuration {page}", err=True)
        return 1
    with open(page, "w", encoding="utf-8", newline="") as file:
        file.write(updated)
    return 0


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code: 1 if `--check` finds the page out of date, 2 for an error."""
    try:
        return int(main.main(args=arguments, prog_name="configuration", standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (UserError, OSError) as error:
        click.echo(f"configuration: error: {error}", err=True)
        return 2


if __name__ == "__main__":
    sys.exit(run())
