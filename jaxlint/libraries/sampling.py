"""The samplers of `jax.random`: of which random bits they make their numbers (measured with jax 0.10.2)."""

from __future__ import annotations

#: Those that make each number of the bits at its place: two of them that are given one key draw alike, whatever the
#: shapes (rank correlation 1.00 or -1.00, and 0.73 for those that have two values). `randint`, `gamma`, `poisson` and
#: `categorical` take other bits than these.
OF_ONE_PLACE = frozenset(
    "bernoulli bits cauchy exponential gumbel laplace normal rademacher truncated_normal uniform".split()
)
#: Those that depend on nothing but their key and what else they are given.
SAMPLERS = OF_ONE_PLACE | frozenset("beta categorical dirichlet gamma poisson randint t".split())


def are_dependent(one: str, other: str) -> bool:
    """Whether two samplers that are given one key draw numbers of which one follows from the other."""
    return one == other or {one, other} <= OF_ONE_PLACE
