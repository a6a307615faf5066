"""JAX215 static-mismatch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

import msgspec

from jaxlint.finding import Confidence
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import is_classmethod
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol, Resolver
from jaxlint.pytrees.callee import PARTIAL
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.fields.made_instances import Made, MadeInstances, difference
from jaxlint.rules.analyses.fixes.static_numbers import leaf_of_number, or_leaf
from jaxlint.rules.analyses.instances.numbers_mapped import NumberMapped, made_anew, numbers_mapped
from jaxlint.rules.analyses.instances.two_classes import of_two_classes
from jaxlint.rules.analyses.under_trace.branch_updates import differing_update
from jaxlint.rules.analyses.under_trace.carried import RUNNING, changes
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.symbols.outline import Function, Unit
from jaxlint.syntax.expressions import (
    Argument,
    Call,
    Comprehension,
    Display,
    Expr,
    Lambda,
    Name,
    Starred,
    dotted,
    last_name,
)
from jaxlint.syntax.spelling import with_article
from jaxlint.syntax.statements import (
    Return,
    all_parts,
    bound_once,
    looked_up,
    parts,
    walk,
)

#: Functions that take several trees apart together, and how many of their arguments are no trees.
_TOGETHER = {
    "jax.tree.map": 1,
    "jax.tree_util.tree_map": 1,
    "jax.tree_map": 1,
    "jax.tree_multimap": 1,
    "jax.tree_util.tree_multimap": 1,
    "optax.incremental_update": 0,
    "optax.apply_updates": 0,
}
_BRANCHES = {"jax.lax.cond": slice(1, 3), "jax.lax.switch": slice(1, 2)}
_LAST_NAMES = frozenset(name.rpartition(".")[2] for name in (*_TOGETHER, *_BRANCHES))
_BRANCHING = frozenset(name.rpartition(".")[2] for name in _BRANCHES)
#: What may be a list where it is given to a function; the call of one only to a function that is called by its name.
_MAY_BE_LISTS = frozenset({Name, Call, Comprehension, Display})
#: Functions that are given trees of axes, and their names.
_MAPPING_ALONG = frozenset({"jax.vmap", "jax.pmap"})
_MAPPING = frozenset(name.rpartition(".")[2] for name in _MAPPING_ALONG)
#: The function that takes no instance for the axes of all arguments, of whatever class (jax 0.4.35 to 0.10.2).
_TAKING_AXES = "jax.vmap"
#: What may be given a constant for its axes, or for what is mapped along these: `vmap(f, in_axes=AXES)(x, PARAMS)`.
_OF_CONSTANT = re.compile(r"(?:\bin_axes\s*=\s*|\)\((?:.*,\s*)?)[A-Z][A-Z0-9_]*\s*[,)]")
#: What stands between `for` and `in`.
_TURNS, _WORD = re.compile(r"\bfor\s([^\n]*)\sin\s"), re.compile(r"\w+")
_OTHER_BRANCH = "TypeError (branch outputs must have the same pytree structure)"


class StaticMismatch(BodyRule):
    """
    ## What it does

    Finds instances that meet with different values of a static field: in one `jax.tree.map`, in a list whose items are
    stacked, as the results of the branches of `lax.cond` and `lax.switch`, or as the `in_axes` of `jax.vmap` and what
    is mapped over; instances of two classes in one `jax.tree.map`; an instance of any class that is `in_axes` itself,
    not an entry of a tuple; and one that `jax.vmap` maps along an axis while some leaf is a number of Python.

    ## Why is this bad?

    The values of static fields are part of the structure of a tree, and so is the class. Trees of different structure
    cannot be mapped or stacked together, and branches must return trees of the same. `in_axes` has an entry for each
    argument: a tree of axes for the fields of one argument stands in a tuple,
    `in_axes=(Agent(weights=0, index=None),)`.

    ## What you will see

    `ValueError: pytree structure error: different pytree metadata at key path`; from `lax.cond`, `TypeError: cond
    branch outputs must have the same pytree structure, but they differ`. Of two classes, `ValueError: pytree structure
    error: different types at key path`; of an instance for `in_axes`, `TypeError: vmap in_axes must be an int, None, or
    a tuple of entries`; of a number, `ValueError: vmap was requested to map its argument along axis 0, which implies
    that its rank should be at least 1, but is only 0`.

    ## Example

    ```python
    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class Agent:
        weights: jax.Array
        index: int = struct.field(pytree_node=False, default=0)

    def population(size: int) -> Agent:
        agents = [Agent(weights=jnp.zeros(3), index=i) for i in range(size)]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *agents)
    ```

    ## Use instead

    ```python
    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class Agent:
        weights: jax.Array
        index: int = 0

    def population(size: int) -> Agent:
        agents = [Agent(weights=jnp.zeros(3), index=i) for i in range(size)]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *agents)
    ```

    ## Frameworks

    All that have static fields; as `in_axes`, along an axis, and of two classes, instances of any, and of a NamedTuple.

    ## Fix safety

    A field that holds a number becomes a leaf, unless a compiled function needs to know it. The fix is unsafe, as it
    changes the structure of the class. There is none for text, which cannot be a leaf here.

    ## When not to use it

    There is no reason to turn it off: the call fails. Only literals, constants of a module, members of enums and the
    variable of a comprehension are compared, objects that are made with each instance and equal no other one (an
    optimizer of optax, a lambda, a partial), and what a branch gives a field that certainly is another value than
    before: `not x`, `1 - x`, `"a" if x == "b" else "b"`. A constructor of one's own must put its parameter into the
    field as it is. What counts up is JAX202's.

    ## References

    - [treeo #23](https://github.com/cgarciae/treeo/issues/23), [jax #19729](https://github.com/jax-ml/jax/issues/19729)
    """

    code = "JAX215"
    name = "static-mismatch"
    group = "roles"
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    calls = _BRANCHING

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Code that maps over results of functions called in a loop, or calls a function that maps over its items.

        Or it maps along the axes that a constant has, over what class methods make, or is given two classes.
        """
        called, module = candidate.unit.calls, candidate.module
        if not _MAPPING.isdisjoint(called) and _OF_CONSTANT.search(
            module.source.rows(candidate.unit.first, candidate.unit.last)
        ):
            return True
        if _calls_mapping(called, module, candidate.given.model.resolver) or _calls_in_turn(candidate.unit, module):
            return True
        return not _LAST_NAMES.isdisjoint(called) and (
            any(f.name in called and is_classmethod(f) for f in module.outline.functions.values())
            or any(len({cls.name for _, cls in candidate.given.instances(f, module)}) > 1 for f in candidate.functions)
        )

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a body makes, and at what it brings together."""
        yield from (_problem(found, code, evaluator) for found in _brought_together(code, evaluator))
        if not _LAST_NAMES.isdisjoint(code.contents.called):
            yield from _of_two_classes(code, evaluator)
        if _TAKING_AXES.rpartition(".")[2] in code.contents.called:
            yield from _instead_of_axes(code, evaluator)
            yield from map(_of_number, numbers_mapped(code, evaluator))


def _of_two_classes(code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
    """The problems of trees that are mapped together and are instances of two classes."""
    for call in code.contents.expected_to_work:
        if not isinstance(call, Call) or last_name(call.func) not in _LAST_NAMES or len(call.positional) < 2:
            continue
        name = evaluator.model.resolver.library_name(call.func, code.place.module, code.scope)
        for found in of_two_classes(call, _TOGETHER[name], code, evaluator) if name in _TOGETHER else ():
            one, other = found.first.cls.name, found.other.cls.name
            way_out = "map over what both hold, field by field"
            yield Problem(
                at=found.at,
                message=(
                    f"`{name}` is given {with_article(one)} and {with_article(other)}, and wants trees of one"
                    f" structure: ValueError (different types of nodes); {way_out}"
                ),
                reason="the class of an instance is part of the structure of a tree, whatever fields it has",
                help=way_out,
                declared=found.first.declared or found.other.declared,
                raises_at_once=True,
            )


class _Mismatch(msgspec.Struct, frozen=True):
    """Where a function is given instances with different values of a static field, and the error."""

    at: object
    cls: PytreeClass
    field: str
    function: str
    error: str


def _brought_together(code: CodeRead, evaluator: Evaluator) -> Iterator[_Mismatch]:
    contents = code.contents
    makes_lists = bool(contents.of(Comprehension) or contents.of(Display)) or "append" in contents.called
    if (
        not makes_lists
        and (_LAST_NAMES | RUNNING).isdisjoint(contents.called)
        and not _calls_mapping(contents.called, code.place.module, evaluator.model.resolver)
        and _MAPPING.isdisjoint(contents.called)
    ):
        return
    instances = MadeInstances.of_code(code, evaluator)
    places: list[object] = []
    for call in code.calls:
        if last_name(call.func) not in _LAST_NAMES:
            yield from _handed_over(call, instances)
            yield from _met_inside(call, instances)
            continue
        name = evaluator.model.resolver.library_name(call.func, code.place.module, code.scope)
        if name in _TOGETHER:
            yield from _mapped(call, name, instances)
        elif name in _BRANCHES:
            chosen = list(_chosen(call, name, instances, code))
            places += (problem.at for problem in chosen)
            yield from chosen
    if not _MAPPING.isdisjoint(contents.called):
        yield from _along_axes(code, instances)
    for change in changes(code, evaluator) if not RUNNING.isdisjoint(contents.called) else ():
        found = change.difference if change.is_of_branches else None
        if found is not None and found.cls is not None and not any(change.at is at for at in places):
            yield _Mismatch(change.at, found.cls, found.field, change.transform, _OTHER_BRANCH)


def _mapped(call: Call, name: str, instances: MadeInstances) -> Iterator[_Mismatch]:
    """The mismatch of trees that are mapped together, down to their leaves: `is_leaf` may stop at the instances."""
    if call.keyword("is_leaf") is not None:
        return
    trees = [a for a in call.args if a.keyword is None][_TOGETHER[name] :]
    found: list[Made] = []
    for argument in trees:
        expr = argument.value.value if isinstance(argument.value, Starred) else argument.value
        made = instances.of(expr)
        if made is None:
            continue
        if argument.star == "*" and made.varying:
            yield _Mismatch(argument.at, made.cls, made.varying, name, "ValueError (different pytree metadata)")
            return
        for other in found if not argument.star else ():
            field = difference(made, other)
            if field is not None:
                yield _Mismatch(argument.at, made.cls, field, name, "ValueError (different pytree metadata)")
                return
        if not argument.star:
            found.append(made)


def _along_axes(code: CodeRead, instances: MadeInstances) -> Iterator[_Mismatch]:
    """The mismatches of trees of axes whose static values are not those of the instances that are mapped over."""
    bound = bound_once(code.body)
    resolver = instances.evaluator.model.resolver
    for call in code.calls:
        mapping = looked_up(call.func, bound) if isinstance(call.func, Name) else call.func
        if call.has_star or not isinstance(mapping, Call) or last_name(mapping.func) not in _MAPPING:
            continue
        name = resolver.library_name(mapping.func, code.place.module, code.scope)
        axes = mapping.keyword("in_axes") or next(iter(mapping.positional[1:]), None)
        if name not in _MAPPING_ALONG or not isinstance(axes, Display) or axes.has_star:
            continue
        for tree, given in zip(axes.items, call.positional, strict=False):
            made, other = instances.of(tree), instances.of(given)
            field = None if made is None or other is None else difference(made, other)
            if made is not None and field is not None:
                yield _Mismatch(tree.at, made.cls, field, name, "ValueError (`in_axes` must be a tree prefix)")


def _instead_of_axes(code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
    """The problems of instances that are given for the axes of all arguments: an int, None or a tuple is asked for."""
    bound, resolver = bound_once(code.body), evaluator.model.resolver
    for call in code.contents.expected_to_work:
        if not isinstance(call, Call):
            continue
        given = call.positional
        name = resolver.library_name(call.func, code.place.module, code.scope)
        if name == PARTIAL and given:
            name, given = resolver.library_name(given[0], code.place.module, code.scope), given[1:]
        axes = call.keyword("in_axes") or next(iter(given[1:]), None)
        if name != _TAKING_AXES or axes is None:
            continue
        made = made_anew(looked_up(axes, bound), code.place.module, code.scope, evaluator)
        cls = None if made is None else made.cls
        if cls is not None and cls.method("__new__") is None:
            shown = dotted(axes) or f"{cls.name}(...)"
            way_out = f"give a tuple with an entry for each argument: `in_axes=({shown},)` for one"
            yield Problem(
                at=axes.at,
                message=(
                    f"`jax.vmap` is given `{shown}`, {with_article(cls.name)}, as `in_axes`, which raises TypeError;"
                    f" {way_out}"
                ),
                reason="`in_axes` is an int, None or a tuple; the tree of axes for an argument is an entry of it",
                help=way_out,
                raises_at_once=True,
                subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}",
            )


def _of_number(found: NumberMapped) -> Problem:
    """The problem of an instance that is mapped along an axis, one of whose leaves is a number."""
    shown, name = dotted(found.argument.value) or f"{found.cls.name}(...)", found.field.name
    way_out = f"leave it as it is for all: `in_axes=(..., None)` where `{shown}` stands"
    if found.argument.keyword is not None:
        way_out = "give it by its position, and None for it in `in_axes`"
    return Problem(
        at=found.argument.value.at,
        message=(
            f"`{_TAKING_AXES}` maps along the first axis of `{shown}`, {with_article(found.cls.name)} whose `{name}` is"
            f" a number, which has none: ValueError (its rank should be at least 1); {way_out}"
        ),
        reason="each leaf of what is mapped is taken apart along an axis",
        help=way_out,
        raises_at_once=True,
        subject=f"{found.cls.module.path}::{found.cls.symbol.declaration.qualname}.{name}",
    )


def _calls_in_turn(unit: Unit, module: Module) -> bool:
    """Whether a text maps trees together, and calls the variable of a loop, which stands for several functions."""
    if _LAST_NAMES.isdisjoint(unit.calls):
        return False
    text = module.source.rows(unit.first, unit.last)
    local = unit.calls - module.outline.module_scope.bindings.keys()
    return any(not local.isdisjoint(_WORD.findall(turn)) for turn in _TURNS.findall(text))


def _calls_mapping(called: Set[str], module: Module, resolver: Resolver) -> bool:
    """Whether one of the functions that a module calls by some names maps the items of what it is given together."""
    names = called & module.outline.module_scope.bindings.keys()
    symbols = (resolver.follow(resolver.resolve_name(name, module)) for name in names)
    return any(isinstance(symbol, FunctionSymbol) and _maps_items(symbol.declaration) for symbol in symbols)


def _maps_items(function: Function) -> bool:
    """Whether a function returns what a call makes of the items of a parameter, `tree.map(f, *items)`, or of two."""
    own = {parameter.name for parameter in function.parameters}
    return any(
        isinstance(value, Call)
        and last_name(value.func) in _LAST_NAMES
        and (
            any(a.star == "*" and isinstance(a.value, Name) and a.value.id in own for a in value.args)
            or sum(isinstance(tree, Name) and tree.id in own for tree in value.positional) > 1
        )
        for value in function.return_values
    )


def _met_inside(call: Call, instances: MadeInstances) -> Iterator[_Mismatch]:
    """The mismatch of two instances that are given to a function, which returns what it maps them together to."""
    resolver = instances.evaluator.model.resolver
    symbol = resolver.follow(instances.symbol(call.func)) if len(call.args) > 1 and not call.has_star else None
    if not isinstance(symbol, FunctionSymbol) or symbol.declaration.owner or not _maps_items(symbol.declaration):
        return
    function, module = symbol.declaration, symbol.module
    bindings, given = module.outline.scopes[function.inner_scope].bindings, call.given_to(function.positional)
    for value in function.return_values:
        name = resolver.library_name(value.func, module, function.inner_scope) if isinstance(value, Call) else ""
        if name not in _TOGETHER or not isinstance(value, Call) or value.keyword("is_leaf") is not None:
            continue
        trees = [t.id for t in value.positional[_TOGETHER[name] :] if isinstance(t, Name)]
        found: list[Made] = []
        for tree in (t for t in trees if t in given and len(bindings.get(t, ())) == 1):
            made = instances.of(given[tree])
            field = None if made is None else next((f for one in found if (f := difference(made, one))), None)
            if made is not None and field is not None:
                yield _Mismatch(given[tree].at, made.cls, field, name, "ValueError (different pytree metadata)")
                return
            found += [made] if made is not None else []


def _handed_over(call: Call, instances: MadeInstances) -> Iterator[_Mismatch]:
    """The mismatch of a list of instances that is given to a function which maps them together."""
    for argument in call.args:
        kind = type(argument.value)
        if argument.star or kind not in _MAY_BE_LISTS or (kind is Call and type(call.func) is not Name):
            continue
        made = instances.of(argument.value) if instances.may_be_list(argument.value) else None
        if made is None or not made.varying:
            continue
        symbol = instances.evaluator.model.resolver.follow(instances.symbol(call.func))
        mapped = _mapped_together(symbol, call, argument, instances) if isinstance(symbol, FunctionSymbol) else None
        if mapped is not None and isinstance(symbol, FunctionSymbol):
            at, name = mapped
            here = symbol.module is instances.module
            error = "ValueError (different pytree metadata)"
            yield _Mismatch(at if here else argument.at, made.cls, made.varying, name, error)
            return


def _mapped_together(
    symbol: FunctionSymbol, call: Call, argument: Argument, instances: MadeInstances
) -> tuple[object, str] | None:
    """Where a function maps the items of an argument together, and by what."""
    body = instances.evaluator.calls.body_of(symbol)
    bound = 1 if symbol.declaration.self_name is not None else 0
    positional = symbol.declaration.positional[bound:]
    given = [a for a in call.args if a.keyword is None]
    name = argument.keyword or next(
        (n for n, one in zip(positional, given, strict=False) if one.at is argument.at), None
    )
    scope = symbol.declaration.inner_scope
    bound_once = name is not None and len(symbol.module.outline.scopes[scope].bindings.get(name, ())) == 1
    if not bound_once or call.has_star or (body is None and not symbol.declaration.only_returns):
        return None
    returned = (part for value in symbol.declaration.return_values for part in parts(value))
    for part in returned if body is None else all_parts(body):
        if isinstance(part, Call) and last_name(part.func) in _LAST_NAMES:
            library = instances.evaluator.model.resolver.library_name(part.func, symbol.module, scope)
            for one in part.args if library in _TOGETHER and part.keyword("is_leaf") is None else ():
                expr = one.value.value if isinstance(one.value, Starred) else one.value
                if one.star == "*" and isinstance(expr, Name) and expr.id == name:
                    return one.at, library
    return None


def _chosen(call: Call, name: str, instances: MadeInstances, code: CodeRead) -> Iterator[_Mismatch]:
    """The mismatch of branches that return instances with different static values."""
    branches = list(call.positional[_BRANCHES[name]])
    places: dict[int, object] = {}
    if name.endswith("switch"):
        whole, branches = branches[:1], instances.listed(branches[0]) if branches else []
        places = {id(branch): one.at for one in whole if isinstance(one, Name) for branch in branches}
    made = [_returned(branch, instances) for branch in branches]
    for index, one in enumerate(made):
        for other in made[:index]:
            field = None if one is None or other is None else difference(one, other)
            if field is not None and one is not None:
                at = places.get(id(branches[index]), branches[index].at)
                yield _Mismatch(at, one.cls, field, name, _OTHER_BRANCH)
                return
    operands = call.positional[_BRANCHES[name].stop :] if call.keyword("operand") is None and not call.has_star else ()
    for branch, cls, changed in differing_update(call, branches, operands, code, instances.evaluator):
        yield _Mismatch(places.get(id(branch), branch.at), cls, changed, name, _OTHER_BRANCH)


def _returned(branch: Expr, instances: MadeInstances) -> Made | None:
    """The instance that a lambda, a function of the body or one of the project returns."""
    if isinstance(branch, Lambda):
        return instances.of(branch.body)
    if isinstance(branch, Name) and branch.id in instances.functions:
        values = [s.value for s in walk(instances.functions[branch.id], nested=False) if isinstance(s, Return)]
        return instances.of(values[0]) if len(values) == 1 and values[0] is not None else None
    symbol = instances.symbol(branch)
    if not isinstance(symbol, FunctionSymbol) or len(symbol.declaration.return_values) != 1:
        return None
    value = symbol.declaration.return_values[0]
    if not isinstance(value, Call):
        return None
    scope = symbol.declaration.inner_scope
    return instances.made(value, instances.elsewhere(value.func, symbol), symbol.module, scope, value)


def _problem(found: _Mismatch, code: CodeRead, evaluator: Evaluator) -> Problem:
    field, cls = found.field, found.cls
    declared = cls.field(field)
    assert declared is not None and declared.role is Role.STATIC
    way_out = f"give `{field}` one value{or_leaf(declared, cls, evaluator)}"
    return Problem(
        at=found.at,
        message=(
            f"`{found.function}` is given `{cls.name}` instances with different values of the static field `{field}`:"
            f" {found.error}; {way_out}"
        ),
        reason="the values of static fields are part of the structure of a tree",
        help=way_out,
        fix=leaf_of_number(declared, cls, code.place.module, evaluator),
    )
