"""What holds for all tests."""

import gc
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.browser import browser
from tests.oracle.environments import Runners
from tests.oracle.frameworks import MAIN
from tests.oracle.linting import fingerprint
from tools.external import Unavailable

# Where Python is asked to store no byte code, each of the thousand processes that tests start would compile all anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# An environment that is activated is where jaxlint looks for versions: what is expected does not depend on the shell.
for activated in ("VIRTUAL_ENV", "CONDA_PREFIX"):
    os.environ.pop(activated, None)
# Nothing of what is collected goes away, and ten thousand tests are looked through often meanwhile.
gc.disable()

# A slow machine is slow, never wrong: how long an example takes to make says nothing.
settings.register_profile("patient", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

#: The files that take longest, which are begun first: what comes last is short, and both processes end together.
LONG = (
    *("rules/test_fixtures_run", "rules/test_fixtures_lint", "fixes/test_fixed_fixtures", "mypy/test_corpus"),
    *("mypy/test_programs", "mypy/test_fixtures", "pytrees/test_model_against_runtime", "linter/test_modes"),
)

#: The processes that were started before the tests are known.
BEGUN = pytest.StashKey[Runners]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """How much is tried."""
    parser.addoption("--frameworks", action="store_true", help="the programs of fixtures in all of their frameworks")
    parser.addoption("--thorough", action="store_true", help="all that is tried at random, instead of a sample")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put long files first; leave out the programs in further frameworks, unless they are asked for."""
    items.sort(key=lambda item: not item.nodeid.startswith(tuple(f"tests/{name}.py" for name in LONG)))
    options = config.getini("addopts")
    if config.option.frameworks or config.option.markexpr != options[options.index("-m") + 1]:
        return
    others = {item for item in items if item.get_closest_marker("frameworks")}
    config.hook.pytest_deselected(items=list(others))
    items[:] = [item for item in items if item not in others]


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two processes; one where `-k` asks for little: others would find out once more which tests there are."""
    return 0 if config.option.keyword else 2


def pytest_collection_finish() -> None:
    """Tests and libraries stay to the end: they are not looked through for what is left behind, again and again.

    A check leaves behind a hundred thousand objects at once, and what a test has made is used until it ends.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.fixture(scope="module")
def small_heap() -> None:
    """What other tests have made is not looked through again and again, where a project lets go of all at each file."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def is_thorough(request: pytest.FixtureRequest) -> bool:
    """Whether all is to be tried, and not a sample of it."""
    return bool(request.config.getoption("--thorough"))


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test starts from nothing and leaves nothing behind; the tests of the cache take this back."""
    monkeypatch.setenv("JAXLINT_NO_CACHE", "1")


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for this run that all processes of pytest share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def stored(shared: Path, request: pytest.FixtureRequest) -> Path:
    """Where findings in fixtures stay, for the next run of pytest as well, if what they depend on is the same then."""
    cache = getattr(request.config, "cache", None)
    place = Path(cache.mkdir("linted")) if cache else shared / "linted"
    folder = place / fingerprint()
    folder.mkdir(parents=True, exist_ok=True)
    for old in place.iterdir():
        if old != folder:
            shutil.rmtree(old, ignore_errors=True)
    return folder


@pytest.fixture(scope="session")
def runners(shared: Path, request: pytest.FixtureRequest) -> Iterator[Runners]:
    """Processes that run programs against the real libraries.

    XLA stores what it has compiled for one program for all others, and for the next run of pytest. It knows it by the
    code, the options and its own version.
    """
    cache = getattr(request.config, "cache", None)
    begun = request.config.stash.get(BEGUN, None)
    if begun is None:
        folder = Path(cache.mkdir("compiled")) if cache else shared / "compiled"
        folder.mkdir(exist_ok=True)
        begun = Runners(folder)
    yield begun
    begun.end()


def pytest_collection(session: pytest.Session) -> None:
    """Where a few programs are asked for, the processes that run them import jax while the tests are looked for."""
    config, cache = session.config, getattr(session.config, "cache", None)
    is_about_programs = any(Path(argument).name in ("rules", "test_fixtures_run.py") for argument in config.args)
    if cache and config.option.keyword and is_about_programs and not config.option.collectonly:
        config.stash[BEGUN] = Runners(Path(cache.mkdir("compiled")))
        config.stash[BEGUN].begin(MAIN, 2)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End what no test has asked for."""
    if BEGUN in config.stash:
        config.stash[BEGUN].end()


@pytest.fixture(scope="session")
def chromium_browser() -> Iterator[Any]:
    """A headless Chromium, in the words of playwright."""
    try:
        with browser() as made:
            yield made
    except Unavailable as error:
        pytest.skip(f"there is no browser: {error}")
