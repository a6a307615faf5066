"""Making the outline of a file: one walk over its `ast` tree."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Set
from typing import Any

import msgspec

from jaxlint.libraries.transforms import LAST_NAMES
from jaxlint.suppression.comments import mentions_jaxlint
from jaxlint.symbols.nodes import (
    TRY_STAR,
    body_rows,
    class_body,
    effects_of,
    expects_error,
    grouped,
    item_of,
    last_name,
    only_returns,
    parameters_of,
    rows_of,
    type_checking_guards,
    updated_array,
    updated_by,
    variables_of,
)
from jaxlint.symbols.outline import (
    CLASS_PARAMETERS,
    MUTATING,
    UPDATING,
    Applying,
    Assignment,
    Binding,
    Class,
    Definition,
    Function,
    Import,
    Outline,
    Scope,
    SelfAssignment,
    Unit,
)
from jaxlint.syntax.expressions import Argument, Call, Name, Span, from_ast, span_of

#: Where rows end, as the Python tokenizer counts them.
ROW_END = re.compile(r"\r\n?|\n")
#: `type X = …`, of Python 3.12.
_TypeAlias: Any = getattr(ast, "TypeAlias", ast.Assign)

_NEW_CONTAINERS = frozenset({ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp})
_CONTAINER_TYPES = frozenset({"list", "dict", "set", "defaultdict", "deque", "OrderedDict", "Counter"})
#: What is imported from these is a module, a function or a class.
_LIBRARIES = frozenset({"jax", "numpy"})
#: Packages of which it is told which of their parts are imported by name.
_PARENTS = frozenset({"jax._src", "jax.experimental"})
#: Functions that return a value and make the program fail when that is computed.
_FAILING = frozenset({"error_if", "branched_error_if"})
#: Expressions that have variables of their own.
_BINDING = frozenset({ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp})


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
        self.acts = self.checks = False
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
        match value:
            case ast.Constant():
                return
            case ast.Call(func=ast.Attribute(value=receiver, attr=attr)) if attr in MUTATING and self._is_own(receiver):
                return
        self._note_act()

    def _note_act(self) -> None:
        """Note that a function does more than to compute what it returns."""
        if self.function is not None:
            self.function.acts = True

    def _note_check(self) -> None:
        """Note that a function asserts or raises something."""
        self._note_act()
        if self.function is not None:
            self.function.checks = True

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
        for statement in node.body:
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:  # as in the turn before
                self._note_update(statement.targets[0], statement.value, scope)
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
        self._note_check()

    def _raise(self, node: ast.Raise, scope: Scope) -> None:
        self._scan(node.exc)
        self._scan(node.cause)
        self._note_check()

    def _if(self, node: ast.If, scope: Scope) -> None:
        """An if statement; a chain of elif is walked without recursion."""
        guard = ""
        while True:
            self._scan(node.test)
            here, below = type_checking_guards(node.test)
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
            if node.level or "." not in module or module in _PARENTS:
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
                self._note_act()
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                values: list[ast.expr | None] = [None] * len(elts)
                if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(elts):
                    values = list(value.elts)
                elif value is not None and not any(isinstance(e, ast.Starred) for e in elts):
                    values = [item_of(value, index) for index in range(len(elts))]
                for element, part in zip(elts, values, strict=True):
                    self._target(element, part, None, scope)
            case ast.Starred(value=inner):
                self._target(inner, None, None, scope)
            case ast.Subscript(value=inner, slice=index):
                self._note_mutation(inner)
                if not self._is_own(inner):
                    self.content.methods.add("[]")
                    self._note_act()
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
                    self.content.discards.add("at[]" if updated_array(value) is not None else attr)
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
        base = updated_by(value)
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
        given = call.args[0] if call.args else None
        if type(given) is ast.Attribute and given.attr in UPDATING and last_name(func) == "partial":
            calls.add(given.attr)
        if type(func) is ast.Attribute:
            attr = func.attr
            if attr != "replace" or call.keywords:
                calls.add(attr)  # str.replace has no keywords
            if attr in MUTATING:
                self._note_mutation(func.value)
            if updated_array(call) is None and not self._is_own(func.value):
                self.content.methods.add(attr)
            if attr in self.transforms:
                self._note_applying(call)
            if attr in _FAILING:
                self._note_act()
            function = self.function
            if function is not None and type(func.value) is ast.Name and func.value.id == function.self_name:
                function.calls.add(attr)
        elif type(func) is ast.Name:
            calls.add(func.id)
            if func.id in self.transforms:
                self._note_applying(call)
            if func.id in _FAILING:
                self._note_act()
        else:
            calls.add("")
            if type(func) is ast.Call and any(last_name(a) in self.transforms for a in func.args[:1]):
                self._note_applying(call)

    def _scan_binding(self, node: ast.AST) -> None:
        """Scan a lambda or a comprehension, whose variables are its own."""
        outer = self.shadowed
        self.shadowed = (*outer, *variables_of(node))
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
        parameters = tuple(parameters_of(node.args))
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
            body_rows=body_rows(node),
            only_returns=only_returns(node.body),
            acts=collected.acts,
            checks=collected.checks,
            effects=tuple(effects_of(node.body)) if first in CLASS_PARAMETERS else (),
        )
        if is_piece:
            self.pieces.append(self.content.unit(*rows_of(node, self.lines), "function"))
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
        fields, assignments, conditional = class_body(node)
        methods: dict[str, list[str]] = {}
        for name, bindings in inner.bindings.items():
            names = [b.qualname for b in bindings if isinstance(b, Definition) and b.kind == "function"]
            if names:
                methods[name] = names
        arguments = [Argument(span_of(b), from_ast(b)) for b in node.bases]
        arguments += [
            Argument(span_of(k), from_ast(k.value), k.arg, "**" if k.arg is None else "") for k in node.keywords
        ]
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
    TRY_STAR: OutlineBuilder._try,
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
