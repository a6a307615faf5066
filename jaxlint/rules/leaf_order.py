"""JAX514 leaf-order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from jaxlint.cst import libcst as cst
from jaxlint.cst.changes import Proposal, Rewrite
from jaxlint.cst.reading import FunctionNode
from jaxlint.finding import Applicability, Confidence, Severity
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import Array, plain
from jaxlint.libraries.trees import TREE_FLATTEN, TREE_LEAVES, TREE_STRUCTURE, TREE_UNFLATTEN
from jaxlint.pytrees.framework import LeafOrder as Order
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.fixes.named_leaves import TakingByName, giving_by_name
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.analyses.instances.unpacked_tuples import Misplaced, misplaced, unpacks_given
from jaxlint.rules.base import NodeRule, Problem
from jaxlint.syntax.expressions import Attribute, Call, Comprehension, Display, Expr, Name, dotted
from jaxlint.syntax.statements import Assign, bound_names, bound_once, looked_into, looked_up

#: The last names of the functions that put leaves into a structure.
_REBUILDING = frozenset(name.rpartition(".")[2] for name in TREE_UNFLATTEN)


class LeafOrder(NodeRule):
    """
    ## What it does

    Finds leaves that are taken by their position in the order of fields, or paired with the fields, where they are
    sorted by name; those that variables get which have the names of the fields, in another order than that of the
    leaves; and those that are put into the structure of another class, which has them in another order.

    Also named tuples that are unpacked into variables which have the names of their fields, in another order.

    ## Why is this bad?

    chex, simple_pytree, nnx and treex sort the leaves by the names of the fields. Fields that are declared in another
    order change places. `jax.tree.unflatten` looks at no names: what was saved of an older class goes into the fields
    that stand at the same place today.

    ## What you will see

    No error: `position` holds the mass, and `mass` the position. Where the shapes differ, an error far away.

    ## Example

    ```python
    import chex
    import jax

    @chex.dataclass
    class Body:
        position: chex.Array
        mass: chex.Array

    def momentum(body: Body) -> chex.Array:
        position, mass = jax.tree.leaves(body)
        return position * mass
    ```

    ## Use instead

    ```python
    import chex

    @chex.dataclass
    class Body:
        position: chex.Array
        mass: chex.Array

    def momentum(body: Body) -> chex.Array:
        return body.position * body.mass
    ```

    ## Frameworks

    chex, simple_pytree, nnx and treex; of named tuples what unpacks them. The leaves of the other frameworks stand in
    the order of the fields: with those, variables that have the names of all fields are looked at, and two classes are
    compared that have the same fields in another order.

    ## Fix safety

    The fix takes the fields by their names, where these or those of the variables tell which is meant. It is unsafe:
    the values are others then.

    ## When not to use it

    Nothing is reported where the names of the variables fit the order of the leaves.

    ## References

    - [chex.dataclass](https://chex.readthedocs.io/en/latest/api.html#chex.dataclass)
    """

    code = "JAX514"
    name = "leaf-order"
    group = "transformations"
    severity = Severity.WARNING
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    calls = frozenset({"leaves", "tree_leaves", "flatten", "tree_flatten"})

    everywhere = True

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Functions that unpack a named tuple that they are given."""
        return unpacks_given(candidate)

    def can_match(self, code: CodeRead) -> bool:
        """Ask for a call that gives leaves, and for something that takes several by their place."""
        unpacked = any(isinstance(s, Assign) and isinstance(s.targets[0], Display) for s in code.statements)
        if self.calls.isdisjoint(code.contents.called):
            return unpacked
        if not _REBUILDING.isdisjoint(code.contents.called) or "zip" in code.contents.called:
            return True
        return unpacked or any(c.args and (c.args[0].star or _is_from_tuple(c)) for c in code.calls)

    def check_node(self, function: FunctionNode, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what a body does with lists of leaves, and how it unpacks named tuples."""
        yield from map(_problem_of_names, misplaced(function.code, evaluator))
        if self.calls.isdisjoint(function.code.contents.called):
            return
        reader = _Leaves(function.code, evaluator)
        for call in function.code.calls:
            cls = reader.taken_apart(call)
            if cls is not None:
                yield from _used(call, cls, function, reader)
        for given, leaves, cls in reader.zipped_with_fields():
            fix = reader.taking(leaves, cls).pairing(given)
            yield _problem(given.at, cls, "each is paired with another field", fix)
        for at, cls, other, fix in reader.put_into_others():
            yield _problem_of_structures(at, cls, other, fix)


class _Leaves:
    """Tells which expressions are the leaves of an instance, in another order than that of the fields."""

    def __init__(self, code: CodeRead, evaluator: Evaluator) -> None:
        self._code = code
        self._module = code.place.module
        self._scope = code.scope
        self.evaluator = evaluator
        self._instances = LocalInstances.of(code, evaluator)

    def name(self, func: Expr) -> str:
        """The dotted name of a function of a library."""
        return self.evaluator.model.resolver.library_name(func, self._module, self._scope)

    def made_class(self, func: Expr) -> PytreeClass | None:
        """The class that an expression is."""
        return self.evaluator.model.class_of_symbol(
            self.evaluator.model.resolver.resolve(func, self._module, self._scope)
        )

    def of(self, call: Call) -> PytreeClass | None:
        """The class of the instance that a call takes apart, if its leaves are in another order."""
        cls = self.taken_apart(call)
        return cls if cls is not None and _is_sorted(cls) else None

    def taken_apart(self, call: Call) -> PytreeClass | None:
        """The class of the instance that a call takes apart, each leaf of which is an array."""
        if len(call.args) != 1 or self.name(call.func) not in TREE_LEAVES | TREE_FLATTEN:
            return None
        return self._of_arrays(call.args[0].value)

    def taking(self, call: Call, cls: PytreeClass) -> TakingByName:
        """What mends the use of the leaves that a call gives."""
        return TakingByName(call, cls, self._code, self.evaluator)

    def zipped_with_fields(self) -> Iterator[tuple[Expr, Call, PytreeClass]]:
        """What `zip` pairs with the fields of a class, or the names of these, as they are declared: its leaves."""
        bound = bound_once(self._code.body)
        for call in self._code.calls:
            if not isinstance(call.func, Name) or call.func.id != "zip" or call.has_star:
                continue
            given = [_each_of(*looked_into(value, bound)) for value in call.positional]
            for leaves, written in zip(given, call.positional, strict=True):
                cls = self.of(leaves) if isinstance(leaves, Call) else None
                if isinstance(leaves, Call) and cls and any(self._are_fields(other, cls) for other in given):
                    yield written, leaves, cls
                    break

    def put_into_others(self) -> Iterator[tuple[object, PytreeClass, PytreeClass, Proposal | None]]:
        """Where the leaves of an instance are put into the structure of another class, which has them in another order.

        The fields have the same names in both.
        """
        if _REBUILDING.isdisjoint(self._code.contents.called):
            return
        bound = bound_once(self._code.body)
        flattened = dict(self._flattened())
        for call in self._code.calls:
            if call.has_star or len(call.args) != 2 or self.name(call.func) not in TREE_UNFLATTEN:
                continue
            given = call.given_to(("treedef", "leaves"))
            structure, leaves = given.get("treedef"), given.get("leaves")
            if structure is None or leaves is None:
                continue
            made = flattened.get((dotted(structure), 1)) or looked_up(structure, bound)
            as_they_are = flattened.get((dotted(leaves), 0)) or looked_up(leaves, bound)
            taken = _each_of(*looked_into(as_they_are, bound))
            cls = self._taken_apart(taken, TREE_LEAVES | TREE_FLATTEN)
            other = self._taken_apart(made, TREE_STRUCTURE | TREE_FLATTEN)
            if cls is not None and other is not None and cls is not other:
                names, others = ([leaf.name for leaf in one.leaves or ()] for one in (cls, other))
                if names != others and sorted(names) == sorted(others):
                    fix = (
                        giving_by_name(call, taken, other, self._code, self.evaluator) if taken is as_they_are else None
                    )
                    yield leaves.at, cls, other, fix

    def _flattened(self) -> Iterator[tuple[tuple[str | None, int], Expr]]:
        """The variables that are bound once, to one of the two things that a call of `flatten` gives."""
        for statement in self._code.statements:
            match statement:
                case Assign(targets=(Display(items=(Name() as leaves, Name() as structure)),), value=Call() as call):
                    for index, name in enumerate((leaves.id, structure.id)):
                        if sum(name in bound_names(one) for one in self._code.statements) == 1:
                            yield (name, index), call

    def _taken_apart(self, call: Expr, functions: frozenset[str]) -> PytreeClass | None:
        """The class of the instance that a call of some function is given."""
        if not isinstance(call, Call) or len(call.args) != 1 or self.name(call.func) not in functions:
            return None
        instance = self._instances.instance(call.args[0].value)
        if instance is None or (not instance.exact and self.evaluator.model.subclasses(instance.cls)):
            return None
        return instance.cls if instance.cls.leaves is not None else None

    def _are_fields(self, expr: Expr, cls: PytreeClass) -> bool:
        """Whether an expression is `dataclasses.fields` of a class or an instance of it, or the dict of them."""
        match expr:
            case Call(func=Attribute(value=Attribute(attr="__dataclass_fields__") as fields, attr="keys"), args=()):
                return self._are_fields(fields, cls)
            case Call(func=Attribute(value=held, attr="keys"), args=()) if cls.is_mapping:
                return self._is_of(held, cls)
            case Call(func=func, args=(given,)) if self.name(func) == "dataclasses.fields":
                return self._is_of(given.value, cls)
            case Attribute(value=held, attr="__dataclass_fields__"):
                return self._is_of(held, cls)
        return False

    def _is_of(self, expr: Expr, cls: PytreeClass) -> bool:
        """Whether an expression is a class, or an instance of it."""
        instance = self._instances.instance(expr)
        return (instance is not None and instance.cls is cls) or self.made_class(expr) is cls

    def _of_arrays(self, expr: Expr) -> PytreeClass | None:
        """The class of an instance that certainly has an array in each of its leaves, one for each field."""
        instance = self._instances.instance(expr)
        if instance is None or (not instance.exact and self.evaluator.model.subclasses(instance.cls)):
            return None
        cls = instance.cls
        leaves = cls.leaves
        if leaves is None or instance.is_other_tree:
            return None
        if cls.explicit_leaves is not None and not _is_declared(cls):
            return None
        arrays = all(isinstance(plain(self.evaluator.promises.field(f, cls)), Array) for f in leaves)
        return cls if arrays else None


def _is_sorted(cls: PytreeClass) -> bool:
    """Whether the leaves of a class stand in another order than its fields, for they are sorted by name."""
    return cls.framework.leaf_order is Order.ALPHABETICAL and not _is_declared(cls)


def _is_declared(cls: PytreeClass) -> bool:
    """Whether the leaves of a class stand in the order of its fields."""
    leaves = cls.leaves or ()
    return [f.name for f in leaves] == [f.name for f in cls.fields if f in leaves]


def _each_of(expr: Expr, bound: Mapping[str, Expr]) -> Expr:
    """What an expression has one item of each of: `[float(x) for x in xs]`, `map(float, xs)`, `list(xs)`."""
    match expr:
        case Comprehension(kind="list" | "generator", clauses=(clause,)) if not clause.conditions:
            inner = clause.iterable
        case Call(func=Name(id="list" | "tuple"), args=(given,)):
            inner = given.value
        case Call(func=Name(id="map"), args=(_, given)):
            inner = given.value
        case _:
            return expr
    return _each_of(*looked_into(inner, bound))


def _is_from_tuple(call: Call) -> bool:
    return isinstance(call.func, Attribute) and call.func.attr == "from_tuple"


def _used(call: Call, cls: PytreeClass, function: FunctionNode, reader: _Leaves) -> Iterator[Problem]:
    """The problem of leaves that are given to variables with the names of other fields, or to the constructor."""
    leaves: cst.BaseExpression = function.node_at(call.at)
    around = function.around(leaves)
    user, is_pair = next(around), reader.name(call.func) in TREE_FLATTEN
    match user:
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Integer("0")))]) if is_pair:
            leaves, user, is_pair = user, next(around), False
    taking = reader.taking(call, cls)
    match user:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple() | cst.List() as target)]) if not is_pair:
            yield from _unpacked(target, cls, function, partial(taking.unpacking, at=function.place_of(leaves)))
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Tuple(elements=[cst.Element(cst.Tuple() | cst.List() as target), _]))]
        ) if is_pair:
            yield from _unpacked(target, cls, function, partial(taking.unpacking, at=call.at, is_pair=True))
        case cst.Arg(star="*" | "" as star) if not is_pair:
            made = next(around)
            if isinstance(made, cst.Call) and made.args[0] is user and _is_sorted(cls):
                yield from _put_back(made, star, cls, function, reader, taking)


def _unpacked(
    target: cst.Tuple | cst.List,
    cls: PytreeClass,
    function: FunctionNode,
    taking: Callable[[Sequence[str]], Proposal | None],
) -> Iterator[Problem]:
    leaves = [leaf.name for leaf in cls.leaves or ()]
    items = [e.value for e in target.elements if isinstance(e, cst.Element) and isinstance(e.value, cst.Name)]
    if len(target.elements) != len(leaves):
        return
    declared = [field.name for field in cls.fields if field.name in leaves]
    names = [item.value for item in items]
    if not _is_sorted(cls) and sorted(names) != sorted(leaves):
        return
    is_declared = [_alike(name, declared) for name in names] == list(range(len(declared)))
    if _is_sorted(cls) and is_declared:  # `p, i, d` of `kp`, `ki` and `kd`
        item, leaf = next((i, leaf) for i, leaf, field in zip(items, leaves, declared, strict=True) if leaf != field)
        what = f"`{item.value}` is given the leaf `{leaf}`"
        yield _problem(function.place_of(item), cls, what, taking(declared))
        return
    for element, leaf in zip(target.elements, leaves, strict=True):
        match element:
            case cst.Element(value=cst.Name(value=name) as item) if name != leaf and name in leaves:
                what = f"`{name}` is given the leaf `{leaf}`"
                fix = taking(names) if sorted(names) == sorted(leaves) else None
                yield _problem(function.place_of(item), cls, what, fix)
                return


def _problem_of_names(found: Misplaced) -> Problem:
    """What is wrong with variables that have the names of other fields than those that they are given."""
    names = ", ".join(field.name for field in found.cls.fields)
    changes = tuple(Rewrite(name.at, field) for name, field in found.others)
    return Problem(
        at=found.target.at,
        message=(
            f"`{found.cls.name}` is unpacked in the order `{names}`, and `{found.target.id}` is given its"
            f" `{found.given}`; write `{names} = ...`"
        ),
        reason="a named tuple is unpacked in the order of its fields, whatever the variables are called",
        help=f"write `{names} = ...`, or take the fields by their names",
        fix=Proposal("Unpack in the order of the fields", Applicability.UNSAFE, changes),
    )


def _alike(name: str, fields: Sequence[str]) -> int | None:
    """Which field a variable is named after: the one of its name, or the only one that begins or ends like it."""
    if name in fields:
        return fields.index(name)
    pairs = [sorted((name, field), key=len) for field in fields]
    ends = [long.startswith(short) or long.endswith(short) for short, long in pairs]
    return ends.index(True) if ends.count(True) == 1 else None


def _put_back(
    made: cst.Call, star: str, cls: PytreeClass, function: FunctionNode, reader: _Leaves, taking: TakingByName
) -> Iterator[Problem]:
    """The problem of a constructor that is given the leaves as they stand."""
    known = function.call_at(made)
    func = known.func if known is not None else None
    if known is not None and _is_from_tuple(known) and isinstance(func, Attribute):
        func = func.value
    elif star != "*":
        return
    if func is not None and known is not None and reader.made_class(func) is cls:
        what = "the constructor is given its leaves in another order"
        yield _problem(known.args[0].at, cls, what, taking.constructing(known, func))


def _problem_of_structures(at: object, cls: PytreeClass, other: PytreeClass, fix: Proposal | None) -> Problem:
    pairs = zip(cls.leaves or (), other.leaves or (), strict=True)
    leaf, instead = next((one.name, put.name) for one, put in pairs if one.name != put.name)
    way_out = "give the fields by their names"
    return Problem(
        at=at,
        message=(
            f"the leaves of `{cls.name}` stand in another order than those of `{other.name}`, which gets `{leaf}` for"
            f" `{instead}`; {way_out}"
        ),
        reason="leaves are put into a structure one after the other, whatever the fields are called",
        help=way_out,
        fix=fix,
    )


def _problem(at: object, cls: PytreeClass, what: str, fix: Proposal | None) -> Problem:
    order = ", ".join(f"`{leaf.name}`" for leaf in cls.leaves or ())
    way_out = "take the fields by their names"
    is_sorted = cls.framework.leaf_order is Order.ALPHABETICAL
    rule = "are sorted by name" if is_sorted else "stand in the order of its fields"
    return Problem(
        at=at,
        message=f"the leaves of `{cls.name}` {rule} ({order}): {what}; {way_out}",
        reason="leaves are taken one after the other, whatever the variables are called",
        help=way_out,
        fix=fix,
    )
