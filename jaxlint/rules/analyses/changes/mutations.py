"""What a body changes in place: attributes, items and containers, itself or through methods that it calls."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import msgspec
from msgspec.structs import replace

from jaxlint.infer.bodies.slots import Slot, changed_by, slot_of
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, CallMethod, CodeRead, MutateField
from jaxlint.infer.known.values import (
    UNKNOWN,
    Array,
    Container,
    Instance,
    Scalar,
    UnknownValue,
    Value,
    element_of,
    plain,
)
from jaxlint.infer.transforms.calling import may_change_given
from jaxlint.libraries.updates import COPYING_NAMES
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.bodies.branches_taken import left_out
from jaxlint.rules.analyses.changes.counted_inside import makes
from jaxlint.rules.analyses.changes.given_changes import changes_of, given_for
from jaxlint.rules.analyses.changes.purposes import Purpose, is_cache, made_from, purpose_of, removes
from jaxlint.rules.analyses.changes.put_back import is_put_back
from jaxlint.rules.analyses.instances.callees import called_by
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.analyses.instances.methods import gives_itself
from jaxlint.symbols.outline import Function, Import
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Conditional,
    DictDisplay,
    Display,
    Expr,
    Name,
    Subscript,
    dotted,
    is_none,
    last_name,
    root,
)
from jaxlint.syntax.statements import Assign, Do, For, Statement, all_parts, own_parts, parts, target_names, walk

#: What values are called that can be changed item by item.
CONTAINERS = ("dict", "list", "mapping", "set")
#: What may be, or hold, what a variable does.
_HOLDING = frozenset({Name, Attribute, Subscript, Display, DictDisplay, Conditional})
_MAX_DEPTH = 4


class Mutation(msgspec.Struct, frozen=True):
    """A change in place of what is at a slot."""

    at: object
    slot: Slot
    purpose: Purpose
    #: The class of the instance that holds what is changed, if it is known.
    owner: PytreeClass | None = None
    #: Whether it is an attribute that is assigned, and no item.
    of_attribute: bool = False
    #: The attributes beside it that the same call assigns.
    beside: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What is changed: the attribute, or the container of the item, with the class that it belongs to."""
        path = self.slot.path
        items = [i for i, step in enumerate(path) if step.startswith("[")]
        text = ".".join((self.slot.root, *path[: items[0] if items else None]))
        return f"`{text}`" if self.owner is None else f"`{text}` of `{self.owner.name}`"


def mutations(code: CodeRead, evaluator: Evaluator) -> list[Mutation]:
    """The changes in place that a body makes, each once: of attributes, of leaves and of variables that hold dicts.

    Frozen pytrees do not change, and what their methods do to themselves is no change either.
    """
    return list(_Finder(code, evaluator).find())


