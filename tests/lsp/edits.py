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
