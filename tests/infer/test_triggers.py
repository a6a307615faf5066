"""What makes code worth reading."""

from collections.abc import Iterator

import pytest

from jaxlint import check_source
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.linter import checker
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.syntax.expressions import Call, last_name
from jaxlint.syntax.statements import all_parts

PROGRAM = """
import chex

@chex.dataclass
class State:
    x: int

def step(state):
    y = state.x
    return frobnicate(y)
"""


class Waiting(BodyRule):
    """Finds calls of `frobnicate`."""

    code = "JAX999"
    name = "waiting"
    group = "updates"
    since = "0.1.0"

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Yield each of the calls."""
        for part in all_parts(code.body):
            if isinstance(part, Call) and last_name(part.func) == "frobnicate":
                yield Problem(part.at, "found")


class Declared(Waiting):
    """The same, and says what it waits for."""

    calls = frozenset({"frobnicate"})


@pytest.mark.parametrize(("rule", "rows"), [(Waiting, []), (Declared, [10])])
def test_a_rule_says_what_it_waits_for(rule: type[BodyRule], rows: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else has to know: code in which nothing else happens is read because a rule waits for a call in it."""
    monkeypatch.setattr(checker, "rules_with", lambda plugins: (rule,))
    assert [finding.row for finding in check_source(PROGRAM)] == rows