class _Finder:
    """Looks at one body."""

    def __init__(self, code: CodeRead, evaluator: Evaluator) -> None:
        self.code = code
        self.evaluator = evaluator
        method = code.place.method
        self.self_name = method.self_name if method is not None else None

    @cached_property
    def made(self) -> set[str]:
        """The variables whose values are made from those of traced parameters."""
        function = self.code.function
        parameters = {p.name for p in function.parameters} if function is not None else set()
        return made_from(parameters - {self.self_name} - _static_parameters(self.code), self.code.body)

    def find(self) -> Iterator[Mutation]:
        changes = {id(at): (at, s, slot) for s in self.code.statements for at, slot in changed_by(s)}
        for event in self.code.events:
            match event:
                case AssignAttribute(at=at, receiver_text=str(text), attr=attr):
                    root, *path = text.split(".")
                    _, statement, slot = changes.pop(id(at), (at, None, Slot(root, (*path, attr))))
                    cls = event.receiver.cls
                    if attr and not event.alternatives and _changes(cls):
                        yield Mutation(at, slot, self._purpose(statement, slot, event.on_self), cls, True)
                case MutateField(at=at) if id(at) in changes:
                    _, statement, slot = changes.pop(id(at))
                    if _is_container(event):
                        yield Mutation(at, slot, self._purpose(statement, slot, False), event.receiver.cls)
                case CallMethod(receiver=Instance(cls=cls), call=call) if cls.is_pytree:
                    yield from self._by_method(call, cls)
        for at, statement, slot in changes.values():
            if all(step.startswith("[") for step in slot.path) and not removes(statement):
                yield Mutation(at, slot, self._purpose(statement, slot, False))
            elif self._is_of_unknown(slot, statement):
                yield Mutation(at, slot, self._purpose(statement, slot, False), None, True)
        for call in self._alone.values():
            yield from self._by_function(call, is_alone=True)
        calling, module = self.evaluator.calls.calling, self.code.place.module
        acts_here = not calling.acting(module).isdisjoint(self.code.contents.called)
        elsewhere = not self.evaluator.model.project_index.changing_function_names.isdisjoint(self.code.contents.called)
        for call in self.code.calls if (acts_here or elsewhere) and self._leading else ():
            if id(call) not in self._alone and any(self._leads(argument.value) for argument in call.args):
                if acts_here or self._is_imported_and_changes(call.func):
                    yield from self._by_function(call, is_alone=False)
        owner = self.code.place.owner
        if owner is not None and not owner.is_pytree:
            for part in all_parts(self.code.body, nested=False):
                if isinstance(part, Call) and self._is_on_self(part):
                    yield from self._by_method(part, owner)

    def _is_of_unknown(self, slot: Slot, statement: Statement | None) -> bool:
        """Whether an attribute is assigned of a parameter that nothing tells of, and that stays what it is."""
        function = self.code.function
        if function is None or len(slot.path) != 1 or slot.root == self.self_name or not isinstance(statement, Assign):
            return False
        if slot.root in self.code.contents.bound:
            return False
        bare = any(p.name == slot.root and p.annotation is None for p in function.parameters)
        return bare and isinstance(plain(self.code.parameters.get(slot.root, UNKNOWN)), UnknownValue)

    def _is_imported_and_changes(self, func: Expr) -> bool:
        """Whether a function of another module is called that may change what it is given."""
        module, start = self.code.place.module, root(func)
        bindings = module.outline.module_scope.bindings.get(start.id, ()) if isinstance(start, Name) else ()
        if not bindings or not isinstance(bindings[-1], Import):
            return False
        symbol = self.evaluator.model.resolver.resolve(func, module, self.code.scope)
        return isinstance(symbol, FunctionSymbol) and may_change_given(symbol.declaration, symbol.module.outline)

    def _leads(self, given: Expr) -> bool:
        start = root(given)
        return isinstance(start, Name) and start.id in self._leading

    @cached_property
    def _alone(self) -> dict[int, Call]:
        """The calls whose results nobody takes, by identity."""
        return {id(s.value): s.value for s in self.code.statements if isinstance(s, Do) and isinstance(s.value, Call)}

    @cached_property
    def _leading(self) -> set[str]:
        """The variables that may lead to what the function is given, if that may be changed in place."""
        names = {name for name, value in self.code.parameters.items() if _may_be_changed(plain(value))}
        for statement in self.code.statements if names else ():
            if isinstance(statement, For):
                names.update(target_names(statement.target))
            elif isinstance(statement, Assign) and type(statement.value) in _HOLDING:
                names.update(name for target in statement.targets for name in target_names(target))
        return names

    def _by_function(self, call: Call, *, is_alone: bool) -> Iterator[Mutation]:
        """`push(buffer, x)`, where the function puts something into what it is given, or assigns an attribute of it.

        What it returns may be the new value, unless nobody takes that.
        """
        callee = called_by(call, self.code, self.evaluator)
        if callee is None:
            return
        for change in changes_of(callee, self.evaluator):
            found = given_for(call, callee, change.slot)
            if found is None or (change.is_used and not is_alone):
                continue
            given, path = found
            held = slot_of(given)
            if held is None or not (path or change.method):
                continue
            if change.method:
                value = self._below(given, path)
                if isinstance(value, Instance) and value.cls.is_pytree:
                    yield from self._by_method_of(call.at, held.below(*path), value.cls, change.method)
                continue
            if len(path) == 1 and path[0].startswith("["):
                if isinstance(self._below(given, ()), Instance):
                    continue  # `add`, `update` and kin are methods of its class
                yield Mutation(call.at, held.below(*path), Purpose(computed=True))
                return
            owner = self._changed_below(given, path)
            if owner is not None and not change.is_cached:
                is_attribute = not path[-1].startswith("[")
                yield Mutation(call.at, held.below(*path), change.purpose, owner, is_attribute)

    def _changed_below(self, given: Expr, path: tuple[str, ...]) -> PytreeClass | None:
        """The class of the instance that a function is given, or that of the part of it whose attribute is changed.

        None if it is not certain that this changes where it stands: a mutable instance, or a container.
        """
        instance = LocalInstances.of(self.code, self.evaluator).instance(given)
        value = self._below(given, path[:-1])
        if instance is not None and path[-1].startswith("["):
            return instance.cls if isinstance(value, Container) and value.kind in CONTAINERS else None
        if not isinstance(value, Instance) or not value.cls.is_pytree or not _changes(value.cls):
            return None
        return value.cls if value.cls.field(path[-1]) is not None else None

    def _below(self, given: Expr, path: tuple[str, ...]) -> Value:
        """What a path leads to from an instance that a function is given."""
        value: Value = LocalInstances.of(self.code, self.evaluator).instance(given) or UNKNOWN
        for step in path:
            value = element_of(value) if step.startswith("[") else plain(self.evaluator.attribute_of(value, step))
        return value

    def _is_on_self(self, call: Call) -> bool:
        """Whether a call is one of a method of `self`."""
        return isinstance(call.func, Attribute) and slot_of(call.func.value) == Slot(self.self_name or "")

    def _by_method(self, call: Call, cls: PytreeClass) -> Iterator[Mutation]:
        """`receiver.method()`, where the method changes its `self` and does not return that."""
        slot = slot_of(call.func.value) if isinstance(call.func, Attribute) else None
        if slot is None or not isinstance(call.func, Attribute):
            return
        lasts = self._is_on_self(call) and cls.is_pytree
        yield from self._by_method_of(call.at, slot, cls, call.func.attr, call, lasts=lasts)

    def _by_method_of(
        self, at: object, slot: Slot, cls: PytreeClass, name: str, call: Call | None = None, *, lasts: bool = False
    ) -> Iterator[Mutation]:
        """The first change that a method makes to its `self`, which stands at a slot, with what it assigns beside."""
        changes = self._changed_in(cls, name, call)
        if changes:
            (path, purpose), adds = changes[0], any(purpose.adds for _, purpose in changes)
            beside = tuple(dict.fromkeys(other[0] for other, _ in changes[1:] if len(other) == 1))
            purpose = replace(purpose, lasts=lasts, adds=adds)
            yield Mutation(at, slot.below(*path), purpose, cls, len(path) == 1, beside)

    def _changed_in(
        self, cls: PytreeClass, name: str, call: Call | None, depth: int = 0
    ) -> list[tuple[tuple[str, ...], Purpose]]:
        """The attributes of its `self` that a method assigns, or puts an item into: the paths that lead there.

        Those of the first method that it calls if it has none itself. None if it returns that, or only fills a cache.
        What stands in a branch that the call does not come to does not count.
        """
        found = cls.method(name)
        self_name = found[1].self_name if found is not None else None
        if found is None or self_name is None or depth > _MAX_DEPTH:
            return []
        owner, method = found
        if self.evaluator.getter(cls, name) is not None:
            return []  # what a property gives is called, and not its setter
        if gives_itself(method, cls):
            return []
        changes = method.self_assignments or method.self_mutations
        body = (self.evaluator.calls.body_of(FunctionSymbol(owner.module, method)) if changes else None) or ()
        made = made_from({p.name for p in method.parameters} - {self_name}, body)
        left = left_out(call, method, body, self._optional()) if call is not None else frozenset()
        own = [
            (slot.path, purpose_of(statement, slot, False, made))
            for statement in walk(body, nested=False)
            if id(statement) not in left
            for _, slot in changed_by(statement)
            if slot.root == self_name and self._is_changed(slot, statement, cls) and not is_cache(slot, body)
            if call is None or id(call) in self._alone or not _goes_into_next(slot, method, cls)
            if not is_put_back(slot, method, body)
        ]
        if own:
            return own
        for called in sorted(method.self_calls - {name}):
            changed = self._changed_in(cls, called, None, depth + 1)
            inner = [one for one in changed if not is_put_back(Slot(self_name, one[0]), method, body)]
            if inner and (call is None or self._comes_to(called, call, owner, method)):
                return inner
        return []

    def _comes_to(self, called: str, call: Call, owner: PytreeClass, method: Function) -> bool:
        """Whether a call of a method may come to where that calls another one of its `self`."""
        body = self.evaluator.calls.body_of(FunctionSymbol(owner.module, method)) or ()
        path = f"{method.self_name}.{called}"
        calling = {id(s) for s in walk(body) for p in own_parts(s) if isinstance(p, Call) and dotted(p.func) == path}
        return not calling or not calling <= left_out(call, method, body, self._optional())

    def _optional(self) -> set[str]:
        """The parameters of the function that may be None."""
        function = self.code.function
        return {p.name for p in function.parameters if is_none(p.default)} if function is not None else set()

    def _is_changed(self, slot: Slot, statement: Statement, cls: PytreeClass) -> bool:
        """Whether a method changes an attribute of `self`, or the container that a field holds."""
        if len(slot.path) == 1:
            return _changes(cls)
        field = cls.field(slot.path[0]) if len(slot.path) == 2 and slot.path[1].startswith("[") else None
        if field is None or field.role is not Role.LEAF or not cls.is_pytree or removes(statement):
            return False
        held = plain(self.evaluator.attribute_of(Instance(cls), slot.path[0]))
        return isinstance(held, Container) and held.kind in CONTAINERS

    def _purpose(self, statement: Statement | None, slot: Slot, on_self: bool) -> Purpose:
        return purpose_of(statement, slot, on_self, self.made)


