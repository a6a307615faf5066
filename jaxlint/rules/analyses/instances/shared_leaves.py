"""Whether two leaves of an instance are the same arrays, by the calls that make it and what it holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import msgspec
from msgspec.structs import replace

from jaxlint.infer.choosing.given import is_plain
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import UNKNOWN, Array, UnknownValue, plain
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Field, PytreeClass
from jaxlint.rules.analyses.instances.origins import Made, given_by, maker, maker_of, passed_to
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    DictDisplay,
    Display,
    Expr,
    Name,
    Subscript,
    dotted,
    is_none,
    is_number,
)
from jaxlint.syntax.statements import Assign, For, Statement, While, bound_names, bound_once, looked_up, walk

#: Where the functions stand that make arrays.
_MAKING_ARRAYS = ("jax.numpy.", "jax.random.", "jax.nn.initializers.")
#: How many instances in instances are looked into, and functions that return one.
_MAX_DEPTH = 3


class SharedLeaves(msgspec.Struct, frozen=True):
    """Two leaves of an instance that are given the same arrays: `params`, `opt.z`."""

    cls: PytreeClass
    one: str
    other: str
    #: What the other is given, and where that stands.
    value: Expr
    module: Module


def shared_leaves(path: str, taking: Call, code: CodeRead, evaluator: Evaluator) -> SharedLeaves | None:
    """Two leaves that are the same thing, of the instance in a variable which a call takes: a target network."""
    return _shared(maker_of(path, taking, code, evaluator), code, evaluator)


def shared_leaves_made(making: Call, code: CodeRead, evaluator: Evaluator) -> SharedLeaves | None:
    """The same of what a call makes that stands in the place of a variable: `step(Agent.create(key))`."""
    return _shared(maker(making, code, evaluator), code, evaluator)


def _shared(made: Made | None, code: CodeRead, evaluator: Evaluator) -> SharedLeaves | None:
    if made is None:
        return None
    own = _Source(code, evaluator, made.function, made.factory)
    seen: dict[tuple[_Source, str], tuple[str, bool]] = {}
    for leaf in own.leaves(made.call, made.cls):
        name, source = dotted(leaf.value), leaf.source or own
        if name is None or source.is_of_host(leaf.value):
            continue
        is_array = is_of_arrays(leaf.field, leaf.cls, evaluator) or source.holds_arrays(leaf.value)
        one, was_array = seen.setdefault((source, name), (leaf.path, is_array))
        if one != leaf.path and (is_array or was_array):
            module = made.module if leaf.source is None else leaf.source.module
            return SharedLeaves(made.cls, one, leaf.path, leaf.value, module)
    return None


def holds_arrays(name: Expr, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a variable is given arrays of jax once, a dict of some, an instance, or the parameters of a network."""
    return _Source(code, evaluator).holds_arrays(name)


class _Leaf(msgspec.Struct, frozen=True):
    """A leaf of what a constructor call makes, or of an instance in it, and what it is given."""

    path: str
    field: Field
    cls: PytreeClass
    value: Expr
    #: The call of a function that makes it, with variables of its own; None for those of the code or of a parameter.
    source: _Source | None = None


