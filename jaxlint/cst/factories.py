"""What becomes of a `__post_init__` that computes fields: a classmethod that computes them once."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from jaxlint.cst.changes import CallFactory, MakeFactory
from jaxlint.cst.declaring import declared_at
from jaxlint.cst.names import called_name, is_label
from jaxlint.cst.rewriting import CannotChange, Locate, New, Rewriter, rewriters
from jaxlint.cst.trees import Tree

#: Functions that a class is handed to for something else than to make instances.
_ASKING = frozenset({"isinstance", "issubclass", "cast", "TypeVar", "fields", "super"})
#: Where it stands for no call either.
_ASKED = (cst.Annotation, cst.ClassDef, cst.Comparison, cst.ImportAlias, cst.MatchClass, cst.SubscriptElement)
#: What may be written around a name in these places.
_TYPES = (cst.Arg, cst.BinaryOperation, cst.Element, cst.Index, cst.Tuple, cst.ComparisonTarget)


@rewriters.register
def _make_factory(change: MakeFactory, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    method = declared_at(tree, locate(change.at))
    if not isinstance(method, cst.FunctionDef) or not isinstance(method.body, cst.IndentedBlock):
        raise CannotChange("it has no body of its own lines")
    if any(tree.all(kind) for kind in (cst.Return, cst.Yield, cst.Lambda)) or len(tree.all(cst.FunctionDef)) > 1:
        raise CannotChange("it is more than a row of statements")
    own, fields = method.params.params[0].name.value, frozenset(change.fields)
    body = method.body.visit(_WithoutInstance(own, fields, dict(_renamed_variables(method, fields, tree))))
    assert isinstance(body, cst.IndentedBlock)
    if any(name.value in (own, "super", "cls") for name in _names(body)):
        raise CannotChange("it does something else with the instance")
    given = ", ".join(f"{name}={name}" for name in change.fields)
    line = cst.parse_statement(f"return cls({given})", tree.module.config_for_parsing)
    written = f"def {change.name}(cls, {', '.join(change.parameters)}) -> {change.returns}: pass"
    header = cst.parse_statement(written, tree.module.config_for_parsing)
    assert isinstance(header, cst.FunctionDef)

    def made(old: cst.CSTNode) -> New:
        assert isinstance(old, cst.FunctionDef)
        return old.with_changes(
            decorators=[cst.Decorator(cst.Name("classmethod"))],
            name=header.name,
            params=header.params,
            returns=header.returns,
            body=body.with_changes(body=[*body.body, line]),
        )

    return {method: made}


class _WithoutInstance(cst.CSTTransformer):
    """Variables in the place of the fields of an instance; variables of the same name get another one."""

    def __init__(self, own: str, fields: frozenset[str], renamed: dict[cst.CSTNode, str]) -> None:
        super().__init__()
        self._own = own
        self._fields = fields
        self._renamed = renamed

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        return updated_node.with_changes(value=self._renamed.get(original_node, updated_node.value))

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        is_own = isinstance(original_node.value, cst.Name) and original_node.value.value == self._own
        return updated_node.attr if is_own and original_node.attr.value in self._fields else updated_node

    def leave_Expr(self, original_node: cst.Expr, updated_node: cst.Expr) -> cst.BaseSmallStatement:
        field = self._field_set(original_node.value)
        if field is None:
            return updated_node
        assert isinstance(updated_node.value, cst.Call)
        value = updated_node.value.args[2].value
        return cst.Assign([cst.AssignTarget(cst.Name(field))], value, updated_node.semicolon)

    def _field_set(self, call: cst.BaseExpression) -> str | None:
        """The field that `object.__setattr__(self, "field", value)` sets, or `setattr`."""
        match call:
            case cst.Call(
                func=cst.Name(value="setattr")
                | cst.Attribute(value=cst.Name(value="object"), attr=cst.Name(value="__setattr__")),
                args=[cst.Arg(value=cst.Name(value=own)), cst.Arg(value=cst.SimpleString() as name), cst.Arg()],
            ) if own == self._own:
                field = name.evaluated_value
                return field if isinstance(field, str) and field in self._fields else None
        return None


def _renamed_variables(
    method: cst.FunctionDef, fields: frozenset[str], tree: Tree
) -> Iterator[tuple[cst.CSTNode, str]]:
    """The variables of a method that are called like a field, with another name."""
    used = {name.value for name in _names(method)}
    bound = {one.target.value for one in tree.all(cst.AssignTarget) if isinstance(one.target, cst.Name)}
    for name in _names(method.body):
        if name.value not in fields or is_label(name, tree):
            continue
        if name.value not in bound or f"new_{name.value}" in used | fields:
            raise CannotChange("a name means something else")
        yield name, f"new_{name.value}"


def _names(node: cst.CSTNode) -> Iterator[cst.Name]:
    if isinstance(node, cst.Name):
        yield node
    for child in node.children:
        yield from _names(child)


@rewriters.register
def _call_factory(change: CallFactory, tree: Tree, locate: Locate) -> dict[cst.CSTNode, Rewriter]:
    name = tree.node_at(locate(change.at), cst.Name)
    if name is None:
        return {}  # in a comment, or a string
    around = next(tree.around(name))
    if isinstance(around, cst.Call) and around.func is name:
        return {name: lambda old: cst.Attribute(name, cst.Name(change.name))}
    if isinstance(around, cst.Attribute) and around.attr is name:
        raise CannotChange("it is called through something else")
    if not _is_asked(name, tree):
        raise CannotChange("the class is handed on")
    return {}


def _is_asked(name: cst.Name, tree: Tree) -> bool:
    """Whether the class is only declared, compared, annotated or asked for something, and nobody gets it to call it."""
    inner: cst.CSTNode = name
    for around in tree.around(name):
        if isinstance(around, cst.Call):
            return called_name(around) in _ASKING
        if isinstance(around, _ASKED) or (isinstance(around, cst.Attribute) and around.value is inner):
            return True
        if not isinstance(around, _TYPES):
            return False
        inner = around
    return False
