"""The installed packages of a Python environment, found by its files alone: nothing is run or imported."""

from __future__ import annotations

import os

from jaxlint.errors import UserError
from jaxlint.syntax.regular import read_regular


def site_packages(python: str) -> list[str]:
    """The folders from which the environment `python` imports installed packages.

    `python` is an interpreter or the folder of an environment. Editable installs that add a folder
    through a `.pth` file are followed. Raises `UserError` if there is no such environment.
    """
    prefix = python
    if not os.path.isdir(python):
        if not os.path.exists(python):
            raise UserError(f"python = {python}: there is no such interpreter or environment")
        prefix = os.path.dirname(os.path.dirname(os.path.abspath(python)))
    found = _folders(prefix)
    if not found:
        real = os.path.realpath(python)
        found = _folders(os.path.dirname(os.path.dirname(real)))
    if not found:
        way_out = "it is no environment" if os.path.isdir(python) else "give the environment's folder instead"
        raise UserError(f"python = {python}: no site-packages found for it; {way_out}")
    return [*found, *(folder for root in found for folder in _added_by_pth(root))]


def in_use(python: str | None) -> str | None:
    """The interpreter or environment that the setting `python` names, else the activated one, if there is one."""
    if python:
        return python
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = os.environ.get(name)
        if prefix and _folders(prefix):
            return prefix
    return None


def beside(folder: str) -> str | None:
    """The environment of the project in a folder: its `.venv`, if that is one."""
    prefix = os.path.join(folder, ".venv")
    return prefix if os.path.isdir(prefix) and _folders(prefix) else None


def read_from(environment: str | None) -> str:
    """Which environment in use is read, as said to people."""
    if environment is None:
        return "no environment is activated, and there is no .venv, so installed packages are not read"
    return f"installed packages are read from {environment}"


def _folders(prefix: str) -> list[str]:
    import glob

    patterns = ("lib/python3.*/site-packages", "Lib/site-packages")
    return [folder for pattern in patterns for folder in sorted(glob.glob(os.path.join(prefix, pattern)))]


def _added_by_pth(folder: str) -> list[str]:
    """The folders that plain lines of `.pth` files add (lines of code are not run)."""
    import glob

    added: list[str] = []
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.pth"))):
        try:
            lines = read_regular(path).decode("utf-8", "replace").splitlines()
        except OSError:
            continue
        for line in lines:
            target = os.path.join(folder, line.strip())
            if line.strip() and not line.startswith(("#", "import ", "import\t")) and os.path.isdir(target):
                added.append(os.path.normpath(target))
    return added
