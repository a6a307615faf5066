"""The table of all frameworks: what their classes do at run time, as measured, and what the model says of them."""

from __future__ import annotations

import ast

from jaxlint.pytrees.framework import Framework as Model
from jaxlint.pytrees.frameworks import FRAMEWORKS as MODELS
from tests.oracle.frameworks import FRAMEWORKS, Framework
from tools.site.executed import frameworks
from tools.site.measured import Measured
from tools.site.rule_pages import spelled

_SUBCLASSES = {"one opaque leaf": "no pytree: one opaque leaf", "[1.0, 3.0]": "a pytree with the new field"}
_SUBCLASSES |= {"[1.0]": "a pytree; the new annotation is no leaf"}
#: The frameworks whose classes are modelled by the same declaration as another spelling of them.
_TITLES = {
    "flax-dataclass": "flax.struct.dataclass",
    "flax-node": "flax.struct.PyTreeNode",
    "register-dataclass": "jax.tree_util.register_dataclass",
    "register-dataclass-mutable": "jax.tree_util.register_dataclass",
    "register-dataclass-fields": "jax.tree_util.register_dataclass",
    "jax-dataclasses": "jax_dataclasses.pytree_dataclass",
    "chex": "chex.dataclass",
    "chex-frozen": "chex.dataclass",
    "equinox": "equinox.Module",
    "simple-pytree": "simple_pytree.Pytree",
    "simple-pytree-mutable": "simple_pytree.Pytree",
    "penzai": "penzai.pz.Struct",
    "nnx": "flax.nnx.Pytree",
    "mjx": "mujoco.mjx PyTreeNode",
    "namedtuple": "typing.NamedTuple",
}


def model_of(framework: str) -> Model:
    """What jaxlint knows of a framework of the oracle."""
    return next(model for model in MODELS if model.title == _TITLES[framework])


def framework_page() -> str:
    """The page with both tables."""
    measured = frameworks()
    versions = ", ".join(f"{name} {version}" for name, version in measured.versions.items())
    rows = [_measured(FRAMEWORKS[name], one) for name, one in measured.frameworks.items()]
    return "\n".join(
        [
            "---",
            "hide:",
            "  - toc",
            "---",
            "",
            "# All frameworks: two tables",
            "",
            "A class with an array `x`, a static number `n` where there are static fields, and a `__post_init__` was",
            "declared, assigned to, rebuilt, replaced and inherited from in each framework:",
            f"{versions.capitalize()}. The first table is what was measured; the second is how fields are marked.",
            "tjax and treex need other versions of Python and jax, so that they are in the second table alone.",
            "",
            "## What was measured",
            "",
            '<div class="wide" markdown>',
            "",
            "| framework | declared by | `a.x = ...` | rebuilding runs | an updated copy"
            " | a subclass without a decorator is |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
            "</div>",
            "",
            "*Rebuilding* is what `jit`, `grad`, `vmap`, `scan` and `jax.tree.map` do with each instance that crosses",
            "them. Where it runs `__post_init__`, validation and conversion there see tracers and placeholders",
            "([validation-in-init](rules/validation-in-init.md), [conversion-in-init](rules/conversion-in-init.md)).",
            "",
            "## Which fields are static",
            "",
            "| framework | what marks a static field | leaves are in the order of |",
            "|---|---|---|",
            *(_modelled(model) for model in MODELS if model.is_pytree),
            "",
            "This table is the model that jaxlint checks with. `tests/pytrees/test_model_against_runtime.py` generates",
            "class declarations and compares the model with the real libraries.",
            "",
        ]
    )


def _measured(framework: Framework, one: Measured) -> str:
    lines = [line.format(data='"x"', meta='"n"') for line in framework.decorators] + [_base(framework)]
    declared = "<br>".join(f"`{line}`" for line in lines if line)
    assigning = "allowed" if one.assigning == "None" else f"`{one.assigning}`"
    rebuilding = "`__post_init__`" if one.rebuilding == "post" else "no code of the class"
    subclass = _SUBCLASSES.get(one.subclass, f"`{one.subclass}`")
    cells = (spelled(framework.id), declared, assigning, rebuilding, _replacing(framework), subclass)
    return f"| {' | '.join(cells)} |"


def _base(framework: Framework) -> str:
    inside = ", ".join(part for part in (framework.base, framework.class_keyword) if part)
    return f"class A({inside})" if inside else ""


def _replacing(framework: Framework) -> str:
    spelling = {"method": "a.replace(x=...)", "_replace": "a._replace(x=...)"}
    return f"`{spelling.get(framework.replace, f'{framework.replace}(a, x=...)')}`"


def _modelled(model: Model) -> str:
    static = f"`{model.static_spelling}`" if model.static_spelling else "no static fields"
    if model.static_spelling and not _is_code(model.static_spelling):
        static = model.static_spelling
    return f"| {model.title} | {static} | {model.leaf_order.value} |"


def _is_code(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
