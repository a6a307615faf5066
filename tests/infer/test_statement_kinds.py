"""No reader of statements forgets a kind of them: what one binds is no longer what it was, what stands in one is read.

The kinds are those of the `ast` that runs: a new one of Python fails here until it has a sample.
"""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path
from typing import get_args

import pytest

import jaxlint
from jaxlint.config.settings import Settings
from jaxlint.finding import Confidence
from jaxlint.symbols import outliner
from jaxlint.syntax import from_ast
from jaxlint.syntax.statements import Statement, bound_names, walk

#: Statements that bind `x` to something that nobody knows, or unbind it, by their kind.
BINDING = {
    "Assign": ["x = made()", "x, y = made()", "[*x] = made()", "y = x = made()", "(y, (x, z)) = made()"],
    "AnnAssign": ["x: Any = made()"],
    "AugAssign": ["x += made()"],
    "Delete": ["del x", "del y, x"],
    "Expr": ["(x := made())", "print(x := made())"],
    "Assert": ["assert (x := made())"],
    "If": ["if (x := made()): pass", "if made(): x = made()\nelse: x = made()"],
    "For": ["for x in made(): pass", "for y, x in made(): pass", "for y in made(): x = y\nelse: x = made()"],
    "AsyncFor": ["async for x in made(): pass"],
    "While": ["while (x := made()): pass", "while not made(): x = made()\nelse: x = made()"],
    "With": ["with made() as x: pass", "with made() as (y, x): pass", "with made(): x = made()"],
    "AsyncWith": ["async with made() as x: pass"],
    "Match": [
        "match made():\n    case x: pass",
        "match made():\n    case [1, x]: pass\n    case {'x': x}: pass\n    case _: x = 1",
        "match made():\n    case [1, *x] | [2, *x]: pass\n    case {'y': 1, **x}: pass\n    case _: x = 1",
        "match made():\n    case int(real=x): pass\n    case str() as x: pass\n    case x: pass",
    ],
    "Try": [
        "try: x = made()\nexcept ValueError: x = made()",
        "try: x = made()\nfinally: print()",
        "try: made()\nexcept ValueError as x: raise\nelse: x = made()",
    ],
    "TryStar": ["try: x = made()\nexcept* ValueError: x = made()"],
    "FunctionDef": ["def x(): pass"],
    "AsyncFunctionDef": ["async def x(): pass"],
    "ClassDef": ["class x: pass"],
    "Import": ["import x", "import x.y", "import y as x"],
    "ImportFrom": ["from y import x", "from y import z as x"],
    "TypeAlias": ["type x = int", "type x[T] = list[T]"],
}
#: The others, which bind nothing.
OTHERS = {"Return", "Raise", "Global", "Nonlocal", "Pass", "Break", "Continue"}
ALL = [text for texts in BINDING.values() for text in texts]

HEAD = """
import dataclasses, jax, jax.numpy as jnp
from typing import Any
from flax import struct
@struct.dataclass
class State:
    a: jax.Array
    b: jax.Array
"""
#: For each reader of statements a program that has a finding if `x` is what it was before the statement.
READERS = {
    "infer/reading/flow": """
        async def changed(x: State):
            STATEMENT
            x.a = 1
    """,
    "infer/calls/straight_line, by rebuilding/construction": """
        @jax.tree_util.register_pytree_node_class
        class Own:
            def __init__(self, x):
                STATEMENT
                self.x = float(x)
            def tree_flatten(self): return (self.x,), None
            @classmethod
            def tree_unflatten(cls, aux, children): return cls(*children)
        @jax.jit
        def used(own: Own): return own.x
    """,
    "infer/calls/straight_line, by rebuilding/twice": """
        @jax.tree_util.register_pytree_node_class
        class Own:
            def __init__(self, x):
                STATEMENT
                self.x = x * 2
            def tree_flatten(self): return (self.x,), None
            @classmethod
            def tree_unflatten(cls, aux, children): return cls(*children)
    """,
    "rules/analyses/under_trace/tracing": """
        def turn(x, _):
            STATEMENT
            return x.replace(b=jnp.zeros(())), None
        def run(xs: jax.Array):
            return jax.lax.scan(turn, State(jnp.zeros(()), None), xs)
    """,
    "pytrees/interpreter": """
        def declared():
            x = False
            STATEMENT
            return struct.field(pytree_node=x)
        @struct.dataclass
        class Own:
            a: jax.Array = declared()
    """,
}


