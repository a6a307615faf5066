"""JAX507 callable-leaf."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from jaxlint.cst.changes import Proposal
from jaxlint.finding import Confidence
from jaxlint.infer.calls.transformed_classes import instances_in
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Cross
from jaxlint.infer.known.values import UNKNOWN, Choice, Container, Instance, UnknownValue, Value, plain
from jaxlint.infer.transforms.applied import Applied
from jaxlint.libraries.transforms import LAST_NAMES, OF_EQUINOX, TRANSFORMS, Kind
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.frameworks import EQUINOX
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.rules.analyses.changes.optimizer_states import keeps
from jaxlint.rules.analyses.fields.functions_held import is_function, lists_function
from jaxlint.rules.analyses.fixes.filtering import filtered_ones, filtering, of_arrays, using
from jaxlint.rules.analyses.instances.given_literals import around, is_given_only
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.analyses.instances.makers import makers
from jaxlint.rules.analyses.instances.passed import calls_of, parameter_of
from jaxlint.rules.analyses.under_trace.leaf_arithmetic import computed_trees
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.symbols.links import Imports
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Display, Expr, Name, dotted, last_name
from jaxlint.syntax.statements import Assign, assigned_names, bound_names

#: Layers of equinox whose leaves are functions, among others: activations, and what a pool takes of its windows.
_LAYERS = frozenset(
    {"MLP", "Lambda", "Pool", "AdaptivePool"}
    | {f"{kind}Pool{n}d" for kind in ("Avg", "Max", "AdaptiveAvg", "AdaptiveMax") for n in (1, 2, 3)}
)
#: What makes such layers, or looks at all leaves.
_CALLS = _LAYERS | LAST_NAMES | {"apply_updates", "init", "map", "tree_map"}
_MAX_DEPTH = 3
_REFUSING = (Kind.JIT, Kind.GRAD, Kind.LOOP, Kind.CHECKPOINT)
#: Takes slices of all leaves of some arguments, and hands the others on as they are.
_MAPPING = "jax.vmap"


class CallableLeaf(BodyRule):
    """
    ## What it does

    Finds equinox modules with functions among their leaves that are given to `jax.jit`, `jax.grad` and kin, to the
    `init` of an optimizer, or to `optax.apply_updates`, or whose leaves `jax.tree.map` computes with.

    ## Why is this bad?

    An activation function is a leaf of `eqx.nn.MLP` and of `eqx.nn.Lambda`, the operation one of `eqx.nn.MaxPool2d` and
    its kin, and so is each field of yours that holds a function and is not static. JAX and optax take leaves for
    arrays.

    ## What you will see

    `TypeError: Error interpreting argument to <function loss> as an abstract array. The problematic value is of type
    <class 'jax._src.custom_derivatives.custom_jvp'> and was passed to the function at path model.activation.`; from
    optax, `TypeError: zeros_like requires ndarray or scalar arguments, got <class 'custom_jvp'>`.

    ## Example

    ```python
    import equinox as eqx
    import jax
    import optax

    def begin(key: jax.Array):
        model = eqx.nn.MLP(2, 1, 8, 2, key=key)
        optimizer = optax.adam(1e-3)
        return model, optimizer.init(model)
    ```

    ## Use instead

    ```python
    import equinox as eqx
    import jax
    import optax

    def begin(key: jax.Array):
        model = eqx.nn.MLP(2, 1, 8, 2, key=key)
        optimizer = optax.adam(1e-3)
        return model, optimizer.init(eqx.filter(model, eqx.is_inexact_array))
    ```

    ## Frameworks

    equinox. `eqx.filter_jit` and `eqx.filter_grad` hold functions static.

    ## Fix safety

    The module is filtered for the optimizer, and a transformation becomes equinox's, if it has no options. The fix is
    unsafe: what `optimizer.update` is given has to be filtered, too, and functions are compared when they are static.

    ## When not to use it

    Of optimizers those are reported that keep moments, such as `optax.adam`: `optax.sgd` looks at no leaf in `init`.
    If the transformation is a wrapper of your own that takes functions out, suppress the finding.

    ## References

    - [equinox #1127](https://github.com/patrick-kidger/equinox/issues/1127), [equinox #69](https://github.com/patrick-kidger/equinox/issues/69)
    - [equinox FAQ](https://docs.kidger.site/equinox/faq/)
    """

    code = "JAX507"
    name = "callable-leaf"
    group = "transformations"
    since = "0.1.0"
    confidence = Confidence.MEDIUM

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Calls that make layers, transform or optimize, where equinox is imported; else those that optimize."""
        calls = candidate.unit.calls
        if _may_see_equinox(candidate.module.outline.imported_modules):
            return not calls.isdisjoint(_CALLS)
        return "init" in calls and _may_be_given_modules(candidate.module, candidate.given.model)

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what goes into transformations and optimizers."""
        if not _may_see_equinox(code.place.module.outline.imported_modules):
            if "init" in code.contents.called and _may_be_given_modules(code.place.module, evaluator.model):
                yield from _optimized(code, _Modules(code, evaluator), evaluator)
            return
        for event in code.events:
            if isinstance(event, Cross) and event.static is False:
                taken = [one for one in event.applied if _takes_leaves(one, event)]
                held = _layer(event.value, evaluator) if _is_whole(event.value, code, evaluator) else None
                if taken and held is not None:
                    name, fix = f"`{taken[0].transform.name}`", filtered_ones(taken, event, evaluator)
                    yield _problem(event.at, held, name, filtering(taken[0].transform.name), fix)
        instances = _Modules(code, evaluator)
        yield from _optimized(code, instances, evaluator)
        yield from _directly_transformed(code, instances, evaluator)
        for trees in computed_trees(code, evaluator):
            found = ((tree, held) for tree in trees if (held := _made_layer(tree, code, evaluator)) is not None)
            for tree, held in islice(found, 1):
                way_out = "map over `eqx.filter(model, eqx.is_inexact_array)`"
                yield _problem(tree.at, held, "the arithmetic of `jax.tree.map`", way_out)


def _takes_leaves(applied: Applied, event: Cross) -> bool:
    """Whether a transformation takes what goes into it for arrays, leaf by leaf."""
    function, name = event.function, event.parameter
    if applied.transform.name == _MAPPING and "in_axes" in applied.options:
        return function is not None and name is not None and name in applied.mapped_parameters(function)
    refuses = applied.transform.kind in _REFUSING or applied.transform.name == _MAPPING
    if not refuses or not applied.refuses_non_arrays:
        return False
    return function is None or name is None or name in applied.rebuilt_parameters(function)


def _made_layer(tree: Expr, code: CodeRead, evaluator: Evaluator) -> str | None:
    """What holds functions in an instance that is seen to be made: what is annotated so may have lost them."""
    made = plain(LocalInstances.of(code, evaluator).value(tree))
    return _layer(made, evaluator) if isinstance(made, Instance) and made.exact else None


def _is_whole(value: Value, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a value is not the part of modules that are arrays: it is annotated like the whole."""
    if not evaluator.traced.is_filtered(code.place.module):
        return True
    made = plain(value)
    return isinstance(made, Instance) and made.exact


@lru_cache(maxsize=8)
def _may_see_equinox(imported: Imports) -> bool:
    """Whether a module imports equinox; one without imports is not asked for them."""
    return not imported or any(name.partition(".")[0] == "equinox" for _, name in imported)


def _may_be_given_modules(module: Module, model: PytreeModel) -> bool:
    """Whether a module that imports optax, and no equinox, is imported by one that does."""
    if not any(name.partition(".")[0] == "optax" for _, name in module.outline.imported_modules):
        return False
    return any(_may_see_equinox(importer.outline.imported_modules) for importer in model.importers(module))


def _layer(value: Value, evaluator: Evaluator) -> str | None:
    """What holds functions in a module, or in those in a container: a layer of equinox, or a list in a constructor."""
    whole = instances_in(value, other_trees=False)
    return next((name for cls in whole if (name := _layer_in(cls, evaluator, 0)) is not None), None)


def _layer_in(cls: PytreeClass, evaluator: Evaluator, depth: int) -> str | None:
    if cls.framework is not EQUINOX or depth > _MAX_DEPTH:
        return None
    if _is_layer(cls.symbol.full_name) or lists_function(cls, evaluator):
        return cls.name
    for field in cls.fields:
        if field.role is Role.LEAF and field.annotation is not None and not field.is_converted:
            inner = _layer_held(evaluator.promises.field(field, cls), evaluator, depth + 1)
            if inner is not None:
                return inner
    return None


def _layer_held(value: Value, evaluator: Evaluator, depth: int) -> str | None:
    """What holds functions in what a field holds; of several that it may hold, each has to."""
    match plain(value):
        case Instance(cls=cls):
            return _layer_in(cls, evaluator, depth)
        case Container(kind="list" | "tuple", items=items, element=element) if depth <= _MAX_DEPTH:
            held = items if items is not None else (element,)
            return next((name for one in held if (name := _layer_held(one, evaluator, depth + 1))), None)
        case Choice(options=choices):
            names = [_layer_held(one, evaluator, depth + 1) for one in choices]
            return names[0] if None not in names else None
    return None


def _is_layer(name: str) -> bool:
    """Whether a class of this full name is such a layer, whichever module of equinox declares it."""
    return name.startswith("equinox.nn.") and name.rpartition(".")[2] in _LAYERS


def _holder(value: Value, evaluator: Evaluator, depth: int = 0) -> str | None:
    """The class of a module, or of one that it holds, with a leaf that is annotated with a function."""
    held = plain(value)
    if isinstance(held, Container) and held.kind in ("list", "tuple") and held.items is None:
        held = plain(held.element)
    if not isinstance(held, Instance) or held.cls.framework is not EQUINOX or depth > _MAX_DEPTH:
        return None
    leaves = [f for f in held.cls.fields if f.role is Role.LEAF and f.annotation is not None]
    for field in leaves:
        if evaluator.promises.non_array(field) == "a function" and (
            _defaults_to_function(field, held.cls, evaluator)
            if field.has_default
            else depth == 0 or _is_given_function(field, held.cls, evaluator)
        ):
            return held.cls.name
    leaves = [field for field in leaves if not field.has_default]
    inner = (_holder(evaluator.promises.field(f, held.cls), evaluator, depth + 1) for f in leaves if not f.is_converted)
    return next((name for name in inner if name is not None), None)


def _defaults_to_function(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether the default of a field is a function, and no method puts anything else in its place."""
    placed = [field.default, *cls.assigned.get(field.name, ())]
    return all(one is not None and is_function(evaluator.static(one)) for one in placed)


def _is_given_function(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether all that is seen to be put there are functions of libraries; what is not seen may be modules.

    That is what the constructor stores, what the project gives it, or the default of a parameter that it stores.
    """
    found = cls.method("__init__")
    if found is None:
        return is_given_only(lambda placed: is_function(evaluator.static(placed)), field, cls, evaluator)
    owner, init = found
    placed = cls.assigned.get(field.name, ()) if owner is cls else ()
    if placed and all(one is not None and is_function(evaluator.static(one)) for one in placed):
        return True
    bound = assigned_names(evaluator.calls.body_of(FunctionSymbol(owner.module, init)) or ())
    given = {a.value.id for a in init.self_assignments if a.attr == field.name and isinstance(a.value, Name)}
    stored = given.difference(bound)
    defaults = [p.default for p in init.parameters if p.name in stored and p.default is not None]
    if any(evaluator.model.resolver.library_name(d, owner.module, init.scope) for d in defaults):
        return True
    if owner is not cls or len(stored) != 1 or len(cls.assigned.get(field.name, ())) != 1:
        return False
    (name,) = stored
    calls = calls_of(init, cls.module, around(cls, evaluator), evaluator)
    values = [Placed(c.given[name], c.module, c.scope) if name in c.given else None for c in calls]
    return bool(values) and all(one is not None and _gives_function(one, evaluator) for one in values)


def _gives_function(placed: Placed, evaluator: Evaluator) -> bool:
    """Whether an expression is a function, or a parameter that is one if nothing else is passed."""
    expr, function = placed.expr, placed.module.outline.function_of(placed.scope)
    if isinstance(expr, Name) and function is not None:
        defaults = [p.default for p in function.parameters if p.name == expr.id and p.default is not None]
        placed = Placed(defaults[0], placed.module, function.scope) if defaults else placed
    return is_function(evaluator.static(placed))


def _directly_transformed(code: CodeRead, instances: _Modules, evaluator: Evaluator) -> Iterator[Problem]:
    """The modules of unknown classes that `jax.grad(f)(model)` is given, and kin, by what makes them."""
    module, resolver = code.place.module, evaluator.model.resolver
    for call in code.calls:
        made = call.func
        if not isinstance(made, Call) or len(made.args) != 1 or last_name(made.func) not in LAST_NAMES:
            continue
        name = resolver.library_name(made.func, module, code.scope)
        kind = TRANSFORMS[name].kind if name in OF_EQUINOX and name in TRANSFORMS else None
        for given in call.positional[: 1 if kind is Kind.GRAD else None] if kind in _REFUSING else ():
            held = instances.made_holder(given) if isinstance(given, Name) and not instances.is_known(given) else None
            if held is not None:
                fix = using(name, made.func.at, module, evaluator)
                yield _problem(given.at, held, f"`{name}`", filtering(name), fix)


def _optimized(code: CodeRead, instances: _Modules, evaluator: Evaluator) -> Iterator[Problem]:
    """The modules that an optimizer is given as they are."""
    for call in code.calls:
        if len(call.positional) != len(call.args) or not call.args:
            continue
        given, what = call.args[0].value, ""
        match call.func:
            case Attribute(value=held, attr="init") if instances.is_optimizer(held) and len(call.args) == 1:
                what = f"`{dotted(call.func) or 'init'}`"
            case _:
                resolver = evaluator.model.resolver
                if resolver.library_name(call.func, code.place.module, code.scope) == "optax.apply_updates":
                    what = "`optax.apply_updates`"
        if instances.is_half(given):
            continue
        held_in = (instances.holder(given) or instances.made_holder(given)) if what else None
        if not what and isinstance(call.func, Attribute) and call.func.attr == "init" and len(call.args) == 1:
            what, held_in = f"`{dotted(call.func) or 'init'}`", instances.passed_holder(call.func.value, given)
        if held_in is not None:
            if "apply" in what:
                fix = using("optax.apply_updates", call.func.at, code.place.module, evaluator)
                yield _problem(given.at, held_in, what, "use `eqx.apply_updates`", fix)
            else:
                way_out, fix = "give it `eqx.filter(model, eqx.is_inexact_array)`", of_arrays(given, code, evaluator)
                yield _problem(given.at, held_in, what, way_out, fix)


class _Modules:
    """Tells which variables are modules that hold functions, and which are optimizers."""

    def __init__(self, code: CodeRead, evaluator: Evaluator) -> None:
        self._instances = LocalInstances.of(code, evaluator)
        self._evaluator = evaluator
        self._code = code
        self._made: dict[str, list[Expr]] = {}
        combined = (call for call in code.calls if last_name(call.func) == "combine")
        #: The variables that are parts of modules, those with the arrays or those without, whatever annotations say.
        self._halves = {part.id for call in combined for part in call.positional if isinstance(part, Name)}
        for statement in code.statements:
            match statement:
                case Assign(targets=(Name(id=name),), value=value):
                    self._made.setdefault(name, []).append(value)

    def _name(self, expr: Expr) -> str:
        return self._evaluator.model.resolver.library_name(expr, self._code.place.module, self._code.scope)

    def is_optimizer(self, expr: Expr) -> bool:
        """Whether an expression certainly is an optimizer of optax; one that is seen to be made keeps moments.

        Others have nothing to begin with: `optax.sgd(0.1)` looks at no leaf.
        """
        made = self._made.get(expr.id, []) if isinstance(expr, Name) else []
        if made:
            return all(map(self._keeps, made))
        declared = self._declared(expr)
        if declared is not None:
            if self._evaluator.traced.is_filtered(self._code.place.module):
                return False  # the part that holds the arrays is annotated like the whole
            resolver = self._evaluator.model.resolver
            return resolver.library_name(declared.expr, declared.module, declared.scope).startswith("optax.")
        return self._keeps(expr)

    def _declared(self, expr: Expr) -> Placed | None:
        """The annotation of a parameter, here or around, or of an attribute of `self` or what is stored there."""
        place, here = self._code.place, self._code.function
        around = (*place.functions, here) if here is not None and here not in place.functions else place.functions
        match expr:
            case Name(id=name):
                return next((p for f in reversed(around) if (p := _annotated(f, name, place.module))), None)
            case Attribute(value=Name(id=own), attr=attr):
                owner, method = place.owner, place.method
                if owner is None or method is None or method.self_name != own:
                    return None
                field, init = owner.field(attr), owner.method("__init__")
                given = [a.value for a in init[1].self_assignments if a.attr == attr] if init is not None else []
                if init is not None and len(given) == 1 and isinstance(given[0], Name):
                    return _annotated(init[1], given[0].id, init[0].module)
                return None if given or field is None or field.has_default else field.annotation
        return None

    def _keeps(self, expr: Expr) -> bool:
        return keeps(expr, self._code.place.module, self._code.scope, self._evaluator)

    def is_half(self, expr: Expr) -> bool:
        """Whether an expression is put together with another part, so that it may hold the arrays alone."""
        return isinstance(expr, Name) and expr.id in self._halves

    def holder(self, expr: Expr) -> str | None:
        """What holds functions in the module that an expression is."""
        if isinstance(expr, Name):
            row = place_of(expr.at).row
            before = [made for made in self._made.get(expr.id, []) if place_of(made.at).row < row]
            name = self._name(before[-1].func) if before and isinstance(before[-1], Call) else ""
            if _is_layer(name):
                return name.rpartition(".")[2]
        instance = self._instances.instance(expr) or self._given(expr)
        if instance is None or instance.is_other_tree or instance.cls.framework is not EQUINOX:
            return None
        if not _is_whole(instance, self._code, self._evaluator):
            return None
        return _layer(instance, self._evaluator) or _holder(instance, self._evaluator)

    def passed_holder(self, optimizer: Expr, module: Expr) -> str | None:
        """What holds functions in the module that some caller passes to the function, with an optimizer or beside one.

        What a variable of the caller holds counts as what it is given there.
        """
        function, home, evaluator = self._code.function, self._code.place.module, self._evaluator
        parameters = parameter_of(optimizer, self._code), parameter_of(module, self._code)
        if function is None or None in parameters:
            return None
        for called in calls_of(function, home, (home, *evaluator.model.importers(home)), evaluator):
            made, given = (called.given.get(name) for name in parameters if name is not None)
            if made is None or given is None or not keeps(made, called.module, called.scope, evaluator):
                continue
            layers = (self._made_holder(one) for one in makers(Placed(given, called.module, called.scope), evaluator))
            found = next((name for name in layers if name is not None), None)
            if found is not None:
                return found
        return None

    def is_known(self, expr: Expr) -> bool:
        """Whether it is known what an expression is, so that what it goes into has been looked at."""
        return not isinstance(self._instances.value(expr), UnknownValue)

    def made_holder(self, module: Expr) -> str | None:
        """What holds functions in the module that an expression is by what makes it, here or in some caller."""
        placed = Placed(module, self._code.place.module, self._code.scope)
        found = (self._made_holder(made) for made in makers(placed, self._evaluator))
        return next((name for name in found if name is not None), None)

    def _made_holder(self, made: Placed, depth: int = 0) -> str | None:
        """What holds functions in the module that a call makes, itself or in the function of the project that it is."""
        call = made.expr
        if not isinstance(call, Call) or depth > _MAX_DEPTH:
            return None
        resolver = self._evaluator.model.resolver
        name = resolver.library_name(call.func, made.module, made.scope)
        if _is_layer(name):
            return name.rpartition(".")[2]
        if name == "equinox.nn.Sequential":
            layers = call.positional[0].items if call.positional and isinstance(call.positional[0], Display) else ()
            within = [Placed(layer, made.module, made.scope) for layer in layers]
        else:
            symbol = resolver.follow(resolver.resolve(call.func, made.module, made.scope))
            cls = self._evaluator.model.class_of_symbol(symbol)
            if cls is not None:
                held = Instance(cls, exact=True)
                return _layer(held, self._evaluator) or _holder(held, self._evaluator)
            within = list(_returned(symbol, self._evaluator)) if isinstance(symbol, FunctionSymbol) else []
        found = (self._made_holder(one, depth + 1) for one in within)
        return next((name for name in found if name is not None), None)

    def _given(self, expr: Expr) -> Instance | None:
        """The instance that a parameter is until it is bound anew."""
        if not isinstance(expr, Name):
            return None
        row = place_of(expr.at).row
        bound = [s for s in self._code.statements if expr.id in bound_names(s)]
        given = plain(self._code.parameters.get(expr.id, UNKNOWN))
        return given if isinstance(given, Instance) and all(row < s.at.lineno for s in bound) else None


def _annotated(function: Function, name: str, module: Module) -> Placed | None:
    """The annotation of a parameter."""
    annotations = (p.annotation for p in function.parameters if p.name == name and p.annotation is not None)
    annotation = next(annotations, None)
    return None if annotation is None else Placed(annotation, module, function.scope)


def _returned(function: FunctionSymbol, evaluator: Evaluator) -> Iterator[Placed]:
    """The calls that make what a function returns, if it returns one thing and nothing is done with that."""
    declaration = function.declaration
    returned = declaration.return_values if not declaration.decorators and not declaration.is_generator else ()
    if len(returned) == 1:
        placed = Placed(returned[0], function.module, declaration.inner_scope)
        yield from makers(placed, evaluator, by_callers=False)


def _problem(at: object, held: str, function: str, way_out: str, fix: Proposal | None = None) -> Problem:
    return Problem(
        at=at,
        message=f"{function} is given a module with functions as leaves, those of `{held}`: TypeError; {way_out}",
        reason="leaves are taken for arrays, and a function is none",
        help=way_out,
        fix=fix,
    )
