"""What the attributes of values are: fields, properties, what methods assign, members of modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from msgspec.structs import replace

from jaxlint.infer.bodies.filling import is_attribute_of, put_into
from jaxlint.infer.evaluating.interfaces import Calls
from jaxlint.infer.known.annotations import AnnotationReader
from jaxlint.infer.known.bound_again import after, bindings_of, is_attribute
from jaxlint.infer.known.by_fields import ByFields
from jaxlint.infer.known.evidence import contradicts
from jaxlint.infer.known.promises import Promises
from jaxlint.infer.known.transformed_values import marked
from jaxlint.infer.known.values import (
    UNKNOWN,
    Array,
    Choice,
    ClassObject,
    Container,
    FieldRead,
    FunctionValue,
    Indexed,
    Instance,
    Method,
    Scalar,
    Selection,
    Symbolic,
    Treedef,
    UnknownValue,
    Value,
    element_of,
    join,
    joined,
    of_any_library,
    of_jax,
    plain,
    without_none,
)
from jaxlint.libraries import linen
from jaxlint.libraries.arrays import ARRAY_ATTRIBUTES
from jaxlint.libraries.updates import UPDATE_METHODS
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, External, FunctionSymbol, Symbol, ValueSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.symbols.outline import Assignment, Function
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, children, is_variable

#: Methods of strings that return a list.
_SPLITTING = frozenset({"split", "rsplit", "splitlines"})


class Attributes:
    """Evaluates attributes; an evaluator does."""

    def __init__(self, model: PytreeModel) -> None:
        self.model = model
        self.annotations = AnnotationReader(model)
        self.promises = Promises(self.annotations, self._seen, self._put_there)
        self.by_fields = ByFields(model)
        self.calls: Calls
        self._attributes: dict[tuple[tuple[str, str], str], Value] = {}
        #: The attributes of things outside of the project.
        self._externals: dict[tuple[str, str], Value] = {}
        #: What attributes hold that constructors were given, while it is asked what methods put there.
        self._holding: dict[tuple[Instance, str], Value] = {}

    def _seen(self, placed: Placed) -> Value:
        raise NotImplementedError

    def static(self, placed: Placed, variables: Mapping[str, Value] | None = None) -> Value:
        """What an expression of a class body, a default or a module variable evaluates to; or one with `variables`."""
        raise NotImplementedError

    def of_symbol(self, symbol: Symbol) -> Value:
        """The value that a resolved name stands for."""
        raise NotImplementedError

    def attribute_of(self, receiver: Value, attr: str) -> Value:
        """`receiver.attr`."""
        kind = type(receiver)
        if kind is FieldRead or kind is Choice:
            receiver = plain(without_none(plain(receiver)))
        match receiver:
            case UnknownValue():
                return Indexed(UNKNOWN) if attr == "at" else UNKNOWN
            case Instance(cls=cls):
                return self._instance_attribute(receiver, cls, attr)
            case ClassObject(cls=cls):
                found = cls.method(attr)
                if found is not None:
                    symbol = FunctionSymbol(found[0].module, found[1])
                    return FunctionValue(symbol, receiver)
                member = self.model.resolver.member(cls.symbol, attr)
                return self.of_symbol(member) if isinstance(member, (ClassSymbol, ValueSymbol)) else UNKNOWN
            case Symbolic(symbol=symbol):
                return self._member(symbol, attr)
            case Array(library=library, single=single, declared=declared):
                if attr == "at":
                    return Indexed(receiver)
                if attr in ARRAY_ATTRIBUTES:
                    return Array(library, single, declared)
                if attr == "shape":
                    return Container("tuple", None, Scalar("int"))
                if attr in ("ndim", "size"):
                    return Scalar("int")
                return Method(receiver, attr)
            case Container() | Indexed() | Selection() | Treedef():
                return Method(receiver, attr)
            case Scalar(kind="str") if attr in _SPLITTING:
                return Method(receiver, attr)
            case Choice(options=options):
                values = [self.attribute_of(o, attr) for o in options]
                result = values[0]
                for value in values[1:]:
                    result = join(result, value)
                return result
        return UNKNOWN

    def _member(self, symbol: Symbol, attr: str) -> Value:
        """The attribute of a module, or of something outside of the project."""
        resolver = self.model.resolver
        if not isinstance(symbol, External):
            return self.of_symbol(resolver.follow(resolver.member(symbol, attr)))
        key = (symbol.name, attr)
        known = self._externals.get(key)
        if known is None:
            known = self._externals[key] = self.of_symbol(resolver.member(symbol, attr))
        return known

    def _instance_attribute(self, receiver: Instance, cls: PytreeClass, attr: str) -> Value:
        if attr == "__class__":
            return ClassObject(cls, receiver.exact)
        if attr == cls.framework.replace_method and cls.has_framework_replace:
            return Method(receiver, attr)
        if attr in ("__setattr__", "__delattr__") and cls.method(attr) is None:
            return Method(receiver, attr)
        if has_framework_method(cls, attr):
            return Method(receiver, attr)
        field = cls.field(attr)
        if field is not None:
            value = self.promises.field(field, cls)
            if isinstance(value, UnknownValue) and field.assigned is not None:
                value = self.static(field.assigned)
            if receiver.held and (known := self._given(receiver, attr, value)) is not value:
                return known
            if receiver.traced is not None and field.role is Role.LEAF and attr not in receiver.traced:
                value = marked(value, traced=True)
            elif receiver.holds_jax and field.role is Role.LEAF:
                value = of_jax(value)
            elif receiver.refilled or not cls.is_pytree:  # with a numpy array, perhaps
                value = of_any_library(value)
            if receiver.is_other_tree and field.role is Role.LEAF and isinstance(value, Instance):
                value = replace(value, is_other_tree=True)
            return FieldRead(value, cls, attr, by_fields=receiver.by_fields) if field.role is Role.STATIC else value
        getter = self.getter(cls, attr)
        if getter is not None:
            return self.calls.returned(FunctionValue(getter, receiver))
        found = cls.method(attr)
        if found is not None:
            if _is_replaced(attr, cls):
                return UNKNOWN
            return FunctionValue(FunctionSymbol(found[0].module, found[1]), receiver)
        value = self.attribute_type(cls, attr)
        if receiver.held:
            value = self._given(receiver, attr, value)
        if attr in linen.METHODS and isinstance(value, UnknownValue) and self.inherits(cls, linen.MODULE):
            return Symbolic(External(f"{linen.MODULE}.{attr}"))
        if isinstance(value, UnknownValue) and attr not in cls.assigned:
            return self._handed_on(receiver, attr)
        return value

    def _handed_on(self, receiver: Instance, attr: str) -> Value:
        """The attribute of what an instance holds that is asked for all attributes which the instance does not have."""
        cls = receiver.cls
        held = hands_on_to(cls)
        if held in ("", attr) or attr.startswith("__"):
            return UNKNOWN
        if not receiver.exact and self.model.is_overridden(cls, attr):
            return UNKNOWN
        return self.attribute_of(self._instance_attribute(receiver, cls, held), attr)

    def inherits(self, cls: PytreeClass, name: str) -> bool:
        """Whether a class inherits from one outside of the project, by its dotted name."""
        for one in cls.mro:
            declaration = one.symbol.declaration
            for base in declaration.bases:
                symbol = self.model.resolver.resolve(base.value, one.module, declaration.scope)
                if base.keyword is None and symbol == External(name):
                    return True
        return False

    def getter(self, cls: PytreeClass, attr: str) -> FunctionSymbol | None:
        """The function that computes a property."""
        found = cls.method(attr)
        if found is not None:
            owner = found[0]
            for qualname in owner.symbol.declaration.methods[attr]:  # the getter comes before the setter
                function = owner.module.outline.functions[qualname]
                if any(self._is_property(d, owner.module, function.scope) for d in function.decorators):
                    return FunctionSymbol(owner.module, function)
        return None

    def fields_of(self, instance: Instance) -> Container:
        """The values of a NamedTuple, in order."""
        return Container("tuple", tuple(self.promises.field(field, instance.cls) for field in instance.cls.fields))

    def _is_property(self, decorator: Expr, module: Module, scope: str) -> bool:
        symbol = self.model.resolver.resolve(decorator, module, scope)
        return isinstance(symbol, External) and symbol.name in (
            "builtins.property",
            "functools.cached_property",
        )

    def _given(self, receiver: Instance, attr: str, value: Value) -> Value:
        """What the constructor was given for an attribute, where that says more: all, or of which subclass it is."""
        if receiver.cls.is_pytree:  # of another class than its annotation says
            return dict(receiver.held).get(attr, value)
        declared = plain(value)
        if isinstance(declared, UnknownValue):
            return self._held_attribute(receiver, attr)
        if isinstance(declared, Instance) and not declared.cls.is_pytree and not declared.exact:
            held = self._held_attribute(receiver, attr)
            if isinstance(held, Instance) and declared.cls in held.cls.mro:
                return held
        return value

    def _held_attribute(self, receiver: Instance, attr: str) -> Value:
        """What an attribute is that holds what the constructor was given, unless methods put something else there."""
        key = (receiver, attr)
        if key in self._holding:  # what it is before it is bound again
            return self._holding[key]
        given, assigned = dict(receiver.held), receiver.cls.assigned.get(attr, ())
        value = given.get(attr, UNKNOWN)
        try:
            for placed in assigned:
                if placed is None:
                    return UNKNOWN
                if placed.scope.endswith("__init__.<locals>") or _updates(placed.expr, attr):
                    if attr not in given and len(assigned) == 1:
                        self._holding[key] = UNKNOWN  # stops cycles
                        return self.assigned_value(placed, receiver)
                    continue
                if isinstance(value, UnknownValue):
                    break
                self._holding[key] = value
                value = self._bound_again(value, placed, attr, receiver)
        finally:
            self._holding.pop(key, None)
        return value

    def _bound_again(self, before: Value, placed: Placed, attr: str, receiver: Instance | None = None) -> Value:
        """What an attribute is that was something before, or is what a method assigns to it."""
        given, resolver = self.assigned_value(placed, receiver), self.model.resolver
        return after(before, given, placed, partial(is_attribute, attr), resolver)

    def assigned_value(self, placed: Placed, receiver: Instance | None = None) -> Value:
        """What a method assigns to an attribute."""
        method = placed.module.outline.function_of(placed.scope)
        own = self._own(method, receiver) if method is not None and receiver is not None else {}
        value = plain(self.static(placed, own))
        if method is None or not isinstance(value, UnknownValue) or not isinstance(placed.expr, Name):
            return value
        return self._variable_of(method, placed.expr.id, placed, own)

    def _own(self, method: Function, receiver: Instance) -> dict[str, Value]:
        """What is known inside of a method of an instance: itself, and what its constructor was given."""
        own: dict[str, Value] = {method.self_name: receiver} if method.self_name else {}
        if method is receiver.cls.custom_init():
            held = dict(receiver.held)
            stored = self.calls.stored_parameters(receiver.cls)
            own |= {name: held[attr] for name, attr in stored.items() if attr in held}
        return own

    def _variable_of(self, method: Function, name: str, placed: Placed, own: Mapping[str, Value]) -> Value:
        """What a variable of a method is, whatever it is bound to."""
        bindings = placed.module.outline.scopes[placed.scope].bindings.get(name, ())
        if not bindings or any(not isinstance(one, Assignment) or one.guard == "parameter" for one in bindings):
            return UNKNOWN
        body = self.calls.body_of(FunctionSymbol(placed.module, method))
        is_it = partial(is_variable, name)
        result: Value | None = None
        for bound in () if body is None else bindings_of(name, body):
            if bound is None:
                return UNKNOWN
            expr, index = bound
            variables = {**own} if result is None else {**own, name: result}
            here = Placed(expr, placed.module, placed.scope)
            value = plain(self.static(here, variables))
            if index is not None:
                items = value.items if isinstance(value, Container) else None
                value = items[index] if items is not None and 0 <= index < len(items) else UNKNOWN
            result = value if result is None else after(result, value, here, is_it, self.model.resolver)
            if isinstance(result, UnknownValue):
                return UNKNOWN
        return result or UNKNOWN

    def attribute_type(self, cls: PytreeClass, attr: str) -> Value:
        """What the methods of an ordinary class assign to `self.attr`, if they all agree."""
        key = (cls.symbol.key, attr)
        if key in self._attributes:
            return self._attributes[key]
        self._attributes[key] = UNKNOWN  # stops cycles
        self._attributes[key] = result = self._attribute_type(cls, attr)
        return result

    def _attribute_type(self, cls: PytreeClass, attr: str) -> Value:
        annotation, found = cls.annotations.get(attr), cls.assigned.get(attr, ())
        key = (cls.symbol.key, attr)
        if annotation is not None:
            declared = self._attributes[key] = self.annotations.read(annotation, cls)
            if isinstance(declared, UnknownValue):
                return UNKNOWN
            seen = (self._seen(placed) for placed in found if placed is not None)
            return UNKNOWN if any(contradicts(declared, one) for one in seen) else of_any_library(declared)
        known_values = [placed for placed in found if placed is not None]
        if len(known_values) < len(found):
            return UNKNOWN
        # what is updated from itself (`self.x = self.x.replace(...)`) is read once the rest is known
        known_values.sort(key=lambda p: _mentions(p.expr, attr))
        result: Value = UNKNOWN
        for index, placed in enumerate(known_values):
            result = self.assigned_value(placed) if index == 0 else self._bound_again(result, placed, attr)
            self._attributes[key] = result
        return self._filled(result, cls, attr) if isinstance(result, Container) and result.items == () else result

    def _filled(self, container: Container, cls: PytreeClass, attr: str) -> Value:
        """A list or dict that an attribute holds and that is made empty, with what methods of the class put into it."""
        put = list(self._put(cls, attr))
        if not put or None in put:
            return container
        return replace(container, items=None, element=joined([self.assigned_value(one) for one in put if one]))

    def _put(self, cls: PytreeClass, attr: str) -> Iterator[Placed | None]:
        """What methods of a class put into the list or dict that an attribute holds; None for what is unknown."""
        for one in cls.mro:
            functions = one.module.outline.functions
            for method in [functions[names[-1]] for names in one.symbol.declaration.methods.values()]:
                if attr not in method.self_mutations or method.self_name is None:
                    continue
                body = self.calls.body_of(FunctionSymbol(one.module, method)) or ()
                for expr in put_into(partial(is_attribute_of, attr, method.self_name), body):
                    yield None if expr is None else Placed(expr, one.module, method.inner_scope)

    def _put_there(self, cls: PytreeClass, attr: str) -> Value:
        """What all is that methods of a class put into a list, which they give to an attribute or it has already."""
        found: list[Value] = []
        for placed in cls.assigned.get(attr, ()):
            held = UNKNOWN if placed is None else self._list_at(placed)
            if not isinstance(held, Container):
                return UNKNOWN
            if held.items != ():
                found.append(element_of(held))
        put = list(self._put(cls, attr))
        return UNKNOWN if None in put else joined([*found, *(self.assigned_value(one) for one in put if one)])

    def _list_at(self, placed: Placed) -> Value:
        """A list that is given to an attribute: what a variable holds that begins empty, with what is put into it."""
        match placed.expr:
            case Call(func=Name(id="list" | "tuple"), args=(_,), positional=(Name() as copied,)):
                return self._list_at(replace(placed, expr=copied))
        method, held = placed.module.outline.function_of(placed.scope), plain(self.assigned_value(placed))
        if method is None or not isinstance(placed.expr, Name):
            return held
        name = placed.expr.id
        body = self.calls.body_of(FunctionSymbol(placed.module, method)) or ()
        put = list(put_into(partial(is_variable, name), body))
        if not isinstance(held, Container) or not put:
            return held
        values = [self.assigned_value(Placed(one, placed.module, placed.scope)) if one else UNKNOWN for one in put]
        values += [element_of(held)] if held.items != () else []
        return replace(held, items=None, element=joined(values))


def hands_on_to(cls: PytreeClass) -> str:
    """The attribute that `__getattr__` asks for what an instance does not have: `return getattr(self.env, name)`."""
    found = cls.method("__getattr__")
    if found is None or len(found[1].return_values) != 1:
        return ""
    match found[1].return_values[0]:
        case Call(func=Name(id="getattr"), positional=(Attribute(value=Name(id=own), attr=attr), Name(id=name))):
            return attr if [own, name] == [p.name for p in found[1].parameters] else ""
    return ""


def has_framework_method(cls: PytreeClass, name: str) -> bool:
    """Whether `name` is a method of the framework's base class that copies or selects, and is none of the user's."""
    framework = cls.framework
    if name not in framework.copying_methods | framework.selecting_methods:
        return False
    return cls.bases_known and cls.field(name) is None and cls.method(name) is None


def _is_replaced(name: str, cls: PytreeClass) -> bool:
    """Whether instances have something else under the name of a method: `self.reset = jax.jit(_reset)`.

    `self.step = jax.jit(self.step)` does what the method does. What the module puts on the class (`State.step = step`)
    may do anything.
    """
    if any(name in one.attributes_given for one in cls.mro):
        return True
    given = cls.assigned.get(name, ())
    return any(placed is None or not _mentions(placed.expr, name) for placed in given)


def _updates(expr: Expr, attr: str) -> bool:
    """Whether an expression calls a copying method of an attribute: `self.state.replace(...)`."""
    match expr:
        case Call(func=Attribute(value=Attribute(attr=updated), attr=method)):
            return updated == attr and method in UPDATE_METHODS
    return False


def _mentions(expr: Expr, attr: str) -> bool:
    """Whether an expression reads an attribute of that name."""
    stack = [expr]
    while stack:
        current = stack.pop()
        if isinstance(current, Attribute) and current.attr == attr:
            return True
        stack.extend(children(current))
    return False
