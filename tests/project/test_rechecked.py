"""How many modules of a suite of environments are checked again when one of them changes: the one, and few others.

An environment has a base class with compiled methods, a state and parameters of its own, a viewer and spaces, which are
no pytrees; a registry imports all. What a rule asks of all subclasses, or of all importers, makes each depend on all
others (gymnax: 43 of 53 files).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxlint.cache.store import Cache
from jaxlint.config.settings import Settings
from jaxlint.finding import Confidence
from jaxlint.linter.engine import check_paths

BASE = '''from functools import partial
from typing import Any, Generic, TypeVar

import jax
from flax import struct

from suite.spaces import Space


@struct.dataclass
class EnvState:
    time: int


@struct.dataclass
class EnvParams:
    max_steps_in_episode: int = 1


TState = TypeVar("TState", bound="EnvState")
TParams = TypeVar("TParams", bound="EnvParams")


@struct.dataclass
class Spaces:
    seen: Space


class Viewer:
    def __init__(self) -> None:
        self.frames = 0


class Environment(Generic[TState, TParams]):
    """The base of all environments."""

    @property
    def default_params(self) -> EnvParams:
        return EnvParams()

    @partial(jax.jit, static_argnums=(0,))
    def step(self, key: jax.Array, state: TState, action: int, params: TParams | None = None):
        if params is None:
            params = self.default_params
        obs, new, reward, done = self.step_env(key, state, action, params)
        old_obs, old = self.reset_env(key, params)
        new = jax.tree.map(lambda x, y: jax.lax.select(done, x, y), old, new)
        return jax.lax.select(done, old_obs, obs), new, reward, done

    @partial(jax.jit, static_argnums=(0,))
    def reset(self, key: jax.Array, params: TParams | None = None):
        return self.reset_env(key, self.default_params if params is None else params)

    def step_env(self, key: jax.Array, state: TState, action: int, params: TParams) -> Any:
        raise NotImplementedError

    def reset_env(self, key: jax.Array, params: TParams) -> Any:
        raise NotImplementedError
'''
ENVIRONMENT = """from typing import Any

import jax
import jax.numpy as jnp
from flax import struct

from suite import environment
from suite.spaces import Space


@struct.dataclass
class EnvState(environment.EnvState):
    x: jax.Array
    speed: jax.Array


@struct.dataclass
class EnvParams(environment.EnvParams):
    gravity: float = {number}.0
    max_steps_in_episode: int = 200


class Env{number}(environment.Environment[EnvState, EnvParams]):
    def __init__(self):
        super().__init__()
        self.obs_shape = (2,)

    @property
    def default_params(self) -> EnvParams:
        return EnvParams()

    def step_env(self, key: jax.Array, state: EnvState, action: int, params: EnvParams) -> Any:
        speed = state.speed + params.gravity * action
        state = EnvState(x=state.x + speed, speed=speed, time=state.time + 1)
        done = self.is_terminal(state, params)
        return jax.lax.stop_gradient(self.get_obs(state)), state, jnp.array(1.0), done

    def reset_env(self, key: jax.Array, params: EnvParams) -> Any:
        state = EnvState(x=jax.random.uniform(key), speed=jnp.zeros(()), time=0)
        return self.get_obs(state), state

    def get_obs(self, state: EnvState) -> jax.Array:
        return jnp.array([state.x, state.speed])

    def is_terminal(self, state: EnvState, params: EnvParams) -> jax.Array:
        return jnp.logical_or(jnp.abs(state.x) > 2.4, state.time >= params.max_steps_in_episode)

    def space(self) -> Space:
        return Space((2,))

    @property
    def num_actions(self) -> int:
        return 2


class Viewer{number}(environment.Viewer):
    def show(self, state: EnvState) -> None:
        print(state.x, self.frames)
"""
SPACES = """class Space:
    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
"""
WRAPPER = """from functools import partial

import jax
from flax import struct

from suite import environment


@struct.dataclass
class LogState:
    env_state: environment.EnvState
    returns: float
    length: int


class LogWrapper:
    def __init__(self, env: environment.Environment):
        self._env = env

    def __getattr__(self, name):
        return getattr(self._env, name)

    @partial(jax.jit, static_argnums=(0,))
    def step(self, key, state: LogState, action, params=None):
        obs, env_state, reward, done = self._env.step(key, state.env_state, action, params)
        state = LogState(env_state=env_state, returns=state.returns + reward, length=state.length + 1)
        return obs, state, reward, done
