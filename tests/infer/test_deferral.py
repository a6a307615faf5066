"""Values that are found out when somebody asks: the findings are those of values that are found out at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from jaxlint.config.settings import Settings
from jaxlint.infer.evaluating import deferral
from jaxlint.infer.evaluating.deferral import Deferral
from jaxlint.infer.known.deferred import Deferred, Held
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.values import Value
from jaxlint.linter.engine import check_paths, check_source
from jaxlint.syntax.expressions import Expr

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"


def _at_once(self: Deferral, expr: Expr, env: Environment) -> Held:
    return self.evaluator.evaluate(expr, env)


@pytest.mark.comparisons
def test_the_findings_do_not_depend_on_when_values_are_found_out(
    monkeypatch: pytest.MonkeyPatch, is_thorough: bool
) -> None:
    """In each third fixture of each rule; in all of them with `--thorough`."""
    paths = sorted(map(str, FIXTURES.glob("*/*.py")))[:: 1 if is_thorough else 3]
    made = _Counted.made
    monkeypatch.setattr(deferral, "Deferred", _Counted)
    deferred = check_paths(paths, Settings(select=("JAX",)))
    monkeypatch.setattr(Deferral, "later", _at_once)
    monkeypatch.setattr(Deferral, "skim", _at_once)
    at_once = check_paths(paths, Settings(select=("JAX",)))
    assert not deferred.errors
    assert deferred.findings == at_once.findings
    assert deferred.suppressed == at_once.suppressed
    assert len(deferred.findings) > (300 if is_thorough else 200)
    # it did wait, and often nobody asked
    assert len(made) > 1000
    assert sum(held.is_open for held in made) > 0.3 * len(made)


class _Counted(Deferred):
    """Counts the values that wait."""

    made: ClassVar[list[Deferred]] = []

    def __init__(self, find: Callable[[], Value], needs: Sequence[Held]) -> None:
        super().__init__(find, needs)
        self.made.append(self)


def test_a_long_chain_of_assignments_needs_no_deep_stack() -> None:
    text = (
        "import jax.numpy as jnp\nfrom flax import struct\n\n\n@struct.dataclass\nclass State:\n"
        "    p: jnp.ndarray\n    n: int = struct.field(pytree_node=False)\n\n\ndef step(state: State, x):\n"
        "    x = jnp.ones(3)\n" + "    x = jnp.add(x, 1)\n" * 2000 + "    return state.replace(n=x)\n"
    )
    (finding,) = check_source(text)
    assert (finding.code, finding.row) == ("JAX201", 2013)


def test_what_is_found_out_later_is_what_it_was_then() -> None:
    text = (
        "import jax.numpy as jnp\nfrom flax import struct\n\n\n@struct.dataclass\nclass State:\n"
        "    p: jnp.ndarray\n    n: int = struct.field(pytree_node=False)\n\n\ndef step(state: State, flag: bool):\n"
        "    x = jnp.ones(3)\n    y = x + 1\n    x = 3\n    if flag:\n        z = y\n    else:\n        z = x\n"
        "    a = state.replace(n=y)\n    b = state.replace(n=x)\n    c = state.replace(n=z)\n    return a, b, c\n"
    )
    assert [(f.code, f.row) for f in check_source(text)] == [("JAX201", 19)]
