"""JAX311 constructor-arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from jaxlint.cst.changes import Proposal
from jaxlint.cst.failing import proposing
from jaxlint.finding import Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CallMethod, CodeRead, Construct, Event, Place, Replace
from jaxlint.infer.known.values import ClassObject, is_classmethod, known_entries, plain
from jaxlint.libraries.trees import TREE_LEAVES
from jaxlint.libraries.updates import REPLACE_FUNCTIONS
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol, ValueSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.stubs import is_stub
from jaxlint.pytrees.updating import is_train_state
from jaxlint.rules.analyses.bodies.filled_dicts import certain_keywords, filled_keywords
from jaxlint.rules.analyses.bodies.lookups import is_asked_first
from jaxlint.rules.analyses.fixes.new_fields import declaring
from jaxlint.rules.analyses.instances.constructor_calls import (
    NO_POSITIONS,
    WrongArguments,
    is_constructor_known,
    listed,
    missing_in,
    no_dict,
    wrong_keyword,
    wrong_with,
)
from jaxlint.rules.analyses.instances.handed_keywords import made_with
from jaxlint.rules.analyses.instances.inherited_makers import handed_up, made_by
from jaxlint.rules.analyses.instances.local_instances import LocalInstances
from jaxlint.rules.base import BodyRule, ClassRule, EventRule, Problem
from jaxlint.symbols.outline import Function, Import, Parameter
from jaxlint.syntax.expressions import Argument, Attribute, Call, Comprehension, Display, Expr, Name, dotted
from jaxlint.syntax.statements import Try, all_parts, assigned_names, bound_once, walk

#: Functions that give as many things as there are fields, leaves or items.
_LISTING = TREE_LEAVES | {"dataclasses.astuple", "builtins.map", "builtins.zip"}
_COPYING = frozenset({"builtins.list", "builtins.tuple", "builtins.reversed", "builtins.sorted"})

#: Why arguments are refused.
_GENERATED = "a generated constructor takes the fields of the class, in their order, and nothing else"


class ConstructorArguments(ClassRule, EventRule, BodyRule):
    """
    ## What it does

    Finds calls of constructors with an argument that the class does not take, without one that it needs, with one that
    is given twice, or, for chex dataclasses, with positional arguments.

    It looks at `super().__init__(...)` as well, at calls of class methods of a base that make `cls(...)` without what
    this subclass needs, at those of functions and class methods that hand their `**keywords` on to a constructor, and
    at copies by `replace` that leave out an `InitVar` without default.

    ## Why is this bad?

    The constructor that a dataclass generates takes its fields, those that are inherited first, and nothing else. An
    attribute without an annotation is no field. That of a chex dataclass takes keywords only, as that of a dict.

    ## What you will see

    `TypeError: State.__init__() got an unexpected keyword argument 'velocty'`, `TypeError: State.__init__() missing 1
    required positional argument: 'x'`, `TypeError: State.__init__() takes 3 positional arguments but 4 were given`,
    `ValueError: Mappable dataclass constructor doesn't support positional args.(it has the same constructor as python
    dict)`, `ValueError: InitVar 'size' must be specified with replace()`.

    ## Example

    ```python
    import chex
    import jax.numpy as jnp

    @chex.dataclass
    class Segment:
        start: chex.Array
        stop: chex.Array

    def unit() -> Segment:
        return Segment(jnp.zeros(2), jnp.ones(2))
    ```

    ## Use instead

    ```python
    import chex
    import jax.numpy as jnp

    @chex.dataclass
    class Segment:
        start: chex.Array
        stop: chex.Array

    def unit() -> Segment:
        return Segment(start=jnp.zeros(2), stop=jnp.ones(2))
    ```

    ## Frameworks

    All. `TrainState.create` is JAX412's.

    ## Fix safety

    Positional arguments of chex dataclasses are named; that is safe. A keyword becomes the field whose name is nearest;
    that is unsafe. Where none is near, a fix that declares the field is shown, and not applied.

    ## When not to use it

    There is no reason to turn it off: the call cannot work. Classes of which a base or a decorator cannot be seen are
    left out, and so is `State()` in a method that subclasses replace. What a class method returns as `cls(...)` is
    reported, with medium confidence, if neither the class nor one that inherits from it takes these arguments, and it
    has no abstract methods. In a module that imports what another one of the project has not any more, such a call has
    low confidence: nobody can come to it.

    ## References

    - [dataclasses](https://docs.python.org/3/library/dataclasses.html)
    - [chex #8](https://github.com/google-deepmind/chex/issues/8), [flax #2419](https://github.com/google/flax/issues/2419)
    """

    code = "JAX311"
    name = "constructor-arguments"
    group = "construction"
    since = "0.1.0"
    events = (Construct, CallMethod, Replace)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Compare one call with the parameters of the constructor."""
        if isinstance(event, CallMethod):
            if isinstance(event.receiver, ClassObject) and event.receiver.exact:
                yield from _inherited(event.name, event.call, event.receiver.cls, evaluator)
                found = event.receiver.cls.method(event.name)
                if found is not None:
                    function = FunctionSymbol(found[0].module, found[1])
                    yield from _handed_on(event.call, event.place, function, event.receiver.cls, evaluator)
            return
        if isinstance(event, Replace):
            yield from _left_out(event, evaluator)
            return
        assert isinstance(event, Construct)
        cls = event.cls.cls
        if not event.cls.exact or event.by_create or not is_constructor_known(cls) or _is_placeholder(event, evaluator):
            return
        parameters = cls.constructor()
        if parameters is None:
            return
        wrong = wrong_with(event.call, cls, parameters) or _unpacked(event, cls, evaluator)
        if wrong is None:
            starred = [argument.at for argument in event.call.args if argument.star == "**"]
            certain = certain_keywords(event.arguments, event.call, event.place, evaluator)
            given = [(one.name, one.at) for one in certain if any(one.at is at for at in starred)]
            wrong = _in_dict(event.call, given, event.place, cls, parameters, evaluator)
        if wrong is not None and not _is_asked_for(wrong, event, evaluator):
            confidence = Confidence.LOW if _cannot_run(event.place.module, evaluator) else None
            problem = _problem(wrong, cls, _GENERATED, confidence)
            yield replace(problem, fix=wrong.fix or _declared(event, wrong, evaluator))

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at calls of functions that hand their keywords on to a constructor, and at what takes a dict."""
        for event in code.events:
            if isinstance(event, Construct) and event.cls.exact and not event.by_create and event.call.positional:
                yield from _instead_of_dict(event, code, evaluator)
        works: set[int] | None = None
        for call in code.calls:
            if any(argument.keyword is not None or argument.star == "**" for argument in call.args):
                symbol = evaluator.model.resolver.resolve(call.func, code.place.module, code.scope)
                if isinstance(symbol, FunctionSymbol) and symbol.declaration.rest is not None:
                    works = {id(part) for part in code.contents.expected_to_work} if works is None else works
                    if id(call) in works and not (symbol.declaration.owner or symbol.declaration.decorators):
                        yield from _handed_on(call, code.place, symbol, None, evaluator)

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at class methods that call the one of a base."""
        for name, qualnames in cls.symbol.declaration.methods.items():
            function = cls.module.outline.functions[qualnames[-1]]
            if is_classmethod(function):
                yield from _made_by_class(function, cls, evaluator)
            if is_classmethod(function) and any(name in base.symbol.declaration.methods for base in cls.mro[1:]):
                body = evaluator.calls.body_of(FunctionSymbol(cls.module, function)) or ()
                call = handed_up(function, body)
                if call is not None:
                    yield from _inherited(name, call, cls, evaluator, above=True)
        yield from _of_base(cls, evaluator)


def _is_asked_for(wrong: WrongArguments, event: Construct, evaluator: Evaluator) -> bool:
    """Whether an instance of the class is asked for what the class does not take: it has none, so nothing runs."""
    keyword = next((one.keyword for one in event.call.args if one.at is wrong.at), None)
    return keyword is not None and is_asked_first(event.call, keyword, event.place, evaluator)


def _made_by_class(function: Function, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
    """Look at what a class method returns: `cls(...)` must be what the class, or one that inherits from it, takes."""
    for call in function.return_values:
        if not isinstance(call, Call) or not isinstance(call.func, Name) or call.func.id != function.self_name:
            continue
        found = _wrong_for(call, cls)
        if found is None or cls.abstract_methods:
            continue
        body = evaluator.calls.body_of(FunctionSymbol(cls.module, function)) or ()
        family = evaluator.model.family(cls)  # the subclasses are read only if the class itself does not take them
        if call.func.id not in assigned_names(body) and all(_wrong_for(call, one) is not None for one in family):
            confidence = Confidence.LOW if _cannot_run(cls.module, evaluator) else Confidence.MEDIUM
            yield _problem(found, cls, _GENERATED, confidence)


def _problem(wrong: WrongArguments, cls: PytreeClass, reason: str, confidence: Confidence | None = None) -> Problem:
    """What there is to say of arguments that the constructor of a class does not take."""
    return Problem(
        at=wrong.at,
        message=f"`{cls.name}` {wrong.what}: the call raises {wrong.error}; {wrong.way_out}",
        reason=reason,
        help=wrong.way_out,
        fix=wrong.fix,
        subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}",
        confidence=confidence,
    )


def _wrong_for(call: Call, cls: PytreeClass) -> WrongArguments | None:
    """What is wrong with the arguments of a call for a class of which the constructor is known."""
    parameters = cls.constructor() if is_constructor_known(cls) and not is_train_state(cls) else None
    return None if parameters is None else wrong_with(call, cls, parameters)


def _cannot_run(module: Module, evaluator: Evaluator) -> bool:
    """Whether a module imports a name that another one of the project has not any more: nobody comes to its calls."""
    every = (binding for found in module.outline.module_scope.bindings.values() for binding in found)
    imports = (binding for binding in every if isinstance(binding, Import) and not binding.guard)
    return any(evaluator.model.resolver.is_missing(binding, module) for binding in imports)


def _instead_of_dict(event: Construct, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
    """Look at a call `Class(x)` of a class that takes its fields as `dict` does."""
    cls = event.cls.cls
    parameters = cls.constructor() if is_constructor_known(cls) else None
    if parameters is not None:
        value = plain(LocalInstances.of(code, evaluator).value(event.call.positional[0]))
        wrong = no_dict(event.call, cls, parameters, value)
        if wrong is not None:
            yield _problem(wrong, cls, "the constructor of a mappable dataclass takes what `dict` takes", None)


def _handed_on(
    call: Call, place: Place, function: FunctionSymbol, cls: PytreeClass | None, evaluator: Evaluator
) -> Iterator[Problem]:
    """Look at a call of a function, or of a class method of `cls`, that hands its keywords on to a constructor."""
    name = function.declaration.name
    made = None if is_stub(function.module) else made_with(call, function.declaration, function.module, cls, evaluator)
    if made is None or is_train_state(made[0]) or not is_constructor_known(made[0]):
        return
    cls, as_if = made
    parameters = cls.constructor()
    if parameters is None:
        return
    wrong = wrong_with(as_if, cls, parameters)
    wrong = wrong or _in_dict(call, _in_constants(call, place, evaluator), place, cls, parameters, evaluator)
    if wrong is not None:
        yield Problem(
            at=wrong.at,
            message=(
                f"`{cls.name}` {wrong.what}, and `{name}` hands on what it is given: the call raises {wrong.error};"
                f" {wrong.way_out}"
            ),
            reason="what a function takes as `**keywords` and hands on must be what the constructor takes",
            help=wrong.way_out,
            fix=wrong.fix,
            subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}",
            confidence=Confidence.LOW if _cannot_run(place.module, evaluator) else None,
        )


def _inherited(
    name: str, call: Call, cls: PytreeClass, evaluator: Evaluator, *, above: bool = False
) -> Iterator[Problem]:
    """Look at a call of a class method of a base, which makes an instance of the subclass without what that needs."""
    found = made_by(name, cls, evaluator, above=above)
    if found is None or is_train_state(cls) or not is_constructor_known(cls):
        return
    base, made = found
    parameters = cls.constructor()
    if parameters is None or (cls.framework.mapping_option and cls.is_mapping is not False and made.positional):
        return
    taken = {p.name for p in [p for p in parameters if p.kind == "positional"][: len(made.positional)]}
    wrong = missing_in(made, cls, parameters, taken)
    own = base.constructor()
    if wrong is None or (own is not None and missing_in(made, base, own, taken) is not None):
        return  # the method of the base makes nothing at all
    way_out = f"give `{cls.name}` a `{name}` of its own, or hand the arguments on in that of `{base.name}`"
    yield Problem(
        at=call.func.at,
        message=(
            f"`{name}` of `{base.name}` makes `cls(...)`, and `{cls.name}` {wrong.what}: the call raises"
            f" {wrong.error}; {way_out}"
        ),
        reason="a class method of a base gets the subclass, whose constructor takes the fields of the subclass as well",
        help=way_out,
        subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}",
    )


def _of_base(cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
    """Look at what `__init__` gives to that of the base: `super().__init__(...)`."""
    qualnames = cls.symbol.declaration.methods.get("__init__", [])
    base = next(iter(cls.mro[1:]), None) if qualnames and cls.bases_known else None
    if base is None or not base.is_pytree or base.framework.mapping_option or not is_constructor_known(base):
        return
    parameters, function = base.constructor(), cls.module.outline.functions[qualnames[-1]]
    if parameters is None or len(qualnames) != 1 or function.decorators or not _stands_behind(base, cls, evaluator):
        return
    body = evaluator.calls.body_of(FunctionSymbol(cls.module, function)) or ()
    if any(isinstance(statement, Try) for statement in walk(body)):
        return
    for part in all_parts(body, nested=False):
        if isinstance(part, Call) and _calls_above(part, cls):
            wrong = wrong_with(part, base, parameters)
            if wrong is not None:
                yield _problem(
                    wrong, base, "`super().__init__` is the constructor of the base, and takes what that takes"
                )


def _stands_behind(base: PytreeClass, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a base and its constructor are met behind a class, for instances of subclasses that are seen as well."""
    family = [one for one in evaluator.model.family(cls) if cls in one.mro]
    return all(one.mro[one.mro.index(cls) + 1] is base and one.init_owner(cls) is base.init_owner() for one in family)


def _calls_above(call: Call, cls: PytreeClass) -> bool:
    """Whether a call is `super().__init__(...)`, perhaps with the class written out."""
    match call.func:
        case Attribute(value=Call(func=Name(id="super"), args=given), attr="__init__"):
            return not given or dotted(given[0].value) == cls.name
    return False


def _left_out(event: Replace, evaluator: Evaluator) -> Iterator[Problem]:
    """Look at a copy with changes: no instance keeps an `InitVar`, and it must be given again."""
    receiver = event.receiver
    by_method = event.function == receiver.cls.framework.replace_method and receiver.cls.has_framework_replace
    if event.call.has_star or not (event.function in REPLACE_FUNCTIONS or by_method):
        return
    given = {keyword.name for keyword in event.keywords}
    needed = _needed_again(receiver.cls) - given
    for one in () if receiver.exact or not needed else evaluator.model.subclasses(receiver.cls):
        needed &= _needed_again(one)
    missing = sorted(needed, key=receiver.cls.init_vars.index)
    if missing:
        cls, names = receiver.cls, listed([f"`{name}`" for name in missing])
        way_out = f"pass {listed([f'`{name}=...`' for name in missing])}"
        yield Problem(
            at=event.call.func.at,
            message=(
                f"`{cls.name}` keeps no {names}, and no default of `InitVar` stands in: the call raises ValueError"
                f" (must be specified with replace()); {way_out}"
            ),
            reason="the constructor needs it, and no instance has it",
            help=f"{way_out}, or give the `InitVar` a default",
            subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}",
        )


def _needed_again(cls: PytreeClass) -> frozenset[str]:
    """The `InitVar`s that a copy must be given."""
    if not cls.is_dataclass or not cls.members_known or cls.unknown_decorator or cls.framework.is_tuple:
        return frozenset()
    return frozenset(f.name for f in cls.members if f.is_init_var and not f.has_default and not f.opaque)


def _is_placeholder(event: Construct, evaluator: Evaluator) -> bool:
    """Whether a call without arguments stands in a method that subclasses replace by one of their own."""
    owner, method = event.place.owner, event.place.method
    if event.call.args or owner is None or method is None:
        return False
    return evaluator.model.is_overridden(owner, method.name)


def _unpacked(event: Construct, cls: PytreeClass, evaluator: Evaluator) -> WrongArguments | None:
    """What is wrong with a call `Class(*several)`, if the class takes no positional arguments.

    What a function was given as `*args` may be nothing, or one dict.
    """
    starred = [argument for argument in event.call.args if argument.star == "*"]
    if not starred or event.call.positional or not cls.registered or cls.is_mapping is not True:
        return None
    function, module = event.place.function, event.place.module
    body = None if function is None else evaluator.calls.body_of(FunctionSymbol(module, function))
    bound = {} if body is None else bound_once(body)
    scope = "" if function is None else function.inner_scope
    for argument in starred:
        if _is_several(argument.value, bound, lambda func: evaluator.model.resolver.library_name(func, module, scope)):
            return WrongArguments(argument.at, "is given positional arguments", NO_POSITIONS, "pass them by keyword")
    return None


def _is_several(expr: Expr, bound: Mapping[str, Expr], library: Callable[[Expr], str | None]) -> bool:
    """Whether an expression is a list that is made of several things, or a variable that holds one."""
    match expr:
        case Name(id=name) if name in bound:
            return not isinstance(bound[name], Name) and _is_several(bound[name], bound, library)
        case Display(kind="list" | "tuple", items=items):
            return len(items) > 1
        case Comprehension(kind="list" | "generator"):
            return True
        case Call(func=func, args=(Argument(value=value, star=""), *_)):
            called = library(func)
            return called in _LISTING or (called in _COPYING and _is_several(value, bound, library))
    return False


def _in_dict(
    call: Call,
    given: Sequence[tuple[str, object]],
    place: Place,
    cls: PytreeClass,
    parameters: tuple[Parameter, ...],
    evaluator: Evaluator,
) -> WrongArguments | None:
    """What is wrong with a keyword of a dict that is `given`, or that the function fills, and passes on."""
    for name, at in (*given, *filled_keywords(call, place, evaluator)):
        wrong = wrong_keyword(name, at, cls, parameters, set(), call)
        if wrong is not None:
            return replace(wrong, fix=None)  # the name stands elsewhere
    return None


def _in_constants(call: Call, place: Place, evaluator: Evaluator) -> list[tuple[str, object]]:
    """The keywords that a call passes through dicts which variables of modules hold, and where it does."""
    found: list[tuple[str, object]] = []
    for argument in call.args:
        symbol = evaluator.model.resolver.resolve(argument.value, place.module, place.scope) if argument.star else None
        if argument.star == "**" and isinstance(symbol, ValueSymbol):
            found += [(key, argument.at) for key in known_entries(evaluator.of_symbol(symbol)) or ()]
    return found


@proposing
def _declared(event: Construct, wrong: WrongArguments, evaluator: Evaluator) -> Proposal | None:
    """The fix that declares the field of a keyword that the class does not know."""
    given = next((one for one in event.arguments if one.at is wrong.at and one.name), None)
    cls = event.cls.cls
    if given is None or cls.field(given.name) is not None:
        return None
    return declaring(cls, given.name, given.value, event.place.module, evaluator)
