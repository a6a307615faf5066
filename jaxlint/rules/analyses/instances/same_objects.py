"""Whether two expressions may be one object, or hold the same objects, for one was made of the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set

from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.libraries.updates import COPYING_NAMES
from jaxlint.pytrees.model import PytreeClass
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, dotted, last_name
from jaxlint.syntax.names_read import names_inside
from jaxlint.syntax.statements import Assign, target_names


def may_give_back(one: Expr, instance: Expr, cls: PytreeClass, given: Callable[[str], Iterable[Expr]]) -> bool:
    """Whether an expression may be what a method of an instance returned: that instance itself, for all that is known.

    So may what a function returns that is given it, and makes no copy. The fields of one instance are found to be
    identical before anything is compared. `given` tells the values that a variable is given.
    """
    values = given(one.id) if isinstance(one, Name) else (one,)
    path = dotted(instance)
    return path is not None and any(_may_return(value, path, cls) for value in values)


def _may_return(value: Expr, path: str, cls: PytreeClass) -> bool:
    if not isinstance(value, Call):
        return False
    name = last_name(value.func)
    if isinstance(value.func, Attribute) and dotted(value.func.value) == path:
        return cls.method(name) is not None
    makes = name == cls.name or name in COPYING_NAMES or name == "tree_at"
    return not makes and any(dotted(argument.value) == path for argument in value.args)


def unchanged_fields(left: Expr, right: Expr, cls: PytreeClass, given: Callable[[str], Iterable[Expr]]) -> Set[str]:
    """The fields of which two instances hold the same objects, for one is a copy of the other one with changes.

    `given` tells the values that a variable is given.
    """
    for copy, original in ((left, right), (right, left)):
        path = dotted(original)
        values = given(copy.id) if isinstance(copy, Name) else (copy,)
        changed = [_changed(value, path, cls) for value in values]
        given_anew = isinstance(original, Name) and len(list(given(original.id))) > 1
        if path is not None and changed and not given_anew and None not in changed:
            return {f.name for f in cls.fields}.difference(*(names or () for names in changed))
    return frozenset()


def _changed(copy: Expr, original: str | None, cls: PytreeClass) -> set[str] | None:
    """What a copy of an instance, with changes that are named in its call, holds anew; None if it is none."""
    if not isinstance(copy, Call) or last_name(copy.func) not in COPYING_NAMES or copy.has_star:
        return None
    base = copy.positional[0] if copy.positional else copy.func.value if isinstance(copy.func, Attribute) else None
    if base is None or dotted(base) != original or cls.method(last_name(copy.func)) is not None:
        return None
    changes = ((argument.keyword, dotted(argument.value)) for argument in copy.args if argument.keyword is not None)
    return {name for name, value in changes if value != f"{original}.{name}"}


def may_share(left: Expr, right: Expr, given: Callable[[str], Iterable[Expr]]) -> bool:
    """Whether an attribute of two objects may be one instance, for one of the objects was made of the other one.

    `given` tells the values that a variable is given.
    """
    match left, right:
        case Attribute(value=Name(id=one), attr=attr), Attribute(value=Name(id=other), attr=same) if attr == same:
            makers = ((one, other), (other, one))
            return any(source in names_inside(value) for made, source in makers for value in given(made))
    return False


def given_in(code: CodeRead) -> dict[str, list[Expr]]:
    """The values that a body gives to each variable, found out once."""
    if given_in not in code.shared:
        given: dict[str, list[Expr]] = {}
        for statement in code.statements:
            if isinstance(statement, Assign):
                for name in (name for target in statement.targets for name in target_names(target)):
                    given.setdefault(name, []).append(statement.value)
        code.shared[given_in] = given
    found: dict[str, list[Expr]] = code.shared[given_in]
    return found
