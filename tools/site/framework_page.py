"""The table of all frameworks: what their classes do at run time, as measured."""

from __future__ import annotations

from collections.abc import Mapping

from jaxlint.pytrees.framework import Framework as Model
from jaxlint.pytrees.framework import LeafOrder
from jaxlint.pytrees.frameworks import FRAMEWORKS as MODELS
from tests.oracle.frameworks import FRAMEWORKS, Framework
from tools.site.executed import frameworks
from tools.site.measured import Measured, marks_static
from tools.site.rule_pages import spelled

_SUBCLASSES = {
    "one opaque leaf": "no pytree: one opaque leaf",
    "[1.0, 3.0]": "a pytree with `y`",
    "[1.0]": "a pytree without `y`",
    "[]": "a pytree without any leaf",
}
_METHODS = {"method": "a.replace", "_replace": "a._replace"}
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
    "tjax": "tjax.dataclasses.dataclass",
    "simple-pytree": "simple_pytree.Pytree",
    "simple-pytree-mutable": "simple_pytree.Pytree",
    "penzai": "penzai.pz.Struct",
    "nnx": "flax.nnx.Pytree",
    "mjx": "mujoco.mjx PyTreeNode",
    "namedtuple": "typing.NamedTuple",
    "treex": "treex.Module",
}


def model_of(framework: str) -> Model:
    """What jaxlint knows of a framework of the oracle."""
    return next(model for model in MODELS if model.title == _TITLES[framework])


def framework_page() -> str:
    """The page with the table."""
    measured = frameworks()
    rows = [_row(FRAMEWORKS[name], one) for name, one in measured.frameworks.items()]
    others = "; ".join(f"{spelled(name)} with {_listed(known)}" for name, known in measured.elsewhere.items())
    sorted_ones = ", ".join(one.title for one in MODELS if one.is_pytree and one.leaf_order is LeafOrder.ALPHABETICAL)
    return "\n".join(
        [
            "---",
            "hide:",
            "  - toc",
            "---",
            "",
            "# All frameworks in one table",
            "",
            '<div class="wide" markdown>',
            "",
            "| framework and declaration | marks a static field | frozen | rebuilding runs | an updated copy"
            " | a subclass with a field `y` is |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
            "</div>",
            "",
            "A class with an array `x`, a static number `n` where there are static fields, and a `__post_init__` was",
            "declared, assigned to, rebuilt, replaced and inherited from without a decorator. What is *frozen* raised",
            "FrozenInstanceError, or what is named, when a field was assigned to. All of it was measured:",
            f"with {_listed(measured.versions)}; {others}.",
            "",
            "*Rebuilding* is what `jit`, `grad`, `vmap`, `scan` and `jax.tree.map` do with each instance that crosses",
            "them. Where it runs `__post_init__`, validation and conversion there see tracers and placeholders",
            "([validation-in-init](rules/validation-in-init.md), [conversion-in-init](rules/conversion-in-init.md)).",
            "",
            "In mjx the annotation decides: a field is a leaf if its annotation has `jax.Array` in it. A class that",
            "is registered by hand (`register_pytree_node_class`) is what its `tree_flatten` and `tree_unflatten` say,",
            "and one with `register_static` has no leaves.",
            "",
            f"The leaves of these come in alphabetical order: {sorted_ones}. Those of all others come in the order of",
            "their declaration. `tests/pytrees/test_model_against_runtime.py` generates declarations, and compares",
            "what jaxlint knows of all this with the real libraries.",
            "",
        ]
    )


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{'Python' if name == 'python' else name} {version}" for name, version in versions.items())


def _row(framework: Framework, one: Measured) -> str:
    lines = [line.format(data='"x"', meta='"n"') for line in framework.decorators] + [_base(framework)]
    declared = "<br>".join([spelled(framework.id), *(f"`{_short(line)}`" for line in lines if line)])
    raised = one.assigning.partition(":")[0]
    frozen = {"None": "no", "FrozenInstanceError": "yes"}.get(raised, f"yes (`{raised}`)")
    rebuilding = "`__post_init__`" if one.rebuilding == "post" else "no code"
    subclass = _SUBCLASSES.get(one.subclass, f"`{one.subclass.partition(':')[0]}`")
    cells = (declared, _static(framework), frozen, rebuilding, _replacing(framework), subclass)
    return f"| {' | '.join(cells)} |"


def _static(framework: Framework) -> str:
    line = marks_static(framework.id)
    if "meta_fields" in line:
        return '`meta_fields=["n"]`'
    if framework.style == "mjx":
        return "no `jax.Array` in it"
    marker = line.partition(" = ")[2] or line.partition(": ")[2]
    return f"`{_short(marker)}`" if marker else "nothing does"


def _short(code: str) -> str:
    """Code as it is written where names are imported from jax and dataclasses."""
    return code.replace("jax.tree_util.", "").replace("dataclasses.", "")


def _base(framework: Framework) -> str:
    inside = ", ".join(part for part in (framework.base, framework.class_keyword) if part)
    return f"class A({inside})" if inside else ""


def _replacing(framework: Framework) -> str:
    return f"`{_METHODS.get(framework.replace, framework.replace)}`"
