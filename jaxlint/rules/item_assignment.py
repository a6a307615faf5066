"""JAX413 item-assignment."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.failing import advising
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignItem, Event, Place
from jaxlint.infer.known.values import Array, Container, Instance, Value, options, plain, without_none
from jaxlint.libraries.packages import OTHER_COMPILERS
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.missing_members import misses_attribute
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.pytrees.updating import update_text
from jaxlint.rules.analyses.bodies.around import outermost_body
from jaxlint.rules.analyses.bodies.updated_at import is_updated_by_at
from jaxlint.rules.analyses.fields.numpy_fields import is_called_with_numpy, is_documented_as_numpy, is_made_with_numpy
from jaxlint.rules.analyses.fixes.copies import made_anew_help
from jaxlint.rules.analyses.fixes.rebinding import rebinding_help, setting_field, setting_item
from jaxlint.rules.analyses.instances.references import may_be_reference
from jaxlint.rules.base import EventRule, Problem
from jaxlint.symbols.outline import Import
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Compare,
    Constant,
    Display,
    Expr,
    Name,
    Subscript,
    dotted,
    is_ellipsis,
    is_variable,
    last_name,
    root,
    same,
)
from jaxlint.syntax.statements import For, all_parts, bound_once, looked_up, parts, walk

#: Methods of mappings.
_OF_MAPPINGS = frozenset({"get", "items", "keys", "pop", "setdefault", "update", "values"})
_ARRAY_MODULES = frozenset({"numpy", "jax.numpy"})
_OPERATOR = {"delete": "__delitem__"}


class ItemAssignment(EventRule):
    """
    ## What it does

    Finds assignments to items of jax arrays and of pytree instances: `state.board[i] = v`, `x[i] += v`,
    `state["step"] = 3`, and `del` of such items.

    ## Why is this bad?

    A jax array never changes, under `jit` or outside of it, and a pytree dataclass has attributes, but no items. Code
    that was written for numpy, or for a dict of parameters, fails at this line.

    ## What you will see

    `TypeError: JAX arrays are immutable and do not support in-place item assignment. Instead of x[idx] = y, use
    x = x.at[idx].set(y) or another .at[] method`; for an instance `TypeError: 'State' object does not support item
    assignment`. Deleting an item of an array is an `AttributeError: __delitem__`.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Game:
        board: jax.Array
        turn: int = 0

    def play(game: Game, square: int) -> Game:
        game.board[square] = 1
        return game
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Game:
        board: jax.Array
        turn: int = 0

    def play(game: Game, square: int) -> Game:
        return game.replace(board=game.board.at[square].set(1))
    ```

    ## Frameworks

    All. Inside `with jdc.copy_and_mutate(x) as y`, and in mutable classes, the attribute may be assigned, but not an
    item of the array in it. `chex` dataclasses are mappings that can be read (`state["x"]`) and not written.
    `nnx.Variable`, `jax.Ref` and the references of pallas take items, and so do numpy arrays, dicts and lists.

    ## Fix safety

    `x[i] = v` becomes `x = x.at[i].set(v)`, or an update of what holds the array, if that is a variable of the
    function that is used later. That is safe where the line could only raise, and unsafe where only an annotation says
    so. A parameter that the function does not return is returned from then on, and callers in the file put the result
    into the variable that they passed. What was taken out of a list, a dict or an attribute is put back there. Both are
    unsafe. There is no fix where somebody else holds the array, and would have seen the new item.

    ## When not to use it

    What only an annotation `jax.Array` says is reported with medium confidence, and not at all

    * where it may be an array of numpy: in a field of an instance that the code itself has made, or one that is seen to
      get an array of numpy somewhere (unless it is seen to get one of jax), in a parameter for which a caller gives
      one, or of which the docstring says so,
      in a module that imports numpy and not jax, and where an argument says which of the two to use (`xp=np`);
    * where it may be a reference, which is annotated as an array, too: in modules that import pallas or call
      `jax.new_ref`, in a kernel of another module, in `x[...] = v`, and for names like `x_ref`;
    * where the index may be the key of a dict, or counts things that a loop calls, each with an item of its own.

    What may be an array of numpy by its type (`chex.Array`, `ArrayLike`, an untyped field) is reported only if the same
    is updated by `.at` further down. Classes with a `__setitem__` of their own, or that extend a container, are not
    reported, nor is code that expects the error, that AutoGraph rewrites, or that numba compiles.

    ## References

    - [jax.numpy.ndarray.at](https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html)
    - [In-place updates](https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html#in-place-updates)
    """

    code = "JAX413"
    name = "item-assignment"
    group = "updates"
    about_values = True
    since = "0.1.0"
    events = (AssignItem,)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at one assignment of an item."""
        assert isinstance(event, AssignItem)
        receivers = [_shown(r, event, evaluator) for r in options(plain(without_none(plain(event.receiver))))]
        arrays = [r for r in receivers if isinstance(r, Array) and r.library == "jax"]
        instances = [r for r in receivers if isinstance(r, Instance) and _takes_no_items(r, event, evaluator)]
        if not receivers or len(arrays) + len(instances) < len(receivers):
            return
        if instances and _is_used_as_mapping(event, instances[0].cls, evaluator):
            return
        declared = any(array.declared for array in arrays)
        if declared and event.made_here:
            return  # a numpy array may have been put there
        if any(may_be_reference(array, event.target, event.place) for array in arrays):
            return
        if declared and (is_ellipsis(event.index) or _is_on_host(event.place.module)):
            return  # which is how references are written, or an array of numpy
        if declared and _is_written_for_both(event.place.module, evaluator):
            return
        if declared and (_is_keyed(event, evaluator) or _is_one_for_each(event, evaluator)):
            return  # a mapping, or a list, whatever the annotation says
        if declared and _is_given_numpy(event, evaluator):
            return
        if arrays and _may_be_rewritten(event.place, evaluator):
            return
        if declared and event.owner is not None:
            classes = (event.owner.cls, *event.place.subclasses(event.owner.cls))
            if is_made_with_numpy(classes, last_name(event.target), event.place.module, evaluator):
                return
        keeper = event.owner.cls if event.owner is not None and not event.owner.cls.is_pytree else None
        if keeper and not all(_holds_jax_array(c, event, evaluator) for c in event.place.subclasses(keeper)):
            return
        name = dotted(event.target)
        if instances:
            what = f"`{instances[0].cls.name}` ({instances[0].cls.framework.title}) takes no items"
            way_out = _update_of_instance(event, instances[0].cls, evaluator)
        else:
            owner = event.owner.cls if event.owner is not None else None
            of = f" of `{owner.name}`" if owner is not None and owner.is_pytree else ""
            what = f"{f'`{name}`' if name else 'this'}{of} is a jax array, which never changes"
            way_out = _update_of_array(event, evaluator)
        is_sure = not declared and keeper is None
        level = Applicability.SAFE if is_sure else Applicability.UNSAFE
        does = "deleting an item raises" if event.how == "delete" else "assigning an item raises TypeError"
        yield Problem(
            at=event.at,
            message=f"{what}: {does}; {way_out}",
            reason="neither jax arrays nor pytree dataclasses take items; an update is a copy with changes",
            help=way_out,
            confidence=None if keeper is None else Confidence.MEDIUM,
            fix=setting_field(event, instances[0], evaluator) if instances else setting_item(event, level, evaluator),
        )


def _shown(receiver: Value, event: AssignItem, evaluator: Evaluator) -> Value:
    """What is changed: an array of jax, where an annotation leaves it open, if it is updated by `.at` further down."""
    path, function = dotted(event.target), event.place.function
    if not isinstance(receiver, Array) or receiver.library != "array" or path is None or function is None:
        return receiver
    body = evaluator.calls.body_of(FunctionSymbol(event.place.module, function)) or ()
    return Array("jax", receiver.single) if is_updated_by_at(path, event.target.at, body) else receiver


def _holds_jax_array(cls: PytreeClass, event: AssignItem, evaluator: Evaluator) -> bool:
    """Whether what the methods of a class put into the attribute is an array of jax."""
    held = evaluator.attribute_type(cls, last_name(event.target))
    return isinstance(held, Array) and held.library == "jax"


def _takes_no_items(receiver: Instance, event: AssignItem, evaluator: Evaluator) -> bool:
    family = event.place.family(receiver)
    operator = _OPERATOR.get(event.how, "__setitem__")
    return receiver.cls.is_pytree and all(misses_attribute(cls, operator, evaluator.model) for cls in family)


def _is_used_as_mapping(event: AssignItem, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether the code uses the same thing as a mapping, which the class is not: it is of another type.

    It calls a method of mappings, asks for a key (`"x" in batch`) or unpacks it (`Batch(**batch)`). Annotations are not
    always true: `-> tuple[Any, Model]` of what returns `model, info`, `batch: Batch` of what becomes one.
    """
    function, name = event.place.function, dotted(event.target)
    if function is None or name is None:
        return False
    body = outermost_body(event.place, evaluator)
    used = {attr for part in all_parts(body) for attr in _asked_of(part, name)}
    return any(misses_attribute(cls, attr, evaluator.model) for attr in used)


def _asked_of(part: Expr, name: str) -> Iterator[str]:
    """The methods of mappings that an expression needs of a variable or a path of attributes."""
    match part:
        case Attribute(value=value, attr=attr) if attr in _OF_MAPPINGS and dotted(value) == name:
            yield attr
        case Compare(left=Constant(value=str()), ops=("in" | "not in",), comparators=(held,)) if dotted(held) == name:
            yield "__contains__"
        case Call(args=args) if any(one.star == "**" and dotted(one.value) == name for one in args):
            yield "keys"


def _is_keyed(event: AssignItem, evaluator: Evaluator) -> bool:
    """Whether the index may be a key: a string, or the variable of a loop over what need not be numbers."""
    index = event.index
    if isinstance(index, Constant):
        return isinstance(index.value, str)
    function = event.place.functions[0] if event.place.functions else None
    if not isinstance(index, Name) or function is None:
        return False
    body = evaluator.calls.body_of(FunctionSymbol(event.place.module, function)) or ()
    loops = [s for s in walk(body) if isinstance(s, For) and any(same(part, index) for part in parts(s.target))]
    return any(not _counts(loop.iterable) for loop in loops)


def _is_one_for_each(event: AssignItem, evaluator: Evaluator) -> bool:
    """Whether a loop calls several things in turn, and gives each of them the item of its own: a list of states."""
    index, name = event.index, dotted(event.target)
    function = event.place.functions[0] if event.place.functions else None
    if not isinstance(index, Name) or name is None or function is None:
        return False
    for loop in walk(evaluator.calls.body_of(FunctionSymbol(event.place.module, function)) or ()):
        match loop:
            case For(target=Display(items=[number, Name(id=thing)]), iterable=Call(func=Name(id="enumerate"))):
                calls = (part for part in all_parts(loop.body) if isinstance(part, Call))
                given = [a.value for call in calls if is_variable(thing, root(call.func)) for a in call.args]
                items = [one for one in given if isinstance(one, Subscript) and same(one.index, index)]
                if same(number, index) and any(dotted(item.value) == name for item in items):
                    return True
    return False


def _is_given_numpy(event: AssignItem, evaluator: Evaluator) -> bool:
    """Whether what is changed begins as a parameter that gets arrays of numpy, by callers or by the docstring."""
    function, start = event.place.functions[0] if event.place.functions else None, root(event.target)
    if function is None or not isinstance(start, Name):
        return False
    module = event.place.module
    return is_called_with_numpy(function, start.id, module, evaluator) or is_documented_as_numpy(
        function, start.id, module
    )


def _counts(iterable: Expr) -> bool:
    """Whether what a loop runs through is made of numbers, or made by a function that may give them."""
    if isinstance(iterable, Display):
        return all(isinstance(item, Constant) and isinstance(item.value, int) for item in iterable.items)
    return isinstance(iterable, Call) and last_name(iterable.func) not in ("keys", "items")


def _is_on_host(module: Module) -> bool:
    """Whether a module works with numpy alone: what it calls an array is one of numpy where it writes to it."""
    imported = {name.partition(".")[0] for level, name in module.outline.imported_modules if level == 0}
    return "numpy" in imported and "jax" not in imported


def _is_written_for_both(module: Module, evaluator: Evaluator) -> bool:
    """Whether an argument of functions of a module decides between numpy and jax.numpy: `xp=np`."""
    return any(
        evaluator.model.resolver.library_name(parameter.default, module, function.scope) in _ARRAY_MODULES
        for function in module.outline.functions.values()
        for parameter in function.parameters
        if isinstance(parameter.default, (Name, Attribute))
    )


@advising
def _update_of_array(event: AssignItem, evaluator: Evaluator) -> str:
    """How to make the changed array, and where to put it."""
    name = dotted(event.target)
    made = f"jnp.delete({name or 'x'}, ...)" if event.how == "delete" else f"{name or 'x'}.at[...].set(...)"
    if name is None:
        return _update_of_item(event, evaluator) or f"put `{made}` in its place"
    if event.owner is None:
        return rebinding_help(name, made, event.at, event.place, evaluator)
    if not event.owner.cls.is_pytree or event.owner.cls.frozen is False or event.mutable_copy:
        return f"use `{name} = {made}`"
    owner, _, attr = name.rpartition(".")
    if anew := made_anew_help(event.owner.cls, attr):
        return anew
    head, _, tail = update_text(event.owner.cls, owner, attr).rpartition("...")
    update = f"{head}{made}{tail}"
    return rebinding_help(owner, update, event.at, event.place, evaluator)


def _update_of_item(event: AssignItem, evaluator: Evaluator) -> str:
    """How to set an item of an item of an array, of a list or of a dict in a variable; empty for anything else."""
    target = event.target
    name = dotted(target.value) if isinstance(target, Subscript) else None
    if not isinstance(target, Subscript) or name is None or "." in name or event.how == "delete":
        return ""
    function, module = event.place.function, event.place.module
    body = () if function is None else evaluator.calls.body_of(FunctionSymbol(module, function)) or ()
    whole = looked_up(target.value, bound_once(body))
    held = plain(evaluator.static(Placed(whole, module, event.place.scope)))
    index, inner = _spelled(target.index), _spelled(event.index)
    if isinstance(held, Array) and held.library == "jax":
        is_number = isinstance(target.index, Constant) and target.index.kind == "int"
        made = f"{name}.at[{index}].set({name}[{index}].at[{inner}].set(...))"
        made = f"{name}.at[{index}, {inner}].set(...)" if is_number else made
        return rebinding_help(name, made, event.at, event.place, evaluator)
    if isinstance(held, Container) and held.kind in ("list", "dict"):
        return f"use `{name}[{index}] = {name}[{index}].at[{inner}].set(...)`"
    return ""


def _spelled(index: Expr) -> str:
    """An index as it is written, if it is a name or a constant."""
    return repr(index.value) if isinstance(index, Constant) else dotted(index) or "..."


@advising
def _update_of_instance(event: AssignItem, cls: PytreeClass, evaluator: Evaluator) -> str:
    """The update of the field that is meant."""
    name = dotted(event.target)
    index = event.index
    given = index.value if isinstance(index, Constant) and isinstance(index.value, str) else None
    field = given if given is not None and cls.field(given) is not None else "field"
    if event.how == "delete":
        return "build a new instance instead"
    if cls.frozen is False:
        return f"use `{name or '...'}.{field} = ...`"
    if anew := made_anew_help(cls, field):
        return anew
    update = update_text(cls, name, field)
    if isinstance(index, Name):
        update = _by_variable(cls, name, index.id)
    return rebinding_help(name, update, event.at, event.place, evaluator) if name else f"use `{update}`"


def _by_variable(cls: PytreeClass, name: str | None, variable: str) -> str:
    """The update of a field whose name a variable has."""
    method, changed = cls.framework.replace_method, f"**{{{variable}: ...}}"
    return f"{name or ''}.{method}({changed})" if method else f"dataclasses.replace({name or '...'}, {changed})"


# -- functions that Python does not run as they are written -----------------------------------------

_WORD = "autograph"


def _may_be_rewritten(place: Place, evaluator: Evaluator) -> bool:
    """Whether the code around an event may be given to AutoGraph, or is compiled by another library than jax.

    In what AutoGraph writes anew, arrays of jax take items: its module imports that, or asks for it.
    """
    outline = place.module.outline
    resolver = evaluator.model.resolver
    for function in place.functions:
        for decorator in function.decorators:
            made_by = decorator.func if isinstance(decorator, Call) else decorator
            if resolver.library_name(made_by, place.module).partition(".")[0] in OTHER_COMPILERS:
                return True
    if any(_WORD in name.lower() for _, name in outline.imported_modules):
        return True
    bindings = (b for bindings in outline.module_scope.bindings.values() for b in bindings)
    if any(isinstance(b, Import) and _WORD in (b.name or "").lower() for b in bindings):
        return True
    return any(map(_asks_for_it, _calls_around(place, evaluator)))


def _calls_around(place: Place, evaluator: Evaluator) -> Iterator[Call]:
    """The calls of the module outside of functions, the decorators around an event, and what those functions call."""
    yield from place.module.outline.module_calls
    for function in place.functions:
        yield from (decorator for decorator in function.decorators if isinstance(decorator, Call))
    yield from (part for part in all_parts(outermost_body(place, evaluator)) if isinstance(part, Call))


def _asks_for_it(call: Call) -> bool:
    """Whether a call is one of AutoGraph, or has it turned on."""
    return call.keyword(_WORD) is not None or _WORD in (dotted(call.func) or "").lower()