"""
NUMBERS = range(1, 21)


def write_suite(root: Path) -> Path:
    """Twenty environments, their base, a wrapper, and a registry of all of them."""
    suite = root / "suite"
    suite.mkdir()
    (root / "pyproject.toml").write_text("")
    names = [f"env{number}" for number in NUMBERS]
    imports = "".join(f"from suite.{name} import Env{number}\n" for name, number in zip(names, NUMBERS, strict=True))
    cases = "".join(f"    if name == '{name}':\n        return Env{name[3:]}()\n" for name in names)
    (suite / "__init__.py").write_text("from suite.registration import make\n")
    (suite / "registration.py").write_text(f"{imports}\n\ndef make(name):\n{cases}    raise ValueError(name)\n")
    (suite / "environment.py").write_text(BASE)
    (suite / "spaces.py").write_text(SPACES)
    (suite / "wrappers.py").write_text(WRAPPER)
    for name, number in zip(names, NUMBERS, strict=True):
        (suite / f"{name}.py").write_text(ENVIRONMENT.replace("{number}", str(number)))
    return suite


@pytest.mark.usefixtures("small_heap")
def test_a_change_in_one_environment(tmp_path: Path, checked: list[str]) -> None:
    """What a body returns, and what it does, changes in one of twelve modules: at most a third is checked again."""
    suite = write_suite(tmp_path)

    def run() -> set[str]:
        checked.clear()
        settings = Settings(min_confidence=Confidence.LOW)
        result = check_paths([str(tmp_path)], settings, cache=Cache(str(tmp_path / "cache")))
        assert not result.errors
        return {Path(path).name for path in checked}

    every = {path.name for path in suite.glob("*.py")}
    assert run() == every
    assert not run()
    path = suite / "env3.py"
    for before, after in (
        ("return 2", "return 3"),
        ("state.x + speed", "state.x - speed"),
        ("self.obs_shape = (2,)", "self.obs_shape = (2, 1)"),
    ):
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after))
        again = run()
        print(sorted(again))
        assert "env3.py" in again
        assert len(again) <= len(every) / 3


TIMES = """from flax import struct
import jax


@struct.dataclass
class TimeStep:
    reward: jax.Array
    extras: dict


def transition(reward, extras=None):
    return TimeStep(reward=reward, extras=extras)


def termination(reward, extras=None):
    return TimeStep(reward=reward, extras=extras)
"""
STEPPING = """import jax

from suite.times import TimeStep, termination, transition


class Env{number}:
    def step(self, state, action) -> TimeStep:
        return jax.lax.cond(state > {number}, termination, transition, state)

    def first(self, state) -> TimeStep:
        return transition(state, extras={"number": {number}})
"""


@pytest.mark.usefixtures("small_heap")
def test_what_all_compile(tmp_path: Path, checked: list[str]) -> None:
    """One of twenty modules that give the functions of another one to a transformation changes: that is no other one.

    What callers give to these functions is looked for in all of them, for the findings of where they are declared.
    """
    suite = tmp_path / "suite"
    suite.mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    imports = "".join(f"from suite.env{number} import Env{number} as Env{number}\n" for number in NUMBERS)
    (suite / "__init__.py").write_text(imports)
    (suite / "times.py").write_text(TIMES)
    (suite / "viewer.py").write_text("import suite\nfrom suite.times import TimeStep\n\n\ndef show(t: TimeStep): ...\n")
    for number in NUMBERS:
        (suite / f"env{number}.py").write_text(STEPPING.replace("{number}", str(number)))

    def run() -> set[str]:
        checked.clear()
        settings = Settings(min_confidence=Confidence.LOW)
        result = check_paths([str(tmp_path)], settings, cache=Cache(str(tmp_path / "cache")))
        assert not result.errors
        return {Path(path).name for path in checked}

    assert len(run()) == len(NUMBERS) + 3
    path = suite / "env3.py"
    path.write_text("# longer\n\n" + path.read_text())
    assert {"env3.py"} <= run() <= {"env3.py", "times.py", "__init__.py"}
    path.write_text(
        path.read_text().replace("jax.lax.cond(state > 3, termination", "jax.lax.cond(state > 3, transition")
    )
    assert {"env3.py"} <= run() <= {"env3.py", "times.py", "__init__.py"}  # others give it `termination`, too


LEAF = """import jax
from flax import struct


@struct.dataclass
class Leaf{number}:
    x: jax.Array
"""
USER = """import jax

import suite
from suite import Leaf{number}


def use(leaf: Leaf{number}, other: suite.Leaf{number}):
    leaf.x = other.x
"""


def test_names_that_a_package_hands_on(tmp_path: Path, checked: list[str]) -> None:
    """Who imports a name from a package does not depend on the others, but on from where the package has this one."""
    suite = tmp_path / "suite"
    suite.mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    imports = "".join(f"from suite.leaf{number} import Leaf{number}\n" for number in NUMBERS)
    (suite / "__init__.py").write_text(imports + "import suite\n\nx: suite.Leaf3\ny: suite.Leaf4\n")
    for number in NUMBERS:
        (suite / f"leaf{number}.py").write_text(LEAF.replace("{number}", str(number)))
        (suite / f"user{number}.py").write_text(USER.replace("{number}", str(number)))

    def run() -> tuple[set[str], set[str]]:
        checked.clear()
        settings = Settings(min_confidence=Confidence.LOW)
        result = check_paths([str(tmp_path)], settings, cache=Cache(str(tmp_path / "cache")))
        assert not result.errors
        return {Path(path).name for path in checked}, {Path(one.path).name for one in result.findings}

    users = {f"user{number}.py" for number in NUMBERS}
    assert run()[1] == users
    (suite / "leaf3.py").write_text(LEAF.replace("{number}", "3") + "\n    def f(self):\n        return 1\n")
    again, found = run()
    assert {"leaf3.py", "user3.py"} <= again <= {"leaf3.py", "user3.py", "__init__.py"}
    assert found == users
    (suite / "__init__.py").write_text("# longer\n" + (suite / "__init__.py").read_text())
    assert run() == ({"__init__.py"}, users)
    text = (suite / "__init__.py").read_text()
    (suite / "__init__.py").write_text(text.replace("x: suite.Leaf3", "class Leaf3: ...") + "\n\ndef Leaf5(): ...\n")
    again, found = run()
    assert again == {"__init__.py", "user3.py", "user5.py"}
    assert found == users - {"user3.py", "user5.py"}
