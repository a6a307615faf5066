"""What mypy asks no plugin about, read once a file is checked.

These are displays of dicts and sets, `in`, new attributes, methods of type variables (such as `self` in a method that
returns `Self`), and missing methods of classes with a base that mypy cannot see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from mypy import nodes
from mypy.checker import TypeChecker
from mypy.nodes import Expression
from mypy.plugin import MethodContext
from mypy.types import AnyType, Instance, Type, TypeOfAny, TypeVarType, UnionType, get_proper_type

from jaxlint.libraries.updates import COPYING_NAMES
from jaxlint_mypy.internals import (
    has_unseen_base,
    inferred_attributes,
    known_type,
    looking_again,
    typed_expressions,
)
from jaxlint_mypy.parameters import instance_of
from jaxlint_mypy.statements import functions_at
from jaxlint_mypy.types_only import TypesOnly, are_one

_KEY, _MEMBER = "a key of a dict needs a hash", "a member of a set needs a hash"
#: What hashes what is looked for in it.
_HASHING = {
    "builtins.dict": _KEY,
    "collections.defaultdict": _KEY,
    "collections.OrderedDict": _KEY,
    "builtins.set": _MEMBER,
    "builtins.frozenset": _MEMBER,
}
#: The methods by which operators compare.
_COMPARING = {"==": "__eq__", "!=": "__ne__"}
_SEARCHED = frozenset({"builtins.list", "builtins.tuple", "typing.Sequence", "collections.deque"})
_KINDS = frozenset(
    {
        nodes.DictExpr,
        nodes.SetExpr,
        nodes.DictionaryComprehension,
        nodes.SetComprehension,
        nodes.ComparisonExpr,
        nodes.CallExpr,
    }
)


_ANY = AnyType(TypeOfAny.special_form)


class Displays:
    """Looks at the displays and new attributes of a file. `answer`: who says what of a method, as mypy would ask."""

    def __init__(self, types_only: TypesOnly, answer: Callable[[str], Callable[[MethodContext], Type] | None]) -> None:
        self._types_only = types_only
        self._answer = answer

    def look(self, checker: TypeChecker) -> None:
        """Report displays of unhashable things, searches that compare arrays, new attributes, …"""
        feeder = self._types_only.feeder
        if checker.tree.fullname in feeder.front.assigned_in:
            for added in list(inferred_attributes(checker)):
                if not self._is_of_ordinary_class(checker, added.expr):
                    with self._around(checker, added):
                        feeder.assign(checker, added, is_lvalue=True)
        for node in [one for one in typed_expressions(checker) if type(one) in _KINDS]:
            if type(node) is nodes.CallExpr:
                called = node.callee
                if type(called) is nodes.MemberExpr:
                    self._of_variables(checker, node, called.expr, called.name, node.args)
                    if called.name in COPYING_NAMES:
                        self._missing(checker, node)
                continue
            for key, how in _hashed(checker, node):
                why = self._types_only.unhashable(known_type(checker, key))
                if why:
                    with self._around(checker, key):
                        self._types_only.tell_unhashable(checker, key, how, why)
                    break
            if isinstance(node, nodes.ComparisonExpr):
                self._searched(checker, node)
                for operator, one, other in zip(node.operators, node.operands, node.operands[1:], strict=False):
                    if operator in _COMPARING:
                        self._of_variables(checker, node, one, _COMPARING[operator], [other])

    def _is_of_ordinary_class(self, checker: TypeChecker, held: Expression) -> bool:
        """Whether a variable, as a rule `self`, is declared to be of a class that is no pytree."""
        if (
            type(held) is not nodes.NameExpr
            or not isinstance(held.node, nodes.Var)
            or known_type(checker, held) is not None
        ):
            return False
        declared = get_proper_type(held.node.type)
        return isinstance(declared, Instance) and self._types_only.front.class_of(declared.type) is None

    def _searched(self, checker: TypeChecker, node: nodes.ComparisonExpr) -> None:
        for operator, one, held in _memberships(node):
            container = known_type(checker, held)
            if container is None or _name_of(container) not in _SEARCHED:
                continue
            if isinstance(held, (nodes.ListExpr, nodes.TupleExpr)) and held.items and are_one(one, held.items[0]):
                continue  # the same object is found before anything is compared
            found = self._types_only.compared_with(container, known_type(checker, one))
            if found is not None:
                with self._around(checker, node):
                    self._types_only.tell_unequal(checker, node, *found, f"`{operator}`")

    def _of_variables(
        self, checker: TypeChecker, node: Expression, held: Expression, name: str, args: list[Expression]
    ) -> None:
        """A method of a type variable: what is said of the same method of the class that bounds it."""
        known = known_type(checker, held)
        if known is None or type(known) is Instance:
            return
        receiver = get_proper_type(known)
        for one in receiver.items if isinstance(receiver, UnionType) else [receiver]:
            variable = get_proper_type(one)
            bound = instance_of(variable) if isinstance(variable, TypeVarType) else None
            answer = None if bound is None else self._answer(f"{bound.type.fullname}.{name}")
            if bound is None or answer is None:
                continue
            types: list[list[Type]] = [[known_type(checker, arg) or _ANY] for arg in args]
            with self._around(checker, node):
                answer(MethodContext(bound, types, [], [], [], _ANY, [], node, checker))

    def _missing(self, checker: TypeChecker, call: nodes.CallExpr) -> None:
        """`x.replace(...)` of a class that has no such method, but a base that mypy cannot see."""
        assert isinstance(call.callee, nodes.MemberExpr)
        receiver = known_type(checker, call.callee.expr)
        instance = None if receiver is None else instance_of(receiver)
        if instance is None or not has_unseen_base(instance.type) or instance.type.get(call.callee.name) is not None:
            return
        with self._around(checker, call):
            self._types_only.feeder.call_unseen(checker, call, instance)

    def _around(self, checker: TypeChecker, node: Expression) -> AbstractContextManager[None]:
        return looking_again(checker, functions_at(checker.tree.defs, node.line))


def _hashed(checker: TypeChecker, node: Expression) -> Iterator[tuple[Expression, str]]:
    """What an expression hashes, and what for."""
    if isinstance(node, nodes.DictExpr):
        for key, _ in node.items:
            if key is not None:
                yield key, _KEY
    elif isinstance(node, nodes.SetExpr):
        yield from ((item, _MEMBER) for item in node.items)
    elif isinstance(node, nodes.DictionaryComprehension) and node.key is not None:
        yield node.key, _KEY
    elif isinstance(node, nodes.SetComprehension):
        yield node.generator.left_expr, _MEMBER
    elif isinstance(node, nodes.ComparisonExpr):
        for _, one, held in _memberships(node):
            container = known_type(checker, held)
            how = None if container is None else _HASHING.get(_name_of(container))
            if how is not None:
                yield one, how


def _memberships(node: nodes.ComparisonExpr) -> Iterator[tuple[str, Expression, Expression]]:
    """The tests with `in`: the operator, what is looked for, and where."""
    for operator, one, held in zip(node.operators, node.operands, node.operands[1:], strict=False):
        if operator in ("in", "not in"):
            yield operator, one, held


def _name_of(typ: Type) -> str:
    instance = instance_of(typ)
    return "" if instance is None else instance.type.fullname
