"""Attributes that code outside of a class sets, while a compiled method goes on with what it read when it was compiled.

The constructor keeps the method compiled: `self.update = jax.jit(self._update)`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from jaxlint.infer.bodies.slots import Slot, changed_by
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import AssignAttribute, CodeRead
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.changes.compiled_anew import keys_of, may_compile_again, static_arguments
from jaxlint.rules.analyses.changes.constant_attributes import is_constant
from jaxlint.rules.analyses.changes.on_the_host import traced_with
from jaxlint.rules.analyses.changes.put_back import is_put_back
from jaxlint.rules.analyses.changes.set_between import called_around, called_method
from jaxlint.rules.analyses.changes.stale import forgets, is_given, is_read_harmlessly, reads
from jaxlint.rules.analyses.fields.needed_numbers import need_of
from jaxlint.rules.analyses.instances.methods import CONSTRUCTORS, own_methods, run_by
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Argument, Attribute, Call, Constant, Name, dotted, last_name
from jaxlint.syntax.statements import (
    Assign,
    Augment,
    Body,
    For,
    Statement,
    While,
    all_parts,
    bound_by,
    bound_names,
    parts,
    targets_of,
    walk,
)


class SetOutside(msgspec.Struct, frozen=True):
    """What is called again after an attribute was set, the method that it has compiled, and what holds that."""

    called: str
    compiled: Function
    holder: str


def set_outside(event: AssignAttribute, code: CodeRead, evaluator: Evaluator) -> SetOutside | None:
    """What a body calls around a place where it sets an attribute of an instance, and goes on with the old value."""
    cls, path, place = event.receiver.cls, event.receiver_text, event.place
    if event.on_self or path is None or event.alternatives or cls.frozen is True or code.applied:
        return None
    holders = {
        name: method
        for name, method in _compiled_by_constructor(cls, evaluator).items()
        if _is_read(event.attr, name, method, cls, evaluator)
    }
    if not holders or forgets(cls) or is_constant(event.attr, cls, evaluator, place.module):
        return None
    by_name = {**_calling(event.attr, holders, cls), **{name: name for name in holders}}
    calls = called_around(event.at, path, by_name, code.body)
    if calls is None or not _changes_value(event, code.body) or _is_passed(path, event.attr, code.body):
        return None
    called = called_method(calls[0], path)
    start, *steps = path.split(".")
    slot = Slot(start, (*steps, event.attr))
    if is_put_back(slot, code.function, code.body) or _runs_otherwise(path, by_name[called], code):
        return None
    if may_compile_again(*calls, static_arguments(by_name[called], cls, evaluator)):
        return None
    if _sets_one_of(keys_of(by_name[called], cls, evaluator), path, code.body):
        return None  # a static argument tells that something has changed
    need = need_of(event.attr, cls, place.module, evaluator)
    if need is not None and need.is_for_structure:
        return None  # the arguments have other shapes then, and it is compiled again
    return SetOutside(called, holders[by_name[called]], by_name[called])


def _compiled_by_constructor(cls: PytreeClass, evaluator: Evaluator) -> Mapping[str, Function]:
    """The attributes in which the constructor of a class keeps a compiled method, which nothing compiles again."""
    assigned = [(one, m, a) for one in cls.mro for m in own_methods(one) for a in m.self_assignments]
    found: dict[str, Function] = {}
    for one, constructor, assignment in assigned:
        match assignment.value:
            case Call(func=func, args=(Argument(value=Attribute(value=Name(id=own), attr=name)), *_)):
                compiled = cls.method(name)
                compiler = evaluator.model.resolver.library_name(func, one.module, constructor.inner_scope)
                is_own = constructor.name in CONSTRUCTORS and own == constructor.self_name
                if is_own and compiled is not None and compiler == "jax.jit":
                    if sum(a.attr == assignment.attr for _, _, a in assigned) == 1:
                        found[assignment.attr] = compiled[1]
    return found


def _calling(attr: str, holders: Mapping[str, Function], cls: PytreeClass) -> dict[str, str]:
    """The methods that certainly run a compiled one with what it has built in, and what holds that.

    Who reads the attribute as well may pass it on or choose by it; who calls the method itself may not run the other.
    """
    found: dict[str, str] = {}
    compiled = {name for method in holders.values() for name in run_by(method, cls)}
    for method in (m for one in cls.mro for m in own_methods(one)):
        ran = [one for name, one in run_by(method, cls).items() if name not in compiled]
        called = frozenset[str]().union(*(one.self_calls for one in ran))
        if attr not in reads(ran, cls) and called.isdisjoint(compiled):
            found.update((method.name, holder) for holder in called & holders.keys())
    return found


def _runs_otherwise(path: str, holder: str, code: CodeRead) -> bool:
    """Whether code compiles the method anew, or lets nothing be compiled."""
    targets = (dotted(target) for s in walk(code.body, nested=False) for target in bound_by(s))
    return f"{path}.{holder}" in targets or any(last_name(call.func) == "disable_jit" for call in code.calls)


def _is_read(attr: str, holder: str, method: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a compiled method reads an attribute, of which it is not given the value of today."""
    inside = traced_with(method, cls, evaluator)
    if attr not in reads(inside.values(), cls) or is_given(attr, holder, cls, evaluator):
        return False
    return not is_read_harmlessly(attr, inside, cls, evaluator)


def _sets_one_of(attrs: Collection[str], path: str, body: Body) -> bool:
    """Whether a body gives one of some attributes of an instance another value."""
    paths = {f"{path}.{attr}" for attr in attrs}
    return any(dotted(target) in paths for s in walk(body, nested=False) for target in targets_of(s))


def _changes_value(event: AssignAttribute, body: Body) -> bool:
    """Whether a loop gives an attribute another value in each turn; outside of loops it does, as far as can be seen."""
    loops = [s for s in walk(body, nested=False) if isinstance(s, (For, While)) and _sets(s.body, event)]
    if not loops:
        return True
    bound = {name for loop in loops for statement in walk((loop,), nested=False) for name in bound_names(statement)}
    setting = next((s for s in walk(body, nested=False) if _is_setting(s, event)), None)
    if isinstance(setting, Augment):
        return True
    if not isinstance(setting, Assign) or isinstance(setting.value, Constant):
        return False
    return any(
        (isinstance(part, Name) and part.id in bound) or dotted(part) == f"{event.receiver_text}.{event.attr}"
        for part in parts(setting.value)
    )


def _sets(body: Body, event: AssignAttribute) -> bool:
    return any(_is_setting(statement, event) for statement in walk(body, nested=False))


def _is_setting(statement: Statement, event: AssignAttribute) -> bool:
    return any(place is event.at for place, _ in changed_by(statement))


def _is_passed(path: str, attr: str, body: Body) -> bool:
    """Whether a call of a method of an instance is given an attribute of it."""
    return any(
        isinstance(part, Call)
        and (dotted(part.func) or "").rpartition(".")[0] == path
        and any(dotted(argument.value) == f"{path}.{attr}" for argument in part.args)
        for part in all_parts(body)
    )
