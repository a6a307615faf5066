"""The table of contents of one file: what it imports, declares and does, from one `ast` pass.

An `Outline` is small and picklable and knows nothing of other files. It holds the scopes with
their bindings, the class and function declarations, and the *units*: the top-level statements with
their line range and their triggers. Only units whose triggers a rule asks for are read.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Set
from typing import Any

import msgspec

from jaxlint.expr import Argument, Call, Expr, Name, Span, from_ast, span_of
from jaxlint.suppress import mentions_jaxlint
from jaxlint.transforms import LAST_NAMES


class Import(msgspec.Struct, frozen=True, tag=True, array_like=True, gc=False):
    """`import module`, or `from module import name`; `level` counts the dots of a relative import.

    `import a.b` binds `a` (module "a"); `import a.b as c` binds `c` (module "a.b").
    """

    module: str
    name: str | None
    level: int
    guard: str = ""


class Definition(msgspec.Struct, frozen=True, tag=True, array_like=True, gc=False):
    """A `class` or `def` statement that binds a name; `kind` is "class" or "function"."""

    kind: str
    qualname: str
    guard: str = ""


class Assignment(msgspec.Struct, frozen=True, tag=True, array_like=True, gc=False):
    """A name bound by `=` or an annotation; `value` is None where it cannot be read off the statement."""

    value: Expr | None
    annotation: Expr | None
    at: Span
    guard: str = ""


#: Context managers (and callers) inside which errors are expected.
EXPECTS_ERROR = frozenset({"raises", "assertRaises", "assertRaisesRegex", "suppress", "raises_regex", "assert_raises"})
#: Methods that change their receiver in place, of lists, dicts, sets, deques and numpy arrays.
MUTATING = frozenset(
    "append extend insert remove pop clear sort reverse update setdefault popitem add discard appendleft extendleft"
    " popleft fill".split()
)
#: Functions and methods that make a copy with changes.
UPDATING = frozenset({"replace", "_replace", "tree_replace", "tree_at"})
#: Decorators of functions that are expected to fail.
EXPECTED_FAILURE = frozenset({"xfail", "expectedFailure"})

Binding = Import | Definition | Assignment

ROW_END = re.compile(r"\r\n?|\n")


# of Python 3.11 and 3.12
_TryStar: Any = getattr(ast, "TryStar", ast.Try)
_TypeAlias: Any = getattr(ast, "TypeAlias", ast.Assign)


class Scope(msgspec.Struct, array_like=True, gc=False):
    """A module, class or function scope: its bindings in source order, name by name."""

    kind: str
    qualname: str
    parent: str | None
    bindings: dict[str, list[Binding]]
    is_global: set[str]
    #: Function scopes keep the assigned values only if a class declaration or `tree_flatten` needs them.
    keeps_values: bool = True


class Parameter(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A parameter; `kind` is "positional", "keyword", "*" or "**"."""

    name: str
    annotation: Expr | None
    default: Expr | None
    kind: str
    at: Span


