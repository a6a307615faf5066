"""How each framework spells a pytree class, its fields and its updates.

The neutral spelling of a fixture (`from anyframework import pytree, static, field, replace`) is turned into
the spelling of one of these frameworks by `spelling.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec

#: Environments a program can run in; see `environments.py`.
MAIN, NEWEST, TREEX = "main", "newest", "treex"


@dataclass(frozen=True)
class Framework:
    """One way to declare a pytree class; the texts are Python source."""

    id: str
    imports: tuple[str, ...]
    decorators: tuple[str, ...] = ()
    base: str = ""
    class_keyword: str = ""
    #: The call that makes a field, and where it comes from.
    field: str = "dataclasses.field"
    field_import: str = "import dataclasses"
    #: The call that makes a static field, and the arguments that mark it; no call: `style` says how.
    static: str = ""
    static_arguments: str = ""
    #: "method": `x.replace(..)`, "_replace": `x._replace(..)`, otherwise the function that is called.
    replace: str = "dataclasses.replace"
    replace_import: str = "import dataclasses"
    #: What is special: "" or the id of a branch in `spelling.py`.
    style: str = ""
    frozen: bool = True
    #: The package to import where it is not a matter of course that there is one; it is in the environment `at_home`.
    package: str = ""
    at_home: str = MAIN
    #: What must be there for the framework to exist, as in the filter of a fixture.
    needs: str = ""

    @cached_property
    def environment(self) -> str:
        """Where programs of it run: here, if it is installed here."""
        return MAIN if not self.package or find_spec(self.package) else self.at_home

    @property
    def has_static(self) -> bool:
        """Whether a field can be static at all."""
        return bool(self.static or self.style in ("jdc", "mjx"))


FLAX = ("from flax import struct",)

FRAMEWORKS: dict[str, Framework] = {
    framework.id: framework
    for framework in (
        Framework(
            id="flax-dataclass",
            imports=FLAX,
            decorators=("@struct.dataclass",),
            field="struct.field",
            field_import=FLAX[0],
            static="struct.field",
            static_arguments="pytree_node=False",
            replace="method",
        ),
        Framework(
            id="flax-node",
            imports=FLAX,
            base="struct.PyTreeNode",
            field="struct.field",
            field_import=FLAX[0],
            static="struct.field",
            static_arguments="pytree_node=False",
            replace="method",
        ),
        Framework(
            id="train-state",
            imports=("import optax", "from flax import struct", "from flax.training.train_state import TrainState"),
            base="TrainState",
            field="struct.field",
            field_import=FLAX[0],
            static="struct.field",
            static_arguments="pytree_node=False",
            replace="method",
            style="train-state",
        ),
        Framework(
            id="register-dataclass",
            imports=("from dataclasses import dataclass, field", "from jax.tree_util import register_dataclass"),
            decorators=("@register_dataclass", "@dataclass(frozen=True)"),
            needs="jax>=0.4.36",
            field="field",
            field_import="from dataclasses import dataclass, field",
            static="field",
            static_arguments="metadata=dict(static=True)",
        ),
        Framework(
            id="register-dataclass-mutable",
            imports=("import dataclasses", "import jax"),
            decorators=("@jax.tree_util.register_dataclass", "@dataclasses.dataclass"),
            needs="jax>=0.4.36",
            static="dataclasses.field",
            static_arguments='metadata={"static": True}',
            frozen=False,
        ),
        Framework(
            id="register-dataclass-fields",
            imports=("import dataclasses", "from functools import partial", "import jax"),
            decorators=(
                "@partial(jax.tree_util.register_dataclass, data_fields=[{data}], meta_fields=[{meta}])",
                "@dataclasses.dataclass(frozen=True)",
            ),
            static="dataclasses.field",
            style="lists",
        ),
        Framework(
            id="jax-dataclasses",
            imports=("import jax_dataclasses as jdc",),
            decorators=("@jdc.pytree_dataclass",),
            field="jdc.field",
            field_import="import jax_dataclasses as jdc",
            replace="jdc.replace",
            replace_import="import jax_dataclasses as jdc",
            style="jdc",
        ),
        Framework(
            id="chex",
            imports=("import chex",),
            decorators=("@chex.dataclass",),
            replace="method",
            frozen=False,
        ),
        Framework(
            id="chex-frozen",
            imports=("import chex",),
            decorators=("@chex.dataclass(frozen=True)",),
            replace="method",
        ),
        Framework(
            id="equinox",
            imports=("import equinox as eqx",),
            base="eqx.Module",
            field="eqx.field",
            field_import="import equinox as eqx",
            static="eqx.field",
            static_arguments="static=True",
        ),
        Framework(
            id="tjax",
            imports=("from tjax.dataclasses import dataclass, field",),
            decorators=("@dataclass",),
            field="field",
            field_import="from tjax.dataclasses import dataclass, field",
            static="field",
            static_arguments="static=True",
            package="tjax",
            at_home=NEWEST,
        ),
        Framework(
            id="simple-pytree",
            imports=("import simple_pytree",),
            decorators=("@simple_pytree.dataclass",),
            base="simple_pytree.Pytree",
            package="simple_pytree",
            at_home=NEWEST,
            field="simple_pytree.field",
            field_import="import simple_pytree",
            static="simple_pytree.static_field",
            replace="method",
        ),
        Framework(
            id="simple-pytree-mutable",
            imports=("from simple_pytree import Pytree, dataclass, field, static_field",),
            decorators=("@dataclass",),
            base="Pytree",
            package="simple_pytree",
            at_home=NEWEST,
            class_keyword="mutable=True",
            field="field",
            field_import="from simple_pytree import Pytree, dataclass, field, static_field",
            static="static_field",
            replace="method",
            frozen=False,
        ),
        Framework(
            id="penzai",
            imports=("from penzai import pz",),
            decorators=("@pz.pytree_dataclass",),
            base="pz.Struct",
            static="dataclasses.field",
            static_arguments='metadata={"pytree_node": False}',
            style="penzai",
        ),
        Framework(
            id="nnx",
            imports=("from flax import nnx",),
            decorators=("@nnx.dataclass",),
            base="nnx.Pytree",
            field="nnx.data",
            field_import="from flax import nnx",
            static="nnx.static",
            style="nnx",
            needs="flax>=0.12.1",
            frozen=False,
        ),
        Framework(
            id="mjx",
            imports=("from mujoco.mjx._src.dataclasses import PyTreeNode",),
            base="PyTreeNode",
            replace="method",
            style="mjx",
        ),
        Framework(
            id="namedtuple",
            imports=("from typing import NamedTuple",),
            base="NamedTuple",
            replace="_replace",
            style="namedtuple",
        ),
        Framework(
            id="treex",
            imports=("import dataclasses", "import treex as tx"),
            decorators=("@dataclasses.dataclass",),
            base="tx.Module",
            field="tx.State.node",
            field_import="import treex as tx",
            static="tx.static",
            style="treex",
            frozen=False,
            package="treex",
            at_home=TREEX,
        ),
    )
}


@cache
def select(expression: str) -> frozenset[str]:
    """The framework ids meant by a header: ids and groups, then exclusions, as in `static chex - nnx - mjx`.

    Groups: `all`; `frozen` and `mutable` (their instances); `static` (there are static fields);
    `dataclass` (every field is a field of the dataclass machinery: all but NamedTuple and treex); `bypass` (unflatten
    runs no user code) and `rerun` (it runs `__post_init__`).
    """
    bypass = frozenset({"equinox", "simple-pytree", "simple-pytree-mutable", "penzai", "nnx", "treex"})
    groups = {
        "all": frozenset(FRAMEWORKS),
        "frozen": frozenset(f.id for f in FRAMEWORKS.values() if f.frozen),
        "mutable": frozenset(f.id for f in FRAMEWORKS.values() if not f.frozen),
        "static": frozenset(f.id for f in FRAMEWORKS.values() if f.has_static),
        "dataclass": frozenset(FRAMEWORKS) - {"namedtuple", "treex"},
        "bypass": bypass,
        "rerun": frozenset(FRAMEWORKS) - {"namedtuple"} - bypass,
    }
    chosen: set[str] = set()
    sign = "+"
    for word in expression.replace(",", " ").split():
        if word in "+-":
            sign = word
            continue
        if word not in groups and word not in FRAMEWORKS:
            raise ValueError(f"unknown framework or group {word!r} in {expression!r}")
        ids = groups.get(word, frozenset({word}))
        chosen = chosen | ids if sign == "+" else chosen - ids
        sign = "+"
    if not chosen:
        raise ValueError(f"{expression!r} selects no framework")
    return frozenset(chosen)
