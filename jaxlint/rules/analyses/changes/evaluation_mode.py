"""Whether a module of flax.nnx or treex may be in evaluation mode where a compiled function gets it."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import OPAQUE_PACKAGES, Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.rules.analyses.instances.callers_in_loops import compiled_names
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, last_name
from jaxlint.syntax.statements import Body, For, While, all_parts, bound_once, looked_up, parts, walk

#: Switches a module to evaluation.
_EVAL = "eval"
#: Sets what a module asks for: within a function it is taken for a switch, too.
_SETTING = "set_attributes"
#: Packages that are known by name and make nothing that holds a module of flax.nnx.
_OTHER_PACKAGES = OPAQUE_PACKAGES - {"jax", "jaxlib"}


def switches(body: Body, function: Function, module: Module, evaluator: Evaluator) -> bool:
    """Whether a function itself, or one inside of it, switches what may be a module to evaluation."""
    return any(True for _ in _switching(body, function, module, evaluator, (_EVAL, _SETTING), nested=True))


def may_be_evaluated(function: Function, module: Module, evaluator: Evaluator) -> bool:
    """Whether a file, or one that imports it, switches to evaluation what it may give to a compiled function later.

    What is switched in a body that only calls the function before that is not.
    """
    importers = dict.fromkeys(evaluator.model.importers(module))
    importers |= dict.fromkeys(other for one in importers for other in evaluator.model.importers(one))
    return any(_may_switch(function, module, home, evaluator) for home in dict.fromkeys((module, *importers)))


def _may_switch(function: Function, module: Module, home: Module, evaluator: Evaluator) -> bool:
    """Whether one file switches what it may give to a function of a module afterwards."""
    outline = home.outline
    if not any(_EVAL in unit.calls for unit in outline.units):
        return False
    names = {function.name, *compiled_names(function.name, module), *compiled_names(function.name, home)}
    bodies: list[tuple[Body, Function | None]] = [(evaluator.calls.top_level(home), None)]
    bodies += [(evaluator.calls.body_of(FunctionSymbol(home, one)) or (), one) for one in outline.functions.values()]
    return any(
        _comes_before(switch, body, names)
        for body, around in bodies
        for switch in _switching(body, around, home, evaluator, (_EVAL,))
    )


def _switching(
    body: Body,
    function: Function | None,
    module: Module,
    evaluator: Evaluator,
    methods: tuple[str, ...],
    *,
    nested: bool = False,
) -> Iterator[Call]:
    """The calls of some methods of what may be a module. That of flax.nnx takes no positional arguments."""
    for part in all_parts(body, nested=nested):
        if isinstance(part, Call) and isinstance(part.func, Attribute) and part.func.attr in methods:
            takes_them = part.func.attr == _SETTING or not part.positional
            if takes_them and not _is_something_else(part.func.value, body, function, module, evaluator):
                yield part


def _is_something_else(
    receiver: Expr, body: Body, function: Function | None, module: Module, evaluator: Evaluator
) -> bool:
    """Whether a receiver is known to be no module: a package, what one makes, or an instance of another framework."""
    scope = "" if function is None else function.inner_scope
    value = looked_up(receiver, bound_once(body))
    made = value.func if isinstance(value, Call) else value
    if isinstance(value, Name) and function is not None:
        annotations = [p.annotation for p in function.parameters if p.name == value.id and p.annotation is not None]
        if annotations:
            made, scope = annotations[0], function.scope
    resolver = evaluator.model.resolver
    if resolver.library_name(made, module, scope).partition(".")[0] in _OTHER_PACKAGES:
        return True
    cls = evaluator.model.class_of_symbol(resolver.resolve(made, module, scope))
    return cls is not None and not cls.framework.is_stateful


def _comes_before(switch: Call, body: Body, names: set[str]) -> bool:
    """Whether no call of a function stands in the body of a switch, or one behind it, or in the same loop."""
    calls = [place_of(p.at) for p in all_parts(body, nested=False) if isinstance(p, Call) and _calls(p, names)]
    place = place_of(switch.at)
    if not calls or any(place < call for call in calls):
        return True
    loops = [s for s in walk(body, nested=False) if isinstance(s, (For, While))]
    turns = [{place_of(p.at) for p in all_parts(loop.body, nested=False)} for loop in loops]
    return any(place in turn and not turn.isdisjoint(calls) for turn in turns)


def _calls(call: Call, names: set[str]) -> bool:
    """Whether a call is one of a function, or of what a transformation makes of it: `f(m)`, `jax.jit(f)(m)`."""
    return any(last_name(part) in names for part in parts(call.func) if isinstance(part, (Name, Attribute)))
