"""Calls of methods: of instances, containers and arrays."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from jaxlint.infer.bodies.purity import Effects
from jaxlint.infer.calls.belied import copy_of
from jaxlint.infer.calls.higher_order import HigherOrder
from jaxlint.infer.calls.known_builtins import updated
from jaxlint.infer.calls.known_functions import full_reduction
from jaxlint.infer.calls.passing import after_receiver
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.notes import Notes, keyword_values
from jaxlint.infer.known.deferred import Values
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.transformed_values import filled
from jaxlint.infer.known.values import (
    UNKNOWN,
    Array,
    ClassObject,
    Container,
    FunctionValue,
    Indexed,
    Instance,
    Scalar,
    Selection,
    Treedef,
    UnknownValue,
    Value,
    as_instance,
    element_of,
    join,
    joined,
    of_jax,
    plain,
    without_none,
)
from jaxlint.libraries import arrays
from jaxlint.libraries.standard import PUTTING
from jaxlint.libraries.updates import AT, COPYING_NAMES, SELECTION_CHOICES, SELECTION_COPIES
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.missing_members import misses_attribute
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.stubs import is_stub
from jaxlint.syntax.expressions import Argument, Attribute, Call, Constant, Display, Expr, Name, dotted, last_name
from jaxlint.syntax.statements import all_parts


class MethodCalls:
    """Evaluates calls of methods; an evaluator of calls does."""

    evaluator: Evaluator
    model: PytreeModel
    notes: Notes
    higher_order: HigherOrder
    effects: Effects

    def _keeps_return_value(self, decorator: Expr, function: FunctionSymbol) -> bool:
        raise NotImplementedError

    def _overrides(self, function: FunctionValue) -> list[FunctionValue] | None:
        raise NotImplementedError

    def _train_state(self, func: FunctionValue, call: Call, values: Values) -> None:
        """`TrainState.apply_gradients` and `create` hand their other keywords on to `replace` and the constructor."""
        name = func.symbol.declaration.name
        receiver = plain(func.receiver) if func.receiver is not None else None
        if not is_stub(func.symbol.module):
            return
        if name == "apply_gradients" and isinstance(receiver, Instance):
            pairs = [(a, v) for a, v in zip(call.args, values.held, strict=True) if a.keyword != "grads"]
            base = call.func.value if isinstance(call.func, Attribute) else None
            self.notes.update(call, base, receiver, name, tuple(a for a, _ in pairs), Values([v for _, v in pairs]))
        elif name == "create" and isinstance(receiver, ClassObject):
            given = keyword_values(call.args, values)
            self.notes.construct(call, receiver, given, by_create=True)
            self.notes.made = call, receiver.cls, given

    def _own_update(self, func: FunctionValue, call: Call, values: Values) -> None:
        """A function of the user's that returns a copy with changes of its receiver, or of what it is given."""
        if self.notes.active is None or is_stub(func.symbol.module):
            return
        declaration = func.symbol.declaration
        receiver = plain(func.receiver) if func.receiver is not None else None
        overrides = self._overrides(func)
        if overrides is None:
            return
        by = None if overrides else func.symbol
        if isinstance(receiver, Instance) and isinstance(call.func, Attribute):
            if all(self._keeps_return_value(d, func.symbol) for d in declaration.decorators):
                if all(map(self._copies_receiver, (func, *overrides))):
                    changes = self._changes(by, call, values)
                    self.notes.update(call, call.func.value, receiver, declaration.name, *changes, by=by)
                    return
        passed = {} if call.has_star else self._passed_instances(func, call, values)
        copied = self._copied_parameter(func, passed)
        if copied is None or any(self._copied_parameter(method, passed) != copied for method in overrides):
            return
        index, cls = copied
        beside = any(isinstance(value, Display) for value in func.symbol.declaration.return_values)
        if call.has_star or index >= len(call.positional):
            return
        given = values[index]
        instance = Instance(cls) if isinstance(given, UnknownValue) else as_instance(given)
        if instance is not None and cls in instance.cls.mro:
            base = call.positional[index]
            changes = self._changes(by, call, values)
            self.notes.update(call, base, instance, declaration.name, *changes, beside=beside, by=by)

    def _changes(self, by: FunctionSymbol | None, call: Call, values: Values) -> tuple[tuple[Argument, ...], Values]:
        """The keywords of a call, and their values, that a function (if known) hands on to the update it returns."""
        name = None if by is None else self.model.updating_methods.changes(by.declaration)
        body = None if by is None or name is None else self.evaluator.calls.body_of(by)
        if by is None or body is None or sum(isinstance(p, Name) and p.id == name for p in all_parts(body)) != 1:
            return (), Values(())  # what is left out or put in is not known
        pairs = [
            (argument, value)
            for argument, value in zip(call.args, values.held, strict=True)
            if argument.keyword is not None and not by.declaration.takes(argument.keyword)
        ]
        return tuple(argument for argument, _ in pairs), Values([value for _, value in pairs])

    def _copies_receiver(self, method: FunctionValue) -> bool:
        """Whether a bound method returns a copy of its receiver with changes, and does not change it."""
        cls, symbol = plain(method.receiver).cls, method.symbol  # type: ignore[union-attr, arg-type]
        updating = self.model.updating_methods
        if updating.updates(cls, symbol.declaration, symbol.module):
            return True
        if not updating.constructs(cls, symbol.declaration, symbol.module) or not self.effects.has_none(symbol):
            return False
        return self.effects.making_has_none(cls)

    def _passed_instances(self, func: FunctionValue, call: Call, values: Values) -> dict[str, PytreeClass]:
        """The classes of the instances that a call passes for parameters without annotation."""
        own = after_receiver(func)
        bare = [(p.name, index) for index, p in enumerate(own[: len(call.positional)]) if p.annotation is None]
        given = ((name, as_instance(values[index])) for name, index in bare)
        return {name: instance.cls for name, instance in given if instance is not None}

    def _copied_parameter(
        self, func: FunctionValue, passed: Mapping[str, PytreeClass]
    ) -> tuple[int, PytreeClass] | None:
        """Of which argument a function returns a copy with changes, and does nothing else; and the class of that."""
        symbol = func.symbol
        found = self.model.updating_methods.copied_parameter(
            symbol.declaration, symbol.module, self.model.class_of_symbol, passed
        )
        if found is None or func.applied or not self.effects.has_none(symbol):
            return None
        target = self.higher_order.target(func)
        bound = 0 if target is None else target.bound
        return symbol.declaration.parameters.index(found[0]) - bound, found[1]

    def _method(self, receiver: Value, name: str, call: Call, values: Values, env: Environment) -> Value:
        if isinstance(receiver, Instance):
            if name in ("__setattr__", "__delattr__") and isinstance(call.func, Attribute):
                how = "setattr" if name == "__setattr__" else "delete"
                attr = call.args[0].value if call.args else None
                literal = attr.value if isinstance(attr, Constant) and isinstance(attr.value, str) else ""
                value = values[1] if len(values) > 1 else UNKNOWN
                if not (isinstance(call.func.value, Call) and dotted(call.func.value.func) == "super"):
                    held = call.func.value
                    self.notes.assign_attribute(call.at, held, receiver, literal, how, value, env, named_by=attr)
                return Scalar("NoneType")
            base = call.func.value if isinstance(call.func, Attribute) else None
            if name == "select":
                return UNKNOWN if base is None else Selection(receiver, base)
            if name == receiver.cls.framework.replace_method:
                self.notes.update(call, base, receiver, name, call.args, values)
                return copy_of(receiver, call, values, self.evaluator.promises)
            if _is_false(call.keyword("inplace")):
                self.notes.update(call, base, receiver, name, (), Values(()))
            return receiver
        if isinstance(receiver, Selection):
            if name in SELECTION_COPIES:
                self.notes.update(call, receiver.base, receiver.tree, f"select.{name}", (), Values(()))
                return UNKNOWN if call.keyword("keep_selected") or call.keyword("and_select") else receiver.tree
            return receiver if name in SELECTION_CHOICES else UNKNOWN
        if isinstance(receiver, Indexed):
            return self._updated_by_at(receiver, name, env)
        if isinstance(receiver, Array):
            return self._array_method(receiver, name, call)
        if isinstance(receiver, Container):
            return self._container_method(receiver, name, call, values, env)
        if isinstance(receiver, Scalar):
            return Container("list", None, Scalar("str"))  # the parts of a string
        if isinstance(receiver, Treedef):
            return filled(receiver.tree) if name == "unflatten" else UNKNOWN
        return UNKNOWN

    def _updated_by_at(self, indexed: Indexed, name: str, env: Environment) -> Value:
        """What `x.at[i].set(v)` returns: an array of jax, or what is taken for one where `x` is not known."""
        if not indexed.applied or name not in arrays.AT_METHODS:
            return UNKNOWN
        if isinstance(indexed.array, Array):
            return of_jax(indexed.array)
        return UNKNOWN if self.model.sees_other(env.module, AT) else Array("jax", declared=True)

    def _hoped(self, receiver: Value, call: Call) -> Value:
        """What the author of a call of `replace` takes for its result where instances certainly have no such method.

        What follows is wrong as it would be of the copy, and comes to light before that call is mended.
        """
        name, given = last_name(call.func), [argument.keyword for argument in call.args]
        if name not in COPYING_NAMES or not isinstance(call.func, Attribute) or not given:
            return UNKNOWN
        instance = plain(without_none(plain(receiver)))
        if not isinstance(instance, Instance) or any(instance.cls.field(field or "") is None for field in given):
            return UNKNOWN
        family = self.model.family(instance.cls, exact=instance.exact)
        is_missed = all(misses_attribute(cls, name, self.model) for cls in family)
        return replace(instance, refilled=False) if is_missed else UNKNOWN

    def _container_method(self, container: Container, name: str, call: Call, values: Values, env: Environment) -> Value:
        if name == "copy":
            return container
        if container.kind in ("dict", "mapping"):
            element = joined(list(container.items)) if container.items is not None else container.element
            if name in ("values", "items", "get", "pop", "setdefault"):
                if name == "setdefault" and len(values) > 1:
                    element = plain(values[1]) if container.items == () else join(element, plain(values[1]))
                if name in ("pop", "setdefault"):
                    self._rebind(call, Container(container.kind, None, element), env)
                pair = Container("tuple", (Scalar("str"), element))
                if name == "get":
                    return join(element, plain(values[1]) if len(values) > 1 else Scalar("NoneType"))
                return {"values": Container("list", None, element), "items": Container("list", None, pair)}.get(
                    name, element
                )
            if name == "update":
                self._rebind(call, updated(container, call, values), env)
            elif name not in ("keys", "copy"):
                self._rebind(call, Container(container.kind), env)
        elif name in PUTTING and values:
            put = element_of(values[-1]) if name in ("extend", "extendleft") else plain(values[-1])
            parts = [*(container.items if container.items is not None else (container.element,)), put]
            self._rebind(call, Container(container.kind, None, joined(parts)), env)
        elif name in ("pop", "popleft"):
            return element_of(container)
        elif name in ("__iadd__", "clear"):
            self._rebind(call, Container(container.kind), env)
        return UNKNOWN

    def _rebind(self, call: Call, value: Value, env: Environment) -> None:
        """A method changed its receiver in place."""
        if isinstance(call.func, Attribute) and isinstance(call.func.value, Name):
            name = call.func.value.id
            if name in env.values:
                env.values[name] = value

    def _array_method(self, array: Array, name: str, call: Call) -> Value:
        for argument in call.args:
            if argument.keyword in arrays.TENSOR_OPTIONS:
                return UNKNOWN  # whatever its annotation says
        if name in arrays.ARRAY_REDUCTIONS:
            if array.library == "numpy":
                return UNKNOWN  # a number, if there is no other axis
            return Array(array.library, full_reduction(call))
        if name == "nonzero":
            return Container("tuple", None, Array(array.library, None, array.declared))
        if name in arrays.ARRAY_METHODS:
            return Array(array.library, array.single, array.declared)
        if name == "tolist":
            return Container("list") if array.single is not True else UNKNOWN
        return UNKNOWN


def _is_false(option: Expr | None) -> bool:
    """Whether an option is left out or literally false."""
    return option is None or (isinstance(option, Constant) and not option.value)