class SelfAssignment(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """`self.attr = value` in a method; `value` is None where it is not a plain assignment."""

    attr: str
    value: Expr | None
    annotation: Expr | None
    at: Span


class Function(msgspec.Struct, array_like=True, gc=False):
    """A function declaration, with what it returns and what it does to `self`."""

    name: str
    qualname: str
    scope: str
    owner: str | None
    parameters: tuple[Parameter, ...]
    decorators: tuple[Expr, ...]
    returns: Expr | None
    at: Span
    is_async: bool
    is_generator: bool = False
    return_values: tuple[Expr, ...] = ()
    self_assignments: tuple[SelfAssignment, ...] = ()
    self_calls: frozenset[str] = frozenset()
    #: The attributes of `self` that are read (those that are called among them).
    self_reads: frozenset[str] = frozenset()
    #: The attributes of `self` that hold what is changed in place.
    self_mutations: frozenset[str] = frozenset()
    statements: int = 0
    #: The first and the last row of the body; (0, 0) if it begins on the row of the `def`.
    body_rows: tuple[int, int] = (0, 0)
    #: Whether the body only binds local names and returns, and so does nothing to what it is given.
    only_returns: bool = False
    #: The calls that stand alone in the body of a function that is given a class.
    effects: tuple[Call, ...] = ()

    @property
    def self_name(self) -> str | None:
        """The first positional parameter, if this is a method (and no static one)."""
        if self.owner is None or not self.parameters or self.parameters[0].kind != "positional":
            return None
        if any(isinstance(d, Name) and d.id == "staticmethod" for d in self.decorators):
            return None
        return self.parameters[0].name


class FieldDeclaration(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An annotated name in a class body."""

    name: str
    annotation: Expr
    value: Expr | None
    at: Span
    name_at: Span


class ClassAssignment(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An unannotated name in a class body."""

    name: str
    value: Expr | None
    at: Span
    name_at: Span


class Class(msgspec.Struct, array_like=True, gc=False):
    """A class declaration, exactly as written."""

    name: str
    qualname: str
    scope: str
    bases: tuple[Argument, ...]
    decorators: tuple[Expr, ...]
    fields: tuple[FieldDeclaration, ...]
    assignments: tuple[ClassAssignment, ...]
    methods: dict[str, list[str]]
    at: Span
    name_at: Span
    #: Whether it is declared where an error is expected (`with pytest.raises(...)`).
    expects_error: bool = False
    #: Whether the body holds statements (if, for, try, with, exec …) that may declare more than is seen.
    conditional_body: bool = False


class Applying(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A call that may apply a transformation to functions, and where its names are to be read."""

    call: Call
    scope: str
    #: The class whose method it is in, and what that method calls its instance.
    owner: str | None
    self_name: str | None
    #: The variables of the lambdas and comprehensions around it.
    shadowed: tuple[str, ...] = ()


class Unit(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A run of top-level statements that share lines: rows `first` to `last`, and what triggers rules.

    A unit that holds several functions (a class with its methods) also tells of each of its `pieces`: the outermost
    functions, and what is left of it.
    """

    first: int
    last: int
    calls: frozenset[str]
    stores: bool
    self_stores: frozenset[str]
    classes: frozenset[str]
    #: "import", "definition" (def or class), "code", or of a piece "function" or "rest".
    kind: str
    #: The functions of the module that are named in it.
    references: frozenset[str] = frozenset()
    #: The functions and methods whose calls stand alone; "at[]" for `x.at[i].set(v)`.
    discards: frozenset[str] = frozenset()
    #: The attributes and variables that hold what is changed in place (`x.f[k] = v`, `x.f.append(v)`, `x.f.g = v`).
    mutations: frozenset[str] = frozenset()
    #: The methods that are called on what may come from elsewhere; "[]" where items of that are stored (`x[k] = v`).
    methods: frozenset[str] = frozenset()
    #: Whether the same thing is updated twice, though the first of the updates was kept in a variable.
    repeats: bool = False
    pieces: tuple[Unit, ...] = ()


class Outline(msgspec.Struct, array_like=True, gc=False):
    """The facts of one file."""

    scopes: dict[str, Scope]
    classes: dict[str, Class]
    functions: dict[str, Function]
    units: tuple[Unit, ...]
    module_calls: tuple[Call, ...]
    #: Those of them that need not run, or may fail: under `if`, `for`, `try`, `with suppress(...)`.
    guarded_calls: frozenset[Span]
    star_imports: tuple[Import, ...]
    all_names: tuple[str, ...] | None
    future_annotations: bool
    imported_modules: tuple[tuple[int, str], ...]
    applying: tuple[Applying, ...] = ()
    #: Whether there may be comments that suppress findings of jaxlint.
    has_suppressions: bool = False
    #: The attributes that are assigned outside of functions, as `name.attribute`.
    attributes_set: frozenset[str] = frozenset()

    @property
    def module_scope(self) -> Scope:
        """The scope of the module itself, whose qualified name is empty."""
        return self.scopes[""]


def parse_tree(text: str) -> ast.Module:
    """`ast.parse` without the warnings that Python prints for the user's code.

    Raises SyntaxError, ValueError, RecursionError or MemoryError as `ast.parse` does.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def build_outline(tree: ast.Module, text: str) -> Outline:
    """The outline of a module that was parsed from `text`."""
    return OutlineBuilder(split_rows(text)).build(tree.body, mentions_jaxlint(text))


def split_rows(text: str) -> list[str]:
    """The rows of a text as the Python tokenizer counts them, without their ends."""
    return ROW_END.split(text) if "\r" in text else text.split("\n")


class _Function:
    """What is collected while the body of one function is walked."""

    def __init__(self, scope: Scope, self_name: str | None) -> None:
        self.scope = scope
        self.self_name = self_name
        self.returns: list[ast.expr] = []
        self.is_generator = False
        self.assignments: list[SelfAssignment] = []
        self.calls: set[str] = set()
        self.reads: set[str] = set()
        self.mutations: set[str] = set()
        self.statements = 0
        #: The variables that have only been given new containers so far, and those that were given something else.
        self.fresh: set[str] = set()
        self.given: set[str] = set()

    def assign(self, name: str, value: ast.expr | None) -> None:
        """Note what a variable is given."""
        is_fresh = type(value) in _NEW_CONTAINERS
        if type(value) is ast.Call and type(value.func) is ast.Name:
            is_fresh = value.func.id in _CONTAINER_TYPES
        if is_fresh and name not in self.given and name not in self.scope.bindings:
            self.fresh.add(name)
        elif not is_fresh:
            self.fresh.discard(name)
            self.given.add(name)


class _Content:
    """What a unit, or a piece of one, does."""

    def __init__(self) -> None:
        self.calls: set[str] = set()
        self.stores = False
        self.self_stores: set[str] = set()
        self.classes: set[str] = set()
        self.names: set[str] = set()
        self.discards: set[str] = set()
        self.mutations: set[str] = set()
        self.methods: set[str] = set()
        self.repeats = False
        self.updated: set[tuple[str, str]] = set()

    def unit(self, first: int, last: int, kind: str, pieces: tuple[Unit, ...] = ()) -> Unit:
        return Unit(
            first,
            last,
            frozenset(self.calls),
            self.stores,
            frozenset(self.self_stores),
            frozenset(self.classes),
            kind,
            frozenset(self.names),
            frozenset(self.discards),
            frozenset(self.mutations),
            frozenset(self.methods),
            self.repeats,
            pieces,
        )

    def add(self, piece: Unit) -> None:
        """Do what a piece does, too."""
        self.calls |= piece.calls
        self.stores = self.stores or piece.stores
        self.self_stores |= piece.self_stores
        self.classes |= piece.classes
        self.names |= piece.references
        self.discards |= piece.discards
        self.mutations |= piece.mutations
        self.methods |= piece.methods
        self.repeats = self.repeats or piece.repeats


def referring(unit: Unit, functions: Set[str]) -> Unit:
    """The unit with those of the names in it that are functions of the module."""
    pieces = tuple([referring(piece, functions) for piece in unit.pieces])
    return msgspec.structs.replace(unit, references=unit.references & functions, pieces=pieces)


class Context(msgspec.Struct, frozen=True):
    """What the statements before a unit say that matters to its part of the outline."""

    #: The last parts of the names of transformations, and what they are called here.
    transforms: Set[str] = LAST_NAMES
    #: The names that stand for modules, or for parts of libraries.
    modules: Set[str] = frozenset()
    #: The qualified names that are taken.
    taken: Set[str] = frozenset()
    all_names: tuple[str, ...] | None = None


_START = Context()


class OutlineBuilder:
    """Makes the outline of statements of a module with these `lines`; those before them say `context`."""

    def __init__(self, lines: list[str], context: Context = _START) -> None:
        self.lines = lines
        self.scopes: dict[str, Scope] = {"": Scope("module", "", None, {}, set())}
        self.classes: dict[str, Class] = {}
        self.functions: dict[str, Function] = {}
        self.module_calls: list[Call] = []
        self.attributes_set: set[str] = set()
        self.guarded_calls: set[Span] = set()
        self.star_imports: list[Import] = []
        self.all_names = None if context.all_names is None else list(context.all_names)
        self.future_annotations = False
        self.imported: dict[tuple[int, str], None] = {}
        self.applying: list[Applying] = []
        self.transforms = set(context.transforms)
        self.modules = set(context.modules)
        self.taken = context.taken
        self.scope = ""
        self.shadowed: tuple[str, ...] = ()
        self.guards: list[str] = []
        self.expecting_error = False
        self.function: _Function | None = None
        self.owner: str | None = None
        self._start_unit()

    def _start_unit(self) -> None:
        self.content = self.rest = _Content()
        self.pieces: list[Unit] = []

    def build(self, body: list[ast.stmt], has_suppressions: bool) -> Outline:
        """The outline of all statements of a module."""
        units = [self.read_unit(*unit) for unit in grouped(body, self.lines)]
        functions = {q for q, f in self.functions.items() if f.scope == ""}
        return self.outline([referring(unit, functions) for unit in units], has_suppressions)

    def read_unit(self, first: int, last: int, kind: str, statements: list[ast.stmt]) -> Unit:
        """Read the statements of a unit; it is told of all names in it as if they were functions."""
        self._start_unit()
        for statement in statements:
            self._statement(statement, self.scopes[""])
        return self._unit(first, last, kind)

    def outline(self, units: list[Unit], has_suppressions: bool) -> Outline:
        """The outline of all that was read."""
        return Outline(
            scopes=self.scopes,
            classes=self.classes,
            functions=self.functions,
            units=tuple(units),
            module_calls=tuple(self.module_calls),
            guarded_calls=frozenset(self.guarded_calls),
            star_imports=tuple(self.star_imports),
            all_names=None if self.all_names is None else tuple(self.all_names),
            future_annotations=self.future_annotations,
            imported_modules=tuple(self.imported),
            applying=tuple(self.applying),
            has_suppressions=has_suppressions,
            attributes_set=frozenset(self.attributes_set),
        )

    def _unit(self, first: int, last: int, kind: str) -> Unit:
        if len(self.pieces) < 2:
            for piece in self.pieces:
                self.rest.add(piece)
            return self.rest.unit(first, last, kind)
        pieces = (*self.pieces, self.rest.unit(first, last, "rest"))
        for piece in self.pieces:
            self.rest.add(piece)
        return self.rest.unit(first, last, kind, pieces)

    # -- statements -------------------------------------------------------------------------

    def _body(self, body: list[ast.stmt], scope: Scope) -> None:
        for statement in body:
            self._statement(statement, scope)

    def _guarded(self, guard: str, body: list[ast.stmt], scope: Scope) -> None:
        self.guards.append(guard)
        self._body(body, scope)
        self.guards.pop()

    def _statement(self, node: ast.stmt, scope: Scope) -> None:
        if self.function is not None:
            self.function.statements += 1
        self.scope = scope.qualname
        read = _READERS.get(type(node))
        if read is not None:
            read(self, node, scope)

    def _assign(self, node: ast.Assign, scope: Scope) -> None:
        self._scan(node.value)
        if len(node.targets) == 1:
            self._note_update(node.targets[0], node.value, scope)
        for target in node.targets:
            self._target(target, node.value, None, scope)

    def _annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        self._scan(node.value)
        self._note_update(node.target, node.value, scope)
        self._target(node.target, node.value, node.annotation, scope)

    def _type_alias(self, node: Any, scope: Scope) -> None:
        self._target(node.name, node.value, None, scope)

    def _augmented(self, node: ast.AugAssign, scope: Scope) -> None:
        self._scan(node.value)
        if isinstance(node.target, ast.Name) and node.target.id == "__all__":
            self._extend_all(node.value)
        self._target(node.target, None, None, scope)

    def _expression(self, node: ast.Expr, scope: Scope) -> None:
        value = node.value
        if scope.kind == "module" and isinstance(value, ast.Call):
            self.module_calls.append(from_ast(value))  # type: ignore[arg-type]
            if self.guards or self.expecting_error:
                self.guarded_calls.add(span_of(value))
            self._extend_all_call(value)
        self._scan(value)
        self._note_discard(value)

    def _return(self, node: ast.Return, scope: Scope) -> None:
        self._scan(node.value)
        self._note_update(None, node.value, scope)
        if self.function is not None and node.value is not None:
            self.function.returns.append(node.value)

    def _try(self, node: ast.Try, scope: Scope) -> None:
        self._guarded("try", node.body, scope)
        for handler in node.handlers:
            self._scan(handler.type)
            self._guarded("except", handler.body, scope)
        self._guarded("try", node.orelse, scope)
        self._guarded("try", node.finalbody, scope)

    def _with(self, node: ast.With | ast.AsyncWith, scope: Scope) -> None:
        for item in node.items:
            self._scan(item.context_expr)
            if item.optional_vars is not None:
                self._target(item.optional_vars, None, None, scope)
        outer, self.expecting_error = self.expecting_error, self.expecting_error or expects_error(node.items)
        self._body(node.body, scope)
        self.expecting_error = outer

    def _for(self, node: ast.For | ast.AsyncFor, scope: Scope) -> None:
        self._scan(node.iter)
        self._target(node.target, None, None, scope)
        self._guarded("conditional", node.body, scope)
        self._guarded("conditional", node.orelse, scope)

    def _while(self, node: ast.While, scope: Scope) -> None:
        self._scan(node.test)
        self._guarded("conditional", node.body, scope)
        self._guarded("conditional", node.orelse, scope)

    def _match(self, node: ast.Match, scope: Scope) -> None:
        self._scan(node.subject)
        for case in node.cases:
            self._scan(case.guard)
            self._guarded("conditional", case.body, scope)

    def _delete(self, node: ast.Delete, scope: Scope) -> None:
        for target in node.targets:
            self._target(target, None, None, scope)

    def _outer_names(self, node: ast.Global | ast.Nonlocal, scope: Scope) -> None:
        scope.is_global.update(node.names)

    def _assert(self, node: ast.Assert, scope: Scope) -> None:
        self._scan(node.test)
        self._scan(node.msg)

    def _raise(self, node: ast.Raise, scope: Scope) -> None:
        self._scan(node.exc)
        self._scan(node.cause)

    def _if(self, node: ast.If, scope: Scope) -> None:
        """An if statement; a chain of elif is walked without recursion."""
        guard = ""
        while True:
            self._scan(node.test)
            here, below = _type_checking_guards(node.test)
            self._guarded(here or guard or "conditional", node.body, scope)
            guard = below or guard
            if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
                node = node.orelse[0]
            else:
                self._guarded(guard or "conditional", node.orelse, scope)
                return

    def _bind(self, scope: Scope, name: str, binding: Binding) -> None:
        home = self.scopes[""] if name in scope.is_global else scope
        home.bindings.setdefault(name, []).append(binding)
        if isinstance(binding, Import) and home.kind == "module":
            if binding.name is None or binding.module in _LIBRARIES:
                self.modules.add(name)

    @property
    def _guard(self) -> str:
        return self.guards[-1] if self.guards else ""

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.imported[(0, alias.name)] = None
                if alias.asname:
                    self._bind(scope, alias.asname, Import(alias.name, None, 0, self._guard))
                else:
                    root = alias.name.partition(".")[0]
                    self._bind(scope, root, Import(root, None, 0, self._guard))
            return
        module = node.module or ""
        if module == "__future__":
            self.future_annotations |= any(a.name == "annotations" for a in node.names)
            return
        self.imported[(node.level, module)] = None
        for alias in node.names:
            if alias.name == "*":
                self.star_imports.append(Import(module, "*", node.level, self._guard))
                continue
            if node.level or "." not in module:
                self.imported[(node.level, f"{module}.{alias.name}" if module else alias.name)] = None
            self._bind(scope, alias.asname or alias.name, Import(module, alias.name, node.level, self._guard))
            if alias.asname and alias.name in LAST_NAMES:
                self.transforms.add(alias.asname)

    # -- targets and expressions ------------------------------------------------------------

    def _target(self, target: ast.expr, value: ast.expr | None, annotation: ast.expr | None, scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                if name == "__all__" and scope.kind == "module" and value is not None:
                    self.all_names = []
                    self._extend_all(value)
                if self.function is not None:
                    self.function.assign(name, value)
                keep = scope.keeps_values
                self._bind(
                    scope,
                    name,
                    Assignment(
                        from_ast(value) if keep and value is not None else None,
                        from_ast(annotation) if keep and annotation is not None else None,
                        span_of(target),
                        self._guard if value is not None or annotation is not None else "opaque",
                    ),
                )
            case ast.Attribute(value=receiver, attr=attr):
                self._attribute_target(target, receiver, attr, value, annotation)
                self._scan(receiver)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                values: list[ast.expr | None] = [None] * len(elts)
                if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(elts):
                    values = list(value.elts)
                elif value is not None and not any(isinstance(e, ast.Starred) for e in elts):
                    values = [_item(value, index) for index in range(len(elts))]
                for element, part in zip(elts, values, strict=True):
                    self._target(element, part, None, scope)
            case ast.Starred(value=inner):
                self._target(inner, None, None, scope)
            case ast.Subscript(value=inner, slice=index):
                self._note_mutation(inner)
                if not self._is_own(inner):
                    self.content.methods.add("[]")
                self._scan(inner)
                self._scan(index)

    def _attribute_target(
        self,
        target: ast.Attribute,
        receiver: ast.expr,
        attr: str,
        value: ast.expr | None,
        annotation: ast.expr | None,
    ) -> None:
        self._note_mutation(receiver)
        function = self.function
        on_self = (
            function is not None
            and self.owner is not None
            and isinstance(receiver, ast.Name)
            and receiver.id == function.self_name
        )
        if not on_self:
            self.content.stores = True
            if function is None and isinstance(receiver, ast.Name):
                self.attributes_set.add(f"{receiver.id}.{attr}")
            return
        assert function is not None and self.owner is not None
        self.content.self_stores.add(self.owner)
        function.assignments.append(
            SelfAssignment(
                attr,
                from_ast(value) if value is not None else None,
                from_ast(annotation) if annotation is not None else None,
                span_of(target),
            )
        )

    def _note_mutation(self, held: ast.expr) -> None:
        """Note the attribute, or the variable, that holds what is changed in place."""
        while isinstance(held, ast.Subscript):
            held = held.value
        if isinstance(held, ast.Name):
            self.content.mutations.add(held.id)
        elif isinstance(held, ast.Attribute):
            self.content.mutations.add(held.attr)
            function, receiver = self.function, held.value
            if function is not None and isinstance(receiver, ast.Name) and receiver.id == function.self_name:
                function.mutations.add(held.attr)

    def _is_own(self, receiver: ast.expr) -> bool:
        """Whether what is changed is a container that the function has made, or no object but a module."""
        while isinstance(receiver, (ast.Attribute, ast.Subscript)):
            receiver = receiver.value
        if not isinstance(receiver, ast.Name):
            return False
        if self.function is not None and receiver.id in self.function.fresh:
            return True
        return receiver.id in self.modules

    def _note_discard(self, value: ast.expr) -> None:
        """Note the calls that stand alone."""
        match value:
            case ast.Call(func=ast.Attribute(value=receiver, attr=attr)):
                if not (attr in MUTATING and self._is_own(receiver)):
                    self.content.discards.add("at[]" if _updated_array(value) is not None else attr)
            case ast.Call(func=ast.Name(id=name)):
                self.content.discards.add(name)
            case ast.Await(value=inner) | ast.ListComp(elt=inner) | ast.SetComp(elt=inner):
                self._note_discard(inner)
            case ast.IfExp(body=body, orelse=orelse):
                self._note_discard(body)
                self._note_discard(orelse)
            case ast.BoolOp(values=[*_, last]):
                self._note_discard(last)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                for item in elts:
                    self._note_discard(item)

    def _note_update(self, target: ast.expr | None, value: ast.expr | None, scope: Scope) -> None:
        """Note that a variable is given an update of something else, or that such an update is returned."""
        base = _updated(value)
        if not isinstance(base, (ast.Name, ast.Attribute)) or not (target is None or isinstance(target, ast.Name)):
            return
        key, content = (scope.qualname, ast.dump(base)), self.content
        content.repeats = content.repeats or key in content.updated
        if target is not None and not (isinstance(base, ast.Name) and base.id == target.id):
            content.updated.add(key)

    def _scan(self, node: Any) -> None:
        """Note the calls and names inside an expression."""
        if node is None:
            return
        add_name = self.content.names.add
        function = self.function
        self_name = None if function is None else function.self_name
        stack: list[Any] = [node]
        pop, push, extend = stack.pop, stack.append, stack.extend
        while stack:
            current = pop()
            kind = type(current)
            if kind is ast.Name:
                add_name(current.id)
            elif kind is ast.Attribute:
                value = current.value
                if type(value) is ast.Name:
                    add_name(value.id)
                    if self_name is not None and value.id == self_name:
                        assert function is not None
                        function.reads.add(current.attr)
                else:
                    push(value)
            elif kind is ast.Call:
                self._note_call(current)
                push(current.func)
                extend(current.args)
                for keyword in current.keywords:
                    push(keyword.value)
            elif kind is ast.Constant:
                pass
            elif kind is ast.BinOp:
                push(current.left)
                push(current.right)
            elif kind is ast.Subscript:
                push(current.value)
                push(current.slice)
            elif kind is ast.Tuple or kind is ast.List:
                extend(current.elts)
            elif kind in _BINDING:
                self._scan_binding(current)
            elif kind is ast.Compare:
                push(current.left)
                extend(current.comparators)
            elif kind is ast.BoolOp or kind is ast.JoinedStr:
                extend(current.values)
            elif kind is ast.UnaryOp:
                push(current.operand)
            else:
                if (kind is ast.Yield or kind is ast.YieldFrom) and function is not None:
                    function.is_generator = True
                extend(ast.iter_child_nodes(current))

    def _note_call(self, call: ast.Call) -> None:
        func, calls = call.func, self.content.calls
        if type(func) is ast.Attribute:
            attr = func.attr
            if attr != "replace" or call.keywords:
                calls.add(attr)  # str.replace has no keywords
            if attr in MUTATING:
                self._note_mutation(func.value)
            if _updated_array(call) is None and not self._is_own(func.value):
                self.content.methods.add(attr)
            if attr in self.transforms:
                self._note_applying(call)
            function = self.function
            if function is not None and type(func.value) is ast.Name and func.value.id == function.self_name:
                function.calls.add(attr)
        elif type(func) is ast.Name:
            calls.add(func.id)
            if func.id in self.transforms:
                self._note_applying(call)
        else:
            calls.add("")
            if type(func) is ast.Call and any(_last_name(a) in self.transforms for a in func.args[:1]):
                self._note_applying(call)

    def _scan_binding(self, node: ast.AST) -> None:
        """Scan a lambda or a comprehension, whose variables are its own."""
        outer = self.shadowed
        self.shadowed = (*outer, *_variables(node))
        for child in ast.iter_child_nodes(node):
            self._scan(child)
        self.shadowed = outer

    def _note_applying(self, call: ast.Call) -> None:
        """Note a call that may apply a transformation."""
        function = self.function
        self_name = function.self_name if function is not None else None
        owner = self.owner if self_name is not None else None
        self.applying.append(Applying(from_ast(call), self.scope, owner, self_name, self.shadowed))  # type: ignore[arg-type]

    def _extend_all(self, value: ast.expr) -> None:
        """Add to `__all__`; what cannot be read makes it unknown."""
        parts = [value]
        while parts and self.all_names is not None:
            match parts.pop():
                case ast.BinOp(left=left, op=ast.Add(), right=right):
                    parts += [left, right]
                case ast.List(elts=elts) | ast.Tuple(elts=elts):
                    parts += elts
                case ast.Constant(value=str(name)):
                    self.all_names.append(name)
                case _:
                    self.all_names = None

    def _extend_all_call(self, call: ast.Call) -> None:
        func = call.func
        if (
            isinstance(func, ast.Attribute)
            and isinstance(func.value, ast.Name)
            and func.value.id == "__all__"
            and func.attr in ("extend", "append")
            and call.args
        ):
            self._extend_all(call.args[0])

    # -- functions and classes --------------------------------------------------------------

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
        is_piece = self.content is self.rest
        if is_piece:
            self.content = _Content()
        qualname = self._qualname(scope, node.name)
        self._bind(scope, node.name, Definition("function", qualname, self._guard))
        for decorator in node.decorator_list:
            self._scan(decorator)
        parameters = tuple(_parameters(node.args))
        for parameter in (*node.args.defaults, *node.args.kw_defaults):
            self._scan(parameter)
        first = node.args.args[0].arg if node.args.args else ""
        keeps_values = "flatten" in node.name or first in CLASS_PARAMETERS
        keeps_values = keeps_values or any(isinstance(s, ast.ClassDef) for s in node.body)
        inner = Scope("function", f"{qualname}.<locals>", scope.qualname, {}, set(), keeps_values)
        self.scopes[inner.qualname] = inner
        for declared in parameters:
            inner.bindings[declared.name] = [Assignment(None, declared.annotation, declared.at, "parameter")]
        is_method = scope.kind == "class"
        decorators = tuple(from_ast(d) for d in node.decorator_list)
        self_name = None
        if is_method and parameters and parameters[0].kind == "positional":
            if not any(isinstance(d, Name) and d.id == "staticmethod" for d in decorators):
                self_name = parameters[0].name
        elif not is_method and self.function is not None and self.function.self_name not in inner.bindings:
            self_name = self.function.self_name
        outer, outer_owner, outer_guards = self.function, self.owner, self.guards
        self.function = _Function(inner, self_name)
        if is_method:
            self.owner = scope.qualname
        self.guards = []
        self._body(node.body, inner)
        collected = self.function
        self.function, self.owner, self.guards = outer, outer_owner, outer_guards
        self.scope = scope.qualname
        if outer is not None and not is_method and collected.self_name is not None:
            outer.assignments += collected.assignments
            outer.calls |= collected.calls
            outer.reads |= collected.reads
            outer.mutations |= collected.mutations
        self.functions[qualname] = Function(
            name=node.name,
            qualname=qualname,
            scope=scope.qualname,
            owner=scope.qualname if is_method else None,
            parameters=parameters,
            decorators=decorators,
            returns=from_ast(node.returns) if node.returns is not None else None,
            at=Span(node.lineno, node.col_offset, node.lineno, node.col_offset + len("def ") + len(node.name)),
            is_async=isinstance(node, ast.AsyncFunctionDef),
            is_generator=collected.is_generator,
            return_values=tuple(from_ast(v) for v in collected.returns),
            self_assignments=tuple(collected.assignments),
            self_calls=frozenset(collected.calls),
            self_reads=frozenset(collected.reads),
            self_mutations=frozenset(collected.mutations),
            statements=collected.statements,
            body_rows=_body_rows(node),
            only_returns=_only_returns(node.body),
            effects=tuple(_effects(node.body)) if first in CLASS_PARAMETERS else (),
        )
        if is_piece:
            self.pieces.append(self.content.unit(*_rows(node, self.lines), "function"))
            self.content = self.rest

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        qualname = self._qualname(scope, node.name)
        self._bind(scope, node.name, Definition("class", qualname, self._guard))
        self.content.classes.add(qualname)
        expects_error = self.expecting_error
        for decorator in node.decorator_list:
            self._scan(decorator)
        inner = Scope("class", qualname, scope.qualname, {}, set())
        self.scopes[qualname] = inner
        outer, outer_owner, outer_guards = self.function, self.owner, self.guards
        self.function, self.owner, self.guards = None, None, []
        self._body(node.body, inner)
        self.function, self.owner, self.guards = outer, outer_owner, outer_guards
        self.scope = scope.qualname
        fields, assignments, conditional = _class_body(node)
        methods: dict[str, list[str]] = {}
        for name, bindings in inner.bindings.items():
            names = [b.qualname for b in bindings if isinstance(b, Definition) and b.kind == "function"]
            if names:
                methods[name] = names
        arguments = [Argument(span_of(b), from_ast(b)) for b in node.bases]
        arguments += [Argument(span_of(k), from_ast(k.value), k.arg) for k in node.keywords]
        self.classes[qualname] = Class(
            name=node.name,
            qualname=qualname,
            scope=scope.qualname,
            bases=tuple(arguments),
            decorators=tuple(from_ast(d) for d in node.decorator_list),
            fields=tuple(fields),
            assignments=tuple(assignments),
            methods=methods,
            at=span_of(node),
            name_at=Span(
                node.lineno,
                node.col_offset + len("class "),
                node.lineno,
                node.col_offset + len("class ") + len(node.name.encode()),
            ),
            conditional_body=conditional,
            expects_error=expects_error,
        )

    def _qualname(self, scope: Scope, name: str) -> str:
        qualname = f"{scope.qualname}.{name}" if scope.qualname else name
        taken, count = qualname, 1
        while taken in self.functions or taken in self.classes or taken in self.scopes or taken in self.taken:
            count += 1
            taken = f"{qualname}#{count}"
        return taken


_READERS: dict[type[ast.stmt], Callable[[OutlineBuilder, Any, Scope], None]] = {
    _TryStar: OutlineBuilder._try,
    _TypeAlias: OutlineBuilder._type_alias,
    ast.FunctionDef: OutlineBuilder._function,
    ast.AsyncFunctionDef: OutlineBuilder._function,
    ast.ClassDef: OutlineBuilder._class,
    ast.Import: OutlineBuilder._import,
    ast.ImportFrom: OutlineBuilder._import,
    ast.Assign: OutlineBuilder._assign,
    ast.AnnAssign: OutlineBuilder._annotated,
    ast.AugAssign: OutlineBuilder._augmented,
    ast.Expr: OutlineBuilder._expression,
    ast.Return: OutlineBuilder._return,
    ast.If: OutlineBuilder._if,
    ast.Try: OutlineBuilder._try,
    ast.With: OutlineBuilder._with,
    ast.AsyncWith: OutlineBuilder._with,
    ast.For: OutlineBuilder._for,
    ast.AsyncFor: OutlineBuilder._for,
    ast.While: OutlineBuilder._while,
    ast.Match: OutlineBuilder._match,
    ast.Delete: OutlineBuilder._delete,
    ast.Global: OutlineBuilder._outer_names,
    ast.Nonlocal: OutlineBuilder._outer_names,
    ast.Assert: OutlineBuilder._assert,
    ast.Raise: OutlineBuilder._raise,
}


def _body_rows(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, int]:
    first, last = node.body[0].lineno, node.end_lineno or 0
    before = (node.returns, node.args, *node.args.args, *node.args.kwonlyargs)
    header = max(getattr(part, "end_lineno", None) or node.lineno for part in before)
    return (first, last) if first > header else (0, 0)


def _last_name(node: ast.expr) -> str:
    """The last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


_NEW_CONTAINERS = frozenset({ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp})
_CONTAINER_TYPES = frozenset({"list", "dict", "set", "defaultdict", "deque", "OrderedDict", "Counter"})
#: What is imported from these is a module, a function or a class.
_LIBRARIES = frozenset({"jax", "numpy"})
#: Expressions that have variables of their own.
_BINDING = frozenset({ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp})


def _variables(node: ast.AST) -> list[str]:
    """The variables of a lambda or a comprehension."""
    if isinstance(node, ast.Lambda):
        args = node.args
        extra = [a for a in (args.vararg, args.kwarg) if a is not None]
        return [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs, *extra)]
    targets = [g.target for g in node.generators]  # type: ignore[attr-defined]
    return [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]


def _class_body(node: ast.ClassDef) -> tuple[list[FieldDeclaration], list[ClassAssignment], bool]:
    """The annotated and unannotated names of a class body, and whether some may be hidden in blocks."""
    fields: list[FieldDeclaration] = []
    assignments: list[ClassAssignment] = []
    conditional = False
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name) as target, annotation=annotation, value=value):
                fields.append(
                    FieldDeclaration(
                        name,
                        from_ast(annotation),
                        from_ast(value) if value is not None else None,
                        span_of(statement),
                        span_of(target),
                    )
                )
            case ast.Assign(targets=targets, value=assigned):
                for bound in targets:
                    names = bound.elts if isinstance(bound, (ast.Tuple, ast.List)) else [bound]
                    whole = bound if isinstance(bound, ast.Name) else None
                    assignments += [
                        ClassAssignment(
                            n.id, from_ast(assigned) if whole is not None else None, span_of(statement), span_of(n)
                        )
                        for n in names
                        if isinstance(n, ast.Name)
                    ]
            case ast.If(test=test) if _is_type_checking(test):
                conditional = conditional or any(isinstance(s, ast.AnnAssign) for s in statement.body)
            case ast.If() | ast.For() | ast.While() | ast.With() | ast.Try() | _TryStar() | ast.Match():
                conditional = True
    return fields, assignments, conditional


