"""Classes of well-known packages, described by stubs of ours where their own source is not in sight."""

from __future__ import annotations

import os
from functools import cache

import msgspec

from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol

#: The modules described, and the files that do it.
_FOLDER = os.path.join(os.path.dirname(__file__), "")
_FILES = {
    "flax.training.train_state": "train_state.pyi",
    "mujoco.mjx": "mjx.pyi",
    "brax.envs": "brax_envs.pyi",
    "brax.envs.base": "brax_envs.pyi",
    "flax.nnx": "flax_nnx.pyi",
    "flax.nnx.metrics": "flax_nnx.pyi",
    **dict.fromkeys(("penzai.nn.layer", "penzai.pz.nn"), "penzai_nn.pyi"),
}
_EQUINOX_LAYERS = "equinox.nn"
_EQUINOX_FILE = "equinox_nn.pyi"
#: The packages of which something is described.
DESCRIBED = frozenset(name.partition(".")[0] for name in (*_FILES, _EQUINOX_LAYERS))
#: Described even where the package's own source can be read: rules know their methods, or them by their names.
ALWAYS = frozenset(
    {
        "flax.training.train_state.TrainState",
        *(f"flax.nnx.{name}" for name in ("Optimizer", "ModelAndOptimizer", "Metric", "MultiMetric")),
        *(f"flax.nnx.{name}" for name in ("Rngs", "RngStream")),
        *(f"flax.nnx.{name}" for name in ("BatchNorm", "Dropout", "SpectralNorm", "Sequential", "List")),
        *(f"flax.nnx.metrics.{name}" for name in ("Metric", "Average", "Accuracy", "Welford", "MultiMetric")),
    }
)
#: The packages of these.
ALWAYS_DESCRIBED = frozenset(name.partition(".")[0] for name in ALWAYS)


def described(name: str) -> ClassSymbol | FunctionSymbol | None:
    """The class or function that a dotted name of a well-known package stands for, or None."""
    package, _, last = name.rpartition(".")
    if package == _EQUINOX_LAYERS and last[:1].isupper() and last != "State":  # which is no module (0.13.8)
        module = _module(_EQUINOX_FILE, package)
        layer = module.outline.classes["Layer"]
        return ClassSymbol(module, msgspec.structs.replace(layer, name=last, qualname=last))
    if package not in _FILES:
        return None
    module = _module(_FILES[package], package)
    if last in module.outline.classes:
        return ClassSymbol(module, module.outline.classes[last])
    if last in module.outline.functions:
        return FunctionSymbol(module, module.outline.functions[last])
    return None


def is_stub(module: Module) -> bool:
    """Whether the module is a description of ours instead of a file of the user's."""
    return module.path.startswith(_FOLDER)


def is_collective(symbol: ClassSymbol) -> bool:
    """Whether one description stands for many classes, so that no one of them need have the fields that it lists."""
    return symbol.module.path == _FOLDER + _EQUINOX_FILE


@cache
def _module(file: str, name: str) -> Module:
    return Module(_FOLDER + file, name, False, ())
