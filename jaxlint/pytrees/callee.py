"""Seeing through `partial`s and small wrapper functions to the known function that is called in the end."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from jaxlint.project.modules import Module
from jaxlint.project.resolution import External, FunctionSymbol, Resolver, ValueSymbol
from jaxlint.pytrees.model import Placed
from jaxlint.symbols.outline import Assignment, Function
from jaxlint.syntax.expressions import Argument, Attribute, Call, Display, Expr, Lambda, Name, Starred

#: The qualified name of the function that gives arguments ahead of the call.
PARTIAL = "functools.partial"
#: A longer function does more than to pass its arguments on.
_MAX_STATEMENTS = 8
_MAX_DEPTH = 6


class Callee(msgspec.Struct, frozen=True):
    """A known function with the arguments that reach it; `complete` is False if some cannot be seen."""

    name: str
    positional: tuple[Placed, ...] = ()
    keywords: tuple[tuple[str, Placed], ...] = ()
    complete: bool = True
    #: False if a wrapper on the way does more than to call it with what it is given.
    transparent: bool = True
    #: What else a wrapper does with the class: calls of registering functions.
    also: tuple[Callee, ...] = ()

    def keyword(self, name: str) -> Placed | None:
        """The value given for the keyword `name`; the last one counts."""
        for key, value in reversed(self.keywords):
            if key == name:
                return value
        return None

    def with_arguments(self, args: tuple[Argument, ...], module: Module, scope: str) -> Callee:
        """The same callee with the arguments of one more call added."""
        positional = list(self.positional)
        keywords = list(self.keywords)
        complete = self.complete
        for arg in args:
            if arg.star:
                complete = False
            elif arg.keyword is None:
                positional.append(Placed(arg.value, module, scope))
            else:
                keywords.append((arg.keyword, Placed(arg.value, module, scope)))
        return replace(self, positional=tuple(positional), keywords=tuple(keywords), complete=complete)


class CalleeFinder:
    """Finds callees among the known names of `resolver`."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver

    def of_decorator(self, expr: Expr, module: Module, scope: str) -> Callee | None:
        """What a decorator expression applies: bare, called with options, or a `partial`. None if unknown."""
        if isinstance(expr, Call):
            return self.of_call(expr, module, scope)
        return self.of_function(expr, module, scope)

    def of_call(self, call: Call, module: Module, scope: str, depth: int = 0) -> Callee | None:
        """What the call `f(...)` calls in the end, with all arguments."""
        if depth > _MAX_DEPTH:
            return None
        if self.is_partial(call.func, module, scope):
            if not call.positional:
                return None
            inner = self.of_function(call.positional[0], module, scope, depth + 1)
            return None if inner is None else inner.with_arguments(call.args[1:], module, scope)
        if isinstance(call.func, (Name, Attribute)):
            symbol = self.resolver.resolve(call.func, module, scope)
            arguments = _Arguments(call.args, module, scope)
            if isinstance(symbol, FunctionSymbol):
                return self._through(symbol, arguments, depth + 1)
            if isinstance(symbol, ValueSymbol) and isinstance(symbol.assignment.value, Lambda):
                return self._through_lambda(symbol, symbol.assignment.value, arguments, depth + 1)
        callee = self.of_function(call.func, module, scope, depth + 1)
        return None if callee is None else callee.with_arguments(call.args, module, scope)

    def of_function(self, expr: Expr, module: Module, scope: str, depth: int = 0) -> Callee | None:
        """What a callable expression stands for, before it is called."""
        if depth > _MAX_DEPTH:
            return None
        if isinstance(expr, Call):
            return self.of_call(expr, module, scope, depth + 1)
        if not isinstance(expr, (Name, Attribute)):
            return None
        match self.resolver.resolve(expr, module, scope):
            case External(name=name):
                return Callee(name)
            case ValueSymbol(module=home, scope=home_scope, assignment=assignment) as variable:
                value = assignment.value
                if isinstance(value, Lambda):
                    return self._through_lambda(variable, value, _Arguments((), module, scope), depth + 1)
                if isinstance(value, Call) and self.is_partial(value.func, home, home_scope):
                    return self.of_call(value, home, home_scope, depth + 1)
            case FunctionSymbol() as function:
                return self._through(function, _Arguments((), module, scope), depth + 1)
        return None

    def is_partial(self, func: Expr, module: Module, scope: str) -> bool:
        """Whether an expression is `functools.partial`."""
        symbol = self.resolver.resolve(func, module, scope)
        return isinstance(symbol, External) and symbol.name == PARTIAL

    def _through_lambda(
        self, symbol: ValueSymbol, function: Lambda, arguments: _Arguments, depth: int
    ) -> Callee | None:
        """The known function that `name = lambda cls: known(cls)` calls."""
        if not isinstance(function.body, Call):
            return None
        given = arguments.bound(function.params)
        # the outline tells no `**keywords` of a lambda: what the module does not bind is that
        starred = {a.value.id for a in function.body.args if a.star == "**" and isinstance(a.value, Name)}
        parameters = {*function.params, *(starred - symbol.module.outline.module_scope.bindings.keys())}
        return self._returned(function.body, symbol.module, symbol.scope, given, parameters, depth)

    def _through(self, symbol: FunctionSymbol, arguments: _Arguments, depth: int) -> Callee | None:
        """The known function that a small wrapper returns a call of (or a partial of)."""
        function = symbol.declaration
        module = symbol.module
        prefix = f"{function.qualname}.<locals>."
        family = [f for q, f in module.outline.functions.items() if q == function.qualname or q.startswith(prefix)]
        if sum(f.statements for f in family) > _MAX_STATEMENTS + 2 * len(family):
            return None
        given = arguments.bound_to(function, module)
        parameters = {p.name for f in family for p in f.parameters}
        found: list[Callee] = []
        converts = False
        for inner in family:
            scope = inner.inner_scope
            for value in inner.return_values:
                call = self._assigned(value, module, scope)
                if isinstance(call, Lambda):
                    parameters |= set(call.params)
                    call = call.body
                call = self._named_alike(call, module, scope)
                while isinstance(call, Call) and isinstance(call.func, Call):
                    converts = converts or not all(a.star or isinstance(a.value, Name) for a in call.args)
                    call = call.func
                if isinstance(call, Call):
                    converts = converts or _is_remade(value, call, module, scope)
                    callee = self._returned(call, module, scope, given, parameters, depth)
                    if callee is not None and not callee.name.startswith("builtins."):
                        found.append(callee)
        if len({c.name for c in found}) != 1:
            return None
        best = max(found, key=lambda c: len(c.keywords))
        if all(f.only_returns for f in family):
            return replace(best, transparent=best.transparent and not converts)
        effects = [self.of_call(call, module, f.inner_scope, depth + 1) for f in family for call in f.effects]
        registering = tuple(c for c in effects if c is not None and c.name.startswith("jax.tree_util.register_"))
        return replace(best, transparent=False, also=registering)

    def _named_alike(self, value: Expr, module: Module, scope: str) -> Expr:
        """What `functools.wraps(f)(...)` gives another name, and hands back."""
        match value:
            case Call(func=Call(func=func), args=(Argument(value=inner, keyword=None, star=""),)):
                symbol = self.resolver.resolve(func, module, scope)
                return inner if isinstance(symbol, External) and symbol.name == "functools.wraps" else value
        return value

    def _assigned(self, value: Expr, module: Module, scope: str) -> Expr:
        """What was last assigned to a local variable that is returned (`cls = dataclass(cls)`)."""
        if isinstance(value, Name):
            bindings = module.outline.scopes[scope].bindings.get(value.id, [])
            last = bindings[-1] if bindings else None
            if isinstance(last, Assignment) and last.guard == "" and isinstance(last.value, Call):
                return last.value
        return value

    def _returned(
        self, call: Call, module: Module, scope: str, given: _Bound, parameters: set[str], depth: int
    ) -> Callee | None:
        """The callee of a wrapper's returned call, its parameters replaced by what the wrapper was given."""
        own = tuple(a for a in call.args if not a.star and not _is_parameter(a.value, parameters))
        callee = self.of_call(Call(call.at, call.func, own), module, scope, depth + 1)
        if callee is None:
            return None
        positional = list(callee.positional)
        keywords = list(callee.keywords)
        complete = callee.complete and given.complete
        for arg in call.args:
            if arg.star == "**" and _is_parameter(arg.value, parameters):
                keywords += given.rest
            elif arg.star == "**":
                complete = False
            elif not arg.star and (name := _passed_on(arg.value)) in given.named:
                value = given.named[name]
                if arg.keyword is not None:
                    keywords.append((arg.keyword, value))
                else:
                    positional.append(value)
        if _shifted(call, parameters - given.named.keys()):
            positional, complete = [], False
        return replace(callee, positional=tuple(positional), keywords=tuple(keywords), complete=complete)


