"""`x: AbstractVar[T]` of equinox: no field of the class that says so, but of the subclasses that have instances.

So `replace` and the constructor of a class that leaves it open take it: what they are asked of is a subclass.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from mypy import nodes
from mypy.checker import TypeChecker
from mypy.nodes import AssignmentStmt, CallExpr, ClassDef, NameExpr, TypeInfo, Var
from mypy.plugin import FunctionSigContext
from mypy.plugins.dataclasses import replace_function_sig_callback
from mypy.types import (
    CallableType,
    FunctionLike,
    Instance,
    Type,
    TypedDictType,
    TypeVarType,
    UnboundType,
    UnionType,
    get_proper_type,
)

from jaxlint.pytrees.model import PytreeClass
from jaxlint_mypy.arrays_given import taking_arrays
from jaxlint_mypy.codes import STRICT_REPLACE
from jaxlint_mypy.fields import taken_by_converters
from jaxlint_mypy.front import FrontEnd
from jaxlint_mypy.internals import attributes_asked_for, keywords_of_replace, type_again
from jaxlint_mypy.parameters import ANY, Parameters, field_type, with_keyword


def hide_abstract(definition: ClassDef, cls: PytreeClass) -> None:
    """`x: eqx.AbstractVar[T]` declares no field: mypy would make it a parameter, ahead of those of the subclass."""
    declared = {member.name for member in cls.members}
    constructed = _set_by_constructor(cls)
    for statement in definition.defs.body:
        target = statement.lvalues[0] if isinstance(statement, AssignmentStmt) else None
        variable = target.node if isinstance(target, NameExpr) else None
        if not isinstance(statement, AssignmentStmt) or not isinstance(variable, Var) or statement.type is None:
            continue
        if not (cls.fields_known or variable.is_classvar):  # a metaclass of the user's may do otherwise
            continue
        if _says_abstract(statement) and variable.name not in declared:
            variable.is_classvar = False  # `if TYPE_CHECKING: from typing import ClassVar as AbstractVar`
            statement.new_syntax = False  # what has none is no field to mypy's dataclasses
            # it may be overridden by a property, and must be overridden by something
            variable.is_property = variable.is_abstract_var = True
            variable.is_settable_property = variable.name in constructed
        elif variable.is_classvar and _inherits_abstract(definition.info, variable.name):
            variable.is_classvar = False  # mypy lets no class variable override what is none
            statement.new_syntax = False


def _set_by_constructor(cls: PytreeClass) -> set[str]:
    """The attributes that `__init__` or `__post_init__` of a class sets."""
    methods, functions = cls.symbol.declaration.methods, cls.module.outline.functions
    found = [functions[name] for method in cls.framework.assignable_in for name in methods.get(method, ())]
    return {assignment.attr for function in found for assignment in function.self_assignments}


def _says_abstract(statement: AssignmentStmt) -> bool:
    """Whether an annotation is called like equinox's."""
    written = statement.unanalyzed_type
    return isinstance(written, UnboundType) and written.name.rpartition(".")[2] == "AbstractVar"


def _inherits_abstract(info: TypeInfo, name: str) -> bool:
    """Whether a class inherits an `AbstractVar` of that name."""
    inherited = [base.names[name].node for base in info.mro[1:] if name in base.names and not base.is_protocol]
    return any(isinstance(node, Var) and node.is_abstract_var for node in inherited)


def left_open(info: TypeInfo) -> list[str]:
    """The names that are an `AbstractVar` of a class, which a subclass is to override."""
    found: dict[str, bool] = {}
    for base in info.mro:
        for name, symbol in base.names.items():
            node = symbol.node
            is_abstract = isinstance(node, Var) and node.is_abstract_var and node.is_property and not base.is_protocol
            found.setdefault(name, is_abstract)
    return [name for name, is_abstract in found.items() if is_abstract]


def with_open(parameters: Parameters, receiver: Instance) -> Parameters:
    """The parameters of a constructor, and what the subclass that is made takes besides."""
    names = left_open(receiver.type)
    if not names:
        return parameters
    by_position = [one for one in parameters if one[1].is_positional()]
    by_name = [one for one in parameters if not one[1].is_positional()]
    added: Parameters = [(name, nodes.ARG_NAMED_OPT, field_type(receiver, name)) for name in names]
    return [*by_position, ("others", nodes.ARG_STAR, ANY), *by_name, *added]


