"""JAX206 mutated-static-value."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from msgspec.structs import replace

from jaxlint.finding import Confidence
from jaxlint.infer.bodies.slots import Slot, bindings_of, changed_by, source
from jaxlint.infer.bodies.usage import handed_on_before
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, CodeRead, Cross, Event, MutateField
from jaxlint.infer.known.values import Instance, Value
from jaxlint.libraries.packages import COMPILING_WHAT_IS_GIVEN
from jaxlint.libraries.transforms import Kind
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.bodies.binding import is_around
from jaxlint.rules.analyses.changes.handed_over import changed_where_handed
from jaxlint.rules.analyses.changes.in_place import is_changed
from jaxlint.rules.analyses.fixes.made_anew import making_anew
from jaxlint.rules.analyses.fixes.rebinding import setting_dict
from jaxlint.rules.analyses.instances.callees import called_by
from jaxlint.rules.analyses.instances.methods import MAKING
from jaxlint.rules.analyses.rebuilding.frozen import is_called_only_by
from jaxlint.rules.analyses.under_trace.traced import carries_arrays, is_seen_to_cross
from jaxlint.rules.base import BodyRule, Problem
from jaxlint.symbols.bodies import transforms_functions
from jaxlint.symbols.outline import MUTATING, names_by_position
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, dotted, is_given
from jaxlint.syntax.statements import Body, For, While, all_parts, assigned_names, parts, walk

#: What changes in place, and which method of it does so where none is called by its name.
_CONTAINERS = frozenset({"dict", "list", "set"})
_BY_SYNTAX = {"item": "__setitem__", "augment": "__setitem__", "delete": "__delitem__"}
_REASON = (
    "a compiled function keeps the object that the static field held; once that is changed it is still equal to itself,"
    " so the function is not compiled again"
)


class MutatedStaticValue(BodyRule):
    """
    ## What it does

    Finds changes in place of what a static field holds: a list that grows, a dict that gets a key, a numpy array that
    is written to, a configuration object that gets a new attribute value.

    ## Why is this bad?

    A compiled function is chosen by comparing static fields with `==`. The compiled function keeps the very object that
    the field held when it was traced. Changed in place, the object still equals itself: the program that was
    compiled for the old value runs on, without a word.

    ## What you will see

    No error: results that do not change although the value did.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Indexer:
        weights: jax.Array
        options: dict = struct.field(pytree_node=False)

    @jax.jit
    def step(indexer: Indexer) -> jax.Array:
        return indexer.weights * indexer.options["rate"]

    def slow_down(indexer: Indexer) -> None:
        indexer.options["rate"] = 0.01
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Indexer:
        weights: jax.Array
        options: dict = struct.field(pytree_node=False)

    @jax.jit
    def step(indexer: Indexer) -> jax.Array:
        return indexer.weights * indexer.options["rate"]

    def slow_down(indexer: Indexer) -> Indexer:
        return indexer.replace(options={**indexer.options, "rate": 0.01})
    ```

    ## Frameworks

    All that have static fields, and classes registered with `jax.tree_util.register_static`. Attributes of flax.nnx and
    treex objects that are static only because of their value are not reported unless they are marked.

    ## Fix safety

    A dict whose item is assigned becomes a new one: `state.rates["a"] = 1` becomes `state =
    state.replace(rates={**state.rates, "a": 1})`, or an assignment of the attribute where instances are mutable; so do
    lists, sets and dicts whose methods are called, and settings objects of which an attribute is assigned. The fix is
    unsafe: functions are compiled anew. There is none for other changes.

    ## When not to use it

    Changes to an instance that was just made and has not been passed on are not reported, nor is what no function of
    the program reads, as a log, nor anything in a program of one file that has nothing compiled. Of an instance that
    the body has made itself, or was given by a call, a change is reported with low confidence unless the body gives it
    to a compiled function before, or to a function that hands it on to one. If all changes happen before the first
    compiled call, suppress the finding. Of a class that need not hold arrays and is not seen to go into a
    transformation, changes are reported with low confidence.

    ## References

    - [zodiax #29](https://github.com/LouisDesdoigts/zodiax/issues/29), [flax #4870](https://github.com/google/flax/issues/4870)
    """

    code = "JAX206"
    name = "mutated-static-value"
    group = "roles"
    since = "0.1.0"
    confidence = Confidence.MEDIUM

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """A method that may hand what a static field holds to a function which changes it in place."""
        names = candidate.given.model.project_index.static_field_names
        reads = any(not function.self_reads.isdisjoint(names) for function in candidate.functions)
        return reads and candidate.calls_what_changes()

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the changes in place that happen in a body."""
        changing = [e for e in code.events if _changes_static_value(e)]
        slots = {id(at): slot for s in code.statements for at, slot in changed_by(s)} if changing else {}
        handed = [e for e in changed_where_handed(code, evaluator) if _changes_static_value(e)]
        for event in (*changing, *handed):
            assert isinstance(event, (MutateField, AssignAttribute))
            slot = slots.get(id(event.at), Slot((event.receiver_text or "").partition(".")[0]))
            made = _made_here(slot, code)
            if _is_filling(event, code, evaluator) or (made and not handed_on_before(made, event.at, code.body)):
                continue
            if not _may_be_compiled_in(event, code, evaluator):
                continue
            cls = event.receiver.cls
            meets = bool(code.applied) or is_seen_to_cross(cls, evaluator) or carries_arrays(cls, evaluator)
            early = _is_set_up(code) or (made is not None and not _is_compiled_before(made, event, code, evaluator))
            confidence = Confidence.MEDIUM if meets and not early else Confidence.LOW
            if isinstance(event, MutateField):
                problem = _problem(event.at, cls, event.field, confidence)
                if event not in handed:
                    fix = setting_dict(event, evaluator) or making_anew(event, evaluator)
                    problem = replace(problem, fix=fix)
                yield problem
            else:
                yield _static_instance(event, confidence)


def _changes_static_value(event: Event) -> bool:
    """Whether an event certainly changes what a static field holds, or an instance that is static as a whole."""
    match event:
        case AssignAttribute(receiver=receiver):
            return receiver.cls.is_opaque_key
        case MutateField(receiver=receiver, field=name, held=held, how=how):
            field = receiver.cls.field(name)
            if event.mutable_copy and receiver.cls.framework.mutable_copies:
                return False  # copy-and-mutate (JAX410) says that the original is changed too
            return field is not None and _is_static(field, receiver.cls) and _is_changed(held, how)
    return False


def _is_filling(event: MutateField | AssignAttribute, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether the instance is only being made, or the method makes its class a container that is filled."""
    method, owner = code.place.method, code.place.owner
    if method is None or owner is None or owner not in (event.receiver.cls, *event.receiver.cls.mro):
        return False
    if method.name in MUTATING or (method.name.startswith("__") and method.name != "__call__"):
        return True
    family = (*event.receiver.cls.mro, *evaluator.model.subclasses(event.receiver.cls))
    return is_called_only_by(method.name, family, MAKING)


def _is_set_up(code: CodeRead) -> bool:
    """Whether the body is that of a constructor: what it is given is put together before anything is compiled."""
    return code.function is not None and code.function.name in MAKING


def _made_here(slot: Slot, code: CodeRead) -> str | None:
    """The variable that holds the instance, if the body itself has made it, or was given it by a call."""
    first = source(slot, code.body)
    name = slot.root if first is None else first.root
    return name if name in assigned_names(code.body) else None


def _is_compiled_before(made: str, event: MutateField | AssignAttribute, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether the body gives its instance to a compiled function before it is changed, or in the same loop.

    Other functions that it is given to may set it up, or compile something that they throw away, unless they are seen
    to give it to a compiled function of a module.
    """
    row = place_of(event.at).row
    loops = [s.at for s in code.statements if isinstance(s, (For, While)) and is_around(s, place_of(event.at))]
    last = max((at.end_lineno for at in loops), default=row)
    bound = (s.at.lineno for s in walk(code.body) if any(b.name == made for b in bindings_of(s)))
    first = max((at for at in bound if at < row), default=0)
    if any(isinstance(e, Cross) and e.applied and first <= place_of(e.at).row <= last for e in code.events):
        return True
    calls = [call for call in code.calls if first <= place_of(call.at).row <= last]
    return any(_compiles_with(made, call, code, evaluator) for call in calls)


def _compiles_with(made: str, call: Call, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a call gives an instance to a function that hands it on to a compiled one, which outlives the call."""
    if not is_given(made, call):
        return False
    callee = called_by(call, code, evaluator)
    if callee is None or call.has_star:
        return False
    given = call.given_to(names_by_position(callee.parameters)).items()
    taken = {name for name, value in given if isinstance(value, Name) and value.id == made}
    resolver = evaluator.model.resolver
    for inner in (part for part in all_parts(callee.body, nested=False) if isinstance(part, Call)):
        if any(isinstance(argument.value, Name) and argument.value.id in taken for argument in inner.args):
            symbol = resolver.follow(resolver.resolve(inner.func, callee.module, callee.scope))
            if isinstance(symbol, FunctionSymbol) and not symbol.declaration.scope:
                applied = evaluator.calls.transformed.decorating(symbol.declaration, symbol.module)
                if any(one.transform.kind is Kind.JIT for one in applied):
                    return True
    return False


def _may_be_compiled_in(event: MutateField | AssignAttribute, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a function may read what is changed while it is compiled.

    If only this module knows of the class, and transforms functions of which none reads the attribute, it is the host's
    alone. So it is in a program that transforms none.
    """
    module, outline = code.place.module, code.place.module.outline
    attr = event.field if isinstance(event, MutateField) else event.attr
    cls, *bases = event.receiver.cls.mro
    declaring = (cls, *(base for base in bases if base.field(attr) is not None))
    if code.applied or any(one.module is not module for one in declaring) or evaluator.model.importers(module):
        return True
    if any(_names(part, attr) for applying in outline.applying for part in parts(applying.call)):
        return True
    if not transforms_functions(outline):
        return not _is_whole_program(module)
    outermost = [f for f in outline.functions.values() if "<locals>" not in f.scope]
    bodies = (evaluator.calls.body_of(FunctionSymbol(module, function)) for function in outermost)
    return any(body is None or _reads(body, attr) for body in bodies)


def _is_whole_program(module: Module) -> bool:
    """Whether a module calls its own functions when it runs, and has nothing to give an instance to but these.

    What it imports of others may compile something.
    """
    outline = module.outline
    packages = {name.partition(".")[0] if level == 0 else "" for level, name in outline.imported_modules}
    if outline.star_imports or not packages <= COMPILING_WHAT_IS_GIVEN | sys.stdlib_module_names:
        return False
    own = {f.name for f in outline.functions.values() if f.owner is None and not f.scope}
    return any(isinstance(call.func, Name) and call.func.id in own for call in outline.module_calls)


def _reads(body: Body, attr: str) -> bool:
    """Whether a function reads an attribute, and does not change what it holds: that is done on the host."""
    changed = [source(slot, body) or slot for s in walk(body) for _, slot in changed_by(s)]
    if any(attr in slot.path for slot in changed):
        return False
    return any(_names(part, attr) for part in all_parts(body))


def _names(expr: Expr, attr: str) -> bool:
    return isinstance(expr, Attribute) and expr.attr == attr


def _is_static(field: Field, cls: PytreeClass) -> bool:
    if field.role is not Role.STATIC:
        return False
    return not cls.framework.is_stateful or bool(field.metadata)


def _is_changed(held: Value, how: str) -> bool:
    """Whether what a field holds is certainly something that changes in place, of a class of the user's, too."""
    if isinstance(held, Instance) and not held.cls.is_pytree:
        return held.cls.frozen is False if how == "attribute" else _is_container_changed(held.cls, how)
    return is_changed(held, how)


def _is_container_changed(cls: PytreeClass, how: str) -> bool:
    """Whether something is put into an instance of a class below `dict`, `list` or `set`, as those do it."""
    bases = {dotted(base.value) for one in cls.mro for base in one.symbol.declaration.bases}
    return not bases.isdisjoint(_CONTAINERS) and not cls.answers(_BY_SYNTAX.get(how, how))


def _problem(at: object, cls: PytreeClass, name: str, confidence: Confidence) -> Problem:
    way_out = f"make a new value and replace `{name}` with it"
    return Problem(
        at=at,
        message=(
            f"field `{name}` of `{cls.name}` is static and changed in place: compiled functions go on with the old"
            f" value; {way_out}"
        ),
        reason=_REASON,
        help=way_out,
        confidence=confidence,
    )


def _static_instance(event: AssignAttribute, confidence: Confidence) -> Problem:
    name = event.receiver.cls.name
    way_out = "make a new instance"
    return Problem(
        at=event.at,
        message=(
            f"`{name}` is registered as static and its `{event.attr}` is changed in place: compiled functions go on"
            f" with the old value; {way_out}"
        ),
        reason=_REASON,
        help=way_out,
        confidence=confidence,
    )
