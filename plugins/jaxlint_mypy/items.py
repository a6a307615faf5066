"""Items: assignments to those of jax arrays, and those of displays that hold pytrees among other things.

mypy's stub of arrays declares an operator for the first that only raises.
"""

from __future__ import annotations

from mypy import nodes
from mypy.checker import TypeChecker
from mypy.nodes import CallExpr, Expression, IndexExpr, MemberExpr, NameExpr
from mypy.plugin import MethodContext
from mypy.types import Instance, Type, get_proper_type

from jaxlint.infer.known.values import UNKNOWN, Array, Scalar, Value, as_instance, options, plain, without_none
from jaxlint.syntax.expressions import Subscript, dotted, root
from jaxlint_mypy.events import EventFeeder
from jaxlint_mypy.exprs import to_call, to_expr
from jaxlint_mypy.internals import known_type
from jaxlint_mypy.parameters import ANY
from jaxlint_mypy.statements import Statements


class ItemFeeder:
    """Makes events of the assignments to items that mypy's checker shows."""

    def __init__(self, feeder: EventFeeder) -> None:
        self.feeder = feeder

    def assign(self, ctx: MethodContext) -> None:
        """`x[i] = v` where `x` is, or may be, a jax array."""
        checker, node = ctx.api, ctx.context
        if not isinstance(checker, TypeChecker) or not isinstance(node, IndexExpr):
            return
        held, target = node.base, to_expr(node)
        if not _is_array(self._value(checker, held)) or self._value(checker, node.index) == Scalar("str"):
            return  # what is asked for by a string is no array, whatever an annotation says
        functions, statements = self.feeder.code(checker)
        store = statements.store(node)
        if store is None or not isinstance(target, Subscript):
            return
        while isinstance(held, IndexExpr) and _is_array(self._value(checker, held.base)):
            held = held.base
        made = self._made(checker, held, statements)
        trusted = made is not None and all(_is_array(value) for value in made)
        owner = self.feeder.value(checker, held.expr) if isinstance(held, MemberExpr) else None
        notes, env = self.feeder.notes(checker, functions, statements.around(node.line))
        changed = to_expr(held)
        notes.assign_item(
            target,
            changed,
            Array("jax", declared=not trusted and not _is_inferred(held)),
            "augment" if store.how == "augment" else "item",
            None if owner is None else as_instance(owner),
            made is not None and not trusted,
            mutable_copy=dotted(root(changed)) in env.mutable_copies,
        )
        self.feeder.run(checker, notes)

    def read(self, ctx: MethodContext) -> Type:
        """An item of which mypy says `object`, as it was put into a list or dict with others.

        Many pytrees are `Any` to mypy alone, and with one of these so is all that is held: that is left as it is.
        """
        typ, checker = get_proper_type(ctx.default_return_type), ctx.api
        if not isinstance(typ, Instance) or typ.type.fullname != "builtins.object":
            return ctx.default_return_type
        read = ctx.context.callee if isinstance(ctx.context, CallExpr) else ctx.context
        held = read.expr if isinstance(read, MemberExpr) else read.base if isinstance(read, IndexExpr) else None
        if not isinstance(checker, TypeChecker) or not isinstance(held, NameExpr) or not _is_inferred(held):
            return ctx.default_return_type
        given = self.feeder.code(checker)[1].given(held.name)
        types = [get_proper_type(known_type(checker, one)) for display in given for one in _held_by(display)]
        is_among = any(self.feeder.front.is_pytree(one.type) for one in types if isinstance(one, Instance))
        return ANY if is_among else ctx.default_return_type

    def _value(self, checker: TypeChecker, node: Expression) -> Value:
        return plain(without_none(plain(self.feeder.value(checker, node))))

    def _made(self, checker: TypeChecker, held: Expression, statements: Statements) -> list[Value] | None:
        """What the function itself puts into the field that holds `held`; None if it does not."""
        fields: list[str] = []
        while isinstance(held, (MemberExpr, IndexExpr)):
            fields += [held.name] if isinstance(held, MemberExpr) else []
            held = held.expr if isinstance(held, MemberExpr) else held.base
        if len(fields) != 1 or not isinstance(held, NameExpr):  # what a field of a field holds was not given here
            return None
        given = [g for g in statements.given(held.name) if isinstance(g, CallExpr)]
        made = [(g, g.callee.node) for g in given if isinstance(g.callee, nodes.RefExpr)]
        calls = [(call, info) for call, info in made if isinstance(info, nodes.TypeInfo)]
        return [self._argument(checker, call, info, fields[0]) for call, info in calls] if calls else None

    def _argument(self, checker: TypeChecker, call: CallExpr, info: nodes.TypeInfo, name: str) -> Value:
        """What the call of a class gives a parameter."""
        cls = self.feeder.front.class_of(info)
        bound = [] if cls is None else self.feeder.bound(checker, cls, call, to_call(call))
        value = next((b.value for b in bound if b.name == name), UNKNOWN)
        return plain(without_none(plain(value)))


def _is_array(value: Value) -> bool:
    """Whether a value certainly is a jax array."""
    return all(isinstance(o, Array) and o.library == "jax" for o in options(value))


def _held_by(display: Expression) -> list[Expression]:
    """What a list or a dict that is written out holds."""
    if isinstance(display, nodes.DictExpr):
        return [value for _, value in display.items]
    return display.items if isinstance(display, nodes.ListExpr) else []


def _is_inferred(node: Expression) -> bool:
    """Whether a type was not written for just this variable or field."""
    if isinstance(node, NameExpr):
        return isinstance(node.node, nodes.Var) and node.node.is_inferred
    return not isinstance(node, MemberExpr)
