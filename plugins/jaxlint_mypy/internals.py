"""What of mypy is used here without being a part of what mypy offers to plugins. All of it is in this file.

mypy promises nothing about plugins, and less about these. `tests/mypy/test_internals.py` names the versions that were
tried, and sees that no other module reaches for them.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TypeVar

from mypy.checker import TypeChecker
from mypy.errors import Errors
from mypy.fscache import FileSystemCache
from mypy.modulefinder import BuildSource
from mypy.nodes import (
    MISSING_FALLBACK,
    CallExpr,
    Context,
    Decorator,
    Expression,
    FuncDef,
    MemberExpr,
    MypyFile,
    NameExpr,
    SymbolNode,
    TypeInfo,
    Var,
)
from mypy.options import Options
from mypy.plugin import CheckerPluginInterface, SemanticAnalyzerPluginInterface
from mypy.server.trigger import make_trigger
from mypy.types import AnyType, CallableType, Instance, Type, TypeOfAny, get_proper_type

_T = TypeVar("_T")
#: The versions of mypy with which the tests of the plugin have passed.
TRIED = ("2.4.1",)


def class_statement(checker: object, call: Context) -> TypeInfo | None:
    """The class whose statement mypy's checker is looking at, by the call of `__init_subclass__` made of it."""
    if not isinstance(checker, TypeChecker):
        return None
    if not checker.tscope.functions:
        return checker.tscope.classes[-1] if checker.tscope.classes else None
    callee = call.callee if isinstance(call, CallExpr) else None  # the class of a function has no scope of its own
    written = callee.expr if isinstance(callee, MemberExpr) else None
    symbol = checker.tree.names.get(f"{written.name}@{call.line}") if isinstance(written, NameExpr) else None
    return symbol.node if symbol is not None and isinstance(symbol.node, TypeInfo) else None


def class_body(checker: TypeChecker) -> TypeInfo | None:
    """The class in whose body, outside of its methods, the checker is."""
    return checker.scope.active_class()


def functions_around(checker: TypeChecker) -> list[FuncDef]:
    """The functions around what is being checked, from the outermost to the innermost."""
    return [item for item in checker.scope.stack if isinstance(item, FuncDef)]


def take_for_typed(function: FuncDef) -> None:
    """Have mypy take a function without annotations, of a file that it has just parsed, for one that takes anything."""
    anything = AnyType(TypeOfAny.explicit)
    arguments = [anything] * len(function.arguments)
    nowhere = Instance(MISSING_FALLBACK, [], -1)  # as mypy's own parser has it
    typ = CallableType(
        arguments, function.arg_kinds, function.arg_names, anything, nowhere, function.name, definition=function
    )
    function.type, function.unanalyzed_type = typ, typ.copy_modified()


def keywords_of_replace(info: TypeInfo) -> list[str]:
    """The keywords that `dataclasses.replace` takes for a class, in mypy's eyes; none if it sees no dataclass."""
    method = info.get("__mypy-replace")
    signature = get_proper_type(method.type) if method is not None else None
    return [name for name in signature.arg_names if name] if isinstance(signature, CallableType) else []


def known_type(checker: TypeChecker, node: Expression) -> Type | None:
    """The type of an expression, if the checker has looked at it."""
    return checker.lookup_type_or_none(node)


def type_of(checker: TypeChecker, node: Expression) -> Type:
    """The type of an expression, whose errors are reported elsewhere."""
    known = known_type(checker, node)
    return type_again(checker, node) if known is None else known


def typed_expressions(checker: TypeChecker) -> list[Expression]:
    """The expressions of a file that has been checked."""
    return list(checker._type_maps[0])


@contextmanager
def looking_again(checker: TypeChecker, functions: Sequence[FuncDef]) -> Iterator[None]:
    """Go back into a file that has been checked, and into the functions around a place in it, to report something."""
    checker.errors.set_file(checker.path, checker.tree.fullname, checker.options, checker.tscope)
    with ExitStack() as stack:
        stack.enter_context(checker.tscope.module_scope(checker.tree.fullname))
        for function in functions:
            stack.enter_context(checker.tscope.function_scope(function))
            stack.enter_context(checker.scope.push_function(function))
        yield


def is_ignored(checker: TypeChecker) -> bool:
    """Whether mypy says nothing of what is reported in a file, as it is installed or imported only."""
    return checker.path in checker.errors.ignored_files


