"""Whether code changes the state of a module of flax.nnx or treex that it is given.

Measured with flax 0.12.8 (facts/semantics.md, 6.3 and 7.9): under `jax.jit` running statistics, random streams and
variables that a module writes are written into a copy. What happens only in some mode (`if train:`) counts if that mode
is certainly on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from jaxlint.infer.bodies.slots import ANYWHERE, Slot, changed_by, origin, slot_of
from jaxlint.infer.bodies.usage import Aliases
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Instance, plain
from jaxlint.libraries.layers import COMBINING_LAYERS, RANDOM_STREAMS, STATE_UPDATE, STATEFUL_LAYERS
from jaxlint.libraries.transforms import TRANSFORMS, Kind
from jaxlint.project.modules import Module
from jaxlint.project.resolution import External, FunctionSymbol
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.pytrees.stubs import is_stub
from jaxlint.rules.analyses.changes.taken_state import leaves
from jaxlint.rules.analyses.instances.methods import gives_itself
from jaxlint.symbols.bodies import changes_modules
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import (
    Argument,
    Attribute,
    BoolOp,
    Call,
    Comprehension,
    Conditional,
    Constant,
    Display,
    Expr,
    Lambda,
    Name,
    Other,
    Unary,
    children,
    dotted,
)
from jaxlint.syntax.statements import (
    Assign,
    Body,
    Do,
    For,
    If,
    Raise,
    Return,
    Statement,
    Try,
    While,
    With,
    blocks,
    expressions,
    parts,
    walk,
)

#: What leaves a random stream as it is.
_UNEVENTFUL = frozenset({"items", "get", "keys", "fork", "split", "broadcast"})
#: Options of a call that ask a module to leave its state alone.
_MODES = {
    "deterministic": True,
    "use_running_average": True,
    "train": False,
    "training": False,
    "is_training": False,
}
#: Functions that take the state out of a module.
_SPLITTING = frozenset({"split", "state", "pop", "to_pure_dict", "pure", "as_pure"})
#: Methods that variables have, and that write to them.
_WRITING = frozenset({"set_value", "copy_from", "update_from_state"})
_MAX_DEPTH = 8

#: What is known of the modes that a function is given.
Given = Mapping[str, bool]


class StateChange(msgspec.Struct, frozen=True):
    """How a module is changed, as part of a sentence."""

    what: str
    #: The attribute of the module in which something is changed, if it is not the module itself.
    attr: str = ""
    #: The class of the module that is held there, its method that is called, and how that changes it.
    held: tuple[PytreeClass, str, StateChange] | None = None


class Code(msgspec.Struct, frozen=True):
    """The body of a function, what its names mean, and in which modes it runs."""

    name: str
    parameters: tuple[str, ...]
    body: Body
    module: Module
    scope: str
    given: Given

    @classmethod
    def of(cls, function: Function, body: Body, module: Module, given: Given) -> Code:
        """The code of a function (or of a lambda, which has no scope of its own)."""
        inner = function.inner_scope
        scope = inner if inner in module.outline.scopes else function.scope
        return cls(function.name, tuple(p.name for p in function.parameters), body, module, scope, given)


class ModuleState:
    """Follows a module through the code that it is given to; or what still changes when it `is_evaluated`."""

    def __init__(self, evaluator: Evaluator, *, is_evaluated: bool = False) -> None:
        self.evaluator = evaluator
        self._is_evaluated = is_evaluated

    def change(self, name: str, cls: PytreeClass, code: Code, depth: int = 0) -> StateChange | None:
        """How code certainly changes the module `name` of the class `cls`; None if it does not, as far as is known."""
        for statement in _certain(code.body, code.given):
            for _, place in changed_by(statement):
                slot = origin(place, code.body, code.parameters)
                if slot is not None and slot.root == name and slot.path and not slot.path[0].startswith("["):
                    return _written(name, slot.path[0], code, depth)
            for call in _certain_calls(statement, code.given):
                found = self._by_call(call, name, cls, code, depth)
                if found is not None:
                    return found
        return None

    def comes_back(self, name: str, cls: PytreeClass, change: StateChange, code: Code, depth: int = 0) -> bool:
        """Whether a function may return what is changed in the module `name`, or takes the state out of it."""
        slot = Slot(name).below(change.attr, ANYWHERE) if change.attr else Slot(name, (ANYWHERE,))
        module = Aliases(slot, code.body)
        for statement in walk(code.body, nested=False):
            returned = statement.value if isinstance(statement, Return) else None
            if returned is not None and module.holds(returned):
                return True
            for part in (p for expr in expressions(statement) for p in parts(expr, nested=False)):
                if isinstance(part, Call):
                    if not isinstance(statement, Do) and _returns_receiver(part, name, cls):
                        return True
                    given = next((i for i, a in enumerate(part.args) if module.is_holder(a.value)), None)
                    if given is not None and _last(part.func) in _SPLITTING:
                        if leaves(part, statement, code.body, name):
                            return True
                        continue
                    if (
                        given is not None
                        and returned is not None
                        and self._may_return(part, given, cls, change, code, depth)
                    ):
                        return True
                elif isinstance(part, Other) and part.kind in ("Yield", "YieldFrom") and module.hands_on(part):
                    return True
        return False

    def _may_return(
        self, call: Call, index: int, cls: PytreeClass, change: StateChange, code: Code, depth: int
    ) -> bool:
        """Whether a call that is given a module as the argument at `index` may return it."""
        func = _function(call.func, code)
        if isinstance(func, Call):
            callee = self.evaluator.model.callees.of_call(func, code.module, code.scope)
            transform = TRANSFORMS.get(callee.name) if callee is not None else None
            return transform is None or transform.kind is not Kind.GRAD
        inner = self._code_of(func, call, code)
        if inner is None or index >= len(inner.parameters) or depth > _MAX_DEPTH:
            return True
        return self.comes_back(inner.parameters[index], cls, change, inner, depth + 1)

    # -- calls ------------------------------------------------------------------------------

    def _by_call(self, call: Call, name: str, cls: PytreeClass, code: Code, depth: int) -> StateChange | None:
        if depth > _MAX_DEPTH or _asks_for_evaluation(call, code.given):
            return None
        place = slot_of(call.func)
        slot = origin(place, code.body, code.parameters) if place is not None else None
        if slot is not None and slot.root == name:
            return self._by_method(slot, cls, call, code, depth)
        return self._by_function(call, name, cls, code, depth)

    def _by_method(self, slot: Slot, cls: PytreeClass, call: Call, code: Code, depth: int) -> StateChange | None:
        """`module(x)`, `module.method(x)`, `module.layer(x)`, `module.layers[0](x)`."""
        path = slot.path
        if not path or (len(path) == 1 and cls.method(path[0]) is not None):
            return self._called(cls, path[0] if path else "__call__", call, code.given, depth)
        if cls.symbol.full_name in RANDOM_STREAMS:
            return None if path[0] in _UNEVENTFUL else StateChange("it is a random stream")
        if path[-1] in _WRITING:
            return _written(slot.root, path[0], code, depth)
        names = [step for step in path if not step.startswith("[")]
        if not names or len(names) > 2:
            return None
        return self._held(cls, names[0], names[1] if len(names) > 1 else "__call__", call, code.given, depth)

    def _called(self, cls: PytreeClass, method: str, call: Call, given: Given, depth: int) -> StateChange | None:
        """How calling a method changes its module."""
        if cls.symbol.full_name in RANDOM_STREAMS:
            return None if method in _UNEVENTFUL else StateChange("it is a random stream")
        found = cls.method(method)
        if found is None or depth > _MAX_DEPTH:
            return None
        owner, function = found
        code = self._code(FunctionSymbol(owner.module, function), call, given, 1)
        if code is None or function.self_name is None:
            return None
        change = self.change(function.self_name, cls, code, depth + 1)
        return StateChange(f"`{method}` writes to it") if change is not None and is_stub(owner.module) else change

    def _by_function(self, call: Call, name: str, cls: PytreeClass, code: Code, depth: int) -> StateChange | None:
        """`helper(module)`, `nnx.grad(loss)(module)`, `nnx.grad(lambda m: m(x))(module)`."""
        index = next((i for i, a in enumerate(call.positional) if isinstance(a, Name) and a.id == name), None)
        if index is None:
            return None
        if (
            index == 0
            and self.evaluator.model.resolver.library_name(call.func, code.module, code.scope) == STATE_UPDATE
        ):
            return StateChange("`nnx.update` writes to it")
        func = _function(call.func, code)
        while isinstance(func, Call):
            callee = self.evaluator.model.callees.of_call(func, code.module, code.scope)
            transform = TRANSFORMS.get(callee.name) if callee is not None else None
            if transform is None or not transform.propagates or not func.positional:
                return None
            func = _function(func.positional[0], code)
        inner = _lambda_code(func, code) if isinstance(func, Lambda) else self._code_of(func, call, code)
        if inner is None or index >= len(inner.parameters):
            return None
        return self.change(inner.parameters[index], cls, inner, depth + 1)

    def _code_of(self, func: Expr, call: Call, code: Code) -> Code | None:
        """The code of a function that is called by name, and that is not transformed so that changes are lost."""
        if not isinstance(func, (Name, Attribute)):
            return None
        symbol = self.evaluator.model.resolver.resolve(func, code.module, code.scope)
        if not isinstance(symbol, FunctionSymbol) or symbol.declaration.owner is not None:
            return None
        decorating = self.evaluator.calls.transformed.decorating(symbol.declaration, symbol.module)
        if not all(a.transform.propagates for a in decorating):
            return None
        return self._code(symbol, call, code.given, 0)

    def _code(self, symbol: FunctionSymbol, call: Call, given: Given, bound: int) -> Code | None:
        """The code of a function with the modes that a call gives it, if it is one that may write to modules."""
        body = self.evaluator.calls.body_of(symbol) if changes_modules(symbol.module.outline) else None
        if body is None:
            return None
        parameters = symbol.declaration.parameters
        modes = {p.name: _truth(p.default, {}) for p in parameters if p.default is not None and not call.has_star}
        positional = symbol.declaration.positional[bound:]
        modes |= {name: _truth(value, given) for name, value in call.given_to(positional).items()}
        known = {name: mode for name, mode in modes.items() if mode is not None}
        return Code.of(symbol.declaration, body, symbol.module, known)

    # -- what attributes hold -----------------------------------------------------------------

    def _held(
        self, cls: PytreeClass, attr: str, method: str, call: Call, given: Given, depth: int
    ) -> StateChange | None:
        """How calling (a method of) what an attribute holds changes it."""
        made = (self._made(placed, attr, method, call, given, depth) for placed in _assigned(cls, attr))
        change = next((c for c in made if c is not None), None)
        held = plain(self.evaluator.attribute_type(cls, attr))
        if change is None and isinstance(held, Instance) and held.cls is not cls:
            change = _of_part(held.cls, method, self._called(held.cls, method, call, given, depth))
        return None if change is None else replace(change, attr=attr)

    def _made(self, placed: Placed, attr: str, method: str, call: Call, given: Given, depth: int) -> StateChange | None:
        """How the thing that an expression makes changes when it is used."""
        expr = placed.expr
        if depth > _MAX_DEPTH:
            return None
        if isinstance(expr, Name):
            return self._random_stream(placed, expr, attr, method)
        if isinstance(expr, Display):
            return self._first([Argument(i.at, i) for i in expr.items], placed, attr, call, given, depth)
        if isinstance(expr, Comprehension):
            return self._first([Argument(expr.at, expr.element)], placed, attr, call, given, depth)
        if not isinstance(expr, Call):
            return None
        symbol = self.evaluator.model.resolver.resolve(expr.func, placed.module, placed.scope)
        if isinstance(symbol, External):
            if symbol.name in STATEFUL_LAYERS and method == "__call__":
                has_mode = bool(STATEFUL_LAYERS[symbol.name][1])
                return None if has_mode and self._is_evaluated else _layer(symbol.name, expr, attr)
            if symbol.name in RANDOM_STREAMS and method not in _UNEVENTFUL:
                return StateChange(f"`{attr}` is a random stream")
            if symbol.name in COMBINING_LAYERS:
                return self._first(list(expr.args), placed, attr, call, given, depth)
        cls = self.evaluator.model.class_of_symbol(symbol)
        return None if cls is None else _of_part(cls, method, self._called(cls, method, call, given, depth + 1))

    def _first(
        self, args: list[Argument], placed: Placed, attr: str, call: Call, given: Given, depth: int
    ) -> StateChange | None:
        made = (
            self._made(Placed(a.value, placed.module, placed.scope), attr, "__call__", call, given, depth + 1)
            for a in args
        )
        return next((change for change in made if change is not None), None)

    def _random_stream(self, placed: Placed, name: Name, attr: str, method: str) -> StateChange | None:
        """`self.rngs = rngs`, the parameter being annotated as `nnx.Rngs`."""
        scope = placed.module.outline.scopes.get(placed.scope)
        bindings = scope.bindings.get(name.id, []) if scope is not None else []
        annotation: Expr | None = getattr(bindings[0], "annotation", None) if len(bindings) == 1 else None
        if annotation is None or method in _UNEVENTFUL:
            return None
        symbol = self.evaluator.model.resolver.resolve(annotation, placed.module, placed.scope)
        if isinstance(symbol, External) and symbol.name in RANDOM_STREAMS:
            return StateChange(f"`{attr}` is a random stream")
        return None


def _of_part(cls: PytreeClass, method: str, change: StateChange | None) -> StateChange | None:
    """How a module is changed by a change of a module of some class that it holds."""
    return None if change is None else replace(change, held=(cls, method, change))


def _returns_receiver(call: Call, name: str, cls: PytreeClass) -> bool:
    """Whether a call is one of a method of the module `name` that may return the module itself."""
    place = slot_of(call.func)
    if place is None or place.root != name or len(place.path) > 1:
        return False
    found = cls.method(place.path[0] if place.path else "__call__")
    return found is not None and gives_itself(found[1], cls)


def _last(func: Expr) -> str:
    return (dotted(func) or "").rpartition(".")[2]


def _written(root: str, attr: str, code: Code, depth: int) -> StateChange:
    what = f"`{code.name}` writes `{root}.{attr}`" if depth else f"`{root}.{attr}` is written"
    return StateChange(what, attr=attr)


def _lambda_code(func: Lambda, around: Code) -> Code:
    given = {name: known for name, known in around.given.items() if name not in func.params}
    return Code("<lambda>", func.params, (Return(func.body.at, func.body),), around.module, around.scope, given)


def _function(expr: Expr, code: Code) -> Expr:
    """What is assigned to a local variable that is called."""
    if isinstance(expr, Name):
        values = [
            s.value
            for s in walk(code.body, nested=False)
            if isinstance(s, Assign) and any(isinstance(t, Name) and t.id == expr.id for t in s.targets)
        ]
        if len(values) == 1 and isinstance(values[0], (Call, Lambda)):
            return values[0]
    return expr


def _assigned(cls: PytreeClass, attr: str) -> list[Placed]:
    """What the constructor assigns to an attribute."""
    found = cls.method("__init__")
    if found is None:
        return []
    owner, init = found
    scope = init.inner_scope
    return [
        Placed(a.value, owner.module, scope) for a in init.self_assignments if a.attr == attr and a.value is not None
    ]


def _layer(name: str, call: Call, attr: str) -> StateChange | None:
    """The state of a layer that is known by name."""
    needed, off = STATEFUL_LAYERS[name]
    if (needed and call.keyword(needed) is None) or call.has_star:
        return None
    switch = call.keyword(off) if off else None
    if switch is not None and not (isinstance(switch, Constant) and switch.value is False):
        return None
    return StateChange(f"`{attr}` is a {name.rpartition('.')[2]}")


# -- what is certain to happen -------------------------------------------------------------------


def _certain(body: Body, given: Given) -> list[Statement]:
    """The statements that run whenever a body does, in modes that are `given`."""
    found: list[Statement] = []
    _collect(body, given, found)
    return found


def _collect(body: Body, given: Given, found: list[Statement]) -> bool:
    """Collect the statements that certainly run; whether what follows does."""
    for statement in body:
        match statement:
            case If():
                chosen = _branch(statement, given)
                if chosen is not None:
                    if not _collect(chosen, given, found):
                        return False
                elif any(isinstance(s, Return) for b in blocks(statement) for s in walk(b, nested=False)):
                    return False
            case Return() | Raise():
                found.append(statement)
                return False
            case For() | While() | With() | Try():
                found.append(statement)
                _collect(blocks(statement)[0], given, found)
            case _:
                found.append(statement)
    return True


def _branch(statement: If, given: Given) -> Body | None:
    """The branch that is taken; None if that is not known."""
    for test, body in statement.branches:
        known = _truth(test, given)
        if known is None:
            return None
        if known:
            return body
    return statement.orelse


def _truth(expr: Expr, given: Given) -> bool | None:
    match expr:
        case Constant(kind="bool", value=value):
            return bool(value)
        case Name(id=name):
            return given.get(name)
        case Unary(op="not", operand=operand):
            known = _truth(operand, given)
            return None if known is None else not known
    return None


def _certain_calls(statement: Statement, given: Given) -> Iterator[Call]:
    for expr in expressions(statement):
        yield from _certain_parts(expr, given)


def _certain_parts(expr: Expr, given: Given) -> Iterator[Call]:
    """The calls that are made whenever an expression is evaluated."""
    match expr:
        case Lambda():
            return
        case Conditional(test=test, body=body, orelse=orelse):
            yield from _certain_parts(test, given)
            known = _truth(test, given)
            if known is not None:
                yield from _certain_parts(body if known else orelse, given)
            return
        case BoolOp(left=left):
            yield from _certain_parts(left, given)
            return
        case Call():
            yield expr
    for child in children(expr):
        yield from _certain_parts(child, given)


def _asks_for_evaluation(call: Call, given: Given) -> bool:
    """Whether a call tells a module not to change, or may do so."""
    for option, off in _MODES.items():
        value = call.keyword(option)
        if value is not None:
            known = _truth(value, given)
            if known is None or known is off:
                return True
    return False
