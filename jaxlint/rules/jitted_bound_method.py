"""JAX504 jitted-bound-method."""

from __future__ import annotations

from collections.abc import Iterator, Set

import msgspec
from msgspec.structs import replace

from jaxlint.cst import libcst as cst
from jaxlint.cst.reading import FunctionNode
from jaxlint.cst.shapes import dotted, is_bound, names, own, variables
from jaxlint.finding import Confidence
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, CodeRead, Transformed
from jaxlint.infer.known.values import Instance, is_classmethod, plain
from jaxlint.libraries.packages import usual_name
from jaxlint.libraries.transforms import LOOPS, TAKING_MODULES
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.changes.bound_part import changed_part, held_part
from jaxlint.rules.analyses.changes.compiled_anew import keys_of
from jaxlint.rules.analyses.changes.constant_attributes import is_constant
from jaxlint.rules.analyses.changes.counting_for import is_changed_in_use, is_computed_with, is_given_anew
from jaxlint.rules.analyses.changes.given_instances import changed_later, parameters_stored
from jaxlint.rules.analyses.changes.on_the_host import traced_with
from jaxlint.rules.analyses.changes.set_outside import SetOutside, set_outside
from jaxlint.rules.analyses.changes.stale import (
    changing_method,
    forgets,
    initialised,
    is_given,
    is_read_harmlessly,
    reads,
    sets_option,
)
from jaxlint.rules.analyses.changes.stored_closures import keeping, stored_closures
from jaxlint.rules.analyses.fields.hashing import unhashable
from jaxlint.rules.analyses.fixes.hashable_functions import hashable_function
from jaxlint.rules.analyses.fixes.passed_attributes import passing_attribute, passing_part
from jaxlint.rules.analyses.instances.methods import own_methods, run_by, run_with_bases
from jaxlint.rules.base import NodeRule, Problem
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Call, Constant, Span, is_special
from jaxlint.syntax.expressions import dotted as written
from jaxlint.syntax.spelling import with_article
from jaxlint.syntax.statements import all_parts

#: The transformations that look up what they have compiled by the hash of the function.
_HASHING = frozenset({"jax.jit", "jax.pmap", "jax.checkpoint", "jax.remat", *(f"jax.lax.{name}" for name in LOOPS)})


