"""Who names a framework: its declaration, the model, and rules about one or two. All others ask for properties."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxlint.pytrees import frameworks

ROOT = Path(__file__).resolve().parents[2]
#: The names of the declarations, and the frameworks that they declare; the other two say that a class is no pytree.
DECLARED = {
    name: found.id
    for name, found in vars(frameworks).items()
    if found in frameworks.FRAMEWORKS and name not in ("DATACLASS", "PLAIN_CLASS")
}
FILES = [
    path.relative_to(ROOT).as_posix()
    for folder in ("jaxlint", "plugins")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "jaxlint/pytrees/" not in path.as_posix() and "node_modules" not in path.parts
]


def named_in(text: str) -> Iterator[str]:
    """The frameworks that a file asks for by their declaration or by their id."""
    ids = {id_: name for name, id_ in DECLARED.items()}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and node.id in DECLARED:
            yield node.id
        if isinstance(node, ast.Compare) and "framework.id" in ast.unparse(node):
            literals = (c.value for c in ast.walk(node) if isinstance(c, ast.Constant))
            yield from (ids[value] for value in literals if value in ids)


def is_about(path: str) -> set[str]:
    """The frameworks that a file is about: a rule by its fixtures, if these are of two at most, another by its name."""
    stem = Path(path).stem
    listed = ROOT / "fixtures" / stem.replace("_", "-") / "frameworks.txt"
    if "/rules/" in path and listed.is_file():
        held = listed.read_text(encoding="utf-8").split()
        families = {name for name in DECLARED if any(_is_variant(one, name) for one in held)}
        is_all = all(any(_is_variant(one, name) for name in families) for one in held)
        return families if is_all and len(families) <= 2 else set()
    return {name for name in DECLARED if name.lower() in stem.split("_")}


def _is_variant(listed: str, name: str) -> bool:
    """Whether a word of `frameworks.txt`, as `chex-frozen`, means this framework, as `CHEX`."""
    return f"{listed}-".startswith(name.lower().replace("_", "-") + "-")


@pytest.mark.parametrize("path", [path for path in FILES if "framework" in (ROOT / path).read_text(encoding="utf-8")])
def test_nobody_else_names_a_framework(path: str) -> None:
    assert set(named_in((ROOT / path).read_text(encoding="utf-8"))) <= is_about(path)


def test_names_are_seen() -> None:
    assert set(named_in("f(cls.framework is CHEX, g.framework.id == 'flax.nnx', MJX.id)")) == {"CHEX", "NNX", "MJX"}
    assert is_about("jaxlint/rules/tree_at.py") == {"EQUINOX"}
    assert is_about("jaxlint/rules/static_counter.py") == set()
