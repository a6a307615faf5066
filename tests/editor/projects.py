"""A small project of several modules, and pieces of text to edit it with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

FILES: Mapping[str, str] = {
    "pyproject.toml": '[project]\nname = "sample"\n\n[tool.jaxlint]\nextend-select = ["JAX109"]\n',
    "app/__init__.py": "from app.states import State\n",
    "app/states.py": (
        "import jax\n"
        "from flax import struct\n"
        "\n"
        "\n"
        "@struct.dataclass\n"
        "class State:\n"
        "    weight: jax.Array\n"
        "    step: int = struct.field(pytree_node=False, default=0)\n"
        "\n"
        "    def next(self):\n"
        "        return self.replace(step=self.step + 1)\n"
        "\n"
        "\n"
        "def make() -> State:\n"
        "    return State(weight=jax.numpy.zeros(3))\n"
    ),
    "app/train.py": (
        "from app.states import State, make\n"
        "\n"
        "\n"
        "def train(state: State) -> State:\n"
        "    state.step = 1\n"
        "    state.replace(step=2)\n"
        "    return state.replace(stop=3)\n"
        "\n"
        "\n"
        "def begin():\n"
        "    state = make()\n"
        "    state.weight = 0  # noqa: JAX401 -- a test\n"
        "    return state\n"
    ),
    "app/derived.py": (
        "import jax\n"
        "from flax import struct\n"
        "\n"
        "from . import State\n"
        "\n"
        "\n"
        "@struct.dataclass\n"
        "class Wide(State):\n"
        "    extra: jax.Array = None\n"
        "    table: list = struct.field(pytree_node=False, default=())\n"
        "\n"
        "\n"
        "class Plain(State):\n"
        "    more: jax.Array\n"
    ),
    "scripts/run.py": (
        "import equinox as eqx\n"
        "import jax\n"
        "\n"
        "from app.derived import Wide\n"
        "from app.train import train\n"
        "\n"
        "\n"
        "class Model(eqx.Module):\n"
        "    scale: jax.Array\n"
        "    mask: jax.Array = eqx.field(static=True)\n"
        "\n"
        "    def __call__(self, wide: Wide):\n"
        "        self.scale = 2\n"
        "        wide.extra = 1\n"
        "        return train(wide)\n"
    ),
}

#: Lines that are put into files: they make findings, remove them, change what other modules see, or break the syntax.
LINES = (
    "",
    "# a comment, 😀 äöü",
    "# noqa: JAX401",
    "# jaxlint: ignore-file[JAX401]",
    "x = 1  # jaxlint: ignore[JAX403] -- none here",
    "    state.step = 2",
    "    state.weight = 3  # noqa: JAX401",
    "    state.replace(step=7)",
    "    count: int = 0",
    "    step: jax.Array = None",
    "    step: jax.Array = struct.field(pytree_node=False)",
    "    weight: jax.Array = struct.field(pytree_node=False)",
    "    state = state.replace(unknown=1)",
    "def broken(:",
    "@struct.dataclass",
    "@struct.dataclass(frozen=False)",
    "class State(object):",
    "class Wide:",
    "from app.states import State",
    "from app.derived import Wide as State",
    "import app.states",
    "def make():",
    "    return None",
    "def other(state: State):\n    state.step = 5\n    return state",
    "from app.states import make\nthing = make()\nthing.step = 3",
)


def write(folder: Path, files: Mapping[str, str] = FILES) -> None:
    """Put the files into a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
