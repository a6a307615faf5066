"""Where a class is called for a tree that describes its instances: what `in_axes`, `out_specs` and the like are given.

Such a tree has numbers, None or specs where the instances have arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.libraries.transforms import TRANSFORMS
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol
from jaxlint.pytrees.callee import PARTIAL
from jaxlint.pytrees.model import PytreeClass
from jaxlint.symbols.outline import Function
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Call, Constant, DictDisplay, Display, Expr, Name, Span, last_name
from jaxlint.syntax.statements import Statement, bound_names, own_parts, parts, targets_of, walk

#: The options that are given trees with something else in the place of the leaves.
_OPTIONS = frozenset({"in_axes", "out_axes", "in_specs", "out_specs", "in_shardings", "out_shardings"})
#: What stands in a module that has such trees: the name of an option, or of what takes one by its position.
_TELLING = _OPTIONS | {t.name.rpartition(".")[2] for t in TRANSFORMS.values() if not _OPTIONS.isdisjoint(t.options)}


def is_made_of_axes(cls: PytreeClass, evaluator: Evaluator) -> bool:
    """Whether a module calls the class, or one that inherits from it, for a tree of axes, specs or shardings."""
    model = evaluator.model
    names = {one.name for one in model.family(cls)}
    for module in (cls.module, *model.importers(cls.module)):
        if not any(name in module.source.text for name in names):
            continue
        for call, scope in TreesOfAxes(module, evaluator).made():
            symbol = model.resolver.resolve(call.func, module, scope)
            made = model.class_of_symbol(symbol) if isinstance(symbol, ClassSymbol) else None
            if made is not None and cls in made.mro:
                return True
    return False


class _Piece(msgspec.Struct, frozen=True):
    """A statement, or what a declaration says: the names that it gives something to, and its expressions."""

    names: frozenset[str]
    parts: Sequence[Expr]
    scope: str


class TreesOfAxes:
    """The trees of one module that transformations are given in the place of axes, specs or shardings."""

    def __init__(self, module: Module, evaluator: Evaluator) -> None:
        self._module, self._evaluator = module, evaluator
        self._pieces = list(self._read()) if any(one in module.source.text for one in _TELLING) else []
        self._given: list[Span] = []
        #: The variables that are parts of them as they are, with their scopes.
        self._variables: set[tuple[str, str]] = set()
        #: What may be handed to such an option in another way.
        self._perhaps: list[Span] = []
        for piece in self._pieces:
            for part in piece.parts:
                if isinstance(part, Call):
                    self._look_at(part, piece.scope)
                elif isinstance(part, Constant) and part.value in _OPTIONS:
                    self._perhaps += [place_of(one.at) for one in piece.parts]
        self._names = self._names_given()

    def has(self, place: Span) -> bool | None:
        """Whether what stands at a place is part of such a tree; None if that is not known."""
        if any(tree.holds(place) for tree in self._given):
            return True
        return None if any(one.holds(place) for one in self._perhaps) or self._is_named(place) else False

    def made(self) -> Iterator[tuple[Call, str]]:
        """The calls that make something for such trees, with the scopes in which they stand."""
        for piece in self._pieces if self._given else ():
            for part in piece.parts:
                if isinstance(part, Call) and any(tree.holds(place_of(part.at)) for tree in self._given):
                    yield part, piece.scope
        for piece in self._bound_for_them() if self._given else ():
            yield from ((part, piece.scope) for part in piece.parts if isinstance(part, Call))

    def _bound_for_them(self) -> Iterator[_Piece]:
        """The one statement of a scope that gives a variable something which stands in such a tree: `axes = ...`."""
        for scope, name in sorted(self._variables):
            binding = [piece for piece in self._pieces if piece.scope == scope and name in piece.names]
            if len(binding) == 1:
                yield binding[0]

    def _read(self) -> Iterator[_Piece]:
        """All statements of the module, and what the declarations of functions and classes say."""
        module, outline = self._module, self._module.outline
        for statement in walk(self._evaluator.calls.top_level(module), nested=False):
            yield _Piece(_bound(statement), own_parts(statement), "")
        for cls in outline.classes.values():
            yield from (_Piece(frozenset(), parts(one), cls.scope) for one in cls.decorators)
            given = [(one.name, one.value) for one in cls.fields] + [(one.name, one.value) for one in cls.assignments]
            for name, value in given:
                if value is not None:
                    yield _Piece(frozenset({name}), parts(value), cls.scope)
        for function in outline.functions.values():
            yield from (_Piece(frozenset(), parts(one), function.scope) for one in function.decorators)
            for one in function.parameters:
                if one.default is not None:
                    yield _Piece(frozenset({one.name}), parts(one.default), function.scope)
            yield from self._body(function)

    def _body(self, function: Function) -> Iterator[_Piece]:
        """The statements of a function; what it returns is given to its name."""
        body = self._evaluator.calls.body_of(FunctionSymbol(self._module, function)) or ()
        for statement in walk(body, nested=False):
            yield _Piece(_bound(statement) | {function.name}, own_parts(statement), function.inner_scope)

    def _look_at(self, call: Call, scope: str) -> None:
        """Note what a call gives to such options: those of a transformation, or of what may be one."""
        resolver = self._evaluator.model.resolver
        name, given = resolver.library_name(call.func, self._module, scope), call.positional
        if name == PARTIAL and given:
            name, given = resolver.library_name(given[0], self._module, scope), given[1:]
        transform = TRANSFORMS.get(name)
        found = self._perhaps if transform is None else self._given
        values = [one.value for one in call.args if one.keyword in _OPTIONS]
        if transform is not None:
            named = zip(transform.options, given[len(transform.functions) :], strict=False)
            values += [value for option, value in named if option in _OPTIONS]
            self._variables |= {(scope, name) for value in values for name in _variables_in(value)}
        found += [place_of(value.at) for value in values]

    def _names_given(self) -> frozenset[str]:
        """The variables, attributes and functions that stand in such trees, and in what they are made of."""
        places = [*self._given, *self._perhaps]
        names = {
            _name(part) for one in self._pieces for part in one.parts if any(p.holds(place_of(part.at)) for p in places)
        }
        known: set[str] = set()
        unnamed = {"", *(one.self_name or "" for one in self._module.outline.functions.values())}
        names -= unnamed
        while not names <= known:
            known |= names
            names = {_name(part) for one in self._pieces if not known.isdisjoint(one.names) for part in one.parts}
            names -= unnamed
        return frozenset(known)

    def _is_named(self, place: Span) -> bool:
        """Whether what stands at a place is given to such a name, or to what has one as a parameter or a field."""
        outline = self._module.outline
        taking = {f.name for f in outline.functions.values() if any(p.name in self._names for p in f.parameters)}
        taking |= {c.name for c in outline.classes.values() if any(f.name in self._names for f in c.fields)}
        for piece in self._pieces:
            around = [part for part in piece.parts if place_of(part.at).holds(place)]
            if around and not self._names.isdisjoint(piece.names):
                return True
            for call in (part for part in around if isinstance(part, Call)):
                given = [one for one in call.args if place_of(one.value.at).holds(place)]
                if given and (last_name(call.func) in taking or given[0].keyword in self._names):
                    return True
        return False


def _variables_in(tree: Expr) -> Iterator[str]:
    """The variables that are a tree, or stand in it as they are."""
    match tree:
        case Name(id=name):
            yield name
        case Display(items=held) | DictDisplay(values=held):
            for one in held:
                yield from _variables_in(one)


def _bound(statement: Statement) -> frozenset[str]:
    """The names of the variables and attributes to which a statement gives something."""
    targets = {_name(part) for target in targets_of(statement) for part in parts(target)}
    return frozenset({*bound_names(statement), *targets} - {""})


def _name(expr: Expr) -> str:
    """The name of a variable or of an attribute; empty for anything else."""
    return expr.id if isinstance(expr, Name) else expr.attr if isinstance(expr, Attribute) else ""
