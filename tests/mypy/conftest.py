"""What tests of mypy share: what it knows of the libraries, and what it reports for the corpus."""

from __future__ import annotations

import dataclasses
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.mypy.corpus import write
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
def reported(shared: Path, libraries: Path) -> dict[str, list[Report]]:
    """What one run of mypy over the corpus reports, by program."""

    def make() -> list[dict[str, Any]]:
        folder = shared / "mypy_corpus"
        shutil.copytree(libraries, folder / ".mypy_cache")
        write(folder)
        return [dataclasses.asdict(report) for report in reports(mypy(folder, "."))]

    found: dict[str, list[Report]] = defaultdict(list)
    for values in once(shared, "mypy_corpus", make):
        report = Report(**values)
        if report.kind == "error" or "jaxlint" in report.text:
            found[Path(report.path).stem].append(report)
    return found
