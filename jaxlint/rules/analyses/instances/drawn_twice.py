"""Two calls that draw random numbers with one key, one after the other: with that of a state, or beside states."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, CodeRead, Construct, Replace
from jaxlint.infer.known.values import holds_pytrees, plain
from jaxlint.libraries.sampling import OF_ONE_PLACE, SAMPLERS, are_dependent
from jaxlint.rules.analyses.instances.keys_drawn import given_key, is_key, taken_from
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    BoolOp,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Constant,
    Expr,
    Lambda,
    Name,
    Subscript,
    Unary,
    children,
    dotted,
    last_name,
    same,
    unpacked,
)
from jaxlint.syntax.names_read import reads
from jaxlint.syntax.paths import is_of_tests
from jaxlint.syntax.statements import (
    Assign,
    Body,
    ClassDefinition,
    FunctionDefinition,
    Statement,
    assigned_names,
    blocks,
    expressions,
    parts,
)

#: Functions that take one of two drawn numbers, so that only one counts.
_CHOOSING = frozenset({"where", "select", "select_n", "cond", "switch"})
#: The parameters of the sampler of integers.
_OF_INTEGERS = ("key", "shape", "minval", "maxval")
#: The variable at the beginning of a key as it is written.
_NAME = re.compile(r"^(\w+).*")
#: What is evaluated now and then, or for each of several keys.
_UNSURE = (Conditional, BoolOp, Lambda, Comprehension)


class DrawnTwice(msgspec.Struct, frozen=True):
    """The later one of two calls, the one before, and the key: an attribute of a variable that holds the state.

    Or it is a variable, or an item of one, `keys[0]`, in a function that is given an instance or makes one.
    """

    call: Call
    before: Call
    key: Attribute | Name | Subscript


def drawn_twice(code: CodeRead, evaluator: Evaluator) -> Iterator[DrawnTwice]:
    """The calls of samplers of `jax.random` whose key another one has been given before, on every way to them.

    Permutations and choices are no samplers: two arrays are shuffled alike with one key.
    """
    if sum(last_name(call.func) in SAMPLERS for call in code.calls) > 1:
        yield from _Reader(code, evaluator).read(code.body, {})


def outcome_of(twice: DrawnTwice) -> str:
    """What the numbers of two calls have to do with each other, in words."""
    one, other = twice.before, twice.call
    if same(one.func, other.func) and len(one.args) == len(other.args):
        pairs = zip(one.args[1:], other.args[1:], strict=True)
        if all(a.keyword == b.keyword and same(a.value, b.value) for a, b in pairs):
            return "both draw the same numbers"
    if {last_name(one.func), last_name(other.func)} <= OF_ONE_PLACE:
        return "one of the numbers follows from the other"
    return "both make their numbers of the same random bits"


class _Reader:
    def __init__(self, code: CodeRead, evaluator: Evaluator) -> None:
        self._code, self._evaluator = code, evaluator
        self._assigned = {event.attr for event in code.events if isinstance(event, AssignAttribute)}
        #: Whether keys of no state are looked at, too.
        self._takes_variables = _has_instances(code) and not is_of_tests(code.place.module.path)

    def read(self, body: Body, before: dict[str, Call]) -> Iterator[DrawnTwice]:
        """Go through a block; `before` has the keys that are used up when it begins, with the calls."""
        used = dict(before)
        for statement in body:
            yield from self._statement(statement, used)
            bound = assigned_names((statement,))
            used = {key: call for key, call in used.items() if _NAME.sub(r"\1", key) not in bound}

    def _statement(self, statement: Statement, used: dict[str, Call]) -> Iterator[DrawnTwice]:
        for expr in expressions(statement):
            for call, chosen in _calls(expr, ()):
                key = self._key_of(call)
                if key is None:
                    continue
                first = used.setdefault(written(key), call)
                if first is not call and _are_dependent(first, call) and not self._is_chosen(first, call, chosen):
                    yield DrawnTwice(call, first, key)
        if not isinstance(statement, (FunctionDefinition, ClassDefinition)):
            for block in blocks(statement):
                yield from self.read(block, used)

    def _key_of(self, call: Call) -> Attribute | Name | Subscript | None:
        """The attribute of a variable that a sampler is given as its key, or the variable itself."""
        given = given_key(call, self._code.place.module, self._code.scope, self._evaluator)
        key = None if given is None or _draws_one_number(call) else taken_from(given, call, self._code)
        if is_key(key):
            return key if key.attr not in self._assigned else None
        match key:
            case Name() | Subscript(value=Name(), index=Constant(kind="int")) if self._takes_variables:
                return key
        return None

    def _is_chosen(self, first: Call, second: Call, around: tuple[Call, ...]) -> bool:
        """Whether something takes one of two drawn numbers, here or where both have names; or nobody reads one."""
        if any(part is first for one in around for part in parts(one)):
            return True
        names = {self._name_of(first), self._name_of(second)}
        if any(name and "." not in name and next(reads(self._code.body, name), None) is None for name in names):
            return True
        choices = (call for call in self._code.calls if last_name(call.func) in _CHOOSING)
        return None not in names and any(names <= {dotted(given) for given in call.positional} for call in choices)

    def _name_of(self, call: Call) -> str | None:
        statement = self._code.contents.statement_of.get(id(call))
        if not isinstance(statement, Assign) or len(statement.targets) != 1:
            return None
        pairs = unpacked(statement.targets[0], statement.value)
        return next((dotted(target) for target, value in pairs if value is call), None)


def _are_dependent(one: Call, other: Call) -> bool:
    """Whether the numbers of two calls of samplers follow from each other.

    Integers of one key and another range have nothing in common: they are what is left of the same large number.
    """
    names = last_name(one.func), last_name(other.func)
    if names != ("randint", "randint"):
        return are_dependent(*names)
    first, second = (call.given_to(_OF_INTEGERS) for call in (one, other))
    if not all(same(first.get(name), second.get(name)) for name in ("shape", "minval")):
        return False
    ends = first.get("maxval"), second.get("maxval")
    return same(*ends) or not all(isinstance(end, Constant) for end in ends)


def _draws_one_number(call: Call) -> bool:
    """Whether a call draws from a range that is a single number (`minval=0.0, maxval=0.0`), so that nothing follows."""
    ends = call.keyword("minval"), call.keyword("maxval")
    if None in ends or same(*ends):
        return None not in ends
    bare = (end.operand if isinstance(end, Unary) else end for end in ends)
    return all(isinstance(end, Constant) and end.value == 0 and end.kind != "bool" for end in bare)


def _is_masked(expr: Expr) -> bool:
    """Whether an expression is a product with a comparison, so that what is multiplied counts now and then."""
    if not isinstance(expr, Binary) or expr.op != "*":
        return False
    sides = (expr.left, expr.right)
    is_mask = any(isinstance(s, Compare) and not any(isinstance(p, Call) for p in parts(s)) for s in sides)
    return is_mask or any(map(_is_masked, sides))


def written(key: Attribute | Name | Subscript) -> str:
    """A key as it is written."""
    if isinstance(key, Subscript):
        return f"{dotted(key.value)}[{key.index.value if isinstance(key.index, Constant) else ''}]"
    return dotted(key) or ""


def _has_instances(code: CodeRead) -> bool:
    """Whether a function is given an instance of a pytree class, or makes one."""
    if any(isinstance(event, (Construct, Replace)) for event in code.events):
        return True
    return any(holds_pytrees(plain(value)) for value in code.parameters.values())


def _calls(expr: Expr, chosen: tuple[Call, ...]) -> Iterator[tuple[Call, tuple[Call, ...]]]:
    """The calls that an expression surely makes, each with the calls around it that take one of what they are given."""
    if isinstance(expr, _UNSURE) or _is_masked(expr):
        return
    if isinstance(expr, Call):
        yield expr, chosen
        if last_name(expr.func) in _CHOOSING:
            chosen = (*chosen, expr)
    for child in children(expr):
        yield from _calls(child, chosen)
