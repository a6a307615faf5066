"""What mypy asks no plugin about, read once a file is checked.

Displays of dicts and sets, `in`, attributes that are added, and methods that are missing where mypy cannot see a base.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager

from mypy import nodes
from mypy.checker import TypeChecker
from mypy.nodes import Expression
from mypy.types import Type

from jaxlint.pytrees.updating import COPYING_NAMES
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

_KEY, _MEMBER = "to be a key of a dict", "to be a member of a set"
#: What hashes what is looked for in it.
_HASHING = {
    "builtins.dict": _KEY,
    "collections.defaultdict": _KEY,
    "collections.OrderedDict": _KEY,
    "builtins.set": _MEMBER,
    "builtins.frozenset": _MEMBER,
}
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


class Displays:
    """Looks at the displays and new attributes of a file."""

    def __init__(self, types_only: TypesOnly) -> None:
        self._types_only = types_only

    def look(self, checker: TypeChecker) -> None:
        """Report displays that hash what has no hash, searches that compare arrays, attributes that are added, …"""
        feeder = self._types_only.feeder
        if checker.tree.fullname in feeder.front.frozen_in:
            for added in list(inferred_attributes(checker)):
                with self._around(checker, added):
                    feeder.assign(checker, added, is_lvalue=True)
        for node in [one for one in typed_expressions(checker) if type(one) in _KINDS]:
            if type(node) is nodes.CallExpr:
                if _copies(node):
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


def _copies(node: nodes.CallExpr) -> bool:
    """Whether a method is called by a name that stands for copies with changes."""
    return type(node.callee) is nodes.MemberExpr and node.callee.name in COPYING_NAMES


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
