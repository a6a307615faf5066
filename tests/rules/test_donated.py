"""A call that fails since it is given the same arrays twice is reported once, by however many arguments it is told."""

from __future__ import annotations

from pathlib import Path

from jaxlint import check_source
from jaxlint.config.settings import Settings
from tests.oracle import cases


def test_a_call_of_which_both_arguments_are_donated_is_reported_once() -> None:
    program = next(one for one in cases.programs() if one.id == "donated-reuse/both_donated/flax-dataclass")
    text = program.files["main.py"]
    found = check_source(text, str(Path("main.py").absolute()), Settings(select=("JAX509",)))
    marked = [row for row, line in enumerate(text.splitlines(), start=1) if "# expect" in line]
    assert [finding.row for finding in found] == marked