def _parameters(args: ast.arguments) -> list[Parameter]:
    positional = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults))
    defaults += args.defaults
    out = [_parameter(a, d, "positional") for a, d in zip(positional, defaults, strict=True)]
    if args.vararg is not None:
        out.append(_parameter(args.vararg, None, "*"))
    out += [_parameter(a, d, "keyword") for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    if args.kwarg is not None:
        out.append(_parameter(args.kwarg, None, "**"))
    return out


def _parameter(arg: ast.arg, default: ast.expr | None, kind: str) -> Parameter:
    return Parameter(
        arg.arg,
        from_ast(arg.annotation) if arg.annotation is not None else None,
        from_ast(default) if default is not None else None,
        kind,
        span_of(arg),
    )


def expects_error(items: list[ast.withitem]) -> bool:
    """Whether a `with` statement expects an error in its body."""
    for item in items:
        func = item.context_expr.func if isinstance(item.context_expr, ast.Call) else None
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        if name in EXPECTS_ERROR:
            return True
    return False


def _updated_array(call: ast.Call) -> ast.expr | None:
    """The array `x` of `x.at[i].set(v)`, or None."""
    match call.func:
        case ast.Attribute(value=ast.Subscript(value=ast.Attribute(value=array, attr="at"))):
            return array
    return None


def _updated(value: ast.expr | None) -> ast.expr | None:
    """What an expression makes a copy of with changes, or None."""
    if not isinstance(value, ast.Call):
        return None
    array = _updated_array(value)
    if array is not None:
        return array
    match value.func:
        case ast.Attribute(value=receiver, attr=name) if name in UPDATING and value.keywords and not value.args:
            return receiver
        case ast.Attribute(attr=name) | ast.Name(id=name) if name in UPDATING and value.args:
            return value.args[1 if name == "tree_at" and len(value.args) > 1 else 0]
    return None


def _item(value: ast.expr, index: int) -> ast.expr:
    """`value[index]`, standing where `value` stands: what unpacking assigns to one of the targets."""
    item = ast.copy_location(ast.Constant(index), value)
    return ast.copy_location(ast.Subscript(value, item, ast.Load()), value)


#: How functions call a class that they are given.
CLASS_PARAMETERS = frozenset({"cls", "clz", "klass", "class_", "_cls", "maybe_cls", "nodetype"})


def _effects(body: list[ast.stmt]) -> list[Call]:
    """The calls among some statements."""
    calls = [from_ast(s.value) for s in body if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)]
    return [call for call in calls if isinstance(call, Call)]


