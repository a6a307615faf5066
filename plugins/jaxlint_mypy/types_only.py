"""What types alone can say: `jaxlint check` has no rule for it, because a text rarely tells what is compared or held.

Each has an error code of its own below `jaxlint`. They are reported while the rule that is closest to them is on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from mypy import nodes
from mypy.checker import TypeChecker
from mypy.errorcodes import ErrorCode
from mypy.literals import literal_hash
from mypy.nodes import CallExpr, ComparisonExpr, Context, Expression, MemberExpr, NameExpr, TypeInfo
from mypy.plugin import CheckerPluginInterface, FunctionContext, MethodContext, SemanticAnalyzerPluginInterface
from mypy.types import AnyType, Instance, NoneType, TupleType, Type, UnionType, get_proper_type

from jaxlint.config.settings import rule_enabled
from jaxlint.infer.known.values import as_instance
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.frameworks.plain import EQ_GIVES_LAST
from jaxlint.pytrees.hashing import hashes_fields, is_hashable
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules import rule_named
from jaxlint.rules.base import Problem
from jaxlint.syntax.expressions import Expr, dotted
from jaxlint_mypy import codes
from jaxlint_mypy.codes import code_of
from jaxlint_mypy.events import EventFeeder
from jaxlint_mypy.exprs import span_of, to_expr
from jaxlint_mypy.internals import class_body
from jaxlint_mypy.parameters import field_type, filled, instance_of
from jaxlint_mypy.values import ARRAYS

_MUTABLE = {
    "builtins.list": "a list",
    "builtins.dict": "a dict",
    "builtins.set": "a set",
    "builtins.bytearray": "a bytearray",
    "collections.deque": "a deque",
    "collections.defaultdict": "a dict",
    "collections.OrderedDict": "a dict",
}
_MAX_DEPTH = 4
#: Methods that always make another instance.
_COPYING = frozenset({"replace", "_replace"})
#: The rules that are closest to what is said here. Few programs give a reason to load one of them.
_EQUALITY, _MUTATIONS, _WRITES, _UPDATES = (
    "array-equality",
    "mutated-static-value",
    "frozen-assignment",
    "replace-unknown-field",
)


class TypesOnly:
    """Looks at classes, comparisons and changes in place."""

    def __init__(self, feeder: EventFeeder) -> None:
        self.feeder = feeder
        self.front = feeder.front

    # -- classes ------------------------------------------------------------------------------

    def check_class(
        self, api: CheckerPluginInterface | SemanticAnalyzerPluginInterface, info: TypeInfo, cls: PytreeClass
    ) -> None:
        """Static fields of a class that hold what can be changed in place."""
        receiver = filled(info)
        if cls.framework.static_by_annotation:  # what is no array is static there, without a word of the user's
            return
        if receiver is None or not cls.is_pytree:
            return
        for field in cls.static_fields:
            symbol = info.names.get(field.name)
            if symbol is None or not isinstance(symbol.node, nodes.Var):
                continue
            held = self._mutable(field_type(receiver, field.name))
            if held and self._is_on(_MUTATIONS):
                text = (
                    f"static field `{field.name}` of `{cls.name}` holds {held}, and jax asks for what is hashable: jit"
                    " does not see a change in place and uses what it compiled; use a tuple or a frozen dataclass"
                )
                api.fail(text, symbol.node, code=codes.MUTABLE_STATIC)

    def check_field(self, ctx: FunctionContext) -> None:
        """The class in whose body a field is declared, now that all classes are known."""
        info = class_body(ctx.api) if isinstance(ctx.api, TypeChecker) else None
        cls = self.front.class_of(info) if info is not None else None
        if info is not None and cls is not None:
            self.check_class(ctx.api, info, cls)

    def _mutable(self, typ: Type, depth: int = 0) -> str:
        """What a type holds that can be changed in place, in words."""
        proper = get_proper_type(typ)
        if depth > _MAX_DEPTH:
            return ""
        if isinstance(proper, (UnionType, TupleType)):
            return next((found for item in proper.items if (found := self._mutable(item, depth + 1))), "")
        if not isinstance(proper, Instance):
            return ""
        if proper.type.fullname == "builtins.tuple":
            return self._mutable(proper.args[0], depth + 1) if proper.args else ""
        known = proper.type.metadata.get("dataclass")
        pytree = self.front.class_of(proper.type)
        if pytree is not None and pytree.is_pytree:
            return ""
        if known is not None and known["frozen"] is False and "__hash__" not in proper.type.names:
            return f"the mutable dataclass `{proper.type.name}`"
        return _MUTABLE.get(proper.type.fullname, "")

    def _is_on(self, closest: str) -> bool:
        return rule_enabled(rule_named(closest), self.front.settings)

    # -- comparing and hashing ----------------------------------------------------------------

    def compared(self, ctx: MethodContext, operator: str) -> None:
        """`a == b`, `a != b` where both hold arrays."""
        left, right = self._holder(ctx.type, "compare"), self._holder(_argument(ctx, 0), "compare")
        if left is None or right is None or left[0] is not right[0]:
            return
        if _is_itself(ctx.context) or self._may_share(ctx) or self._may_give_back(ctx, left[0]):
            return
        unchanged = self._unchanged(ctx, left[0])
        holder = self._holder(ctx.type, "compare", unchanged=unchanged) if left[1] in unchanged else left
        if holder is None:
            return
        from jaxlint.rules.analyses.fields.compared import last_compared

        cls, array = holder
        last = last_compared(cls)
        gives_last = operator == "==" and last is not None and last.name == array and not self._is_asked(ctx)
        holds = self.front.model.target.holds(EQ_GIVES_LAST) if gives_last else False
        if not holds:
            self._unequal(ctx, cls, array, f"`{operator}`", "" if holds is False else EQ_GIVES_LAST.before)

    def _may_share(self, ctx: MethodContext) -> bool:
        """Whether what is compared may be one instance that two objects hold (as `jaxlint check` asks)."""
        operands = ctx.context.operands if isinstance(ctx.context, ComparisonExpr) else []
        attributes = [one for one in operands if isinstance(one, MemberExpr) and isinstance(one.expr, NameExpr)]
        if len(attributes) != 2 or not isinstance(ctx.api, TypeChecker):
            return False
        from jaxlint.rules.analyses.instances.same_objects import may_share

        given = self.feeder.code(ctx.api)[1].given
        left, right = map(to_expr, attributes)
        return may_share(left, right, lambda name: map(to_expr, given(name)))

    def _may_give_back(self, ctx: MethodContext, cls: PytreeClass) -> bool:
        """Whether one instance may be what a function returns that is given the other (as `jaxlint check` asks)."""
        operands = ctx.context.operands if isinstance(ctx.context, ComparisonExpr) else []
        if len(operands) != 2 or not isinstance(ctx.api, TypeChecker):
            return False
        from jaxlint.rules.analyses.instances.same_objects import may_give_back

        found = self.feeder.code(ctx.api)[1].given
        left, right = map(to_expr, operands)

        def given(name: str) -> Iterable[Expr]:
            return map(to_expr, found(name))

        return may_give_back(left, right, cls, given) or may_give_back(right, left, cls, given)

    def _unchanged(self, ctx: MethodContext, cls: PytreeClass) -> Set[str]:
        """The fields that are equal without a look at what they hold (as `jaxlint check` asks)."""
        from jaxlint.rules.analyses.fields.compared import compares_as_tuples
        from jaxlint.rules.analyses.instances.built_alike import same_in_both
        from jaxlint.rules.analyses.instances.same_objects import unchanged_fields

        operands = ctx.context.operands if isinstance(ctx.context, ComparisonExpr) else []
        as_tuples = compares_as_tuples(cls, self.front.evaluator)
        if len(operands) != 2 or not as_tuples or not isinstance(ctx.api, TypeChecker):
            return frozenset()
        found = self.feeder.code(ctx.api)[1].given
        left, right = map(to_expr, operands)

        def given(name: str) -> Iterable[Expr]:
            return map(to_expr, found(name))

        return unchanged_fields(left, right, cls, given) | same_in_both(left, right, cls, given)

    def _is_asked(self, ctx: MethodContext) -> bool:
        """Whether a statement asks for the truth value of a comparison."""
        if not isinstance(ctx.api, TypeChecker) or not isinstance(ctx.context, Expression):
            return False
        return self.feeder.code(ctx.api)[1].is_asked(ctx.context)

    def searched(self, ctx: MethodContext, method: str) -> None:
        """`many.index(a)` where `many` is a list or a tuple of instances that hold arrays."""
        found = self.compared_with(ctx.type, _argument(ctx, 0))
        if found is not None:
            self._unequal(ctx, *found, f"`.{method}(...)`")

    def compared_with(self, container: Type, typ: Type | None) -> tuple[PytreeClass, str] | None:
        """The class of what is looked for among its like, and a field of it that is an array."""
        holder, found = instance_of(container), self._holder(typ, "compare")
        held = self._holder(holder.args[0], "compare") if holder is not None and holder.args else None
        if found is None or held is None or found[0] is not held[0]:
            return None
        from jaxlint.rules.analyses.fields.compared import has_identifier

        return None if has_identifier(found[0], self.front.evaluator) else found

    def _unequal(self, ctx: MethodContext, cls: PytreeClass, array: str, how: str, when: str = "") -> None:
        self.tell_unequal(ctx.api, ctx.context, cls, array, how, when)

    def tell_unequal(
        self, api: CheckerPluginInterface, at: Context, cls: PytreeClass, array: str, how: str, when: str = ""
    ) -> None:
        """Report a comparison of the fields of two instances of `cls`."""
        compares = cls.eq is True or cls.framework.is_tuple
        if compares and cls.framework.compares_fields and not cls.answers("__eq__"):
            from jaxlint.rules.analyses.fields.compared import unequal_message

            message = unequal_message(how, cls.name, array, when)
            self._tell(api, at, message, code_of(rule_named(_EQUALITY)), _EQUALITY)

    def hashed(self, ctx: FunctionContext | MethodContext, how: str) -> None:
        """`hash(a)`, `d[a] = v`, `s.add(a)` where `a` holds arrays, or has no hash."""
        self.hash(ctx, _argument(ctx, 0), how)

    def hash(self, ctx: FunctionContext | MethodContext, typ: Type | None, how: str) -> None:
        """A call hashes instances of a type."""
        why = self.unhashable(typ)
        if why:
            self.tell_unhashable(ctx.api, ctx.context, how, why)

    def unhashable(self, typ: Type | None) -> str:
        """Why instances of a type have no hash, as a sentence; empty if they have one."""
        instance = instance_of(typ)
        known = self.front.class_of(instance.type) if instance is not None else None
        if known is None or not known.is_pytree:
            return ""
        if known.params is not None:
            if all(is_hashable(one) is False for one in (known, *self.front.model.subclasses(known))):
                return f"`{known.name}` is compared by value and not frozen, so it has no hash (TypeError)"
        found = self._holder(typ, "compare", "hash")
        if found is None:
            return self._unhashable_within(known)
        cls, array = found
        family = [cls, *self.front.model.subclasses(cls)]
        if not all(is_hashable(one) and hashes_fields(one) for one in family):
            return ""
        return f"`{cls.name}` is hashed by its fields, and `{array}` is an array, which has no hash (TypeError)"

    def _unhashable_within(self, cls: PytreeClass) -> str:
        """Why instances of a class have no hash, if that is what one of their fields holds: an instance, or several."""
        from jaxlint.rules.analyses.fields.hashing import unhashable_instance

        family = (cls, *self.front.model.subclasses(cls))
        reasons = [unhashable_instance(one, self.front.evaluator) for one in family]
        first = reasons[0]
        return "" if first is None or None in reasons else f"{first.what} (TypeError)"

    def tell_unhashable(self, api: CheckerPluginInterface, at: Context, how: str, why: str) -> None:
        """Report that something is hashed that cannot be."""
        self._tell(api, at, f"{how}: {why}", codes.UNHASHABLE, _EQUALITY)

    def _holder(
        self, typ: Type | None, *without: str, unchanged: Set[str] = frozenset()
    ) -> tuple[PytreeClass, str] | None:
        """A pytree class and one of its fields: an array, not `unchanged`, and not declared `without` something."""
        instance = instance_of(typ)
        cls = self.front.class_of(instance.type) if instance is not None else None
        if cls is None or instance is None or not cls.is_pytree:
            return None
        if not cls.fields_known and cls.declared_fields is cls.fields:
            return None
        declared = (f for f in cls.declared_fields if f.role is not Role.STATIC)
        keywords = ((f, () if f.call is None else f.call.keywords) for f in declared)
        asked = (f for f, given in keywords if f.name not in unchanged and not any(word in given for word in without))
        array = next((f.name for f in asked if self._is_array(field_type(instance, f.name), f, cls)), None)
        return None if array is None else (cls, array)

    def _is_array(self, typ: Type, field: Field, cls: PytreeClass) -> bool:
        """Whether a field holds an array; what it is annotated with may come from a package without types."""
        if isinstance(get_proper_type(typ), AnyType):
            from jaxlint.rules.analyses.fields.compared import may_hold_several

            return may_hold_several(field, cls, self.front.evaluator)
        if not _is_array(typ):
            return False
        from jaxlint.rules.analyses.instances.given_literals import is_given_object

        return not is_given_object(field, cls, self.front.evaluator)

    def replaced(self, ctx: FunctionContext, function: str) -> None:
        """`dataclasses.replace(a, name=v)` where the constructor takes no `name`."""
        checker, call, receiver = ctx.api, ctx.context, get_proper_type(_argument(ctx, 0) or NoneType())
        cls = self.front.class_of(receiver.type) if isinstance(receiver, Instance) else None
        if cls is None or not isinstance(call, CallExpr) or not isinstance(checker, TypeChecker):
            return
        for name, value in zip(call.arg_names, call.args, strict=True):
            field = cls.field(name) if name is not None else None
            if field is not None and field.init is False:
                text = f"field `{name}` of `{cls.name}` has `init=False`: `{function}` refuses it (ValueError)"
                self._tell(checker, value, text, codes.NOT_IN_INIT, _UPDATES)
        refused = _refused_by_init(cls)
        if refused and not any(_refused_by_init(one) is None for one in self.front.model.subclasses(cls)):
            by_tree_at = cls.framework.copies_leaves
            way_out = "copy it with `eqx.tree_at`" if by_tree_at else "write a method that makes the copy"
            text = (
                f"`{function}` passes all fields of `{cls.name}` to its `__init__`, which has no parameter"
                f" `{refused}` (TypeError); {way_out}"
            )
            self._tell(checker, call, text, codes.NOT_IN_INIT, _UPDATES)

    # -- changes in place ---------------------------------------------------------------------

    def mutated(self, ctx: MethodContext, held: MemberExpr) -> None:
        """`self.many.append(v)` where `many` is a list among the leaves of a frozen instance.

        To put something else into a place that is there is often meant; to add leaves to a tree never is.
        """
        checker = ctx.api
        container = get_proper_type(ctx.type)
        if not isinstance(checker, TypeChecker) or not isinstance(container, Instance):
            return
        kind = _MUTABLE.get(container.type.fullname)
        cls = self._written(checker, held.expr, held.name)
        if kind != "a list" or cls is None or not self._is_on(_MUTATIONS):
            return
        if _is_static(cls, held.name):
            return  # that is JAX206
        self._tell(
            checker,
            ctx.context,
            f"`{held.name}` of the frozen `{cls.name}` is a list that grows or shrinks in place: under `jit` that is"
            " lost, and outside every copy that shares it gets another tree structure; make a copy with `replace`",
            codes.MUTATED_LEAF,
            _MUTATIONS,
        )

    def bypassed(self, ctx: MethodContext) -> None:
        """`object.__setattr__(x, "name", v)` outside of what constructs `x`."""
        checker, call = ctx.api, ctx.context
        if not isinstance(checker, TypeChecker) or not isinstance(call, CallExpr) or len(call.args) != 3:
            return
        name = call.args[1]
        if not isinstance(name, nodes.StrExpr) or not self._is_on(_WRITES):
            return
        owner = call.args[0]
        cls = self._written(checker, owner, name.value)
        if cls is None:
            return
        is_own = isinstance(owner, nodes.NameExpr) and owner.name == "self"
        if _is_static(cls, name.value) and (is_own or cls.leaves == ()):
            return  # a method may keep there what it works out once, and what has no leaf is a record of the host
        self._tell(
            checker,
            call,
            f"`object.__setattr__` writes to `{name.value}` of the frozen `{cls.name}` behind its back: under `jit`"
            " the write is lost, and outside all who hold the instance see it; make a copy with `replace`",
            codes.FROZEN_BYPASS,
            _WRITES,
        )

    def _written(self, checker: TypeChecker, owner: Expression, name: str) -> PytreeClass | None:
        """The frozen class of an instance that was not made just here, if `name` is one of its fields."""
        instance = as_instance(self.feeder.value(checker, owner))
        cls = instance.cls if instance is not None else None
        field = cls.field(name) if cls is not None else None
        if cls is None or field is None or cls.frozen is not True or not cls.is_pytree:
            return None
        functions, statements = self.feeder.code(checker)
        constructing = cls.framework.assignable_in | {"tree_unflatten"}
        if any(function.name in constructing or function.name.startswith("_") for function in functions):
            return None  # `__init__` may call a private method, and flattening and unflattening go by many names
        path = dotted(to_expr(owner)) or ""
        variable = path.partition(".")[0]
        around = statements.around(owner.line)
        made = [one for one in statements.given(variable) if around.in_loop or one.line <= owner.line]
        if not variable or made or statements.asks_for(f"{path}.{name}"):
            return None
        if path == "self" and self._runs_in(constructing, cls, functions):
            return None
        return None if around.expected or variable in around.copies else cls

    def _runs_in(self, methods: Set[str], cls: PytreeClass, functions: Sequence[nodes.FuncDef]) -> bool:
        """Whether what stands in some functions runs in one of the methods, of the class or of one that inherits it."""
        from jaxlint.rules.analyses.instances.methods import run_by

        names = {function.name for function in functions}
        family = (cls, *self.front.model.subclasses(cls))
        running = [(found[1], one) for one in family for name in methods if (found := one.method(name)) is not None]
        return any(not names.isdisjoint(run_by(method, one)) for method, one in running)

    def _tell(self, api: CheckerPluginInterface, at: Context, text: str, code: ErrorCode, closest: str) -> None:
        """Report something, unless it is expected or the rule that is `closest` (its name) is silenced there."""
        if not isinstance(api, TypeChecker):
            return
        _, statements = self.feeder.code(api)
        span, module, rule = span_of(at), self.front.module(api.tree), rule_named(closest)()
        if statements.around(at.line).expected or self.front.is_left_out(Problem(span, text), rule, module, span):
            return
        if self.front.readings.never_runs(module, span):
            return
        api.fail(text, at, code=code)


def _is_static(cls: PytreeClass, name: str) -> bool:
    field = cls.field(name)
    return field is not None and field.role is Role.STATIC


def _refused_by_init(cls: PytreeClass) -> str | None:
    """A field for which the `__init__` that a user wrote has no parameter."""
    parameters = cls.constructor() if cls.custom_init() is not None and cls.fields_known else None
    if parameters is None or any(one.kind == "**" for one in parameters):
        return None
    taken = {one.name for one in parameters if one.kind != "*"}
    return next((field.name for field in cls.fields if field.init and field.name not in taken), None)


def _argument(ctx: FunctionContext | MethodContext, index: int) -> Type | None:
    return ctx.arg_types[index][0] if len(ctx.arg_types) > index and ctx.arg_types[index] else None


def _is_itself(comparison: Context) -> bool:
    """Whether one object may stand on both sides, which needs no look at the fields: `a == a`, `a == a.method()`."""
    if not isinstance(comparison, ComparisonExpr):
        return False
    return are_one(*comparison.operands) or are_one(*map(_giver, comparison.operands))


def _giver(expr: Expression) -> Expression:
    """The instance whose own method is called, which may return it; otherwise the expression."""
    if isinstance(expr, CallExpr) and isinstance(expr.callee, MemberExpr) and expr.callee.name not in _COPYING:
        return expr.callee.expr
    return expr


def are_one(*expressions: Expression) -> bool:
    """Whether expressions are written alike and stand for one object; two calls make two instances."""
    hashes = {literal_hash(one) for one in expressions}
    return len(hashes) == 1 and None not in hashes


def _is_array(typ: Type) -> bool:
    """Whether a type is that of an array, and of nothing else."""
    proper = get_proper_type(typ)
    if isinstance(proper, UnionType):
        return all(map(_is_array, proper.items))
    return isinstance(proper, Instance) and any(base.fullname in ARRAYS for base in proper.type.mro)
