"""Classes that are registered in all combinations of decorators, bases and calls: which fail, and how."""

from __future__ import annotations

import importlib.util

import pytest

if any(importlib.util.find_spec(name) is None for name in ("jax", "flax", "equinox", "penzai")):
    pytest.skip("the frameworks are not installed", allow_module_level=True)

from jaxlint.pytrees.frameworks.nnx import HAS_PYTREE
from tests.model_oracle.compare import creation, modelled
from tests.model_oracle.programs import Declared, Program
from tests.model_oracle.runtime import execute, forget
from tests.model_oracle.spellings import HAS_SIMPLE_PYTREE
from tests.oracle.facts import is_declared
from tests.oracle.versions import here

HEADER = """\
from dataclasses import dataclass, field
from functools import partial
import chex, equinox, flax.nnx, flax.struct, jax, jax_dataclasses, penzai.pz
from jax.tree_util import register_dataclass, register_pytree_node, register_static
"""
HEADER += "import simple_pytree\n" if HAS_SIMPLE_PYTREE else ""
DECORATORS = {
    "flax": ("flax.struct.dataclass",),
    "flax-unfrozen": ("flax.struct.dataclass(frozen=False)",),
    "register": ("register_dataclass", "dataclass(frozen=True)"),
    "register-mutable": ("register_dataclass", "dataclass"),
    "lists": ("partial(register_dataclass, data_fields=['x'], meta_fields=['n'])", "dataclass(frozen=True)"),
    "jdc": ("jax_dataclasses.pytree_dataclass",),
    "chex": ("chex.dataclass",),
    "chex-frozen": ("chex.dataclass(frozen=True)",),
    "chex-plain": ("chex.dataclass(mappable_dataclass=False)",),
    "static": ("register_static", "dataclass(frozen=True)"),
}
BASES = (
    *("flax.struct.PyTreeNode", "equinox.Module"),
    *(("simple_pytree.Pytree",) if HAS_SIMPLE_PYTREE else ()),
    *(("flax.nnx.Pytree",) if is_declared(HAS_PYTREE, here()) else ()),
)
CALLS = (
    "register_dataclass(A)",
    "register_dataclass(A, ['x'], ['n'])",
    "register_pytree_node(A, lambda a: ((a.x, a.n), None), lambda _, c: A(x=c[0], n=c[1]))",
    "register_static(A)",
    "A = flax.struct.dataclass(A)",
)
LISTS = (
    "data_fields=['x', 'n'], meta_fields=[]",
    "data_fields=['x'], meta_fields=[]",
    "data_fields=['x', 'y'], meta_fields=['n']",
    "data_fields=['x', 'n'], meta_fields=['n']",
    "data_fields=['x', 'x'], meta_fields=('n',)",
    "data_fields='x', meta_fields='n'",
    "data_fields='xn', meta_fields='nn'",
    "data_fields=('x'), meta_fields=('nx')",
    "data_fields=['xn'], meta_fields=[]",
    "data_fields=['x', 'n']",
    "meta_fields=['n'], data_fields=None",
    "data_fields=None, meta_fields=None",
    "data_fields=['x'], meta_fields=[], drop_fields=['n']",
    "data_fields=['x'], meta_fields=['n'], drop_fields=['n']",
    "data_fields=['x'], meta_fields=['n'], drop_fields=['y']",
    "drop_fields=['n']",
    "drop_fields=['y']",
)


def program(decorators: list[str], base: str = "", call: str = "") -> Program:
    """A module with one class."""
    bases = f"({base})" if base else ""
    lines = [*(f"@{d}" for d in decorators), f"class A{bases}:", "    x: jax.Array", "    n: int = 3", call]
    first = HEADER.count("\n") + 1
    return Program(HEADER + "\n".join(lines) + "\n", (Declared("A", first, first + len(lines)),))


def check(generated: Program, expect_known: bool = True) -> None:
    """Run the module, and compare."""
    module, failure = execute(generated)
    forget(module)
    model = modelled(generated)
    fact = creation(model.classes["A"], model.evaluator, None if failure is None else failure[1])
    assert fact.agrees, f"{fact}\n{generated.classes_text}"
    assert fact.is_known or not expect_known, f"{fact}\n{generated.classes_text}"


@pytest.mark.parametrize("lower", DECORATORS)
@pytest.mark.parametrize("upper", DECORATORS)
def test_two_decorators(upper: str, lower: str) -> None:
    # what a frozen dataclass decorator raises depends on the plain one below; chex makes a class of its own
    over_plain = upper in ("flax", "jdc", "flax-unfrozen") and DECORATORS[lower][-1].startswith("dataclass")
    known = not over_plain and not upper.startswith("chex")
    check(program([DECORATORS[upper][0], *DECORATORS[lower]]), expect_known=known)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("decorator", DECORATORS)
def test_decorator_and_base(decorator: str, base: str) -> None:
    check(program([DECORATORS[decorator][0]], base), expect_known=False)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("decorator", DECORATORS)
def test_call_after_decorator(decorator: str, call: str) -> None:
    check(program(list(DECORATORS[decorator]), call=call), expect_known=False)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("base", BASES)
def test_call_after_base(base: str, call: str) -> None:
    check(program([], base, call), expect_known=False)


@pytest.mark.parametrize("lists", LISTS)
def test_lists(lists: str) -> None:
    check(program([f"partial(register_dataclass, {lists})", "dataclass"]))


@pytest.mark.parametrize("form", ["()", "(data_fields=['x'], meta_fields=['n'])", "(drop_fields=['n'])"])
def test_factories(form: str) -> None:
    check(program([f"register_dataclass{form}", "dataclass"]))