#: Where a statement reads `x`, it binds it to what comes of that.
KEEPS = {("infer/calls/straight_line, by rebuilding/construction", "x += made()")}
#: Of a statement with others in it, one in which each block is read: there are as many findings as rows `x.a = 1`.
HOLDING = {
    "If": "if z:\n    x.a = 1\nelif y:\n    x.a = 1\nelse:\n    x.a = 1",
    "For": "for y in z:\n    x.a = 1\nelse:\n    x.a = 1",
    "While": "while z:\n    x.a = 1\nelse:\n    x.a = 1",
    "With": "with z:\n    x.a = 1",
    "Match": "match z:\n    case 1:\n        x.a = 1\n    case _:\n        x.a = 1",
    "Try": "try:\n    x.a = 1\nexcept ValueError:\n    x.a = 1\nelse:\n    x.a = 1\nfinally:\n    x.a = 1",
    "TryStar": "try:\n    x.a = 1\nexcept* ValueError:\n    x.a = 1\nelse:\n    x.a = 1\nfinally:\n    x.a = 1",
    "FunctionDef": "def y():\n    x.a = 1",
    "ClassDef": "class y:\n    x.a = 1",
}


def program(reader: str, statement: str) -> str:
    """A module with a statement in the place that is meant for it."""
    lines: list[str] = []
    for line in textwrap.dedent(READERS[reader]).splitlines():
        margin, found, _ = line.partition("STATEMENT")
        lines.append(textwrap.indent(statement, margin) if found else line)
    text = HEAD + "\n".join(lines)
    return text if "async" in statement else text.replace("async def changed", "def changed")


def findings(texts: list[str], root: Path) -> list[list[str]]:
    """The codes of what is found in each of some modules, each a project of its own."""
    for number, text in enumerate(texts):
        folder = root / str(number)
        folder.mkdir()
        (folder / "main.py").write_text(text)
    settings = Settings(select=("ALL",), min_confidence=Confidence.LOW, fixable=())
    found = [jaxlint.check_paths([str(root / str(number))], settings) for number in range(len(texts))]
    assert not any(one.errors for one in found)
    return [[finding.code for finding in one.findings] for one in found]


def kinds() -> dict[str, type[ast.stmt]]:
    """The kinds of statements of this Python."""
    return {kind.__name__: kind for kind in ast.stmt.__subclasses__() if kind.__module__ == "ast"}


def test_each_kind_has_a_sample() -> None:
    """What Python knows, and what the language of `syntax/statements.py` has."""
    later = {"TypeAlias", "TryStar"}  # of which an older Python sees another spelling: `syntax/grammar.py`
    assert kinds().keys() | later == BINDING.keys() | OTHERS
    texts = [text for kind, texts in BINDING.items() if kind in kinds() for text in texts]
    texts += ["def f():\n    global x\n    return 1", "while 1:\n    break\n    continue\nraise x"]
    translated = [s for text in texts for s in walk(from_ast.to_body(ast.parse(made_async(text)).body))]
    assert {type(one) for one in translated} >= set(get_args(Statement))


def made_async(text: str) -> str:
    """A statement that Python knows in an asynchronous function only, in one."""
    return "async def f():\n" + textwrap.indent(text, "    ") if "async" in text else text


def test_each_kind_is_translated_and_outlined() -> None:
    """What is in no table does nothing; a kind that nobody has heard of binds what it stores."""
    known = from_ast._STATEMENTS.keys() | {ast.Pass}
    assert set(kinds().values()) <= known
    assert set(kinds().values()) <= outliner._READERS.keys() | {ast.Pass, ast.Break, ast.Continue}

    class Newer(ast.Assign):
        """Of some Python to come."""

    new = ast.parse("x, y = made(z)").body[0]
    new.__class__ = Newer
    (made,) = from_ast.to_body([new])
    assert set(bound_names(made)) == {"x", "y"}


@pytest.mark.parametrize("reader", READERS)
def test_what_is_bound_is_no_longer_what_it_was(reader: str, tmp_path: Path) -> None:
    """The program has its finding; with a statement that binds `x` it has none."""
    texts = [text for kind, texts in BINDING.items() for text in texts if kind in kinds()]
    texts = [text for text in texts if (reader, text) not in KEEPS]
    if "changed" not in READERS[reader]:
        texts = [text for text in texts if not text.startswith("async")]
    control, *others = findings([program(reader, text) for text in ["print(0)", *texts]], tmp_path)
    assert len(control) == 1
    assert [text for text, found in zip(texts, others, strict=True) if found] == []


@pytest.mark.parametrize("kind", HOLDING)
def test_all_blocks_are_read(kind: str, tmp_path: Path) -> None:
    """Each assignment in a block is found by `infer/reading/flow`."""
    if kind not in kinds():
        pytest.skip(f"this Python has no {kind}")
    (found,) = findings([program("infer/reading/flow", HOLDING[kind])], tmp_path)
    assert found == ["JAX401"] * (HOLDING[kind].count("x.a = 1") + 1)
