"""JAX514 leaf-order."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.finding import Confidence, Severity
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import CodeRead
from jaxlint.infer.values import Array, plain
from jaxlint.pytrees.framework import LeafOrder as Order
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.local_instances import LocalInstances
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.syntax.expressions import Attribute, Call, Constant, Display, Expr, Name, Subscript
from jaxlint.syntax.statements import Assign

_LEAVES = frozenset({"jax.tree.leaves", "jax.tree_util.tree_leaves", "jax.tree_leaves"})
_FLATTEN = frozenset({"jax.tree.flatten", "jax.tree_util.tree_flatten", "jax.tree_flatten"})


class LeafOrder(BodyRule):
    """
    ## What it does

    Finds leaves of an instance that are taken by their position as if they stood in the order of the fields, where they
    are sorted by name.

    ## Why is this bad?

    chex, simple_pytree, nnx and treex sort the leaves by the names of the fields. Fields that are declared in another
    order change places.

    ## What you will see

    No error: `position` holds the mass, and `mass` the position. Where the shapes differ, an error far away.

    ## Example

    ```python
    import chex
    import jax

    @chex.dataclass
    class Body:
        position: chex.Array
        mass: chex.Array

    def momentum(body: Body) -> chex.Array:
        position, mass = jax.tree.leaves(body)
        return position * mass
    ```

    ## Use instead

    ```python
    import chex

    @chex.dataclass
    class Body:
        position: chex.Array
        mass: chex.Array

    def momentum(body: Body) -> chex.Array:
        return body.position * body.mass
    ```

    ## Frameworks

    chex, simple_pytree, nnx and treex. The leaves of the other frameworks stand in the order of the fields.

    ## Fix safety

    There is no automatic fix.

    ## When not to use it

    Nothing is reported where the names of the variables fit the order of the leaves.

    ## References

    - [chex.dataclass](https://chex.readthedocs.io/en/latest/api.html#chex.dataclass)
    """

    code = "JAX514"
    name = "leaf-order"
    group = "transformations"
    severity = Severity.WARNING
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    calls = frozenset({"leaves", "tree_leaves", "flatten", "tree_flatten"})

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a body does with lists of leaves."""
        reader = _Leaves(code, evaluator)
        for statement in code.statements:
            if isinstance(statement, Assign) and len(statement.targets) == 1:
                yield from _unpacked(statement.targets[0], statement.value, reader)
        for call in code.calls:
            if call.args and (call.args[0].star == "*" or _is_from_tuple(call)):
                yield from _put_back(call, reader)


class _Leaves:
    """Tells which expressions are the leaves of an instance, in another order than that of the fields."""

    def __init__(self, code: CodeRead, evaluator: Evaluator) -> None:
        self._module = code.place.module
        self._scope = code.scope
        self.evaluator = evaluator
        self._instances = LocalInstances.of(code, evaluator)

    def name(self, func: Expr) -> str:
        """The dotted name of a function of a library."""
        return self.evaluator.model.resolver.library_name(func, self._module, self._scope)

    def made_class(self, func: Expr) -> PytreeClass | None:
        """The class that an expression is."""
        return self.evaluator.model.class_of_symbol(
            self.evaluator.model.resolver.resolve(func, self._module, self._scope)
        )

    def of(self, expr: Expr) -> PytreeClass | None:
        """The class of the instance whose leaves an expression is a list of, if they are in another order."""
        match expr:
            case Call(func=func, args=(given,)) if self.name(func) in _LEAVES:
                return self._sorted(given.value)
            case Subscript(value=Call(func=func, args=(given,)), index=Constant(value=0)):
                return self._sorted(given.value) if self.name(func) in _FLATTEN else None
        return None

    def flattened(self, expr: Expr) -> PytreeClass | None:
        """The same for `leaves, treedef = jax.tree.flatten(x)`."""
        match expr:
            case Call(func=func, args=(given,)) if self.name(func) in _FLATTEN:
                return self._sorted(given.value)
        return None

    def _sorted(self, expr: Expr) -> PytreeClass | None:
        instance = self._instances.instance(expr)
        if instance is None or (not instance.exact and self.evaluator.model.subclasses(instance.cls)):
            return None
        cls = instance.cls
        leaves = cls.leaves
        if leaves is None or cls.framework.leaf_order is not Order.ALPHABETICAL or cls.explicit_leaves is not None:
            return None
        declared = [f.name for f in cls.fields if f in leaves]
        if [f.name for f in leaves] == declared:
            return None
        arrays = all(isinstance(plain(self.evaluator.promises.field(f, cls)), Array) for f in leaves)
        return cls if arrays else None


def _unpacked(target: Expr, value: Expr, reader: _Leaves) -> Iterator[Problem]:
    """The problem of leaves that are given to variables with the names of other fields."""
    cls = reader.of(value)
    if cls is None and isinstance(target, Display) and len(target.items) == 2:
        cls, target = reader.flattened(value), target.items[0]
    leaves = None if cls is None else cls.leaves
    if cls is None or leaves is None or not isinstance(target, Display) or len(target.items) != len(leaves):
        return
    for item, leaf in zip(target.items, leaves, strict=True):
        if isinstance(item, Name) and item.id != leaf.name and any(item.id == other.name for other in leaves):
            yield _problem(item.at, cls, f"`{item.id}` is given the leaf `{leaf.name}`")
            return


def _is_from_tuple(call: Call) -> bool:
    return isinstance(call.func, Attribute) and call.func.attr == "from_tuple"


def _put_back(call: Call, reader: _Leaves) -> Iterator[Problem]:
    """The problem of a constructor that is given the leaves as they stand."""
    cls = reader.of(call.args[0].value)
    func = call.func.value if _is_from_tuple(call) and isinstance(call.func, Attribute) else call.func
    if cls is not None and reader.made_class(func) is cls:
        yield _problem(call.args[0].at, cls, "the constructor is given its leaves in another order")


def _problem(at: object, cls: PytreeClass, what: str) -> Problem:
    order = ", ".join(f"`{leaf.name}`" for leaf in cls.leaves or ())
    way_out = "take the fields by their names"
    return Problem(
        at=at,
        message=f"the leaves of `{cls.name}` are sorted by name ({order}): {what}; {way_out}",
        reason="the order of the leaves is that of the sorted names, not that of the fields",
        help=way_out,
    )
