"""Functions that are known by name: of the standard library, of numpy and jax, of the frameworks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from jaxlint.infer.calls.transformed_classes import instances_in
from jaxlint.infer.known.counting import is_few, is_swept, settled
from jaxlint.infer.known.deferred import Values
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.transformed_values import filled
from jaxlint.infer.known.values import (
    UNKNOWN,
    Array,
    ClassObject,
    Container,
    FieldRead,
    FunctionValue,
    Instance,
    LocalFunction,
    LocalFunctionValue,
    Partial,
    Scalar,
    Selection,
    Symbolic,
    Treedef,
    Value,
    as_instance,
    dict_of,
    element_of,
    inside,
    is_broadcast_single,
    join,
    joined,
    known_entries,
    plain,
)
from jaxlint.libraries import arrays
from jaxlint.libraries.standard import FLOATS_OF_FLOATS
from jaxlint.libraries.transforms import WRAPPERS
from jaxlint.libraries.trees import RAVEL, TREE_FLATTEN, TREE_MAPS, TREE_STRUCTURE, TREE_UNFLATTEN
from jaxlint.libraries.updates import (
    COPIES,
    GIVE_SAME,
    OF_INSTANCES,
    REPLACE_FUNCTIONS,
    RESTORING,
    SELECT,
    UPDATE_FUNCTIONS,
)
from jaxlint.project.resolution import External, FunctionSymbol
from jaxlint.pytrees.callee import PARTIAL
from jaxlint.pytrees.frameworks import BY_DECORATOR
from jaxlint.pytrees.model import Placed
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Call,
    Constant,
    Display,
    Expr,
    Lambda,
    Name,
    Starred,
    has_no_shape,
    last_name,
)
from jaxlint.syntax.statements import FunctionDefinition, all_parts, parts

if TYPE_CHECKING:
    from jaxlint.infer.evaluating.evaluate import Evaluator
    from jaxlint.infer.evaluating.notes import Notes

#: How functions ask what a leaf is.
_ASKING = frozenset({"isinstance", "issubclass", "hasattr", "type", "is_array", "is_inexact_array", "is_array_like"})
_SEQUENCES = frozenset({"list", "tuple", "set", "frozenset", "sorted", "reversed"})
_SCALAR_CALLS = {
    **{kind: kind for kind in ("int", "float", "bool", "str")},
    **dict.fromkeys(("len", "hash"), "int"),
    "repr": "str",
}
_REAL = frozenset({"int", "float"})
_UNHASHABLE_CALLS = {"bytearray": "bytearray"}
#: Functions that take a tree apart, or make one of its structure.
_ABOUT_STRUCTURE = TREE_STRUCTURE | TREE_FLATTEN | TREE_UNFLATTEN | {RAVEL}
_DICTS = frozenset({"collections.defaultdict", "collections.OrderedDict", "collections.Counter"})


class KnownFunctions:
    """Evaluates calls of functions that are known by name."""

    def __init__(self, evaluator: Evaluator, notes: Notes) -> None:
        self.evaluator = evaluator
        self.notes = notes

    # -- known functions --------------------------------------------------------------------

    def call(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        """What the call of the function `name` is; unknown for most."""
        if name in REPLACE_FUNCTIONS:
            if not values or not call.positional:
                return UNKNOWN
            self.notes.update(call, call.positional[0], values[0], name, call.args[1:], values[1:])
            return as_instance(values[0]) or plain(values[0])
        if name in COPIES and any(cls.framework.copies_are_open for v in values for cls in instances_in(v)):
            return UNKNOWN
        if name in GIVE_SAME and values:
            if name == "typing.cast" and len(values) == 2:
                return self.evaluator.annotations.read(Placed(call.args[0].value, env.module, env.scope))
            return plain(values[0])
        if name in RESTORING and values:
            if call.positional:
                self.notes.update(call, call.positional[0], values[0], name, (), Values(()))
            return as_instance(values[0]) or UNKNOWN
        if name == "jax.device_get" and values:
            return _on_host(plain(values[0]))
        if name in TREE_MAPS and len(values) > 1:
            value = element_of(values[1]) if call.args[1].star else plain(values[1])
            returned = _returned(plain(values[0]))
            if returned and all(map(has_no_shape, returned)):
                self.evaluator.traced.note_replaced(value, returned)
            joining = None if any(argument.keyword for argument in call.args) else self._joining(plain(values[0]))
            if joining is not None:
                self.evaluator.traced.note_stacked(value, joining)
            if not isinstance(value, Instance) or self._tells_leaves_apart(plain(values[0])):
                return UNKNOWN
            return replace(value, refilled=True, is_other_tree=True)
        if name in UPDATE_FUNCTIONS:
            position = UPDATE_FUNCTIONS[name]
            if len(call.positional) > position:
                self.notes.update(call, call.positional[position], values[position], name, (), Values(()))
                if name in OF_INSTANCES:
                    return plain(values[position])
            return self._array(name, call, values)
        if name == SELECT and call.positional:
            return Selection(plain(values[0]), call.positional[0])
        if name == PARTIAL and values:
            return self._partial(call, values)
        if name in WRAPPERS and values:
            return plain(values[0])
        if name in BY_DECORATOR and values and isinstance(plain(values[0]), ClassObject):
            return plain(values[0])
        if name.startswith("builtins."):
            return self._builtin(name.removeprefix("builtins."), call, values, env)
        if name in _ABOUT_STRUCTURE:
            return _of_structure(name, call, values) if values and not call.has_star else UNKNOWN
        if name == "collections.defaultdict" and len(call.positional) == 1 == len(values):
            return Container("dict", None, plain(self.evaluator.calls.result(plain(values[0]), [])))
        if name in _DICTS or (name == "dataclasses.asdict" and len(values) == 1):
            return Container("dict")
        if name == "collections.deque":
            return Container("list", None, element_of(values[0])) if call.positional else Container("list", ())
        if name == "itertools.chain" and values and not call.has_star:
            return Container("sequence", None, joined([element_of(value) for value in values]))
        if name == "functools.reduce" and len(call.positional) == 3 == len(values):
            step, given, start = map(plain, values)
            return join(start, plain(self.evaluator.calls.result(step, [start, element_of(given)])))
        if name in ("numpy.random.default_rng", "numpy.random.RandomState"):
            return Symbolic(External("numpy.random"))  # its methods are called like the module's functions
        if name in FLOATS_OF_FLOATS and not call.has_star:
            return Scalar("float", any(map(is_swept, map(plain, values))))
        if name == "itertools.count":
            return Container("sequence", None, Scalar("int", varying=True))
        return self._array(name, call, values)

    def _array(self, name: str, call: Call, values: Values) -> Value:
        several = arrays.returned_container(name, call)
        if several is not None:
            kind, of = several
            return Container(kind, None, Array(of))
        size = arrays.numpy_random_size(name, call)
        if size is not None:
            return Array("numpy", _shape_is_single(size))
        library = arrays.returned_library(name)
        if library is None:
            return _mapped(values) if arrays.maps_numpy(name) else UNKNOWN
        single: bool | None = None
        first = plain(values[0]) if values else UNKNOWN
        if arrays.is_shaped(name):
            shape = call.keyword("shape") if call.keyword("shape") is not None else _first(call)
            single = _shape_is_single(shape)
        elif (position := arrays.random_shape_position(name)) is not None:
            shape = call.keyword("shape")
            if shape is None and len(call.positional) > position:
                shape = call.positional[position]
            single = _shape_is_single(shape) if shape is not None or call.has_star else True
        elif arrays.is_conversion(name):
            if isinstance(first, Container):
                single = _elements_are_single(first)
            else:
                single = True if isinstance(first, Scalar) else first.single if isinstance(first, Array) else None
        elif arrays.is_reduction(name):
            single = full_reduction(call, positional=1)
        elif arrays.is_elementwise(name) and values:
            single = is_broadcast_single([plain(v) for v in values])
        elif arrays.is_range(name):
            single = False
        return Array(library, single)

    def _builtin(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        first = plain(values[0]) if values else UNKNOWN
        if name in _SCALAR_CALLS:
            varying = isinstance(first, Scalar) and first.varying
            return Scalar(_SCALAR_CALLS[name], varying)
        if name in _UNHASHABLE_CALLS:
            return Scalar(_UNHASHABLE_CALLS[name])
        if name in _SEQUENCES:
            kind = {"sorted": "list", "reversed": "sequence"}.get(name, name)
            if isinstance(first, Container) and first.kind not in ("dict", "mapping") and name in ("list", "tuple"):
                return Container(kind, first.items, first.element)
            return Container(kind, None, element_of(first) if values else UNKNOWN)
        if name == "dict":
            return updated(dict_of({}), call, values)
        if name == "range":
            return Container("sequence", None, Scalar("int", varying=True))
        if name == "enumerate" and values:
            return Container("sequence", None, Container("tuple", (Scalar("int", varying=True), element_of(first))))
        if name == "zip" and call.has_star:
            return _unzipped(first) if len([a for a in call.args if a.keyword is None]) == 1 else UNKNOWN
        if name == "zip":
            given = [value for arg, value in zip(call.args, values, strict=True) if arg.keyword is None]
            return Container("sequence", None, Container("tuple", tuple(map(element_of, given))))
        if name == "next" and values:
            return element_of(first)
        if name in ("max", "min") and call.positional:
            return _bounded(call, values) or _extreme(call, values)
        if name == "map" and len(values) > 1 and not call.has_star:
            given = [element_of(value) for value in values[1:]]
            return Container("sequence", None, plain(self.evaluator.calls.result(first, given)))
        if name == "filter" and len(values) == 2:
            return Container("sequence", None, element_of(values[1]))
        if name == "iter" and len(values) == 1:
            return Container("sequence", None, element_of(first))
        if name == "super" and not values and self.notes.place is not None and self.notes.place.owner is not None:
            parents = self.notes.place.owner.parents
            return Instance(parents[0]) if parents else UNKNOWN
        if name == "type" and len(values) == 1:
            return ClassObject(first.cls, first.exact) if isinstance(first, Instance) else UNKNOWN
        if name in ("isinstance", "hasattr", "callable", "issubclass", "any", "all"):
            return Scalar("bool")
        if name in ("setattr", "delattr") and len(call.args) >= 2:
            attr = call.args[1].value
            literal = attr.value if isinstance(attr, Constant) and isinstance(attr.value, str) else ""
            how = "setattr" if name == "setattr" else "delete"
            value = values[2] if len(values) > 2 else UNKNOWN
            held = call.args[0].value
            self.notes.assign_attribute(call.at, held, values[0], literal, how, value, env)
            if isinstance(held, Attribute):
                self.evaluator.calls.mutate(call.at, held, values[0], "attribute", value, env)
            return Scalar("NoneType")
        if name == "getattr" and len(call.args) >= 2:
            attr = call.args[1].value
            if isinstance(attr, Constant) and isinstance(attr.value, str) and len(call.args) == 2:
                return self.evaluator.attribute_of(values[0], attr.value)
        return UNKNOWN

    def _tells_leaves_apart(self, function: Value) -> bool:
        """Whether a function asks what a leaf is, and may put something of another kind in the place of some."""
        asked: Iterable[Expr]
        match function:
            case LocalFunctionValue(function=LocalFunction(node=Lambda(body=result))):
                asked = parts(result)
            case LocalFunctionValue(function=LocalFunction(node=FunctionDefinition(body=body))):
                asked = all_parts(body)
            case FunctionValue(symbol=symbol):
                asked = all_parts(self.evaluator.calls.body_of(symbol) or ())
            case _:
                return False
        return any(isinstance(part, Call) and last_name(part.func) in _ASKING for part in asked)

    def _joining(self, function: Value) -> str | None:
        """By what a function certainly makes one array of all that it is given: `lambda *xs: jnp.stack(xs)`."""
        others: tuple[str, ...] = ()
        match function:
            case LocalFunctionValue(function=LocalFunction(node=node, declaration=declaration, module=module)):
                others = node.other_params if isinstance(node, Lambda) else ()
            case FunctionValue(symbol=FunctionSymbol(module=module, declaration=declaration), receiver=None):
                pass
            case _:
                return None
        names = {*others, *(parameter.name for parameter in declaration.parameters)}
        match declaration.return_values:
            case (Call(func=func, args=(Argument(value=Name() | Display() as joined), *_)),):
                items = joined.items if isinstance(joined, Display) else (joined,)
            case _:
                return None
        given = [one.value if isinstance(one, Starred) else one for one in items]
        if declaration.decorators or not all(isinstance(one, Name) and one.id in names for one in given):
            return None
        name = self.evaluator.model.resolver.library_name(func, module, declaration.inner_scope)
        return name if name in arrays.JOINING else None

    def _partial(self, call: Call, values: Values) -> Value:
        """What `functools.partial` makes of a function, or of another partial."""
        inner, args, given = plain(values[0]), call.args[1:], tuple(values[1:])
        if isinstance(inner, Partial):
            return Partial(inner.function, (*inner.args, *args), (*inner.values, *given))
        return Partial(inner, args, given)


def _of_structure(name: str, call: Call, values: Values) -> Value:
    """What takes the structure of a tree, or fills one: the leaves are whatever is put there."""
    tree = plain(values[0])
    if name in TREE_UNFLATTEN:
        return filled(tree.tree) if isinstance(tree, Treedef) else UNKNOWN
    structure = Treedef(tree)
    if name in TREE_STRUCTURE:
        return structure
    if name in TREE_FLATTEN:
        return Container("tuple", (Container("list"), structure))
    unflatten = External("jax.tree.unflatten")
    return Container("tuple", (Array("jax"), Partial(Symbolic(unflatten), call.args[:1], (structure,))))


def _unzipped(rows: Value) -> Value:
    """What `zip(*rows)` makes: a tuple of all first items, one of all second ones, and so on."""
    row = plain(element_of(rows))
    if not isinstance(row, Container) or row.kind != "tuple" or row.items is None:
        return UNKNOWN
    return Container("sequence", tuple([Container("tuple", None, item) for item in row.items]))


def _bounded(call: Call, values: Values) -> FieldRead | None:
    """What was computed from a field and is held within bounds: `max(0.1, s.rate * 0.9)`; not what soon stays there."""
    computed = [value for value in values if isinstance(value, FieldRead) and value.stepped]
    limits = [value for value in values if isinstance(value, Scalar) or (computed and _is_limit(value, computed[0]))]
    if len(computed) != 1 or len(limits) != len(values) - 1 or not limits:
        return None
    stays = last_name(call.func) == "min" and plain(computed[0]) == Scalar("int")
    few = any(is_few(argument.value) for argument in call.args) or any(map(_is_few_by_default, limits))
    return None if stays and few else computed[0]


def _is_limit(value: Value, computed: FieldRead) -> bool:
    """Whether a value is a number that another field holds than the one from which something was computed."""
    if not isinstance(value, FieldRead) or value.stepped or value.field == computed.field:
        return False
    return isinstance(plain(value), Scalar)


def _is_few_by_default(limit: Value) -> bool:
    """Whether a field holds a small number unless it is given another one."""
    field = limit.cls.field(limit.field) if isinstance(limit, FieldRead) else None
    return field is not None and field.default is not None and is_few(field.default.expr)


def updated(container: Container, call: Call, values: Values) -> Value:
    """A dict after `update(...)` with other dicts and keywords."""
    entries = known_entries(container)
    for arg, value in zip(call.args, values, strict=True):
        more = {arg.keyword: value} if arg.keyword is not None else known_entries(value)
        if entries is None or more is None:
            return Container(container.kind)
        entries = {**entries, **more}
    return Container(container.kind) if entries is None else dict_of(entries)


def _on_host(value: Value) -> Value:
    """What `jax.device_get` makes of a value: the arrays are numpy arrays."""
    match value:
        case Array(library="jax", single=single, declared=declared):
            return Array("numpy", single, declared)
        case Instance():
            return replace(value, refilled=True)
    return inside(value, _on_host)


def _extreme(call: Call, values: Values) -> Value:
    """The instance that `max` or `min` chooses, or a float; which integer it chooses is not followed."""
    compared = [value for arg, value in zip(call.args, values, strict=True) if arg.keyword is None]
    numbers = [plain(value) for value in compared]
    if len(compared) > 1 and not call.has_star and all(isinstance(v, Scalar) and v.kind in _REAL for v in numbers):
        return Scalar("float", any(map(is_swept, numbers))) if Scalar("float") in map(settled, numbers) else UNKNOWN
    chosen = element_of(compared[0]) if len(compared) == 1 else joined(compared)
    if call.has_star or as_instance(chosen) is None:
        return UNKNOWN
    default = [value for arg, value in zip(call.args, values, strict=True) if arg.keyword == "default"]
    return joined([plain(chosen), *default])


def _mapped(values: Values) -> Value:
    """What numpy's element-wise functions return: a number unless an argument is an array or a list."""
    held = [plain(v) for v in values]
    found = [v for v in held if isinstance(v, Array) and v.single is not True]
    listed = any(isinstance(v, Container) and v.kind in ("list", "tuple") for v in held)
    if not found and not listed:
        return UNKNOWN
    declared = not listed and all(a.declared for a in found)
    return Array("numpy", False if any(a.single is False for a in found) else None, declared)


