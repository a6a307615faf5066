"""Fields of classes that are no dataclasses: read from `tree_flatten`, or from what `__init__` assigns."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from jaxlint.libraries.arrays import NUMBER_CONSTANTS
from jaxlint.project.resolution import ClassSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field, Placed
from jaxlint.symbols.outline import Assignment, Function, Parameter
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Lambda,
    Name,
    Span,
    Starred,
    Unary,
    children,
    is_none,
)

#: Functions that make a container of what is in another one.
_ORDERING = frozenset({"tuple", "list", "sorted", "frozenset", "dict"})
_MOST_CALLS = 4  # around each other
_FLATTEN = ("tree_flatten", "tree_flatten_with_keys")


class AttributeReader:
    """Reads the attributes of one class from its methods."""

    def __init__(self, symbol: ClassSymbol) -> None:
        self.symbol = symbol
        self.module = symbol.module

    def from_flatten(self, function: Function | None = None) -> list[Field] | None:
        """Children as leaves and aux data as static fields; None if the flattening cannot be read.

        `function` is what `register_pytree_node` is given; without one the class's own `tree_flatten` is read.
        """
        for method in (function,) if function is not None else map(self._method, _FLATTEN):
            if method is None or not method.parameters:
                continue
            returned = self._pair(method)
            if returned is None:
                return None
            if is_none(self._local(returned.items[0], method)):
                return None  # jax wants children that can be iterated over: no instance is ever flattened
            children_part = self._attributes(returned.items[0], method)
            aux_part = self._attributes(returned.items[1], method)
            leaves = [self._attribute(attr, Role.LEAF) for attr in children_part if attr not in aux_part]
            static = [replace(self._attribute(attr, Role.STATIC), at=at) for attr, at in aux_part.items()]
            return leaves + [f for f in static if f.name not in children_part]
        return None

    def has_no_children(self, function: Function | None = None) -> bool:
        """Whether an instance is flattened into aux data and nothing else, for all to see."""
        method = function or self._method("tree_flatten")
        pair = None if method is None else self._pair(method)
        part = None if method is None or pair is None else self._local(pair.items[0], method)
        return isinstance(part, Display) and not part.items

    def _pair(self, method: Function) -> Display | None:
        """The children and the aux data that a method returns."""
        if len(method.return_values) != 1:
            return None
        returned = self._local(method.return_values[0], method)
        return returned if isinstance(returned, Display) and len(returned.items) == 2 else None

    def from_init(self, declared: list[Field], static: Collection[str]) -> list[Field]:
        """Every attribute that `__init__` assigns: a leaf unless a class body marks it `static`."""
        init = self._method("__init__")
        fields = {f.name: f for f in declared}
        for assignment in init.self_assignments if init is not None else ():
            if assignment.attr not in fields:
                role = Role.STATIC if assignment.attr in static else Role.LEAF
                fields[assignment.attr] = self._attribute(assignment.attr, role)
        return list(fields.values())

    def _method(self, name: str) -> Function | None:
        qualnames = self.symbol.declaration.methods.get(name)
        return self.module.outline.functions[qualnames[-1]] if qualnames else None

    def _local(self, expr: Expr, method: Function) -> Expr:
        """The value of a local variable that is assigned once, else the expression itself."""
        if isinstance(expr, Name):
            scope = self.module.outline.scopes.get(method.inner_scope)
            bindings = [] if scope is None else scope.bindings.get(expr.id, [])
            if len(bindings) == 1 and isinstance(bindings[0], Assignment) and bindings[0].value is not None:
                return bindings[0].value
        return expr

    def _attributes(self, expr: Expr, method: Function) -> dict[str, Span]:
        """The attributes of `self` that stand as they are in a tuple, list or dict, and where they stand.

        What is computed from an attribute (`self.index.tobytes()`) is not the attribute itself. A method of `self` that
        is called without arguments (`self.settings()`) is what it returns.
        """
        found: dict[str, Span] = {}
        stack = [(expr, method)]
        while stack:
            current, inside = stack.pop()
            current = self._local(current, inside)
            match current:
                case Attribute(value=Name(id=name), attr=attr) if name == inside.parameters[0].name:
                    found.setdefault(attr, current.at)
                case Display() | DictDisplay() | Starred():
                    stack.extend((child, inside) for child in reversed(children(current)))
                case Call() if (held := self._held_by(current, inside)) is not None:
                    stack.extend((one, inside) for one in reversed(held))
                case Call(func=Attribute(value=Name(id=name), attr=attr), args=()) if inside is method:
                    called = self._method(attr) if name == inside.parameters[0].name else None
                    if called is not None and called.only_returns and called.self_name and not called.decorators:
                        stack.extend((value, called) for value in called.return_values)
        return found

    def _held_by(self, call: Call, method: Function, depth: int = 0) -> list[Expr] | None:
        """What `dict(a=x)`, `tuple(items)` or `items.values()` holds, where the items are written out; else None.

        `tuple(self.sizes)` is another object than `sizes`.
        """
        match call:
            case Call(func=Name(id="dict"), args=args) if args and all(a.keyword is not None for a in args):
                return [argument.value for argument in args]
            case Call(func=Name(id=name), positional=(given,)) if name in _ORDERING:
                inner = self._local(given, method)
                is_shown = isinstance(inner, (Display, DictDisplay))
                if not is_shown and isinstance(inner, Call) and depth < _MOST_CALLS:
                    is_shown = self._held_by(inner, method, depth + 1) is not None
                return [inner] if is_shown else None
            case Call(func=Attribute(value=given, attr="items" | "values"), args=()):
                inner = self._local(given, method)
                return [inner] if isinstance(inner, DictDisplay) else None
        return None

    def _attribute(self, name: str, role: Role) -> Field:
        """An attribute with what `__init__` tells of its type."""
        field = Field(name, role, self.symbol, self.symbol.declaration.name_at)
        for declaration in self.symbol.declaration.fields:
            if declaration.name == name:
                placed = Placed(declaration.annotation, self.module, self.symbol.declaration.qualname)
                return replace(field, annotation=placed, at=declaration.name_at)
        init = self._method("__init__")
        for assignment in init.self_assignments if init is not None else ():
            if init is None or assignment.attr != name:
                continue
            field = replace(field, at=assignment.at)
            if assignment.annotation is not None:
                return replace(field, annotation=Placed(assignment.annotation, self.module, init.scope))
            if isinstance(assignment.value, Name):
                for parameter in init.parameters:
                    if parameter.name != assignment.value.id or _is_number(parameter.default):
                        continue  # `beta: jax.Array = 0.9` says what its author hoped
                    if parameter.annotation and "*" not in parameter.kind:
                        return replace(field, annotation=Placed(parameter.annotation, self.module, init.scope))
            if assignment.value is not None:
                scope = init.inner_scope
                return replace(field, assigned=Placed(assignment.value, self.module, scope))
        return field


def spelled_out(function: Lambda, scope: str) -> Function | None:
    """The function that a lambda is which takes an instance and writes out a pair; None if it does something else."""
    if len(function.params) != 1 or function.other_params or function.defaults:
        return None
    if not isinstance(function.body, Display) or len(function.body.items) != 2 or function.at is None:
        return None
    instance = Parameter(function.params[0], None, None, "positional", function.at)
    values = (function.body,)
    name, at = "<lambda>", place_of(function.at)
    rows = (at.row, at.end_row)
    return Function(name, name, scope, None, (instance,), (), None, at, False, return_values=values, body_rows=rows)


def _is_number(expr: Expr | None) -> bool:
    """Whether an expression is a Python number: a literal, or a constant of a module such as `jnp.inf`."""
    if isinstance(expr, Unary):
        return _is_number(expr.operand)
    if isinstance(expr, Attribute):
        return expr.attr in NUMBER_CONSTANTS
    return isinstance(expr, Constant) and expr.kind in ("int", "float", "bool", "complex")
