"""The programs that this run of pytest asks for: what is costly is made for them alone."""

from __future__ import annotations

import pytest

from tests.oracle.cases import Program, programs


def chosen(request: pytest.FixtureRequest) -> list[Program]:
    """The programs of the tests in the file that asks, without those that `-k` and `-m` leave out.

    If none is left, all of them: the test is about all.
    """
    found: list[Program] = []
    for item in request.session.items:
        if isinstance(item, pytest.Function) and item.path == request.path and hasattr(item, "callspec"):
            of_case = item.callspec.params.get("of_case")
            found += of_case if isinstance(of_case, list) else []
    return found or list(programs())
