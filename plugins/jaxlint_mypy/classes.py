"""What mypy must know of classes: generated constructors that it does not see, and the method `replace`."""

from __future__ import annotations

import re

from mypy import nodes
from mypy.nodes import (
    MDEF,
    AssignmentStmt,
    CallExpr,
    ClassDef,
    DataclassTransformSpec,
    FuncDef,
    IndexExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    RefExpr,
    SymbolTableNode,
    TypeInfo,
    Var,
)
from mypy.plugin import ClassDefContext
from mypy.plugins.common import add_attribute_to_class
from mypy.plugins.dataclasses import DataclassTransformer, add_dataclass_tag, dataclass_class_maker_callback
from mypy.semanal_shared import find_dataclass_transform_spec
from mypy.types import PROTOCOL_NAMES, CallableType, LiteralType, TupleType

from jaxlint.pytrees.frameworks import BY_DECORATOR, FIELD_FUNCTIONS
from jaxlint.pytrees.model import PytreeClass
from jaxlint_mypy.abstract import hide_abstract
from jaxlint_mypy.front import SIGNATURE, FrontEnd
from jaxlint_mypy.internals import all_bases_seen, has_unseen_base, text_around
from jaxlint_mypy.methods import MethodMaker

#: The functions that declare fields, by all names that mypy may know them by.
_FIELD_SPECIFIERS = ("dataclasses.field", "dataclasses.Field", *sorted(FIELD_FUNCTIONS))


#: An attribute that is assigned.
_WRITTEN = re.compile(r"\.(\w+)[^\S\n]*(?::[^=\n]*|[-+*/%@&|^]|//|\*\*|<<|>>)?=(?!=)")


