"""JAX602 chex-super."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst import libcst as cst
from jaxlint.cst.changes import Proposal, Rewrite
from jaxlint.cst.reading import FunctionNode
from jaxlint.finding import Applicability
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.pytrees.frameworks import CHEX
from jaxlint.rules.base import NodeRule, Problem
from jaxlint.syntax.expressions import Name
from jaxlint.syntax.statements import all_parts


class ChexSuper(NodeRule):
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

    def can_match(self, code: CodeRead) -> bool:
        """Ask for a method of a mapping that says `super`."""
        cls, function = code.place.owner, code.function
        if cls is None or function is None or function.owner is None or cls.framework is not CHEX:
            return False
        if cls.registered is not True or cls.unknown_decorator or cls.is_mapping is not True:
            return False
        return any(isinstance(part, Name) and part.id == "super" for part in all_parts(code.body))

    def check_node(self, function: FunctionNode, evaluator: Evaluator) -> Iterator[Problem]:
        """Look for the call without arguments in a method."""
        cls, method = function.code.place.owner, function.code.function
        assert cls is not None and method is not None
        first = method.parameters[0].name if method.parameters else "self"
        written = f"super({cls.name}, {first})"
        for call in function.all(cst.Call, function.node.body):
            match call:
                case cst.Call(func=cst.Name("super"), args=[]):
                    at, is_visible = function.place_of(call), not cls.symbol.declaration.scope
                    fix = Proposal(f"Write `{written}`", Applicability.SAFE, (Rewrite(at, written),))
                    yield Problem(
                        at=at,
                        message=(
                            f"`super()` in `{method.name}` of `{cls.name}`: chex makes a new class of it, and the call"
                            f" fails (TypeError); write `{written}`"
                        ),
                        reason="`super()` means the class in whose body it stands, which the instances are none of",
                        help=f"write `{written}`, or decorate with `mappable_dataclass=False`",
                        fix=fix if is_visible else None,
                    )
