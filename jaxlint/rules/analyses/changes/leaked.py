"""What a compiled function puts into a dict or list around it: tracers, which nobody can use when it is done."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from jaxlint.infer.bodies.contents import contents_of
from jaxlint.infer.bodies.slots import changed_by, is_bound
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.infer.known.values import UNKNOWN, Value, as_instance
from jaxlint.infer.transforms.applied import Applied, rebuilt_parameters
from jaxlint.libraries.arrays import ARRAY_METHODS, ARRAY_REDUCTIONS
from jaxlint.libraries.optimizers import OF_FUNCTIONS
from jaxlint.libraries.standard import HOST_CALLS
from jaxlint.libraries.transforms import Kind
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol, ValueSymbol
from jaxlint.pytrees.framework import Role
from jaxlint.rules.analyses.instances.callees import Callee, called_by
from jaxlint.rules.analyses.under_trace.traced import may_run_uncompiled
from jaxlint.symbols.outline import Assignment, Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import (
    Attribute,
    Binary,
    Call,
    Compare,
    Comprehension,
    DictDisplay,
    Display,
    Expr,
    Name,
    Subscript,
    Unary,
    dotted,
    last_name,
)
from jaxlint.syntax.source import Source
from jaxlint.syntax.statements import (
    Annotate,
    Assign,
    Augment,
    Body,
    Do,
    For,
    FunctionDefinition,
    If,
    Return,
    Statement,
    all_parts,
    bound_names,
    parts,
    walk,
)

#: Transformations within which all that is computed of the arguments are tracers.
TRACING = frozenset({Kind.JIT, Kind.MAP, Kind.LOOP})
#: Functions of jax that say something of an array which is known while tracing, or bring it to the host.
_KNOWING = HOST_CALLS | frozenset(
    """shape ndim size result_type issubdtype iinfo finfo dtype eval_shape tree_structure structure make_jaxpr typeof
    leaves_with_path print device_get""".split()
)
#: Methods of arrays that give arrays.
_GIVING_ARRAYS = ARRAY_METHODS | ARRAY_REDUCTIONS | {"dot"}
#: Functions that compute an array, and where they stand.
_COMPUTING = ARRAY_REDUCTIONS | frozenset(
    """maximum minimum where abs sqrt exp log square dot matmul stack concatenate norm clip softmax log_softmax
    logsumexp sigmoid tanh relu""".split()
)
_COMPUTES_IN = ("jax.numpy.", "jax.nn.", "jax.lax.", "jax.scipy.")
#: What makes an empty container, besides displays.
_CONTAINERS = frozenset({"dict", "list", "defaultdict", "OrderedDict", "deque"})
#: Methods that empty a container, or take something out of it: what is in there is meant for the time of tracing.
_EMPTYING = frozenset({"clear", "pop", "popitem", "popleft", "remove"})
#: What looks at a container and not at what it holds.
_COUNTING = frozenset({"len", "print", "bool", "id", "type"})
#: What makes a dict, besides displays.
_DICTS = frozenset({"dict", "defaultdict", "OrderedDict"})
#: What a dict gives its keys.
_OF_KEYS = frozenset({"list", "tuple", "set", "frozenset", "sorted", "iter", "enumerate", "min", "max"})


def leaked(
    function: Function, applied: Sequence[Applied], code: CodeRead, evaluator: Evaluator
) -> Iterator[tuple[object, str, str]]:
    """The changes by which a function leaves tracers in a container that is read afterwards: where, its name, and why.

    It is read where it was made, behind the function, or by the function itself at its next call.
    """
    names: frozenset[str] = frozenset()
    why = ""
    if applied and all(one.transform.kind in TRACING for one in applied):
        names, why = frozenset(rebuilt_parameters(function, applied)), f"which `{applied[0].transform.name}` transforms"
    elif not code.applied and _updates_optimizer(function, code, evaluator):
        names = frozenset(p.name for p in function.parameters)
        why = "the update of an optimizer, which training steps compile"
    module = code.place.module
    if not names or may_run_uncompiled(module.source) or evaluator.calls.transformed.is_wrapped(function, module):
        return
    traced = Traced(set(names), code, evaluator, stages=stages(applied))
    for statement in code.statements:
        for at, name in _stored_by_helper(statement, function, traced, code, evaluator):
            if _is_read_behind(name, function, code, evaluator):
                yield at, name, why
        for at, slot in changed_by(statement):
            name = slot.root
            if len(slot.path) != 1 or not slot.path[0].startswith("["):
                continue
            if name in code.contents.bound or function.takes(name):
                continue
            if any(map(traced.is_traced, stored(statement))) and not _is_asked_or_emptied(name, code.body):
                if _reads_before(name, at, code, evaluator) or _is_read_behind(name, function, code, evaluator):
                    yield at, name, why


def stages(applied: Sequence[Applied]) -> bool:
    """Whether all that jax computes in a function of these transformations is put off."""
    return bool(applied) and all(one.transform.kind in (Kind.JIT, Kind.LOOP) for one in applied)


def _updates_optimizer(function: Function, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether the function around makes an optimizer of a function, which is the one that updates."""
    outer = next((one for one in reversed(code.place.functions) if one is not function), None)
    module = code.place.module
    if outer is None:
        return False
    for part in all_parts(evaluator.calls.body_of(FunctionSymbol(module, outer)) or (), nested=False):
        if isinstance(part, Call) and last_name(part.func).startswith("GradientTransformation"):
            given = part.given_to(("init", "update")).get("update")
            if isinstance(given, Name) and given.id == function.name:
                return evaluator.model.resolver.library_name(part.func, module, outer.inner_scope) in OF_FUNCTIONS
    return False


