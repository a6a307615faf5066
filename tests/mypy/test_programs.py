"""Programs written without a look at the plugin: mypy with it reports what goes wrong in them, and nothing else.

The files in `programs` hold one module after the other, each below a line `#### name`, or `#### package/name`. Their
functions are run (but for those of `blind`, `declared`, `idioms`, `kinds`, `points`, `surfaces`, `teams` and
`workflows`), with what `new_x()` makes for a parameter `x`: those called `ok…` and `silent…` go through (the latter are
wrong without a word), those called `bad…` raise.
`# BAD` marks the lines that are to be reported, `# MISSED` those that are wrong and are not.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.mypy.frameworks import HAS_SIMPLE_PYTREE
from tests.mypy.run import CONFIG, mypy, reports
from tests.needs import needs
from tests.oracle.environments import Runners
from tests.oracle.frameworks import MAIN

needs("flax", "equinox")

pytestmark = pytest.mark.comparisons

_PROGRAMS = Path(__file__).with_name("programs")
KINDS = sorted(path.stem for path in _PROGRAMS.glob("*.txt"))
#: Those whose modules can be imported: in the others classes are declared that Python refuses.
RUN = [
    kind
    for kind in KINDS
    if kind not in ("blind", "declared", "idioms", "kinds", "points", "surfaces", "teams", "workflows")
]
#: Runs the functions of the modules that it names, and says which of them do something else.
_RUN = """
import importlib, inspect, types, warnings
warnings.simplefilter("ignore")
for name in {names}:
    module = importlib.import_module(name)
    for key, function in list(vars(module).items()):
        if isinstance(function, types.FunctionType) and key.startswith(("ok", "silent", "bad")):
            try:
                function(*(getattr(module, f"new_{{one}}")() for one in inspect.signature(function).parameters))
                raised = None
            except Exception as error:
                raised = error
            if (raised is not None) != key.startswith("bad"):
                print("odd:", name, key, repr(raised))
            print("called:", name)
"""


def modules(kind: str) -> dict[str, str]:
    """The modules of a file, by name, but for those of a framework that is not here."""
    parts = re.split(r"^#### ([\w/]+)\n", (_PROGRAMS / f"{kind}.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = zip(parts[1::2], parts[2::2], strict=True)
    return {name: text for name, text in found if HAS_SIMPLE_PYTREE or "simple_pytree" not in text}


def write(folder: Path, kind: str) -> list[str]:
    """Write the modules of a file and say their names."""
    found = modules(kind)
    for name, text in found.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text, encoding="utf-8")
    return list(found)


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory, libraries: Path) -> set[tuple[str, int]]:
    """The modules and lines of which one run of mypy over all files says something."""
    folder = tmp_path_factory.mktemp("programs")
    names = {name for kind in KINDS for name in write(folder, kind)}
    shutil.copytree(libraries, folder / ".mypy_cache")
    (folder / "mypy.ini").write_text(CONFIG, encoding="utf-8")
    found = reports(mypy(folder, *(f"{name}.py" for name in sorted(names))))
    return {(r.path.removesuffix(".py"), r.row) for r in found if r.kind == "error" or "jaxlint" in r.text}


@pytest.mark.parametrize("kind", KINDS)
def test_reports(kind: str, reported: set[tuple[str, int]]) -> None:
    names = modules(kind)
    lines = [(name, row, line) for name, text in names.items() for row, line in enumerate(text.splitlines(), 1)]
    assert {one for one in reported if one[0] in names} == {one[:2] for one in lines if one[2].endswith("# BAD")}
    assert sum(line.endswith("# MISSED") for _, _, line in lines) <= 10


def test_names_are_taken_once() -> None:
    """All modules are in one folder: what has the name of another one is the same."""
    texts: dict[str, str] = {}
    for kind in KINDS:
        assert all(texts.setdefault(name, text) == text for name, text in modules(kind).items())
    assert len(texts) > 400


@pytest.mark.parametrize("kind", RUN)
def test_runs(kind: str, tmp_path: Path, runners: Runners) -> None:
    names = [name.replace("/", ".").removesuffix(".__init__") for name in write(tmp_path, kind)]
    (tmp_path / "main.py").write_text(_RUN.format(names=names), encoding="utf-8")
    outcome = runners.run(MAIN, [{"id": kind, "folder": str(tmp_path), "calls": []}])[kind]
    assert outcome["error"] is None
    assert not [line for line in outcome["output"].splitlines() if line.startswith("odd:")], outcome["output"]
    assert outcome["output"].count("called:") > len(names) / 2
