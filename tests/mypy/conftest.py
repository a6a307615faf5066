"""What tests of mypy share: what it knows of the libraries, and what it reports for the corpus."""

from __future__ import annotations

import dataclasses
import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.mypy.corpus import PROGRAMS, few, write
from tests.mypy.frameworks import HAS_SIMPLE_PYTREE
from tests.mypy.run import CONFIG, Report, mypy, reports
from tests.once import once

#: All that programs of the corpus and fixtures import and that has types.
LIBRARIES = """\
import chex, equinox, flax, flax.linen, flax.nnx, flax.struct, flax.training.train_state, jax, jax.experimental
import jax.numpy, jax_dataclasses, jaxtyping, mujoco.mjx, numpy, optax, penzai.pz, pytest
"""
LIBRARIES += "import simple_pytree\n" if HAS_SIMPLE_PYTREE else ""


@pytest.fixture(scope="session")
def cached(shared: Path, request: pytest.FixtureRequest) -> Path:
    """Where mypy keeps what it knows, for the next run of pytest as well; it sees itself what is out of date."""
    cache = getattr(request.config, "cache", None)
    return Path(cache.mkdir("mypy")) if cache else shared


@contextmanager
def used(cached: Path) -> Iterator[str]:
    """The option by which one mypy at a time uses what is stored."""
    with FileLock(cached / "mypy.lock"):
        yield f"--cache-dir={cached / 'cache'}"


@pytest.fixture(scope="session")
def libraries(shared: Path, cached: Path) -> Path:
    """A cache of mypy that knows the libraries: to read them takes longer than to check a hundred programs."""

    def make() -> str:
        folder = shared / "mypy_libraries"
        folder.mkdir()
        (folder / "mypy.ini").write_text(CONFIG)
        (folder / "libraries.py").write_text(LIBRARIES)
        with used(cached) as option:
            mypy(folder, "libraries.py", option)
            shutil.copytree(cached / "cache", folder / ".mypy_cache")
        return str(folder / ".mypy_cache")

    return Path(once(shared, "mypy_libraries", make))


@pytest.fixture(scope="session")
def reported(request: pytest.FixtureRequest, shared: Path, cached: Path) -> dict[str, list[Report]]:
    """What one run of mypy reports for the corpus, by program: for few of its programs, unless comparisons are run.

    For the few it is the first that mypy is asked here, if nothing is stored: libraries and programs are read at once.
    """
    is_all = any(item.get_closest_marker("comparisons") for item in request.session.items)
    folder = shared / ("mypy_corpus" if is_all else "mypy_few")

    def make() -> list[dict[str, Any]]:
        folder.mkdir()
        write(PROGRAMS.values() if is_all else few(), folder)
        if is_all:
            shutil.copytree(request.getfixturevalue("libraries"), folder / ".mypy_cache")
            return [dataclasses.asdict(report) for report in reports(mypy(folder, "."))]
        with used(cached) as option:
            return [dataclasses.asdict(report) for report in reports(mypy(folder, ".", option))]

    found: dict[str, list[Report]] = defaultdict(list)
    for values in once(shared, folder.name, make):
        report = Report(**values)
        if report.kind == "error" or "jaxlint" in report.text:
            found[Path(report.path).stem].append(report)
    return found
