"""Which fields of an instance hold what its constructor was given, as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from jaxlint.infer.calls.straight_line import StraightLine
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.stubs import is_stub
from jaxlint.symbols.outline import Function, names_by_position
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name
from jaxlint.syntax.statements import parts

if TYPE_CHECKING:
    from jaxlint.infer.evaluating.evaluate import Evaluator
    from jaxlint.pytrees.model import PytreeClass


def stored_parameters(cls: PytreeClass, evaluator: Evaluator) -> Mapping[str, str]:
    """The fields that hold what the constructor of a class is given, by the names of its parameters.

    A converter, an own `__init__` or a `__post_init__` may make something else of it.
    """
    stored: dict[str, str | None] = {f.name: None if f.is_converted else f.name for f in cls.fields}
    init = cls.custom_init()
    found = cls.method("__init__" if init is not None else "__post_init__")
    if found is not None and not is_stub(found[0].module):
        own = {} if init is not None else stored
        stored = _Assigned(found[1], found[0], cls.mro, own, evaluator).read_all()
    return {given: attr for attr, given in stored.items() if given is not None}


class _Assigned(StraightLine[str | None]):
    """Follows the parameters of a constructor to the attributes that they are assigned to."""

    def __init__(
        self,
        function: Function,
        owner: PytreeClass,
        mro: Sequence[PytreeClass],
        stored: dict[str, str | None],
        evaluator: Evaluator,
    ) -> None:
        super().__init__(evaluator, owner.module, function.inner_scope, function.self_name, dict(stored))
        self.function = function
        #: The classes whose constructors `super().__init__` and `Base.__init__` may run.
        self.above = list(mro[mro.index(owner) + 1 :])
        if function.name == "__init__":
            self.variables = {p.name: p.name for p in function.parameters[1:]}

    def read_all(self) -> dict[str, str | None]:
        """What the attributes hold in the end; nothing if it is not certain that all statements run."""
        body = self.evaluator.calls.body_of(FunctionSymbol(self.module, self.function))
        return self.attributes if body is not None and self.read(body) else {}

    def evaluate(self, expr: Expr) -> str | None:
        """The parameter that an expression is."""
        for part in parts(expr):
            if isinstance(part, Call) and self.stores(part) is None and self.passes_self(part):
                self.escaped()
                self._construct_base(part)
        match expr:
            case Name(id=name):
                return self.variables.get(name)
            case Attribute(value=receiver, attr=attr) if self.is_self(receiver):
                return self.attributes.get(attr)
        return None

    def _construct_base(self, call: Call) -> None:
        """Take over what `super().__init__(env)` or `Base.__init__(self, env)` puts into the attributes."""
        if (
            not isinstance(call.func, Attribute)
            or call.func.attr != "__init__"
            or any(a.star == "*" for a in call.args)
        ):
            return
        is_super = isinstance(call.func.value, Call)
        symbol = None if is_super else self.symbol(call.func.value)
        base = next((cls for cls in self.above if is_super or cls.symbol == symbol), None)
        taken = None if base is None else base.constructor()
        if base is None or taken is None or list(base.mro) != self.above[self.above.index(base) :]:
            return
        passed = call.given_to(names_by_position(taken) if is_super else ("", *names_by_position(taken)))
        for name, attr in self.evaluator.calls.stored_parameters(base).items():
            self.attributes[attr] = self.evaluate(passed[name]) if name in passed else None

    def unknown(self) -> str | None:
        """Something else."""
        return None

    def escaped(self) -> None:
        """Whoever gets hold of `self` may change it."""
        self.attributes.clear()
