"""The fixes that findings carry: what a file is after each of them."""

from __future__ import annotations

import ast

import pytest

from jaxlint import check_source
from jaxlint.finding import Applicability, Finding, Fix

HEADER = "import jax\nfrom flax import struct\n\n@struct.dataclass\nclass State:\n    step: jax.Array\n\n"
SAFE, UNSAFE = Applicability.SAFE, Applicability.UNSAFE


def found(text: str, code: str) -> list[Finding]:
    return [f for f in check_source(text) if f.code == code]


def applied(text: str, fix: Fix) -> str:
    for edit in sorted(fix.edits, key=lambda e: e.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


UNUSED = {
    "x = 1  # noqa: JAX401\n": "x = 1\n",
    "x = 1  # noqa: JAX401 -- why not\n": "x = 1\n",
    "x = 1  # noqa: JAX401, JAX402\n": "x = 1\n",
    "x = 1  # noqa: E501, JAX401\n": "x = 1  # noqa: E501\n",
    "x = 1  # noqa: JAX401, E501\n": "x = 1  # noqa: E501\n",
    "x = 1  # noqa: JAX401, E501, JAX402 -- long\n": "x = 1  # noqa: E501 -- long\n",
    "x = 1  # noqa: JAX401  # type: ignore\n": "x = 1  # type: ignore\n",
    "x = 1  # type: ignore  # noqa: JAX401\n": "x = 1  # type: ignore\n",
    "x = '😀'  # jaxlint: ignore[frozen-assignment] -- 😀\n": "x = '😀'\n",
    "# jaxlint: ignore-file[JAX401]\nx = 1\n": "x = 1\n",
    "x = 1\n# jaxlint: ignore-file[JAX401]": "x = 1\n",
    "x = (\n    1,\n    # jaxlint: ignore[JAX401]\n)\n": "x = (\n    1,\n)\n",
    "x = 1  # noqa: JAX401\r\ny = 2\r\n": "x = 1\r\ny = 2\r\n",
}


@pytest.mark.parametrize("text", UNUSED)
def test_unused_suppressions_are_removed(text: str) -> None:
    before = HEADER.replace("\n", "\r\n") if "\r" in text else HEADER
    for finding in found(before + text, "JAX002"):
        assert finding.fix is not None and finding.fix.applicability is SAFE
        after = applied(before + text, finding.fix)
        assert after == before + UNUSED[text]
        assert ast.dump(ast.parse(after)) == ast.dump(ast.parse(before + text))
        assert not found(after, "JAX002")
    assert found(before + text, "JAX002")


def test_text_behind_a_comment_is_not_left_standing() -> None:
    (finding,) = found(HEADER + "x = 1  # noqa: JAX401 because of the test\n", "JAX002")
    assert finding.fix is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    state.replace(step=1)\n", "    state = state.replace(step=1)\n"),
        ("    if state: state.replace(step=1)\n", "    if state: state = state.replace(step=1)\n"),
        (
            "    x = 1; state.replace(\n        step=1\n    )\n",
            "    x = 1; state = state.replace(\n        step=1\n    )\n",
        ),
    ],
)
def test_a_discarded_update_is_assigned(before: str, after: str) -> None:
    text = HEADER + "def f(state: State):\n" + before + "    return state\n"
    (finding,) = found(text, "JAX403")
    assert finding.fix is not None and finding.fix.applicability is UNSAFE
    assert applied(text, finding.fix) == HEADER + "def f(state: State):\n" + after + "    return state\n"
    assert not check_source(applied(text, finding.fix))


def test_a_discarded_update_is_returned() -> None:
    text = HEADER + "def f(state: State):\n    state.replace(step=1).replace(step=2)\n"
    (finding,) = found(text, "JAX403")
    assert finding.fix is not None and finding.fix.applicability is UNSAFE
    after = "    state = state.replace(step=1).replace(step=2)\n    return state\n"
    assert applied(text, finding.fix) == HEADER + "def f(state: State):\n" + after


@pytest.mark.parametrize(
    "text",
    [
        "def f(state: State):\n    (state.replace(step=1))\n",
        "def f(state: State):\n    (\n        state.replace(step=1)\n    )\n",
        "def f(state: State):\n    state and state.replace(step=1)\n",
        "def f(state: State):\n    state.replace(step=1) if state else None\n",
        "def f(states: list[State]):\n    [state.replace(step=1) for state in states]\n",
        "state = State(step=0)\ndef f():\n    state.replace(step=1)\n",
    ],
)
def test_no_assignment_where_it_would_not_do(text: str) -> None:
    assert [f.fix for f in found(HEADER + text, "JAX403")] in ([None], [None, None])