def _is_remade(value: Expr, call: Call, module: Module, scope: str) -> bool:
    """Whether a wrapper that returns a `value`, which is made by a call, has done something else to it before."""
    bindings = module.outline.scopes[scope].bindings
    named = {a.value.id for a in call.args if isinstance(a.value, Name)}
    found = (b for name in named for b in bindings.get(name, ()) if isinstance(b, Assignment))
    assigned = sum(binding.guard != "parameter" for binding in found)
    return assigned > (1 if isinstance(value, Name) and value.id in named else 0)


class _Bound(msgspec.Struct, frozen=True):
    """The arguments of a wrapper's call, by parameter name; `rest` are the keywords that `**kwargs` takes."""

    named: dict[str, Placed]
    rest: list[tuple[str, Placed]]
    complete: bool


class _Arguments(msgspec.Struct, frozen=True):
    args: tuple[Argument, ...]
    module: Module
    scope: str

    def bound_to(self, function: Function, home: Module) -> _Bound:
        """Bind the arguments to the parameters of `function`; defaults fill the gaps."""
        defaults = {
            p.name: Placed(p.default, home, function.scope) for p in function.parameters if p.default is not None
        }
        keywords = tuple(p.name for p in function.parameters if p.kind == "keyword")
        positional = tuple(function.positional)
        bound = self.bound(positional, keywords, defaults)
        starred = next((p.name for p in function.parameters if p.kind == "*"), None)
        if starred is not None and bound.complete:
            rest = tuple(a.value for a in self.args if a.keyword is None)[len(positional) :]
            at, placed_in = (rest[0].at, self.module) if rest else (function.at, home)
            bound.named[starred] = Placed(Display(at, "tuple", rest), placed_in, self.scope)
        return bound

    def bound(
        self, positional: tuple[str, ...], keywords: tuple[str, ...] = (), defaults: dict[str, Placed] | None = None
    ) -> _Bound:
        """Bind the arguments to parameters of these names."""
        named = dict(defaults or {})
        rest: list[tuple[str, Placed]] = []
        names = {*positional, *keywords}
        complete = True
        index = 0
        for arg in self.args:
            value = Placed(arg.value, self.module, self.scope)
            if arg.star:
                complete = False
            elif arg.keyword is None:
                if index < len(positional):
                    named[positional[index]] = value
                index += 1
            elif arg.keyword in names:
                named[arg.keyword] = value
            else:
                rest.append((arg.keyword, value))
        return _Bound(named, rest, complete)


def _is_parameter(expr: Expr, parameters: set[str]) -> bool:
    return _passed_on(expr) in parameters


def _passed_on(expr: Expr) -> str:
    """The name of the variable that an expression hands on, or all items of; empty if it is something else."""
    match expr:
        case Name(id=name):
            return name
        case Call(func=Name(id="list" | "tuple"), args=(Argument(value=Name(id=name), star=""),)):
            return name
        case Display(kind="list" | "tuple", items=(Starred(value=Name(id=name)),)):
            return name
    return ""


def _shifted(call: Call, unknown: set[str]) -> bool:
    """Whether positional arguments follow one that is a parameter whose value is not known."""
    own = [_is_parameter(value, unknown) for value in call.positional]
    return True in own and False in own[own.index(True) :]
