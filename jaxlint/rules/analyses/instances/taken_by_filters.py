"""Instances whose maker gives them to nothing that takes all their leaves: what refuses a field never gets it."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import Construct
from jaxlint.infer.known.values import UNKNOWN
from jaxlint.libraries.transforms import TRANSFORMS, Kind
from jaxlint.libraries.trees import FILTER, PARTITION
from jaxlint.libraries.updates import REPLACE_FUNCTIONS
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, children, dotted
from jaxlint.syntax.statements import Assign, Body, Statement, all_parts, blocks, expressions, parts

#: Functions that look at each leaf, and refuse none.
_LOOKING = frozenset({FILTER, PARTITION, "jax.tree.map", "jax.tree_util.tree_map", "jax.tree.leaves"})


def leaves_behind(event: Construct, field: str, evaluator: Evaluator) -> bool:
    """Whether a field of the instance that is made certainly gets into no function that refuses it.

    The instance is passed to a filtered transformation of equinox. Or it stays in a variable of a function: code reads
    parts of it, or makes copies with something else in the field.
    """
    module, functions = event.place.module, event.place.functions
    scope = event.place.scope
    body = evaluator.calls.body_of(FunctionSymbol(module, functions[-1])) or () if functions else ()
    around = all_parts(body) if functions else (part for call in module.outline.module_calls for part in parts(call))
    uses, at = _Uses(event.cls.cls, field, module, scope, evaluator), place_of(event.call.at)
    for part in around:
        if isinstance(part, Call) and any(place_of(a.value.at) == at for a in part.args):
            return uses.is_filtering(part)
    made = next((n for n, s in enumerate(body) if isinstance(s, Assign) and place_of(s.value.at) == at), None)
    if made is None:
        return False
    statement = body[made]
    assert isinstance(statement, Assign)
    name = dotted(statement.targets[0]) if len(statement.targets) == 1 else None
    return name is not None and "." not in name and uses.are_harmless(body[made + 1 :], name)


def is_declared_for_filters(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a function that equinox compiles has a parameter which is annotated with a class, or with a holder of it.

    It stands in the module of the class, or in one that imports that.
    """
    if not cls.framework.filters:
        return False
    transformed = evaluator.calls.transformed
    for module in (cls.module, *evaluator.model.importers(cls.module)):
        for function in module.outline.functions.values():
            applied = transformed.decorating(function, module) if function.decorators else ()
            if not any(one.transform.filters and one.transform.kind is Kind.JIT for one in applied):
                continue
            for parameter in function.parameters:
                given = evaluator.own_parameter(function, parameter.name, module) if parameter.annotation else UNKNOWN
                if cls in evaluator.traced.taken_apart(given):
                    return True
    return False


class _Uses:
    """Looks at what is done with an instance in a variable."""

    def __init__(self, cls: PytreeClass, field: str, module: Module, scope: str, evaluator: Evaluator) -> None:
        self._cls = cls
        self._field = field
        self._module = module
        self._scope = scope
        self._evaluator = evaluator

    def are_harmless(self, following: Body, name: str) -> bool:
        """Whether the statements after it, until one binds the variable anew, hand out nothing with the field."""
        for statement in following:
            if not self._is_harmless_statement(statement, name):
                return False
            if isinstance(statement, Assign) and [dotted(target) for target in statement.targets] == [name]:
                return True
        return True

    def _is_harmless_statement(self, statement: Statement, name: str) -> bool:
        return all(self._is_harmless(expr, name) for expr in _given(statement, name)) and all(
            self._is_harmless_statement(inner, name) for block in blocks(statement) for inner in block
        )

    def _is_harmless(self, expr: Expr, name: str) -> bool:
        match expr:
            case Name(id=read):
                return read != name
            case Attribute(value=Name(id=held), attr=attr) if held == name:
                return self._cls.field(attr) is not None
            case Call(func=func, args=args):
                rest = args
                if self.is_filtering(expr) or self._replaces(expr, name):
                    rest = tuple(a for a in args if not (isinstance(a.value, Name) and a.value.id == name))
                    func = Name(func.at, "") if self._replaces(expr, name) else func
                return self._is_harmless(func, name) and all(self._is_harmless(a.value, name) for a in rest)
        return all(self._is_harmless(child, name) for child in children(expr))

    def _replaces(self, call: Call, name: str) -> bool:
        """Whether a call makes a copy of the instance with something else in the field."""
        if call.keyword(self._field) is None:
            return False
        if isinstance(call.func, Attribute) and dotted(call.func.value) == name:
            return call.func.attr == self._cls.framework.replace_method
        return self._name(call.func) in REPLACE_FUNCTIONS and dotted(call.args[0].value) == name

    def is_filtering(self, call: Call) -> bool:
        """Whether what is called takes out what is no array, or looks at each leaf."""
        if self._name(call.func) in _LOOKING:
            return True
        if isinstance(call.func, Call):
            transform = TRANSFORMS.get(self._name(call.func.func))
            return transform is not None and transform.filters
        symbol = self._evaluator.model.resolver.resolve(call.func, self._module, self._scope)
        if not isinstance(symbol, FunctionSymbol):
            return False
        applied = self._evaluator.calls.transformed.of(symbol.declaration, symbol.module)
        return bool(applied) and all(one.transform.filters for one in applied)

    def _name(self, expr: Expr) -> str:
        return self._evaluator.model.resolver.library_name(expr, self._module, self._scope)


def _given(statement: Statement, name: str) -> tuple[Expr, ...]:
    """The expressions of a statement, but for the variable that it binds."""
    targets = statement.targets if isinstance(statement, Assign) else ()
    return tuple(e for e in expressions(statement) if not (e in targets and dotted(e) == name))