def _static_parameters(code: CodeRead) -> set[str]:
    """The parameters that have one value for each time that the code is traced."""
    if code.function is None:
        return set()
    return {name for a in code.applied for name in a.static_parameters(code.function) or ()}


def _goes_into_next(slot: Slot, method: Function, cls: PytreeClass) -> bool:
    """Whether what a method returns is the next instance, and gets an attribute that was changed before."""
    values = method.return_values
    return bool(values) and all(_is_next(value, slot.path[0], method.self_name, cls) for value in values)


def _is_next(value: Expr, attr: str, self_name: str | None, cls: PytreeClass) -> bool:
    """Whether an expression makes an instance of the class that gets an attribute of `self`: with it, or a copy."""
    if not isinstance(value, Call):
        return False
    func = value.func
    held = [func.value] if isinstance(func, Attribute) else []
    if last_name(func) in COPYING_NAMES and any(dotted(one) == self_name for one in (*held, *value.positional)):
        return True
    return makes(value, self_name or "", cls) and any(
        dotted(p) == f"{self_name}.{attr}" for a in value.args for p in parts(a.value)
    )


# -- classes -------------------------------------------------------------------------------------


def _changes(cls: PytreeClass) -> bool:
    """Whether the instances of a class are changed where they stand: ordinary ones, and mutable pytrees."""
    return not cls.is_pytree or (cls.frozen is False and cls.registered is not False)


def _may_be_changed(value: Value) -> bool:
    """Whether a value may be an object or a container that changes; yes if it is unknown."""
    return _changes(value.cls) if isinstance(value, Instance) else not isinstance(value, (Array, Scalar))


def _is_container(event: MutateField) -> bool:
    """Whether a leaf is changed that is a list, a dict or the like."""
    field, held = event.receiver.cls.field(event.field), plain(event.held)
    if field is None or field.role is not Role.LEAF or event.how == "attribute":
        return False
    return isinstance(held, Container) and held.kind in CONTAINERS
