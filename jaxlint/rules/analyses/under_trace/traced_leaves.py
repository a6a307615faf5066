"""The leaves of instances that are certainly traced in a body: those of what a transformation has rebuilt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial

import msgspec

from jaxlint.infer.bodies.contents import contents_of
from jaxlint.infer.bodies.slots import Binding, bindings_in, held_at, slot_of
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Construct
from jaxlint.infer.evaluating.points import value_at
from jaxlint.infer.known.transformed_values import holds_tracers
from jaxlint.infer.known.values import (
    UNKNOWN,
    Array,
    Container,
    Instance,
    Value,
    element_of,
    is_python_number,
    options,
    plain,
)
from jaxlint.libraries.arrays import OF_TRAITS, returned_library
from jaxlint.libraries.trees import TREE_MAPS
from jaxlint.project.resolution import FunctionSymbol, Symbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.markers import static_marker
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.instances.methods import is_overridden
from jaxlint.rules.analyses.under_trace.computed_from import Origins
from jaxlint.rules.analyses.under_trace.traced_copies import Traced, copied, given_anew, is_pytree, runs_plainly
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Call,
    Conditional,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Lambda,
    Name,
    Subscript,
    dotted,
    is_none,
    is_slice,
    item_of,
    root,
)
from jaxlint.syntax.statements import (
    Assign,
    Body,
    Do,
    For,
    Return,
    assigned_names,
    bound_names,
    bound_once,
    parts,
    walk,
)

_MAX_DEPTH = 6
#: Through how many functions that call each other copies are followed.
_MOST_FUNCTIONS = 3
#: What may hold an instance, or be one of two.
_DISPLAYS = frozenset({Display, DictDisplay, Conditional})


class Leaf(msgspec.Struct, frozen=True):
    """A leaf that an expression reads: the field, of which class, and what it is by its annotation."""

    cls: PytreeClass
    field: Field
    value: Value
    #: Whether the body has made the instance, and given it what is computed from a leaf.
    is_given: bool = False


def is_number(leaf: Leaf) -> bool:
    """Whether a leaf is a number or an array, and never None."""
    choices = options(plain(leaf.value))
    if leaf.field.default is not None and is_none(leaf.field.default.expr):
        return False
    return all(is_python_number(c) or isinstance(c, Array) for c in choices)


class TracedLeaves:
    """Tells which expressions of a body read a leaf of a traced instance.

    A copy with changes (`state.replace(x=...)`) is traced like the original, but for what it is given.
    """

    def __init__(
        self,
        instances: Mapping[str, Value],
        body: Body,
        evaluator: Evaluator,
        replaced: Mapping[str, frozenset[str]] | None = None,
        name_of: Callable[[Expr], str] | None = None,
        code: CodeRead | None = None,
        symbol_of: Callable[[Expr], Symbol] | None = None,
    ) -> None:
        self._evaluator = evaluator
        #: What was read of the body, if that is known: it tells what came to be held elsewhere.
        self._code = code
        self._body = body
        self._parameters = instances.keys()
        self._given = {name: value for name, given in instances.items() if is_pytree(value := plain(given))}
        self._replaced = replaced or {}
        #: Tells the dotted names of functions; without it, what a copy is given counts as unknown.
        self._name_of = name_of
        #: Tells which functions of the project are called; without it, what they return counts as unknown.
        self._symbol_of = symbol_of
        self._changed: dict[str, frozenset[str] | None] = {}
        #: Through how many methods that make copies the instance came.
        self._depth = 0
        #: What was asked for before, by the identity of the expressions.
        self._leaves: dict[int, tuple[Expr, Leaf | None]] = {}
        self._traced_before: dict[int, tuple[Expr, Traced | None]] = {}

    @cached_property
    def _rebound(self) -> dict[str, tuple[int, int]]:
        """Where the variables are bound anew for the first time: before that they hold what was given."""
        found: dict[str, tuple[int, int]] = {}
        for statement in self._body if self._given else ():
            place = place_of(statement.at)
            behind = place[2:] if isinstance(statement, Assign) else place[:2]
            for name in assigned_names((statement,)):
                found.setdefault(name, behind)
        return found

    def _variable(self, name: Name) -> Traced | None:
        """The traced instance that a variable holds where it is read: what was given, or a copy with changes."""
        value, replaced = self._given[name.id], self._replaced.get(name.id, frozenset())
        behind = self._rebound.get(name.id)
        if behind is None or place_of(name.at)[:2] < behind:
            return Traced(value, replaced)
        if name.id not in self._changed:
            self._changed[name.id] = None  # which is asked for again by what the copies are given
            self._changed[name.id] = self._copies(name.id, value.cls)
        changed = self._changed[name.id]
        return None if changed is None else Traced(value, changed | replaced)

    def _copies(self, name: str, cls: PytreeClass) -> frozenset[str] | None:
        """The fields that `name = name.replace(...)` gives anew in a body; None if something else is bound to it."""
        changed: set[str] = set()
        for statement in walk(self._body):
            if name not in bound_names(statement):
                continue
            match statement:
                case Assign(targets=(Name(),), value=Call() as call) if self._gives_tracers(call):
                    if dotted(call.args[1].value) != name:
                        return None
                case Assign(targets=(Name(),), value=Call() as call):
                    original = copied(call, cls)
                    by_method = None if original is not None else self._made_by_method(call, Traced(Instance(cls)))
                    if by_method is not None and isinstance(call.func, Attribute):
                        original = call.func.value
                    made = self._anew(call) if by_method is None else by_method.replaced
                    if original is None or dotted(original) != name:
                        by_function = self._renewed(name, call, cls)
                        if by_function is None:
                            return None
                        made = by_function.replaced
                    changed |= made
                case Assign(targets=(Display(items=targets) as target,), value=Call() as call) if not target.has_star:
                    places = [place for place, item in enumerate(targets) if dotted(item) == name]
                    by_function = self._renewed(name, call, cls, *places) if len(places) == 1 else None
                    if by_function is None:
                        return None
                    changed |= by_function.replaced
                case _:
                    return None
        return frozenset(changed)

    def _renewed(self, name: str, call: Call, cls: PytreeClass, part: int | None = None) -> Traced | None:
        """What a function of the project makes of the instance in a variable, for that variable."""
        made = self._made_by_function(call, lambda e: Traced(Instance(cls)) if dotted(e) == name else None, part)
        return made if made is not None and made.value.cls is cls else None

    def _anew(self, copying: Call) -> frozenset[str]:
        """The fields that a copy is given, but for those that are tracers: computed from a traced number."""
        given = dict(given_anew(copying))
        if self._name_of is None:
            return frozenset(given)
        origins = Origins(self.is_number, self._name_of, self._aliases)
        return frozenset(name for name, value in given.items() if value is None or origins.of(value) is None)

    @cached_property
    def _aliases(self) -> dict[str, Expr]:
        """The other variables that are bound once, to what."""
        return {name: value for name, value in bound_once(self._body).items() if name not in self._parameters}

    def instance(self, expr: Expr) -> Instance | None:
        """The traced instance that an expression is."""
        traced = self.traced(expr)
        return None if traced is None else traced.value

    def traced(self, expr: Expr) -> Traced | None:
        """The same, with the fields that it was given anew."""
        known = self._traced_before.get(id(expr))
        if known is None or known[0] is not expr:
            traced = self._traced(expr, 0)
            if traced is not None and self._set:
                traced = Traced(traced.value, traced.replaced | self._set)
            known = self._traced_before[id(expr)] = expr, traced
        return known[1]

    @cached_property
    def _set(self) -> frozenset[str]:
        """The attributes that the body sets, of any object, to a value that does not depend on the old one."""
        return frozenset(
            target.attr
            for statement in contents_of(self._body).statements
            if isinstance(statement, Assign)
            for target in statement.targets
            if isinstance(target, Attribute)
            and not any(isinstance(part, Attribute) and part.attr == target.attr for part in parts(statement.value))
        )

    def leaf(self, expr: Expr) -> Leaf | None:
        """The leaf that an expression is."""
        known = self._leaves.get(id(expr))
        if known is None or known[0] is not expr:
            self._leaves[id(expr)] = expr, None  # a copy may be given what is computed from it in the turn before
            known = self._leaves[id(expr)] = expr, self._leaf(expr, 0)
        return known[1]

    def is_number(self, expr: Expr) -> bool:
        """Whether an expression is a leaf that is a number or an array."""
        leaf = self.leaf(expr)
        return leaf is not None and is_number(leaf)

    def items(self, expr: Expr) -> list[Leaf]:
        """The leaves in the tuple or list that a property, or a method without arguments, returns."""
        return self._items(expr, 0)

    def _items(self, expr: Expr, depth: int) -> list[Leaf]:
        if isinstance(expr, Name) and expr.id in self._aliases and depth <= _MAX_DEPTH:
            return self._items(self._aliases[expr.id], depth + 1)
        inside = self._inside(expr, depth)
        if inside is None or not isinstance(inside[1], Display):
            return []
        found = [inside[0]._source(item, depth + 1) for item in inside[1].items]
        return [leaf for leaf in found if leaf is not None]

    def _traced(self, expr: Expr, depth: int) -> Traced | None:
        if depth > _MAX_DEPTH:
            return None
        match expr:
            case Name(id=name) if name in self._given:
                return self._variable(expr) or self._known(expr)
            case Name(id=name) if name in self._aliases:
                found = self._traced(self._aliases[name], depth + 1)
                if found is not None:
                    return found
            case Attribute():
                leaf = self._leaf(expr, depth)
                value = None if leaf is None else plain(leaf.value)
                return Traced(value) if isinstance(value, Instance) and value.cls.is_pytree else None
            case Call(args=(Argument(), Argument())) if self._name_of is not None and self._gives_tracers(expr):
                return self._traced(expr.args[1].value, depth + 1)
            case Call(func=func, args=args) if args:
                for base in expr.positional[:2] or (getattr(func, "value", func),):
                    traced = self._traced(base, depth + 1)
                    if traced is not None and copied(expr, traced.value.cls) is base:
                        return Traced(traced.value, traced.replaced | self._anew(expr))
                owner = self._traced(func.value, depth + 1) if isinstance(func, Attribute) else None
                made = None if owner is None else self._made_by_method(expr, owner)
                made = made or self._made_by_function(expr, lambda e: self._traced(e, depth + 1))
                if made is not None:
                    return made
            case Subscript(value=Attribute() as held, index=index) if not is_slice(index):
                leaf = self._leaf(held, depth)
                item = UNKNOWN if leaf is None else plain(element_of(leaf.value))
                if is_pytree(item):
                    return Traced(item)
        found = self._held(expr) if self._may_hold and type(expr) in (Name, Subscript) else None
        return found or self._known(expr)

    def _gives_tracers(self, call: Call) -> bool:
        """Whether a call makes a tracer of each leaf of a tree that is traced: `jax.tree.map(jnp.abs, state)`."""
        name_of, given = self._name_of, call.positional
        if name_of is None or len(given) < 2 or call.has_star or name_of(call.func) not in TREE_MAPS:
            return False
        match given[0]:
            case Lambda(params=(leaf, *_), body=body):
                return Origins(lambda e: isinstance(e, Name) and e.id == leaf, name_of, {}).of(body) is not None
            case function:
                name = name_of(function)
                return returned_library(name) == "jax" and name.rpartition(".")[2] not in OF_TRAITS

    def _known(self, expr: Expr) -> Traced | None:
        """The traced instance that an expression is, by whatever way that came there."""
        if self._code is None or not self._from_tracers or type(expr) not in (Name, Attribute, Subscript):
            return None
        start = root(expr)
        if not isinstance(start, Name) or start.id not in self._from_tracers:
            return None
        value = value_at(expr, self._code, self._evaluator)
        return Traced(value, value.traced) if is_pytree(value) and value.traced is not None else None

    @cached_property
    def _from_tracers(self) -> frozenset[str]:
        """The variables of a function that is given something traced, or whose `self` holds something known."""
        if self._code is None or not any(map(holds_tracers, self._code.parameters.values())):
            return frozenset()
        return self._code.contents.bound | self._code.parameters.keys()

    def _made_by_method(self, call: Call, owner: Traced) -> Traced | None:
        """The copy with changes that a method of a traced instance returns: `return self.replace(...)`.

        What it computes from the leaves of the instance alone is traced, too.
        """
        func, cls = call.func, owner.value.cls
        if not isinstance(func, Attribute) or cls.framework.replace_method == func.attr or self._depth > _MAX_DEPTH:
            return None
        symbol = self._method(cls, func.attr)
        receiver = None if symbol is None else symbol.declaration.self_name
        if symbol is None or receiver is None or is_overridden(func.attr, owner.value, self._evaluator):
            return None
        if not all(isinstance(value, (Call, Name)) for value in symbol.declaration.return_values):
            return None
        resolver = self._evaluator.model.resolver
        name_of = partial(resolver.library_name, module=symbol.module, scope=symbol.declaration.inner_scope)
        body = self._evaluator.calls.body_of(symbol) or ()
        inside = TracedLeaves({receiver: owner.value}, body, self._evaluator, {receiver: owner.replaced}, name_of)
        inside._depth = self._depth + 1
        values = [s.value for s in walk(body, nested=False) if isinstance(s, Return) and s.value is not None]
        made = [inside.traced(value) for value in values]
        copies = [one for one in made if one is not None and one.value.cls is cls]
        if not copies or len(copies) < len(made):
            return None
        return Traced(owner.value, owner.replaced.union(*(one.replaced for one in copies)))

    def _made_by_function(
        self, call: Call, traced: Callable[[Expr], Traced | None], part: int | None = None
    ) -> Traced | None:
        """The copy with changes that a function of the project returns of an instance, or as a part of a tuple."""
        symbol = None if self._symbol_of is None or call.has_star else self._symbol_of(call.func)
        if not isinstance(symbol, FunctionSymbol) or self._depth >= _MOST_FUNCTIONS or not runs_plainly(symbol):
            return None
        given = call.given_to([parameter.name for parameter in symbol.declaration.parameters])
        held = {name: one for name, expr in given.items() if (one := traced(expr)) is not None}
        if not held:
            return None
        resolver, body = self._evaluator.model.resolver, self._evaluator.calls.body_of(symbol) or ()
        module, scope = symbol.module, symbol.declaration.inner_scope
        inside = TracedLeaves(
            {name: one.value for name, one in held.items()},
            body,
            self._evaluator,
            {name: one.replaced for name, one in held.items()},
            partial(resolver.library_name, module=module, scope=scope),
            symbol_of=partial(resolver.resolve, module=module, scope=scope),
        )
        inside._depth = self._depth + 1
        values = [s.value for s in walk(body, nested=False) if isinstance(s, Return)]
        items = [value if part is None else item_of(value, part) for value in values]
        made = [None if item is None else inside.traced(item) for item in items]
        copies = [one for one in made if one is not None]
        if not copies or len(copies) < len(made) or any(one.value.cls is not copies[0].value.cls for one in copies):
            return None
        return Traced(copies[0].value, frozenset[str]().union(*(one.replaced for one in copies)))

    @cached_property
    def _bindings(self) -> Sequence[Binding]:
        return bindings_in(self._body) if self._given else ()

    @cached_property
    def _may_hold(self) -> frozenset[str]:
        """The variables that are bound to what a display holds, or may hold: to one, or to an item in turn."""
        statements = contents_of(self._body).statements
        if not any(type(s) is For or (type(s) is Assign and type(s.value) in _DISPLAYS) for s in statements):
            return frozenset()
        held = {b.name for b in self._bindings if b.slot is None and type(b.value) in _DISPLAYS}
        from_one = held | self._given.keys()
        return frozenset(held.union(b.name for b in self._bindings if b.slot is not None and b.slot.root in from_one))

    def _held(self, expr: Expr) -> Traced | None:
        """The traced instance that comes out of a display, or that each turn of a loop gets: `for s in (a, b)`."""
        start = root(expr)
        if not isinstance(start, Name) or start.id not in self._may_hold:
            return None
        slot = slot_of(expr)
        place = None if slot is None else held_at(slot, self._bindings)
        if place is None or place.root not in self._given or place.root in self._rebound:
            return None
        held = Traced(self._given[place.root], self._replaced.get(place.root, frozenset()))
        return self._along(place.path, held) if place.path else held

    def _along(self, path: Sequence[str], owner: Traced) -> Traced | None:
        """The traced instance to which fields and items of them lead: `self.layers[0]`."""
        value: Value = owner.value
        for step in path:
            if isinstance(value, Instance) and value.cls.is_pytree and not step.startswith("["):
                field = value.cls.field(step)
                if field is None or field.role is not Role.LEAF or (value is owner.value and step in owner.replaced):
                    return None
                value = plain(self._evaluator.promises.field(field, value.cls))
            elif isinstance(value, Container) and step.startswith("["):
                value = plain(element_of(value))
            else:
                return None
        return Traced(value) if is_pytree(value) else None

    def _leaf(self, expr: Expr, depth: int) -> Leaf | None:
        match expr:
            case Name(id=name) if name in self._aliases and depth <= _MAX_DEPTH:
                return self._leaf(self._aliases[name], depth + 1)
            case Attribute(value=held, attr=attr):
                owner = self._traced(held, depth + 1)
                cls = self._made_with_tracer(held, attr) if owner is None else owner.value.cls
                if cls is None or (owner is not None and attr in owner.replaced) or attr in self._set:
                    return None
                field = cls.field(attr)
                if field is None:
                    return self._computed(expr, depth)
                if field.role is not Role.LEAF or field.annotation is None:
                    return None
                if static_marker(field, self._evaluator.model) is not None or cls.binds(attr):
                    return None  # JAX203's, or an attribute of the class
                return Leaf(cls, field, self._evaluator.promises.field(field, cls), is_given=owner is None)
            case Call(func=Attribute(), args=()):
                return self._computed(expr, depth)
        return None

    @cached_property
    def _made(self) -> Mapping[int, Construct]:
        """What the body makes instances with, by the identity of the calls."""
        events = () if self._code is None else self._code.events
        return {id(event.call): event for event in events if isinstance(event, Construct)}

    def _made_with_tracer(self, expr: Expr, name: str) -> PytreeClass | None:
        """The class of an instance that the body makes, if a field is given what is computed from a traced number."""
        if not self._made:
            return None
        made = self._made.get(id(self._aliases.get(expr.id, expr) if isinstance(expr, Name) else expr))
        if made is None or self._name_of is None:
            return None
        cls, field = made.cls.cls, made.cls.cls.field(name)
        if field is None or field.is_converted or cls.custom_init() is not None or cls.method("__post_init__"):
            return None  # which may hold something else
        at = next((value.at for value in made.arguments if value.name == name), None)
        given = next((a.value for a in made.call.args if a.at is at and not a.star), None)
        origins = Origins(self.is_number, self._name_of, self._aliases)
        return None if given is None or origins.of(given) is None else cls

    def _method(self, cls: PytreeClass, name: str) -> FunctionSymbol | None:
        """A method of a class that no decorator makes something else of."""
        found = cls.method(name)
        return None if found is None or found[1].decorators else FunctionSymbol(found[0].module, found[1])

    def _computed(self, expr: Expr, depth: int) -> Leaf | None:
        """The leaf that a property, or a method without arguments, returns or computes what it returns from."""
        inside = self._inside(expr, depth)
        return None if inside is None else inside[0]._source(inside[1], depth + 1)

    def _inside(self, expr: Expr, depth: int) -> tuple[TracedLeaves, Expr] | None:
        """What a property, or a method without arguments, of a traced instance does nothing but return."""
        asked = expr.func if isinstance(expr, Call) and not expr.args else expr
        owner = self._traced(asked.value, depth + 1) if isinstance(asked, Attribute) else None
        if owner is None or not isinstance(asked, Attribute) or depth > _MAX_DEPTH:
            return None
        cls, name = owner.value.cls, asked.attr
        symbol = self._method(cls, name) if isinstance(expr, Call) else self._evaluator.getter(cls, name)
        receiver = None if symbol is None else symbol.declaration.self_name
        if symbol is None or receiver is None or is_overridden(name, owner.value, self._evaluator):
            return None
        body = self._evaluator.calls.body_of(symbol) or ()
        match [s for s in body if not (isinstance(s, Do) and isinstance(s.value, Constant))]:
            case [Return(value=returned)] if returned is not None:
                given, replaced = {receiver: owner.value}, {receiver: owner.replaced}
                resolver = self._evaluator.model.resolver
                name_of = partial(resolver.library_name, module=symbol.module, scope=symbol.declaration.inner_scope)
                return TracedLeaves(given, body, self._evaluator, replaced, name_of), returned
        return None

    def _source(self, expr: Expr, depth: int) -> Leaf | None:
        """The leaf that an expression is, or the first one that it is computed from."""
        leaf = self._leaf(expr, depth)
        if leaf is not None or self._name_of is None:
            return leaf
        source = Origins(self.is_number, self._name_of, self._aliases).of(expr)
        return None if source is None else self._leaf(source, depth)
