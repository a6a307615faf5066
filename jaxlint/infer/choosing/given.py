"""What functions are given, by their annotations, as `self` or as attributes: which kinds of classes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from jaxlint.infer.choosing.unregistered import is_unregistered, refused_class
from jaxlint.infer.known.annotations import AnnotationReader
from jaxlint.infer.known.values import Array, Choice, Container, Instance, Value, plain
from jaxlint.infer.transforms.calling import calls_one_of, piece_of
from jaxlint.project.modules import Module
from jaxlint.project.resolution import ClassSymbol, FunctionSymbol, ModuleSymbol, Symbol, ValueSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.framework import Role
from jaxlint.pytrees.model import Placed, PytreeClass
from jaxlint.pytrees.non_arrays import non_array
from jaxlint.pytrees.stubs import is_stub
from jaxlint.symbols.outline import Assignment, Binding, Function, Import, SelfAssignment, Unit
from jaxlint.syntax.ast_expressions import parse_annotation
from jaxlint.syntax.expressions import (
    Attribute,
    Call,
    Constant,
    DictDisplay,
    Display,
    Expr,
    Name,
    Subscript,
    children,
    items_of,
    last_name,
)
from jaxlint.syntax.statements import parts

#: How a call of a function begins that chooses between arrays, or stacks some.
_CHOOSES = r"\b(?:where|select|select_n|stack|concatenate)\("
#: Through how many functions an instance is followed that is returned.
MOST_HELPERS = 2
#: What may hold what a function has got from another one.
_HELD = (Name, DictDisplay, Display, Subscript)


class GivenClasses:
    """Asks of functions whether they take instances of classes that some rule looks for."""

    def __init__(self, model: PytreeModel, annotations: AnnotationReader) -> None:
        self.model = model
        self.annotations = annotations
        self._refused: dict[tuple[str, str], bool] = {}
        self._getting: dict[tuple[str, str, int], bool] = {}
        self._with_numbers: dict[tuple[str, str], bool] = {}
        #: The attributes of classes that hold what constructors are given for parameters without annotation.
        self._from_outside: dict[tuple[str, str], frozenset[str]] = {}
        #: The functions of the module asked for last that are annotated to return something, by their names.
        self._makers: tuple[str, dict[str, list[Function]]] = ("", {})
        self._variables: tuple[str, frozenset[str]] = ("", frozenset())
        self._imported: tuple[str, frozenset[str]] = ("", frozenset())

    def takes(self, function: Function, module: Module, holds: Callable[[PytreeClass], bool]) -> bool:
        """Whether a function takes an instance of a class of some kind, by its annotations or as `self`."""
        if function.owner is not None and function.self_name is not None and holds(self.cls(function.owner, module)):
            return True
        return any(self._names(p.annotation, function, module, holds) for p in function.parameters)

    def instances(self, function: Function, module: Module) -> Iterator[tuple[str, PytreeClass]]:
        """The parameters that are annotated with a pytree class, and `self` of one, by name."""
        if function.owner is not None and function.self_name is not None:
            own = self.cls(function.owner, module)
            if own.is_pytree:
                yield function.self_name, own
        for parameter in function.parameters:
            annotation = parameter.annotation
            if isinstance(annotation, Constant) and isinstance(annotation.value, str):
                annotation = parse_annotation(annotation.value, annotation.at)
            if isinstance(annotation, (Name, Attribute)):
                symbol = self.model.resolver.resolve(annotation, module, function.scope)
                cls = self.model.class_of_symbol(symbol)
                if cls is not None and cls.is_pytree:
                    yield parameter.name, cls

    def maker(self, function: Function, module: Module) -> str:
        """The name whose calls say what a function works with; "" if nobody has to look for calls.

        For a method that reads an attribute without annotation, set from an argument of the constructor, it is the
        class; for a function inside another one, the outer function that returns it.
        """
        outline = module.outline
        if function.owner is None:
            around = outline.function_of(function.scope) if function.scope else None
            is_made = (
                around is not None
                and not around.scope
                and any(_is_given_back(function, value) for value in around.return_values)
            )
            return around.qualname if around is not None and is_made else ""
        if not function.self_reads:
            return ""
        return "" if function.self_reads.isdisjoint(self.from_outside(function.owner, module)) else function.owner

    def from_outside(self, owner: str, module: Module) -> frozenset[str]:
        """The attributes of a class that hold what constructors are given for parameters without annotation."""
        key = (module.path, owner)
        if key not in self._from_outside:
            found = [
                _attributes_given(cls.module.outline.functions[name])
                for cls in self.cls(owner, module).mro
                for name in cls.symbol.declaration.methods.get("__init__", ())
            ]
            self._from_outside[key] = frozenset[str]().union(*found)
        return self._from_outside[key]

    def returns(self, function: Function, module: Module, holds: Callable[[PytreeClass], bool]) -> bool:
        """Whether a function is annotated to return an instance of a class of some kind, or several."""
        return self._names(function.returns, function, module, holds)

    def gets(self, piece: Unit, module: Module, holds: Callable[[PytreeClass], bool]) -> bool:
        """Whether a piece of a module calls a function of it that is annotated to return an instance of some kind."""
        if self._makers[0] != module.path:
            self._makers = module.path, {}
            for function in module.outline.functions.values():
                if function.returns is not None:
                    self._makers[1].setdefault(function.name, []).append(function)
        called = (maker for name in sorted(piece.calls & self._makers[1].keys()) for maker in self._makers[1][name])
        return any(self.returns(maker, module, holds) for maker in called)

    def chooses_made(self, piece: Unit, module: Module) -> bool:
        """Whether a piece gives what functions of any module, or methods of its own, make to what takes arrays."""
        makes, makers = self.model.project_index.pytree_class_names, list[str]()
        for name in sorted(piece.calls & module.outline.module_scope.bindings.keys()):
            symbol = self.model.resolver.follow(self.model.resolver.resolve_name(name, module))
            if isinstance(symbol, FunctionSymbol) and not is_stub(symbol.module):
                if calls_one_of(makes, symbol) or self.returns(symbol.declaration, symbol.module, is_pytree):
                    makers.append(name)
        for function in module.outline.functions.values():
            if function.owner is not None and function.name in piece.calls:
                if calls_one_of(makes, FunctionSymbol(module, function)):
                    makers.append(rf"[\w.]+\.{function.name}")
        if not makers:
            return False
        rows, called = module.source.rows(piece.first, piece.last), "|".join(makers)
        bound = re.findall(rf"^\s*(\w[\w, ]*?)\s*=\s*(?:{called})\(", rows, re.MULTILINE)
        held = "|".join(sorted({name for names in bound for name in names.replace(",", " ").split()}))
        given = rf"(?:{called})\(" + (rf"|(?:{held})\s*[,)\]]" if held else "")
        return re.search(rf"{_CHOOSES}(?:[^=]|[=<>!]=){{0,300}}?(?<![\w.])(?:{given})", rows) is not None

    def makers_imported(self, module: Module) -> frozenset[str]:
        """The names under which a module may call functions of others that make instances of pytree classes."""
        if self._imported[0] != module.path:
            makes, found = self.model.project_index.pytree_class_names, set[str]()
            for name, bindings in module.outline.module_scope.bindings.items() if makes else ():
                if any(type(binding) is Import for binding in bindings):
                    match self.model.resolver.follow(self.model.resolver.resolve_name(name, module)):
                        case FunctionSymbol() as symbol if not is_stub(symbol.module) and calls_one_of(makes, symbol):
                            found.add(name)
                        case ModuleSymbol(path=path):
                            other = self.model.project.reach(path, module)
                            functions = other.outline.functions.values()
                            outer = (f for f in functions if f.owner is None and not f.scope)
                            found.update(f.name for f in outer if calls_one_of(makes, FunctionSymbol(other, f)))
            self._imported = module.path, frozenset(found)
        return self._imported[1]

    def _names(
        self, annotation: Expr | None, function: Function, module: Module, holds: Callable[[PytreeClass], bool]
    ) -> bool:
        match annotation:
            case Constant(value=str(text)):
                return self._names(parse_annotation(text, annotation.at), function, module, holds)
            case Subscript(index=Display(items=items)):  # a tuple of instances
                return any(self._names(item, function, module, holds) for item in items)
            case Subscript(index=index):  # a list of instances
                return self._names(index, function, module, holds)
            case Name() | Attribute():
                symbol = self.model.resolver.resolve(annotation, module, function.scope)
                cls = self.model.class_of_symbol(symbol)
                return cls is not None and holds(cls)
        return False

    def holds_numbers(self, cls: PytreeClass) -> bool:
        """Whether some leaf of a pytree class, or of one that it holds, is annotated as a number of Python."""
        key = cls.symbol.key
        if key not in self._with_numbers:
            self._with_numbers[key] = False  # stops cycles
            places = [f.annotation for f in cls.fields if f.role is Role.LEAF and f.annotation is not None]
            self._with_numbers[key] = cls.is_pytree and (
                any(_names_number(place.expr) for place in places) or any(map(self._names_numbers, places))
            )
        return self._with_numbers[key]

    def _names_numbers(self, annotation: Placed) -> bool:
        """Whether an annotation names a class that holds numbers."""
        cls = self._annotated(annotation)
        return cls is not None and self.holds_numbers(cls)

    def _annotated(self, annotation: Placed) -> PytreeClass | None:
        """The class that an annotation names."""
        symbol = self.model.resolver.resolve(annotation.expr, annotation.module, annotation.scope)
        return self.model.class_of_symbol(symbol)

    def takes_unregistered(self, function: Function, module: Module) -> bool:
        """Whether a parameter is annotated with a class that is certainly no pytree, or an instance is returned."""
        for parameter in function.parameters:
            if parameter.annotation is not None:
                given = self.annotations.read(Placed(parameter.annotation, module, function.scope))
                if refused_class(given, self.model) is not None:
                    return True
        return self._returns_unregistered(function, module)

    def _returns_unregistered(self, function: Function, module: Module, depth: int = 0) -> bool:
        """Whether a function returns an instance that it makes, or that a function makes which it calls for it."""
        scope, is_held = function.inner_scope, False
        for value in function.return_values:
            for item in value.items if type(value) is Display else (value,):
                if type(item) is not Call or (item is not value and type(item.func) is not Name):
                    is_held = is_held or type(item) in _HELD
                    continue
                symbol = self.model.resolver.resolve(item.func, module, scope)
                cls = self.model.class_of_symbol(symbol)
                if cls is not None and is_unregistered(cls, self.model, exact=True):
                    return True
                if isinstance(symbol, FunctionSymbol) and depth < MOST_HELPERS and is_plain(symbol.declaration):
                    if self._returns_unregistered(symbol.declaration, symbol.module, depth + 1):
                        return True
        return is_held and self._calls_maker(function, module)

    def _calls_maker(self, function: Function, module: Module, depth: int = 0) -> bool:
        """Whether a function may get, from a function that it calls or differentiates, an instance of such a class."""
        key = (module.path, function.qualname, depth)
        if key not in self._getting:
            piece, bindings = piece_of(function, module.outline), module.outline.module_scope.bindings
            taking = (a.call for a in module.outline.applying if piece.first <= a.call.at.row <= piece.last)
            given = {last_name(argument.value) for call in taking for argument in call.args}
            made = {name for name, found in bindings.items() if len(found) == 1 and _is_made(found[0])}
            called = sorted((piece.calls | piece.references | given | made) & bindings.keys())
            self._getting[key] = any(self._is_maker(name, piece.calls, module, depth) for name in called)
        return self._getting[key]

    def _is_maker(self, name: str, calls: frozenset[str], module: Module, depth: int) -> bool:
        """Whether a name stands for such a class, which is called, or for a function that may get an instance of one.

        A function may also be differentiated to make what the name stands for, or be a method of it.
        """
        symbol = self.model.resolver.follow(self.model.resolver.resolve_name(name, module))
        is_called = name in calls
        if isinstance(symbol, ValueSymbol) and isinstance(symbol.assignment.value, Call):
            given = symbol.assignment.value.positional
            made = self.model.resolver.resolve(symbol.assignment.value.func, symbol.module, symbol.scope)
            if isinstance(made, ClassSymbol) and depth <= MOST_HELPERS:
                functions = made.module.outline.functions
                methods = (functions[names[-1]] for name, names in made.declaration.methods.items() if name in calls)
                return any(self._calls_maker(method, made.module, depth + 1) for method in methods)
            symbol = self.model.resolver.resolve(given[0], symbol.module, symbol.scope) if given else symbol
        if isinstance(symbol, FunctionSymbol):
            may_follow = depth <= MOST_HELPERS and is_plain(symbol.declaration)
            return may_follow and self._calls_maker(symbol.declaration, symbol.module, depth + 1)
        return is_called and self._is_unregistered(symbol)

    def names_unregistered(self, name: str, module: Module) -> bool:
        """Whether a name of a module is that of a class that is certainly no pytree."""
        if name not in module.outline.module_scope.bindings:
            return False
        symbol = self.model.resolver.follow(self.model.resolver.resolve_name(name, module))
        return self._is_unregistered(symbol)

    def makes_unregistered(self, name: str, module: Module) -> bool:
        """Whether a name of a module stands for a function that makes such an instance."""
        symbol = self.model.resolver.follow(self.model.resolver.resolve_name(name, module))
        return isinstance(symbol, FunctionSymbol) and self._returns_one(symbol)

    def variables_unregistered(self, module: Module) -> frozenset[str]:
        """The variables of a module, or those that it imports, which are or hold what is made of such a class."""
        if self._variables[0] != module.path:
            found = set[str]()
            for name, bindings in module.outline.module_scope.bindings.items():
                if len(bindings) == 1 and isinstance(bindings[0], (Assignment, Import)):
                    symbol = self.model.resolver.follow(self.model.resolver.resolve_name(name, module))
                    if isinstance(symbol, ValueSymbol) and self._holds_one(symbol):
                        found.add(name)
            self._variables = module.path, frozenset(found)
        return self._variables[1]

    def _holds_one(self, symbol: ValueSymbol) -> bool:
        """Whether a variable is given such an instance, or a display of some, that are made there or by a function."""
        value = symbol.assignment.value
        if not isinstance(value, (Call, Display, DictDisplay)):
            return False
        made = [part for part in ((value,) if isinstance(value, Call) else children(value)) if isinstance(part, Call)]
        makers = [self.model.resolver.resolve(part.func, symbol.module, symbol.scope) for part in made[:1]]
        return any(
            self._is_unregistered(maker) or (isinstance(maker, FunctionSymbol) and self._returns_one(maker))
            for maker in makers
        )

    def _returns_one(self, symbol: FunctionSymbol) -> bool:
        """Whether a function returns such an instance, which it makes there."""
        function = symbol.declaration
        if not is_plain(function) or is_stub(symbol.module):
            return False
        made = (item for value in function.return_values for item in items_of(value) if isinstance(item, Call))
        makers = (self.model.resolver.resolve(call.func, symbol.module, function.inner_scope) for call in made)
        return any(map(self._is_unregistered, makers))

    def _is_unregistered(self, symbol: Symbol) -> bool:
        """Whether a symbol is a class that is certainly no pytree."""
        cls = self.model.class_of_symbol(symbol)
        return cls is not None and not cls.is_pytree and is_unregistered(cls, self.model, exact=True)

    def holds_non_arrays(self, cls: PytreeClass) -> bool:
        """Whether some leaf is annotated with a type that JAX refuses."""
        key = cls.symbol.key
        if key not in self._refused:
            self._refused[key] = False  # stops cycles
            places = [f.annotation for f in cls.fields if f.role is Role.LEAF and f.annotation is not None]
            self._refused[key] = cls.is_pytree and any(map(self._is_no_array, places))
        return self._refused[key]

    def _is_no_array(self, annotation: Placed) -> bool:
        """Whether JAX refuses what is annotated so, or an instance that holds such a thing."""
        if non_array(annotation, self.model.resolver) is not None:
            return True
        cls = self._annotated(annotation)
        return cls is not None and self.holds_non_arrays(cls)

    def takes_non_arrays(self, functions: list[Function], module: Module) -> bool:
        """Whether a function is given instances, by its annotations or as attributes, with a leaf that JAX refuses."""
        if any(self.takes(declared, module, self.holds_non_arrays) for declared in functions):
            return True
        owners = {f.owner for f in functions if f.owner is not None}
        return any(
            self._makes(assignment.value, method, module, self.holds_non_arrays)
            for owner in owners
            for method, assignment in _assigned_in(owner, module)
        )

    def reads(self, function: Function, module: Module, holds: Callable[[PytreeClass], bool]) -> bool:
        """Whether a method reads an attribute that its class gives instances of some kind."""
        if function.owner is None or not function.self_reads:
            return False
        return any(
            self._names(assignment.annotation, method, module, holds)
            or self._names(_parameter_annotation(assignment.value, method), method, module, holds)
            or self._makes(assignment.value, method, module, holds)
            for method, assignment in _assigned_in(function.owner, module)
            if assignment.attr in function.self_reads
        )

    def _makes(
        self, value: Expr | None, function: Function, module: Module, holds: Callable[[PytreeClass], bool]
    ) -> bool:
        """Whether a call makes an instance (`State(...)`, `State.create(...)`) of a class of some kind."""
        if not isinstance(value, Call):
            return False
        for maker in (value.func, value.func.value) if isinstance(value.func, Attribute) else (value.func,):
            symbol = self.model.resolver.resolve(maker, module, function.inner_scope)
            cls = self.model.class_of_symbol(symbol)
            if cls is not None and holds(cls):
                return True
        return False

    def takes_what_matters(self, function: Function, module: Module) -> bool:
        """Whether a transformed function takes what an event speaks of: a number as a leaf, or what is no pytree."""
        return self.takes(function, module, self.holds_numbers) or self.takes_unregistered(function, module)

    def cls(self, qualname: str, module: Module) -> PytreeClass:
        """A class of a module."""
        return self.model.build(ClassSymbol(module, module.outline.classes[qualname]))


def _assigned_in(owner: str, module: Module) -> Iterator[tuple[Function, SelfAssignment]]:
    """What the methods of a class assign to attributes of `self`."""
    functions = module.outline.functions
    for qualnames in module.outline.classes[owner].methods.values():
        for method in map(functions.__getitem__, qualnames):
            for assignment in method.self_assignments:
                yield method, assignment


def _attributes_given(init: Function) -> set[str]:
    """The attributes that a constructor sets to a parameter without annotation, or to the result of its method."""
    bare = {p.name for p in init.parameters if p.annotation is None}
    return {a.attr for a in init.self_assignments if _start(a.value) in bare}


def _start(value: Expr | None) -> str:
    """The variable that an expression is, or whose method it calls."""
    if isinstance(value, Call) and isinstance(value.func, Attribute):
        value = value.func.value
    return value.id if isinstance(value, Name) else ""


def _is_given_back(function: Function, returned: Expr) -> bool:
    """Whether an expression is a named function, or a call with one as its argument: `jax.jit(step)`."""
    given = [returned, *(a.value for a in returned.args)] if isinstance(returned, Call) else [returned]
    return any(isinstance(one, Name) and one.id == function.name for one in given)


def _parameter_annotation(value: Expr | None, function: Function) -> Expr | None:
    """The annotation of the parameter that an expression is, if it is one that has one."""
    if not isinstance(value, Name):
        return None
    return next((p.annotation for p in function.parameters if p.name == value.id), None)


def _is_made(binding: Binding) -> bool:
    """Whether a name is given what a call makes, whose methods may be called."""
    return isinstance(binding, Assignment) and isinstance(binding.value, Call)


def is_plain(function: Function) -> bool:
    """Whether a function stands outside of classes and functions, returns in one place, and nothing is made of it."""
    return not function.owner and not function.scope and returns_once(function)


def returns_once(function: Function) -> bool:
    """Whether a function returns in one place, and nothing is made of it."""
    is_other = function.decorators or function.is_generator or function.is_async
    return not is_other and len(function.return_values) == 1


def is_pytree(cls: PytreeClass) -> bool:
    """Whether a class is registered as a pytree, with certainty."""
    return cls.is_pytree


def _names_number(annotation: Expr) -> bool:
    """Whether an annotation names a type of Python's numbers."""
    return any(isinstance(p, Name) and p.id in ("int", "bool", "float") for p in parts(annotation))


def may_take_no_items(value: Value) -> bool:
    """Whether a value is, or holds, an array of jax or an instance of a pytree class."""
    match plain(value):
        case Array(library=library):
            return library == "jax"
        case Instance(cls=cls):
            return cls.is_pytree
        case Container(items=items, element=element):
            return any(map(may_take_no_items, (element, *(items or ()))))
        case Choice(options=options):
            return any(map(may_take_no_items, options))
    return False
