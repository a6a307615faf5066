"""What a finding advises changes what is meant to change, whatever the receiver is."""

from __future__ import annotations

import textwrap

import pytest

from jaxlint import check_source
from tests.oracle.cases import FIXTURES

_HEAD = """
import jax
from flax import struct

@struct.dataclass
class Member:
    genome: jax.Array

"""


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (
            """
            def mutate(members: list[Member]) -> list[Member]:
                for member in members:
                    member.genome = member.genome + 1
                return members
            """,
            "write `for i, member in enumerate(members):` and `member = member.replace(genome=member.genome + 1)` and"
            " `members[i] = member`",
        ),
        (
            """
            def mutate(member: Member) -> None:
                member.genome = member.genome + 1
            """,
            "write `def mutate(member: Member) -> Member:` and `member = member.replace(genome=member.genome + 1)` and"
            " `return member`",
        ),
        (
            """
            def mutate(member: Member) -> Member:
                member.genome = member.genome + 1
                return member
            """,
            "write `member = member.replace(genome=member.genome + 1)`",
        ),
    ],
    ids=["loop", "parameter", "returned"],
)
def test_advice_for_frozen_instances(code: str, advice: str) -> None:
    (finding,) = check_source(_HEAD + textwrap.dedent(code))
    assert (finding.code, finding.help) == ("JAX401", advice)


def test_a_count_in_a_method_is_reported_with_the_method() -> None:
    """It is called in the line of the finding, in which nothing counts."""
    path = FIXTURES / "filtered-scalar" / "counted_in_part_nnx.py"
    (finding,) = check_source(path.read_text(encoding="utf-8"))
    what = finding.message.partition(":")[0]
    assert (finding.code, what) == ("JAX512", "`calls` of `Encoder` is a Python number that `__call__` counts up")


@pytest.mark.parametrize(
    "loop",
    [
        "jax.lax.scan(lambda one, x: (one.replace(count=one.count + 1), x), carry, xs)",
        "jax.lax.while_loop(lambda one: one.genome < 3, lambda one: one.replace(count=one.count + 1), carry)",
        "jax.lax.fori_loop(0, 3, lambda i, one: one.replace(count=one.count + 1), carry)",
    ],
)
def test_a_static_count_that_a_lambda_carries_is_refused_at_once(loop: str) -> None:
    counted = _HEAD.rstrip() + "\n    count: int = struct.field(pytree_node=False, default=0)\n"
    (finding,) = check_source(f"{counted}\n\ndef run(carry: Member, xs: jax.Array):\n    return {loop}\n")
    assert finding.code == "JAX202"
    assert "a loop of jax that carries it raises TypeError" in finding.message


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("@jax.jit\ndef make(x):\n    return Member(x, count=x)\n", "JAX208"),
        ("def make():\n    return Member(jnp.ones(2), count=jnp.ones(2))\n", "JAX201"),
    ],
)
@pytest.mark.parametrize("is_needed", [True, False])
def test_a_number_that_makes_a_shape_is_to_stay_static(given: str, code: str, is_needed: bool) -> None:
    counted = (
        f"import jax.numpy as jnp{_HEAD.rstrip()}\n    count: int = struct.field(pytree_node=False, default=0)\n\n\n"
    )
    read = "jnp.zeros(member.count)" if is_needed else "member.genome"
    reading = f"@jax.jit\ndef read(member: Member):\n    return {read}\n\n\n"
    (finding,) = check_source(counted + reading + given)
    advice = "give it a Python number: it has to be static, as `read` needs its value in a shape"
    assert finding.code == code
    assert (advice in finding.message, finding.fix is None) == (is_needed, is_needed)
