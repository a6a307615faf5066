"""Which expressions of a body are certainly instances of pytree classes, wherever they stand in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxlint.infer.evaluate import Evaluator
from jaxlint.infer.events import CodeRead, Construct, Replace
from jaxlint.infer.values import UNKNOWN, Instance, Value, plain
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import Placed
from jaxlint.symbols.outline import EXPECTS_ERROR
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, last_name
from jaxlint.syntax.statements import (
    Assign,
    Augment,
    Body,
    ClassDefinition,
    FunctionDefinition,
    Try,
    With,
    assigned_names,
    blocks,
    bound_by,
    own_parts,
    target_names,
)


class LocalInstances:
    """Parameters, and variables of which every assignment gives an instance of the same class."""

    @classmethod
    def of(cls, code: CodeRead, evaluator: Evaluator) -> LocalInstances:
        """Those of a body, found out once for all rules that ask."""
        if cls not in code.shared:
            code.shared[cls] = cls(code, evaluator)
        found: LocalInstances = code.shared[cls]
        return found

    def __init__(self, code: CodeRead, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._code = code
        self._made: dict[int, Value] = {}
        for event in code.events:
            if isinstance(event, Construct):
                self._made[id(event.call)] = Instance(event.cls.cls, event.cls.exact)
            elif isinstance(event, Replace):
                self._made[id(event.call)] = event.receiver
        #: What variables are, once that is asked for.
        self._known: dict[str, Value] | None = None

    @property
    def _names(self) -> dict[str, Value]:
        """The parameters that are not bound anew, and the variables that are certainly instances."""
        if self._known is None:
            self._read_names()
        assert self._known is not None
        return self._known

    def _read_names(self) -> None:
        code = self._code
        assigned = assigned_names(code.body)
        self._known = {n: plain(v) for n, v in code.parameters.items() if n not in assigned}
        given: dict[str, list[Value]] = {n: [plain(v)] for n, v in code.parameters.items() if n in assigned}
        for statement in code.statements:
            match statement:
                case Assign(targets=(Name(id=name),), value=value):
                    given.setdefault(name, []).append(self.value(value))
                case FunctionDefinition(name=name) | ClassDefinition(name=name):
                    given.setdefault(name, []).append(UNKNOWN)
                case _:
                    targets = (statement.target,) if isinstance(statement, Augment) else bound_by(statement)
                    for name in (name for target in targets for name in target_names(target)):
                        given.setdefault(name, []).append(UNKNOWN)
        for name, values in given.items():
            first = values[0]
            if isinstance(first, Instance) and all(isinstance(v, Instance) and v.cls is first.cls for v in values):
                self._known[name] = first

    def instance(self, expr: Expr) -> Instance | None:
        """The instance of a pytree class that an expression certainly is."""
        value = self.value(expr)
        return value if isinstance(value, Instance) and value.cls.is_pytree else None

    def value(self, expr: Expr) -> Value:
        """What is known of an expression."""
        match expr:
            case Name(id=name):
                return self._names.get(name, UNKNOWN)
            case Attribute(value=held, attr=attr):
                owner = self.value(held)
                if isinstance(owner, Instance):
                    field = owner.cls.field(attr)
                    if field is not None and field.annotation is not None:
                        return plain(self._evaluator.annotations.read(field.annotation, owner.cls))
            case Call():
                return self._made.get(id(expr)) or self._returned(expr)
        return UNKNOWN

    def _returned(self, call: Call) -> Value:
        """What the annotation of a function promises."""
        if not isinstance(call.func, Name):
            return UNKNOWN
        symbol = self._evaluator.model.resolver.resolve(call.func, self._code.place.module, self._code.scope)
        if not isinstance(symbol, FunctionSymbol) or symbol.declaration.returns is None or symbol.declaration.is_async:
            return UNKNOWN
        if call.func.id in self._names:
            return UNKNOWN
        if self._evaluator.calls.transformed.is_wrapped(symbol.declaration, symbol.module):
            return UNKNOWN
        placed = Placed(symbol.declaration.returns, symbol.module, symbol.declaration.scope)
        return plain(self._evaluator.annotations.read(placed))


def parts_expected_to_work(code: CodeRead) -> Sequence[Expr]:
    """The expressions of a body, but for functions inside it and for what is expected to fail."""
    if parts_expected_to_work not in code.shared:
        code.shared[parts_expected_to_work] = tuple(_expected_to_work(code.body))
    found: tuple[Expr, ...] = code.shared[parts_expected_to_work]
    return found


def _expected_to_work(body: Body) -> Iterator[Expr]:
    for statement in body:
        if isinstance(statement, (FunctionDefinition, ClassDefinition, Try)):
            continue
        yield from own_parts(statement)
        if isinstance(statement, With) and any(
            isinstance(expr, Call) and last_name(expr.func) in EXPECTS_ERROR for expr, _ in statement.items
        ):
            continue
        for block in blocks(statement):
            yield from _expected_to_work(block)