def of_replace(front: FrontEnd, ctx: FunctionSigContext) -> FunctionLike:
    """`dataclasses.replace(x, ...)`: mypy's signature, with what the class of `x` leaves open or `x` is asked for.

    What is given goes through the constructor, and so through its converters: they say what a field may be given.
    The keys of `**changes` are not known, so that what they hold is not compared with each of the fields.
    """
    signature = replace_function_sig_callback(ctx)
    receivers = list(_receivers(signature.arg_types[0])) if signature.arg_types else []
    if len(receivers) == 1:
        for name, typ in taken_by_converters(receivers[0]).items():
            if name in signature.arg_names:
                signature = with_keyword(signature, name, typ)
    taken = [_taken(receiver) for receiver in receivers]
    names = dict.fromkeys(name for one in receivers for name in (*left_open(one.type), *attributes_asked_for(one)))
    for name in names:
        if all(name in one for one in taken):
            signature = with_keyword(signature, name, taken[0][name] if len(taken) == 1 else ANY)
    call = ctx.context
    if not isinstance(call, CallExpr) or not receivers or not all(front.is_pytree(one.type) for one in receivers):
        return signature
    given = dict(zip(call.arg_names, call.args, strict=True))
    if _has_unknown_keys(front, ctx, call):
        signature = _comparing(signature, given.keys())
    cls = front.class_of(receivers[0].type) if len(receivers) == 1 else None
    if cls is None:
        return signature
    values = [[given[name]] if name in given else [] for name in signature.arg_names]
    return taking_arrays(cls, signature, values, ctx.api)


def _has_unknown_keys(front: FrontEnd, ctx: FunctionSigContext, call: CallExpr) -> bool:
    """Whether a call unpacks something of unknown contents."""
    splatted = [arg for arg, kind in zip(call.args, call.arg_kinds, strict=True) if kind == nodes.ARG_STAR2]
    if not splatted or STRICT_REPLACE in front.options.enabled_error_codes or not isinstance(ctx.api, TypeChecker):
        return False
    return not any(isinstance(get_proper_type(type_again(ctx.api, one)), TypedDictType) for one in splatted)


def _comparing(signature: CallableType, names: Set[str | None]) -> CallableType:
    """A signature that compares only what is given to the first parameter and to those with some names."""
    known = zip(signature.arg_names[1:], signature.arg_types[1:], strict=True)
    compared = [typ if name in names else ANY for name, typ in known]
    return signature.copy_modified(arg_types=[*signature.arg_types[:1], *compared])


def of_copy(front: FrontEnd, ctx: FunctionSigContext) -> FunctionLike:
    """`copy.replace(x, ...)`: as `dataclasses.replace`, which gives back the `Self` or type variable that `x` is."""
    checker = ctx.api
    if not isinstance(checker, TypeChecker) or not ctx.args or len(ctx.args[0]) != 1:
        return ctx.default_signature
    receivers = list(_receivers(type_again(checker, ctx.args[0][0])))
    if not receivers or not all(_is_copied_as_pytree(front, receiver.type) for receiver in receivers):
        return ctx.default_signature
    return of_replace(front, ctx._replace(args=[ctx.args[0], []]))


def _is_copied_as_pytree(front: FrontEnd, info: TypeInfo) -> bool:
    symbol = info.get("__replace__")
    return symbol is not None and symbol.plugin_generated and front.is_pytree(info)


def _receivers(typ: Type) -> Iterator[Instance]:
    """The instances that something may be; what else it may be is unknown."""
    proper = get_proper_type(typ)
    if isinstance(proper, TypeVarType):
        yield from _receivers(proper.upper_bound)
    elif isinstance(proper, UnionType):
        for item in proper.items:
            yield from _receivers(item)
    elif isinstance(proper, Instance):
        yield proper


def _taken(receiver: Instance) -> dict[str, Type]:
    """What `replace` of an instance of a class or of its subclasses takes."""
    names = [*keywords_of_replace(receiver.type), *left_open(receiver.type), *attributes_asked_for(receiver)]
    return {name: field_type(receiver, name) for name in names}
