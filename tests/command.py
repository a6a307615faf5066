"""The command, in this process."""

from __future__ import annotations

import pytest

from jaxlint.cli import main as cli


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The exit code, and what it writes to the standard output and to the standard error."""
    code = cli.main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err