class Traced:
    """The variables of a body that certainly hold tracers, or what is made of them.

    `stages`: all that jax computes is put off, so that a tracer comes out, whatever goes in.
    """

    def __init__(self, names: set[str], code: CodeRead, evaluator: Evaluator, *, stages: bool = False) -> None:
        self._code: CodeRead | None = code
        self._module, self._scope, self._parameters = code.place.module, code.scope, code.parameters
        self._stages = stages
        self._evaluator = evaluator
        self._names = names
        #: What is not followed until somebody asks.
        self._statements = code.statements

    @classmethod
    def _within(cls, callee: Callee, given: Mapping[str, Value], outer: Traced) -> Traced:
        """The same of a function that a body calls, some of whose parameters are given tracers."""
        new = cls.__new__(cls)
        new._code, new._stages, new._evaluator = None, outer._stages, outer._evaluator
        new._module, new._scope, new._parameters = callee.module, callee.scope, given
        new._names = set(given)
        new._statements = list(walk(callee.body, nested=False))
        return new

    def _follow(self) -> None:
        """Add the variables that are given nothing but tracers."""
        given: dict[str, list[Expr]] = {}
        statements, self._statements = self._statements, []
        for statement in statements:
            for name in bound_names(statement):
                given.setdefault(name, []).append(statement.value if isinstance(statement, Assign) else Name(None, ""))
        self._names.difference_update(given)
        for _ in range(4):
            asked = given.keys() - self._names
            self._names |= {name for name in asked if all(map(self.is_traced, given[name]))}

    def is_traced(self, expr: Expr) -> bool:
        """Whether an expression is a tracer, or holds one."""
        if self._statements:
            self._follow()
        match expr:
            case Name(id=name):
                return name in self._names
            case Binary(left=left, right=right):
                return self.is_traced(left) or self.is_traced(right)
            case Unary(op="-" | "+" | "~", operand=operand):
                return self.is_traced(operand)
            case Subscript(value=value):
                return self.is_traced(value)
            case Attribute(value=Name(id=name), attr=attr) if name in self._names:
                return self._is_leaf(name, attr)
            case Display(items=items) | DictDisplay(values=items):
                return any(map(self.is_traced, items))
            case Call(func=Attribute(value=value, attr=attr)) if attr in _GIVING_ARRAYS and self.is_traced(value):
                return True
            case Call(func=func):
                if self._stages and self._computes(func):
                    return True
                is_given = any(self.is_traced(a.value) for a in expr.args)
                return (is_given and self._is_of_jax(func)) or self._is_worked_out(expr)
        return False

    def _is_worked_out(self, call: Call) -> bool:
        """Whether a function or method of the project returns what it computes of tracers, whatever happens there."""
        if self._code is None or call.has_star:
            return False
        parts = (call.func.value if isinstance(call.func, Attribute) else None, *(a.value for a in call.args))
        if not any(isinstance(part, Name) and part.id in self._names for part in parts):
            return False
        callee = called_by(call, self._code, self._evaluator, plainly=False)
        if callee is None or not callee.body or not isinstance(callee.body[-1], Return):
            return False
        passed = {n: v for n, v in call.given_to([p.name for p in callee.parameters]).items() if self.is_traced(v)}
        if callee.receiver and isinstance(call.func, Attribute) and self.is_traced(call.func.value):
            passed[callee.receiver] = call.func.value
        held = {n: self._parameters.get(v.id, UNKNOWN) if isinstance(v, Name) else UNKNOWN for n, v in passed.items()}
        inside = Traced._within(callee, held, self)
        returned = [s.value for s in walk(callee.body, nested=False) if isinstance(s, Return)]
        return bool(passed) and all(value is not None and inside.is_traced(value) for value in returned)

    def _computes(self, func: Expr) -> bool:
        """Whether a function of jax is called that computes an array, even of numbers."""
        if last_name(func) not in _COMPUTING:
            return False
        name = self._evaluator.model.resolver.library_name(func, self._module, self._scope)
        return name.startswith(_COMPUTES_IN)

    def _is_leaf(self, name: str, attr: str) -> bool:
        """Whether an attribute of a parameter is a leaf of the instance that it certainly is."""
        held = as_instance(self._parameters.get(name, UNKNOWN))
        field = held.cls.field(attr) if held is not None and held.cls.is_pytree else None
        return field is not None and field.role is Role.LEAF

    def _is_of_jax(self, func: Expr) -> bool:
        """Whether a function of jax or optax is called, or one that jax transforms."""
        func = func.func if isinstance(func, Call) else func
        name = self._evaluator.model.resolver.library_name(func, self._module, self._scope)
        return name.startswith(("jax.", "optax.")) and ".debug." not in name and name.rpartition(".")[2] not in _KNOWING


