"""Puts jaxlint and what it needs into `bundled/libs`, for interpreters without a jaxlint of their own.

libcst and msgspec are compiled for one platform and one version of Python. The names of such modules carry
the version, so one folder serves several; Python 3.10 needs more packages than the others and is left out.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBS = HERE / "bundled" / "libs"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def pip(*arguments: str) -> None:
    """Run pip; it says itself what fails."""
    quiet = ("--quiet", "--disable-pip-version-check")
    subprocess.run([sys.executable, "-m", "pip", *arguments, *quiet], check=True)


def main() -> None:
    """Build the wheel, install it for each version, and lay the folders over each other."""
    shutil.rmtree(LIBS, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        pip("wheel", "--no-deps", "--wheel-dir", folder, str(ROOT))
        (wheel,) = Path(folder).glob("*.whl")
        for version in VERSIONS:
            target = Path(folder) / version
            chosen = ("--target", str(target), "--python-version", version, "--only-binary", ":all:")
            pip("install", "--no-compile", *chosen, f"{wheel}[lsp]")
            shutil.copytree(target, LIBS, ignore=shutil.ignore_patterns("bin", "tests"), dirs_exist_ok=True)


if __name__ == "__main__":
    main()
