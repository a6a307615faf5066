"""Programs written without a look at the plugin: mypy with it reports what goes wrong in them, and nothing else.

The files in `programs` hold one module after the other, each below a line `#### name`, or `#### package/name`. Their
functions are run (but for those of `blind`, `declared`, `idioms` and `workflows`), with what `new_x()` makes for a
parameter `x`: those called `ok…` and `silent…` go through (the latter are wrong without a word), those called `bad…`
raise.
`# BAD` marks the lines that are to be reported, `# MISSED` those that are wrong and are not.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mypy.frameworks import HAS_SIMPLE_PYTREE
from tests.mypy.run import CONFIG, mypy, reports
from tests.oracle import environments
from tests.oracle.frameworks import MAIN
from tests.patience import PATIENCE

pytest.importorskip("flax")
pytest.importorskip("equinox")

pytestmark = pytest.mark.comparisons

_PROGRAMS = Path(__file__).with_name("programs")
KINDS = sorted(path.stem for path in _PROGRAMS.glob("*.txt"))
#: Those whose modules can be imported: in the others classes are declared that Python refuses.
RUN = [kind for kind in KINDS if kind not in ("blind", "declared", "idioms", "workflows")]
_RUN = """
import importlib, inspect, sys, types, warnings
warnings.simplefilter("ignore")
for name in sys.argv[1:]:
    module = importlib.import_module(name)
    for key, function in list(vars(module).items()):
        if isinstance(function, types.FunctionType) and key.startswith(("ok", "silent", "bad")):
            try:
                function(*(getattr(module, f"new_{one}")() for one in inspect.signature(function).parameters))
                raised = None
            except Exception as error:
                raised = error
            if (raised is not None) != key.startswith("bad"):
                print("odd:", name, key, repr(raised))
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


@pytest.mark.parametrize("kind", KINDS)
def test_reports(kind: str, tmp_path: Path, libraries: Path) -> None:
    names = write(tmp_path, kind)
    shutil.copytree(libraries, tmp_path / ".mypy_cache")
    (tmp_path / "mypy.ini").write_text(CONFIG, encoding="utf-8")
    found = reports(mypy(tmp_path, *(f"{name}.py" for name in names)))
    reported = {(r.path.removesuffix(".py"), r.row) for r in found if r.kind == "error" or "jaxlint" in r.text}
    lines = [(name, row, line) for name, text in modules(kind).items() for row, line in enumerate(text.splitlines(), 1)]
    assert reported == {(name, row) for name, row, line in lines if line.endswith("# BAD")}
    assert sum(line.endswith("# MISSED") for _, _, line in lines) <= 10


@pytest.mark.parametrize("kind", RUN)
def test_runs(kind: str, tmp_path: Path, compiled: Path) -> None:
    names = write(tmp_path, kind)
    command = [sys.executable, "-c", _RUN, *(name.replace("/", ".").removesuffix(".__init__") for name in names)]
    env = environments.variables(environments.versions_in(MAIN), compiled)
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert not [line for line in done.stdout.splitlines() if line.startswith("odd:")], done.stdout
