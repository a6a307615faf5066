"""`PytreeClass` and `Field`: what a class declaration means at run time.

Facts are three-state: True, False, or None where they cannot be determined from the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cached_property

import msgspec

from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol
from jaxlint.pytrees.framework import Framework, LeafOrder, Role, Unflatten
from jaxlint.pytrees.linearisation import merge_mro
from jaxlint.symbols.outline import ClassAssignment, Function, Parameter, SelfAssignment
from jaxlint.syntax.expressions import Constant, DictDisplay, Display, Expr, Name, Span, dotted, is_special, last_name
from jaxlint.syntax.statements import parts

#: What a field is annotated as that may hold a function.
_FOR_FUNCTIONS = frozenset({"Callable", "object", "Schedule"})
#: What makes an instance.
_CONSTRUCTING = frozenset({"__init__", "__new__"})
#: Decorators of methods that subclasses are to define.
_ABSTRACT = frozenset({"abstractmethod", "abstractproperty", "abstractclassmethod", "abstractstaticmethod"})


class Kind(Enum):
    """What the dataclass machinery makes of an annotated name."""

    FIELD = "field"
    INIT_VAR = "InitVar"  #: a parameter of the constructor, and no field
    CLASS_VAR = "ClassVar"  #: neither, but it keeps the place of a field of that name


class Placed(msgspec.Struct, frozen=True):
    """An expression and the scope in which its names are to be read."""

    expr: Expr
    module: Module
    scope: str


def truth(value: Placed | None, default: bool | None) -> bool | None:
    """The truth value of a literal; `default` if there is no value, None if it is no literal."""
    if value is None:
        return default
    if isinstance(value.expr, Constant):
        return bool(value.expr.value) if value.expr.kind != "ellipsis" else True
    return None


class FieldCall(msgspec.Struct, frozen=True):
    """The call of a field function that declares a field: the function's name, and what it is given."""

    function: str
    positional: tuple[Placed, ...]
    keywords: frozenset[str]


class Field(msgspec.Struct, frozen=True):
    """One field of a pytree class (or of a plain dataclass)."""

    name: str
    role: Role
    owner: ClassSymbol
    at: Span
    annotation: Placed | None = None
    default: Placed | None = None
    factory: Placed | None = None
    init: bool = True
    kw_only: bool = False
    metadata: Mapping[str, bool | None] = msgspec.field(default_factory=dict)
    #: What `__init__` assigns, for attributes of classes that are no dataclasses.
    assigned: Placed | None = None
    #: Whether the field's value is a call that cannot be seen through.
    opaque: bool = False
    #: The call of a field function (`struct.field(...)`, …) that declares the field, if one does.
    call: FieldCall | None = None
    kind: Kind = Kind.FIELD

    @property
    def is_converted(self) -> bool:
        """Whether a converter may make something else of what the constructor is given."""
        return self.call is not None and "converter" in self.call.keywords

    @property
    def is_init_var(self) -> bool:
        """Whether the constructor takes it and no instance has it."""
        return self.kind is Kind.INIT_VAR

    @property
    def has_default(self) -> bool | None:
        """Whether the constructor may be called without it."""
        return self.default is not None or self.factory is not None

    @property
    def is_empty_by_default(self) -> bool:
        """Whether the field is None, or an empty container, if nothing else is given."""
        if self.factory is not None:
            return isinstance(self.factory.expr, Name) and self.factory.expr.id in ("list", "tuple", "dict")
        match None if self.default is None else self.default.expr:
            case Constant(kind="NoneType") | Display(items=()) | DictDisplay(values=()):
                return True
        return False


class DataclassParams(msgspec.Struct, frozen=True):
    """The options with which the dataclass machinery made a class; None where they are no literals."""

    init: bool | None
    eq: bool | None
    frozen: bool | None
    order: bool | None
    unsafe_hash: bool | None


