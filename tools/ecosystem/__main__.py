"""`python -m tools.ecosystem`: which findings on real code came and went, and whether they are true."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import click

from tools.ecosystem import faces as front_ends
from tools.ecosystem import ledger, sources
from tools.ecosystem import planted as planting
from tools.ecosystem.batches import first_met
from tools.ecosystem.ledger import Found, Judgement


@click.group()
def main() -> None:
    """Run jaxlint over pinned packages and repositories, and compare with the ledger or another version."""


@main.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.argument("names", nargs=-1)
def packages(folder: Path, names: tuple[str, ...]) -> None:
    """Download the pinned packages (or those with these NAMES) into FOLDER.

    Repositories are unpacked by hand, at the commits of repositories.tsv, into folders named owner+name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, requirement in sources.pinned().items():
        if (not names or name in names) and not (folder / name).exists():
            click.echo(f"{name} {'ok' if sources.download(name, requirement, folder) else 'not to be had'}")


@main.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--jaxlint", default=f"{sys.executable} -m jaxlint", help="The command of the version to run.")
@click.option("--select", default="", help="The rules to run, instead of the default ones.")
def run(folder: Path, out: Path, jaxlint: str, select: str) -> None:
    """Check each folder of FOLDER, and write all findings to OUT."""
    found: list[Found] = []
    failed = False
    for source in sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")):
        try:
            found += sources.check(jaxlint.split(), source, ["--select", select] if select else [])
        except sources.CheckFailed as failure:
            click.echo(f"FAILED {failure}", err=True)
            failed = True
    sources.save(found, out)
    click.echo(f"{len(found)} findings")
    sys.exit(failed)


@main.command()
@click.argument("before", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("after", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def diff(before: Path, after: Path) -> None:
    """Show which findings of two runs came and went, by rule and confidence, with their verdicts."""
    old, new = ({one.place: one for one in sources.load(path)} for path in (before, after))
    verdicts = ledger.read_ledger()
    counts: Counter[tuple[str, str, str]] = Counter()
    for sign, these, others in (("-", old, new), ("+", new, old)):
        for place in sorted(these.keys() - others.keys()):
            one = these[place]
            counts[sign, place.code, one.confidence] += 1
            _show(sign, one, verdicts.get(place, ledger.UNJUDGED))
    for (sign, code, confidence), count in sorted(counts.items()):
        click.echo(f"{sign}{count} {code} {confidence}")


@main.command()
@click.argument("found", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def judge(found: Path) -> None:
    """Hold the findings of a run against the ledger; exit with 1 if one is FALSE, lost or unjudged."""
    judgement = Judgement(sources.load(found), ledger.read_ledger())
    for one, verdict in judgement.verdicts.items():
        if verdict in ("FALSE", ledger.UNJUDGED):
            _show("!", one, verdict)
    for place in judgement.lost:
        click.echo(f"LOST {place.source} {place.path}:{place.row} {place.code}")
    for by in ("code", "confidence"):
        for key, counts in sorted(judgement.tally(by).items()):
            numbers = ", ".join(f"{counts[v]} {v.lower()}" for v in ("TRUE", "FALSE", "DEBATABLE", ledger.UNJUDGED))
            precision, share = ledger.precision(counts), ledger.share(counts)
            missed_promise = "" if min(precision, share) >= ledger.PROMISED.get(key, 0) else ", less than promised"
            click.echo(f"{key}: {numbers}; precision {precision:.0%}, {share:.0%} of all{missed_promise}")
    sys.exit(not judgement.holds)


@main.command()
@click.option("--last", default=8, show_default=True, help="How many batches, the newest ones, are counted.")
def batches(last: int) -> None:
    """Count what was said of the newest batches as they were first met (the second table of the README here)."""
    counted = first_met()[-last:]
    for confidence in ("high", "medium"):
        counts = sum((one.counts[confidence] for one in counted), Counter[str]())
        numbers = ", ".join(f"{counts[v]} {v.lower()}" for v in ("TRUE", "FALSE", "DEBATABLE"))
        precision, share = ledger.precision(counts), ledger.share(counts)
        click.echo(
            f"{counted[0].name} to {counted[-1].name}, {confidence}: {numbers}; {precision:.0%}, {share:.0%} of all"
        )


@main.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("names", nargs=-1, required=True)
@click.option("--cache", type=click.Path(path_type=Path), required=True, help="Where mypy keeps what it knows.")
@click.option("--min-confidence", default="medium", show_default=True, type=click.Choice(["low", "medium", "high"]))
def faces(folder: Path, names: tuple[str, ...], cache: Path, min_confidence: str) -> None:
    """Compare `jaxlint check` and the mypy plugin by line, over the sources with these NAMES; exit 1 if they differ."""
    differ = False
    for name in names:
        options = ["--min-confidence", min_confidence]
        found = sources.check([sys.executable, "-m", "jaxlint"], folder / name, options)
        try:
            reported = front_ends.typed(folder / name, cache, min_confidence)
        except sources.CheckFailed as failure:
            click.echo(f"FAILED {failure}", err=True)
            differ = True
            continue
        compared = front_ends.compare(found, reported)
        left, lines = compared.left, len(reported)
        click.echo(f"{name}: both {compared.both}, left to check {left}, lines of which mypy says something: {lines}")
        for one in compared.only_check:
            _show("only check:", one, "")
        for path, row, code in compared.only_mypy:
            click.echo(f"only mypy: {name} {path}:{row} {code}")
        differ = differ or bool(compared.only_check or compared.only_mypy)
    sys.exit(differ)


@main.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("names", nargs=-1)
@click.option("--kind", "kinds", multiple=True, type=click.Choice(sorted(planting.KINDS)), help="The bugs to plant.")
@click.option("--limit", default=20, show_default=True, help="In how many functions of a source each is planted.")
@click.option("--missed", is_flag=True, help="Name the functions in which it was not found.")
def plant(folder: Path, names: tuple[str, ...], kinds: tuple[str, ...], limit: int, missed: bool) -> None:
    """Plant bugs in copies of the sources in FOLDER (or of those with these NAMES), and count how many are found."""
    totals: Counter[tuple[str, bool]] = Counter()
    every = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    for source in every if not names else [path for path in every if path.name in names]:
        for kind in kinds or planting.KINDS:
            planted = planting.plant([sys.executable, "-m", "jaxlint"], source, kind, limit)
            totals.update((kind, one.found) for one in planted)
            for one in planted:
                if missed and not one.found:
                    click.echo(f"{kind} {source.name} {one.place}")
    for kind in kinds or planting.KINDS:
        found, left = totals[kind, True], totals[kind, False]
        click.echo(f"{kind}: {found} of {found + left} found ({found / max(found + left, 1):.0%})")


def _show(sign: str, one: Found, verdict: str) -> None:
    place = one.place
    click.echo(
        f"{sign} {verdict} {place.source} {place.path}:{place.row} {place.code} [{one.confidence}] {one.message}"
    )


if __name__ == "__main__":
    main()
