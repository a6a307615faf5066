"""Checking modules in several processes, after the outlines are known to all of them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from jaxlint.finding import Finding
from jaxlint.project import Module

if TYPE_CHECKING:
    from jaxlint.engine import Checker

_state: tuple[Checker, Sequence[Module]] | None = None


def check_in_processes(
    checker: Checker, modules: Sequence[Module], jobs: int, advance: Callable[[], None]
) -> list[Finding]:
    """The findings of all modules, in their order; worker processes inherit what the checker has learnt.

    Where processes cannot be forked the modules are checked in this one.
    """
    global _state
    if "fork" not in multiprocessing.get_all_start_methods():
        return [finding for module in modules for finding in checker.check(module)]
    _state = (checker, modules)
    findings: list[Finding] = []
    try:
        with multiprocessing.get_context("fork").Pool(min(jobs, len(modules))) as pool:
            for found, errors in pool.imap(_check_one, range(len(modules)), chunksize=8):
                findings += found
                checker.errors += errors
                advance()
    finally:
        _state = None
    return findings


def _check_one(index: int) -> tuple[list[Finding], list[str]]:
    assert _state is not None
    checker, modules = _state
    checker.errors = []
    return checker.check(modules[index]), checker.errors
