"""Fields of classes that are no dataclasses: read from `tree_flatten`, or from what `__init__` assigns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jaxlint.expr import Attribute, Display, Expr, Name, children
from jaxlint.names import ClassSymbol
from jaxlint.outline import Assignment, Function
from jaxlint.pytrees.model import Field, Placed, Role

if TYPE_CHECKING:
    from jaxlint.pytrees.build import PytreeModel

_FLATTEN = ("tree_flatten", "tree_flatten_with_keys")


class AttributeReader:
    """Reads the attributes of one class from its methods."""

    def __init__(self, model: PytreeModel, symbol: ClassSymbol) -> None:
        self.model = model
        self.symbol = symbol
        self.module = symbol.module

    def from_flatten(self) -> list[Field] | None:
        """Children as leaves and aux data as static fields; None if `tree_flatten` says something else."""
        for name in _FLATTEN:
            method = self._method(name)
            if method is None:
                continue
            if len(method.return_values) != 1:
                return None
            returned = self._local(method.return_values[0], method)
            if not isinstance(returned, Display) or len(returned.items) != 2:
                return None
            children_part = self._attributes(returned.items[0], method)
            aux_part = self._attributes(returned.items[1], method)
            if children_part is None or aux_part is None:
                return None
            roles = {**dict.fromkeys(children_part, Role.LEAF), **dict.fromkeys(aux_part, Role.STATIC)}
            return [self._attribute(attr, role) for attr, role in roles.items()]
        return None

    def from_init(self, declared: list[Field]) -> list[Field]:
        """Every attribute that `__init__` assigns: a leaf unless the class body marks it static."""
        init = self._method("__init__")
        static = {a.name for a in self._static_assignments()}
        fields = {f.name: f for f in declared}
        for assignment in init.self_assignments if init is not None else ():
            if assignment.attr not in fields:
                role = Role.STATIC if assignment.attr in static else Role.LEAF
                fields[assignment.attr] = self._attribute(assignment.attr, role)
        return list(fields.values())

    def _static_assignments(self) -> list[Field]:
        from jaxlint.expr import Call

        out = []
        scope = self.symbol.declaration.qualname
        for assignment in self.symbol.declaration.assignments:
            if isinstance(assignment.value, Call):
                callee = self.model.callees.of_call(assignment.value, self.module, scope)
                if callee is not None and callee.name == "simple_pytree.static_field":
                    out.append(Field(assignment.name, Role.STATIC, self.symbol, assignment.at))
        return out

    def _method(self, name: str) -> Function | None:
        qualnames = self.symbol.declaration.methods.get(name)
        return self.module.outline.functions[qualnames[-1]] if qualnames else None

    def _local(self, expr: Expr, method: Function) -> Expr:
        """The value of a local variable that is assigned once, else the expression itself."""
        if isinstance(expr, Name):
            scope = self.module.outline.scopes[f"{method.qualname}.<locals>"]
            bindings = scope.bindings.get(expr.id, [])
            if len(bindings) == 1 and isinstance(bindings[0], Assignment) and bindings[0].value is not None:
                return bindings[0].value
        return expr

    def _attributes(self, expr: Expr, method: Function) -> list[str] | None:
        """The attributes of `self` in an expression, in order; None if `self` is used in another way."""
        found: list[str] = []
        stack = [self._local(expr, method)]
        while stack:
            current = stack.pop()
            if isinstance(current, Attribute) and isinstance(current.value, Name):
                if current.value.id == method.self_name:
                    if current.attr == "__dict__":
                        return None
                    found.append(current.attr)
                continue
            if isinstance(current, Name):
                local = self._local(current, method)
                if local is not current:
                    stack.append(local)
                elif current.id == method.self_name:
                    return None
                continue
            stack.extend(reversed(children(current)))
        return list(dict.fromkeys(found))

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
                    if parameter.name == assignment.value.id and parameter.annotation is not None:
                        return replace(field, annotation=Placed(parameter.annotation, self.module, init.scope))
            if assignment.value is not None:
                scope = f"{init.qualname}.<locals>"
                return replace(field, assigned=Placed(assignment.value, self.module, scope))
        return field
