"""What a class does at run time in each framework: a probe in the neutral spelling of the fixtures, run for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tests.oracle.cases import Case, Program
from tests.oracle.frameworks import FRAMEWORKS, MAIN, Framework

#: What the probe prints, in this order.
_PROBE = '''"""Says what becomes of a class."""

import jax
import jax.numpy as jnp
from anyframework import {names}

calls = []


@pytree
class A:
    x: jax.Array
    {field}

    def __post_init__(self):
        calls.append("post")


def said(do):
    try:
        return str(do())
    except Exception as error:
        return f"{{type(error).__name__}}: {{error}}".splitlines()[0]


a = A(x=jnp.float32(1){given})
own = [float(leaf) for leaf in jax.tree.leaves(a)]
calls.clear()
jax.tree.unflatten(jax.tree.structure(a), jax.tree.leaves(a))
rebuilding = ", ".join(calls) or "nothing"
print("leaves:", own)
print("rebuilding runs:", rebuilding)
print("replacing:", said(lambda: replace(a, x=jnp.float32(2)).x))
print("assigning:", said(lambda: setattr(a, "x", jnp.float32(2))))


class B(A):
    y: jax.Array


def subclass():
    try:
        b = B(x=jnp.float32(1), y=jnp.float32(3){given})
    except (TypeError, ValueError):  # `y` is no field
        b = B(x=jnp.float32(1){given})
    leaves = jax.tree.leaves(b)
    return "one opaque leaf" if leaves[0] is b else [float(leaf) for leaf in leaves]


print("subclass:", said(subclass))
'''


class Measured(msgspec.Struct, frozen=True):
    """What one framework does, in the words of Python."""

    #: The leaves of an instance with an array `x`, and with a static `n` where there are static fields.
    leaves: str
    rebuilding: str
    assigning: str
    replacing: str
    #: The leaves of an undecorated subclass with an array `y` of 3.0.
    subclass: str


def probes() -> list[Program]:
    """The probe for each framework that is installed here."""
    return [
        Program(_case(one), one.id)
        for one in FRAMEWORKS.values()
        if one.environment == MAIN and one.id != "train-state" and not Program(_case(one), one.id).missing
    ]


def measured(outcome: Mapping[str, Any]) -> Measured:
    """What a probe has said. Raises `RuntimeError` if it failed."""
    if outcome["error"] is not None:
        raise RuntimeError(f"{outcome['id']}: {outcome['error']}")
    lines = [line for line in outcome["output"].splitlines() if ": " in line]
    said = dict(line.split(": ", 1) for line in lines)
    return Measured(said["leaves"], said["rebuilding runs"], said["assigning"], said["replacing"], said["subclass"])


def _case(framework: Framework) -> Case:
    has_static = framework.has_static
    text = _PROBE.format(
        names="pytree, replace, static" if has_static else "pytree, replace",
        field="n: int = static()" if has_static else "",
        given=", n=2" if has_static else "",
    )
    if framework.id == "namedtuple":
        text = text.replace('    def __post_init__(self):\n        calls.append("post")\n', "")
    return Case("measured", "probe", {"main.py": f"# frameworks: all\n{text}"})
