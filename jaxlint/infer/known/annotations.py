"""What an annotation says of a value."""

from __future__ import annotations

from jaxlint.infer.known.type_arguments import attributes_given, type_argument, type_parameter
from jaxlint.infer.known.values import (
    NONE,
    UNKNOWN,
    AnyFunction,
    Array,
    ClassObject,
    Container,
    Instance,
    Scalar,
    Symbolic,
    UnknownValue,
    Value,
    choice,
)
from jaxlint.libraries.arrays import ARRAY_TYPES, JAXTYPING_DTYPES, NUMBERS_TOO
from jaxlint.libraries.pallas import REFERENCES
from jaxlint.libraries.trees import FROZEN_DICT
from jaxlint.project.modules import Module
from jaxlint.project.resolution import External, Symbol, ValueSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.frameworks import FRAMEWORKS
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.syntax.ast_expressions import parse_annotation
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Constant,
    Display,
    Expr,
    Name,
    Span,
    Subscript,
    is_ellipsis,
)

_MAX_DEPTH = 12
_SCALARS = frozenset({"int", "float", "bool", "str", "bytes", "complex"})
_SEQUENCES = {
    "list": "list",
    "List": "list",
    "set": "set",
    "Set": "set",
    "frozenset": "frozenset",
    "FrozenSet": "frozenset",
    "Sequence": "sequence",
    "MutableSequence": "sequence",
    "Iterable": "sequence",
    "Iterator": "sequence",
    "Generator": "sequence",
    "Awaitable": "awaitable",
    "Coroutine": "awaitable",
    "AsyncIterator": "sequence",
    "Collection": "sequence",
    "deque": "list",
    "Deque": "list",
}
_MAPPINGS = {
    "dict": "dict",
    "Dict": "dict",
    "OrderedDict": "dict",
    "defaultdict": "dict",
    "DefaultDict": "dict",
    "Mapping": "mapping",
    "MutableMapping": "mapping",
}
_TRANSPARENT = {f.static_annotation for f in FRAMEWORKS if f.static_annotation} | {
    f"typing.{name}" for name in ("Annotated", "ClassVar", "Final", "Required")
}
_TYPING = ("typing.", "builtins.", "collections.abc.", "collections.")


