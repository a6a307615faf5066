"""What the table of contents of a module tells of methods."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.known.values import Instance
from jaxlint.project.modules import Module
from jaxlint.project.resolution import External, FunctionSymbol
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Function
from jaxlint.syntax.expressions import Attribute, Call, Expr, Name, items_of
from jaxlint.syntax.statements import Body

#: The methods in which a new instance gets its attributes.
CONSTRUCTORS = frozenset({"__init__", "__post_init__", "__new__"})
#: And those in which jax, `copy` and `pickle` make one again.
MAKING = CONSTRUCTORS | {"tree_unflatten", "__setstate__", "__copy__", "__deepcopy__"}
_MAX_DEPTH = 4
_SUPER = re.compile(r"\bsuper\(")


def names_called(function: Function, module: Module) -> frozenset[str]:
    """The names that are called in a function, or in the outermost function around it."""
    row = function.at.row
    unit = next(unit for unit in module.outline.units if unit.first <= row <= unit.last)
    piece = next((p for p in unit.pieces if p.first <= row <= p.last and p.kind != "rest"), unit)
    return piece.calls


def text_of(function: Function, module: Module) -> str:
    """The rows of the body of a function, as they are written; if it begins beside the `def`, with that."""
    return module.source.rows(*function.body_rows)


def may_have(written: re.Pattern[str], function: Function, module: Module) -> bool:
    """Whether a pattern is found in the rows of a function."""
    return written.search(text_of(function, module)) is not None


def is_written(written: re.Pattern[str], module: Module, evaluator: Evaluator) -> bool:
    """Whether a pattern is found in a module, or in one that imports it."""
    return any(written.search(one.source.text) for one in (module, *evaluator.model.importers(module)))


def own_methods(cls: PytreeClass) -> list[Function]:
    """The methods that a class declares itself."""
    functions = cls.module.outline.functions
    return [functions[names[-1]] for names in cls.symbol.declaration.methods.values()]


def body_of_method(method: Function, cls: PytreeClass, evaluator: Evaluator) -> Body | None:
    """The statements of a method that a class has, itself or by a base; None if they are not to be seen."""
    found = cls.method(method.name)
    return None if found is None else evaluator.calls.body_of(FunctionSymbol(found[0].module, method))


def is_overridden(name: str, instance: Instance, evaluator: Evaluator) -> bool:
    """Whether an instance may be of a subclass that has a method of its own of that name."""
    return not instance.exact and evaluator.model.is_overridden(instance.cls, name)


def run_by(method: Function, cls: PytreeClass) -> dict[str, Function]:
    """A method, and those of its `self` that it calls, hands to something (`jax.grad(self.loss)`) or asks, by name."""
    found = {method.name: method}
    pending = [method]
    while pending:
        current = pending.pop()
        for name in (current.self_calls | current.self_reads) - found.keys():
            called = cls.method(name)
            if called is not None:
                found[name] = called[1]
                pending.append(called[1])
    return found


def run_with_bases(method: Function, cls: PytreeClass) -> Iterator[Function]:
    """What `run_by` finds, and what the methods of bases run that these go on to: `super().setup()`."""
    for name, function in run_by(method, cls).items():
        yield function
        defining = [one for one in cls.mro if name in one.symbol.declaration.methods]
        for one, base in pairwise(defining):
            if not may_have(_SUPER, _own_method(name, one), one.module):
                break
            yield from run_by(_own_method(name, base), cls).values()


def _own_method(name: str, cls: PytreeClass) -> Function:
    return cls.module.outline.functions[cls.symbol.declaration.methods[name][-1]]


def is_left_over(method: Function, cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a private method is mentioned nowhere: not in the modules of its class, of its bases and of subclasses.

    What a framework calls, a decorator keeps, or a string names is not left over.
    """
    name = method.name
    if not name.startswith("_") or (name.startswith("__") and name.endswith("__")) or method.decorators:
        return False
    around = [one.module for each in evaluator.model.family(cls) for one in each.mro]
    mention = re.compile(rf"(?<!def )\b{name}\b")
    return all(mention.search(module.source.text) is None for module in {one.path: one for one in around}.values())


def gives_itself(method: Function, cls: PytreeClass, depth: int = 0) -> bool:
    """Whether a method returns its `self`, perhaps as what another method of it returns, or one that is not known."""
    returned = [item for value in method.return_values for item in items_of(value)]
    return any(_is_itself(item, method, cls, depth) for item in returned)


def _is_itself(expr: Expr, method: Function, cls: PytreeClass, depth: int) -> bool:
    """Whether an expression in a method may be its `self`: `self.tick()`, `super().add(x)`."""
    match expr:
        case Name(id=name):
            return name == method.self_name
        case Call(func=Attribute(value=Call(func=Name(id="super")), attr=attr)):
            return _may_give_itself(attr, method, cls, depth)
        case Call(func=Attribute(value=held, attr=attr)) if cls.field(attr) is None:
            return _is_itself(held, method, cls, depth) and _may_give_itself(attr, method, cls, depth)
    return False


def _may_give_itself(name: str, caller: Function, cls: PytreeClass, depth: int) -> bool:
    """Whether another method of that name may return its `self`: any that the class or a base of it has."""
    others = [one for each in cls.mro for one in own_methods(each) if one.name == name and one is not caller]
    if not others or depth >= _MAX_DEPTH:
        return not cls.bases_known
    return any(gives_itself(one, cls, depth + 1) for one in others)


def caching(function: Function, cls: PytreeClass, evaluator: Evaluator) -> Expr | None:
    """The decorator that caches what a method returns in the instance."""
    for decorator in function.decorators:
        if isinstance(decorator, (Name, Attribute)):
            symbol = evaluator.model.resolver.resolve(decorator, cls.module, function.scope)
            if isinstance(symbol, External) and symbol.name == "functools.cached_property":
                return decorator
    return None
