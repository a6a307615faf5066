"""JAX605 mutable-not-inherited."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import EditClass, Proposal
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.pytrees.frameworks import SIMPLE_PYTREE
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.rebuilding.frozen import is_called_only_by
from jaxlint.rules.base import ClassRule, Problem


class MutableNotInherited(ClassRule):
    """
    ## What it does

    Finds subclasses of a mutable simple_pytree class that are not declared mutable themselves, and have methods that
    assign to `self`.

    ## Why is this bad?

    `mutable=True` holds for the class at which it stands, and for no subclass of it. The methods that change an
    instance fail, those that are inherited too.

    ## What you will see

    `AttributeError: <class 'Adam'> is immutable, trying to update field count`, when the method is called.

    ## Example

    ```python
    import jax
    import simple_pytree

    @simple_pytree.dataclass
    class Optimizer(simple_pytree.Pytree, mutable=True):
        count: jax.Array

        def step(self) -> None:
            self.count = self.count + 1

    @simple_pytree.dataclass
    class Adam(Optimizer):
        moment: jax.Array
    ```

    ## Use instead

    ```python
    import jax
    import simple_pytree

    @simple_pytree.dataclass
    class Optimizer(simple_pytree.Pytree, mutable=True):
        count: jax.Array

        def step(self) -> None:
            self.count = self.count + 1

    @simple_pytree.dataclass
    class Adam(Optimizer, mutable=True):
        moment: jax.Array
    ```

    ## Frameworks

    simple_pytree only.

    ## Fix safety

    The class gets `mutable=True`. The fix is unsafe: code that relied on the error may change instances from then on.

    ## When not to use it

    If the methods that assign are not called on instances of the subclass.

    ## References

    - [simple-pytree](https://github.com/cgarciae/simple-pytree)
    """

    code = "JAX605"
    name = "mutable-not-inherited"
    group = "frameworks"
    since = "0.1.0"

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look for a mutable base class, and for methods that assign."""
        if cls.framework is not SIMPLE_PYTREE or cls.frozen is not True or not cls.bases_known:
            return
        mutable = next((c for c in cls.mro[1:] if c.framework is SIMPLE_PYTREE and c.frozen is False), None)
        method = _assigning(cls, evaluator) if mutable is not None else None
        if mutable is None or method is None:
            return
        yield Problem(
            at=cls.symbol.declaration.name_at,
            message=(
                f"`{cls.name}` is immutable though `{mutable.name}` is mutable: `{method}` fails (AttributeError);"
                " write `mutable=True` here, too"
            ),
            reason="simple_pytree asks each class for `mutable=True`, and not its bases",
            help=f"write `class {cls.name}({mutable.name}, mutable=True)`",
            fix=Proposal(
                f"Make `{cls.name}` mutable",
                Applicability.UNSAFE,
                (EditClass(cls.symbol.declaration.name_at, given=(("mutable", "True"),)),),
            ),
        )


def _assigning(cls: PytreeClass, evaluator: Evaluator) -> str | None:
    """A method, of the class or inherited, that assigns to `self` and does not only run while an instance is made."""
    family = (*cls.mro, *evaluator.model.subclasses(cls))
    for name in dict.fromkeys(n for c in cls.mro for n in c.symbol.declaration.methods):
        found = cls.method(name)
        if found is None or not found[1].self_assignments:
            continue
        if not is_called_only_by(name, family, cls.framework.constructing):
            return name
    return None
