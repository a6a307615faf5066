"""JAX602 chex-super."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import Proposal, Rewrite
from jaxlint.finding import Applicability
from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import CodeRead
from jaxlint.infer.waiting import Candidate
from jaxlint.pytrees.frameworks import CHEX
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.syntax.expressions import Call, Name
from jaxlint.syntax.statements import all_parts


class ChexSuper(BodyRule):
    """
    ## What it does

    Finds `super()` without arguments in methods of chex dataclasses.

    ## Why is this bad?

    `@chex.dataclass` makes a new class that is a mapping, too. `super()` remembers the class in whose body it stands,
    which is the old one, and the instances are none of it.

    ## What you will see

    `TypeError: super(type, obj): obj (instance of Node) is not an instance or subtype of type (Node).`, when the method
    is called.

    ## Example

    ```python
    import chex
    import jax

    class Named:
        def label(self) -> str:
            return "node"

    @chex.dataclass
    class Node(Named):
        value: jax.Array

        def label(self) -> str:
            return super().label() + "!"
    ```

    ## Use instead

    ```python
    import chex
    import jax

    class Named:
        def label(self) -> str:
            return "node"

    @chex.dataclass
    class Node(Named):
        value: jax.Array

        def label(self) -> str:
            return super(Node, self).label() + "!"
    ```

    ## Frameworks

    chex only, unless `mappable_dataclass=False`.

    ## Fix safety

    The class and the instance are written out. The fix is safe: the call could only raise. There is none for a class
    inside of a function or of another class, whose name the method may not see.

    ## When not to use it

    There is no reason: the method cannot be called.

    ## References

    - [chex.dataclass](https://chex.readthedocs.io/en/latest/api.html#module-chex._src.dataclass)
    """

    code = "JAX602"
    name = "chex-super"
    group = "frameworks"
    since = "0.1.0"

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Methods of chex dataclasses that call `super`."""
        owners = {f.owner for f in candidate.functions if f.owner} if "super" in candidate.unit.calls else ()
        return any(candidate.cls(owner).framework is CHEX for owner in owners)

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look for the call in a method."""
        cls, function = code.place.owner, code.function
        if cls is None or function is None or function.owner is None or cls.framework is not CHEX:
            return
        if cls.registered is not True or cls.unknown_decorator or cls.is_mapping is not True:
            return
        first = function.parameters[0].name if function.parameters else "self"
        for part in all_parts(code.body):
            if isinstance(part, Call) and isinstance(part.func, Name) and part.func.id == "super" and not part.args:
                written = f"super({cls.name}, {first})"
                is_visible = not cls.symbol.declaration.scope
                yield Problem(
                    at=part.at,
                    message=(
                        f"`super()` in `{function.name}` of `{cls.name}`: chex makes a new class of it, and the call"
                        f" fails (TypeError); write `{written}`"
                    ),
                    reason="`super()` means the class in whose body it stands, which the instances are none of",
                    help=f"write `{written}`, or decorate with `mappable_dataclass=False`",
                    fix=Proposal(f"Write `{written}`", Applicability.SAFE, (Rewrite(part.at, written),))
                    if is_visible
                    else None,
                )
