"""The class that flake8 loads."""

from __future__ import annotations

import argparse
import ast
import os
import sys
from collections.abc import Iterator, Sequence
from typing import ClassVar

from flake8.discover_files import expand_paths
from flake8.exceptions import ExecutionError
from flake8.options.manager import OptionManager

from jaxlint import __version__
from jaxlint.errors import UserError
from jaxlint_flake8.findings import Findings

#: The code for what keeps a file from being checked.
_UNREADABLE = "JAX001"


class Plugin:
    """Reports what jaxlint finds in one file.

    Only a configuration that cannot be used is a critical error of flake8's; a failure of ours is a finding.
    """

    name = "jaxlint"
    version = __version__

    #: The findings of the files that this run of flake8 checks; workers inherit it, or make their own.
    _findings: ClassVar[Findings | None] = None

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        """Take what flake8 knows of a file; `tree` tells flake8 that this plugin looks at parsed files."""
        self._filename = filename
        self._lines = lines

    @staticmethod
    def add_options(manager: OptionManager) -> None:
        """Declare the options, which flake8's own configuration files may hold."""
        options = {
            "--jaxlint-config": ("FILE", "a pyproject.toml or jaxlint.toml instead of the nearest one"),
            "--jaxlint-python": ("PATH", "the interpreter or environment whose packages the code imports"),
            "--jaxlint-min-confidence": ("LEVEL", "how sure a finding must be: low, medium or high"),
            "--jaxlint-cache-dir": ("DIR", "where results are stored; empty for nowhere"),
        }
        for name, (metavar, text) in options.items():
            manager.add_option(name, default=None, metavar=metavar, parse_from_config=True, help=text)

    @classmethod
    def parse_options(cls, manager: OptionManager, options: argparse.Namespace, args: list[str]) -> None:
        """Read the configuration; raises flake8's `ExecutionError` if it cannot be used."""
        try:
            cls._findings = Findings(options, lambda: _files(options))
        except UserError as error:
            raise ExecutionError(f"jaxlint: {error}") from error

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """Yield row, column (from 0), text and type of each finding of the file."""
        if self._findings is None:
            return
        try:
            for finding in self._findings.of(self._filename, self._lines):
                yield finding.row, finding.column - 1, f"{finding.code} {finding.message}", type(self)
        except UserError as error:
            raise ExecutionError(f"jaxlint: {error}") from error
        except Exception as error:
            print(f"jaxlint: internal error: {self._filename}: {type(error).__name__}: {error}", file=sys.stderr)
            yield 1, 0, f"{_UNREADABLE} jaxlint failed ({type(error).__name__}: {error}); please report it", type(self)


def _files(options: argparse.Namespace) -> list[str]:
    """The files that flake8 is going to check."""
    found = expand_paths(
        paths=options.filenames,
        stdin_display_name=options.stdin_display_name,
        filename_patterns=options.filename,
        exclude=(*options.exclude, *options.extend_exclude),
    )
    return sorted({os.path.abspath(path) for path in found if os.path.isfile(path)})
