"""JAX313 dropped-field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxlint.finding import Confidence, Severity
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, CodeRead, Construct, Event, Place, Replace
from jaxlint.infer.known.values import Array, Instance, Scalar, plain
from jaxlint.infer.transforms.applied import abstracting, rebuilt_parameters
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.pytrees.registration import list_problems
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.analyses.instances.methods import MAKING
from jaxlint.rules.analyses.instances.origins import argument_at
from jaxlint.rules.analyses.rebuilding.beside_tuple import BesideTuple, beside_tuple, is_missed
from jaxlint.rules.analyses.rebuilding.frozen import in_construction
from jaxlint.rules.analyses.under_trace.traced import is_made_to_cross, is_seen_to_cross
from jaxlint.rules.base import BodyRule, EventRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Constant,
    Expr,
    Lambda,
    Name,
    dotted,
    forced_assignment,
    is_number,
    last_name,
    same,
)
from jaxlint.syntax.statements import (
    Assign,
    Body,
    Return,
    Statement,
    all_parts,
    bound_names,
    parts,
    target_names,
    walk,
)


class DroppedField(EventRule, BodyRule):
    """
    ## What it does

    Finds values that are put into a field outside of the pytree: one of `drop_fields`, one with `init=False` that
    neither list of `register_dataclass` names, or one with `init=False` in jax_dataclasses and tjax; and attributes
    that the `__new__` of a named tuple keeps beside its fields.

    ## Why is this bad?

    Flattening leaves the field out. Whenever the instance is rebuilt, by `jit`, `vmap`, `jax.tree.map`, the field has
    its default again, or what `__post_init__` gives it.

    ## What you will see

    No error. The field is `None` or `0.0` after the first compiled call.

    ## Example

    ```python
    import dataclasses
    import functools

    import jax

    @functools.partial(jax.tree_util.register_dataclass, data_fields=["x"], meta_fields=[], drop_fields=["cache"])
    @dataclasses.dataclass
    class State:
        x: jax.Array
        cache: float = 0.0

    @jax.jit
    def step(state: State) -> State:
        return State(x=state.x + 1, cache=1.0)
    ```

    ## Use instead

    ```python
    import dataclasses
    import functools

    import jax

    @functools.partial(jax.tree_util.register_dataclass, data_fields=["x", "cache"], meta_fields=[])
    @dataclasses.dataclass
    class State:
        x: jax.Array
        cache: float = 0.0

    @jax.jit
    def step(state: State) -> State:
        return State(x=state.x + 1, cache=1.0)
    ```

    ## Frameworks

    `jax.tree_util.register_dataclass` with lists, jax_dataclasses, tjax, and NamedTuple. What the flattening of one's
    own forgets is JAX112's. A field that `drop_fields` names is meant to stay behind: what is put into it is only
    reported where a compiled function puts it there and returns the instance, or where a compiled one computes with the
    field, and is given the instance by the code that makes it, or a function returns that.

    ## Fix safety

    Where the default is a number, the name goes from `drop_fields` to `data_fields`; where it is a text, to
    `meta_fields`. So does `init=False`, if no field behind it is passed by position. The fix is unsafe: the pytree has
    one more leaf then, or more aux data.

    ## When not to use it

    A cache that is filled again when it is empty may be dropped. Where no instance is seen to go into a transformation,
    only what is put into an instance that is returned is reported, and only if a call registers its class.

    ## References

    - [jax.tree_util.register_dataclass](https://docs.jax.dev/en/latest/_autosummary/jax.tree_util.register_dataclass.html)
    """

    code = "JAX313"
    name = "dropped-field"
    group = "construction"
    severity = Severity.WARNING
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    events = (AssignAttribute, Construct, Replace)

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Methods that assign to a field of `self` which is no part of the pytree, and `__new__` of named tuples."""
        functions = candidate.functions
        return any(_assigns_dropped(one, candidate) or _makes_tuple(one, candidate) for one in functions)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what is put into fields."""
        match event:
            case AssignAttribute(receiver=receiver, attr=attr):
                if event.how == "delete" or not event.may_take_effect or in_construction(event):
                    return
                yield from _dropped(event.at, receiver.cls, attr, event.place, evaluator, event.receiver_text)
            case Construct(cls=made, arguments=given):
                for argument in given:
                    if _is_taken(argument.name, made.cls):
                        yield from _dropped(argument.at, made.cls, argument.name, event.place, evaluator)
            case Replace(receiver=receiver, keywords=given):
                for keyword in given:
                    if _is_taken(keyword.name, receiver.cls):
                        yield from _dropped(keyword.at, receiver.cls, keyword.name, event.place, evaluator)

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what is put into frozen instances past their class by others, and what tuples keep beside fields."""
        for beside in beside_tuple(code):
            if is_seen_to_cross(beside.cls, evaluator) and is_missed(beside, evaluator):
                yield _beside(beside)
        for call in code.calls:
            forced = forced_assignment(call) if last_name(call.func) == "__setattr__" else None
            if forced is None:
                continue
            base, attr, _ = forced
            instance = LocalInstances.of(code, evaluator).instance(base)
            if instance is not None and instance.cls.frozen is True and code.place.owner not in instance.cls.mro:
                variable = base.id if isinstance(base, Name) else None
                yield from _dropped(call.at, instance.cls, attr, code.place, evaluator, variable)


def _beside(beside: BesideTuple) -> Problem:
    """The problem of what the `__new__` of a named tuple keeps beside the fields."""
    way_out = _as_field(beside)
    is_reset = beside.parameter.default is not None
    then = f"`{beside.parameter.name}` has its default again" if is_reset else "`__new__` fails (TypeError)"
    return Problem(
        at=beside.at,
        message=(
            f"`{beside.attr}` is no field of `{beside.cls.name}`: when the instance goes through a transformation, it"
            f" is made anew of its fields, and {then}; {way_out}"
        ),
        reason="jax calls the class of a named tuple with its fields, and with nothing else",
        help=way_out,
    )


def _as_field(beside: BesideTuple) -> str:
    """How what a named tuple keeps beside its fields becomes part of an instance: all fields of a tuple are leaves."""
    attr, default, annotation = beside.attr, beside.parameter.default, beside.parameter.annotation
    kind = default.kind if isinstance(default, Constant) else "" if annotation is None else last_name(annotation)
    as_meta = f"make `{beside.cls.name}` a dataclass that is registered with `{attr}` in `meta_fields`"
    if kind in ("str", "bytes"):
        return as_meta
    return f"make `{attr}` a field" + (
        "" if kind in ("int", "float", "Array") else f", or if it is no array, {as_meta}"
    )


def _assigns_dropped(function: Function, candidate: Candidate) -> bool:
    """Whether a method assigns to such a field, other than while an instance is made."""
    if function.owner is None or not function.self_assignments or function.name in MAKING:
        return False
    fields = map(candidate.cls(function.owner).field, {one.attr for one in function.self_assignments})
    return any(field is not None and field.role is Role.DROPPED for field in fields)


def _makes_tuple(function: Function, candidate: Candidate) -> bool:
    """Whether a function is the `__new__` of a named tuple."""
    if function.owner is None or function.name != "__new__":
        return False
    return candidate.cls(function.owner).framework.is_tuple


def _is_taken(name: str, cls: PytreeClass) -> bool:
    """Whether the constructor takes a field."""
    field = cls.field(name)
    return field is not None and field.init


def _dropped(
    at: object, cls: PytreeClass, name: str, place: Place, evaluator: Evaluator, variable: str | None = None
) -> Iterator[Problem]:
    """The problem of what is put into a field of an instance, which is in a variable or made there."""
    field = cls.field(name)
    if field is None or field.role is not Role.DROPPED:
        return
    from jaxlint.rules.analyses.fixes.kept_fields import keep_dropped, keeping_help

    problems = list_problems(cls)
    if problems is not None and problems.are_refused:
        return  # JAX104 says that the class cannot be registered
    compiled = any(place.applied(function) for function in place.functions)
    if not (compiled or is_seen_to_cross(cls, evaluator)):
        # what a class that is registered for nothing else hands on: a cache that it fills for itself is none of that
        if not (is_made_to_cross(cls, evaluator) and _is_returned(at, variable, place, evaluator)):
            return
    is_named = cls.lists is not None and name in (cls.lists.dropped or ())
    if is_named:
        comes_out = _is_returned(at, variable, place, evaluator) and (compiled or _is_passed_on(place, evaluator))
        if not comes_out and not _is_missed(at, field, cls, place, evaluator):
            return
    way_out = keeping_help(field, cls, evaluator)
    yield Problem(
        at=at,
        message=(
            f"`{name}` of `{cls.name}` is no part of the pytree: what is put into it is lost when the instance goes"
            f" through a transformation; {way_out}"
        ),
        reason="a field that is dropped has its default again whenever the instance is rebuilt",
        help=way_out,
        fix=keep_dropped(field, cls, place.module, evaluator),
    )


def _is_missed(at: object, field: Field, cls: PytreeClass, place: Place, evaluator: Evaluator) -> bool:
    """Whether an instance with another number for a field than its default goes where that is computed with.

    A function returns it, or the code that makes it gives it to a compiled function: that computes with the default,
    whatever the field was given.
    """
    default, function = _made_by_default(field, evaluator), place.function
    if default is None or cls.method("__post_init__") is not None:
        return False
    if function is None:
        body = evaluator.calls.top_level(place.module)
    else:
        body = evaluator.calls.body_of(FunctionSymbol(place.module, function)) or ()
    given = argument_at(at, body)
    if given is None or same(given[1], default):
        return False
    if _is_given(given[0], field.name, cls, body, place, evaluator):
        return True
    if isinstance(given[1], Constant) or not _is_returned(at, None, place, evaluator):
        return False
    modules = (cls.module,) if cls.module is place.module else (cls.module, place.module)
    return any(
        _is_computed_with(field.name, cls, FunctionSymbol(module, other), evaluator)
        for module in modules
        for other in module.outline.functions.values()
    )


def _made_by_default(field: Field, evaluator: Evaluator) -> Expr | None:
    """The number that a field has by default, or the array or number that its factory makes: `lambda: jnp.ones(3)`."""
    if field.default is not None:
        return field.default.expr if is_number(field.default.expr) else None
    factory = field.factory
    if factory is None or not isinstance(factory.expr, Lambda) or factory.expr.params:
        return None
    made = factory.expr.body
    held = plain(evaluator.static(Placed(made, factory.module, factory.scope)))
    return made if isinstance(held, Array) or (isinstance(held, Scalar) and is_number(made)) else None


def _is_given(made: Call, name: str, cls: PytreeClass, body: Body, place: Place, evaluator: Evaluator) -> bool:
    """Whether a body gives what it makes, by itself or by a variable, to a function that computes with a field."""
    resolver = evaluator.model.resolver
    scope = "" if place.function is None else place.function.inner_scope
    binding: dict[str, list[Statement]] = {}
    for statement in walk(body, nested=False):
        for bound in bound_names(statement):
            binding.setdefault(bound, []).append(statement)
    for call in (part for part in all_parts(body, nested=False) if isinstance(part, Call)):
        if any(_is_what_was_made(argument.value, made, call, binding) for argument in call.args):
            symbol = resolver.follow(resolver.resolve(call.func, place.module, scope))
            if isinstance(symbol, FunctionSymbol) and _is_computed_with(name, cls, symbol, evaluator):
                return True
    return False


def _is_what_was_made(expr: Expr, made: Call, call: Call, binding: Mapping[str, list[Statement]]) -> bool:
    """Whether a call is given what another one makes: at once, or by a variable that is given nothing else before.

    What the variable is given of the call itself comes later: `state = step(state)`.
    """
    if not isinstance(expr, Name):
        return expr is made
    bound = binding.get(expr.id, ())
    before = [s for s in bound if not (isinstance(s, Assign) and any(part is call for part in parts(s.value)))]
    return len(before) == 1 and isinstance(before[0], Assign) and before[0].value is made


def _is_computed_with(name: str, cls: PytreeClass, function: FunctionSymbol, evaluator: Evaluator) -> bool:
    """Whether a compiled function computes with the field of an instance that it takes, or a method that it calls."""
    applied = abstracting(evaluator.calls.transformed.of(function.declaration, function.module))
    if not applied:
        return False
    body = evaluator.calls.body_of(function) or ()
    for parameter in sorted(rebuilt_parameters(function.declaration, applied)):
        given = plain(evaluator.given_parameter(function.declaration, parameter, function.module))
        if not isinstance(given, Instance) or given.cls is not cls:
            continue
        asked = {
            part.attr for part in all_parts(body) if isinstance(part, Attribute) and dotted(part.value) == parameter
        }
        if any(isinstance(part, Call) and dotted(part.func) == parameter for part in all_parts(body)):
            asked.add("__call__")
        methods = [found for attr in sorted(asked) if (found := cls.method(attr)) is not None]
        reading = [(parameter, body)]
        for owner, method in methods:
            if method.self_name is not None:
                inside = evaluator.calls.body_of(FunctionSymbol(owner.module, method))
                reading.append((method.self_name, inside or ()))
        if any(_only_computes(f"{instance}.{name}", one) for instance, one in reading):
            return True
    return False


def _only_computes(path: str, body: Body) -> bool:
    """Whether all that a body does with an attribute is to compute with it: nothing asks whether it is there."""
    operands = {
        id(operand) for part in all_parts(body) if isinstance(part, Binary) for operand in (part.left, part.right)
    }
    reads = [part for part in all_parts(body) if dotted(part) == path]
    return bool(reads) and all(id(read) in operands for read in reads)


def _is_passed_on(place: Place, evaluator: Evaluator) -> bool:
    """Whether a compiled function of the module returns what the method around makes of one of its parameters."""
    inner = place.function
    if inner is None or place.owner is None:
        return False
    for function in place.module.outline.functions.values():
        for part in (part for value in function.return_values for part in parts(value)):
            match part:
                case Call(func=Attribute(value=Name(id=name), attr=inner.name)):
                    given = plain(evaluator.given_parameter(function, name, place.module))
                    if isinstance(given, Instance) and place.owner in given.cls.mro and place.applied(function):
                        return True
    return False


def _is_returned(at: object, variable: str | None, place: Place, evaluator: Evaluator) -> bool:
    """Whether the function around returns the instance that a variable holds, or that is made at a place."""
    from jaxlint.rules.analyses.changes.returning import returned_variables

    function, inside = place.function, place_of(at)
    body = None if function is None else evaluator.calls.body_of(FunctionSymbol(place.module, function))
    if body is None:
        return False
    statements = list(walk(body, nested=False))
    returned = [s.value for s in statements if isinstance(s, Return) and s.value is not None]
    names = {name.id for value in returned for name in returned_variables(value)}
    if variable is not None:
        return variable in names
    holding = [s for s in statements if isinstance(s, Assign) and place_of(s.value.at).holds(inside)]
    bound = {name for s in holding for target in s.targets for name in target_names(target)}
    return not names.isdisjoint(bound) or any(place_of(value.at).holds(inside) for value in returned)
