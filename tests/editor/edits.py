"""Random edits of a text, as they are made in an editor."""

from __future__ import annotations

import random
import re

#: Rows that begin, end, join, split or number units, or change what others mean.
ROWS = (
    "x = 1",
    "    x = 1",
    "\tx = 1",
    "",
    "\f",
    "# a comment",
    "def f():",
    "def f(): return f",
    "    return 2",
    "class A:",
    "    step: int = 0",
    "    def advance(self): return self.replace(a=1)",
    "@jax.jit",
    "@struct.dataclass",
    "else:",
    "try:",
    "except E:",
    "    pass",
    "if TYPE_CHECKING:",
    "    import jax.numpy as jnp",
    "import numpy as np",
    "from jax import jit as j",
    "from a import *",
    "from __future__ import annotations",
    "__all__ = ['a']",
    "__all__ += ['b']",
    "    global q; q = 1",
    "    j(f)",
    "    y.x[0] = 3",
    "np.x(1)",
    "x = 1; y = 2",
    "y = 1 \\",
    "x = (",
    ")",
    '"""',
    "async def g(x): yield x",
    "register(A)",
    "A.x = 1",
    "# jaxlint: ignore[JAX401]",
    "match x:",
    "    case 1: pass",
    "with a() as b: c()",
)
_STATEMENTS = (
    "x.step = 1",
    "return x",
    "y = jax.jit(f)",
    "import jax.lax as l",
    "self.a = self.b",
    "x.append(1)",
    "def h(a): return a",
    '"""',
)
_KEYS = ("x", "=", " ", "(", ")", ":", '"', "'", "#", ".a", "\\", "\r", "é", ";", "\t", "\n", "\n\n")
#: Rows of the body of a class, and decorators.
_MEMBERS = (
    "    extra: int = 0",
    "    more: jax.Array = None",
    "    table: jax.Array = struct.field(pytree_node=False)",
    "    step: int = struct.field(pytree_node=False, default=0)",
    '    name: str = "x"',
    "    weights = None",
    "    def more(self, x): return self.replace(step=x)",
    "    def advance(self) -> None:\n        self.step = 1",
    "    def __post_init__(self) -> None:\n        self.step = jnp.asarray(self.step)",
    "    pass",
)
_DECORATORS = (
    "@struct.dataclass",
    "@jax.tree_util.register_dataclass",
    "@dataclasses.dataclass(frozen=True)",
    "@dataclasses.dataclass",
    "@jdc.pytree_dataclass",
)
_TYPES = ("int", "jax.Array", "str", "list", "Any")
_VALUES = (" = 0", " = None", " = struct.field(pytree_node=False)", "x")


def edited(text: str, choice: random.Random) -> str:
    """A text after one random edit."""
    rows = text.split("\n")
    at = choice.randrange(len(rows))
    row = rows[at]
    column = choice.randrange(len(row) + 1)
    match choice.randrange(9):
        case 0:
            rows.insert(at, choice.choice(ROWS))
        case 1:
            del rows[at : at + choice.randrange(1, 5)]
        case 2 | 3:
            rows[at] = row[:column] + choice.choice(_KEYS) + row[column:]
        case 4:
            rows[at] = row[:column] + row[column + 1 :]
        case 5:
            rows.insert(at, choice.choice(rows))
        case 6 | 7:
            rows.insert(at, row[: len(row) - len(row.lstrip())] + choice.choice(_STATEMENTS))
        case _:
            names = re.findall(r"[A-Za-z_]\w*", row)
            if names:
                name = choice.choice(names)
                rows[at] = re.sub(rf"\b{name}\b", name + choice.choice("s_"), row, count=1)
    return "\n".join(rows)


def edited_class(text: str, choice: random.Random) -> str:
    """A text after a random edit of one of its classes: of a member, a decorator, a base, a type or a default."""
    rows = text.split("\n")
    heads = [at for at, row in enumerate(rows[:-1]) if re.match(r"class \w+", row)]
    if not heads:
        return text
    head = choice.choice(heads)
    end = next((at for at in range(head + 1, len(rows)) if rows[at][:1].strip()), len(rows))
    members = [at for at in range(head + 1, end) if re.match(r"    \S", rows[at])] or [head + 1]
    names = [name[0] for name in (re.findall(r"class (\w+)", rows[at]) for at in heads)]
    at = choice.choice(members)
    match choice.randrange(8):
        case 0 | 1:
            rows.insert(at, choice.choice(_MEMBERS))
        case 2:
            del rows[at]
        case 3:
            rows.insert(head, choice.choice(_DECORATORS))
        case 4 if head and rows[head - 1].startswith("@"):
            del rows[head - 1]
        case 4 | 5:
            base = choice.choice(("", f"({choice.choice(names)})"))
            rows[head] = re.sub(r"class (\w+)(\(.*\))?:", rf"class \1{base}:", rows[head])
        case 6:
            rows[at] = re.sub(r": *[\w.]+", f": {choice.choice((*_TYPES, *names))}", rows[at], count=1)
        case _:
            rows[at] += choice.choice(_VALUES)
    return "\n".join(rows)
