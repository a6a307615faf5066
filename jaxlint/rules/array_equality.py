"""JAX508 array-equality."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from functools import lru_cache

from msgspec import structs

from jaxlint.finding import Confidence
from jaxlint.infer.choosing.given import is_pytree
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import NONE, Container, Instance, UnknownValue, element_of, plain
from jaxlint.project.modules import Module
from jaxlint.project.resolution import External, FunctionSymbol, Resolver, ValueSymbol
from jaxlint.pytrees.frameworks.plain import EQ_GIVES_LAST
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.fields.compared import (
    COMPARE_LEAVES,
    compared_fields,
    compares_as_tuples,
    has_identifier,
    last_compared,
    may_hold_several,
    unequal_message,
)
from jaxlint.rules.analyses.fields.hashing import unhashable_instance
from jaxlint.rules.analyses.fixes.comparing_leaves import OPPOSITE, comparing_leaves
from jaxlint.rules.analyses.instances.built_alike import behind_unlike, same_in_both, single_in_one
from jaxlint.rules.analyses.instances.local_instances import LocalInstances, may_be_instance
from jaxlint.rules.analyses.instances.made_anew import fields_anew
from jaxlint.rules.analyses.instances.same_objects import given_in, may_give_back, may_share, unchanged_fields
from jaxlint.rules.analyses.instances.searched import items_of, may_be_compared
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.symbols.outline import CHOOSES, COMPARES, LOOKUPS, SEARCHES, Function, Import
from jaxlint.syntax.expressions import (
    Attribute,
    BoolOp,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Name,
    Subscript,
    Unary,
    dotted,
    last_name,
    without_call,
)
from jaxlint.syntax.spelling import with_article
from jaxlint.syntax.statements import Assert, If, While

_CACHES = frozenset({"functools.lru_cache", "functools.cache"})
_CACHE_NAMES = frozenset(name.rpartition(".")[2] for name in _CACHES)
_DICTS = frozenset({"dict", "mapping"})
_HASHING = _DICTS | {"set"}
_MEMBER = "a member of a set"
_SETS = frozenset({"set", "frozenset"})
#: The last names of calls that may hash an argument.
_HASHED = LOOKUPS | _SETS | {"hash"}
#: What may compare or hash something.
_KINDS = frozenset({Compare, Call, Comprehension, DictDisplay, Display, Subscript})
#: Two things that have names, of which a row asks whether they are equal, or whether one is in the other.
_COMPARING = re.compile(r"(?<![\w.])([A-Za-z_]\w*)(?: ==| !=| not in| in) ([A-Za-z_]\w*)(?![\w(])")


class ArrayEquality(BodyRule):
    """
    ## What it does

    Finds comparisons and hashes of instances that hold arrays: `==`, `!=`, `in`, `.index(...)`, `.remove(...)`, keys of
    dicts, members of sets, arguments of functions with `lru_cache`.

    ## Why is this bad?

    The `__eq__` of a dataclass compares the fields one by one and asks for the truth value of each result (from Python
    3.13 on not of the last one, which is given back). An array of more than one element has none. The `__hash__` of a
    frozen one hashes the fields, and arrays have no hash.

    ## What you will see

    `ValueError: The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()`,
    `TypeError: unhashable type: 'jaxlib._jax.ArrayImpl'`; inside of `jit`, `TracerBoolConversionError`.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Pose:
        xyz: jax.Array

    def moved(before: Pose, after: Pose) -> bool:
        return before != after
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Pose:
        xyz: jax.Array

    def moved(before: Pose, after: Pose) -> bool:
        return bool((before.xyz != after.xyz).any())
    ```

    ## Frameworks

    All dataclasses that compare by value, and named tuples. equinox modules compare leaf by leaf and may be compared,
    not hashed. A class with `eq=False` or an own `__eq__` is not reported.

    ## Fix safety

    `a == b` becomes `jax.tree.all(jax.tree.map(jnp.array_equal, a, b))`, and `!=` its opposite, where all fields are
    leaves; in a function that is traced `jax.tree.reduce(jnp.logical_and, ...)`, unless Python asks there whether it is
    true. The fix is unsafe: instances of another structure raise.

    ## When not to use it

    An instance is equal to itself without a look at its fields, and is found in `[instance]` likewise:
    `new.time == old.time` is not reported where `new` is made of `old`, nor are instances that are made of the same
    objects (`Stat(*stat) == stat`). Nor is what is annotated as an array of one element, or made with one.
    In tests, `chex.assert_trees_all_equal` tells where two trees differ.

    ## References

    - [flax #3032](https://github.com/google/flax/issues/3032)
    - [chex.assert_trees_all_equal](https://chex.readthedocs.io/en/latest/api.html)
    """

    code = "JAX508"
    name = "array-equality"
    group = "transformations"
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    raises_at_once = True
    instance_calls = frozenset({COMPARES, CHOOSES, "hash"})

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Functions with a cache that take instances, and code that may lead to a call of one.

        So do functions that compare what they are given, whatever that is: callers tell.
        """
        if any(_is_cached(f) and candidate.takes(f, is_pytree) for f in candidate.functions):
            return True
        module = candidate.module
        if COMPARES in candidate.unit.calls and any(_compares_given(f, module) for f in candidate.functions):
            return True
        own = _cached_functions(module)
        if own and not candidate.unit.calls.isdisjoint(own | candidate.calling(own)):
            return True
        return bool(_imported_cached(candidate.unit.calls, module, candidate.given.model.resolver))

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a body compares and hashes, and at what a cached function is given."""
        instances = LocalInstances.of(code, evaluator)
        for part in code.contents.expected_to_work:
            if type(part) not in _KINDS:
                continue
            found: Problem | None = None
            match part:
                case Compare(left=left, ops=(op,), comparators=(right,)):
                    found = _compared(part, left, op, right, instances, evaluator, code)
                    if found is not None and op in OPPOSITE:
                        is_tested = id(part) in _tested_in(code)
                        fix = comparing_leaves(part, instances.instance(left), is_tested, code, evaluator)
                        found = structs.replace(found, fix=fix)
                case Call(func=Attribute(value=held, attr=attr), args=(argument,)) if attr in SEARCHES:
                    if isinstance(plain(instances.value(held)), Container):
                        looked_for = argument.value
                        if may_be_compared(looked_for, items_of(held, code), instances.instance):
                            found = _searched(part, looked_for, f"`.{attr}(...)`", instances, evaluator)
                case Call(func=func) if last_name(func) in _HASHED:
                    found = _hashed(part, instances, evaluator)
                case DictDisplay() | Display(kind="set") | Comprehension(kind="dict" | "set") | Subscript():
                    found = _hashed(part, instances, evaluator)
            if found is not None:
                yield found
        yield from _cached(code, evaluator)
        module, called = code.place.module, code.contents.called
        cached = (_cached_functions(module) & called) | _imported_cached(called, module, evaluator.model.resolver)
        for call in code.calls if cached else ():
            if last_name(call.func) in cached:
                yield from _given_to_cached(call, instances, code, evaluator)


def _compares_given(function: Function, module: Module) -> bool:
    """Whether a row of a function compares a parameter without annotation with something else that has a name."""
    bare = {p.name for p in function.parameters if p.annotation is None and p.kind[0] != "*"} - {function.self_name}
    first, last = function.body_rows
    rows = module.source.lines[first - 1 : last] if bare else ()
    compared = (found for row in rows if "=" in row or " in " in row for found in _COMPARING.findall(row))
    return any(not bare.isdisjoint(pair) for pair in compared)


def _tested_in(code: CodeRead) -> frozenset[int]:
    """The same for all that is compared in a body, found out once."""
    if _tested not in code.shared:
        code.shared[_tested] = _tested(code)
    found: frozenset[int] = code.shared[_tested]
    return found


def _tested(code: CodeRead) -> frozenset[int]:
    """The expressions (by identity) of which the code asks whether they are true."""
    tests: list[Expr] = []
    for statement in code.statements:
        match statement:
            case If(branches=branches):
                tests += [test for test, _ in branches]
            case While(test=test) | Assert(test=test):
                tests.append(test)
    found = set(map(id, tests))
    for part in code.contents.expected_to_work:
        match part:
            case BoolOp(left=left, right=right):
                found |= {id(left), id(right)} if id(part) in found else {id(left)}
            case Unary(op="not", operand=test) | Conditional(test=test):
                found.add(id(test))
            case Call(func=Name(id="bool"), args=(argument,)):
                found.add(id(argument.value))
    return frozenset(found)


def _compared(
    at: Expr,
    left: Expr,
    op: str,
    right: Expr,
    instances: LocalInstances,
    evaluator: Evaluator,
    code: CodeRead,
) -> Problem | None:
    if isinstance(right, Constant):
        return None
    if op in ("==", "!="):
        one = instances.instance(left)
        other = None if one is None else instances.instance(right)
        if one is None or other is None or one.cls is not other.cls or dotted(left) == dotted(right) is not None:
            return None
        values = given_in(code)

        def given(name: str) -> Iterable[Expr]:
            return values.get(name, ())

        if may_share(left, right, given):
            return None
        old: Set[str] = frozenset()
        for made, original in ((left, right), (right, left)):
            if may_give_back(made, original, one.cls, given):
                anew = fields_anew(made, one.cls, code, evaluator)
                if not anew:
                    return None
                old = {field.name for field in one.cls.fields} - anew
        gives_last = op == "==" and id(at) not in _tested_in(code)
        unchanged = unchanged_fields(left, right, one.cls, given) | same_in_both(left, right, one.cls, given) | old
        single = single_in_one(left, right, one.cls, code)
        single |= behind_unlike(left, right, [field.name for field in compared_fields(one.cls)], one.cls, given)
        return _unequal(at, one, f"`{op}`", evaluator, gives_last, unchanged, single)
    if op in ("in", "not in"):
        held = plain(instances.value(right))
        symbol = evaluator.model.resolver.resolve(right, code.place.module, code.scope)
        if isinstance(held, UnknownValue) and isinstance(symbol, ValueSymbol):
            held = plain(evaluator.of_symbol(symbol))
        if isinstance(held, Container) and held.kind in _HASHING:
            one = instances.instance(left)
            return None if one is None else _unhashable(at.at, one, f"looked for in a {held.kind}", evaluator)
        if not may_be_compared(left, items_of(right, code), instances.instance):
            return None
        one = instances.instance(left)
        in_display = isinstance(right, Display) and any(instances.instance(item) for item in right.items)
        is_list = isinstance(right, Name) and one is not None and instances.is_list_of(right.id, one)
        is_list = is_list and isinstance(held, UnknownValue)
        if in_display or is_list or (isinstance(held, Container) and held.kind in ("list", "tuple", "sequence")):
            return _searched(at, left, f"`{op}`", instances, evaluator)
    return None


def _searched(at: Expr, expr: Expr, how: str, instances: LocalInstances, evaluator: Evaluator) -> Problem | None:
    one = instances.instance(expr)
    if one is None or all(has_identifier(cls, evaluator) for cls in evaluator.model.family(one.cls, exact=one.exact)):
        return None
    return _unequal(at, one, how, evaluator)


def _unequal(
    at: Expr,
    instance: Instance,
    how: str,
    evaluator: Evaluator,
    gives_last: bool = False,
    unchanged: Set[str] = frozenset(),
    single: Set[str] = frozenset(),
) -> Problem | None:
    """The problem of a comparison, if all fields are compared and one holds arrays.

    `gives_last`: nobody asks for the truth value of what comparing the last field may give. `unchanged`: fields in
    which both hold the same object, so that tuples find them equal without a look; `single`: those of one element.
    """
    family = evaluator.model.family(instance.cls, exact=instance.exact)
    if instance.is_other_tree or not all(map(_compares_fields, family)):
        return None  # shapes, names or axes may stand in the place of the arrays
    alike = unchanged if compares_as_tuples(instance.cls, evaluator) else frozenset()
    field = _array_field(instance.cls, evaluator, alike | single)
    if field is None:
        return None
    gives_last = gives_last and field is last_compared(instance.cls)
    holds = evaluator.model.target.holds(EQ_GIVES_LAST) if gives_last else False
    if holds:
        return None
    return Problem(
        at=at.at,
        message=unequal_message(how, instance.cls.name, field.name, "" if holds is False else EQ_GIVES_LAST.before),
        reason="an array of more than one element has no truth value",
        help=COMPARE_LEAVES,
    )


def _compares_fields(cls: PytreeClass) -> bool:
    if cls.answers("__eq__") or not cls.framework.compares_fields:
        return False
    return cls.eq is True or cls.framework.is_tuple


def _array_field(cls: PytreeClass, evaluator: Evaluator, unchanged: Set[str]) -> Field | None:
    """A field that is compared, is not `unchanged`, and certainly holds an array."""
    compared = (f for f in compared_fields(cls) if f.name not in unchanged)
    return next((field for field in compared if may_hold_several(field, cls, evaluator)), None)


def _hashed(part: Expr, instances: LocalInstances, evaluator: Evaluator) -> Problem | None:
    """The problem of a key, a member of a set, or the argument of `hash`."""
    keys: tuple[Expr | None, ...] = ()
    container: Expr | None = None
    how, kinds = "a key of a dict", _DICTS
    match part:
        case DictDisplay(keys=keys):
            pass
        case Display(items=items):
            keys, how = items, _MEMBER
        case Subscript(value=container, index=index):
            keys = (index,)
        case Call(func=Attribute(value=held, attr=attr), args=(argument, *_)) if attr in LOOKUPS:
            keys, container, kinds = (argument.value,), held, _HASHING
        case Call(func=Name(id="hash"), args=(argument,)):
            keys, how = (argument.value,), "hashed"
        case Comprehension(key=key, element=element):
            keys, how = (element if key is None else key,), how if key is not None else _MEMBER
        case Call(func=Name(id=name), args=(argument,)) if name in _SETS and not argument.star:
            member = plain(element_of(instances.value(argument.value)))
            if isinstance(member, Instance) and member.cls.is_pytree:
                return _unhashable(part.at, member, _MEMBER, evaluator)
            return None
    possible = [one for key in keys if key is not None for one in _hashed_with(key) if may_be_instance(one)]
    if container is not None and possible:
        value = plain(instances.value(container))
        if not isinstance(value, Container) or value.kind not in kinds:
            return None
        how = _MEMBER if value.kind == "set" else how
    key, one = next(((k, i) for k in possible if (i := instances.instance(k))), (None, None))
    if key is None or one is None:
        return None
    return _unhashable(key.at, one, how, evaluator)


def _hashed_with(key: Expr) -> tuple[Expr, ...]:
    """What is hashed with a key: the items, if it is a tuple of what has names; arrays are given slices, too."""
    if isinstance(key, Display):
        return key.items if all(isinstance(item, (Attribute, Constant, Name)) for item in key.items) else ()
    return (key,)


def _unhashable(at: object, instance: Instance, how: str, evaluator: Evaluator) -> Problem | None:
    family = evaluator.model.family(instance.cls, exact=instance.exact)
    reasons = [unhashable_instance(cls, evaluator) for cls in family]
    first = reasons[0]
    if first is None or None in reasons:
        return None
    way_out = "use a key of your own, a name or a number"
    return Problem(
        at=at,
        message=f"{with_article(instance.cls.name)} is {how} and {first.what}: TypeError (unhashable type); {way_out}",
        reason="the hash of an instance is made of the hashes of its fields, and arrays have none",
        help=way_out,
    )


def _is_cached(function: Function) -> bool:
    """Whether a decorator is called like one that hashes the arguments."""
    heads = [without_call(d) for d in function.decorators]
    return any(last_name(head) in _CACHE_NAMES for head in heads)


@lru_cache(maxsize=8)
def _cached_functions(module: Module) -> frozenset[str]:
    """The names of the functions of a module that have a cache."""
    return frozenset(f.name for f in module.outline.functions.values() if f.decorators and _is_cached(f))


def _imported_cached(names: Set[str], module: Module, resolver: Resolver) -> frozenset[str]:
    """Those of some names by which a module has imported a function with a cache."""
    bindings = module.outline.module_scope.bindings
    found: set[str] = set()
    for name in names & bindings.keys():
        if isinstance(bindings[name][0], Import):
            symbol = resolver.follow(resolver.resolve_name(name, module))
            if isinstance(symbol, FunctionSymbol) and symbol.declaration.decorators and _is_cached(symbol.declaration):
                found.add(name)
    return frozenset(found)


def _given_to_cached(call: Call, instances: LocalInstances, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
    """The instances that a function with a cache is given, for parameters that do not say so themselves."""
    resolver = evaluator.model.resolver
    symbol = resolver.follow(resolver.resolve(call.func, code.place.module, code.scope))
    if not isinstance(symbol, FunctionSymbol) or not _is_cached(symbol.declaration):
        return
    function = symbol.declaration
    if not any(_caches(decorator, function, symbol.module, evaluator) for decorator in function.decorators):
        return
    said = {p.name for p in function.parameters if p.annotation is not None}
    names = {id(value): name for name, value in call.given_to(p.name for p in function.parameters).items()}
    for argument in call.args:
        one = instances.instance(argument.value) if names.get(id(argument.value), "") not in said else None
        if one is not None and not argument.star:
            found = _unhashable(argument.at, one, f"an argument of the cached `{function.name}`", evaluator)
            if found is not None:
                yield found


def _caches(decorator: Expr, function: Function, module: Module, evaluator: Evaluator) -> bool:
    """Whether a decorator looks up by the hash of the arguments what a function has returned."""
    symbol = evaluator.model.resolver.resolve(without_call(decorator), module, function.scope)
    return isinstance(symbol, External) and symbol.name in _CACHES


def _cached(code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
    """The parameters of a function with a cache, which is looked up by the hash of the arguments."""
    function = code.function
    for decorator in function.decorators if function is not None else ():
        if function is None or not _caches(decorator, function, code.place.module, evaluator):
            continue
        for parameter in function.parameters:
            value = plain(code.parameters.get(parameter.name, NONE))
            if isinstance(value, Instance) and value.cls.is_pytree:
                found = _unhashable(parameter.at, value, f"an argument of the cached `{function.name}`", evaluator)
                if found is not None:
                    yield found
