"""Fixes of generated programs in all kinds of layout: what is not fixed stays token by token.

A sample that is always the same; with `--thorough`, a thousand of them.
"""

from __future__ import annotations

import difflib
import io
import random
import tokenize
from collections import Counter

from jaxlint.config.settings import Settings
from jaxlint.fixes.running import fix_source

HEADER = '''\
"""States: é."""
import jax
from flax import struct


@struct.dataclass
class Inner:
    y: jax.Array


@struct.dataclass
class State:
    inner: Inner
    board: jax.Array
    step: int = 0

'''
#: Statements with a finding; `>` stands for one more level of indentation.
STATEMENTS = [
    "state.step = x",
    "state.step += x if x else 2",
    "state.step = (x,\n>x)",
    "state.step = (\n>x  # of é\n)",
    "state.step = \\\n>x",
    "state.step=x ;",
    "setattr(state, 'step', x)",
    "print('é') ; state.step = x ; print(x)",
    "if x: state.step = x",
    "state.inner.y = x",
    "state.inner.y *= x",
    "state.board[x] = 1",
    "state.board[x, 1:] += 1",
    "state.replace(step=x)",
    "state.replace(\n>step=x,  # the é\n>board=x,\n)",
    "( state ).step = lambda: x",
    "state.replace(stp=x)",
]
#: What they stand in.
AROUND = [
    "{}",
    "if x:\n>{}\nelse:\n>print('é')  # no",
    "for i in range(x):\n>{}",
    "with x as y:  # é\n>{}",
    "try:\n>{}\nfinally:\n>pass",
    "while x:\n>\n># a comment alone: é\n>{}\n>break",
]
FUNCTIONS = [
    "def f{}(state: State, x):\n>{}\n>return state\n",
    "@jax.jit  # é\ndef f{}(state: State, x: int) -> State:\n>'''Doc:\n>> é'''\n>{}\n\n>return state  # the end\n",
    "def g{}(x):\n>def inner(state: State):\n>>{}\n>>return state\n\n>return inner\n",
    "class C{}:\n>def f(self, state: State, x):\n>># é\n>>{}\n>>return state, self\n",
]
INDENTS = ["    ", "\t", "  "]
COMMENTS = ["", "  # why: é", "# next to it", "\n>"]


def indented(text: str, depth: str) -> str:
    """A text all of whose lines but the first are further in."""
    return text.replace("\n", "\n" + depth)


def program(rng: random.Random) -> str:
    """A program with some findings."""
    parts = []
    for number in range(rng.randint(1, 4)):
        statement = rng.choice(STATEMENTS)
        if not statement.endswith(("\\", ";")) and rng.random() < 0.4:
            statement += rng.choice(COMMENTS[:3])
        if rng.random() < 0.3:
            statement = f"# above: é\n{statement}"
        around = rng.choice(AROUND)
        inside = around.format(indented(statement, ">" if around != "{}" else ""))
        function = rng.choice(FUNCTIONS)
        depth = ">>" if ">>{}" in function else ">"
        text = function.replace("{}", str(number), 1).replace("{}", indented(inside, depth))
        indent = rng.choice(INDENTS)
        parts.append("\n".join(_deep(line, indent) for line in text.split("\n")))
    return (HEADER + "\n\n".join(parts)).replace("\n", rng.choice(["\n", "\r\n"]))


def _deep(line: str, indent: str) -> str:
    inner = line.lstrip(">")
    return indent * (len(line) - len(inner)) + inner if inner else ""


def comments(text: str) -> Counter[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text, newline="").readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def problems(before: str) -> list[str]:
    """What is wrong with the fixes of a program."""
    settings = Settings(select=("JAX401", "JAX402", "JAX403", "JAX413"))
    after, left = fix_source(before, settings=settings, unsafe=True)
    compile(after, "<fixed>", "exec")
    found = [f"left: {finding.code} in row {finding.row}" for finding in left]
    if comments(before) != comments(after):
        found.append("comments are lost")
    if ("\r\n" in before) != (after.count("\n") == after.count("\r\n")):
        found.append("line ends differ")
    if fix_source(after, settings=settings, unsafe=True)[0] != after:
        found.append("a second fix changes something")
    for line in difflib.ndiff(before.splitlines(), after.splitlines()):
        if line[0] in "+-" and not any(word in line for word in ("state", "x", ")")):
            found.append(f"changed: {line}")
    return found


def test_generated_programs(is_thorough: bool) -> None:
    rng = random.Random(18)
    for _ in range(1000 if is_thorough else 30):
        text = program(rng)
        compile(text, "<generated>", "exec")
        found = problems(text)
        assert not found, "\n".join([*found, text])