def stored(statement: Statement) -> Iterator[Expr]:
    """What a statement puts into a container."""
    match statement:
        case Assign(targets=(Subscript(),), value=value) | Augment(target=Subscript(), value=value):
            yield value
        case Do(value=Call(func=Attribute(attr=attr)) as call) if attr not in _EMPTYING:
            yield from call.positional[-1:]


def _stored_by_helper(
    statement: Statement, function: Function, traced: Traced, code: CodeRead, evaluator: Evaluator
) -> Iterator[tuple[object, str]]:
    """The containers around a function that it gives to a helper, with tracers, which the helper puts there."""
    if not isinstance(statement, Do) or not isinstance(statement.value, Call) or statement.value.has_star:
        return
    call = statement.value
    around = {a.value.id for a in call.args if isinstance(a.value, Name) and not function.takes(a.value.id)}
    around -= code.contents.bound
    symbol = evaluator.model.resolver.resolve(call.func, code.place.module, code.scope) if around else None
    if not isinstance(symbol, FunctionSymbol) or symbol.declaration.decorators or symbol.declaration.is_async:
        return
    body = evaluator.calls.body_of(symbol) or ()
    positional = symbol.declaration.positional
    rest = next((p.name for p in symbol.declaration.parameters if p.kind == "**"), None)
    given = call.given_to(positional)
    holding = {name: value.id for name, value in given.items() if isinstance(value, Name) and value.id in around}
    tracers = {
        name if rest is None or symbol.declaration.takes(name) else rest
        for name, value in given.items()
        if traced.is_traced(value)
    }
    tracers = {name for name in tracers if not is_bound(name, body) and not is_tested(name, body)}
    for name in filled(body, {name for name in holding if not is_bound(name, body)}, tracers):
        if not _is_asked_or_emptied(name, body):
            yield call.at, holding[name]


