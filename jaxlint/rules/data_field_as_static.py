"""JAX212 data-field-as-static."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain

from msgspec.structs import replace

from jaxlint.cst.changes import Proposal
from jaxlint.cst.failing import proposing
from jaxlint.finding import Confidence
from jaxlint.infer.bodies.contents import contents_of
from jaxlint.infer.calls.tracers import left_out
from jaxlint.infer.choosing.pieces import has_bare_parameters
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import (
    Array,
    Container,
    FunctionValue,
    Scalar,
    Value,
    holds_pytrees,
    options,
    plain,
)
from jaxlint.infer.transforms.applied import abstracting, tracing_arrays
from jaxlint.infer.transforms.calling import piece_of
from jaxlint.libraries.static_arguments import ERRORS, NUMPY_SHAPE, SHAPE
from jaxlint.libraries.transforms import TRANSFORMS, Kind
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol, Symbol, ValueSymbol
from jaxlint.rules.analyses.fixes.roles import make_static, marking_help
from jaxlint.rules.analyses.fixes.traced_choices import choosing_by_jax
from jaxlint.rules.analyses.instances.callees import Callee, called_by, callee_of, declared
from jaxlint.rules.analyses.instances.given_literals import is_updated
from jaxlint.rules.analyses.instances.methods import is_overridden, text_of
from jaxlint.rules.analyses.under_trace.handed_numbers import handed_numbers
from jaxlint.rules.analyses.under_trace.static_uses import INSTEAD, StaticUses, Use, asks_for_shapes_in, names_asked_in
from jaxlint.rules.analyses.under_trace.traced import may_run_uncompiled
from jaxlint.rules.analyses.under_trace.traced_arguments import (
    filtered_parameters,
    mapped_parameters,
    traced_parameters,
)
from jaxlint.rules.analyses.under_trace.traced_copies import Traced
from jaxlint.rules.analyses.under_trace.traced_leaves import Leaf, TracedLeaves, is_number
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.symbols.outline import Function, names_by_position
from jaxlint.syntax.expressions import Attribute, Call, DictDisplay, Display, Expr, Name, without_call
from jaxlint.syntax.names_read import names_read
from jaxlint.syntax.statements import Body, FunctionDefinition, assigned_names, bound_once

_MAX_DEPTH = 4
#: The methods that functions of Python call.
_BY_BUILTINS = {name: f"__{name}__" for name in ("bool", "float", "int", "iter", "len")}
#: Those of them that a dataclass of chex has from what makes it a mapping.
_OF_MAPPINGS = frozenset({"__iter__", "__len__"})
#: Finds what may ask for the value of an attribute.
_ASKING = re.compile(r"(?:\b(?:if|while|assert|range|int|float|bool)\b|\[).*\.\w")


class DataFieldAsStatic(BodyRule):
    """
    ## What it does

    Finds leaves that a transformed function uses as if their value were known: as a shape, as the number
    of turns of a `for`, in an `if`, with `and`, `or` or `not`, as the bound of a slice, as an index of a list or a key
    of a dict, or given to numpy.

    ## Why is this bad?

    Inside of `jit`, `scan`, `cond` and kin each leaf is a tracer, an `int` or a `bool` like any array: it stands for
    all values. Python has to know one to decide a branch or to make an array of some shape. Without `jit` the same code
    runs.

    ## What you will see

    `jax.errors.TracerBoolConversionError: Attempted boolean conversion of traced array with shape bool[].`, `TypeError:
    Shapes must be 1D sequences of concrete values of integer type, got (JitTracer(~int32[]),).`,
    `TracerIntegerConversionError: The __index__() method was called on traced array with shape int32[]`.

    ## Example

    ```python
    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class Options:
        gain: float
        clip: bool = True

    @jax.jit
    def shape_reward(options: Options, reward: jax.Array) -> jax.Array:
        if options.clip:
            reward = jnp.clip(reward, -1.0, 1.0)
        return options.gain * reward
    ```

    ## Use instead

    ```python
    import jax
    import jax.numpy as jnp
    from flax import struct

    @struct.dataclass
    class Options:
        gain: float
        clip: bool = struct.field(pytree_node=False, default=True)

    @jax.jit
    def shape_reward(options: Options, reward: jax.Array) -> jax.Array:
        if options.clip:
            reward = jnp.clip(reward, -1.0, 1.0)
        return options.gain * reward
    ```

    ## Frameworks

    All. chex dataclasses and named tuples have no static fields: pass such a value as a static argument of its own.
    What nnx and mjx take for static by its type is not reported, nor what equinox's filtered transformations hold
    static.

    ## Fix safety

    The field is marked static in the words of its framework, if it is declared in the same file. The fix is unsafe:
    each new value compiles anew. For arrays, and for a field that an update gives another value, `jax.lax.cond` chooses
    what is returned or assigned, or `jnp.where` between arrays whose types may differ, and `jnp.logical_and` and the
    like take the place of operators. That is unsafe, too: both branches are traced, and `jax.lax.cond` wants the same
    structure and types of them. There is no fix where Python has to know the number that is chosen.

    ## When not to use it

    Code that asks for the type of a value before is not reported, nor what is tried (`try`, with a handler).
    `jax.grad` alone and `jax.vmap` with `in_axes` are not looked at: they know the values of what they do not
    differentiate or map. Nor is what is compiled in a module that turns compilation off somewhere (`jax.disable_jit`).

    ## References

    - [Errors: TracerBoolConversionError](https://docs.jax.dev/en/latest/errors.html#jax.errors.TracerBoolConversionError)
    - [optax #1730](https://github.com/google-deepmind/optax/pull/1730)
    """

    code = "JAX212"
    name = "data-field-as-static"
    group = "roles"
    since = "0.1.0"
    confidence = Confidence.MEDIUM

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Functions that something is applied to and whose text asks for something of an instance they are given."""
        applied = candidate.callers.applying(candidate.module)
        found = [f for f in candidate.functions if f.decorators or f.name in applied]
        if not found:
            return False
        called = chain(((f, candidate.module) for f in found), _called_in(candidate))
        return any(_may_ask(f, module, candidate) for f, module in called)

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at a transformed function, and at the methods of its arguments that it calls.

        An argument that is left out is no tracer: its default is what it is.
        """
        function = code.function
        traced = traced_parameters(code)
        is_mapped = not traced  # then the instances that are mapped have values of their own
        traced = traced or mapped_parameters(code)
        is_filtered = not traced  # then what is no array is static
        traced = traced or filtered_parameters(code)
        if function is None:
            return
        without = left_out(function)
        instances = {n: v for n, v in traced.items() if holds_pytrees(plain(v)) and n not in without}
        if not instances:
            return
        if all(a.transform.kind is Kind.JIT for a in code.applied) and may_run_uncompiled(code.place.module.source):
            return
        applied = tracing_arrays(code.applied) if is_filtered else abstracting(code.applied) or code.applied
        reader = _Reader(code.place.module, evaluator, code)
        for use, leaf, at, through in reader.uses(code.body, instances, function.inner_scope):
            if is_filtered and not _is_array(leaf):
                continue
            changes = is_mapped or _changes(leaf, evaluator)
            problem = _problem(at, use, leaf, function, applied[0].transform.name, through, changes=changes)
            instead = choosing_by_jax(use, code, evaluator) if at is use.at else None
            yield replace(problem, fix=instead if changes else _fix(leaf, code, evaluator) or instead)


def _number(given: Expr, leaves: TracedLeaves) -> Leaf | None:
    """The leaf that a call is given, if it is a number or an array."""
    leaf = leaves.leaf(given) if isinstance(given, (Attribute, Name)) else None
    return leaf if leaf is not None and is_number(leaf) else None


def _closures(body: Body) -> Iterator[FunctionDefinition]:
    """The functions inside of a body that are called there, or handed to something that calls them."""
    defined = [s for s in contents_of(body).statements if isinstance(s, FunctionDefinition) and not s.decorators]
    used = names_read(body) if defined else frozenset()
    yield from (inner for inner in defined if inner.name in used)


def _called_in(candidate: Candidate) -> Iterator[tuple[Function, Module]]:
    """The functions, by their names, that a piece of a module calls, or that those call; imported ones, too."""
    resolver, called, seen = (
        candidate.given.model.resolver,
        {candidate.module: candidate.unit.calls},
        set[tuple[str, str]](),
    )
    for _ in range(_MAX_DEPTH):
        found = list[tuple[Function, Module]]()
        for module, names in called.items():
            outline = module.outline
            names |= {_BY_BUILTINS[name] for name in names & _BY_BUILTINS.keys()}
            found += [(f, module) for f in outline.functions.values() if f.name in names]
            imported = sorted(names & outline.module_scope.bindings.keys() - outline.functions.keys())
            symbols = [resolver.follow(resolver.resolve_name(name, module)) for name in imported]
            found += [(s.declaration, s.module) for s in symbols if isinstance(s, FunctionSymbol)]
        found = [(f, module) for f, module in found if (module.path, f.qualname) not in seen]
        yield from found
        seen.update((module.path, f.qualname) for f, module in found)
        called = {}
        for function, module in found:
            called[module] = called.get(module, frozenset()) | piece_of(function, module.outline).calls


def _may_ask(function: Function, module: Module, candidate: Candidate) -> bool:
    """Whether a row of a body may ask for the value of a leaf of an instance that it is given."""
    if module is not candidate.module and candidate.given.takes(function, module, candidate.given.holds_numbers):
        return True
    given = candidate.given.instances(function, module)
    names = {f".{field.name}" for _, cls in given for field in cls.leaves or ()}
    names |= {"."} if has_bare_parameters(function) else set()
    rows = text_of(function, module).splitlines() if names else ()
    return any(_ASKING.search(row) and any(name in row for name in names) for row in rows)


def _changing_operand(use: Use, leaves: TracedLeaves) -> tuple[Use, Leaf]:
    """The leaf that is used, and where: of two that are compared an array, for which no static field can stand."""
    leaf, other = leaves.leaf(use.expr), use.other
    assert leaf is not None
    compared = None if other is None else leaves.leaf(other.expr)
    if other is None or compared is None or _may_be_array(leaf) or not _may_be_array(compared):
        return use, leaf
    return other, compared


def _may_be_array(leaf: Leaf) -> bool:
    """Whether a leaf may be an array."""
    return any(isinstance(option, Array) for option in options(plain(leaf.value)))


def _is_array(leaf: Leaf) -> bool:
    """Whether a leaf is an array of jax, and nothing else."""
    return all(isinstance(option, Array) and option.library == "jax" for option in options(plain(leaf.value)))


def _changes(leaf: Leaf, evaluator: Evaluator) -> bool:
    """Whether a field has other values all the time, so that it is no static one: an array, or what is computed."""
    return leaf.is_given or _may_be_array(leaf) or is_updated(leaf.field, leaf.cls, evaluator)


@proposing
def _fix(leaf: Leaf, code: CodeRead, evaluator: Evaluator) -> Proposal | None:
    """The fix: the field is static, if it is declared in the same file."""
    owner = evaluator.model.build(leaf.field.owner)
    return make_static(leaf.field, owner, code.place.module, evaluator.model)


class _Reader:
    """Reads a body and the methods that it calls."""

    def __init__(self, module: Module, evaluator: Evaluator, code: CodeRead | None = None) -> None:
        self._module = module
        #: What was read of the body itself; of those that it calls there is none.
        self._code = code
        self._evaluator = evaluator
        self._seen: set[tuple[str, str]] = set()

    def uses(
        self,
        body: Body,
        instances: Mapping[str, Value],
        scope: str,
        depth: int = 0,
        replaced: Mapping[str, frozenset[str]] | None = None,
    ) -> Iterator[tuple[Use, Leaf, object, str]]:
        """The uses of leaves, where to report each, and the function that has it if that is another one."""

        def name_of(expr: Expr) -> str:
            return self._evaluator.model.resolver.library_name(expr, self._module, scope)

        def symbol_of(expr: Expr) -> Symbol:
            return self._evaluator.model.resolver.resolve(expr, self._module, scope)

        code = self._code if self._code is not None and self._code.body is body else None
        leaves = TracedLeaves(instances, body, self._evaluator, replaced, name_of, code, symbol_of)
        parts = [part for part in contents_of(body).parts if isinstance(part, (Attribute, Call))]
        bound = bound_once(body)
        names = instances.keys() | contents_of(body).bound | (set() if code is None else code.parameters.keys())
        is_asked = not names_asked_in(body).isdisjoint(names)
        asked = parts if is_asked else []
        read = [leaf for part in asked if (leaf := leaves.leaf(part)) is not None]

        def shape(expr: Expr) -> Leaf | None:
            """The leaf that is a shape, or the number in a shape that a property gives."""
            leaf = leaves.leaf(expr)
            if leaf is not None:
                return leaf if _is_shape(leaf) else None
            return next((item for item in leaves.items(expr) if is_number(item)), None)

        shapes = [part for part in asked if shape(part) is not None] if asks_for_shapes_in(body) else []

        def kind_of(expr: Expr) -> str:
            return self._kind_of(bound.get(expr.id, expr) if isinstance(expr, Name) else expr, leaves, scope)

        uses = StaticUses(leaves.is_number, kind_of, name_of, bound).of(body) if any(map(is_number, read)) else ()
        for use in uses:
            use, leaf = _changing_operand(use, leaves)
            if not use.takes_arrays or not _may_be_array(leaf):
                yield use, leaf, use.at, ""
        for use in StaticUses(lambda e: shape(e) is not None, kind_of, name_of, bound).of(body) if shapes else ():
            leaf = shape(use.expr)
            if leaf is not None and use.how in (SHAPE, NUMPY_SHAPE):
                yield use, leaf, use.at, ""
        if depth < _MAX_DEPTH:
            for part in parts:
                yield from self._called(part, leaves, scope, depth)
                if isinstance(part, Call):
                    yield from self._given(part, leaves, scope, depth, bound)
            for inner in _closures(body):
                held = instances.keys() - inner.params - assigned_names(inner.body) - assigned_names(body)
                if held:
                    given = {name: instances[name] for name in held}
                    inside = f"{scope}.{inner.name}.<locals>"
                    yield from self.uses(inner.body, given, inside, depth + 1, replaced)

    def _given(
        self, call: Call, leaves: TracedLeaves, scope: str, depth: int, bound: Mapping[str, Expr]
    ) -> Iterator[tuple[Use, Leaf, object, str]]:
        """The uses in a function of the project that is given a traced instance, by `grad(loss)(w, state)`, too."""
        given = [(argument, leaves.traced(argument.value)) for argument in call.args]
        numbers = {id(a.value): leaf for a in call.args if (leaf := _number(a.value, leaves)) is not None}
        if call.has_star or (all(traced is None for _, traced in given) and not numbers):
            return
        call = replace(call, func=self._transformed(call.func, scope, bound))
        if self._code is not None and self._code.scope == scope:
            callee = called_by(call, self._code, self._evaluator, plainly=False)
        else:
            symbol = self._evaluator.model.resolver.resolve(call.func, self._module, scope)
            if not isinstance(symbol, FunctionSymbol) or symbol.declaration.owner:
                return
            callee = callee_of(FunctionValue(symbol), self._evaluator, plainly=False)
        if callee is not None:
            names = iter(names_by_position(callee.parameters))
            taken = {argument.keyword or next(names, ""): traced for argument, traced in given}
            for use, leaf, at in handed_numbers(call, callee, numbers, self._evaluator) if numbers else ():
                yield use, leaf, at, callee.name
            yield from self._inside(callee, {n: t for n, t in taken.items() if t is not None}, call, depth)

    def _called(
        self, expr: Expr, leaves: TracedLeaves, scope: str, depth: int
    ) -> Iterator[tuple[Use, Leaf, object, str]]:
        """The uses in a method (or a property) of a traced instance, also where `vmap(model)(x)` or `len(x)` does."""
        held = self._transformed(without_call(expr), scope, {})
        name = "__call__"
        match expr:
            case Call(func=Name(id=builtin), args=(given,)) if builtin in _BY_BUILTINS and not given.star:
                held, name = given.value, _BY_BUILTINS[builtin]
        traced = leaves.traced(held) if isinstance(expr, Call) else None
        if traced is None:
            if not isinstance(held, Attribute):
                return
            traced, name = leaves.traced(held.value), held.attr
        if traced is None:
            return
        instance = traced.value
        if is_overridden(name, instance, self._evaluator) or (
            name in _OF_MAPPINGS and instance.cls.is_mapping is not False
        ):
            return
        getter = None if isinstance(expr, Call) else self._evaluator.getter(instance.cls, name)
        found = instance.cls.method(name) if isinstance(expr, Call) else None
        symbol = getter or (None if found is None else FunctionSymbol(found[0].module, found[1]))
        if symbol is None or symbol.declaration.self_name is None:
            return
        if isinstance(expr, Attribute) or not symbol.declaration.decorators:
            method = declared(symbol, self._evaluator)
            yield from self._inside(method, {symbol.declaration.self_name: traced}, expr, depth)

    def _transformed(self, expr: Expr, scope: str, bound: Mapping[str, Expr]) -> Expr:
        """What a transformation makes another function of, which may be in a variable."""
        expr = bound.get(expr.id, expr) if isinstance(expr, Name) else expr
        if isinstance(expr, Call) and expr.positional:
            name = self._evaluator.model.resolver.library_name(expr.func, self._module, scope)
            if name in TRANSFORMS and not TRANSFORMS[name].runs:
                return expr.positional[0]
        return expr

    def _inside(
        self, callee: Callee, given: Mapping[str, Traced], expr: Expr, depth: int
    ) -> Iterator[tuple[Use, Leaf, object, str]]:
        """The uses in a function that an expression calls with traced instances, by the names of its parameters."""
        key = (callee.module.path, callee.scope)
        if key in self._seen:
            return
        self._seen.add(key)
        inside = _Reader(callee.module, self._evaluator)
        inside._seen = self._seen
        instances = {name: traced.value for name, traced in given.items()}
        replaced = {name: traced.replaced for name, traced in given.items()}
        for use, leaf, at, through in inside.uses(callee.body, instances, callee.scope, depth + 1, replaced):
            here = callee.module is self._module
            yield use, leaf, at if here else expr.at, through or callee.name

    def _kind_of(self, expr: Expr, leaves: TracedLeaves, scope: str) -> str:
        """Whether an expression is a list, a tuple or a dict of Python."""
        leaf = leaves.leaf(expr)
        if leaf is not None:
            value = plain(leaf.value)
            return value.kind if isinstance(value, Container) else ""
        match expr:
            case Display(kind=kind):
                return kind
            case DictDisplay():
                return "dict"
            case Name():
                symbol = self._evaluator.model.resolver.resolve(expr, self._module, scope)
                if isinstance(symbol, ValueSymbol) and isinstance(symbol.assignment.value, (Display, DictDisplay)):
                    return self._kind_of(symbol.assignment.value, leaves, scope)
        return ""


def _is_shape(leaf: Leaf) -> bool:
    """Whether a leaf is a tuple or a list of numbers."""
    value = plain(leaf.value)
    if not isinstance(value, Container) or value.kind not in ("tuple", "list", "sequence"):
        return False
    parts = value.items if value.items is not None else (value.element,)
    return bool(parts) and all(isinstance(p, Scalar) and p.kind == "int" for p in parts)


def _problem(
    at: object, use: Use, leaf: Leaf, function: Function, transform: str, through: str, *, changes: bool
) -> Problem:
    instead, alone = INSTEAD.get(use.how), f"pass `{leaf.field.name}` as a static argument of its own"
    if changes:
        way_out = instead or alone
    else:
        way_out = marking_help(leaf.field, leaf.cls) or (f"{instead}, or {alone}" if instead else alone)
    of = f"`{through}`, which `{function.name}` calls," if through else f"`{function.name}`"
    return Problem(
        at=at,
        message=(
            f"field `{leaf.field.name}` of `{leaf.cls.name}` is a leaf, which is traced in `{function.name}`"
            f" (`{transform}`), and {of} needs its value {use.how}: {ERRORS[use.how]}; {way_out}"
        ),
        reason="inside of a transformation each leaf is a tracer, which stands for all values",
        help=way_out,
        subject=f"{leaf.field.owner.full_name}.{leaf.field.name}",
    )
