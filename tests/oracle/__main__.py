"""Print programs as they are linted and run: `python -m tests.oracle REGEX`; without one, the table of counts."""

from __future__ import annotations

import re
import sys

from tests.oracle import cases


def main() -> None:
    """Print what matches the first argument."""
    if len(sys.argv) < 2:
        print(cases.table(cases.programs()))
    for program in cases.programs() if len(sys.argv) > 1 else ():
        if re.search(sys.argv[1], program.id):
            for path, text in program.files.items():
                print(f"# ---- {program.id}/{path}\n{text}")


if __name__ == "__main__":
    main()
