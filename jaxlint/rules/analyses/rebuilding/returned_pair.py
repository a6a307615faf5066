"""Whether a function that takes instances apart returns what jax wants: a pair of a tuple and something."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from jaxlint.cst.changes import Change, Proposal, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Array, Instance, Scalar, plain
from jaxlint.libraries.arrays import ARRAY_TRAITS
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.rules.analyses.rebuilding.flattening import Routine
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    Binary,
    Call,
    Comprehension,
    DictDisplay,
    Display,
    Expr,
    Name,
    Subscript,
    Unary,
    children,
    dotted,
    is_none,
    is_slice,
    last_name,
)
from jaxlint.syntax.statements import Return, all_parts, looked_up, only_bound, walk

#: What arrays have, and no tuple, list or dict.
_ARRAYS_ALONE = ARRAY_TRAITS | {"at", "astype", "reshape"}
#: What makes a key of a path, in `jax.tree_util`.
_KEYS = frozenset({"GetAttrKey", "DictKey", "SequenceKey", "FlattenedIndexKey"})
#: Operators of arrays that tuples, lists and dicts do not know.
_OPERATORS = frozenset({"@", "-", "/", "**"})


class Flaw(msgspec.Struct, frozen=True):
    """What a function returns that is no pair of children and aux data, in words, and the way out."""

    at: Expr
    what: str
    advice: str
    help: str
    fix: Proposal | None


def flaw_of_pair(first: Routine, second: Routine | None, cls: PytreeClass, evaluator: Evaluator) -> Flaw | None:
    """What is wrong with the pair that the first function returns; the second one puts instances together."""
    statements = list(walk(first.body, nested=False))
    returned = [s.value for s in statements if isinstance(s, Return)]
    value = returned[0] if len(returned) == 1 else None
    bound = only_bound(first.body[:-1]) or {}
    pair = None if value is None else looked_up(value, bound)
    if not isinstance(pair, Display) or pair.kind not in ("tuple", "list"):
        return None
    if len(pair.items) != 2:
        return None if pair.has_star else _other_count(pair, first)
    if pair.kind != "tuple":
        return None
    given, aux = pair.items
    if is_none(given) and not is_none(aux):
        swapped = (Rewrite(given.at, "{0}", (aux.at,)), Rewrite(aux.at, "{0}", (given.at,)))
        what, advice = "returns None for its children: it cannot be flattened (ValueError)", "return the children first"
        fix = Proposal("Return the children first", Applicability.SAFE, swapped)
        return Flaw(given, what, advice, "return `(self.x,), aux_data`", fix)
    bare = looked_up(given, bound)
    if first.with_keys and isinstance(bare, Display) and _stand_apart(bare, bound):
        what = (
            "returns all keys and then all children where jax wants pairs: flattening with paths fails, or mixes them"
        )
        changes = (Rewrite(given.at, "tuple(zip({0}, {1}))", tuple(item.at for item in bare.items)),)
        fix = Proposal("Pair keys and children", Applicability.UNSAFE, changes)
        return Flaw(given, what, "pair them", "return `tuple(zip(keys, children)), aux_data`", fix)
    if _is_taken_alone(bare, first.parameters[0], second, cls, evaluator) or (
        _is_bare(bare, first.parameters[0], cls, evaluator) and not _takes_elements(second, cls)
    ):
        what = "returns an attribute for its children, which are to be a tuple: its elements become the leaves"
        return Flaw(bare, what, "put a comma behind it", "return `(self.x,), aux_data`", _with_comma(bare, second))
    return None


def _stand_apart(children: Display, bound: Mapping[str, Expr]) -> bool:
    """Whether of two children the first one is a tuple of keys, and the second one of as many others."""
    if len(children.items) != 2 or children.has_star:
        return False
    keys, others = (looked_up(item, bound) for item in children.items)
    if not isinstance(keys, Display) or not isinstance(others, Display) or len(keys.items) != len(others.items):
        return False
    return bool(keys.items) and all(isinstance(k, Call) and last_name(k.func) in _KEYS for k in keys.items)


def _other_count(value: Display, first: Routine) -> Flaw:
    """Not two things are returned."""
    count = len(value.items)
    what = (
        f"returns {count} thing{'' if count == 1 else 's'} where jax wants children and aux data: it cannot be"
        " flattened (ValueError)"
    )
    own = [item for item in value.items if isinstance(item, Attribute) and dotted(item.value) == first.parameters[0]]
    fix = None
    if value.items and len(own) == count and value.kind == "tuple":
        pair = "{0}, None" if first.name else "({0}, None)"  # a lambda stands among other arguments
        fix = Proposal("Return a pair", Applicability.SAFE, (Rewrite(value.at, pair, (value.at,)),))
    return Flaw(value, what, "return a pair", "return `(children, aux_data)`, where the aux data may be None", fix)


@proposing
def _with_comma(bare: Expr, second: Routine | None) -> Proposal | None:
    """The fix: the attribute is the one child, and taken out of the children where they are passed on as a whole."""
    changes: list[Change] = [Rewrite(bare.at, "({0},)", (bare.at,))]
    for use in () if second is None else _passed_whole(second):
        changes.append(Rewrite(use.at, "{0}[0]", (use.at,)))
    return Proposal("Put a comma behind it", Applicability.UNSAFE, tuple(changes))


def _passed_whole(second: Routine) -> Iterator[Name]:
    """The arguments of calls that are the children as a whole."""
    calls = (part for part in all_parts(second.body) if isinstance(part, Call))
    for value in (argument.value for call in calls for argument in call.args if not argument.star):
        if isinstance(value, Name) and value.id == second.parameters[-1]:
            yield value


def _takes_elements(second: Routine | None, cls: PytreeClass) -> bool:
    """Whether the elements are meant: each is a parameter of its own where instances are put together."""
    if second is None:
        return False
    parameters = cls.constructor() or ()
    required = [p for p in parameters if p.kind == "positional" and p.default is None]
    for call in (part for part in all_parts(second.body) if isinstance(part, Call)):
        spread = any(a.star == "*" and dotted(a.value) == second.parameters[-1] for a in call.args)
        if spread and (len(required) > len(call.args) or any(p.kind == "*" for p in parameters)):
            return True
    return False


def _is_taken_alone(bare: Expr, own: str, second: Routine | None, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether an attribute is what the children are, and `cls(*children)` gives each of them to its only parameter."""
    parameters = cls.constructor()
    if not isinstance(bare, Attribute) or dotted(bare.value) != own or second is None or not parameters:
        return False
    if len(parameters) != 1 or parameters[0].kind != "positional" or not cls.bases_known:
        return False
    if any("__new__" in one.symbol.declaration.methods for one in cls.mro):
        return False
    last = second.body[-1]
    if evaluator.calls.stored_parameters(cls).get(parameters[0].name) != bare.attr or not isinstance(last, Return):
        return False
    match last.value:
        case Call(func=Name(id=maker), args=(Argument(value=Name(id=given), star="*"),)):
            is_own = maker in (cls.name, *second.parameters[:-2])
            return is_own and given == second.parameters[-1] and len(cls.assigned.get(bare.attr, ())) == 1
    return False