class AnnotationReader:
    """Reads annotations as values, three-state."""

    def __init__(self, model: PytreeModel) -> None:
        self.model = model
        #: What the annotations of declarations promise, by where they stand.
        self._known: dict[tuple[str, str, Span, tuple[str, str] | None], Value] = {}
        #: Those that promise the same whatever class they are read for.
        self._of_all: dict[tuple[str, str, Span], Value] = {}
        #: Whether what is being read depends on the class.
        self._asks_owner = False

    def read(self, placed: Placed, self_class: PytreeClass | None = None) -> Value:
        """The value that the annotation promises; `self_class` is what `Self` stands for."""
        at = placed.expr.at
        if not isinstance(at, Span) or self.model.is_building:
            return self._read(placed.expr, placed.module, placed.scope, self_class, 0)
        place = (placed.module.path, placed.scope, at)
        if place in self._of_all:
            return self._of_all[place]
        key = (*place, None if self_class is None else self_class.symbol.key)
        if key not in self._known:
            asked, self._asks_owner = self._asks_owner, False
            self._known[key] = value = self._read(placed.expr, placed.module, placed.scope, self_class, 0)
            if not self._asks_owner:
                self._of_all[place] = value
            self._asks_owner |= asked
        return self._known[key]

    def _read(self, expr: Expr, module: Module, scope: str, owner: PytreeClass | None, depth: int) -> Value:
        if depth > _MAX_DEPTH:
            return UNKNOWN
        match expr:
            case Constant(kind="NoneType"):
                return NONE
            case Constant(kind="str", value=str(text)):
                parsed = parse_annotation(text, expr.at)
                return UNKNOWN if parsed is None else self._read(parsed, module, scope, owner, depth + 1)
            case Binary(op="|", left=left, right=right):
                return choice(
                    [
                        self._read(left, module, scope, owner, depth + 1),
                        self._read(right, module, scope, owner, depth + 1),
                    ]
                )
            case Subscript(value=head, index=index):
                items = index.items if isinstance(index, Display) and index.kind == "tuple" else (index,)
                symbol = self.model.resolver.resolve(head, module, scope)
                return self._generic(symbol, items, module, scope, owner, depth)
            case Name(id=name) if (variable := type_parameter(name, module, scope)) is not None:
                self._asks_owner = True
                given = None if owner is None else type_argument(variable, owner, self.model.resolver)
                return UNKNOWN if given is None else self._read(given.expr, given.module, given.scope, owner, depth + 1)
            case Name() | Attribute():
                return self._named(self.model.resolver.resolve(expr, module, scope), owner, depth)
        return UNKNOWN

    def _named(self, symbol: Symbol, owner: PytreeClass | None, depth: int) -> Value:
        cls = self.model.class_of_symbol(symbol)
        if cls is not None:
            return Instance(cls, declared=True)
        match symbol:
            case External(name=name):
                if name in ARRAY_TYPES:
                    array = Array(ARRAY_TYPES[name], declared=True)
                    return choice([array, Scalar("float")]) if name in NUMBERS_TOO else array
                if name in REFERENCES:
                    return Symbolic(symbol)
                if name == "typing.Self":
                    self._asks_owner = True
                    return Instance(owner, declared=True) if owner is not None else UNKNOWN
                prefix, _, last = name.rpartition(".")
                if prefix == "builtins" and last in _SCALARS:
                    return Scalar(last)
                if f"{prefix}." in _TYPING and last in _SEQUENCES:
                    return Container(_SEQUENCES[last], declared=True)
                if f"{prefix}." in _TYPING and last in _MAPPINGS:
                    return Container(_MAPPINGS[last], declared=True)
                if f"{prefix}." in _TYPING and last in ("tuple", "Tuple"):
                    return Container("tuple")
            case ValueSymbol(module=module, scope=scope, assignment=assignment) as variable:
                value = assignment.value
                if isinstance(value, Call):
                    self._asks_owner = True
                    given = None if owner is None else type_argument(variable.key, owner, self.model.resolver)
                    if given is not None:
                        return self._read(given.expr, given.module, given.scope, owner, depth + 1)
                    return self._made(value, module, scope, owner, depth)
                if value is not None:
                    return self._read(value, module, scope, owner, depth + 1)
        return UNKNOWN

    def _made(self, call: Call, module: Module, scope: str, owner: PytreeClass | None, depth: int) -> Value:
        """`TypeVar("T", bound=X)` and `NewType("N", X)` used as an annotation."""
        symbol = self.model.resolver.resolve(call.func, module, scope)
        if not isinstance(symbol, External):
            return UNKNOWN
        target = None
        if symbol.name == "typing.TypeVar":
            target = call.keyword("bound")
        elif symbol.name == "typing.NewType" and len(call.positional) == 2:
            target = call.positional[1]
        return UNKNOWN if target is None else self._read(target, module, scope, owner, depth + 1)

    def _generic(
        self, symbol: Symbol, items: tuple[Expr, ...], module: Module, scope: str, owner: PytreeClass | None, depth: int
    ) -> Value:
        def read(item: Expr) -> Value:
            return self._read(item, module, scope, owner, depth + 1)

        if isinstance(symbol, External) and items:
            name = symbol.name
            prefix, _, last = name.rpartition(".")
            if name == "typing.Optional":
                return choice([read(items[0]), NONE])
            if name == "typing.Union":
                return choice([read(i) for i in items])
            if name in _TRANSPARENT:
                return read(items[0])
            if prefix == "jaxtyping" and last in JAXTYPING_DTYPES:
                return _jaxtyping(read(items[0]), items[1] if len(items) > 1 else None)
            if f"{prefix}." in _TYPING:
                if last in ("tuple", "Tuple"):
                    if len(items) == 2 and is_ellipsis(items[1]):
                        return Container("tuple", None, read(items[0]))
                    return Container("tuple", tuple(read(i) for i in items))
                if last in _SEQUENCES:
                    element = read(items[-1 if last == "Coroutine" else 0])
                    return Container(_SEQUENCES[last], None, element, declared=True)
                if last in _MAPPINGS:
                    return Container(_MAPPINGS[last], None, read(items[-1]), declared=True)
                if last == "Callable" and len(items) == 2:
                    result = read(items[1])
                    return UNKNOWN if isinstance(result, UnknownValue) else AnyFunction(result)
                if last in ("type", "Type"):
                    inner = read(items[0])
                    return ClassObject(inner.cls, False) if isinstance(inner, Instance) else UNKNOWN
            if name == FROZEN_DICT:
                return Container("mapping", None, read(items[-1]))
        cls = self.model.class_of_symbol(symbol)
        if cls is None or cls.is_pytree:
            return self._named(symbol, owner, depth + 1)
        given = ((attr, read(item)) for attr, item in attributes_given(cls, items, self.model.resolver))
        held = tuple((attr, value) for attr, value in given if isinstance(value, Instance) and value.cls.is_pytree)
        return Instance(cls, declared=True, held=held)


def _jaxtyping(array: Value, shape: Expr | None) -> Value:
    """`Float[Array, ""]` holds one element; what has an axis with a name may hold several."""
    if not isinstance(array, Array) or not isinstance(shape, Constant) or not isinstance(shape.value, str):
        return Array(array.library, None, True) if isinstance(array, Array) else array
    axes = shape.value.split()
    named = any(axis.isidentifier() or (axis.isdecimal() and axis != "1") for axis in axes)
    return Array(array.library, False if named else None if axes else True, True)
