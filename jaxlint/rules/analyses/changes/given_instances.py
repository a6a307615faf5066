"""Methods of an instance that a constructor is given without annotation, compiles and keeps, and who changes it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.bodies.slots import changed_by
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.rules.analyses.changes.bound_part import set_by
from jaxlint.rules.analyses.changes.constant_attributes import is_constant
from jaxlint.rules.analyses.changes.stale import forgets, reads
from jaxlint.rules.analyses.instances.makers import makers
from jaxlint.rules.analyses.instances.methods import own_methods, run_by
from jaxlint.rules.analyses.instances.passed import Called, calls_of, parameter_of
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Argument, Attribute, Call, Name, last_name
from jaxlint.syntax.names_read import reads as reads_of
from jaxlint.syntax.statements import Body, For, While, assigned_names, bound_once, own_parts, walk


class StoredParameter(msgspec.Struct, frozen=True):
    """`self.attr = jax.jit(model.method)` in a constructor that is given `model` without annotation."""

    call: Call
    attr: str
    given: Name
    method: str


class ChangedLater(msgspec.Struct, frozen=True):
    """What a caller of the constructor changes of the instance afterwards, and by which method, if it is one."""

    method: Function
    cls: PytreeClass
    attr: str
    changing: Function | None


def parameters_stored(code: CodeRead) -> Iterator[StoredParameter]:
    """The methods of its parameters that a constructor compiles and keeps."""
    init = code.function
    for one in init.self_assignments if init is not None and init.name == "__init__" else ():
        match one.value:
            case Call(func=func, args=(Argument(value=Attribute(value=Name() as given, attr=method)), *_)) as call:
                if last_name(func) == "jit" and parameter_of(given, code) is not None:
                    yield StoredParameter(call, one.attr, given, method)


def changed_later(stored: StoredParameter, code: CodeRead, evaluator: Evaluator) -> ChangedLater | None:
    """What a function changes that has made the object, works with it before and after, and holds the instance."""
    init, owner, module = code.function, code.place.owner, code.place.module
    if init is None or owner is None or forgets(owner):
        return None
    assigned = [a for cls in owner.mro for method in own_methods(cls) for a in method.self_assignments]
    if sum(a.attr == stored.attr for a in assigned) > 1:
        return None
    if evaluator.model.resolver.library_name(stored.call.func, module, init.inner_scope) != "jax.jit":
        return None
    for called in calls_of(init, module, (module, *evaluator.model.importers(module)), evaluator):
        caller, given = called.caller, called.given.get(stored.given.id)
        body = None if caller is None else evaluator.calls.body_of(FunctionSymbol(called.module, caller))
        if body is not None and isinstance(given, Name):
            found = _changed_in(body, called, given, stored.method, evaluator)
            if found is not None:
                return found
    return None


def _changed_in(body: Body, called: Called, given: Name, name: str, evaluator: Evaluator) -> ChangedLater | None:
    """What a body changes of the instance between two uses of what it has made with that, perhaps in two turns."""
    bound = bound_once(body)
    holder = next((variable for variable, value in bound.items() if value is called.call), None)
    resolver = evaluator.model.resolver
    if holder is None or (given.id not in bound and given.id in assigned_names(body)):
        return None
    made = makers(Placed(given, called.module, called.scope), evaluator)
    funcs = [Placed(one.expr.func, one.module, one.scope) for one in made if isinstance(one.expr, Call)]
    symbols = [resolver.follow(resolver.resolve(one.expr, one.module, one.scope)) for one in funcs]
    cls = evaluator.model.class_of_symbol(symbols[0]) if symbols and len({*symbols}) == 1 else None
    found = None if cls is None else cls.method(name)
    if cls is None or found is None or cls.frozen is not False or forgets(cls):
        return None
    read = reads(run_by(found[1], cls).values(), cls)
    rows = [place_of(one.at).row for one in reads_of(body, holder)]
    loops = [place_of(s.at) for s in walk(body, nested=False) if isinstance(s, (For, While))]
    turns = [loop for loop in loops if not loop.holds(place_of(called.call.at))]
    for statement in walk(body, nested=False):
        row = statement.at.lineno
        before = [r for r in rows if r < row]
        again = (loop.row for loop in turns if loop.row < row <= loop.end_row)
        if not before or not (any(r > row for r in rows) or any(r > start for start in again for r in before)):
            continue
        for _, slot in changed_by(statement):
            if slot.root == given.id and slot.path and slot.path[0] in read:
                if not is_constant(slot.path[0], cls, evaluator, called.module):
                    return ChangedLater(found[1], cls, slot.path[0], None)
        for call in own_parts(statement):
            match call:
                case Call(func=Attribute(value=Name(id=changed), attr=attr)) if changed == given.id:
                    method, several = cls.method(attr), sorted(set_by(attr, cls) & read)
                    changed_here = (name for name in several if not is_constant(name, cls, evaluator, called.module))
                    first = next(changed_here, None)
                    if method is not None and first is not None:
                        return ChangedLater(found[1], cls, first, method[1])
    return None
