"""`jaxlint config`: which settings hold, and where they come from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from jaxlint.cli.options import configured
from jaxlint.cli.output import standard_output
from jaxlint.cli.path_types import PATH

if TYPE_CHECKING:
    from jaxlint.config.configuration import Configuration, Setting
    from jaxlint.config.versions import Known
    from jaxlint.rules.base import Rule


@click.command()
@click.argument("path", default=".", type=PATH)
@configured()
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--schema", is_flag=True, help="Print the JSON schema of the configuration instead.")
def config(path: str, configuration: Configuration, output_format: str, schema: bool) -> None:
    """Show the settings.

    Shows for PATH (default: the current directory) the value of each setting and where it comes from: a
    configuration file, the command line, or the default; and which rules run there.
    """
    import json

    from jaxlint.config.settings import rule_enabled
    from jaxlint.project.environment import in_use
    from jaxlint.project.files import PathError
    from jaxlint.rules.plugins import rules_with

    if schema:
        from jaxlint.report.configuration import schema as json_schema

        text = json.dumps(json_schema(), indent=2)
    else:
        if not os.path.lexists(path):
            raise PathError(f"{path}: No such file or directory")
        absolute = os.path.abspath(path)
        settings = configuration.settings(absolute)
        place = None if os.path.isdir(absolute) else absolute
        rules = [rule for rule in rules_with(settings.plugins) if rule_enabled(rule, settings, place)]
        explained = configuration.explain(absolute)
        write = _json if output_format == "json" else _text
        text = write(path, explained, rules, configuration.versions(absolute), in_use(settings.python))
    with standard_output() as stream:
        stream.write(text + "\n")


def _text(
    path: str,
    explained: Sequence[Setting],
    rules: Sequence[type[Rule]],
    versions: Mapping[str, Known],
    environment: str | None,
) -> str:
    """The settings in TOML; comments say where they come from."""
    lines = [f"# The settings for {path}", ""]
    tables: list[str] = []
    for setting in explained:
        origins = ", ".join(str(origin) for origin in setting.origins)
        if setting.value is None:
            lines.append(f"# {setting.key} is not set")
        elif isinstance(setting.value, dict) and setting.value:
            rows = [f"{_toml(name)} = {_toml(value)}" for name, value in setting.value.items()]
            tables += ["", f"[{setting.key}]  # {origins}", *rows]
        elif not isinstance(setting.value, dict):
            lines.append(f"{setting.key} = {_toml(setting.value)}  # {origins}")
    running = [f"#   {rule.code} {rule.name}" for rule in rules]
    from jaxlint.config.versions import shown_versions
    from jaxlint.project.environment import read_from

    read = read_from(environment)
    taken = [
        "",
        f"# {read[0].upper()}{read[1:]}",
        "",
        "# The versions that the code runs with:",
        *(f"#   {line}" for line in shown_versions(versions)),
    ]
    return "\n".join([*lines, *tables, *taken, "", f"# {len(rules)} rules run:", *running])


def _toml(value: object) -> str:
    """A value in TOML."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_toml(one)}' for key, one in value.items())} }}"
    import json

    return json.dumps(value)


def _json(
    path: str,
    explained: Sequence[Setting],
    rules: Sequence[type[Rule]],
    versions: Mapping[str, Known],
    environment: str | None,
) -> str:
    import msgspec

    settings: dict[str, Any] = {one.key: {"value": one.value, "origins": one.origins} for one in explained}
    taken = {name: {"versions": str(one.versions), "origin": one.origin} for name, one in sorted(versions.items())}
    content = {
        "path": os.path.abspath(path),
        "settings": settings,
        "environment": environment,
        "versions": taken,
        "rules": [rule.code for rule in rules],
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode("utf-8")