def _first(call: Call) -> Expr | None:
    return call.positional[0] if call.positional else None


def _elements_are_single(container: Container, depth: int = 0) -> bool | None:
    """Whether a (nested) literal list makes an array of one element."""
    if container.items is None or not container.items or depth > 4:
        return None
    if len(container.items) > 1:
        return False
    inner = plain(container.items[0])
    if isinstance(inner, Container):
        return _elements_are_single(inner, depth + 1)
    return True if isinstance(inner, Scalar) else inner.single if isinstance(inner, Array) else None


def _shape_is_single(shape: Expr | None) -> bool | None:
    """Whether a literal shape holds one element."""
    if isinstance(shape, Constant):
        return shape.value == 1 if isinstance(shape.value, int) else None
    items = getattr(shape, "items", None)
    if items is None:
        return None
    if all(isinstance(i, Constant) and i.value == 1 for i in items):
        return True
    if any(isinstance(i, Constant) and isinstance(i.value, int) and i.value > 1 for i in items):
        return False
    return None


def full_reduction(call: Call, positional: int = 0) -> bool | None:
    """A reduction without an axis leaves one element."""
    if call.keyword("axis") is not None or call.keyword("keepdims") is not None:
        return None
    return True if len(call.positional) <= positional and not call.has_star else None


def _returned(function: Value) -> Sequence[Expr]:
    """What a function of the project returns, as it is written; nothing where that is not known."""
    match function:
        case LocalFunctionValue(function=LocalFunction(declaration=declaration)):
            return declaration.return_values
        case FunctionValue(symbol=symbol, applied=()):
            return symbol.declaration.return_values
    return ()
