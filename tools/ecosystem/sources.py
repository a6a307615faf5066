"""The pinned sources, and running jaxlint over them. What is downloaded is unpacked and read, never executed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.ecosystem.ledger import Found, Place

PINNED = Path(__file__).with_name("packages.tsv")
REPOSITORIES = Path(__file__).with_name("repositories.tsv")
#: What pip is asked for, one after the other: a wheel for this Python, for a newer one, for an older one, the sources.
_WAYS = (
    ("--only-binary=:all:",),
    ("--only-binary=:all:", "--python-version", "3.13"),
    ("--only-binary=:all:", "--python-version", "3.10"),
    ("--no-binary=:all:",),
)


class CheckFailed(Exception):
    """jaxlint ended with an internal error or a wrong option."""


def pinned() -> dict[str, str]:
    """The packages by the names of their folders, as pip wants them (`brax==0.14.0`)."""
    return dict(line.split("\t")[:2] for line in PINNED.read_text(encoding="utf-8").splitlines())


def download(name: str, requirement: str, folder: Path) -> bool:
    """Unpack a package into `folder / name`. False if it is not to be had."""
    target, hold = folder / name, folder / f".{name}"
    try:
        for way in _WAYS:
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(hold), *way, requirement]
            if subprocess.run(command, capture_output=True).returncode == 0:
                break
        for archive in hold.glob("*") if hold.exists() else ():
            _unpack(archive, target)
    finally:
        shutil.rmtree(hold, ignore_errors=True)
    return target.exists()


def _unpack(archive: Path, target: Path) -> None:
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(target)
    else:
        with tarfile.open(archive) as sources:
            sources.extractall(target, filter="data")


def check(jaxlint: Sequence[str], source: Path, options: Sequence[str] = ()) -> list[Found]:
    """What a jaxlint (its command) finds in a folder, with its own defaults. Raises `CheckFailed`."""
    command = [*jaxlint, "check", "--isolated", "--no-cache", "--output-format", "json", *options, "."]
    done = subprocess.run(command, capture_output=True, text=True, cwd=source)
    if done.returncode not in (0, 1):
        raise CheckFailed(f"{source.name}: exit {done.returncode}: {done.stderr.strip()[-500:]}")
    return list(_findings(json.loads(done.stdout), source))


def _findings(rows: list[dict[str, object]], source: Path) -> Iterator[Found]:
    for row in rows:
        location = row["location"]
        assert isinstance(location, dict)
        path = os.path.relpath(str(row["filename"]), source.resolve())
        place = Place(source.name, path, int(location["row"]), str(row["code"]))
        yield Found(place, str(row["confidence"]), str(row["message"]))


def save(found: Sequence[Found], path: Path) -> None:
    """Write findings to a file, one line of JSON each."""
    lines = [json.dumps([*one.place, one.confidence, one.message]) for one in found]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def load(path: Path) -> list[Found]:
    """The findings that `save` has written."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [Found(Place(*row[:4]), row[4], row[5]) for row in rows]
