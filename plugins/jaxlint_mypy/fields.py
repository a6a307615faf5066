"""What declares a field: the keywords of `struct.field(...)` and kin, the type of its default, and its converter."""

from __future__ import annotations

from mypy import nodes
from mypy.checker import TypeChecker
from mypy.erasetype import erase_type
from mypy.expandtype import expand_type_by_instance
from mypy.maptype import map_instance_to_supertype
from mypy.nodes import AssignmentStmt, CallExpr, ClassDef, Expression, TypeInfo
from mypy.plugin import FunctionContext, FunctionSigContext, SemanticAnalyzerPluginInterface
from mypy.plugins.common import deserialize_and_fixup_type
from mypy.subtypes import is_subtype
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Instance,
    NoneType,
    Overloaded,
    ProperType,
    TupleType,
    Type,
    TypeVarLikeType,
    UninhabitedType,
    UnionType,
    UnpackType,
    get_proper_type,
    has_type_vars,
)

from jaxlint.pytrees.frameworks import FIELD_FUNCTIONS
from jaxlint_mypy.internals import class_body, type_of
from jaxlint_mypy.parameters import ANY, fits
from jaxlint_mypy.values import SCALARS

#: The last parts of the names of the functions that declare fields.
FIELD_NAMES = frozenset(name.rpartition(".")[2] for name in FIELD_FUNCTIONS)
#: The keywords of `dataclasses.field`; field functions of frameworks pass them on.
_PASSED_ON = ("default", "default_factory", "init", "repr", "hash", "compare", "metadata", "kw_only")
_METADATA = "jaxlint"
#: The classes of plain values.
_PLAIN = frozenset(f"builtins.{name}" for name in SCALARS)
_FIRST = (nodes.ARG_POS, nodes.ARG_OPT, nodes.ARG_STAR)


def with_keywords(ctx: FunctionSigContext) -> FunctionLike:
    """The signature of a function that passes its keywords on to `dataclasses.field`: with those that this takes."""
    signature = ctx.default_signature
    if nodes.ARG_STAR2 not in signature.arg_kinds:
        return signature
    known = [one for one in zip(signature.arg_names, signature.arg_kinds, signature.arg_types, strict=True)]
    taken = [one for one in known if one[1] != nodes.ARG_STAR2]
    names = _PASSED_ON if ctx.api.options.python_version < (3, 14) else (*_PASSED_ON, "doc")
    added = [name for name in names if name not in signature.arg_names]
    return signature.copy_modified(
        arg_names=[*(name for name, _, _ in taken), *added],
        arg_kinds=[*(kind for _, kind, _ in taken), *(nodes.ARG_NAMED_OPT for _ in added)],
        arg_types=[*(typ for _, _, typ in taken), *(ANY for _ in added)],
    )


def default_type(ctx: FunctionContext) -> Type:
    """The type of a field's default if it does not fit the field, for mypy to report; else what mypy makes of it."""
    call, checker = ctx.context, ctx.api
    if not isinstance(checker, TypeChecker) or not isinstance(call, CallExpr):
        return ctx.default_return_type
    declared = _declared(checker, call)
    if declared is None or has_type_vars(declared) or "converter" in call.arg_names:
        return ctx.default_return_type
    for name, node in zip(call.arg_names, call.args, strict=True):
        if name in ("default", "default_factory"):
            given = get_proper_type(type_of(checker, node))
            made: Type | None = given if name == "default" else _made(given)
            if made is not None and not _may_be(made, declared):
                return made
    return ctx.default_return_type


def _declared(checker: TypeChecker, call: CallExpr) -> Type | None:
    """The type of the field that a call in a class body declares."""
    info = class_body(checker)
    for statement in info.defn.defs.body if info is not None else ():
        if isinstance(statement, AssignmentStmt) and statement.rvalue is call:
            target = statement.lvalues[0]
            symbol = info.names.get(target.name) if info is not None and isinstance(target, nodes.NameExpr) else None
            return symbol.type if symbol is not None else None
    return None


def _is_plain(typ: ProperType) -> bool:
    return isinstance(typ, Instance) and typ.type.fullname in _PLAIN


def _sizes_differ(given: TupleType, wanted: TupleType) -> bool:
    """Whether two tuples have another number of items, which both of them tell."""
    unpacked = any(isinstance(item, UnpackType) for item in (*given.items, *wanted.items))
    return not unpacked and len(given.items) != len(wanted.items)


def _made(factory: Type) -> Type | None:
    """What a default factory makes, without the arguments of generics."""
    proper = get_proper_type(factory)
    if isinstance(proper, Overloaded):
        proper = proper.items[0]
    return erase_type(proper.ret_type) if isinstance(proper, CallableType) else None


