"""Nobody but declarations, what is known of libraries, and rules about one framework names a framework in code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from jaxlint.libraries.packages import DISTRIBUTION_OF

ROOT = Path(__file__).parents[2]
#: Where frameworks are named: their declarations, the classes of theirs that are described, and functions by name.
_DECLARING = ("jaxlint/pytrees/frameworks/", "jaxlint/pytrees/stubs/", "jaxlint/libraries/")
#: The modules of jax itself are those of the library that all frameworks are for.
_PACKAGES = "|".join(sorted(DISTRIBUTION_OF.keys() - {"jax"}))
_NAME = re.compile(rf"(?:{_PACKAGES})(?:\.[\w.]*)?|eqx\.\w+|nnx(?:\.\w+)?|pz\.\w+|jdc\.\w+")
_CONSTANTS = frozenset(
    """CHEX EQUINOX FLAX_DATACLASS FLAX_NODE JAX_DATACLASSES MJX NAMED_TUPLE NNX PENZAI PYTREE_NODE_CLASS
    REGISTER_DATACLASS REGISTER_STATIC SIMPLE_PYTREE TJAX TREEX""".split()
)
#: Rules about what one framework does, or two that do the same by functions of their own, and what is for them alone.
_ABOUT_ONE = {
    "jaxlint/rules/callable_leaf.py": "equinox",
    "jaxlint/rules/chex_extra_attribute.py": "chex",
    "jaxlint/rules/chex_mapping.py": "chex",
    "jaxlint/rules/chex_super.py": "chex",
    "jaxlint/rules/copy_and_mutate.py": "jax_dataclasses",
    "jaxlint/rules/enforced_annotations.py": "jax_dataclasses",
    "jaxlint/rules/filtered_scalar.py": "equinox, flax.nnx",
    "jaxlint/rules/jit_static_annotation.py": "jax_dataclasses",
    "jaxlint/rules/mutable_not_inherited.py": "simple_pytree",
    "jaxlint/rules/nested_static_marker.py": "jax_dataclasses",
    "jaxlint/rules/penzai_inheritance.py": "penzai",
    "jaxlint/rules/tree_at.py": "equinox",
    "jaxlint/rules/unmarked_state.py": "flax.nnx",
    "jaxlint/rules/analyses/fields/nnx_data.py": "flax.nnx",
}
#: Where a name is not asked for, but given out or looked up in what somebody else declares.
_OTHERWISE = {
    "jaxlint/config/layers.py": "examples in an error",
    "plugins/jaxlint_mypy/enumerations.py": "the full name of a class, as mypy has it",
    "plugins/jaxlint_mypy/parameters.py": "the full name of a class, as mypy has it",
    "plugins/jaxlint_mypy/untyped.py": "functions of flax that have no annotations",
}


def _texts(tree: ast.Module) -> Iterator[str]:
    """The words of the texts of a module that are no docstrings and no messages; `f"equinox.{name}"` is a name."""
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    passed_over = {id(value) for node in joined for value in node.values}
    passed_over |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in passed_over:
            yield from [node.value, *_list_of_words(node.value)]
    for node in joined:
        text = "".join(str(v.value) if isinstance(v, ast.Constant) else "x" for v in node.values)
        if " " not in text:
            yield text


def _list_of_words(text: str) -> list[str]:
    """The words of a text that is a list of names, and no sentence."""
    words = text.split()
    return words if "jax" in words and all(map(str.isidentifier, words)) else []


def _named(text: str) -> set[str]:
    tree = ast.parse(text)
    found = {text for text in _texts(tree) if _NAME.fullmatch(text)}
    return found | {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in _CONSTANTS}


def test_frameworks_are_named_where_they_are_declared() -> None:
    naming: dict[str, set[str]] = {}
    for path in [*(ROOT / "jaxlint").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")]:
        place = path.relative_to(ROOT).as_posix()
        found = set() if place.startswith(_DECLARING) else _named(path.read_text(encoding="utf-8"))
        if found:
            naming[place] = found
    assert {place: found for place, found in naming.items() if place not in _ABOUT_ONE | _OTHERWISE} == {}
    assert (_ABOUT_ONE | _OTHERWISE).keys() - naming.keys() == set()  # what is no longer needed


def test_the_test_sees_names() -> None:
    text = "if cls.framework is NNX or name == 'equinox.tree_at': '''docs of chex'''"
    assert _named(text) == {"NNX", "equinox.tree_at"}
    text = "a = f'flax.{own}', f'chex puts {x} there', 'jax flax'.split()"
    assert _named(text) == {"flax.x", "flax"}
