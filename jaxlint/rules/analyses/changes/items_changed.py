"""Functions that give some items of what they are passed other values, and return it: `set_path(config, root=...)`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jaxlint.infer.choosing.given import is_plain
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Constant, Expr, Name, Subscript, dotted, last_name, root
from jaxlint.syntax.statements import Body, Do, For, Statement, all_parts, bound_names, target_names, targets_of, walk

#: Calls that make a copy with the same items.
_COPIES = frozenset({"copy", "deepcopy", "dict"})
#: Methods that give the item that they name.
_LOOKUPS = frozenset({"get", "pop", "setdefault"})
#: How many functions that hand on to the next one are followed.
_MAX_DEPTH = 4


def items_changed(value: Expr, held: str, module: Module, evaluator: Evaluator, depth: int = 0) -> set[str] | None:
    """The names of the items that differ between the result of a call and its argument, the dict at `held`.

    None if that is not seen. The name of an attribute counts as that of an item: some dicts make no difference.
    """
    if depth > _MAX_DEPTH or not isinstance(value, Call) or (value.has_star and not depth):
        return None
    symbol = evaluator.model.resolver.resolve(value.func, module)
    if not isinstance(symbol, FunctionSymbol) or not is_plain(symbol.declaration):
        return None
    function = symbol.declaration
    given = value.given_to(function.positional)
    names = [name for name, expr in given.items() if dotted(expr) == held]
    body = evaluator.calls.body_of(symbol)
    if len(names) != 1 or body is None:
        return None
    changed, returned = _changed(names[0], given, function, body), function.return_values[0]
    if changed is None or (isinstance(returned, Name) and returned.id == names[0]):
        return changed
    further = items_changed(returned, names[0], symbol.module, evaluator, depth + 1)
    return None if further is None else changed | further


def _changed(name: str, given: Iterable[str], function: Function, body: Body) -> set[str] | None:
    """The items of a parameter to which a function assigns something, by name; None if they are not seen."""
    every = next((p.name for p in function.parameters if p.kind == "**"), "")
    further = set(given) - {p.name for p in function.parameters}
    keys = {key for s in walk(body) for key in _keys_of(s, every)}
    changed = set[str]()
    for statement in walk(body):
        if name in bound_names(statement) and not _is_copied(statement, name):
            return None
        call = statement.value if isinstance(statement, Do) else None
        if isinstance(call, Call) and dotted(root(call.func)) == name:
            return None  # a method may do anything
        for target in targets_of(statement):
            match target:
                case Attribute(value=Name(id=start), attr=attr) if start == name:
                    changed.add(attr)
                case Subscript(value=Name(id=start), index=Constant(value=str() as key)) if start == name:
                    changed.add(key)
                case Subscript(value=Name(id=start), index=Name(id=key)) if start == name and key in keys:
                    changed |= further
                case Subscript(value=Name(id=start)) if start == name and _does_the_same(statement, function, every):
                    pass  # to what is inside of an item
                case Attribute() | Subscript() if dotted(root(target)) == name:
                    return None
    return changed


def _keys_of(statement: Statement, every: str) -> Iterator[str]:
    """The variable that runs through the names of all further keyword arguments: `for k, v in kwargs.items()`."""
    if isinstance(statement, For) and isinstance(statement.iterable, Call) and every:
        if dotted(statement.iterable.func) == f"{every}.items":
            yield from list(target_names(statement.target))[:1]


def _is_copied(statement: Statement, name: str) -> bool:
    """Whether a statement gives a variable a copy of what it holds."""
    value = getattr(statement, "value", None)
    if not isinstance(value, Call) or last_name(value.func) not in _COPIES:
        return False
    held = value.positional[0] if value.positional else getattr(value.func, "value", None)
    return held is not None and dotted(held) == name


def _does_the_same(statement: Statement, function: Function, every: str) -> bool:
    """Whether what a statement assigns comes of the function itself, which is given the same keyword arguments."""
    value = getattr(statement, "value", None)
    if not isinstance(value, Call) or dotted(value.func) != function.name:
        return False
    return not every or any(a.star == "**" and dotted(a.value) == every for a in value.args)


def items_read(path: str, body: Body) -> Iterator[str]:
    """The names of the items and attributes that a body reads of what stands at a path, and of what is inside."""
    for part in all_parts(body):
        match part:
            case Call(func=Attribute(value=value, attr=attr), args=(first, *_)) if attr in _LOOKUPS:
                key = first.value
            case Subscript(value=value, index=key):
                pass
            case Attribute(value=value, attr=attr):
                if _leads_from(path, value):
                    yield attr
                continue
            case _:
                continue
        if isinstance(key, Constant) and isinstance(key.value, str) and _leads_from(path, value):
            yield key.value


def _leads_from(path: str, expr: Expr) -> bool:
    """Whether an expression is what stands at a path, or an item or attribute of it, or further inside."""
    while dotted(expr) != path:
        match expr:
            case Attribute(value=value) | Subscript(value=value):
                expr = value
            case Call(func=Attribute(value=value, attr=attr)) if attr in _LOOKUPS:
                expr = value
            case _:
                return False
    return True