class JittedBoundMethod(NodeRule):
    """
    ## What it does

    Finds `jax.jit(self.method)` and `jax.jit(model.method)` of an instance that changes later, and `jax.jit` of a bound
    method or an instance that cannot be hashed; nor can `jax.lax.scan` and the other loops and branches take it as
    their function.

    ## Why is this bad?

    The instance is no argument of the compiled function: what the method reads of it is built in when it is compiled.
    An attribute that is assigned later is not seen. An equinox module is hashed by its fields, and arrays have no
    hash; nor has a pytree dataclass that is given to `jax.jit` itself because it can be called.

    ## What you will see

    No error, and the results of the old value; or `TypeError: unhashable type: 'jaxlib._jax.ArrayImpl'`.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Batch:
        x: jax.Array

    class Model:
        def __init__(self, scale: float):
            self.scale = scale
            self.apply = jax.jit(self._apply)

        def set_scale(self, scale: float):
            self.scale = scale

        def _apply(self, batch: Batch) -> jax.Array:
            return batch.x * self.scale
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Batch:
        x: jax.Array

    class Model:
        def __init__(self, scale: float):
            self.scale = scale
            self._jitted = jax.jit(self._apply)

        def set_scale(self, scale: float):
            self.scale = scale

        def apply(self, batch: Batch) -> jax.Array:
            return self._jitted(batch, self.scale)

        def _apply(self, batch: Batch, scale: float) -> jax.Array:
            return batch.x * scale
    ```

    ## Frameworks

    Ordinary classes and pytrees that can be assigned to; equinox modules and instances that can be called, for what
    cannot be hashed. `eqx.filter_jit` takes a bound method as the pytree that it is.

    ## Fix safety

    `jax.jit(module)` becomes `eqx.filter_jit(module)`, and an instance that is given to a loop becomes a lambda that
    calls it. Both are safe: the call could only raise. An attribute that changes becomes an argument of the compiled
    function, and all that call it pass it, where these stand in one module, and the function computes with it. That is
    unsafe: it is traced then.

    ## When not to use it

    Attributes that only change before the first call are not reported where that can be seen (in `__init__`, `setup`
    and the like), nor are classes that compile anew after the change, nor attributes that the compiled method is given
    where it is called: what else it reads of them is taken for something that stays, such as a structure. An attribute
    that only others change, and that the compiled method is not seen to compute with, is reported with low confidence.

    ## References

    - [JAX FAQ: how to use jit with methods](https://docs.jax.dev/en/latest/faq.html#how-to-use-jit-with-methods)
    - [jax #9023](https://github.com/jax-ml/jax/issues/9023), [equinox #1131](https://github.com/patrick-kidger/equinox/issues/1131)
    """

    code = "JAX504"
    name = "jitted-bound-method"
    group = "transformations"
    since = "0.1.0"
    confidence = Confidence.MEDIUM
    calls = LOOPS
    instance_calls = frozenset(name.rpartition(".")[2] for name in _HASHING) - LOOPS

    everywhere = True

    def can_match(self, code: CodeRead) -> bool:
        """Ask for a method that is compiled, or for a function inside of a method that keeps something."""
        if any(isinstance(e, Transformed) and e.receiver is not None for e in code.events):
            return True
        if any(isinstance(e, AssignAttribute) and not e.on_self for e in code.events):
            return True
        method = code.function
        if method is None or method.self_name is None:
            return False
        return bool(stored_closures(code)) or next(parameters_stored(code), None) is not None

    def check_node(self, function: FunctionNode, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the bound methods that a body compiles."""
        for event in function.code.events:
            if isinstance(event, AssignAttribute):
                outside = set_outside(event, function.code, evaluator)
                if outside is not None:
                    yield _problem_of_setting(event, outside, evaluator)
            if not isinstance(event, Transformed) or event.applied.is_decorator or event.receiver is None:
                continue
            receiver = plain(event.receiver)
            if event.applied.transform.name not in _HASHING or not isinstance(receiver, Instance):
                continue
            unhashable = _unhashable(event, receiver, evaluator)
            if unhashable is not None:
                yield replace(unhashable, fix=hashable_function(event, receiver, function.code, evaluator))
            elif event.function is not None and event.applied.transform.name == "jax.jit":
                yield from _stale(event, event.function, receiver.cls, function, evaluator)
        yield from _stale_closures(function.code, evaluator)
        for stored in parameters_stored(function.code):
            found = changed_later(stored, function.code, evaluator)
            if found is not None:
                yield _problem(stored.call.at, found.method.name, found.cls, found.attr, found.changing)


def _unhashable(event: Transformed, receiver: Instance, evaluator: Evaluator) -> Problem | None:
    """The problem of an instance that is hashed with the function, and cannot be."""
    cls = receiver.cls
    is_module = cls.framework.filters
    if not event.is_given_itself or (event.function is not None and is_classmethod(event.function)):
        return None  # hashed is a function that is made for the call, or a class
    if event.function is not None and is_special(event.function.name):
        return None  # equinox (0.13.8) leaves `module.__call__` as Python makes it, which is hashed by its address
    if not cls.is_pytree or (event.function is not None and not is_module):
        return None
    why = unhashable(receiver, evaluator)
    if why is None:
        return None
    what = "itself" if event.function is None else f"with its method `{event.function.name}`"
    if event.applied.transform.runs:
        way_out = "give it a function that calls the instance: `lambda *args: ...`"
    else:
        filtered = TAKING_MODULES.get(event.applied.transform.name, TAKING_MODULES["jax.jit"])
        way_out = f"use `{usual_name(filtered)}`" if is_module else "make the instance an argument of the function"
    return Problem(
        at=event.at,
        message=(
            f"`{event.applied.transform.name}` is given {with_article(cls.name)} {what}, and {why.what}: TypeError"
            f" (unhashable type); {way_out}"
        ),
        reason="what is compiled is found again by the hash of the function",
        help=way_out,
    )


def _stale(
    event: Transformed, method: Function, cls: PytreeClass, node: FunctionNode, evaluator: Evaluator
) -> Iterator[Problem]:
    """The attributes that the compiled method reads, and that change afterwards."""
    around, owner = event.place.method, event.place.owner
    stored = None if around is None else keeping(event, around)
    part = None if around is None else held_part(event, around, node.code.body)
    if part is not None and owner is not None:
        found = None if forgets(owner) else changed_part(part, method, cls, owner, evaluator)
        if found is not None:
            call = next((one for one in node.code.calls if one.at is event.at), None)
            module = event.place.module
            fix = None if call is None else passing_part(call, part, cls, owner, module, evaluator)
            yield replace(_problem_of_part(event, method, cls, *found), fix=fix)
        if found is not None or part.is_named:
            return
    if stored is not None and any(one.attr == stored.attr for one in parameters_stored(node.code)):
        return  # who gives the instance tells when it changes
    if stored is not None:
        for one in evaluator.model.family(cls):  # the method may be another one in a class that inherits
            overriding = one.method(method.name)
            compiled = method if overriding is None else overriding[1]
            stale = _stale_attribute(compiled, one, stored.attr, evaluator)
            if stale is not None:
                problem = _problem(event.at, compiled.name, one, *stale)
                fix = passing_attribute(stale[0], compiled, one, event.place.module, evaluator, stored.attr)
                yield _graded(replace(problem, fix=fix), compiled, one, stored.attr, stale, evaluator)
                return
        return
    if cls.frozen is True or forgets(cls):
        return
    inside = traced_with(method, cls, evaluator)
    read = {attr for attr in reads(inside.values(), cls) if not is_read_harmlessly(attr, inside, cls, evaluator)}
    for change in _changes(event, read, cls, node):
        if _is_called_around(event, change, node) and not is_constant(change.attr, cls, evaluator, event.place.module):
            problem = _problem(event.at, method.name, cls, change.attr, change.method)
            yield replace(problem, fix=passing_attribute(change.attr, method, cls, event.place.module, evaluator))
            return


def _stale_closures(code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
    """The functions inside of a method that are kept compiled, and read what other methods of `self` change."""
    owner = code.place.owner
    for closure in stored_closures(code) if owner is not None else ():
        for cls in evaluator.model.family(owner) if owner is not None else ():
            function, holder = closure.function, closure.holder
            stale = _stale_attribute(function, cls, holder, evaluator)
            if stale is not None and not sets_option(*stale):
                problem = _problem(closure.at, function.name, cls, *stale)
                fix = passing_attribute(stale[0], function, cls, code.place.module, evaluator, holder)
                is_built = not _keeps(code, holder)
                yield _graded(replace(problem, fix=fix), function, cls, holder, stale, evaluator, is_built=is_built)
                break


def _stale_attribute(
    method: Function, cls: PytreeClass, holder: str, evaluator: Evaluator
) -> tuple[str, Function] | None:
    """An attribute that a function reads, which is kept compiled in the attribute `holder`, and what changes it."""
    if cls.frozen is True or forgets(cls):
        return None
    inside, keys = traced_with(method, cls, evaluator), keys_of(holder, cls, evaluator)
    for attr in sorted(reads(inside.values(), cls) - {holder}):
        changing = changing_method(attr, inside, cls, evaluator)
        if changing is None or not initialised(attr, cls):
            continue
        if _compiles_again(changing, holder, keys - {attr}, cls):
            continue
        if _is_followed_by_compiling(changing, holder, cls, evaluator):
            continue
        if not is_given(attr, holder, cls, evaluator):
            return attr, changing
    return None


def _keeps(code: CodeRead, holder: str) -> bool:
    """Whether a method keeps something in an attribute itself, and does not build it for another method."""
    return code.function is not None and any(a.attr == holder for a in code.function.self_assignments)


def _graded(
    problem: Problem,
    compiled: Function,
    cls: PytreeClass,
    holder: str,
    stale: tuple[str, Function],
    evaluator: Evaluator,
    *,
    is_built: bool = False,
) -> Problem:
    """A problem of an attribute that changes, of low confidence if only others change it and it may not matter.

    Of what one method builds for another (`is_built`) it has to be seen that it does.
    """
    attr, changing = stale
    matters = not is_built and is_changed_in_use(changing, holder, cls)
    matters = matters or is_computed_with(attr, run_by(compiled, cls), cls, evaluator)
    is_seen = matters and (not is_built or is_given_anew(attr, changing))
    return problem if is_seen else replace(problem, confidence=Confidence.LOW)


def _compiles_again(changing: Function, holder: str, keys: Set[str], cls: PytreeClass) -> bool:
    """Whether the method that changes the attribute (or one that it calls) compiles the other one anew.

    Or it sets a flag (`self._compiled = False`) that a method reads which compiles it then, or a static argument.
    """
    assigned = [a for function in run_with_bases(changing, cls) for a in function.self_assignments]
    if any(a.attr == holder or a.attr in keys for a in assigned):
        return True
    flags = {a.attr for a in assigned if isinstance(a.value, Constant)}
    asking = (m for one in cls.mro for m in own_methods(one) if not flags.isdisjoint(m.self_reads))
    return any(a.attr == holder for m in asking for one in run_by(m, cls).values() for a in one.self_assignments)


def _is_followed_by_compiling(changing: Function, holder: str, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether all methods that call the one which changes the attribute call one below that compiles anew."""
    callers = [(one.module, m) for one in cls.mro for m in own_methods(one) if changing.name in m.self_calls]
    making = {name for one in cls.mro for name in one.symbol.declaration.methods if _makes(name, holder, cls)}
    for module, method in callers:
        body = evaluator.calls.body_of(FunctionSymbol(module, method)) or ()
        calls = [part for part in all_parts(body) if isinstance(part, Call)]
        rows = {written(call.func) or "": place_of(call.at).row for call in calls}  # of each the last one
        changed = rows.get(f"{method.self_name}.{changing.name}")
        if changed is None or all(rows.get(f"{method.self_name}.{name}", 0) <= changed for name in making):
            return False
    return bool(callers)


def _makes(name: str, holder: str, cls: PytreeClass) -> bool:
    found = cls.method(name)
    return found is not None and any(
        a.attr == holder for function in run_with_bases(found[1], cls) for a in function.self_assignments
    )


class _Change(msgspec.Struct, frozen=True):
    """Where a body changes an attribute of an instance: it assigns it, or calls a method that does."""

    attr: str
    at: Span
    #: The variable or path of the instance; None where that is not known.
    instance: str | None
    method: Function | None = None
    #: Whether the new value may be computed from the old one, and so be another one each time.
    moves: bool = False


def _changes(event: Transformed, read: set[str], cls: PytreeClass, node: FunctionNode) -> Iterator[_Change]:
    """The changes of what a compiled method reads, in the body that compiles it."""
    for one in node.code.events:
        if isinstance(one, AssignAttribute) and one.attr in read and one.receiver.cls is cls:
            yield _Change(one.attr, place_of(one.at), one.receiver_text)
    methods = {name: found[1] for name in sorted(node.code.contents.called) if (found := cls.method(name)) is not None}
    inside = {name: run_by(method, cls).values() for name, method in methods.items()}
    changed = {name: read & {a.attr for one in some for a in one.self_assignments} for name, some in inside.items()}
    if not any(changed.values()):
        return  # nothing is read of what libcst would take long to parse
    instance = _instance_given(node.node_at(event.at), node)
    for call in own(node.body, cst.Call):
        match call.func:
            case cst.Attribute(value=held, attr=cst.Name(name)) if instance and dotted(held) == instance:
                for attr in sorted(changed.get(name, ())):
                    moves = any(attr in one.self_reads for one in inside[name])
                    yield _Change(attr, node.place_of(call), instance, methods[name], moves)


def _is_called_around(event: Transformed, change: _Change, node: FunctionNode) -> bool:
    """Whether the compiled function is called before and after an attribute of its instance is changed."""
    jitted = node.node_at(event.at)
    made = next(node.around(jitted))
    match made:
        case cst.Assign([cst.AssignTarget(cst.Name(name)), *_]) if made.value is jitted:
            of = _instance_given(jitted, node)
        case _:
            return False
    if of and change.instance not in (of, None):
        return False
    start, changed = node.place_of(made).row, change.at.row
    rows = _called_in(node.body, name, node)
    if any(start < row < changed for row in rows) and any(row > changed for row in rows):
        return True
    loops: list[cst.For | cst.While] = [*own(node.body, cst.For), *own(node.body, cst.While)]
    behind = (loop for loop in loops if node.place_of(loop).row > start)
    return bool(of) and any(_calls_after(loop, name, of, change, node) for loop in behind)


def _instance_given(jitted: cst.BaseExpression, node: FunctionNode) -> str:
    """The instance whose method is given to `jit`, perhaps in a variable."""
    match jitted:
        case cst.Call(args=[cst.Arg(cst.Attribute(value=held), keyword=None, star=""), *_]):
            return dotted(held)
        case cst.Call(args=[cst.Arg(cst.Name(name), keyword=None, star=""), *_]):
            given = [one.value for one in own(node.body, cst.Assign) if _binds(one, name)]
            if len(given) == 1 and isinstance(given[0], cst.Attribute):
                return dotted(given[0].value)
    return ""


def _binds(statement: cst.Assign, name: str) -> bool:
    """Whether a statement gives a variable something."""
    return any(isinstance(one.target, cst.Name) and one.target.value == name for one in statement.targets)


def _calls_after(loop: cst.For | cst.While, name: str, instance: str, change: _Change, node: FunctionNode) -> bool:
    """Whether a loop calls a function again after a row of it has given an attribute of the instance another value."""
    row = change.at.row
    changes: list[cst.Assign | cst.AugAssign | cst.Call] = [*own(loop.body, cst.Call)]
    if change.method is None:
        changes = [*own(loop.body, cst.Assign), *own(loop.body, cst.AugAssign)]
    changing = next(
        (one for one in changes if row in range(node.place_of(one).row, node.place_of(one).end_row + 1)), None
    )
    bound = {one.value for one in variables(loop) if is_bound(one, node.around(one))}
    bound |= {one.target.value for one in own(loop.body, cst.AugAssign) if isinstance(one.target, cst.Name)}
    if changing is None or not bound.isdisjoint((name, instance.partition(".")[0])):
        return False
    lines = [line for line in loop.body.body if not isinstance(line, cst.If)]
    simple = (one for line in lines if isinstance(line, cst.SimpleStatementLine) for one in line.body)
    if any(isinstance(one, (cst.Break, cst.Continue, cst.Return, cst.Raise)) for one in simple):
        return False
    called = [at for line in lines for at in _called_in(line, name, node)]
    written = [one.value for one in changing.args] if isinstance(changing, cst.Call) else [changing.value]
    differs = change.moves or isinstance(changing, cst.AugAssign) or not bound.isdisjoint(names(written))
    return bool(called) and (differs or min(called) < row)


def _called_in(within: cst.CSTNode, name: str, node: FunctionNode) -> list[int]:
    """The rows in which a function is called by its name."""
    return [node.place_of(call).row for call in own(within, cst.Call) if dotted(call.func) == name]


def _problem(at: object, compiled: str, cls: PytreeClass, attr: str, changing: Function | None) -> Problem:
    when = "when that is assigned later" if changing is None else f"after `{changing.name}` changes it"
    way_out = f"pass `{attr}` as an argument"
    return Problem(
        at=at,
        message=(
            f"the compiled `{compiled}` of `{cls.name}` reads `{attr}` when it is compiled: {when}, it still"
            f" computes with the old value; {way_out}"
        ),
        reason="the instance is no argument of the compiled function, and its attributes are constants in it",
        help=way_out,
    )


def _problem_of_setting(event: AssignAttribute, outside: SetOutside, evaluator: Evaluator) -> Problem:
    """The problem of an attribute that is set between two calls of what the constructor has compiled."""
    way_out, cls, module = f"pass `{event.attr}` as an argument", event.receiver.cls, event.place.module
    return Problem(
        at=event.at,
        message=(
            f"`{event.attr}` of `{event.receiver.cls.name}` is set between two calls of `{outside.called}`, and the"
            f" compiled `{outside.compiled.name}` still computes with the value that it was compiled with; {way_out}"
        ),
        reason="the instance is no argument of the compiled function, and its attributes are constants in it",
        help=way_out,
        fix=passing_attribute(event.attr, outside.compiled, cls, module, evaluator, outside.holder),
    )


def _problem_of_part(
    event: Transformed, compiled: Function, cls: PytreeClass, changed: str, changing: Function
) -> Problem:
    """The problem of a method of an instance that `self` holds: it is bound to that instance, and to its values."""
    part = changed.partition(".")[0].partition("[")[0]
    given = part if cls.is_pytree else changed  # an ordinary instance cannot be an argument
    way_out = f"compile a function that is given `{given}` as an argument"
    return Problem(
        at=event.at,
        message=(
            f"`{compiled.name}` of `{cls.name}` is compiled with the instance that `{part}` holds now: after"
            f" `{changing.name}` changes `{changed}`, it still computes with the old values; {way_out}"
        ),
        reason="the instance is no argument of the compiled function, and its leaves are constants in it",
        help=way_out,
    )
