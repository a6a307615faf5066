"""The workflows of this repository, and those that the documentation shows, as actionlint reads them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent, indent

import pytest

ROOT = Path(__file__).resolve().parents[2]
ACTIONLINT = Path(sys.executable).with_name("actionlint")
_SHOWN = re.compile(r"^( *)```yaml[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_JOB = "on: push\njobs:\n  job:\n    runs-on: ubuntu-latest\n"

pytestmark = [
    pytest.mark.comparisons,
    pytest.mark.skipif(
        not ACTIONLINT.exists(), reason="actionlint is installed with `.[ci]` where there is a wheel of it"
    ),
]


def workflows() -> dict[str, str]:
    """The texts of workflows: files, and what stands in the documentation, of which some is but a part of a job."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / ".github/workflows").glob("*.yml")}
    for page in sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]):
        for number, (_, block) in enumerate(_SHOWN.findall(page.read_text(encoding="utf-8"))):
            text = dedent(block)
            if re.search("^jobs:", text, re.MULTILINE):
                texts[f"{page.name} {number}"] = text
            elif re.search("^steps:", text, re.MULTILINE):
                texts[f"{page.name} {number}"] = _JOB + indent(text, "    ")
            elif re.search(r"^- (uses|run):", text, re.MULTILINE):
                texts[f"{page.name} {number}"] = f"{_JOB}    steps:\n{indent(text, '      ')}"
    return texts


def said(text: str) -> str:
    """What actionlint says of a workflow."""
    done = subprocess.run([ACTIONLINT, "-oneline", "-"], input=text, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.mark.parametrize("name", workflows())
def test_workflows(name: str) -> None:
    assert said(workflows()[name]) == ""


def test_something_is_looked_at() -> None:
    assert {"ci.yml", "release.yml", "ci.md 0"} <= workflows().keys()
    assert "undefined variable" in said(f"{_JOB}    steps:\n      - run: echo ${{{{ gone.x }}}}\n")
