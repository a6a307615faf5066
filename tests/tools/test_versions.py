"""What is watched in other versions of the frameworks."""

from __future__ import annotations

from jaxlint.pytrees.versions import dotted
from tests.oracle import versions
from tools.versions import facts, watch


def test_differences() -> None:
    before, now = {"jax": (0, 8, 3), "flax": (0, 12)}, {"jax": (0, 9, 1), "chex": (0, 1)}
    assert list(watch.changed_versions(before, now)) == [
        "chex: none -> 0.1",
        "flax: 0.12 -> none",
        "jax: 0.8.3 -> 0.9.1",
    ]
    said = {line.partition(":")[0] for line in watch.changed_facts(before, now)}
    assert said >= {"tree-static", "register-with-overlap"}
    assert "drop-fields-by-name" not in said
    names = {"jax.tree": ["leaves", "map"]}, {"jax.tree": ["map", "static"]}
    assert list(watch.changed_names(*names)) == ["jax.tree.static: new", "jax.tree.leaves: gone"]


def test_names_are_recorded() -> None:
    found = watch.recorded()
    assert "static" in found["jax.tree"] and "Module" in found["equinox"] and "Pytree" in found["flax.nnx"]


def test_page_is_up_to_date() -> None:
    """`python -m tools.versions table` renews it."""
    assert facts.PAGE.read_text() == facts.page()
    assert all(f"| {dotted(versions.locked(name)['jax'])} |" in facts.page() for name in versions.MATRIX)