class FieldLists(msgspec.Struct, frozen=True):
    """`data_fields`, `meta_fields` and `drop_fields` of a registration; None where they cannot be read.

    What is `given` for each is None if nothing is; the names of such a list are none.
    """

    data: tuple[str, ...] | None
    meta: tuple[str, ...] | None
    dropped: tuple[str, ...] | None
    data_given: Placed | None
    meta_given: Placed | None
    drop_given: Placed | None

    @property
    def automatic(self) -> bool:
        """Whether the class's own fields are sorted by their metadata."""
        return self.data_given is None and self.meta_given is None


class Registration(msgspec.Struct, frozen=True):
    """One decorator, or call after the class statement, that makes a pytree of a class."""

    framework: Framework
    #: The decorator or the call.
    at: Span
    #: The function that is applied or called, as it is written there, and its dotted name.
    name: str
    function: str = ""
    is_call: bool = False
    #: Whether it need not happen, or may fail.
    guarded: bool = False
    #: Whether the framework returns the class as it is, because it is one of its own already.
    ignored: bool = False
    #: Whether the class is a dataclass by then.
    of_dataclass: bool = True
    #: The keywords that it is given.
    options: Mapping[str, Placed] = msgspec.field(default_factory=dict)
    #: What it is given by position; the class itself is the first if it is a call.
    positional: tuple[Placed, ...] = ()
    #: Whether it lists the fields.
    has_lists: bool = False
    #: False if it is given more than can be seen: `*args` or `**kwargs`.
    arguments_known: bool = True
    #: Whether the function is called without the class, as if that made a decorator.
    is_factory: bool = False
    #: Whether the call stands in a loop, and registers other classes, too.
    in_loop: bool = False
    #: The module that imports the class and registers it; None in the module of the class.
    elsewhere: Module | None = None

    def option(self, name: str, default: bool | None) -> bool | None:
        """The truth value of a keyword; None if it is no literal, or cannot be seen."""
        return truth(self.options.get(name), default if self.arguments_known else None)


