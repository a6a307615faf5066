"""Expressions evaluated to forms: what a function that JAX traces makes of what it is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Array, Instance, plain
from jaxlint.libraries.arrays import TREE
from jaxlint.libraries.transforms import TRANSFORMS, Returns
from jaxlint.libraries.trees import TREE_MAPS
from jaxlint.libraries.updates import COPYING_NAMES, REPLACE_FUNCTIONS, TREE_AT
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.pytrees.stubs import is_stub
from jaxlint.pytrees.updating import is_train_state
from jaxlint.rules.analyses.bodies.settled import settled, written_out
from jaxlint.rules.analyses.under_trace.dicts import (
    after_changes,
    containers_in,
    dict_called,
    written_dict,
)
from jaxlint.rules.analyses.under_trace.forms import (
    DECLARED_ARRAY,
    NOTHING,
    SOMETHING,
    UNKNOWN,
    Form,
    Held,
    Leaf,
    Moved,
    Nothing,
    State,
    Unknown,
    Written,
)
from jaxlint.rules.analyses.under_trace.held_values import (
    OF_STATIC,
    Fact,
    Settle,
    facts,
    in_table,
    inverted,
    put,
    seen_by,
    stepped,
)
from jaxlint.rules.analyses.under_trace.library_forms import called, method, placed_at, without_step
from jaxlint.rules.analyses.under_trace.meanings import SAME, Meanings
from jaxlint.rules.analyses.under_trace.things import (
    ClassThing,
    Code,
    Differentiated,
    Frame,
    Library,
    Member,
    Thing,
    arithmetic,
    callable_of,
    compared,
    differentiated,
    form_of,
    held_by,
    item_at,
    joined,
    may_change,
    of_tuple,
    operands_of,
    parts_of,
    roots,
    spread,
    truth_of,
    with_parts,
)
from jaxlint.symbols.outline import names_by_position
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Compare,
    Conditional,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Lambda,
    Name,
    NamedExpr,
    Subscript,
    Unary,
    children,
    root,
)

#: How many expressions are looked at for one body.
_MOST = 6000
_GRADIENTS = (Returns.GRADIENT, Returns.VALUE_AND_GRADIENT)


class Expressions(Meanings):
    """Evaluates expressions to forms; functions are run by what extends it."""

    def __init__(self, evaluator: Evaluator) -> None:
        super().__init__(evaluator)
        self._left = _MOST
        #: Whether some field was given `None`, so that it matters what is none.
        self.met_none = False
        #: The containers that were changed in place, as they had been.
        self.changed: list[Held] = []

    def result(self, code: Code, given: Sequence[Thing], keywords: Mapping[str, Thing], depth: int) -> Thing:
        """What a function returns, perhaps a function of its own."""
        raise NotImplementedError

    def run(self, code: Code, given: Sequence[Thing], keywords: Mapping[str, Thing], depth: int) -> Form:
        """What a function returns, as a part of a tree."""
        return form_of(self.result(code, given, keywords, depth))

    def bind(self, target: Expr, thing: Thing, frame: Frame) -> None:
        """Assign to a target."""
        raise NotImplementedError

    def of_container(self, held: Held, name: str, call: Call, values: Sequence[Thing], frame: Frame) -> Thing:
        """What the method `name` of a container returns, which may change it."""
        raise NotImplementedError

    def loop(
        self, call: Call, name: str, given: Sequence[Thing], keywords: Mapping[str, Thing], frame: Frame
    ) -> Form | None:
        """What the function `name` of a library returns, if that runs the functions that it is given."""
        return None

    def placed(self, placed: Placed, depth: int) -> Form:
        """What an expression of a declaration is."""
        return form_of(self.value(placed.expr, Frame(placed.module, placed.scope, {}, depth + 1)))

    # -- expressions ------------------------------------------------------------------------

    def value(self, expr: Expr, frame: Frame) -> Thing:
        """What an expression is."""
        self._left -= 1
        if self._left < 0:
            return UNKNOWN
        match expr:
            case Name(id=name):
                return frame.variables[name] if name in frame.variables else self.outside(expr, frame)
            case Constant(kind="NoneType"):
                return NOTHING
            case Constant(kind="bool", value=value):
                return Leaf("bool", False, truth=bool(value))
            case Constant(kind="int" | "float" as kind):
                return Leaf(kind, True)
            case Attribute():
                return self._attribute(expr, frame)
            case Call():
                return self.call(expr, frame)
            case Binary(op=op, left=left, right=right):
                sides = self._form(left, frame), self._form(right, frame)
                is_static = isinstance(sides[0], OF_STATIC) or isinstance(sides[1], OF_STATIC)
                moved = stepped(expr, *sides, self.settling(frame)) if is_static else None
                return moved or arithmetic(op, *sides)
            case Unary(op=op, operand=operand):
                inner = self._form(operand, frame)
                moved = inverted(op, inner)
                if moved is not None:
                    return moved
                if op == "not":
                    return Leaf("bool")
                return replace(inner, truth=None) if isinstance(inner, Leaf) else SOMETHING
            case Compare(left=left, comparators=others):
                return compared([self._form(e, frame) for e in (left, *others)])
            case Conditional(test=test, body=body, orelse=orelse):
                outcome = self._truth(test, frame)
                chosen = [(part, so) for part, so in ((body, True), (orelse, False)) if outcome in (None, so)]
                return joined([self._under(self.known(test, so, frame), part, frame) for part, so in chosen])
            case Display(kind="tuple" | "list" as kind, items=items) if not expr.has_star:
                return of_tuple([self._form(item, frame) for item in items], kind)
            case DictDisplay(keys=keys, values=values):
                return written_dict(keys, [self._form(value, frame) for value in values])
            case Subscript(value=value, index=index):
                inner = self._form(index, frame)
                found = in_table(value, inner, self.settling(frame)) if isinstance(inner, OF_STATIC) else None
                return found or item_at(self._form(value, frame), index)
            case NamedExpr(target=target, value=value):
                thing = self.value(value, frame)
                self.bind(target, thing, frame)
                return thing
            case Lambda(params=params, body=body, defaults=defaults, other_params=others):
                if defaults or len(others) > 1:
                    return UNKNOWN
                rest = others[0] if others else ""  # nothing gives it a keyword
                return Code("<lambda>", params, body, frame.module, frame.scope, frame.variables, rest=rest)
        for part in children(expr):
            self.value(part, frame)
        return UNKNOWN

    def _form(self, expr: Expr, frame: Frame) -> Form:
        return form_of(self.value(expr, frame))

    def held(self, expr: Expr, frame: Frame) -> Thing:
        """What a value is that may be put into a static field: perhaps another one than what that held."""
        value = self.settling(frame)(expr) if frame.facts else expr
        if not isinstance(value, Constant):
            return self.value(expr, frame)
        held = seen_by(Written(value=value.value, kind=value.kind), frame.facts)
        return held if isinstance(held, Moved) or value.kind == "str" else self.value(expr, frame)

    def _under(self, facts: Iterable[Fact], expr: Expr, frame: Frame) -> Thing:
        """What a value is where more is known."""
        before, frame.facts = frame.facts, (*frame.facts, *facts)
        held = self.held(expr, frame)
        frame.facts = before
        return held

    def known(self, test: Expr, outcome: bool, frame: Frame) -> tuple[Fact, ...]:
        """What is known of the values of static fields where a test came out in some way."""
        return tuple(facts(test, outcome, partial(held_by, variables=frame.variables), self.settling(frame)))

    def settling(self, frame: Frame) -> Settle:
        """What an expression of a function stands for, if that is no variable."""
        resolver = self._evaluator.model.resolver

        def settle(expr: Expr) -> Expr:
            start = root(expr)
            if isinstance(start, Name) and start.id in frame.variables:
                return expr
            return written_out(expr, resolver, frame.module, frame.scope)

        return settle

    def _truth(self, test: Expr, frame: Frame) -> bool | None:
        values: dict[int, Thing] = {}
        for part in operands_of(test):
            values[id(part)] = self.value(part, frame)
        return truth_of(test, values)

    def _attribute(self, expr: Attribute, frame: Frame) -> Thing:
        start = root(expr)
        if isinstance(start, Name) and start.id not in frame.variables:
            found = self.outside(expr, frame)
            if not isinstance(found, Unknown):
                return found
        owner = self.value(expr.value, frame)
        if isinstance(owner, State):
            if expr.attr in owner.fields:
                return owner.fields[expr.attr]
            return self._held(owner, expr.attr)
        if isinstance(owner, Leaf) or owner == DECLARED_ARRAY:
            return owner if expr.attr in ("T", "mT") else Member(owner, expr.attr)
        return Member(owner, expr.attr) if isinstance(owner, (Held, ClassThing)) else UNKNOWN

    def _held(self, state: State, name: str) -> Thing:
        """What is certain of an attribute by its declaration: an array, or an instance, is not None."""
        field = state.cls.field(name)
        if field is None:
            if state.cls.is_pytree or state.cls.method(name) is not None:
                return Member(state, name)
            with self._evaluator.calls.notes.muted():
                held = plain(self._evaluator.attribute_of(Instance(state.cls, state.exact), name))
            return State(held.cls, {}, held.exact) if isinstance(held, Instance) else Member(state, name)
        if field.annotation is None or field.default is not None or field.role is not Role.LEAF:
            return UNKNOWN
        declared = plain(self._evaluator.promises.field(field, state.cls))
        if isinstance(declared, Instance):
            return State(declared.cls, {}, declared.exact)
        if not isinstance(declared, Array):
            return UNKNOWN
        return SOMETHING if declared.library == TREE else DECLARED_ARRAY

    # -- calls ------------------------------------------------------------------------------

    def call(self, call: Call, frame: Frame) -> Thing:
        """What a call returns."""
        func = callable_of(self.value(call.func, frame))
        values = [self.value(a.value, frame) for a in call.args]
        given = [v for a, v in zip(call.args, values, strict=True) if a.keyword is None and not a.star]
        keywords = {a.keyword: v for a, v in zip(call.args, values, strict=True) if a.keyword is not None}
        spread_out = spread(call, values) if call.has_star else given
        after = None
        if isinstance(func, Library) and spread_out is not None:
            after = self.loop(call, func.name, spread_out, keywords, frame)
        if after is not None:
            return after
        update = self._updated(call, func, given, keywords, frame)
        if update is not None:
            return update
        if isinstance(func, Library) and func.name == "builtins.dict":
            return dict_called(call, values)
        if isinstance(func, Member) and isinstance(func.owner, Held):
            return self.of_container(func.owner, func.name, call, values, frame)
        if isinstance(func, (Code, ClassThing, Member)) and call.has_star:
            if isinstance(func, Code) and spread_out is not None:
                return self._ran(func, spread_out, keywords, frame)
            if isinstance(func, ClassThing):
                return State(func.cls, {})
            self.forget_contents(values, frame)
            return UNKNOWN
        match func:
            case ClassThing(cls=cls):
                return self._constructed(cls, call, given, keywords, frame)
            case Code():
                self._handed(call, frame)
                return self._ran(func, given, keywords, frame)
            case Library(name=name):
                return self._of_library(name, call, given, keywords, frame)
            case Differentiated() if NOTHING not in given:
                self._handed(call, frame)
                return func.called()
            case Member(owner=owner, name=attr):
                return self._method(owner, attr, call, given, keywords, frame)
        at = call.func.value if isinstance(call.func, Attribute) else None
        if isinstance(at, Subscript) and isinstance(at.value, Attribute) and at.value.attr == "at":
            held = self._form(at.value.value, frame)
            return held if isinstance(held, Leaf) else SOMETHING
        self._handed(call, frame)
        self.forget_contents(values, frame)
        return UNKNOWN

    @staticmethod
    def _handed(call: Call, frame: Frame) -> None:
        """A function is given instances in variables, which it may change in place."""
        for argument in call.args:
            if isinstance(argument.value, Name):
                if may_change(frame.variables.get(argument.value.id)):
                    frame.variables[argument.value.id] = UNKNOWN

    def forget_contents(self, given: Iterable[Thing], frame: Frame) -> None:
        """Something of which nothing is known is given containers, or instances that hold some."""
        held = [container for thing in given for container in containers_in(thing)]
        if held:
            self.changed += held
            frame.variables = after_changes(frame.variables, held)

    def _of_library(
        self, name: str, call: Call, given: Sequence[Thing], keywords: Mapping[str, Thing], frame: Frame
    ) -> Thing:
        """What the function `name` of a library returns."""
        transform = TRANSFORMS.get(name)
        code = self.code_given(given[0]) if given else None
        if transform is not None and not transform.runs and transform.kind in SAME and given:
            return code or UNKNOWN
        if transform is not None and transform.returns in _GRADIENTS:
            return differentiated(call, with_value=transform.returns is Returns.VALUE_AND_GRADIENT)
        if name == "functools.partial" and code is not None and not call.has_star:
            return replace(code, positional=(*code.positional, *given[1:]), keywords={**code.keywords, **keywords})
        if name == "builtins.list" and len(call.args) == 1 and given:
            held = form_of(given[0])
            return replace(held) if isinstance(held, Held) and held.kind == "list" else UNKNOWN
        if name in TREE_MAPS and code is not None and len(given) > 1 and not call.has_star and not keywords:
            return self._mapped(code, [form_of(tree) for tree in given[1:]], frame.depth + 1)
        exprs = {a.keyword: a.value for a in call.args if a.keyword is not None}
        return called(name, [form_of(thing) for thing in given], call.positional, exprs)

    def _mapped(self, code: Code, trees: Sequence[Form], depth: int) -> Form:
        """What `jax.tree.map` makes of trees of one structure; where they differ, nothing is known."""
        first = trees[0]
        if all(isinstance(tree, Leaf) for tree in trees):
            return self.run(code, trees, {}, depth)
        if isinstance(first, Nothing):
            return NOTHING if all(isinstance(tree, Nothing) for tree in trees) else UNKNOWN
        parts = parts_of(trees)
        if parts is None:
            return UNKNOWN
        return with_parts(first, {name: self._mapped(code, forms, depth) for name, forms in parts.items()})

    def _updated(
        self, call: Call, func: Thing, given: Sequence[Thing], keywords: Mapping[str, Thing], frame: Frame
    ) -> State | None:
        """The copy with changes that a call makes, if it does."""
        if isinstance(func, Member) and isinstance(func.owner, State) and func.name in COPYING_NAMES:
            cls = func.owner.cls
            own = cls.framework.is_tuple if func.name == "_replace" else cls.framework.replace_method == "replace"
            if own and cls.has_framework_replace:
                return self._with(func.owner, call, keywords, frame)
        if isinstance(func, Library) and func.name in REPLACE_FUNCTIONS and given and isinstance(given[0], State):
            return self._with(given[0], call, keywords, frame)
        if isinstance(func, Library) and func.name == TREE_AT and len(given) >= 2:
            tree = given[1]
            if isinstance(tree, State):
                return placed_at(call.positional[0], tree, given[2] if len(given) > 2 else keywords.get("replace"))
        return None

    def _with(self, state: State, call: Call, keywords: Mapping[str, Thing], frame: Frame) -> State:
        cls = state.cls
        if call.has_star or cls.has_own_construction:
            return State(cls, {}, state.exact)
        written = {a.keyword: Placed(a.value, frame.module, frame.scope) for a in call.args if a.keyword is not None}
        changed = {n: self._put(cls, n, written.get(n), form_of(t), frame) for n, t in keywords.items()}
        unchanged = {n: f for n, f in state.fields.items() if n not in keywords}
        return State(cls, {**unchanged, **changed}, state.exact)

    def _constructed(
        self, cls: PytreeClass, call: Call, given: Sequence[Thing], keywords: Mapping[str, Thing], frame: Frame
    ) -> State:
        """What the constructor of a class makes."""
        if cls.method("__new__") is not None or not cls.is_pytree:
            return State(cls, {}, exact=cls.method("__new__") is None)
        parameters = cls.constructor()
        own = cls.has_own_construction or cls.unknown_decorator or not cls.fields_known
        if parameters is None or own:
            return State(cls, {})
        names = names_by_position(parameters)
        passed = {**dict(zip(names, given, strict=False)), **keywords}
        exprs = call.given_to(names if given else ())
        written = {name: Placed(expr, frame.module, frame.scope) for name, expr in exprs.items()}
        fields: dict[str, Form] = {}
        for field in cls.fields:
            if field.is_converted or field.opaque:
                continue
            if field.name in passed:
                fields[field.name] = self._put(
                    cls, field.name, written.get(field.name), form_of(passed[field.name]), frame
                )
            elif field.default is not None:
                fields[field.name] = self._put(
                    cls, field.name, field.default, self.placed(field.default, frame.depth), frame
                )
            elif field.factory is not None:
                fields[field.name] = self._made(field.factory, frame.depth)
        return State(cls, fields)

    def _put(self, cls: PytreeClass, name: str, written: Placed | None, form: Form, frame: Frame) -> Form:
        """What a field holds that is given a form, written so."""
        field = cls.field(name)
        if field is None or field.is_converted:
            return UNKNOWN
        if field.role is not Role.STATIC:
            self.met_none |= isinstance(form, Nothing)
            return form
        if written is None:
            return UNKNOWN
        value = settled(written.expr, self._evaluator.model.resolver, written.module, written.scope)
        return put(value, value is written.expr, form, frame.facts)

    def _made(self, factory: Placed, depth: int) -> Form:
        """What a default factory makes."""
        thing = self.value(factory.expr, Frame(factory.module, factory.scope, {}, depth + 1))
        if isinstance(thing, Code):
            return self.run(thing, (), {}, depth + 1)
        empty = {"builtins.list": "list", "builtins.dict": "dict", "builtins.tuple": "tuple"}
        return Held(empty[thing.name], {}) if isinstance(thing, Library) and thing.name in empty else UNKNOWN

    def _method(
        self,
        owner: Form | ClassThing,
        name: str,
        call: Call,
        given: Sequence[Thing],
        keywords: Mapping[str, Thing],
        frame: Frame,
    ) -> Thing:
        """What a method returns: of an array, or one of a class, which is run."""
        if isinstance(owner, Leaf):
            return method(owner, name, [form_of(t) for t in given], call.positional)
        if owner == DECLARED_ARRAY:
            result = method(Leaf(), name, [form_of(t) for t in given], call.positional)
            return owner if isinstance(result, Leaf) else UNKNOWN
        if not isinstance(owner, (State, ClassThing)):
            return UNKNOWN
        found = owner.cls.method(name)
        self._handed(call, frame)
        if found is not None and is_train_state(found[0]) and is_stub(found[0].module):
            if name == "create":
                return without_step(self._constructed(owner.cls, call, (), keywords, frame))
            if name == "apply_gradients" and isinstance(owner, State):
                return without_step(self._with(owner, call, keywords, frame))
        code = self.bound(owner, name)
        if code is None:
            self.forget_contents([owner if isinstance(owner, State) else UNKNOWN, *given, *keywords.values()], frame)
            return UNKNOWN
        if may_change(owner) and isinstance(call.func, Attribute):
            for changed in roots(call.func):
                frame.variables[changed] = UNKNOWN
        return self._ran(code, given, keywords, frame)

    def _ran(self, code: Code, given: Sequence[Thing], keywords: Mapping[str, Thing], frame: Frame) -> Thing:
        """What a function returns that is called, and may have changed containers in place."""
        before = len(self.changed)
        returned = self.result(code, given, keywords, frame.depth + 1)
        if len(self.changed) > before:
            frame.variables = after_changes(frame.variables, self.changed[before:])
        return returned
