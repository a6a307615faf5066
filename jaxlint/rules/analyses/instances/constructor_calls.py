"""What is wrong with the arguments of a call, as the constructor of a class takes them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from jaxlint.cst.changes import NameArgument, Proposal, Rename
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability
from jaxlint.infer.known.values import Array, Value, is_python_number
from jaxlint.pytrees.made_of_fields import has_metaclass, is_init_guarded
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.pytrees.stubs import is_stub
from jaxlint.pytrees.updating import is_train_state
from jaxlint.symbols.outline import Parameter
from jaxlint.syntax.expressions import Call, Constant, Expr
from jaxlint.syntax.spelling import nearest

#: How many of the missing arguments are named.
_MOST_NAMES = 6
NO_POSITIONS = "ValueError (Mappable dataclass constructor doesn't support positional args)"


class WrongArguments(msgspec.Struct, frozen=True):
    """What is wrong with a call, where, what it raises, and the way out."""

    at: object
    what: str
    error: str
    way_out: str
    fix: Proposal | None = None


def is_constructor_known(cls: PytreeClass) -> bool:
    """Whether calling the class certainly calls the constructor that is seen, with what the call gives it."""
    if not cls.bases_known or cls.unknown_decorator or is_stub(cls.module) or cls.symbol.declaration.conditional_body:
        return False
    if cls.base_constructs:  # an Enum is called to look a member up, whatever constructor it has
        return False
    if any("__new__" in c.symbol.declaration.methods or is_stub(c.module) for c in cls.mro) and not is_train_state(cls):
        return False
    if any("__init_subclass__" in c.symbol.declaration.methods for c in cls.mro[1:]):
        return False  # which may make a dataclass of it
    if has_metaclass(cls):
        return False
    if cls.registered is not True or not all(c.options_known for c in cls.mro):
        return False
    init = cls.custom_init()
    if init is not None and (init.decorators or not init.parameters or is_init_guarded(cls)):
        return False
    return len(cls.symbol.declaration.methods.get("__init__", ())) <= 1 and not _is_declared_again(cls)


def _is_declared_again(cls: PytreeClass) -> bool:
    """Whether the name of the class is bound more than once, so that the call may be of another class."""
    declaration = cls.symbol.declaration
    scope = cls.module.outline.scopes.get(declaration.scope)
    return scope is None or len(scope.bindings.get(declaration.name, ())) != 1


def wrong_with(call: Call, cls: PytreeClass, parameters: tuple[Parameter, ...]) -> WrongArguments | None:
    """What is wrong with the arguments of a call."""
    is_mapping = cls.registered and cls.is_mapping is True
    if cls.framework.mapping_option and not is_mapping:
        return None
    positional = [p for p in parameters if p.kind == "positional"]
    any_position = any(p.kind == "*" for p in parameters)
    starred = any(argument.star == "*" for argument in call.args)
    given = call.positional
    if given and is_mapping:
        if len(given) == 1 and len(call.args) == 1:
            return None  # a dict, as `dict` takes one
        fix = _named(given, parameters)
        return WrongArguments(given[0].at, "is given positional arguments", NO_POSITIONS, "pass them by keyword", fix)
    if len(given) > len(positional) and not any_position and not is_mapping:
        what = f"takes {len(positional)} positional argument{'s' * (len(positional) != 1)} and is given {len(given)}"
        return WrongArguments(given[len(positional)].at, what, "TypeError", "pass what it takes")
    by_position = {p.name for p in positional[: len(given)]}
    for argument in call.args:
        if argument.keyword is None:
            continue
        wrong = wrong_keyword(argument.keyword, argument.at, cls, parameters, by_position, call)
        if wrong is not None:
            return wrong
    if starred or call.has_star:
        return None
    return missing_in(call, cls, parameters, by_position)


def no_dict(call: Call, cls: PytreeClass, parameters: tuple[Parameter, ...], value: Value) -> WrongArguments | None:
    """What is wrong with a call `Class(x)` of a class that takes its fields as `dict` does, if `x` is no dict.

    `dict(array)` and `dict(number)` raise TypeError (chex 0.1.92).
    """
    is_alone = len(call.args) == 1 and len(call.positional) == 1
    if not is_alone or not (cls.registered and cls.is_mapping is True and cls.framework.mapping_option):
        return None
    if not is_python_number(value) and (not isinstance(value, Array) or value.declared):
        return None
    fix, what = _named(call.positional, parameters), "takes a positional argument for a dict of its fields"
    return WrongArguments(call.positional[0].at, what, "TypeError", "pass it by keyword", fix)


@proposing
def _named(given: Sequence[Expr], parameters: tuple[Parameter, ...]) -> Proposal | None:
    """The fix that passes positional arguments by keyword."""
    named = tuple(NameArgument(g.at, p.name, is_one_of_many=True) for g, p in zip(given, parameters, strict=False))
    return Proposal("Name the arguments", Applicability.SAFE, named) if len(given) <= len(parameters) else None


def wrong_keyword(
    name: str, at: object, cls: PytreeClass, parameters: tuple[Parameter, ...], by_position: set[str], call: Call
) -> WrongArguments | None:
    """What is wrong with one keyword."""
    given = {argument.keyword for argument in call.args}
    if name in by_position:
        return WrongArguments(
            at, f"is given `{name}` twice", "TypeError (got multiple values for argument)", "pass it once"
        )
    names = [p.name for p in parameters if p.kind in ("positional", "keyword")]
    if name in names or any(p.kind == "**" for p in parameters):
        return None
    field = cls.field(name)
    if field is not None and not field.init and cls.framework.mapping_option:
        return None  # which ignores it
    if name in cls.class_attributes:
        return None  # JAX110's
    error = cls.framework.unknown_name_error
    error += " (got unexpected kwargs)" if error == "ValueError" else " (unexpected keyword argument)"
    close = nearest(name, names)
    way_out = f"did you mean `{close}`?" if close else f"declare the field, or leave `{name}` out"
    what = f"does not take `{name}` (the field has `init=False`)" if field is not None else f"has no field `{name}`"
    fix = None
    if close is not None and close not in by_position and close not in given:
        fix = Proposal(f"Rename to `{close}`", Applicability.UNSAFE, (Rename(at, close),))
    return WrongArguments(at, what if cls.custom_init() is None else f"does not take `{name}`", error, way_out, fix)


def missing_in(
    call: Call, cls: PytreeClass, parameters: tuple[Parameter, ...], by_position: set[str]
) -> WrongArguments | None:
    """What is wrong with a call that gives too little."""
    given = {argument.keyword for argument in call.args} | by_position
    is_generated = cls.custom_init() is None
    missing = []
    for parameter in parameters:
        if parameter.kind not in ("positional", "keyword") or parameter.default is not None or parameter.name in given:
            continue
        field = cls.field(parameter.name)
        if is_generated and (field is None or _may_be_left_out(field, cls)):
            continue
        if is_generated and cls.framework.is_stateful and field is not None and field.call is not None:
            continue
        missing.append(parameter.name)
    if not missing:
        return None
    what = f"needs {listed([f'`{name}`' for name in missing])}, which {'is' if len(missing) == 1 else 'are'} not given"
    way_out = f"pass {listed([f'`{name}=...`' for name in missing])}"
    return WrongArguments(call.func.at, what, "TypeError (missing a required argument)", way_out)


def listed(names: Sequence[str]) -> str:
    """Some names in a sentence; of many, the first ones."""
    shown = [*names[:_MOST_NAMES], f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES + 1 else names
    return " and ".join([part for part in (", ".join(shown[:-1]), shown[-1]) if part])


def _may_be_left_out(field: Field, cls: PytreeClass) -> bool:
    """Whether a field may have a default after all, or another rule tells what is wrong with it.

    JAX412 says what `TrainState` needs, and JAX115 that `x: jnp.zeros(3)` is no default; a method is one.
    """
    if field.opaque or field.has_default or is_stub(field.owner.module):
        return True
    declared = None if field.annotation is None else field.annotation.expr
    if isinstance(declared, Call) or (isinstance(declared, Constant) and declared.kind != "str"):
        return True
    return cls.method(field.name) is not None or cls.binds(field.name)
