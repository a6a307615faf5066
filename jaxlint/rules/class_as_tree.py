"""JAX520 class-as-tree."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.libraries.trees import TREE_FLATTEN, TREE_LEAVES, TREE_MAPS, TREE_STRUCTURE
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.syntax.expressions import Name

_OVER_TREES = TREE_MAPS | TREE_LEAVES | TREE_FLATTEN | TREE_STRUCTURE


class ClassAsTree(BodyRule):
    """
    ## What it does

    Finds functions over trees that are given a pytree class where an instance is meant.

    ## Why is this bad?

    The class itself is no pytree: it counts as one leaf. A function that is mapped over it gets the class.

    ## What you will see

    `TypeError: unsupported operand type(s)`, or a list with the class in it.

    ## Example

    ```python
    import jax
    from flax import struct


    @struct.dataclass
    class State:
        x: jax.Array


    doubled = jax.tree.map(lambda x: 2 * x, State)
    ```

    ## Use instead

    ```python
    import jax
    import jax.numpy as jnp
    from flax import struct


    @struct.dataclass
    class State:
        x: jax.Array


    doubled = jax.tree.map(lambda x: 2 * x, State(jnp.zeros(2)))
    ```

    ## Frameworks

    All: none registers the class objects.

    ## Fix safety

    There is no fix: nobody knows which instance is meant.

    ## When not to use it

    If code looks at classes as leaves on purpose.

    ## References

    - [Pytrees](https://docs.jax.dev/en/latest/pytrees.html)
    """

    code = "JAX520"
    name = "class-as-tree"
    group = "transformations"
    since = "0.1.0"
    #: Off, until its findings on code that others wrote were read.
    enabled = False
    calls = frozenset(name.rpartition(".")[2] for name in _OVER_TREES)

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the arguments of functions over trees."""
        resolver, module = evaluator.model.resolver, code.place.module
        for call in code.calls:
            name = resolver.library_name(call.func, module, code.scope)
            if name not in _OVER_TREES:
                continue
            # the first argument of a map is its function, which may well be a constructor
            for argument in call.positional[1:] if name in TREE_MAPS else call.positional[:1]:
                if isinstance(argument, Name):
                    cls = evaluator.model.class_of_symbol(resolver.resolve(argument, module, code.scope))
                    if cls is not None and cls.is_pytree:
                        yield Problem(
                            at=argument.at,
                            message=f"`{cls.name}` is a class, and one leaf for JAX; pass an instance of it",
                            reason="only instances are pytrees",
                            help=f"pass an instance of `{cls.name}`",
                        )
