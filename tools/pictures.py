"""The pictures of the README: its first program as `jaxlint check` and `jaxlint tree` show it.

python -m tools.pictures
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
FILE = "train.py"
_COLUMNS = 118
#: Fonts that a viewer would download.
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def program() -> str:
    """The first program of the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return text.partition("```python\n")[2].partition("```")[0]


def printed(*arguments: str) -> str:
    """What jaxlint prints of the program, with colours."""
    environ = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    environment = {**environ, "FORCE_COLOR": "1", "JAXLINT_NO_CACHE": "1", "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / FILE).write_text(program(), encoding="utf-8")
        command = [sys.executable, "-m", "jaxlint", *arguments]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout


def pictures() -> dict[str, str]:
    """The pictures by their file names."""
    console = Console(record=True, width=_COLUMNS, file=StringIO(), force_terminal=True)
    console.print(Text.from_ansi("$ jaxlint check train.py\n" + printed("check", FILE).rstrip()))
    svg = console.export_svg(title="jaxlint", theme=SVG_EXPORT_THEME, unique_id="jaxlint")
    return {"check.svg": _FONTS.sub("", svg), "tree.svg": printed("tree", FILE, "--output-format", "svg")}


def main() -> None:
    """Write the pictures."""
    PICTURES.mkdir(exist_ok=True)
    for name, svg in pictures().items():
        (PICTURES / name).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