class PytreeClass(msgspec.Struct, eq=False, dict=True):
    """One class, as the frameworks see it. `framework.is_pytree` is False for plain classes."""

    symbol: ClassSymbol
    framework: Framework
    parents: tuple[PytreeClass, ...]
    fields: tuple[Field, ...]
    #: False if a base class or a part of the body cannot be seen, or if code of the class flattens its instances, so
    #: that there may be more fields.
    fields_known: bool
    frozen: bool | None
    #: Whether the class itself is a dataclass (generated `__init__`, fields from its own annotations).
    is_dataclass: bool
    #: Registered as a pytree; False for an undecorated subclass, which is one opaque leaf.
    registered: bool | None
    #: Whether the dataclass machinery generates `__init__` here.
    generated_init: bool
    eq: bool | None
    #: False if the class or one that it inherits from has a base that cannot be seen.
    bases_known: bool = True
    #: Whether a base of the standard library brings a constructor of its own.
    base_constructs: bool = False
    #: False if instances carry further attributes that are flattened like fields.
    attributes_known: bool = True
    #: All that the dataclass machinery keeps of this class and its bases, in that order.
    members: tuple[Field, ...] = ()
    #: Whether these are all, whatever is flattened.
    members_known: bool = False
    #: Whether a decorator that cannot be seen through is applied.
    unknown_decorator: bool = False
    #: What decorators of the project assign to the class.
    attributes_added: frozenset[str] = frozenset()
    #: The names whose assignment is refused; None: all.
    frozen_names: frozenset[str] | None = None
    #: Whether the framework's own base class stands before all visible bases.
    root_first: bool = False
    #: The options of the decorator, or the class keywords.
    options: Mapping[str, Placed] = msgspec.field(default_factory=dict)
    #: Whether these are all: not if there are `**options`.
    options_known: bool = True
    #: How the dataclass machinery was called for this very class, if it was.
    params: DataclassParams | None = None
    #: What registers this very class, in the order in which it happens.
    registrations: tuple[Registration, ...] = ()
    #: The decorators and calls that run the dataclass machinery over this very class, in that order.
    made_by: tuple[Registration, ...] = ()
    #: Whether a base class registers it before all others; None if a class keyword that cannot be read says so.
    registered_by_base: bool | None = False
    #: The lists of fields that its registration gives, if it gives any.
    lists: FieldLists | None = None
    #: The order of the leaves where it is neither of declaration nor alphabetical, without computed children.
    explicit_leaves: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return f"PytreeClass({self.symbol.full_name})"

    @property
    def name(self) -> str:
        """The class's own name."""
        return self.symbol.declaration.name

    @cached_property
    def module(self) -> Module:
        """The module that declares it."""
        return self.symbol.module

    @cached_property
    def is_pytree(self) -> bool:
        """Whether the class belongs to a pytree framework."""
        return self.framework.is_pytree

    @property
    def is_mapping(self) -> bool | None:
        """Whether an instance is a mapping from the names of its fields; None if the option is no literal."""
        option = self.framework.mapping_option
        return self.option(option, True) if option else False

    @property
    def is_rebuilt_by_constructor(self) -> bool:
        """Whether unflattening calls a constructor that may be the user's."""
        return self.framework.unflatten is Unflatten.CONSTRUCTOR and not self.framework.is_tuple

    @property
    def declared_fields(self) -> tuple[Field, ...]:
        """The fields in the order of declaration, which the dataclass machinery uses, however they are flattened."""
        by_hand = self.framework.flattens_itself and self.members_known and self.is_dataclass
        return tuple(f for f in self.members if f.kind is Kind.FIELD) if by_hand else self.fields

    @property
    def is_opaque_key(self) -> bool:
        """Whether an instance is a part of the treedef as a whole, and equal only to itself."""
        return self.framework.is_opaque and self.method("__eq__") is None

    def option(self, name: str, default: bool) -> bool | None:
        """The truth value of an option; None if it is no literal, or cannot be seen."""
        return truth(self.options.get(name), default if self.options_known else None)

    @property
    def init_vars(self) -> tuple[str, ...]:
        """The names of the `InitVar`s."""
        return tuple(f.name for f in self.members if f.is_init_var)

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        return {f.name: f for f in self.fields}

    def field(self, name: str) -> Field | None:
        """The field `name`, or None."""
        return self._by_name.get(name)

    @cached_property
    def mro(self) -> tuple[PytreeClass, ...]:
        """The classes that are searched for a method, most derived first (C3, or depth first if that fails)."""
        if len(self.parents) == 1:
            return (self, *self.parents[0].mro)
        return (self, *merge_mro([list(p.mro) for p in self.parents] + [list(self.parents)]))

    @cached_property
    def class_attributes(self) -> Mapping[str, tuple[PytreeClass, ClassAssignment]]:
        """What class bodies bind without an annotation, so that it is no field, and the class that does it.

        Names that a class of the MRO annotates are left out, and special names too.
        """
        taken = {f.name for c in self.mro for f in c.symbol.declaration.fields}
        found: dict[str, tuple[PytreeClass, ClassAssignment]] = {}
        for cls in self.mro:
            declaration = cls.symbol.declaration
            for assignment in declaration.assignments if cls.is_pytree and cls.is_dataclass else ():
                name = assignment.name
                if name not in taken and name not in declaration.methods and not is_special(name):
                    found.setdefault(name, (cls, assignment))
        return found

    @cached_property
    def own_assignments(self) -> list[tuple[str, SelfAssignment]]:
        """What the methods of the class itself assign to attributes of `self`, with their scopes."""
        functions, methods = self.module.outline.functions, self.symbol.declaration.methods.values()
        own = ((f"{qualname}.<locals>", functions[qualname]) for qualnames in methods for qualname in qualnames)
        return [(scope, assignment) for scope, function in own for assignment in function.self_assignments]

    @cached_property
    def assigned(self) -> Mapping[str, list[Placed | None]]:
        """What methods assign to each attribute of `self`; None where that is no expression."""
        found: dict[str, list[Placed | None]] = {}
        for cls in self.mro:
            for scope, assignment in cls.own_assignments:
                value = assignment.value
                given = None if value is None else Placed(value, cls.module, scope)
                found.setdefault(assignment.attr, []).append(given)
        return found

    @cached_property
    def annotations(self) -> Mapping[str, Placed]:
        """The first annotation of each attribute, in the bodies of the classes or in their methods."""
        found: dict[str, Placed] = {}
        for cls in self.mro:
            declared = cls.symbol.declaration
            for field in declared.fields:
                found.setdefault(field.name, Placed(field.annotation, cls.module, declared.qualname))
            for scope, assignment in cls.own_assignments:
                if assignment.annotation is not None:
                    found.setdefault(assignment.attr, Placed(assignment.annotation, cls.module, scope))
        return found

    def binds(self, name: str) -> bool:
        """Whether some class of the MRO binds a name without an annotation, so that instances need not hold it."""
        return any(a.name == name for cls in self.mro for a in cls.symbol.declaration.assignments)

    def class_value(self, name: str) -> Expr | None:
        """What the class bodies bind a name to, without an annotation."""
        for cls in self.mro:
            declaration = cls.symbol.declaration
            if name in declaration.methods or any(f.name == name for f in declaration.fields):
                return None
            bound = [a.value for a in declaration.assignments if a.name == name]
            if bound:
                return bound[0] if len(bound) == 1 else None
        return None

    def method(self, name: str) -> tuple[PytreeClass, Function] | None:
        """The last definition of the method `name`, and the class that has it."""
        for cls in self.mro:
            qualnames = cls.symbol.declaration.methods.get(name)
            if qualnames:
                return cls, cls.module.outline.functions[qualnames[-1]]
        return None

    def says_itself(self, name: str) -> bool:
        """Whether the class says itself what a method does: by `def`, or by an assignment in its body or behind it.

        `__eq__ = object.__eq__` is how an instance is said to be equal to itself alone.
        """
        return name in self.symbol.declaration.methods or name in self.attributes_given

    def answers(self, name: str) -> bool:
        """Whether a class of the MRO says itself what the method `name` does."""
        return any(cls.says_itself(name) for cls in self.mro)

    @cached_property
    def abstract_methods(self) -> frozenset[str]:
        """The names of the methods that subclasses are to define."""
        names = {name for c in self.mro for name in c.symbol.declaration.methods}
        found = {name: self.method(name) for name in names}
        return frozenset(
            name
            for name, method in found.items()
            if method is not None
            and any((dotted(d) or "").rpartition(".")[2] in _ABSTRACT for d in method[1].decorators)
        )

    @property
    def has_framework_replace(self) -> bool:
        """Whether the framework's own `replace` is what instances have, and not a method of the user's."""
        name = self.framework.replace_method
        for cls in self.mro:
            if name in cls.attributes_given:
                return False
            forbidden = self.framework.register_keyword and cls.params is not None
            if self.framework.replace_overwrites and (cls.registered or forbidden):
                return True
            if name in cls.symbol.declaration.methods:
                return False
        return name is not None

    @cached_property
    def attributes_given(self) -> frozenset[str]:
        """What is put on the class: `Cls.replace = ...`, `setattr(Cls, "replace", ...)`, in its body `__eq__ = ...`."""
        outline, prefix = self.module.outline, f"{self.name}."
        names = {path.removeprefix(prefix) for path in outline.attributes_set if path.startswith(prefix)}
        calls = (c.positional for c in outline.module_calls if isinstance(c.func, Name) and c.func.id == "setattr")
        given = (g[1] for g in calls if len(g) > 1)
        names |= {one.name for one in self.symbol.declaration.assignments if one.name.startswith("__")}
        return frozenset(names).union(g.value for g in given if isinstance(g, Constant) and g.kind == "str")

    @property
    def leaves(self) -> tuple[Field, ...] | None:
        """The leaf fields in flattening order, or None if some role is unknown."""
        if not self.fields_known or not self.attributes_known or any(f.role is Role.UNKNOWN for f in self.fields):
            return None
        leaves = [f for f in self.fields if f.role is Role.LEAF]
        if self.explicit_leaves is not None:
            order = {name: i for i, name in enumerate(self.explicit_leaves)}
            leaves.sort(key=lambda f: order.get(f.name, len(order)))
        elif self.framework.leaf_order is LeafOrder.ALPHABETICAL:
            leaves.sort(key=lambda f: f.name)
        return tuple(leaves)

    @property
    def static_fields(self) -> tuple[Field, ...]:
        """The fields that are certainly static, in declaration order."""
        return tuple(f for f in self.fields if f.role is Role.STATIC)

    @property
    def tells_when_constructed(self) -> bool:
        """Whether a rule wants to see what the constructor is given, or what is assigned on an instance."""
        return bool(self.static_fields or self.class_attributes) or any(map(_is_for_function, self.leaves or ()))

    def custom_init(self) -> Function | None:
        """The user-written `__init__` that constructs instances, if there is one."""
        for cls in self.mro:
            if "__init__" in cls.symbol.declaration.methods:
                return cls.module.outline.functions[cls.symbol.declaration.methods["__init__"][-1]]
            if cls.generated_init:
                return None
        return None

    @property
    def has_own_construction(self) -> bool:
        """Whether code of the class itself makes an instance, which may make something else of what it is given."""
        return self.custom_init() is not None or any(self.method(name) for name in ("__post_init__", "__new__"))

    def constructor(self) -> tuple[Parameter, ...] | None:
        """The constructor's parameters without `self`, or None if they cannot be determined."""
        if any(not _CONSTRUCTING.isdisjoint(cls.attributes_given) for cls in self.mro):
            return None
        maker = self.init_owner()
        if maker is None:
            certain = self.bases_known and not self.base_constructs and not self.unknown_decorator
            return () if certain and not self.framework.makes_dataclass else None
        custom = maker.symbol.declaration.methods.get("__init__")
        keyword_only = maker.framework.keyword_only and maker.registered and maker.is_mapping is not False
        if custom:
            parameters = maker.module.outline.functions[custom[-1]].parameters[1:]
            return tuple(msgspec.structs.replace(p, kind="keyword") for p in parameters) if keyword_only else parameters
        if not maker.members_known:
            return None
        members = [f for f in maker.members if f.init and f.kind is not Kind.CLASS_VAR]
        return tuple(
            Parameter(
                f.name,
                f.annotation.expr if f.annotation else None,
                f.default.expr if f.default else (f.factory.expr if f.factory else None),
                "keyword" if f.kw_only or keyword_only else "positional",
                f.at,
            )
            for f in [*(f for f in members if not f.kw_only), *(f for f in members if f.kw_only)]
        )

    def init_owner(self, behind: PytreeClass | None = None) -> PytreeClass | None:
        """The class whose `__init__`, written or generated, constructs instances; None if it is none that is seen.

        With `behind`, the one that `super().__init__` of that class runs.
        """
        for cls in self.mro if behind is None else self.mro[self.mro.index(behind) + 1 :]:
            if "__init__" in cls.symbol.declaration.methods or cls.generated_init:
                return cls
            if cls.unknown_decorator or (not cls.fields_known and not cls.is_pytree):
                return None
        return None


def _is_for_function(field: Field) -> bool:
    """Whether a field is annotated as something that can be called."""
    annotation = field.annotation
    return annotation is not None and any(last_name(p) in _FOR_FUNCTIONS for p in parts(annotation.expr))