def filled(body: Body, containers: Collection[str], tracers: set[str]) -> Iterator[str]:
    """The containers, by their paths, in which a body certainly puts some parameters as they are, or what they hold."""
    for statement in walk(body, nested=False):
        match statement:
            case For(target=target, iterable=iterable):
                item = _held_in_turn(target, iterable, tracers)
                if item and [n for one in walk(body) for n in bound_names(one)].count(item) == 1:
                    tracers = tracers if is_tested(item, body) else tracers | {item}
            case Assign(targets=(Subscript(value=held),), value=Name(id=stored)):
                if (name := dotted(held)) in containers and name is not None and stored in tracers:
                    yield name
            case Do(value=Call(func=Attribute(value=held, attr="append" | "update"), args=(argument,))):
                match held:
                    case Call(func=Attribute(value=owner, attr="setdefault")) | Subscript(value=owner):
                        held = owner
                if (name := dotted(held)) in containers and name is not None and isinstance(argument.value, Name):
                    if argument.value.id in tracers:
                        yield name


def _held_in_turn(target: Expr, iterable: Expr, tracers: Collection[str]) -> str:
    """The variable of a loop that holds a tracer, an item of a dict of some; the others hold keys and numbers."""
    match target, iterable:
        case Display(items=(_, Name(id=held))), Call(func=Attribute(value=Name(id=name), attr="items")):
            return held if name in tracers else ""
        case Name(id=held), Call(func=Attribute(value=Name(id=name), attr="values")):
            return held if name in tracers else ""
    return ""


def is_tested(name: str, body: Body) -> bool:
    """Whether a function decides by what a variable holds."""
    return any(
        isinstance(part, Name) and part.id == name
        for statement in walk(body)
        if isinstance(statement, If)
        for test, _ in statement.branches
        for part in parts(test)
    )


def _is_asked_or_emptied(name: str, body: Body) -> bool:
    """Whether a function asks what is in a container before it puts something there, or takes things out again."""
    return is_tested(name, body) or empties(name, body)


def empties(path: str, body: Body) -> bool:
    """Whether a body, with the functions inside of it, takes something out of the container at a path."""
    return any(isinstance(p, Attribute) and p.attr in _EMPTYING and dotted(p.value) == path for p in all_parts(body))


