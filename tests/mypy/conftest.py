"""What tests of mypy share: what it knows of the libraries, and what it reports for the corpus."""

from __future__ import annotations

import dataclasses
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

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
def libraries(shared: Path) -> Path:
    """A cache of mypy that knows the libraries: to read them takes longer than to check a hundred programs."""

    def make() -> str:
        folder = shared / "mypy_libraries"
        folder.mkdir()
        (folder / "mypy.ini").write_text(CONFIG)
        (folder / "libraries.py").write_text(LIBRARIES)
        mypy(folder, "libraries.py")
        return str(folder / ".mypy_cache")

    return Path(once(shared, "mypy_libraries", make))


@pytest.fixture(scope="session")
def reported(request: pytest.FixtureRequest, shared: Path) -> dict[str, list[Report]]:
    """What one run of mypy reports for the corpus, by program: for few of its programs, unless comparisons are run."""
    is_all = any(item.get_closest_marker("comparisons") for item in request.session.items)
    folder = shared / ("mypy_corpus" if is_all else "mypy_few")

    def make() -> list[dict[str, Any]]:
        if is_all:
            shutil.copytree(request.getfixturevalue("libraries"), folder / ".mypy_cache")
        folder.mkdir(exist_ok=True)
        write(PROGRAMS.values() if is_all else few(), folder)
        return [dataclasses.asdict(report) for report in reports(mypy(folder, "."))]

    found: dict[str, list[Report]] = defaultdict(list)
    for values in once(shared, folder.name, make):
        report = Report(**values)
        if report.kind == "error" or "jaxlint" in report.text:
            found[Path(report.path).stem].append(report)
    return found
