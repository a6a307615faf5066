"""`python -m tools.versions`: see `--help`."""

from __future__ import annotations

from pathlib import Path

import click

from jaxlint.pytrees.frameworks import FACTS
from tests.oracle import environments, versions
from tests.oracle.frameworks import MAIN
from tools.versions import facts, runs
from tools.versions import watch as watching
from tools.versions.findings import compare
from tools.versions.locks import resolve


@click.group()
def main() -> None:
    """What the frameworks do in other versions than those that the tests run with."""


@main.command()
@click.option("--lock", "given", type=Path, help="Look at what this file pins, not at what the registry has today.")
@click.option("--run/--no-run", "is_running", default=True, help="Whether to run the fixtures and the model there.")
@click.option("--record", "is_recording", is_flag=True, help="Keep the public names for the next time.")
def watch(given: Path | None, is_running: bool, is_recording: bool) -> None:
    """Say what the newest of everything does otherwise than what is recorded.

    Makes the environment of the column `newest` anew, and prints the versions, the public names and the declared
    facts that differ from its lock; then it runs all that compares jaxlint with the real libraries. Exits with 1 if
    a program shows what no fact declares.
    """
    if given is None:
        given = environments.ENVIRONMENTS / "today.txt"
        given.parent.mkdir(exist_ok=True)
        given.write_text(resolve("newest"))
    before, now = versions.locked("newest"), versions.pinned(given.read_text(), versions.COLUMNS["newest"])
    python = environments.build("newest", given, stored=True)
    if isinstance(python, environments.Unavailable):
        raise click.ClickException(str(python))
    names = watching.names_in(python)
    for title, lines in (
        ("versions", watching.changed_versions(before, now)),
        ("public names", watching.changed_names(watching.recorded(), names)),
        ("declared facts", watching.changed_facts(before, now)),
        ("programs of facts", undeclared := list(watching.undeclared_facts(python, now))),
    ):
        click.echo(f"{title} that differ:")
        click.echo("\n".join(f"  {line}" for line in lines) or "  none")
    if is_recording:
        watching.record(names)
    raise SystemExit((is_running and watching.run_tests(python)) or bool(undeclared))


@main.command()
@click.argument("names", nargs=-1, type=click.Choice([*versions.MATRIX, MAIN]))
@click.option("--facts", "are_facts_alone", is_flag=True, help="Run the programs of the facts alone.")
def run(names: tuple[str, ...], are_facts_alone: bool) -> None:
    """Run all that compares jaxlint with the real libraries in the columns NAMES (default: all), and record it.

    `main` is the environment of this Python. Exits with 1 if something shows what no fact declares.
    """
    failed = 0
    for name in names or [*versions.MATRIX, MAIN]:
        if are_facts_alone:
            wrong = runs.record_facts(name)
            click.echo("\n".join([f"{name}: {len(FACTS) - len(wrong)} of {len(FACTS)} facts as declared", *wrong]))
            failed += len(wrong)
            continue
        seen = runs.record(name)
        click.echo(f"{name}: {seen.passed} of {seen.programs} programs passed, {seen.model} tests of the model")
        for reason, number in seen.skipped.items():
            click.echo(f"  {number} for other versions: {reason}")
        for one in seen.failed:
            click.echo(f"  failed: {one}")
        failed += len(seen.failed)
    facts.PAGE.write_text(facts.page())
    raise SystemExit(bool(failed))


@main.command()
@click.argument("names", nargs=-1, type=click.Choice([*versions.MATRIX, MAIN]))
def findings(names: tuple[str, ...]) -> None:
    """Say what jaxlint finds in all fixtures otherwise than with the newest, where the columns NAMES are activated.

    Each column's environment says which versions are meant (default: all columns). What a declared fact changes is
    shown with its name. Exits with 1 if anything else differs.
    """
    other = 0
    for name in names or [*versions.MATRIX, MAIN]:
        seen = compare(name)
        click.echo(f"{name}: {seen.findings} findings in {seen.programs} programs")
        for fact, lines in seen.by_fact.items():
            click.echo("\n".join([f"  changed by {fact} ({FACTS[fact].when}):", *(f"    {line}" for line in lines)]))
        for title, lines in (
            ("not what fixtures state", seen.wrong),
            ("changed by the environment", seen.by_environment),
            ("changed by no declared fact", seen.unexplained),
        ):
            click.echo("\n".join([f"  {title}: {len(lines) or 'none'}", *(f"    {line}" for line in lines)]))
            other += len(lines)
    raise SystemExit(bool(other))


@main.command()
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 if the page is out of date.")
def table(check: bool) -> None:
    """Bring docs/versions.md up to date: which facts hold for which versions."""
    text = facts.page()
    if check and facts.PAGE.read_text() != text:
        raise click.ClickException(f"{facts.PAGE}: is out of date; run python -m tools.versions table")
    facts.PAGE.write_text(text)


@main.command()
@click.argument("names", nargs=-1, type=click.Choice(list(versions.COLUMNS)))
def lock(names: tuple[str, ...]) -> None:
    """Lock the environments NAMES anew (default: all) with what the registry has today."""
    for name in names or versions.COLUMNS:
        versions.lock(name).write_text(resolve(name))
        click.echo(f"locked {name}", err=True)


if __name__ == "__main__":
    main()
