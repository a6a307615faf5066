"""JAX115 malformed-field."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from jaxlint.cst.changes import EditField, Proposal, Remove, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability, Confidence, Severity
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Array, Container, Instance, Scalar, Value, plain
from jaxlint.project.resolution import External, FunctionSymbol
from jaxlint.pytrees.frameworks import FIELD_FUNCTIONS
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.rules.analyses.fixes.roles import mark
from jaxlint.rules.analyses.under_trace.traced import is_seen_to_cross
from jaxlint.rules.base import ClassRule, Problem
from jaxlint.symbols.outline import FieldDeclaration
from jaxlint.syntax.expressions import Attribute, Binary, Call, Constant, Display, Expr, Name, dotted, same

#: What `dataclasses.field` takes, and with it the functions that pass on what they do not know.
_ARGUMENTS = frozenset("default default_factory init repr hash compare metadata kw_only doc".split())
_NUMBERS = frozenset({"int", "float", "complex"})


#: Options that mark fields static in one framework or another.
_MARKS = frozenset({"static", "pytree_node", "metadata"})


class MalformedField(ClassRule):
    """
    ## What it does

    Finds slips in the declaration of a field: a colon for the equals sign, a comma after the default, a
    `default_factory` that is called, a field function that is not, one that is given a keyword it does not know, and a
    field that is declared twice.

    ## Why is this bad?

    Python accepts most of them. `lr: jnp.zeros(3)` declares a field of a strange type without a default,
    `lr: float = 0.1,` one with a tuple as default, and of two declarations the first counts for nothing.

    ## What you will see

    `TypeError: Optimizer.__init__() missing 1 required positional argument: 'lr'`, `TypeError: 'list' object is not
    callable`, both when an instance is made; `TypeError: field() got an unexpected keyword argument 'static'` or
    `ValueError: cannot specify both default and default_factory`, when the class is created; `TypeError: unsupported
    operand type(s) for *: 'tuple' and 'float'` where the tuple is used.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Optimizer:
        momentum: jax.Array
        lr: float = 0.1,
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Optimizer:
        momentum: jax.Array
        lr: float = 0.1
    ```

    ## Frameworks

    All that build on dataclasses. Each field function takes the keywords of `dataclasses.field` and its own:
    `struct.field(pytree_node=...)`, `eqx.field(static=..., converter=...)`, `tjax.dataclasses.field(static=...)`.

    ## Fix safety

    The comma goes, a factory is wrapped in a function, and an option that is not taken is removed, or becomes the one
    that marks a field static in this framework. The comma and the marker are unsafe, as the default and the role
    change; the others are safe: no instance could be made.

    ## When not to use it

    A comma is reported only if the annotation is no tuple and no `__init__` of the class assigns the field, and a
    factory that is no array, list or dict only if no function of the module returns an instance that it gives a value
    for the field. A call that makes an array may show what the type is where that belongs, and a marker there does no
    harm where instances stay out of transformations: both have low confidence. If a field is declared twice on purpose,
    leave the first declaration out.

    ## References

    - [dataclasses.field](https://docs.python.org/3/library/dataclasses.html#dataclasses.field)
    """

    code = "JAX115"
    name = "malformed-field"
    group = "declaring"
    since = "0.1.0"

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the annotated names of the class body."""
        if cls.params is None or cls.unknown_decorator or cls.symbol.declaration.conditional_body:
            return
        seen: dict[str, FieldDeclaration] = {}
        own = {f.name: f for f in cls.members if f.owner == cls.symbol}
        for declared in cls.symbol.declaration.fields:
            field = own.get(declared.name)
            before = seen.get(declared.name)
            if before is not None:
                if not _agree(before, declared):
                    yield _twice(cls, declared)
            elif field is not None:
                yield from _Declaration(cls, declared, field, evaluator).problems()
            seen[declared.name] = declared


class _Declaration:
    """One annotated name of a class body."""

    def __init__(self, cls: PytreeClass, declared: FieldDeclaration, field: Field, evaluator: Evaluator) -> None:
        self.cls = cls
        self.declared = declared
        self.field = field
        self.evaluator = evaluator

    def problems(self) -> Iterator[Problem]:
        """What is wrong with it."""
        value = self.declared.value
        if value is None:
            yield from self._colon()
        elif isinstance(value, Call) and self.field.call is not None:
            # a function of the project's own in between may take more, and pass on something else
            if self._function(value.func) == self.field.call.function:
                yield from self._arguments(value, self.field.call.function)
                yield from self._factory()
            elif self._hands_factory_on(value.func):
                yield from self._factory()
        elif self._function(value) is not None:
            yield self._problem(
                value,
                "is given a field function that is not called: its default is that function; call it",
                "call it",
            )
        yield from self._comma(value)

    def _colon(self) -> Iterator[Problem]:
        """`x: jnp.zeros(3)`, `x: field(default=0)`, `x: 0.1`."""
        annotation = self.declared.annotation
        function = self._function(annotation.func) if isinstance(annotation, Call) else None
        if isinstance(annotation, Call) and function is not None and _marks_static(annotation, function):
            written = f"{dotted(annotation.func) or function}({'...' if annotation.args else ''})"
            problem = self._problem(
                annotation,
                f"has `{written}` where its type belongs, which has no effect: the field is not static; write"
                f" `{self.declared.name}: T = {written}`",
                f"write `{self.declared.name}: T = {written}`, with the type of the field for `T`",
            )
            crosses = is_seen_to_cross(self.cls, self.evaluator)
            yield problem if crosses else structs.replace(problem, confidence=Confidence.LOW)
            return
        if isinstance(annotation, Call) and function is not None and _says_nothing(annotation, function):
            return
        shows = function is None and isinstance(annotation, Call) and isinstance(self._value(annotation), Array)
        is_number = isinstance(annotation, Constant) and annotation.kind in _NUMBERS
        if shows or is_number or function is not None:
            problem = self._problem(
                annotation,
                "has a value where its type belongs, and no default; write `=` before the value",
                f"write `{self.declared.name}: ... = ...`",
            )
            yield structs.replace(problem, confidence=Confidence.LOW) if shows else problem

    def _comma(self, value: Expr | None) -> Iterator[Problem]:
        """`x: float = 0.1,`."""
        if not isinstance(value, Display) or value.kind != "tuple" or len(value.items) != 1:
            return
        item = value.items[0]
        if tuple(value.at)[:2] != tuple(item.at)[:2]:
            return  # in parentheses
        init = self.cls.custom_init()
        if init is not None and any(a.attr == self.declared.name for a in init.self_assignments):
            return  # nobody gets the default
        known = self._function(item.func) is not None if isinstance(item, Call) else False
        if known or isinstance(self._declared_value(), (Array, Scalar, Instance)):
            yield self._problem(
                value,
                "has a comma after its default, which makes it a tuple; remove the comma",
                "remove the comma",
                Proposal("Remove the comma", Applicability.UNSAFE, (Rewrite(value.at, "{0}", (item.at,)),)),
            )

    def _factory(self) -> Iterator[Problem]:
        """`default_factory=list()`, and a default beside it."""
        factory = self.field.factory
        if factory is None:
            return
        at = factory.expr if factory.module is self.cls.module else self.declared.annotation
        if self.field.default is not None:
            yield self._problem(
                at,
                "has a default and a default_factory: the class cannot be created (ValueError); keep one",
                "remove `default` or `default_factory`",
            )
            return
        made = plain(self.evaluator.static(factory))
        if not _is_called(made):
            return
        is_given = self._is_given()
        # None says that there is no default; an array or a list is what was meant to be one
        if not is_given or isinstance(made, (Array, Container)):
            called = isinstance(factory.expr, Call)
            way_out = "write it without parentheses, or as a lambda" if called else "wrap it in a lambda"
            which = f"an instance that is given no `{self.declared.name}` cannot" if is_given else "no instance can"
            yield self._problem(
                at,
                f"has a default_factory that cannot be called: {which} be made (TypeError); {way_out}",
                "write `default_factory=lambda: ...`",
                _uncalled(factory.expr) if factory.module is self.cls.module else None,
            )

    def _hands_factory_on(self, func: Expr) -> bool:
        """Whether a function of the project declares the field, and does nothing with the factory but hand it on."""
        symbol = self.evaluator.model.resolver.resolve(func, self.cls.module, self.cls.symbol.declaration.qualname)
        if not isinstance(symbol, FunctionSymbol) or not symbol.declaration.only_returns:
            return False
        match symbol.declaration.return_values:
            case (Call() as call,):
                given = call.keyword("default_factory")
                own = symbol.module.outline.scopes[symbol.declaration.inner_scope].bindings
                is_own = isinstance(given, Name) and symbol.declaration.takes(given.id)
                return isinstance(given, Name) and is_own and len(own.get(given.id, ())) == 1
        return False

    def _is_given(self) -> bool:
        """Whether a function of the module returns an instance that is made with a value for the field."""
        own = {"cls", self.cls.name}
        return any(
            isinstance(value, Call) and dotted(value.func) in own and value.keyword(self.declared.name) is not None
            for function in self.cls.module.outline.functions.values()
            for value in function.return_values
        )

    def _arguments(self, call: Call, function: str) -> Iterator[Problem]:
        """`struct.field(static=True)`."""
        spec = FIELD_FUNCTIONS.get(function)
        if spec is None or spec.is_unlike_field:
            return
        accepted = _ARGUMENTS | frozenset(spec.keywords) | spec.further
        written = dotted(call.func) or function
        for argument in call.args:
            if argument.keyword is not None and argument.keyword not in accepted:
                yield self._problem(
                    argument.value,
                    f"is declared with `{written}`, which takes no `{argument.keyword}`: the class cannot be created"
                    " (TypeError); remove it",
                    f"remove `{argument.keyword}`"
                    + (f", or write `{s}`" if (s := self.cls.framework.static_spelling) else ""),
                    self._other_option(argument.keyword, argument.value),
                )

    @proposing
    def _other_option(self, name: str, value: Expr) -> Proposal | None:
        """The fix of an option that is not taken: it goes, or becomes the one that marks a field static here."""
        if name not in _MARKS:
            return Proposal(f"Remove `{name}`", Applicability.SAFE, (Remove(value.at),))
        marked = mark(self.field, self.cls, self.evaluator.model)
        if marked is None or not isinstance(marked[0], EditField):
            return None
        change = structs.replace(marked[0], without=(name,))
        return Proposal("Mark it as this framework does", Applicability.UNSAFE, (change,), marked[1])

    # -- values -----------------------------------------------------------------------------

    def _function(self, expr: Expr) -> str | None:
        """The field function that a name stands for."""
        if not isinstance(expr, (Name, Attribute)):
            return None
        symbol = self.evaluator.model.resolver.resolve(expr, self.cls.module, self.cls.symbol.declaration.qualname)
        return symbol.name if isinstance(symbol, External) and symbol.name in FIELD_FUNCTIONS else None

    def _value(self, expr: Expr) -> Value:
        return plain(self.evaluator.static(Placed(expr, self.cls.module, self.cls.symbol.declaration.qualname)))

    def _declared_value(self) -> Value | None:
        annotation = self.field.annotation
        return plain(self.evaluator.annotations.read(annotation, self.cls)) if annotation is not None else None

    def _problem(self, at: Expr, what: str, advice: str, fix: Proposal | None = None) -> Problem:
        return Problem(
            at=at.at,
            message=f"field `{self.declared.name}` of `{self.cls.name}` {what}",
            reason="a field is declared as `name: type = default`",
            help=advice,
            fix=fix,
        )


@proposing
def _uncalled(factory: Expr) -> Proposal | None:
    """The fix of a factory that is no function: what it calls, or a function that returns it."""
    if isinstance(factory, Call) and not factory.args:
        change = Rewrite(factory.at, "{0}", (factory.func.at,))
    else:
        change = Rewrite(factory.at, "lambda: {0}", (factory.at,))
    return Proposal("Give it a function", Applicability.SAFE, (change,))


def _marks_static(call: Call, function: str) -> bool:
    """Whether the call of a field function would make a field static."""
    given = {a.keyword: a.value.value for a in call.args if isinstance(a.value, Constant)}
    return function.endswith(".static_field") or given.get("static") is True or given.get("pytree_node") is False


def _says_nothing(call: Call, function: str) -> bool:
    """Whether a field function is given nothing that a bare annotation would not say: the field is as it is meant."""
    spec = FIELD_FUNCTIONS.get(function)
    if spec is not None and spec.is_unlike_field:
        return False
    return all(a.keyword in ("pytree_node", "static", "kw_only") and isinstance(a.value, Constant) for a in call.args)


def _is_called(value: Value) -> bool:
    """Whether a value is certainly none that can be called."""
    match value:
        case Array() | Container() | Scalar():
            return True
        case Instance(cls=cls, exact=True):
            return cls.bases_known and cls.method("__call__") is None
    return False


def _agree(first: FieldDeclaration, second: FieldDeclaration) -> bool:
    """Whether two declarations of a field say the same, or one leaves the type more open (`Any`, `int | None`)."""
    if not same(first.value, second.value):
        return False
    types = (first.annotation, second.annotation)
    if same(*types) or any(dotted(one) in ("Any", "typing.Any") for one in types):
        return True
    return any(_is_one_of(*pair) for pair in (types, types[::-1]))


def _is_one_of(annotation: Expr | None, union: Expr | None) -> bool:
    """Whether an annotation is one side of a union."""
    sides = (union.left, union.right) if isinstance(union, Binary) and union.op == "|" else ()
    return any(same(annotation, one) for one in sides)


def _twice(cls: PytreeClass, declared: FieldDeclaration) -> Problem:
    return Problem(
        at=declared.name_at,
        message=(
            f"field `{declared.name}` of `{cls.name}` is declared twice, and the first declaration is ignored;"
            " remove one"
        ),
        reason="a class body keeps one annotation and one value per name, the last ones",
        help=f"remove one of the declarations of `{declared.name}`, or give it another name",
        severity=Severity.WARNING,
    )
