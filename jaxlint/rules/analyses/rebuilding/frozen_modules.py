"""Assignments to modules of flax.linen, which are frozen outside of `setup`, and changes of what they have frozen."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jaxlint.infer.bodies.expecting import expected_to_work
from jaxlint.infer.bodies.slots import changed_by
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.libraries import linen
from jaxlint.project.resolution import ClassSymbol, External, Symbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.fields.linen_fields import is_taken
from jaxlint.rules.analyses.instances.methods import own_methods
from jaxlint.rules.analyses.rebuilding.frozen import is_called_only_by
from jaxlint.symbols.outline import MUTATING, Function
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Subscript,
    attribute_of,
    is_special,
    kind_written,
)
from jaxlint.syntax.statements import Annotate, Delete, Do, Statement, targets_of

_SETUP = frozenset({linen.SETUP})
_SETTING = "__setattr__"


class RefusedByModule(msgspec.Struct, frozen=True):
    """A statement that a module refuses: where it is, what it does, what that raises, and the way out."""

    at: object
    attr: str
    what: str
    error: str
    way_out: str


def refused_by_module(code: CodeRead, evaluator: Evaluator) -> Iterator[RefusedByModule]:
    """What a method of a module of flax.linen assigns to `self` that is frozen, or puts into what is."""
    method, owner = code.place.method, code.place.owner
    if owner is None or method is None or method is not code.function or method.self_name is None:
        return
    if not evaluator.inherits(owner, linen.MODULE) or _may_set_otherwise(owner, evaluator):
        return
    family = evaluator.model.subclasses(owner).below(*owner.mro)
    in_setup = is_called_only_by(method.name, family, _SETUP)
    if not in_setup and not is_called_only_by(method.name, family, _running_with_parameters(owner, evaluator)):
        return
    fields = _fields(owner, evaluator)
    for statement in expected_to_work(code.body):
        for target in targets_of(statement) if not _sets_nothing(statement) else ():
            attr = attribute_of(method.self_name, target)
            if attr is None or is_special(attr):
                continue
            if not in_setup:
                yield _assigned(target.at, method, attr)
            elif attr in fields:
                yield _field_assigned(target.at, method, attr)
        yield from _frozen_changed(statement, method, owner)


def _running_with_parameters(owner: PytreeClass, evaluator: Evaluator) -> frozenset[str]:
    """The methods that only run where the module has its parameters: before that, it takes what is assigned.

    A module that asks for its scope, or has nothing to set up, may be called without parameters.
    """
    own = [(cls.module, method) for cls in owner.mro for method in own_methods(cls)]
    if any(linen.SCOPE in method.self_reads for _, method in own):
        return frozenset()
    named = evaluator.model.resolver.library_name
    found = {m.name for module, m in own if any(named(d, module, m.scope) == linen.COMPACT for d in m.decorators)}
    sets_up = any(m.name == linen.SETUP and (m.self_assignments or m.self_calls) for _, m in own)
    return frozenset(found | ({"__call__"} if sets_up else set()))


def _may_set_otherwise(owner: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether the class, or a base that is not seen, may set attributes itself, or make something else of fields."""
    if any(owner.method(name) is not None for name in (_SETTING, "__init_subclass__")):
        return True
    if any(cls.unknown_decorator or _SETTING in cls.attributes_added for cls in owner.mro):
        return True
    if any(f"{cls.name}.{_SETTING}" in cls.module.outline.attributes_set for cls in owner.mro):
        return True
    for cls in owner.mro:
        declaration = cls.symbol.declaration
        for base in declaration.bases:
            value = base.value.value if isinstance(base.value, Subscript) else base.value
            symbol = evaluator.model.resolver.resolve(value, cls.module, declaration.scope)
            is_seen = isinstance(symbol, ClassSymbol)
            if base.keyword == "metaclass" or (base.keyword is None and not is_seen and not _is_harmless(symbol)):
                return True
    return False


def _is_harmless(symbol: Symbol) -> bool:
    """Whether a base outside of the project is a module itself, or one of those that only say what others have."""
    return isinstance(symbol, External) and symbol.name.startswith(linen.HARMLESS_BASES)


def _fields(owner: PytreeClass, evaluator: Evaluator) -> set[str]:
    """The names of fields of a module: what a base declares that is neither a module nor a dataclass is none."""
    declaring = (cls for cls in owner.mro if cls.is_dataclass or evaluator.inherits(cls, linen.MODULE))
    return {field.name for cls in declaring for field in cls.symbol.declaration.fields if is_taken(field)}


def _sets_nothing(statement: Statement) -> bool:
    """Whether a statement deletes, or declares and gives no value: `self.width: int`."""
    return isinstance(statement, Delete) or (isinstance(statement, Annotate) and statement.value is None)


def _assigned(at: object, method: Function, attr: str) -> RefusedByModule:
    own = method.self_name
    return RefusedByModule(
        at,
        attr,
        f"assigning `{own}.{attr}` outside of `setup`",
        linen.FROZEN_ERROR,
        f"return it, or keep it with `{own}.sow(...)` or `{own}.variable(...)`",
    )


def _field_assigned(at: object, method: Function, attr: str) -> RefusedByModule:
    return RefusedByModule(
        at,
        attr,
        f"assigning the field `{method.self_name}.{attr}` in `setup`",
        linen.FIELD_ERROR,
        "assign another attribute",
    )


def _frozen_changed(statement: Statement, method: Function, owner: PytreeClass) -> Iterator[RefusedByModule]:
    """A change of a list or dict that `setup` has assigned, of which the module has made something else."""
    match statement:
        case Do(value=Call(func=Attribute(value=held, attr=name) as func)) if name in MUTATING:
            attr = attribute_of(method.self_name, held)
            if attr is not None and _assigned_kinds(attr, owner) == {"list"}:
                yield RefusedByModule(
                    func.at,
                    attr,
                    f"`{method.self_name}.{attr}` is a tuple, for the module makes one of the list: `.{name}`",
                    "AttributeError",
                    "fill a variable, and assign that in the end",
                )
            return
    for at, slot in changed_by(statement):
        if slot.root == method.self_name and len(slot.path) == 2 and slot.path[1].startswith("["):
            kinds = _assigned_kinds(slot.path[0], owner)
            if len(kinds) == 1 and (kind := next(iter(kinds))) is not None:
                yield RefusedByModule(
                    at,
                    slot.path[0],
                    f"`{method.self_name}.{slot.path[0]}` is a {linen.MADE_OF[kind]}, for the module makes one of the"
                    f" {kind}: assigning an item",
                    "TypeError" if kind == "list" else "ValueError",
                    "fill a variable, and assign that in the end",
                )


def _assigned_kinds(attr: str, owner: PytreeClass) -> set[str | None]:
    """The kinds of what methods assign to an attribute, where it is written out: "list", "dict", or None."""
    own = [method for cls in owner.mro for method in own_methods(cls)]
    assigned = [(method.name, a.value) for method in own for a in method.self_assignments if a.attr == attr]
    kinds = {kind_written(value) if name == linen.SETUP else "" for name, value in assigned}
    return {kind if kind in linen.MADE_OF else None for kind in kinds}