class ClassTeller:
    """Completes mypy's picture of pytree classes."""

    def __init__(self, front: FrontEnd) -> None:
        self.front = front
        self.methods = MethodMaker(front)

    def sign(self, ctx: ClassDefContext) -> None:
        """Write what jaxlint knows of a class into its symbols, where the daemon sees that it changes."""
        info = ctx.cls.info
        cls = self.front.class_of(info)
        if cls is None or _is_protocol(ctx.cls):  # others would have to have the symbol to fulfil the protocol
            return
        fields = [(f.name, f.role.value, f.init, f.default is None, f.factory is None) for f in cls.fields]
        known = repr((cls.framework.id, cls.frozen, cls.registered, cls.is_dataclass, cls.fields_known, fields))
        variable = Var(SIGNATURE, LiteralType(known, ctx.api.named_type("builtins.str")))
        variable.info = info
        variable._fullname = f"{info.fullname}.{SIGNATURE}"
        info.names[SIGNATURE] = SymbolTableNode(MDEF, variable, plugin_generated=True)

    def tag(self, ctx: ClassDefContext) -> None:
        """In the main pass: this class will be a dataclass."""
        if self._made_here(ctx) is not None or find_dataclass_transform_spec(ctx.reason) is not None:
            add_dataclass_tag(ctx.cls.info)

    def transform(self, ctx: ClassDefContext) -> bool:
        """After the main pass: the generated methods."""
        cls = self._made_here(ctx)
        if cls is None:
            return as_mypy_does(ctx)
        spec = DataclassTransformSpec(
            kw_only_default=cls.option("kw_only", False) is True,
            frozen_default=cls.frozen is True,
            field_specifiers=_specifiers(ctx.cls, cls),
        )
        if not self._transformed(ctx, spec, cls):
            return False
        self._protect(ctx.cls.info, cls, again=True)
        if cls.is_mapping is not False:
            _make_keyword_only(ctx.cls.info)
        self.methods.add(ctx.api, ctx.cls.info, cls)
        return True

    def _transformed(self, ctx: ClassDefContext, spec: DataclassTransformSpec, cls: PytreeClass) -> bool:
        """Generate the methods; a base that only mypy cannot see is no reason to let the constructor take anything."""
        info = ctx.cls.info
        with all_bases_seen(info, cls.bases_known and cls.fields_known):
            return DataclassTransformer(ctx.cls, ctx.reason, spec, ctx.api).transform()

    def _made_here(self, ctx: ClassDefContext) -> PytreeClass | None:
        """jaxlint's class, if a decorator of a framework makes a dataclass of it."""
        cls = self.front.class_of(ctx.cls.info)
        if cls is None or not cls.is_pytree or not cls.is_dataclass:
            return None
        is_made = cls.framework.makes_dataclass and cls.framework.decorators
        return cls if is_made or (not cls.framework.makes_dataclass and not _has_plain_decorator(ctx.cls)) else None

    def _is_made_later(self, ctx: ClassDefContext) -> bool:
        """Whether mypy comes to `transform` with the class, as it sees the decorator of a framework."""
        known = (BY_DECORATOR.get(self.front.canonical(name)) for name in _decorators(ctx.cls))
        is_seen = any(one is not None and one.is_pytree and one.makes_dataclass for one in known)
        return is_seen and self._made_here(ctx) is not None

    def complete(self, ctx: ClassDefContext) -> None:
        """A class that inherits from a pytree class: the methods that this gives it, and what may not be written to."""
        info = ctx.cls.info
        cls = self.front.class_of(info)
        if cls is not None and cls.is_pytree:
            if cls.framework.abstract_fields:
                hide_abstract(ctx.cls, cls)
            if cls.framework.keeps_inherited_init:
                _keep_constructor(ctx, cls)
            if not self._is_made_later(ctx):
                self.methods.add(ctx.api, info, cls)
            self._protect(info, cls)

    def _protect(self, info: TypeInfo, cls: PytreeClass, *, again: bool = False) -> None:
        """Make fields read-only for protocols. jaxlint reports writes, as it knows where they are allowed.

        mypy reports writes to a property that has no setter, and takes no property of this kind for a settable
        attribute. What mypy has made read-only by itself stays so, unless it did that just now, at our word (`again`).
        """
        written: frozenset[str] | None = None
        for name, symbol in info.names.items():
            node = symbol.node
            if not isinstance(node, Var) or node.is_final or node.is_classvar:
                continue
            is_frozen = cls.frozen is True and cls.frozen_names is None and cls.field(name) is not None
            if again if node.is_property else is_frozen:
                if written is None:
                    written = _written(self.front.tree(info.module_name))
                node.is_property = node.is_settable_property = name in written

    def transform_seen(self, ctx: ClassDefContext) -> bool:
        """A class that a decorator of the user's makes a dataclass, in words that mypy understands.

        What inherits from a frozen dataclass can only be frozen, where nothing else is known of the decorator.
        """
        cls, spec = self.front.class_of(ctx.cls.info), find_dataclass_transform_spec(ctx.reason)
        if cls is not None and spec is not None and cls.unknown_decorator and cls.frozen is True:
            spec = DataclassTransformSpec(
                eq_default=spec.eq_default,
                order_default=spec.order_default,
                kw_only_default=spec.kw_only_default,
                field_specifiers=spec.field_specifiers,
                frozen_default=True,
            )
            return DataclassTransformer(ctx.cls, ctx.reason, spec, ctx.api).transform()
        if not as_mypy_does(ctx):
            return False
        if cls is not None and cls.is_pytree and cls.is_dataclass:
            self.methods.add(ctx.api, ctx.cls.info, cls)
        return True

    def transform_plain(self, ctx: ClassDefContext) -> bool:
        """A class that mypy takes for a plain dataclass, and that may be one of a framework."""
        info = ctx.cls.info
        cls = self.front.class_of(info) if has_unseen_base(info) else None
        if cls is None or not cls.is_pytree or not cls.is_dataclass:
            done = dataclass_class_maker_callback(ctx)
        else:
            done = self._transformed(ctx, DataclassTransformSpec(field_specifiers=_specifiers(ctx.cls, cls)), cls)
        if done:
            self._complete_plain(ctx)
        return done

    def _complete_plain(self, ctx: ClassDefContext) -> None:
        self.complete(ctx)
        cls = self.front.class_of(ctx.cls.info)
        if cls is not None and cls.is_pytree and cls.is_mapping is not False:
            _make_keyword_only(ctx.cls.info)


def as_mypy_does(ctx: ClassDefContext) -> bool:
    """The generated methods as far as mypy knows them; none if it does not see a dataclass."""
    try:
        return dataclass_class_maker_callback(ctx)
    except Exception:  # it sees no dataclass, or will not go on with what was begun here
        return True


