"""The plugin over the fixtures, which are also run: it reports nothing but what is wrong there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from jaxlint.rules import all_rules
from tests.mypy.run import CONFIG, mypy, reports
from tests.needs import needs
from tests.oracle.cases import Program, one_of_each, programs
from tests.oracle.frameworks import MAIN

needs("flax")

pytestmark = pytest.mark.comparisons

_CODE = re.compile(r"\[jaxlint-(?P<name>[\w-]+)\]$")
_CODES = {rule.name: rule.code for rule in all_rules()}
#: What is right only because a method returns something else than its base class has promised, or an attribute holds
#: something else than it is declared to hold, or a call that mypy refuses makes no array: mypy believes what is
#: declared, and says so where that is not true.
_PROMISED = {
    "good_given_numbers",
    "good_overridden_method",
    "good_annotated_in_init",
    "good_assigned_otherwise",
    "good_list_annotated_flax",
    "good_lists_refused",
    "good_made_by_numpy",
    "good_sizes_apart",
    "good_tensors",
}
#: Where fields that are declared to be arrays hold plain numbers, so that instances can be compared.
_COMPARING = {"array-equality", "unhashable-instance"}
_SCALARS = ("replace_unknown_field_good_looked_up_", "array_equality_good_single_numbers_")
#: Where lists that are leaves grow outside of transformations on purpose: of a frozen instance the types alone do not
#: tell that from a mistake.
_GROWING = (
    "mutable_default_nested",
    "mutable_default_good_nested",
    "lost_mutation_item_of",
    "lost_mutation_good_item_of",
    "shared_default_factory_of_constant",
    "shared_default_good_factory_of_constant",
)
#: Rules that are run here, by those that say more of the same line and are not.
_SAYS_LESS = {"JAX208": "JAX201"}


def chosen(every: int) -> dict[str, Program]:
    """The programs of one file by the names of their modules: one of each case, and every n-th of the correct ones."""
    single = [p for p in programs() if len(p.files) == 1 and p.environment == MAIN and p.case not in _PROMISED]
    correct = [p for p in single if not p.marks][::every]
    return {re.sub(r"\W", "_", p.id): p for p in (*one_of_each(reversed(single)), *correct)}


def test_only_what_is_marked(tmp_path: Path, libraries: Path, is_thorough: bool) -> None:
    """One program of each case, and every ninth of the correct ones: every third with `--thorough`."""
    written = chosen(3 if is_thorough else 9)
    shutil.copytree(libraries, tmp_path / ".mypy_cache")
    for name, program in written.items():
        (text,) = program.files.values()
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    (tmp_path / "mypy.ini").write_text(CONFIG, encoding="utf-8")
    found = reports(mypy(tmp_path, *(f"{name}.py" for name in written)))
    coded = [(Path(r.path).stem, r.row, m["name"]) for r in found if (m := _CODE.search(r.text))]
    coded = [one for one in coded if not (one[0].startswith(_SCALARS) and one[2] in _COMPARING)]
    ours = [(name, row, _CODES[code]) for name, row, code in coded if code in _CODES]
    typed = [one for one in coded if one[2] not in _CODES]
    marked = {(name, mark.row, code) for name, p in written.items() for mark in p.marks for code in mark.codes}
    marked |= {(name, row, _SAYS_LESS[code]) for name, row, code in marked if code in _SAYS_LESS}
    assert not [report for report in found if "jaxlint" in report.text and not _CODE.search(report.text)]
    assert set(ours) <= marked, set(ours) - marked
    rows = {(name, mark.row) for name, p in written.items() for mark in p.marks}
    typed = [one for one in typed if not (one[2] == "mutated-leaf" and one[0].startswith(_GROWING))]
    assert not [one for one in typed if one[:2] not in rows]
    print(len(written), "programs,", len(ours), "reports,", sum(not p.marks for p in written.values()), "correct")
    assert len(ours) > 300
    assert sum(not p.marks for p in written.values()) > (400 if is_thorough else 200)