def _reads_before(name: str, at: object, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether the function reads an item of the container before it changes it: at the next call that is the tracer."""
    if not _home(name, code, evaluator):
        return False
    row = place_of(at).row
    targets = {id(t) for s in code.statements if isinstance(s, Assign) for t in s.targets}
    return any(
        isinstance(part, Subscript)
        and id(part) not in targets
        and isinstance(part.value, Name)
        and part.value.id == name
        and place_of(part.at).row < row
        for part in code.contents.expected_to_work
    )


def _is_read_behind(name: str, function: Function, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether the body in which a container is made uses what is in there, behind the function."""
    home = _home(name, code, evaluator)
    last = function.body_rows[1]
    looking = harmless(home, is_dict=_is_dict(name, home))
    if _is_emptied(name, home):
        return False
    for statement in walk(home, nested=False):
        targets = statement.targets if isinstance(statement, Assign) else ()
        looking.update(id(t.value if isinstance(t, Subscript) else t) for t in targets)
    if any(
        isinstance(part, Name) and part.id == name and id(part) not in looking and place_of(part.at).row > last
        for part in contents_of(home).expected_to_work  # who shows the error expects it
    ):
        return True
    is_of_module = bool(home) and home == evaluator.calls.top_level(code.place.module)
    return is_of_module and _is_read_in_others(name, home, function, code, evaluator)


def _is_read_in_others(name: str, made_in: Body, function: Function, code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether another function, or a module that imports this one, takes out what a container of the module holds.

    What the function calls reads it while all is traced.
    """
    module, resolver = code.place.module, evaluator.model.resolver
    is_dict, within = _is_dict(name, made_in), _run_by(code.body, module, evaluator)
    is_read = False
    for home in (module, *evaluator.model.importers(module)):
        for other in home.outline.functions.values():
            if other is function or name not in home.source.text or other.takes(name):
                continue
            body = evaluator.calls.body_of(FunctionSymbol(home, other)) or ()
            if _is_emptied(name, body):
                return False
            if other.name in within:
                continue
            looking = harmless(body, is_dict=is_dict)
            for part in all_parts(body, nested=False):
                if isinstance(part, (Name, Attribute)) and last_name(part) == name and id(part) not in looking:
                    found = resolver.resolve(part, home, other.inner_scope)
                    is_read = is_read or (isinstance(found, ValueSymbol) and found.module is module)
    return is_read


def _run_by(body: Body, module: Module, evaluator: Evaluator) -> frozenset[str]:
    """The names of the functions that a body may call, and that the functions of its module call which it calls."""
    found: set[str] = set()
    pending = [body]
    while pending:
        one = pending.pop()
        named = {last_name(part) for part in all_parts(one) if isinstance(part, (Name, Attribute))}
        inside = {statement.name for statement in walk(one) if isinstance(statement, FunctionDefinition)}
        for function in module.outline.functions.values():
            if function.name in (named | inside) - found:
                pending.append(evaluator.calls.body_of(FunctionSymbol(module, function)) or ())
        found |= named | inside
    return frozenset(found)


def _is_emptied(name: str, body: Body) -> bool:
    """Whether a body empties a container, or takes something out of it."""
    return any(
        isinstance(part, Attribute) and part.attr in _EMPTYING and last_name(part.value) == name
        for part in all_parts(body, nested=False)
    )


def harmless(body: Body, *, is_dict: bool) -> set[int]:
    """The parts of a body that look at a container and not at what it holds, as at the keys of a dict."""
    asking = _COUNTING | _OF_KEYS if is_dict else _COUNTING
    found: set[int] = set()
    for part in all_parts(body, nested=False):
        match part:
            case Call(func=Name(id=of), args=args) if of in asking:
                found.update(id(argument.value) for argument in args)
            case Attribute(value=held, attr="append" | "extend" | "update" | "setdefault"):
                found.add(id(held))
            case Attribute(value=held, attr="keys") if is_dict:
                found.add(id(held))
            case Compare(ops=("in" | "not in",), comparators=(held,)) if is_dict:
                found.add(id(held))
            case Comprehension(clauses=clauses) if is_dict:
                found.update(id(clause.iterable) for clause in clauses)
    loops = [s.iterable for s in walk(body, nested=False) if isinstance(s, For)] if is_dict else []
    return found.union(map(id, loops))


def _is_dict(name: str, body: Body) -> bool:
    """Whether a body makes a dict for a variable."""
    for statement in walk(body, nested=False):
        if isinstance(statement, (Annotate, Assign)) and name in bound_names(statement):
            made = statement.value
            return isinstance(made, DictDisplay) or (isinstance(made, Call) and last_name(made.func) in _DICTS)
    return False


def _home(name: str, code: CodeRead, evaluator: Evaluator) -> Body:
    """The body that binds a variable to a container, once; nothing where another one binds it, or to something else."""
    module = code.place.module
    for outer in reversed(code.place.functions):
        if outer is code.function:
            continue
        body = evaluator.calls.body_of(FunctionSymbol(module, outer)) or ()
        if outer.takes(name):
            return ()
        binding = [s for s in walk(body, nested=False) if name in bound_names(s)]
        if binding:
            values = [s.value for s in binding if isinstance(s, Assign)]
            return body if len(values) == 1 and is_container(values[0]) else ()
    bindings = module.outline.module_scope.bindings.get(name, ())
    is_held = len(bindings) == 1 and _is_container_bound(bindings[0])
    return evaluator.calls.top_level(module) if is_held else ()


#: Variables of a module that are given dicts or lists, as they are written.
_HELD = re.compile(
    r"^(\w+)(?: *: *[^=\n]+)? *= *(?:[\[{]|(?:\w+\.)?(?:dict|list|defaultdict|OrderedDict|deque)\()", re.MULTILINE
)


def giving_containers(source: Source) -> re.Pattern[str] | None:
    """Finds calls that are given a dict or list of a module beside something else; None if it has none."""
    if giving_containers not in source.shared:
        names = "|".join(sorted(set(_HELD.findall(source.text))))
        given = re.compile(rf"\w\((?:[^()\n]*,\s*)?(?:{names})\s*,") if names else None
        source.shared[giving_containers] = given
    found: re.Pattern[str] | None = source.shared[giving_containers]
    return found


def _is_container_bound(binding: object) -> bool:
    """Whether a variable of a module is given a dict or list."""
    return isinstance(binding, Assignment) and binding.value is not None and is_container(binding.value)


def is_container(expr: Expr) -> bool:
    """Whether an expression makes a dict or list."""
    if isinstance(expr, Call):
        return last_name(expr.func) in _CONTAINERS
    return isinstance(expr, DictDisplay) or (isinstance(expr, Display) and expr.kind == "list")