def is_of_arrays(field: Field, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a leaf holds arrays by its annotation, or by its name: parameters of a network."""
    held = UNKNOWN if field.annotation is None else plain(evaluator.promises.field(field, cls))
    is_array = isinstance(held, Array) and held.library != "numpy"  # a call gives each of those a buffer of its own
    return is_array or (isinstance(held, UnknownValue) and "params" in field.name)


class _Source:
    """Tells what variables are given, in the code that donates or in a function that makes something for it."""

    def __init__(
        self,
        code: CodeRead,
        evaluator: Evaluator,
        function: FunctionSymbol | None = None,
        call: Call | None = None,
        depth: int = 0,
    ) -> None:
        self._code = code
        self._evaluator = evaluator
        self._function = function
        #: The call of the function, if the code makes it.
        self._call = call
        #: How many functions that return an instance were followed.
        self._depth = depth
        self._body = code.body if function is None else evaluator.calls.body_of(function) or ()
        self.module = code.place.module if function is None else function.module
        self._scope = code.scope if function is None else function.declaration.inner_scope

    def holds_arrays(self, value: Expr) -> bool:
        """Whether a variable is given arrays of jax, a dict of some, or the parameters of a network."""
        return isinstance(value, Name) and self._holds_arrays(value)

    def is_of_host(self, value: Expr) -> bool:
        """Whether a variable is given None, a number or what numpy returns: each leaf gets its own buffer, or none."""
        match self._given(value):
            case (Call(func=func), source):
                return source._name(func).startswith("numpy.")
            case (given, _):
                return is_number(given) or is_none(given)
        return False

    def leaves(self, call: Call, cls: PytreeClass, within: str = "") -> Iterator[_Leaf]:
        """What the leaves are given of an instance that a constructor call makes, and those of instances in them."""
        for field, value in given_by(call, cls):
            if field.role is not Role.LEAF or field.is_converted:
                continue
            path = f"{within}{field.name}"
            yield _Leaf(path, field, cls, value)
            held = looked_up(value, self._bound)
            if isinstance(held, Call) and path.count(".") < _MAX_DEPTH:
                for leaf in self._leaves_made(held, f"{path}.", in_variable=held is not value):
                    if held is value or leaf.source is not None or self._is_unchanged(leaf.value, held):
                        yield leaf

    def _leaves_made(self, call: Call, within: str, *, in_variable: bool) -> Iterator[_Leaf]:
        """What a call of a class, or of a function that returns a call of one, gives the leaves of the instance.

        Those of an instance in a variable may be assigned later, if the class lets them.
        """
        symbol = self._evaluator.model.resolver.resolve(call.func, self.module, self._scope)
        cls = self._evaluator.model.class_of_symbol(symbol)
        if cls is not None:
            yield from self.leaves(call, cls, within) if cls.frozen or not in_variable else ()
        elif isinstance(symbol, FunctionSymbol) and is_plain(symbol.declaration) and not call.has_star:
            inside = _Source(self._code, self._evaluator, symbol, depth=self._depth + 1)
            given = call.given_to(symbol.declaration.positional)
            returned = symbol.declaration.return_values[0]
            made = looked_up(returned, inside._bound)
            if isinstance(made, Call) and self._depth < _MAX_DEPTH:
                for leaf in inside._leaves_made(made, within, in_variable=in_variable or made is not returned):
                    if leaf.source is not None:
                        yield leaf
                    elif not isinstance(leaf.value, Name):
                        continue
                    elif leaf.value.id in given and not inside._binds(leaf.value.id):
                        yield replace(leaf, value=given[leaf.value.id])
                    elif leaf.value.id in inside._bound and inside._is_unchanged(leaf.value, made):
                        yield replace(leaf, source=inside)

    @cached_property
    def _bound(self) -> Mapping[str, Expr]:
        return bound_once(self._body)

    def _binds(self, name: str) -> bool:
        return any(name in bound_names(s) for s in walk(self._body))

    def _is_unchanged(self, value: Expr, held: Expr) -> bool:
        """Whether a variable is the same thing wherever it is read, as when an instance that holds it was made."""
        if not isinstance(value, Name):
            return False
        declaration = self._code.function if self._function is None else self._function.declaration
        is_parameter = declaration is not None and declaration.takes(value.id)
        if is_parameter or value.id not in self._bound:
            return is_parameter and not self._binds(value.id)
        both = {id(self._bound[value.id]), id(held)}
        loops = [s.body for s in walk(self._body, nested=False) if isinstance(s, (For, While))]
        return all(both <= _assigned(body) or both.isdisjoint(_assigned(walk(body))) for body in loops)

    def _given(self, value: Expr) -> tuple[Expr, _Source] | None:
        """What a variable is given, if that is done once, and where; a parameter is given it by the call."""
        if not isinstance(value, Name):
            return None
        bound = [s for s in walk(self._body, nested=False) if value.id in bound_names(s)]
        if not bound and self._function is not None and self._call is not None:
            given = passed_to(self._function.declaration, self._call).get(value.id)
            return None if given is None else (given, _Source(self._code, self._evaluator))
        if len(bound) != 1 or not isinstance(bound[0], Assign) or not isinstance(bound[0].targets[0], Name):
            return None
        return bound[0].value, self

    def _name(self, func: Expr) -> str:
        return self._evaluator.model.resolver.library_name(func, self.module, self._scope)

    def _holds_arrays(self, expr: Expr, within: frozenset[object] = frozenset()) -> bool:
        """Whether an expression gives arrays of jax; `within` are the variables that were looked up for it."""
        match expr:
            case DictDisplay(values=held) | Display(items=held):
                return bool(held) and all(self._holds_arrays(one, within) for one in held)
            case Binary(left=left, right=right):
                return self._holds_arrays(left, within) or self._holds_arrays(right, within)
            case Subscript(value=whole):
                return self._holds_arrays(whole, within)
            case Name(id=name):
                key = (name, None if self._function is None else self._function.key)
                given = self._given(expr) if key not in within else None
                return given is not None and given[1]._holds_arrays(given[0], within | {key})
            case Call(func=Attribute(attr="init")):
                return len(expr.positional) > 1
            case Call(func=func):
                is_made = self._name(func).startswith(_MAKING_ARRAYS) or self._makes_instance(expr, within)
                return is_made or self._returns_arrays(expr, within)
        return False

    def _makes_instance(self, call: Call, within: frozenset[object]) -> bool:
        """Whether a class is called that puts arrays of jax into a leaf."""
        symbol = self._evaluator.model.resolver.resolve(call.func, self.module, self._scope)
        cls = self._evaluator.model.class_of_symbol(symbol)
        given = given_by(call, cls) if cls is not None else ()
        return any(field.role is Role.LEAF and self._holds_arrays(value, within) for field, value in given)

    def _returns_arrays(self, call: Call, within: frozenset[object]) -> bool:
        """Whether a function of the project is called that returns arrays of jax."""
        symbol = self._evaluator.model.resolver.resolve(call.func, self.module, self._scope)
        if not isinstance(symbol, FunctionSymbol) or symbol.key in within or not is_plain(symbol.declaration):
            return False
        inside = _Source(self._code, self._evaluator, symbol, call if self._function is None else None)
        return inside._holds_arrays(symbol.declaration.return_values[0], within | {symbol.key})


def _assigned(statements: Iterable[Statement]) -> set[int]:
    """What some assignments assign, by identity."""
    return {id(s.value) for s in statements if isinstance(s, Assign)}
