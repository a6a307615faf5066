"""The fix of leaves that are taken by their position: the fields are taken by their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxlint.cst.changes import NeededImport, Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.pytrees.model import PytreeClass
from jaxlint.syntax.expressions import Call, Expr, Name, children, dotted
from jaxlint.syntax.names_read import reads
from jaxlint.syntax.statements import bound_once, looked_into

_STRUCTURE = "jax.tree.structure"


class TakingByName:
    """Writes the fields of the instance whose leaves a call gives, in the place of the leaves."""

    def __init__(self, call: Call, cls: PytreeClass, code: CodeRead, evaluator: Evaluator) -> None:
        self._call = call
        self._cls = cls
        self._code = code
        self._evaluator = evaluator
        self._instance = dotted(call.args[0].value)
        self._title = f"Take the fields of `{cls.name}` by their names"

    @proposing
    def unpacking(self, fields: Sequence[str], at: object, *, is_pair: bool = False) -> Proposal | None:
        """The fix of leaves that are unpacked: `a, b = state.a, state.b`; `at` is all that gives them."""
        if self._instance is None:
            return None
        taken, imports = self._fields(fields), tuple[NeededImport, ...]()
        if is_pair:
            place = self._code.place
            structure = spelled(_STRUCTURE, place.module, self._evaluator.model.resolver, place.scope)
            if structure is None:
                return None
            taken, imports = f"({taken}), {structure[0]}({self._instance})", structure[1]
        return Proposal(self._title, Applicability.UNSAFE, (Rewrite(at, taken),), imports)

    @proposing
    def pairing(self, given: Expr) -> Proposal | None:
        """The fix of leaves that `zip` is `given` for the fields, perhaps in variables that nothing else reads."""
        fields = [field.name for field in self._cls.fields]
        if self._instance is None or len(fields) != len(self._cls.leaves or ()):
            return None
        through = self._variables(given, bound_once(self._code.body))
        if any(len(list(reads(self._code.body, name))) != 1 for name in through):
            return None
        return Proposal(self._title, Applicability.UNSAFE, (Rewrite(self._call.at, f"[{self._fields(fields)}]"),))

    @proposing
    def constructing(self, made: Call, func: Expr) -> Proposal | None:
        """The fix of a constructor that is given the leaves, and nothing else."""
        leaves = [field.name for field in self._cls.fields if field in (self._cls.leaves or ())]
        if self._instance is None or len(made.args) != 1:
            return None
        given = ", ".join(f"{name}={self._instance}.{name}" for name in leaves)
        return Proposal(self._title, Applicability.UNSAFE, (Rewrite(made.at, f"{{0}}({given})", (func.at,)),))

    def _variables(self, expr: Expr, bound: Mapping[str, Expr]) -> Iterator[str]:
        """The variables through which an expression has the leaves."""
        if expr is self._call:
            return
        if isinstance(expr, Name) and expr.id in bound:
            yield expr.id
        inner, rest = looked_into(expr, bound)
        for one in children(inner) if inner is expr else (inner,):
            yield from self._variables(one, rest)

    def _fields(self, names: Sequence[str]) -> str:
        return ", ".join(f"{self._instance}.{name}" for name in names)


@proposing
def giving_by_name(
    call: Call, leaves: Expr, other: PytreeClass, code: CodeRead, evaluator: Evaluator
) -> Proposal | None:
    """The fix of a `call` that puts the leaves of an instance into another class: its constructor is called."""
    instance = dotted(leaves.args[0].value) if isinstance(leaves, Call) else None
    parameters, names = other.constructor(), [field.name for field in other.fields]
    if instance is None or parameters is None or set(names) != {p.name for p in parameters}:
        return None
    if len(names) != len(other.leaves or ()):
        return None
    if evaluator.model.resolver.resolve_name(other.name, code.place.module, code.scope) != other.symbol:
        return None
    given = ", ".join(f"{name}={instance}.{name}" for name in names)
    change = Rewrite(call.at, f"{other.name}({given})")
    return Proposal("Give the fields by their names", Applicability.UNSAFE, (change,))