def _specifiers(definition: ClassDef, cls: PytreeClass) -> tuple[str, ...]:
    """The names by which mypy knows the functions that declare fields; of packages without types those of imports."""
    calls = {field.name for field in cls.fields if field.call is not None}
    found: list[str] = []
    for statement in definition.defs.body:
        if not isinstance(statement, AssignmentStmt) or not isinstance(statement.rvalue, CallExpr):
            continue
        target, called = statement.lvalues[0], statement.rvalue.callee
        if isinstance(target, NameExpr) and target.name in calls and isinstance(called, RefExpr) and called.fullname:
            found.append(called.fullname)
    return (*_FIELD_SPECIFIERS, *found)


def _keep_constructor(ctx: ClassDefContext, cls: PytreeClass) -> None:
    """An `__init__` that is written, or inherited, is what equinox calls, so that fields may stand in any order.

    mypy reads these options in the class statement, and would make a constructor of the fields of each subclass.
    """
    if cls.custom_init() is None:
        return
    for name, value in (("init", "False"), ("kw_only", "True"), ("match_args", "False")):
        option = NameExpr(value)
        option.fullname = f"builtins.{value}"
        ctx.cls.keywords[name] = option
    text = ctx.api.named_type("builtins.str")
    taken = [LiteralType(f.name, text) for f in cls.fields if f.init and not f.kw_only]
    if cls.fields_known and "__match_args__" not in ctx.cls.info.names:
        matched = TupleType([*taken], ctx.api.named_type("builtins.tuple"))
        add_attribute_to_class(ctx.api, ctx.cls, "__match_args__", matched)


def _is_protocol(definition: ClassDef) -> bool:
    """Whether a class is a protocol, which mypy does not say of it before its bases are read."""
    written = (*definition.base_type_exprs, *definition.removed_base_type_exprs)
    bases = (e.base if isinstance(e, IndexExpr) else e for e in written)
    return any(isinstance(base, RefExpr) and _says_protocol(base) for base in bases)


def _says_protocol(base: RefExpr) -> bool:
    """Whether a base is `Protocol`, which has no full name before mypy comes to the class."""
    return base.fullname in PROTOCOL_NAMES or (isinstance(base, (NameExpr, MemberExpr)) and base.name == "Protocol")


def _has_plain_decorator(definition: ClassDef) -> bool:
    """Whether it is the decorator of the standard library that makes a dataclass of a class, as mypy knows."""
    return "dataclasses.dataclass" in _decorators(definition)


def _decorators(definition: ClassDef) -> list[str]:
    """The names of the decorators of a class, as mypy knows them."""
    named = (one.callee if isinstance(one, CallExpr) else one for one in definition.decorators)
    return [one.fullname for one in named if isinstance(one, RefExpr)]


def _written(tree: MypyFile | None) -> frozenset[str]:
    """The attributes of the protocols of a module to which something is assigned there.

    That a protocol declares an attribute, and no property, is rarely meant to say that it is written to.
    """
    protocols = [] if tree is None else [one for one in tree.defs if isinstance(one, ClassDef) and _is_protocol(one)]
    attributes = (one for protocol in protocols for one in protocol.defs.body if isinstance(one, AssignmentStmt))
    names = {target.name for one in attributes for target in one.lvalues if isinstance(target, NameExpr)}
    if tree is None or not names:
        return frozenset()
    text = text_around(tree)
    return frozenset(names if "setattr(" in text else names.intersection(_WRITTEN.findall(text)))


def _make_keyword_only(info: TypeInfo) -> None:
    """chex's constructor takes no positional arguments."""
    symbol = info.names.get("__init__")
    if symbol is None or not symbol.plugin_generated or not isinstance(symbol.node, FuncDef):
        return
    method = symbol.node
    kinds = {nodes.ARG_POS: nodes.ARG_NAMED, nodes.ARG_OPT: nodes.ARG_NAMED_OPT}
    changed = [method.arg_kinds[0], *(kinds.get(kind, kind) for kind in method.arg_kinds[1:])]
    method.arg_kinds = changed
    for argument, kind in zip(method.arguments, changed, strict=True):
        argument.kind = kind
    if isinstance(method.type, CallableType):
        method.type.arg_kinds = changed
