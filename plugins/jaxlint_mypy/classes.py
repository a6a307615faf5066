"""What mypy must be told of classes: generated constructors that it does not see, and the method `replace`."""

from __future__ import annotations

from mypy import nodes
from mypy.nodes import (
    MDEF,
    Argument,
    ClassDef,
    DataclassTransformSpec,
    FuncDef,
    IndexExpr,
    RefExpr,
    SymbolTableNode,
    TypeInfo,
    TypeVarExpr,
    Var,
)
from mypy.plugin import ClassDefContext
from mypy.plugins.common import add_method_to_class
from mypy.plugins.dataclasses import DataclassTransformer, add_dataclass_tag
from mypy.types import PROTOCOL_NAMES, AnyType, CallableType, LiteralType, TypeOfAny, TypeVarId, TypeVarType
from mypy.typevars import fill_typevars_with_any

from jaxlint.pytrees.frameworks import CHEX, FIELD_FUNCTIONS
from jaxlint.pytrees.model import PytreeClass
from jaxlint_mypy.chex import add_chex_methods
from jaxlint_mypy.front import SIGNATURE, FrontEnd

#: The functions that declare fields, by all names that mypy may know them by.
_FIELD_SPECIFIERS = ("dataclasses.field", "dataclasses.Field", *sorted(FIELD_FUNCTIONS))
_SELF = "_JaxlintSelf"


class ClassTeller:
    """Completes mypy's picture of pytree classes."""

    def __init__(self, front: FrontEnd) -> None:
        self.front = front

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
        if self._made_here(ctx) is not None:
            add_dataclass_tag(ctx.cls.info)

    def transform(self, ctx: ClassDefContext) -> bool:
        """After the main pass: the generated methods."""
        cls = self._made_here(ctx)
        if cls is None:
            return True
        spec = DataclassTransformSpec(
            kw_only_default=cls.option("kw_only", False) is True,
            frozen_default=cls.frozen is True,
            field_specifiers=_FIELD_SPECIFIERS,
        )
        if not self._transformed(ctx, spec, cls):
            return False
        _unfreeze(ctx.cls.info)
        if cls.framework is CHEX:
            add_chex_methods(ctx, cls)
            if cls.option("mappable_dataclass", True) is not False:
                _make_keyword_only(ctx.cls.info)
        self.add_replace(ctx)
        return True

    def _transformed(self, ctx: ClassDefContext, spec: DataclassTransformSpec, cls: PytreeClass) -> bool:
        """Generate the methods; a base that only mypy cannot see is no reason to let the constructor take anything."""
        info = ctx.cls.info
        unseen = info.fallback_to_any
        info.fallback_to_any = unseen and not (cls.bases_known and cls.fields_known)
        try:
            return DataclassTransformer(ctx.cls, ctx.reason, spec, ctx.api).transform()
        finally:
            info.fallback_to_any = unseen

    def _made_here(self, ctx: ClassDefContext) -> PytreeClass | None:
        """jaxlint's class, if a decorator of a framework makes a dataclass of it."""
        cls = self.front.class_of(ctx.cls.info)
        if cls is None or not cls.is_pytree or not cls.framework.makes_dataclass or not cls.framework.decorators:
            return None
        return cls if cls.is_dataclass else None

    def add_replace(self, ctx: ClassDefContext) -> None:
        """A method `replace` that takes any keyword; `Signatures` says more at each call."""
        info = ctx.cls.info
        cls = self.front.class_of(info)
        name = cls.framework.replace_method if cls is not None else None
        if cls is None or name is None or not cls.has_framework_replace:
            return
        own = info.names.get(name)
        if own is not None and not own.plugin_generated and not cls.framework.replace_overwrites:
            return
        any_type = AnyType(TypeOfAny.explicit)
        self_type = TypeVarType(
            _SELF,
            f"{info.fullname}.{_SELF}",
            id=TypeVarId(-1, namespace=f"{info.fullname}.{name}"),
            values=[],
            upper_bound=fill_typevars_with_any(info),
            default=AnyType(TypeOfAny.from_omitted_generics),
        )
        info.names[_SELF] = SymbolTableNode(
            MDEF,
            TypeVarExpr(
                _SELF,
                f"{info.fullname}.{_SELF}",
                [],
                fill_typevars_with_any(info),
                AnyType(TypeOfAny.from_omitted_generics),
            ),
            plugin_generated=True,
        )
        changes = Argument(Var("changes", any_type), any_type, None, nodes.ARG_STAR2)
        add_method_to_class(
            ctx.api, ctx.cls, name, args=[changes], return_type=self_type, self_type=self_type, tvar_def=self_type
        )
        symbol = info.names.get(name)
        if symbol is not None and isinstance(symbol.node, FuncDef) and isinstance(symbol.node.type, CallableType):
            symbol.node.type.definition = symbol.node


def _is_protocol(definition: ClassDef) -> bool:
    """Whether a class is a protocol, which mypy does not say of it before its bases are read."""
    bases = (e.base if isinstance(e, IndexExpr) else e for e in definition.removed_base_type_exprs)
    return any(isinstance(base, RefExpr) and base.fullname in PROTOCOL_NAMES for base in bases)


def _unfreeze(info: TypeInfo) -> None:
    """Take back that fields are read-only properties: jaxlint reports writes, and knows where they are allowed."""
    for symbol in info.names.values():
        if isinstance(symbol.node, Var) and symbol.node.is_property:
            symbol.node.is_property = False


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