def _may_be(given: Type, declared: Type) -> bool:
    """Whether a default may be one of a field of a type; `None` often stands for what is set later."""
    proper, wanted = get_proper_type(given), get_proper_type(declared)
    if isinstance(proper, (NoneType, AnyType, TypeVarLikeType, UninhabitedType)):
        return True
    if isinstance(proper, Instance) and proper.type.has_readable_member("__get__"):
        return True  # a descriptor: it stays on the class, and gives what it likes
    if isinstance(wanted, UnionType) and any(_may_be(given, item) for item in wanted.items):
        return True
    if isinstance(wanted, (AnyType, FunctionLike)):
        return True
    if _is_plain(proper) and _is_plain(wanted):
        return is_subtype(proper, wanted)  # a default is written down: it is no array that stands for a number
    if isinstance(proper, TupleType) and isinstance(wanted, TupleType) and _sizes_differ(proper, wanted):
        return False
    return is_subtype(proper, wanted) or is_subtype(erase_type(proper), erase_type(wanted)) or fits(wanted, proper)


# -- converters --------------------------------------------------------------------------------------


def note_converters(api: SemanticAnalyzerPluginInterface, definition: ClassDef) -> None:
    """Keep what the converters of the fields that a class declares take, in the metadata of the class."""
    found: dict[str, object] = {}
    module = definition.info.module_name
    for statement in definition.defs.body:
        target = statement.lvalues[0] if isinstance(statement, AssignmentStmt) else None
        if not isinstance(statement, AssignmentStmt) or not isinstance(target, nodes.NameExpr):
            continue
        call = statement.rvalue
        if isinstance(call, CallExpr) and "converter" in call.arg_names:
            converter = call.args[call.arg_names.index("converter")]
            taken = _taken(converter)
            if isinstance(converter, nodes.RefExpr) and converter.fullname.startswith(f"{module}."):
                taken = api.anal_type(taken) or ANY  # mypy looks at the functions of a module after its classes
            found[target.name] = taken.serialize()
    if found:
        definition.info.metadata.setdefault(_METADATA, {})["converted"] = found


def converted(api: SemanticAnalyzerPluginInterface, info: TypeInfo) -> dict[str, Type]:
    """What the constructor of a class takes for the fields that have converters."""
    found: dict[str, Type] = {}
    for base in reversed(info.mro):
        for name in base.names.keys() & found.keys():
            del found[name]
        for name, written in base.metadata.get(_METADATA, {}).get("converted", {}).items():
            found[name] = deserialize_and_fixup_type(written, api)
    return found


def taken_by_converters(receiver: Instance) -> dict[str, Type]:
    """What the constructor of an instance's class takes for the fields that have converters, when all is known."""
    names = {name for base in receiver.type.mro for name in base.metadata.get(_METADATA, {}).get("converted", {})}
    owner = receiver.type.get_containing_type_info("__init__") if names else None
    made = get_proper_type(owner.names["__init__"].type) if owner is not None else None
    if owner is None or not isinstance(made, CallableType):
        return {}
    at = map_instance_to_supertype(receiver, owner)
    given = zip(made.arg_names, made.arg_types, strict=True)
    return {name: expand_type_by_instance(typ, at) for name, typ in given if name is not None and name in names}


def _taken(converter: Expression) -> Type:
    """The type of what a function takes first; what depends on how it is called is Any."""
    node: nodes.Node | None = converter.node if isinstance(converter, nodes.RefExpr) else None
    skipped = 0
    if isinstance(node, TypeInfo) and node.module_name == "builtins":  # others may still be put together
        node, skipped = node.get_method("__new__"), 1
    if not isinstance(node, (nodes.FuncBase, nodes.Decorator, nodes.Var)) or node.type is None:
        return ANY
    proper: Type | None = get_proper_type(node.type)
    if isinstance(proper, Instance):  # an object that can be called, such as a function under `jax.jit`
        method = proper.type.get_method("__call__")
        proper = get_proper_type(method.type) if method is not None and method.type is not None else None
        skipped = 1
    if not isinstance(proper, FunctionLike):
        return ANY
    taken = [item.arg_types[skipped] for item in proper.items if item.arg_kinds[skipped : skipped + 1]]
    first = [item.arg_kinds[skipped] for item in proper.items if item.arg_kinds[skipped : skipped + 1]]
    if len(taken) < len(proper.items) or any(kind not in _FIRST for kind in first) or any(map(has_type_vars, taken)):
        return ANY
    return UnionType.make_union(taken)  # not simplified: classes may still be put together