def type_again(checker: TypeChecker, node: Expression) -> Type:
    """The type of an expression that may not have been looked at."""
    with checker.msg.filter_errors():
        return checker.get_expression_type(node)


def attributes_asked_for(instance: Instance) -> list[str]:
    """What an instance has besides what its class says, as the code asks: by `hasattr`, or as one of two classes."""
    found = list(instance.extra_attrs.attrs) if instance.extra_attrs is not None else []
    if instance.type.is_intersection:
        for base in instance.type.mro:
            names = ((name, symbol) for name, symbol in base.names.items() if not symbol.plugin_generated)
            found += [name for name, symbol in names if _is_attribute(symbol.node)]
    return found


def _is_attribute(node: SymbolNode | None) -> bool:
    return isinstance(node, Var) or (isinstance(node, Decorator) and node.var.is_property)


def has_unseen_base(info: TypeInfo) -> bool:
    """Whether a class has a base that mypy cannot see, so that it may have any attribute."""
    return info.fallback_to_any


@contextmanager
def all_bases_seen(info: TypeInfo, seen: bool) -> Iterator[None]:
    """Have mypy go on as if it could see all bases of a class, if they are `seen` by others."""
    unseen = info.fallback_to_any
    info.fallback_to_any = unseen and not seen
    try:
        yield
    finally:
        info.fallback_to_any = unseen


def pass_for(info: TypeInfo, other: Instance) -> None:
    """Have instances of a class accepted where another is wanted, whose members they do not get."""
    if other not in info._promote:
        info._promote.append(other)


def inferred_attributes(checker: TypeChecker) -> Iterator[MemberExpr]:
    """The assignments in a checked file that introduce attributes; mypy asks no plugin about those."""
    for node in checker._type_maps[0]:
        if type(node) is MemberExpr and node.is_inferred_def:
            yield node


def spared_by_collector(loaded: _T) -> _T:
    """What was loaded just now is no garbage: Python need not look through it, as mypy says of what it has cached."""
    gc.freeze()
    gc.unfreeze()
    return loaded


def is_daemon(options: Options) -> bool:
    """Whether mypy may check parts of files again."""
    return options.fine_grained_incremental or options.cache_fine_grained


def depend(checker: TypeChecker, name: str) -> None:
    """In the daemon: have what is being checked looked at again when something of that name changes."""
    target = checker.tscope.current_target()
    checker.tree.plugin_deps.setdefault(make_trigger(name), set()).add(target)


def note(api: CheckerPluginInterface | SemanticAnalyzerPluginInterface, text: str, at: Context) -> bool:
    """Say something at a place, if it was not said before; whether mypy wants to hear it just now."""
    errors = getattr(api, "errors", None)
    if not isinstance(errors, Errors):
        return False
    before = errors.num_messages()
    errors.report(at.line, at.column, text, severity="note", only_once=True)
    return errors.num_messages() > before


def text_of(tree: MypyFile) -> str | None:
    """The text of what is no file on the disk, `mypy -c` and what was piped into mypy; None if it is one."""
    if os.path.isfile(tree.path):
        return None
    for stored in gc.get_objects():
        if isinstance(stored, BuildSource) and stored.text is not None and stored.module == tree.fullname:
            return stored.text
        if isinstance(stored, FileSystemCache) and tree.path in stored.read_cache:
            return stored.read_cache[tree.path].decode(errors="replace")
    return None


def classes_of(info: TypeInfo) -> list[TypeInfo]:
    """The classes on which the rules about a class depend: its bases, and what its fields hold."""
    found = list(info.mro)
    for symbol in info.names.values():
        held = get_proper_type(symbol.type) if symbol.type is not None else None
        if isinstance(held, Instance):
            found.append(held.type)
    return found


def class_within(tree: MypyFile, name: str, inner: list[str]) -> TypeInfo | None:
    """The class of a name in a module, or one within it; `inner` is the way to it from its end."""
    symbol = tree.names.get(name)
    found = symbol.node if symbol is not None else None
    for part in reversed(inner):
        symbol = found.names.get(part) if isinstance(found, TypeInfo) else None
        found = symbol.node if symbol is not None else None
    return found if isinstance(found, TypeInfo) else None


def text_around(tree: MypyFile) -> str:
    """The text of a module, roughly: for a glance at its words."""
    given = text_of(tree)
    if given is not None:
        return given
    try:
        with open(tree.path, "rb") as file:
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
