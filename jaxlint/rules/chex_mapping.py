"""JAX603 chex-mapping."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxlint.cst.changes import Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import Array, Instance, Scalar, Value, plain
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.frameworks import CHEX
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.syntax.expressions import Attribute, Call, Comprehension, DictDisplay, Display, Expr, Name, last_name
from jaxlint.syntax.statements import Assign, For

_UNPACKED = "unpacking it gives the names of the fields"
#: What the class has of a mapping, and a field of the name hides.
_OF_MAPPINGS = frozenset({"keys", "values", "items", "get"})
#: `a, b = step(`, for some functions.
_UNPACKING = r"(?m)^[^\S\n]*[\w(\[][\w\s,*()\[\]]*,[^=\n]*=[^=\n]*\b(?:{})\("
_COMPARING = frozenset({"assert_array_equal", "assert_allclose", "assert_equal", "assert_almost_equal", "array_equal"})


class ChexMapping(BodyRule):
    """
    ## What it does

    Finds chex dataclasses that are unpacked, or compared by numpy, as if they were tuples of their fields, and calls of
    methods of a mapping (`keys`, `items`, also by `dict(x)` and `**x`) where a field has the name.

    ## Why is this bad?

    A chex dataclass is a mapping, and iterating over a mapping yields its keys: the names of the fields. numpy compares
    two mappings by their names, which are always the same.

    ## What you will see

    `a, b = state` gives two strings: `TypeError: unsupported operand type(s)` where they are used. A test with
    `np.testing.assert_array_equal(a, b)` passes whatever the states hold. `dict(memory)` with a field `keys`:
    `TypeError: 'jaxlib._jax.ArrayImpl' object is not callable`.

    ## Example

    ```python
    import chex

    @chex.dataclass
    class Segment:
        start: chex.Array
        stop: chex.Array

    def length(segment: Segment) -> chex.Array:
        start, stop = segment
        return stop - start
    ```

    ## Use instead

    ```python
    import chex

    @chex.dataclass
    class Segment:
        start: chex.Array
        stop: chex.Array

    def length(segment: Segment) -> chex.Array:
        return segment.stop - segment.start
    ```

    ## Frameworks

    `chex.dataclass`, unless it has `mappable_dataclass=False`.

    ## Fix safety

    `segment.to_tuple()` is unpacked, which gives the values in the order of the fields. The fix is unsafe: code may be
    meant to read the names.

    ## When not to use it

    Loops over the names of the fields are not reported.

    ## References

    - [chex.dataclass](https://chex.readthedocs.io/en/latest/api.html#chex.dataclass)
    - [blackjax #48](https://github.com/blackjax-devs/blackjax/pull/48)
    """

    code = "JAX603"
    name = "chex-mapping"
    group = "frameworks"
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    calls = _COMPARING

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Functions with a parameter that may be a mapping, and those that unpack what a function returns."""
        unit, module = candidate.unit, candidate.module
        if any(f.owner is None and candidate.takes(f, _may_be_mapping) for f in candidate.functions):
            return True
        if candidate.given.gets(unit, module, _may_be_mapping):
            return True
        makers = "|".join(sorted(unit.calls & candidate.given.makers_imported(module)))
        return (
            bool(makers) and re.search(_UNPACKING.format(makers), module.source.rows(unit.first, unit.last)) is not None
        )

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a body unpacks and compares, and at methods of the mapping that fields hide."""
        imported = code.place.module.outline.imported_modules
        if any("chex" in name for _, name in imported) or _given(code) or _gets(code, evaluator):
            mappings = _Mappings(code, evaluator)
            yield from mappings.unpacked_by_statements()
            yield from mappings.unpacked_by_comprehensions()
            for call in code.calls:
                yield from mappings.unpacked_by(call)
                yield from mappings.compared_by(call)
            yield from mappings.hidden()


class _Mappings:
    """Where a function takes the names of fields for what the fields hold."""

    def __init__(self, code: CodeRead, evaluator: Evaluator) -> None:
        self._code = code
        self._evaluator = evaluator
        self._instances = LocalInstances.of(code, evaluator)

    def unpacked_by_statements(self) -> Iterator[Problem]:
        """`a, b = state` and `for a, b in states:`."""
        for statement in self._code.statements:
            match statement:
                case Assign(targets=(Display(items=items),), value=value) if len(items) > 1:
                    found = self._mapping(self._instances.instance(value))
                    if found is not None:
                        yield _problem(value.at, found, _UNPACKED, "`to_tuple()`", _as_tuple(value))
                case For(target=Display() as target, iterable=iterable):
                    yield from self._unpacked_from(iterable, target)

    def unpacked_by_comprehensions(self) -> Iterator[Problem]:
        """`[a for a, b in states]`."""
        for part in self._code.parts:
            for clause in part.clauses if isinstance(part, Comprehension) else ():
                if isinstance(clause.target, Display):
                    yield from self._unpacked_from(clause.iterable, clause.target)

    def unpacked_by(self, call: Call) -> Iterator[Problem]:
        """`f(*state)`."""
        for argument in call.args:
            found = self._mapping(self._instances.instance(argument.value)) if argument.star == "*" else None
            if found is not None:
                what = "`*` gives the names of the fields"
                yield _problem(argument.at, found, what, "`to_tuple()`", _as_tuple(argument.value))

    def compared_by(self, call: Call) -> Iterator[Problem]:
        """`np.testing.assert_equal(state, other)`."""
        if not call.args or last_name(call.func) not in _COMPARING:
            return
        code, compared = self._code, call.args[0].value
        name = self._evaluator.model.resolver.library_name(call.func, code.place.module, code.scope)
        found = None
        if name.startswith(("numpy.", "jax.numpy.")):
            found = self._mapping(self._instances.instance(compared))
        if found is not None:
            what = f"`{name}` compares the names of the fields only"
            yield _problem(compared.at, found, what, "`chex.assert_trees_all_equal`")

    def hidden(self) -> Iterator[Problem]:
        """`dict(state)` and `f(**state)`, which ask for `keys()`, and `state.items()`, where a field has the name."""
        parts = self._code.contents.expected_to_work
        for part in parts:
            match part:
                case Call(func=Attribute(value=held, attr=method)) if method in _OF_MAPPINGS:
                    yield from self._hidden_in(held, method, f"`.{method}()`", part.at)
                case Call(func=Name(id="dict" as made), args=(argument,)) if argument.keyword is None:
                    yield from self._hidden_in(argument.value, "keys", f"`{made}` calls it and", part.at)
                case Call(args=args):
                    for one in (one for one in args if one.star == "**"):
                        yield from self._hidden_in(one.value, "keys", "`**` calls it and", one.at)
                case DictDisplay(keys=keys, values=values):
                    for value in (value for key, value in zip(keys, values, strict=True) if key is None):
                        yield from self._hidden_in(value, "keys", "`**` calls it and", value.at)

    def _hidden_in(self, held: Expr, method: str, what: str, at: object) -> Iterator[Problem]:
        """The problem of a method of a mapping that is called, where the field of that name holds no function."""
        found = self._mapping(self._instances.instance(held))
        field = None if found is None else found.cls.field(method)
        if found is None or field is None or not _holds_array(field, found.cls, self._evaluator):
            return
        name = found.cls.name
        yield Problem(
            at=at,
            message=(
                f"field `{method}` of `{name}` hides the method `{method}` of the mapping that it is: {what} fails"
                " (TypeError); rename the field"
            ),
            reason="an instance has the value of the field under the name of the method",
            help=f"give the field `{method}` of `{name}` another name",
        )

    def _unpacked_from(self, iterable: Expr, target: Display) -> Iterator[Problem]:
        element = self._instances.element(iterable) if len(target.items) > 1 else None
        found = self._mapping(element)
        if found is not None:
            yield _problem(target.at, found, _UNPACKED, "`to_tuple()`", _as_tuples(iterable, found, self._code))

    def _mapping(self, value: Value | None) -> Instance | None:
        """An instance that certainly is a mapping, and is iterated over as such."""
        if not isinstance(value, Instance) or not value.cls.is_pytree:
            return None
        family = self._evaluator.model.family(value.cls, exact=value.exact)
        return value if all(map(_is_iterated_as_mapping, family)) else None


def _given(code: CodeRead) -> bool:
    """Whether a parameter is an instance of a chex dataclass."""
    return any(isinstance(v, Instance) and v.cls.framework is CHEX for v in code.parameters.values())


def _gets(code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether what a function of another module returns is unpacked."""
    resolver, module = evaluator.model.resolver, code.place.module
    for statement in code.statements:
        match statement:
            case Assign(targets=(Display(),), value=Call(func=func)):
                symbol = resolver.resolve(func, module, code.scope)
                if isinstance(symbol, FunctionSymbol) and symbol.module is not module:
                    return True
    return False


def _may_be_mapping(cls: PytreeClass) -> bool:
    return bool(cls.framework.mapping_option)


def _holds_array(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a field certainly holds an array, which cannot be called."""
    return isinstance(plain(evaluator.promises.field(field, cls)), (Array, Scalar))


def _is_iterated_as_mapping(cls: PytreeClass) -> bool:
    is_chex = cls.framework is CHEX and cls.registered is True
    return is_chex and cls.is_mapping is True and cls.method("__iter__") is None


@proposing
def _as_tuple(expr: Expr) -> Proposal | None:
    """The fix: the values of an instance are unpacked."""
    return _unpacking(Rewrite(expr.at, "{0}.to_tuple()", (expr.at,)))


@proposing
def _as_tuples(iterable: Expr, instance: Instance, code: CodeRead) -> Proposal | None:
    """The fix: the values of one instance after the other are unpacked, whose class has a name here."""
    cls, module = instance.cls, code.place.module
    if cls.module is not module or cls.symbol.declaration.scope:
        return None
    return _unpacking(Rewrite(iterable.at, f"map({cls.name}.to_tuple, {{0}})", (iterable.at,)))


@proposing
def _unpacking(change: Rewrite) -> Proposal | None:
    return Proposal("Unpack the values", Applicability.UNSAFE, (change,))


def _problem(at: object, instance: Instance, what: str, instead: str, fix: Proposal | None = None) -> Problem:
    way_out = f"read the fields, or use {instead}"
    return Problem(
        at=at,
        message=f"`{instance.cls.name}` is a mapping of its fields: {what}, not the values; {way_out}",
        reason="iterating over a mapping yields its keys",
        help=way_out,
        fix=fix,
    )
