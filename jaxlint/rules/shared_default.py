"""JAX302 shared-default."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxlint.cst.changes import Proposal
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability, Confidence, Severity
from jaxlint.infer.choosing.given import is_plain
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.promises import made_by_defaults
from jaxlint.infer.known.values import UNKNOWN, Array, Container, Instance, Value, plain
from jaxlint.project.resolution import FunctionSymbol, ValueSymbol
from jaxlint.pytrees.hashing import is_hashable
from jaxlint.pytrees.model import Field, Placed, PytreeClass
from jaxlint.rules.analyses.fixes.defaults import made_anew
from jaxlint.rules.analyses.instances.methods import CONSTRUCTORS, own_methods
from jaxlint.rules.analyses.instances.shared_attributes import attributes_shared
from jaxlint.rules.base import ClassRule, Problem
from jaxlint.symbols.outline import MUTATING
from jaxlint.syntax.expressions import Call, Display, Lambda, dotted
from jaxlint.syntax.spelling import with_article

#: What seldom is changed in place, as settings are.
_ARRAY = "a numpy array"
_KINDS = {"list": "a list", "dict": "a dict", "set": "a set"}
#: The text of an assignment to an item, behind what it is an item of.
_ITEM_ASSIGNED = r"\[[^\]]*\]\s*[-+*/|]?=(?!=)"
_FACTORIES = frozenset({"list", "dict", "set"})


class SharedDefault(ClassRule):
    """
    ## What it does

    Finds defaults that a dataclass accepts though they hold a list, a dict, a set or a numpy array: in a tuple, or in a
    frozen instance.

    Factories that give a constant of a module each time share it as well.

    Also lists, dicts and sets that methods change through `self`, but that the class body or the default of a parameter
    of `__init__` has made, once for all instances.

    ## Why is this bad?

    All instances share the default. What one puts into it, the others have, too. A dataclass refuses what cannot be
    hashed, and looks no further: a tuple and a frozen instance pass, whatever they hold.

    ## What you will see

    No error. An instance that was just made already has the entries of another one.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Logs:
        entries: dict = struct.field(default_factory=dict)

    @struct.dataclass
    class State:
        x: jax.Array
        logs: Logs = Logs()

    def note(state: State, name: str) -> None:
        state.logs.entries[name] = True
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Logs:
        entries: dict = struct.field(default_factory=dict)

    @struct.dataclass
    class State:
        x: jax.Array
        logs: Logs = struct.field(default_factory=Logs)

    def note(state: State, name: str) -> None:
        state.logs.entries[name] = True
    ```

    ## Frameworks

    All. Instances that are not frozen are refused as defaults, and a named tuple takes a list itself (JAX301). A class
    with an `__init__` of its own is asked what that keeps, whatever registers it.

    ## Fix safety

    A default that the class itself makes becomes a `default_factory`. The fix is unsafe, for the instances share
    nothing then.

    ## When not to use it

    A default that nobody ever changes may be shared: where nothing in the module of the class changes one in place, it
    is reported with low confidence, as are arrays of numpy. Arrays of jax never change. What is also reached through
    the class (`cls.registry`) is meant for all, and dicts and sets in a class body may be caches (low confidence).

    ## References

    - [dataclasses: mutable default values](https://docs.python.org/3/library/dataclasses.html#mutable-default-values)
    """

    code = "JAX302"
    name = "shared-default"
    group = "construction"
    severity = Severity.WARNING
    since = "0.1.0"

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at the defaults of the class's own fields."""
        for field in cls.fields:
            if field.owner != cls.symbol or field.default is None:
                continue
            what = _shared(field.default, evaluator)
            if what is not None:
                changed_by = _is_array_changed if _ARRAY in what else _is_changed_in_place
                is_changed = changed_by(field, cls, evaluator)
                way_out = "use `None`" if cls.framework.is_tuple else "use `default_factory`"
                yield Problem(
                    at=field.default.expr.at,
                    message=(
                        f"the default of `{field.name}` of `{cls.name}` {what}, and all instances share it: what one"
                        f" changes, all have; {way_out}"
                    ),
                    reason="a default is made once, when the class is",
                    help=way_out,
                    confidence=None if is_changed else Confidence.LOW,
                    fix=_made_anew(field, cls, evaluator),
                )
        for field in cls.fields:
            found = _same_each_time(field, evaluator) if field.owner == cls.symbol else None
            if found is not None and field.factory is not None:
                name, what = found
                way_out = f"give a copy of `{name}`"
                yield Problem(
                    at=field.factory.expr.at,
                    message=(
                        f"the factory of `{field.name}` of `{cls.name}` gives `{name}`, {what}, each time, and all"
                        f" instances share it: what one changes, all have; {way_out}"
                    ),
                    reason="a factory that gives what was made before makes nothing anew",
                    help=way_out,
                    confidence=None if _is_changed_in_place(field, cls, evaluator) else Confidence.LOW,
                )
        for shared in attributes_shared(cls, evaluator):
            yield Problem(
                at=shared.at,
                message=f"{shared.what}, and all instances share it: what one changes, all have; {shared.way_out}",
                reason="a class body and the defaults of parameters are evaluated once",
                help=shared.way_out,
                confidence=Confidence.LOW if shared.may_be_meant else None,
            )


@proposing
def _made_anew(field: Field, cls: PytreeClass, evaluator: Evaluator) -> Proposal | None:
    """The fix, where the default is made in the class: of one with a name, a factory would give the same to all."""
    if cls.framework.is_tuple or field.default is None or not isinstance(field.default.expr, (Call, Display)):
        return None
    return made_anew(cls, field, Applicability.UNSAFE, evaluator)[1]


def _is_changed_in_place(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether something is changed in place through an attribute named like the field or one of those of its default.

    The module of the class is looked at, and that of the class of the default.
    """
    value = UNKNOWN if field.default is None else plain(evaluator.static(field.default))
    held = value.cls if isinstance(value, Instance) else cls
    names = "|".join(sorted({field.name, *(f.name for f in held.fields if held is not cls)}))
    path = rf"\.(?:{names})\b(?:\.\w+|\[[^\]]*\])*"
    return _is_written(rf"{path}(?:{_ITEM_ASSIGNED}|\.(?:{'|'.join(sorted(MUTATING))})\()", cls, held)


def _is_array_changed(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether an array in the instance that is the default is changed in place, through the field: `x.tally.add(1)`."""
    value = UNKNOWN if field.default is None else plain(evaluator.static(field.default))
    if not isinstance(value, Instance):
        return False
    arrays = {f.name for f in value.cls.fields}
    methods = [method for one in value.cls.mro for method in own_methods(one)]
    names = {method.name for method in methods if method.self_mutations & arrays and method.name not in CONSTRUCTORS}
    ways = [rf"(?:{'|'.join(sorted(arrays))}){_ITEM_ASSIGNED}"]
    ways += [rf"(?:{'|'.join(sorted(names))})\("] if names else []
    return _is_written(rf"\.{field.name}\.(?:{'|'.join(ways)})", cls, value.cls)


def _is_written(pattern: str, *classes: PytreeClass) -> bool:
    """Whether the module of one of some classes holds such a text."""
    return any(re.search(pattern, cls.module.source.text) for cls in classes)


def _shared(default: Placed, evaluator: Evaluator) -> str | None:
    """What a default is or holds that changes in place, though the class accepts it."""
    symbol = evaluator.model.resolver.resolve(default.expr, default.module, default.scope)
    if isinstance(symbol, ValueSymbol) and symbol.assignment.value is not None and not symbol.scope:
        default = Placed(symbol.assignment.value, symbol.module, symbol.scope)
    value = plain(evaluator.static(default))
    held = _held(value) if isinstance(value, Container) and value.kind == "tuple" else None
    if held is not None:
        return f"is a tuple that holds {held}"
    if isinstance(value, Instance) and isinstance(default.expr, Call) and is_hashable(value.cls) is True:
        return _of_instance(default.expr, default, value.cls, evaluator)
    return None


def _same_each_time(field: Field, evaluator: Evaluator) -> tuple[str, str] | None:
    """The constant of a module that the factory of a field gives each time, and what that is that changes in place."""
    if field.factory is None:
        return None
    resolver = evaluator.model.resolver
    expr, module, scope = field.factory.expr, field.factory.module, field.factory.scope
    if isinstance(expr, Lambda):
        given = expr.body if not expr.params else None
    else:
        made = resolver.follow(resolver.resolve(expr, module, scope))
        if not isinstance(made, FunctionSymbol) or not is_plain(made.declaration):
            return None
        module, scope = made.module, made.declaration.inner_scope
        given = made.declaration.return_values[0] if len(made.declaration.return_values) == 1 else None
    constant = resolver.follow(resolver.resolve(given, module, scope)) if given is not None and dotted(given) else None
    if not isinstance(constant, ValueSymbol) or constant.scope or constant.assignment.value is None:
        return None
    what = _held(plain(evaluator.static(Placed(constant.assignment.value, constant.module, ""))))
    return None if what is None or given is None else (dotted(given) or "", what)


def _held(value: Value) -> str | None:
    """What changes in place in a tuple."""
    if not isinstance(value, Container):
        return _ARRAY if isinstance(value, Array) and value.library == "numpy" and not value.declared else None
    if value.kind in _KINDS and not value.declared:
        return _KINDS[value.kind]
    found = (_held(plain(item)) for item in value.items or ()) if value.kind == "tuple" else iter(())
    return next((one for one in found if one is not None), None)


def _of_instance(call: Call, default: Placed, cls: PytreeClass, evaluator: Evaluator) -> str | None:
    """What changes in place in an instance that a default makes: an argument, or what a factory gives it."""
    if (
        evaluator.model.class_of_symbol(evaluator.model.resolver.resolve(call.func, default.module, default.scope))
        is not cls
    ):
        return None
    for argument in call.args:
        value = plain(evaluator.static(Placed(argument.value, default.module, default.scope)))
        held = _held(value)
        if held is not None and not argument.star and cls.custom_init() is None:
            return f"is {with_article(cls.name)} that holds {held}"
    given = {argument.keyword for argument in call.args}
    positional = len(call.positional)
    if call.has_star or cls.custom_init() is not None:
        return None
    for field in cls.fields[positional:]:
        made = None if field.name in given else _by_factory(field, evaluator)
        if made is not None:
            return f"is {with_article(cls.name)} that holds {made} in `{field.name}`"
    return None


def _by_factory(field: Field, evaluator: Evaluator) -> str | None:
    """What the factory of a field makes that changes in place."""
    if field.factory is None:
        return None
    if isinstance(field.factory.expr, Lambda):
        return next(
            (held for p in made_by_defaults(field) if (held := _held(plain(evaluator.static(p)))) is not None), None
        )
    name = dotted(field.factory.expr)
    return _KINDS[name] if name in _FACTORIES and name is not None else None
