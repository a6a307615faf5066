"""Whether a program makes the instances of a class once, as far as its text tells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.pytrees.model import PytreeClass

#: The first lines of blocks that may run again; `main` and tests run once.
_AGAIN = re.compile(r"(?:async\s+)?(?:for|while|class|def(?!\s+(?:main|test\w*)\())\b")


def is_made_once(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether instances are seen to be made, and nowhere in a loop, a method or a function but `main` or a test."""
    call = re.compile(rf"^(?!\s*class\b)[^#]*\b{re.escape(cls.name)}\(")
    is_made = False
    for module in (cls.module, *evaluator.model.importers(cls.module)):
        lines = module.source.text.split("\n") if f"{cls.name}(" in module.source.text else []
        for row, line in enumerate(lines):
            if call.match(line):
                is_made = True
                if re.search(r"\bfor\b", line) or any(map(_AGAIN.match, _around(lines, row))):
                    return False
    return is_made


def _around(lines: Sequence[str], row: int) -> Iterator[str]:
    """What the blocks around a line begin with, from the inside out."""
    indent = _indent(lines[row])
    for line in reversed(lines[:row]):
        if line.strip() and _indent(line) < indent:
            indent = _indent(line)
            yield line.strip()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
