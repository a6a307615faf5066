"""Lay out a new rule: its module with an empty page, and its fixture folder with programs to fill.

    python tools/new_rule.py JAX510 changing-structure --kind event --group transformations

Kinds: `class` looks at one class, `event` at one thing done to an instance, `body` at the body of a function, and
`node` at its libcst nodes besides.
What the script writes does not pass the tests until the page and the programs are written; CONTRIBUTING.md says how.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from jaxlint import __version__  # noqa: E402
from jaxlint.rules import all_rules  # noqa: E402
from jaxlint.rules.base import HEADINGS  # noqa: E402

_GROUPS = sorted({rule.group for rule in all_rules()})
_METHODS = {
    "class": (
        "ClassRule",
        "from jaxlint.pytrees.model import PytreeClass\n",
        "",
        "    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:\n"
        '        """Look at one class."""\n        yield from ()\n',
    ),
    "event": (
        "EventRule",
        "from jaxlint.infer.evaluating.events import Event, Replace\n",
        "    events = (Replace,)\n",
        "    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:\n"
        '        """Look at one event."""\n        assert isinstance(event, Replace)\n        yield from ()\n',
    ),
    "body": (
        "BodyRule",
        "from jaxlint.infer.evaluating.events import CodeRead\n",
        "",
        "    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:\n"
        '        """Look at one body."""\n        yield from ()\n',
    ),
    "node": (
        "NodeRule",
        "from jaxlint.cst.reading import FunctionNode\n",
        "",
        "    def check_node(self, function: FunctionNode, evaluator: Evaluator) -> Iterator[Problem]:\n"
        '        """Look at one function."""\n        yield from ()\n',
    ),
}
_BAD = '''"""The mistake, written once; it is expanded for each framework that the header names."""

# frameworks: all
# raises: TypeError: the text that the run must show
import jax
import jax.numpy as jnp
from anyframework import pytree


@pytree
class State:
    x: jax.Array


state = State(x=jnp.zeros(2))  # expect: {code}
'''
_GOOD = '''"""A correct program that looks like the mistake: say here why it is right."""

# frameworks: all
# clean
import jax
import jax.numpy as jnp
from anyframework import pytree


@pytree
class State:
    x: jax.Array


state = State(x=jnp.zeros(2))
'''


def module_text(code: str, name: str, kind: str, group: str) -> str:
    """The rule's module, with a page that holds nothing but its headings."""
    base, imports, attributes, method = _METHODS[kind]
    title = "".join(word.capitalize() for word in name.split("-"))
    page = "\n\n".join(f"    ## {heading}" for heading in HEADINGS)
    evaluator = "from jaxlint.infer.evaluating.evaluate import Evaluator\n"
    imported = "".join(sorted([evaluator, *imports.splitlines(keepends=True)]))
    return f'''"""{code} {name}."""

from __future__ import annotations

from collections.abc import Iterator

{imported}from jaxlint.rules.base import {base}, Problem


class {title}({base}):
    """
{page}
    """

    code = "{code}"
    name = "{name}"
    group = "{group}"
    since = "{__version__}"
    #: Off, until its findings on code that others wrote were read.
    enabled = False
{attributes}
{method}'''


def next_code(beginning: str) -> str:
    """The code after the last one of a group: `JAX5` is how those of its rules begin."""
    last = max((int(rule.code[4:]) for rule in all_rules() if rule.code.startswith(beginning)), default=0)
    return f"{beginning}{last + 1:02}"


def main(arguments: list[str] | None = None) -> int:
    """Write the files; the exit code is 2 if the rule exists or its name is malformed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("code", help="JAX and three digits, of which the first is that of the group")
    parser.add_argument("name", help="in kebab case")
    parser.add_argument("--kind", choices=sorted(_METHODS), default="class")
    parser.add_argument("--group", choices=_GROUPS, default=_GROUPS[0])
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if not re.fullmatch(r"JAX\d{3}", given.code) or not re.fullmatch(r"[a-z]+(-[a-z]+)*", given.name):
        print(f"{given.code} {given.name}: a code is JAX and three digits, a name is in kebab case", file=sys.stderr)
        return 2
    if any(given.code == rule.code or given.name == rule.name for rule in all_rules()):
        free = next_code(given.code[:4])
        print(f"{given.code} {given.name}: there is such a rule already; {free} is free", file=sys.stderr)
        return 2
    module = given.root / "jaxlint" / "rules" / f"{given.name.replace('-', '_')}.py"
    folder = given.root / "fixtures" / given.name
    files = {module: module_text(given.code, given.name, given.kind, given.group)}
    files[folder / "mistake.py"] = _BAD.format(code=given.code)
    files[folder / "frameworks.txt"] = "all\n"
    files |= {folder / f"good_{word}.py": _GOOD for word in ("one", "two", "three")}
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(given.root))
    return 0


if __name__ == "__main__":
    sys.exit(main())
