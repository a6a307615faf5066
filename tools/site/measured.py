"""What a class does at run time in each framework: a probe in the neutral spelling of the fixtures, run for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tests.oracle.cases import Case, Program
from tests.oracle.frameworks import FRAMEWORKS, Framework

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
own = [float(leaf) for leaf in jax.tree_util.tree_leaves(a)]
calls.clear()
jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(a), jax.tree_util.tree_leaves(a))
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
    leaves = jax.tree_util.tree_leaves(b)
    return "one opaque leaf" if leaves and leaves[0] is b else [float(leaf) for leaf in leaves]


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
    """The probe for each framework; those that the newest Python does not have run in environments of their own."""
    found = [probe(name) for name in FRAMEWORKS if name != "train-state"]
    return [one for one in found if not one.missing]


def probe(framework: str) -> Program:
    """The probe for one framework."""
    return Program(_case(FRAMEWORKS[framework]), framework)


def marks_static(framework: str) -> str:
    """The line of the probe that declares a static field, or that names it in the decorator; empty if there is none."""
    text = probe(framework).files["main.py"]
    lines = [line.strip() for line in text[: text.index("def said")].splitlines()]
    named = [line for line in lines if "meta_fields" in line]
    return next(iter([*named, *(line for line in lines if line.startswith("n: "))]), "")


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
