"""JAX404 no-replace-method."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import CallFunction, Proposal, Rename, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.cst.imports import spelled
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CallMethod, Event, Replace
from jaxlint.infer.known.values import Instance
from jaxlint.libraries.updates import COPYING_NAMES, REPLACE_FUNCTIONS, TREE_AT
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.missing_members import misses_attribute
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.updating import is_not_updatable, update_function, update_template, update_text
from jaxlint.rules.analyses.bodies.lookups import is_method_asked_for
from jaxlint.rules.analyses.changes.updates import is_no_dataclass
from jaxlint.rules.analyses.fixes.copies import keeps_fields, made_anew_help
from jaxlint.rules.analyses.fixes.none_given import may_be_none
from jaxlint.rules.analyses.fixes.rebinding import taking_result
from jaxlint.rules.base import EventRule, Problem
from jaxlint.syntax.expressions import Attribute, Call, dotted


class NoReplaceMethod(EventRule):
    """
    ## What it does

    Finds `.replace(…)` and `._replace(…)` on instances whose class has no such method, and `dataclasses.replace` on
    instances that are no dataclasses.

    ## Why is this bad?

    Each framework has its own way to copy an instance with changes. flax.struct, chex, simple_pytree and mjx give
    their classes a method `replace`; the others do not, and the call raises.

    ## What you will see

    `AttributeError: 'Params' object has no attribute 'replace'`; from `dataclasses.replace` `TypeError: replace()
    should be called on dataclass instances`.

    ## Example

    ```python
    import dataclasses
    import jax

    @jax.tree_util.register_dataclass
    @dataclasses.dataclass(frozen=True)
    class Params:
        rate: jax.Array

    def decay(params: Params) -> Params:
        return params.replace(rate=params.rate * 0.9)
    ```

    ## Use instead

    ```python
    import dataclasses
    import jax

    @jax.tree_util.register_dataclass
    @dataclasses.dataclass(frozen=True)
    class Params:
        rate: jax.Array

    def decay(params: Params) -> Params:
        return dataclasses.replace(params, rate=params.rate * 0.9)
    ```

    ## Frameworks

    register_dataclass, tjax and penzai (use `dataclasses.replace`), jax_dataclasses (`jdc.replace`), equinox
    (`eqx.tree_at`), NamedTuple (`_replace`), nnx and treex (their instances are mutable: assign the attribute), and
    classes registered with `register_pytree_node_class`. `_replace` exists in NamedTuples only.

    ## Fix safety

    `state.replace(x=1)` becomes `dataclasses.replace(state, x=1)`, or calls the method that the framework has; of
    a layer with a constructor of its own, one leaf is replaced with `eqx.tree_at`. The fix is safe: the line could only
    raise. Where nobody takes the result, it is assigned to the variable, too, and that is unsafe. There is no fix where
    the copy would need an `__init__` that takes the fields, and the class has another one.

    ## When not to use it

    A class that defines the method, inherits it, or answers to any name with `__getattr__` is not reported, nor is one
    with such a visible subclass, or one that the function asks for it (`hasattr(state, "replace")`). If a decorator
    adds the method out of sight, suppress the rule for that file.

    ## References

    - [dataclasses.replace](https://docs.python.org/3/library/dataclasses.html#dataclasses.replace)
    - [equinox.tree_at](https://docs.kidger.site/equinox/api/manipulation/#equinox.tree_at)
    """

    code = "JAX404"
    name = "no-replace-method"
    group = "updates"
    since = "0.1.0"
    events = (CallMethod, Replace)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at one call of a method, or of `dataclasses.replace`."""
        if isinstance(event, Replace):
            if event.function in REPLACE_FUNCTIONS and is_no_dataclass(event):
                base = event.call.positional[0]
                fix = taking_result(_of_tuple(event), event.call, base, event.place, evaluator)
                yield _problem(event.receiver.cls, event.call, base.at, None, fix)
            return
        assert isinstance(event, CallMethod)
        receiver, func = event.receiver, event.call.func
        if event.name not in COPYING_NAMES or not isinstance(receiver, Instance) or not isinstance(func, Attribute):
            return
        family = event.place.family(receiver)
        lacks_it = all(misses_attribute(cls, event.name, evaluator.model) for cls in family)
        if lacks_it and not isinstance(func.value, Call) and not is_method_asked_for(event, evaluator):
            updating = _updating(event, receiver, evaluator)
            fix = taking_result(updating, event.call, func.value, event.place, evaluator)
            yield _problem(receiver.cls, event.call, func.at, event.name, fix)


def _problem(cls: PytreeClass, call: Call, at: object, method: str | None, fix: Proposal | None) -> Problem:
    receiver = call.func.value if method is not None and isinstance(call.func, Attribute) else call.positional[0]
    way_out = _way_out(cls, dotted(receiver) or "...", call)
    if method is None:
        wrong = f"is no dataclass: `{dotted(call.func) or 'replace'}` raises TypeError"
    else:
        wrong = f"has no method `{method}`: the call raises AttributeError"
    return Problem(
        at=at,
        message=f"`{cls.name}` ({cls.framework.title}) {wrong}; {way_out}",
        reason=f"instances of {cls.framework.title} classes are not updated that way",
        help=way_out,
        subject=f"{cls.module.path}::{cls.symbol.declaration.qualname}",
        fix=fix,
    )


@proposing
def _updating(event: CallMethod, receiver: Instance, evaluator: Evaluator) -> Proposal | None:
    """The fix: the method or the function that makes the copy."""
    cls, call = receiver.cls, event.call
    names = {argument.keyword for argument in call.args}
    if None in names or call.has_star or not all(cls.field(name or "") for name in names) or not names:
        return None
    method = cls.framework.replace_method
    if method is not None:
        at = call.func.at
        if method == event.name or any(is_not_updatable(cls, name or "") for name in names):
            return None
        return Proposal(f"Call `{method}`", Applicability.SAFE, (Rename(at, method),))
    if cls.framework.copies_leaves and (cls.custom_init() is not None or not cls.fields_known):
        at_leaf = _at_leaf(event, cls, evaluator)
        if at_leaf is not None:
            return at_leaf
    is_set = all((field := cls.field(name or "")) is not None and field.init for name in names)
    if not cls.is_dataclass or not is_set or not keeps_fields(cls) or cls.frozen is None:
        return None
    function = update_function(cls, next(iter(names)) or "")
    function = "dataclasses.replace" if function.endswith("tree_at") else function
    written = spelled(function, event.place.module, evaluator.model.resolver, event.place.scope)
    if written is None:
        return None
    change = CallFunction(call.at, written[0])
    return Proposal(f"Call `{written[0]}`", Applicability.SAFE, (change,), written[1])


@proposing
def _at_leaf(event: CallMethod, cls: PytreeClass, evaluator: Evaluator) -> Proposal | None:
    """The fix of an update of one leaf of a module whose constructor takes no fields, or is not known."""
    call, (argument, *others) = event.call, event.call.args
    field = cls.field(argument.keyword or "")
    written = spelled(TREE_AT, event.place.module, evaluator.model.resolver, event.place.scope)
    if others or field is None or field.role is not Role.LEAF or written is None:
        return None
    assert isinstance(call.func, Attribute)
    is_empty = may_be_none(cls, field.name, event.place, evaluator)
    template = update_template(written[0], field.name, is_empty=is_empty).format(base="{0}", value="{1}")
    change = Rewrite(call.at, template, (call.func.value.at, argument.value.at))
    return Proposal(f"Call `{written[0]}`", Applicability.SAFE, (change,), written[1])


@proposing
def _of_tuple(event: Replace) -> Proposal | None:
    """The fix of a function that is given a named tuple: its method is called."""
    cls, call = event.receiver.cls, event.call
    method, given = cls.framework.replace_method, [argument for argument in call.args if argument.keyword is not None]
    if method is None or len(given) != len(call.args) - 1 or any(cls.field(a.keyword or "") is None for a in given):
        return None
    arguments = ", ".join(f"{argument.keyword}={{{number}}}" for number, argument in enumerate(given, 1))
    parts = (call.positional[0].at, *(argument.value.at for argument in given))
    change = Rewrite(call.at, f"{{0}}.{method}({arguments})", parts)
    return Proposal(f"Call `{method}`", Applicability.SAFE, (change,))


def _way_out(cls: PytreeClass, name: str, call: Call) -> str:
    """What to do instead."""
    given = [a.keyword for a in call.args if a.keyword is not None]
    fields = given or [f.name for f in cls.fields] or ["field"]
    if cls.framework.is_stateful:
        return f"use `{name}.{fields[0]} = ...`"
    if cls.framework.replace_method is None and not any(c.is_dataclass for c in cls.mro):
        return f"use `{cls.name}(...)`"
    anew = next(filter(None, (made_anew_help(cls, field) for field in given or fields[:1])), "")
    return anew or f"use `{update_text(cls, None if name == '...' else name, fields[0])}`"
