"""Write what the site is made of to `.site/docs`, and build it to `.site/html`: `python -m tools.site`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from jaxlint.report.configuration import schema
from tests.oracle.cases import Program
from tools.site.errors_page import errors_page
from tools.site.framework_page import framework_page
from tools.site.mending import Mending
from tools.site.rule_pages import mended, rule_pages
from tools.site.search import name_results

ROOT = Path(__file__).resolve().parents[2]
#: Where `mkdocs.yml` says that what was written stands, and what is built, beside itself.
WRITTEN = Path(".site") / "docs"
BUILT = Path(".site") / "html"
REPOSITORY = "https://github.com/jaxlint/jaxlint/blob/main"


def write(folder: Path, mend: Callable[[Program], Mending] = mended) -> None:
    """Write all pages and pictures to a folder, in place of what is there; `mend` says how a program is mended."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder)
    for page in folder.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        page.write_text(linked(text, page.parent.relative_to(folder)), encoding="utf-8")
    (folder / "frameworks.md").write_text(framework_page(), encoding="utf-8")
    (folder / "errors.md").write_text(errors_page(), encoding="utf-8")
    (folder / "jaxlint.schema.json").write_text(json.dumps(schema(), indent=2) + "\n", encoding="utf-8")
    (folder / "rules").mkdir()
    for name, text in rule_pages(mend).items():
        (folder / "rules" / name).write_text(text, encoding="utf-8")


def linked(text: str, folder: Path) -> str:
    """A page of a folder of `docs`, whose links to files outside of `docs` lead to the repository."""

    def link(match: re.Match[str]) -> str:
        target = os.path.normpath(ROOT / "docs" / folder / match[1])
        inside = Path(target).relative_to(ROOT)
        return match[0] if inside.parts[0] == "docs" else f"]({REPOSITORY}/{inside.as_posix()}"

    return re.sub(r"\]\((\.\./[^)#]*)", link, text)


def build(root: Path) -> int:
    """Build the site of the folder that holds `mkdocs.yml`; every warning is an error."""
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    status = subprocess.run(command, cwd=root, check=False).returncode
    if status == 0:
        name_results(root / BUILT / "search.json")
    return status


def main() -> int:
    """Write and build."""
    write(ROOT / WRITTEN)
    return build(ROOT)


if __name__ == "__main__":
    sys.exit(main())
