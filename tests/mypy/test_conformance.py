"""The two front ends: what `jaxlint check` finds in the corpus and what the plugin finds there, side by side.

Both take the code to run with what is installed here: the plugin takes it from mypy's Python.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jaxlint_mypy.running import BODY_RULES as BODIES_READ
from jaxlint_mypy.running import left_out

from jaxlint import check_paths
from jaxlint.config.settings import Settings
from jaxlint.infer.evaluating.events import CallMethod, Cross, Transformed
from jaxlint.rules import all_rules
from jaxlint.rules.base import BodyRule, ClassRule, EventRule
from tests.mypy.corpus import PROGRAMS, write
from tests.mypy.run import Report, reports
from tests.needs import needs
from tests.oracle.versions import here, target_versions
from tools.ecosystem.faces import MYPY_SAYS

needs("flax")

pytestmark = pytest.mark.comparisons

_CODE = re.compile(r"^(?P<message>.*)  \[jaxlint-(?P<name>[\w-]+)\]$")
_CODES = {rule.name: rule.code for rule in all_rules()}

#: What only `jaxlint check` reports, because it takes the whole body of a function.
BODY_RULES = {rule.code for rule in all_rules() if issubclass(rule, BodyRule) and not issubclass(rule, EventRule)}
#: What only the plugin reports, because it takes a type that the text does not tell: cases, and why.
TYPES_TELL = {
    "default_library": "the return type of a function of an installed package",
    "decorated_function": "what a decorator leaves of a function, by its annotations",
    "overloaded": "which overload is called",
    "static_generic_alias": "the arguments of a generic alias",
    "chex_tuples": "what a generated method makes",
    "of_type_variable": "what bounds a type variable, where instances are compared",
}

Found = tuple[str, int, str]


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> dict[Found, str]:
    folder = tmp_path_factory.mktemp("checked")
    write(PROGRAMS.values(), folder)
    result = check_paths([str(folder)], Settings(target_versions=target_versions(here())))
    assert not result.errors
    return {(Path(f.path).stem, f.row, f.code): f.message for f in result.findings}


@pytest.fixture(scope="module")
def typed(reported: dict[str, list[Report]]) -> dict[Found, str]:
    found: dict[Found, str] = {}
    for name, ours in reported.items():
        for report in ours:
            match = _CODE.match(report.text)
            if match and match["name"] in _CODES:
                found[name, report.row, _CODES[match["name"]]] = match["message"]
    return found


def test_same_messages(checked: dict[Found, str], typed: dict[Found, str]) -> None:
    both = checked.keys() & typed.keys()
    assert len(both) > 400
    assert {key: typed[key] for key in both} == {key: checked[key] for key in both}


def test_what_only_the_text_tells(
    checked: dict[Found, str], typed: dict[Found, str], reported: dict[str, list[Report]]
) -> None:
    for name, row, code in checked.keys() - typed.keys():
        if "# type: ignore" in PROGRAMS[name].text.splitlines()[row - 1] or code in BODY_RULES:
            continue
        said = [report.text for report in reported[name] if report.row == row]
        assert any(MYPY_SAYS.get(code, "\n") in text for text in said), (name, row, code, said)


def test_what_only_types_tell(checked: dict[Found, str], typed: dict[Found, str]) -> None:
    only = {name.rpartition("__")[0] for name, _, _ in typed.keys() - checked.keys()}
    assert only == set(TYPES_TELL)


def test_every_program_is_compared(checked: dict[Found, str]) -> None:
    marked = {name for name, program in PROGRAMS.items() if program.marks}
    assert {name for name, _, _ in checked} <= set(PROGRAMS)
    assert len(marked) > 300


def test_reports_are_read() -> None:
    (report,) = reports("a.py:3: error: message  [jaxlint-x]\n")
    assert (report.path, report.row, report.kind, report.text) == ("a.py", 3, "error", "message  [jaxlint-x]")


def test_rules_that_are_left_out_never_run_here() -> None:
    """What a rule that is run needs is shown by mypy; those that are left out need something else, or are mypy's."""
    never = (CallMethod, Transformed, Cross)
    elsewhere = ("JAX108", "JAX314")  # they are about classes, and ask what other modules do with them
    for rule in all_rules():
        shown = (issubclass(rule, ClassRule) and rule.code not in elsewhere) or (
            issubclass(rule, EventRule) and any(event not in never for event in rule.events)
        )
        mypy_says = rule.code in ("JAX311", "JAX402", "JAX404", "JAX412")
        assert (rule.name in left_out()) == (mypy_says or not (shown or rule.name in BODIES_READ)), rule.code
