"""What is found in a module does not depend on which modules the same process has checked before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from jaxlint.config.settings import Settings
from jaxlint.finding import Confidence, Finding
from jaxlint.linter.checker import Checker
from jaxlint.linter.engine import make_project
from tests.oracle.cases import one_of_each, programs

pytestmark = pytest.mark.comparisons

SETTINGS = Settings(select=("ALL",), preview=True, min_confidence=Confidence.LOW)


def without_one_import(files: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    """The files of a program, and its variants that know less: one import of one file is left out."""
    yield files
    for path, text in files.items():
        lines = text.splitlines(keepends=True)
        for index, line in enumerate(lines):
            if line.startswith(("import ", "from ")):
                yield {**files, path: "".join([*lines[:index], "\n", *lines[index + 1 :]])}


def variants(is_thorough: bool) -> Iterator[Mapping[str, str]]:
    """One program of several files of each case, and its variants: each sixth of them, unless it is to be thorough."""
    for number, program in enumerate(one_of_each(program for program in programs() if len(program.files) > 1)):
        whole, *others = without_one_import(program.files)
        yield whole
        yield from others if is_thorough else others[number % 6 :: 6]


def found(paths: Sequence[str], checked: Sequence[str]) -> dict[str, list[Finding]]:
    """The findings of the modules that are checked, in this order, of a project."""
    project = make_project(paths, SETTINGS)
    checker = Checker(project, SETTINGS)
    checker.build_index([project.add_file(path) for path in paths])
    findings = {path: checker.check(project.add_file(path)) for path in checked}
    assert not checker.errors
    return findings


def test_the_order_of_modules_does_not_matter(tmp_path: Path, is_thorough: bool) -> None:
    counts: Counter[str] = Counter()
    for number, variant in enumerate(variants(is_thorough)):
        folder = tmp_path / str(number)
        for name, text in variant.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        paths = sorted(str(path) for path in folder.rglob("*.py"))
        forwards = found(paths, paths)
        assert found(paths, paths[::-1]) == forwards, variant
        assert {path: found(paths, [path])[path] for path in paths} == forwards, variant
        counts["variants"] += 1
        counts["findings"] += sum(map(len, forwards.values()))
    print(dict(counts))
    assert counts["variants"] > (650 if is_thorough else 180)
    assert counts["findings"] > (200 if is_thorough else 140)
