"""The fields that one class body declares, before inheritance."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from jaxlint.project.modules import OPAQUE_PACKAGES, Module
from jaxlint.project.resolution import UNKNOWN, ClassSymbol, External, FunctionSymbol, Resolver, ValueSymbol
from jaxlint.pytrees.callee import Callee, CalleeFinder
from jaxlint.pytrees.framework import FieldFunction
from jaxlint.pytrees.frameworks import BY_BASE
from jaxlint.pytrees.interpreter import Interpreter
from jaxlint.pytrees.model import FieldCall, Kind, Placed, truth
from jaxlint.pytrees.project_decorators import declared_by
from jaxlint.symbols.outline import FieldDeclaration
from jaxlint.syntax.ast_expressions import parse_annotation
from jaxlint.syntax.expressions import Attribute, Call, Constant, DictDisplay, Expr, Name, Subscript, last_name, root

_KINDS = {"typing.ClassVar": Kind.CLASS_VAR, "dataclasses.InitVar": Kind.INIT_VAR}
#: The markers of the standard library by the last part of their names: whatever hands them on, they are the same.
_MARKERS = {name.rpartition(".")[2]: name for name in (*_KINDS, "dataclasses.KW_ONLY")}
#: Bases outside of the project, but for those of frameworks, that make no field of a class.
_NO_FIELDS = frozenset({"builtins.object", "typing.Generic", "typing.Protocol", "abc.ABC"})
_MAX_DEPTH = 4
#: Metadata of which nothing is known.
_ANY_METADATA: dict[str, bool | None] = {"static": None, "pytree_node": None, "node": None}


class DeclaredField(msgspec.Struct, frozen=True):
    """One field as a class body declares it; metadata values are three-state."""

    declaration: FieldDeclaration
    metadata: dict[str, bool | None]
    default: Placed | None
    factory: Placed | None
    init: bool
    kw_only: bool
    call: FieldCall | None
    #: Whether the field's value is a call that cannot be seen through.
    opaque: bool
    kind: Kind = Kind.FIELD


class Body(msgspec.Struct, frozen=True):
    """What the annotated names of a class body declare, in order."""

    members: tuple[DeclaredField, ...]


class BodyReader:
    """Reads class bodies as the dataclass machinery does (CPython 3.10 to 3.13)."""

    def __init__(
        self, resolver: Resolver, callees: CalleeFinder, functions: Mapping[str, FieldFunction], run: Interpreter
    ) -> None:
        self.functions = functions
        #: The packages whose field functions are known.
        self._described = OPAQUE_PACKAGES | {name.partition(".")[0] for name in functions}
        #: By package, the annotations that it hides from the dataclass machinery.
        self._abstract = {
            base.partition(".")[0]: framework.abstract_fields
            for base, framework in BY_BASE.items()
            if framework.abstract_fields
        }
        self.run = run
        self.resolver = resolver
        self.callees = callees

    def read(self, symbol: ClassSymbol, kw_only: bool) -> Body:
        """The fields of the class's own annotations, in order."""
        module = symbol.module
        scope = symbol.declaration.qualname
        members: dict[str, DeclaredField] = {}
        for declaration in symbol.declaration.fields:
            head = self._head(declaration.annotation, module, scope)
            if head is not None and head.rpartition(".")[2] in self._abstract.get(head.partition(".")[0], ()):
                continue
            if head == "dataclasses.KW_ONLY":
                kw_only = True
                continue
            member = self.read_field(declaration, module, scope, kw_only)
            members[declaration.name] = replace(member, kind=_KINDS.get(head or "", Kind.FIELD))
        return Body(tuple(members.values()))

    def marks(self, symbol: ClassSymbol, key: str) -> dict[str, bool | None]:
        """The metadata `key` that field functions leave on names of a class body, annotated or not."""
        declaration = symbol.declaration
        values = [(a.name, a.value) for a in declaration.assignments] + [(f.name, f.value) for f in declaration.fields]
        found: dict[str, bool | None] = {}
        for name, value in values:
            callee = self._declaring(value, symbol.module, declaration.qualname) if isinstance(value, Call) else None
            if callee is not None and callee.name in self.functions:
                metadata = self.metadata(callee)
                if key in metadata:
                    found[name] = metadata[key]
        return found

    def _head(self, annotation: Expr, module: Module, scope: str) -> str | None:
        """The canonical name of `X` in an annotation `X` or `X[...]`, quoted or not."""
        is_text = module.outline.future_annotations
        if isinstance(annotation, Constant) and annotation.kind == "str":
            is_text = True
            if module.outline.future_annotations:
                return None  # a quoted annotation is quoted twice then, and the dataclass machinery looks once
            parsed = parse_annotation(annotation.value, annotation.at)
            if parsed is None:
                return None
            annotation = parsed
        if isinstance(annotation, Subscript):
            annotation = annotation.value
        if not isinstance(annotation, (Name, Attribute)):
            return None
        symbol = self.resolver.resolve(annotation, module, scope)
        if isinstance(symbol, (ClassSymbol, ValueSymbol)):  # of an installed package whose source is read
            return f"{symbol.module.name}.{last_name(annotation)}"
        name = symbol.name if isinstance(symbol, External) else last_name(annotation) if symbol == UNKNOWN else None
        if is_text and (name or "").rpartition(".")[2] in _MARKERS and _is_for_type_checkers(annotation, module):
            return None  # the dataclass machinery looks the name up when the class is made
        return _MARKERS.get((name or "").rpartition(".")[2], name)

    def read_field(self, declaration: FieldDeclaration, module: Module, scope: str, kw_only: bool) -> DeclaredField:
        """One annotated name, with what its value says if that is a call of a field function."""
        value = declaration.value
        callee = self._declaring(value, module, scope) if isinstance(value, Call) else None
        if callee is None or callee.name not in self.functions:
            placed = Placed(value, module, scope) if value is not None else None
            opaque = isinstance(value, Call) and (
                not self._makes_instance(value, module, scope) if callee is None else self._is_out_of_sight(callee.name)
            )
            return DeclaredField(declaration, {}, placed, None, True, kw_only, None, opaque)
        return DeclaredField(
            declaration,
            self.metadata(callee),
            self._given(callee, "default"),
            self._given(callee, "default_factory") or self._given(callee, "factory"),
            truth(callee.keyword("init"), True) is not False,
            truth(callee.keyword("kw_only"), kw_only) is True,
            FieldCall(callee.name, callee.positional, frozenset(name for name, _ in callee.keywords)),
            not callee.complete,
        )

    def _makes_instance(self, call: Call, module: Module, scope: str) -> bool:
        """Whether a call certainly makes an instance of a class of the project, and so declares no field."""
        symbol = self.resolver.resolve(call.func, module, scope)
        return isinstance(symbol, ClassSymbol) and self._is_ordinary(symbol, 0)

    def _is_ordinary(self, symbol: ClassSymbol, depth: int) -> bool:
        """Whether a class makes instances of itself that are no fields, as its bases do."""
        declaration = symbol.declaration
        if "__new__" in declaration.methods or depth == _MAX_DEPTH:
            return False
        for base in declaration.bases:
            head = base.value.value if isinstance(base.value, Subscript) else base.value
            found = self.resolver.base(head, declaration, symbol.module)
            is_known = isinstance(found, External) and (found.name in BY_BASE or found.name in _NO_FIELDS)
            if not is_known and not (isinstance(found, ClassSymbol) and self._is_ordinary(found, depth + 1)):
                return False
        return True

    def _is_out_of_sight(self, name: str) -> bool:
        """Whether a function is of a module that is not there to be read: it may be one that declares fields."""
        package = name.partition(".")[0]
        return package not in self._described and package not in sys.stdlib_module_names

    def _declaring(self, call: Call, module: Module, scope: str) -> Callee | None:
        """What a call calls in the end: a helper of the project that does more than to pass on what it gets is run."""
        callee = self.callees.of_call(call, module, scope)
        helper = self.resolver.resolve(call.func, module, scope)
        does_more = isinstance(helper, FunctionSymbol) and helper.declaration.acts
        if callee is not None and callee.name in self.functions and callee.complete and not does_more:
            metadata = callee.keyword("metadata")
            if metadata is None or _is_literal(metadata.expr):
                return callee
        if not isinstance(helper, FunctionSymbol):
            return callee
        return declared_by(self.run, call, module, scope) or callee

    def _given(self, callee: Callee, name: str) -> Placed | None:
        """The argument `name`, unless it is `dataclasses.MISSING`."""
        value = callee.keyword(name)
        for parameter, given in zip(self.functions[callee.name].positional, callee.positional, strict=False):
            value = given if parameter == name else value
        if value is None or not isinstance(value.expr, (Name, Attribute)):
            return value
        symbol = self.resolver.resolve(value.expr, value.module, value.scope)
        return None if isinstance(symbol, External) and symbol.name == "dataclasses.MISSING" else value

    def metadata(self, callee: Callee) -> dict[str, bool | None]:
        """The truth values in the metadata that a field function leaves; None where it is no literal."""
        spec = self.functions[callee.name]
        user = self._user_metadata(callee.keyword("metadata"))
        own: dict[str, bool | None] = {**spec.usual, **spec.fixed}
        for parameter, value in zip(spec.positional, callee.positional, strict=False):
            if parameter in spec.keywords:
                own[spec.keywords[parameter]] = truth(value, None)
        for parameter, key in spec.keywords.items():
            given = callee.keyword(parameter)
            if given is not None and not (spec.drops_false and truth(given, None) is False):
                own[key] = truth(given, None)
        return {**own, **user} if spec.user_wins else {**user, **own}

    def _user_metadata(self, metadata: Placed | None) -> dict[str, bool | None]:
        if metadata is None:
            return {}
        expr = metadata.expr
        if isinstance(expr, DictDisplay):
            keys = [key.value if isinstance(key, Constant) else None for key in expr.keys]
            return self._entries(list(zip(keys, expr.values, strict=True)), metadata)
        if isinstance(expr, Call) and isinstance(expr.func, Name) and expr.func.id == "dict":
            return self._entries([(arg.keyword, arg.value) for arg in expr.args], metadata)
        if isinstance(expr, (Name, Attribute)):
            symbol = self.resolver.resolve(expr, metadata.module, metadata.scope)
            assignment = getattr(symbol, "assignment", None)
            if assignment is not None and assignment.value is not None:
                return self._user_metadata(Placed(assignment.value, symbol.module, ""))  # type: ignore[union-attr]
        return dict(_ANY_METADATA)

    def _entries(self, entries: list[tuple[object, Expr]], place: Placed) -> dict[str, bool | None]:
        """The entries of a dict; an entry whose key cannot be determined may be any."""
        found: dict[str, bool | None] = {}
        for key, value in entries:
            if key is None:
                found.update(_ANY_METADATA)
            elif isinstance(key, str):
                found[key] = truth(Placed(value, place.module, place.scope), None)
        return found


def _is_literal(expr: Expr) -> bool:
    """Whether an expression is None, or a dict of literals."""
    match expr:
        case DictDisplay(keys=keys, values=values):
            return None not in keys and all(isinstance(value, Constant) for value in values)
        case Call(func=Name(id="dict"), args=args):
            return all(a.keyword is not None and isinstance(a.value, Constant) for a in args)
    return isinstance(expr, Constant)


def _is_for_type_checkers(expr: Expr, module: Module) -> bool:
    """Whether the first part of a dotted name is bound below `if TYPE_CHECKING` only."""
    first = root(expr)
    bindings = module.outline.module_scope.bindings.get(first.id, ()) if isinstance(first, Name) else ()
    return bool(bindings) and all(binding.guard == "type_checking" for binding in bindings)
