"""The fix of a leaf that begins as a Python number and becomes an array: it begins as one, of the type that it gets."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import Change, EditField, NeededImport, Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.project.modules import Module
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.rules.analyses.fields.python_numbers import stays_python_number
from jaxlint.rules.analyses.fixes.defaults import is_read_of_class
from jaxlint.rules.analyses.instances.given_literals import (
    around,
    calls_giving,
    giving,
    is_given_only,
    makes_another,
)
from jaxlint.rules.analyses.instances.passed import calls_as_written
from jaxlint.rules.analyses.under_trace.forms import Leaf
from jaxlint.rules.analyses.under_trace.library_forms import called, method, number_kind
from jaxlint.rules.analyses.under_trace.traced_leaves import TracedLeaves
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Binary, Call, Constant, Display, Expr, Name, Unary, last_name

#: The numbers of Python of which jax makes weakly typed arrays, and the type that they get in an array.
_KINDS = {"int": "int", "float": "float", "inexact": "float"}


@proposing
def beginning_strongly(
    field: Field, cls: PytreeClass, kind: str, module: Module, evaluator: Evaluator
) -> Proposal | None:
    """The unsafe fix, where the kind of numbers that the leaf gets is known, and what it begins with stands here."""
    resolver = evaluator.model.resolver
    array, annotated = spelled("jax.numpy.array", module, resolver), spelled("jax.Array", module, resolver)
    numbers = _given(field, cls, module, evaluator)
    if not kind or array is None or annotated is None or numbers is None:
        return None
    if stays_python_number(field.name, cls, module, evaluator):
        return None
    made = f"{array[0]}({{0}}, dtype={kind})"
    changes: list[Change] = [Rewrite(number.at, made, (number.at,)) for number in numbers]
    imports = [*array[1]]
    if field.default is not None:
        declared = _declared(field, cls, made, module, evaluator)
        if declared is None:
            return None
        changes.append(declared[0])
        imports += declared[1]
    annotation = None if field.annotation is None else field.annotation.expr
    if isinstance(annotation, Name) and annotation.id in ("int", "float"):
        if field.owner.module is not module:
            return None
        changes.append(Rewrite(annotation.at, annotated[0]))
        imports += annotated[1]
    title = f"Let `{field.name}` begin as an array"
    return Proposal(title, Applicability.UNSAFE, tuple(changes), tuple(dict.fromkeys(imports)))


def _declared(
    field: Field, cls: PytreeClass, made: str, module: Module, evaluator: Evaluator
) -> tuple[Change, tuple[NeededImport, ...]] | None:
    """The change of a default, which makes an array for each instance then, and the imports that it needs."""
    default, function = field.default, cls.framework.field_function
    if default is None or default.module is not module or field.owner.module is not module or not function:
        return None
    if cls.framework.is_tuple or cls.custom_init() is not None or is_read_of_class(field.name, cls, evaluator):
        return None
    if field.call is not None:
        if field.call.positional or "default" not in field.call.keywords:
            return None
        number = module.source.segment(*place_of(default.expr.at))
        factory = ("default_factory", f"lambda: {made.replace('{0}', number)}")
        return EditField(field.at, is_call=True, given=(factory,), without=("default",)), ()
    written = spelled(function, module, evaluator.model.resolver)
    if written is None:
        return None
    template = f"{written[0]}(default_factory=lambda: {made})"
    return Rewrite(default.expr.at, template, (default.expr.at,)), written[1]


def _given(field: Field, cls: PytreeClass, module: Module, evaluator: Evaluator) -> list[Expr] | None:
    """The numbers that constructions in a module give a leaf; None if something else may give it one."""
    names, found = {cls.name, "cls"}, list[Expr]()
    for home in around(cls, evaluator):
        for call, value in _values(field, cls, home, evaluator):
            if not _is_written(value):
                continue
            if home is not module or last_name(call.func) not in names or isinstance(value, Display):
                return None  # the update may be that of another class
            found.append(value)
    return found


def _values(field: Field, cls: PytreeClass, home: Module, evaluator: Evaluator) -> Iterator[tuple[Call, Expr]]:
    """The calls of a module that make or update an instance, and what each gives a field."""
    names = {cls.name, *({"cls"} if cls.custom_init() is None else ())}
    for call, function in calls_giving(field.name, names, home, evaluator):
        value = None if makes_another(call, function, cls) else giving(field, cls, call, names)
        if value is not None:
            yield call, value


def _is_written(value: Expr) -> bool:
    """Whether a value is a number that is written out, or a tuple that holds one."""
    match value:
        case Constant(kind="int" | "float"):
            return True
        case Unary(operand=operand):
            return _is_written(operand)
        case Display(items=items):
            return any(map(_is_written, items))
    return False


class NumbersGiven:
    """Tells of which kind the numbers are that a compiled function puts into a leaf: "int" or "float", or nothing."""

    def __init__(
        self, field: Field, cls: PytreeClass, leaves: TracedLeaves, code: CodeRead, evaluator: Evaluator
    ) -> None:
        self._field = field
        self._leaves = leaves
        self._code = code
        self._evaluator = evaluator
        self._begins = self._beginning(cls)

    def kind(self, expr: Expr) -> str:
        """The kind of numbers that an expression makes."""
        match expr:
            case Binary(op=op, left=left, right=right):
                kinds = {self.kind(left), self.kind(right)}
                return "float" if op == "/" or "float" in kinds else "int" if kinds == {"int"} else ""
            case Name(id=name):
                function = self._code.function
                return "" if function is None else self._of_parameter(name, function)
            case Attribute() if (leaf := self._leaves.leaf(expr)) is not None:
                return self._begins if leaf.field is self._field else self._of_leaf(leaf.field, leaf.cls)
            case Call():
                return self._of_call(expr)
        return _KINDS.get(number_kind(expr), "")

    def _beginning(self, cls: PytreeClass) -> str:
        """The kind of the numbers that the leaf begins with."""
        default = self._field.default
        written = [] if default is None else [default.expr]
        for home in around(cls, self._evaluator):
            written += [value for _, value in _values(self._field, cls, home, self._evaluator) if _is_written(value)]
        kinds = {_KINDS.get(number_kind(value), "") for value in written}
        return kinds.pop() if len(kinds) == 1 else ""

    def _of_leaf(self, field: Field, cls: PytreeClass) -> str:
        """The kind that all constructions give another leaf."""

        def gives(kind: str) -> bool:
            return is_given_only(lambda given: _kind_of(given) == kind, field, cls, self._evaluator)

        return next((kind for kind in ("float", "int") if gives(kind)), "")

    def _of_parameter(self, name: str, function: Function) -> str:
        """The kind that all calls of the module give a parameter."""
        module = self._code.place.module
        calls = calls_as_written(function, module, (module,), self._evaluator)
        kinds = {_kind_of(Placed(call.given[name], module, call.scope)) for call in calls if name in call.given}
        return kinds.pop() if len(kinds) == 1 else ""

    def _of_call(self, call: Call) -> str:
        name = self._evaluator.model.resolver.library_name(call.func, self._code.place.module, self._code.scope)
        keywords = {a.keyword: a.value for a in call.args if a.keyword is not None}
        given = [Leaf(self.kind(value)) for value in call.positional]
        if name:
            found = called(name, given, call.positional, keywords)
        elif isinstance(call.func, Attribute):
            found = method(Leaf(self.kind(call.func.value)), call.func.attr, given, call.positional)
        else:
            return ""
        return _KINDS.get(found.kind, "") if isinstance(found, Leaf) else ""


def _kind_of(given: Placed) -> str:
    """The kind of the numbers that are given, by the usual names."""
    return _KINDS.get(number_kind(given.expr), "")