def _is_bare(expr: Expr, own: str, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether an expression is an attribute that certainly holds an array, a number or an instance."""
    if not isinstance(expr, Attribute) or dotted(expr.value) != own:
        return False
    if any(map(_may_be_several, cls.assigned.get(expr.attr, ()))):
        return False
    value = plain(evaluator.attribute_of(Instance(cls), expr.attr))
    if isinstance(value, Instance):  # a named tuple is a tuple
        return not value.cls.framework.is_tuple and not value.cls.answers("__iter__")
    if isinstance(value, Array) or (isinstance(value, Scalar) and value.kind in ("int", "float")):
        return True
    return any(_uses_array(method, expr.attr, evaluator) for method in _methods(cls))


def _may_be_several(given: Placed | None) -> bool:
    """Whether what a method assigns may be a tuple, a list or a dict by its own look."""
    if given is None:
        return True
    if isinstance(given.expr, Call):
        return dotted(given.expr.func) in ("tuple", "list", "dict", "sorted", "zip", "map")
    return isinstance(given.expr, (Display, DictDisplay, Comprehension))


def _methods(cls: PytreeClass) -> Iterator[FunctionSymbol]:
    """The methods that the body of a class declares."""
    for qualnames in cls.symbol.declaration.methods.values():
        yield from (FunctionSymbol(cls.module, cls.module.outline.functions[qualname]) for qualname in qualnames)


def _uses_array(method: FunctionSymbol, attr: str, evaluator: Evaluator) -> bool:
    """Whether a method does something with an attribute of `self` that only arrays take."""
    own = method.declaration.self_name
    body = None if own is None else evaluator.calls.body_of(method)
    path = f"{own}.{attr}"
    for part in () if body is None else all_parts(body):
        match part:
            case Attribute(value=held, attr=name) if name in _ARRAYS_ALONE and dotted(held) == path:
                return True
            case Binary(op=op) if op in _OPERATORS and any(dotted(one) == path for one in children(part)):
                return True
            case Binary(op="@") if any(_is_slice(child, path) for child in children(part)):
                return True
            case Unary(op="-", operand=held) if dotted(held) == path:
                return True
    return False


def _is_slice(expr: Expr, path: str) -> bool:
    """Whether an expression is a slice of a path: a tuple for a tuple, as an item of one would be an array."""
    return isinstance(expr, Subscript) and is_slice(expr.index) and dotted(expr.value) == path
