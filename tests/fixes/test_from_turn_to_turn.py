"""Updates in a loop that lose what the turns before have made: each goes on from there, with all that it reads."""

from __future__ import annotations

import pytest

from jaxlint.config.settings import Settings
from jaxlint.fixes.running import fix_source

HEAD = """\
import dataclasses
import jax
from flax import struct


@struct.dataclass
class S:
    x: float = 0.0
    n: int = 0


def f(s: S, xs: list[float]) -> S:
    for v in xs:
"""
LOOPS = {
    "        new = s.replace(x=s.x + v)\n": "        new = new.replace(x=new.x + v)\n",
    "        new = s.replace(x=s.x + v, n=s.n + 1)\n": "        new = new.replace(x=new.x + v, n=new.n + 1)\n",
    "        new = dataclasses.replace(s, x=max(s.x, v))\n": (
        "        new = dataclasses.replace(new, x=max(new.x, v))\n"
    ),
    "        print(s.x)\n        new = s.replace(x=s.x + v)\n": None,
}


@pytest.mark.parametrize("loop", LOOPS)
def test_turns_add_up(loop: str) -> None:
    text, mended = HEAD + loop + "    return new\n", LOOPS[loop]
    after, left = fix_source(text, settings=Settings(select=("JAX408",)), unsafe=True)
    assert after == (
        text if mended is None else text.replace("    for v", "    new = s\n    for v").replace(loop, mended)
    )
    assert len(left) == (mended is None)
    if mended is not None:
        bound: dict[str, object] = {}
        exec(compile(after, "<fixed>", "exec"), bound)
        last = eval("f(S(), [1.0, 2.0, 4.0]).x", bound)
        assert last == (4.0 if "max" in loop else 7.0)
