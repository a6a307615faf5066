"""Reports that a comment hides."""

from __future__ import annotations

from tests.mypy.cases.states import NOTED

CASES: dict[str, str] = {
    "suppressed_ok": "# only: flax"
    + """
@class S
    x: jax.Array
    n: int = 0
def f(s: S) -> None:
    s.n = 1  # type: ignore[jaxlint]
    s.n = 1  # type: ignore[jaxlint-frozen-assignment]
    s.n = 1  # type: ignore
    s.n = 1  # noqa: JAX401
    s.n = 1  # jaxlint: ignore[frozen-assignment]
""",
    "ignored_ok": NOTED
    + """
def f(s: S) -> None:
    s.n = 1  # type: ignore[jaxlint]
    s.x[0] = 1.0  # type: ignore[jaxlint-item-assignment]
    s.x.at[0].set(1.0)  # type: ignore[jaxlint]
    s.x.at[0].set(2.0)  # jaxlint: ignore
    REPLACE(s, n=1)  # type: ignore[jaxlint-discarded-update]
""".replace("    s.n = 1  # type: ignore[jaxlint]\n", ""),
}
