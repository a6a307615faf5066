"""Functions that are known by name: of the standard library, of numpy and jax, of the frameworks.

Python's own are in `known_builtins`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from jaxlint.infer.calls.belied import copy_of
from jaxlint.infer.calls.known_builtins import BuiltinFunctions
from jaxlint.infer.calls.transformed_classes import instances_in
from jaxlint.infer.known.counting import is_swept
from jaxlint.infer.known.deferred import Values
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.transformed_values import filled
from jaxlint.infer.known.values import (
    UNKNOWN,
    Array,
    ClassObject,
    Container,
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
    element_of,
    inside,
    is_broadcast_single,
    join,
    joined,
    plain,
)
from jaxlint.libraries import arrays
from jaxlint.libraries.optimizers import CONSTANT_SCHEDULE, SCHEDULE, SCHEDULES
from jaxlint.libraries.standard import FLOATS_OF_FLOATS
from jaxlint.libraries.transforms import WRAPPERS
from jaxlint.libraries.trees import RAVEL, TREE_FLATTEN, TREE_MAPS, TREE_STRUCTURE, TREE_UNFLATTEN
from jaxlint.libraries.updates import (
    COPIES,
    GIVE_SAME,
    LOADING,
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


class KnownFunctions:
    """Evaluates calls of functions that are known by name."""

    def __init__(self, evaluator: Evaluator, notes: Notes) -> None:
        self.evaluator = evaluator
        self.notes = notes
        self._builtins = BuiltinFunctions(evaluator, notes)

    def call(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        """What the call of the function `name` is; unknown for most."""
        if name in _BY_NAME:
            return _BY_NAME[name](self, name, call, values, env)
        if name.startswith("builtins."):
            return self._builtins.call(name.removeprefix("builtins."), call, values, env)
        return self._array(name, call, values, env)

    # -- trees and instances ------------------------------------------------------------------

    def _replaced(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        if not values or not call.positional:
            return UNKNOWN
        self.notes.update(call, call.positional[0], values[0], name, call.args[1:], values[1:])
        instance = as_instance(values[0])
        return plain(values[0]) if instance is None else copy_of(instance, call, values, self.evaluator.promises)

    def _copied(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        if any(cls.framework.copies_are_open for v in values for cls in instances_in(v)):
            return UNKNOWN
        return self._same(name, call, values, env)

    def _same(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        return plain(values[0]) if values else UNKNOWN

    def _cast(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        if len(values) != 2:
            return self._same(name, call, values, env)
        return self.evaluator.annotations.read(Placed(call.args[0].value, env.module, env.scope))

    def _restored(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        if not values:
            return UNKNOWN
        if call.positional:
            self.notes.update(call, call.positional[0], values[0], name, (), Values(()))
        return as_instance(values[0]) or UNKNOWN

    def _loaded(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        target = call.given_to(("ckpt_dir", "target")).get("target")
        at = {id(argument.value): value for argument, value in zip(call.args, values, strict=True)}
        instance = None if target is None or call.has_star else as_instance(at[id(target)])
        return UNKNOWN if instance is None else replace(instance, refilled=True, traced=None, holds_jax=False)

    def _on_host(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        return _on_host(plain(values[0])) if values else UNKNOWN

    def _mapped(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        if len(values) < 2:
            return UNKNOWN
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

    def _updated(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        position = UPDATE_FUNCTIONS[name]
        if len(call.positional) > position:
            self.notes.update(call, call.positional[position], values[position], name, (), Values(()))
            if name in OF_INSTANCES:
                copied = plain(values[position])
                is_pytree = isinstance(copied, Instance) and copied.cls.is_pytree
                return replace(copied, held=()) if is_pytree else copied  # which part is another now is not looked at
        return self._array(name, call, values, env)

    def _selected(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        return Selection(plain(values[0]), call.positional[0]) if call.positional else UNKNOWN

    def _of_structure(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        return _of_structure(name, call, values) if values and not call.has_star else UNKNOWN

    # -- functions and classes ----------------------------------------------------------------

    def _partial(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        """What `functools.partial` makes of a function, or of another partial."""
        if not values:
            return UNKNOWN
        inner, args, given = plain(values[0]), call.args[1:], tuple(values[1:])
        if isinstance(inner, Partial):
            return Partial(inner.function, (*inner.args, *args), (*inner.values, *given))
        return Partial(inner, args, given)

    def _schedule(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        """A function of the step that optax makes of numbers; that of a constant is bound to it."""
        constant = name.endswith(CONSTANT_SCHEDULE)
        return Partial(Symbolic(External(SCHEDULE)), call.args[:constant], tuple(values)[:constant])

    def _scheduled(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        """What a schedule gives for a step: an array, of one element if the step is one."""
        if len(values) != 1 or call.has_star:
            return UNKNOWN
        step = plain(values[0])
        return Array("jax", step.single if isinstance(step, Array) else isinstance(step, Scalar) or None)

    def _decorated(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        decorated = plain(values[0]) if values else UNKNOWN
        return decorated if isinstance(decorated, ClassObject) else UNKNOWN

    # -- the standard library -----------------------------------------------------------------

    def _dict(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        return Container("dict")

    def _as_dict(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        return Container("dict") if len(values) == 1 else UNKNOWN

    def _default_dict(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        if not len(call.positional) == 1 == len(values):
            return Container("dict")
        return Container("dict", None, plain(self.evaluator.calls.result(plain(values[0]), [])))

    def _deque(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        return Container("list", None, element_of(values[0])) if call.positional else Container("list", ())

    def _chain(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        if not values or call.has_star:
            return UNKNOWN
        return Container("sequence", None, joined([element_of(value) for value in values]))

    def _reduced(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        if not len(call.positional) == 3 == len(values):
            return UNKNOWN
        step, given, start = map(plain, values)
        return join(start, plain(self.evaluator.calls.result(step, [start, element_of(given)])))

    def _float(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        return UNKNOWN if call.has_star else Scalar("float", any(map(is_swept, map(plain, values))))

    def _counted(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        return Container("sequence", None, Scalar("int", varying=True))

    # -- arrays -------------------------------------------------------------------------------

    def _generator(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        return Symbolic(External("numpy.random"))  # its methods are called like the module's functions

    def _array(self, name: str, call: Call, values: Values, env: Environment) -> Value:
        several = arrays.returned_container(name, call)
        if several is not None:
            kind, of = several
            return Container(kind, None, Array(of))
        size = arrays.numpy_random_size(name, call)
        if size is not None:
            return Array("numpy", _shape_is_single(size))
        library = arrays.returned_library(name)
        if library is None:
            return _element_wise(values) if arrays.maps_numpy(name) else UNKNOWN
        single: bool | None = None
        first = plain(values[0]) if values else UNKNOWN
        if _is_list(first) and arrays.takes_no_list(name):
            return UNKNOWN  # it raises
        if arrays.is_shaped(name):
            if arrays.takes_size_for_dtype(name, call):
                return UNKNOWN
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


_Handler: TypeAlias = Callable[[KnownFunctions, str, Call, Values, Environment], Value]
#: What evaluates the call of a function, by its name.
_BY_NAME: dict[str, _Handler] = {
    **dict.fromkeys(REPLACE_FUNCTIONS, KnownFunctions._replaced),
    **dict.fromkeys(GIVE_SAME, KnownFunctions._same),
    **dict.fromkeys(COPIES, KnownFunctions._copied),
    "typing.cast": KnownFunctions._cast,
    **dict.fromkeys(RESTORING, KnownFunctions._restored),
    **dict.fromkeys(LOADING, KnownFunctions._loaded),
    "jax.device_get": KnownFunctions._on_host,
    **dict.fromkeys(TREE_MAPS, KnownFunctions._mapped),
    **dict.fromkeys(UPDATE_FUNCTIONS, KnownFunctions._updated),
    SELECT: KnownFunctions._selected,
    **dict.fromkeys((*TREE_STRUCTURE, *TREE_FLATTEN, *TREE_UNFLATTEN, RAVEL), KnownFunctions._of_structure),
    PARTIAL: KnownFunctions._partial,
    **dict.fromkeys(SCHEDULES, KnownFunctions._schedule),
    SCHEDULE: KnownFunctions._scheduled,
    **dict.fromkeys(WRAPPERS, KnownFunctions._same),
    **dict.fromkeys(BY_DECORATOR, KnownFunctions._decorated),
    **dict.fromkeys(("collections.OrderedDict", "collections.Counter"), KnownFunctions._dict),
    "dataclasses.asdict": KnownFunctions._as_dict,
    "collections.defaultdict": KnownFunctions._default_dict,
    "collections.deque": KnownFunctions._deque,
    "itertools.chain": KnownFunctions._chain,
    "itertools.count": KnownFunctions._counted,
    "functools.reduce": KnownFunctions._reduced,
    **dict.fromkeys(FLOATS_OF_FLOATS, KnownFunctions._float),
    **dict.fromkeys(("numpy.random.default_rng", "numpy.random.RandomState"), KnownFunctions._generator),
}


def _is_list(value: Value) -> bool:
    """Whether a value is a list or a tuple, and not by an annotation alone."""
    return isinstance(value, Container) and value.kind in ("list", "tuple") and not value.declared


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


def _on_host(value: Value) -> Value:
    """What `jax.device_get` makes of a value: the arrays are numpy arrays."""
    match value:
        case Array(library="jax", single=single, declared=declared):
            return Array("numpy", single, declared)
        case Instance():
            return replace(value, refilled=True)
    return inside(value, _on_host)


def _element_wise(values: Values) -> Value:
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
