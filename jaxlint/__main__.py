"""`python -m jaxlint`."""

from __future__ import annotations

from jaxlint.cli.entry import run

if __name__ == "__main__":
    run()
