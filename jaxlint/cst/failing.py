"""What a finding can do without: a fix or an advice that fails takes no finding with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from jaxlint.cst.reading import NotRead
from jaxlint.syntax.source import Unreadable

if TYPE_CHECKING:
    from jaxlint.cst.changes import Proposal

_P = ParamSpec("_P")
_T = TypeVar("_T")
#: What is said where an advice fails.
_NO_ADVICE = "the page of the rule says how"
#: What has failed since somebody asked.
FAILED: list[Exception] = []


def proposing(make: Callable[_P, Proposal | None]) -> Callable[_P, Proposal | None]:
    """A function that makes the fix of a finding; there is none if that fails, which `failures` tells."""
    return _spared(make, None)


def advising(make: Callable[_P, str]) -> Callable[_P, str]:
    """A function that says what to do about a finding; what is said is the same of all if that fails."""
    return _spared(make, _NO_ADVICE)


def _spared(make: Callable[_P, _T], otherwise: _T) -> Callable[_P, _T]:
    @wraps(make)
    def spared(*args: _P.args, **keywords: _P.kwargs) -> _T:
        try:
            return make(*args, **keywords)
        except (Unreadable, NotRead):
            raise  # which others expect
        except Exception as error:
            FAILED.append(error)
            return otherwise

    return spared


def failures() -> list[Exception]:
    """What has failed of fixes and advice since this was asked last."""
    found = FAILED.copy()
    FAILED.clear()
    return found
