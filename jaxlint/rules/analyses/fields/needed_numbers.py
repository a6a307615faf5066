"""Where compiled functions need to know which number a static field is: as a leaf it would be traced."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Container, Instance, plain
from jaxlint.infer.transforms.calling import piece_of
from jaxlint.libraries.static_arguments import CHECK, CONVERSION, KEY, LEAST, LOGICAL, LOOP, NUMPY, TRUTH
from jaxlint.project.modules import Module
from jaxlint.project.resolution import FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.rules.analyses.instances.methods import may_have
from jaxlint.rules.analyses.under_trace.static_uses import INSTEAD, StaticUses, Use
from jaxlint.symbols.outline import Function, names_by_position
from jaxlint.syntax.expressions import Attribute, Call, DictDisplay, Display, Expr, Name, last_name
from jaxlint.syntax.statements import all_parts, bound_once, parts

#: Through how many functions that call each other those that run compiled are looked for.
_FAR = 4
#: What a leaf does as well where it is written in another way. Other needs are for how much there is of something.
_REPLACEABLE = frozenset({TRUTH, *LOGICAL.values(), LOOP, CHECK, LEAST, CONVERSION, KEY, NUMPY})


class Need(msgspec.Struct, frozen=True):
    """What a function that runs compiled needs the number for, in the words of `static_uses`, and its name."""

    how: str
    function: str

    @property
    def is_for_structure(self) -> bool:
        """Whether another number makes another program anyway: of other shapes, or with more turns."""
        return self.how not in _REPLACEABLE

    @property
    def way_out(self) -> str:
        """How the function does without it."""
        instead = INSTEAD.get(self.how)
        of = f"`{self.function}`, which needs its value {self.how}"
        return f"and {instead} in {of}" if instead else f"once {of}, can do without"

    @property
    def way_out_if_static(self) -> str:
        """What to do where the function cannot do without."""
        return f"give it a Python number: it has to be static, as `{self.function}` needs its value {self.how}"


def need_of(name: str, cls: PytreeClass, module: Module, evaluator: Evaluator) -> Need | None:
    """The need of a function that runs compiled and reads a field, as far as names tell; for structure, if any is."""
    homes = {one.path: one for one in (cls.module, module, *evaluator.model.importers(cls.module))}
    written = re.compile(rf"\.\s*{re.escape(name)}\b")
    needs = [
        Need(use.how, reader)
        for home in homes.values()
        if any(may_have(written, function, home) for function in home.outline.functions.values())
        for function in _compiled(home, evaluator, _called_elsewhere(home, cls, evaluator))
        if may_have(written, function, home)
        for use, reader in _uses(function, home, name, cls, evaluator)
    ]
    return next((need for need in needs if need.is_for_structure), next(iter(needs), None))


def _called_elsewhere(home: Module, cls: PytreeClass, evaluator: Evaluator) -> frozenset[str]:
    """The methods of a class that compiled functions of other modules seem to call, if it is one of the module."""
    own = {f.qualname: f.name for f in home.outline.functions.values() if f.owner == cls.symbol.declaration.qualname}
    if home is not cls.module or not own:
        return frozenset()
    others = [one for one in evaluator.model.importers(home) if any(name in one.source.text for name in own.values())]
    called = {name for one in others for f in _compiled(one, evaluator) for name in piece_of(f, one.outline).calls}
    return frozenset(qualname for qualname, name in own.items() if name in called)


def _compiled(home: Module, evaluator: Evaluator, known: frozenset[str] = frozenset()) -> Iterator[Function]:
    """The functions of a module that are transformed, or known, and those that such ones seem to call; instances, too.

    The known ones are recognised by their qualified names.
    """
    functions = list(home.outline.functions.values())
    compiled = [f for f in functions if f.qualname in known or evaluator.calls.transformed.of(f, home)]
    called = {last_name(part) for one in home.outline.applying for part in parts(one.call)} | {"__call__"}
    found = dict.fromkeys(f.qualname for f in compiled)
    for _ in range(_FAR):
        called.update(name for f in functions if f.qualname in found for name in piece_of(f, home.outline).calls)
        found.update(dict.fromkeys(f.qualname for f in functions if f.name in called or _is_within(f, found)))
    return (f for f in functions if f.qualname in found)


def _is_within(function: Function, found: dict[str, None]) -> bool:
    return function.scope.removesuffix(".<locals>") in found


def _uses(
    function: Function, home: Module, name: str, cls: PytreeClass, evaluator: Evaluator
) -> Iterator[tuple[Use, str]]:
    """The uses in a function that need a number which it reads from the field, or hands to a function that has them."""

    def is_read(expr: Expr) -> bool:
        return isinstance(expr, Attribute) and expr.attr == name and _may_hold(expr, function, home, cls, evaluator)

    yield from uses_of(is_read, function, home, evaluator, cls)


def uses_of(
    is_read: Callable[[Expr], bool],
    function: Function,
    home: Module,
    evaluator: Evaluator,
    cls: PytreeClass | None = None,
) -> Iterator[tuple[Use, str]]:
    """The uses in a function that need the number of some expressions, or hand it to a function that has them.

    Of a class, fields may be lists.
    """
    body = evaluator.calls.body_of(FunctionSymbol(home, function)) or ()
    if not any(map(is_read, all_parts(body))):
        return
    for use in _needing(is_read, function, home, cls, evaluator):
        yield use, function.name
    for call in (part for part in all_parts(body) if isinstance(part, Call)):
        given = [argument for argument in call.args if is_read(argument.value)]
        symbol = evaluator.model.resolver.resolve(call.func, home, function.inner_scope) if given else None
        if not isinstance(symbol, FunctionSymbol) or call.has_star:
            continue
        names = dict(enumerate(names_by_position(symbol.declaration.parameters)))
        taken = {a.keyword or names.get(n, "") for n, a in enumerate(call.args) if a in given}
        is_taken = partial(_is_one_of, taken)
        for use in _needing(is_taken, symbol.declaration, symbol.module, cls, evaluator):
            yield use, symbol.declaration.name


def _is_one_of(names: set[str], expr: Expr) -> bool:
    return isinstance(expr, Name) and expr.id in names


def _needing(
    is_traced: Callable[[Expr], bool], function: Function, home: Module, cls: PytreeClass | None, evaluator: Evaluator
) -> list[Use]:
    body = evaluator.calls.body_of(FunctionSymbol(home, function)) or ()
    bound = bound_once(body)

    def name_of(expr: Expr) -> str:
        return evaluator.model.resolver.library_name(expr, home, function.inner_scope)

    def kind_of(expr: Expr) -> str:
        """Whether something is a list, a tuple or a dict of Python, as it is written out, or as a field says."""
        expr = bound.get(expr.id, expr) if isinstance(expr, Name) else expr
        if cls is not None and isinstance(expr, Attribute) and (field := cls.field(expr.attr)) is not None:
            value = plain(evaluator.promises.field(field, cls))
            return value.kind if isinstance(value, Container) else ""
        return expr.kind if isinstance(expr, Display) else "dict" if isinstance(expr, DictDisplay) else ""

    return StaticUses(is_traced, kind_of, name_of, bound).of(body)


def _may_hold(read: Attribute, function: Function, home: Module, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether an attribute is read from what may be an instance of a class: it is no instance of an unrelated one."""
    if not isinstance(read.value, Name):
        return True
    value = plain(evaluator.own_parameter(function, read.value.id, home))
    return not isinstance(value, Instance) or value.cls in cls.mro or cls in value.cls.mro