def _only_returns(body: list[ast.stmt]) -> bool:
    """Whether statements only bind local names, define functions and return."""
    for statement in body:
        match statement:
            case ast.Return() | ast.FunctionDef() | ast.Import() | ast.ImportFrom():
                continue
            case ast.Pass() | ast.Raise() | ast.Assert():
                continue
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.Assign(targets=[ast.Name()]):
                continue
            case ast.If(body=inner, orelse=orelse) if _only_returns(inner) and _only_returns(orelse):
                continue
        return False
    return True


def _rows(node: ast.stmt, lines: list[str]) -> tuple[int, int]:
    """The first and last row of a statement; its first decorator may begin below its `@`."""
    first = node.lineno
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.decorator_list:
        first = node.decorator_list[0].lineno
        while first > 1 and not lines[first - 1].lstrip(" \t\f").startswith("@"):
            first -= 1
    return first, node.end_lineno or first


def grouped(body: list[ast.stmt], lines: list[str]) -> Iterator[tuple[int, int, str, list[ast.stmt]]]:
    """The units that some statements make up: the first and the last row of each, its kind, and its statements."""
    first = last = 0
    kind, statements = "", list[ast.stmt]()
    for statement in body:
        begins, ends = _rows(statement, lines)
        own_kind = _unit_kind(statement)
        if statements and last >= begins:
            kind = kind if kind == own_kind else "code"
            statements.append(statement)
        else:
            if statements:
                yield first, last, kind, statements
            first, kind, statements = begins, own_kind, [statement]
        last = ends
    if statements:
        yield first, last, kind, statements


def _unit_kind(node: ast.stmt) -> str:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return "import"
    return "definition" if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) else "code"


def _type_checking_guards(test: ast.expr) -> tuple[str, str]:
    """What a test of TYPE_CHECKING says of the branch below it, and of the `else` branch."""
    if _is_type_checking(test):
        return "type_checking", "runtime"
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and _is_type_checking(test.operand):
        return "runtime", "type_checking"
    return "", ""


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )
